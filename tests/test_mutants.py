"""Is each slip of the pen caught? One-line mutants, and the tests that must fail.

A mutant is one fragment of one file, replaced. For each, a copy of the package with that change is
put in place of the real one in a forked process, and the named test or test file runs. At
least one test has to fail; on the unchanged copy all of them have to pass.
"""

import contextlib
import gc
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


def _tests_pass(package, tests):
    """Run some tests on a package in a forked process; say whether everything passed."""
    gc.freeze()  # the child need not look through what it inherits
    child = os.fork()
    if child == 0:
        code = 1
        signal.alarm(ENDLESS)
        with contextlib.suppress(BaseException):
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
            chosen = "not data" if any("::" in name for name in tests) else "not slow and not data"
            options = ["-x", "-q", "-m", chosen, "--override-ini=addopts="]
            options += ["-p", "no:cacheprovider", "-p", "no:unraisableexception"]
            options += ["--tb=no", "--assert=plain"]  # that it fails is enough
            code = int(pytest.main([*options, f"--rootdir={ROOT}", *map(_path, tests)]))
        os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    copy = tmp_path_factory.mktemp("mutant") / "helpers"
    # What PyTorch loads at its first comparison, loaded before the forks and not in each.
    torch.testing.assert_close(torch.zeros(1), torch.zeros(1))
    leave_out = shutil.ignore_patterns("__pycache__", "weights", "exercises", "widgets", "static")
    shutil.copytree(ROOT / "helpers", copy, ignore=leave_out)
    return copy


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize("file", sorted({mutant[3].split("::")[0] for mutant in MUTANTS}))
def test_the_unchanged_package_passes(package, file):
    tests = {mutant[3] for mutant in MUTANTS if mutant[3].split("::")[0] == file}
    assert _tests_pass(package, {file} if file in tests else sorted(tests))


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "fragment", "becomes", "tests"),
    MUTANTS,
    ids=[f"{file}: {becomes}" for file, _, becomes, _ in MUTANTS],
)
def test_mutant_is_caught(package, file, fragment, becomes, tests):
    path = package / file
    original = path.read_text(encoding="utf-8")
    assert original.count(fragment) == 1, f"{fragment!r} stands {original.count(fragment)} times"
    path.write_text(original.replace(fragment, becomes), encoding="utf-8")
    try:
        assert not _tests_pass(package, [tests])
    finally:
        path.write_text(original, encoding="utf-8")
