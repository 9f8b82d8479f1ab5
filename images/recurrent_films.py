"""The films of lessons 01 and 02: a state that travels, a gaze that moves, one step in numbers."""

import torch

from helpers.pretrained import toy_models
from helpers.text.tokenization import SPECIALS
from helpers.widgets.bahdanau_stepper import BahdanauStepper
from helpers.widgets.svg import number
from images.stage import Scene, film

FRENCH = "le chat noir dort ."
SEARCH = "un médecin cherche la lettre ."  # no adjective: lesson 02 asks later where a noun looks
SEEN = 0.03  # a smaller weight is not drawn


def _trained(french):
    """Translate an example with the model of lesson 02; return words and weights."""
    toy = toy_models.load_toy("additive")
    read = [*french.split(), "<eos>"]
    (written,) = toy.translate([french])
    source = torch.tensor([toy.source.encode(french, eos=True)])
    target = torch.tensor([toy.target.encode(written, bos=True)])
    weights = toy.model.attention_maps(source, target)[0]  # (T, S)
    return read, [*written.split(), "<eos>"], weights.tolist()


# ---- lesson 01: the hidden state travels ---------------------------------------------------------

PLACES = [44 + 79 * i for i in range(6)]  # the middles of the words
READ_AT, JAR_AT, WRITE_AT = 48, 100, 354  # the heights of the rows: words, state, translation
WIDE, HIGH, BESIDE = 70, 152, 88  # the state as a jar of layers; from it to the backward one
COLOURS = ("query", "key", "value", "result", "second", "muted")


def hidden_state_travelling():
    """A film: the words le chat noir dort enter a recurrent encoder one after the other. Its hidden
    state is a jar carried from word to word. Each word becomes the jar's uppermost layer, and since
    the jar never grows, the layers below shrink: that of le from all of it to 40, 23, 14, 11 and 9
    percent. A second reader has gone backwards from eos: of its last state, le is 17 percent. Both
    last states together are the context vector. The decoder gets a copy of it at every step and
    writes the black cat sleeps.

    A layer's height is its word's share of all that a state depends on: how far the state
    moves, on average, when the word is exchanged for each other word of the vocabulary.
    """
    read, written, _ = _trained(FRENCH)
    return film(list(_travelling(read, written, _shares(), _shares(slice(64, None))[0])), 384)


def _shares(half=slice(64)):
    """Measure how much of the state at each word depends on which word: rows sum to 1.

    The first `half` of a state has read forwards, the other one backwards.
    """
    toy = toy_models.load_toy("gru")
    ids = torch.tensor([toy.source.encode(FRENCH, eos=True)])
    words = torch.arange(len(SPECIALS), len(toy.source))
    with torch.inference_mode():
        states = toy.model.encode(ids)[0][..., half]  # (1, T, D)
        moved = []
        for i, word in enumerate(ids[0]):
            others = words[words != word]
            exchanged = ids.repeat(len(others), 1)
            exchanged[:, i] = others
            other = toy.model.encode(exchanged)[0][..., half]
            moved.append((other - states).norm(dim=-1).mean(0))  # (T,)
    moved = torch.stack(moved, 1)  # (T, T): state, word
    return (moved / moved.sum(1, keepdim=True)).tolist()


def _travelling(read, written, shares, back):
    first = [f"{row[0]:.0%}" for row in shares]
    told = [
        "“le” goes in. So far the state depends on this word alone.",
        f"“chat” goes in and takes room: “le” is now {first[1]} of what the state depends on.",
        f"“noir” goes in, and “le” is down to {first[2]}.",
        "“dort” goes in, and takes the most room.",
        "The full stop takes its part.",
        f"<eos> ends it. Of “le”, the first word, {first[5]} is left in this reader's state.",
    ]
    yield _jar(read, written, shares, back, 0, 0,
               "A hidden state of fixed size. What does it keep of a sentence?")  # fmt: skip
    for seen, caption in enumerate(told, 1):
        yield _jar(read, written, shares, back, seen, 0, caption, key=seen in (2, 6))
    told = [
        f"A second reader came from the other end and keeps {back[0]:.0%} of “le”. "
        "Together they are the context vector.",
        f"The decoder gets a copy of both, and writes “{written[0]}”.",
        f"The next step gets a copy too, and “{written[0]}”. It writes “{written[1]}”.",
        "So it goes on, one word per step, until <eos>.",
        "However long the sentence is, these two states are all that the decoder gets of it.",
    ]
    for passed, caption in enumerate(told, 1):
        yield _jar(read, written, shares, back, 6, passed, caption, key=passed in (3, 5))


