"""What stands in ``notebooks/``: short to read, the same lesson to run."""

import copy
import re

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

from helpers import notebook
from notebooks import build, reading

LESSON = """\
# %% [markdown]
# # A lesson

# %% tags=["hide-input"]
short = 1

# %% tags=["hide-input"]
# Two and two.
two = short + 1


two + 2

# %% tags=["hide-input"]
shown = two
exercises.reveal("sum", measured=shown)
print(shown)
"""


@pytest.fixture
def lesson(tmp_path, monkeypatch):
    path = tmp_path / "notebooks" / "source" / "42_lesson" / "lesson.py"
    path.parent.mkdir(parents=True)
    path.write_text(LESSON, encoding="utf-8")
    monkeypatch.setattr(build, "SOURCES", path.parents[1])
    monkeypatch.setattr(build, "predictions", lambda cells: [])
    monkeypatch.setattr(notebook, "ROOT", tmp_path)
    return build.assemble(path)


def test_the_set_up_and_long_folded_cells_are_a_line_and_a_word(lesson):
    whole = copy.deepcopy(lesson)
    full = [cell.copy() for cell in lesson.cells]
    read = reading.for_reading(lesson, "42_lesson")
    assert [cell.id for cell in full] == [cell.id for cell in read.cells]
    assert [cell.source for cell in read.cells[1:]] == [
        reading.SET_UP,
        "short = 1",
        '# Two and two.\nnotebook.folded("42_lesson", 2)',
        '# The measurement\nnotebook.folded("42_lesson", 3)',
    ]
    assert (build.NOTEBOOKS / reading.SET_UP.split()[-1]).is_file()
    assert [c.source for c in reading.whole(read, whole).cells] == [c.source for c in full]


def test_what_a_learner_wrote_is_left_alone(lesson):
    full = copy.deepcopy(lesson)
    lesson.cells[3].source = mine = "my = 2\nown = 3"
    assert reading.whole(lesson, full).cells[3].source == mine


def test_a_folded_cell_runs_where_it_is_called_and_shows_its_value(lesson, monkeypatch, capsys):
    shell = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    shell.user_ns["short"] = 5
    shell.run_cell("from helpers import notebook\nnotebook.folded('42_lesson', 2)")
    assert shell.user_ns["two"] == 6
    assert "8" in capsys.readouterr().out


@pytest.mark.parametrize("name", [build.name_of(path) for path in build.lessons()])
def test_every_folded_cell_is_found_again_in_its_source(name, monkeypatch):
    ran = []
    monkeypatch.setattr(notebook, "exec", lambda *_: None, raising=False)
    monkeypatch.setattr("IPython.get_ipython", lambda: type("Shell", (), {"user_ns": {}}))
    full = build.assemble(build.source_of(name))
    wanted = {cell.id: cell.source for cell in full.cells}
    for cell in reading.for_reading(full, name).cells:
        for number in re.findall(r"^notebook\.folded\(\".*\", (\d+)\)$", cell.source, re.M):
            notebook.folded(name, int(number))
            code = "".join(notebook.linecache.cache[f"<{name}, folded cell {number}>"][2])
            assert wanted[cell.id].endswith(code)
            ran.append(number)
    assert ran or name in ("91_review_quiz", "92_widget_gallery"), "a lesson folds some code"


def test_a_measurement_folds_itself_where_nothing_else_does(lesson):
    full = copy.deepcopy(lesson)
    cell, html, text = lesson.cells[2], "<p>It is 3.</p>\n", "It is **3**."
    new = nbformat.v4.new_output
    cell.outputs = [
        new("display_data", {"text/html": html, "text/plain": "three"}),
        new("display_data", {"text/markdown": text}),
    ]
    reading.for_reading(lesson, "42_lesson")
    assert cell.outputs[0].data["text/html"] == html  # nobody was asked
    cell.metadata["jupyter"] = {"outputs_hidden": True}
    reading.for_reading(lesson, "42_lesson")
    folded = [cell.outputs[0].data["text/html"], cell.outputs[1].data["text/markdown"]]
    assert all(one.startswith("<details") for one in folded)
    rules = (build.ROOT / "tests" / "nbval.cfg").read_text(encoding="utf-8")
    (rule,) = re.findall(r"^\[measured\]\nregex: (.*)\nreplace: (.*)$", rules, re.MULTILINE)
    assert [re.sub(*rule, one) for one in folded] == [html, text]
    reading.whole(lesson, full)
    assert [*cell.outputs[0].data.values(), *cell.outputs[1].data.values()] == [html, "three", text]
