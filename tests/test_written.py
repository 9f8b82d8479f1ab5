"""Questions written as text say what their author meant, or which line isn't clear."""

from samples import refuses

from helpers.exercises import written
from helpers.exercises.content import Option, Prediction, Question

QUESTIONS = r"""
[a: single]
Which $\sqrt{d}$?
+ This. | Yes: so.
- That. | No.

[b: number]
How many?
- 3 | One too many.
answer: 2
why: Count: two.
tolerance: 0.1

[c: order]
In which order?
* first
* then
why: So.

[d: match]
What goes with what?
* left -> right
why: So.

[e: shape]
Which shape?
answer: (B, T)
why: A row a sentence.
"""


def test_each_kind_of_question_is_read():
    options = [Option("This.", "Yes: so.", True), Option("That.", "No.")]
    assert written.questions(QUESTIONS) == [
        Question("a", r"Which $\sqrt{d}$?", "single", options),
        Question("b", "How many?", "number", [Option("3", "One too many.")], 2, "Count: two.", 0.1),
        Question("c", "In which order?", "order", answer=["first", "then"], why="So."),
        Question("d", "What goes with what?", "match", answer={"left": "right"}, why="So."),
        Question("e", "Which shape?", "shape", answer="(B, T)", why="A row a sentence."),
    ]


def test_a_prediction_is_read_with_its_fields():
    text = "[p]\nHow far?\n- near: one: or two | So near?\nlow: 0\nask_why: yes\nunit: words"
    options = {"near": ("one: or two", "So near?")}
    percent = {"unit": "%", "low": 0.0, "high": 100.0, "slider": True}
    assert written.predictions(
        f"{text}\n\n[q]\nHow much?\nunit: %\n\n[r]\nAnd?\nunit: %\nhigh: 50"
    ) == [
        Prediction("p", "How far?", options, low=0.0, ask_why=True, unit="words"),
        Prediction("q", "How much?", **percent),
        Prediction("r", "And?", **percent | {"high": 50.0}),
    ]


def test_a_line_that_is_not_clear_is_named():
    read, single = written.questions, "[mask: single]\nWhich?\n"
    refuses(r"expected \[name\] or \[name: kind\].*'mask'", read, "mask\nWhich?")
    refuses("then a prompt", read, "[mask: single]")
    refuses("mask: the kind has to be one of single.*'singel'", read, "[mask: singel]\nWhich?")
    refuses(r"mask: expected one '\|' in 'this'", read, f"{single}- this")
    refuses(r"mask: expected one '\|'", read, f"{single}- this | that | more")
    refuses("mask: expected one '->'", read, "[mask: match]\nWhich?\n* this, that")
    refuses("mask: there is no field 'whi'; fields: name", read, f"{single}whi: so")
    refuses("mask: a number question needs a line", read, "[mask: number]\nHow many?\n- 3 | One.")
    refuses("mask: expected one ':' in 'and more'", read, f"{single}and more")
    refuses("p: a prediction has no kind; got 'single'", written.predictions, "[p: single]\nWhich?")
