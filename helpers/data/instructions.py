"""Instructions that a small story model can follow, each with a rule that checks the answer.

Everything is made by a seeded generator: nouns and sentences come from the fairy tales, the short
texts with questions from the grammar below. The unseen part uses words that no prompt of the
training part contains.
"""

import functools
import re
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from helpers.data.story_words import (
    CATEGORIES,
    EVERY,
    FIRST_HALVES,
    SECOND_HALVES,
    category,
    mentions,
    runs_about,
    seeded,
    sentences,
    village,
    vocabulary,
    words_of,
)

KINDS = ("copy", "repeat", "choose", "who", "begin", "sentence", "story")
NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5}
NAME_STARTS = "Al Bar Dor El Fen Gor Han Il Jor Kel Lor Mar Nel Ol Per Ros Sil Tor Ul Wil"
NAME_ENDS = "bert da dric ena fred gar ina lin mund na nor o ric sa tin vin wen"
LONGEST = 20  # words of a sentence in an answer


@dataclass(frozen=True)
class Instruction:
    """What is asked, `prompt`, one right `answer`, and what a rule needs to check any other.

    The `kind` is one of `KINDS`, and `facts` are what the rule of this kind compares with.
    """

    prompt: str
    answer: str
    kind: str
    facts: dict = field(default_factory=dict, hash=False)

    def followed_by(self, text):
        """Tell whether a `text` does what the prompt asks; by a rule, whoever wrote it."""
        return bool(_RULES[self.kind](text.strip(), **self.facts))


def _is_choice(text, options, length):
    chosen = [word for word in words_of(text) if word != "and"]
    return len(chosen) == len(set(chosen)) == length and set(chosen) <= set(options)


def _is_answer(text, right, asked):
    """The right name, once, and otherwise the question's words: no "not", and nobody else."""
    words = words_of(text)
    return words.count(right) == 1 and {*words} <= {right, "called", "named", *asked}


def _is_sentence(text):
    """One sentence: a stop at the end, none before, and more than a word or two."""
    return len(re.findall(r"[.!?]", text)) == 1 and text[-1] in ".!?" and len(words_of(text)) > 3


def _is_story(text, word):
    return bool(text) and text[-1] in ".!?" and len(words_of(text)) > 3 and mentions(text, word)


_RULES = {
    "copy": lambda text, words: words_of(text) == words,
    "repeat": lambda text, word, times: words_of(text) == [word] * times,
    "choose": _is_choice,
    "who": _is_answer,
    "begin": lambda text, start: text.startswith(start) and text != start and _is_sentence(text),
    "sentence": lambda text, word: _is_sentence(text) and mentions(text, word),
    "story": _is_story,
}


def instructions(part, n=None, kinds=KINDS, seed=1) -> list[Instruction]:
    """Make instructions, equally many of every kind, in a mixed order.

    Parameters
    ----------
    part : {"train", "unseen"}
    n : int, default: 8,000 for training and 400 unseen
    kinds : sequence of str, default: all
    seed : int, default=1

    Raises
    ------
    ValueError
        If the part or a kind is unknown.
    """
    draw = seeded("instructions", part, seed)
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        raise ValueError(f"the kinds are {', '.join(KINDS)}; got {unknown[0]!r}.")
    n = n or {"train": 8000, "unseen": 400}[part]
    made = [_MAKERS[kinds[i % len(kinds)]](part, draw) for i in range(n)]
    draw.shuffle(made)
    return made


def _copy(part, draw):
    words = draw.sample(vocabulary(part), draw.randint(3, 6))
    return Instruction(f"Say: {' '.join(words)}.", " ".join(words), "copy", {"words": words})


def _repeat(part, draw):
    word, (name, times) = draw.choice(vocabulary(part)), draw.choice(list(NUMBERS.items()))
    prompt = draw.choice([f"Say {word} {name} times.", f"Write the word {word} {name} times."])
    answer = " ".join([word] * times)
    return Instruction(prompt, answer, "repeat", {"word": word, "times": times})


def _choose(part, draw):
    nouns = [noun for name in CATEGORIES for noun in category(name, part)]
    options = draw.sample(nouns, draw.randint(4, 6))
    name, number = draw.choice([(name, n) for name, n in NUMBERS.items() if n < len(options)])
    chosen = options[:number]  # any would do
    prompt = f"Choose {name} of these: {', '.join(options)}."
    answer = ", ".join(chosen[:-1]) + " and " + chosen[-1]
    return Instruction(prompt, answer, "choose", {"options": options, "length": number})


