// Colours: two themes, and a ramp on which equal steps look equal.

import { COLOURS } from "./colours.js";

// Mixed in OKLab, where lightness runs in a straight line: twice the weight looks twice as far
// from the paper, in grey and to the colour-blind too.
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

// 256 colours through the stops, each [r, g, b]; lightness must rise or fall all the way.
export function ramp(stops) {
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

// From one side's colours over the paper in the middle to the other's; 256 colours.
export function twoSided(stops) {
  const middle = (stops.length - 1) / 2;
  const [low, high] = [ramp(stops.slice(0, middle + 1).reverse()), ramp(stops.slice(middle))];
  return Array.from({ length: 256 }, (_, i) => (i < 128 ? low[255 - 2 * i] : high[2 * (i - 128) + 1]));
}

const themeOf = (name) => ({
  name,
  ...COLOURS[name],
  ramp: ramp(COLOURS[name].weights),
  signed: twoSided(COLOURS[name].signed),
});
export const THEMES = { light: themeOf("light"), dark: themeOf("dark") };

export const rgb = ([r, g, b]) => `rgb(${r},${g},${b})`;

// Black or white, whichever reads better on a colour: always at least 4.5 : 1.
export function inkOn(colour) {
  const [r, g, b] = colour.map((c) => (c <= 10 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : COLOURS.light.paper;
}

// The ramp as the 32-bit words that a canvas's bytes are made of.
export function colourWords(colours) {
  const bytes = new Uint8Array(4 * colours.length);
  colours.forEach(([r, g, b], i) => bytes.set([r, g, b, 255], 4 * i));
  return new Uint32Array(bytes.buffer);
}
