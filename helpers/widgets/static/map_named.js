// The map, words in their places: which tokens a row takes from, each with its share.

import { brief, percent } from "./map_scene.js";
import { LEAST } from "./map_rows.js";
import { cut } from "./map_paint.js";
import { clamp, spelt, textWidth } from "./text.js";

// The share from which a word is named.
const NAMED = 0.1;

// The largest first, each only if it keeps its distance from those that are there.
function apart(words, gap) {
  const kept = [];
  for (const one of [...words].sort((a, b) => b.weight - a.weight)) {
    if (kept.every(({ y }) => Math.abs(y - one.y) >= gap)) kept.push(one);
  }
  return kept;
}

// Words on a piece of paper, which covers what lies there.
export function tag(p, words, x, y, style = {}) {
  const { align = "left", color = p.theme.ink, size = 12, weight = 650, most = Infinity, least = 0 } = style;
  const wide = Math.max(least, Math.min(most, 1.08 * textWidth(words, size) + 6));
  const left = align === "right" ? x - wide : x;
  p.box(left, y - 7.5, wide, 15, { fill: p.theme.paper, radius: 4 });
  p.text(words, left + 3, y + 0.5, { size, weight, color, most: wide });
}

// A token and its share in so much room: of the two only the token is shortened; "" if that isn't enough.
export function withShare(token, share, most, size) {
  const left = most - textWidth(` ${share}`, size);
  return left < 18 ? "" : `${cut(spelt(token), left, size)} ${share}`;
}

// Above a layer, beside its name: the token from which the row takes most there, and its share.
export function namedBands(p, words, color, [x, y, end, least]) {
  const [{ token, weight } = { weight: 0 }] = words.toSorted((a, b) => b.weight - a.weight);
  if (!weight) return;
  const room = (end - x - 6) / 1.08;
  tag(p, withShare(token, percent(weight), room, 12) || cut(spelt(token), room, 12), x, y, { color, least });
}

// Beside the memory every source token has its name, and its share where it has one.
export function memoryNames(p, scene, { encoder }, shares = []) {
  if (!encoder.memory || scene.measures.narrow) return;
  const [x, , width] = encoder.memory;
  const y = (s) => encoder.y(s, encoder.blocks.length - 1);
  const words = encoder.tokens.map((token, s) => ({ token, weight: shares[s] || 0, y: y(s) }));
  for (const { token, weight, y } of apart(words, LEAST)) {
    const strong = weight >= NAMED;
    const style = strong ? { weight: 650, color: p.theme.key } : { color: p.theme.muted };
    const most = scene.width - x - width - 10;
    const size = clamp(encoder.pitch, 12, 13);
    const said = strong ? withShare(token, percent(weight), most / 1.1, size) || percent(weight) : token;
    p.text(said, x + width + 8, y + 0.5, { size, most, ...style });
  }
}

export function memoryName(p, { width: all, measures: { narrow } }, { tokens, memory, blocks, y }, key, share) {
  if (!memory || narrow) return;
  const left = memory[0] + memory[2] + 7;
  const style = { size: 13, color: p.theme.key, most: all - left };
  const said = withShare(tokens[key], brief(share), (style.most - 6) / 1.1, 13) || brief(share);
  tag(p, said, left, y(key, blocks.length - 1), style);
}

// A token's name in its own column, and before it how much it gets.
export function nameAt(p, { measures: { close } }, stack, row, { block = 0, share = null, color = p.theme.ink } = {}) {
  const [x, top, wide, high] = stack.nameRects[block](row);
  const said = share === null ? "" : `${brief(share)} `;
  p.box(x, top + high / 2 - 8, wide - 1, 16, { fill: p.theme.paper, radius: 0 });
  const style = { size: close ? 12 : 14, align: "right", most: x + wide, color };
  tag(p, said + stack.tokens[row], x + wide, top + high / 2, style);
}
