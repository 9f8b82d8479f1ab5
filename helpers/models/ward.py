"""A healthy Transformer as people write it themselves; the clinic's patients are made from it.

It shares nothing with the course's own Transformer. `patients` changes a line or two of this file's
text and runs the result.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    """Multi-head attention from `query` (B, T, D) to `key` and `value` (B, S, D).

    Parameters
    ----------
    d_model, n_heads : int
    dropout : float
        Share of the weights that is set to zero while training.
    """

    def __init__(self, d_model, n_heads, dropout):
        super().__init__()
        self.n_heads = n_heads
        self.w_query = nn.Linear(d_model, d_model)
        self.w_key = nn.Linear(d_model, d_model)
        self.w_value = nn.Linear(d_model, d_model)
        self.w_out = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def split(self, x):
        """Cut the vectors of (B, T, D) into heads, (B, H, T, K)."""
        return x.view(x.shape[0], x.shape[1], self.n_heads, -1).transpose(1, 2)

    def merge(self, x):
        """Put the heads of (B, H, T, K) side by side again, (B, T, D)."""
        return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)

    def forward(self, query, key, value, mask=None):
        """Attend; `mask` is bool, broadcastable to (B, H, T, S), True where a query may look."""
        q = self.split(self.w_query(query))
        k = self.split(self.w_key(key))
        v = self.split(self.w_value(value))
        scores = q @ k.transpose(-2, -1)
        scores = scores / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        weights = self.dropout(weights)
        return self.w_out(self.merge(weights @ v))


class Embedding(nn.Module):
    """Token vectors plus a learned vector per position.

    Parameters
    ----------
    vocab_size, d_model, max_len : int
    """

    def __init__(self, vocab_size, d_model, max_len):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Parameter(torch.randn(max_len, d_model))

    def forward(self, ids):
        """Embed ids (B, T) as (B, T, D)."""
        x = self.tokens(ids)
        return x + self.positions[: x.shape[1]]


class Layer(nn.Module):
    """Self-attention, cross-attention if there is a memory, feed-forward; post-norm.

    Parameters
    ----------
    d_model, n_heads : int
    dropout : float
    cross : bool, default=False
    """

    def __init__(self, d_model, n_heads, dropout, cross=False):
        super().__init__()
        self.self_attention = Attention(d_model, n_heads, dropout)
        self.norm_1 = nn.LayerNorm(d_model)
        if cross:
            self.cross_attention = Attention(d_model, n_heads, dropout)
            self.norm_2 = nn.LayerNorm(d_model)
        self.feed = nn.Sequential(
            nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model)
        )
        self.norm_3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask, memory=None, memory_mask=None):
        """Run x (B, T, D) through the sublayers that there are."""
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)))
        if memory is not None:
            looked_up = self.cross_attention(x, memory, memory, memory_mask)
            x = self.norm_2(x + self.dropout(looked_up))
        return self.norm_3(x + self.dropout(self.feed(x)))


class Reader(nn.Module):
    """An encoder: ids (B, T) to vectors (B, T, D); 0 is padding.

    Parameters
    ----------
    vocab_size, d_model, n_heads, n_layers, max_len : int
    dropout : float
    """

    def __init__(self, vocab_size=50, d_model=32, n_heads=4, n_layers=2, dropout=0.1, max_len=64):
        super().__init__()
        self.embedding = Embedding(vocab_size, d_model, max_len)
        self.layers = nn.ModuleList([Layer(d_model, n_heads, dropout) for _ in range(n_layers)])

    def forward(self, ids):
        """Encode ids (B, T)."""
        mask = (ids != 0)[:, None, None, :]
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, mask)
        return x


class Writer(nn.Module):
    """A decoder alone: ids (B, T) to logits of the next token (B, T, V).

    Parameters
    ----------
    vocab_size, d_model, n_heads, n_layers, max_len : int
    dropout : float
    """

    def __init__(self, vocab_size=50, d_model=32, n_heads=4, n_layers=2, dropout=0.1, max_len=64):
        super().__init__()
        self.embedding = Embedding(vocab_size, d_model, max_len)
        self.layers = nn.ModuleList([Layer(d_model, n_heads, dropout) for _ in range(n_layers)])
        self.output = nn.Linear(d_model, vocab_size)

    def forward(self, ids):
        """Predict, after each of the ids (B, T), the next one."""
        length = ids.shape[1]
        causal = torch.tril(torch.ones(length, length)).bool()
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, causal)
        logits = self.output(x)
        return logits


class Translator(nn.Module):
    """Encoder and decoder: source (B, S), shifted target (B, T) to logits (B, T, V); 0 is padding.

    Parameters
    ----------
    vocab_size, d_model, n_heads, n_layers, max_len : int
    dropout : float
    """

    def __init__(self, vocab_size=50, d_model=32, n_heads=4, n_layers=2, dropout=0.1, max_len=64):
        super().__init__()
        self.encoder = Reader(vocab_size, d_model, n_heads, n_layers, dropout, max_len)
        self.embedding = Embedding(vocab_size, d_model, max_len)
        self.layers = nn.ModuleList(
            [Layer(d_model, n_heads, dropout, cross=True) for _ in range(n_layers)]
        )
        self.output = nn.Linear(d_model, vocab_size)

    def forward(self, source, target):
        """Predict, after each target id, the next one."""
        length = target.shape[1]
        causal = torch.tril(torch.ones(length, length)).bool()
        memory = self.encoder(source)
        memory_mask = (source != 0)[:, None, None, :]
        x = self.embedding(target)
        for layer in self.layers:
            x = layer(x, causal, memory, memory_mask)
        return self.output(x)


def training_loss(model, ids):
    """Return a model's mean loss, in nats per token, of predicting each next one of ids (B, T)."""
    logits = model(ids[:, :-1])
    targets = ids[:, 1:]
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
