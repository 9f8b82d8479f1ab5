"""Attention: queries score keys, a softmax turns scores into weights, weights average the values.

B batch, T target or query length, S source or key length, D model width, H heads, K head width.
"""

import functools
import math
from contextlib import ExitStack, contextmanager

import torch
import torch.nn.functional as F
from torch import nn

from helpers.transformer.fast import fused_attention
from helpers.transformer.masks import check_mask


def masked_softmax(scores, mask=None):
    """Turn scores into weights that sum to 1 over the keys that a query is allowed to attend to.

    Parameters
    ----------
    scores : Tensor of shape (..., S)
        How well each key matches.
    mask : bool Tensor broadcastable to `scores`, default=None
        True where the query is allowed to attend. A row with no True gives zeros, not NaN.

    Returns
    -------
    weights : Tensor of shape (..., S)

    Raises
    ------
    ValueError
        If the mask is not boolean or does not broadcast to the scores.
    """
    if mask is None:
        return scores.softmax(-1)
    check_mask(mask, scores.shape)
    weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
    # With every key masked out the softmax is 0/0, so such a row is set to zero.
    all_masked = ~mask.any(-1, keepdim=True)
    return weights.masked_fill(all_masked, 0.0)


def scaled_dot_product_attention(query, key, value, mask=None):
    """Compute softmax(Q Kᵀ / √d_k) V: average the values, weighted by how well their keys match.

    Parameters
    ----------
    query : Tensor of shape (..., T, K)
        What each position is looking for.
    key : Tensor of shape (..., S, K)
        What each position is matched on.
    value : Tensor of shape (..., S, d_value)
        What each position passes on.
    mask : bool Tensor broadcastable to (..., T, S), default=None
        True where the query is allowed to attend. A row with no True gives zeros, not NaN.

    Returns
    -------
    context : Tensor of shape (..., T, d_value)
    weights : Tensor of shape (..., T, S)
        Every row sums to 1, or to 0 if it is wholly masked out.

    Raises
    ------
    ValueError
        If query and key differ in width, if there are not as many values as keys, or if the mask
        is not boolean or does not broadcast.

    Source
    ------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.1, eq. (1).
    """
    _check_shapes(query, key, value)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (..., T, S)
    weights = masked_softmax(scores, mask)
    return weights @ value, weights


