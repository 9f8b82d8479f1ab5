"""Holds the shape of the code: who imports whom, how long a file is, what a docstring names."""

import ast
import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HELPERS = sorted(path for path in (ROOT / "helpers").rglob("*.py") if path.stat().st_size)
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
# The files of the exercises' package whose names its __init__ passes on.
PASSED_ON = {
    "__init__.py",
    "checking.py",
    "progress.py",
    "quizzes.py",
    "predictions.py",
    "warm_up.py",
}
SOURCES = sorted((ROOT / "notebooks" / "source").glob("*/*.py"))

# What the rooms that the lessons teach import beside torch: the paper only itself, the models
# the paper and each other.
MATHEMATICS = {"transformer": {"transformer"}, "models": {"models", "transformer"}}
LONGEST_FILE = 455  # lines; about 400 is the aim, and the few that are longer do not grow
LONGEST_SCRIPT = 300  # lines of JavaScript
LONGEST_FUNCTION = 40  # lines of code, without the docstring
SLOWEST_IMPORT = 1.0  # times what Python and torch take, whose import nobody can do without


def module_of(path):
    """Name the module that a file of the package is: ``helpers.pretrained.minilm``."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def imports(tree):
    """Name everything a file imports, with the sisters as ``helpers.name``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = "helpers" if node.level else node.module
            inside = f"{package}.{node.module}" if node.level and node.module else package
            if inside == "helpers":
                yield from (f"helpers.{alias.name}" for alias in node.names)
            else:
                yield inside


@functools.cache  # most files are looked at by four tests
def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def label(path):
    return path.relative_to(ROOT).as_posix()


def rule_broken(module, names):
    """Say which of the three rules a module breaks with one of the names it imports, or None."""
    ours = {name for name in names if name.startswith("helpers.")}
    room = module.split(".")[1]
    if room in MATHEMATICS:
        outside = {name.split(".")[0] for name in names} - sys.stdlib_module_names
        strangers = {name for name in ours if name.split(".")[1] not in MATHEMATICS[room]}
        if strangers or outside - {"torch", "helpers"}:
            return "the paper and the models import torch and each other"
    if any(name.split(".")[0] == "recipes" for name in names):
        return "a library never imports a recipe"
    if room != "exercises" and any(name.split(".")[1] == "exercises" for name in ours):
        return "nothing imports exercises but notebooks and tests"
    drawing = {name for name in ours if name.split(".")[1] in ("widgets", "plots")}
    if room not in ("widgets", "plots", "exercises", "notebook") and drawing:
        return "widgets and plots import the mathematics, not the reverse"
    return None


def test_imports_keep_to_the_three_rules():
    found = {
        label(path): rule_broken(module_of(path), set(imports(parse(path)))) for path in HELPERS
    }
    assert {path: rule for path, rule in found.items() if rule is not None} == {}


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("helpers.transformer.attention", "numpy"),
        ("helpers.transformer.layers", "helpers.models.bert"),
        ("helpers.models.bert", "helpers.training.training"),
        ("helpers.training.training", "recipes.translator"),
        ("helpers.widgets.six_steps", "helpers.exercises"),
        ("helpers.training.training", "helpers.plots"),
    ],
)
def test_the_three_rules_can_be_broken(module, name):
    assert rule_broken(module, {name}) is not None


