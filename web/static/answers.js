// What somebody predicts, read and told as helpers/exercises/predictions.py does it.

const SURE = { guess: "a guess", think: "you thought so", sure: "you were sure" };
const TOLD = { guess: "It's a guess", think: "You think so", sure: "You're sure" };

// What is locked in, or the sentence that says what is missing: { answer } or { problem }.
export function understood(asked, answer, confidence) {
  const options = asked.kind === "options";
  if (answer === null || answer === "")
    return { problem: options ? "Choose an answer first." : "Give a number first." };
  const read = options ? answer : numberIn(String(answer));
  if (Number.isNaN(read)) return { problem: `“${answer}” isn't a number. Write it like 0.25 or 512.` };
  if (!options && (read < (asked.low ?? -Infinity) || read > (asked.high ?? Infinity)))
    return { problem: `That can't be. ${asked.can_be}` };
  if (!(confidence in SURE)) return { problem: "Say how sure you are, then lock it in." };
  return { answer: read };
}

// Spaces and commas separate thousands, a minus may be a real one, a percent sign may follow.
export function numberIn(text) {
  const plain = text
    .replace(/[\s_]/g, "")
    .replace(/[\u2212\u2013]/g, "-")
    .replace(/(?<=\d)['’](?=\d{3}(?!\d))/g, "");
  if (/^[+-]?(0,\d+|\d+,(?!\d{3}$)\d+)$/.test(plain)) return NaN; // a comma where we write a point
  const digits = plain.replaceAll(",", "").replace(/%$/, "");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(digits) ? Number(digits) : NaN;
}

export function written(number, unit) {
  const text = number
    .toLocaleString("en-GB", { maximumSignificantDigits: Math.abs(number) >= 100 ? 15 : 3 })
    .replace("-", "−");
  return unit === "%" ? `${text}%` : `${text} ${unit}`.trim();
}

// Said on the card, in HTML; the reason is a visitor's own text, so it is escaped.
export function told(asked, { guess, confidence, why }) {
  const escaped = (why || "").replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
  const number = asked.kind === "options" ? "" : ` <strong>${written(guess, asked.unit)}</strong>.`;
  return `Locked in.${number} ${TOLD[confidence]}.${escaped ? ` “${escaped}”` : ""}`;
}

// Said beside the result, as text.
export function predicted(asked, { guess, confidence }, optionText) {
  const what = asked.kind === "options" ? `“${optionText}”` : written(guess, asked.unit);
  return `You predicted ${what} (${SURE[confidence]}).`;
}
