// Every explorer's page: labelled controls above the picture that Python draws. What a hand moves
// goes to Python as {set: {trait: value}}; Python answers with the state and new drawings.

import { control } from "./controls.js";
import { innerWidth, isDark, lowered, make, onTheme, onWidth, prefersStillness, shieldKeys } from "./page.js";
import { watchPicture } from "./explorer_hand.js";
import { fitDrawings, patch, readDrawing } from "./explorer_picture.js";

const PATIENCE = 8000; // milliseconds; where a page loads slowly, anywidget loses all that Python sends

class Explorer {
  constructor(model, el) {
    Object.assign(this, { model, sent: 0, gesture: 0, waiting: [], controls: {} });
    this.bar = make("div", { class: "ex-bar" });
    this.second = make("div", { class: "ex-bar ex-second" });
    const { folded, sound } = model.get("_shown");
    const fold = folded && make("details", { class: "ex-known ex-folded" }, make("summary", {}, folded), this.second);
    this.told = make("div", { class: "ex-told" });
    this.picture = make("div", { class: "ex-picture", role: "group" });
    this.sound = make("audio", { controls: "", "aria-label": "Listen" });
    this.live = make("div", { class: "av-hidden", role: "status", "aria-live": "polite" });
    const named = { class: "av ex course-explorer", role: "group", "aria-label": model.get("_title") };
    const parts = [this.bar, fold || this.second, this.told, this.picture];
    if (sound) parts.push(this.sound);
    this.root = make("div", named, ...parts, this.live);
    el.classList.add("course-explorer-holder");
    el.append(this.root);
    for (const event of ["pointerdown", "keydown"]) this.root.addEventListener(event, () => this.gesture++, true);
    for (const event of ["play", "seeked"]) this.sound.addEventListener(event, () => this.follow());
    const update = () => this.update();
    const theme = () => (this.root.dataset.theme = isDark() ? "dark" : "light");
    const ends = [shieldKeys(this.root), onTheme(theme), onWidth(this.root, () => this.draw())];
    model.on("change:_shown", update);
    watchPicture(this);
    theme();
    this.update();
    this.end = () => {
      model.off("change:_shown", update);
      clearTimeout(this.saying);
      clearTimeout(this.lost);
      clearInterval(this.playing);
      for (const end of ends) end();
    };
  }

  // One question at a time: what moves while Python works is sent when it has answered, and each
  // press after the one before it.
  ask(question) {
    const last = this.waiting.at(-1);
    if (last?.set && question.set && !question.pressed) Object.assign(last.set, question.set);
    else this.waiting.push(question);
    this.flush();
  }
  flush() {
    if (!this.waiting.length || this.sent > this.shown.answered) return;
    this.asked = this.waiting.shift();
    this.model.send({ ...this.asked, number: ++this.sent, gesture: this.gesture });
    this.lost = setTimeout(() => {
      this.told.hidden = false;
      this.told.replaceChildren("Python hasn’t answered. If it isn’t at work, run this cell again.");
    }, PATIENCE);
  }
  get shown() {
    return this.model.get("_shown");
  }
  get state() {
    return this.shown.state;
  }

  update() {
    const { shown } = this;
    clearTimeout(this.lost);
    // A view made anew, in another place of the page, goes on where the last one was.
    this.sent = Math.max(this.sent, shown.answered);
    if (this.sent === shown.answered) this.asked = null;
    this.updateControls(shown.controls);
    const refused = shown.controls.some((one) => one.error); // what is below isn't an answer to it
    this.root.classList.toggle("ex-refused", refused);
    this.root.classList.toggle("ex-still", prefersStillness() || Boolean(this.dragging));
    this.draw();
    this.told.replaceChildren(...shown.told.map((line) => make("div", {}, ...lowered(line))));
    this.told.hidden = !shown.told.length;
    this.picture.setAttribute("aria-label", shown.alt);
    const heard = shown.sound ? `data:audio/wav;base64,${shown.sound}` : "";
    if (heard && this.sound.src !== heard) this.sound.src = heard;
    this.say(shown.alt);
    this.root.dataset.answered = shown.answered;
    this.flush();
  }

  draw() {
    const drawings = fitDrawings(this.picture, this.shown.drawings.map(readDrawing), innerWidth(this.root));
    drawings.forEach((drawing, i) => {
      const now = this.picture.children[i];
      if (!now) this.picture.append(drawing);
      else patch(now, drawing);
    });
    while (this.picture.children.length > drawings.length) this.picture.lastChild.remove();
  }

  updateControls(wanted) {
    const names = wanted.map((one) => one.name).join("\n");
    if (names !== this.named) {
      this.named = names;
      this.controls = Object.fromEntries(wanted.map((one) => [one.name, control(this, one)]));
      const rows = (second) => wanted.filter((one) => one.second === second).map((one) => this.controls[one.name].row);
      this.bar.replaceChildren(...rows(false));
      this.second.replaceChildren(...rows(true));
    }
    this.second.hidden = !wanted.some((one) => one.second && !one.hidden);
    for (const one of wanted) {
      const { row, show } = this.controls[one.name];
      row.hidden = Boolean(one.hidden);
      show(one, this.state[one.trait]);
    }
  }

  // Once the hand rests, a screen reader hears what the picture shows now.
  say(alt) {
    clearTimeout(this.saying);
    if (this.said === undefined) this.said = alt; // not when it appears
    this.saying = setTimeout(() => {
      if (this.said !== alt) this.live.textContent = this.said = alt;
    }, 700);
  }

  // A line in the picture goes with what is heard.
  follow() {
    const line = this.picture.querySelector("[data-heard]");
    if (!line) return;
    const [from, to, seconds] = JSON.parse(line.dataset.heard);
    line.setAttribute("transform", `translate(${from + (to - from) * Math.min(1, this.sound.currentTime / seconds)})`);
    if (!this.sound.paused && this.root.isConnected) requestAnimationFrame(() => this.follow());
  }

  // Let time run: every tick asks Python for the next state, until nothing changes any more.
  play(one, button) {
    if (this.playing) return this.pause();
    const call = (word) => Object.assign(button, { textContent: word, ariaLabel: `${word}: ${one.label}` });
    call("Pause");
    button.parentElement.querySelector("input").addEventListener("input", () => this.pause(), { once: true });
    this.rest = () => call("Play");
    const { min, last } = this.shown.controls.find(({ name }) => name === one.name);
    if (this.state[one.trait] >= last) this.ask({ set: { [one.trait]: min } }); // at the end: once more
    let before = null;
    const tick = () => {
      if (!this.root.isConnected || this.shown.controls.some((each) => each.error)) return this.pause();
      if (this.sent > this.shown.answered) return; // Python is still at work
      const now = JSON.stringify(this.state);
      if (now === before) return this.pause();
      before = now;
      this.ask({ tick: one.trait });
    };
    this.playing = setInterval(tick, one.interval);
    tick();
  }
  pause() {
    clearInterval(this.playing);
    if (this.playing) this.rest();
    this.playing = null;
  }
}

export default {
  render({ model, el }) {
    const explorer = new Explorer(model, el);
    return () => explorer.end();
  },
};
