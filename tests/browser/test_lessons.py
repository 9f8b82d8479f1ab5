"""Lessons in a real JupyterLab, in a real Chromium: what is painted, not only what is stored."""

import pytest
from samples import once_a_week
from waits import PATIENCE, enter

from notebooks import build


@pytest.mark.parametrize("every", once_a_week([1, 12], [12]))
def test_every_control_of_the_gallery_repaints_its_picture(open_notebook, every):
    gallery = build.assemble(build.source_of("92_widget_gallery"))
    setup, tools, *shown = [cell.source for cell in gallery.cells if cell.cell_type == "code"]
    code = [setup, tools, *shown[every - 1 :: every]]
    page = open_notebook(code, size=(1280, 900))
    page.emulate_media(reduced_motion="reduce")
    # Make every cell of the long page be drawn, not only those in sight.
    count = page.evaluate("jupyterapp.shell.currentWidget.content.widgets.length")
    moved, small, n_seen = [], {}, 0
    for i in range(count):
        page.evaluate("i => jupyterapp.shell.currentWidget.content.scrollToItem(i, 'start')", arg=i)
        page.wait_for_function(DRAWN, arg=i)
        for explorer in page.query_selector_all(".course-explorer:not([data-moved])"):
            explorer.evaluate("box => (box.dataset.moved = 'yes')")
            n_seen += 1
            moved += move_everything(explorer)
            small[explorer.get_attribute("aria-label")] = explorer.evaluate(NARROW)
    assert n_seen >= 12 // every
    # At 1024 × 768 with the file browser open, a whole explorer is on the screen, and legible.
    # The shape tracer's 28 lines stay 24 pixels high there, so its drawings come below each other.
    tall = {name for name, size in small.items() if size["height"] > 600}
    assert tall <= {
        "Step through every tensor that a sentence becomes, and break the line that makes it."
    }
    assert {name: size for name, size in small.items() if size["letters"] < 11.9} == {}
    assert len(moved) >= 80 // every
    # A field was given words that it refuses, a handle that runs along a line ignores one arrow,
    # the ward's whole model is chosen already, the endless story's temperature holds from the next
    # piece on, and where the translator is sure, another seed draws the same token and top-p
    # leaves it.
    still = [kind for kind, _, changed in moved if not changed]
    assert set(still) <= {"input[type=text]", "input[type=range]", ".handle", ".hit"}
    named = {name for kind, name, changed in moved if not changed and kind != ".handle"}
    assert named - {""} <= {
        "Look at the whole model", "Temperature", "Top-p (1: all)", "Seed"
    }  # fmt: skip
    assert still.count(".hit") <= 2
    assert still.count("input[type=range]") <= 3
    assert still.count(".handle") <= [kind for kind, *_ in moved].count(".handle") // 2


# The height of an explorer, and its smallest letters, as wide as it is there.
NARROW = """async box => {
  const holder = box.parentElement;
  const frame = () => new Promise(requestAnimationFrame);
  holder.style.width = '592px';
  for (let i = 0; i < 90 && (i < 2 || box.offsetHeight > 600); i++) await frame(); // it's redrawn
  const letters = [...box.querySelectorAll('.ex-picture text')].map(text => {
    const { a } = text.ownerSVGElement.getScreenCTM();
    return a * parseFloat(getComputedStyle(text).fontSize);
  });
  const found = { height: box.offsetHeight, letters: Math.min(...letters) };
  holder.style.width = '';
  return found;
}"""

# Whether a cell is on the page, and the picture of its widget, if it has one, too.
DRAWN = """i => {
  const cell = jupyterapp.shell.currentWidget.content.widgets[i];
  if (cell.isPlaceholder() || !cell.node.isConnected) return false;
  const outputs = cell.model.type === 'code' ? cell.model.outputs.toJSON() : [];
  const live = outputs.some(output => output.data?.['application/vnd.jupyter.widget-view+json']);
  return !live || cell.node.querySelector('.course-explorer svg, .av-field canvas, .mm canvas');
}"""


def move_everything(explorer):
    """Move every control of an explorer and two places of its picture; say which changed it.

    Its parts are asked for in the page: a locator would look through the whole long page for each.
    """
    moved = []
    # Cells that come into view take their size only then, and move what is below them.
    explorer.scroll_into_view_if_needed()
    explorer.evaluate("() => new Promise(done => setTimeout(done, 300))")
    for kind, which, change in (
        ("input[type=checkbox]", slice(None), lambda box: box.click()),
        ("select", slice(None), lambda menu: menu.select_option(index=menu.evaluate(OTHER))),
        ("input[type=range]", slice(None), lambda slider: slider.press(slider.evaluate(INWARDS))),
        (".handle", slice(None), lambda handle: handle.press("ArrowRight")),
        (".handle", slice(None), lambda handle: handle.press("ArrowUp")),
        (".hit", slice(-1, None), lambda place: place.click(force=True)),
        (".hit", slice(2, 3), lambda place: place.press("Enter")),
        ("input[type=text]", slice(None), lambda field: enter(field, "zut 1")),
    ):
        number = explorer.evaluate("(box, kind) => box.querySelectorAll(kind).length", kind)
        for i in range(number)[which]:
            part = explorer.evaluate_handle(USABLE, [kind, i]).as_element()
            if part:
                name = part.evaluate(NAME)
                change(part)
                changed = explorer.evaluate("box => box.changed")
                assert changed is not None, (
                    f"no answer to {kind} of {explorer.get_attribute('aria-label')}"
                )
                moved.append((kind, name, changed))
    return moved


# A slider's words, or what a place of the picture says before its number; a field has none.
NAME = """part => part.type === 'range' ? part.parentElement.innerText.split('\\n')[0]
  : (part.type !== 'text' && part.getAttribute('aria-label') || '').split(':')[0]"""
OTHER = "menu => +!menu.selectedIndex"
# Which key moves a slider: at its end only one of the two does.
INWARDS = "slider => slider.value === slider.max ? 'ArrowLeft' : 'ArrowRight'"

# A part of an explorer, or null where no hand could move it. From here on the explorer listens:
# ``changed`` will be whether Python's next answer is another picture, or null without an answer.
USABLE = f"""(box, [kind, i]) => {{
  const part = box.querySelectorAll(kind)[i];
  if (!part?.checkVisibility() || part.disabled) return null;
  const picture = () => box.querySelector('.ex-picture').innerHTML;
  const [answered, before] = [box.dataset.answered, picture()];
  box.changed = new Promise(done => {{
    const late = setTimeout(() => done(null), {PATIENCE});
    const heard = new MutationObserver(() => {{
      if (box.dataset.answered === answered) return;
      heard.disconnect();
      clearTimeout(late);
      done(picture() !== before);
    }});
    heard.observe(box, {{ attributeFilter: ['data-answered'] }});
  }});
  return part;
}}"""
