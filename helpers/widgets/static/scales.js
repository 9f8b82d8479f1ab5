// From a place to a number and back. No page needed.

// A share of the way, 0 to 1, on a scale that is even in the logarithm.
export const shareToLog = (share, min, max) => min * (max / min) ** share;
export const logToShare = (value, min, max) => Math.log(value / min) / Math.log(max / min);

// Where the hand is on a handle's track: `track` holds pixels at both ends and the numbers there.
export function valueOn(place, { from, to, low, high, step, log }) {
  const share = Math.max(0, Math.min(1, (place - from) / (to - from)));
  if (log) return shareToLog(share, low, high);
  return toStep(low + share * (high - low), low, step);
}

// Where a clock's hand points that is turned to a point: of all turns, the one next to what it was.
export function turnedTo({ x, y }, { from, to, low, high, now, step, period }) {
  const share = Math.atan2(to - y, x - from) / (2 * Math.PI);
  const turns = Math.round(now / period - share);
  return toStep(Math.max(low, Math.min(high, (share + turns) * period)), low, step);
}

export function toStep(value, low, step) {
  if (!step) return value;
  return Number((low + Math.round((value - low) / step) * step).toFixed(6));
}

// One press of an arrow key: a step, ten with Shift, never beyond an end.
export function stepped(value, steps, { low, high, step, log }) {
  if (log) return shareToLog(Math.max(0, Math.min(1, logToShare(value, low, high) + steps / 50)), low, high);
  const [least, most] = [Math.min(low, high), Math.max(low, high)];
  return toStep(Math.max(least, Math.min(most, value + steps * step)), least, step);
}

// Of places on the page, the nearest in a direction; -1 if there is none. Places off the line
// count as further away, `aside` times, so that an arrow stays in its row or column where it can.
export function nearest(places, at, [dx, dy], aside = 4) {
  let best = -1;
  let least = Infinity;
  places.forEach(({ x, y }, i) => {
    const along = (x - at.x) * dx + (y - at.y) * dy;
    const off = Math.abs((x - at.x) * dy) + Math.abs((y - at.y) * dx);
    const cost = along + aside * off;
    if (along > 1 && cost < least) [best, least] = [i, cost];
  });
  return best;
}

// Drawings of these widths fill rows on a laptop's screen: by how much they shrink so that the same
// rows fit into a narrower room; 1 where there's room, or too little for that: less than `least`.
export function besideScale(widths, room, least = 2 / 3) {
  const [laptop, gap] = [818, 16];
  let [row, widest] = [0, 1];
  for (const width of widths) {
    row = row && row + gap + width <= laptop ? row + gap + width : width;
    widest = Math.max(widest, row);
  }
  const scale = Math.min(1, Math.floor(room) / widest);
  return scale < least ? 1 : scale;
}
