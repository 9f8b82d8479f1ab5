"""Atomic writes: a file appears whole, or it stays as it was."""

import contextlib
import glob
import os
import shutil
import time
import uuid
from pathlib import Path

ABANDONED = 600  # seconds without a write, after which a partial file belongs to nobody


@contextlib.contextmanager
def atomic_write(path):
    """Write a file atomically: into a partial file beside it, which then takes its name.

    A reader never sees half a file, and a write that fails leaves the old file as it was. So does
    a process that is killed, and the partial file that it leaves behind is removed by a later
    write to the same path. A symbolic link stays a link, and the file keeps its permissions.

    Parameters
    ----------
    path : Path
        Its folder has to exist.

    Yields
    ------
    partial : Path
        Write here. Nobody else writes to the same partial file, neither threads nor processes.

    Raises
    ------
    OSError
        If the file can't be written. The old file is still there.
    """
    path = Path(os.path.realpath(path))
    _remove_abandoned(path)
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}.partial")
    try:
        yield partial
        with open(partial, "rb+") as file:
            os.fsync(file.fileno())  # else a power cut could leave the name with nothing in it
        if path.exists():
            shutil.copymode(path, partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _remove_abandoned(path):
    """Remove partial files of `path` that a killed process left behind."""
    for partial in path.parent.glob(f"{glob.escape(path.name)}.*.partial"):
        with contextlib.suppress(OSError):  # another process was faster
            if time.time() - partial.stat().st_mtime > ABANDONED:
                partial.unlink()
