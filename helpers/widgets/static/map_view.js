// The map: its state, its keys, and the talk with Python. Traits: place, follow, written, beat, stop.

import { THEMES } from "./colour.js";
import { intoView, isDark, make, onTheme, onWidth, shieldKeys, eachFrame } from "./page.js";
import { lossesOf } from "./map_answer.js";
import { belowOf } from "./map_below.js";
import { choosing } from "./map_choice.js";
import { beatAt, rowAt } from "./map_flow.js";
import { Bars } from "./map_bars.js";
import { lightOf } from "./map_light.js";
import { ROOM, sceneOf } from "./map_depths.js";
import { guessed } from "./map_head.js";
import { NARROW, SLIM } from "./map_scene.js";
import { seeking } from "./map_seek.js";
import { smallOf } from "./map_small.js";
import { Stage } from "./map_stage.js";
import { readInsides } from "./map_insides.js";
import { clamp, quoted, shorten } from "./text.js";
import { playing } from "./map_player.js";
import { clearestOf } from "./map_purpose.js";
import { KINDS, deeper, readPlace, readTrace, trail } from "./map_trace.js";

const TRAITS = "place follow written beat stop everything yours temperature chosen off left_out".split(" ");
// What Python answers with other words.
const ASKS = /^(sentence|chosen|reference|off|left_out|steps)$/;

class MapView {
  constructor(model, el) {
    this.model = model;
    this.opened = new Set();
    this.read();
    this.stage = new Stage({
      open: (...pressed) => this.open(...pressed),
      follow: (token) => {
        this.pause();
        this.set({ follow: this.follow === token ? "" : token, everything: true });
        if (this.follow) this.drawn = () => this.say(this.bars.told);
      },
      choose: (rank) => this.choose(rank),
      turn: (places) => this.turn(places),
      leave: (patch) => this.leave(patch),
      write: (row) => {
        this.pause();
        this.set({ written: row, beat: -1, stop: -1, everything: true });
      },
      // A difference of scores, split by the key's parts or the query's.
      split: (side) => {
        this.pause();
        this.side = side;
        this.redraw();
      },
      say: (words) => this.say(words),
      // A press on what is only there to be read is answered in words; one beside it lets go.
      tell: (words) => (words ? this.hear(words) : this.follow && this.back()),
    });
    this.bars = new Bars(this);
    this.frame = make("div", { class: "mm-frame" }, this.stage.root);
    this.below = belowOf(this);
    this.small = smallOf(this);
    this.live = make("div", { class: "mm-hidden", role: "status", "aria-live": "polite" });
    const { head, foot, dials } = this.bars;
    this.stage.slot.append(dials);
    this.root = make("div", { class: "mm", role: "group", "aria-label": "Map of the model" });
    this.root.append(head, this.small.small, this.frame, this.below.below, foot, this.live);
    el.append(this.root);
    this.redraw = eachFrame(() => this.draw());
    this.root.addEventListener("keydown", (event) => this.onKey(event));
    this.root.addEventListener("keydown", () => this.flows && this.pause(), true);
    this.root.addEventListener("pointerdown", () => this.touch());
    const ends = [onTheme(this.redraw), onWidth(this.root, () => this.draw()), shieldKeys(this.root)];
    const renew = () => this.renew();
    const refuse = () => {
      this.choosing = false;
      const words = model.get("_refused");
      const other = words && this.reads && model.get("sentence") !== this.reads;
      this.hear(other ? `${words} The picture still shows ${quoted(shorten(this.reads, 60))}` : words);
    };
    // What was asked for by key takes the focus once it's there.
    const answered = () => {
      if (document.activeElement === this.root) this.drawn = () => this.stage.focus(this.place);
      this.redraw();
    };
    // An answer counts, too, where its numbers are those of before.
    const heard = { _answered: renew, _asked: answered, _refused: refuse };
    for (const name of TRAITS) heard[name] = this.redraw;
    for (const [name, act] of Object.entries(heard)) model.on(`change:${name}`, act);
    this.end = () => {
      for (const [name, act] of Object.entries(heard)) model.off(`change:${name}`, act);
      this.pause();
      clearTimeout(this.saying);
      for (const end of ends) end();
    };
  }

  // ---- state: the traits, read anew each time ----------------------------------------------

  get here() {
    return this.model.get("everything") ? "" : this.model.get("here");
  }
  // All of the model is lit, and nothing of it told.
  get rests() {
    return !this.here && !this.place && !this.follow && this.beat < 0 && this.stop < 0;
  }
  // Nothing was touched yet: the picture says where to begin.
  get fresh() {
    return Boolean(!this.touched && this.tour.length && this.rests);
  }
  touch() {
    if (this.flows) this.pause();
    if (!this.touched) this.redraw();
    this.touched = true;
  }
  // How many rows of the decoder are written; while it plays, the beat says it.
  get rows() {
    const { trace } = this;
    const decoder = trace.recurrent ? { n: trace.tokens.length } : trace.decoder;
    if (!decoder) return 0;
    if (trace.scored) return decoder.n;
    const given = trace.given || 1;
    const within = (rows) => Math.max(given, Math.min(decoder.n, rows));
    if (this.beat >= 0 && !this.place) return within(rowAt(trace, this.beat));
    return within(this.model.get("written") + 1);
  }

