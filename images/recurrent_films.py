"""The films of lessons 01 and 02: a state that travels, a gaze that moves, one step in numbers."""

import torch

from helpers.pretrained import toy_models
from helpers.widgets.bahdanau_stepper import BahdanauStepper
from helpers.widgets.svg import number
from images.stage import Scene, film

FRENCH = "le chat noir dort ."
SEARCH = "un médecin cherche la lettre ."  # no adjective: lesson 02 asks later where a noun looks


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

READ_AT, STATE_AT, WRITE_AT = 46, 130, 266  # the heights of the three rows
STEP = 79  # from one word to the next


def hidden_state_travelling():
    """A film: the words le chat noir dort enter a recurrent encoder one after the other. One hidden
    state, four of its numbers shown as cells, travels along and changes at every word. The last
    state is the context vector. The decoder writes the black cat sleeps word by word; at each step
    it gets the context vector and the word just written.
    """
    read, written, _ = _trained(FRENCH)
    toy = toy_models.load_toy("gru")
    source = torch.tensor([toy.source.encode(FRENCH, eos=True)])
    with torch.inference_mode():
        states = toy.model.encode(source)[0][0, :, :4].tolist()  # four of a state's numbers
    return film(list(_travelling(read, written, states)), 318)


def _travelling(read, written, states):
    said = ["le goes in. Four numbers of the state change.", "chat goes in: new word, old notes."]
    said += ["noir goes in.", "dort goes in.", "The full stop.", "<eos>: the sentence is over."]
    yield _chain(
        read, written, states, 0, 0, "The encoder reads one word at a time and keeps notes."
    )
    for step in range(1, len(read) + 1):
        yield _chain(read, written, states, step, 0, said[step - 1], key=step in (2, len(read)))
    yield _chain(read, written, states, len(read), 1,
                 "Its last state is all that the decoder gets: the context vector.")  # fmt: skip
    for step, word in enumerate(written):
        told = f"The context and “{written[step - 1]}” give “{word}”."
        told = f"The decoder starts from it, and writes “{word}”." if not step else told
        told = "<eos> says that it's done." if word == "<eos>" else told
        yield _chain(read, written, states, len(read), step + 2, told, key=step in (1, 5))


def _chain(read, written, states, seen, passed, caption, key=True):
    scene = Scene(caption, 1.2, key)
    places = [44 + STEP * i for i in range(6)]
    scene.text("encoder", 6, 16, "the encoder reads", "query", anchor="start", bold=True)
    scene.text("decoder", 6, 311, "the decoder writes", "key", anchor="start", bold=True)
    for i, (x, word) in enumerate(zip(places, read, strict=True)):
        now = i == seen - 1 and not passed
        scene.card(f"read {i}", x, READ_AT + (28 if now else 0), word, "query", 74, full=now,
                   opacity=1 if i >= seen - 1 and not passed else 0.4)  # fmt: skip
        scene.rect(f"cell {i}", x - 36, STATE_AT - 28, 72, 56, "edge", tint=0.25)
    at = places[max(seen - 1, 0)] if not passed else 241
    high = STATE_AT if not passed else 190
    _cells(scene, "state", at, high, states[max(seen - 1, 0)] if seen else [0] * 4)
    if passed:
        scene.text("context", 330, high + 6, "context vector", "result", anchor="start", bold=True)
    for i in range(min(passed - 1, len(written))):
        x, now = places[i], i == passed - 2
        scene.card(f"written {i}", x, WRITE_AT, written[i], "key", 74, full=now,
                   start=(x, WRITE_AT - 30), when=(0.5, 1))  # fmt: skip
        if now:
            _cells(scene, f"copy {i}", x, WRITE_AT - 36, states[-1], 9, (241, 190))
            if i:
                scene.card(f"again {i}", x - STEP * 0.5, WRITE_AT - 22, written[i - 1], "key",
                           60, False, 26, opacity=0, start=(x - STEP, WRITE_AT))  # fmt: skip
    return scene


def _cells(scene, name, x, y, values, size=17, start=None):
    """Draw a vector as four cells, filled by how far each number lies from 0."""
    for i, value in enumerate(values):
        left = x + (i - 2) * size
        come = {"start": {"x": start[0] + (i - 2) * 17, "y": start[1]}} if start else {}
        scene.rect(f"{name} {i}", left, y - size / 2, size, size, "result", "result",
                   min(1.0, abs(value)), **come)  # fmt: skip


# ---- lesson 02: the decoder looks back -----------------------------------------------------------


def decoder_looking_back():
    """A film: a doctor looks for the letter is written word by word, beside the French un médecin
    cherche la lettre. Lines go from the word being written to the French words, as thick as their
    weights, and swing to other words at the next step. Doctor, looks and letter give 0.99 to
    médecin, cherche and lettre. For shares its weight between cherche and la. At the end all lines
    are shown.
    """
    read, written, weights = _trained(SEARCH)
    scenes = [
        _gaze(
            read,
            written,
            weights,
            -1,
            "Seven French words are read. What does each English one need?",
        )
    ]
    for step, word in enumerate(written):
        order = sorted(range(len(read)), key=lambda j: -weights[step][j])
        first, second = order[:2]
        told = f"“{word}” gives {weights[step][first]:.2f} of its weight to “{read[first]}”"
        if weights[step][first] < 0.8:
            told += f", {weights[step][second]:.2f} to “{read[second]}”"
        scenes.append(_gaze(read, written, weights, step, f"{told}.", key=step in (1, 3, 5)))
    scenes.append(
        _gaze(
            read,
            written,
            weights,
            len(written),
            "All weights at once: an alignment that nobody drew.",
        )
    )
    return film(scenes, 356)


