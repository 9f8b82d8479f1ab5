"""Draws the explorers' pictures as SVG text: no rasterising, so a frame costs about a millisecond.

`Sheet` collects shapes in pixels; `Plot` puts curves with axes into a part of it. Letters are at
least 16 pixels (12 points) high at normal size. No shape has an id: several pictures may stand in
one page.
"""

import base64
import json
from textwrap import wrap

import numpy
from matplotlib.colors import LinearSegmentedColormap, to_hex

from helpers.plots import GREY, INK
from helpers.widgets.colours import DARK, LIGHT
from helpers.widgets.png import png
from helpers.widgets.readable import lowered, xml_text

TEXT = 16  # pixels, 12 points
LAPTOP = 818  # pixels: what drawings side by side have on a laptop, beside the file browser
RULE = LIGHT["rule"]  # thin lines behind everything
BAD = LIGHT["bad"]  # what doesn't work
PALE = LIGHT["soft"]  # where something can stand
FONT = "'DejaVu Sans', Verdana, Arial, sans-serif"
MONO = "DejaVu Sans Mono, monospace"
# What a map of colours is on a dark page, by its name: there, more is lighter.
ON_DARK = {
    "weights": LinearSegmentedColormap.from_list(
        "weights", list(zip((0.0, 0.45, 1.0), DARK["weights"], strict=True))
    ).with_extremes(bad=DARK["masked"]),
    "signed": LinearSegmentedColormap.from_list("signed", DARK["signed"]),
    "drawn": LinearSegmentedColormap.from_list("drawn", [DARK["paper"], DARK["ink"]]),
}


def number(value, digits=2) -> str:
    """Write a value for people: a real minus sign, never minus zero, `digits` after the point."""
    written = f"{float(value):.{digits}f}"
    if not written.strip("-0."):
        written = written.lstrip("-")
    return written.replace("-", "−").replace("inf", "∞")


def share(part, digits=2) -> str:
    """Write `part`, a share of 1, with so many `digits`: what isn't none or all never reads so."""
    written = number(part, digits)
    if part > 0 and float(written) == 0:
        return f"<{10**-digits:.{digits}f}"
    return f">0.{'9' * digits}" if 0 < part < 0.99999 and float(written) == 1 else written


def shade(colours, share):
    """Choose for both themes what `colours`, WEIGHTS or SIGNED, have at a share: a pair."""
    return to_hex(colours(share)), to_hex(ON_DARK[colours.name](share))


def ink_on(share):
    """Choose the ink for a cell with a share, 0 to 1, of the weights' colours: a pair, likewise."""
    # Not "white": that is the theme's own paper.
    return "#fff" if share > 0.62 else "black", "black" if share > 0.42 else "#fff"


def _filled(colour):
    """Write a colour, or a pair of one for each theme."""
    if isinstance(colour, str):
        return f'fill="{colour}"'
    return f'fill="{colour[0]}" style="--dark: {colour[1]}"'


