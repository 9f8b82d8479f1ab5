"""The films of lessons 01 and 02: a state that travels, a gaze that moves, one step in numbers."""

import math

import torch

from helpers.pretrained import toy_models
from helpers.text.tokenization import SPECIALS
from helpers.widgets.bahdanau_stepper import BahdanauStepper
from helpers.widgets.svg import number
from images.stage import REST, TEXT, Scene, film

FRENCH = "le chat noir dort ."
SEARCH = "un médecin cherche la lettre ."  # no adjective: lesson 02 asks later where a noun looks
STATES = [f"h{i}" for i in "₁₂₃₄₅₆₇"]
BLANK = 0.005  # and below that there's no number, as it would be 0.00
SHADE = 0.55  # how strong a weight of 1 is drawn, so that ink can be read on it in both themes


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
LONG = "le petit chat dans le parc ne dort pas pendant que les garçons achètent le vieux sac noir ."
FOLLOWED = LONG.split().index("sac")  # the translation out of one vector has no bag
TOLD = {  # what comes out, line by line, with attention and from one vector
    "expected": "the little cat in the park/does not sleep/while the boys buy/the old black bag .",
    "from one vector": "the little cat in the park/does not dance/while the old black horses/"
    "dance in the park .",
}
MEASURE = (  # how a layer's thickness was measured, line by line
    "The further the state moves when a word is/exchanged, the thicker its layer. Together,/"
    "all fill the jar, a state of 64 numbers."
)
READ_AT, WRITE_AT = 40, 386  # the heights of the rows
ON_AT, BACK_AT = 70, 262  # those of both readers' jars
WIDE, HIGH, APART = 70, 140, 116  # a state as a jar of layers; from a jar to its neighbour
SHORT_AT, LONG_AT = 30, 272  # the left ends of both sentences' jars
WAYS = {"back": "← backwards", "forth": "forwards →"}
LAYER = {"round": 1, "line": 0}
COLOURS = ("query", "key", "value", "result", "second", "muted")


def hidden_state_travelling():
    """A film: all words of le chat noir dort go through one vector, out of which the black cat
    sleeps comes. They enter a recurrent encoder one after the other. Its hidden state is a jar,
    with a layer per word. It never grows, so the layers below shrink: that of le from all of it to
    40, 23, 14, 11 and 9 percent. A second reader goes backwards, and of its last state, le is 17
    percent. Both last states are the context vector, in which each token has 9 to 27 percent of a
    jar, and all English words are right. Then a sentence of 20 tokens fills two jars of the same
    size, in which each has 2 to 9 percent: sac is 8 and 2 percent of them. Out of these, the
    decoder writes that a cat does not dance while horses dance in the park, without a bag. In the
    end it looks back at the states at all 20 tokens, for bag almost only at sac, and the
    cat does not sleep while the boys buy a bag, which is right.

    A layer's thickness is its word's share of all movements of a state: how far the state
    moves, on average, when the word is exchanged for each other word of the vocabulary. Among 1,294
    nouns of 260 test sentences, sorted by share, 59 percent of the sixth with the smallest (under
    2.7 percent) are in the translation, then 66, 72, 78, 87, and 94 of the largest. It isn't only
    the sentence's length: among those of 23 to 29 tokens, it's 69 of the lower half, 88 of the
    upper one; among 325 of 18 to 22 tokens, 75 and 89.
    """
    sentences = [([*french.split(), "<eos>"], *_readers(french)) for french in (FRENCH, LONG)]
    return film(list(_travelling(_trained(FRENCH)[1], *sentences)), 432)


def _readers(french):
    """Measure how much of both readers' states at each word depends on which word.

    Returns two lists of rows that sum to 1, of the reader that goes back and the one that goes on.
    """
    toy = toy_models.load_toy("gru")
    ids = torch.tensor([toy.source.encode(french, eos=True)])
    words = torch.arange(len(SPECIALS), len(toy.source))
    with torch.inference_mode():
        states = toy.model.encode(ids)[0].unflatten(-1, (2, -1))  # (1, T, reader, D)
        moved = []
        for i, word in enumerate(ids[0]):
            others = words[words != word]
            exchanged = ids.repeat(len(others), 1)
            exchanged[:, i] = others
            other = toy.model.encode(exchanged)[0].unflatten(-1, (2, -1))
            moved.append((other - states).norm(dim=-1).mean(0))  # (T, reader)
    moved = torch.stack(moved, 1)  # (T, T, reader): state, word
    return (moved / moved.sum(1, keepdim=True)).permute(2, 0, 1).flip(0).tolist()


def _range(back, on):
    """Return the least and the largest share of a token in both readers' last states."""
    shares = back[0] + on[-1]
    return f"{min(shares):.0%} to {max(shares):.0%}"


