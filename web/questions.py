"""Questions on the site: every option opens its own explanation, with no kernel and no script."""

import html

from helpers.exercises import panels, quizzes
from helpers.exercises.progress import KINDS
from helpers.exercises.warm_up import choose

NOBODY = {kind: {} for kind in KINDS}  # whose progress the site knows
CHOOSE = "Choose an answer to see what's right or wrong about it."
COMPARE = "Work it out first, then compare."


def question(name: str) -> str:
    """Write a question, by `name`, with its answers folded, each under what one would choose."""
    made = quizzes.quiz(name)
    asked, right = made.question, ("Right.", "Not that one.")
    if asked.kind == "multiple":
        made.instruction, right = "Several can be right. Open each of them.", ("✓", "✗")
    else:
        made.instruction = CHOOSE if asked.kind == "single" else COMPARE
    if asked.kind in ("single", "multiple"):
        alone = f' name="course-{name}"' if asked.kind == "single" else ""
        folds = [_fold(o.text, f"<strong>{right[not o.right]}</strong> {panels.rich(o.why)}",
                       o.right, alone) for o in made.options]  # fmt: skip
    else:
        folds = [_fold("Compare", _answer(asked), True)]
    given = ", ".join(made.offered) if asked.kind == "order" else ""
    given = f"<p>To put in order: {html.escape(given)}.</p>" if given else ""
    return f'<div class="course-quiz">{made.prompt_html()}{given}{"".join(folds)}</div>'


def warm_up_of(lesson: int) -> str:
    """Write the three questions that open a lesson."""
    cards = "".join(question(name) for name in choose(lesson, NOBODY))
    return f"<p><strong>Warm-up.</strong> Questions from earlier lessons, from memory.</p>{cards}"


def _answer(asked):
    if asked.kind == "order":
        listed = "".join(f"<li>{html.escape(step)}</li>" for step in asked.answer)
        return f"<ol>{listed}</ol>{panels.rich(asked.why)}"
    if asked.kind == "match":
        pairs = (f"{html.escape(a)} → {html.escape(b)}" for a, b in asked.answer.items())
        return f"<ul>{''.join(f'<li>{pair}</li>' for pair in pairs)}</ul>{panels.rich(asked.why)}"
    if asked.kind == "open":
        return panels.rich(asked.answer)
    return f"<strong>{html.escape(str(asked.answer))}.</strong> {panels.rich(asked.why)}"


def _fold(words, told, right, alone=""):
    kind = "right" if right else "wrong"
    return (
        f'<details class="course-{kind}"{alone}><summary>{html.escape(words)}</summary>'
        f"<div>{told}</div></details>"
    )
