"""Decoding: greedy, sampling, beam search. This works with any model.

The model is passed as a step function ``step(prefix, rows) -> logits``. `prefix`, shape (N, t),
holds the tokens so far and starts with the begin-of-sentence token. `logits`, shape (N, V), are the
scores of every next token. `rows`, shape (N,), says which row of the previous call each row
continues, so that a model with a cache can follow; None means that the rows are the same as before.
"""

import math
from dataclasses import dataclass

import torch

from helpers.transformer import fast


def greedy(step, n, bos_id, eos_id, max_len):
    """Choose the most likely token at every step.

    Parameters
    ----------
    step : function
        See the top of this module.
    n : int
        Number of sentences.
    bos_id, eos_id : int
        The token every prefix starts with, and the token that ends a sentence.
    max_len : int
        Largest number of tokens to generate per sentence.

    Returns
    -------
    sentences : list of lists of int
        Without begin of sentence; with end of sentence where it was reached.

    Raises
    ------
    ValueError
        If `n` or `max_len` is below 1.
    """
    return _generate(step, n, bos_id, eos_id, max_len, lambda logits: logits.argmax(-1))


def sample(
    step, n, bos_id, eos_id, max_len, temperature=1.0, top_k=None, top_p=None, generator=None
):
    """Sample each token from the model's distribution.

    Parameters
    ----------
    step, n, bos_id, eos_id, max_len
        As in `greedy`.
    temperature : float, default=1.0
        The logits are divided by it: below 1 sharpens the distribution, above 1 flattens it.
    top_k : int, default=None
        Sample from the k most likely tokens only; see `top_k_filter`.
    top_p : float, default=None
        Sample from the fewest tokens that reach this probability; see `top_p_filter`.
    generator : torch.Generator, default=None

    Returns
    -------
    sentences : list of lists of int

    Raises
    ------
    ValueError
        If the temperature is not positive, or `top_k` or `top_p` is out of range.
    """
    if temperature <= 0:
        raise ValueError(f"temperature must be positive; got {temperature}. For 0, use greedy.")

    def draw(logits):
        logits = logits / temperature
        if top_k is not None:
            logits = top_k_filter(logits, top_k)
        if top_p is not None:
            logits = fast.top_p_filter(logits, top_p, top_p_filter)
        probabilities = logits.softmax(-1).to(generator.device if generator else logits.device)
        return torch.multinomial(probabilities, 1, generator=generator).squeeze(-1)

    return _generate(step, n, bos_id, eos_id, max_len, draw)


def _generate(step, n, bos_id, eos_id, max_len, choose):
    """Generate token by token; `choose` maps logits (N, V) to tokens (N,)."""
    _check_request(n, max_len)
    prefix, rows = torch.full((n, 1), bos_id), None
    alive = torch.arange(n)  # the sentence that each row of the prefix belongs to
    sentences = [[] for _ in range(n)]
    for _ in range(max_len):
        tokens = choose(step(prefix, rows)).cpu()
        prefix, rows = torch.cat([prefix, tokens[:, None]], dim=1), None  # (N, t) -> (N, t + 1)
        ended = tokens == eos_id
        if ended.any():  # otherwise rows stay None, which spares a cache the copy
            _note(sentences, alive[ended], prefix[ended])
            # Finished sentences leave the batch, so that no step computes them any further.
            rows = (~ended).nonzero().squeeze(1)
            prefix, alive = prefix[rows], alive[rows]
            if len(alive) == 0:
                break
    _note(sentences, alive, prefix)
    return sentences


def _note(sentences, numbers, prefix):
    """Write the rows of a prefix, but for their first token, into the sentences so numbered."""
    for number, ids in zip(numbers.tolist(), prefix[:, 1:].tolist(), strict=True):
        sentences[number] = ids


def top_k_filter(logits, k):
    """Keep the k largest logits; set the rest to minus infinity.

    Parameters
    ----------
    logits : Tensor of shape (..., V)
    k : int
        From 1; more than V keeps everything. Ties with the k-th largest are kept too.

    Returns
    -------
    logits : Tensor of shape (..., V)

    Raises
    ------
    ValueError
        If `k` is below 1.

    Source
    ------
    Fan et al. (2018), "Hierarchical Neural Story Generation", section 5.4.
    """
    if k < 1:
        raise ValueError(f"top-k keeps at least one token; got k={k}.")
    smallest_kept = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(logits < smallest_kept, -math.inf)


