"""My Transformer: "Attention Is All You Need" (Vaswani et al., 2017), in the paper's order."""
import math, pathlib, random, re, sys
import torch
import torch.nn.functional as F
from torch import nn
PAD, BOS, EOS = 0, 1, 2

# Before the paper: Bahdanau et al. (2015), section 3.1, and self-attention word by word
def additive_scores(query, keys, w_query, w_key, v):
    return torch.tanh((query @ w_query)[:, None] + keys @ w_key) @ v

def attention_context(scores, values, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return (weights[:, None] @ values)[:, 0], weights
def simple_self_attention(x):
    return (x @ x.T).softmax(-1) @ x
def attend(query, keys, values):
    weights = (keys @ query / math.sqrt(query.shape[-1])).softmax(-1)
    return weights @ values, weights

# Section 3.1: residual connections and layer normalisation
def layer_norm(x, gain, bias, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return gain * centred / ((centred**2).mean(-1, keepdim=True) + eps).sqrt() + bias
def residual_post_norm(x, sublayer, norm):
    return norm(x + sublayer(x))
def residual_pre_norm(x, sublayer, norm):
    return x + sublayer(norm(x))

class LayerNorm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
    def forward(self, x):
        return layer_norm(x, self.gain, self.bias)

# Section 3.2.1: scaled dot-product attention, eq. (1)
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ value, weights

# Section 3.2.2: several heads
def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)
def merge_heads(x):
    return x.transpose(1, 2).flatten(-2)
def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    query, key, value = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge_heads(scaled_dot_product_attention(query, key, value, mask)[0]) @ w_o

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))
    def forward(self, x, source, mask=None, cache=None):
        projected = self.w_q(x), self.w_k(source), self.w_v(source)
        query, key, value = (split_heads(part, self.n_heads) for part in projected)
        if cache is not None:  # keys and values of the positions before
            old = cache.get(self, (key[:, :, :0], value[:, :, :0]))
            key, value = cache[self] = [torch.cat(pair, 2) for pair in zip(old, (key, value))]
        context, _ = scaled_dot_product_attention(query, key, value, mask)
        return self.w_o(merge_heads(context))

# Section 3.2.3: what a position is allowed to attend to
def causal_mask(length):
    return torch.ones(length, length).tril().bool()
def padding_mask(token_ids, pad_id):
    return (token_ids != pad_id)[:, None, None]
def decoder_mask(target_ids, pad_id):
    return padding_mask(target_ids, pad_id) & causal_mask(target_ids.shape[1])

# Section 3.3: the feed-forward network, eq. (2)
def feed_forward(x, w_1, b_1, w_2, b_2):
    return (x @ w_1 + b_1).relu() @ w_2 + b_2

class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.inner, self.outer = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
    def forward(self, x):
        inner, outer = self.inner, self.outer
        return feed_forward(x, inner.weight.T, inner.bias, outer.weight.T, outer.bias)

# Sections 3.4 and 3.5: positions, and the embeddings that they are added to
def sinusoidal_positions(max_len, d_model):
    angle = torch.arange(max_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)

class Embedding(nn.Module):
    def __init__(self, vocab_size, d_model, max_len=128):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) / math.sqrt(d_model))
        self.register_buffer("positions", sinusoidal_positions(max_len, d_model), persistent=False)
    def forward(self, ids, start=0):
        positions = self.positions[start : start + ids.shape[1]]
        return self.table[ids] * math.sqrt(self.table.shape[1]) + positions

# Section 3.1 and Figure 1: the layers and the whole
class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.network = FeedForward(d_model, d_ff)
        self.norm_1, self.norm_2 = LayerNorm(d_model), LayerNorm(d_model)
    def forward(self, x, mask=None):
        x = residual_pre_norm(x, lambda h: self.attention(h, h, mask), self.norm_1)
        return residual_pre_norm(x, self.network, self.norm_2)

class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.across = MultiHeadAttention(d_model, n_heads)
        self.network = FeedForward(d_model, d_ff)
        self.norm_1, self.norm_2, self.norm_3 = (LayerNorm(d_model) for _ in range(3))
    def forward(self, x, memory, mask=None, memory_mask=None, cache=None):
        x = residual_pre_norm(x, lambda h: self.attention(h, h, mask, cache), self.norm_1)
        x = residual_pre_norm(x, lambda h: self.across(h, memory, memory_mask), self.norm_2)
        return residual_pre_norm(x, self.network, self.norm_3)

class Transformer(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, n_layers, d_ff, pad_id=0):
        super().__init__()
        self.d_model, self.pad_id, sizes = d_model, pad_id, (d_model, n_heads, d_ff)
        self.embedding = Embedding(vocab_size, d_model)
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(n_layers))
        self.encoder_norm, self.decoder_norm = LayerNorm(d_model), LayerNorm(d_model)
    def encode(self, src_ids):
        x = self.embedding(src_ids)
        for layer in self.encoder:
            x = layer(x, padding_mask(src_ids, self.pad_id))
        return self.encoder_norm(x)
    def decode(self, tgt_ids, memory, memory_mask, cache=None):
        start = 0 if cache is None else tgt_ids.shape[1] - 1  # with a cache, the newest position
        x = self.embedding(tgt_ids[:, start:], start)
        mask = decoder_mask(tgt_ids, self.pad_id)[:, :, start:]
        for layer in self.decoder:
            x = layer(x, memory, mask, memory_mask, cache)
        return self.decoder_norm(x) @ self.embedding.table.T
    def forward(self, src_ids, tgt_ids):
        return self.decode(tgt_ids, self.encode(src_ids), padding_mask(src_ids, self.pad_id))

