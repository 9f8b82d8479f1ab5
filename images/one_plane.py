"""The film of lesson 03: words turn into queries, keys and values, as arrows in one plane."""

import itertools
import math

import torch

from helpers.widgets.svg import number
from images.stage import TEXT, Scene, as_vector, film

WORDS = ("small", "red", "cars", "stop")
X = torch.tensor([[-2.0, 1], [1, 2], [2, 0], [-1, -1]])  # made up, so that all arrows spread
W_Q = torch.tensor([[0.5, 0.5], [-0.5, 1]])
W_K = torch.tensor([[0.5, -0.5], [0.5, 0.5]])
W_V = torch.tensor([[0.8, 0.4], [-0.4, 0.8]])
SMALL, RED, CARS, STOP = range(4)
QUERY, KEYS, VALUES = X[CARS] @ W_Q, X @ W_K, X @ W_V
SCORES = KEYS @ QUERY
WEIGHTS = (SCORES / math.sqrt(2)).softmax(-1)
CONTEXT = WEIGHTS @ VALUES
SHARES = [f"{weight:.2f} {word}" for weight, word in zip(WEIGHTS, WORDS, strict=True)]
PLACES = [60 + 120 * i for i in range(4)]  # the middles of the words
FOOT, UNIT = (204, 320), 84  # the origin, and how long a 1 is
WORK = 96  # where something is worked out, and later the weights are
MEETS = {3: RED, 4: RED, 5: SMALL, 6: CARS, 7: STOP}  # on whose key the query's shadow falls
BESIDE = {SMALL: torch.tensor([-0.35, 0.14]), RED: torch.tensor([-0.1, -0.05])}  # the shares' words
SCALED = [number(score / math.sqrt(2), 2 if score else 0) for score in SCORES]
LENS = {CARS: (250, 379), STOP: (366, 422)}  # those of the short values, seen larger
OFFERS = ("adjective", "adjective", "noun", "verb")  # what a key says, in words
TOLD = (
    "Each word's vector is an arrow. “small” describes “cars”, “stop” doesn't, yet both point away "
    "from it.",
    "So the matrix W_Q moves the plane: “cars” becomes a query, something like “which adjectives "
    "describe me?”",
    "W_K moves it another way: every word becomes a key, something like “I'm an adjective” or "
    "“I'm a noun”.",
    "How well does a key match? Let the query's shadow fall on the key of “red”.",
    "The shadow's length times the key's is their dot product: the score of “red”.",
    "On “small” the shadow is shorter, so the score is lower.",
    "The key of “cars” is at right angles: no shadow, a score of 0.",
    "On “stop” the shadow falls backwards, so the score is negative.",
    "Scores can be negative and sum to anything. A mixture needs positive shares that sum to 1.",
    "So divide them by √2, as a query has 2 entries, and apply a softmax. These are the weights: "
    f"“{WORDS[WEIGHTS.argmax()]}” gets most.",
    "Most of what? W_V moves the plane once more: every word becomes its value, what it passes on.",
    "Each value is scaled by its weight …",
    "… and laid tip to tail, which adds them up.",
    "That's the context of “cars”: mostly red, partly small.",
    "Added to “cars”, the context makes an arrow for small red cars: up by "
    f"{CONTEXT[1]:.2f}, towards the value of “red”, and left by {-CONTEXT[0]:.2f}, towards that of "
    "“small”.",
)


def _number(one, digits=1):
    """Write a number; what is whole has no digits after the point."""
    return number(one, 0 if float(one) % 1 == 0 else digits)


HEADINGS = {
    0: ("Which words describe cars?", "ink"),
    1: (f"cars {as_vector(X[CARS])} · W_Q = {as_vector(QUERY)}", "query"),
    2: (f"red {as_vector(X[RED])} · W_K = {as_vector(KEYS[RED])}", "key"),
    3: ("query of cars · key of red = ?", "ink"),
}


