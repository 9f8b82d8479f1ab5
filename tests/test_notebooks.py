"""What every notebook has to be, apart from right: nbval, in the same run, compares its outputs."""

import functools
import re
from itertools import pairwise

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbconvert import HTMLExporter

from notebooks import build, reading

NAMES = sorted(build.name_of(path) for path in build.lessons())
# Pictures come from outputs. Text, coloured code and a validation per step take most of the time.
EXPORTER = HTMLExporter(exclude_input=True, exclude_markdown=True, optimistic_validation=True)
LARGEST = 1_200_000  # bytes; the gallery, with a still of every widget, is the largest
REMOTE_ASSET = re.compile(
    r"""!\[[^\]]*\]\(\s*https?://"""  # Markdown picture
    r"""|<(?:img|script|iframe|video|audio|source|embed)\b[^>]*\bsrc\s*=\s*["']?(?:https?:)?//"""
    r"""|<link\b[^>]*\bhref\s*=\s*["']?(?:https?:)?//"""
    r"""|url\(\s*["']?(?:https?:)?//"""
    r"""|@import\s+["'](?:https?:)?//""",
    flags=re.IGNORECASE,
)
LINK = re.compile(r"\]\((\d\d_\w+)\.ipynb(?:#([^\s)]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", flags=re.MULTILINE)
MARKDOWN_PICTURE = re.compile(r"!\[([^\]]*)\]\(")


def pictures(page):
    """Find the pictures of a page, each with its attributes."""
    return BeautifulSoup(page, "html.parser").find_all("img")


@functools.cache
def read(name):
    """Read a notebook, once for all tests: none of them may change it."""
    return build.read(name)


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def shown(notebook):
    """Everything a front end may show: the Markdown cells and each form of each output."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield "text/markdown", cell.source
    for output in outputs(notebook):
        yield from output.get("data", {}).items()


def faults(notebook):
    """List what keeps a notebook's pictures from those who cannot see them, or are offline."""
    for cell in notebook.cells:
        draws = "notebook.figure(" in cell.source.replace("return notebook.figure(", "")
        if draws and cell.cell_type == "code" and not cell.outputs:
            yield "figure that nobody sees: it has to be the last thing in its cell"
    for kind, content in shown(notebook):
        if kind in ("text/html", "text/markdown", "image/svg+xml") and REMOTE_ASSET.search(content):
            yield f"remote asset: {REMOTE_ASSET.search(content)[0]}"
        if kind == "text/markdown" and MARKDOWN_PICTURE.search(content):
            yield "picture in Markdown, which Colab does not show: use notebook.picture"
        if kind in ("text/html", "text/markdown"):
            for picture in pictures(content):
                if not picture.get("alt", "").strip():
                    yield "<img> without alt text"
                if not picture.get("src", "").startswith("data:"):
                    yield "<img> that is not stored in the notebook"
    for output in outputs(notebook):
        data = output.get("data", {})
        bare = any(kind.startswith("image/") for kind in data) and "text/html" not in data
        if bare:
            yield "picture without alt text: show it with notebook.figure or notebook.picture"


