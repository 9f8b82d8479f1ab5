// The map, the picture that a ViT reads: cut into patches, and each patch beside its own row.

import { fitting } from "./text.js";

// The picture with its seams, in the column of the tokens' names, for the last layer, and below it a
// small one per layer. Where they lie, each with its layer, is left in the scene.
export function picture(scene, stack, top, { side, narrow }) {
  const { image, layers, tokens } = stack;
  const { along } = image;
  const muted = { size: 12, color: "muted" };
  const small = (side - 24) / 4;
  scene.pictures = [[[0, top, side, side], layers.length - 1]];
  layers.forEach((_, i) => {
    if (narrow) return;
    const [x, y] = [(i % 4) * (small + 8), top + side + 46 + Math.floor(i / 4) * (small + 24)];
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
  scene.label(fitting([`${patches} of ${pixels} × ${pixels} pixels`, patches], side), 0, top + side + 14, muted);
  const blue = (p, words) => p.text(fitting(words, side), 0, top + side + 30, { size: 12, color: p.theme.query });
  const layer = `layer ${layers.length}`;
  scene.saysOf = (p, token) => blue(p, [`blue: what ${token} takes, ${layer}`, `blue: ${layer}`]);
  scene.part("embeddings", 0, top, side, side);
  const cell = side / along;
  tokens.slice(1).forEach((token, i) => {
    const rect = [(i % along) * cell, top + Math.floor(i / along) * cell, cell, cell];
    scene.button(rect, `Patch ${token} in the picture`, { follow: `${stack.name}:${i + 1}` }, [
      `patch ${token}: row, column`,
      "click to follow it",
    ]);
  });
}

// One patch as a small picture that ends at `right`, at the height of its row.
export function patchRow(scene, stack, row, right, y, pitch) {
  const { image } = stack;
  const patch = image.rows / image.along;
  const [down, along] = [Math.floor((row - 1) / image.along), (row - 1) % image.along];
  const size = Math.max(4, Math.min(pitch - 1, 26));
  scene.paint((p) => p.grey(image, along * patch, down * patch, patch, patch, right - size, y - size / 2, size, size));
}

// The class token has no patch: its name stands left of theirs, where none lies over it.
export function classRow(scene, stack, row, right, y, pitch) {
  scene.paint((p) => p.text(stack.tokens[row], right - Math.min(pitch - 1, 26) - 4, y, { size: 12, align: "right" }));
}
