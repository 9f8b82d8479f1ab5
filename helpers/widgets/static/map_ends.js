// The map, second depth at both ends: how tokens become vectors, and how a vector becomes a token.

import { Scene, number, percent, tellVector } from "./map_scene.js";
import { title } from "./map_trace.js";
import { clamp, textWidth } from "./text.js";

export function embeddingScene(model, where, width, room) {
  const { stack } = where;
  const scene = new Scene(width, room, `${title(stack.name)}: every token’s embedding plus the vector of its position`);
  const label = clamp(Math.ceil(Math.max(...stack.tokens.map((token) => textWidth(token, 14)))) + 40, 70, 140);
  const gap = 46;
  const strip = clamp((width - label - 2 * gap - 4) / 3, 30, 330);
  const top = 62;
  const pitch = clamp((room - top - 10) / stack.n, 4, 30);
  const columns = [
    ["embeddings", "embedding", "Embedding", model.scaled ? `learned, one per token, times √${model.width}` : "learned, one vector per token"],
    ["positions", "position", "Position", "one vector per position, in every sentence"],
    ["entered", "what enters the first layer", model.normalised ? "Sum, then norm" : "Sum", "what enters the first layer"],
  ];
  stack.tokens.forEach((token, row) => {
    if (row % Math.ceil(14 / pitch)) return;
    const y = top + (row + 0.5) * pitch;
    scene.label(token, label - 34, y, { size: clamp(pitch - 1, 12, 14), align: "right", most: label - 36 });
    scene.label(String(row), label - 8, y, { size: 12, align: "right", color: "muted" });
  });
  columns.forEach(([name, what, words, more], i) => {
    const x = label + i * (strip + gap);
    scene.paint((p) => p.strips(stack[name], x, top, strip, pitch, { height: Math.max(3, pitch * 0.78) }));
    scene.label(words, x, 18, { size: 16, weight: 650 });
    scene.label(more, x, 40, { size: 13, color: "muted", most: strip + gap - 8 });
    if (i) scene.label(i === 1 ? "+" : "=", x - gap / 2, top + (pitch * stack.n) / 2, { size: 22, weight: 600, align: "center", color: "muted" });
    scene.grid([x, top, strip, pitch * stack.n], stack[name], `${words}: ${stack.n} vectors`, tellVector(stack.tokens, what));
    scene.part(["embeddings", "positions", "embeddings"][i], x, 0, strip, room);
    scene.beat(["Each token’s id picks a row of the embedding table.", "Each position has a vector of its own, the same for every sentence.", "The two are added. From here on one vector carries both."][i], [i ? x - gap : 0, 0, strip + (i ? gap : label + 2), room]);
  });
  scene.hint = `A strip shows ${stack.embeddings.cols} of a vector’s ${model.width} entries; each of the three panels has its own colour scale. Point at an entry to read it.`;
  return scene;
}

export function outputScene(model, where, width, room, row) {
  const { decoder, candidates } = model;
  const found = candidates[row];
  const scene = new Scene(width, room, `After “${decoder.tokens[row]}”: logits, softmax, next token`);
  const left = clamp(width * 0.17, 70, 170);
  const top = 56;
  const pitch = clamp((room - top - 8) / found.length, 16, 40);
  const token = clamp(Math.max(...found.map(([word]) => textWidth(word, 15))) + 16, 60, 150);
  const room2 = (width - left - token - 150) / 2;
  const [x1, x2] = [left + token, left + token + room2 + 90];
  const high = Math.max(...found.map(([, logit]) => logit));
  const low = Math.min(0, ...found.map(([, logit]) => logit));
  const out = { ...decoder.output };
  const y0 = top + (pitch * found.length) / 2;
  scene.paint((p) => {
    const strip = left - 34;
    p.context.save();
    p.context.beginPath();
    p.context.rect(0, y0 - 13, strip, 26);
    p.context.clip();
    p.strips(out, 0, y0 - 13 - row * 26, strip, 26, { height: 26 });
    p.context.restore();
    found.forEach(([word, logit, share], i) => {
      const y = top + (i + 0.5) * pitch;
      const bar = clamp(pitch * 0.5, 8, 18);
      p.ribbon(strip + 3, y0, left - 5, y, 1 + 4 * share, p.theme.query, 0.3 + 0.7 * share);
      p.text(word, left, y, { size: 15, weight: i ? 400 : 650, most: token - 8 });
      const size = Math.max(2, (room2 * (logit - low)) / (high - low || 1));
      p.box(x1, y - bar / 2, size, bar, { fill: p.theme.lane, radius: 3 });
      p.text(number(logit), x1 + size + 6, y, { size: 13, color: p.theme.muted });
      p.box(x2, y - bar / 2, Math.max(2, room2 * share), bar, { fill: p.theme.query, radius: 3 });
      p.text(percent(share), x2 + Math.max(2, room2 * share) + 6, y, { size: 13, weight: i ? 400 : 650 });
    });
  });
  scene.label(`“${decoder.tokens[row]}”, last layer`, 0, y0 - 26, { size: 12, color: "muted", most: left - 20 });
  scene.label("Logits", x1, 14, { size: 16, weight: 650 });
  scene.label("per token of the vocabulary", x1, 36, { size: 13, color: "muted", most: room2 + 80 });
  scene.label("Softmax", x2, 14, { size: 16, weight: 650 });
  scene.label("probabilities: they sum to 1", x2, 36, { size: 13, color: "muted", most: width - x2 });
  const one = { data: Float32Array.from(found.flatMap(([, logit, share]) => [logit, share])), rows: found.length, cols: 2 };
  const tell = (_, i) => [`“${found[i][0]}”`, `logit ${number(found[i][1])}, probability ${percent(found[i][2])}`];
  scene.grid([left, top, width - left, pitch * found.length], one, "Likeliest next tokens", tell);
  scene.beat("The last layer’s vector of the newest token is multiplied with the output matrix.", [0, 0, left - 4, room]);
  scene.beat("That gives one number per token of the vocabulary, its logit.", [left - 6, 0, x2 - left - 6, room]);
  scene.beat(`A softmax turns logits into probabilities. “${found[0][0]}” gets ${percent(found[0][2])}.`, [x2 - 8, 0, width - x2 + 8, room]);
  scene.hint = `The ten likeliest tokens after “${decoder.tokens[row]}”. What is written next becomes the decoder’s next input.`;
  return scene;
}
