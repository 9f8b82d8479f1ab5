// The map, what came from Python: numbers, places in the model, and attention worked out again.

import { wholeNumbers } from "./numbers.js";
import { JOINED, isSpecial, isWord } from "./text.js";

// A matrix: rows × cols numbers. `width` is that of the whole vector, of which a strip has a part.
export function matrix(data, rows, cols, more = {}) {
  return { data, rows, cols, most: typical(data), ...more };
}

export const oneRow = (values, more) => matrix(Float32Array.from(values), 1, values.length, more);

// What the darkest colour stands for: few numbers are larger, and one huge one hides no other.
function typical(data) {
  const sizes = Float32Array.from(data, Math.abs).sort();
  return sizes[Math.floor(0.98 * (sizes.length - 1))] || 1;
}

export const valueAt = (one, row, col) => one.data[row * one.cols + col];
// Which entry of the whole vector a column is: pairs of them, closer together at the start.
export function entryOf({ width = 0, cols }, col) {
  if (width <= cols) return col;
  const [pair, last, square] = [col >> 1, Math.floor(width / 2) - 1, ((cols >> 1) - 1) ** 2];
  return 2 * Math.max(pair, Math.floor((2 * last * pair * pair + square) / (2 * square))) + (col % 2);
}

export const rowOf = (one, row) => one.data.subarray(row * one.cols, (row + 1) * one.cols);

export function readTrace(described, view) {
  if (described.recurrent) return readRecurrent(described, wholeNumbers(view, Int16Array));
  const codes = wholeNumbers(view, Int16Array);
  const numbers = (place) => numbersAt(codes, place);
  const strip = (place) => matrix(numbers(place), ...place.shape, { width: place.width });
  const perHead = (place) => {
    const [heads, rows, cols] = place.shape;
    const all = numbers(place);
    const size = rows * cols;
    return Array.from({ length: heads }, (_, h) => matrix(all.subarray(h * size, (h + 1) * size), rows, cols));
  };
  const sublayer = (part) => {
    const read = { kind: part.kind };
    for (const name of ["read", "found", "after"]) read[name] = strip(part[name]);
    if (!part.query) return { ...read, hidden: strip(part.hidden) };
    const [query, key, value, weights] = ["query", "key", "value", "weights"].map((name) => perHead(part[name]));
    // One mask stands for all heads where they have the same.
    const maskOf = (h) => part.mask[h % part.mask.length];
    return { ...read, heads: query.map((q, h) => new Head(q, key[h], value[h], weights[h], maskOf(h))) };
  };
  const stack = (one, name) => {
    if (!one) return null;
    const parts = { name, tokens: one.tokens, n: one.tokens.length };
    for (const part of ["embeddings", "positions", "entered", "output"]) parts[part] = strip(one[part]);
    return { ...parts, layers: one.layers.map((layer) => layer.map(sublayer)) };
  };
  const [encoder, decoder] = [stack(described.encoder, "encoder"), stack(described.decoder, "decoder")];
  const stacks = [encoder, decoder].filter(Boolean);
  // Pictures of grey values, and how many patches lie along their sides.
  const along = Math.sqrt(stacks[0].n - 1);
  const read = (place) => place && matrix(numbers(place), ...place.shape, { most: 255, grey: true, along });
  const image = read(described.image);
  const choices = described.choices.map(([place, is, said, share]) => ({ image: read(place), is, said, share }));
  for (const one of stacks) Object.assign(one, { title: described.kind || title(one.name), image, answers: false });
  // The stack whose output becomes tokens, or classes.
  const last = stacks[stacks.length - 1];
  last.answers = described.candidates.length > 0;
  if (decoder) decoder.written = described.written;
  return { ...described, encoder, decoder, stacks, image, choices, shown: 1 };
}

