import assert from "node:assert/strict";
import { test } from "node:test";
import { THEMES, colourWords, inkOn, ramp, twoSided } from "../../helpers/widgets/static/colour.js";
import { clamp, isSpecial, shorten } from "../../helpers/widgets/static/text.js";

const luminance = (colour) => {
  const parts = typeof colour === "string" ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) : colour;
  const [r, g, b] = parts.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
};

test("words are cut by characters, never through an emoji", () => {
  assert.equal(shorten("short"), "short");
  assert.equal(shorten("😀".repeat(30), 5), "😀😀😀😀…");
});

test("special tokens are told from words in brackets", () => {
  assert.ok(["<eos>", "[CLS]", "[unused1]".toUpperCase()].every(isSpecial));
  assert.ok(!["<", "[a]", "a<b>"].some(isSpecial));
});

test("clamp keeps a number between two others", () => {
  assert.deepEqual([clamp(-1, 0, 5), clamp(9, 0, 5), clamp(3, 0, 5)], [0, 5, 3]);
});

test("a ramp starts and ends at its stops, and lightness runs one way", () => {
  const colours = ramp(["#f3f8fd", "#1f6fb2", "#08306b"]);
  assert.equal(colours.length, 256);
  assert.deepEqual(colours[0], [0xf3, 0xf8, 0xfd]);
  assert.deepEqual(colours[255], [0x08, 0x30, 0x6b]);
  const light = colours.map(luminance);
  assert.ok(light.every((value, i) => i === 0 || value <= light[i - 1] + 1e-3));
});

test("a two-sided ramp is palest in its middle", () => {
  const light = twoSided(["#b25a06", "#ffffff", "#1f6fb2"]).map(luminance);
  assert.equal(light.length, 256);
  assert.ok(light.indexOf(Math.max(...light)) >= 126 && light.indexOf(Math.max(...light)) <= 129);
  assert.ok(light[0] < 0.4 && light[255] < 0.4);
});

test("every colour of text reads on its paper, in both themes", () => {
  for (const theme of Object.values(THEMES)) {
    for (const name of ["ink", "muted", "query", "key", "value", "result", "bad"]) {
      assert.ok(contrast(theme[name], theme.paper) >= 4.5, `${name} on ${theme.paper}`);
    }
  }
});

test("numbers read on every colour of both ramps", () => {
  for (const { ramp: colours } of Object.values(THEMES)) {
    for (const colour of colours) assert.ok(contrast(inkOn(colour), colour) >= 4.5, String(colour));
  }
});

test("the words of a ramp hold red, green, blue and full opacity", () => {
  assert.deepEqual([...new Uint8Array(colourWords([[1, 2, 3]]).buffer)], [1, 2, 3, 255]);
});
