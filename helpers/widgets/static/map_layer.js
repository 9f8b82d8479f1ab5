// The map, second depth: one layer, its sublayers from left to right, and the residual stream that
// runs past each of them.

import { tag } from "./map_named.js";
import { runs, travel } from "./map_moves.js";
import { path } from "./map_paint.js";
import { NARROW, Scene, percent, tellVector, nVectors } from "./map_scene.js";
import { heat, patchRow } from "./map_patches.js";
import { hidden } from "./map_network.js";
import { signKey } from "./map_insides.js";
import { nameRows, namesWidth } from "./map_rows.js";
import { bluest, purposeOf } from "./map_purpose.js";
import { tellCell } from "./map_tiles.js";
import { KINDS, BRIEF, title, valueAt } from "./map_trace.js";
import { clamp, fitting, textWidth, uncapped } from "./text.js";

const WORDS = {
  "self-attention": ["every token attends to every token", "attends to every token", "to every token"],
  "masked-self-attention": ["attends to itself and earlier tokens", "to itself and earlier ones", "to earlier tokens"],
  "cross-attention": ["attends to the encoder’s output", "to the encoder’s output", "to the memory"],
};
// What a sublayer does, in as many words as there is room for.
function does({ kind }, { activation }, room) {
  const linear = `Linear, ${activation}, Linear`;
  const all = WORDS[kind] || [`${linear}, for each token by itself`, `${linear}, per token`, linear, "per token"];
  return all.find((words) => textWidth(words, 13) <= room) || "";
}

export function layerScene(model, where, place, width, room, query) {
  const { stack, sublayers, layer } = where;
  const name = `${stack.title} layer ${layer + 1}`;
  const scene = new Scene(width, room, `${name}: ${sublayers.map((one) => KINDS[one.kind].toLowerCase()).join(", ")}`);
  const g = Object.assign(layerSizes(model, width, room, stack, sublayers), { query, guessed: model.guessed });
  scene.sources = model.encoder?.tokens;
  const arrives = layer ? stack.layers[layer - 1][sublayers.length - 1].after : stack.entered;
  g.inside = (sublayer, what, as = what) =>
    model.opens && sublayer[what] ? `${place.split("/").slice(0, 2).join("/")}/${sublayer.kind}/${as}` : "";
  let from = 0;
  let before = arrives;
  for (const [i, sublayer] of sublayers.entries()) {
    const own = (sublayer.g = lower(g, g.across ? i * g.step : 0));
    if (!i || g.across) {
      if (stack.image) stack.tokens.forEach((_, row) => patchRow(scene, stack, row, g.label - 5, own.y(row), g.pitch));
      else nameRows(scene, stack.tokens, { right: g.label - 8, top: own.top, pitch: g.pitch, room: g.label - 9 });
      const enters = i ? KINDS[sublayer.kind].toLowerCase() : uncapped(name);
      if (g.label > 52 && !stack.image) signKey(scene, 4, own.bottom + 12);
      strip(scene, own, before, g.label, "in", `the residual stream, as it enters ${enters}`, stack.tokens);
      from = g.label + g.strip;
    }
    from = sublayerScene(scene, model, where, place, own, sublayer, from + g.gap, from, before);
    if (i && g.across) sublayer.span[0] = 0;
    before = sublayer.after;
  }
  // A frame too low for all of them ends below the next one's heading.
  if (g.across) Object.assign(scene, { height: sublayers.length * g.step, fold: g.step + 40 });
  scene.rowAt = (row, part) => {
    const { y, pitch, label } = sublayers.find(({ kind }) => kind === part).g;
    return [y(row) - pitch / 2, pitch, label];
  };
  layerBeats(scene, g, model, sublayers);
  const more = sublayers.some((one) => one.norm)
    ? "Click on a head, norm or neuron to open it, or on “out” to see the heads joined"
    : "Click on a head to open it";
  const first =
    width < NARROW ? [".", "."] : ["; the first Transformer had it after each ⊕.", ", as in the first Transformer."];
  scene.hint = `${more}. Layer norm brings every vector to about the same size, here ${model.normFirst ? `before each sublayer (“pre-norm”)${first[0]}` : `after each ⊕ (“post-norm”)${first[1]}`}`;
  return scene;
}

