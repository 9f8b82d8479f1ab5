"""Is each slip of the pen caught? One-line mutants, and the tests that must fail.

A mutant is one fragment of one file, replaced. For each, a copy of the package with that change is
put in place of the real one in a forked process, and the named test or test file runs. At
least one test has to fail; on the unchanged copy all of them have to pass. What is forked is a
pytest session that has been started and has not collected anything yet.
"""

import compileall
import contextlib
import gc
import multiprocessing
import os
import shutil
import signal
import sys
from pathlib import Path

import hypothesis
import mutants_of_core
import mutants_of_training
import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent
MUTANTS = mutants_of_core.MUTANTS + mutants_of_training.MUTANTS

ENDLESS = 300  # seconds, after which a mutant that never ends is killed; then it counts as caught

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def _path(tests):
    """Turn "attention" or "attention::test_by_loops" into what pytest takes."""
    file, *name = tests.split("::")
    return "::".join([str(ROOT / "tests" / f"test_{file}.py"), *name])


class _Forking:
    """A pytest plugin: the session, once started, collects and runs tests only in forks of itself.

    Parameters
    ----------
    orders : multiprocessing Connection
        Brings lists of tests, takes away exit codes.
    """

    def __init__(self, orders):
        self.orders = orders

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session):
        gc.freeze()  # the forks need not look through what they inherit
        while True:
            try:
                tests = self.orders.recv()
            except EOFError:
                os._exit(0)
            child = os.fork()
            if child == 0:
                signal.alarm(ENDLESS)
                named = any("::" in name for name in tests)
                session.config.option.markexpr = "not data" if named else "not slow and not data"
                session.config.args = list(map(_path, tests))
                return  # to pytest, which now collects these
            _, status = os.waitpid(child, 0)
            self.orders.send(os.waitstatus_to_exitcode(status))


def _wait_for(orders, package):
    """Start a pytest session on a copy of the package; run in it what is ordered."""
    for name in list(sys.modules):
        if name.split(".")[0] in ("helpers", "twins") or name.startswith("test_"):
            del sys.modules[name]
    sys.path.insert(0, str(package.parent))
    sys.dont_write_bytecode = True  # two mutants of one second and size would share it
    # The first example that fails is enough, it need not be the smallest.
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutants", phases=phases, database=None)
    hypothesis.settings.load_profile("mutants")
    import helpers

    assert Path(helpers.__file__).parent == package
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os.environ.pop("PYTEST_XDIST_WORKER", None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # none is needed; many are slow
    options = ["-x", "-q", "--override-ini=addopts="]
    options += ["-p", "no:cacheprovider", "-p", "no:unraisableexception"]
    options += ["--tb=no", "--assert=plain"]  # that it fails is enough
    arguments = [*options, f"--rootdir={ROOT}", str(ROOT / "tests")]
    os._exit(int(pytest.main(arguments, plugins=[_Forking(orders)])))


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    copy = tmp_path_factory.mktemp("mutant") / "helpers"
    # What PyTorch loads at its first comparison and for its first optimiser, loaded before the
    # forks and not in each.
    torch.testing.assert_close(torch.zeros(1), torch.zeros(1))
    torch.optim.AdamW([torch.zeros(1)]).step()
    # Times are copied too, so what is compiled stays valid for all files but the changed one.
    leave_out = shutil.ignore_patterns("weights", "exercises", "widgets", "static")
    shutil.copytree(ROOT / "helpers", copy, ignore=leave_out)
    return copy


@pytest.fixture(scope="module")
def tests_pass(package):
    """Run some tests on the package in a forked process; say whether everything passed."""
    for test in {mutant[3].split("::")[0] for mutant in MUTANTS}:
        compileall.compile_file(_path(test), quiet=2)  # pytest keeps only its own version
    ours, theirs = multiprocessing.Pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            ours.close()
            _wait_for(theirs, package)
        os._exit(1)
    theirs.close()

    def run(tests):
        ours.send(sorted(tests))
        return ours.recv() == 0

    yield run
    ours.close()
    os.waitpid(child, 0)


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize("file", sorted({mutant[3].split("::")[0] for mutant in MUTANTS}))
def test_the_unchanged_package_passes(tests_pass, file):
    tests = {mutant[3] for mutant in MUTANTS if mutant[3].split("::")[0] == file}
    assert tests_pass({file} if file in tests else tests)


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "fragment", "becomes", "tests"),
    MUTANTS,
    ids=[f"{file}: {becomes}" for file, _, becomes, _ in MUTANTS],
)
def test_mutant_is_caught(package, tests_pass, file, fragment, becomes, tests):
    path = package / file
    original = path.read_text(encoding="utf-8")
    assert original.count(fragment) == 1, f"{fragment!r} stands {original.count(fragment)} times"
    path.write_text(original.replace(fragment, becomes), encoding="utf-8")
    try:
        assert not tests_pass([tests])
    finally:
        shutil.copy2(ROOT / "helpers" / file, path)
