"""Recurrent translators: a fixed context vector, Bahdanau's attention, Luong's attention.

B batch, S source length, T target length, E embedding width, D_h width of a hidden state.
"""

from dataclasses import dataclass

import torch
from torch import nn

from helpers.attention import AdditiveAttention, MultiplicativeAttention
from helpers.masks import padding_mask

CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
ATTENTIONS = ("none", "additive", "dot", "general", "concat")


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig:
    """Say what a recurrent translator is to be.

    Parameters
    ----------
    src_vocab_size, tgt_vocab_size : int
    d_embedding, d_hidden : int, default=64, 128
        Width of a word's vector and of a hidden state. The encoder reads in both directions and
        gives each half of `d_hidden`.
    cell : {"rnn", "lstm", "gru"}, default="gru"
    attention : {"none", "additive", "dot", "general", "concat"}, default="none"
        "none" has nothing but a fixed context vector; "additive" is Bahdanau's; the others are
        Luong's three scores.
    dropout : float, default=0.0
        On the embeddings.
    pad_id : int, default=0
    """

    src_vocab_size: int
    tgt_vocab_size: int
    d_embedding: int = 64
    d_hidden: int = 128
    cell: str = "gru"
    attention: str = "none"
    dropout: float = 0.0
    pad_id: int = 0

    def __post_init__(self):
        if self.cell not in CELLS:
            raise ValueError(f"cell must be one of {sorted(CELLS)}; got {self.cell!r}.")
        if self.attention not in ATTENTIONS:
            raise ValueError(f"attention must be one of {ATTENTIONS}; got {self.attention!r}.")
        if self.d_hidden % 2:
            raise ValueError(
                f"two directions share d_hidden, so it must be even; got {self.d_hidden}."
            )


