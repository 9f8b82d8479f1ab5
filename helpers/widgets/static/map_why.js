// The map, why a weight: its score, split exactly by what wrote the query and what wrote the key.

import { inkOn, rgb } from "./colour.js";
import { colourOf } from "./map_paint.js";
import { FINGER, NARROW, Scene, brief, number } from "./map_scene.js";
import { KINDS, title, valueAt } from "./map_trace.js";
import { clamp, digits, fitting, textWidth, wrapped } from "./text.js";

// "10.2", the second head of layer 10, and its bias "10.b" belong to that layer's self-attention; in
// a decoder "1.self.2" and "1.cross.2". "1.ff" is a feed-forward network, "token" just that.
const SHAPE = /^(\d+)\.(?:(self|cross)\.)?(\d+|b|ff)$/;

function groupOf(name) {
  const [, layer, kind = "self", last] = SHAPE.exec(name) || [];
  if (!layer) return name;
  return `layer ${layer}, ${last === "ff" ? "feed-forward" : `${kind}-attention`}`;
}

// A group in a plain sentence: of which token, in its query or in its key, and of which stack.
function plainly(group, token, side, stack) {
  if (group === "token") return `the token ${token}`;
  if (group === "position") return `the position of ${token}`;
  const [layer, kind] = group.split(", ");
  return kind ? `${stack} ${layer}’s ${kind} in the ${side}` : `what ${group} add to the ${side}`;
}

// What each part of the query adds with all of the key, and the other way round, above the score of another key or of
// an average one. The key's names are the query's own, unless they come from the other stack; its biases are the same
// in every key. What the sentence tells of: the largest part of one side, or two that are nearly as large; if no side is
// asked for, of the one that has the largest.
export function splitOf(described, stacks = ["encoder", "encoder"], tokens = ["", ""], asks) {
  const { names, keys = names, pairs, mean } = described;
  const sums = [new Map(), new Map()];
  let above = 0;
  for (const [i, one] of names.entries())
    for (const [j, other] of keys.entries()) {
      const value = pairs[i][j] - mean[i][j];
      above += value;
      for (const [side, name] of [one, other].map(groupOf).entries()) {
        const [sum, own] = sums[side].get(name) || [0, 0]; // of the difference, and of the score itself
        sums[side].set(name, [sum + value, own + pairs[i][j]]);
      }
    }
  sums[1].delete("biases");
  const [query, key] = ["query", "key"].map((side, i) =>
    Array.from(sums[i], ([name, [sum, own]]) => {
      return { name, sum, own, side, words: plainly(name, tokens[i], side, stacks[i]) };
    }),
  );
  const all = [...key, ...query].sort((a, b) => (b.sum - a.sum) * Math.sign(above));
  const ordered = all.filter(({ side }) => side === (asks || all[0].side));
  const [most, next] = ordered;
  const told = next?.sum / most.sum >= 0.9 ? [most, next] : [most];
  return { query, key, above, told };
}

// What is largest, in a plain sentence; where nothing stands out, what each kind of part adds.
export function sayWhy({ above, told, ...sides }, other = "") {
  const size = number(Math.abs(above));
  const gap = above < 0 ? `gap of ${size} below` : `lead of ${size} over`;
  const parts = told.map(({ words, sum }) => `${words} (${number(sum)})`).join(" and ");
  const verb = told.length > 1 ? "add" : "adds";
  const many = told.every(({ sum }) => Math.abs(3 * sum) < Math.abs(above));
  const lead = `the ${gap} ${other || "an average key"}`;
  if (!many) return `${title(`${parts} ${verb} most to ${lead}`)}.`;
  const kinds = new Map();
  for (const { name, sum } of sides[told[0].side]) {
    const kind = name.split(", ").pop();
    kinds.set(kind, (kinds.get(kind) || 0) + sum);
  }
  const sorted = [...kinds].sort(([, a], [, b]) => (b - a) * Math.sign(above));
  const [[most, much], ...rest] = sorted.map(([kind, sum]) => [kind, number(sum)]);
  return `${title(most)} (${much}) adds most to ${lead}; then ${rest.map((one) => one.join(" ")).join(", ")}.`;
}

