// The map, what moves in the whole model: the beats of playing, and a followed token's way.

import { memoryNames, namedBands, tag, withShare } from "./map_named.js";
import { clearest } from "./map_purpose.js";
import { along, ease, own, travel } from "./map_moves.js";
import { path } from "./map_paint.js";
import { cutOut, heat } from "./map_patches.js";
import { lossesOf } from "./map_answer.js";
import { number, percent } from "./map_scene.js";
import { KINDS, likeliest, meanWeights, rowOf, sentenceOf, textOf, title, valueAt } from "./map_trace.js";
import { clamp, fitting, shorten, textWidth } from "./text.js";

const CUT = {
  ViT: "picture is cut into patches, and the class token comes first",
  GPT: "given text is cut into tokens",
};
const BEATS = {
  "masked-self-attention": "every token attends to itself and to the tokens before it",
  "self-attention": "every token attends to every token, and adds what it collects",
  image: "each framed patch in turn takes from the bluest patches, and finally the class token does",
  "feed-forward": "every vector goes through the same small network, by itself",
};

// How many beats come before the first target token is read: every later one writes a token.
export const beatsBefore = (model) => {
  if (model.recurrent) return 1;
  const { encoder, decoder } = model;
  // One beat per layer, two for the first; a decoder that reads a memory tells its later layers in one.
  return encoder ? 4 + encoder.layers.length + Math.min(2, decoder.layers.length) : 3 + decoder.layers.length;
};

// A recurrent decoder's step is told in four: compare, weigh, mix, write; a GPT's in two: what may follow,
// and what does.
export const STEP = 4;
const stepOf = ({ kind }) => (kind === "GPT" ? 2 : 1);
export const rowAt = (model, beat) =>
  model.recurrent
    ? Math.ceil(beat / STEP)
    : Math.floor((beat - beatsBefore(model)) / stepOf(model)) + (model.given || 1);
export const beatAt = (model, rows) =>
  model.recurrent ? rows * STEP : beatsBefore(model) - 1 + stepOf(model) * (rows - model.given + 1);

export function wholeBeats(scene, model) {
  const { encoder, decoder } = model;
  const { measures: m } = scene;
  const [stack] = model.stacks;
  const [{ top }] = stack.blocks;
  // A GPT's own tokens aren't painted, and don't move, before it writes them.
  const rows = stack === decoder ? m.rows : stack.n;
  const height = stack.n * m.pitch + 6;
  scene.beat(`The ${CUT[model.kind] || "sentence is cut into tokens"}.`, [0, top - 3, m.label + 3, height]);
  if (model.image) {
    scene.beats[0].rects.push([...scene.picture, m.side]);
    scene.moves(cutOut(stack, scene.picture, m.label - 4));
  } else if (!m.narrow) scene.moves(cutUp({ ...stack, tokens: stack.tokens.slice(0, rows), n: rows }, scene.width));
  const more = model.positions ? ", plus a vector for its position" : ". Positions will rotate its queries and keys";
  const vectors = [m.label + 3, top - 3, (m.narrow ? m.width : m.left - 4) - m.label - 3, height];
  scene.beat(`Every ${model.image ? "patch becomes a vector" : "token gets its embedding"}${more}.`, vectors);
  if (!m.narrow)
    scene.moves(travel(stack.entered, [m.label, stack.blocks[1].x - m.strip - 4], [6, m.strip], top, m.pitch, rows));
  stack.layers.forEach((sublayers, i) => {
    const block = stack.blocks[i + 1];
    // As the breadcrumb calls it.
    const name = `${stack.title} layer ${i + 1}`;
    const parts = [];
    let from = m.narrow ? 0 : block.x - 4;
    sublayers.forEach((one, k) => {
      const next = sublayers[k + 1];
      const to = next ? next.box[0] - 2 : sublayers.end + 3;
      const before = k ? sublayers[k - 1].after : i ? stack.layers[i - 1][sublayers.length - 1].after : stack.entered;
      const same = stack.answers && !one.heads && "another small network, again for every vector by itself";
      const first = stack.image && one.heads ? BEATS.image : BEATS[one.kind];
      const words = i ? encoder && (same || differs(one, before, stack, rows)) : first;
      const [, , wide] = one.box;
      const [start, end] = [k ? from : block.x - m.strip - 4, next ? one.box[0] + wide : sublayers.out];
      const go = m.narrow
        ? []
        : [
            during(0, 0.3, travel(before, [start, one.box[0] + 2], [16, wide / 3], block.top, stack.pitch, rows)),
            ...(one.heads ? [collects(one, stack, i + 1, rows)] : []),
            during(0.8, 1, travel(one.after, [one.box[0] + wide / 2, end], [8, 16], block.top, stack.pitch, rows)),
          ];
      const told = `${KINDS[one.kind].toLowerCase()}: ${words}`;
      parts.push([
        [told, one.heads ? "" : nowSays(model, i)],
        [from, block.top - 6, to - from, stack.n * stack.pitch + 12],
        go,
      ]);
      from = to;
    });
    if (i && encoder && !stack.answers) {
      const told = `${name}, ${parts.map(([[told]]) => told).join("; ")}.`;
      scene.beat(told, ...parts.map(([, rect]) => rect)).halves = true;
      scene.moves(...parts.flatMap(([, , go], k) => go.map((work) => halfOf(work, k))));
    } else if (encoder || !i)
      for (const [[told, then], rect, go] of parts) {
        const first = `${name}, ${told}`;
        scene.beat(`${first}${then}.`, rect).first = `${first}.`; // the answer is told when it comes
        scene.moves(...go);
      }
    else scene.beat(`${name}: the same two steps, with weights of its own.`, ...parts.map(([, rect]) => rect));
  });
  if (encoder) encoderDone(scene, model);
  if (model.scored) return scoredRows(scene, model);
  if (encoder && decoder) decoderLayers(scene, model);
  for (let row = model.given - 1; decoder && row < decoder.n; row++) {
    const rects = rowOfStack(scene, decoder, row);
    for (const words of encoder ? [writes(model, row)] : [mayFollow(model, row), follows(model, row)]) {
      Object.assign(scene.beat(words, ...(encoder && row < model.given ? rects.at(-1) : rects.flat())), {
        now: [scene.output, ...nextOf(scene, decoder, row)],
        follow: `decoder:${row}`,
      });
    }
    if (!encoder) scene.moves(joins(scene, decoder, row));
  }
}

