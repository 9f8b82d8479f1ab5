"""The films of lessons 01 and 02: a state that travels, a gaze that moves, one step in numbers."""

import math
from collections import Counter

import torch

from helpers.data.toy_reference import NAMES
from helpers.pretrained import toy_models
from helpers.pretrained.recurrent_trace import word_shares
from helpers.text.tokenization import SPECIALS
from helpers.widgets.bahdanau_stepper import BahdanauStepper
from helpers.widgets.svg import number
from images.stage import REST, TEXT, Scene, film

FRENCH = "le chat noir dort ."
SEARCH = "un médecin cherche la lettre ."  # no adjective: lesson 02 asks later where a noun looks
SMALL = "₀₁₂₃₄₅₆₇₈"
STATES = [f"h{i}" for i in SMALL[1:]]
NAMED = 0.05  # a weight below that isn't drawn as a share of the context
BLANK = 0.005  # and below that there's no number, as it would be 0.00
SHADE = 0.55  # how strong a weight of 1 is drawn, so that ink can be read on it in both themes


def _looking(french, output_step=1):
    """Translate an example with the model of lesson 02; return it, and what one step computes."""
    toy = toy_models.load_toy("additive")
    step = BahdanauStepper(toy.model, toy.source, toy.target, french, output_step=output_step)
    return toy.model.decoder.attention, step.numbers


# ---- lesson 01: the hidden state travels ---------------------------------------------------------

PLACES = [44 + 79 * i for i in range(6)]  # the middles of the words
LONG = "le petit chat dans le parc ne dort pas pendant que les garçons achètent le vieux sac noir ."
# Its translations, line by line, and how a layer's thickness was measured.
EXPECTED = "the little cat in the park/does not sleep/while the boys buy/the old black bag ."
WRITTEN = "the little cat in the park/does not dance/while the old black horses/dance in the park ."
MEASURE = "The further a state of 64 numbers/moves when a word is exchanged,/the thicker its layer."
READ_AT, ON_AT, BACK_AT = 40, 68, 266  # the heights of the words and of both readers' jars
WIDE, HIGH = 70, 156  # a state as a jar of layers
CONTEXT_AT, LAST_AT = 166, {"backwards": 13, "forwards": 141}  # where the last states stay
LEAVES = (0.05, 0.3, 0.38, 0.45, 0.53)  # when the second reader's jar leaves each word
LAYER = {"round": 1, "line": 0}
COLOURS = ("query", "key", "value", "result", "second", "muted")
GROUPS = [(4, 8), (9, 12), (13, 16), (17, 20), (21, 30), (31, 40)]  # lengths, as in both lessons
COUNTED = 600  # sentences, as in lesson 02
NOUNS = set(NAMES.values())
MODELS = {  # their lines: name, colour as in lesson 02, where the name is, and the numbers
    "gru": ("from one vector", "key", 274, 318, 28),
    "additive": ("with attention", "query", 332, 58, -13),
}


def hidden_state_travelling():
    """A film: all words of le chat noir dort pass through one vector and come out as the black cat
    sleeps. They enter a recurrent encoder one after another. Its hidden state is a jar with a
    layer per word. The jar never grows, so each new word makes the layers below thinner: le goes
    from all of it to 40, 23, 14, 11 and 9 percent. A second reader goes backwards, and in its last
    state le is 17 percent. Both last states together are the context vector. Each token has 9 to 27
    percent of a jar, and all English words are right. Then 20 tokens share these jars, each with
    2 to 9 percent of one. The decoder writes that horses dance, instead of boys who buy a bag. A
    chart of 600 sentences ends the film: from one vector, 100 percent of the nouns of the shortest
    arrive, then 95, 91, 86, 79, and 66 of the longest. With attention it's 100 at all lengths.

    A layer's thickness is its word's share of all movements of a state: how far the state
    moves, on average, when the word is exchanged for each other word of the vocabulary.
    """
    sentences = [([*french.split(), "<eos>"], *_readers(french)) for french in (FRENCH, LONG)]
    return film(list(_travelling(*sentences)), 450)


def _readers(french):
    """Measure the `word_shares` of both readers: the one that goes back, and the one that goes on.

    Each is a list of rows that sum to 1.
    """
    toy = toy_models.load_toy("gru")
    words = list(range(len(SPECIALS), len(toy.source)))
    ids = toy.source.encode(french, eos=True)
    return word_shares(toy.model, ids, words).flip(0).tolist()


def _arriving(model):
    """Measure per group of lengths which share of the nouns a model's translations have."""
    pairs = toy_models.toy_data().test[:COUNTED]
    translated = toy_models.load_toy(model).translate([pair.source for pair in pairs])
    wanted, arrived = Counter(), Counter()
    for pair, english in zip(pairs, translated, strict=True):
        (group,) = (i for i, (low, high) in enumerate(GROUPS) if low <= len(pair.source) <= high)
        nouns = Counter(word for word in pair.target if word in NOUNS)
        wanted[group] += nouns.total()
        arrived[group] += (nouns & Counter(english.split())).total()
    return [arrived[i] / wanted[i] for i in range(len(GROUPS))]


def _range(back, on):
    """Return the least and the largest share of a token in both last states."""
    shares = back[0] + on[-1]
    return f"{min(shares):.0%} to {max(shares):.0%}"


