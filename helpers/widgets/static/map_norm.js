// The map, inside a layer norm: one vector before, its mean and deviation, and after.

import { normed, pickRow, signedBars } from "./map_insides.js";
import { becomes } from "./map_moves.js";
import { Scene, number } from "./map_scene.js";
import { entryOf, oneRow } from "./map_trace.js";
import { fitting } from "./text.js";

export function normScene(where, place, width, room) {
  const { stack, row } = where;
  const { norm } = where.sublayer;
  const scene = new Scene(width, room, `Layer norm: the vector of “${stack.tokens[row]}” before and after`);
  const base = place.split("/").slice(0, 4).join("/");
  const left = pickRow(scene, stack, stack.tokens, row, room, (other) => `${base}/${other}`) + 18;
  const wide = width - left - 44;
  const cell = wide / norm.before.cols;
  const [mean, deviation] = [norm.mean[row], norm.deviation[row]];
  const { came: before, even, leaves: after } = normed(norm, row);
  const high = (room - 152) / 3;
  const at = [0, high + 24, 2 * high + 124];
  const entry = (i) => `entry ${entryOf(norm.before, i) + 1}`;
  const all = norm.before.width;
  const fits = (...options) => fitting(options, wide / 1.14, 14);
  const of = `${number(mean)}, variance ${number(deviation ** 2)}`;
  const words = [
    [fits(`Before: mean ${of}`, `Mean ${of}`, `Mean ${number(mean)}`), `over all ${all} entries`],
    [
      fits(`Minus ${number(mean)}, divided by ${number(deviation)}`, `− ${number(mean)}, ÷ ${number(deviation)}`),
      "the standard deviation, so that mean and variance become 0 and 1",
    ],
    [fits("After: × gain + bias", "× gain, + bias"), "learned, one of each per entry"],
  ];
  const bars = [before, even, after].map((values, k) => {
    const y = at[k] + 22;
    const most = Math.max(...values.map(Math.abs)) || 1;
    const { middle, unit } = signedBars(scene, values, left, y, wide, high, [-most, most]);
    const tick = roundBelow(most);
    scene.paint((p) =>
      [tick, -tick].forEach((one) => {
        const [x, to, color] = [left + wide, middle - one * unit, p.theme.muted];
        p.text(one.toString().replace("-", "−"), x + 10, to, { size: 12, color });
        p.straight(x, to, x + 5, to, { color, width: 1 });
      }),
    );
    scene.heading(...words[k], left, at[k] + 10, wide);
    const tell = [
      (_, __, i) => [`${entry(i)}: ${number(before[i])}`],
      (_, __, i) => [entry(i), `(${number(before[i])} − ${number(mean)}) ÷ ${number(deviation)} = ${number(even[i])}`],
      (_, __, i) => [
        entry(i),
        `${number(norm.gain.data[i])} × ${number(even[i])} + ${number(norm.bias.data[i])} = ${number(after[i])}`,
      ],
    ][k];
    scene.grid([left, y, wide, high], oneRow(values), words[k][0], tell);
    scene.targets[scene.targets.length - 1].marks = (p, [, i]) =>
      p.frame(left + i * cell - 1.5, 20, cell + 2, at[2] + high + 4, p.theme.ink, 1);
    // Where the mean is, and how far the deviation reaches.
    if (!k)
      scene.paint((p) =>
        [0, deviation, -deviation].forEach((off) => {
          const to = middle - (mean + off) * unit;
          if (to > y - 2 && to < y + high + 2)
            p.box(left, to - 0.5, wide, 1, { fill: off ? p.theme.muted : p.theme.query, radius: 0 });
        }),
      );
    return { values, middle, unit };
  });
  ["gain", "bias"].forEach((name, k) => {
    const y = at[1] + high + 32 + 32 * k;
    const range = [Math.min, Math.max].map((end) => number(end(...norm[name].data))).join(" to ");
    scene.label(`${k ? "+" : "×"} ${name}, ${range}`, left, y + 1, { size: 13, color: "muted" });
    scene.paint((p) => p.strips(norm[name], left, y + 8, wide, 16, { height: 16 }));
    scene.grid([left, y + 8, wide, 16], norm[name], `The norm’s ${name}`, (one, _, i) => [
      `${entry(i)}: ${name} ${number(one.data[i])}`,
    ]);
  });
  const arrives = `A vector arrives. Its entries have mean ${number(mean)} and standard deviation ${number(deviation)}.`;
  scene.beat(arrives, [0, 0, width, at[1] - 2]);
  const size = "now every token’s vector has the same size";
  scene.beat(`Subtract the mean, divide by the standard deviation: ${size}.`, [0, at[1] - 2, width, high + 26]);
  scene.moves(becomes(bars[0], bars[1], left, wide));
  const learned = "Both were learned, and are the same for every token";
  scene.beat(`Multiply each entry by its gain and add its bias. ${learned}.`, [0, at[1] + high + 24, width, room]);
  scene.moves(becomes(bars[1], bars[2], left, wide));
  const sizes = Array.from(norm.deviation);
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  const name = (size) => `“${stack.tokens[sizes.indexOf(size)]}”`;
  const range =
    sizes.length > 1 ? `between ${number(least)} (${name(least)}) and ${number(most)} (${name(most)})` : number(least);
  scene.hint = `Before the norm, the standard deviation (grey lines, around the mean) is ${range}. After dividing by it, it is 1 for every token. ${norm.before.cols} of ${all} entries are shown, each row on its own scale.`;
  return scene;
}

// The largest of … 0.5, 1, 2, 5, 10 … that isn't above a number.
function roundBelow(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  return Number((power * [5, 2, 1].find((one) => one * power <= most)).toPrecision(1));
}
