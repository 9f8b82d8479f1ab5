import sys

import pytest
import stages

ROOT = stages.ROOT


def fake(*commands):
    return stages.Stage("fake", [list(command) for command in commands])


def test_every_test_belongs_to_exactly_one_stage():
    special = [*stages.NOTEBOOKS, *stages.BROWSER, *stages.COLAB]
    for path in special:
        assert (ROOT / path).exists(), path
        runs = [s.name for s in stages.ALL for command in s.commands if path in command]
        assert len(runs) == 1, f"{path} runs in {runs}"
        assert f"--ignore={path}" in stages.PACKAGE
    rest = [c for s in stages.ALL for c in s.commands if "tests" in c]
    chosen = sorted(command[command.index("-m") + 1] for command in rest)
    assert chosen == ["not slow", "slow"]


@pytest.fixture
def runner(tmp_path, monkeypatch):
    """A module that closes like pytest, and fails if it is told to."""
    code = "import sys\nprint('some dots')\nprint('==', *sys.argv[1:], 'in 0.1s ==')\n"
    (tmp_path / "runner.py").write_text(
        f"{code}sys.exit('failed,' in sys.argv)\n", encoding="utf-8"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_stages_run_in_order_and_the_last_line_counts(runner, capsys):
    one = fake(["runner", "2", "passed"])
    assert stages.run_all([stages.Stage("first", [["this"]]), one, one])
    out = capsys.readouterr().out.splitlines()
    assert [line.split(" in ")[0] for line in out[-4:]] == [
        "✓ first: passed",
        "✓ fake: passed (2 passed)",
        "✓ fake: passed (2 passed)",
        "4 passed, 0 failed",
    ]


def test_a_stage_that_fails_ends_the_run(runner, capsys):
    one = ["runner", "1", "failed,", "3", "passed"]
    assert not stages.run_all([fake(one), stages.Stage("later", [one])])
    out = capsys.readouterr().out.splitlines()
    assert out[-3].startswith("✗ fake: FAILED (1 failed, 3 passed) in ")
    assert out[-2:] == ["– not run: later", "3 passed, 1 failed"]


def test_bad_style_ends_with_an_error_code_though_no_test_failed(monkeypatch, capsys):
    monkeypatch.setattr(stages, "QUICK", [fake(["no_such_module"])])
    with pytest.raises(SystemExit) as ended:
        stages.main(["--quick"])
    assert ended.value.code == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 1 failed"
    assert "no_such_module" not in sys.modules
