"""What a learner has done, in one small file in a folder of its own beside the notebooks.

It holds four dictionaries. "exercises" and "questions" say for each name whether it is done or
attempted, after how many tries, and which mistake was named last. "predictions" keeps what was
locked in, and "warm_ups" which questions a lesson has asked again. No answers' code, no times.
"""

import atexit
import contextlib
import errno
import json
import os
import threading
import time
from pathlib import Path

import filelock

from helpers.exercises import sending
from helpers.machine.atomic_writes import atomic_write

FILE = "progress.json"
HOME = ".course"  # a folder that file browsers don't list among the lessons
KINDS = ("exercises", "questions", "predictions", "warm_ups")
STATES = ("done", "attempted")
PATIENCE = 30.0  # seconds to wait for other notebooks, which hold the lock for milliseconds

_one_thread = threading.RLock()
_unsaved = {}  # path -> changes that could not be written yet; the next one takes them along
_complained = set()  # paths about which the learner has been told


def folder():
    """Return the learner's folder: COURSE_PROGRESS, or else the one that the notebook runs in."""
    return Path(os.environ.get("COURSE_PROGRESS") or Path.cwd())


def _path():
    """Return where the progress is; a link stays a link: what it points to is written."""
    home = folder() if os.environ.get("COURSE_PROGRESS") else folder() / HOME
    return (home / FILE).resolve()


def load():
    """Read everything that is known; a damaged file is set aside, never overwritten.

    Returns
    -------
    state : dict of str to dict
        "exercises" and "questions": name to {"state": "done" or "attempted", "tries": int,
        "mistake": str}. "predictions": name to {"guess", "confidence", "why", "right"}.
        "warm_ups": lesson to what was asked. What could not be saved is in it too.
    """
    path = _path()
    with _one_thread:
        state = _empty()
        with contextlib.suppress(OSError):
            state = _read_locked(path) if path.exists() else state
        return _changed(state, _unsaved.get(path, []))


@contextlib.contextmanager
def locked(path: Path, patience: float):
    """Hold the lock of a file, which the system gives back if this program dies.

    The lock is ``NAME.lock`` beside it. If another program holds it for longer than `patience`, in
    seconds, or no file can be made in this folder, it is an OSError.
    """
    lock = filelock.FileLock(f"{path}.lock", timeout=patience, poll_interval=0.005)
    with contextlib.ExitStack() as stack:
        # Some network drives cannot lock. Working without a lock is better there than not at all.
        try:
            stack.enter_context(lock)
        except NotImplementedError:
            pass
        except filelock.Timeout:
            told = "another notebook has been saving for too long"
            raise TimeoutError(errno.ETIMEDOUT, told) from None
        yield


def _read_locked(path):
    with contextlib.ExitStack() as stack:
        # Where no lock can be made, nobody writes either.
        with contextlib.suppress(OSError):
            stack.enter_context(locked(path, patience=1.0))
        return _read(path)


def _empty():
    return {kind: {} for kind in KINDS}