# Sections 5.3 and 5.4: the learning rate, eq. (3), the loss, and smoothed targets
def warmup_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)

def cross_entropy(logits, targets, pad_id):
    picked = logits.log_softmax(-1).gather(-1, targets[..., None])[..., 0]
    real = targets != pad_id
    return -(picked * real).sum() / real.sum()
def smooth_targets(targets, vocab_size, epsilon):
    return F.one_hot(targets, vocab_size) * (1 - epsilon) + epsilon / vocab_size

# Sections 5.1 to 5.3: batches of pairs of ids, and training on them
def batches_of(pairs, n_batches, size=32):
    pad = lambda rows: nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], True, PAD)
    for _ in range(n_batches):
        yield tuple(map(pad, zip(*random.choices(pairs, k=size))))

def train(model, batches, warmup_steps=150, show=print):
    optimizer, losses = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98)), []
    for step, (src_ids, tgt_ids) in enumerate(batches, start=1):
        optimizer.param_groups[0]["lr"] = 0.2 * warmup_rate(step, model.d_model, warmup_steps)
        loss = cross_entropy(model(src_ids, tgt_ids[:, :-1]), tgt_ids[:, 1:], model.pad_id)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        show(step, losses[-1])
    return losses

# Section 6.1: writing
def greedy_decode(step, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) <= max_len and (len(ids) == 1 or ids[-1] != eos_id):
        ids.append(int(step(ids).argmax()))
    return ids[1:]

def translate(model, src_ids, bos_id, eos_id, max_len, cache=None):
    memory, mask = model.encode(src_ids), padding_mask(src_ids, model.pad_id)
    step = lambda ids: model.decode(torch.tensor([ids]), memory, mask, cache)[0, -1]
    return greedy_decode(step, bos_id, eos_id, max_len)
def top_k_filter(logits, k):
    return logits.masked_fill(logits < logits.topk(k).values[..., -1:], -math.inf)

def top_p_filter(logits, p):
    probabilities, order = logits.softmax(-1).sort(dim=-1, descending=True)
    dropped = probabilities.cumsum(-1) - probabilities >= p
    return logits.masked_fill(dropped.scatter(-1, order, dropped), -math.inf)
def beam_step(log_probs, beam_scores, beam_size):
    scores, flat = (beam_scores[:, None] + log_probs).flatten().topk(beam_size)
    return scores, flat // log_probs.shape[-1], flat % log_probs.shape[-1]

# Section 5.1: byte-pair pieces; where two pairs could merge, the one with the lower number does
def words_of(text):
    parts = re.findall(r" ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s", " " + text.strip())
    return [part.encode().decode("latin-1") for part in parts]  # one character per byte

def to_ids(text, pieces):
    numbers, ids = {piece: i for i, piece in enumerate(pieces)}, []
    for word in words_of(text):
        parts = [word] if word in numbers else list(word)
        ranks = lambda: [numbers.get(a + b, math.inf) for a, b in zip(parts, parts[1:])]
        while (best := min(ranks(), default=math.inf)) < math.inf:
            i = ranks().index(best)
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        ids += [numbers[part] for part in parts if part in numbers]
    return [*ids, EOS]
def to_text(ids, pieces):
    text = "".join(pieces[i] for i in ids if i > EOS)
    return text.encode("latin-1").decode(errors="replace").strip()

if __name__ == "__main__":  # python my_transformer.py "un chien noir"  or  --train pairs.tsv
    first, *rest = sys.argv[1:] or ["un chien noir court"]
    if first == "--train":  # a sentence, a tab and its translation per line; then the steps
        path, n_steps = (*rest, 1200)[:2]
        lines = [line.split("\t")[:2] for line in open(path, encoding="utf-8-sig") if "\t" in line]
        words = {word for line in lines for side in line for word in words_of(side)}
        pieces = ["<pad>", "<bos>", "<eos>", *sorted(words)]
        pairs = [(to_ids(a, pieces), [BOS, *to_ids(b, pieces)]) for a, b in lines]
        model = Transformer(*(sizes := (len(pieces), 128, 4, 2, 256)))
        told = lambda step, loss: step % 50 or print(f"step {step}, loss {loss:.3f}")
        train(model, batches_of(pairs, int(n_steps)), show=told)
        torch.save({"sizes": sizes, "pieces": pieces, "weights": model.state_dict()}, "trained.pt")
    else:
        beside = pathlib.Path(__file__).with_name("translator.pt")
        sizes, pieces, weights = torch.load(rest[0] if rest else beside).values()
        (model := Transformer(*sizes)).load_state_dict(weights)
        ids = translate(model, torch.tensor([to_ids(first, pieces)]), BOS, EOS, 99, {})
        print(to_text(ids, pieces))
