// The map, a head's projection: one row of what it reads, times its matrix, is a query, key or value.

import { awaited, pickRow, readProjection } from "./map_insides.js";
import { ease, sweeps } from "./map_moves.js";
import { Scene, number } from "./map_scene.js";
import { oneRow, rowOf, valueAt } from "./map_trace.js";
import { fitting, textWidth } from "./text.js";

export const LETTERS = { q: ["Q", "query"], k: ["K", "key"], v: ["V", "value"] };

// `asked`: { described, view } of this place, or null; then `live` tells whether it may still come.
export function projectScene(where, place, width, room, { asked, live }) {
  const { head, letter, row, stack, keys, kind, turns } = where;
  const tokens = letter === "q" ? stack.tokens : keys;
  const [big, word] = LETTERS[letter];
  const scene = new Scene(width, room, `W_${big}: from a vector to the ${word} of “${tokens[row]}”`);
  const base = place.split("/").slice(0, 5).join("/");
  const left = pickRow(scene, stack, tokens, row, room, (other) => `${base}/${other}`) + 16;
  const x = left + 62;
  const wide = width - x - 4;
  const from =
    kind === "cross-attention" && letter !== "q" ? "the encoder’s output" : "what the layer’s attention reads";
  const result = oneRow(rowOf(head[letter], row), { most: head[letter].most });
  const found = asked && readProjection(asked.described, asked.view);
  const lines = [
    ["x · W", found?.sums],
    ["+ bias", found?.bias],
    [turns ? "= sum" : `= ${big}`, found?.made || unturned(result, turns)],
  ];
  if (turns) lines.push([`= ${big}`, result]);
  const top = 24;
  const clocks = turns ? 46 : 0;
  const low = 30 * lines.length + clocks;
  const high = room - top - 28 - low;
  const bottom = top + high + 20;
  scene.label(big, x + 1.14 * textWidth("W", 14), 15, { size: 11, weight: 650 });
  scene.heading("W  ", found ? `${found.weight.rows} × ${found.weight.cols}, this head’s columns` : "", x, 11, wide);
  scene.label("x", left + 24, 11, { size: 14, weight: 650, align: "center" });
  if (found) {
    const { input, weight, bias, made } = found;
    scene.paint((p) => {
      p.matrix(input, left, top, 48, high);
      p.matrix(weight, x, top, wide, high);
    });
    scene.grid([left, top, 48, high], input, `The vector x: ${input.rows} numbers`, (one, i) => [
      `x, entry ${i + 1}: ${number(one.data[i])}`,
      `of “${tokens[row]}”, from ${from}`,
    ]);
    scene.grid([x, top, wide, high], weight, `The matrix W_${big}`, (one, i, j) => [
      `row ${i + 1}, column ${j + 1}: ${number(valueAt(one, i, j), 3)}`,
      `× x, entry ${i + 1}: ${number(valueAt(one, i, j) * input.data[i], 3)}`,
      `the column adds up to ${number(made.data[j] - bias.data[j])}`,
    ]);
    scene.targets[scene.targets.length - 1].marks = (p, [i, j]) => {
      const [row, col] = [top + (i * high) / weight.rows - 1, x + (j * wide) / weight.cols - 1];
      p.frame(left - 1, row, wide + x - left + 2, Math.max(4, high / weight.rows + 2), p.theme.ink, 1);
      p.frame(col, top - 1, wide / weight.cols + 2, bottom - top + low - 6, p.theme.query, 1.5);
    };
    // The first column is followed from the start.
    const each = wide / weight.cols;
    const sum = `= ${number(found.sums.data[0])}`;
    const dot = fitting([`x · column 1 ${sum}`, `column 1 ${sum}`, sum], 0.88 * (wide - each - 8), 13);
    scene.top([x, top, each, high], (p) => p.frame(x - 1, top - 1, each + 2, bottom - top + 24));
    scene.paint((p) => p.frame(left - 1, top - 1, 50, high + 2));
    scene.label(dot, x + each + 6, bottom - 9, { size: 13, weight: 650 });
  } else awaited(scene, live, x, top, wide, high);
  lines.forEach(([words, one], i) => {
    const last = i === lines.length - 1;
    const y = bottom + 30 * i + (last ? clocks : 0);
    const look = last ? { weight: 650, color: word } : {};
    scene.label(words, x - 8, y + 11, { size: 13, align: "right", ...look });
    if (!one) return;
    scene.paint((p) => p.matrix(one, x, y, wide, 22));
    scene.grid([x, y, wide, 22], one, last ? `The ${word} of “${tokens[row]}”` : `W_${big}: ${words}`, (m, _, j) => [
      `entry ${j + 1}: ${number(m.data[j])}`,
      ...(found && last && !turns ? [`${number(found.sums.data[j])} + bias ${number(found.bias.data[j])}`] : []),
    ]);
  });
  if (turns) {
    scene.label("turned", x - 8, bottom + low - clocks - 10, { size: 13, align: "right", color: "muted" });
    clockHands(scene, lines[2][1], turns, [x, bottom + low - clocks - 10, wide], word);
  }
  const vector = [0, 0, left - 8, room];
  scene.beat(`The vector x of “${tokens[row]}” is ${from}.`, vector, [left - 8, 0, x - left + 2, bottom - 8]);
  scene.beat("Each entry of x multiplies its row of the matrix.", [x - 6, 0, wide + 12, bottom - 8]);
  const follows = (p, [i]) => p.frame(left - 1, top + (i * high) / found.weight.rows - 2, wide + x - left + 2, 5);
  if (found) scene.moves(sweeps(found.weight.rows, 1, follows));
  const turned = turns ? ", and rotated by its position" : "";
  const made = `Every column is added up, and its bias added${turned}. That row is the ${word} of “${tokens[row]}” in this head.`;
  scene.beat(made, [left, bottom - 8, width - left, room]);
  scene.moves((p, t) => p.row(result, 0, x, top + ease(t) * (bottom - top + low - 30), wide, 22));
  scene.hint = turns
    ? `Each pair of entries is a clock hand, grey before the turn. “${tokens[row]}” is at position ${row}, counted from 0: ${row ? `pair 1 turns by ${degrees(turns[0])}, pair ${turns.length} by ${degrees(turns[turns.length - 1])}` : "nothing turns"}. Press another token.`
    : `One row of ${big}: the same matrix makes the ${word} of every token. Point at the matrix to follow another column, or press another token.`;
  return scene;
}

