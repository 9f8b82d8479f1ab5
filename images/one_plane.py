"""The film of lesson 03: words turn into queries, keys and values, as arrows in one plane."""

import itertools
import math

import torch

from helpers.widgets.svg import number
from images.stage import TEXT, Scene, as_vector, film

WORDS = ("small", "red", "cars", "stop")
X = torch.tensor([[-2.0, 1], [-1, 2], [2, 0], [1, -1]])  # made up: adjectives are neighbours
W_Q = torch.tensor([[0.5, 0.5], [-0.5, 1]])
W_K = torch.tensor([[-0.5, 0.5], [0.5, 0.5]])
W_V = torch.tensor([[0.6, 0.2], [0.0, 0.8]])
SMALL, RED, CARS, STOP = range(4)
QUERY, KEYS, VALUES = X[CARS] @ W_Q, X @ W_K, X @ W_V
SCORES = KEYS @ QUERY
WEIGHTS = (SCORES / math.sqrt(2)).softmax(-1)
CONTEXT = WEIGHTS @ VALUES
SCALED = SCORES / math.sqrt(2)
POWERS = SCALED.exp()
SUM = number(POWERS.sum())
PLACES = [60 + 120 * i for i in range(4)]  # the middles of the words
FOOT, UNIT = (240, 318), 92  # the origin, and how long a 1 is
WORK = 94  # where something is worked out
MEETS = {3: RED, 4: RED, 5: SMALL, 6: CARS, 7: STOP}  # on whose key the query's shadow falls
OFFERS = ("adjective", "adjective", "noun", "verb")  # what a key says, in words
USED = {  # which matrix a scene works out, for which word
    1: ("W_Q", "query", W_Q, CARS, QUERY),
    2: ("W_K", "key", W_K, RED, KEYS[RED]),
    11: ("W_V", "value", W_V, RED, VALUES[RED]),
}
TOLD = (
    "“cars” has to find the words that describe it. Its own vector says what it is, not what it "
    "looks for.",
    "So the matrix W_Q moves the plane: “cars” becomes a query, something like “which adjectives "
    "describe me?”",
    "W_K moves it another way: every word becomes a key, something like “I'm an adjective” or "
    "“I'm a noun”.",
    "How well does a key match? Let the query's shadow fall on the key of “red”.",
    "The shadow's length times the key's is their dot product: the score of “red”.",
    "“small” is an adjective too: its key is near that of “red”, but further from the query. So "
    "its shadow is shorter and its score lower.",
    "The key of “cars” is at right angles to the query: no shadow, score 0.",
    "On “stop” the shadow falls backwards, so the score is negative.",
    "The more entries the vectors have, the larger the scores get. So we divide by the root of "
    "that number, here √2.",
    "A mixture needs positive shares, so the softmax raises e to the power of each result: for "
    f"“red”, to the power of {SCALED[RED]:.2f}.",
    f"Then it divides each by their sum, {SUM}. These weights sum to 1, and “red” has most.",
    "Most of what? W_V moves the plane once more: every word becomes its value, what it passes on.",
    "Each value is scaled by its weight, and all are laid tip to tail.",
    "They end at the context of “cars”: mostly “red”, partly “small”, little of the rest.",
    f"Added to “cars”, the context turns it into an arrow for small red cars: {CONTEXT[1]:.2f} up "
    f"and {-CONTEXT[0]:.2f} left, the way the values of “red” and “small” point.",
)


def _number(one, digits=1):
    """Write a number; what is whole has no digits after the point."""
    return number(one, 0 if float(one) % 1 == 0 else digits)


HEADINGS = {0: "Which words describe cars?", 3: "query of cars · key of red = ?"}
ROWS = {  # what the softmax makes of the scores, line by line
    7: (SCORES, "score", "ink"),
    8: (SCALED, "score ÷ √2", "muted"),
    9: (POWERS, "e to that power", "second"),
    10: (WEIGHTS, f"that ÷ {SUM} = weight", "result"),
}


def queries_in_one_plane():
    """A film: "small red cars stop", each word an arrow in a plane. W_Q moves the plane's grid, and
    with it the arrow of cars, which becomes its query. W_K moves the grid another way, and every
    word becomes its key. The query's shadow on a key, times the key's length, is a score: 2 for
    red, 1 for small, 0 for cars, whose key is at right angles to the query, and −1 for stop, where
    the shadow falls backwards. The scores are divided by the root of 2; e raised to each, divided
    by the sum, makes weights of 0.54, 0.27, 0.13 and 0.06. W_V moves the words to their values;
    each is scaled by its weight, and laid tip to tail they end at the context of cars,
    (−0.45, 0.87). Added to cars, (2, 0), it makes (1.55, 0.87): nearer to the values of red and
    small.
    """
    return film([_scene(*moment) for moment in enumerate(TOLD)], 454)


