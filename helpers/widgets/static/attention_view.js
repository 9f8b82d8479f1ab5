// The attention view: state, frame and pointer. What it paints, lists and reads out is beside it.

import { describe, headOf, readMaps } from "./attention_data.js";
import { buildHeads, markHead } from "./attention_heads.js";
import { onKey } from "./attention_keys.js";
import { paintHeatmap, paintLines } from "./attention_paint.js";
import { highlight } from "./attention_readout.js";
import { buildHeatmap, buildLines } from "./attention_stage.js";
import { THEMES, rgb } from "./colour.js";
import { eachFrame, innerWidth, isDark, make, onTheme, onWidth, shieldKeys, sliderOf, switchOf } from "./page.js";
import { clamp } from "./text.js";
import { setRoving, tokenOf } from "./tokens.js";

const TRAITS = ["tab", "layer", "head", "view", "selected", "side"].map((name) => `change:${name}`).join(" ");
const KEYS = "Keys: arrows · Enter pins · Esc unpins · H head · L layer · V view";

class AttentionView {
  constructor(model, maps, el) {
    Object.assign(this, { model, maps, hover: null, focused: null, built: "", width: 0 });
    this.scratch = document.createElement("canvas");
    this.headed = {};
    this.schedule = eachFrame(() => this.root.clientWidth && this.draw());
    this.buildFrame();
    el.append(this.root);
    this.listen();
  }

  // ---- state: the traits, read anew each time ----------------------------------------------

  get map() {
    return this.maps.find((map) => map.name === this.model.get("tab")) || this.maps[0];
  }
  get layer() {
    return clamp(this.model.get("layer"), 0, this.map.layers - 1);
  }
  get headIndex() {
    return clamp(this.model.get("head"), 0, this.map.heads - 1);
  }
  get view() {
    return this.model.get("view");
  }
  get head() {
    const key = `${this.map.name}/${this.layer}/${this.headIndex}`;
    if (this.headed.key !== key) {
      this.headed = { key, head: headOf(this.map, this.layer, this.headIndex) };
    }
    return this.headed.head;
  }
  get pinned() {
    const index = this.model.get("selected");
    const side = this.model.get("side");
    const n = side === "query" ? this.map.nq : this.map.nk;
    return index === null || index === undefined || index >= n ? null : { side, index };
  }
  get shown() {
    return this.hover || this.focused || this.pinned;
  }
  get theme() {
    return THEMES[this.dark ? "dark" : "light"];
  }
  get title() {
    const { map } = this;
    const place = [map.layers > 1 ? `layer ${this.layer + 1}` : "", map.heads > 1 ? `head ${this.headIndex + 1}` : ""];
    const text = [this.maps.length > 1 || map.name ? map.label : "", ...place];
    const title = text.filter(Boolean).join(", ") || "Attention";
    return title[0].toUpperCase() + title.slice(1);
  }

  set(changes) {
    for (const [name, value] of Object.entries(changes)) this.model.set(name, value);
    this.model.save_changes();
  }
  choose(layer, head) {
    const { layers, heads } = this.map;
    this.set({ layer: (layer + layers) % layers, head: (head + heads) % heads });
  }
  openTab(name) {
    this.hover = this.focused = null;
    this.set({ tab: name, selected: null });
  }
  pin(side, index) {
    const { pinned } = this;
    const same = pinned && pinned.side === side && pinned.index === index;
    this.set({ side, selected: same ? null : index });
  }

  // ---- the frame, made once ----------------------------------------------------------------

  buildFrame() {
    const labels = this.maps.map((map) => [map.name, map.label]);
    this.tabs = switchOf("Which attention", "tab", labels);
    const views = Object.entries({ heatmap: "Heatmap", lines: "Lines" });
    this.views = switchOf("How to show it", "view", views);
    this.layerSlider = sliderOf("Layer", (layer) => this.set({ layer }));
    this.headSlider = sliderOf("Head", (head) => this.set({ head }));
    this.sliders = make("div", { class: "av-sliders" }, this.layerSlider.row, this.headSlider.row);
    this.stage = make("div", { class: "av-stage" });
    this.tip = make("div", { class: "av-tip", "aria-hidden": "true" });
    this.heads = make("div", { class: "av-heads" });
    this.readout = make("div", { class: "av-readout" });
    this.panel = make("div", { class: "av-panel" }, this.heads, this.readout);
    this.live = make("div", { class: "av-hidden", role: "status", "aria-live": "polite" });
    const tabs = this.maps.length > 1 ? this.tabs : null;
    const bar = make("div", { class: "av-bar" }, tabs, this.views);
    this.told = make("div", { class: "av-told" });
    const body = make("div", { class: "av-body" }, this.stage, this.panel);
    const foot = make("div", { class: "av-foot", title: "Shift+H and Shift+L go back" }, KEYS);
    const named = { class: "av", role: "group", "aria-label": "Attention view" };
    this.root = make("div", named, bar, this.sliders, this.told, body, foot, this.live);
  }

  listen() {
    const { root } = this;
    this.model.on(TRAITS, this.schedule);
    root.addEventListener("click", (event) => this.onClick(event));
    root.addEventListener("keydown", (event) => onKey(this, event));
    root.addEventListener("pointermove", (event) => this.setHover(this.pointedAt(event)));
    root.addEventListener("pointerleave", () => this.setHover(null));
    root.addEventListener("focusin", (event) => this.onFocus(event.target));
    root.addEventListener("focusout", () => this.onFocus(null));
    const ends = [onWidth(root, () => this.draw()), onTheme(this.schedule), shieldKeys(root)];
    this.end = () => {
      this.model.off(TRAITS, this.schedule);
      for (const end of ends) end();
      clearTimeout(this.saying);
    };
  }

