"""The films of lessons 01 and 02: a state that travels, a gaze that moves, one step in numbers."""

import torch

from helpers.pretrained import toy_models
from helpers.text.tokenization import SPECIALS
from helpers.widgets.bahdanau_stepper import BahdanauStepper
from helpers.widgets.svg import number
from images.stage import STAGE, Scene, film

FRENCH = "le chat noir dort ."
SEARCH = "un médecin cherche la lettre ."  # no adjective: lesson 02 asks later where a noun looks
STATES = [f"h{i}" for i in "₁₂₃₄₅₆₇"]
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
READ_AT, JAR_AT, COPY_AT, STATE_AT, WRITE_AT = 48, 100, 262, 334, 386  # the heights of the rows
WIDE, HIGH = 70, 152  # a state as a jar of layers
ASIDE = 404, 272  # where the first reader's jar waits for the second one
PAIR = (262, JAR_AT), (174, JAR_AT)  # both readers' jars in the end
COLOURS = ("query", "key", "value", "result", "second", "muted")


def hidden_state_travelling():
    """A film: the words le chat noir dort enter a recurrent encoder one after the other. Its hidden
    state is a jar, with a layer per word. It never grows, so the layers below shrink: that of le
    from all of it to 40, 23, 14, 11 and 9 percent. Marks show an even share, of six words 17
    percent. A second reader goes backwards from eos: of its last state, le is 17 percent. Both last
    states are the context vector. The decoder's next state comes from its last one, the word
    written before and a copy of the context. It writes the black cat sleeps.

    A layer's height is its word's share of all that a state depends on: how far the state
    moves, on average, when the word is exchanged for each other word of the vocabulary.
    """
    read, written, _ = _trained(FRENCH)
    return film(list(_travelling(read, written, _shares(), _shares(slice(64, None)))), 432)


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


def _travelling(read, written, *readers):
    first = [f"{row[0]:.0%}" for row in readers[0]]
    last = f"{readers[1][0][0]:.0%}"
    told = [
        "A hidden state of fixed size. What does it keep of a sentence?",
        "“le” goes in. So far the state depends on this word alone.",
        f"“chat” goes in. “le” now makes up {first[1]} of what the state depends on; an even share "
        "would be 50%.",
        f"“noir” goes in. “le” is down to {first[2]}; the marks show an even share, 33%.",
        "“dort” goes in, and takes the most room.",
        "The full stop takes its part.",
        f"<eos> ends it. “le” now makes up {first[5]} of what this state depends on; an even share "
        "would be 17%.",
        "This reader has finished. Its last state is kept.",
        f"A second reader goes from <eos> back. It reads “le” last: {last} of its last state. Of "
        f"“{read[readers[1][0].index(min(readers[1][0]))]}” it has kept the least.",
        "The two last states together are the context vector.",
        f"The decoder starts a state, s₁, from a copy of both, and writes “{written[0]}”.",
        f"State, copy and “{written[0]}” make the next state, which writes “{written[1]}”.",
        "So it goes on until <eos>. Of any sentence, however long, the decoder gets only two jars.",
    ]
    for moment, caption in enumerate(told):
        scene = Scene(caption, {8: 5.6, 12: 3.2}.get(moment, 1.9), moment in (2, 6, 9, 11, 12))
        _encoder(scene, read, readers, moment, max(moment - 8, 0))
        if moment > 9:
            _translation(scene, written, (readers[0][-1], readers[1][0]), moment - 8)
        yield scene


