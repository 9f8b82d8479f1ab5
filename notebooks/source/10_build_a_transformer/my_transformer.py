"""My Transformer: "Attention Is All You Need" (Vaswani et al., 2017), in the paper's order."""

import math

import torch
import torch.nn.functional as F
from torch import nn


# Before the paper: Bahdanau et al. (2015), section 3.1
def additive_scores(query, keys, w_query, w_key, v):
    hidden = torch.tanh((query @ w_query)[:, None] + keys @ w_key)
    return hidden @ v


def attention_context(scores, values, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return (weights[:, None] @ values)[:, 0], weights


# Section 2: self-attention, one word at a time
def simple_self_attention(x):
    return (x @ x.T).softmax(-1) @ x


def attend(query, keys, values):
    weights = (keys @ query / math.sqrt(query.shape[-1])).softmax(-1)
    return weights @ values, weights


# Section 3.1: residual connections and layer normalisation
def layer_norm(x, gain, bias, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred**2).mean(-1, keepdim=True)
    return gain * centred / (variance + eps).sqrt() + bias


def residual_post_norm(x, sublayer, norm):
    return norm(x + sublayer(x))


def residual_pre_norm(x, sublayer, norm):
    return x + sublayer(norm(x))


class LayerNorm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

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
    context, _ = scaled_dot_product_attention(query, key, value, mask)
    return merge_heads(context) @ w_o


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, source, mask=None):
        query = split_heads(self.w_q(x), self.n_heads)
        key = split_heads(self.w_k(source), self.n_heads)
        value = split_heads(self.w_v(source), self.n_heads)
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
        w_1, w_2 = self.inner.weight.T, self.outer.weight.T
        return feed_forward(x, w_1, self.inner.bias, w_2, self.outer.bias)


# Section 3.5: positions
def sinusoidal_positions(max_len, d_model):
    angle = torch.arange(max_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


# Section 3.4: embeddings, with the positions added
class Embedding(nn.Module):
    def __init__(self, vocab_size, d_model, max_len=128):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) / math.sqrt(d_model))
        self.register_buffer("positions", sinusoidal_positions(max_len, d_model), persistent=False)

    def forward(self, ids):
        return self.table[ids] * math.sqrt(self.table.shape[1]) + self.positions[: ids.shape[1]]


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
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.network = FeedForward(d_model, d_ff)
        self.norm_1, self.norm_2, self.norm_3 = (LayerNorm(d_model) for _ in range(3))

    def forward(self, x, memory, mask=None, memory_mask=None):
        x = residual_pre_norm(x, lambda h: self.attention(h, h, mask), self.norm_1)
        x = residual_pre_norm(
            x, lambda h: self.cross_attention(h, memory, memory_mask), self.norm_2
        )
        return residual_pre_norm(x, self.network, self.norm_3)


class Transformer(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, n_layers, d_ff, pad_id=0):
        super().__init__()
        self.pad_id = pad_id
        self.embedding = Embedding(vocab_size, d_model)
        sizes = d_model, n_heads, d_ff
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(n_layers))
        self.encoder_norm, self.decoder_norm = LayerNorm(d_model), LayerNorm(d_model)

    def encode(self, src_ids):
        x = self.embedding(src_ids)
        for layer in self.encoder:
            x = layer(x, padding_mask(src_ids, self.pad_id))
        return self.encoder_norm(x)

    def decode(self, tgt_ids, memory, memory_mask):
        x, mask = self.embedding(tgt_ids), decoder_mask(tgt_ids, self.pad_id)
        for layer in self.decoder:
            x = layer(x, memory, mask, memory_mask)
        return self.decoder_norm(x) @ self.embedding.table.T

    def forward(self, src_ids, tgt_ids):
        return self.decode(tgt_ids, self.encode(src_ids), padding_mask(src_ids, self.pad_id))


# Section 5: training
def train(model, batches, warmup_steps=100, factor=0.3, show=lambda step, loss: None):
    d_model = model.embedding.table.shape[1]
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step, (src_ids, tgt_ids) in enumerate(batches, start=1):
        for group in optimizer.param_groups:
            group["lr"] = factor * warmup_rate(step, d_model, warmup_steps)
        loss = cross_entropy(model(src_ids, tgt_ids[:, :-1]), tgt_ids[:, 1:], model.pad_id)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        show(step, loss.item())


# Section 5.3: the learning rate, eq. (3)
def warmup_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


# Section 5.4: the loss, and smoothed targets
def cross_entropy(logits, targets, pad_id):
    picked = logits.log_softmax(-1).gather(-1, targets[..., None])[..., 0]
    real = targets != pad_id
    return -(picked * real).sum() / real.sum()


def smooth_targets(targets, vocab_size, epsilon):
    return F.one_hot(targets, vocab_size) * (1 - epsilon) + epsilon / vocab_size


# Section 6.1: writing
def greedy_decode(step, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) <= max_len and (len(ids) == 1 or ids[-1] != eos_id):
        ids.append(int(step(ids).argmax()))
    return ids[1:]


def top_k_filter(logits, k):
    return logits.masked_fill(logits < logits.topk(k).values[..., -1:], -math.inf)


def top_p_filter(logits, p):
    ordered, order = logits.sort(dim=-1, descending=True)
    probabilities = ordered.softmax(-1)
    dropped = probabilities.cumsum(-1) - probabilities >= p
    return logits.masked_fill(dropped.scatter(-1, order, dropped), -math.inf)


def beam_step(log_probs, beam_scores, beam_size):
    scores, flat = (beam_scores[:, None] + log_probs).flatten().topk(beam_size)
    return scores, flat // log_probs.shape[-1], flat % log_probs.shape[-1]