def _jar(read, written, shares, back, seen, passed, caption, key=True):
    """Draw a scene: so many words are in the jar, and so many things have happened after that."""
    scene = Scene(caption, 3.2 if passed == 4 else 1.9, key)
    words = "the encoder reads" + ", forwards" * (not passed)
    scene.text("encoder", 6, 20, words, "muted", anchor="start", bold=True)
    for i, (x, word) in enumerate(zip(PLACES, read, strict=True)):
        gone = i < seen
        scene.text(f"word {i}", x, READ_AT + 6, word, COLOURS[i] if gone else "ink", bold=True,
                   opacity=0.55 if gone else 1)  # fmt: skip
        if not gone:
            scene.rect(f"layer {i}", x - 37, READ_AT - 17, 74, 34, COLOURS[i], COLOURS[i], 0.1)
        if i < seen - 1 and not passed:  # where the jar was; it fades as the jar is carried on
            _layers(scene, f"was {i}", shares[i], x - WIDE / 2, JAR_AT, WIDE, HIGH, 0.22)
    x = PLACES[max(seen - 1, 0)] if not passed else 256
    left = x - WIDE / 2
    for i, (top, high) in enumerate(_stacked(shares[seen - 1], HIGH) if seen else []):
        new = {"when": (0.4, 1)} if i == seen - 1 and not passed else {"when": (0, 0.75)}
        scene.rect(f"layer {i}", left, JAR_AT + top, WIDE, high, COLOURS[i], COLOURS[i], round=1,
                   line=0, **new)  # fmt: skip
        if high > 19:
            scene.text(f"in {i}", x, JAR_AT + top + high / 2 + 6, read[i], "paper", bold=True,
                       start={"x": PLACES[i], "y": READ_AT + 6, "fill": "ink"}, **new)  # fmt: skip
    scene.rect("jar", left - 3, JAR_AT - 3, WIDE + 6, HIGH + 6, "none", "ink", when=(0, 0.75))
    for i, words in enumerate(("the thicker a layer, the more", "the state depends on its word")):
        scene.text(f"layers {i}", 240, 322 + 26 * i, words, "muted", opacity=float(not passed))
    if not seen:
        scene.text("state", left - 3, JAR_AT + HIGH + 24, "hidden state", "muted", anchor="start")
    elif not passed:
        words = f"le {shares[seen - 1][0]:.0%}"
        scene.text("share", max(x, 50), JAR_AT + HIGH + 26, words, COLOURS[0], 20, bold=True,
                   when=(0.2, 1))  # fmt: skip
    else:
        scene.text("share", x - 78, JAR_AT + HIGH - 1, f"le {shares[5][0]:.0%}", COLOURS[0], 20,
                   bold=True)  # fmt: skip
        scene.text("back share", x + BESIDE + 82, JAR_AT + 20, f"le {back[0]:.0%}", COLOURS[0], 20,
                   bold=True, when=(0.6, 1))  # fmt: skip
        _layers(scene, "backward", back, left + BESIDE, JAR_AT, WIDE, HIGH, 1,
                (490, JAR_AT, WIDE, HIGH), False, read, when=(0.2, 1))  # fmt: skip
        scene.rect("backward jar", left + BESIDE - 3, JAR_AT - 3, WIDE + 6, HIGH + 6, "none",
                   "ink", start={"x": 487}, when=(0.2, 1))  # fmt: skip
        for name, place in (("forward", x), ("backward", x + BESIDE)):
            scene.text(name, place, JAR_AT + HIGH + 26, name, "muted", when=(0.5, 1))
        scene.text("context", x + BESIDE / 2, JAR_AT - 14, "context vector", "ink", bold=True)
        scene.text("decoder", 6, 280, "the decoder writes", "muted", anchor="start", bold=True)
        _translation(scene, written, shares[-1], back, left, passed)
    return scene


