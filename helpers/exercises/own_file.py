"""The learner's own file: an answer that passes and is part of a Transformer goes into it.

``my_transformer.py`` stands beside the lessons and needs nothing of ours. Which exercises are parts
of it, in which order and under which headings, says the course's own copy of the file. A part that
the learner has edited in the file is never written over, and every text that was ever put there
or left out is kept in ``my_transformer_versions``.
"""

import ast
import builtins
import functools
import inspect
import linecache
import re
import symtable
import sys
import textwrap
import types
from dataclasses import dataclass
from pathlib import Path

from helpers.exercises import progress
from helpers.exercises.model import catalogue, find
from helpers.exercises.progress import locked
from helpers.machine.atomic_writes import whole_file

FILE, VERSIONS = "my_transformer.py", "my_transformer_versions"
EDITED = "_from_the_file"  # how the names of versions end that the learner wrote into the file
TESTED = (
    Path(__file__).parents[2] / "notebooks" / "source" / "10_build_a_transformer" / "my_transformer.py"
)  # fmt: skip
COURSES = "# The course's, until yours passes its check:"
MAIN = "__main__"  # the name of the part that runs the file as a program

_passed = {}  # name -> the answer that passed in this kernel


@dataclass(frozen=True)
class Part:
    """A function or class of the file: its text, its heading, its lines, its comment above."""

    text: str
    heading: str
    first: int
    last: int
    is_marked: bool


def parts_of(text):
    """Find the functions, classes and names that stand at the top level of a file.

    Parameters
    ----------
    text : str

    Returns
    -------
    parts : dict of str to Part
        In their order. Of two with one name it's the second, as in Python.

    Raises
    ------
    SyntaxError
        If the text isn't Python.
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


def _is_courses(name, part):
    """Say whether a part of the file is the course's, and the learner hasn't touched it."""
    return part.is_marked and part.text == tested()[name].text


def path():
    """Return where the learner's file is, or will be."""
    return progress.folder() / FILE


def my_folder():
    """Return the folder that the learner's file is in."""
    return path().parent


def my_source(name):
    """Return the text of a part as it stands in the learner's file, or in the course's copy."""
    return (_Own.read().parts.get(name) or tested()[name]).text


@dataclass
class _Own:
    """The file as it is: its text, how its lines end, and what is wrong with it, if anything."""

    text: str = ""
    newline: str = "\n"
    parts: dict = None
    trouble: str = ""

    @classmethod
    def read(cls):
        try:
            text = path().read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            return cls("", "\n", {})
        except (OSError, UnicodeDecodeError) as error:
            return cls(parts={}, trouble=f"{FILE} can't be read ({error}).")
        newline = "\r\n" if "\r\n" in text else "\n"
        text = text.replace("\r\n", "\n")
        try:
            return cls(text, newline, parts_of(text))
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            place = f" in line {line}" if line else ""
            what = getattr(error, "msg", error)
            return cls(text, newline, {}, f"{FILE} has a syntax error{place}: {what}.")

    def write(self):
        with whole_file(path()) as partial:
            partial.write_bytes(self.text.replace("\n", self.newline).encode())
        self.parts = parts_of(self.text)

    def replace(self, name, lines):
        part = self.parts[name]
        old = self.text.splitlines()
        first = part.first - 1 - part.is_marked
        self.text = "\n".join(old[:first] + lines + old[part.last :]) + "\n"

    def insert(self, name, lines):
        """Put a part where it stands in the paper's order, under its heading."""
        if not self.text.strip():
            head = TESTED.read_text(encoding="utf-8").splitlines()
            first = next(iter(tested().values())).first
            self.text = "\n".join(head[: first - 1]).split("\n# ")[0].rstrip() + "\n"
            self.parts = parts_of(self.text)
        heading, order, old = tested()[name].heading, list(tested()), self.text.splitlines()
        before = [n for n in order[: order.index(name)] if n in self.parts]
        if before and self.parts[before[-1]].heading == heading:
            at = self.parts[before[-1]].last
        elif heading in old:  # only later parts of its section are there
            at = old.index(heading) + 1
            lines = [*lines, ""]
            self.text = "\n".join(old[:at] + lines + old[at:]) + "\n"
            return
        else:
            after = [n for n in order[order.index(name) + 1 :] if n in self.parts]
            at = self.parts[before[-1]].last if before else len(old)
            if not before and after:
                at = self._above(old, self.parts[after[0]].first - 1)
            lines = [heading, *lines] if heading else lines
        rest = old[at:]
        while rest and not rest[0].strip():
            rest = rest[1:]
        self.text = "\n".join([*old[:at], "", *lines, *(["", *rest] if rest else [])]) + "\n"

    @staticmethod
    def _above(lines, at):
        """Go up over the comments that belong to a part, and the empty lines above them."""
        while at and lines[at - 1].startswith("#"):
            at -= 1
        while at and not lines[at - 1].strip():
            at -= 1
        return at