def _check_shapes(query, key, value):
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
        Width A of the hidden layer in which the two are added.

    Source
    ------
    Bahdanau et al. (2015), "Neural Machine Translation by Jointly Learning to Align and
    Translate", section 3.1 and appendix A.1.2.
    """

    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.query_proj = nn.Linear(d_query, d_attention, bias=False)  # W
        self.key_proj = nn.Linear(d_key, d_attention, bias=False)  # U
        self.energy = nn.Linear(d_attention, 1, bias=False)  # v

    def forward(self, query, keys, mask=None, projected_keys=None):
        """Attend to the keys with one query per sentence.

        Parameters
        ----------
        query : Tensor of shape (B, d_query)
        keys : Tensor of shape (B, S, d_key)
            They are scored, and they are also the values that are averaged.
        mask : bool Tensor of shape (B, S), default=None
            True where the query is allowed to attend.
        projected_keys : Tensor of shape (B, S, A), default=None
            ``key_proj(keys)``, if already computed: the keys are the same at every decoding step,
            so they need projecting only once per sentence.

        Returns
        -------
        context : Tensor of shape (B, d_key)
        weights : Tensor of shape (B, S)
        """
        if projected_keys is None:
            projected_keys = self.key_proj(keys)
        hidden = torch.tanh(self.query_proj(query)[:, None] + projected_keys)  # (B, S, A)
        scores = self.energy(hidden).squeeze(-1)  # (B, S, 1) -> (B, S)
        weights = masked_softmax(scores, mask)
        context = (weights[:, None] @ keys).squeeze(1)  # (B, 1, S) @ (B, S, d_key) -> (B, d_key)
        return context, weights


class MultiplicativeAttention(nn.Module):
    """Score each key by one of Luong's three functions.

    Parameters
    ----------
    d_query, d_key : int
        Widths of the query and of the keys.
    score : {"dot", "general", "concat"}, default="general"
        dot: query · key (equal widths, no parameters); general: query · W key;
        concat: v · tanh(W [query; key]), which Luong et al. list beside the other two.

    Raises
    ------
    ValueError
        If `score` is unknown, or is "dot" with two different widths.

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
        """Score every key (B, S, d_key) for every query (B, T, d_query); returns (B, T, S)."""
        if self.score == "dot":
            return query @ keys.transpose(1, 2)
        if self.score == "general":
            return query @ self.weight(keys).transpose(1, 2)
        # W [q; k] = W_q q + W_k k, so every query and every key is multiplied only once.
        w_query, w_key = self.weight.weight.split([query.shape[-1], keys.shape[-1]], dim=1)
        pairs = F.linear(query, w_query)[:, :, None] + F.linear(keys, w_key)[:, None]
        return self.energy(torch.tanh(pairs)).squeeze(-1)  # (B, T, S, d_query) -> (B, T, S)

    def forward(self, query, keys, mask=None):
        """Attend to the keys with one query per sentence, or with many.

        Parameters
        ----------
        query : Tensor of shape (B, d_query) or (B, T, d_query)
        keys : Tensor of shape (B, S, d_key)
            They are scored, and they are also the values that are averaged.
        mask : bool Tensor of shape (B, S), default=None
            True where the query is allowed to attend.

        Returns
        -------
        context : Tensor of shape (B, d_key) or (B, T, d_key)
        weights : Tensor of shape (B, S) or (B, T, S)
        """
        if query.dim() == 2:
            context, weights = self(query[:, None], keys, mask)
            return context.squeeze(1), weights.squeeze(1)
        if mask is not None:
            mask = mask[:, None]  # (B, S) -> (B, 1, S), the same for every query
        weights = masked_softmax(self.scores(query, keys), mask)
        return weights @ keys, weights


