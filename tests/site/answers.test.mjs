import assert from "node:assert/strict";
import { test } from "node:test";
import { numberIn, predicted, told, understood, written } from "../../web/static/answers.js";

const options = { kind: "options", options: [["a", "one"], ["b", "two"]], unit: "" };
const number = { kind: "number", options: [], unit: "words", low: 0, high: null, can_be: "A number of words." };

test("a number is read as people type it", () => {
  const typed = { "80 000": 80000, "1,024": 1024, "\u22125": -5, "12.5%": 12.5, ".5": 0.5, "1e3": 1000, "80’000": 80000 };
  for (const [text, value] of Object.entries(typed)) assert.equal(numberIn(text), value, text);
  for (const text of ["", "many", "0,92", "12,5", "1.2.3", "Infinity", "0x10"]) assert.ok(Number.isNaN(numberIn(text)), text);
});

test("what is missing is said, in the order of the card", () => {
  assert.equal(understood(options, null, null).problem, "Choose an answer first.");
  assert.equal(understood(options, "a", null).problem, "Say how sure you are, then lock it in.");
  assert.deepEqual(understood(options, "a", "sure"), { answer: "a" });
  assert.equal(understood(number, "", "sure").problem, "Give a number first.");
  assert.match(understood(number, "lots", "sure").problem, /“lots” isn't a number/);
  assert.equal(understood(number, "-1", "sure").problem, "That can't be. A number of words.");
  assert.deepEqual(understood(number, "7", "guess"), { answer: 7 });
});

test("numbers are written with their unit, three digits and a real minus", () => {
  assert.equal(written(80000, "words"), "80,000 words");
  assert.equal(written(0.91234, ""), "0.912");
  assert.equal(written(-50, "%"), "−50%");
});

test("a reason is shown as it was typed and never as markup", () => {
  const html = told(number, { guess: 7, confidence: "think", why: "<b>&\"" });
  assert.equal(html, "Locked in. <strong>7 words</strong>. You think so. “&#60;b&#62;&#38;&#34;”");
});

test("the result says what was predicted and how sure", () => {
  assert.equal(predicted(options, { guess: "b", confidence: "guess" }, "two"), "You predicted “two” (a guess).");
  assert.equal(predicted(number, { guess: 7, confidence: "sure" }), "You predicted 7 words (you were sure).");
});
