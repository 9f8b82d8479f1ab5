import subprocess
import sys
from types import SimpleNamespace

import nbformat
import pytest

from notebooks import build

LESSON = """\
# %% [markdown]
# # A lesson
#
# What it asks.

# %% tags=["set-up"]
from helpers import notebook

# %%
print("two")

# %%
print("two")

# %% tags=["hide-input", "nbval-ignore-output"]
print("three")

# %% [markdown] tags=["notes"]
# Ask *them* first.

# %% [markdown] tags=["answer"]
# Because of the scale.
"""


@pytest.fixture
def lesson(tmp_path):
    path = tmp_path / "42_lesson.py"
    path.write_text(LESSON, encoding="utf-8")
    return path


def test_the_header_links_to_colab(lesson):
    title, blank, link, *rest = build.assemble(lesson).cells[0].source.splitlines()
    assert (title, blank, rest) == ("# A lesson", "", ["", "What it asks."])
    published = build.address().removeprefix("https://github.com/")
    assert link == (
        f"[Open in Colab](https://colab.research.google.com/github/{published}"
        f"/blob/main/notebooks/42_lesson.ipynb)"
    )


def test_the_set_up_cell_is_put_in_and_knows_the_address(lesson):
    cell = build.assemble(lesson).cells[1]
    assert cell.source == build.set_up_cell()
    assert f'COURSE = "{build.address()}"' in cell.source
    assert "ADDRESS" not in cell.source


def test_notes_and_answers_are_folded_away(lesson):
    notes, answer = build.assemble(lesson).cells[-2:]
    assert notes.source == (
        "<details>\n<summary>Notes for teachers</summary>\n\nAsk *them* first.\n\n</details>"
    )
    assert "<summary>A model answer</summary>" in answer.source
    assert notes.metadata["tags"] == ["notes"]


def test_tags_are_kept_and_hidden_sources_are_hidden(lesson):
    cell = build.assemble(lesson).cells[4]
    assert cell.metadata["tags"] == ["hide-input", "nbval-ignore-output"]
    assert cell.metadata["jupyter"] == {"source_hidden": True}


def test_ids_stay_when_other_cells_come_and_go(lesson):
    before = [cell.id for cell in build.assemble(lesson).cells]
    assert len(set(before)) == len(before)  # though two cells are alike
    assert [cell.id for cell in build.assemble(lesson).cells] == before
    lesson.write_text(LESSON.replace("# %%\n", "# %%\nx = 1\n\n# %%\n", 1), encoding="utf-8")
    after = [cell.id for cell in build.assemble(lesson).cells]
    assert [name for name in after if name in before] == before


def test_a_lesson_without_title_is_refused(lesson):
    lesson.write_text("# %%\nprint()\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"42_lesson\.py: the first cell .* '# Title'"):
        build.assemble(lesson)


def test_a_build_is_fresh_until_its_source_changes(lesson, tmp_path):
    target = tmp_path / "42_lesson.ipynb"
    assert not build.is_fresh(build.assemble(lesson), target)
    nbformat.write(build.assemble(lesson), target)
    assert build.is_fresh(build.assemble(lesson), target)
    lesson.write_text(LESSON.replace("three", "four"), encoding="utf-8")
    assert not build.is_fresh(build.assemble(lesson), target)


def test_only_what_is_asked_for_is_built(lesson, monkeypatch):
    asked = []
    (lesson.parent / "43_next.py").write_text(LESSON, encoding="utf-8")
    monkeypatch.setattr(build, "SOURCES", lesson.parent)
    monkeypatch.setattr(build, "build", lambda source, force: asked.append((source.stem, force)))
    build.main(["43", "--force"])
    build.main([])
    assert asked == [("43_next", True), ("42_lesson", False), ("43_next", False)]
    with pytest.raises(SystemExit, match="starts with 99"):
        build.main(["99"])


@pytest.mark.slow
def test_executing_drops_the_live_view_keeps_what_stands_beside_it_and_notes_the_wait(
    monkeypatch,
):
    show = (
        "from IPython.display import display\n"
        f"display({{'{build.LIVE_VIEW}': {{}}, 'text/html': '<b>still</b>'}}, raw=True)"
    )
    cells = [nbformat.v4.new_code_cell(source) for source in (show, "2 + 2")]
    metadata = {**build.METADATA, "course": {}}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    clock = iter([5.0, 5.4, 10.0, 12.3])  # before and after each cell, in seconds
    monkeypatch.setattr(build, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    build.execute(notebook)
    (output,) = notebook.cells[0].outputs
    assert output.data == {"text/html": "<b>still</b>"}
    assert notebook.metadata.pop("course")["seconds"] == {notebook.cells[1].id: 2}
    assert notebook.metadata == build.METADATA
    assert notebook.cells[0].execution_count == 1
    assert "execution" not in notebook.cells[0].metadata


SET_UP_PROBE = (
    "def set_up():\n    import pathlib\n    print('ready', pathlib.Path(__file__).parts[-3])\n"
)


@pytest.fixture
def course(tmp_path):
    """A tiny published course, as a git repository."""
    course = tmp_path / "published"
    (course / "helpers").mkdir(parents=True)
    (course / "notebooks").mkdir()
    (course / "helpers" / "notebook.py").write_text(SET_UP_PROBE)
    (course / "notebooks" / "keep").write_text("")
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "All"]):
        subprocess.run(["git", *command], cwd=course, check=True)
    return course


def run_set_up_cell(course, cwd):
    source = build.set_up_cell().replace(build.address(), course.as_uri())
    done = subprocess.run(
        [sys.executable, "-I", "-c", source], cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_set_up_cell_finds_the_course_above(course):
    assert run_set_up_cell(course, course / "notebooks") == ["ready published"]
    assert run_set_up_cell(course, course) == ["ready published"]


def test_the_set_up_cell_fetches_the_course_once_and_says_so(course, tmp_path):
    elsewhere = tmp_path / "content"
    elsewhere.mkdir()
    said, ready = run_set_up_cell(course, elsewhere)
    assert said.startswith("Fetching the course (about ")
    assert course.as_uri() in said
    assert said.endswith(str(elsewhere / "attention-course"))
    assert ready == "ready attention-course"
    assert run_set_up_cell(course, elsewhere) == ["ready attention-course"]