class Sheet:
    """A drawing, `width` × `height`, (0, 0) at its top left corner; `draw` may return several.

    Every number is a CSS pixel, so that letters are as large as those of the page around them. A
    sheet up to 560 wide fits a projector's screen beside JupyterLab's file browser; two of up to
    400, 16 apart, stand side by side on a laptop's and shrink together where it's narrower.

    `least` is how far it may shrink to stay beside another: as far as its targets stay 24 pixels
    high. One that is `spare` is left out on a phone.
    """

    def __init__(self, width, height, least=None, spare=False):
        self.width, self.height, self.least, self.spare = width, height, least, spare
        self.shapes = []
        self._targets = 0

    def to_svg(self, alt=None, x=0, y=0) -> str:
        """Return the drawing, for `alt` what it shows if it stands alone, at (x, y) of another."""
        named = f' role="img" aria-label="{xml_text(alt)}"' if alt else ""
        place = f' x="{x:g}" y="{y:g}"' if x or y else ""
        place += f' data-least="{self.least:.3f}"' if self.least else ""
        place += ' class="spare"' if self.spare else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} '
            f'{self.height:g}" width="{self.width:g}" height="{self.height:g}"{place}{named} '
            f'font-family="{FONT}" font-size="{TEXT}" fill="{INK}">{"".join(self.shapes)}</svg>'
        )

    # What the hand can do ---------------------------------------------------------------------

    def target(self, x, y, width, height, label, **changes):
        """Make a place, labelled for those who cannot see it, that sets traits (`changes`).

        It's clicked, tapped, or chosen by Enter; arrow keys go from one such place to the next, and
        the Tab key comes to the first.
        """
        place = -1 if self._targets else 0
        self._targets += 1
        self.shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4" '
            f'class="hit" fill="none" role="button" tabindex="{place}" '
            f'aria-label="{xml_text(label)}" data-set="{xml_text(json.dumps(changes))}"/>'
        )

    def handle(self, x, y, width, height, label, value, *tracks, leave=None, **also):
        """Make a place that can be dragged, or moved by arrow keys.

        `label` and `value` say what it moves and where that stands, for those who cannot see it.
        One or two `tracks`, made by `track`, say along which axis which trait goes. The traits that
        are set `also`, as soon as it's moved, tell which of several handles it is, where they share
        a trait. The Escape key sets those of `leave`.
        """
        first = tracks[0]
        also = f' data-also="{xml_text(json.dumps(also))}"' if also else ""
        also += f' data-leave="{xml_text(json.dumps(leave))}"' if leave else ""
        self.shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4" '
            f'class="handle" fill="white" fill-opacity="0" role="slider" tabindex="0" '
            f'aria-label="{xml_text(label)}" aria-valuetext="{xml_text(value)}" '
            f'aria-valuemin="{min(first["low"], first["high"]):g}" '
            f'aria-valuemax="{max(first["low"], first["high"]):g}" '
            f'aria-valuenow="{first["now"]:g}" data-drag="{xml_text(json.dumps(tracks))}"{also}/>'
        )

    def playhead(self, x1, x2, y1, y2, seconds):
        """Draw an upright line that goes from x1 to x2, in `seconds`, while the sound is heard."""
        heard = xml_text(json.dumps([x1, x2, seconds]))
        self.shapes.append(
            f'<line y1="{y1}" y2="{y2}" transform="translate({x1})" data-heard="{heard}" '
            f'stroke="{BAD}" stroke-width="3"/>'
        )

    # Shapes -----------------------------------------------------------------------------------

    def put(self, other, x, y):
        """Draw another sheet's shapes at (x, y); they glide there from where they were."""
        place = f"transform: translate({x:.1f}px, {y:.1f}px)"
        self.shapes.append(f'<g style="{place}">{"".join(other.shapes)}</g>')

    def text(self, x, y, words, colour=INK, size=TEXT, anchor="start", bold=False, turn=0):
        """Write words on the base line y, risen by `turn` degrees.

        The `anchor` says which part of them stands at x: "start", "middle" or "end".
        """
        extra = f' font-size="{size}"' if size != TEXT else ""
        extra += f' text-anchor="{anchor}"' if anchor != "start" else ""
        extra += ' font-weight="bold"' if bold else ""
        extra += f' transform="rotate({-turn:g} {x:.1f} {y:.1f})"' if turn else ""
        extra += f" {_filled(colour)}" if colour != INK else ""
        words = lowered(str(words), r"(?<=\bW)_([OQKV])\b(?!\()")  # a matrix; no line that uses it
        # Spaces that line things up stay.
        self.shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}"{extra} xml:space="preserve">{words}</text>'
        )

    def marked(self, x, y, words, line, colour, mono=False):
        """Write (word, whether it's marked) pairs; the marked ones are bold and have a `line`.

        The `line` is "underline" or "line-through". If `mono`, words have spaces of their own, and
        all letters are equally wide.
        """
        how = f'fill="{colour}" font-weight="bold" text-decoration="{line}"'
        parts = (f"<tspan {how}>{xml_text(word)}</tspan>" if odd else xml_text(word)
                 for word, odd in words)  # fmt: skip
        extra = f' font-family="{MONO}" xml:space="preserve"' if mono else ""
        text = ("" if mono else " ").join(parts)
        self.shapes.append(f'<text x="{x:.1f}" y="{y:.1f}"{extra}>{text}</text>')

    def rect(self, x, y, width, height, fill="none", stroke=None, line=1.5, round=0, opacity=1.0):
        """Draw a box: its `opacity` is the filling's, `line` and `round` its frame and corners."""
        extra = f' stroke="{stroke}" stroke-width="{line}"' if stroke else ""
        extra += f' rx="{round}"' if round else ""
        extra += f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
        self.shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" '
            f'height="{max(height, 0):.1f}" {_filled(fill)}{extra}/>'
        )

    def bar(self, x, y, width, height, share, colour, **how):
        """Draw a bar, filled up to a `share`; `how` gives its corners and the filling's opacity."""
        self.rect(x, y, width, height, PALE, round=how.get("round", 0))
        self.rect(x, y, width * float(share), height, colour, **how)

    def line(self, x1, y1, x2, y2, colour=GREY, width=1.5, dash=None):
        """Draw a straight line; `dash` is lengths of dashes and gaps, such as "5 4"."""
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        self.shapes.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{colour}" stroke-width="{width}"{extra}/>'
        )

    def path(self, points, colour=GREY, width=2.5, fill="none", opacity=1.0, dash=None):
        """Draw a line through `points`, (x, y) each; `opacity` is that of the area's `fill`."""
        extra = f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
        extra += f' stroke-dasharray="{dash}"' if dash else ""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.shapes.append(
            f'<polyline points="{places}" fill="{fill}" stroke="{colour}" '
            f'stroke-width="{width}" stroke-linejoin="round"{extra}/>'
        )

    def arrow(self, x1, y1, x2, y2, colour=GREY, width=2.0, head=8):
        """Draw a line that ends in a head at (x2, y2), `head` pixels long."""
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        if length < 1:
            return
        along_x, along_y = (x2 - x1) / length, (y2 - y1) / length
        back_x, back_y = x2 - head * along_x, y2 - head * along_y
        side_x, side_y = -along_y * head * 0.55, along_x * head * 0.55
        self.line(x1, y1, back_x, back_y, colour, width)
        corners = [(back_x + side_x, back_y + side_y), (x2, y2), (back_x - side_x, back_y - side_y)]
        self.path(corners, colour, 0, fill=colour)

    def dot(self, x, y, radius, fill, stroke="white", line=1.5):
        """Draw a disc."""
        self.shapes.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{fill}" '
            f'stroke="{stroke}" stroke-width="{line}"/>'
        )

    def pixels(self, x, y, width, height, values, colours, low, high):
        """Draw `values`, (rows, columns), as cells in a matplotlib map of colours.

        At `low` and `high` it begins and ends.
        """
        share = (numpy.asarray(values, dtype=float) - low) / (high - low)
        maps = [("", colours)]
        if colours.name in ON_DARK:  # where no theme is known, the light one shows
            dark = ON_DARK[colours.name]
            maps = [('class="in-light" ', colours), ('class="in-dark" display="none" ', dark)]
        for named, one in maps:
            encoded = base64.b64encode(png(one(share, bytes=True)[..., :3])).decode("ascii")
            self.shapes.append(
                f'<image {named}x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
                f'preserveAspectRatio="none" style="image-rendering: pixelated" '
                f'href="data:image/png;base64,{encoded}"/>'
            )


