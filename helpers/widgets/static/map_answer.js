// The map, first depth, where the model answers: the likeliest next tokens, or the likeliest classes.

import { brief, percent } from "./map_scene.js";
import { likeliest } from "./map_trace.js";
import { clamp, marksIn, shorten, spelt, textWidth } from "./text.js";

// The line of words above a stack.
const ABOVE = 22;

// `rows` are computed; the vector of `row` is the one that answers.
export function answer(scene, model, stack, m, rows, row, losses) {
  const last = stack.blocks.length - 1;
  const { top } = stack.blocks[last];
  const x = stack.blocks[last].x + 2;
  const strip = m.narrow ? clamp((m.width - x) * 0.4 - 26, 12, 80) : Math.min(m.strip, 26);
  const height = stack.n * m.pitch;
  const found = likeliest(model, row, clamp(Math.floor(height / 34), 3, 6));
  const left = x + strip + (m.narrow ? clamp((m.width - x) * 0.14, 16, 40) : 26);
  // There is room for a frame.
  const right = m.width - 6;
  const width = right - left;
  const pitch = clamp(height / found.length, 34, 40);
  const y0 = stack.y(row, last);
  const first = clamp(y0 - pitch * 0.6, top, Math.max(top, top + height - found.length * pitch));
  const deep = Math.max(height + (losses ? m.pitch : 0), first + found.length * pitch - top);
  const classes = stack.name === "encoder";
  scene.label(losses ? "loss, −ln p" : classes ? "class" : "next token", width < 84 ? right : left, top - 11, {
    size: 13,
    weight: 600,
    align: width < 84 ? "right" : "left",
  });
  // Written next, or the likeliest.
  const chosen = Math.max(
    0,
    found.findIndex(({ drawn }) => drawn),
  );
  const bar = width - textWidth(">99.9%", 12) - 8;
  scene.paint((p) => {
    p.strips(stack.output, x, top, strip, m.pitch, { rows });
    p.box(x - 2, y0 - m.pitch / 2, strip + 4, m.pitch, { edge: p.theme.query, line: 2, radius: 3 });
    if (losses) return lossRows(p, model, stack, rows, left, width);
    found.forEach(({ token, share, drawn, mark }, i) => {
      const y = first + (i + 0.5) * pitch;
      p.ribbon(x + strip + 3, y0, left - 4, y, 1 + 3 * share, p.theme.query, 0.35 + 0.65 * share);
      // Where there is no room for a word, its colour alone says that this token was drawn.
      const word = drawn && width >= 84;
      p.text(spelt(token), left, y - 6, {
        size: 14,
        weight: i === chosen ? 650 : 400,
        most: width - (word ? 50 : 0),
        color: drawn ? p.theme.query : p.theme.ink,
      });
      if (word) p.text(mark, right, y - 7, { size: 12, weight: 650, align: "right", color: p.theme.query });
      p.text(brief(share), right, y + 8, { size: 12, align: "right", color: p.theme.muted });
      p.box(left, y + 5, bar, 6, { fill: p.theme.masked, radius: 3 });
      p.box(left, y + 5, Math.max(2, bar * share), 6, { fill: p.theme.query, radius: 3 });
    });
  });
  scene.output = [x - 4, top - 4, m.width - x + 4, deep + 8];
  scene.start = [
    x - 3,
    top - ABOVE - 2,
    m.width - x + 1,
    ABOVE + Math.max(first + found.length * pitch, y0 + m.pitch / 2) - top + 6,
  ];
  const said = [x + strip + 3, top - 4, m.width - x - strip - 3, deep + 8];
  scene.part("loss", ...said);
  // Of the last vectors only the class token's goes on.
  const own = [[x - 4, y0 - m.pitch / 2 - 1, strip + 7, m.pitch + 2], said];
  for (const rect of classes ? own : [scene.output]) scene.part(["output", "decoding"], ...rect);
  scene.part(stack.name, x - 4, top - 4, strip + 8, height + 8);
  for (let r = 0; losses && r < rows; r++) {
    const name = `The loss of row ${r + 1}, “${model.written[r]}”: follow the row`;
    scene.button([left, stack.y(r, last) - m.pitch / 2, width, m.pitch], name, { follow: `${stack.name}:${r}` }, [
      `−ln of the probability of “${model.written[r]}”`,
      "click to follow this row",
    ]);
  }
  const { token, share } = found[chosen];
  const what = classes ? "Class" : "Next token";
  const tip = [
    classes
      ? `“${shorten(token)}”, ${percent(share)}`
      : `After “${stack.tokens[row]}”: “${shorten(token)}”, ${percent(share)}`,
    marksIn(found.map((one) => one.token)),
    "click to see logits and softmax",
  ].filter(Boolean);
  scene.height = Math.max(scene.height, top + deep + 4);
  scene.button(
    [x, top - ABOVE - 4, m.width - x, ABOVE + 4 + deep],
    `${what}: ${token}, ${percent(share)}. Open logits and softmax`,
    { go: `${stack.name}/output` },
    tip,
  );
}