def _scene(moment, caption):
    scene = Scene(caption, 2.6 if moment == 12 else 1.9, key=moment in (1, 2, 4, 7, 10, 13, 14))
    _sentence(scene, moment)
    if moment in (8, 9, 10):
        _softmax(scene, moment)
        return scene
    _plane(scene, moment not in (12, 13))
    if moment in USED:
        _carried(scene, *USED[moment][1:3])
    if moment in HEADINGS:
        scene.text(f"head {moment}", 240, 104, HEADINGS[moment], "ink", 20, bold=True,
                   when=(0.5, 0.8))  # fmt: skip
    if moment in MEETS:
        _shadow(scene, moment)
    (_queries_and_keys if moment < 11 else _values)(scene, moment)
    if moment in USED:
        _product(scene, *USED[moment])
    return scene


def _at(vector):
    """Return where the tip of a vector is, in pixels."""
    return FOOT[0] + UNIT * float(vector[0]), FOOT[1] - UNIT * float(vector[1])


def _from(word):
    """Return where a word's arrow starts when a matrix carries its tip to another place."""
    return {"dx": UNIT * float(word[0]), "dy": -UNIT * float(word[1])}


def _plane(scene, numbered):
    """Draw the plane's grid, with its origin and the numbers on both axes."""
    for i in range(-2, 3):
        (across, up), ink = _at((i, i)), "muted" if i == 0 else "rule"
        scene.line(f"upright {i}", [(across, 128), (across, 450)], ink, 1)
        if i and numbered:  # or else weighted values have their names there
            scene.text(f"across {i}", across, FOOT[1] + 19, _number(i), "muted")
        if i > -2:
            scene.line(f"level {i}", [(8, up), (472, up)], ink, 1)
            if i:
                scene.text(f"up {i}", FOOT[0] - 7, up + 6, _number(i), "muted", anchor="end")


def _carried(scene, kind, matrix):
    """Draw the grid as a matrix carries it away with the arrows, as much of it as has room."""
    steps = torch.arange(-2, 2.1, 0.25)
    for i, way in itertools.product(range(-2, 3), range(2)):
        points = torch.full((len(steps), 2), float(i))
        points[:, way] = steps
        places = [_at(at @ matrix) for at in points]
        seen = [at for at, (x, y) in zip(points, places, strict=True) if x < 472 and 130 < y < 450]
        ends = seen[0], seen[-1]
        scene.line(f"{kind} grid {i} {way}", [_at(end @ matrix) for end in ends], kind, 1.5,
                   opacity=0.4, start={"points": [*_at(ends[0]), *_at(ends[1])]})  # fmt: skip


def _product(scene, name, kind, matrix, word, made):
    """Work out a word times a matrix: an entry before each row, their sums below the columns."""
    scene.rect(f"{name} box", 8, 344, 178, 106, "paper", "edge", when=(0, 0.3))
    scene.text(name, 130, 362, name, kind, 18, bold=True, when=(0, 0.3))
    scene.text(f"of {name}", 16, 362, WORDS[word], anchor="start", bold=True, when=(0, 0.3))
    for j in range(2):
        y, x = 368 + 28 * j, 76 + 54 * j
        scene.text(f"{name} row {j}", 70, y + 20, f"{_number(X[word][j])} ×", bold=True,
                   anchor="end", when=(0.2, 0.6))  # fmt: skip
        for k, entry in enumerate(matrix[j].tolist()):
            at = 76 + 54 * k
            scene.rect(f"{name} {2 * j + k}", at, y, 54, 28, kind, kind, 0.2, when=(0, 0.3))
            scene.text(f"{name} entry {2 * j + k}", at + 27, y + 20, _number(entry), when=(0, 0.3))
        scene.text(f"{name} sum {j}", x + 27, 444, _number(made[j]), kind, bold=True,
                   when=(0.6, 0.8))  # fmt: skip
    scene.text(f"{name} sums", 70, 444, "sum", "muted", anchor="end", when=(0.6, 0.8))


