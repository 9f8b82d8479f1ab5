// The hand in an explorer's picture: what can be dragged is dragged, what can be clicked is
// clicked, by mouse, finger, pen and keys alike.
//
// data-set='{"trait": value}' is set by a click or Enter; data-drag holds one or two tracks, each
// {axis, trait, from, to, low, high, step}: the trait follows the pointer along its axis; what
// data-also holds is set with it. Escape sets what data-leave holds.

import { nearest, stepped, turnedTo, valueOn } from "./scales.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
Object.assign(ARROWS, { Home: [-Infinity, 0], End: [Infinity, 0] });

export function watchPicture(explorer) {
  const { picture } = explorer;
  picture.addEventListener("click", (event) => {
    const target = event.target.closest("[data-set]");
    if (target) setFrom(explorer, target);
  });
  picture.addEventListener("pointerdown", (event) => startDrag(explorer, event));
  picture.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (onKey(explorer, event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  });
}

const setFrom = (explorer, target) => explorer.ask({ set: JSON.parse(target.dataset.set), pressed: true });

const alsoSet = (handle) => JSON.parse(handle.dataset.also || "{}");

function startDrag(explorer, event) {
  const handle = event.target.closest("[data-drag]");
  if (!handle || event.button) return;
  event.preventDefault();
  handle.focus({ preventScroll: true });
  const tracks = JSON.parse(handle.dataset.drag);
  const also = alsoSet(handle);
  explorer.dragging = handle;
  const svg = handle.ownerSVGElement;
  const index = [...explorer.picture.children].indexOf(svg);
  const move = ({ clientX, clientY }) => {
    // The drawing may have been taken anew meanwhile.
    const drawing = explorer.picture.children[index];
    const point = new DOMPoint(clientX, clientY).matrixTransform(drawing.getScreenCTM().inverse());
    for (const track of tracks)
      track.now = track.axis === "turn" ? turnedTo(point, track) : valueOn(point[track.axis], track);
    explorer.ask({ set: { ...also, ...Object.fromEntries(tracks.map(({ trait, now }) => [trait, now])) } });
  };
  const drag = new AbortController();
  const end = () => {
    drag.abort();
    explorer.dragging = null;
  };
  window.addEventListener("pointermove", move, drag);
  for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, end, drag);
  move(event);
}

function onKey(explorer, event) {
  const { target, key } = event;
  const arrow = ARROWS[key];
  if (key === "Escape" && target.dataset.leave) {
    explorer.ask({ set: JSON.parse(target.dataset.leave) });
    return true;
  }
  if (target.matches("[data-drag]") && arrow) {
    const tracks = JSON.parse(target.dataset.drag);
    const along = tracks.find(({ axis }) => (axis === "x") === Boolean(arrow[0])) || tracks[0];
    // Right and up are more, unless the track runs the other way: it moves as the arrow points.
    const way = along.axis === "y" && along.to > along.from === along.high > along.low ? -1 : 1;
    const steps = (event.shiftKey ? 10 : 1) * (arrow[0] - way * arrow[1]);
    const also = alsoSet(target);
    // A held key goes on from what is asked for already, if Python hasn't answered yet.
    const asked = [explorer.asked, ...explorer.waiting].findLast((one) => along.trait in (one?.set || {}))?.set;
    const held = asked && Object.entries(also).every(([name, value]) => asked[name] === value);
    const now = held ? asked[along.trait] : along.now;
    explorer.ask({ set: { ...also, [along.trait]: stepped(now, steps, along) } });
    return true;
  }
  if (!target.matches("[data-set]")) return false;
  if (key === "Enter" || key === " ") {
    setFrom(explorer, target);
    return true;
  }
  if (!arrow) return false;
  const others = [...explorer.picture.querySelectorAll("[data-set]")].filter((one) => one !== target);
  const middle = (one) => {
    const { left, top, width, height } = one.getBoundingClientRect();
    return { x: left + width / 2, y: top + height / 2 };
  };
  const ends = [...target.ownerSVGElement.querySelectorAll("[data-set]")];
  const far = Math.abs(arrow[0]) > 1;
  const next = far ? ends.at(arrow[0] < 0 ? 0 : -1) : others[nearest(others.map(middle), middle(target), arrow)];
  if (next) {
    for (const one of [target, ...others]) one.setAttribute("tabindex", one === next ? 0 : -1);
    next.focus();
  }
  return true;
}
