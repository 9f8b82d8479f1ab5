"""BERT: an encoder built from the same layers as our Transformer, and the heads it is used with."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from helpers.models.attending import Attending
from helpers.transformer.layers import Dropout, EncoderLayer
from helpers.transformer.masks import padding_mask
from helpers.transformer.positions import LearnedPositions


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """The sizes of a BERT; the defaults are those of MiniLM-L6."""

    vocab_size: int = 30522
    d_model: int = 384
    n_heads: int = 12
    n_layers: int = 6
    d_ff: int = 1536
    max_len: int = 512
    dropout: float = 0.1
    pad_id: int = 0
    norm_eps: float = 1e-12


class BertEncoder(Attending):
    """An encoder alone: token, position and segment embeddings, then post-norm encoder layers.

    Source
    ------
    Devlin et al. (2019), "BERT: Pre-training of Deep Bidirectional Transformers", section 3.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        self.config = c = config
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        self.positions = LearnedPositions(c.max_len, c.d_model)
        self.segments = nn.Embedding(2, c.d_model)
        self.norm = nn.LayerNorm(c.d_model, c.norm_eps)
        self.dropout = Dropout(c.dropout)
        sizes = (c.d_model, c.n_heads, c.d_ff, c.dropout, False, "gelu", c.norm_eps)
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(c.n_layers))
        for table in (self.embedding, self.segments):
            nn.init.normal_(table.weight, std=0.02)  # what BERT starts from, like its positions

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


class Pooler(nn.Module):
    """Turn a text into one vector: a linear layer and tanh over its first position, [CLS].

    Source
    ------
    Devlin et al. (2019), "BERT", section 3.1 (there only as the vector C; the layer is in their
    code).
    """

    def __init__(self, d_model: int):
        super().__init__()
        self.dense = nn.Linear(d_model, d_model)

    def forward(self, hidden):
        """Map (B, S, D) to (B, D)."""
        return torch.tanh(self.dense(hidden[:, 0]))


def mean_pool(hidden, token_ids, pad_id=0):
    """Average the vectors of a text's tokens, leaving the padding out.

    Parameters
    ----------
    hidden : Tensor of shape (B, S, D)
    token_ids : integer Tensor of shape (B, S)
    pad_id : int, default=0

    Returns
    -------
    pooled : Tensor of shape (B, D)
    """
    real = (token_ids != pad_id).unsqueeze(-1)  # (B, S, 1)
    return (hidden * real).sum(1) / real.sum(1)


class MaskedLanguageModel(nn.Module):
    """Guess the tokens behind [MASK]: one logit per word of the vocabulary at every position.

    Parameters
    ----------
    encoder : BertEncoder
        Its embedding is also the output matrix.

    Source
    ------
    Devlin et al. (2019), "BERT", section 3.1, task 1.
    """

    def __init__(self, encoder):
        super().__init__()
        c = encoder.config
        self.encoder = encoder
        self.dense = nn.Linear(c.d_model, c.d_model)
        self.norm = nn.LayerNorm(c.d_model, c.norm_eps)
        self.bias = nn.Parameter(torch.zeros(c.vocab_size))

    def forward(self, token_ids, segment_ids=None):
        """Map ids (B, S) to logits (B, S, V)."""
        hidden = self.norm(F.gelu(self.dense(self.encoder(token_ids, segment_ids))))
        return F.linear(hidden, self.encoder.embedding.weight, self.bias)


def mask_tokens(token_ids, chosen, uniform, random_ids, mask_id):
    """Hide the tokens that are to be guessed: 80% become [MASK], 10% a random token, 10% stay.

    Parameters
    ----------
    token_ids : integer Tensor of shape (B, S)
    chosen : bool Tensor of shape (B, S)
        True where the model has to guess; BERT chooses 15% of the tokens.
    uniform : Tensor of shape (B, S)
        Random numbers from 0 to 1, which decide what becomes of a chosen token.
    random_ids : integer Tensor of shape (B, S)
        The random tokens.
    mask_id : int

    Returns
    -------
    input_ids : integer Tensor of shape (B, S)

    Source
    ------
    Devlin et al. (2019), "BERT", section 3.1, task 1.
    """
    input_ids = torch.where(chosen & (uniform < 0.8), mask_id, token_ids)
    swapped = chosen & (uniform >= 0.8) & (uniform < 0.9)
    return torch.where(swapped, random_ids, input_ids)


