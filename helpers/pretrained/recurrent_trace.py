"""What a recurrent translator with Bahdanau's attention computes on one sentence, kept."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from helpers.pretrained.trace import candidates_of
from helpers.text.tokenization import BOS, EOS
from helpers.transformer.layers import inference

EXAMPLES = (
    "la reine dort .",
    "un médecin cherche la lettre .",
    "la femme ne cherche pas le livre rouge .",
)
LONGEST = 60  # tokens that a translation may have


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
    scores, weights : Tensor of shape (T, S)
    context : Tensor of shape (T, D)
    candidates : list of list of Candidate
    written : list of str, length T
    alone : list of list of str, shape (T, S)
        What a step writes when it looks at one source position alone; empty for an LSTM.
    again : function (str, dict of int to int) -> RecurrentTrace, default=None
        Trace another sentence, or one with `look`, see `trace_recurrent`.
    """

    source: list
    tokens: list
    states: torch.Tensor
    before: torch.Tensor
    after: torch.Tensor
    projected_states: torch.Tensor
    projected_queries: torch.Tensor
    vector: torch.Tensor
    scores: torch.Tensor
    weights: torch.Tensor
    context: torch.Tensor
    candidates: list
    written: list
    alone: list = ()
    again: Callable = None

    def __repr__(self):
        """Name the lengths: nothing that differs from run to run."""
        return f"RecurrentTrace({len(self.source)} source tokens, {len(self.tokens)} steps)"


def greedy_traces(model, src_ids, bos_id, eos_id, most, kept=None, look=None):
    """Translate one sentence greedily; keep what every step saw and made.

    Parameters
    ----------
    model : Seq2Seq
    src_ids : list of int
        One sentence, ending with the end token.
    bos_id, eos_id : int
        Begin and end of a sentence.
    most : int
        How many tokens are written at most.
    kept : sequence of int, default=None
        A translation for each, in one batch: how many numbers of the context vector, the largest,
        get through; the others become 0. None is a single translation with all of them.
    look : dict of int to int, default=None
        Steps, from 0, at which all weight goes to one source position.

    Returns
    -------
    traces : list of dict
        `encoder` (S, D_h), forward half first; `last` (D_h,); `read` and `written`, lists of T
        ids; `states` (T + 1, D_h), the decoder's state before each step and after the last;
        `logits` and `probabilities` (T, V); `weights` (T, S), or None without attention.
    """
    with inference(model):
        src_ids, kept = torch.tensor([src_ids]), kept or [model.config.d_hidden]
        return list(_traces(model, src_ids, bos_id, eos_id, most, kept, look or {}))


def word_shares(model, src_ids, words):
    """Measure how much of both readers' states at each token depends on which token.

    A token's share of a state is that of all its movements: how far the state moves, on average,
    when the token is exchanged for each other one of the vocabulary.

    Parameters
    ----------
    model : Seq2Seq
    src_ids : list of int
        One sentence of S tokens, ending with the end token.
    words : list of int
        What each is exchanged for.

    Returns
    -------
    shares : Tensor of shape (2, S, S)
        Of the reader that goes forwards and the one that goes back: state by token, sums of 1.
    """
    with inference(model), torch.inference_mode():
        ids, words = torch.tensor(src_ids), torch.tensor(words)
        exchanged = ids.repeat(len(ids), 1 + len(words), 1)  # (S, 1 + words, S), the own one first
        exchanged.diagonal(dim1=0, dim2=2)[1:] = words[:, None]
        states = model.encode(exchanged.flatten(0, 1))[0].unflatten(0, exchanged.shape[:2])
        moved = (states[:, 1:] - states[:, :1]).unflatten(-1, (2, -1)).norm(dim=-1).sum(1)
        moved /= (words != ids[:, None]).sum(1)[:, None, None]  # (S by token, S by state, reader)
        return (moved / moved.sum(0)).permute(2, 1, 0)


