// The map, fourth depth: one number. A query and a key, product by product, to a score and a weight.

import { NARROW, Scene, number, percent } from "./map_scene.js";
import { signedBars } from "./map_insides.js";
import { along, ease } from "./map_moves.js";
import { heat, patchButtons, patchRow } from "./map_patches.js";
import { columnTurn } from "./map_rows.js";
import { oneRow, rowOf, tellingPair, title, valueAt } from "./map_trace.js";
import { clamp, digits, fitting, textWidth, wrapped } from "./text.js";

export function numberScene(where, place, width, room) {
  const { head, query, key, keys, stack } = where;
  const names = [`“${stack.tokens[query]}”`, `“${keys[key]}”`];
  const all = head.masked ? "allowed keys" : "all keys";
  const say = where.words || { q: "query of", k: "key of", root: `÷ √${head.q.cols}`, dot: "q · k", all };
  if (say.name) names[0] = say.name;
  const [q, k] = [rowOf(head.q, head.q.rows > 1 ? query : 0), rowOf(head.k, key)];
  const products = Array.from(q, (value, i) => value * k[i]);
  let sum = 0;
  const sums = products.map((one) => (sum += one));
  const scene = new Scene(width, room, `One score: ${say.q} ${names[0]} and ${say.k} ${names[1]}, product by product`);
  const g = layout(width, room, q.length, where.splits ? 8 : 0, stack.image, where.parts?.length || 0);
  const why = `${place.split("/").slice(0, 5).join("/")}/why`;
  if (where.splits) cornerButton(scene, "Why this weight?", why, ["what wrote the query and the key"]);
  vectors(scene, where, names, g, say);
  productBars(scene, products, g, q, k, where.parts);
  const at = running(scene, sums, g);
  // A score is the model's own, rounded once.
  const total = where.words ? valueAt(head.scores, query, key) : sums[sums.length - 1];
  const [told, later] = outcome(scene, where, place, total, names, g, say);

  const above = [0, 0, width, g.bars - 6];
  const among = [0, g.bars - 6, width, g.sum - g.bars];
  const met = where.parts
    ? "W s and U h are added, entry by entry, and tanh brings every sum between −1 and 1."
    : `${title(say.q)} ${names[0]}, and ${say.k} ${names[1]}: ${q.length} numbers each.`;
  scene.beat(met, above);
  scene.beat("Multiply entry by entry. Same sign gives a positive product, opposite signs a negative one.", among);
  // The query's numbers come down to the key's, and both become their product.
  scene.moves((p, t) =>
    [
      [head.q, head.q.rows > 1 ? query : 0, [g.q, g.k, g.bars + g.high / 2]],
      [head.k, key, [g.k, g.k, g.bars + g.high / 2]],
    ].forEach(([one, row, ys]) => {
      const points = ys.map((at) => [0, at]);
      const [, y] = along(points, ease(t));
      p.context.globalAlpha = 1 - ease(t) / 2;
      p.row(one, row, g.left, y, g.w, g.strip);
      p.context.globalAlpha = 1;
    }),
  );
  scene.beat(`Add the products up: ${number(total)}.`, [0, g.sum - 6, width, g.sumHigh + 8], told);
  scene.moves((p, t) => {
    const i = Math.min(sums.length - 1, Math.floor(t * sums.length));
    const [x, y] = [g.left + (i + 1) * g.cell, at(sums[i])];
    p.straight(x, g.bars, x, g.sum + g.sumHigh, { color: p.theme.ink, width: 1 });
    p.box(x - 5, y - 5, 10, 10, { fill: p.theme.query, radius: 5 });
  });
  const first = say.root ? `Divide by √${q.length}, then compare` : "Compare";
  const shares = [0, g.out - 10, width, room - g.out + 10];
  scene.beat(`${first} with the other scores in a softmax, and that is the weight.`, later, shares);
  const most = tellingPair(where, stack.image ? query : -1);
  const chosen = !where.words && query === most.query && key === most.key;
  const next = where.kind === "cross-attention" ? `, and the model writes “${stack.written[query]}” next` : "";
  const share = valueAt(head.weights, query, key);
  const weights = rowOf(head.weights, query);
  const best = weights.indexOf(Math.max(...weights));
  const takes = `takes ${percent(weights[best])}`;
  const score = number(valueAt(head.scores, query, key));
  const scores = `${names[1]} scores ${score}`;
  const because = key === best ? `: ${score} is its highest score` : "";
  const gives = `In this head, ${names[0]} gives ${names[1]} ${percent(share)} of its weight${next}${because}. `;
  const compared =
    key === best
      ? `${scores}, more than any other, and ${takes}.`
      : `${scores}; “${keys[best]}” scores higher and ${takes}.`;
  if (where.words)
    scene.hint = head.set
      ? `${scores}. Left to itself, the model gives ${percent(weights[best])} to “${keys[best]}”; you set 100% on “${head.set}”.`
      : compared;
  else if (head.off && where.splits)
    // a single line
    scene.hint = `Switched on, the head gives ${names[1]} ${percent(share)}. “Why this weight?” shows why.`;
  else
    scene.hint = `${chosen ? gives : ""}${where.splits ? `What decides this score${width < NARROW ? "" : where.layer ? ": the tokens, their positions or an earlier layer" : ": the tokens or their positions"}? Press “Why this weight?” to see.` : `${head.allowed(query, key) && !chosen ? `${compared} ` : ""}Press another ${stack.image ? "patch of the picture" : "token"} to make it the key.`}`;
  return scene;
}

