// The map, why a weight: its score, split exactly by what wrote the query and what wrote the key.

import { inkOn } from "./colour.js";
import { colourOf } from "./map_paint.js";
import { Scene, number, percent } from "./map_scene.js";
import { matrix, valueAt } from "./map_trace.js";
import { clamp, textWidth, wrapped } from "./text.js";

// "1.2", the second head of layer 1, and its bias "1.b" belong to the heads of layer 1.
const groupOf = (name) => (name.endsWith(".ff") ? `feed-forward ${name[0]}` : /^\d/.test(name) ? `heads of layer ${name[0]}` : name);
const memberOf = (name) => (/^\d+\.\d/.test(name) ? `head ${name}` : name.endsWith(".b") ? `W_O’s bias ${name[0]}` : name.endsWith(".ff") ? `ff ${name[0]}` : name);

// The pairs above those of an average key, added up by groups, with sums of rows and columns.
export function grouped({ names, pairs, mean }) {
  const groups = [...new Set(names.map(groupOf))];
  const n = groups.length + 1;
  const sums = new Float64Array(n * n);
  const largest = Array.from({ length: n * n }, () => ({ value: 0 }));
  names.forEach((one, i) => names.forEach((other, j) => {
    const value = pairs[i][j] - mean[i][j];
    const [a, b] = [groups.indexOf(groupOf(one)), groups.indexOf(groupOf(other))];
    for (const at of [a * n + b, a * n + n - 1, (n - 1) * n + b, n * n - 1]) {
      sums[at] += value;
      if (Math.abs(value) > Math.abs(largest[at].value)) largest[at] = { value, words: `${memberOf(one)} with ${memberOf(other)}` };
    }
  }));
  const all = names.flatMap((one, i) => names.map((other, j) => ({ one, other, words: `${memberOf(one)} with ${memberOf(other)}`, value: pairs[i][j] - mean[i][j] })));
  all.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const total = (all) => all.flat().reduce((a, b) => a + b, 0);
  return { groups, sums, largest, all, score: total(pairs), average: total(mean), above: sums[n * n - 1] };
}

// One sentence for each direction: parts may add more than what is left once they have cancelled.
export function sayWhy({ all, above }) {
  const which = ({ one, other }) => (one === "token" && other === "token" ? "the two tokens themselves" : `the query’s ${memberOf(one)} with the key’s ${memberOf(other)}`);
  const strongest = (sign, words) => {
    const found = all.find(({ value }) => sign * value >= 0.005);
    return found ? `${words} it most: ${which(found)} (${sign > 0 ? "+" : ""}${number(found.value)}). ` : "";
  };
  const [one, other] = [strongest(1, "Raises"), strongest(-1, "Lowers")];
  return `${above < 0 ? other + one : one + other}All ${all.length} pairs together: ${number(Math.abs(above))} ${above < 0 ? "below" : "above"} an average key.`;
}

