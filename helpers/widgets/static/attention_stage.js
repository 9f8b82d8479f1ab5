// The attention view's stage: a heatmap or lines, with tokens along its sides.

import { make } from "./page.js";
import { clamp, widest } from "./text.js";
import { tokenList, tokenOption } from "./tokens.js";

function addToken(view, side, index, extra = "") {
  const { map } = view;
  const [names, raws] = side === "query" ? [rowsOf(view), map.raw_queries] : [map.keys, map.raw_keys];
  const element = tokenOption(side, index, names[index], raws[index], extra);
  view.options[side].push(element);
  return element;
}

// Where room is scarce a row says only what was read.
const rowsOf = ({ map, root }) => (root.hasAttribute("data-small") ? map.queries : map.rows);

const HIGH = 376; // most that rows take, so that all of the view is on a laptop's screen
const TALL = 450; // most that rows and the names of the columns take
const panelOf = (width) => (width < 700 ? 164 : clamp(Math.floor(width * 0.34), 190, 340));
const gapOf = (width) => (width < 700 ? 16 : 24);

function heatGeometry(view) {
  const { map, width } = view;
  const small = view.root.toggleAttribute("data-small", width < 420); // its letters are 14 pixels high
  const names = widest([...rowsOf(view), "queries ↓"]);
  const left = small ? Math.ceil((names * 14) / 16) + 14 : names + 22;
  const n = Math.max(map.nq, map.nk);
  const keyWidth = widest(map.keys);
  const [least, most] = [n <= 48 ? 19 : n <= 100 ? 14 : 12, clamp(Math.floor(HIGH / map.nq), 19, n <= 6 ? 76 : 46)];
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
  const [panel, gap] = [panelOf(width), gapOf(width)];
  const beside = width - panel - gap;
  let cell = fit(beside);
  const sits = left + map.nk * cell + overhang(cell) <= beside && cell >= 19;
  if (!sits) cell = fit(width - 2);
  const topOf = (turn) => (turn === 0 ? 40 : turn === 45 ? Math.ceil(keyWidth * 0.71) + 28 : keyWidth + 18);
  cell = clamp(Math.floor((TALL - topOf(turned(cell))) / map.nq), least, cell);
  // Before a map is scrolled its columns become narrower, and its rows are as high as a finger needs.
  const dense = left + map.nk * cell + overhang(cell) > width && cell >= 12;
  const room = sits ? beside - left - overhang(cell) : cell * map.nk;
  const wide = dense
    ? clamp(Math.floor((width - left - 4) / map.nk), 12, cell)
    : clamp(Math.floor(room / map.nk), cell, Math.max(cell, 42));
  if (dense) cell = Math.max(cell, Math.min(24, most));
  const turn = turned(wide);
  const top = topOf(turn);
  view.root.dataset.layout = sits ? "beside" : "below";
  view.root.style.setProperty("--panel", `${panel}px`);
  view.root.style.setProperty("--gap", `${gap}px`);
  view.root.toggleAttribute("data-narrow", wide < 19);
  const step = Math.ceil(19 / cell);
  return { panel, cell, wide, left, top, turn, pad: overhang(wide), step, skip: dense ? Math.ceil(12 / wide) : step };
}

export function buildHeatmap(view) {
  const geometry = (view.geometry = heatGeometry(view));
  const { cell, wide, left, top, turn, step, skip, pad } = geometry;
  const { map } = view;
  const [w, h] = [map.nk * wide, map.nq * cell];
  const keys = tokenList("key", "horizontal");
  const queries = tokenList("query", "vertical");
  for (let k = 0; k < map.nk; k++) {
    const option = addToken(view, "key", k, k % skip ? "av-thin" : "");
    option.style.cssText = `left:${k * wide}px;width:${wide}px`;
    const token = option.firstChild;
    if (turn) token.style.cssText = `transform:rotate(-${turn}deg);left:${wide / 2}px`;
    else token.style.cssText = `left:0;right:0;text-align:center;bottom:6px`;
    keys.append(option);
  }
  for (let q = 0; q < map.nq; q++) {
    const option = addToken(view, "query", q, q % step ? "av-thin" : "");
    option.style.cssText = `top:${q * cell}px;height:${cell}px;line-height:${cell}px`;
    queries.append(option);
  }
  keys.dataset.turn = turn;
  view.bands = [0, 1, 2].map((i) => make("div", { class: i < 2 ? "av-dim" : "av-band", hidden: "" }));
  const size = `width:${w}px;height:${h}px`;
  const field = make("div", { class: "av-field", style: size }, view.canvas, ...view.bands, view.tip);
  view.field = field;
  const names = [make("span", { class: "av-q" }, "queries ↓"), make("span", { class: "av-k" }, "keys →")];
  const corner = make("div", { class: "av-corner" }, ...names);
  const grid = `grid-template:${top}px ${h}px/${left}px ${w + pad}px`;
  const heat = make("div", { class: "av-heat", style: grid }, corner, keys, queries, field);
  view.scroll = make("div", { class: "av-scroll" }, heat);
  view.scale = make("span", { class: "av-ramp", "aria-hidden": "true" });
  view.scaleEnd = make("span", {});
  const said = make("span", { class: "av-muted" }, "weight");
  const masked = map.causal ? [make("span", { class: "av-masked" }, "masked")] : [];
  const legend = make("div", { class: "av-legend" }, make("span", {}, "0"), view.scale, view.scaleEnd, said, ...masked);
  view.stage.append(view.scroll, legend);
}

export function buildLines(view) {
  const { map, width } = view;
  const small = view.root.toggleAttribute("data-small", width < 420);
  const [room, letters] = small ? [48, 14 / 16] : [84, 1];
  const [left, right] = [rowsOf(view), map.keys].map((names) => Math.ceil(widest(names) * letters) + room);
  const [panel, gap] = [panelOf(width), gapOf(width)];
  const beside = width - panel - gap >= left + right + 80;
  const between = (beside ? width - panel - gap : width) - left - right - (small ? 2 : 20);
  const middle = clamp(between, 40, 420);
  const row = clamp(Math.floor(HIGH / Math.max(map.nq, map.nk)), 24, 34);
  view.root.style.setProperty("--panel", `${panel}px`);
  view.root.style.setProperty("--gap", `${gap}px`);
  view.geometry = { panel, row, left, middle, right };
  view.root.dataset.layout = beside ? "beside" : "below";
  const lists = ["query", "key"].map((side) => {
    const list = tokenList(side, "vertical");
    const n = side === "query" ? map.nq : map.nk;
    for (let i = 0; i < n; i++) {
      const option = addToken(view, side, i);
      option.style.cssText = `top:${i * row}px;height:${row}px;line-height:${row}px`;
      option.append(make("span", { class: "av-weight" }));
      list.append(option);
    }
    list.style.height = `${n * row}px`;
    return list;
  });
  const over = [make("span", { class: "av-q" }, "queries"), make("span"), make("span", { class: "av-k" }, "keys")];
  const names = make("div", { class: "av-sides" }, ...over);
  const columns = `grid-template-columns:${left}px ${middle}px ${right}px`;
  names.style.cssText = columns;
  const lines = make("div", { class: "av-lines", style: columns }, lists[0], view.canvas, lists[1]);
  view.bands = [];
  view.field = null;
  view.scroll = make("div", { class: "av-scroll" }, names, lines);
  view.stage.append(view.scroll);
}
