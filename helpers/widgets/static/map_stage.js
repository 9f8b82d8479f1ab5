// The map, the stage: a scene on a canvas, what is lit, what is pointed at, by hand or by keys.

import { fitCanvas, lowered, make } from "./page.js";
import { Paint } from "./map_paint.js";
import { cellAt, cellRect } from "./map_scene.js";
import { nearest } from "./scales.js";
import { clamp } from "./text.js";

// What a target may ask for by name.
const ACTS = ["follow", "choose", "leave", "write", "split", "turn"];
const acts = (one) => ["go", "open", ...ACTS].some((name) => (one[name] ?? null) !== null);

// By how many rows and columns a key moves; Home and End go to the first and the last.
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
Object.assign(MOVES, { Home: [0, -Infinity], End: [0, Infinity] });

export class Stage {
  // `acts`: open(place, row), follow(token), choose(rank of a token), leave(patch), write(up to a row), split(side), turn(a head)
  constructor(acts) {
    Object.assign(this, { acts, pointed: null, cursor: null, hits: [] });
    this.base = make("canvas", { "aria-hidden": "true" });
    this.over = make("canvas", { "aria-hidden": "true", class: "mm-over" });
    this.full = document.createElement("canvas");
    this.targets = make("div", { class: "mm-targets" });
    this.tip = make("div", { class: "mm-tip", "aria-hidden": "true", hidden: "" });
    // What a scene asks for that a page has already: a slider.
    this.slot = make("div", { class: "mm-slot", onclick: (event) => event.stopPropagation() });
    this.root = make("div", { class: "mm-stage", role: "group" });
    this.root.append(this.base, this.over, this.targets, this.slot, this.tip);
    this.root.addEventListener("pointermove", (event) => this.onPoint(event));
    this.root.addEventListener("pointerleave", () => this.point(null));
    this.root.addEventListener("click", (event) => this.onClick(event));
    this.root.addEventListener("keydown", (event) => this.onKey(event));
    this.root.addEventListener("focusin", (event) => this.onFocus(event.target));
    this.root.addEventListener("focusout", () => this.leaveGrid());
  }

  // ---- painting ----------------------------------------------------------------------------

  // Show a scene. `lit`: rectangles that stay in full colour, or null for all of it.
  show(scene, theme, light) {
    const { lit = null, flows = null, named = null, marks = null, veil = "veil", height = scene.height } = light;
    Object.assign(this, { scene, theme, lit, flows, named, marks, veil, height });
    this.root.style.height = `${height}px`;
    this.root.setAttribute("aria-label", scene.title);
    this.slot.hidden = !scene.slot || Boolean(lit && !lit.rests && scene.measures); // not where a part is told
    if (scene.slot) ["left", "top", "width"].forEach((side, i) => (this.slot.style[side] = `${scene.slot[i]}px`));
    this.scale = fitCanvas(this.full, scene.width, height);
    const p = this.painter(this.full);
    p.box(0, 0, scene.width, height, { fill: theme.paper, radius: 0 });
    for (const work of scene.painters) work(p);
    this.place();
    this.paint();
  }

  painter(canvas) {
    const scale = fitCanvas(canvas, this.scene.width, this.height);
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    return new Paint(context, this.theme);
  }

  paint() {
    const { scene, theme, lit, flows, height, scale } = this;
    const p = this.painter(this.base);
    const { context } = p;
    context.drawImage(this.full, 0, 0, scene.width, height);
    if (lit) {
      context.fillStyle = theme[this.veil];
      context.fillRect(0, 0, scene.width, height);
      for (const rect of lit) {
        const [x, y, w, h] = this.onCanvas(rect);
        if (w > 0 && h > 0) context.drawImage(this.full, x * scale, y * scale, w * scale, h * scale, x, y, w, h);
      }
    }
    const any = ([x, y, w, h]) =>
      !lit || lit.some(([left, top, wide, high]) => x < left + wide && left < x + w && y < top + high && top < y + h);
    for (const { rect, work } of scene.tops) work(p, any(rect), this.veil);
    if (flows) flows(p);
    for (const label of scene.labels) label(p);
    for (const work of [this.named, this.marks]) if (work) work(p);
    this.paintPointed();
    this.root.dataset.painted = String(Number(this.root.dataset.painted || 0) + 1);
  }