def _travelling(written, short, long):
    (read, back, on), (many, *far) = short, long
    left = [f"{row[0]:.0%}" for row in on]
    little = far[0][0][FOLLOWED], far[1][-1][FOLLOWED]
    told = [
        "Every English word has to come out of one context vector. Is that enough?",
        "The first reader reads “le”. Its state, the jar, depends on that word alone.",
        f"“chat” goes in, and the share of “le” is only {left[1]} now.",
        "The jar doesn't grow: “noir” takes its room from the words before.",
        f"“dort” takes {on[3][3]:.0%}, and “le” is down to {left[3]}.",
        "Even the full stop takes some room.",
        f"After <eos>, the end of the sentence, “le” has {left[5]} left.",
        "A second reader starts at the other end, with a jar of its own.",
        f"It reads “le” last, whose share of this last state is larger: {back[0][0]:.0%}.",
        "Both last states together are the context vector.",
        f"Each token has {_range(back, on)} of a jar, and the whole translation is right.",
        f"Now {len(many)} tokens fill jars of the same size. How much is left for “sac” (bag)?",
        f"All shares of a jar sum to 100%. Of {len(read)} tokens, each had {_range(back, on)}. Of "
        f"{len(many)}, each has only {_range(*far)}.",
        f"“sac” has {little[1]:.0%} and {little[0]:.0%}: some words with as much get through. But "
        "in sentences about this long, nouns with smaller shares get lost twice as often.",
        "Here the marked lines are wrong, and the bag is missing.",
        f"With attention, the decoder looks back at all {len(many)} states. For “bag”, nearly all "
        "of the weight is on the one at “sac”. Now every word is right.",
    ]
    moves = {0: 3.2, 4: 1.4, 5: 1.4, 7: 2.8, 8: 2.8, 10: 3, 11: 3.2, 14: 3.4, 15: 3.8}
    for moment, caption in enumerate(told):
        key = moment in (0, 2, 6, 8, 10, 13, 14, 15)
        scene = Scene(caption, moves.get(moment, 1.9), key, rest=3 if moment == 14 else REST)
        scene.text("encoder", 6, 16, "the encoder reads", "muted", anchor="start", bold=True)
        if moment in (0, 10):
            scene.text("decoder", 6, 424, "the decoder writes", "muted", anchor="start", bold=True)
        if moment in (0, 9, 10):
            _words(scene, read, len(read) if moment else 0)
            scene.text("context", 240, 78, "context vector c: 2 × 64 numbers", bold=True)
            _last(scene, *short, 147, 112, "way, share" * (moment > 0), pour=not moment)
            if moment != 9:
                _written(scene, written, 272, 0.3)
        elif moment < 9:
            _words(scene, read, moment if moment < 7 else len(read))
            _read_on(scene, read, on, moment)
            if moment < 7:
                for i, line in enumerate(MEASURE.split("/")):  # where other jars will be
                    scene.text(f"measure {i}", 6, 300 + 26 * i, line, "muted", anchor="start")
            else:
                _read_back(scene, read, back, len(read) - 3 * (moment - 6))
        else:
            if moment == 15:
                _looks(scene, many)
            _many(scene, many)
            if moment < 14:
                _last(scene, *short, SHORT_AT, said="way, share" + ", each" * (moment > 11))
            if moment < 15:
                left = LONG_AT if moment < 14 else 8
                said = ("way", "way, each", "way, share, each", "share")[moment - 11]
                _last(scene, *long, left, said=said, pour=moment == 11)
            if moment > 13:
                _translated(scene, moment > 14)
        yield scene


def _words(scene, read, seen):
    """Write the sentence; a word that is read has left its card."""
    for i, (x, word) in enumerate(zip(PLACES, read, strict=True)):
        if i >= seen:
            scene.rect(f"card {i}", x - 38, READ_AT - 17, 76, 34, COLOURS[i], COLOURS[i], 0.1)
        scene.text(f"word {i}", x, READ_AT + 6, word, COLOURS[i] if i < seen else "ink", bold=True,
                   opacity=0.55 if i < seen else 1)  # fmt: skip


def _written(scene, written, top, begin):
    """Draw the translation: all its words come out of the context vector, one after the other."""
    for i, (x, word) in enumerate(zip(PLACES, written, strict=True)):
        turn = begin + (0.8 - begin) * i / 5
        how = {"when": (turn, turn + 0.2)}
        scene.arrow(f"from c {i}", 240 + 0.2 * (x - 240), top + 14, x, WRITE_AT - 22, **how)
        scene.card(f"written {i}", x, WRITE_AT, word, "ink", 74, start=(240, top), **how)


def _read_on(scene, read, states, seen):
    """Draw the first reader: the word that goes in, and what it makes of the others."""
    last = min(seen, len(read)) - 1
    for i, state in enumerate(states[: last + 1]):
        left = PLACES[i] - WIDE / 2
        if i == last:
            _jar(scene, "forth", read, state, left, ON_AT, i)
        for k, *box in () if i == last else _stacked(state, left, ON_AT):
            scene.rect(f"was forth {i} {k}", *box, COLOURS[k], opacity=0.22, **LAYER)
        if i == last or seen < 7:
            name = "forth share" if i == len(read) - 1 else f"share {i}"
            _share(scene, name, i, ON_AT, state, i == last, when=(0.2, 1))
    if seen > 6:
        scene.text("onwards", 6, ON_AT + HIGH + 26, WAYS["forth"], "muted", anchor="start")


def _share(scene, name, i, top, state, now, **how):
    words = f"{'le ' * now}{state[0]:.0%}"
    scene.text(name, PLACES[i], top + HIGH + 26, words, COLOURS[0], bold=now, room=70, **how)


