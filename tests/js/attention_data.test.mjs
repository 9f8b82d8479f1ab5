import assert from "node:assert/strict";
import { test } from "node:test";
import { describe, headline, headOf, levelOf, linesFor, ranked, readMaps, reduced, weightAt, worthWriting, written } from "../../helpers/widgets/static/attention_data.js";

// Python's bytes may begin anywhere in a message.
function packed(codes) {
  const bytes = new Uint8Array(2 * codes.length + 1);
  bytes.set(new Uint8Array(Uint16Array.from(codes).buffer), 1);
  return new DataView(bytes.buffer, 1);
}

const modelOf = (maps, codes) => ({ get: (name) => ({ _maps: maps, _data: packed(codes) })[name] });

const words = ["il", "dort"];
const one = (codes, more = {}) => readMaps(modelOf([{ layers: 1, heads: 1, queries: words, rows: words, keys: words, scale: 1000, ...more }], codes))[0];

test("several maps share one buffer, each with its own part", () => {
  const shape = { layers: 1, heads: 1, queries: words, scale: 1000 };
  const maps = readMaps(modelOf([{ ...shape, keys: words }, { ...shape, keys: ["a", "b", "c"] }], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
  assert.deepEqual(maps.map((map) => [...map.codes]), [[1, 2, 3, 4], [5, 6, 7, 8, 9, 10]]);
  assert.deepEqual(maps.map((map) => map.nk), [2, 3]);
});

test("a head is cut out of its layer, and a weight has the same colour in each", () => {
  const map = one([100, 900, 300, 700, 0, 1000, 800, 200], { heads: 2 });
  const head = headOf(map, 0, 1);
  assert.deepEqual([weightAt(head, 0, 1), weightAt(head, 1, 0)], [1, 0.8]);
  assert.deepEqual([0, 250, 1000].map((code) => levelOf(head, code)), [0, 128, 255]);
  assert.equal(levelOf(headOf(map, 0, 0), 250), 128);
});

test("a head that spreads its weight evenly stays pale", () => {
  const keys = Array.from({ length: 20 }, (_, i) => String(i));
  const head = headOf(one(keys.map(() => 50), { queries: ["it"], keys }), 0, 0);
  assert.ok(levelOf(head, 50) < 80);
});

test("ranked by weight; of equals the first one first", () => {
  const head = headOf(one([200, 800, 500, 500]), 0, 0);
  assert.deepEqual(ranked(head, "query", 0).map(({ other }) => other), [1, 0]);
  assert.deepEqual(ranked(head, "query", 1).map(({ other }) => other), [0, 1]);
  assert.deepEqual(ranked(head, "key", 0).map(({ w }) => w), [0.5, 0.2]);
});

test("a sentence for screen readers names the largest and sums up the rest", () => {
  const head = headOf(one([250, 750, 500, 500]), 0, 0);
  assert.equal(describe(head, "query", 0), "il attends to dort 0.75, il 0.25.");
  assert.equal(describe(head, "query", 0, 1), "il attends to dort 0.75; 1 others together 0.25.");
});

test("what a decoder's mask hides is no zero, and a row says what is read and written", () => {
  const head = headOf(one([1000, 0, 300, 700], { causal: true, rows: ["il → a", "dort → b"] }), 0, 0);
  assert.deepEqual(ranked(head, "query", 0), [{ other: 0, w: 1 }]);
  assert.equal(describe(head, "query", 0), "il → a attends to il 1.00; 1 masked out.");
  assert.deepEqual(ranked(head, "key", 1).map(({ other }) => other), [1]);
});

test("two decimals, of which only a 1 reads 1.00", () => {
  assert.deepEqual([0, 0.006, 0.34, 0.998, 1].map(written), ["0.00", "0.01", "0.34", "0.99", "1.00"]);
  assert.deepEqual([0.004, 0.006].map(worthWriting), [false, true]);
});

test("the headline passes over what a token gives to itself, unless it has no other choice", () => {
  const codes = [1000, 0, 300, 700];
  const headed = (more) => headline(headOf(one(codes, more), 0, 0));
  assert.equal(headed({}), "Largest weight on another token: “dort”, 0.30 on “il”.");
  const rows = ["il → a", "dort → b"];
  assert.equal(headed({ causal: true, rows }), "Largest weight on another token: reading “dort”, predicting “b”, 0.30 on “il”.");
  assert.equal(headed({ rows, keys: ["x", "y"] }), "Largest weight: reading “il”, predicting “a”, 1.00 on “x”.");
  assert.equal(headline(headOf(one([1000], { queries: ["il"], rows: ["il"], keys: ["il"] }), 0, 0)), "Largest weight: “il”, 1.00 on “il”.");
});

test("a map made small keeps the largest weight of each part", () => {
  const codes = Array.from({ length: 16 }, (_, i) => (i % 5 === 0 ? 900 : 10)); // the diagonal
  const four = ["a", "b", "c", "d"];
  const head = headOf(one(codes, { queries: four, keys: four }), 0, 0);
  const small = reduced(head, 2);
  assert.deepEqual([...small.codes], [900, 10, 10, 900]);
  assert.equal(reduced(head, 9), head);
});

test("lines: all of a chosen token's, its own not doubled among the faint ones", () => {
  const head = headOf(one([200, 800, 500, 500]), 0, 0);
  const { faint, strong } = linesFor(head, { side: "query", index: 0 });
  assert.deepEqual(strong.map(({ q, k }) => [q, k]), [[0, 1], [0, 0]]);
  assert.ok(faint.every(({ q }) => q === 1));
  assert.equal(linesFor(head, null).strong.length, 4);
});
