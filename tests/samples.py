"""What several tests need: which variants run once a week, and functions that fail."""

import pytest


def once_a_week(variants, often):
    """Leave a test's `variants` to `make test-all`, but for those run `often`, in `make test`.

    The list of parameters is for ``pytest.mark.parametrize``.
    """
    variants = list(variants)
    unknown = set(often) - set(variants)
    if unknown:
        raise ValueError(f"no such variants: {sorted(unknown)}. There are {variants}.")
    weekly = pytest.mark.weekly
    return [pytest.param(one, marks=() if one in often else weekly) for one in variants]


def raising(error):
    """Give a function that raises an `error`, whatever it is called with."""

    def fail(*_, **__):
        raise error

    return fail
