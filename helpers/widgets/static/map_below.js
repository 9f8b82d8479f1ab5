// The map, a frame too low for all of it: it says what is out of sight, and goes there.

import { glideTo, make } from "./page.js";

// The words, which have a place below the view's frame, and what shows or hides them.
export function belowOf(view) {
  const { frame } = view;
  const both = () => view.trace.encoder && view.trace.decoder;
  // A place that was asked for isn't drawn yet; the scene that's there may be another one's.
  const long = () => !view.scene.measures;
  const top = () => (both() ? Math.min(...view.scene.parts.decoder.map(([, y]) => y)) : view.scene.start?.[1]);
  const end = () => frame.scrollHeight - frame.clientHeight;
  const low = () => frame.scrollTop > Math.min(long() ? end() : top() - 40, end()) / 2;
  const scroll = () => glideTo(frame, low() ? 0 : long() ? end() : top() - 40);
  const below = make("button", { type: "button", class: "mm-below", onclick: scroll });
  const show = () => {
    const { plays, stop, place, tour } = view; // what plays, and the tour of the whole, scroll by themselves
    below.hidden = !view.scrolls || (!long() && !top()) || !view.small.small.hidden;
    below.style.visibility = plays || (stop >= 0 && (!place || tour[stop].answer)) ? "hidden" : "";
    const words = long() ? ["↓ more", "↑ back up"] : both() ? ["↓ decoder", "↑ encoder"] : ["↓ answer", "↑ back up"];
    below.textContent = words[Number(low())];
  };
  // The first touch of a map scrolls it; this press scrolls by itself.
  below.addEventListener("pointerdown", (event) => event.stopPropagation());
  frame.addEventListener("scroll", show);
  return { below, show };
}
