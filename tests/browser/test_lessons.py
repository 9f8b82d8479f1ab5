"""Lessons in a real JupyterLab, in a real Chromium: what is painted, not only what is stored."""

from pathlib import Path

import nbformat
import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


def code_of(name):
    """Return the code cells of a lesson, in order."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def inked(page, canvas):
    """Count the different colours on a canvas."""
    return page.evaluate(
        """selector => {
          const canvas = document.querySelector(selector);
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          const seen = new Set();
          for (let i = 0; i < data.length; i += 4) seen.add(`${data[i]},${data[i+1]},${data[i+2]}`);
          return seen.size;
        }""",
        canvas,
    )


def picture_of(page, canvas):
    """Return the pixels of a canvas as text, to compare."""
    return page.evaluate("selector => document.querySelector(selector).toDataURL()", canvas)


@pytest.fixture(scope="module")
def map_of_lesson_00():
    return ".av-field canvas"


def test_lesson_00_runs_and_its_map_answers(open_notebook, map_of_lesson_00):
    page = open_notebook(code_of("00_start_here"))
    assert page.locator(".jp-OutputArea-output[data-mime-type*='stderr']").count() == 0
    page.locator(".av").scroll_into_view_if_needed()
    page.wait_for_selector(map_of_lesson_00)
    assert inked(page, map_of_lesson_00) > 10

    before = picture_of(page, map_of_lesson_00)
    sliders = page.locator(".av-slider input")
    sliders.nth(1).fill("2")  # another head
    page.wait_for_function(
        "before => document.querySelector('.av-field canvas').toDataURL() !== before", arg=before
    )
    page.locator(".av button[data-tab='encoder']").click()
    page.wait_for_function("() => document.querySelector('.av').innerText.includes('Une')")
    page.locator(".av button[data-view='lines']").click()
    page.wait_for_selector(".av[data-layout]")
    assert page.locator(".av button[data-view='lines']").get_attribute("aria-pressed") == "true"


def test_every_control_of_the_gallery_repaints_its_picture(open_notebook):
    page = open_notebook(code_of("92_widget_gallery"), size=(1280, 2400))
    # Make every cell of the long page be drawn, not only those in sight.
    count = page.evaluate("jupyterapp.shell.currentWidget.content.widgets.length")
    seen, moved = 0, 0
    for i in range(count):
        page.evaluate("i => jupyterapp.shell.currentWidget.content.scrollToItem(i, 'start')", arg=i)
        page.wait_for_timeout(250)
        for explorer in page.locator(".course-explorer").all():
            svg = explorer.locator("svg[role=img]").last
            if explorer.evaluate("box => box.dataset.moved || !(box.dataset.moved = 'yes')"):
                continue
            seen += 1
            moved += move_everything(page, explorer, svg)
    assert seen >= 12
    assert moved >= 100


def move_everything(page, explorer, svg):
    """Move every control of an explorer that is in sight; count those that changed the picture."""
    moved = 0
    switches = explorer.locator("input[type=checkbox], button.widget-toggle-button")
    for switch in switches.all():
        before = svg.inner_html()
        switch.click()
        expect_repaint(page, svg, before)
        moved += 1
    menus = explorer.locator("select").all()
    options = menus[0].locator("option").count() if menus else 1
    for option in range(options):  # a method has dials of its own
        for menu in menus:
            before, old = svg.inner_html(), menu.input_value()
            menu.select_option(index=option)
            if menu.input_value() != old:
                expect_repaint(page, svg, before)
                moved += 1
        for readout in explorer.locator(".widget-readout[contenteditable]").all():
            if readout.is_visible():
                before, old = svg.inner_html(), readout.inner_text()
                readout.fill("3" if old.strip() != "3" else "2")
                readout.press("Enter")
                page.wait_for_timeout(300)
                moved += svg.inner_html() != before
    for i, field in enumerate(explorer.locator("input[type=text]").all()):
        before = svg.inner_html()
        field.fill(f"zut {i}")  # no sentence that a model knows, and no three numbers
        field.press("Enter")
        expect_repaint(page, svg, before)
        moved += 1
    return moved


def expect_repaint(page, svg, before):
    """Wait until a picture differs from what it was."""
    for _ in range(40):
        if svg.inner_html() != before:
            return
        page.wait_for_timeout(100)
    assert svg.inner_html() != before
