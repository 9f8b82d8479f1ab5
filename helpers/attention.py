"""Attention: every query scores every key, softmax turns scores to weights, weights mix values."""

import math
from contextlib import contextmanager, nullcontext

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel


def masked_softmax(scores, mask=None):
    """Turn scores into weights that sum to one over the keys a query may look at.

    Parameters
    ----------
    scores : Tensor of shape (..., key_len)
        How well each key matches.
    mask : bool Tensor broadcastable to `scores`, default=None
        True where the query may look. A row with no True gives zeros, not NaN.

    Returns
    -------
    weights : Tensor of the shape of `scores`

    Raises
    ------
    ValueError
        If the mask is not boolean or does not broadcast to the scores.
    """
    if mask is None:
        return scores.softmax(-1)
    check_mask(mask, scores.shape)
    scores = scores.masked_fill(~mask, -math.inf)
    # A row of nothing but -inf is 0/0. Give such a row finite scores, then set its weights to zero:
    # that way the gradient is zero as well, where repairing the NaN afterwards would leave it NaN.
    nothing_to_see = ~mask.any(-1, keepdim=True)
    return scores.masked_fill(nothing_to_see, 0.0).softmax(-1).masked_fill(nothing_to_see, 0.0)


def check_mask(mask, shape):
    """Raise a ValueError unless `mask` is boolean and broadcasts to `shape`."""
    if mask.dtype != torch.bool:
        raise ValueError(
            f"a mask must be boolean, True = may look; got {mask.dtype}. If yours holds 0 and 1, "
            f"write mask.bool(); if it holds 0 and -inf, write mask == 0."
        )
    try:
        fits = torch.broadcast_shapes(mask.shape, shape) == torch.Size(shape)
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            f"the mask must broadcast to the scores, {tuple(shape)}; got {tuple(mask.shape)}. "
            f"Its last axis is the keys, the one before it the queries."
        )


def scaled_dot_product_attention(query, key, value, mask=None):
    """Mix the values, each weighted by how well its key matches the query.

    Parameters
    ----------
    query : Tensor of shape (..., query_len, d_head)
        What each position is looking for.
    key : Tensor of shape (..., key_len, d_head)
        What each position can be found by.
    value : Tensor of shape (..., key_len, d_value)
        What each position hands over once found.
    mask : bool Tensor broadcastable to (..., query_len, key_len), default=None
        True where the query may look. A row with no True gives zeros, not NaN.

    Returns
    -------
    context : Tensor of shape (..., query_len, d_value)
    weights : Tensor of shape (..., query_len, key_len)
        Fractions; every row sums to 1, or to 0 if it is wholly masked.

    Raises
    ------
    ValueError
        If query and key differ in width, if there are not as many values as keys, or if the mask
        is not boolean or does not broadcast.

    Source
    ------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.1, eq. (1).
    """
    _check_widths(query, key, value)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    weights = masked_softmax(scores, mask)
    return weights @ value, weights


def _check_widths(query, key, value):
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"query and key must have the same width to be compared; got {query.shape[-1]} and "
            f"{key.shape[-1]} (shapes {tuple(query.shape)} and {tuple(key.shape)})."
        )
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"every key needs one value; got {key.shape[-2]} keys and {value.shape[-2]} values."
        )


class AdditiveAttention(nn.Module):
    """Score each key with a small network: v · tanh(W query + U key).

    Parameters
    ----------
    d_query, d_key : int
        Widths of the query (the decoder's state) and of the keys (the encoder's states).
    d_attention : int
        Width of the hidden layer in which the two meet.

    Source
    ------
    Bahdanau et al. (2015), "Neural Machine Translation by Jointly Learning to Align and
    Translate", section 3.1 and appendix A.1.2.
    """

    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.query_proj = nn.Linear(d_query, d_attention, bias=False)
        self.key_proj = nn.Linear(d_key, d_attention, bias=False)
        self.energy = nn.Linear(d_attention, 1, bias=False)

    def forward(self, query, keys, mask=None, projected_keys=None):
        """Look at `keys` once with `query`.

        Parameters
        ----------
        query : Tensor of shape (B, D_q)
        keys : Tensor of shape (B, S, D_k)
            Both what is scored and what is mixed.
        mask : bool Tensor of shape (B, S), default=None
            True where the query may look.
        projected_keys : Tensor of shape (B, S, A), default=None
            ``key_proj(keys)``, if it is already known: the keys stay the same for every decoding
            step, so this product needs doing only once a sentence.

        Returns
        -------
        context : Tensor of shape (B, D_k)
        weights : Tensor of shape (B, S)
        """
        if projected_keys is None:
            projected_keys = self.key_proj(keys)
        hidden = torch.tanh(self.query_proj(query)[:, None] + projected_keys)
        return _mix(self.energy(hidden).squeeze(-1), keys, mask)


