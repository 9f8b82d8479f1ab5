"""Lesson 03, self-attention with vectors."""

import math

import torch

from helpers.exercises.model import Exercise, Mistake


def simple_self_attention(x):
    """Let every word become a mixture of all words, by how alike they are.

    Parameters
    ----------
    x : Tensor of shape (T, D)

    Returns
    -------
    y : Tensor of shape (T, D)
    """
    weights = (x @ x.T).softmax(dim=-1)
    return weights @ x


def attend(query, keys, values):
    """Look something up softly: score every key, turn scores into weights, mix the values.

    Parameters
    ----------
    query : Tensor of shape (K,)
    keys : Tensor of shape (S, K)
    values : Tensor of shape (S, D_v)

    Returns
    -------
    context : Tensor of shape (D_v,)
    weights : Tensor of shape (S,)
        They sum to 1.
    """
    scores = keys @ query / math.sqrt(query.shape[-1])
    weights = scores.softmax(dim=-1)
    return weights @ values, weights


def one_word(x, i, w_q, w_k, w_v):
    """Run self-attention for one word of a sentence, projections included.

    Parameters
    ----------
    x : Tensor of shape (T, D)
        A row for each word.
    i : int
        Which word looks.
    w_q, w_k : Tensor of shape (D, K)
    w_v : Tensor of shape (D, D_v)

    Returns
    -------
    context : Tensor of shape (D_v,)
    """
    query, keys, values = x[i] @ w_q, x @ w_k, x @ w_v
    weights = (keys @ query / query.shape[-1] ** 0.5).softmax(dim=-1)
    return weights @ values


def kernel_regression(x, known_x, known_y, width):
    """Estimate y at x as an average of known values, near ones counting most.

    Parameters
    ----------
    x : Tensor of shape (T,)
        Where to estimate.
    known_x, known_y : Tensor of shape (S,)
    width : float
        Of the Gaussian kernel.

    Returns
    -------
    y : Tensor of shape (T,)
    """
    scores = -((x[:, None] - known_x) ** 2) / (2 * width**2)
    return scores.softmax(dim=-1) @ known_y


def _draw_rows(generator):
    return [
        (torch.randn(shape, generator=generator) * 0.8,)
        for shape in [(2, 3), (4, 3), (5, 2), (3, 6)]
    ]


def _simple(scale=1.0, weigh=lambda scores: scores.softmax(-1)):
    """Make a self-attention that goes wrong in the ways asked for."""
    return lambda x: weigh(x @ x.T * (x.shape[-1] ** -0.5 if scale == "root" else scale)) @ x


def _simple_by_loops(x):
    rows = []
    for query in x:
        powers = [torch.exp((query * key).sum()) for key in x]
        rows.append(sum(p * key for p, key in zip(powers, x, strict=True)) / sum(powers))
    return torch.stack(rows)


def _draw_word(generator):
    def normal(*shape):
        return torch.randn(shape, generator=generator) * 0.7

    return [
        (normal(t, d), i, normal(d, k), normal(d, k), normal(d, v))
        for t, d, k, v, i in [(2, 2, 2, 2, 1), (4, 3, 3, 3, 0), (5, 4, 3, 2, 2)]
    ]


def _word(query=lambda x, w: w[0], keys=lambda x, w: w[1], values=lambda x, w: w[2], root=True):
    """Make a self-attention of one word that goes wrong in the ways asked for."""

    def attend_word(x, i, w_q, w_k, w_v):
        w = (w_q, w_k, w_v)
        q, k, v = x[i] @ query(x, w), x @ keys(x, w), x @ values(x, w)
        return (k @ q / (len(q) ** 0.5 if root else 1)).softmax(-1) @ v

    return attend_word


def _word_without_projected_values(x, i, w_q, w_k, w_v):
    return (x @ w_k @ (x[i] @ w_q) / w_q.shape[1] ** 0.5).softmax(-1) @ x


