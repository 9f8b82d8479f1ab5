// The map, scrolling: where its picture is higher than its frame, it goes to what is told. Methods of
// the view.

import { toldRow } from "./map_answer.js";
import { answered, framedOf } from "./map_light.js";
import { meanWeights, rowOf } from "./map_trace.js";
import { HEAD } from "./map_whole.js";
import { glideTo } from "./page.js";

export const seeking = {
  // The picture scrolls to what is told, once.
  seek(lit) {
    const told = `${this.place} ${this.shown} ${this.stop} ${this.follow} ${this.measured}`;
    if (told === this.sought) return;
    const [before] = (this.sought || "").split(" ");
    this.sought = told;
    const { target: held } = document.activeElement; // of the stage's buttons, the one with the focus
    // A place one goes into opens at its beginning, wherever the focus lies there, also when the kernel has answered.
    if (this.place !== before) this.entering = !before.startsWith(this.place);
    const kept = !this.entering && this.stage.list.includes(held) ? held.rect : null;
    glideTo(this.frame, this.topOfRow(kept) ?? this.topOf(this.told(lit, kept)));
  },

  // A rectangle in the middle, or on a phone below its layer's name. What is higher than the frame begins
  // with its name.
  topOf(rect) {
    if (!rect) return 0;
    const [high, narrow] = [this.frame.clientHeight, this.scene.measures?.narrow];
    const names = narrow ? this.trace.stacks.flatMap(({ blocks }) => blocks.map(({ top }) => top - HEAD)) : [];
    const name = names.findLast((top) => top <= rect[1]) ?? Infinity;
    if (rect[1] + rect[3] - name <= high && name <= rect[1]) return name;
    return rect[3] > high ? rect[1] - (narrow ? HEAD : 0) : rect[1] + rect[3] / 2 - high / 2;
  },

  // What plays, else what the tour tells or asked; at rest what has the focus, else what is told there.
  told(lit, kept) {
    const { rects = [], now } = this.plays ? this.scene.beats[this.shown] : {};
    if (now || rects.length) return now ? now[0] : rects.at(-1);
    const { parts = [] } = this.tour[this.stop] || {};
    if (this.wrote?.part && this.wrote.go === this.place) return lit?.[0];
    if (this.stop >= 0) return (framedOf(this) || toldRow(this) || this.built(lit, parts.join()))[0];
    if (answered(this) || kept) return answered(this) ? this.scene.cell(3, 0, 0) : kept;
    // Where a GPT went on: the end, with what was drawn.
    const end = this.said && this.trace.drawnAt ? [[0, this.scene.height, 0, 0]] : null;
    return (toldRow(this) || end || (this.here && !this.place ? this.built(lit, this.here) : []))[0];
  },

  // A followed row stands low, with room for what flows into it from above, but not below what gives it
  // most. The words speak of the last layer.
  topOfRow(kept) {
    const { encoder, decoder, scored, image } = this.trace;
    const { parts = [], text, ...step } = this.tour[this.stop] || {};
    // Of the next token's scores the row that they come from; on a phone that's also where one begins.
    const starts = this.rests || Object.keys(step).join() === "written";
    const begins = starts && !kept && !this.small.small.hidden && !(this.said && this.trace.drawnAt);
    const answers = decoder && !scored && !image && (parts.includes("output") || begins);
    const [stack, row] = (answers ? `decoder:${this.current}` : this.follow).split(":");
    if (this.place || !stack) return null;
    const { narrow } = this.scene.measures || {};
    // Of a picture's patch the picture, and in the tour the bands in the first layer.
    if (image) return this.stop >= 0 && narrow && !this.leaves ? encoder.blocks[1].top - 30 : 0;
    const at = this.trace[stack];
    if (!at) return 0;
    const [own, high] = [Number(row), this.frame.clientHeight];
    const block = narrow ? at.layers.length + Number(Boolean(answers)) : 0;
    const y = (r) => at.y(r, block);
    const shares = Array.from(rowOf(meanWeights(at.layers.at(-1)[0]), own));
    const most = shares.indexOf(Math.max(...shares.filter((_, key) => key !== own)));
    const low = y(most > own && y(most) - y(own) < high - 66 ? most : own) - high;
    // The heading, with what the memory gives, is in view, where that leaves the row there.
    return narrow ? Math.max(at.blocks[block].top - HEAD - 3, low + 14) : low + 44;
  },

  // Of what is lit for these parts, that in the layers, where it lies a screen away: the decoder's if it's theirs.
  built(lit, parts) {
    if (this.trace.recurrent) return lit || [];
    const stack = /masked|cross/.test(parts) ? this.trace.decoder : /add/.test(parts) && this.trace.stacks[0];
    const from = stack ? stack.blocks[1].top - 30 : 0;
    return lit?.filter(([, y]) => y > from) || [];
  },
};
