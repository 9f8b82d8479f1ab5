import assert from "node:assert/strict";
import { test } from "node:test";
import { besideScale, stepped, turnedTo, valueOn } from "../../helpers/widgets/static/scales.js";

test("drawings that are side by side on a laptop stay so on a narrower page, smaller", () => {
  assert.equal(besideScale([400, 400], 826), 1);
  assert.equal(besideScale([400, 400], 612), 0.75);
  assert.equal(besideScale([262, 262, 262], 818), 1);
  const scale = besideScale([400, 400, 262, 262, 262], 600); // two rows, of two and of three
  assert.equal(scale, 600 / 818);
});

test("drawings too wide for that stand below each other, at their own size", () => {
  assert.equal(besideScale([400, 400], 380), 1);
  assert.equal(besideScale([400], 380), 380 / 400);
  assert.equal(besideScale([400, 400], 700, 0.8), 700 / 816);
  assert.equal(besideScale([400, 400], 612, 0.8), 1); // their targets would be too small
  assert.equal(besideScale([400, 400], 0), 1); // not on the page yet
});

test("a hand's place is a value within the limits, in steps", () => {
  const track = { from: 200, to: 40, low: -4, high: 4, step: 0.5 };
  assert.equal(valueOn(120, track), 0);
  assert.equal(valueOn(-500, track), 4);
  assert.equal(valueOn(127, track), -0.5);
  assert.equal(stepped(3.9, 3, track), 4);
});

test("a clock's hand turned to a point goes on from the turn it was in, within the limits", () => {
  const clock = { from: 100, to: 100, low: 0, high: 63, step: 1, period: 20 };
  assert.equal(turnedTo({ x: 100, y: 40 }, { ...clock, now: 22 }), 25); // a quarter further
  assert.equal(turnedTo({ x: 100, y: 160 }, { ...clock, now: 22 }), 15);
  assert.equal(turnedTo({ x: 100, y: 160 }, { ...clock, now: 1 }), 0);
});
