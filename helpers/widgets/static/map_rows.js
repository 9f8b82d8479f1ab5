// The map, its names: of rows, and of a layer's parts. Where rows are too thin for a name each, the names of a
// few rows share a line and are read like the sentence itself; none is left out.

import { clamp, fitting, textWidth, wrapped } from "./text.js";

// Height of a name of twelve pixels.
const LINE = 11.5;
// Between two names on a line, each on a ground of its own.
const SPACE = 9;
// As thin as a row may be that still has a name of its own, which touches no other.
export const LEAST = 11.5;
export const perLine = (pitch) => (pitch >= LEAST ? 1 : Math.ceil(LINE / pitch));

// How wide the names are, a line at a time, with a little room behind them.
export function namesWidth(tokens, pitch, size = 13) {
  const n = perLine(pitch);
  const wide = (first) =>
    tokens.slice(first, first + n).reduce((sum, token) => sum + textWidth(token, n > 1 ? 12 : size) + SPACE, 0);
  return Math.ceil(Math.max(...tokens.map((_, row) => (row % n ? 0 : wide(row))))) + 2;
}

// A place for every name, ending at `right`, no wider than `room`: { words, rect, x, y, style }.
export function namePlaces(tokens, { right, top, pitch, room = right - 2, size = 14 }) {
  const n = perLine(pitch);
  const at = (row) => top + (row + 0.5) * pitch;
  if (n < 2) {
    const style = { size: clamp(pitch - 1, 12, size), align: "right", most: room };
    const rect = (row) => [right - room, at(row) - pitch / 2, room + 2, pitch];
    return tokens.map((words, row) => ({ words, rect: rect(row), x: right, y: at(row), style }));
  }
  return tokens.flatMap((_, first) => {
    if (first % n) return [];
    const wide = tokens.slice(first, first + n).map((token) => textWidth(token, 12) + SPACE);
    let most = room;
    const all = () => wide.reduce((sum, one) => sum + Math.min(one, most), 0);
    // The longest names give way, but stay readable.
    while (all() > room && most > 48) most -= 2;
    // Out, where that doesn't help.
    const left = new Set();
    while (all() > room && left.size < wide.length) {
      const longest = wide.indexOf(Math.max(...wide));
      left.add(longest);
      wide[longest] = SPACE + 8;
    }
    let x = right + SPACE - all();
    return wide.map((one, i) => {
      const w = Math.min(one, most);
      const place = {
        words: left.has(i) ? "…" : tokens[first + i],
        rect: [x - 2, top + first * pitch, w, n * pitch],
        x,
        y: top + (first + n / 2) * pitch,
        style: { size: 12, most: w - SPACE + 1 },
      };
      x += w;
      return place;
    });
  });
}

// Where names share a line, a ground for each, and beside the line a bracket along its rows.
export function brackets(p, tokens, x, top, pitch, places) {
  const n = perLine(pitch);
  if (n > 1)
    for (const { x: left, y, rect } of places.slice(0, tokens.length))
      p.box(left - 3, y - 6, rect[2] - 2, 12, { fill: p.theme.masked, radius: 3 });
  for (let row = 0; n > 1 && row < tokens.length; row += n) {
    const last = Math.min(tokens.length, row + n);
    p.straight(x, top + row * pitch + 1, x, top + last * pitch - 1, { color: p.theme.hatch, width: 1.5 });
  }
}

// All of a stack's names, in a column that ends at `right`: every depth below the first has one.
export function nameRows(scene, tokens, { right, top, pitch, room }) {
  const places = namePlaces(tokens, { right, top, pitch, room });
  scene.paint((p) => brackets(p, tokens, right + 4, top, pitch, places));
  for (const { words, x, y, style } of places) scene.label(words, x, y, style);
}

