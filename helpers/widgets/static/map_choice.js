// The map, another token: one is written in place of the model's own, and the model goes on from it.
// Methods of the view.

import { sentenceOf } from "./map_trace.js";
import { shorten } from "./text.js";

export const choosing = {
  choose(rank) {
    const { current, trace } = this;
    const earlier = this.model.get("chosen").filter(([row]) => row < current);
    if (trace.recurrent) return this.rewrite(trace.chosen.includes(current) ? earlier : [...earlier, [current, rank]]);
    if (rank === trace.drawn[current])
      return this.hear(
        `“${trace.candidates[current][rank][0]}” is what’s written here. Press another token to write that instead.`,
      );
    this.rewrite([...earlier, [current, rank]]);
  },
  rewrite(chosen) {
    this.choosing = true;
    this.hear("The model goes on from there …");
    this.set({ chosen, beat: -1 });
  },
  goesOn() {
    this.choosing = false;
    if (this.trace.recurrent) return this.hear("");
    const { written, chosen, given } = this.trace;
    const row = chosen[chosen.length - 1];
    const all = `“${shorten(sentenceOf(written.slice(given - 1)), 130)}”`;
    const after = row < written.length - 1 ? ", and the model went on from it" : "";
    this.hear(chosen.length ? `You wrote “${written[row]}” yourself${after}: ${all}` : `As the model wrote it: ${all}`);
  },
};
