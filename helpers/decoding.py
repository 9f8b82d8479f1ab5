"""Choosing tokens: greedily, with a beam, at random. Nothing here knows a model.

A model is met as a step function ``step(prefix, rows) -> logits``. `prefix` holds the tokens so
far, shape (N, t), beginning with the begin-of-sentence token; the answer, shape (N, V), scores
every next token. `rows`, shape (N,), says which row of the previous call each row goes on from, so
that a model with a cache can follow; None means that nothing has moved.
"""

import math
from dataclasses import dataclass, field

import torch


def greedy(step, n, bos_id, eos_id, max_len):
    """Take the likeliest token, again and again.

    Parameters
    ----------
    step : function
        See the top of this module.
    n : int
        Number of sentences.
    bos_id, eos_id : int
        First token of the prefix; the token after which a sentence is complete.
    max_len : int
        Most tokens to write.

    Returns
    -------
    sentences : list of lists of int
        Without begin of sentence; with end of sentence where it was reached.

    Raises
    ------
    ValueError
        If there is no sentence or no token to write.
    """
    return _one_by_one(step, n, bos_id, eos_id, max_len, lambda logits: logits.argmax(-1))


def sample(
    step,
    n,
    bos_id,
    eos_id,
    max_len,
    temperature=1.0,
    top_k=None,
    top_p=None,
    generator=None,
):
    """Draw each token from the model's distribution.

    Parameters
    ----------
    step, n, bos_id, eos_id, max_len
        As in `greedy`.
    temperature : float, default=1.0
        Logits are divided by it: below 1 the likely becomes likelier, above 1 all become equal.
    top_k : int, default=None
        Draw from the k likeliest tokens only.
    top_p : float, default=None
        Draw from the fewest tokens that together have this probability.
    generator : torch.Generator, default=None
        Where the random numbers come from.

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
            logits = top_p_filter(logits, top_p)
        return torch.multinomial(logits.softmax(-1), 1, generator=generator).squeeze(-1)

    return _one_by_one(step, n, bos_id, eos_id, max_len, draw)


def _one_by_one(step, n, bos_id, eos_id, max_len, choose):
    _check_request(n, max_len)
    prefix = torch.full((n, 1), bos_id)
    alive = torch.arange(n)  # which sentence each row of the prefix belongs to
    sentences = [[] for _ in range(n)]
    rows = None
    for _ in range(max_len):
        tokens = choose(step(prefix, rows)).cpu()
        prefix = torch.cat([prefix, tokens[:, None]], dim=1)
        running = tokens != eos_id
        if running.all():
            rows = None
            continue
        for sentence, ids in zip(alive[~running], prefix[~running, 1:], strict=True):
            sentences[sentence] = ids.tolist()
        # Finished sentences leave the batch: nobody computes for them any more.
        rows = running.nonzero().squeeze(1)
        prefix, alive = prefix[rows], alive[rows]
        if len(alive) == 0:
            break
    for sentence, ids in zip(alive, prefix[:, 1:], strict=True):
        sentences[sentence] = ids.tolist()
    return sentences


def top_k_filter(logits, k):
    """Keep the k largest logits; set the rest to minus infinity.

    Parameters
    ----------
    logits : Tensor of shape (..., V)
    k : int
        From 1; more than V keeps everything. Equal to the k-th largest is kept too.

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
    """Keep the fewest likeliest tokens whose probabilities reach p; the rest to minus infinity.

    Parameters
    ----------
    logits : Tensor of shape (..., V)
    p : float
        Above 0, up to 1. The token that reaches p is kept, so at least one is.

    Returns
    -------
    logits : Tensor of shape (..., V)

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
        return logits  # rounded sums can pass 1 too early and would drop the unlikeliest
    ordered, order = logits.sort(dim=-1, descending=True)
    probabilities = ordered.softmax(-1)
    before = probabilities.cumsum(-1) - probabilities  # what the likelier ones have together
    dropped = (before >= p).scatter(-1, order, before >= p)
    return logits.masked_fill(dropped, -math.inf)


def beam_step(log_probs, beam_scores, beam_size):
    """Find the best continuations of all beams together.

    Parameters
    ----------
    log_probs : Tensor of shape (..., beams, V)
        Log-probability of every next token, for every beam.
    beam_scores : Tensor of shape (..., beams)
        Sum of log-probabilities of each beam so far.
    beam_size : int
        How many to keep.

    Returns
    -------
    scores : Tensor of shape (..., beam_size)
        Best first.
    beam_index : integer Tensor of shape (..., beam_size)
        Which beam each one continues.
    token_id : integer Tensor of shape (..., beam_size)
        With which token.
    """
    totals = beam_scores[..., None] + log_probs  # (..., beams, V)
    scores, flat = totals.flatten(-2).topk(beam_size, dim=-1)
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
        `log_prob` divided by the length penalty; what hypotheses are ranked by.
    log_prob : float
        Sum of the tokens' log-probabilities, in nats.
    """

    ids: list
    score: float
    log_prob: float


@dataclass
class BeamTrace:
    """What a beam search of one sentence did, step by step, for drawing its tree.

    Parameters
    ----------
    steps : list of lists of (parent, token_id, log_prob)
        For each step the candidates that were kept, best first; `parent` is the index of the beam
        in the step before.
    """

    steps: list = field(default_factory=list)


def length_norm(length, penalty):
    """Compute what a sum of log-probabilities is divided by: ((5 + length) / 6) ** penalty.

    Parameters
    ----------
    length : int or Tensor
        Tokens written, end of sentence included.
    penalty : float
        0 leaves sums as they are, which favours short sentences.

    Returns
    -------
    norm : float or Tensor

    Source
    ------
    Wu et al. (2016), "Google's Neural Machine Translation System", section 7, eq. (14).
    """
    return ((5 + length) / 6) ** penalty


