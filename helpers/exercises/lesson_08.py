"""Lesson 08, decoding."""

import math

import torch

from helpers import decoding
from helpers.exercises.model import Exercise, Mistake


def greedy_decode(step, bos_id, eos_id, max_len):
    """Take the likeliest token until the sentence ends."""
    ids = [bos_id]
    while len(ids) <= max_len and (len(ids) == 1 or ids[-1] != eos_id):
        ids.append(int(step(ids).argmax()))
    return ids[1:]


def _model(seed, eos_at):
    """A step function of six tokens that depends on the whole prefix and ends after `eos_at`."""
    table = torch.randn(8, 6, generator=torch.Generator().manual_seed(seed))
    table[:, :3] -= 6.0  # pad, bos and eos are not chosen by accident

    def step(ids):
        if torch.is_tensor(ids) and ids.dim() != 1:
            raise ValueError(
                f"step wants a flat list of ids here, not a tensor of shape {tuple(ids.shape)}"
            )
        ids = [int(i) for i in ids]
        if not ids:
            raise ValueError("step got an empty list; the first call gets [bos_id]")
        logits = table[(sum(ids) + len(ids)) % 8].clone()
        if len(ids) > eos_at:
            logits[2] = 20.0
        return logits

    return step


def _draw_greedy(generator):
    return [(_model(0, 3), 1, 2, 8), (_model(1, 9), 1, 2, 5), (_model(2, 5), 1, 2, 20)]


def _greedy(keep_bos=False, keep_eos=True, stop=True, extra=0, choose=torch.argmax, prefix=True):
    def decode(step, bos_id, eos_id, max_len):
        ids = [bos_id]
        for _ in range(max_len + extra):
            token = int(choose(step(ids if prefix else ids[-1:])))
            ids.append(token)
            if stop and token == eos_id:
                if not keep_eos:
                    ids.pop()
                break
        return ids if keep_bos else ids[1:]

    return decode


def _draw_top_k(generator):
    return [
        (torch.tensor([1.0, 3.0, 2.0, 0.0]), 2),
        (torch.randn(2, 6, generator=generator), 3),
        (torch.randn(2, 3, 7, generator=generator), 1),
    ]


def _draw_top_p(generator):
    return [
        (torch.tensor([0.5, 0.25, 0.15, 0.1]).log(), 0.7),
        (torch.randn(2, 6, generator=generator) * 1.5, 0.8),
        (torch.randn(3, 7, generator=generator) * 1.5, 0.5),
    ]


def _top_p_by_loop(logits, p):
    out = torch.full_like(logits, -math.inf)
    flat, kept = logits.reshape(-1, logits.shape[-1]), out.reshape(-1, logits.shape[-1])
    for row, target in zip(flat, kept, strict=True):
        total = 0.0
        for token in row.softmax(-1).argsort(descending=True).tolist():
            target[token] = row[token]
            total += row.softmax(-1)[token].item()
            if total >= p:
                break
    return kept.reshape(logits.shape)


def _top_p_by_rank(logits, p):
    probabilities = logits.softmax(-1)
    larger = probabilities[..., None, :] > probabilities[..., :, None]
    before = (larger * probabilities[..., None, :]).sum(-1)
    return torch.where(before < p, logits, -math.inf)


def _top_p_drops_the_reaching_one(logits, p, keep_first=False):
    ordered, order = logits.sort(dim=-1, descending=True)
    dropped = ordered.softmax(-1).cumsum(-1) > p
    if keep_first:
        dropped[..., 0] = False
    return logits.masked_fill(dropped.scatter(-1, order, dropped), -math.inf)


def _dropped_in_order(logits, p):
    probabilities = logits.sort(-1, descending=True).values.softmax(-1)
    return probabilities.cumsum(-1) - probabilities >= p


def _beam_each_sorted(log_probs, beam_scores, beam_size):
    best = (beam_scores[:, None] + log_probs).max(-1)
    scores, beams = best.values.topk(beam_size)
    return scores, beams, best.indices[beams]


def _draw_beam(generator):
    return [
        (torch.randn(2, 4, generator=generator).log_softmax(-1), torch.tensor([-0.5, -1.0]), 2),
        (
            torch.randn(3, 5, generator=generator).log_softmax(-1),
            torch.tensor([-1.0, -1.2, -2.0]),
            3,
        ),
    ]


