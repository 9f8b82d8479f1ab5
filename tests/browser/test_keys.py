"""JupyterLab leaves the keys of our widgets alone: driven by keyboard in a real JupyterLab."""

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

BOX = """
import ipywidgets
from helpers.widgets.key_shield import KeyShield
answers = ipywidgets.RadioButtons(options=["one", "two", "three"])
field = ipywidgets.Text()
box = ipywidgets.VBox([answers, field, KeyShield(box=".shielded", label="How many?")])
box.add_class("shielded")
box
"""


def cells(page):
    """Count the notebook's cells."""
    return page.evaluate("jupyterapp.shell.currentWidget.content.widgets.length")


def test_a_shielded_box_of_ipywidgets_keeps_its_keys(open_notebook):
    page = open_notebook([BOX, "1 + 1"])
    group = page.get_by_role("radiogroup", name="How many?")
    group.wait_for()
    radios = group.locator("input")
    radios.nth(0).click()
    page.keyboard.press("ArrowDown")
    assert radios.nth(1).is_checked()
    assert page.evaluate("document.activeElement.type") == "radio"
    for key in "xbadd":
        page.keyboard.press(key)
    assert cells(page) == 2
    page.locator(".shielded input[type=text]").click()
    page.keyboard.type("dd x")
    assert page.locator(".shielded input[type=text]").input_value() == "dd x"
    assert cells(page) == 2
    radios.nth(1).focus()
    page.keyboard.press("Shift+Enter")  # still runs the cell
    page.wait_for_function("() => jupyterapp.shell.currentWidget.content.activeCellIndex === 1")