export function whyScene(where, width, room, { asked, live }) {
  const { stack, keys, query, key, head } = where;
  const pair = `“${stack.tokens[query]}” to “${keys[key]}”`;
  const scene = new Scene(width, room, `Why this weight: the score of ${pair}, split by what wrote the query and the key`);
  if (!asked) {
    scene.label(live ? "The kernel is splitting the score …" : "Splitting a score needs the kernel: run the cell, then press again.", width / 2, room / 2, { size: 14, align: "center", color: "muted", most: width - 8 });
    scene.beat(`The score of ${pair}.`, [0, 0, width, room]);
    return scene;
  }
  const { described } = asked;
  const found = grouped(described);
  const names = [...found.groups, "all"];
  const n = names.length;
  const beside = width >= 700 ? clamp(width * 0.3, 220, 340) : 0;
  const label = Math.ceil(Math.max(...names.map((name) => textWidth(name, 13)))) + 14;
  const short = names.map((name) => name.replace("of layer ", "").replace("feed-forward", "ff"));
  const turned = Math.min((width - label - beside - 8) / n, 96) < Math.max(...short.map((name) => textWidth(name, 13))) + 8;
  const top = 44 + (turned ? 74 : 26);
  const cell = Math.min((width - label - beside - 8) / n, 96);
  const high = Math.min((room - top - 6) / n, 48);
  const one = { ...matrix(Float32Array.from(found.sums), n, n), most: Math.max(...found.sums.map(Math.abs)) || 1 };
  const weight = percent(valueAt(head.weights, query, key));
  scene.heading(`${pair}: weight ${weight}`, `score ${number(found.score)}, ${number(Math.abs(found.above))} ${found.above < 0 ? "below" : "above"} that of an average key`, 0, 12, width - 2);
  scene.label("from the query’s …", 0, top - 12, { size: 12, color: "query", most: label });
  scene.label("… and from the key’s", label, 36, { size: 12, color: "key" });
  scene.paint((p) => {
    p.matrix(one, label, top, n * cell, n * high);
    p.seams(n, n, label, top, cell, high);
    p.box(label, top + (n - 1) * high - 1, n * cell, 2, { fill: p.theme.paper, radius: 0 });
    p.box(label + (n - 1) * cell - 1, top, 2, n * high, { fill: p.theme.paper, radius: 0 });
    found.sums.forEach((value, i) => {
      const style = { size: cell < 40 ? 12 : 13, align: "center", color: inkOn(colourOf(one, value, p.theme)), weight: i === n * n - 1 ? 650 : 400 };
      p.text(cell < 40 ? number(value, 1).replace(/^(−?)0\./, "$1.") : number(value), label + ((i % n) + 0.5) * cell, top + (Math.floor(i / n) + 0.5) * high, style);
    });
  });
  names.forEach((name, i) => {
    const all = i === n - 1 ? { weight: 650 } : {};
    scene.label(name, label - 6, top + (i + 0.5) * high, { size: 13, align: "right", ...all });
    const style = turned ? { turn: -Math.PI / 4, align: "left" } : { align: "center", most: cell - 2 };
    scene.label(short[i], label + (i + (turned ? 0.35 : 0.5)) * cell, top - (turned ? 8 : 12), { size: 13, ...style, ...all });
  });
  const tell = (_, i, j) => {
    const { value, words } = found.largest[i * n + j];
    return [`query’s ${names[i]}, key’s ${names[j]}: ${number(found.sums[i * n + j])}`, ...(words ? [`largest in it: ${words}, ${number(value)}`] : [])];
  };
  scene.grid([label, top, n * cell, n * high], one, `Parts of the score of ${pair}, added up by groups`, tell);
  const spread = sayWhy(found);
  const x = label + n * cell + 24;
  if (beside) {
    const lines = wrapped(spread, width - x - 6, 15);
    lines.forEach((line, i) => scene.label(line, x, top + 10 + 21 * i, { size: 15 }));
    const y = top + 32 + 21 * lines.length;
    scene.label("The largest, query’s with key’s:", x, y, { size: 13, color: "muted" });
    found.all.slice(0, 6).forEach(({ words, value }, i) => {
      scene.label(number(value), x + 40, y + 24 + 20 * i, { size: 13, weight: 650, align: "right" });
      scene.label(words, x + 50, y + 24 + 20 * i, { size: 13, most: width - x - 54 });
    });
  }
  scene.beat(`A query and a key are sums: of the token, its position, and all that earlier heads and networks wrote.`, [0, 0, label, room]);
  scene.beat("So their score is a sum over pairs of parts, here added up by groups. What all keys share is left out, because a softmax doesn’t see it.", [label, 0, (n - 1) * cell, top + (n - 1) * high - 2]);
  scene.beat(spread, [0, 0, width, room]);
  scene.hint = beside ? "With the average key’s score, the numbers add up to the model’s own. Each norm’s divisor is kept as it was, so they don’t say what would happen without a part." : spread;
  return scene;
}
