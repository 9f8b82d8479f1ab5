// The map, what a head is for: where a token takes its mixture from on this sentence, measured on
// the head's own weights.

import { brief, percent } from "./map_scene.js";
import { valueAt } from "./map_trace.js";
import { isWord } from "./text.js";

const BEFORE = "itself and the two tokens before it";
// The share from which a place is what a head is for.
const CLEAR = 0.4;
const PLACES = [
  [-1, "the token before it", "before"],
  [0, "itself", "itself"],
  [1, "the token after it", "after"],
  [-2, "the token two places before it", "2 before"],
  [2, "the token two places after it", "2 after"],
];

// { share, words, short, over }: “takes 95% of its mixture from the token before it”, “before 95%”, and
// over which of the first `rows` rows, those that are drawn, that is the mean.
export function purposeOf(sublayer, h, stack, keys, rows = sublayer.heads[h].weights.rows) {
  const head = sublayer.heads[h];
  head.purposes ||= {};
  return (head.purposes[rows] ||= measured(head, sublayer.kind === "cross-attention", stack, keys, rows));
}

function measured(head, cross, stack, keys, rows) {
  const { cols } = head.weights;
  // A token that is allowed a single key, as the first one often is, has no choice.
  const choices = (row) => keys.filter((_, key) => head.allowed(row, key)).length;
  const every = Array.from({ length: rows }, (_, row) => row);
  const free = every.filter((row) => choices(row) > 1);
  const all = free.length ? free : every;
  const mean = (from, share) => (from.length ? from.reduce((sum, row) => sum + share(row), 0) / from.length : 0);
  const at = (row, key) => valueAt(head.weights, row, key);
  const named = (some) => (head.causal && some.length < rows ? ` over rows ${some[0] + 1} to ${rows}` : "");
  const found = cross
    ? []
    : PLACES.map(([d, words, short]) => {
        const inside = all.filter((row) => row + d >= 0 && row + d < cols);
        const share = 2 * inside.length < all.length ? 0 : mean(inside, (row) => at(row, row + d));
        return { share, words, short, over: d ? " over the tokens that have one" : named(all) };
      });
  keys.forEach((token, key) => {
    const others = every.filter((row) => head.allowed(row, key) && (cross || row !== key));
    const [share, name] = [2 * others.length > rows ? mean(others, (row) => at(row, key)) : 0, `“${token}”`];
    const over = cross ? "" : ` over the ${head.causal ? "tokens after it" : "other tokens"}`;
    found.push({ share, words: name, short: name, over });
  });
  const best = found.reduce((a, b) => (b.share > a.share ? b : a), { share: 0 });
  // A share that luck doesn't give.
  const clear = Math.max(CLEAR, 1.5 / cols);
  const largest = every.map((row) => keys.reduce((most, _, key) => (at(row, key) > at(row, most) ? key : most), 0));
  const single = mean(all, (row) => at(row, largest[row]));
  if (best.share >= (cross ? Math.max(clear, 0.8 * single) : clear)) return told(best);
  if (cross && single >= clear) {
    const words = all.filter((row) => [keys[largest[row]], stack.written[row]].every(isWord));
    const row = words.reduce((a, b) => (a >= 0 && at(a, largest[a]) >= at(b, largest[b]) ? a : b), -1);
    const most = told({ share: single, words: "one source token", short: "one token" });
    if (row < 0) return most;
    const [word, share, key] = [stack.written[row], brief(at(row, largest[row])), keys[largest[row]]];
    const example = `the row that writes “${word}” takes ${share} from “${key}”`;
    return { ...most, short: `${word} ← ${key} ${share}`, example };
  }
  const close = (row) => keys.map((_, key) => key).filter((key) => Math.abs(key - row) < 3 && head.allowed(row, key));
  // Only rows that could look further, and more than an even spread puts there.
  const far = cross ? [] : all.filter((row) => choices(row) > close(row).length);
  const near = mean(far, (row) => close(row).reduce((sum, key) => sum + at(row, key), 0));
  const luck = mean(far, (row) => close(row).length / choices(row));
  if (near >= Math.max(0.6, luck + 0.2) && cols > 6)
    return told({
      share: near,
      words: head.causal ? BEFORE : "the tokens at most two places away",
      short: "nearby",
      over: named(far),
    });
  // More than half comes from one token, and which one it is changes from row to row.
  const loose = "a single token, which isn’t always in the same place";
  const over = named(all);
  if (single > 0.5) return { ...told({ share: single, words: loose, short: "one token", over }), share: 0 };
  const words = `mixes many tokens, and the largest share is ${percent(single)}`;
  return { share: 0, words, short: "many tokens", over };
}

const told = ({ share, words, short, over = "" }) => ({
  share,
  over,
  words: `takes ${percent(share)} of its mixture from ${words}`,
  short: `${short} ${percent(share)}`,
});

export const sayPurpose = ({ words, example, over = "" }, who = "a token") =>
  `Here, ${who} ${words}, on average${over}${example ? `; ${example}` : ""}.`;

// Of a picture a head is told by what the row whose weights are drawn takes most from: its bluest patch, but for its own.
export function bluest({ weights }, { tokens }, row = 0) {
  const shares = tokens.map((_, key) => (key && key !== row ? valueAt(weights, row, key) : 0));
  const share = Math.max(...shares);
  const [from, whose] = [tokens[shares.indexOf(share)], row ? `patch “${tokens[row]}”` : "the class token"];
  const words = `takes ${percent(share)} of ${whose}’s mixture from patch “${from}”`;
  return { share, words, short: `${percent(share)} from ${from}` };
}

// The head of a stack at a `place`, else that with the clearest purpose: { part, layer, h, … }.
export function clearest(stack, rows = stack.n, place = "") {
  const told = (part, h) =>
    stack.image ? bluest(part.heads[h], stack) : purposeOf(part, h, stack, stack.tokens, rows);
  const all = stack.layers.flatMap(([part], layer) => part.heads.map((_, h) => ({ part, layer, h, ...told(part, h) })));
  const given = all.find(({ part, layer, h }) => place === `${stack.name}/${layer}/${part.kind}/${h}`);
  return given || all.reduce((a, b) => (b.share > a.share ? b : a));
}
// Of a tour that opens a head and one of its scores, that head. In a sentence, too.
export const clearestOf = ({ trace: { stacks, encoder }, rows, tour = [] }) =>
  clearest(stacks[0], encoder ? stacks[0].n : rows, tour.find(({ pair, beat }) => pair && beat === 2)?.place);
export function clearestHead(view) {
  const best = clearestOf(view);
  const framed = `framed head (layer ${best.layer + 1}, head ${best.h + 1})`;
  return view.trace.image
    ? `The ${framed} ${best.words} (row, column).`
    : sayPurpose(best).replace("Here", `In the ${framed}`);
}
