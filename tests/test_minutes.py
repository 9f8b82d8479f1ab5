import nbformat
import pytest

from helpers.exercises import model
from notebooks import build, minutes

SOURCES = build.lessons()
LESSON = """\
# %% [markdown]
# # A lesson
#
# It's [five words](https://example.org/a/b) long.
#
# <details><summary>Fine print</summary>Not read.</details>

# %% [markdown] tags=["notes"]
# Nobody reads this aloud.

# %%
exercises.warm_up(3)

# %% [markdown]
# **Pencil.** One.

# %% tags=["hide-input"]
from helpers.widgets.six_steps import SixSteps

SixSteps(step=1)
notebook.picture("bahdanau_step")

# %%
exercises.predict("one")

# %% tags=["hide-input"]
a = 1
exercises.reveal("one", measured=a)
notebook.tell(f\"\"\"It's {a}, as
    predicted.\"\"\")
notebook.figure(a, alt="A.")

# %%
exercises.heading("causal_mask")

# %%
def causal_mask(length):
    ...


exercises.check("causal_mask", causal_mask)

# %% [markdown]
# ## Practice, for home

# %%
exercises.quiz("a", "b")
exercises.check("causal_mask", causal_mask)

# %% [markdown]
# # Going deeper

# %%
LONG
"""


@pytest.fixture
def lesson(tmp_path, monkeypatch):
    """A lesson in three parts, whose first prediction took seven seconds when it was built."""
    path = tmp_path / "42_lesson" / "lesson.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(LESSON.replace("LONG", "x = 1\n\n" * 13), encoding="utf-8")
    monkeypatch.setattr(build, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(build, "set_up_cell", lambda: "set_up()")
    built = build.assemble(path)
    slow = next(cell.id for cell in built.cells if "predict" in cell.source)
    built.metadata["course"]["seconds"] = {slow: 7, "a cell that is gone": 99}
    nbformat.write(built, tmp_path / "42_lesson.ipynb")
    return path


def test_what_is_on_show_is_counted_part_by_part(lesson):
    core, practice, deeper = minutes.measure(lesson)
    assert [part.name for part in (core, practice, deeper)] == ["Core", "Practice", "Going deeper"]
    assert (core.words, practice.words, deeper.words) == (12, 3, 2)
    assert (core.lines, practice.lines, deeper.lines) == (6, 2, 13)
    assert (core.exercises, practice.exercises) == (["causal_mask"], [])
    assert (core.predictions, core.warm_ups, core.waiting) == (1, 3, 7)
    assert (core.widgets, core.pencils) == (1, 1)
    assert core.watching == minutes.film_seconds("bahdanau_step") > 5
    assert minutes.film_seconds("lstm_cell") == 0
    assert practice.questions == 2


def test_the_minutes_are_an_instructor_s(lesson):
    core = minutes.measure(lesson)[0]
    writing = model.find("causal_mask").minutes
    reading = 12 / 160 + 6 * 3 / 60
    playing = 2 + 2 + core.watching / 60  # widget, pencil, film
    answering = 2.5 + 3
    assert core.minutes == pytest.approx(reading + playing + answering + writing + 7 / 60)
    assert core.first_code == pytest.approx(core.minutes - writing)


def test_each_limit_is_kept_by_its_own_sentence(lesson):
    parts = minutes.measure(lesson)
    parts[0].first_code = 9.9
    assert minutes.too_much(parts) == [
        "the core has 1 predictions, not 4 to 5",
        "Going deeper: the cell that starts 'x = 1' has 13 lines, not 12",
    ]
    parts[2].long_cells.clear()
    parts[0].predictions = 4
    assert minutes.too_much(parts) == []
    parts[0].questions = 2
    assert minutes.too_much(parts) == ["the core has 2 questions, not 1"]
    parts[0].words += 160 * 50
    parts[0].lines = 151
    parts[0].first_code = 11.1
    told = " | ".join(minutes.too_much(parts))
    assert "minutes, not 50" in told
    assert "151 lines of code" in told
    assert "after 11.1 minutes" in told
    parts[0].first_code = None
    assert "the core has no exercise" in minutes.too_much(parts)


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=[build.name_of(source) for source in SOURCES])
def test_a_lesson_keeps_to_its_limits(source):
    complaints = minutes.too_much(minutes.measure(source))
    assert not complaints, "\n".join(complaints)