def queries_in_one_plane():
    """A film: "small red cars stop", each word an arrow in a plane. W_Q moves the plane's grid, and
    with it the arrow of cars, which becomes its query. W_K moves the grid another way, and every
    word becomes its key. The query's shadow on a key times the key's
    length is a score: 2 for red, 1 for small, 0 for cars, whose key is at right angles, and −1 for
    stop, where the shadow falls backwards. A softmax makes weights of 0.54, 0.27, 0.13 and 0.06.
    W_V moves the words to their values; each shrinks to its weight, and laid tip to tail they end
    at the context of cars, (−0.35, 1.10). Added to cars, (2, 0), it makes (1.65, 1.10): nearer to
    the values of red and small.
    """
    return film([_scene(*moment) for moment in enumerate(TOLD)], 454)


def _scene(moment, caption):
    scene = Scene(caption, 2.6 if moment == 12 else 1.9, key=moment in (1, 2, 4, 7, 9, 14))
    _plane(scene, 376 if moment < 12 else 472)
    if moment < 12:
        _matrices(scene, {1: 0, 2: 1, 10: 2}.get(moment))
    _sentence(scene, moment)
    if moment in HEADINGS:
        words, colour = HEADINGS[moment]
        scene.text(f"head {moment}", 240, WORK + 22, words, colour, 20, bold=True, when=(0.5, 0.8))
    if moment in MEETS:
        _shadow(scene, moment)
    (_queries_and_keys if moment < 10 else _values if moment < 14 else _added)(scene, moment)
    return scene


def _at(vector):
    """Return where the tip of a vector is, in pixels."""
    return FOOT[0] + UNIT * float(vector[0]), FOOT[1] - UNIT * float(vector[1])


def _from(word):
    """Return where a word's arrow starts when a matrix carries its tip to another place."""
    return {"dx": UNIT * float(word[0]), "dy": -UNIT * float(word[1])}


def _plane(scene, right):
    """Draw the plane's grid, with its origin and the axes' numbers."""
    for i in range(-2, 4):
        across, up = _at((i, i))
        ink = "muted" if i == 0 else "rule"
        if across < right:
            scene.line(f"upright {i}", [(across, 142), (across, 448)], ink, 1)
            scene.text(f"across {i}", across, FOOT[1] + 17, number(i, 0) if i else "", "muted")
        if 142 < up < 448:
            scene.line(f"level {i}", [(8, up), (right, up)], ink, 1)
            scene.text(f"up {i}", FOOT[0] + 6, up + 6, number(i, 0) if i else "", "muted",
                       anchor="start")  # fmt: skip


def _carried(scene, matrix, kind):
    """Draw the grid as a matrix carries it away with the arrows, as much of it as has room."""
    steps = torch.arange(-2, 2.1, 0.25)
    for i, way in itertools.product(range(-2, 3), range(2)):
        points = torch.full((len(steps), 2), float(i))
        points[:, way] = steps
        places = [_at(at @ matrix) for at in points]
        seen = [at for at, (x, y) in zip(points, places, strict=True) if x < 376 and 146 < y < 450]
        ends = seen[0], seen[-1]
        scene.line(f"{kind} grid {i} {way}", [_at(end @ matrix) for end in ends], kind, 1.5,
                   opacity=0.4, start={"points": [*_at(ends[0]), *_at(ends[1])]})  # fmt: skip


