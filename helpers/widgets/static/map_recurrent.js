// The map, the recurrent pair: states, scores, weights, context, and the decoder's next state.

import { rgb } from "./colour.js";
import { keyOf } from "./map_answer.js";
import { along, bothWays, mixes, own, ease } from "./map_moves.js";
import { NARROW, Scene, brief, number, percent, tellVector } from "./map_scene.js";
import { path } from "./map_paint.js";
import { columnTurn } from "./map_rows.js";
import { rowOf, sentenceOf, subscript, valueAt } from "./map_trace.js";
import { clamp, digits, fitting, textWidth } from "./text.js";

// Room for the two lines of words above the columns.
const HEADLINE = 46;
// What is written above a state: its name.
const LABEL = 18;
// What is written below the decoder's states, where words lie flat.
const WRITES = 34;

export function recurrentScene(model, width, room, step, live) {
  const scene = new Scene(width, room, "An encoder, Bahdanau’s attention and a decoder");
  const n = model.source.length;
  // On a phone the context stands below the weights, and the next token below the decoder.
  const slim = width < NARROW;
  const longest = Math.max(...model.source.map((token) => textWidth(token, 14)));
  const label = clamp(Math.ceil(longest) + 10, slim ? 64 : 80, 96);
  const turn = columnTurn((width - label) / model.tokens.length);
  // Room for the ways to the decoder's states, for these and the words below.
  const [lift, deep] = [slim ? 98 : 90, slim ? 122 + (turn ? 16 : 0) : 84 + WRITES];
  const top = slim ? 24 : HEADLINE;
  const free = room - (slim ? 24 : 0) - top - lift - deep;
  // Each row has its name, and each weight can be pressed.
  const pitch = clamp(free / n, slim ? 16 : 13, 38);
  const high = n * pitch;
  const bottom = top + Math.max(free, high) + lift + deep;
  const gap = clamp(width / 45, 8, 26);
  const panel = slim ? 0 : clamp(width * 0.17, 92, 170);
  scene.height = bottom + (slim ? 24 : 0);
  // On a phone the weights' ways to the context run down beside them.
  const part = slim ? (width - label - 2 * gap - 20) / 3 : (width - label - 4 * gap - panel) / 4;
  // Too little for the longer words.
  const narrow = part < 136;
  const x = [0, 1, 2, slim ? 2 : 3].map((i) => label + i * (part + gap));
  const y = (row) => top + (row + 0.5) * pitch;
  const middle = top + (slim ? high + 26 + pitch * 0.4 : high / 2);
  const [force, told] = [live && model.chooses, model.chosen.includes(step)];
  const g = { narrow, slim, panel, label, pitch, top, high, part, gap, x, y, step, width, middle, force, told };
  Object.assign(g, { turn, deep, room: bottom });
  encoderStates(scene, model, g);
  bars(scene, model, g);
  context(scene, model, g);
  nextToken(scene, model, g);
  chain(scene, model, g);
  const cut =
    model.written.at(-1) === "<eos>" ? "" : `No <eos> came, so it was stopped after ${model.written.length} tokens. `;
  recurrentBeats(scene, model, { ...g, cut, room: scene.height });
  const weights = rowOf(model.weights, step);
  const most = Math.max(...weights);
  const best = `“${model.source[weights.indexOf(most)]}”`;
  const next = "Which source token gets most in the next step? Guess, then press that step.";
  // How much of what is written comes from where it looks: measured, by looking at each token alone.
  const same = model.source.filter((_, row) => model.alone[step]?.[row] === model.written[step]);
  const plain = same.length === 1 && model.source.indexOf(same[0]) === model.source.lastIndexOf(same[0]);
  const any = `The model would write it with all the weight on any token, so where it looks doesn’t decide this word. `;
  scene.hint = g.told
    ? `You made step ${step + 1} look at ${best} alone: it writes “${model.written[step]}”, and the sentence becomes “${sentenceOf(model.written)}${cut && " …"}” ${cut}Press the same weight again to undo that.`
    : `${cut}Step ${step + 1}: ${best} gets ${percent(most)} of the weight, and “${model.written[step]}” is written. ${same.length === n ? any : plain ? `With all the weight on any token but “${same[0]}”, another word would be written. ` : ""}${g.force ? "Press a weight to make it look only there." : `${slim ? "" : "Press play, or a score to see its products. "}${step + 1 < model.tokens.length ? next : ""}`}`;
  return scene;
}

