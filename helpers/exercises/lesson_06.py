"""Lesson 06, multi-head attention."""

import math

import torch

from helpers import attention, masks
from helpers.exercises.model import Exercise, Mistake


def split_heads(x, n_heads):
    """Cut the last axis into heads: (B, T, D) -> (B, H, T, K)."""
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge_heads(x):
    """Lay the heads side by side again: (B, H, T, K) -> (B, T, D)."""
    return x.transpose(1, 2).flatten(-2)


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """Attend with every head and join what they found."""
    query, key, value = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    context, _ = attention.scaled_dot_product_attention(query, key, value, mask)
    return merge_heads(context) @ w_o


def silence_head(w_o, head, n_heads):
    """Return W_O with the rows of one head at zero: what it writes comes to nothing."""
    width = w_o.shape[0] // n_heads
    silent = w_o.clone()
    silent[head * width : (head + 1) * width] = 0
    return silent


def _draw_split(generator):
    return [
        (torch.randn(1, 3, 4, generator=generator), 2),
        (torch.randn(2, 5, 6, generator=generator), 3),
        (torch.randn(3, 4, 8, generator=generator), 2),
    ]


def _draw_merge(generator):
    shapes = [(1, 2, 3, 2), (2, 3, 5, 2), (3, 2, 4, 4)]
    return [(torch.randn(shape, generator=generator),) for shape in shapes]


def _draw_layer(generator):
    cases = []
    for batch, length, width, heads, mask in [
        (1, 3, 4, 2, None),
        (2, 4, 6, 3, None),
        (2, 4, 8, 4, masks.causal_mask(4)),  # T = H: heads that attend across each other fit too
    ]:
        weights = [torch.randn(width, width, generator=generator) / 1.5 for _ in range(4)]
        x = torch.randn(batch, length, width, generator=generator)
        cases.append((x, *weights, heads, mask))
    return cases


def _draw_silence(generator):
    return [
        (torch.randn(4, 4, generator=generator), 1, 2),
        (torch.randn(6, 6, generator=generator), 0, 3),
        (torch.randn(6, 6, generator=generator), 2, 3),
    ]


