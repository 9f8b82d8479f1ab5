"""What an exercise is made of, and where exercises are found."""

import functools
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from helpers.exercises import content


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


@functools.cache
def catalogue():
    """Collect all exercises and questions: two dictionaries, by name.

    Raises
    ------
    ValueError
        If two have the same name.
    """
    exercises = {}
    for module in sorted(m.name for m in pkgutil.iter_modules([Path(__file__).parent])):
        if not module.startswith("lesson_"):
            continue
        for item in importlib.import_module(f"helpers.exercises.{module}").EXERCISES:
            if item.name in exercises:
                raise ValueError(f"{module} has a second {item.name!r}; names are unique.")
            object.__setattr__(item, "lesson", int(module[-2:]))
            exercises[item.name] = item
    return exercises, content.catalogue("question")


def find(name, kind="exercise"):
    """Find an exercise by its name.

    Raises
    ------
    ValueError
        If there is none, with the nearest names.
    """
    known, questions = catalogue()
    if isinstance(name, str) and name in known:
        return known[name]
    if isinstance(name, str) and name in questions:
        raise ValueError(
            f"there is no exercise {name!r}: it is a question. Press Check under it, and every "
            f"option says why; an open one wants three words of yours first."
        )
    raise ValueError(f"there is no {kind} {name!r}.{content.nearest(name, known)}")
