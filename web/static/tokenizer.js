// Text to ids and back: byte-pair pieces, as helpers/text/tokenization.py makes them.

export const [PAD, BOS, EOS] = [0, 1, 2];
const SPECIALS = ["<pad>", "<bos>", "<eos>", "<unk>"];
// GPT-2's rule for where text is cut before anything is merged.
const WORDS = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;
// What Python calls white space; JavaScript's own list differs by a few characters.
// biome-ignore lint/suspicious/noControlCharactersInRegex: some of them are control characters
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;

// The letter that stands for each byte: a printable byte stands for itself, a space is Ġ.
const printable = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte < 256 && byte !== 173);
const hidden = Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => !printable(byte));
const LETTERS = Array.from({ length: 256 }, (_, byte) =>
  String.fromCharCode(printable(byte) ? byte : 256 + hidden.indexOf(byte)),
);
const BYTES = new Map(LETTERS.map((letter, byte) => [letter, byte]));

export function clean(text) {
  return text.normalize("NFC").replaceAll("\u2019", "'").replace(SPACE, " ").replace(/^ | $/g, "");
}

export class Tokenizer {
  // `file`: the JSON that the `tokenizers` library writes.
  constructor({ model: { vocab, merges } }) {
    this.ids = new Map(Object.entries(vocab));
    this.pieces = [...this.ids.keys()].sort((a, b) => this.ids.get(a) - this.ids.get(b));
    this.ranks = new Map(merges.map(([left, right], rank) => [`${left} ${right}`, rank]));
  }

  encode(text) {
    const words = ` ${clean(text)}`.match(WORDS);
    return words.flatMap((word) => {
      const letters = Array.from(new TextEncoder().encode(word), (byte) => LETTERS[byte]);
      return this.merged(letters).map((piece) => this.ids.get(piece));
    });
  }

  // Merge the neighbours that were merged first in training, until none are left.
  merged(parts) {
    for (;;) {
      const ranks = parts.slice(1).map((part, i) => this.ranks.get(`${parts[i]} ${part}`) ?? Infinity);
      const best = Math.min(...ranks);
      if (best === Infinity) return parts;
      const at = ranks.indexOf(best);
      parts = [...parts.slice(0, at), parts[at] + parts[at + 1], ...parts.slice(at + 2)];
    }
  }

  decode(ids) {
    const pieces = ids.map((id) => this.pieces[id]).filter((piece) => !SPECIALS.includes(piece));
    return new TextDecoder().decode(bytesOf(pieces.join(""))).trim();
  }

  // Each piece as a person reads it: ▁ marks a space, half a character is written as its bytes.
  tokens(ids) {
    return ids.map((id) => {
      const piece = this.pieces[id];
      if (SPECIALS.includes(piece)) return piece;
      const bytes = bytesOf(piece);
      try {
        return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replaceAll(" ", "▁");
      } catch {
        return Array.from(bytes, (byte) => `<${byte.toString(16).toUpperCase().padStart(2, "0")}>`).join("");
      }
    });
  }
}

const bytesOf = (piece) => Uint8Array.from(piece, (letter) => BYTES.get(letter));
