"""Instructions that a small story model can follow, each with a rule that checks the answer.

Everything is made by a seeded generator: nouns and sentences come from the fairy tales, the short
texts with questions from the grammar below. The unseen part uses nouns, and for lists numbers, that
no instruction of the training part contains.
"""

import functools
import re
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from helpers.data.story_words import (
    CATEGORIES,
    FIRST_HALVES,
    SECOND_HALVES,
    category,
    mentions,
    runs_about,
    seeded,
    sentences_ending,
    village,
    words_of,
)

KINDS = ("repeat", "list", "question", "unknown", "begin", "sentence", "finish", "story")
UNKNOWN = "I do not know."
NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5}
LONGEST = 20  # words of a sentence in an answer
UNSEEN_LISTS = {("animals", "three"), ("people", "four"), ("things", "two"), ("places", "five")}


@dataclass(frozen=True)
class Instruction:
    """What is asked, one right answer, and what a rule needs to check any other.

    Parameters
    ----------
    prompt, answer : str
    kind : str
        One of `KINDS`.
    facts : dict
        What the rule of this kind compares with.
    """

    prompt: str
    answer: str
    kind: str
    facts: dict = field(default_factory=dict, hash=False)

    def followed_by(self, text):
        """Tell whether a `text` does what the prompt asks; by a rule, whoever wrote it."""
        return bool(_RULES[self.kind](text.strip(), **self.facts))


def _is_repeat(text, word, times):
    return words_of(text) == [word] * times


def _is_list(text, name, length):
    listed = [word for word in words_of(text) if word != "and"]
    singular = {word.removesuffix("s") for word in CATEGORIES[name].split()}
    given = {word.removesuffix("s") for word in listed}
    return len(listed) == len(given) == length and given <= singular


def _is_answer(text, right, others):
    return mentions(text, right) and not any(mentions(text, other) for other in others)


def _is_unknown(text):
    return words_of(text) == words_of(UNKNOWN)


def _is_sentence(text):
    """One sentence: a stop at the end, none before, and more than a word or two."""
    return len(re.findall(r"[.!?]", text)) == 1 and text[-1] in ".!?" and len(words_of(text)) > 3


def _begins(text, start):
    return text.startswith(start) and text != start and _is_sentence(text)


def _is_about(text, word):
    return _is_sentence(text) and mentions(text, word)


def _finishes(text, word):
    return _is_sentence(text) and words_of(text)[-1] == word


def _is_story(text, word):
    return bool(text) and text[-1] in ".!?" and len(words_of(text)) > 3 and mentions(text, word)


_RULES = {
    "repeat": _is_repeat,
    "list": _is_list,
    "question": _is_answer,
    "unknown": _is_unknown,
    "begin": _begins,
    "sentence": _is_about,
    "finish": _finishes,
    "story": _is_story,
}


def instructions(part, n=None, kinds=KINDS, seed=1):
    """Make instructions, equally many of every kind, in a mixed order.

    Parameters
    ----------
    part : {"train", "unseen"}
    n : int, default: 8,000 for training and 400 unseen
    kinds : sequence of str, default: all
    seed : int, default=1

    Returns
    -------
    instructions : list of Instruction

    Raises
    ------
    ValueError
        If the part or a kind is unknown.
    """
    if part not in ("train", "unseen"):
        raise ValueError(f'the parts are "train" and "unseen"; got {part!r}.')
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        raise ValueError(f"the kinds are {', '.join(KINDS)}; got {unknown[0]!r}.")
    n = n or {"train": 8000, "unseen": 400}[part]
    draw = seeded("instructions", part, seed)
    made = [_MAKERS[kinds[i % len(kinds)]](part, draw) for i in range(n)]
    draw.shuffle(made)
    return made


def _noun(part, draw, *names):
    """Draw a noun of a category of those `names`, or of any."""
    return draw.choice(category(draw.choice(names or list(CATEGORIES)), part))


