// The map, first depth: the whole model, from the source's tokens to the next one.

import { answer, keyOf } from "./map_answer.js";
import { FINGER, NARROW, SLIM, Scene } from "./map_scene.js";
import { tileGrid, tiles } from "./map_tiles.js";
import { wholeBeats } from "./map_flow.js";
import { KINDS } from "./map_trace.js";
import { path } from "./map_paint.js";
import { patchRow, picture, verdicts } from "./map_patches.js";
import { LEAST, brackets, namePlaces, namesBelow, namesWidth, perLine } from "./map_rows.js";
import { clamp, marksIn, textWidth, uncapped } from "./text.js";

// Room for a line of words above a stack.
export const HEAD = 22;
// Between encoder and decoder, where the memory's line runs.
const GAP = 54;
// Room for the names of a layer's parts, below it.
const UNDER = 19;
// What the likeliest tokens need beside the last layer.
const ANSWER = 84;

// Sizes that both stacks share, so that their layers stand below each other. On a narrow screen
// every part is a block of its own, and the blocks stand below each other.
function measures(model, width, room, spare, small) {
  const narrow = width < NARROW;
  const two = model.stacks.length > 1;
  // Of many slim layers the names stand on lines of their own.
  const [above, under] =
    two || narrow ? [HEAD, UNDER] : [HEAD + (model.guesses.length ? 38 + clamp(room * 0.13, 60, 78) : 14), UNDER + 20];
  const key = keyOf(model, width);
  const free = room - above - under - 10 - (two ? GAP + HEAD : 0) - key.height;
  const rows = model.stacks.reduce((sum, one) => sum + one.n, 0);
  const even = Math.min(free / rows, two && !small ? (free - ANSWER) / model.encoder.n : free);
  // The whole model is in view, and takes what is to spare for its names; rows for fingers scroll.
  const coarse = !small && globalThis.matchMedia?.("(pointer: coarse)").matches;
  const room12 = Math.min(12, Math.floor((free + Math.max(0, spare)) / rows));
  const named = even < LEAST ? Math.min(room12, width < SLIM ? LEAST : 12) : Math.min(room12, Math.ceil(even));
  const least = width < SLIM && coarse ? FINGER : named >= LEAST && !model.image ? named : 2.5;
  // Of a picture's rows none is pressed by a finger: its patches are.
  const whole = even < 12 ? even : Math.floor(even);
  const pitch = narrow ? (model.image ? 6 : FINGER) : clamp(whole, least, two ? 26 : 46);
  // Several names share a line.
  const close = !small && !model.image && perLine(pitch) > 1;
  const names = Math.max(...model.stacks.map(({ tokens }) => namesWidth(tokens, model.image ? 14 : pitch))) + 8;
  // A decoder's row says what it reads and what it writes, where there is room: "a → stick".
  const both = two && width >= 860 && !close;
  const side = narrow
    ? clamp(width - 84, 120, 224)
    : clamp(Math.min(width * 0.23, (room - key.height - above - 79) / (model.choices.length ? 1.5 : 1)), 98, 280);
  const widest = (list) => Math.ceil(Math.max(...list.map((word) => textWidth(word, 13)))) + 8;
  // The current one is bold, and wider.
  const next = both ? Math.min(96, Math.ceil(1.12 * widest(model.written.map((word) => `→ ${word}`)))) : 0;
  const need = both ? Math.max(names, widest(model.decoder.tokens) + next) : names;
  const most = close ? Math.max(146, width * 0.18) : both ? 180 : width < 760 ? 74 : 96;
  const label = model.image ? (narrow ? 42 : side) + pitch + 12 : clamp(need, 74, most);
  if (model.decoder) model.decoder.arrow = both ? label - next : 0;
  const gap = narrow ? 22 : 15;
  const strip = narrow
    ? Math.floor((width - label - 2 * gap - 6) / 3)
    : clamp(Math.round((width - 460) / (model.image ? 16 : 12)), 13, model.image ? 22 : close ? 30 : 44);
  // One strip alone needs less than three.
  const vectors = model.positions || narrow ? 3 * strip + 2 * gap : 70;
  const left = narrow ? label + 4 : label + vectors + 12;
  const spared = model.scored ? 150 : model.kind === "GPT" ? 110 : model.image ? 58 : 43;
  const right = model.candidates.length
    ? clamp(width * 0.12 + spared, 112, model.scored ? 320 : 240)
    : strip + (width < 760 ? 14 : 110);
  const layers = Math.max(...model.stacks.map((one) => one.layers.length));
  const module = narrow ? width - left : (width - left - right) / layers;
  return { narrow, close, width, pitch, label, strip, vectors, left, module, gap, above, under, key, side };
}

