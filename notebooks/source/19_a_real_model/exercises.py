"""Lesson 19, a real model."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from helpers.exercises.model import Exercise, Mistake, normal
from helpers.pretrained.gguf import q4_1_blocks
from helpers.transformer.positions import rotate_positions


def unpack_q4_1(blocks):
    """Turn blocks of 20 bytes into 32 weights each, (N, 20) uint8 -> (N, 32)."""
    return torch.from_numpy(q4_1_blocks(np.asarray(blocks)))


def swiglu(x, w_gate, w_up, w_down):
    """A feed-forward network with a gate, (..., D) -> (..., D); weights as nn.Linear stores them."""
    gate = F.silu(x @ w_gate.T)
    hidden = gate * (x @ w_up.T)
    return hidden @ w_down.T


def share_heads(x, n_heads):
    """Let neighbouring heads of queries share a head of keys or values, (B, G, T, K) -> (B, H, T, K)."""
    n_shared = n_heads // x.shape[1]
    return x.repeat_interleave(n_shared, dim=1)


def rotate(x, base=10000.0):
    """Turn each pair of features by an angle that grows with the position, (..., T, K)."""
    length, width = x.shape[-2:]
    speeds = base ** (-torch.arange(0, width, 2) / width)
    angles = torch.arange(length)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    turned_even = even * cos - odd * sin
    turned_odd = even * sin + odd * cos
    return torch.stack([turned_even, turned_odd], dim=-1).flatten(-2)


def rms_norm(x, gain, eps=1e-5):
    """Divide each vector by its root mean square, (..., D) -> (..., D)."""
    mean_square = (x**2).mean(-1, keepdim=True)
    return x / (mean_square + eps).sqrt() * gain


# The solutions as a learner would write them; known mistakes are edits of these texts.


def _unpack_q4_1(blocks):
    scale = blocks[:, 0:2].view(torch.float16).float()
    minimum = blocks[:, 2:4].view(torch.float16).float()
    low = blocks[:, 4:] & 15
    high = blocks[:, 4:] >> 4
    numbers = torch.cat([low, high], dim=1)
    return scale * numbers + minimum


def _draw_blocks(generator):
    for n in (1, 2, 3):
        blocks = torch.randint(256, (n, 20), generator=generator, dtype=torch.uint8)
        facts = torch.rand(n, 2, generator=generator) * torch.tensor([1, -1])
        facts += torch.tensor([0.1, -1])
        blocks[:, :4] = facts.half().view(torch.uint8)
        yield (blocks,)


def _halves_paired(x, base=10000.0):
    """Pair feature i with i + K/2."""
    half = x.shape[-1] // 2
    order = torch.arange(x.shape[-1]).view(2, half).T.flatten()
    turned = torch.empty_like(x)
    turned[..., order] = rotate_positions(x[..., order], base=base)
    return turned


def _by_complex_numbers(x, base=10000.0):
    angle = torch.arange(x.shape[-2])[:, None] * base ** (
        -torch.arange(0, x.shape[-1], 2) / x.shape[-1]
    )
    pairs = torch.complex(x[..., 0::2].contiguous(), x[..., 1::2].contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


# fmt: off
EXERCISES = [
    Exercise(
        name="unpack_q4_1", title="from bytes to weights",
        task="Each row is a block: a scale and a minimum as 16-bit floats, then 16 bytes with 32 numbers of 4 bits. Return scale · number + minimum, (N, 20) to (N, 32).",
        minutes=4, difficulty=2, importance=3,
        pytorch="`torch.tensor([0, 60], dtype=torch.uint8).view(torch.float16)` reads two bytes as one float: 1.0. `torch.tensor([171]) & 15` keeps the low four bits: 11. `torch.tensor([171]) >> 4` moves the high four down: 10.",
        reference=unpack_q4_1, plain=_unpack_q4_1, draw=_draw_blocks,
        then="The next cell uses it to unpack all 210 matrices of SmolLM.",
        mistakes=[
            Mistake("high half first", "[low, high]", "[high, low]",
                    "The two halves are the wrong way round. Which half of a byte holds number i, and which holds number i + 16?"),
            Mistake("neighbours from one byte", "torch.cat([low, high], dim=1)", "torch.stack([low, high], dim=-1).flatten(1)",
                    "The two numbers of a byte became neighbours. All 16 low halves come first, then the 16 high ones."),
            Mistake("high half not moved", "blocks[:, 4:] >> 4", "blocks[:, 4:] & 240",
                    "The high halves are cut out but not moved down, so their numbers are 0, 16, 32 … and not 0, 1, 2 …"),
            Mistake("whole byte for the low half", "blocks[:, 4:] & 15", "blocks[:, 4:]",
                    "The low number is still the whole byte, from 0 to 255. How do you keep only its low four bits?"),
            Mistake("whole byte for the high half", "blocks[:, 4:] >> 4", "blocks[:, 4:]",
                    "The high number is still the whole byte, from 0 to 255. How do you keep only its high four bits?"),
            Mistake("minimum subtracted", "numbers + minimum", "numbers - minimum",
                    "The minimum was subtracted. The number 0 has to become the minimum itself."),
            Mistake("scale and minimum exchanged", "scale * numbers + minimum", "minimum * numbers + scale",
                    "Scale and minimum are exchanged. Which of them multiplies the number?"),
            Mistake("no minimum", " + minimum", "",
                    "The numbers run from 0 to 15, so without the minimum no weight could be negative."),
        ],
        also_right=[lambda blocks: _unpack_q4_1(blocks.contiguous()).clone()],
        hints=["How many bytes are left for 32 numbers, and which half of a byte comes first?",
               "blocks[:, 4:] & 15 are numbers 0 to 15 of the block, blocks[:, 4:] >> 4 are numbers 16 to 31.",
               "scale * torch.cat([low, high], dim=1) + minimum"],
        look_at="32 weights take 20 bytes, which is 5 bits per weight: 4 for its own number, and 1 for its share of the scale and the minimum.",
    ),
    Exercise(
        name="swiglu", title="a network with a gate",
        task="Multiply x by w_gate and by w_up. The SiLU of the first product is the gate: multiply the second product by it, entry by entry. Then multiply the result by w_down. Matrices are stored as nn.Linear stores them: (out, in).",
        minutes=3, difficulty=1, importance=5,
        pytorch="`F.silu(torch.tensor(2.0))` is 2 · sigmoid(2) = 1.76. `w.T` transposes a matrix.",
        reference=swiglu, draw=normal("… d, f d, f d, d f", (1, 2, 3), ((2, 3), 4, 5), ((2, 1), 3, 6)),
        then="Lesson 19 puts it into all 30 layers of SmolLM.",
        mistakes=[
            Mistake("gate and up exchanged", "F.silu(x @ w_gate.T)", "F.silu(x @ w_up.T)",
                    "The SiLU was applied to the wrong product. Which of the two matrices is the gate's?", also=(("gate * (x @ w_up.T)", "gate * (x @ w_gate.T)"),)),
            Mistake("sigmoid", "F.silu(", "torch.sigmoid(",
                    "This gate is a sigmoid, as in an LSTM. SwiGLU's gate is SiLU: z times sigmoid(z)."),
            Mistake("no activation", "F.silu(x @ w_gate.T)", "x @ w_gate.T",
                    "The gate has no activation, so you only multiply two linear layers."),
            Mistake("added", "gate * (x @ w_up.T)", "gate + (x @ w_up.T)",
                    "You added the gate to the second product. A gate multiplies."),
            Mistake("no gate", "gate * (x @ w_up.T)", "F.silu(x @ w_up.T)",
                    "The gate is never used. It multiplies the second product, entry by entry."),
        ],
        also_right=[
            lambda x, g, u, d: ((x @ g.T) * torch.sigmoid(x @ g.T) * (x @ u.T)) @ d.T,
            lambda x, g, u, d: torch.einsum("...f,df->...d", F.silu(torch.einsum("...d,fd->...f", x, g)) * F.linear(x, u), d),
        ],
        hints=["There are two products of x. One of them goes through F.silu.",
               "gate = F.silu(x @ w_gate.T), and the gate multiplies x @ w_up.T entry by entry.",
               "(F.silu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T"],
        look_at="There are three matrices and no biases. The input plays two roles: `w_up` turns it into what could get through, and `w_gate` into how much of that does.",
    ),
    Exercise(
        name="share_heads", title="share keys and values",
        task="x holds G heads of keys or values, and there are n_heads query heads. Repeat each head of x so that neighbouring query heads share it: (B, G, T, K) to (B, n_heads, T, K).",
        minutes=2, difficulty=2, importance=4,
        pytorch="`torch.tensor([1, 2]).repeat(2)` is 1, 2, 1, 2, and `torch.tensor([1, 2]).repeat_interleave(2)` is 1, 1, 2, 2. Both take a dimension: `dim=1`.",
        reference=share_heads,
        draw=normal("b g t k", (1, 2, 3, 2, 4), (2, 3, 4, 2, 9), (1, 4, 2, 3, 8)),
        then="Lesson 19 uses it to give each of SmolLM's nine query heads its keys.",
        mistakes=[
            Mistake("in turn", "x.repeat_interleave(n_shared, dim=1)", "x.repeat(1, n_shared, 1, 1)",
                    "The heads come in turn: 0, 1, 2, 0, 1, 2 … Neighbouring query heads should share one: 0, 0, 0, 1, 1, 1 …"),
            Mistake("the first for all", "x.repeat_interleave(n_shared, dim=1)", "x[:, :1].repeat(1, n_heads, 1, 1)",
                    "You let all queries share the first key head. Only the first group of neighbours should use it."),
            Mistake("their mean for all", "x.repeat_interleave(n_shared, dim=1)", "x.mean(1, keepdim=True).repeat(1, n_heads, 1, 1)",
                    "You gave all queries the mean of the heads. Each group should have a head of its own."),
            Mistake("last first", "return", "result.flip(1)",
                    "The heads come in reverse order."),
            Mistake("padded with zeros", "x.repeat_interleave(n_shared, dim=1)", "torch.cat([x, torch.zeros(len(x), n_heads - x.shape[1], *x.shape[2:])], 1)",
                    "Only the first query heads have keys, and the others have zeros. Repeat each head instead."),
        ],
        also_right=[
            lambda x, h: x[:, [i * x.shape[1] // h for i in range(h)]],
            lambda x, h: x[:, :, None].expand(-1, -1, h // x.shape[1], -1, -1).flatten(1, 2),
        ],
        hints=["Which dimension holds the heads, and how many query heads share one key head?",
               "Each head of x is needed n_heads // x.shape[1] times. repeat_interleave puts the copies side by side.",
               "x.repeat_interleave(n_heads // x.shape[1], dim=1)"],
        look_at="Nothing is learned here and nothing more has to be stored. The cache holds only the heads of x, and the copies exist only while attention runs.",
    ),
    Exercise(
        name="rotate", title="turn queries and keys",
        task="Features 2i and 2i + 1 are a pair (a, b). At position t, turn each pair by the angle φ = t · base^(−2i/K), so that it becomes (a cos φ − b sin φ, a sin φ + b cos φ). The shape stays (..., T, K).",
        minutes=4, difficulty=3, importance=5,
        pytorch="`x[..., 0::2]` takes every second feature, from feature 0. `torch.stack([a, b], dim=-1).flatten(-2)` interleaves two tensors, entry by entry.",
        reference=rotate, draw=normal("…", ((2, 2), 10000.0), ((2, 3, 4), 100.0), ((1, 2, 5, 6), 10000.0)),
        then="Lesson 19 uses it to turn SmolLM's queries and keys.",
        mistakes=[
            Mistake("turned backwards", "even * cos - odd * sin", "even * cos + odd * sin",
                    "Every pair is turned the other way round. Which of the two terms with a sine is negative?", also=(("even * sin + odd * cos", "odd * cos - even * sin"),)),
            Mistake("halves paired", _halves_paired,
                    "Feature i was paired with i + K/2. Some libraries do so, but they store their matrices in another order. Here neighbours are a pair."),
            Mistake("not interleaved", "torch.stack([turned_even, turned_odd], dim=-1).flatten(-2)", "torch.cat([turned_even, turned_odd], dim=-1)",
                    "All even features come first now. Put each pair back where it was."),
            Mistake("counted from 1", "torch.arange(length)[:, None]", "torch.arange(1, length + 1)[:, None]",
                    "The first position is turned too. Positions count from 0. (The scores would be the same, because only distances count.)"),
            Mistake("base ignored", "base ** (-torch", "10000.0 ** (-torch",
                    "The base is always 10,000 here. Use the argument `base`, because SmolLM's is 100,000."),
            Mistake("sine and cosine exchanged", "angles.cos(), angles.sin()", "angles.sin(), angles.cos()",
                    "Sine and cosine are exchanged, so position 0 is turned when it should stay as it is."),
        ],
        also_right=[_by_complex_numbers, lambda x, base=10000.0: torch.cat([rotate_positions(x[..., t : t + 1, :], t, base) for t in range(x.shape[-2])], -2)],
        hints=["The last two dimensions of cos, sin, even and odd are all (T, K/2). Write down the two lines of the rotation.",
               "even * cos - odd * sin is the new even feature. What is the new odd one?",
               "torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)"],
        look_at="A rotation has nothing to learn. Position 0 stays as it is, and the first pairs turn fastest.",
    ),
    Exercise(
        name="rms_norm", title="normalise without a mean",
        task="Divide each vector of x by the root of (the mean of its squares, plus eps), then multiply by the gain, entry by entry.",
        minutes=3, difficulty=1, importance=4,
        pytorch="`x.mean(-1, keepdim=True)` keeps the last dimension with size 1, so that you can divide x by the result.",
        reference=rms_norm, draw=normal(
            "… d, d", (1, 2, 1.0), (2, 3, 0.01), ((2, 3), 4, 1.0), (2, 3, 1.0, 0.1),
            then=lambda x, gain, size, *eps: (size * x, gain, *eps)),
        then="Lesson 19 puts it into all 61 places of SmolLM that need it.",
        mistakes=[
            Mistake("layer norm", "(x**2).mean(-1, keepdim=True)", "x.var(-1, keepdim=True, unbiased=False)",
                    "This is a LayerNorm, because the mean is subtracted first. RMSNorm leaves the mean where it is.", also=(("return x / ", "return (x - x.mean(-1, keepdim=True)) / "),)),
            Mistake("no root", "(mean_square + eps).sqrt()", "(mean_square + eps)",
                    "The vector is divided by the mean square. Divide by its root."),
            Mistake("sum of squares", ".mean(-1, keepdim=True)", ".sum(-1, keepdim=True)",
                    "The squares were added up, so the vector gets length 1. Take their mean."),
            Mistake("eps outside the root", "(mean_square + eps).sqrt()", "(mean_square.sqrt() + eps)",
                    "eps is outside the root. Add it to the mean square."),
            Mistake("no gain", " * gain", "",
                    "The gain is never used. Multiply by it at the end."),
        ],
        also_right=[
            lambda x, gain, eps=1e-5: gain * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps),
            lambda x, gain, eps=1e-5: x * math.sqrt(x.shape[-1]) / (x.square().sum(-1, keepdim=True) + eps * x.shape[-1]).sqrt() * gain,
        ],
        hints=["Over which dimension do you average to get one number per vector, and what do you do to x first?",
               "mean_square = (x**2).mean(-1, keepdim=True)",
               "x / (mean_square + eps).sqrt() * gain"],
        look_at="RMSNorm is LayerNorm with its first step left out. It needs one mean instead of two, and no bias.",
    ),
]
