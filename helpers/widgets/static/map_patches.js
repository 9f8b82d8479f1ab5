// The map, the picture that a ViT reads: cut into patches, and each patch beside its own row.

import { own } from "./map_moves.js";
import { brief } from "./map_scene.js";
import { rowOf, valueAt } from "./map_trace.js";
import { fitting, textWidth } from "./text.js";

// The picture with its seams, beside the rows or, on a phone, above them; where it lies is left in the
// scene. Below or beside it are the others that can be read.
export function picture(scene, { choices, reads, opened, leaves }, stack, top, { side, narrow, listed, label }) {
  const { image, layers } = stack;
  const { along } = image;
  scene.picture = [0, top, side];
  if (narrow) scene.fold = stack.blocks[0].top - 24; // no heading is cut through
  scene.paint((p) => heat(p, scene.picture, stack, null, 0));
  const [cols, gap, left, down, room] = narrow
    ? [2, 5, side + 10, 0, scene.width - side - 12]
    : [4, 6, 0, side + 53, side];
  const small = Math.min(48, (room - (cols - 1) * gap) / cols);
  choices.forEach((one, i) => {
    const [x, y] = [i % cols, Math.floor(i / cols)].map((at) => at * (small + gap));
    const rect = [left + x, top + down + y, small, small];
    const right = one.is === one.said;
    const known = opened.has(i) ? (right ? ", read correctly" : ", misread") : "";
    const name = `Picture ${i + 1} of ${choices.length}${known}${i === reads ? ", shown" : ": read it"}`;
    scene.button(rect, name, { choose: i }, [name]);
    scene.height = Math.max(scene.height, rect[1] + small + 2);
    // Above the veil: what can be pressed is never dimmed.
    scene.labels.push((p) => {
      p.grey(one.image, 0, 0, image.cols, image.rows, ...rect);
      if (i === reads) p.frame(...rect, p.theme.query, 3);
      if (!known) return;
      const [x, y] = [rect[0] + small - 9, rect[1] + small - 9];
      p.box(x - 8, y - 8, 16, 16, { fill: p.theme.paper, radius: 4 });
      const style = { size: 13, weight: 650, align: "center", color: p.theme[right ? "value" : "bad"] };
      p.text(right ? "✓" : "✗", x, y + 0.5, style);
    });
  });
  const says = (words, y) => scene.note(fitting(words, side), 0, top + side + listed + y);
  const [{ is } = {}, pixels, patches] = [choices[reads], image.rows / along, `${along ** 2} patches`];
  const labelled = [`${patches}, labelled “${is}”`, `labelled “${is}”`, `“${is}”`];
  says(is ? labelled : [`${patches} of ${pixels} × ${pixels} pixels`, patches], 13);
  const wrong = [...choices.keys()].filter((i) => choices[i].is !== choices[i].said);
  const found = wrong.filter((i) => opened.has(i)).length;
  const misread = `${wrong.length} of ${choices.length} misread`;
  const more = found ? `Found ${found} of the ${wrong.length} misread` : `Press one: ${misread}`;
  if (is) says([more, misread], narrow ? 28 : 43);
  scene.saysOf = (p, row) => {
    const layer = `layer ${layers.length}`;
    const words = fitting([`blue: what ${stack.tokens[row]} takes, ${layer}`, `blue: ${layer}`], side);
    p.text(words, 0, top + side + listed + (narrow ? 43 : 28), { size: 12, color: p.theme.query });
    if (!row || narrow) return;
    // Where its row is, the patch is seen large.
    const [[x, y, wide], to] = [cellOf(scene.picture, image, row), [label - 26, stack.y(row)]];
    p.straight(x + wide, y + wide / 2, ...to, { color: p.theme.ink, width: 1.5 });
    p.grey(image, ...cellOf([0, 0, image.rows], image, row), to[0], to[1] - 11, 22, 22);
    p.frame(to[0], to[1] - 11, 22, 22);
  };
  scene.part("embeddings", 0, top, side, side);
  const follow = (row) => ({ follow: `${stack.name}:${row}` });
  const leave = (row) => ({ leave: row });
  const does = leaves ? [leave, "click to leave it out or put it back"] : [follow, "click to follow it"];
  patchButtons(scene, scene.picture, stack, "in the picture", ...does);
}

// Where a row's patch lies in the picture.
const cellOf = ([x, y, side], { along }, row) => {
  const cell = side / along;
  return [x + ((row - 1) % along) * cell, y + Math.floor((row - 1) / along) * cell, cell, cell];
};

