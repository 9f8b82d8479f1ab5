"""How verdicts, headings and hints look in a notebook: colour, symbol and words."""

import base64
import html

from helpers.exercises import compare

LOOKS = {
    "right": ("#2b8a5f", "✓", "Right"),
    "open": ("#5b6570", "○", "Not attempted yet"),
    "wrong": ("#c2410c", "✗", "Not yet"),
    "hint": ("#1f6fb2", "→", "Hint"),
    "solution": ("#7a4fa3", "≡", "Solution"),
}
MOST_CELLS = 12


def panel(look, body, title=None):
    """Frame some HTML in the colour of its kind, readable on light and on dark pages.

    Parameters
    ----------
    look : {"right", "open", "wrong", "hint", "solution"}
    body : str
        HTML.
    title : str, default=None
        Instead of the kind's own.

    Returns
    -------
    html : str
    """
    colour, symbol, name = LOOKS[look]
    return (
        f'<div role="status" style="border-left: 6px solid {colour}; background: {colour}1a; '
        f'padding: 8px 14px; margin: 6px 0; font-size: 15px; line-height: 1.45; max-width: 760px">'
        f'<strong><span aria-hidden="true" style="color: {colour}; font-size: 18px">{symbol}</span> '
        f"{html.escape(title or name)}</strong><br>{body}</div>"
    )


def verdict(verdict):
    """Show a verdict as a panel."""
    body = html.escape(verdict.message) + verdict.picture
    if verdict.passed:
        return panel("right", body)
    if verdict.mistake == "not attempted":
        return panel("open", body)
    return panel("wrong", body, f"Not yet: {verdict.mistake.replace('_', ' ')}")


def heading(exercise):
    """Show title, minutes, difficulty, importance and task of an exercise."""

    def dots(n):
        return "●" * n + "○" * (5 - n)

    figures = (
        f"{exercise.minutes} min · difficulty {dots(exercise.difficulty)} ({exercise.difficulty}/5) "
        f"· importance {dots(exercise.importance)} ({exercise.importance}/5)"
    )
    return (
        f'<div style="font-size: 15px; line-height: 1.45; max-width: 760px">'
        f'<h4 style="margin: 8px 0 2px">Exercise: {html.escape(exercise.title)}</h4>'
        f'<span style="opacity: 0.75">{figures}</span><br>{html.escape(exercise.task)}</div>'
    )


def side_by_side(wanted, got):
    """Draw expected and got next to each other: a grid of numbers, shaded by size.

    Parameters
    ----------
    wanted, got : results of an answer

    Returns
    -------
    html : str
        An <img> with alt text.
    """
    pairs = list(zip(compare.parts(wanted), compare.parts(got), strict=True))
    different = [(a, b) for a, b in pairs if not compare.close(a, b)] or pairs
    a, b = (_corner(part) for part in _matrices(*different[0]))
    left, right = _grid(a, "expected"), _grid(b, "got")
    width, height = left[1] + right[1] + 40, max(left[2], right[2])
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="white"/>'
        f'{left[0]}<g transform="translate({left[1] + 40} 0)">{right[0]}</g></svg>'
    )
    encoded = base64.b64encode(svg.encode()).decode("ascii")
    alt = f"Expected {_words(a)}; got {_words(b)}."
    return (
        f'<br><img alt="{html.escape(alt)}" style="max-width: 100%; margin-top: 6px" '
        f'src="data:image/svg+xml;base64,{encoded}">'
    )


def _matrices(wanted, got):
    """Reduce two results to two axes each: of several matrices, the first that differ."""
    wanted, got = (x.flatten(0, -3) if x.dim() > 2 else x[None] for x in (wanted, got))
    pairs = list(zip(wanted, got, strict=False))  # a wrong result may also have a wrong shape
    different = [pair for pair in pairs if not compare.close(*pair)]
    return [*different, *pairs, (wanted.sum(0), got.sum(0))][0]  # the last for no matrix at all


def _corner(part):
    """Cut a matrix, or a row of numbers, to at most MOST_CELLS a side."""
    part = part.double()
    part = part.reshape(1, -1) if part.dim() < 2 else part
    return part[:MOST_CELLS, :MOST_CELLS].tolist()


def _words(rows):
    return "; ".join(" ".join(f"{number:.3g}" for number in row[:6]) for row in rows[:4])


def _grid(rows, title):
    cell_width, cell_height, top = 58, 26, 26
    finite = [abs(x) for row in rows for x in row if abs(x) < float("inf")] or [1.0]
    largest = max(finite) or 1.0
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
                f'fill="{fill}" stroke="#5b6570" stroke-opacity="0.3"/>'
                f'<text x="{x + cell_width / 2 - 1}" y="{y + 17}" text-anchor="middle">'
                f"{number:.3g}</text>"
            )
    columns = max((len(row) for row in rows), default=1)
    return "".join(drawn), max(columns * cell_width, 80), top + len(rows) * cell_height + 2
