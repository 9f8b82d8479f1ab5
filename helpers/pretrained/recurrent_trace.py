"""What a recurrent translator with Bahdanau's attention computes on one sentence, kept."""

from dataclasses import dataclass

import torch

from helpers.pretrained.trace import candidates_of
from helpers.transformer.layers import inference


@dataclass(frozen=True)
class RecurrentTrace:
    """One sentence on its way through an encoder, Bahdanau's attention and a decoder.

    S source tokens, T decoding steps, D the width of a state, A that of the attention.

    Parameters
    ----------
    source : list of str, length S
    tokens : list of str, length T
        What the decoder reads at each step.
    states : Tensor of shape (S, D)
        The encoder's, both directions side by side.
    before, after : Tensor of shape (T, D)
        The decoder's state before each step, which is the query, and after it.
    projected_states : Tensor of shape (S, A)
        U h.
    projected_queries : Tensor of shape (T, A)
        W s.
    vector : Tensor of shape (A,)
        v.
    energies, weights : Tensor of shape (T, S)
    context : Tensor of shape (T, D)
    candidates : list of list of Candidate
    written : list of str, length T
    """

    source: list
    tokens: list
    states: torch.Tensor
    before: torch.Tensor
    after: torch.Tensor
    projected_states: torch.Tensor
    projected_queries: torch.Tensor
    vector: torch.Tensor
    energies: torch.Tensor
    weights: torch.Tensor
    context: torch.Tensor
    candidates: list
    written: list

    def __repr__(self):
        """Name the lengths: nothing that differs from run to run."""
        return f"RecurrentTrace({len(self.source)} source tokens, {len(self.tokens)} steps)"


def trace_recurrent(model, src_ids, tgt_ids, source_tokens_of, tokens_of) -> RecurrentTrace:
    """Run a recurrent translator on one pair of sentences and keep what it computes on the way.

    Parameters
    ----------
    model : Seq2Seq
        With attention="additive".
    src_ids : integer Tensor of shape (S,)
    tgt_ids : integer Tensor of shape (T + 1,)
        With the begin-of-sentence token in front and the last token that was written.
    source_tokens_of, tokens_of : function (list of int) -> list of str

    Raises
    ------
    ValueError
        If the model has another attention, or none.
    """
    if model.config.attention != "additive":
        raise ValueError(
            f"the map shows Bahdanau's attention; this model has attention="
            f"{model.config.attention!r}. Load the toy translator 'additive'."
        )
    attention = model.decoder.attention
    with inference(model):
        states, last, mask = model.encode(src_ids[None])
        hidden, steps = model.decoder.begin(last), []
        for token in tgt_ids[:-1]:
            before = (hidden[0] if isinstance(hidden, tuple) else hidden)[-1]
            output, hidden, weights = model.decoder(token[None, None], states, last, mask, hidden)
            steps.append((before[0], output[0, 0], weights[0, 0]))
        before, after, weights = (torch.stack(parts) for parts in zip(*steps, strict=True))
        queries, keys = attention.query_proj(before), attention.key_proj(states[0])
        mixed = torch.tanh(queries[:, None] + keys)
        return RecurrentTrace(
            source=source_tokens_of(src_ids.tolist()),
            tokens=tokens_of(tgt_ids[:-1].tolist()),
            states=states[0],
            before=before,
            after=after,
            projected_states=keys,
            projected_queries=queries,
            vector=attention.energy.weight[0].detach(),
            energies=attention.energy(mixed).squeeze(-1),
            weights=weights,
            context=weights @ states[0],
            candidates=candidates_of(model.output_proj(after), tokens_of),
            written=tokens_of(tgt_ids[1:].tolist()),
        )