def with_article(noun):
    """Write *a* or *an* before a `noun`."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _repeat(part, draw):
    word, (name, times) = _noun(part, draw), draw.choice(list(NUMBERS.items()))
    prompt = draw.choice([f"Say {word} {name} times.", f"Write the word {word} {name} times."])
    answer = " ".join([word] * times)
    return Instruction(prompt, answer, "repeat", {"word": word, "times": times})


def _list(part, draw):
    every = [(name, number) for name in CATEGORIES for number in NUMBERS]
    wanted = [pair for pair in every if (pair in UNSEEN_LISTS) == (part == "unseen")]
    name, number = draw.choice(wanted)
    chosen = draw.sample(category(name), NUMBERS[number])
    prompt = draw.choice([f"Name {number} {name}.", f"Write a list of {number} {name}."])
    answer = ", ".join(chosen[:-1]) + " and " + chosen[-1]
    return Instruction(prompt, answer, "list", {"name": name, "length": NUMBERS[number]})


@dataclass(frozen=True)
class Scene:
    """A short made-up text: who has what, and who lives where.

    Parameters
    ----------
    village : str
    owners : dict of str to str
        Thing per person or animal.
    homes : dict of str to str
        Place per person or animal.
    text : str
    """

    village: str
    owners: dict
    homes: dict
    text: str

    def questions(self):
        """List every (question, right answer's noun, answer) about this scene."""
        found = []
        for being, thing in self.owners.items():
            a_thing = with_article(thing)
            found.append((f"Who has the {thing}?", being, f"The {being} has the {thing}."))
            found.append((f"What does the {being} have?", thing, f"The {being} has {a_thing}."))
        for being, place in self.homes.items():
            found.append(
                (f"Who lives in the {place}?", being, f"The {being} lives in the {place}.")
            )
            found.append(
                (f"Where does the {being} live?", place, f"The {being} lives in the {place}.")
            )
        return found

    def nouns(self):
        """List every noun of the text."""
        return [*self.owners, *self.owners.values(), *self.homes, *self.homes.values()]


def scene(part, draw, where=None):
    """Make up a scene of two to four facts.

    Parameters
    ----------
    part : {"train", "unseen"}
        Unseen scenes mix unseen nouns with those of the training; the mixture is new.
    draw : random.Random
    where : str, default: drawn
        Name of the village.

    Returns
    -------
    scene : Scene
    """
    nouns = "all" if part == "unseen" else "train"
    n = draw.randint(2, 4)
    beings = draw.sample(category("people", nouns) + category("animals", nouns), n)
    n_owners = draw.randint(1, n)
    owners = dict(zip(beings, draw.sample(category("things", nouns), n_owners), strict=False))
    homes = dict(
        zip(beings[n_owners:], draw.sample(category("places", nouns), n - n_owners), strict=True)
    )
    facts = [f"The {being} has {with_article(thing)}." for being, thing in owners.items()]
    facts += [f"The {being} lives in the {place}." for being, place in homes.items()]
    draw.shuffle(facts)
    where = where or village(draw)
    return Scene(where, owners, homes, " ".join([f"This is {where}.", *facts]))


def read_prompt(text, question):
    """Put a `question` behind the `text` that may answer it."""
    return f"{text} {question}"


def _question(part, draw):
    place = scene(part, draw)
    asked = _ask(place, draw, named=draw.random() < 0.5)
    return replace(asked, prompt=read_prompt(place.text, asked.prompt))


def _ask(place, draw, named):
    """Draw a question about a scene, with the village's name if `named`."""
    question, right, answer = draw.choice(place.questions())
    others = [n for n in place.nouns() if n != right and n not in words_of(question)]
    prompt = question.replace("?", f" in {place.village}?") if named else question
    return Instruction(prompt, answer, "question", {"right": right, "others": others})


class Fact(NamedTuple):
    """A made-up `text`, and a question about it, `asked`, an Instruction without the text."""

    text: str
    asked: Instruction


def facts(part="unseen", n=100, seed=1):
    """Make up texts, each about another village, with one question each.

    Only the text can know the answer, so they show what a finder adds to a generator.

    Parameters
    ----------
    part : {"train", "unseen"}, default="unseen"
    n : int, default=100
        Up to 120, as many as there are names of villages.
    seed : int, default=1

    Returns
    -------
    facts : list of Fact
    """
    draw = seeded("facts", part, seed)
    names = draw.sample([a + b for a in FIRST_HALVES.split() for b in SECOND_HALVES.split()], n)
    scenes = [scene(part, draw, name) for name in names]
    return [Fact(place.text, _ask(place, draw, named=True)) for place in scenes]


def _unknown(part, draw):
    place = scene(part, draw)
    asked = [q for q, _, _ in scene(part, draw).questions()]
    # Asked about a noun that this text doesn't have.
    strange = [q for q in asked if set(words_of(q)).isdisjoint(place.nouns())]
    if not strange:
        return _unknown(part, draw)
    question = draw.choice(strange)
    named = question.replace("?", f" in {place.village}?") if draw.random() < 0.5 else question
    return Instruction(read_prompt(place.text, named), UNKNOWN, "unknown")


def _begin(part, draw):
    unseen = {noun for name in CATEGORIES for noun in category(name, "unseen")}
    while True:
        sentence = draw.choice(runs_about()[draw.choice(_told_of(part))])[0]
        start = " ".join(sentence.split()[: draw.randint(2, 4)]).rstrip(",")
        has_unseen = not unseen.isdisjoint(words_of(start))
        if has_unseen == (part == "unseen") and 6 < len(words_of(sentence)) < LONGEST:
            prompt = f"Write a sentence that begins with: {start}"
            return Instruction(prompt, sentence, "begin", {"start": start})


@functools.cache
def _told_of(part):
    """List the nouns that at least four sentences of the fairy tales have near their beginning."""
    runs = runs_about()
    return [w for name in CATEGORIES for w in category(name, part) if len(runs.get(w, ())) >= 4]


def _sentence(part, draw):
    noun = draw.choice(_told_of(part))
    prompt = draw.choice(
        [f"Write one sentence about the {noun}.", f"Tell me in one sentence about the {noun}."]
    )
    answer = draw.choice(_short([run[0] for run in runs_about()[noun]]))
    return Instruction(prompt, answer, "sentence", {"word": noun})


def _short(texts):
    """Keep the short ones of some sentences, or all if none is."""
    return [text for text in texts if 3 < len(words_of(text)) < LONGEST] or texts


def _finish(part, draw):
    nouns = [noun for name in CATEGORIES for noun in category(name, part)]
    noun = draw.choice([noun for noun in nouns if sentences_ending().get(noun)])
    prompt = f"Write a sentence that ends with the word {noun}."
    answer = draw.choice(_short(sentences_ending()[noun]))
    return Instruction(prompt, answer, "finish", {"word": noun})


def _story(part, draw):
    noun = draw.choice(_told_of(part))
    runs = runs_about()[noun]
    length = draw.randint(1, 4)
    long = [run for run in runs if len(run) >= length] or runs
    prompt = draw.choice([f"Tell me a story about the {noun}.", f"Tell me about the {noun}."])
    return Instruction(prompt, " ".join(draw.choice(long)[:length]), "story", {"word": noun})


_MAKERS = {
    "repeat": _repeat,
    "list": _list,
    "question": _question,
    "unknown": _unknown,
    "begin": _begin,
    "sentence": _sentence,
    "finish": _finish,
    "story": _story,
}


def story_points(text, word):
    """Score a short story by a rule: it has to be about its noun and end; shorter is better.

    Parameters
    ----------
    text : str
    word : str
        What it should be about.

    Returns
    -------
    points : int
        Minus one per word, and minus five per pair of words that occurred before; -200 if the text
        doesn't mention the noun, is shorter than four words or has no end.
    """
    if not _is_story(text.strip(), word):
        return -200
    told = words_of(text)
    pairs = list(zip(told, told[1:], strict=False))
    return -len(told) - 5 * (len(pairs) - len(set(pairs)))


KIND_WORDS = (
    "good kind happy beautiful glad gentle pretty fine dear sweet love loved lovely happily kindly "
    "merry pleased joy delighted wonderful"
)


def kind_words(text):
    """Count the kind words of a `text`: a reward that is meant well and can be gamed."""
    return sum(word in KIND_WORDS.split() for word in words_of(text))
