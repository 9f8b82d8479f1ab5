// The map, light: which parts of a scene stay in full colour while the rest is dimmed.

import { followed } from "./map_flow.js";
import { along } from "./map_moves.js";
import { memoryNames } from "./map_named.js";
import { clearestOf } from "./map_purpose.js";
import { clamp } from "./text.js";

// What a lesson builds may be several parts of the picture.
const TOGETHER = {
  decoding: ["output", "decoder"],
  loss: ["output"],
};

export const answered = ({ said, answer }) => Boolean(said) && said === answer;

export function lightOf(view) {
  // What is still to come isn't there yet while it plays.
  const veil = view.plays ? "paper" : "veil";
  // The pair of tokens that the tour follows, or was guessed, or the weight that answers what it asked.
  const { pair = view.guess, beat } = view.tour[view.stop] || {};
  const told = answered(view) && view.place.includes("masked") ? [3, 0, 0] : pair && [beat, ...pair];
  const cell = told && ((p) => p.frame(...view.scene.cell(...told), p.theme.key, 3));
  return { veil, marks: view.place ? cell : marksOf(view), ...litOf(view) };
}

// One head stands for all of them, that with the clearest purpose, and one layer's heads for all layers'.
const ONE = {
  head(view) {
    const { part, h } = clearestOf(view);
    return part.tiles[h];
  },
  "multi-head": ({ scene }) => scene.parts["multi-head"][0],
};
const rectsOf = (view, part) =>
  ONE[part] ? [ONE[part](view)] : (TOGETHER[part] || [part]).flatMap((name) => view.scene.parts[name] || []);

// Parts that the learner wrote: framed, with a tick. Also framed: where to begin, and the head that
// a step of the tour speaks of.
function marksOf(view) {
  const { scene, model, fresh } = view;
  const all = (part) => (part === "multi-head" ? scene.parts[part] : rectsOf(view, part));
  const rects = model.get("yours").flatMap(all);
  const start = scene.parts.verdicts?.[0] || scene.start;
  const framed = fresh && start ? [[start, "query"]] : [];
  for (const tile of framedOf(view) || []) framed.push([tile, "key"]);
  return (p) => {
    for (const [[x, y, w, h], color] of framed) p.box(x, y, w, h, { edge: p.theme[color], line: 3, radius: 5 });
    rects.forEach(([x, y, w, h]) => {
      p.box(x, y, w, h, { edge: p.theme.value, line: 2, radius: 4 });
      p.tick(x + w - 1, y + 1);
    });
  };
}

// The head that a step of the tour speaks of, or the one, or the layer's, that a lesson builds.
export function framedOf(view) {
  const { habit, parts = [] } = view.tour[view.stop] || {};
  const told = view.stop < 0 ? !view.plays && view.here : habit ? "head" : parts[0];
  return ONE[told] && !view.place ? [ONE[told](view)] : null;
}

function litOf(view) {
  const { scene, trace, place } = view;
  if (view.plays && scene.beats.length) return playedTo(view);
  const { go, part, rows } = view.wrote || {};
  if (part && go === place && scene.rowAt) return wroteOf(scene, part, rows);
  // At rest, where all is in view, bands show what the answer comes from.
  if (view.rests && scene.start && !view.scrolls) {
    const all = followed(scene, trace, trace.decoder ? `decoder:${view.current}` : "encoder:0");
    // Of a GPT's many heads only what leads to the next token is in full colour.
    return { ...all, lit: trace.kind === "GPT" ? Object.assign(all.lit, { rests: true }) : null };
  }
  const stop = view.tour[view.stop];
  if (stop?.back) return backward(scene, trace, view.progress ?? 1);
  if (view.follow && !place) return followed(scene, trace, view.follow);
  const parts = (stop ? stop.parts : view.here && !place ? [view.here] : []) || [];
  const lit = parts.flatMap((part) => rectsOf(view, part));
  const named = !place && trace.encoder && trace.decoder;
  const flows = !place && parts.includes("add-and-norm") ? (p) => residual(p, scene, trace) : null;
  return { lit: lit.length ? lit : null, flows, named: named ? (p) => memoryNames(p, scene, trace) : null };
}

// What wrote a part of a score: its rows are framed, that of the key with which one compares in orange.
function wroteOf({ parts, rowAt }, kind, rows) {
  const part = Object.keys(parts).find((name) => name.endsWith(kind));
  const [lit] = parts[part];
  const marks = (p) =>
    rows.forEach((row, i) => {
      const [y, high, label] = rowAt(row, part);
      const edge = p.theme[i ? "key" : "query"];
      p.frame(1, y, label - 5, high, edge);
      p.frame(lit[0] + 1, y, lit[2] - 2, high, edge);
    });
  return { lit: [lit], marks };
}

