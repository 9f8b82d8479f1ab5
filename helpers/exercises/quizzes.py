"""Questions that mark themselves: ipywidgets that work with the keyboard, under version 7 and 8."""

import html
import math
import random
import re

import ipywidgets as widgets

from helpers.exercises import numerals, panels
from helpers.exercises.content import find
from helpers.exercises.progress import record
from helpers.widgets.colours import LIGHT
from helpers.widgets.fallback import StaticFallback
from helpers.widgets.key_shield import KeyShield

NO_CHOICE = "choose …"
# An option longer than a line goes on below instead of over its neighbour.
WRAP = """<style>
.course-quiz .widget-radio-box { height: auto; }
.course-quiz .widget-radio-box label { display: flex; align-items: flex-start; gap: 8px;
  height: auto; line-height: 1.4; padding: 3px 0; margin: 0; white-space: normal; font-size: 15px; }
/* ipywidgets puts the button after its text; it belongs in front, in one column. */
.course-quiz .widget-radio-box label input { flex: none; order: -1; margin: 0; }
.course-quiz .widget-checkbox, .course-quiz .widget-label-basic { height: auto; }
.course-quiz .widget-label-basic { align-items: baseline; gap: 8px; line-height: 1.4;
  margin: 3px 0; white-space: normal; font-size: 15px; }
.course-quiz .widget-toggle-buttons { display: flex; flex-flow: row wrap; align-items: center;
  height: auto; gap: 4px; margin-top: 8px; }
.course-quiz .widget-toggle-buttons > label { width: auto; font-size: 14px; margin-right: 8px; }
.course-quiz .widget-toggle-buttons .widget-toggle-button { border-radius: 7px; font-size: 14px; }
.course-quiz { border: 1px solid rgba(110, 125, 140, 0.42); max-width: 760px; padding: 12px 18px;
  border-left: 6px solid #accent; border-radius: 4px 10px 10px 4px; box-sizing: border-box;
  width: auto; overflow: hidden; }
.course-quiz .mod-primary { background: #accent; color: white; border-radius: 8px; height: 36px; width: auto;
  padding: 0 20px; font: 600 15px system-ui, sans-serif; margin: 8px 0 0; align-self: flex-end; }
.course-quiz :focus-visible { outline: 2.5px solid #accent !important; outline-offset: 1px; }
</style>""".replace("#accent", LIGHT["query"])


def _wide():
    """Make a layout. Every control gets its own: one that is closed takes its layout with it."""
    return widgets.Layout(width="auto", max_width="760px")


def quiz(name: str, *more: str):
    """Show a question, or several below each other.

    Returns
    -------
    question : Quiz or Quizzes
        A widget; a question's `check` button marks the answer and explains it.

    Raises
    ------
    ValueError
        If there is no such question.
    """
    asked = [find(one, "question") for one in (name, *more)]
    made = [KINDS[question.kind](question) for question in asked]
    return Quizzes(made) if more else made[0]


class Quiz(StaticFallback, widgets.VBox):
    """A `question`, its controls, a button, and what is said to the answer."""

    instruction = ""
    button_text = "Check"
    offered = ()  # what can be chosen, for the static view

    def __init__(self, question):
        self.question = question
        self.after_keeping = []  # functions (right), called once an answer is kept
        # A fixed order for each question: stable outputs, and the right one is not always first.
        self.random = random.Random(question.name)
        self.said = widgets.HTML()
        self.button = widgets.Button(description=self.button_text, button_style="primary")
        self.button.on_click(lambda _: self.mark())
        prompt = widgets.HTML(WRAP + self.prompt_html(), layout=_wide())
        shield = KeyShield(box=".course-quiz", label=panels.bare(question.prompt))
        super().__init__([prompt, *self.controls(), self.button, self.said, shield])
        self.add_class("course-quiz")

    def __repr__(self):
        return f"Quiz({self.question.name!r})"

    def prompt_html(self):
        """Return the question as HTML."""
        note = f'<br><em style="opacity: 0.75">{self.instruction}</em>' if self.instruction else ""
        return (
            f'<div style="font-size: 15px; line-height: 1.45; white-space: normal">'
            f"<strong>Question.</strong> {panels.rich(self.question.prompt)}{note}</div>"
        )

    def static_html(self):
        """Return question and choices; no answer is in it."""
        items = "".join(f"<li>{html.escape(str(choice))}</li>" for choice in self.offered)
        return f"{self.prompt_html()}<ul>{items}</ul>" if items else self.prompt_html()

    def controls(self):
        """Make the controls; returns a list of widgets."""
        raise NotImplementedError

    def verdict(self):
        """Return (right, list of explanations, some of which may be empty)."""
        raise NotImplementedError

    def keep(self, right):
        """Keep with the progress whether the answer was right; returns what went wrong, or ""."""
        complaint = record("questions", self.question.name, right)
        for tell in self.after_keeping:
            tell(right)
        return complaint

    def mark(self):
        """Mark the answer that is given, and say why."""
        result = self.verdict()
        if result is None:
            self.said.value = panels.panel("open", "Give an answer first.", "No answer yet")
            return
        right, explanations = result
        complaint = self.keep(right)
        told = [text for text in (*explanations, complaint) if text]
        body = "<br>".join(panels.rich(text) for text in told)
        self.said.value = panels.panel("right" if right else "wrong", body)


