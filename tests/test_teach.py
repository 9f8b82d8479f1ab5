"""The teacher's window: minutes read from the notes, the notes as a page, the copy to project."""

import os
import re
from itertools import pairwise

import nbformat
import pytest
from tornado.testing import AsyncHTTPTestCase

from helpers.exercises import predictions
from helpers.exercises.content import find
from notebooks import minutes
from teaching import teach

LINE = "**20 minutes.** Hook and warm-up 6 · 1 two\nwords 12 · 2 cost 2. The rest is for home."
TABLE = """**Minute by minute** (30 minutes; every prediction alone)

| minute | what | say |
|---|---|---|
| 0 | hook | Ask for 7 words. |
| 12 | 1, a word | Wait. |
"""


def test_the_minutes_of_each_part_are_read_from_the_notes():
    line = [("Hook and warm-up", 6), ("1 two words", 12), ("2 cost", 2)]
    assert teach.minutes_of([("A", LINE)]) == line
    assert teach.minutes_of([("A", TABLE)]) == [("hook", 12), ("1, a word", 18)]
    both = [("A", "**10 minutes** for both."), ("B", "**5 minutes.** Ask 3 · or 4 people.")]
    assert teach.minutes_of(both) == [("A", 10), ("B", 5)]
    assert teach.minutes_of([("A", "Say this first: 3 · 4.")]) == []


@pytest.mark.parametrize("number", [f"{n:02}" for n in (*range(1, 10), *range(11, 17))])
def test_every_lesson_has_a_countdown_that_fills_its_hour(number):
    parts = teach.minutes_of(teach.notes_of(teach.find(number)))
    assert len(parts) >= 4
    assert 35 <= sum(length for _, length in parts) <= minutes.LONGEST_CORE + 5


def test_the_page_has_every_note_and_names_the_lesson():
    lesson = teach.find("04")
    page = teach.page_of(lesson)
    notes = teach.notes_of(lesson)
    assert "<title>Self-attention with matrices: notes</title>" in page
    assert "{{" not in page
    assert "<strong>Ask</strong>" in page
    assert notes
    assert not any("<details>" in text for _, text in notes)
    assert 'const parts = [{"name": "Hook' in page
    assert "<msqrt>" in page  # formulas are drawn, not shown as they're typed
    assert r"\sqrt" not in page


@pytest.mark.parametrize("number", ["04", "11"])
def test_each_section_is_told_at_which_minute_it_begins(tmp_path, number):
    cells = nbformat.read(teach.copy_of(teach.find(number), tmp_path), 4).cells
    told = [
        (cell.source, following.source)
        for cell, following in pairwise(cells)
        if cell.cell_type == "markdown" and re.search(r"\*\*Minute \d", cell.source)
    ]
    assert len(told) >= 3
    assert all(teach.SECTION.match(section) for _, section in told)


def test_what_is_no_lesson_is_answered_with_the_lessons_there_are():
    for wrong in ("", "0", "77"):
        with pytest.raises(SystemExit, match="04_self_attention_matrices"):
            teach.find(wrong)


def test_a_copy_that_you_wrote_into_is_never_lost(tmp_path):
    lesson = teach.find("00")
    path = teach.copy_of(lesson, tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace("# Start here", "# Mine"), "utf-8")
    assert teach.copy_of(lesson, tmp_path) == path
    assert nbformat.read(path, 4).cells[0].source.startswith("# Mine")
    before = lesson.stat().st_mtime - 10
    os.utime(path, (before, before))  # the lesson has changed since
    teach.copy_of(lesson, tmp_path)
    assert nbformat.read(path, 4).cells[0].source.startswith("# Start here")
    (aside,) = tmp_path.glob("*(mine)*")
    assert nbformat.read(aside, 4).cells[0].source.startswith("# Mine")


class Served(AsyncHTTPTestCase):
    def get_app(self):
        return teach.make_app("the notes", teach.view.make_doors("")[0])

    def test_the_class_view_is_beside_the_notes_and_nothing_comes_from_elsewhere(self):
        assert self.fetch("/notes").body == b"the notes"
        assert b"Where is everybody?" in self.fetch("/").body
        page = teach.PAGE.read_text(encoding="utf-8")
        assert 'href="/"' in page
        assert "http" not in page


def test_the_show_has_settings_of_its_own_and_leaves_yours_alone(tmp_path, monkeypatch):
    mine = tmp_path / "mine"
    (mine / "@jupyterlab" / "apputils-extension").mkdir(parents=True)
    (mine / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings").write_text("{}")
    monkeypatch.setattr(teach, "get_user_settings_dir", lambda: str(mine))
    folder = tmp_path / "show"
    folder.mkdir()
    variables = teach.surroundings(folder)
    theirs = {path.name for path in (folder / "settings").rglob("*.jupyterlab-settings")}
    assert theirs == {"themes.jupyterlab-settings", "tracker.jupyterlab-settings"}
    assert len(list(mine.rglob("*.jupyterlab-settings"))) == 1
    assert variables["JUPYTERLAB_SETTINGS_DIR"].startswith(str(folder))


def test_who_teaches_is_not_told_that_they_predicted_nothing(monkeypatch):
    prediction = find("share_of_the_strongest", "prediction")
    shown = predictions.Revealed(prediction, 84.0, {})
    assert "You didn't predict" in repr(shown)
    monkeypatch.setenv(predictions.TEACHING, "1")
    assert "You didn't predict" not in repr(shown) + shown._repr_html_()
