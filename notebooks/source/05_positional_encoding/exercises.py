"""Lesson 05, positional encoding."""

import math

import torch

from helpers.exercises.model import Exercise, Mistake, normal
from helpers.transformer import positions


def add_position_number(x):
    """Add its position to every entry of a row: (T, D) -> (T, D)."""
    positions = torch.arange(len(x))
    return x + positions[:, None]


def add_positions(embeddings, table):
    """Scale the embeddings by √D and add one row of the table per position."""
    scaled = embeddings * math.sqrt(embeddings.shape[-1])
    rows = table[: embeddings.shape[1]]
    return scaled + rows


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
    a, b = x[..., 0::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    first = a * cos - b * sin
    second = a * sin + b * cos
    return torch.stack([first, second], dim=-1).flatten(-2)


# The solutions as a learner would write them; known mistakes are edits of these texts.


def _table(max_len, d_model):
    position = torch.arange(max_len)[:, None]
    exponent = torch.arange(0, d_model, 2) / d_model
    angle = position / 10000**exponent
    first, second = angle.sin(), angle.cos()
    return torch.stack([first, second], dim=-1).flatten(1)


def _by_loops(max_len, d_model):
    table = torch.zeros(max_len, d_model)
    for p in range(max_len):
        for i in range(0, d_model, 2):
            table[p, i] = math.sin(p / 10000 ** (i / d_model))
            table[p, i + 1] = math.cos(p / 10000 ** (i / d_model))
    return table


def _by_column_number(times):
    """Make sinusoids whose exponent counts columns instead of pairs."""

    def make(max_len, d_model):
        position, i = torch.arange(max_len)[:, None].float(), torch.arange(d_model)
        angle = position / 10000 ** (times * i / d_model)
        return torch.where(i % 2 == 0, angle.sin(), angle.cos())

    return make


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


def _shift_halves(k, d_model):
    angle = k * 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    cos, sin = torch.diag(angle.cos()), torch.diag(angle.sin())
    return torch.cat([torch.cat([cos, -sin], 1), torch.cat([sin, cos], 1)])


def _shift_by_fit(k, d_model):
    table = positions.sinusoidal_positions(64 + k, d_model).double()
    return torch.linalg.lstsq(table[:64], table[k : 64 + k]).solution.float()


# fmt: off
EXERCISES = [
    Exercise(
        name="add_position_number", title="add the number of the position",
        task="Add 0 to every entry of the first row, 1 to every entry of the second, and so on. What shape do the positions need so that broadcasting adds one number to each row?",
        pytorch="`torch.arange(3)` is [0, 1, 2]; `[:, None]` makes it a column of shape (3, 1). Broadcasting: (3, 1) + (3, 5) adds one number to each row.",
        then="The next cell uses your function to put a dog at position 300.",
        minutes=2, difficulty=2, importance=3,
        reference=add_position_number, draw=normal("t d", (2, 3), (4, 4), (5, 2)),
        mistakes=[
            Mistake("along the width", "positions[:, None]", "torch.arange(x.shape[1])",
                    "The first *column* gets 0, the second gets 1. A position belongs to a row: positions[:, None] has the shape (T, 1), and broadcasting repeats it along the columns."),
            Mistake("counted from 1", "torch.arange(len(x))", "torch.arange(1, len(x) + 1)",
                    "The first word gets 1 instead of 0. Positions are counted from 0 here, as everywhere in Python."),
            Mistake("only the first entry",
                    "x + positions[:, None]", "torch.cat([x[:, :1] + positions[:, None], x[:, 1:]], dim=1)",
                    "Only the first entry of each row has changed. Here every entry of row p increases by p."),
            Mistake("the same for all", "positions[:, None]", "len(x)",
                    "Every word gets the same number added, so nothing tells the positions apart. Row p gets p."),
            Mistake("words left out", "x + positions[:, None]", "positions[:, None].expand_as(x).to(x.dtype)",
                    "These are the positions alone. They have to be added to x."),
            Mistake("appended", "x + positions[:, None]", "torch.cat([x, positions[:, None].to(x.dtype)], dim=1)",
                    "The number is appended as one more column. Here it's added, and the shape stays as it is."),
        ],
        also_right=[lambda x: torch.stack([row + p for p, row in enumerate(x)])],
        hints=["x has the shape (T, D) and positions has (T,). Broadcasting lines up the *last* dimensions.",
               "positions[:, None] has the shape (T, 1)."],
        look_at="[:, None] makes a column of the positions. You'll use the same trick for masks and for the table of sinusoids.",
    ),
    Exercise(
        name="sinusoidal_positions", title="the table of sinusoids",
        task="Fill column 2i with sin(p / 10000^(2i/D)), and column 2i+1 with the cosine of the same angle.",
        pytorch="`angle.sin()` and `angle.cos()` work entry by entry. `table[:, 0::2]` are the columns 0, 2, 4, …, `table[:, 1::2]` the columns 1, 3, 5, …",
        then="The next cells train the reversing model with your table.",
        minutes=6, difficulty=3, importance=4,
        reference=positions.sinusoidal_positions, plain=_table,
        draw=lambda generator: [(3, 4), (6, 8), (10, 6)],
        mistakes=[
            Mistake("columns counted as pairs", _by_column_number(2),
                    "The i in 2i/D counts pairs, from 0 to D/2 − 1, but you used the column's number. Columns 2i and 2i+1 share the exponent 2i/D."),
            Mistake("cosine slower than its sine", _by_column_number(1),
                    "Columns 2i and 2i+1 share one frequency. In your table the cosine has a slower frequency of its own."),
            Mistake("sine and cosine exchanged", "angle.sin(), angle.cos()", "angle.cos(), angle.sin()",
                    "Sine and cosine have changed places, so position 0 begins with a 1. Put the sines into columns 0, 2, 4, … and the cosines beside them."),
            Mistake("not interleaved", "return", "torch.cat([first, second], dim=1)",
                    "All sines are on the left and all cosines on the right. The exercise asks for them alternately: sine, cosine, sine, cosine. (Both layouts are in use; a model only has to stick to one.)"),
            Mistake("exponent i/D", "torch.arange(0, d_model, 2) / d_model", "torch.arange(0, d_model, 2) / d_model / 2",
                    "Your exponent is i/D. The formula has 2i/D, where i counts pairs of columns."),
            Mistake("exponent counted twice", "torch.arange(0, d_model, 2) / d_model", "2 * torch.arange(0, d_model, 2) / d_model",
                    "The exponent is twice as large as it should be. If i already steps 0, 2, 4, …, the exponent is i/D and not 2i/D."),
        ],
        also_right=[_by_loops],
        hints=["A column of positions (max_len, 1) times a row of frequencies (D/2,) is the table of angles, with one column per pair.",
               "The even columns, table[:, 0::2], hold the sine of these angles. And the odd columns?",
               "table[:, 0::2] = angle.sin() and table[:, 1::2] = angle.cos(). Or torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1), which interleaves them at once."],
        look_at="A sine takes each value twice per turn. The cosine in the next column tells the two apart.",
    ),
    Exercise(
        name="add_positions", title="positions enter the model",
        task="Scale the embeddings (B, T, D) by √D, then add row p of the table to word p of every sentence. Two mistakes keep the function from doing so.",
        pytorch="(2, 3, 4) + (3, 4) adds the second tensor to both (3, 4) blocks of the first. (2, 3, 4) + (2, 1, 4) adds a single row to all three rows of a block.",
        then="The next cell uses your function for 24,000 sums of a word and a position.",
        minutes=4, difficulty=2, importance=5,
        reference=add_positions, draw=normal("b t d, p d", (3, 3, 4, 5), (2, 4, 6, 7), (4, 2, 10, 6)),
        mistakes=[
            Mistake("still as it was", "table[: embeddings.shape[1]]", "table[: embeddings.shape[0], None]",
                    "Call the function with embeddings that are all 0. Which row of the table does each word get? And what should be multiplied by √D?", also=(("return", "embeddings + rows * math.sqrt(embeddings.shape[-1])"),)),
            Mistake("along the batch", "table[: embeddings.shape[1]]", "table[: embeddings.shape[0], None]",
                    "The rows of the table were added along the batch, so every word of a sentence got the same vector. They belong along the sequence."),
            Mistake("embeddings not scaled", " * math.sqrt(embeddings.shape[-1])", "",
                    "The embeddings aren't multiplied by √D. They are initialised small, so the positions would drown them out."),
            Mistake("one row for all words", "table[: embeddings.shape[1]]", "table[embeddings.shape[1]]",
                    "Every word gets the same row of the table. A colon is missing: table[:length] is the first rows, one per word."),
            Mistake("√D on the positions", "return", "embeddings + rows * math.sqrt(embeddings.shape[-1])",
                    "The positions are multiplied by √D, and the embeddings aren't. It should be the other way round."),
            Mistake("positions forgotten", "return", "scaled",
                    "The embeddings are scaled, but no position is added, so this is still a bag of words."),
        ],
        also_right=[
            lambda e, t: t[None, : e.shape[1]] + e * e.shape[-1] ** 0.5,
            lambda e, t: torch.stack([s * math.sqrt(s.shape[-1]) + t[: len(s)] for s in e]),
        ],
        hints=["The table can be longer than the sentence: take its first T rows.",
               "(B, T, D) + (T, D) broadcasts over the batch by itself.",
               "embeddings * math.sqrt(embeddings.shape[-1]) + table[:embeddings.shape[1]]"],
        look_at="You didn't have to insert a dimension, because broadcasting aligns the last ones and repeats the table over the batch.",
    ),
    Exercise(
        name="shift_matrix", title="moving is rotating",
        task="Return the (D, D) matrix with table[p] @ matrix = table[p + k] for every position p of the sinusoids. Build it from sin(a + b) and cos(a + b): a 2 × 2 rotation per pair of columns, and zeros elsewhere.",
        pytorch="`torch.block_diag(a, b)` puts matrices along the diagonal, with zeros elsewhere.",
        then="The next cell turns your matrix into a head that attends to the word before.",
        minutes=5, difficulty=2, importance=2,
        reference=shift_matrix, draw=lambda generator: [(1, 2), (1, 4), (3, 6), (2, 6)],
        mistakes=[
            Mistake("turned the other way", "(k * frequency)", "(-k * frequency)",
                    "This matrix moves by −k. Swap the signs of the two sines, or transpose it: the table's rows are on the left of the matrix."),
            Mistake("moved by one", "(k * frequency)", "frequency",
                    "This moves by one position, whatever k is. Multiply the angles by k."),
            Mistake("both sines positive", "-sin]", "sin]",
                    "Both sines have the same sign, so this is no rotation. One of them is negative."),
            Mistake("sine and cosine swapped", "sin, cos =", "cos, sin =",
                    "Sine and cosine have changed places. The cosines are on the diagonal, because for k = 0 nothing moves."),
            Mistake("pairs are halves", _shift_halves,
                    "This fits a table with all sines on the left and all cosines on the right. In ours they are interleaved, so each pair gets a 2 × 2 block: torch.block_diag."),
        ],
        also_right=[_shift_by_fit],
        hints=[
            "Take one pair (sin a, cos a). Expand sin(a + b) and cos(a + b) with the angle addition formulas.",
            "For one pair the matrix is [[cos b, −sin b], [sin b, cos b]], with b = k · frequency.",
            "Build one 2×2 block per frequency and join them with torch.block_diag(*blocks).",
        ],
        look_at="You built it without knowing p, so one matrix moves every position.",
    ),
    Exercise(
        name="rotate_pairs", title="rotary positions",
        task="Turn features (a, b) = (2i, 2i+1) of row t by angles[t, i]: a cos − b sin, a sin + b cos. (The pairs in shift_matrix are (sin, cos), so its matrix turns the other way.)",
        minutes=6, difficulty=3, importance=3,
        reference=rotate_pairs, draw=normal("t d, t a", (2, 4, 2), (5, 6, 3), (3, 8, 4)),
        mistakes=[
            Mistake("not interleaved again", "torch.stack([first, second], dim=-1).flatten(-2)", "torch.cat([first, second], dim=-1)",
                    "The rotation is right, but the result lists the first members of all pairs, then the second ones. Put the two members of each pair next to each other again."),
            Mistake("pairs are halves", "x[..., 0::2], x[..., 1::2]", "x.chunk(2, -1)",
                    "Feature i is paired with feature i + K/2. Here neighbours form a pair: 2i and 2i+1. (Both are in use.)",
                    also=(("torch.stack([first, second], dim=-1).flatten(-2)", "torch.cat([first, second], dim=-1)"),)),
            Mistake("turned the other way", "angles.sin()", "-angles.sin()",
                    "The rotation goes the wrong way. Give the minus to the first of each pair: it becomes a cos − b sin."),
            Mistake("both signs plus", "cos - b", "cos + b",
                    "Both of your formulas have a plus. In a rotation, one of the two sines has a minus."),
            Mistake("second feature from the turned first", "second = a", "second = first",
                    "The second feature was computed from the first one after its turn. Compute both from the old values."),
        ],
        also_right=[_complex, _by_pairs],
        pytorch="`x[:, 0::2]` and `x[:, 1::2]` are the even and the odd columns; `torch.stack([a, b], dim=-1).flatten(-2)` weaves two such halves together again.",
        hints=["even, odd = x[..., 0::2], x[..., 1::2] gives the two members of all pairs.",
               "(a, b) turned by an angle is (a cos − b sin, a sin + b cos).",
               "torch.stack([first, second], dim=-1).flatten(-2) interleaves the pairs again."],
        look_at="Turn a query and a key like this, and their dot product depends on how far apart they are, not on where they are.",
    ),
]
