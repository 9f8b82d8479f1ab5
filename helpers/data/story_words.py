"""Words of the fairy tales, sorted, some of them kept away from every training; their sentences."""

import functools
import random
import re
from collections import Counter, defaultdict

from helpers.data.stories import stories
from helpers.machine.tables import table_beside

CATEGORIES = table_beside(__file__)
# Of the names of villages.
FIRST_HALVES = "Ash Oak Elm Birch Thorn Stone Wolf Raven Mill Brook Moss Fern"
SECOND_HALVES = "ham ford ton ley field bury wick stead dale worth"
EVERY = 5  # of so many words one is unseen
# One whole sentence without speech, brackets or a stop inside.
SENTENCE = re.compile(r"(?:^|(?<=[.!?] ))[A-Z][^.!?'\"‘’“”()\[\]_*;:\n]{15,140}\.(?= |$)", re.M)


def category(name, part="all") -> list[str]:
    """List the words of a category; its `name` is "animals", "people", "things" or "places".

    Every fifth word is unseen: no instruction of the training part contains it. The `part` is
    "all", "train" or "unseen".
    """
    words = CATEGORIES[name].split()
    unseen = words[EVERY - 1 :: EVERY]
    return {"all": words, "unseen": unseen, "train": [w for w in words if w not in unseen]}[part]


def words_of(text):
    """List the `text`'s words in small letters, without punctuation."""
    return re.findall(r"[a-z0-9]+", text.lower())


def mentions(text, word):
    """Tell whether a `text` has a `word`, in the singular or with an s."""
    return not {word, word + "s"}.isdisjoint(words_of(text))


@functools.cache
def sentences():
    """Find the simple sentences of the fairy tales, each with what follows it.

    Each is a tuple: the sentence, and up to three more that follow it directly in its paragraph.
    """
    runs = []
    for paragraph in stories("train").split("\n"):
        found = list(SENTENCE.finditer(paragraph))
        for i, first in enumerate(found):
            run = [first]
            for after in found[i + 1 : i + 4]:
                if after.start() != run[-1].end() + 1:
                    break
                run.append(after)
            runs.append(tuple(match.group() for match in run))
    return tuple(runs)


@functools.cache
def runs_about() -> dict[str, list]:
    """Sort the runs of `sentences` by the nouns among the first seven words."""
    nouns = {word for name in CATEGORIES for word in category(name)}
    sorted_ = defaultdict(list)
    for run in sentences():
        for noun in nouns.intersection(words_of(run[0])[:7]):
            sorted_[noun].append(run)
    return sorted_


@functools.cache
def _counted():
    """Count the words of the fairy tales that are in small letters, the commonest first."""
    return Counter(re.findall(r"\b[a-z]{3,10}\b", stories("train"))).most_common()


@functools.cache
def vocabulary(part="all"):
    """List the words that the fairy tales use at least eight times in small letters.

    Parameters
    ----------
    part : {"all", "train", "unseen"}, default="all"
        The nouns of the categories keep the part they have there; of the rest every fifth is
        unseen.

    Returns
    -------
    words : list of str
        Three to ten letters each, the hundred commonest left out.
    """
    words = [word for word, n in _counted() if n >= 8][100:]
    unseen = {word for name in CATEGORIES for word in category(name, "unseen")}
    seen = {word for name in CATEGORIES for word in category(name, "train")}
    unseen |= set(words[EVERY - 1 :: EVERY]) - seen
    return [word for word in words if part == "all" or (word in unseen) == (part == "unseen")]


def village(draw):
    """Invent the name of a village; `draw` is a random.Random."""
    return draw.choice(FIRST_HALVES.split()) + draw.choice(SECOND_HALVES.split())


def seeded(name, part, seed):
    """Make a random.Random that a `name`, a `part` and a `seed` decide.

    A part that is neither "train" nor "unseen" is a ValueError.
    """
    if part not in ("train", "unseen"):
        raise ValueError(f'the parts are "train" and "unseen"; got {part!r}.')
    return random.Random(f"{name} {part} {seed}")