// A button at the right edge, most often in the corner.
export function cornerButton(scene, words, go, tip, y = 0) {
  const wide = 1.1 * textWidth(words, 13) + 20;
  const x = scene.width - wide - 8;
  scene.paint((p) => p.box(x, y + 0.5, wide, 24, { fill: p.theme.box, edge: p.theme.edge, radius: 6 }));
  scene.label(words, x + wide / 2, y + 13, { size: 13, weight: 600, align: "center" });
  scene.button([x, y, wide, 25], words, { go }, tip);
}

// `parts`: how many strips there are above the key, of which it is made.
function layout(width, room, n, down, image, parts) {
  const left = width < NARROW + 100 ? 98 : image ? 164 : 128;
  const w = width - left - 8;
  const strip = parts ? clamp(room * 0.036, 13, 20) : clamp(room * 0.06, 20, 32);
  const first = 22 + down;
  const step = strip + (parts ? 8 : 14);
  const [q, k] = parts ? [first + (parts + 1) * step, first + parts * step] : [first, first + step];
  // On a phone the softmax takes what the others spare.
  const slim = width < NARROW;
  const bars = Math.max(q, k) + strip + (slim ? 14 : 22);
  const high = slim ? 44 - parts : clamp(room * (parts ? 0.15 : 0.2), 60, 120);
  const sum = bars + high + (slim ? 12 : 20);
  const sumHigh = slim ? 34 - parts : clamp(room * (parts ? 0.11 : 0.14), 46, 80);
  const out = sum + sumHigh + (slim ? 68 - 4 * parts : 38);
  return { first, step, width, left, w, cell: w / n, strip, q, k, bars, high, sum, sumHigh, out, room };
}

function vectors(scene, { head, stack, query, key, parts = [] }, names, g, say) {
  const kinds = [
    ...parts.map(([words, one], i) => [g.first + i * g.step, one, 0, ["query", "key", "ink"][i], words, ""]),
    [g.q, head.q, head.q.rows > 1 ? query : 0, "query", parts.length ? "× v, learned" : say.q, names[0]],
    [g.k, head.k, key, "key", parts.length ? "tanh(sum)" : say.k, names[1]],
  ];
  for (const [y, one, row, color, words, name] of kinds) {
    scene.paint((p) => p.row(one, row, g.left, y, g.w, g.strip));
    if (row && stack.image) patchRow(scene, stack, row, g.left - 70, y + g.strip / 2, g.strip);
    const up = parts.length ? 0 : 8;
    scene.label(words, g.left - 10, y + g.strip / 2 - up, { size: 12, align: "right", color, most: g.left - 10 });
    if (up)
      scene.label(name, g.left - 10, y + g.strip / 2 + 8, { size: 14, weight: 600, align: "right", most: g.left - 12 });
  }
  if (!parts.length) scene.label("×", g.left + g.w / 2, g.k - 7, { size: 14, align: "center", color: "muted" });
}