  onCanvas([x, y, w, h]) {
    const [left, top] = [Math.max(0, x), Math.max(0, y)];
    return [left, top, Math.min(this.scene.width, x + w) - left, Math.min(this.height, y + h) - top];
  }

  paintPointed() {
    const p = this.painter(this.over);
    p.context.clearRect(0, 0, this.scene.width, this.height);
    const { pointed, theme } = this;
    if (!pointed) return;
    const { target, cell } = pointed;
    const [x, y, w, h] = target.rect;
    if (!target.grid) return p.box(x + 0.5, y + 0.5, w - 1, h - 1, { edge: theme.query, line: 2, radius: 6 });
    const rect = cellRect(target, cell);
    if (target.marks) target.marks(p, cell);
    else p.box(x, rect[1], w, rect[3], { edge: theme.query, radius: 1 });
    p.box(rect[0] - 1, rect[1] - 1, rect[2] + 2, rect[3] + 2, { edge: theme.ink, line: 2, radius: 2 });
  }

  // ---- what can be pressed: a real button for every target, one of them in the tab order ----

  place() {
    const list = this.scene.targets
      .filter((one) => !one.pointer)
      .sort((a, b) => b.rect[2] * b.rect[3] - a.rect[2] * a.rect[3]);
    while (this.hits.length < list.length) {
      const hit = make("button", { type: "button", class: "mm-hit", tabindex: -1 });
      this.targets.append(hit);
      this.hits.push(hit);
    }
    this.hits.forEach((hit, i) => {
      const target = list[i];
      hit.hidden = !target;
      hit.target = target;
      if (!target) return;
      const [x, y, w, h] = target.rect.map(Math.round);
      const style = `left:${x}px;top:${y}px;width:${w}px;height:${h}px`;
      if (hit.getAttribute("style") !== style) hit.setAttribute("style", style);
      const name = target.grid
        ? `${target.name}, ${target.rows} by ${target.cols}${target.one.width > target.cols ? ` of ${target.one.width}` : ""} numbers; Enter to read them`
        : target.name;
      if (hit.getAttribute("aria-label") !== name) hit.setAttribute("aria-label", name);
    });
    this.list = list;
    const home = this.hits.find((hit) => hit.tabIndex === 0 && !hit.hidden);
    if (!home) this.setHome(this.inOrder()[0]);
    if (this.pointed) this.pointed = this.scene.targets.includes(this.pointed.target) ? this.pointed : null;
    if (!this.pointed) this.tip.hidden = true;
    this.cursor = null;
  }

  // Reading order: from the left, then from the top.
  inOrder() {
    return this.hits
      .filter((hit) => !hit.hidden)
      .sort((a, b) => a.target.rect[0] - b.target.rect[0] || a.target.rect[1] - b.target.rect[1]);
  }

  setHome(chosen) {
    for (const hit of this.hits) hit.tabIndex = hit === chosen ? 0 : -1;
  }

  // After a step deeper or back: what was left, or the first thing there is.
  focus(place, from = "") {
    const cell = from.split("/").at(-1).split(",").map(Number);
    const left = ({ go, open }) => place && (go === place || (cell[1] >= 0 && open?.(...cell) === from));
    const hits = this.hits.filter((one) => !one.hidden && left(one.target));
    const hit = hits.find(({ target }) => target.name === this.pressed) || hits[0] || this.inOrder()[0];
    if (!hit) return; // a page with nothing to press: the view itself takes the focus
    this.setHome(hit);
    hit.focus({ preventScroll: true });
    if (hit.target.open && cell[1] >= 0) this.point({ target: hit.target, cell });
  }

  onFocus(hit) {
    if (!hit.target) return;
    this.setHome(hit);
    if (!hit.matches(":focus-visible")) return;
    this.point({ target: hit.target, cell: hit.target.grid ? [0, 0] : null, quiet: true });
  }

  // ---- pointing ----------------------------------------------------------------------------

