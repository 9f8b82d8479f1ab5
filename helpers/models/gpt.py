"""GPT: the decoder alone, built from the same layers as our Transformer.

Without a source there is no cross-attention, and a decoder layer without cross-attention is an
encoder layer under a causal mask. B batch, T length, D model width, H heads, K head width, V
vocabulary.
"""

import math
from dataclasses import dataclass

import torch
from torch import nn

from helpers.models.attending import Attending
from helpers.models.modern import RMSNorm, SwiGLU
from helpers.transformer.attention import MultiHeadAttention, scaled_dot_product_attention
from helpers.transformer.cache import DecoderCache, KeyValueCache
from helpers.transformer.fast import grouped_attention, rotated
from helpers.transformer.layers import ACTIVATIONS, Dropout, FeedForward, Residual, inference
from helpers.transformer.masks import causal_mask
from helpers.transformer.one_row import OneRowLinear
from helpers.transformer.positions import LearnedPositions
from helpers.transformer.transformer import check_ids

NORMS = {"layer": nn.LayerNorm, "rms": RMSNorm}
CHOICES = {
    "positions": ("learned", "rotary"),
    "activation": (*ACTIVATIONS, "swiglu"),
    "norm": tuple(NORMS),
}


@dataclass(frozen=True, kw_only=True)
class GPTConfig:
    """The sizes and choices that make a GPT; the default sizes are those of the small GPT-2.

    Parameters
    ----------
    vocab_size, d_model, n_heads, n_layers, max_len : int
    d_ff : int, default=None
        Hidden width of the feed-forward network; None means four times `d_model`, and 2/3 of that
        for "swiglu", which has three matrices instead of two.
    positions : {"learned", "rotary"}, default="learned"
        A table added to the embeddings, as in GPT-2, or a rotation of queries and keys.
    n_kv_heads : int, default=None
        Heads of keys and values. Fewer than `n_heads` is grouped-query attention, 1 is multi-query
        attention; None means one per query head.
    dropout : float, default=0.1
    tie_embeddings : bool, default=True
        Whether the output layer shares its matrix with the embedding.
    activation : {"relu", "gelu", "gelu_tanh", "swiglu"}, default="gelu_tanh"
        GPT-2 approximates the GELU with a tanh; "swiglu" is the network with a gate of
        `modern.SwiGLU`.
    norm : {"layer", "rms"}, default="layer"
        LayerNorm or `modern.RMSNorm`.
    norm_first : bool, default=True
        Pre-norm as in GPT-2, or post-norm as in the paper and the first GPT; see `Residual`.
    norm_eps : float, default=1e-5
    attention_bias : bool, default=True
        Whether the four projections of attention add a bias; Llama's don't.
    rotary_base : float, default=10000.0
        See `positions.rotate_positions`. A larger base turns the slow features more slowly, for
        longer texts.

    Raises
    ------
    ValueError
        If a choice is unknown, or the number of key heads does not divide that of query heads.
    """

    vocab_size: int = 50257
    d_model: int = 768
    n_heads: int = 12
    n_layers: int = 12
    d_ff: int | None = None
    max_len: int = 1024
    positions: str = "learned"
    n_kv_heads: int | None = None
    dropout: float = 0.1
    tie_embeddings: bool = True
    activation: str = "gelu_tanh"
    norm: str = "layer"
    norm_first: bool = True
    norm_eps: float = 1e-5
    attention_bias: bool = True
    rotary_base: float = 10000.0

    def __post_init__(self):
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {choices}; got {getattr(self, name)!r}.")
        if self.n_heads % (self.n_kv_heads or self.n_heads):
            raise ValueError(
                f"every key head serves equally many query heads, so n_kv_heads must divide "
                f"n_heads; got n_heads={self.n_heads}, n_kv_heads={self.n_kv_heads}."
            )


