"""What several tests need: variants that run once a week, functions that fail, a new Python."""

import subprocess
import sys

import pytest
from stages import ROOT


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


def python(*arguments, **how):
    """Run this Python in the course's folder, or as `how` says, and keep what it prints."""
    how = {"cwd": ROOT, "capture_output": True, "encoding": "utf-8"} | how
    return subprocess.run([sys.executable, *arguments], **how)
