// The map, its bars: where one is and how deep above the picture; playing and the tour below it.

import { lossesOf } from "./map_answer.js";
import { beatsBefore } from "./map_flow.js";
import { leavingOf } from "./map_leave.js";
import { lowered, make, speedMenu } from "./page.js";
import { clearestHead } from "./map_purpose.js";
import { number, percent } from "./map_scene.js";
import { likeliest, meanWeights, readPlace, rowOf, sentenceOf, stopped, title } from "./map_trace.js";
import { another, wrongWord } from "./map_language.js";
import { withoutOf } from "./map_without.js";
import { marksIn, quoted, shorten } from "./text.js";

const DEPTHS = ["Model", "Layer", "Head", "One number"];

export class Bars {
  constructor(view) {
    // The step of the tour where a click led away from it.
    Object.assign(this, { view, left: -1 });
    this.trail = make("div", { class: "mm-trail", role: "group", "aria-label": "Where you are" });
    this.depths = make("div", { class: "mm-depths", role: "group", "aria-label": "How deep" });
    DEPTHS.forEach((words, depth) =>
      this.depths.append(make("button", { type: "button", onclick: () => view.toDepth(depth) }, words)),
    );
    this.badge = make("button", { type: "button", class: "mm-badge", onclick: () => this.toggleHere() });
    this.yours = make("span", { class: "mm-yours" });
    const french = view.trace.kind !== "GPT";
    const field = (name, lang, does, act) => {
      const input = make("input", { type: "text", lang, spellcheck: "false", autocomplete: "off", "aria-label": name });
      const send = () => act(input.value.trim());
      // JupyterLab keeps a form from hearing it.
      input.addEventListener("keydown", (event) => event.key === "Enter" && send());
      return [input, make("div", { class: "mm-ask" }, input, make("button", { type: "button", onclick: send }, does))];
    };
    const [name, does] = french ? ["Your own French sentence", "Translate"] : ["Your own beginning", "Go on"];
    // Into an empty field comes what the picture shows.
    const asked = (words) => (words ? view.translate(words) : (this.input.value = view.reads));
    [this.input, this.ask] = field(name, french ? "fr" : "en", does, asked);
    [this.wanted, this.refer] = field("Reference translation", "en", "Score it", (words) => view.score(words));
    this.refer.classList.add("mm-refer");
    this.attempt = make("button", { type: "button", onclick: () => view.score(this.attempt.value) });
    const train = (words, to) => make("button", { type: "button", onclick: () => view.train(to()) }, words);
    this.steps = [train("Take a training step", () => view.model.get("steps") + 1), train("Start again", () => 0)];
    this.whose = make("span", {});
    this.refer.prepend(this.whose);
    this.refer.append(...this.steps, this.attempt);
    this.without = withoutOf(view);
    const { turn } = this.without;
    this.leave = leavingOf(view);
    const own = [this.ask, this.leave.leaving, turn, this.yours, this.badge];
    this.head = make("div", { class: "mm-head" }, this.trail, ...own, this.depths);

    this.heat = make("input", { type: "range", min: 0.1, max: 2, step: 0.1, "aria-label": "Temperature" });
    this.heat.addEventListener("input", () => view.set({ temperature: Number(this.heat.value) }));
    this.degrees = make("output", {});
    const undo = () => view.rewrite({ chosen: view.model.get("chosen").slice(0, -1) });
    this.undo = make("button", { type: "button", onclick: undo });
    this.warmth = make("label", {}, "Temperature", this.heat, this.degrees);
    this.lot = make("button", { type: "button", onclick: () => view.drawOne() }, "Draw one");
    this.dials = make("div", { class: "mm-dials", role: "group", "aria-label": "Softmax" }, this.warmth, this.lot);

    const button = (words, name, act) =>
      make("button", { type: "button", "aria-label": name, title: name, onclick: act }, words);
    this.stepBack = button("◂", "One step back (B)", () => view.step(-1));
    this.playing = button("▶", "Play (P)", () => view.play());
    this.stepOn = button("▸", "One step on (N)", () => view.step(1));
    this.slider = make("input", { type: "range", min: 0, "aria-label": "Step of the computation" });
    this.slider.addEventListener("input", () => {
      view.pause();
      view.set({ beat: Number(this.slider.value), follow: "", stop: -1 });
    });
    this.moment = make("span", { class: "mm-moment", "aria-hidden": "true" });
    const player = make("div", { class: "mm-player", role: "group", "aria-label": "Play" });
    this.speed = speedMenu();
    player.append(this.stepBack, this.playing, this.stepOn, this.slider, this.moment, this.speed);
    // On a phone what opens the heads' table is mostly out of sight.
    this.compare = make("button", { type: "button", onclick: () => view.open("heads") }, "Which heads matter?");
    const { strip } = this.without;
    this.words = make("div", { class: "mm-words" }, make("span"), strip, this.undo);
    this.tour = make("div", { class: "mm-tour", role: "group", "aria-label": "Tour" });
    this.foot = make("div", { class: "mm-foot" }, this.refer, this.tour, player, this.words);
  }

