// The map, why a weight: its score, split exactly by what wrote the query and what wrote the key.

import { inkOn } from "./colour.js";
import { colourOf } from "./map_paint.js";
import { Scene, brief, number } from "./map_scene.js";
import { nameColumns } from "./map_rows.js";
import { matrix, oneRow, valueAt } from "./map_trace.js";
import { clamp, digits, fitting, textWidth, wrapped } from "./text.js";

// "10.2", the second head of layer 10, and its bias "10.b" belong to that layer's self-attention; in
// a decoder "1.self.2" and "1.cross.2". "1.ff" is a feed-forward network, "token" just that.
const SHAPE = /^(\d+)\.(?:(self|cross)\.)?(\d+|b|ff)$/;
// A part that adds less of the whole than this doesn't decide.
const DECIDES = 2 / 3;
const ASK = "Why this key and not another? Press one of the row to compare the two.";

function groupOf(name) {
  const [, layer, kind = "self", last] = SHAPE.exec(name) || [];
  if (!layer) return name;
  return last === "ff" ? `feed-forward ${layer}` : `${kind}-attention ${layer}`;
}

function memberOf(name) {
  const [, layer, kind, last] = SHAPE.exec(name) || [];
  if (!layer || last === "ff") return groupOf(name);
  const of = kind ? `${kind}-` : "";
  return last === "b" ? `${of}W_O’s bias ${layer}` : `${of}head ${layer}.${last}`;
}

// A group in a plain sentence: of which token, in its query or in its key.
function plainly(group, token, side) {
  if (/\d$/.test(group)) return `what ${group} wrote into the ${side}`;
  if (group === "token") return `${token} itself`;
  return group === "position" ? `the position of ${token}` : `what ${group} add to the ${side}`;
}

// The pairs above those of another key, or of an average one, added up by groups, with sums of rows and columns. The
// key's names are the query's own, unless they come from the other stack. Biases that are the same
// in every key have no column.
export function grouped({ names, keys = names, pairs, mean }) {
  const rows = [...new Set(names.map(groupOf))];
  const differs = (key) =>
    key !== "biases" ||
    pairs.some((row, i) => row.some((value, j) => keys[j] === key && Math.abs(value - mean[i][j]) > 1e-4));
  const cols = [...new Set(keys.map(groupOf))].filter(differs);
  const [m, n] = [rows.length + 1, cols.length + 1];
  const sums = new Float64Array(m * n);
  const largest = Array.from({ length: m * n }, () => ({ value: 0 }));
  const all = names.flatMap((one, i) =>
    keys.map((other, j) => ({
      one,
      other,
      words: `${memberOf(one)} with ${memberOf(other)}`,
      value: pairs[i][j] - mean[i][j],
    })),
  );
  for (const pair of all) {
    const [a, b] = [rows.indexOf(groupOf(pair.one)), cols.indexOf(groupOf(pair.other))];
    for (const at of [...(b < 0 ? [] : [a * n + b, (m - 1) * n + b]), a * n + n - 1, m * n - 1]) {
      sums[at] += pair.value;
      if (Math.abs(pair.value) > Math.abs(largest[at].value)) largest[at] = pair;
    }
  }
  const total = (all) => all.flat().reduce((a, b) => a + b, 0);
  return { rows, cols, sums, largest, all: all.length, score: total(pairs), above: sums[m * n - 1] };
}

// What decides in a plain sentence, a part of the key or of the query, or none alone; and the pair that adds most.
function leadOf(found, [query, key, other] = ["the query", "the key"], little = false) {
  const { above, rows, cols } = found;
  const [ofQuery, ofKey] = partsOf(found);
  const all = [
    ...ofKey.map(([name, sum]) => [plainly(name, key, "key"), sum]),
    ...ofQuery.map(([name, sum]) => [plainly(name, query, "query"), sum]),
  ];
  const [part, sum] = all.reduce((a, b) => ((b[1] - a[1]) * above > 0 ? b : a));
  const back = `${number(sum)}, of which the others take back ${number(Math.abs(sum - above))}`;
  const of = Math.abs(sum) > Math.abs(above) + 0.005 ? back : `${number(sum)} of ${number(above)}`;
  const looks = other ? (above < 0 ? "looks less at" : "looks more at") : above < 0 ? "looks less at" : "looks at";
  const does = `${query} ${little && above > 0 && !other ? "favours" : looks} ${key}${other ? ` than at ${other}` : ""}`;
  const lead =
    sum / above < DECIDES
      ? `No single part decides why ${does}. Most comes from ${part}: ${of}.`
      : `${does} mainly because of ${part}: ${of}.`;
  const { row, col, value } = strongestCell(found);
  const pair = `Largest pair, framed: the query’s ${rows[row]} with the key’s ${cols[col]}, ${number(value * Math.sign(above))}.`;
  return [lead, `${pair}${above > 0 && little && !other ? " Other keys score higher still." : ""}`];
}

