"""Lesson 02, Bahdanau attention."""

import math

import torch

from helpers.exercises.model import Exercise, Mistake


def additive_scores(query, keys, w_query, w_key, v):
    """Score every encoder state against the decoder's state with a small network.

    Parameters
    ----------
    query : Tensor of shape (B, D_q)
        The decoder's state, one for each sentence.
    keys : Tensor of shape (B, S, D_k)
        The encoder's states.
    w_query, w_key : Tensor of shape (D_q, A) and (D_k, A)
    v : Tensor of shape (A,)

    Returns
    -------
    scores : Tensor of shape (B, S)
    """
    hidden = torch.tanh((query @ w_query)[:, None] + keys @ w_key)
    return hidden @ v


def attention_context(scores, values, mask=None):
    """Turn scores into weights, and mix the values by them.

    Parameters
    ----------
    scores : Tensor of shape (B, S)
    values : Tensor of shape (B, S, D_v)
    mask : bool Tensor of shape (B, S), default=None
        True where there is a word to look at.

    Returns
    -------
    context : Tensor of shape (B, D_v)
    weights : Tensor of shape (B, S)
    """
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1)
    context = (weights[:, :, None] * values).sum(dim=1)
    return context, weights


def general_scores(query, keys, w):
    """Score every encoder state against the decoder's state with one matrix between them.

    Parameters
    ----------
    query : Tensor of shape (B, D_q)
    keys : Tensor of shape (B, S, D_k)
    w : Tensor of shape (D_q, D_k)

    Returns
    -------
    scores : Tensor of shape (B, S)
    """
    return (keys @ (query @ w)[:, :, None]).squeeze(-1)


def alignment_from_weights(weights):
    """Say for every target word at which source word it looked most.

    Parameters
    ----------
    weights : Tensor of shape (..., T, S)
        Row t holds the weights with which target word t was written.

    Returns
    -------
    positions : integer Tensor of shape (..., T)
        Counted from 0.
    """
    return weights.argmax(dim=-1)


def _draw_additive(generator):
    def normal(*shape):
        return torch.randn(shape, generator=generator) * 0.8

    return [
        (normal(b, q), normal(b, s, k), normal(q, a), normal(k, a), normal(a))
        for b, s, q, k, a in [(1, 2, 3, 4, 5), (2, 3, 4, 6, 5), (3, 4, 5, 2, 6)]
    ]


def _draw_context(generator):
    """Scores, values and masks; no row of a mask is all True, no column is all False."""

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    padded = torch.tensor([[1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 0]]).bool()
    padded_in_front = torch.tensor([[0, 1, 1, 1, 1], [0, 0, 0, 1, 1]]).bool()
    return [
        (normal(2, 3), normal(2, 3, 4)),
        # Far below 0, as scores may be: a mask of −10 instead of −∞ would not hide anything.
        (normal(3, 4) - 20, normal(3, 4, 2), padded),
        (normal(2, 5), normal(2, 5, 6), padded_in_front),
    ]


def _draw_general(generator):
    def normal(*shape):
        return torch.randn(shape, generator=generator) * 0.8

    return [
        (normal(b, q), normal(b, s, k), normal(q, k))
        for b, s, q, k in [(1, 2, 3, 4), (2, 4, 3, 5), (3, 5, 6, 2)]
    ]


def _draw_weights(generator):
    def shares(*shape):
        return (2 * torch.randn(shape, generator=generator)).softmax(-1)

    return [(shares(2, 3),), (shares(4, 6),), (shares(2, 5, 7),)]


def _additive(activation=torch.tanh, query=True, keys=True, outside=False):
    """Make an additive score that goes wrong in the ways asked for."""

    def score(q, k, w_query, w_key, v):
        asked = (q @ w_query)[:, None] * query
        offered = (k @ w_key) * keys
        return (asked + offered) @ v if outside else activation(asked + offered) @ v

    return score


def _additive_by_concatenation(query, keys, w_query, w_key, v):
    repeated = query[:, None].expand(-1, keys.shape[1], -1)
    both = torch.cat([repeated, keys], dim=-1) @ torch.cat([w_query, w_key])
    return (both.tanh() * v).sum(-1)