// What follows for the key, if its position adds next to nothing.
export function sayWhat({ above, told: [{ side }], key }, own) {
  const where = key.find(({ name }) => name === "position")?.sum ?? above;
  const hardly = side === "key" && Math.abs(where) < above / 10;
  return hardly ? ` What ${own} is counts, not its position (${number(where)}).` : "";
}

// What a part that was pressed does, in which difference of two scores, and what is framed where it was written.
function sayPart({ above, query, key, size }, side, name, [asks, own, other]) {
  const { words, sum, own: mine } = (side === "key" ? key : query).find((one) => one.name === name);
  const scores = [own, other || "an average key"];
  const [ahead, behind] = above < 0 ? scores.reverse() : scores;
  const lead = `${number(Math.abs(above))} by which ${ahead} leads ${behind}`;
  const much = number(Math.abs(sum));
  const does = `${sum * above < 0 ? `takes ${much} from` : `adds ${much} to`} the ${lead}`;
  const framed = side === "query" ? asks : other ? `${own} (blue) and ${other} (orange)` : own;
  const product = side === "key" ? "query · this part of the key" : "this part of the query · key";
  // As they stand there, one minus the other is what it adds.
  const theirs = number(Number(mine.toFixed(2)) - Number(sum.toFixed(2)));
  const made = `${product}, divided by √${size}, is ${number(mine)} for ${own} and ${theirs} for ${other || "an average key"}`;
  return `${title(words)} ${does}: ${made}. Framed: where that was written, for ${framed}.`;
}

