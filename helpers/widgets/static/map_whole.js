// The map, first depth: the whole model, from the source's tokens to the next one.

import { NARROW, Scene, percent, tellVector } from "./map_scene.js";
import { wholeBeats } from "./map_flow.js";
import { KINDS, title } from "./map_trace.js";
import { clamp, shorten, textWidth } from "./text.js";

const HEAD = 22; // room for a line of words above a stack
const GAP = 62; // between encoder and decoder, where the memory's line runs
const UNDER = 20; // room for the names of a layer's parts, below it

// Sizes that both stacks share, so that their layers stand below each other. On a narrow screen
// every part is a block of its own, and the blocks stand below each other.
function measures(model, width, room) {
  const narrow = width < NARROW;
  const most = Math.max(...model.stacks.map((one) => one.n));
  const words = model.stacks.flatMap((one) => one.tokens);
  const free = room - model.stacks.length * (HEAD + UNDER) - (model.decoder ? GAP - UNDER : 0);
  const pitch = narrow ? 14 : clamp(Math.floor((4 * free) / model.stacks.length / most) / 4, most > 30 ? 7 : 9, 26);
  const label = clamp(Math.ceil(Math.max(...words.map((word) => textWidth(word, 13)))) + 8, 74, width < 760 ? 74 : 96);
  const gap = narrow ? 22 : 15;
  const strip = narrow ? Math.floor((width - label - 2 * gap - 6) / 3) : clamp(Math.round((width - 460) / 12), 13, 44);
  const left = narrow ? label + 4 : label + 3 * strip + 2 * gap + 12;
  const right = model.decoder ? clamp(width * 0.17, 112, 190) : strip + (width < 760 ? 14 : 110);
  const layers = Math.max(...model.stacks.map((one) => one.layers.length));
  const module = narrow ? width - left : (width - left - right) / layers;
  return { narrow, width, pitch, label, strip, left, module, layers, gap };
}

// Where a stack's parts begin: the embedding, every layer, and what comes out.
function blocks(stack, m, top) {
  const high = HEAD + stack.n * m.pitch + UNDER;
  const count = stack.layers.length + 2;
  stack.blocks = Array.from({ length: count }, (_, i) =>
    m.narrow ? { x: i ? m.left : 0, top: top + i * high } : { x: i ? m.left + (i - 1) * m.module : 0, top }
  );
  stack.y = (row, i = 0) => stack.blocks[i].top + (row + 0.5) * m.pitch;
  stack.bottom = stack.blocks[count - 1].top + stack.n * m.pitch;
  stack.pitch = m.pitch;
}

export function wholeScene(model, width, room, rows, current = rows - 1) {
  const m = measures(model, width, room);
  const { encoder, decoder } = model;
  const scene = new Scene(width, 0, "The whole model");
  scene.measures = m;
  blocks(encoder, m, HEAD);
  stackScene(scene, model, encoder, m, encoder.n);
  memory(scene, model, m);
  scene.height = encoder.bottom + UNDER;
  if (decoder) {
    blocks(decoder, m, encoder.bottom + GAP + HEAD);
    stackScene(scene, model, decoder, m, rows);
    pipes(scene, model, m);
    output(scene, model, m, rows, current);
    scene.height = decoder.bottom + UNDER;
  }
  wholeBeats(scene, model);
  return scene;
}

// ---- one stack: tokens, their vectors, the layers -------------------------------------------

function stackScene(scene, model, stack, m, rows) {
  const { label } = m;
  const height = stack.n * m.pitch;
  const end = m.narrow ? m.width - 2 : stack.blocks[stack.blocks.length - 1].x;
  (m.narrow ? stack.blocks : stack.blocks.slice(0, 1)).forEach(({ top }, i) => {
    scene.paint((p) => {
      for (let row = 0; row < stack.n; row++) {
        const color = row < rows ? p.theme.lane : p.theme.box;
        p.line([[label + 4, stack.y(row, i)], [end, stack.y(row, i)]], { color, width: row < rows ? 1.5 : 1 });
      }
    });
    tokens(scene, stack, m, top, rows, i);
  });
  embedding(scene, stack, m, rows);
  stack.layers.forEach((sublayers, i) => layerBox(scene, stack, sublayers, i, m, rows));
  for (const { top } of m.narrow ? stack.blocks : stack.blocks.slice(0, 1)) scene.part(stack.name, 0, top - 2, end, height + 4);
}