def _additive_by_loops(query, keys, w_query, w_key, v):
    rows = [
        torch.stack([torch.tanh(w_query.T @ q + w_key.T @ key).dot(v) for key in states])
        for q, states in zip(query, keys, strict=True)
    ]
    return torch.stack(rows)


def _context(axis=-1, polarity=True, mask_as="-inf"):
    """Make an attention that goes wrong in the ways asked for."""

    def attend(scores, values, mask=None):
        if mask is not None and not polarity:
            mask = ~mask
        if mask is not None and mask_as == "-inf":
            scores = scores.masked_fill(~mask, -math.inf)
        if mask is not None and mask_as == "zero score":
            scores = scores.masked_fill(~mask, 0.0)
        weights = scores if axis is None else scores.softmax(axis)
        if mask is not None and mask_as == "zero weight":
            weights = weights * mask
        return torch.einsum("bs,bsv->bv", weights, values), weights

    return attend


def _context_by_product(scores, values, mask=None):
    if mask is not None:
        scores = scores + torch.where(mask, 0.0, -math.inf)
    weights = torch.softmax(scores, 1)
    return (weights[:, None] @ values).squeeze(1), weights


def _context_by_exp(scores, values, mask=None):
    powers = scores.exp() if mask is None else scores.exp() * mask
    weights = powers / powers.sum(1, keepdim=True)
    return torch.einsum("bs,bsv->bv", weights, values), weights


def _general_by_loops(query, keys, w):
    rows = [[q @ w @ key for key in states] for q, states in zip(query, keys, strict=True)]
    return torch.stack([torch.stack(row) for row in rows])


def _alignment_by_loops(weights):
    rows = weights.reshape(-1, weights.shape[-1]).tolist()
    best = [row.index(max(row)) for row in rows]
    return torch.tensor(best).reshape(weights.shape[:-1])


KEYS_IGNORED = (
    "Every source word gets the same score: the encoder's states do not count. The score depends "
    "on the decoder's state and on each encoder state. Add keys @ w_key."
)
QUERY_IGNORED = (
    "The decoder's state does not count, so every target word would look at the same place. Add "
    "what the query says: (query @ w_query)[:, None]."
)
SOFTMAX_TOO_EARLY = (
    "These are weights already. The exercise asks for the scores, before the softmax."
)

