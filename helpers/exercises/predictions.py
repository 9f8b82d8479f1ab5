"""Predictions: commit to an answer first, then see it beside what was measured.

    exercises.predict("with_a_second_noun")                  # in a cell of its own
    exercises.reveal("with_a_second_noun", measured=100 * share)   # where it's measured, folded
    exercises.guess("with_a_second_noun")                    # the locked-in answer, for a figure

What can be predicted is in ``notebooks/source/NN_name/questions.py``, as `written` reads it.
"""

import html
import os

import anywidget
import traitlets
from IPython.display import display

from helpers.exercises import numerals, panels
from helpers.exercises.content import find
from helpers.exercises.progress import load, update
from helpers.widgets import modules
from helpers.widgets.fallback import StaticFallback

INNER_QUOTES = str.maketrans("“”", "‘’")
TEACHING = "COURSE_TEACHING"  # set by `make teach` in the environment of its kernels
SURE = {"guess": "a guess", "think": "you thought so", "sure": "you were sure"}


def predict(name: str):
    """Ask for a prediction; put it last in a cell before the one that measures.

    Returns
    -------
    card : Card
        A widget; its button locks the answer in, and the answer is kept with the progress.

    Raises
    ------
    ValueError
        If there is no such prediction.
    """
    return Card(find(name, "prediction"))


def guess(name: str):
    """Return what was locked in, for instance to mark it in a figure.

    Returns
    -------
    guess : str, float or None
        The key of an option, or a number in the prediction's unit; None if nothing was locked in.
    """
    return _locked_in(find(name, "prediction")).get("guess")


def reveal(name, measured):
    """Show what was measured beside what was predicted, and explain.

    Parameters
    ----------
    name : str
    measured : str or number
        The key of the option that turned out right, or the number in the prediction's unit.

    Raises
    ------
    ValueError
        If there is no such prediction, or `measured` can't be an answer to it.
    """
    prediction = find(name, "prediction")
    measured = _demand_answer(prediction, measured)
    locked = _locked_in(prediction)
    if locked:
        right = _is_right(prediction, locked["guess"], measured)
        update("predictions", name, lambda entry: {**entry, "right": right})
    display(Revealed(prediction, measured, locked))


def _demand_answer(prediction, measured):
    if prediction.options:
        if str(measured) not in prediction.options:
            raise ValueError(
                f"{prediction.name}: measured has to be one of {', '.join(prediction.options)}; "
                f"got {measured!r}."
            )
        return str(measured)
    try:
        return float(measured)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(
            f"{prediction.name}: measured has to be a number; got {measured!r}."
        ) from None


def _locked_in(prediction):
    """Return the entry of the progress file, or {}; an answer to an older wording doesn't count."""
    entry = load()["predictions"].get(prediction.name, {})
    answer = entry.get("guess")
    fits = answer in prediction.options if prediction.options else isinstance(answer, int | float)
    return entry if fits and entry.get("confidence") in SURE else {}


def _is_right(prediction, answer, measured):
    if prediction.options:
        return answer == measured
    scale = prediction.high - prediction.low if prediction.slider else abs(measured)
    return abs(answer - measured) <= prediction.close * scale + 1e-9


NEXT = "Now run the next cell: press ↓, then Shift + Enter."


