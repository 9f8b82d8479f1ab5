"""Lesson 04, self-attention with matrices."""

import math

import torch

from helpers import attention, masks
from helpers.exercises.model import Exercise, Mistake


def scaled_scores(query, key):
    """Compare every query with every key: (..., T, K), (..., S, K) -> (..., T, S)."""
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


def draw_attention(generator):
    """Queries, keys, values and masks of several shapes; T, S and K all differ."""

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    padded = torch.tensor([[True, True, True, False], [True, False, False, False]])[:, None]
    return [
        (normal(2, 3), normal(4, 3), normal(4, 5)),
        (normal(2, 3, 8), normal(2, 4, 8), normal(2, 4, 5), padded),
        (normal(2, 2, 4, 6), normal(2, 2, 4, 6), normal(2, 2, 4, 6), masks.causal_mask(4)),
    ]


def draw_scores(generator):
    """Queries and keys; T, S and K all differ, so that nothing fits by accident."""
    return [
        (torch.randn(2, 3, generator=generator), torch.randn(4, 3, generator=generator)),
        (torch.randn(2, 3, 8, generator=generator), torch.randn(2, 5, 8, generator=generator)),
    ]


def _attention(scale=True, axis=-1, mix="values", polarity=True, mask_as="-inf", order="qk"):
    """Make an attention that goes wrong in the ways asked for."""

    def attend(query, key, value, mask=None):
        width = query.shape[-1]
        scores = query @ key.transpose(-2, -1)
        if scale is True:
            scores = scores / math.sqrt(width)
        elif scale == "width":
            scores = scores / width
        elif scale == "three":
            scores = scores / math.sqrt(3)
        elif scale == "times":
            scores = scores * math.sqrt(width)
        elif scale == "queries":
            scores = scores / math.sqrt(query.shape[-2])
        elif scale == "keys":
            scores = scores / math.sqrt(key.shape[-2])
        if mask is not None and not polarity:
            mask = ~mask
        if mask is not None and mask_as == "-inf":
            scores = scores.masked_fill(~mask, -math.inf)
        if mask is not None and mask_as == "zero score":
            scores = scores.masked_fill(~mask, 0.0)
        weights = scores if axis is None else scores.softmax(axis)
        if mask is not None and mask_as == "zero weight":
            weights = weights * mask
        if mask is not None and mask_as == "-inf weight":
            weights = weights.masked_fill(~mask, -math.inf)
        mixed = {"values": value, "keys": key}[mix]
        return weights @ mixed, weights

    return attend


