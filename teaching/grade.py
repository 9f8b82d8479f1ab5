"""Grade a folder of submitted notebooks: ``make grade FOLDER=submissions``.

Each submission's own cells are run again, in an empty folder, in a process of its own without a
network and with limits on time and memory. The checks themselves run out here, on inputs that the
submission can't see, and only ask the submission's functions for their results: whatever a
submission does to the checks, to its progress or to this program, it scores what its answers earn.

The result is a CSV file with one row per submission and part. On Linux the sandbox is bubblewrap
(``apt-get install bubblewrap``). Elsewhere, or without it, only submissions that you trust should
be run: ``--trusted`` says so.
"""

import argparse
import ast
import contextlib
import csv
import functools
import json
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import threading
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat

from helpers.exercises import checking
from notebooks.build import NOTEBOOKS, assemble, source_of
from notebooks.copies import learners_copy
from notebooks.reading import whole
from teaching import reports
from teaching.handing_back import hand_back
from teaching.needed import UNREADABLE, needed
from teaching.sandbox import (
    SECONDS,
    Sandbox,
    SandboxTrouble,
    demand_sandbox,
    resource,
    trouble_with_walls,
)

CHECK = re.compile(r"""exercises\.check\(\s*["'](\w+)["']\s*,\s*(\w+)\s*\)""")
STEPS_IN = re.compile(r"""^(\w+) = exercises\.mine\(["']\1["']\)""", re.MULTILINE)
# The course's own solutions, by whatever name they are fetched.
REFERENCE = re.compile(
    r"\b(reference|solution|mine)\s*\(|helpers\.exercises\b|\bimportlib\b|__import__"
    r"|\bnotebooks\.source\b|^\s*(?:from|import) helpers\.(?:transformer|models)\b",
    re.MULTILINE,
)
COLUMNS = (
    "submission", "lesson", "version", "part", "passed", "mistake", "message", "tries", "remark"
)  # fmt: skip


@dataclass
class Submission:
    """A notebook that somebody handed in: the file's `name`, and the `lesson` that it is a copy of.

    `version` marks the copy's version, and `remarks` say what a teacher should look at. `cells` are
    what to run, in order: "source"; "check", a dictionary from the exercise to the variable that
    holds its answer; and "own", whether the learner wrote it. `tries` are those that the learner's
    progress tells, if it was handed in too; for information only.
    """

    name: str
    lesson: str
    version: str
    cells: list
    remarks: list
    tries: dict

    @property
    def parts(self):
        """The names of the exercises that it checks, in order."""
        return [name for cell in self.cells for name in cell["check"]]


def read_submission(path: Path) -> Submission:
    """Find out which lesson a notebook is a copy of, and which of its cells to run.

    Raises
    ------
    ValueError
        If the file is no notebook, or no copy of a lesson.
    """
    try:
        notebook = nbformat.read(path, as_version=4)
    except Exception as error:  # whatever it lacks
        raise ValueError(f"can't be read as a notebook: {error}") from None
    for cell in notebook.cells:  # Colab keeps a cell's id in its metadata, and may give it another
        cell["id"] = cell.metadata.get("id", cell.get("id", ""))
    lesson, template = _lesson_of(notebook)
    whole(notebook, template)
    old = notebook.metadata.get("course") not in (None, template.metadata["course"])
    known = {cell.id: cell for cell in template.cells}
    same = {cell.source: cell for cell in template.cells}  # some editors write no ids
    # Every part that the lesson checks counts, whether its cell is still there or not.
    checks = {name: variable for c in template.cells for name, variable in CHECK.findall(c.source)}
    cells, remarks = [], ["is a copy of another version of the lesson"] if old else []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        original = known.get(cell.get("id"), same.get(cell.source))
        own = original is None or original.source != cell.source
        if (
            own
            and REFERENCE.search(cell.source)
            and not (original is not None and REFERENCE.search(original.source))
        ):
            remarks.append("may call the reference" if old else "calls the reference")
        # Where the check was deleted, look before the tested part takes the answer's place.
        due = {n: checks.pop(n) for n in STEPS_IN.findall(cell.source) if n in checks}
        if due:
            cells.append({"source": "", "check": due, "own": False})
        checked = {n: v for n, v in CHECK.findall(cell.source) if n in checks}
        if own or _defines(cell.source):
            cells.append({"source": _without_checks(cell.source), "check": {}, "own": own})
        if checked:
            cells.append({"source": "", "check": checked, "own": False})
            checks = {n: v for n, v in checks.items() if n not in checked}
    if checks:
        cells.append({"source": "", "check": checks, "own": False})
    version = str(notebook.metadata.get("course", {}).get("source_hash", ""))[:8]
    remarks = sorted(set(remarks))
    return Submission(path.stem, lesson, version, needed(cells), remarks, _tries(path))