def _travelling(short, long):
    (read, back, on), (many, *far) = short, long
    left = [f"{row[0]:.0%}" for row in on]
    arriving = {model: _arriving(model) for model in MODELS}
    told = [
        "Every English word has to come out of one context vector. Is one enough?",
        "The first reader reads “le”. Its state, the jar, depends on that word alone.",
        f"“chat” goes in, and now “le” has only {left[1]} of the jar.",
        "The jar doesn't grow, so “noir” takes its room from the words before it.",
        f"“dort” takes {on[3][3]:.0%}, and “le” is down to {left[3]}.",
        f"The full stop and <eos>, the sentence's end, take room too: “le” keeps {left[5]}.",
        "A second reader, with a jar of its own, goes backwards. It reads “le” last, and “le” has "
        f"a larger share here: {back[0][0]:.0%}.",
        "Together, the readers' last states are the context vector. From it the decoder writes one "
        "word after another, all of them right.",
        f"Now {len(many)} tokens share these two jars: each has {_range(*far)} of a jar, instead "
        f"of {_range(back, on)}.",
        "Here is what the decoder writes. The marked lines are wrong: horses dance, and the boys "
        "and the bag are gone.",
        f"Was that bad luck? In {COUNTED} new sentences, fewer nouns arrive the longer the "
        f"sentence is: {arriving['gru'][0]:.0%} in short ones, {arriving['gru'][-1]:.0%} in the "
        "longest.",
        "In lesson 02 we keep the states of all words, and the decoder looks back at them for each "
        "word it writes. Then nearly all nouns arrive, at any length.",
    ]
    moves = {0: 3, 5: 2.4, 6: 4, 7: 4.8, 8: 4.2, 9: 4.8, 10: 4, 11: 4}
    seen = [0, 1, 2, 3, 4, 6, 6]  # words that the first reader has read
    for moment, caption in enumerate(told):
        key, rest = moment in (0, 2, 5, 6, 7, 8, 9, 11), 1.2 if moment in (8, 9) else REST
        scene = Scene(caption, moves.get(moment, 1.9), key, rest)
        if moment < 10:
            scene.text("encoder", 6, 16, "the encoder reads", "muted", anchor="start", bold=True)
        if 0 < moment < 7:
            _words(scene, read, seen[moment])
            _read_on(scene, read, on, seen[moment - 1], seen[moment])
            _read_back(scene, read, back, waits=moment < 6)
        elif moment < 8:
            _words(scene, read, moment and len(read))
            _context(scene, short, new=not moment)
            _written(scene)
        elif moment < 10:
            _many(scene, many)
            _context(scene, short, long)
            _translated(scene, moment > 8)
        else:
            _chart(scene, arriving, *long, attention=moment > 10)
        yield scene


def _words(scene, read, seen):
    """Write the sentence; a word that is read has left its card."""
    for i, (x, word) in enumerate(zip(PLACES, read, strict=True)):
        if i >= seen:
            scene.rect(f"card {i}", x - 38, READ_AT - 17, 76, 34, COLOURS[i], COLOURS[i], 0.1)
        scene.text(f"word {i}", x, READ_AT + 6, word, COLOURS[i] if i < seen else "ink", bold=True,
                   opacity=0.55 if i < seen else 1)  # fmt: skip


def _read_on(scene, read, states, before, seen):
    """Draw the first reader: the words that go in, and what they make of those `before`."""
    last, new, when = seen - 1, {}, (0.25, 0.5)
    for i in range(before, seen):  # out of their cards, one after the other
        start, late = {"x": PLACES[i] - WIDE / 2, "y": READ_AT - 17, "height": 34}, 0.2 * (last - i)
        new[i] = {"start": start, "when": (0.5 - late, 1 - late)}
    _jar(scene, "forwards", read, states[last], PLACES[last] - WIDE / 2, ON_AT, new, when)
    for i, state in enumerate(states[:seen]):
        if i < last:
            _pale(scene, "forwards", i, state, ON_AT, (0.6, 1))
        if i == last or new:
            words = f"{'le ' * (i == last)}{state[0]:.0%}"
            scene.text(f"share {i}", PLACES[i], ON_AT + HIGH + 24, words, COLOURS[0],
                       bold=i == last, room=70, when=(0.6, 1))  # fmt: skip
    if seen < len(read) or not new:
        x = PLACES[seen % len(read)] + 20
        scene.text("forwards", x, ON_AT + HIGH + 24, "forwards", "muted", when=when)


def _read_back(scene, read, states, waits):
    """Draw the second reader, whose jar `waits` at the right until the first one is done."""
    foot, early, late = BACK_AT + HIGH + 24, {"when": (0.2, 0.22)}, {"when": (0.85, 1)}
    scene.text("backwards", 430, foot, "backwards", "muted", **early)
    if waits:
        x, y = PLACES[-1] - WIDE / 2 - 3, BACK_AT - 3
        scene.rect("backwards jar", x, y, WIDE + 6, HIGH + 6, "none", "ink", **early)
        for i, line in enumerate(MEASURE.split("/")):
            scene.text(f"measure {i}", 6, BACK_AT + 34 + 26 * i, line, "muted", anchor="start",
                       when=(0.6, 0.8))  # fmt: skip
    else:
        for i, begin in enumerate(reversed(LEAVES), 1):
            _pale(scene, "backwards", i, states[i], BACK_AT, (begin, begin + 0.1))
        layers = dict.fromkeys(range(len(read)), late)
        _jar(scene, "backwards", read, states[0], PLACES[0] - WIDE / 2, BACK_AT, layers, (0, 0.9))
        words = f"le {states[0][0]:.0%}"
        scene.text("back share", PLACES[0], foot, words, COLOURS[0], bold=True, room=70, **late)


def _pale(scene, reader, i, state, top, when):
    """Draw a state that a reader had at an earlier word."""
    for k, *box in _stacked(state, PLACES[i] - WIDE / 2, top, reader):
        scene.rect(f"was {reader} {i} {k}", *box, COLOURS[k], opacity=0.22, when=when, **LAYER)


