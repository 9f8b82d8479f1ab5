"""The learner's own file: parts go in when they pass, in order, and nothing of theirs is lost."""

import linecache

import pytest

from helpers import exercises
from helpers.exercises import own_file
from helpers.exercises.checking import judge

MERGE = "def merge_heads(x):\n    return x.transpose(1, 2).flatten(-2)\n"
MERGE_TOO = """def merge_heads(x):
    b, h, t, k = x.shape
    return x.permute(0, 2, 1, 3).reshape(b, t, h * k)
"""
SPLIT = "def split_heads(x, n_heads):\n    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path))
    monkeypatch.setattr(own_file, "_passed", {})
    return tmp_path


def cell(text, **known):
    """Run a notebook's cell, as IPython does: its lines can be found again."""
    place = f"<cell {len(linecache.cache)}>"
    linecache.cache[place] = len(text), None, text.splitlines(True), place
    known = {"__name__": "__main__", **known}
    exec(compile(text, place, "exec"), known)
    return known


def passed(name, text, **known):
    verdict = exercises.check(name, cell(text, **known)[name])
    assert verdict.passed
    return verdict.kept


def text():
    return own_file.path().read_text(encoding="utf-8")


@pytest.mark.parametrize("name", own_file.tested())
def test_the_courses_copy_passes_every_check(name):
    module = own_file._run(own_file.TESTED.read_text(encoding="utf-8"), "tested")[0]
    if name in own_file.catalogue()[0]:
        assert judge(name, getattr(module, name)).passed


def test_parts_stand_in_the_papers_order_whatever_came_first():
    assert "line" in passed("merge_heads", MERGE)
    passed("split_heads", SPLIT)
    exercises.fill_in()
    names = [name for name in own_file.parts_of(text()) if name in own_file.tested()]
    assert names == list(own_file.tested())
    assert exercises.my_transformer().split_heads is exercises.mine("split_heads")
    assert exercises.is_mine("split_heads")
    assert not exercises.is_mine("attend")


def test_an_edit_in_the_file_is_never_written_over():
    passed("merge_heads", MERGE)
    own_file.path().write_text(text().replace("flatten(-2)", "flatten(2)"))
    assert "later version" in passed("merge_heads", MERGE_TOO)
    assert "flatten(2)" in text()
    assert exercises.is_mine("merge_heads")
    assert len(list(own_file.path().with_name(own_file.VERSIONS).glob("*.py"))) == 3


def test_a_better_answer_takes_the_place_of_the_last_one():
    passed("merge_heads", MERGE)
    passed("merge_heads", MERGE_TOO)
    assert "permute" in text()
    assert "flatten" not in text()


def test_a_syntax_error_is_said_with_its_line_and_nothing_breaks():
    passed("split_heads", SPLIT)
    own_file.path().write_text(text() + "def broken(:\n")
    before, line = text(), len(text().splitlines())
    assert f"line {line}" in passed("merge_heads", MERGE)
    assert text() == before
    assert exercises.is_mine("merge_heads")  # from this notebook
    assert exercises.whose("attend").endswith("until yours passes (attend)")


def test_what_the_file_lacks_is_said():
    import torch

    kept = passed("merge_heads", MERGE_TOO.replace("b, h", "swap(x); b, h"), swap=torch.clone)
    assert "from torch import clone as swap" in kept
    assert "import clone as swap" in text()
    told = passed("split_heads", SPLIT.replace("-1, (", "LAST, ("), LAST=-1)
    assert "`LAST = -1`" in told


def test_the_tested_one_goes_into_the_file_as_the_courses_and_gives_way():
    exercises.check("merge_heads", exercises.reference("merge_heads"))
    assert own_file.COURSES in text()
    assert not exercises.is_mine("merge_heads")
    passed("merge_heads", MERGE)  # as it happens, word for word the course's
    assert own_file.COURSES not in text()
    assert exercises.is_mine("merge_heads")


def test_an_exercise_that_was_skipped_or_is_no_part_gives_the_tested_one():
    assert exercises.mine("attend") is exercises.reference("attend")
    assert exercises.mine("rnn_step") is exercises.reference("rnn_step")


def test_the_picture_lights_what_is_the_learners():
    passed("merge_heads", MERGE)
    parts = exercises.my_parts()
    assert "1 of " in repr(parts)
    assert "cross-attention: 1 of " in parts._repr_html_()
    assert "feed-forward: 0 of 1" in exercises.progress()._repr_html_()
