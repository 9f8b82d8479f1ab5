// The map, its depths: which scene belongs to which place.

import { readPlace } from "./map_trace.js";
import { headScene } from "./map_head.js";
import { headsScene } from "./map_heads.js";
import { joinScene } from "./map_join.js";
import { layerScene } from "./map_layer.js";
import { neuronScene } from "./map_neuron.js";
import { normScene } from "./map_norm.js";
import { numberScene } from "./map_number.js";
import { projectScene } from "./map_project.js";
import { whyScene } from "./map_why.js";
import { embeddingScene, outputScene } from "./map_ends.js";
import { recurrentScene } from "./map_recurrent.js";
import { wholeScene } from "./map_whole.js";

// Height of the picture, in pixels.
export const ROOM = 464;

export function sceneOf(model, place, width, rows, options) {
  const { current = rows - 1, query = 0, height = ROOM, spare = 0, fits, dials = null, more = {}, small } = options;
  const where = readPlace(place, model);
  if (model.recurrent && !where.depth) return recurrentScene(model, width, height, current, more.live);
  const inside = { norm: normScene, neuron: neuronScene, projection: projectScene, join: joinScene }[where.inside];
  if (inside) return inside(where, place, width, height, more);
  if (where.inside === "heads") return headsScene(model, width, height, more);
  if (where.inside === "why") return whyScene(where, width, height, more);
  if (where.depth === 3) return numberScene(where, place, width, height);
  if (where.depth === 2) return headScene(where, place, width, height, query);
  if (where.section === "embedding") return embeddingScene(model, where, width, height);
  if (where.section) return outputScene(model, where, width, height, current, dials);
  if (where.depth === 1) return layerScene(model, where, place, width, height, query);
  const { turns, answers, touring } = more;
  return wholeScene(model, width, height, rows, { current, query, answers, spare, fits, small, turns, touring });
}
