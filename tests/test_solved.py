"""Every lesson with all solutions put in: every check is green. (nbval runs them untouched.)

What the solutions cannot change ran untouched already and is left out: of each lesson, only the
cells with a check run, those that use what they define, and whatever these need. What a lesson
itself takes from the tested functions, by `exercises.reference` or `exercises.mine` in place of a
stub, is the same in both runs, so nothing that follows from it runs again.

All lessons share a kernel, emptied before each: what they import is loaded once.
"""

import ast
import builtins
import copy
import functools
import re
import symtable
import tempfile

import nbformat
import pytest
import shortened
from nbclient import NotebookClient
from samples import once_a_week

from helpers import exercises
from notebooks import build

CHECK = re.compile(r'^exercises\.check\("(\w+)"', flags=re.MULTILINE)
# At the start of a cell: whatever stands above it there would still be the learner's.
SAME_IN_BOTH = re.compile(r'\A(\w+) = exercises\.(mine\("\1"\)|reference\("\w+"\))')
LESSONS = sorted(
    build.name_of(path) for path in build.lessons() if CHECK.search(path.read_text("utf-8"))
)


def names(source):
    """Collect the names that a cell uses, those that it binds, and those whose inside it changes.

    They are the notebook's own: what is local to a function or built in doesn't count. A cell that
    is not plain Python (a magic, say) gives None.
    """
    try:
        tree, table = ast.parse(source), symtable.symtable(source, "cell", "exec")
    except SyntaxError:
        return None
    bound = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    used = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    inner = list(table.get_children())
    while inner:
        scope = inner.pop()
        used |= {s.get_name() for s in scope.get_symbols() if s.is_referenced() and s.is_global()}
        inner += scope.get_children()
    in_place = (node.target for node in ast.walk(tree) if isinstance(node, ast.AugAssign))
    used |= {target.id for target in in_place if isinstance(target, ast.Name)}
    used -= set(dir(builtins)) - bound
    return used, bound, {name for node in ast.walk(tree) for name in changed(node)} & (used | bound)


def changed(node):
    """List the names whose inside a statement may change: x.y = …, x.append(…), train(x)."""
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        insides = [node.value]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        insides = [node.value.func, *node.value.args]
    else:
        return []
    found = []
    for inside in insides:
        while isinstance(inside, ast.Attribute | ast.Subscript | ast.Call):
            inside = inside.func if isinstance(inside, ast.Call) else inside.value
        found += [inside.id] if isinstance(inside, ast.Name) else []
    return found


def touched(sources, checked):
    """Choose the cells that solutions can change, and what those need; give their numbers.

    `checked` has the numbers of the `sources` in which solutions are put.
    """
    clean = [{name for name, _ in SAME_IN_BOTH.findall(source)} for source in sources]
    sources = [SAME_IN_BOTH.sub(r"\1 = exercises.reference", source) for source in sources]
    known = [names(source) for source in sources]
    needed, tainted = set(checked), set()
    for i, found in enumerate(known):
        tainted -= clean[i]
        if found is None:
            needed.add(i)
            continue
        used, bound, changed = found
        if i in checked or used & tainted:
            needed.add(i)
            tainted |= bound | (changed & used) - imported(sources[:i])
    left = list(needed)
    while left:
        user = left.pop()
        for name in known[user][0] if known[user] else ():
            for cell in makers(known, sources, name, user) - needed:
                needed.add(cell)
                left.append(cell)
    return needed


def makers(known, sources, name, user):
    """Find the cells that make what a cell finds under a name: the last that binds it, and changes.

    A function may use what is bound below it; then it is the first of those.
    """
    bind = [i for i, found in enumerate(known) if found and name in found[1]]
    above = [i for i in bind if i < user]
    if not above:
        return set(bind[:1])
    change = [i for i in range(above[-1], user) if known[i] and name in known[i][2]]
    return {above[-1], *(i for i in change if name not in imported(sources[:i]))}


def imported(sources):
    """Collect the names of modules and of what comes from them: calls on them change nothing."""
    found = set()
    for source in sources:
        for line in re.findall(r"^\s*(?:from|import) .*(?:\([^)]*\))?", source, re.MULTILINE):
            found |= set(re.findall(r"\w+", line))
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
    for cell in cells:
        cell.source = exercises.solved(cell.source)
    needed = touched([cell.source for cell in cells], checked)
    # The set-up cell says where the course is; no name tells that everything needs it.
    needed |= {i for i, cell in enumerate(cells) if "set-up" in cell.metadata.get("tags", [])}
    claims = shortened.NO_CLAIMS if short and name in shortened.SHORTER else shortened.CLAIMS
    empty = nbformat.v4.new_code_cell(f"{claims}%reset -f")
    kernel.nb.cells = [empty, *(cell for i, cell in enumerate(cells) if i in needed)]
    for i, cell in enumerate(kernel.nb.cells):
        kernel.execute_cell(cell, i)
    return [cell for cell in kernel.nb.cells if CHECK.search(cell.source)]


def texts(cell):
    found = [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return found + [output.get("text", "") for output in cell.outputs]


@pytest.mark.slow
# The later lessons once a week: what their exercises give, the notebooks' own tests run too.
@pytest.mark.parametrize("name", once_a_week(LESSONS, [name for name in LESSONS if name < "11"]))
def test_a_solved_lesson_is_green(name, kernel, request):
    cells = solve(name, kernel, short="not weekly" in request.config.option.markexpr)
    assert cells
    for cell in cells:
        said = [text for text in texts(cell) if text]
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
