// What stands out in the attention view for a token, and the numbers that are read out.

import { isMasked, ranked, strongest, weightAt } from "./attention_data.js";
import { make } from "./page.js";
import { cellText, digits, shorten } from "./text.js";

export function highlight(view) {
  const { shown, pinned } = view;
  for (const side of ["query", "key"]) {
    view.options[side].forEach((option, index) => {
      const on = Boolean(shown && shown.side === side && shown.index === index);
      option.classList.toggle("av-on", on);
      const met = shown && shown.side !== side && shown.other === index;
      option.classList.toggle("av-met", Boolean(met));
      const held = Boolean(pinned && pinned.side === side && pinned.index === index);
      option.setAttribute("aria-selected", held);
    });
  }
  if (view.view === "lines") highlightLines(view, shown);
  else highlightBand(view, shown);
  drawReadout(view, shown);
  drawTip(view, shown);
  view.say(shown);
}

function highlightBand(view, shown) {
  const { cell, wide } = view.geometry;
  const { nq, nk } = view.map;
  view.bands.forEach((band) => (band.hidden = !shown));
  if (!shown) return;
  const row = shown.side === "query";
  const [size, n, across] = row ? [cell, nq, nk * wide] : [wide, nk, nq * cell];
  const at = shown.index * size;
  const spans = [0, at, at + size, (n - 1) * size - at, at, size];
  view.bands.forEach((band, i) => {
    const [start, length] = spans.slice(2 * i);
    band.style.cssText = row
      ? `left:0;width:${across}px;top:${start}px;height:${length}px`
      : `top:0;height:${across}px;left:${start}px;width:${length}px`;
    band.dataset.side = shown.side;
  });
}

function highlightLines(view, shown) {
  const side = shown && (shown.side === "query" ? "key" : "query");
  for (const each of ["query", "key"]) {
    view.options[each].forEach((option, index) => {
      let text = "";
      if (shown && each === side) {
        const [q, k] = each === "key" ? [shown.index, index] : [index, shown.index];
        const w = weightAt(view.head, q, k);
        text = view.root.hasAttribute("data-small") ? cellText(w).replace("0.", ".") : cellText(w);
      }
      option.classList.toggle("av-dimmed", Boolean(shown && each === side && !text));
      if (option.lastChild.textContent !== text) option.lastChild.textContent = text;
    });
  }
}

function drawReadout(view, shown) {
  const { head, map } = view;
  const { q, k, w } = strongest(head);
  const words = `The largest weight here: “${shorten(map.rows[q])}” to “${shorten(map.keys[k])}”, ${digits(w)}.`;
  const hint = `Point at a token to read its weights; a click pins it.${map.heads > 1 ? " What does the next head look at?" : ""}`;
  view.told.replaceChildren(make("b", {}, words), make("div", { class: "av-muted" }, hint));
  shown ||= { side: "query", index: q, other: k };
  const query = shown.side === "query";
  const [own, others] = query ? [map.rows, map.keys] : [map.keys, map.rows];
  const list = ranked(head, shown.side, shown.index);
  const name = make("bdi", { class: query ? "av-q" : "av-k" }, shorten(own[shown.index]));
  const caption = make("div", { class: "av-caption" }, name, query ? " attends to" : " is attended to by");
  const line = (label, w, more = "") => {
    const fill = make("span", { class: "av-bar-fill", style: `width:${(100 * Math.min(1, w)).toFixed(1)}%` });
    const name = make("bdi", { class: "av-name" }, label);
    const number = make("span", { class: "av-number" }, digits(w));
    return make("div", { class: `av-line ${more}` }, name, make("span", { class: "av-bar-track" }, fill), number);
  };
  const met = (other) => (other === shown.other ? "av-met" : "");
  const lines = list.slice(0, 6).map(({ other, w }) => line(shorten(others[other]), w, met(other)));
  const rest = list.slice(6).reduce((sum, { w }) => sum + w, 0);
  if (list.length > 6) lines.push(line(`${list.length - 6} more`, rest, "av-muted"));
  const masked = others.length - list.length;
  if (masked) lines.push(make("div", { class: "av-muted" }, `${masked} ${query ? "later" : "earlier"}: masked out`));
  const bars = make("div", { class: `av-bars av-${shown.side}` }, ...lines);
  view.readout.replaceChildren(caption, bars);
}

function drawTip(view, shown) {
  const heatmap = view.view !== "lines";
  const cellMet = Boolean(heatmap && shown && shown.other !== undefined);
  // With a wide map the numbers stand far below it: the largest ones come to the token.
  // In a small one no numbers fit into the cells, so that there they stay as long as the pin.
  const pointed = view.hover || view.focused || (view.root.hasAttribute("data-small") && view.pinned);
  const far = Boolean(heatmap && pointed && view.root.dataset.layout === "below");
  view.tip.hidden = !cellMet && !far;
  if (cellMet) tipAtCell(view, shown);
  else if (far) tipAtToken(view, shown);
}

function tipAtToken(view, { side, index }) {
  const { cell, wide } = view.geometry;
  const { nq, nk, rows, keys } = view.map;
  const query = side === "query";
  const [many, places] = view.root.hasAttribute("data-small") ? [2, 2] : [3, 3];
  const largest = ranked(view.head, side, index).slice(0, many);
  const parts = largest.flatMap(({ other, w }, i) => [
    i ? ", " : "",
    make("bdi", { class: query ? "av-k" : "av-q" }, shorten(query ? keys[other] : rows[other])),
    make("b", {}, ` ${digits(w, places)}`),
  ]);
  view.tip.replaceChildren(query ? "to " : "from ", ...parts, (query ? nk : nq) > many ? " …" : "");
  const { scrollLeft, scrollTop } = view.scroll;
  const [x, y] = query
    ? [`left:${scrollLeft + (many < 3 ? -40 : 8)}px`, (index + 1) * cell + 5]
    : [index > nk / 2 ? `right:${(nk - index) * wide + 8}px` : `left:${(index + 1) * wide + 8}px`, scrollTop + 6];
  view.tip.style.cssText = `${x};top:${y}px`;
}

function tipAtCell(view, shown) {
  const { cell, wide } = view.geometry;
  const [q, k] = [shown.index, shown.other];
  const { rows, keys, nk, nq } = view.map;
  view.tip.replaceChildren(
    make("bdi", { class: "av-q" }, shorten(rows[q])),
    " to ",
    make("bdi", { class: "av-k" }, shorten(keys[k])),
    make("b", {}, isMasked(view.head, q, k) ? ": masked out" : ` ${digits(weightAt(view.head, q, k))}`),
  );
  const below = q < 2 && nq > 3;
  const x = k > nk / 2 ? `right:${(nk - k) * wide + 8}px` : `left:${(k + 1) * wide + 8}px`;
  view.tip.style.cssText = `${x};top:${(q + (below ? 1 : 0)) * cell + (below ? 6 : -34)}px`;
}