def _read_back(scene, read, states, last):
    """Draw the second reader: three words go in from the right."""
    for i in range(last, len(read)):
        name, left, begin = f"was {i} " if i else "", PLACES[i] - WIDE / 2, 0.2 * (last + 2 - i)
        if begin >= 0:
            moves = begin + 0.2, begin + 0.6
            _jar(scene, f"{name}back", read, states[i], left, BACK_AT, i, moves)
        for k, *box in () if begin >= 0 else _stacked(states[i], left, BACK_AT, forward=False):
            scene.rect(f"{name}back {k}", *box, COLOURS[k], opacity=0.22, **LAYER)
    if not last:
        _share(scene, "back share", 0, BACK_AT, states[0], True, when=(0.9, 1))
    scene.text("backwards", 474, BACK_AT + HIGH + 26, WAYS["back"], "muted", anchor="end")


def _many(scene, words):
    """Write the long sentence, each word on a card in the colour of its layers."""
    for i, word in enumerate(words):
        x, y = _place(i)
        (ink, tint), how = _dye(i, word), {"when": (0.3, 0.5)}
        now = i == FOLLOWED
        scene.rect(f"card of {i}", x - 44, y - 12, 88, 24, ink, tint=0.3 * tint + 0.7 * now, **how)
        fill = "paper" if now else "ink"
        scene.text(f"of many {i}", x, y + 6, word, fill, bold=now, room=84, **how)


