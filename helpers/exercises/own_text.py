"""The text of a learner's Transformer: its parts, their order, and what a part takes from outside."""

import ast
import functools
import inspect
import linecache
import re
import sys
import textwrap
import types
from dataclasses import dataclass
from pathlib import Path

from helpers.exercises.model import catalogue

TESTED = (
    Path(__file__).parents[2] / "notebooks" / "source" / "10_build_a_transformer" / "my_transformer.py"
)  # fmt: skip
COURSES = "# The course's, until yours passes its check:"
MAIN = "__main__"  # the name of the part that runs the file as a program


@dataclass(frozen=True)
class Part:
    """A function or class of the file: its text, its heading, its lines, its comment above."""

    text: str
    heading: str
    first: int
    last: int
    is_marked: bool


def parts_of(text: str) -> dict:
    """Find the functions, classes and names that stand at the top level of a file, in their order.

    Of two with one name it's the second, as in Python. Text that isn't Python is a SyntaxError.
    """
    lines, parts, heading = text.splitlines(), {}, ""
    end = 0
    for node in ast.parse(text).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        above = [
            line for line in lines[end : first - 1] if line.startswith("# ") and line != COURSES
        ]
        heading, end = above[-1] if above else heading, node.end_lineno
        for name in _names_of(node):
            parts.pop(name, None)
            text = "\n".join(lines[first - 1 : end]).rstrip()
            parts[name] = Part(text, heading, first, end, lines[first - 2 : first - 1] == [COURSES])
    return parts


def _names_of(node):
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [MAIN] if isinstance(node, ast.If) and "__name__" in ast.dump(node.test) else []


@functools.cache
def tested():
    """Return the parts of the course's own copy of the file."""
    return parts_of(TESTED.read_text(encoding="utf-8"))


def untouched(name, part):
    """Say whether a part of the file is the course's, and the learner hasn't touched it."""
    return part.is_marked and part.text == tested()[name].text


def source_of(answer, name):
    """Return the text of a function or class under the name of its exercise; None if unknown."""
    functions = [answer, *vars(answer).values()] if isinstance(answer, type) else [answer]
    code = next((f.__code__ for f in functions if isinstance(f, types.FunctionType)), None)
    if code is None:
        return None
    text = "".join(linecache.getlines(code.co_filename)) or _file_text(answer)
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:
        return None
    kind = ast.ClassDef if isinstance(answer, type) else ast.FunctionDef
    for node in nodes:
        if not isinstance(node, kind) or node.name != answer.__name__:
            continue
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        if first <= code.co_firstlineno <= node.end_lineno:
            lines = text.splitlines()[first - 1 : node.end_lineno]
            found = textwrap.dedent("\n".join(line.rstrip() for line in lines))
            return re.sub(rf"\b{node.name}\b", name, found)
    return None


def _file_text(answer):
    try:
        return inspect.getsource(sys.modules[answer.__module__])
    except (OSError, TypeError, KeyError):
        return ""


def names_used(table):
    """Collect the names that a text takes from outside itself, inside its functions too."""
    used = {
        s.get_name()
        for s in table.get_symbols()
        if s.is_referenced()
        and s.is_global()
        and not (table.get_type() == "module" and s.is_assigned())
    }
    return used.union(*map(names_used, table.get_children())) if table.get_children() else used


def import_line(name, value):
    """Return the line that imports a value from PyTorch or another library; "" if there is none."""
    module = getattr(value, "__module__", None) or ""
    if isinstance(value, types.ModuleType) and not value.__name__.startswith("helpers"):
        head, _, last = value.__name__.rpartition(".")
        if last == name:
            return f"from {head} import {name}" if head else f"import {name}"
        return f"import {value.__name__} as {name}"
    for home in ("torch", "math", module.split(".")[0], module):
        ours = home.startswith(("helpers", "notebooks", MAIN))  # the file runs without these
        found = sys.modules.get(home) if home and not ours else None
        original = getattr(value, "__name__", name)
        if found and value is not None and getattr(found, original, None) is value:
            return f"from {home} import {original}" + (f" as {name}" if original != name else "")
    return ""


def what_to_add(name, known):
    """Say what to write into the file for a name that it lacks."""
    value = known.get(name)
    if name in tested():
        first = "Pass its exercise, or p" if name in catalogue()[0] else "P"
        return f'{first}ut in the course\'s: exercises.fill_in("{name}").'
    if isinstance(value, int | float | str | bool | None.__class__):
        return f"Add the line `{name} = {value!r}`." if name in known else "Define it there."
    return "Write it into the file, too."


def text_in_notebook(name, value):
    """Return the text of a function that stands in the notebook and is no part; else ""."""
    ours = isinstance(value, types.FunctionType) and value.__module__ == MAIN
    return source_of(value, name) or "" if ours and name not in tested() else ""
