"""Files that are there whole or not at all."""

import contextlib
import os


@contextlib.contextmanager
def whole_file(path):
    """Give a name beside `path` to write to; rename it to `path` once the block has ended.

    Nobody ever reads half a file, and a write that fails leaves what was there.

    Parameters
    ----------
    path : Path

    Yields
    ------
    partial : Path
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
