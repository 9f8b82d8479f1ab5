"""Estimate how long a lesson takes, part by part, and say where it is too long.

``make minutes`` prints a table of all lessons, ``make minutes ONLY=03`` of one. The lesson's source
is counted, so nothing has to be built first; waiting time comes from the last build (`build.py`
writes the seconds of slow cells into the notebook) and is 0 without one.

A lesson has up to three parts: the core, then what follows a heading that starts with *Practice*,
then what follows one that starts with *Going deeper*. Folded text and folded code take no time:
cells tagged ``notes``, ``answer``, ``set-up`` or ``hide-input``, and ``<details>``. What a folded
cell tells with `notebook.tell` is read, and counted.

The clock is an instructor's: a prediction is talked over in pairs, a film is watched to its end, a
widget is played with, and a pencil takes its time.
"""

import argparse
import functools
import json
import re
from dataclasses import dataclass, field

from helpers.exercises import model
from notebooks import build

WORDS_PER_MINUTE = 160
SECONDS_PER_LINE = 3  # of code on show
ITEMS_PER_WARM_UP = 3
MINUTES_PER_ANSWER = 1  # a question, an item of the warm-up
MINUTES_PER_PREDICTION = 2.5  # thought about, discussed in pairs, locked in
MINUTES_PER_WIDGET = 2
MINUTES_PER_PENCIL = 2

LONGEST_CORE = 50  # minutes
MOST_LINES = 150  # of code on show in a core
LATEST_FIRST_CODE = 11  # minutes into the lesson
FEWEST_PREDICTIONS, MOST_PREDICTIONS = 4, 5  # in a core
MOST_QUESTIONS = 1  # in a core
LONGEST_CELL = 12  # lines, of cells on show

CORE, PRACTICE, DEEPER = "Core", "Practice", "Going deeper"
HEADING = re.compile(r"^#{1,2} (Practice|Going deeper)\b", re.MULTILINE)
FOLDED = {*build.FOLDED, "set-up", "hide-input"}
NOT_READ = re.compile(
    r"<details>.*?</details>"  # opened by those who want it
    r"|<!--.*?-->|<[^>]+>"  # comments and tags
    r"|\]\([^)]*\)",  # a link's address
    re.DOTALL,
)
WORD = re.compile(r"\w[\w'’.-]*")
TOLD = re.compile(r"\bnotebook\.tell\(\s*[rf]{0,2}(\"{3}.*?\"{3})", re.DOTALL)
EXERCISE = re.compile(r"\bexercises\.(?:heading|check)\(\s*[\"'](\w+)")
CHECK = re.compile(r"\bexercises\.check\(\s*[\"'](\w+)")
PREDICTION = re.compile(r"\bexercises\.predict\(")
QUESTIONS = re.compile(r"\bexercises\.quiz\(([^)]*)\)")
WARM_UP = re.compile(r"\bexercises\.warm_up\(")
PICTURE = re.compile(r"\bnotebook\.picture\(\s*[\"'](\w+)")
PENCIL = re.compile(r"\*\*Pencil\b")
WIDGETS = re.compile(r"^from helpers\.widgets\.\w+ import (.+)$", re.MULTILINE)


@dataclass
class Part:
    """What one part of a lesson, "Core", "Practice" or "Going deeper", holds.

    `words` are those on show, in Markdown, and `lines` those of code on show, without the blank
    ones. `exercises` are named, each in the part where it first appears. `watching` counts seconds
    of film, `waiting` those that its cells ran, as far as the last build knows; `first_code` is how
    many minutes into the part the first check of an exercise comes. `long_cells` has the first
    line, and the number of lines, of each cell on show that is too long.
    """

    name: str
    words: int = 0
    lines: int = 0
    exercises: list = field(default_factory=list)
    predictions: int = 0
    questions: int = 0
    warm_ups: int = 0
    widgets: int = 0
    pencils: int = 0
    watching: float = 0.0
    waiting: int = 0
    first_code: float | None = None
    long_cells: list = field(default_factory=list)

    @property
    def minutes(self):
        """How long it takes, in minutes: reading, watching, answering, writing and waiting."""
        known = model.catalogue()[0]
        return (
            self.words / WORDS_PER_MINUTE
            + (self.lines * SECONDS_PER_LINE + self.watching + self.waiting) / 60
            + self.predictions * MINUTES_PER_PREDICTION
            + (self.questions + self.warm_ups) * MINUTES_PER_ANSWER
            + self.widgets * MINUTES_PER_WIDGET
            + self.pencils * MINUTES_PER_PENCIL
            + sum(known[name].minutes for name in self.exercises)
        )