// The likeliest next tokens after a row, or the likeliest classes. What was drawn is among them; where
// losses are shown, the reference's token is.
export function likeliest(model, row, most) {
  const [heat, { shown = 1 }] = [model.drawnAt?.[row] ?? 1, model];
  // The share on show may be another than the one it was drawn with.
  const drew = !model.drawnAt ? "written" : heat === shown ? "drawn" : `drawn at ${heat.toFixed(1)}`;
  const own = model.chosen?.includes(row) ? "chosen" : model.kind === "GPT" && row >= model.given - 1 ? drew : "";
  const mark = model.scored ? "reference" : own;
  const isDrawn = (i) => Boolean(mark) && model.drawn[row] === i;
  // At another temperature than 1: the whole vocabulary's sum came with them.
  const k = shown === 1 || !model.sums ? -1 : model.temperatures.findIndex((one) => Math.abs(one - shown) < 0.05);
  const shareOf = (logit, share) => (k < 0 ? share : Math.exp(logit / shown - model.sums[row][k]));
  const named = ([token, logit, share, , kept = 1], i) => ({
    token,
    logit,
    share: shareOf(logit, share),
    kept,
    drawn: isDrawn(i),
    mark,
  });
  const found = model.candidates[row].map(named);
  const drawn = found.find((one) => one.drawn);
  // A GPT's next token is drawn from the candidates alone, so their shares then count as the whole.
  const sum = found.reduce((all, one) => all + one.share, 0);
  for (const one of found) one.among = one.share / sum;
  const first = found.slice(0, most);
  return drawn && !first.includes(drawn) ? [...first.slice(0, -1), drawn] : first;
}

// A sentence put together again from the names of its tokens.
export const sentenceOf = (names) =>
  names
    .filter((name) => !isSpecial(name))
    .reduce((text, name) => {
      if (name.startsWith(JOINED)) return text + name.slice(1);
      return text + (text && /[\p{L}\p{N}]/u.test(name) ? ` ${name}` : name.replace("␣", " "));
    }, "");

// A translation that never came to its end.
export const stopped = (written) => (written.at(-1) === "<eos>" ? "" : ` (stopped after ${written.length} tokens)`);

// What a model writes in some of its rows. A GPT's pieces hold their own spaces.
export function textOf({ pieces, written }, from, to = Infinity) {
  const own = pieces?.slice(from + 1, to + 1).join("");
  return own?.trim() ?? sentenceOf(written.slice(from, to));
}

export const numbersAt = (codes, { at, shape, scale }) =>
  Float32Array.from(codes.subarray(at, at + shape.reduce((a, b) => a * b, 1)), (c) => c * scale);

// The recurrent pair of lesson 02: one attention, worked out by tanh and a learned vector.
function readRecurrent(described, codes) {
  const read = { ...described, stacks: [] };
  const names = "states before after context projected_states projected_queries scores weights";
  for (const name of names.split(" ")) {
    const { shape, width } = described[name];
    read[name] = matrix(numbersAt(codes, described[name]), ...shape, { width });
  }
  Object.assign(read.weights, { weights: true, most: 1 });
  read.vector = oneRow(numbersAt(codes, described.vector));
  return read;
}

// One head. Its weights and its mask are the model's own; scores and mixture are worked out here from
// q, k and v, when they are wanted.
class Head {
  constructor(q, k, v, weights, mask) {
    Object.assign(this, { q, k, v, mask, causal: mask === "causal", root: Math.sqrt(q.cols) });
    // Four times an even share fills the ramp, or the largest weight if that is more.
    const most = weights.data.reduce((a, b) => Math.max(a, b), Math.min(1, 4 / weights.cols));
    this.weights = { ...weights, most, weights: true };
  }
  get masked() {
    return this.mask !== "all";
  }
  allowed(query, key) {
    return this.causal ? key <= query : !this.masked || this.mask[query][key] === "1";
  }
  get dots() {
    return (this._dots ||= this.worked(this.q.rows, this.k.rows, (t, s) => {
      const k = rowOf(this.k, s);
      return rowOf(this.q, t).reduce((sum, one, i) => sum + one * k[i], 0);
    }));
  }
  get scores() {
    if (this._scores) return this._scores;
    const all = this.worked(this.q.rows, this.k.rows, (t, s) => valueAt(this.dots, t, s) / this.root);
    // A softmax tells the largest apart, too, so only the very largest has the darkest colour.
    const allowed = all.data.filter((_, i) => this.allowed(Math.floor(i / all.cols), i % all.cols));
    return (this._scores = Object.assign(all, { most: Math.max(...allowed.map(Math.abs)) || 1 }));
  }
  get context() {
    const { v } = this;
    return (this._context ||= this.worked(this.q.rows, v.cols, (t, j) => {
      let sum = 0;
      for (let s = 0; s < v.rows; s++) sum += valueAt(this.weights, t, s) * valueAt(v, s, j);
      return sum;
    }));
  }
  worked(rows, cols, entry) {
    const found = new Float32Array(rows * cols);
    for (let r = 0; r < rows; r++) for (let c = 0; c < cols; c++) found[r * cols + c] = entry(r, c);
    return matrix(found, rows, cols);
  }
}