// Where a stack's parts begin: the embedding, every layer, and what comes out.
function blocks({ image, scored }, stack, m, top) {
  // On a phone names are pressed in the first block alone; of the others each is in view as a whole.
  const inner = Math.floor((m.fits - HEAD - UNDER - 4) / stack.n);
  stack.pitch = m.narrow && !image && !scored ? clamp(inner, 12, m.pitch) : m.pitch;
  const whole = HEAD + stack.n * stack.pitch + UNDER;
  const high = m.narrow && whole > 0.7 * m.fits ? Math.max(whole, m.fits) : whole;
  const more = HEAD + stack.n * m.pitch + UNDER - high;
  const count = stack.layers.length + 2;
  const at = (i) => (m.narrow ? [m.left, top + i * high + more] : [m.left + (i - 1) * m.module, top]);
  stack.blocks = Array.from({ length: count }, (_, i) => (i ? at(i) : [0, top])).map(([x, top]) => ({ x, top }));
  stack.high = (i) => (i ? stack.pitch : m.pitch);
  stack.y = (row, i = 0) => stack.blocks[i].top + (row + 0.5) * stack.high(i);
  stack.bottom = stack.blocks[count - 1].top + stack.n * stack.pitch;
}

export function wholeScene(model, width, room, rows, { spare, small, fits, turns, touring, ...told }) {
  const m = measures(model, width, room, spare, small);
  // A tour's first steps show all of the first block, with its heading.
  const inner = (fits - HEAD - UNDER - 4) / Math.max(...model.stacks.map(({ n }) => n));
  if (touring && m.narrow && !model.image) m.pitch = clamp(Math.floor(inner), 12, m.pitch);
  const { encoder, decoder } = model;
  const scene = new Scene(width, 0, "The whole model");
  // On a phone the answers after each layer stand below the picture.
  scene.measures = Object.assign(m, told, { rows, small, fits, listed: m.narrow ? 48 + 20 * model.guesses.length : 0 });
  if (model.image) scene.paint((p) => (p.own = m.query));
  // A small picture's titles are larger than others.
  let top = m.above + (small ? 8 : 0) + (m.narrow && model.image ? m.side + m.listed + 59 : 0);
  for (const stack of model.stacks) {
    const n = stack === decoder ? rows : stack.n;
    blocks(model, stack, m, top);
    stackScene(scene, model, stack, m, n);
    if (stack === encoder && !stack.answers) memory(scene, model, m);
    if (stack === encoder && turns) compares(scene, stack.bottom + 4);
    if (stack === decoder && encoder) pipes(scene, model, m);
    if (stack.answers) answer(scene, model, stack, m, n, m.current);
    scene.height = Math.max(scene.height, stack.bottom + m.under + 10);
    top = stack.bottom + GAP + HEAD;
  }
  // All layers are named the same way.
  const all = model.stacks.flatMap(({ layers }) => layers);
  const size = all.some(({ named }) => textWidth("Layer 1", 13) + 8 > named.room) ? 12 : 13;
  const over = ({ room }) => Math.max(0, textWidth("Layer 1", size) + 6 - room);
  scene.short = all.some(({ named }) => over(named) > named.before);
  for (const { named } of all) {
    const x = named.x - (scene.short ? 0 : over(named));
    scene.label(`${scene.short ? "L" : "Layer "}${named.i + 1}`, x, named.y, { size, color: "muted" });
  }
  wholeBeats(scene, model);
  const below = Math.max(scene.height, room - m.key.height);
  scene.labels.push((p) => m.key.draw(p, below));
  scene.height = below + m.key.height;
  return scene;
}

// ---- one stack: tokens, their vectors, the layers -------------------------------------------

