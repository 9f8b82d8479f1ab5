// The map, the heads of a layer joined: of one token the mixtures of all of them, side by side, then as
// one vector, which W_O mixes, and which is added to the stream.

import { pickRow, readProjection } from "./map_insides.js";
import { ease, sweeps } from "./map_moves.js";
import { NARROW, Scene, number, percent } from "./map_scene.js";
import { matrix, oneRow, rowOf, valueAt } from "./map_trace.js";
import { textWidth } from "./text.js";

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
    ["joined · W", found?.sums],
    ["+ bias", found?.bias],
    ["= out", of(sublayer.found)],
    ["⊕ stream", of(before)],
    [normFirst ? "= sum" : "= sum, norm", of(sublayer.after)],
  ];
  const [top, thick] = [24, narrow ? 22 : 40];
  const high = room - top - 28 - 30 * lines.length;
  const bottom = top + high + 20;
  const x0 = left + (narrow ? 0 : 106);
  const x1 = x0 + thick + 36;
  const x = x1 + thick + 30;
  const wide = width - x - 4;
  // Where a head's part of the joined vector lies, and apart from the others.
  const part = high / heads.length;
  const slim = part < 34;
  const over = narrow && !slim ? 16 : part / 10;
  const own = (h) => [top + h * part + over, part - over - part / 10];
  const mixed = (h) => matrix(mixtures[h], each, 1, { most: joined.most });
  heads.forEach((head, h) => {
    const [y, deep] = own(h);
    const weights = rowOf(head.weights, row);
    const most = weights.indexOf(Math.max(...weights));
    const middle = y + deep / 2;
    const takes = `“${keys[most]}” ${percent(weights[most])}`;
    const name = `head ${h + 1}${head.off ? ": off" : ""}`;
    if (narrow) scene.label(slim ? "" : name, x0, y - 8, { size: 12 });
    else if (slim) scene.note(`${h + 1}: ${takes}`, x0 - 6, middle, "right");
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
  if (found) weightsOf();
  else {
    const says = live ? "The kernel is sending W_O …" : "W_O stays with the kernel: run the cell, then press again.";
    scene.paint((p) => p.box(x, top, wide, high, { edge: p.theme.edge, dash: [5, 4] }));
    scene.label(says, x + wide / 2, top + high / 2, { size: 14, align: "center", color: "muted", most: wide - 12 });
  }
  lines.forEach(([words, one], i) => {
    const y = bottom + 30 * i;
    const style = { size: 13, align: "right", weight: i === 2 || i === 4 ? 650 : 400 };
    scene.besides([x, y + 10, 2, 2]).label(words, x - 8, y + 11, style);
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
  scene.beat("Each column of W_O adds up entries of all heads.", product, [x0, bottom - 8, width, 90]);
  if (found)
    scene.moves(
      sweeps(joined.rows, 1, (p, [i]) => p.frame(x1 - 1, top + (i * high) / joined.rows - 2, x + wide - x1 + 2, 5)),
    );
  scene.beat("The result is added to the stream that ran past the heads.", [x0, bottom + 82, width, room]);
  scene.moves((p, t) => p.row(lines[2][1], 0, x, bottom + 60 + 60 * ease(t), wide, 22));
  scene.hint = "Press another token, or point at W_O to see what each head adds to one entry of the result.";
  return scene;

  // W_O, or those of its columns whose entries a strip shows; one of them is followed from the start.
  function weightsOf() {
    const { weight, sums } = found;
    scene
      .besides([x, top, 2, 2])
      .heading("W  ", `${joined.rows} × ${where.sublayer.found.width}, ${weight.cols} columns shown`, x, 11, wide);
    scene.paint((p) => {
      p.matrix(weight, x, top, wide, high);
      seams(p, x, wide);
    });
    const adds = (h, j) => mixtures[h].reduce((sum, value, i) => sum + value * valueAt(weight, h * each + i, j), 0);
    const sumOf = (j) =>
      heads
        .map((_, h) => number(adds(h, j)))
        .join(" + ")
        .replaceAll("+ −", "− ");
    scene.grid([x, top, wide, high], weight, "The matrix W_O", (one, i, j) => [
      `${headOf(i)}: ${number(valueAt(one, i, j), 3)} × entry ${number(joined.data[i], 3)}`,
      `all of ${headOf(i)}: ${number(adds(Math.floor(i / each), j))}`,
      `all heads: ${sumOf(j)} ≈ ${number(sums.data[j])}`,
    ]);
    const cell = wide / weight.cols;
    const column = (p, j) => p.frame(x + j * cell - 1, top - 1, cell + 2, bottom - top + 24, p.theme.query);
    scene.targets.at(-1).marks = (p, [i, j]) => {
      p.frame(x1 - 1, top + (i * high) / joined.rows - 1, x + wide - x1 + 2, 4, p.theme.ink, 1);
      column(p, j);
    };
    // The largest, of those whose rounded numbers add up.
    const near = (value) => Math.round(100 * value);
    const exact = (j) => heads.reduce((all, _, h) => all + near(adds(h, j)), 0) === near(sums.data[j]);
    const sizes = Array.from(sums.data, (value, j) => (exact(j) ? Math.abs(value) : 0));
    const j = sizes.indexOf(Math.max(...sizes));
    scene.top([x + j * cell, top, cell, high], (p, lit) => lit && column(p, j));
    const total = number(sums.data[j]);
    const said = `head by head: ${sumOf(j)} = ${total}`;
    const [start, end] = [x + j * cell - 6, x + (j + 1) * cell + 6];
    const fits = (words, room) => 1.14 * textWidth(words, 13) < room;
    const right = fits(said, width - end) || (start < x + wide / 2 && !fits(said, start - x0));
    const words = fits(said, right ? width - end : start - x0) ? said : `= ${total}`;
    const style = { size: 13, weight: 650, align: right ? "left" : "right" };
    scene.besides([x, top, 2, 2]).label(words, right ? end : start, bottom - 9, style);
  }
}
