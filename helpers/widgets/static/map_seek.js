// The map, scrolling: where its picture is higher than its frame, it goes to what is told. Methods of
// the view.

import { toldRow } from "./map_answer.js";
import { framedOf } from "./map_light.js";
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
    const known = this.stop >= 0 ? framedOf(this) || toldRow(this) || lit : this.answered && [this.scene.first];
    // Where a GPT went on: the end, with what was drawn.
    const end = this.said && this.trace.drawnAt ? [[0, this.scene.height, 0, 0]] : null;
    const lost = toldRow(this) || end || this.built(lit);
    const other = known || (this.stage.list.includes(held) && !entering ? [held.rect] : lost);
    const [rect] = now || (rects.length ? rects.slice(-1) : other);
    const middle = rect ? rect[1] + Math.min(rect[3], this.frame.clientHeight) / 2 : 0;
    // Of the next token's scores the row that they come from.
    const answers =
      this.trace.encoder && !this.trace.image && !this.trace.scored && this.tour[this.stop]?.parts?.includes("output");
    const [stack, row] = this.place ? [] : (answers ? `decoder:${this.current}` : this.follow).split(":");
    // A followed row stands low, with room for what flows into it from above. A target token's words
    // speak of the last layer.
    const { measures } = this.scene;
    const { encoder, decoder } = this.trace;
    const last = decoder?.layers.length + Number(Boolean(answers));
    const block = !measures?.narrow ? 0 : encoder && stack === "decoder" ? last : 1;
    // Of a picture's patch the picture, and in the tour the bands in the first layer.
    const [high, image] = [this.frame.clientHeight, this.trace.image];
    const at = image ? null : this.trace[stack];
    const bands = image && this.stop >= 0 && block ? encoder.blocks[block].top - 30 : 0;
    const top = at ? at.y(Number(row), block) + 44 - high : stack ? bands : middle - high / 2;
    glideTo(this.frame, top);
  },

  // What a lesson builds; in the decoder's layers it lies a screen away.
  built(lit) {
    const from = /masked|cross/.test(this.here) ? this.trace.decoder.blocks[1].top - 30 : 0;
    return this.here && !this.place && lit ? lit.filter(([, y]) => y > from) : [];
  },
};