def _context(scene, *sentences, new=False):
    """Draw the last states of the last sentence, which are `new`, or come after the first one's."""
    (_, old_back, old_on), (read, back, on) = sentences[0], sentences[-1]
    states = (back[0], on[-1]), (old_back[0], old_on[-1])
    scene.text("context", 109, 148, "context vector c", bold=True)
    when, soon = (0, 0.4) if new else (0.1, 0.4), {"when": (0.4, 0.5)}
    wide = 266 if len(read) == len(PLACES) else 216  # with the names beside the jars, or without
    scene.rect("context frame", 2, CONTEXT_AT - 10, wide, HIGH + 20, "none", "muted", **soon)
    for (reader, x), state, old in zip(LAST_AT.items(), *states, strict=True):
        name, was = (reader, {}) if new else (f"reads {reader}", dict(enumerate(old)))
        scene.text(name, x + WIDE / 2, CONTEXT_AT + HIGH + 24, reader, "muted", room=100, **soon)
        stays = [was.get(name, 1e-3) for name, _ in _named(read)]  # others begin thin
        ways = {
            i: {"when": when, "start": {"y": y + HIGH * new, "height": high}}
            for i, _, y, _, high in _stacked(stays, x, CONTEXT_AT, reader)
        }
        _jar(scene, "whole " * new + reader, read, state, x, CONTEXT_AT, ways, when)
    scene.text("numbers", 109, 372, "2 × 64 numbers", "muted", **soon)
    for i, (tokens, *one) in enumerate(sentences[new:]):
        ink, words = "ink" if tokens == read else "muted", f"{len(tokens)} tokens: {_range(*one)}"
        scene.text(f"each {i}", 109, 400 + 26 * i, words, ink, room=206)


def _written(scene):
    """Draw the translation: all its words come out of the context vector, one after the other."""
    scene.text("decoder", 222, 148, "the decoder writes", "muted", anchor="start", bold=True)
    for i, word in enumerate([*toy_models.load_toy("gru").translate(FRENCH).split(), "<eos>"]):
        y, begin = 186 + 46 * i, 0.4 + 0.1 * i
        scene.arrow(f"from c {i}", 272, 229 + 6 * i, 352, y, when=(begin, begin + 0.06))
        scene.card(f"written {i}", 414, y, word, "ink", 104, when=(begin + 0.06, begin + 0.1))


