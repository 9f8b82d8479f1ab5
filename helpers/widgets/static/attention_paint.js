// The attention view's painting on canvases. Nothing here knows of the page around them.

import {
  isMasked,
  levelOf,
  lineOpacity,
  lineWidth,
  headOf,
  linesFor,
  reduced,
  weightAt,
  worthWriting,
  written,
} from "./attention_data.js";
import { colourWords, inkOn } from "./colour.js";
import { fitCanvas } from "./page.js";
import { FONT, textWidth } from "./text.js";

const hexOf = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

// One pixel a weight; enlarged without smoothing when it is painted.
function pixelMap(head, theme, out) {
  const canvas = out || document.createElement("canvas");
  canvas.width = head.nk;
  canvas.height = head.nq;
  const context = canvas.getContext("2d");
  const image = context.createImageData(head.nk, head.nq);
  const words = new Uint32Array(image.data.buffer);
  const colours = theme.words || (theme.words = colourWords([...theme.ramp, hexOf(theme.masked)]));
  for (let i = 0; i < words.length; i++) {
    const masked = isMasked(head, Math.floor(i / head.nk), i % head.nk);
    words[i] = masked ? colours[256] : colours[levelOf(head, head.codes[i])];
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

export function paintHeatmap(canvas, head, theme, { cell, wide }, scratch) {
  const [width, height] = [head.nk * wide, head.nq * cell];
  const scale = fitCanvas(canvas, width, height);
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.drawImage(pixelMap(head, theme, scratch), 0, 0, canvas.width, canvas.height);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  if (wide >= 12) {
    context.fillStyle = theme.paper;
    const gap = wide >= 30 ? 2 : wide >= 18 ? 1 : 0.5;
    for (let k = 1; k < head.nk; k++) context.fillRect(k * wide - gap / 2, 0, gap, height);
    for (let q = 1; q < head.nq; q++) context.fillRect(0, q * cell - gap / 2, width, gap);
  }
  const size = [16, 14, 12, 11].find((high) => high * 1.7 <= cell && textWidth("0.00", high) + 2 <= wide);
  if (size && head.nq * head.nk <= 400) writeNumbers(context, head, theme, { cell, wide }, size);
}

function writeNumbers(context, head, theme, { cell, wide }, size) {
  context.font = `${size}px ${FONT}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let q = 0; q < head.nq; q++) {
    for (let k = 0; k < head.nk; k++) {
      const colour = theme.ramp[levelOf(head, head.codes[q * head.nk + k])];
      context.fillStyle = inkOn(colour);
      const weight = weightAt(head, q, k);
      if (worthWriting(weight)) context.fillText(written(weight), (k + 0.5) * wide, (q + 0.53) * cell);
    }
  }
}

export function paintLines(canvas, head, theme, shown, row, width) {
  const height = Math.max(head.nq, head.nk) * row;
  const scale = fitCanvas(canvas, width, height);
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.lineCap = "round";
  const { faint, strong } = linesFor(head, shown);
  const draw = (lines, colour, strength) => {
    context.strokeStyle = colour;
    for (const { q, k, w } of lines) {
      const [from, to] = [(q + 0.5) * row, (k + 0.5) * row];
      context.globalAlpha = strength * lineOpacity(w);
      context.lineWidth = lineWidth(w);
      context.beginPath();
      context.moveTo(3, from);
      context.bezierCurveTo(width * 0.45, from, width * 0.55, to, width - 3, to);
      context.stroke();
    }
  };
  draw(faint, theme.muted, 0.16);
  draw(strong, shown && shown.side === "key" ? theme.key : theme.query, 1);
  context.globalAlpha = 1;
}

// All heads at a glance.
export function paintHeads(canvas, map, theme, tile, gap) {
  const pitch = tile + gap;
  const scale = fitCanvas(canvas, map.heads * pitch, map.layers * pitch);
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.imageSmoothingEnabled = false;
  const scratch = document.createElement("canvas");
  for (let layer = 0; layer < map.layers; layer++) {
    for (let head = 0; head < map.heads; head++) {
      const small = reduced(headOf(map, layer, head), Math.round(tile * scale));
      pixelMap(small, theme, scratch);
      context.drawImage(scratch, head * pitch + gap / 2, layer * pitch + gap / 2, tile, tile);
    }
  }
}
