"""Lesson 07, encoder and decoder."""

import torch

from helpers.exercises.model import Exercise, Mistake, normal
from helpers.transformer import attention, masks


def layer_norm(x, gain, bias, eps=1e-5):
    """Normalise every vector by itself, then scale and shift each component."""
    mean = x.mean(-1, keepdim=True)
    variance = x.var(-1, correction=0, keepdim=True)
    deviation = (variance + eps).sqrt()
    normalised = (x - mean) / deviation
    return gain * normalised + bias


def feed_forward(x, w_1, b_1, w_2, b_2):
    """Linear, ReLU, linear, at every position separately."""
    inner = (x @ w_1 + b_1).relu()
    return inner @ w_2 + b_2


def residual_post_norm(x, sublayer, norm):
    """Add, then normalise: the paper's order."""
    return norm(x + sublayer(x))


def residual_pre_norm(x, sublayer, norm):
    """Normalise what the sublayer reads; the skip path carries x itself."""
    return x + sublayer(norm(x))


def decoder_mask(target_ids, pad_id):
    """Allow every position to attend to real tokens up to itself."""
    length = target_ids.shape[1]
    real = (target_ids != pad_id)[:, None, None, :]
    past = torch.ones(length, length).tril().bool()
    return real & past


def leaky_decoder(x, memory, self_attention, cross_attention, feed_forward):
    """Masked self-attention, cross-attention, feed-forward, with a path around each."""
    causal = masks.causal_mask(x.shape[1])
    x = x + self_attention(x, x, x, causal)
    x = x + cross_attention(x, memory, memory, None)
    return x + feed_forward(x)


def _draw_residual(generator):
    def sublayer(x):
        return torch.tanh(x.flip(-1)) * 2 + 0.5

    def norm(x):
        return torch.nn.functional.layer_norm(x, x.shape[-1:])

    shapes = [(2, 4), (2, 3, 6)]
    return [(torch.randn(shape, generator=generator) * 2, sublayer, norm) for shape in shapes]


def _draw_decoder(generator):
    def attention_with(matrices):
        def attend(query, key, value, mask=None):
            w_q, w_k, w_v = matrices
            return attention.scaled_dot_product_attention(
                query @ w_q, key @ w_k, value @ w_v, mask
            )[0]

        return attend

    for n_target, n_source in [(3, 2), (4, 5)]:
        weights = torch.randn(7, 4, 4, generator=generator) / 2
        x = torch.randn(2, n_target, 4, generator=generator)
        memory = torch.randn(2, n_source, 4, generator=generator)
        functions = attention_with(weights[:3]), attention_with(weights[3:6])
        yield x, memory, *functions, lambda h, w=weights[6]: torch.tanh(h @ w) + 0.2


def _feed_forward_before_cross(x, memory, self_attention, cross_attention, feed_forward):
    x = x + self_attention(x, x, x, masks.causal_mask(x.shape[1]))
    x = x + feed_forward(x)
    return x + cross_attention(x, memory, memory, None)


def _all_from_the_first_x(x, memory, self_attention, cross_attention, feed_forward):
    own = self_attention(x, x, x, masks.causal_mask(x.shape[1]))
    return x + own + cross_attention(x, memory, memory, None) + feed_forward(x)


def _decoder_in_one_line(x, memory, self_attention, cross_attention, feed_forward):
    past = torch.ones(x.shape[1], x.shape[1]).tril().bool()
    h = self_attention(x, x, x, past) + x
    h = torch.add(cross_attention(h, memory, memory, None), h)
    return feed_forward(h) + h


def _loop_mask(ids, pad):
    length = ids.shape[1]
    rows = [
        [[bool(row[s] != pad) and s <= t for s in range(length)] for t in range(length)]
        for row in ids
    ]
    return torch.tensor(rows)[:, None]


AVERAGES = ("x.mean(-1,", "x.var(-1,")
X_LOST = "x itself is lost: add it to what the sublayer returns."
NO_NORM = "The norm isn't used at all."
NO_PADDING = "The padding isn't hidden: combine with the padding mask."
NO_CAUSAL = "The future isn't hidden: combine with the causal mask."
BIAS_1, BIAS_2 = " + b_1", " + b_2"

