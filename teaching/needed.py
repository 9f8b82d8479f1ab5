"""Of a lesson's own cells, find what the answers and the learner's cells need.

A lesson trains, measures and draws for minutes; an answer uses a few of its imports and functions.
"""

import ast
import symtable
from dataclasses import dataclass

# What Python raises at a text that it can't run either, 20,000 terms deep for instance.
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
DEFINITION = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef


def needed(cells: list[dict]) -> list[dict]:
    """Leave out of the lesson's own cells what nobody uses; `cells` are a `grade.Submission`'s."""
    names = {name for cell in cells for name in cell["check"].values()}
    for cell in cells:
        if cell["own"]:
            names |= _names(without_magics(cell["source"]))[1]
    of_cells = [[] if cell["own"] else statements(cell["source"]) for cell in cells]
    left, used = [s for of_cell in of_cells for s in of_cell], []
    data = set().union(*(s.binds for s in left if not s.defines))
    while chosen := [s for s in left if s.serves(names, data)]:
        left = [s for s in left if s not in chosen]
        used += chosen
        names = names.union(*(s.uses for s in chosen))
    found = []
    for cell, of_cell in zip(cells, of_cells, strict=True):
        if not cell["own"]:
            cell = cell | {"source": "\n".join(s.source for s in of_cell if s in used)}
        if cell["source"] or cell["check"]:
            found.append(cell)
    return found


def without_magics(source):
    """Empty the lines that only IPython understands; the others keep their numbers."""
    lines = source.splitlines()
    return "\n".join("" if line[:1] in ("%", "!") else line for line in lines)


@dataclass(eq=False)
class _Statement:
    """One statement of a cell, with the names that it binds and those that it takes from outside.

    `defines` tells imports, functions and classes; `leaves_alone` also what can't change an object.
    """

    source: str
    binds: set
    uses: set
    defines: bool
    leaves_alone: bool

    def serves(self, names, data):
        """Say whether it binds one of the `names`, or may change one that holds `data`."""
        changes = set() if self.leaves_alone else self.uses & data
        return not names.isdisjoint(self.binds | changes)


def statements(source):
    """Read the statements of a cell."""
    found = []
    for node in ast.parse(source).body:
        text, defines = ast.unparse(node), isinstance(node, DEFINITION)
        prints = isinstance(node, ast.Expr) and text.startswith("print(")
        leaves_alone = defines or isinstance(node, ast.Assert) or _assigns(node) or prints
        found.append(_Statement(text, *_names(text), defines, leaves_alone))
    return found


def _assigns(node):
    """Say whether a statement only gives names, as in ``x, y = z`` but not in ``x[0] = 1``."""
    inside = (ast.Subscript, ast.Attribute)
    return isinstance(node, ast.Assign) and not any(
        isinstance(part, inside) for target in node.targets for part in ast.walk(target)
    )


def _names(source):
    """Find the names that a piece of a cell binds, and those that it takes from outside."""
    try:
        table = symtable.symtable(source, "<cell>", "exec")
        in_place = (n.target for n in ast.walk(ast.parse(source)) if isinstance(n, ast.AugAssign))
    except UNREADABLE:
        return set(), set()
    binds = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    uses = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    uses |= {target.id for target in in_place if isinstance(target, ast.Name)}
    tables = table.get_children()
    while tables:
        table = tables.pop()
        uses |= {s.get_name() for s in table.get_symbols() if s.is_global()}
        tables += table.get_children()
    return binds, uses
