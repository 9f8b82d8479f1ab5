"""Which variants of a test run each time, and which once a week."""

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
