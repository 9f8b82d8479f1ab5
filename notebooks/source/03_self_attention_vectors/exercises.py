"""Lesson 03, self-attention with vectors."""

import math

import torch

from helpers.exercises.model import Exercise, Mistake, normal


def soft_lookup(query, keys, values):
    """Mix the values by how well their keys match: (K,), (S, K), (S, D_v)."""
    scores = keys @ query
    weights = scores.softmax(dim=-1)
    return weights @ values, weights


def simple_self_attention(x):
    """Turn every word into a mixture of all words, weighted by similarity: (T, D) -> (T, D)."""
    scores = x @ x.T
    weights = scores.softmax(dim=-1)
    return weights @ x


def attend(query, keys, values):
    """Look one query up: (K,), (S, K), (S, D_v) -> context (D_v,), weights (S,)."""
    scores = keys @ query / math.sqrt(query.shape[-1])
    weights = scores.softmax(dim=-1)
    context = weights @ values
    return context, weights


def one_word(x, i, w_q, w_k, w_v):
    """Run self-attention for word i of x (T, D), projections included: -> (D_v,)."""
    query = x[i] @ w_q
    keys = x @ w_k
    values = x @ w_v
    scores = keys @ query / query.shape[-1] ** 0.5
    weights = scores.softmax(dim=-1)
    return weights @ values


def kernel_regression(x, known_x, known_y, width):
    """Estimate y at x (T,) as an average of known values (S,), near ones counting most."""
    distance = x[:, None] - known_x
    scores = -(distance**2) / (2 * width**2)
    weights = scores.softmax(dim=-1)
    return weights @ known_y


def _simple_by_loops(x):
    rows = []
    for query in x:
        powers = [torch.exp((query * key).sum()) for key in x]
        rows.append(sum(p * key for p, key in zip(powers, x, strict=True)) / sum(powers))
    return torch.stack(rows)


def _word_by_loops(x, i, w_q, w_k, w_v):
    query = w_q.T @ x[i]
    powers = [math.exp(float(query @ (w_k.T @ row)) / len(query) ** 0.5) for row in x]
    return sum(p / sum(powers) * (w_v.T @ row) for p, row in zip(powers, x, strict=True))


def _attend_by_hand(query, keys, values):
    powers = [math.exp(float((query * key).sum()) / math.sqrt(len(query))) for key in keys]
    weights = torch.tensor([power / sum(powers) for power in powers])
    return sum(w * value for w, value in zip(weights, values, strict=True)), weights


NO_SOFTMAX = "The scores mix the values as they are. A softmax must first turn them into weights that sum to 1."
WITHOUT_ROOT = "You divided by d_k, which leaves the scores far too small when keys are wide. Divide by its square root."
OTHER_SIZE = (
    "The scores are divided by the root of the wrong size. It should be √d_k, where d_k is the width of a key: how "
    "many entries it has, not how many keys there are. Take query.shape[-1]."
)
EXCHANGED = "Both are right, but in the wrong order. Return first the context, then the weights."