def _read(path):
    try:
        return understood(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return _empty()
    except (ValueError, TypeError, KeyError, AttributeError):
        aside = path.with_name(f"{FILE}.damaged-{time.time_ns()}")
        os.replace(path, aside)
        print(f"{FILE} was damaged. We've kept it as {aside.name} and started a new one.")
        return _empty()


def understood(state):
    """Check the `state` in a file, and add the kinds that an older one lacks."""
    kinds = {kind: state[kind] if kind in KINDS[:2] else state.get(kind, {}) for kind in KINDS}
    if not all(isinstance(e, dict) for entries in kinds.values() for e in entries.values()):
        raise ValueError("not a progress file")
    for entry in (*kinds["exercises"].values(), *kinds["questions"].values()):
        if entry["state"] not in STATES or not isinstance(entry["tries"], int):
            raise ValueError("not a progress file")
    return kinds


def record(kind: str, name: str, done: bool, mistake="") -> str:
    """Note a try, of a `kind` that `load` names; what is done stays done, and is tried no more.

    If this cannot be saved, what to tell the learner is returned: once, and "" from then on.
    """

    def tried(entry):
        was_done = entry.get("state") == "done"
        entry["tries"] = entry.get("tries", 0) + (not was_done)
        entry["state"] = "done" if done or was_done else "attempted"
        if mistake:
            entry["mistake"] = mistake
        return entry

    return update(kind, name, tried)


def update(kind: str, name: str, change) -> str:
    """Change one entry, in memory and in the file; returns what `record` does.

    `kind` is a key of what `load` returns. `change` takes the entry as it is, {} if there is none,
    and returns what it becomes.
    """
    return _save([(kind, name, change)])


@atexit.register
def _save_the_rest():
    """Try once more, when the kernel stops, to save what couldn't be saved."""
    for path in list(_unsaved):
        _save([], path)


def _save(changes, path=None):
    path = path or _path()
    with _one_thread:
        waiting = _unsaved.setdefault(path, [])
        waiting.extend(changes)
        try:
            if path.parent.name == HOME:
                path.parent.mkdir(exist_ok=True)
            with locked(path, PATIENCE):
                state = _changed(_read(path), waiting)
                with atomic_write(path) as partial:
                    text = json.dumps(state, indent=1, sort_keys=True)
                    partial.write_text(text, encoding="utf-8")
            sending.send(path.parent, state)
        except OSError as error:
            return _complaint(path, error)
        del _unsaved[path]
        _complained.discard(path)
        return ""


def _changed(state, changes):
    for kind, name, change in changes:
        state[kind][name] = change(dict(state[kind].get(name, {})))
    return state


def _complaint(path, error):
    """Say once that nothing can be saved, and why."""
    if path in _complained:
        return ""
    _complained.add(path)
    return (
        f"Your progress can't be saved at the moment ({error.strerror or error}). It's kept until "
        f"this kernel stops, and exercises.export_progress() shows it as a line you can copy."
    )


class _Line(str):
    """Text that a notebook shows as it is: in quotes, an apostrophe in it would get a backslash."""

    def __repr__(self):
        return str(self)


def export_progress():
    """Return everything as one line of text, to keep or to take to another machine."""
    return _Line(json.dumps(load(), sort_keys=True))


def join_class(address, name="") -> str:
    """Send your progress to your teacher's class view from now on, each time that it changes.

    Parameters
    ----------
    address : str
        What your teacher shows, for instance "192.168.1.5:8080". Without one, nothing is sent any
        more.
    name : str, default=""
        How you want to be called there; without one, you are a number.
    """
    folder = _path().parent
    sending.choose(folder, address, name)
    if not address:
        return _Line("Nothing is sent any more.")
    address, name = sending.chosen(folder)
    if trouble := sending.post(address, name, load()):
        return _Line(f"{address} doesn't answer ({trouble}). It's tried again at your next check.")
    return _Line(
        f'Your class view knows you as "{name}". exercises.join_class("") ends it. What is sent is '
        f"what exercises.export_progress() shows: no code, no times."
    )


def import_progress(text: str):
    """Add what `export_progress` returned elsewhere; what is done here stays done.

    Raises
    ------
    ValueError
        If the text is something else.
    """
    try:
        other = understood(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError("this is not what export_progress() returned.") from error
    changes = [
        (kind, name, lambda ours, theirs=entry: _merged(ours, theirs))
        for kind, entries in other.items()
        for name, entry in entries.items()
    ]
    if complaint := _save(changes):
        print(complaint)


def _merged(ours, theirs):
    """Keep one's own; of an exercise or a question, also what was done elsewhere."""
    if not ours or "state" not in ours:
        return ours or theirs  # a prediction isn't mixed: whose guess, and whether it was right
    state = min((entry["state"] for entry in (ours, theirs)), key=STATES.index)
    return {**theirs, **ours, "state": state, "tries": max(ours["tries"], theirs["tries"])}