function layerSizes(model, width, room, stack, sublayers) {
  const top = 82;
  // On a phone every sublayer is a block of its own, and the blocks stand below each other.
  const across = width < NARROW;
  const pitch = across ? (stack.image ? 8 : 17) : clamp((room - top - 46) / stack.n, 3, 44);
  const label = stack.image ? 56 : clamp(namesWidth(stack.tokens, pitch, 14) + 10, 40, Math.max(96, width * 0.16));
  const gap = clamp(width / 80, 3, 14);
  // Units of width: a strip 1, heads 3.4 or 5.4, hidden 2; what the gaps leave is shared out.
  const norm = model.normFirst ? 1 : 0;
  const units = ({ heads }) => (across ? 10 : !heads ? 2 : sublayers.length > 2 ? 3.4 : 5.4);
  const beside = across ? sublayers.slice(0, 1) : sublayers;
  const all = beside.reduce((sum, one) => sum + norm + units(one) + 2, 1);
  const gaps = 1 + beside.length * (norm + 4);
  const strip = clamp((width - label - 4 - gaps * gap - 8) / all, 5, 110);
  const bottom = top + pitch * stack.n;
  const sizes = { across, units, label, top, pitch, gap, strip, bottom };
  return { ...sizes, step: bottom + 46, skip: top - 20, y: (row) => top + (row + 0.5) * pitch };
}

// The same sizes, further down.
const lower = (g, by) => ({
  ...g,
  top: g.top + by,
  bottom: g.bottom + by,
  skip: g.skip + by,
  y: (row) => g.y(row) + by,
});

function strip(scene, g, one, x, words, what, tokens, inside = "") {
  scene.paint((p) => p.strips(one, x, g.top, g.strip, g.pitch));
  const tell = tellVector(tokens, what);
  const at = inside.endsWith("norm") ? "the norm at work" : "the heads joined and mixed";
  const told = inside ? (...cell) => [...tell(...cell), `click to see ${at}`] : tell;
  const open = inside ? (row) => `${inside}/${row}` : null;
  scene.grid([x, g.top, g.strip, g.bottom - g.top], one, `${title(what)}: ${nVectors(one.rows)}`, told, open);
  // No room for names: pointing tells them.
  if (g.strip < 20) return;
  // Two lines of names where they are close.
  const low = g.strip < 34 && words.startsWith("sum") ? 14 : 0;
  scene.note(words, x + g.strip / 2, g.bottom + 12 + low, "center", g.strip + 2 * g.gap);
}