def _einsum(query, key, value, mask=None):
    scores = torch.einsum("...tk,...sk->...ts", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = scores + torch.where(mask, 0.0, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


def _by_exp(query, key, value, mask=None):
    scores = (query / math.sqrt(query.shape[-1])).matmul(key.mT)
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    if mask is not None:
        powers = powers * mask
    weights = powers / powers.sum(-1, keepdim=True)
    return weights.matmul(value), weights


def _loop_mask(length):
    return torch.tensor([[column <= row for column in range(length)] for row in range(length)])


NO_SCALING = (
    "The scores are not divided by √d_k. Without that they grow with the width and the softmax "
    "saturates. Divide by math.sqrt(query.shape[-1])."
)
WRONG_AXIS = (
    "The softmax runs over the queries. Each query shares out one unit of weight among the keys, "
    "so every row must sum to 1: use dim=-1, the axis of the keys."
)

EXERCISES = [
    Exercise(
        name="scaled_scores",
        title="scaled scores",
        task="Compare every query with every key by a dot product, and divide by √d_k. The dots in (..., T, K) stand for any axes in front: swap only the last two, with key.transpose(-2, -1); .T would turn all of them.",
        minutes=4,
        difficulty=2,
        importance=5,
        reference=scaled_scores,
        draw=draw_scores,
        mistakes=[
            Mistake("no scaling", lambda q, k: q @ k.transpose(-2, -1), NO_SCALING),
            Mistake(
                "divided by √3 always",
                lambda q, k: q @ k.transpose(-2, -1) / math.sqrt(3),
                "√3 belongs to the example of section 1. Take the width from the tensor: math.sqrt(query.shape[-1]).",
            ),
            Mistake(
                "scaled by the number of queries",
                lambda q, k: q @ k.transpose(-2, -1) / math.sqrt(q.shape[-2]),
                "The scores are divided by the square root of the number of queries. It is the width that counts: query.shape[-1].",
            ),
            Mistake(
                "divided by the width",
                lambda q, k: q @ k.transpose(-2, -1) / q.shape[-1],
                "The scores are divided by d_k, not by its square root. Their variance is d_k, so "
                "their usual size is √d_k.",
            ),
            Mistake(
                "transposed",
                lambda q, k: k @ q.transpose(-2, -1) / math.sqrt(q.shape[-1]),
                "This is K Qᵀ: rows are keys. Rows must be queries: Q Kᵀ.",
            ),
            Mistake(
                "scaled by the number of keys",
                lambda q, k: q @ k.transpose(-2, -1) / math.sqrt(k.shape[-2]),
                "The scores are divided by the square root of the number of keys. It is the width "
                "of a key that counts, the last axis.",
            ),
            Mistake(
                "multiplied",
                lambda q, k: q @ k.transpose(-2, -1) * math.sqrt(q.shape[-1]),
                "The scores are multiplied by √d_k. Divide, to make them smaller.",
            ),
            Mistake(
                "softmax too early",
                lambda q, k: (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1),
                "These are weights already. The exercise asks for the scores, before the softmax.",
            ),
            Mistake("no scaling + transposed", lambda q, k: k @ q.transpose(-2, -1)),
            Mistake(
                "no scaling + softmax too early", lambda q, k: (q @ k.transpose(-2, -1)).softmax(-1)
            ),
        ],
        also_right=[
            lambda q, k: torch.einsum("...tk,...sk->...ts", q, k) / q.shape[-1] ** 0.5,
            lambda q, k: (
                torch.stack([(k * row[..., None, :]).sum(-1) for row in q.unbind(-2)], -2)
                / math.sqrt(k.shape[-1])
            ),
        ],
        hints=[
            "A product of matrices holds all dot products of rows with columns. Which of the two "
            "has to be transposed?",
            "key.transpose(-2, -1) swaps the last two axes and leaves batch axes alone.",
            "query @ key.transpose(-2, -1), divided by math.sqrt(query.shape[-1]).",
        ],
        look_at="The axes are counted from the end, so the same line works for one sentence, for a "
        "batch, and for a batch of heads.",
    ),
    Exercise(
        name="scaled_dot_product_attention",
        title="scaled dot-product attention",
        task="Return the context and the weights. The mask, if there is one, is True where a query "
        "may look; here every query may look at something.",
        minutes=10,
        difficulty=3,
        importance=5,
        reference=attention.scaled_dot_product_attention,
        draw=draw_attention,
        mistakes=[
            Mistake("no scaling", _attention(scale=False), NO_SCALING),
            Mistake("softmax over the wrong axis", _attention(axis=-2), WRONG_AXIS),
            Mistake("softmax over the first axis", _attention(axis=0), WRONG_AXIS),
            Mistake("softmax over axis 1", _attention(axis=1), WRONG_AXIS),
            Mistake(
                "divided by √3 always",
                _attention(scale="three"),
                "√3 belongs to the example of section 1. Take the width from the tensor: math.sqrt(query.shape[-1]).",
            ),
            Mistake(
                "−∞ after the softmax",
                _attention(mask_as="-inf weight"),
                "−∞ is put on the weights. It belongs on the scores, before the softmax.",
            ),
            Mistake(
                "divided by the width",
                _attention(scale="width"),
                "The scores are divided by d_k, not by its square root.",
            ),
            Mistake(
                "mask ignored",
                lambda q, k, v, mask=None: _attention()(q, k, v),
                "The mask has no effect. Where it is False, set the score to −∞ before the softmax.",
            ),
            Mistake(
                "mask inverted",
                _attention(polarity=False),
                "The mask is used the wrong way round: True means may look. "
                "scores.masked_fill(~mask, -math.inf) fills where it is False.",
            ),
            Mistake(
                "weights set to zero afterwards",
                _attention(mask_as="zero weight"),
                "The weights are masked after the softmax, so the rows no longer sum to 1, and the "
                "hidden scores still count in the denominator. Set scores to −∞ before it.",
            ),
            Mistake(
                "masked scores set to zero",
                _attention(mask_as="zero score"),
                "A score of 0 is not no weight: exp(0) is 1. Use −∞, whose exp is 0.",
            ),
            Mistake(
                "no softmax",
                _attention(axis=None, mask_as="none"),
                "The scores go to the values as they are. A softmax must turn them into weights "
                "that are positive and sum to 1.",
            ),
            Mistake(
                "no softmax, −∞ kept",
                _attention(axis=None),
                "Scores come back in place of weights, −∞ among them. A softmax must turn them into weights that are positive and sum to 1.",
            ),
            Mistake(
                "scaled after the softmax",
                lambda q, k, v, mask=None: tuple(
                    part / math.sqrt(q.shape[-1]) for part in _attention(scale=False)(q, k, v, mask)
                ),
                "The division comes after the softmax: the weights no longer sum to 1, and the softmax has been saturated already. Divide the scores.",
            ),
            Mistake(
                "multiplied",
                _attention(scale="times"),
                "The scores are multiplied by √d_k. Divide, to make them smaller.",
            ),
            Mistake(
                "scaled by the number of queries",
                _attention(scale="queries"),
                "The scores are divided by the square root of the number of queries. It is the width that counts: query.shape[-1].",
            ),
            Mistake(
                "scaled by the number of keys",
                _attention(scale="keys"),
                "The scores are divided by the square root of the number of keys. It is the width of a key that counts, the last axis.",
            ),
            Mistake("no scaling + softmax over the wrong axis", _attention(scale=False, axis=-2)),
            Mistake(
                "no scaling + mask ignored",
                lambda q, k, v, mask=None: _attention(scale=False)(q, k, v),
            ),
            Mistake("no scaling + mask inverted", _attention(scale=False, polarity=False)),
            Mistake(
                "no scaling + weights set to zero afterwards",
                _attention(scale=False, mask_as="zero weight"),
            ),
        ],
        also_right=[_einsum, _by_exp],
        hints=[
            "Three steps: scores, weights, context. You have written the first one already.",
            "Between scores and softmax, the mask: scores.masked_fill(~mask, -math.inf). Only if "
            "there is one.",
            "weights = scores.softmax(dim=-1); context = weights @ value; return both.",
        ],
        look_at="The helper of the course hands the mask to masked_softmax, which also looks after "
        "rows that may look at nothing.",
    ),
    Exercise(
        name="causal_mask",
        title="causal mask",
        task="Return a (length, length) boolean matrix: row t is True up to and including column t.",
        minutes=4,
        difficulty=1,
        importance=5,
        reference=masks.causal_mask,
        draw=lambda generator: [(2,), (3,), (5,)],
        mistakes=[
            Mistake(
                "future instead of past",
                lambda n: torch.ones(n, n).triu().bool(),
                "This lets a position see itself and the future. Keep the lower triangle.",
            ),
            Mistake(
                "inverted",
                lambda n: torch.ones(n, n).triu(1).bool(),
                "True is where the future is: this is the mask that nn.MultiheadAttention wants. "
                "Here True means may look.",
            ),
            Mistake(
                "may not see itself",
                lambda n: torch.ones(n, n).tril(-1).bool(),
                "The diagonal is missing. A position may look at itself, or the first one could "
                "look at nothing at all.",
            ),
            Mistake(
                "one step into the future",
                lambda n: torch.ones(n, n).tril(1).bool(),
                "Every position sees one step too far. With this the next word is no secret.",
            ),
            Mistake(
                "everything allowed",
                lambda n: torch.ones(n, n).bool(),
                "Nothing is hidden. Keep the lower triangle: tensor.tril().",
            ),
            Mistake(
                "only itself",
                lambda n: torch.eye(n).bool(),
                "A position sees itself and nothing before it. The whole lower triangle is allowed.",
            ),
        ],
        also_right=[
            _loop_mask,
            lambda n: torch.arange(n)[None, :] <= torch.arange(n)[:, None],
        ],
        hints=[
            "Write the matrix for length 3 on paper. Rows are queries.",
            "torch.tril keeps the lower triangle of a matrix, the diagonal included.",
            "torch.ones(length, length, dtype=torch.bool).tril()",
        ],
        look_at="The dtype is boolean from the start; a matrix of ones and zeros would be refused by "
        "the attention.",
    ),
    Exercise(
        name="padding_mask",
        title="padding mask",
        task="From ids (B, S) make a (B, 1, 1, S) boolean mask that is True where there is a token.",
        minutes=4,
        difficulty=2,
        importance=4,
        reference=masks.padding_mask,
        draw=lambda generator: [
            (torch.tensor([[5, 7, 0], [4, 0, 0]]), 0),
            (torch.tensor([[1, 2, 9, 9], [3, 0, 4, 9]]), 9),
        ],
        mistakes=[
            Mistake(
                "inverted",
                lambda ids, pad: (ids == pad)[:, None, None, :],
                "True is where the padding is. Here True means may look, so use !=.",
            ),
            Mistake(
                "no axes for heads and queries",
                lambda ids, pad: ids != pad,
                "The shape is (B, S). Attention scores are (B, H, T, S): add two axes of size 1 "
                "between, with [:, None, None, :].",
            ),
            Mistake(
                "one axis only",
                lambda ids, pad: (ids != pad)[:, None, :],
                "The shape is (B, 1, S). With heads there is one axis more: (B, 1, 1, S).",
            ),
            Mistake(
                "queries instead of keys",
                lambda ids, pad: (ids != pad)[:, None, :, None],
                "The shape is (B, 1, S, 1): that hides queries. Keys are the last axis.",
            ),
            Mistake(
                "axes in front",
                lambda ids, pad: (ids != pad)[None, None],
                "The batch must stay first and the keys last: the two new axes go between, [:, None, None, :].",
            ),
            Mistake(
                "axes behind",
                lambda ids, pad: (ids != pad)[:, :, None, None],
                "The batch must stay first and the keys last: the two new axes go between, [:, None, None, :].",
            ),
            Mistake(
                "pad id taken to be 0",
                lambda ids, pad: (ids != 0)[:, None, None, :],
                "The ids are compared with 0 and not with pad_id, which may be another number.",
            ),
            Mistake("inverted + no axes for heads and queries", lambda ids, pad: ids == pad),
        ],
        also_right=[
            lambda ids, pad: ids.ne(pad).unsqueeze(1).unsqueeze(1),
            lambda ids, pad: torch.logical_not(ids == pad).view(ids.shape[0], 1, 1, ids.shape[1]),
        ],
        hints=[
            "Compare the ids with pad_id: that gives a boolean tensor of shape (B, S).",
            "x[:, None] adds an axis of size 1 after the first.",
            "(token_ids != pad_id)[:, None, None, :]",
        ],
        look_at="The axes of size 1 cost no memory; broadcasting repeats them for every head and "
        "every query.",
    ),
]
