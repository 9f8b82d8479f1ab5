"""How verdicts, headings and hints look in a notebook: colour, symbol and words."""

import html
import re

from helpers.widgets.colours import LIGHT

LOOKS = {
    "right": (LIGHT["value"], "✓", "Right"),
    "open": (LIGHT["muted"], "○", "Not attempted yet"),
    "wrong": (LIGHT["key"], "✗", "Not yet"),
    "hint": (LIGHT["query"], "→", "Hint"),
    "solution": (LIGHT["result"], "≡", "Solution"),
    "measured": (LIGHT["query"], "◎", "Measured"),
    "off": (LIGHT["key"], "≠", "Measured"),
}
MOST_CELLS = 12


class Shown:
    """HTML, `shown`, in a notebook; `text` in a terminal."""

    def __init__(self, text, shown):
        self.text, self.shown = text, shown

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return self.shown


def panel(look: str, body: str, title: str | None = None) -> str:
    """Frame some HTML in the colour of its kind, readable on light and on dark pages.

    Kinds are the keys of `LOOKS`; `title`, HTML too, replaces the kind's own.
    """
    colour, symbol, name = LOOKS[look]
    return (
        f'<div role="status" style="border-left: 6px solid {colour}; background: {colour}1a; '
        "padding: 8px 14px; margin: 6px 0; font-size: 15px; line-height: 1.45; max-width: 760px; "
        'box-sizing: border-box; border-radius: 4px 10px 10px 4px">'
        f'<strong><span aria-hidden="true" style="color: {colour}; font-size: 18px">{symbol}</span> '
        f"{title or name}</strong><br>{body}</div>"
    )


def rich(text: str) -> str:
    """Return text as HTML, with `code` in backticks and *emphasis* in stars."""
    parts = html.escape(text).split("`")
    for i, part in enumerate(parts):
        if i % 2 and i < len(parts) - 1:
            parts[i] = f"<code>{part}</code>"
        else:
            marked = re.sub(r"(?<!\w)\*(\S(?:[^*]*?\S)?)\*(?!\w)", r"<em>\1</em>", part)
            parts[i] = f"`{marked}" if i % 2 else marked
    return "".join(parts)


def bare(text: str) -> str:
    """Return text as `rich` shows it, without its look: a name for those who hear the page."""
    return html.unescape(re.sub("<[^>]*>", "", rich(text)))


def folded(words: str, body: str) -> str:
    """Fold some HTML under words that are high enough for a finger."""
    return f'<details><summary style="padding: 1px 0">{words}</summary>{body}</details>'


def number_line(marks: list[str]) -> str:
    """Draw a line for marks that `mark` made."""
    line = (
        '<div style="position: absolute; left: 0; right: 0; top: 50%; height: 4px; '
        'margin-top: -2px; border-radius: 2px; background: rgba(110,125,140,0.35)"></div>'
    )
    return (
        f'<div aria-hidden="true" style="position: relative; height: 58px; margin: 4px 10px 2px; '
        f'font-size: 13px; line-height: 18px">{line}{"".join(marks)}</div>'
    )


def mark(share: float, label: str, side: str) -> str:
    """Mark a place on a number line, from 0, the left end, to 1.

    With its label "below" the line it's a full mark, "above" an open one.
    """
    at, colour = f"left: {100 * share:.1f}%", LIGHT["query" if side == "below" else "key"]
    fill = colour if side == "below" else "transparent"
    edge = "bottom: 0" if side == "below" else "top: 0"
    # In the middle of its mark, except near an end of the line.
    inside = min(share, 1 - share) / 0.16
    back = 100 * min(max(inside, 0.0), 0.5)
    back = back if share < 0.5 else 100 - back
    return (
        f'<div style="position: absolute; {at}; top: 50%; width: 14px; height: 14px; '
        f"margin: -7px 0 0 -7px; border-radius: 50%; box-sizing: border-box; "
        f'border: 3px solid {colour}; background: {fill}"></div>'
        f'<div style="position: absolute; {at}; {edge}; white-space: nowrap; '
        f'transform: translateX(-{back:.1f}%)">{html.escape(label)}</div>'
    )


def verdict(verdict):
    """Show a verdict as a panel."""
    body = rich(verdict.message) + verdict.picture
    if verdict.kept:
        body += f'<div style="white-space: pre-wrap; margin-top: 4px">{rich(verdict.kept)}</div>'
    if verdict.passed:
        return panel("right", body)
    if verdict.mistake == "not attempted":
        return panel("open", body)
    said = {"raised": "an error", "differs": "other numbers"}.get(verdict.mistake, verdict.mistake)
    named = f": {html.escape(said.replace('_', ' '))}" if verdict.named else ""
    return panel("wrong", body, f"Not yet{named}")


