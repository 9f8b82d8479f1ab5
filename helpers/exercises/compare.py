"""Running an answer safely, and comparing what it returns with what was expected."""

import contextlib
import ctypes
import math
import os
import signal
import threading

import numpy
import torch

SECONDS = 5.0
MOST_NUMBERS = 1_000_000  # of a result; no exercise asks for more than a few hundred
MOST_ROWS = 20_000  # of lists in lists, which take far longer to read
MOST_PARTS = 16
DEEPEST = 16
TOLERANCE = 1e-4
STRICT = "COURSE_STRICT" in os.environ  # in tests, faults of the check itself come out


class TooLong(BaseException):
    """Raised inside an answer that does not end; no ``except Exception`` of its own catches it."""


@contextlib.contextmanager
def time_limit(seconds: float | None = None):
    """Stop the block after so many seconds by raising `TooLong` inside it.

    On Linux and macOS, and so in Colab, a timer signal does it, in the main thread; on Windows,
    and outside the main thread, a helper thread. Neither can break into one single long operation
    of PyTorch (that ends first), nor into a loop that catches everything with a bare ``except:``
    and goes on; for that there is the stop button.
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
        alike = isinstance(after, torch.Tensor) and before.shape == after.shape
        return alike and torch.equal(before, after)
    if isinstance(before, tuple | list):
        alike = type(before) is type(after) and len(before) == len(after)
        return alike and all(map(unchanged, before, after))
    if isinstance(before, dict):
        alike = isinstance(after, dict) and before.keys() == after.keys()
        return alike and all(unchanged(before[name], after[name]) for name in before)
    if isinstance(before, numpy.ndarray):
        return before.shape == after.shape and numpy.array_equal(before, after)
    return callable(before) or (type(before) is type(after) and before == after)


class TooLarge(Exception):
    """Raised for a result of far more numbers than any exercise asks for."""


def parts(value):
    """See a result as a list of plain tensors: a tuple's parts, or the one thing that it is.

    Raises
    ------
    TypeError
        If something is neither a tensor, an array, a number, nor a list of numbers.
    TooLarge
        If it holds too many numbers to look at.
    """
    if isinstance(value, tuple) and not all(isinstance(part, int | float) for part in value):
        return [_tensor(part) for part in value[:MOST_PARTS]]
    return [_tensor(value)]


def _tensor(value):
    if isinstance(value, torch.Tensor):
        if is_unusual(value):
            raise TypeError("an unusual tensor")
        if value.numel() > MOST_NUMBERS:
            raise TooLarge
        return value.detach().cpu().clone()
    if isinstance(value, numpy.ndarray | numpy.generic):
        if value.size > MOST_NUMBERS:
            raise TooLarge
        return torch.as_tensor(numpy.array(value))
    if isinstance(value, list | tuple):
        _demand_modest(value)
        if any(isinstance(part, torch.Tensor) for part in value):
            return torch.stack([_tensor(part) for part in value])
        return torch.as_tensor(numpy.asarray(value))
    if isinstance(value, int | float):
        return torch.as_tensor(value)
    raise TypeError(type(value).__name__)


def is_unusual(tensor):
    """Say whether a tensor is sparse, nested, quantised, complex, or without numbers."""
    return bool(
        tensor.is_nested
        or tensor.layout != torch.strided
        or tensor.is_quantized
        or tensor.is_complex()
        or tensor.device.type == "meta"
    )


def _demand_modest(rows):
    """Demand that nested lists are neither deep nor long, one level after the other."""
    level = [rows]
    for _ in range(DEEPEST):
        level = [part for row in level for part in row if isinstance(part, list | tuple)]
        if not level:
            return
        if len(level) > MOST_ROWS or sum(map(len, level)) > MOST_ROWS:
            raise TooLarge
    raise TypeError("lists too deep")


def like(got, wanted):
    """See a result in the form of what was wanted: list or tuple, one number as a scalar."""
    if isinstance(wanted, tuple) and isinstance(got, list) and len(got) == len(wanted):
        return tuple(got)
    if isinstance(wanted, list) and isinstance(got, tuple):
        return list(got)
    scalar = isinstance(wanted, int | float) or (
        isinstance(wanted, torch.Tensor) and wanted.dim() == 0
    )
    if scalar and isinstance(got, torch.Tensor | numpy.ndarray) and math.prod(got.shape) == 1:
        return got.reshape(())
    return got


def close(a, b):
    """Say whether two tensors, or None, hold the same numbers; here a NaN is equal to a NaN."""
    return (
        a is not None
        and b is not None
        and a.shape == b.shape
        and torch.allclose(a.double(), b.double(), rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    )


def alike(got, simulated):
    """Say whether two lists of tensors hold the same numbers; here a NaN is equal to a NaN."""
    return len(got) == len(simulated) and all(map(close, got, simulated))


def same(got, wanted):
    """Say whether two lists of tensors are the same numbers; a NaN is equal to nothing."""
    return len(got) == len(wanted) and all(
        a.shape == b.shape
        and (a.dtype == torch.bool) == (b.dtype == torch.bool)
        and torch.allclose(a.double(), b.double(), rtol=TOLERANCE, atol=TOLERANCE)
        for a, b in zip(got, wanted, strict=True)
    )


def whole(got, wanted):
    """Say whether ids and places are whole numbers; a single number may well be 3.0."""
    return not any(
        w.dim() and not w.is_floating_point() and w.dtype != torch.bool and g.is_floating_point()
        for g, w in zip(got, wanted, strict=True)
    )


def describe(value):
    """Name a value's kind and shape in a few words; whatever it is, this does not raise."""
    try:
        return _described(value)
    except Exception:
        return "something that cannot be described"


def _described(value, depth=0):
    if isinstance(value, torch.Tensor):
        if value.is_nested:
            return "a nested tensor"
        kind = "" if value.layout == torch.strided else "sparse "
        return f"{kind}{str(value.dtype).removeprefix('torch.')} tensor {tuple(value.shape)}"
    if isinstance(value, numpy.ndarray):
        return f"{value.dtype} array {value.shape}"
    if isinstance(value, tuple):
        if depth > 2 or len(value) > MOST_PARTS:
            return f"tuple of {len(value)}"
        return f"({', '.join(_described(part, depth + 1) for part in value)})"
    if isinstance(value, list):
        short = len(value) <= 8 and all(map(_is_short, value)) and len(repr(value)) < 100
        return repr(value) if short else f"list of {len(value)}"
    if callable(value):
        return "function"
    return repr(value) if _is_short(value) else type(value).__name__


def _is_short(value):
    if isinstance(value, str | bytes):
        return len(value) < 60
    return value is None or isinstance(value, int | float)
