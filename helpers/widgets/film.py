"""A film as HTML: key frames that stand anywhere, and the player that takes their place.

A film is data (``images/NAME.json``, drawn by `images.stage`): scenes of named shapes. The player
(``static/film.js``) moves every shape from one scene's place to the next. Where scripts don't run
and in print, the key frames stand instead, each with its caption.
"""

import json
import math
from dataclasses import dataclass
from textwrap import wrap

from helpers.widgets import modules
from helpers.widgets.colours import LIGHT
from helpers.widgets.readable import lowered
from helpers.widgets.stills import as_image
from helpers.widgets.svg import FONT

COLOURS = {**LIGHT, "none": "none"}
STRIP = 400  # pixels: the width of a key frame on the page, two in a row
LINE, LETTERS = 24, 42  # of a caption in the stage's pixels: from line to line, and how many fit


@dataclass(frozen=True)
class Film:
    """A film that shows itself in a notebook.

    `data` is as `images.stage.film` makes it: width, height, alt, and scenes with caption, seconds,
    lead, move, key and shapes.
    """

    data: dict

    @property
    def alt(self) -> str:
        """What the film shows, in words."""
        return self.data["alt"]

    def __repr__(self):
        """Say in words what the film shows, where only text can be shown."""
        return f"[Film: {self.alt}]"

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
    lines = wrap(scene["caption"], LETTERS)
    width, high = data["width"], data["height"]
    height = high + LINE * len(lines) + 14
    words = "".join(
        f'<text x="14" y="{high + LINE * (i + 0.8):g}" font-size="18" font-weight="bold">'
        f"{lowered(line)}</text>"
        for i, line in enumerate(lines)
    )
    shapes = "".join(map(_drawn, scene["shapes"].values()))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="{FONT}" fill="{LIGHT["ink"]}">'
        f'<rect width="{width}" height="{height}" rx="8" fill="{LIGHT["paper"]}"/>'
        f"{shapes}{words}</svg>"
    )


def _drawn(shape):
    """Write a shape as SVG; the player does the same."""
    paint = f'fill="{COLOURS[shape["fill"]]}"'
    if "stroke" in shape:
        paint += f' stroke="{COLOURS[shape["stroke"]]}" stroke-width="{shape["line"]:g}"'
    if shape.get("opacity", 1) < 1:
        paint += f' opacity="{shape["opacity"]:g}"'
    if shape.get("tint", 1) < 1:
        paint += f' fill-opacity="{shape["tint"]:g}"'
    return _WRITTEN[shape["kind"]](shape, paint)


def _text(shape, paint):
    weight = ' font-weight="bold"' if shape["bold"] else ""
    turn = f' transform="rotate({shape.get("turn", 0)} {shape["x"]:g} {shape["y"]:g})"'
    return (
        f'<text x="{shape["x"]:g}" y="{shape["y"]:g}" font-size="{shape["size"]:g}"{weight} '
        f'text-anchor="{shape["anchor"]}"{turn} {paint}>{lowered(shape["text"])}</text>'
    )


def _rect(shape, paint):
    place = " ".join(f'{key}="{shape[key]:g}"' for key in ("x", "y", "width", "height"))
    return f'<rect {place} rx="{shape["round"]:g}" {paint}/>'


def _dot(shape, paint):
    return f'<circle cx="{shape["x"]:g}" cy="{shape["y"]:g}" r="{shape["r"]:g}" {paint}/>'


def _line(shape, paint):
    points = " ".join(f"{value:g}" for value in shape["points"])
    return f'<polyline points="{points}" stroke-linejoin="round" {paint}/>'


def _arrow(shape, paint):
    length, half, head = shape["length"], shape["width"] / 2, min(shape["head"], shape["length"])
    corners = [(0, -half), (length - head, -half), (length - head, -0.6 * head), (length, 0)]
    corners += [(x, -y) for x, y in corners[2::-1]]
    angle = math.radians(shape["angle"])
    turn, up = math.cos(angle), math.sin(angle)
    points = " ".join(
        f"{shape['x'] + x * turn - y * up:.1f},{shape['y'] + x * up + y * turn:.1f}"
        for x, y in corners
    )
    return f'<polygon points="{points}" {paint}/>'


_WRITTEN = {"text": _text, "rect": _rect, "dot": _dot, "line": _line, "arrow": _arrow}
