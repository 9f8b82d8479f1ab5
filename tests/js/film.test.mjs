import assert from "node:assert/strict";
import { test } from "node:test";
import { between, standing, waysBetween } from "../../helpers/widgets/static/film_stage.js";
import { momentAt } from "../../helpers/widgets/static/film.js";

const dot = { kind: "dot", x: 0, y: 10, fill: "blue" };

test("a shape that keeps its name is on its way, colours too; at the end it is just there", () => {
  const to = { ...dot, x: 40, fill: "orange", opacity: 1 };
  const half = between({ ...dot, opacity: 0 }, to, 0.5);
  assert.deepEqual([half.x, half.y, half.opacity, half.fill], [20, 10, 0.5, ["blue", "orange", 0.5]]);
  assert.deepEqual(between(dot, to, 1), to);
  assert.equal(between({ ...dot, opacity: 0 }, dot, 0.5).opacity, 0.5); // what is new doesn't jump in
  assert.equal(between({ ...dot, opacity: 0 }, dot, 0.05, [0, 0.1]).opacity, 0.5);
  const line = between({ points: [0, 0] }, { points: [10, 4] }, 0.25);
  assert.deepEqual(line.points, [2.5, 1]);
});

test("what is new comes from its start or fades in, what goes fades out, words are exchanged", () => {
  const before = { old: dot, word: { kind: "text", text: "a", x: 0, bold: false } };
  const after = { word: { kind: "text", text: "b", x: 8, bold: true }, grown: { ...dot, start: { r: 0 } }, born: dot };
  const ways = waysBetween(before, after);
  assert.equal(ways.length, 5); // the old dot, two words, two new dots
  assert.equal(ways[0].to.opacity, 0);
  assert.deepEqual([ways[1].from.text, ways[1].to.text, ways[1].to.opacity, ways[1].to.x], ["a", "a", 0, 8]);
  assert.equal(ways[1].to.bold, false); // what goes looks as it did
  assert.deepEqual([ways[2].from.text, ways[2].from.opacity, ways[2].from.x], ["b", 0, 0]);
  assert.deepEqual([ways[3].from.r, ways[3].to.start], [0, undefined]);
  assert.equal(ways[4].from.opacity, 0);
  const [, , last] = waysBetween({ gone: before.word, stays: dot, old: dot }, { stays: dot });
  assert.equal(last.from.text, "a"); // in front of what stays
});

test("a film begins with what has no start; the rest of its first scene comes", () => {
  const shapes = { there: dot, comes: { ...dot, start: { x: 9 } } };
  assert.deepEqual(standing(shapes), { there: dot });
  assert.equal(waysBetween(standing(shapes), shapes).find((way) => way.born).from.x, 9);
});

test("a moment is a scene and how far its movement has gone", () => {
  const scenes = [{ seconds: 3, lead: 0, move: 0 }, { seconds: 4, lead: 1, move: 2 }];
  assert.deepEqual(momentAt(scenes, 0), { index: 0, start: 0, share: 1 });
  assert.deepEqual(momentAt(scenes, 3), { index: 1, start: 3, share: 0 });
  assert.equal(momentAt(scenes, 5).share, 0.5);
  assert.deepEqual(momentAt(scenes, 7), { index: 1, start: 3, share: 1 });
});
