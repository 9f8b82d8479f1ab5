// The map, its heads side by side: what the translation loses when one of them is switched off alone.

import { NARROW, Scene, number, percent } from "./map_scene.js";
import { KINDS, readPlace, sentenceOf } from "./map_trace.js";
import { clamp, fitting, spelt, textWidth, wrapped } from "./text.js";

// On a page and on a phone: always, and where there is such a square.
const MEANS = [
  "Each square is a head, with the most that any token loses without it, in percentage points.",
  "The largest loss of any token, in points.",
];
const GAINS = [" With a plus, none loses half a point, but this one gains.", " +: a gain."];
const BANDS = [" An orange band holds a word that changes.", " Orange: a changed word."];

// What is lost with all heads of a kind.
const LOSES = {
  "cross-attention":
    "With all cross-attention off, nothing of the French sentence reaches the decoder, so any sentence gets this caption.",
  "masked-self-attention":
    "With all masked self-attention off, a row sees its newest token and the source, but no word written before it.",
  encoder:
    "With all self-attention off, the encoder can’t mix its tokens: each vector depends on one token and its position.",
};
// How wide the button is that switches them.
const ALL = 54;

// `asked`: of every head the row that suffers most and its token's share there, and the row and rank of
// the token that is the first to take another's place, -1 for none; null while it is being measured.
export function headsScene(model, width, room, { asked }) {
  const scene = new Scene(width, room, "What each head is worth");
  // A shorter translation may be there before its own numbers are.
  const there = ([, [row, , changed]]) => Math.max(row, changed) < model.written.length;
  const found = Object.entries(asked?.described.heads || {}).filter(there);
  const lost = found.map(([place, [row, share, changed, rank]]) => {
    const [token, , before] = model.candidates[row][model.drawn[row]];
    const change = changed >= 0 && [model.written[changed], model.candidates[changed][rank]?.[0] || "another token"];
    const [off, points] = [readPlace(place, model).head.off, 100 * (before - share)];
    return { place, token, before, share, change, off, points };
  });
  const strongest = Math.max(10, ...lost.map(({ points }) => points));
  const all = model.stacks.flatMap((stack) =>
    stack.layers[0].filter((one) => one.heads).map((one) => ({ stack, ...one })),
  );
  const columns = width < NARROW ? 1 : all.length;
  const [gap, top, block] = [8, 42, (width - 8 * (columns - 1)) / columns];
  const most = Math.max(...model.stacks.map(({ layers }) => layers.length));
  const narrow = columns < 2;
  // On a phone the answer comes first, and all of the heads are in view together.
  const answers = narrow && asked ? wrapped(changes(lost), (width - 8) / 1.1, 13) : [];
  const seen = lost.filter(({ off }) => !off);
  const said = [MEANS, seen.some(({ points }) => points <= -0.5) && GAINS, seen.some(({ change }) => change) && BANDS];
  const means = wrapped(said.map((ways) => (ways ? ways[Number(narrow)] : "")).join(""), width - 8, 13);
  answers.forEach((line, i) => scene.label(line, 0, 8 + 17 * i, { size: 13, weight: 600, most: width }));
  means.forEach((line, i) => scene.note(line, 0, 8 + 17 * (answers.length + i), "left", width, 13));
  const first = 17 * (answers.length + means.length) + 8;
  const high = narrow ? 32 : clamp((room - first - top - 80) / most, 34, 170);
  const deep = top + high * most + (narrow ? 2 : 8);
  all.forEach(({ stack, kind, heads }, k) => {
    const [left, y] = narrow ? [0, first + k * deep] : [k * (block + gap), first];
    const title = kind === "cross-attention" ? KINDS[kind] : `${stack.title}: ${KINDS[kind].toLowerCase()}`;
    const [free, size] = [block - ALL - 12, block < 200 ? 13 : 14];
    const shorter = [" ", "-"].map((mark) => KINDS[kind].split(mark)[0]);
    scene.label(fitting([title, KINDS[kind], ...shorter], free / 1.1, size), left, y + 11, {
      size,
      weight: 650,
      most: free,
    });
    const [whole, x] = [headsOf(stack, kind), left + block - ALL - 3];
    const does = isOff(whole) ? "all on" : "all off";
    const turn = whole.map(([place]) => place);
    scene.pill(does, x, y - 2, ALL, `${title}: switch ${does}`, { turn }, [title, `click to switch ${does}`]);
    const [layers, edge] = block > 380 ? ["Layer ", 54] : ["L", 18];
    const wide = (block - edge) / heads.length;
    const ours = lost.filter(({ place }) => place.includes(`/${kind}/`));
    scene.beat(`${title}. ${changes(ours)}`, [left, y, block, deep]);
    for (const [i, [place, { off }]] of whole.entries()) {
      const [layer, head] = [Math.floor(i / heads.length), i % heads.length];
      const line = y + top + layer * high;
      if (!head) scene.note(`${layers}${layer + 1}`, left, line + high / 2);
      const over = fitting([`head ${head + 1}`, `${head + 1}`], wide, 12);
      if (!layer) scene.note(over, left + edge + (head + 0.5) * wide, line - 8, "center");
      const one = ours.find((each) => each.place === place);
      const said = `${stack.title} layer ${layer + 1}, ${KINDS[kind].toLowerCase()}, head ${head + 1}`;
      cell(scene, place, said, off, one, strongest, [left + edge + head * wide, line, wide - 3, high - 3]);
    }
  });
  const below = first + deep * (narrow ? all.length : 1) + 8;
  if (!narrow && below < room) scene.note(`Translation: “${sentenceOf(model.written)}”`, 0, below, "left", width, 14);
  scene.height = narrow ? below : room;
  const without = all.filter(({ stack, kind }) => isOff(headsOf(stack, kind)));
  // Without cross-attention, what the others do no longer matters.
  const cut = without.filter(({ kind }) => kind === "cross-attention");
  const loses = (cut.length ? cut : without).map(({ stack, kind }) => LOSES[kind] || LOSES[stack.name]).join(" ");
  const press = lost.some(({ change }) => change)
    ? "Press heads to switch them off, and see what the others can’t make up for."
    : "The others make up for it, but can they if more are off? Press “all off”.";
  const answer = narrow ? "" : `${changes(lost)} `;
  scene.hint = asked ? loses || answer : "The model reads its translation again without each head in turn …";
  if (asked && !lost.some(({ off }) => off)) scene.hint += press;
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
  const { length } = on.filter(({ change }) => change);
  if (!on.length) return "All of them are off.";
  const [how, which] = on.length < lost.length ? ["as well", "other "] : ["one at a time", ""];
  return `Switched off ${how}, ${length || "none"} of the ${which}${on.length} heads would change a word.`;
}

