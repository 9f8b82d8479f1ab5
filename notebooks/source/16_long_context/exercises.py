"""Lesson 16, who pays for long context?"""

import math

import torch
import torch.nn.functional as F

from helpers.exercises.model import Exercise, Mistake, normal
from helpers.models import efficient, patterns


def cache_size(n_tokens, n_layers, n_heads, d_head, bytes_per_number=2):
    """Count the bytes of all keys and values of a text."""
    numbers = n_tokens * n_layers * n_heads * d_head
    return 2 * numbers * bytes_per_number


def window_mask(length, window):
    """Allow the last `window` positions, the query's own included: (T, T) bool."""
    place = torch.arange(length)
    back = place[:, None] - place
    return (back >= 0) & (back < window)


def strided_mask(length, stride):
    """Allow the last `stride` positions, and every `stride`-th before them: (T, T) bool."""
    place = torch.arange(length)
    back = place[:, None] - place
    near = back < stride
    every = back % stride == 0
    return (near | every) & (back >= 0)


def global_mask(length, window, n_global):
    """Allow a window on both sides; the first `n_global` positions see all and are seen by all."""
    place = torch.arange(length)
    back = place[:, None] - place
    mask = back.abs() < window
    mask[:n_global] = True
    mask[:, :n_global] = True
    return mask


def reach(mask, n_layers):
    """Say which inputs can influence which outputs after some layers: (T, T) bool."""
    step = mask.float()
    reached = torch.eye(len(mask))
    for _ in range(n_layers):
        reached = step @ reached
    return reached > 0


def online_softmax_step(largest, total, scores):
    """Take in one more block of scores per query: (T,), (T,), (T, block) -> largest, total."""
    new = torch.maximum(largest, scores.amax(-1))
    total = total * (largest - new).exp() + (scores - new[:, None]).exp().sum(-1)
    return new, total


def forgetful_tiles(query, keys, values):
    """Attend with one query, two keys at a time: (K,), (S, K), (S, D_v) -> (D_v,)."""
    largest, total, mixed = torch.tensor(-math.inf), 0.0, 0.0
    for k, v in zip(keys.split(2), values.split(2), strict=True):
        scores = k @ query / math.sqrt(len(query))
        new = torch.maximum(largest, scores.max())
        shrink, powers = (largest - new).exp(), (scores - new).exp()
        total = total * shrink + powers.sum()
        mixed = mixed * shrink + powers @ v
        largest = new
    return mixed / total


def linear_attention(query, key, value):
    """Attend with weights φ(q)·φ(k): (..., T, K), (..., S, K), (..., S, D_v) -> (..., T, D_v)."""
    query, key = F.elu(query) + 1, F.elu(key) + 1
    state = key.transpose(-2, -1) @ value
    total = key.sum(-2).unsqueeze(-1)
    return query @ state / (query @ total)


def linear_attention_step(query, key, value, state, total):
    """Take in one token, then attend: (K,), (K,), (D_v,), (K, D_v), (K,) -> context and both."""
    query, key = F.elu(query) + 1, F.elu(key) + 1
    state = state + key[:, None] * value
    total = total + key
    return query @ state / (query @ total), state, total


def _step_by_sums(largest, total, scores):
    everything = total * largest.exp() + scores.exp().sum(-1)
    new = torch.cat([largest[:, None], scores], -1).max(-1).values
    return new, everything / new.exp()


TO_THE_FUTURE = (
    "Positions to the right of the query are allowed as well. In a decoder, `back` must not be "
    "negative: keep back >= 0."
)
NOT_DIVIDED = (
    "The weights don't sum to 1. Divide by the sum of the weights, which is φ(q) · Σ φ(k), or "
    "query @ total."
)
NO_FEATURES = (
    "The feature map is missing, so weights can be negative and their sum can be zero. Map queries "
    "and keys with F.elu(x) + 1."
)
NO_ONE = "elu goes down to −1, so these features can be negative. The + 1 makes them all positive."
QUERY_RAW = "The queries don't pass through the feature map. Both sides need it: F.elu(query) + 1."
KEY_RAW = "The keys don't pass through the feature map. Both sides need it: F.elu(key) + 1."
FEATURES = "F.elu(query) + 1, F.elu(key) + 1"

