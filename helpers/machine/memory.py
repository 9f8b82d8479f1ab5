"""What keeps a kernel small and quick. On a server for a whole class, all of it counts 300 times.

Two savings of memory, which together make a kernel that has run lesson 04 a third smaller:

- PyTorch imports its compiler, its distributed tensors and SymPy, 70 MB and two seconds of work,
  the first time that `assert_close` compares or multiplications are counted. Nothing in the course
  is compiled or distributed, so `leave_the_compiler_out` does without. (An optimiser's first step
  imports them too, and has no other way: a lesson that trains pays for them.)
- What a cell frees, the C library keeps for later. `give_back_after_cells` returns it after every
  cell, which takes a few milliseconds and leaves the speed inside a cell alone.

And one of time, a fifth of a kernel's first cell:

- While PyTorch is imported, Python looks for garbage again and again among half a million objects
  that are all needed. `nothing_collected` lets it rest, and tells it to pass them over later, too.

None of them changes a result. Where PyTorch has other names for these things, the first does
nothing.
"""

import contextlib
import ctypes
import gc
import inspect
import sys


@contextlib.contextmanager
def nothing_collected():
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


def leave_the_compiler_out():
    """Tell PyTorch that there is nothing to compile and nothing distributed."""
    import torch
    from torch.utils import flop_counter

    comparison = getattr(torch.testing, "_comparison", None)
    if hasattr(comparison, "_HAS_DTENSOR"):
        comparison._HAS_DTENSOR = False
    for method in vars(getattr(flop_counter, "_FlopCounterMode", object)).values():
        # PyTorch wraps the method that counts: its first call asks the compiler for a version that
        # it will leave alone, and keeps that in an attribute. The plain method is such a version.
        plain = getattr(method, "__wrapped__", None)
        if inspect.isfunction(plain):
            plain.__dynamo_disable = plain


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
