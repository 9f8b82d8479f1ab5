import assert from "node:assert/strict";
import { test } from "node:test";
import { labels } from "../../web/static/labels.js";
import { dot, layerNorm, linear, softmax, topK } from "../../web/static/matrices.js";
import { fromHalf, readSafetensors } from "../../web/static/safetensors.js";
import { clean } from "../../web/static/tokenizer.js";

test("16 bits are read as IEEE 754 writes them", () => {
  const known = { 0x0000: 0, 0x0001: 2 ** -24, 0x03ff: 1023 * 2 ** -24, 0x0400: 2 ** -14, 0x3c00: 1, 0x3555: 0.333251953125, 0x7bff: 65504, 0xc000: -2, 0x7c00: Infinity, 0xfc00: -Infinity };
  for (const [bits, number] of Object.entries(known)) assert.equal(fromHalf(Number(bits)), number);
  assert.ok(Object.is(fromHalf(0x8000), -0) && Number.isNaN(fromHalf(0x7c01)));
});

function fileOf(dtype) {
  const header = JSON.stringify({ __metadata__: { card: "é" }, b: { dtype, shape: [2], data_offsets: [2, 6] }, a: { dtype, shape: [1], data_offsets: [0, 2] } });
  const bytes = new TextEncoder().encode(header);
  const buffer = new ArrayBuffer(8 + bytes.length + 6);
  new DataView(buffer).setBigUint64(0, BigInt(bytes.length), true);
  new Uint8Array(buffer, 8).set(bytes);
  new Uint8Array(buffer, 8 + bytes.length).set([0x00, 0x3c, 0x00, 0xc0, 0x00, 0x38]);
  return buffer;
}

test("tensors lie where the header says, at odd places too", () => {
  const { tensors, metadata } = readSafetensors(fileOf("F16"));
  assert.deepEqual([...tensors.a, ...tensors.b], [1, -2, 0.5]);
  assert.equal(metadata.card, "é");
});

test("another kind of number is refused by name", () => {
  assert.throws(() => readSafetensors(fileOf("BF16")), /expected 16-bit floats; b has BF16/);
});

test("a linear layer is x times W transposed plus b", () => {
  const y = linear(Float32Array.of(1, 2, 3, 4), Float32Array.of(1, 0, 0, 1, 1, 1), Float32Array.of(10, 20, 30), 2);
  assert.deepEqual([...y], [11, 22, 33, 13, 24, 37]);
});

test("a dot product of every width takes every entry once", () => {
  for (let n = 0; n < 10; n++) {
    const ones = new Float32Array(n + 2).fill(1);
    assert.equal(dot(ones, 1, ones, 2, n), n);
  }
});

test("layer norm: mean 0, biased variance 1, then gain and bias", () => {
  const y = layerNorm(Float32Array.of(1, 3, 10, 10), Float32Array.of(2, 2), Float32Array.of(0, 1), 0);
  assert.deepEqual([...y.subarray(0, 2)], [-2, 3]);
  assert.ok(y.subarray(2).every(Number.isNaN)); // 0 / 0: what eps is for
});

test("softmax sums to 1, also where the powers alone would overflow", () => {
  const shares = softmax(Float32Array.of(1000, 1000, -1000));
  assert.deepEqual([...shares], [0.5, 0.5, 0]);
});

test("the largest come first, and of equal ones the earlier", () => {
  assert.deepEqual(topK(Float32Array.of(1, 5, 3, 5, 4), 4), [1, 3, 4, 2]);
  assert.deepEqual(topK(Float32Array.of(1, 2), 5), [1, 0]);
});

test("a continued word has a tie, a new one, a mark and a special token have none", () => {
  const tokens = ["▁", "▁fram", "boise", ",", "ab", "▁", "x", "<C3>", "<eos>", "y"];
  assert.deepEqual(labels(tokens), ["␣", "fram", "‿boise", ",", "‿ab", "␣", "x", "<C3>", "<eos>", "y"]);
});

test("cleaning composes accents, straightens apostrophes, joins spaces and strips the ends", () => {
  assert.equal(clean(" \t l\u2019e\u0301te\u0301 \n\u00a0 chaud\u2003"), "l'été chaud");
});