// The mean over the heads that are on of how much each query attends to each key.
export function meanWeights(sublayer) {
  if (sublayer.mean) return sublayer.mean;
  const all = sublayer.heads.filter(({ off }) => !off).map((head) => head.weights);
  const { rows, cols } = sublayer.heads[0].weights;
  const sum = new Float32Array(rows * cols);
  for (const one of all) one.data.forEach((w, i) => (sum[i] += w / all.length));
  return (sublayer.mean = { ...matrix(sum, rows, cols), weights: true });
}

// ---- places: "", "encoder/0", "encoder/0/self-attention/2", "encoder/0/self-attention/2/3,4",
// ---- and beside the layers "encoder/embedding", "decoder/embedding", "decoder/output".

export const KINDS = {
  "self-attention": "Self-attention",
  "masked-self-attention": "Masked self-attention",
  "cross-attention": "Cross-attention",
  "feed-forward": "Feed-forward",
};
export const BRIEF = { ...KINDS, "masked-self-attention": "Masked", "cross-attention": "Cross", "feed-forward": "FF" };

export function readPlace(text, model) {
  if (model.recurrent) return readPairScore(text, model);
  const [name, layer, kind, head, cell, last] = text.split("/");
  const stack = model[name];
  if (text === "heads" && model.splits) return { depth: 0, inside: "heads", home: "" };
  if (!stack || layer === undefined) return { depth: 0 };
  if (layer === "output" && !stack.answers) return { depth: 0 };
  // "encoder/embedding/2": there the third token and the next have changed places.
  if (layer === "embedding" || layer === "output")
    return { depth: 1, stack, section: layer, first: kind < stack.n - 1 ? Number(kind) : -1 };
  const sublayers = stack.layers[layer];
  if (!sublayers) return { depth: 0 };
  const place = { depth: 1, stack, layer: Number(layer), sublayers };
  const part = sublayers.find((one) => one.kind === kind);
  const inside = readInside(part, head, cell, stack.n);
  const keysOf = () => (kind === "cross-attention" ? model.encoder : stack).tokens;
  if (inside) {
    const { after } = sublayers[sublayers.indexOf(part) - 1] ||
      stack.layers[layer - 1]?.at(-1) || { after: stack.entered };
    const { activation, normFirst } = model;
    return { ...place, ...inside, home: `${name}/${layer}`, activation, normFirst, keys: keysOf(), before: after };
  }
  const sublayer = sublayers.find((one) => one.kind === kind && one.heads);
  if (!sublayer || !sublayer.heads[head]) return place;
  Object.assign(place, { depth: 2, sublayer, kind, head: sublayer.heads[head], headIndex: Number(head) });
  place.keys = keysOf();
  place.opens = model.opens;
  if (model.opens && "qkv".includes(cell) && last < place.head[cell].rows) {
    const home = text.split("/").slice(0, 4).join("/");
    const turns = cell !== "v" && model.turns?.length ? model.turns.map((turn) => turn * last) : null;
    return { ...place, depth: 3, inside: "projection", letter: cell, row: Number(last), home, turns };
  }
  const [query, key] = (cell || "").split(",").map(Number);
  if (!cell || !(query < place.head.q.rows) || !(key < place.head.k.rows)) return place;
  // Where there is no other key, nothing decides.
  const others = place.keys.some((_, k) => k !== key && place.head.allowed(query, k));
  const splits = model.splits && others && place.head.allowed(query, key);
  const number = { ...place, depth: 3, query, key, splits };
  const [why, other = "-1"] = (last || "").split(",");
  if (!splits || why !== "why") return number;
  const home = text.split("/").slice(0, 5).join("/");
  return { ...number, inside: "why", home, other: Number(other) };
}

