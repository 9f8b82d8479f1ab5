// The map, inside a layer norm: one vector before, its mean and deviation, and after.

import { normed, pickRow, signedBars } from "./map_insides.js";
import { becomes } from "./map_moves.js";
import { Scene, number } from "./map_scene.js";
import { entryOf, oneRow } from "./map_trace.js";
import { fitting } from "./text.js";

export function normScene(where, place, width, room) {
  const {
    stack,
    sublayer: { norm },
    row,
  } = where;
  const scene = new Scene(width, room, `Layer norm: the vector of “${stack.tokens[row]}” before and after`);
  const base = place.split("/").slice(0, 4).join("/");
  const left = pickRow(scene, stack.tokens, row, room, (other) => `${base}/${other}`) + 18;
  const wide = width - left - 30;
  const cell = wide / norm.before.cols;
  const [mean, deviation] = [norm.mean[row], norm.deviation[row]];
  const { came: before, even, leaves: after } = normed(norm, row);
  const high = (room - 152) / 3;
  const at = [0, high + 24, 2 * high + 124];
  const most = Math.max(1, ...[before, even, after].flat().map(Math.abs));
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
    const { middle, unit } = signedBars(scene, values, left, y, wide, high, [-most, most]);
    scene.paint((p) =>
      [1, -1].forEach((one) => {
        p.text(number(one, 0), left + wide + 11, middle - one * unit, { size: 12, color: p.theme.muted });
        p.straight(left + wide, middle - one * unit, left + wide + 5, middle - one * unit, {
          color: p.theme.muted,
          width: 1,
        });
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
      p.box(left + i * cell - 1.5, 20, cell + 2, at[2] + high + 4, { edge: p.theme.ink, line: 1, radius: 2 });
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
  [
    ["gain", "gain"],
    ["bias", "bias"],
  ].forEach(([name, what], k) => {
    const y = at[1] + high + 32 + 32 * k;
    scene.label(`${k ? "+" : "×"} ${what}`, left, y + 1, { size: 13, color: "muted" });
    scene.paint((p) => p.strips(norm[name], left, y + 8, wide, 16, { height: 16 }));
    scene.grid([left, y + 8, wide, 16], norm[name], `The norm’s ${what}`, (one, _, i) => [
      `${entry(i)}: ${what} ${number(one.data[i])}`,
    ]);
  });
  scene.beat(`A vector arrives. Its entries have mean ${number(mean)} and standard deviation ${number(deviation)}.`, [
    0,
    0,
    width,
    at[1] - 2,
  ]);
  scene.beat("Subtract the mean, divide by the standard deviation: now every token’s vector has the same size.", [
    0,
    at[1] - 2,
    width,
    high + 26,
  ]);
  scene.moves(becomes(bars[0], bars[1], left, wide));
  scene.beat("Multiply each entry by its gain and add its bias. Both were learned, and are the same for every token.", [
    0,
    at[1] + high + 24,
    width,
    room,
  ]);
  scene.moves(becomes(bars[1], bars[2], left, wide));
  scene.hint = `The blue line is the mean, the grey ones are one standard deviation away. ${norm.before.cols} of ${all} entries are shown. Press another token to compare.`;
  return scene;
}