function productBars(scene, products, g, q, k, parts) {
  const { middle } = signedBars(scene, products, g.left, g.bars, g.w, g.high);
  scene.label("products", g.left - 10, middle, { size: 13, align: "right" });
  const tell = (_, _row, i) => {
    const product = `entry ${i + 1}: ${number(q[i])} × ${number(k[i])} = ${number(products[i])}`;
    if (!parts) return [product];
    const [asks, answers] = parts.map(([, one]) => number(one.data[i]));
    return [`tanh(${asks} + ${answers}) = ${number(k[i])}`, product];
  };
  const name = "Query, key and their products, entry by entry";
  scene.grid([g.left, g.first, g.w, g.bars + g.high - g.first], oneRow(products), name, tell);
  scene.targets[scene.targets.length - 1].marks = (p, [, i]) => {
    p.frame(g.left + i * g.cell - 1.5, g.first - 2, g.cell + 2, g.bars + g.high - g.first + 4);
  };
}

// Returns where on its axis a value is.
function running(scene, sums, g) {
  const [low, high] = [Math.min(...sums, 0), Math.max(...sums, 0)];
  const at = (value) => g.sum + g.sumHigh * (1 - (value - low) / (high - low || 1));
  scene.paint((p) => {
    const steps = sums.flatMap((value, i) => [i, i + 1].map((n) => [g.left + n * g.cell, at(value)]));
    p.straight(g.left, at(0), g.left + g.w, at(0), { color: p.theme.edge, width: 1 });
    p.line([[g.left, at(0)], ...steps], { color: p.theme.query, width: 2, radius: 0 });
  });
  scene.label("running sum", g.left - 10, g.sum + g.sumHigh / 2, { size: 13, align: "right" });
  scene.grid([g.left, g.sum, g.w, g.sumHigh], oneRow(sums), "Running sum of the products", (_, _row, i) => [
    `after ${i + 1} products: ${number(sums[i])}`,
  ]);
  return at;
}

