"""What an exercise is made of, and where exercises are found."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from helpers.exercises import content, lessons
from helpers.exercises.edits import made_wrong


@dataclass
class Mistake:
    """A known way to go wrong: an edit of the solution, or a function where the structure differs.

    ``Mistake("no scaling", "/ math.sqrt(query.shape[-1])", "", NO_SCALING)``. Two known mistakes
    made together need no entry: the check applies both edits.

    Parameters
    ----------
    name : str
        Short and unique within the exercise.
    old : str or function
        Text that stands in the plain solution exactly once; or "return", for all that it returns;
        or a function that goes wrong in just this way.
    new : str
        What the text becomes. After "return", the word ``result`` is what was returned.
    why : str
        What went wrong and what to do.
    also : tuple of (str, str), default=()
        Further texts that change along with the first.
    """

    name: str
    old: str | Callable
    new: str = ""
    why: str = ""
    also: tuple = ()

    def __post_init__(self):
        if callable(self.old) and not self.why:  # Mistake(name, function, why)
            self.why, self.new = self.new, ""

    @property
    def changes(self):
        """The edits, a list of (old, new); None for a function."""
        return None if callable(self.old) else [(self.old, self.new), *self.also]


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
    draw : function (torch.Generator) -> iterable of tuples
        Small inputs, smallest first, in which every size and number varies. Moderate numbers, so
        that a saturated softmax hides nothing.
    mistakes : list of Mistake
    also_right : list of functions
        The same written differently, for the tests.
    hints : list of str
        Two to four, the last nearly the solution.
    look_at : str
        What to notice in the solution.
    plain : function, default=None
        The solution as a learner would write it, which mistakes are edits of; `reference` if None.
    then : str, default=""
        Said with a right answer: what runs on it next.
    written : class or function, default=None
        What a learner writes, where that can't be called with a case, which holds plain data: a
        class, or a function of a model. `reference` is then what `takes` makes of it.
    takes : function (class or function) -> function, default=None
        Makes a function of a case of it.
    lesson : int, default=-1
        Filled in from the file it stands in.
    pytorch : str, default=""
        What of PyTorch it takes, each with a tiny example in `backticks`; the heading folds it.
    trained : bool, default=False
        Whether a gradient has to flow back through it, because a model with it in is trained.
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
    plain: Callable = None
    then: str = ""
    written: Callable = None
    takes: Callable = None
    lesson: int = -1
    pytorch: str = ""
    trained: bool = False

    @property
    def solution(self):
        """The function whose text the mistakes edit."""
        return self.plain or self.reference

    @property
    def tested(self):
        """The tested function, or the class, that steps in for a learner's."""
        return self.written or self.reference

    def as_function(self, answer):
        """Make what a learner writes a function of a case; leave any other answer as it is."""
        if self.takes is None or not callable(answer):
            return answer
        if isinstance(self.written, type):
            fits = isinstance(answer, type)
        else:
            fits = _first(answer) == _first(self.written)
        if not fits:
            return answer
        made = self.takes(answer)
        made.learners = answer  # an error is told with the learner's line
        return made

    def mistake(self, name):
        """Find a known mistake by its name."""
        return next(mistake for mistake in self.mistakes if mistake.name == name)

    def wrong(self, name):
        """Make the function that goes wrong in a known way, or in two at once: "a + b"."""
        known = any(mistake.name == name for mistake in self.mistakes)
        mistakes = [self.mistake(part) for part in ([name] if known else self._parts(name))]
        if callable(mistakes[0].old):
            return mistakes[0].old
        return made_wrong(self.solution, [c for mistake in mistakes for c in mistake.changes])

    def why(self, name):
        """Tell what a mistake is, or each of two that were made together; "" if it is none of ours."""
        known = {mistake.name: mistake.why for mistake in self.mistakes}
        return " ".join(known[part] for part in self._parts(name) if part in known)

    def _parts(self, name):
        known = [mistake.name for mistake in self.mistakes]
        return [name] if name in known and self.mistake(name).why else name.split(" + ")


def normal(shapes: str, *cases: tuple, scale=1.0, then=None):
    """Make an exercise's `draw`: tensors of normal numbers whose shapes are told by letters.

    ``normal("t d, d k", (3, 4, 2), (5, 3, 6))`` draws x (3, 4) and w (4, 2), then (5, 3), (3, 6).
    Where sizes differ from each other, nothing fits by accident.

    `shapes` has the sizes of a tensor by letter, a comma before the next tensor; `cases` what the
    letters are, in the order in which they first come; further values are handed on. Several sizes
    may be one letter: a tuple. `scale` is the standard deviation, and `then` a function that makes
    the inputs of what was drawn.
    """
    import torch  # here, because questions need this file, and no torch

    tensors = [shape.split() for shape in shapes.split(",")]
    letters = list(dict.fromkeys(letter for shape in tensors for letter in shape))

    def draw(generator):
        for case in cases:
            of = {
                a: n if isinstance(n, tuple) else (n,) for a, n in zip(letters, case, strict=False)
            }
            sizes = [sum((of[letter] for letter in shape), ()) for shape in tensors]
            numbers = (scale * torch.randn(s, generator=generator) for s in sizes)
            found = (*numbers, *case[len(letters) :])
            yield then(*found) if then else found

    return draw


def _first(function):
    try:
        return next(iter(inspect.signature(function).parameters), "")
    except (TypeError, ValueError):
        return ""


def catalogue() -> tuple[dict, dict]:
    """Collect all exercises and questions, by name; two of the same name are a ValueError."""
    return lessons.collected("exercises", "EXERCISES"), content.catalogue("question")


def find(name, kind="exercise"):
    """Find an exercise by its name; if there is none, a ValueError gives the nearest names."""
    known, questions = catalogue()
    if isinstance(name, str) and name in known:
        return known[name]
    if isinstance(name, str) and name in questions:
        raise ValueError(
            f"there is no exercise {name!r}: it is a question. Press Check under it, and every "
            f"option says why; an open one wants three words of yours first."
        )
    raise ValueError(f"there is no {kind} {name!r}.{content.nearest(name, known)}")
