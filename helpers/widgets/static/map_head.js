// The map, third depth: one head. Queries on the left, keys above the scores, values above the
// mixture: every matrix product stands where its rows meet its columns.

import { NARROW, Scene, number, tellVector } from "./map_scene.js";
import { mixes, rowsGo, sweeps } from "./map_moves.js";
import { colourOf, path } from "./map_paint.js";
import { heat, patchButtons, patchRow } from "./map_patches.js";
import { columnLevels, nameColumns, nameRows, namesWidth } from "./map_rows.js";
import { matrix, valueAt } from "./map_trace.js";
import { inkOn } from "./colour.js";
import { bluest, purposeOf, sayPurpose } from "./map_purpose.js";
import { clamp, digits, fitting, textWidth, wrapped } from "./text.js";

export function headScene(where, place, width, room, query) {
  const { head, stack, keys, kind } = where;
  const queries = stack.tokens;
  const who = kind === "cross-attention" ? "a row" : "a token";
  const does = stack.image
    ? `This head ${bluest(head, stack, query).words}.`
    : sayPurpose(purposeOf(where.sublayer, where.headIndex, stack, keys), who);
  const title = `Head ${where.headIndex + 1}: from queries, keys and values to a mixture. ${does}`;
  const scene = new Scene(width, room, title);
  scene.does = does;
  const g = headSizes(width, room, queries, keys, stack.image);
  if (g.narrow) scene.height = g.top2 + g.high * queries.length + 30;
  const { cell, high, top, left, wide, x1, x2, x3 } = g;
  const [tall, broad] = [queries.length * high, keys.length * cell];
  const draw = (one, x, y, w, h) => scene.paint((p) => p.matrix(one, x, y, w, h));

  const keysUp = transposed(head.k);
  draw(head.q, left, top, wide, tall);
  draw(keysUp, x1, g.head, broad, g.up);
  scores(scene, head, x1, top, g);
  draw({ ...head.weights, off: false }, x2, g.top2, broad, tall);
  headSeams(scene, head.weights, x2, g.top2, g);
  draw(head.v, x3, g.head2, wide, g.up);
  draw(head.context, x3, g.top2, wide, tall);

  headLabels(scene, where, g, queries, keys);
  // Of a beat, a score or weight, or else a mixture.
  scene.cell = (beat, row, key) => {
    const [x, y] = [beat === 2 ? x1 : x2, beat === 2 ? top : g.top2];
    return beat > 3 ? [x3, y + row * high, wide, high] : [x + key * cell, y + row * high, cell, high];
  };
  if (stack.image) onPicture(scene, where, g, query, (p) => markRow(p, g, query, wide, broad));
  const from = kind === "cross-attention" ? "the encoder’s output" : "this layer’s normalised input";
  const here = place.split("/").slice(0, 4).join("/");
  const makes = (letter, of) => (where.opens ? (row, col) => `${here}/${letter}/${of(row, col)}` : null);
  const told = (tell) => (where.opens ? (...cell) => [...tell(...cell), "click to see how it’s made"] : tell);
  const tellQuery = tellVector(queries, "query, made from this layer’s input");
  const tellValue = tellVector(keys, `value, made from ${from}`);
  const own = (row) => row;
  scene.grid([left, top, wide, tall], head.q, "Q: queries", told(tellQuery), makes("q", own));
  const tellKey = (one, row, col) => [
    `“${keys[col]}” key, made from ${from}`,
    `entry ${row + 1}: ${number(valueAt(one, row, col))}`,
  ];
  const keysMade = makes("k", (_, col) => col);
  scene.grid([x1, g.head, broad, g.up], keysUp, "K: keys, one a column", told(tellKey), keysMade);
  scene.grid([x3, g.head2, wide, g.up], head.v, "V: values", told(tellValue), makes("v", own));
  const open = (row, col) => `${here}/${row},${col}`;
  scene.grid([x1, top, broad, tall], head.scores, "Scores", tellScore(head, queries, keys), open);
  scene.grid([x2, g.top2, broad, tall], head.weights, "Weights", tellScore(head, queries, keys), open);
  scene.grid([x3, g.top2, wide, tall], head.context, "Mixture of the values", tellMixture(head, queries, keys));
  const marks = [
    (p, [row, key]) => [markRow(p, g, row, wide, broad), markKey(p, g, key)],
    (p, [row, key]) => [markRow(p, g, row, wide, broad), markValue(p, { ...g, rows: keys.length }, key, wide)],
    (p, [row]) => markRow(p, g, row, wide, broad),
  ];
  scene.targets.slice(-3).forEach((target, i) => {
    target.marks = (p, [row, key]) => {
      marks[i](p, [row, key]);
      if (!stack.image) return;
      heat(p, g.picture, stack, head.weights, row, i < 2 ? key : 0);
      queryName(p, g.picture, stack.tokens[row]);
    };
  });

  const { top2, head2 } = g;
  const end = top + tall + 24;
  const end2 = top2 + tall + 24;
  const dots = `Every query meets every key in a dot product, divided by √${head.q.cols}${head.causal ? ". Later tokens are masked out" : head.masked ? ". Some are masked out" : ""}.`;
  scene.beat("Each token’s vector is multiplied by W_Q. The result is its query.", [0, top - 30, x1 - 14, tall + 54]);
  const atKeys = [x1 - 24, 0, broad + 36, g.head + g.up + 2];
  scene.beat("Each token’s vector is also multiplied by W_K, which gives its key.", atKeys);
  scene.beat(dots, [x1 - 14, g.head + g.up + 2, broad + 28, end - g.head - g.up - 2]);
  scene.moves(
    sweeps(queries.length, keys.length, (p, [row, key]) => {
      p.frame(left - 1, top + row * high - 1, wide + 2, high + 2, p.theme.query);
      p.frame(x1 + key * cell - 1, top + row * high - 1, cell + 2, high + 2);
      markKey(p, g, key);
    }),
  );
  const [from2, more] = g.narrow ? [0, x2 - 30] : [x2 - 30, 0];
  const atWeights = [from2, top2 - 56, broad + 36 + more, end2 - top2 + 56];
  scene.beat("A softmax turns every row of scores into weights that sum to 1.", atWeights);
  scene.moves(rowsGo(head.weights, [x1, top, broad, tall], [x2, top2, broad, tall]));
  const atValues = [x3 - 24, head2 - 24, wide + 30, g.up + 26];
  scene.beat("W_V gives the values. Each row of weights says how to mix them.", atValues);
  const atMixture = [x3 - 20, top2 - 30, wide + 24, end2 - top2 + 30];
  scene.beat("The mixtures of all heads, side by side, go through W_O and are added to the stream.", atMixture);
  scene.moves(mixes(head, [x3, head2, wide, g.up], [x3, top2, wide, tall]));
  const others = stack.image ? "Press another patch to see what it takes. " : "";
  scene.hint = `${saysAbove(g, does) ? "" : `${does} `}${others}Press a score${where.opens ? ", Q, K or V" : ""} to see how it’s made.`;
  return scene;
}

