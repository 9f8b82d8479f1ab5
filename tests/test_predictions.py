"""A prediction is locked in, kept, and shown beside the measurement; nothing near it tells."""

import dataclasses
import html
import importlib
import sys

import pytest
from samples import python, refuses
from test_questions import fill, right_of, wrong_of

from helpers import exercises
from helpers.exercises import content, numerals, panels
from helpers.exercises.content import Prediction
from helpers.exercises.predictions import Card, Revealed

warm_ups = sys.modules["helpers.exercises.warm_up"]
progress = sys.modules["helpers.exercises.progress"]

OPTIONS = Prediction(
    name="shiny",
    prompt="What happens to the `redness` of *car*?",
    options={
        "stays": ("It stays.", "A third adjective takes its share."),
        "falls": ("It falls.", "The weights sum to 1."),
        "rises": ("It rises.", "Nothing adds redness."),
    },
    ask_why=True,
)
PERCENT = {"unit": "%", "low": 0, "high": 100, "slider": True}
SLIDER = Prediction(
    name="rest",
    prompt="How much do they get?",
    **PERCENT,
    explain="A score of 0 becomes 1.",
    too_high="The two adjectives take nearly everything.",
    too_low="Zero isn't minus infinity.",
)
NUMBER = Prediction(name="many", prompt="How many?", low=0, unit="numbers")


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Keep these tests' progress out of anybody's notebooks, and their predictions in it."""
    monkeypatch.chdir(tmp_path)
    for one in (OPTIONS, SLIDER, NUMBER):
        monkeypatch.setitem(content.catalogue("prediction"), one.name, one)


def shown(capsys, name, measured):
    """Return what a terminal shows when a prediction is revealed."""
    exercises.reveal(name, measured)
    return capsys.readouterr().out


def page_of(prediction, measured):
    entry = progress.load()["predictions"].get(prediction.name, {})
    return html.unescape(Revealed(prediction, measured, entry)._repr_html_())


def test_a_locked_option_is_named_and_its_own_explanation_given(capsys):
    exercises.predict("shiny").lock("stays", "sure", "  colour is \n untouched ")
    assert exercises.guess("shiny") == "stays"
    text = shown(capsys, "shiny", "falls")
    assert "Measured: It falls." in text
    assert "You predicted “It stays.” (you were sure)" in text
    assert "A third adjective" in text
    assert "The weights sum to 1." not in text
    assert "≠" in page_of(OPTIONS, "falls")
    kept = {"guess": "stays", "confidence": "sure", "why": "colour is untouched", "right": False}
    assert progress.load()["predictions"] == {"shiny": kept}


@pytest.mark.parametrize(
    ("typed", "words", "right"),
    [
        ("7", "exactly right", True),
        ("10", "only 3 percentage points too high", True),
        ("60", "too high by a factor of 8.6. The two adjectives", False),
        ("0", "7 percentage points too low", True),
    ],
)
def test_a_number_says_how_far_off_it_is(capsys, typed, words, right):
    exercises.predict("rest").lock(typed, "think")
    assert exercises.guess("rest") == float(typed)
    text = shown(capsys, "rest", 7.0)
    assert words in " ".join(text.split())
    assert "A score of 0 becomes 1." in text
    assert progress.load()["predictions"]["rest"]["right"] is right
    page = page_of(SLIDER, 7.0)
    assert "left: 7.0%" in page
    assert f"left: {float(typed):.1f}%" in page


def test_a_tensor_can_be_what_was_measured(capsys):
    torch = importlib.import_module("torch")
    assert "Measured: 7.02%" in shown(capsys, "rest", torch.tensor(7.0234))


def test_skipped_nothing_stops_and_everything_is_explained(capsys):
    assert exercises.guess("shiny") is None
    text = shown(capsys, "shiny", "falls")
    assert "You didn't predict this one" in text
    assert all(why in text for _, why in OPTIONS.options.values())
    assert "Measured: 7%" in shown(capsys, "rest", 7)
    assert "you" not in page_of(SLIDER, 7.0).replace("You didn't", "")
    assert progress.load()["predictions"] == {}


@pytest.mark.parametrize("measured", ["sinks", None, 3])
def test_a_measurement_that_is_no_option_or_no_number_is_refused(measured):
    refuses("one of stays, falls, rises", exercises.reveal, "shiny", measured)
    refuses("has to be a number", exercises.reveal, "rest", "a lot")


@pytest.mark.parametrize(
    ("name", "answer", "confidence", "problem"),
    [
        ("shiny", None, "sure", "Choose an answer first"),
        ("shiny", "sinks", "sure", "Choose one"),
        ("shiny", "falls", None, "how sure you are"),
        ("shiny", "falls", "certain", "how sure you are"),
        ("many", "", "sure", "Give a number first"),
        ("many", "lots", "sure", "isn't a number"),
        ("many", "nan", "sure", "isn't a number"),
        ("many", "0,5", "sure", "decimal point: 0.5"),
        ("many", "0,5%", "sure", "decimal point: 0.5"),
        ("many", "1.024,5", "sure", "decimal point: 1024.5"),
        ("many", "10,24,5", "sure", "isn't a number"),
        ("rest", "101", "sure", "between 0 and 100"),
        ("rest", "−1", "sure", "between 0 and 100"),
    ],
)
def test_what_is_missing_is_said_and_nothing_locked(name, answer, confidence, problem):
    card = exercises.predict(name)
    card.lock(answer, confidence)
    assert problem in card._problem
    assert card.locked == {}
    assert exercises.guess(name) is None
    card.lock({"shiny": "falls"}.get(name, 5), "guess")
    assert card._problem == ""
    assert card.locked


def test_the_page_can_lock_and_later_predict_again(capsys):
    card = exercises.predict("shiny")
    card._on_message(card, {"lock": {"answer": "falls", "confidence": "think", "why": None}}, [])
    card.lock("rises", "sure")
    assert card.locked["guess"] == "falls", "locked is locked"
    assert not card.locked["earlier"]
    shown(capsys, "shiny", "falls")
    later = exercises.predict("shiny")
    assert later.locked["earlier"]
    later._on_message(later, {"again": True}, [])
    later.lock("rises", "guess")
    assert progress.load()["predictions"]["shiny"] == {"guess": "rises", "confidence": "guess"}


def test_a_changed_course_does_not_trip_over_an_old_answer(capsys):
    for entry in ({"guess": "gone", "confidence": "sure"}, {"guess": 3}, {}):
        progress.update("predictions", "shiny", lambda _, entry=entry: dict(entry))
        assert exercises.guess("shiny") is None
        assert exercises.predict("shiny").locked == {}
        assert "You didn't predict" in shown(capsys, "shiny", "falls")


def test_progress_tells_how_sure_and_right_go_together(capsys):
    assert "Predictions" not in repr(exercises.progress())
    exercises.predict("shiny").lock("falls", "sure")
    exercises.predict("rest").lock("90", "sure")
    shown(capsys, "shiny", "falls")
    shown(capsys, "rest", 7)
    assert "1 of 2 were right, and 1 of the 2 you were sure of" in repr(exercises.progress())


@pytest.mark.parametrize("prediction", [OPTIONS, SLIDER, NUMBER], ids=lambda one: one.name)
def test_what_is_stored_tells_nothing_and_is_always_the_same(prediction):
    card = exercises.predict(prediction.name)
    page, bundle = card.static_html(), card._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}
    assert repr(card) == f"Prediction({prediction.name!r})"
    told = [why for _, why in prediction.options.values()] + [prediction.explain]
    assert not any(why in html.unescape(page) for why in told if why)
    assert "Predict" in page
    for text, _ in prediction.options.values():
        assert text in page
    card.lock(next(iter(prediction.options), "7"), "guess")
    assert exercises.predict(prediction.name).static_html() == page, "it tells what was locked in"


def test_no_explanation_travels_to_the_page_before_the_reveal():
    state = str(exercises.predict("shiny").get_state())
    assert "It falls." in state
    assert not any(why in state for _, why in OPTIONS.options.values())


def test_what_cannot_be_saved_is_said_on_the_card(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "file" / "folder"))
    card = exercises.predict("shiny")
    card.lock("falls", "guess")
    assert "be saved at the moment" in card._problem
    assert exercises.guess("shiny") == "falls"


def test_an_unknown_prediction_is_told_with_the_nearest():
    refuses("Did you mean shiny", exercises.predict, "shinny")
    refuses("It is a question", exercises.predict, "how_many_scores")
    refuses("It is a prediction", exercises.quiz, "shiny")
    refuses("It is an exercise", exercises.predict, "causal_mask")


def test_markup_in_a_prompt_is_code_and_emphasis_and_nothing_else():
    assert panels.rich("`a*b*c` *is* <b>") == "<code>a*b*c</code> <em>is</em> &lt;b&gt;"
    assert panels.rich("2 * 3 * 4, a*b*c and one ` only") == "2 * 3 * 4, a*b*c and one ` only"


def test_numbers_are_written_for_reading():
    assert numerals.write(7.0234, "%") == "7.02%"
    assert numerals.write(-0.5) == "−0.5"
    assert numerals.write(80000, "weights") == "80,000 weights"
    assert numerals.write(1234.5) == "1,234"
    assert numerals.write(6.4e9) == "6,400,000,000"


@pytest.mark.parametrize("prediction", content.catalogue("prediction").values())
def test_a_prediction_of_the_course_is_whole(prediction):
    if prediction.options:
        assert 2 <= len(prediction.options) <= 4
        assert all(len(why) >= 8 for _, why in prediction.options.values())
        assert len({text for text, _ in prediction.options.values()}) == len(prediction.options)
    else:
        assert prediction.explain or (prediction.too_low and prediction.too_high)
    if prediction.recall:
        assert prediction.recall in content.catalogue("question")
    if prediction.slider:
        assert prediction.low < prediction.high
        assert prediction.step <= (prediction.high - prediction.low) / 10
    assert isinstance(Card(prediction).static_html(), str)


# Warm-ups.


def answer(quiz, right, sure=None):
    """Answer a question of a warm-up, rightly or wrongly."""
    quiz.sure.value = sure
    fill(quiz, right_of(quiz) if right else next(wrong_of(quiz))[0])
    quiz.button.click()


@pytest.mark.parametrize("lesson", range(2, 11))
def test_a_warm_up_asks_three_mixed_questions_from_earlier_lessons(lesson):
    warm = exercises.warm_up(lesson)
    lessons = [quiz.question.lesson for quiz in warm.quizzes]
    assert len(set(warm.asked)) == 3
    assert all(1 <= n < lesson for n in lessons)
    assert len(set(lessons)) == min(3, lesson - 1)
    assert exercises.warm_up(lesson).asked == warm.asked
    assert repr(warm) == f"WarmUp({lesson})"
    page = html.unescape(warm.static_html())
    assert page.count("Question.") == 3
    assert not any(option.why in page for quiz in warm.quizzes for option in quiz.question.options)
    assert progress.load()["warm_ups"] == {}, "looking is no answer"


@pytest.mark.parametrize("name", sorted(warm_ups.ONLY_THERE))
def test_a_question_about_its_lessons_own_numbers_comes_up_nowhere_else(name):
    progress.record("questions", name, False)
    lesson = content.find(name, "question").lesson
    assert name not in exercises.warm_up(lesson + 1).asked


@pytest.mark.parametrize(("early", "first"), warm_ups.NOT_BEFORE.items())
def test_what_belongs_to_a_later_lesson_is_asked_early_only_of_those_who_answered_it(early, first):
    assert early in warm_ups._pool(first - 1)
    assert early not in exercises.warm_up(first - 1).asked
    progress.record("questions", early, False)
    assert exercises.warm_up(first - 1).asked[0] == early


def test_the_line_to_lesson_20_asks_nothing_of_the_branches():
    pools = {lesson: set(warm_ups._pool(lesson).values()) for lesson in (16, 17, 18, 20)}
    assert 15 in pools.pop(17)
    assert not any(pool & warm_ups.BRANCHES for pool in pools.values())


def test_nothing_comes_before_lesson_01():
    refuses("before lesson 01", exercises.warm_up, 1)


def test_what_was_missed_or_guessed_comes_first():
    usual = exercises.warm_up(6).asked
    others = [name for name in warm_ups._pool(6) if name not in usual]
    missed, solved_late, guessed = others[:3]
    progress.record("questions", missed, False)
    for done in (False, True):
        progress.record("questions", solved_late, done)
    progress.update("questions", guessed, lambda _: {
        "state": "done", "tries": 1, "recalled": "right", "confidence": "guess",
    })  # fmt: skip
    assert set(exercises.warm_up(6).asked[:2]) == {missed, solved_late}
    assert exercises.warm_up(6).asked[2] == guessed


def test_a_missed_prediction_brings_its_question_back(monkeypatch):
    question = next(name for name in warm_ups._pool(6) if name not in exercises.warm_up(6).asked)
    known = content.catalogue("prediction")
    monkeypatch.setitem(known, "shiny", dataclasses.replace(OPTIONS, recall=question))
    exercises.predict("shiny").lock("stays", "sure")
    assert question not in exercises.warm_up(6).asked
    exercises.reveal("shiny", "falls")
    assert exercises.warm_up(6).asked[0] == question


def test_a_warm_up_stays_until_it_is_answered_and_then_asks_something_else():
    warm = exercises.warm_up(5)
    first, second, third = warm.quizzes
    answer(first, right=False)
    answer(first, right=True)  # not from memory any more
    again = exercises.warm_up(5)
    assert again.asked == warm.asked
    answer(again.quizzes[1], right=True, sure="guess")
    answer(again.quizzes[2], right=True, sure="sure")
    kept = progress.load()["questions"]
    assert kept[warm.asked[0]].items() >= {"recalled": "wrong", "state": "done"}.items()
    assert kept[warm.asked[1]].items() >= {"recalled": "right", "confidence": "guess"}.items()
    later = exercises.warm_up(5).asked
    assert later[:2] == warm.asked[:2], "missed, then guessed"
    assert warm.asked[2] not in later


def test_what_was_known_in_the_end_makes_room_for_others():
    seen = set()
    for _ in range(4):
        warm = exercises.warm_up(4)
        assert not seen & set(warm.asked)
        seen |= set(warm.asked)
        for quiz in warm.quizzes:
            answer(quiz, right=True, sure="sure")


def test_what_was_shown_and_not_answered_makes_room_next_time():
    missed = next(iter(warm_ups._pool(3)))
    progress.record("questions", missed, False)
    first = exercises.warm_up(3)
    assert missed in first.asked == exercises.warm_up(3).asked
    assert not set(first.asked) & set(exercises.warm_up(4).asked)
    assert missed in exercises.warm_up(5).asked, "only the next one passes it over"


def test_a_warm_up_survives_a_course_that_lost_a_question():
    progress.update("warm_ups", "05", lambda _: {"asked": ["gone"], "answered": []})
    assert "gone" not in exercises.warm_up(5).asked


def test_questions_and_predictions_need_no_torch():
    code = (
        "import sys; from helpers import exercises; exercises.warm_up(10); "
        "exercises.quiz('how_many_scores'); print('torch' in sys.modules)"
    )
    assert python("-c", code, check=True).stdout == "False\n"
