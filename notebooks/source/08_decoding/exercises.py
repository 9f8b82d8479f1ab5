"""Lesson 08, decoding."""

import math

import torch
import torch.nn.functional as F

from helpers.exercises.model import Exercise, Mistake, normal
from helpers.transformer import decoding


def next_token_probabilities(hidden, table):
    """Turn the decoder's vectors into a distribution over the vocabulary per position."""
    logits = hidden @ table.T  # (B, T, D) @ (D, V) -> (B, T, V)
    return logits.softmax(dim=-1)


def next_token_loss(decode, ids):
    """Average −log p(next token), for ids (B, T + 1) that begin with bos."""
    inputs, targets = ids[:, :-1], ids[:, 1:]
    logits = decode(inputs)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def greedy_decode(step, bos_id, eos_id, max_len):
    """Take the likeliest token until the sentence ends."""
    ids = [bos_id]
    for _ in range(max_len):
        token = int(step(ids).argmax())
        ids.append(token)
        if token == eos_id:
            break
    return ids[1:]


# The solutions as a learner would write them; known mistakes are edits of these texts.


def _top_k(logits, k):
    smallest_kept = logits.topk(k, dim=-1).values[..., -1:]
    return logits.masked_fill(logits < smallest_kept, -math.inf)


def _top_p(logits, p):
    ordered, order = logits.sort(dim=-1, descending=True)
    probabilities = ordered.softmax(-1)
    before = probabilities.cumsum(-1) - probabilities
    dropped = before >= p
    dropped = dropped.scatter(-1, order, dropped)
    return logits.masked_fill(dropped, -math.inf)


def _beam(log_probs, beam_scores, beam_size):
    vocab_size = log_probs.shape[-1]
    totals = beam_scores[:, None] + log_probs
    scores, flat = totals.flatten().topk(beam_size)
    beam_index = flat // vocab_size
    token_id = flat % vocab_size
    return scores, beam_index, token_id


def _decoder(seed, vocab_size):
    """A decoder whose logits at each position depend on all inputs up to it."""
    table = torch.randn(11, vocab_size, generator=torch.Generator().manual_seed(seed))

    def decode(inputs):
        if not torch.is_tensor(inputs) or inputs.dim() != 2:
            raise ValueError("decode expects a tensor of ids of shape (B, T)")
        return 1.5 * table[inputs.cumsum(1) % 11]

    return decode


def _draw_loss(generator):
    for seed, vocab_size, rows, length in [(0, 5, 1, 4), (1, 7, 2, 6), (2, 9, 3, 5)]:
        ids = torch.randint(vocab_size, (rows, length), generator=generator)
        yield _decoder(seed, vocab_size), ids


def _model(seed, eos_at, bos_id=1, eos_id=2, bos_at=-1):
    """A step function of six tokens: it depends on the whole prefix, ends after `eos_at`, and writes
    the begin token itself after `bos_at`."""
    table = torch.randn(8, 6, generator=torch.Generator().manual_seed(seed))
    table[:, [0, bos_id, eos_id]] -= 6.0  # pad, bos and eos are not chosen by accident

    def step(ids):
        if torch.is_tensor(ids) and ids.dim() != 1:
            raise ValueError(
                f"step expects a flat list of ids here, not a tensor of shape {tuple(ids.shape)}"
            )
        ids = [int(i) for i in ids]
        if not ids:
            raise ValueError("step got an empty list; the first call gets [bos_id]")
        logits = table[(sum(ids) + len(ids)) % 8].clone()
        if len(ids) > eos_at:
            logits[eos_id] = 20.0
        elif len(ids) == eos_at:
            logits[eos_id] = logits.max() - 0.1  # the second best ends nothing
        if len(ids) == bos_at:
            logits[bos_id] = 30.0
        return logits

    return step


def _top_p_by_rank(logits, p):
    probabilities = logits.softmax(-1)
    larger = logits[..., None, :] > logits[..., :, None]
    before = (larger * probabilities[..., None, :]).sum(-1)
    return torch.where(before < p, logits, -math.inf)


