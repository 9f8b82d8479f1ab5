"""The Transformer of Figure 1: embeddings, encoder, decoder, output layer.

Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762. Section numbers below are the
paper's. B batch, T target length, S source length, D model width, H heads, K head width, V
vocabulary.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from helpers.transformer.attention import recorded_weights
from helpers.transformer.cache import DecoderCache
from helpers.transformer.fast import matrix_first, none_if_full
from helpers.transformer.layers import DecoderLayer, Dropout, EncoderLayer, inference
from helpers.transformer.masks import causal_mask, padding_mask
from helpers.transformer.positions import sinusoidal_positions


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """The sizes and choices that make a Transformer.

    The default sizes are those of the paper's base model.

    Parameters
    ----------
    src_vocab_size, tgt_vocab_size : int
        Number of token types on each side.
    norm_first : bool
        False: LayerNorm(x + Sublayer(x)), as in the paper (post-norm). True: x +
        Sublayer(LayerNorm(x)), and one more LayerNorm after the last layer (pre-norm). There is
        no default, because the paper's choice (False) and today's usual one (True) are both called
        "the Transformer".
    d_model, n_heads, n_layers, d_ff : int, default=512, 8, 6, 2048
        Model width, heads per layer, layers in the encoder and again in the decoder, and the
        hidden width of the feed-forward network.
    dropout : float, default=0.1
        Share of each sublayer's output, and of the embeddings, set to zero while training.
    max_len : int, default=512
        Longest sequence length, in tokens.
    pad_id : int, default=0
        The id that fills up short sentences.
    tie_embeddings : bool, default=True
        Whether the output layer shares its matrix with the target embedding (section 3.4).
    share_vocabulary : bool, default=False
        Whether source and target share one embedding, as in the paper (section 3.4); needs equal
        vocabulary sizes.
    activation : {"relu", "gelu"}, default="relu"
        Between the two linear layers of the feed-forward network; BERT uses gelu.
    norm_eps : float, default=1e-5
        Added to the variance inside LayerNorm's root.
    """

    src_vocab_size: int
    tgt_vocab_size: int
    norm_first: bool
    d_model: int = 512
    n_heads: int = 8
    n_layers: int = 6
    d_ff: int = 2048
    dropout: float = 0.1
    max_len: int = 512
    pad_id: int = 0
    tie_embeddings: bool = True
    share_vocabulary: bool = False
    activation: str = "relu"
    norm_eps: float = 1e-5

    def __post_init__(self):
        if self.share_vocabulary and self.src_vocab_size != self.tgt_vocab_size:
            raise ValueError(
                f"one shared vocabulary has one size; got src_vocab_size={self.src_vocab_size}, "
                f"tgt_vocab_size={self.tgt_vocab_size}."
            )
        if self.activation not in ("relu", "gelu"):
            raise ValueError(f'activation must be "relu" or "gelu"; got {self.activation!r}.')
        if not 0 <= self.dropout < 1:
            raise ValueError(
                f"dropout is a share from 0 up to but not including 1; got {self.dropout}."
            )


class AttentionMaps(NamedTuple):
    """All attention weights of one pass, each of shape (B, layers, H, queries, keys).

    Queries and keys are source and source (`encoder`), target and target (`decoder`), target and
    source (`cross`).
    """

    encoder: torch.Tensor
    decoder: torch.Tensor
    cross: torch.Tensor


class Transformer(nn.Module):
    """Encode a source sentence, then predict every next token of its target."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config = c = config
        sizes = (c.d_model, c.n_heads, c.d_ff, c.dropout, c.norm_first, c.activation, c.norm_eps)
        self.src_embedding = nn.Embedding(c.src_vocab_size, c.d_model)
        self.tgt_embedding = nn.Embedding(c.tgt_vocab_size, c.d_model)
        self.encoder_layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(c.n_layers))
        self.decoder_layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(c.n_layers))
        # In pre-norm nothing has normalised the sum that leaves the last layer, so one norm more.
        self.encoder_norm = nn.LayerNorm(c.d_model, c.norm_eps) if c.norm_first else nn.Identity()
        self.decoder_norm = nn.LayerNorm(c.d_model, c.norm_eps) if c.norm_first else nn.Identity()
        self.output_proj = nn.Linear(c.d_model, c.tgt_vocab_size, bias=False)
        self.dropout = Dropout(c.dropout)
        self.register_buffer(
            "positions", sinusoidal_positions(c.max_len, c.d_model), persistent=False
        )
        # With this standard deviation the logits start with a spread of about 1, and so do the
        # embeddings once embed() has multiplied them by √D.
        for matrix in (self.src_embedding, self.tgt_embedding, self.output_proj):
            nn.init.normal_(matrix.weight, std=c.d_model**-0.5)
        if c.share_vocabulary:
            self.src_embedding.weight = self.tgt_embedding.weight
        if c.tie_embeddings:
            self.output_proj.weight = self.tgt_embedding.weight

    def forward(self, src_ids, tgt_ids, keep=None):
        """Predict, at every target position, the next token.

        Parameters
        ----------
        src_ids : integer Tensor of shape (B, S)
        tgt_ids : integer Tensor of shape (B, T)
            The target shifted right: it starts with the begin-of-sentence token.
        keep : bool Tensor of shape (B, T), default=None
            Positions whose logits are wanted. Training leaves out padding, which saves a good part
            of the model's largest matrix product.

        Returns
        -------
        logits : Tensor of shape (B, T, V), or (N, V) for the N positions kept

        Raises
        ------
        ValueError
            If the batch is empty, an id is outside the vocabulary, or a sentence is too long.
        """
        memory = self.encode(src_ids)
        memory_mask = padding_mask(src_ids, self.config.pad_id)
        hidden = self.decode(tgt_ids, memory, memory_mask)
        # Training asks only for the positions with a target; otherwise all of them.
        if keep is not None:
            hidden = hidden[keep]  # (B, T, D) -> (N, D)
        # Logits: the softmax at the top of Figure 1 is part of the loss and of decoding.
        return self.output_proj(hidden)

    def embed(self, ids, embedding, start=0):
        """Look up the embeddings, multiply by √D, add the positions (sections 3.4 and 3.5).

        Parameters
        ----------
        ids : integer Tensor of shape (B, T)
        embedding : nn.Embedding
        start : int, default=0
            Position of the first id.

        Returns
        -------
        x : Tensor of shape (B, T, D)
        """
        check_ids(ids, embedding.num_embeddings, self.config.max_len, start)
        positions = self.positions[start : start + ids.shape[1]]
        return self.dropout(embedding(ids) * math.sqrt(self.config.d_model) + positions)

    def source_mask(self, src_ids):
        """Say where each source position is allowed to attend, broadcastable to (B, H, S, S)."""
        return padding_mask(src_ids, self.config.pad_id)

    def target_mask(self, tgt_ids):
        """Say where each target position is allowed to attend, broadcastable to (B, H, T, T)."""
        # The causal mask already hides padding at the end from the real tokens before it; the
        # padding mask hides padding wherever it is.
        causal = causal_mask(tgt_ids.shape[1], tgt_ids.device)
        return padding_mask(tgt_ids, self.config.pad_id) & causal  # (B, 1, T, T)

    def encode(self, src_ids):
        """Map source ids (B, S) to the memory that the decoder attends to, (B, S, D)."""
        mask = self.source_mask(src_ids)
        x = self.embed(src_ids, self.src_embedding)
        for layer in self.encoder_layers:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, tgt_ids, memory, memory_mask=None, cache=None):
        """Compute the decoder's output, from which the output layer makes logits.

        Parameters
        ----------
        tgt_ids : integer Tensor of shape (B, T)
        memory : Tensor of shape (B, S, D)
        memory_mask : bool Tensor of shape (B, 1, 1, S), default=None
        cache : DecoderCache, default=None
            Filled with what this call computes. The next call computes only later positions.

        Returns
        -------
        hidden : Tensor of shape (B, T, D), or of the new positions only
        """
        start = 0 if cache is None else cache.length
        layer_caches = [None] * len(self.decoder_layers) if cache is None else cache.layers
        mask = none_if_full(self.target_mask(tgt_ids)[:, :, start:])  # one row per new position
        x = self.embed(tgt_ids[:, start:], self.tgt_embedding, start)
        for layer, layer_cache in zip(self.decoder_layers, layer_caches, strict=True):
            x = layer(x, memory, mask, memory_mask, layer_cache)
        if cache is not None:
            cache.length = tgt_ids.shape[1]
        return self.decoder_norm(x)

    def decoder_step(self, src_ids, cached=True):
        """Return the step function that `decoding` asks for; no dropout, no gradients.

        Parameters
        ----------
        src_ids : integer Tensor of shape (B, S)
        cached : bool, default=True
            Keep the keys and values of earlier positions instead of computing them again.

        Returns
        -------
        step : function (prefix (N, t), rows (N,) or None) -> logits (N, V)
            `prefix` starts with the begin-of-sentence token; `rows` says which row of the previous
            call each row continues.
        """
        with inference(self):
            memory = self.encode(src_ids)
        memory_mask = none_if_full(padding_mask(src_ids, self.config.pad_id))
        cache = DecoderCache(len(self.decoder_layers)) if cached else None

        def step(prefix, rows=None):
            nonlocal memory, memory_mask
            if rows is not None:
                memory = memory[rows]
                memory_mask = None if memory_mask is None else memory_mask[rows]
                if cache is not None:
                    cache.reorder(rows)
            with inference(self), torch.inference_mode():
                hidden = self.decode(prefix.to(memory.device), memory, memory_mask, cache)
                logits = matrix_first(self.output_proj, hidden[:, -1])  # (N, t, D) -> (N, V)
            return logits.clone()  # outside, so that it may be used in training

        return step

    def attention_maps(self, src_ids, tgt_ids) -> AttentionMaps:
        """Return the attention weights of every head of every layer, with dropout off.

        Parameters
        ----------
        src_ids : integer Tensor of shape (B, S)
        tgt_ids : integer Tensor of shape (B, T)
        """
        with inference(self), recorded_weights(self) as maps:
            self(src_ids, tgt_ids)
        n_layers = self.config.n_layers
        encoder, decoder = maps[:n_layers], maps[n_layers:]  # the decoder's: self, cross, self, …
        return AttentionMaps(
            *(torch.stack(one, dim=1) for one in (encoder, decoder[0::2], decoder[1::2]))
        )


def check_ids(ids, vocab_size, max_len, start=0):
    """Refuse token ids (B, T) that a model can't take.

    Parameters
    ----------
    ids : integer Tensor of shape (B, T)
    vocab_size, max_len : int
        Those of the model.
    start : int, default=0
        Position of the first id.

    Raises
    ------
    ValueError
        If there are none, too many for the model's positions, or one is outside the vocabulary.
    """
    if ids.numel() == 0:
        raise ValueError(f"got no tokens: ids of shape {tuple(ids.shape)}.")
    if start + ids.shape[1] > max_len:
        raise ValueError(
            f"the sentence has {start + ids.shape[1]} tokens, the model has positions for "
            f"max_len={max_len}. Split it, or build with a larger max_len."
        )
    if torch.compiler.is_compiling():  # a graph can't depend on what the ids are
        return
    lowest, highest = (x.item() for x in ids.aminmax())
    if lowest < 0 or highest >= vocab_size:
        raise ValueError(
            f"token ids must lie in 0 … {vocab_size - 1}; got {lowest} … {highest}. Do model and "
            f"tokenizer belong together?"
        )