def _translation(scene, written, shares, back, left, passed):
    """Draw the words written so far, and the copies of the context that they got."""
    before, done = [0, 0, 1, 2, 6, 6][passed - 1 : passed + 1]
    for i, (x, word) in enumerate(zip(PLACES[:done], written, strict=False)):
        turn = max(i - before, 0) / max(done - before, 1)
        last = turn + 1 / max(done - before, 1)
        middle = (turn + last) / 2
        _layers(scene, f"copy {i}", shares, x - 36, WRITE_AT - 60, 34, 38, 1,
                (left, JAR_AT, WIDE, HIGH), when=(turn, middle))  # fmt: skip
        _layers(scene, f"second {i}", back, x + 2, WRITE_AT - 60, 34, 38, 1,
                (left + BESIDE, JAR_AT, WIDE, HIGH), False, when=(turn, middle))  # fmt: skip
        if i and i >= before:
            scene.card(f"again {i}", x - 36, WRITE_AT - 30, written[i - 1], "ink", 62, height=26,
                       opacity=0, start=(x - 79, WRITE_AT), when=(turn, middle))  # fmt: skip
        scene.card(f"written {i}", x, WRITE_AT, word, "ink", 74, full=i == done - 1,
                   start=(x, WRITE_AT - 24), when=(middle, last))  # fmt: skip


def _stacked(shares, high, forward=True):
    """Return top and height of each layer, the word that was read first at the bottom."""
    tops = [high * sum(shares[i + 1 :] if forward else shares[:i]) for i in range(len(shares))]
    return [(top, high * share) for top, share in zip(tops, shares, strict=True) if share > 1e-4]


def _layers(scene, name, shares, x, y, wide, high, opacity, start=None, forward=True, words=(),
            **how):  # fmt: skip
    """Draw a state, with its words if wished; it may come from another (x, y, width, height)."""
    for i, (top, thick) in enumerate(_stacked(shares, high, forward)):
        if start:
            from_top, from_thick = _stacked(shares, start[3], forward)[i]
            how["start"] = {"x": start[0], "y": start[1] + from_top, "width": start[2],
                            "height": from_thick}  # fmt: skip
        scene.rect(f"{name} {i}", x, y + top, wide, thick, COLOURS[i], round=1, opacity=opacity,
                   **how)  # fmt: skip
        if words and thick > 19:
            scene.text(f"{name} word {i}", x + wide / 2, y + top + thick / 2 + 6, words[i], "paper",
                       bold=True, **{**how, "start": {"x": start[0] + wide / 2}})  # fmt: skip


# ---- lesson 02: the decoder looks back -----------------------------------------------------------


def decoder_looking_back():
    """A film: a doctor looks for the letter stands beside the French un médecin cherche la lettre.
    From each English word in turn lines go to French words, as thick as their weights, and from
    there a piece as tall as the weight comes back and fills the English word's box. A, doctor and
    looks each give most to the next French word. For shares its weight: 0.57 to cherche, 0.42 to
    la. The gives 0.71 to la, 0.26 to cherche. Letter looks at lettre, the full stop and eos both at
    the full stop. At the end the words become rows and columns, and the pieces the cells of a map,
    as dark as their weights: a diagonal with a kink at for.
    """
    read, written, weights = _trained(SEARCH)
    told = [
        ((), "What does each English word take from the French?"),
        ((0,), "“a” looks back. What it looks at comes over, as much as its weight."),
        ((1, 2), "“doctor” and “looks” take mainly one French word each, in order."),
        ((3,), "“for” has no French word of its own. It looks at “cherche” and “la”."),
        ((4,), "“the” looks mostly at “la”, and again at “cherche”."),
        ((5, 6), "“letter” looks at “lettre”, and the full stop at the full stop."),
        ((7,), "Even <eos> looks at the full stop."),
        (range(len(written)), "In rows and columns: a map of weights, an alignment nobody drew."),
    ]
    return film([_gaze(read, written, weights, *moment) for moment in told], 366)


