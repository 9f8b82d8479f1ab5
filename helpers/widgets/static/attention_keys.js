// The attention view's keys.

import { clamp } from "./text.js";
import { tokenOf } from "./tokens.js";

export function onKey(view, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const handled = keyOn(view, event.target, event.key) || keyAnywhere(view, event);
  if (handled) {
    event.preventDefault();
    event.stopPropagation();
  }
}

function keyOn(view, target, key) {
  const option = target.closest(".av-option");
  if (option) return keyOnToken(view, option, key);
  const head = target.closest(".av-head");
  if (head) return keyOnHead(view, key);
  if (target.closest("[role=tab]")) return keyOnTab(view, key);
  return false;
}

function keyOnToken(view, option, key) {
  const { side, index } = tokenOf(option);
  const across = view.view !== "lines" && side === "key";
  const steps = across ? { ArrowLeft: -1, ArrowRight: 1 } : { ArrowUp: -1, ArrowDown: 1 };
  const turns = across ? ["ArrowDown"] : side === "query" ? ["ArrowRight", "ArrowUp"] : ["ArrowLeft"];
  const list = view.options[side];
  let next = null;
  if (key in steps && list[index + steps[key]]) next = list[index + steps[key]];
  else if (key === "Home") next = list[0];
  else if (key === "End") next = list[list.length - 1];
  else if (turns.includes(key))
    next = view.options[side === "query" ? "key" : "query"].find((one) => one.tabIndex === 0);
  else if (key === "Enter" || key === " ") return view.pin(side, index) || true;
  if (next) {
    next.focus();
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  return Boolean(next) || key in steps;
}

function keyOnHead(view, key) {
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  Object.assign(moves, { Home: [0, -Infinity], End: [0, Infinity] });
  if (!moves[key]) return false;
  const layer = clamp(view.layer + moves[key][0], 0, view.map.layers - 1);
  const head = clamp(view.headIndex + moves[key][1], 0, view.map.heads - 1);
  view.choose(layer, head);
  view.headButtons[layer * view.map.heads + head].focus();
  return true;
}

function keyOnTab(view, key) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (!step) return false;
  const at = view.maps.indexOf(view.map);
  const next = view.maps[(at + step + view.maps.length) % view.maps.length];
  view.openTab(next.name);
  [...view.tabs.children].find((tab) => tab.dataset.tab === next.name).focus();
  return true;
}

function keyAnywhere(view, event) {
  const step = event.shiftKey ? -1 : 1;
  const key = event.key.toLowerCase();
  if (key === "h") view.choose(view.layer, view.headIndex + step);
  else if (key === "l") view.choose(view.layer + step, view.headIndex);
  else if (key === "v") view.set({ view: view.view === "lines" ? "heatmap" : "lines" });
  else if (key === "escape") {
    view.hover = view.focused = null;
    view.set({ selected: null });
    view.schedule();
  } else return false;
  return true;
}
