// The map, a scene: what one depth consists of. It is painted, pointed at, lit in parts and played.

import { entryOf, valueAt } from "./map_trace.js";
import { textWidth } from "./text.js";

// Below this width, in pixels, parts stand below each other.
export const NARROW = 540;
// Below this one, rows are high enough for a finger, and the picture scrolls in a frame.
export const SLIM = 900;
export const FINGER = 24;

export class Scene {
  constructor(width, height, title) {
    Object.assign(this, { width, height, title });
    Object.assign(this, { painters: [], labels: [], tops: [], targets: [], parts: {}, beats: [] });
  }

  // Painted under the veil that dims what is not lit; labels stay above it.
  paint(work) {
    this.painters.push(work);
  }
  label(words, x, y, style = {}) {
    this.labels.push((p) => p.text(words, x, y, { ...style, color: style.color ? p.theme[style.color] : p.theme.ink }));
  }

  // The same scene for what belongs to a part: until a step shows this one, it isn't there.
  besides(rect) {
    const draws = (work) => this.top(rect, (p, lit, veil) => (lit || veil !== "paper") && work(p));
    const label = (words, x, y, { color = "ink", ...style } = {}) =>
      draws((p) => p.text(words, x, y, { ...style, color: p.theme[color] }));
    return Object.assign(Object.create(this), { draws, label });
  }

  // A small word beside what is seen.
  note(words, x, y, align = "left", most = Infinity, size = 12) {
    this.label(words, x, y, { size, color: "muted", align, most });
  }

  // A heading and, if there is room, what it means.
  heading(words, more, x, y, room) {
    this.label(words, x, y, { size: 14, weight: 650, most: room });
    const used = 1.14 * textWidth(words, 14) + 14;
    if (used + textWidth(more, 13) < room) this.label(more, x + used, y, { size: 13, color: "muted" });
  }

  // Above the veil: work(paint, lit, veil) is told whether any of `rect` is lit, so that nothing is half.
  top(rect, work) {
    this.tops.push({ rect, work });
  }

  // A named part: what `here` and the tour light.
  part(names, ...rect) {
    for (const name of [names].flat()) (this.parts[name] ||= []).push(rect);
  }

  // Something to press: it opens a place, or lets a token be followed.
  button(rect, name, act, tip = []) {
    this.targets.push({ rect, name, ...act, tip: () => tip });
  }

  // The same in a frame of its own, with words on it.
  pill(words, x, y, wide, name, act, tip) {
    this.paint((p) => {
      p.box(x, y, wide, 24, { fill: p.theme.paper, edge: p.theme.query, radius: 12 });
      p.text(words, x + wide / 2, y + 12.5, { size: 12, weight: 600, align: "center", color: p.theme.query });
    });
    this.button([x - 1, y, wide, 24], name, act, tip);
  }

  // A matrix on the page: its cells can be pointed at and walked through.
  grid(rect, one, name, tell, open = null, rows = one.rows) {
    this.targets.push({ rect, name, one, rows, cols: one.cols, grid: true, tell, open });
  }

  // Vectors below each other: whose they are, and what an entry's words say behind its token.
  vectors(rect, one, tokens, [whose, what], open = null, rows = one.rows) {
    this.grid(rect, one, `${whose}: ${nVectors(rows)}`, tellVector(tokens, what), open, rows);
  }

  // Both for the pointer alone: what they tell can be reached by keys a level deeper.
  peek(rect, one, name, tell, more) {
    this.targets.push({ rect, name, one, rows: one.rows, cols: one.cols, grid: true, tell, pointer: true, ...more });
  }
  spot(rect, name, tip) {
    this.targets.push({ rect, name, tip: () => tip, pointer: true });
  }

  // The addition of a residual connection, with a word on what it does.
  plus(x, y, size, name) {
    this.top([x - 1, y - 1, 2, 2], (p, lit) => p.plus(x, y, size, lit ? p.theme.muted : p.theme.lane));
    this.spot(
      [x - size - 1, y - size - 1, 2 * size + 2, 2 * size + 2],
      `Addition after ${name}, ${Math.round(x)}, ${Math.round(y)}`,
      [`⊕ adds what ${name} found`, "to the vector that ran past it", "(a residual connection)"],
    );
  }

  // One moment of playing: what it says, and what it reveals from left to right.
  beat(words, ...rects) {
    return this.beats[this.beats.push({ words, rects, moves: [] }) - 1];
  }

  // What moves while the last beat is shown: works of map_moves.js, all at once.
  moves(...works) {
    this.beats[this.beats.length - 1].moves.push(...works);
  }

  // Everything at a point, the smallest first.
  targetsAt(x, y) {
    const hit = ({ rect: [left, top, w, h] }) => x >= left && x < left + w && y >= top && y < top + h;
    return this.targets.filter(hit).sort((a, b) => area(a) - area(b));
  }
}

const area = ({ rect }) => rect[2] * rect[3];

export function cellAt({ rect: [x, y, w, h], rows, cols }, px, py) {
  const row = Math.min(rows - 1, Math.max(0, Math.floor(((py - y) / h) * rows)));
  const col = Math.min(cols - 1, Math.max(0, Math.floor(((px - x) / w) * cols)));
  return [row, col];
}

export function cellRect({ rect: [x, y, w, h], rows, cols }, [row, col]) {
  return [x + (col * w) / cols, y + (row * h) / rows, w / cols, h / rows];
}

// ---- words for what is pointed at ------------------------------------------------------------

export const number = (value, n = 2) => {
  const text = Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(n);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
};
// Only a softmax over a single token reaches 1.
export const percent = (share) => {
  if (share >= 0.99999) return "100%";
  if (share >= 0.9995) return "over 99.9%";
  if (share < 0.0005) return "under 0.1%";
  return `${(100 * share).toFixed(share < 0.1 || share >= 0.995 ? 1 : 0)}%`;
};
export const brief = (share) => percent(share).replace("under ", "<").replace("over ", ">");

export const nVectors = (n) => `${n} vector${n === 1 ? "" : "s"}`;

// Words for an entry of a vector: its token, which entry it is, the number.
export const tellVector = (tokens, what) => (one, row, col) => [
  `“${tokens[row]}” ${what}`,
  `entry ${entryOf(one, col) + 1}: ${number(valueAt(one, row, col))}`,
];