class MultiHeadAttention(nn.Module):
    """Attend with several heads in parallel, each with learned projections of its own.

    MultiHead(Q, K, V) = Concat(head_1, …, head_H) W_O, where
    head_i = Attention(Q W_Q_i, K W_K_i, V W_V_i). The H matrices W_Q_i are stored side by side as
    one (D, D) matrix, and likewise those of the keys and values.

    Like PyTorch's layer, and unlike the formula, each projection has a bias. Each is an nn.Linear,
    which stores its matrix transposed.

    Parameters
    ----------
    d_model : int
        Width of the inputs and of the output.
    n_heads : int
        Number of heads; must divide `d_model`. Each head is K = D / H wide.
    dropout : float, default=0.0
        Share of attention weights set to zero while training.
    d_kv : int, default=None
        Width of all keys of a position together, and of all values; None means `d_model`.

    Raises
    ------
    ValueError
        If `n_heads` does not divide `d_model`.

    Source
    ------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.2.
    """

    def __init__(self, d_model, n_heads, dropout=0.0, d_kv=None):
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(
                f"the heads share the width equally, so n_heads must divide d_model; got "
                f"d_model={d_model}, n_heads={n_heads}."
            )
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.dropout = dropout
        self.query_proj = nn.Linear(d_model, d_model)  # W_Q
        self.key_proj = nn.Linear(d_model, d_kv or d_model)  # W_K
        self.value_proj = nn.Linear(d_model, d_kv or d_model)  # W_V
        self.out_proj = nn.Linear(d_model, d_model)  # W_O
        # The paper gives no initialisation; Xavier is what nn.Transformer uses.
        for linear in (self.query_proj, self.key_proj, self.value_proj, self.out_proj):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, query, key, value, mask=None, need_weights=False, cache=None):
        """Attend from every query to the keys it is allowed to attend to.

        Parameters
        ----------
        query : Tensor of shape (B, T, D)
        key, value : Tensor of shape (B, S, D)
        mask : bool Tensor broadcastable to (B, H, T, S), default=None
            True where the query is allowed to attend.
        need_weights : bool, default=False
            True also returns the weights, which PyTorch's fused operator never stores;
            `recorded_weights` asks every layer for them. The output is the same, except that
            attention dropout draws other random numbers.
        cache : KeyValueCache, default=None
            Keys and values projected in earlier decoding steps.

        Returns
        -------
        output : Tensor of shape (B, T, D)
        weights : Tensor of shape (B, H, T, S), or None
        """
        q = self.project_query(query)
        if cache is None:
            k, v = self.project_key_value(key, value)
        else:
            k, v = cache.project(self, key, value)
        dropout = self.dropout if self.training else 0.0
        if need_weights:
            context, weights = scaled_dot_product_attention(q, k, v, mask)
            if dropout:
                context = F.dropout(weights, dropout) @ v
        else:
            context, weights = fused_attention(q, k, v, mask, dropout), None
        return self.out_proj(self.merge_heads(context)), weights

    def project_query(self, query):
        """Apply W_Q, (B, T, D) -> (B, H, T, K)."""
        return self.split_heads(self.query_proj(query))

    def project_key_value(self, key, value):
        """Apply W_K and W_V, (B, S, D) -> (B, H, S, K) each."""
        return self.split_heads(self.key_proj(key)), self.split_heads(self.value_proj(value))

    def split_heads(self, x):
        """Cut the last dimension into heads, (B, T, D) -> (B, H, T, K)."""
        return x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)

    def merge_heads(self, x):
        """Concatenate the heads, (B, H, T, K) -> (B, T, D)."""
        return x.transpose(1, 2).flatten(-2)


@contextmanager
def recorded_weights(model):
    """Record the attention weights of every `MultiHeadAttention` that runs in a ``with`` block.

    Parameters
    ----------
    model : nn.Module
        Any model that has such layers inside.

    Yields
    ------
    maps : list of Tensor of shape (B, H, T, S)
        One per call, in the order in which the layers ran.
    """
    maps = []

    def ask_for_weights(layer, args, kwargs):
        return args, {**kwargs, "need_weights": True}

    def record(layer, args, output):
        maps.append(output[1])

    with ExitStack() as hooks:
        for layer in model.modules():
            if isinstance(layer, MultiHeadAttention):
                ask = layer.register_forward_pre_hook(ask_for_weights, with_kwargs=True)
                hooks.enter_context(ask)
                hooks.enter_context(layer.register_forward_hook(record))
        yield maps


@contextmanager
def running(model, forward):
    """Run another function in place of every `MultiHeadAttention` inside a ``with`` block.

    A lesson puts a learner's own attention into a trained model this way.

    Parameters
    ----------
    model : nn.Module
        Any model that has such layers inside.
    forward : function
        Called as ``forward(layer, query, key, value, ...)``, with what the layer would be called
        with; returns what the layer would return.
    """
    layers = [layer for layer in model.modules() if isinstance(layer, MultiHeadAttention)]
    try:
        for layer in layers:
            layer.forward = functools.partial(forward, layer)
        yield
    finally:
        for layer in layers:
            vars(layer).pop("forward", None)


@contextmanager
def heads_off(layer: MultiHeadAttention, heads: list[int]):
    """Silence some heads of a layer inside a ``with`` block.

    The output of a head reaches the rest of the model only through its own rows of W_O, which are
    columns of ``out_proj.weight`` because nn.Linear stores its matrix transposed. With those at
    zero the head contributes nothing.

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
        weight.unflatten(1, (layer.n_heads, -1))[:, list(heads)] = 0  # (D, D) -> (D, H, K)
    try:
        yield
    finally:
        with torch.no_grad():
            weight.copy_(before)