def _gaze(read, written, weights, steps, caption):
    """Draw the words, the looks of some steps, one after the other, and faintly those before."""
    if len(steps) == len(written):
        return _as_map(Scene(caption, 2.4), read, written, weights)
    scene = Scene(caption, 1.0 + 1.6 * len(steps), key=bool(steps))
    scene.text("French", 66, 18, "read", "query", bold=True)
    scene.text("English", 414, 18, "written", "key", bold=True)
    left = right = [48 + 42 * i for i in range(len(written))]  # French is one word shorter
    last = max(steps, default=-1)
    for i, y in enumerate(right):
        now = i in steps
        scene.rect(f"written {i}", 362, y - 17, 104, 34, "paper", "key" if i <= last else "edge",
                   line=3.5 if now else 2)  # fmt: skip
        if i <= last:
            turn = steps.index(i) / len(steps) if now else None
            _look(scene, i, y, left, weights[i], turn, 1 / max(len(steps), 1), now)
    for j, (y, word) in enumerate(zip(left, read, strict=False)):
        scene.card(f"read {j}", 66, y, word, "query", 104)
        looks = [i for i in steps if weights[i][j] > SEEN]
        for n, i in enumerate(looks):  # two that look at the same word: beside each other
            turn, share = steps.index(i) / len(steps), 1 / len(steps)
            scene.text(f"weight {n} {j}", 143 + 46 * n, y - 12, f"{weights[i][j]:.2f}", "result",
                       bold=True, start={"opacity": 0},
                       when=(turn + 0.3 * share, turn + 0.42 * share))  # fmt: skip
    for i, (y, word) in enumerate(zip(right, written, strict=True)):
        scene.text(f"word {i}", 414, y + 6, word, "ink" if i <= last else "muted", bold=True)
    return scene


def _as_map(scene, read, written, weights):
    """Draw the same words as columns and rows, and the pieces as cells of the map."""
    scene.text("English", 52, 70, "written", "key", bold=True)
    scene.text("French", 52, 24, "read", "query", bold=True)
    for i, word in enumerate(written):
        y = 96 + 36 * i
        scene.rect(f"written {i}", 6, y - 17, 92, 34, "paper", "key")
        for j, weight in enumerate(weights[i]):
            scene.rect(f"edge {i} {j}", 104 + 50 * j, y - 17, 48, 34, "none", "edge", line=1,
                       when=(0.6, 1))  # fmt: skip
            if weight > SEEN:
                scene.rect(f"piece {i} {j}", 104 + 50 * j, y - 17, 48, 34, "result", "none",
                           0.1 + 0.9 * weight, round=4)  # fmt: skip
        scene.text(f"word {i}", 52, y + 6, word, "ink", bold=True)
    for j, word in enumerate(read):  # in two heights, as words are wider than columns
        scene.card(f"read {j}", 128 + 50 * j, 22 + 40 * (j % 2), word, "query", 88)
    return scene


def _look(scene, i, y, left, weights, turn, share, lit):
    """Draw the lines of English word i, and the pieces that came back along them into its box.

    If it is its turn, lines grow first, then pieces flow; `turn` is when, `share` for how long.
    """
    shown = [(j, weight) for j, weight in enumerate(weights) if weight > SEEN]
    low = y + 15 - 30 * sum(weight for _, weight in shown)
    for j, weight in shown:
        grow, flow = {}, {}
        if turn is not None:
            grow = {"start": {"points": [361, y] * 2}, "when": (turn, turn + 0.3 * share)}
            come = {"x": 16, "y": left[j] - 15 * weight}
            flow = {"start": come, "when": (turn + 0.42 * share, turn + share)}
        scene.line(f"gaze {i} {j}", [(361, y), (120, left[j])], "result", round(12 * weight, 1),
                   opacity=1 if lit else 0.2, **grow)  # fmt: skip
        scene.rect(f"piece {i} {j}", 364, low, 100, 30 * weight, "result", "none", 0.35, line=0,
                   round=1, **flow)  # fmt: skip
        low += 30 * weight


