// Translates sentences as the site does, for comparing with PyTorch: node translate.mjs < question.
// In: { weights, tokenizer, sentences }. Out: one result per sentence, numbers in base64.

import { readFileSync } from "node:fs";
import { Translator } from "../../web/static/translator.js";

const asked = JSON.parse(readFileSync(0, "utf8"));
const { buffer, byteOffset, length } = readFileSync(asked.weights);
const merges = JSON.parse(readFileSync(asked.tokenizer, "utf8"));
const translator = new Translator(buffer.slice(byteOffset, byteOffset + length), merges);
const base64 = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");
const answers = asked.sentences.map((sentence) => {
  try {
    const trace = translator.trace(sentence);
    const { translation, found, described, problem, logits, data } = trace;
    return { translation, ids: translator.encode(sentence), found, described, problem, logits: base64(logits), data: base64(data) };
  } catch (error) {
    return { error: error.message, kind: error.constructor.name };
  }
});
process.stdout.write(JSON.stringify(answers));
