"""A mistake as an edit of the solution: the text that changes, and what it becomes."""

import ast
import functools
import inspect
import re
import sys
import textwrap

MOST_ROUNDS = 300  # of the while loops in one call; an edit can turn any loop into an endless one
GUARD = "__rounds__"  # the name that counts them


@functools.cache
def source_of(function) -> str:
    """Return a function's source without its docstring."""
    text = textwrap.dedent(inspect.getsource(function))
    definition = ast.parse(text).body[0]
    if ast.get_docstring(definition) and len(definition.body) > 1:
        lines, doc = text.splitlines(), definition.body[0]
        text = "\n".join(lines[: doc.lineno - 1] + lines[doc.end_lineno :])
    return text.rstrip()


def pasteable(function, name: str, own=()) -> str:
    """Return a function's source so that it runs in a notebook that has only torch and exercises.

    It's called `name` there. Imports come first, then the function. A function that has the name of
    an exercise in `own` is fetched by `exercises.mine`.
    """
    source = re.sub(r"\A(def|class) \w+\(", rf"\1 {name}(", source_of(function))
    lines = needs(function, own)
    return "\n".join([*lines, "", "", source] if lines else [source])


def needs(function, own=()):
    """List the lines that bring what a function uses from outside, but for torch and exercises."""
    tree = ast.parse(source_of(function))
    used = dict.fromkeys(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    known = getattr(function, "__globals__", None) or vars(sys.modules[function.__module__])
    outside = {name: known[name] for name in used if name in known}
    lines = {_brought(*item, own) for item in outside.items() if item[0] != "torch"}
    return sorted(lines, key=lambda line: (line.startswith("def "), line))


def _brought(name, value, own):
    if inspect.ismodule(value):
        package, _, module = value.__name__.rpartition(".")
        line = f"from {package} import {module}" if package else f"import {module}"
        return line if name == module else f"{line} as {name}"
    if name in own:
        return f'{name} = exercises.mine("{name}")'
    if callable(value) and all(map(str.isidentifier, value.__module__.split("."))):
        return f"from {value.__module__} import {name}"
    if callable(value):  # from a lesson's folder, whose name begins with a number
        return "\n".join([*needs(value, own), source_of(value)])
    return f"{name} = {value!r}"


def edited(source: str, changes: list[tuple[str, str]]) -> str:
    """Apply changes to a solution's text, one after the other.

    A change is a text that stands in the source exactly once, or else a ValueError, and its
    replacement. ("return", new) replaces what the last line returns; the word ``result`` in `new`
    stands for what it returned before.
    """
    for old, new in changes:
        if old == "return":
            source = _return_instead(source, new)
        elif source.count(old) == 1:
            source = source.replace(old, new)
        else:
            raise ValueError(f"{old!r} stands {source.count(old)} times in the solution:\n{source}")
    return source


def _return_instead(source, new):
    before, found, value = source.rpartition("\n    return ")
    if not found:
        raise ValueError(f"the solution has no return at the end:\n{source}")
    new = re.sub(r"\bresult\b", lambda _: f"({value})", new)
    return f"{before}{found}{new}"


class OutOfRounds(Exception):
    """Raised inside an edited solution whose loop does not end."""


class _Rounds:
    """Counts the rounds of the while loops in one call of a function, and stops them."""

    def __init__(self):
        self.caller, self.left = None, 0

    def __call__(self):
        caller = sys._getframe(1)
        if caller is not self.caller:  # another call
            self.caller, self.left = caller, MOST_ROUNDS
        self.left -= 1
        if self.left < 0:
            raise OutOfRounds
        return True


def guarded(source: str) -> ast.Module:
    """Parse a solution; give every while loop a count of rounds."""
    tree = ast.parse(source)
    # To look through thousands of trees takes long.
    return guarded_tree(tree) if "while" in source else tree


def guarded_tree(tree):
    """Give every while loop of a syntax tree a count of rounds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.While):
            call = ast.Call(ast.Name(GUARD, ast.Load()), [], [])
            node.test = ast.fix_missing_locations(ast.BoolOp(ast.And(), [call, node.test]))
    return tree


def compiled(tree: ast.Module, namespace: dict):
    """Make a function of a syntax tree that defines one; its globals are `namespace`."""
    found = {}
    exec(compile(tree, "<edited solution>", "exec"), namespace, found)
    return found[tree.body[0].name]


def namespace_of(function):
    """Copy what a function's code sees, for edited versions of it."""
    outside = inspect.getclosurevars(function).nonlocals
    return {**function.__globals__, **outside, GUARD: _Rounds()}


def made_wrong(function, changes: list[tuple[str, str]]):
    """Make a function of a solution with changes applied to its text."""
    tree = guarded(edited(source_of(function), changes))
    return compiled(tree, namespace_of(function))