// What each row loses on the token that should come next, and the mean over the rows.
function lossRows(p, model, { y, pitch }, rows, x, width) {
  const found = model.written.slice(0, rows).map((token, row) => {
    const share = model.candidates[row][model.drawn[row]]?.[2];
    return [token, share ? -Math.log(share) : 0];
  });
  const most = Math.max(1, ...found.map(([, loss]) => loss));
  const mean = found.reduce((sum, [, loss]) => sum + loss, 0) / rows;
  const style = { size: clamp(pitch - 2, 9, 13), align: "right" };
  [...found, ["mean", mean]].forEach(([token, loss], row) => {
    const high = clamp(pitch - 4, 6, 18);
    const all = row === rows;
    const weight = all ? 650 : 400;
    p.box(x, y(row) - high / 2, width, high, { fill: p.theme.masked, radius: 2 });
    p.context.globalAlpha = 0.4;
    const long = Math.max(1, (width * loss) / most);
    p.box(x, y(row) - high / 2, long, high, { fill: p.theme[all ? "value" : "query"], radius: 2 });
    p.context.globalAlpha = 1;
    p.text(spelt(token), x + 4, y(row) + 0.5, { ...style, align: "left", weight, most: width - 42 });
    p.text(loss.toFixed(2), x + width - 3, y(row) + 0.5, { ...style, weight });
  });
}

// What colours and signs mean, in lines below the picture: its height, and what draws it.
export function keyOf(model, width) {
  const { entered } = model.stacks[0];
  const words = (said) => [
    textWidth(said, 12),
    (p, x, y) => p.text(said, x, y + 0.5, { size: 12, color: p.theme.muted }),
  ];
  const scale = (weights) => {
    const data = Float32Array.from({ length: 44 }, (_, i) => (weights ? i / 43 : (2 * i) / 43 - 1));
    return [44, (p, x, y) => p.row({ data, rows: 1, cols: 44, most: 1, weights }, 0, x, y - 4, 44, 8)];
  };
  const band = (colour) => [
    18,
    (p, x, y) => p.straight(x + 2, y, x + 16, y, { color: p.theme[colour], width: 5, alpha: 0.8 }),
  ];
  const shown = entered.cols < model.width ? `${entered.cols} of its` : "its";
  const bands = model.stacks.length > 1 ? { query: "masked", key: "cross" } : { query: "attention, all heads" };
  const groups = [
    [
      [30, (p, x, y) => p.row(entered, 0, x, y - 5, 30, 10)],
      words(`a vector: ${shown} ${model.width} numbers, −`),
      scale(false),
      words("+"),
    ],
    [words("attention, 0"), scale(true), words("max")],
    [[12, (p, x, y) => p.plus(x + 6, y, 5, p.theme.muted)], words("add")],
    ...Object.entries(bands).map(([colour, said]) => [band(colour), words(said)]),
  ];
  let [at, line] = [0, 0];
  const placed = [];
  for (const group of groups) {
    if (at && at + group.reduce((sum, [wide]) => sum + wide + 5, 0) > width) [at, line] = [0, line + 1];
    for (const [wide, draw] of group) {
      placed.push([draw, at, 18 * line + 9]);
      at += wide + 5;
    }
    at += 14;
  }
  return {
    height: 18 * (line + 1),
    draw: (p, top) => placed.forEach(([draw, x, y]) => draw(p, x, top + y)),
  };
}
