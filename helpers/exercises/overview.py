"""What a learner has done, lesson by lesson, as a table."""

import html

from helpers.exercises import content, model, own_code
from helpers.exercises import progress as store


class Progress:
    """A table of lessons, a line on the predictions, and the learner's Transformer.

    One of the `rows` has the lesson, how many are done, attempted and open, and the minutes left.
    `predicted` says how the predictions went; `parts` is HTML: which parts of the Transformer are
    the learner's.
    """

    def __init__(self, rows, predicted="", parts=""):
        self.rows, self.predicted, self.parts = rows, predicted, parts

    def __repr__(self):
        lines = ["lesson  done  attempted  open  minutes left"]
        for lesson, done, attempted, open_, minutes in self.rows:
            lines.append(f"{lesson:>6}  {done:>4}  {attempted:>9}  {open_:>4}  {minutes:>12}")
        return "\n".join([*lines, self.predicted] if self.predicted else lines)

    def _repr_html_(self):
        head = "<tr><th>lesson</th><th>done ✓</th><th>attempted</th><th>open</th><th>minutes left"
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(x))}</td>" for x in row) + "</tr>"
            for row in self.rows
        )
        predicted = f"<p>{html.escape(self.predicted)}</p>" if self.predicted else ""
        return f"<table>{head}</th></tr>{body}</table>{predicted}{self.parts}"


def progress() -> Progress:
    """Show what is done, attempted and open, per lesson."""
    items = {"exercises": model.catalogue()[0], "questions": content.catalogue("question")}
    state = store.load()
    rows = []
    for lesson in sorted({item.lesson for known in items.values() for item in known.values()}):
        status, minutes = [], 0
        for kind, known in items.items():
            for item in (item for item in known.values() if item.lesson == lesson):
                status.append(state[kind].get(item.name, {}).get("state", "open"))
                minutes += getattr(item, "minutes", 1) if status[-1] != "done" else 0
        counts = [status.count(kind) for kind in ("done", "attempted", "open")]
        rows.append((f"{lesson:02}", *counts, minutes))
    parts = own_code.my_parts()._repr_html_()
    return Progress(rows, _predicted(state["predictions"].values()), parts)


def _predicted(entries):
    """Say how the predictions went, and whether being sure meant being right."""
    shown = [entry for entry in entries if "right" in entry]
    if not shown:
        return ""
    sure = [entry for entry in shown if entry["confidence"] == "sure"]
    of_sure = f", and {sum(e['right'] for e in sure)} of the {len(sure)} you were sure of"
    right = sum(entry["right"] for entry in shown)
    return f"Predictions: {right} of {len(shown)} were right{of_sure if sure else ''}."
