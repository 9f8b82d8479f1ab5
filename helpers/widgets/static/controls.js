// The explorers' controls: native ones, because every browser and screen reader knows them.
// Each is {row, show}: its element, and a function that brings it to a state.

import { make } from "./page.js";
import { logToShare, shareToLog, stepped } from "./scales.js";

// Every widget loads this module anew, so a count alone would give two of them the same ids.
const mark = Math.random().toString(36).slice(2, 9);
let made = 0;
const freshId = () => `ex-${mark}-${made++}`;

export function control(explorer, one) {
  return { slider, choice, switch: tick, words, button }[one.kind](explorer, one);
}

function row(one, ...parts) {
  return make("div", { class: `ex-control ex-a-${one.kind}` }, ...parts);
}

function slider(explorer, one) {
  const id = freshId();
  const input = make("input", { type: "range", id });
  const output = make("span", { class: "ex-value", "aria-hidden": "true" });
  const toValue = (at) => (one.log ? shareToLog(at / 1000, one.min, one.max) : at);
  let asked = null;
  const ask = (value) => {
    asked = value;
    explorer.ask({ set: { [one.trait]: value } });
  };
  input.addEventListener("input", () => ask(toValue(Number(input.value))));
  // A thousandth of a logarithm is no step for a key: it takes those of the number that is shown.
  const onKey = (event) => {
    const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.key];
    if (!steps) return;
    event.preventDefault();
    const next = stepped(asked, steps, { low: 0, high: one.max, step: one.step });
    ask(Math.max(one.min, next));
  };
  if (one.log) input.addEventListener("keydown", onKey);
  const named = { class: "ex-button ex-first", "aria-label": `Play: ${one.label}` };
  const play = one.interval ? make("button", { type: "button", ...named }, "Play") : null;
  play?.addEventListener("click", () => explorer.play(one, play));
  const show = (now, value) => {
    const [min, max, step] = one.log ? [0, 1000, 1] : [now.min, now.max, now.step];
    Object.assign(input, { min, max, step });
    input.disabled = Boolean(now.disabled);
    // While the hand is on it, it knows better than an answer that is on its way, or not asked for yet.
    if (document.activeElement !== input || (!explorer.waiting.length && explorer.sent <= explorer.shown.answered)) {
      asked = value;
      input.value = one.log ? Math.round(1000 * logToShare(value, now.min, now.max)) : value;
    }
    const text = value.toFixed(now.digits).replace("-", "−") + (now.of ? ` of ${now.max}` : "");
    output.textContent = text;
    input.setAttribute("aria-valuetext", text);
  };
  return { row: row(one, make("label", { for: id }, one.label), input, output, play), show };
}

function choice(explorer, one) {
  const id = freshId();
  const options = one.options.map(([words], i) => make("option", { value: i }, words));
  const select = make("select", { id }, ...options);
  select.addEventListener("change", () => explorer.ask({ set: { [one.trait]: one.options[select.selectedIndex][1] } }));
  // A closed list answers to the arrows on every system, not only where the browser sees to it.
  select.addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key];
    const next = select.selectedIndex + (step || 0);
    if (!step || event.altKey) return;
    event.preventDefault();
    if (next < 0 || next >= one.options.length) return;
    select.selectedIndex = next;
    select.dispatchEvent(new Event("change"));
  });
  const show = (now, value) => {
    now.options.forEach(([words], i) => (options[i].text = words));
    select.selectedIndex = one.options.findIndex(([, each]) => each === value);
    select.disabled = Boolean(now.disabled);
  };
  return { row: row(one, make("label", { for: id }, one.label), select), show };
}

function tick(explorer, one) {
  const input = make("input", { type: "checkbox" });
  input.addEventListener("change", () => explorer.ask({ set: { [one.trait]: input.checked } }));
  const show = (now, value) => Object.assign(input, { checked: value, disabled: Boolean(now.disabled) });
  return { row: row(one, make("label", {}, input, one.label)), show };
}

function words(explorer, one) {
  const id = freshId();
  const plain = { type: "text", spellcheck: "false", autocomplete: "off" };
  const input = make("input", { ...plain, id, "aria-describedby": `${id}-note` });
  const note = make("div", { class: "ex-note", id: `${id}-note`, role: "alert" });
  const known = one.known
    ? make("details", { class: "ex-known" }, make("summary", {}, "Known words"), make("div", {}, one.known.join(" · ")))
    : null;
  let last = null;
  let asked = null;
  const send = () => {
    if (input.value === asked) return;
    asked = input.value;
    explorer.ask({ set: { [one.trait]: asked } });
  };
  input.addEventListener("change", send);
  input.addEventListener("keydown", (event) => event.key === "Enter" && send());
  const show = (now, value) => {
    const wrong = now.error || "";
    // What is being typed stays; what was refused stays too, to be mended.
    if (!wrong && value !== last) input.value = asked = value;
    last = wrong ? null : value;
    input.setAttribute("aria-invalid", Boolean(wrong));
    if (note.textContent !== wrong) note.textContent = wrong;
  };
  const field = make("div", { class: "ex-field" }, input, note);
  const all = row(one, make("label", { for: id }, one.label), field, known);
  if (one.wide) all.classList.add("ex-wide");
  // The list pushes the picture down, so it closes as soon as something else is done.
  if (known) explorer.root.addEventListener("click", ({ target }) => all.contains(target) || (known.open = false));
  known?.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !known.open) return;
    known.open = false;
    event.preventDefault(); // a second one leaves the view
  });
  return { row: all, show };
}

function button(explorer, one) {
  const kind = one.quiet ? "ex-button ex-quiet" : "ex-button";
  const element = make("button", { type: "button", class: kind, title: one.tooltip }, one.label);
  element.addEventListener("click", () => {
    explorer.pause();
    explorer.ask({ press: one.name });
  });
  const show = ({ disabled, pressed }) => Object.assign(element, { disabled: Boolean(disabled), ariaPressed: pressed });
  return { row: row(one, one.before, element), show };
}
