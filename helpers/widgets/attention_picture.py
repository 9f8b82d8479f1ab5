"""The attention view as a still picture, for wherever no kernel runs."""

import numpy

from helpers.widgets.colours import LIGHT
from helpers.widgets.readable import width_of
from helpers.widgets.stills import STEPS, as_image, drawing, palette, pixels, text
from helpers.widgets.svg import share

MUTED, QUERY, KEY = (LIGHT[n] for n in ("muted", "query", "key"))
RAMP = palette(LIGHT["weights"], (0.0, 0.68, 1.0)) + bytes.fromhex(LIGHT["masked"][1:])
MEANING = "reads → predicts"  # what the name of a translator's row says
LONGEST = 18  # characters of a label
MOST_TILES = 16  # pixels of one head in the overview


def picture(one, layer, head, selected=None, side="query") -> str:
    """Draw the map of `one` layer's head, and all heads at a glance beside it.

    The `layer` and `head` are counted from 0; `selected`, if given, is a token to frame, and `side`
    says whether it's a "query" or a "key".
    """
    weights = one.weights[layer, head]
    queries, keys = [_short(t) for t in one.rows], [_short(t) for t in one.keys]
    cell = max(8, min(40, 620 // max(weights.shape)))
    corner = [(MEANING, MUTED)] * (one.rows != one.queries)
    corner += [("queries ↓", QUERY), ("keys →", KEY)]
    left = 24 + max(width_of(t) for t in [*queries, *(words for words, _ in corner)])
    top = 52 + max(40, *(width_of(t) for t in keys))
    parts = [text(16, 30, title(one, layer, head), weight=600)]
    parts += _labels(queries, keys, cell, left, top)
    parts += [
        text(left - 8, top - 8 - 20 * i, words, colour, "end")
        for i, (words, colour) in enumerate(corner)
    ]
    size = cell * len(keys), cell * len(queries)
    levels = _levels(weights)
    levels[numpy.triu_indices(len(keys) * one.causal, 1)] = STEPS + 1
    parts.append(pixels(levels, RAMP, left, top, *size))
    if selected is not None:
        parts.append(_frame(selected, side, weights.shape, cell, left, top))
    width, height = left + cell * len(keys) + 24, top + cell * len(queries) + 20
    if one.weights.shape[0] * one.weights.shape[1] > 1:
        overview, across, down = _overview(one.weights, layer, head, width + 16, top)
        parts += overview
        width, height = width + 16 + across, max(height, top + down + 20)
    return drawing(width, height, parts)


def title(one, layer, head) -> str:
    """Name a head of the map `one`: `layer` and `head` count from 0, the words as people do."""
    n_layers, n_heads = one.weights.shape[:2]
    parts = [one.label]
    parts += [f"layer {layer + 1} of {n_layers}"] if n_layers > 1 else []
    parts += [f"head {head + 1} of {n_heads}"] if n_heads > 1 else []
    return ", ".join(parts)


def alt_text(one, layer, head, most=12) -> str:
    """Say in words where `most` of the queries attend most; the other arguments as in `picture`."""
    weights = one.weights[layer, head]
    rows = [
        f"{query} to {one.keys[row.argmax()]} ({share(row.max())})"
        for query, row in zip(one.rows[:most], weights, strict=False)
    ]
    what = f" ({MEANING})" if one.rows != one.queries else ""
    more = f"; and {len(weights) - most} more" if len(weights) > most else ""
    return (
        f"Attention map. {title(one, layer, head)}: rows are queries{what}, columns are keys. "
        f"Each query attends most: {', '.join(rows)}{more}."
    )


def as_html(one, layer, head, selected=None, side="query") -> str:
    """Wrap the picture, arguments as in `picture`, as an image that no front end takes away."""
    return as_image(picture(one, layer, head, selected, side), alt_text(one, layer, head))


def _short(words):
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"


def _labels(queries, keys, cell, left, top):
    step = -(-18 // cell)  # every label where they fit, else every second, third …
    for q in range(0, len(queries), step):
        yield text(left - 8, top + (q + 0.5) * cell + 5, queries[q], anchor="end")
    for k in range(0, len(keys), step):
        yield text(left + (k + 0.5) * cell + 5, top - 8, keys[k], turn=90)


def _levels(weights):
    """Turn weights into steps of the colour ramp by their roots, in every head alike."""
    return numpy.rint(numpy.sqrt(weights.clip(0, 1)) * (STEPS - 1)).astype(numpy.uint8)


def _frame(selected, side, shape, cell, left, top):
    row = side == "query"
    x, y = (left, top + selected * cell) if row else (left + selected * cell, top)
    width, height = (shape[1] * cell, cell) if row else (cell, shape[0] * cell)
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="none" '
        f'stroke="{QUERY if row else KEY}" stroke-width="2.5"/>'
    )


def _overview(weights, layer, head, x, y):
    """Draw every head small, a row for each layer, the open one framed."""
    n_layers, n_heads = weights.shape[:2]
    pitch = max(18, min(48, 430 // n_heads))
    tiles = [[_tile(weights[i, j]) for j in range(n_heads)] for i in range(n_layers)]
    # One picture of all, with a seam of paper after every tile.
    atlas = numpy.concatenate([numpy.concatenate(row, axis=1) for row in tiles], axis=0)
    frame = (
        f'<rect x="{x + head * pitch - 2:g}" y="{y + layer * pitch - 2:g}" width="{pitch}" '
        f'height="{pitch}" fill="none" stroke="{KEY}" stroke-width="2.5"/>'
    )
    words = text(x, y - 12, "All heads, a row for each layer", MUTED)
    image = pixels(atlas, RAMP, x, y, n_heads * pitch, n_layers * pitch)
    return [words, image, frame], max(n_heads * pitch, 270) + 16, n_layers * pitch


def _tile(weights):
    """Shrink a map by its largest weights, or a thin diagonal would vanish; add the seam."""
    for axis in (0, 1):
        n = weights.shape[axis]
        if n > MOST_TILES:
            starts = numpy.arange(MOST_TILES) * n // MOST_TILES
            weights = numpy.maximum.reduceat(weights, starts, axis=axis)
    # Whatever its size, a head takes the same room: the seam must look alike everywhere.
    rows = numpy.arange(MOST_TILES) * weights.shape[0] // MOST_TILES
    columns = numpy.arange(MOST_TILES) * weights.shape[1] // MOST_TILES
    return numpy.pad(_levels(weights[rows][:, columns]), ((0, 2), (0, 2)), constant_values=STEPS)
