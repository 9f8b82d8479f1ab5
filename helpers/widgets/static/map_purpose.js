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

// { share, words, short }: “takes 95% of its mixture from the token before it”, “before 95%”.
export function purposeOf(sublayer, h, stack, keys) {
  const head = sublayer.heads[h];
  return (head.purpose ||= measured(head, sublayer.kind === "cross-attention", stack, keys));
}

function measured(head, cross, stack, keys) {
  const { rows, cols } = head.weights;
  // A token that is allowed a single key, as the first one often is, has no choice.
  const choices = (row) => keys.filter((_, key) => head.allowed(row, key)).length;
  const every = Array.from({ length: rows }, (_, row) => row);
  const free = every.filter((row) => choices(row) > 1);
  const all = free.length ? free : every;
  const mean = (from, share) => (from.length ? from.reduce((sum, row) => sum + share(row), 0) / from.length : 0);
  const at = (row, key) => valueAt(head.weights, row, key);
  const found =
    cross || stack.image
      ? []
      : PLACES.map(([d, words, short]) => {
          const inside = all.filter((row) => row + d >= 0 && row + d < cols);
          const share = 2 * inside.length < all.length ? 0 : mean(inside, (row) => at(row, row + d));
          return { share, words, short, over: d ? " of those that have one" : "" };
        });
  keys.forEach((token, key) => {
    const others = all.filter((row) => cross || row !== key);
    const many = 2 * others.filter((row) => head.allowed(row, key)).length > rows;
    const [share, name] = [many ? mean(others, (row) => at(row, key)) : 0, `“${token}”`];
    found.push({ share, words: name, short: name, over: cross ? "" : " of the other tokens" });
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
    return {
      ...most,
      short: `${word} ← ${key} ${share}`,
      example: `the row that writes “${word}” takes ${share} from “${key}”`,
    };
  }
  const close = (row) => keys.map((_, key) => key).filter((key) => Math.abs(key - row) < 3 && head.allowed(row, key));
  // Only rows that could look further, and more than an even spread puts there.
  const far = cross || stack.image ? [] : all.filter((row) => choices(row) > close(row).length);
  const near = mean(far, (row) => close(row).reduce((sum, key) => sum + at(row, key), 0));
  const luck = mean(far, (row) => close(row).length / choices(row));
  if (near >= Math.max(0.6, luck + 0.2) && cols > 6)
    return told({ share: near, words: head.causal ? BEFORE : "the tokens at most two places away", short: "nearby" });
  if (stack.image) {
    const entropy = (row) => keys.reduce((sum, _, key) => sum - at(row, key) * Math.log(at(row, key) || 1), 0);
    const about = Math.round(mean(all, (row) => Math.exp(entropy(row))));
    return { share: 1 / about, words: `spreads its weight over about ${about} patches`, short: `≈ ${about} patches` };
  }
  // More than half comes from one token, and which one it is changes from row to row.
  const loose = "one token, but at no fixed place";
  if (single > 0.5) return { ...told({ share: single, words: loose, short: "one token" }), share: 0 };
  return { share: 0, words: `mixes many tokens, and the largest share is ${percent(single)}`, short: "many tokens" };
}

const told = ({ share, words, short, over = "" }) => ({
  share,
  over,
  words: `takes ${percent(share)} of its mixture from ${words}`,
  short: `${short} ${percent(share)}`,
});

export const sayPurpose = ({ words, example, over = "" }, who = "a token") =>
  `Here, ${who} ${words}, on average${over}${example ? `; ${example}` : ""}.`;

// Of a picture a head is told by what its class token takes most from.
function ofClass({ weights }, { tokens }) {
  const shares = tokens.map((_, key) => (key ? valueAt(weights, 0, key) : 0));
  const share = Math.max(...shares);
  const from = tokens[shares.indexOf(share)];
  return { share, words: `takes ${percent(share)} of the class token’s mixture from “${from}”` };
}

// The head of a stack with the clearest purpose: { layer, h, … }, and in a sentence.
export function clearest(stack) {
  const told = (part, h) => (stack.image ? ofClass(part.heads[h], stack) : purposeOf(part, h, stack, stack.tokens));
  const all = stack.layers.flatMap(([part], layer) => part.heads.map((_, h) => ({ layer, h, ...told(part, h) })));
  return all.reduce((a, b) => (b.share > a.share ? b : a));
}
export function clearestHead(stack) {
  const best = clearest(stack);
  const framed = `framed head (layer ${best.layer + 1}, head ${best.h + 1})`;
  return stack.image ? `The ${framed} ${best.words}.` : sayPurpose(best).replace("Here", `In the ${framed}`);
}
