"""Comparing what an answer returns with what was expected, however it was written."""

import numpy
import torch

MOST_NUMBERS = 5_000_000
TOLERANCE = 1e-4


class TooLarge(Exception):
    """A result of more numbers than any exercise asks for."""


def copy(value):
    """Copy tensors, arrays, tuples and lists, so that nobody writes into anybody's input.

    Parameters
    ----------
    value : object
        Anything else, functions for instance, is passed through.

    Returns
    -------
    copied : object
        Tensors come without gradients and contiguous.
    """
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, numpy.ndarray):
        return value.copy()
    if isinstance(value, tuple | list):
        return type(value)(copy(part) for part in value)
    return value


def unchanged(before, after):
    """Say whether inputs are still what they were.

    Parameters
    ----------
    before, after : object

    Returns
    -------
    yes : bool
    """
    if isinstance(before, torch.Tensor):
        same_kind = before.shape == after.shape and before.dtype == after.dtype
        return same_kind and torch.equal(before, after)
    if isinstance(before, numpy.ndarray):
        return numpy.array_equal(before, after)
    if isinstance(before, tuple | list):
        return len(before) == len(after) and all(map(unchanged, before, after))
    return True


def parts(value, like=None):
    """See a result as a list of tensors: a tuple's parts, or the one thing that it is.

    Parameters
    ----------
    value : object
        Tensor, array, number, list of numbers, or a tuple of such.
    like : object, default=None
        What was expected. Where that is a tuple, a list counts as one too.

    Returns
    -------
    tensors : list of Tensors

    Raises
    ------
    TypeError, ValueError
        If something in it is no numbers.
    TooLarge
    """
    several = isinstance(value, tuple) and not all(_is_number(part) for part in value)
    if isinstance(like, tuple):
        several = isinstance(value, tuple | list) and len(value) == len(like)
    return [_tensor(part) for part in value] if several else [_tensor(value)]


def _is_number(value):
    return isinstance(value, int | float | numpy.number)


def _tensor(value):
    """Make a tensor of whatever holds numbers. The size is looked at first: a view costs nothing,
    but comparing it would."""
    if _numbers(value) > MOST_NUMBERS:
        raise TooLarge
    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if isinstance(value, list | tuple) and any(isinstance(part, torch.Tensor) for part in value):
        return torch.stack([_tensor(part) for part in value])
    if isinstance(value, numpy.ndarray | numpy.generic | int | float | bool | list | tuple):
        array = numpy.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"array of {array.dtype}")
        return torch.as_tensor(numpy.ascontiguousarray(array).reshape(array.shape))
    raise TypeError(type(value).__name__)


def _numbers(value):
    if isinstance(value, torch.Tensor):
        return value.numel()
    if isinstance(value, numpy.ndarray):
        return value.size
    if isinstance(value, list | tuple):
        inside = _numbers(value[0]) if value else 0
        return len(value) * max(inside, 1)
    return 1


def kind(tensor):
    """Say whether a tensor holds truth values, whole numbers or numbers.

    Parameters
    ----------
    tensor : Tensor

    Returns
    -------
    kind : {"truth values", "whole numbers", "numbers"}
    """
    if tensor.dtype == torch.bool:
        return "truth values"
    whole = not tensor.is_floating_point() and not tensor.is_complex()
    return "whole numbers" if whole else "numbers"


def fits(got, wanted):
    """Say whether a result's kind will do: whole numbers do where numbers are wanted.

    Parameters
    ----------
    got, wanted : Tensor

    Returns
    -------
    yes : bool
    """
    kinds = kind(got), kind(wanted)
    return kinds[0] == kinds[1] or kinds == ("whole numbers", "numbers") or got.numel() == 0


def without_extra_axes(got, wanted):
    """Take away leading axes of size 1 that a result has more than asked for.

    Parameters
    ----------
    got, wanted : Tensor

    Returns
    -------
    got : Tensor
    """
    while got.dim() > wanted.dim() and got.shape[0] == 1:
        got = got[0]
    return got


def same(got, wanted, tolerance=TOLERANCE, equal_nan=False):
    """Say whether two results are the same numbers.

    Parameters
    ----------
    got, wanted : list of Tensors
        As `parts` gives them.
    tolerance : float
        Relative and absolute.
    equal_nan : bool, default=False
        By default a NaN is equal to nothing.

    Returns
    -------
    yes : bool
    """
    return len(got) == len(wanted) and all(
        a.shape == b.shape and fits(a, b) and bool(near(a, b, tolerance, equal_nan).all())
        for a, b in zip(got, wanted, strict=True)
    )


def near(got, wanted, tolerance=TOLERANCE, equal_nan=False):
    """Say of each number whether it is near enough.

    Parameters
    ----------
    got, wanted : Tensor
        Of one shape.
    tolerance : float
    equal_nan : bool

    Returns
    -------
    near : bool Tensor
    """
    return torch.isclose(_real(got), _real(wanted), tolerance, tolerance, equal_nan)


def _real(tensor):
    return (tensor.real if tensor.is_complex() else tensor).double()


def describe(value):
    """Name a value's kind and shape in a few words.

    Parameters
    ----------
    value : object

    Returns
    -------
    words : str
        Without anything that changes from run to run.
    """
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} tensor {tuple(value.shape)}"
    if isinstance(value, numpy.ndarray):
        return f"{value.dtype} array {value.shape}"
    if isinstance(value, tuple):
        return f"({', '.join(describe(part) for part in value)})"
    if isinstance(value, list):
        return f"list of {len(value)}"
    if isinstance(value, int | float | str | bool) or value is None:
        words = repr(value)
        return words if len(words) <= 60 else f"{words[:57]}…"
    return "a function" if callable(value) else f"a {type(value).__name__}"
