"""The learner's own file: an answer that passes and is part of a Transformer goes into it.

``my_transformer.py`` stands beside the lessons and needs nothing of ours. Which exercises are parts
of it, in which order and under which headings, says the course's own copy of the file. A part that
the learner has edited in the file is never written over, and every text that was ever put there
or left out is kept in ``my_transformer_versions``, with the answers that are no parts.
"""

import ast
import builtins
import contextlib
import itertools
import os
import symtable
import sys
from dataclasses import dataclass
from pathlib import Path

from helpers.exercises import own_text, progress
from helpers.exercises.model import catalogue, find
from helpers.exercises.own_text import COURSES, TESTED, parts_of, source_of, tested, untouched
from helpers.exercises.progress import locked
from helpers.machine.atomic_writes import atomic_write
from helpers.machine.installation import ROOT, in_colab

FILE, VERSIONS = "my_transformer.py", "my_transformer_versions"
EDITED = "_from_the_file"  # how the names of versions end that the learner wrote into the file

answers = {}  # name -> the answer that passed in this kernel


def path():
    """Return where the learner's file is, or will be."""
    return progress.folder() / FILE


def my_folder():
    """Return the folder that the learner's file is in."""
    return path().parent


def in_terminal(command):
    """Return the line that runs a file of that folder in a terminal, with the Python that runs here.

    A terminal's own ``python`` may be another one, without PyTorch.
    """
    shown, usual = sys.executable, ROOT / ".venv"
    if usual.resolve() == Path(sys.prefix).resolve():
        shown = os.path.relpath(usual.joinpath(*Path(shown).parts[-2:]))  # bin or Scripts
    if " " in shown:  # Windows' PowerShell runs a quoted name only after an &
        shown = f'& "{shown}"' if os.name == "nt" else f'"{shown}"'
    return f"{shown} {command}"


def my_source(name):
    """Return the text of a part as it stands in the learner's file, or in the course's copy."""
    return (Own.read().parts.get(name) or tested()[name]).text


@dataclass
class Own:
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
        with atomic_write(path()) as partial:
            partial.write_bytes(self.text.replace("\n", self.newline).encode())

    def become(self, lines):
        self.text = "\n".join(lines) + "\n"
        self.parts = parts_of(self.text)

    def replace(self, name, lines):
        part = self.parts[name]
        old = self.text.splitlines()
        first = part.first - 1 - part.is_marked
        self.become(old[:first] + lines + old[part.last :])

    def insert(self, name, lines):
        """Put a part where it stands in the paper's order, under its heading."""
        if not self.text.strip():
            head = TESTED.read_text(encoding="utf-8").splitlines()
            first = next(iter(tested().values())).first
            self.become(["\n".join(head[: first - 1]).split("\n# ")[0].rstrip()])
        heading, order, old = tested()[name].heading, list(tested()), self.text.splitlines()
        before = [n for n in order[: order.index(name)] if n in self.parts]
        if before and self.parts[before[-1]].heading == heading:
            at = self.parts[before[-1]].last
        elif heading in old:  # only later parts of its section are there
            at = old.index(heading) + 1
            self.become([*old[:at], *lines, *_apart(old[at:])])
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
        self.become([*old[:at], *_apart(lines), *_apart(rest)])

    @staticmethod
    def _above(lines, at):
        """Go up over the comments that belong to a part, and the empty lines above them."""
        while at and lines[at - 1].startswith("#"):
            at -= 1
        while at and not lines[at - 1].strip():
            at -= 1
        return at


def _apart(lines):
    """Put an empty line in front, except before a function of up to three lines."""
    body = list(itertools.takewhile(lambda line: not line or line[0] == " ", lines[1:]))
    is_short = "".join(lines[:1]).startswith("def ") and len(list(filter(None, body))) < 3
    return lines if is_short or not lines else ["", *lines]


def keep(name: str, answer) -> str:
    """Put an answer that passed into the learner's file.

    Where it is now, or what to do; "" if the exercise is no part of the file.
    """
    exercise = find(name)
    if exercise.takes and exercise.as_function(answer) is answer:
        return ""  # it computes the same, but can't be built with
    answers[name] = answer
    is_courses = answer is exercise.tested
    is_part = name in tested()
    text = tested()[name].text if is_courses and is_part else source_of(answer, name)
    if not is_part:
        if text and not is_courses:
            _keep_for_later(name, text, _known_to(answer))
        return ""
    if text is None:
        return f"{FILE} can't take it: Python doesn't know its text. Write it with def in a cell."
    try:
        with _alone():
            return _put(name, text, is_courses, _known_to(answer))
    except OSError as error:
        return (
            f"{FILE} can't be written ({error.strerror or error}). Your code is kept until this "
            f"kernel stops."
        )