// What each of the query's parts adds with all of the key's, and the other way round: [name, sum].
function partsOf({ rows, cols, sums }) {
  const n = cols.length + 1;
  return [rows.map((name, i) => [name, sums[i * n + n - 1]]), cols.map((name, j) => [name, sums[rows.length * n + j]])];
}

export const sayWhy = (found) => [...leadOf(found), restOf(found)].join(" ");

const restOf = ({ all, above }, average = "an average key") =>
  `All ${all} pairs together: ${number(Math.abs(above))} ${above < 0 ? "below" : "above"} ${average}.`;

// The cell that does most for what the pairs add up to.
function strongestCell({ rows, cols, sums, above }) {
  const cells = rows.flatMap((_, row) =>
    cols.map((_, col) => ({ row, col, value: sums[row * (cols.length + 1) + col] * Math.sign(above) })),
  );
  return cells.reduce((a, b) => (b.value > a.value ? b : a));
}

// Height of the row of keys.
const ROW = 118;

// All keys that this query is allowed, shaded by weight: a press compares with one of them.
function keysOf(scene, { head, keys, query, key, other, home }, [x, y, width]) {
  const shown = [...keys.keys()].filter((k) => head.allowed(query, k));
  const cell = Math.min((width - 24) / (shown.length + 1), 60);
  const at = (k) => x + (shown.indexOf(k) + 1) * cell;
  const base = y + 84;
  scene.label("compared with", x, y, { size: 13, weight: 650, color: "key" });
  const names = [fitting(["average", "mean"], cell - 4, 13), ...shown.map((k) => keys[k])];
  nameColumns(scene, names, x, base, cell, { level: 54 });
  const weights = shown.map((k) => valueAt(head.weights, query, k));
  const row = oneRow(weights, { weights: true, most: 1 });
  scene.paint((p) => {
    p.box(x, base, cell, 26, { fill: p.theme.masked, radius: 0 });
    p.matrix(row, x + cell, base, cell * shown.length, 26);
    p.box(at(key) + 1, base + 1, cell - 2, 24, { edge: p.theme.query, line: 2, radius: 2 });
    p.box(at(other) + 1, base + 1, cell - 2, 24, { edge: p.theme.key, line: 2.5, radius: 2 });
  });
  [-1, ...shown].forEach((k, i) => {
    if (k === key) return;
    const name = k < 0 ? "the average key" : `“${keys[k]}”`;
    const told = k < 0 ? [] : [`weight ${digits(weights[i - 1])}`];
    scene.button([at(k), y + 12, cell, 98], `Compare with ${name}`, { go: `${home}/why${k < 0 ? "" : `,${k}`}` }, [
      name,
      ...told,
      "press to compare with it",
    ]);
  });
}

// A name in two lines where it has two parts.
const linesOf = (name) => name.split(/(?<=-)/);
const widestLabel = (names) => Math.max(...names.map((name) => textWidth(name, 13)));

function whySizes(width, room, rows, cols, asks) {
  const slim = width < 500;
  const label = Math.ceil(widestLabel(slim ? rows.flatMap(linesOf) : rows)) + (slim ? 8 : 14);
  const beside = width >= 700 ? clamp(width * 0.3, 220, 340) : 0;
  const cell = Math.min((width - label - beside - 8) / cols.length, 96);
  const turned = cell < widestLabel(cols.flatMap(linesOf)) + 8;
  // Steeper where nothing is beside the grid, so that the last names end on the canvas.
  const turn = beside ? Math.PI / 4 : 1.2;
  // Where nothing is beside the grid, the row of keys lies above it.
  const start = asks && !beside ? ROW : 0;
  const top = start + 44 + (turned ? Math.sin(turn) * widestLabel(cols) + 14 : 40);
  const high = Math.max(slim ? 34 : 20, Math.min((room - top - 6) / rows.length, 64));
  return { slim, label, beside, cell, turned, turn, start, top, high };
}

