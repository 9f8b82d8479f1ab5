"""Lesson 07, encoder and decoder."""

import torch

from helpers import masks
from helpers.exercises.model import Exercise, Mistake


def layer_norm(x, gain, bias, eps=1e-5):
    """Normalise every vector by itself, then scale and shift each component."""
    mean = x.mean(-1, keepdim=True)
    variance = x.var(-1, correction=0, keepdim=True)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


def feed_forward(x, w_1, b_1, w_2, b_2):
    """Widen, bend, narrow: at every position alone."""
    return (x @ w_1 + b_1).relu() @ w_2 + b_2


def residual_post_norm(x, sublayer, norm):
    """Add, then normalise: the paper's order."""
    return norm(x + sublayer(x))


def residual_pre_norm(x, sublayer, norm):
    """Normalise what the sublayer reads; the skip path carries x itself."""
    return x + sublayer(norm(x))


def decoder_mask(target_ids, pad_id):
    """Let every position look at real tokens up to itself."""
    return masks.padding_mask(target_ids, pad_id) & masks.causal_mask(target_ids.shape[1])


def _draw_norm(generator):
    cases = []
    for shape in [(2, 4), (2, 3, 6)]:
        x = torch.randn(shape, generator=generator) * 2 + 1
        gain = torch.rand(shape[-1], generator=generator) + 0.5
        cases.append((x, gain, torch.randn(shape[-1], generator=generator)))
    # One more with an eps large enough to be seen.
    return [*cases, (*cases[0], 0.5)]


def _norm(axis=-1, correction=0, eps_inside=True, centre=True, affine="both", root=True):
    def normalise(x, gain, bias, eps=1e-5):
        mean = x.mean(axis, keepdim=True)
        variance = x.var(axis, correction=correction, keepdim=True)
        scale = (variance + eps).sqrt() if eps_inside else variance.sqrt() + eps
        scale = scale if root else variance + eps
        y = (x - mean if centre else x) / scale
        y = y * gain if affine in ("both", "gain") else y
        return y + bias if affine in ("both", "bias") else y

    return normalise


def _written(form):
    """Make a normalisation by a formula of gain, x, mean and standard deviation; add the bias."""

    def normalise(x, gain, bias, eps=1e-5):
        mean = x.mean(-1, keepdim=True)
        return form(gain, x, mean, (x.var(-1, correction=0, keepdim=True) + eps).sqrt()) + bias

    return normalise


def _draw_ffn(generator):
    cases = []
    for shape, inner in [((2, 3), 5), ((2, 4, 3), 7)]:
        width = shape[-1]
        sizes = [shape, (width, inner), (inner,), (inner, width), (width,)]
        cases.append(tuple(torch.randn(size, generator=generator) for size in sizes))
    return cases


def _draw_residual(generator):
    def sublayer(x):
        return torch.tanh(x.flip(-1)) * 2 + 0.5

    def norm(x):
        return torch.nn.functional.layer_norm(x, x.shape[-1:])

    shapes = [(2, 4), (2, 3, 6)]
    return [(torch.randn(shape, generator=generator) * 2, sublayer, norm) for shape in shapes]


def _draw_ids(generator):
    return [
        (torch.tensor([[5, 7, 0]]), 0),
        (torch.tensor([[1, 6, 4, 4], [1, 3, 9, 9]]), 9),
        (torch.tensor([[9, 9, 4, 6]]), 9),  # padding on the left: hidden rows and columns differ
    ]


def _triangle(ids):
    return torch.ones(ids.shape[1], ids.shape[1]).bool()


def _loop_mask(ids, pad):
    length = ids.shape[1]
    rows = [
        [[bool(row[s] != pad) and s <= t for s in range(length)] for t in range(length)]
        for row in ids
    ]
    return torch.tensor(rows)[:, None]


_TWO_NORMS = Mistake(
    "norm in both places",
    lambda x, f, norm: norm(x + f(norm(x))),
    "There are two norms, one before and one after. Use one only.",
)
_NOT_CALLED = Mistake(
    "sublayer not called",
    lambda x, f, norm: norm(x),
    "The sublayer is not called. What it returns is added to x.",
)
_SUBLAYER_ONLY = Mistake(
    "sublayer only",
    lambda x, f, norm: f(x),
    "Neither path nor norm: only the sublayer is called.",
)
_NORM_ON_THE_PATH = Mistake(
    "norm on the skip path only",
    lambda x, f, norm: norm(x) + f(x),
    "The norm is on the skip path, which should carry x itself.",
)