function tokens(scene, stack, { pitch, label }, top, rows, block) {
  const every = Math.ceil(11.5 / pitch);
  const side = stack.name === "encoder" ? "Source" : "Target";
  stack.tokens.slice(0, rows).forEach((token, row) => {
    const y = stack.y(row, block);
    if (!block) scene.button([0, y - pitch / 2, label, pitch], `${side} token ${row + 1}: ${token}`, { follow: `${stack.name}:${row}` }, every > 1 ? [token] : []);
    if (row % every) return;
    const size = clamp(pitch - 1, 12, 14);
    scene.paint((p) => p.text(token, label - 3, y + 0.5, { size, align: "right", most: label - 4 }));
  });
}

const COLUMNS = [
  ["embeddings", "embedding", "embeddings"],
  ["positions", "position", "positions"],
  ["entered", "embedding plus position", ["embeddings", "positions"]],
];

function embedding(scene, stack, { label, strip, gap, pitch }, rows) {
  const [{ top }] = stack.blocks;
  const height = stack.n * pitch;
  const words = title(stack.name);
  const xs = [0, 1, 2].map((i) => label + 4 + i * (strip + gap));
  scene.label(words, 0, top - 12, { size: 15, weight: 650 });
  COLUMNS.forEach(([name, what, part], i) => {
    scene.paint((p) => {
      p.box(xs[i], top, strip, rows * pitch, { fill: p.theme.paper, radius: 2 });
      p.strips(stack[name], xs[i], top, strip, pitch, { rows });
      if (i) p.text(i === 1 ? "+" : "=", xs[i] - gap / 2, top + height / 2, { size: 16, weight: 600, align: "center", color: p.theme.muted });
    });
    scene.part(part, xs[i] - 2, top, strip + 4, height);
    scene.grid([xs[i], top, strip, rows * pitch], stack[name], `${words}, ${what}: ${rows} vectors`, tellVector(stack.tokens, what), null, rows);
  });
  const room = 3 * strip + 2 * gap;
  const long = textWidth("embedding + position", 12) <= room + 6;
  scene.label(long ? "embedding + position" : "emb. + pos.", xs[0] + room / 2, top - 11, { size: 12, color: "muted", align: "center" });
  const go = `${stack.name}/embedding`;
  scene.button([label, top - HEAD, room + 4, HEAD + height], `${words}: embedding and position`, { go }, ["embedding + position", "click to open"]);
}

// Where the parts of a layer lie: attention in columns, the feed-forward network, the strip behind.
function layerBox(scene, stack, sublayers, i, m, rows) {
  const { x, top } = stack.blocks[i + 1];
  const height = stack.n * m.pitch;
  const exit = clamp(m.module * 0.15, 7, 34);
  const width = m.module - exit - 10;
  const pad = clamp(width * 0.05, 3, 9);
  const attentions = sublayers.filter((one) => one.heads);
  // Heads stand below each other where that costs little size; what they leave is the network's.
  const free = width - pad * (attentions.length + 2);
  const widest = (free - clamp(width * 0.2, 10, 40)) / attentions.length;
  const grid = tileGrid(attentions[0].heads.length, widest, height - 8);
  const column = Math.min(widest, Math.max(grid.width, widest * 0.5));
  const lens = Math.min(free - column * attentions.length, attentions.length > 1 ? 120 : 64);
  const name = `${title(stack.name)} layer ${i + 1}`;
  const go = `${stack.name}/${i}`;
  scene.paint((p) => p.box(x, top - 2, width, height + 4, { fill: stack.name === "encoder" ? p.theme.tint : p.theme.warm, edge: p.theme.edge }));
  scene.button([x, top - HEAD, width, height + HEAD], `${name}: open it`, { go }, [name, `${attentions.map((one) => KINDS[one.kind].toLowerCase()).join(", ")}, feed-forward`, "click to open"]);
  let at = x + pad;
  for (const sublayer of sublayers) {
    const wide = sublayer.heads ? column : lens;
    const box = (sublayer.box = [at, top, wide, height]);
    if (sublayer.heads) tiles(scene, sublayer, at, top + 4, wide, height - 8, rows, grid);
    else scene.paint((p) => p.lens(sublayer.hidden, box[0], top + 6, wide, height - 12, rows));
    scene.part([sublayer.kind, ...(sublayer.heads ? ["multi-head"] : [])], at - 2, top, wide + 4, height);
    adds(scene, at + wide + pad / 2, top, height);
    const words = NAMES[sublayer.kind].find((each) => textWidth(each, 12) < wide + pad);
    if (words) scene.label(words, at + wide / 2, top + height + 12, { size: 12, color: "muted", align: "center" });
    at += wide + pad;
  }
  // Short where the memory's line comes down beside it.
  const cross = sublayers.find((one) => one.kind === "cross-attention");
  const long = !cross || textWidth(`Layer ${i + 1}`, 13) + 8 < cross.box[0] + cross.box[2] / 2 - x;
  scene.label(long ? `Layer ${i + 1}` : String(i + 1), x + 2, top - 12, { size: 13, color: "muted" });
  Object.assign(sublayers, { out: x + width + 5, end: x + width + 5 + exit });
  const { after } = sublayers[sublayers.length - 1];
  scene.paint((p) => p.strips(after, sublayers.out, top, exit, m.pitch, { rows }));
  const tell = tellVector(stack.tokens, `after ${name.toLowerCase()}`);
  scene.grid([sublayers.out, top, exit, rows * m.pitch], after, `After ${name.toLowerCase()}: ${rows} vectors`, tell, null, rows);
}