function headline(scene, g, x, words, more, most) {
  const style = { size: g.narrow ? 12 : 15, weight: 650, most: g.slim ? 0 : most };
  scene.label(words, x, g.narrow && !g.slim ? 30 : 12, style);
  if (!g.narrow) scene.label(more, x, 31, { size: 13, color: "muted", most });
}

function encoderStates(scene, model, g) {
  const { part, top, pitch, high } = g;
  const [x] = g.x;
  if (g.narrow) scene.label("Encoder", 0, g.slim ? 12 : 30, { size: g.slim ? 12 : 13, weight: 650 });
  headline(scene, g, x, g.narrow ? "States" : "Encoder states h", "one per source token", part + g.gap - 8);
  model.source.forEach((token, row) => {
    scene.label(token, g.label - 8, g.y(row), { size: clamp(pitch, 12, 14), align: "right", most: g.label - 8 });
  });
  scene.paint((p) => {
    const style = { color: p.theme.muted, arrow: true, width: 1 };
    for (let row = 1; row < model.source.length; row++) {
      p.straight(x + part * 0.3, g.y(row - 1), x + part * 0.3, g.y(row) - pitch * 0.3, style);
      p.straight(x + part * 0.7, g.y(row), x + part * 0.7, g.y(row - 1) + pitch * 0.3, style);
    }
    p.strips(model.states, x, top, part, pitch, { height: pitch * 0.56 });
  });
  const ways = ["forward ↓, backward ↑", "read ↓ and ↑"];
  scene.note(fitting(ways, part + g.gap, 12), x + part / 2, top + high + 10, "center");
  scene.part(["encoder", "embeddings"], 0, 0, x + part + 4, top + high + (g.slim ? 20 : 4));
  scene.grid([x, top, part, high], model.states, "Encoder states", tellVector(model.source, "encoder state"));
}