const bandOf = (weight) => ({ width: 1 + 9 * weight, alpha: 0.25 + 0.6 * weight });

// A part of a step's time.
const during = (from, to, work) => (p, t) => t >= from && t <= to && work(p, (t - from) / (to - from));
const halfOf = (work, k) => Object.assign(during(k / 2, (k + 1) / 2, work), { open: work.open });

// Row by row: bands come from what a row attends to, and its row of every head appears.
function collects(sublayer, stack, block, rows) {
  const mean = meanWeights(sublayer);
  const [x, , wide] = sublayer.box;
  const work = (p, t) => {
    const come = Math.floor(clamp((t - 0.25) / 0.55, -0.01, 1) * rows);
    // Of a picture's many rows every seventh is seen, and in the end the class token's, of which alone
    // the words on later layers speak.
    const seen = come < rows && block < 2 ? come - (come % 7) + (come < 49 ? 4 : 0) : 0;
    const row = !stack.image || come < 0 ? come : seen;
    for (const [h, [left, top, size]] of sublayer.tiles.entries()) {
      const high = size / mean.rows;
      if (stack.image && row >= 0) heat(p, [left, top, size], stack, sublayer.heads[h].weights, row);
      else if (row < rows - 1)
        p.box(left, top + (row + 1) * high, size, (rows - 1 - row) * high, { fill: p.theme.tint, radius: 0 });
    }
    for (let key = 0; row >= 0 && row < rows && key < mean.cols; key++) {
      const weight = valueAt(mean, row, key);
      const ends = [x - 4, stack.y(key, block), x + wide, stack.y(row, block)];
      const { width, alpha } = bandOf(weight);
      if (weight > 0.02) p.ribbon(...ends, width, p.theme.query, alpha);
    }
  };
  return Object.assign(work, { open: true });
}

// The sentence in one line, below all names; its tokens go to their rows, one after the other.
function cutUp({ tokens, nameRects, n, y: at }, most) {
  const places = tokens.map((_, row) => nameRects[0](row));
  let from = places[0][0] + 4;
  const starts = tokens.map((token) => (from += 1.08 * textWidth(token, 14) + 10) - 1.08 * textWidth(token, 14) - 10);
  return (p, t) =>
    tokens.forEach((token, i) => {
      const [x, y, wide, high] = places[i];
      const end = x + wide - 1.08 * textWidth(token, 14) - 9;
      const way = path(Math.min(starts[i], most - 40), at((n - 1) / 2), end, y + high / 2);
      const [left, down] = along(way, own(t, i, tokens.length));
      tag(p, token, left, down, { size: 14, weight: 400 });
    });
}

