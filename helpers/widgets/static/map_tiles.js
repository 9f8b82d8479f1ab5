// The map, the heads of a layer as small squares: each cell can be pointed at.

import { memoryName, nameAt } from "./map_named.js";
import { heat } from "./map_patches.js";
import { percent } from "./map_scene.js";
import { bluest, purposeOf } from "./map_purpose.js";
import { KINDS, valueAt } from "./map_trace.js";
import { clamp } from "./text.js";

// As few columns of tiles as keep them nearly as large as can be.
export function tileGrid(heads, width, height) {
  const gap = heads > 6 ? 2 : 4;
  const grids = Array.from({ length: heads }, (_, i) => {
    const [cols, down] = [i + 1, Math.ceil(heads / (i + 1))];
    const size = Math.max(1, Math.min((width - (cols - 1) * gap) / cols, (height - (down - 1) * gap) / down));
    return { cols, down, size, gap, width: cols * size + (cols - 1) * gap };
  });
  const largest = Math.max(...grids.map(({ size }) => size));
  return grids.find(({ size }) => size >= 0.8 * largest);
}

// Every head's map, small.
export function tiles(scene, model, stack, sublayer, place, [x, y, width, height], rows, grid) {
  const { cols, down, size, gap, width: wide } = grid;
  const left = x + (width - wide) / 2;
  const step = down > 1 ? clamp((height - down * size) / (down - 1), gap, 14) : 0;
  const top = y + (height - down * size - (down - 1) * step) / 2;
  const tile = (h) => [left + (h % cols) * (size + gap), top + Math.floor(h / cols) * (size + step), size, size];
  sublayer.tiles = sublayer.heads.map((_, h) => tile(h));
  const shown = sublayer.kind === "self-attention" ? sublayer.heads[0].q.rows : rows;
  const cross = sublayer.kind === "cross-attention";
  const source = cross ? model.encoder : stack;
  sublayer.heads.forEach((head, h) => {
    const name = `${stack.title} layer ${place + 1}: ${KINDS[sublayer.kind].toLowerCase()}, head ${h + 1}`;
    const go = `${stack.name}/${place}/${sublayer.kind}/${h}`;
    const does = () => purposeOf(sublayer, h, stack, source.tokens, shown).words;
    const tell = tellCell(name, stack.tokens, source.tokens, head, does, "click to open it");
    const marks = (p, [row, key]) => {
      if (!head.allowed(row, key)) return;
      const share = valueAt(head.weights, row, key);
      nameAt(p, scene, stack, row, { color: p.theme.query });
      nameAt(p, scene, source, key, { share: cross ? null : share, color: cross ? p.theme.key : p.theme.query });
      if (cross) memoryName(p, scene, source, key, share);
    };
    const [left, top, side] = sublayer.tiles[h];
    if (stack.image) {
      const { query } = scene.measures;
      const tip = [name, bluest(head, stack, query).words, "click to open it"];
      scene.button(sublayer.tiles[h], `${name}: open it`, { go }, tip);
      return scene.paint((p) => heat(p, [left, top, side], stack, head.weights, query));
    }
    scene.paint((p) => p.matrix(head.weights, left, top, side, side, { rows: shown }));
    const high = (side * shown) / head.q.rows;
    scene.peek([left, top, side, high], head.weights, name, tell, { marks, rows: shown, go });
  });
}

// Words for a cell of a head's square: who attends to whom, and how much.
export const tellCell = (name, queries, keys, head, does, go) => (_one, row, key) => {
  const share = head.allowed(row, key) ? percent(valueAt(head.weights, row, key)) : "masked out";
  return [`“${queries[row]}” to “${keys[key]}”: ${share}`, name, `on average a row ${does()}`, go];
};
