"""What still pictures share, for wherever no JavaScript runs: SVG by hand, as an ``<img>``.

Written as SVG, not drawn by matplotlib: the reader's own fonts show every script, Arabic joined
and from the right, Chinese without empty boxes; a few kB; sharp at any size.
"""

import base64

import numpy

from helpers.widgets.colours import LIGHT
from helpers.widgets.png import png
from helpers.widgets.readable import xml_text

FONT = "system-ui,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif"
# Isolated, so that a right-to-left token keeps its place.
STYLE = "text{unicode-bidi:isolate;white-space:pre}image{image-rendering:pixelated}"
# White paper that turns dark with the page.
DRAWING = 'class="course-drawing" style="max-width: 100%"'
STEPS = 32  # colours of a palette: enough to the eye, and few compress well


def as_image(svg: str, alt: str, how=DRAWING) -> str:
    """Wrap a drawing as an image, which no front end takes away; `how` are its attributes."""
    data = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    return f'<img alt="{xml_text(alt)}" {how} src="data:image/svg+xml;base64,{data}">'


def drawing(width, height, parts) -> str:
    """Put `parts` of SVG on white paper, `width` × `height` pixels."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="{FONT}"><style>{STYLE}</style>'
        f'<rect width="100%" height="100%" fill="{LIGHT["paper"]}"/>{"".join(parts)}</svg>'
    )


def text(x, y, words, fill=LIGHT["ink"], anchor="start", weight=400, size=16, turn=0) -> str:
    """Write `words` with their `anchor` at (`x`, `y`), risen by `turn` degrees.

    The `fill`, the `weight` and the `size` are SVG's.
    """
    turned = f' transform="rotate({-turn} {x:g} {y:g})"' if turn else ""
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{fill}" text-anchor="{anchor}" font-weight="{weight}" '
        f'font-size="{size}"{turned}>{xml_text(words)}</text>'
    )


def palette(colours, places=None) -> bytes:
    """Mix STEPS colours through these, at their `places` from 0 to 1, and add paper as the last."""
    steps = numpy.linspace(0, 1, STEPS)
    places = numpy.linspace(0, 1, len(colours)) if places is None else places
    channels = zip(*(bytes.fromhex(colour[1:]) for colour in colours), strict=True)
    mixed = numpy.stack([numpy.interp(steps, places, channel) for channel in channels], -1)
    return numpy.rint(mixed).astype(numpy.uint8).tobytes() + bytes.fromhex(LIGHT["paper"][1:])


def pixels(levels, colours, x, y, width, height) -> str:
    """Draw uint8 `levels`, (rows, columns), in the `colours` of a palette.

    The place is (`x`, `y`, `width`, `height`), in pixels.
    """
    data = base64.b64encode(png(levels, colours)).decode("ascii")
    return (
        f'<image x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
        f'preserveAspectRatio="none" href="data:image/png;base64,{data}"/>'
    )
