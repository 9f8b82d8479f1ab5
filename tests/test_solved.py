"""Every lesson with all solutions put in: every check is green. (nbval runs them untouched.)

What the solutions cannot change ran untouched already and is left out: of each lesson, only the
cells with a check run, those that use what they define, and what the grader would run for these.
What a lesson itself takes from the tested functions, by `exercises.reference` or `exercises.mine`
in place of a stub, is the same in both runs, so nothing that follows from it runs again.

All lessons share a kernel, emptied before each: what they import is loaded once.
"""

import copy
import functools
import re
import tempfile

import nbformat
import pytest
import shortened
from nbclient import NotebookClient
from samples import once_a_week

from helpers import exercises
from notebooks import build
from teaching.needed import needed, statements, without_magics

CHECK = re.compile(r'^exercises\.check\("(\w+)"', flags=re.MULTILINE)
# At the start of a cell: whatever stands above it there would still be the learner's.
SAME_IN_BOTH = re.compile(r'\A(\w+) = exercises\.(mine\("\1"\)|reference\("\w+"\))')
LESSONS = [
    build.name_of(path)
    for path in build.lessons()
    if any(CHECK.search(cell.source) for cell in build.read_cells(path))
]


def touched(sources, checked):
    """Choose the cells that solutions can change; give their numbers.

    `checked` has the numbers of the `sources` in which solutions are put.
    """
    clean = [{name for name, _ in SAME_IN_BOTH.findall(source)} for source in sources]
    sources = [SAME_IN_BOTH.sub(r"\1 = exercises.reference", source) for source in sources]
    cells = [statements(without_magics(source)) for source in sources]
    data = set().union(*(s.binds for cell in cells for s in cell if not s.defines))
    found, tainted = set(checked), set()
    for i, cell in enumerate(cells):
        tainted -= clean[i]
        if i in checked or any(s.uses & tainted for s in cell):
            found.add(i)
            for s in cell:
                tainted |= s.binds | (set() if s.leaves_alone else s.uses & data)
    return found


@functools.cache
def lesson(name):
    return build.assemble(build.source_of(name))


@pytest.fixture(scope="session")
def kernel():
    """Start a kernel in a folder of its own, so that nobody's progress file tells of all this."""
    with tempfile.TemporaryDirectory(dir=build.NOTEBOOKS, prefix=".solved-") as folder:
        resources = {"metadata": {"path": folder}}
        nothing = nbformat.v4.new_notebook()
        client = NotebookClient(nothing, timeout=build.CELL_TIMEOUT, resources=resources)
        with client.setup_kernel():
            yield client


def solve(name, kernel, short):
    """Put the solutions into a lesson, run what they touch, and collect the checks' cells."""
    notebook = copy.deepcopy(lesson(name))
    if short:
        shortened.cut(name, notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    checked = {i for i, cell in enumerate(cells) if CHECK.search(cell.source)}
    sources = [exercises.solved(cell.source) for cell in cells]
    own = touched(sources, checked)
    # No name tells that everything needs the set-up cell, or what completes the learner's file.
    own |= {i for i, cell in enumerate(cells) if "set-up" in cell.metadata.get("tags", [])}
    own |= {i for i, source in enumerate(sources) if "exercises.fill_in()" in source}
    left = [
        {"source": source if i in own else without_magics(source), "check": {}, "own": i in own}
        | {"cell": cell}
        for i, (cell, source) in enumerate(zip(cells, sources, strict=True))
    ]
    left = [one["cell"] | {"source": one["source"]} for one in needed(left)]
    claims = shortened.NO_CLAIMS if short and name in shortened.SHORTER else shortened.CLAIMS
    empty = nbformat.v4.new_code_cell(f"{claims}%reset -f")
    kernel.nb.cells = [empty, *map(nbformat.from_dict, left)]
    for i, cell in enumerate(kernel.nb.cells):
        kernel.execute_cell(cell, i)
    return [cell for cell in kernel.nb.cells if CHECK.search(cell.source)]


# The later lessons once a week: what their exercises give, the notebooks' own tests run too.
@pytest.mark.parametrize("name", once_a_week(LESSONS, [name for name in LESSONS if name < "11"]))
def test_a_solved_lesson_is_green(name, kernel, request):
    cells = solve(name, kernel, short="not weekly" in request.config.option.markexpr)
    assert cells
    for cell in cells:
        said = [one.get("text") or one.get("data", {}).get("text/plain") for one in cell.outputs]
        said = [text for text in said if text]
        assert said, cell.source
        assert all(text.startswith("✓ right") for text in said), said


def test_what_steps_in_for_a_stub_is_the_solution():
    sources = [cell.source for name in LESSONS for cell in lesson(name).cells]
    found = [match for source in sources for match in SAME_IN_BOTH.findall(source)]
    stubs = [name for name, call in found if call.startswith("mine")]
    assert stubs
    for name in stubs:
        assert exercises.mine(name) is exercises.reference(name)


def test_every_stub_is_checked_in_its_own_cell():
    for name in LESSONS:
        for cell in lesson(name).cells:
            stub = re.search(
                r"^def (\w+)\([^)]*\)[^:]*:\n(?:    \"\"\".*\"\"\"\n)?    \.\.\.\n",
                cell.source,
                re.M,
            )
            if stub and stub[1] != "my_tokens":  # lesson 17's own design has no right answer
                assert f", {stub[1]})" in cell.source, f"{name}: {stub[1]} is never checked"
                assert "exercises.reference" in exercises.solved(cell.source)