// The names of columns: slanted, upright where that is too close, and then on two levels. `level`
// is how high one level is.
export function nameColumns(scene, tokens, x, base, cell, { level = 46, size = 12 } = {}) {
  const turn = columnTurn(cell);
  const levels = columnLevels(cell);
  // More only on a narrow page, where pointing tells the rest.
  const every = Math.ceil(11 / cell / levels);
  tokens.forEach((token, col) => {
    if (col % every) return;
    const at = x + (col + 0.5) * cell;
    if (!turn) return scene.label(token, at, base - 6, { size: 13, align: "center", most: cell - 4 });
    const up = level * ((col / every) % levels);
    if (up) scene.paint((p) => p.straight(at, base - 2, at, base - up - 2, { color: p.theme.lane, width: 1 }));
    // Upright, where it would lean out of the picture.
    const leans = at + textWidth(token, size) * Math.cos(turn) > scene.width ? Math.PI / 2 : turn;
    scene.label(token, at, base - up - 5, { size, turn: -leans, most: level + 4 });
  });
}
export const columnTurn = (cell) => (cell >= 46 ? 0 : cell >= 14 ? Math.PI / 3.2 : Math.PI / 2);
export const columnLevels = (cell) => (cell < 11 ? 2 : 1);

// Every part's whole name if they all fit below the layer, else shorter ones, the same everywhere.
const NAMES = {
  "self-attention": ["self-attention", "self-attention", "self-attention", "self-|attention", "self-attention"],
  "masked-self-attention": ["masked self-attention", "masked", "masked", "masked", "masked"],
  "cross-attention": ["cross-attention", "cross", "cross", "cross", "cross"],
  // On two lines; in the end on lines of its own, or left to the pointer.
  "feed-forward": ["feed-forward", "feed-forward", "feed-|forward", "feed-|forward", ""],
};

// `lines`: how many of them there is room for.
export function namesBelow(scene, sublayers, y, [from, to], lines, first, room) {
  const whole = textWidth("feed-forward", 12) <= to - from + 2 ? ["feed-forward"] : ["feed-", "forward"];
  for (const size of lines > 2 ? [0] : [0, 1, 2, 3, 4]) {
    const words = sublayers
      .map(({ kind, box }) => {
        const lines = NAMES[kind][size].split("|");
        const wide = Math.max(...lines.map((line) => textWidth(line, 12)));
        const middle = box[0] + box[2] / 2;
        return { lines, wide, x: middle - wide / 2, middle, reach: Math.max(14, box[2] / 2) };
      })
      .filter(({ wide }) => wide);
    // As near to their parts' middles as they come without touching, or leaving the layer.
    words.reduce((end, one) => (one.x = Math.max(one.x, end)) + one.wide + 8, from);
    words.reduceRight((end, one) => (one.x = Math.min(one.x, end - one.wide)) - 8, to);
    // Under its own part, or a shorter name.
    const astray = ({ x, wide, middle, reach }) => Math.abs(x + wide / 2 - middle) > reach;
    if (words[0].x < from || (size < 2 && words.some(astray))) continue;
    const below = Math.max(...words.map((one) => one.lines.length));
    const { x: end, wide: last } = words.at(-1);
    // Beginning beside the other names, where there's room, it isn't taken for one of theirs.
    const least = end + last + 6 + textWidth("feed-", 12);
    const beside = below < lines && least <= to + 2;
    const network = beside ? ["feed-", "forward"] : whole;
    if (size > 3 && (beside || below + network.length <= lines))
      network.forEach((line, i) => {
        const down = beside ? y : y + 5 + 8 * below;
        scene.label(line, beside ? (least + to + 2) / 2 : to + 2, down + 12 * i, {
          size: 12,
          color: "muted",
          align: "right",
        });
      });
    return words.forEach(({ lines, wide, x }) =>
      lines.forEach((line, i) => {
        scene.note(line, x + wide / 2, y + 12 * i - 4 * (below - 1), "center");
      }),
    );
  }
  // Of a layer with a single attention one phrase says what it does; once, where it is too wide.
  const phrase = sublayers.map(({ kind }) => kind.replace("masked-self-", "masked ")).join(", ");
  const phrases = wrapped(phrase, to - from - 8, 12);
  if (phrases.some((line) => textWidth(line, 12) > to - from)) {
    const all = [`each layer: ${phrase}`, phrase, phrase.replaceAll(/.attention/g, "")];
    return void (first && scene.note(fitting(all, room, 12), from, y));
  }
  phrases.forEach((line, i) => scene.note(line, (from + to) / 2, y - 4 + 12 * i, "center"));
}
