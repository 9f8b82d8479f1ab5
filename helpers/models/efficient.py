"""Attention that needs less memory, or less time: tiles, linear attention, a mixture of experts.

T query length, S key length, K head width. Sparse masks are in `patterns`.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from helpers.transformer.layers import FeedForward


def cache_size(n_tokens, n_layers, n_heads, d_head, bytes_per_number=2, window=None) -> int:
    """Count the bytes that the keys and values of a text take in a decoder's cache.

    Parameters
    ----------
    n_tokens, n_layers : int
    n_heads : int
        Heads that have keys and values of their own: all of them in multi-head attention, fewer in
        grouped-query attention, 1 in multi-query attention.
    d_head : int
        Width of one head's keys, and of its values.
    bytes_per_number : int, default=2
        2 for 16-bit floats.
    window : int, default=None
        If the layers attend to the last `window` tokens only, older ones are dropped.
    """
    kept = n_tokens if window is None else min(n_tokens, window)
    return 2 * kept * n_layers * n_heads * d_head * bytes_per_number  # 2: keys and values


def tiled_attention(query, key, value, block):
    """Compute attention block by block, without ever storing all the weights.

    Parameters
    ----------
    query : Tensor of shape (..., T, K)
    key : Tensor of shape (..., S, K)
    value : Tensor of shape (..., S, d_value)
    block : int
        Number of keys per step; the largest matrix of scores is (..., T, block).

    Returns
    -------
    context : Tensor of shape (..., T, d_value)
        The same as `scaled_dot_product_attention` gives.

    Source
    ------
    Dao et al. (2022), "FlashAttention: Fast and Memory-Efficient Exact Attention with
    IO-Awareness", arXiv:2205.14135, section 3.1, algorithm 1. It cuts the queries into blocks too.
    """
    largest = query.new_full((*query.shape[:-1], 1), -math.inf)
    total = torch.zeros_like(largest)
    mixed = query.new_zeros(*query.shape[:-1], value.shape[-1])
    for some_keys, some_values in zip(key.split(block, -2), value.split(block, -2), strict=True):
        scores = query @ some_keys.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (..., T, block)
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        shrink, powers = (largest - new).exp(), (scores - new).exp()
        total = total * shrink + powers.sum(-1, keepdim=True)
        mixed = mixed * shrink + powers @ some_values
        largest = new
    return mixed / total


def feature_map(x):
    """Map (..., K) to positive features of the same shape: elu(x) + 1.

    Source
    ------
    Katharopoulos et al. (2020), arXiv:2006.16236, section 3.2.1, eq. (7).
    """
    return F.elu(x) + 1


def linear_attention(query, key, value):
    """Attend to all positions with weights φ(q)·φ(k), in time proportional to the length.

    (φ(Q) φ(K)ᵀ) V is computed as φ(Q) (φ(K)ᵀ V), so there is never a matrix of T × S weights.

    Parameters
    ----------
    query : Tensor of shape (..., T, K)
    key : Tensor of shape (..., S, K)
    value : Tensor of shape (..., S, d_value)

    Returns
    -------
    context : Tensor of shape (..., T, d_value)

    Source
    ------
    Katharopoulos et al. (2020), "Transformers are RNNs: Fast Autoregressive Transformers with
    Linear Attention", arXiv:2006.16236, section 3.2, eq. (6).
    """
    query, key = feature_map(query), feature_map(key)
    state = key.transpose(-2, -1) @ value  # (..., K, S) @ (..., S, d_value) -> (..., K, d_value)
    total = key.sum(-2).unsqueeze(-1)  # (..., K, 1)
    return query @ state / (query @ total)


def linear_attention_step(query, key, value, state, total):
    """Take in one more token, then attend to it and to all before it: the recurrent form.

    Parameters
    ----------
    query, key : Tensor of shape (..., K)
        Of the new token.
    value : Tensor of shape (..., d_value)
    state : Tensor of shape (..., K, d_value)
        The sum of φ(k) vᵀ over the tokens so far; zeros at the start.
    total : Tensor of shape (..., K)
        The sum of φ(k) over the tokens so far; zeros at the start.

    Returns
    -------
    context : Tensor of shape (..., d_value)
    state : Tensor of shape (..., K, d_value)
    total : Tensor of shape (..., K)

    Source
    ------
    Katharopoulos et al. (2020), arXiv:2006.16236, section 3.4, eqs. (16) to (20).
    """
    query, key = feature_map(query), feature_map(key)
    state = state + key.unsqueeze(-1) * value.unsqueeze(-2)  # (..., K, 1) * (..., 1, d_value)
    total = total + key
    context = (query.unsqueeze(-2) @ state).squeeze(-2)  # (..., 1, K) @ (..., K, d_value)
    return context / (query * total).sum(-1, keepdim=True), state, total


def causal_linear_attention(query, key, value, chunk=64):
    """Attend to earlier positions with weights φ(q)·φ(k), a chunk of the sequence at a time.

    Within a chunk the weights are computed; what lies before it is held by the state. A chunk of 1
    is the recurrence of `linear_attention_step`, one of the whole length is the quadratic form.

    Parameters
    ----------
    query, key : Tensor of shape (..., T, K)
    value : Tensor of shape (..., T, d_value)
    chunk : int, default=64

    Returns
    -------
    context : Tensor of shape (..., T, d_value)

    Source
    ------
    Katharopoulos et al. (2020), arXiv:2006.16236, section 3.3; in chunks: Hua et al. (2022),
    "Transformer Quality in Linear Time", arXiv:2202.10447, section 3.2.
    """
    state = query.new_zeros(*query.shape[:-2], key.shape[-1], value.shape[-1])  # (..., K, d_value)
    total = query.new_zeros(*query.shape[:-2], key.shape[-1], 1)  # (..., K, 1)
    contexts = []
    parts = (x.split(chunk, dim=-2) for x in (feature_map(query), feature_map(key), value))
    for q, k, v in zip(*parts, strict=True):
        weights = (q @ k.transpose(-2, -1)).tril()  # (..., chunk, chunk)
        mixed = weights @ v + q @ state
        contexts.append(mixed / (weights.sum(-1, keepdim=True) + q @ total))
        state = state + k.transpose(-2, -1) @ v
        total = total + k.sum(-2).unsqueeze(-1)
    return torch.cat(contexts, -2)


class MixtureOfExperts(nn.Module):
    """Many feed-forward networks, of which each token passes through only `k`.

    Parameters
    ----------
    d_model, d_ff : int
        Widths of each expert, a `FeedForward`.
    n_experts : int
    k : int, default=2
        How many experts a token is sent to.

    Raises
    ------
    ValueError
        If `k` is not between 1 and `n_experts`.

    Source
    ------
    Shazeer et al. (2017), "Outrageously Large Neural Networks: The Sparsely-Gated
    Mixture-of-Experts Layer", arXiv:1701.06538, section 2, eqs. (1) to (5), without their noise.
    """

    def __init__(self, d_model, d_ff, n_experts, k=2):
        super().__init__()
        if not 1 <= k <= n_experts:
            raise ValueError(f"k must be between 1 and the {n_experts} experts; got {k}.")
        self.k = k
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(FeedForward(d_model, d_ff) for _ in range(n_experts))

    def forward(self, x):
        """Map (..., D) to (..., D), and return the gates (..., n_experts) too: all but k are 0."""
        scores = self.router(x)  # (..., n_experts)
        best, chosen = scores.topk(self.k, dim=-1)
        gates = torch.zeros_like(scores).scatter(-1, chosen, best.softmax(-1))
        output = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            mine = gates[..., i] > 0  # only these tokens pass through expert i
            output[mine] = output[mine] + gates[mine][:, i, None] * expert(x[mine])
        return output, gates


def importance_loss(gates):
    """Measure how unevenly the experts are used: the squared coefficient of variation.

    Parameters
    ----------
    gates : Tensor of shape (..., n_experts)
        As `MixtureOfExperts` returns them.

    Returns
    -------
    loss : scalar Tensor
        0 if all experts get the same total weight. Added to the training loss with a small factor.

    Source
    ------
    Shazeer et al. (2017), arXiv:1701.06538, section 4, eqs. (6) and (7).
    """
    importance = gates.flatten(0, -2).sum(0)  # (n_experts,)
    return importance.var(unbiased=False) / importance.mean() ** 2
