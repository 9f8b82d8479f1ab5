"""Learner's and teacher's copies: one lesson, and nothing that a learner wrote is lost."""

import copy
import json
import shutil
import subprocess

import nbformat
import pytest
from samples import raising, refuses

from notebooks import build, copies

LESSON = """\
# %% [markdown]
# # A lesson
#
# What it asks.

# %% [markdown] tags=["notes"]
# Say this first.

# %% [markdown]
# ## 1. A question

# %%
exercises.predict("how_many")

# %% tags=["hide-input"]
print("a picture")
exercises.reveal("how_many", measured=3)


# %%
def answer(x):
    ...


# %% [markdown]
# The end.
"""
STUB = "def answer(x):\n    ..."


@pytest.fixture
def sources(tmp_path):
    folder = tmp_path / "source"
    (folder / "42_lesson").mkdir(parents=True)
    (folder / "42_lesson" / "lesson.py").write_text(LESSON, encoding="utf-8")
    return folder


@pytest.fixture
def mine(sources, tmp_path):
    """A learner's folder, up to date."""
    copies.bring_up_to_date(tmp_path / "mine", sources)
    return tmp_path / "mine"


def change(sources, *pairs):
    text = (sources / "42_lesson" / "lesson.py").read_text(encoding="utf-8")
    for before, after in pairs:
        assert before in text
        text = text.replace(before, after)
    (sources / "42_lesson" / "lesson.py").write_text(text, encoding="utf-8")


def work_on(path):
    """Fill in the answer, run it, and add a cell, as a learner does."""
    mine = nbformat.read(path, 4)
    (stub,) = [cell for cell in mine.cells if cell.source == STUB]
    stub.source = "def answer(x):\n    return x + 1"
    stub.execution_count = 3
    stub.outputs = [nbformat.v4.new_output("stream", text="right")]
    mine.cells.insert(mine.cells.index(stub) + 1, nbformat.v4.new_code_cell("answer(2)"))
    nbformat.write(mine, path)


def sources_of(path):
    return [cell.source for cell in nbformat.read(path, 4).cells]


@pytest.mark.parametrize("name", [build.name_of(path) for path in build.lessons()])
def test_both_copies_are_the_same_lesson(name):
    built = build.read(name)
    learners = copies.learners_copy(build.assemble(build.source_of(name)))
    teachers = copies.teachers_copy(built)
    nbformat.validate(learners)
    nbformat.validate(teachers)
    notes = [c for c in teachers.cells if "notes" in c.metadata.get("tags", [])]
    both = [c.id for c in teachers.cells if c not in notes and c.source != copies.SLIDES]
    assert [c.id for c in learners.cells] == both
    assert not any(c.get("outputs") or c.get("execution_count") for c in learners.cells)
    assert all(c.source.startswith("<details open>") for c in notes)
    assert "Notes for teachers" not in nbformat.writes(learners)


def test_a_teachers_copy_folds_answers_and_has_the_button_for_slides(sources):
    made = copies.teachers_copy(build.assemble(sources / "42_lesson" / "lesson.py"))
    set_up = next(i for i, c in enumerate(made.cells) if "set-up" in c.metadata.get("tags", []))
    assert made.cells[set_up + 1].source == copies.SLIDES
    checks = [c for c in made.cells if "exercises.check(" in c.source]
    assert all(cell.metadata["jupyter"]["source_hidden"] for cell in checks)


def test_a_learners_folder_is_made_once_and_left_alone(sources, tmp_path):
    mine = tmp_path / "mine"
    assert copies.bring_up_to_date(mine, sources) == (["42_lesson"], [])
    work_on(mine / "42_lesson.ipynb")
    before = (mine / "42_lesson.ipynb").read_bytes()
    assert copies.bring_up_to_date(mine, sources) == ([], [])
    assert (mine / "42_lesson.ipynb").read_bytes() == before


def test_a_changed_lesson_arrives_and_every_answer_stays(sources, mine):
    work_on(mine / "42_lesson.ipynb")
    change(
        sources,
        ("What it asks.", "What it really asks."),
        ("# The end.", "# The very end."),
        ("# %% [markdown]\n# ## 1. A question", "# %%\nprint(1)\n\n# %% [markdown]\n# ## 1. Two"),
    )
    assert copies.bring_up_to_date(mine, sources) == ([], ["42_lesson"])
    found = sources_of(mine / "42_lesson.ipynb")
    assert found[0].endswith("What it really asks.")
    assert found[2:4] == ["print(1)", "## 1. Two"]
    assert found[-3:] == ["def answer(x):\n    return x + 1", "answer(2)", "The very end."]
    assert not any("A question" in source for source in found)
    ran = [c for c in nbformat.read(mine / "42_lesson.ipynb", 4).cells if c.get("outputs")]
    assert [c.outputs[0].text for c in ran] == ["right"]


def test_what_the_lesson_dropped_goes_though_it_was_run(sources, mine):
    notebook = nbformat.read(mine / "42_lesson.ipynb", 4)
    (old,) = [cell for cell in notebook.cells if "a picture" in cell.source]
    old.outputs = [nbformat.v4.new_output("stream", text="a picture")]
    nbformat.write(notebook, mine / "42_lesson.ipynb")
    change(sources, ("a picture", "another one"))
    copies.bring_up_to_date(mine, sources)
    found = "".join(sources_of(mine / "42_lesson.ipynb"))
    assert "another one" in found
    assert "a picture" not in found


