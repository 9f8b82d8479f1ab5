"""What an exercise and a question are made of, and where they are found."""

import functools
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

LAST_LESSON = 10  # the review's questions count as its


@dataclass(frozen=True)
class Mistake:
    """A known way to go wrong.

    Parameters
    ----------
    name : str
        Short and unique within the exercise; two mistakes made together have both names, joined
        by " + ".
    wrong : function
        Goes wrong in just this way.
    why : str, default=""
        What went wrong and what to do. Two mistakes made together need none: both are told.
    """

    name: str
    wrong: Callable
    why: str = ""


@dataclass(frozen=True)
class Exercise:
    """A function to write, and everything that is known about writing it.

    Parameters
    ----------
    name : str
        What learners and `check` call it.
    title : str
        For the heading.
    task : str
        One or two sentences: what the function is to do.
    minutes, difficulty, importance : int
        Difficulty and importance from 1 to 5.
    reference : function
        The tested answer; `solution` shows its source.
    draw : function (torch.Generator) -> list of tuples
        Small inputs, smallest first. Moderate numbers, so that a saturated softmax hides nothing.
    mistakes : list of Mistake
    also_right : list of functions
        The same written differently, for the tests.
    hints : list of str
        Two to four, the last nearly the solution.
    look_at : str
        What to notice in the solution.
    lesson : int, default=-1
        Filled in from the file it stands in.
    """

    name: str
    title: str
    task: str
    minutes: int
    difficulty: int
    importance: int
    reference: Callable
    draw: Callable
    mistakes: list
    also_right: list
    hints: list
    look_at: str
    lesson: int = -1

    def why(self, name):
        """Tell what a mistake is, or each of two that were made together."""
        told = {mistake.name: mistake.why for mistake in self.mistakes}
        return told[name] or " ".join(told[part] for part in name.split(" + "))


@dataclass(frozen=True)
class Option:
    """One answer to choose, with what to say to whoever chooses it."""

    text: str
    why: str
    right: bool = False


@dataclass(frozen=True)
class Question:
    """A question that marks itself.

    Parameters
    ----------
    name, prompt : str
    kind : {"single", "multiple", "number", "shape", "order", "match", "open"}
    options : list of Option
        For "single" and "multiple"; for "number" and "shape", wrong answers that are known (their
        text is the answer) with what to say to them.
    answer : object, default=None
        number: float. shape: str such as "(B, T, D)". order: list of str in the right order.
        match: dict of str to str. open: the model answer, str.
    why : str, default=""
        Said with the right answer.
    tolerance : float, default=0.0
        For "number", relative.
    lesson : int, default=-1
    """

    name: str
    prompt: str
    kind: str
    options: list = field(default_factory=list)
    answer: object = None
    why: str = ""
    tolerance: float = 0.0
    lesson: int = -1


def right(text, why):
    """An option that is right."""
    return Option(text, why, True)


def wrong(text, why):
    """An option that is wrong; `why` explains the misconception."""
    return Option(text, why)


@functools.cache
def catalogue():
    """Collect all exercises and questions: two dictionaries, by name.

    Raises
    ------
    ValueError
        If two have the same name.
    """
    exercises, questions = {}, {}
    for module in sorted(m.name for m in pkgutil.iter_modules([Path(__file__).parent])):
        if not module.startswith("lesson_") and module != "review":
            continue
        content = importlib.import_module(f"helpers.exercises.{module}")
        for found, collected in ((content.EXERCISES, exercises), (content.QUESTIONS, questions)):
            for item in found:
                if item.name in collected:
                    raise ValueError(f"{module} has a second {item.name!r}; names are unique.")
                lesson = int(module[-2:]) if module != "review" else LAST_LESSON
                object.__setattr__(item, "lesson", lesson)
                collected[item.name] = item
    return exercises, questions


def find(name, kind):
    """Find an exercise ("exercise") or a question ("question") by its name.

    Raises
    ------
    ValueError
        If there is none, with the nearest names.
    """
    import difflib

    known, others = catalogue()[:: 1 if kind == "exercise" else -1]
    if isinstance(name, str) and name in others:
        way = {
            "exercise": "it is a question: press Check under it, and every option says why; an open "
            "one wants three words of yours first",
            "question": f'it is an exercise: exercises.heading("{name}") shows it',
        }[kind]
        raise ValueError(f"there is no {kind} {name!r}; {way}.")
    if not isinstance(name, str) or name not in known:
        near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.4) or sorted(known)[:5]
        raise ValueError(f"there is no {kind} {name!r}. Did you mean {', '.join(near)}?")
    return known[name]