// Of the patch with the largest vector the pixels, and the row of numbers that they become.
export function enlarged(scene, stack, [x, y, side], [left, top, wide, pitch]) {
  const { image, embeddings, tokens } = stack;
  const sizes = tokens.map((_, i) => (i ? Math.hypot(...rowOf(embeddings, i)) : 0));
  const row = sizes.indexOf(Math.max(...sizes));
  const [pixels, below] = [image.rows / image.along, y + side + 40];
  scene.note(`patch “${tokens[row]}”`, x, below - 26);
  scene.note(`${pixels} × ${pixels} pixels → ${embeddings.width} numbers`, x, below - 10, "left", left - x - 36);
  scene.paint((p) => {
    heat(p, [x, y, side], stack, null, 0, row);
    p.grey(image, ...cellOf([0, 0, image.rows], image, row), x, below, side, side);
    p.seams(pixels, pixels, x, below, side / pixels);
    p.frame(x, below, side, side, p.theme.key, 3);
    const at = top + (row + 0.5) * pitch;
    p.straight(x + side, below + side / 2, left - 40, at, { color: p.theme.key, width: 2, arrow: true });
    p.frame(left - 2, at - pitch / 2 - 1, wide + 4, pitch + 2, p.theme.key, 2);
  });
}

// The patches leave the picture for their rows, one after the other.
export function cutOut({ image, n, pitch, y }, place, right) {
  const size = Math.max(4, Math.min(pitch - 1, 26));
  const work = (p, t) => {
    p.box(right - 27, y(0) + pitch / 2, 28, (n - 1) * pitch, { fill: p.theme.paper, radius: 0 });
    for (let row = 1; row < n; row++) {
      const [from, to] = [cellOf(place, image, row), [right - size, y(row) - size / 2, size, size]];
      const k = own(0.9 * t, row, n);
      const now = from.map((a, i) => a + (to[i] - a) * k);
      if (k) p.grey(image, ...cellOf([0, 0, image.rows], image, row), ...now);
    }
  };
  return Object.assign(work, { open: true });
}

// Every patch of the picture can be pressed.
export function patchButtons(scene, place, { image, tokens }, where, act, tip) {
  tokens.slice(1).forEach((token, i) => {
    const said = [`patch ${token}: row ${Math.floor(i / image.along) + 1}, column ${(i % image.along) + 1}`, tip];
    scene.button(cellOf(place, image, i + 1), `Patch ${token} ${where}`, act(i + 1), said);
  });
}

// The picture, pale enough for blue to be seen on black too, and over it how much a row takes from
// each patch. The row's own patch is framed, and so is a key's.
export function heat(p, [x, y, side], { image, n, left }, weights, row, key = 0) {
  const { context, theme } = p;
  const cell = side / image.along;
  p.grey(image, 0, 0, image.cols, image.rows, x, y, side, side);
  context.globalAlpha = weights || row ? 0.62 : 0;
  p.box(x, y, side, side, { fill: theme.paper, radius: 0 });
  const shares = Array.from({ length: n - 1 }, (_, i) => (weights ? Math.max(0, valueAt(weights, row, i + 1)) : 0));
  const most = Math.max(...shares) || 1;
  const at = (i) => cellOf([x, y, side], image, i);
  shares.forEach((share, i) => {
    context.globalAlpha = (0.9 * share) / most;
    p.box(...at(i + 1), { fill: theme.query, radius: 0 });
  });
  context.globalAlpha = 1;
  if (cell > 10) p.seams(image.along, image.along, x, y, cell);
  for (const patch of left) {
    const [a, b, w] = at(patch);
    p.box(a, b, w, w, { fill: theme.masked, radius: 0 });
    for (const down of [0, w]) p.straight(a, b + down, a + w, b + w - down, { color: theme.key, width: w / 14 });
  }
  p.box(x - 0.5, y - 0.5, side + 1, side + 1, { edge: theme.edge, radius: 1 });
  if (key) p.frame(...at(key), theme.key, 3);
  if (row) p.frame(...at(row), theme.ink, cell > 10 ? 3 : 2);
}