  onPoint(event) {
    const box = this.root.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const found = this.scene.targetsAt(x, y);
    const [target] = found;
    this.root.style.cursor = found.some(acts) ? "pointer" : "";
    this.point(target ? { target, cell: target.grid ? cellAt(target, x, y) : null } : null);
  }

  point(next) {
    const key = (one) => (one ? `${one.target.name}/${one.cell}` : "");
    if (key(next) === key(this.pointed)) return;
    this.pointed = next;
    this.paintPointed();
    this.drawTip();
    if (next?.cell && !next.quiet) this.acts.say(this.words().join(", "));
  }

  words() {
    const { target, cell } = this.pointed;
    return target.grid ? target.tell(target.one, ...cell) : target.tip();
  }

  drawTip() {
    const words = this.pointed ? this.words() : [];
    this.tip.hidden = !words.length;
    if (!words.length) return;
    this.tip.replaceChildren(...words.map((line, i) => make("div", { class: i ? "mm-more" : "" }, ...lowered(line))));
    const { target, cell } = this.pointed;
    const [x, y, w, h] = target.grid ? cellRect(target, cell) : target.rect;
    const { offsetWidth: wide, offsetHeight: high } = this.tip;
    const left = clamp(x + w / 2 - wide / 2, 2, this.scene.width - wide - 2);
    const [above, below] = [y - high - 8, y + h + 8];
    // Below a cell, where the headings above it stay in sight; above everything else.
    const free = target.grid ? below + high > this.height : above >= 0;
    const top = free ? Math.max(0, above) : Math.min(below, this.height - high);
    this.tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  // ---- acting ------------------------------------------------------------------------------

  onClick(event) {
    // By key or reader.
    if (event.detail === 0) return this.act(event.target.target, this.cursor);
    const box = this.root.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    // What is only there to be read lets the press through to what lies around it.
    const found = this.scene.targetsAt(x, y);
    const target = found.find(acts);
    const [read] = found;
    if (target) return this.act(target, target.grid ? cellAt(target, x, y) : null);
    const words = () => (read.grid ? read.tell(read.one, ...cellAt(read, x, y)).join(", ") : read.tip().join(" "));
    this.acts.tell(read && words());
  }

  act(target, cell) {
    if (!target) return;
    if (cell) this.pressed = target.name;
    const name = ACTS.find((one) => target[one] !== undefined);
    if (name) this.acts[name](target[name]);
    else if (target.go !== undefined) this.acts.open(target.go, target.row, target);
    else if (target.open && cell) this.acts.open(target.open(...cell));
    else if (target.grid && !cell) this.enterGrid(target);
  }

  enterGrid(target) {
    this.cursor = this.pointed && this.pointed.target === target && this.pointed.cell ? this.pointed.cell : [0, 0];
    this.pointed = null;
    this.point({ target, cell: this.cursor });
  }

  leaveGrid() {
    this.cursor = null;
    this.point(null);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = MOVES[event.key];
    const hit = event.target.closest(".mm-hit");
    if (!hit) return;
    if (event.key === "Escape" && this.cursor) {
      this.cursor = null;
      this.acts.say(hit.getAttribute("aria-label"));
    } else if (move && this.cursor) {
      const { rows, cols } = hit.target;
      this.cursor = [clamp(this.cursor[0] + move[0], 0, rows - 1), clamp(this.cursor[1] + move[1], 0, cols - 1)];
      this.point({ target: hit.target, cell: this.cursor });
    } else if (move) this.moveFocus(hit, move);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // To the nearest target in that direction; it scrolls into view.
  moveFocus(from, [down, right]) {
    const centre = ({ target: { rect } }) => ({ x: rect[0] + rect[2] / 2, y: rect[1] + rect[3] / 2 });
    const others = this.hits.filter((hit) => !hit.hidden && hit !== from);
    const best = Number.isFinite(right)
      ? others[nearest(others.map(centre), centre(from), [right, down], 2.5)]
      : this.inOrder().at(right < 0 ? 0 : -1);
    best?.focus({ preventScroll: true });
    best?.scrollIntoView({ block: "nearest" });
  }
}
