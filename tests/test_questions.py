"""Every question can be answered rightly and wrongly, explains itself, and gives nothing away."""

import html
import re
import sys

import pytest

from helpers import exercises
from helpers.exercises import panels, quizzes
from helpers.exercises.content import Question
from helpers.exercises.model import catalogue
from helpers.exercises.quizzes import NO_CHOICE
from notebooks import build
from notebooks import giveaways as forms

# The function of this name hides the module from an ordinary import.
progress = sys.modules["helpers.exercises.progress"]
QUESTIONS = catalogue()[1]
pytestmark = pytest.mark.usefixtures("own_folder")
SELF_MARKING = {name for name, question in QUESTIONS.items() if question.kind != "open"}

every_question = pytest.mark.parametrize("name", sorted(QUESTIONS))
self_marking = pytest.mark.parametrize("name", sorted(SELF_MARKING))


def fill(quiz, given):
    """Set the controls of a question: to an index, a text, or to one value each."""
    if quiz.question.kind == "single":
        quiz.choice.index = given
    elif quiz.question.kind in ("number", "shape"):
        quiz.field.value = str(given)
    else:
        for control, value in zip(quiz.children[1:], given, strict=False):  # below the prompt
            control.value = value


def right_of(quiz):
    """Give what `fill` takes, for the right answer."""
    question = quiz.question
    if question.kind in ("single", "multiple"):
        rights = [option.right for option in quiz.options]
        return rights if question.kind == "multiple" else rights.index(True)
    return list(question.answer.values()) if question.kind == "match" else question.answer


def wrong_of(quiz):
    """Yield each wrong answer, as `fill` takes it, with what should be said to it."""
    question, right = quiz.question, right_of(quiz)
    if question.kind == "single":
        yield from ((i, o.why) for i, o in enumerate(quiz.options) if not o.right)
    elif question.kind == "multiple":
        for i, option in enumerate(quiz.options):
            ticked = [box != (i == j) for j, box in enumerate(right)]
            if any(ticked):
                yield ticked, option.why
    elif question.kind in ("number", "shape"):
        yield from ((option.text, option.why) for option in question.options)
    elif question.kind == "order":
        yield right[::-1], question.why
    else:
        yield right[1:] + right[:1], question.why


# Pages beside the lessons: 00 opens the course, 90 to 94 are for looking things up, 95 and 96 ask
# by predictions and exercises.
WITHOUT_QUESTIONS = {0, 90, 92, 93, 94, 95, 96}


def test_every_lesson_has_six_self_marking_questions():
    counts = dict.fromkeys((int(build.name_of(path)[:2]) for path in build.lessons()), 0)
    for name in SELF_MARKING:
        counts[QUESTIONS[name].lesson] += 1
    assert {n for n, count in counts.items() if count < 6} == WITHOUT_QUESTIONS


def test_every_exercise_and_question_stands_in_a_lesson():
    asked = {
        name
        for path in build.lessons()
        for cell in build.read_cells(path)
        for names in re.findall(r"exercises\.(?:heading|quiz)\(([^)]*)", cell.source)
        for name in re.findall(r'"(\w+)"', names)
    }
    assert asked == set(catalogue()[0]) | set(QUESTIONS)


@every_question
def test_every_option_is_explained(name):
    question = QUESTIONS[name]
    short = [option.text for option in question.options if len(option.why) < 8]
    assert not short, "these options need a few words of explanation"
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
    fill(quiz, right_of(quiz))
    quiz.button.click()
    assert "✓" in quiz.said.value
    assert progress.load()["questions"] == {name: {"state": "done", "tries": 1}}


def test_several_questions_stand_below_each_other_and_are_kept_one_by_one():
    several = exercises.quiz("review_root", "review_cheaper")
    assert repr(several) == "Quizzes('review_root', 'review_cheaper')"
    first, second = several.children
    assert several.static_html() == first.static_html() + second.static_html()
    fill(second, right_of(second))
    second.button.click()
    assert set(progress.load()["questions"]) == {"review_cheaper"}


@pytest.mark.slow
@self_marking
def test_every_wrong_answer_is_explained(name):
    quiz = exercises.quiz(name)
    answers = list(wrong_of(quiz))
    assert answers
    for given, why in answers:
        fill(quiz, given)
        quiz.button.click()
        assert "✗" in quiz.said.value
        assert panels.rich(why) in quiz.said.value
    tried = {"state": "attempted", "tries": len(answers)}
    assert progress.load()["questions"] == {name: tried}