// What the answer would be after each layer, and below it a line: how likely the picture's label is there,
// or the final answer. On a phone a list. Against the label, if there is one, each is right or wrong.
export function verdicts(scene, { guesses, choices, reads, right, entire, candidates }, { blocks, layers }, m) {
  const { is } = choices[reads] || {};
  const marked = (token) => (is ? `${token === is ? "✓" : "✗"} ${token}` : token);
  const [, { x, top }] = blocks;
  // As large as all classes have room, best on one line; else the last word is on a second one.
  const fits = (words, size) => 1.12 * textWidth(words, size) < m.module - 9;
  const broken = (token, size) => (fits(marked(token), size) ? [marked(token)] : marked(token).split(/ (?=\S+$)/));
  const all = (size) => candidates[0].flatMap(([token]) => (size > 15 ? [marked(token)] : broken(token, size)));
  const size = [20, 17, 16, 15, 14, 13].find((size) => all(size).every((words) => fits(words, size))) || 12;
  const lines = guesses.map(([token]) => broken(token, size));
  const [base, first] = [top - 42, size];
  const high = base - first - 5 - size * Math.max(...lines.map((each) => each.length));
  const points = guesses.map(([, share], i) => [layers[i].out + 3, base - high * share]);
  const list = m.side + 54;
  // From 0 to 100%.
  const ends = (p) =>
    [0, 1].forEach((share) =>
      p.straight(x, base - high * share, points.at(-1)[0] + 6, base - high * share, { color: p.theme.lane, width: 1 }),
    );
  if (!m.narrow) scene.paint(ends);
  const [from, y, align] = m.narrow ? [8, list - 37, "left"] : [x - 14, first, "right"];
  const room = m.narrow ? scene.width - 16 : from;
  scene.label(fitting(["The answer after each layer", "After each layer"], room, 14), from, y, { size: 14, align });
  const key = `${m.narrow ? "bar" : "line"}: probability of “${right}”${m.narrow ? "" : ", 0 to 100%"}`;
  const whole = entire && `${m.narrow ? "tick" : "○"}: all patches`;
  const said = [is && !(entire && m.narrow) && "✓ right, ✗ wrong", key, whole].filter(Boolean);
  const below = m.narrow ? [said.join("; ")] : said;
  below.forEach((line, i) =>
    scene.note(
      fitting(
        [
          line,
          line.replace("probability", "p"),
          line.replace(/probability|, 0 to 100%/g, (one) => (one[0] === "p" ? "p" : "")),
        ],
        room,
      ),
      from,
      y + 18 + 16 * i,
      align,
    ),
  );
  if (m.narrow) scene.part("verdicts", 0, list - 46, scene.width - 2, 20 * guesses.length + 45);
  const half = 0.56 * Math.max(...lines.at(-1).map((line) => textWidth(line, size))) + 10;
  if (!m.narrow) scene.part("verdicts", x - 2, 2, points.at(-1)[0] - x + Math.max(26, half), top - 22);
  guesses.forEach(([token, share], i) => {
    const row = [layers[i].out, blocks[i + 1].top, layers[i].end - layers[i].out, m.pitch];
    scene.part("verdicts", ...row);
    scene.top(row, (p, lit, veil) => {
      if (!lit && veil === "paper") return;
      const tint = (color) => (lit ? p.theme[color] : p.theme.field);
      const color = tint(!is ? "ink" : token === is ? "value" : "bad");
      const style = { size, weight: 650, color, align: "center" };
      if (m.narrow) {
        const [y, bar] = [list + 20 * i, scene.width - 212];
        p.text(`layer ${i + 1}`, 8, y, { size: 12, color: p.theme.muted });
        p.text(marked(token), 56, y, { ...style, size: 14, align: "left", most: 102 });
        p.box(162, y - 4, bar, 8, { fill: p.theme.masked, radius: 4 });
        p.box(162, y - 4, bar * share, 8, { fill: tint("muted"), radius: 4 });
        if (entire) p.box(161 + bar * entire.guesses[i][1], y - 7, 2, 14, { fill: tint("key") });
        p.text(brief(share), scene.width - 10, y, { size: 13, align: "right" });
        return p.text(`→ ${marked(token)}`, x + 56, row[1] - 12, { ...style, size: 12, align: "left" });
      }
      const [[from, start], [to, y]] = [points[i - 1] || points[i], points[i]];
      if (i) p.straight(from, start, to, y, { color: tint("muted"), width: 3 });
      p.box(to - 4, y - 4, 8, 8, { fill: tint("muted"), radius: 4 });
      if (entire)
        p.box(to - 5, base - high * entire.guesses[i][1] - 5, 10, 10, { edge: tint("key"), line: 2, radius: 5 });
      lines[i].forEach((line, down) => p.text(line, to, first + size * down, style));
      p.text(brief(share), to, base + 12, { ...style, size: 13, color: tint("ink") });
    });
  });
}

// One patch as a small picture that ends at `right`, at the height of its row. The class token has
// none: its name stands left of theirs, where none lies over it.
export function patchRow(scene, { image, tokens }, row, right, y, pitch) {
  if (!row)
    return scene.top([right - 1, y, 2, 1], (p, lit, veil) => {
      const color = lit ? p.theme.ink : veil === "paper" ? p.theme.paper : p.theme.field;
      p.text(tokens[0], right - Math.min(pitch - 1, 26) - 4, y, { size: 12, align: "right", color });
    });
  const size = Math.max(4, Math.min(pitch - 1, 26));
  const patch = cellOf([0, 0, image.rows], image, row);
  scene.paint((p) => p.grey(image, ...patch, right - size, y - size / 2, size, size));
}