def _keep_for_later(name, text, known):
    """Save an answer that is no part of the file, with what it calls, for lessons that need it again."""
    needed = [
        (other, known.get(other))
        for other in own_text.names_used(symtable.symtable(text, FILE, "exec"))
    ]
    above = sorted(own_text.import_line(*one) or own_text.text_in_notebook(*one) for one in needed)
    with contextlib.suppress(OSError), _alone():
        _save_version(name, "\n".join([*filter(None, above), "", text]))


def earlier(name):
    """Return the learner's newest answer that was kept, as a Path; None if there is none."""
    return max(path().with_name(VERSIONS).glob(f"{name}_[0-9][0-9][0-9].py"), default=None)


def _known_to(answer):
    """Return the names that a function, or the methods of a class, find outside themselves."""
    methods = vars(answer).values() if isinstance(answer, type) else ()
    found = (getattr(one, "__globals__", None) for one in (answer, *methods))
    return next(filter(None, found), {})


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
        present = Own.read()
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
    own = Own.read()
    if own.trouble:
        return f"{own.trouble} Mend it and run this check again. Until then your answer is in {version}."
    lines = [*([COURSES] if is_courses and name in catalogue()[0] else []), *text.splitlines()]
    there = own.parts.get(name)
    if there is None:
        own.insert(name, lines)
    elif untouched(name, there) and not is_courses:
        own.replace(name, lines)
    elif is_courses or there.text == text:
        told = "" if is_courses else _supply_names(own, name, known)
        if told:
            own.write()
        return f"It's in {FILE}, line {own.parts[name].first}.{told}"
    elif there.text in _versions(name):
        own.replace(name, lines)
    else:
        _save_version(name, there.text, EDITED)
        return (
            f"{FILE} has your later version of it, line {there.first}, which stays. This answer is in "
            f"{version}. If you want it instead, delete the one in the file and run this check again."
        )
    told = _supply_names(own, name, known)
    own.write()
    whose = "The course's version is" if is_courses else "It's"
    if in_colab():
        told += " Colab forgets it with the session: download it from the files on the left."
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
    with atomic_write(file) as partial:
        partial.write_text(text + "\n", encoding="utf-8", newline="\n")
    return f"{VERSIONS}/{file.name}"


def _supply_names(own, name, known):
    """Add what a part needs: imports, and the learner's own functions; say what is lacking still."""
    names = symtable.symtable(own.text, FILE, "exec").get_symbols()
    there = {s.get_name() for s in names if s.is_assigned() or s.is_imported()}
    told, left, seen = [], [own.parts[name].text], {name}
    while left:
        part = symtable.symtable(left.pop(), FILE, "exec")
        for other in sorted(own_text.names_used(part) - set(dir(builtins)) - seen):
            seen.add(other)
            text = own_text.text_in_notebook(other, known.get(other))
            kept = own.parts[other].text if other in own.parts else ""
            left += [text] if text else []  # what it calls itself
            if text and text != kept and (other not in there or kept in _versions(other)):
                _save_version(other, text)
                if other in there:
                    own.replace(other, text.splitlines())
                else:
                    part, old = own.parts[name], own.text.splitlines()
                    at = part.first - 1 - part.is_marked
                    own.become([*old[:at], *text.splitlines(), "", *old[at:]])
                told.append(f" Your `{other}`, which it calls, is there now, too.")
            elif other not in there and (line := own_text.import_line(other, known.get(other))):
                _add_import(own, line)
                told.append(f" It needs `{line}`, which is there now, too.")
            elif other not in there:
                add = own_text.what_to_add(other, known)
                told.append(f" It uses `{other}`, which the file lacks. {add}")
    return "".join(told)


def _add_import(own, line):
    """Add an import below those that are there."""
    lines = own.text.splitlines()
    nodes = ast.parse(own.text).body
    last = [n.end_lineno for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
    doc = [n.end_lineno for n in nodes[:1] if isinstance(n, ast.Expr)]
    at = (last or doc or [0])[-1]
    own.become([*lines[:at], line, *lines[at:]])
