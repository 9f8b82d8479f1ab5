// The map, what moves while a step is shown: vectors travel, bars change, a query meets its keys. A
// work gets the painter and how far the step has come, 0 to 1; at rest the picture stands alone.

import { rgb } from "./colour.js";
import { entryOf } from "./map_trace.js";
import { clamp } from "./text.js";

export const ease = (t) => t * t * (3 - 2 * t);
const mix = (a, b, t) => a + (b - a) * t;
// How far one of n is on its way, when they start one after the other.
export const own = (t, i, n) => ease(clamp(2 * t - i / n, 0, 1));

// A point on a path with corners.
export function along(points, t) {
  const long = points.slice(1).map(([x, y], i) => Math.hypot(x - points[i][0], y - points[i][1]));
  let left = t * long.reduce((a, b) => a + b, 0);
  for (let i = 0; i < long.length; i++) {
    if (left <= long[i] || i === long.length - 1)
      return points[i].map((value, k) => mix(value, points[i + 1][k], long[i] ? Math.min(1, left / long[i]) : 1));
    left -= long[i];
  }
  return points[0];
}

// Vectors, one a row, travel from column to column; `wide` is their width at both ends.
export const travel = (one, xs, wide, top, pitch, rows) => (p, t) => {
  const ends = xs.map((x, i) => [x, wide[i]]);
  const [x, width] = along(ends, ease(t));
  p.strips(one, x, top, Math.max(2, width), pitch, { rows });
};

// Bars of one row become those of another: `a` and `b` are { values, middle, unit }.
export const becomes = (a, b, x, wide) => (p, t) => {
  const cell = wide / a.values.length;
  a.values.forEach((from, i) => {
    const k = own(t, i, a.values.length);
    const [middle, high] = [mix(a.middle, b.middle, k), mix(from * a.unit, b.values[i] * b.unit, k)];
    const look = { fill: rgb(p.theme.signed[high < 0 ? 40 : 216]), radius: 1 };
    p.box(x + i * cell, middle - Math.max(0, high), Math.max(1, cell - 1), Math.max(0.5, Math.abs(high)), look);
  });
};

// The rows of a matrix go to another place, one after the other.
export const rowsGo =
  (one, [x, y, w, h], [x1, y1, w1, h1]) =>
  (p, t) => {
    for (let r = 0; r < one.rows; r++) {
      const k = own(t, r, one.rows);
      const top = mix(y + (r * h) / one.rows, y1 + (r * h1) / one.rows, k);
      p.row(one, r, mix(x, x1, k), top, mix(w, w1, k), mix(h, h1, k) / one.rows);
    }
  };

// Row by row, a query goes from key to key: `marks` frames what a pair stands for.
export function sweeps(rows, cols, marks) {
  const work = (p, t) => {
    const at = Math.min(rows * cols - 1, Math.floor(t * rows * cols));
    marks(p, [Math.floor(at / cols), at % cols]);
  };
  return Object.assign(work, { open: true });
}

// Values fall into a row of the mixture, each as visible as its weight.
export const mixes =
  ({ weights, v }, [x, y, w, h], [x1, y1, w1, h1]) =>
  (p, t) => {
    const at = t * weights.rows * 0.999;
    const [row, k] = [Math.floor(at), ease(at % 1)];
    const { context } = p;
    for (let s = 0; s < v.rows; s++) {
      context.globalAlpha = Math.min(1, 2 * weights.data[row * weights.cols + s]);
      const top = mix(y + (s * h) / v.rows, y1 + (row * h1) / weights.rows, k);
      p.row(v, s, mix(x, x1, k), top, mix(w, w1, k), mix(h / v.rows, h1 / weights.rows, k));
    }
    context.globalAlpha = 1;
  };

// A disc on a path: what runs past a sublayer.
export const runs = (points) => (p, t) => {
  const [x, y] = along(points, ease(t));
  p.box(x - 6, y - 6, 12, 12, { fill: p.theme.query, radius: 6 });
};

// A state after the other: the forward half from above, the backward half from below.
export function bothWays(states, { x: [x], part, top, pitch }) {
  const cols = Array.from({ length: states.cols }, (_, col) => col);
  const split = (part * cols.filter((col) => entryOf(states, col) < states.width / 2).length) / states.cols;
  const work = (p, t) => {
    const left = (states.rows - Math.floor(t * (states.rows + 1))) * pitch;
    if (left <= 0) return;
    p.box(x, top + states.rows * pitch - left, split, left, { fill: p.theme.paper, radius: 0 });
    p.box(x + split, top, part - split, left, { fill: p.theme.paper, radius: 0 });
  };
  return Object.assign(work, { open: true });
}
