// The Transformer of Figure 1, forward only: helpers/transformer/transformer.py in typed arrays. One sentence,
// no batch, so no padding and no mask but the causal one. S source, T target, D width, K head.

import { add, dot, layerNorm, linear, relu, softmax } from "./matrices.js";

export class Transformer {
  // `tensors` by their names in PyTorch, `config` as TransformerConfig.
  constructor(tensors, config) {
    if (config.activation !== "relu") throw new Error(`expected ReLU; got ${config.activation}`);
    Object.assign(this, { tensors, config });
    this.target = tensors["tgt_embedding.weight"];
    this.source = config.share_vocabulary ? this.target : tensors["src_embedding.weight"];
    this.output = config.tie_embeddings ? this.target : tensors["output_proj.weight"];
  }

  // Every step keeps what it computes: { embeddings, positions, entered, layers, output }.
  encode(ids) {
    return this.stack("encoder", ids, this.source);
  }

  // `cache` holds the keys and values of earlier positions; the ids are then the new ones only.
  decode(ids, memory, cache = null) {
    return this.stack("decoder", ids, this.target, memory, cache);
  }

  newCache() {
    return { length: 0, layers: Array.from({ length: this.config.n_layers }, () => ({})) };
  }

  logits(hidden) {
    return linear(hidden, this.output, null, this.config.d_model);
  }

  stack(name, ids, table, memory = null, cache = null) {
    const start = cache ? cache.length : 0;
    const { embeddings, positions } = this.embed(ids, table, start);
    const entered = add(embeddings, positions);
    const layers = [];
    let x = entered;
    for (let i = 0; i < this.config.n_layers; i++) {
      const parts = this.layer(`${name}_layers.${i}`, x, memory, cache?.layers[i], start);
      layers.push(parts);
      x = parts[parts.length - 1].after;
    }
    if (cache) cache.length += ids.length;
    const output = this.config.norm_first ? this.norm(x, `${name}_norm`) : x;
    return { embeddings, positions, entered, layers, output };
  }

  embed(ids, table, start) {
    const { d_model: width, max_len: most } = this.config;
    if (start + ids.length > most) throw new Error(`the model has positions for ${most} tokens`);
    const embeddings = new Float32Array(ids.length * width);
    const positions = new Float32Array(ids.length * width);
    ids.forEach((id, row) => {
      for (let i = 0; i < width; i++) {
        const angle = (start + row) * 10000 ** (-(i - (i % 2)) / width);
        embeddings[row * width + i] = table[id * width + i] * Math.sqrt(width);
        positions[row * width + i] = i % 2 ? Math.cos(angle) : Math.sin(angle);
      }
    });
    return { embeddings, positions };
  }

  layer(at, x, memory, cache, start) {
    // Only a decoder has a memory, and only its own attention is masked.
    const own = (read) => this.attend(`${at}.self_attention`, read, null, cache, memory ? start : null);
    const parts = [this.sublayer(`${at}.residual_1`, x, own)];
    parts[0].kind = memory ? "masked-self-attention" : "self-attention";
    if (memory) {
      const cross = (read) => this.attend(`${at}.cross_attention`, read, memory, cache, null);
      parts.push({ ...this.sublayer(`${at}.residual_2`, parts[0].after, cross), kind: "cross-attention" });
    }
    const work = (read) => this.feedForward(`${at}.feed_forward`, read);
    const last = this.sublayer(`${at}.residual_${parts.length + 1}`, parts[parts.length - 1].after, work);
    return [...parts, { ...last, kind: "feed-forward" }];
  }

  // Add & norm around what `work` computes: { found, … }.
  sublayer(at, x, work) {
    const first = this.config.norm_first;
    const read = first ? this.norm(x, `${at}.norm`) : x;
    const kept = work(read);
    const sum = add(x, kept.found);
    return { read, ...kept, after: first ? sum : this.norm(sum, `${at}.norm`) };
  }

  feedForward(at, read) {
    const hidden = relu(this.linear(`${at}.linear_1`, read));
    return { hidden, found: this.linear(`${at}.linear_2`, hidden, this.config.d_ff) };
  }

  // `memory`: what the keys and values come from, null for the tokens themselves. `start`: the
  // first query's position if the causal mask applies, else null.
  attend(at, read, memory, cache, start) {
    const query = this.linear(`${at}.query_proj`, read);
    const [key, value] = ["key", "value"].map((name) => {
      const place = `${memory ? "cross" : "own"} ${name}`;
      if (memory && cache && cache[place]) return cache[place];
      const made = this.linear(`${at}.${name}_proj`, memory || read);
      const all = cache?.[place] ? joined(cache[place], made) : made;
      if (cache) cache[place] = all;
      return all;
    });
    const { context, weights } = this.mix(query, key, value, start);
    const found = this.linear(`${at}.out_proj`, context);
    return { query, key, value, weights, causal: start !== null, found };
  }

  // softmax(Q Kᵀ / √K) V, head by head; the heads lie side by side in a row. Returns the mixtures
  // (queries, D) and the weights (heads, queries, keys).
  mix(query, key, value, start) {
    const { d_model: width, n_heads: heads } = this.config;
    const [size, n, rows] = [width / heads, key.length / width, query.length / width];
    const context = new Float32Array(query.length);
    const weights = new Float32Array(heads * rows * n);
    for (let row = 0; row < rows; row++) {
      const seen = start === null ? n : Math.min(n, start + row + 1);
      for (let head = 0; head < heads; head++) {
        const [at, from] = [head * size, row * width + head * size];
        const score = (_, s) => dot(query, from, key, s * width + at, size) / Math.sqrt(size);
        const shares = softmax(Float32Array.from({ length: seen }, score));
        weights.set(shares, (head * rows + row) * n);
        for (let i = 0; i < size; i++) {
          let sum = 0;
          for (let s = 0; s < seen; s++) sum += shares[s] * value[s * width + at + i];
          context[from + i] = sum;
        }
      }
    }
    return { context, weights };
  }

  linear(at, x, width = this.config.d_model) {
    return linear(x, this.tensors[`${at}.weight`], this.tensors[`${at}.bias`], width);
  }

  norm(x, at) {
    return layerNorm(x, this.tensors[`${at}.weight`], this.tensors[`${at}.bias`], this.config.norm_eps);
  }
}

function joined(a, b) {
  const both = new Float32Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
