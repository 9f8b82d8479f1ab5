"""Every question can be answered rightly and wrongly, explains itself, and gives nothing away."""

import html
import re
import sys
from pathlib import Path

import pytest

from helpers import exercises
from helpers.exercises import quizzes
from helpers.exercises.model import catalogue
from helpers.exercises.quizzes import NO_CHOICE
from notebooks import build

# The function of this name hides the module from an ordinary import.
progress = sys.modules["helpers.exercises.progress"]
QUESTIONS = catalogue()[1]
SELF_MARKING = {name for name, question in QUESTIONS.items() if question.kind != "open"}

every_question = pytest.mark.parametrize("name", sorted(QUESTIONS))
self_marking = pytest.mark.parametrize("name", sorted(SELF_MARKING))


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Keep the progress that these tests make out of anybody's notebooks."""
    monkeypatch.chdir(tmp_path)


def answer_rightly(quiz):
    question, kind = quiz.question, quiz.question.kind
    if kind == "single":
        quiz.choice.index = [option.right for option in quiz.options].index(True)
    elif kind == "multiple":
        for box, option in zip(quiz.boxes, quiz.options, strict=True):
            box.value = option.right
    elif kind in ("number", "shape"):
        quiz.field.value = str(question.answer)
    elif kind == "order":
        for place, step in zip(quiz.places, question.answer, strict=True):
            place.value = step
    elif kind == "match":
        for left, right in question.answer.items():
            quiz.menus[left].value = right


def wrong_answers(name):
    """Yield the question answered wrongly in each way, with what should be said to it."""
    question = QUESTIONS[name]
    if question.kind == "single":
        for index, option in enumerate(exercises.quiz(name).options):
            if not option.right:
                quiz = exercises.quiz(name)
                quiz.choice.index = index
                yield quiz, option.why
    elif question.kind == "multiple":
        for index, option in enumerate(exercises.quiz(name).options):
            quiz = exercises.quiz(name)
            answer_rightly(quiz)
            quiz.boxes[index].value = not quiz.boxes[index].value
            if any(box.value for box in quiz.boxes):
                yield quiz, option.why
    elif question.kind in ("number", "shape"):
        for option in question.options:
            quiz = exercises.quiz(name)
            quiz.field.value = option.text
            yield quiz, option.why
    elif question.kind == "order":
        quiz = exercises.quiz(name)
        for place, step in zip(quiz.places, reversed(question.answer), strict=True):
            place.value = step
        yield quiz, question.why
    elif question.kind == "match":
        quiz = exercises.quiz(name)
        rights = list(question.answer.values())
        for menu, right in zip(quiz.menus.values(), rights[1:] + rights[:1], strict=True):
            menu.value = right
        yield quiz, question.why


def said(quiz):
    return html.unescape(quiz.said.value)


def test_every_lesson_has_six_self_marking_questions():
    lessons = {question.lesson for question in QUESTIONS.values()}
    counts = {n: sum(QUESTIONS[name].lesson == n for name in SELF_MARKING) for n in lessons}
    assert {n: count for n, count in counts.items() if count < 6} == {}


def test_every_exercise_and_question_stands_in_a_lesson():
    asked = {
        name
        for source in build.SOURCES.glob("*.py")
        for name in re.findall(r'exercises\.(?:heading|quiz)\("(\w+)"', source.read_text("utf-8"))
    }
    assert asked == set(catalogue()[0]) | set(QUESTIONS)


def test_every_kind_of_question_is_used():
    kinds = {question.kind for question in QUESTIONS.values()}
    assert kinds == {"single", "multiple", "number", "shape", "order", "match", "open"}


@every_question
def test_every_option_is_explained(name):
    question = QUESTIONS[name]
    assert all(len(option.why) >= 8 for option in question.options)
    assert len({option.text for option in question.options}) == len(question.options)
    if question.kind == "single":
        assert [option.right for option in question.options].count(True) == 1
        assert len(question.options) >= 3
    elif question.kind == "multiple":
        assert any(option.right for option in question.options)
    elif question.kind == "open":
        assert len(question.answer) > 100
    else:
        assert question.why
    if question.kind in ("number", "shape"):
        assert len(question.options) >= 2
        assert not any(option.right for option in question.options)
        assert not any(option.text == str(question.answer) for option in question.options)


@self_marking
def test_a_right_answer_is_marked_right_and_kept(name):
    quiz = exercises.quiz(name)
    answer_rightly(quiz)
    quiz.button.click()
    assert "✓" in quiz.said.value
    assert progress.load()["questions"] == {name: "done"}


@self_marking
def test_every_wrong_answer_is_explained(name):
    answers = list(wrong_answers(name))
    assert answers
    for quiz, why in answers:
        quiz.button.click()
        assert "✗" in quiz.said.value
        assert why in said(quiz)
    assert progress.load()["questions"] == {name: "attempted"}


@every_question
def test_no_answer_is_no_attempt(name):
    quiz = exercises.quiz(name)
    quiz.button.click()
    assert "○" in quiz.said.value
    assert progress.load()["questions"] == {}


@every_question
def test_what_is_stored_gives_nothing_away(name):
    question = QUESTIONS[name]
    page = exercises.quiz(name).static_html()
    assert exercises.quiz(name).static_html() == page, "the order changes"
    assert not any(option.why in page for option in question.options)
    if question.kind == "number":
        assert f">{question.answer}<" not in page
    if question.kind == "open":
        assert question.answer[:40] not in page
    assert repr(exercises.quiz(name)) == repr(exercises.quiz(name))
    assert "0x" not in repr(exercises.quiz(name))


