// The map, first depth, where the model answers: the likeliest next tokens, or the likeliest classes.

import { path } from "./map_paint.js";
import { NARROW, brief, number, percent } from "./map_scene.js";
import { likeliest } from "./map_trace.js";
import { clamp, fitting, marksIn, shorten, spelt, textWidth } from "./text.js";

// The line of words above a stack.
const ABOVE = 22;
const LOSS = ["loss: −ln p of the token scored on", "−ln p(token scored on)", "loss, −ln p"];
const HEADINGS = { gradient: ["gradient at this token’s logit: p − 1", "gradient: p − 1"], tokens: ["scored on"] };
const MEAN = ["mean of all rows = loss", "mean = loss", "mean"];

// `rows` are computed; the vector of `row` is the one that answers.
export function answer(scene, model, stack, m, rows, row) {
  const losses = model.scored;
  const last = stack.blocks.length - 1;
  const { top } = stack.blocks[last];
  const x = stack.blocks[last].x + 2;
  const strip = m.narrow ? clamp(losses ? 0 : (m.width - x) * 0.4 - 26, 12, 80) : Math.min(m.strip, 26);
  const height = stack.n * stack.pitch;
  const found = likeliest(model, row, m.small ? 1 : clamp(Math.floor(height / 34), 3, 6));
  const left = x + strip + (m.narrow ? clamp((m.width - x) * 0.14, 16, 40) : 26);
  // There is room for a frame.
  const right = m.width - 6;
  const width = right - left;
  const pitch = clamp(height / found.length, 34, 40);
  const y0 = stack.y(row, last);
  // Where a token is drawn, the temperature's slider lies above, if there is room.
  const low = model.sums && model.kind === "GPT" && width > 72 ? top + 28 : top;
  if (low > top) scene.slot = [left - 2, top, width + 4];
  const first = clamp(y0 - pitch * 0.6, low, Math.max(low, top + height - found.length * pitch));
  // Losses have rows as high as their words, and so begin higher up, below the memory; the last is the mean's.
  const line = losses ? Math.max(stack.pitch, stack.n > 24 ? 13 : 16) : stack.pitch;
  const lossTop = line > stack.pitch ? Math.max(model.encoder.bottom + 42, top + height - stack.n * line) : top;
  const lossY = (r) => lossTop + (r + 0.5) * line;
  const deep = losses ? lossY(stack.n) + line / 2 + 16 - lossTop : Math.max(height, first + found.length * pitch - top);
  const classes = stack.name === "encoder";
  const hot = ["next token at temperature", "next token, T =", "next, T ="];
  const next =
    model.shown === 1 || scene.slot ? ["next token"] : hot.map((words) => `${words} ${model.shown.toFixed(1)}`);
  const [from, align, room] = width < 100 ? [right, "right", right - x] : [left, "left", width];
  const lost = losses && lossesOf(model);
  const mean =
    lost && m.narrow
      ? ["loss, the mean: ", "loss: "].map((one) => one + number(model.trained?.at(-1) ?? lost.mean))
      : [];
  const heading = classes ? "class" : fitting(losses ? HEADINGS[model.shows] || [...mean, ...LOSS] : next, room / 1.1);
  scene.label(heading, from, lossTop - 11, { size: 13, weight: 600, align });
  if (losses && model.shows === "tokens") scene.note("likeliest", right, lossTop - 11, "right");
  // Written next, or the likeliest.
  const chosen = found.find(({ drawn }) => drawn) || found[0];
  const long = width - textWidth(">99.9%", 12) - 8;
  scene.paint((p) => {
    p.strips(stack.output, x, top, strip, stack.pitch, { rows });
    p.box(x - 2, y0 - stack.pitch / 2, strip + 4, stack.pitch, { edge: p.theme.query, line: 2, radius: 3 });
    if (losses) {
      for (let r = 0; r < stack.n; r++)
        p.ribbon(x + strip + 3, stack.y(r, last), left - 3, lossY(r), 1.5, r === row ? p.theme.query : p.theme.lane, 1);
      return (model.shows === "tokens" ? choices : lossRows)(p, lost, lossY, line, left, width, model);
    }
    found.forEach(({ share }, i) => {
      const y = first + (i + 0.5) * pitch;
      p.ribbon(x + strip + 3, y0, left - 4, y, 1 + 3 * share, p.theme.query, 0.35 + 0.65 * share);
      p.box(left, y + 6, long, 6, { fill: p.theme.masked, radius: 3 });
      p.box(left, y + 6, Math.max(2, long * share), 6, { fill: p.theme.query, radius: 3 });
    });
  });
  // Dimmed, what the model may answer can still be read.
  for (const [i, one] of losses || m.small ? [] : found.entries()) {
    const { token, share, drawn, mark } = one;
    const y = first + (i + 0.5) * pitch;
    scene.top([left, y - 14, width, 28], (p, lit, veil) => {
      if (!lit && veil === "paper") return;
      const ink = (color) => p.theme[lit ? color : "field"];
      // Where there is no room for a word, its colour alone says that this token was drawn.
      const word = drawn && width >= 44 + 1.1 * textWidth(mark, 12) ? mark : "";
      const style = { size: 14, weight: one === chosen ? 650 : 400, color: ink(drawn ? "query" : "ink") };
      p.text(spelt(token), left, y - 8, { ...style, most: width - (word ? 1.1 * textWidth(word, 12) + 8 : 0) });
      p.text(word, right, y - 9, { size: 12, weight: 650, align: "right", color: ink("query") });
      p.text(brief(share), right, y + 9, { size: 12, align: "right", color: ink("muted") });
    });
  }
  scene.drawn = [left - 4, first + found.indexOf(chosen) * pitch, width + 8, pitch];
  scene.output = [x - 4, lossTop - 4, m.width - x + 4, deep + 8];
  const end = Math.max(first + found.length * pitch, y0 + stack.pitch / 2);
  scene.start = [x - 3, top - ABOVE - 2, m.width - x + 1, ABOVE + end - top + 6];
  // Losses down to the key, which says what their colours mean.
  const said = [x + strip + 3, lossTop - 4, m.width - x - strip - 3, deep + 8 + (losses ? m.key.height + m.under : 0)];
  scene.part("loss", ...said);
  // Of the last vectors only the class token's goes on.
  const own = [[x - 4, y0 - stack.pitch / 2 - 1, strip + 7, stack.pitch + 2], said];
  for (const rect of classes ? own : [scene.output]) scene.part(["output", "decoding"], ...rect);
  scene.part(stack.name, x - 4, top - 4, strip + 8, height + 8);
  scene.lossRow = (r) => [left, lossY(r) - line / 2, width, line];
  for (const [r, token] of (losses ? model.written : []).entries()) {
    const rect = scene.lossRow(r);
    const style = { size: clamp(line, 9, 13), weight: r === row ? 650 : 400, most: width - 42 };
    scene.label(spelt(token), left + 4, lossY(r) + 0.5, style);
    const name = `The loss of row ${r + 1}, “${token}”: open its distribution`;
    const tip = [lost.found[r][model.shows === "gradient" ? "pushes" : "says"], "click to see its distribution"];
    scene.button(rect, name, { go: "decoder/output", row: r }, tip);
  }
  const { token, share } = chosen;
  const what = classes ? "Class" : "Next token";
  const tip = [
    `${classes ? "" : `After “${stack.tokens[row]}”: `}“${shorten(token)}”, ${percent(share)}`,
    marksIn(found.map((one) => one.token)),
    "click to see logits and softmax",
  ].filter(Boolean);
  scene.height = Math.max(scene.height, lossTop + deep + 4);
  const name = `${what}: ${token}, ${percent(share)}. Open logits and softmax`;
  scene.button([x, lossTop - ABOVE - 4, m.width - x, ABOVE + 4 + deep], name, { go: `${stack.name}/output` }, tip);
}