  toggleHere() {
    const { model } = this.view;
    this.view.set({ everything: !model.get("everything"), beat: -1, follow: "", stop: -1, place: "" });
  }

  // What softmax and choice are set to; null where there is nothing to set.
  setDials() {
    const { trace, model, place, root } = this.view;
    // A loss takes p at temperature 1.
    const heats = trace.sums && !trace.scored;
    const temperature = trace.scored ? 1 : model.get("temperature");
    trace.shown = heats ? temperature : 1;
    this.heat.value = temperature;
    this.degrees.textContent = temperature.toFixed(1);
    this.warmth.hidden = !heats;
    this.warmth.firstChild.textContent = place && !root.classList.contains("mm-narrow") ? "Temperature" : "T";
    const { chosen = [], written } = trace;
    this.lot.hidden = !heats || !place || !trace.chooses;
    this.undo.hidden =
      !chosen.length || !model.send || !(place ? place.endsWith("output") : this.view.rests && !trace.recurrent);
    if (chosen.length) this.undo.textContent = `Undo “${shorten(written[chosen[chosen.length - 1]], 12)}”`;
    return trace.sums ? { temperature, choose: trace.chooses && Boolean(model.send) } : null;
  }

  show() {
    const { model } = this.view;
    const here = model.get("here");
    const { classList } = this.view.root;
    // The badge needs the room.
    this.crowded = classList.contains("mm-narrow") && here && !model.get("everything");
    this.showDepths();
    this.showPlayer();
    this.showTour();
    this.showWords();
    this.leave.show();
    const yours = model.get("yours").map(named);
    this.yours.hidden = !yours.length;
    this.yours.textContent = `✓ yours: ${yours.length > 2 ? `${yours.length} parts` : yours.join(", ")}`;
    this.yours.title = yours.join(", ");
    // A stand-in for Python can't send.
    this.ask.hidden = !model.get("_asks") || !model.send || Boolean(this.view.place) || this.crowded;
    if (this.view.stop >= 0) this.ask.hidden ||= classList.contains("mm-narrow"); // where it's cut
    const heat = model.get("temperature");
    if (this.view.trace.drawnAt) this.ask.lastChild.textContent = heat === 1 ? "Go on" : `Go on at ${heat.toFixed(1)}`;
    // No room for “The model” beside it.
    classList.toggle(
      "mm-asking",
      !this.view.place && (!this.ask.hidden || this.view.leaves || (here && classList.contains("mm-narrow"))),
    );
    classList.toggle("mm-badged", Boolean(here) && !this.ask.hidden);
    if (this.asked !== model.get("sentence")) this.input.value = this.asked = model.get("sentence");
    const { trace, place } = this.view;
    this.refer.hidden = !this.view.scores || (place && !place.endsWith("output"));
    const read = String(trace.encoder?.tokens);
    if (this.read !== read) this.first = model.get("reference"); // it came with what is read
    this.read = read;
    if (this.referred !== trace) {
      this.wanted.value = sentenceOf(trace.written);
      const textContent = `Back to ${this.first ? "the first one" : "the model’s own"}`;
      const back = { textContent, value: this.first, hidden: false };
      const same = model.get("reference") === this.first;
      Object.assign(this.attempt, same ? wrongWord(this.wanted.value) : back);
    }
    this.referred = trace;
    this.whose.textContent = trace.unreferred ? "The model’s own" : "Reference";
    // A copy learns from a reference, not from what the model itself would write.
    this.steps.forEach((one, i) => {
      one.hidden = i ? !trace.untrained : !trace.trains || trace.unreferred;
      one.setAttribute("aria-disabled", Boolean(this.view.choosing));
    });
    this.attempt.hidden ||= Boolean(trace.untrained); // the way back needs the room
    this.badge.hidden = !here || Boolean(place) || this.view.stop >= 0;
    const at = `You are here: ${named(here)}`;
    const [words, name] = model.get("everything")
      ? ["Light this lesson’s part", `Light this lesson’s part: ${named(here)}`]
      : [`${classList.contains("mm-rows") ? at.replace("You are h", "H") : at} ✕`, `${at}. Light the whole model`];
    this.badge.textContent = words;
    this.badge.setAttribute("aria-label", name);
    this.showTrail();
  }

