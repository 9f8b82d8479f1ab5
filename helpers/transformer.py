"""The Transformer: embed, encode, decode, predict.

Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762. Section numbers below are the
paper's. B batch, T target length, S source length, D model width, H heads, K head width, V
vocabulary.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from helpers.layers import DecoderLayer, Dropout, EncoderLayer, LayerCache
from helpers.masks import causal_mask, or_none, padding_mask
from helpers.positions import sinusoidal_positions


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Say how large a Transformer is to be. The defaults are the paper's, one vocabulary each.

    Parameters
    ----------
    src_vocab_size, tgt_vocab_size : int
        Number of token types on each side.
    norm_first : bool
        False: LayerNorm(x + Sublayer(x)), as in the paper (post-norm). True: x +
        Sublayer(LayerNorm(x)) and one more LayerNorm after the last layer (pre-norm). There is no
        default, because both are called "the Transformer".
    d_model, n_heads, n_layers, d_ff : int, default=512, 8, 6, 2048
        Width, heads, layers in the encoder and again in the decoder, width inside the feed-forward
        network.
    dropout : float, default=0.1
        Share of each sublayer's output, and of the embeddings, set to zero while training.
    max_len : int, default=512
        Longest sentence there are positions for.
    pad_id : int, default=0
        The id that fills up short sentences.
    tie_embeddings : bool, default=True
        Whether the output layer is the target embedding, transposed (section 3.4).
    share_vocabulary : bool, default=False
        Whether source and target use one embedding (section 3.4); needs equal vocabulary sizes.
    activation : {"relu", "gelu"}, default="relu"
        Between the two layers of the feed-forward network; BERT uses gelu.
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
                f"dropout is a share from 0 up to, not including, 1; got {self.dropout}."
            )


class AttentionMaps(NamedTuple):
    """Every weight of one pass, (B, layers, H, …): `encoder` S×S, `decoder` T×T, `cross` T×S."""

    encoder: torch.Tensor
    decoder: torch.Tensor
    cross: torch.Tensor


class Transformer(nn.Module):
    """Encode a source sentence, then predict every next token of its target.

    Parameters
    ----------
    config : TransformerConfig
    """

    def __init__(self, config):
        super().__init__()
        self.config = c = config
        layer = (c.d_model, c.n_heads, c.d_ff, c.dropout, c.norm_first, c.activation, c.norm_eps)
        self.src_embedding = nn.Embedding(c.src_vocab_size, c.d_model)
        self.tgt_embedding = nn.Embedding(c.tgt_vocab_size, c.d_model)
        self.encoder_layers = nn.ModuleList(EncoderLayer(*layer) for _ in range(c.n_layers))
        self.decoder_layers = nn.ModuleList(DecoderLayer(*layer) for _ in range(c.n_layers))
        # In pre-norm nothing has normalised the sum that leaves the last layer; this does.
        self.encoder_norm = nn.LayerNorm(c.d_model, c.norm_eps) if c.norm_first else nn.Identity()
        self.decoder_norm = nn.LayerNorm(c.d_model, c.norm_eps) if c.norm_first else nn.Identity()
        self.output_proj = nn.Linear(c.d_model, c.tgt_vocab_size, bias=False)
        self.dropout = Dropout(c.dropout)
        self.register_buffer(
            "positions", sinusoidal_positions(c.max_len, c.d_model), persistent=False
        )
        # Small enough that logits start at about 1; embed() scales it back up. A tied output starts
        # by favouring the token just read, whose vector is still in the residual path.
        for matrix in (self.src_embedding, self.tgt_embedding, self.output_proj):
            nn.init.normal_(matrix.weight, std=c.d_model**-0.5)
        if c.share_vocabulary:
            self.src_embedding.weight = self.tgt_embedding.weight
        if c.tie_embeddings:
            self.output_proj.weight = self.tgt_embedding.weight

    def forward(self, src_ids, tgt_ids, keep=None):
        """Predict, at every target position, the token that follows.

        Parameters
        ----------
        src_ids : integer Tensor of shape (B, S)
        tgt_ids : integer Tensor of shape (B, T)
            The target shifted right: it starts with the begin-of-sentence token.
        keep : bool Tensor of shape (B, T), default=None
            Positions whose logits are wanted. In training the padding's are not, and they are a
            good part of the largest product of the model.

        Returns
        -------
        logits : Tensor of shape (B, T, V), or (N, V) for the N positions kept

        Raises
        ------
        ValueError
            If the batch is empty, an id is outside the vocabulary, or a sentence is too long.
        """
        memory = self.encode(src_ids)
        hidden = self.decode(tgt_ids, memory, padding_mask(src_ids, self.config.pad_id))
        return self.output_proj(hidden if keep is None else hidden[keep])

    def embed(self, ids, embedding, start=0):
        """Look up the tokens' vectors, scale them by √D and add their positions (section 3.4)."""
        if ids.numel() == 0:
            raise ValueError(f"got no tokens: ids of shape {tuple(ids.shape)}.")
        end = start + ids.shape[1]
        if end > self.config.max_len:
            raise ValueError(
                f"the sentence has {end} tokens, the model has positions for "
                f"max_len={self.config.max_len}. Split it, or build with a larger max_len."
            )
        try:
            vectors = embedding(ids)
        except IndexError:
            raise ValueError(
                f"token ids must lie in 0 … {embedding.num_embeddings - 1}; got "
                f"{ids.min().item()} … {ids.max().item()}. Do model and tokenizer belong together?"
            ) from None
        return self.dropout(vectors * math.sqrt(self.config.d_model) + self.positions[start:end])

    def encode(self, src_ids):
        """Turn source ids (B, S) into the memory the decoder reads, (B, S, D)."""
        return self._encode(src_ids)[0]

    def _encode(self, src_ids, need_weights=False):
        mask = padding_mask(src_ids, self.config.pad_id)
        x = self.embed(src_ids, self.src_embedding)
        weights = []
        for layer in self.encoder_layers:
            x, layer_weights = layer(x, mask, need_weights)
            weights.append(layer_weights)
        return self.encoder_norm(x), weights

    def decode(self, tgt_ids, memory, memory_mask=None, cache=None):
        """Read target ids (B, T) beside the memory; return (B, T, D), before the output layer.

        Parameters
        ----------
        tgt_ids : integer Tensor of shape (B, T)
        memory : Tensor of shape (B, S, D)
        memory_mask : bool Tensor of shape (B, 1, 1, S), default=None
        cache : list of LayerCache, default=None
            One for each layer. Then only the positions that the cache lacks are computed and
            returned.
        """
        return self._decode(tgt_ids, memory, memory_mask, cache)[0]

    def _decode(self, tgt_ids, memory, memory_mask, cache=None, need_weights=False):
        done = cache[0].length if cache else 0
        mask = padding_mask(tgt_ids, self.config.pad_id) & causal_mask(
            tgt_ids.shape[1], tgt_ids.device
        )
        mask = mask[:, :, done:]
        if done:
            mask = or_none(mask)  # the newest token sees everything before it
        x = self.embed(tgt_ids[:, done:], self.tgt_embedding, start=done)
        weights = []
        for i, layer in enumerate(self.decoder_layers):
            layer_cache = cache[i] if cache else None
            x, *layer_weights = layer(x, memory, mask, memory_mask, layer_cache, need_weights)
            weights.append(layer_weights)
        return self.decoder_norm(x), weights

    def decoder_step(self, src_ids, cached=True):
        """Return the step function that `helpers.decoding` asks for.

        Parameters
        ----------
        src_ids : integer Tensor of shape (B, S)
        cached : bool, default=True
            Keep the keys and values of earlier positions instead of computing them again.

        Returns
        -------
        step : function (prefix (N, t), rows (N,) or None) -> logits (N, V)
            `prefix` starts with the begin-of-sentence token; `rows` says which row of the previous
            call each row goes on from.
        """
        memory = self.encode(src_ids)
        memory_mask = or_none(padding_mask(src_ids, self.config.pad_id))
        attentions = [layer.cross_attention for layer in self.decoder_layers]
        cache = [LayerCache(*a.project_key_value(memory, memory)) for a in attentions]

        def step(prefix, rows=None):
            nonlocal memory, memory_mask
            if rows is not None:
                memory = memory[rows]
                memory_mask = memory_mask if memory_mask is None else memory_mask[rows]
                for layer_cache in cache if cached else ():
                    layer_cache.reorder(rows)
            prefix = prefix.to(memory.device)
            hidden = self.decode(prefix, memory, memory_mask, cache if cached else None)
            return self._logits_of_a_step(hidden[:, -1])

        return step

    def _logits_of_a_step(self, hidden):
        # A few rows times a large matrix: with the matrix first, a CPU is up to twice as fast. Not
        # with many rows, where the transposed result costs more afterwards than that saves.
        if len(hidden) <= 32:
            return (self.output_proj.weight @ hidden.t()).t()
        return self.output_proj(hidden)

    @torch.no_grad()
    def attention_maps(self, src_ids, tgt_ids):
        """Show where every head of every layer looks, with dropout off.

        Parameters
        ----------
        src_ids : integer Tensor of shape (B, S)
        tgt_ids : integer Tensor of shape (B, T)

        Returns
        -------
        maps : AttentionMaps
            Weights of shape (B, layers, heads, queries, keys).
        """
        was_training = self.training
        self.eval()
        try:
            memory, encoder = self._encode(src_ids, need_weights=True)
            mask = padding_mask(src_ids, self.config.pad_id)
            decoder = self._decode(tgt_ids, memory, mask, need_weights=True)[1]
        finally:
            self.train(was_training)
        own, cross = zip(*decoder, strict=True)
        return AttentionMaps(*(torch.stack(list(w), dim=1) for w in (encoder, own, cross)))