export function whyScene(where, width, room, { asked, live, side }) {
  const { stack, keys, query, key, other, head } = where;
  const pair = `“${stack.tokens[query]}” to “${keys[key]}”`;
  const about = `Why this weight: the score of ${pair}, split by what wrote the query and the key`;
  const scene = new Scene(width, room, about);
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
  const tokens = [`“${stack.tokens[query]}”`, `“${keys[key]}”`, other >= 0 ? `“${keys[other]}”` : ""];
  const found = { ...splitOf(asked.described, stacks, tokens, side), size: head.q.cols };
  const n = keysFor(where).length;
  const average = tokens[2] || "an average key";
  const against = other >= 0 ? average : `average of ${n} ${head.masked ? "allowed " : ""}keys`;
  // As they stand there, the two add up.
  const score = number(valueAt(head.scores, query, key));
  const compared = number(Number(score.replace("−", "-")) - Number(found.above.toFixed(2)));
  const more = `${found.above < 0 ? "−" : "+"} ${number(Math.abs(found.above))}`;
  const sums = `score ${score} = ${compared} (${against}) ${more}`;
  const slim = width < NARROW;
  const share = valueAt(head.weights, query, key);
  const place = `${stack.title} layer ${where.layer + 1}, ${KINDS[where.kind].toLowerCase()}, head ${where.headIndex + 1}`;
  const weights = [`${pair}: weight ${brief(share)}`, `${pair}: ${brief(share)}`];
  const weight = fitting([...(slim ? [] : [`${place}. ${weights[0]}`]), ...weights], width / 1.2, 14);
  const beside = !slim && 1.14 * textWidth(weight, 14) + textWidth(sums, 13) + 14 < width;
  scene.heading(weight, beside ? sums : "", 0, 13, width);
  const whole = sayWhy(found, tokens[2]);
  const what = sayWhat(found, tokens[1]);
  const [ahead, behind] = found.above < 0 ? [average, tokens[1]] : [tokens[1], average];
  const lead = slim ? `${title(ahead)} leads ${behind} by ${number(Math.abs(found.above))}.${what}` : whole + what;
  const [size, line] = slim ? [15, 19] : [16, 21];
  const lines = wrapped(lead, (width - 6) / 1.16, size);
  const task = [...(slim ? [place.replace("-attention", "")] : []), ...(beside ? [] : wrapped(sums, width / 1.02, 13))];
  task.forEach((words, i) => scene.label(words, 0, 34 + 17 * i, { size: 13, color: "muted" }));
  const from = 42 + 17 * task.length;
  scene.paint((p) => lines.forEach((words, i) => p.text(words, 0, from + line * i, { size, weight: 600 })));
  let top = from + line * lines.length;
  // On a phone the bars come before the other keys, so that they are in view.
  if (live && !slim) top = keysOf(scene, where, top - 4, width);
  // Both splits are as long as the lead, so they share a scale.
  const most = slim ? Infinity : (room - top) / 18 - 3; // a phone scrolls
  const both = { query: ranked(found.query, most), key: ranked(found.key, most) };
  const [{ side: shown }] = found.told;
  const minus = both[shown].shown.some(([, value]) => value < 0);
  const plus = both[shown].shown.some(([, value]) => value > 0);
  const grey = minus && plus ? "Blue adds, orange takes away." : `Each bar ${minus ? "takes away" : "adds"}.`;
  scene.title = `${about}. ${whole} ${grey}`; // the words on the picture, for those who can't see it
  const longest = Math.max(both.query.ends.length, both.key.ends.length);
  const pitch = slim ? FINGER + 4 : clamp((room - top - 44) / longest, 17, 36);
  const parts = [...both.query.shown, ...both.key.shown, ["together"]];
  const names = slim ? 0 : 1.16 * Math.max(...parts.map(([name]) => textWidth(name, 13))) + 16;
  const range = [...both.query.ends, ...both.key.ends];
  const bars = top;
  top = sidesOf(scene, shown, stacks, top, width);
  const wrote = shown === "query" ? [query] : [key, other].filter((row) => row >= 0);
  const told = { found, side: shown, stack: stacks[Number(shown === "key")], tokens, wrote };
  const { end, rows } = addsUp(scene, both[shown], told, top, { pitch, width, names, range });
  scene.beat(`What makes the difference between ${tokens[1]} and ${average}?`, [0, bars - 6, width, top - bars]);
  const sum = `A ${shown} is a sum of its token, its position and everything that earlier heads and networks added.`;
  scene.beat(`${sum} Each part adds to the difference from ${average}, or takes away from it.`, ...rows);
  const not =
    "Bars don’t say what would happen without a part: LayerNorm would then divide by another standard deviation.";
  scene.beat(`${grey} ${not}`, [0, 0, width, bars]);
  scene.height = Math.max(room, live && slim ? keysOf(scene, where, end + 10, width) : end);
  const still = found.above > 0 && share < 1 / n && other < 0 ? " Other keys score higher still." : "";
  const presses = ` Press a bar to see what wrote it.${live ? " Press another key to compare with it." : ""}`;
  scene.hint = `${grey}${still}${presses}`;
  return scene;
}

// One difference, split in two ways: of which one sees the bars. Returns where it ends.
function sidesOf(scene, shown, stacks, y, width) {
  const lead = width < NARROW ? "parts of" : "split by the parts of";
  scene.label(lead, 0, y + 13, { size: 13, weight: 650 });
  let x = 1.1 * textWidth(lead, 13) + 12;
  ["query", "key"].forEach((side, i) => {
    const words = fitting([`the ${side} (${stacks[i]})`, `the ${side}`], (width - x) / (2 - i) / 1.1 - 20);
    const rect = [x, y, 1.1 * textWidth(words, 13) + 18, 26];
    const on = side === shown;
    scene.paint((p) => {
      p.box(...rect, { fill: on ? p.theme.paper : p.theme.box, edge: on ? p.theme[side] : p.theme.edge, radius: 6 });
      p.text(words, rect[0] + rect[2] / 2, y + 13.5, { size: 13, align: "center", weight: on ? 650 : 400 });
      if (on) p.frame(rect[0] + 1, y + 1, rect[2] - 2, 24, p.theme[side], 2);
    });
    const tip = ["the same difference, split by what wrote", `the ${side}, in the ${stacks[i]}`];
    scene.button(rect, `Split by the parts of the ${side}${on ? ", shown" : ""}`, { split: side }, tip);
    x += rect[2] + 6;
  });
  return y + 34;
}