  showTrail() {
    const { view } = this;
    // Where there is little room, what the place lies in is named in short, a head together with its layer.
    const rows = view.root.classList.contains("mm-rows");
    const joined = rows && view.steps.length > 3 && view.steps[1].words.match(/layer.*/);
    const steps = joined ? view.steps.toSpliced(1, 1) : view.steps;
    const before = joined ? `${title(joined[0])}, head` : "Head";
    const short = (words) => (rows ? words.replace(/^.*layer/, "Layer").replace(/^.*head/, before) : words);
    const key = `${steps.map(({ words }) => words).join("›")}${rows}${view.scene.width}`;
    if (key === this.trailed) return;
    this.trailed = key;
    this.trail.replaceChildren(
      ...steps.flatMap(({ place, words }, i) => {
        const current = i === steps.length - 1 ? "location" : null;
        const does = { type: "button", title: words, "aria-current": current, onclick: () => view.open(place) };
        const step = make("button", does, ...lowered(current ? words : short(words)));
        return i ? [make("span", { "aria-hidden": "true" }, "›"), step] : [step];
      }),
    );
    // What would be cut is “…”.
    for (const one of rows ? this.trail.querySelectorAll("button:not([aria-current])") : [])
      if (one.scrollWidth > one.clientWidth) Object.assign(one, { ariaLabel: one.title, textContent: "…" });
  }

  showDepths() {
    const { depth, section, inside } = readPlace(this.view.place, this.view.trace);
    [...this.depths.children].forEach((button, i) => {
      button.hidden = this.view.trace.recurrent && (i === 1 || i === 2);
      // Beside the layers is none of them.
      button.setAttribute("aria-pressed", i === depth && !section && !inside);
    });
  }

  showPlayer() {
    const { beat, scene, shown, once, flows } = this.view;
    const playing = this.view.playing && !once && !flows;
    const n = scene.beats.length;
    this.slider.max = Math.max(0, n - 1);
    this.slider.value = shown;
    this.moment.textContent = `${shown + 1}/${n}`;
    this.slider.setAttribute("aria-valuetext", beat < 0 ? "everything shown" : scene.beats[shown].words);
    this.stepBack.setAttribute("aria-disabled", shown <= 0);
    this.stepOn.setAttribute("aria-disabled", shown >= n - 1);
    this.playing.textContent = playing ? "❚❚" : "▶";
    this.playing.setAttribute("aria-label", playing ? "Pause (P)" : "Play (P)");
  }

  showTour() {
    const { tour, stop } = this.view;
    if (stop >= 0) this.left = stop;
    // What can't be typed can't be asked for.
    const offers = stop < 0 && this.left < 0 && !this.view.place && this.view.turns;
    const key = `${tour.length}/${stop}/${this.left}/${offers}/${this.crowded}`;
    if (key === this.toured) return;
    this.toured = key;
    const held = this.tour.contains(document.activeElement) && document.activeElement.dataset.by;
    const button = (words, to, by, more = {}) =>
      make("button", { type: "button", "data-by": by, onclick: () => this.view.goTo(to), ...more }, words);
    if (!tour.length) this.tour.replaceChildren();
    else if (stop < 0) {
      const words = this.left < 0 ? "Take the tour" : `Back to the tour: step ${this.left + 1}`;
      const steps = this.left < 0 ? `: ${tour.length} step${tour.length > 1 ? "s" : ""}` : null;
      const look = { class: "mm-main", "data-steps": steps };
      this.tour.replaceChildren(button(words, Math.max(0, this.left), "on", look));
      const forget = () => this.showTour((this.left = -1));
      if (this.left >= 0)
        this.tour.append(button("✕", -1, "leave", { "aria-label": "Leave the tour", onclick: forget }));
    } else {
      const last = stop === tour.length - 1;
      this.tour.replaceChildren(
        make("span", { class: "mm-count" }, `${stop + 1} of ${tour.length}`),
        button("Back", stop - 1, "back", stop ? { title: "← or B" } : { disabled: "" }),
        button(last ? "Finish" : "Next", stop + 1, "on", { class: "mm-main", title: "→ or N" }),
        ...(tour[stop].plays || tour[stop].back ? [button("Again", stop, "again")] : []),
        button("Leave", -1, "leave", { title: "Leave the tour and go on by hand" }),
      );
    }
    const next = () => this.view.translate(another(this.view.model.get("sentence")));
    // Where the field has no room beside what the lesson builds, this makes room.
    const own = () => this.toggleHere((this.view.drawn = () => this.input.focus()));
    const [words, onclick] = this.crowded ? ["Own sentence", own] : ["Another sentence", next];
    if (offers) this.tour.append(make("button", { type: "button", onclick }, words));
    if (held)
      (this.tour.querySelector(`[data-by=${held}]:not([disabled])`) || this.tour.querySelector(".mm-main")).focus();
  }