// What a later layer does otherwise than the one before: its clearest head, or whom it moves most.
function differs(sublayer, before, stack, rows) {
  const { tokens } = stack;
  if (sublayer.heads) {
    const { h, words, over } = clearest({ ...stack, layers: [[sublayer]] }, rows);
    return `weights of its own; head ${h + 1} ${words}${stack.image ? "" : `, on average${over}`}`;
  }
  const change = tokens.map((_, row) =>
    rowOf(sublayer.after, row).reduce((sum, value, i) => sum + (value - rowOf(before, row)[i]) ** 2, 0),
  );
  return `of the numbers shown, those of “${tokens[change.indexOf(Math.max(...change))]}” change most`;
}

// What a ViT would answer after a layer, and how likely its picture's label is there.
function nowSays({ guesses, right }, i) {
  if (!guesses[i]) return "";
  const [answer, share] = guesses[i];
  const also = answer === right ? `, with ${percent(share)}` : `; “${right}” has ${percent(share)}`;
  return `; the answer would now be “${answer}”${also}`;
}

// The first target token on its way: through the first layer, then through all the others.
function decoderLayers(scene, { encoder, decoder, given }) {
  const row = given - 1;
  const { layers, tokens } = decoder;
  const [first, ...parts] = rowOfStack(scene, decoder, row);
  const most = layers.map((sublayers) => {
    const shares = Array.from(rowOf(meanWeights(sublayers.find((one) => one.kind === "cross-attention")), row));
    return `“${encoder.tokens[shares.indexOf(Math.max(...shares))]}” (${percent(Math.max(...shares))})`;
  });
  const go = (words, end, ...rects) =>
    Object.assign(scene.beat(words, ...rects.flat()), { follow: `decoder:${row}`, reach: layers[end].end });
  const does = `“${tokens[row]}” attends to itself, then takes most from ${most[0]}, then goes through the feed-forward network`;
  go(`Decoder layer 1: ${does}.`, 0, first, parts[0]);
  const later = most.slice(1).map((one, i) => `layer ${i + 2} takes most from ${one}`);
  if (later.length)
    go(`Later layers have weights of their own: ${later.join(", ")}.`, later.length, parts.slice(1, -1).flat());
}

// The reference is known, so all rows go through a layer at once, and then each is scored.
function scoredRows(scene, model) {
  const { measures: m } = scene;
  const { blocks, layers, n } = model.decoder;
  const block = (i, from, to) => [from, blocks[m.narrow ? i : 0].top - 3, to - from, n * m.pitch + 6];
  layers.forEach((sublayers, i) => {
    const rects = m.narrow ? [block(i + 1, 0, m.width)] : [block(0, i ? layers[i - 1].end : 0, sublayers.end)];
    if (m.narrow && !i) rects.unshift(block(0, 0, m.width));
    const words = i
      ? "the same again for all rows at once, with its own weights"
      : `the decoder reads the reference, all ${n} rows at once. Each attends to itself and to the rows above it, then to the source`;
    scene.beat(`Decoder layer ${i + 1}: ${words}.`, ...rects);
  });
  const costs = `Each of the ${n} rows costs −ln p of the reference’s next token`;
  const last = block(blocks.length - 1, m.narrow ? 0 : layers[layers.length - 1].end, m.width);
  scene.beat(`${costs}. Their mean, the loss, is ${number(lossesOf(model).mean)} nats.`, last, ...scene.parts.loss);
}

function encoderDone(scene, { encoder, decoder, candidates }) {
  const { measures: m } = scene;
  if (encoder.answers)
    return void scene.beat(
      `Only the class token’s vector goes on. From it comes the answer, “${candidates[0][0][0]}” (${percent(candidates[0][0][2])}).`,
      ...rowOfStack(scene, encoder, 0).flat(),
      ...scene.parts.loss,
    );
  const [x, y, w, h] = encoder.memory;
  const out = [m.narrow ? 0 : x - 6, y - 6, m.narrow ? m.width : w + 12, h + 12];
  if (!decoder)
    return void scene.beat("One vector per token comes out, and each now depends on the whole sentence.", out);
  const pipe = [0, encoder.bottom + 3, m.narrow ? 0 : x + w, decoder.blocks[0].top - encoder.bottom - 6];
  scene.beat("The encoder is done. Its output, the memory, goes to every decoder layer.", out, pipe);
}