// ---- the parts, ranked ---------------------------------------------------------------------------

// The largest first, and where each ends when it begins where the one before ended; the small ones
// that find no room are one.
function ranked(parts, most) {
  const sorted = parts.map(({ name, sum }) => [name, sum]).sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
  const n = sorted.length > most ? Math.max(2, Math.floor(most) - 1) : sorted.length;
  const rest = sorted.slice(n).reduce((sum, [, value]) => sum + value, 0);
  const small = sorted.slice(n).map(([name, value]) => `${name} ${number(value)}`);
  const shown = n < sorted.length ? [...sorted.slice(0, n), [`${small.length} smaller parts`, rest, small]] : sorted;
  const ends = [0];
  for (const [, value] of shown) ends.push(ends.at(-1) + value);
  return { shown, ends };
}

// Their sum, which is in view in every frame, and below it one bar per part; returns where each row is, and where they
// end. A part opens where it was written. All of it is painted, so that it comes only when it's played.
function addsUp(scene, { shown, ends }, { found, side, stack, tokens, wrote }, y, { pitch, width, names, range }) {
  const [low, high] = [Math.min(...range), Math.max(...range)];
  // Without room for names beside the bars, they stand above them.
  const up = names ? 0 : 6;
  const [left, wide] = names ? [names, width - names - 68] : [6, width - 13];
  const at = (value) => left + (wide * (value - low)) / (high - low || 1);
  const thick = names ? Math.max(12, 0.45 * pitch) : 7;
  const end = y + pitch * (shown.length + 1);
  if (names) scene.paint((p) => p.box(at(0) - 0.5, y - 2, 1, end - y + 2, { fill: p.theme.edge, radius: 0 }));
  const rows = [["together", ends.at(-1)], ...shown].map(([name, value, small], i) => {
    const [, layer, kind] = /^layer (\d+), (.*)/.exec(name) || [];
    const part = kind || { token: "embeddings", position: "positions" }[name];
    const go = part && `${stack}/${layer ? layer - 1 : "embedding"}`;
    const sum = !i;
    const middle = y + pitch * (i + 0.5);
    const leads = found.told.some((one) => one.side === side && one.name === name);
    const style = { size: 13, align: "right", weight: sum || leads ? 650 : 400 };
    const rect = [0, middle - pitch / 2, width, pitch];
    scene.paint((p) => {
      const [from, to] = sum ? [at(0), at(value)] : [at(ends[i - 1]), at(ends[i])];
      if (names) p.text(name, left - 8, middle, { ...style, most: names - 12 });
      else p.text(name, left, middle - up, { ...style, align: "left" });
      p.text(number(value), width - 16, middle - up, style);
      if (go) p.text("›", width - 6, middle - up, { ...style, color: p.theme.query, weight: 650 });
      const fill = sum ? p.theme.ink : rgb(p.theme.signed[value < 0 ? 56 : 200]);
      const [start, long] = [Math.min(from, to), Math.max(1, Math.abs(to - from))];
      p.box(start, middle + up - thick / 2, long, thick, { fill, radius: 2 });
      if (!sum && names && i < shown.length)
        p.box(to - 0.5, middle + thick / 2, 1, pitch - thick, { fill: p.theme.muted, radius: 0 });
    });
    const where = layer ? `${stack} layer ${layer}` : `the ${stack}’s embeddings`;
    const said = `${name}: ${number(value)}`;
    const says = go && sayPart(found, side, name, tokens);
    if (go) scene.button(rect, said, { go, says, part, rows: wrote }, [said, `click to open ${where}`]);
    if (name === "biases") scene.spot(rect, said, [said, "learned numbers: no earlier part wrote them"]);
    if (small) scene.spot(rect, said, [`${said}:`, small.join(", ")]);
    if (sum) scene.spot(rect, said, [said, "before rounding, the bars add up exactly"]);
    return rect;
  });
  return { end, rows };
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
      p.box(...rect, { fill: k < 0 ? p.theme.paper : `rgb(${r},${g},${b})`, edge: p.theme.edge, radius: 4 });
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
