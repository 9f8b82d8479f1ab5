// The stage of a film: named shapes, each somewhere between where it was and where it goes.

import { lowered, shape } from "./page.js";

const TAGS = { arrow: "path", line: "polyline" };
const GONE = { opacity: 0 };

export const eased = (share) => (share < 0.5 ? 4 * share ** 3 : 1 - (2 - 2 * share) ** 3 / 2);
export const clamped = (share) => Math.min(1, Math.max(0, share));

const LOWER = { style: "font-size: 75%; baseline-shift: -20%" };

// A colour is a name of the style sheet's, or two of them and how much of the second.
const paint = (colour) => {
  if (!Array.isArray(colour)) return colour === "none" ? "none" : `var(--${colour})`;
  const [from, to, share] = colour;
  return `color-mix(in srgb, var(--${to}) ${(100 * share).toFixed(1)}%, var(--${from}))`;
};

// The state of a shape on its way; what is no number and no colour changes at once. It appears or
// vanishes in its own part of the way, `fade`.
export function between(from, to, share, [since, until] = [0, 1]) {
  const now = { ...to };
  if (share >= 1) return now;
  const seen = from.opacity ?? 1;
  now.opacity = seen + ((to.opacity ?? 1) - seen) * clamped((share - since) / (until - since));
  for (const [key, end] of Object.entries(to)) {
    const start = from[key];
    if (key === "opacity") continue;
    if (key === "points") now.points = end.map((value, i) => value * share + (start?.[i] ?? value) * (1 - share));
    else if ((key === "fill" || key === "stroke") && start && start !== end && start !== "none" && end !== "none")
      now[key] = [start, end, share];
    else if (typeof end === "number" && typeof start === "number") now[key] = start + (end - start) * share;
  }
  return now;
}

// What stands there when a film begins: all of its first scene but what comes from a `start`.
export const standing = (shapes) => Object.fromEntries(Object.entries(shapes).filter(([, shape]) => !shape.start));

// The ways of all shapes from one scene to the next; what is new comes from its `start`, or fades in.
export function waysBetween(before, after) {
  const ways = [];
  const words = []; // those that go are in front, or the boxes that stay would hide them
  for (const [name, shape] of Object.entries(before)) {
    const gone = { from: shape, to: { ...shape, ...GONE }, when: [0, 0.2] }; // before others come
    if (!(name in after)) (shape.kind === "text" ? words : ways).push(gone);
  }
  for (const [name, shape] of Object.entries(after)) {
    const { start, when, ...to } = shape;
    const old = before[name];
    if (!old) {
      const fade = start && (to.opacity === 0 ? [0.7, 1] : [0, 0.1]);
      ways.push({ from: { ...to, ...GONE, ...start }, to, when, fade, born: true });
    } else if (old.text === to.text) ways.push({ from: old, to, when });
    else {
      const was = { ...to, text: old.text, fill: old.fill, bold: old.bold, ...GONE };
      ways.push({ from: old, to: was, when, fade: [0, 0.5] });
      ways.push({ from: { ...old, text: to.text, ...GONE }, to, when, fade: [0.5, 1] });
    }
  }
  return [...ways, ...words];
}

// An arrow lies along the x axis before it is turned.
function arrowPath({ width, head }, length) {
  const tip = Math.min(head, length);
  const [half, side, neck] = [width / 2, (tip * 0.6 * Math.max(head, 1)) / head, length - tip];
  return length < 0.5 ? "" : `M0 ${-half}H${neck}V${-side}L${length} 0L${neck} ${side}V${half}H0Z`;
}

const PUT = {
  arrow(el, s) {
    el.setAttribute("d", arrowPath(s, Math.hypot(s.dx, s.dy)));
    el.setAttribute("transform", `translate(${s.x} ${s.y}) rotate(${(180 / Math.PI) * Math.atan2(s.dy, s.dx)})`);
  },
  line(el, s) {
    el.setAttribute("points", s.points.join(" "));
    el.style.strokeWidth = s.line;
  },
  rect(el, s) {
    for (const key of ["x", "y", "width", "height"]) el.setAttribute(key, Math.max(s[key], key[0] > "h" ? -1e4 : 0));
    if (s.round) el.setAttribute("rx", s.round);
    if (s.tint !== undefined) el.style.fillOpacity = s.tint;
    el.style.strokeWidth = s.line;
  },
  // On a small stage letters stay as large as the page's smallest, and do without bold. Where words
  // are longer than their room even so, they become narrower. Some words stand aslant: they `turn`.
  text(el, s, { least, width }) {
    const size = Math.max(s.size, least);
    el.setAttribute("x", s.x);
    el.setAttribute("y", s.y + 0.35 * (size - s.size)); // about the same middle
    el.setAttribute("transform", `rotate(${s.turn ?? 0} ${s.x} ${s.y})`);
    if (el.said !== s.text)
      el.replaceChildren(...lowered((el.said = s.text), (letter) => shape("tspan", LOWER, letter)));
    el.style.cssText = `font-size: ${size}px; font-weight: ${s.bold && size === s.size ? 700 : 400}; text-anchor: ${s.anchor}`;
    el.removeAttribute("textLength");
    if (size === s.size) return;
    const room = s.room ?? { start: width - s.x, end: s.x, middle: 2 * Math.min(s.x, width - s.x) }[s.anchor] - 4;
    if (el.getComputedTextLength() <= room) return;
    el.setAttribute("textLength", room);
    el.setAttribute("lengthAdjust", "spacingAndGlyphs");
  },
};

function put(el, state, stage) {
  PUT[state.kind](el, state, stage);
  el.style.fill = paint(state.fill);
  el.style.stroke = paint(state.stroke || "none");
  el.style.opacity = state.opacity ?? 1;
}

// Draws moments of a film: scene `index`, and how far its movement has gone. No letter is smaller
// than `least`, in the stage's pixels, of which it is `width` wide.
export class Stage {
  constructor(svg, { scenes, width }) {
    Object.assign(this, { svg, scenes, width, least: 0, shown: -1, ways: [] });
  }
  draw(index, share) {
    if (index !== this.shown) {
      const before = index ? this.scenes[index - 1].shapes : standing(this.scenes[0].shapes);
      this.ways = waysBetween(before, this.scenes[index].shapes);
      for (const way of this.ways) way.el = shape(TAGS[way.to.kind] || way.to.kind);
      this.svg.replaceChildren(...this.ways.map((way) => way.el));
      this.shown = index;
    }
    for (const { el, from, to, fade, born, when = [0, 1] } of this.ways) {
      put(el, between(from, to, eased(clamped((share - when[0]) / (when[1] - when[0]))), fade), this);
      if (born && share <= when[0]) el.style.opacity = 0; // not before its turn
    }
  }
}