@functools.cache
def names(part):
    """List made-up names for people; every fifth is unseen, `part` as in `instructions`."""
    every = [first + second for first in NAME_STARTS.split() for second in NAME_ENDS.split()]
    return [name for i, name in enumerate(every) if (i % EVERY == 0) == (part == "unseen")]


def _household(part, draw, where):
    """Make up who lives in a village: a text, and the name of everybody in it."""
    nouns = category("people", "all" if part == "unseen" else "train")
    people = draw.sample(nouns, draw.randint(2, 4))
    called = dict(zip(people, draw.sample(names(part), len(people)), strict=True))
    *most, last = [f"the {noun} {name}" for noun, name in called.items()]
    return f"In {where} live {', '.join(most)} and {last}.", called


def _ask(called, draw, where):
    """Draw a question about a household, with the village's name if there is one."""
    noun = draw.choice(list(called))
    prompt = f"Who is the {noun} of {where}?" if where else f"Who is the {noun}?"
    rule = {"right": called[noun].lower(), "asked": words_of(prompt)[1:]}  # all but "Who"
    return Instruction(prompt, f"The {noun} {called[noun]}.", "who", rule)


def _who(part, draw):
    where = village(draw)
    text, called = _household(part, draw, where)
    asked = _ask(called, draw, where if draw.random() < 0.5 else None)
    return replace(asked, prompt=read_prompt(text, asked.prompt))


def read_prompt(text, question):
    """Put a `question` behind the `text` that may answer it."""
    return f"{text} {question}"


class Fact(NamedTuple):
    """A made-up `text`, and a question about it, `asked`, an Instruction without the text."""

    text: str
    asked: Instruction


def facts(part="unseen", n=100) -> list[Fact]:
    """Make up `n` texts, each about another village, with one question each.

    Only the text can know the answer, so they show what a finder adds to a generator. The `part` is
    "train" or "unseen", and there are up to 120, as many as there are names of villages.
    """
    draw, found = seeded("facts", part, 1), []
    villages = [a + b for a in FIRST_HALVES.split() for b in SECOND_HALVES.split()]
    for where in draw.sample(villages, n):
        text, called = _household(part, draw, where)
        found.append(Fact(text, _ask(called, draw, where)))
    return found


def _begin(part, draw):
    unseen = _words("unseen")
    while True:
        sentence = draw.choice(_short())
        start = " ".join(sentence.split()[: draw.randint(2, 4)]).rstrip(",")
        if unseen.isdisjoint(words_of(start)) == (part == "train"):
            prompt = f"Write a sentence that begins with: {start}"
            return Instruction(prompt, sentence, "begin", {"start": start})


def _sentence(part, draw):
    known = _words(part)
    while True:
        sentence = draw.choice(_short())
        fitting = [word for word in words_of(sentence)[:4] if word in known]
        if fitting:
            word = draw.choice(fitting)
            prompt = f"Write a sentence with the word {word}."
            return Instruction(prompt, sentence, "sentence", {"word": word})


@functools.cache
def _short():
    """List the sentences of 7 to 19 words."""
    return [run[0] for run in sentences() if 6 < len(words_of(run[0])) < LONGEST]


@functools.cache
def _words(part):
    return frozenset(vocabulary(part))


@functools.cache
def _told_of(part):
    """List the nouns that at least four sentences of the fairy tales have near their beginning."""
    runs = runs_about()
    return [w for name in CATEGORIES for w in category(name, part) if len(runs.get(w, ())) >= 4]


def _story(part, draw):
    noun = draw.choice(_told_of(part))
    runs = runs_about()[noun]
    length = draw.randint(1, 4)
    long = [run for run in runs if len(run) >= length] or runs
    prompt = draw.choice([f"Tell me a story about the {noun}.", f"Tell me about the {noun}."])
    return Instruction(prompt, " ".join(draw.choice(long)[:length]), "story", {"word": noun})


_MAKERS = {
    "copy": _copy,
    "repeat": _repeat,
    "choose": _choose,
    "who": _who,
    "begin": _begin,
    "sentence": _sentence,
    "story": _story,
}


NO_STORY = -200  # points


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
        Minus one per word, and minus five per pair of words that occurred before; `NO_STORY` if
        the text doesn't mention the noun, is shorter than four words or has no end.
    """
    if not _is_story(text.strip(), word):
        return NO_STORY
    told = words_of(text)
    pairs = list(zip(told, told[1:], strict=False))
    return -len(told) - 5 * (len(pairs) - len(set(pairs)))