def _beam_each(log_probs, beam_scores, beam_size):
    best = (beam_scores[:, None] + log_probs).max(-1)
    beams = torch.arange(beam_size)
    return best.values[beams], beams, best.indices[beams]


def _beam_by_sorting(log_probs, beam_scores, beam_size):
    candidates = [
        (float(beam_scores[b] + log_probs[b, v]), b, v)
        for b in range(log_probs.shape[0])
        for v in range(log_probs.shape[1])
    ]
    scores, beams, tokens = zip(*sorted(candidates, reverse=True)[:beam_size], strict=True)
    return torch.tensor(scores), torch.tensor(beams), torch.tensor(tokens)


DROPPED = "dropped, -math.inf"
BACK = "    dropped = dropped.scatter(-1, order, dropped)\n"
NOT_FINITE = "The rest is set to −1e9. A softmax can't tell the difference, but the exercise asks for −∞, -math.inf."
A_MASK = "This is the mask, True for what is kept. Return the logits, with −∞ where it is False."

# fmt: off
EXERCISES = [
    Exercise(
        name="next_token_probabilities", title="from vectors to probabilities",
        task="`hidden` (B, T, D) holds the decoder's vectors, and `table` (V, D) has one row per token of the vocabulary. Return the probability of every token at every position, (B, T, V).",
        minutes=3, difficulty=1, importance=4,
        reference=next_token_probabilities,
        draw=normal("b t d, v d", (1, 2, 3, 5), (2, 3, 4, 7), (3, 2, 6, 4)),
        mistakes=[
            Mistake("log-probabilities", "logits.softmax", "logits.log_softmax",
                    "These are log-probabilities, which are never positive. The exercise asks for probabilities: softmax."),
            Mistake("logits returned", "logits.softmax(dim=-1)", "logits",
                    "These are the logits. A softmax turns them into probabilities."),
            Mistake("softmax over the positions", "dim=-1", "dim=-2",
                    "The softmax runs over the positions. At each position the probabilities of all tokens must sum to 1, so it runs over the vocabulary: dim=-1."),
            Mistake("one winner", "logits.softmax(dim=-1)", "F.one_hot(logits.argmax(-1), logits.shape[-1]).float()",
                    "The likeliest token gets all the probability, so the choice has already been made. The exercise asks for the distribution to choose from."),
            Mistake("the token instead of its probability", "logits.softmax(dim=-1)", "logits.argmax(-1)",
                    "These are token ids, one per position. The exercise asks for the probability of every token."),
            Mistake("sigmoid", "logits.softmax(dim=-1)", "logits.sigmoid()",
                    "A sigmoid looks at each logit alone, so the probabilities at a position don't sum to 1. Use a softmax over the vocabulary."),
            Mistake("not normalised", "logits.softmax(dim=-1)", "logits.exp()",
                    "The exponentials aren't divided by their sum, so they don't sum to 1."),
        ],
        also_right=[lambda hidden, table: F.linear(hidden, table).softmax(-1)],
        pytorch="`t.T` turns a matrix on its side; `t.softmax(dim=-1)` works along the last dimension.",
        hints=[
            "A token's logit is the dot product of its row of the table with the decoder's vector.",
            "hidden is (B, T, D) and table is (V, D). Which of the two has to be transposed so that the product sums over D?",
            "hidden @ table.T is (B, T, V), and the softmax runs over the last dimension.",
        ],
        look_at="With weight tying, this table is the embedding. The rows that turned tokens into vectors now turn vectors into scores for tokens.",
    ),
    Exercise(
        name="next_token_loss", title="find the bug: a loss that rewards copying",
        task="Return the mean loss of predicting each next token. `ids` (B, T + 1) begins with bos, and `decode` turns inputs (B, T) into the logits (B, T, V) of a decoder with a causal mask. Which of the two printed losses should be the low one?",
        pytorch="`ids[:, :-1]` drops the last column, `ids[:, 1:]` the first. `x.flatten(0, 1)` turns (B, T, V) into (B · T, V).",
        minutes=3, difficulty=2, importance=5,
        then="The next cell uses your loss to measure our translator.",
        reference=next_token_loss, draw=_draw_loss,
        mistakes=[
            Mistake("still as it was", "ids[:, 1:]", "ids[:, :-1]",
                    "Compare the two printed losses. A decoder that repeats its input gets the lowest loss. Which token is position t supposed to predict?"),
            Mistake("probabilities", "decode(inputs)", "decode(inputs).softmax(-1)",
                    "F.cross_entropy is given probabilities, and applies a second softmax to them. Pass it the logits."),
            Mistake("shifted the wrong way", "ids[:, :-1], ids[:, 1:]", "ids[:, 1:], ids[:, :-1]",
                    "Inputs and targets have changed places, so the model is trained to predict the token that came before."),
            Mistake("all later tokens, no bos", "ids[:, :-1], ids[:, 1:]", "ids[:, 1:], ids[:, 1:]",
                    "bos isn't given to the decoder, and input t is target t. The inputs are all tokens but the last."),
            Mistake("two tokens ahead", "ids[:, :-1], ids[:, 1:]", "ids[:, :-2], ids[:, 2:]",
                    "The target is two tokens ahead. Shift by one."),
            Mistake("only the last token", "logits.flatten(0, 1), targets.flatten()", "logits[:, -1], targets[:, -1]",
                    "Only the last position counts. One pass makes a prediction at every position, so take the mean over all of them."),
        ],
        also_right=[lambda decode, ids: F.nll_loss(decode(ids[:, :-1]).log_softmax(-1).transpose(1, 2), ids[:, 1:])],
        hints=["Look at the two printed lines. Should a decoder that only repeats its input have a low loss?",
               "At position t the decoder has read inputs up to t. Which token is it supposed to predict?",
               "targets = ids[:, 1:]"],
        look_at="The whole shift is two slices. One drops the last token, the other drops the first.",
    ),
    Exercise(
        name="greedy_decode", title="greedy decoding",
        task="Start from `[bos_id]`. Keep appending the likeliest next token, until that token is `eos_id` or you have added `max_len` tokens. Return what you added.",
        pytorch="`torch.tensor([0.1, 2.0, 0.5]).argmax()` is `tensor(1)`, the place of the largest entry; `.item()` makes it a plain 1. `break` leaves a loop.",
        minutes=6, difficulty=2, importance=5,
        then="The next cell lets your loop write with our translator.",
        reference=greedy_decode, draw=lambda generator: [
            (_model(0, 3), 1, 2, 8),
            (_model(1, 9), 1, 2, 5),
            (_model(2, 5), 1, 2, 20),
            (_model(3, 4, 2, 5), 2, 5, 9),
            (_model(4, 2, 4, 3), 4, 3, 7),
            (_model(5, 0), 1, 2, 4),
            (_model(6, 5, bos_at=3), 1, 2, 9)],
        mistakes=[
            Mistake("only bos is passed on", "step(ids)", "step([bos_id])",
                    "Every step gets [bos_id] alone. Append each token, and pass all ids so far."),
            Mistake("bos kept", "ids[1:]", "ids",
                    "The begin-of-sentence token is in the result. It's given, not generated, so leave it out."),
            Mistake("eos dropped", "            break\n", "            ids.pop()\n            break\n",
                    "The end-of-sentence token is missing. Keep it, because it says that the sentence is complete."),
            Mistake("does not stop", "if token == eos_id", "if False",
                    "The loop goes on after the end of the sentence. Leave it once eos_id has been generated."),
            Mistake("one token too many", "range(max_len)", "range(max_len + 1)",
                    "If the sentence doesn't end by itself, one token more than max_len is generated."),
            Mistake("only the last token is passed on", "step(ids)", "step(ids[-1:])",
                    "The step function gets only the last token. It needs all ids so far, beginning with bos."),
        ],
        also_right=[
            greedy_decode,
            lambda step, bos_id, eos_id, max_len: decoding.greedy(
                lambda prefix, rows: step(prefix[0].tolist())[None], 1, bos_id, eos_id, max_len
            )[0],
        ],
        hints=["Begin with ids = [bos_id], and loop at most max_len times.",
               "token = int(step(ids).argmax()); append it; leave the loop if it is eos_id.",
               "Return ids[1:]: everything but bos."],
        look_at="Every step reads the whole prefix again. Section 5 makes that affordable.",
    ),
    Exercise(
        name="top_k_filter", title="top-k",
        task="Keep the k largest logits of each row, and set the rest to −∞.",
        pytorch="`x.topk(2)` has `.values` and `.indices` of the two largest entries of each row, largest first. `x.masked_fill(mask, -math.inf)` puts −∞ where mask is True.",
        minutes=5, difficulty=2, importance=3,
        then="The next cell draws captions from the tokens that your filter keeps.",
        reference=decoding.top_k_filter, plain=_top_k, draw=lambda generator: [
            (torch.tensor([1.0, 3.0, 2.0, 0.0]), 2),
            (torch.randn(2, 6, generator=generator), 3),
            (torch.randn(2, 3, 7, generator=generator), 1),
            (torch.randn(3, 5, generator=generator) - 4, 4),
            (torch.randn(2, 4, generator=generator), 4)],  # all of them
        mistakes=[
            Mistake("a mask returned", "return", "logits >= smallest_kept", A_MASK),
            Mistake("the k largest dropped", "logits < smallest_kept", "logits >= smallest_kept",
                    "The k largest are set to −∞ and the rest is kept. It should be the other way round: compare with <."),
            Mistake("rest set to zero", "-math.inf", "0.0",
                    "The rest is set to 0. A logit of 0 still has a probability, because exp(0) is 1. Use −∞."),
            Mistake("−1e9 instead of −∞", "-math.inf", "-1e9", NOT_FINITE),
            Mistake("result sorted", "return", "result.sort(-1, descending=True).values",
                    "The result is sorted. Every logit keeps its place."),
            Mistake("only the k values returned", "return", "logits.topk(k, dim=-1).values",
                    "These are the k values, but they're no longer in their places. Keep the shape (..., V)."),
            Mistake("one threshold for all rows", "logits.topk(k, dim=-1).values[..., -1:]", "logits.topk(k, dim=-1).values.min()",
                    "All rows share one threshold. Each row has its own: the last of its k values, values[..., -1:]."),
        ],
        also_right=[
            lambda x, k: torch.full_like(x, -math.inf).scatter(-1, x.topk(k, -1).indices, x.topk(k, -1).values),
        ],
        hints=["logits.topk(k, dim=-1).values holds the k largest, in order.",
               "The last of them is the smallest that is kept: values[..., -1:].",
               "logits.masked_fill(logits < smallest_kept, -math.inf)"],
        look_at="Each row has its own limit, the k-th largest of its logits. The limit keeps a last dimension of 1, so that it can be compared with a whole row.",
    ),
    Exercise(
        name="top_p_filter", title="top-p",
        task="Keep the smallest set of likeliest tokens whose probabilities reach p, and set the rest to −∞.",
        minutes=9, difficulty=4, importance=3,
        then="The next reveal counts what your filter keeps, token by token.",
        reference=decoding.top_p_filter, plain=_top_p, draw=lambda generator: [
            (torch.tensor([0.5, 0.25, 0.15, 0.1]).log(), 0.7),
            (torch.randn(2, 6, generator=generator) * 1.5, 0.8),
            (torch.randn(3, 7, generator=generator) * 1.5, 0.5),
            (torch.randn(2, 2, 5, generator=generator) * 2, 0.9),
            # The sum reaches p exactly, because e^−1e-9 rounds to 1: the order of the logits is
            # clear, and yet each probability is 1/4.
            (torch.tensor([[0.0, -1e-9, -2e-9, -3e-9]]), 0.5)],
        mistakes=[
            Mistake("a mask returned", "return", "~dropped", A_MASK),
            Mistake("min-p", DROPPED, "logits.softmax(-1) < p * logits.softmax(-1).amax(-1, keepdim=True), -math.inf",
                    "This is min-p, where each probability is compared with the largest one. In top-p the running sum counts, likeliest first."),
            Mistake("the token that reaches p is dropped", "before >= p", "probabilities.cumsum(-1) > p",
                    "You dropped the token with which the sum reaches p, so what's left doesn't reach p. To keep that token, compare p with the total of the likelier tokens only, without the token itself."),
            Mistake("mask in sorted order", BACK, "",
                    "The mask is in sorted order, and the logits aren't. Scatter it back with the order that sort returned."),
            Mistake("threshold on each probability", DROPPED, "logits.softmax(-1) < 1 - p, -math.inf",
                    "Each token's own probability is compared with a fixed number. Use the running sum instead, likeliest first."),
            Mistake("p as a threshold", DROPPED, "logits.softmax(-1) < p, -math.inf",
                    "Each token's own probability is compared with p. Use the running sum instead, likeliest first."),
            Mistake("not put back in place", BACK, "",
                    "The result is sorted. Put every logit back in its place: scatter, with the order that sort returned.",
                    also=(("return logits", "return ordered"),)),
            Mistake("rest set to zero", "-math.inf", "0.0",
                    "The rest is set to 0, and a logit of 0 still has a probability. Use −∞."),
        ],
        also_right=[_top_p_by_rank],
        pytorch="`t.sort(dim=-1, descending=True)` returns sorted values and where they came from; `t.cumsum(dim=-1)` adds up from the left; `t.scatter(-1, indices, values)` puts sorted entries back in their places.",
        hints=[
            "ordered, order = logits.sort(dim=-1, descending=True); the softmax of ordered gives their probabilities.",
            "before = probabilities.cumsum(-1) - probabilities is the total of the likelier tokens. A token is dropped if that total is already p or more.",
            "dropped = (before >= p).scatter(-1, order, before >= p) puts the answers back into the order of the vocabulary.",
        ],
        look_at="No token is likelier than the first, so the first is always kept, even if it has more than p by itself.",
    ),
    Exercise(
        name="beam_step", title="one step of a beam search",
        task="Find the best `beam_size` continuations of all beams together. You're given log-probabilities (beams, V) and the scores of the beams so far (beams,). Return the continuations' scores, beam_index and token_id, best first.",
        minutes=9, difficulty=4, importance=3,
        then="The next cell uses your step to search for the station.",
        reference=decoding.beam_step, plain=_beam, draw=normal(
            "b v, b", (2, 4, 2), (3, 5, 3), (4, 6, 2), (4, 5, 3),
            then=lambda logits, sums, n: (logits.log_softmax(-1), -sums.abs().cumsum(0) / 2, n)),
        mistakes=[
            Mistake("token not taken apart", "flat % vocab_size", "flat",
                    "token_id is still the flat index. Take the remainder: flat % V."),
            Mistake("token, beam, scores", "return", "token_id, beam_index, scores",
                    "The three results are in another order. Return scores first, then "
                    "beam_index, then token_id."),
            Mistake("best of each beam", _beam_each,
                    "Each beam keeps its own best continuation. They should compete, so put all continuations of all beams in one list."),
            Mistake("old scores forgotten", "beam_scores[:, None] + log_probs", "log_probs",
                    "You left out the scores that the beams already had. A continuation's score is the sum along its path."),
            Mistake("beam and token exchanged", "return", "scores, token_id, beam_index",
                    "beam_index and token_id have changed places."),
        ],
        also_right=[_beam_by_sorting],
        pytorch="`a[:, None]` makes a column, so that each row gets a number of its own; `t.flatten().topk(n)` returns the n largest values and their positions; `//` and `%` turn a flat position into a row and a column.",
        hints=["totals = beam_scores[:, None] + log_probs has the shape (beams, V).",
               "totals.flatten().topk(beam_size) searches all of them together.",
               "flat index // V is the beam, flat index % V the token."],
        look_at="The course's own version counts every dimension from the end, so that it can take a whole batch of sentences.",
    ),
]