// Scores and weights of this step, a bar per source token.
function bars(scene, model, g) {
  const { step, part, top, pitch, high } = g;
  const [scores, weights] = [rowOf(model.scores, step), rowOf(model.weights, step)];
  headline(scene, g, g.x[1], "Scores", `v · tanh(W s${subscript(step)} + U h)`, part + g.gap - 8);
  headline(scene, g, g.x[2], "Weights", g.told ? "yours, not the softmax’s" : "softmax: sum is 1", part + g.gap - 8);
  // One scale for all steps, so that their bars can be compared.
  const [low, most] = [Math.min(0, ...model.scores.data), Math.max(0, ...model.scores.data)];
  const thick = pitch * (g.slim ? 0.7 : 0.5);
  const long = part - (g.slim ? 0 : 42);
  const zero = g.x[1] + (long * -low) / (most - low || 1);
  const sizes = Array.from(scores, (score) => (long * score) / (most - low || 1));
  g.bars = { zero, sizes, thick, long, weights };
  scene.paint((p) => {
    scores.forEach((score, row) => {
      const size = sizes[row];
      p.straight(g.x[0] + part + 2, g.y(row), g.x[1] - 4, g.y(row), { width: 1 });
      bar(p, zero, g.y(row), size, thick);
      const words = number(score, g.slim ? 0 : 1);
      const inside = g.slim && size > textWidth(words, 12) + 6;
      const from = inside ? zero + 3 : Math.max(zero, zero + size) + 4;
      const color = p.theme[inside ? "paper" : "muted"];
      if (pitch >= 13 && from + textWidth(words, 12) < g.x[2]) p.text(words, from, g.y(row), { size: 12, color });
      p.box(g.x[2], g.y(row) - thick / 2, long, thick, { fill: p.theme.masked, radius: 2 });
      // A weight that the learner set has another colour, and says so.
      const fill = p.theme[g.told ? "key" : "query"];
      p.box(g.x[2], g.y(row) - thick / 2, Math.max(1, long * weights[row]), thick, { fill, radius: 2 });
      if (pitch < 13 || weights[row] < 0.005) return;
      const within = g.slim && long * weights[row] > 34;
      const at = g.slim ? (within ? 4 : long * weights[row] + 4) : part - 38;
      const style = { size: 12, color: within ? p.theme.paper : p.theme.ink };
      if (g.told && !g.slim) p.text("yours", g.x[2] + 5, g.y(row), { ...style, color: p.theme.paper, weight: 650 });
      p.text(g.told && g.slim ? "yours" : digits(weights[row], 2), g.x[2] + at, g.y(row), style);
    });
    p.straight(zero, top, zero, top + high, { color: p.theme.edge, width: 1 });
  });
  const column = (one, words, i, open, show) => {
    const shown = { data: rowOf(one, step), rows: model.source.length, cols: 1, weights: true, most: 1 };
    const value = (row) => `“${model.source[row]}”: ${show(valueAt(one, step, row), 3)}`;
    const tell = (_, row) => [value(row), "click to see the products"];
    scene.grid([g.x[i], top, part, high], shown, `${words} of step ${step + 1}`, tell, open);
  };
  const open = (row) => `score/${step},${row}`;
  column(model.scores, "Scores", 1, open, number);
  if (!g.force) column(model.weights, "Weights", 2, open, digits);
  for (const [row, token] of g.force ? model.source.entries() : []) {
    const undo = g.told && weights[row] > 0.5;
    const act = undo ? "press to undo it" : "press: this step looks only there";
    const name = `Step ${step + 1} to source token ${row + 1}, ${token}: ${act}`;
    const tip = [`“${token}”: ${digits(weights[row])}`, act];
    scene.button([g.x[2] - 2, g.y(row) - pitch / 2, part + 4, pitch], name, { choose: row }, tip);
  }
  for (const [i, name] of ["scores", "weights"].entries())
    scene.part(["cross-attention", name], g.x[i + 1] - g.gap / 2, 0, part + g.gap, top + high + 4);
}

function bar(p, zero, y, size, thick) {
  const fill = rgb(p.theme.signed[size < 0 ? 56 : 200]);
  p.box(Math.min(zero, zero + size), y - thick / 2, Math.max(1, Math.abs(size)), thick, { fill, radius: 2 });
}

// The context: every state flows in by its weight.
function context(scene, model, g) {
  const { step, part, pitch, top, high } = g;
  const x = g.x[3];
  const y = g.middle;
  if (g.slim) scene.label("Context", x, y - pitch * 0.4 - 10, { size: 12, weight: 650 });
  else headline(scene, g, x, g.narrow ? "Context" : "Context c", "states, mixed by the weights", part + g.panel);
  scene.paint((p) => {
    rowOf(model.weights, step).forEach((weight, row) => {
      if (weight < 0.01) return;
      const [from, at, out] = [g.x[2] + part + 2, g.y(row), g.width - 8];
      const [color, alpha] = [p.theme[g.told ? "key" : "query"], 0.25 + 0.6 * weight];
      if (!g.slim) return p.ribbon(from, at, x - 3, y, 1 + 12 * weight, color, alpha);
      p.line(path(from, at, out, at, out, y, from, y), { width: 1 + 8 * weight, color, alpha, radius: 6 });
    });
    p.row(model.context, step, x, y - pitch * 0.4, part, pitch * 0.8);
    p.box(x - 1, y - pitch * 0.4 - 1, part + 2, pitch * 0.8 + 2, { edge: p.theme.value, radius: 2 });
  });
  const from = g.slim ? top + high + 4 : 0;
  scene.part(["cross-attention", "context"], x - g.gap, from, part + g.gap + 4, g.slim ? 48 : top + high + 4);
  if (g.slim) scene.part(["cross-attention", "context"], x + part, top, g.width - x - part, high + 52);
}

