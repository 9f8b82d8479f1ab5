// What the map draws, in the form in which it travels: helpers/widgets/map_data.py in JavaScript.

import { labels, labelsOfNext } from "./labels.js";
import { softmax, topK } from "./matrices.js";

const [STRIP, WIDE_STRIP] = [32, 64]; // entries of a vector in a colour strip
const MOST_TOKENS = 64;
const STEPS = 2047; // of a number, either side of zero
const CANDIDATES = 10;

// Arrays as whole numbers of 16 bits, one behind the other.
class Packer {
  codes = [];
  add(values, shape) {
    const most = values.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    const scale = Number((most / STEPS || 1).toPrecision(6));
    const place = { at: this.codes.length, shape, scale };
    for (const value of values) this.codes.push(Math.round(value / scale));
    return place;
  }
  bytes() {
    return new Uint8Array(Int16Array.from(this.codes).buffer);
  }
}

export function problemWith(...lists) {
  const n = Math.max(...lists.map((tokens) => tokens.length));
  if (n <= MOST_TOKENS) return "";
  return `This text has ${n} tokens, and the map draws up to ${MOST_TOKENS}, because more rows would be too thin to see. Type a shorter text.`;
}

// Which entry of a vector a strip shows: pairs of them, closer together at the start.
function entryAt(width, size, i) {
  if (width <= size) return i;
  const [pair, last, square] = [i >> 1, Math.floor(width / 2) - 1, ((size >> 1) - 1) ** 2];
  return 2 * Math.max(pair, Math.floor((2 * last * pair * pair + square) / (2 * square))) + (i % 2);
}

// `encoder`, `decoder`: what Transformer.encode and decode return, each with its `tokens`;
// `written`: the token after each target position; `tokensOf`: ids to tokens.
export function packTrace(model, { encoder, decoder, written, logits, tokensOf }) {
  const { d_model: width, n_heads: heads } = model.config;
  const packer = new Packer();
  const strip = (values, wide = width, most = STRIP) => {
    const n = values.length / wide;
    const size = Math.min(most, wide);
    const chosen = new Float32Array(n * size);
    for (let r = 0; r < n; r++)
      for (let i = 0; i < size; i++) chosen[r * size + i] = values[r * wide + entryAt(wide, size, i)];
    return { ...packer.add(chosen, [n, size]), width: wide };
  };
  // (n, heads side by side) -> (heads, n, K)
  const perHead = (values) => {
    const [n, size] = [values.length / width, width / heads];
    const cut = new Float32Array(values.length);
    for (let h = 0, at = 0; h < heads; h++)
      for (let r = 0; r < n; r++) for (let i = 0; i < size; i++) cut[at++] = values[r * width + h * size + i];
    return packer.add(cut, [heads, n, size]);
  };
  const sublayer = (part) => {
    const made = { kind: part.kind };
    for (const name of ["read", "found", "after"]) made[name] = strip(part[name]);
    if (part.hidden) return { ...made, hidden: strip(part.hidden, model.config.d_ff, WIDE_STRIP) };
    for (const name of ["query", "key", "value"]) made[name] = perHead(part[name]);
    const [queries, keys] = [part.query.length / width, part.key.length / width];
    made.weights = packer.add(part.weights, [heads, queries, keys]);
    return { ...made, mask: [part.causal && queries > 1 ? "causal" : "all"] };
  };
  const stack = (one) => {
    const made = { tokens: labels(one.tokens), layers: one.layers.map((layer) => layer.map(sublayer)) };
    for (const name of ["embeddings", "positions", "entered", "output"]) made[name] = strip(one[name]);
    return made;
  };
  const facts = { model: "the translator", kind: "", given: 1, right: "", normFirst: model.config.norm_first, width };
  const parts = { pieces: null, normalised: false, scaled: true, positions: true, activation: "ReLU" };
  const described = {
    ...facts,
    ...parts,
    encoder: stack(encoder),
    decoder: stack(decoder),
    written: labels(written),
    ...candidatesOf(logits, written, decoder.tokens, tokensOf),
    image: null,
    choices: [], // other pictures, what is guessed early, and which one is read: a Vision Transformer's
    guesses: [],
    reads: -1,
    aim: "",
  };
  return { described, data: packer.bytes() };
}

// The likeliest tokens at every position, and which of them was written.
function candidatesOf(logits, written, read, tokensOf) {
  const size = logits.length / written.length;
  const drawn = [];
  const candidates = written.map((token, row) => {
    const scores = logits.subarray(row * size, (row + 1) * size);
    const shares = softmax(scores);
    const best = topK(scores, CANDIDATES);
    const tokens = tokensOf(best);
    drawn.push(tokens.indexOf(token));
    const words = labelsOfNext(read.slice(0, row + 1), tokens);
    // A softmax over many tokens never reaches 1; the loss of an unlikely one needs its digits.
    const share = (id) => Math.min(Number(shares[id].toPrecision(4)), 0.99998);
    return best.map((id, i) => [words[i], Number(scores[id].toFixed(6)), share(id), i + 1]);
  });
  return { candidates, drawn };
}