class Card(StaticFallback, anywidget.AnyWidget):
    """The widget behind `predict`, for one `prediction`."""

    _esm = modules.module("prediction.js")
    _css = modules.styles("prediction.css")

    locked = traitlets.Dict().tag(sync=True)
    _asked = traitlets.Dict().tag(sync=True)
    _problem = traitlets.Unicode().tag(sync=True)

    def __init__(self, prediction):
        self.prediction = prediction
        super().__init__(_asked=_asked(prediction))
        earlier = _locked_in(prediction)
        if earlier:
            self.locked = {**_told(prediction, earlier), "earlier": True}
        self.on_msg(self._on_message)

    def __repr__(self):
        return f"Prediction({self.prediction.name!r})"

    def _on_message(self, _, message, __):
        if "lock" in message:
            sent = message["lock"]
            self.lock(sent.get("answer"), sent.get("confidence"), sent.get("why") or "")
        elif "again" in message:
            self.locked = {}

    def lock(self, answer, confidence, why=""):
        """Lock an answer in, unless something is missing; then say what.

        The answer is the key of an option or a number, also as it was typed. `confidence` is
        "guess", "think", "sure" or None; `why` is the reason, in a line.
        """
        if self.locked:
            return
        answer, self._problem = _understood(self.prediction, answer)
        if not self._problem and confidence not in SURE:
            self._problem = "Say how sure you are, then lock it in."
        if self._problem:
            return
        entry = {"guess": answer, "confidence": confidence}
        if why.strip():
            entry["why"] = " ".join(why.split())[:200]
        # A second prediction replaces the first, and whether that one was right.
        complaint = update("predictions", self.prediction.name, lambda _: dict(entry))
        self.locked = {**_told(self.prediction, entry), "earlier": False, "next": NEXT}
        self._problem = complaint

    def static_html(self):
        """Return the question and what can be chosen; no answer is in it."""
        prediction = self.prediction
        if prediction.options:
            items = "".join(f"<li>{panels.rich(t)}</li>" for t, _ in prediction.options.values())
            choice = f"<ul>{items}</ul>"
        else:
            choice = f"<p><em>{html.escape(_kind_of_number(prediction))}</em></p>"
        return (
            f'<div style="font-size: 15px; line-height: 1.45; max-width: 760px">'
            f"<p><strong>Predict.</strong> {panels.rich(prediction.prompt)}</p>{choice}</div>"
        )


def _asked(prediction):
    """Describe a prediction for the page."""
    asked = {
        "prompt": panels.rich(prediction.prompt),
        "kind": "options" if prediction.options else "slider" if prediction.slider else "number",
        "options": [[key, panels.rich(text)] for key, (text, _) in prediction.options.items()],
        "unit": prediction.unit,
        "why": prediction.ask_why,
    }
    if prediction.slider:
        ends = [numerals.write(end, prediction.unit) for end in (prediction.low, prediction.high)]
        asked.update(low=prediction.low, high=prediction.high, step=prediction.step, ends=ends)
    return asked


def _told(prediction, entry):
    """Describe a locked answer for the page."""
    sure = {"guess": "It's a guess", "think": "You think so", "sure": "You're sure"}
    words = [f"{sure[entry['confidence']]}."]
    if not prediction.options:
        words.insert(0, f"<strong>{numerals.write(entry['guess'], prediction.unit)}</strong>.")
    if entry.get("why"):
        words.append(f"“{html.escape(entry['why'])}”")
    told = f"Locked in. {' '.join(words)}"
    return {"guess": entry["guess"], "confidence": entry["confidence"], "told": told}


def _kind_of_number(prediction):
    unit = {"": "A number", "%": "A percentage"}.get(
        prediction.unit, f"A number of {prediction.unit}"
    )
    if prediction.low is None or prediction.high is None:
        return f"{unit}."
    low, high = (numerals.write(end) for end in (prediction.low, prediction.high))
    return f"{unit} between {low} and {high}."


def _understood(prediction, answer):
    """Return the answer as it is kept, and what is wrong with it ("" if nothing is)."""
    if answer is None or answer == "":
        return None, "Choose an answer first." if prediction.options else "Give a number first."
    if prediction.options:
        return answer, "" if answer in prediction.options else "Choose one of the answers."
    text = numerals.plain(str(answer))
    if numerals.comma_for_point(text):
        return None, f"Write “{answer}” with a decimal point: {numerals.pointed(text)}."
    try:
        number = numerals.read(text)
    except ValueError:
        return None, f"“{answer}” isn't a number. Write it like 0.25 or 512."
    low = float("-inf") if prediction.low is None else prediction.low
    high = float("inf") if prediction.high is None else prediction.high
    if not low <= number <= high:
        return None, f"That can't be. {_kind_of_number(prediction)}"
    return number, ""


