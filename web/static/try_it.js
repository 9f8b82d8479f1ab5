// The home page's translator: a French sentence in, English out, and the map of how it came about.

import { ENGLISH, looksEnglish } from "./map_language.js";
import mapOf from "./map_view.js";
import { fetched } from "./model_files.js";
import { make } from "./page.js";
import { StandIn } from "./stand_in.js";
import { Translator, Unreadable } from "./translator.js";

const EXAMPLES = [
  "Deux hommes mangent une pizza dans la rue.",
  "Une petite fille en manteau rouge joue avec un chien noir.",
  "Un politicien explique son budget devant le parlement.",
];
const MEGABYTE = 1e6;

class TryIt {
  // `example`: the map that is there already. It is hidden by the first translation's.
  constructor(place, example) {
    this.example = example;
    this.stage = make("div");
    example.after(this.stage);
    this.files = JSON.parse(place.dataset.weights);
    const size = Math.round(this.files.bytes / MEGABYTE);
    const typed = { type: "text", lang: "fr", placeholder: EXAMPLES[0], autocomplete: "off" };
    this.input = make("input", { id: "try-sentence", ...typed });
    this.button = make("button", { type: "submit" }, "Translate");
    const ask = "Type a French sentence about something that can be photographed:";
    const label = make("label", { for: "try-sentence" }, ask);
    this.said = make("p", { class: "try-said", role: "status", "aria-live": "polite" });
    const once = `The first sentence loads the model into this page, which is ${size} MB, once. Then it works without a network, and what you type stays on your computer.`;
    this.note = make("p", { class: "try-note" }, once);
    const examples = EXAMPLES.map((text) => make("button", { type: "button", class: "try-example", lang: "fr" }, text));
    examples.forEach((button) =>
      button.addEventListener("click", () => this.translate((this.input.value = button.textContent))),
    );
    const row = make("div", { class: "try-row" }, this.input, this.button);
    const others = make("div", { class: "try-examples" }, make("span", {}, "Or try "), ...examples);
    this.form = make("form", { class: "try" }, label, row, others, this.said, this.note);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.translate(this.input.value || (this.input.value = EXAMPLES[0]));
    });
    place.append(this.form);
  }

  async translate(sentence) {
    if (this.busy) return;
    this.busy = true;
    this.button.setAttribute("aria-disabled", "true");
    try {
      this.show(await this.translator(), sentence);
    } catch (error) {
      const known = error instanceof Unreadable;
      this.say(known ? error.message : "The model couldn't be loaded. Check the connection and press Translate again.");
      if (!known) this.loading = null;
    }
    this.busy = false;
    this.button.removeAttribute("aria-disabled");
  }

  translator() {
    return (this.loading ||= this.load());
  }

  async load() {
    const at = (name) => new URL(name, import.meta.url).href;
    const all = Math.round(this.files.bytes / MEGABYTE);
    const progress = (n) => this.say(`Loading the model: ${Math.round(n / MEGABYTE)} of ${all} MB …`);
    const pieces = JSON.parse(new TextDecoder().decode(await fetched(at(this.files.pieces))));
    const translator = new Translator(await fetched(at(this.files.model), progress), pieces);
    this.note.remove();
    return translator;
  }

  show(translator, sentence) {
    const start = performance.now();
    const trace = translator.trace(sentence);
    const seconds = (performance.now() - start) / 1000;
    const timed = make("span", { class: "try-seconds" }, `${seconds.toFixed(2)} s, computed in this page`);
    const warning = looksEnglish(sentence) ? make("div", { class: "try-warning" }, ENGLISH) : "";
    this.said.replaceChildren(make("strong", { lang: "en" }, trace.translation), " ", timed, warning);
    this.form.dataset.seconds = seconds;
    const state = { place: "", follow: "", beat: -1, stop: -1, everything: false, here: "" };
    const model = new StandIn({
      ...state,
      yours: [],
      chosen: [],
      off: [],
      left_out: [],
      temperature: 1,
      written: lastWord(trace.written),
      _trace: trace.described,
      _data: new DataView(trace.data.buffer),
      _tour: [], // the example above has one
      _problem: trace.problem,
    });
    this.example.hidden = true;
    this.end?.();
    this.stage.replaceChildren();
    this.end = mapOf.render({ model, el: this.stage });
  }

  say(words) {
    this.said.replaceChildren(words);
  }
}

// All but the end of the sentence is written at first, so that there is something left to play.
function lastWord(tokens) {
  const words = [...tokens.keys()].filter((i) => tokens[i] !== "<eos>" && /[\p{L}\p{N}]/u.test(tokens[i]));
  return Math.max(0, ...words);
}

const place = document.getElementById("course-translator");
if (place) new TryIt(place, document.getElementById("course-map"));
