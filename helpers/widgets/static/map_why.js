// The map, why a weight: its score, split exactly by what wrote the query and what wrote the key.

import { inkOn, rgb } from "./colour.js";
import { cornerButton } from "./map_number.js";
import { colourOf } from "./map_paint.js";
import { FINGER, NARROW, Scene, brief, number } from "./map_scene.js";
import { matrix, title, valueAt } from "./map_trace.js";
import { clamp, digits, fitting, textWidth, wrapped } from "./text.js";

// "10.2", the second head of layer 10, and its bias "10.b" belong to that layer's self-attention; in
// a decoder "1.self.2" and "1.cross.2". "1.ff" is a feed-forward network, "token" just that.
const SHAPE = /^(\d+)\.(?:(self|cross)\.)?(\d+|b|ff)$/;
const ASK = "Press another key to compare with it.";

function groupOf(name) {
  const [, layer, kind = "self", last] = SHAPE.exec(name) || [];
  if (!layer) return name;
  return `layer ${layer}, ${last === "ff" ? "feed-forward" : `${kind}-attention`}`;
}

function memberOf(name) {
  const [, layer, kind, last] = SHAPE.exec(name) || [];
  if (!layer || last === "ff") return groupOf(name);
  const of = kind ? `${kind}-attention ` : "";
  return last === "b" ? `layer ${layer}, ${of}W_O’s bias` : `layer ${layer}, ${of}head ${last}`;
}

// A group in a plain sentence: of which token, in its query or in its key, and of which stack.
function plainly(group, token, side, stack) {
  if (!group) return `all of the ${side}`;
  if (group === "token") return `the token ${token}`;
  if (group === "position") return `the position of ${token}`;
  const [layer, kind] = group.split(", ");
  return kind ? `${stack} ${layer}’s ${kind} in the ${side}` : `what ${group} add to the ${side}`;
}

// One part: a row or a column, with all of the other side.
const partIn = ({ rows, cols, stacks: [one, other] }, query, key, { row, col }) =>
  rows[row] ? plainly(rows[row], query, "query", one) : plainly(cols[col], key, "key", other);

// A pair of groups, or all of a row or of a column.
const pairIn = ({ rows, cols, stacks: [one, other] }, query, key, { row, col }) =>
  `${plainly(rows[row], query, "query", one)} with ${plainly(cols[col], key, "key", other)}`;

// The pairs above those of another key, or of an average one, added up by groups, with sums of rows and columns. The
// key's names are the query's own, unless they come from the other stack. The key's biases are the
// same in every key, so they have no column.
export function grouped({ names, keys = names, pairs, mean }, stacks = ["encoder", "encoder"]) {
  const rows = [...new Set(names.map(groupOf))];
  const cols = [...new Set(keys.map(groupOf))].filter((name) => name !== "biases");
  const [m, n] = [rows.length + 1, cols.length + 1];
  const sums = new Float64Array(m * n);
  const largest = Array.from({ length: m * n }, () => ({ value: 0 }));
  for (const [i, one] of names.entries())
    for (const [j, other] of keys.entries()) {
      const value = pairs[i][j] - mean[i][j];
      const words = `${memberOf(one)} with ${memberOf(other)}`;
      const [a, b] = [rows.indexOf(groupOf(one)), cols.indexOf(groupOf(other))];
      for (const at of [...(b < 0 ? [] : [a * n + b, (m - 1) * n + b]), a * n + n - 1, m * n - 1]) {
        sums[at] += value;
        if (Math.abs(value) > Math.abs(largest[at].value)) largest[at] = { value, words };
      }
    }
  return { rows, cols, sums, largest, stacks, above: sums[m * n - 1] };
}

// Cells of the table, those first that do most for what the pairs add up to.
const ordered = ({ cols, sums, above }, cells) =>
  cells
    .map(([row, col]) => ({ row, col, sum: sums[row * (cols.length + 1) + col] }))
    .sort((a, b) => (b.sum - a.sum) * Math.sign(above));
// As it stands there.
const cents = (value) => Number(value.toFixed(2));
const sumOf = (cells) => cells.reduce((sum, cell) => sum + cents(cell.sum), 0);

