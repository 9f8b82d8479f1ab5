// The attention view's picture to copy or save: what is on the page, as SVG.

import { describe, levelOf, lineOpacity, lineWidth, linesFor, weightAt } from "./attention_data.js";
import { numberIn, numberSize, numbersFit, paintHeatmap } from "./attention_paint.js";
import { inkOn, rgb } from "./colour.js";
import { FONT, escapeXml, shorten } from "./text.js";

export function svgPicture(head, theme, view, shown, title, geometry) {
  const body = view === "lines" ? svgLines : svgHeatmap;
  const { width, height, parts } = body(head, theme, shown, geometry);
  const note = shown ? describe(head, shown.side, shown.index) : "";
  return {
    width,
    height: height + 44,
    text:
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + 44}" ` +
      `viewBox="0 0 ${width} ${height + 44}" font-family='${FONT}' font-size="16">` +
      `<title>${escapeXml(title)}</title><desc>${escapeXml(note)}</desc>` +
      `<rect width="100%" height="100%" fill="${theme.paper}"/>` +
      `<text x="12" y="28" font-weight="600" fill="${theme.ink}">${escapeXml(title)}</text>` +
      `<g transform="translate(0 44)">${parts.join("")}</g></svg>`,
  };
}

const svgText = (text, x, y, fill, more = "") =>
  `<text x="${x}" y="${y}" fill="${fill}" dominant-baseline="central" ${more}>${escapeXml(text)}</text>`;

function svgHeatmap(head, theme, shown, { cell, left, top, turn, step, pad }) {
  const parts = [];
  head.map.queries.forEach((token, q) => {
    if (q % step && !(shown && shown.side === "query" && shown.index === q)) return;
    const y = top + (q + 0.5) * cell;
    parts.push(svgText(shorten(token), left - 8, y, theme.ink, 'text-anchor="end"'));
  });
  head.map.keys.forEach((token, k) => {
    if (k % step && !(shown && shown.side === "key" && shown.index === k)) return;
    const [x, y] = [left + (k + 0.5) * cell, top - (turn ? 8 : 14)];
    const turned = turn ? `transform="rotate(-${turn} ${x} ${y})"` : 'text-anchor="middle"';
    parts.push(svgText(shorten(token), x, y, theme.ink, turned));
  });
  if (head.nq * head.nk <= 2500) parts.push(...svgCells(head, theme, cell, left, top));
  else {
    const large = document.createElement("canvas");
    paintHeatmap(large, head, theme, 4, document.createElement("canvas"));
    parts.push(
      `<image x="${left}" y="${top}" width="${head.nk * cell}" height="${head.nq * cell}" ` +
        `href="${large.toDataURL()}"/>`
    );
  }
  if (shown) {
    const row = shown.side === "query";
    const [x, y] = row ? [left, top + shown.index * cell] : [left + shown.index * cell, top];
    const [w, h] = row ? [head.nk * cell, cell] : [cell, head.nq * cell];
    parts.push(
      `<rect x="${x}" y="${y}" width="${w}" height="${h}" fill="none" stroke-width="2.5" ` +
        `stroke="${row ? theme.query : theme.key}"/>`
    );
  }
  const [width, height] = [left + head.nk * cell + pad + 12, top + head.nq * cell + 12];
  return { width: Math.max(width, 320), height, parts };
}

function svgCells(head, theme, cell, left, top) {
  const parts = [];
  const gap = cell >= 30 ? 2 : 1;
  for (let q = 0; q < head.nq; q++) {
    for (let k = 0; k < head.nk; k++) {
      const colour = theme.ramp[levelOf(head, head.codes[q * head.nk + k])];
      const [x, y] = [left + k * cell, top + q * cell];
      parts.push(
        `<rect x="${x}" y="${y}" width="${cell - gap}" height="${cell - gap}" fill="${rgb(colour)}"/>`
      );
      if (numbersFit(head, cell)) {
        const text = numberIn(weightAt(head, q, k), cell);
        const more = `text-anchor="middle" font-size="${numberSize(cell)}"`;
        parts.push(svgText(text, x + cell / 2, y + cell / 2, inkOn(colour), more));
      }
    }
  }
  return parts;
}

function svgLines(head, theme, shown, { row, left, middle, right }) {
  const parts = [];
  const { faint, strong } = linesFor(head, shown);
  const [x0, x1] = [left + 4, left + middle - 4];
  const add = (lines, colour, strength) => {
    for (const { q, k, w } of lines) {
      const [a, b] = [(q + 0.5) * row, (k + 0.5) * row];
      const bend = `${left + middle * 0.45} ${a} ${left + middle * 0.55} ${b}`;
      parts.push(
        `<path d="M${x0} ${a}C${bend} ${x1} ${b}" fill="none" stroke="${colour}" ` +
          `stroke-width="${lineWidth(w).toFixed(1)}" stroke-linecap="round" ` +
          `stroke-opacity="${(strength * lineOpacity(head, w)).toFixed(3)}"/>`
      );
    }
  };
  add(faint, theme.muted, 0.16);
  add(strong, shown && shown.side === "key" ? theme.key : theme.query, 1);
  head.map.queries.forEach((token, q) => {
    parts.push(svgText(shorten(token), left - 6, (q + 0.5) * row, theme.ink, 'text-anchor="end"'));
  });
  head.map.keys.forEach((token, k) => {
    parts.push(svgText(shorten(token), left + middle + 6, (k + 0.5) * row, theme.ink));
  });
  return {
    width: left + middle + right,
    height: Math.max(head.nq, head.nk) * row + 12,
    parts,
  };
}
