// The player of all films: play, pause, a step back or forward, any moment, three speeds, and keys.
// Where no motion is wanted, one scene follows the other without movement.

import { Stage, clamped } from "./film_stage.js";
import { lowered, make, shape, shieldKeys, speedMenu } from "./page.js";

const ICONS = {
  back: ["Back one step", "M5 4h3v16H5zM20 4v16L9 12z"],
  play: ["Play", "M6 3l15 9-15 9z"],
  pause: ["Pause", "M5 3h5v18H5zM14 3h5v18h-5z"],
  again: ["Play again", "M12 5V1L6 6.5 12 12V8a5 5 0 1 1-5 5H4a8 8 0 1 0 8-8z"],
  on: ["Forward one step", "M16 4h3v16h-3zM4 4l11 8-11 8z"],
};
const SMALLEST = 12; // pixels on the page: the height of letters in the picture
const STILL = "(prefers-reduced-motion: reduce)";

function dress(button, icon) {
  const [label, path] = ICONS[icon];
  if (button.getAttribute("aria-label") === label) return;
  button.setAttribute("aria-label", label);
  button.title = label;
  button.replaceChildren(shape("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, shape("path", { d: path })));
}

// Where a moment lies: the scene, and how far its movement has gone.
export function momentAt(scenes, time) {
  let index = 0;
  let start = 0;
  while (index < scenes.length - 1 && time >= start + scenes[index].seconds - 1e-6) start += scenes[index++].seconds;
  const { lead, move } = scenes[index];
  return { index, start, share: move ? clamped((time - start - lead) / move) : 1 };
}

// When a scene begins, and when its movement is over; that of the last one is the end of the film,
// and of the slider: in hundredths, as all seconds are, and not 51.99999999999999.
const begun = (scenes, index) => scenes.slice(0, index).reduce((sum, scene) => sum + scene.seconds, 0);
const hundredths = (seconds) => Math.round(100 * seconds) / 100;
const done = (scenes, index) => hundredths(begun(scenes, index) + scenes[index].lead + scenes[index].move);

class Player {
  constructor(place, film) {
    Object.assign(this, { film, time: 0, playing: false, until: Infinity });
    this.end = done(film.scenes, film.scenes.length - 1);
    const box = `0 0 ${film.width} ${film.height}`;
    const svg = shape("svg", { viewBox: box, role: "img", "aria-label": film.alt, tabindex: 0 });
    this.stage = new Stage(svg, film);
    this.caption = make("span", { "aria-live": "polite" });
    // The longest caption decides how much room all have, so that nothing jumps.
    const hidden = { class: "film-room", "aria-hidden": "true" };
    const room = film.scenes.map((scene) => make("span", hidden, ...lowered(scene.caption)));
    const words = make("p", { class: "film-caption" }, ...room, this.caption);
    const seen = make("div", { class: "film-stage" }, svg);
    this.root = make("div", { class: "film-player", role: "group", "aria-label": "Film" }, seen, words, this.bar());
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.root.addEventListener("film-pause", () => this.pause());
    svg.addEventListener("click", () => {
      this.toggle();
      this.button.focus({ preventScroll: true }); // for the keys
    });
    this.root.style.setProperty("--shape", film.width / film.height);
    // A frame is often as high as what it shows, so that only the screen says what can be seen.
    if (window.top !== window) this.root.style.setProperty("--high", `${screen.availHeight}px`);
    place.append(this.root);
    this.show(0);
    let unshield = null;
    new ResizeObserver(() => {
      if (!svg.isConnected)
        unshield = unshield?.(); // out of the page, and maybe back later
      else {
        unshield ??= shieldKeys(this.root);
        this.stage.least = (SMALLEST * film.width) / svg.clientWidth;
        this.show(this.time);
      }
    }).observe(svg);
  }

  bar() {
    [this.back, this.button, this.on] = [0, 1, 2].map(() => make("button", { type: "button" }));
    dress(this.back, "back");
    dress(this.on, "on");
    this.back.onclick = () => this.step(-1);
    this.button.onclick = () => this.toggle();
    this.on.onclick = () => this.step(1);
    const range = { type: "range", min: 0, max: this.end, step: "any" };
    this.slider = make("input", { ...range, "aria-label": "Moment of the film" });
    this.slider.oninput = () => {
      if (this.until < Infinity) this.playing = false; // it was only a step
      this.held = this.playing; // it plays on when the slider is let go
      this.show(Number(this.slider.value));
    };
    this.slider.onchange = () => Object.assign(this, { held: false });
    this.count = make("span", { class: "film-count", "aria-hidden": "true" });
    this.speed = speedMenu();
    return make("div", { class: "film-bar" }, this.back, this.button, this.on, this.slider, this.count, this.speed);
  }

  show(time) {
    this.time = Math.min(Math.max(time, 0), this.end);
    const { scenes } = this.film;
    const { index, share } = momentAt(scenes, this.time);
    const still = matchMedia(STILL).matches || !(this.time || this.playing); // a film that waits shows its first scene whole
    this.stage.draw(index, still ? 1 : share);
    if (this.said !== index) this.caption.replaceChildren(...lowered(scenes[(this.said = index)].caption));
    this.slider.value = this.time;
    this.slider.style.setProperty("--done", `${(100 * this.time) / this.end}%`);
    this.slider.setAttribute("aria-valuetext", `Step ${index + 1} of ${scenes.length}`);
    this.count.textContent = `${index + 1} / ${scenes.length}`;
    dress(this.button, this.playing ? "pause" : this.time >= this.end ? "again" : "play");
  }

  // Play on, or only up to a moment: a step forward shows its movement and stops.
  play(until = Infinity) {
    for (const one of document.querySelectorAll(".film-player"))
      if (one !== this.root) one.dispatchEvent(new Event("film-pause"));
    if (this.time >= this.end) this.time = 0;
    const running = this.playing;
    Object.assign(this, { playing: true, until });
    if (!running) requestAnimationFrame((now) => this.run(now, now));
    this.show(this.time);
  }

  pause(at = this.time) {
    this.playing = false;
    this.show(at);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  run(before, now) {
    if (!this.playing || !this.root.isConnected) return;
    const passed = this.held ? 0 : (Math.min(now - before, 100) / 1000) * Number(this.speed.value);
    const next = Math.min(this.time + passed, this.until, this.end);
    if (next >= Math.min(this.until, this.end)) this.playing = false;
    this.show(next);
    requestAnimationFrame((later) => this.run(now, later));
  }

  step(by) {
    const { scenes } = this.film;
    const { index } = momentAt(scenes, this.time);
    this.playing = false;
    if (by < 0) this.show(index ? done(scenes, index - 1) : 0);
    else if (index + 1 >= scenes.length) this.show(this.end);
    else if (matchMedia(STILL).matches) this.show(done(scenes, index + 1));
    else {
      this.show(begun(scenes, index + 1) + scenes[index + 1].lead);
      this.play(done(scenes, index + 1));
    }
  }

  key(event) {
    const { tagName } = event.target;
    const act = {
      " ": tagName === "BUTTON" ? null : () => this.toggle(),
      k: () => this.toggle(), // as on every player
      ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1),
      Home: () => this.pause(0),
      End: () => this.pause(this.end),
    }[event.key];
    if (!act || (tagName === "SELECT" && event.key !== "k") || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }
}

// Put the player in the place of the still strip, which stays for print.
export function playFilm(place, film) {
  new Player(place, film);
  place.classList.add("film-alive");
}
