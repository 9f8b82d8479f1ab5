"""Lessons in a real JupyterLab, in a real Chromium: what is painted, not only what is stored."""

import pytest

from notebooks import build

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def code_of(name):
    """Return the code cells of a lesson, in order."""
    notebook = build.assemble(build.SOURCES / f"{name}.py")
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
        page.wait_for_function(DRAWN, arg=i)
        for explorer in page.locator(".course-explorer").all():
            if explorer.evaluate("box => box.dataset.moved || !(box.dataset.moved = 'yes')"):
                continue
            seen += 1
            moved += move_everything(page, explorer)
    assert seen >= 12
    assert moved >= 100


# Whether a cell is on the page, and the picture of its widget, if it has one, too.
DRAWN = """i => {
  const cell = jupyterapp.shell.currentWidget.content.widgets[i];
  if (cell.isPlaceholder() || !cell.node.isConnected) return false;
  const outputs = cell.model.type === 'code' ? cell.model.outputs.toJSON() : [];
  const live = outputs.some(output => output.data?.['application/vnd.jupyter.widget-view+json']);
  return !live || cell.node.querySelector('.course-explorer svg[role=img], .av-field canvas');
}"""
PICTURE = "box => [...box.querySelectorAll('svg[role=img]')].at(-1)?.innerHTML"


def move_everything(page, explorer):
    """Move every control of an explorer that is in sight; count those that changed the picture."""
    moved = 0
    switches = explorer.locator("input[type=checkbox], button.widget-toggle-button")
    for switch in switches.all():
        before = explorer.evaluate(PICTURE)
        switch.click()
        expect_repaint(page, explorer, before)
        moved += 1
    menus = explorer.locator("select").all()
    options = menus[0].locator("option").count() if menus else 1
    for option in range(options):  # a method has dials of its own
        for menu in menus:
            before, old = explorer.evaluate(PICTURE), menu.input_value()
            menu.select_option(index=option)
            if menu.input_value() != old:
                expect_repaint(page, explorer, before)
                moved += 1
        for readout in explorer.locator(".widget-readout[contenteditable]").all():
            if readout.is_visible():
                before, old = explorer.evaluate(PICTURE), readout.inner_text()
                readout.fill("3" if old.strip() != "3" else "2")
                readout.press("Enter")
                let_the_kernel_answer(page)
                moved += explorer.evaluate(PICTURE) != before
    for i, field in enumerate(explorer.locator("input[type=text]").all()):
        before = explorer.evaluate(PICTURE)
        field.fill(f"zut {i}")  # no sentence that a model knows, and no three numbers
        field.press("Enter")
        expect_repaint(page, explorer, before)
        moved += 1
    return moved


def expect_repaint(page, explorer, before):
    """Wait until a picture differs from what it was."""
    page.wait_for_function(
        f"([box, before]) => ({PICTURE})(box) !== before", arg=[explorer.element_handle(), before]
    )


def let_the_kernel_answer(page):
    """Wait until the kernel has answered everything that was sent before: it keeps the order."""
    page.evaluate(
        """() => jupyterapp.shell.currentWidget.sessionContext.session.kernel
                 .requestExecute({ code: '' }).done"""
    )
    page.evaluate("() => new Promise(requestAnimationFrame)")  # and until it is painted