// What happens once a target token is read.
function writes(model, row) {
  const { tokens } = model.decoder;
  const [best] = likeliest(model, row, 1);
  const said = row ? `“${tokens[row]}” is read as well` : `The decoder starts from “${tokens[0]}”`;
  const { written } = model;
  const all = sentenceOf(written.slice(0, row + 1));
  if (row && written[row] === "<eos>")
    return `“<eos>” is the likeliest next token, so the translation is done: “${shorten(all, 170)}”`;
  return `${said}, and ${best.mark ? "the chosen token is" : "the likeliest next token is"} “${best.token}”.${row ? ` So far: “${all.length > 90 ? "…" : ""}${all.slice(-90)}”` : ""}`;
}

// What a GPT's last row says of the next token, and which of them then joins the text.
function mayFollow(model, row) {
  const { tokens } = model.decoder;
  const [best, next] = likeliest(model, row, model.candidates[row].length);
  if (row >= model.given)
    return `“${tokens[row]}” is read as well. After it, “${best.token}” has ${percent(best.share)} and “${next.token}” ${percent(next.share)}.`;
  const each = [best, next].map(({ token, logit, share }) => `“${token}” ${number(logit)} → ${percent(share)}`);
  const heat = model.shown === 1 ? "" : ` at temperature ${model.shown.toFixed(1)}`;
  return `From the last row’s vector comes a logit for every token of the vocabulary; a softmax${heat} turns them into probabilities: ${each.join(", ")}.`;
}

function follows(model, row) {
  const all = likeliest(model, row, model.candidates[row].length);
  const { token, share, mark } = all.find((one) => one.drawn) || all[0];
  const many = model.drawnAt ? ` from the ${all.length} likeliest` : "";
  const how = mark === "chosen" ? "Chosen" : `${title(mark.replace(" at", " at temperature"))}${many}`;
  const now = / at/.test(mark) ? ` at ${model.shown.toFixed(1)}` : "";
  const beside = token === all[0].token ? "" : `; “${all[0].token}” has ${percent(all[0].share)}`;
  const text = textOf(model, -1, row + 1);
  return `${how}: “${token}” (${percent(share)}${now}${beside}). It joins the text: “${text.length > 40 ? "…" : ""}${text.slice(-40)}”`;
}

// The token that was drawn leaves the list for the row below the last one.
function joins({ drawn: [x, y, wide, high] }, { tokens, nameRects, n }, row) {
  const work = (p, t) => {
    p.frame(x, y, wide, high, p.theme.query);
    if (row + 1 === n) return;
    const [left, top, room, deep] = nameRects[0](row + 1);
    const end = left + room - 1.08 * textWidth(tokens[row + 1], 14) - 9;
    const [at, down] = along(path(x, y + high / 3, end, top + deep / 2), ease(clamp(2 * t - 0.7, 0, 1)));
    tag(p, tokens[row + 1], at, down, { size: 14, color: p.theme.query });
  };
  return Object.assign(work, { open: true });
}

// A token's row from left to right: strips and networks at its height, heads where its row lies. In
// groups: what comes before the layers, every layer, what comes after.
function rowOfStack(scene, stack, row) {
  const { measures: m } = scene;
  const { y, high } = stack;
  const band = (block, from, to) => [from, y(row, block) - high(block) / 2, to - from, high(block)];
  const groups = [m.narrow ? [band(0, 0, m.width)] : [stack.nameRects[0](row)]];
  let from = m.label;
  stack.layers.forEach((sublayers, i) => {
    const rects = [];
    from = m.narrow ? 0 : from;
    for (const sublayer of sublayers.filter((one) => one.heads)) {
      const [x, , width] = sublayer.box;
      rects.push(band(m.narrow ? i + 1 : 0, from, x));
      from = x + width;
      for (const [left, top, size] of sublayer.tiles) {
        const high = size / sublayer.heads[0].q.rows;
        rects.push(stack.image ? [left, top, size, size] : [left, top + row * high, size, high]);
      }
    }
    const end = m.narrow ? m.width : sublayers.end;
    rects.push(band(m.narrow ? i + 1 : 0, from, end));
    from = end;
    groups.push(rects);
  });
  const last = stack.blocks.length - 1;
  const end = stack.answers ? scene.output[0] + Math.min(m.strip, 26) + 8 : m.width;
  groups.push([m.narrow ? band(last, 0, m.width) : band(0, from, end)]);
  return groups;
}

// Where a decoder's row says what it writes.
const nextOf = ({ measures: { label } }, { arrow, pitch, y }, row) =>
  arrow ? [[arrow, y(row) - pitch / 2, label - arrow, pitch]] : [];

