"""The whole model as a still picture, for wherever no JavaScript runs: GitHub, a printed page."""

from functools import partial

import numpy

from helpers.widgets.colours import LIGHT
from helpers.widgets.map_data import entries
from helpers.widgets.map_tours import STRIP
from helpers.widgets.readable import percent, readable, readable_next
from helpers.widgets.stills import STEPS, as_image, drawing, palette, pixels, text

INK, MUTED, LINE, KEY, QUERY = (LIGHT[n] for n in ("ink", "muted", "lane", "key", "query"))
FILL = {"self": LIGHT["tint"], "masked": LIGHT["warm"]}
WIDTH, LEFT, STRIP_WIDTH, MODULE_GAP = 1000, 250, 38, 8
TITLES = {"GPT": "a GPT, a decoder without an encoder,", "ViT": "a Vision Transformer", "": ""}
WEIGHTS, SIGNED = palette(LIGHT["weights"]), palette(LIGHT["signed"])
GREYS = palette(("#000000", LIGHT["paper"]))
_text = partial(text, size=14)


def as_html(trace, written: int = 0) -> str:
    """Draw the whole model of a `trace` as an image with alt text, which no front end takes away.

    Shown is the next token of the target position `written`.
    """
    return as_image(picture(trace, written), alt_text(trace, written))


def alt_text(trace, written=0) -> str:
    """Say in words what the picture shows, with arguments as in `as_html`."""
    first = trace.stacks[0]
    layers, heads = len(first.layers), len(first.layers[0][0].heads.query)
    name = TITLES[trace.kind]
    if trace.kind == "ViT":
        best = trace.candidates[0][0]
        return (
            f"Map of {name} on a picture cut into {len(first.tokens) - 1} patches, with a class "
            f"token in front: {layers} layers with {heads} heads each, then the class "
            f"{best.token} with {percent(best.probability)}."
        )
    if trace.kind == "GPT":
        tokens, best = " ".join(readable(first.tokens)), trace.candidates[written][0]
        token = readable_next(first.tokens[: written + 1], [best.token])[0]
        return (
            f"Map of {name} on the tokens {tokens}: {layers} layers of masked self-attention with "
            f"{heads} heads each and feed-forward networks. The likeliest next token is "
            f"{token} with {percent(best.probability)}."
        )
    text = (
        f"Map of the model on the tokens {' '.join(readable(first.tokens))}: embedding plus "
        f"position, then {layers} encoder layers with {heads} heads each"
    )
    if trace.decoder is None:
        return f"{text}, then one output vector per token."
    target = " ".join(readable(trace.decoder.tokens[: written + 1]))
    best = trace.candidates[written][0]
    token = readable_next(trace.decoder.tokens[: written + 1], [best.token])[0]
    return (
        f"{text}; their output goes to {len(trace.decoder.layers)} decoder layers, which read "
        f"{target} and predict {token} with {percent(best.probability)}."
    )