def test_an_answer_stays_though_its_stub_has_changed(sources, mine):
    work_on(mine / "42_lesson.ipynb")
    change(sources, ("def answer(x):", "def answer(x, y):"))
    copies.bring_up_to_date(mine, sources)
    found = sources_of(mine / "42_lesson.ipynb")
    assert "def answer(x):\n    return x + 1" in found
    assert "def answer(x, y):\n    ..." in found


def test_every_file_of_the_learners_own_is_kept_however_often(sources, tmp_path):
    mine = tmp_path / "mine"
    for n in range(3):
        copies.bring_up_to_date(mine, sources)
        notebook = nbformat.read(mine / "42_lesson.ipynb", 4)
        notebook.cells[0].source = f"round {n}"
        nbformat.write(notebook, mine / "42_lesson.ipynb")
        shutil.rmtree(mine / copies.ORIGINALS)
    copies.bring_up_to_date(mine, sources)
    kept = {sources_of(path)[0] for path in mine.glob("*(mine*).ipynb")}
    assert kept == {"round 0", "round 1", "round 2"}


def test_a_copy_whose_cells_have_no_ids_is_brought_up_to_date(sources, mine):
    path = mine / "42_lesson.ipynb"
    raw = json.loads(path.read_text(encoding="utf-8"))
    for cell in raw["cells"]:
        del cell["id"]
    path.write_text(json.dumps(raw | {"nbformat_minor": 4}), encoding="utf-8")
    change(sources, ("The end.", "The very end."))
    copies.bring_up_to_date(mine, sources)
    assert any("The very end." in text for text in sources_of(path))


def test_a_folder_that_cannot_be_written_is_named(sources, monkeypatch):
    refused = PermissionError(13, "Permission denied", str(copies.MY_LESSONS))
    monkeypatch.setattr(copies, "bring_up_to_date", raising(refused))
    refuses("Can't write .*my_lessons.*--out FOLDER", copies.main, ["lab"], error=SystemExit)


def test_a_damaged_copy_is_not_overwritten(sources, mine):
    (mine / "42_lesson.ipynb").write_text("{half a file", encoding="utf-8")
    change(sources, ("The end.", "The very end."))
    refuses("Move it away", copies.bring_up_to_date, mine, sources)
    assert (mine / "42_lesson.ipynb").read_text(encoding="utf-8") == "{half a file"


def test_progress_made_beside_the_notebooks_comes_along_once(sources, tmp_path, monkeypatch):
    monkeypatch.setattr(copies, "NOTEBOOKS", tmp_path)
    (tmp_path / ".course").mkdir()
    (tmp_path / copies.PROGRESS).write_text("1", encoding="utf-8")
    mine = tmp_path / "mine"
    copies.bring_up_to_date(mine, sources)
    assert (mine / copies.PROGRESS).read_text(encoding="utf-8") == "1"
    (mine / copies.PROGRESS).write_text("2", encoding="utf-8")
    copies.bring_up_to_date(mine, sources)
    assert (mine / copies.PROGRESS).read_text(encoding="utf-8") == "2"


def test_a_class_gets_no_copy_of_a_notebook_that_is_not_built(tmp_path, monkeypatch):
    monkeypatch.setattr(copies, "NOTEBOOKS", tmp_path)
    refuses("make notebooks", copies.write_class, tmp_path / "out")


@pytest.mark.parametrize("name", [build.name_of(path) for path in build.lessons("0")])
def test_an_update_line_by_line_keeps_answers_as_hubs_do_it(name, tmp_path):
    """Merge as nbgitpuller does: the file stays whole, answers are kept, new texts arrive."""
    old = copies.learners_copy(build.assemble(build.source_of(name)))
    mine, new = copy.deepcopy(old), copy.deepcopy(old)
    stubs = [c for c in mine.cells if c.cell_type == "code" and "..." in c.source]
    for i, cell in enumerate(stubs):
        cell.source = f"{cell.source}\n# my answer {i}"
        cell.execution_count = i + 1
        cell.outputs = [nbformat.v4.new_output("stream", text=f"verdict {i}\n")]
    texts = [c for c in new.cells if c.cell_type == "markdown"]
    for i, cell in enumerate(texts):
        cell.source = f"{cell.source}\n\nA new sentence {i}."
        cell.id = f"{cell.id[:10]}-new"
    paths = [tmp_path / f"{kind}.ipynb" for kind in ("mine", "old", "new")]
    for path, written in zip(paths, (mine, old, new), strict=True):
        nbformat.write(written, path)
    subprocess.run(["git", "merge-file", "--ours", *map(str, paths)], check=True)
    merged = json.loads(paths[0].read_text(encoding="utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in merged["cells"])
    assert all(f"# my answer {i}\n" in f"{text}\n" for i in range(len(stubs)))
    arrived = sum(f"A new sentence {i}." in text for i in range(len(texts)))
    assert arrived >= 0.95 * len(texts)