def test_every_source_has_its_notebook_and_every_notebook_its_source():
    assert sorted(path.stem for path in build.NOTEBOOKS.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_source_and_notebook_agree(name):
    expected = reading.for_reading(build.assemble(build.source_of(name)), name)
    built = nbformat.read(build.NOTEBOOKS / f"{name}.ipynb", as_version=4)

    def essence(notebook):
        return [(c.cell_type, c.id, dict(c.metadata), c.source) for c in notebook.cells]

    assert essence(built) == essence(expected), "run `make notebooks` and commit what it writes"
    for known_by_the_build in ("seconds", "modules"):
        built.metadata["course"].pop(known_by_the_build, None)
    for one in (built, expected):  # whoever built it may have had another Python
        assert re.fullmatch(r"3\.\d+\.\d+\S*", one.metadata["language_info"].pop("version"))
    assert built.metadata == expected.metadata


@pytest.mark.parametrize("name", NAMES)
def test_notebook_is_small_and_valid(name):
    assert (build.NOTEBOOKS / f"{name}.ipynb").stat().st_size < LARGEST
    assert nbformat.validate(read(name)) is None


@pytest.mark.parametrize("name", NAMES)
def test_notebook_was_run_from_top_to_bottom_and_begins_with_the_one_set_up(name):
    code = [cell for cell in read(name).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    tagged = [cell.source for cell in code if "set-up" in cell.metadata.get("tags", [])]
    assert tagged == [build.set_up_cell()] == [code[0].source]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_written_to_stderr_and_nothing_fails_unasked(name):
    notebook = read(name)
    assert [o.text for o in outputs(notebook) if o.get("name") == "stderr"] == []
    failed = [
        cell.source
        for cell in notebook.cells
        if any(output.output_type == "error" for output in cell.get("outputs", []))
        and "raises-exception" not in cell.metadata.get("tags", [])
    ]
    assert failed == []


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_stored_and_have_alt_text(name):
    assert list(faults(read(name))) == []


@pytest.mark.parametrize("name", NAMES)
def test_no_machine_shows_through(name):
    text = "\n".join(str(content) for kind, content in shown(read(name)) if "image" not in kind)
    text += "\n".join(output.get("text", "") for output in outputs(read(name)))
    text = re.sub(r"data:[\w/+-]+;base64,[\w/+=]+", "", text)
    assert re.findall(r"/(?:home|root|Users|tmp|work)/\S+|\b0x[0-9a-f]{6,}", text) == []


@pytest.mark.parametrize("name", NAMES)
def test_exported_page_shows_the_pictures_and_no_live_view(name):
    notebook = read(name)
    views = [o for o in outputs(notebook) if build.LIVE_VIEW in o.get("data", {})]
    assert views == []
    page, _ = EXPORTER.from_notebook_node(notebook)
    alts = [picture.get("alt") for picture in pictures(page)]
    stored = [a["alt"] for k, html in shown(notebook) if k == "text/html" for a in pictures(html)]
    assert [alt for alt in alts if alt in stored] == stored


@functools.cache
def anchors(name):
    """JupyterLab's names for the headings of a notebook."""
    texts = [c.source for c in read(name).cells if c.cell_type == "markdown"]
    found = [heading for text in texts for heading in HEADING.findall(text)]
    return {heading.strip().replace("`", "").replace(" ", "-") for heading in found}


@pytest.mark.parametrize("name", NAMES)
def test_links_to_other_notebooks_lead_to_a_heading(name):
    texts = [c.source for c in read(name).cells if c.cell_type == "markdown"]
    links = [link for text in texts for link in LINK.findall(text)]
    lost = [(to, anchor) for to, anchor in links if to not in NAMES]
    lost += [(to, anchor) for to, anchor in links if anchor and anchor not in anchors(to)]
    assert lost == []


@pytest.mark.parametrize("name", NAMES)
def test_tags_are_known(name):
    known = {"set-up", "hide-input", "nbval-ignore-output", "nbval-skip", "raises-exception"}
    known |= set(build.FOLDED)
    used = {tag for cell in read(name).cells for tag in cell.metadata.get("tags", [])}
    assert used <= known, f"{used - known}: nothing knows what to do with it"


@pytest.mark.parametrize("name", [name for name in NAMES if name < "10"])
def test_a_live_run_is_claimed_and_not_asserted(name):
    # What another machine trains or times may come out otherwise; there a lesson has to go on.
    live = [
        c.source for c in read(name).cells if "nbval-ignore-output" in c.metadata.get("tags", [])
    ]
    assert not [source for source in live if re.search(r"^\s*assert ", source, re.MULTILINE)]


@pytest.mark.parametrize("name", NAMES)
def test_there_is_one_main_heading_and_no_level_is_skipped(name):
    texts = [c.source for c in read(name).cells if c.cell_type == "markdown"]
    shown = (re.sub(r"```.*?```", "", t, flags=re.S) for t in texts if "<details" not in t)
    levels = [len(marks) for text in shown for marks in re.findall(r"^(#+) ", text, re.MULTILINE)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