// Sum, scaling, and the softmax over all keys of this query. Returns where the sum is, and what comes after it.
function outcome(scene, { head, query, key, keys, stack }, place, dot, names, g, say) {
  const score = valueAt(head.scores, query, key);
  const masked = !head.allowed(query, key);
  const share = valueAt(head.weights, query, key);
  const stacked = g.width < NARROW;
  const exact = masked ? "0" : share < 0.0005 ? "<0.001" : digits(share);
  const line = g.sum + g.sumHigh + 15;
  const steps = [
    `${say.dot} = ${number(dot)}`,
    ...(say.root ? [`${say.root} = ${number(score)}`] : []),
    masked ? "masked: −∞" : `softmax: ${exact}`,
  ];
  // Where there is little room, they begin at the left edge.
  const fits = steps.every((words) => 1.12 * textWidth(words, 16) < g.w / 3 - 6);
  const [from, each] = fits ? [g.left, g.w / 3] : [4, (g.width - 8) / 3];
  // Below each other they are never cut.
  const start = clamp(g.width - 4 - 1.12 * Math.max(...steps.map((words) => textWidth(words, 13))), 4, g.left);
  const style = { size: fits ? 16 : 13, weight: 650, most: stacked ? g.width - start : each - 6 };
  const at = (i) => (stacked ? [start, line + 18 * i] : [from + i * each, line]);
  scene.paint((p) =>
    steps.forEach((words, i) => p.text(words, ...at(i), { ...style, color: i ? p.theme.query : p.theme.ink })),
  );
  const n = keys.length;
  const pitch = g.w / n;
  // A picture stands for the names of its patches: they are pressed there.
  const { image } = stack;
  const turn = image ? 0 : columnTurn(pitch);
  const other = (s) => place.replace(/\d+$/, s);
  const side = Math.min(g.left - 12, g.room - g.sum - g.sumHigh / 2 - 62);
  if (image) {
    const at = [0, g.room - side - 18, side];
    scene.top([g.left, g.room - 30, 2, 2], (p, lit) => heat(p, at, stack, lit ? head.weights : null, query, key));
    patchButtons(scene, at, stack, "as the key", (s) => ({ go: other(s) }), "click to see its score");
    const blue = fitting([`blue: what ${stack.tokens[query]} takes`, `${stack.tokens[query]} takes`], side, 12);
    scene.label(blue, 0, g.room - 8, { size: 12, color: "query" });
  }
  const deep = Math.min(56, Math.max(...keys.map((one) => 1.1 * textWidth(one, 12)))) + 10;
  const base = g.room - (turn ? deep : image ? Math.min(pitch, 27) + 20 : 24);
  const high = base - g.out - 18;
  const masks = keys.some((_, s) => !head.allowed(query, s));
  const over = wrapped(`softmax over ${say.all}${masks ? "; dashed: masked" : ""}`, image ? g.w : g.left - 12, 13);
  const [from2, y, align] = image ? [g.left, g.out + 5, "left"] : [g.left - 10, g.out + 12, "right"];
  over.forEach((words, i) => scene.label(words, from2, y + 16 * i, { size: 13, align }));
  const weights = rowOf(head.weights, query);
  const most = Math.max(...weights);
  scene.paint((p) => {
    const above = { size: 12, align: "center" };
    const empty = { edge: p.theme.hatch, dash: [2, 3], radius: 2 };
    weights.forEach((weight, s) => {
      const x = g.left + s * pitch;
      const own = s === key;
      if (!head.allowed(query, s)) return p.box(x + 2.5, base - high, Math.max(2, pitch - 5), high, empty);
      const size = Math.max(1, (high * weight) / most);
      p.context.globalAlpha = own ? 1 : 0.45;
      p.box(x + 2, base - size, Math.max(2, pitch - 4), size, { fill: p.theme.query, radius: 2 });
      p.context.globalAlpha = 1;
      const middle = Math.min(x + pitch / 2, g.width - 20);
      const style = { ...above, weight: own ? 650 : 400 };
      if (pitch > 26 ? weight >= 0.01 || own : own && weight === most)
        p.text(own ? exact : digits(weight, 2), middle, base - size - 9, style);
    });
  });
  keys.forEach((token, s) => {
    if (image && s && pitch > 6) patchRow(scene, stack, s, g.left + (s + 1) * pitch - 1, base + 3 + pitch / 2, pitch);
    if (image && s !== key) return;
    const own = s === key ? { weight: 650 } : { color: "muted" };
    const style = turn
      ? { ...own, size: 12, turn: -turn, align: "right", most: 56 }
      : { ...own, size: 13, align: "center", most: image ? 0 : pitch - 3 };
    const down = turn ? 7 : image ? Math.min(pitch, 27) + 11 : 13;
    scene.label(token, g.left + (s + 0.5) * pitch, base + down, style);
  });
  const tell = (_, _row, s) => [
    say.name ? `“${keys[s]}”` : `${names[0]} to “${keys[s]}”`,
    head.allowed(query, s)
      ? `score ${number(valueAt(head.scores, query, s))}, weight ${percent(weights[s])}`
      : "masked out: weight 0",
  ];
  const rect = [g.left, g.out, g.w, g.room - g.out];
  scene.grid(rect, oneRow(weights), "Weights of all keys for this query", tell, (_, s) => other(s));
  const told = [0, line - 12, stacked ? g.width : from + each - 4, 21];
  return [told, stacked ? [0, line + 9, g.width, 38] : [told[2], line - 12, g.width, 21]];
}
