"""The film of lesson 03: query meets key, weights grow, values flow, in one sentence."""

import math

import torch

from helpers.widgets.svg import number
from images.stage import Scene, film

WORDS = ("the", "small", "red", "car", "stops")
# noun, adjective, verb, size, redness: the vectors that lesson 03 makes up, and its matrices
VECTORS = torch.tensor(
    [[0.0, 0, 0, 0, 0], [0, 1, 0, -1, 0], [0, 1, 0, 0, 1], [1, 0, 0, 0, 0], [0, 0, 1, 0, 0]]
)
W_Q, W_K = torch.zeros(2, 5, 2)
W_Q[0, 1], W_K[0, 0], W_K[1, 1] = 4, 1, 1
CAR, SMALL, RED = 3, 1, 2
PLACES = [50 + 95 * i for i in range(5)]  # the middles of the words
FOOT, UNIT = (52, 402), 55  # where the first plane's origin is, and how long a 1 is in it
OTHER, FAR = (430, 380), 158  # likewise for the plane of what the values say
FORMULAS = {
    2: ("car · small", "= 1·0 + 0·1 = 0"),
    5: ("query · key of small", "= 0·0 + 4·1 = 4"),
    6: ("query · key of car", "= 0·1 + 4·0 = 0"),
    7: ("weights", "= softmax(scores / √2)"),
}


def queries_in_one_plane():
    """A film: "the small red car stops", and how car finds its adjectives. Their arrows go into a
    plane: car's is (1, 0), those of small and red are (0, 1), at right angles to it. car's arrow
    times the matrix W_Q is a second arrow, upwards and four long: its query. With the keys of small
    and red it scores 4, with the others 0, and a softmax makes weights of 0.46 for small and red.
    In a second plane, of size and redness, car moves 0.46 of the way along the value of small and
    of the value of red, to (−0.46, 0.46).
    """
    return film(list(_scenes()), 454)


def _scenes():
    scores = (VECTORS @ W_K @ (VECTORS[CAR] @ W_Q)).tolist()
    weights = (VECTORS @ W_K @ (VECTORS[CAR] @ W_Q) / math.sqrt(2)).softmax(-1).tolist()
    told = [
        ("Which words describe car? Of their vectors' four entries, compare the first two.", 0),
        ("In this plane, nouns point to the right and adjectives upwards.", 1),
        ("car is at right angles to small and red, so their dot product is 0: no match.", 2),
        ("car times W_Q gives a second arrow, upwards and 4 long: the query of car.", 3),
        ("W_K leaves nouns and adjectives where they are. These are the keys, one per word.", 4),
        ("The query meets every key, one dot product each.", 5),
        ("4 for small and red, 0 for all others.", 6),
        ("Divide the scores by √2; a softmax makes weights of them. Unrounded they sum to 1.", 7),
        ("W_V makes values of the other two entries, size and redness: what car takes.", 8),
        (f"{weights[SMALL]:.2f} of the value of small flows into car …", 9),
        (f"… and {weights[RED]:.2f} of the value of red.", 10),
        ("car is still a noun, (1, 0). Now it's smallish and reddish too.", 11),
    ]
    for caption, moment in told:
        scene = Scene(caption, key=moment in (1, 3, 5, 7, 8, 11))
        _sentence(scene, moment, scores, weights)
        _plane(scene, moment)
        if moment > 7:
            _values(scene, moment, weights)
        yield scene