def _encoder(scene, read, readers, moment, passed):
    """Draw the sentence and its readers: the first goes word by word, then the second at once."""
    seen, aside, back, y = min(moment, 6), moment > 6, moment > 7, JAR_AT
    way = "" if passed else ", backwards" if back else ", forwards"
    scene.text("encoder", 6, 20, "the encoder reads" + way, "muted", anchor="start", bold=True)
    for i, (x, word) in enumerate(zip(PLACES, read, strict=True)):
        if i >= seen:
            scene.rect(f"layer {i}", x - 37, READ_AT - 17, 74, 34, COLOURS[i], COLOURS[i], 0.1)
        elif i < seen - 1 and not aside:
            _layers(scene, f"layer was {i}", readers[0][i], x - WIDE / 2, y, WIDE, HIGH, True,
                    opacity=0.22)  # fmt: skip
        scene.text(f"word {i}", x, READ_AT + 6, word, COLOURS[i] if i < seen else "ink", bold=True,
                   opacity=0.55 if i < seen else 1)  # fmt: skip
    x = PLACES[max(seen - 1, 0)]
    first = PAIR[0] if passed else ASIDE if aside else (x - WIDE / 2, y)
    now = readers[0][seen - 1] if seen else []
    _jar(scene, "layer", read, now, first, None if aside else seen - 1)
    if not seen:
        scene.text("state", PLACES[0] - 38, 276, "hidden state", "muted", anchor="start")
    elif passed < 2:
        at = (408, y + HIGH - 11) if passed else (320, 392) if aside else (max(x, 50), 278)
        _share(scene, "share", *at, now[0], seen, when=(0, 0.75) if aside else (0.2, 1))
    if passed:
        scene.text("context", 253, y - 14, "context vector", "ink", bold=True)
        _jar(scene, "back", read, readers[1][0], PAIR[1])
    elif back:
        _jar(scene, "back", read, readers[1][0], (9, y), when=(0.8, 1))
    if back and passed < 2:
        at = (94, y + 20) if passed else (50, 278)
        _share(scene, "back share", *at, readers[1][0][0], 6, when=(0.8, 1))
    if passed == 1:
        for x, words in ((297, "forward"), (209, "backward")):
            scene.text(words, x, 278, words, "muted", room=80)
    elif not aside:
        scene.text("layers", 6, 376, "the thicker a layer, the more", "muted", anchor="start")
        scene.text("layers too", 6, 402, "the state depends on its word", "muted", anchor="start")
    for i in range(5, 0, -1) if back and not passed else ():  # the second reader's way, at one go
        turn = 0.3 + 0.11 * (5 - i), 0.3 + 0.11 * (6 - i)
        scene.text(f"falls {i}", PLACES[i], y + 30, read[i], COLOURS[i], bold=True, opacity=0,
                   start={"y": READ_AT + 6, "opacity": 1}, when=turn)  # fmt: skip
        before = PLACES[min(i + 1, 5)] - WIDE / 2, y, WIDE, HIGH
        _layers(scene, f"back was {i}", readers[1][i], PLACES[i] - WIDE / 2, y, WIDE, HIGH, False,
                before, opacity=0.22, when=turn)  # fmt: skip


def _share(scene, name, x, y, share, count, **how):
    """Write how much of a state the first of its words is, and what an even share would be."""
    scene.text(name, x, y, f"le {share:.0%}", COLOURS[0], 20, bold=True, **how)
    if count > 1:
        words, x = f"even share {1 / count:.0%}", min(max(x, 73), STAGE - 73)
        scene.text(f"{name} evenly", x, y + 24, words, "muted", room=140, **how)


def _jar(scene, name, read, state, at, new=None, when=(0, 0.75)):
    """Draw the state of a reader, which may have read a `new` word, and an even share."""
    (x, y), layers = at, _stacked(state, HIGH, name == "layer")
    for i, top, thick in layers:
        scene.rect(f"{name} {i}", x, y + top, WIDE, thick, COLOURS[i], COLOURS[i], round=1, line=0,
                   when=(0.4, 1) if i == new else when)  # fmt: skip
        how = {"when": when}
        if i == new:  # its card has been there, from which it comes
            how = {"when": (0.4, 1), "start": {"x": PLACES[i], "y": READ_AT + 6, "fill": "ink"}}
        if thick > 13:
            scene.text(f"{name} word {i}", x + WIDE / 2, y + top + thick / 2 + 6, read[i], "paper",
                       bold=True, room=WIDE - 4, **how)  # fmt: skip
    scene.rect(f"{name} jar", x - 3, y - 3, WIDE + 6, HIGH + 6, "none", "ink", when=when)
    even = HIGH / max(len(layers), 1)
    level = y + even if name == "back" else y + HIGH - even
    for k in (-13, 73):  # beside the jar, where no word is
        if even < HIGH:
            scene.line(f"{name} even {k}", [(x + k, level), (x + k + 10, level)], "ink", 3,
                       when=when)  # fmt: skip


