"""No prediction is given away: what is in view before the reveal tells neither answer nor test."""

import html
import re

import nbformat
import pytest

from notebooks import build, reading
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
    notebook = reading.read(name)
    assert list(giveaways(notebook)) == []


@pytest.mark.slow
@pytest.mark.parametrize("form", forms.FORMS)
def test_the_right_option_cannot_be_told_by_its_form(form):
    *_, z = forms.score(forms.answered(), forms.FORMS[form])
    assert abs(z) <= MOST_OFF, f"`python -m notebooks.giveaways` shows where: {z:.1f}"


@pytest.mark.parametrize(
    ("options", "right", "picks"),
    [
        (["it falls", "it rises, because it's warm"], 0, {"bare", "shortest", "first"}),
        (["it rises, because it's warm", "it falls"], 1, {"bare", "shortest", "last"}),
        (["nothing", "nearly one"], 1, {"last", "longest", "most hedged"}),
    ],
)
def test_a_form_that_tells_is_counted(options, right, picks):
    asked = [("42", "shiny", options, right)] * 9
    found = {form: forms.score(asked, forms.FORMS[form]) for form in forms.FORMS}
    assert picks == {form for form, (hits, _, _, z) in found.items() if hits == 9 and z > 2}


LESSON = """\
# %% [markdown]
# # A lesson
#
# ## How redness changes

# %% tags=["set-up"]
from helpers import notebook

# %% tags=["hide-input"]
from helpers import exercises
from helpers.exercises import content

shiny = content.Prediction(
    name="shiny",
    prompt="What happens to the redness of 0.47?",
    options={"falls": ("It goes down a lot", "It is shared."), "stays": ("It stays", "No, look.")},
)
rest = content.Prediction(name="rest", prompt="How much?", unit="%", explain="Because.")
content.catalogue("prediction").update(shiny=shiny, rest=rest)

# %%
exercises.predict("shiny")

# %%
redness = 0.32
print("redness", redness)

# %% tags=["hide-input"]
turned_out = "falls" if redness < 0.4 else "stays"
exercises.reveal("shiny", measured=turned_out)
assert redness < 0.4

# %%
assert redness > 0.2, "in view, but after the reveal"

# %%
exercises.predict("rest")

# %%
print("revealed soon")

# %% tags=["hide-input"]
# What the others get.
weight = 7.02
exercises.reveal("rest", measured=weight)
assert weight > 7
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build the small lesson, once."""
    path = tmp_path_factory.mktemp("source") / "42_lesson" / "lesson.py"
    path.parent.mkdir()
    path.write_text(LESSON, encoding="utf-8")
    notebook = build.assemble(path)
    build.execute(notebook)
    return notebook


def assembled(tmp_path, old, new):
    """Assemble the small lesson with something changed, as if it had been executed."""
    assert old in LESSON
    path = tmp_path / "42_lesson" / "lesson.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(LESSON.replace(old, new), encoding="utf-8")
    notebook = build.assemble(path)
    for _, _, reveal in build.predictions(notebook.cells):
        answer = "It goes down a lot" if "shiny" in notebook.cells[reveal].source else "7.02%"
        data = {"text/plain": f"Measured: {answer}\nYou didn't predict this one."}
        output = nbformat.v4.new_output("display_data", data)
        notebook.cells[reveal].outputs = [output]
    return notebook


@pytest.mark.slow
def test_the_small_lesson_tells_nothing_and_its_answers_are_read(built):
    assert list(giveaways(built)) == []
    found = [forms.measured(built.cells[i], name) for name, _, i in build.predictions(built.cells)]
    assert found == [["It goes down a lot"], ["7.02%"]]


@pytest.mark.slow
def test_outputs_are_folded_from_the_prediction_to_the_reveal_and_no_further(built):
    hidden = [cell.metadata.get("jupyter", {}).get("outputs_hidden", False) for cell in built.cells]
    assert hidden == [False] * 4 + [True] * 2 + [False] * 2 + [True] * 2
    assert built.cells[5].metadata["jupyter"] == {"source_hidden": True, "outputs_hidden": True}


@pytest.mark.slow
def test_a_prediction_is_stored_as_a_list_without_its_answer(built):
    shown = "".join(output.data.get("text/html", "") for output in built.cells[3].outputs)
    assert "It goes down a lot" in shown
    assert "shared" not in shown


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('tags=["hide-input"]\nturned_out', "\nturned_out", "tag it"),
        ('print("redness", redness)', "assert redness < 0.4", "an assertion is in view"),
        ('print("redness", redness)', "torch.testing.assert_close(1, 1)", "an assertion is in"),
        ('print("redness", redness)', 'figure(f, alt="It falls.")', "an alt text is in view"),
        ('print("redness", redness)', "# it goes down, a lot", "says 'It goes down a lot'"),
        ("How redness changes", "It *goes down* a lot", "says 'It goes down a lot'"),
        ('print("revealed', 'print("7.02%', "says '7.02%'"),
        (
            "assert redness < 0.4\n\n# %%\n",
            "assert redness < 0.4\n\n# %% [markdown]\n# So it *goes down*, a lot.\n\n# %%\n",
            "below the reveal says 'It goes down a lot'",
        ),
    ],
)
def test_what_tells_is_found(tmp_path, old, new, fault):
    found = list(giveaways(assembled(tmp_path, old, new)))
    assert len([text for text in found if fault in text]) == 1, found


@pytest.mark.slow
def test_a_stored_output_in_view_is_found(built, tmp_path):
    notebook = assembled(tmp_path, "redness = 0.32", "redness = 0.32")
    del notebook.cells[4].metadata["jupyter"]
    assert ["a stored output is in view" in text for text in giveaways(notebook)] == [True]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('exercises.reveal("shiny"', "print(", "Never revealed: shiny"),
        ('exercises.predict("rest")', "print()", "'rest' is revealed, but"),
    ],
)
def test_a_prediction_and_its_reveal_belong_together(tmp_path, old, new, fault):
    with pytest.raises(ValueError, match=fault):
        assembled(tmp_path, old, new)


@pytest.mark.parametrize(
    ("text", "answer", "told"),
    [
        ("they get 7%", "6.98%", True),
        ("they get 7.0%", "6.98%", True),
        ("they get 8%", "6.98%", False),
        ("7 words", "6.98%", False),
        ("an error of 0.27", "0.272", True),
        ("0 or 1", "0.272", False),
        ("three of them", "one unit", False),
    ],
)
def test_a_rounded_answer_is_recognised_in_a_text(text, answer, told):
    assert rounds(text, answer) is told


@pytest.mark.parametrize(
    ("text", "answer", "told"),
    [
        ("it is 7.02% of all", "7.02%", True),
        ("it is 17.02% of all", "7.02%", False),
        ("about 7 words", "7", False),
        ("On the *two* adjectives.", "on the two adjectives", True),
        ("on the other two adjectives", "on the two adjectives", False),
        ("the bank of the river", "the river", False),
    ],
)
def test_an_answer_is_recognised_in_a_text(text, answer, told):
    assert tells(text, answer) is told
