"""The parts a Transformer is stacked from: dropout, feed-forward, residual, the two layers.

Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762. Section numbers below are the
paper's. B batch, T target length, S source length, D model width, H heads, K head width.
"""

import torch
import torch.nn.functional as F
from torch import nn

from helpers.attention import MultiHeadAttention


class Dropout(nn.Module):
    """Set a share of the activations to zero while training, and scale up the rest (section 5.4).

    The same as ``nn.Dropout``, but several times faster on a CPU, where drawing one random float
    for every activation costs more than the matrix product beside it: here one 64-bit random word
    decides about eight activations. The share is therefore rounded to a multiple of 1/256.

    Parameters
    ----------
    p : float
        Share to set to zero.
    """

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        """Return `x` with about a share p of its entries zero and the rest divided by 1 - p."""
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        threshold = round(self.p * 256)
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
        keep = words.view(torch.uint8)[: x.numel()].view(x.shape) >= threshold
        return x * keep.to(x.dtype).mul_(256 / (256 - threshold))

    def extra_repr(self):
        """Show the share in ``print(model)``."""
        return f"p={self.p}"


class FeedForward(nn.Module):
    """Widen, bend, narrow: a two-layer network applied to every position alone (section 3.3).

    Parameters
    ----------
    d_model, d_ff : int
        Width outside and inside.
    activation : {"relu", "gelu"}, default="relu"
    """

    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.linear_2 = nn.Linear(d_ff, d_model)
        self.activation = getattr(F, activation)
        for linear in (self.linear_1, self.linear_2):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x):
        """Map (..., D) to (..., D)."""
        return self.linear_2(self.activation(self.linear_1(x)))


class Residual(nn.Module):
    """The path around a sublayer: add what the sublayer found to what went in (section 3.1).

    Post-norm, the paper's: LayerNorm(x + Sublayer(x)). Pre-norm: x + Sublayer(LayerNorm(x)). In
    both, the skip path carries x itself. Use it in two steps, ``residual.join(x,
    sublayer(residual.enter(x)))``.

    Parameters
    ----------
    d_model : int
    dropout : float
    norm_first : bool
    norm_eps : float
    """

    def __init__(self, d_model, dropout, norm_first, norm_eps):
        super().__init__()
        self.norm = nn.LayerNorm(d_model, eps=norm_eps)
        self.dropout = Dropout(dropout)
        self.norm_first = norm_first

    def enter(self, x):
        """Return what the sublayer is to read."""
        return self.norm(x) if self.norm_first else x

    def join(self, x, found):
        """Return x and what the sublayer found, added up."""
        x = x + self.dropout(found)
        return x if self.norm_first else self.norm(x)


class EncoderLayer(nn.Module):
    """Look around, then think: self-attention and feed-forward, each in a residual (section 3.1).

    Parameters
    ----------
    d_model, n_heads, d_ff : int
    dropout : float
    norm_first : bool
    activation : {"relu", "gelu"}, default="relu"
    norm_eps : float, default=1e-5
    """

    def __init__(
        self, d_model, n_heads, d_ff, dropout, norm_first, activation="relu", norm_eps=1e-5
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.residual_1 = Residual(d_model, dropout, norm_first, norm_eps)
        self.residual_2 = Residual(d_model, dropout, norm_first, norm_eps)

    def forward(self, x, mask=None, need_weights=False):
        """Map (B, S, D) to (B, S, D); also returns the weights (B, H, S, S), or None."""
        h = self.residual_1.enter(x)
        context, weights = self.self_attention(h, h, h, mask, need_weights)
        x = self.residual_1.join(x, context)
        x = self.residual_2.join(x, self.feed_forward(self.residual_2.enter(x)))
        return x, weights


class DecoderLayer(nn.Module):
    """Look back, look across, then think (section 3.1).

    Parameters
    ----------
    d_model, n_heads, d_ff : int
    dropout : float
    norm_first : bool
    activation : {"relu", "gelu"}, default="relu"
    norm_eps : float, default=1e-5
    """

    def __init__(
        self, d_model, n_heads, d_ff, dropout, norm_first, activation="relu", norm_eps=1e-5
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.residual_1 = Residual(d_model, dropout, norm_first, norm_eps)
        self.residual_2 = Residual(d_model, dropout, norm_first, norm_eps)
        self.residual_3 = Residual(d_model, dropout, norm_first, norm_eps)

    def forward(self, x, memory, mask=None, memory_mask=None, cache=None, need_weights=False):
        """Advance the target by one layer.

        Parameters
        ----------
        x : Tensor of shape (B, T, D)
            The target so far; with a cache, only its new positions.
        memory : Tensor of shape (B, S, D)
            The encoder's final output, the same for every decoder layer.
        mask : bool Tensor broadcastable to (B, H, T, T), default=None
            Which earlier positions each position may look at.
        memory_mask : bool Tensor broadcastable to (B, H, T, S), default=None
            Which source positions are real.
        cache : LayerCache, default=None
            Keys and values of earlier positions.
        need_weights : bool, default=False

        Returns
        -------
        x : Tensor of shape (B, T, D)
        self_weights, cross_weights : Tensor of shape (B, H, T, T) and (B, H, T, S), or None
        """
        h = self.residual_1.enter(x)
        q, k, v = self.self_attention.project(h, h, h)
        if cache is not None:
            k, v = cache.append(k, v)
        context, self_weights = self.self_attention.attend(q, k, v, mask, need_weights)
        x = self.residual_1.join(x, context)

        q = self.cross_attention.project_query(self.residual_2.enter(x))
        k, v = cache.memory if cache else self.cross_attention.project_key_value(memory, memory)
        context, cross_weights = self.cross_attention.attend(q, k, v, memory_mask, need_weights)
        x = self.residual_2.join(x, context)

        x = self.residual_3.join(x, self.feed_forward(self.residual_3.enter(x)))
        return x, self_weights, cross_weights


class LayerCache:
    """Keep one decoder layer's keys and values, so that no position is projected twice.

    Parameters
    ----------
    memory_key, memory_value : Tensor of shape (B, H, S, K)
        This layer's projections of the encoder's output; they never change.
    """

    def __init__(self, memory_key, memory_value):
        self.memory = memory_key, memory_value
        self.length = 0
        # Keys above values, (2, B, H, room, K). Room is made for twice what is needed, so that a
        # new position is written beside the old ones, which then need not be copied for it.
        self.past = memory_key.new_empty(2, *memory_key.shape[:2], 0, memory_key.shape[3])

    def append(self, key, value):
        """Add the new positions' keys and values (B, H, new, K); return all, (B, H, T, K) each."""
        start, self.length = self.length, self.length + key.shape[2]
        if self.length > self.past.shape[3]:
            more = self.past.new_empty(*self.past.shape[:3], 2 * self.length, self.past.shape[4])
            more[:, :, :, :start] = self.past[:, :, :, :start]
            self.past = more
        self.past[0, :, :, start : self.length] = key
        self.past[1, :, :, start : self.length] = value
        return self.past[:, :, :, : self.length].unbind()

    def reorder(self, rows):
        """Let row i go on from what was row ``rows[i]``."""
        self.memory = tuple(x[rows] for x in self.memory)
        self.past = self.past[:, rows]
