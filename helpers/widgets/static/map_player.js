// The map, playing: step by step, each of which moves as long as it is read. Methods of the view.

import { paceOf } from "./map_flow.js";
import { prefersStillness } from "./page.js";

export const playing = {
  play() {
    if (this.playing) return this.pause();
    const { beats } = this.scene;
    const start = this.beat < 0 || this.beat >= beats.length - 1 ? 0 : this.beat;
    this.set({ beat: start, follow: "", stop: -1 });
    // Then every step is there at once.
    const still = prefersStillness();
    this.progress = still ? 1 : 0;
    let began = performance.now();
    const tick = (now) => {
      const [lasts, rests] = paceOf(this);
      this.progress = still ? 1 : Math.min(1, (now - began) / lasts);
      if (now - began > lasts + rests) {
        if (this.beat >= this.scene.beats.length - 1) return this.pause();
        began = now;
        this.progress = still ? 1 : 0;
        this.set({ beat: this.beat + 1 });
        this.draw();
      } else this.light();
      this.playing = requestAnimationFrame(tick);
    };
    this.playing = requestAnimationFrame(tick);
    this.bars.show();
  },
  pause() {
    cancelAnimationFrame(this.playing);
    this.playing = null;
    this.progress = 1;
    this.redraw();
  },
  step(by) {
    this.pause();
    const next = this.shown + by;
    if (next >= 0 && next < this.scene.beats.length) this.set({ beat: next, follow: "", stop: -1 });
  },
};
