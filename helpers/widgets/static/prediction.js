// A prediction: options, a number or a slider, how sure one is, and a button that locks it in.
// Python holds the state. `_asked` is the question, `locked` what was locked in (or {}), and
// `_problem` what is still missing. The page only draws them and sends what was chosen.

import { make, shieldKeys } from "./page.js";

const SURE = [
  ["guess", "It's a guess"],
  ["think", "I think so"],
  ["sure", "I'm sure"],
];
let count = 0;

// Our own HTML: Python has escaped everything in it.
function rich(tag, html, properties = {}) {
  const element = make(tag, properties);
  element.innerHTML = html;
  return element;
}

class Card {
  constructor(model, el) {
    this.model = model;
    this.id = `pr-${Date.now().toString(36)}-${count++}`;
    this.chosen = { answer: null, confidence: null, why: "" };
    this.body = make("div");
    this.status = make("div", { class: "pr-status", role: "status", "aria-live": "polite", tabindex: "-1" });
    this.root = make("div", { class: "pr", role: "group", "aria-label": "Prediction" }, this.body, this.status);
    this.build();
    this.listen();
    el.append(this.root);
  }

  get asked() {
    return this.model.get("_asked");
  }

  listen() {
    const redraw = () => this.build();
    const complain = () => this.say();
    this.model.on("change:locked", redraw);
    this.model.on("change:_problem", complain);
    this.root.addEventListener("keydown", (event) => this.onKey(event));
    const unshield = shieldKeys(this.root);
    this.end = () => {
      this.model.off("change:locked", redraw);
      this.model.off("change:_problem", complain);
      unshield();
    };
  }

  // ---- drawing -----------------------------------------------------------------------------

  build() {
    const { asked } = this;
    const locked = this.model.get("locked");
    const done = "guess" in locked;
    const held = this.root.contains(document.activeElement);
    this.root.classList.toggle("pr-locked", done);
    const tag = make("span", { class: "pr-tag" }, "Predict");
    const legend = make("legend", {}, tag, rich("span", asked.prompt, { class: "pr-prompt" }));
    const one = () => (done ? [] : [asked.kind === "slider" ? this.slider() : this.number()]);
    const field = asked.kind === "options" ? this.options(locked) : one();
    const question = make("fieldset", { class: "pr-question" }, legend, ...field);
    this.body.replaceChildren(question, ...(done ? [] : [this.why(), this.foot()].filter(Boolean)));
    this.say();
    // The button that had the focus is gone; from this line JupyterLab hears every key.
    if (done && held) (this.status.querySelector(".pr-next") || this.status).focus();
  }

  options(locked) {
    const done = "guess" in locked;
    return this.asked.options.map(([key, html]) => {
      const mine = done && locked.guess === key;
      const input = make("input", { type: "radio", name: `${this.id}-option`, value: key, disabled: done || null });
      input.checked = done ? mine : this.chosen.answer === key;
      input.addEventListener("change", () => (this.chosen.answer = key));
      return make("label", { class: `pr-option${mine ? " pr-mine" : ""}` }, input, rich("span", html));
    });
  }

  number() {
    const { unit } = this.asked;
    const label = unit ? `Your number, in ${unit}` : "Your number";
    const typed = { type: "text", inputmode: "decimal", autocomplete: "off", placeholder: "a number" };
    const input = make("input", { ...typed, class: "pr-number", "aria-label": label });
    input.value = this.chosen.answer ?? "";
    input.addEventListener("input", () => (this.chosen.answer = input.value.trim() || null));
    return make("div", { class: "pr-field" }, input, make("span", {}, unit));
  }

  slider() {
    const { low, high, step, unit, ends } = this.asked;
    const input = make("input", { type: "range", min: low, max: high, step, "aria-label": "Your number" });
    const output = make("output", { class: "pr-value" }, "move the slider");
    input.value = this.chosen.answer ?? (low + high) / 2;
    const moved = () => {
      const text = `${Number(input.value).toLocaleString("en-GB", { maximumSignificantDigits: 4 }).replace("-", "−")}${unit === "%" || !unit ? unit : ` ${unit}`}`;
      this.chosen.answer = input.value;
      output.textContent = text;
      output.classList.add("pr-set");
      input.setAttribute("aria-valuetext", text);
    };
    input.addEventListener("input", moved);
    // A press on the thumb where it is, in the middle, is an answer as well.
    input.addEventListener("pointerup", moved);
    if (this.chosen.answer !== null) moved();
    const words = ends.map((end) => make("span", {}, end));
    const scale = make("div", { class: "pr-scale", "aria-hidden": "true" }, ...words);
    return make("div", { class: "pr-slide" }, make("div", { class: "pr-track" }, input, scale), output);
  }

  why() {
    if (!this.asked.why) return null;
    const told = { "aria-label": "Why? One line, optional", placeholder: "Why? One line, if you like" };
    const input = make("input", { type: "text", maxlength: "200", class: "pr-why", ...told });
    input.value = this.chosen.why;
    input.addEventListener("input", () => (this.chosen.why = input.value));
    return input;
  }

  foot() {
    const choices = SURE.map(([key, text]) => {
      const input = make("input", { type: "radio", name: `${this.id}-sure`, value: key });
      input.checked = this.chosen.confidence === key;
      input.addEventListener("change", () => (this.chosen.confidence = key));
      return make("label", { class: "pr-sure" }, input, make("span", {}, text));
    });
    const sure = make("fieldset", { class: "pr-confidence" }, make("legend", {}, "How sure are you?"), ...choices);
    const button = make("button", { type: "button", class: "pr-lock", onclick: () => this.lock() }, "Lock in");
    return make("div", { class: "pr-foot" }, sure, button);
  }

  say() {
    const locked = this.model.get("locked");
    const done = "guess" in locked;
    const problem = this.model.get("_problem");
    this.status.classList.toggle("pr-problem", Boolean(problem) && !done);
    this.status.replaceChildren();
    if (!done) return this.status.append(problem);
    this.status.append(rich("span", locked.told));
    if (locked.earlier)
      this.status.append(
        make("button", { type: "button", class: "pr-again", onclick: () => this.again() }, "Predict again"),
      );
    if (problem) this.status.append(make("div", {}, problem));
    if (locked.next) this.status.append(make("div", { class: "pr-next", tabindex: "-1" }, locked.next));
  }

  // ---- what the learner does ---------------------------------------------------------------

  lock() {
    this.model.send({ lock: { ...this.chosen } });
  }

  again() {
    this.chosen = { answer: null, confidence: null, why: "" };
    this.model.send({ again: true });
  }

  onKey(event) {
    if (event.target.matches(".pr-next") || event.ctrlKey || event.metaKey || event.altKey || event.key === "Escape")
      return;
    if (event.key === "Enter" && event.shiftKey) return;
    if (event.key === "Enter" && event.target.tagName === "INPUT") {
      event.preventDefault();
      this.lock();
    }
    event.stopPropagation();
  }
}

export default {
  render({ model, el }) {
    const card = new Card(model, el);
    return () => card.end();
  },
};
