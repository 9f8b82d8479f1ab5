// The map, its heads side by side: what the translation loses when one of them is switched off alone.

import { NARROW, Scene, percent } from "./map_scene.js";
import { KINDS, readPlace, sentenceOf } from "./map_trace.js";
import { clamp, fitting, spelt } from "./text.js";

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
      points: Math.round(100 * (before - share)),
    };
  });
  const all = model.stacks.flatMap((stack) =>
    stack.layers[0].filter((one) => one.heads).map((one) => ({ stack, ...one })),
  );
  const columns = width < NARROW ? 1 : all.length;
  const [gap, top, block] = [18, 26, (width - 18 * (columns - 1)) / columns];
  const deep = columns > 1 ? room : Math.max(room, 460) / all.length;
  const most = Math.max(...model.stacks.map(({ layers }) => layers.length));
  const high = clamp((deep - top - 8) / most, 34, Math.max(74, room / 6));
  all.forEach(({ stack, kind, heads }, k) => {
    const [left, y] = columns > 1 ? [k * (block + gap), 0] : [0, k * deep];
    const title = kind === "cross-attention" ? KINDS[kind] : `${stack.title}: ${KINDS[kind].toLowerCase()}`;
    scene.label(fitting([title, KINDS[kind]], block / 1.1, 14), left, y + 11, { size: 14, weight: 650, most: block });
    const wide = (block - 26) / heads.length;
    const ours = lost.filter(({ place }) => place.includes(`/${kind}/`));
    scene.beat(`${title}. ${changes(ours)}`, [left, y, block, deep]);
    stack.layers.forEach((parts, layer) => {
      const line = y + top + layer * high;
      scene.note(`L${layer + 1}`, left, line + high / 2);
      parts
        .find((one) => one.kind === kind)
        .heads.forEach(({ off }, head) => {
          const place = `${stack.name}/${layer}/${kind}/${head}`;
          const one = ours.find((each) => each.place === place);
          const said = `${stack.title} layer ${layer + 1}, ${KINDS[kind].toLowerCase()}, head ${head + 1}`;
          cell(scene, place, said, off, one, [left + 26 + head * wide, line, wide - 4, high - 4]);
        });
    });
  });
  const below = top + high * most + 20;
  if (columns > 1 && below < room)
    scene.note(`Translation: “${sentenceOf(model.written)}”`, 0, below, "left", width, 14);
  scene.height = columns > 1 ? room : deep * all.length;
  const long = "Each number is how many percentage points of probability a token loses without that head.";
  const press = "Press heads to switch them off, and see what the others can’t make up for.";
  scene.hint = asked ? changes(lost) : "The model reads its translation again without each head in turn …";
  if (asked && !lost.some(({ off }) => off)) scene.hint = `${long} ${scene.hint} ${press}`;
  return scene;
}

// Beside heads that are off already, or alone.
function changes(lost) {
  const on = lost.filter(({ off }) => !off);
  const { length } = on.filter(({ instead }) => instead);
  const [how, which] = on.length < lost.length ? ["as well", "other "] : ["one at a time", ""];
  return `Switched off ${how}, ${length || "none"} of the ${which}${on.length} heads would change a word${length ? " (framed)" : ""}.`;
}

function cell(scene, place, said, off, one, rect) {
  const [x, y, wide, high] = rect;
  const middle = { size: 12, align: "center", most: wide - 6 };
  const words = one?.instead
    ? fitting([`${one.token} → ${one.instead}`, `→ ${one.instead}`], wide - 6, 12)
    : one?.points > 0 && spelt(one.token);
  scene.paint((p) => {
    const style = off ? { fill: p.theme.paper, edge: p.theme.key, dash: [4, 3] } : { fill: p.theme.masked };
    p.box(...rect, { ...style, radius: 4 });
    if (off) return p.text("off", x + wide / 2, y + high / 2, { ...middle, color: p.theme.key, weight: 650 });
    if (!one) return;
    p.context.globalAlpha = clamp(one.points / 60, 0, 0.6);
    p.box(...rect, { fill: p.theme.key, radius: 4 });
    p.context.globalAlpha = 1;
    if (one.instead) p.box(x + 1, y + 1, wide - 2, high - 2, { edge: p.theme.key, line: 2, radius: 4 });
    const points = one.points > 0 ? `−${one.points}` : "0";
    p.text(points, x + wide / 2, y + high / 2 - 8, { ...middle, size: 15, weight: 650 });
    p.text(words || "", x + wide / 2, y + high / 2 + 9, middle);
  });
  const tip = [said, `click to switch it ${off ? "on" : "off"}`];
  if (one && !off)
    tip.splice(1, 0, `“${one.token}” had ${percent(one.before)}, and has ${percent(one.share)} without it`);
  scene.button(rect, `${said}: switch it ${off ? "on" : "off"}`, { turn: place }, tip);
}