@functools.cache  # a class hands in hundreds of notebooks
def _lessons():
    """Find each lesson's name, the ids of its cells and its texts, in the notebooks as stored."""
    built = {path.stem: json.loads(path.read_bytes()) for path in NOTEBOOKS.glob("[0-8]*.ipynb")}
    return {
        name: {mark for cell in built[name]["cells"] for mark in (cell["id"], _text(cell))}
        for name in sorted(built)
    }


def _text(cell):
    return "".join(cell["source"])


@functools.cache
def _template(lesson):
    return learners_copy(assemble(source_of(lesson)))


def _lesson_of(notebook):
    """Find the lesson that shares most cells with a notebook, and its learner's copy."""
    found = {cell.get("id") for cell in notebook.cells} | set(map(_text, notebook.cells))
    shared = {name: len(found & known) for name, known in _lessons().items()}
    best = max(shared, key=shared.get)
    if shared[best] < 5:
        raise ValueError("is no copy of a lesson: hardly any of its cells are known")
    return best, _template(best)


def _defines(source):
    """Say whether a cell only imports and defines, or puts a tested part in its place."""
    if "set_up()" in source:
        return False
    if STEPS_IN.search(source) or "exercises.reference(" in source:
        return True
    try:
        body = ast.parse(source).body
    except UNREADABLE:
        return False
    kinds = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    return any(isinstance(node, kinds) for node in body) and not CHECK.search(source)


def _without_checks(source):
    """Leave out the statements that only show something of the exercises."""
    try:
        kept = [node for node in ast.parse(source).body if not _shows(node)]
        return ast.unparse(ast.Module(kept, []))
    except UNREADABLE:
        return source


def _shows(node):
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith(
        ("exercises.", "display(", "notebook.")
    )


def _tries(path):
    """Read how often each part was tried, if the progress was handed in beside the notebook."""
    for name in (path.with_suffix(".json").name, ".course/progress.json", "progress.json"):
        beside = path.parent / name
        with contextlib.suppress(Exception):
            entries = json.loads(beside.read_text(encoding="utf-8"))["exercises"]
            return {name: int(entry["tries"]) for name, entry in entries.items()}
    return {}


def grade(submission: Submission, trusted=False, seconds=SECONDS) -> list[dict]:
    """Grade one submission: a row per part, with the `COLUMNS`.

    If `trusted`, it runs without the sandbox's walls. After so many `seconds` it is stopped,
    however far it has come.
    """
    verdicts, remarks = {}, list(submission.remarks)
    with tempfile.TemporaryDirectory() as folder, _at_most(seconds):
        sandbox = Sandbox(submission, Path(folder), trusted)
        try:
            still_open, troubles = sandbox.start()
            remarks += [f"a cell raised {trouble}" for trouble in troubles[:3]]
            for name in submission.parts:
                if sandbox.process is None:  # an answer without end took it along
                    sandbox.start()
                verdicts[name] = _verdict(name, sandbox, still_open.get(name, True))
        except (EOFError, OSError, OutOfTime) as error:
            remarks.append(f"was stopped: {error}")
            if sandbox.starts == 1 and not verdicts:
                demand_sandbox(trusted)  # is it the submission, or the machine?
        finally:
            sandbox.stop()
    return [_row(submission, name, verdicts.get(name), remarks) for name in submission.parts]


def _verdict(name, sandbox, is_open):
    if is_open:
        return checking.Verdict(False, "not attempted", "")

    def answer(*arguments):
        return sandbox.call(name, list(arguments))

    return checking.judge(name, answer, here=False)


class OutOfTime(BaseException):
    """The time of a submission is over; no check's own ``except Exception`` catches it."""


