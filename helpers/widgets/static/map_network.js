// The map, inside a layer: the feed-forward network, each token widened and narrowed again alone.

import { nVectors, tellVector } from "./map_scene.js";
import { entryOf, rowOf, valueAt } from "./map_trace.js";

export function hidden(scene, model, g, sublayer, x, wide, tokens) {
  const one = sublayer.hidden;
  const slope = wide * 0.14;
  scene.paint((p) => {
    p.context.fillStyle = p.theme.edge;
    // Each token's vector goes through alone.
    for (let row = 0; row < one.rows; row++)
      p.context.fill(p.outline(x, g.y(row) - g.pitch * 0.43, wide, g.pitch * 0.86, slope, g.pitch * 0.13));
    p.strips(one, x + slope, g.top, wide - 2 * slope, g.pitch, { height: g.pitch * 0.86 });
  });
  const inside = g.inside(sublayer, "neurons", "neuron");
  const dark = (m, row) => rowOf(m, row).filter((value) => value <= 0).length;
  const width = one.cols < one.width ? `${one.cols} of ${one.width}` : `${one.width} wide`;
  const low = g.bottom + (g.strip < 34 ? 26 : 12);
  if (g.strip >= 20) scene.note(width, x + wide / 2, low, "center", wide + 2 * g.gap);
  scene.grid(
    [x + slope, g.top, wide - 2 * slope, g.bottom - g.top],
    one,
    `Inside the feed-forward network: ${nVectors(one.rows)}`,
    (m, row, col) =>
      [
        ...tellVector(tokens, "inside the feed-forward network")(m, row, col),
        model.activation === "ReLU" ? `ReLU has set ${dark(m, row)} of the ${m.cols} shown to 0` : "",
        inside ? `click to see ${valueAt(m, row, col) > 0 ? "this neuron" : "the nearest neuron that lights up"}` : "",
      ].filter(Boolean),
    inside ? (...cell) => `${inside}/${lightsUp(one, ...cell)}` : null,
  );
}

// The neuron to open and its token: the one pressed; where that one is dark, the nearest that this
// token lights up, with the token that lights it most.
export function lightsUp(one, row, col) {
  if (valueAt(one, row, col) > 0) return `${entryOf(one, col)},${row}`;
  const lit = Array.from({ length: one.cols }, (_, c) => c).filter((c) => valueAt(one, row, c) > 0);
  if (!lit.length) return `${entryOf(one, col)},${row}`;
  const found = lit.reduce((a, b) => (Math.abs(b - col) < Math.abs(a - col) ? b : a));
  const column = Array.from({ length: one.rows }, (_, r) => valueAt(one, r, found));
  return `${entryOf(one, found)},${column.indexOf(Math.max(...column))}`;
}