def top_p_filter(logits, p):
    """Keep the smallest set of most likely tokens that reaches probability p (nucleus sampling).

    Parameters
    ----------
    logits : Tensor of shape (..., V)
    p : float
        Above 0, up to 1. The token that reaches p is kept, so at least one is.

    Returns
    -------
    logits : Tensor of shape (..., V)
        Minus infinity where a token was dropped.

    Raises
    ------
    ValueError
        If `p` is out of range.

    Source
    ------
    Holtzman et al. (2020), "The Curious Case of Neural Text Degeneration", section 3.1.
    """
    if not 0 < p <= 1:
        raise ValueError(f"p is a probability above 0, up to 1; got {p}.")
    if p == 1:
        return logits  # a rounded sum can reach 1 before the last token
    ordered, order = logits.sort(dim=-1, descending=True)
    # At least float32: in 16 bits a sum over a vocabulary stops growing too early.
    probabilities = ordered.softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
    before = probabilities.cumsum(-1) - probabilities  # sum over the more likely tokens
    dropped = torch.zeros_like(order, dtype=torch.bool).scatter(-1, order, before >= p)
    return logits.masked_fill(dropped, -math.inf)


def beam_step(log_probs, beam_scores, beam_size):
    """Find the best continuations over all beams of a sentence.

    Parameters
    ----------
    log_probs : Tensor of shape (..., beams, V)
        Log-probability of every next token, for every beam.
    beam_scores : Tensor of shape (..., beams)
        Sum of log-probabilities of each beam so far.
    beam_size : int
        Number of continuations.

    Returns
    -------
    scores : Tensor of shape (..., beam_size)
        Best first.
    beam_index : integer Tensor of shape (..., beam_size)
        The beam that each one continues.
    token_id : integer Tensor of shape (..., beam_size)
        The token that it appends.
    """
    totals = beam_scores[..., None] + log_probs  # (..., beams, V)
    scores, flat = totals.flatten(-2).topk(beam_size, dim=-1)  # (..., beams·V) -> (…, beam_size)
    vocab_size = log_probs.shape[-1]
    return scores, flat // vocab_size, flat % vocab_size


@dataclass(frozen=True)
class Hypothesis:
    """A finished sentence of a beam search.

    Parameters
    ----------
    ids : list of int
        Without begin of sentence; with end of sentence where it was reached.
    score : float
        `log_prob` divided by `length_norm`; hypotheses are ranked by it.
    log_prob : float
        Sum of the tokens' log-probabilities, in nats.
    """

    ids: list
    score: float
    log_prob: float


def length_norm(length, penalty):
    """Compute the divisor of a sum of log-probabilities: ((5 + length) / 6) ** penalty.

    Parameters
    ----------
    length : int or Tensor
        Number of tokens, end of sentence included.
    penalty : float
        0 compares plain sums, which favours short sentences.

    Returns
    -------
    norm : float or Tensor

    Source
    ------
    Wu et al. (2016), "Google's Neural Machine Translation System", section 7, eq. (14).
    """
    return ((5 + length) / 6) ** penalty