// What each row loses on the reference's token, and the mean over the rows, the loss.
export function lossesOf({ written, candidates, drawn, untrained }) {
  const found = written.map((token, row) => {
    const [, , share, rank] = candidates[row][drawn[row]];
    const loss = -Math.log(share);
    const formula = `−ln\u00a0${share < 0.1 ? share.toPrecision(3) : share.toFixed(3)} = ${number(loss)}`;
    const place = rank > 1 ? ` (rank ${rank.toLocaleString("en")}; likeliest: “${candidates[row][0][0]}”)` : "";
    const [before] = candidates[row - 1]?.[drawn[row - 1]] || [];
    const [rival, , most] = candidates[row][Number(!drawn[row])];
    const pushes = `“${token}”: p − 1 = ${number(share - 1)}, so a step raises its logit; “${rival}”: p = ${number(most)}, so it falls`;
    const fed = drawn[row - 1] > 0 ? `, after the decoder was fed “${before}” (teacher forcing)` : "";
    const says = `“${token}” costs ${formula} nats${place}${fed}`;
    return { token, rank, loss, share, formula, pushes, says, most, rival, before: untrained?.[row] };
  });
  const losses = found.map(({ loss }) => loss);
  const meanOf = (all) => all.reduce((sum, loss) => sum + loss, 0) / all.length;
  const before = untrained && meanOf(untrained);
  return { found, mean: meanOf(losses), before, most: losses.indexOf(Math.max(...losses)) };
}

// The losses from their heading on, or down to the row that the words tell of.
export function toldRow({ trace, scene, current, frame }) {
  if (!trace.scored || !scene.lossRow) return null;
  const [x, y, wide, high] = scene.lossRow(current);
  const from = Math.max(scene.parts.loss[0][1] - 20, y + high - frame.clientHeight);
  return [[x, from, wide, frame.clientHeight]];
}

// What the model itself would write in each row, whatever it reads.
function choices(p, { found }, y, _, x, width) {
  for (const [row, { token, rank, rival }] of found.entries()) {
    const style = { size: 13, align: "right", most: width / 2, color: rank > 1 ? p.theme.key : p.theme.muted };
    p.text(spelt(rank > 1 ? rival : token), x + width, y(row) + 0.5, style);
  }
}