// On a phone only the last layer is in view: before what it takes most from stands what the first one did.
function beginsWith(p, layers) {
  const [[named], [, , [x, y]]] = [layers[0], layers.at(-1)];
  const [first] = named.toSorted((a, b) => b.weight - a.weight);
  const words = first && withShare(`L1 ${first.token}`, `${percent(first.weight)} · L${layers.length}`, x - 12, 12);
  if (words) tag(p, words, x, y, { align: "right", weight: 400, color: p.theme.query, least: 70 });
}

// What stays lit, the bands of what flows into a token in every layer, and the names at their ends.
// `reach`: how far to the right the computation has come.
export function followed(scene, model, follow, reach = Infinity) {
  const [name, index] = follow.split(":");
  const [stack, row] = [model[name], Number(index)];
  const { measures: m } = scene;
  const lit = [...rowOfStack(scene, stack, row).flat(), ...nextOf(scene, stack, row)];
  const [ribbons, words] = [[], []];
  // Of the source's tokens, in the deepest layer that was reached.
  let shares = [];
  stack.layers.forEach((sublayers, i) => {
    for (const sublayer of sublayers.filter((one) => one.heads)) {
      const mean = meanWeights(sublayer);
      const [x, , width] = sublayer.box;
      const cross = sublayer.kind === "cross-attention";
      if (x + width > reach) continue;
      if (cross) shares = Array.from({ length: mean.cols }, (_, key) => valueAt(mean, row, key));
      const named = [];
      for (let key = 0; key < mean.cols; key++) {
        const weight = valueAt(mean, row, key);
        if (!weight || (!cross && key === row)) continue;
        named.push({ token: (cross ? model.encoder : stack).tokens[key], weight });
        if (weight < 0.02) continue;
        const end = [x + width + (cross ? -4 : 1), stack.y(row, i + 1)];
        // Narrow: the memory is a screen away, so its bands begin above the layer, beside their names.
        const above = m.narrow && cross && [[sublayer.enters, stack.blocks[i + 1].top - 20]];
        const way = cross
          ? [...(above || sublayer.way(key)), [sublayer.enters, end[1]], end]
          : [[x - 4, stack.y(key, i + 1)], end];
        ribbons.push({ way, weight, cross });
        if (cross) continue;
        if (!stack.image && (m.narrow || !i)) lit.push(stack.nameRects[m.narrow ? i + 1 : 0](key));
      }
      const { x: from, top } = stack.blocks[i + 1];
      const pipe = sublayers.find(({ enters }) => enters)?.enters;
      if (stack.image || (m.narrow && !cross && pipe)) continue;
      const end = (pipe || from) + m.module - 4;
      // Beside the memory's line, beside the layer's name, or above it where there is no other stack.
      if (m.narrow && cross) words.push([named, "key", [pipe + 5, top - 12, m.width, 56]]);
      else if (m.narrow) words.push([named, "query", [from + 66, top - 12, m.width]]);
      else if (m.above > 30) words.push([named, "query", [from, top - 26, end]]);
      else if (pipe) words.push([named, cross ? "key" : "query", [pipe + 4, top - (cross ? 39 : 25), end]]);
      else words.push([named, "query", [from + (scene.short ? 22 : 62), top - 12, end + 8]]);
    }
  });
  if (stack.answers && (name === "decoder" || !row)) lit.push(...scene.parts.loss, ...(scene.parts.memory || []));
  const { picture } = scene;
  if (picture) lit.push([...picture, picture[2]]);
  const flows = (p) => {
    for (const { way, weight, cross } of ribbons) {
      const { width, alpha } = bandOf(weight);
      if (cross) p.line(way, { width, alpha, color: p.theme.key, radius: 8 });
      else p.ribbon(...way.flat(), width, p.theme.query, alpha);
    }
    if (picture) heat(p, picture, stack, meanWeights(stack.layers[stack.layers.length - 1][0]), row);
  };
  const named = (p) => {
    for (const [each, colour, place] of words) namedBands(p, each, p.theme[colour], place);
    const [x, y] = (model.stacks.length < 2 && !m.narrow && words[0]?.[0].length && words[0][2]) || [];
    const ways = ["attends most to:", "attends to:", "most to:"].map((way) => `besides itself, ${way}`);
    const most = fitting(ways, x - 8, 12);
    if (x) p.text(most, x - 4, y + 0.5, { size: 12, align: "right", color: p.theme.muted });
    if (m.narrow && words.length > 1 && words[0][1] === "query") beginsWith(p, words);
    if (stack.image) scene.saysOf(p, row);
    if (shares.length) memoryNames(p, scene, model, shares);
  };
  return { lit, flows, named };
}
