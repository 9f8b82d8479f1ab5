"""What keeps a kernel small and quick. On a server for a whole class, all of it counts 300 times.

- What a cell frees, the C library keeps for later. `give_back_after_cells` returns it after every
  cell, which takes a few milliseconds and leaves the speed inside a cell alone.
- While PyTorch is imported, Python looks for garbage again and again among half a million objects
  that are all needed. `collector_paused` lets it rest, a fifth of a kernel's first cell, and tells
  it to pass them over later, too.

Neither changes a result.
"""

import contextlib
import ctypes
import gc
import sys


@contextlib.contextmanager
def collector_paused():
    """Look for no garbage while PyTorch is imported, and not among what is there afterwards."""
    if "torch" in sys.modules or not gc.isenabled():
        yield  # what a lesson has made since then may be garbage one day
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def give_back_after_cells():
    """Return freed memory to the system after every cell, where the C library can."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    shell, trim = get_ipython(), _trim()
    if shell is None or trim is None or getattr(shell, "gives_back", False):
        return
    shell.gives_back = True  # once, however often the set-up cell runs
    shell.events.register("post_run_cell", lambda result: trim(0))


def _trim():
    """Find the GNU C library's function, or None where there is another library."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
