// The map, what lies inside its parts: read from what Python sent, where it sent any.

import { matrix, numbersAt } from "./map_trace.js";
import { wholeNumbers } from "./numbers.js";

// Norms, neurons and the softmax's sums join the trace.
export function readInsides(trace, inside, view) {
  if (!inside?.chooses && !inside?.encoder && !inside?.decoder) return;
  const codes = wholeNumbers(view, Int16Array);
  const strip = (place, more) => matrix(numbersAt(codes, place), place.shape.length > 1 ? place.shape[0] : 1, place.shape[place.shape.length - 1], more);
  for (const stack of trace.stacks) {
    stack.layers.forEach((sublayers, i) => sublayers.forEach((sublayer, k) => {
      const { norm, neurons } = inside[stack.name][i][k];
      const { width } = sublayer.after;
      if (norm) sublayer.norm = { ...norm, before: strip(norm.before, { width }), gain: strip(norm.gain, { width }), bias: strip(norm.bias, { width }) };
      if (neurons) sublayer.neurons = { before: strip(neurons.before, { width: sublayer.hidden.width }), writes: strip(neurons.writes, { width }) };
    }));
  }
  Object.assign(trace, { chooses: inside.chooses, sums: inside.sums, temperatures: inside.temperatures });
}

// The shares of the likeliest tokens at a temperature: the whole vocabulary's sum came with them.
export function atTemperature(model, row, found, temperature) {
  const nearest = model.temperatures.reduce((a, b, i, all) => (Math.abs(b - temperature) < Math.abs(all[a] - temperature) ? i : a), 0);
  return found.map((one) => ({ ...one, share: Math.exp(one.logit / model.temperatures[nearest] - model.sums[row][nearest]) }));
}
