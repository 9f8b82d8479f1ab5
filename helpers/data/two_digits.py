"""Sums of two two-digit numbers, letter by letter, and rules that reward their answers.

The answers are written as hurried people write them: one in seven is wrong at first and corrected
after a comma. B sums, T tokens.
"""

import random

import torch

SYMBOLS = "0123456789+=,."
END = SYMBOLS.index(".")
LONGEST = 12  # tokens of an answer, its end included
N_UNSEEN = 800
CORRECTED = 0.15


def two_digit_sums(part):
    """Return the pairs of numbers (N, 2) of one ``part``, "train" or "unseen"; none is in both."""
    pairs = [(a, b) for a in range(10, 100) for b in range(10, 100)]
    random.Random(0).shuffle(pairs)
    return torch.tensor(pairs[:N_UNSEEN] if part == "unseen" else pairs[N_UNSEEN:])


def prompts_of(pairs):
    """Write pairs (B, 2) as ``37+48=``, integer ids (B, 6)."""
    a, b = pairs.unbind(1)
    plus = torch.full_like(a, SYMBOLS.index("+"))
    return torch.stack([a // 10, a % 10, plus, b // 10, b % 10, plus + 1], 1)


def answers_of(pairs, draw):
    """Let a random `draw` answer `pairs` as people do: ids (B, LONGEST), and which ones count."""
    written = torch.full((len(pairs), LONGEST), END)
    counted = torch.zeros(len(pairs), LONGEST, dtype=torch.bool)
    for row, total in enumerate(pairs.sum(1).tolist()):
        text = str(total)
        if draw.random() < CORRECTED:
            text = f"{total + draw.choice((-10, -1, 1, 10))},{text}"
        written[row, : len(text)] = torch.tensor([SYMBOLS.index(letter) for letter in text])
        counted[row, : len(text) + 1] = True
    return written, counted


def texts_of(written):
    """Read what is `written` (B, T) up to its end token; what has none ends in "…"."""
    rows = ["".join(SYMBOLS[i] for i in row) for row in written.tolist()]
    return [row.partition(".")[0] if "." in row else row + "…" for row in rows]


def is_right(text, total):
    """Tell whether the last number of a `text` is the `total`, and the text has ended."""
    return text.rpartition(",")[2] == str(total)


def is_mentioned(text, total):
    """Tell whether the `total` is among the numbers of a `text`: a rule with a gap."""
    return str(total) in text.split(",")


def rewards_of(written, pairs, rule):
    """Give what is `written` (B, T) for `pairs` (B, 2) 1 or 0 by a `rule`; floats (B,)."""
    found = zip(texts_of(written), pairs.sum(1).tolist(), strict=True)
    return torch.tensor([float(rule(text, total)) for text, total in found])