@every_question
def test_no_answer_is_no_attempt(name):
    quiz = exercises.quiz(name)
    quiz.button.click()
    assert "○" in quiz.said.value
    assert progress.load()["questions"] == {}


@pytest.mark.slow
@every_question
def test_what_is_stored_gives_nothing_away(name):
    question = QUESTIONS[name]
    quiz, again = exercises.quiz(name), exercises.quiz(name)
    page = quiz.static_html()
    assert again.static_html() == page, "the order changes"
    assert not any(option.why in page for option in question.options)
    if question.kind == "number":
        assert f">{question.answer}<" not in page
    if question.kind == "open":
        assert question.answer[:40] not in page
    assert repr(quiz) == repr(again)
    assert "0x" not in repr(quiz)


FORMS = {name: forms.FORMS[name] for name in ("longest", "shortest", "first", "last")}


@pytest.mark.parametrize("form", [*FORMS.values(), lambda options: {1}], ids=[*FORMS, "second"])
def test_nothing_but_its_content_tells_the_right_option(form):
    shown = [exercises.quiz(name).options for name in QUESTIONS if QUESTIONS[name].kind == "single"]
    asked = [
        ("", "", [option.text for option in options], [o.right for o in options].index(True))
        for options in shown
    ]
    hits, _, expected, _ = forms.score(asked, form)
    assert 0.5 * expected < hits < 1.35 * expected


def test_an_order_or_a_match_does_not_come_ready():
    for name, question in QUESTIONS.items():
        if question.kind == "order":
            assert exercises.quiz(name).offered != question.answer, name
            assert {place.value for place in exercises.quiz(name).places} == {NO_CHOICE}


def replied(quiz, text):
    """Type an answer and return what is said to it."""
    quiz.field.value = text
    quiz.button.click()
    return html.unescape(quiz.said.value)


SHAPES = ["(10,10)", "10, 10", "[10, 10]", "10 × 10", "10 x 10", "2*5, 10", "torch.Size([10, 10])"]
NUMBERS = [
    "80000", "80,000", "8e4", "80 000", "80000.0",
    "80\u00a0000", "80\u202f000", "80'000", "80’000", "80_000",
]  # fmt: skip


def test_a_shape_or_a_number_may_be_written_in_any_way():
    for name, texts in (("shapes_in_the_paper", SHAPES), ("how_many_scores", NUMBERS)):
        for text in texts:
            assert "✓" in replied(exercises.quiz(name), text), text


@pytest.mark.parametrize("text", ["−5", "-5", "–5", "− 5.0"])
def test_a_negative_number_may_have_the_courses_own_minus_sign(text):
    quiz = quizzes.KINDS["number"](Question("five", "?", "number", [], -5.0, "Yes."))
    assert "✓" in replied(quiz, text)


def test_what_is_oddly_written_gets_a_true_reply():
    for name, text, reply in [
        ("how_many_scores", "many", "isn't a number"),
        ("shapes_in_the_paper", "(T, S)", "numbers are asked for"),
        ("shapes_in_the_paper", "(10², 10)", "Not that shape"),
        ("shapes_in_the_paper", "10 10", "Put commas between"),
        ("shapes_in_the_paper", "10 11", "Put commas between"),
        ("shapes_in_the_paper", "9" * 5000, "You gave 1 dimension"),
        ("smoothed_target", "0,925", "decimal point: 0.925"),
        ("smoothed_target", "12,5", "decimal point: 12.5"),
        ("landmark_log_v", "8,987", "decimal point: 8.987"),
    ]:
        assert reply in replied(exercises.quiz(name), text)


def test_letters_and_powers_in_a_shape_are_read():
    assert quizzes._axes("(3², 2³, D²)") == ["9", "8", "D*D"]
    assert quizzes._axes("B x T x D") == quizzes._axes("(b, t, d)") == ["B", "T", "D"]


def test_a_model_answer_waits_for_ones_own():
    name = next(name for name, question in QUESTIONS.items() if question.kind == "open")
    quiz = exercises.quiz(name)
    assert QUESTIONS[name].answer[:30] not in replied(quiz, "no")
    replied(quiz, "I think that it depends on the length.")
    assert panels.rich(QUESTIONS[name].answer) in quiz.said.value
