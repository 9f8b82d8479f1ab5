import re

import torch
from samples import python, raising

from helpers.machine import installation


def test_check_installation_is_content_here(capsys):
    installation.check_installation()
    said = capsys.readouterr().out
    assert "✗" not in said
    assert said.endswith("Everything is there. Enjoy the course!\n")


def test_check_installation_says_what_is_wrong_and_how_to_fix_it(monkeypatch, capsys, tmp_path):
    versions = {"torch": "2.13.0", "no-such": "1.0", "numpy": "0.1", "jupyterlab": "1.0"}
    monkeypatch.setattr(installation, "pinned_versions", lambda: versions)
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    find = installation._version
    monkeypatch.setattr(installation, "_version", lambda n: None if n == "jupyterlab" else find(n))
    installation.check_installation()
    said = capsys.readouterr().out
    assert re.search(r"✗ no-such is missing .*\n    → .*make lab", said)
    assert re.search(r"· numpy [\d.]+ \(tested with 0.1; most likely fine\)", said)
    assert re.search(r"· jupyterlab is not in this Python", said)
    assert re.search(r"✗ The course's folder .* lacks helpers, images, notebooks\n    → ", said)
    assert "2 to mend" in said


def test_a_damaged_model_is_a_problem(tmp_path):
    whole = installation._check_models(installation.ROOT)
    assert whole.level == "ok"
    assert all(name in whole.what for name in ("translator", "sentiment", "reader"))
    folder = tmp_path / "helpers" / "pretrained" / "weights"
    folder.mkdir(parents=True)
    (folder / "reader.safetensors").write_bytes(b"cut off")
    damaged = installation._check_models(tmp_path)
    assert damaged.level == "problem"
    assert "reader" in damaged.what


def test_old_python_is_a_problem():
    assert installation._check_python((3, 10, 1)).level == "problem"
    assert installation._check_python((3, 12, 3)).level == "ok"
    assert installation._check_python((3, 15, 0)).level == "problem"


def test_broken_torch_is_a_problem(monkeypatch):
    monkeypatch.setattr(torch, "ones", raising(OSError("libtorch.so is damaged")))
    finding = installation._check_arithmetic()
    assert finding.level == "problem"
    assert "libtorch.so is damaged" in finding.what


def test_the_check_runs_from_a_terminal_without_the_course_packages():
    # -S leaves out site-packages: a bare Python still says what is missing.
    done = python("-S", "-m", "helpers.machine.installation", env={"PYTHONIOENCODING": "utf-8"})
    assert done.returncode == 0, done.stderr
    assert "✗ torch is missing" in done.stdout