def _sentence(scene, moment):
    """Draw the words, and below each its vector by now, and then its score, its weight."""
    made = "ink" if moment < 2 else "key" if moment < 11 else "value"
    vectors = {"ink": X, "key": KEYS, "value": VALUES}[made]
    for i, (x, word) in enumerate(zip(PLACES, WORDS, strict=True)):
        scene.card(word, x, 22, word, "query" if i == CARS else "muted", 100, full=i == CARS)
        scene.text(f"{made} {i}", x, 58, as_vector(vectors[i]), made, when=(0.5, 1))
        if moment == 2 or (moment == 1 and i == CARS):
            words, ink = (OFFERS[i], "key") if moment == 2 else ("adjectives?", "query")
            scene.text(f"offers {i}", x, 84, words, ink, bold=True, room=116, when=(0.5, 1))
        if moment > 10:
            scene.text(f"score {i}", x + 18, 116, number(WEIGHTS[i]), "result", 20, bold=True)
            high = 60 * float(WEIGHTS[i])
            scene.rect(f"bar 10 {i}", x - 42, 118 - high, 26, high, "result")


def _softmax(scene, moment):
    """Turn scores into weights: a line per step, and below it bars, all on one scale."""
    for n, (step, (row, said, ink)) in enumerate(ROWS.items()):
        if step > moment:
            continue
        y = 104 + 52 * n
        scene.text(f"step {step}", 8, y, said, ink, anchor="start", bold=True, when=(0.5, 0.7))
        for i, x in enumerate(PLACES):
            name, digits = {7: "number", 10: "score"}.get(step, f"step {step}"), 2 * (step > 7)
            scene.text(f"{name} {i}", x, y + 24, _number(row[i], digits), ink, 20, bold=True,
                       when=(0.3 * (step > 7), 0.6))  # fmt: skip
            if step > 7:
                high = 28 * float(row[i])
                scene.rect(f"bar {step} {i}", x - 77 + 32 * n, 424 - max(high, 0), 26, abs(high),
                           ink, start={"y": 424, "height": 0}, when=(0.5, 0.9))  # fmt: skip
    scene.line("zero", [(8, 424), (472, 424)], "muted", 1)


def _queries_and_keys(scene, moment):
    """Draw the words as arrows, which turn into their keys, and beside them the query."""
    keys = moment > 1
    for i, vector in enumerate(KEYS if keys else X):
        bold = MEETS.get(moment) == i or (i == CARS and not keys)
        colour = "key" if keys else "ink" if bold else "muted"
        scene.arrow(f"arrow {i}", *FOOT, *_at(vector), colour, 6 if bold else 4, 14)
        scene.text(f"name {i}", *_tip(i, vector), WORDS[i], colour, bold=bold)
        if 4 + [RED, SMALL, CARS, STOP].index(i) <= moment < 8:
            x, y = _tip(i, vector)
            x += math.copysign(6 * len(WORDS[i]) + 24, vector[0])  # further from the origin
            scene.text(f"number {i}", x, y, number(SCORES[i], 0), "ink", 20, bold=True,
                       start={"x": 340, "y": WORK + 50}, when=(0.65, 1))  # fmt: skip
    if moment > 0:
        came = _from(X[CARS]) | {"fill": "ink"}
        scene.arrow("query", *FOOT, *_at(QUERY), "query", 6, 15, start=came)
        x, y = _at(QUERY)
        scene.text("query name", x - 4, y - 8, "query", "query", TEXT, "start", True, when=(0.7, 1))


def _tip(i, vector):
    """Return where the middle of a word is at the tip of its arrow, clear of axes and edges."""
    (x, y), (across, up) = _at(vector), (vector / vector.norm()).tolist()
    if not up:
        return max(x + across * 8, 34), y - 16
    if not across:
        return x + 26, y + 12
    x += across * (8 + 5 * len(WORDS[i]))
    return max(x, 34), y + 6 - 16 * up - 14 * (x < 34)


def _shadow(scene, moment):
    """Now let the query's shadow fall on a key; from that and the key's length comes the score."""
    i = MEETS[moment]
    length, score, tip = float(KEYS[i].norm()), float(SCORES[i]), _at(QUERY)
    foot = _at(score / length**2 * KEYS[i])
    scene.line(f"drop {i}", [tip, foot], "query", 1.5, start={"points": [*tip, *tip]})
    scene.line(f"shadow {i}", [FOOT, foot], "query", 12, opacity=0.45,
               start={"points": [*FOOT, *tip]})  # fmt: skip
    times, late = f"× key {_number(length, 2)}", {"when": (0.5, 0.7)}  # the shadow has fallen
    entries = [f"({_number(one)})" if one < 0 else _number(one) for one in KEYS[i]]
    terms = " + ".join(f"{_number(q)}·{k}" for q, k in zip(QUERY, entries, strict=True))
    sums = f"entry by entry: {terms} = {number(score, 0)}"
    same = "=" if abs(round(score / length, 2) * round(length, 2) - score) < 1e-6 else "≈"
    if not score:
        one, other = QUERY / QUERY.norm() / 4, KEYS[i] / length / 4
        scene.line("corner", map(_at, (one, one + other, other)), "ink", **late)
    if moment == 3:
        return
    for name, x, words, colour, anchor in (
        ("how much", 192, f"shadow {_number(score / length, 2)}", "query", "end"),
        ("length", 202, times, "key", "start"),
        ("product", 216 + 12 * len(times), f"{same} {number(score, 0)}", "ink", "start"),
    ):
        scene.text(f"{name} {i}", x, WORK, words, colour, 20, anchor, True, **late)
    scene.text(f"terms {i}", 240, WORK + 24, sums, **late)


