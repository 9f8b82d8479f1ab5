// What every view of ours needs from the page around it: elements, the theme, the width, the
// keys, motion. Each of the watchers returns a function that ends it.

export function make(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

// The same for a shape of an SVG drawing.
export function shape(tag, properties = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

// Children that are strings become text, so HTML in a token is shown and never run.
function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

// Words with subscripts: W_Q is W and a lowered Q.
export const lowered = (words, lower = (letter) => make("sub", {}, letter)) =>
  words.split(/(?<=W)_([QKVO])/).map((part, i) => (i % 2 ? lower(part) : part));

// JupyterLab, Notebook 7 and exported HTML; VS Code; Colab; else what the system prefers.
export function isDark() {
  const { body, documentElement: page } = document;
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false";
  const vscode = body.dataset.vscodeThemeKind || body.className;
  if (/vscode-/.test(vscode)) {
    return /vscode-(dark|high-contrast)/.test(vscode) && !/high-contrast-light/.test(vscode);
  }
  if (page.getAttribute("theme")) return page.getAttribute("theme") === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

export function onTheme(changed) {
  const watcher = new MutationObserver(changed);
  const attributeFilter = ["class", "theme", "data-jp-theme-light", "data-vscode-theme-kind"];
  for (const node of [document.body, document.documentElement]) {
    watcher.observe(node, { attributes: true, attributeFilter });
  }
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", changed);
  return () => {
    watcher.disconnect();
    system.removeEventListener("change", changed);
  };
}

// The room between the paddings: what is inside may be this wide and no wider.
export function innerWidth(element) {
  if (!element.clientWidth) return 0;
  const { paddingLeft, paddingRight } = getComputedStyle(element);
  return element.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
}

export function onWidth(element, changed) {
  let last = 0;
  const watcher = new ResizeObserver(() => {
    const width = innerWidth(element);
    if (width && width !== last) changed((last = width));
  });
  watcher.observe(element);
  return () => watcher.disconnect();
}

// JupyterLab takes plain letters and arrows for itself before a view hears of them, unless the
// focused element itself says otherwise: it mostly looks no further up. Ctrl+S, Shift+Enter and the
// like stay with JupyterLab. A press beside all controls keeps the keys in the view, too, and Escape
// gives them back, unless the view has a use for it.
export function shieldKeys(root) {
  root.tabIndex = -1;
  const shield = (event) => {
    if (!root.contains(event.target) || event.target.matches(".pr-next")) return;
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const own = plain && !(event.key === "Enter" && event.shiftKey);
    event.target.toggleAttribute("data-lm-suppress-shortcuts", own);
  };
  const leave = ({ key, target, defaultPrevented }) => {
    if (key === "Escape" && !defaultPrevented && root.contains(target))
      target.closest(".jp-Cell")?.focus({ preventScroll: true });
  };
  const end = new AbortController();
  window.addEventListener("keydown", shield, { capture: true, signal: end.signal });
  window.addEventListener("keydown", leave, { signal: end.signal });
  return () => end.abort();
}

// A cell that was just run leaves the next one active, and where another Shift+Enter came before it had
// an answer, one further on. JupyterLab has scrolled to that: what the cell shows is more worth seeing.
export function intoView(root) {
  let cell = root.closest(".jp-Cell");
  for (let i = 0; cell && i < 4; i++, cell = cell.nextElementSibling)
    if (cell.classList.contains("jp-mod-active")) root.scrollIntoView({ block: "nearest" });
}

export const prefersStillness = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
export const glideTo = (frame, top) => frame.scrollTo({ top, behavior: prefersStillness() ? "instant" : "smooth" });

// Run `work` in the next frame, however often it is asked for before.
export function eachFrame(work) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      work();
    });
  };
}

// As sharp as the screen, but never a canvas larger than some ten million pixels.
export function fitCanvas(canvas, width, height) {
  const wanted = Math.max(1, window.devicePixelRatio || 1);
  const scale = width * height * wanted * wanted > 1e7 ? 1 : wanted;
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  return scale;
}

// The speeds at which something can play.
export function speedMenu() {
  const speeds = [0.5, 1, 2].map((value) => make("option", { value }, value < 1 ? "½×" : `${value}×`));
  speeds[1].selected = true;
  return make("select", { "aria-label": "Speed" }, ...speeds);
}

// A row of buttons of which one is chosen; `names` holds pairs of value and words.
export function switchOf(label, kind, names) {
  const [role, of] = kind === "tab" ? ["tablist", "tab"] : ["group", null];
  const button = ([value, words]) => make("button", { type: "button", role: of, [`data-${kind}`]: value }, words);
  return make("div", { class: "av-switch", role, "aria-label": label }, ...names.map(button));
}

export function sliderOf(label, changed) {
  const input = make("input", { type: "range", min: 1, step: 1, "aria-label": label });
  const output = make("span", { class: "av-count" });
  input.addEventListener("input", () => changed(Number(input.value) - 1));
  const row = make("label", { class: "av-slider" }, make("span", {}, label), input, output);
  const show = (value, n) => {
    input.max = n;
    input.value = value + 1;
    input.setAttribute("aria-valuetext", `${label} ${value + 1} of ${n}`);
    output.textContent = `${value + 1} of ${n}`;
  };
  return { row, show };
}
