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
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat

try:
    import resource
except ModuleNotFoundError:  # on Windows, where `main` says so
    resource = None

from helpers.exercises import checking
from notebooks.build import NOTEBOOKS, assemble, source_of
from notebooks.copies import learners_copy
from teaching.needed import needed
from teaching.wire import RemoteError, Unreadable, Wire

ROOT = Path(__file__).resolve().parent.parent

SECONDS = 120  # for everything that one submission's cells and answers do
MEMORY = 6_000_000_000  # bytes of addresses; PyTorch alone reserves a few GB
PROCESSES = 64  # inside the walls; threads count too
ROOM = 512  # processes that a submission could start before `_watch` sees them
FILE_SIZE = 50_000_000
CHECK = re.compile(r"""exercises\.check\(\s*["'](\w+)["']\s*,\s*(\w+)\s*\)""")
STEPS_IN = re.compile(r"""\bown_or_tested\(\s*["'](\w+)["']""")
# The course's own solutions, by whatever name they are fetched.
REFERENCE = re.compile(
    r"\b(reference|solution|mine|own_or_tested)\s*\(|helpers\.exercises\b|\bimportlib\b|__import__"
    r"|\bnotebooks\.source\b|^\s*(?:from|import) helpers\.(?:transformer|models)\b",
    re.MULTILINE,
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with these a formula begins
COLUMNS = ("submission", "lesson", "part", "passed", "mistake", "message", "tries", "remark")


@dataclass
class Submission:
    """A notebook that somebody handed in.

    Parameters
    ----------
    name : str
        The file's name without its ending.
    lesson : str
        The name of the lesson that it is a copy of.
    cells : list of dict
        What to run, in order: "source"; "check", a dictionary from the exercise to the variable
        that holds its answer; and "own", whether the learner wrote it.
    remarks : list of str
        What a teacher should look at.
    tries : dict of str to int
        As the learner's progress tells them, if it was handed in too; for information only.
    """

    name: str
    lesson: str
    cells: list
    remarks: list
    tries: dict

    @property
    def parts(self):
        """The names of the exercises that it checks, in order."""
        return [name for cell in self.cells for name in cell["check"]]


def read_submission(path):
    """Find out which lesson a notebook is a copy of, and which of its cells to run.

    Parameters
    ----------
    path : Path

    Returns
    -------
    submission : Submission

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
    old = notebook.metadata.get("course") not in (None, template.metadata["course"])
    known = {cell.id: cell for cell in template.cells}
    # Every part that the lesson checks counts, whether its cell is still there or not.
    checks = {name: variable for c in template.cells for name, variable in CHECK.findall(c.source)}
    cells, remarks = [], ["is a copy of another version of the lesson"] if old else []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        original = known.get(cell.get("id"))
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
    return Submission(path.stem, lesson, needed(cells), sorted(set(remarks)), _tries(path))


@functools.cache  # a class hands in hundreds of notebooks
def _lessons():
    """Find each lesson's name and the ids of its cells, in the notebooks as they are stored."""
    built = {path.stem: json.loads(path.read_bytes()) for path in NOTEBOOKS.glob("[0-8]*.ipynb")}
    return {name: {cell["id"] for cell in built[name]["cells"]} for name in sorted(built)}


@functools.cache
def _template(lesson):
    return learners_copy(assemble(source_of(lesson)))


def _lesson_of(notebook):
    """Find the lesson that shares most cells with a notebook, and its learner's copy."""
    ids = {cell.get("id") for cell in notebook.cells}
    shared = {name: len(ids & known) for name, known in _lessons().items()}
    best = max(shared, key=shared.get)
    if shared[best] < 5:
        raise ValueError("is no copy of a lesson: hardly any of its cells are known")
    return best, _template(best)


def _defines(source):
    """Say whether a cell only imports and defines, or puts a tested part in its place."""
    if "set_up()" in source:
        return False
    if "own_or_tested(" in source or "exercises.reference(" in source:
        return True
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return False
    kinds = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    return any(isinstance(node, kinds) for node in body) and not CHECK.search(source)


def _without_checks(source):
    """Leave out the statements that only show something of the exercises."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    kept = [node for node in tree.body if not _shows(node)]
    return ast.unparse(ast.Module(kept, []))


def _shows(node):
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith(
        ("exercises.", "display(", "notebook.")
    )


def _tries(path):
    """Read how often each part was tried, if the progress was handed in beside the notebook."""
    for beside in (path.with_suffix(".json"), path.parent / "progress.json"):
        with contextlib.suppress(Exception):
            entries = json.loads(beside.read_text(encoding="utf-8"))["exercises"]
            return {name: int(entry["tries"]) for name, entry in entries.items()}
    return {}


class Sandbox:
    """A process that runs a submission's cells and answers calls.

    Parameters
    ----------
    submission : Submission
    folder : Path
        Empty; the only place where the submission can write.
    trusted : bool
        Run without bubblewrap.
    """

    def __init__(self, submission, folder, trusted):
        self.submission, self.folder, self.trusted = submission, folder, trusted
        self.starts, self.process = 0, None
        # Once more for every answer that doesn't end, so that none costs another its point.
        self.most_starts = len(submission.parts) + 1

    def start(self):
        """Run the cells; return which answers are still open, and what went wrong in cells.

        Raises
        ------
        EOFError
            If the process ends before it has run all cells.
        """
        self.stop()
        self.starts += 1
        if self.starts > self.most_starts:
            raise EOFError("was stopped too often")
        cells = self.folder / "cells.json"
        cells.write_text(json.dumps(self.submission.cells), encoding="utf-8")
        command = [sys.executable, "-m", "teaching.answers", str(cells)]
        self.process = subprocess.Popen(
            command if self.trusted else [*_walls(self.folder), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env=_environment(self.folder),
            preexec_fn=_limits,
            start_new_session=True,
        )
        threading.Thread(target=self._watch, args=(self.process,), daemon=True).start()
        self.wire = Wire(self.process.stdout, self.process.stdin)
        kind, values = self.wire.receive()
        if kind != "ready" or len(values) != 2 or not all(map(isinstance, values, (dict, list))):
            raise EOFError("its cells said something else than that they have run")
        return values

    def _watch(self, process):
        # The limit on processes doesn't bind root, so somebody has to count.
        while process.poll() is None:
            if _crowd(process.pid) > PROCESSES:
                process.kill()  # --die-with-parent takes along everything inside
            time.sleep(0.2)

    def call(self, name, arguments):
        """Call one of the submission's answers."""
        if self.process is None:
            raise EOFError("its process has ended")
        try:
            ((result, after),) = self.wire.call("call", name, arguments)
        except RemoteError:
            raise
        except BaseException:  # also when the check's own time limit strikes
            self.stop()
            raise
        _write_back(arguments, after)
        if isinstance(result, Unreadable):
            raise TypeError(f"the result is a {result.kind}")
        return result

    def stop(self):
        """End the process and everything it has started."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


def _walls(folder):
    """Make bubblewrap's command line: see Python and the course, write in one folder, no network.

    Neither the home folder nor what others have handed in is there.
    """
    system = [
        "/usr",
        "/bin",
        "/sbin",
        "/lib",
        "/lib32",
        "/lib64",
        "/etc/ld.so.cache",
        "/etc/alternatives",
    ]
    python = {
        sys.prefix,
        sys.base_prefix,
        *filter(Path.is_absolute, map(Path, site.getsitepackages())),
    }
    course = [
        ROOT / name for name in ("helpers", "images", "notebooks", "teaching", "pyproject.toml")
    ]
    walls = ["bwrap", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    for place in [*system, *sorted(map(str, python)), *map(str, course)]:
        walls += ["--ro-bind-try", place, place]
    walls += ["--bind", str(folder), str(folder), "--remount-ro", "/", "--chdir", str(folder)]
    return [*walls, "--unshare-all", "--die-with-parent", "--new-session", "--"]


def _trouble_with_walls():
    """Say why there can be no sandbox here, or nothing if there can."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed (apt-get install bubblewrap)"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*_walls(Path(folder)), "true"], capture_output=True, encoding="utf-8"
        )
    return f"bubblewrap doesn't work here ({done.stderr.strip()})" if done.returncode else ""


