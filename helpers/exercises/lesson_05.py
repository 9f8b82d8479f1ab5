"""Lesson 05, positional encoding."""

import math

import torch

from helpers import positions
from helpers.exercises.model import Exercise, Mistake


def add_positions(embeddings, table):
    """Scale the embeddings by √D and add one row of the table to each word of every sentence."""
    length, d_model = embeddings.shape[-2:]
    return embeddings * math.sqrt(d_model) + table[:length]


def shift_matrix(k, d_model):
    """Make the matrix that moves every sinusoidal position by k: table[p] @ matrix = table[p + k]."""
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    turns = []
    for angle in (k * frequency).tolist():
        sin, cos = math.sin(angle), math.cos(angle)
        turns.append(torch.tensor([[cos, -sin], [sin, cos]]))
    return torch.block_diag(*turns)


def rotate_pairs(x, angles):
    """Turn features 2i and 2i+1 of row t by angles[t, i]."""
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def _table(interleaved=True, sine_first=True, exponent="2i/D", start=0, base=10000.0):
    """Make sinusoids that go wrong in the ways asked for."""

    def make(max_len, d_model):
        position = torch.arange(start, start + max_len)[:, None].float()
        i = torch.arange(d_model // 2).float()
        power = {"2i/D": 2 * i / d_model, "i/D": i / d_model, "4i/D": 4 * i / d_model}[exponent]
        angle = position / base**power
        waves = [angle.sin(), angle.cos()] if sine_first else [angle.cos(), angle.sin()]
        return torch.stack(waves, -1).flatten(1) if interleaved else torch.cat(waves, 1)

    return make


def _by_column_number(times):
    """Make sinusoids whose exponent counts columns instead of pairs."""

    def make(max_len, d_model):
        position, i = torch.arange(max_len)[:, None].float(), torch.arange(d_model)
        angle = position / 10000 ** (times * i / d_model)
        return torch.where(i % 2 == 0, angle.sin(), angle.cos())

    return make


def _by_loops(max_len, d_model):
    table = torch.zeros(max_len, d_model)
    for p in range(max_len):
        for i in range(0, d_model, 2):
            table[p, i] = math.sin(p / 10000 ** (i / d_model))
            table[p, i + 1] = math.cos(p / 10000 ** (i / d_model))
    return table


def _by_columns(max_len, d_model):
    table = torch.zeros(max_len, d_model)
    angle = torch.outer(
        torch.arange(max_len).float(),
        torch.exp(-math.log(10000.0) * torch.arange(0, d_model, 2) / d_model),
    )
    table[:, 0::2], table[:, 1::2] = angle.sin(), angle.cos()
    return table


def _draw_added(generator):
    return [
        (torch.randn(3, 3, 4, generator=generator), torch.randn(5, 4, generator=generator)),
        (torch.randn(2, 4, 6, generator=generator), torch.randn(7, 6, generator=generator)),
    ]


def _draw_turns(generator):
    return [
        (torch.randn(2, 4, generator=generator), torch.rand(2, 2, generator=generator) * 3),
        (torch.randn(5, 6, generator=generator), torch.rand(5, 3, generator=generator) * 3),
    ]


def _in_halves(x, angles):
    first, second = x.chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)


