import itertools
import sys

import conftest
import pytest
import shortened
import stages

from notebooks import build

ROOT = stages.ROOT


def fake(*commands):
    return stages.Stage("fake", [list(command) for command in commands])


def choice(command):
    return command[command.index("-m") + 1]


@pytest.mark.parametrize("stage", [stages.FULL, stages.WHOLE])
def test_every_test_runs_once_and_the_quick_ones_are_among_them(stage):
    (quick,) = stages.QUICK.commands
    rest, browser = stage.commands
    for path in stages.APART:
        assert (ROOT / path).exists(), path
        assert f"--ignore={path}" in quick
    assert {"tests", "notebooks"} <= set(rest)
    assert [word for word in rest if word.startswith("--ignore")] == ["--ignore=tests/browser"]
    assert "tests/browser" in browser
    assert choice(browser) == choice(rest)
    for slow, weekly in itertools.product((False, True), repeat=2):
        marks = {"slow": slow, "weekly": weekly}
        assert eval(choice(quick), {}, marks) == (not slow and not weekly)
        assert eval(choice(rest) or "True", {}, marks) == (stage is stages.WHOLE or not weekly)


def test_what_runs_notebooks_is_marked_as_slow_and_nothing_else_is():
    paths = ["notebooks/any.ipynb", *stages.APART, "tests/browser/any.py", "tests/test_masks.py"]
    apart = [conftest.is_apart(ROOT / path) for path in paths]
    assert apart == [True] * (len(paths) - 1) + [False]


@pytest.mark.parametrize("name", shortened.SHORTER)
def test_what_is_cut_short_stands_in_the_lesson(name):
    notebook = build.assemble(build.source_of(name))
    before = [cell.source for cell in notebook.cells]
    for whole, _ in shortened.SHORTER[name]:
        found = sum(whole in source for source in before)
        assert found == 1, f"shortened.toml: {whole!r} is in {found} cells; what is there now?"
    shortened.cut(name, notebook)
    cells = [cell for cell in notebook.cells if cell.source.startswith(shortened.NO_CLAIMS)]
    assert all(shortened.LIVE in cell.metadata["tags"] for cell in cells)
    for whole, short in shortened.SHORTER[name]:
        assert not [cell for cell in notebook.cells if whole in cell.source]
        assert [cell for cell in cells if short in cell.source]


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
    told = ["✓ first: passed", *2 * ["✓ fake: passed (2 passed)"], "4 passed, 0 failed"]
    assert [line.split(" in ")[0] for line in out[-4:]] == told


def test_a_stage_that_fails_ends_the_run(runner, capsys):
    one = ["runner", "1", "failed,", "3", "passed"]
    assert not stages.run_all([fake(one), stages.Stage("later", [one])])
    out = capsys.readouterr().out.splitlines()
    assert out[-3].startswith("✗ fake: FAILED (1 failed, 3 passed) in ")
    assert out[-2:] == ["– not run: later", "3 passed, 1 failed"]


def test_commands_at_once_both_count_and_one_that_fails_is_enough(runner, capfd):
    both = [["runner", "2", "passed"], ["runner", "1", "failed,", "3", "passed"]]
    assert not stages.run_all([stages.Stage("both", both, at_once=True)])
    out = capfd.readouterr().out.splitlines()
    assert out[-1] == "5 passed, 1 failed"
    assert [line for line in out if "$" in line] == [
        "$ runner 2 passed", "$ runner 1 failed, 3 passed",
    ]  # fmt: skip


def test_bad_style_ends_with_an_error_code_though_no_test_failed(monkeypatch, capsys):
    monkeypatch.setattr(stages, "STYLE", fake(["no_such_module"]))
    with pytest.raises(SystemExit) as ended:
        stages.main(["--quick"])
    assert ended.value.code == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 1 failed"
    assert "no_such_module" not in sys.modules
