"""Warm-ups: a lesson opens with three questions from earlier ones, the shakiest first."""

import functools
import html
import random

import ipywidgets as widgets

from helpers.exercises import content, quizzes
from helpers.exercises.progress import load, update
from helpers.widgets.fallback import StaticFallback

ITEMS = 3
QUICK = ("single", "multiple", "number", "shape")  # what takes about a minute
MISSED, GUESSED, NEW, KNOWN = range(4)  # what comes first
# Not before that lesson, unless answered: the first uses words that lesson 08 explains, the second would give away
# a prediction of lesson 02.
NOT_BEFORE = {"is_a_transformer_a_cnn": 8, "which_problems_attention_solves": 3}
BRANCHES = {15, 17}  # lessons that those who follow the line from 14 to 20 haven't met
# About numbers or a drawing that only their own lesson shows.
ONLY_THERE = {"winner_by_pencil", "score_of_the_cat", "likeliest_sentence"}
SURE = [("It's a guess", "guess"), ("I think so", "think"), ("I'm sure", "sure")]


def warm_up(lesson):
    """Ask three questions from the lessons before this one, to be answered from memory.

    What was missed or guessed comes first, then what hasn't come back yet. Once one is answered,
    the choice stays until all three are. What the lesson before showed in vain waits for its turn.

    Parameters
    ----------
    lesson : int
        The lesson that the warm-up opens.

    Returns
    -------
    warm_up : WarmUp
        A widget.

    Raises
    ------
    ValueError
        If no earlier lesson has questions.
    """
    return WarmUp(lesson)


def choose(lesson: int, state: dict) -> list[str]:
    """Choose the questions: what needs it most first, from as many lessons as possible.

    `state` is what `progress.load` returns.
    """
    pool = _pool(lesson)
    draw = random.Random(f"warm-up {lesson}")
    order = {name: draw.random() for name in sorted(pool)}
    passed_over, usual = _passed_over(lesson, state), _usual(lesson)
    need = {name: (name in passed_over, _need(name, state)) for name in pool}
    for name, first in NOT_BEFORE.items():
        if lesson < first and name not in state["questions"]:
            pool.pop(name, None)
    chosen = []
    while pool and len(chosen) < ITEMS:
        taken = [content.find(name, "question").lesson for name in chosen]
        best = min(pool, key=lambda n: (need[n], taken.count(pool[n]), n in usual, order[n]))
        chosen.append(best)
        del pool[best]
    return chosen


@functools.cache
def _usual(lesson):
    """Return what earlier warm-ups ask somebody of whom nothing is recorded."""
    nothing = {"questions": {}, "predictions": {}, "warm_ups": {}}
    return {name for earlier in range(1, lesson) for name in choose(earlier, nothing)}


def _passed_over(lesson, state):
    """Return what the last warm-up before this lesson showed and nobody answered."""
    last = max((key for key in state["warm_ups"] if key < f"{lesson:02}"), default="")
    last = state["warm_ups"].get(last, {})
    return set(last.get("shown", [])) - set(last.get("answered", []))


def _pool(lesson):
    """Return which questions can be asked, with the lesson of each."""
    met = {n for n in range(lesson) if n not in BRANCHES or lesson in BRANCHES}
    earlier = (q for q in content.catalogue("question").values() if q.lesson in met)
    return {q.name: q.lesson for q in earlier if q.kind in QUICK and q.name not in ONLY_THERE}


def _need(name, state):
    entry = state["questions"].get(name, {})
    recalled = entry.get("recalled")
    if recalled == "wrong":
        return MISSED
    if recalled == "right":
        return GUESSED if entry.get("confidence") == "guess" else KNOWN
    if entry.get("state") == "attempted" or entry.get("tries", 0) > 1:
        return MISSED
    # How the predictions went whose idea this question asks for.
    known, predicted = content.catalogue("prediction"), state["predictions"].items()
    went = [entry for one, entry in predicted if one in known and known[one].recall == name]
    return min(map(_need_after, went), default=NEW)


def _need_after(entry):
    if entry.get("right") is False:
        return MISSED
    return GUESSED if entry.get("confidence") == "guess" else NEW


class WarmUp(StaticFallback, widgets.VBox):
    """Three questions in one widget, each with the learner's confidence."""

    def __init__(self, lesson: int):
        self.lesson, self.key = lesson, f"{lesson:02}"
        state = load()
        kept = state["warm_ups"].get(self.key, {})
        asked, self.answered = kept.get("asked", []), list(kept.get("answered", []))
        if not set(asked) - set(self.answered) or not set(asked) <= set(_pool(lesson)):
            asked, self.answered = choose(lesson, state), []
        if not asked:
            raise ValueError(f"There are no questions from before lesson {self.key}.")
        self.asked = asked
        if state["questions"] or state["predictions"]:  # somebody is learning
            update("warm_ups", self.key, lambda entry: entry | {"shown": list(asked)})
        self.quizzes = [self._item(name) for name in asked]
        super().__init__([widgets.HTML(self._title()), *self.quizzes])
        self.add_class("course-warm-up")

    def __repr__(self):
        return f"WarmUp({self.lesson})"

    def static_html(self):
        """Return the questions and what can be chosen; no answer is in it."""
        return self._title() + "".join(quiz.static_html() for quiz in self.quizzes)

    def _title(self):
        number = {1: "One question", 2: "Two questions", 3: "Three questions"}[len(self.asked)]
        text = f"{number} from earlier lessons. Answer from memory, then check."
        return (
            f'<div style="font-size: 15px; line-height: 1.45"><strong>Warm-up.</strong> '
            f"{html.escape(text)}</div>"
        )

    def _item(self, name):
        quiz = quizzes.quiz(name)
        quiz.sure = widgets.ToggleButtons(
            options=SURE, value=None, style={"button_width": "110px"}, description="How sure?"
        )
        place = quiz.children.index(quiz.button)
        quiz.children = [*quiz.children[:place], quiz.sure, *quiz.children[place:]]
        quiz.layout.margin = "10px 0 6px"
        quiz.after_keeping.append(lambda right: self._keep(quiz, right))
        return quiz

    def _keep(self, quiz, right):
        """Keep an answer; only the first one shows what came from memory."""
        name = quiz.question.name
        if name not in self.answered:
            self.answered.append(name)
            recalled = {"recalled": "right" if right else "wrong", "confidence": quiz.sure.value}
            update("questions", name, lambda entry: entry | recalled)
            progress = {"asked": list(self.asked), "answered": list(self.answered)}
            update("warm_ups", self.key, lambda entry: entry | progress)
