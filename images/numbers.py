"""Still drawings whose every number is computed: a tree, two heads."""

import math

import torch

from helpers.plots import GREY, INK, ORANGE
from images.kit import HEADS, PALE, WIDE, Sheet, cells, elbow, plus, token


def beam_tree():
    """A beam of two over two steps. Each kept beginning proposes words, with their sums of
    log-probabilities; the two best of all stay, drawn strong, the others are dropped, drawn pale.
    """
    tree = {
        "": {"a": 0.5, "the": 0.4, "one": 0.1},
        "a": {"dog": 0.4, "cat": 0.35, "red": 0.25},
        "the": {"dog": 0.7, "cat": 0.2, "red": 0.1},
    }
    sheet = Sheet(WIDE, 400)
    token(sheet, 90, 200, "<bos>", GREY)
    first = sorted(tree[""], key=tree[""].get, reverse=True)
    scores = {(w,): math.log(p) for w, p in tree[""].items()}
    kept = set(sorted(scores, key=scores.get, reverse=True)[:2])
    second = {(a, b): scores[(a,)] + math.log(p) for (a,) in kept for b, p in tree[a].items()}
    best = set(sorted(second, key=second.get, reverse=True)[:2])
    ends = {}
    for i, word in enumerate(first):
        y, on = 90 + 140 * i, (word,) in kept
        _branch(sheet, (138, 200), (312, y), word, scores[(word,)], on)
        ends[(word,)] = y
    for place, path in enumerate(sorted(second, key=lambda p: (first.index(p[0]), -second[p]))):
        y, on = 50 + 62 * place, path in best
        _branch(sheet, (504, ends[path[:1]]), (640, y), path[1], second[path], on)
    sheet.text(20, 28, "numbers: sums of log-probabilities; the two best of all stay", GREY)
    return sheet


def _branch(sheet, start, end, word, score, on):
    colour = ORANGE if on else PALE
    sheet.line(*start, end[0], end[1], colour, 3 if on else 1.5)
    token(sheet, end[0] + 49, end[1], word, colour)
    sheet.text(end[0] + 106, end[1] + 6, f"{score:.2f}".replace("-", "−"), colour if on else GREY)


def heads_added():
    """Two heads in two colours, one word. Their results Z₁ and Z₂, four numbers each, stand side by
    side. W_O is cut into two bands of four rows. Z₁ times the upper band gives eight numbers, Z₂
    times the lower band gives eight more, and added up they are the eight numbers of the output.
    """
    generator, cell = torch.Generator().manual_seed(268), 28
    z = torch.randint(-1, 3, (2, 1, 4), generator=generator).float()  # (H, T, K)
    bands = torch.randint(-1, 3, (2, 4, 8), generator=generator).float()  # (H, K, D)
    output = torch.cat([*z], dim=1) @ torch.cat([*bands])  # with all of W_O at once
    assert torch.equal(output, sum(z @ bands)), "the parts don't add up to the whole"
    sheet = Sheet(WIDE, 392)
    sheet.text(16, 28, "one word, D = 8, K = 4", GREY)
    sheet.text(16, 240, "side by side", INK, 16, bold=True)
    sheet.text(534, 28, "W_O, a band of rows per head", INK, 16, "middle", bold=True)
    for h, colour in enumerate(HEADS):
        middle, left, name = 96 + 164 * h, 16 + 112 * h, f"Z{'₁₂'[h]}"
        edge, under = (192, 156) if h else (164, 214)  # the arrow leaves on the other side
        cells(sheet, left, 164, z[h].tolist(), colour, cell, digits=0)
        sheet.text(left + 56, under, name, colour, 16, "middle", bold=True)
        elbow(sheet, [(left + 56, edge), (left + 56, middle), (278, middle)], colour)
        cells(sheet, 284, middle - 14, z[h].tolist(), colour, cell, digits=0)
        sheet.text(340, middle - 24, name, colour, 16, "middle", bold=True)
        sheet.text(409, middle + 7, "·", INK, 24, "middle", bold=True)
        cells(sheet, 422, middle - 56, bands[h].tolist(), colour, cell, digits=0)
        sheet.text(662, middle + 6, "=", INK, 20, "middle", bold=True)
        cells(sheet, 678, middle - 14, (z[h] @ bands[h]).tolist(), colour, cell, digits=0)
        sheet.text(790, middle - 24, f"what head {h + 1} adds", colour, 16, "middle", bold=True)
    plus(sheet, 790, 168)
    sheet.text(790, 308, "=", INK, 20, "middle", bold=True)
    cells(sheet, 678, 322, output.tolist(), GREY, cell, digits=0)
    sheet.text(790, 376, "output", INK, 16, "middle", bold=True)
    return sheet


PICTURES = [beam_tree, heads_added]