def _environment(folder):
    """Pass on what Python needs, and nothing that is secret."""
    kept = {
        name: os.environ[name] for name in ("PATH", "LANG", "VIRTUAL_ENV") if name in os.environ
    }
    places = str(ROOT)
    own = {"HOME": str(folder), "PYTHONPATH": places, "COURSE_PROGRESS": str(folder)}
    return {**kept, **own, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def _limits():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
    # The kernel counts all of a user's processes, this machine's other ones too.
    most = _processes_of(os.getuid()) + ROOM
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _processes_of(user):
    """Count a user's threads, of all programs."""
    count = 0
    for entry in os.scandir("/proc"):
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and entry.stat().st_uid == user:
                count += len(os.listdir(f"{entry.path}/task"))
    return count


def _crowd(pid):
    """Count the processes inside the walls whose outermost one is `pid`; 0 without walls."""
    with contextlib.suppress(OSError, ValueError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        inside = os.readlink(f"/proc/{children[0]}/ns/pid") if children else None
        if inside not in (None, os.readlink("/proc/self/ns/pid")):
            links = (
                f"{entry.path}/ns/pid" for entry in os.scandir("/proc") if entry.name.isdigit()
            )
            return sum(_link(link) == inside for link in links)
    return 0


def _link(path):
    with contextlib.suppress(OSError):
        return os.readlink(path)


def _write_back(given, after):
    """Let a change that an answer made to its input show on this side too."""
    for mine, theirs in zip(given, after, strict=False):
        if hasattr(mine, "copy_") and getattr(theirs, "shape", None) == mine.shape:
            mine.copy_(theirs)
        elif isinstance(mine, list) and isinstance(theirs, list):
            mine[:] = theirs


def grade(submission, trusted=False, seconds=SECONDS):
    """Grade one submission.

    Parameters
    ----------
    submission : Submission
    trusted : bool, default=False
        Run it without the sandbox's walls.
    seconds : float, default=SECONDS
        After which it is stopped, however far it has come.

    Returns
    -------
    rows : list of dict
        One per part, with the `COLUMNS`.
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
                _demand_sandbox(trusted)  # is it the submission, or the machine?
        finally:
            sandbox.stop()
    return [_row(submission, name, verdicts.get(name), remarks) for name in submission.parts]


def _verdict(name, sandbox, is_open):
    if is_open:
        return checking.Verdict(False, "not attempted", "")

    def answer(*arguments):
        return sandbox.call(name, list(arguments))

    return checking.judge(name, answer)


class SandboxTrouble(Exception):
    """The sandbox itself doesn't work, so nothing that was graded in it means anything."""


def _demand_sandbox(trusted):
    """Raise SandboxTrouble unless a submission that does nothing is run to its end."""
    empty = Submission("", "", [], [], {})
    with tempfile.TemporaryDirectory() as folder:
        sandbox = Sandbox(empty, Path(folder), trusted)
        try:
            sandbox.start()
        except (EOFError, OSError) as error:
            raise SandboxTrouble(
                f"the sandbox can't run an empty notebook ({error}). Nobody's fault but this "
                f"machine's: too many processes, too little memory? Mend it and grade again."
            ) from None
        finally:
            sandbox.stop()


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
        "part": name,
        "passed": int(known and verdict.passed),
        "mistake": verdict.mistake if known else "not reached",
        "message": verdict.message if known and not verdict.passed else "",
        "tries": submission.tries.get(name, ""),
        "remark": "; ".join(remarks),
    }


def grade_folder(folder, out, trusted=False, say=print):
    """Grade every notebook of a folder into a CSV file.

    Parameters
    ----------
    folder, out : Path
    trusted : bool, default=False
    say : function, default=print

    Returns
    -------
    rows : list of dict
    """
    rows = []
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for path in sorted(folder.rglob("*.ipynb")):
            if ".ipynb_checkpoints" in path.parts:
                continue
            # With its folder, so that two people's `lesson.ipynb` stay two.
            name = path.relative_to(folder).with_suffix("").as_posix()
            graded, note = _grade_file(path, name, trusted)
            say(f"{name}: {note}")
            rows += graded
            writer.writerows(
                {key: _harmless(value) for key, value in row.items()} for row in graded
            )
            file.flush()  # what is graded is kept, whatever comes next
    return rows


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
        return [row], what[:300]
    passed = sum(row["passed"] for row in graded)
    note = f" ({graded[0]['remark']})" if graded and graded[0]["remark"] else ""
    return graded, f"{passed} of {len(graded)} parts of {submission.lesson}{note}"


def _harmless(value):
    """Keep a spreadsheet from taking a learner's text for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def main(arguments=None):
    """Read the command line and grade.

    Parameters
    ----------
    arguments : list of str, default=None
    """
    parser = argparse.ArgumentParser(prog="make grade", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=None, help="the CSV file")
    parser.add_argument("--trusted", action="store_true", help="run without the sandbox")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder; put the submitted notebooks into one.")
    if resource is None:
        parser.error("Windows can't limit what a submission does. Run the grader in WSL.")
    if not options.trusted and (trouble := _trouble_with_walls()):
        parser.error(
            f"{trouble}, so nothing would keep a submission from this machine's files. "
            "Mend that, or say --trusted if you trust all of them."
        )
    out = options.out or options.folder / "grades.csv"
    try:
        grade_folder(options.folder, out, options.trusted)
    except SandboxTrouble as trouble:
        sys.exit(f"Grading has stopped: {trouble} What was graded before is in {out}.")
    print(f"The grades are in {out}")


if __name__ == "__main__":
    main()
