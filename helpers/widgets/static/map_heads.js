// The map, its heads side by side: what the translation loses when one of them is switched off alone.

import { NARROW, Scene, percent } from "./map_scene.js";
import { KINDS } from "./map_trace.js";
import { clamp, fitting, spelt } from "./text.js";

// `asked`: of every head the row that suffers most, its token's share there, and the rank of the token
// that is likeliest instead, if there is one; null while it is being measured.
export function headsScene(model, width, room, { asked }) {
  const scene = new Scene(width, room, "What each head is worth");
  const found = Object.entries(asked?.described.heads || {});
  const kinds = [...new Set(model.stacks.flatMap(({ layers }) => layers[0].filter((one) => one.heads)))];
  const columns = width < NARROW ? 1 : kinds.length;
  const [side, gap, top] = [26, 18, columns > 1 ? 30 : 22];
  const block = (width - gap * (columns - 1)) / columns;
  const deep = columns > 1 ? room : Math.max(room, 460) / kinds.length;
  const lost = found.map(([place, one]) => {
    const [token, , before] = model.candidates[one.row][model.drawn[one.row]];
    const instead = one.rank < 0 ? null : model.candidates[one.row][one.rank]?.[0] || "another token";
    return { place, token, before, ...one, instead, points: 100 * (before - one.share) };
  });
  kinds.forEach(({ kind, heads }, k) => {
    const [left, y] = columns > 1 ? [k * (block + gap), 0] : [0, k * deep];
    const stack = model.stacks.find(({ layers }) => layers[0].some((one) => one.kind === kind));
    const title = kind === "cross-attention" ? KINDS[kind] : `${stack.title}: ${KINDS[kind].toLowerCase()}`;
    scene.label(fitting([title, KINDS[kind]], block / 1.1, 14), left, y + 11, { size: 14, weight: 650, most: block });
    const [wide, high] = [(block - side) / heads.length, clamp((deep - top - 8) / stack.layers.length, 34, 74)];
    const ours = lost.filter(({ place }) => place.includes(`/${kind}/`));
    scene.beat(`${title}. ${changes(ours)}`, [left, y, block, deep]);
    stack.layers.forEach((_, layer) => {
      const line = y + top + layer * high;
      scene.note(`L${layer + 1}`, left, line + high / 2);
      heads.forEach((_, head) => {
        const place = `${stack.name}/${layer}/${kind}/${head}`;
        const one = ours.find((each) => each.place === place);
        cell(scene, model, place, one, [left + side + head * wide, line, wide - 4, high - 4]);
      });
    });
  });
  scene.height = columns > 1 ? room : deep * kinds.length;
  scene.hint = found.length
    ? `A number says how many points of probability a token loses without that head. ${changes(lost)} Press heads to switch them off, and see what the others can’t make up for.`
    : "The model reads its translation again without each head in turn …";
  return scene;
}

function changes(lost) {
  const { length } = lost.filter(({ instead }) => instead);
  if (!length) return `None of these ${lost.length} heads changes a word by itself.`;
  return `By itself, ${length} of these ${lost.length} heads changes a word (framed).`;
}

function cell(scene, model, place, one, rect) {
  const [x, y, wide, high] = rect;
  const [name, layer, kind, h] = place.split("/");
  const { off } = model[name].layers[layer].find((part) => part.kind === kind).heads[h];
  const said = `${model[name].title} layer ${Number(layer) + 1}, ${KINDS[kind].toLowerCase()}, head ${Number(h) + 1}`;
  const press = `click to switch it ${off ? "on" : "off"}`;
  scene.paint((p) => {
    p.box(...rect, { fill: off ? p.theme.paper : p.theme.masked, radius: 4 });
    if (off) {
      p.box(...rect, { edge: p.theme.key, radius: 4, dash: [4, 3] });
      return p.text("off", x + wide / 2, y + high / 2, { align: "center", color: p.theme.key, weight: 650 });
    }
    if (!one) return;
    p.context.globalAlpha = clamp(one.points / 60, 0, 0.6);
    p.box(...rect, { fill: p.theme.key, radius: 4 });
    p.context.globalAlpha = 1;
    if (one.instead) p.box(x + 1, y + 1, wide - 2, high - 2, { edge: p.theme.key, line: 2, radius: 4 });
    const [points, most] = [Math.round(one.points), wide - 6];
    p.text(points > 0 ? `−${points}` : "0", x + wide / 2, y + high / 2 - 8, { size: 15, weight: 650, align: "center" });
    const words = one.instead
      ? fitting([`${one.token} → ${one.instead}`, `→ ${one.instead}`], most, 12)
      : spelt(one.token);
    p.text(points > 0 || one.instead ? words : "", x + wide / 2, y + high / 2 + 9, { size: 12, align: "center", most });
  });
  const costs = one && `“${one.token}” had ${percent(one.before)} and has ${percent(one.share)} without it`;
  const tip = [said, costs, one?.instead && `“${one.instead}” is likelier then`, press];
  scene.button(
    rect,
    `${said}: switch it ${off ? "on" : "off"}`,
    { turn: place },
    off ? [said, press] : tip.filter(Boolean),
  );
}