def test_a_file_stays_short():
    # Exercises are content, a long list of short things; they are exempt.
    files = [path for path in HELPERS if not path.stem.startswith(("lesson_", "review"))]
    lines = {label(path): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    long = {path: n for path, n in lines.items() if n > LONGEST_FILE}
    assert not long, "a long file does more than one thing"


def test_a_script_stays_short():
    scripts = sorted((ROOT / "helpers").rglob("*.js"))
    assert scripts
    for path in scripts:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= LONGEST_SCRIPT, f"{label(path)}: {lines} lines"


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


def test_no_module_is_called_utils():
    vague = {"utils", "util", "misc", "common"}
    found = [path for path in [*HELPERS, *TESTS, *SOURCES] if path.stem in vague]
    assert not found


def test_the_package_re_exports_nothing():
    assert (ROOT / "helpers" / "__init__.py").read_text() == ""


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
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *modules], cwd=ROOT, capture_output=True, text=True
    )
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
        words = [a.value for a in [*node.args, *(k.value for k in node.keywords)] if is_text(a)]
        if any(keyword.arg == "encoding" for keyword in node.keywords) or "utf-8" in words:
            continue
        reads = name in ("read_text", "write_text")
        opens = isinstance(node.func, ast.Name) and name == "open"
        if reads or (opens and not any("b" in word for word in words[-1:])):
            yield node.lineno


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_text_is_read_and_written_as_utf_8():
    files = [*HELPERS, *(ROOT / "notebooks").glob("*.py"), *(ROOT / "images").glob("*.py")]
    found = {label(path): list(without_encoding(parse(path))) for path in files}
    lines = {path: numbers for path, numbers in found.items() if numbers}
    assert not lines, "say encoding='utf-8' there: Windows would take another"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("open('a')", [1]),
        ("open('a', 'w')", [1]),
        ("path.read_text()", [1]),
        ("path.write_text('word')", [1]),
        ("open('a', 'rb')", []),
        ("open('a', mode='wb')", []),
        ("open('a', encoding='utf-8')", []),
        ("path.read_text('utf-8')", []),
        ("browser.open(page)", []),
    ],
)
def test_the_guard_knows_text_without_an_encoding(code, found):
    assert list(without_encoding(ast.parse(code))) == found


# A test asserts by one of these, or by calling something so named.
ASSERTING = ("assert", "check_", "expect", "raises", "warns", "fail")


def can_fail(function):
    """Tell whether a test function can fail by anything but an accident."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name.startswith(ASSERTING):
                return True
    return False


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


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("assert 1 == 1", True),
        ("with pytest.raises(ValueError): f()", True),
        ("torch.testing.assert_close(a, b)", True),
        ("expect(page.locator('x')).to_be_visible()", True),
        ("check_shape(a)", True),
        ("a == b", False),
        ("exercises.check('causal_mask', f)", False),
        ("f(); print('fine')", False),
        ("torch.allclose(a, b)", False),
    ],
)
def test_the_guard_knows_an_idle_test(body, verdict):
    (function,) = functions(ast.parse(f"def test_something():\n    {body}\n"))
    assert can_fail(function) is verdict


def undocumented(tree):
    """List what a file's public docstrings do not say, as sentences."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield from untold_arguments(node, node.name, ast.get_docstring(node))
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from undocumented_class(node)


def undocumented_class(node):
    """List what a public class and its public methods do not say."""
    doc = ast.get_docstring(node)
    if doc is None:
        yield f"{node.name} has no docstring"
        return
    fields = [
        field.target.id
        for field in node.body
        if isinstance(field, ast.AnnAssign) and is_record(node) and not says_its_type(field)
    ]
    yield from (
        f"{node.name} does not name {field}"
        for field in fields
        if not field.startswith("_") and field not in re.findall(r"\w+", doc)
    )
    for method in node.body:
        if not isinstance(method, ast.FunctionDef):
            continue
        own = ast.get_docstring(method)
        if method.name == "__init__":
            yield from untold_arguments(method, node.name, f"{doc}\n{own}")
        if method.name == "__init__" or method.name.startswith("_"):
            continue
        # The class may already have said what a method's arguments are, and a method that is told
        # in one line, shapes included, needs no more than that line.
        if own is None or "\n" in own:
            told = f"{doc}\n{own}" if own else None
            yield from untold_arguments(method, f"{node.name}.{method.name}", told)


def is_record(node):
    """Tell whether a class takes its annotated fields as arguments."""
    words = [ast.unparse(part) for part in [*node.decorator_list, *node.bases]]
    return any("dataclass" in word or "NamedTuple" in word for word in words)


def untold_arguments(function, name, doc):
    """List the arguments of which neither docstring nor signature says what they are."""
    if doc is None:
        yield f"{name} has no docstring"
        return
    for line in re.findall(r"^ *\w[\w, *]* : (.*\bTensor\b.*)$", doc, re.MULTILINE):
        if not SHAPE.search(line):
            yield f"{name} gives no shape: {line}"
    told = set(re.findall(r"\w+", doc))
    if AS_IN.search(doc):  # told where that one is told
        return
    for argument, default in defaults(function.args):
        private = argument.arg.startswith("_") or argument.arg in ("self", "cls")
        known = argument.arg in told or says_its_type(argument) or says_it_all(default)
        if not private and not known:
            yield f"{name} does not name {argument.arg}"