def _sentence(scene, moment, scores, weights):
    """Draw the words, and below each what it has by now: its key, its score, its weight."""
    for i, (x, word) in enumerate(zip(PLACES, WORDS, strict=True)):
        match = ("value" if moment > 7 else "key") if moment > 5 and i in (SMALL, RED) else "muted"
        colour = "query" if i == CAR else match
        scene.card(word, x, 24, word, colour, 84, full=i == CAR)
        turn = 0.12 * i, 0.12 * i + 0.5  # one after the other
        if 4 <= moment <= 5:
            at = x + 20 if moment == 5 else x
            scene.card(f"key {i}", at, 66, "k", "key", 34, True, 28, start=(x, 56))
        if moment == 5:
            scene.card(f"query {i}", x - 20, 66, "q", "query", 34, True, 28,
                       start=(PLACES[CAR], 30), when=turn)  # fmt: skip
        if moment >= 6:
            scene.text(f"score {i}", x, 76, number(scores[i], 0), "ink", 20, bold=True,
                       start={"size": 4, "opacity": 0}, when=turn)  # fmt: skip
        if moment >= 7:
            high = 66 * weights[i]
            scene.rect(f"bar {i}", x - 30, 118 - high, 60, high, "result",
                       start={"y": 118, "height": 0})  # fmt: skip
            scene.text(f"weight {i}", x, 136, f"{weights[i]:.2f}", "result", bold=True)
        if moment >= 8:
            value = ", ".join(number(one, 0) for one in VECTORS[i, 3:])
            scene.text(f"value {i}", x, 158, f"({value})", "value")
    for i in (SMALL, RED) if moment > 5 else ():  # the matches
        ends = [(PLACES[CAR], 42), (PLACES[CAR], 51), (PLACES[i], 51), (PLACES[i], 42)]
        scene.line(f"match {i}", ends, "result", 3, start={"points": ends[:2] + ends[1::-1]})


def _plane(scene, moment):
    """Draw the plane of nouns and adjectives: words, then car's query and the keys."""
    x, y = FOOT
    for i in range(1, 5):
        scene.line(f"level {i}", [(x - 12, y - i * UNIT), (x, y - i * UNIT)])
        scene.text(f"height {i}", x - 18, y - i * UNIT + 6, i, "muted", anchor="end")
    scene.arrow("across", x, y, x + 126, y, "muted", 2, 9, start={})
    scene.arrow("up", x, y, x, y - 234, "muted", 2, 9, start={})
    scene.text("noun", x + 132, y + 6, "noun", "muted", anchor="start")
    scene.text("adjective", x + 10, y - 222, "adjective", "muted", anchor="start")
    turned, keys, apart = moment >= 3, moment >= 4, moment == 0
    late = {"when": (0.7, 1)} if moment == 1 else {}  # when the arrows are there
    colour = "key" if keys else "muted"
    for i in range(len(WORDS)):
        vector = tuple(VECTORS[i, :2].int().tolist())
        if apart:
            scene.text(f"vector {i}", PLACES[i], 138, vector, "ink" if i == CAR else "muted")
        if vector == (0, 0) and moment < 3:
            scene.dot(f"dot {i}", *((PLACES[i], 104) if apart else (x, y)), 5, "muted")
    for i in (SMALL, RED):
        at = (PLACES[i], 104) if apart else (x - 5, y)
        scene.arrow(f"adjective {i}", *at, at[0], at[1] - UNIT, colour, 5, 13, start={})
    words = "keys of small, red" if keys else "small, red (0, 1)"
    if not apart:
        scene.text("their name", x + 14, y - UNIT - 2, words, colour, anchor="start", **late)
    if keys:
        scene.arrow("car's key", x, y + 4, x + UNIT, y + 4, "key", 5, 13)
        scene.text("its name", x + 12, y + 24, "key of car", "key", anchor="start")
    at = (PLACES[CAR] - UNIT / 2, 80) if apart else (x, y - 3 if turned else y)
    thick = (3, 10) if turned else (6, 15)
    scene.arrow("car's arrow", *at, at[0] + UNIT, at[1], "ink", *thick, start={})
    if not apart:
        at, late = ((x + UNIT + 6, y - 12), {}) if turned else ((x + 12, y + 24), late)
        scene.text("car's name", *at, "car (1, 0)", "ink", anchor="start", bold=True, **late)
    if turned:
        come = {"x": 330, "y": 300, "length": 20}  # out of the product
        scene.arrow("query", x + 4, y, x + 4, y - 4 * UNIT, "query", 6, 15, start=come,
                    when=(0.6, 1))  # fmt: skip
        scene.text("query's name", x + 20, y - 4 * UNIT + 22, "query of car", "query",
                   anchor="start", bold=True, when=(0.8, 1))  # fmt: skip
    if moment == 3:
        _product(scene, "car", CAR, "W_Q", W_Q, "query")
    if moment == 4:
        _product(scene, "small", SMALL, "W_K", W_K, "key")
    if moment == 2:
        scene.line("corner", [(x, y - 18), (x + 18, y - 18), (x + 18, y)], "ink")
    for i, line in enumerate(FORMULAS.get(moment, ())):
        scene.text(f"formula {i}", 245, 240 + 30 * i, line, "ink", 18, "start", bold=i > 0)