const degrees = (angle) => `${number((180 * angle) / Math.PI, angle > 0.2 ? 0 : 2)}°`;

// What a row was before its pairs of entries were turned.
function unturned(one, turns) {
  if (!turns) return one;
  const back = (a, b, turn) => [a * Math.cos(turn) + b * Math.sin(turn), b * Math.cos(turn) - a * Math.sin(turn)];
  return oneRow(turns.flatMap((turn, i) => back(one.data[2 * i], one.data[2 * i + 1], turn)));
}

// Each pair of entries below its columns, as a hand that turns like a clock's: grey before, in colour
// after it. Where there's little room, some of them with their numbers, the last one too.
function clockHands(scene, { data }, turns, [x, y, wide], color) {
  const n = Math.min(turns.length, Math.floor(wide / 30));
  const all = n === turns.length;
  const shown = Array.from({ length: n }, (_, k) => Math.round((k * (turns.length - 1)) / (n - 1)));
  const each = wide / n;
  const size = Math.min(all ? 18 : 14, each / 2 - 2);
  const middle = all ? y : y - 7;
  scene.paint((p) =>
    shown.forEach((i, k) => {
      const at = x + (k + 0.5) * each;
      const from = Math.atan2(data[2 * i + 1], data[2 * i]);
      const to = (angle, far) => [at + far * Math.cos(angle), middle + far * Math.sin(angle)];
      p.box(at - size, middle - size, 2 * size, 2 * size, { edge: p.theme.edge, radius: size });
      const hand = (angle, fill) => p.straight(at, middle, ...to(angle, size), { color: p.theme[fill], width: 2 });
      hand(from, "muted");
      hand(from + turns[i], color);
      if (!all) p.text(String(i + 1), at, y + 16, { size: 12, align: "center", color: p.theme.muted });
      // Which way they turn.
      const arc = Array.from({ length: 25 }, (_, step) =>
        to(from + ((turns[i] % (2 * Math.PI)) * step) / 24, size / 2),
      );
      if (!i && turns[i]) p.line(arc, { color: p.theme.ink, width: 1.5, radius: 0, arrow: true });
    }),
  );
  const one = oneRow(shown.map((i) => turns[i]));
  scene.grid([x, y - 18, wide, 36], one, "By how much each pair is turned", (_one, _, k) => [
    `entries ${2 * shown[k] + 1} and ${2 * shown[k] + 2} make a pair, turned by ${degrees(one.data[k])}`,
  ]);
}
