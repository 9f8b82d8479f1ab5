// The map, second depth at both ends: how tokens become vectors, and how a vector becomes a token.

import { lossesOf } from "./map_answer.js";
import { travel } from "./map_moves.js";
import { Scene, brief, number, percent } from "./map_scene.js";
import { enlarged, patchRow } from "./map_patches.js";
import { nameRows, namesWidth } from "./map_rows.js";
import { likeliest, rowOf } from "./map_trace.js";
import { clamp, fitting, marksIn, spelt, textWidth } from "./text.js";

const CUT_AGAIN = "can’t be scored, because the sentence would be cut into other tokens";
const said = (names) => (marksIn(names) ? `${marksIn(names)}.` : "");

// The tokens of a sum, two neighbours swapped: embeddings move along, the vectors of positions stay.
function swapped({ tokens, embeddings, positions, entered }, first) {
  const order = tokens.map((_, row) => (first < 0 || row < first || row > first + 1 ? row : 2 * first + 1 - row));
  const moved = { ...embeddings, data: Float32Array.from(order.flatMap((row) => Array.from(rowOf(embeddings, row)))) };
  const sum = { ...entered, data: moved.data.map((value, i) => value + positions.data[i]) };
  return { tokens: order.map((row) => tokens[row]), embeddings: moved, positions, entered: sum };
}