  // What Python sends once its place is open.
  more() {
    const described = this.model.get("_asked");
    const here = this.place && described?.place === this.place;
    const asked = here ? { described, view: this.model.get("_asked_data") } : null;
    const { answer } = this.tour[this.stop] || {};
    const { side, turns, stop } = this;
    return { asked, live: Boolean(this.model.send), side, turns, answers: answer, touring: stop >= 0 };
  }
  // Heads can be switched off.
  get turns() {
    const { model, trace } = this;
    return Boolean(trace.splits && model.get("_asks") && model.send && model.get("here") !== "loss");
  }
  // The decoder's row that answers.
  get current() {
    const [name, row] = this.follow.split(":");
    if (name === "decoder" && row < this.rows) return Number(row);
    // Of all rows' losses the words tell the largest.
    return this.trace.scored && this.beat < 0 ? lossesOf(this.trace).most : Math.max(0, this.rows - 1);
  }

  // Of a picture, whose weights are laid over it: the followed patch's, or the class token's.
  get query() {
    return this.trace.image ? Number(this.follow.split(":")[1] || 0) : this.current;
  }

  // A step is told; while a token is followed, it waits.
  get plays() {
    return this.beat >= 0 && (!this.follow || this.place);
  }

  set(changes) {
    if (!Object.keys(changes).some((name) => ASKS.test(name))) this.said = "";
    this.touched = true;
    for (const [name, value] of Object.entries(changes)) this.model.set(name, value);
    this.model.save_changes();
    this.redraw();
  }

  // `row` is the one that answers; what was pressed may say something there, and light it.
  open(place, row = this.current, pressed = {}) {
    this.wrote = pressed;
    this.pause();
    // What a tour's step asks is answered where the pressed square opens, or for a layer its first.
    const step = this.tour[this.stop < 0 ? this.bars.left : this.stop] || {};
    const { answer, guess, place: layer = "\\w+/\\d+", parts: [asked] = ["self-attention"] } = step;
    const where = readPlace(place, this.trace);
    if (guess && this.stop >= 0 && where.key >= 0) {
      this.guess = [where.query, where.key];
      return this.hear(guessed(where));
    }
    if (answer && this.stop >= 0 && where.head && where.kind !== asked) {
      const [kind, wanted] = [where.kind, asked].map((one) => KINDS[one].toLowerCase());
      return this.hear(`That’s ${kind}, which has no mask. Press a square of ${wanted}.`);
    }
    if (answer && this.stop >= 0 && /^decoder\/\d+$/.test(place)) place += `/${asked}/0`;
    const [, head] = place.match(RegExp(`^${layer}/${asked}/(\\d+)$`)) || [];
    // The same for all heads, or one for each: a second guess is answered, too.
    this.answer = head && answer && ([answer].flat()[head] ?? answer);
    const from = this.place;
    // What wrote a part of a score is looked at, and then the score again.
    const why = place.includes("/why");
    if (!place || why) this.came = "";
    else if (from.includes("/why") && place !== readPlace(from, this.trace).home) this.came = from;
    if (!why && !this.came) this.side = "";
    if (this.stage.root.contains(document.activeElement)) {
      const above = from.split("/").slice(0, place ? 4 : 2);
      this.drawn = () => this.stage.focus(...(from.startsWith(place) ? [above.join("/"), from] : [place]));
    }
    // Logits are those of the row that was shown; where losses are, all rows stay.
    const output = place.endsWith("decoder/output");
    // Out of the logits, all that follows a chosen token is there.
    const [all, chosen] = [this.trace.written?.length - 1, !place && this.trace.drawnAt && this.trace.chosen.length];
    const written = output && !this.trace.scored ? row : chosen ? all : this.rows - 1;
    const kept = place && !this.trace.image ? "" : this.follow;
    const follow = output && this.trace.scored ? `decoder:${row}` : kept;
    this.set({ place, written, follow, beat: -1, stop: -1, everything: true });
    this.say(trail(place, this.trace).pop().words);
    if (this.answer || pressed.says) this.hear(this.answer || pressed.says);
  }
  // Where one is, from the model down, or from the score that led there.
  get steps() {
    const steps = trail(this.place, this.trace);
    if (this.came && steps.length > 1) steps[0] = { place: this.came, words: "‹ Why this weight?" };
    return steps;
  }
  back() {
    const { steps } = this;
    if (steps.length > 1) return this.open(steps[steps.length - 2].place);
    this.pause();
    this.set({ follow: "", beat: this.follow ? this.beat : -1, stop: -1 });
  }
  toDepth(depth) {
    // Beside the heads lies what belongs to none: from there, to the layer's.
    const { trace } = this;
    let place = readPlace(this.place, trace).home ?? this.place;
    if (!place && !this.follow && this.model.get("here") === "head") {
      const { part, layer, h } = clearestOf(this);
      place = `${trace.stacks[0].name}/${layer}/${part.kind}/${h}`;
    }
    const { section, stack } = readPlace(place, trace);
    const lastOf = (name) => `${name}/${trace[name].layers.length - 1}`;
    if (depth && section) place = section === "output" ? lastOf(stack.name) : `${stack.name}/0`;
    const steps = trail(place, trace);
    if (depth < steps.length) return this.open(steps[depth].place);
    // A followed token is followed on; else, what the lesson builds, or how a word finds its source.
    const [name, row] = place ? [] : this.follow.split(":");
    const here = this.model.get("here");
    const inDecoder = depth === 3 ? !/encoder|^self|^multi/.test(here) : /decod|masked|cross|output|loss/.test(here);
    if (name) place = lastOf(name);
    else if (!place && inDecoder && trace.encoder && trace.decoder) place = lastOf("decoder");
    for (let d = readPlace(place, trace).depth; d < depth; d++)
      place = deeper(place, trace, name ? Number(row) : this.query, Boolean(name), here);
    this.open(place);
  }