// What decides: one pair, or two that are nearly as large, if they're more than half of all that pulls their way. If
// not, the largest part of one side with all of the other, or two. With the names of its parts of the query and the key.
function decisive(found) {
  const { rows, cols, above } = found;
  const inner = rows.flatMap((_, row) => cols.map((_, col) => [row, col]));
  const cells = ordered(found, inner);
  const edges = [...cols.map((_, col) => [rows.length, col]), ...rows.map((_, row) => [row, cols.length])];
  const near = cells.filter(({ sum }) => sum / cells[0].sum >= 0.8);
  const paired = near.length < 3 && sumOf(near) / sumOf(cells.filter(({ sum }) => sum * above > 0)) > 0.5;
  const [most, ...others] = ordered(found, edges);
  const [next] = others.filter(({ row }) => row < rows.length === most.row < rows.length);
  const parts = next?.sum / most.sum >= 0.9 ? [most, next] : [most];
  const told = paired ? near : parts;
  return { near, paired, told, query: told.map(({ row }) => rows[row]), key: told.map(({ col }) => cols[col]) };
}

// What the colours say, and of the bars the one that goes most against the sum.
export function sayAgainst({ rows, cols, sums, above, stacks: [one, other] }, [query, key] = ["", ""]) {
  const [ofQuery, ofKey] = partsOf({ rows, cols, sums });
  const all = [
    ...ofQuery.map(([name, sum]) => [plainly(name, query, "query", one), sum]),
    ...ofKey.map(([name, sum]) => [plainly(name, key, "key", other), sum]),
  ];
  const [name, sum] = all.reduce((a, b) => ((a[1] - b[1]) * above <= 0 ? a : b));
  const colours = above > 0 ? "Blue adds, orange takes away" : "Orange takes away, blue adds";
  return cents(sum) * above < 0 ? `${colours}, most of all ${name} (${number(sum)}).` : `${colours}: here none does.`;
}

// What decides, in a plain sentence.
export function sayWhy(found, [query, key, other] = ["the query", "the key"], little = false) {
  const { above } = found;
  const { told, paired } = decisive(found);
  const [first, second] = told.map((cell) => [(paired ? pairIn : partIn)(found, query, key, cell), number(cell.sum)]);
  const below = above > 0 && little;
  const does = below
    ? `${query} scores ${key} ${other ? `higher than ${other}` : "above an average key"}`
    : `${query} looks ${above < 0 ? "less " : other ? "more " : ""}at ${key}${other ? ` than at ${other}` : ""}`;
  const still = below && !other ? " Other keys score higher still." : "";
  const rest = `${number(cents(above) - sumOf(told))}.${still}`;
  if (paired)
    return `${does} mainly because of ${second ? "two pairs, almost equally" : "one pair"}: ${first.join(" makes ")}, ${second ? `${second.join(" ")}, ` : ""}all other pairs ${rest}`;
  return `${does}: the largest ${second ? "parts are" : "part is"} ${first.join(", ")}${second ? ` and ${second.join(", ")}` : ""}; all else makes ${rest}`;
}

// What each of the query's parts adds with all of the key's, and the other way round: [name, sum].
function partsOf({ rows, cols, sums }) {
  const n = cols.length + 1;
  return [rows.map((name, i) => [name, sums[i * n + n - 1]]), cols.map((name, j) => [name, sums[rows.length * n + j]])];
}