def _translation(scene, written, contexts, passed):
    """Draw the decoder: at each step a copy of the context, its state, and the word it writes."""
    before, done = [0, 1, 2, 6][passed - 2 : passed]
    scene.text("decoder", 6, 424, "the decoder writes", "muted", anchor="start", bold=True)
    for i, (x, word) in enumerate(zip(PLACES[:done], written, strict=False)):
        part = 1 / (done - before)
        turn = max(i - before, 0) * part
        copied, made = turn + 0.45 * part, turn + 0.7 * part
        fly = {"when": (turn, copied)}
        for n, (state, box) in enumerate(zip(contexts, PAIR, strict=True)):
            at = x + 2 - 38 * n, COPY_AT, 34, 38
            _layers(scene, f"copy {n} {i}", state, *at, not n, (*box, WIDE, HIGH), **fly)
        if i:
            scene.arrow(f"on {i}", x - 58, STATE_AT, x - 22, STATE_AT, "ink", 2, 9, **fly)
            scene.arrow(f"word in {i}", x - 50, WRITE_AT - 18, x - 20, STATE_AT + 12, "ink", 2, 9,
                        **fly)  # fmt: skip
        scene.arrow(f"in {i}", x, COPY_AT + 40, x, STATE_AT - 14, "ink", 2, 9, **fly)
        scene.card(f"state {i}", x, STATE_AT, f"s{'₁₂₃₄₅₆'[i]}", "ink", 40, height=26,
                   start=(x, STATE_AT - 20), when=(copied, made))  # fmt: skip
        scene.arrow(f"writes {i}", x, STATE_AT + 14, x, WRITE_AT - 19, "ink", 2, 9,
                    when=(made, turn + part))  # fmt: skip
        scene.card(f"written {i}", x, WRITE_AT, word, "ink", 74, full=i == done - 1,
                   start=(x, STATE_AT), when=(made, turn + part))  # fmt: skip


def _stacked(shares, high, forward):
    """Return number, top and height of each layer, the word that was read first at the bottom."""
    tops = [high * sum(shares[i + 1 :] if forward else shares[:i]) for i in range(len(shares))]
    layers = zip(range(len(shares)), tops, shares, strict=True)
    return [(i, top, high * share) for i, top, share in layers if share > 1e-4]


def _layers(scene, name, shares, x, y, wide, high, forward, start=None, **how):
    """Draw a state; it may come from another box (x, y, width, height)."""
    for i, top, thick in _stacked(shares, high, forward):
        if start:
            rise = start[3] / high
            how["start"] = {"x": start[0], "y": start[1] + rise * top, "width": start[2],
                            "height": rise * thick}  # fmt: skip
        scene.rect(f"{name} {i}", x, y + top, wide, thick, COLOURS[i], round=1, **how)


# ---- lesson 02: the decoder looks back -----------------------------------------------------------


def decoder_looking_back():
    """A film: the encoder's seven states, of un médecin cherche la lettre, the full stop and eos,
    stand in a column. Before each word it writes, lines go from the decoder to states, as thick as
    the weights written on them, and a piece of each state comes back. A, doctor and looks each come
    mostly from the next French word. For takes 0.57 of cherche and 0.42 of la, the takes 0.71 of la
    and 0.26 of cherche. Letter comes from lettre, the full stop and eos both from the full stop. At
    the end each line becomes a cell of a map, as dark as its weight: a diagonal with a kink at for.
    """
    read, written, weights = _trained(SEARCH)

    def of(i, j):
        return f"{weights[i][j]:.2f} of {STATES[j]}"

    told = [
        "The encoder has read seven tokens and kept a state of each, h₁ to h₇.",
        f"Before it writes “a”, the decoder takes {of(0, 0)} and {of(0, 1)}.",
        f"For “doctor” it takes {of(1, 1)}, médecin …",
        f"… and for “looks” {of(2, 2)}, cherche.",
        f"“for” has no French word of its own. The decoder takes {of(3, 2)} and {of(3, 3)}.",
        f"For “the” the decoder takes {of(4, 3)}, la, and again some of h₃.",
        f"For “letter” it takes {of(5, 4)}, lettre …",
        f"… for the full stop {of(6, 5)}, the full stop …",
        "… and even for <eos> mostly h₆.",
        "A row per English word, a column per French one. Rounded weights can sum to 1.01.",
    ]
    scenes = [Scene(caption, 1.6, key=i not in (3, 6, 7)) for i, caption in enumerate(told)]
    for i, scene in enumerate(scenes[:-1]):
        _gaze(scene, read, written, weights, i - 1)
    _as_map(scenes[-1], read, written, weights)
    return film(scenes, 376)