# ---- lesson 02: one step of attention, in numbers ------------------------------------------------

SCORE_AT, KEY_AT, BENCH = 122, 196, 254  # heights: scores, encoder states, and what is worked out


def bahdanau_step():
    """A film of one decoding step: a trained model has written the, and is about to write black.
    Copies of its state s go to the encoder states of le, chat, noir, dort, the full stop and eos,
    and each pair gets a score by v times tanh of W s plus U h. For noir this is shown in numbers,
    four of 128 entries: the sum, its tanh, the dot product with v, which gives 12.1. A softmax
    turns the scores into weights, 0.15 for chat and 0.85 for noir. The states flow into the
    context, each times its weight. The context, the state and the previous word give the next
    state, which writes black.
    """
    toy = toy_models.load_toy("additive")
    step = BahdanauStepper(toy.model, toy.source, toy.target, FRENCH, output_step=2).numbers
    layer, noir = toy.model.decoder.attention, step["encoder"][2]
    with torch.inference_mode():
        pair = layer.query_proj(step["state"]), layer.key_proj(noir), layer.energy.weight[0]
    told = [
        "“the” is written. What comes next?",
        "The decoder's state s goes to every encoder state: six pairs.",
        "Take noir. Two learned matrices turn s and h₃ into vectors that can be added.",
        "tanh squashes every entry of the sum into −1 to 1.",
        "The dot product with the learned v makes one number of it: the score.",
        "Every pair gets its score in the same way, with the same W, U and v.",
        "A softmax turns the scores into weights that sum to 1.",
        "Each state flows into the context, times its weight.",
        "Context, state and previous word give the next state. It writes “black”.",
    ]
    return film([_once(step, pair, *moment) for moment in enumerate(told)], 428)


def _once(step, pair, moment, caption):
    scene = Scene(caption, 2.0 if moment in (1, 7) else 1.5, key=moment in (1, 3, 5, 6, 7, 8))
    words, small = step["source"], "₁₂₃₄₅₆"
    energies, shares = step["energies"].tolist(), step["alpha"].tolist()
    places = [44 + 79 * i for i in range(len(words))]
    for i, (x, word) in enumerate(zip(places, words, strict=True)):
        noir = i == 2 and 2 <= moment <= 4
        scene.card(f"word {i}", x, KEY_AT, word, "query", 74, full=noir)
        scene.text(f"h {i}", x, KEY_AT + 36, f"h{small[i]}", "query")
        if 1 <= moment <= 4:
            scene.card(f"s {i}", x, KEY_AT - 34, "s", "key", 34, True, 26,
                       start=(440, 50), when=(0.1 * i, 0.1 * i + 0.5))  # fmt: skip
        if moment >= 5 or (moment == 4 and i == 2):
            rise = {"start": {"y": KEY_AT - 28}, "when": (0.5, 1)}  # the copies of s are gone
            come = {"start": {"x": 444, "y": 370}, "when": (0.7, 1)} if moment == 4 else rise
            score = number(energies[i], 1)
            scene.text(f"score {i}", x, SCORE_AT, score, "ink", 19, bold=True, **come)
        if moment >= 6:
            high = 72 * shares[i]
            scene.rect(f"bar {i}", x - 34, 94 - high, 68, high, "result",
                       start={"y": 94, "height": 0})  # fmt: skip
            scene.text(f"weight {i}", x, 86 - high, f"{shares[i]:.2f}", "result", bold=True)
        if moment >= 7 and shares[i] > 0.005:
            at = 220 if i == 2 else 104
            scene.arrow(f"into {i}", x, KEY_AT + 42, at, 306, "result", max(2, 14 * shares[i]), 15)
            scene.card(f"flow {i}", at, 326, f"{shares[i]:.2f} h{small[i]}", "query", 92,
                       start=(at, KEY_AT + 62), when=(0, 0.9))  # fmt: skip
    if moment >= 6:
        scene.text("softmax", 474, 16, "weights, above their scores", "result", anchor="end")
    else:
        scene.text("so far", 6, 56, "the decoder writes", "key", anchor="start", bold=True)
        for x, word in ((240, "the"), (334, "?")):
            scene.card(f"so far {word}", x, 50, word, "key", 84)
        scene.text("state", 474, 22, "its state", "key", anchor="end")
    if moment < 8:
        scene.card("s", 440, BENCH + 20 if moment > 5 else 50, "s", "key", 60, True)
    if 2 <= moment <= 4:
        _opened(scene, *pair, moment - 1)
    if moment >= 7:
        scene.text("plus", 162, 332, "+", "ink", 20, bold=True, when=(0.7, 0.9))
        scene.arrow("sum", 162, 342, 162, 373, "result", 4, 13, when=(0.8, 0.9))
        scene.card("context", 162, 392, "context c", "result", 130, True, when=(0.85, 1))
    if moment >= 8:
        _next(scene)
    return scene