export function whyScene(where, width, room, { asked, live, pressed }) {
  const { stack, keys, query, key, other, head, home, pairs } = where;
  const pair = `“${stack.tokens[query]}” to “${keys[key]}”`;
  const title = `Why this weight: the score of ${pair}, split by what wrote the query and the key`;
  const scene = new Scene(width, room, title);
  if (!asked) {
    scene.heading(`The score of ${pair}`, "", 0, 13, width);
    scene.beat(`The score of ${pair}.`, [0, 0, width, room]);
    scene.hint = live
      ? "The kernel is splitting the score …"
      : "Splitting a score needs the kernel: run the cell, then press again.";
    wrapped(scene.hint, width, 14).forEach((words, i) => scene.label(words, 0, 44 + 20 * i, { size: 14 }));
    return scene;
  }
  const stacks = [stack.name, where.kind === "cross-attention" ? "encoder" : stack.name];
  const found = grouped(asked.described, stacks);
  const n = keysFor(where).length;
  const average = other >= 0 ? `“${keys[other]}”` : "an average key";
  const against = other >= 0 ? average : `average of ${n} ${head.masked ? "allowed " : ""}keys`;
  // As they stand there, the two add up.
  const score = number(valueAt(head.scores, query, key));
  const compared = number(Number(score.replace("−", "-")) - cents(found.above));
  const more = `${found.above < 0 ? "−" : "+"} ${number(Math.abs(found.above))}`;
  const sums = `score ${score} = ${compared} (${against}) ${more}`;
  const slim = width < NARROW;
  const share = valueAt(head.weights, query, key);
  const weight = fitting([`${pair}: weight ${brief(share)}`, `${pair}: ${brief(share)}`], width / 1.2, 14);
  const free = pairs || slim ? width : width - 140; // beside the button
  const beside = !slim && 1.14 * textWidth(weight, 14) + textWidth(sums, 13) + 14 < free;
  scene.heading(weight, beside ? sums : "", 0, 13, free);
  const tokens = [`“${stack.tokens[query]}”`, `“${keys[key]}”`, other >= 0 ? average : ""];
  if (pairs) return pairsOf(scene, found, tokens, pressed);
  const lead = sayWhy(found, tokens, share < 1 / n);
  const [size, line] = slim ? [15, 19] : [16, 21];
  const grey = sayAgainst(found, tokens);
  scene.title = `${title}. ${lead} ${grey}`; // the words on the picture, for those who can't see it
  const lines = wrapped(lead, (width - 6) / 1.16, size);
  const task = beside ? [] : wrapped(sums, width / 1.02, 13);
  task.forEach((words, i) => scene.label(words, 0, 34 + 17 * i, { size: 13, color: "muted" }));
  const from = 42 + 17 * task.length;
  scene.paint((p) => lines.forEach((words, i) => p.text(words, 0, from + line * i, { size, weight: 600 })));
  const under = from + line * lines.length;
  const top = live ? keysOf(scene, where, under - 4, width) : under;
  // Both splits are as long as the lead, so they share a scale.
  const wide = slim ? width : (width - 28) / 2;
  const most = slim ? 6 : (room - top) / 18 - 3;
  const [ofQuery, ofKey] = partsOf(found).map((parts) => ranked(parts, most));
  const pitch = slim ? 30 : clamp((room - top - 34) / Math.max(ofQuery.ends.length, ofKey.ends.length), 17, 36);
  const widest = Math.max(...[...ofQuery.shown, ...ofKey.shown, ["together"]].map(([name]) => textWidth(name, 13)));
  const names = slim ? 0 : Math.min(1.16 * widest + 16, 0.68 * wide);
  const scale = { pitch, wide, names, range: [...ofQuery.ends, ...ofKey.ends], told: decisive(found), from };
  const below = addsUp(scene, ofKey, "key", stacks[1], [0, top], scale);
  const at = slim ? [0, below.end + 8] : [wide + 28, top];
  const { end, rows } = addsUp(scene, ofQuery, "query", stacks[0], at, scale);
  const corner = slim ? end + 2 : 0;
  const first = [0, under - 6, width, top - under];
  scene.beat(`What makes the difference between “${keys[key]}” and ${average}?`, first, [0, corner, width, 26]);
  const sum = "A key is a sum: of its token, its position, and all that earlier heads and networks wrote.";
  scene.beat(`${sum} Each part adds to the difference from ${average}, or takes away from it.`, ...below.rows);
  scene.beat(
    "So is the query, and its biases are those of LayerNorm and W_Q. The same difference, split in another way.",
    ...rows,
  );
  scene.beat(
    `${grey} Bars don’t say what would happen without a part: LayerNorm would then divide by another standard deviation.`,
    [0, 0, width, under],
  );
  const go = `${home}/pairs${other < 0 ? "" : `,${other}`}`;
  cornerButton(scene, "Show all pairs", go, ["part by part"], corner);
  scene.height = Math.max(room, below.end, slim ? end + 28 : end);
  scene.hint = `${grey} ${live ? `${ASK} ` : ""}Before rounding, the bars add up exactly.`;
  return scene;
}

// ---- the parts, ranked ---------------------------------------------------------------------------

// The largest first, and where each ends when it begins where the one before ended; the small ones
// that find no room are one.
function ranked(parts, most) {
  const sorted = parts.toSorted(([, a], [, b]) => Math.abs(b) - Math.abs(a));
  const n = sorted.length > most ? Math.max(2, Math.floor(most) - 1) : sorted.length;
  const rest = sorted.slice(n).reduce((sum, [, value]) => sum + value, 0);
  const shown = n < sorted.length ? [...sorted.slice(0, n), [`${sorted.length - n} others`, rest]] : sorted;
  const ends = [0];
  for (const [, value] of shown) ends.push(ends.at(-1) + value);
  return { shown, ends };
}

