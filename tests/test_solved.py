"""Every lesson with all solutions put in: every check is green. (nbval runs them untouched.)"""

import re
import tempfile

import nbformat
import pytest
from nbclient import NotebookClient

from helpers import exercises
from notebooks import build

CHECK = re.compile(r'^exercises\.check\("(\w+)"', flags=re.MULTILINE)
LESSONS = sorted(
    path.stem for path in build.SOURCES.glob("*.py") if CHECK.search(path.read_text("utf-8"))
)


def solve(name):
    """Put the solutions into a lesson, run it, and collect the checks' cells."""
    notebook = build.assemble(build.SOURCES / f"{name}.py")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = exercises.solved(cell.source)
    # A folder of its own, so that nobody's progress file says that all this was done by hand.
    with tempfile.TemporaryDirectory(dir=build.NOTEBOOKS, prefix=".solved-") as folder:
        client = NotebookClient(
            notebook, timeout=build.CELL_TIMEOUT, resources={"metadata": {"path": folder}}
        )
        client.execute()
    return [cell for cell in notebook.cells if CHECK.search(cell.source)]


def texts(cell):
    found = [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return found + [output.get("text", "") for output in cell.outputs]


@pytest.mark.slow
@pytest.mark.parametrize("name", LESSONS)
def test_a_solved_lesson_is_green(name):
    cells = solve(name)
    assert cells
    for cell in cells:
        said = [text for text in texts(cell) if text]
        assert said, cell.source
        assert all(text.startswith("✓ right") for text in said), said


def test_every_stub_is_checked_in_its_own_cell():
    for name in LESSONS:
        for cell in build.assemble(build.SOURCES / f"{name}.py").cells:
            stub = re.search(
                r"^def (\w+)\([^)]*\)[^:]*:\n(?:    \"\"\".*\"\"\"\n)?    \.\.\.\n",
                cell.source,
                re.M,
            )
            if stub:
                assert f", {stub[1]})" in cell.source, f"{name}: {stub[1]} is never checked"
                assert "exercises.reference" in exercises.solved(cell.source)


def test_a_notebook_is_what_is_solved():
    assert LESSONS
    assert nbformat.validate(build.assemble(build.SOURCES / f"{LESSONS[0]}.py")) is None
