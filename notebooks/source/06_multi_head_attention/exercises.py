"""Lesson 06, multi-head attention."""

import math

import torch

from helpers.exercises.model import Exercise, Mistake, normal
from helpers.transformer import attention, masks


def split_heads(x, n_heads):
    """Cut the last axis into heads: (B, T, D) -> (B, H, T, K)."""
    parts = x.unflatten(-1, (n_heads, -1))
    return parts.transpose(1, 2)


def merge_heads(x):
    """Lay the heads side by side again: (B, H, T, K) -> (B, T, D)."""
    return x.transpose(1, 2).flatten(-2)


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """Attend with every head and join what they found."""
    query, key, value = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    context, _ = attention.scaled_dot_product_attention(query, key, value, mask)
    return merge_heads(context) @ w_o


def silence_head(w_o, head, n_heads):
    """Return W_O with the rows of one head at zero, so that the head contributes nothing."""
    width = len(w_o) // n_heads
    start = head * width
    stop = (head + 1) * width
    silent = w_o.clone()
    silent[start:stop] = 0
    return silent


def one_unit_each(scores, values):
    """One answer per row of scores: (H, S), (S, K) -> (H, K)."""
    weights = scores.softmax(-1)
    return weights @ values


def mixed_up_heads(x, w_q, w_k, w_v, n_heads):
    """Attend with every head, and put the contexts side by side: (B, T, D) -> (B, T, D)."""
    query, key, value = (
        (x @ w).unflatten(-1, (n_heads, -1)).transpose(1, 2) for w in (w_q, w_k, w_v)
    )
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    context = scores.softmax(-1) @ value  # (B, H, T, K)
    return context.transpose(1, 2).flatten(-2)


def head_contributions(context, w_o):
    """What each head adds to the output: (B, H, T, K), (D, D) -> (B, H, T, D)."""
    rows = w_o.unflatten(0, (context.shape[1], -1))  # (D, D) -> (H, K, D)
    return context @ rows


# The solutions as a learner would write them; known mistakes are edits of these texts.


