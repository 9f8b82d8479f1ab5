"""What questions and predictions are made of, and where they are found. None of it needs torch.

They are written down in ``notebooks/source/NN_name/questions.py``, as a list ``QUESTIONS``
and a list ``PREDICTIONS``, most of them as text that `written` reads. Exercises run code, so they
have files of their own.
"""

import difflib
from dataclasses import dataclass, field

from helpers.exercises import lessons


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
        Filled in from the file that holds it.
    """

    name: str
    prompt: str
    kind: str
    options: list = field(default_factory=list)
    answer: object = None
    why: str = ""
    tolerance: float = 0.0
    lesson: int = -1


@dataclass(frozen=True)
class Prediction:
    """What a learner commits to before the lesson measures it.

    There are two kinds. With `options` one of them is chosen; otherwise a number is typed, or set
    with a slider. Which answer is right isn't written here: `reveal` is given the measurement.
    Prompts, options and explanations can hold `code` and *emphasis*.

    Parameters
    ----------
    name : str
        Unique in the course.
    prompt : str
        The question. It mustn't hint at the answer.
    options : dict of str to (str, str), default={}
        Two to four. The key is what `measured` can be; then the option's text, and what to say to
        whoever chose it, right or wrong.
    explain : str, default=""
        Said with the measured result, whatever was predicted.
    too_low, too_high : str, default=""
        For a number: said to whoever predicted too little or too much.
    unit : str, default=""
        Written after numbers: "%", "words", "steps". With "%" all numbers are in percent.
    low, high : float, default=None
        What a number can be; with `slider`, the ends of the slider.
    slider : bool, default=False
        Set the number with a slider from `low` to `high`.
    step : float, default=1.0
        How far one press of an arrow key moves the slider.
    close : float, default=0.1
        A number counts as right up to this far off, as a share of the measured number, or with a
        slider as a share of the slider.
    ask_why : bool, default=False
        Offer a line for the reason.
    recall : str, default=""
        A question on the same idea. Warm-ups bring it back to whoever missed or guessed.
    lesson : int, default=-1
        Filled in from the file that holds it.
    """

    name: str
    prompt: str
    options: dict = field(default_factory=dict)
    explain: str = ""
    too_low: str = ""
    too_high: str = ""
    unit: str = ""
    low: float | None = None
    high: float | None = None
    slider: bool = False
    step: float = 1.0
    close: float = 0.1
    ask_why: bool = False
    recall: str = ""
    lesson: int = -1


def catalogue(kind: str) -> dict[str, Question | Prediction]:
    """Collect every "question" or "prediction" from the lessons' files, by name.

    Two of the same name are a ValueError.
    """
    return lessons.collected("questions", f"{kind.upper()}S")


def find(name: str, kind: str) -> Question | Prediction:
    """Find a "question" or a "prediction" by its name.

    If there is none, a ValueError gives the nearest names.
    """
    known = catalogue(kind)
    if isinstance(name, str) and name in known:
        return known[name]
    raise ValueError(f"there is no {kind} {name!r}.{_elsewhere(name) or nearest(name, known)}")


def nearest(name, known):
    """Suggest the known names that look most like the one given."""
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.4) or sorted(known)[:5]
    return f" Did you mean {', '.join(near)}?"


def _elsewhere(name):
    """Say how to show what has this name but is of another kind."""
    for kind, call in (("question", "quiz"), ("prediction", "predict")):
        if name in catalogue(kind):
            return f' It is a {kind}, so exercises.{call}("{name}") shows it.'
    if name in lessons.collected("exercises", "EXERCISES"):  # they import torch: only for this
        return f' It is an exercise, so exercises.heading("{name}") shows it.'
    return ""
