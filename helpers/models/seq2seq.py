"""Recurrent translators: a fixed context vector, Bahdanau's attention, Luong's attention.

B batch, S source length, T target length, E embedding width, D_h width of a hidden state.
"""

from dataclasses import dataclass

import torch
from torch import nn

from helpers.transformer.attention import AdditiveAttention, MultiplicativeAttention
from helpers.transformer.layers import inference

CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
ATTENTIONS = ("none", "additive", "dot", "general", "concat")


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig:
    """The sizes and choices that make a recurrent translator.

    Parameters
    ----------
    src_vocab_size, tgt_vocab_size : int
    d_embedding, d_hidden : int, default=64, 128
        Width of an embedding and of a hidden state. The encoder reads in both directions, with
        half of `d_hidden` each.
    cell : {"rnn", "lstm", "gru"}, default="gru"
    attention : {"none", "additive", "dot", "general", "concat"}, default="none"
        "none": a fixed context vector; "additive": Bahdanau's; the others: Luong's three scores.
    dropout : float, default=0.0
        Share of the embeddings set to zero while training.
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
    """A bidirectional recurrent network over the source sentence.

    Source
    ------
    Bahdanau et al. (2015), section 3.2 (both directions); Sutskever et al. (2014), section 2.
    """

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        self.pad_id = config.pad_id
        self.embedding = nn.Embedding(config.src_vocab_size, config.d_embedding)
        self.dropout = nn.Dropout(config.dropout)
        self.rnn = CELLS[config.cell](
            config.d_embedding, config.d_hidden // 2, batch_first=True, bidirectional=True
        )

    def forward(self, src_ids):
        """Read source ids, `src_ids` of shape (B, S), padded at the end.

        Returns
        -------
        states : Tensor of shape (B, S, D_h)
            One per token; meaningless where there is padding.
        context : Tensor of shape (B, D_h)
            The final hidden state of each direction, concatenated: the fixed context vector.

        Raises
        ------
        ValueError
            If a sentence is empty, or has padding before a token.
        """
        real = src_ids != self.pad_id
        if not real.any(1).all():
            raise ValueError(
                f"a sentence of the batch has no tokens: every id is pad_id={self.pad_id}."
            )
        if (real[:, 1:] & ~real[:, :-1]).any():
            raise ValueError(
                f"padding (id {self.pad_id}) must come after a sentence; a sentence of the batch "
                f"has it before or between its tokens. Pad on the right."
            )
        # Packed, so that the backward direction starts at each sentence's own last token.
        packed = nn.utils.rnn.pack_padded_sequence(
            self.dropout(self.embedding(src_ids)),
            real.sum(1).cpu(),
            batch_first=True,
            enforce_sorted=False,
        )
        states, final = self.rnn(packed)
        hidden, _ = final if isinstance(final, tuple) else (final, None)  # an LSTM has a cell state
        states, _ = nn.utils.rnn.pad_packed_sequence(
            states, batch_first=True, total_length=src_ids.shape[1]
        )
        return states, hidden.transpose(0, 1).flatten(1)  # (2, B, D_h/2) -> (B, D_h)


class Decoder(nn.Module):
    """A recurrent decoder that reads the fixed context vector at every step.

    Source
    ------
    Cho et al. (2014), "Learning Phrase Representations using RNN Encoder-Decoder", section 2.2.
    """

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        self.embedding = nn.Embedding(config.tgt_vocab_size, config.d_embedding)
        self.dropout = nn.Dropout(config.dropout)
        self.start = nn.Linear(config.d_hidden, config.d_hidden)
        d_input = config.d_embedding + config.d_hidden
        self.rnn = CELLS[config.cell](d_input, config.d_hidden, batch_first=True)

    def begin(self, context):
        """Compute the first decoder state from the context vector (B, D_h)."""
        hidden = torch.tanh(self.start(context))[None]  # (B, D_h) -> (1, B, D_h), as nn.GRU asks
        return (hidden, torch.zeros_like(hidden)) if isinstance(self.rnn, nn.LSTM) else hidden

    def forward(self, tgt_ids, states, context, mask, hidden):
        """Run over target ids from a decoder state.

        Parameters
        ----------
        tgt_ids : integer Tensor of shape (B, T)
        states, context, mask : Tensor of shape (B, S, D_h), (B, D_h) and (B, S)
            What `Seq2Seq.encode` returned.
        hidden : Tensor of shape (1, B, D_h), or two of them for an LSTM
            The decoder state before the first of these tokens.

        Returns
        -------
        output : Tensor of shape (B, T, D_h)
        hidden : as the argument `hidden`, after the last token
        weights : Tensor of shape (B, T, S), or None without attention
        """
        embedded = self.dropout(self.embedding(tgt_ids))
        context = context[:, None].expand(-1, tgt_ids.shape[1], -1)  # (B, D_h) -> (B, T, D_h)
        output, hidden = self.rnn(torch.cat([embedded, context], dim=-1), hidden)
        return output, hidden, None


class BahdanauDecoder(Decoder):
    """Attend before every step: the query is the decoder's previous state.

    The scores are e_{t,i} = v · tanh(W s_{t-1} + U h_i). The step then reads the context c_t
    together with the embedding of the previous word.

    Source
    ------
    Bahdanau et al. (2015), section 3.1, eq. (4) to (6), and appendix A.2.2.
    """

    def __init__(self, config: Seq2SeqConfig):
        super().__init__(config)
        self.attention = AdditiveAttention(config.d_hidden, config.d_hidden, config.d_hidden)

    def forward(self, tgt_ids, states, context, mask, hidden):
        """As in `Decoder`; the fixed context is not used, each step has its own."""
        embedded = self.dropout(self.embedding(tgt_ids))
        projected = self.attention.key_proj(states)  # U h_i, the same at every step
        outputs, weights = [], []
        for word in embedded.unbind(1):  # every step needs the state of the one before
            state = hidden[0] if isinstance(hidden, tuple) else hidden  # (1, B, D_h)
            step_context, row = self.attention(state[-1], states, mask, projected)
            output, hidden = self.rnn(torch.cat([word, step_context], dim=-1)[:, None], hidden)
            outputs.append(output)
            weights.append(row)
        return torch.cat(outputs, dim=1), hidden, torch.stack(weights, dim=1)


class LuongDecoder(Decoder):
    """Attend after every step: the query is the decoder's new state; output tanh(W [c_t; s_t]).

    The recurrent network does not need the contexts, so all its steps can run before the attention.

    Source
    ------
    Luong et al. (2015), section 3, eq. (5), without input feeding.
    """

    def __init__(self, config: Seq2SeqConfig):
        super().__init__(config)
        self.rnn = CELLS[config.cell](config.d_embedding, config.d_hidden, batch_first=True)
        self.attention = MultiplicativeAttention(config.d_hidden, config.d_hidden, config.attention)
        self.combine = nn.Linear(2 * config.d_hidden, config.d_hidden, bias=False)

    def forward(self, tgt_ids, states, context, mask, hidden):
        """As in `Decoder`; the fixed context is not used, each step has its own."""
        output, hidden = self.rnn(self.dropout(self.embedding(tgt_ids)), hidden)
        contexts, weights = self.attention(output, states, mask)  # (B, T, D_h), (B, T, S)
        return torch.tanh(self.combine(torch.cat([contexts, output], dim=-1))), hidden, weights


class Seq2Seq(nn.Module):
    """A recurrent encoder and one of three recurrent decoders."""

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        self.config = config
        decoders = {"none": Decoder, "additive": BahdanauDecoder}
        self.encoder = Encoder(config)
        self.decoder = decoders.get(config.attention, LuongDecoder)(config)
        self.output_proj = nn.Linear(config.d_hidden, config.tgt_vocab_size)

    def forward(self, src_ids, tgt_ids, keep=None):
        """Predict, at every target position, the next token.

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
        if keep is not None:
            output = output[keep]  # (B, T, D_h) -> (N, D_h)
        return self.output_proj(output)

    def encode(self, src_ids):
        """Read source ids (B, S); return states (B, S, D_h), context (B, D_h), mask (B, S)."""
        states, context = self.encoder(src_ids)
        return states, context, src_ids != self.config.pad_id

    def _decode(self, tgt_ids, states, context, mask):
        return self.decoder(tgt_ids, states, context, mask, self.decoder.begin(context))

    def attention_maps(self, src_ids, tgt_ids):
        """Return the attention weights of every decoding step, with dropout off.

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
                "this model has a fixed context vector and attends to nothing; build one with "
                'attention="additive".'
            )
        with inference(self):
            _, _, weights = self._decode(tgt_ids, *self.encode(src_ids))
        return weights

    def decoder_step(self, src_ids, cached=True):
        """Return the step function that `decoding` asks for; no dropout, no gradients.

        Parameters
        ----------
        src_ids : integer Tensor of shape (B, S)
        cached : bool, default=True
            Keep the decoder's state instead of running over the prefix again.

        Returns
        -------
        step : function (prefix (N, t), rows (N,) or None) -> logits (N, V)
        """
        with inference(self):
            encoded = self.encode(src_ids)
            hidden = self.decoder.begin(encoded[1])
        start = 0  # how many tokens `hidden` has read

        def step(prefix, rows=None):
            nonlocal encoded, hidden, start
            if rows is not None:
                encoded = tuple(part[rows] for part in encoded)
                pair = isinstance(hidden, tuple)  # an LSTM's, of (1, B, D_h) each
                hidden = tuple(x[:, rows] for x in hidden) if pair else hidden[:, rows]
            new = prefix[:, start:].to(encoded[0].device)
            with inference(self):
                output, after, _ = self.decoder(new, *encoded, hidden)
                logits = self.output_proj(output[:, -1])  # (N, t, D_h) -> (N, V)
            if cached:
                hidden, start = after, prefix.shape[1]
            return logits

        return step