def _place(i):
    return 48 + 96 * (i % 5), 38 + 27 * (i // 5)


def _dye(i, word):
    """Return colour and tint of a word of the long sentence: those of the short one keep theirs."""
    short = [*FRENCH.split(), "<eos>"]
    if i == FOLLOWED:
        return "ink", 1
    return (COLOURS[short.index(word)], 1) if word in short else (COLOURS[i % 5], 0.35)


def _last(scene, read, back, on, left, top=178, said="way", pour=False):
    """Draw both readers' last states; `said` names what is written there: way, share, each."""
    many, foot = len(read) > 6, top + HIGH + 26
    i, ink = (FOLLOWED, "ink") if many else (0, COLOURS[0])
    for reader, state, x in (("forth", on[-1], left), ("back", back[0], left + APART)):
        name, middle = ("long " if many else "whole " * pour) + reader, x + WIDE / 2
        how = {"when": (0, 0.3)}  # like the jar
        _jar(scene, name, read, state, x, top, moves=(0, 0.3), pour=pour)
        if "way" in said:
            scene.text(f"{name} way", middle, top - 10, WAYS[reader], "muted", room=110, **how)
        if "share" in said:
            words = f"{read[i]} {state[i]:.0%}"
            scene.text(f"{name} share", middle, foot, words, ink, bold=True, **how)
    if "each" in said:
        words = f"{len(read)} tokens: {_range(back, on)}"
        scene.text(f"{name} each", left + 93, foot + 28, words, "ink", room=190, **how)


def _looks(scene, read):
    """Draw the decoder with attention, which looks at the states at all tokens to write bag."""
    _, written, weights = _trained(LONG)
    for i, weight in enumerate(weights[written.index("bag")]):
        (x, y), (ink, tint), seen = _place(i), _dye(i, read[i]), i == FOLLOWED
        left, top = 8 + 37 * (i % 5), 164 + 24 * (i // 5)  # side by side as the words are
        scene.rect(f"state {i}", left, top, 28, 18, ink, ink, 0.3 * tint + 0.7 * seen,
                   start={"x": x - 14, "y": y - 9}, when=(0.1, 0.35))  # fmt: skip
        scene.line(f"look {i}", [(93, 302), (left + 14, top + 18)], "ink" if seen else "muted",
                   1 + 7 * weight, opacity=0.4 + 0.6 * weight, when=(0.35, 0.55),
                   start={"points": [93, 302, 93, 302]})  # fmt: skip
        if seen:
            words = f"{weight:.2f}"
            scene.text("weight", 60, 290, words, anchor="end", bold=True, when=(0.5, 0.6))
    scene.text("states", 8, 156, f"{len(read)} states", "muted", anchor="start", when=(0.3, 0.4))
    scene.card("looks", 93, 318, "decoder", "ink", 130, True, 32, when=(0.1, 0.3))
    scene.card("writes bag", 93, 392, "bag", "ink", 74, when=(0.6, 0.8), start=(93, 318))
    scene.arrow("to bag", 93, 336, 93, 372, when=(0.6, 0.8))


def _translated(scene, attention):
    """Write what is expected, which attention gets right, and the translation from one vector."""
    for j, (of, said) in enumerate(TOLD.items()):
        y = 170 + 132 * j
        head = "with attention, as expected" if attention and not j else of
        scene.text(f"head {j}", 214, y, head, "muted", anchor="start", when=(0.35, 0.5))
        right = TOLD["expected"].split("/")
        for i, line in enumerate(said.split("/")):
            when = (0.5 + 0.1 * i, 0.6 + 0.1 * i) if j else (0.35, 0.5)
            if line != right[i]:
                scene.rect(f"bad {i}", 208, y + 8 + 24 * i, 266, 22, "bad", "bad", 0.15, when=when)
            scene.text(f"line {i} {j}", 214, y + 24 + 24 * i, line, anchor="start", room=256,
                       when=when)  # fmt: skip


def _jar(scene, name, read, state, x, y, new=None, moves=(0, 0.75), pour=False):
    """Draw the state of a reader, which may have read a `new` word; all may `pour` into it."""
    many = len(read) > 6
    for i, *box in _stacked(state, x, y, forward="forth" in name):
        how = word = {"when": moves}
        if i == new:  # its card has been there, from which it comes
            falls = how if "back" in name else {"when": (0.4, 1)}
            how = {**falls, "start": {"y": READ_AT - 17, "height": 34}}
            word = {**falls, "start": {"y": READ_AT + 6}}
        elif new is not None:  # out of the state before, which stays where it is
            how, word = ({**how, "start": {"x": x + dx}} for dx in (79, 79 + WIDE / 2))
        elif pour:  # from the words, one after the other
            (across, down), begin = (_place(i), 0.5) if many else ((PLACES[i], READ_AT), 0)
            start = {"x": across - 35, "y": down - 12, "height": 24, "opacity": 0.5}
            how = {"when": (begin + 0.012 * i, begin + 0.25 + 0.012 * i), "start": start}
        ink, tint = _dye(i, read[i]) if many else (COLOURS[i], 1)
        scene.rect(f"{name} {i}", *box, ink, tint=tint, **LAYER, **how)
        if box[3] > 18 and not (many or pour):
            scene.text(f"{name} word {i}", x + WIDE / 2, box[1] + box[3] / 2 + 6, read[i], "paper",
                       bold=True, room=WIDE - 6, **word)  # fmt: skip
    scene.rect(f"{name} jar", x - 3, y - 3, WIDE + 6, HIGH + 6, "none", "ink", when=moves)


def _stacked(shares, x, y, forward=True):
    """Return number and box of each layer in a jar, the word that was read first at the bottom."""
    tops = [sum(shares[i + 1 :] if forward else shares[:i]) for i in range(len(shares))]
    layers = enumerate(zip(tops, shares, strict=True))
    return [(i, x, y + HIGH * top, WIDE, HIGH * part) for i, (top, part) in layers if part > 1e-4]


# ---- lesson 02: the decoder looks back -----------------------------------------------------------

COLUMNS = [27 + 54 * j for j in range(7)]  # the middles of the states, and of the map's columns
WROTE_AT = 384  # the left end of the English words, below the decoder
ASKED = 3  # the word about which the film asks
MIX = 1, 206, 376, 24  # the context, in which what is taken lies side by side
ENTRIES = [0, 1, 3, 5, 8, 9]  # of the decoder's state: those that are drawn
SMALL = "₀₁₂₃₄₅₆₇₈"
# Scenes that show only a part of a row: the state asks, the context is mixed, a word is written.
PARTS = {2: (0.1, 0.5), 3: (0.5, 0.68), 4: (0.68, 1)}


def decoder_looking_back():
    """A film: an empty map of weights has a column for each token of un médecin cherche la lettre
    and a row for each word of a doctor looks for the letter. Where will the model look before for?
    The encoder makes seven states, with arrows to both neighbours. Then, for each English word, the
    decoder's state goes up and draws a line to all seven. The lines become as thick as the weights,
    what is taken of the states falls side by side into the context, and this and the word before go
    into the decoder. Its state changes and writes the word, and the map gets a row. A, doctor and
    looks each look mostly at the next French word. For has 0.57 on cherche and 0.42 on la. The has
    0.71 on la and 0.26 on cherche. Letter looks at lettre, the full stop and eos both at the full
    stop. At the end the map is large: a diagonal that stands still, framed, at for and eos.
    """
    toy = toy_models.load_toy("additive")
    found = BahdanauStepper(toy.model, toy.source, toy.target, SEARCH).numbers
    read, written = found["source"], found["target"]
    weights = found["weights"].tolist()
    states = found["states"][:, ENTRIES].round(decimals=2).tolist()
    share = [[f"{weight:.2f}" for weight in row] for row in weights]
    most = [max(range(len(read)), key=row.__getitem__) for row in weights]
    kinks = [(i, j) for i, j in enumerate(most) if i and j == most[i - 1]]  # it doesn't move on
    names = " and ".join(f"“{written[i]}”" for i, _ in kinks).replace("“<eos>”", "<eos>")

    told = [
        "“for” has no French word of its own. Where will the model look before it writes “for”?",
        "The encoder reads in both directions: a state h depends on its neighbours.",
        f"The decoder's state s₀ meets each h. A pair gets a weight: {share[0][0]} for h₁.",
        "The states are mixed, by weight, into the context.",
        "Context and <bos>, the sentence's beginning, turn s₀ into s₁, which writes “a”.",
        f"s₁ asks again: {share[1][1]} is on “médecin”. Context and “a” make s₂, which writes "
        "“doctor”.",
        f"Before “looks”, the weight is on “cherche”: {share[2][2]}.",
        f"And before “for”? {share[3][2]} is on “cherche” again, {share[3][3]} already on “la”.",
        f"For “the”, {share[4][3]} is on “la”, {share[4][2]} still on “cherche”.",
        f"“letter” looks at “lettre”: {share[5][4]}.",
        f"The full stop looks at the French one: {share[6][5]}.",
        f"<eos> looks there, too ({share[7][5]}), not at the French <eos>.",
        "Each row shows where a word looked: a diagonal, learned by translating alone. It stands "
        f"still (framed) at {names}.",
    ]
    moves = {0: 2.4, 3: 1.8, 4: 2.4, 5: 4.2, 7: 4.2}
    scenes = [Scene(one, moves.get(i, 2.6), i in (0, 1, 2, 4, 7, 12)) for i, one in enumerate(told)]
    for moment, scene in enumerate(scenes):
        first, last = not moment, moment == len(told) - 1
        now = max(0, moment - 4)  # the word
        part = PARTS.get(moment, (0, 1))
        for j, (x, word) in enumerate(zip(COLUMNS, read, strict=True)):  # aslant: words are wider
            left = 6 + sum(12 + 10.6 * len(one) for one in read[:j])
            scene.text(f"read {j}", x + 4, 76, word, "query", anchor="start", bold=True, turn=-50,
                       room=200, start={"x": left, "y": 20, "turn": 0, "opacity": 1})  # fmt: skip
        if not (first or last):
            _encoded(scene)
        if moment > 1 and not last:
            _weighed(scene, now, weights[now], part, moment > 2)
            _decided(scene, now, states, ["<bos>", *written], part, moment > 3)
        _map(scene, written, weights, -1 if moment < 4 else now, first or last, part)
        if moment < 7:  # the row that the film asks about is empty, and marked
            y, high = _row(ASKED, first), 43 if first else 24
            scene.rect("asked", 2, y - high / 2, 374, high, "none", "ink", line=3, round=0)
            for j, x in enumerate(COLUMNS):
                how = {"when": (0.5 + 0.05 * j, 0.6 + 0.05 * j)} if first else {}
                scene.text(f"? {j}", x, y + 6, "?", "result", bold=True, start={}, **how)
        if last:
            for i, j in kinks:
                scene.rect(f"kink {i}", COLUMNS[j] - 26, _row(i, True) - 22, 52, 43, "none", "ink",
                           line=3, when=(0.7, 1))  # fmt: skip
            scene.text("blank", 6, 462, f"no number: under {BLANK}", "muted", anchor="start")
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


def _weighed(scene, now, weights, part, mixed):
    """Draw the decoder's state as it meets all states, the weights, and the context, if `mixed`."""
    ask, (x, y, wide, high), how = (COLUMNS[3], 166), MIX, {"when": _in(part, 0.4, 0.5)}
    if mixed:
        scene.rect("context", *MIX, "none", "edge", when=(0, 0.2))
        scene.text("its mix", 6, y - 7, "context", "result", anchor="start", when=(0, 0.2))
    for j, (at, weight) in enumerate(zip(COLUMNS, weights, strict=True)):
        share = wide * weight / sum(weights)
        scene.line(f"meets {now} {j}", [ask, (at, 134)], "key", 1.5, opacity=0.6,
                   start={"points": [*ask, *ask]}, when=_in(part, 0.28, 0.38))  # fmt: skip
        if weight >= BLANK:
            scene.line(f"gaze {now} {j}", [ask, (at, 134)], "result", max(14 * weight, 1.5),
                       start={"line": 0.0}, **how)  # fmt: skip
            scene.text(f"weight {now} {j}", at, 99, f"{weight:.2f}", "result", bold=True, **how)
        if weight >= BLANK and mixed:  # what is taken of a state falls into the context
            state = {"x": at - 20, "y": 104, "width": 40, "height": 30, "fill": "query"}
            scene.rect(f"taken {now} {j}", x, y, share, high, "result", "paper", SHADE, line=1,
                       round=0, start=state, when=_in(part, 0.5, 0.62))  # fmt: skip
            if share > 70:
                scene.text(f"part {now} {j}", x + share / 2, y + 18, f"{weight:.2f} {STATES[j]}",
                           room=round(share) - 6, when=_in(part, 0.6, 0.64))  # fmt: skip
        x += share
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
        scene.text("how many", 431, 223, "6 of 128", "muted", room=86, when=(0, 0.15))
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
                       opacity=float(i > now), **late)  # fmt: skip
        if i > now:
            continue
        scene.text(f"written {i}", WROTE_AT, y + 6, word, anchor="start", bold=True, **late)
        for j, weight in enumerate(weights[i]):
            if weight >= BLANK:
                box = COLUMNS[j] - 26, y - high / 2 + 1, 52, high - 2
                grows = {"start": {"width": 0}, **late} if late else {}
                scene.rect(f"cell {i} {j}", *box, "result", tint=SHADE * weight, round=0, **grows)
                scene.text(f"share {i} {j}", COLUMNS[j], y + 6, f"{weight:.2f}", room=50, **late)


# ---- lesson 02: one step of attention, in numbers ------------------------------------------------

WRITTEN_AT, BAR_AT, SCORE_AT, KEY_AT = 24, 243, 100, 132  # heights; a bar's foot
MIX_AT = 162, 280  # where the context is, as a column: the middle of its top
OWN = {1: "second", 2: "query"}  # the states that are taken have a colour each
# Entries with which a reader can recompute all that is shown, to the digit.
FOUR = [95, 110, 103, 98]
TAKEN, REFUSED = 2, 4  # the pairs that are shown in numbers: one gets a high score, one a low one
STRIPS = [37 + 101 * k for k in range(5)]  # the middles of their columns


def bahdanau_step():
    """A film of one decoding step: a trained model has written the, and is about to write black.
    At which French word will it look? Its state s goes to each of the encoder's six states, and
    each pair gets a score by v times tanh of W s plus U h. For noir this is shown in numbers, four
    of each vector's 128: these four give 1.35, with the others 12.08. For the full stop, three of
    the four are negative, and the score is −0.24. A softmax turns the scores into weights, 0.15 for
    chat and 0.85 for noir; the other four share 0.002. The states are columns of numbers.
    Multiplied by their weights, those of chat and noir slide onto each other and add up: 0.12 and
    0.27 make 0.39. That's the context. With the state and the previous word it gives the next
    state, which writes black.
    """
    toy = toy_models.load_toy("additive")
    step = BahdanauStepper(toy.model, toy.source, toy.target, FRENCH, output_step=2).numbers
    layer = toy.model.decoder.attention
    with torch.inference_mode():
        step["W s"], step["U h"] = layer.query_proj(step["state"]), layer.key_proj(step["encoder"])
        step["v"] = layer.energy.weight[0]
    step["tanh"] = (step["W s"] + step["U h"]).tanh()  # (S, A)
    shown = step["tanh"].round(decimals=2) * step["v"].round(decimals=2)
    step["products"] = shown.round(decimals=2)
    step["parts"] = step["alpha"][:, None] * step["encoder"]  # (S, D)
    first = [step["W s"][FOUR[0]].item(), step["U h"][TAKEN, FOUR[0]].item()]
    summed = " = ".join((" + ".join(map(number, first)), number(sum(first))))
    whole, part, mixed = (  # of the first of the four
        [number(one) for one in step[name][..., FOUR[0]].flatten()]
        for name in ("encoder", "parts", "context")
    )
    step["work"] = [f"{step['alpha'][i]:.2f}·{whole[i]} = {part[i]}" for i in OWN]
    step["work"].append(f"{' + '.join(part[i] for i in OWN)} = {mixed[0]}")
    low = sum(step["products"][REFUSED, FOUR] < 0)
    told = [
        "“the” is written. Guess: at which French word will the model look next?",
        "The decoder's state s meets every encoder state, for a score.",
        "Take “noir”: four numbers of s, and four of h₃.",
        "Their entries mean different things. Learned matrices bring both into one space.",
        f"Add entry by entry: {summed}.",
        "tanh squashes each sum into −1 to 1.",
        "A dot product with the learned vector v gives one number, the score.",
        f"The full stop, with the same s: {low} of 4 products are negative.",
        "All other pairs go through the same small network.",
        "A softmax raises e to each score and divides by the sum.",
        f"It looks mostly at “noir” ({step['alpha'][2]:.2f}), a little at “chat” "
        f"({step['alpha'][1]:.2f}).",
        f"Each state is multiplied by its weight: {step['work'][1]}.",
        f"Added, they are the context: {step['work'][2]}.",
        "Context, state and previous word give the next state, which writes “black”.",
    ]
    return film([_once(step, *moment) for moment in enumerate(told)], 428)


def _once(step, moment, caption):
    moves = {0: 2.4, 1: 2.0, 6: 4.2, 7: 4.4, 8: 3.4, 9: 4.2, 11: 2.8, 12: 2.6, 13: 3.2}
    scene = Scene(caption, moves.get(moment, 1.5), key=moment in (0, 3, 6, 7, 9, 11, 13),
                  rest=1.2 if moment in (7, 9) else REST)  # fmt: skip
    words = step["source"]
    scores, shares = step["scores"].tolist(), step["alpha"].tolist()
    opened = {7: REFUSED}.get(moment, TAKEN if 2 <= moment <= 6 else None)
    for i, (x, word) in enumerate(zip(PLACES, words, strict=True)):
        scene.card(f"word {i}", x, KEY_AT, word, "query", 74, i == opened, when=(0, 0.2))
        scene.text(f"h {i}", x, KEY_AT + 36, STATES[i], "query", room=70)
        if moment == 0:
            gap, turn = (330, 43), (0.4, 0.7 + 0.06 * i)
            scene.line(f"ask {i}", [gap, (x, KEY_AT - 19)], "key", opacity=0.6, when=turn,
                       start={"points": [*gap, *gap]})  # fmt: skip
        scored = {TAKEN: 6, REFUSED: 7}.get(i, 8)
        if 1 <= moment < scored:
            scene.card(f"s {i}", x, KEY_AT - 34, "s", "key", 34, True, 26,
                       start=(330, WRITTEN_AT), when=(0.1 * i, 0.1 * i + 0.5))  # fmt: skip
        if moment == scored:  # the score rises, on a card, so that it can be read all the way
            alone = moment < 8
            since, foot = (0.88, (409, 393)) if alone else (0.4 + 0.1 * i, (240, 260))
            scene.card(f"up {i}", x, SCORE_AT - 6, number(scores[i]), "ink", 74, height=28,
                       opacity=0, start=foot, when=(since, since + 0.1))  # fmt: skip
            if not alone:
                scene.card(f"pair {i}", 240, 222, f"s, {STATES[i]}", "query", 64, height=28,
                           opacity=0, start=(x, 162), when=(since - 0.09, since))  # fmt: skip
        if moment >= scored:
            how = {"when": (since + 0.08, since + 0.1)} if moment == scored else {}
            scene.text(f"score {i}", x, SCORE_AT, number(scores[i]), "ink", 19, bold=True, **how)
        if moment >= 9 and i in OWN:
            high = 48 * shares[i]
            scene.rect(f"bar {i}", x - 34, BAR_AT - high, 68, high, "result",
                       start={"y": BAR_AT, "height": 0}, when=(0.85, 1))  # fmt: skip
            scene.text(f"weight {i}", x, BAR_AT - 6 - high, f"{shares[i]:.2f}", "result", bold=True,
                       when=(0.85, 1))  # fmt: skip
    if moment == 8:
        scene.card("network", 240, 260, "v · tanh(W s + U h)", "value", 210, when=(0, 0.2))
    if moment >= 9:
        rest = f"the other four: {sum(shares) - sum(shares[i] for i in OWN):.3f}"
        scene.text("others", PLACES[4], BAR_AT - 6, rest, "muted", room=220, when=(0.85, 1))
    rows = ("score", "ink", 55, 60), ("weight α", "result", 178, 69)
    for name, ink, y, high in rows[: 1 + (moment > 8)]:
        scene.rect(f"{name} row", 3, y, 474, high, "none", "edge")
        scene.text(f"{name} name", 9, y + 19, name, ink, anchor="start")
    scene.text("writes", 6, WRITTEN_AT + 6, "the decoder writes", "key", anchor="start", bold=True,
               room=180)  # fmt: skip
    from_s, last = {"start": (330, WRITTEN_AT)}, moment == 13
    scene.card("so far", 240, WRITTEN_AT, "the", "key", 84, when=(0, 0.4), **from_s)
    gap = ("black", "key", 84, True) if last else ("?", "key", 84)
    scene.card("gap", 432, WRITTEN_AT, *gap, when=(0.8, 1) if moment else (0.1, 0.5), **from_s)
    state = "next s" if last else "state s"
    scene.card("s", 330, WRITTEN_AT, state, "key", 84, True, when=(0.8, 1))
    if opened is not None:
        _opened(scene, step, opened, moment)
    if moment == 9:
        _softmax(scene, words, scores)
    if moment < 2 or moment >= 10:
        _mixed(scene, step, moment)
    if last:
        _next(scene)
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
    (middle, top), times, joined = MIX_AT, moment > 10, moment > 11
    top -= 72 * (moment < 2)  # where weights will be
    for i, (place, share) in enumerate(zip(PLACES, step["alpha"].tolist(), strict=True)):
        if times and i not in OWN:
            continue
        x, how = (middle, {"when": (0.15, 0.6)}) if joined else (place, {})
        colour = "result" if joined else OWN.get(i, "muted") if moment > 9 else "query"
        tint = SHADE * share if moment > 9 and i in OWN else 0.2
        if moment == 11:  # the weight comes down to its column
            scene.card(f"times {i}", place, top - 15, f"· {share:.2f}", OWN[i], 68, height=24,
                       start=(place, BAR_AT - 12 - 48 * share), when=(0.1, 0.4))  # fmt: skip
        for k, value in enumerate(step["parts" if times else "encoder"][i][FOUR].tolist()):
            y = top + 27 * k
            if moment == 11:  # row by row, so that numbers are always there
                how = {"when": (0.4 + 0.12 * k, 0.6 + 0.12 * k)}
            scene.rect(f"column {i} {k}", x - 34, y, 68, 25, colour, tint=tint, round=0, **how)
            if moment < 13:
                near = 21 * (2 * i - 3) if joined else 0  # the numbers meet, and become their sum
                scene.text(f"of {i} {k}", x + near, y + 18, number(value), room=64,
                           opacity=float(not joined), **how)  # fmt: skip
    of = "the context" if joined else "each state, weighted" if times else "each state"
    scene.text("four", 6, top + 132, f"4 of the 128 numbers of {of}", "muted", anchor="start")
    if joined:
        scene.text("context", middle, top - 6, "context c", "result", bold=True, when=(0.5, 0.7))
        for k, value in enumerate(step["context"][FOUR].tolist()):
            scene.text(f"mixed {k}", middle, top + 27 * k + 18, number(value), when=(0.45, 0.58))
    if moment in (11, 12):
        for k, words in enumerate(step["work"][: moment - 9]):
            scene.text(f"work {k}", 264, top + 18 + 27 * k, words, [*OWN.values(), "result"][k],
                       anchor="start", bold=True, room=210, when=(0.5, 0.65))  # fmt: skip


def _next(scene):
    """Draw what gives the next state, and the word that this writes."""
    given = {"when": (0.45, 0.6)}  # what was worked out there has gone
    scene.card("state", 424, 290, "state s", "key", 84, True, **given)
    scene.text("previous name", 322, 266, "previous word", "key", **given)
    scene.card("previous", 322, 290, "the", "key", 72, **given)
    scene.arrow("context on", 204, 356, 277, 356, "result", 4, 13, when=(0.6, 0.7))
    scene.arrow("previous on", 322, 309, 322, 337, "key", 4, 13, when=(0.6, 0.7))
    scene.arrow("state on", 410, 309, 346, 338, "key", 4, 13, when=(0.6, 0.7))
    scene.arrow("word on", 367, 356, 390, 356, "key", 4, 13, when=(0.8, 0.9))
    scene.card("next", 322, 356, "next s", "key", 84, True, when=(0.7, 0.8))
    scene.card("black", 432, 356, "black", "key", 80, when=(0.85, 1))


def _opened(scene, step, i, moment):
    """Draw the score of pair i in numbers: four entries of every vector on the way."""
    left, apart, low = STRIPS, moment == 3, i == REFUSED
    from_query = step["W s"]
    from_key, tanh, products = (step[name][i] for name in ("U h", "tanh", "products"))
    # name, colour, vector, from which moment to which, where, and when it comes
    strips = [("s", "key", step["state"], 2, 3, 116, 0.5),
              ("h₃", "query", step["encoder"][i], 2, 3, 356, 0.5),
              ("W s", "key", from_query, 3, 5, 198 if apart else left[0], 0.5),
              ("U h₃", "query", from_key, 3, 5, 438 if apart else left[1], 0.5),
              ("sum", "muted", from_query + from_key, 4, 5, left[2], 0.6),
              ("tanh", "result", tanh, 5, 6, left[3], 0.5),
              ("v", "value", step["v"], 6, 7, left[3 if low else 1], 0),
              ("v · tanh", "ink", products, 6, 6, left[2], 0.3),
              (" W s", "key", from_query, 7, 7, left[0], 0.1),
              ("U h₅", "query", from_key, 7, 7, left[1], 0.25),
              (" tanh", "result", tanh, 7, 7, left[2], 0.4),
              (" v · tanh", "ink", products, 7, 7, left[4], 0.55)]  # fmt: skip
    signs = {3: "==", 4: "+=", 5: "+=→", 6: " →←", 7: "+→·="}.get(moment, "")
    for x, sign in zip((157, 397) if apart else (87, 188, 289, 390), signs, strict=False):
        scene.text(f"sign {moment} {x}", x, 274, sign, "ink", 20, bold=True, when=(0.6, 0.7))
    for x, matrix in ((42, "W"), (282, "U")) if apart else ():  # as wide as it is high
        scene.rect(matrix, x - 36, 234, 72, 72, "value", "value", 0.12, when=(0, 0.4))
        scene.text(f"{matrix} name", x, 278, matrix, "value", 24, bold=True, when=(0, 0.4))
    for name, colour, values, first, last, x, since in strips:
        if not first <= moment <= last:
            continue
        moved = {"when": (0.2, 0.5) if moment > first else (since, since + 0.3)}
        scene.text(f"{name} name", x, 212, name.strip(), colour, bold=True, room=76, **moved)
        # The column of noir is the one that stood below its word.
        box, entry = ("column 2", "of 2") if name == "h₃" else (f"{name} box", f"{name} entry")
        for k, value in enumerate(values[FOUR].tolist()):
            y, how = 218 + 26 * k, moved
            if moment == first and name != "h₃":  # row by row
                how = {"when": (since + 0.08 * k, since + 0.08 * k + 0.1)}
            scene.rect(f"{box} {k}", x - 31, y, 62, 26, colour, colour, 0.12, **how)
            scene.text(f"{entry} {k}", x, y + 19, number(value), "ink", room=56, **how)
    if moment < 6:
        more = "; W, U: 128 × 128" * apart
        scene.text("four", 6, 352, f"4 of 128 numbers of each vector{more}", "muted",
                   anchor="start")  # fmt: skip
        return
    for k, one in enumerate(FOUR):  # a product's factors meet, and then it falls into the sum
        y, flies = 231 + 26 * k, {"height": 26, "opacity": 0}
        for name, from_x, x in () if low else (("v", left[1], 208), ("tanh", left[3], 270)):
            scene.card(f"{name} flies {k}", x, y, scene.shapes[f"{name} entry {k}"]["text"],
                       "value" if name == "v" else "result", 62, start=(from_x, y),
                       when=(0.18 + 0.08 * k, 0.34 + 0.08 * k), **flies)  # fmt: skip
        turn = 0.76 - 0.03 * k
        scene.card(f"falls {k}", 70 + 75 * k, 360, number(products[one].item()), "ink", 62,
                   start=(left[4 if low else 2], y), when=(turn - 0.12, turn), **flies)  # fmt: skip
    four, score = products[FOUR].sum().item(), step["scores"][i].item()
    terms = " + ".join(map(number, products[FOUR].tolist())).replace("+ −", "− ")
    rest = number(round(score, 2) - round(four, 2))
    sums = f"{number(four)} (these 4) + {rest} (the other {len(products) - 4}) ="
    scene.text(f"terms {i}", 369, 366, f"{terms} = {number(four)}", anchor="end", when=(0.76, 0.82))
    scene.text(f"sums {i}", 369, 399, sums, "muted", anchor="end", when=(0.8, 0.86))
    scene.text(f"gives {i}", 409, 399, number(score), "ink", 20, bold=True, when=(0.84, 0.88))


PICTURES = [hidden_state_travelling, decoder_looking_back, bahdanau_step]