def keep(name, answer):
    """Put an answer that passed into the learner's file.

    Parameters
    ----------
    name : str
        The exercise.
    answer : function or class

    Returns
    -------
    told : str
        Where it is now, or what to do; "" if the exercise is no part of the file.
    """
    exercise = find(name)
    if exercise.takes and exercise.as_function(answer) is answer:
        return ""  # it computes the same, but can't be built with
    _passed[name] = answer
    if name not in tested():
        return ""
    is_courses = answer is exercise.tested
    text = tested()[name].text if is_courses else source_of(answer, name)
    if text is None:
        return f"{FILE} can't take it: Python doesn't know its text. Write it with def in a cell."
    try:
        with _alone():
            return _put(name, text, is_courses, getattr(answer, "__globals__", {}))
    except OSError as error:
        return (
            f"{FILE} can't be written ({error.strerror or error}). Your code is kept until this "
            f"kernel stops."
        )


def _alone():
    """Hold the lock of the file, which lies among the versions."""
    folder = path().with_name(VERSIONS)
    folder.mkdir(exist_ok=True)
    return locked(folder / FILE, progress.PATIENCE)


def fill_in(*names):
    """Put the course's version of parts into the learner's file, where the learner has none.

    Parameters
    ----------
    *names : str
        By default all parts.

    Returns
    -------
    filled : list of str
        The parts that were put in. A part that passes its check later takes their place.

    Raises
    ------
    OSError
        If the file can't be written.
    """
    with _alone():
        present = _Own.read()
        if present.trouble:
            print(f"{present.trouble} Mend it, and run this again.")
            return []
        missing = [name for name in names or tested() if name not in present.parts]
        for name in missing:
            _put(name, tested()[name].text, True, {})
    return missing


def _put(name, text, is_courses, known):
    """Put one part into the file, and say where it is and what it lacks; the lock is held."""
    version = "" if is_courses else _save_version(name, text)
    own = _Own.read()
    if own.trouble:
        return f"{own.trouble} Mend it and run this check again. Until then your answer is in {version}."
    lines = [*([COURSES] if is_courses and name in catalogue()[0] else []), *text.splitlines()]
    there = own.parts.get(name)
    if there is None:
        own.insert(name, lines)
    elif _is_courses(name, there) and not is_courses:
        own.replace(name, lines)
    elif is_courses or there.text == text:
        return f"It's in {FILE}, line {there.first}."
    elif there.text in _versions(name):
        own.replace(name, lines)
    else:
        _save_version(name, there.text, EDITED)
        return (
            f"{FILE} has your later version of it, line {there.first}, which stays. This answer is in "
            f"{version}. If you want it instead, delete the one in the file and run this check again."
        )
    own.parts = parts_of(own.text)
    told = _supply_names(own, name, known)
    own.write()
    whose = "The course's version is" if is_courses else "It's"
    return f"{whose} in {FILE} now, line {own.parts[name].first}.{told}"


def _versions(name):
    """Return the texts of a part that were put into the file."""
    files = sorted(path().with_name(VERSIONS).glob(f"{name}_[0-9][0-9][0-9].py"))
    return [file.read_text(encoding="utf-8").rstrip() for file in files]


def _save_version(name, text, kind=""):
    """Keep a text for good, once; return its file's name, as seen from the lessons."""
    number = 1
    while (file := path().with_name(VERSIONS) / f"{name}_{number:03}{kind}.py").exists():
        if file.read_text(encoding="utf-8").rstrip() == text:
            return f"{VERSIONS}/{file.name}"
        number += 1
    with whole_file(file) as partial:
        partial.write_text(text + "\n", encoding="utf-8", newline="\n")
    return f"{VERSIONS}/{file.name}"


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


def _supply_names(own, name, known):
    """Add the imports that a part needs to the file, and say which other names it lacks."""
    table = symtable.symtable(own.text, FILE, "exec")
    there = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    part = symtable.symtable(own.parts[name].text, FILE, "exec")
    missing = sorted(_used(part) - there - set(dir(builtins)) - {name})
    told = []
    for other in missing:
        line = _import_line(other, known.get(other))
        if line:
            _add_import(own, line)
            told.append(f" It needs `{line}`, which is there now, too.")
        else:
            told.append(f" It uses `{other}`, which the file lacks. {_what_to_add(other, known)}")
    return "".join(told)


def _used(table):
    """Collect the names that a text takes from outside itself, inside its functions too."""
    used = {
        s.get_name()
        for s in table.get_symbols()
        if s.is_referenced()
        and s.is_global()
        and not (table.get_type() == "module" and s.is_assigned())
    }
    return used.union(*map(_used, table.get_children())) if table.get_children() else used


