"""Predictions in a real JupyterLab: answered by mouse and by keys, kept, folded until run."""

import nbformat
import pytest
from waits import READY, press

from notebooks import build

DEFINE = """
import os, tempfile
folder = tempfile.TemporaryDirectory()
os.environ["COURSE_PROGRESS"] = folder.name
from helpers import exercises
from helpers.exercises import content
from helpers.exercises.content import Prediction

shiny = Prediction(
    name="shiny",
    prompt="What happens to the `redness`?",
    options={
        "stays": ("It stays", "No."), "falls": ("It falls", "Yes."), "rises": ("It rises", "No.")
    },
    ask_why=True,
)
rest = Prediction(name="rest", prompt="How much?", unit="%", low=0, high=100, slider=True)
many = Prediction(name="many", prompt="How many?", unit="words")
content.catalogue("prediction").update(shiny=shiny, rest=rest, many=many)
"""
REPORT = """
from ipywidgets import Label
told = Label()
def tell(_=None):
    told.value = f"PY {[exercises.guess(name) for name in ('shiny', 'rest', 'many')]}"
for card in cards:
    card.observe(tell, "locked")
tell()
told
"""


@pytest.fixture
def page(open_notebook):
    made = [
        f'cards.append(exercises.predict("{name}"))\ncards[-1]'
        for name in ("shiny", "rest", "many")
    ]
    page = open_notebook([f"{DEFINE}\ncards = []", *made, REPORT], size=(1280, 1400))
    page.wait_for_selector(".pr >> nth=2")
    return page


def wait_for(page, guesses):
    page.wait_for_function("text => document.body.innerText.includes(text)", arg=f"PY {guesses}")


def test_every_kind_has_names_and_is_answered_with_the_mouse(page):
    options, slider, number = page.locator(".pr").all()
    assert options.get_by_role("group", name="What happens to the redness?").count() == 1
    assert options.get_by_role("group", name="How sure are you?").get_by_role("radio").count() == 3
    assert options.get_by_role("radio", name="It falls").count() == 1
    assert options.get_by_role("textbox", name="Why?").count() == 1
    assert slider.get_by_role("slider", name="Your number").count() == 1
    assert number.get_by_role("textbox", name="Your number, in words").count() == 1
    assert options.get_by_role("status").count() == 1

    options.get_by_label("It falls").click()
    options.locator(".pr-lock").click()
    page.wait_for_selector("text=Say how sure you are")
    options.get_by_label("I'm sure").click()
    options.locator(".pr-lock").click()
    wait_for(page, ["falls", None, None])
    assert options.locator(".pr-lock").count() == 0
    assert options.locator("input:enabled").count() == 0

    slider.get_by_label("I think so").click()
    slider.locator(".pr-lock").click()
    page.wait_for_selector("text=Give a number first")
    track = slider.locator("input[type=range]").bounding_box()
    page.mouse.click(track["x"] + track["width"] / 2, track["y"] + track["height"] / 2)
    assert slider.locator(".pr-value").inner_text() == "50%"
    slider.locator(".pr-lock").click()
    wait_for(page, ["falls", 50.0, None])

    number.locator(".pr-number").fill("80 000")
    number.get_by_label("It's a guess").click()
    number.locator(".pr-lock").click()
    wait_for(page, ["falls", 50.0, 80000.0])


def test_every_kind_is_answered_with_keys_that_jupyterlab_leaves_alone(page):
    options, slider, number = page.locator(".pr").all()
    options.get_by_label("It stays").press("ArrowDown")  # checks the next option
    page.keyboard.press("Tab")
    page.keyboard.type("add a dd why")  # a: insert a cell, dd: delete it, y: turn it into code
    press(page, "Tab", "Space", "ArrowRight", "Tab", "Enter")
    wait_for(page, ["falls", None, None])
    focused = page.evaluate("document.activeElement.className")
    assert "pr-next" in focused, "the line that says what to run next, when the button goes"

    slider.locator("input[type=range]").press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    slider.get_by_label("I'm sure").press("Space")
    page.keyboard.press("Enter")
    wait_for(page, ["falls", 48.0, None])

    number.get_by_label("I'm sure").check()
    number.locator(".pr-number").focus()
    page.keyboard.type("−5")
    page.keyboard.press("Enter")
    wait_for(page, ["falls", 48.0, -5.0])
    assert page.evaluate("jupyterapp.shell.currentWidget.content.widgets.length") == 5


def test_a_warm_up_is_answered_with_keys_that_jupyterlab_leaves_alone(open_notebook):
    page = open_notebook([DEFINE, "exercises.warm_up(6)", "1 + 1"], size=(1280, 1400))
    radios = page.locator(".course-warm-up input[type=radio]")
    radios.first.press("Space")
    press(page, "ArrowDown", "x")  # which would cut the cell
    assert radios.nth(1).is_checked()
    page.get_by_role("button", name="Check").first.press("Enter")
    page.wait_for_selector(".course-warm-up [role=status]")
    radios.nth(1).press("Shift+Enter")  # still runs the cell
    page.wait_for_function("() => jupyterapp.shell.currentWidget.content.activeCellIndex === 2")
    assert page.evaluate("jupyterapp.shell.currentWidget.content.widgets.length") == 3


def test_stored_answers_are_folded_until_their_cells_are_run(lab, chromium, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(build.ROOT))
    source = tmp_path / "43_folded.py"
    source.write_text(
        "# %% [markdown]\n# # A lesson\n\n"
        f"# %%\n{DEFINE}\n"
        '# %%\nexercises.predict("shiny")\n\n'
        '# %%\nprint("between")\n\n'
        '# %% tags=["hide-input"]\n# The first line is in view.\n'
        'exercises.reveal("shiny", measured="falls")\n\n'
        '# %%\nprint("after")\n',
        encoding="utf-8",
    )
    notebook = build.assemble(source)
    build.execute(notebook)
    address, token, folder = lab
    nbformat.write(notebook, folder / "folded.ipynb")
    page = chromium.new_page(viewport={"width": 1280, "height": 1400})
    page.goto(f"{address}/doc/tree/folded.ipynb?token={token}")
    page.wait_for_selector("text=after")
    shown = ".jp-OutputArea-output:visible"
    assert page.locator(f"{shown} >> text=It falls").count() == 1, "the list of the options"
    assert page.locator(f"{shown} >> text=between").count() == 0
    assert page.locator(f"{shown} >> text=Measured").count() == 0
    assert page.locator("text=measured=").count() == 0, "the source of the revealing cell"
    page.wait_for_function(READY)
    page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_selector(f"{shown} >> text=Measured: It falls")
    page.wait_for_selector(f"{shown} >> text=between")
    page.close()
