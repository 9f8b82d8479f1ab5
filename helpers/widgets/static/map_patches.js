// The map, the picture that a ViT reads: cut into patches, and each patch beside its own row.

import { valueAt } from "./map_trace.js";
import { fitting } from "./text.js";

// The picture with its seams, in the column of the tokens' names, for the last layer, and below it a
// small one per layer. Where they lie, each with its layer, is left in the scene.
export function picture(scene, stack, top, { side, narrow }) {
  const { image, layers } = stack;
  const { along } = image;
  const muted = { size: 12, color: "muted" };
  const small = (side - 24) / 4;
  scene.pictures = [[[0, top, side, side], layers.length - 1]];
  layers.forEach((_, i) => {
    if (narrow) return;
    const [x, y] = [(i % 4) * (small + 8), top + side + 58 + Math.floor(i / 4) * (small + 24)];
    scene.height = Math.max(scene.height, y + small + 22);
    scene.pictures.push([[x, y, small, small], i]);
    scene.label(fitting([`layer ${i + 1}`, `${i + 1}`], small + 4, 12), x + small / 2, y + small + 9, {
      ...muted,
      align: "center",
    });
    scene.button([x, y, small, small + 16], `Layer ${i + 1} on the picture: open it`, { go: `${stack.name}/${i}` });
  });
  scene.paint((p) => {
    for (const [[x, y, size]] of scene.pictures) {
      p.grey(image, 0, 0, image.cols, image.rows, x, y, size, size);
      if (!x && y === top) p.seams(along, along, x, y, size / along);
      p.box(x - 0.5, y - 0.5, size + 1, size + 1, { edge: p.theme.edge, radius: 1 });
    }
  });
  const [pixels, patches] = [image.rows / along, `${along ** 2} patches`];
  scene.label(fitting([`${patches} of ${pixels} × ${pixels} pixels`, patches], side), 0, top + side + 13, muted);
  scene.label(fitting(["“4,3” is row 4, column 3", "4,3: row, column"], side), 0, top + side + 28, muted);
  const blue = (p, words) => p.text(fitting(words, side), 0, top + side + 43, { size: 12, color: p.theme.query });
  const layer = `layer ${layers.length}`;
  scene.saysOf = (p, token) => blue(p, [`blue: what ${token} takes, ${layer}`, `blue: ${layer}`]);
  scene.part("embeddings", 0, top, side, side);
  const follow = (row) => ({ follow: `${stack.name}:${row}` });
  patchButtons(scene, [0, top, side], stack, "in the picture", follow, "click to follow it");
}

// Every patch of the picture can be pressed.
export function patchButtons(scene, [x, y, side], { image: { along }, tokens }, where, act, tip) {
  const cell = side / along;
  tokens.slice(1).forEach((token, i) => {
    const [down, right] = [Math.floor(i / along), i % along];
    const said = [`patch ${token}: row ${down + 1}, column ${right + 1}`, tip];
    scene.button([x + right * cell, y + down * cell, cell, cell], `Patch ${token} ${where}`, act(i + 1), said);
  });
}

// The picture, pale enough for blue to be seen on black too, and over it how much a row takes from
// each patch. The row's own patch is framed, and so is a key's.
export function heat(p, [x, y, side], { image, n }, weights, row, key = 0) {
  const { context, theme } = p;
  const cell = side / image.along;
  p.grey(image, 0, 0, image.cols, image.rows, x, y, side, side);
  context.globalAlpha = 0.62;
  p.box(x, y, side, side, { fill: theme.paper, radius: 0 });
  const shares = Array.from({ length: n - 1 }, (_, i) => (weights ? Math.max(0, valueAt(weights, row, i + 1)) : 0));
  const most = Math.max(...shares) || 1;
  const at = (i) => [x + ((i - 1) % image.along) * cell, y + Math.floor((i - 1) / image.along) * cell, cell, cell];
  shares.forEach((share, i) => {
    context.globalAlpha = (0.9 * share) / most;
    p.box(...at(i + 1), { fill: theme.query, radius: 0 });
  });
  context.globalAlpha = 1;
  if (cell > 10) p.seams(image.along, image.along, x, y, cell);
  p.box(x - 0.5, y - 0.5, side + 1, side + 1, { edge: theme.edge, radius: 1 });
  if (key) p.frame(...at(key), theme.key, 3);
  if (row) p.frame(...at(row), theme.ink, cell > 10 ? 3 : 2);
}

// One patch as a small picture that ends at `right`, at the height of its row. The class token has
// none: its name stands left of theirs, where none lies over it.
export function patchRow(scene, { image, tokens }, row, right, y, pitch) {
  const name = [tokens[0], right - Math.min(pitch - 1, 26) - 4, y, { size: 12, align: "right" }];
  if (!row) return scene.paint((p) => p.text(...name));
  const patch = image.rows / image.along;
  const [down, along] = [Math.floor((row - 1) / image.along), (row - 1) % image.along];
  const size = Math.max(4, Math.min(pitch - 1, 26));
  scene.paint((p) => p.grey(image, along * patch, down * patch, patch, patch, right - size, y - size / 2, size, size));
}