def _beam_each(log_probs, beam_scores, beam_size):
    totals = beam_scores[:, None] + log_probs
    best = totals.max(-1)
    return best.values[:beam_size], torch.arange(beam_size), best.indices[:beam_size]


def _beam_by_sorting(log_probs, beam_scores, beam_size):
    candidates = [
        (float(beam_scores[b] + log_probs[b, v]), b, v)
        for b in range(log_probs.shape[0])
        for v in range(log_probs.shape[1])
    ]
    scores, beams, tokens = zip(*sorted(candidates, reverse=True)[:beam_size], strict=True)
    return torch.tensor(scores), torch.tensor(beams), torch.tensor(tokens)


def _beam_by_where(log_probs, beam_scores, beam_size):
    totals = (log_probs.T + beam_scores).T
    flat = totals.reshape(-1).argsort(descending=True)[:beam_size]
    return (
        totals.reshape(-1)[flat],
        flat.div(totals.shape[1], rounding_mode="floor"),
        flat.remainder(totals.shape[1]),
    )


EXERCISES = [
    Exercise(
        name="greedy_decode",
        title="greedy decoding",
        task="step(ids), with ids a list that begins with bos, gives the logits (V,) of the next token. Return the ids that are written: without bos, with eos if it is reached, at most max_len.",
        minutes=8,
        difficulty=2,
        importance=5,
        reference=greedy_decode,
        draw=_draw_greedy,
        mistakes=[
            Mistake(
                "bos kept, and counted",
                lambda step, bos_id, eos_id, max_len: [
                    bos_id,
                    *_greedy(extra=-1)(step, bos_id, eos_id, max_len),
                ],
                "The begin-of-sentence token is in the result, and it is counted: with it there are at most max_len. Leave it out; max_len counts what is written.",
            ),
            Mistake(
                "only bos is passed on",
                lambda step, bos_id, eos_id, max_len: _greedy()(
                    lambda ids: step([bos_id]), bos_id, eos_id, max_len
                ),
                "Every step gets [bos_id] alone. Append each token, and hand over all ids so far.",
            ),
            Mistake(
                "bos kept",
                _greedy(keep_bos=True),
                "The begin-of-sentence token is in the result. It is given, not written: leave it out.",
            ),
            Mistake(
                "eos dropped",
                _greedy(keep_eos=False),
                "The end-of-sentence token is missing. Keep it: it says that the sentence is complete.",
            ),
            Mistake(
                "does not stop",
                _greedy(stop=False),
                "The loop goes on after end of sentence. Leave it when eos_id was written.",
            ),
            Mistake(
                "one token too many",
                _greedy(extra=1),
                "One token more than max_len is written when no end comes.",
            ),
            Mistake(
                "one token too few",
                _greedy(extra=-1),
                "One token less than max_len is written when no end comes.",
            ),
            Mistake(
                "the least likely token",
                _greedy(choose=torch.argmin),
                "The smallest logit is chosen. Take the largest: argmax.",
            ),
            Mistake(
                "only the last token is passed on",
                _greedy(prefix=False),
                "The step function gets only the last token. It needs all ids so far, beginning with bos.",
            ),
            Mistake(
                "max_len ignored",
                _greedy(extra=40),
                "max_len is not looked at. At most max_len tokens: the sentence may never end.",
            ),
            Mistake("bos kept + eos dropped", _greedy(keep_bos=True, keep_eos=False)),
        ],
        also_right=[
            _greedy(),
            lambda step, bos_id, eos_id, max_len: decoding.greedy(
                lambda prefix, rows: step(prefix[0].tolist())[None], 1, bos_id, eos_id, max_len
            )[0],
        ],
        hints=[
            "Begin with ids = [bos_id], and loop at most max_len times.",
            "token = int(step(ids).argmax()); append it; leave the loop if it is eos_id.",
            "Return ids[1:]: everything but bos.",
        ],
        look_at="The whole prefix goes in each time. What makes that affordable is the cache.",
    ),
    Exercise(
        name="top_k_filter",
        title="top-k",
        task="Keep the k largest logits of each row, set the rest to −∞.",
        minutes=5,
        difficulty=2,
        importance=3,
        reference=decoding.top_k_filter,
        draw=_draw_top_k,
        mistakes=[
            Mistake(
                "a mask returned",
                lambda x, k: decoding.top_k_filter(x, k).isfinite(),
                "This is the mask, True for what is kept. Return the logits, with −∞ where it is False.",
            ),
            Mistake(
                "the k largest dropped",
                lambda x, k: x.masked_fill(x >= x.topk(k, -1).values[..., -1:], -math.inf),
                "The k largest are set to −∞ and the rest is kept. It is the other way round: compare with <.",
            ),
            Mistake(
                "only the largest kept",
                lambda x, k: decoding.top_k_filter(x, 1),
                "Only the largest is kept: the comparison is with values[..., :1]. The k-th largest is the last: values[..., -1:].",
            ),
            Mistake(
                "the smallest number",
                lambda x, k: decoding.top_k_filter(x, k).nan_to_num(
                    neginf=torch.finfo(x.dtype).min
                ),
                "The rest is the smallest number there is. The exercise asks for −∞ itself, -math.inf.",
            ),
            Mistake(
                "the k smallest",
                lambda x, k: x.masked_fill(
                    x > x.topk(k, -1, largest=False).values[..., -1:], -math.inf
                ),
                "The k smallest are kept, and the rest is −∞. Keep the k largest.",
            ),
            Mistake(
                "the smallest kept",
                lambda x, k: -decoding.top_k_filter(-x, k),
                "The k smallest are kept, or the signs are turned round.",
            ),
            Mistake(
                "rest set to zero",
                lambda x, k: decoding.top_k_filter(x, k).masked_fill(
                    decoding.top_k_filter(x, k).isinf(), 0.0
                ),
                "The rest is 0. A logit of 0 still has a probability: exp(0) is 1. Use −∞.",
            ),
            Mistake(
                "the k-th dropped too",
                lambda x, k: x.masked_fill(x <= x.topk(k, -1).values[..., -1:], -math.inf),
                "The k-th largest is dropped too: compare with <, not <=.",
            ),
            Mistake(
                "−1e9 instead of −∞",
                lambda x, k: decoding.top_k_filter(x, k).nan_to_num(neginf=-1e9),
                "The rest is −1e9. The softmax gives the same; the exercise asks for −∞ itself, -math.inf.",
            ),
            Mistake(
                "result sorted",
                lambda x, k: decoding.top_k_filter(x.sort(-1, descending=True).values, k),
                "The result is sorted. Every logit stays in its place.",
            ),
            Mistake(
                "the first k",
                lambda x, k: x.masked_fill(torch.arange(x.shape[-1]) >= k, -math.inf),
                "These are the first k of the vocabulary, not the k largest.",
            ),
            Mistake(
                "one too many",
                lambda x, k: decoding.top_k_filter(x, k + 1),
                "One token more than k is kept.",
            ),
            Mistake(
                "probabilities returned",
                lambda x, k: decoding.top_k_filter(x, k).softmax(-1),
                "These are probabilities. The exercise asks for logits: the softmax comes later.",
            ),
            Mistake(
                "only the k values returned",
                lambda x, k: x.topk(k, -1).values,
                "These are the k values, no longer in their places. Keep the shape (..., V).",
            ),
            Mistake(
                "largest of the whole batch",
                lambda x, k: x.masked_fill(x < x.flatten().topk(k).values[-1], -math.inf),
                "The k largest of all rows together are kept. Each row keeps its own.",
            ),
        ],
        also_right=[
            lambda x, k: torch.full_like(x, -math.inf).scatter(
                -1, x.topk(k, -1).indices, x.topk(k, -1).values
            ),
            lambda x, k: torch.where(
                x >= x.sort(-1, descending=True).values[..., k - 1 : k], x, -math.inf
            ),
        ],
        hints=[
            "logits.topk(k, dim=-1).values holds the k largest, in order.",
            "The last of them is the smallest that is kept: values[..., -1:].",
            "logits.masked_fill(logits < smallest_kept, -math.inf)",
        ],
        look_at="The slice -1: keeps the axis, so that the comparison broadcasts along the vocabulary.",
    ),
    Exercise(
        name="top_p_filter",
        title="top-p",
        task="Keep the fewest likeliest tokens whose probabilities reach p, set the rest to −∞.",
        minutes=9,
        difficulty=4,
        importance=3,
        reference=decoding.top_p_filter,
        draw=_draw_top_p,
        mistakes=[
            Mistake(
                "−1e9 instead of −∞",
                lambda x, p: decoding.top_p_filter(x, p).nan_to_num(neginf=-1e9),
                "The rest is −1e9. The softmax gives the same; the exercise asks for −∞ itself, -math.inf.",
            ),
            Mistake(
                "a mask returned",
                lambda x, p: decoding.top_p_filter(x, p).isfinite(),
                "This is the mask, True for what is kept. Return the logits, with −∞ where it is False.",
            ),
            Mistake(
                "the likeliest dropped",
                lambda x, p: x.masked_fill(decoding.top_p_filter(x, p).isfinite(), -math.inf),
                "What should be kept is dropped, and the rest is kept: turn the mask round.",
            ),
            Mistake(
                "the sum reaches 1 − p",
                lambda x, p: decoding.top_p_filter(x, 1 - p),
                "The sum is stopped at 1 − p. Keep tokens until they have p together.",
            ),
            Mistake(
                "min-p",
                lambda x, p: x.masked_fill(
                    x.softmax(-1) < p * x.softmax(-1).amax(-1, keepdim=True), -math.inf
                ),
                "This is min-p: each probability is compared with the largest one. In top-p the running sum counts, likeliest first.",
            ),
            Mistake(
                "the token that reaches p is dropped",
                _top_p_drops_the_reaching_one,
                "The token with which the sum reaches p is dropped. It belongs to the kept ones: compare what the likelier tokens have together, without the token itself.",
            ),
            Mistake(
                "mask in sorted order",
                lambda x, p: x.masked_fill(_dropped_in_order(x, p), -math.inf),
                "The mask is in sorted order, the logits are not. Scatter it back with the order that sort returned.",
            ),
            Mistake(
                "gather instead of scatter",
                lambda x, p: x.masked_fill(
                    _dropped_in_order(x, p).gather(-1, x.argsort(-1, descending=True)), -math.inf
                ),
                "gather reads at the places of `order`. To write back to them use scatter.",
            ),
            Mistake(
                "only the first kept by hand",
                lambda x, p: _top_p_drops_the_reaching_one(x, p, keep_first=True),
                "The token that reaches p is still dropped; keeping the first one by hand is not enough. Compare the sum before each token.",
            ),
            Mistake(
                "threshold on each probability",
                lambda x, p: x.masked_fill(x.softmax(-1) < 1 - p, -math.inf),
                "Each token's own probability is compared with a number. It is the running sum, likeliest first, that counts.",
            ),
            Mistake(
                "not in order",
                lambda x, p: x.masked_fill(
                    x.softmax(-1).cumsum(-1) - x.softmax(-1) >= p, -math.inf
                ),
                "The sum runs in the order of the vocabulary. Sort first, likeliest first.",
            ),
            Mistake(
                "not put back in place",
                lambda x, p: (
                    lambda s: s.masked_fill(
                        s.softmax(-1).cumsum(-1) - s.softmax(-1) >= p, -math.inf
                    )
                )(x.sort(-1, descending=True).values),
                "The result is sorted. Put every logit back in its place: scatter, with the order that sort returned.",
            ),
            Mistake(
                "least likely first",
                lambda x, p: (
                    lambda s, o: x.masked_fill(
                        (s.softmax(-1).cumsum(-1) - s.softmax(-1) >= p).scatter(
                            -1, o, s.softmax(-1).cumsum(-1) - s.softmax(-1) >= p
                        ),
                        -math.inf,
                    )
                )(*x.sort(-1)),
                "The sum begins with the least likely token. Sort in descending order.",
            ),
            Mistake(
                "probabilities returned",
                lambda x, p: decoding.top_p_filter(x, p).softmax(-1),
                "These are probabilities. The exercise asks for logits.",
            ),
            Mistake(
                "rest set to zero",
                lambda x, p: decoding.top_p_filter(x, p).nan_to_num(neginf=0.0),
                "The rest is 0, which still has a probability. Use −∞.",
            ),
        ],
        also_right=[_top_p_by_loop, _top_p_by_rank],
        hints=[
            "ordered, order = logits.sort(dim=-1, descending=True); their probabilities by softmax.",
            "before = probabilities.cumsum(-1) - probabilities: what the likelier tokens have together. A token is dropped if that already is p or more.",
            "dropped = (before >= p).scatter(-1, order, before >= p) puts the answers back in place.",
        ],
        look_at="The first token has nothing before it, so it is always kept, even if its probability is above p.",
    ),
    Exercise(
        name="beam_step",
        title="one step of a beam search",
        task="From log-probabilities (beams, V) and the beams' scores (beams,), return scores, beam_index and token_id of the best beam_size continuations, best first.",
        minutes=9,
        difficulty=4,
        importance=3,
        reference=decoding.beam_step,
        draw=_draw_beam,
        mistakes=[
            Mistake(
                "token not taken apart",
                lambda lp, s, n: (lambda r: (r[0], r[1], r[1] * lp.shape[1] + r[2]))(
                    decoding.beam_step(lp, s, n)
                ),
                "token_id is still the flat index. Take the remainder: flat % V.",
            ),
            Mistake(
                "probabilities returned",
                lambda lp, s, n: (lambda r: (r[0].exp(), *r[1:]))(decoding.beam_step(lp, s, n)),
                "The scores are probabilities. Return the sums of log-probabilities as they are.",
            ),
            Mistake(
                "only the new token's score",
                lambda lp, s, n: (lambda r: (r[0] - s[r[1]], *r[1:]))(decoding.beam_step(lp, s, n)),
                "Beams and tokens are right, but the scores are those of the new token alone. Return the totals.",
            ),
            Mistake(
                "token, beam, scores",
                lambda lp, s, n: decoding.beam_step(lp, s, n)[::-1],
                "The three results are in another order. Return scores first, then beam_index, then token_id.",
            ),
            Mistake(
                "best of each beam",
                _beam_each,
                "Each beam keeps its own best continuation. They compete: all continuations of all beams in one list.",
            ),
            Mistake(
                "best of each beam, sorted",
                _beam_each_sorted,
                "Each beam offers its best continuation only. A beam's second best may beat another's best: all continuations of all beams in one list.",
            ),
            Mistake(
                "probabilities added",
                lambda lp, s, n: decoding.beam_step(lp.exp(), s, n),
                "exp() made probabilities of the log-probabilities. Add them as they are.",
            ),
            Mistake(
                "scores last",
                lambda lp, s, n: (lambda r: (r[1], r[2], r[0]))(decoding.beam_step(lp, s, n)),
                "The three results are in another order. Return scores first, then beam_index, then token_id.",
            ),
            Mistake(
                "old scores forgotten",
                lambda lp, s, n: decoding.beam_step(lp, torch.zeros_like(s), n),
                "The beams' scores so far are not added. A continuation's score is the sum along its path.",
            ),
            Mistake(
                "scores multiplied",
                lambda lp, s, n: (
                    lambda t: (
                        t.flatten().topk(n).values,
                        t.flatten().topk(n).indices // lp.shape[1],
                        t.flatten().topk(n).indices % lp.shape[1],
                    )
                )(lp * s[:, None]),
                "Scores are multiplied. Probabilities multiply; their logarithms add.",
            ),
            Mistake(
                "beam and token exchanged",
                lambda lp, s, n: (lambda r: (r[0], r[2], r[1]))(decoding.beam_step(lp, s, n)),
                "beam_index and token_id have changed places.",
            ),
            Mistake(
                "worst first",
                lambda lp, s, n: tuple(x.flip(0) for x in decoding.beam_step(lp, s, n)),
                "The order is worst first. topk returns the best first.",
            ),
            Mistake(
                "divided by the number of beams",
                lambda lp, s, n: (lambda v, i: (v, i // len(s), i % len(s)))(
                    *(s[:, None] + lp).flatten().topk(n)
                ),
                "The flat index is taken apart with the number of beams. In a flattened (beams, V) it is the vocabulary: index // V is the beam.",
            ),
        ],
        also_right=[_beam_by_sorting, _beam_by_where],
        hints=[
            "totals = beam_scores[:, None] + log_probs has the shape (beams, V).",
            "totals.flatten().topk(beam_size) looks at all of them together.",
            "flat index // V is the beam, flat index % V the token.",
        ],
        look_at="In the helper all axes are counted from the end, so a batch of sentences goes through at once.",
    ),
]