def _gaze(scene, read, written, weights, now):
    """Draw the states, the decoder and the words up to the one that it writes now."""
    scene.text("French", 16, 18, "read", "query", anchor="start", bold=True)
    scene.text("English", 422, 18, "written", "key", bold=True)
    places = [48 + 43 * i for i in range(len(written))]  # French is one word shorter
    for i in range(now + 1):
        _look(scene, i, places, weights[i], i == now)
        scene.card(f"written {i}", 422, places[i], written[i], "key", 104, start=(300, places[i]),
                   when=(0.85, 1))  # fmt: skip
    here = places[max(now, 0)]
    scene.card("decoder", 300, here, "decoder", "key", 84, True, bold=False, when=(0, 0.2))
    for j, (y, word) in enumerate(zip(places, read, strict=False)):
        scene.rect(f"box {j}", 6, y - 17, 128, 34, "none", "query")
        scene.text(f"read {j}", 16, y + 6, word, "ink", anchor="start", bold=True, turn=0, room=80)
        scene.text(f"state {j}", 130, y + 6, STATES[j], "query", anchor="end")


def _as_map(scene, read, written, weights):
    """Draw the same words as columns and rows, and the lines as cells, their weights in them."""
    scene.text("French", 6, 18, "read", "query", anchor="start", bold=True)
    scene.text("English", 422, 76, "written", "key", bold=True)
    for i, (word, row) in enumerate(zip(written, weights, strict=True)):
        y = 103 + 35 * i
        for j, weight in enumerate(row):
            x = 32 + 51 * j
            scene.rect(f"edge {i} {j}", x - 24, y - 16, 48, 32, "none", "edge", line=1, round=0,
                       when=(0.6, 1))  # fmt: skip
            scene.line(f"gaze {i} {j}", [(x - 24, y), (x + 24, y)], "result", 32,
                       opacity=round(weight, 2))  # fmt: skip
            if weight >= 0.005:
                scene.text(f"cell {i} {j}", x, y + 6, f"{weight:.2f}",
                           "paper" if weight > 0.75 else "ink", room=46, when=(0.7, 1))  # fmt: skip
        scene.card(f"written {i}", 422, y, word, "key", 104, height=32)
    for j, word in enumerate(read):  # aslant, as words are wider than columns
        scene.text(f"read {j}", 36 + 51 * j, 82, word, "ink", anchor="start", bold=True, turn=-50,
                   room=200)  # fmt: skip


def _look(scene, i, places, weights, now):
    """Draw the decoder's lines before English word i; now they grow, and then pieces come back."""
    y = places[i]
    for j, weight in enumerate(weights):
        if weight <= SEEN:
            continue
        line = [(257 if now else 369, y), (135, places[j])]
        scene.line(f"gaze {i} {j}", line, "result", round(12 * weight, 1),
                   opacity=1 if now else 0.2, start={"points": [257, y] * 2},
                   when=(0.2, 0.45) if now else (0, 0.3))  # fmt: skip
        if not now:
            continue
        at = places[j] + (22 if y < places[j] else -10)  # at its state, beside the line
        scene.text(f"weight {i} {j}", 160, at, f"{weight:.2f}", "result", bold=True,
                   when=(0.5, 0.6))  # fmt: skip
        come = {"x": 104, "y": places[j] - 15 * weight, "width": 30, "opacity": 1}
        scene.rect(f"piece {i} {j}", 260, y - 15 * weight, 80, 30 * weight, "result", line=0,
                   tint=0.35, round=1, start=come, opacity=0, when=(0.55, 0.9))  # fmt: skip
    if now:
        scene.arrow(f"writes {i}", 344, y, 367, y, "key", 4, 12, when=(0.8, 0.9))


# ---- lesson 02: one step of attention, in numbers ------------------------------------------------

WRITTEN_AT, BAR_AT, SCORE_AT, KEY_AT = 24, 116, 138, 204  # heights; a bar's foot
FOUR = slice(85, 89)  # entries with which a reader can recompute all that is shown, to the digit