// One sublayer: norm, what it does, what it found, and the addition to the stream.
function sublayerScene(scene, model, where, place, g, sublayer, x, from, before) {
  const { stack } = where;
  const { tokens } = stack;
  const column = (one, at, words, what, inside) => strip(scene, g, one, at, words, what, tokens, inside);
  const start = x;
  const flow = (x0, x1) =>
    scene.paint((p) => {
      for (let row = 0; row < stack.n; row++) p.straight(x0 + 1, g.y(row), x1 - 1, g.y(row), { width: 1.2 });
    });
  const pre = model.normFirst;
  if (pre) {
    flow(from, x);
    const what = "after layer norm, which brings every vector to about the same size";
    column(sublayer.read, x, "norm", what, g.inside(sublayer, "norm"));
    from = x + g.strip;
    x = from + g.gap;
  }
  flow(from, x);
  const [from0, x0] = [from - g.strip, x];
  const wide = g.strip * g.units(sublayer);
  if (sublayer.heads) heads(scene, where, place, g, sublayer, x, wide);
  else hidden(scene, model, g, sublayer, x, wide, tokens);
  from = x + wide;
  x = from + g.gap;
  flow(from, x);
  const words = KINDS[sublayer.kind].toLowerCase();
  const joined = sublayer.heads ? ", its heads joined and multiplied by W_O" : "";
  column(sublayer.found, x, "out", `what ${words} found${joined}`, g.inside(sublayer, "heads", "join"));
  const found = x;
  const plus = x + g.strip + g.gap * 0.9;
  flow(x + g.strip, plus);
  const after = plus + g.gap * 0.9 + 3;
  // The stream itself runs above, past the sublayer, and comes down where the two are added.
  const fork = start - g.gap / 2;
  const past = path(fork, g.top + 6, fork, g.skip, plus, g.skip, plus, g.top + 4);
  scene.paint((p) => {
    p.line(past, { color: p.theme.muted, width: 2, radius: 9 });
    p.straight(plus, g.top, plus, g.bottom, { color: p.theme.muted, width: 1.5 });
  });
  scene.plus(plus, g.top - 2, 8, words);
  const reads = pre ? sublayer.read : before;
  sublayer.moves = [
    [
      travel(reads, [from0, x0], [g.strip, wide / 4], g.top, g.pitch),
      (p, t) =>
        t > 0.5 && travel(sublayer.found, [x0 + wide / 2, found], [g.strip / 2, g.strip], g.top, g.pitch)(p, 2 * t - 1),
    ],
    [
      runs(past),
      (p, t) => travel(sublayer.found, [found, plus], [g.strip, 4], g.top, g.pitch)(p, Math.min(1, 2 * t)),
      (p, t) => t > 0.6 && travel(sublayer.after, [plus, after], [4, g.strip], g.top, g.pitch)(p, 2.5 * (t - 0.6)),
    ],
  ];
  scene.part("add-and-norm", plus - 10, g.skip - 8, 20, g.bottom - g.skip + 8);
  flow(plus, after);
  const what = `the stream after ${words}: what ran past plus what was found`;
  column(sublayer.after, after, pre ? "sum" : "sum, norm", what, pre ? "" : g.inside(sublayer, "norm"));
  const end = after + g.strip;
  // On a phone all of the width is theirs. The last one has the margin too.
  const [at, room] = g.across ? [0, scene.width] : [start, end - start];
  const most = sublayer.heads && !g.across ? 0.88 * room : scene.width - at;
  const size = g.across || g.strip > 27 ? 15 : g.strip > 14 ? 13 : 12;
  const kind = fitting([KINDS[sublayer.kind], BRIEF[sublayer.kind]], most / 1.1, size);
  scene.label(kind, at, g.top - 68, { size, weight: 650, most });
  scene.label(does(sublayer, model, room), at, g.top - 48, { size: 13, color: "muted" });
  sublayer.span = [start - g.gap, end];
  scene.part(sublayer.kind, start - g.gap, g.top - 82, end - start + g.gap, g.bottom - g.top + 108);
  return end;
}

