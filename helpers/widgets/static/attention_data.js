// The attention view, part 1 of 3: what came from Python, and how a weight gets its colour.
// The three parts are joined into one module when the widget is made (see attention_view.py).

// Weights travel as whole numbers of ten bits (exact to three decimals; twelve for long texts).
function unpackWeights(view, count, bits) {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const codes = new Uint16Array(count);
  const mask = (1 << bits) - 1;
  for (let i = 0, at = 0, held = 0, word = 0; i < count; i++) {
    while (held < bits) {
      word |= bytes[at++] << held;
      held += 8;
    }
    codes[i] = word & mask;
    word >>>= bits;
    held -= bits;
  }
  return codes;
}

function readMaps(model) {
  const maps = model.get("_maps");
  const size = (map) => map.layers * map.heads * map.queries.length * map.keys.length;
  const total = maps.reduce((sum, map) => sum + size(map), 0);
  const codes = unpackWeights(model.get("_data"), total, model.get("_bits"));
  let start = 0;
  return maps.map((map) => {
    const own = codes.subarray(start, start + size(map));
    start += size(map);
    return { ...map, codes: own, nq: map.queries.length, nk: map.keys.length };
  });
}

function headOf(map, layer, head) {
  const size = map.nq * map.nk;
  const start = (layer * map.heads + head) * size;
  const codes = map.codes.subarray(start, start + size);
  let most = 0;
  for (const code of codes) if (code > most) most = code;
  // The darkest colour is the head's largest weight, but a head that spreads its attention evenly
  // must look pale: the scale never ends below four times an even share.
  const even = Math.min(1, 4 / map.nk);
  const largest = most / map.scale;
  return { map, codes, nq: map.nq, nk: map.nk, darkest: Math.max(largest, even), largest };
}

function weightAt(head, query, key) {
  return head.codes[query * head.nk + key] / head.map.scale;
}

// A row of the map for a query, a column for a key: what the token gives to or gets from whom.
function ranked(head, side, index) {
  const found = [];
  const n = side === "query" ? head.nk : head.nq;
  for (let other = 0; other < n; other++) {
    const w = side === "query" ? weightAt(head, index, other) : weightAt(head, other, index);
    found.push({ other, w });
  }
  return found.sort((a, b) => b.w - a.w || a.other - b.other);
}

const digits = (w, n = 3) => w.toFixed(n);

function describe(head, side, index, top = 5) {
  const own = side === "query" ? head.map.queries : head.map.keys;
  const others = side === "query" ? head.map.keys : head.map.queries;
  const list = ranked(head, side, index);
  const named = list.slice(0, top).map(({ other, w }) => `${others[other]} ${digits(w)}`);
  const rest = list.slice(top);
  const left = rest.reduce((sum, { w }) => sum + w, 0);
  const verb = side === "query" ? "looks at" : "is looked at by";
  const tail = rest.length ? `; ${rest.length} others together ${digits(left)}` : "";
  return `${own[index]} ${verb} ${named.join(", ")}${tail}.`;
}

// Colours are mixed in OKLab, where equal steps look equal, and lightness runs in a straight line:
// twice the weight looks twice as far from the paper, in grey and to the colour-blind too.
function toOklab(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const c = parseInt(hex.slice(at, at + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromOklab([L, a, b]) {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((c) => {
    const v = c <= 0.0031308 ? 12.92 * c : 1.055 * Math.max(c, 0) ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.min(1, Math.max(0, v)));
  });
}

function ramp(stops) {
  const labs = stops.map(toOklab);
  const first = labs[0][0];
  const span = labs[labs.length - 1][0] - first;
  const places = labs.map((lab) => (lab[0] - first) / span);
  return Array.from({ length: 256 }, (_, i) => {
    const at = i / 255;
    let k = 1;
    while (k < places.length - 1 && at > places[k]) k++;
    const t = (at - places[k - 1]) / (places[k] - places[k - 1]);
    return fromOklab(labs[k].map((to, c) => labs[k - 1][c] + t * (to - labs[k - 1][c])));
  });
}

const THEMES = {
  light: {
    ramp: ramp(["#f3f8fd", "#1f6fb2", "#08306b"]),
    paper: "#ffffff",
    ink: "#1d2733",
    muted: "#56616d",
    query: "#1f6fb2",
    key: "#b25a06",
  },
  dark: {
    ramp: ramp(["#1a2530", "#2f7fc4", "#eef7ff"]),
    paper: "#12181f",
    ink: "#e8edf2",
    muted: "#a3afbb",
    query: "#6db3f2",
    key: "#f2a355",
  },
};

const rgb = ([r, g, b]) => `rgb(${r},${g},${b})`;
const levelOf = (head, code) =>
  Math.min(255, Math.round((255 * code) / (head.map.scale * head.darkest)));
const inkOn = ([r, g, b]) => (0.3 * r + 0.59 * g + 0.11 * b > 140 ? "#1d2733" : "#ffffff");
