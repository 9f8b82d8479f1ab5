// The map, the picture that a ViT reads: cut into patches, and each patch beside its own row.

// The picture with its seams, in the column of the tokens' names; where it lies is returned.
export function picture(scene, stack, top, side) {
  const { image } = stack;
  scene.paint((p) => {
    p.grey(image, 0, 0, image.cols, image.rows, 0, top, side, side);
    p.seams(image.along, image.along, 0, top, side / image.along);
    p.box(-0.5, top - 0.5, side + 1, side + 1, { edge: p.theme.edge, radius: 1 });
  });
  const pixels = image.rows / image.along;
  scene.label(`${image.along ** 2} patches of`, 0, top + side + 14, { size: 12, color: "muted" });
  scene.label(`${pixels} × ${pixels} pixels`, 0, top + side + 30, { size: 12, color: "muted" });
  scene.part("embeddings", 0, top, side, side);
  const cell = side / image.along;
  stack.tokens.slice(1).forEach((token, i) => {
    const rect = [(i % image.along) * cell, top + Math.floor(i / image.along) * cell, cell, cell];
    scene.button(rect, `Patch ${token} in the picture`, { follow: `${stack.name}:${i + 1}` }, [
      `patch ${token}: row, column`,
      "click to follow it",
    ]);
  });
  return { rect: [0, top, side, side], along: image.along };
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