class MultiplicativeAttention(nn.Module):
    """Score each key with a product; three ways, one switch.

    Parameters
    ----------
    d_query, d_key : int
        Widths of the query and of the keys.
    score : {"dot", "general", "concat"}, default="general"
        dot: query · key (widths must agree, no parameters); general: query · W key;
        concat: v · tanh(W [query; key]), which Luong et al. list beside the other two.

    Raises
    ------
    ValueError
        If `score` is unknown, or "dot" is asked for with two different widths.

    Source
    ------
    Luong et al. (2015), "Effective Approaches to Attention-based Neural Machine Translation",
    section 3.1, eq. (8).
    """

    def __init__(self, d_query, d_key, score="general"):
        super().__init__()
        if score not in ("dot", "general", "concat"):
            raise ValueError(f'score must be "dot", "general" or "concat"; got {score!r}.')
        if score == "dot" and d_query != d_key:
            raise ValueError(
                f"a dot product needs equal widths; got d_query={d_query}, d_key={d_key}. "
                f'Use score="general".'
            )
        self.score = score
        if score == "general":
            self.weight = nn.Linear(d_key, d_query, bias=False)
        elif score == "concat":
            self.weight = nn.Linear(d_query + d_key, d_query, bias=False)
            self.energy = nn.Linear(d_query, 1, bias=False)

    def scores(self, query, keys):
        """Score keys (B, S, D_k) against queries (B, T, D_q); returns (B, T, S)."""
        if self.score == "dot":
            return query @ keys.transpose(1, 2)
        if self.score == "general":
            return query @ self.weight(keys).transpose(1, 2)
        # W [q; k] = W_q q + W_k k: the two halves are multiplied apart, then every pair is added.
        w_query, w_key = self.weight.weight.split([query.shape[-1], keys.shape[-1]], dim=1)
        pairs = F.linear(query, w_query)[:, :, None] + F.linear(keys, w_key)[:, None]
        return self.energy(torch.tanh(pairs)).squeeze(-1)

    def forward(self, query, keys, mask=None):
        """Look at `keys` with one query, or with many at once.

        Parameters
        ----------
        query : Tensor of shape (B, D_q) or (B, T, D_q)
        keys : Tensor of shape (B, S, D_k)
        mask : bool Tensor of shape (B, S), default=None
            True where the query may look.

        Returns
        -------
        context : Tensor of shape (B, D_k) or (B, T, D_k)
        weights : Tensor of shape (B, S) or (B, T, S)
        """
        if query.dim() == 2:
            return _mix(self.scores(query[:, None], keys)[:, 0], keys, mask)
        weights = masked_softmax(self.scores(query, keys), None if mask is None else mask[:, None])
        return weights @ keys, weights


def _mix(scores, keys, mask):
    weights = masked_softmax(scores, mask)
    return (weights[:, None] @ keys)[:, 0], weights