  // Where to begin; later what is finished, and what can be done.
  atRest() {
    const { kind, encoder, decoder, written, candidates, chosen } = this.view.trace;
    const { here, model } = this.view;
    if (this.view.trace.scored) return this.view.costs();
    if (here) {
      const lit = `The lit part is what this lesson builds: ${named(here)}. Press it to look inside.`;
      return model.get("_built") || lit;
    }
    if (kind === "GPT" && this.view.trace.shown !== 1) return heatedWords(this.view);
    if (this.view.fresh) {
      const { small } = this.view.small;
      const from = this.view.scrolls && small.hidden ? "top" : "left";
      const start = `Start ${from === "top" ? "at" : "on"} the ${from}: each token becomes a vector (a striped bar, one colour per number), and every layer adds to it.`;
      if (!candidates.length) return start;
      const all = likeliest(this.view.trace, decoder ? this.view.rows - 1 : 0, Infinity);
      const [best] = all;
      const drawn = kind === "GPT" && all.find((one) => one.drawn);
      const what = drawn
        ? `the model ${drawn.mark === "written" ? "wrote" : "drew"} “${drawn.token}” (${percent(drawn.share)})${drawn.token === best.token ? ", the likeliest token" : ` from the ten likeliest${small.hidden ? `; “${best.token}” has ${percent(best.share)}` : ""}`}.`
        : `the model is about to write “${best.token}”.`;
      if (kind === "ViT")
        return `Start at the blue frame${from === "top" ? " below the picture" : ""}: it shows the model’s answer after each layer, “${best.token}” in the end. Press a patch of the picture: bands, and blue ${from === "top" ? "on the picture" : "in each head’s square"}, show what it takes from the others.`;
      if (from === "top") return `${start} Below, ${what}`;
      if (!small.hidden)
        return `${what[0].toUpperCase()}${what.slice(1)} The frame in the small picture marks what you see larger below it; tap another part to go there. Each striped bar is a vector.`;
      const marks = kind === "GPT" && marksIn(decoder.tokens);
      const striped = "A striped bar is a vector.";
      const more = `${kind === "GPT" && this.view.scene.slot ? "T is the temperature. " : ""}${marks ? `${marks}.` : striped}`;
      return `Start at the blue frame: ${what} Bands show what attention collects; press a token to follow it. ${more}`;
    }
    if (encoder && decoder) {
      // A long one has the room to itself.
      const all = shorten(sentenceOf(written), 200);
      const own = chosen.length ? ` Chosen: ${chosen.map((row) => `“${written[row]}”`).join(", ")}.` : "";
      const more = all.length > 120 ? "" : " Press play to see it written, or click on any layer or token.";
      return `Translation: ${quoted(all)}${stopped(written)}${own}${more}`;
    }
    return `${kind === "GPT" && this.view.rows > this.view.trace.given ? "The model has written the blue tokens. " : ""}Click on a layer to open it, or on a ${kind === "ViT" ? "patch" : "token"} to follow it through the model.`;
  }

