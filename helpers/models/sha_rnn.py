"""A language model that is not a Transformer: an LSTM with one head of attention."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from helpers.transformer.attention import scaled_dot_product_attention
from helpers.transformer.masks import causal_mask


class SingleHeadedAttentionRNN(nn.Module):
    """Predict the next token with LSTM layers, each followed by one head of cheap attention.

    A small rebuilding of the SHA-RNN. Queries have a full matrix; keys and values are only
    rescaled, feature by feature. The feed-forward layer has one matrix rather than two.

    Parameters
    ----------
    vocab_size, d_model, n_layers : int
    expansion : int, default=4
        Width of the feed-forward layer, in times `d_model`.
    dropout : float, default=0.0

    Source
    ------
    Merity (2019), "Single Headed Attention RNN: Stop Thinking With Your Head", arXiv:1911.11423,
    section 6.
    """

    def __init__(self, vocab_size, d_model, n_layers, expansion=4, dropout=0.0):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embedding.weight, std=1 / math.sqrt(d_model))
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(d_model, expansion, dropout) for _ in range(n_layers))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, token_ids):
        """Map ids (B, T) to logits (B, T, V); the output matrix is the embedding's."""
        x = self.dropout(self.embedding(token_ids) * math.sqrt(self.norm.normalized_shape[0]))
        mask = causal_mask(token_ids.shape[1], token_ids.device)
        for block in self.blocks:
            x = block(x, mask)
        return F.linear(self.norm(x), self.embedding.weight)


class Block(nn.Module):
    """LSTM, single-headed attention, Boom: each with a LayerNorm before and a residual around."""

    def __init__(self, d_model: int, expansion: int, dropout: float):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(3))
        self.lstm = nn.LSTM(d_model, d_model, batch_first=True)
        self.query_proj = nn.Linear(d_model, d_model)
        self.key_gate = nn.Parameter(torch.zeros(d_model))
        self.value_gate = nn.Parameter(torch.zeros(d_model))
        self.boom = nn.Linear(d_model, expansion * d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask):
        """Map (B, T, D) to (B, T, D)."""
        x = x + self.dropout(self.lstm(self.norms[0](x))[0])
        x = x + self.dropout(self.attend(self.norms[1](x), mask))
        wide = F.gelu(self.boom(self.norms[2](x)))  # (B, T, expansion · D)
        # Boom: the wide vector is cut into pieces of width D, which are added.
        return x + self.dropout(wide.unflatten(-1, (-1, x.shape[-1])).sum(-2))

    def attend(self, x, mask):
        """Attend with one head as wide as the model, (B, T, D) to (B, T, D)."""
        key, value = x * self.key_gate.sigmoid(), x * self.value_gate.sigmoid()
        return scaled_dot_product_attention(self.query_proj(x), key, value, mask)[0]
