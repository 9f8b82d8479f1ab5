"""One writer at a time, whatever the number of notebooks: a lock that the system itself keeps.

A program that dies gives its lock back, so no lock is ever left behind. What stays beside the
locked file is an empty file whose only use is to be locked.
"""

import contextlib
import errno
import os
import random
import time

# Some network drives cannot lock at all. Working without a lock is better there than not at all.
NO_LOCKS_HERE = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}


@contextlib.contextmanager
def locked(path, patience):
    """Hold the lock of a file while the block runs.

    Parameters
    ----------
    path : Path
        The file to protect; the lock is ``NAME.lock`` beside it.
    patience : float
        Seconds to wait for others.

    Raises
    ------
    TimeoutError
        If another program still holds the lock after that time.
    OSError
        If no file can be made in this folder.
    """
    take, give_back = _system_lock()
    with open(path.with_name(f"{path.name}.lock"), "a+b") as file:
        end = time.monotonic() + patience
        while not (held := _try(take, file)):
            if time.monotonic() > end:
                raise TimeoutError(errno.ETIMEDOUT, "another notebook has been saving for too long")
            time.sleep(random.uniform(0.001, 0.01))
        try:
            yield
        finally:
            if held == "held":
                give_back(file)


def on_windows():
    """Tell whether this is Windows, which has its own way to lock."""
    return os.name == "nt"


def _try(take, file):
    """Try once; returns "held", "impossible" on a drive without locks, or None."""
    try:
        take(file)
        return "held"
    except OSError as error:
        return "impossible" if error.errno in NO_LOCKS_HERE else None


def _system_lock():
    """Return how this system takes a lock without waiting, and how it gives it back."""
    if on_windows():
        import msvcrt

        def turn(mode):
            def lock(file):
                file.seek(0)
                msvcrt.locking(file.fileno(), mode, 1)

            return lock

        return turn(msvcrt.LK_NBLCK), turn(msvcrt.LK_UNLCK)
    import fcntl

    return (
        lambda file: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB),
        lambda file: fcntl.flock(file, fcntl.LOCK_UN),
    )
