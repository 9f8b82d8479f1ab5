// What stands out in the attention view for a token, and the numbers that are read out.

import { describe, headline, isMasked, ranked, strongest, weightAt, worthWriting, written } from "./attention_data.js";
import { make } from "./page.js";
import { clamp, shorten } from "./text.js";

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
        if (worthWriting(w)) text = written(w);
      }
      option.classList.toggle("av-dimmed", Boolean(shown && each === side && !text));
      if (option.lastChild.textContent !== text) option.lastChild.textContent = text;
    });
  }
}

function drawReadout(view, shown) {
  const { head, map, root } = view;
  // Where the list of numbers is far below, the largest are said above the map.
  const read = shown && root.dataset.layout === "below";
  const words = read ? describe(head, shown.side, shown.index, 2) : headline(head);
  const next = ((view.headIndex + 1) % map.heads) + 1;
  const hint = `Point at a token to read its weights; a click pins it.${map.heads > 1 ? ` What does head ${next} look at?` : ""}`;
  view.told.replaceChildren(make("b", {}, words), make("div", { class: "av-muted" }, hint));
  const { q, k } = strongest(head);
  shown ||= { side: "query", index: q, other: k };
  const query = shown.side === "query";
  const [own, others] = query ? [map.rows, map.keys] : [map.keys, map.rows];
  const list = ranked(head, shown.side, shown.index);
  const name = make("bdi", { class: query ? "av-q" : "av-k" }, shorten(own[shown.index]));
  const caption = make("div", { class: "av-caption" }, name, query ? " attends to" : " is attended to by");
  const line = (label, w, more = "") => {
    const fill = make("span", { class: "av-bar-fill", style: `width:${(100 * Math.min(1, w)).toFixed(1)}%` });
    const name = make("bdi", { class: "av-name" }, label);
    const number = make("span", { class: "av-number" }, written(w));
    return make("div", { class: `av-line ${more}` }, name, make("span", { class: "av-bar-track" }, fill), number);
  };
  const met = (other) => (other === shown.other ? "av-met" : "");
  const most = list.filter(({ w }, i) => i < 6 && (!i || worthWriting(w)));
  const lines = most.map(({ other, w }) => line(shorten(others[other]), w, met(other)));
  const rest = list.slice(most.length).reduce((sum, { w }) => sum + w, 0);
  if (list.length > most.length) lines.push(line(`${list.length - most.length} more`, rest, "av-muted"));
  const masked = others.length - list.length;
  if (masked) lines.push(make("div", { class: "av-muted" }, `${masked} ${query ? "later" : "earlier"}: masked out`));
  const bars = make("div", { class: `av-bars av-${shown.side}` }, ...lines);
  view.readout.replaceChildren(caption, bars);
}

function drawTip({ view, tip, scroll, geometry, map, head }, shown) {
  tip.hidden = view === "lines" || shown?.other === undefined;
  if (tip.hidden) return;
  const { cell, wide, left } = geometry;
  const [q, k] = [shown.index, shown.other];
  tip.replaceChildren(
    make("bdi", { class: "av-q" }, shorten(map.rows[q])),
    " to ",
    make("bdi", { class: "av-k" }, shorten(map.keys[k])),
    make("b", {}, isMasked(head, q, k) ? ": masked out" : ` ${written(weightAt(head, q, k))}`),
  );
  const below = q < 2 && map.nq > 3;
  tip.style.cssText = `left:0;top:${below ? (q + 1) * cell + 6 : q * cell - 34}px`;
  // All of it is to be seen, also where the map is scrolled.
  const first = scroll.scrollLeft - left;
  tip.style.left = `${clamp((k + 1) * wide + 8, first, Math.max(first, first + scroll.clientWidth - tip.offsetWidth - 4))}px`;
}
