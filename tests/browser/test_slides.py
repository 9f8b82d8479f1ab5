"""Every slide of a lesson's core fits a projector, measured as Chromium paints it."""

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter, html
from waits import ALIVE

from notebooks import build, copies, slides

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LESSONS = [name for path in build.lessons() if (name := build.name_of(path)) < "90"]
PATIENCE = 120_000  # milliseconds; every widget of a lesson is alive on one page
# What a slide show hides of JupyterLab, and the width that it gives to the cells.
AS_ON_SLIDES = f"""<style>
  body {{ margin: 0; padding: 0 !important; width: {slides.WIDTH}px; }}
  .jp-Cell, .jp-Notebook {{ margin: 0 !important; padding: 0 !important; }}
  .jp-InputPrompt, .jp-OutputPrompt {{ display: none !important; }}
  .folded .jp-Cell-inputWrapper {{ height: {slides.FOLDED_AWAY}px; overflow: hidden; }}
</style>"""
HEIGHTS = """folded => [...document.querySelectorAll('.jp-Cell')].map((cell, i) => {
  if (folded[i]) cell.classList.add('folded');
  return cell.getBoundingClientRect().height;
})"""


class Unread(str):
    """A page as it is, where an export would go through all of it once more for its readers.

    It would give tab stops to the cells, and words to pictures that have none, which takes as
    long as all the rest and changes no height.
    """

    def __new__(cls, page, features):
        return super().__new__(cls, page)

    def select(self, what):
        return []


@pytest.fixture(scope="module")
def heights(chromium, tmp_path_factory):
    """Give a function that paints cells below each other and returns how high each one is."""
    page = chromium.new_context(offline=True).new_page()
    page.set_default_timeout(PATIENCE)
    path = tmp_path_factory.mktemp("slides") / "slides.html"
    # The code is ours, so nothing in it has to be made harmless.
    exporter = HTMLExporter(template_name="lab", filters={"clean_html": lambda ours: ours})

    def measure(cells):
        written = nbformat.v4.new_notebook(cells=cells)
        text, _ = exporter.from_notebook_node(written)
        path.write_text(text.replace("</head>", f"{AS_ON_SLIDES}</head>"), encoding="utf-8")
        page.goto(path.as_uri())
        page.wait_for_function(ALIVE)  # a map is higher than the picture whose place it takes
        folded = [cell.metadata.get("jupyter", {}).get("source_hidden", False) for cell in cells]
        return page.evaluate(HEIGHTS, folded)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(html, "BeautifulSoup", Unread)
        yield measure
    page.context.close()


def on_slides(lesson):
    """Return the cells of a lesson that are on slides, in the teacher's copy."""
    copy = copies.teachers_copy(nbformat.read(build.NOTEBOOKS / f"{lesson}.ipynb", 4))
    return [cell for cell in copy.cells if slides.kind_of(cell) not in ("skip", "notes")]


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_slide_overflows(heights, lesson):
    cells, used = on_slides(lesson), []
    for cell, height in zip(cells, heights(cells), strict=True):
        high = height * slides.zoom_of(cell)
        if slides.kind_of(cell):
            used.append((high, cell.source[:60]))
        else:
            used[-1] = used[-1][0] + high, used[-1][1]
    assert [one for one in used if one[0] > slides.HEIGHT] == []


def test_a_slide_that_is_too_high_would_be_found(heights):
    text = "\n\n".join(f"Paragraph {i}." for i in range(30))
    (high,) = heights([nbformat.v4.new_markdown_cell(text)])
    assert high > slides.HEIGHT