def _next(scene):
    """Draw what gives the next state, and the word that this writes."""
    scene.card("s", 424, 326, "state s", "key", 84, True, when=(0, 0.35))
    scene.text("previous name", 322, 298, "previous word", "key", when=(0.05, 0.35))
    scene.card("previous", 322, 326, "the", "key", 72, when=(0.05, 0.35))
    for name, x, y, to_x, to_y, when in (
        ("context on", 229, 392, 277, 392, (0.35, 0.55)),
        ("previous on", 322, 345, 322, 373, (0.35, 0.55)),
        ("state on", 410, 345, 346, 374, (0.35, 0.55)),
        ("word on", 367, 392, 390, 392, (0.7, 0.85)),
    ):
        colour = "result" if name == "context on" else "key"
        scene.arrow(name, x, y, to_x, to_y, colour, 4, 13, when=when)
    scene.card("next", 322, 392, "next s", "key", 84, True, when=(0.5, 0.7))
    scene.card("black", 432, 392, "black", "key", 80, when=(0.8, 1))


SIGNS = ((75, "+", 1), (157, "=", 1), (239, "→", 2), (321, "·", 3), (402, "=", 3))


def _opened(scene, from_query, from_key, v, stage):
    """Draw the score of one pair in numbers: four entries of every vector on the way."""
    total = from_query + from_key
    strips = [("W s", "key", from_query, 1, 34), ("U h₃", "query", from_key, 1, 116),
              ("sum", "muted", total, 1, 198), ("tanh", "result", total.tanh(), 2, 280),
              ("v", "value", v, 3, 362)]  # fmt: skip
    late = {"when": (0, 0.45)} if stage == 3 else {}  # only then the number they give
    for x, sign, first in SIGNS:
        if stage >= first:
            scene.text(f"sign {x}", x, 370, sign, "ink", 20, bold=True, **late)
    for name, colour, values, first, x in strips:
        if stage < first:
            continue
        scene.text(f"{name} name", x, 314, name, colour, bold=True, **late)
        for i, value in enumerate(values[108:112].tolist()):
            box = x - 30, 320 + 26 * i, 60, 26
            scene.rect(f"{name} box {i}", *box, colour, colour, 0.12, **late)
            scene.text(f"{name} {i}", x, 339 + 26 * i, number(value), "ink", **late)
    if stage == 3:
        score = number((total.tanh() @ v).item(), 1)
        scene.text("sum of all", 444, 370, score, "ink", 20, bold=True, when=(0.45, 0.7))
        scene.text("of how many", 474, 314, f"4 of {len(v)}", "muted", anchor="end", **late)


PICTURES = [hidden_state_travelling, decoder_looking_back, bahdanau_step]
