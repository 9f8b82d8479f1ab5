// What the map says: a sentence from its tokens, and what a head does, measured on its weights.

import assert from "node:assert/strict";
import test from "node:test";

import { choosing, remarkOn } from "../../helpers/widgets/static/map_choice.js";
import { looksEnglish } from "../../helpers/widgets/static/map_language.js";
import { along } from "../../helpers/widgets/static/map_moves.js";
import { clearest, clearestHead, purposeOf, sayPurpose } from "../../helpers/widgets/static/map_purpose.js";
import { lightsUp } from "../../helpers/widgets/static/map_network.js";
import { sayWhat, sayWhy, splitOf } from "../../helpers/widgets/static/map_why.js";
import { brief, percent } from "../../helpers/widgets/static/map_scene.js";
import { memoryNames } from "../../helpers/widgets/static/map_named.js";
import { namePlaces } from "../../helpers/widgets/static/map_rows.js";
import { tileGrid } from "../../helpers/widgets/static/map_tiles.js";
import { compared } from "../../helpers/widgets/static/map_without.js";
import { deeper, likeliest, matrix, sentenceOf, tellingPair } from "../../helpers/widgets/static/map_trace.js";
import { digits, marksIn, spelt, uncapped } from "../../helpers/widgets/static/text.js";

// A sublayer with one head, of which only the weights are asked for.
function sublayerOf(weights, { kind = "self-attention", causal = false } = {}) {
  const one = matrix(Float32Array.from(weights.flat()), weights.length, weights[0].length);
  return { kind, heads: [{ weights: one, causal, allowed: (row, key) => !causal || key <= row }] };
}
const even = (rows, cols) => Array.from({ length: rows }, () => Array(cols).fill(1 / cols));
// `share` of every row to the key that `to` names, the rest evenly to the others.
const mostly = (rows, cols, share, to) =>
  Array.from({ length: rows }, (_, row) => Array.from({ length: cols }, (_, key) => (key === to(row) ? share : (1 - share) / (cols - 1))));
const names = (n) => Array.from({ length: n }, (_, i) => `w${i}`);
const stackOf = (tokens, more = {}) => ({ tokens, layers: [], ...more });

test("a sentence is put together as people write it", () => {
  assert.equal(sentenceOf(["A", "black", "‿bird", "sings", ".", "<eos>"]), "A blackbird sings.");
  assert.equal(sentenceOf(["A", "man", "'", "‿s", "t", "-", "‿shirt", ",", "here"]), "A man's t-shirt, here");
  assert.equal(sentenceOf([]), "");
});

test("without a head: what stays at both ends, what changed, and what became of a probability", () => {
  const candidates = [[["A", 0, 0.9]], [["is", 0, 0.5], ["runs", 0, 0.4]], [["running", 0, 0.8]], [[".", 0, 1]]];
  const [whole, written] = [[["A", 0.9], ["runs", 0.7], [".", 0.9]], ["A", "is", "running", "."]];
  assert.deepEqual(compared({ whole, written, candidates }), [["A", "runs.", ""], ["A", "is running.", ""], "“runs” had 70% and now has 40%; “is” has 50%."]);
  const longer = { whole: [["A", 0.9], ["dog", 0.9], ["dog", 0.9]], written: ["A", "dog"], candidates: [[["A", 0, 0.6]], [["dog", 0, 0.9]]] };
  assert.deepEqual(compared(longer).slice(0, 2), [["A dog", "dog", ""], ["A dog", "", ""]]);
  longer.whole.pop();
  assert.equal(compared(longer)[2], "The words stay the same. The largest change: “A” had 90% and now has 60%.");
});