// One bar per part, and below them their sum; returns where each row is, and where they end. The parts that
// the sentence tells of are framed once it's there. All of it is painted, so that it comes only when it's played.
function addsUp(scene, { shown, ends }, color, stack, [x, y], { pitch, wide: width, names, range, told, from: lead }) {
  const [low, high] = [Math.min(...range), Math.max(...range)];
  // Without room for names beside the bars, they stand above them.
  const up = names ? 0 : 6;
  const [left, wide] = names ? [x + names, width - names - 57] : [x + 6, width - 13];
  const at = (value) => left + (wide * (value - low)) / (high - low || 1);
  const thick = names ? Math.max(12, 0.45 * pitch) : 7;
  const words = [`The ${color}’s parts, from the ${stack}: ${number(ends.at(-1))}`, `The ${color}’s parts (${stack})`];
  const title = fitting(words, width / 1.1);
  const end = y + 22 + pitch * (shown.length + 1);
  scene.paint((p) => {
    p.text(title, x, y + 8, { size: 13, weight: 650 });
    if (names) p.box(at(0) - 0.5, y + 20, 1, end - y - 20, { fill: p.theme.edge, radius: 0 });
  });
  const rows = [...shown, ["together", ends.at(-1)]].map(([name, value], i) => {
    const sum = i === shown.length;
    const middle = y + 22 + pitch * (i + 0.5);
    const leads = told[color].includes(name) && value * ends.at(-1) > 0;
    const style = { size: 13, align: "right", weight: sum ? 650 : 400 };
    scene.paint((p) => {
      const [from, to] = sum ? [at(0), at(value)] : [at(ends[i]), at(ends[i + 1])];
      if (names) p.text(name, left - 8, middle, { ...style, most: names - 12 });
      else p.text(name, left, middle - up, { ...style, align: "left" });
      p.text(number(value), x + width - 7, middle - up, style);
      const fill = sum ? p.theme.ink : rgb(p.theme.signed[value < 0 ? 56 : 200]);
      const [start, long] = [Math.min(from, to), Math.max(1, Math.abs(to - from))];
      p.box(start, middle + up - thick / 2, long, thick, { fill, radius: 2 });
      if (!sum && names) p.box(to - 0.5, middle + thick / 2, 1, pitch - thick, { fill: p.theme.muted, radius: 0 });
    });
    const frame = (p) => p.frame(x + 1, middle - pitch / 2, width - 2, pitch, p.theme.ink, 1.5);
    if (leads) scene.top([x, lead, 2, 2], (p, lit) => lit && frame(p));
    return [x, middle - pitch / 2, width, pitch];
  });
  return { end, rows: [[x, y, width, 22], ...rows] };
}

// The keys that this query can attend to.
const keysFor = ({ head, keys, query }) => [...keys.keys()].filter((k) => head.allowed(query, k));

// They are shaded by weight, after the average: a press compares with one of them. Returns where they end.
function keysOf(scene, where, y, width) {
  const { head, keys, query, key, other, home } = where;
  scene.label("compared with", 0, y + 13, { size: 13, weight: 650, color: "key" });
  let [x, top] = [1.1 * textWidth("compared with", 13) + 10, y];
  for (const k of [-1, ...keysFor(where)]) {
    const words = k < 0 ? "average" : keys[k];
    const wide = Math.max(FINGER + 4, textWidth(words, 13) + 16);
    if (x + wide > width) [x, top] = [0, top + 30];
    const rect = [x, top, wide, 26];
    const share = k < 0 ? 0 : valueAt(head.weights, query, k);
    scene.paint((p) => {
      const [r, g, b] = colourOf(head.weights, share, p.theme);
      p.box(...rect, { fill: k < 0 ? p.theme.masked : `rgb(${r},${g},${b})`, edge: p.theme.edge, radius: 4 });
      const color = k < 0 ? p.theme.ink : inkOn([r, g, b]);
      p.text(words, rect[0] + wide / 2, rect[1] + 13, { size: 13, align: "center", color });
      if (k === key || k === other)
        p.frame(rect[0] + 1, rect[1] + 1, wide - 2, 24, k === key ? p.theme.query : p.theme.key, 2.5);
    });
    x += wide + 4;
    if (k === key) continue;
    const name = k < 0 ? "the average key" : `“${keys[k]}”`;
    const more = k < 0 ? "its score is the mean of all these" : `weight ${digits(share)}`;
    const go = `${home}/why${k < 0 ? "" : `,${k}`}`;
    scene.button(rect, `Compare with ${name}`, { go }, [name, more, "press to compare with it"]);
  }
  return top + 40;
}

// ---- all pairs -----------------------------------------------------------------------------------