function stackScene(scene, model, stack, m, rows) {
  const { label } = m;
  const end = m.narrow ? m.width - 2 : stack.blocks[stack.blocks.length - 1].x;
  (m.narrow ? stack.blocks : stack.blocks.slice(0, 1)).forEach(({ x, top }, i) => {
    const reach = stack.answers && i > stack.layers.length ? x : end; // not through what is answered
    scene.paint((p) => {
      for (let row = 0; row < stack.n; row++) {
        if (stack.image && row !== p.own) continue; // fifty lines would be a grid
        const color = row === p.own ? p.theme.query : row < rows ? p.theme.lane : p.theme.box;
        p.straight(label + 4, stack.y(row, i), reach, stack.y(row, i), { color, width: row < rows ? 1.5 : 1 });
      }
    });
    tokens(scene, model, stack, { ...m, pitch: stack.high(i) }, top, rows, i);
  });
  embedding(scene, model, stack, m, rows);
  if (stack.image) picture(scene, model, stack, m.narrow ? 4 : stack.blocks[0].top + m.pitch + 4, m);
  stack.layers.forEach((sublayers, i) => layerBox(scene, model, stack, sublayers, i, m, rows));
  if (model.guesses.length) verdicts(scene, model, stack, m);
  for (const [i, { top }] of (m.narrow ? stack.blocks : stack.blocks.slice(0, 1)).entries())
    scene.part(stack.name, 0, top - 2, end, stack.n * stack.high(i) + 4);
  // What attends, and what gets a vector, is named.
  const own = stack === model.decoder ? ["masked-self-attention", "cross-attention"] : ["self-attention"];
  scene.part(["embeddings", "positions", ...own], 0, stack.blocks[0].top - 3, stack.arrow || label, rows * m.pitch + 6);
}

function tokens(scene, model, stack, { pitch, label, current, close, small }, top, rows, block) {
  const side = model.stacks.length < 2 ? "Token" : stack.name === "encoder" ? "Source token" : "Target token";
  const right = (stack.arrow || label) - (close ? 6 : 3);
  const places = stack.image || small ? [] : namePlaces(stack.tokens, { right, top, pitch, room: right - 1 });
  const does = model.scored ? "is scored on" : "writes";
  // Of a picture the patches are pressed, which are larger than their rows; the class token has none.
  const wholeRow = (row, width) => {
    const [left, high] = stack.image && !row ? [label - 50, FINGER] : [stack.image ? label - pitch - 8 : 0, pitch];
    return [left, stack.y(row, block) - high / 2, width - left, high];
  };
  const nameRect = (row) => (close ? places[row].rect : wholeRow(row, stack.arrow || label));
  (stack.nameRects ||= [])[block] = nameRect;
  if (small) return;
  if (close) scene.paint((p) => brackets(p, stack.tokens.slice(0, rows), label - 2, top, pitch, places));
  stack.tokens.slice(0, rows).forEach((token, row) => {
    const reads = stack === model.decoder && model.encoder;
    const tip = [
      reads ? `reads “${token}”, ${does} “${model.written[row]}”` : token,
      marksIn(reads ? [token, model.written[row]] : [token]),
      "click to follow it",
    ].filter(Boolean);
    const rect = close ? nameRect(row) : wholeRow(row, label);
    if (!block && !(row && stack.image))
      scene.button(rect, `${side} ${row + 1}: ${token}`, { follow: `${stack.name}:${row}` }, tip);
    if (stack.image) return patchRow(scene, stack, row, label - 4, stack.y(row, block), pitch);
    const { words, x, y, style } = places[row];
    // Written by the model itself.
    const own = model.kind === "GPT" && row >= model.given;
    // Dimmed, a name can still be read and pressed; what is still to come isn't there.
    const name = (left, paint) =>
      scene.top([left, y - 1, 2, 2], (p, lit, veil) => {
        if (lit || veil !== "paper") paint(p, (color) => ({ color: lit ? color : p.theme.field }));
      });
    name(x + (style.align ? -3 : 1), (p, ink) => {
      const blue = own || (close && row === current && stack === model.decoder);
      const look = { ...style, ...ink(blue ? p.theme.query : p.theme.ink), weight: own && !close ? 650 : 400 };
      p.text(words, x, y + 0.5, look);
    });
    if (!stack.arrow) return;
    name(stack.arrow + 3, (p, ink) => {
      const blue = row === current || model.chosen?.includes(row);
      const look = { ...ink(blue ? p.theme.query : p.theme.muted), weight: blue ? 650 : 400, size: style.size };
      p.text(`→ ${model.written[row]}`, stack.arrow + 1, y + 0.5, { ...look, most: label - stack.arrow - 2 });
    });
  });
  if (stack.arrow)
    scene.label(`reads → ${does}`, label - 3, stack.bottom + 12, { size: 12, color: "muted", align: "right" });
}

const COLUMNS = [
  ["embeddings", "embedding", "embeddings"],
  ["positions", "position", "positions"],
  ["entered", "embedding plus position", "positions"],
];

