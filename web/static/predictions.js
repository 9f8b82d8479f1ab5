// Predictions on the site: the notebooks' own card, and what it opens once an answer is locked in.
// Answers stay in this browser.

import card from "./prediction.js";
import { predicted, told, understood } from "./answers.js";
import { StandIn } from "./stand_in.js";

const STORE = "course-predictions";
const open = new Set(); // names of the predictions that are locked in on this page

function stored() {
  try {
    return JSON.parse(localStorage.getItem(STORE)) || {};
  } catch {
    return {}; // no storage here, or something else's: then answers last as long as the page
  }
}

function keep(name, entry) {
  try {
    localStorage.setItem(STORE, JSON.stringify({ ...stored(), [name]: entry }));
  } catch {} // eslint-disable-line no-empty
}

class Answer extends StandIn {
  send({ lock, again }) {
    if (again) {
      open.delete(this.get("_asked").name);
      keep(this.get("_asked").name, undefined);
      return this.set("locked", {});
    }
    const asked = this.get("_asked");
    const { answer, problem = "" } = understood(asked, lock.answer, lock.confidence);
    this.set("_problem", problem);
    if (problem) return;
    const entry = { guess: answer, confidence: lock.confidence, why: (lock.why || "").trim() };
    keep(asked.name, entry);
    this.lockIn(entry, false);
  }
  lockIn(entry, earlier) {
    const asked = this.get("_asked");
    this.set("locked", { ...entry, told: told(asked, entry), earlier });
    open.add(asked.name);
    tell(asked, entry);
    unfold(asked.name);
  }
}

// Open what this answer was asked for, unless another prediction about it is still to be made.
function unfold(name) {
  for (const cell of document.querySelectorAll(`.tag_course-result.tag_answers-${name}`)) {
    const asks = [...cell.classList].filter((one) => one.startsWith("tag_answers-")).map((one) => one.slice(12));
    if (!asks.every((one) => open.has(one))) continue;
    for (const fold of cell.querySelectorAll("details.hide")) fold.open = true;
  }
}

// Put the answer into the result's panel: the first line says what was predicted, and of the
// options' explanations only the chosen one's is on view.
function tell(asked, entry) {
  const panel = document.querySelector(`.course-reveal[data-name="${asked.name}"] [role=status]`);
  if (!panel) return;
  const chosen = asked.options.findIndex(([key]) => key === entry.guess);
  const option = new DOMParser().parseFromString(chosen < 0 ? "" : asked.options[chosen][1], "text/html");
  const mine = panel.querySelector(":scope > div[style*='margin-top']");
  mine.textContent = predicted(asked, entry, option.body.textContent);
  const fold = panel.querySelector(":scope > details");
  if (!fold) return;
  fold.open = fold.firstElementChild.hidden = true;
  fold.querySelectorAll("div").forEach((line, i) => (line.hidden = i !== chosen));
}

for (const place of document.querySelectorAll(".course-predict")) {
  const asked = JSON.parse(place.dataset.asked);
  const model = new Answer({ _asked: asked, locked: {}, _problem: "" });
  place.replaceChildren();
  card.render({ model, el: place });
  const entry = stored()[asked.name];
  if (entry && !understood(asked, entry.guess, entry.confidence).problem) model.lockIn(entry, true);
}
