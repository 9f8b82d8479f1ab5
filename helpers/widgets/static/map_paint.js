// The map, painting: colours of numbers, and the few shapes that every depth is drawn with.

import { colourWords } from "./colour.js";
import { FONT, clamp, shorten, textWidth } from "./text.js";

// A photograph looks the same on both papers.
const GREYS = Array.from({ length: 256 }, (_, i) => [i, i, i]);

// A matrix as a picture of one pixel a number, kept as long as the matrix lives.
const pictures = { light: new WeakMap(), dark: new WeakMap() };
function pictureOf(one, theme) {
  const kept = pictures[theme.name].get(one);
  if (kept) return kept;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [one.cols, one.rows];
  const context = canvas.getContext("2d");
  const image = context.createImageData(one.cols, one.rows);
  const words = new Uint32Array(image.data.buffer);
  const name = one.weights ? "rampWords" : one.grey ? "greyWords" : "signedWords";
  const colours = (theme[name] ||= colourWords(one.weights ? theme.ramp : one.grey ? GREYS : theme.signed));
  one.data.forEach((value, i) => (words[i] = colours[levelOf(one, value)]));
  context.putImageData(image, 0, 0);
  pictures[theme.name].set(one, canvas);
  return canvas;
}

const levelOf = (one, value) =>
  clamp(Math.round(one.weights || one.grey ? (255 * value) / one.most : 127.5 + (127.5 * value) / one.most), 0, 255);
export const colourOf = (one, value, theme) => (one.weights ? theme.ramp : theme.signed)[levelOf(one, value)];

// Points from their numbers: x, y, x, y, …
export const path = (...all) => Array.from({ length: all.length / 2 }, (_, i) => [all[2 * i], all[2 * i + 1]]);

export class Paint {
  constructor(context, theme) {
    Object.assign(this, { context, theme });
    context.imageSmoothingEnabled = false;
  }

  text(words, x, y, { size = 13, weight = 400, color = this.theme.ink, align = "left", most = 0, turn = 0 } = {}) {
    const { context } = this;
    // Bold letters are a tenth wider than those that are measured.
    const shown = most ? cut(words, weight > 500 ? most / 1.1 : most, size) : words;
    context.font = `${weight} ${size}px ${FONT}`;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillStyle = color;
    if (!turn) return void context.fillText(shown, x, y);
    context.save();
    context.translate(x, y);
    context.rotate(turn);
    context.fillText(shown, 0, 0);
    context.restore();
  }

  // Vectors, one a row, each a strip of colours; beside a row of which is told, an `own` one, they are pale.
  strips(one, x, y, width, pitch, { height: most, rows = one.rows, from = 0 } = {}) {
    const picture = pictureOf(one, this.theme);
    // Of a picture's many thin rows none leaves a gap.
    const height = most || (this.own === undefined ? Math.max(2, Math.round(pitch * 0.68)) : pitch);
    const top = y + (pitch - height) / 2;
    for (let r = from; r < rows; r++) {
      this.context.globalAlpha = (this.own ?? r) === r ? 1 : 0.4;
      this.context.drawImage(picture, 0, r, one.cols, 1, x, top + r * pitch, width, height);
    }
    this.context.globalAlpha = 1;
  }

  // A part of a picture: from column and row, so many of them, to a place on the page.
  grey(one, col, row, cols, rows, x, y, width, height) {
    this.context.drawImage(pictureOf(one, this.theme), col, row, cols, rows, x, y, width, height);
  }

  row(one, row, x, y, width, height) {
    this.grey(one, 0, row, one.cols, 1, x, y, width, height);
  }

  // A whole matrix, cells side by side.
  matrix(one, x, y, width, height, { rows = one.rows, frame = true } = {}) {
    const { context, theme } = this;
    const picture = pictureOf(one, theme);
    const part = (height * rows) / one.rows;
    if (rows < one.rows) this.box(x, y, width, height, { fill: theme.masked, radius: 0 });
    context.drawImage(picture, 0, 0, one.cols, rows, x, y, width, part);
    if (frame) this.box(x - 0.5, y - 0.5, width + 1, height + 1, { edge: theme.edge, radius: 1 });
    if (!one.off) return;
    this.box(x, y, width, height, { fill: theme.veil, edge: theme.key, radius: 1 });
    this.straight(x, y + height, x + width, y, { color: theme.key, width: 2 });
  }

