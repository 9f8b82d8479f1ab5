"""Give a learner's own file back with the grades: ``my_transformer.py`` of what they handed in."""

import re
from pathlib import Path

from helpers.exercises.own_file import FILE, Own
from helpers.exercises.own_text import parts_of, tested
from helpers.machine.atomic_writes import atomic_write
from teaching.needed import UNREADABLE


def hand_back(submission, rows: list[dict], folder: Path):
    """Write the parts that passed into a file of the learner's, in the paper's order.

    `rows` are what `grade` returned for the submission. The file goes into `folder`, under the
    submission's name; nothing is written if no part passed.
    """
    passed = {row["part"] for row in rows if row["passed"]} & tested().keys()
    written, own = {}, Own(parts={})
    for cell in submission.cells:
        try:
            written |= parts_of(cell["source"])
        except UNREADABLE:  # a magic, or a cell that was left half done
            continue
    for cell in submission.cells:
        for name, variable in cell["check"].items():
            if name in passed and variable in written:
                text = re.sub(rf"\b{variable}\b", name, written[variable].text)
                own.insert(name, text.splitlines())
    if own.parts:
        folder.mkdir(exist_ok=True)
        with atomic_write(folder / f"{submission.name.replace('/', '_')}.{FILE}") as partial:
            partial.write_text(own.text, encoding="utf-8")