@every_question
def test_the_static_view_and_the_live_view_are_in_one_bundle(name):
    quiz = exercises.quiz(name)
    bundle = quiz._repr_mimebundle_()
    assert set(bundle) == {
        "text/plain",
        "text/html",
        "application/vnd.jupyter.widget-view+json",
    }
    assert "Question" in bundle["text/html"]


def test_the_right_option_is_not_always_the_first():
    firsts = [
        exercises.quiz(name).options[0].right
        for name, question in QUESTIONS.items()
        if question.kind == "single"
    ]
    assert 0.1 < sum(firsts) / len(firsts) < 0.5


def test_an_order_or_a_match_does_not_come_ready():
    for name, question in QUESTIONS.items():
        if question.kind == "order":
            assert exercises.quiz(name).steps != question.answer, name
            assert {place.value for place in exercises.quiz(name).places} == {NO_CHOICE}


@pytest.mark.parametrize(
    "text",
    ["(10,10)", "10, 10", "[10, 10]", "10 × 10", "10 x 10", "2*5, 10", "torch.Size([10, 10])"],
)
def test_a_shape_may_be_written_in_any_way(text):
    quiz = exercises.quiz("shapes_in_the_paper")
    quiz.field.value = text
    quiz.button.click()
    assert "✓" in quiz.said.value


def test_letters_where_numbers_are_asked_are_told():
    quiz = exercises.quiz("shapes_in_the_paper")
    quiz.field.value = "(T, S)"
    quiz.button.click()
    assert "numbers are asked for" in quiz.said.value


@pytest.mark.parametrize("text", ["80000", "80,000", "8e4", "80 000", "80000.0"])
def test_a_number_may_be_written_in_any_way(text):
    quiz = exercises.quiz("how_many_scores")
    quiz.field.value = text
    quiz.button.click()
    assert "✓" in quiz.said.value


def test_what_is_no_number_is_told():
    quiz = exercises.quiz("how_many_scores")
    quiz.field.value = "many"
    quiz.button.click()
    assert "not a number" in said(quiz)


@pytest.mark.parametrize(
    ("name", "text"),
    [("smoothed_target", "0,925"), ("smoothed_target", "12,5"), ("landmark_log_v", "8,987")],
)
def test_a_decimal_comma_is_not_taken_for_thousands(name, text):
    quiz = exercises.quiz(name)
    quiz.field.value = text
    quiz.button.click()
    assert text.replace(",", ".") in said(quiz)
    assert "decimal point" in said(quiz)


def test_a_model_answer_waits_for_ones_own():
    name = next(name for name, question in QUESTIONS.items() if question.kind == "open")
    quiz = exercises.quiz(name)
    quiz.field.value = "no"
    quiz.button.click()
    assert QUESTIONS[name].answer[:30] not in said(quiz)
    quiz.field.value = "I think that it depends on the length."
    quiz.button.click()
    assert QUESTIONS[name].answer in said(quiz)


def test_letters_of_a_shape_may_stand_between_crosses():
    assert quizzes._axes("B x T x D") == quizzes._axes("(b, t, d)") == ["B", "T", "D"]


# Progress.


def test_progress_that_cannot_be_read_now_is_not_overwritten(monkeypatch):
    exercises.check("causal_mask", exercises.reference("causal_mask"))
    kept = progress._path().read_bytes()

    def locked(*_, **__):
        raise PermissionError("in use by another program")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", locked)
        progress.record("exercises", "padding_mask", True)
        assert progress.load() == {"exercises": {}, "questions": {}}
    assert progress._path().read_bytes() == kept


def test_progress_counts_and_knows_the_minutes_left():
    before = {row[0]: row for row in exercises.progress().rows}["04"]
    exercises.check("causal_mask", exercises.reference("causal_mask"))
    exercises.check("padding_mask", lambda ids, pad: ids)
    after = {row[0]: row for row in exercises.progress().rows}["04"]
    minutes = catalogue()[0]["causal_mask"].minutes
    assert after[1:] == (before[1] + 1, before[2] + 1, before[3] - 2, before[4] - minutes)
    assert "04" in repr(exercises.progress())
    assert "<table>" in exercises.progress()._repr_html_()


def test_what_is_done_stays_done():
    exercises.check("causal_mask", exercises.reference("causal_mask"))
    exercises.check("causal_mask", lambda length: None or length)
    assert progress.load()["exercises"] == {"causal_mask": "done"}


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"exercises": 3, "questions": {}}', "\x00"])
def test_a_damaged_file_is_set_aside(damage, tmp_path, capsys):
    (tmp_path / progress.FILE).write_text(damage)
    exercises.check("causal_mask", exercises.reference("causal_mask"))
    assert progress.load()["exercises"] == {"causal_mask": "done"}
    (aside,) = tmp_path.glob(f"{progress.FILE}.damaged-*")
    assert aside.read_text() == damage
    assert "damaged" in capsys.readouterr().out


def test_a_folder_that_cannot_be_written_stops_nothing(monkeypatch):
    def refuse(*arguments):
        raise PermissionError

    monkeypatch.setattr(progress.os, "replace", refuse)
    assert exercises.check("causal_mask", exercises.reference("causal_mask")).passed


def test_nothing_half_written_is_left(tmp_path):
    exercises.check("causal_mask", exercises.reference("causal_mask"))
    assert [path.name for path in tmp_path.iterdir()] == [progress.FILE]


def test_export_and_import_carry_everything(tmp_path, monkeypatch):
    exercises.check("causal_mask", exercises.reference("causal_mask"))
    text = exercises.export_progress()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    exercises.check("causal_mask", lambda length: length)
    exercises.import_progress(text)
    assert progress.load()["exercises"] == {"causal_mask": "done"}
    with pytest.raises(ValueError, match="export_progress"):
        exercises.import_progress("nonsense")
