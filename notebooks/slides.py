"""Divide the teacher's copy of a lesson into slides for a projector of 1280 × 720 pixels.

JupyterLab's slide shows take their marks from each cell's metadata. Everything here is estimated
from a cell's content, so that marking slides needs no browser; `tests/browser/test_slides.py`
measures what a Chromium paints, and a slide that is too high fails it.

A part of a lesson (``## …``) is a slide, what follows it goes below it as further slides. A long
text is divided at its paragraphs. What is too high even on a slide of its own is shown smaller.
"""

import base64
import copy
import math
import re
import struct

from notebooks.build import PREDICT

AFTER_THE_CORE = re.compile(r"^#{1,2} (Practice|Going deeper)\b", re.MULTILINE)
WIDTH, HEIGHT = 1150, 720  # what jupyterlab-slideshow leaves of 1280 × 720
FULL = 600  # of cells together: estimated, so a sixth of the height is kept in hand
HIGHEST = 670  # of a cell alone
SMALLEST = 0.6  # of the usual size
LINE, CHARACTERS, GAP = 22, 150, 14  # of text: a line's height and length, and below a paragraph
CODE_LINE, FRAME, FOLDED_AWAY = 17, 14, 30
CONTROLS = 135  # what a question needs more, once it is alive, than its still text
WIDGET = 640  # what a widget needs at least, once it is alive
STILL = re.compile(r"<(style|script)\b.*?</\1>", re.DOTALL)
IMAGE = re.compile(r'<img\b([^>]*?)src="data:image/(png|svg\+xml|gif);base64,([^"]+)"([^>]*)>')
ROW_END = re.compile(r"</(p|div|li|tr|h\d|summary|details)>|<br>")
QUESTION = re.compile(r"<strong>(?:Predict|Question)\.")
TAG = re.compile(r"<[^>]+>")
WIDE = re.compile(r'\bwidth="(\d+)"')
ZOOM = "@deathbeds/jupyterlab-fonts"  # what styles the cells in jupyterlab-slideshow
OWN_PARTS = "exercises.my_parts()"
SHOWN = "body[data-jp-deck-mode='presenting'] &"


def mark(cells):
    """Say for each cell what a slide show makes of it: the core in slides, the rest left out.

    Parameters
    ----------
    cells : list of NotebookNode
        A lesson's, with their outputs.

    Returns
    -------
    cells : list of NotebookNode
        Copies with the slide show's metadata. A text that needs several slides becomes several
        cells.
    """
    made, core, used = [], True, 0
    for whole in cells:
        if whole.cell_type == "markdown" and AFTER_THE_CORE.search(whole.source):
            core = False
        left_out = _left_out(whole, core)
        for cell in [copy.deepcopy(whole)] if left_out else divided(whole):
            kind = left_out or _kind(cell, used)
            if not left_out:
                high = height(cell)
                used = high if kind else used + high
                if PREDICT.search(cell.source) or OWN_PARTS in cell.source:
                    used = FULL  # so that nothing after it tells the answer, or makes it too high
                if high > HIGHEST:
                    zoom = round(max(HIGHEST / high, SMALLEST), 2)
                    cell.metadata[ZOOM] = {"styles": {"": {SHOWN: {"zoom": zoom}}}}
            if kind:  # a cell without a mark goes on with the slide
                cell.metadata["slideshow"] = {"slide_type": kind}
            made.append(cell)
    return made


def core_of(cells):
    """Leave out what comes after the core, so that a show never stands on a cell without a slide.

    Parameters
    ----------
    cells : list of NotebookNode
        As `mark` returns them.

    Returns
    -------
    cells : list of NotebookNode
    """
    texts = (cell.source if cell.cell_type == "markdown" else "" for cell in cells)
    end = next((i for i, text in enumerate(texts) if AFTER_THE_CORE.search(text)), len(cells))
    while end and kind_of(cells[end - 1]) in ("skip", "notes"):
        end -= 1
    return cells[:end]


def _left_out(cell, core):
    tags = cell.metadata.get("tags", [])
    if not core or "set-up" in tags:
        return "skip"
    return "notes" if "notes" in tags else ""


def _kind(cell, used):
    """Say whether a cell begins a slide, given how much of the current one is used."""
    begins = cell.source if cell.cell_type == "markdown" else ""
    if begins.startswith(("# ", "## ")):
        return "slide"
    alone = OWN_PARTS in cell.source  # how much of it is text depends on the learner
    return "subslide" if begins.startswith("### ") or alone or used + height(cell) > FULL else ""


def kind_of(cell):
    """Read what a slide show makes of a cell; nothing if it goes on with the slide."""
    return cell.metadata.get("slideshow", {}).get("slide_type", "")