def _values(scene, moment):
    """Draw the values: they come out of the words, shrink to their weights, and are joined."""
    foot, whole = torch.zeros(2), moment == 11
    for i, value in enumerate(VALUES[: 2 if moment == 14 else 4]):
        if not whole:
            scene.arrow(f"whole {i}", *FOOT, *_at(value), "value", 4, 14, start={},
                        opacity=0.25 if moment < 14 else 0.5)  # fmt: skip
        came = dict(zip("xy", _tip(i, X[i]), strict=True))
        scene.text(f"passed {i}", *_tip(i, value), WORDS[i], "value", bold=whole, when=(0.3, 1),
                   opacity=1 if whole else 0.6, start=came)  # fmt: skip
        if moment == 14:
            continue
        how = {"when": (0.3, 1) if whole else (0.2 * i, 0.2 * i + 0.35)}
        share = value if whole else WEIGHTS[i] * value
        slim = min(max(UNIT * float(share.norm()) / 44, 0.5), 1)  # a short one has a small head
        scene.arrow(f"share {i}", *_at(foot), *_at(foot + share), "value", 6 * slim, 14 * slim,
                    start=_from(X[i]) | {"fill": "muted"}, **how)  # fmt: skip
        if moment == 12 or (moment == 13 and i < CARS):
            _named(scene, i, foot, share, how)
        if not whole:
            foot = foot + share
    if moment > 12:
        scene.arrow("context", *FOOT, *_at(CONTEXT), "ink", 8, 18)
    if moment == 13:
        scene.text("context's name", 252, 226, "context of cars", anchor="start", bold=True)
        scene.text("its entries", 252, 250, as_vector(CONTEXT, 2), anchor="start")
    if moment == 14:
        _added(scene)


def _named(scene, i, foot, share, how):
    """Name a weighted value, and show both short ones again, five times as long."""
    tip = _at((WEIGHTS[:CARS, None] * VALUES[:CARS]).sum(0))
    if i == CARS:
        scene.rect("lens", 300, 138, 166, 108, "paper", "muted", **how)
        scene.line("to lens", [(tip[0] + 22, tip[1] - 4), (300, 192)], "muted", 1, **how)
        scene.text("5 times", 458, 160, "5 ×", "muted", anchor="end", **how)
    if i >= CARS:
        x1, y1, x2, y2 = (5 * at for end in (foot, foot + share) for at in _at(end))
        x, y = 316 - 5 * tip[0], 200 - 5 * tip[1]
        scene.arrow(f"seen {i}", x1 + x, y1 + y, x2 + x, y2 + y, "value", 5, 12, **how)
    x, y, anchor = ((232, 338, "end"), (178, 262, "end"), (308, 166, "start"), (458, 224, "end"))[i]
    scene.text(f"weighed {i}", x, y, f"{WEIGHTS[i]:.2f} {WORDS[i]}", "value", anchor=anchor, **how)


def _added(scene):
    """Add the context to the word itself, tip to tail."""
    tip, end, late = _at(X[CARS]), _at(X[CARS] + CONTEXT), {"when": (0.7, 1)}
    scene.text("its place", 252, 226, "context", anchor="start", bold=True)
    scene.arrow("cars itself", *FOOT, *tip, "muted", 6, 15, when=(0, 0.3))
    scene.text("its name", 380, FOOT[1] + 42, f"cars {as_vector(X[CARS])}", "muted", bold=True,
               when=(0, 0.3))  # fmt: skip
    scene.arrow("context again", *tip, *end, "ink", 4, 14, start={"x": FOOT[0], "y": FOOT[1]},
                opacity=0.5, when=(0.3, 0.6))  # fmt: skip
    scene.arrow("both", *FOOT, *end, "second", 8, 18, when=(0.6, 1))
    scene.text("both's name", 474, 166, "cars + context", "second", 20, "end", True, **late)
    both = as_vector(X[CARS] + CONTEXT, 2)
    scene.text("both's entries", 474, 190, both, "second", anchor="end", **late)


PICTURES = [queries_in_one_plane]
