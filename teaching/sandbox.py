"""The process in which a submission's answers run: walls around it, limits on it, a wire to it."""

import contextlib
import json
import os
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

try:
    import resource
except ModuleNotFoundError:  # on Windows, where `main` says so
    resource = None

from teaching.wire import RemoteError, Unreadable, Wire

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 120  # for everything that one submission's cells and answers do
MEMORY = 6_000_000_000  # bytes of addresses; PyTorch alone reserves a few GB
PROCESSES = 64  # inside the walls; threads count too
ROOM = 512  # processes that a submission could start before `_watch` sees them
FILE_SIZE = 50_000_000


class Sandbox:
    """A process that runs a submission's cells and answers calls.

    It can write in `folder` alone, which is empty. If `trusted`, it runs without bubblewrap.
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
    system = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"]
    system += ["/etc/ld.so.cache", "/etc/alternatives"]
    packages = filter(Path.is_absolute, map(Path, site.getsitepackages()))
    python = {sys.prefix, sys.base_prefix, *packages}
    ours = ("helpers", "images", "notebooks", "teaching", "pyproject.toml")
    course = [ROOT / name for name in ours]
    walls = ["bwrap", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    for place in [*system, *sorted(map(str, python)), *map(str, course)]:
        walls += ["--ro-bind-try", place, place]
    walls += ["--bind", str(folder), str(folder), "--remount-ro", "/", "--chdir", str(folder)]
    return [*walls, "--unshare-all", "--die-with-parent", "--new-session", "--"]


def trouble_with_walls():
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
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "VIRTUAL_ENV")}
    own = {"HOME": str(folder), "PYTHONPATH": str(ROOT), "COURSE_PROGRESS": str(folder)}
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
            links = (f"{one.path}/ns/pid" for one in os.scandir("/proc") if one.name.isdigit())
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


class SandboxTrouble(Exception):
    """The sandbox itself doesn't work, so nothing that was graded in it means anything."""


def demand_sandbox(trusted):
    """Raise SandboxTrouble unless an empty submission runs to its end, `trusted` or not."""
    empty = SimpleNamespace(cells=[], parts=[])
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
