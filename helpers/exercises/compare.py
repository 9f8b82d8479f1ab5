"""Running an answer safely, and comparing what it returns with what was expected."""

import contextlib
import ctypes
import signal
import threading

import numpy
import torch

SECONDS = 5.0
MOST_NUMBERS = 10_000_000
TOLERANCE = 1e-4


class TooLong(BaseException):
    """Raised inside an answer that does not end; no ``except Exception`` of its own catches it."""


@contextlib.contextmanager
def time_limit(seconds=None):
    """Stop the block after so many seconds by raising `TooLong` inside it.

    On Linux and macOS, and so in Colab, a timer signal does it, in the main thread; on Windows,
    and outside the main thread, a helper thread. Neither can break into one single long operation
    of PyTorch (that ends first), nor into a loop that catches everything with a bare ``except:``
    and goes on; for that there is the stop button.

    Parameters
    ----------
    seconds : float, default=SECONDS
    """
    seconds = SECONDS if seconds is None else seconds
    main = threading.current_thread() is threading.main_thread()
    with _by_signal(seconds) if main and hasattr(signal, "setitimer") else _by_thread(seconds):
        yield


@contextlib.contextmanager
def _by_signal(seconds):
    def stop(*_):
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _by_thread(seconds):
    thread_id = ctypes.c_ulong(threading.get_ident())
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    timer = threading.Timer(seconds, raise_in, (thread_id, ctypes.py_object(TooLong)))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def copy(value):
    """Copy tensors and arrays, alone or in tuples, lists and dicts; pass the rest through."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, numpy.ndarray):
        return value.copy()
    if isinstance(value, tuple | list):
        return type(value)(copy(part) for part in value)
    if isinstance(value, dict):
        return {name: copy(part) for name, part in value.items()}
    return value


def unchanged(before, after):
    """Say whether inputs are still what they were."""
    if isinstance(before, torch.Tensor):
        return before.shape == after.shape and torch.equal(before, after)
    if isinstance(before, tuple | list):
        return len(before) == len(after) and all(map(unchanged, before, after))
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(
            unchanged(before[name], after[name]) for name in before
        )
    if isinstance(before, numpy.ndarray):
        return before.shape == after.shape and numpy.array_equal(before, after)
    return True


def parts(value):
    """See a result as a list of tensors: a tuple's parts, or the one thing that it is.

    Raises
    ------
    TypeError
        If something is neither a tensor, an array, a number, nor a list of numbers.
    """
    if isinstance(value, tuple) and not all(isinstance(part, int | float) for part in value):
        return [_tensor(part) for part in value]
    return [_tensor(value)]


def size(value):
    """Count the numbers in a result, without making a tensor of it: of a list, by its first row."""
    if isinstance(value, torch.Tensor):
        return value.numel()
    if isinstance(value, numpy.ndarray):
        return value.size
    if isinstance(value, tuple):
        return sum(map(size, value))
    return len(value) * size(value[0]) if isinstance(value, list) and value else 1


def _tensor(value):
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_complex() or value.device.type == "meta":
            raise TypeError("an unusual tensor")
        return value.detach().cpu()
    if isinstance(value, list) and any(isinstance(part, torch.Tensor) for part in value):
        return torch.stack([_tensor(part) for part in value])
    if isinstance(value, numpy.ndarray | numpy.generic | int | float | bool | list | tuple):
        return torch.as_tensor(numpy.asarray(value))
    raise TypeError(type(value).__name__)


def like(got, wanted):
    """See a result in the form of what was wanted: a list as a tuple, one number as a scalar."""
    if isinstance(wanted, tuple) and isinstance(got, list) and len(got) == len(wanted):
        return tuple(got)
    if isinstance(wanted, torch.Tensor) and isinstance(got, torch.Tensor) and wanted.dim() == 0:
        return got.reshape(()) if got.numel() == 1 else got
    return got


def same(got, wanted, tolerance=TOLERANCE):
    """Say whether two results are the same numbers; a NaN is equal to nothing."""
    try:
        got, wanted = parts(got), parts(wanted)
    except (TypeError, ValueError, RuntimeError):
        return False
    return len(got) == len(wanted) and all(
        a.shape == b.shape
        and (a.dtype == torch.bool) == (b.dtype == torch.bool)
        and torch.allclose(a.double(), b.double(), rtol=tolerance, atol=tolerance)
        for a, b in zip(got, wanted, strict=True)
    )


def describe(value):
    """Name a value's kind and shape in a few words."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} tensor {tuple(value.shape)}"
    if isinstance(value, numpy.ndarray):
        return f"{value.dtype} array {value.shape}"
    if isinstance(value, tuple):
        return f"({', '.join(describe(part) for part in value)})"
    if isinstance(value, list):
        short = len(value) <= 8 and all(isinstance(part, int | float) for part in value)
        return repr(value) if short else f"list of {len(value)}"
    if callable(value):
        return "function"
    return repr(value) if isinstance(value, int | float | str | bool) else type(value).__name__