export function embeddingScene(model, where, width, room) {
  const { first } = where;
  const swaps = model.positions && !model.normalised && !model.image;
  const stack = swaps ? { ...where.stack, ...swapped(where.stack, first) } : where.stack;
  const sum = model.positions ? " plus the vector of its position" : "";
  const scene = new Scene(width, room, `${stack.title}: every ${stack.image ? "patch" : "token"}’s embedding${sum}`);
  const top = 62;
  const pitch = clamp((room - top - 10) / stack.n, 3, 30);
  const label = stack.image
    ? clamp(width * 0.3, 84, 240)
    : clamp(namesWidth(stack.tokens, pitch, 14) + 40, 70, Math.max(140, width * 0.2));
  const gap = clamp(width / 14, 18, 46);
  // One column alone takes the width.
  const n = model.positions ? 3 : 1;
  const strip = clamp((width - label - (n - 1) * gap - 4) / n, 30, n > 1 ? 330 : 760);
  const learned = model.image
    ? "from the patch’s pixels, by one linear layer"
    : model.scaled
      ? `learned, one per token, times √${model.width}`
      : "learned, one vector per token";
  const place = `one vector per position, in every ${model.image ? "picture" : "sentence"}`;
  const enters = "what enters the first layer";
  const added = [
    ["embeddings", "embedding", "Embedding", [learned, model.image ? "from the pixels" : "learned"]],
    ["positions", "position", "Position", [place, "one per position", "per position"]],
    ["entered", enters, model.normalised ? "Sum, then norm" : "Sum", [enters, "enters layer 1", "goes in"]],
  ];
  const columns = model.positions ? added : [["entered", "embedding", "Embedding", [learned]]];
  if (stack.image && label > 150) enlarged(scene, stack, [0, top, label - 92], [label, top, strip, pitch]);
  stack.tokens.forEach((token, row) => {
    const y = top + (row + 0.5) * pitch;
    if (stack.image) patchRow(scene, stack, row, label - 34, y, pitch);
    if (stack.image ? row % stack.image.along !== 1 : row % Math.ceil(14 / pitch)) return;
    scene.label(stack.image ? token : String(row), label - 8, y, { size: 12, align: "right", color: "muted" });
  });
  if (!stack.image) nameRows(scene, stack.tokens, { right: label - 36, top, pitch, room: label - 38 });
  for (let row = 0; swaps && row < stack.n - 1; row++) {
    const go = `${stack.name}/embedding${row === first ? "" : `/${row}`}`;
    const pair = `“${stack.tokens[row]}” with “${stack.tokens[row + 1]}”`;
    scene.button([0, top + row * pitch, label - 24, pitch], `Swap ${pair}`, { go }, [`press to swap ${pair}`]);
  }
  if (first >= 0)
    scene.paint((p) => p.frame(label - 26, top + first * pitch, width - label + 24, 2 * pitch, p.theme.key, 2));
  scene.rowAt = (row) => [top + row * pitch, pitch, label];
  const sign = { size: 22, weight: 600, align: "center", color: "muted" };
  columns.forEach(([name, what, words, more], i) => {
    const x = label + i * (strip + gap);
    scene.paint((p) => p.strips(stack[name], x, top, strip, pitch, { height: Math.max(3, pitch * 0.78) }));
    const room2 = i === columns.length - 1 ? width - x : strip + gap - 8;
    const short = { Embedding: model.image ? "Patch" : "Token", Position: "Pos." }[words] || words;
    const size = strip + gap > 120 ? 16 : 13;
    scene.label(fitting([words, short], room2 / 1.1), x, 18, { size, weight: 650, most: room2 });
    scene.label(fitting([...more, ""], room2), x, 40, { size: 13, color: "muted", most: room2 });
    if (i) scene.label(i === 1 ? "+" : "=", x - gap / 2, top + (pitch * stack.n) / 2, sign);
    scene.vectors([x, top, strip, pitch * stack.n], stack[name], stack.tokens, [words, what]);
    scene.part(["embeddings", "positions", "embeddings"][i], x, 0, strip, room);
    scene.beat(
      [
        model.image
          ? "One linear layer makes a vector of each patch; the class token has a learned one."
          : "Each token’s id picks a row of the embedding table.",
        `Each position has a vector of its own, the same for every ${model.image ? "picture" : "sentence"}.`,
        "The two are added. From here on one vector carries both.",
      ][i],
      [i ? x - gap : 0, 0, strip + (i ? gap : label + 2), room],
    );
    const comes = (part, k) => travel(stack[part], [label + k * (strip + gap), x], [strip, strip], top, pitch);
    if (i === 2) scene.moves(...["embeddings", "positions"].map(comes));
  });
  scene.hint = `A strip shows ${stack.embeddings.cols} of a vector’s ${model.width} entries${model.positions ? "; each of the three panels has its own colour scale" : ". Positions aren’t added here: each head rotates its queries and keys"}. Point at an entry to read it. ${said(stack.tokens)}`;
  if (first >= 0)
    scene.hint = `“${stack.tokens[first]}” and “${stack.tokens[first + 1]}” have changed places. Their embeddings moved with them, but the vectors of positions ${first} and ${first + 1} stayed, so both sums are new. Without positions, the layers would get the same vectors, only in another order.`;
  else if (swaps)
    scene.hint = `Press a token to swap it with the next: what moves with it, and what stays? ${scene.hint}`;
  return scene;
}