def heading(exercise):
    """Show title, minutes, difficulty, importance and task; folded, the PyTorch it takes."""

    def dots(n):
        return "●" * n + "○" * (5 - n)

    figures = (
        f"{exercise.minutes} min · difficulty {dots(exercise.difficulty)} ({exercise.difficulty}/5) "
        f"· importance {dots(exercise.importance)} ({exercise.importance}/5)"
    )
    needed = exercise.pytorch and folded("The PyTorch you need here", rich(exercise.pytorch))
    return (
        f'<div style="font-size: 15px; line-height: 1.45; max-width: 760px">'
        f'<h3 style="margin: 8px 0 2px; font: 600 16px system-ui, sans-serif">'
        f"Exercise: {html.escape(exercise.title)}</h3>"
        f'<span style="opacity: 0.75">{figures}</span><br>{rich(exercise.task)}{needed}</div>'
    )


def side_by_side(wanted, got) -> str:
    """Draw two results next to each other, as an <img> with alt text: numbers, shaded by size."""
    from helpers.exercises import compare  # imports torch, which no other panel needs
    from helpers.notebook import ON_DARK
    from helpers.widgets.stills import as_image

    pairs = list(zip(compare.parts(wanted), compare.parts(got), strict=True))
    different = [(a, b) for a, b in pairs if not compare.close(a, b)] or pairs
    a, b = (_corner(part) for part in _matrices(*different[0], compare.close))
    left, right = _grid(a, "expected"), _grid(b, "got")
    width, height = left[1] + right[1] + 40, max(left[2], right[2])
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="white"/>'
        f'{left[0]}<g transform="translate({left[1] + 40} 0)">{right[0]}</g></svg>'
    )
    alt = f"Expected {_words(a)}; got {_words(b)}."
    return f"<br>{as_image(svg, alt)}<style>{ON_DARK}</style>"


def _matrices(wanted, got, same):
    """Reduce two results to two axes each: of several matrices, the first that differ."""
    wanted, got = (x.flatten(0, -3) if x.dim() > 2 else x[None] for x in (wanted, got))
    pairs = list(zip(wanted, got, strict=False))  # a wrong result may also have a wrong shape
    different = [pair for pair in pairs if not same(*pair)]
    return [*different, *pairs, (wanted.sum(0), got.sum(0))][0]  # the last for no matrix at all


def _corner(part):
    """Cut a matrix, or a row of numbers, to at most MOST_CELLS a side."""
    part = part.double()
    part = part.reshape(1, -1) if part.dim() < 2 else part
    return part[:MOST_CELLS, :MOST_CELLS].tolist()


def _words(rows):
    return "; ".join(" ".join(f"{number:.3g}" for number in row[:6]) for row in rows[:4])


def _fitting(number):
    """Write a number with three digits, or with one where three don't fit into a cell."""
    text = f"{number:.3g}"
    return text if len(text) < 8 else f"{number:.1g}"


def _grid(rows, title):
    cell_width, cell_height, top = 58, 26, 26
    finite = [abs(x) for row in rows for x in row if abs(x) < float("inf")] or [1.0]
    largest = max(finite) or 1.0
    edge = LIGHT["muted"]
    drawn = [f'<text x="2" y="17" font-weight="bold">{title}</text>']
    for i, row in enumerate(rows):
        for j, number in enumerate(row):
            x, y = j * cell_width, top + i * cell_height
            share = min(abs(number) / largest, 1.0) if number == number else 0.0
            fill = f"rgba(31,111,178,{0.55 * share:.2f})" if number >= 0 else (
                f"rgba(217,115,13,{0.55 * share:.2f})"
            )  # fmt: skip
            drawn.append(
                f'<rect x="{x}" y="{y}" width="{cell_width - 2}" height="{cell_height - 2}" '
                f'fill="{fill}" stroke="{edge}" stroke-opacity="0.3"/>'
                f'<text x="{x + cell_width / 2 - 1}" y="{y + 17}" text-anchor="middle">'
                f"{_fitting(number)}</text>"
            )
    columns = max((len(row) for row in rows), default=1)
    return "".join(drawn), max(columns * cell_width, 80), top + len(rows) * cell_height + 2