def _matrices(scene, used):
    """Draw the three matrices with all their entries; the one that is used is filled."""
    for i, (name, kind) in enumerate((("W_Q", "query"), ("W_K", "key"), ("W_V", "value"))):
        if i == used:
            _carried(scene, (W_Q, W_K, W_V)[i], kind)
        top = 164 + 103 * i
        scene.text(name, 432, top - 10, name, kind, 18, bold=True)
        for j, entry in enumerate((W_Q, W_K, W_V)[i].flatten().tolist()):
            x, y = 386 + 46 * (j % 2), top + 30 * (j // 2)
            scene.rect(f"{name} {j}", x, y, 46, 30, kind, kind, 0.4 if i == used else 0.06)
            scene.text(f"{name} entry {j}", x + 23, y + 21, _number(entry), room=42)


def _sentence(scene, moment):
    """Draw the words, and below each its vector by now, and then its score, its weight."""
    made = "ink" if moment < 2 else "key" if moment < 10 else "value"
    vectors = {"ink": X, "key": KEYS, "value": VALUES}[made]
    for i, (x, word) in enumerate(zip(PLACES, WORDS, strict=True)):
        scene.card(word, x, 22, word, "query" if i == CARS else "muted", 100, full=i == CARS)
        scene.text(f"{made} {i}", x, 58, as_vector(vectors[i]), made, when=(0.5, 1))
        if moment == 2 or (moment == 1 and i == CARS):
            words, ink = (OFFERS[i], "key") if moment == 2 else ("adjectives?", "query")
            scene.text(f"offers {i}", x, 84, words, ink, bold=True, room=116, when=(0.5, 1))
        if moment < 8:
            continue
        weighed = moment > 8
        if moment == 9:
            scene.text(f"scaled {i}", x + 20, 98, SCALED[i], "muted", room=64, when=(0.2, 0.5))
        foot, share = (124, WEIGHTS[i] / WEIGHTS.max()) if weighed else (104, SCORES[i] / 3)
        high = 50 * float(share)
        words, ink = (f"{WEIGHTS[i]:.2f}", "result") if weighed else (number(SCORES[i], 0), "ink")
        scene.text(f"score {i}", x + 14, foot, words, ink, 20, bold=True, when=(0.2, 0.7))
        scene.rect(f"bar {i}", x - 44, foot - max(high, 0), 30, max(abs(high), 2),
                   "result" if weighed else "muted",
                   start={"y": foot, "height": 0}, when=(0.5, 1))  # fmt: skip


def _queries_and_keys(scene, moment):
    """Draw the words as arrows, which turn into their keys, and beside them the query."""
    keys, met = moment > 1, [RED, SMALL, CARS, STOP]
    for i, vector in enumerate(KEYS if keys else X):
        bold = MEETS.get(moment) == i or (i == CARS and not keys)
        colour = "key" if keys else "ink" if bold else "muted"
        scene.arrow(f"arrow {i}", *FOOT, *_at(vector), colour, 6 if bold else 4, 14)
        scene.text(f"name {i}", *_tip(i, vector), WORDS[i], colour, bold=bold)
        if 4 + met.index(i) <= moment < 8:
            _beside(scene, f"score {i}", i, vector, number(SCORES[i], 0), "ink",
                    start={"x": 340, "y": WORK + 50}, when=(0.65, 1))  # fmt: skip
    if moment > 0:
        came = _from(X[CARS]) | {"fill": "ink"}
        scene.arrow("query", *FOOT, *_at(QUERY), "query", 6, 15, start=came)
        x, y = _at(QUERY)
        scene.text("query name", x - 4, y - 8, "query", "query", TEXT, "start", True, when=(0.7, 1))


def _beside(scene, name, i, vector, words, colour, **how):
    """Write a number outside of a word at the tip of its arrow; where there's no room, above it."""
    x, y = _tip(i, vector)
    outer = x + math.copysign(6 * len(WORDS[i]) + 7 * len(words) + 10, vector[0])
    x, y = (outer, y) if 24 < outer < 362 else (x, y - 24)
    scene.text(name, x, y, words, colour, 20, bold=True, **how)


def _tip(i, vector):
    """Return where a word's middle is: at its arrow's tip, above a level one, beside an upright."""
    (x, y), (across, up) = _at(vector), (vector / vector.norm()).tolist()
    if not up:
        return x - across * 24, y - 16
    if not across:
        return x + 44, y + 16
    x, y = x + across * (8 + 5 * len(WORDS[i])), y + 6 - 16 * up
    return (x, y) if x > 34 else (34, y - 18)


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
    if not score:
        one, other = QUERY / QUERY.norm() / 4, KEYS[i] / length / 4
        scene.line("corner", map(_at, (one, one + other, other)), "ink", **late)
    if moment == 3:
        return
    for name, x, words, colour, anchor in (
        ("how much", 192, f"shadow {_number(score / length, 2)}", "query", "end"),
        ("length", 202, times, "key", "start"),
        ("product", 216 + 12 * len(times), f"= {number(score, 0)}", "ink", "start"),
    ):
        scene.text(f"{name} {i}", x, WORK, words, colour, 20, anchor, True, **late)
    scene.text(f"terms {i}", 240, WORK + 28, sums, **late)


def _values(scene, moment):
    """Draw the values: they come out of the words, shrink to their weights, and are joined."""
    joined, foot = moment > 11, torch.zeros(2)
    for i, value in enumerate(VALUES):
        share = WEIGHTS[i] * value if moment > 10 else value
        came = _from(X[i]) | {"fill": "muted"}
        when = (0.12 * i, 0.3 + 0.12 * i) if joined else (0, 1)
        slim = min(max(UNIT * float(share.norm()) / 44, 0.7), 1)  # a short one has a small head
        scene.arrow(f"share {i}", *_at(foot), *_at(foot + share), "value", 6 * slim, 14 * slim,
                    start=came, when=when)  # fmt: skip
        if joined:
            if i in BESIDE:
                x, y = _at(foot + share / 2 + BESIDE[i])
                scene.text(f"passed {i}", x, y, SHARES[i], "value", anchor="end", when=when)
            foot = foot + share
            continue
        scene.text(f"passed {i}", *_tip(i, value), WORDS[i], "value", when=when,
                   start=dict(zip("xy", _tip(i, X[i]), strict=True)))  # fmt: skip
        if moment == 11:
            scene.arrow(f"whole {i}", *FOOT, *_at(value), "value", 4, 14, opacity=0.25, start={})
            _beside(scene, f"times {i}", i, value, f"{WEIGHTS[i]:.2f}", "result",
                    start={"x": PLACES[i] + 14, "y": 124}, when=(0, 0.5))  # fmt: skip
    if joined:
        _lens(scene)
    if moment == 13:
        x, y = _at(foot / 2)
        scene.text("context's name", x + 28, y, "context of cars", "ink", anchor="start", bold=True)
        scene.text("its entries", x + 28, y + 24, as_vector(foot, 2), "ink", anchor="start")
        scene.arrow("context", *FOOT, *_at(foot), "ink", 8, 18)


def _lens(scene):
    """Draw the last two values once more, six times as large: so one sees where they point."""
    x, y = _at(WEIGHTS[:CARS] @ VALUES[:CARS])
    tip, late = {"x": x - 7, "y": y - 18, "width": 36, "height": 26}, {"when": (0.86, 1)}
    scene.rect("tip", *tip.values(), "none", "muted", when=(0.6, 0.7))
    scene.rect("lens", 238, 356, 234, 92, "paper", "muted", start=tip, when=(0.66, 0.86))
    scene.text("larger", 466, 379, "× 6", "muted", anchor="end", **late)
    x, y = 252, 440
    for i, at in LENS.items():
        across, up = (6 * UNIT * WEIGHTS[i] * VALUES[i]).tolist()
        scene.arrow(f"large {i}", x, y, x + across, y - up, "value", 6, 14, **late)
        scene.text(f"of {i}", *at, SHARES[i], "value", anchor="start", room=102, **late)
        x, y = x + across, y - up


def _added(scene, _):
    """Add the context to the word itself, tip to tail; two values show where it pulls."""
    tip, end, late = _at(X[CARS]), _at(X[CARS] + CONTEXT), {"when": (0.7, 1)}
    for i, x, y in (RED, 232, 168), (SMALL, 12, 306):
        scene.arrow(f"share {i}", *FOOT, *_at(VALUES[i]), "value", 6, 14, opacity=0.4)
        scene.text(f"value of {i}", x, y, f"value of {WORDS[i]}", "value", anchor="start",
                   when=(0.3, 0.6))  # fmt: skip
    scene.arrow("context", *FOOT, *_at(CONTEXT), "ink", 8, 18)
    scene.text("context's place", 158, 262, "context", "ink", anchor="end", bold=True)
    scene.arrow("cars itself", *FOOT, *tip, "muted", 6, 15, when=(0, 0.3))
    scene.text("its name", tip[0] - 70, tip[1] + 46, f"cars {as_vector(X[CARS])}", "muted",
               bold=True, when=(0, 0.3))  # fmt: skip
    scene.arrow("context again", *tip, *end, "ink", 4, 14, start={"x": FOOT[0], "y": FOOT[1]},
                opacity=0.5, when=(0.3, 0.6))  # fmt: skip
    scene.arrow("both", *FOOT, *end, "query", 8, 18, when=(0.6, 1))
    scene.text("both's name", 474, end[1] - 40, "cars + context", "query", 20, "end", True, **late)
    both = as_vector(X[CARS] + CONTEXT, 2)
    scene.text("both's entries", 474, end[1] - 14, both, "query", anchor="end", **late)


PICTURES = [queries_in_one_plane]