def masked_lm_loss(logits, token_ids, chosen):
    """Average the cross-entropy over the chosen positions alone, in nats.

    Parameters
    ----------
    logits : Tensor of shape (B, S, V)
    token_ids : integer Tensor of shape (B, S)
        The tokens as they were before `mask_tokens`.
    chosen : bool Tensor of shape (B, S)

    Returns
    -------
    loss : scalar Tensor
    """
    return F.cross_entropy(logits[chosen], token_ids[chosen])


class TextClassifier(nn.Module):
    """Sort texts into classes: one vector per text, then a linear layer.

    Parameters
    ----------
    encoder : BertEncoder
    n_classes : int
    pooling : {"pooler", "cls", "mean"}, default="pooler"
        BERT's pooler, the vector of [CLS] as it is, or the mean over the text's tokens.

    Raises
    ------
    ValueError
        If `pooling` is none of the three.

    Source
    ------
    Devlin et al. (2019), "BERT", section 4.1.
    """

    def __init__(self, encoder, n_classes, pooling="pooler"):
        super().__init__()
        if pooling not in ("pooler", "cls", "mean"):
            raise ValueError(f"pooling must be 'pooler', 'cls' or 'mean'; got {pooling!r}.")
        c = encoder.config
        self.encoder, self.pooling = encoder, pooling
        self.pooler = Pooler(c.d_model) if pooling == "pooler" else None
        self.dropout = Dropout(c.dropout)
        self.classifier = nn.Linear(c.d_model, n_classes)

    def forward(self, token_ids, segment_ids=None):
        """Map ids (B, S) to logits (B, n_classes)."""
        hidden = self.encoder(token_ids, segment_ids)
        return self.classifier(self.dropout(self.pool(hidden, token_ids)))

    def pool(self, hidden, token_ids):
        """Map (B, S, D) to (B, D), one vector per text."""
        if self.pooling == "mean":
            return mean_pool(hidden, token_ids, self.encoder.config.pad_id)
        return self.pooler(hidden) if self.pooler else hidden[:, 0]


class SpanReader(nn.Module):
    """Point at an answer: one logit per token for where it starts, one for where it ends.

    Source
    ------
    Devlin et al. (2019), "BERT", section 4.2.
    """

    def __init__(self, encoder: BertEncoder):
        super().__init__()
        self.encoder = encoder
        self.span = nn.Linear(encoder.config.d_model, 2)

    def forward(self, token_ids, segment_ids=None):
        """Map ids (B, S), question and text, to start and end logits, (B, S) each."""
        start, end = self.span(self.encoder(token_ids, segment_ids)).unbind(-1)
        return start, end


def best_span(start, end, longest=30):
    """Find the answer's first and last token: the valid pair with the highest sum of logits.

    Valid means that the last token does not come before the first and is fewer than `longest`
    tokens away. Two separate argmaxes do not know that.

    Parameters
    ----------
    start, end : Tensor of shape (S,)
        Logits of the text's tokens alone, without question and special tokens.
    longest : int, default=30
        Most tokens in an answer.

    Returns
    -------
    first, last : int
    logit : float
        Their sum.

    Source
    ------
    Devlin et al. (2019), "BERT", section 4.2.
    """
    sums = start[:, None] + end  # (S, S), rows are starts
    valid = torch.ones_like(sums, dtype=torch.bool).triu().tril(longest - 1)
    sums = sums.masked_fill(~valid, -torch.inf)
    first, last = divmod(sums.argmax().item(), len(end))
    return first, last, sums[first, last].item()
