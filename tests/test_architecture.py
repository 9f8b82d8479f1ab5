"""Holds the shape of the code: who imports whom, how long a file is, what a docstring names."""

import ast
import functools
import graphlib
import json
import re
import sys

import pytest
from samples import python
from stages import ROOT

from notebooks import freshness

HELPERS = sorted(path for path in (ROOT / "helpers").rglob("*.py") if path.stat().st_size)
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
# The files of the exercises' package whose names its __init__ passes on.
PASSED_ON = ["__init__", "checking", "overview", "predictions", "progress", "quizzes", "warm_up"]

# What the rooms that the lessons teach import beside torch: the paper only itself, the models
# the paper and each other.
MATHEMATICS = {"transformer": {"transformer"}, "models": {"models", "transformer"}}
LONGEST_FILE = 455  # lines; about 400 is the aim, and the few that are longer do not grow
LONGEST_FUNCTION = 40  # lines of code, without the docstring
SLOWEST_IMPORT = 1.0  # times what Python and torch take, whose import nobody can do without


def module_of(path):
    """Name the module that a file of the package is: ``helpers.pretrained.minilm``."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@functools.cache  # most files are looked at by four tests
def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def label(path):
    return path.relative_to(ROOT).as_posix()


def rule_broken(module, names):
    """Say which rule a module breaks with one of the names it imports, or None."""
    ours = {name for name in names if name.startswith("helpers.")}
    room = module.split(".")[1]
    if room in MATHEMATICS:
        outside = {name.split(".")[0] for name in names} - sys.stdlib_module_names
        strangers = {name for name in ours if name.split(".")[1] not in MATHEMATICS[room]}
        if strangers or outside - {"torch", "helpers"}:
            return "the paper and the models import torch and each other"
    if any(name.split(".")[0] == "recipes" for name in names):
        return "nothing in helpers imports a recipe"
    if room != "exercises" and any(name.split(".")[1] == "exercises" for name in ours):
        return "nothing in helpers imports exercises"
    drawing = {name for name in ours if name.split(".")[1] in ("widgets", "plots")}
    if room not in ("widgets", "plots", "exercises", "notebook") and drawing:
        return "widgets and plots import the mathematics, not the reverse"
    return None


def test_imports_keep_to_the_rules():
    found = {
        label(path): rule_broken(module_of(path), freshness._imported(path, ROOT))
        for path in HELPERS
    }
    assert {path: rule for path, rule in found.items() if rule is not None} == {}


@pytest.mark.slow
def test_no_file_imports_itself_in_a_circle():
    # An __init__ passes names on from its own room, and is no part of what the room is built of.
    modules = {module_of(path): path for path in HELPERS if path.name != "__init__.py"}
    asked_for = {name: freshness._imported(path, ROOT) for name, path in modules.items()}
    graph = {name: asked & modules.keys() - {name} for name, asked in asked_for.items()}
    assert sum(map(len, graph.values())) > 200
    graphlib.TopologicalSorter(graph).prepare()


def test_a_file_stays_short():
    lines = {label(path): len(path.read_text(encoding="utf-8").splitlines()) for path in HELPERS}
    long = {path: n for path, n in lines.items() if n > LONGEST_FILE}
    assert not long, "a long file does more than one thing"


def functions(tree):
    """Find every function of a file, nested ones too."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def code_lines(function):
    """Count a function's lines without its docstring."""
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        lines -= function.body[0].end_lineno - function.body[0].lineno + 1
    return lines


def test_a_function_stays_short():
    long = {
        (label(path), f.name): code_lines(f)
        for path in HELPERS
        for f in functions(parse(path))
        if code_lines(f) > LONGEST_FUNCTION
    }
    assert not long


IMPORT_ALL = """
import importlib, json, sys, time
import torch
spent = {"torch": time.process_time()}
for name in sys.argv[1:]:
    start = time.process_time()
    importlib.import_module(name)
    spent[name] = time.process_time() - start
print(json.dumps(spent))
"""


@pytest.mark.slow
def test_importing_every_helper_is_quick_and_quiet():
    # In one process, and in processor time, so that a busy machine does not blame the import.
    modules = sorted({module_of(path).removesuffix(".__init__") for path in HELPERS})
    done = python("-c", IMPORT_ALL, *modules)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1, f"an import prints: {done.stdout}"
    spent = json.loads(done.stdout)
    assert max(spent[name] for name in modules) < SLOWEST_IMPORT * spent["torch"], spent


