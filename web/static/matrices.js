// The few operations a Transformer is made of. A matrix is rows of numbers, one after the other.

// x (n, d_in) times W transposed, plus b: W has a row per output, as nn.Linear stores it.
export function linear(x, weight, bias, width) {
  const [n, out] = [x.length / width, weight.length / width];
  const y = new Float32Array(n * out);
  for (let row = 0; row < n; row++) {
    const from = row * width;
    for (let j = 0; j < out; j++) y[row * out + j] = dot(x, from, weight, j * width, width) + (bias ? bias[j] : 0);
  }
  return y;
}

// Four sums side by side: the processor need not wait for one addition before the next.
export function dot(a, from, b, start, width) {
  let [s0, s1, s2, s3, i] = [0, 0, 0, 0, 0];
  for (; i + 3 < width; i += 4) {
    s0 += a[from + i] * b[start + i];
    s1 += a[from + i + 1] * b[start + i + 1];
    s2 += a[from + i + 2] * b[start + i + 2];
    s3 += a[from + i + 3] * b[start + i + 3];
  }
  for (; i < width; i++) s0 += a[from + i] * b[start + i];
  return s0 + s1 + s2 + s3;
}

export function layerNorm(x, gain, bias, eps) {
  const width = gain.length;
  const y = new Float32Array(x.length);
  for (let from = 0; from < x.length; from += width) {
    let [mean, variance] = [0, 0];
    for (let i = 0; i < width; i++) mean += x[from + i] / width;
    for (let i = 0; i < width; i++) variance += (x[from + i] - mean) ** 2 / width;
    const root = Math.sqrt(variance + eps);
    for (let i = 0; i < width; i++) y[from + i] = ((x[from + i] - mean) / root) * gain[i] + bias[i];
  }
  return y;
}

export const add = (a, b) => a.map((value, i) => value + b[i]);
export const relu = (x) => x.map((value) => Math.max(0, value));

export function softmax(scores) {
  const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = Float64Array.from(scores, (score) => Math.exp(score - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

// The places of the largest numbers, the largest first; of equal ones the earlier first.
export function topK(numbers, k) {
  const best = [];
  numbers.forEach((number, i) => {
    if (best.length === k && !(number > numbers[best[k - 1]])) return;
    let at = best.length;
    while (at > 0 && number > numbers[best[at - 1]]) at--;
    best.splice(at, 0, i);
    if (best.length > k) best.pop();
  });
  return best;
}
