"""The slide show of a teacher's copy, in a real JupyterLab."""

import nbformat
import pytest
from waits import press

from notebooks import copies

BEGIN = ".course-deck-start"
NUMBER = ".course-deck-bar output"
LONG = "\n\n".join(f"Paragraph {i} says a little more than fits into a line." for i in range(30))
TALL = "from IPython.display import HTML\n\nHTML('<div style=\"height: 1500px\">a tower</div>')"
TEXTS = """() => [...document.querySelectorAll('.jp-Cell.on')].map(cell => cell.innerText)
    .join('\\n')"""


def text(source):
    return nbformat.v4.new_markdown_cell(source)


@pytest.fixture
def show(open_notebook):
    """Give a function that opens these cells and starts the show."""

    def start(*cells):
        page = open_notebook([copies.SLIDES, *cells], size=(1024, 768))
        page.locator(BEGIN).click()
        page.wait_for_selector(NUMBER)
        return page

    return start


def slides_of(page):
    """Go through the whole show; return what stands on each slide."""
    of = int(page.locator(NUMBER).inner_text().split("/")[1])
    found = []
    for number in range(1, of + 1):
        page.wait_for_function(
            "([place, n]) => document.querySelector(place).textContent.startsWith(`${n} /`)",
            arg=[NUMBER, number],
        )
        found.append(page.evaluate(TEXTS))
        page.keyboard.press("Space")
    return found


def test_a_show_is_the_core_and_each_part_begins_a_slide(show):
    notes = text("<details open>\n<summary>Notes for teachers</summary>\n\nA secret.\n\n</details>")
    page = show(text("# Title\n\nFirst."), notes, text("## One\n\nSecond."), text("## Practice"))
    slides = slides_of(page)
    assert len(slides) == 2
    assert "First." in slides[0]
    assert "Second." in slides[1]
    assert not any("secret" in slide or "Practice" in slide for slide in slides)
    # The space bar stays on the last slide, a letter is no command, and back goes back.
    press(page, "d", "d", "PageUp")
    assert page.locator(NUMBER).inner_text() == "1 / 2"
    assert page.evaluate("jupyterapp.shell.currentWidget.content.widgets.length") == 5


def test_every_word_is_on_a_slide_and_every_slide_fits(show):
    page = show(text("# Title"), text(LONG), TALL)
    slides = slides_of(page)
    assert len(slides) > 3
    for i in range(30):
        assert sum(f"Paragraph {i} says" in slide for slide in slides) == 1
    page.keyboard.press("End")
    assert "a tower" in page.evaluate(TEXTS)
    page.wait_for_function(
        """() => { const cell = document.querySelector('.jp-Cell.on');
           return cell.getBoundingClientRect().height < 1200; }"""
    )


def test_the_back_row_can_read_it_and_a_long_formula_is_whole(show):
    formula = " + ".join(f"x_{{{i}}}" for i in range(40))
    page = show(text(f"# Title\n\nA sentence.\n\n$${formula}$$"), "1 + 1")
    page.wait_for_selector(".jp-Cell.on mjx-container[style*=zoom]")
    edges = page.evaluate("""() => [".jp-Cell.on mjx-container", ".jp-Cell.on mjx-math"].map(
        place => document.querySelector(place).getBoundingClientRect().right)""")
    assert edges[1] <= edges[0] + 2 <= 1026
    size = "place => parseFloat(getComputedStyle(document.querySelector(place)).fontSize)"
    assert page.evaluate(size, ".jp-Cell.on .jp-RenderedMarkdown p") >= 24
    assert page.evaluate(size, ".jp-Cell.on .cm-content") >= 20


def test_whoever_has_run_nothing_is_told_to_and_can_go_on(open_notebook):
    page = open_notebook([copies.SLIDES, "1 + 1", "2 + 2"], size=(1024, 768))
    page.evaluate("""() => jupyterapp.shell.currentWidget.content.widgets.slice(1).forEach(
        cell => { cell.model.sharedModel.execution_count = null; })""")
    page.wait_for_function("() => document.body.innerText.includes('[ ]:')")
    page.locator(BEGIN).click()
    assert "Run All Cells" in page.locator(BEGIN).inner_text()
    page.locator(BEGIN).click()
    page.wait_for_selector(NUMBER)


@pytest.mark.weekly
def test_columns_that_wrap_make_a_slide_no_smaller_than_it_has_to_be(show):
    column = "<div style='width: 500px; height: 420px'>column</div>"
    html = f"<div style='display: flex; flex-wrap: wrap'>{2 * column}</div>"
    page = show(f"from IPython.display import HTML\n\nHTML({html!r})")
    assert page.wait_for_function(
        "() => parseFloat(document.querySelector('.jp-Cell.on').style.zoom || 1) > 0.7"
    )


def test_a_cell_runs_on_its_slide_and_escape_leaves_jupyterlab_as_it_was(show):
    page = show(text("# Title"), "import time; print('ran at', time.time_ns())")
    before = page.evaluate(TEXTS)
    page.keyboard.press("Control+Enter")
    page.wait_for_function(f"before => ({TEXTS})() !== before", arg=before)
    page.evaluate("document.exitFullscreen()")  # what Escape does; Playwright's stays in the page
    page.wait_for_selector(NUMBER, state="detached")
    assert page.locator(".course-deck").count() == 0
    assert page.locator("[data-off]").count() == 0
    assert page.locator(".jp-MenuBar, .lm-MenuBar").first.is_visible()
