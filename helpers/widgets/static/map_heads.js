// The map, its heads side by side: what the translation loses when one of them is switched off alone.

import { NARROW, Scene, number, percent } from "./map_scene.js";
import { KINDS, readPlace, sentenceOf } from "./map_trace.js";
import { clamp, fitting, spelt, textWidth, wrapped } from "./text.js";

const MEANS =
  "A number says by how many percentage points the probability of the token below it changes without that head. The stronger the orange, the more it loses. In a framed square, another token takes its place.";

// What is lost with all heads of a kind.
const LOSES = {
  "cross-attention":
    "With all cross-attention off, nothing of the French sentence reaches the decoder: whatever you ask for, it writes the same caption.",
  "masked-self-attention":
    "With all masked self-attention off, a row sees its newest token and the source, but none of the words written before it.",
  encoder:
    "With all self-attention off, the encoder can’t mix its tokens: each vector depends on one token and its position.",
};
// How wide the button is that switches them.
const ALL = 54;

// `asked`: of every head the row that suffers most, its token's share there, and the rank of the token
// that is likeliest instead, -1 for none; null while it is being measured.
export function headsScene(model, width, room, { asked }) {
  const scene = new Scene(width, room, "What each head is worth");
  const lost = Object.entries(asked?.described.heads || {}).map(([place, [row, share, rank]]) => {
    const [token, , before] = model.candidates[row][model.drawn[row]];
    const [instead = "another token"] = rank < 0 ? [""] : model.candidates[row][rank] || [];
    return {
      place,
      token,
      before,
      share,
      instead,
      off: readPlace(place, model).head.off,
      points: 100 * (before - share),
    };
  });
  const all = model.stacks.flatMap((stack) =>
    stack.layers[0].filter((one) => one.heads).map((one) => ({ stack, ...one })),
  );
  const columns = width < NARROW ? 1 : all.length;
  const [gap, top, block] = [12, 26, (width - 12 * (columns - 1)) / columns];
  const most = Math.max(...model.stacks.map(({ layers }) => layers.length));
  const means = wrapped(MEANS, width - 8, 13);
  means.forEach((line, i) => scene.note(line, 0, 8 + 17 * i, "left", width, 13));
  const first = 17 * means.length + 8;
  const high = columns > 1 ? clamp((room - first - top - 30) / most, 34, 92) : 66;
  const deep = top + high * most + 8;
  all.forEach(({ stack, kind, heads }, k) => {
    const [left, y] = columns > 1 ? [k * (block + gap), first] : [0, first + k * deep];
    const title = kind === "cross-attention" ? KINDS[kind] : `${stack.title}: ${KINDS[kind].toLowerCase()}`;
    const free = block - ALL - 6;
    scene.label(fitting([title, KINDS[kind]], free / 1.1, 14), left, y + 11, { size: 14, weight: 650, most: free });
    const [whole, x] = [headsOf(stack, kind), left + block - ALL - 3];
    const does = isOff(whole) ? "all on" : "all off";
    const turn = whole.map(([place]) => place);
    scene.pill(does, x, y - 2, ALL, `${title}: switch ${does}`, { turn }, [title, `click to switch ${does}`]);
    const [layers, edge] = block > 380 ? ["Layer ", 54] : ["L", 20];
    const wide = (block - edge) / heads.length;
    const ours = lost.filter(({ place }) => place.includes(`/${kind}/`));
    scene.beat(`${title}. ${changes(ours)}`, [left, y, block, deep]);
    for (const [i, [place, { off }]] of whole.entries()) {
      const [layer, head] = [Math.floor(i / heads.length), i % heads.length];
      const line = y + top + layer * high;
      if (!head) scene.note(`${layers}${layer + 1}`, left, line + high / 2);
      const one = ours.find((each) => each.place === place);
      const said = `${stack.title} layer ${layer + 1}, ${KINDS[kind].toLowerCase()}, head ${head + 1}`;
      cell(scene, place, said, off, one, [left + edge + head * wide, line, wide - 3, high - 3]);
    }
  });
  const below = first + deep * (columns > 1 ? 1 : all.length) + 8;
  if (columns > 1 && below < room)
    scene.note(`Translation: “${sentenceOf(model.written)}”`, 0, below, "left", width, 14);
  scene.height = columns > 1 ? room : below;
  const press = "Press heads to switch them off, and see what the others can’t make up for.";
  const without = all.filter(({ stack, kind }) => isOff(headsOf(stack, kind)));
  const loses = without.map(({ stack, kind }) => LOSES[kind] || LOSES[stack.name]).join(" ");
  scene.hint = asked ? loses || changes(lost) : "The model reads its translation again without each head in turn …";
  if (asked && !lost.some(({ off }) => off)) scene.hint += ` ${press}`;
  return scene;
}

// All heads of one kind, each with its place.
const headsOf = ({ name, layers }, kind) =>
  layers.flatMap((parts, layer) =>
    parts.find((one) => one.kind === kind).heads.map((one, head) => [`${name}/${layer}/${kind}/${head}`, one]),
  );

const isOff = (heads) => heads.every(([, { off }]) => off);

// Beside heads that are off already, or alone.
function changes(lost) {
  const on = lost.filter(({ off }) => !off);
  const { length } = on.filter(({ instead }) => instead);
  const [how, which] = on.length < lost.length ? ["as well", "other "] : ["one at a time", ""];
  return `Switched off ${how}, ${length || "none"} of the ${which}${on.length} heads would change a word${length ? " (framed)" : ""}.`;
}

function cell(scene, place, said, off, one, rect) {
  const [x, y, wide, high] = rect;
  const middle = { size: 12, align: "center", most: wide - 4 };
  const [before, instead] = [one?.token, one?.instead].map((token) => token && spelt(token));
  const beside = textWidth(`→ ${instead}`, 12) < wide - 4 || high < 60;
  const changed = beside ? [before, `→ ${instead}`] : [before, "↓", instead];
  const words = instead ? changed : one?.points >= 0.5 ? [before] : [];
  scene.paint((p) => {
    const style = off ? { fill: p.theme.paper, edge: p.theme.key, dash: [4, 3] } : { fill: p.theme.masked };
    p.box(...rect, { ...style, radius: 4 });
    if (off) return p.text("off", x + wide / 2, y + high / 2, { ...middle, color: p.theme.key, weight: 650 });
    if (!one) return;
    p.context.globalAlpha = clamp(one.points / 60, 0, 0.6);
    p.box(...rect, { fill: p.theme.key, radius: 4 });
    p.context.globalAlpha = 1;
    if (one.instead) p.box(x + 1, y + 1, wide - 2, high - 2, { edge: p.theme.key, line: 2, radius: 4 });
    // A word that wins by less than one point was nearly a tie.
    const points = number(-one.points, instead && Math.abs(one.points) < 1 ? 1 : 0);
    const signed = `${one.points < 0 && Number(points) ? "+" : ""}${points}`;
    const from = y + high / 2 - 7 * words.length;
    p.text(signed, x + wide / 2, from, { ...middle, size: 15, weight: 650 });
    words.forEach((line, i) => {
      const size = clamp((12 * (wide - 4)) / textWidth(line, 12), 10, 12);
      p.text(line, x + wide / 2, from + 16 + 14 * i, { ...middle, size });
    });
  });
  const tip = [said, `click to switch it ${off ? "on" : "off"}`];
  if (one && !off)
    tip.splice(1, 0, `“${one.token}” had ${percent(one.before)}, and has ${percent(one.share)} without it`);
  scene.button(rect, `${said}: switch it ${off ? "on" : "off"}`, { turn: place }, tip);
}
