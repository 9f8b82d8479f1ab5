"""A film as HTML: key frames that stand anywhere, and the player that takes their place.

A film is data (``images/NAME.json``, drawn by `images.stage`): scenes of named shapes. The player
(``static/film.js``) moves every shape from one scene's place to the next. Where scripts don't run
and in print, the key frames stand instead, each with its caption.
"""

import json
from dataclasses import dataclass
from textwrap import wrap

from helpers.widgets import modules
from helpers.widgets.colours import LIGHT
from helpers.widgets.stills import as_image
from helpers.widgets.svg import Sheet

COLOURS = {**LIGHT, "none": "none"}
STRIP, MARGIN = 408, 8  # pixels: a key frame's width on the page, two in a row, and its margin
LINE, LETTERS = 24, 42  # of a caption in the stage's pixels: from line to line, and how many fit


@dataclass(frozen=True)
class Film:
    """A film that shows itself in a notebook.

    `data` is as `images.stage.film` makes it: width, height, alt, and scenes with caption, seconds,
    lead, move, key and shapes.
    """

    data: dict

    def __repr__(self):
        """Say in words what the film shows, where only text can be shown."""
        return f"[Film: {self.data['alt']}]"

    def _repr_html_(self):
        frames = [scene for scene in self.data["scenes"] if scene["key"]]
        images = "".join(
            as_image(frame_svg(self.data, scene), scene["caption"], f'width="{STRIP}"')
            for scene in frames
        )
        data = json.dumps(self.data, ensure_ascii=False, separators=(",", ":")).replace(
            "</", "<\\/"
        )
        return (
            f'<div class="film"><style>{modules.styles("film.css")}</style>'
            f'<div class="film-strip">{images}</div></div><script>'
            f"{{const place = document.currentScript.previousElementSibling;"
            f"\n{modules.module('film.js')}\nplayFilm(place, {data});}}</script>"
        )


def frame_svg(data: dict, scene: dict) -> str:
    """Draw one scene of a film, when its movement is over, with its caption below."""
    lines, high = wrap(scene["caption"], LETTERS), data["height"]
    most = max(len(wrap(one["caption"], LETTERS)) for one in data["scenes"] if one["key"])
    # The frames of a film are equally high.
    sheet = Sheet(data["width"] + 2 * MARGIN, high + LINE * most + 14 + MARGIN)
    sheet.rect(0, 0, sheet.width, sheet.height, LIGHT["paper"], round=8)
    for shape in scene["shapes"].values():
        part = Sheet(sheet.width, high)
        _draw(part, shape)
        drawn, seen = "".join(part.shapes), shape.get("opacity", 1)
        sheet.shapes.append(
            f'<g transform="translate({MARGIN} {MARGIN})" opacity="{seen:g}">{drawn}</g>'
        )
    for i, line in enumerate(lines):
        sheet.text(14, high + MARGIN + LINE * (i + 0.8), line, size=18, bold=True)
    return sheet.to_svg()


def _draw(sheet, shape):
    """Draw a shape as the player does."""
    kind, x, y = shape["kind"], shape.get("x"), shape.get("y")
    fill, frame = COLOURS[shape["fill"]], (COLOURS[shape.get("stroke", "none")], shape.get("line"))
    if kind == "text":
        sheet.text(x, y, shape["text"], fill, shape["size"], shape["anchor"], shape["bold"],
                   -shape.get("turn", 0))  # fmt: skip
    elif kind == "rect":
        size = shape["width"], shape["height"]
        sheet.rect(x, y, *size, fill, *frame, shape["round"], shape["tint"])
    elif kind == "line":
        sheet.path(zip(shape["points"][::2], shape["points"][1::2], strict=True), *frame)
    else:
        end = x + shape["dx"], y + shape["dy"]
        sheet.arrow(x, y, *end, fill, shape["width"], shape["head"])