const NAMES = {
  "self-attention": ["self-attention", "attention", "attn"],
  "masked-self-attention": ["masked", "self"],
  "cross-attention": ["cross-attention", "cross"],
  "feed-forward": ["feed-forward", "feed-fwd", "ffn"],
};

// A thin line across all rows: here the sublayer's output is added to the residual stream.
function adds(scene, x, top, height) {
  scene.paint((p) => {
    p.line([[x, top + 4], [x, top + height - 4]], { color: p.theme.muted, width: 1, alpha: 0.55 });
    p.plus(x, top + 1, 5);
  });
  scene.part("add-and-norm", x - 7, top - 6, 14, 14);
  scene.part("add-and-norm", x - 1.5, top + 8, 3, height - 10);
}

// As few columns of tiles as keep them nearly as large as can be.
function tileGrid(heads, width, height) {
  const gap = heads > 6 ? 2 : 4;
  const grids = Array.from({ length: heads }, (_, i) => {
    const [cols, down] = [i + 1, Math.ceil(heads / (i + 1))];
    const size = Math.min((width - (cols - 1) * gap) / cols, (height - (down - 1) * gap) / down);
    return { cols, down, size, gap, width: cols * size + (cols - 1) * gap };
  });
  const largest = Math.max(...grids.map(({ size }) => size));
  return grids.find(({ size }) => size >= 0.8 * largest);
}

// Every head's map, small.
function tiles(scene, sublayer, x, y, width, height, rows, { cols, down, size, gap, width: wide }) {
  const left = x + (width - wide) / 2;
  const step = down > 1 ? clamp((height - down * size) / (down - 1), gap, 14) : 0;
  const top = y + (height - down * size - (down - 1) * step) / 2;
  sublayer.tiles = sublayer.heads.map((_, h) => [left + (h % cols) * (size + gap), top + Math.floor(h / cols) * (size + step), size, size]);
  const shown = sublayer.kind === "self-attention" ? sublayer.heads[0].q.rows : rows;
  scene.paint((p) => sublayer.heads.forEach((head, h) => p.matrix(head.weights, ...sublayer.tiles[h], { rows: shown })));
  scene.part("head", ...sublayer.tiles[0]);
}

// ---- what joins and what leaves ---------------------------------------------------------------

function memory(scene, model, m) {
  const { encoder } = model;
  const block = encoder.blocks[encoder.blocks.length - 1];
  const [x, top, width, height] = [block.x + 4, block.top, m.narrow ? m.width - block.x - 12 : m.strip, encoder.n * m.pitch];
  encoder.memory = [x, top, width, height];
  scene.label(model.decoder ? "memory" : "output", x, top - 11, { size: 13, weight: 600, color: model.decoder ? "key" : "ink" });
  scene.paint((p) => {
    if (model.decoder) p.box(x - 4, top - 2, width + 8, height + 4, { edge: p.theme.key, radius: 5 });
    p.strips(encoder.output, x, top, width, m.pitch);
  });
  scene.part(["encoder", "cross-attention", "memory"], x - 6, top - 4, width + 12, height + 8);
  scene.grid([x, top, width, height], encoder.output, `The encoder's output: ${encoder.n} vectors`, tellVector(encoder.tokens, "in the encoder's output"));
  if (!m.narrow) legend(scene, x + width + 22, top + 8, m.width - x - width - 24);
}