export function whyScene(where, width, room, { asked, live }) {
  const { stack, keys, query, key, other, head, kind } = where;
  const pair = `“${stack.tokens[query]}” to “${keys[key]}”`;
  const title = `Why this weight: the score of ${pair}, split by what wrote the query and the key`;
  const scene = new Scene(width, room, title);
  if (!asked) {
    const told = live
      ? "The kernel is splitting the score …"
      : "Splitting a score needs the kernel: run the cell, then press again.";
    wrapped(told, width - 16, 14).forEach((line, i) =>
      scene.label(line, width / 2, room / 2 + 20 * i, { size: 14, align: "center", color: "muted" }),
    );
    scene.beat(`The score of ${pair}.`, [0, 0, width, room]);
    scene.hint = told;
    return scene;
  }
  const average = other >= 0 ? `“${keys[other]}”` : head.masked ? "an average unmasked key" : "an average key";
  const found = grouped(asked.described);
  const [rows, cols] = [
    [...found.rows, "all"],
    [...found.cols, "all"],
  ];
  const [m, n] = [rows.length, cols.length];
  const g = whySizes(width, room, rows, cols, live);
  const { label, top, cell, high } = g;
  scene.height = Math.max(room, top + m * high + 6);
  const one = { ...matrix(shades(found.sums, m, n), m, n), most: 1 };
  const share = valueAt(head.weights, query, key);
  const weight = `${pair}: weight ${brief(share)}`;
  const above = `${number(Math.abs(found.above))} ${found.above < 0 ? "below" : "above"} that of ${average}`;
  const score = `score ${number(found.score)}, ${above}`;
  const more = [`${score}, which makes the weight ${times(found.above)} as large`, score, above];
  scene.heading(weight, fitting(more, width - 1.14 * textWidth(weight, 14) - 20, 13), 0, 12, width - 2);
  scene.label(fitting(["query’s parts ↓", "query ↓"], label, 12), 0, top - 12, { size: 12, color: "query" });
  const from = kind === "cross-attention" ? "key’s parts, from the encoder →" : "key’s parts →";
  scene.label(fitting([from, "key’s parts →"], width - label - 4, 12), label, g.start + 36, { size: 12, color: "key" });
  scene.paint((p) => {
    p.matrix(one, label, top, n * cell, m * high);
    p.seams(m, n, label, top, cell, high);
    p.box(label, top + (m - 1) * high - 2, n * cell, 4, { fill: p.theme.paper, radius: 0 });
    p.box(label + (n - 1) * cell - 2, top, 4, m * high, { fill: p.theme.paper, radius: 0 });
    const { row, col } = strongestCell(found);
    p.box(label + col * cell, top + row * high, cell, high, { edge: p.theme.ink, line: 2.5, radius: 2 });
    if (cell < 24) return;
    found.sums.forEach((value, i) => {
      const style = {
        size: cell < 40 ? 12 : 13,
        align: "center",
        color: inkOn(colourOf(one, one.data[i], p.theme)),
        weight: i === m * n - 1 ? 650 : 400,
      };
      p.text(
        cell < 40 ? number(value, 1).replace(/^(−?)0\./, "$1.") : number(value),
        label + ((i % n) + 0.5) * cell,
        top + (Math.floor(i / n) + 0.5) * high,
        style,
      );
    });
  });
  const strong = (i, last) => (i === last ? { weight: 650 } : {});
  const names = (name, x, y, style) =>
    linesOf(name).forEach((line, i, all) =>
      scene.label(line, x, y + 14 * (i - (all.length - 1) / 2), { size: 13, ...style }),
    );
  rows.forEach((name, i) => {
    const show = g.slim ? names : (...args) => scene.label(...args);
    show(name, label - 6, top + (i + 0.5) * high, { size: 13, align: "right", ...strong(i, m - 1) });
  });
  cols.forEach((name, i) => {
    const x = label + (i + 0.5) * cell;
    if (!g.turned) names(name, x, top - 18, { align: "center", ...strong(i, n - 1) });
    else scene.label(name, x - 2, top - 8, { size: 13, turn: -g.turn, ...strong(i, n - 1) });
  });
  const tell = (_, i, j) => {
    const { value, words } = found.largest[i * n + j];
    return [
      `query’s ${rows[i]}, key’s ${cols[j]}: ${number(found.sums[i * n + j])}`,
      ...(words ? [`largest in it: ${words}, ${number(value)}`] : []),
    ];
  };
  scene.grid([label, top, n * cell, m * high], one, `Parts of the score of ${pair}, added up by groups`, tell);
  const tokens = [`“${stack.tokens[query]}”`, `“${keys[key]}”`, other >= 0 ? average : ""];
  // On a narrow screen the lead is told, and the rest stands below the grid.
  const allowed = keys.filter((_, k) => head.allowed(query, k)).length;
  const [lead, pairs] = leadOf(found, tokens, share < 1 / allowed);
  const rest = `${pairs} ${restOf(found, average)}`;
  const told = g.beside ? `${lead} ${rest}` : lead;
  const x = label + n * cell + 24;
  if (live) keysOf(scene, where, g.beside ? [x, 36, width - x] : [0, 36, width]);
  const end = g.beside
    ? besides(scene, found, `${lead} ${pairs}`, x, live ? 36 + ROW : 36, width)
    : besides(scene, found, rest, 0, top + m * high + 12, width);
  scene.height = Math.max(scene.height, end);
  scene.beat("A query and a key are sums: of the token, its position, and all that earlier heads and networks wrote.", [
    0,
    0,
    label,
    room,
  ]);
  scene.beat(
    "So their score is a sum over pairs of parts, here added up by groups. What all keys share is left out, because a softmax doesn’t see it.",
    [label, 0, (n - 1) * cell, top + (m - 1) * high - 2],
  );
  scene.beat(told, [0, 0, width, scene.height]);
  scene.hint = g.beside
    ? `${live ? `${ASK} ` : ""}The parts add up to the whole difference; they don’t say what would happen without one, because each norm’s divisor is kept as it was.`
    : told;
  return scene;
}

