// The map's tour, told about this sentence: helpers/widgets/map_tours.py in JavaScript. The
// sentences themselves come from there.

import { labels } from "./labels.js";

const LONGEST = 18; // characters of a token inside a sentence

// `steps`: pairs of a text and what the map shows with it, with words in braces; `trace`: what
// Translator.trace returned.
export function tourOf(steps, trace) {
  const words = wordsOf(trace);
  const fill = (value) => (/^\{\w+\}$/.test(value) ? words[value.slice(1, -1)] : value);
  return steps.map(([text, state]) => ({
    text: text.replace(/\{(\w+)\}/g, (_, name) => words[name]),
    ...Object.fromEntries(Object.entries(state).map(([key, value]) => [key, fill(value)])),
  }));
}

function wordsOf({ encoder, decoder, written: tokens, described }) {
  const [source, written, read] = [encoder.tokens, tokens, decoder.tokens].map(shown);
  const { layer, head, query, key } = sharpest(encoder);
  const place = `encoder/${layer}/self-attention/${head}`;
  const row = mostTelling(source, encoder);
  const deepest = decoder.layers.length - 1;
  const { weights } = decoder.layers[deepest][1];
  const cross = meanOverHeads(weights, written.length, source.length);
  const inWords = indices(source, isWord);
  const clearest = (t) => Math.max(...inWords.map((s) => cross[t][s]));
  const shareOf = (t) => (described.candidates[t].find(([token]) => token === described.written[t]) || described.candidates[t][0])[2];
  // A weight and a probability that look equal would be taken for one number.
  const rows = indices(written, isWord);
  const differ = rows.filter((t) => percent(Math.max(...cross[t])) !== percent(shareOf(t)));
  const now = largest(differ.length ? differ : rows, clearest);
  const looked = largest([...source.keys()], (s) => cross[now][s]);
  const size = written.length * source.length;
  const crossHead = largest([...Array(weights.length / size).keys()], (h) => weights[h * size + now * source.length + looked]);
  const first = encoder.layers[0];
  return {
    n_source: source.length,
    shown: described.encoder.entered.shape[1],
    width: described.width,
    hidden: first[1].hidden.length / source.length,
    n_layers: encoder.layers.length,
    n_heads: first[0].weights.length / source.length ** 2,
    d_head: described.encoder.layers[0][0].query.shape[2],
    source: source[row],
    follow_source: `encoder:${row}`,
    head: place,
    number: `${place}/${query},${key}`,
    read: read[now],
    looked_at: source[looked],
    looked_share: percent(cross[now][looked]),
    cross_head: crossHead + 1,
    cross_number: `decoder/${deepest}/cross-attention/${crossHead}/${now},${looked}`,
    next: written[now],
    next_share: percent(shareOf(now)),
    follow_target: `decoder:${now}`,
    written: now,
  };
}

const shown = (tokens) => labels(tokens).map((t) => ([...t].length <= LONGEST ? t : `${[...t].slice(0, LONGEST - 1).join("")}…`));
const isWord = (token) => /\p{L}/u.test(token) && !token.startsWith("<");
const percent = (share) => `${(100 * share).toFixed(0)}%`;
const largest = (places, size) => places.reduce((best, one) => (size(one) > size(best) ? one : best));

function indices(tokens, wanted) {
  const found = [...tokens.keys()].filter((i) => wanted(tokens[i]));
  return found.length ? found : [0];
}

// Weights (heads, rows, columns) -> rows of their mean over the heads.
function meanOverHeads(weights, rows, cols) {
  const heads = weights.length / (rows * cols);
  const mean = Array.from({ length: rows }, () => new Float64Array(cols));
  weights.forEach((w, i) => (mean[Math.floor(i / cols) % rows][i % cols] += w / heads));
  return mean;
}

// The word of some length that gives the least weight to itself, over all layers.
function mostTelling(tokens, { layers }) {
  const n = tokens.length;
  const maps = layers.map(([attention]) => meanOverHeads(attention.weights, n, n));
  const toItself = (i) => maps.reduce((sum, map) => sum + map[i][i], 0);
  const words = [...tokens.keys()].filter((i) => isWord(tokens[i]) && [...tokens[i]].length > 3);
  return largest(words.length ? words : [...tokens.keys()], (i) => -toItself(i));
}

// A head whose weights are clear but not all on the diagonal, and its clearest cell.
function sharpest({ tokens, layers }) {
  const n = tokens.length;
  let best = { score: -1 };
  layers.forEach(([{ weights }], layer) => {
    for (let head = 0; head < weights.length / (n * n); head++) {
      const off = Array.from(weights.subarray(head * n * n, (head + 1) * n * n), (w, i) => (i % (n + 1) ? w : 0));
      const rows = Array.from({ length: n }, (_, row) => Math.max(...off.slice(row * n, (row + 1) * n)));
      const score = rows.reduce((a, b) => a + b, 0) / n;
      const at = off.indexOf(Math.max(...off));
      if (score > best.score) best = { score, layer, head, query: Math.floor(at / n), key: at % n };
    }
  });
  return best;
}