  // ---- another sentence: Python traces it --------------------------------------------------

  read() {
    const { model } = this;
    this.trace = readTrace(model.get("_trace"), model.get("_data"));
    this.reads = model.get("_refused") ? "" : model.get("sentence");
    Object.assign(this.trace, { chosen: model.get("chosen").map(([row]) => row), sentence: model.get("sentence") });
    readInsides(this.trace, model.get("_inside"), model.get("_inside_data"));
    this.tour = model.get("_tour").filter(({ leaves }) => !leaves || (model.send && !(this.trace.reads < 0)));
    for (const stack of this.trace.stacks) stack.left = model.get("left_out");
    // Pictures whose answer is known already.
    this.trace.opened = this.opened.add(this.trace.reads);
    // Heads that are off are crossed out, and so is what they would pass on.
    for (const { head } of model.get("off").map((place) => readPlace(place, this.trace)))
      for (const one of [head, head.weights, head.context]) one.off = true;
  }

  // ---- the tour ----------------------------------------------------------------------------

  goTo(stop) {
    this.pause();
    if (this.mends(stop)) return;
    // As many rows as there were before the tour, at its end too, but where a step speaks of one.
    if (this.stop < 0 && this.bars.left < 0) this.before = this.model.get("written");
    this.side = this.came = this.guess = "";
    this.bars.left = -1; // only a click on the picture leaves a tour half-way
    const step = this.tour[stop] || { stop: -1 };
    const { text, parts, habit, answer, losses, back, plays, leaves, forgets, pair, guess, ...state } = step;
    const { written = this.before ?? this.model.get("written") } = state;
    // Without a kernel there's no matrix to show, but what it makes.
    if (!this.model.send && state.place) state.place = state.place.replace(/[/][qkv][/]\d+$/, "");
    this.set({ place: "", follow: "", beat: -1, everything: Boolean(text), temperature: 1, stop, ...state, written });
    this.leaves = leaves;
    if (forgets) this.trace.opened = this.opened = new Set([this.trace.reads]);
    if (!text) return this.bring();
    if (back) this.flowBack();
    if (state.place && state.beat >= 0) this.run(state.beat, state.beat, stop); // it moves, once
    // One round: what may follow, what is drawn, and the row that the picture then has.
    const drawn = plays && beatAt(this.trace, written + 1);
    if (plays) this.run(drawn - 1, drawn + 1, stop);
    this.bring();
    this.say(text);
  }

  // The page scrolls no further than it has to; where not all of the map fits, its buttons are there.
  bring() {
    this.drawn = () => [this.root, this.bars.foot].forEach((one) => one.scrollIntoView({ block: "nearest" }));
  }

  // The step that the picture shows: outside of playing, all that is there.
  get shown() {
    const last = this.scene.beats.length - 1;
    if (this.beat >= 0) return Math.min(this.beat, last);
    const { trace, place } = this;
    return !place && (trace.decoder || trace.recurrent) ? Math.min(last, beatAt(trace, this.rows)) : last;
  }

  // ---- drawing -----------------------------------------------------------------------------