// Inside a sublayer: ".../norm/3" or ".../join/3" for token 3, ".../neuron/17,3" for neuron 17 and token 3.
function readInside(sublayer, what, which, n) {
  const numbers = (which || "").split(",").map(Number);
  const row = numbers[numbers.length - 1];
  if (!sublayer || !(row < n)) return null;
  const there = { norm: sublayer.norm, join: sublayer.heads };
  if (there[what]) return { depth: 2, inside: what, sublayer, row };
  const col =
    what === "neuron" && sublayer.neurons
      ? Array.from({ length: sublayer.hidden.cols }, (_, i) => entryOf(sublayer.hidden, i)).indexOf(numbers[0])
      : -1;
  return col < 0 ? null : { depth: 2, inside: "neuron", sublayer, row, col };
}

// "score/3,1": the score of decoding step 3 for source token 1.
function readPairScore(text, model) {
  const [query, key] = (text.split("/")[1] || "").split(",").map(Number);
  if (!(query < model.tokens.length) || !(key < model.source.length)) return { depth: 0 };
  const { cols } = model.vector;
  const given = rowOf(model.weights, query);
  const [asks, answers] = [rowOf(model.projected_queries, query), rowOf(model.projected_states, key)];
  const sums = model.projected_states.data.map((value, i) => asks[i % cols] + value);
  const head = {
    q: model.vector,
    k: matrix(sums.map(Math.tanh), model.source.length, cols),
    scores: model.scores,
    set: model.chosen.includes(query) && model.source[given.indexOf(Math.max(...given))],
    weights: model.chosen.includes(query) ? softmax(model.scores) : model.weights,
    allowed: () => true,
  };
  const strips = { [`W s${subscript(query)}`]: asks, [`+ U h: “${model.source[key]}”`]: answers };
  strips["= sum"] = rowOf(matrix(sums, model.source.length, cols), key);
  const { most } = model.projected_states;
  const parts = Object.entries(strips).map(([name, values]) => [name, oneRow(values, { most })]);
  const words = { q: "learned vector", k: "tanh(…) for", name: "v", root: "", dot: "v · tanh(…)", all: "the source" };
  return { depth: 3, head, query, key, keys: model.source, stack: { tokens: model.tokens }, words, parts };
}

// The decoder's states are counted as in the paper: step 1 begins with the first, of index 0.
export const subscript = (n) => String(n).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]);

// What a step’s scores would give, where the learner chose the weights.
const softmax = (one) => {
  const rows = one.data.map((_, i) =>
    rowOf(one, Math.floor(i / one.cols)).reduce((sum, e) => sum + Math.exp(e - one.data[i]), 0),
  );
  return { ...one, data: rows.map((sum) => 1 / sum), weights: true };
};

const WHOLE = { "": "The model", GPT: "The model: GPT, a decoder only", ViT: "A Vision Transformer" };

