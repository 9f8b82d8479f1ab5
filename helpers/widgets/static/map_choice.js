// The map, another token: one is written in place of the model's own, and the model goes on from it.
// Methods of the view.

import { lossesOf } from "./map_answer.js";
import { ENGLISH, looksEnglish } from "./map_language.js";
import { missed } from "./map_leave.js";
import { number, percent } from "./map_scene.js";
import { likeliest, sentenceOf, textOf } from "./map_trace.js";
import { compared } from "./map_without.js";
import { JOINED, isWord, quoted, shorten } from "./text.js";

// What a sentence that was typed says of itself: it looks like English, or each word of it is cut up.
export function remarkOn(sentence, tokens) {
  if (looksEnglish(sentence)) return ENGLISH;
  const cut = (token, i) => !isWord(token) || [token, tokens[i + 1]].some((one) => one?.startsWith(JOINED));
  const none = tokens.some(isWord) && tokens.every(cut);
  return none ? "No word of this is in the vocabulary, so the model reads pieces of a few letters each." : "";
}

export const choosing = {
  translate(sentence) {
    this.pause();
    const [read, refused] = [this.model.get("sentence"), this.model.get("_refused")];
    // Where nothing was changed, a model that draws goes on from the last token.
    const whole = sentence === read && !refused && this.trace.goesOn;
    this.hear(sentence === read && !whole ? refused : "The model is reading your sentence …");
    this.set({ sentence: whole || sentence });
  },
  // What was asked for is there.
  renew() {
    this.pause(); // what plays belongs to the picture before
    this.read();
    this.measured = this.before = this.came = null;
    // An open place stays where it was scrolled to, but the table shows what was pressed there.
    if (!this.place || this.place === "heads") this.sought = this.place;
    // Of the same sentence the tour goes on.
    if (!this.choosing) [this.bars.left, this.kept] = [-1, null];
    const sentence = this.model.get("sentence");
    if (this.choosing || this.trace.drawnAt) return this.goesOn();
    this.lost = null;
    if (this.trace.image) return this.hear(this.judged(this.trace.reads));
    this.say(`Now the model reads: ${sentence}`);
    const { stacks, encoder, decoder, whole } = this.trace;
    // While heads are off, what they did is told instead.
    const remark = whole ? "" : remarkOn(sentence, stacks[0]?.tokens || []);
    // Nonsense, too, is read.
    const writes = remark && decoder && ` It writes: ${quoted(shorten(sentenceOf(decoder.written), 90))}`;
    this.hear(remark + (writes || ""));
    // What has to be read stands still.
    if (!remark && encoder && decoder && this.model.get("here") !== "loss") this.flow();
  },
  // What is said of a sentence stands where words stand, until something else is done.
  hear(words) {
    this.said = words;
    if (words) this.say(words);
    this.redraw();
  },
  choose(rank) {
    this.lot = "";
    const { current, trace } = this;
    const other = () => sentenceOf(trace.written.with(current, trace.candidates[current][rank][0]));
    if (this.scores) return this.score(other(), this.follow);
    if (trace.image) return this.look(rank);
    const earlier = this.model.get("chosen").filter(([row]) => row < current);
    const again = this.model.get("chosen").some(([row, one]) => row === current && one === rank);
    if (trace.recurrent) return this.rewrite({ chosen: again ? earlier : [...earlier, [current, rank]], stop: -1 });
    if (rank === trace.drawn[current])
      return this.hear(
        `“${trace.candidates[current][rank][0]}” is what’s written here. Press another token to write that instead.`,
      );
    // The likeliest is what a translator writes by itself.
    this.rewrite({ chosen: rank || trace.drawnAt ? [...earlier, [current, rank]] : earlier });
  },
  // Another picture: what the model says of it, and the whole map of it, if the kernel runs.
  look(place) {
    this.pause();
    this.trace.opened.add(place);
    if (place === this.trace.reads) return this.hear(this.judged(place));
    if (!this.model.send)
      return this.hear(`${this.judged(place)} To see how, run the cell: the kernel has to read that picture.`);
    this.hear("The model is reading the picture …");
    this.set({ sentence: String(place), everything: true });
  },
  judged(place) {
    const { is, said, share } = this.trace.choices[place];
    const right = is === said ? "and the model agrees" : `but the model says “${said}”`;
    return `Picture ${place + 1} is labelled “${is}”, ${right}, with ${percent(share)}.`;
  },
  // One of those that are listed, by lot, each as likely as it is shown; the same lots every time.
  drawOne() {
    const { current, trace } = this;
    const found = likeliest(trace, current, Infinity);
    this.draws = (this.draws ?? 0) + 1;
    this.seed = (1664525 * (this.seed ?? 7) + 1013904223) % 2 ** 32;
    let left = this.seed / 2 ** 32;
    const rank = found.findIndex(({ among }) => (left -= among) < 1e-9);
    const { token, among } = found[rank];
    const drawn = `Draw ${this.draws}: “${token}”, with a chance of ${percent(among)} among these ${found.length} at temperature ${trace.shown.toFixed(1)}`;
    if (rank === trace.drawn[current])
      return this.hear(`${drawn}. It’s what is written here. Draw again, or change the temperature first.`);
    if (!this.model.send) return this.hear(`${drawn}. To see how the model goes on from it, run the cell.`);
    this.choose(rank);
    this.lot = drawn;
  },
  // Heads are switched off, or if all of them are, on again.
  turn(...places) {
    const [all, off] = [places.flat(), new Set(this.model.get("off"))];
    const on = all.every((place) => off.has(place));
    for (const place of all) on ? off.delete(place) : off.add(place);
    [this.kept, this.entering] = [null, false];
    this.rewrite({ off: [...off] }, "The model is translating again …");
  },
  // The tour speaks of a model with all of its heads, which are off again after it, and of all of the picture.
  mends(stop) {
    const [step, before] = [this.tour[stop], this.tour[this.stop]];
    // Losses need a reference: without one it's what the model writes, with a wrong word.
    const { value: reference, textContent, hidden } = this.bars.attempt;
    if (step && this.scores && !this.model.get("reference") && reference) {
      this.starts = stop;
      const tried = `${textContent.replace("Try", " Here the reference is the model’s own with")}.`;
      this.tried = !hidden && textContent.startsWith("Try") && { reference, tried };
      this.rewrite({ reference }, "The model is scoring it …");
      return true;
    }
    const out = this.model.send && ["off", "left_out"].some((name) => this.model.get(name).length);
    const [off, kept] = step ? [[], this.kept] : [this.kept || [], null];
    this.starts = off.length || (out && (step ? !step.leaves : before?.leaves)) ? stop : undefined;
    this.kept = step && out && this.starts !== undefined ? this.model.get("off") : kept;
    const says = off.length ? "The heads are off again …" : "The model is whole again …";
    if (this.starts !== undefined) this.rewrite({ off, left_out: [] }, says);
    return this.starts !== undefined;
  },
  // A patch is left out of the picture, or back in it.
  leave(patch) {
    const out = new Set(this.model.get("left_out"));
    if (!out.delete(patch)) out.add(patch);
    this.rewrite({ left_out: [...out] }, "The model is reading the picture …");
  },
  // A copy of the model learns from this pair, or is given up.
  train(steps) {
    if (this.choosing) return; // a step is still being taken
    this.lost = null;
    this.rewrite({ steps, stop: -1 }, steps ? "A copy of the model takes a step …" : "The model is scoring it …");
  },
  rewrite(changes, says = "The model goes on from there …") {
    this.pause();
    this.choosing = true;
    this.hear(says);
    this.set({ ...changes, beat: -1 });
  },
  // Another reference: its tokens are scored, and read, whatever the model would write.
  score(reference, follow = "") {
    this.pause();
    this.choosing = reference !== this.model.get("reference");
    this.lost = lossesOf(this.trace);
    if (!reference) this.bars.wanted.value = sentenceOf(this.trace.written);
    this.set({ reference, beat: -1, follow });
    this.hear(this.choosing ? "The model is scoring it …" : this.model.get("_refused") || this.costs());
  },
  learned() {
    const { found, mean, before } = lossesOf(this.trace);
    const changes = found.map((one) => Math.abs(one.before - one.loss));
    const steps = this.model.get("steps");
    const { taught } = this.trace;
    const [[source, reference], more] = taught;
    const only = !more && source === this.model.get("sentence") && reference === this.model.get("reference");
    const each = taught.map(([, words, n]) => `${more ? `${n} ` : ""}on ${quoted(shorten(words, 30))}`);
    const on = only ? "" : ` (${each.join(", ")})`;
    const after = `After ${steps === 1 ? "one step" : `${steps} steps`}${on}, the copy`;
    if (this.place) {
      const { token, share, loss, before: was } = found[this.current];
      return `${after} gives “${token}” ${percent(share)}, while the model itself gives it ${percent(Math.exp(-was))} (outlined). So this row costs ${number(loss)} nats instead of ${number(was)}, and the mean of all rows, the loss, is ${number(mean)} instead of ${number(before)}.`;
    }
    const { token, ...most } = found[changes.indexOf(Math.max(...changes))];
    const { own, written } = this.trace;
    const loss = `loss ${own ? "on what the model itself wrote" : "here"} is ${number(mean)}`;
    const asks = only && !this.bars.ask.hidden ? " Has the copy learned only this sentence? Type another above." : "";
    const [copy, model] = [own || [], written].map(sentenceOf);
    const then = own
      ? ` By itself the copy ${copy === model ? "still writes the same." : `now writes “${copy}”`} To train on this sentence, type its reference.`
      : asks;
    return `${after}’s ${loss}, while the model’s own is ${number(before)} (thin lines). “${token}” changed most, from ${number(most.before)} to ${number(most.loss)}.${then}`;
  },
  costs() {
    if (this.trace.untrained) return this.learned();
    const { found, mean, most } = lossesOf(this.trace);
    // The words are about the row that is framed.
    const [name, row] = this.follow.split(":");
    const told = name === "decoder" && row < found.length ? Number(row) : most;
    const mostly = told === most ? ", the most of all rows" : "";
    const was = this.lost || { found, mean };
    const [now, before] = [number(mean), number(was.mean)];
    const change = now === before ? "" : `, ${mean > was.mean ? "up" : "down"} from ${before}`;
    const refers = !this.scores || this.model.get("reference");
    const own = refers ? "" : "Without a reference, the model’s own is scored. Type one to train on it. ";
    // The same token in the row after another wrong word: what has changed is what the decoder was fed.
    const fed = found.findIndex(({ rank, token }, row) => rank > 1 && token !== was.found[row]?.token);
    const [wrong, next, once] = [found[fed], fed < 0 ? null : found[fed + 1], was.found[fed + 1]];
    const [one, other] = next && next.token === once?.token ? [number(next.loss), number(once.loss)] : [];
    const fell = ` Fed “${wrong?.token}”, the next row, “${next?.token}”, costs ${one} instead of ${other}.`;
    const then = one === other ? "" : fell;
    const step = this.scores && this.trace.trains ? ", or take a training step" : "";
    const can = own ? "" : ` Press a row to see what the model expected${step}.`;
    return `${own}${found[told].says}${mostly}. The mean of the ${found.length} rows, the loss, is ${now}${change}.${this.lost ? then : can}`;
  },
  goesOn() {
    this.choosing = false;
    if (this.starts !== undefined) return this.goTo(this.starts);
    if (this.scores) return this.bring(this.hear(this.costs()));
    if (this.trace.recurrent) return this.hear("");
    if (this.trace.image) return this.hear(this.trace.entire ? missed(this.trace) : "All patches are read again.");
    const { written, chosen, given, whole, drawnAt } = this.trace;
    // What changed stands in the words' place.
    if (whole && !chosen.length) return this.say(compared(this.trace).pop(), this.hear(""));
    const row = chosen[chosen.length - 1];
    // What was drawn has said at which temperature.
    const heat = drawnAt && !this.lot ? ` at temperature ${drawnAt[drawnAt.length - 1].toFixed(1)}` : "";
    const after = row < written.length - 1 ? `, and the model went on from it${heat}` : "";
    const all = `“${shorten(textOf(this.trace, after ? row + 1 : given - 1), 130)}”`;
    const drew = heat ? `The model went on${heat}` : `${this.lot ? `${this.lot}. ` : ""}As the model wrote it`;
    const wrote = written[row] === "␣" ? "a space, “␣”," : `“${written[row]}”`;
    const how = this.lot || `You wrote ${wrote} yourself`;
    this.lot = "";
    this.hear(`${chosen.length ? `${how}${after}` : drew}: ${all}`);
  },
};
