"""Lesson 04, self-attention with matrices."""

import math

import torch

from helpers.exercises.model import Exercise, Mistake, normal
from helpers.transformer import attention, masks


def scaled_scores(query, key):
    """Compare every query with every key: (..., T, K), (..., S, K) -> (..., T, S)."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores


def suspiciously_good(query, key, value):
    """Mix the values of earlier words and of the word itself: (T, K), (T, K), (T, D_v)."""
    scores = query @ key.T / math.sqrt(query.shape[-1])
    allowed = torch.ones_like(scores).tril().bool()
    weights = scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)
    return weights @ value, weights


# The solutions as a learner would write them; known mistakes are edits of these texts.


def _attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    context = weights @ value
    return context, weights


def _causal(length):
    return torch.ones(length, length).tril().bool()


def _padding(token_ids, pad_id):
    allowed = token_ids != pad_id
    return allowed[:, None, None, :]


PADDED = torch.tensor([[True, True, True, False], [True, False, False, False]])[:, None]


def _einsum(query, key, value, mask=None):
    scores = torch.einsum("...tk,...sk->...ts", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = scores + torch.where(mask, 0.0, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


def _scores_kept(query, key, value, mask=None):
    """Neither softmax nor mask."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores @ value, scores


ROOT = "/ math.sqrt(query.shape[-1])"
# fmt: off
SCALES = [
    Mistake("no scaling", ROOT, "",
            "The scores aren't divided by √d_k, so they grow with the width and the "
            "softmax saturates. Divide by math.sqrt(query.shape[-1])."),
    Mistake("divided by √3 always", ROOT, "/ math.sqrt(3)",
            "√3 belongs to the example in section 1. Take the width from the tensor: "
            "math.sqrt(query.shape[-1])."),
    Mistake("divided by the width", ROOT, "/ query.shape[-1]",
            "You divided by d_k, which leaves the scores far too small when keys are wide. The variance of q · k is d_k, so its typical size is √d_k. Divide by that."),
    *(Mistake(f"root of the number of {what}", ROOT, f"/ math.sqrt({size})",
            "The scores are divided by the root of the wrong size. It should be √d_k, "
            "where d_k is the width of a key: how many entries it has, not how many keys "
            "or queries there are. Take query.shape[-1].")
      for what, size in (("keys", "key.shape[-2]"), ("queries", "query.shape[-2]"), ("rows of key", "len(key)"), ("rows of query", "len(query)"))),
]

