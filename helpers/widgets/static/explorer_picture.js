// An explorer's drawing on the page: made from Python's SVG, and changed in place so that what
// moved can be seen to move and the focus stays where it is.

import { make } from "./page.js";
import { besideScale } from "./scales.js";

const [TEXT, LEAST, TIGHT] = [16, 12, 0.54]; // pixels that letters are drawn at, and shown at

export function readDrawing(svg) {
  return document.adoptNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement);
}

// Where the page is narrow, drawings that belong beside each other stay there and become smaller;
// their letters don't become smaller than LEAST. What would have to shrink below TIGHT, so that its
// letters ran into one another, is scrolled instead; unless it's dragged, which needs the finger.
export function fitDrawings(picture, drawings, room) {
  const sizes = drawings.map((one) => ["width", "height"].map((name) => Number(one.getAttribute(name))));
  const least = Math.max(2 / 3, ...drawings.map((one) => Number(one.dataset.least || 0)));
  const widths = sizes.map(([width]) => width);
  const scale = besideScale(widths, room, least);
  picture.style.setProperty("--scale", scale);
  return drawings.map((drawing, i) => {
    const [width, height] = sizes[i];
    const fits = room ? Math.min(scale, room / width) : scale;
    const scrolled = fits < TIGHT && !drawing.querySelector("[data-drag]");
    const shown = scrolled ? LEAST / TEXT : fits;
    drawing.setAttribute("width", width * shown);
    drawing.setAttribute("height", height * shown);
    drawing.setAttribute("font-size", Math.max(TEXT, LEAST / shown));
    return scrolled ? make("div", { class: "ex-scrolled" }, drawing) : drawing;
  });
}

// If the two drawings are built alike, change attributes and words (style sheets let them glide);
// if not, take the new one whole.
export function patch(now, next) {
  if (!alike(now, next)) {
    const places = (drawing) => [...drawing.querySelectorAll("[tabindex]")];
    const held = places(now).indexOf(document.activeElement);
    const key = keyOf(document.activeElement);
    const after = [...places(next), ...now.closest(".ex").querySelectorAll("[type=range]")]; // if no place is left
    now.replaceWith(next); // the focus goes on in the same place, or in the one that follows it
    if (held >= 0) (after.find((one) => keyOf(one) === key) || after[held] || after[0])?.focus({ preventScroll: true });
    return;
  }
  adapt(now, next);
}

const keyOf = (element) => element?.getAttribute?.("data-set") || element?.getAttribute?.("data-drag");

function alike(a, b) {
  if (a.tagName !== b.tagName || a.children.length !== b.children.length) return false;
  for (let i = 0; i < a.children.length; i++) if (!alike(a.children[i], b.children[i])) return false;
  return true;
}

function adapt(now, next) {
  for (const { name } of [...now.attributes]) {
    if (!next.hasAttribute(name) && name !== "tabindex") now.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (now.getAttribute(name) !== value && name !== "tabindex") now.setAttribute(name, value);
  }
  if (now.tagName === "text" && now.textContent !== next.textContent) now.replaceChildren(...next.childNodes); // a lowered letter too
  for (let i = 0; i < now.children.length; i++) adapt(now.children[i], next.children[i]);
}