function nextToken(scene, model, g) {
  const { step, top, high } = g;
  const left = g.slim ? g.label : g.width - g.panel + 6;
  const found = model.candidates[step].slice(0, g.slim ? 2 : clamp(Math.floor(high / 40), 2, 4));
  // On a phone they are side by side, below the tokens that are read.
  const room = g.slim ? (g.width - left - 10) / 2 : g.width - left;
  const pitch = g.slim ? 0 : Math.min(42, high / found.length);
  const first = g.slim ? g.room - 9 : top + high / 2 - (found.length * pitch) / 2;
  if (g.slim) scene.note("writes", 0, first - 5);
  else scene.label("Next token", left, first - 12, { size: 13, weight: 600 });
  scene.paint((p) =>
    found.forEach(([token, , share], i) => {
      const y = first + (i + 0.5) * pitch;
      const x = left + (g.slim ? i * (room + 10) : 0);
      const [bar, under, most] = g.slim ? [room, -5, room - 42] : [room - 52, 9, room];
      p.text(token, x, y - 5, { size: g.slim ? 13 : 14, weight: i ? 400 : 650, most });
      p.box(x, y + 6, bar, g.slim ? 3 : 6, { fill: p.theme.masked, radius: 3 });
      p.box(x, y + 6, Math.max(2, bar * share), g.slim ? 3 : 6, { fill: p.theme.query, radius: 3 });
      p.text(brief(share), x + room - 1, y + under, { size: 12, align: "right", color: p.theme.muted });
    }),
  );
  const rect = [left - 6, first - 24, g.width - left + 6, found.length * pitch + 34];
  scene.part(["output", "decoding", "loss", "decoder"], ...rect);
  g.below = g.slim ? first - 14 : first + found.length * pitch + 6;
}

