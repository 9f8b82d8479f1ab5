"""Which files of ours a lesson runs, shows or reads; when one changes, it is built again."""

import ast
import functools
from pathlib import Path

from helpers.machine.fingerprints import fingerprint

ROOT = Path(__file__).resolve().parent.parent
SET_UP = "helpers.notebook"  # what every lesson's first cell imports
# No lesson's output holds all of what a browser runs; the list of checksums names every model.
NOT_READ = (".py", ".js", ".css", "")


def modules_mark(source: Path, root: Path = ROOT) -> str:
    """Make a mark of all our code that a lesson runs or shows, and of the files that it reads.

    Of what the lesson imports, and of its own exercises and questions, every letter counts, because
    a lesson may show it. Of what these import in turn, only what Python runs counts, so that a
    comment or a docstring deep below leaves the notebooks alone. A file that all this code names,
    such as a picture, a table or a model's weights, counts too (see `_is_named`). Where the lesson
    checks the installation, its output names what ``requirements.txt`` pins.
    """
    own = sorted(path for path in source.parent.glob("*.py") if path != source)
    named = {SET_UP}.union(*(_imported(path, root) for path in (source, *own)))
    shown = sorted({path for name in named if (path := _path(name, root))})
    reached, left = set(shown), list(shown)
    while left:
        found = {_path(name, root) for name in _imported(left.pop(), root)} - reached - {None}
        reached |= found
        left += found
    if "check_installation" in source.read_text(encoding="utf-8"):
        shown.append(root / "requirements.txt")
    words = set().union(*(_words(path) for path in (source, *own, *reached)))
    folders = source.parent, root / "helpers", root / "images"
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    read = [path for path in files if path.suffix not in NOT_READ and _is_named(path.name, words)]
    parts = [fingerprint(path.read_bytes()) for path in (*own, *shown, *read)]
    return fingerprint("\n".join([*parts, *(_code(path) for path in sorted(reached - set(shown)))]))


def _is_named(name, words):
    """Tell whether code names a file: in one string, or put together of its `words`.

    That is f"{stem}{ending}" or f"{beginning}_{end}{ending}"; a stem can be the module's own.
    """
    stem, dot, ending = name.partition(".")
    beginning, _, end = stem.rpartition("_")
    known = stem in words or {beginning + "_", end} <= words
    return name in words or (known and dot + ending in words)


def _path(name, root):
    """Find the file of a module of ours, or None."""
    place = root.joinpath(*name.split("."))
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.exists():
            return path
    return None


@functools.cache
def _imported(path, root):
    """Name the modules that a file imports, wherever in it; ours and others'."""
    package = path.parent.relative_to(root).parts if path.is_relative_to(root) else ()
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            home = ".".join([*above, *filter(None, [node.module])])
            names |= {home, *(f"{home}.{alias.name}" for alias in node.names)}
    return names


@functools.cache
def _words(path):
    """Collect the strings in a file, and its own name."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {path.stem, *(node.value for node in nodes if isinstance(node, ast.Constant))}


@functools.cache
def _code(path):
    """Write down what a file does, without comments and docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node):
            node.body = node.body[1:]
    return ast.dump(tree)