class Quizzes(StaticFallback, widgets.VBox):
    """Several `quizzes`, each in a frame of its own."""

    def __init__(self, quizzes):
        for one in quizzes:
            one.layout.margin = "6px 0"
        super().__init__(quizzes)

    def __repr__(self):
        return f"Quizzes{tuple(one.question.name for one in self.children)}"

    def static_html(self):
        """Return the questions and what can be chosen; no answer is in it."""
        return "".join(one.static_html() for one in self.children)


class Single(Quiz):
    """One option is right."""

    def controls(self):
        self.options = self.random.sample(self.question.options, len(self.question.options))
        self.offered = [option.text for option in self.options]
        self.choice = widgets.RadioButtons(options=self.offered, index=None, layout=_wide())
        return [self.choice]

    def verdict(self):
        """Explain the chosen option."""
        if self.choice.index is None:
            return None
        option = self.options[self.choice.index]
        return option.right, [option.why]


class Multiple(Quiz):
    """Any number of options may be right."""

    instruction = "Several can be right."

    def controls(self):
        self.options = self.random.sample(self.question.options, len(self.question.options))
        self.offered = [option.text for option in self.options]
        self.boxes = [
            widgets.Checkbox(description=text, indent=False, layout=_wide())
            for text in self.offered
        ]
        return self.boxes

    def verdict(self):
        """Explain every option that is ticked wrongly or missing; all of them when right."""
        if not any(box.value for box in self.boxes):
            return None
        pairs = list(zip(self.boxes, self.options, strict=True))
        off = [option for box, option in pairs if box.value != option.right]
        told = off or self.options
        return not off, [f"“{option.text}” {option.why}" for option in told]


class Number(Quiz):
    """A number, within a tolerance."""

    instruction, asked = "Type a number.", "answer"

    def controls(self):
        narrow = widgets.Layout(width="320px", max_width="98%")
        self.field = widgets.Text(description=self.asked, layout=narrow)
        return [self.field]

    def verdict(self):
        """Compare; a known wrong number gets its own explanation."""
        text = numerals.plain(self.field.value)
        if not text:
            return None
        pointed = numerals.pointed(text) if "," in text else text
        thousands = numerals.THREE_DIGITS.fullmatch(text)
        if numerals.comma_for_point(text) or (thousands and self._right(pointed)):
            return False, [f"Write “{text}” with a decimal point: {pointed}."]
        try:
            number = numerals.read(text)
        except ValueError:
            return False, [f"“{self.field.value}” isn't a number. Write it like 0.25 or 512."]
        if self._right(number):
            return True, [self.question.why]
        known = [option.why for option in self.question.options if self._near(number, option.text)]
        return False, known or [
            "Not that number. Write down what is being counted, then try again."
        ]

    def _right(self, number):
        return self._near(float(number), self.question.answer)

    def _near(self, number, wanted):
        wanted = float(wanted)
        return abs(number - wanted) <= max(self.question.tolerance * abs(wanted), 1e-9)