def _word_by_loops(x, i, w_q, w_k, w_v):
    query = w_q.T @ x[i]
    powers = [math.exp(float(query @ (w_k.T @ row)) / len(query) ** 0.5) for row in x]
    return sum(p / sum(powers) * (w_v.T @ row) for p, row in zip(powers, x, strict=True))


def _without_itself(x):
    scores = (x @ x.T).masked_fill(torch.eye(len(x), dtype=torch.bool), -math.inf)
    return scores.softmax(-1) @ x


def _draw_lookup(generator):
    def normal(*shape):
        return torch.randn(shape, generator=generator)

    return [
        (normal(k), normal(s, k), normal(s, d_v)) for s, k, d_v in [(2, 3, 2), (4, 3, 3), (5, 8, 2)]
    ]


def _attend(scale="root", weigh=lambda scores: scores.softmax(-1), mix="values"):
    """Make a soft look-up that goes wrong in the ways asked for."""

    def look_up(query, keys, values):
        width, length = len(query), len(keys)
        roots = {"root": width**0.5, "three": 3**0.5, "length": length**0.5}
        divisor = {**roots, "none": 1, "width": width}[scale]
        weights = weigh(keys @ query / divisor)
        return weights @ (values if mix == "values" else keys), weights

    return look_up


def _hard(query, keys, values):
    weights = torch.nn.functional.one_hot((keys @ query).argmax(), len(keys)).float()
    return weights @ values, weights


def _attend_by_hand(query, keys, values):
    powers = [math.exp(float((query * key).sum()) / math.sqrt(len(query))) for key in keys]
    weights = torch.tensor([power / sum(powers) for power in powers])
    return sum(w * value for w, value in zip(weights, values, strict=True)), weights


def _draw_regression(generator):
    def uniform(n):
        return torch.rand(n, generator=generator) * 4 - 2

    return [
        (uniform(t), uniform(s), torch.randn(s, generator=generator), width)
        for t, s, width in [(2, 3, 0.8), (3, 3, 1.5), (5, 4, 0.6)]
    ]


def _regress(score=lambda d, w: -(d**2) / (2 * w**2), axis=-1):
    """Make a kernel regression that goes wrong in the ways asked for."""
    return lambda x, kx, ky, w: score(x[:, None] - kx, w).softmax(axis) @ ky