  // One place for words, of one height, so that the page stays where it is.
  showWords() {
    const { plays, scene, stop, tour, follow, place, tried } = this.view;
    let words = scene.hint || this.atRest();
    if (follow && !place) words = followWords(this.view);
    if (plays && scene.beats.length)
      words = this.view.flows ? passing(this.view) : beatWords(scene.beats[this.view.shown], this.view.progress);
    if (stop >= 0) words = `${tour[stop].text}${tour[stop].habit ? ` ${clearestHead(this.view)}` : ""}`;
    if (tour[stop]?.losses === "tokens" && tried?.reference === this.view.model.get("reference")) words += tried.tried;
    if (stop >= 0 && scene.slot && place && this.view.trace.shown !== 1) words = heatedWords(this.view);
    if (this.view.said) words = this.view.said;
    const [span] = this.words.children;
    // “T-shirt” isn't broken at its hyphen.
    const parts = words
      .split(/\b(\p{L}-\p{L}+)/u)
      .flatMap((part, i) => (i % 2 ? make("span", {}, part) : lowered(part)));
    if (this.told !== words) span.replaceChildren(...parts);
    this.told = words;
    this.without.show(!plays && stop < 0 && !this.view.said && !(follow && !place));
    span.hidden = !this.without.strip.hidden;
    const { small, turns, rests } = this.view;
    const phone = matchMedia("(max-width: 600px)").matches;
    const compares = phone && !small.small.hidden && turns && rests && !span.hidden;
    if (compares !== this.compare.isConnected) compares ? this.words.append(this.compare) : this.compare.remove();
    // A picture that scrolls leaves buttons among the words, and long words on a phone, the room that they need.
    const full = phone || this.words.querySelector(":scope > :is(.mm-without, button):not([hidden])");
    const grown = full && this.words.offsetHeight - parseFloat(getComputedStyle(this.words).minHeight);
    this.view.root.style.setProperty("--grown", `${Math.max(0, grown)}px`);
    this.foot.classList.toggle("mm-touring", stop >= 0);
    this.foot.classList.toggle("mm-heads", place === "heads");
  }
}

// Too fast for the words of each step.
const passing = ({ trace, beat, rows }) =>
  beat < beatsBefore(trace)
    ? "The encoder reads the sentence, and each layer adds to its vectors …"
    : `The decoder writes one token after another: “${sentenceOf(trace.written.slice(0, rows))}”`;
// What a step says while it moves, and then.
const beatWords = ({ words, first }, progress = 1) => (progress < 1 && first) || words;

const named = (here) =>
  here
    .replace(/^head/, "one head")
    .replaceAll("-", " ")
    .replace(/(multi|self|cross|feed) /, "$1-")
    .replace("and", "&");

// What another temperature makes of the two likeliest tokens.
function heatedWords({ trace, current }) {
  const [[best, most], [next, less]] = trace.candidates[current];
  const [heat, gap] = [trace.shown.toFixed(1), most - less];
  const times = (lead) => `${Math.exp(lead).toFixed(1)} times`;
  return `At temperature ${heat} every logit is divided by ${heat}, so the lead of ${number(gap)} becomes ${number(gap / trace.shown)}: “${best}” is now ${times(gap / trace.shown)} as likely as “${next}” instead of ${times(gap)}.`;
}

// What the bands show, with the largest in words.
function followWords({ model, follow, trace, scene }) {
  const [name, index] = follow.split(":");
  const { tokens, layers } = trace[name];
  const row = Number(index);
  const from = `“${tokens[row]}”${trace.image && row ? " (row, column)" : ""} gets its information from`;
  const tests = model.send && trace.reads >= 0 ? " Test it with “Leave out”." : "";
  const both = name === "decoder" && trace.encoder;
  const attention = layers[layers.length - 1].filter((one) => one.heads).pop();
  const all = rowOf(meanWeights(attention), row);
  const shares = Array.from(all, (share, key) => (both || trace.image || key !== row ? share : 0));
  const most = shares.indexOf(Math.max(...shares));
  const source = `“${(both ? trace.encoder : trace[name]).tokens[most]}”`;
  const share = percent(shares[most]);
  const largest = `${source} gets ${share}`;
  const proof = `A patch can have weight without deciding the answer.${tests}`;
  if (trace.image && scene.measures.narrow)
    return `Blue on the picture shows where ${from}; in the last layer, most from ${source} (${share}). Further down, bands and each head’s blue show it layer by layer. ${proof}`;
  if (trace.image)
    return `Bands show where ${from}; in the last layer, most from ${source} (${share}). Blue on the large picture is that layer’s, on the small ones each head’s. ${proof}`;
  if (both && trace.scored)
    return `${lossesOf(trace).found[row].says}. Bands show what its row collects: in the last cross-attention, ${largest} of the weight.`;
  if (both)
    return `Bands show where this row, which reads “${tokens[row]}” and writes “${trace.written[row]}”, gets its information from. In the last cross-attention, ${largest} of the weight.`;
  return `Bands show where ${from}. In the last layer, averaged over the heads, ${shares[most] ? `${largest} of the weight, “${tokens[row]}” itself ${percent(all[row])}` : "it keeps all of it for itself"}.`;
}