class Encoder(nn.Module):
    """Read a sentence forwards and backwards; keep every state.

    Parameters
    ----------
    config : Seq2SeqConfig

    Source
    ------
    Bahdanau et al. (2015), section 3.2 (both directions); Sutskever et al. (2014), section 2.
    """

    def __init__(self, config):
        super().__init__()
        self.pad_id = config.pad_id
        self.embedding = nn.Embedding(config.src_vocab_size, config.d_embedding)
        self.dropout = nn.Dropout(config.dropout)
        self.rnn = CELLS[config.cell](
            config.d_embedding, config.d_hidden // 2, batch_first=True, bidirectional=True
        )

    def forward(self, src_ids):
        """Read source ids, `src_ids` of shape (B, S).

        Returns
        -------
        states : Tensor of shape (B, S, D_h)
            One for each word; of no meaning where there is padding.
        last : Tensor of shape (B, D_h)
            The last state of each direction: the context vector.
        """
        # Packed, so that the backward direction starts at each sentence's own last word.
        lengths = (src_ids != self.pad_id).sum(1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(
            self.dropout(self.embedding(src_ids)), lengths, batch_first=True, enforce_sorted=False
        )
        states, last = self.rnn(packed)
        if isinstance(last, tuple):  # an LSTM's second part is its cell state
            last = last[0]
        states, _ = nn.utils.rnn.pad_packed_sequence(
            states, batch_first=True, total_length=src_ids.shape[1]
        )
        return states, last.transpose(0, 1).flatten(1)


class Decoder(nn.Module):
    """Write with nothing but the context vector, given at every step.

    Parameters
    ----------
    config : Seq2SeqConfig

    Source
    ------
    Cho et al. (2014), "Learning Phrase Representations using RNN Encoder-Decoder", section 2.2.
    """

    def __init__(self, config):
        super().__init__()
        self.embedding = nn.Embedding(config.tgt_vocab_size, config.d_embedding)
        self.dropout = nn.Dropout(config.dropout)
        self.start = nn.Linear(config.d_hidden, config.d_hidden)
        d_input = config.d_embedding + config.d_hidden
        self.rnn = CELLS[config.cell](d_input, config.d_hidden, batch_first=True)

    def begin(self, last):
        """Make the first decoder state of the context vector (B, D_h)."""
        hidden = torch.tanh(self.start(last))[None]  # (1, B, D_h), as PyTorch's cells want it
        return (hidden, torch.zeros_like(hidden)) if isinstance(self.rnn, nn.LSTM) else hidden

    def forward(self, tgt_ids, states, last, mask, hidden):
        """Run over target ids, `tgt_ids` of shape (B, T), from a decoder state `hidden`.

        `states` (B, S, D_h), `last` (B, D_h) and `mask` (B, S) are what the encoder left.

        Returns
        -------
        output : Tensor of shape (B, T, D_h)
        hidden : the decoder state after the last token
        weights : None, since nothing is looked at
        """
        embedded = self.dropout(self.embedding(tgt_ids))
        context = last[:, None].expand(-1, tgt_ids.shape[1], -1)
        output, hidden = self.rnn(torch.cat([embedded, context], dim=-1), hidden)
        return output, hidden, None


class BahdanauDecoder(Decoder):
    """Look back before every step: the state s_{t-1} asks, the encoder's states answer.

    The score depends on both: e_{t,i} = v · tanh(W s_{t-1} + U h_i). The step then takes the
    context c_t together with the previous word.

    Parameters
    ----------
    config : Seq2SeqConfig

    Source
    ------
    Bahdanau et al. (2015), section 3.1, eq. (4) to (6), and appendix A.2.2.
    """

    def __init__(self, config):
        super().__init__(config)
        self.attention = AdditiveAttention(config.d_hidden, config.d_hidden, config.d_hidden)

    def forward(self, tgt_ids, states, last, mask, hidden):
        """As in `Decoder`, but returns the weights (B, T, S) as well."""
        embedded = self.dropout(self.embedding(tgt_ids))
        projected = self.attention.key_proj(states)  # U h_i: the same at every step
        outputs, weights = [], []
        for word in embedded.unbind(1):  # the loop attention does not remove
            state = hidden[0] if isinstance(hidden, tuple) else hidden
            context, row = self.attention(state[-1], states, mask, projected)
            output, hidden = self.rnn(torch.cat([word, context], dim=-1)[:, None], hidden)
            outputs.append(output)
            weights.append(row)
        return torch.cat(outputs, dim=1), hidden, torch.stack(weights, dim=1)


class LuongDecoder(Decoder):
    """Step first, then look back, then mix: tanh(W [c_t; s_t]).

    The new state asks, so all steps of the recurrent network can run before the attention.

    Parameters
    ----------
    config : Seq2SeqConfig

    Source
    ------
    Luong et al. (2015), section 3, eq. (5), without input feeding.
    """

    def __init__(self, config):
        super().__init__(config)
        self.rnn = CELLS[config.cell](config.d_embedding, config.d_hidden, batch_first=True)
        self.attention = MultiplicativeAttention(config.d_hidden, config.d_hidden, config.attention)
        self.combine = nn.Linear(2 * config.d_hidden, config.d_hidden, bias=False)

    def forward(self, tgt_ids, states, last, mask, hidden):
        """As in `Decoder`, but returns the weights (B, T, S) as well."""
        output, hidden = self.rnn(self.dropout(self.embedding(tgt_ids)), hidden)
        context, weights = self.attention(output, states, mask)
        return torch.tanh(self.combine(torch.cat([context, output], dim=-1))), hidden, weights


class Seq2Seq(nn.Module):
    """A recurrent encoder and one of three decoders, behind one interface.

    Parameters
    ----------
    config : Seq2SeqConfig
    """

    def __init__(self, config):
        super().__init__()
        self.config = config
        decoders = {"none": Decoder, "additive": BahdanauDecoder}
        self.encoder = Encoder(config)
        self.decoder = decoders.get(config.attention, LuongDecoder)(config)
        self.output_proj = nn.Linear(config.d_hidden, config.tgt_vocab_size)

    def forward(self, src_ids, tgt_ids, keep=None):
        """Predict, at every target position, the token that follows.

        Parameters
        ----------
        src_ids : integer Tensor of shape (B, S)
        tgt_ids : integer Tensor of shape (B, T)
            The target shifted right: it starts with the begin-of-sentence token.
        keep : bool Tensor of shape (B, T), default=None
            Positions whose logits are wanted.

        Returns
        -------
        logits : Tensor of shape (B, T, V), or (N, V) for the N positions kept
        """
        output, _, _ = self._decode(tgt_ids, *self.encode(src_ids))
        return self.output_proj(output if keep is None else output[keep])

    def encode(self, src_ids):
        """Read source ids (B, S); return states (B, S, D_h), last (B, D_h), mask (B, S)."""
        return *self.encoder(src_ids), padding_mask(src_ids, self.config.pad_id)[:, 0, 0]

    def _decode(self, tgt_ids, states, last, mask):
        return self.decoder(tgt_ids, states, last, mask, self.decoder.begin(last))

    @torch.no_grad()
    def attention_maps(self, src_ids, tgt_ids):
        """Show where the decoder looked, with dropout off.

        Parameters
        ----------
        src_ids : integer Tensor of shape (B, S)
        tgt_ids : integer Tensor of shape (B, T)

        Returns
        -------
        weights : Tensor of shape (B, T, S)

        Raises
        ------
        ValueError
            If the model has no attention.
        """
        if self.config.attention == "none":
            raise ValueError(
                "this model has a fixed context vector and looks nowhere; build one with "
                'attention="additive".'
            )
        was_training = self.training
        self.eval()
        try:
            return self._decode(tgt_ids, *self.encode(src_ids))[2]
        finally:
            self.train(was_training)

    def decoder_step(self, src_ids, cached=True):
        """Return the step function that `helpers.decoding` asks for.

        Parameters
        ----------
        src_ids : integer Tensor of shape (B, S)
        cached : bool, default=True
            Keep the decoder's state instead of running over the prefix again.

        Returns
        -------
        step : function (prefix (N, t), rows (N,) or None) -> logits (N, V)
        """
        states, last, mask = self.encode(src_ids)
        hidden, done = self.decoder.begin(last), 0

        def step(prefix, rows=None):
            nonlocal states, last, mask, hidden, done
            if rows is not None:
                states, last, mask = states[rows], last[rows], mask[rows]
                hidden = _rows_of(hidden, rows)
            start = hidden if cached else self.decoder.begin(last)
            new = prefix[:, done if cached else 0 :].to(states.device)
            output, after, _ = self.decoder(new, states, last, mask, start)
            if cached:
                hidden, done = after, prefix.shape[1]
            return self.output_proj(output[:, -1])

        return step


def _rows_of(hidden, rows):
    if isinstance(hidden, tuple):
        return tuple(part[:, rows] for part in hidden)
    return hidden[:, rows]
