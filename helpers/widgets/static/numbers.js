// What Python sent as whole numbers of 16 bits; copied, because it may begin at an odd place.
export function wholeNumbers(view, Kind) {
  const start = view.byteOffset || 0;
  return new Kind((view.buffer || view).slice(start, start + view.byteLength));
}