def measure(source) -> list[Part]:
    """Count what a lesson holds, by its file in ``notebooks/source``.

    The core comes first; a lesson without the two headings is all core. One that names an exercise
    that does not exist is a ValueError.
    """
    built = build.course_of(build.NOTEBOOKS / f"{build.name_of(source)}.ipynb")
    seconds = built.get("seconds", {})
    parts, seen = [Part(CORE)], set()
    imported = ", ".join(WIDGETS.findall(source.read_text(encoding="utf-8"))).split(", ")
    widget = re.compile(rf"\b(?:{'|'.join(filter(None, imported)) or '(?!)'})\(")
    # Read without the header that `assemble` adds, but with its cell ids: they name the seconds.
    for cell, assembled in zip(build.read_cells(source), build.assemble(source).cells, strict=True):
        if cell.cell_type == "markdown" and (found := HEADING.search(cell.source)):
            parts.append(Part(found[1]))
        part = parts[-1]
        folded = FOLDED & set(cell.metadata.get("tags", []))
        if cell.cell_type == "markdown" and not folded:
            part.words += len(WORD.findall(NOT_READ.sub(" ", cell.source)))
            part.pencils += len(PENCIL.findall(cell.source))
        elif cell.cell_type == "code":
            part.widgets += bool(widget.search(cell.source))
            _count_code(part, cell.source, folded, seen)
            part.waiting += seconds.get(assembled.id, 0)
    return parts


def _count_code(part, source, folded, seen):
    for name in EXERCISE.findall(source):
        if name not in seen:
            part.exercises.append(model.find(name, "exercise").name)
            seen.add(name)
    part.predictions += len(PREDICTION.findall(source))
    part.questions += sum(asked.count('"') // 2 for asked in QUESTIONS.findall(source))
    part.warm_ups += ITEMS_PER_WARM_UP * len(WARM_UP.findall(source))
    part.watching += sum(film_seconds(name) for name in PICTURE.findall(source))
    part.words += sum(len(WORD.findall(told)) for told in TOLD.findall(source))
    if not folded:
        lines = [line for line in source.splitlines() if line.strip()]
        part.lines += len(lines)
        if len(lines) > LONGEST_CELL:
            part.long_cells.append((lines[0], len(lines)))
    if part.first_code is None and (check := CHECK.search(source)):
        # The moment when the learner begins to write, so without the time that writing takes.
        part.first_code = part.minutes - model.find(check[1], "exercise").minutes


@functools.cache
def film_seconds(name):
    """Look up how many seconds the film of a `name` in ``images`` takes to watch; 0 for a still."""
    path = build.ROOT / "images" / f"{name}.json"
    if not path.exists():
        return 0.0
    return sum(scene["seconds"] for scene in json.loads(path.read_text(encoding="utf-8"))["scenes"])


def too_much(parts: list[Part]) -> list[str]:
    """List where a lesson passes its limits, as sentences; nothing if it keeps to all of them.

    The limits hold for lessons with a practice part: the others are no hour in class.
    """
    core, complaints = parts[0], []
    if not any(part.name == PRACTICE for part in parts):
        return complaints
    if core.minutes > LONGEST_CORE:
        complaints.append(f"the core takes {core.minutes:.0f} minutes, not {LONGEST_CORE}")
    if core.lines > MOST_LINES:
        complaints.append(f"the core shows {core.lines} lines of code, not {MOST_LINES}")
    if core.first_code is None:
        complaints.append("the core has no exercise")
    elif core.first_code > LATEST_FIRST_CODE:
        complaints.append(
            f"the learner first writes code after {core.first_code:.1f} minutes, "
            f"not {LATEST_FIRST_CODE}"
        )
    if not FEWEST_PREDICTIONS <= core.predictions <= MOST_PREDICTIONS:
        complaints.append(
            f"the core has {core.predictions} predictions, "
            f"not {FEWEST_PREDICTIONS} to {MOST_PREDICTIONS}"
        )
    if core.questions > MOST_QUESTIONS:
        complaints.append(f"the core has {core.questions} questions, not {MOST_QUESTIONS}")
    for part in parts:
        for first, lines in part.long_cells:
            complaints.append(
                f"{part.name}: the cell that starts {first!r} has {lines} lines, not {LONGEST_CELL}"
            )
    return complaints


COLUMNS = {
    "words": lambda part: part.words,
    "lines": lambda part: part.lines,
    "exercises": lambda part: len(part.exercises),
    "predictions": lambda part: part.predictions,
    "questions": lambda part: part.questions,
    "films s": lambda part: f"{part.watching:.0f}",
    "widgets": lambda part: part.widgets,
    "pencils": lambda part: part.pencils,
    "waiting s": lambda part: part.waiting,
    "first code": lambda part: "" if part.first_code is None else f"{part.first_code:.1f}",
    "minutes": lambda part: f"{part.minutes:.0f}",
}


def main(arguments: list[str] | None = None):
    """Print the table for the lessons that the command line names, or for all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("only", nargs="*", help="how a lesson's name starts, for instance 03")
    only = tuple(parser.parse_args(arguments).only)
    print(f"{'lesson and part':44}", *(f"{column:>12}" for column in COLUMNS), sep="")
    complaints = []
    for source in build.lessons():
        if only and not build.name_of(source).startswith(only):
            continue
        parts = measure(source)
        for part in parts:
            cells = (f"{value(part):>12}" for value in COLUMNS.values())
            print(f"{build.name_of(source) + ', ' + part.name:44}", *cells, sep="")
        complaints += [f"{build.name_of(source)}: {complaint}" for complaint in too_much(parts)]
    print("", *complaints, sep="\n")


if __name__ == "__main__":
    main()