def _gaze(read, written, weights, step, caption, key=True):
    scene, high = Scene(caption, 1.3, key), 40
    scene.text("French", 66, 18, "read", "query", bold=True)
    scene.text("English", 414, 18, "written", "key", bold=True)
    left = [62 + 44 * i for i in range(len(read))]
    right = [46 + high * i for i in range(len(written))]
    finished = step == len(written)
    for i in range(len(written)):
        if finished:
            _lines(scene, f"all {i}", weights[i], left, right[i])
    if 0 <= step < len(written):
        _lines(scene, "gaze", weights[step], left, right[step], numbers=True)
    for j, (y, word) in enumerate(zip(left, read, strict=True)):
        scene.card(f"read {j}", 66, y, word, "query", 104)
    for i, (y, word) in enumerate(zip(right, written, strict=True)):
        if i <= step:
            scene.card(
                f"written {i}", 414, y, word, "key", 104, full=i == step, start=(414, y + 30)
            )
    return scene


def _lines(scene, name, weights, places, y, numbers=False):
    for j, (place, weight) in enumerate(zip(places, weights, strict=True)):
        width = 12 * weight if weight > 0.02 else 0
        scene.line(f"{name} {j}", [(361, y), (120, place)], "result", round(width, 1))
        if numbers and weight > 0.02:
            scene.text(f"weight {j}", 143, place - 12, f"{weight:.2f}", "result", bold=True)


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
        "The decoder has written “the”. Which French state does it need for the next word?",
        "Its state s goes to every encoder state: six pairs.",
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
                       start=(40, BENCH + 20), when=(0.1 * i, 0.1 * i + 0.5))  # fmt: skip
        if moment >= 5 or (moment == 4 and i == 2):
            start = (
                {"x": 444, "y": 370, "opacity": 1} if i == 2 else {"y": KEY_AT - 28, "opacity": 0}
            )
            scene.text(
                f"score {i}", x, SCORE_AT, number(energies[i], 1), "ink", 19, bold=True, start=start
            )
        if moment >= 6:
            high = 72 * shares[i]
            scene.rect(
                f"bar {i}", x - 34, 94 - high, 68, high, "result", start={"y": 94, "height": 0}
            )
            scene.text(f"weight {i}", x, 86 - high, f"{shares[i]:.2f}", "result", bold=True)
        if moment >= 7 and shares[i] > 0.005:
            at = 270 if i == 2 else 150
            scene.arrow(f"into {i}", x, KEY_AT + 42, at, 306, "result", max(2, 14 * shares[i]), 15)
            if moment == 7:
                scene.card(f"flow {i}", at, 326, f"{shares[i]:.2f} h{small[i]}", "query", 92,
                           start=(x, KEY_AT), when=(0, 0.9))  # fmt: skip
    if moment >= 6:
        scene.text("softmax", 6, 16, "weights", "result", anchor="start")
    if moment < 7:
        scene.card("s", 40, BENCH + 20, "s", "key", 60, True)
        scene.text("state", 78, BENCH + 26, "the decoder's state", "key", anchor="start")
    if 2 <= moment <= 4:
        _opened(scene, *pair, moment - 1)
    if moment >= 7:
        scene.card("context", 210, 392, "context c", "result", 150, True, start=(210, 350))
    if moment >= 8:
        scene.card("s", 66, 392, "state s", "key", 100)
        scene.card("previous", 66, 350, "the", "key", 100, start=(66, 300))
        scene.arrow("on", 296, 392, 372, 392, "result", 4, 13)
        scene.card("next", 424, 392, "black", "key", 96, True, start=(330, 392), when=(0.6, 1))
    return scene


def _opened(scene, from_query, from_key, v, stage):
    """Draw the score of one pair in numbers: four entries of every vector on the way."""
    total = from_query + from_key
    strips = [("W s", "key", from_query, 1, 34), ("U h₃", "query", from_key, 1, 116),
              ("sum", "muted", total, 1, 198), ("tanh", "result", total.tanh(), 2, 280),
              ("v", "value", v, 3, 362)]  # fmt: skip
    for x, sign, first in (
        (75, "+", 1),
        (157, "=", 1),
        (239, "→", 2),
        (321, "·", 3),
        (402, "=", 3),
    ):
        if stage >= first:
            scene.text(f"sign {x}", x, 370, sign, "ink", 20, bold=True)
    for name, colour, values, first, x in strips:
        if stage < first:
            continue
        scene.text(f"{name} name", x, 314, name, colour, bold=True)
        for i, value in enumerate(values[2:6].tolist()):
            come = {"start": {"x": x - 108, "opacity": 0}} if first > 1 else {}
            scene.rect(
                f"{name} box {i}", x - 30, 320 + 26 * i, 60, 26, colour, colour, 0.12, **come
            )
            scene.text(f"{name} {i}", x, 339 + 26 * i, number(value), "ink")
    if stage == 3:
        scene.text(
            "sum of all", 444, 370, number((total.tanh() @ v).item(), 1), "ink", 20, bold=True
        )
        scene.text("of how many", 474, 314, f"4 of {len(v)}", "muted", anchor="end")


PICTURES = [hidden_state_travelling, decoder_looking_back, bahdanau_step]
