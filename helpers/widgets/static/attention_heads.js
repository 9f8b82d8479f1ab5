// The attention view's overview: every head small, a row per layer, each a button.

import { paintHeads } from "./attention_paint.js";
import { make } from "./page.js";
import { clamp } from "./text.js";

export function buildHeads(view) {
  const { map } = view;
  if (map.layers * map.heads < 2) return;
  const below = view.small ? view.width - 4 : Math.min(460, view.width * 0.55);
  const room = view.root.dataset.layout === "beside" ? view.geometry.panel - 10 : below;
  const pitch = clamp(Math.floor((room - 30) / map.heads), 11, 50);
  const gap = pitch < 24 ? 2 : 6;
  const canvas = make("canvas", { "aria-hidden": "true" });
  paintHeads(canvas, map, view.theme, pitch - gap, gap);
  const size = `width:${map.heads * pitch}px;height:${map.layers * pitch}px`;
  const grid = make("div", { class: "av-grid", style: size }, canvas);
  view.headButtons = [];
  for (let layer = 0; layer < map.layers; layer++) {
    for (let head = 0; head < map.heads; head++) {
      const style = `left:${head * pitch}px;top:${layer * pitch}px;width:${pitch}px;height:${pitch}px`;
      const name = `Layer ${layer + 1}, head ${head + 1}`;
      const place = { "data-layer": layer, "data-head": head, "aria-label": name, title: name };
      view.headButtons.push(make("button", { type: "button", class: "av-head", style, tabindex: -1, ...place }));
    }
  }
  grid.append(...view.headButtons);
  const step = Math.ceil(24 / pitch);
  const numbers = (n, style) =>
    Array.from({ length: n }, (_, i) => make("span", { style }, i % step ? "" : String(i + 1)));
  const across = make("div", { class: "av-across" }, ...numbers(map.heads, `width:${pitch}px`));
  const high = `height:${pitch}px;line-height:${pitch}px`;
  const down = make("div", { class: "av-down" }, ...numbers(map.layers, high));
  const more = view.geometry.panel > 240 ? make("span", { class: "av-muted" }, "one row per layer") : null;
  const caption = make("div", { class: "av-caption" }, "All heads", more);
  const named = { class: "av-table", role: "group", "aria-label": "All heads" };
  const table = make("div", named, make("span"), across, down, grid);
  view.heads.replaceChildren(caption, make("div", { class: "av-overflow" }, table));
}

export function markHead(view) {
  for (const button of view.headButtons || []) {
    const open = Number(button.dataset.layer) === view.layer && Number(button.dataset.head) === view.headIndex;
    if (open !== (button.getAttribute("aria-pressed") === "true")) button.setAttribute("aria-pressed", open);
    button.tabIndex = open ? 0 : -1;
  }
}