  // Seams between the cells of a matrix.
  seams(rows, cols, x, y, cell, high = cell) {
    const { context, theme } = this;
    context.fillStyle = theme.paper;
    for (let c = 1; c < cols; c++) context.fillRect(x + c * cell - 0.5, y, 1, rows * high);
    for (let r = 1; r < rows; r++) context.fillRect(x, y + r * high - 0.5, cols * cell, 1);
  }

  // What is meant, framed.
  frame(x, y, width, height, edge = this.theme.ink, line = 2) {
    this.box(x, y, width, height, { edge, line, radius: 2 });
  }

  box(x, y, width, height, { fill, edge, radius = 7, line = 1, dash = [] } = {}) {
    const { context } = this;
    context.beginPath();
    context.roundRect(x, y, width, height, radius);
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (!edge) return;
    context.strokeStyle = edge;
    context.lineWidth = line;
    context.setLineDash(dash);
    context.stroke();
    context.setLineDash([]);
  }

  straight(x0, y0, x1, y1, style) {
    this.line(path(x0, y0, x1, y1), style);
  }

  line(points, { color = this.theme.lane, width = 1.5, arrow = false, radius = 10, alpha = 1 } = {}) {
    const { context } = this;
    context.globalAlpha = alpha;
    context.strokeStyle = context.fillStyle = color;
    context.lineWidth = width;
    context.lineJoin = context.lineCap = "round";
    context.beginPath();
    context.moveTo(...points[0]);
    for (let i = 1; i < points.length - 1; i++) context.arcTo(...points[i], ...points[i + 1], radius);
    context.lineTo(...points[points.length - 1]);
    context.stroke();
    if (arrow) this.arrowHead(points[points.length - 2], points[points.length - 1], 4 + width);
    context.globalAlpha = 1;
  }

  arrowHead([x0, y0], [x, y], size) {
    const { context } = this;
    const angle = Math.atan2(y - y0, x - x0);
    context.beginPath();
    context.moveTo(x, y);
    for (const side of [2.6, -2.6])
      context.lineTo(x + size * Math.cos(angle + side), y + size * Math.sin(angle + side));
    context.fill();
  }

  // A band whose width says how much flows.
  ribbon(x0, y0, x1, y1, width, color, alpha) {
    const { context } = this;
    const bend = (x1 - x0) * 0.45;
    context.globalAlpha = alpha;
    context.strokeStyle = color;
    context.lineWidth = width;
    context.lineCap = "butt";
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    context.stroke();
    context.globalAlpha = 1;
  }

  // The addition of a residual connection.
  plus(x, y, size, color) {
    const look = { fill: this.theme.paper, edge: color, line: 1.5, radius: size };
    this.box(x - size, y - size, 2 * size, 2 * size, look);
    this.straight(x - size * 0.5, y, x + size * 0.5, y, { color });
    this.straight(x, y - size * 0.5, x, y + size * 0.5, { color });
  }

  tick(x, y) {
    this.box(x - 7, y - 7, 14, 14, { fill: this.theme.value });
    this.line(path(x - 3, y, x - 1, y + 3, x + 3.5, y - 3), { color: this.theme.paper, width: 2, radius: 0 });
  }

  // The feed-forward network: it widens every vector and narrows it again. Its lower half mirrors the upper one.
  outline(x, y, width, height, slope, inset) {
    const shape = new Path2D();
    const half = path(0, inset, slope, 0, width - slope, 0, width, inset);
    for (const [across, down] of half) shape.lineTo(x + across, y + down);
    for (const [across, down] of half.toReversed()) shape.lineTo(x + across, y + height - down);
    shape.closePath();
    return shape;
  }
  lens(one, x, y, width, height, rows = one.rows) {
    const { context, theme } = this;
    const outline = this.outline(x, y, width, height, width * 0.34, height * 0.16);
    context.save();
    context.clip(outline);
    context.fillStyle = theme.box;
    context.fillRect(x, y, width, height);
    context.globalAlpha = this.own === undefined ? 1 : 0.4;
    context.drawImage(pictureOf(one, theme), 0, 0, one.cols, rows, x, y, width, (height * rows) / one.rows);
    context.restore();
    context.strokeStyle = theme.edge;
    context.lineWidth = 1;
    context.stroke(outline);
  }
}

// As many letters as fit.
const fitted = new Map();
export function cut(words, most, size) {
  const key = `${words}/${most}/${size}`;
  if (fitted.has(key)) return fitted.get(key);
  let length = [...words].length;
  let shown = words;
  while (length > 2 && textWidth(shown, size) > most) shown = shorten(words, --length);
  if (fitted.size > 2000) fitted.clear();
  fitted.set(key, shown);
  return shown;
}