class MultiHeadAttention(nn.Module):
    """Attend several times side by side, each head in its own small projection.

    Every head projects the *whole* vector; the projections are stored as one matrix each and split
    afterwards, which is one large product instead of many small ones.

    Parameters
    ----------
    d_model : int
        Width of what goes in and of what comes out.
    n_heads : int
        Number of heads; must divide `d_model`. Each head is d_model / n_heads wide.
    dropout : float, default=0.0
        Share of attention weights set to zero while training.

    Raises
    ------
    ValueError
        If `n_heads` does not divide `d_model`.

    Source
    ------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.2.
    """

    def __init__(self, d_model, n_heads, dropout=0.0):
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(
                f"the heads share the width equally, so n_heads must divide d_model; got "
                f"d_model={d_model}, n_heads={n_heads}."
            )
        self.n_heads = n_heads
        self.dropout = dropout
        # W_Q, W_K and W_V below each other: self-attention then needs a single product.
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        for matrix in self.qkv_proj.weight.chunk(3):
            nn.init.xavier_uniform_(matrix)
        nn.init.zeros_(self.qkv_proj.bias)
        nn.init.xavier_uniform_(self.out_proj.weight)
        nn.init.zeros_(self.out_proj.bias)

    def split_heads(self, x):
        """Cut the last axis into heads: (B, T, D) -> (B, H, T, K)."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def project_query(self, query):
        """Project (B, T, D) to the heads' queries, (B, H, T, K)."""
        d_model = query.shape[-1]
        weight, bias = self.qkv_proj.weight[:d_model], self.qkv_proj.bias[:d_model]
        return self.split_heads(F.linear(query, weight, bias))

    def project_key_value(self, key, value):
        """Project (B, S, D) twice, to the heads' keys and values, (B, H, S, K) each."""
        d_model = key.shape[-1]
        weight, bias = self.qkv_proj.weight[d_model:], self.qkv_proj.bias[d_model:]
        if key is value:
            both = F.linear(key, weight, bias).chunk(2, dim=-1)
        else:
            parts = zip((key, value), weight.chunk(2), bias.chunk(2), strict=True)
            both = (F.linear(x, w, b) for x, w, b in parts)
        return tuple(self.split_heads(x) for x in both)

    def project(self, query, key, value):
        """Project all three: (B, H, T, K), (B, H, S, K), (B, H, S, K)."""
        if query is key and key is value:
            return tuple(self.split_heads(x) for x in self.qkv_proj(query).chunk(3, dim=-1))
        return self.project_query(query), *self.project_key_value(key, value)

    def forward(self, query, key, value, mask=None, need_weights=False):
        """Let every query look at every key it may.

        Parameters
        ----------
        query : Tensor of shape (B, T, D)
        key, value : Tensor of shape (B, S, D)
        mask : bool Tensor broadcastable to (B, H, T, S), default=None
            True where the query may look.
        need_weights : bool, default=False
            False runs PyTorch's fused operator; True runs the readable one and returns the
            weights. The output is the same.

        Returns
        -------
        output : Tensor of shape (B, T, D)
        weights : Tensor of shape (B, H, T, S), or None
        """
        return self.attend(*self.project(query, key, value), mask, need_weights)

    def attend(self, q, k, v, mask=None, need_weights=False):
        """Attend with projected heads (B, H, T, K), (B, H, S, K); merge; apply W_O."""
        dropout = self.dropout if self.training else 0.0
        if need_weights:
            context, weights = scaled_dot_product_attention(q, k, v, mask)
            if dropout:
                context = F.dropout(weights, dropout) @ v
        else:
            context, weights = fused_attention(q, k, v, mask, dropout), None
        merged = context.transpose(1, 2).flatten(-2)  # (B, H, T, K) -> (B, T, D)
        return self.out_proj(merged), weights


@contextmanager
def heads_off(layer, heads):
    """Silence some heads of a layer for the length of a ``with`` block.

    What a head writes goes through its own rows of W_O, which are columns of ``out_proj.weight``:
    a linear layer keeps its matrix transposed. With those at zero the head writes nothing.

    Parameters
    ----------
    layer : MultiHeadAttention
    heads : list of int

    Raises
    ------
    ValueError
        If there is no such head.

    Source
    ------
    Michel et al. (2019), "Are Sixteen Heads Really Better than One?", section 2.3.
    """
    if any(not 0 <= head < layer.n_heads for head in heads):
        raise ValueError(f"the heads are 0 … {layer.n_heads - 1}; got {list(heads)}.")
    weight = layer.out_proj.weight
    before = weight.detach().clone()
    with torch.no_grad():
        weight.unflatten(1, (layer.n_heads, -1))[:, list(heads)] = 0
    try:
        yield
    finally:
        with torch.no_grad():
            weight.copy_(before)


def fused_attention(query, key, value, mask=None, dropout=0.0):
    """Compute what `scaled_dot_product_attention` does in one operator, without the weights.

    Parameters
    ----------
    query, key, value, mask
        As in `scaled_dot_product_attention`.
    dropout : float, default=0.0
        Share of weights set to zero.

    Returns
    -------
    context : Tensor of shape (..., query_len, d_value)
    """
    if mask is not None:
        check_mask(mask, (*query.shape[:-1], key.shape[-2]))
    # On a CPU the one-pass kernel is made for long sequences; at sentence length its backward is
    # several times slower than that of plain products, which PyTorch calls its "math" kernel.
    plain = query.device.type == "cpu" and query.requires_grad and torch.is_grad_enabled()
    with sdpa_kernel(SDPBackend.MATH) if plain else nullcontext():
        return F.scaled_dot_product_attention(query, key, value, mask, dropout)