# fmt: off
EXERCISES = [
    Exercise(
        name="cache_size", title="the size of a cache",
        task="Count the bytes that a decoder's cache needs for a text of n_tokens tokens: keys and values, per layer and head, each d_head numbers wide.",
        minutes=2, difficulty=1, importance=4,
        reference=cache_size,
        draw=lambda generator: [(5, 2, 3, 4, 2), (7, 3, 2, 8, 4), (100, 12, 5, 64, 1), (11, 4, 6, 16, 2)],
        mistakes=[
            Mistake("keys only", "2 * numbers", "numbers",
                    "Only the keys are counted, or only the values. The cache holds both, so there is a factor of 2."),
            Mistake("one layer", " * n_layers", "",
                    "This is the cache of a single layer. Every layer has keys and values of its own."),
            Mistake("one head", " * n_heads", "",
                    "This is the cache of a single head. Every head has keys and values of its own."),
            Mistake("numbers, not bytes", " * bytes_per_number", "",
                    "You've counted numbers. Each of them takes bytes_per_number bytes."),
            Mistake("every pair of tokens", "n_tokens * n_layers", "n_tokens * n_tokens * n_layers",
                    "This grows with the square of the length, as the weights do. The cache holds keys and values, one of each per token."),
        ],
        also_right=[efficient.cache_size],
        hints=["Start with one token in one layer and one head: how many numbers are its key and its value together?",
               "2 * d_head numbers per token, layer and head. Multiply by all three counts, then by the bytes per number."],
        look_at="Everything is multiplied, so halving any one of the factors halves the cache. Grouped-query attention reduces n_heads, 8-bit numbers reduce the bytes, and a window reduces n_tokens.",
    ),
    Exercise(
        name="window_mask", title="a sliding window",
        task="`back` says how many positions a key is behind its query. Allow the query itself and the positions before it, `window` positions in all, and none of the future.",
        minutes=2, difficulty=2, importance=4,
        reference=window_mask, draw=lambda generator: [(4, 2), (6, 3), (7, 5), (9, 4)],
        mistakes=[
            Mistake("one too many", "back < window", "back <= window",
                    "The window is one position too wide. Counting from 0 to window makes window + 1 positions, because the query itself counts."),
            Mistake("one too few", "back < window", "back < window - 1",
                    "The window is one position too narrow. The query itself is 0 positions back, so the furthest key allowed is window − 1 back."),
            Mistake("without itself", "back >= 0", "back > 0",
                    "The query itself isn't allowed here, so the first position has nothing to attend to. It's 0 positions back, and the window includes it."),
            Mistake("all of the future", "(back >= 0) & ", "", TO_THE_FUTURE),
            Mistake("both sides", "back >= 0", "back > -window",
                    "The window also covers the right-hand side, as in an encoder. Here only the past is allowed: back >= 0."),
            Mistake("both sides, and one more", "back >= 0", "back >= -window",
                    "The window also covers the right-hand side, as in an encoder. Here only the past is allowed: back >= 0."),
            Mistake("only causal", " & (back < window)", "",
                    "This is the causal mask. Mask out whatever is `window` or more positions behind."),
        ],
        also_right=[patterns.window_mask],
        hints=["Write down `back` for the last query of five: 4 3 2 1 0. Which of these belong to a window of 2?",
               "The future is ruled out, so back is 0 or more. Whatever is too far away is ruled out, too, so back is below the window."],
        look_at="The diagonal is back = 0. A window of 1 is the identity, so each position sees only itself.",
    ),
    Exercise(
        name="strided_mask", title="near, and every so often",
        task="Allow the last `stride` positions, the query's own included. Further back, allow every position whose distance from the query is a multiple of `stride`. Allow none of the future.",
        minutes=5, difficulty=3, importance=3,
        reference=strided_mask, draw=lambda generator: [(7, 2), (8, 3), (11, 4), (13, 5)],
        mistakes=[
            Mistake("window only", "(near | every)", "near",
                    "This is the window alone. Every stride-th position further back is missing."),
            Mistake("stride only", "(near | every)", "every",
                    "The near positions are missing. Without them, nothing between two strides reaches the query."),
            Mistake("both at once", "near | every", "near & every",
                    "A key has to be near *and* at a multiple of the stride here, which leaves only the query itself. Either is enough: use |."),
            Mistake("counted from the beginning", "back % stride", "place % stride",
                    "These are fixed columns, the same for every query. That's a pattern too, but here the steps are counted back from the query."),
            Mistake("future too", " & (back >= 0)", "", TO_THE_FUTURE),
        ],
        also_right=[patterns.strided_mask],
        hints=["Start from `back` again, as in window_mask. Two conditions are each enough on their own. A third must hold in any case.",
               "near = back < stride; every = back % stride == 0.",
               "(near | every) & (back >= 0)"],
        look_at="Each query sees about `stride` near positions and length / stride far ones. The sum is smallest for a stride near √length.",
    ),
    Exercise(
        name="global_mask", title="a few that see everything",
        task="Make the mask of an encoder. Each position attends to a window on both sides (distance below `window`). The first n_global positions attend to all, and all attend to them.",
        minutes=4, difficulty=2, importance=3,
        reference=global_mask, draw=lambda generator: [(6, 2, 1), (8, 2, 3), (9, 3, 2), (11, 2, 4)],
        mistakes=[
            Mistake("nobody attends to them", "    mask[:, :n_global] = True\n", "",
                    "The global positions attend to all, but not all attend to them. Their columns have to be True as well."),
            Mistake("they see only their window", "    mask[:n_global] = True\n", "",
                    "All positions attend to the global ones, but the global ones attend only to their window, so they have little to pass on. Their rows have to be True as well."),
            Mistake("no global positions", "    mask[:n_global] = True\n    mask[:, :n_global] = True\n", "",
                    "This is the window alone. Rows and columns of the first n_global positions have to be True."),
            Mistake("only among themselves", "mask[:n_global] = True", "mask[:n_global, :n_global] = True",
                    "The global positions see only one another. Their whole rows and their whole columns should be True.",
                    also=(("    mask[:, :n_global] = True\n", ""),)),
            Mistake("past only", "back.abs() < window", "(back >= 0) & (back < window)",
                    "The window looks only to the left. In an encoder it covers both sides: back.abs() < window."),
        ],
        also_right=[patterns.global_mask],
        hints=["First the window: a distance has no sign, so use abs().",
               "A row says what a position attends to, a column says what attends to it. Global positions need both.",
               "mask[:n_global] = True sets rows; mask[:, :n_global] = True sets columns."],
        look_at="A row of True costs `length` scores, and so does a column. A few global positions therefore add a cost in proportion to the length.",
    ),
    Exercise(
        name="reach", title="how far does it get?",
        task="Say which inputs can influence which outputs after n_layers layers that all use the same mask. With no layers at all, a position is influenced only by itself. Each further layer is one matrix product with the mask. Every mask here allows a position to attend to itself.",
        minutes=4, difficulty=3, importance=4,
        reference=reach,
        # Windows, a stride, masks by chance, all with the diagonal; and a window without a layer.
        draw=lambda generator: [
            (patterns.window_mask(5, 2), 2),
            ((torch.rand(7, 7, generator=generator) < 0.2) | torch.eye(7, dtype=torch.bool), 3),
            (patterns.strided_mask(9, 3), 1),
            (patterns.window_mask(10, 2), 2),
            (patterns.window_mask(9, 3, causal=False), 3),
            (patterns.window_mask(6, 3), 0)],
        mistakes=[
            Mistake("one layer too many", "range(n_layers)", "range(n_layers + 1)",
                    "This is the reach after one layer too many. The mask itself is already one layer, so start from the identity instead."),
            Mistake("starts from the mask", "torch.eye(len(mask))", "mask.float()",
                    "This starts from the mask, so positions influence each other even with no layer at all. Start from the identity, and multiply n_layers times.",
                    also=(("range(n_layers)", "range(n_layers - 1)"),)),
            Mistake("one layer", "return reached > 0", "return mask",
                    "This is the reach after one layer, because n_layers isn't used. What does a second layer add?"),
            Mistake("as many layers as positions", "range(n_layers)", "range(len(mask))",
                    "The number of layers has no effect here. Multiply n_layers times."),
            Mistake("doubles at each layer", "step @ reached", "reached @ reached",
                    "Multiplying `reached` by itself doubles the number of layers each time. Each layer is one more product with the mask.",
                    also=(("torch.eye(len(mask))", "mask.float()"),)),
            Mistake("transposed", "mask.float()", "mask.T.float()",
                    "Rows and columns are exchanged, so this says what an input influences. Rows are outputs, columns are inputs."),
        ],
        also_right=[patterns.reach],
        hints=["If t attends to u in this layer, everything that u had reached before now reaches t.",
               "Entry (t, s) of step @ reached sums step[t, u] · reached[u, s] over u: it counts the ways from s to t.",
               "Repeat reached = step @ reached once per layer, and ask at the end where it is above 0."],
        look_at="The product is a power of the mask, and its entry (t, s) counts the paths from input s to output t.",
    ),
    Exercise(
        name="online_softmax_step", title="one block more",
        task="For each of T queries, `largest` is the largest score so far and `total` the sum of exp(score − largest), both of shape (T,). Take in a further block of scores, (T, block). Return the new largest scores, and the new sums relative to them.",
        minutes=4, difficulty=3, importance=4,
        reference=online_softmax_step,
        draw=normal(  # a block of scores holds a new maximum or doesn't
            "t, t, t b", (2, 3), (3, 2), (4, 5),
            then=lambda largest, total, scores: (largest, 1 + 2 * total.abs(), scores)),
        mistakes=[
            Mistake("old sum not rescaled", " * (largest - new).exp()", "",
                    "The old sum is still relative to the old maximum. Multiply it by exp(largest − new)."),
            Mistake("rescaled the wrong way", "(largest - new)", "(new - largest)",
                    "The old sum is rescaled in the wrong direction. When the maximum rises, each old term gets smaller: exp(largest − new)."),
            Mistake("the block's maximum alone", "torch.maximum(largest, scores.amax(-1))", "scores.amax(-1)",
                    "`new` is the maximum of this block alone, and may be smaller than the one before. Take the larger of the two."),
            Mistake("relative to the block", "new[:, None]", "scores.amax(-1, keepdim=True)",
                    "The new terms are relative to the block's own maximum. Both parts of the sum must be relative to the same number, the new maximum."),
            Mistake("no maximum subtracted", "(scores - new[:, None])", "scores",
                    "The new terms are plain exponentials. They must be relative to the new maximum, like the old ones."),
            Mistake("old sum forgotten", "total * (largest - new).exp() + ", "",
                    "The sum from before this block is lost. Add the new terms to it."),
        ],
        also_right=[_step_by_sums],
        hints=["First find the new maximum, the larger of the old one and the block's.",
               "The old sum is Σ exp(score − largest). You want Σ exp(score − new). By which factor do the two differ?",
               "total * (largest - new).exp() + (scores - new[:, None]).exp().sum(-1)"],
        look_at="Two numbers per query stand for all earlier scores, however many there were.",
    ),
    Exercise(
        name="forgetful_tiles", title="find the bug: forgetful tiles",
        task="This function is meant to compute ordinary attention for one query, reading two keys at a time. Look at the print-out: where is it right, and where does the error begin? Then mend its two mistakes.",
        minutes=4, difficulty=3, importance=4,
        reference=forgetful_tiles, draw=normal(  # an odd number of keys leaves a block of one
            "k, s k, s v", (2, 4, 3), (3, 5, 2), (4, 8, 6), (5, 7, 4),
            then=lambda query, keys, values: (2 * query, keys, values)),
        mistakes=[
            Mistake("still as it was", "mixed * shrink", "mixed",
                    "Compare the printed errors. With a single block of two keys there is none, so it must begin with the second block. Which quantities are carried from one block to the next, and relative to which score is each of them?", also=(("largest = new\n", "largest = scores.max()\n"),)),
            Mistake("mixture not rescaled", "mixed * shrink", "mixed",
                    "The sum is rescaled when the maximum changes, but the mixture isn't. Both are relative to the largest score so far."),
            Mistake("new block shrunk as well", "mixed * shrink + powers @ v", "(mixed + powers @ v) * shrink",
                    "The new block's mixture shrinks, too, although it's already relative to the new maximum. Shrink only what was there before."),
            Mistake("sum not rescaled", "total * shrink", "total",
                    "The mixture is rescaled when the maximum changes, but the sum isn't. Both are relative to the largest score so far."),
            Mistake("the block's maximum kept", "largest = new\n", "largest = scores.max()\n",
                    "`largest` becomes the maximum of this block, although sum and mixture are relative to `new`, the largest of all so far."),
            Mistake("no scaling", " / math.sqrt(len(query))", "",
                    "The scores aren't divided by √d_k."),
            Mistake("never divided", "mixed / total", "mixed",
                    "The mixture is never divided by the sum, so the weights don't sum to 1."),
        ],
        also_right=[lambda query, keys, values: efficient.tiled_attention(query[None], keys, values, 3)[0]],
        hints=["As long as there is a single block, everything is right. So look at what has to happen between one block and the next.",
               "Sum and mixture are both relative to the largest score so far. When that rises, both have to shrink.",
               "mixed = mixed * shrink + powers @ v, and largest = new."],
        look_at="Three things are carried from block to block: the largest score, the sum and the mixture. None of them grows with the length.",
    ),
    Exercise(
        name="linear_attention", title="linear attention",
        task="Mix the values with weights φ(q)·φ(k), where φ(x) = elu(x) + 1. Multiply keys and values first, so that no matrix of queries by keys appears, and divide by the sum of each query's weights.",
        minutes=4, difficulty=3, importance=5,
        reference=linear_attention,
        draw=normal(  # T, S, K and D_v all differ; then T and S are equal
            "… t k, … s k, … s v", ((), 2, 3, 4, 5), (2, 3, 8, 5, 4), ((), 6, 4, 3, 2),
            ((), 5, 3, 5, 2), (2, 4, 3, 4, 5)),
        mistakes=[
            Mistake("not divided", " / (query @ total)", "", NOT_DIVIDED),
            Mistake("no feature map", f"    query, key = {FEATURES}\n", "", NO_FEATURES),
            Mistake("queries not mapped", "F.elu(query) + 1, ", "query, ", QUERY_RAW),
            Mistake("keys not mapped", "F.elu(key) + 1", "key", KEY_RAW),
            Mistake("one not added", FEATURES, "F.elu(query), F.elu(key)", NO_ONE),
            Mistake("divided by one sum for all", "(query @ total)", "key.sum()",
                    "You divide every query by the same number. Each query has its own sum of weights, query @ total."),
        ],
        also_right=[efficient.linear_attention],
        hints=["Which two of the three matrices can be multiplied without producing a matrix of queries by keys? Look at the shapes.",
               "state = φ(K)ᵀ V has shape (K, D_v). The sum of the weights of query q is φ(q) · Σ φ(k).",
               "query @ state / (query @ total), with total = key.sum(-2).unsqueeze(-1)."],
        look_at="T and S never meet in one product, so the cost doesn't grow with T · S.",
    ),
    Exercise(
        name="linear_attention_step", title="one token more",
        task="The tokens so far have been summed up in state = Σ φ(k) vᵀ and total = Σ φ(k). Add the new token to both, then let its query read from them. Return the context, the new state and the new total.",
        minutes=4, difficulty=3, importance=5,
        reference=linear_attention_step,
        draw=normal(  # one token, and what the tokens before it left behind
            "k, k, v, k v, k", (2, 3), (4, 2), (3, 5),
            then=lambda q, k, v, state, total: (q, k, v, state, total.abs() + 0.5)),
        mistakes=[
            Mistake("reads before it writes", "return", "(query @ (state - key[:, None] * value) / (query @ (total - key)), state, total)",
                    "The query reads before its own token is added. A position is allowed to attend to itself, so add first."),
            Mistake("state replaced", "state + key[:, None] * value", "key[:, None] * value",
                    "The new token replaces the state. It has to be added, or all earlier tokens are forgotten."),
            Mistake("total not updated", "total + key", "total",
                    "The state takes in the new token, but the total doesn't, so the weights no longer sum to 1. Add φ(k) to it."),
            Mistake("total replaced", "total + key", "key",
                    "The new key replaces the total. It has to be added to it."),
            Mistake("state not updated", "state + key[:, None] * value", "state",
                    "The state never takes in the new token. Add the outer product of φ(k) and v."),
            Mistake("value without its key", "key[:, None] * value", "value",
                    "The value is added to every row alike. Each row of the state is one feature of the key, so multiply: key[:, None] * value."),
            Mistake("not divided", " / (query @ total)", "", NOT_DIVIDED),
            Mistake("no feature map", f"    query, key = {FEATURES}\n", "", NO_FEATURES),
            Mistake("queries not mapped", "F.elu(query) + 1, ", "query, ", QUERY_RAW),
            Mistake("keys not mapped", "F.elu(key) + 1", "key", KEY_RAW),
        ],
        also_right=[efficient.linear_attention_step],
        hints=["What does one token add to the sum Σ φ(k) vᵀ? An outer product, with one row per feature of its key.",
               "key[:, None] * value has shape (K, D_v).",
               "query @ state / (query @ total), after both were updated."],
        look_at="Old state and new token in, new state out: that's the signature of rnn_step in lesson 01.",
    ),
]