def _layer(
    split=split_heads,
    merge=merge_heads,
    scale=None,
    output=True,
    polarity=True,
    roles="qkv",
    over=-1,
    late=False,
    hidden=-math.inf,
):
    """Make a layer that goes wrong in the ways asked for."""

    def attend(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
        matrices = {"q": w_q, "k": w_k, "v": w_v}
        query, key, value = (split(x @ matrices[role], n_heads) for role in roles)
        width = key.shape[-1]
        width = {None: width, "D": x.shape[-1], "none": 1, "square": width**2}[scale]
        scores = query @ key.transpose(-2, -1) / math.sqrt(width)
        if mask is not None and not late:
            scores = scores.masked_fill(mask if not polarity else ~mask, hidden)
        weights = scores.softmax(over)
        if mask is not None and late:
            weights = weights.masked_fill(~mask, 0)
        merged = merge(weights @ value)
        return merged @ w_o if output else merged

    return attend


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


def _einsum(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (
        torch.einsum("btd,dhk->bhtk", x, w.unflatten(1, (n_heads, -1))) for w in (w_q, w_k, w_v)
    )
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    return torch.einsum(
        "bhts,bhsk,hkd->btd", scores.softmax(-1), v, w_o.unflatten(0, (n_heads, -1))
    )


def _interleaved(x, n_heads):
    return x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)


def _view_only(x, n_heads):
    batch, length, width = x.shape
    return x.reshape(batch, n_heads, length, width // n_heads)


EXERCISES = [
    Exercise(
        name="split_heads",
        title="split into heads",
        task="Cut the last axis into n_heads parts of equal width: (B, T, D) to (B, H, T, K).",
        minutes=5,
        difficulty=2,
        importance=5,
        reference=split_heads,
        draw=_draw_split,
        mistakes=[
            Mistake(
                "reshaped without transposing",
                _view_only,
                "The shape is right and the numbers are not: a reshape straight to (B, H, T, K) tears words apart. Cut the last axis first, (B, T, H, K), then swap T and H.",
            ),
            Mistake(
                "not transposed",
                lambda x, h: x.unflatten(-1, (h, -1)),
                "This is (B, T, H, K). Attention needs words next to the width: swap the axes T and H.",
            ),
            Mistake(
                "heads and width exchanged",
                lambda x, h: x.unflatten(-1, (-1, h)).permute(0, 3, 1, 2),
                "The last axis was cut as (K, H): head 0 took every H-th feature. Its features lie next to each other: (H, K).",
            ),
            Mistake(
                "K parts of H",
                lambda x, h: x.unflatten(-1, (-1, h)).transpose(1, 2),
                "The last axis was cut into K parts of H numbers. Cut it into H parts of K: unflatten(-1, (n_heads, -1)). (torch.split asks for the size of a part, torch.chunk for their number.)",
            ),
            Mistake(
                "width first",
                lambda x, h: x.unflatten(-1, (h, -1)).permute(0, 2, 3, 1),
                "This is (B, H, K, T). Words come before the width.",
            ),
            Mistake(
                "batch and heads exchanged",
                lambda x, h: x.unflatten(-1, (h, -1)).permute(2, 0, 1, 3),
                "This is (H, B, T, K). The batch stays in front.",
            ),
        ],
        also_right=[
            lambda x, h: torch.stack(x.chunk(h, dim=-1), dim=1),
            lambda x, h: x.view(*x.shape[:2], h, x.shape[-1] // h).permute(0, 2, 1, 3),
        ],
        hints=[
            "Two moves: cut the last axis in two, then swap two axes.",
            "x.unflatten(-1, (n_heads, -1)) cuts (B, T, D) into (B, T, H, K).",
            "x.unflatten(-1, (n_heads, -1)).transpose(1, 2)",
        ],
        look_at="Nothing is copied: both moves only change how the numbers are read.",
    ),
    Exercise(
        name="merge_heads",
        title="merge the heads",
        task="Undo the split: (B, H, T, K) to (B, T, D), head 0 first.",
        minutes=4,
        difficulty=2,
        importance=5,
        reference=merge_heads,
        draw=_draw_merge,
        mistakes=[
            Mistake(
                "reshaped without transposing",
                lambda x: x.reshape(x.shape[0], x.shape[2], -1),
                "The shape is right and the numbers are not: words of different places were joined. Swap H and T first, then flatten.",
            ),
            Mistake(
                "not flattened",
                lambda x: x.transpose(1, 2),
                "This is (B, T, H, K). Join the last two axes with flatten(-2).",
            ),
            Mistake(
                "heads interleaved",
                lambda x: x.permute(0, 2, 3, 1).flatten(-2),
                "The heads' features alternate. Head 0's features come first, all of them, then head 1's.",
            ),
            Mistake(
                "heads summed",
                lambda x: x.sum(1),
                "The heads were added up to (B, T, K). They are laid side by side.",
            ),
            Mistake(
                "heads averaged",
                lambda x: x.mean(1),
                "The heads were averaged to (B, T, K). They are laid side by side.",
            ),
        ],
        also_right=[
            lambda x: torch.cat(x.unbind(1), dim=-1),
            lambda x: x.permute(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1),
        ],
        hints=[
            "The moves of the split, backwards: swap, then join.",
            "x.transpose(1, 2) is (B, T, H, K).",
            "x.transpose(1, 2).flatten(-2)",
        ],
        look_at="The order matters. Flattening first would join the words of one head.",
    ),
    Exercise(
        name="multi_head_attention",
        title="multi-head attention",
        task="Project, split, attend, merge, apply W_O. All weights are (D, D), rows times matrices.",
        minutes=12,
        difficulty=4,
        importance=5,
        reference=multi_head_attention,
        draw=_draw_layer,
        mistakes=[
            Mistake(
                "divided by √D",
                _layer(scale="D"),
                "The scores are divided by √d_model. The vectors that meet are one head wide: divide by √(D / H).",
            ),
            Mistake(
                "no scaling",
                _layer(scale="none"),
                "The scores are not divided by √d_k.",
            ),
            Mistake(
                "W_O forgotten",
                _layer(output=False),
                "The heads lie side by side, but nothing mixes them: multiply by w_o at the end.",
            ),
            Mistake(
                "split without transposing",
                _layer(split=_view_only),
                "The split tears words apart: cut the last axis, then transpose.",
            ),
            Mistake(
                "merged without transposing",
                _layer(merge=lambda x: x.reshape(x.shape[0], x.shape[2], -1)),
                "The merge joins the wrong numbers: transpose back before flattening.",
            ),
            Mistake(
                "one head",
                lambda x, q, k, v, o, n_heads, mask=None: multi_head_attention(
                    x, q, k, v, o, 1, mask
                ),
                "This is one head of full width. Split into n_heads first.",
            ),
            Mistake(
                "each head sees a slice of x",
                _sliced_input,
                "Each head got its own slice of the embedding. Project the whole vector; only the projections are split.",
            ),
            Mistake(
                "keys instead of values",
                _layer(roles="qkk"),
                "The weights mixed the keys. They mix the values.",
            ),
            Mistake(
                "mask ignored",
                lambda x, q, k, v, o, n_heads, mask=None: multi_head_attention(
                    x, q, k, v, o, n_heads
                ),
                "The mask has no effect. Where it is False the score becomes −∞.",
            ),
            Mistake(
                "mask turned round",
                _layer(polarity=False),
                "The mask is turned round: where it is True a word may be seen. Fill where it is False: scores.masked_fill(~mask, -math.inf).",
            ),
            Mistake(
                "projections transposed",
                lambda x, q, k, v, o, n_heads, mask=None: multi_head_attention(
                    x, q.T, k.T, v.T, o.T, n_heads, mask
                ),
                "You multiplied by the transposed matrices. Here they are rows times matrices, x @ w_q; only nn.Linear keeps them the other way.",
            ),
            Mistake(
                "heads attend across themselves",
                _layer(split=lambda x, h: x.unflatten(-1, (h, -1)), merge=lambda x: x.flatten(-2)),
                "The axes of words and heads were not swapped, so within each word the heads attend to each other. Words must stand next to the width: transpose(1, 2) after the cut, and back before the join.",
            ),
            Mistake(
                "split and merged without transposing",
                _layer(split=_view_only, merge=lambda x: x.reshape(x.shape[0], x.shape[2], -1)),
                "Split and merge undo each other, but between them words are torn apart: a reshape straight to (B, H, T, K) is no split. Cut the last axis, (B, T, H, K), then swap T and H; swap back before you join.",
            ),
            Mistake(
                "heads interleaved",
                _layer(split=_interleaved, merge=lambda x: x.permute(0, 2, 3, 1).flatten(-2)),
                "Head 0 took every H-th column. The columns of a head lie next to each other: cut the last axis as (H, K), not (K, H).",
            ),
            Mistake(
                "softmax over the queries",
                _layer(over=-2),
                "The softmax ran over the queries. Each query's row sums to one: softmax(-1).",
            ),
            Mistake(
                "softmax over the heads",
                _layer(over=1),
                "The softmax ran over the heads. Each head's row sums to one for itself: softmax(-1).",
            ),
            Mistake(
                "mask after the softmax",
                _layer(late=True),
                "The weights were set to zero after the softmax, so the rows no longer sum to one. Set the scores to −∞ before it.",
            ),
            Mistake(
                "masked with 0",
                _layer(hidden=0.0),
                "Hidden scores were set to 0, and e⁰ = 1 is no small weight. Set them to −∞.",
            ),
            Mistake(
                "queries and keys exchanged",
                _layer(roles="kqv"),
                "Queries and keys are exchanged: x @ w_q asks, x @ w_k is found, scores = query @ key.transpose(-2, -1).",
            ),
            Mistake(
                "divided by K",
                _layer(scale="square"),
                "The scores are divided by d_k, or twice by its root. Divide once, by √(D / H).",
            ),
            Mistake(
                "W_O transposed",
                lambda x, q, k, v, o, n_heads, mask=None: multi_head_attention(
                    x, q, k, v, o.T, n_heads, mask
                ),
                "Only w_o is transposed. Here it is rows times matrices like the others: merged @ w_o.",
            ),
            Mistake(
                "values not projected",
                lambda x, q, k, v, o, n_heads, mask=None: multi_head_attention(
                    x, q, k, torch.eye(len(v)), o, n_heads, mask
                ),
                "The words themselves were mixed. What is mixed is the values, x @ w_v.",
            ),
            Mistake("divided by √D + W_O forgotten", _layer(scale="D", output=False)),
            Mistake("no scaling + W_O forgotten", _layer(scale="none", output=False)),
        ],
        also_right=[_list_of_heads, _einsum],
        hints=[
            "You have the three parts: split_heads, the attention of lesson 04, merge_heads. If you left the first two out, take ours: from helpers.exercises.lesson_06 import split_heads, merge_heads.",
            "query = split_heads(x @ w_q, n_heads), likewise key and value.",
            "context, _ = scaled_dot_product_attention(query, key, value, mask); then merge_heads(context) @ w_o.",
        ],
        look_at="The attention itself does not know about heads: they are one more batch axis to it.",
    ),
    Exercise(
        name="silence_head",
        title="silence a head",
        task="Return W_O (rows times matrices) with which one head writes nothing. Heads count from 0.",
        minutes=4,
        difficulty=2,
        importance=3,
        reference=silence_head,
        draw=_draw_silence,
        mistakes=[
            Mistake(
                "columns instead of rows",
                lambda w, h, n: silence_head(w.T, h, n).T,
                "The columns were set to zero: that silences part of the output for all heads. A head's answer meets its own rows of W_O.",
            ),
            Mistake(
                "all but this head",
                lambda w, h, n: w - silence_head(w, h, n),
                "Only this head is left, and all others are silent. It is the other way round.",
            ),
            Mistake(
                "the next head",
                lambda w, h, n: silence_head(w, (h + 1) % n, n),
                "Another head is silent: head h begins at row h · K, counted from 0.",
            ),
            Mistake(
                "counted from 1",
                lambda w, h, n: w if h == 0 else silence_head(w, h - 1, n),
                "The head before was silenced. Heads count from 0 here: head h begins at row h · K.",
            ),
            Mistake(
                "H rows instead of K",
                lambda w, h, n: (
                    w
                    * ((torch.arange(len(w)) < h * n) | (torch.arange(len(w)) >= (h + 1) * n))[
                        :, None
                    ]
                ),
                "You counted in steps of n_heads. A head has K = D / H rows: head h begins at row h · K.",
            ),
            Mistake(
                "begins at row h",
                lambda w, h, n: (
                    w
                    * ((torch.arange(len(w)) < h) | (torch.arange(len(w)) >= h + len(w) // n))[
                        :, None
                    ]
                ),
                "K rows are zero, but they begin at row h. Every head before it has K rows: begin at row h · K.",
            ),
            Mistake(
                "all heads from this one on",
                lambda w, h, n: w * (torch.arange(len(w)) < h * (len(w) // n))[:, None],
                "This head and all after it are silent: its rows end at (h + 1) · K.",
            ),
            Mistake(
                "all heads up to this one",
                lambda w, h, n: w * (torch.arange(len(w)) >= (h + 1) * (len(w) // n))[:, None],
                "This head and all before it are silent: its rows begin at h · K.",
            ),
            Mistake(
                "rows taken out",
                lambda w, h, n: torch.cat([w[: h * (len(w) // n)], w[(h + 1) * (len(w) // n) :]]),
                "The rows are gone, and the heads side by side no longer fit W_O. Set them to zero instead.",
            ),
            Mistake(
                "one row only",
                lambda w, h, n: w * (torch.arange(len(w)) != h)[:, None],
                "One single row is zero. A head has K = D / H rows.",
            ),
            Mistake(
                "every H-th row",
                lambda w, h, n: w * (torch.arange(len(w)) % n != h)[:, None],
                "Every H-th row is zero, as if heads were interleaved. A head's rows lie together.",
            ),
        ],
        also_right=[
            lambda w, h, n: w * (torch.arange(len(w)) // (len(w) // n) != h)[:, None],
            lambda w, h, n: torch.cat(
                [part * (i != h) for i, part in enumerate(w.chunk(n, dim=0))], dim=0
            ),
        ],
        hints=[
            "Which rows of W_O does the answer of head h meet, when the heads lie side by side?",
            "Rows h·K to (h+1)·K, with K = len(w_o) // n_heads.",
            "Copy first: silent = w_o.clone(); silent[head * K : (head + 1) * K] = 0.",
        ],
        look_at="clone() first: without it the caller's matrix would be changed.",
    ),
]
