// The map, first depth, where the model answers: the likeliest next tokens, or the likeliest classes.

import { NARROW, brief, number, percent } from "./map_scene.js";
import { likeliest } from "./map_trace.js";
import { clamp, fitting, marksIn, shorten, spelt, textWidth } from "./text.js";

// The line of words above a stack.
const ABOVE = 22;
const LOSS = ["loss: −ln p of the reference’s token", "−ln p(reference’s token)", "loss, −ln p"];

// `rows` are computed; the vector of `row` is the one that answers.
export function answer(scene, model, stack, m, rows, row) {
  const losses = model.scored;
  const last = stack.blocks.length - 1;
  const { top } = stack.blocks[last];
  const x = stack.blocks[last].x + 2;
  const strip = m.narrow ? clamp(losses ? 0 : (m.width - x) * 0.4 - 26, 12, 80) : Math.min(m.strip, 26);
  const height = stack.n * m.pitch;
  const found = likeliest(model, row, clamp(Math.floor(height / 34), 3, 6));
  const left = x + strip + (m.narrow ? clamp((m.width - x) * 0.14, 16, 40) : 26);
  // There is room for a frame.
  const right = m.width - 6;
  const width = right - left;
  const pitch = clamp(height / found.length, 34, 40);
  const y0 = stack.y(row, last);
  const first = clamp(y0 - pitch * 0.6, top, Math.max(top, top + height - found.length * pitch));
  // Below slim rows the mean has room for its words.
  const lossY = (r) => stack.y(r, last) + (r < stack.n ? 0 : Math.max(0, 12 - m.pitch));
  const deep = Math.max(height + (losses ? Math.max(m.pitch, 12) + 16 : 0), first + found.length * pitch - top);
  const classes = stack.name === "encoder";
  const hot = ["next token at temperature", "next token, T =", "next, T =", "T ="];
  const next = model.shown === 1 ? ["next token"] : hot.map((words) => `${words} ${model.shown.toFixed(1)}`);
  const heading = classes ? "class" : fitting(losses ? LOSS : next, width / 1.1);
  const [from, align] = width < 84 ? [right, "right"] : [left, "left"];
  scene.label(heading, from, top - 11, { size: 13, weight: 600, align });
  // Written next, or the likeliest.
  const chosen = found.find(({ drawn }) => drawn) || found[0];
  const bar = width - textWidth(">99.9%", 12) - 8;
  const lost = losses && lossesOf(model, rows);
  scene.paint((p) => {
    p.strips(stack.output, x, top, strip, m.pitch, { rows });
    p.box(x - 2, y0 - m.pitch / 2, strip + 4, m.pitch, { edge: p.theme.query, line: 2, radius: 3 });
    if (losses) return lossRows(p, lost, (r) => lossY(r < rows ? r : stack.n), m.pitch, left, width, model.vocabulary);
    found.forEach((one, i) => {
      const { token, share, drawn, mark } = one;
      const y = first + (i + 0.5) * pitch;
      p.ribbon(x + strip + 3, y0, left - 4, y, 1 + 3 * share, p.theme.query, 0.35 + 0.65 * share);
      // Where there is no room for a word, its colour alone says that this token was drawn.
      const word = drawn && width >= 44 + 1.1 * textWidth(mark, 12) ? mark : "";
      const [weight, color] = [one === chosen ? 650 : 400, drawn ? p.theme.query : p.theme.ink];
      const most = width - (word ? 1.1 * textWidth(word, 12) + 8 : 0);
      p.text(spelt(token), left, y - 8, { size: 14, weight, color, most });
      p.text(word, right, y - 9, { size: 12, weight: 650, align: "right", color: p.theme.query });
      p.text(brief(share), right, y + 9, { size: 12, align: "right", color: p.theme.muted });
      p.box(left, y + 6, bar, 6, { fill: p.theme.masked, radius: 3 });
      p.box(left, y + 6, Math.max(2, bar * share), 6, { fill: p.theme.query, radius: 3 });
    });
  });
  scene.drawn = [left - 4, first + found.indexOf(chosen) * pitch, width + 8, pitch];
  scene.output = [x - 4, top - 4, m.width - x + 4, deep + 8];
  const end = Math.max(first + found.length * pitch, y0 + m.pitch / 2);
  scene.start = [x - 3, top - ABOVE - 2, m.width - x + 1, ABOVE + end - top + 6];
  // Losses down to the key, which says what their colours mean.
  const said = [x + strip + 3, top - 4, m.width - x - strip - 3, deep + 8 + (losses ? m.key.height + m.under : 0)];
  scene.part("loss", ...said);
  // Of the last vectors only the class token's goes on.
  const own = [[x - 4, y0 - m.pitch / 2 - 1, strip + 7, m.pitch + 2], said];
  for (const rect of classes ? own : [scene.output]) scene.part(["output", "decoding"], ...rect);
  scene.part(stack.name, x - 4, top - 4, strip + 8, height + 8);
  scene.lossRow = (r) => [left, lossY(r) - m.pitch / 2, width, m.pitch];
  // The reference is known from the start; what its tokens cost comes row by row, and then the mean.
  for (const [r, token] of (losses ? model.written : []).entries()) {
    const [named, column, wide] = placed(r, m.pitch, width);
    const style = { size: clamp(m.pitch - 2, 9, 13), color: r < rows ? "ink" : "muted", most: wide - 4 };
    if (named) scene.label(spelt(token), left + 4 + column * wide, lossY(r) + 0.5, style);
    if (r >= rows) continue;
    const name = `The loss of row ${r + 1}, “${token}”: open its distribution`;
    const tip = [lost.found[r].says, "click to see its distribution"];
    scene.button(scene.lossRow(r), name, { go: "decoder/output", row: r }, tip);
  }
  const { token, share } = chosen;
  const what = classes ? "Class" : "Next token";
  const tip = [
    `${classes ? "" : `After “${stack.tokens[row]}”: `}“${shorten(token)}”, ${percent(share)}`,
    marksIn(found.map((one) => one.token)),
    "click to see logits and softmax",
  ].filter(Boolean);
  scene.height = Math.max(scene.height, top + deep + 4);
  const name = `${what}: ${token}, ${percent(share)}. Open logits and softmax`;
  scene.button([x, top - ABOVE - 4, m.width - x, ABOVE + 4 + deep], name, { go: `${stack.name}/output` }, tip);
}