# fmt: off
BOTH_RESIDUALS = [
    Mistake("no norm", "return", "x + sublayer(x)", NO_NORM),
    Mistake("norm in both places", "return", "norm(x + sublayer(norm(x)))",
            "There are two norms, one before the sublayer and one after. Use one only."),
    Mistake("norm on the skip path only", "return", "norm(x) + sublayer(x)",
            "The norm is on the skip path, so what goes around the sublayer isn't x any more. Add x itself."),
    Mistake("sublayer only", "return", "sublayer(x)",
            "The sublayer is called, and nothing else. Add the path around it, and the norm."),
    Mistake("x added twice", "return", "norm(2 * x + sublayer(x))",
            "x is added twice: the sum already contains it. Add it once."),
]

EXERCISES = [
    Exercise(
        name="leaky_decoder", title="find the bug: a leaky decoder layer",
        task="Read the two printed lines. Each of them points to one mistake in this decoder layer. Fix both. `self_attention` and `cross_attention` take query, key, value and a mask (or None).",
        minutes=4, difficulty=3, importance=5,
        reference=leaky_decoder, draw=_draw_decoder,
        mistakes=[
            Mistake("still as it was", "self_attention(x, x, x, causal)", "self_attention(x, x, x, None)",
                    "Compare the two printed lines with what a decoder layer should do. Which outputs are allowed to depend on the last word? And what should be left of the target when the memory is empty?", also=(("x + cross_attention", "cross_attention"),)),
            Mistake("no causal mask", "self_attention(x, x, x, causal)", "self_attention(x, x, x, None)",
                    "Self-attention has no mask, so every target word attends to the words after it. Pass it the causal mask."),
            Mistake("no path around cross-attention", "x + cross_attention", "cross_attention",
                    "The path around cross-attention is missing, so the target's own vectors are lost and only a mixture of the memory is left. Add x."),
            Mistake("no path around feed-forward", "return", "feed_forward(x)",
                    "The path around the feed-forward network is missing: add x to what it returns."),
            Mistake("no cross-attention", "x + cross_attention(x, memory, memory, None)", "x",
                    "Cross-attention is missing, so nothing in the layer depends on the source."),
            Mistake("feed-forward before cross-attention", _feed_forward_before_cross,
                    "Cross-attention comes last here, so the feed-forward network can't work on what cross-attention found. Put cross-attention second: self-attention, cross-attention, feed-forward."),
            Mistake("all read the first x", _all_from_the_first_x,
                    "All three sublayers read the layer's input. Each should read what the one before it has returned."),
        ],
        also_right=[_decoder_in_one_line],
        hints=["The first line says that an early output depends on the last word. What hides the future?",
               "With a memory of zeros, cross-attention returns zeros. What is left of x after that line?",
               "self_attention(x, x, x, masks.causal_mask(x.shape[1])), and x = x + cross_attention(...)."],
        look_at="All three lines now have one form, x + sublayer(…), and only the self-attention needs the causal mask.",
    ),
    Exercise(
        name="layer_norm", title="layer normalisation",
        task="Normalise every vector over the last dimension, then multiply by gain and add bias. Divide by n in the variance, which is the mean of the squared distances from the mean.",
        pytorch="`x.mean(-1)` turns (4, 6) into (4,), and with `keepdim=True` into (4, 1), which broadcasts against (4, 6). `x.var(-1, correction=0)` divides by n; without `correction=0` it divides by n − 1.",
        trained=True, minutes=5, difficulty=2, importance=4,
        then="In section 3 the translator's encoder runs on your function.",
        reference=layer_norm, draw=normal(  # the last has an eps large enough to be seen
            "… d, d, d", (2, 4), ((2, 3), 6), (2, 4, 0.5),
            then=lambda x, gain, bias, *eps: (2 * x + 1, gain.abs() + 0.5, bias, *eps)),
        mistakes=[
            Mistake("unbiased variance", "correction=0", "correction=1",
                    "The variance is divided by n − 1, as torch.var and torch.std do by default. Layer normalisation divides by n: correction=0."),
            Mistake("gain and bias forgotten", "return", "normalised", "Gain and bias aren't used."),
            Mistake("over the wrong axis", AVERAGES[0], "x.mean(0,",
                    "Mean and variance are taken along the first dimension, so they mix words or sentences. Each vector is normalised by itself: dim=-1.",
                    also=((AVERAGES[1], "x.var(0,"),)),
            Mistake("divided by the variance", ".sqrt()", "",
                    "The square root is missing: divide by the standard deviation."),
            Mistake("gain forgotten", "gain * ", "", "The gain isn't used: multiply by it after normalising."),
            Mistake("bias forgotten", " + bias", "", "The bias isn't used: add it at the end."),
        ],
        also_right=[
            lambda x, g, b, eps=1e-5: torch.nn.functional.layer_norm(x, x.shape[-1:], g, b, eps),
            lambda x, g, b, eps=1e-5: (
                (x - x.sum(-1, keepdim=True) / x.shape[-1])
                * (((x - x.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True) + eps).rsqrt()
                * g
                + b
            ),
        ],
        hints=["keepdim=True keeps the last dimension, so that mean and variance broadcast against x.",
               "x.var(-1, correction=0, keepdim=True) divides by n.",
               "gain * (x - mean) / (variance + eps).sqrt() + bias"],
        look_at="Mean and variance are taken over a single vector, so no word affects another.",
    ),
    Exercise(
        name="feed_forward", title="the feed-forward network",
        task="Apply a linear layer, a ReLU and another linear layer. The weights are (D, F) and (F, D).",
        pytorch="`x @ w` works along the last dimension of x and leaves those in front alone: (2, 5, 3) @ (3, 7) is (2, 5, 7). `h.relu()` sets negative numbers to 0.",
        trained=True, minutes=3, difficulty=1, importance=4,
        then="The next cell puts your three functions together and lets them translate.",
        reference=feed_forward, draw=normal("… d, d f, f, f d, d", (2, 3, 5), ((2, 4), 3, 7), (3, 5, 5)),
        mistakes=[
            Mistake("no ReLU", ".relu()", "", "There is no ReLU. Two linear layers in a row are one linear layer."),
            Mistake("ReLU before the first bias", "(x @ w_1 + b_1).relu()", "(x @ w_1).relu() + b_1",
                    "The first bias is added after the ReLU. It belongs before."),
            Mistake("ReLU at the end only", ".relu()", "", "The ReLU is at the end. It belongs between the two layers.",
                    also=(("return", "result.relu()"),)),
            Mistake("biases forgotten", BIAS_1, "", "The biases aren't used.", also=((BIAS_2, ""),)),
            Mistake("second bias forgotten", BIAS_2, "", "One of the two biases isn't used. Add b_2 at the end."),
        ],
        also_right=[
            lambda x, w1, b1, w2, b2: torch.einsum("...d,df->...f", x, w1).add(b1).clamp(min=0) @ w2 + b2,
            lambda x, w1, b1, w2, b2: torch.nn.functional.linear(
                torch.nn.functional.linear(x, w1.T, b1).relu(), w2.T, b2
            ),
        ],
        hints=["Rows times matrices: x @ w_1 is the first linear layer.",
               "ReLU is clamp(min=0), or .relu().",
               "(x @ w_1 + b_1).relu() @ w_2 + b_2"],
        look_at="Your code never mentions the positions, so every position goes through the same two matrices.",
    ),
    Exercise(
        name="residual_post_norm", title="residual with post-norm",
        task="Write one sublayer with its path, in the paper's order, post-norm, and return what is passed on to the next sublayer. Call `sublayer` and `norm` once each.",
        trained=True, minutes=2, difficulty=1, importance=4,
        then="The next cell compares it with your pre-norm.",
        reference=residual_post_norm, draw=_draw_residual,
        mistakes=[
            Mistake("pre-norm", "return", "x + sublayer(norm(x))",
                    "This is pre-norm. Post-norm adds first and normalises the sum."),
            Mistake("no residual", "x + ", "", X_LOST),
            Mistake("skip path normalised", "return", "norm(x) + norm(sublayer(x))",
                    "Both parts are normalised before they are added. Add x itself, then normalise the sum."),
            Mistake("only the sublayer normalised", "return", "x + norm(sublayer(x))",
                    "The norm is applied to the sublayer's output only. It should be applied to the sum."),
            *BOTH_RESIDUALS,
            Mistake("pre-norm, skip path normalised", "return", "norm(x) + sublayer(norm(x))",
                    "x is normalised before the addition. Post-norm adds first, then normalises the sum."),
        ],
        also_right=[lambda x, f, norm: norm(f(x) + x)],
        hints=["LayerNorm(x + Sublayer(x)).", "norm(x + sublayer(x))"],
        look_at="Whatever the sublayer adds, the next one reads normalised vectors.",
    ),
    Exercise(
        name="residual_pre_norm", title="residual with pre-norm",
        task="Write one sublayer with its path, in pre-norm, and return what is passed on to the next sublayer. Call `sublayer` and `norm` once each.",
        trained=True, minutes=2, difficulty=1, importance=4,
        then="In section 3 your function carries x around both sublayers of the translator's layers.",
        reference=residual_pre_norm, draw=_draw_residual,
        mistakes=[
            Mistake("post-norm", "return", "norm(x + sublayer(x))",
                    "This is post-norm. Pre-norm normalises what the sublayer reads."),
            Mistake("no residual", "x + ", "", X_LOST),
            *BOTH_RESIDUALS,
            Mistake("both parts normalised", "return", "norm(x) + norm(sublayer(x))",
                    "Both parts are normalised. Only the sublayer's input should be."),
            Mistake("x added before", "return", "sublayer(x + norm(x))",
                    "x is added before the sublayer. Add it to what the sublayer returns."),
        ],
        also_right=[lambda x, f, norm: f(norm(x)) + x],
        hints=["x + Sublayer(LayerNorm(x)).", "x + sublayer(norm(x))"],
        look_at="On its way up the stack, x itself is never normalised. That's why a pre-norm model has one more norm at the very end.",
    ),
    Exercise(
        name="decoder_mask", title="the decoder's mask",
        task="Combine the causal mask and the padding mask. Ids (B, T) become a mask (B, 1, T, T), in which True means allowed to attend.",
        pytorch="`a & b` is True where both are. Shapes broadcast: (2, 1, 1, 5) & (5, 5) is (2, 1, 5, 5).",
        minutes=5, difficulty=3, importance=5,
        then="The next cell draws your mask for a padded sentence.",
        reference=decoder_mask, draw=lambda generator: [
            (torch.tensor([[5, 7, 0]]), 0),
            (torch.tensor([[1, 6, 4, 4], [1, 3, 9, 9]]), 9),
            # Padding on the left: hidden rows and columns differ.
            (torch.tensor([[9, 9, 4, 6]]), 9)],
        mistakes=[
            Mistake("causal only", "return", "past.expand(len(target_ids), 1, -1, -1)", NO_PADDING),
            Mistake("padding only", "return", "real.expand(-1, 1, length, -1)", NO_CAUSAL),
            Mistake("or instead of and", "real & past", "real | past",
                    "This allows whatever one of the two masks allows. Both must allow it: &."),
            Mistake("inverted", "return", "~(real & past)",
                    "True marks what must be hidden. Here True means allowed to attend."),
            Mistake("padded queries instead of keys", "[:, None, None, :]", "[:, None, :, None]",
                    "You hide the rows of padded queries instead of the columns of padded keys. Keys are the last dimension."),
            Mistake("no axis for heads", "[:, None, None, :]", "[:, None]",
                    "The shape is (B, T, T). Scores are (B, H, T, T), so a dimension of size 1 for the heads is missing."),
        ],
        also_right=[
            _loop_mask,
            lambda ids, pad: (
                (torch.arange(ids.shape[1])[:, None] >= torch.arange(ids.shape[1]))[None, None]
                * ids.ne(pad)[:, None, None]
            ),
        ],
        hints=["You wrote both masks in lesson 04.",
               "(B, 1, 1, T) & (T, T) broadcasts to (B, 1, T, T).",
               "masks.padding_mask(target_ids, pad_id) & masks.causal_mask(target_ids.shape[1])"],
        look_at="With padding on the right, the causal part alone would hide the padding from all real positions. With padding on the left you need both parts.",
    ),
]