// Whether the weight at a masked head's score must be 1, as the tour asks, and why.
export function guessed({ head, query, key, keys, stack }) {
  const [from, to] = [`“${stack.tokens[query]}”`, `“${keys[key]}”`];
  if (!head.allowed(query, key)) return `No: ${to} comes after ${from}. Its score is −∞, so its weight is 0.`;
  const n = keys.filter((_, other) => head.allowed(query, other)).length;
  if (n > 1)
    return `Not this one: ${from} is allowed ${n} keys, which share a weight of 1. ${to} gets ${digits(valueAt(head.weights, query, key))} of it.`;
  return `Yes: ${from} is allowed no key but its own. A softmax over a single score is 1, whatever the score is.`;
}

// What the head does, in lines, where there is room for them above the weights’ names.
function saysAbove({ narrow, x2, x3, up }, does) {
  const lines = wrapped(does, 0.92 * (x3 - x2), 14);
  return !narrow && x3 - x2 > 220 && 18 * lines.length + 14 <= up && lines;
}

// The picture with what one query takes, which is chosen by a press.
function onPicture(scene, { head, stack }, g, query, frame) {
  const [x, y, side] = g.picture;
  const follow = (row) => ({ follow: `${stack.name}:${row}` });
  patchButtons(scene, g.picture, stack, "as the query", follow, "click to make it the query");
  scene.button(classChip(g.picture), "The class token as the query", follow(0), [
    "the class token",
    "click to make it the query",
  ]);
  scene.top([g.x2, g.top2, 2, 2], (p, lit) => {
    heat(p, g.picture, stack, lit ? head.weights : null, query);
    if (lit) frame(p);
  });
  scene.labels.push((p) => queryName(p, g.picture, stack.tokens[query]));
  const blue = fitting(["blue: what it takes here", "blue: what it takes"], side);
  scene.label(blue, x, y + side + 32, { size: 12, color: "query" });
}