# fmt: off
EXERCISES = [
    Exercise(
        name="soft_lookup", title="find the bug: a soft look-up",
        task="The printed numbers can't be right. Find out what the function does wrong, and mend it.",
        minutes=4, difficulty=2, importance=5,
        reference=soft_lookup, draw=normal("k, s k, s v", (2, 3, 2), (3, 4, 3), (5, 2, 5)),
        mistakes=[
            Mistake("still as it was", "scores.softmax(dim=-1)", "scores / scores.sum()",
                    "Look at the printed numbers. What do weights have to be? And how many entries does a value have?",
                    also=(("weights @ values", "weights @ keys"),)),
            Mistake("divided by the sum", "scores.softmax(dim=-1)", "scores / scores.sum()",
                    "Dividing by the sum makes the weights add up to 1, but a negative score stays a negative weight, and the sum may be close to zero. A softmax makes them positive first."),
            Mistake("mixes the keys", "weights @ values", "weights @ keys",
                    "The weights mix the keys. A key is only there to be compared; what a word passes on is its value."),
            Mistake("absolute scores", "scores.softmax(dim=-1)", "scores.abs() / scores.abs().sum()",
                    "The weights are positive now, but a key that points away from the query gets as much weight as one that points towards it. Use a softmax."),
            Mistake("exponential without a sum", "scores.softmax(dim=-1)", "scores.exp()",
                    "The exponential makes the scores positive, but nothing makes them sum to 1 yet. Divide by their sum, or use a softmax."),
            Mistake("hard look-up", "scores.softmax(dim=-1)", "(scores == scores.max()).to(scores.dtype)",
                    "The best key gets all the weight. A soft look-up gives every key a share."),
        ],
        also_right=[
            lambda query, keys, values: (
                (lambda w: ((w[:, None] * values).sum(0), w))((keys * query).sum(-1).softmax(0))
            ),
        ],
        hints=["One of the weights is below zero, and the context is as wide as a key. Which line makes each of them?",
               "The softmax of lesson 02 turns any scores into positive weights that sum to 1.",
               "The weights say how much to take from each word. Which of keys and values is what a word passes on?"],
        pytorch="`scores.softmax(dim=-1)` turns scores into positive weights that sum to 1 along the last dimension.",
        look_at="Keys are used once, in the scores. After that only the weights and the values matter.",
    ),
    Exercise(
        name="simple_self_attention", title="self-attention without parameters",
        task="Score every word against every word, turn each row into weights, and mix the words. No scaling, nothing to learn.",
        trained=True, minutes=6, difficulty=2, importance=5,
        reference=simple_self_attention,
        draw=normal("t d", (2, 3), (4, 3), (5, 2), (3, 6), scale=0.8),
        mistakes=[
            Mistake("divided by √D", "x @ x.T", "x @ x.T / math.sqrt(x.shape[-1])",
                    "The scores are scaled. The next exercise asks for that, but this first version has no scaling."),
            Mistake("softmax over the wrong axis", "dim=-1", "dim=0",
                    "The weights sum to 1 down the columns, but word i distributes one unit of "
                    "weight over row i. Does the softmax use dim=-1? If so, you transposed the "
                    "weights (it's weights @ x, without .T), or divided by a row's sum without "
                    "keepdim=True."),
            Mistake("no softmax", ".softmax(dim=-1)", "",
                    "The raw scores mix the words. A softmax must first turn each row into weights that are positive and sum to 1."),
            Mistake("weights instead of the mixture", "return", "weights",
                    "These are the weights, (T, T). They still have to mix the words: weights @ x."),
            Mistake("entry by entry", "x @ x.T", "x * x",
                    "x * x multiplies each number by itself, so no word is ever compared with another one. A dot product of every row with every row is x @ x.T.",
                    also=(("weights @ x", "weights * x"),)),
            Mistake("each word with itself alone", "x @ x.T", "(x * x).sum(-1)",
                    "There is one score per word, its dot product with itself. Every word has to be compared with every word, (T, T) scores: x @ x.T."),
            Mistake("all words alike", "return", "x.mean(0).expand(x.shape)",
                    "Every word becomes the plain average, because the weights don't depend on the scores."),
        ],
        also_right=[
            _simple_by_loops,
            lambda x: torch.einsum("ts,sd->td", torch.einsum("td,sd->ts", x, x).softmax(1), x),
            lambda x: torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None], scale=1.0)[0],
        ],
        then="Below, your function computes a new vector of *car*.",
        hints=["Three lines: scores (T, T), weights (T, T), result (T, D).",
               "x @ x.T holds the dot product of every word with every word.",
               "weights = (x @ x.T).softmax(dim=-1), then weights @ x."],
        pytorch="`a @ b` multiplies matrices, `x.T` exchanges rows and columns, and `scores.softmax(dim=-1)` turns every row into positive weights that sum to 1.",
        look_at="x appears three times: as the queries, as the keys and as the values. In the next exercise these are three different tensors.",
    ),
    Exercise(
        name="attend", title="one query, steps 2 to 6",
        task="Look one query up among keys and values: score, divide by √d_k, softmax, weight, sum. Return the context and the weights.",
        minutes=8, difficulty=2, importance=5,
        reference=attend, draw=normal("k, s k, s v", (3, 2, 2), (3, 4, 3), (8, 5, 2)),
        mistakes=[
            Mistake("no scaling", " / math.sqrt(query.shape[-1])", "",
                    "The scores aren't divided by √d_k. Divide by math.sqrt(query.shape[-1]) before the softmax."),
            Mistake("divided by d_k", "math.sqrt(query.shape[-1])", "query.shape[-1]", WITHOUT_ROOT),
            Mistake("root of the number of keys", "query.shape[-1]", "len(keys)", OTHER_SIZE),
            Mistake("keys instead of values", "weights @ values", "weights @ keys",
                    "The weights mix the keys. But keys are only for matching, and the values are what's mixed: weights @ values."),
            Mistake("no softmax", ".softmax(dim=-1)", "", NO_SOFTMAX),
            Mistake("values not summed", "weights @ values", "weights[:, None] * values",
                    "The values are weighted but not added up, which is the last of the six steps. weights @ values does both."),
            Mistake("results exchanged", "return", "weights, context", EXCHANGED),
        ],
        also_right=[
            _attend_by_hand,
            lambda q, k, v: (
                torch.einsum("s,sd->d", (k * q).sum(1).div(len(q) ** 0.5).softmax(0), v),
                (k * q).sum(1).div(len(q) ** 0.5).softmax(0),
            ),
        ],
        then="The next cell moves *car* with it.",
        hints=["One score per key: keys @ query has shape (S,).",
               "Divide by math.sqrt(query.shape[-1]), then .softmax(dim=-1): these are the weights.",
               "weights @ values is the weighted sum; return it and the weights."],
        pytorch="`keys @ query` with shapes (S, K) and (K,) has shape (S,). `math.sqrt(query.shape[-1])` is the root of the last dimension. `weights @ values` with shapes (S,) and (S, D_v) has shape (D_v,).",
        look_at="keys @ query is a matrix times a vector, which computes all scores at once, without a loop. In lesson 04 the query becomes a matrix too.",
    ),
    Exercise(
        name="one_word", title="all six steps for one word",
        task="Word i attends to its whole sentence. Project to one query, and to keys and values for every word. Then go on as in attend, and return the context.",
        minutes=6, difficulty=3, importance=5,
        reference=one_word, draw=normal(
            "t d, d k, d k, d v", (2, 2, 2, 2, 1), (4, 3, 3, 3, 0), (5, 4, 3, 2, 2), (3, 4, 5, 4, 1),
            scale=0.7, then=lambda x, w_q, w_k, w_v, i: (x, i, w_q, w_k, w_v)),
        mistakes=[
            Mistake("only its own key and value", "return", "x[i] @ w_v",
                    "Word i attends to itself alone. Keys and values come from all rows of x."),
            Mistake("root of the number of keys", "query.shape[-1]", "len(keys)", OTHER_SIZE),
            Mistake("root of d_model", "query.shape[-1]", "x.shape[-1]", OTHER_SIZE),
            Mistake("earlier words only", "x @ w_k", "x[: i + 1] @ w_k",
                    "Word i attends only to the words up to i. Nothing is hidden here: keys and values come from all rows of x.", also=(("x @ w_v", "x[: i + 1] @ w_v"),)),
            Mistake("no scaling", " / query.shape[-1] ** 0.5", "",
                    "The scores aren't divided by the square root of the query's width."),
            Mistake("keys instead of values", "weights @ values", "weights @ keys",
                    "The weights multiply the keys. But keys are only for matching, and the values are what's mixed: x @ w_v."),
            Mistake("values not projected", "weights @ values", "weights @ x",
                    "The weights multiply the words themselves. Project them first: the values are x @ w_v."),
            Mistake("every word", "x[i] @ w_q", "x @ w_q",
                    "These are the contexts of all words. The exercise asks only for the context of word i, whose query is x[i] @ w_q.",
                    also=(("keys @ query", "query @ keys.T"),)),
            Mistake("weights instead of the context", "return", "weights",
                    "These are the weights. One product is missing: weights @ values."),
        ],
        also_right=[
            _word_by_loops,
            lambda x, i, q, k, v: torch.nn.functional.scaled_dot_product_attention(
                (x @ q)[None, i : i + 1], (x @ k)[None], (x @ v)[None]
            )[0, 0],
        ],
        hints=["query = x[i] @ w_q has K numbers. Keys and values are computed for every word at once.",
               "keys @ query / query.shape[-1] ** 0.5 holds one score per word. Apply the softmax, then mix the values.",
               "((x @ w_k) @ (x[i] @ w_q) / w_q.shape[1] ** 0.5).softmax(dim=-1) @ (x @ w_v)"],
        pytorch="`x[i]` is row i, a vector; `x[i] @ w_q` with shapes (D,) and (D, K) has shape (K,).",
        look_at="Only the query depends on i. Keys and values are the same for every query, so lesson 04 computes them once for the whole sentence.",
    ),
    Exercise(
        name="kernel_regression", title="attention as kernel regression",
        task="At each x, average the known y. The weight of a known point is exp(−distance² / (2 · width²)), divided by the sum of these numbers over all known points.",
        minutes=7, difficulty=3, importance=2,
        reference=kernel_regression,
        draw=normal("t, s, s", (2, 3, 0.8), (3, 3, 1.5), (5, 4, 0.6)),
        mistakes=[
            Mistake("over the wrong axis", "dim=-1", "dim=0",
                    "The softmax runs over the points to be estimated. The weights have to sum to 1 over the known points: dim=-1."),
            Mistake("width not squared", "width**2", "width",
                    "The distance is squared and the width isn't, so their units differ. Square the width too: 2 * width**2."),
            Mistake("brackets forgotten", "(2 * width**2)", "2 * width**2",
                    "Without brackets Python divides by 2 and then multiplies by width². Write / (2 * width**2)."),
            Mistake("factor 2 forgotten", "(2 * width**2)", "width**2",
                    "The 2 in 2 · width² is missing."),
            Mistake("far points count most", "-(distance", "(distance",
                    "The minus sign is missing, so the most distant points get the most weight."),
            Mistake("nearest point only", "return", "known_y[distance.abs().argmin(1)]",
                    "Only the nearest point counts. That's the limit of a very small width."),
        ],
        also_right=[
            lambda x, kx, ky, w: (lambda p: (p * ky).sum(1) / p.sum(1))(torch.exp(-0.5 * ((x[:, None] - kx[None]) / w) ** 2)),
            lambda x, kx, ky, w: torch.stack([(-0.5 * ((one - kx) / w) ** 2).softmax(0).dot(ky) for one in x]),
        ],
        hints=["x[:, None] - known_x holds every difference: one row per x, one column per known point.",
               "exp divided by the sum of exp is a softmax. What is it a softmax of?",
               "(-(x[:, None] - known_x) ** 2 / (2 * width**2)).softmax(dim=-1) @ known_y"],
        pytorch="`x[:, None] - known_x` with shapes (T, 1) and (S,) is every difference, (T, S).",
        look_at="Queries are the x, keys the known x, values the known y. Only the score differs: it's based on a distance instead of a dot product. The width is a temperature.",
    ),
]
