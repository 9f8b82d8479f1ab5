// The map, playing: step by step, each of which moves as long as it is read. Methods of the view.

import { STEP, beatsBefore } from "./map_flow.js";
import { prefersStillness } from "./page.js";
import { clamp } from "./text.js";

// How long a beat of playing moves, and then rests, in milliseconds: as long as one reads its words; of
// a translation, after its first word, as long as one reads a word. What comes row by row takes its time.
function paceOf(view) {
  const { trace, place, beat, scene } = view;
  const { moves = [], rects = [], words = "" } = scene.beats[beat] || {};
  const first = !place && trace.encoder && trace.decoder ? beatsBefore(trace) : Infinity;
  const lasts = moves.length ? 2000 : place ? Math.max(700, 300 * rects.length) : 700;
  // All of it in four seconds.
  if (view.flows) return [4000 / scene.beats.length, 0];
  // In the tour its own words are read, while all of it moves.
  if (view.stop >= 0) return [1400, 900];
  // What a recurrent decoder's first step told, every later one repeats: it’s read as one.
  if (scene.beats[beat]?.turn)
    return [420, beat % STEP ? 0 : 600].map((each) => each * clamp(8 / trace.tokens.length, 0.5, 1));
  if (beat <= first) return [lasts, Math.max(500, 300 * words.split(" ").length - lasts)];
  const slow = clamp(16 / (scene.beats.length - first), 0.5, 1);
  return [900 * slow, 450 * slow];
}

export const playing = {
  play() {
    if (this.playing && !this.once) return this.pause();
    const { beats } = this.scene;
    this.run(this.beat < 0 || this.beat >= beats.length - 1 ? 0 : this.beat, beats.length - 1);
  },
  // From one step to another; each moves, and then rests as long as one reads.
  run(start, end, stop = -1) {
    cancelAnimationFrame(this.playing);
    this.once = start === end;
    // Then every step is there at once.
    const still = prefersStillness();
    this.progress = still ? 1 : 0;
    this.set({ beat: start, follow: "", stop });
    let [passed, before] = [0, performance.now()];
    const tick = (now) => {
      const [lasts, rests] = paceOf(this);
      passed += (now - before) * Number(this.bars.speed.value);
      before = now;
      this.progress = still ? 1 : clamp(passed / lasts, 0, 1);
      if (passed > lasts + (this.once ? 0 : rests)) {
        if (this.beat >= Math.min(end, this.scene.beats.length - 1)) return this.pause();
        passed = 0;
        this.progress = still ? 1 : 0;
        this.set({ beat: this.beat + 1 });
        this.draw();
      } else this.light();
      this.playing = requestAnimationFrame(tick);
    };
    this.playing = requestAnimationFrame(tick);
    this.bars.show();
  },
  // A sentence that was asked for passes through once, and then all of it is there.
  flow() {
    this.flows = !prefersStillness();
    if (this.flows) this.run(0, Infinity);
  },
  // Once from the loss to the embeddings, and where the picture scrolls, it goes along.
  flowBack() {
    const began = performance.now();
    const tick = (now) => {
      this.progress = prefersStillness() ? 1 : clamp((now - began) / 5000, 0, 1);
      if (this.progress === 1) return this.pause();
      this.light();
      this.seek(this.stage.lit);
      this.playing = requestAnimationFrame(tick);
    };
    this.once = true;
    tick(began);
  },
  pause() {
    cancelAnimationFrame(this.playing);
    this.playing = null;
    this.progress = 1;
    const { flows } = this;
    this.flows = false;
    if (flows) this.set({ beat: -1 });
    this.redraw();
  },
  step(by) {
    this.pause();
    const next = this.shown + by;
    if (next < 0 || next >= this.scene.beats.length) return;
    if (by > 0) this.run(next, next);
    else this.set({ beat: next, follow: "", stop: -1 });
  },

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target.type === "text" && event.key !== "Escape"))
      return;
    const next = (by) => (this.stop >= 0 ? this.goTo(this.stop + by) : this.step(by));
    // Out of the tour, or back to it from where a press led.
    const { left, tour } = this.bars;
    const leave = () => (left < 0 ? this.back() : this.goTo(this.stop < 0 ? left : -1));
    const acts = { Escape: leave, p: () => this.play(), n: () => next(1), b: () => next(-1) };
    // Anywhere else arrows walk through the picture or move a slider.
    if (tour.contains(event.target) && this.stop >= 0) Object.assign(acts, { ArrowRight: acts.n, ArrowLeft: acts.b });
    const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    const rests = this.steps.length < 2 && !this.follow && this.beat < 0 && this.stop < 0;
    if (!act || (event.key === "Escape" && rests)) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  },
};
