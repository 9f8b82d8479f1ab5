// The map, a sentence that was typed: whether it looks like English, which the model can't read.

// Words that one language has and the other hasn't: small ones, and some that captions begin with.
const SMALL = {
  en: "the is are was and with of in at to from for by his her their its this that he she they you my not has have up down over two three an man woman boy girl people dog",
  fr: "le la les un une des du de et est sont dans avec sur qui que se il elle au aux en à son sa ses leur par pour deux trois l d",
};
const countOf = (words, language) => words.filter((word) => SMALL[language].split(" ").includes(word)).length;

export function looksEnglish(sentence) {
  const words = sentence.toLowerCase().match(/\p{L}+/gu) || [];
  return countOf(words, "en") > countOf(words, "fr");
}

export const ENGLISH =
  "That looks like English, but the model has only learned to read French. What it writes now means little, so try a French sentence.";

// A wrong word to try: another noun for one that captions are full of, else for the last word.
const WRONG = new Map(Object.entries({ dog: "cat", cat: "dog", man: "woman", woman: "man", girl: "boy", boy: "girl" }));

export function wrongWord(text) {
  const words = text.match(/\p{L}{3,}/gu) || [""];
  const right = words.find((word) => WRONG.has(word)) || words.at(-1);
  const wrong = WRONG.get(right) || "dog";
  const value = text.replace(new RegExp(`\\b${right}\\b`), wrong);
  return { value, textContent: `Try “${wrong}” for “${right}”`, hidden: value === text };
}

// For those who know no French: sentences like those that the translator was trained on, one after the other.
const EXAMPLES = [
  "Des enfants jouent au ballon sur la plage.",
  "Un vieil homme lit un journal sur un banc.",
  "Deux enfants jouent dans la neige.",
  "Une femme lit un livre dans un parc.",
];
export const another = (sentence) => EXAMPLES[(EXAMPLES.indexOf(sentence) + 1) % EXAMPLES.length];