# How large a tensor is: its axes, another tensor with the same ones, or that it has none. What is
# "float or Tensor" is taken entry by entry.
SHAPE = re.compile(r"shape|\(|scalar|dict|`|(int|float) or Tensor")
AS_IN = re.compile(r"\bas in `\w+(\.\w+)*`", re.IGNORECASE)


def defaults(arguments):
    """Pair each argument of a signature with its default, or None."""
    positional = [*arguments.posonlyargs, *arguments.args]
    without = [None] * (len(positional) - len(arguments.defaults))
    pairs = [*zip(positional, without + arguments.defaults, strict=True)]
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    pairs += [(extra, None) for extra in (arguments.vararg, arguments.kwarg) if extra]
    return list(pairs)


def says_its_type(argument):
    """Tell whether an annotation leaves nothing to say; a tensor's shape always has to be said."""
    return argument.annotation is not None and "Tensor" not in ast.unparse(argument.annotation)


def says_it_all(default):
    """Tell whether a default leaves nothing to say: a switch or a word, which has no unit."""
    return isinstance(default, ast.Constant) and isinstance(default.value, bool | str)


def test_public_docstrings_name_every_argument():
    # Inside the exercises' and the clinic's packages nothing is public but what __init__ passes on.
    closed = {"exercises": PASSED_ON, "clinic": {"__init__.py", "report.py"}}
    public = [
        path
        for path in HELPERS
        if all(room not in path.parts or path.name in names for room, names in closed.items())
    ]
    gaps = []
    for path in [*public, ROOT / "notebooks" / "build.py"]:
        if not ast.get_docstring(parse(path)):
            gaps.append(f"{label(path)} does not say what it is for")
        gaps += [f"{label(path)}: {gap}" for gap in undocumented(parse(path))]
    assert not gaps, "\n".join(gaps)


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("def f(x): pass", "f has no docstring"),
        ('def f(x):\n    """Do."""', "f does not name x"),
        ('def f(*, seconds=3):\n    """Wait."""', "f does not name seconds"),
        ('def f(mask=None):\n    """Do."""', "f does not name mask"),
        ('def f(x):\n    """Do.\n\n    x : bool Tensor, True = may look"""', "f gives no shape: "),
        ('class A:\n    """B."""\n    def m(self): pass', "A.m has no docstring"),
        ('@dataclass\nclass A:\n    """B."""\n    x: Tensor', "A does not name x"),
        ('def f(x: Tensor):\n    """Do."""', "f does not name x"),
    ],
)
def test_the_walk_finds_what_is_missing(code, complaint):
    (found,) = undocumented(ast.parse(code))
    assert found.startswith(complaint)


@pytest.mark.parametrize(
    "code",
    [
        'def f(x, *y, z=1):\n    """Do.\n\n    x, *y : int\n    z : int\n    """',
        'def f(x):\n    """Do.\n\n    x : Tensor of shape (B, T)\n    """',
        'def f(x, train=False, how="greedy"):\n    """Do it to x."""',
        'def f(path: Path, steps: int = 3):\n    """Do."""',
        'def f(query, key):\n    """Arguments as in `scaled_dot_product_attention`."""',
    ],
)
def test_the_walk_is_content_with_numpydoc_and_with_what_a_signature_says(code):
    assert list(undocumented(ast.parse(code))) == []


# What would change a library, or a module of ours, behind its back.
PATCHES = re.compile(
    r"unittest\.mock|object\.__setattr__|sys\.modules\[[^]]*\] *=[^=]|\._trait_values"
    r"|torch\.(?:\w+\.)*_[a-z]|torch\.testing, \"_"
)


def test_nothing_is_patched_behind_anybodys_back():
    found = {label(path): PATCHES.findall(path.read_text(encoding="utf-8")) for path in HELPERS}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_test_run_leaves_no_folder_behind(tmp_path, workers):
    arguments = ["-q", "-n", workers, "-p", "no:cacheprovider", "tests/test_masks.py"]
    subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, f"--basetemp={tmp_path / 'own'}"],
        cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, check=True,
    )  # fmt: skip
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("course-")] == []