// The residual stream runs past all sublayers, from the embeddings on; on its way every strip shows it.
function residual(p, { measures: m }, { stacks }) {
  for (const { n, name, blocks, layers, y, pitch } of stacks)
    layers.forEach((sublayers, i) => {
      const from = i && !m.narrow ? layers[i - 1].end : m.narrow ? m.label + 4 : blocks[1].x - 6;
      const style = { color: p.theme.query, width: clamp(pitch / 8, 1, 2), alpha: 0.7 };
      for (let row = 0; row < (name === "decoder" ? m.rows : n); row++)
        p.straight(from, y(row, i + 1), sublayers.out, y(row, i + 1), style);
    });
}

// While a decoder's row is computed, bands show what it takes from, as far as it has come.
function playedTo({ scene, trace, place, beat, progress = 1 }) {
  const at = Math.min(beat, scene.beats.length - 1);
  const { lit, reach } = revealed(scene, at, progress);
  const { follow, moves } = scene.beats[at];
  const { flows: bands = null, named = null } = follow ? followed(scene, trace, follow, reach) : {};
  const moving = progress < 1 && moves.length ? (p) => moves.forEach((work) => work(p, progress)) : null;
  const flows = moving || bands ? (p) => [bands, moving].forEach((work) => work?.(p)) : null;
  const done = !place && progress === 1 && at === scene.beats.length - 1;
  return { lit: done ? null : lit, flows, named };
}

// Beats before this one in full, this one as far as it has come.
function revealed(scene, beat, progress) {
  const { rects, now: also = [], reach = Infinity, moves, turn: ours, halves } = scene.beats[beat];
  // Of a recurrent pair's steps only this one's: the next begins in the dark again.
  const kept = scene.beats.slice(0, beat).filter(({ turn = ours }) => turn === ours);
  const before = kept.flatMap(({ rects, now = [] }) => [...rects, ...now.slice(1)]);
  // A pair that meets is watched in full light; where something arrives, it is lit when that comes.
  const there = halves ? rects.slice(0, 1 + Math.floor(2 * progress)) : rects;
  if (progress === 1 || moves.some((work) => work.open)) return { lit: [...before, ...there, ...also], reach };
  const come = moves.length ? Math.max(0, (progress - 0.6) / 0.4) : progress;
  const now = swept(rects, 1 - (1 - come) ** 2);
  const [x, , w] = now[now.length - 1] || [0, 0, 0];
  return { lit: [...before, ...now], reach: scene.measures?.narrow ? 0 : x + w };
}

// So much of rectangles, one after the other; `back`: from the right, but for those that lead `on`.
function swept(rects, share, back = false) {
  let left = share * rects.reduce((sum, rect) => sum + rect[2], 0);
  const now = [];
  for (const [x, y, w, h, on] of rects) {
    if (left <= 0) break;
    const come = Math.min(w, left);
    now.push([back && !on ? x + w - come : x, y, come, h, on]);
    left -= w;
  }
  return now;
}

// A gradient's way from the losses back to the embeddings: through the decoder, up to the memory, and
// through the encoder. Against every line that it has passed there is an arrow.
function backward({ parts, output, width, measures }, { stacks, encoder, decoder }, t) {
  const up = encoder?.bottom + 3;
  const pipes = measures.narrow || stacks.length < 2 ? [] : [[0, up, width, decoder.blocks[0].top - up - 3, true]];
  const [first, ...more] = stacks.toReversed().map(({ name }) => parts[name].toReversed());
  const lit = swept([output, ...first, ...pipes, ...more.flat()], t, true).toReversed();
  const flows = (p) => {
    const arrow = (...way) => {
      const passed = ([x, y, w, h]) => way[0] >= x && way[0] <= x + w && way[1] >= y && way[1] <= y + h;
      if (lit.some(passed)) p.straight(...way, { color: p.theme.value, width: 2.5, arrow: true });
    };
    // How far it has come: dots on the lines.
    const [left, top, wide, high, on] = lit[0] || output;
    const dot = ([x, y]) => p.box(x - 4, y - 4, 8, 8, { fill: p.theme.value, radius: 4 });
    const comes = t < 1 && !on && left >= measures.label && left <= output[0] + measures.strip;
    for (const { blocks, tokens, y, layers } of stacks) {
      for (const [i, { x }] of blocks.entries())
        for (const row of i ? tokens.keys() : []) arrow(x + 12, y(row, i), x - 4, y(row, i));
      for (const { enters, box, pipe } of layers.flat()) {
        if (enters) arrow(enters, box[1] + 4, enters, box[1] - 16);
        if (t < 1 && on && pipe) dot(along(pipe.toReversed(), wide / width));
      }
      const i = blocks.findIndex((block) => comes && block.top >= top && block.top < top + high);
      for (const row of i < 0 ? [] : tokens.keys()) dot([left, y(row, i)]);
    }
  };
  return { lit: t < 1 ? lit : null, flows };
}