// One scale for every reference, so that a wrong word is seen to cost more; a mark where a model stands
// that knows nothing: it gives each token the same p. Or how far each logit is pushed.
function lossRows(p, { found, mean, before, most: told }, y, pitch, x, width, { vocabulary, shows, trained }) {
  const pushes = shows === "gradient";
  const blind = pushes || !vocabulary ? 0 : Math.log(vocabulary);
  const most = pushes ? 1 : Math.max(blind ? 1.1 * blind : 12, ...found.flatMap((one) => [one.loss, one.before || 0]));
  const at = (size) => (width * size) / most;
  // Numbers stand on one side of a blind guess's line.
  const guess = at(blind);
  const edge = blind && width - guess < 44 ? guess - 4 : width - 3;
  const size = clamp(pitch, 9, 13);
  const high = clamp(pitch - 4, Math.min(6, pitch - 1), 18);
  // In the end the mean, or the logit that falls in the row of which the tour tells.
  const { rival, most: falls } = found[told];
  const [ends, end] = pushes ? [[rival], { share: 1 - falls }] : [MEAN, { loss: mean, before }];
  const rows = [...found, end];
  const steps = (one, row) => ({ ...one, before: one.loss, loss: trained[row] }); // the one that the tour tells of
  (trained ? rows.map(steps) : rows).forEach(({ token = "", loss, share, rank, formula, before }, row) => {
    const last = row === found.length;
    const weight = last ? 650 : 400;
    const long = at(pushes ? 1 - share : loss);
    // What the model wouldn't have written itself is marked.
    const fill = last === pushes ? (pushes || rank > 1 ? "key" : "query") : "value";
    p.box(x, y(row) - high / 2, width, high, { fill: p.theme.masked, radius: 2 });
    p.context.globalAlpha = 0.4;
    p.box(x, y(row) - high / 2, Math.max(1, long), high, { fill: p.theme[fill], radius: 2 });
    p.context.globalAlpha = 1;
    // Below the words: where it was before training. Between the rows: a blind guess.
    if (before && !pushes)
      p.box(x, y(row) + high / 2 - 1, Math.max(1, at(before)), 2, { fill: p.theme.ink, radius: 0 });
    if (blind) p.box(x + at(blind) - 0.5, y(row) + high / 2, 1, pitch - high, { fill: p.theme.muted, radius: 0 });
    const taken = [textWidth(spelt(token), size) + 14, long + 6, at(before || 0) + 6, edge > guess ? guess + 4 : 0];
    const free = width < 150 ? 0 : edge + 3 - Math.max(...taken);
    const now = pushes && last ? `+${number(falls)}` : number(pushes ? share - 1 : loss);
    const full = trained ? `${number(before)} → ${now}` : pushes ? `p${last ? "" : " − 1"} = ${now}` : formula || now;
    const said = fitting([full, now], last ? edge - 17 - 1.1 * textWidth(ends.at(-1), size) : free, size);
    if (last) p.text(fitting(ends, (edge - 17) / 1.1 - textWidth(said, size)), x + 4, y(row) + 0.5, { size, weight });
    p.text(said, x + edge, y(row) + 0.5, { size, weight, align: "right" });
    // It belongs to that row.
    const right = x + width;
    const way = path(right, y(told), right + 4, y(told), right + 4, y(row), right, y(row));
    if (last && pushes) p.line(way, { color: p.theme.key, width: 1.5 });
    // The number of which the tour tells.
    if (last && shows === "loss") p.frame(x - 1, y(row) - high / 2 - 1, width + 2, high + 2, p.theme.value);
  });
  const [below, small] = [y(found.length) + pitch / 2 + 9, { size: 12, color: p.theme.muted }];
  p.text("0", x, below, small);
  const top = pushes ? "±1" : `${most.toFixed(0)} nats`;
  if (!blind) return p.text(top, x + width, below, { ...small, align: "right" });
  const landmark = `ln V = ${blind.toFixed(1)}`;
  const words = fitting([`${landmark} nats, a blind guess`, `${landmark} nats`, landmark, "ln V"], at(blind) - 12);
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
  const losses = model.scored && { query: "the likeliest token", key: "another was likelier", value: "their mean" };
  const told = {
    tokens: { key: "not the token scored on" },
    gradient: { value: "a step raises this logit", key: "or lowers it" },
  };
  const bars = told[model.shows] || losses || {};
  const shown = entered.cols < entered.width ? `${entered.cols} of its` : "its";
  const [self, cross] = ["self-attention", "cross-attention"];
  // In short, where all of it then stands on one line.
  const room = width - (model.stacks.length > 1 && width > 600 ? 560 : 110);
  const bands = model.stacks.length > 1 ? { query: self, key: cross } : { query: `${self}, all heads` };
  const groups = [
    [
      [30, (p, x, y) => p.row(entered, 0, x, y - 5, 30, 10)],
      words(fitting([`a vector: ${shown} ${entered.width} numbers, −`, "a vector, −"], room, 12)),
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
