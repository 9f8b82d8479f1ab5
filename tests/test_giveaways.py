"""No prediction is given away: what is in view before the reveal tells neither answer nor test."""

import functools
import html
import re

import pytest

from notebooks import build
from notebooks import giveaways as forms

NAMES = sorted(build.name_of(path) for path in build.lessons())
ASSERTION = re.compile(r"^\s*assert\b|\btorch\.testing\.|\bassert_\w+\(", re.MULTILINE)
ALT_TEXT = re.compile(r"""\balt\s*=|<img\b""")
WRITTEN_IN = re.compile(r"""\bmeasured\s*=\s*["'\d]""")
NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(%?)")
MOST_OFF = 2  # standard errors that a form may be away from chance, over the whole course


def giveaways(notebook):
    """List what tells the result of a prediction before it is revealed, as sentences."""
    cells = notebook.cells
    for name, ask, reveal in build.predictions(cells):
        if "hide-input" not in cells[reveal].metadata.get("tags", []):
            yield f"{name}: the source of the revealing cell is in view; tag it hide-input"
        for cell in cells[ask : reveal + 1]:
            if cell.cell_type == "code" and ASSERTION.search(in_view(cell)):
                yield f"{name}: an assertion is in view: {cell.source[:60]!r}"
            if ALT_TEXT.search(in_view(cell)):
                yield f"{name}: an alt text is in view: {cell.source[:60]!r}"
        for cell in cells[ask + 1 : reveal + 1]:
            shown = cell.cell_type == "code" and not build.PREDICT.search(cell.source)
            if shown and not cell.metadata.get("jupyter", {}).get("outputs_hidden"):
                yield f"{name}: a stored output is in view: {cell.source[:60]!r}"
        if WRITTEN_IN.search(in_view(cells[reveal])):
            yield f"{name}: the first line of the revealing cell, which is in view, tells"
        near = cells[section(cells, ask) : reveal + 1]
        told = "\n".join(in_view(cell) for cell in near)
        for answer in forms.measured(cells[reveal], name):
            if tells(told, answer):
                yield f"{name}: the text before the reveal says {answer!r}"
            below = beside(cells, reveal)
            if tells(below, answer) or rounds(below, answer):
                yield f"{name}: the text below the reveal says {answer!r}; give it to notebook.tell"


def in_view(cell):
    """Return what of a cell's source is in view; of a folded one, JupyterLab shows a line."""
    folded = cell.metadata.get("jupyter", {}).get("source_hidden")
    return cell.source.partition("\n")[0] if folded else cell.source


def section(cells, index):
    """Find the cell with the heading that a cell is under."""
    headed = [
        i for i in range(index) if cells[i].cell_type == "markdown" and "#" in cells[i].source
    ]
    return headed[-1] if headed else 0


def beside(cells, reveal):
    """Return the text below a revealing cell, up to the next heading or cell of code."""
    text = ""
    for cell in cells[reveal + 1 :]:
        if cell.cell_type == "code":
            break
        if "notes" not in cell.metadata.get("tags", []):
            under, heading, _ = f"\n{cell.source}".partition("\n#")
            text += under
            if heading:
                break
    return text


def tells(text, answer):
    """Tell whether a text holds an answer: its words in this order, or its number."""
    words = re.findall(r"[\w.,−]*\w", html.unescape(answer).lower())
    number = len(words) == 1 and words[0][0].isdigit()
    if len(answer) < 3 if number else len(words) < 3:
        return False  # "7" or "the river" can be in a text that tells nothing
    pattern = r"\W+".join(map(re.escape, words))
    return re.search(rf"(?<![\w.]){pattern}(?![\w]|\.\d)", text.lower()) is not None


def rounds(text, answer):
    """Tell whether a text has an answer's number, rounded, with the same unit."""
    value, unit = NUMBER.match(answer).groups() if NUMBER.match(answer) else ("", "")
    for told, told_unit in NUMBER.findall(text):
        digits = len(told.partition(".")[2])
        same = value and unit == told_unit and float(told) == round(float(value), digits)
        if same and (unit or digits):  # a bare "7" can mean anything
            return True
    return False


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_a_lesson_tells_before_the_reveal(name):
    assert list(giveaways(build.read(name))) == []


answered = functools.cache(forms.answered)


@pytest.mark.slow
@pytest.mark.parametrize("form", forms.FORMS)
def test_the_right_option_cannot_be_told_by_its_form(form):
    *_, z = forms.score(answered(), forms.FORMS[form])
    assert abs(z) <= MOST_OFF, f"`python -m notebooks.giveaways` shows where: {z:.1f}"


def test_a_form_that_tells_is_counted():
    for options, right, picks in [
        (["it falls", "it rises, because it's warm"], 0, {"bare", "shortest", "first"}),
        (["it rises, because it's warm", "it falls"], 1, {"bare", "shortest", "last"}),
        (["nothing", "nearly one"], 1, {"last", "longest", "most hedged"}),
    ]:
        asked = [("42", "shiny", options, right)] * 9
        found = {form: forms.score(asked, forms.FORMS[form]) for form in forms.FORMS}
        assert picks == {form for form, (hits, _, _, z) in found.items() if hits == 9 and z > 2}