def zoom_of(cell):
    """Read at which size a slide show shows a cell; 1 is the usual one."""
    return cell.metadata.get(ZOOM, {}).get("styles", {}).get("", {}).get(SHOWN, {}).get("zoom", 1)


def divided(cell):
    """Divide a text at the headings inside it, and at its paragraphs where a slide is full.

    Parameters
    ----------
    cell : NotebookNode

    Returns
    -------
    cells : list of NotebookNode
        One for each piece; code and folded text stay whole.
    """
    if cell.cell_type != "markdown" or "<details" in cell.source:
        return [copy.deepcopy(cell)]
    pages = [[]]
    for block in _blocks(cell.source):
        full = sum(map(_block_height, pages[-1])) + _block_height(block) > FULL
        if pages[-1] and (full or block.startswith("#")):
            pages.append([])
        pages[-1].append(block)
    made = []
    for number, page in enumerate(pages):
        piece = copy.deepcopy(cell)
        piece.source = "\n\n".join(page)
        piece.id = f"{cell.id[:60]}-{number}" if number else cell.id
        made.append(piece)
    return made


def height(cell) -> int:
    """Estimate how high a cell is on a slide.

    Parameters
    ----------
    cell : NotebookNode
    """
    if cell.cell_type == "markdown":
        return _text_height(cell.source)
    folded = cell.metadata.get("jupyter", {}).get("source_hidden", False)
    code = FOLDED_AWAY if folded else FRAME + CODE_LINE * (cell.source.count("\n") + 1)
    return code + sum(map(_output_height, cell.get("outputs", [])))


def _text_height(text):
    if text.startswith("<details>"):
        return FOLDED_AWAY
    return sum(map(_block_height, _blocks(text)))


def _blocks(text):
    """Divide a text at its blank lines, those in code apart."""
    blocks = [""]
    for line in text.splitlines():
        if not line and blocks[-1].count("```") % 2 == 0:
            blocks.append("")
        else:
            blocks[-1] += f"{line}\n"
    return [block.rstrip() for block in blocks if block.strip()]


def _block_height(block):
    lines = block.strip().splitlines()
    if not lines:
        return 0
    if lines[0].startswith("#"):
        return 45 + (_block_height("\n".join(lines[1:])) if lines[1:] else 0)
    if lines[0].startswith("|"):
        return 31 * len(lines)
    if lines[0].startswith("```"):
        return FRAME + CODE_LINE * len(lines)
    if lines[0].startswith(("- ", "* ", "1. ")):
        items = re.split(r"\n(?=[-*\d])", block)
        return GAP + LINE * sum(math.ceil(len(item) / CHARACTERS) for item in items)
    formula = 30 * block.count("\\frac") + 24 * (block.count("$$") // 2)
    return GAP + LINE * math.ceil(len(block) / CHARACTERS) + formula


def _output_height(output):
    if output.output_type == "stream":
        return 3 + CODE_LINE * output.text.count("\n")
    data = output.get("data", {})
    if "text/html" in data:
        return _html_height(data["text/html"])
    if "text/markdown" in data:
        return GAP + _text_height(data["text/markdown"])
    return CODE_LINE * (data.get("text/plain", "").count("\n") + 1)


def _html_height(page):
    still = "course-still" in page
    page = STILL.sub("", page)
    pictures = sum(_image_height(*found) for found in IMAGE.findall(page))
    text = TAG.sub("", ROW_END.sub("\n", IMAGE.sub("", page)))
    lines = [line for line in text.splitlines() if line.strip()]
    words = sum(LINE * math.ceil(len(line) / 100) + 4 for line in lines) + FRAME if lines else 0
    if not still:
        return pictures + words
    questions = max(len(QUESTION.findall(page)), 1)
    return max(pictures + words, WIDGET) if pictures else words + CONTROLS * questions


def _image_height(before, kind, encoded, after):
    width, high = _size(kind, base64.b64decode(encoded))
    asked = WIDE.search(before + after)
    shown = min(int(asked[1]) if asked else width, WIDTH)
    return 6 + round(high * shown / width)


def _size(kind, data):
    if kind == "png":
        return struct.unpack(">II", data[16:24])
    if kind == "gif":
        return struct.unpack("<HH", data[6:10])
    box = re.search(rb'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"', data)
    own = [
        re.search(rb'<svg[^>]*\s%s="([\d.]+)(?:px)?"' % name, data)
        for name in (b"width", b"height")
    ]
    found = [one[1] for one in own] if all(own) else box.groups()
    return tuple(float(number) for number in found)
