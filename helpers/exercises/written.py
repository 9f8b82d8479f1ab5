"""Questions and predictions as a lesson's author writes them down: as text, one line an answer.

::

    [what_the_mask_hides: single]
    Which scores does a causal mask take away?
    + Those of later keys. | Yes: query t sees keys up to t.
    - Those of padding. | That is the padding mask.

    [how_many_heads]
    How many of the twelve heads can go before the loss doubles?
    - few: one or two | So few? Most of them share their work.
    - many: six and more | Yes.
    explain: Most heads do what others do as well.
    recall: what_the_mask_hides

A heading with a kind begins a question, one without a prediction. Below it stand the prompt, then
the options (``+`` right, ``-`` wrong, what to say after the bar; a prediction's begin with their
key), then any other field of the class as ``field: value``. The right answer of a number, a shape
or an open question stands in ``answer``; steps to be put in order, or pairs ``left -> right`` to
be matched, stand one to a line after ``*``. A prediction with ``unit: %`` gets a slider from 0 to
100, unless its own fields say otherwise.
"""

import ast
import re
from dataclasses import fields

from helpers.exercises.content import Option, Prediction, Question

HEADING = re.compile(r"\[(\w+)(?:: (\w+))?\]")
MARKED = ("+ ", "- ", "* ")
KINDS = ("single", "multiple", "number", "shape", "order", "match", "open")
PERCENT = {"low": 0.0, "high": 100.0, "slider": True}  # of a prediction that doesn't say so itself


def questions(text: str) -> list[Question]:
    """Read questions.

    A line that isn't understood is a ValueError, with the item's name, the line and what was
    expected.
    """
    return [_question(*item) for item in _items(text)]


def predictions(text) -> list[Prediction]:
    """Read predictions; raises as `questions` does."""
    return [_prediction(*item) for item in _items(text)]


def _items(text):
    """Cut a text at its empty lines, into (name, kind, prompt, lines)."""
    for block in re.split(r"\n\s*\n", text.strip()):
        first, *lines = block.splitlines()
        heading = HEADING.fullmatch(first)
        if not heading or not lines:
            raise ValueError(f"expected [name] or [name: kind], then a prompt; got {first!r}.")
        yield *heading.groups(), lines[0], lines[1:]


def _question(name, kind, prompt, lines):
    if kind not in KINDS:
        raise ValueError(f"{name}: the kind has to be one of {', '.join(KINDS)}; got {kind!r}.")
    options = [
        Option(*_parted(name, line[2:], " | "), right=line[0] == "+")
        for line in lines
        if line[:2] in ("+ ", "- ")
    ]
    steps = [line[2:] for line in lines if line.startswith("* ")]
    if kind == "match":
        steps = dict(_parted(name, step, " -> ") for step in steps)
    settings = _settings(Question, name, [line for line in lines if line[:2] not in MARKED])
    if kind in ("number", "shape", "open") and "answer" not in settings:
        raise ValueError(f"{name}: a {kind} question needs a line 'answer: …'.")
    if kind == "number":
        settings["answer"] = ast.literal_eval(settings["answer"])
    return Question(name, prompt, kind, options, **({"answer": steps} if steps else {}) | settings)


def _prediction(name, kind, prompt, lines):
    if kind:
        raise ValueError(f"{name}: a prediction has no kind; got {kind!r}.")
    options = {}
    for line in lines:
        if line.startswith("- "):
            key, rest = _parted(name, line[2:], ": ", first=True)
            options[key] = _parted(name, rest, " | ")
    settings = _settings(Prediction, name, [line for line in lines if not line.startswith("- ")])
    if settings.get("unit") == "%":
        settings = PERCENT | settings
    return Prediction(name, prompt, options, **settings)


def _parted(name, text, mark, first=False):
    """Cut a line in two at a mark that stands in it once (or at the first one)."""
    if text.count(mark) != 1 and not (first and mark in text):
        raise ValueError(f"{name}: expected one {mark.strip()!r} in {text!r}.")
    return tuple(part.strip() for part in text.split(mark, 1))


def _settings(kind, name, lines):
    """Read lines ``field: value`` as the class has them."""
    types_of = {field.name: field.type for field in fields(kind)}
    settings = {}
    for line in lines:
        field, value = _parted(name, line, ": ", first=True)
        if field not in types_of:
            raise ValueError(f"{name}: there is no field {field!r}; fields: {', '.join(types_of)}.")
        if types_of[field] is bool:
            value = value == "yes"
        elif types_of[field] in (float, float | None):
            value = float(value)
        settings[field] = value
    return settings