function legend(scene, x, y, width) {
  if (width < 74) return;
  const bar = Math.min(width, 110);
  const scale = (colours, at, words) => {
    scene.labels.push((p) => {
      for (let i = 0; i < bar; i++) {
        const [r, g, b] = p.theme[colours][Math.round((255 * i) / bar)];
        p.context.fillStyle = `rgb(${r},${g},${b})`;
        p.context.fillRect(x + i, at, 1.5, 9);
      }
      words.forEach((word, i) => p.text(word, x + (bar * i) / (words.length - 1), at + 20, { size: 12, color: p.theme.muted, align: ["left", words.length > 2 ? "center" : "right", "right"][i] }));
    });
  };
  scene.label("vectors", x, y, { size: 12, color: "muted" });
  scale("signed", y + 10, ["−", "0", "+"]);
  scene.label("attention", x, y + 54, { size: 12, color: "muted", most: width });
  scale("ramp", y + 64, ["0", "max"]);
}

// The memory goes to the cross-attention of every decoder layer.
function pipes(scene, model, m) {
  const { encoder, decoder } = model;
  const [left, , width] = encoder.memory;
  const [x, y] = [left + width / 2, encoder.bottom + UNDER + 7];
  decoder.layers.forEach((sublayers) => {
    const cross = sublayers.find((one) => one.kind === "cross-attention");
    const [end, top] = [cross.box[0] + cross.box[2] / 2, cross.box[1]];
    const way = m.narrow ? [[end, top - HEAD + 2], [end, top - 3]] : [[x, encoder.bottom + 3], [x, y], [end, y], [end, top - 10], [end, top - 3]];
    scene.paint((p) => p.line(way, { color: p.theme.key, width: 2, radius: 8, arrow: true }));
    if (m.narrow) scene.label("memory", end + 8, top - 12, { size: 12, color: "key" });
    else scene.part("cross-attention", end - 6, y - 3, 12, top - y + 3);
    cross.enters = end;
  });
  if (m.narrow) return;
  const first = decoder.layers[0].find((one) => one.kind === "cross-attention").enters;
  scene.label("keys and values", first + 9, y + 15, { size: 12, color: "key" });
  scene.part("cross-attention", first - 6, encoder.bottom + 3, x - first + 12, UNDER + 8);
}

function output(scene, model, m, rows, row) {
  const { decoder } = model;
  const last = decoder.blocks.length - 1;
  const { top } = decoder.blocks[last];
  const x = decoder.blocks[last].x + 2;
  const strip = m.narrow ? 80 : Math.min(m.strip, 26);
  const height = decoder.n * m.pitch;
  const found = model.candidates[row].slice(0, clamp(Math.floor(height / 34), 3, 6));
  const left = x + strip + (m.narrow ? 40 : 26);
  const width = m.width - left;
  const pitch = Math.min(40, height / found.length);
  const y0 = decoder.y(row, last);
  const first = clamp(y0 - pitch * 0.6, top, top + height - found.length * pitch);
  scene.label("next token", width < 84 ? m.width : left, top - 11, { size: 13, weight: 600, align: width < 84 ? "right" : "left" });
  scene.paint((p) => {
    p.strips(decoder.output, x, top, strip, m.pitch, { rows });
    p.box(x - 2, y0 - m.pitch / 2, strip + 4, m.pitch, { edge: p.theme.query, line: 2, radius: 3 });
    found.forEach(([token, , share], i) => {
      const y = first + (i + 0.5) * pitch;
      p.ribbon(x + strip + 3, y0, left - 4, y, 1 + 3 * share, p.theme.query, 0.35 + 0.65 * share);
      p.text(token, left, y - 6, { size: 14, weight: i ? 400 : 650, most: width });
      p.text(percent(share).replace("under ", "<"), m.width, y + 8, { size: 12, align: "right", color: p.theme.muted });
      p.box(left, y + 5, width - 40, 6, { fill: p.theme.masked, radius: 3 });
      p.box(left, y + 5, Math.max(2, (width - 40) * share), 6, { fill: p.theme.query, radius: 3 });
    });
  });
  scene.output = [x - 4, top - 4, m.width - x + 4, height + 8];
  scene.part("loss", x + strip + 3, top - 4, m.width - x - strip - 3, height + 8);
  scene.part(["output", "decoding"], ...scene.output);
  scene.part("decoder", x - 4, top - 4, strip + 8, height + 8);
  const [best, , share] = found[0];
  const tip = [`After “${decoder.tokens[row]}”: “${shorten(best)}”, ${percent(share)}`, "click to see logits and softmax"];
  scene.button([x, top - HEAD, m.width - x, HEAD + height], `Next token: ${best}, ${percent(share)}. Open logits and softmax`, { go: "decoder/output" }, tip);
}