def picture(trace, written: int = 0) -> str:
    """Draw the whole model as SVG, with arguments as in `as_html`."""
    pitch = max(8, min(18, 230 // max(len(stack.tokens) for stack in trace.stacks)))
    right = 170 if trace.candidates else STRIP_WIDTH + 30
    first, top = trace.stacks[0], 40
    module = (WIDTH - LEFT - right) / len(first.layers)
    sizes = {"pitch": pitch, "module": module}
    end, bottom = LEFT + module * len(first.layers), top + pitch * len(first.tokens)
    height, parts = bottom + 16, []
    if trace.encoder:
        parts.append(_stack(trace.encoder, trace.kind or "Encoder", top, **sizes))
        if trace.image is not None:
            parts.append(_patches(trace.image, len(first.tokens) - 1, top, pitch))
        else:
            parts.append(_memory(trace.encoder, end, top, pitch, bool(trace.decoder)))
    if trace.decoder:
        below = bottom + 74 if trace.encoder else top
        name = trace.kind or "Decoder"
        parts.append(_stack(trace.decoder, name, below, rows=written + 1, **sizes))
        height = below + pitch * len(trace.decoder.tokens) + 16
    if len(trace.stacks) == 2:
        parts.append(_pipes(end + STRIP_WIDTH / 2, bottom, below, module, trace.decoder.layers))
    if trace.candidates:
        row = written if trace.decoder else 0
        parts.append(_output(trace, row, end, below if trace.decoder else top, pitch))
    return drawing(WIDTH, height, parts)


def _stack(stack, name, top, pitch, module, rows=None):
    n = len(stack.tokens)
    rows = n if rows is None else rows
    parts = [_text(0, top - 16, name, weight=600, size=16)]
    added = bool(stack.positions.any())
    words = "embedding + position" if added else "embedding"
    parts.append(_text(100, top - 16, words, MUTED, size=13))
    for row, token in enumerate(readable(stack.tokens)[:rows]):
        y = top + (row + 0.5) * pitch
        parts.append(f'<path d="M94 {y:g}H{WIDTH - 170}" stroke="{LINE}"/>')
        if name != "ViT" and (pitch >= 13 or row % 2 == 0):
            parts.append(_text(90, y + 5, _short(token), anchor="end"))
    vectors = (stack.embeddings, stack.positions, stack.entered) if added else (stack.entered,)
    for i, one in enumerate(vectors):
        parts.append(_strips(one, 98 + i * (STRIP_WIDTH + 12), top, pitch, rows))
    for i, layer in enumerate(stack.layers):
        parts.append(_layer(layer, i, LEFT + i * module, top, pitch * n, pitch, module, rows))
    return "".join(parts)


def _layer(layer, i, x, top, height, pitch, module, rows):
    width = module - STRIP_WIDTH - 2 * MODULE_GAP
    attentions = [part for part in layer if part.heads]
    fill = FILL["masked" if layer[0].kind == "masked-self-attention" else "self"]
    box = (
        f'<rect x="{x:g}" y="{top - 3}" width="{width:g}" height="{height + 6:g}" rx="7" '
        f'fill="{fill}" stroke="{LINE}"/>'
    )
    parts = [_text(x + 2, top - 16, f"Layer {i + 1}", MUTED, size=13), box]
    column = (width - 8) / len(attentions)
    for k, part in enumerate(attentions):
        weights = part.heads.weights
        limit = len(weights[0]) if part.kind == "self-attention" else rows
        parts.append(_tiles(weights, x + 4 + k * column, top, column, height, limit))
    parts.append(_strips(layer[-1].after, x + width + MODULE_GAP, top, pitch, rows))
    return "".join(parts)


def _tiles(weights, x, top, width, height, rows):
    heads = len(weights)
    grids = [(min((width - 8) / c, height / -(-heads // c)), c) for c in range(1, heads + 1)]
    # As few columns as keep the tiles nearly as large as can be.
    size, columns = next(grid for grid in grids if grid[0] >= 0.7 * max(grids)[0])
    parts = []
    for head, one in enumerate(weights):
        left = x + (width - columns * size) / 2 + head % columns * size
        first = top + (height - size * -(-heads // columns)) / 2
        share = one.float().numpy() / max(float(one.max()), 4 / one.shape[-1])
        levels = numpy.rint(share.clip(0, 1) * (STEPS - 1)).astype(numpy.uint8)
        levels[rows:] = 0
        y = first + head // columns * size
        parts.append(pixels(levels, WEIGHTS, left + 2, y + 2, size - 4, size - 4))
    return "".join(parts)


def _strips(tensor, x, top, pitch, rows):
    values = tensor[:rows, entries(tensor.shape[-1], STRIP)].float().numpy()
    most = numpy.quantile(numpy.abs(values), 0.98) or 1.0
    levels = numpy.rint((values / most).clip(-1, 1) * (STEPS / 2 - 1) + STEPS / 2)
    # A seam of paper between the rows: the palette's last colour.
    spread = numpy.full((3 * len(levels), levels.shape[1]), STEPS, numpy.uint8)
    spread[0::3] = spread[1::3] = levels
    return pixels(spread, SIGNED, x, top + pitch / 6, STRIP_WIDTH, pitch * len(levels))


def _memory(encoder, x, top, pitch, feeds):
    n = len(encoder.tokens)
    parts = [_text(x, top - 16, "memory" if feeds else "output", KEY if feeds else INK, weight=600)]
    parts.append(_strips(encoder.output, x, top, pitch, n))
    if feeds:
        parts.append(
            f'<rect x="{x - 4:g}" y="{top - 3}" width="{STRIP_WIDTH + 8}" '
            f'height="{pitch * n + 6}" rx="5" fill="none" stroke="{KEY}"/>'
        )
    return "".join(parts)


def _pipes(x, bottom, top, module, layers):
    y = bottom + 22
    width = module - STRIP_WIDTH - 2 * MODULE_GAP
    ends = [LEFT + i * module + 4 + 0.75 * (width - 8) for i in range(len(layers))]
    paths = "".join(
        f'<path d="M{x:g} {bottom + 3}V{y}H{end:g}V{top - 5}m-4 -6l4 6l4 -6" fill="none" '
        f'stroke="{KEY}" stroke-width="2"/>'
        for end in ends
    )
    return paths + _text(ends[0] + 10, y + 20, "keys and values", KEY, size=13)


def _patches(image, n, top, pitch):
    """Draw a picture, and beside each row the patch that it belongs to."""
    along = int(n**0.5)
    side = len(image) // along
    levels = numpy.rint(image.float().numpy() / 255 * (STEPS - 1)).astype(numpy.uint8)
    parts = [
        pixels(levels, GREYS, 0, top + pitch, 70, 70),
        _text(0, top + 7, "class token", size=12),
    ]
    for i in range(n):
        row, column = divmod(i, along)
        patch = levels[row * side : (row + 1) * side, column * side : (column + 1) * side]
        parts.append(pixels(patch, GREYS, 90 - pitch, top + (i + 1) * pitch, pitch - 1, pitch - 1))
    return "".join(parts)


def _output(trace, written, x, top, pitch):
    y = top + (written + 0.5) * pitch
    stack = trace.stacks[-1]
    rows = written + 1 if trace.decoder else len(stack.tokens)
    parts = [_strips(stack.output, x, top, pitch, rows)]
    left = x + STRIP_WIDTH + 26
    parts.append(_text(left, top - 16, "next token" if trace.decoder else "class", weight=600))
    best = trace.candidates[written][: max(2, min(5, pitch * len(stack.tokens) // 36))]
    tokens = [one.token for one in best]
    tokens = readable_next(stack.tokens[:rows], tokens) if trace.decoder else tokens
    for i, (one, token) in enumerate(zip(best, tokens, strict=True)):
        at = top + 16 + i * 36
        parts.append(
            f'<path d="M{x + STRIP_WIDTH + 3:g} {y:g}L{left - 5:g} {at}" stroke="{QUERY}" '
            f'stroke-width="{1 + 3 * one.probability:.2g}"/>'
        )
        parts.append(_text(left, at, _short(token), weight=400 if i else 600))
        # The share stands beside its bar, because a long name needs the whole line.
        parts.append(_text(WIDTH, at + 14, percent(one.probability), MUTED, "end", size=13))
        width = max(2, (WIDTH - left - 38) * one.probability)
        parts.append(
            f'<rect x="{left:g}" y="{at + 6}" width="{width:.3g}" height="6" rx="3" '
            f'fill="{QUERY}"/>'
        )
    return "".join(parts)


def _short(token):
    return token if len(token) <= 11 else token[:10] + "…"