def bahdanau_step():
    """A film of one decoding step: a trained model has written the, and is about to write black.
    Its state s goes to each of the encoder's six states, and each pair gets a score by v times tanh
    of W s plus U h. For noir this is shown in numbers, four of each vector's 128: these four give
    0.85, with the others 12.08. A softmax turns the scores into weights, 0.15 for chat and 0.85 for
    noir. The states flow into the context, each times its weight. The context, the state and the
    previous word give the next state, which writes black.
    """
    toy = toy_models.load_toy("additive")
    step = BahdanauStepper(toy.model, toy.source, toy.target, FRENCH, output_step=2).numbers
    layer, pair = toy.model.decoder.attention, (step["state"], step["encoder"][2])
    with torch.inference_mode():
        pair += layer.query_proj(pair[0]), layer.key_proj(pair[1]), layer.energy.weight[0]
    told = [
        "“the” is written. What comes next?",
        "The decoder's state s goes to every encoder state: six pairs.",
        "Take noir. s and h₃ are 128 numbers each, of which you see four.",
        "Two learned matrices, W and U, turn them into vectors that can be added.",
        "They are added, entry by entry.",
        "tanh squashes every entry of the sum into −1 to 1.",
        "The dot product with the learned v makes one number of it: the score.",
        "It's one small network, with the same W, U and v for every pair.",
        "The other five pairs go through it too, and each gets its score.",
        "A softmax turns the scores into weights that sum to 1.",
        "Each state flows into the context, times its weight. The other four weigh under 0.005.",
        "Context, state and previous word give the next state. It writes “black”.",
    ]
    return film([_once(step, pair, *moment) for moment in enumerate(told)], 428)


def _once(step, pair, moment, caption):
    scene = Scene(caption, {1: 2.0, 8: 3.8}.get(moment, 1.5), key=moment in (1, 3, 6, 9, 10, 11))
    words, small = step["source"], "₁₂₃₄₅₆"
    energies, shares = step["energies"].tolist(), step["alpha"].tolist()
    for i, (x, word) in enumerate(zip(PLACES, words, strict=True)):
        noir = i == 2 and 2 <= moment <= 6
        scene.card(f"word {i}", x, KEY_AT, word, "query", 74, full=noir)
        scene.text(f"h {i}", x, KEY_AT + 36, f"h{small[i]}", "query")
        if 1 <= moment <= 7:
            scene.card(f"s {i}", x, KEY_AT - 34, "s", "key", 34, True, 26,
                       start=(432, WRITTEN_AT), when=(0.1 * i, 0.1 * i + 0.5))  # fmt: skip
        if moment >= 8 or (moment >= 6 and i == 2):
            turn = 0.1 + 0.18 * (i - (i > 2))  # one after the other, all through the same network
            come = {"start": {"x": 240, "y": 338}, "when": (turn + 0.08, turn + 0.18)}
            if moment == 6:
                come = {"start": {"x": 414, "y": 422}, "when": (0.7, 1)}
            elif moment == 8 and i != 2:
                scene.card(f"pair {i}", 240, 330, f"s, h{small[i]}", "query", 64, height=28,
                           opacity=0, start=(x, KEY_AT + 30), when=(turn, turn + 0.08))  # fmt: skip
            scene.text(f"score {i}", x, SCORE_AT, number(energies[i]), "ink", 19, bold=True, **come)
        if moment >= 9:
            high = 48 * shares[i]
            scene.rect(f"bar {i}", x - 34, BAR_AT - high, 68, high, "result",
                       start={"y": BAR_AT, "height": 0})  # fmt: skip
            scene.text(f"weight {i}", x, BAR_AT - 6 - high, f"{shares[i]:.2f}", "result", bold=True)
        if moment >= 10 and shares[i] > 0.005:
            at = 220 if i == 2 else 104
            scene.arrow(f"into {i}", x, KEY_AT + 42, at, 306, "result", max(2, 14 * shares[i]), 15)
            scene.card(f"flow {i}", at, 326, f"{shares[i]:.2f} h{small[i]}", "query", 92,
                       start=(at, KEY_AT + 62), when=(0, 0.9))  # fmt: skip
    if moment in (7, 8):
        scene.card("network", 240, 332, "v · tanh(W s + U h)", "value", 210, height=44)
    if moment >= 8:
        scene.text("scores", 6, SCORE_AT + 28, "score e", "ink", anchor="start",
                   when=(0.6, 1))  # fmt: skip
    if moment >= 9:
        scene.text("weights", 6, BAR_AT - 34, "weight α", "result", anchor="start")
    scene.text("writes", 6, WRITTEN_AT + 6, "the decoder writes", "key", anchor="start", bold=True,
               room=180)  # fmt: skip
    scene.card("so far", 240, WRITTEN_AT, "the", "key", 84)
    gap = ("black", "key", 84, True) if moment == 11 else ("?", "key", 84)
    scene.card("gap", 330, WRITTEN_AT, *gap, when=(0.8, 1))
    scene.card("s", 432, WRITTEN_AT, "state s", "key", 84, True)
    if 2 <= moment <= 6:
        _opened(scene, *pair, moment)
    if moment >= 10:
        scene.text("plus", 162, 332, "+", "ink", 20, bold=True, when=(0.7, 0.9))
        scene.arrow("sum", 162, 342, 162, 373, "result", 4, 13, when=(0.8, 0.9))
        scene.card("context", 162, 392, "context c", "result", 130, True, when=(0.85, 1))
    if moment >= 11:
        _next(scene)
    return scene


