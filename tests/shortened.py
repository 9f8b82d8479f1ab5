"""The lessons' longest cells, cut short for `make test`: every line runs, no result is held.

What such a cell reaches doesn't change from commit to commit, and no lesson lands without it:
each build runs the whole cell and holds its claims, and so does `make test-all`, weekly.
"""

import ast

from helpers.machine.tables import table_beside
from notebooks import build

# By notebook, pairs of what stands in one of its cells and what runs there instead.
SHORTER = table_beside(__file__)
LIVE = "nbval-ignore-output"
# Before a cell that shows live results, once something was cut short.
NO_CLAIMS = 'import os; os.environ.pop("COURSE_STRICT", None)\n'
CLAIMS = 'import os; os.environ["COURSE_STRICT"] = "1"\n'


def cut(name, notebook):
    """Cut the long cells of a notebook short; what they show counts as live from then on.

    From the first of them on, no live cell asserts or claims anything: its numbers may be others.

    Parameters
    ----------
    name : str
        The notebook's, for instance "14_gpt"; one that isn't in the table stays as it is.
    notebook : NotebookNode
        As it is stored, or as its source describes it; changed in place.
    """
    if name not in SHORTER:
        return
    code = {cell.id: cell.source for cell in build.assemble(build.source_of(name)).cells}
    spoilt = False
    for cell in notebook.cells:
        if cell.cell_type != "code" or cell.id not in code:
            continue
        source, tags = code[cell.id], cell.metadata.get("tags", [])
        for whole, short in SHORTER[name]:
            source = source.replace(whole, short)
        shorter = source != code[cell.id]
        spoilt |= shorter
        if shorter or (spoilt and LIVE in tags):
            cell.source = NO_CLAIMS + without_assertions(source)
            cell.metadata["tags"] = sorted({*tags, LIVE})
        elif spoilt:
            cell.source = CLAIMS + cell.source


def without_assertions(source):
    """Leave out what a cell asserts of its results, which are those of too few steps."""
    lines = source.split("\n")
    for each in reversed(ast.parse(source).body):
        if isinstance(each, ast.Assert):
            del lines[each.lineno - 1 : each.end_lineno]
    return "\n".join(lines)
