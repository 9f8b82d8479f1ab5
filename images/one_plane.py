"""The film of lesson 03: directions in one plane, from a word's arrow to its new vector."""

import math

import torch

from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from helpers.widgets.svg import number
from images.kit import WIDE, Sheet, paced

WORDS = ("the", "small", "red", "car", "stops")
# noun, adjective, verb, size, redness: the vectors that lesson 03 makes up, and its matrices
VECTORS = torch.tensor(
    [[0.0, 0, 0, 0, 0], [0, 1, 0, -1, 0], [0, 1, 0, 0, 1], [1, 0, 0, 0, 0], [0, 0, 1, 0, 0]]
)
W_Q, W_K = torch.zeros(2, 5, 2)
W_Q[0, 1], W_K[0, 0], W_K[1, 1] = 4, 1, 1
CAR, SMALL, RED = 3, 1, 2
FRAME, LOOK = 0.11, 3.0  # seconds: of a movement's sheet, and to read a caption
UNIT, FOOT = 74, 400  # pixels: the length 1 on the left, and where that plane's origin is
OTHER, FAR = (800, 340), 180  # the origin of the plane on the right, and its length 1


@paced(LOOK, once=True)
def queries_in_one_plane():
    """A film in one plane, nouns to the right and adjectives upwards. The arrow of car points
    right, those of small and red point up, at right angles, so their dot product is 0. The matrix
    W_Q turns car's arrow upwards and makes it four long: its query, which scores 4 with the keys of
    small and red and 0 with the others. Divided by the root of 2, a softmax makes weights of 0.46
    for small and red. In a second plane, of size and redness, car moves 0.46 of the way to the
    value of small and 0.46 of the way to the value of red.
    """
    sheets = [_scene("The arrow of car is at right angles to small and red: 1·0 + 0·1 = 0.")]
    sheets += _moving("W_Q turns every noun upwards and makes it 4 long: the query.", "turned")
    sheets.append(_scene("W_K leaves nouns and adjectives where they are: the keys.", keys=1))
    sheets.append(_scene("Query · key: 4 for small and red, 0 for all others.", keys=1, scores=1))
    caption = "Divide by √2, and a softmax turns the scores into weights."
    sheets += _moving(caption, "weights", keys=1, scores=1)
    for n, name in enumerate(("small", "red")):
        caption = f"{_weights()[n + 1]:.2f} times the value of {name} moves car."
        state = {"keys": 1, "scores": 1, "weights": 1, "colour": 0, "size": n}
        sheets += _moving(caption, ("size", "colour")[n], **state)
    done = {"keys": 1, "scores": 1, "weights": 1, "size": 1, "colour": 1}
    sheets.append(_scene("car is still a noun. Now it's smallish and reddish too.", **done))
    return sheets


def _weights():
    keys = VECTORS @ W_K
    return (keys @ (VECTORS[CAR] @ W_Q) / math.sqrt(2)).softmax(-1).tolist()


def _moving(caption, what, **state):
    """Let one thing grow from 0 to 1 in twelve sheets, slowly at both ends, and hold the last."""
    for i in range(12):
        share = (1 - math.cos(math.pi * (i + 1) / 12)) / 2
        sheet = _scene(caption, **{**state, what: share})
        sheet.hold = FRAME if i < 11 else LOOK
        yield sheet


def _scene(caption, turned=None, keys=0, scores=0, weights=0.0, size=0.0, colour=0.0):
    """Draw one moment; each number says how far something has gone, from 0 to 1."""
    sheet = Sheet(WIDE, 440)
    _axes(sheet, (90, FOOT), (60, 300), UNIT * 4.4, ("noun", "adjective"))
    _axes(sheet, OTHER, (590, 905), 240, ("size", "redness"))
    turned = 1.0 if keys and turned is None else turned or 0.0
    angle, length = turned * math.pi / 2, 1 + 3 * turned
    tip = 90 + UNIT * length * math.cos(angle), FOOT - UNIT * length * math.sin(angle)
    if keys:
        sheet.arrow(90, FOOT, 90 + UNIT, FOOT, ORANGE, 4, head=12)
        sheet.text(98 + UNIT, FOOT - 10, "key of car", ORANGE)
    sheet.arrow(90, FOOT, *tip, BLUE, 5, head=13)
    name = "car" if not turned else "query of car"
    sheet.text(tip[0] + 12, tip[1] + (14 if turned > 0.5 else -10), name, BLUE, bold=True)
    sheet.arrow(86, FOOT, 86, FOOT - UNIT, ORANGE, 4, head=12)
    sheet.text(102, FOOT - UNIT + 8, "keys of small, red" if keys else "small, red", ORANGE)
    if scores:
        _list(sheet, weights)
    shares = [size * _weights()[SMALL], colour * _weights()[RED]]
    for used, end, words in ((size, (-1, 0), "value of small"), (colour, (0, 1), "value of red")):
        if used:
            x, y = OTHER[0] + FAR * end[0], OTHER[1] - FAR * end[1]
            sheet.arrow(*OTHER, x, y, GREEN, 2.5)
            sheet.text(x + 4, y + (26 if end[1] == 0 else -8), words, GREEN)
    there = OTHER[0] - FAR * shares[0], OTHER[1] - FAR * shares[1]
    if any(shares):
        sheet.arrow(*OTHER, *there, BLUE, 5, head=13)
    sheet.text(there[0] - 12, there[1] - 12, "car", BLUE, anchor="end", bold=True)
    sheet.text(20, 28, caption, INK, 18, bold=True)
    return sheet


def _axes(sheet, origin, across, high, names):
    x, y = origin
    sheet.line(across[0], y, across[1], y, GREY)
    sheet.line(x, y + 20, x, y - high, GREY)
    sheet.text(across[1], y + 24, names[0], GREY, anchor="end")
    sheet.text(x + 10, y - high + 8, names[1], GREY)


def _list(sheet, grown):
    """Write every word's score, and its weight as a bar that has grown so far."""
    scores = (VECTORS @ W_K @ (VECTORS[CAR] @ W_Q)).tolist()
    sheet.text(430, 140, "score", INK, anchor="middle")
    if grown:
        sheet.text(462, 140, "weight", PURPLE)
    for i, (word, score, weight) in enumerate(zip(WORDS, scores, _weights(), strict=True)):
        y = 172 + 36 * i
        sheet.text(404, y, word, INK, anchor="end")
        sheet.text(430, y, number(score, 0), INK, anchor="middle", bold=True)
        if grown:
            sheet.rect(462, y - 15, 150 * weight * grown, 20, PURPLE)
        if grown == 1:
            sheet.text(468 + 150 * weight, y, f"{weight:.2f}", PURPLE)


PICTURES = [queries_in_one_plane]