// `dials`: { temperature, choose }, or null where there is nothing to set.
export function outputScene(model, where, width, room, row, dials) {
  const { stack } = where;
  const classes = stack.name === "encoder";
  const found = likeliest(model, row, model.candidates[row].length);
  const after = classes ? "The class token" : `After “${stack.tokens[row]}”`;
  const scene = new Scene(width, room, `${after}: logits, softmax, ${classes ? "class" : "next token"}`);
  // On a phone the probability's bar lies below the token, and a logit is a number alone.
  const slim = width < 440;
  const left = slim ? 58 : clamp(width * 0.17, 70, 170);
  // The slider has a line of its own.
  const head = dials && !model.scored ? 38 : 0;
  if (head) scene.slot = [Math.min(left - 6, 4), 4, width - 8];
  const top = 56 + head;
  // Below the likeliest one bar for all the others, as far as their sum is known.
  const sum = found.reduce((a, { share }) => a + share, 0);
  const others = dials ? `${(model.vocabulary - found.length).toLocaleString("en")} others` : "";
  const count = found.length + (others ? 1 : 0);
  const pitch = clamp((room - top - 8) / count, slim ? 32 : 16, 40);
  const deep = (scene.height = Math.max(room, top + 8 + pitch * count));
  // Room for a ring to press.
  const ring = dials?.choose ? 18 : 0;
  const names = [others, ...found.map((one) => spelt(one.token))];
  const token = clamp(Math.max(...names.map((name) => textWidth(name, 15))) + 16 + ring, 60, 150);
  const told = ({ share, drawn, mark }) => `${brief(share)}${drawn ? `, ${mark}` : ""}`;
  // A token that vanishes when the sentence is cut again can't be scored.
  const lost = ({ kept, drawn }) => model.scored && !kept && !drawn;
  const beside = 1.1 * Math.max(...found.map((one) => textWidth(told(one), 13))) + 8;
  const room2 = (width - left - token - 90 - beside) / 2;
  const [x1, x2] = slim ? [width - 108, width - 78] : [left + token, left + token + room2 + 90];
  const high = Math.max(0, ...found.map(({ logit }) => logit));
  const low = Math.min(0, ...found.map(({ logit }) => logit));
  const y0 = top + (pitch * found.length) / 2;
  const chosen = found.find(({ drawn }) => drawn) || found[0];
  // What the reference's token had before a copy was trained.
  const once = model.scored && model.untrained ? Math.exp(-model.untrained[row]) : 0;
  scene.paint((p) => {
    const strip = left - 34;
    p.row(stack.output, row, 0, y0 - 13, strip, 26);
    const last = others ? [{ token: others, share: Math.max(0, 1 - sum) }] : [];
    [...found, ...last].forEach((one, i) => {
      const { token: word, logit, share, drawn } = one;
      const y = top + (i + 0.5) * pitch;
      const own = i === model.drawn[row];
      const listed = i < found.length;
      const fill = listed ? p.theme.query : p.theme.muted;
      if (ring && listed && !lost(one))
        p.box(left, y - 6, 12, 12, { radius: 6, edge: own ? p.theme.query : p.theme.muted, line: own ? 4 : 1.5 });
      const bar = clamp(pitch * 0.5, 8, 18);
      if (listed) p.ribbon(strip + 3, y0, left - 5, y, 1 + 4 * share, p.theme.query, 0.3 + 0.7 * share);
      const weight = one === chosen ? 650 : 400;
      if (slim) {
        const wide = width - left - ring - 4;
        const color = drawn ? p.theme.query : listed ? p.theme.ink : p.theme.muted;
        const most = listed ? x1 - left - ring - 4 : wide - 56;
        p.text(spelt(word), left + ring, y - 6, { size: 14, weight, color, most });
        p.text(listed ? number(logit) : "", x2, y - 6, { size: 13, align: "right", color: p.theme.muted });
        p.text(brief(share), width - 4, y - 6, { size: 13, align: "right", weight });
        p.box(left + ring, y + 6, wide, 6, { fill: p.theme.masked, radius: 3 });
        p.box(left + ring, y + 6, Math.max(2, wide * share), 6, { fill, radius: 3 });
        if (own && once) p.box(left + ring, y + 6, wide * once, 6, { edge: p.theme.ink, radius: 3 });
        return;
      }
      p.text(spelt(word), left + ring, y, { size: 15, weight, most: token - ring - 8 });
      p.box(x2, y - bar / 2, Math.max(2, room2 * share), bar, { fill, radius: 3 });
      if (own && once) p.box(x2, y - bar / 2, room2 * once, bar, { edge: p.theme.ink, radius: 3 });
      p.text(told(one), x2 + Math.max(2, room2 * share, own * room2 * once) + 6, y, { size: 13, weight });
      if (!listed) return;
      const at = (value) => x1 + (room2 * (value - low)) / (high - low || 1);
      const [from, to] = [at(Math.min(0, logit)), at(Math.max(0, logit))];
      p.box(from, y - bar / 2, Math.max(2, to - from), bar, { fill: p.theme.lane, radius: 3 });
      if (low < 0) p.box(at(0) - 0.5, y - pitch / 2, 1, pitch, { fill: p.theme.muted, radius: 0 });
      p.text(number(logit), Math.max(to, at(0)) + 6, y, { size: 13, color: p.theme.muted });
    });
  });
  const among = classes ? "class" : "token of the vocabulary";
  scene.note(
    fitting(["last layer’s vector", "last layer", "vector"], left - 20, 12),
    0,
    slim ? head + 36 : y0 - 26,
    "left",
    left - 6,
  );
  const hot = dials && dials.temperature !== 1;
  const size = slim ? 14 : 16;
  const align = slim ? "right" : "left";
  scene.label("Logits", slim ? x2 : x1, head + (slim ? 36 : 14), { size, weight: 650, align });
  if (!slim) scene.note(fitting([`per ${among}`, "per token"], room2 + 80), x1, head + 36, "left", room2 + 80, 13);
  const divided = hot ? `Softmax of logits ÷ ${dials.temperature.toFixed(1)}` : "Softmax";
  const heading = 1.1 * textWidth(divided, 16) < width - x2 ? divided : "Softmax";
  scene.label(heading, slim ? width - 4 : x2, head + (slim ? 36 : 14), { size, weight: 650, align });
  const sums = slim ? "" : fitting(["probabilities: they sum to 1", "they sum to 1"], width - x2);
  scene.note(sums, x2, head + 36, "left", width - x2, 13);
  const one = { data: Float32Array.from(found, ({ share }) => share), rows: found.length, cols: 1 };
  const both = ({ logit, share }) => `logit ${number(logit)}, probability ${percent(share)}`;
  const tell = (_, i) => [`“${found[i].token}”`, both(found[i])];
  if (ring) {
    found.forEach((next, i) => {
      const [what, does] = model.scored ? ["the reference", "score it"] : ["what’s written", "write it"];
      const act = i === model.drawn[row] ? `it is ${what}` : lost(next) ? CUT_AGAIN : `${does} instead`;
      const rect = [left - 6, top + i * pitch, width - left + 3, pitch];
      const [names, ...more] = tell(one, i);
      const tip = lost(next) ? [`${names} ${act}:`, ...more] : [names, ...more, `click: ${act}`];
      scene.button(rect, `${names}, ${percent(next.share)}: ${act}`, lost(next) ? {} : { choose: i }, tip);
    });
  } else {
    const listed = classes ? "Likeliest classes" : "Likeliest next tokens";
    scene.grid([left - 6, top, width - left + 3, pitch * found.length], one, listed, tell);
  }
  const which = `The last layer’s vector of the ${classes ? "class" : "newest"} token`;
  scene.beat(`${which} is multiplied by the output matrix.`, [0, 0, left - 4, deep]);
  scene.beat(`That gives one number per ${among}, its logit.`, [left - 6, 0, x2 - left - 6, deep]);
  const likely = `“${found[0].token}” gets ${percent(found[0].share)}`;
  scene.beat(`A softmax turns logits into probabilities. ${likely}.`, [x2 - 8, 0, width - x2 + 8, deep]);
  const rest = `${percent(Math.max(0, 1 - sum))} goes to the ${others}, “${found[0].token}” keeps ${percent(found[0].share)}`;
  const cut = model.drawnAt
    ? ` Only these ${found.length} can be drawn, so “${chosen.token}” has a chance of ${percent(chosen.among)}.`
    : hot && dials.choose
      ? ` “Draw one” draws among these ${found.length} only.`
      : "";
  scene.hint = classes
    ? `The class token’s vector alone decides. The other vectors of the last layer aren’t used. ${model.aim}`
    : model.scored
      ? `This row is scored on the ${model.unreferred ? "model’s own translation" : "reference"}: ${lossesOf(model).found[row].says}.${ring ? " Press another token to score that instead." : ""}`
      : `${hot ? `At temperature ${dials.temperature.toFixed(1)}, ${rest}.` : `The ten likeliest tokens after “${stack.tokens[row]}”.`}${cut} ${ring ? "Press another one, and the model goes on from that instead." : model.kind === "GPT" ? "What is drawn becomes the next input." : "What is written next becomes the decoder’s next input."} ${said(found.map((one) => one.token))}`;
  return scene;
}