@contextlib.contextmanager
def _at_most(seconds):
    # A signal of its own: the checks' time limit uses the alarm.
    def stop(*_):
        raise OutOfTime(f"it took more than {seconds:.0f} s")

    before = signal.signal(signal.SIGUSR1, stop)
    watch = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGUSR1))
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()
        signal.signal(signal.SIGUSR1, before)


def _row(submission, name, verdict, remarks):
    known = verdict is not None
    return {
        "submission": submission.name,
        "lesson": submission.lesson,
        "version": submission.version,
        "part": name,
        "passed": int(known and verdict.passed),
        "mistake": verdict.mistake if known else "not reached",
        "message": verdict.message if known and not verdict.passed else "",
        "tries": submission.tries.get(name, ""),
        "remark": "; ".join(remarks),
    }


def grade_folder(
    folder: Path, out: Path, trusted=False, say=print, jobs=1, resume=False
) -> list[dict]:
    """Grade every notebook of a folder into a CSV file, and write what comes of it beside.

    So many `jobs` are graded at once. With `resume`, the rows that are there are kept, and only the
    other submissions graded.
    """
    rows = reports.read(out) if resume else []
    done = {row["submission"] for row in rows}
    found = [p for p in sorted(folder.rglob("*.ipynb")) if ".ipynb_checkpoints" not in p.parts]
    # With its folder, so that two people's `lesson.ipynb` stay two.
    named = {path.relative_to(folder).with_suffix("").as_posix(): path for path in found}
    waiting = [(path, name, trusted) for name, path in named.items() if name not in done]
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(map(reports.harmless, rows))
        for name, graded, note in _graded(waiting, jobs):
            say(f"{name}: {note}")
            rows += graded
            if graded[:1] and graded[0]["part"]:
                submission = replace(read_submission(named[name]), name=name)
                hand_back(submission, graded, out.parent / "files")
            writer.writerows(map(reports.harmless, graded))
            file.flush()  # what is graded is kept, whatever comes next
    reports.write(rows, out.parent)
    return rows


def _graded(waiting, jobs):
    """Grade what waits, `jobs` at once; yield each as it comes."""
    if jobs == 1:
        yield from (_grade_file(*one) for one in waiting)
        return
    # New processes and not forks: PyTorch's threads don't survive a fork.
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for future in as_completed([pool.submit(_grade_file, *one) for one in waiting]):
            try:
                yield future.result()
            except SandboxTrouble:
                pool.shutdown(cancel_futures=True)
                raise


def _grade_file(path, name, trusted):
    """Grade one file; whatever is in it, the next one gets its turn."""
    try:
        if path.is_symlink():
            raise ValueError("is a link to another file; hand in the notebook itself")
        submission = replace(read_submission(path), name=name)
        graded = grade(submission, trusted)
    except SandboxTrouble:
        raise
    except Exception as error:
        what = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        row = dict.fromkeys(COLUMNS, "") | {"submission": name, "remark": what[:300]}
        return name, [row], what[:300]
    passed = sum(row["passed"] for row in graded)
    note = f" ({graded[0]['remark']})" if graded and graded[0]["remark"] else ""
    return name, graded, f"{passed} of {len(graded)} parts of {submission.lesson}{note}"


def main(arguments: list[str] | None = None):
    """Read the command line and grade."""
    parser = argparse.ArgumentParser(prog="make grade", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=None, help="the CSV file")
    parser.add_argument("--trusted", action="store_true", help="run without the sandbox")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at once")
    parser.add_argument("--resume", action="store_true", help="keep what is graded already")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder; put the submitted notebooks into one.")
    if resource is None:
        parser.error("Windows can't limit what a submission does. Run the grader in WSL.")
    if not options.trusted and (trouble := trouble_with_walls()):
        parser.error(
            f"{trouble}, so nothing would keep a submission from this machine's files. "
            "Mend that, or say --trusted if you trust all of them."
        )
    out = options.out or options.folder / "grades.csv"
    try:
        grade_folder(options.folder, out, options.trusted, jobs=options.jobs, resume=options.resume)
    except SandboxTrouble as trouble:
        sys.exit(f"Grading has stopped: {trouble} What was graded before is in {out}.")
    print(
        f"The grades are in {out}. Beside it: totals.csv (a row per learner), moodle.csv, "
        f"canvas.csv and nbgrader.csv to import, and a page per learner in feedback/."
    )


if __name__ == "__main__":
    main()
