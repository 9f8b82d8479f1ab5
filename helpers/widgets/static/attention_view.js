// The attention view, part 3 of 3: the page, the pointer, the keys, and the talk with Python.
// Tokens reach the page as text only, so HTML in a token is shown and never run.

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const shorten = (text) => ([...text].length > 18 ? [...text].slice(0, 17).join("") + "…" : text);
const isSpecial = (text) => /^(<[^<>]*>|\[[A-Z]+\d*\])$/.test(text);

const measuring = document.createElement("canvas").getContext("2d");
function widest(tokens) {
  measuring.font = `16px ${FONT}`;
  return Math.ceil(Math.max(...tokens.map((token) => measuring.measureText(shorten(token)).width)));
}

// JupyterLab, Notebook 7 and exported HTML; VS Code; Colab; else what the system prefers.
function isDark() {
  const { body, documentElement: page } = document;
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false";
  const vscode = body.dataset.vscodeThemeKind || body.className;
  if (/vscode-/.test(vscode)) {
    return /vscode-(dark|high-contrast)/.test(vscode) && !/high-contrast-light/.test(vscode);
  }
  if (page.getAttribute("theme")) return page.getAttribute("theme") === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

class AttentionView {
  constructor(model, maps, el) {
    Object.assign(this, { model, maps, hover: null, focused: null, built: "", width: 0 });
    this.scratch = document.createElement("canvas");
    this.headed = {};
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
    const map = this.maps.find((one) => one.name === name);
    const layer = Math.min(this.model.get("layer"), map.layers - 1);
    const head = Math.min(this.model.get("head"), map.heads - 1);
    this.hover = this.focused = null;
    this.set({ tab: name, layer, head, selected: null });
  }
  pin(side, index) {
    const { pinned } = this;
    const same = pinned && pinned.side === side && pinned.index === index;
    this.set({ side, selected: same ? null : index });
  }

  // ---- the frame, made once ----------------------------------------------------------------

  buildFrame() {
    const tabs = this.maps.map((map) =>
      make("button", { type: "button", role: "tab", "data-tab": map.name }, map.label)
    );
    this.tabs = make("div", { class: "av-switch", role: "tablist", "aria-label": "Which attention" }, ...tabs);
    this.views = make("div", { class: "av-switch", role: "group", "aria-label": "How to show it" });
    for (const [name, label] of [["heatmap", "Heatmap"], ["lines", "Lines"]]) {
      this.views.append(make("button", { type: "button", "data-view": name }, label));
    }
    this.copy = make("button", { type: "button", class: "av-plain", title: "Copy what you see as a picture; saved as a file where the clipboard is closed" }, "Copy picture");
    this.save = make("button", { type: "button", class: "av-plain", title: "Save what you see as a drawing that stays sharp at any size" }, "Save SVG");
    this.layerSlider = this.buildSlider("Layer", "layer");
    this.headSlider = this.buildSlider("Head", "head");
    this.sliders = make("div", { class: "av-sliders" }, this.layerSlider.row, this.headSlider.row);
    this.stage = make("div", { class: "av-stage" });
    this.tip = make("div", { class: "av-tip", "aria-hidden": "true" });
    this.heads = make("div", { class: "av-heads" });
    this.readout = make("div", { class: "av-readout" });
    this.panel = make("div", { class: "av-panel" }, this.heads, this.readout);
    this.live = make("div", { class: "av-hidden", role: "status", "aria-live": "polite" });
    const keys = "Keys: arrows move between tokens · Enter pins · H head · L layer (with Shift: back) · V view · Esc lets go";
    this.root = make(
      "div",
      { class: "av", role: "group", "aria-label": "Attention view" },
      make("div", { class: "av-bar" }, this.maps.length > 1 ? this.tabs : null, this.views, make("span", { class: "av-space" }), this.copy, this.save),
      this.sliders,
      make("div", { class: "av-body" }, this.stage, this.panel),
      make("div", { class: "av-foot" }, keys),
      this.live
    );
  }

  buildSlider(label, name) {
    const input = make("input", { type: "range", min: 1, step: 1, "aria-label": label });
    const output = make("span", { class: "av-count" });
    input.addEventListener("input", () => this.set({ [name]: Number(input.value) - 1 }));
    const row = make("label", { class: "av-slider" }, make("span", {}, label), input, output);
    return { row, input, output };
  }

  listen() {
    const { root } = this;
    const redraw = () => this.schedule();
    const traits = ["tab", "layer", "head", "view", "selected", "side"].map((name) => `change:${name}`);
    this.model.on(traits.join(" "), redraw);
    root.addEventListener("click", (event) => this.onClick(event));
    root.addEventListener("keydown", (event) => this.onKey(event));
    root.addEventListener("pointermove", (event) => this.onPoint(event));
    root.addEventListener("pointerleave", () => this.setHover(null));
    root.addEventListener("focusin", (event) => this.onFocus(event.target));
    root.addEventListener("focusout", () => this.onFocus(null));
    this.copy.addEventListener("click", () => this.copyPicture());
    this.save.addEventListener("click", () => this.saveSvg());
    const resized = new ResizeObserver(() => {
      if (root.clientWidth && root.clientWidth !== this.width) this.draw();
    });
    resized.observe(root);
    const themed = new MutationObserver(redraw);
    for (const node of [document.body, document.documentElement]) {
      themed.observe(node, { attributes: true, attributeFilter: ["class", "theme", "data-jp-theme-light", "data-vscode-theme-kind"] });
    }
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", redraw);
    // JupyterLab takes plain letters and arrows for itself before the view hears of them, unless
    // told; Ctrl+S and the like stay with it.
    const shield = (event) => {
      const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
      const own = plain && !(event.key === "Enter" && event.shiftKey);
      // JupyterLab asks the focused element itself, not those around it.
      if (root.contains(event.target)) event.target.toggleAttribute("data-lm-suppress-shortcuts", own);
    };
    window.addEventListener("keydown", shield, true);
    this.end = () => {
      this.model.off(traits.join(" "), redraw);
      window.removeEventListener("keydown", shield, true);
      system.removeEventListener("change", redraw);
      resized.disconnect();
      themed.disconnect();
      clearTimeout(this.saying);
    };
  }

  // ---- drawing -----------------------------------------------------------------------------

  schedule() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.root.clientWidth) this.draw();
    });
  }

  draw() {
    this.dark = isDark();
    this.root.dataset.theme = this.dark ? "dark" : "light";
    const frame = `${this.map.name}/${this.view}/${this.root.clientWidth}`;
    if (frame !== this.built) {
      this.built = frame;
      this.width = this.root.clientWidth;
      this.drawControls();
      this.buildStage();
      this.headsDrawn = "";
    }
    this.drawState();
    this.paint();
    const drawn = `${this.map.name}/${this.dark}/${this.width}/${this.root.dataset.layout}`;
    if (drawn !== this.headsDrawn) {
      this.headsDrawn = drawn;
      this.buildHeads();
    }
    this.markHead();
    this.highlight();
  }

  drawControls() {
    const { map } = this;
    this.layerSlider.row.hidden = map.layers < 2;
    this.headSlider.row.hidden = map.heads < 2;
    this.sliders.hidden = map.layers < 2 && map.heads < 2;
    this.heads.hidden = map.layers * map.heads < 2;
  }

  drawState() {
    const { map } = this;
    const values = [[this.layerSlider, this.layer, map.layers, "Layer"], [this.headSlider, this.headIndex, map.heads, "Head"]];
    for (const [slider, value, n, label] of values) {
      slider.input.max = n;
      slider.input.value = value + 1;
      slider.input.setAttribute("aria-valuetext", `${label} ${value + 1} of ${n}`);
      slider.output.textContent = `${value + 1} of ${n}`;
    }
    for (const tab of this.tabs.children) {
      const open = tab.dataset.tab === map.name;
      tab.setAttribute("aria-selected", open);
      tab.tabIndex = open ? 0 : -1;
    }
    for (const button of this.views.children) {
      button.setAttribute("aria-pressed", button.dataset.view === this.view);
    }
  }

  paint() {
    const { geometry, head, theme } = this;
    if (this.view === "lines") {
      const width = geometry.middle;
      paintLines(this.canvas, head, theme, this.shown, geometry.row, width);
    } else {
      paintHeatmap(this.canvas, head, theme, geometry.cell, this.scratch);
      const stops = theme.ramp.filter((_, i) => i % 15 === 0).map(rgb).join(", ");
      this.scale.style.background = `linear-gradient(to right, ${stops})`;
      this.scaleEnd.textContent = digits(head.darkest, 2);
    }
    this.canvas.setAttribute("aria-label", `${this.title}: ${head.nq} queries, ${head.nk} keys`);
    this.stage.dataset.painted = `${this.title}, ${this.view}`;
  }

  buildStage() {
    this.stage.replaceChildren();
    this.canvas = make("canvas", { role: "img" });
    this.options = { query: [], key: [] };
    if (this.view === "lines") this.buildLines();
    else this.buildHeatmap();
  }

  option(side, index, extra = "") {
    const token = this.map[side === "query" ? "queries" : "keys"][index];
    const raw = this.map[side === "query" ? "raw_queries" : "raw_keys"][index];
    const name = make("span", { class: "av-token", dir: "auto" }, shorten(token));
    const element = make(
      "div",
      {
        class: `av-option ${extra}${isSpecial(token) ? " av-special" : ""}`,
        role: "option",
        tabindex: index === 0 ? 0 : -1,
        "data-side": side,
        "data-index": index,
        "aria-label": `${token}, ${side} ${index + 1}`,
        "aria-selected": "false",
        title: raw === token ? token : `${token}  (in the vocabulary: ${raw})`,
      },
      name
    );
    this.options[side].push(element);
    return element;
  }

  list(side, orientation) {
    return make("div", {
      class: `av-list av-${side}`,
      role: "listbox",
      "aria-orientation": orientation,
      "aria-label": side === "query" ? "Queries: the tokens that look" : "Keys: the tokens looked at",
    });
  }

  heatGeometry() {
    const { map, width } = this;
    const left = widest([...map.queries, "queries ↓"]) + 22;
    const n = Math.max(map.nq, map.nk);
    const keyWidth = widest(map.keys);
    const [least, most] = [n <= 48 ? 19 : n <= 100 ? 14 : 12, n <= 6 ? 76 : 46];
    const turned = (cell) => (keyWidth <= cell - 8 ? 0 : cell >= 26 ? 45 : 90);
    const overhang = (cell) => {
      if (turned(cell) !== 45) return 4;
      const over = map.keys.map((key, k) => widest([key]) * 0.71 + 14 - (map.nk - k - 0.5) * cell);
      return Math.max(4, Math.ceil(Math.max(...over)));
    };
    const fit = (room) => {
      const cell = clamp(Math.floor((room - left) / map.nk), least, most);
      return clamp(Math.floor((room - left - overhang(cell)) / map.nk), least, most);
    };
    const panel = 340;
    const beside = width - panel - 24;
    let cell = fit(beside);
    const sits = left + map.nk * cell + overhang(cell) <= beside && (cell >= 24 || n > 12 && cell >= 22);
    if (!sits) cell = fit(width - 2);
    if (map.nq * cell > 600) cell = clamp(Math.floor(600 / map.nq), Math.min(cell, 24), cell);
    const turn = turned(cell);
    const top = turn === 0 ? 40 : turn === 45 ? Math.ceil(keyWidth * 0.71) + 28 : keyWidth + 18;
    this.root.dataset.layout = sits ? "beside" : "below";
    return { cell, left, top, turn, pad: overhang(cell), step: Math.ceil(19 / cell), shorten };
  }

  buildHeatmap() {
    const geometry = (this.geometry = this.heatGeometry());
    const { cell, left, top, turn, step, pad } = geometry;
    const { map } = this;
    const [w, h] = [map.nk * cell, map.nq * cell];
    const keys = this.list("key", "horizontal");
    const queries = this.list("query", "vertical");
    for (let k = 0; k < map.nk; k++) {
      const option = this.option("key", k, k % step ? "av-thin" : "");
      option.style.cssText = `left:${k * cell}px;width:${cell}px`;
      const token = option.firstChild;
      if (turn) token.style.cssText = `transform:rotate(-${turn}deg);left:${cell / 2}px`;
      else token.style.cssText = `left:0;right:0;text-align:center;bottom:6px`;
      keys.append(option);
    }
    for (let q = 0; q < map.nq; q++) {
      const option = this.option("query", q, q % step ? "av-thin" : "");
      option.style.cssText = `top:${q * cell}px;height:${cell}px;line-height:${cell}px`;
      queries.append(option);
    }
    keys.dataset.turn = turn;
    this.bands = [0, 1, 2].map((i) => make("div", { class: i < 2 ? "av-dim" : "av-band", hidden: "" }));
    const field = make("div", { class: "av-field", style: `width:${w}px;height:${h}px` }, this.canvas, ...this.bands, this.tip);
    this.field = field;
    const corner = make("div", { class: "av-corner" }, make("span", { class: "av-q" }, "queries ↓"), make("span", { class: "av-k" }, "keys →"));
    const heat = make("div", { class: "av-heat", style: `grid-template:${top}px ${h}px/${left}px ${w + pad}px` }, corner, keys, queries, field);
    this.scroll = make("div", { class: "av-scroll" }, heat);
    this.scale = make("span", { class: "av-ramp", "aria-hidden": "true" });
    this.scaleEnd = make("span", {});
    const legend = make("div", { class: "av-legend" }, make("span", {}, "0"), this.scale, this.scaleEnd, make("span", { class: "av-muted" }, "weight"));
    this.stage.append(this.scroll, legend);
  }

  buildLines() {
    const { map, width } = this;
    const [left, right] = [widest(map.queries) + 30, widest(map.keys) + 84];
    const beside = width - 340 - 24 >= left + right + 180;
    const room = (beside ? width - 364 : width) - left - right - 20;
    const middle = clamp(room, 140, 420);
    const row = Math.max(map.nq, map.nk) <= 16 ? 34 : 27;
    this.geometry = { row, left, middle, right, shorten };
    this.root.dataset.layout = beside ? "beside" : "below";
    const lists = ["query", "key"].map((side) => {
      const list = this.list(side, "vertical");
      const n = side === "query" ? map.nq : map.nk;
      for (let i = 0; i < n; i++) {
        const option = this.option(side, i);
        option.style.cssText = `top:${i * row}px;height:${row}px;line-height:${row}px`;
        option.append(make("span", { class: "av-weight" }));
        list.append(option);
      }
      list.style.height = `${n * row}px`;
      return list;
    });
    const names = make("div", { class: "av-sides" }, make("span", { class: "av-q" }, "queries"), make("span"), make("span", { class: "av-k" }, "keys"));
    const columns = `grid-template-columns:${left}px ${middle}px ${right}px`;
    names.style.cssText = columns;
    const lines = make("div", { class: "av-lines", style: columns }, lists[0], this.canvas, lists[1]);
    this.bands = [];
    this.field = null;
    this.scroll = make("div", { class: "av-scroll" }, names, lines);
    this.stage.append(this.scroll);
  }

  // ---- all heads ---------------------------------------------------------------------------

  buildHeads() {
    const { map } = this;
    if (map.layers * map.heads < 2) return;
    const room = this.root.dataset.layout === "beside" ? 320 : Math.min(460, this.width * 0.55);
    const gap = 6;
    const tile = clamp(Math.floor((room - 30) / map.heads) - gap, 14, 44);
    const pitch = tile + gap;
    const canvas = make("canvas", { "aria-hidden": "true" });
    paintHeads(canvas, map, this.theme, tile, gap);
    const grid = make("div", { class: "av-grid", style: `width:${map.heads * pitch}px;height:${map.layers * pitch}px` }, canvas);
    this.headButtons = [];
    for (let layer = 0; layer < map.layers; layer++) {
      for (let head = 0; head < map.heads; head++) {
        const place = `left:${head * pitch}px;top:${layer * pitch}px;width:${pitch}px;height:${pitch}px`;
        const name = `Layer ${layer + 1}, head ${head + 1}`;
        const button = make("button", { type: "button", class: "av-head", style: place, tabindex: -1, "data-layer": layer, "data-head": head, "aria-label": name, title: name });
        this.headButtons.push(button);
        grid.append(button);
      }
    }
    const step = Math.ceil(24 / pitch);
    const numbers = (n, side) => Array.from({ length: n }, (_, i) => make("span", { style: `${side}:${pitch}px` }, i % step ? "" : String(i + 1)));
    const across = make("div", { class: "av-across" }, ...numbers(map.heads, "width"));
    const down = make("div", { class: "av-down" }, ...numbers(map.layers, "height;line-height").map((span) => {
      span.style.cssText = `height:${pitch}px;line-height:${pitch}px`;
      return span;
    }));
    const caption = make("div", { class: "av-caption" }, "All heads", make("span", { class: "av-muted" }, "a row for each layer"));
    const table = make("div", { class: "av-table", role: "group", "aria-label": "All heads" }, make("span"), across, down, grid);
    this.heads.replaceChildren(caption, make("div", { class: "av-overflow" }, table));
  }

  markHead() {
    for (const button of this.headButtons || []) {
      const open = Number(button.dataset.layer) === this.layer && Number(button.dataset.head) === this.headIndex;
      if (open !== (button.getAttribute("aria-pressed") === "true")) button.setAttribute("aria-pressed", open);
      button.tabIndex = open ? 0 : -1;
    }
  }

  // ---- what stands out ---------------------------------------------------------------------

  highlight() {
    const { shown, pinned } = this;
    for (const side of ["query", "key"]) {
      this.options[side].forEach((option, index) => {
        const on = Boolean(shown && shown.side === side && shown.index === index);
        option.classList.toggle("av-on", on);
        const met = shown && shown.side !== side && shown.other === index;
        option.classList.toggle("av-met", Boolean(met));
        const held = Boolean(pinned && pinned.side === side && pinned.index === index);
        option.setAttribute("aria-selected", held);
      });
    }
    if (this.view === "lines") this.highlightLines(shown);
    else this.highlightBand(shown);
    this.drawReadout(shown);
    this.drawTip(shown);
    this.say(shown);
  }

  highlightBand(shown) {
    const { cell } = this.geometry;
    const { nq, nk } = this.map;
    this.bands.forEach((band) => (band.hidden = !shown));
    if (!shown) return;
    const row = shown.side === "query";
    const [at, n, across] = [shown.index * cell, (row ? nq : nk) * cell, (row ? nk : nq) * cell];
    const spans = [[0, at], [at + cell, n - at - cell], [at, cell]];
    this.bands.forEach((band, i) => {
      const [start, length] = spans[i];
      band.style.cssText = row
        ? `left:0;width:${across}px;top:${start}px;height:${length}px`
        : `top:0;height:${across}px;left:${start}px;width:${length}px`;
      band.dataset.side = shown.side;
    });
  }

  highlightLines(shown) {
    const side = shown && (shown.side === "query" ? "key" : "query");
    for (const each of ["query", "key"]) {
      this.options[each].forEach((option, index) => {
        let text = "";
        if (shown && each === side) {
          const [q, k] = each === "key" ? [shown.index, index] : [index, shown.index];
          const w = weightAt(this.head, q, k);
          if (w >= 0.005) text = digits(w, 2);
        }
        option.classList.toggle("av-dimmed", Boolean(shown && each === side && !text));
        if (option.lastChild.textContent !== text) option.lastChild.textContent = text;
      });
    }
  }

  drawReadout(shown) {
    const { head, map } = this;
    if (!shown) {
      const hint = make("p", { class: "av-muted" }, "Point at a token, or move to it with the keyboard, to read its weights. A click pins it.");
      this.readout.replaceChildren(make("div", { class: "av-caption" }, this.title), hint);
      return;
    }
    const query = shown.side === "query";
    const [own, others] = query ? [map.queries, map.keys] : [map.keys, map.queries];
    const list = ranked(head, shown.side, shown.index);
    const name = make("bdi", { class: query ? "av-q" : "av-k" }, shorten(own[shown.index]));
    const caption = make("div", { class: "av-caption" }, name, query ? " looks at" : " is looked at by");
    const line = (label, w, more = "") => {
      const bar = make("span", { class: "av-bar-track" }, make("span", { class: "av-bar-fill", style: `width:${(100 * Math.min(1, w)).toFixed(1)}%` }));
      return make("div", { class: `av-line ${more}` }, make("bdi", { class: "av-name" }, label), bar, make("span", { class: "av-number" }, digits(w)));
    };
    const lines = list.slice(0, 6).map(({ other, w }) => line(shorten(others[other]), w, other === shown.other ? "av-met" : ""));
    const rest = list.slice(6);
    if (rest.length) lines.push(line(`${rest.length} more`, rest.reduce((sum, { w }) => sum + w, 0), "av-muted"));
    const bars = make("div", { class: `av-bars av-${shown.side}` }, ...lines);
    this.readout.replaceChildren(caption, bars);
  }

  drawTip(shown) {
    const heatmap = this.view !== "lines";
    const cellMet = Boolean(heatmap && shown && shown.other !== undefined);
    // With a wide map the numbers stand far below it: the largest ones come to the token.
    const far = Boolean(heatmap && (this.hover || this.focused) && this.root.dataset.layout === "below");
    this.tip.hidden = !cellMet && !far;
    if (cellMet) this.tipAtCell(shown);
    else if (far) this.tipAtToken(shown);
  }

  tipAtToken({ side, index }) {
    const { cell } = this.geometry;
    const { nq, nk, queries, keys } = this.map;
    const query = side === "query";
    const largest = ranked(this.head, side, index).slice(0, 3);
    const parts = largest.flatMap(({ other, w }, i) => [
      i ? ", " : "", make("bdi", { class: query ? "av-k" : "av-q" }, shorten((query ? keys : queries)[other])), make("b", {}, ` ${digits(w)}`),
    ]);
    this.tip.replaceChildren(query ? "→ " : "← ", ...parts, (query ? nk : nq) > 3 ? " …" : "");
    const { scrollLeft, scrollTop } = this.scroll;
    const [x, y] = query
      ? [`left:${scrollLeft + 8}px`, (index + 1) * cell + 5]
      : [index > nk / 2 ? `right:${(nk - index) * cell + 8}px` : `left:${(index + 1) * cell + 8}px`, scrollTop + 6];
    this.tip.style.cssText = `${x};top:${y}px`;
  }

  tipAtCell(shown) {
    const { cell } = this.geometry;
    const [q, k] = [shown.index, shown.other];
    const { queries, keys } = this.map;
    this.tip.replaceChildren(
      make("bdi", { class: "av-q" }, shorten(queries[q])), " → ",
      make("bdi", { class: "av-k" }, shorten(keys[k])), make("b", {}, ` ${digits(weightAt(this.head, q, k))}`)
    );
    const right = k > this.map.nk / 2;
    const below = q < 2 && this.map.nq > 3;
    const x = right ? `right:${(this.map.nk - k) * cell + 8}px` : `left:${(k + 1) * cell + 8}px`;
    this.tip.style.cssText = `${x};top:${(q + (below ? 1 : 0)) * cell + (below ? 6 : -34)}px`;
  }

  // For screen readers, after a moment's rest, so that a passing pointer does not chatter.
  say(shown) {
    clearTimeout(this.saying);
    this.saying = setTimeout(() => {
      const text = `${this.title}. ${shown ? describe(this.head, shown.side, shown.index) : ""}`;
      if (this.live.textContent !== text) this.live.textContent = text;
    }, 300);
  }

  // ---- pointer and keys --------------------------------------------------------------------

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
    this.highlight();
  }

  onPoint(event) {
    if (this.field && this.field.contains(event.target)) {
      const box = this.field.getBoundingClientRect();
      const { cell } = this.geometry;
      const index = clamp(Math.floor((event.clientY - box.top) / cell), 0, this.map.nq - 1);
      const other = clamp(Math.floor((event.clientX - box.left) / cell), 0, this.map.nk - 1);
      return this.setHover({ side: "query", index, other });
    }
    const option = event.target.closest(".av-option");
    this.setHover(option ? this.tokenOf(option) : null);
  }

  tokenOf(option) {
    return { side: option.dataset.side, index: Number(option.dataset.index) };
  }

  onFocus(target) {
    const option = target && target.closest(".av-option");
    const before = this.shown;
    this.focused = option && option.matches(":focus-visible") ? this.tokenOf(option) : null;
    if (option) this.setRoving(option);
    this.refresh(before);
  }

  setRoving(option) {
    for (const one of this.options[option.dataset.side]) one.tabIndex = one === option ? 0 : -1;
  }

  onClick(event) {
    const { target } = event;
    const tab = target.closest("[data-tab]");
    const view = target.closest("[data-view]");
    const head = target.closest(".av-head");
    const option = target.closest(".av-option");
    if (tab) this.openTab(tab.dataset.tab);
    else if (view) this.set({ view: view.dataset.view });
    else if (head) this.choose(Number(head.dataset.layer), Number(head.dataset.head));
    else if (option) this.pin(option.dataset.side, Number(option.dataset.index));
    else if (this.hover && this.field && this.field.contains(target)) {
      this.pin("query", this.hover.index);
    }
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const handled = this.keyOn(event.target, event.key) || this.keyAnywhere(event);
    if (handled) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  keyOn(target, key) {
    const option = target.closest(".av-option");
    if (option) return this.keyOnToken(option, key);
    const head = target.closest(".av-head");
    if (head) return this.keyOnHead(key);
    if (target.closest("[role=tab]")) return this.keyOnTab(key);
    return false;
  }

  keyOnToken(option, key) {
    const { side, index } = this.tokenOf(option);
    const across = this.view !== "lines" && side === "key";
    const steps = across ? { ArrowLeft: -1, ArrowRight: 1 } : { ArrowUp: -1, ArrowDown: 1 };
    const turns = across ? ["ArrowDown"] : side === "query" ? ["ArrowRight", "ArrowUp"] : ["ArrowLeft"];
    const list = this.options[side];
    let next = null;
    if (key in steps && list[index + steps[key]]) next = list[index + steps[key]];
    else if (key === "Home") next = list[0];
    else if (key === "End") next = list[list.length - 1];
    else if (turns.includes(key)) next = this.options[side === "query" ? "key" : "query"].find((one) => one.tabIndex === 0);
    else if (key === "Enter" || key === " ") return this.pin(side, index) || true;
    if (next) {
      next.focus();
      next.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    return Boolean(next) || key in steps;
  }

  keyOnHead(key) {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (!moves[key]) return false;
    const layer = clamp(this.layer + moves[key][0], 0, this.map.layers - 1);
    const head = clamp(this.headIndex + moves[key][1], 0, this.map.heads - 1);
    this.choose(layer, head);
    this.headButtons[layer * this.map.heads + head].focus();
    return true;
  }

  keyOnTab(key) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (!step) return false;
    const at = this.maps.indexOf(this.map);
    const next = this.maps[(at + step + this.maps.length) % this.maps.length];
    this.openTab(next.name);
    [...this.tabs.children].find((tab) => tab.dataset.tab === next.name).focus();
    return true;
  }

  keyAnywhere(event) {
    const step = event.shiftKey ? -1 : 1;
    const key = event.key.toLowerCase();
    if (key === "h") this.choose(this.layer, this.headIndex + step);
    else if (key === "l") this.choose(this.layer + step, this.headIndex);
    else if (key === "v") this.set({ view: this.view === "lines" ? "heatmap" : "lines" });
    else if (key === "escape") {
      this.hover = this.focused = null;
      this.set({ selected: null });
      this.schedule();
    } else return false;
    return true;
  }

  // ---- pictures ----------------------------------------------------------------------------

  picture() {
    const { pinned } = this;
    return svgPicture(this.head, this.theme, this.view, pinned, this.title, this.geometry);
  }

  async png() {
    const { text, width, height } = this.picture();
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = make("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }

  async copyPicture() {
    const picture = this.png();
    try {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
      this.note(this.copy, "Copied");
    } catch {
      this.download(await picture, "png");
      this.note(this.copy, "Saved as PNG");
    }
  }

  saveSvg() {
    this.download(new Blob([this.picture().text], { type: "image/svg+xml" }), "svg");
    this.note(this.save, "Saved");
  }

  download(blob, ending) {
    const address = URL.createObjectURL(blob);
    const name = `attention, ${this.title}.${ending}`.toLowerCase().replace(/[^\w.]+/g, "-");
    const link = make("a", { href: address, download: name });
    this.root.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  note(button, text) {
    const before = (button.dataset.label ||= button.textContent);
    button.textContent = text;
    this.live.textContent = text;
    clearTimeout(button.noting);
    button.noting = setTimeout(() => (button.textContent = before), 1600);
  }
}

export default {
  render({ model, el }) {
    const view = new AttentionView(model, readMaps(model), el);
    return () => view.end();
  },
};
