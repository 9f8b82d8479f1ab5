// The map, one neuron of a feed-forward network: what lights it up, and what it writes.

import { pickRow, signedBars } from "./map_insides.js";
import { becomes } from "./map_moves.js";
import { columnTurn } from "./map_rows.js";
import { Scene, number } from "./map_scene.js";
import { entryOf, oneRow, rowOf, valueAt } from "./map_trace.js";
import { fitting } from "./text.js";

export function neuronScene(where, place, width, room) {
  const { stack, row, col, activation } = where;
  const { hidden, neurons } = where.sublayer;
  const { tokens } = stack;
  const [n, name] = [entryOf(hidden, col) + 1, `Neuron ${entryOf(hidden, col) + 1}`];
  const scene = new Scene(width, room, `${name} of ${hidden.width}: its value for every token, and what it writes`);
  const base = place.split("/").slice(0, 4).join("/");
  const to = (c, r) => `${base}/${entryOf(hidden, c)},${r}`;
  const of = (one) => Array.from({ length: one.rows }, (_, t) => valueAt(one, t, col));
  const [before, after] = [of(neurons.before), of(hidden)];
  // The same for every row: how much the neuron is lit by each patch.
  const lights = { data: after, cols: 0 };
  const left = pickRow(scene, stack, tokens, row, room, (other) => to(col, other), lights) + 18;
  const wide = width - left - 4;
  const own = after[row];
  const writes = Array.from(rowOf(neurons.writes, col));
  const pitch = wide / tokens.length;
  const turn = stack.image ? 0 : columnTurn(pitch);
  const names = turn ? 62 : 22;
  const high = (room - 146 - names) / 3;
  const at = { all: 0, before: 58, after: 58 + high + 30, writes: 58 + 2 * high + 62 + names };

  scene.heading(`${hidden.cols} of ${hidden.width} neurons`, `for “${tokens[row]}”: press one`, left, 10, wide);
  const cell = wide / hidden.cols;
  const shown = oneRow(rowOf(hidden, row), { most: hidden.most });
  scene.paint((p) => {
    p.strips(shown, left, 22, wide, 26, { height: 26 });
    p.frame(left + col * cell - 1.5, 20, cell + 3, 30);
  });
  const tell = (_, __, c) => [
    `neuron ${entryOf(hidden, c) + 1}: ${number(valueAt(hidden, row, c))}`,
    "click to see it",
  ];
  scene.grid([left, 22, wide, 26], shown, `Neurons for “${tokens[row]}”`, tell, (_, c) => to(c, row));

  const all = tokens.map((token, t) => ({ token, value: after[t] }));
  const lit = all.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value);
  // One scale for both, so that what came through is as high below as above.
  const range = [Math.min(0, ...before, ...after), Math.max(0, ...before, ...after)];
  const bent = `what was negative is now ${activation === "ReLU" ? "" : "nearly "}0`;
  const rows = [
    ["before", before, "Before", "x · its column of W₁ + b₁"],
    ["after", after, `After ${activation}`, bent],
  ];
  const bars = rows.map(([key, values, title, more]) => {
    const y = at[key] + 22;
    const drawn = signedBars(scene, values, left, y + 14, wide, high - 28, range);
    const tip = (value) => drawn.middle - value * drawn.unit + (value < 0 ? 8 : -8);
    const style = { size: 12, align: "center" };
    if (pitch > 30)
      scene.paint((p) =>
        values.forEach((value, t) => p.text(number(value), left + (t + 0.5) * pitch, tip(value), style)),
      );
    scene.heading(`${title}: ${number(values[row])}`, `for “${tokens[row]}”; ${more}`, left, at[key] + 10, wide);
    scene.paint((p) =>
      p.box(left + row * pitch - 0.5, y - 2, pitch, high + 4, { edge: p.theme.query, line: 1.5, radius: 3 }),
    );
    const [each, go] = [`${name}, ${title.toLowerCase()}, token by token`, (_, t) => to(col, t)];
    const of = (t) => [`“${tokens[t]}”: ${number(before[t])}`, `after ${activation}: ${number(after[t])}`];
    const told = (_, __, t) => [...of(t), "click to choose it"];
    scene.grid([left, y, wide, high], oneRow(values), each, told, go);
    return { values, ...drawn };
  });
  tokens.forEach((token, t) => {
    if (stack.image && t !== row) return;
    const style = turn
      ? { turn: -turn, align: "right", most: 60 }
      : { align: "center", most: stack.image ? 0 : pitch - 3 };
    const look = { size: 12, ...style, weight: t === row ? 650 : 400 };
    scene.label(token, left + (t + 0.5) * pitch, at.after + high + 22 + (turn ? 7 : 12), look);
  });
  const product = fitting([`Writes: ${number(own)} × its row of W₂`, `Writes: ${number(own)} ×`], wide / 1.14, 14);
  const said = `${writes.length} of ${neurons.writes.width} entries, added to the stream`;
  scene.heading(product, said, left, at.writes + 10, wide);
  const written = writes.map((w) => w * own);
  const most = Math.max(...written.map(Math.abs)) || 1;
  signedBars(scene, written, left, at.writes + 22, wide, high, [-most, most]);
  scene.grid([left, at.writes + 22, wide, high], oneRow(written), "What it writes", (_, __, i) => [
    `entry ${entryOf(neurons.writes, i) + 1}`,
    `${number(own)} × ${number(writes[i])} = ${number(written[i])}`,
  ]);

  const brightest = lit.slice(0, 3).map(({ token }) => `“${token}”`);
  const named = `${lit.length > 3 ? "most of all " : ""}${brightest.join(", ")}`;
  const alone = `Neuron ${n} multiplies a token’s vector by its own column of weights and adds a bias. Each token goes through alone.`;
  scene.beat(alone, [0, 0, width, at.after - 4]);
  const lets = lit.length
    ? `${activation} lets through what is above zero. Here that’s ${lit.length} of ${tokens.length} tokens (${named}).`
    : `${activation} lets nothing through here: no token of this sentence lights this neuron up.`;
  scene.beat(lets, [0, at.after - 4, width, at.writes - at.after]);
  scene.moves(becomes(...bars, left, wide));
  const scales = "What came through scales the neuron’s row of W₂. All neurons’ rows are added up";
  scene.beat(`${scales}, and that’s what the network writes.`, [0, at.writes - 4, width, room]);
  const dark = own > 0 ? "" : ` “${tokens[row]}” doesn’t.`;
  scene.hint = lit.length
    ? `Of this sentence’s tokens, ${lit.length} of ${tokens.length} light neuron ${n} up (${named}).${dark} Press another neuron above or another token.`
    : `No token of this sentence lights neuron ${n} up. Press another one above.`;
  return scene;
}