// As large as fits: a word that is cut names no token, and a number says nothing.
const sized = (words, room, largest) => clamp((largest * room) / textWidth(words, largest), 9, largest);

function cell(scene, place, said, off, one, strongest, rect) {
  const [x, y, wide, high] = rect;
  const middle = { align: "center", most: wide - 4 };
  const small = high < 60;
  // A word that changes, on one line or two.
  const [was, becomes] = (one?.change || []).map(spelt);
  const ways = small ? [`→ ${becomes}`, `→${becomes}`, becomes] : [`${was}→${becomes}`, ""];
  const short = fitting(ways, (wide - 6) / 1.15, small ? 10 : 11);
  const band = !was ? [] : short ? [short] : [was, `→ ${becomes}`];
  scene.paint((p) => {
    const style = off ? { fill: p.theme.paper, edge: p.theme.key, dash: [4, 3] } : { fill: p.theme.masked };
    p.box(...rect, { ...style, radius: 4 });
    const at = { ...middle, size: 12, weight: 650 };
    if (off) return p.text("off", x + wide / 2, y + high / 2, { ...at, color: p.theme.key });
    if (!one) return;
    p.context.globalAlpha = 0.6 * clamp(one.points / strongest, 0, 1);
    p.box(...rect, { fill: p.theme.key, radius: 4 });
    p.context.globalAlpha = 1;
    const deep = band.length * 13 + 2;
    if (was) {
      p.box(x + 1, y + 1, wide - 2, high - 2, { edge: p.theme.key, line: 2, radius: 4 });
      p.box(x + 1, y + high - deep - 1, wide - 2, deep, { fill: p.theme.key, radius: 3 });
    }
    band.forEach((line, i) => {
      const size = sized(line, (wide - 6) / 1.15, small ? 12 : 11);
      p.text(line, x + wide / 2, y + high - deep + 7 + 13 * i, { ...middle, size, weight: 600, color: p.theme.paper });
    });
    const points = number(-one.points, 0);
    const [free, named] = [high - (was ? deep : 0), points !== "0" && !(small && was)];
    const from = y + free / 2 - (named ? (small ? 6 : 8) : 0) + (small && was ? 1 : 0);
    const signed = `${one.points < 0 && points !== "0" ? "+" : ""}${points}`;
    const large = small ? (was ? 11 : 12) : 15;
    p.text(signed, x + wide / 2, from, { ...at, most: 0, size: sized(signed, (wide - 4) / 1.15, large) });
    const token = { align: "center", size: sized(spelt(one.token), wide - 2.1, 12), most: wide - 2 };
    if (named) p.text(spelt(one.token), x + wide / 2, from + (small ? 13 : 16), token);
  });
  const tip = [said, `click to switch it ${off ? "on" : "off"}`];
  if (one && !off)
    tip.splice(1, 0, `“${one.token}” had ${percent(one.before)}, and has ${percent(one.share)} without it`);
  if (was && !off) tip.splice(2, 0, `“${one.change[0]}” becomes “${one.change[1]}”`);
  scene.button(rect, `${said}: switch it ${off ? "on" : "off"}`, { turn: place }, tip);
}
