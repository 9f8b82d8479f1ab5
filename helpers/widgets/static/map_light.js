// The map, light: which parts of a scene stay in full colour while the rest is dimmed.

import { followed } from "./map_flow.js";

// What a lesson builds may be several parts of the picture.
const TOGETHER = {
  "multi-head": ["self-attention", "masked-self-attention", "cross-attention"],
  "self-attention": ["self-attention"],
  decoding: ["output", "decoder"],
  loss: ["output"],
};

export function lightOf(view) {
  return { ...litOf(view), marks: view.place ? null : marksOf(view) };
}

const rectsOf = (scene, part) => (TOGETHER[part] || [part]).flatMap((name) => scene.parts[name] || []);

// Parts that the learner wrote: framed, with a tick.
function marksOf({ scene, model }) {
  const rects = model.get("yours").flatMap((part) => rectsOf(scene, part));
  return (p) => rects.forEach(([x, y, w, h]) => {
    p.box(x, y, w, h, { edge: p.theme.good, line: 2, radius: 4 });
    p.tick(x + w - 1, y + 1);
  });
}

function litOf(view) {
  const { scene, trace } = view;
  if (view.beat >= 0 && scene.beats.length) return { lit: revealed(scene, view.beat, view.progress), flows: null };
  const stop = view.tour[view.stop];
  if (view.follow && !view.place) {
    const { lit, paint } = followed(scene, trace, view.follow);
    return { lit, flows: paint };
  }
  const parts = stop ? stop.parts : view.here && !view.place ? [view.here] : [];
  const lit = (parts || []).flatMap((part) => rectsOf(scene, part));
  return { lit: lit.length ? lit : null, flows: null };
}

// Beats before this one in full, this one as far as it has come.
function revealed(scene, beat, progress = 1) {
  const before = scene.beats.slice(0, beat).flatMap(({ rects }) => rects);
  const { rects, now: also = [] } = scene.beats[Math.min(beat, scene.beats.length - 1)];
  const eased = progress < 1 ? 1 - (1 - progress) ** 2 : 1;
  const total = rects.reduce((sum, rect) => sum + rect[2], 0);
  let left = total * eased;
  const now = [];
  for (const [x, y, w, h] of rects) {
    if (left <= 0) break;
    now.push([x, y, Math.min(w, left), h]);
    left -= w;
  }
  return progress < 1 ? [...before, ...now] : [...before, ...now, ...also];
}