EXERCISES = [
    Exercise(
        name="layer_norm",
        title="layer normalisation",
        task="Normalise over the last axis, then multiply by gain and add bias. Section 1 has it: write it without looking.",
        minutes=6,
        difficulty=2,
        importance=4,
        reference=layer_norm,
        draw=_draw_norm,
        mistakes=[
            Mistake(
                "unbiased variance",
                _norm(correction=1),
                "The variance is divided by n − 1, as torch.var and torch.std do by default. Layer normalisation divides by n: correction=0.",
            ),
            Mistake(
                "eps outside the root",
                _norm(eps_inside=False),
                "eps is added to the standard deviation. It belongs inside the root, to the variance.",
            ),
            Mistake(
                "over the wrong axis",
                _norm(axis=0),
                "Mean and variance run over the first axis and mix words or sentences. Each vector is normalised by itself: dim=-1.",
            ),
            Mistake(
                "mean not removed",
                _norm(centre=False),
                "The mean is not subtracted. (Without it you have nearly written RMSNorm.)",
            ),
            Mistake(
                "divided by the variance",
                _norm(root=False),
                "The square root is missing: divide by the standard deviation.",
            ),
            Mistake(
                "gain forgotten",
                _norm(affine="bias"),
                "The gain is not used: multiply by it after normalising.",
            ),
            Mistake(
                "bias forgotten", _norm(affine="gain"), "The bias is not used: add it at the end."
            ),
            Mistake(
                "eps not used",
                lambda x, g, b, eps=1e-5: layer_norm(x, g, b),
                "The argument eps is not used: a larger eps must change the result.",
            ),
            Mistake(
                "over axis 1",
                _norm(axis=1),
                "Mean and variance run over axis 1, for a batch (B, T, D) the words. Use the last axis, -1.",
            ),
            Mistake(
                "over everything",
                lambda x, g, b, eps=1e-5: (
                    g * (x - x.mean()) / (x.var(correction=0) + eps).sqrt() + b
                ),
                "One mean and one variance for all. Each vector has its own: dim -1, keepdim=True.",
            ),
            Mistake("gain and bias forgotten", _norm(affine="none"), "Gain and bias are not used."),
            Mistake(
                "bias before gain",
                lambda x, g, b, eps=1e-5: layer_norm(x, 1, b, eps) * g,
                "The gain multiplies the bias too. First scale, then shift.",
            ),
            Mistake(
                "unbiased variance + eps outside the root", _norm(correction=1, eps_inside=False)
            ),
            Mistake(
                "RMSNorm",
                lambda x, g, b, eps=1e-5: g * x / ((x**2).mean(-1, keepdim=True) + eps).sqrt() + b,
                "The mean is not subtracted, neither above nor in the variance: this is RMSNorm. Subtract it first.",
            ),
            Mistake(
                "unbiased variance + eps not used",
                lambda x, g, b, eps=1e-5: _norm(correction=1)(x, g, b),
            ),
            Mistake(
                "brackets around x - mean",
                _written(lambda gain, x, mean, std: gain * x - mean / std),
                "Only the mean is divided: x - mean needs brackets.",
            ),
            Mistake(
                "brackets around x - mean, gain outside",
                _written(lambda gain, x, mean, std: gain * (x - mean / std)),
                "Only the mean is divided: x - mean needs brackets.",
            ),
            Mistake(
                "not divided",
                _written(lambda gain, x, mean, std: gain * (x - mean)),
                "Nothing is divided by the standard deviation.",
            ),
            Mistake(
                "multiplied by the deviation",
                _written(lambda gain, x, mean, std: gain * (x - mean) * std),
                "Multiplied by the standard deviation: divide.",
            ),
            Mistake(
                "sum of squares",
                lambda x, g, b, eps=1e-5: (
                    g
                    * (x - x.mean(-1, keepdim=True))
                    / (x.var(-1, correction=0, keepdim=True) * x.shape[-1] + eps).sqrt()
                    + b
                ),
                "The squares are added up but not divided by n: take their mean.",
            ),
            Mistake(
                "gain and bias forgotten + eps not used",
                lambda x, g, b, eps=1e-5: torch.nn.functional.layer_norm(x, x.shape[-1:]),
            ),
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
        hints=[
            "keepdim=True keeps the last axis, so that mean and variance broadcast against x.",
            "x.var(-1, correction=0, keepdim=True) divides by n.",
            "gain * (x - mean) / (variance + eps).sqrt() + bias",
        ],
        look_at="Nothing in it mixes two words: mean and variance belong to one vector.",
    ),
    Exercise(
        name="feed_forward",
        title="the feed-forward network",
        task="Two linear layers with a ReLU between; the weights are (D, F) and (F, D).",
        minutes=3,
        difficulty=1,
        importance=4,
        reference=feed_forward,
        draw=_draw_ffn,
        mistakes=[
            Mistake(
                "no ReLU",
                lambda x, w1, b1, w2, b2: (x @ w1 + b1) @ w2 + b2,
                "There is no ReLU. Two linear layers in a row are one linear layer.",
            ),
            Mistake(
                "ReLU at the end too",
                lambda x, w1, b1, w2, b2: feed_forward(x, w1, b1, w2, b2).relu(),
                "There is a second ReLU at the end. The output may be negative: it is added to x.",
            ),
            Mistake(
                "ReLU before the first bias",
                lambda x, w1, b1, w2, b2: ((x @ w1).relu() + b1) @ w2 + b2,
                "The first bias is added after the ReLU. It belongs before.",
            ),
            Mistake(
                "ReLU at the end only",
                lambda x, w1, b1, w2, b2: ((x @ w1 + b1) @ w2 + b2).relu(),
                "The ReLU stands at the end. It belongs between the two layers.",
            ),
            Mistake(
                "biases forgotten",
                lambda x, w1, b1, w2, b2: (x @ w1).relu() @ w2,
                "The biases are not used.",
            ),
            Mistake(
                "first bias forgotten",
                lambda x, w1, b1, w2, b2: (x @ w1).relu() @ w2 + b2,
                "b_1 is not used: the first layer has a bias too.",
            ),
            Mistake(
                "second bias forgotten",
                lambda x, w1, b1, w2, b2: (x @ w1 + b1).relu() @ w2,
                "b_2 is not used: the second layer has a bias too.",
            ),
            Mistake(
                "ReLU on the input",
                lambda x, w1, b1, w2, b2: (x.relu() @ w1 + b1) @ w2 + b2,
                "The ReLU acts on x. It belongs between the two layers.",
            ),
            Mistake(
                "negative part kept",
                lambda x, w1, b1, w2, b2: (x @ w1 + b1).clamp(max=0) @ w2 + b2,
                "clamp(max=0) keeps the negative part. ReLU is clamp(min=0).",
            ),
            Mistake(
                "residual added",
                lambda x, w1, b1, w2, b2: x + feed_forward(x, w1, b1, w2, b2),
                "x is added at the end. The residual path is around the network, not in it.",
            ),
            Mistake(
                "GELU",
                lambda x, w1, b1, w2, b2: torch.nn.functional.gelu(x @ w1 + b1) @ w2 + b2,
                "This is GELU, a smoother bend. The paper's is ReLU.",
            ),
        ],
        also_right=[
            lambda x, w1, b1, w2, b2: (
                torch.einsum("...d,df->...f", x, w1).add(b1).clamp(min=0) @ w2 + b2
            ),
            lambda x, w1, b1, w2, b2: torch.nn.functional.linear(
                torch.nn.functional.linear(x, w1.T, b1).relu(), w2.T, b2
            ),
        ],
        hints=[
            "Rows times matrices: x @ w_1 widens.",
            "ReLU is clamp(min=0), or .relu().",
            "(x @ w_1 + b_1).relu() @ w_2 + b_2",
        ],
        look_at="It works on the last axis alone: the same two matrices at every position.",
    ),
    Exercise(
        name="residual_post_norm",
        title="residual with post-norm",
        task="Return what leaves the block when x goes in, in the paper's order. sublayer and norm are functions; call each of them once.",
        minutes=2,
        difficulty=1,
        importance=4,
        reference=residual_post_norm,
        draw=_draw_residual,
        mistakes=[
            Mistake(
                "pre-norm",
                residual_pre_norm,
                "This is pre-norm. Post-norm adds first and normalises the sum.",
            ),
            Mistake(
                "no residual",
                lambda x, f, norm: norm(f(x)),
                "x itself is lost: add it to what the sublayer returns.",
            ),
            Mistake("no norm", lambda x, f, norm: x + f(x), "The norm is not used."),
            Mistake(
                "skip path normalised",
                lambda x, f, norm: norm(x) + norm(f(x)),
                "Both parts are normalised before they are added. Add x itself, then normalise the sum.",
            ),
            Mistake(
                "only the sublayer normalised",
                lambda x, f, norm: x + norm(f(x)),
                "The norm acts on the sublayer's output only. It acts on the sum.",
            ),
            _TWO_NORMS,
            _NORM_ON_THE_PATH,
            Mistake(
                "pre-norm, skip path normalised",
                lambda x, f, norm: norm(x) + f(norm(x)),
                "x is normalised before the addition. Post-norm adds first, then normalises the sum.",
            ),
            Mistake(
                "pre-norm without x",
                lambda x, f, norm: f(norm(x)),
                "x itself is lost, and the norm comes first. Add x, then normalise the sum.",
            ),
            Mistake(
                "both normalised, and the sum",
                lambda x, f, norm: norm(norm(x) + f(x)),
                "x is normalised before the addition too. One norm is enough: of the sum.",
            ),
            Mistake(
                "sublayer and sum normalised",
                lambda x, f, norm: norm(x + norm(f(x))),
                "There are two norms: the sublayer's output is normalised, and the sum. Only the sum is.",
            ),
            Mistake(
                "x added again",
                lambda x, f, norm: x + norm(x + f(x)),
                "x is added a second time after the norm. The norm is the last step.",
            ),
            _NOT_CALLED,
            _SUBLAYER_ONLY,
        ],
        also_right=[
            lambda x, f, norm: norm(f(x) + x),
            lambda x, f, norm: norm(torch.stack([x, f(x)]).sum(0)),
        ],
        hints=["LayerNorm(x + Sublayer(x)).", "norm(x + sublayer(x))"],
        look_at="What leaves the layer is normalised: the next one meets vectors of one size.",
    ),
    Exercise(
        name="residual_pre_norm",
        title="residual with pre-norm",
        task="The same in pre-norm, the later order. Return what leaves the block when x goes in; call sublayer and norm once each.",
        minutes=2,
        difficulty=1,
        importance=4,
        reference=residual_pre_norm,
        draw=_draw_residual,
        mistakes=[
            Mistake(
                "post-norm",
                residual_post_norm,
                "This is post-norm. Pre-norm normalises what the sublayer reads.",
            ),
            Mistake(
                "no residual",
                lambda x, f, norm: f(norm(x)),
                "x itself is lost: add it to what the sublayer returns.",
            ),
            Mistake("no norm", lambda x, f, norm: x + f(x), "The norm is not used."),
            Mistake(
                "skip path normalised",
                lambda x, f, norm: norm(x) + f(norm(x)),
                "The skip path carries the normalised x. It carries x itself.",
            ),
            Mistake(
                "only the sublayer's output normalised",
                lambda x, f, norm: x + norm(f(x)),
                "The norm acts on what leaves the sublayer. It acts on what enters it.",
            ),
            _TWO_NORMS,
            _NORM_ON_THE_PATH,
            Mistake(
                "post-norm without x",
                lambda x, f, norm: norm(f(x)),
                "x itself is lost, and the norm comes too late. Normalise what the sublayer reads, then add x.",
            ),
            Mistake(
                "both parts normalised",
                lambda x, f, norm: norm(x) + norm(f(x)),
                "Both parts are normalised. Only what enters the sublayer is.",
            ),
            Mistake(
                "a norm at the end too",
                lambda x, f, norm: norm(norm(x) + f(norm(x))),
                "There is a norm at the end as well, and one on the skip path. Only what enters the sublayer is normalised.",
            ),
            Mistake(
                "x added before",
                lambda x, f, norm: f(x + norm(x)),
                "x is added before the sublayer. Add it to what the sublayer returns.",
            ),
            Mistake(
                "sublayer not called, x added",
                lambda x, f, norm: x + norm(x),
                "The sublayer is not called: what it returns is what is added.",
            ),
            _SUBLAYER_ONLY,
        ],
        also_right=[
            lambda x, f, norm: f(norm(x)) + x,
            lambda x, f, norm: torch.stack([x, f(norm(x))]).sum(0),
        ],
        hints=["x + Sublayer(LayerNorm(x)).", "x + sublayer(norm(x))"],
        look_at="x is only ever added to, through the whole stack; that is why one more norm stands at the very end.",
    ),
    Exercise(
        name="decoder_mask",
        title="the decoder's mask",
        task="Causal and padding together: (B, T) ids to (B, 1, T, T), True = may look.",
        minutes=5,
        difficulty=3,
        importance=5,
        reference=decoder_mask,
        draw=_draw_ids,
        mistakes=[
            Mistake(
                "causal only",
                lambda ids, pad: masks.causal_mask(ids.shape[1]).expand(len(ids), 1, -1, -1),
                "The padding is not hidden: combine with the padding mask.",
            ),
            Mistake(
                "padding only",
                lambda ids, pad: masks.padding_mask(ids, pad).expand(-1, 1, ids.shape[1], -1),
                "The future is not hidden: combine with the causal mask.",
            ),
            Mistake(
                "or instead of and",
                lambda ids, pad: masks.padding_mask(ids, pad) | masks.causal_mask(ids.shape[1]),
                "Allowed by either is too much. A position must be allowed by both: &.",
            ),
            Mistake(
                "inverted",
                lambda ids, pad: ~decoder_mask(ids, pad),
                "True is where nobody may look. Here True means may look.",
            ),
            Mistake(
                "padded queries instead of keys",
                lambda ids, pad: (ids != pad)[:, None, :, None] & masks.causal_mask(ids.shape[1]),
                "Rows of padded queries are hidden, columns of padded keys are not. Keys are the last axis.",
            ),
            Mistake(
                "padded queries too",
                lambda ids, pad: decoder_mask(ids, pad) & (ids != pad)[:, None, :, None],
                "Rows of padded queries are hidden as well. Only keys, the last axis, need hiding: what a padded query finds is never used.",
            ),
            Mistake(
                "future instead of past",
                lambda ids, pad: masks.padding_mask(ids, pad) & masks.causal_mask(ids.shape[1]).T,
                "The triangle is the wrong way round: every position sees what comes after it. tril keeps the diagonal and what is left of it.",
            ),
            Mistake(
                "padding inverted",
                lambda ids, pad: ~masks.padding_mask(ids, pad) & masks.causal_mask(ids.shape[1]),
                "Padding is shown and the words are hidden: compare with !=, not ==.",
            ),
            Mistake(
                "pad_id not used",
                lambda ids, pad: masks.padding_mask(ids, 0) & masks.causal_mask(ids.shape[1]),
                "Padding is taken to be 0. Use pad_id.",
            ),
            Mistake(
                "no axis for heads",
                lambda ids, pad: (ids != pad)[:, None] & masks.causal_mask(ids.shape[1]),
                "The shape is (B, T, T). Scores are (B, H, T, T): an axis of size 1 for the heads is missing.",
            ),
            Mistake(
                "may not see itself",
                lambda ids, pad: (
                    masks.padding_mask(ids, pad)
                    & torch.ones(ids.shape[1], ids.shape[1]).tril(-1).bool()
                ),
                "The diagonal is missing: a position may look at itself.",
            ),
            Mistake(
                "padding only, not broadcast",
                lambda ids, pad: masks.padding_mask(ids, pad),
                "The future is not hidden: combine with the causal mask.",
            ),
            Mistake(
                "causal only, not broadcast",
                lambda ids, pad: masks.causal_mask(ids.shape[1]),
                "The padding is not hidden: combine with the padding mask.",
            ),
            Mistake(
                "causal part inverted",
                lambda ids, pad: masks.padding_mask(ids, pad) & _triangle(ids).triu(1),
                "The triangle marks what must be hidden (triu). Here True means may look: tril, with the diagonal.",
            ),
            Mistake(
                "one position ahead",
                lambda ids, pad: masks.padding_mask(ids, pad) & _triangle(ids).tril(1),
                "Every position sees one position ahead: tril(1) keeps one diagonal too many.",
            ),
            Mistake(
                "padding may look at itself",
                lambda ids, pad: decoder_mask(ids, pad) | torch.eye(ids.shape[1]).bool(),
                "The diagonal stays open for padding too. Padding is hidden from every query.",
            ),
            Mistake(
                "exclusive or",
                lambda ids, pad: masks.padding_mask(ids, pad) ^ masks.causal_mask(ids.shape[1]),
                "^ is true where exactly one of the two allows it. Both must: &.",
            ),
            Mistake(
                "pad_id as a threshold",
                lambda ids, pad: (ids > pad)[:, None, None] & masks.causal_mask(ids.shape[1]),
                "Ids are compared with >: pad_id need not be the smallest. Compare with !=.",
            ),
        ],
        also_right=[
            _loop_mask,
            lambda ids, pad: (
                (torch.arange(ids.shape[1])[:, None] >= torch.arange(ids.shape[1]))[None, None]
                * ids.ne(pad)[:, None, None]
            ),
        ],
        hints=[
            "You have written both masks in lesson 04.",
            "(B, 1, 1, T) & (T, T) broadcasts to (B, 1, T, T).",
            "masks.padding_mask(target_ids, pad_id) & masks.causal_mask(target_ids.shape[1])",
        ],
        look_at="With padding on the right, the causal part alone would hide it from all real positions; the padding part makes it right for any layout.",
    ),
]
