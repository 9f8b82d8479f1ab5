// The map without a head: what switches it off, and what the translation was and has become.

import { lowered, make } from "./page.js";
import { percent } from "./map_scene.js";
import { readPlace, sentenceOf, stopped, trail } from "./map_trace.js";

// The words of a sentence before, within and after what it doesn't share with another.
function parted(own, other) {
  const differs = (a, b) => a.findIndex((word, i) => word !== b[i]);
  const from = differs([...own, ""], other);
  const end = own.length - Math.max(0, differs(own.slice(from).reverse(), other.slice(from).reverse()));
  return [own.slice(0, from), own.slice(from, end), own.slice(end)].map((words) => words.join(" "));
}

// Both translations, and in words what became of one token’s probability.
export function compared({ whole, written, candidates }) {
  const [was, is] = [whole.map(([token]) => token), written].map((names) => sentenceOf(names).split(" "));
  const now = (row, name) => candidates[row]?.find(([token]) => token === name)?.[2] || 0;
  const moved = whole.map(([token, share], row) => (token === written[row] ? Math.abs(share - now(row, token)) : 1));
  const row = moved.indexOf(Math.max(...moved));
  const [token, share] = whole[row];
  const says = `“${token}” had ${percent(share)} and now has ${percent(now(row, token))}`;
  return token === written[row]
    ? [parted(was, is), parted(is, was), `The words stay the same. The largest change: ${says}.`]
    : [parted(was, is), parted(is, was), `${says}; “${written[row]}” has ${percent(now(row, written[row]))}.`];
}

// The button of an open head, and what stands in the words’ place while heads are off and it is `free`.
export function withoutOf(view) {
  const button = (act) => make("button", { type: "button", onclick: act });
  const turn = button(() => view.turn(view.place.split("/").slice(0, 4).join("/")));
  turn.className = "mm-turn";
  const back = button(() => view.rewrite({ off: [] }, "The model is translating again …"));
  const compare = make("button", { type: "button", onclick: () => view.open("heads") }, "Which heads matter?");
  const strip = make("div", { class: "mm-without", role: "group", "aria-label": "Without a head" });
  const line = (of, [start, changed, end]) =>
    make("p", {}, make("span", {}, of), `${start} `, make("mark", {}, changed), ` ${end} `);
  const show = (free) => {
    const { model, trace, place } = view;
    const { head, headIndex, inside } = readPlace(place, trace);
    turn.hidden = !head || !view.turns || inside === "why"; // its score stays, off or on
    turn.textContent = `Switch head ${headIndex + 1} ${head?.off ? "on" : "off"}`;
    const namesOf = ([, ...steps]) => steps.map(({ words }) => words.toLowerCase());
    const [first, more] = model.get("off").map((one) => namesOf(trail(one, trace)));
    strip.hidden = !free || !first || !trace.whole;
    if (strip.hidden) return strip.replaceChildren();
    back.textContent = `Switch ${more ? "them" : "it"} on`;
    back.hidden = compare.hidden = !model.send;
    const name = make(
      "b",
      {},
      `Without ${more ? `${model.get("off").length} heads` : first.join(", ")}${stopped(trace.written)}: `,
    );
    const [was, is, says] = compared(trace);
    const differ = was[1] || is[1];
    const lines = differ ? [line("All heads: ", was), line("Without: ", is)] : [make("p", {}, says)];
    const left = trace.stacks.some(({ layers }) => layers.flat().some(({ heads }) => heads?.some(({ off }) => !off)));
    const next = place ? lowered(view.scene.hint) : [left ? "Switch off another head as well. " : "", compare];
    const hint = make("p", { class: "mm-next", title: place ? view.scene.hint : next[0] }, ...next);
    const told = differ && !trace.chosen.length ? make("i", { title: says }, says) : "";
    strip.replaceChildren(make("p", {}, name, told, back), ...(trace.chosen.length ? [] : lines), hint);
  };
  return { turn, strip, show };
}