function embedding(scene, model, stack, { label, strip, gap, pitch, vectors: room }, rows) {
  const [{ top }] = stack.blocks;
  const height = stack.n * pitch;
  const words = stack.title;
  const columns = model.positions ? COLUMNS : [["entered", "embedding", "embeddings"]];
  const wide = model.positions ? strip : room;
  const xs = columns.map((_, i) => label + 4 + i * (strip + gap));
  scene.label(words, 0, top - 12, { size: 15, weight: 650 });
  columns.forEach(([name, what, part], i) => {
    scene.paint((p) => {
      p.box(xs[i], top, wide, rows * pitch, { fill: p.theme.paper, radius: 2 });
      p.strips(stack[name], xs[i], top, wide, pitch, { rows });
      const [x, y] = [xs[i] - gap / 2, top + (rows * pitch) / 2];
      if (!i) return;
      // On paper, above the lines that run past.
      p.box(x - gap / 2, y - 8, gap, 16, { fill: p.theme.paper, radius: 0 });
      p.text(i === 1 ? "+" : "=", x, y, { size: 14, weight: 600, align: "center", color: p.theme.muted });
    });
    scene.part(part, xs[i] - 2, top, wide + 4, height);
    const said = [`${words}, ${what}`, what];
    scene.vectors([xs[i], top, wide, rows * pitch], stack[name], stack.tokens, said, null, rows);
  });
  const long = textWidth("embedding + position", 12) <= room + 6;
  const name = !model.positions ? "embedding" : long ? "embedding + position" : "emb. + pos.";
  scene.label(name, xs[0] + room / 2, top - 11, { size: 12, color: "muted", align: "center" });
  const [go, said] = [`${stack.name}/embedding`, `${words}: embedding${model.positions ? " and position" : ""}`];
  scene.button([label, top - HEAD, room + 4, HEAD + height], said, { go }, [name, "click to open"]);
  scene.part("add-and-norm", xs.at(-1), top, wide, rows * pitch);
}

// Where the parts of a layer lie: attention in columns, the feed-forward network, the strip behind.
function layerBox(scene, model, stack, sublayers, i, m, rows) {
  const { x, top } = stack.blocks[i + 1];
  const { pitch } = stack;
  const height = stack.n * pitch;
  const exit = clamp(m.module * 0.15, 7, 34);
  const width = m.module - exit - 10;
  const pad = clamp(width * 0.05, 3, 9);
  const attentions = sublayers.filter((one) => one.heads);
  // Heads stand below each other where that costs little size; what they leave is the network's.
  const free = width - pad * (attentions.length + 2);
  const widest = (free - clamp(width * 0.24, 12, 40)) / attentions.length;
  const grid = tileGrid(attentions[0].heads.length, widest, height - 8);
  const column = Math.min(widest, Math.max(grid.width, widest * 0.5));
  const lens = Math.min(free - column * attentions.length, Math.max(120, width * 0.5));
  const name = `${stack.title} layer ${i + 1}`;
  const go = `${stack.name}/${i}`;
  scene.paint((p) =>
    p.box(x, top - 2, width, height + 4, { fill: stack.name === "encoder" ? p.theme.tint : p.theme.warm }),
  );
  scene.top([x + 8, top, width - 16, height], (p, lit) =>
    p.box(x, top - 2, width, height + 4, { edge: lit ? p.theme.edge : p.theme.masked }),
  );
  const holds = `${attentions.map((one) => KINDS[one.kind].toLowerCase()).join(", ")}, feed-forward`;
  const opens = m.answers && stack.answers ? "click to open masked head 1" : "click to open";
  scene.button([x, top - HEAD, width, height + HEAD], `${name}: open it`, { go }, [name, holds, opens]);
  let at = x + pad;
  // A part reaches from one addition to the next.
  let left = x - 1;
  for (const sublayer of sublayers) {
    const wide = sublayer.heads ? column : lens;
    const box = (sublayer.box = [at, top, wide, height]);
    const plus = at + wide + pad / 2;
    if (sublayer.heads) tiles(scene, model, stack, sublayer, i, [at, top + 4, wide, height - 8], rows, grid);
    else scene.paint((p) => p.lens(sublayer.hidden, box[0], top + 6, wide, height - 12, rows));
    const names = sublayer.heads ? [sublayer.kind, "multi-head"] : [sublayer.kind];
    scene.part(names, left, top - 3, plus - 1.5 - left, height + 6);
    adds(scene, plus, top, height, KINDS[sublayer.kind].toLowerCase());
    left = plus + 1.5;
    at += wide + pad;
  }
  const lines = m.under > UNDER ? 3 : stack.answers ? 2 : 1;
  namesBelow(scene, sublayers, top + height + 12, [x, x + m.module - 6], lines, !i, m.module * stack.layers.length);
  // Where the memory's line comes down beside it, it begins before the layer, or is short.
  const cross = sublayers.find((one) => one.kind === "cross-attention");
  const [room, before] = cross ? [cross.box[0] + cross.box[2] / 2 - x, Math.min(8, exit + 6)] : [width, 0];
  sublayers.named = { i, x: x + 2, y: top - 12, room, before };
  Object.assign(sublayers, { out: x + width + 5, end: x + width + 5 + exit });
  const { after } = sublayers[sublayers.length - 1];
  scene.paint((p) => p.strips(after, sublayers.out, top, exit, pitch, { rows }));
  const said = ["After", "after"].map((word) => `${word} ${uncapped(name)}`);
  scene.vectors([sublayers.out, top, exit, rows * pitch], after, stack.tokens, said, () => go, rows);
  scene.part("add-and-norm", sublayers.out, top, exit, rows * pitch);
}

