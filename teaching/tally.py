"""Count where a class is: what the class view shows, from progress files.

Where a progress file comes from doesn't matter here: a hub's users, or lines that learners pasted.
"""

import ast
import contextlib
import itertools
import json
import math
from collections import Counter
from dataclasses import dataclass, field

from helpers.exercises import content, model
from helpers.exercises.progress import understood

BINS = 6  # bars for a number that was predicted


@dataclass
class Part:
    """Where the class is with an exercise: how many have `passed`, are `trying`, or have `not_yet`.

    `mistake` is the commonest named one of those who are trying, `message` what it means, and
    `with_it` how many have it. If names are wanted, `who` has them under "passed", "trying" (with
    the number of tries) and "not yet".
    """

    lesson: int
    name: str
    passed: int
    trying: int
    not_yet: int
    mistake: str = ""
    message: str = ""
    with_it: int = 0
    who: dict = field(default_factory=dict)


@dataclass
class Vote:
    """What a class has predicted: how many chose each option or range of numbers.

    So many of them said that they were `sure`.
    """

    lesson: int
    name: str
    prompt: str
    bars: list
    sure: int


def read_lines(text: str) -> tuple[dict, list[str]]:
    """Read pasted progress lines, one learner each.

    A line is what ``exercises.export_progress()`` gave, with or without ``name:`` before it. States
    by name, those without one numbered; and the beginnings of lines that are something else.
    """
    states, unread = {}, []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, state = _read_line(line)
        if state is None:
            unread.append(line[:40])
        else:
            states[name or f"learner {len(states) + 1}"] = state
    return states, unread


def _read_line(line):
    """Split a line into a name and a progress; the name may have a brace in it, too."""
    for start in (i for i, letter in enumerate(line) if letter == "{"):
        for text in _unquoted(line, start):
            try:
                return line[:start].strip(" :\t'\""), understood(json.loads(text))
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                continue
    return "", None


def _unquoted(line, start):
    """Yield what may have been meant: the text as Python has shown it, and as it stands there."""
    if line[:start].endswith(("'", '"')):
        with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            yield ast.literal_eval(line[start - 1 :].strip())
    yield line[start:].strip().rstrip("'\"")


def parts(states: dict, lessons: set | None = None, names=False) -> list[Part]:
    """Count, per exercise, who has passed, who is trying, and what goes wrong most often.

    `states` are progress by learner, as `helpers.exercises.progress.load` gives it. Counted are
    `lessons`, by default those in which somebody has begun; `names` come too if they are wanted.
    """
    exercises, _ = model.catalogue()
    begun = {
        exercises[name].lesson
        for state in states.values()
        for name in state["exercises"]
        if name in exercises
    }
    wanted = begun if lessons is None else lessons
    return [
        _part(exercise, states, names)
        for exercise in exercises.values()
        if exercise.lesson in wanted
    ]


def _part(exercise, states, names):
    groups = {"passed": [], "trying": [], "not yet": []}
    mistakes = Counter()
    for learner, state in states.items():
        entry = state["exercises"].get(exercise.name, {})
        group = {"done": "passed", "attempted": "trying"}.get(entry.get("state"), "not yet")
        tries = f" (try {entry['tries']})" if group == "trying" else ""
        groups[group].append(learner + tries)
        if group == "trying" and entry.get("mistake"):
            mistakes[entry["mistake"]] += 1
    part = Part(exercise.lesson, exercise.name, *map(len, groups.values()))
    if mistakes:
        ((part.mistake, part.with_it),) = mistakes.most_common(1)
        part.message = exercise.why(part.mistake)
    part.who = groups if names else {}
    return part


def votes(states: dict, lessons: set | None = None) -> list[Vote]:
    """Count what was locked in, per prediction that anybody made; in `lessons` alone, if given."""
    found = []
    for prediction in content.catalogue("prediction").values():
        entries = [state["predictions"].get(prediction.name) for state in states.values()]
        entries = [entry for entry in entries if entry and "guess" in entry]
        if entries and (lessons is None or prediction.lesson in lessons):
            sure = sum(entry.get("confidence") == "sure" for entry in entries)
            counted = bars(prediction, [entry["guess"] for entry in entries])
            found.append(Vote(prediction.lesson, prediction.name, prediction.prompt, counted, sure))
    return found


def number(guess):
    """Read a `guess`; what is none becomes NaN: a learner can write anything into a file."""
    try:
        return float(guess)
    except (TypeError, ValueError):
        return math.nan


def bars(prediction, guesses):
    """Count guesses per option of a `prediction`, or per range of numbers: a list of (str, int)."""
    if prediction.options:
        counts = Counter(map(str, guesses))
        return [(text, counts[key]) for key, (text, _) in prediction.options.items()]
    numbers = sorted(filter(math.isfinite, map(number, guesses)))
    if not numbers:
        return []
    low, high = numbers[0], numbers[-1]
    if low == high:
        return [(f"{low:g} {prediction.unit}".strip(), len(numbers))]
    width = (high - low) / BINS
    counts = Counter(min(int((number - low) / width), BINS - 1) for number in numbers)
    ends = [f"{low + i * width:.3g}" for i in range(BINS + 1)]
    names = [f"{a} to {b} {prediction.unit}".strip() for a, b in itertools.pairwise(ends)]
    return [(name, counts[i]) for i, name in enumerate(names)]