// Below the picture, the class token's button.
function classChip([x, y, side]) {
  const wide = textWidth("[CLS]", 12) + 10;
  return [x + side - wide, y + side + 3, wide, 18];
}

// Whose blue it is: the patch's name, or the button is framed.
function queryName(p, place, name) {
  const [[x], [left, y, wide]] = [place, classChip(place)];
  const own = name === "[CLS]";
  p.box(x, y, left - x + wide, 18, { fill: p.theme.paper, radius: 0 });
  p.text(fitting(own ? ["query:"] : [`query: ${name}`, name], left - x - 2, 12), x, y + 9, { size: 12 });
  const [edge, line] = own ? [p.theme.ink, 2] : [p.theme.edge, 1];
  p.box(left, y, wide, 18, { fill: p.theme.box, edge, line, radius: 5 });
  p.text("[CLS]", left + wide / 2, y + 9.5, { size: 12, align: "center" });
}

// On a narrow screen the second product, weights times values, stands below the first.
function headSizes(width, room, queries, keys, image) {
  const narrow = width < NARROW;
  const rowHigh = (room - 240) / queries.length;
  const most = Math.max(rowHigh < 11.5 ? 120 : 92, width * 0.15);
  const named = () => namesWidth(queries, narrow ? 14 : Math.min(rowHigh, 14), 13) + 8;
  const left = image ? clamp(width * 0.055, 30, 90) : clamp(named(), 40, most);
  const gaps = [narrow ? 20 : 22, narrow ? 0 : textWidth("softmax", 12) + 16, 56];
  const free = width - left - (narrow ? 20 : gaps.reduce((a, b) => a + b, 0)) - 2;
  // The strips give way where that leaves room for the numbers in the cells.
  const wide = clamp(
    narrow
      ? Math.min(0.32 * free, free - (free > 18 * keys.length + 26 ? 28 : 11) * keys.length)
      : image
        ? 0.18 * free
        : Math.min(0.16 * free, (free - 2 * 33 * keys.length) / 2),
    narrow ? 26 : 44,
    150,
  );
  const cell = clamp((narrow ? free - wide : (free - 2 * wide) / 2) / keys.length, 1.5, 40);
  // Of a picture the patches stand for names, and it lies above Q, or on a phone above all.
  const level = narrow ? clamp(Math.max(...keys.map((key) => textWidth(key, 12))), 46, 70) : 46;
  const names = image ? 20 + Math.min(cell, 24) : 12 + level * columnLevels(cell);
  const up = narrow ? 70 : image ? clamp(room * 0.3, 110, 190) : clamp(room * 0.26 - names + 58, 70, 130);
  const side = Math.min(narrow ? 0.62 * width : left + wide - 18, narrow ? 220 : up + names - 38);
  const head = 24 + (image && narrow ? side + 50 : 0);
  const top = head + up + names;
  const high = narrow
    ? clamp(cell, ...(image ? [6, 18] : [12, 22]))
    : clamp((room - top - 26) / queries.length, 3, Math.max(12, 1.5 * cell));
  const x1 = left + wide + gaps[0];
  const x2 = narrow ? left : x1 + cell * keys.length + gaps[1];
  const x3 = x2 + cell * keys.length + (narrow ? 20 : gaps[2]);
  const head2 = narrow ? top + high * queries.length + Math.max(names, 72) : head;
  const picture = [0, 0, side];
  return { narrow, level, left, wide, cell, high, head, up, top, x1, x2, x3, head2, top2: head2 + up + names, picture };
}

function transposed(one) {
  const data = one.data.map((_, i) => valueAt(one, i % one.rows, Math.floor(i / one.rows)));
  return matrix(data, one.cols, one.rows);
}

// Scores with what the mask takes away hatched out, and numbers where they fit.
function scores(scene, head, x, y, g) {
  const one = head.scores;
  const { cell, high } = g;
  scene.paint((p) => {
    p.matrix(one, x, y, one.cols * cell, one.rows * high);
    if (!head.masked) return;
    const masked = { fill: p.theme.masked, radius: 0 };
    for (let r = 0; r < one.rows; r++)
      for (let c = 0; c < one.cols; c++) if (!head.allowed(r, c)) p.box(x + c * cell, y + r * high, cell, high, masked);
  });
  headSeams(scene, one, x, y, g, head);
}