def track(axis, trait, ends, limits, now, step=None, log=False) -> dict:
    """Say along which `axis` ("x" or "y") a trait follows the hand; see `Sheet.handle`.

    The line goes from pixel to pixel (`ends`), the trait's values there are `limits` and `now` is
    its own; `step` rounds it, `log` spaces the values by their logarithms. Along the axis "turn",
    a clock's hand, the ends are the middle's (x, y), and who calls this sets its "period".
    """
    return {"axis": axis, "trait": trait, "from": ends[0], "to": ends[1], "low": limits[0],
            "high": limits[1], "now": now, "step": step, "log": log}  # fmt: skip


def flow(words, top, widest=396, pitch=34):
    """Give each of the words its place, (x, y, width), in lines from `top` on, `pitch` apart.

    Each is as wide as it's long, and no line is wider than `widest`.
    """
    x, y = 0, top
    for word in words:
        wide = max(10.5 * len(word) + 12, 36)
        if x + wide > widest:
            x, y = 0, y + pitch
        yield x, y, wide
        x += wide + 4


def lines_of_text(lines, width=820, letters=86, pitch=26):
    """Write lines on a sheet of their own, broken after so many `letters`, `pitch` apart.

    The first is bold. Gives a list of one sheet `width` pixels wide, or an empty list if there are
    no lines.
    """
    if not lines:
        return []
    broken = [(i == 0, part) for i, line in enumerate(lines) for part in wrap(line, letters)]
    sheet = Sheet(width, pitch * len(broken) + 4)
    for i, (bold, part) in enumerate(broken):
        sheet.text(0, 20 + pitch * i, part, bold=bold)
    return [sheet]