// What each row loses on the reference's token, and the mean over the rows: once all are read, the loss.
export function lossesOf({ written, candidates, drawn }, rows = written.length) {
  const found = written.slice(0, rows).map((token, row) => {
    const [, , share, rank] = candidates[row][drawn[row]];
    const loss = -Math.log(share);
    const formula = `−ln\u00a0${share < 0.1 ? share.toPrecision(3) : share.toFixed(3)} = ${number(loss)}`;
    const place = rank > 1 ? ` (rank ${rank.toLocaleString("en")}; the likeliest is “${candidates[row][0][0]}”)` : "";
    const [before] = candidates[row - 1]?.[drawn[row - 1]] || [];
    const fed = drawn[row - 1] > 0 ? `, after the decoder was fed “${before}” (teacher forcing)` : "";
    return { token, rank, loss, formula, says: `“${token}” costs ${formula} nats${place}${fed}` };
  });
  const losses = found.map(({ loss }) => loss);
  const mean = losses.reduce((sum, loss) => sum + loss, 0) / rows;
  return { found, mean, most: losses.indexOf(Math.max(...losses)), done: rows === written.length };
}

// Rows too close for names have them in up to three columns in turn, closer ones every so many: pointing tells
// the rest. Whether a row is named, in which column, and how wide that is.
function placed(row, pitch, width) {
  const step = Math.ceil(10 / pitch);
  if (step === 1 || step > 3) return [row % step === 0, 0, width - 38];
  return [true, row % step, width / 2 / step];
}

