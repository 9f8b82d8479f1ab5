// The attention view's numbers: what came from Python, and how it is read. No page needed.

import { wholeNumbers } from "./numbers.js";
import { shorten } from "./text.js";

// Every weight of this view is written so, wherever it stands: with two decimals that fit into a small
// cell, rounded, but only what is 1 reads 1.00.
export const written = (w) => (w < 0.99999 ? Math.min(w, 0.99) : w).toFixed(2);
// Where most weights are 0.00, these aren't written.
export const worthWriting = (w) => w >= 0.005;

export function readMaps(model) {
  const maps = model.get("_maps");
  const size = (map) => map.layers * map.heads * map.queries.length * map.keys.length;
  const codes = wholeNumbers(model.get("_data"), Uint16Array);
  let start = 0;
  return maps.map((map) => {
    const own = codes.subarray(start, start + size(map));
    start += size(map);
    // In self-attention a token is a query and a key.
    const self = String(map.queries) === String(map.keys);
    return { ...map, codes: own, nq: map.queries.length, nk: map.keys.length, self };
  });
}

export function headOf(map, layer, head) {
  const size = map.nq * map.nk;
  const start = (layer * map.heads + head) * size;
  const codes = map.codes.subarray(start, start + size);
  return { map, codes, nq: map.nq, nk: map.nk };
}

// A decoder's query sees no key after it.
export const isMasked = ({ map }, query, key) => Boolean(map.causal) && key > query;

export function weightAt(head, query, key) {
  return head.codes[query * head.nk + key] / head.map.scale;
}

// A row of the map for a query, a column for a key: what the token gives to or gets from whom. What
// is masked out isn't among them.
export function ranked(head, side, index) {
  const found = [];
  const n = side === "query" ? head.nk : head.nq;
  for (let other = 0; other < n; other++) {
    const [q, k] = side === "query" ? [index, other] : [other, index];
    if (!isMasked(head, q, k)) found.push({ other, w: weightAt(head, q, k) });
  }
  return found.sort((a, b) => b.w - a.w || a.other - b.other);
}

// What a token gives to itself is no news, and a decoder's first token has no other choice.
export function strongest({ codes, nk, map }) {
  const others = codes.map((code, at) => (map.self && at % (nk + 1) === 0 ? 0 : code));
  const at = others.indexOf(others.reduce((most, code) => Math.max(most, code), 0));
  return { q: Math.floor(at / nk), k: at % nk, w: codes[at] / map.scale };
}

// What a decoder's position predicts, the second half of its row's name; empty for other models.
export const predicted = ({ rows, queries }, q) => rows[q].slice(queries[q].length).replace(" → ", "");

export function headline(head) {
  const { map } = head;
  const { q, k, w } = strongest(head);
  const [read, next, key] = [map.queries[q], predicted(map, q), map.keys[k]].map(
    (word) => word && `“${shorten(word)}”`,
  );
  const which = map.self && q !== k ? " on another token" : "";
  return `Largest weight${which}: ${next ? `reading ${read}, predicting ${next}` : read}, ${written(w)} on ${key}.`;
}

export function describe(head, side, index, top = 5) {
  const { rows, keys } = head.map;
  const [own, others] = side === "query" ? [rows, keys] : [keys, rows];
  const list = ranked(head, side, index);
  const masked = others.length - list.length;
  const named = list.slice(0, top).map(({ other, w }) => `${others[other]} ${written(w)}`);
  const rest = list.slice(top);
  const left = rest.reduce((sum, { w }) => sum + w, 0);
  const verb = side === "query" ? "attends to" : "is attended to by";
  const tail = rest.length ? `; ${rest.length} others together ${written(left)}` : "";
  return `${own[index]} ${verb} ${named.join(", ")}${tail}${masked ? `; ${masked} masked out` : ""}.`;
}

// How strongly a weight is drawn, in all heads alike: by its root, so that small ones differ too.
export const strengthOf = (w) => Math.min(1, Math.sqrt(w));
// Which of the ramp's 256 colours it has.
export const levelOf = (head, code) => Math.round(255 * strengthOf(code / head.map.scale));

// Large maps are reduced by their largest weights, or a thin diagonal would vanish.
export function reduced(head, most) {
  const [nq, nk] = [Math.min(head.nq, most), Math.min(head.nk, most)];
  if (nq === head.nq && nk === head.nk) return head;
  const codes = new Uint16Array(nq * nk);
  for (let q = 0; q < head.nq; q++) {
    const row = Math.floor((q * nq) / head.nq) * nk;
    for (let k = 0; k < head.nk; k++) {
      const at = row + Math.floor((k * nk) / head.nk);
      const code = head.codes[q * head.nk + k];
      if (code > codes[at]) codes[at] = code;
    }
  }
  return { ...head, codes, nq, nk };
}

// Which lines to draw: all of a chosen token's, else each query's strongest.
// In a long text fewer of each, or the page is slow and nothing can be told apart.
const mostLines = (head) => Math.max(4, Math.min(10, Math.round(600 / head.nq)));
function linesOf(head) {
  if (head.lines) return head.lines;
  const faintest = Math.min(0.03, 0.12 / head.nk);
  const most = mostLines(head);
  head.lines = [];
  for (let q = 0; q < head.nq; q++) {
    const strongest = ranked(head, "query", q).slice(0, most);
    for (const { other, w } of strongest) if (w >= faintest) head.lines.push({ q, k: other, w });
  }
  return head.lines;
}

export function linesFor(head, shown) {
  const kept = linesOf(head).filter((line) => !shown || line[sideKey(shown)] !== shown.index);
  if (!shown) return { faint: [], strong: kept };
  const own = ranked(head, shown.side, shown.index)
    .filter(({ w }) => w >= 0.0005)
    .map(({ other, w }) =>
      shown.side === "query" ? { q: shown.index, k: other, w } : { q: other, k: shown.index, w },
    );
  return { faint: kept, strong: own };
}

const sideKey = (shown) => (shown.side === "query" ? "q" : "k");
export const lineWidth = (w) => 1 + 6 * Math.min(1, w);
export const lineOpacity = (w) => Math.min(1, 0.06 + 0.94 * strengthOf(w));
