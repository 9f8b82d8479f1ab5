"""What all tests share: one thread a worker, and the same random numbers every time."""

import functools
import gc
import json
import os
import random
import tempfile
from pathlib import Path

# Before torch is imported, and for the kernels that notebooks run in: with two workers, two
# threads each would only stand in each other's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A test that reaches for a model hub should fail at once, not wait for the network.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# Faults of the check itself come out; learners are spared them.
os.environ["COURSE_STRICT"] = "1"
# Notebooks that the tests run mustn't show what somebody on this machine has answered.
NOBODYS = tempfile.TemporaryDirectory(prefix="course-progress-")
os.environ["COURSE_PROGRESS"] = NOBODYS.name

import numpy
import pytest
import stages
from xdist.scheduler import LoadFileScheduling

from helpers.machine import memory


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """Import PyTorch where tests run; the process that only hands them out starts sooner."""
    if getattr(session.config.option, "dist", "no") == "no":
        with memory.collector_paused():  # a third of the import
            import torch
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))


@pytest.hookimpl(tryfirst=True)  # before some are left out by their marks
def pytest_collection_modifyitems(config, items):
    """Leave out what this machine lacks; put what takes longest first."""
    for item in items:
        mark = item.get_closest_marker("data")
        if mark and not _at_hand(*mark.args):
            item.add_marker(pytest.mark.skip(reason="COURSE_DATA does not hold what it needs"))
        if is_apart(item.path):
            item.add_marker(pytest.mark.slow)
    if "not weekly" in config.option.markexpr:
        shorten([item for item in items if item.path.suffix == ".ipynb"])
    items.sort(key=lambda item: -seconds(_notebook(item)))  # stable: cells keep their order


def shorten(cells):
    """Cut the longest cells of notebooks short, among nbval's tests."""
    for notebook in {cell.parent for cell in cells}:
        import shortened  # and with it the build, which takes a while

        shortened.cut(notebook.path.stem, notebook.nb)
    for cell in cells:
        if "nbval-ignore-output" in cell.cell.metadata.get("tags", []):
            cell.options["check"] = False


@functools.cache
def is_apart(path):
    """Say whether a file starts notebooks, a browser or a second environment."""
    return path.suffix == ".ipynb" or any(
        path.resolve().is_relative_to(stages.ROOT / apart) for apart in stages.APART
    )


def pytest_unconfigure():
    """Leave nothing in the temporary folder; a worker's process ends without such a word."""
    NOBODYS.cleanup()


def pytest_collection_finish():
    """Let nobody look for garbage among thousands of tests."""
    gc.freeze()


def _notebook(item):
    """Find the built notebook that a test runs, or solves; else the test's own file."""
    lesson = getattr(item, "callspec", None) and item.callspec.params.get("name")
    built = Path(__file__).resolve().parent.parent / "notebooks" / f"{lesson}.ipynb"
    return built if built.exists() else item.path


class ByNotebook(LoadFileScheduling):
    """Gives workers whole files; of two long ones a solved lesson, or all tests of an exercise."""

    def _split_scope(self, nodeid):
        if nodeid.startswith(("tests/test_solved.py", "tests/test_exercises.py")):
            return nodeid.partition("::")[0] + nodeid.partition("[")[2]
        return super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)  # mutmut runs without xdist
def pytest_xdist_make_scheduler(config, log):
    """Let no worker be left alone with all the solved lessons, or all the exercises."""
    return ByNotebook(config, log) if config.getvalue("dist") == "loadfile" else None


def _at_hand(pattern="train.fr*"):
    """Say whether COURSE_DATA holds files of this kind; by default the captions."""
    folder = os.environ.get("COURSE_DATA")
    return bool(folder) and any(Path(folder).rglob(pattern))


@functools.cache
def seconds(path):
    """Say how long a notebook took when it was built; about ten for any other file."""
    if path.suffix != ".ipynb":
        return 10
    course = json.loads(path.read_text(encoding="utf-8"))["metadata"].get("course", {})
    return sum(course.get("seconds", {}).values())


@pytest.fixture(autouse=True)
def same_random_numbers():
    """Start every test with the same random numbers, whichever tests ran before."""
    import torch

    random.seed(0)
    numpy.random.seed(0)  # noqa: NPY002 - code under test may read the old state
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def progress_in_the_own_folder(monkeypatch):
    """Let tests keep progress where they work; the kernels of notebooks still don't."""
    monkeypatch.delenv("COURSE_PROGRESS")


@pytest.fixture(scope="session")
def translator():
    """Load the bundled translator, once a worker; no test may change it."""
    from helpers.pretrained.translator import load_translator

    return load_translator()


@pytest.fixture(scope="module")
def teller():
    """Make a story model of random weights."""
    from small_storyteller import small_storyteller

    return small_storyteller()


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """Keep the progress that tests make out of anybody's notebooks."""
    monkeypatch.chdir(tmp_path)