EXERCISES = [
    Exercise(
        name="additive_scores",
        title="Bahdanau's score",
        task="Score every encoder state against the decoder's state: v · tanh(query w_query + key w_key). Rows times matrices.",
        minutes=8,
        difficulty=3,
        importance=5,
        reference=additive_scores,
        draw=_draw_additive,
        mistakes=[
            Mistake("encoder states ignored", _additive(keys=False), KEYS_IGNORED),
            Mistake("decoder state ignored", _additive(query=False), QUERY_IGNORED),
            Mistake(
                "no tanh",
                _additive(outside=True),
                "There is no tanh. Then the query adds the same number to every score, the softmax cancels it, and the decoder's state has no say. Put torch.tanh around the sum.",
            ),
            Mistake(
                "tanh at the end",
                lambda q, k, wq, wk, v: torch.tanh(_additive(outside=True)(q, k, wq, wk, v)),
                "tanh is taken of the finished score. It belongs around the sum, before the product with v.",
            ),
            Mistake(
                "tanh of each part",
                lambda q, k, wq, wk, v: (torch.tanh(q @ wq)[:, None] + torch.tanh(k @ wk)) @ v,
                "tanh is taken of query and key apart. Then they never meet: the query adds the same to every score. Add first, then take tanh.",
            ),
            Mistake(
                "sigmoid instead of tanh",
                _additive(torch.sigmoid),
                "This squashes into 0 to 1. Bahdanau's network uses tanh, between −1 and 1.",
            ),
            Mistake(
                "multiplied instead of added",
                lambda q, k, wq, wk, v: torch.tanh((q @ wq)[:, None] * (k @ wk)) @ v,
                "Query and key are multiplied. Products are Luong's idea; this score is called additive because the two are added.",
            ),
            Mistake(
                "v ignored",
                lambda q, k, wq, wk, v: additive_scores(q, k, wq, wk, torch.ones_like(v)),
                "The hidden layer is summed up as it is. Its parts are weighted by v: hidden @ v.",
            ),
            Mistake(
                "an axis too many",
                lambda q, k, wq, wk, v: additive_scores(q, k, wq, wk, v)[..., None],
                "The shape is (B, S, 1). One number for each source word is (B, S): hidden @ v, with v as a vector, leaves no axis behind.",
            ),
            Mistake(
                "softmax too early",
                lambda *given: additive_scores(*given).softmax(-1),
                SOFTMAX_TOO_EARLY,
            ),
            Mistake("decoder state ignored + no tanh", _additive(query=False, outside=True)),
            Mistake(
                "no tanh + softmax too early",
                lambda *given: _additive(outside=True)(*given).softmax(-1),
            ),
            Mistake(
                "tanh of the query alone",
                lambda q, k, wq, wk, v: (torch.tanh(q @ wq)[:, None] + k @ wk) @ v,
                "tanh is taken of the query alone: a bracket closes too early. Add first, then take tanh.",
            ),
            Mistake(
                "tanh of the keys alone",
                lambda q, k, wq, wk, v: ((q @ wq)[:, None] + torch.tanh(k @ wk)) @ v,
                "tanh is taken of the keys alone: a bracket opens too late. Add first, then take tanh.",
            ),
        ],
        also_right=[_additive_by_concatenation, _additive_by_loops],
        hints=[
            "Query and keys are brought to the same width A first. What shapes do query @ w_query and keys @ w_key have?",
            "(B, A) and (B, S, A): the query needs an axis of size 1 for the source words, [:, None], and broadcasting does the rest.",
            "torch.tanh((query @ w_query)[:, None] + keys @ w_key) @ v",
        ],
        look_at="keys @ w_key does not depend on the query. It can be computed once a sentence and used at every step of the decoder; the course's module does that.",
    ),
    Exercise(
        name="attention_context",
        title="from scores to a context",
        task="Return the context and the weights. The mask, if there is one, is True where there is a word to look at.",
        minutes=8,
        difficulty=2,
        importance=5,
        reference=attention_context,
        draw=_draw_context,
        mistakes=[
            Mistake(
                "softmax over the batch",
                _context(axis=0),
                "The softmax runs from sentence to sentence. Each sentence shares out one unit of weight among its own words: dim=-1.",
            ),
            Mistake(
                "no softmax",
                _context(axis=None, mask_as="none"),
                "The scores go to the values as they are. A softmax must turn them into weights that are positive and sum to 1.",
            ),
            Mistake(
                "mask ignored",
                lambda scores, values, mask=None: _context()(scores, values),
                "The mask has no effect, so padding gets weight. Where it is False, set the score to −∞ before the softmax.",
            ),
            Mistake(
                "mask inverted",
                _context(polarity=False),
                "The mask is used the wrong way round: only padding is looked at. scores.masked_fill(~mask, -math.inf) fills where it is False.",
            ),
            Mistake(
                "weights set to zero afterwards",
                _context(mask_as="zero weight"),
                "The weights are masked after the softmax, so a row no longer sums to 1, and padding still counts in the denominator. Set scores to −∞ before it.",
            ),
            Mistake(
                "masked scores set to zero",
                _context(mask_as="zero score"),
                "A score of 0 is not no weight: exp(0) is 1. Use −∞, whose exp is 0.",
            ),
            Mistake(
                "plain average",
                lambda s, values, mask=None: (
                    values.mean(1),
                    attention_context(s, values, mask)[1],
                ),
                "The context is the plain average of the values. Each value has its own weight; multiply before you sum.",
            ),
            Mistake(
                "likeliest word only",
                lambda s, values, mask=None: (
                    values[range(len(s)), attention_context(s, values, mask)[1].argmax(1)],
                    attention_context(s, values, mask)[1],
                ),
                "The context is the value of the one best word. Bahdanau's attention mixes all of them, and so it has a gradient: weights times values, summed.",
            ),
            Mistake(
                "not summed",
                lambda s, values, mask=None: (
                    attention_context(s, values, mask)[1][..., None] * values,
                    attention_context(s, values, mask)[1],
                ),
                "The values are weighted, and not summed. One context for each sentence has the shape (B, D_v): .sum(dim=1).",
            ),
            Mistake(
                "no axis for the words",
                lambda s, v, mask=None: (
                    attention_context(s, v, mask)[1] @ v,
                    attention_context(s, v, mask)[1],
                ),
                "weights @ values mixes every sentence with every other. Give the weights an axis: (weights[:, None] @ values)[:, 0].",
            ),
            Mistake(
                "results exchanged",
                lambda s, v, mask=None: attention_context(s, v, mask)[::-1],
                "Both are right, in the wrong order: first the context, then the weights.",
            ),
            Mistake(
                "softmax over the batch + mask ignored",
                lambda scores, values, mask=None: _context(axis=0)(scores, values),
            ),
            Mistake(
                "mask inverted + weights set to zero afterwards",
                _context(polarity=False, mask_as="zero weight"),
            ),
            Mistake(
                "scores instead of weights",
                lambda s, v, mask=None: (attention_context(s, v, mask)[0], s),
                "The context is right. As second result the weights are asked for, and these are the scores.",
            ),
            Mistake(
                "only the values hidden",
                lambda s, v, mask=None: (
                    (s.softmax(1)[..., None] * (v if mask is None else v * mask[..., None])).sum(1),
                    s.softmax(1),
                ),
                "Padding's values are set to zero, but padding still takes its share of the weight. Hide its scores.",
            ),
        ],
        also_right=[_context_by_product, _context_by_exp],
        hints=[
            "Three steps: hide, softmax, mix. Only the first one needs the mask.",
            "scores.masked_fill(~mask, -math.inf) hides padding, and softmax(dim=-1) shares out the weight among the words of each sentence.",
            "weights[:, :, None] has an axis for the width of the values. Multiply by values, and sum over the words, dim=1.",
            "context = (weights[:, :, None] * values).sum(dim=1); return context, weights",
        ],
        look_at="Nothing here knows how the scores were made. These lines serve Bahdanau, Luong and, with one axis more, the Transformer.",
    ),
    Exercise(
        name="general_scores",
        title="Luong's general score",
        task="Score every encoder state with one matrix between: query · w · key. The widths of query and keys differ.",
        minutes=6,
        difficulty=2,
        importance=3,
        reference=general_scores,
        draw=_draw_general,
        mistakes=[
            Mistake(
                "axis of size 1 kept",
                lambda q, k, w: general_scores(q, k, w)[..., None],
                "The shape is (B, S, 1). One number for each source word is (B, S): squeeze(-1).",
            ),
            Mistake(
                "not summed",
                lambda q, k, w: (q @ w)[:, None] * k,
                "The parts of the dot product are there, and not yet summed. Add .sum(dim=-1).",
            ),
            Mistake(
                "every sentence with every other",
                lambda q, k, w: torch.einsum("aq,qk,bsk->abs", q, w, k),
                "Each query is compared with the words of all sentences. A query belongs to its own sentence: give it an axis, (query @ w)[:, :, None], and the product goes sentence by sentence.",
            ),
            Mistake(
                "every sentence with every other, keys first",
                lambda q, k, w: torch.einsum("aq,qk,bsk->bas", q, w, k),
                "Each query is compared with the words of all sentences. A query belongs to its own sentence: give it an axis, (query @ w)[:, :, None], and the product goes sentence by sentence.",
            ),
            Mistake(
                "tanh as in Bahdanau's score",
                lambda q, k, w: torch.tanh(general_scores(q, k, w)),
                "There is a tanh around the score. Luong's general score is a plain product, and its numbers may be as large as they like.",
            ),
            Mistake(
                "tanh of the query",
                lambda q, k, w: (torch.tanh(q @ w)[:, None] * k).sum(-1),
                "There is a tanh after w. This score has no such layer: query @ w goes to the keys as it is.",
            ),
            Mistake(
                "divided by the root of the width",
                lambda q, k, w: general_scores(q, k, w) / math.sqrt(k.shape[-1]),
                "The scores are divided by √D_k. That comes with the Transformer, in lesson 04; Luong's scores are not scaled.",
            ),
            Mistake(
                "lengths divided out",
                lambda q, k, w: torch.cosine_similarity((q @ w)[:, None], k, dim=-1),
                "This is the cosine: the lengths of the vectors are divided out. A dot product keeps them.",
            ),
            Mistake(
                "softmax too early",
                lambda q, k, w: general_scores(q, k, w).softmax(-1),
                SOFTMAX_TOO_EARLY,
            ),
            Mistake(
                "tanh of the query + axis of size 1 kept",
                lambda q, k, w: (torch.tanh(q @ w)[:, None] * k).sum(-1, keepdim=True),
            ),
            Mistake(
                "divided by the root of the width + softmax too early",
                lambda q, k, w: (general_scores(q, k, w) / math.sqrt(k.shape[-1])).softmax(-1),
            ),
            Mistake(
                "squeeze without an axis",
                lambda q, k, w: general_scores(q, k, w).squeeze(),
                "squeeze() drops every axis of size 1, the batch's too when there is one sentence. Say which: squeeze(-1).",
            ),
        ],
        also_right=[
            lambda q, k, w: torch.einsum("bq,qk,bsk->bs", q, w, k),
            lambda q, k, w: ((k @ w.T) * q[:, None]).sum(-1),
            _general_by_loops,
        ],
        hints=[
            "query @ w has the width of a key, so a dot product with each key is possible.",
            "keys is (B, S, D_k). A column (B, D_k, 1) on its right gives (B, S, 1).",
            "(keys @ (query @ w)[:, :, None]).squeeze(-1)",
        ],
        look_at="w is the only parameter: D_q · D_k numbers, and no layer in between. With w the identity it is Luong's dot score, for which both widths must agree.",
    ),
    Exercise(
        name="alignment_from_weights",
        title="who looked where",
        task="For every target word give the position of the source word with the most weight. Rows of the weights are target words.",
        minutes=3,
        difficulty=1,
        importance=2,
        reference=alignment_from_weights,
        draw=_draw_weights,
        mistakes=[
            Mistake(
                "over the target words",
                lambda w: w.argmax(-2),
                "This says for every source word which target word looked at it most. Rows are target words, so the search runs along a row: dim=-1.",
            ),
            Mistake(
                "weight instead of position",
                lambda w: w.amax(-1),
                "This is how much weight the best word has. The exercise asks where it stands: argmax.",
            ),
            Mistake(
                "least instead of most",
                lambda w: w.argmin(-1),
                "This is the word with the least weight. Use argmax.",
            ),
            Mistake(
                "counted from 1",
                lambda w: w.argmax(-1) + 1,
                "The positions are counted from 1. Here, as everywhere in Python, they start at 0.",
            ),
            Mistake(
                "average position",
                lambda w: (w * torch.arange(w.shape[-1])).sum(-1),
                "This is the average position. A word that looks at the first and at the last source word would be aligned with the middle, where it did not look.",
            ),
            Mistake(
                "one position for everything",
                lambda w: w.argmax(),
                "argmax() without an axis searches the whole table and gives one number. Ask for one in each row: dim=-1.",
            ),
            Mistake(
                "a table of ones",
                lambda w: (w == w.amax(-1, keepdim=True)).long(),
                "This marks the best word in each row with a 1. The exercise asks for its position, one number a row.",
            ),
            Mistake("over the target words + counted from 1", lambda w: w.argmax(-2) + 1),
            Mistake("least instead of most + counted from 1", lambda w: w.argmin(-1) + 1),
            Mistake(
                "axis counted from the front",
                lambda w: w.argmax(1),
                "dim=1 is the source in one table only; in a batch it is the target. The last axis is dim=-1.",
            ),
        ],
        also_right=[
            _alignment_by_loops,
            lambda w: w.sort(dim=-1, descending=True).indices[..., 0],
            lambda w: w.topk(1).indices.squeeze(-1),
        ],
        hints=[
            "Take one row. Which position of it holds the largest number?",
            "weights.argmax(dim=-1)",
        ],
        look_at="Taking the largest weight throws the others away. Where two words share the weight, as with French “ne … pas” for “not”, the alignment shows only one of them.",
    ),
]