def beam(step, n, bos_id, eos_id, max_len, beam_size=4, length_penalty=1.0, trace=None):
    """Keep the best few beginnings, not one.

    Parameters
    ----------
    step, n, bos_id, eos_id, max_len
        As in `greedy`.
    beam_size : int, default=4
        Beginnings kept for each sentence. 1 is greedy.
    length_penalty : float, default=1.0
        See `length_norm`.
    trace : BeamTrace, default=None
        Filled with what was kept at every step; for one sentence only.

    Returns
    -------
    hypotheses : list of lists of Hypothesis
        For each sentence its finished hypotheses, best first.

    Raises
    ------
    ValueError
        If there is no sentence, no token to write, no beam, or a trace of several sentences.

    Source
    ------
    Wu et al. (2016), "Google's Neural Machine Translation System", section 7.
    """
    _check_request(n, max_len)
    if beam_size < 1:
        raise ValueError(f"a beam holds at least one beginning; got beam_size={beam_size}.")
    if trace is not None and n != 1:
        raise ValueError(f"a trace follows the beam of one sentence; got n={n}.")
    finished = [[] for _ in range(n)]
    prefix, rows = torch.full((n, 1), bos_id), None
    scores = torch.zeros(n, 1)  # at first one beginning a sentence
    alive = torch.arange(n)
    for length in range(1, max_len + 1):
        log_probs = step(prefix, rows).cpu().float().log_softmax(-1).unflatten(0, scores.shape)
        # Twice as many candidates as beams: even if half of them end here, enough go on.
        n_candidates = min(2 * beam_size, log_probs.shape[1] * log_probs.shape[2])
        candidates, parents, tokens = beam_step(log_probs, scores, n_candidates)
        ends = tokens == eos_id
        _collect(
            finished, alive, prefix, candidates, parents, ends, eos_id, length_penalty, beam_size
        )
        # The best candidates that do not end become the new beams.
        scores, place = candidates.masked_fill(ends, -math.inf).topk(
            min(beam_size, n_candidates), dim=-1
        )
        if trace is not None:
            trace.steps.append(_kept(parents[0], tokens[0], candidates[0], ends[0], place[0]))
        parents, tokens = parents.gather(1, place), tokens.gather(1, place)
        going_on = _undecided(finished, alive, scores, length, max_len, length_penalty, beam_size)
        rows = (parents + torch.arange(len(alive))[:, None] * log_probs.shape[1])[going_on]
        prefix = torch.cat([prefix[rows.flatten()], tokens[going_on].reshape(-1, 1)], dim=1)
        scores, alive, rows = scores[going_on], alive[going_on], rows.flatten()
        if len(alive) == 0:
            break
    _cut_off(finished, alive, scores, prefix, max_len, length_penalty, beam_size)
    return [sorted(some, key=lambda h: -h.score)[:beam_size] for some in finished]


def _kept(parents, tokens, log_probs, ends, going_on):
    """List what the trace shows: candidates that end among the best, and the new beams."""
    kept = ends & (torch.arange(len(ends)) < len(going_on))
    kept[going_on] = True
    kept &= log_probs > -math.inf
    columns = (column[kept].tolist() for column in (parents, tokens, log_probs))
    return list(zip(*columns, strict=True))


def _collect(finished, alive, prefix, scores, parents, ends, eos_id, penalty, beam_size):
    """Move candidates that end among the best `beam_size` to the finished hypotheses."""
    ends = ends & (scores > -math.inf) & (torch.arange(ends.shape[1]) < beam_size)
    beams = len(prefix) // len(alive)
    for row, place in ends.nonzero().tolist():
        ids = prefix[row * beams + parents[row, place], 1:].tolist() + [eos_id]
        log_prob = scores[row, place].item()
        score = log_prob / length_norm(len(ids), penalty)
        finished[alive[row]].append(Hypothesis(ids, score, log_prob))


def _cut_off(finished, alive, scores, prefix, max_len, penalty, beam_size):
    """Add what is still unfinished after `max_len` tokens, where there is room for it."""
    beams = prefix[:, 1:].unflatten(0, scores.shape) if len(alive) else []
    for sentence, log_probs, sentences in zip(alive.tolist(), scores.tolist(), beams, strict=True):
        for log_prob, ids in zip(log_probs, sentences.tolist(), strict=True):
            if log_prob > -math.inf and len(finished[sentence]) < beam_size:
                score = log_prob / length_norm(max_len, penalty)
                finished[sentence].append(Hypothesis(ids, score, log_prob))


def _undecided(finished, alive, scores, length, max_len, penalty, beam_size):
    """Say which sentences could still find something better than they have."""
    going_on = []
    for sentence, best in zip(alive.tolist(), scores[:, 0].tolist(), strict=True):
        some = sorted((h.score for h in finished[sentence]), reverse=True)
        # A log-probability only falls; the penalty can lift it at most to that of full length.
        reach = best / length_norm(max_len if penalty > 0 else length + 1, penalty)
        # A beam of one has nothing left once it has ended: that makes it greedy.
        better = beam_size > 1 and reach > some[beam_size - 1] if len(some) >= beam_size else True
        going_on.append(best > -math.inf and better)
    return torch.tensor(going_on)


def _check_request(n, max_len):
    if n < 1:
        raise ValueError(f"there is no sentence to write: n={n}.")
    if max_len < 1:
        raise ValueError(f"max_len must allow at least one token; got {max_len}.")