class CausalSelfAttention(MultiHeadAttention):
    """Multi-head self-attention with two choices that the paper did not have yet.

    Parameters
    ----------
    d_model, n_heads : int
    n_kv_heads : int, default=None
        Heads of keys and values, each shared by ``n_heads / n_kv_heads`` query heads.
    rotary : bool, default=False
        Rotate queries and keys by their positions.
    bias : bool, default=True
        Whether the projections add a bias.
    base : float, default=10000.0
        Of the rotation; see `positions.rotate_positions`.

    Source
    ------
    Ainslie et al. (2023), "GQA", arXiv:2305.13245, section 2.2; Su et al. (2021), "RoFormer",
    arXiv:2104.09864, section 3.4.2.
    """

    def __init__(self, d_model, n_heads, n_kv_heads=None, rotary=False, bias=True, base=10000.0):
        super().__init__(d_model, n_heads, d_kv=d_model // n_heads * (n_kv_heads or n_heads))
        self.n_kv_heads, self.rotary, self.base = n_kv_heads or n_heads, rotary, base
        if not bias:
            for linear in (self.query_proj, self.key_proj, self.value_proj, self.out_proj):
                linear.bias = None

    def forward(self, query, key, value, mask=None, need_weights=False, cache=None):
        """Attend within one sequence; arguments and results as in `MultiHeadAttention.forward`."""
        if cache is None:
            q, (k, v) = self.project_query(query), self.project_key_value(key, value)
        else:
            heads, n = cache.project_together(self, query), self.n_kv_heads
            qk, v = heads[:, :-n], heads[:, -n:]
            qk = rotated(qk, cache.length, self.base) if self.rotary else qk
            q, k = qk[:, :-n], qk[:, -n:]
            k, v = cache.append(k, v)  # the cache holds only n_kv_heads of them
        if need_weights:
            k, v = (x.repeat_interleave(self.n_heads // self.n_kv_heads, 1) for x in (k, v))
            context, weights = scaled_dot_product_attention(q, k, v, mask)
        else:
            context, weights = grouped_attention(q, k, v, mask), None
        return self.out_proj(self.merge_heads(context)), weights

    def project_query(self, query):
        """Apply W_Q and the rotation, (B, T, D) -> (B, H, T, K)."""
        q = super().project_query(query)
        return rotated(q, base=self.base) if self.rotary else q

    def project_key_value(self, key, value):
        """Apply W_K and W_V, (B, S, D) -> (B, n_kv_heads, S, K) each; keys are rotated too."""
        k, v = super().project_key_value(key, value)
        return (rotated(k, base=self.base) if self.rotary else k), v


class GPTLayer(nn.Module):
    """Causal self-attention, feed-forward: an encoder layer whose attention takes a cache.

    Source
    ------
    Radford et al. (2019), "Language Models are Unsupervised Multitask Learners", section 2.3.
    """

    def __init__(self, config: GPTConfig):
        super().__init__()
        c, gated = config, config.activation == "swiglu"
        d_ff = c.d_ff or round(c.d_model * (8 / 3 if gated else 4))
        heads = (c.d_model, c.n_heads, c.n_kv_heads)
        rotation = {"rotary": c.positions == "rotary", "base": c.rotary_base}
        self.self_attention = CausalSelfAttention(*heads, bias=c.attention_bias, **rotation)
        self.feed_forward = (
            SwiGLU(c.d_model, d_ff) if gated else FeedForward(c.d_model, d_ff, c.activation)
        )
        around = (c.d_model, c.dropout, c.norm_first, c.norm_eps, NORMS[c.norm])
        self.residual_1, self.residual_2 = Residual(*around), Residual(*around)

    def forward(self, x, mask=None, cache=None):
        """Map (B, T, D) to (B, T, D); with a `cache`, T counts the new positions only."""
        x = self.residual_1(x, lambda h: self.self_attention(h, h, h, mask, cache=cache)[0])
        return self.residual_2(x, self.feed_forward)


class GPT(Attending):
    """Predict every next token from the tokens before it.

    Source
    ------
    Radford et al. (2018), "Improving Language Understanding by Generative Pre-Training"; Radford
    et al. (2019), section 2.3, for the order of the norms and the initialisation.
    """

    runs = "decode"

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = c = config
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        self.positions = (
            LearnedPositions(c.max_len, c.d_model) if c.positions == "learned" else None
        )
        self.dropout = Dropout(c.dropout)
        self.layers = nn.ModuleList(GPTLayer(c) for _ in range(c.n_layers))
        # In post-norm the last layer ends with a norm of its own.
        self.norm = NORMS[c.norm](c.d_model, c.norm_eps) if c.norm_first else nn.Identity()
        self.output_proj = OneRowLinear(c.d_model, c.vocab_size, bias=False)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
        # Each layer adds to the residual stream twice, so what it adds starts smaller in a deep
        # model (Radford et al. 2019, section 2.3).
        for layer in self.layers:
            for last in (layer.self_attention.out_proj, layer.feed_forward.linear_2):
                nn.init.normal_(last.weight, std=0.02 / math.sqrt(2 * len(self.layers)))
        if c.tie_embeddings:
            self.output_proj.weight = self.embedding.weight

    def forward(self, ids):
        """Compute the logits of every next token.

        Parameters
        ----------
        ids : integer Tensor of shape (B, T)

        Returns
        -------
        logits : Tensor of shape (B, T, V)

        Raises
        ------
        ValueError
            If there are no tokens, more than `max_len`, or one is outside the vocabulary.
        """
        return self.output_proj(self.decode(ids))

    def decode(self, ids, cache=None):
        """Compute the last layer's output, from which the output layer makes logits.

        Parameters
        ----------
        ids : integer Tensor of shape (B, T)
        cache : GPTCache, default=None
            Filled with what this call computes. The next call computes only later positions.

        Returns
        -------
        hidden : Tensor of shape (B, T, D), or of the new positions only
        """
        start = 0 if cache is None else cache.length
        caches = [None] * len(self.layers) if cache is None else cache.layers
        check_ids(ids[:, start:], self.config.vocab_size, self.config.max_len, start)
        x = self.embedding(ids[:, start:])  # (B, new) -> (B, new, D)
        if self.positions is not None:
            x = x + self.positions(ids.shape[1] - start, start)
        x = self.dropout(x)
        # The newest token is allowed to attend to all earlier ones, so alone it needs no mask.
        mask = None if x.shape[1] == 1 else causal_mask(ids.shape[1], ids.device)[start:]
        for layer, layer_cache in zip(self.layers, caches, strict=True):
            x = layer(x, mask, layer_cache)
        return self.norm(x)

    def decoder_step(self, prompt, cached=True):
        """Return the step function that `decoding` asks for; no dropout, no gradients.

        The begin-of-sentence token with which every prefix starts stands for the whole prompt. A
        sequence that outgrows `max_len` goes on from its last half.

        Parameters
        ----------
        prompt : integer Tensor of shape (N, P)
            One prompt per sequence, all equally long.
        cached : bool, default=True
            Keep the keys and values of earlier positions instead of computing them again.

        Returns
        -------
        step : function (prefix (N, t), rows (N,) or None) -> logits (N, V)
        """
        cache = GPTCache(len(self.layers)) if cached else None
        start, max_len = 0, self.config.max_len

        def step(prefix, rows=None):
            nonlocal prompt, cache, start
            if rows is not None:
                prompt = prompt[rows]
                if cache is not None:
                    cache.reorder(rows)
            ids = torch.cat([prompt, prefix[:, 1:].to(prompt.device)], dim=1)
            if ids.shape[1] - start > max_len:
                start = ids.shape[1] - max(max_len // 2, 1)
                cache = GPTCache(len(self.layers)) if cached else None
            with inference(self), torch.inference_mode():
                hidden = self.decode(ids[:, start:], cache)
                logits = self.output_proj(hidden[:, -1])  # (N, D) -> (N, V)
            return logits.clone()  # outside, so that it may be used in training

        return step


class GPTCache(DecoderCache):
    """What a GPT has computed so far, per layer."""

    def __init__(self, n_layers: int):
        self.layers = [KeyValueCache(grows=True) for _ in range(n_layers)]

    @property
    def length(self):
        """Positions already computed."""
        return self.layers[0].length

    def shorten(self, length):
        """Forget all positions after the first `length`, as if they had never been read."""
        for layer in self.layers:
            layer.shorten(length)


def gpt2_state(model):
    """Name a GPT's weights as Hugging Face's `GPT2LMHeadModel` does.

    Parameters
    ----------
    model : GPT
        With learned positions and as many key heads as query heads.

    Returns
    -------
    state : dict of str to Tensor
        For ``GPT2LMHeadModel.load_state_dict``.
    """
    state = {
        "transformer.wte.weight": model.embedding.weight,
        "lm_head.weight": model.output_proj.weight,
        "transformer.wpe.weight": model.positions.table,
        "transformer.ln_f.weight": model.norm.weight,
        "transformer.ln_f.bias": model.norm.bias,
    }
    for i, layer in enumerate(model.layers):
        attention, network = layer.self_attention, layer.feed_forward
        three = (attention.query_proj, attention.key_proj, attention.value_proj)
        name = f"transformer.h.{i}"
        # GPT-2's files hold the three projections as one matrix, and every matrix transposed.
        state[f"{name}.attn.c_attn.weight"] = torch.cat([x.weight for x in three]).T
        state[f"{name}.attn.c_attn.bias"] = torch.cat([x.bias for x in three])
        for theirs, linear in (
            ("attn.c_proj", attention.out_proj),
            ("mlp.c_fc", network.linear_1),
            ("mlp.c_proj", network.linear_2),
        ):
            state[f"{name}.{theirs}.weight"] = linear.weight.T
            state[f"{name}.{theirs}.bias"] = linear.bias
        for theirs, residual in (("ln_1", layer.residual_1), ("ln_2", layer.residual_2)):
            state[f"{name}.{theirs}.weight"] = residual.norm.weight
            state[f"{name}.{theirs}.bias"] = residual.norm.bias
    return state