class Revealed:
    """The measured result beside the prediction: HTML in a notebook, text in a terminal.

    `locked` is what was locked in, or {}.
    """

    def __init__(self, prediction, measured, locked):
        self.prediction, self.measured, self.locked = prediction, measured, locked

    def __repr__(self):
        told = [*self._mine(), *self._explanations(), *self._others()]
        return f"Measured: {self._write(self.measured)}\n" + "\n".join(told)

    def _repr_html_(self):
        look = "measured"
        if self.locked:
            right = _is_right(self.prediction, self.locked["guess"], self.measured)
            look = "right" if right else "off"
        line = "" if self.prediction.options else self._line()
        told = [*self._mine(), *self._explanations()]
        told, more = map(_written, (told, self._others()))
        body = line + told + (more and panels.folded("Each answer, explained", more))
        return panels.panel(look, body, f"Measured: {panels.rich(self._write(self.measured))}")

    def _write(self, answer):
        if self.prediction.options:
            return self.prediction.options[answer][0]
        return numerals.write(answer, self.prediction.unit)

    def _mine(self):
        """Say what was predicted, how sure, and for a number how far off it was."""
        if not self.locked:  # a class votes by hand, and its teacher predicts nothing
            return [] if os.environ.get(TEACHING) else ["You didn't predict this one."]
        answer, sure = self.locked["guess"], SURE[self.locked["confidence"]]
        if self.prediction.options:
            quoted = self._write(answer).translate(INNER_QUOTES)
            return [f"You predicted “{quoted}” ({sure})."]
        return [f"You predicted {self._write(answer)} ({sure}), {self._off(answer)}."]

    def _off(self, answer):
        off, unit = answer - self.measured, self.prediction.unit
        if abs(off) <= 1e-9 * max(1.0, abs(self.measured)):
            return "which is exactly right"
        side = "high" if off > 0 else "low"
        ratio = answer / self.measured if self.measured else 0.0
        if ratio >= 2 or 0 < ratio <= 0.5:
            factor = numerals.write(max(ratio, 1 / ratio), digits=2)
            return f"which is too {side} by a factor of {factor}"
        points = " percentage points" if unit == "%" else f" {unit}".rstrip()
        close = _is_right(self.prediction, answer, self.measured)
        much = f"{numerals.write(abs(off), digits=2)}{points}"
        return f"only {much} too {side}" if close else f"which is {much} too {side}"

    def _explanations(self):
        """Explain the option that was chosen; without a prediction, the one that is right."""
        prediction, told = self.prediction, []
        if prediction.options and self.locked:
            told.append(prediction.options[self.locked["guess"]][1])
        elif prediction.options:
            told += [] if prediction.explain else [prediction.options[self.measured][1]]
        elif self.locked and not _is_right(prediction, self.locked["guess"], self.measured):
            high = self.locked["guess"] > self.measured
            told.append(prediction.too_high if high else prediction.too_low)
        return [text for text in (*told, prediction.explain) if text]

    def _others(self):
        """Explain each option to those who chose none."""
        options = {} if self.locked else self.prediction.options or {}
        return [f"“{text}”: {why}" for text, why in options.values() if why]

    def _line(self):
        """Draw the measured number, and the predicted one if there is one, on a line."""
        numbers = [self.measured, *([self.locked["guess"]] if self.locked else [])]
        low = self.prediction.low if self.prediction.slider else min(0.0, *numbers)
        high = self.prediction.high if self.prediction.slider else max(0.0, *numbers) * 1.1
        marks = [panels.mark(_share(self.measured, low, high), "measured", "below")]
        if self.locked:
            marks.append(panels.mark(_share(self.locked["guess"], low, high), "you", "above"))
        return panels.number_line(marks)


def _written(texts):
    return "".join(f'<div style="margin-top: 4px">{panels.rich(text)}</div>' for text in texts)


def _share(number, low, high):
    """Say where on the line a number is, from 0 to 1."""
    return min(max((number - low) / ((high - low) or 1.0), 0.0), 1.0)