class Shape(Number):
    """The shape of a tensor, in the letters of the course or in numbers."""

    instruction, asked = "Type a shape, for example (B, T, D) or (2, 64).", "shape"

    def verdict(self):
        """Compare axis by axis; a known wrong shape gets its own explanation."""
        given, wanted = _axes(self.field.value), _axes(self.question.answer)
        if not given:
            return None
        if given == wanted:
            return True, [self.question.why]
        known = [o.why for o in self.question.options if _axes(o.text) == given]
        if not known and any(" " in axis for axis in given):
            known = ["Put commas between the dimensions, as in (2, 64)."]
        if not known and sorted(given) == sorted(wanted):
            known = ["The dimensions are right, but in another order."]
        if not known and any(map(str.isdecimal, wanted)) and not any(map(str.isdecimal, given)):
            known = ["Those are letters. Here the numbers are asked for."]
        if not known and len(given) != len(wanted):
            axes = "dimension" if len(given) == 1 else "dimensions"
            known = [f"You gave {len(given)} {axes}, but it has {len(wanted)}."]
        return False, known or [
            "Not that shape. Which dimensions go in, and over which one is summed?"
        ]


def _axes(text):
    """Read a shape: "(3, 4)", "3 × 4", "B x T", "torch.Size([3, 4])"; 2*3 in it is 6, 3² is 9."""
    text = str(text)[:200].replace("torch.Size", "")  # nobody means a number of 5,000 digits
    text = re.sub(r"(\w+?)²", r"\1*\1", text)
    text = re.sub(r"(\w+?)³", r"\1*\1*\1", text)
    text = re.sub(r"×|(?<=\d)\s*[xX]\s*(?=\d)|(?<=\w)\s+[xX]\s+(?=\w)", ",", text)
    text = text.strip().strip("()[] ")
    axes = [axis.strip().upper() for axis in text.split(",") if axis.strip()]
    return [_multiplied(axis) for axis in axes]


def _multiplied(axis):
    factors = [factor.strip() for factor in axis.split("*")]
    return str(math.prod(map(int, factors))) if all(f.isdecimal() for f in factors) else axis


class Order(Quiz):
    """Put steps in order."""

    instruction = "Choose the step for each place."

    def controls(self):
        steps = self.question.answer
        self.offered = self.random.sample(steps, len(steps))
        options = [NO_CHOICE, *self.offered]
        self.places = [
            widgets.Dropdown(description=f"{i + 1}.", options=options, layout=_wide())
            for i in range(len(steps))
        ]
        return self.places

    def verdict(self):
        """Name the first place that is wrong."""
        given = [place.value for place in self.places]
        if NO_CHOICE in given:
            return None
        for i, (chosen, wanted) in enumerate(zip(given, self.question.answer, strict=True)):
            if chosen != wanted:
                before = f"After “{given[i - 1]}”, " if i else ""
                return False, [f"{before}place {i + 1} is not “{chosen}”. {self.question.why}"]
        return True, [self.question.why]


class Match(Quiz):
    """Match two lists."""

    instruction = "Choose the partner of each."

    def controls(self):
        self.offered = list(self.question.answer)
        rights = list(dict.fromkeys(self.question.answer.values()))
        options = [NO_CHOICE, *self.random.sample(rights, len(rights))]
        style = {"description_width": "260px"}
        self.menus = {
            left: widgets.Dropdown(description=left, options=options, layout=_wide(), style=style)
            for left in self.offered
        }
        return list(self.menus.values())

    def verdict(self):
        """Name the pairs that are wrong."""
        given = {left: menu.value for left, menu in self.menus.items()}
        if NO_CHOICE in given.values():
            return None
        off = [left for left, right in self.question.answer.items() if given[left] != right]
        if off:
            return False, [f"Look again at: {', '.join(off)}.", self.question.why]
        return True, [self.question.why]


class Open(Quiz):
    """A question to write about; then a model answer to compare with."""

    instruction = "Write your own answer first, then compare. This works well in pairs."
    button_text = "Compare with a model answer"

    def controls(self):
        wide = widgets.Layout(width="100%", max_width="760px")
        self.field = widgets.Textarea(placeholder="Your answer", layout=wide)
        return [self.field]

    def mark(self):
        """Show the model answer once something is written."""
        if len(self.field.value.split()) < 3:
            note = "Write a sentence of your own first, then you'll see the model answer."
            self.said.value = panels.panel("open", note, "No answer yet")
            return
        complaint = self.keep(True)
        body = panels.rich(f"{self.question.answer} {complaint}".rstrip())
        self.said.value = panels.panel("solution", body, "A model answer")


KINDS = {one.__name__.lower(): one for one in (Single, Multiple, Number, Shape, Order, Match, Open)}