  // ---- drawing -----------------------------------------------------------------------------

  draw() {
    this.dark = isDark();
    this.root.dataset.theme = this.dark ? "dark" : "light";
    this.width = Math.floor(innerWidth(this.root));
    const frame = `${this.map.name}/${this.view}/${this.width}`;
    if (frame !== this.built) {
      this.built = frame;
      const { layers, heads } = this.map;
      this.layerSlider.row.hidden = layers < 2;
      this.headSlider.row.hidden = heads < 2;
      this.sliders.hidden = this.heads.hidden = layers * heads < 2;
      this.buildStage();
      this.headsDrawn = "";
    }
    this.drawState();
    this.paint();
    const drawn = `${this.map.name}/${this.dark}/${this.width}/${this.root.dataset.layout}`;
    if (drawn !== this.headsDrawn) {
      this.headsDrawn = drawn;
      buildHeads(this);
    }
    markHead(this);
    highlight(this);
  }

  drawState() {
    const { map } = this;
    this.layerSlider.show(this.layer, map.layers);
    this.headSlider.show(this.headIndex, map.heads);
    for (const tab of this.tabs.children) {
      const open = tab.dataset.tab === map.name;
      tab.setAttribute("aria-selected", open);
      tab.tabIndex = open ? 0 : -1;
    }
    for (const button of this.views.children) {
      button.setAttribute("aria-pressed", button.dataset.view === this.view);
    }
  }

  // The stage is made anew for another view, tab or width; the focus stays on its token.
  buildStage() {
    const held = this.stage.contains(document.activeElement) && document.activeElement.closest(".av-option");
    this.stage.replaceChildren();
    this.small = this.root.toggleAttribute("data-small", this.width < 420);
    this.canvas = make("canvas", { role: "img" });
    this.options = { query: [], key: [] };
    if (this.view === "lines") buildLines(this);
    else buildHeatmap(this);
    const { side, index } = held ? tokenOf(held) : {};
    if (held && this.options[side][index]) this.options[side][index].focus({ preventScroll: true });
  }

  paint() {
    const { geometry, head, theme } = this;
    if (this.view === "lines") {
      paintLines(this.canvas, head, theme, this.shown, geometry.row, geometry.middle);
    } else {
      paintHeatmap(this.canvas, head, theme, geometry, this.scratch);
      const stops = theme.ramp.map((colour, i) => `${rgb(colour)} ${100 * (i / 255) ** 2}%`);
      this.scale.style.background = `linear-gradient(to right, ${stops.filter((_, i) => i % 15 === 0)})`;
    }
    this.canvas.setAttribute("aria-label", `${this.title}: ${head.nq} queries, ${head.nk} keys`);
    this.stage.dataset.painted = `${this.title}, ${this.view}`;
  }

  // For screen readers, after a moment's rest, so that a passing pointer does not chatter.
  say(shown) {
    clearTimeout(this.saying);
    this.saying = setTimeout(() => {
      const text = `${this.title}. ${shown ? describe(this.head, shown.side, shown.index) : ""}`;
      if (this.live.textContent !== text) this.live.textContent = text;
    }, 300);
  }

  // ---- pointer and focus -------------------------------------------------------------------

  setHover(hover) {
    const key = (one) => (one ? `${one.side}/${one.index}/${one.other}` : "");
    if (key(hover) === key(this.hover)) return;
    const before = this.shown;
    this.hover = hover;
    this.refresh(before);
  }

  refresh(before) {
    if (!this.geometry) return;
    const key = (one) => (one ? `${one.side}/${one.index}` : "");
    if (this.view === "lines" && key(before) !== key(this.shown)) this.paint();
    highlight(this);
  }

  pointedAt({ target, clientX, clientY }) {
    if (!this.field || !this.field.contains(target)) {
      const option = target.closest(".av-option");
      return option ? tokenOf(option) : null;
    }
    const box = this.field.getBoundingClientRect();
    const { cell, wide } = this.geometry;
    const index = clamp(Math.floor((clientY - box.top) / cell), 0, this.map.nq - 1);
    const other = clamp(Math.floor((clientX - box.left) / wide), 0, this.map.nk - 1);
    return { side: "query", index, other };
  }

  onFocus(target) {
    const option = target?.closest(".av-option");
    const before = this.shown;
    this.focused = option?.matches(":focus-visible") ? tokenOf(option) : null;
    if (option) setRoving(this.options[option.dataset.side], option);
    this.refresh(before);
  }

  onClick(event) {
    const { target } = event;
    const tab = target.closest("[data-tab]");
    const view = target.closest("[data-view]");
    const head = target.closest(".av-head");
    const token = this.pointedAt(event);
    if (tab) this.openTab(tab.dataset.tab);
    else if (view) this.set({ view: view.dataset.view });
    else if (head) this.choose(Number(head.dataset.layer), Number(head.dataset.head));
    else if (token) this.pin(token.side, token.index);
  }
}

export default {
  render({ model, el }) {
    const view = new AttentionView(model, readMaps(model), el);
    return () => view.end();
  },
};
