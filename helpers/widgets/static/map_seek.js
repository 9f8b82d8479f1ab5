// The map, scrolling: where its picture is higher than its frame, it goes to what is told. Methods of
// the view.

import { toldRow } from "./map_answer.js";
import { framedOf } from "./map_light.js";
import { meanWeights, rowOf } from "./map_trace.js";
import { HEAD } from "./map_whole.js";
import { glideTo } from "./page.js";

export const seeking = {
  // The picture scrolls to what is told.
  seek(lit) {
    const told = `${this.place} ${this.shown} ${this.stop} ${this.follow} ${this.measured} ${this.tour[this.stop]?.back && lit?.length}`;
    if (told === this.sought) return;
    // A place one goes into opens at its beginning, wherever the focus lies there.
    if (this.at !== this.place) [this.from, this.at] = [this.at || "", this.place];
    const entering = this.place && !this.from.startsWith(this.place);
    this.sought = told;
    const { rects = [], now } = this.plays ? this.scene.beats[this.shown] : {};
    const { target: held } = document.activeElement; // of the stage's buttons, the one with the focus
    const { parts = [] } = this.tour[this.stop] || {};
    const ofTour = framedOf(this) || toldRow(this) || this.built(lit, parts.join());
    const known = this.stop >= 0 ? ofTour : this.answered && [this.scene.first];
    // Where a GPT went on: the end, with what was drawn.
    const end = this.said && this.trace.drawnAt ? [[0, this.scene.height, 0, 0]] : null;
    const lost = toldRow(this) || end || (this.here && !this.place ? this.built(lit, this.here) : []);
    const kept = this.stage.list.includes(held) && !entering;
    const other = known || (kept ? [held.rect] : lost);
    const [rect] = now || (rects.length ? rects.slice(-1) : other);
    const middle = rect ? rect[1] + Math.min(rect[3], this.frame.clientHeight) / 2 : 0;
    // Of the next token's scores the row that they come from; on a phone that's also where one begins.
    const begins = this.rests && !kept && !this.small.small.hidden;
    const { encoder, scored } = this.trace;
    const answers = encoder && !scored && !this.trace.image && (parts.includes("output") || begins);
    const [stack, row] = this.place ? [] : (answers ? `decoder:${this.current}` : this.follow).split(":");
    // A followed row stands low, with room for what flows into it from above, but not below what gives it
    // most. The words speak of the last layer.
    const { narrow } = this.scene.measures || {};
    const [high, image] = [this.frame.clientHeight, this.trace.image];
    const at = image ? null : this.trace[stack];
    const block = narrow && at ? at.layers.length + Number(Boolean(answers)) : 0;
    const shares = at ? Array.from(rowOf(meanWeights(at.layers.at(-1)[0]), Number(row))) : [];
    const most = shares.indexOf(Math.max(...shares.filter((_, key) => key !== Number(row))));
    const low = Math.max(Number(row), most);
    const lowest = at && at.y(low, block) - at.y(Number(row), block) < high - 66 ? low : Number(row);
    // Of a picture's patch the picture, and in the tour the bands in the first layer.
    const bands = image && this.stop >= 0 && narrow && !this.leaves ? this.trace.encoder.blocks[1].top - 30 : 0;
    // What is higher than the frame begins with its name.
    const name = narrow && rect?.[3] > high ? HEAD : 0;
    const top = at ? at.y(lowest, block) + 44 - high : stack ? bands : middle - high / 2 - name;
    glideTo(this.frame, top);
  },

  // Of what is lit for these parts, that in the layers, where it lies a screen away: the decoder's if it's theirs.
  built(lit, parts) {
    const stack = /masked|cross/.test(parts) ? this.trace.decoder : /add/.test(parts) && this.trace.stacks[0];
    const from = stack ? stack.blocks[1].top - 30 : 0;
    return lit?.filter(([, y]) => y > from) || [];
  },
};