function headSeams(scene, one, x, y, { cell, high }, head = null) {
  if (cell < 9 || high < 8) return;
  scene.paint((p) => p.seams(one.rows, one.cols, x, y, cell, high));
  const cells = Array.from({ length: one.rows * one.cols }, (_, i) => [Math.floor(i / one.cols), i % one.cols]);
  const told = (fewer) =>
    cells.map(([r, c]) => {
      const value = valueAt(one, r, c);
      const masked = head && !head.allowed(r, c);
      const score = () => number(value, Math.abs(value) < 9.95 ? 1 - fewer : 0);
      return { r, c, value, masked, words: masked ? "−∞" : head ? score() : weightIn(value, cell - 2, 2 - fewer) };
    });
  // In small print all of them, or with a decimal less, or else what a mask does alone: −∞, and a weight of 1.
  const sized = (some) =>
    Math.min(12, high - 4, (12 * (cell - 2)) / Math.max(...some.map((t) => textWidth(t.words, 12))));
  const plain = told(0).filter(({ words }) => /^(−∞|1)$/.test(words));
  const shown = [told(0), told(1), plain].find((some) => sized(some) >= 9);
  if (!shown) return;
  const size = sized(shown);
  scene.paint((p) => {
    for (const { r, c, value, masked, words } of shown) {
      const color = masked ? p.theme.ink : inkOn(colourOf(one, value, p.theme));
      p.text(words, x + (c + 0.5) * cell, y + (r + 0.5) * high + 0.5, { size, align: "center", color });
    }
  });
}

// A weight with `n` decimals, if it isn't 0 then; “>0.99” is too wide for many a cell.
function weightIn(value, most, n) {
  const words = Number(value.toFixed(n)) ? digits(value, n) : "";
  return Number(words) < 1 ? words : fitting(value < 0.99999 ? [words, "≈1"] : ["1"], most, 12);
}

function headLabels(scene, where, g, queries, keys) {
  const { head } = where;
  const { left, wide, cell, high, top, top2, x1, x2, x3 } = g;
  const broad = keys.length * cell;
  const { image } = where.stack;
  const patches = (x, y, dx, dy) =>
    keys.forEach((_, i) => i && patchRow(scene, where.stack, i, x + i * dx, y + i * dy, dx + dy));
  for (const y of new Set([top, top2]))
    if (image) patches(left - 4, y + high / 2, 0, high);
    else nameRows(scene, queries, { right: left - 8, top: y, pitch: high, room: left - 9 });
  const columns = (one, x, y) =>
    image ? patches(x + cell, y - cell / 2 - 3, cell, 0) : nameColumns(one, keys, x, y, cell, { level: g.level });
  // What is still to come has no names yet.
  const at = (x, y) => scene.besides([x, y, 2, 2]);
  const [atKeys, atScores, atWeights] = [at(x1, g.head), at(x1, top), at(x2, top2)];
  const [atValues, atMixture] = [at(x3, g.head2), at(x3, top2)];
  const small = { size: 12, color: "muted" };
  columns(atKeys, x1, top);
  columns(atWeights, x2, top2);
  atKeys.label("K", x1 - 12, g.head + g.up / 2, { size: 16, weight: 650, color: "key", align: "center" });
  atKeys.label(fitting(["keys, one per column", "keys"], broad, 12), x1, g.head - 11, small);
  atValues.label("V", x3 - 12, g.head2 + g.up / 2, { size: 16, weight: 650, color: "value", align: "center" });
  const [atV, align] = g.narrow ? [x3 + wide, "right"] : [x3, "left"];
  const values = fitting(["values, one per row", "values"], wide, 12);
  atValues.label(values, atV, g.head2 - 11, { ...small, align });
  scene.label("Q", left + wide / 2, top - 14, { size: 16, weight: 650, color: "query", align: "center" });
  const below = queries.length * high + 13;
  const masked = head.causal ? ", later tokens masked" : head.masked ? ", some masked" : "";
  const scored = fitting([`scores${masked}`, masked && "scores, masked", "scores"], broad) || "scores";
  const under = [
    [scene, left + wide / 2, top, "queries", Math.max(60, wide + 20)],
    [atScores, x1 + broad / 2, top, scored, broad],
    [atWeights, x2 + broad / 2, top2, fitting(["weights: each row sums to 1", "weights"], broad + 20), broad + 20],
    [atMixture, Math.min(x3 + wide / 2, scene.width - 28), top2, head.off ? "off" : "mixture", Math.max(60, wide + 20)],
  ];
  for (const [at, x, y, words, most] of under)
    at.label(words, x, y + below, { size: 13, color: "muted", align: "center", most });
  if (!g.narrow) {
    const says = saysAbove(g, scene.does);
    // V's name stands to the right.
    const middle = says ? (x2 + x3) / 2 - 36 : x2 + broad / 2;
    formula(scene, middle, g.head + (says ? 4 : g.up * 0.42), broad + (says ? 24 : 10), head);
    for (const [i, line] of (says || []).entries())
      atWeights.label(line, middle, g.head + 32 + 18 * i, { size: 14, weight: 600, align: "center" });
  }
  const y = top2 + (queries.length * high) / 2;
  atWeights.draws((p) => {
    const style = { color: p.theme.muted, width: 2, arrow: true };
    if (g.narrow) {
      const [from, to] = [x1 + broad / 2, left + broad / 2];
      const [low, end] = [top + below, top2 - (image ? 30 : 46 * columnLevels(cell) + 28)];
      p.line(path(from, low + 12, from, low + 34, to, low + 34, to, end), style);
    } else p.straight(x1 + broad + 6, y, x2 - 7, y, style);
  });
  if (g.narrow) atWeights.note("softmax", left + broad / 2 + 8, top + below + 48);
  else atWeights.note("softmax", (x1 + broad + x2) / 2, y - 12, "center");
  // Weights × V = mixture; above each other where the gap is slim.
  [..."×V="].forEach((words, i) => {
    const [dx, dy] = g.narrow ? [0, 16 * (i - 1)] : [17 * (i - 1), 0];
    const style = { size: 16, weight: 650, align: "center", color: i === 1 ? "value" : "muted" };
    atMixture.label(words, (x2 + broad + x3) / 2 + dx, y + dy, style);
  });
}