// The decoder, step by step: its states, what it read, and which step this is.
function chain(scene, model, g) {
  const n = model.tokens.length;
  const { turn, deep } = g;
  const y = g.room - deep;
  const pitch = (g.width - g.label) / n;
  const wide = Math.min(pitch - (g.slim ? 12 : 16), 120);
  scene.label("Decoder", 0, y + 12, { size: g.narrow ? 13 : 15, weight: 650 });
  const key = keyOf(model, g.width);
  scene.labels.push((p) => key.draw(p, scene.height - key.height));
  scene.note("reads", turn ? 0 : g.label - 8, y + 46, turn ? "left" : "right");
  if (!turn) scene.note("writes", g.label - 8, y + 64, "right");
  // Turned words leave no room for a second row of them.
  else scene.note(`So far: ${sentenceOf(model.written.slice(0, g.step + 1))}`, 0, y + 106, "left", g.width);
  if (!turn && model.chosen.length) scene.note("by itself", g.label - 8, y + 81, "right");
  for (let t = 0; t < n; t++) {
    const x = g.label + t * pitch;
    scene.paint((p) => {
      if (t) p.straight(x - pitch + wide + 2, y + 12, x - 4, y + 12, { color: p.theme.muted, arrow: true });
      if (t <= g.step) p.row(model.after, t, x, y, wide, 24);
      // A step that was told where to look keeps its mark.
      const yours = model.chosen.includes(t) && t <= g.step;
      const [edge, line, weight] = t === g.step ? [p.theme.query, 2.5, 650] : [p.theme.edge, 1, 400];
      p.box(x, y, wide, 24, { edge: yours ? p.theme.key : edge, line: yours ? 2.5 : line, radius: 3 });
      if (t < g.step || (t === g.step && !g.slim))
        p.text(`s${subscript(t + 1)}`, x, y - 8, { size: 12, weight, color: p.theme.muted });
      if (yours && wide > 60 && t < g.step)
        p.text("yours", x + wide, y - 8, { size: 12, align: "right", color: p.theme.key });
      if (t === g.step) p.straight(x + wide / 2, y + 37, x + wide / 2, y + 27, { color: p.theme.muted, arrow: true });
      const style = turn ? { turn: -turn, align: "right", most: 52 } : { align: "center", most: pitch - 4 };
      // What isn't written yet isn't there.
      if (t <= g.step) p.text(model.tokens[t], x + wide / 2, y + (turn ? 42 : 46), { size: 13, ...style, weight });
      if (turn || t > g.step) return;
      // What it writes, and below it what the model writes without the learner.
      const other = model.own[t] === model.written[t] ? p.theme.ink : p.theme.key;
      p.text(model.written[t], x + wide / 2, y + 64, { size: 13, ...style, weight, color: other });
      if (model.chosen.length)
        p.text(model.own[t] || "", x + wide / 2, y + 81, { size: 12, ...style, color: p.theme.muted });
    });
    const [reads, writes] = [model.tokens[t], model.written[t]];
    const tip = [`step ${t + 1}: reads “${reads}”`, `writes “${writes}”`];
    const name = `Step ${t + 1}: reads ${reads}, writes ${writes}`;
    scene.button([x - 4, y - 8, Math.max(24, wide + 8), 66], name, { write: t }, tip);
  }
  // The state before this step asks; the context goes into the new state; that one writes.
  const at = g.label + g.step * pitch + wide / 2;
  const scores = g.x[1] + g.part / 2;
  const mixed = g.x[3] + g.part / 2;
  const writes = g.slim ? g.width - 3 : g.width - g.panel / 2;
  const under = g.top + g.high;
  const before = g.step ? at - pitch : g.label - 18;
  const asks = Math.abs(before - scores) < Math.min(24, wide / 2) ? scores : before;
  g.wide = wide;
  g.ways = {
    query: corners([asks, y - (g.step && !g.slim ? 3 : 16)], y - 46, [scores, under + 5]),
    mix: corners([mixed, g.middle + g.pitch * 0.4 + 3], y - 30, [at - 6, y - 3]),
    write: corners([at + 6, y - 3], y - 14, [writes, g.below]),
  };
  scene.paint((p) => {
    if (!g.step) {
      p.box(asks - 5, y - 19, 10, 10, { fill: p.theme.query, radius: 5 });
      p.text(g.slim ? "s₀" : "start, s₀", asks - 10, y - 14, { size: 12, color: p.theme.query, align: "right" });
    }
    elbow(p, g.ways.query, p.theme.query);
    elbow(p, g.ways.mix, p.theme.value);
    elbow(p, g.ways.write, p.theme.muted);
    const style = { size: 12, color: p.theme.query, align: "right", most: scores - 16 };
    p.text(
      `query s${subscript(g.step)}${g.slim ? "" : g.step ? ", the state before" : ", from the encoder"}`,
      scores - 8,
      y - 56,
      style,
    );
  });
  g.asks = { under, y };
  scene.part("decoder", 0, y - LABEL, g.width, LABEL + (turn ? 92 : 64 + WRITES));
  for (const [name, points] of Object.entries(g.ways))
    for (const [i, to] of points.slice(1).entries()) scene.part([name, "cross-attention"], ...around(points[i], to));
  const start = 1.1 * textWidth(g.slim ? "s₀" : "start, s₀", 12) + 18;
  const from = g.step ? [before - wide / 2 - 4, y - LABEL, wide + 8, 46] : [asks - start, y - 26, start + 8, 20];
  scene.part("query", ...from);
  scene.part("query", Math.max(0, scores - 170), y - 66, Math.min(scores, 170), 18);
  scene.part("write", at - wide / 2 - 4, y - LABEL, wide + 8, LABEL + (turn ? 28 : 74));
}

// Up or down, across at a height, and on; corners no rounder than there is room.
const corners = ([x0, y0], across, [x1, y1]) => path(x0, y0, x0, across, x1, across, x1, y1);
const around = (a, b) => [...a.map((at, i) => Math.min(at, b[i]) - 5), ...a.map((at, i) => Math.abs(at - b[i]) + 10)];
const elbow = (p, points, color) =>
  p.line(points, { color, width: 2, arrow: true, radius: Math.min(10, Math.abs(points[3][0] - points[0][0]) / 2) });