EXERCISES = [
    Exercise(
        name="simple_self_attention",
        title="self-attention without parameters",
        task="Score every word against every word by a dot product, turn each row into weights, mix the words. No scaling, nothing to learn.",
        minutes=6,
        difficulty=2,
        importance=5,
        reference=simple_self_attention,
        draw=_draw_rows,
        mistakes=[
            Mistake(
                "softmax over the wrong axis",
                _simple(weigh=lambda s: s.softmax(0)),
                "The softmax runs down the columns. Word i shares out one unit of weight in row i: use dim=-1. (The scores are symmetric here, the weights are not.) Or the weights were transposed: weights @ x, without .T.",
            ),
            Mistake(
                "no softmax",
                _simple(weigh=lambda s: s),
                "The raw scores mix the words. A softmax must first turn each row into weights that are positive and sum to 1.",
            ),
            Mistake(
                "divided by √D",
                _simple(scale="root"),
                "The scores are scaled. That is right from the six steps on; this first version has no scaling.",
            ),
            Mistake(
                "softmax over all scores at once",
                _simple(weigh=lambda s: s.flatten().softmax(0).view_as(s)),
                "All weights together sum to 1. Every word has its own unit of weight: a softmax for each row.",
            ),
            Mistake(
                "sigmoid instead of softmax",
                _simple(weigh=torch.sigmoid),
                "Each score is squashed by itself, so a row does not sum to 1. A softmax lets the words compete.",
            ),
            Mistake(
                "divided by the sum",
                _simple(weigh=lambda s: s / s.sum(-1, keepdim=True)),
                "The scores are divided by their sum without exp. Scores may be negative, and so are these weights. softmax takes exp first.",
            ),
            Mistake(
                "not divided by the sum",
                _simple(weigh=torch.exp),
                "The powers are not divided by their sum, so a row does not sum to 1. softmax does both.",
            ),
            Mistake(
                "cosine instead of dot product",
                lambda x: (
                    (
                        torch.nn.functional.normalize(x, dim=-1)
                        @ torch.nn.functional.normalize(x, dim=-1).T
                    ).softmax(-1)
                    @ x
                ),
                "The vectors are made one long before they are compared. A plain dot product counts their lengths too: x @ x.T.",
            ),
            Mistake(
                "weights instead of the mixture",
                lambda x: (x @ x.T).softmax(-1),
                "These are the weights, (T, T). One product is missing: the weights mix the words, weights @ x.",
            ),
            Mistake(
                "own word left out",
                _without_itself,
                "A word does not look at itself here. In self-attention it may, and usually it looks at itself most.",
            ),
            Mistake(
                "all words alike",
                lambda x: x.mean(0).expand(x.shape),
                "Every word becomes the plain average: the weights do not depend on the scores.",
            ),
            Mistake(
                "divided by √D + softmax over the wrong axis",
                _simple(scale="root", weigh=lambda s: s.softmax(0)),
            ),
            Mistake("divided by √D + no softmax", _simple(scale="root", weigh=lambda s: s)),
        ],
        also_right=[
            _simple_by_loops,
            lambda x: torch.einsum("ts,sd->td", torch.einsum("td,sd->ts", x, x).softmax(1), x),
            lambda x: torch.nn.functional.scaled_dot_product_attention(
                x[None], x[None], x[None], scale=1.0
            )[0],
        ],
        hints=[
            "Three lines: scores (T, T), weights (T, T), result (T, D).",
            "x @ x.T holds the dot product of every word with every word.",
            "weights = (x @ x.T).softmax(dim=-1), then weights @ x.",
        ],
        look_at="x comes in three times: as what asks, as what is asked, and as what is handed over. The next exercise gives each part its own name.",
    ),
    Exercise(
        name="attend",
        title="one query, steps 2 to 6",
        task="Look up one query among keys and values: score, divide by √d_k, softmax, weigh, sum. Return context and weights.",
        minutes=8,
        difficulty=2,
        importance=5,
        reference=attend,
        draw=_draw_lookup,
        mistakes=[
            Mistake(
                "no scaling",
                _attend(scale="none"),
                "The scores are not divided by √d_k. Divide by math.sqrt(query.shape[-1]) before the softmax.",
            ),
            Mistake(
                "divided by d_k",
                _attend(scale="width"),
                "The scores are divided by d_k, not by its square root.",
            ),
            Mistake(
                "divided by √3 always",
                _attend(scale="three"),
                "√3 belonged to the lesson's example. Take the width of this query: math.sqrt(query.shape[-1]).",
            ),
            Mistake(
                "divided by the root of the values' width",
                lambda q, k, v: (lambda w: (w @ v, w))((k @ q / v.shape[1] ** 0.5).softmax(-1)),
                "The root is taken of the width of a value. What meets in the score are query and key: take their width.",
            ),
            Mistake(
                "divided after the softmax",
                lambda q, k, v: (lambda w: (w @ v, w))((k @ q).softmax(-1) / len(q) ** 0.5),
                "The softmax comes before the division, so the weights no longer sum to 1. Divide the scores, then take the softmax.",
            ),
            Mistake(
                "divided by the root of the number of keys",
                _attend(scale="length"),
                "The root is taken of how many keys there are. It is the width of a key, d_k, that counts.",
            ),
            Mistake(
                "keys instead of values",
                _attend(mix="keys"),
                "The weights mix the keys. Keys are for finding; what is handed over are the values: weights @ values.",
            ),
            Mistake(
                "no softmax",
                _attend(weigh=lambda s: s),
                "The scores mix the values as they are. A softmax must turn them into weights that sum to 1.",
            ),
            Mistake(
                "sigmoid instead of softmax",
                _attend(weigh=torch.sigmoid),
                "Each score is squashed by itself; the weights do not sum to 1. A softmax lets the keys compete.",
            ),
            Mistake(
                "only the best key",
                _hard,
                "This is a hard look-up: all weight on one key. The soft one gives every key its share, and has a gradient.",
            ),
            Mistake(
                "values not summed",
                lambda q, k, v: (
                    (k @ q / len(q) ** 0.5).softmax(0)[:, None] * v,
                    (k @ q / len(q) ** 0.5).softmax(0),
                ),
                "The values are weighed but not added up: the last of the six steps. weights @ values does both.",
            ),
            Mistake(
                "scores instead of weights",
                lambda q, k, v: (attend(q, k, v)[0], k @ q / len(q) ** 0.5),
                "The context is right. As second result the weights are asked for, after the softmax, and these are the scores.",
            ),
            Mistake(
                "results exchanged",
                lambda q, k, v: attend(q, k, v)[::-1],
                "Both are right, in the wrong order: first the context, then the weights.",
            ),
            Mistake("no scaling + keys instead of values", _attend(scale="none", mix="keys")),
            Mistake("no scaling + no softmax", _attend(scale="none", weigh=lambda s: s)),
        ],
        also_right=[
            _attend_by_hand,
            lambda q, k, v: (
                torch.einsum("s,sd->d", (k * q).sum(1).div(len(q) ** 0.5).softmax(0), v),
                (k * q).sum(1).div(len(q) ** 0.5).softmax(0),
            ),
        ],
        hints=[
            "One score for each key: keys @ query has shape (S,).",
            "Divide by math.sqrt(query.shape[-1]), then .softmax(dim=-1): these are the weights.",
            "weights @ values is the weighted sum; return it and the weights.",
        ],
        look_at="keys @ query is a matrix times a vector: all scores at once, without a loop. In lesson 04 the query becomes a matrix too.",
    ),
    Exercise(
        name="one_word",
        title="all six steps for one word",
        task="Word i looks at its whole sentence: project to a query, to keys and to values, then steps 2 to 6, as in attend. Return the context.",
        minutes=6,
        difficulty=3,
        importance=5,
        reference=one_word,
        draw=_draw_word,
        mistakes=[
            Mistake(
                "another word",
                lambda x, i, q, k, v: _word()(x, 0 if i else -1, q, k, v),
                "This is another word's context. The query comes from row i of x, and from that row alone.",
            ),
            Mistake(
                "always the first word",
                lambda x, i, q, k, v: one_word(x, 0, q, k, v),
                "The query is that of word 0. Take row i: x[i] @ w_q.",
            ),
            Mistake(
                "only its own key and value",
                lambda x, i, q, k, v: x[i] @ v,
                "Word i looks at itself alone. Keys and values come from all rows of x.",
            ),
            Mistake(
                "one query matrix for both",
                _word(keys=lambda x, w: w[0]),
                "The keys were made with W_Q. W_K makes them: what a word can be found by need not be what it looks for.",
            ),
            Mistake(
                "divided by √D",
                lambda x, i, q, k, v: (x @ k @ (x[i] @ q) / len(q) ** 0.5).softmax(-1) @ (x @ v),
                "The root is taken of the words' width D. The vectors that meet are narrower: take the width of the query.",
            ),
            Mistake(
                "divided by √D_v",
                lambda x, i, q, k, v: (
                    (x @ k @ (x[i] @ q) / v.shape[1] ** 0.5).softmax(-1) @ (x @ v)
                ),
                "The root is taken of the values' width. What meets in the score are query and key: take their width.",
            ),
            Mistake(
                "query and key exchanged",
                _word(query=lambda x, w: w[1], keys=lambda x, w: w[0]),
                "The two projections are exchanged, or column i of the scores was taken instead of row i. W_Q makes the query of word i, W_K the keys of all words.",
            ),
            Mistake(
                "keys instead of values",
                lambda x, i, q, k, v: (
                    (x @ k @ (x[i] @ q) / q.shape[1] ** 0.5).softmax(-1) @ (x @ k)
                ),
                "The weights multiply the keys. Keys are for finding; what is mixed are the values, x @ w_v.",
            ),
            Mistake(
                "values not projected",
                _word_without_projected_values,
                "The weights multiply the words themselves. Project them first: the values are x @ w_v.",
            ),
            Mistake(
                "no scaling",
                _word(root=False),
                "The scores are not divided by the square root of the width of the query.",
            ),
            Mistake(
                "one key matrix for both",
                _word(query=lambda x, w: w[1]),
                "The query was made with W_K. Then a word that is found easily also asks for itself; W_Q lets it ask for something else.",
            ),
            Mistake(
                "no softmax",
                lambda x, i, q, k, v: (x @ k @ (x[i] @ q) / q.shape[1] ** 0.5) @ (x @ v),
                "The scores mix the values as they are. A softmax must turn them into weights that sum to 1.",
            ),
            Mistake(
                "divided by d_k",
                lambda x, i, q, k, v: (x @ k @ (x[i] @ q) / q.shape[1]).softmax(-1) @ (x @ v),
                "The scores are divided by d_k, not by its square root.",
            ),
            Mistake(
                "divided after the softmax",
                lambda x, i, q, k, v: (
                    (x @ k @ (x[i] @ q)).softmax(-1) / q.shape[1] ** 0.5 @ (x @ v)
                ),
                "The softmax comes before the division, so the weights no longer sum to 1. Divide the scores first.",
            ),
            Mistake(
                "a column of the weights",
                lambda x, i, q, k, v: (
                    ((x @ q) @ (x @ k).T / q.shape[1] ** 0.5).softmax(-1)[:, i] @ (x @ v)
                ),
                "This is column i: how much each word looks at word i. What word i looks at is row i.",
            ),
            Mistake(
                "every word",
                lambda x, i, q, k, v: (
                    ((x @ q) @ (x @ k).T / q.shape[1] ** 0.5).softmax(-1) @ (x @ v)
                ),
                "These are the contexts of all words. Only word i is asked for: its query is x[i] @ w_q.",
            ),
            Mistake(
                "weights instead of the context",
                lambda x, i, q, k, v: (x @ k @ (x[i] @ q) / q.shape[1] ** 0.5).softmax(-1),
                "These are the weights. One product is missing: weights @ values.",
            ),
            Mistake(
                "no scaling + keys instead of values",
                lambda x, i, q, k, v: (x @ k @ (x[i] @ q)).softmax(-1) @ (x @ k),
            ),
        ],
        also_right=[
            _word_by_loops,
            lambda x, i, q, k, v: torch.nn.functional.scaled_dot_product_attention(
                (x @ q)[None, i : i + 1], (x @ k)[None], (x @ v)[None]
            )[0, 0],
        ],
        hints=[
            "query = x[i] @ w_q has K numbers. Keys and values are made for every word at once.",
            "keys @ query / query.shape[-1] ** 0.5 holds a score for each word. Softmax, then mix the values.",
            "((x @ w_k) @ (x[i] @ w_q) / w_q.shape[1] ** 0.5).softmax(dim=-1) @ (x @ w_v)",
        ],
        look_at="Only the query depends on i. Keys and values are the same whoever looks: lesson 04 makes them once for the whole sentence.",
    ),
    Exercise(
        name="kernel_regression",
        title="attention as kernel regression",
        task="At each x, average the known y. The weight of a known point is exp(−distance² / (2 · width²)), divided by the sum of all of them.",
        minutes=7,
        difficulty=3,
        importance=2,
        reference=kernel_regression,
        draw=_draw_regression,
        mistakes=[
            Mistake(
                "width not squared",
                _regress(lambda d, w: -(d**2) / (2 * w)),
                "The width has to be squared, like the distance: 2 * width**2.",
            ),
            Mistake(
                "brackets forgotten",
                _regress(lambda d, w: -(d**2) / 2 * w**2),
                "Without brackets Python divides by 2 and then multiplies by width². Write / (2 * width**2).",
            ),
            Mistake(
                "one sum for all",
                lambda x, kx, ky, w: (
                    (-((x[:, None] - kx) ** 2) / (2 * w**2)).flatten().softmax(0).view(len(x), -1)
                    @ ky
                ),
                "The weights of all places together sum to 1. Every x has its own: divide row by row, dim=-1.",
            ),
            Mistake(
                "factor 2 forgotten",
                _regress(lambda d, w: -(d**2) / w**2),
                "The 2 in 2 · width² is missing.",
            ),
            Mistake(
                "distance not squared",
                _regress(lambda d, w: -d.abs() / (2 * w**2)),
                "The distance is not squared. With its plain size the kernel is Laplace's and has a sharp peak.",
            ),
            Mistake(
                "far points count most",
                _regress(lambda d, w: d**2 / (2 * w**2)),
                "The sign is missing: with a plus, far points weigh most.",
            ),
            Mistake(
                "over the wrong axis",
                _regress(axis=0),
                "The weights are shared out among the places to estimate. They have to sum to 1 over the known points: dim=-1.",
            ),
            Mistake(
                "not divided by the sum",
                lambda x, kx, ky, w: (-((x[:, None] - kx) ** 2) / (2 * w**2)).exp() @ ky,
                "The weights do not sum to 1. Divide by their sum; a softmax of −distance² / (2 · width²) does both at once.",
            ),
            Mistake(
                "nearest point only",
                lambda x, kx, ky, w: ky[(x[:, None] - kx).abs().argmin(1)],
                "Only the nearest point counts. That is the limit of a very small width.",
            ),
            Mistake(
                "exp, and then a softmax",
                lambda x, kx, ky, w: (
                    (-((x[:, None] - kx) ** 2) / (2 * w**2)).exp().softmax(-1) @ ky
                ),
                "exp is taken twice: softmax takes it already. Either exp and divide by the sum, or softmax of the exponent.",
            ),
            Mistake(
                "2 squared too",
                _regress(lambda d, w: -((d / (2 * w)) ** 2)),
                "The 2 is squared as well, which makes 4 · width². Only the width is squared.",
            ),
            Mistake(
                "width left out",
                _regress(lambda d, w: -(d**2) / 2),
                "The width has no effect. Divide by 2 · width².",
            ),
            Mistake(
                "no 2, width not squared",
                _regress(lambda d, w: -(d**2) / w),
                "Two things are missing below the line: the 2, and the square of the width.",
            ),
            Mistake(
                "over the wrong axis + width not squared",
                _regress(lambda d, w: -(d**2) / (2 * w), axis=0),
            ),
        ],
        also_right=[
            lambda x, kx, ky, w: (lambda p: (p * ky).sum(1) / p.sum(1))(
                torch.exp(-0.5 * ((x[:, None] - kx[None]) / w) ** 2)
            ),
            lambda x, kx, ky, w: torch.stack(
                [(-0.5 * ((one - kx) / w) ** 2).softmax(0).dot(ky) for one in x]
            ),
        ],
        hints=[
            "x[:, None] - known_x holds every difference: a row for each x, a column for each known point.",
            "exp divided by the sum of exp is a softmax. What goes into it?",
            "(-(x[:, None] - known_x) ** 2 / (2 * width**2)).softmax(dim=-1) @ known_y",
        ],
        look_at="Queries are the x, keys the known x, values the known y; only the score differs: a distance instead of a dot product. The width is a temperature.",
    ),
]
