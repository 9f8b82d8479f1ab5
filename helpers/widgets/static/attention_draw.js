// The attention view, part 2 of 3: painting. Nothing here knows of the page around the canvas.

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';

// One pixel a weight; enlarged without smoothing when it is painted.
function pixelMap(head, theme, out) {
  const canvas = out || document.createElement("canvas");
  canvas.width = head.nk;
  canvas.height = head.nq;
  const context = canvas.getContext("2d");
  const image = context.createImageData(head.nk, head.nq);
  const words = new Uint32Array(image.data.buffer);
  const colours = theme.words || (theme.words = colourWords(theme.ramp));
  const factor = 255 / (head.map.scale * head.darkest);
  for (let i = 0; i < words.length; i++) {
    words[i] = colours[Math.min(255, Math.round(head.codes[i] * factor))];
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

function colourWords(colours) {
  const bytes = new Uint8Array(4 * colours.length);
  colours.forEach(([r, g, b], i) => bytes.set([r, g, b, 255], 4 * i));
  return new Uint32Array(bytes.buffer);
}

// As sharp as the screen, but never a canvas larger than some ten million pixels.
function fitCanvas(canvas, width, height) {
  const wanted = Math.max(1, window.devicePixelRatio || 1);
  const scale = width * height * wanted * wanted > 1e7 ? 1 : wanted;
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  return scale;
}

function paintHeatmap(canvas, head, theme, cell, scratch) {
  const [width, height] = [head.nk * cell, head.nq * cell];
  const scale = fitCanvas(canvas, width, height);
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.drawImage(pixelMap(head, theme, scratch), 0, 0, canvas.width, canvas.height);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  if (cell >= 12) {
    context.fillStyle = theme.paper;
    const gap = cell >= 30 ? 2 : cell >= 18 ? 1 : 0.5;
    for (let k = 1; k < head.nk; k++) context.fillRect(k * cell - gap / 2, 0, gap, height);
    for (let q = 1; q < head.nq; q++) context.fillRect(0, q * cell - gap / 2, width, gap);
  }
  if (numbersFit(head, cell)) writeNumbers(context, head, theme, cell);
}

const numbersFit = (head, cell) => cell >= 42 && head.nq * head.nk <= 400;

function writeNumbers(context, head, theme, cell) {
  context.font = `16px ${FONT}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let q = 0; q < head.nq; q++) {
    for (let k = 0; k < head.nk; k++) {
      const colour = theme.ramp[levelOf(head, head.codes[q * head.nk + k])];
      context.fillStyle = inkOn(colour);
      const text = digits(weightAt(head, q, k), 2);
      context.fillText(text, (k + 0.5) * cell, (q + 0.53) * cell);
    }
  }
}

// Which lines to draw: all of a chosen token's, else each query's strongest.
// In a long text fewer of each, or the page is slow and nothing can be told apart.
const mostLines = (head) => Math.max(4, Math.min(10, Math.round(600 / head.nq)));
function linesOf(head) {
  if (head.lines) return head.lines;
  const faintest = 0.03 * head.darkest;
  const most = mostLines(head);
  head.lines = [];
  for (let q = 0; q < head.nq; q++) {
    const strongest = [];
    for (let k = 0; k < head.nk; k++) {
      const w = weightAt(head, q, k);
      if (w >= faintest) strongest.push({ q, k, w });
    }
    if (strongest.length > most) {
      strongest.sort((a, b) => b.w - a.w);
      strongest.length = most;
    }
    head.lines.push(...strongest);
  }
  return head.lines;
}

function linesFor(head, shown) {
  const kept = linesOf(head).filter((line) => !shown || line[sideKey(shown)] !== shown.index);
  if (!shown) return { faint: [], strong: kept };
  const own = ranked(head, shown.side, shown.index)
    .filter(({ w }) => w >= 0.0005)
    .map(({ other, w }) =>
      shown.side === "query" ? { q: shown.index, k: other, w } : { q: other, k: shown.index, w }
    );
  return { faint: kept, strong: own };
}

const sideKey = (shown) => (shown.side === "query" ? "q" : "k");
const lineWidth = (w) => 1 + 6 * Math.min(1, w);
const lineOpacity = (head, w) => Math.min(1, 0.06 + 0.94 * (w / head.darkest));

function paintLines(canvas, head, theme, shown, row, width) {
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
      context.globalAlpha = strength * lineOpacity(head, w);
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

// All heads at a glance. Large maps are reduced by their largest weights, or a thin diagonal
// would vanish.
function paintHeads(canvas, map, theme, tile, gap) {
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

function reduced(head, most) {
  const [nq, nk] = [Math.min(head.nq, most), Math.min(head.nk, most)];
  if (nq === head.nq && nk === head.nk) return head;
  const codes = new Uint16Array(nq * nk);
  for (let q = 0; q < head.nq; q++) {
    const row = Math.floor((q * nq) / head.nq) * nk;
    for (let k = 0; k < head.nk; k++) {
      const at = row + Math.floor((k * nk) / head.nk);
      const code = head.codes[q * head.nk + k];
      if (code > codes[at]) codes[at] = code;
    }
  }
  return { ...head, codes, nq, nk };
}

// ---- the picture to copy or save: the same view as SVG ---------------------------------------

const escapeXml = (text) =>
  text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, "");

function svgPicture(head, theme, view, shown, title, geometry) {
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

function svgHeatmap(head, theme, shown, { cell, left, top, turn, step, pad, shorten }) {
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
        const text = digits(weightAt(head, q, k), 2);
        const more = 'text-anchor="middle"';
        parts.push(svgText(text, x + cell / 2, y + cell / 2, inkOn(colour), more));
      }
    }
  }
  return parts;
}

function svgLines(head, theme, shown, { row, left, middle, right, shorten }) {
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