test("why a weight is what it is stays true where parts cancel", () => {
  const none = (names, n = names.length) => ({ names, mean: Array(names.length).fill(Array(n).fill(0)) });
  const found = (pairs) => sayWhy(splitOf({ ...none(["token", "biases"]), pairs }, undefined, ["“a”", "“b”"]));
  assert.equal(found([[1.76, 0], [-0.88, 0]]), "The token “a” (1.76) adds most to the lead of 0.88 over an average key.");
  assert.equal(found([[0.1, 0], [-0.6, 0]]), "What biases add to the query (−0.60) adds most to the gap of 0.50 below an average key.");
  // Two that are nearly as large are both told of.
  const cells = { ...none(["token", "position"]), pairs: [[1.302, -0.618], [-0.414, 1.257]] };
  const tokens = ["“la”", "“avec”", "“<eos>”"];
  const two = splitOf(cells, undefined, tokens);
  assert.match(sayWhy({ ...two, above: 3 }), /^Token .0.89. adds most to the lead of 3.00 over an average key; then position 0.64.$/);
  assert.equal(sayWhy(two, tokens[2]), "The token “avec” (0.89) adds most to the lead of 1.53 over “<eos>”.");
  assert.equal(sayWhy(splitOf(cells, undefined, tokens, "query")), "The position of “la” (0.84) adds most to the lead of 1.53 over an average key.");
  const equal = splitOf({ ...none(["token", "position", "1.ff"]), pairs: Array(3).fill([0.5, 0.5, 0.5]) }, undefined, ["“a”", "“b”"]);
  assert.equal(sayWhy(equal), "The token “b” (1.50) and the position of “b” (1.50) add most to the lead of 4.50 over an average key.");
  const hardly = splitOf({ ...none(["token", "position", "1.ff", "2.ff"]), pairs: [[1, 0.1, 1, 1], ...Array(3).fill([0, 0, 0, 0])] });
  assert.equal(sayWhat({ ...hardly, told: [hardly.key[1]] }, "“bâton”"), " What “bâton” is counts, not its position (0.10).");
  assert.equal(sayWhat(equal, "“b”"), ""); // a third of it is its position’s
  const cross = splitOf({ ...none(["token", "10.self.2", "10.cross.b"], 2), keys: ["12.3", "12.ff"], pairs: [[0, 1], [2, 0], [0, 0]] }, ["decoder", "encoder"]);
  assert.deepEqual(cross.query.map(({ name, sum }) => [name, sum]), [["token", 1], ["layer 10, self-attention", 2], ["layer 10, cross-attention", 0]]);
  assert.deepEqual(cross.key.map(({ words }) => words), ["encoder layer 12’s self-attention in the key", "encoder layer 12’s feed-forward in the key"]);
});

test("a weight below 1 is never said to be all of it", () => {
  assert.deepEqual([0.42, 0.994, 0.998, 0.9999, 1].map(percent), ["42%", "99%", "99.8%", "over 99.9%", "100%"]);
  assert.deepEqual([digits(0.9999), digits(0.998, 2), digits(1), brief(0.9999)], [">0.999", ">0.99", "1.000", ">99.9%"]);
});

test("a layer too small for its heads has a grid all the same", () => assert.equal(tileGrid(4, -3, 9).size, 1));

test("a press on a dark neuron opens the nearest that lights up, with its strongest token", () => {
  const one = matrix(Float32Array.from([0, 0, 2, 1, 0, 0, 3, 0]), 2, 4);
  assert.equal(lightsUp(one, 0, 3), "3,0");
  assert.equal(lightsUp(one, 0, 0), "2,1");
  assert.equal(lightsUp(matrix(new Float32Array(4), 1, 4), 0, 1), "1,0");
});

test("a drawn token says at which temperature where the share on show is of another", () => {
  const model = { kind: "GPT", given: 1, drawnAt: [1.5], drawn: [0], candidates: [[["a", 1, 0.3]]] };
  assert.equal(likeliest(model, 0, 1)[0].mark, "drawn at 1.5");
  assert.equal(likeliest({ ...model, shown: 1.5 }, 0, 1)[0].mark, "drawn");
  assert.equal(likeliest({ ...model, drawnAt: undefined }, 0, 1)[0].mark, "written"); // where none is drawn
});

test("one number of the recurrent pair is of the step on show", () => {
  const weights = matrix(Float32Array.from([0.9, 0.1, 0.2, 0.8]), 2, 2);
  assert.equal(deeper("", { recurrent: true, weights }, 1), "score/1,1");
  assert.equal(deeper("score/0,1", { recurrent: true, weights }, 1), "score/0,1");
  // A press on another weight forces that one, one on the same undoes it.
  const view = { ...choosing, current: 1, trace: { recurrent: true }, model: { get: () => [[1, 2]] }, rewrite: (one) => one.chosen };
  assert.deepEqual([view.choose(4), view.choose(2)], [[[1, 4]], []]);
});

