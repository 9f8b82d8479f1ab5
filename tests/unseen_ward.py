"""Healthy models in another hand than `helpers.models.ward`, for `unseen_patients`.

Pre-norm, one matrix for queries, keys and values, heads folded into the batch, an additive mask,
a cache; einsum for cross-attention; PyTorch's own encoder.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.gain * (x - mean) / (std + 1e-6) + self.shift


class FoldedAttention(nn.Module):
    def __init__(self, width, heads, p):
        super().__init__()
        self.heads, self.p = heads, p
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def fold(self, x):
        b, t, d = x.shape
        x = x.view(b, t, self.heads, d // self.heads).permute(0, 2, 1, 3)
        return x.reshape(b * self.heads, t, d // self.heads)

    def unfold(self, x, b):
        t = x.size(1)
        x = x.view(b, self.heads, t, -1).permute(0, 2, 1, 3)
        return x.reshape(b, t, -1)

    def forward(self, x, bias=None, past=None):
        b = x.size(0)
        q, k, v = (self.fold(part) for part in self.qkv(x).chunk(3, dim=-1))
        if past is not None:
            k, v = past.extend(self, k, v)
        q = q * q.size(-1) ** -0.5
        scores = torch.bmm(q, k.transpose(1, 2))
        if bias is not None:
            scores = scores + bias
        probs = F.dropout(F.softmax(scores, dim=-1), self.p, self.training)
        return self.out(self.unfold(torch.bmm(probs, v), b))


class Block(nn.Module):
    def __init__(self, width, heads, p):
        super().__init__()
        self.ln1, self.ln2 = Norm(width), Norm(width)
        self.attn = FoldedAttention(width, heads, p)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width)
        )

    def forward(self, x, bias=None, past=None):
        x = x + self.attn(self.ln1(x), bias, past)
        return x + self.mlp(self.ln2(x))


class Past:
    def __init__(self):
        self.kept, self.length = {}, 0

    def extend(self, owner, k, v):
        if owner in self.kept:
            old_k, old_v = self.kept[owner]
            k, v = torch.cat([old_k, k], 1), torch.cat([old_v, v], 1)
        self.kept[owner] = k, v
        return k, v


class TinyGPT(nn.Module):
    def __init__(self, vocab=61, width=24, heads=4, depth=3, context=40, p=0.1):
        super().__init__()
        self.wte = nn.Embedding(vocab, width)
        self.wpe = nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads, p) for _ in range(depth)])
        self.ln_f = Norm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        nn.init.normal_(self.wte.weight, std=0.02)
        self.head.weight = self.wte.weight

    def forward(self, ids, past=None):
        t = ids.size(1)
        start = past.length if past is not None else 0
        h = self.wte(ids) + self.wpe(torch.arange(start, start + t))
        bias = torch.full((t, t), float("-inf")).triu(1) if past is None else None
        for block in self.blocks:
            h = block(h, bias, past)
        if past is not None:
            past.length += t
        return self.head(self.ln_f(h))


def step_by_step(model, ids):
    past = Past()
    return torch.cat([model(ids[:, i : i + 1], past) for i in range(ids.size(1))], 1)


class TinyBert(nn.Module):
    def __init__(self, vocab=61, width=24, heads=4, depth=2, context=40, p=0.1):
        super().__init__()
        self.heads = heads
        self.wte = nn.Embedding(vocab, width)
        self.wpe = nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads, p) for _ in range(depth)])
        self.ln_f = Norm(width)

    def forward(self, ids):
        pad = torch.zeros(ids.shape).masked_fill(ids == 1, -1e9)[:, None, :]
        bias = pad.repeat_interleave(self.heads, 0)
        h = self.wte(ids) + self.wpe(torch.arange(ids.size(1)))
        for block in self.blocks:
            h = block(h, bias)
        return self.ln_f(h)


class EinsumAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.k = heads, width // heads
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_kv = nn.Linear(width, 2 * width, bias=False)
        self.to_out = nn.Linear(width, width)

    def forward(self, x, context, allowed):
        b, t, _ = x.shape
        s = context.shape[1]
        q = self.to_q(x).reshape(b, t, self.heads, self.k)
        k, v = self.to_kv(context).reshape(b, s, 2, self.heads, self.k).unbind(2)
        energy = torch.einsum("bqhd,bkhd->bhqk", q, k) / self.k**0.5
        energy = energy.masked_fill(allowed == 0, -1e20)
        out = torch.einsum("bhqk,bkhd->bqhd", energy.softmax(3), v)
        return self.to_out(out.reshape(b, t, -1))


class DecoderBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.masked = EinsumAttention(width, heads)
        self.cross = EinsumAttention(width, heads)
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(3)])
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width)
        )

    def forward(self, x, memory, causal, real):
        x = self.norms[0](x + self.masked(x, x, causal))
        x = self.norms[1](x + self.cross(x, memory, real))
        return self.norms[2](x + self.mlp(x))


class Seq2Seq(nn.Module):
    def __init__(self, vocab=61, width=24, heads=4, depth=2, context=40):
        super().__init__()
        self.src, self.tgt = nn.Embedding(vocab, width), nn.Embedding(vocab, width)
        self.where = nn.Embedding(context, width)
        layer = nn.TransformerEncoderLayer(width, heads, 48, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.decoder = nn.ModuleList([DecoderBlock(width, heads) for _ in range(depth)])
        self.to_vocab = nn.Linear(width, vocab)

    def forward(self, src, tgt):
        s, t = src.shape[1], tgt.shape[1]
        pad = src == 1
        memory = self.encoder(self.src(src) + self.where(torch.arange(s)), src_key_padding_mask=pad)
        causal = torch.ones(t, t).tril()[None, None]
        real = (~pad)[:, None, None, :]
        x = self.tgt(tgt) + self.where(torch.arange(t))
        for block in self.decoder:
            x = block(x, memory, causal, real)
        return self.to_vocab(x)