// One scale for every reference, so that a wrong word is seen to cost more; a mark where a model stands
// that knows nothing: it gives each token the same p.
function lossRows(p, { found, mean, done }, y, pitch, x, width, vocabulary) {
  const most = Math.max(12, ...found.map(({ loss }) => loss));
  const at = (loss) => (width * loss) / most;
  const blind = Math.log(vocabulary);
  const size = clamp(pitch - 2, 9, 13);
  const high = clamp(pitch - 4, Math.min(6, pitch - 1), 18);
  const all = done ? [`mean of ${found.length} rows = loss`, "mean = loss", "mean"] : ["mean so far", "mean"];
  const end = { token: "", loss: mean, formula: number(mean) };
  [...found, end].forEach(({ token, loss, rank, formula }, row) => {
    const last = row === found.length;
    const weight = last ? 650 : 400;
    p.box(x, y(row) - high / 2, width, high, { fill: p.theme.masked, radius: 2 });
    p.context.globalAlpha = 0.4;
    // What the model wouldn't have written itself is marked.
    const fill = p.theme[last ? "value" : rank > 1 ? "key" : "query"];
    p.box(x, y(row) - high / 2, Math.max(1, at(loss)), high, { fill, radius: 2 });
    p.context.globalAlpha = 1;
    if (vocabulary) p.box(x + at(blind) - 0.5, y(row) - pitch / 2, 1, pitch, { fill: p.theme.hatch, radius: 0 });
    const free = width < 150 ? 0 : width - textWidth(spelt(token), size) - 14;
    const [named, column, wide] = placed(row, pitch, width);
    const said = fitting([formula, number(loss)], wide < width / 2 ? 0 : free, size);
    if (last) p.text(fitting(all, (width - 46) / 1.1), x + 4, y(row) + 0.5, { size, weight });
    const right = x + width - 3 - (last ? 0 : column * wide);
    if (last || named) p.text(said, right, y(row) + 0.5, { size, weight, align: "right" });
  });
  const [below, small] = [y(found.length) + pitch / 2 + 9, { size: 12, color: p.theme.muted }];
  p.text("0", x, below, small);
  p.text(`${most.toFixed(0)}${width < 150 ? "" : " nats"}`, x + width, below, { ...small, align: "right" });
  if (!vocabulary) return;
  const landmark = `log V = ${blind.toFixed(1)}`;
  const words = fitting([`${landmark}, a blind guess`, landmark, "log V"], at(blind) - 12);
  p.text(words, x + at(blind) + 3, below, { ...small, align: "right" });
}

// What colours and signs mean, in lines below the picture: its height, and what draws it.
export function keyOf(model, width) {
  const entered = model.states || model.stacks[0].entered;
  const words = (said) => [
    textWidth(said, 12),
    (p, x, y) => p.text(said, x, y + 0.5, { size: 12, color: p.theme.muted }),
  ];
  const scale = (weights) => {
    const data = Float32Array.from({ length: 44 }, (_, i) => (weights ? i / 43 : (2 * i) / 43 - 1));
    return [44, (p, x, y) => p.row({ data, rows: 1, cols: 44, most: 1, weights }, 0, x, y - 4, 44, 8)];
  };
  const band = (colour, width = 5, alpha = 0.8) => [
    18,
    (p, x, y) => p.straight(x + 2, y, x + 16, y, { color: p.theme[colour], width, alpha }),
  ];
  const bars = model.scored ? { query: "the likeliest token", key: "another one", value: "their mean" } : {};
  const shown = entered.cols < entered.width ? `${entered.cols} of its` : "its";
  const [self, cross] = ["self-attention", "cross-attention"];
  const bands = model.stacks.length > 1 ? { query: self, key: cross } : { query: `${self}, all heads` };
  const groups = [
    [
      [30, (p, x, y) => p.row(entered, 0, x, y - 5, 30, 10)],
      words(fitting([`a vector: ${shown} ${entered.width} numbers, −`, "a vector, −"], width - 110, 12)),
      scale(false),
      words("+"),
    ],
  ];
  const more = [
    [words("attention, 0"), scale(true), words("max")],
    [[12, (p, x, y) => p.plus(x + 6, y, 5, p.theme.muted)], words("add")],
    // On a phone losses take their room.
    ...Object.entries(model.scored && width < NARROW ? {} : bands).map(([colour, said]) => [band(colour), words(said)]),
    ...Object.entries(bars).map(([colour, said]) => [band(colour, 10, 0.4), words(said)]),
  ];
  let [at, line] = [0, 0];
  const placed = [];
  for (const group of model.recurrent ? groups : [...groups, ...more]) {
    if (at && at + group.reduce((sum, [wide]) => sum + wide + 5, 0) > width) [at, line] = [0, line + 1];
    for (const [wide, draw] of group) {
      placed.push([draw, at, 18 * line + 9]);
      at += wide + 5;
    }
    at += 14;
  }
  return { height: 18 * (line + 1), draw: (p, top) => placed.forEach(([draw, x, y]) => draw(p, x, top + y)) };
}
