"""What all tests share: one thread a worker, and the same random numbers every time."""

import os
import random

# Before torch is imported, and for the kernels that notebooks run in: with two workers, two
# threads each would only stand in each other's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A test that reaches for a model hub should fail at once, not wait for the network.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy
import pytest
import torch

torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))


def pytest_collection_modifyitems(items):
    """Leave out what needs the real captions where nobody has said where they are."""
    if not os.environ.get("COURSE_DATA"):
        for item in items:
            if item.get_closest_marker("data"):
                item.add_marker(pytest.mark.skip(reason="COURSE_DATA is not set"))


@pytest.fixture(autouse=True)
def same_random_numbers():
    """Start every test with the same random numbers, whichever tests ran before."""
    random.seed(0)
    numpy.random.seed(0)  # noqa: NPY002 - code under test may read the old state
    torch.manual_seed(0)


def pytest_terminal_summary(terminalreporter):
    """Print which exercise's mistakes were all named; with two workers, too."""
    found = {}
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for key, value in getattr(report, "user_properties", []):
            if key == "mistakes named":
                name, n_named, mistakes = value
                found[name] = f"{n_named} of {len(mistakes)}: {', '.join(mistakes)}"
    if found:
        terminalreporter.section("known mistakes, named by the check")
        for name in sorted(found):
            terminalreporter.write_line(f"{name:30} {found[name]}")