def beam(step, n, bos_id, eos_id, max_len, beam_size=4, length_penalty=1.0, trace=None, start=0.0):
    """Search with a beam: keep the best few prefixes at every step, not one.

    Parameters
    ----------
    step, n, bos_id, eos_id, max_len
        As in `greedy`.
    beam_size : int, default=4
        Prefixes kept per sentence. 1 is greedy.
    length_penalty : float, default=1.0
        Exponent in `length_norm`; Vaswani et al. (2017, section 6.1) use 0.6 with a beam of 4.
    trace : list, default=None
        Gets, per step, a list of (parent, token_id, log_prob): the candidates that ended or became
        a beam, best first. `parent` counts the beams of the step before, skipping candidates that
        ended. For one sentence only.
    start : float, default=0.0
        What every sum of log-probabilities begins with, in nats.

    Returns
    -------
    hypotheses : list of lists of Hypothesis
        Per sentence at most `beam_size` hypotheses, best first.

    Raises
    ------
    ValueError
        If `n`, `max_len` or `beam_size` is below 1, or a trace of several sentences is asked for.

    Source
    ------
    Wu et al. (2016), "Google's Neural Machine Translation System", section 7.
    """
    _check_request(n, max_len, beam_size, trace)
    finished = [_Finished(beam_size, length_penalty, max_len) for _ in range(n)]
    prefix, rows = torch.full((n, 1), bos_id), None
    scores = torch.full((n, 1), float(start))  # (sentences, beams): first one empty prefix each
    alive = torch.arange(n)  # the sentence that each row of `scores` belongs to
    for length in range(1, max_len + 1):
        beams = scores.shape[1]
        log_probs = step(prefix, rows).cpu().float().log_softmax(-1)  # (sentences·beams, V)
        log_probs = log_probs.unflatten(0, (-1, beams))  # (sentences, beams, V)
        # Twice beam_size candidates: at most one per beam ends, so enough of them go on.
        n_candidates = min(2 * beam_size, log_probs[0].numel())
        candidates, parents, tokens = beam_step(log_probs, scores, n_candidates)
        parent_rows = parents + beams * torch.arange(len(alive))[:, None]  # rows of the prefix
        ends = tokens == eos_id
        ended = ends & (torch.arange(n_candidates) < beam_size)  # only the beam_size best can end
        for i, j in ended.nonzero().tolist():
            ids = [*prefix[parent_rows[i, j], 1:].tolist(), eos_id]
            finished[alive[i]].add(ids, candidates[i, j].item())
        unended = candidates.masked_fill(ends, -math.inf)
        scores, kept = unended.topk(min(beam_size, n_candidates), dim=-1)
        if trace is not None:
            trace.append(_shown(parents[0], tokens[0], candidates[0], ended[0], kept[0]))
        go_on = [
            finished[sentence].can_improve(best, length)
            for sentence, best in zip(alive.tolist(), scores[:, 0].tolist(), strict=True)
        ]
        scores, alive, kept = scores[go_on], alive[go_on], kept[go_on]
        rows = parent_rows[go_on].gather(1, kept).flatten()
        new = tokens[go_on].gather(1, kept).flatten()
        prefix = torch.cat([prefix[rows], new[:, None]], dim=1)  # (rows, t) -> (rows, t + 1)
        if len(alive) == 0:
            break

    # If places are left after max_len tokens, prefixes that have not ended take them.
    sentences = alive.repeat_interleave(scores.shape[1])
    for sentence, log_prob, row in zip(sentences, scores.flatten(), prefix, strict=True):
        if finished[sentence].has_room():
            finished[sentence].add(row[1:].tolist(), log_prob.item())
    return [one.best() for one in finished]


class _Finished:
    """The finished hypotheses of one sentence, and whether the search can find a better one."""

    def __init__(self, beam_size, length_penalty, max_len):
        self.beam_size, self.length_penalty, self.max_len = beam_size, length_penalty, max_len
        self.hypotheses = []

    def add(self, ids, log_prob):
        if log_prob > -math.inf:
            score = log_prob / length_norm(len(ids), self.length_penalty)
            self.hypotheses.append(Hypothesis(ids, score, log_prob))

    def best(self):
        return sorted(self.hypotheses, key=lambda h: -h.score)[: self.beam_size]

    def has_room(self):
        return len(self.hypotheses) < self.beam_size

    def can_improve(self, log_prob, length):
        """Tell whether a prefix of `length` tokens can still end among the best."""
        if log_prob == -math.inf:
            return False
        if self.has_room():
            return True
        if self.beam_size == 1:
            return False  # the most likely token ended the sentence, so greedy decoding stops too
        # The sum can only fall. A positive penalty rewards length, so the best case is max_len
        # tokens; otherwise it is the next one.
        best_length = self.max_len if self.length_penalty > 0 else length + 1
        return log_prob / length_norm(best_length, self.length_penalty) > self.best()[-1].score


def _shown(parents, tokens, log_probs, ended, kept):
    """List (parent, token, log-probability) of the candidates that ended or became a beam."""
    shown = ended.clone()
    shown[kept] = True
    shown &= log_probs > -math.inf
    columns = (column[shown].tolist() for column in (parents, tokens, log_probs))
    return list(zip(*columns, strict=True))


def _check_request(n, max_len, beam_size=1, trace=None):
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n}.")
    if max_len < 1:
        raise ValueError(f"max_len must allow at least one token; got {max_len}.")
    if beam_size < 1:
        raise ValueError(f"a beam holds at least one prefix; got beam_size={beam_size}.")
    if trace is not None and n != 1:
        raise ValueError(f"a trace follows the beam of one sentence; got n={n}.")
