// The course's translator in the page: helpers/pretrained/translator.py without Python.

import { readSafetensors } from "./safetensors.js";
import { BOS, EOS, Tokenizer, clean } from "./tokenizer.js";
import { packTrace, problemWith } from "./trace.js";
import { Transformer } from "./transformer.js";

export class Translator {
  // `weights`: the ArrayBuffer of a .safetensors file, `tokenizer`: the parsed JSON beside it.
  constructor(weights, tokenizer) {
    const { tensors, metadata } = readSafetensors(weights);
    this.model = new Transformer(tensors, JSON.parse(metadata.config));
    this.tokenizer = new Tokenizer(tokenizer);
    this.alphabet = new Set(metadata.alphabet);
  }

  // Ids, ending with <eos>. Throws a sentence for people if the text can't be translated.
  encode(text) {
    const cleaned = clean(text);
    if (!cleaned) throw new Unreadable("Type a French sentence first.");
    const unknown = [...new Set(cleaned)].filter((letter) => !this.alphabet.has(letter)).sort();
    if (unknown.length) {
      throw new Unreadable(
        `The model has never seen ${unknown.join(" ")} and would only guess. Write the sentence without it.`,
      );
    }
    const ids = [...this.tokenizer.encode(cleaned), EOS];
    const most = this.model.config.max_len;
    if (ids.length > most) {
      throw new Unreadable(
        `This text has ${ids.length} pieces, and the model reads up to ${most}. Split it into sentences.`,
      );
    }
    return ids;
  }

  // The likeliest token at every step, until <eos>.
  greedy(memory, n) {
    const most = Math.min(2 * n + 10, this.model.config.max_len);
    const cache = this.model.newCache();
    const ids = [BOS];
    while (ids.length <= most && ids[ids.length - 1] !== EOS) {
      const logits = this.model.logits(this.model.decode(ids.slice(-1), memory, cache).output);
      ids.push(logits.reduce((best, logit, id) => (logit > logits[best] ? id : best), 0));
    }
    return ids.slice(1);
  }

  // The translation, and every number on its way through the model, for the map.
  trace(text) {
    const { model, tokenizer } = this;
    const ids = this.encode(text);
    const encoder = { ...model.encode(ids), tokens: tokenizer.tokens(ids) };
    const found = this.greedy(encoder.output, ids.length);
    const given = [BOS, ...found.slice(0, -1)];
    const decoder = { ...model.decode(given, encoder.output), tokens: tokenizer.tokens(given) };
    const logits = model.logits(decoder.output);
    const written = tokenizer.tokens(found);
    const tokensOf = (some) => tokenizer.tokens(some);
    const packed = packTrace(model, { encoder, decoder, written, logits, tokensOf });
    const problem = problemWith(encoder.tokens, decoder.tokens);
    const translation = tokenizer.decode(found);
    return { translation, found, encoder, decoder, written, logits, problem, ...packed };
  }
}

// A text that can't be translated; its message is for the visitor.
export class Unreadable extends Error {}
