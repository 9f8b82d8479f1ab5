// What stands out in the attention view for a token, and the numbers that are read out.

import { ranked, weightAt } from "./attention_data.js";
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
  const { cell } = view.geometry;
  const { nq, nk } = view.map;
  view.bands.forEach((band) => (band.hidden = !shown));
  if (!shown) return;
  const row = shown.side === "query";
  const [at, n, across] = [shown.index * cell, (row ? nq : nk) * cell, (row ? nk : nq) * cell];
  const spans = [
    [0, at],
    [at + cell, n - at - cell],
    [at, cell],
  ];
  view.bands.forEach((band, i) => {
    const [start, length] = spans[i];
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
        text = cellText(w);
      }
      option.classList.toggle("av-dimmed", Boolean(shown && each === side && !text));
      if (option.lastChild.textContent !== text) option.lastChild.textContent = text;
    });
  }
}

function drawReadout(view, shown) {
  const { head, map } = view;
  if (!shown) {
    const hint = make(
      "p",
      { class: "av-muted" },
      "Point at a token, or move to it with the keyboard, to read its weights. A click pins it.",
    );
    view.readout.replaceChildren(make("div", { class: "av-caption" }, view.title), hint);
    return;
  }
  const query = shown.side === "query";
  const [own, others] = query ? [map.queries, map.keys] : [map.keys, map.queries];
  const list = ranked(head, shown.side, shown.index);
  const name = make("bdi", { class: query ? "av-q" : "av-k" }, shorten(own[shown.index]));
  const caption = make("div", { class: "av-caption" }, name, query ? " attends to" : " is attended to by");
  const line = (label, w, more = "") => {
    const bar = make(
      "span",
      { class: "av-bar-track" },
      make("span", { class: "av-bar-fill", style: `width:${(100 * Math.min(1, w)).toFixed(1)}%` }),
    );
    return make(
      "div",
      { class: `av-line ${more}` },
      make("bdi", { class: "av-name" }, label),
      bar,
      make("span", { class: "av-number" }, digits(w)),
    );
  };
  const lines = list
    .slice(0, 6)
    .map(({ other, w }) => line(shorten(others[other]), w, other === shown.other ? "av-met" : ""));
  const rest = list.slice(6);
  if (rest.length)
    lines.push(
      line(
        `${rest.length} more`,
        rest.reduce((sum, { w }) => sum + w, 0),
        "av-muted",
      ),
    );
  const bars = make("div", { class: `av-bars av-${shown.side}` }, ...lines);
  view.readout.replaceChildren(caption, bars);
}

function drawTip(view, shown) {
  const heatmap = view.view !== "lines";
  const cellMet = Boolean(heatmap && shown && shown.other !== undefined);
  // With a wide map the numbers stand far below it: the largest ones come to the token.
  const far = Boolean(heatmap && (view.hover || view.focused) && view.root.dataset.layout === "below");
  view.tip.hidden = !cellMet && !far;
  if (cellMet) tipAtCell(view, shown);
  else if (far) tipAtToken(view, shown);
}

function tipAtToken(view, { side, index }) {
  const { cell } = view.geometry;
  const { nq, nk, queries, keys } = view.map;
  const query = side === "query";
  const largest = ranked(view.head, side, index).slice(0, 3);
  const parts = largest.flatMap(({ other, w }, i) => [
    i ? ", " : "",
    make("bdi", { class: query ? "av-k" : "av-q" }, shorten((query ? keys : queries)[other])),
    make("b", {}, ` ${digits(w)}`),
  ]);
  view.tip.replaceChildren(query ? "→ " : "← ", ...parts, (query ? nk : nq) > 3 ? " …" : "");
  const { scrollLeft, scrollTop } = view.scroll;
  const [x, y] = query
    ? [`left:${scrollLeft + 8}px`, (index + 1) * cell + 5]
    : [index > nk / 2 ? `right:${(nk - index) * cell + 8}px` : `left:${(index + 1) * cell + 8}px`, scrollTop + 6];
  view.tip.style.cssText = `${x};top:${y}px`;
}

function tipAtCell(view, shown) {
  const { cell } = view.geometry;
  const [q, k] = [shown.index, shown.other];
  const { queries, keys } = view.map;
  view.tip.replaceChildren(
    make("bdi", { class: "av-q" }, shorten(queries[q])),
    " → ",
    make("bdi", { class: "av-k" }, shorten(keys[k])),
    make("b", {}, ` ${digits(weightAt(view.head, q, k))}`),
  );
  const right = k > view.map.nk / 2;
  const below = q < 2 && view.map.nq > 3;
  const x = right ? `right:${(view.map.nk - k) * cell + 8}px` : `left:${(k + 1) * cell + 8}px`;
  view.tip.style.cssText = `${x};top:${(q + (below ? 1 : 0)) * cell + (below ? 6 : -34)}px`;
}