function heads(scene, where, place, g, sublayer, x, wide) {
  const n = sublayer.heads.length;
  const height = g.bottom - g.top;
  const inner = wide > 100 ? wide - 10 : wide;
  const { stack } = where;
  let best = { size: 0 };
  for (let cols = 1; cols <= n; cols++) {
    const down = Math.ceil(n / cols);
    const size = Math.min((inner - (cols - 1) * 5) / cols, height / down - 18);
    // A column, unless a grid is much larger.
    if (0.88 * size > best.size) best = { cols, down, size };
  }
  const { cols, down, size } = best;
  const step = height / down;
  const left = x + (wide - cols * size - (cols - 1) * 5) / 2;
  scene.paint((p) => p.box(x, g.top - 3, wide, height + 6, { fill: stackTint(where, p.theme), edge: p.theme.edge }));
  const shape = sublayer.heads[0].weights;
  const keys = sublayer.kind === "cross-attention";
  const source = keys ? scene.sources : stack.tokens;
  // Whatever the sentence, what a head does is told where there's room for it; not while a head is guessed.
  const room = cols > 1 ? size : wide - 6;
  const tells = !g.guessed && textWidth("head 1: 2 before 99%", 12) <= room;
  const told = ({ short }, h) => (tells ? [`head ${h}: ${short}`, `${h}: ${short}`] : []);
  const nameOf = (does, h) => fitting([...told(does, h), `head ${h}`, String(h)], room, 12);
  sublayer.heads.forEach((head, h) => {
    const tx = left + (h % cols) * (size + 5);
    const ty = g.top + Math.floor(h / cols) * step + (step - size + 14) / 2;
    const does = stack.image ? bluest(head, stack, g.query) : purposeOf(sublayer, h, stack, source);
    const from = cols > 1 ? tx : x + 4;
    scene.label(nameOf(does, h + 1), from, ty - 9, { size: 12, color: "muted" });
    const name = `${KINDS[sublayer.kind]}, head ${h + 1}`;
    const told = tellCell(name, where.stack.tokens, source, head, () => does.words, "click to open it");
    if (stack.image) scene.paint((p) => heat(p, [tx, ty, size], stack, head.weights, g.query));
    else {
      scene.paint((p) => p.matrix(head.weights, tx, ty, size, size));
      scene.peek([tx, ty, size, size], head.weights, `Cells of head ${h + 1}, ${sublayer.kind}`, told, {
        marks: (p, [row, key]) => pointedRows(p, g, where, head, row, key, keys),
      });
    }
    const go = `${place.split("/").slice(0, 2).join("/")}/${sublayer.kind}/${h}`;
    const says = stack.image ? does.words : `on average a row ${does.words}`;
    const tip = [name, `rows: ${shape.rows} queries, columns: ${shape.cols} keys`, says];
    const opens = `Head ${h + 1} of ${KINDS[sublayer.kind].toLowerCase()}: open it`;
    scene.button([tx - 2, ty - 16, size + 4, size + 18], opens, { go }, tip);
  });
  const blue = stack.image ? `blue: what ${stack.tokens[g.query]} takes` : "";
  const fits = fitting([blue, blue.replace("what ", ""), ""], wide + 2 * g.gap);
  scene.label(fits, x + wide / 2, g.bottom + 12, { size: 12, color: "query", align: "center" });
  if (keys) {
    scene.labels.push((p) => {
      const middle = x + wide / 2;
      p.straight(middle, g.top - 38, middle, g.top - 5, { color: p.theme.key, width: 2.5, arrow: true });
      p.text("memory", middle + 8, g.top - 31, { size: 12, color: p.theme.key });
    });
  }
}

// The names that a cell of a head's square stands for, where they are in the picture.
function pointedRows(p, g, { stack: { tokens } }, head, row, key, cross) {
  if (!head.allowed(row, key)) return;
  const name = (one, words, color) => {
    p.box(0, g.y(one) - 9, g.label - 2, 18, { fill: p.theme.paper, radius: 0 });
    p.text(words, g.label - 5, g.y(one), { size: 14, weight: 650, align: "right", most: g.label - 6, color });
  };
  name(row, tokens[row], p.theme.query);
  if (cross) return;
  name(key, tokens[key], p.theme.query);
  tag(p, percent(valueAt(head.weights, row, key)), g.label + 3, g.y(key), { color: p.theme.query });
}

const stackTint = ({ stack }, theme) => (stack.name === "encoder" ? theme.tint : theme.warm);

const DOES = {
  "self-attention": "Each head lets every token collect from all tokens. W_O mixes what the heads, joined, have found.",
  "masked-self-attention":
    "Each head lets a token collect from itself and earlier ones. W_O mixes what the heads, joined, have found.",
  "cross-attention": "The decoder’s queries meet keys and values made from the encoder’s output.",
};

function layerBeats(scene, g, model, sublayers) {
  scene.beat("One vector per token arrives: the residual stream.", [0, 0, g.label + g.strip + 2, g.step]);
  for (const { kind, moves, span, g: own } of sublayers) {
    const [from, to, top] = [...span, own.top];
    const last = 2 * g.strip + 2.4 * g.gap;
    const widens = `The feed-forward network widens each vector, applies a ${model.activation} and narrows it again.`;
    const wide = to - from - last + g.strip;
    scene.beat(DOES[kind] || widens, [from, top - 8, wide, g.step - 74], [from, top - 82, wide, 40]);
    scene.moves(...moves[0]);
    const added = [from, top - 82, to - from + 2, g.step];
    scene.beat("What the sublayer found is added to the stream that ran past it. Nothing is overwritten.", added);
    scene.moves(...moves[1]);
  }
}
