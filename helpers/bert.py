"""BERT's encoder, built from the same layers as our Transformer."""

from dataclasses import dataclass

import torch
from torch import nn

from helpers.attention import recorded_weights
from helpers.layers import Dropout, EncoderLayer, inference
from helpers.masks import padding_mask
from helpers.positions import LearnedPositions


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """The sizes of a BERT; the defaults are those of MiniLM-L6.

    Parameters
    ----------
    vocab_size, d_model, n_heads, n_layers, d_ff, max_len : int
    dropout : float, default=0.1
    pad_id : int, default=0
    norm_eps : float, default=1e-12
    """

    vocab_size: int = 30522
    d_model: int = 384
    n_heads: int = 12
    n_layers: int = 6
    d_ff: int = 1536
    max_len: int = 512
    dropout: float = 0.1
    pad_id: int = 0
    norm_eps: float = 1e-12


class BertEncoder(nn.Module):
    """An encoder alone: token, position and segment embeddings, then post-norm encoder layers.

    Parameters
    ----------
    config : BertConfig

    Source
    ------
    Devlin et al. (2019), "BERT: Pre-training of Deep Bidirectional Transformers", section 3.
    """

    def __init__(self, config):
        super().__init__()
        self.config = c = config
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        self.positions = LearnedPositions(c.max_len, c.d_model)
        self.segments = nn.Embedding(2, c.d_model)
        self.norm = nn.LayerNorm(c.d_model, c.norm_eps)
        self.dropout = Dropout(c.dropout)
        sizes = (c.d_model, c.n_heads, c.d_ff, c.dropout, False, "gelu", c.norm_eps)
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(c.n_layers))

    def forward(self, token_ids, segment_ids=None):
        """Compute one vector per token that depends on the whole text.

        Parameters
        ----------
        token_ids : integer Tensor of shape (B, S)
        segment_ids : integer Tensor of shape (B, S), default=None
            0 for the first text, 1 for the second; None means one text.

        Returns
        -------
        hidden : Tensor of shape (B, S, D)
            After the last layer.

        Raises
        ------
        ValueError
            If there are more tokens than positions.
        """
        if segment_ids is None:
            segment_ids = torch.zeros_like(token_ids)
        x = self.embedding(token_ids) + self.segments(segment_ids)
        x = self.dropout(self.norm(x + self.positions(token_ids.shape[1])))
        mask = padding_mask(token_ids, self.config.pad_id)
        for layer in self.layers:
            x = layer(x, mask)
        return x

    def attention_maps(self, token_ids):
        """Return the attention weights of every head of every layer, with dropout off.

        Parameters
        ----------
        token_ids : integer Tensor of shape (B, S)

        Returns
        -------
        weights : Tensor of shape (B, layers, H, S, S)
        """
        with inference(self), recorded_weights(self) as maps:
            self(token_ids)
        return torch.stack(maps, dim=1)