def _product(scene, word, i, name, matrix, colour):
    """Work out a word's query or key: its two entries times the two rows that they meet."""
    row, result = (f"({a:.0f}, {b:.0f})" for a, b in (VECTORS[i, :2], VECTORS[i] @ matrix))
    late = {"when": (0.4, 0.7)}
    scene.text("whose", 225, 224, f"{colour} of {word} = {word} {name}", colour, 18, "start", True,
               **late)  # fmt: skip
    scene.text("row", 225, 278, f"{row}  ·", "ink", 18, "start", room=82, **late)
    for j, entries in enumerate(matrix[:2].int().tolist()):
        for k, entry in enumerate(entries):
            at, lit = (316 + 36 * k, 242 + 32 * j), 0.35 * float(VECTORS[i, j])
            scene.rect(f"entry {j} {k}", *at, 36, 32, "value", "value", lit, **late)
            scene.text(f"entry of {j} {k}", at[0] + 18, at[1] + 22, entry, "ink", 18, **late)
    scene.text("result", 396, 278, f"= {result}", colour, 18, "start", True, room=82, **late)


def _values(scene, moment, weights):
    """Draw the plane of size and redness: the values, and how far car has moved."""
    (x, y), small, red = OTHER, weights[SMALL] * FAR, weights[RED] * FAR
    scene.arrow("size", x - FAR - 24, y, x + 44, y, "muted", 2, 9)
    scene.arrow("redness", x, y, x, y - FAR - 30, "muted", 2, 9)
    scene.text("size's name", x + 46, y + 24, "size", "muted", anchor="end")
    scene.text("redness' name", x, y - FAR - 36, "redness", "muted")
    for share in (0.5, 1):
        across, up = x - share * FAR, y - share * FAR
        scene.line(f"tick {share}", [(across, y - 5), (across, y + 5)])
        scene.line(f"level of {share}", [(x - 5, up), (x + 5, up)])
        scene.text(f"size {share}", across, y + 24, f"−{share}", "muted")
        scene.text(f"redness {share}", x + 10, up + 6, share, "muted", anchor="start")
    flow = PLACES[SMALL], 166, PLACES[RED]  # below the values
    scene.arrow("value of small", x, y, x - FAR, y, "value", 4, 12,
                start={"x": flow[0], "y": flow[1], "length": 20})  # fmt: skip
    scene.text("small's value", x - 6, y + 46, "value of small", "value", anchor="end")
    scene.arrow("value of red", x, y, x, y - FAR, "value", 4, 12,
                start={"x": flow[2], "y": flow[1], "length": 20})  # fmt: skip
    scene.text("red's value", x - 10, y - FAR - 4, "value of red", "value", anchor="end")
    across, up = small if moment > 8 else 0, red if moment > 9 else 0
    late = {"when": (0.5, 1)}  # when the weight has arrived, the value shrinks to it
    if moment > 8:
        scene.arrow("from small", x, y, x - small, y, "result", 7, 15,
                    start={"length": FAR, "width": 4, "fill": "value"}, **late)  # fmt: skip
    if moment > 9:
        scene.arrow("from red", x - small, y, x - small, y - red, "result", 7, 15,
                    start={"x": x, "length": FAR, "width": 4, "fill": "value"}, **late)  # fmt: skip
    if 9 <= moment <= 10:
        i, *at = (SMALL, x - small / 2, y - 30) if moment == 9 else (RED, x - small + 30, y - 28)
        scene.text(f"times {i}", *at, f"{weights[i]:.2f}", "result", bold=True,
                   start={"x": PLACES[i], "y": 136}, when=(0, 0.5))  # fmt: skip
    if moment > 10:
        scene.arrow("change", x, y, x - small, y - red, "query", 6, 15)
    scene.dot("car here", x - across, y - up, 9, "query", **late)
    name = (x - across - 32, y - up - 12) if moment > 8 else (x + 32, y - 12)
    if moment > 10:
        terms = [f"{weights[i]:.2f}·{tuple(VECTORS[i, 3:].int().tolist())}" for i in (SMALL, RED)]
        words = f"{' + '.join(terms)} = (-{small / FAR:.2f}, {red / FAR:.2f})".replace("-", "−")
        scene.text("sum", 240, 448, words, bold=True)
    scene.text("car's new name", *name, "car", "query", bold=True, **late)


PICTURES = [queries_in_one_plane]
