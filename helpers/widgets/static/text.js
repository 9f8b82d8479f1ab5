// Words: shortened, measured, and made safe. Nothing here touches the page until it measures.

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';

export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
// A weight, which is 1 only where there is a single token.
export function digits(value, n = 3) {
  const text = value.toFixed(n);
  return value < 0.99999 && Number(text) === 1 ? `>0.${"9".repeat(n)}` : text;
}

// Counted in characters, not in halves of them: an emoji is never cut in two.
export function shorten(text, longest = 18) {
  const letters = [...text];
  return letters.length > longest ? `${letters.slice(0, longest - 1).join("")}…` : text;
}

// At a sentence's end, which may have a stop of its own.
export const quoted = (text) => `“${text}”${/[.!?…]$/.test(text) ? "" : "."}`;

// <eos>, [CLS]: a token that stands for no word.
export const isSpecial = (text) => /^(<[^<>]*>|\[[A-Z]+\d*\])$/.test(text);

// A token with a letter in it that stands for itself.
export const isWord = (text) => /\p{L}/u.test(text) && !isSpecial(text);
// A name inside a sentence: “Encoder” loses its capital, “GPT” and “ViT” keep theirs.
export const uncapped = (name) => name.replace(/^[A-Z](?=[a-z]{2})/, (first) => first.toLowerCase());
// A lone space has a name beside its sign, and no lone comma is taken for a speck.
export const spelt = (text) => (text === "␣" ? "␣ space" : /^[^\p{L}\p{N}]$/u.test(text) ? `“${text}”` : text);
export const JOINED = "‿";
// What the marks in names mean.
export function marksIn(names) {
  const piece = names.some((name) => name.startsWith(JOINED));
  const byte = names.find((name) => name.includes("⟨"));
  const bytes = byte && `${byte.replace(JOINED, "")} is a byte, a part of a character`;
  return [piece && `${JOINED} marks letters without a space before them`, names.includes("␣") && "␣ is a space", bytes]
    .filter(Boolean)
    .join(", and ");
}

let measuring;
export function textWidth(text, size = 16) {
  measuring ||= document.createElement("canvas").getContext("2d");
  measuring.font = `${size}px ${FONT}`;
  return measuring.measureText(text).width;
}

// Words in lines that are no wider than `most`.
export function wrapped(words, most, size) {
  const lines = [""];
  for (const word of words.split(" ")) {
    const longer = `${lines[lines.length - 1]} ${word}`.trim();
    if (lines[lines.length - 1] && textWidth(longer, size) > most) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

// The first words that fit; the last ones are the shortest.
export const fitting = (options, most, size = 13) =>
  options.find((words) => textWidth(words, size) < most) ?? options[options.length - 1];

export const widest = (tokens) => Math.ceil(Math.max(...tokens.map((token) => textWidth(shorten(token)))));
