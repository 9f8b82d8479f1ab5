// The map, the heads of a layer joined: of one token the mixtures of all of them, side by side, then as
// one vector, which W_O mixes, and which is added to the stream.

import { awaited, pickRow, readProjection, signKey } from "./map_insides.js";
import { ease, sweeps } from "./map_moves.js";
import { NARROW, Scene, number, percent } from "./map_scene.js";
import { matrix, oneRow, rowOf, valueAt } from "./map_trace.js";
import { clamp, shorten, textWidth, wrapped } from "./text.js";

// `asked`: { described, view } of this place, or null; then `live` tells whether it may still come.
export function joinScene(where, place, width, room, { asked, live }) {
  const { sublayer, row, stack, keys, before, normFirst } = where;
  const { heads } = sublayer;
  const token = `“${stack.tokens[row]}”`;
  const scene = new Scene(width, room, `What ${heads.length} heads found for ${token}, joined, mixed and added`);
  const narrow = width < NARROW;
  const left = pickRow(scene, stack, stack.tokens, row, room, (other) => place.replace(/\d+$/, other)) + 16;
  const mixtures = heads.map(({ context, off }) => rowOf(context, row).map((value) => (off ? 0 : value)));
  const each = mixtures[0].length;
  const joined = matrix(Float32Array.from(mixtures.flatMap((one) => [...one])), heads.length * each, 1);
  const found = asked && readProjection(asked.described, asked.view, joined.data);
  const of = (one) => oneRow(rowOf(one, row), { most: one.most, width: one.width });
  const lines = [
    ["joined · W_O", found?.sums],
    ["+ bias", found?.bias],
    ["= out", of(sublayer.found)],
    ["⊕ stream", of(before)],
    [normFirst ? "= sum" : "= sum, norm", of(sublayer.after)],
  ];
  // Narrow, what the heads add up to has two lines of its own.
  const [top, thick, said, pitch] = narrow ? [24, 22, 36, 27] : [24, 40, 20, 30];
  const high = room - top - 8 - said - pitch * lines.length;
  const bottom = top + high + said;
  const x0 = left + (narrow ? 0 : 106);
  const x1 = x0 + thick + (narrow ? 52 : 36);
  const x = x1 + thick + (narrow ? 22 : 30);
  const wide = width - x - 4;
  // Where a head's part of the joined vector lies, and apart from the others.
  const part = high / heads.length;
  const slim = part < 34;
  const over = narrow && !slim ? Math.min(30, part / 1.8) : part / 10;
  const own = (h) => [top + h * part + over, part - over - part / 10];
  const mixed = (h) => matrix(mixtures[h], each, 1, { most: joined.most });
  heads.forEach((head, h) => {
    const [y, deep] = own(h);
    const weights = rowOf(head.weights, row);
    const most = weights.indexOf(Math.max(...weights));
    const middle = y + deep / 2;
    const share = percent(weights[most]);
    const takes = head.off ? "nothing" : `“${narrow ? shorten(keys[most], 6) : keys[most]}” ${share}`;
    const name = `head ${h + 1}${head.off ? ": off" : ""}`;
    if (narrow) {
      if (over > 26) scene.label(name, x0, y - 22, { size: 12, weight: 650 });
      if (!slim) scene.note(over > 26 ? takes : `${h + 1}: ${share}`, x0, y - 8, "left", Infinity, 11);
    } else if (slim) scene.note(`${h + 1}: ${takes}`, x0 - 6, middle, "right");
    else {
      scene.label(name, x0 - 8, middle - 8, { size: 13, weight: 650, align: "right" });
      scene.note(takes, x0 - 8, middle + 9, "right", 98);
    }
    scene.paint((p) => {
      p.matrix(mixed(h), x0, y, thick, deep);
      p.straight(x0 + thick + 5, middle, x1 - 5, middle, { color: p.theme.muted, arrow: true });
    });
    scene.grid([x0, y, thick, deep], mixed(h), `The mixture of head ${h + 1}`, (one, i) => [
      `head ${h + 1}, entry ${i + 1}: ${number(one.data[i])}`,
      `takes most from ${takes}`,
    ]);
  });
  if (!narrow) scene.note("mixtures", x0 + thick / 2, 11, "center");
  scene.besides([x1, top, 2, 2]).note("joined", x1 + thick / 2, 11, "center");
  const times = { size: 16, weight: 650, align: "center", color: "muted" };
  scene.besides([x, top, 2, 2]).label("×", (x1 + thick + x) / 2, top + high / 2, times);
  scene.besides([x, top, 2, 2]).label("O", x + 1.14 * textWidth("W", 14), 15, { size: 11, weight: 650 });
  const seams = (p, from, w) =>
    heads.forEach((_, h) => h && p.box(from, top + h * part - 1.5, w, 3, { fill: p.theme.paper, radius: 0 }));
  scene.paint((p) => {
    p.matrix(joined, x1, top, thick, high);
    seams(p, x1, thick);
  });
  const headOf = (i) => `head ${Math.floor(i / each) + 1}`;
  scene.grid([x1, top, thick, high], joined, `The joined vector: ${joined.rows} numbers`, (one, i) => [
    `joined, entry ${i + 1}: ${number(one.data[i])}`,
    `entry ${(i % each) + 1} of ${headOf(i)}`,
  ]);
  // Until W_O is there, its place shows what the mixtures are made with.
  let early = false;
  scene.top([x, top, 2, 2], (p, lit, veil) => {
    early = !lit && veil === "paper";
    if (early) takenWith(p);
  });
  if (keys.length * 25 < room - 50) signKey(scene, 4, room - 10);
  if (found) weightsOf();
  else awaited(scene, live, x, top, wide, high);
  lines.forEach(([words, one], i) => {
    const y = bottom + pitch * i;
    const style = { size: 13, align: "right", weight: i === 2 || i === 4 ? 650 : 400 };
    const at = scene.besides([x, y + 10, 2, 2]);
    at.label(words.replace("_O", ""), x - (i ? 8 : 18), y + 11, style);
    if (!i) at.label("O", x - 8, y + 15, { ...style, size: 10 });
    if (!one) return;
    scene.paint((p) => p.matrix(one, x, y, wide, 22));
    scene.grid([x, y, wide, 22], one, words, (m, _, j) => [`${words}, shown entry ${j + 1}: ${number(m.data[j])}`]);
  });

  scene.beat(`Each head has its own mixture for ${token}: ${each} numbers.`, [0, 0, x0 + thick + 4, room]);
  const all = `Joined, the ${heads.length} mixtures are one vector of ${joined.rows} numbers. Each head’s are still apart.`;
  scene.beat(all, [x0 + thick + 4, 0, x1 + thick - x0 - thick + 2, bottom - 8]);
  scene.moves((p, t) =>
    heads.forEach((_, h) => {
      const [y, deep] = own(h);
      const to = (a, b) => a + (b - a) * ease(t);
      p.matrix(mixed(h), to(x0, x1), to(y, top + h * part), thick, to(deep, part));
    }),
  );
  const product = [x1 + thick + 6, 0, width, bottom - 8];
  scene.beat("Each column of W_O adds up entries of all heads.", product, [x0, bottom - 8, width, 32]);
  const follows = (p, [i]) => p.frame(x1 - 1, top + (i * high) / joined.rows - 2, x + wide - x1 + 2, 5);
  if (found) scene.moves(sweeps(joined.rows, 1, follows));
  const added = "With a bias, the result is added to the stream that ran past the heads.";
  scene.beat(added, [x0, bottom + 24, width, room]);
  scene.moves((p, t) => p.row(lines[2][1], 0, x, bottom + 2 * pitch * (1 + ease(t)), wide, 22));
  scene.hint = "Press another token, or point at W_O to see what each head adds to one entry of the result.";
  return scene;

  function takenWith(p) {
    p.text(narrow ? "weights" : `weights: the row of ${token} in each head`, x, 11, { color: p.theme.muted });
    heads.forEach(({ weights, off }, h) => {
      const one = matrix(rowOf(weights, row), 1, weights.cols, { most: weights.most, weights: true, off });
      p.matrix(one, x, own(h)[0], wide, own(h)[1]);
    });
    const cell = wide / keys.length;
    // On two lines where one has no room.
    const lines = keys.some((key) => textWidth(key, 12) > cell - 2) ? 2 : 1;
    const style = { size: 12, align: "center", most: lines * cell - 2, color: p.theme.muted };
    if (cell > 22)
      keys.forEach((key, i) => p.text(key, x + (i + 0.5) * cell, top + high + 9 + 13 * (i % lines), style));
  }

  // W_O, or those of its columns whose entries a strip shows; one of them is followed from the start.
  function weightsOf() {
    const { weight, sums } = found;
    const shown = `${joined.rows} × ${where.sublayer.found.width}, ${weight.cols} columns shown`;
    scene.besides([x, top, 2, 2]).heading("W  ", shown, x, 11, wide);
    const draws = (p) => {
      p.matrix(weight, x, top, wide, high);
      seams(p, x, wide);
    };
    scene.paint(draws);
    const adds = (h, j) => mixtures[h].reduce((sum, value, i) => sum + value * valueAt(weight, h * each + i, j), 0);
    // Whether the printed numbers add up.
    const exact = (j) => {
      const printed = heads.reduce((all, _, h) => all + Math.round(100 * adds(h, j)), 0);
      return printed === Math.round(100 * sums.data[j]);
    };
    const sumOf = (j) => {
      const parts = heads.map((_, h) => number(adds(h, j))).join(" +\u00a0");
      return `${parts.replaceAll("+\u00a0−", "−\u00a0")} ${exact(j) ? "=" : "≈"} ${number(sums.data[j])}`;
    };
    scene.grid([x, top, wide, high], weight, "The matrix W_O", (one, i, j) => {
      const [w, entry] = [valueAt(one, i, j), joined.data[i]];
      const all = [
        `weight ${number(w, 3)} times entry ${number(entry, 3)} of the joined vector is ${number(w * entry, 3)}`,
        `all ${each} entries of ${headOf(i)} add ${number(adds(Math.floor(i / each), j))}`,
        `head by head: ${sumOf(j)}`,
      ];
      return early ? [] : all;
    });
    const cell = wide / weight.cols;
    const column = (p, j) => {
      p.frame(x + j * cell - 1, top - 1, cell + 2, high + 2, p.theme.query);
      p.frame(x + j * cell - 1, bottom - 1, cell + 2, 24, p.theme.query);
      const told = [`head by head: ${sumOf(j)}`, sumOf(j)].map((one) => wrapped(one, width - left, 14.5));
      const words = told.find(({ length }) => length <= (narrow ? 2 : 1)) || [`= ${number(sums.data[j])}`];
      const half = 0.57 * Math.max(...words.map((one) => textWidth(one, 13)));
      const middle = clamp(x + (j + 0.5) * cell, (2 * half < wide ? x : left) + half, width - half);
      const style = { size: 13, weight: 650, align: "center" };
      words.forEach((one, i) => p.text(one, middle, bottom - 9 - 16 * (words.length - 1 - i), style));
    };
    // One column at a time: that at the pointer takes the place of the one that is followed.
    scene.targets.at(-1).marks = (p, [i, j]) => {
      if (early) return;
      p.box(left, top + high + 1, width, said, { fill: p.theme.paper, radius: 0 });
      p.box(x - 3, top - 3, wide + 6, bottom + 27 - top, { fill: p.theme.paper, radius: 0 });
      draws(p);
      p.matrix(lines[0][1], x, bottom, wide, 22);
      p.frame(x1 - 1, top + (i * high) / joined.rows - 1, x + wide - x1 + 2, 4, p.theme.ink, 1);
      column(p, j);
    };
    // The same for every token: the column whose numbers are largest.
    const size = (j) => joined.data.reduce((sum, _, i) => sum + Math.abs(valueAt(weight, i, j)), 0);
    const j = Array.from(sums.data, (_, one) => size(one)).reduce(
      (most, one, i, all) => (one > all[most] ? i : most),
      0,
    );
    scene.top([x + j * cell, top, cell, high], (p, lit) => lit && column(p, j));
  }
}
