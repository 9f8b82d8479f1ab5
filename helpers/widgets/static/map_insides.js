// The map, what lies inside its parts: read from what Python sent, where it sent any.

import { rgb } from "./colour.js";
import { heat, patchButtons } from "./map_patches.js";
import { matrix, numbersAt, oneRow, rowOf } from "./map_trace.js";
import { wholeNumbers } from "./numbers.js";
import { clamp, textWidth } from "./text.js";

// Norms, neurons and the softmax's sums join the trace.
export function readInsides(trace, inside, view) {
  if (!inside?.encoder && !inside?.decoder) return;
  const codes = wholeNumbers(view, Int16Array);
  const strip = (place, more) => {
    const [cols, rows = 1] = place.shape.toReversed();
    return matrix(numbersAt(codes, place), rows, cols, more);
  };
  for (const stack of trace.stacks) {
    stack.layers.forEach((sublayers, i) =>
      sublayers.forEach((sublayer, k) => {
        const { norm, neurons } = inside[stack.name][i][k];
        const { width } = sublayer.after;
        sublayer.norm = norm && { ...norm };
        for (const name of norm ? ["before", "gain", "bias"] : []) sublayer.norm[name] = strip(norm[name], { width });
        if (neurons)
          sublayer.neurons = {
            before: strip(neurons.before, { width: sublayer.hidden.width }),
            writes: strip(neurons.writes, { width }),
          };
        if (neurons && trace.activation === "ReLU")
          // what it lets through is the number before it, to the last digit
          sublayer.hidden.data = sublayer.neurons.before.data.map((value) => Math.max(0, value));
      }),
    );
  }
  const { encoder, decoder, ...more } = inside;
  Object.assign(trace, { opens: true, ...more });
}

// A head's projection of one row, which Python sends once its place is open: the row, the matrix,
// the bias, and what they make. Of W_O's the row is what the heads, `joined`, have found.
export function readProjection(asked, view, joined) {
  const codes = wholeNumbers(view, Int16Array);
  const [rows, cols] = asked.weight.shape;
  const bias = numbersAt(codes, asked.bias);
  const input = joined || numbersAt(codes, asked.input);
  const weight = matrix(numbersAt(codes, asked.weight), rows, cols);
  const sums = new Float32Array(cols);
  input.forEach((x, i) => rowOf(weight, i).forEach((w, j) => (sums[j] += x * w)));
  const made = sums.map((sum, j) => sum + bias[j]);
  return { input: matrix(input, rows, 1), weight, bias: oneRow(bias), sums: oneRow(sums), made: oneRow(made) };
}

// A vector through its norm: as it came, with mean 0 and variance 1, and as it leaves.
export function normed({ mean, deviation, before, gain, bias }, row) {
  const came = Array.from(rowOf(before, row));
  const even = came.map((x) => (x - mean[row]) / deviation[row]);
  return { came, even, leaves: even.map((z, i) => gain.data[i] * z + bias.data[i]) };
}

// ---- what the scenes of the insides share ----------------------------------------------------

// Bars up and down from zero, side by side: where zero is, and how high one is.
export function signedBars(scene, values, x, y, wide, high, ends = [Math.min(...values, 0), Math.max(...values, 0)]) {
  const [low, top] = ends;
  const unit = high / (top - low || 1);
  const middle = y + top * unit;
  const cell = wide / values.length;
  scene.paint((p) => {
    values.forEach((value, i) => {
      const [from, size] = [middle - Math.max(0, value) * unit, Math.max(0.5, Math.abs(value) * unit)];
      p.box(x + i * cell, from, Math.max(1, cell - 1), size, {
        fill: rgb(p.theme.signed[value < 0 ? 56 : 200]),
        radius: 1,
      });
    });
    p.straight(x, middle, x + wide, middle, { color: p.theme.edge, width: 1 });
  });
  return { middle, unit };
}

// In a matrix's place, until it's there.
export function awaited(scene, live, x, y, wide, high) {
  const stays = "The matrix stays with the kernel: run the cell, then press again.";
  scene.paint((p) => p.box(x, y, wide, high, { edge: p.theme.edge, dash: [5, 4] }));
  const style = { size: 14, align: "center", color: "muted", most: wide - 12 };
  const says = live ? "The kernel is sending the matrix …" : stays;
  scene.besides([x, y, 2, 2]).label(says, x + wide / 2, y + high / 2, style);
}

// Which colours are negative, and which positive.
export function signKey(scene, x, y) {
  const colours = oneRow(Array.from({ length: 24 }, (_, i) => i / 11.5 - 1));
  scene.labels.push((p) => {
    p.text("−", x, y, { size: 12, color: p.theme.muted });
    p.row(colours, 0, x + 11, y - 4, 24, 8);
    p.text("+", x + 38, y, { size: 12, color: p.theme.muted });
  });
}

// The tokens, one of them chosen, each to be pressed; of many those around it. How wide they are.
// Of a picture the patches are chosen in it, and blue may say how much each has of something.
export function pickRow(scene, stack, tokens, chosen, room, place, blue = null) {
  const fits = stack.image ? 1 : Math.min(tokens.length, Math.floor((room - 24) / 25));
  const first = stack.image ? 0 : clamp(chosen - (fits >> 1), 0, tokens.length - fits);
  const shown = tokens.slice(first, first + fits);
  const slim = scene.width < 540;
  const longest = Math.ceil(1.1 * Math.max(...shown.map((token) => textWidth(token, 13))));
  const wide = clamp(longest + 12, slim ? 48 : 96, slim ? 70 : 110);
  const pitch = Math.min(30, (room - 24) / fits);
  const top = stack.image ? 30 + wide : 24;
  if (stack.image) {
    scene.paint((p) => heat(p, [0, 24, wide], stack, blue, chosen));
    patchButtons(scene, [0, 24, wide], stack, "in the picture", (row) => ({ go: place(row) }), "click to show it");
  }
  scene.note(slim ? "choose" : `choose a ${stack.image ? "patch" : "token"}`, wide / 2, 12, "center");
  // They choose; they don't name the rows beside them.
  scene.paint((p) => p.straight(wide + 11, 0, wide + 11, room, { color: p.theme.edge, width: 1 }));
  shown.forEach((token, i) => {
    const own = first + i === chosen;
    const y = top + i * pitch;
    scene.paint((p) => {
      const edge = p.theme[own ? "query" : "edge"];
      p.box(1, y + 1, wide - 1, pitch - 2, { fill: p.theme.box, edge, line: own ? 2 : 1, radius: 6 });
    });
    scene.label(token, wide / 2, y + pitch / 2, { size: 13, weight: own ? 650 : 400, align: "center", most: wide - 8 });
    scene.button([0, y, wide, pitch], `Token ${first + i + 1}: ${token}${own ? ", shown" : ", show it"}`, {
      go: place(first + i),
    });
  });
  return wide + 6;
}
