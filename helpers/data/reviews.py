"""One-line reviews, each labelled by a person: of films to train on, of products for transfer."""

import bz2
import random
from pathlib import Path
from typing import NamedTuple

REAL = Path(__file__).parent / "real"
SPLITS = {"train": slice(2000, None), "validation": slice(0, 1000), "test": slice(1000, 2000)}
SEED = 12


class Review(NamedTuple):
    """A review's `text` and its `label`, 1 = positive, 0 = negative."""

    text: str
    label: int


def film_reviews(split) -> list[Review]:
    """Read one-line film reviews, lower-cased and split into words as they were published.

    They have no official split, so ours is a shuffle with a fixed seed.

    Parameters
    ----------
    split : {"train", "validation", "test"}
        7,720, 1,000 and 1,000 reviews, half of them positive up to chance.

    Raises
    ------
    ValueError
        If there is no such split.

    Source
    ------
    Pang and Lee (2005), "Seeing Stars", CC BY 4.0; see ``real/NOTICES.md``.
    """
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}; got {split!r}.")
    reviews = _read("reviews_film.tsv.bz2")
    random.Random(SEED).shuffle(reviews)
    return reviews[SPLITS[split]]


def product_reviews():
    """Read 1,000 one-line reviews of mobile phones and what belongs to them, as written.

    Returns
    -------
    reviews : list of Review
        Half of them positive.

    Source
    ------
    Kotzias et al. (2015), "From Group to Individual Labels Using Deep Features", CC BY 4.0; see
    ``real/NOTICES.md``.
    """
    return _read("reviews_product.tsv.bz2")


def _read(name):
    with bz2.open(REAL / name, "rt", encoding="utf-8", newline="\n") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [Review(text, int(label)) for label, text in rows]
