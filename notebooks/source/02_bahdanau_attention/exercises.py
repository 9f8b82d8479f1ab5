"""Lesson 02, Bahdanau attention."""

import math

import torch

from helpers.exercises.model import Exercise, Mistake, normal


def additive_scores(query, keys, w_query, w_key, v):
    """Score encoder states against the decoder's state: (B, D_q), (B, S, D_k) -> (B, S)."""
    hidden = torch.tanh((query @ w_query)[:, None] + keys @ w_key)
    return hidden @ v


def attention_context(scores, values, mask=None):
    """Turn scores (B, S) into weights, and mix the values (B, S, D_v) with them."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1)
    context = (weights[:, :, None] * values).sum(dim=1)
    return context, weights


def general_scores(query, keys, w):
    """Score with one matrix in between: (B, D_q), (B, S, D_k), (D_q, D_k) -> (B, S)."""
    asked = query @ w
    scores = (asked[:, None] * keys).sum(-1)
    return scores


def _additive_by_concatenation(query, keys, w_query, w_key, v):
    repeated = query[:, None].expand(-1, keys.shape[1], -1)
    both = torch.cat([repeated, keys], dim=-1) @ torch.cat([w_query, w_key])
    return (both.tanh() * v).sum(-1)


def _context_by_exp(scores, values, mask=None):
    powers = scores.exp() if mask is None else scores.exp() * mask
    weights = powers / powers.sum(1, keepdim=True)
    return torch.einsum("bs,bsv->bv", weights, values), weights


def _general_by_loops(query, keys, w):
    rows = [[q @ w @ key for key in states] for q, states in zip(query, keys, strict=True)]
    return torch.stack([torch.stack(row) for row in rows])


SOFTMAX_TOO_EARLY = (
    "These are already weights. The exercise asks for the scores, before the softmax."
)
ALL_WITH_ALL = (
    "Each query is compared with the words of all sentences. A query belongs to its own sentence, "
    "so give it a dimension, (query @ w)[:, :, None], and the product runs sentence by sentence."
)
MASK = "    if mask is not None:\n        scores = scores.masked_fill(~mask, -math.inf)\n"

# fmt: off
EXERCISES = [
    Exercise(
        name="additive_scores", title="Bahdanau's score",
        task="Score every encoder state against the decoder's state: v · tanh(query w_query + key w_key). Vectors are rows here.",
        trained=True, minutes=8, difficulty=3, importance=5,
        reference=additive_scores,
        draw=normal("b q, b s k, q a, k a, a", (1, 3, 2, 4, 5), (2, 4, 3, 6, 5), (3, 5, 4, 2, 6), scale=0.8),
        mistakes=[
            Mistake("no tanh", "torch.tanh", "",
                    "There is no tanh. Without it the query adds the same number to every score, the softmax cancels that number, and the decoder's state has no effect. Apply torch.tanh to the sum."),
            Mistake("tanh at the end", "torch.tanh", "",
                    "tanh is applied to the finished score. Apply it to the sum, before the product with v.",
                    also=(("hidden @ v", "torch.tanh(hidden @ v)"),)),
            Mistake("tanh of each part", "torch.tanh((query @ w_query)[:, None] + keys @ w_key)", "torch.tanh(query @ w_query)[:, None] + torch.tanh(keys @ w_key)",
                    "tanh is applied to query and key separately. The two never interact, so the query adds the same number to every score. Add first, then apply tanh."),
            Mistake("v ignored", "hidden @ v", "hidden.sum(-1)",
                    "The hidden layer is summed as it is. Its entries are weighted by v: hidden @ v."),
            Mistake("softmax too early", "return", "result.softmax(-1)", SOFTMAX_TOO_EARLY),
        ],
        also_right=[_additive_by_concatenation],
        hints=["Query and keys are first brought to the same width A. What shapes do query @ w_query and keys @ w_key have?",
               "(B, A) and (B, S, A). The query needs a dimension of size 1 for the source words, [:, None], and broadcasting does the rest.",
               "torch.tanh((query @ w_query)[:, None] + keys @ w_key) @ v"],
        pytorch="`a[:, None]` turns (B, A) into (B, 1, A), and adding that to (B, S, A) adds it to every one of the S rows. `x @ v` with shapes (B, S, A) and (A,) has shape (B, S).",
        then="Section 2 runs it inside the trained model and draws where every word looked.",
        look_at="keys @ w_key doesn't depend on the query. It can be computed once per sentence and reused at every step of the decoder, which is what the course's module does.",
    ),
    Exercise(
        name="attention_context", title="from scores to a context",
        task="Mend the function. It should return the context and the weights. If there is a mask, it's True where there is a word to attend to.",
        trained=True, minutes=8, difficulty=2, importance=5,
        reference=attention_context,
        draw=normal(  # no row of a mask is all True, no column is all False
            "b s, b s v", (2, 3, 4),
            (3, 4, 2, torch.tensor([[1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 0]]).bool()),
            (2, 5, 6, torch.tensor([[0, 1, 1, 1, 1], [0, 0, 0, 1, 1]]).bool()),
            # Far below 0, as scores may be: a mask of −10 instead of −∞ would not hide anything.
            then=lambda scores, values, *mask: (scores - 20, values, *mask)),
        mistakes=[
            Mistake("still as it was", "dim=-1", "dim=0",
                    "Print the weights of two short sentences: what does each row sum to, and "
                    "which weights should be 0?", also=(("-math.inf", "0.0"),)),
            Mistake("softmax over the batch", "dim=-1", "dim=0",
                    "The softmax runs from sentence to sentence. The weights over the words of each sentence should sum to 1: dim=-1."),
            Mistake("scores set to zero", "-math.inf", "0.0",
                    "A hidden score of 0 still gets a weight, because e⁰ = 1. Any other number gets one as well, so a hidden score has to be −∞."),
            Mistake("mask inverted", "~mask", "mask",
                    "The mask is used the wrong way round, so words are hidden and padding is kept. True means a word, and masked_fill(~mask, -torch.inf) fills where it is False."),
            Mistake("mask ignored", MASK, "",
                    "The mask has no effect. Where it is False, set the score to −∞ before the softmax. masked_fill returns a new tensor, so assign it: scores = scores.masked_fill(...)."),
            Mistake("no softmax", MASK, "",
                    "The scores multiply the values as they are. A softmax must first turn them into weights that are positive and sum to 1.",
                    also=((".softmax(dim=-1)", ""),)),
            Mistake("weights set to zero afterwards", "scores = scores.masked_fill", "weights = weights.masked_fill",
                    "The weights are masked after the softmax, so a row no longer sums to 1, because padding still counts in the denominator. Set the scores to −∞ before it.",
                    also=(("-math.inf", "0.0"), ("    weights = scores.softmax(dim=-1)\n", ""), ("    if mask", "    weights = scores.softmax(dim=-1)\n    if mask"))),
            Mistake("no axis for the words", "(weights[:, :, None] * values).sum(dim=1)", "weights @ values",
                    "weights @ values mixes every sentence with every other. Give the weights a dimension: (weights[:, None] @ values)[:, 0]."),
            Mistake("results exchanged", "return", "weights, context",
                    "Both are right, but in the wrong order. Return first the context, then the weights."),
        ],
        also_right=[_context_by_exp],
        hints=["There are three steps: mask, softmax, mix. Only the first one needs the mask.",
               "scores.masked_fill(~mask, -torch.inf) hides padding, and softmax(dim=-1) distributes the weight over the words of each sentence.",
               "weights[:, :, None] has a dimension for the width of the values. Multiply by values, and sum over the words, dim=1.",
               "context = (weights[:, :, None] * values).sum(dim=1); return context, weights"],
        pytorch="`scores.masked_fill(~mask, x)` writes x wherever mask is False. `softmax(dim=-1)` sums to 1 along the last dimension, `dim=0` along the first.",
        then="The decoder below calls it once per word.",
        look_at="Nothing here depends on how the scores were computed. These lines work for Bahdanau, for Luong and, with one more dimension, for the Transformer.",
    ),
    Exercise(
        name="general_scores", title="Luong's general score",
        task="Score every encoder state with one matrix in between: query · w · key. The widths of query and keys differ.",
        minutes=6, difficulty=2, importance=3,
        reference=general_scores,
        draw=normal("b q, b s k, q k", (1, 3, 2, 4), (2, 3, 4, 5), (3, 6, 5, 2), scale=0.8),
        mistakes=[
            Mistake("not summed", ".sum(-1)", "",
                    "The terms of the dot product are there, but not yet summed. Add .sum(dim=-1)."),
            Mistake("every sentence with every other", "return", "torch.einsum('ak,bsk->abs', asked, keys)", ALL_WITH_ALL),
            Mistake("every sentence with every other, words before queries", "return", "keys @ asked.T", ALL_WITH_ALL),
            Mistake("lengths divided out", "return", "torch.cosine_similarity(asked[:, None], keys, dim=-1)",
                    "This is the cosine, which divides by the lengths of the vectors. A dot product keeps them."),
            Mistake("softmax too early", "return", "scores.softmax(-1)", SOFTMAX_TOO_EARLY),
        ],
        also_right=[
            lambda q, k, w: torch.einsum("bq,qk,bsk->bs", q, w, k),
            lambda q, k, w: ((k @ w.T) * q[:, None]).sum(-1),
            _general_by_loops,
        ],
        hints=["query @ w has the width of a key, so it can be multiplied with each key by a dot product.",
               "keys is (B, S, D_k). Multiply it by a column (B, D_k, 1) on its right, and the shape is (B, S, 1).",
               "(keys @ (query @ w)[:, :, None]).squeeze(-1)"],
        pytorch="`(keys @ q[:, :, None]).squeeze(-1)` multiplies (B, S, D) with (B, D, 1) and drops the last dimension again.",
        look_at="The only parameter is w, a matrix of D_q · D_k numbers. If w is the identity, this is Luong's dot score, which requires both widths to agree.",
    ),
]