  draw() {
    const inner = this.root.clientWidth - 2 * parseFloat(getComputedStyle(this.root).paddingLeft);
    // Too narrow, or no longer in the page.
    if (!(inner >= 100)) return;
    const held = this.root.contains(document.activeElement);
    const dark = isDark();
    this.root.dataset.theme = dark ? "dark" : "light";
    // The words have a line of their own.
    const rows = inner < SLIM;
    this.root.classList.toggle("mm-rows", rows);
    const width = rows ? this.frame.clientWidth : Math.floor(inner); // without the scrollbar
    this.root.classList.toggle("mm-narrow", width < NARROW + 100);
    this.root.classList.toggle("mm-fresh", this.fresh);
    // Losses of a translation are shown; with a kernel those of another reference can be.
    const { model, trace } = this;
    const ours = model.get("here") === "loss";
    const { losses, back } = this.tour[this.stop] || {};
    trace.scored = Boolean((ours || losses) && trace.encoder && trace.decoder);
    Object.assign(trace, { shows: losses, trained: back, leaves: this.leaves, guessed: this.tour[this.stop]?.answer });
    this.scores = ours && trace.scored && model.get("_asks") && Boolean(model.send);
    trace.unreferred = this.scores && !model.get("reference");
    const high = window.innerHeight - (this.scores ? (width < NARROW ? 90 : 44) : 0);
    const free = high - (width >= NARROW ? 290 : trace.encoder && trace.decoder ? 414 : trace.recurrent ? 402 : 442);
    const even = rows ? Math.max(high - 366, Math.min(410, free)) : high - 340;
    const room = width < NARROW ? ROOM - (trace.recurrent ? 56 : 30) : clamp(even, rows ? 240 : ROOM, 640);
    const { current } = this;
    // Picture, words and buttons are in view together; a part, where that is readable, without scrolling.
    this.theme = THEMES[dark ? "dark" : "light"];
    const small = this.small.show(width);
    // On a phone a head's switch has a line of its own; the table of heads takes the player's line, and more.
    const turns = width < NARROW && this.stop < 0 && this.turns;
    const line = !turns ? 0 : this.place === "heads" ? -92 : readPlace(this.place, trace).depth > 1 ? 34 : 0;
    const seen = clamp(free - line, 240, 760);
    const sizes = { spare: free - room, fits: seen - small };
    // Every depth is as high as the whole model, so that the page stays where it is.
    if (this.measured !== `${width} ${room}`) {
      this.wholeHeight = Math.max(room, sceneOf(this.trace, "", width, 1, { height: room, ...sizes }).height);
      this.measured = `${width} ${room}`;
    }
    this.height = rows && this.place ? clamp(Math.min(seen, this.wholeHeight), 360, 560) : this.wholeHeight;
    this.scene = sceneOf(this.trace, this.place, width, this.rows, {
      current,
      query: this.query,
      height: this.place ? this.height : room,
      ...sizes,
      dials: this.bars.setDials(),
      more: this.more(),
    });
    const height = Math.max(this.height, this.scene.height);
    this.scrolls = rows && (height > seen + (width < NARROW ? 0 : 30) || (line && model.get("off").length > 0));
    // Below it there's a line that says what is out of sight, or above it the small picture does.
    const next = this.tour[this.stop]?.answer ? 44 : 0; // what is asked is about the first block
    const most = Math.min(seen - (small || 28), this.scene.fold - next || seen);
    const fits = this.scrolls ? most : width < NARROW && seen - small;
    this.frame.style.maxHeight = fits ? `calc(${fits}px - var(--grown, 0px))` : "";
    const light = lightOf(this);
    this.stage.show(this.scene, this.theme, { ...light, height });
    this.bars.show();
    this.below.show();
    const { drawn } = this;
    this.drawn = null;
    if (drawn) drawn();
    this.seek(light.lit);
    // Once it has its height, and JupyterLab has made room for it.
    if (!this.met) setTimeout(() => this.touched || intoView(this.root), 100);
    this.met = true;
    // What was pressed is gone.
    if (held && !this.root.contains(document.activeElement)) this.root.focus({ preventScroll: true });
  }

  // The same scene, lit otherwise: what every frame of playing does.
  light() {
    Object.assign(this.stage, lightOf(this));
    this.stage.paint();
    this.bars.showWords();
  }

  // For screen readers, after a moment's rest, so that a passing pointer does not chatter.
  say(words) {
    clearTimeout(this.saying);
    this.saying = setTimeout(() => (this.live.textContent = words), 300);
  }
}

for (const trait of ["place", "follow", "beat", "stop"])
  Object.defineProperty(MapView.prototype, trait, {
    get() {
      return this.model.get(trait);
    },
  });
Object.assign(MapView.prototype, playing, choosing, seeking);

export default {
  render({ model, el }) {
    const problem = model.get("_problem");
    if (problem) return el.append(make("div", { class: "mm mm-problem", role: "note" }, problem));
    const view = new MapView(model, el);
    return () => view.end();
  },
};
