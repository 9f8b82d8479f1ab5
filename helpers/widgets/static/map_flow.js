// The map, what moves in the whole model: the beats of playing, and a followed token's way.

import { KINDS, meanWeights, valueAt } from "./map_trace.js";

const BEATS = {
  "self-attention": "every token attends to every token, and adds what it collects",
  "feed-forward": "every vector goes through the same small network, by itself",
};

// How many beats come before the first target token is read: every later one writes a token.
export const beatsBefore = (model) => (model.recurrent ? 1 : 3 + model.encoder.layers.flat().length);

export function wholeBeats(scene, model) {
  const { encoder, decoder } = model;
  const { measures: m } = scene;
  const [{ top }] = encoder.blocks;
  const height = encoder.n * m.pitch + 6;
  scene.beat("The sentence is cut into tokens.", [0, top - 3, m.label + 3, height]);
  scene.beat("Every token gets its embedding, plus a vector for its position.", [m.label + 3, top - 3, (m.narrow ? m.width : m.left - 4) - m.label - 3, height]);
  encoder.layers.forEach((sublayers, i) => {
    const block = encoder.blocks[i + 1];
    let from = m.narrow ? 0 : block.x - 4;
    sublayers.forEach((one, k) => {
      const next = sublayers[k + 1];
      const to = next ? next.box[0] - 2 : sublayers.end + 3;
      scene.beat(`Encoder layer ${i + 1}, ${KINDS[one.kind].toLowerCase()}: ${BEATS[one.kind]}.`, [from, block.top - 6, to - from, height + 6]);
      from = to;
    });
  });
  const [x, y, w, h] = encoder.memory;
  const out = [m.narrow ? 0 : x - 6, y - 6, m.narrow ? m.width : w + 12, h + 12];
  if (!decoder) return void scene.beat("One vector per token comes out, and each now depends on the whole sentence.", out);
  const pipe = [0, encoder.bottom + 3, m.narrow ? 0 : x + w, decoder.blocks[0].top - encoder.bottom - 6];
  scene.beat("The encoder is done. Its output, the memory, goes to every decoder layer.", out, pipe);
  for (let row = 0; row < decoder.n; row++) {
    const [token] = model.candidates[row][0];
    const said = row ? `“${decoder.tokens[row]}” is read as well` : `The decoder starts from “${decoder.tokens[0]}”`;
    scene.beat(`${said}, and the likeliest next token is “${token}”.`, ...rowOfStack(scene, decoder, row));
    scene.beats[scene.beats.length - 1].now = [scene.output];
  }
}

// A token's row from left to right: strips and networks at its height, heads where its row lies.
function rowOfStack(scene, stack, row) {
  const { measures: m } = scene;
  const half = stack.pitch / 2;
  const rects = [];
  const band = (block, from, to) => rects.push([from, stack.y(row, block) - half, to - from, 2 * half]);
  let from = 0;
  stack.layers.forEach((sublayers, i) => {
    from = m.narrow ? 0 : from;
    if (m.narrow && !i) band(0, 0, m.width);
    for (const sublayer of sublayers.filter((one) => one.heads)) {
      const [x, , width] = sublayer.box;
      band(m.narrow ? i + 1 : 0, from, x);
      from = x + width;
      for (const [left, top, size] of sublayer.tiles) {
        const high = size / sublayer.heads[0].q.rows;
        rects.push([left, top + row * high, size, high]);
      }
    }
    if (m.narrow) band(i + 1, from, m.width);
  });
  const last = stack.blocks.length - 1;
  if (m.narrow) band(last, 0, m.width);
  else band(0, from, stack.name === "decoder" ? scene.output[0] + Math.min(m.strip, 26) + 8 : m.width);
  return rects;
}

// What stays lit, and the bands of what flows into a token, in every layer.
export function followed(scene, model, follow) {
  const [name, index] = follow.split(":");
  const [stack, row] = [model[name], Number(index)];
  const { measures: m } = scene;
  const ribbons = [];
  stack.layers.forEach((sublayers, i) => {
    for (const sublayer of sublayers.filter((one) => one.heads)) {
      const mean = meanWeights(sublayer);
      const [x, , width] = sublayer.box;
      const cross = sublayer.kind === "cross-attention";
      if (cross && m.narrow) continue; // the memory is a screen away
      for (let key = 0; key < mean.cols; key++) {
        const weight = valueAt(mean, row, key);
        if (weight < 0.02 || (!cross && key === row)) continue;
        const start = cross ? [model.encoder.memory[0] - 4, model.encoder.y(key)] : [x - 4, stack.y(key, i + 1)];
        ribbons.push({ start, end: [x + width + 1, stack.y(row, i + 1)], weight, cross });
      }
    }
  });
  const lit = rowOfStack(scene, stack, row);
  if (name === "decoder") lit.push(...scene.parts.loss, ...scene.parts.memory);
  const paint = (p) => {
    for (const { start, end, weight, cross } of ribbons) {
      p.ribbon(...start, ...end, 1 + 9 * weight, cross ? p.theme.key : p.theme.query, 0.25 + 0.6 * weight);
    }
    if (stack.pitch >= 13) return;
    p.box(0, stack.y(row) - 9, m.label, 18, { fill: p.theme.paper, radius: 3 }); // its name, where many are left out
    p.text(stack.tokens[row], m.label - 3, stack.y(row), { size: 14, weight: 650, align: "right", most: m.label - 4 });
  };
  return { lit, paint };
}
