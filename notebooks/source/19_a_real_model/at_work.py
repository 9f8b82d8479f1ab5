"""What lesson 19 does with the learner's parts: a file that answers on the command line."""

import ast
import os
import subprocess
import sys
from pathlib import Path

from helpers import exercises
from helpers.exercises.own_text import source_of
from helpers.machine.atomic_writes import atomic_write

COURSES = Path(__file__).with_name("my_language_model.py")
PARTS = ("rms_norm", "swiglu", "rotate", "share_heads")
FROM_10 = ("split_heads", "merge_heads", "scaled_dot_product_attention", "causal_mask")


def write(weights):
    """Write ``my_language_model.py`` beside ``my_transformer.py``, with the learner's parts in it.

    Parameters
    ----------
    weights : Path
        The converted weights.

    Returns
    -------
    folder : Path
        Where the two files are.
    """
    folder, courses = exercises.my_folder(), COURSES.read_text(encoding="utf-8")
    text = courses
    for node in ast.parse(courses).body:
        if isinstance(node, ast.FunctionDef) and node.name in PARTS:
            own = exercises.is_mine(node.name) and source_of(exercises.mine(node.name), node.name)
            given = ast.get_source_segment(courses, node)  # the lines of `text` have moved by now
            text = text.replace(given, own.rstrip()) if own else text
    exercises.fill_in(*FROM_10)
    with atomic_write(folder / COURSES.name) as partial:
        partial.write_text(text.replace('"smollm2.safetensors"', repr(str(weights))), "utf-8")
    return folder


def ask(folder, question):
    """Call the file as one would in a terminal, in a process that knows nothing of the course."""
    found = subprocess.run(
        [sys.executable, COURSES.name, question],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONPATH": ""},
    )
    return found.stdout.strip() or found.stderr[-800:]
