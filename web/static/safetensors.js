// A file of weights, read where it lies: a header that names every tensor, then 16-bit floats.

// All 65,536 numbers that 16 bits can write, so that reading one is looking it up.
const NUMBERS = Float32Array.from({ length: 65536 }, (_, bits) => fromHalf(bits));

// One sign bit, five of exponent, ten of fraction (IEEE 754).
export function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
}

// `buffer`: an ArrayBuffer. Returns the tensors by name, as Float32Arrays, and the metadata.
export function readSafetensors(buffer) {
  const view = new DataView(buffer);
  const start = 8 + Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8)));
  const { __metadata__: metadata, ...described } = header;
  const tensors = {};
  for (const [name, { dtype, data_offsets }] of Object.entries(described)) {
    const [from, to] = data_offsets;
    if (dtype !== "F16") throw new Error(`expected 16-bit floats; ${name} has ${dtype}`);
    const numbers = new Float32Array((to - from) / 2);
    for (let i = 0; i < numbers.length; i++) numbers[i] = NUMBERS[view.getUint16(start + from + 2 * i, true)];
    tensors[name] = numbers;
  }
  return { tensors, metadata };
}