def _layer(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    query = split_heads(x @ w_q, n_heads)
    key = split_heads(x @ w_k, n_heads)
    value = split_heads(x @ w_v, n_heads)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    context = weights @ value
    merged = merge_heads(context)
    return merged @ w_o


def _sliced_input(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """Give each head its own slice of x: the block diagonal of every projection."""
    width = x.shape[-1] // n_heads
    blocks = torch.block_diag(*[torch.ones(width, width)] * n_heads)
    return multi_head_attention(x, w_q * blocks, w_k * blocks, w_v * blocks, w_o, n_heads, mask)


def _list_of_heads(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    contexts = []
    for q, k, v in zip(*(w.chunk(n_heads, dim=1) for w in (w_q, w_k, w_v)), strict=True):
        scores = (x @ q) @ (x @ k).mT / math.sqrt(q.shape[1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        contexts.append(scores.softmax(-1) @ (x @ v))
    return torch.cat(contexts, dim=-1) @ w_o


def _view_only(x, n_heads):
    batch, length, width = x.shape
    return x.reshape(batch, n_heads, length, width // n_heads)


MERGE = "merge_heads(context)"
SPLIT_VIEW = tuple((f"{n} = split_heads", f"{n} = _view_only") for n in ("query", "key", "value"))
MERGE_VIEW = (MERGE, "context.reshape(x.shape)")
CUT = "x.unflatten(-1, (n_heads, -1))"
# fmt: off
EXERCISES = [
    Exercise(
        name="one_unit_each", title="one unit of weight each",
        task="Turn every row of scores into a row of weights, and mix the values with each of these rows.",
        minutes=2, difficulty=1, importance=4,
        reference=one_unit_each, draw=normal("h s, s k", (2, 3, 1), (2, 4, 3), (3, 5, 2)),
        mistakes=[
            Mistake("rows compete", "softmax(-1)", "softmax(0)",
                    "The softmax runs down the columns, so the rows compete for each word. The weights of each row should sum to 1: softmax(-1)."),
            Mistake("one unit for all rows", "scores.softmax(-1)", "scores.flatten().softmax(0).reshape(scores.shape)",
                    "The weights of all rows together sum to 1. Those of each row should sum to 1: softmax(-1)."),
            Mistake("not normalised", "scores.softmax(-1)", "scores.exp()",
                    "The exponentials aren't divided by their sum, so the weights of a row don't sum to 1."),
            Mistake("weights returned", "return", "weights",
                    "These are the weights. Use them to mix the values: weights @ values."),
            Mistake("transposed", "return", "result.T",
                    "This is (K, H). The rows of the result are the answers: (H, K)."),
        ],
        also_right=[lambda scores, values: torch.einsum("hs,sk->hk", torch.softmax(scores, dim=1), values)],
        pytorch="`t.softmax(dim=-1)` makes every row sum to 1, `dim=0` every column.",
        hints=["Along which dimension does the softmax run, so that each row sums to 1?",
               "scores.softmax(-1) makes every row sum to 1. The result is (H, S).",
               "scores.softmax(-1) @ values"],
        look_at="Your code never mentions the number of rows, so a second question needs nothing but a second row of scores.",
    ),
    Exercise(
        name="split_heads", title="split into heads",
        task="Cut the last dimension into n_heads parts of equal width, and bring the heads in front of the words: (B, T, D) becomes (B, H, T, K).",
        trained=True, minutes=4, difficulty=2, importance=5,
        pytorch="`torch.zeros(2, 6).unflatten(-1, (3, 2))` cuts the last dimension in two: (2, 3, 2). `x.transpose(0, 2)` swaps dimensions 0 and 2. Write -1 for one of the sizes, and PyTorch works out that size.",
        reference=split_heads, draw=normal("b t d", (1, 3, 4, 2), (2, 5, 6, 3), (3, 4, 8, 2)),
        then="The next cell uses your function on all queries of a sentence.",
        mistakes=[
            Mistake("reshaped without transposing", _view_only,
                    "The shape is right, but the numbers aren't, because a reshape straight to (B, H, T, K) tears words apart. Cut the last dimension first, (B, T, H, K), then swap T and H."),
            Mistake("not transposed", ".transpose(1, 2)", "",
                    "This is (B, T, H, K). Attention works on the last two dimensions, which have to be words and width: swap T and H."),
            Mistake("words and width swapped", ".transpose(1, 2)", ".transpose(1, 3)",
                    "This is (B, K, H, T): words and width were swapped. The width stays last, so swap T and H instead."),
            Mistake("heads and width exchanged", CUT, "x.unflatten(-1, (-1, n_heads)).transpose(-2, -1)",
                    "The last dimension was cut as (K, H), so head 0 took every H-th feature. A head's features lie next to each other: (H, K)."),
            Mistake("K parts of H", CUT, "x.unflatten(-1, (-1, n_heads))",
                    "The last dimension was cut into K parts of H numbers. Cut it into H parts of K: unflatten(-1, (n_heads, -1)). (torch.split expects the size of a part, torch.chunk the number of parts.)"),
        ],
        also_right=[
            lambda x, h: torch.stack(x.chunk(h, dim=-1), dim=1),
            lambda x, h: x.view(*x.shape[:2], h, x.shape[-1] // h).permute(0, 2, 1, 3),
        ],
        hints=["It takes two steps: cut the last dimension in two, then swap two dimensions.",
               "x.unflatten(-1, (n_heads, -1)) cuts (B, T, D) into (B, T, H, K).",
               "x.unflatten(-1, (n_heads, -1)).transpose(1, 2)"],
        look_at="Nothing is copied: both steps only change how the numbers are read.",
    ),
    Exercise(
        name="merge_heads", title="merge the heads",
        task="Undo the split, so that (B, H, T, K) becomes (B, T, D) again, with head 0 first.",
        trained=True, minutes=3, difficulty=2, importance=5,
        pytorch="`torch.zeros(2, 3, 4).flatten(-2)` joins the last two dimensions: (2, 12). `x.transpose(0, 2)` swaps dimensions 0 and 2.",
        reference=merge_heads, draw=normal("b h t k", (1, 2, 3, 2), (2, 3, 5, 2), (3, 2, 4, 4)),
        then="The next cell uses your function to join the heads, and compares the result with the list.",
        mistakes=[
            Mistake("reshaped without transposing", "return", "x.reshape(x.shape[0], x.shape[2], -1)",
                    "The shape is right, but the numbers aren't, because words from different positions were joined. Swap H and T first, then flatten."),
            Mistake("words joined too", ".flatten(-2)", ".flatten(1)",
                    "flatten(1) joins everything from dimension 1 on, so the words end up in one long vector. Join only the last two dimensions: flatten(-2)."),
            Mistake("heads interleaved", "return", "x.permute(0, 2, 3, 1).flatten(-2)",
                    "In your result the heads' features alternate. All of head 0's should come first, then all of head 1's."),
            Mistake("heads summed", "return", "x.sum(1)",
                    "The heads were summed to (B, T, K). They should be concatenated."),
            Mistake("heads averaged", "return", "x.mean(1)",
                    "The heads were averaged to (B, T, K). They should be concatenated."),
        ],
        also_right=[lambda x: torch.cat(x.unbind(1), dim=-1)],
        hints=["Do the steps of the split backwards: swap, then join.",
               "x.transpose(1, 2) is (B, T, H, K).",
               "x.transpose(1, 2).flatten(-2)"],
        look_at="The order matters, because flattening first would join different words of one head.",
    ),
    Exercise(
        name="mixed_up_heads", title="find the bug: mixed-up heads",
        task="Several heads attend, and their contexts are put side by side. Find the two mistakes and fix them. Only one of them shows in the print-out below the function.",
        minutes=4, difficulty=3, importance=5,
        reference=mixed_up_heads, draw=normal(
            "b t d, d d, d d, d d", (1, 3, 4, 2), (2, 4, 6, 3), (2, 5, 12, 3),
            then=lambda x, *w: (x, *(one / math.sqrt(len(one)) for one in w[:3]), w[3])),
        mistakes=[
            Mistake("still as it was", "context.transpose(1, 2).flatten(-2)", "context.reshape(x.shape)",
                    "Compare every printed row with 1, 2, 3, 4: which of its numbers belong to another word? The other mistake can't show while all scores are 0.", also=(("math.sqrt(query.shape[-1])", "math.sqrt(x.shape[-1])"),)),
            Mistake("merged without transposing", "context.transpose(1, 2).flatten(-2)", "context.reshape(x.shape)",
                    "The reshape joins vectors of different words, because the heads come before the words in (B, H, T, K). Swap back with transpose(1, 2), then flatten(-2)."),
            Mistake("swapped words and features", "context.transpose(1, 2).flatten(-2)", "context.mT.reshape(x.shape)",
                    "This swaps the words with the features of a head. The dimensions to swap are the heads and the words: transpose(1, 2)."),
            Mistake("no scaling", " / math.sqrt(query.shape[-1])", "",
                    "The scores aren't divided by √d_k any more. Divide by math.sqrt(query.shape[-1])."),
            Mistake("divided by K", "math.sqrt(query.shape[-1])", "query.shape[-1]",
                    "The scores are divided by the width of a head, which leaves them far too small. Take its square root."),
            Mistake("mixes the keys", "@ value", "@ key",
                    "Here the weights mix the keys. They should mix the values."),
        ],
        also_right=[
            lambda x, w_q, w_k, w_v, n_heads: multi_head_attention(
                x, w_q, w_k, w_v, torch.eye(x.shape[-1]), n_heads
            ),
        ],
        hints=["In the print-out, every row should be 1, 2, 3, 4. Which numbers are where they belong, and which have moved to another word?",
               "context is (B, H, T, K). To put the heads side by side per word, T has to come before H.",
               "context.transpose(1, 2).flatten(-2), and math.sqrt(query.shape[-1]) for the scale."],
        look_at="Neither mistake raised an error. You found them with an input whose right answer you knew beforehand.",
    ),
    Exercise(
        name="head_contributions", title="what each head adds",
        pytorch="`torch.zeros(6, 5).unflatten(0, (2, 3))` cuts the first dimension in two: (2, 3, 5).",
        task="Multiply each head's context by the head's own K rows of W_O. Added up over the heads, these products are the layer's output.",
        minutes=4, difficulty=3, importance=4,
        reference=head_contributions,
        draw=normal("b h t k, d d", (1, 2, 3, 1, 2), (2, 2, 4, 3, 6), (3, 4, 5, 2, 8)),
        mistakes=[
            Mistake("rows interleaved", "w_o.unflatten(0, (context.shape[1], -1))", "w_o.unflatten(0, (-1, context.shape[1])).transpose(0, 1)",
                    "Each head got every H-th row of W_O. The heads are concatenated one after the other, so a head's K rows lie together: (H, K), not (K, H)."),
            Mistake("heads added up", "return", "result.sum(1)",
                    "This is already the sum over the heads. The exercise asks for each head's part, (B, H, T, D)."),
            Mistake("first head's rows for all", "context @ rows", "context @ rows[0]",
                    "Every head was multiplied by the first K rows of W_O. Each head has rows of its own."),
            Mistake("divided by the number of heads", "return", "result / context.shape[1]",
                    "The parts were divided by the number of heads, so their sum is too small. Heads are added up, not averaged."),
            Mistake("without W_O",
                    lambda context, w_o: head_contributions(context, torch.eye(len(w_o))),
                    "Each head's context sits in its own columns, with zeros elsewhere. That is the concatenation before W_O; multiply by the head's rows of W_O."),
        ],
        also_right=[
            lambda context, w_o: torch.einsum("bhtk,hkd->bhtd", context, w_o.unflatten(0, (context.shape[1], -1))),
        ],
        hints=["The D rows of W_O belong to the heads in turn: the first K to the first head, the next K to the second.",
               "unflatten(0, (H, K)) cuts the rows into heads and leaves the columns alone. The number of heads is context.shape[1], and -1 lets PyTorch work out K.",
               "w_o.unflatten(0, (context.shape[1], -1)), then context @ rows."],
        look_at="In (B, H, T, K) @ (H, K, D), the product runs once per head, and broadcasting repeats it over the batch.",
    ),
    Exercise(
        name="multi_head_attention", title="multi-head attention",
        task="Project, split, attend, merge, apply W_O. All weights are (D, D) and are applied as `x @ w`. You can call `split_heads`, `merge_heads` and `scaled_dot_product_attention`.",
        trained=True, minutes=9,
        pytorch="`context, weights = scaled_dot_product_attention(query, key, value, mask)` works on the last two dimensions and leaves those in front alone. `x @ w` multiplies every row of x by w.",
        difficulty=4, importance=5,
        reference=multi_head_attention, plain=_layer,
        draw=normal(  # T = H in the last: heads that attend across each other fit too
            "b t d, d d, d d, d d, d d", (1, 3, 4, 2, None), (2, 4, 6, 2, None),
            (2, 4, 8, 4, masks.causal_mask(4)), scale=0.75),
        then="The next cell puts your layer into the translator and draws where it attends.",
        mistakes=[
            Mistake("matrices transposed", "x @ w_q", "x @ w_q.T",
                    "All four matrices are transposed, as nn.Linear stores its own. Here rows are multiplied by matrices: x @ w_q.", also=(("x @ w_k", "x @ w_k.T"), ("x @ w_v", "x @ w_v.T"), ("merged @ w_o", "merged @ w_o.T"))),
            Mistake("no scaling", " / math.sqrt(query.shape[-1])", "",
                    "The scores aren't divided by √d_k, the square root of a head's width."),
            *(Mistake(f"root of {what}", "math.sqrt(query.shape[-1])", f"math.sqrt({size})",
                      "The scores are divided by the root of the wrong size. It should be √d_k, where d_k is the width of one head: d_model / n_heads, the last dimension of the split query.")
              for what, size in (("d_model", "x.shape[-1]"), ("the length", "x.shape[1]"))),
            Mistake("W_O forgotten", "return", "merged",
                    "The heads are concatenated, but nothing mixes them: multiply by w_o at the end."),
            Mistake("split without transposing", *SPLIT_VIEW[0],
                    "The split tears words apart: cut the last dimension, then transpose.", also=SPLIT_VIEW[1:]),
            Mistake("merged without transposing", *MERGE_VIEW,
                    "The merge joins the wrong numbers: transpose back before flattening."),
            Mistake("each head sees a slice of x", _sliced_input,
                    "Each head got its own slice of the embedding. Project the whole vector; only the projections are split."),
            Mistake("keys instead of values", "weights @ value", "weights @ key",
                    "The weights mixed the keys. They should mix the values."),
            Mistake("mask ignored", "if mask is not None", "if False",
                    "The mask has no effect. Where it is False, the score becomes −∞."),
            Mistake("scores set to zero", "-math.inf", "0.0",
                    "A hidden score of 0 still gets a weight, because e⁰ = 1. Any other number gets one as well, so a hidden score has to be −∞."),
            Mistake("mask after the softmax", "    weights = scores.softmax(-1)\n", "",
                    "The weights were set to zero after the softmax, so the rows no longer sum to one. Set the scores to −∞ before it.",
                    also=(("    if mask", "    weights = scores.softmax(-1)\n    if mask"), ("scores = scores.masked_fill", "weights = weights.masked_fill"), ("-math.inf", "0"))),
            Mistake("values not projected", "x @ w_v", "x",
                    "The words themselves were mixed. Mix the values instead, x @ w_v."),
        ],
        also_right=[_list_of_heads],
        hints=["You have the three parts: split_heads, the attention of lesson 04, merge_heads. If you skipped the first two, take ours: split_heads, merge_heads = exercises.mine('split_heads'), exercises.mine('merge_heads').",
               "query = split_heads(x @ w_q, n_heads), likewise key and value.",
               "context, _ = scaled_dot_product_attention(query, key, value, mask); then merge_heads(context) @ w_o."],
        look_at="The attention in the middle never changed, because it treats the heads as one more batch dimension.",
    ),
    Exercise(
        name="silence_head", title="silence a head",
        task="Return a copy of W_O with which one head adds nothing to the output. W_O is applied as `context @ w_o`, and heads are counted from 0.",
        minutes=4, difficulty=2, importance=3,
        reference=silence_head,
        draw=normal("d d", (4, 1, 2), (6, 0, 3), (6, 2, 3), (12, 1, 3), (8, 3, 8)),
        then="The next cell uses your function to silence the translator's costliest head.",
        mistakes=[
            Mistake("columns instead of rows", "silent[start:stop]", "silent[:, start:stop]",
                    "The columns were set to zero, which silences part of the output for all heads. A head's output is multiplied by its own rows of W_O."),
            Mistake("counted from 1", "start = head * width", "start = max(head - 1, 0) * width",
                    "You silenced the head before this one. Heads are counted from 0 here: head h begins at row h · K.",
                    also=(("(head + 1)", "head"),)),
            Mistake("H rows instead of K", "len(w_o) // n_heads", "n_heads",
                    "You counted in steps of n_heads. A head has K = D / H rows: head h begins at row h · K."),
            Mistake("begins at row h", "start = head * width", "start = head",
                    "K rows are zero, but they begin at row h. Every head before this one has K rows: begin at row h · K.",
                    also=(("(head + 1) * width", "head + width"),)),
            Mistake("rows taken out", "return", "torch.cat([w_o[:start], w_o[stop:]])",
                    "The rows are gone, so the concatenated heads no longer fit W_O. Set them to zero instead."),
            Mistake("every H-th row", "silent[start:stop]", "silent[head::n_heads]",
                    "Every H-th row is zero, as if heads were interleaved. A head's rows lie together."),
        ],
        also_right=[
            lambda w, h, n: w * (torch.arange(len(w)) // (len(w) // n) != h)[:, None],
            lambda w, h, n: torch.cat([part * (i != h) for i, part in enumerate(w.chunk(n, dim=0))], dim=0),
        ],
        pytorch="`w.clone()` is a copy that you can write into. `w.unflatten(0, (H, -1))` is a view with a dimension for the heads: what you write into a view lands in the tensor behind it.",
        hints=["When the heads are concatenated, which rows of W_O is the output of head h multiplied by?",
               "Rows h·K to (h+1)·K, with K = len(w_o) // n_heads.",
               "Copy first: silent = w_o.clone(); silent[head * K : (head + 1) * K] = 0."],
        look_at="The copy comes first. Without clone(), you would have changed the caller's matrix.",
    ),
]