def _complex(x, angles):
    turned = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(turned * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def _by_pairs(x, angles):
    rows = []
    for row, row_angles in zip(x, angles, strict=True):
        turned = []
        for i, angle in enumerate(row_angles):
            a, b = row[2 * i], row[2 * i + 1]
            turned += [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()]
        rows.append(torch.stack(turned))
    return torch.stack(rows)


def _shift_by_index(k, d_model):
    matrix = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        angle = k / 10000 ** (i / d_model)
        matrix[i, i] = matrix[i + 1, i + 1] = math.cos(angle)
        matrix[i, i + 1], matrix[i + 1, i] = -math.sin(angle), math.sin(angle)
    return matrix


def _shift_halves(k, d_model):
    angle = k * 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    cos, sin = torch.diag(angle.cos()), torch.diag(angle.sin())
    return torch.cat([torch.cat([cos, -sin], 1), torch.cat([sin, cos], 1)])


def _shift_by_fit(k, d_model):
    table = positions.sinusoidal_positions(64 + k, d_model).double()
    return torch.linalg.lstsq(table[:64], table[k : 64 + k]).solution.float()


EXERCISES = [
    Exercise(
        name="sinusoidal_positions",
        title="the table of sinusoids",
        task="Column 2i holds sin(p / 10000^(2i/D)), column 2i+1 the cosine of the same angle.",
        minutes=8,
        difficulty=3,
        importance=4,
        reference=positions.sinusoidal_positions,
        draw=lambda generator: [(3, 4), (6, 8), (10, 6)],
        mistakes=[
            Mistake(
                "columns counted as pairs",
                _by_column_number(2),
                "The number in 2i/D is the pair's, 0 to D/2 − 1, and you put in the column's. Columns 2i and 2i+1 share the exponent 2i/D.",
            ),
            Mistake(
                "cosine slower than its sine",
                _by_column_number(1),
                "Columns 2i and 2i+1 share one frequency; yours gives the cosine a slower one of its own.",
            ),
            Mistake(
                "not interleaved",
                _table(interleaved=False),
                "All sines stand on the left and all cosines on the right. The exercise wants them in turn: sine, cosine, sine, cosine. (Both are in use; a model must only stick to one.)",
            ),
            Mistake(
                "cosine first",
                _table(sine_first=False),
                "Sine and cosine have changed places: even columns hold the sine.",
            ),
            Mistake(
                "exponent i/D",
                _table(exponent="i/D"),
                "The exponent is i/D; the formula has 2i/D, where i counts pairs of columns.",
            ),
            Mistake(
                "exponent counted twice",
                _table(exponent="4i/D"),
                "The exponent is twice too large: if i already steps 0, 2, 4 …, it is i/D and not 2i/D.",
            ),
            Mistake(
                "positions from 1",
                _table(start=1),
                "The first row is position 1. Positions are counted from 0, where every sine is 0 and every cosine 1.",
            ),
            Mistake(
                "sine everywhere",
                lambda n, d: torch.stack([_by_loops(n, d)[:, 0::2]] * 2, -1).flatten(1),
                "Every column is a sine. The second of each pair is a cosine: without it, moving on would not be a rotation.",
            ),
            Mistake(
                "base 1000",
                _table(base=1000.0),
                "The base is 1000; the paper's is 10000.",
            ),
            Mistake(
                "cosine everywhere",
                lambda n, d: torch.stack([_by_loops(n, d)[:, 1::2]] * 2, -1).flatten(1),
                "Every column is a cosine. The first of each pair is a sine.",
            ),
            Mistake("not interleaved + positions from 1", _table(interleaved=False, start=1)),
            Mistake("not interleaved + cosine first", _table(interleaved=False, sine_first=False)),
            Mistake("not interleaved + exponent i/D", _table(interleaved=False, exponent="i/D")),
        ],
        also_right=[_by_loops, _by_columns],
        hints=[
            "Make a column of positions (max_len, 1) and a row of frequencies (D/2,); their product is the table of angles.",
            "The frequencies are 10000 ** (-torch.arange(0, d_model, 2) / d_model).",
            "torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1) puts them in turn.",
        ],
        look_at="stack makes pairs (max_len, D/2, 2), and flatten lays them out in turn: no loop over columns.",
    ),
    Exercise(
        name="add_positions",
        title="positions enter the model",
        task="Scale the embeddings (B, T, D) by √D and add row p of the table to word p of every sentence.",
        minutes=4,
        difficulty=2,
        importance=5,
        reference=add_positions,
        draw=_draw_added,
        mistakes=[
            Mistake(
                "along the batch",
                lambda e, t: e * math.sqrt(e.shape[-1]) + t[: e.shape[0], None],
                "The rows of the table went along the batch: every word of a sentence got the same vector. They belong along the time axis.",
            ),
            Mistake(
                "embeddings not scaled",
                lambda e, t: e + t[: e.shape[1]],
                "The embeddings are not multiplied by √D. They are initialised small; the positions would drown them.",
            ),
            Mistake(
                "positions scaled too",
                lambda e, t: (e + t[: e.shape[1]]) * math.sqrt(e.shape[-1]),
                "Positions are multiplied by √D too. Only the embeddings are.",
            ),
            Mistake(
                "divided",
                lambda e, t: e / math.sqrt(e.shape[-1]) + t[: e.shape[1]],
                "The embeddings are divided by √D. Here they are multiplied by it.",
            ),
            Mistake(
                "concatenated",
                lambda e, t: torch.cat(
                    [e * math.sqrt(e.shape[-1]), t[: e.shape[1]].expand(e.shape)], -1
                ),
                "The positions stand beside the embeddings and the width has doubled. They are added.",
            ),
            Mistake(
                "the last rows of the table",
                lambda e, t: e * math.sqrt(e.shape[-1]) + t[-e.shape[1] :],
                "The rows come from the end of the table. Word 0 takes row 0.",
            ),
            Mistake(
                "√D on the positions",
                lambda e, t: e + t[: e.shape[1]] * math.sqrt(e.shape[-1]),
                "The positions are multiplied by √D, and the embeddings are not. It is the other way round.",
            ),
            Mistake(
                "positions forgotten",
                lambda e, t: e * math.sqrt(e.shape[-1]),
                "The embeddings are scaled, but no position is added: still a bag of words.",
            ),
            Mistake(
                "scaled by √T",
                lambda e, t: e * math.sqrt(e.shape[1]) + t[: e.shape[1]],
                "The embeddings are multiplied by the root of the sentence's length. D is their width: embeddings.shape[-1].",
            ),
            Mistake(
                "scaled by D",
                lambda e, t: e * e.shape[-1] + t[: e.shape[1]],
                "The embeddings are multiplied by D, not by its square root.",
            ),
            Mistake(
                "along the batch + embeddings not scaled",
                lambda e, t: e + t[: e.shape[0], None],
            ),
        ],
        also_right=[
            lambda e, t: t[None, : e.shape[1]] + e * e.shape[-1] ** 0.5,
            lambda e, t: torch.stack([s * math.sqrt(s.shape[-1]) + t[: len(s)] for s in e]),
        ],
        hints=[
            "The table may be longer than the sentence: take its first T rows.",
            "(B, T, D) + (T, D) broadcasts over the batch by itself.",
            "embeddings * math.sqrt(embeddings.shape[-1]) + table[:embeddings.shape[1]]",
        ],
        look_at="No axis has to be added: broadcasting lines up the last axes, and the missing one is the batch.",
    ),
    Exercise(
        name="shift_matrix",
        title="moving is rotating",
        task="Return the (D, D) matrix with table[p] @ matrix = table[p + k] for every position p of the sinusoids. Section 3 has it: cover it up and build it again from sin(a + b) and cos(a + b).",
        minutes=5,
        difficulty=2,
        importance=2,
        reference=shift_matrix,
        draw=lambda generator: [(1, 2), (1, 4), (3, 6)],
        mistakes=[
            Mistake(
                "turned the other way",
                lambda k, d: shift_matrix(-k, d),
                "This matrix moves by −k. Swap the signs of the two sines, or transpose it: the table's rows stand on the left of the matrix.",
            ),
            Mistake(
                "same frequency everywhere",
                lambda k, d: torch.block_diag(*[shift_matrix(k, 2)] * (d // 2)),
                "Every pair turns by the same angle. Pair i turns by k · 10000^(−2i/D).",
            ),
            Mistake(
                "moved by one",
                lambda k, d: shift_matrix(1, d),
                "This moves by one position, whatever k is: multiply the angles by k.",
            ),
            Mistake(
                "no sine",
                lambda k, d: torch.diag(torch.diag(shift_matrix(k, d))),
                "Only the cosines are there. A turn of a pair needs the sines off the diagonal too.",
            ),
            Mistake(
                "both sines positive",
                lambda k, d: torch.where(
                    torch.eye(d).bool(), shift_matrix(k, d), shift_matrix(k, d).abs()
                ),
                "Both sines have the same sign, so this is no rotation. One of them is negative.",
            ),
            Mistake(
                "exponent i/D",
                lambda k, d: torch.block_diag(
                    *[shift_matrix(k / 10000 ** (i / d), 2) for i in range(d // 2)]
                ),
                "The exponent is i/D; pair i has the frequency 10000^(−2i/D).",
            ),
            Mistake(
                "sine and cosine swapped",
                lambda k, d: torch.block_diag(
                    *[
                        torch.tensor([[math.sin(a), -math.cos(a)], [math.cos(a), math.sin(a)]])
                        for a in (k / 10000 ** (i / d) for i in range(0, d, 2))
                    ]
                ),
                "Sine and cosine have changed places. The cosines stand on the diagonal: for k = 0 nothing may move.",
            ),
            Mistake(
                "pairs are halves",
                _shift_halves,
                "This fits a table with all sines on the left and all cosines on the right. In ours they come in turn: a 2 × 2 block for each pair, torch.block_diag.",
            ),
        ],
        also_right=[_shift_by_index, _shift_by_fit],
        hints=[
            "Take one pair (sin a, cos a). Write sin(a + b) and cos(a + b) by the addition theorems.",
            "For one pair the matrix is [[cos b, −sin b], [sin b, cos b]], with b = k · frequency.",
            "Build one 2×2 block for each frequency and join them with torch.block_diag(*blocks).",
        ],
        look_at="The position p appears nowhere: one matrix serves all positions.",
    ),
    Exercise(
        name="rotate_pairs",
        title="rotary positions",
        task="Turn features (a, b) = (2i, 2i+1) of row t by angles[t, i]: a cos − b sin, a sin + b cos. (Section 3 turned (sin, cos) pairs, so its matrix goes the other way.)",
        minutes=6,
        difficulty=3,
        importance=3,
        reference=rotate_pairs,
        draw=_draw_turns,
        mistakes=[
            Mistake(
                "pairs are halves",
                _in_halves,
                "Feature i is paired with feature i + K/2. Here neighbours are pairs: 2i and 2i+1. (Both are in use.)",
            ),
            Mistake(
                "turned the other way",
                lambda x, a: rotate_pairs(x, -a),
                "The turn goes the other way round: the first of a pair becomes a cos − b sin.",
            ),
            Mistake(
                "both signs plus",
                lambda x, a: torch.stack(
                    [
                        x[..., 0::2] * a.cos() + x[..., 1::2] * a.sin(),
                        x[..., 0::2] * a.sin() + x[..., 1::2] * a.cos(),
                    ],
                    -1,
                ).flatten(-2),
                "Both rows have a plus. In a rotation one of the two sines has a minus.",
            ),
            Mistake(
                "not interleaved again",
                lambda x, a: torch.cat(
                    [rotate_pairs(x, a)[..., 0::2], rotate_pairs(x, a)[..., 1::2]], -1
                ),
                "Turned rightly, but laid out as all firsts, then all seconds. Put the pairs back next to each other.",
            ),
            Mistake(
                "second feature from the turned first",
                lambda x, a: torch.stack(
                    [
                        x[..., 0::2] * a.cos() - x[..., 1::2] * a.sin(),
                        (x[..., 0::2] * a.cos() - x[..., 1::2] * a.sin()) * a.sin()
                        + x[..., 1::2] * a.cos(),
                    ],
                    -1,
                ).flatten(-2),
                "The second feature was computed from the first one after its turn. Both use the old values.",
            ),
            Mistake(
                "not interleaved again + turned the other way",
                lambda x, a: torch.cat(
                    [rotate_pairs(x, -a)[..., 0::2], rotate_pairs(x, -a)[..., 1::2]], -1
                ),
            ),
            Mistake("pairs are halves + turned the other way", lambda x, a: _in_halves(x, -a)),
            Mistake(
                "second feature left alone",
                lambda x, a: torch.stack([rotate_pairs(x, a)[..., 0::2], x[..., 1::2]], -1).flatten(
                    -2
                ),
                "Only the first of each pair has changed. The second becomes a sin + b cos.",
            ),
            Mistake(
                "first and second swapped",
                lambda x, a: rotate_pairs(x, a).unflatten(-1, (-1, 2)).flip(-1).flatten(-2),
                "Turned rightly, but the two of each pair have changed places: a cos − b sin comes first.",
            ),
        ],
        also_right=[_complex, _by_pairs],
        hints=[
            "even, odd = x[..., 0::2], x[..., 1::2] gives the two members of all pairs.",
            "(a, b) turned by an angle is (a cos − b sin, a sin + b cos).",
            "torch.stack([first, second], dim=-1).flatten(-2) puts the pairs back in turn.",
        ],
        look_at="The same stack-and-flatten as in the sinusoids: pairs in, pairs out.",
    ),
]