// The same place from the model down, each with its words: what the breadcrumb shows.
export function trail(text, model) {
  const place = readPlace(text, model);
  const parts = text.split("/");
  const steps = [{ place: "", words: WHOLE[(!place.depth && model.kind) || ""] }];
  if (model.recurrent && place.depth)
    steps.push({ place: text, words: `Score of step ${place.query + 1} for “${place.keys[place.key]}”` });
  if (model.recurrent) return steps;
  if (place.section === "embedding")
    steps.push({ place: text, words: `${place.stack.title}: embedding${model.positions ? " and position" : ""}` });
  else if (place.section) steps.push({ place: text, words: "Logits and softmax" });
  else if (place.depth > 0)
    steps.push({ place: parts.slice(0, 2).join("/"), words: `${place.stack.title} layer ${place.layer + 1}` });
  const inLayer = {
    norm: ({ kind }) => `Layer norm ${model.normFirst ? "before" : "after"} ${KINDS[kind].toLowerCase()}`,
    neuron: ({ hidden }) => `Feed-forward, neuron ${entryOf(hidden, place.col) + 1}`,
    join: ({ kind }) => `${KINDS[kind]}: joined, then W_O`,
  }[place.inside];
  if (inLayer) return [...steps, { place: text, words: inLayer(place.sublayer) }];
  if (place.depth > 1)
    steps.push({ place: parts.slice(0, 4).join("/"), words: `${KINDS[place.kind]}, head ${place.headIndex + 1}` });
  if (place.inside === "projection") {
    const { letter } = place;
    const names = letter === "q" ? place.stack.tokens : place.keys;
    return [...steps, { place: text, words: `W_${letter.toUpperCase()} on “${names[place.row]}”` }];
  }
  if (place.depth > 2)
    steps.push({
      place: parts.slice(0, 5).join("/"),
      words: `“${place.stack.tokens[place.query]}” to “${place.keys[place.key]}”`,
    });
  if (place.inside === "heads") steps.push({ place: text, words: "What each head is worth" });
  else if (place.inside) {
    const words = place.other < 0 ? "Why this weight?" : `Why not “${place.keys[place.other]}”?`;
    steps.push({ place: text, words });
  }
  return steps;
}

export const title = (word) => word[0].toUpperCase() + word.slice(1);

// One step deeper where nothing was pointed at: the first layer, its sharpest head, of the attention
// that `here` names if it's there, and in the head the pair that says most.
export function deeper(text, model, row = 0, followed = false, here = "") {
  const largest = ({ weights }) => `${row},${rowOf(weights, row).indexOf(Math.max(...rowOf(weights, row)))}`;
  if (model.recurrent) return text || `score/${largest(model)}`;
  const place = readPlace(text, model);
  if (place.depth === 0) return `${model.stacks[0].name}/0`;
  if (place.section || place.inside) return text;
  if (place.depth === 1) {
    const { sublayer, head } = sharpest(place.sublayers, here);
    return `${text}/${sublayer.kind}/${head}`;
  }
  if (place.depth > 2) return text;
  if (followed && !model.image) return `${text}/${largest(place.head)}`;
  const { query, key } = tellingPair(place, model.image ? row : -1);
  return `${text}/${query},${key}`;
}

// The largest weight from one word, or patch, to another in a head, of one `row` if it's given; where
// there are no two words, of all.
export function tellingPair({ head, stack, keys }, row = -1) {
  const { data, cols } = head.weights;
  const own = keys === stack.tokens;
  const all = Array.from(data, (_, i) => [Math.floor(i / cols), i % cols]).filter(
    ([query, key]) => head.allowed(query, key) && (row < 0 || query === row),
  );
  const named = (names, i) => (stack.image ? i > 0 : isWord(names[i]));
  const words = all.filter(([query, key]) => named(stack.tokens, query) && named(keys, key) && !(own && query === key));
  const most = (cells) => cells.reduce((a, b) => (data[b[0] * cols + b[1]] > data[a[0] * cols + a[1]] ? b : a));
  const [query, key] = most(words.length ? words : all);
  return { query, key };
}

function sharpest(sublayers, here) {
  const attention = sublayers.filter((one) => one.heads);
  const sublayer = attention.find((one) => one.kind === here) || attention.pop();
  const sharpness = sublayer.heads.map(({ weights }) => weights.data.reduce((sum, w) => sum + w * w, 0));
  return { sublayer, head: sharpness.indexOf(Math.max(...sharpness)) };
}