def _named(read):
    """Return name and colour of each token: those of the short sentence keep both."""
    short = {word: j for j, word in enumerate([*FRENCH.split(), "<eos>"])}
    for i, word in enumerate(read):
        j = short.get(word)
        name = f"long {i}" if j is None or word in read[:i] else j
        yield name, COLOURS[(i + 2 * (i // 5) + 1) % 5 if j is None else j]  # no two alike meet


def _many(scene, words):
    """Write the long sentence, each word on a card in the colour of its layers."""
    for i, (word, (name, ink)) in enumerate(zip(words, _named(words), strict=True)):
        x, y = 48 + 96 * (i % 5), 38 + 26 * (i // 5)
        scene.rect(f"card {name}", x - 44, y - 11, 88, 22, ink, ink, 0.25, when=(0.55, 0.9))
        scene.text(f"word {name}", x, y + 6, word, room=80,
                   when=(0.55, 0.9) if name == f"long {i}" else (0.1, 0.5))  # fmt: skip


def _translated(scene, written):
    """Write what is expected, and when it's `written`, what comes out of the context vector."""
    how = {"anchor": "start", "room": 246}
    soon = {"when": (0.3, 0.5), **how}
    for j, head in enumerate(("expected", "written from c")):
        scene.text(f"head {j}", 228, 176 + 136 * j, head, "muted", bold=True, **soon)
    lines = zip(EXPECTED.split("/"), WRITTEN.split("/"), strict=True)
    for i, (right, line) in enumerate(lines):
        y, begin = 201 + 26 * i, 0.18 * i
        ink = "bad" if written and line != right else "rule"
        scene.rect(f"room {i}", 222, y + 119, 256, 23, ink, ink, 0.15,
                   when=(begin + 0.3, begin + 0.4))  # fmt: skip
        scene.text(f"right {i}", 228, y, right, when=(begin + 0.3, begin + 0.5), **how)
        if written:
            scene.text(f"line {i}", 228, y + 136, line, when=(begin + 0.1, begin + 0.35), **how)


def _chart(scene, arriving, read, back, on, attention):
    """Draw per length how many nouns arrive, out of one vector and with `attention`."""
    axes = {"when": (0.2, 0.4)}
    scene.text("y axis", 6, 20, f"nouns that arrive, % ({COUNTED} sentences)", "muted",
               anchor="start", **axes)  # fmt: skip
    scene.text("x axis", 257, 440, "words in the French sentence", "muted", **axes)
    for share in (0, 50, 100):
        y = 380 - 2.84 * share
        scene.line(f"grid {share}", [(52, y), (474, y)], "rule", **axes)
        scene.text(f"tick {share}", 44, y + 6, share, "muted", anchor="end", **axes)
    for i, (shortest, longest) in enumerate(GROUPS):
        words = f"{shortest}–{longest}"
        scene.text(f"length {i}", 92 + 66 * i, 408, words, "muted", room=56, **axes)
    for (reader, x), state in zip(LAST_AT.items(), (back[0], on[-1]), strict=True):
        _jar(scene, reader, read, state, 140 + 0.6 * x, 266, when=(0.2, 0.45), size=0.6)
    for i, (_, ink) in enumerate(_named(read) if attention else ()):
        scene.rect(f"state {i}", 104 + 11 * i, 42, 8, 20, ink, start={"x": 104}, **LAYER, **axes)
    for model, (name, ink, *where, below) in list(MODELS.items())[: 1 + attention]:
        scene.text(model, *where, name, ink, anchor="start", bold=True, when=(0.35, 0.45))
        points = [(92 + 66 * i, 380 - 284 * share) for i, share in enumerate(arriving[model])]
        for i, (x, y) in enumerate(points):
            way, how = [points[max(i - 1, 0)], (x, y)], {"when": (0.4 + 0.1 * i, 0.5 + 0.1 * i)}
            scene.line(f"{model} {i}", way, ink, 3, start={"points": [*way[0], *way[0]]}, **how)
            scene.rect(f"{model} point {i}", x - 5, y - 5, 10, 10, ink, **how)
            words = f"{100 * arriving[model][i]:.0f}"
            scene.text(f"{model} share {i}", x, y + below, words, ink, bold=True, **how)


def _jar(scene, reader, read, state, x, y, ways=None, when=(0, 0.75), size=1.0):
    """Draw a reader's state; some layers have `ways` of their own, the others go `when` it goes."""
    named, edge = list(_named(read)), 3 * size
    for i, *box in _stacked(state, x, y, reader, size):
        (name, ink), way = named[i], (ways or {}).get(i, {"when": when})
        scene.rect(f"{reader} {name}", *box, ink, **LAYER, **way)
        if len(read) == len(PLACES):
            start, word = way.get("start", {}), way
            if "x" in start:  # it falls with its layer
                word = {**way, "start": {"x": start["x"] + WIDE / 2, "y": READ_AT + 6}}
            elif start.get("height", 1) < 1:  # it waits until its layer is high enough
                word = {"when": (when[1] - 0.02, when[1]), "start": {"opacity": 0}}
            low = box[3] < TEXT  # for its name, which stands beside the context vector
            if low and y != CONTEXT_AT:
                continue
            at, ink = (x + WIDE + 29, ink) if low else (x + WIDE / 2, "paper")
            if low:  # it comes when the jar has arrived
                word = {"when": (when[1], when[1] + 0.05)}
            scene.text(f"{reader} word {i}", at, box[1] + box[3] / 2 + 6, read[i], ink,
                       bold=not low, room=48 if low else WIDE - 6, **word)  # fmt: skip
    scene.rect(f"{reader.split()[-1]} jar", x - edge, y - edge, WIDE * size + 2 * edge,
               HIGH * size + 2 * edge, "none", "ink", when=when)  # fmt: skip


def _stacked(shares, x, y, reader, size=1.0):
    """Return number and box of each layer in a jar, the word that was read first at the bottom."""
    on, high = "forwards" in reader, HIGH * size
    tops = [sum(shares[i + 1 :] if on else shares[:i]) for i in range(len(shares))]
    layers = [one for one in zip(range(len(tops)), tops, shares, strict=True) if one[2] > 1e-4]
    return [(i, x, y + high * top, WIDE * size, high * part) for i, top, part in layers]


# ---- lesson 02: the decoder looks back -----------------------------------------------------------

COLUMNS = [27 + 54 * j for j in range(7)]  # the middles of the states, and of the map's columns
WROTE_AT = 384  # the left end of the English words, below the decoder
ASKED = 3  # the word about which the film asks
MIX = 1, 206, 150, 24  # the context, in which what is taken is added up, entry by entry
ENTRIES = [0, 1, 3, 5, 8, 9]  # of each vector's 128 numbers: those that are drawn
# Scenes that show only a part of a row: the state asks, the context is mixed, a word is written.
PARTS = {2: (0.1, 0.5), 3: (0.5, 0.68), 4: (0.68, 1)}


def decoder_looking_back():
    """A film: an empty map of weights has a column for each token of un médecin cherche la lettre
    and a row for each word of a doctor looks for the letter. Where will the model look before for?
    The encoder makes seven states, with arrows to both neighbours. Before each English word, the
    decoder's state draws lines to all seven, as thick as their weights. A share of each state's six
    entries falls into the context, where they add up. It enters the decoder with the word before.
    The decoder's state changes, the next word is written, and the map gets a row. A, doctor and
    looks each look mostly at the next French word. For has 0.57 on cherche and 0.42 on la. The has
    0.71 on la and 0.26 on cherche. Letter looks at lettre, the full stop and eos both at the full
    stop. In the end the map is large: a diagonal that pauses, framed, at for and eos.
    """
    _, found = _looking(SEARCH)
    read, written = found["source"], found["target"]
    weights = found["weights"].tolist()
    states = found["states"][:, ENTRIES].round(decimals=2).tolist()
    encoded = found["encoder"][:, ENTRIES].round(decimals=2)
    share = [[f"{weight:.2f}" for weight in row] for row in weights]
    most = [max(range(len(read)), key=row.__getitem__) for row in weights]
    kinks = [(i, j) for i, j in enumerate(most) if i and j == most[i - 1]]  # it doesn't move on
    names = " and ".join(f"“{written[i]}”" for i, _ in kinks).replace("“<eos>”", "<eos>")
    told = [
        "“for” has no French word of its own. Where will the model look before it writes “for”?",
        "The encoder reads in both directions, so each state h depends on both neighbours.",
        f"The decoder's state s₀ gives every h a weight: {share[0][0]} to h₁.",
        "Added up in these shares, entry by entry, the states make the context.",
        "The context and <bos>, the start of a sentence, turn s₀ into s₁, which writes “a”.",
        f"s₁ puts {share[1][1]} of the weight on “médecin”, and s₂ writes “doctor”.",
        f"Before “looks”, nearly all weight is on “cherche”: {share[2][2]}.",
        f"And before “for”? {share[3][2]} is on “cherche” again, {share[3][3]} already on “la”.",
        f"For “the”, {share[4][3]} is on “la”, {share[4][2]} still on “cherche”.",
        f"“letter” looks at “lettre”: {share[5][4]}.",
        f"The full stop looks at the French one: {share[6][5]}.",
        f"<eos> looks there too ({share[7][5]}), not at the French <eos>.",
        "Each row shows where the model looked. The diagonal, learned by translating alone, "
        f"doesn't move on at {names} (framed).",
    ]
    moves = {0: 2.4, 2: 2.6, 4: 2.4, 5: 3.6, 7: 3.6}
    scenes = [Scene(one, moves.get(i, 2.1), i in (0, 1, 4, 7, 12)) for i, one in enumerate(told)]
    for moment, scene in enumerate(scenes):
        first, last = not moment, moment == len(told) - 1
        now, part = max(0, moment - 4), PARTS.get(moment, (0, 1))
        for j, (x, word) in enumerate(zip(COLUMNS, read, strict=True)):  # aslant: words are wider
            left = 6 + sum(12 + 10.6 * len(one) for one in read[:j])
            scene.text(f"read {j}", x + 4, 76, word, "query", anchor="start", bold=True, turn=-50,
                       room=200, start={"x": left, "y": 20, "turn": 0, "opacity": 1})  # fmt: skip
        if not (first or last):
            _encoded(scene)
        if moment > 1 and not last:
            _weighed(scene, now, weights[now], encoded, part, moment > 2)
            _decided(scene, now, states, ["<bos>", *written], part, moment > 3)
        _map(scene, written, weights, -1 if moment < 4 else now, first or last, part)
        if moment < 7:  # the row that the film asks about is empty, and marked
            y, high = _row(ASKED, first), 43 if first else 24
            scene.rect("asked", 2, y - high / 2, 374, high, "none", "ink", line=3, round=0)
            for j, x in enumerate(COLUMNS):
                how = {"when": (0.5 + 0.05 * j, 0.6 + 0.05 * j)} if first else {}
                scene.text(f"? {j}", x, y + 6, "?", "result", bold=True, start={}, **how)
    for i, j in kinks:
        scene.rect(f"kink {i}", COLUMNS[j] - 26, _row(i, True) - 22, 52, 43, "none", "ink",
                   line=3, when=(0.7, 1))  # fmt: skip
    scene.text("blank", 6, 462, f"no number: under {BLANK}", "muted", anchor="start", when=(0.7, 1))
    return film(scenes, 468)


def _in(part, begin, end):
    """Return when something happens in a scene that shows only a part of a row."""
    since, until = part
    return tuple(min(max((one - since) / (until - since), 0), 1) for one in (begin, end))


def _row(i, whole):
    return 106 + 45 * i if whole else 260 + 26 * i


def _encoded(scene):
    """Draw the encoder: its states, which are made one after the other in both directions."""
    scene.text("encoder", WROTE_AT, 125, "encoder", "query", anchor="start")
    for j, x in enumerate(COLUMNS):
        there, back = 0.3 + 0.05 * j, 0.6 + 0.05 * (6 - j)
        scene.rect(f"state {j}", x - 20, 104, 40, 30, "query", "query", 0.12, when=(0.2, 0.3),
                   start={"y": 90, "height": 0})  # fmt: skip
        scene.text(f"h {j}", x, 125, STATES[j], when=(back, back + 0.08))
        if j < 6:
            scene.arrow(f"on {j}", x + 20, 113, x + 34, 113, "query", 2.5, 8,
                        when=(there + 0.05, there + 0.1))  # fmt: skip
            scene.arrow(f"to {j}", x + 34, 126, x + 20, 126, "query", 2.5, 8,
                        when=(back - 0.05, back))  # fmt: skip


def _weighed(scene, now, weights, encoded, part, mixed):
    """Draw the decoder's state as it meets all states, the weights, and the context, if `mixed`."""
    ask, (x, y, wide, high), how = (COLUMNS[3], 166), MIX, {"when": _in(part, 0.4, 0.5)}
    cell, terms = wide / len(ENTRIES), []
    for j, (at, weight) in enumerate(zip(COLUMNS, weights, strict=True)):
        scene.line(f"meets {now} {j}", [ask, (at, 134)], "key", 1.5, opacity=0.6,
                   start={"points": [*ask, *ask]}, when=_in(part, 0.28, 0.38))  # fmt: skip
        if weight >= BLANK:
            scene.line(f"gaze {now} {j}", [ask, (at, 134)], "result", max(14 * weight, 1.5),
                       start={"line": 0.0}, **how)  # fmt: skip
            scene.text(f"weight {now} {j}", at, 99, f"{weight:.2f}", "result", bold=True, room=44,
                       **how)  # fmt: skip
        if weight < NAMED or not mixed:
            continue
        terms.append(f"{weight:.2f} {STATES[j]}")
        for k, value in enumerate(encoded[j].tolist()):  # its share falls, all to the same place
            state = {"x": at - 20 + 6.7 * k, "y": 104, "width": 6.7, "height": 30, "fill": "query"}
            scene.rect(f"taken {now} {j} {k}", x + cell * k, y, cell, high, "result", "result",
                       weight * (value + 1) / 2, line=1, round=0, opacity=0,
                       start=state | {"opacity": 1}, when=_in(part, 0.5, 0.66))  # fmt: skip
    if mixed:
        scene.text("its mix", 6, y - 7, "context", "result", anchor="start", when=(0, 0.2))
        scene.text(f"part {now}", x + wide + 8, y + 18, f"= {' + '.join(terms)} + …", "result",
                   anchor="start", room=212, when=_in(part, 0.6, 0.66))  # fmt: skip
        for k, value in enumerate((torch.tensor(weights) @ encoded).tolist()):
            scene.rect(f"mixed {now} {k}", x + cell * k, y, cell, high, "result", "result",
                       (value + 1) / 2, line=1, round=0, when=_in(part, 0.59, 0.64))  # fmt: skip
    scene.card(f"asks {now}", COLUMNS[3], 180, f"s{SMALL[now]}", "key", 44, True, 28,
               start=(431, 191), when=_in(part, 0.18, 0.28))  # fmt: skip


def _decided(scene, now, states, written, part, after):
    """Draw the decoder; `after` context and previous word went in, its state is another."""
    scene.rect("decoder", WROTE_AT, 134, 94, 100, "none", "key", when=(0, 0.15))
    scene.text("its name", 431, 153, "decoder", "key", room=86, when=(0, 0.15))
    changed = {"when": _in(part, 0.8, 0.88) if after else (0, 0.15)}
    for k, value in enumerate(states[now + after]):
        scene.rect(f"entry {k}", 391 + 13.5 * k, 160, 13.5, 18, "key", "key", (value + 1) / 2,
                   line=1, round=0, **changed)  # fmt: skip
    scene.text("its state", 431, 197, f"s{SMALL[now + after]}", "key", bold=True, **changed)
    if not after:
        scene.text("how many", 376, 199, "6 of 128 numbers", "muted", anchor="end", room=152,
                   when=(0, 0.15))  # fmt: skip
    else:
        own = {"start": (431, _row(now - 1, False))} if now else {}
        scene.card(f"back {now}", 431, 218, written[now], "key", 84, height=26,
                   when=_in(part, 0.68, 0.78), **own)  # fmt: skip
        scene.rect(f"goes in {now}", 391, 160, 81, 18, "result", tint=SHADE, opacity=0, start={
                   **dict(zip(("x", "y", "width", "height"), MIX, strict=True)), "opacity": 1},
                   when=_in(part, 0.7, 0.82))  # fmt: skip


def _map(scene, written, weights, now, whole, part):
    """Draw the map: rows with numbers for the words so far, and empty ones for the others."""
    high = 45 if whole else 26
    for i, word in enumerate(written):
        y, late = _row(i, whole), {"when": _in(part, 0.9, 1)} if i == now and not whole else {}
        scene.rect(f"row {i}", 1, y - high / 2, 376, high, "none", "edge", line=1, round=0)
        if i >= now:
            scene.text(f"to come {i}", WROTE_AT, y + 6, word, "muted", anchor="start",
                       bold=i == ASKED, opacity=float(i > now), **late)  # fmt: skip
        if i > now:
            continue
        scene.text(f"written {i}", WROTE_AT, y + 6, word, anchor="start", bold=True, **late)
        for j, weight in enumerate(weights[i]):
            if weight >= BLANK:
                box = COLUMNS[j] - 26, y - high / 2 + 1, 52, high - 2
                grows = {"start": {"width": 0}, **late} if late else {}
                scene.rect(f"cell {i} {j}", *box, "result", tint=SHADE * weight, round=0, **grows)
                scene.text(f"share {i} {j}", COLUMNS[j], y + 6, f"{weight:.2f}", room=44, **late)


# ---- lesson 02: one step of attention, in numbers ------------------------------------------------

WRITTEN_AT, BAR_AT, SCORE_AT, KEY_AT = 24, 243, 100, 132  # heights; a bar's foot
MIX_AT = 162, 280  # where the context is, as a column: the middle of its top
OWN = {1: "second", 2: "query"}  # the states that are taken have a colour each
# Entries with which a reader can recompute all that is shown, to the digit.
FOUR = [95, 110, 103, 98]
TAKEN, REFUSED = 2, 4  # the pairs that are shown in numbers: one gets a high score, one a low one


def bahdanau_step():
    """A film of one decoding step: a trained model has written the, and is about to write black.
    Which French word will it look at? Its state s meets each of the encoder's six states h, and the
    score of a pair is v times tanh of W s plus U h. For noir we see the numbers, four of each
    vector's 128: these four give 1.35, and all together 12.08. For the full stop, three of the four
    are negative, and the score is −0.24. A softmax turns the scores into weights, 0.15 for chat and
    0.85 for noir; the other four share 0.002. The states are columns of numbers. Multiplied by
    their weights, those of chat and noir slide onto each other and add up to the context: 0.12 and
    0.27 make 0.39. Context, state and previous word then go into the decoder; the next state and
    the word black come out.
    """
    layer, step = _looking(FRENCH, output_step=2)
    with torch.inference_mode():
        step["W s"], step["U h"] = layer.query_proj(step["state"]), layer.key_proj(step["encoder"])
        step["v"] = layer.energy.weight[0]
    step["tanh"] = (step["W s"] + step["U h"]).tanh()  # (S, A)
    shown = step["tanh"].round(decimals=2) * step["v"].round(decimals=2)
    step["products"] = shown.round(decimals=2)
    step["parts"] = step["alpha"][:, None] * step["encoder"]  # (S, D)
    k = FOUR[0]  # of its numbers, captions say how they come about
    pair = [step["W s"][k].item(), step["U h"][TAKEN, k].item()]
    one, other, summed, squashed = map(number, (*pair, sum(pair), math.tanh(sum(pair))))
    whole, part = ([number(one) for one in step[name][:, k]] for name in ("encoder", "parts"))
    step["work"] = [f"{step['alpha'][i]:.2f}·{whole[i]} = {part[i]}" for i in OWN]
    step["work"].append(f"{' + '.join(part[i] for i in OWN)} = {number(step['context'][k])}")
    told = [
        "The model has written “the”. Guess which French word it will look at next.",
        "We pair s with each encoder state, and every pair gets a score.",
        "For “noir”, take four numbers of s and four of h₃.",
        "Their entries mean different things, so two learned matrices bring both into one space.",
        f"We add them: {one} + {other} = {summed}. tanh squashes the sum to {squashed}.",
        "A dot product with the learned vector v gives one number, the score.",
        f"The full stop, paired with the same s, scores only {number(step['scores'][REFUSED])}.",
        "All other pairs go through the same small network.",
        "A softmax raises e to the power of each score and divides by the sum.",
        f"Most weight is on “noir” ({step['alpha'][2]:.2f}), a little on “chat” "
        f"({step['alpha'][1]:.2f}).",
        f"Each state is multiplied by its weight: {step['work'][1]}.",
        f"Their sum is the context: {step['work'][2]}.",
        "Context, s and “the” go into the decoder. Out come the next s and “black”.",
    ]
    return film([_once(step, *moment) for moment in enumerate(told)], 428)


def _once(step, moment, caption):
    moves = {0: 2.4, 1: 2.0, 4: 2.4, 5: 3.8, 6: 4.4, 7: 3.2, 8: 4.2, 10: 2.8, 11: 2.6, 12: 4}
    scene = Scene(caption, moves.get(moment, 1.5), key=moment in (0, 3, 5, 6, 8, 10, 12),
                  rest=1.2 if moment == 8 else REST)  # fmt: skip
    words, scores, shares = step["source"], step["scores"].tolist(), step["alpha"].tolist()
    opened = {6: REFUSED}.get(moment, TAKEN if 2 <= moment <= 5 else None)
    for i, (x, word) in enumerate(zip(PLACES, words, strict=True)):
        scene.card(f"word {i}", x, KEY_AT, word, "query", 74, i == opened, when=(0, 0.2))
        scene.text(f"h {i}", x, KEY_AT + 36, STATES[i], "query", room=70)
        if moment == 0:
            gap, turn = (330, 43), (0.4, 0.7 + 0.06 * i)
            scene.line(f"ask {i}", [gap, (x, KEY_AT - 19)], "key", opacity=0.6, when=turn,
                       start={"points": [*gap, *gap]})  # fmt: skip
        scored = {TAKEN: 5, REFUSED: 6}.get(i, 7)
        if 1 <= moment < scored:
            scene.card(f"s {i}", x, KEY_AT - 34, "s", "key", 34, True, 26,
                       start=(330, WRITTEN_AT), when=(0.1 * i, 0.1 * i + 0.5))  # fmt: skip
        if moment == scored:  # the score rises, on a card, so that it can be read all the way
            since, foot = (0.88, (409, 393)) if moment < 7 else (0.4 + 0.1 * i, (240, 260))
            scene.card(f"up {i}", x, SCORE_AT - 6, number(scores[i]), "ink", 74, height=28,
                       opacity=0, start=foot, when=(since, since + 0.1))  # fmt: skip
            if moment == 7:
                scene.card(f"pair {i}", 240, 222, f"s, {STATES[i]}", "query", 64, height=28,
                           opacity=0, start=(x, 162), when=(since - 0.09, since))  # fmt: skip
        if moment == 7:  # the scores that a softmax will compare
            high, begin = 9 * scores[i], since if scored == 7 else 0.2
            scene.rect(f"tall {i}", x - 26, 412 - max(high, 0), 52, abs(high), "muted", round=0,
                       start={"y": 412, "height": 0}, when=(begin, begin + 0.1))  # fmt: skip
        if moment >= scored:
            how = {"when": (since + 0.08, since + 0.1)} if moment == scored else {}
            scene.text(f"score {i}", x, SCORE_AT, number(scores[i]), "ink", 19, bold=True, **how)
        if moment >= 8 and i in OWN:
            high = 48 * shares[i]
            scene.rect(f"bar {i}", x - 34, BAR_AT - high, 68, high, "result",
                       start={"y": BAR_AT, "height": 0}, when=(0.85, 1))  # fmt: skip
            scene.text(f"weight {i}", x, BAR_AT - 6 - high, f"{shares[i]:.2f}", "result", bold=True,
                       when=(0.85, 1))  # fmt: skip
    if moment == 7:
        scene.card("network", 240, 260, "v · tanh(W s + U h)", "value", 210, when=(0, 0.2))
        scene.text("as bars", 10, 330, "scores", "muted", anchor="start", when=(0.2, 0.3))
    if moment >= 8:
        rest = f"the other four: {sum(shares) - sum(shares[i] for i in OWN):.3f}"
        scene.text("others", PLACES[4], BAR_AT - 6, rest, "muted", room=220, when=(0.85, 1))
    rows = ("score", "ink", 55, 60), ("weight α", "result", 178, 69)
    for name, ink, y, high in rows[: 1 + (moment > 7)]:
        scene.rect(f"{name} row", 3, y, 474, high, "none", "edge")
        scene.text(f"{name} name", 9, y + 19, name, ink, anchor="start")
    scene.text("writes", 6, WRITTEN_AT + 6, "the decoder writes", "key", anchor="start", bold=True,
               room=180)  # fmt: skip
    from_s, last = {"start": (330, WRITTEN_AT)}, moment == 12
    scene.card("so far", 240, WRITTEN_AT, "the", "key", 84, when=(0, 0.4), **from_s)
    scene.card("gap", 432, WRITTEN_AT, "?", "key", 84, when=(0.9, 1) if moment else (0.1, 0.5),
               opacity=float(not last), **from_s if not moment else {})  # fmt: skip
    s_at = (400, 312) if last else (330, WRITTEN_AT)
    scene.card("s", *s_at, "state s", "key", 84, True, when=(0.2, 0.45))
    if last:  # what goes in meets in the decoder, and what it makes comes out
        scene.card("goes in", 400, 356, "the", "key", 84, start=(240, WRITTEN_AT), when=(0.35, 0.6))
        for word, x, when in ("next s", 330, (0.65, 0.85)), ("black", 432, (0.8, 1)):
            scene.card(word, x, WRITTEN_AT, word, "key", 84, True, start=(400, 334), when=when)
    if opened is not None:
        _opened(scene, step, opened, moment)
    if moment == 8:
        _softmax(scene, words, scores)
    if moment < 2 or moment >= 9:
        _mixed(scene, step, moment)
    return scene


def _softmax(scene, words, scores):
    """Work out the two largest weights, from the scores that stand above."""
    powers = [math.exp(round(score, 2)) for score in scores]
    whole = sum(powers)
    for left, i in zip((6, 250), OWN, strict=True):
        share = f"{powers[i]:,.0f} ÷ {whole:,.0f} = {powers[i] / whole:.2f}"
        for name, x, y, said, size, room, begin in (
            ("of", 0, 306, words[i], TEXT, 56, 0.1),
            ("e", 60, 306, "e", 24, 20, 0.1),
            ("power", 76, 295, number(scores[i]), TEXT, 56, 0.1),
            ("raised", 134, 306, f"= {powers[i]:,.0f}", TEXT, 90, 0.2),
            ("share", 0, 402, share, TEXT, 222, 0.6),
        ):
            scene.text(f"{name} {i} e", left + x, y, said, OWN[i] if name == "of" else "ink", size,
                       "start", name == "of", room=room, when=(begin, begin + 0.1))  # fmt: skip
    scene.text("all six", 6, 354, f"all six powers sum to {whole:,.0f}", "muted",
               anchor="start", when=(0.4, 0.5))  # fmt: skip


def _mixed(scene, step, moment):
    """Draw the states as columns; two are multiplied by their weights and slide onto each other."""
    (middle, top), times, joined = MIX_AT, moment > 9, moment > 10
    moved, soon = {"when": (0.15, 0.6)}, {"when": (0.45, 0.6)}
    if moment == 12:  # the context goes on
        middle, moved, soon = 300, {"when": (0.05, 0.3)}, {"when": (0.05, 0.3)}
        scene.rect("decoder", 246, 256, 230, 136, "none", "key", when=(0, 0.1))
        scene.text("decoder name", 468, 278, "decoder", "key", anchor="end", when=(0, 0.1))
    top -= 72 * (moment < 2)  # where weights will be
    for i, (place, share) in enumerate(zip(PLACES, step["alpha"].tolist(), strict=True)):
        if times and i not in OWN:
            continue
        x, how = (middle, moved) if joined else (place, {})
        colour = "result" if joined else OWN.get(i, "muted") if moment > 8 else "query"
        tint = SHADE * share if moment > 8 and i in OWN else 0.2
        if moment == 10:  # the weight comes down to its column
            scene.card(f"times {i}", place, top - 15, f"· {share:.2f}", OWN[i], 68, height=24,
                       start=(place, BAR_AT - 12 - 48 * share), when=(0.1, 0.4))  # fmt: skip
        for k, value in enumerate(step["parts" if times else "encoder"][i][FOUR].tolist()):
            y = top + 27 * k
            if moment == 10:  # row by row, so that numbers are always there
                how = {"when": (0.4 + 0.12 * k, 0.6 + 0.12 * k)}
            scene.rect(f"column {i} {k}", x - 34, y, 68, 25, colour, tint=tint, round=0, **how)
            near = 21 * (2 * i - 3) if joined else 0  # the numbers meet, and become their sum
            scene.text(f"of {i} {k}", x + near, y + 18, number(value), room=64,
                       opacity=float(not joined), **how)  # fmt: skip
    of = "the context" if joined else "each state, weighted" if times else "each state"
    scene.text("four", 6, top + 132, f"4 of the 128 numbers of {of}", "muted", anchor="start")
    if joined:
        scene.text("context", middle, top - 6, "context c", "result", bold=True, **soon)
        for k, value in enumerate(step["context"][FOUR].tolist()):
            scene.text(f"mixed {k}", middle, top + 27 * k + 18, number(value), **soon)
    if times and moment < 12:
        for k, words in enumerate(step["work"][: moment - 8]):
            scene.text(f"work {k}", 264, top + 18 + 27 * k, words, [*OWN.values(), "result"][k],
                       anchor="start", bold=True, room=210, when=(0.5, 0.65))  # fmt: skip


def _opened(scene, step, i, moment):
    """Draw the score of pair i in numbers: four entries of every vector on the way."""
    apart, low = moment == 3, i == REFUSED
    from_key, tanh, products = (step[name][i] for name in ("U h", "tanh", "products"))
    # name, colour, vector, from which moment on, where
    columns = [("W s", "key", step["W s"], 3, 198 if apart else 37),
               (f"U {STATES[i]}", "query", from_key, 3, 438 if apart else 138),
               ("tanh", "result", tanh, 4, 239),
               ("v", "value", step["v"], 5, 340),
               ("v · tanh", "ink", products, 5, 441)]  # fmt: skip
    if moment < 4:
        columns += ("s", "key", step["state"], 2, 116), ("h₃", "query", step["encoder"][i], 2, 356)
        scene.text("four", 6, 352, "4 of 128 numbers of each vector" + "; W, U: 128 × 128" * apart,
                   "muted", anchor="start")  # fmt: skip
    signs = {3: "==", 4: "+→", 5: "+→·=", 6: "+→·="}.get(moment, "")
    for x, sign in zip((157, 397) if apart else (87, 188, 289, 390), signs, strict=False):
        scene.text(f"sign {i} {x}", x, 274, sign, "ink", 20, bold=True, when=(0.6, 0.7))
    for x, matrix in ((42, "W"), (282, "U")) if apart else ():  # as wide as it is high
        scene.rect(matrix, x - 36, 234, 72, 72, "value", "value", 0.12, when=(0, 0.4))
        scene.text(f"{matrix} name", x, 278, matrix, "value", 24, bold=True, when=(0, 0.4))
    for n, (name, colour, values, first, x) in enumerate(columns):
        if moment < first:
            continue
        since = (0.05, 0.15, 0.25, 0, 0.4)[n] if low else {"v": 0, "v · tanh": 0.35}.get(name, 0.5)
        moved = {"when": (0.2, 0.5) if first < moment < 6 else (since, since + 0.3)}
        # The column of noir is the one that stood below its word, and what isn't a pair's stays.
        own = "column 2" if name == "h₃" else name if name in ("W s", "v") else f"{name} {i}"
        scene.text(f"{own} name", x, 212, name, colour, bold=True, room=76, **moved)
        for k, value in enumerate(values[FOUR].tolist()):
            y, how = 218 + 26 * k, moved
            if (low or moment == first) and name != "h₃":  # row by row
                how = {"when": (since + 0.08 * k, since + 0.08 * k + 0.1)}
            entry = f"of 2 {k}" if name == "h₃" else f"{own} entry {k}"
            scene.rect(f"{own} {k}", x - 31, y, 62, 26, colour, colour, 0.12, **how)
            scene.text(entry, x, y + 19, number(value), "ink", room=56, **how)
    if moment < 5:
        return
    for k, one in enumerate(FOUR):  # a number of tanh flies to v's, and their product from there
        y, turn = 231 + 26 * k, since + 0.08 * k
        for name, to, start, value, since_then in (
            ("factor", (340, y), (239, y), tanh, turn - 0.1),
            ("product", (441, y), (340, y), products, turn),
            ("term", (70 + 75 * k, 360), (441, y), products, 0.72 - 0.03 * k),
        ):
            scene.card(f"{name} {k}", *to, number(value[one].item()), "ink", 62, height=26,
                       opacity=0, start=start, when=(since_then, since_then + 0.1))  # fmt: skip
    four, score = products[FOUR].sum().item(), round(step["scores"][i].item(), 2)
    terms = " + ".join(map(number, products[FOUR].tolist())).replace("+ −", "− ")
    sums = f"{number(four)} (these 4) + {number(score - four)} (the other {len(products) - 4}) ="
    scene.text(f"terms {i}", 369, 366, f"{terms} = {number(four)}", anchor="end", when=(0.76, 0.82))
    scene.text(f"sums {i}", 369, 399, sums, "muted", anchor="end", when=(0.8, 0.86))
    scene.text(f"gives {i}", 409, 399, number(score), "ink", 20, bold=True, when=(0.84, 0.88))


PICTURES = [hidden_state_travelling, decoder_looking_back, bahdanau_step]
