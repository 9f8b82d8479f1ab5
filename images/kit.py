"""What the still pictures share: boxes, tokens, vectors, matrices, arrows that bend.

Everything is drawn on a `Sheet` of the explorers, so that pictures and widgets look alike. A
letter is never smaller than 16 pixels, which is 12 points.
"""

import html

from helpers.plots import GREY, INK, PURPLE, tint
from helpers.widgets.colours import LIGHT
from helpers.widgets.svg import TEXT, Sheet, number

WIDE = 920  # pixels: the width of a notebook's page
PALE = "#c3cad1"  # what is not there yet, or not meant now
LINE = 22  # pixels from one line of text to the next
HEADS = (PURPLE, LIGHT["second"])  # two heads: neither a query, a key nor a value


def box(sheet: Sheet, x, y, width, height, words="", colour=GREY, bold=False, size=TEXT):
    """Draw a rounded box with words in its middle; a newline starts a new line.

    The frame has the `colour`, the filling is its tint.
    """
    sheet.rect(x, y, width, height, tint(colour), colour, 2, 6)
    lines = words.split("\n")
    first = y + height / 2 - (len(lines) - 1) * LINE / 2 + size * 0.35
    for i, line in enumerate(lines):
        sheet.text(x + width / 2, first + i * LINE, line, INK, size, "middle", bold)


def token(sheet: Sheet, x, y, word, colour=GREY, width=96, height=34):
    """Draw a word on a small card whose middle is (x, y)."""
    sheet.rect(x - width / 2, y - height / 2, width, height, "white", colour, 2, 6)
    sheet.text(x, y + 6, word, INK, TEXT, "middle", bold=True)


def cells(sheet: Sheet, x, y, rows, colour, cell=34, numbers=True, digits=1, shades=None):
    """Draw a matrix (a list of rows) as cells; a vector is a matrix of one row.

    The top left corner is at `x`, `y`, and a cell is `cell` wide and high. With `numbers`, they are
    written into the cells. `shades` say how strongly each cell is filled, 0 to 1; by default all
    the same.
    """
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            share = 0.15 if shades is None else shades[i][j]
            at = x + j * cell, y + i * cell
            sheet.rect(*at, cell, cell, "white", colour, 1.5)
            sheet.rect(*at, cell, cell, colour, colour, 1.5, opacity=share)
            if numbers:
                ink = "white" if share > 0.55 else INK
                middle = at[0] + cell / 2, at[1] + cell / 2 + 6
                sheet.text(*middle, number(value, digits), ink, TEXT, "middle")


def elbow(sheet: Sheet, points, colour=GREY, width=2.0):
    """Draw a line through points (x, y) that ends in an arrow's head."""
    sheet.path(points[:-1], colour, width)
    sheet.arrow(*points[-2], *points[-1], colour, width)


def plus(sheet: Sheet, x: float, y: float, sign: str = "+", colour: str = GREY):
    """Draw a sum (or another sign) in a small circle."""
    sheet.dot(x, y, 13, "white", colour, 2)
    sheet.text(x, y + 6, sign, INK, TEXT, "middle", bold=True)


def still(sheet: Sheet, alt: str) -> str:
    """Write a sheet as a picture file: with its size, and with its alt text inside."""
    width, height = sheet.width, sheet.height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" '
        f"font-family=\"'DejaVu Sans', Verdana, Arial, sans-serif\" "
        f'font-size="{TEXT}" fill="{INK}"><desc>{html.escape(alt)}</desc>'
        f'<rect width="{width}" height="{height}" fill="white"/>{"".join(sheet.shapes)}</svg>\n'
    )