// A thin line across all rows: here the sublayer's output is added to the residual stream.
function adds(scene, x, top, height, name) {
  scene.paint((p) => p.straight(x, top + 4, x, top + height - 4, { color: p.theme.muted, width: 1, alpha: 0.55 }));
  scene.plus(x, top + 1, 5, name);
  scene.part("add-and-norm", x - 7, top - 6, 14, 14);
  scene.part("add-and-norm", x - 1.5, top + 8, 3, height - 10);
}

// ---- what joins and what leaves ---------------------------------------------------------------

function memory(scene, model, m) {
  const { encoder } = model;
  const block = encoder.blocks[encoder.blocks.length - 1];
  const [top, height] = [block.top, encoder.n * encoder.pitch];
  const x = block.x + (m.narrow || !model.decoder ? 4 : 14);
  const width = m.narrow ? m.width - block.x - 12 : m.strip;
  encoder.memory = [x, top, width, height];
  const [name, color] = model.decoder ? ["memory", "key"] : ["output", "ink"];
  scene.label(name, Math.min(x, m.width - 52), top - 11, { size: 13, weight: 600, color });
  scene.paint((p) => {
    if (model.decoder) p.box(x - 4, top - 2, width + 8, height + 4, { edge: p.theme.key, radius: 5 });
    p.strips(encoder.output, x, top, width, encoder.pitch);
  });
  scene.part(["encoder", "cross-attention", "memory"], x - 6, top - 4, width + 12, height + 8);
  const said = ["The encoder's output", "in the encoder's output"];
  scene.vectors([x, top, width, height], encoder.output, encoder.tokens, said);
}

// What opens the table of all heads.
function compares(scene, y) {
  const words = "Which heads matter?";
  const tip = ["each head switched off by itself", "click to compare them"];
  scene.pill(words, 1, y, 1.1 * textWidth(words, 12) + 10, words, { go: "heads" }, tip);
}

// The memory goes to the cross-attention of every decoder layer.
function pipes(scene, model, m) {
  const { encoder, decoder } = model;
  const [left, , width] = encoder.memory;
  const [x, y] = [left + width / 2, encoder.bottom + UNDER + 13];
  decoder.layers.forEach((sublayers) => {
    const cross = sublayers.find((one) => one.kind === "cross-attention");
    const [end, top] = [cross.box[0] + cross.box[2] / 2, cross.box[1]];
    const way = m.narrow ? [end, top - HEAD + 2] : [x, encoder.bottom + 3, x, y, end, y, end, top - 10];
    cross.pipe = path(...way, end, top - 3);
    scene.paint((p) => p.line(cross.pipe, { color: p.theme.key, width: 2, radius: 8, arrow: true }));
    if (m.narrow) scene.label("memory", end + 8, top - 12, { size: 12, color: "key" });
    else scene.part("cross-attention", end - 6, y - 3, 12, top - y + 3);
    // What flows in from a row of the memory runs beside it, and then along the same line.
    cross.enters = end;
    cross.way = (key) => path(left - 4, encoder.y(key), left - 9, encoder.y(key), left - 9, y, end, y, end, top - 3);
  });
  if (m.narrow) return;
  const first = decoder.layers[0].find((one) => one.enters).enters;
  scene.label("keys and values", first - 9, y + 13, { size: 12, color: "key", align: "right" });
  scene.part("cross-attention", first - 6, encoder.bottom + 3, x - first + 12, UNDER + 14);
}
