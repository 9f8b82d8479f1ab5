"""What a learner has done, in a small file beside the notebooks."""

import html
import json
import os
import time
from pathlib import Path

from helpers.atomic_writes import whole_file

FILE = ".progress.json"


def _path():
    return Path.cwd() / FILE


def load():
    """Read the file; a damaged one is set aside, never overwritten.

    Returns
    -------
    state : dict
        "exercises" and "questions", each a dict of name to "done" or "attempted".
    """
    try:
        return _read()
    except OSError:
        return _empty()


def _empty():
    return {"exercises": {}, "questions": {}}


def _read():
    path = _path()
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        if not all(isinstance(state.get(kind), dict) for kind in _empty()):
            raise ValueError("not a progress file")
        return state
    except FileNotFoundError:
        return _empty()
    except (ValueError, AttributeError):
        aside = path.with_name(f"{FILE}.damaged-{time.time_ns()}")
        os.replace(path, aside)
        print(f"{FILE} was damaged; it is kept as {aside.name}, and a new one is begun.")
        return _empty()


def record(kind, name, done):
    """Note that something was attempted or done; what is done stays done.

    Parameters
    ----------
    kind : {"exercises", "questions"}
    name : str
    done : bool
    """
    try:
        state = _read()
    except OSError:
        return  # it is there and cannot be read now: what it holds must not be overwritten
    if state[kind].get(name) != "done":
        state[kind][name] = "done" if done else "attempted"
        _write(state)


def _write(state):
    try:
        with whole_file(_path()) as partial:
            partial.write_text(json.dumps(state, indent=1, sort_keys=True), encoding="utf-8")
    except OSError:
        pass  # a read-only folder must not stop a lesson


def export_progress():
    """Return everything as one line of text, to keep or to carry to another machine."""
    return json.dumps(load(), sort_keys=True)


def import_progress(text):
    """Take in what `export_progress` returned; what is done here stays done.

    Parameters
    ----------
    text : str

    Raises
    ------
    ValueError
        If the text is something else.
    """
    try:
        other = json.loads(text)
        entries = [(k, n, s) for k in ("exercises", "questions") for n, s in other[k].items()]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError("this is not what export_progress() returned.") from error
    for kind, name, status in entries:
        record(kind, name, status == "done")


class Progress:
    """A table of lessons; `rows` hold the lesson, done, attempted, open, minutes left."""

    def __init__(self, rows):
        self.rows = rows

    def __repr__(self):
        lines = ["lesson  done  attempted  open  minutes left"]
        for lesson, done, attempted, open_, minutes in self.rows:
            lines.append(f"{lesson:>6}  {done:>4}  {attempted:>9}  {open_:>4}  {minutes:>12}")
        return "\n".join(lines)

    def _repr_html_(self):
        head = "<tr><th>lesson</th><th>done ✓</th><th>attempted</th><th>open</th><th>minutes left"
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(x))}</td>" for x in row) + "</tr>"
            for row in self.rows
        )
        return f"<table>{head}</th></tr>{body}</table>"


def progress():
    """Show what is done, attempted and open, lesson by lesson.

    Returns
    -------
    progress : Progress
    """
    from helpers.exercises.model import catalogue

    exercises, questions = catalogue()
    state = load()
    rows = []
    for lesson in sorted({item.lesson for item in [*exercises.values(), *questions.values()]}):
        status, minutes = [], 0
        for kind, items, cost in (("exercises", exercises, None), ("questions", questions, 1)):
            for item in items.values():
                if item.lesson == lesson:
                    status.append(state[kind].get(item.name, "open"))
                    minutes += (cost or item.minutes) if status[-1] != "done" else 0
        counts = [status.count(kind) for kind in ("done", "attempted", "open")]
        rows.append((f"{lesson:02}", *counts, minutes))
    return Progress(rows)