EXERCISES = [
    Exercise(
        name="scaled_scores", title="scaled scores",
        task="Compare every query with every key by a dot product, and divide by √d_k. The dots in (..., T, K) stand for any leading dimensions, so swap only the last two.",
        pytorch="`torch.zeros(2, 3, 4).transpose(-2, -1)` swaps the last two dimensions: (2, 4, 3). `x.T` would reverse all of them. `x.shape[-1]` is the size of the last dimension.",
        then="Section 2 mends model B with it.", trained=True,
        minutes=3, difficulty=2, importance=5,
        reference=scaled_scores, draw=normal("… t k, … s k", ((), 2, 3, 4), (2, 3, 8, 5), ((1, 2), 4, 5, 4)),
        mistakes=[
            *SCALES,
            Mistake("transposed", "query @ key.transpose(-2, -1)", "key @ query.transpose(-2, -1)",
                    "This is K Qᵀ, with one row per key. The rows must be queries: Q Kᵀ."),
            Mistake("softmax too early", "return", "scores.softmax(-1)",
                    "These are already weights. The exercise asks for the scores, before the softmax."),
        ],
        also_right=[
            lambda q, k: torch.einsum("...tk,...sk->...ts", q, k) / q.shape[-1] ** 0.5,
            lambda q, k: (
                torch.stack([(k * row[..., None, :]).sum(-1) for row in q.unbind(-2)], -2)
                / math.sqrt(k.shape[-1])
            ),
        ],
        hints=["A matrix product holds the dot products of all rows with all columns. Which of the two matrices has to be transposed?",
               "key.transpose(-2, -1) swaps the last two dimensions and leaves batch dimensions alone.",
               "query @ key.transpose(-2, -1), divided by math.sqrt(query.shape[-1])."],
        look_at="The dimensions are counted from the end, so the same line works for one sentence, for a batch, and for a batch of heads.",
    ),
    Exercise(
        name="suspiciously_good", title="find the bug: suspiciously good",
        task="Every word is supposed to attend to itself and to earlier words only. There are two mistakes, and the printed weights show both. Find them and fix them.",
        minutes=4, difficulty=3, importance=5,
        reference=suspiciously_good, draw=normal("t k, t k, t v", (3, 2, 4), (4, 8, 5), (6, 3, 2)),
        mistakes=[
            Mistake("still as it was", ".tril()", ".triu()",
                    "Compare the printed weights with the task. To which words is each word allowed to give weight? And what should each row sum to?",
                    also=(("scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)", "scores.softmax(dim=-1) * allowed"),)),
            Mistake("looks at the future", ".tril()", ".triu()",
                    "triu() keeps the upper triangle, so every word attends to itself and to *later* words. The lower triangle, tril(), holds the earlier ones."),
            Mistake("mask after the softmax",
                    "scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)", "scores.softmax(dim=-1) * allowed",
                    "The forbidden weights are set to zero after the softmax, so the forbidden scores are still in the denominator and the rows don't sum to 1. Set the scores to −∞ before the softmax."),
            Mistake("mask inverted", "~allowed", "allowed",
                    "The allowed scores became −∞ and the forbidden ones were kept. masked_fill fills where its mask is True, so it needs ~allowed."),
            Mistake("scores set to zero", "-math.inf", "0.0",
                    "A forbidden score of 0 still gets a weight, because e⁰ = 1. It has to be −∞."),
            Mistake("renormalised afterwards",
                    "scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)", "(scores.softmax(dim=-1) * allowed).softmax(dim=-1)",
                    "A second softmax makes the rows sum to 1 again, but it also turns every zero into a weight. One softmax is enough, if the forbidden scores are −∞ before it."),
        ],
        also_right=[
            lambda query, key, value: attention.scaled_dot_product_attention(
                query, key, value, masks.causal_mask(len(query))
            ),
        ],
        hints=["In the printed weights, which words does the first word attend to? And what does each row sum to?",
               "tril() keeps the lower triangle of a matrix, triu() the upper one.",
               "scores.masked_fill(~allowed, -math.inf) has to come before the softmax."],
        look_at="The mask appears once, before the softmax. After the softmax, nothing needs to be corrected.",
    ),
    Exercise(
        name="scaled_dot_product_attention", title="scaled dot-product attention",
        task="Return the context and the weights. If there is a mask, it's True where a query is allowed to attend. Every query here is allowed to attend to at least one key.",
        pytorch="`torch.tensor([1., 2.]).masked_fill(torch.tensor([False, True]), -math.inf)` is a new tensor, [1., -inf]. `return a, b` returns two results.",
        then="The next cell puts it into every layer of the translator.",
        trained=True, minutes=9, difficulty=3, importance=5,
        reference=attention.scaled_dot_product_attention, plain=_attention,
        draw=normal(  # queries, keys, values and masks; T, S and K all differ
            "… t k, … s k, … s d", ((), 2, 3, 4, 5), (2, 3, 8, 4, 5, PADDED),
            ((2, 2), 4, 6, 4, 6, masks.causal_mask(4)), (1, 5, 4, 3, 2)),
        mistakes=[
            *SCALES,
            Mistake("softmax over the wrong axis", "softmax(-1)", "softmax(-2)",
                    "The softmax runs along the wrong dimension. Each query distributes one unit "
                    "of weight over the keys, so every row must sum to 1: use dim=-1, the "
                    "dimension of the keys."),
            Mistake("mask ignored", "if mask is not None", "if False",
                    "The mask has no effect. Where it is False, set the score to −∞ before the softmax. masked_fill returns a new tensor, so assign it: scores = scores.masked_fill(...)."),
            Mistake("scores set to zero", "-math.inf", "0.0",
                    "A hidden score of 0 still gets a weight, because e⁰ = 1. Any other number gets one as well, so a hidden score has to be −∞."),
            Mistake("mask inverted", "~mask", "mask",
                    "The mask is used the wrong way round. True means allowed to attend, and scores.masked_fill(~mask, -math.inf) fills where it is False."),
            Mistake("weights set to zero afterwards", "    weights = scores.softmax(-1)\n", "",
                    "The weights are masked after the softmax, so the rows no longer sum to 1, because the hidden scores still count in the denominator. Set the scores to −∞ before it.", also=( ("    if mask", "    weights = scores.softmax(-1)\n    if mask"), ("scores = scores.masked_fill", "weights = weights.masked_fill"), ("-math.inf", "0.0"), )),
            Mistake("no softmax", _scores_kept,
                    "The scores multiply the values as they are. A softmax must first turn them into weights that are positive and sum to 1."),
        ],
        also_right=[_einsum],
        hints=["There are three steps: scores, weights, context. You've already written the first.",
               "If there is a mask, it goes between scores and softmax: scores.masked_fill(~mask, -math.inf).",
               "weights = scores.softmax(dim=-1); context = weights @ value; return both."],
        look_at="The course's helper passes the mask to masked_softmax, which also takes care of rows that aren't allowed to attend to anything.",
    ),
    Exercise(
        name="causal_mask", title="causal mask",
        task="Return a (length, length) boolean matrix whose row t is True up to and including column t.",
        pytorch="`torch.ones(2, 2).tril()` keeps the lower triangle: [[1, 0], [1, 1]]. `.bool()` turns 1 into True and 0 into False.",
        then="The next cell tries to hide the future with it, and section 3's last cell puts it into the translator.",
        minutes=3, difficulty=1, importance=5,
        reference=masks.causal_mask, plain=_causal, draw=lambda generator: [(2,), (3,), (5,)],
        mistakes=[
            Mistake("future instead of past", "tril()", "triu()",
                    "Every position attends to itself and to the future. Keep the lower triangle."),
            Mistake("inverted", "tril()", "triu(1)",
                    "True marks the future, as nn.MultiheadAttention expects it. Here True means allowed to attend."),
            Mistake("diagonal hidden", "tril()", "tril(-1)",
                    "The diagonal is missing. A position is allowed to attend to itself; otherwise the first one could attend to nothing at all."),
            Mistake("one step into the future", "tril()", "tril(1)",
                    "Every position sees one step too far, so it can read the very word that it should predict."),
            Mistake("only itself", "return", "torch.eye(length).bool()",
                    "A position attends to itself and to nothing before it. The whole lower triangle is allowed."),
        ],
        also_right=[lambda n: torch.arange(n)[None, :] <= torch.arange(n)[:, None]],
        hints=["Write the matrix for length 3 on paper. The rows are queries.",
               "torch.tril keeps the lower triangle of a matrix, diagonal included.",
               "torch.ones(length, length, dtype=torch.bool).tril()"],
        look_at="The dtype is boolean from the start, because the course's attention refuses a matrix of ones and zeros.",
    ),
    Exercise(
        name="padding_mask", title="padding mask",
        task="Turn ids (B, S) into a (B, 1, 1, S) boolean mask that is True where there is a token.",
        pytorch="`torch.tensor([5, 0]) != 0` compares entry by entry: [True, False]. `x[:, None]` inserts a dimension of size 1 after the first: (2, 3) becomes (2, 1, 3).",
        then="Run section 3's translator again, and it will use your mask.",
        minutes=3, difficulty=2, importance=4,
        reference=masks.padding_mask, plain=_padding,
        draw=lambda generator: [
            (torch.tensor([[5, 7, 0], [4, 0, 0]]), 0),
            (torch.tensor([[1, 2, 9, 9], [3, 0, 4, 9]]), 9),
            (torch.tensor([[3, 8, 6, 3, 3], [2, 2, 3, 3, 3]]), 3),
        ],
        mistakes=[
            Mistake("inverted", "!=", "==",
                    "True marks the padding. Here True means allowed to attend, so use !=."),
            Mistake("no axes for heads and queries", "[:, None, None, :]", "",
                    "The shape is (B, S). Attention scores are (B, H, T, S), so insert two dimensions of size 1 with [:, None, None, :]."),
            Mistake("one axis only", "[:, None, None, :]", "[:, None]",
                    "The shape is (B, 1, S). Heads add one more dimension: (B, 1, 1, S)."),
            Mistake("queries instead of keys", "[:, None, None, :]", "[:, None, :, None]",
                    "The shape is (B, 1, S, 1), which hides queries. Keys are the last dimension."),
            Mistake("axes in front", "[:, None, None, :]", "[None, None]",
                    "The batch must stay first and the keys last. The two new dimensions go in "
                    "between: [:, None, None, :]."),
            Mistake("pad id taken to be 0", "pad_id\n", "0\n",
                    "The ids are compared with 0, and padding isn't 0 everywhere. The argument pad_id says what it is."),
        ],
        also_right=[lambda ids, pad: ids.ne(pad).unsqueeze(1).unsqueeze(1)],
        hints=["Compare the ids with pad_id, and you have a boolean tensor of shape (B, S).",
               "x[:, None] inserts a dimension of size 1 after the first.",
               "(token_ids != pad_id)[:, None, None, :]"],
        look_at="The dimensions of size 1 cost no memory, because broadcasting repeats them for every head and every query.",
    ),
]