def _traces(model, src_ids, bos_id, eos_id, most, kept, look):
    states, last, mask = model.encode(src_ids)
    order = last[0].abs().argsort(descending=True)
    last = torch.cat([last.index_fill(1, order[k:], 0) for k in kept])
    batch = states.expand(len(last), -1, -1)
    hidden = model.decoder.begin(last)
    ids, passed, logits, rows = [torch.full((len(last), 1), bos_id)], [_state(hidden)], [], []
    ended = torch.zeros(len(last), 1, dtype=torch.bool)
    while len(ids) <= most and not ended.all():
        t = len(ids) - 1
        only = torch.arange(mask.shape[1])[None] == look[t] if t in look else mask
        output, hidden, weights = model.decoder(ids[-1], batch, last, only, hidden)
        logits.append(model.output_proj(output[:, -1]))
        passed.append(_state(hidden))
        rows.append(weights)
        ids.append(logits[-1].argmax(-1, keepdim=True))
        ended |= ids[-1] == eos_id
    passed, logits = torch.stack(passed, dim=1), torch.stack(logits, dim=1)
    for i, row in enumerate(torch.cat(ids, dim=1).tolist()):
        n = row.index(eos_id, 1) if eos_id in row[1:] else most
        yield {
            "encoder": states[0],
            "last": last[i],
            "read": row[:n],
            "written": row[1 : n + 1],
            "states": passed[i, : n + 1],
            "logits": logits[i, :n],
            "probabilities": logits[i, :n].softmax(-1),
            "weights": None if rows[0] is None else torch.cat(rows, dim=1)[i, :n],
        }


def _state(hidden):
    """Take the states (B, D_h) from what the recurrent layer hands on; an LSTM hands on a pair."""
    return (hidden[0] if isinstance(hidden, tuple) else hidden)[-1]


def _alone(model, found, tokens):
    """Tell, per step of a GRU, what each source position alone would lead it to write."""
    read = torch.tensor(found["read"])
    (n_source, width), n_steps = found["encoder"].shape, len(read)
    if model.config.cell != "gru":
        return []
    output, *_ = model.decoder(
        read.repeat_interleave(n_source)[:, None],
        found["encoder"].expand(n_steps * n_source, n_source, width),
        found["last"],
        torch.eye(n_source, dtype=torch.bool).repeat(n_steps, 1),
        found["states"][:-1].repeat_interleave(n_source, 0)[None],
    )
    chosen = model.output_proj(output[:, -1]).argmax(-1).view(n_steps, n_source)
    return [tokens(row) for row in chosen.tolist()]


def trace_recurrent(model, source, target, sentence, look=None) -> RecurrentTrace:
    """Run a recurrent translator on one sentence and keep what it computes on the way.

    Parameters
    ----------
    model : Seq2Seq
        With attention="additive".
    source, target : WordVocabulary
    sentence : str
        Words with spaces between them.
    look : dict of int to int, default=None
        Steps, from 0, at which all weight goes to one source position.

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
    ids, attention = source.encode(sentence, eos=True), model.decoder.attention
    # A sentence of another kind can lead to a loop.
    (found,) = greedy_traces(model, ids, BOS, EOS, min(LONGEST, 2 * len(ids)), look=look)

    def again(other, look=None):
        other = f"{other.lower().rstrip(' .')} ."  # as the model's words are, and its sentences end
        unknown = [word for word in other.split() if word not in source.ids]
        if unknown:
            known = [each for each in EXAMPLES if all(word in source.ids for word in each.split())]
            instead = f" Try “{'” or “'.join(known)}”" if known else ""
            raise ValueError(f"The model never saw “{unknown[0][:20]}”.{instead}")
        return trace_recurrent(model, source, target, other, look)

    before, after = found["states"][:-1], found["states"][1:]
    with inference(model):
        queries, keys = attention.query_proj(before), attention.key_proj(found["encoder"])
        mixed = torch.tanh(queries[:, None] + keys)
        return RecurrentTrace(
            source=source.tokens(ids),
            tokens=target.tokens(found["read"]),
            states=found["encoder"],
            before=before,
            after=after,
            projected_states=keys,
            projected_queries=queries,
            vector=attention.energy.weight[0].detach(),
            scores=attention.energy(mixed).squeeze(-1),
            weights=found["weights"],
            context=found["weights"] @ found["encoder"],
            candidates=candidates_of(found["logits"], target.tokens),
            written=target.tokens(found["written"]),
            alone=_alone(model, found, target.tokens),
            again=again,
        )
