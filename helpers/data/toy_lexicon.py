"""The words of the toy corpus. Each French word has one English word, and the other way round."""

from typing import NamedTuple

from helpers.machine.tables import table_beside


class Noun(NamedTuple):
    """A noun, `fr`, `fr_plural`, `en`, `en_plural`; `feminine` is its French gender."""

    fr: str
    fr_plural: str
    en: str
    en_plural: str
    feminine: bool


class Adjective(NamedTuple):
    """The French forms of an adjective, `masculine` and `feminine`, and its English one, `en`.

    `before` says that it stands before the French noun; `masculine_vowel` is the masculine form
    before a vowel, where that differs (*vieil*). `opinion` says that English puts it before the
    others (*a curious young girl*).
    """

    masculine: str
    feminine: str
    en: str
    before: bool = False
    masculine_vowel: str = ""
    opinion: bool = False

    def form(self, feminine, plural):
        """Return the French form; plural forms take an s unless they end in one or in x."""
        word = self.feminine if feminine else self.masculine
        return word + "s" if plural and word[-1] not in "sx" else word


class Verb(NamedTuple):
    """Third person: `fr`, `fr_plural`; in English the singular `en` and the bare form `en_bare`."""

    fr: str
    fr_plural: str
    en: str
    en_bare: str


ROWS = table_beside(__file__)


def _read(kind, name):
    return tuple(kind(*row) for row in ROWS[name])


PEOPLE = _read(Noun, "people")
ANIMALS = _read(Noun, "animals")
THINGS = _read(Noun, "things")
WAYS = _read(Noun, "ways")
ROOMS = _read(Noun, "rooms")
BUILDINGS = _read(Noun, "buildings")

SIZES = _read(Adjective, "sizes")
AGES = _read(Adjective, "ages")
MOODS = _read(Adjective, "moods")
COLOURS = _read(Adjective, "colours")
COLOURS_OF_ANIMALS = (COLOURS[1], COLOURS[2], COLOURS[6])
STATES_OF_ANIMALS = _read(Adjective, "states_of_animals")
STATES_OF_WAYS = _read(Adjective, "states_of_ways")

ALONE = _read(Verb, "alone")
TOWARDS = _read(Verb, "towards")
TOWARDS_THINGS = _read(Verb, "towards_things")
FOLLOWS = Verb("suit", "suivent", "follows", "follow")  # nobody follows a lamp
CROSSES = Verb("traverse", "traversent", "crosses", "cross")

INSIDE = ("dans", "in")
OUTSIDE = (INSIDE, ("devant", "in front of"), ("derrière", "behind"))
WHILE = ("pendant que", "while")
JOINTS = (("et", "and"), ("mais", "but"), WHILE)