// The paper's formula, each letter in the colour of its matrix.
function formula(scene, x, y, most, { q, masked }) {
  const parts = [
    ["softmax( ", "ink"],
    ["Q", "query"],
    [" ", "ink"],
    ["Kᵀ", "key"],
    [` / √${q.cols}${masked ? " + mask" : ""} ) `, "ink"],
    ["V", "value"],
  ];
  const wide = (size) => parts.reduce((sum, [words]) => sum + textWidth(words, size), 0);
  const size = Math.min(19, Math.floor((19 * most) / wide(19)));
  if (size < 12) return;
  const total = wide(size);
  let at = x - total / 2;
  for (const [words, color] of parts) {
    scene.label(words, at, y, { size, color, weight: color === "ink" ? 400 : 650 });
    at += textWidth(words, size);
  }
}

// The row of a query, through the whole computation; with a key's column, and a value's row.
function markRow(p, { left, high, top, top2, x1, x2, x3 }, row, wide, broad) {
  const mark = (x, y, w) => p.frame(x - 1, y + row * high - 1, w + 2, high + 2, p.theme.query);
  mark(left, top, wide);
  mark(x1, top, broad);
  mark(x2, top2, broad);
  mark(x3, top2, wide);
}
const markKey = (p, { x1, cell, head, up }, key) =>
  p.frame(x1 + key * cell - 1, head - 1, cell + 2, up + 2, p.theme.key);
const markValue = (p, { x3, head2, up, rows }, key, wide) =>
  p.frame(x3 - 1, head2 + (key * up) / rows - 1, wide + 2, up / rows + 2, p.theme.value);

const tellScore = (head, queries, keys) => (_one, row, col) => {
  const pair = `“${queries[row]}” to “${keys[col]}”`;
  if (!head.allowed(row, col))
    return [pair, head.causal ? "masked out: a later token" : "masked out", "score −∞, weight 0"];
  const [dot, score, weight] = [head.dots, head.scores, head.weights].map((each) => valueAt(each, row, col));
  return [
    pair,
    `q · k = ${number(dot)}`,
    `÷ √${head.q.cols} = ${number(score)}`,
    `softmax: weight ${digits(weight)}`,
    "click to see every product",
  ];
};

const tellMixture = (head, queries, keys) => (one, row, col) => {
  const parts = keys
    .map((key, s) => ({ key, w: valueAt(head.weights, row, s), s }))
    .filter(({ s }) => head.allowed(row, s))
    .sort((a, b) => b.w - a.w);
  const sum = parts.slice(0, 3).map(({ key, w }) => `${digits(w, 2)} × “${key}”`);
  return [
    `“${queries[row]}” collects ${sum.join(" + ")}${parts.length > 3 ? " + …" : ""}`,
    `entry ${col + 1}: ${number(valueAt(one, row, col))}`,
  ];
};