def _import_line(name, value):
    """Return the line that imports a value from PyTorch or another library; "" if there is none."""
    module = getattr(value, "__module__", None) or ""
    if isinstance(value, types.ModuleType) and not value.__name__.startswith("helpers"):
        head, _, last = value.__name__.rpartition(".")
        if last == name:
            return f"from {head} import {name}" if head else f"import {name}"
        return f"import {value.__name__} as {name}"
    for home in ("torch", "math", module.split(".")[0] if module != "__main__" else "", module):
        ours = home.startswith(("helpers", "notebooks"))
        found = sys.modules.get(home) if home and not ours else None
        original = getattr(value, "__name__", name)
        if found and value is not None and getattr(found, original, None) is value:
            return f"from {home} import {original}" + (f" as {name}" if original != name else "")
    return ""


def _add_import(own, line):
    """Add an import below those that are there."""
    lines = own.text.splitlines()
    nodes = ast.parse(own.text).body
    last = [n.end_lineno for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
    doc = [n.end_lineno for n in nodes[:1] if isinstance(n, ast.Expr)]
    at = (last or doc or [0])[-1]
    own.text = "\n".join([*lines[:at], line, *lines[at:]]) + "\n"
    own.parts = parts_of(own.text)


def _what_to_add(name, known):
    """Say what to write into the file for a name that it lacks."""
    value = known.get(name)
    if name in tested():
        return f'Pass its exercise, or put in the course\'s: exercises.fill_in("{name}").'
    if isinstance(value, int | float | str | bool | None.__class__):
        return f"Add the line `{name} = {value!r}`." if name in known else "Define it there."
    module = getattr(value, "__module__", "") or ""
    text = source_of(value, name) if hasattr(value, "__code__") and module == "__main__" else None
    return f"Add it:\n{text}" if text else "Write it into the file, too."


@functools.lru_cache(maxsize=1)
def _run(text, place):
    """Run the text of the file as a module; returns it, and what went wrong."""
    from helpers.exercises import compare

    module = types.ModuleType("my_transformer")
    module.__file__ = place
    try:
        with compare.time_limit():
            exec(compile(text, place, "exec"), vars(module))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return module, f"{FILE} stops with {type(error).__name__}: {error}."
    return module, ""


def my_transformer():
    """Run the learner's file, and return it as a module.

    Returns
    -------
    module : module
        Of the file, or of the course's copy of it where the file can't run; then it says why.
    """
    own = _Own.read()
    module, trouble = _run(own.text, str(path())) if not own.trouble else (None, own.trouble)
    if not trouble and own.text:
        return module
    print(trouble or f"There's no {FILE} yet.", "This cell goes on with the course's.")
    return _run(TESTED.read_text(encoding="utf-8"), str(TESTED))[0]


def _find(name):
    """Return the answer to an exercise that later cells use, and whether the learner wrote it."""
    from helpers.exercises.checking import judge

    reference = find(name, "exercise").tested
    own = _Own.read()
    part = own.parts.get(name)
    candidates = []
    if part and not _is_courses(name, part):
        module, trouble = _run(own.text, str(path()))
        candidates += [] if trouble else [getattr(module, name, None)]
    if _passed.get(name) is not reference:
        candidates.append(_passed.get(name))
    for answer in candidates:
        if answer is not None and judge(name, answer).passed:
            return answer, True
    return reference, False


def mine(name):
    """Return the learner's answer to an exercise if it passes, else the tested one.

    Parameters
    ----------
    name : str

    Returns
    -------
    answer : function or class
        From my_transformer.py, or from this notebook. Never one that fails its check.
    """
    return _find(name)[0]


def is_mine(name):
    """Say whether `mine` gives the learner's own code."""
    return _find(name)[1]


def whose(*names, did="drawn"):
    """Say whose code made a figure, for its caption.

    Parameters
    ----------
    *names : str
        The exercises whose functions ran.
    did : str, default="drawn"
        What they did: "drawn", "translated", "trained".

    Returns
    -------
    caption : str
    """
    own = [name for name in names if is_mine(name)]
    rest = [name for name in names if name not in own]
    if not rest:
        return f"{did} by your code ({', '.join(own)})"
    if not own:
        return f"{did} by the course's code, until yours passes ({', '.join(rest)})"
    return f"{did} by your {', '.join(own)}, and the course's {', '.join(rest)} until yours passes"


class _Parts:
    """The Transformer with the learner's parts lit, and a sentence."""

    def __init__(self, mine):
        self.mine = mine
        own = [name for name, is_own in mine.items() if is_own]
        self.said = f"{len(own)} of {len(mine)} parts of the Transformer are yours."
        if len(own) < len(mine):
            name = next(name for name, is_own in mine.items() if not is_own)
            self.said += f" Next: {name}, lesson {find(name).lesson:02}."

    def __repr__(self):
        return self.said

    def _repr_html_(self):
        from helpers.widgets import own_parts

        return f"{own_parts.draw(self.mine)}<p>{self.said}</p>"


def my_parts():
    """Show the Transformer with the parts lit that are the learner's own.

    Returns
    -------
    parts : object that shows itself
    """
    known = catalogue()[0]
    names = sorted((name for name in tested() if name in known), key=lambda n: known[n].lesson)
    return _Parts({name: is_mine(name) for name in names})