test("a head that looks at a neighbour says at which, and how much", () => {
  const tokens = names(8);
  const after = sublayerOf(mostly(8, 8, 0.93, (row) => (row + 1) % 8));
  assert.match(purposeOf(after, 0, stackOf(tokens), tokens).words, /^takes 93% of its mixture from the token after it$/);
  const before = sublayerOf(mostly(8, 8, 0.6, (row) => Math.max(0, row - 1)), { causal: true });
  assert.equal(purposeOf(before, 0, stackOf(tokens), tokens).short, "before 60%");
  const own = sublayerOf(mostly(8, 8, 0.7, (row) => row));
  assert.equal(purposeOf(own, 0, stackOf(tokens), tokens).short, "itself 70%");
});

test("a head that looks at one token names it, and one that looks everywhere says so", () => {
  const tokens = [...names(7), "<eos>"];
  const end = sublayerOf(mostly(8, 8, 0.8, () => 7));
  assert.match(purposeOf(end, 0, stackOf(tokens), tokens).words, /80% of its mixture from “<eos>”/);
  const all = purposeOf(sublayerOf(even(10, 10)), 0, stackOf(names(10)), names(10));
  assert.equal(all.words, "mixes many tokens, and the largest share is 10%");
  assert.equal(all.share, 0);
  const causal = sublayerOf([[1, 0, 0], [0.5, 0.5, 0], [0.3, 0.3, 0.4]], { causal: true });
  const many = purposeOf(causal, 0, stackOf(names(3)), names(3)); // the first row has no choice
  assert.equal(many.words, "mixes many tokens, and the largest share is 45%");
  assert.equal(many.over, " over rows 2 to 3");
  const scattered = [3, 7, 0, 5, 1, 6, 2, 4];
  const one = purposeOf(sublayerOf(mostly(8, 8, 0.89, (row) => scattered[row])), 0, stackOf(tokens), tokens);
  assert.equal(one.words, "takes 89% of its mixture from a single token, which isn’t always in the same place");
  assert.equal(one.short, "one token 89%");
});

test("a cross-attention names the word that a row writes and the one it takes from", () => {
  const [reads, writes, source] = [["<bos>", "a", "dog"], ["a", "dog", "<eos>"], ["un", "chien", "<eos>"]];
  const weights = [[0.6, 0.3, 0.1], [0.01, 0.98, 0.01], [0.05, 0.05, 0.9]];
  const cross = sublayerOf(weights, { kind: "cross-attention" });
  const purpose = purposeOf(cross, 0, stackOf(reads, { written: writes }), source);
  assert.equal(purpose.short, "dog ← chien 98%"); // in the layer, where the head has few words
  const told = sayPurpose(purpose, "a row");
  assert.equal(told, "Here, a row takes 83% of its mixture from one source token, on average; the row that writes “dog” takes 98% from “chien”.");
});

test("of a stack's heads the clearest is named, counted from one", () => {
  const tokens = names(6);
  const [vague, clear] = [sublayerOf(even(6, 6)), sublayerOf(mostly(6, 6, 0.9, (row) => Math.max(0, row - 1)))];
  const stack = stackOf(tokens, { layers: [[vague], [clear]] });
  const { layer, h } = clearest(stack);
  assert.deepEqual([layer, h], [1, 0]);
  assert.match(clearestHead({ trace: { stacks: [stack], encoder: stack } }), /^In the framed head \(layer 2, head 1\), a token takes .* from the token before it/);
  // Where a tour opens a head and a score in it, that is the one, though another's purpose is clearer.
  const tour = [{ place: "encoder/0/self-attention/0", beat: 2, pair: [1, 0] }];
  assert.match(clearestHead({ trace: { stacks: [{ ...stack, name: "encoder" }], encoder: stack }, tour }), /layer 1, head 1\), a token mixes many/);
  // Of a GPT's rows only those that are drawn count.
  const late = sublayerOf([...mostly(3, 6, 0.9, (row) => Math.max(0, row - 1)), ...mostly(3, 6, 0.9, () => 0)], { causal: true });
  const gpt = { trace: { stacks: [stackOf(tokens, { layers: [[late]] })] }, rows: 3 };
  assert.match(clearestHead(gpt), /takes 90% of its mixture from the token before it/);
});

