// The map, a frame too low for both stacks: it says where the second one is, and goes there.

import { make, prefersStillness } from "./page.js";

// Puts the words into the view's frame; returns what shows or hides them.
export function belowOf(view) {
  const { frame } = view;
  const decoder = () => view.scene.parts["masked-self-attention"] || [];
  const top = () => Math.min(...decoder().map(([, y]) => y));
  const end = () => Math.max(...decoder().map(([, y, , high]) => y + high));
  const scroll = () => frame.scrollTo({ top: top() - 40, behavior: prefersStillness() ? "instant" : "smooth" });
  const below = make("button", { type: "button", class: "mm-below", onclick: scroll }, "decoder below ↓");
  const show = () => {
    const { beat, place, trace } = view; // what plays scrolls by itself
    below.hidden =
      Boolean(place) ||
      beat >= 0 ||
      !trace.encoder ||
      !trace.decoder ||
      end() < frame.scrollTop + frame.clientHeight + 30 ||
      frame.scrollTop > Math.min(top() - 42, frame.scrollHeight - frame.clientHeight - 2);
  };
  // The first touch of a map scrolls it; this press scrolls by itself.
  below.addEventListener("pointerdown", (event) => event.stopPropagation());
  frame.append(below);
  frame.addEventListener("scroll", show);
  return show;
}