// A row per part of the query, a column per part of the key, and their sums.
function pairsOf(scene, found, [query, key], pressed) {
  const { width, height: room } = scene;
  const [rows, cols] = [found.rows, found.cols].map((names) => [...names, "all"]);
  const [m, n] = [rows.length, cols.length];
  const widest = (names) => Math.max(...names.map((name) => textWidth(name, 13)));
  // On a narrow page a row's name stands above its cells, so that there is room for numbers.
  const slim = width < NARROW;
  const [label, above] = slim ? [0, 16] : [Math.ceil(widest(rows)) + 14, 0];
  const cell = Math.min((width - label - 8) / n, 110);
  // As slanted as the last ones have room to be.
  const ends = (turn) => cols.map((name, i) => label + (i + 0.5) * cell + Math.cos(turn) * 1.1 * textWidth(name, 13));
  const turn = [Math.PI / 4, 1.2, Math.PI / 2].find((turn) => Math.max(...ends(turn)) < width) ?? Math.PI / 2;
  const top = 58 + Math.sin(turn) * widest(cols);
  const high = slim ? 38 : clamp((room - top - 6) / m, 20, 64);
  scene.height = Math.max(room, top + m * high + 6);
  const inner = found.sums.map((value, i) => (i % n < n - 1 && i < (m - 1) * n ? value : 0));
  const one = matrix(inner, m, n, { most: Math.max(...inner.map(Math.abs)) || 1 });
  const { near } = decisive(found);
  const [, from] = found.stacks;
  const pair = (cell) => pairIn(found, query, key, cell);
  scene.label("query’s parts ↓", 0, slim ? 36 : top - 12, { size: 12, color: "query" });
  scene.label(slim ? "key’s parts →" : `key’s parts, from the ${from} →`, slim ? width - 8 : label, 36, {
    size: 12,
    color: "key",
    align: slim ? "right" : "left",
  });
  scene.paint((p) => {
    rows.forEach((_, i) => {
      const y = top + i * high + above;
      p.row(one, i, label, y, n * cell, high - above - 1);
      p.seams(1, n, label, y, cell, high - above);
    });
    for (const [row, col] of pressed ? [pressed] : near.map(({ row, col }) => [row, col]))
      p.frame(label + col * cell, top + row * high + above, cell, high - above, p.theme.ink, 2.5);
    found.sums.forEach((value, i) => {
      const weight = i % n < n - 1 && i < (m - 1) * n ? 400 : 650;
      const color = inkOn(colourOf(one, inner[i], p.theme));
      const words = cell < 40 ? number(value, 1).replace(/^(−?)0\./, "$1.") : number(value);
      const [x, y] = [label + ((i % n) + 0.5) * cell, top + Math.floor(i / n) * high + (high + above) / 2];
      p.text(words, x, y, { size: cell < 40 ? 12 : 13, align: "center", weight, color });
    });
  });
  rows.forEach((name, i) => {
    const [x, y, align] = slim ? [0, 8, "left"] : [label - 6, high / 2, "right"];
    scene.label(name, x, top + i * high + y, { size: 13, align, weight: i < m - 1 ? 400 : 650 });
  });
  cols.forEach((name, i) =>
    scene.label(name, label + (i + 0.5) * cell - 2, top - 8, { size: 13, turn: -turn, weight: i < n - 1 ? 400 : 650 }),
  );
  const tell = (_, row, col) => {
    const [sum, { value, words }] = [found.sums[row * n + col], found.largest[row * n + col]];
    const makes = `${title(pair({ row, col }))} makes ${number(sum)}`;
    return value === sum ? [`${makes}.`] : [makes, `the largest pair in it is ${words}, ${number(value)}.`];
  };
  scene.grid([label, top, n * cell, m * high], one, "Parts of the score, added up by groups", tell);
  scene.beat(
    "A score is a sum over pairs of parts, here added up by groups: a layer’s heads are one. What all keys share, such as W_K’s bias, is left out, because a softmax doesn’t see it.",
    ...rows.slice(0, -1).map((_, i) => [label, top + i * high, (n - 1) * cell, high]),
  );
  const most = `${pair(near[0])}, ${number(near[0].sum)}${near.length > 1 ? ` (${near.length - 1} more nearly as large)` : ""}`;
  scene.hint = `All ${(m - 1) * (n - 1)} pairs make ${number(found.above)}: blue adds, orange takes away. Framed, the largest: ${most}.`;
  scene.beat(scene.hint, [0, 0, width, scene.height]);
  return scene;
}