def side_by_side(sheets, alt, gap=16, widest=LAPTOP + 8) -> str:
    """Put sheets into one drawing on white paper, described by `alt`: an explorer's still picture.

    They stand `gap` pixels apart, in rows no wider than `widest`, as on a laptop.
    """
    parts, x, y, low, right = [], gap / 2, gap / 2, 0, 0
    for sheet in sheets:
        if x > gap and x + sheet.width > widest:
            x, y = gap / 2, y + low + gap / 2
            low = 0
        parts.append(sheet.to_svg(x=x, y=y))
        right, low = max(right, x + sheet.width + gap / 2), max(low, sheet.height)
        x += sheet.width + gap
    width, height = right, y + low + gap / 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" aria-label="{xml_text(alt)}">'
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="white"/>{"".join(parts)}</svg>'
    )


class Plot:
    """Axes in a part of a sheet, (`x`, `y`, `width`, `height`) in pixels: numbers in, shapes out.

    `across` and `up` are the numbers at its edges, (low, high).
    """

    def __init__(self, sheet, x, y, width, height, across, up):
        self.sheet, self.box = sheet, (x, y, width, height)
        self._scales = [tuple(map(float, across)), tuple(map(float, up))]
        sheet.line(x, y + height, x + width, y + height)
        sheet.line(x, y, x, y + height)

    def x(self, value):
        """Return where a value lies from left to right, in pixels."""
        return self.box[0] + self.box[2] * _share(value, *self._scales[0])

    def y(self, value):
        """Return where a value lies from top to bottom, in pixels."""
        return self.box[1] + self.box[3] * (1 - _share(value, *self._scales[1]))

    def ticks(self, across=(), up=()):
        """Write numbers along the axes: each a number, or a pair of it and its words."""
        x, y, _, height = self.box
        for tick in across:
            value, words = tick if isinstance(tick, tuple) else (tick, f"{tick:g}")
            self.sheet.line(self.x(value), y + height, self.x(value), y + height + 5)
            self.sheet.text(self.x(value), y + height + 21, words.replace("-", "−"), GREY,
                            anchor="middle")  # fmt: skip
        for tick in up:
            value, words = tick if isinstance(tick, tuple) else (tick, f"{tick:g}")
            self.sheet.line(x - 5, self.y(value), x, self.y(value))
            self.sheet.text(x - 8, self.y(value) + 5.5, words.replace("-", "−"), GREY, anchor="end")

    def curve(self, across, up, colour, width=2.5, dash=None):
        """Draw a curve through (across, up)."""
        points = [(self.x(a), self.y(b)) for a, b in zip(across, up, strict=True)]
        self.sheet.path(points, colour, width, dash=dash)

    def dot(self, across, up, radius, fill):
        """Draw a disc at (across, up), its radius in pixels."""
        self.sheet.dot(self.x(across), self.y(up), radius, fill)


def _share(value, low, high):
    """Say how far a value is from low (0) to high (1); a little beyond is as far as it goes."""
    return min(max((value - low) / (high - low), -0.05), 1.05)
