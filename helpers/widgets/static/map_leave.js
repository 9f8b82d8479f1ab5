// The map, patches that a ViT reads its picture without: what leaves them out, and what that changes.

import { make } from "./page.js";
import { percent } from "./map_scene.js";

// How much weight they had, and what became of the answer.
export function missed({ entire, encoder, guesses, candidates, right }) {
  const { left } = encoder;
  const weights = left.map((patch) => entire.weights[patch]);
  const had = percent(weights.reduce((a, b) => a + b, 0));
  const rank = entire.weights.slice(1).filter((weight) => weight >= weights[0]).length;
  const one = left.length === 1;
  const who = one ? `Patch “${encoder.tokens[left[0]]}”` : `These ${left.length} patches`;
  const place = rank > 1 ? `rank ${rank} of ${entire.weights.length - 1}` : "the most of all";
  const [[said, was], [says, is]] = [entire, { guesses }].map((all) => all.guesses.at(-1));
  const goes = (token, ...shares) => {
    const [before, now] = shares.map(percent);
    return `“${token}” ${before === now ? `still has ${now}` : `goes from ${before} to ${now}`}`;
  };
  const label = said === right ? "" : `, and its label ${goes(right, was, is)}`;
  const share = goes(said, entire.answer, candidates[0].find(([token]) => token === said)[2]);
  const turned = says === said ? "" : `, and the answer is now “${says}”`;
  return `${who} had ${had} of the class token’s weight in the last layer${one ? ` (${place})` : ""}. Without ${one ? "it" : "them"}, ${share}${label}${turned}.`;
}

// Whether a press on a patch follows it or leaves it out; beside that, all back.
export function leavingOf(view) {
  const button = (words, onclick) => make("button", { type: "button", onclick }, words);
  const modes = ["Follow", "Leave out"].map((words, i) => button(words, () => turn(Boolean(i))));
  const turn = (on) => {
    view.pause();
    view.leaves = on;
    view.set({ follow: on && view.scrolls ? "encoder:0" : "", beat: -1, stop: -1, everything: true });
    if (on) view.hear("Does the answer need the bluest patch? Press it: no token can then attend to it.");
  };
  const back = button("Put back", () => view.rewrite({ left_out: [] }, "The model is reading the picture …"));
  const about = { class: "mm-modes", role: "group", "aria-label": "What a press on a patch does" };
  const leaving = make("div", { class: "mm-leaving" }, make("div", about, ...modes), back);
  const show = () => {
    const { trace, place, model } = view;
    leaving.hidden = Boolean(place) || !model.send || !(trace.reads >= 0);
    modes.forEach((one, i) => one.setAttribute("aria-pressed", Boolean(i) === Boolean(view.leaves)));
    back.disabled = !model.get("left_out").length;
    back.hidden = back.disabled && !view.leaves; // nothing moves when the first patch is pressed
  };
  return { leaving, show };
}