// What a step's four beats move: the query visits the states, scores become weights, the states
// flow together, and the context goes into the new state, which writes.
function stepMoves(model, g) {
  const { step, x, y, top, high, part, pitch, wide, ways, bars } = g;
  const { zero, sizes, thick, long, weights } = bars;
  const one = { rows: 1, cols: weights.length, data: weights };
  const mixed = [x[3], g.middle - pitch * 0.4, part, pitch * 0.8];
  const goes = (p, of, row, points, t, [from, to]) => {
    const [left, middle] = along(points, ease(t));
    const size = from + (to - from) * t;
    p.row(of, row, left - size / 2, middle - 9, size, 18);
  };
  return [
    (p, t) => {
      sizes.forEach((size, row) => bar(p, zero, y(row), size * own(Math.max(0, 2 * t - 1), row, sizes.length), thick));
      const up = [...ways.query, [ways.query[3][0], y(0)]];
      if (step) goes(p, model.after, step - 1, up, t, [wide, part * 0.6]);
    },
    (p, t) =>
      sizes.forEach((size, row) => {
        const k = own(t, row, sizes.length);
        bar(p, zero + (x[2] - zero) * k, y(row), size + (long * weights[row] - size) * k, thick);
      }),
    mixes({ weights: one, v: model.states }, [x[0], top, part, high], mixed),
    (p, t) => {
      if (t < 0.6) return goes(p, model.context, step, ways.mix, t / 0.6, [part, wide]);
      goes(p, model.after, step, ways.write, (t - 0.6) / 0.4, [wide, 40]);
    },
  ];
}

// The encoder's beat, then for each step: compare, weigh, mix, write (STEP in map_flow.js).
function recurrentBeats(scene, model, g) {
  const { under, y } = g.asks;
  const column = (i) => [g.x[i] - g.gap - 2, 0, g.part + g.gap, under + 4];
  const past = [0, y - LABEL, g.label + (g.step * (g.width - g.label)) / model.tokens.length - 8, g.deep - 20 + LABEL];
  const names = [0, 0, g.x[0] + g.part + 4, under + 4];
  scene.beat("The encoder reads the sentence in both directions and keeps a state per token.", past, names);
  scene.moves(bothWays(model.states, g));
  const low = [0, under + 4, g.width, g.room - under - 4];
  const write = g.slim ? low : [g.x[3] + g.part, 0, g.width - g.x[3] - g.part, under + 4];
  const mixed = g.slim ? scene.parts.context : [column(3)];
  const rects = [[...scene.parts.query, column(1)], [column(2)], mixed, [low, write]];
  const moves = stepMoves(model, g);
  const [translation, own] = [model.written, model.own].map(sentenceOf);
  const same = translation === own ? "as it would by itself" : `instead of “${own}”`;
  const finished = ` The translation: “${translation}${g.cut && " …"}”${model.chosen.length ? ` (${same})` : ""}${g.cut && ` ${g.cut}`}`;
  model.tokens.forEach((_token, t) => {
    const weights = rowOf(model.weights, t);
    const most = Math.max(...weights);
    const best = `“${model.source[weights.indexOf(most)]}”`;
    const set = model.chosen.includes(t);
    const whole = `Step ${t + 1}: ${set ? `you made ${best} get` : `${best} gets`} ${percent(most)}, and “${model.written[t]}” is written.`;
    const said = [
      `Step ${t + 1}: the query is s${subscript(t)}, ${t ? "the decoder’s state before it" : "made from the encoder’s last states"}. It gets a score with each encoder state.`,
      set ? `You set all weight on ${best}.` : `A softmax turns them into weights: ${best} gets ${percent(most)}.`,
      "The encoder states, mixed by their weights, are the context.",
      `From the context the decoder makes its next state, s${subscript(t + 1)}, and writes “${model.written[t]}”.${t + 1 === model.tokens.length ? finished : ""}`,
    ];
    said.forEach((words, i) => {
      scene.beat(words, ...rects[i]);
      Object.assign(scene.beats.at(-1), { turn: t, first: t ? whole : "" });
      scene.moves(moves[i]);
    });
  });
}
