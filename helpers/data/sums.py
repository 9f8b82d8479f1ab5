"""Small sums with their working, for sampling several answers, and larger ones for a tool."""

import itertools
import re
from dataclasses import dataclass

from helpers.data.story_words import seeded


@dataclass(frozen=True)
class Sum:
    """A sum of several small numbers."""

    numbers: tuple

    @property
    def prompt(self):
        """The question whose answer shows its working."""
        return f"Add {'+'.join(map(str, self.numbers))}."

    @property
    def at_once(self):
        """The question whose answer is the total alone."""
        return self.prompt[:-1] + " at once."

    @property
    def working(self):
        """Every step: ``3+5 is 8;8+9 is 17``."""
        steps = zip(itertools.accumulate(self.numbers), self.numbers[1:], strict=False)
        return ";".join(f"{total}+{number} is {total + number}" for total, number in steps)

    @property
    def total(self):
        """The right answer, an int."""
        return sum(self.numbers)


def final_number(text):
    """Read the answer of a `text`: its last number, or None if it has none."""
    numbers = re.findall(r"\d+", text)
    return int(numbers[-1]) if numbers else None


def sums(part, n=None, terms=(2, 3, 4, 5), largest=(9, 49), seed=1) -> list[Sum]:
    """Draw sums.

    Parameters
    ----------
    part : {"train", "unseen"}
        No sum of one part is in the other. The single steps, such as ``17+4``, are in both.
    n : int, default: 9,000 for training and 200 unseen
    terms : sequence of int, default=(2, 3, 4, 5)
        How many numbers a sum has; one of these each time.
    largest : sequence of int, default=(9, 49)
        The largest number that a sum may have; one of these each time.
    seed : int, default=1

    Raises
    ------
    ValueError
        If the part is unknown.
    """
    draw, found = seeded("sums", part, seed), []
    n = n or {"train": 9000, "unseen": 200}[part]
    while len(found) < n:
        limit = draw.choice(largest)
        numbers = tuple(draw.randint(1, limit) for _ in range(draw.choice(terms)))
        weighted = sum((i + 1) * number for i, number in enumerate(numbers))
        if (weighted % 5 == 0) == (part == "unseen"):  # a fifth of all sums
            found.append(Sum(numbers))
    return found


@dataclass(frozen=True)
class LargeSum:
    """A sum of two three-digit numbers, which the small model can only hand to a tool."""

    a: int
    b: int

    @property
    def prompt(self):
        """The question."""
        return f"What is {self.a}+{self.b}?"

    @property
    def call(self):
        """The text that asks for the tool."""
        return f"CALL add({self.a}, {self.b})"

    @property
    def total(self):
        """The right answer, an int."""
        return self.a + self.b

    @property
    def messages(self):
        """The conversation up to the tool's result."""
        return [
            {"role": "user", "content": self.prompt},
            {"role": "assistant", "content": self.call},
            {"role": "user", "content": f"RESULT {self.total}"},
        ]


def large_sums(part, n=None, seed=1) -> list[LargeSum]:
    """Draw sums of two three-digit numbers; those that a multiple of 5 starts are unseen.

    The `part`, the number `n` and the `seed` are as in `sums`; by default 2,000 are drawn for
    training and 100 unseen.
    """
    draw, found = seeded("large sums", part, seed), []
    while len(found) < (n or {"train": 2000, "unseen": 100}[part]):
        a, b = draw.randint(100, 999), draw.randint(100, 999)
        if (a % 5 == 0) == (part == "unseen"):
            found.append(LargeSum(a, b))
    return found