// What a softmax makes of a score that is so much higher, or lower.
function times(above) {
  const most = Math.exp(Math.abs(above));
  const words = most > 1e6 ? "a million" : Number(most.toPrecision(2)).toLocaleString("en");
  return `${most > 1e6 ? (above < 0 ? "under" : "over") : "about"} ${above < 0 ? `1/${words}` : `${words} times`}`;
}

// How dark the cells are: inner ones and sums have a scale each, so that the sums outshine nothing.
function shades(sums, m, n) {
  const inner = (i) => i % n < n - 1 && i < (m - 1) * n;
  const strongest = (which) => Math.max(...sums.map((value, i) => (which(i) ? Math.abs(value) : 0))) || 1;
  const [cells, totals] = [strongest(inner), strongest((i) => !inner(i) && i < m * n - 1)];
  return Float32Array.from(sums, (value, i) => Math.max(-1, Math.min(1, value / (inner(i) ? cells : totals))));
}

// Beside or below the grid: what it says in words, and how the parts add up; returns where they end.
function besides(scene, found, words, x, top, width) {
  const lines = wrapped(words, width - x - 6, 15);
  lines.forEach((line, i) => scene.label(line, x, top + 10 + 21 * i, { size: 15 }));
  const y = top + 30 + 21 * lines.length;
  const [ofQuery, ofKey] = partsOf(found);
  const next = addsUp(scene, "What the query’s parts add", ofQuery, "query", [x, y, width - x]);
  return addsUp(scene, "What the key’s parts add", ofKey, "key", [x, next + 14, width - x]);
}

// Bars, each from where the one above ended, from nothing to the sum; small ones are one bar.
function addsUp(scene, words, parts, color, [x, y, width]) {
  const sorted = parts.toSorted(([, a], [, b]) => Math.abs(b) - Math.abs(a));
  const rest = sorted.slice(4).reduce((sum, [, value]) => sum + value, 0);
  const shown = sorted.length > 5 ? [...sorted.slice(0, 4), ["all the others", rest]] : sorted;
  const ends = [0];
  for (const [, value] of shown) ends.push(ends.at(-1) + value);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const [left, wide] = [x + 116, width - 116 - 48];
  const at = (value) => left + (wide * (value - low)) / (high - low || 1);
  scene.label(words, x, y, { size: 13, weight: 650, color });
  shown.forEach(([name, value], i) => {
    const middle = y + 20 + 18 * i;
    scene.label(name, x, middle, { size: 13, most: 112 });
    scene.label(number(value), x + width - 2, middle, { size: 13, align: "right" });
    scene.paint((p) => {
      const [from, to] = [at(ends[i]), at(ends[i + 1])];
      p.box(Math.min(from, to), middle - 6, Math.max(1, Math.abs(to - from)), 12, {
        fill: value < 0 ? p.theme.edge : p.theme[color],
        radius: 2,
      });
      if (i < shown.length - 1) p.box(to - 0.5, middle + 6, 1, 6, { fill: p.theme.muted, radius: 0 });
    });
  });
  return y + 20 + 18 * shown.length;
}