def _next(scene):
    """Draw what gives the next state, and the word that this writes."""
    scene.card("state", 424, 326, "state s", "key", 84, True, when=(0, 0.35))
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


def _opened(scene, state, noir, from_query, from_key, v, moment):
    """Draw the score of one pair in numbers: four entries of every vector on the way."""
    total, apart = from_query + from_key, moment == 3
    # name, colour, vector, from which moment to which, where, and what its numbers come out of
    strips = [("s", "key", state, 2, 3, 38, (PLACES[2], KEY_AT - 34)),
              ("h₃", "query", noir, 2, 3, 284, (PLACES[2], KEY_AT)),
              ("W s", "key", from_query, 3, 6, 190 if apart else 38, (142,)),
              ("U h₃", "query", from_key, 3, 6, 436 if apart else 132, (388,)),
              ("sum", "muted", total, 4, 6, 226, (179,)),
              ("tanh", "result", total.tanh(), 5, 6, 320, (273,)),
              ("v", "value", v, 6, 6, 414, (414,))]  # fmt: skip
    for x, sign, first in ((85, "+", 4), (179, "=", 4), (273, "→", 5), (367, "·", 6)):
        if moment >= first:
            scene.text(f"sign {x}", x, 346, sign, "ink", 20, bold=True, when=(0.3, 0.6))
    for x, matrix in ((114, "W"), (360, "U")) if apart else ():
        scene.rect(matrix, x - 28, 290, 56, 104, "value", "value", 0.12, when=(0, 0.4))
        scene.text(f"{matrix} name", x, 350, matrix, "value", 24, bold=True, when=(0, 0.4))
    for name, colour, values, first, last, x, source in strips:
        if not first <= moment <= last:
            continue
        how = {"when": (0.5, 1) if moment == first and 2 < first < 6 else (0, 0.5)}
        scene.text(f"{name} name", x, 284, name, colour, bold=True, **how)
        for i, value in enumerate(values[FOUR].tolist()):
            y, come = 290 + 26 * i, dict(zip("xy", source, strict=False))
            scene.rect(f"{name} box {i}", x - 34, y, 68, 26, colour, colour, 0.12, **how)
            scene.text(f"{name} entry {i}", x, y + 19, number(value), "ink", room=64, start=come,
                       **how)  # fmt: skip
    if moment < 6:
        scene.text("four", 6, 420, "4 of the 128 numbers of each vector", "muted", anchor="start")
    else:
        four, score = (total.tanh() * v)[FOUR].sum().item(), (total.tanh() * v).sum().item()
        rest = number(round(score, 2) - round(four, 2))
        sums = f"these 4: {number(four)}  +  {len(v) - 4} more: {rest}  ="
        scene.text("sums", 380, 422, sums, "muted", anchor="end", when=(0.3, 0.5))
        scene.text("score", 414, 422, number(score), "ink", 20, bold=True,
                   when=(0.5, 0.7))  # fmt: skip


PICTURES = [hidden_state_travelling, decoder_looking_back, bahdanau_step]
