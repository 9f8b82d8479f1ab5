// Tokens as people read them, as helpers/widgets/readable.py writes them: a word's beginning plain,
// its continuation with ‿ before it.

const SPECIAL = /^(?:<[^<>]*>|\[[A-Z]+\d*\])$/;
const LETTER = /[\p{L}\p{N}]/u;

export function labels(tokens) {
  const starts = tokens.some((token) => token.length > 1 && token.startsWith("▁"));
  return tokens.map((token, i) => {
    const mark = starts && i > 0 && continues(token, tokens[i - 1]) ? "‿" : "";
    if (token === "▁") return "␣";
    return mark + (token.startsWith("▁") ? token.slice(1) : token);
  });
}

// What candidates for the token after `tokens` would be called there.
export function labelsOfNext(tokens, candidates) {
  const last = tokens[tokens.length - 1];
  const found = labels([...tokens, ...candidates.flatMap((one) => [last, one])]);
  return candidates.map((_, i) => found[tokens.length + 2 * i + 1]);
}

function continues(token, before) {
  if (SPECIAL.test(token) || !LETTER.test(token) || token.startsWith("▁")) return false;
  return !SPECIAL.test(before) && before !== "▁";
}