def without_encoding(tree):
    """List the lines that read or write text in whatever encoding the machine prefers."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        words = [word for one in given if isinstance(word := getattr(one, "value", None), str)]
        if any(keyword.arg == "encoding" for keyword in node.keywords) or "utf-8" in words:
            continue
        reads = name in ("read_text", "write_text")
        opens = isinstance(node.func, ast.Name) and name == "open"
        if reads or (opens and not any("b" in word for word in words[-1:])):
            yield node.lineno


def test_text_is_read_and_written_as_utf_8():
    files = [*HELPERS, *(ROOT / "notebooks").glob("*.py"), *(ROOT / "images").glob("*.py")]
    found = {label(path): list(without_encoding(parse(path))) for path in files}
    lines = {path: numbers for path, numbers in found.items() if numbers}
    assert not lines, "say encoding='utf-8' there: Windows would take another"


# A test asserts by one of these, or by calling something so named.
ASSERTING = ("assert", "check_", "expect", "raises", "refuses", "warns", "fail")


def can_fail(function):
    """Tell whether a test function can fail by anything but an accident."""
    called = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    names = [getattr(func, "attr", getattr(func, "id", "")) for func in called]
    asserts = any(isinstance(node, ast.Assert) for node in ast.walk(function))
    return asserts or any(name.startswith(ASSERTING) for name in names)


@pytest.mark.slow
def test_every_test_asserts_something():
    promise = ("test_", "assert_", "check_")
    idle = [
        (label(path), f.name)
        for path in TESTS
        if "benchmarks" not in path.parts  # a benchmark measures
        for f in functions(parse(path))
        if f.name.startswith(promise) and not can_fail(f)
    ]
    assert not idle, "these can never fail"


# How large a tensor is: its axes, another tensor with the same ones, or that it has none. What is
# "float or Tensor" is taken entry by entry.
SHAPE = re.compile(r"shape|\(|scalar|dict|`|(int|float) or Tensor")
AS_IN = re.compile(r"\bas in `\w+(\.\w+)*`", re.IGNORECASE)


def undocumented(tree):
    """List what a file's public docstrings do not say; that there are any, ruff asks."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        doc = ast.get_docstring(node) or ""
        for part in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(part, ast.FunctionDef) and part.name in ("__init__", node.name):
                doc += ast.get_docstring(part) or ""
                yield from untold_arguments(part, node.name, doc)


def untold_arguments(function, name, doc):
    """List the arguments of which neither docstring nor signature says what they are."""
    for line in re.findall(r"^ *\w[\w, *]* : (.*\bTensor\b.*)$", doc, re.MULTILINE):
        if not SHAPE.search(line):
            yield f"{name} gives no shape: {line}"
    if AS_IN.search(doc):  # told where that one is told
        return
    taken = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    switches = re.findall(r"(\w+)=(?:True|False|'\w*')", ast.unparse(function.args))
    told = {"self", "cls", *switches, *re.findall(r"\w+", doc)}
    for argument in taken:
        typed = argument.annotation is not None and "Tensor" not in ast.unparse(argument.annotation)
        if not (argument.arg.startswith("_") or argument.arg in told or typed):
            yield f"{name} does not name {argument.arg}"


def test_public_docstrings_name_every_argument():
    # Inside the exercises' and the clinic's packages nothing is public but what __init__ passes on.
    closed = {"exercises": PASSED_ON, "clinic": ["__init__", "report"]}
    public = [
        path
        for path in HELPERS
        if all(room not in path.parts or path.stem in names for room, names in closed.items())
    ]
    gaps = []
    for path in [*public, ROOT / "notebooks" / "build.py"]:
        if not ast.get_docstring(parse(path)):
            gaps.append(f"{label(path)} does not say what it is for")
        gaps += [f"{label(path)}: {gap}" for gap in undocumented(parse(path))]
    assert not gaps, "\n".join(gaps)


# What would change a library, or a module of ours, behind its back.
PATCHES = re.compile(
    r"unittest\.mock|object\.__setattr__|sys\.modules\[[^]]*\] *=[^=]|\._trait_values"
    r"|torch\.(?:\w+\.)*_[a-z]|torch\.testing, \"_"
)


def test_nothing_is_patched_behind_anybodys_back():
    found = {label(path): PATCHES.findall(path.read_text(encoding="utf-8")) for path in HELPERS}
    # Private operators; their file says why, and does without them where they're missing.
    known = set(found.pop("helpers/transformer/one_row.py"))
    assert known == {"torch.ops.mkldnn._l", "torch.ops.mkldnn._r"}
    assert {path: names for path, names in found.items() if names} == {}
