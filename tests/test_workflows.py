"""GitHub's own checks, read here as GitHub would read them: nobody can run them on this machine."""

import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from stages import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs():
    return [job for path in WORKFLOWS for job in read(path)["jobs"].values()]


@pytest.mark.slow
def test_the_linter_has_nothing_to_say():
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    command += ["vendor.github-workflows", *map(str, WORKFLOWS)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_a_job_fetches_is_one_commit_and_not_whatever_a_tag_means_today():
    used = [step["uses"] for job in jobs() for step in job.get("steps", []) if "uses" in step]
    assert len(used) > 8
    assert [one for one in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", one)] == []


def test_learners_get_nothing_before_the_checks_have_passed():
    checked = read(ROOT / ".github" / "workflows" / "check.yml")["jobs"]
    for name in ("learners", "site"):
        published = read(ROOT / ".github" / "workflows" / f"{name}.yml")
        assert "push" not in published.get("on", published.get(True))
        assert checked[name]["needs"] == "check"


def test_every_system_and_python_is_checked():
    bounds = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    first, last = re.findall(r"3\.(\d+)", bounds["project"]["requires-python"])
    pythons = [f"3.{minor}" for minor in range(int(first), int(last))]
    job = read(ROOT / ".github" / "workflows" / "check.yml")["jobs"]["check"]
    matrix = job["strategy"]["matrix"]
    assert matrix["python"] == pythons
    assert (matrix["os"], matrix["stages"]) == (["ubuntu-latest"], ["full"])
    others = {(one["os"], one["python"], one["stages"]) for one in matrix["include"]}
    ends = {pythons[0], pythons[-1]}
    assert others == {
        (f"{system}-latest", python, "quick") for system in ("macos", "windows") for python in ends
    }


def test_the_files_that_commands_name_exist():
    commands = [step["run"] for job in jobs() for step in job.get("steps", []) if "run" in step]
    named = re.findall(r"\S+\.(?:py|txt)\b", " ".join(commands))
    assert named
    for name in named:
        assert (ROOT / name).is_file(), name


def test_a_checkout_has_the_same_lines_on_every_system():
    text = ["Makefile", ".ci/run", "notebooks/00_start_here.ipynb", "images/kit.py", "README.md"]
    bytes_ = ["helpers/pretrained/weights/any.json", "any.safetensors", "any.png"]
    command = ["git", "check-attr", "-z", "text", "eol", "--", *text, *bytes_]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    if done.returncode:
        pytest.skip("not a git checkout")
    parts = done.stdout.split("\0")[:-1]
    told = {(parts[i], parts[i + 1]): parts[i + 2] for i in range(0, len(parts), 3)}
    assert {told[name, "eol"] for name in text} == {"lf"}
    assert {told[name, "text"] for name in bytes_} == {"unset"}


def test_the_project_is_described_once():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = {"requirements.txt": project["project"]["dependencies"]}
    named = project["dependency-groups"]
    assert named["test"][0] == {"include-group": "bench"}
    groups["tests/requirements.txt"] = named["bench"] + named["test"][1:]
    groups["web/requirements.txt"] = named["site"]
    for name, wanted in groups.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert re.findall(r"^([\w.-]+==[^\s;]+)", text, re.MULTILINE) == wanted, name
    rooms = [ROOT / room for room in (".", "tests", "web", "teaching", "teaching/hub")]
    lists = [path for room in rooms for path in room.glob("requirements*.txt")]
    pinned = "\n".join(path.read_text(encoding="utf-8") for path in lists)
    pins = set(re.findall(r"^([\w.-]+)==([^\s;]+)", pinned, re.MULTILINE))
    assert [pair for pair in pins if pair[1] != dict(pins)[pair[0]]] == []
    learners = " ".join(project["project"]["dependencies"])
    assert not re.search("playwright|hypothesis|ruff|pytest", learners)
