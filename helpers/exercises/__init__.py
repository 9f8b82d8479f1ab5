"""The exercises' public face: check, hint, solution, quiz, predict, reveal, progress.

The one place in the package that passes names on: a lesson writes ``exercises.check(...)`` and
need not know which file does what. A lesson's exercises and questions are in its own folder,
``notebooks/source/NN_name/``; `model` and `content` say what the two are made of.
"""

import re

import ipywidgets as widgets

from helpers.exercises import panels
from helpers.exercises.edits import needs, pasteable
from helpers.exercises.model import catalogue, find
from helpers.exercises.overview import progress
from helpers.exercises.own_code import is_mine, mine, my_parts, my_transformer, whose
from helpers.exercises.own_file import fill_in, in_terminal, my_folder, my_source
from helpers.exercises.predictions import guess, predict, reveal
from helpers.exercises.progress import export_progress, import_progress, join_class
from helpers.exercises.quizzes import quiz
from helpers.exercises.verdicts import about_the_last_attempt
from helpers.exercises.warm_up import warm_up
from helpers.widgets.fallback import StaticFallback

__all__ = [
    "Verdict", "check", "export_progress", "fill_in", "guess", "heading", "hint", "import_progress",
    "in_terminal", "is_mine", "join_class", "mine", "my_folder", "my_parts", "my_source",
    "my_transformer", "predict", "progress", "quiz", "reference", "reveal",
    "solution", "solved", "warm_up", "whose",
]  # fmt: skip

_hints_given = {}


def __getattr__(name):
    """Import the check when it's first used: it needs torch, and questions don't."""
    if name in ("Verdict", "check"):
        from helpers.exercises import checking

        return getattr(checking, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def heading(name: str):
    """Show an exercise's title, minutes, difficulty, importance and task."""
    exercise = find(name, "exercise")
    return panels.Shown(f"Exercise: {exercise.title}\n{exercise.task}", panels.heading(exercise))


def hint(name: str):
    """Give the next hint, and more about the last attempt; the last one nearly is the solution."""
    hints = find(name, "exercise").hints
    number = min(_hints_given.get(name, 0), len(hints) - 1)
    _hints_given[name] = number + 1
    text, title = hints[number], f"Hint {number + 1} of {len(hints)}"
    if about := about_the_last_attempt(name):
        text = f"{text}\nYour last attempt: {about}"
    body = f'<span style="white-space: pre-wrap">{panels.html.escape(text)}</span>'
    return panels.Shown(f"{title}: {text}", panels.panel("hint", body, title))


def reference(name: str):
    """Return the tested function of an exercise, or the tested class.

    Returns
    -------
    reference : function or class
    """
    return find(name, "exercise").tested


def source(name: str) -> str:
    """Return the source of an exercise's solution as it can be pasted into the lesson."""
    exercise, known = find(name, "exercise"), catalogue()[0]
    functions = [exercise.written or reference(name), exercise.written or exercise.solution]
    # What uses a helper of the course's own insides is shown as a learner would write it.
    shown = min(
        functions,
        key=lambda f: (
            getattr(f, "__closure__", None) is not None,
            any("import _" in n for n in needs(f)),
            len(needs(f)),
        ),
    )
    return pasteable(shown, name, known)


class _Solution(StaticFallback, widgets.VBox):
    """A button that shows the solution: one more moment to think."""

    def __init__(self, name):
        self.name = name
        self.shown = widgets.HTML()
        self.button = widgets.Button(
            description="Show me the solution", layout=widgets.Layout(width="220px")
        )
        self.button.on_click(lambda _: self.show())
        super().__init__([self.button, self.shown])

    def __repr__(self):
        return f"Solution({self.name!r})"

    def static_html(self):
        """Return a sentence that gives nothing away."""
        return f"<p>The solution of <code>{self.name}</code>, on request.</p>"

    def show(self):
        """Show the source and what to look at in it."""
        self.shown.value = _solution_html(self.name)


def _solution_html(name):
    code = panels.html.escape(source(name))
    look_at = panels.html.escape(find(name, "exercise").look_at)
    body = (
        f'<pre style="white-space: pre-wrap; font-size: 14px">{code}</pre>{look_at}<br>To put it in, '
        f"under the name that your cell uses: <code>my_name = exercises.reference(&quot;{name}&quot;)</code>, "
        f"then check again."
    )
    return panels.panel("solution", body)


def solution(name, show=False):
    """Show the tested source of an exercise, after asking once.

    Parameters
    ----------
    name : str
    show : bool, default=False
        Do not ask; this is the way in a terminal.
    """
    exercise = find(name, "exercise")
    if show:
        return panels.Shown(f"{source(name)}\n\n{exercise.look_at}", _solution_html(name))
    return _Solution(name)


def solved(notebook_source: str) -> str:
    """Put every solution into a lesson's text: what `check` is given becomes the tested function.

    The text is Python, with calls of ``exercises.check("name", answer)``.
    """
    call = r'^exercises\.check\("(\w+)", (\w+)\)'
    put_in = r'\2 = exercises.reference("\1")\n\g<0>'
    return re.sub(call, put_in, notebook_source, flags=re.MULTILINE)