test("a head opens with its largest weight from one word to another", () => {
  const tokens = ["le", "chat", ".", "<eos>"];
  const weights = [[0.7, 0.2, 0.05, 0.05], [0.3, 0.5, 0.1, 0.1], [0.1, 0, 0, 0.9], [0, 0, 0, 1]];
  const place = (sublayer, keys) => ({ head: sublayer.heads[0], stack: stackOf(tokens), keys });
  assert.deepEqual(tellingPair(place(sublayerOf(weights), tokens)), { query: 1, key: 0 });
  // Of another stack's tokens, the one in the same place is another word.
  assert.deepEqual(tellingPair(place(sublayerOf(weights), [...tokens])), { query: 0, key: 0 });
  const causal = sublayerOf([[0, 1], [0.8, 0.2]], { causal: true });
  const two = { head: causal.heads[0], stack: stackOf(["un", "chat"]) };
  assert.deepEqual(tellingPair({ ...two, keys: two.stack.tokens }), { query: 1, key: 0 });
  const patches = { head: sublayerOf([[0.4, 0.6], [0.9, 0.1]]).heads[0], stack: stackOf(["[CLS]", "1,1"]) };
  assert.deepEqual(tellingPair({ ...patches, keys: patches.stack.tokens }), { query: 1, key: 0 });
});

test("an English sentence is told from a French one", () => {
  for (const english of ["A black dog runs in the snow.", "Two men are eating a pizza", "A man playing guitar", "THE END"]) assert.ok(looksEnglish(english), english);
  const french = ["Un chien noir court dans la neige.", "L'homme porte un T-shirt « The Who ».", "Trois enfants jouent au football", "Pizza !", ""];
  for (const sentence of french) assert.ok(!looksEnglish(sentence), sentence);
  assert.match(remarkOn("asdf qwer", ["as", "‿d", "‿f", "␣", "q", "‿w", "‿er", "<eos>"]), /^No word of this/);
  assert.equal(remarkOn("L'homme", ["L", "'", "‿homme", "<eos>"]), "");
});

test("the marks in names are explained where there are any", () => {
  assert.equal(marksIn(["dog", "-", "<eos>"]), "");
  assert.deepEqual(["Encoder layer 1", "GPT layer 1", "ViT layer 1"].map(uncapped), ["encoder layer 1", "GPT layer 1", "ViT layer 1"]);
  assert.equal(marksIn(["st", "‿ick", "‿s"]), "‿ marks letters without a space before them");
  assert.equal(marksIn(["‿⟨D0⟩"]), "‿ marks letters without a space before them, and ⟨D0⟩ is a byte, a part of a character");
  assert.equal(marksIn(["‿ick", "␣"]), "‿ marks letters without a space before them, and ␣ is a space");
  assert.deepEqual(["␣", "snow", "."].map(spelt), ["␣ space", "snow", "“.”"]);
});

test("names that share a line are readable or left out, and none touches another", () => {
  // A browser measures words; here every letter is six pixels wide.
  globalThis.document = { createElement: () => ({ getContext: () => ({ measureText: (text) => ({ width: 6 * text.length }) }) }) };
  const tokens = ["un", "photographe", "extraordinaire", "photographie", "un", "chat", "<eos>"];
  for (const room of [400, 150, 90]) {
    const places = namePlaces(tokens, { right: room, top: 0, pitch: 3, room });
    const shown = places.filter(({ words }) => words !== "…");
    assert.equal(shown.length === tokens.length, room === 400);
    assert.ok(shown.some(({ words }) => words === "chat"));
    for (const { words, style } of shown) assert.ok(style.most >= Math.min(6 * words.length, 39), words);
    places.forEach(({ rect: [x, y, w] }, i) => {
      assert.ok(x + w <= room + 9 && x >= -3);
      for (const { rect } of places.slice(i + 1)) assert.ok(rect[1] !== y || rect[0] >= x + w - 0.01);
    });
  }
  // Beside the memory a long name gives way to its share.
  const encoder = { tokens: ["enfants"], memory: [0, 0, 20], blocks: [0], y: () => 0, pitch: 12 };
  const said = [200, 100, 66].map((width) => {
    const paint = { theme: {}, text: (words) => (paint.said = words) };
    memoryNames(paint, { measures: {}, width }, { encoder }, [0.72]);
    return paint.said;
  });
  assert.deepEqual(said, ["enfants 72%", "enfan… 72%", "72%"]);
});

test("what moves keeps its pace round corners", () => {
  const path = [[0, 0], [0, 2], [6, 2]];
  assert.deepEqual([0, 0.25, 0.5, 1].map((t) => along(path, t)), [[0, 0], [0, 2], [2, 2], [6, 2]]);
});
