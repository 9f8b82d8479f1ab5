// The attention view's stage: a heatmap or lines, with tokens along its sides.

import { predicted } from "./attention_data.js";
import { make } from "./page.js";
import { clamp, textWidth, widest } from "./text.js";
import { tokenList, tokenOption } from "./tokens.js";

function addToken(view, side, index, extra = "") {
  const { map } = view;
  const [names, raws] = side === "query" ? [view.rows, map.raw_queries] : [map.keys, map.raw_keys];
  const element = tokenOption(side, index, names[index], raws[index], extra);
  const next = side === "query" && predicted(map, index);
  if (next) element.title = `reads “${map.queries[index]}”, predicts “${next}”`;
  view.options[side].push(element);
  return element;
}

// Names the rows so that they fit into `room`, where it's scarce by what they predict; says above them
// what a name means; and returns how wide that is.
function nameRows(view, room) {
  const { map } = view;
  const next = map.queries.map((_, q) => predicted(map, q));
  const whole = !next[0] || widest(map.rows) * lettersOf(view) <= room;
  view.rows = whole ? map.rows : next.map((word) => `→ ${word}`);
  view.meaning = next[0] ? (whole ? "reads → predicts" : "→ predicts") : "";
  return Math.ceil(Math.max(widest([...view.rows, "queries ↓"]) * lettersOf(view), textWidth(view.meaning, 13)));
}
const meaningOf = ({ meaning }) => (meaning ? make("span", { class: "av-means" }, meaning) : null);
const lettersOf = ({ small }) => (small ? 14 / 16 : 1);

// Most that rows and the names of the columns take, so that all of the view is on a laptop's screen. In
// a frame of its own the window's height says nothing.
const tall = () => clamp((window.parent === window ? window.innerHeight : window.screen.height) - 354, 300, 450);

// The panel stands beside the stage if that `fits` into what's left.
function layOut({ root, width }, fits) {
  const [panel, gap] = width < 700 ? [164, 16] : [clamp(Math.floor(width * 0.27), 190, 340), 24];
  const beside = width - panel - gap;
  root.dataset.layout = fits(beside) ? "beside" : "below";
  root.style.setProperty("--panel", `${panel}px`);
  root.style.setProperty("--gap", `${gap}px`);
  return { panel, room: fits(beside) ? beside : width };
}

function heatGeometry(view) {
  const { map, small } = view;
  const left = nameRows(view, view.width - 18 - map.nk * 12) + (small ? 7 : 18);
  const n = Math.max(map.nq, map.nk);
  const keyWidth = widest(map.keys);
  const turned = (wide) => (keyWidth <= wide - 8 ? 0 : wide >= 26 ? 45 : 90);
  const overhang = (wide) => {
    const over = map.keys.map((key, k) => widest([key]) * 0.71 + 14 - (map.nk - k - 0.5) * wide);
    return turned(wide) === 45 ? Math.max(4, Math.ceil(Math.max(...over))) : 0;
  };
  const columns = (room) => Math.floor((room - left - overhang(Math.floor((room - left) / map.nk))) / map.nk);
  const { panel, room } = layOut(view, (beside) => columns(beside) >= 19);
  // Before a map is scrolled its columns become narrower, and its rows are as high as a finger needs.
  const [least, most] = [n <= 48 ? 19 : n <= 100 ? 14 : 12, n <= 6 ? 76 : 42];
  const wide = clamp(columns(room), 11, most);
  const narrow = view.root.toggleAttribute("data-narrow", wide < 19);
  const turn = turned(wide);
  const names = { 0: 0, 45: keyWidth * 0.71 + 28, 90: keyWidth * (narrow ? 0.75 : lettersOf(view)) + 18 };
  const top = Math.max(view.meaning ? 62 : 42, Math.ceil(names[turn]));
  const cell = clamp(Math.floor((tall() - top) / map.nq), least, narrow ? Math.max(24, least) : wide);
  return { panel, cell, wide, left, top, turn, pad: overhang(wide), step: Math.ceil(19 / cell) };
}

export function buildHeatmap(view) {
  const { cell, wide, left, top, turn, step, pad } = (view.geometry = heatGeometry(view));
  const { map } = view;
  const [w, h] = [map.nk * wide, map.nq * cell];
  const keys = tokenList("key", "horizontal");
  const queries = tokenList("query", "vertical");
  for (let k = 0; k < map.nk; k++) {
    const option = addToken(view, "key", k);
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
  const names = [
    make("span", { class: "av-q" }, "queries ↓"),
    make("span", { class: "av-k" }, "keys →"),
    meaningOf(view),
  ];
  const corner = make("div", { class: "av-corner" }, ...names);
  const grid = `grid-template:${top}px ${h}px/${left}px ${w + pad}px`;
  const heat = make("div", { class: "av-heat", style: grid }, corner, keys, queries, field);
  view.scroll = make("div", { class: "av-scroll" }, heat);
  view.scale = make("span", { class: "av-ramp", "aria-hidden": "true" });
  const said = make("span", { class: "av-muted" }, "weight, all heads");
  const masked = map.causal ? [make("span", { class: "av-masked" }, "masked")] : [];
  const legend = make("div", { class: "av-legend" }, "0", view.scale, "1", said, ...masked);
  view.stage.append(view.scroll, legend);
}

export function buildLines(view) {
  const { map, small } = view;
  const numbers = small ? 4 : 84; // on a phone they stand on the lines, which need the room
  const right = Math.ceil(widest(map.keys) * lettersOf(view)) + numbers;
  const left = nameRows(view, view.width - right - numbers - 40) + numbers;
  const { panel, room } = layOut(view, (beside) => beside >= left + right + 80);
  const middle = clamp(room - left - right - (small ? 0 : 20), 36, 420);
  const row = clamp(Math.floor((tall() - 74) / Math.max(map.nq, map.nk)), 21, 34);
  view.geometry = { panel, row, middle };
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
  const over = [
    make("span", { class: "av-q" }, "queries", meaningOf(view)),
    make("span"),
    make("span", { class: "av-k" }, "keys"),
  ];
  const names = make("div", { class: "av-sides" }, ...over);
  const columns = `grid-template-columns:${left}px ${middle}px ${right}px`;
  names.style.cssText = columns;
  const lines = make("div", { class: "av-lines", style: columns }, lists[0], view.canvas, lists[1]);
  view.bands = [];
  view.field = null;
  view.scroll = make("div", { class: "av-scroll" }, names, lines);
  view.stage.append(view.scroll);
}
