"""The films of lessons 04 and 08: a map of attention fills; training beside writing."""

import torch
import torch.nn.functional as F

from helpers.pretrained.translator import load_translator
from helpers.text.tokenization import BOS, EOS
from helpers.transformer.decoding import greedy
from helpers.widgets.svg import number
from images.stage import REST, TEXT, Scene, as_vector, film

# ---- lesson 04: every query meets every key ------------------------------------------------------

WORDS = ("the", "cat", "sleeps")
X = torch.tensor([[1.0, 0, 1], [0, 2, 1], [1, 1, 0]])  # lesson 04's words and matrices
W_Q = torch.tensor([[1.0, 0, 1], [0, 1, 0], [1, 0, 0]])
W_K = torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 1, 0]])
W_V = torch.tensor([[1.0, 0, 2], [0, 3, 0], [1, 0, 0]])
ACROSS, DOWN = (128, 203, 278), (168, 234, 300)  # the middles of columns and rows
CELL, TALL, BAR = 70, 60, 56  # how high a column of weight 1 would be, in its cell
ASK_AT, CONTEXT, TERMS, WORK = 44, 398, (90, 240, 390), 370  # where the others are
ROWS = (36, 62, 88)  # of V
SCALE, RAISE, DIVIDE = 4, 5, 6  # the moments of the softmax
ENTRY = (172, 254, 336)  # and the terms of one entry
OWN = ("value", "result", "second")  # each value has a colour


def self_attention_filling():
    """A film: a map of attention over “the cat sleeps”. Each word has a query at the left, a key
    above and a value at the right. The query of “the” walks over the three keys, and at each their
    dot product stays behind as a score: 1, 4 and 3. Divided by √3 they are 0.58, 2.31 and 1.73; e
    to their power, divided by the sum, gives the weights 0.102, 0.575 and 0.323; without √3 they
    would be 0.035, 0.705 and 0.259. Each weight times its value sums to the context of “the”,
    (1.10, 4.42, 0.85). Then all queries walk at once. The scores of all three rows become weights,
    and each row mixes the same values, in shares of its own. In the end, frames show Q, K
    transposed, V and the softmax.
    """
    query, key, value = X @ W_Q, X @ W_K, X @ W_V
    scores = query @ key.T
    weights = (scores / 3**0.5).softmax(-1)
    best = WORDS[weights[0].argmax()]
    told = [
        "How can each word look at all words, itself included? It has a query, a key and a value.",
        "The query of “the” meets the first key. Their dot product is a score.",
        "The next key scores higher: a better match.",
        "With the last key, the row is full.",
        "A query has 3 entries, and sums of 3 products spread √3 times as wide as 1 product. So "
        "divide by √3.",
        "Then raise e to the power of each result.",
        "Divided by their sum, these are weights that sum to 1: a softmax.",
        f"Without √3, “{best}” would get even more.",
        "Weights say how much of a value is taken, so each value is multiplied by its weight.",
        f"Their sum is the context of “the”, mostly the value of “{best}”.",
        "Once more, for all rows at once: Q Kᵀ gives the scores. Which weights will “sleeps” get "
        "for 3, 3, 3?",
        "Each row has its own softmax, so equal scores get equal weights. But for rounding, every "
        "row sums to 1.",
        "Every row mixes the same values, in its own proportions.",
        "With one formula, every word looks at every word, in one step.",
    ]
    made = query.tolist(), key.tolist(), scores.tolist(), weights.tolist(), value.tolist()
    return film([_filling(*made, *moment) for moment in enumerate(told)], 434)


def _filling(query, key, scores, weights, value, moment, caption):
    formula = moment == 13
    move, stills = {0: 2, 9: 3, 10: 2.6, 12: 2.6}.get(moment, 1.6), (0, 2, 4, 5, 6, 9, 10, 13)
    scene = Scene(caption, move, moment in stills, rest=2.5 if moment == 10 else REST)
    q, k, v = ("Q", "Kᵀ", "V") if formula else ("queries", "keys", "values")
    scene.text("keys", ASK_AT, 46, k, "key", bold=True)
    scene.text("queries", ASK_AT, 128, q, "query", bold=True)
    scene.text("values", CONTEXT, 18, v, bold=True)
    scene.text("contexts", CONTEXT, 128, "context", bold=True)
    pale = {"opacity": 0.6 if 0 < moment <= DIVIDE else 1, "when": (0.4, 1)}
    late = {"start": {}, "when": (0.8, 1)}
    for j, (x, word) in enumerate(zip(ACROSS, WORDS, strict=True)):
        asks, y = (ASK_AT, DOWN[j] - 13), ROWS[j]
        scene.card(f"key {j}", x, 40, word, "key", CELL, full=moment == j + 1, start=asks)
        scene.text(f"offers {j}", x, 78, as_vector(key[j], 0), "key", room=CELL - 4, **late)
        scene.card(f"value {j}", 360, y, word, OWN[j], 68, True, 22, start=asks, **pale)
        scene.text(f"vector {j}", 436, y + 6, as_vector(value[j], 0), OWN[j], room=76, **late)
    for i in range(3):
        _row(scene, i, query[i], scores[i], weights[i], value, moment)
        if moment == 10 or (not i and moment in (1, 2, 3)):  # it walks over the keys
            x = ACROSS[min(moment, 3) - 1]
            scene.card(f"walker {i}", x, DOWN[i] - 13, WORDS[i], "query", CELL - 4, True, 28,
                       start=(ASK_AT, DOWN[i] - 13))  # fmt: skip
    if 1 <= moment <= SCALE:
        _product(scene, query[0], key[min(moment, 3) - 1], scores[0][min(moment, 3) - 1], moment)
    if SCALE <= moment <= DIVIDE:
        _softmax(scene, scores[0], moment)
    if moment == DIVIDE + 1:  # the weights that the scores would get if nothing divided them
        scene.text("without", 4, WORK, "without", "muted", anchor="start", room=88)
        for j, share in enumerate(torch.tensor(scores[0]).softmax(-1).tolist()):
            scene.text(f"without {j}", ACROSS[j], WORK, number(share, 3), bold=True, room=70)
    if moment in (8, 9):
        _sum(scene, value, weights[0], moment == 9)
    if moment:  # what stands within Q and Kᵀ
        steps = "scores / √3", "e to that power"
        words = "scores" if moment in (1, 2, 3, 10) else [*steps, "weights"][min(moment - SCALE, 2)]
        scene.text("weights", 203, 128, words, bold=True, room=220)
    if moment in (10, 11):
        scene.rect("asked", 90, DOWN[2] - 32, 226, 64, "none", "query")
    if moment > 9:
        words = ("Q Kᵀ", "softmax(Q Kᵀ / √3)", "softmax(Q Kᵀ / √3) V")[min(moment, 12) - 10]
        words = "context = " * (moment > 11) + words
        scene.text("formula", 240, WORK + 24, words, size=26, bold=True, when=(0.5, 0.8))
    if formula:  # which part of the picture is which of the formula
        boxes = {"Q": (5, 136, 78, 198, "query"), "K": (89, 17, 228, 72, "key"),
                 "V": (321, 22, 157, 80, "ink"), "softmax": (90, 136, 226, 198, "ink"),
                 "made": (317, 136, 162, 198, "ink")}  # fmt: skip
        for name, (*box, colour) in boxes.items():
            scene.rect(name, *box, "none", colour)
    return scene


def _worked(scores):
    """Write a softmax's steps: scores divided by √3, e to their power, and the weights."""
    scaled = torch.tensor(scores) / 3**0.5
    steps = (scaled, 2), (scaled.exp(), 2), (scaled.softmax(-1), 3)
    return [[number(one, n) for one in step] for step, n in steps]


def _softmax(scene, scores, moment):
    """Work out below what then stands in the cells."""
    powers, when = _worked(scores)[1], (0.4, 0.7)
    whole = number(sum(map(float, powers)))
    does = ("score/√3", "e to that", "power/sum")[moment - SCALE]
    scene.text("does", 4, WORK - 6, does, "muted", anchor="start", room=90, when=when)
    for j, x in enumerate(ACROSS):  # each below its cell
        given = _worked(scores)[moment - SCALE][j]
        if moment < DIVIDE:  # the quotient becomes an exponent: its digits would be rounded
            place = (x, WORK - 6) if moment == SCALE else (x + 10, WORK - 19)
            size = 20 if moment == SCALE else TEXT
            scene.text(f"power {j}", *place, f"{scores[j]:.0f}/√3", size=size, room=46, when=when)
        if moment == RAISE:
            scene.text(f"base {j}", x - 22, WORK - 6, "e", size=30, when=(0.6, 0.8))
        if moment == DIVIDE:
            for name, y, words in ("work", WORK - 18, powers[j]), ("by", WORK + 4, whole):
                scene.text(f"{name} {j}", x, y, words, room=70, when=when)
            scene.line(f"bar {j}", [(x - 25, WORK - 12), (x + 25, WORK - 12)], "ink", when=when)
        scene.text(f"gives {j}", x, WORK + 28, given, size=20, bold=True, room=70, when=(0.5, 0.8))
    if moment == DIVIDE:
        scene.text("whole", 203, WORK + 58, f"{' + '.join(powers)} = {whole}", "muted", when=when)


def _sum(scene, values, weights, added):
    """Work out the first context: weights from their cells, times the rows of V."""
    for j, x in enumerate(TERMS):
        scene.text(f"taken {j}", x + 28, WORK - 8, as_vector(values[j], 0), OWN[j], room=70)
        scene.text(f"times {j}", x - 9, WORK - 8, f"{weights[j]:.3f}·", anchor="end", room=53)
        scene.text(f"plus {j}", x - 76, WORK - 8, "+" if j else "", room=13)
        if added:  # the second entry, as an example
            term = f"{weights[j]:.3f}·{values[j][1]:.0f}"
            scene.text(f"term {j}", ENTRY[j], WORK + 56, term, OWN[j], room=64)
            scene.text(f"and {j}", ENTRY[j] + 41, WORK + 56, "+" if j < 2 else "=", room=13)
    if added:
        second = number(sum(a * row[1] for a, row in zip(weights, values, strict=True)), 2)
        scene.text("entry", ENTRY[2] + 78, WORK + 56, second, bold=True)
        scene.text("which", 6, WORK + 56, "its 2nd entry:", "muted", anchor="start", room=124)
        scene.text("sum", 240, WORK + 24, f"= {_mixed(weights, values)}", bold=True, when=(0, 0.3))


def _mixed(weights, values):
    return as_vector((torch.tensor(weights) @ torch.tensor(values)).tolist(), 2)


def _row(scene, i, query, scores, weights, values, moment):
    """Draw a row: its cells, their scores or weights, the shares of the values and their sum."""
    alone = not i and moment < 10  # the first row; then all go at once, and it once more
    begun, weighed, mixed = (1, DIVIDE, 9) if alone else (10, 11, 12)
    y, seen = DOWN[i], 1.0 if moment >= 10 or alone else 0.35
    step = moment - SCALE + 1 if alone else 3 * (moment >= weighed)
    said = [[number(score, 0) for score in scores], *_worked(scores)][min(max(step, 0), 3)]
    scene.card(f"query {i}", ASK_AT, y - 13, WORDS[i], "query", CELL, opacity=seen)
    scene.text(f"asks {i}", ASK_AT, y + 25, as_vector(query, 0), "query", room=CELL, opacity=seen)
    for j, (x, weight) in enumerate(zip(ACROSS, weights, strict=True)):
        low, thick, known = y + TALL / 2 - 2, BAR * weight, moment - begun >= (j if alone else 0)
        bar = x - CELL / 2 + 2, low - thick, CELL - 4, thick
        scene.rect(f"cell {i} {j}", x - CELL / 2, y - TALL / 2, CELL, TALL, "none", "edge",
                   opacity=seen)  # fmt: skip
        if moment >= weighed:
            scene.rect(f"share {i} {j}", *bar, OWN[j], tint=0.4, start={"y": low, "height": 0})
        if known:
            there = moment < weighed and j == (moment - begun if alone else 2)  # below the query
            when = (0.4, 1) if alone or moment != begun else (0.42 + 0.14 * j, 0.57 + 0.14 * j)
            at = y - 9 if moment >= weighed else y + (22 if there else 7)  # above the bar
            scene.text(f"in {i} {j}", x, at, said[j], size=18, bold=True, room=CELL - 8, when=when)
        if alone and moment == 8:  # a value goes into its cell
            come = {"x": 326, "y": ROWS[j] - 11, "width": 68, "height": 22}
            scene.rect(f"part {j}", *bar, OWN[j], start=come, when=(0.15 * j, 0.15 * j + 0.6))
        if moment >= mixed:  # and as large a share of the context
            before = CONTEXT - 70 + 140 * sum(weights[:j])
            come = dict(zip(("x", "y", "width", "height"), bar, strict=True))
            scene.rect(f"mix {i} {j}", before, y + 6, 140 * weight, 16, OWN[j], round=0,
                       start=come, when=(0.1 * j, 0.1 * j + 0.5))  # fmt: skip
    scene.rect(f"mixture {i}", CONTEXT - 79, y - TALL / 2, 158, TALL, "none", "edge", opacity=seen)
    if moment >= mixed:
        scene.text(f"context {i}", CONTEXT, y - 8, _mixed(weights, values), room=144, when=(0.5, 1))


def _product(scene, query, key, score, moment):
    """Write the dot product of the query and the key that it meets; then frame its products."""
    y = WORK + (30 if moment < SCALE else 55)
    for j, (x, q, k) in enumerate(zip(ACROSS, query, key, strict=True)):
        scene.text(f"product {j}", x, y, f"{q:.0f}·{k:.0f}", size=20, room=46)
        scene.text(f"then {j}", x + 37, y, "=" if j == 2 else "+", size=20)
        if moment == SCALE:
            scene.rect(f"one of 3 {j}", x - 24, y - 21, 48, 28, "none", "ink", when=(0.5, 0.7))
    scene.text("product", ACROSS[2] + 64, y, f"{score:.0f}", size=20)
    if moment == SCALE:
        scene.text("count", 366, y, "3 products", "muted", anchor="start", room=110)
        return
    scene.text("mine", 128, WORK - 4, as_vector(query, 0), "query", 20, bold=True)
    scene.text("dot", 203, WORK - 4, "·", "ink", 22, bold=True)
    scene.text("other", 278, WORK - 4, as_vector(key, 0), "key", 20, bold=True)


# ---- lesson 08: training beside writing ----------------------------------------------------------

PITCH = 67
COLUMNS = [107 + PITCH * i for i in range(6)]
LEFT, RIGHT = COLUMNS[0] - 32, COLUMNS[3] + 32  # where training's decoder begins and ends
SOURCE = "Une grande gare"
TOKEN = {"width": PITCH - 3, "height": 30, "bold": False}
SHIFTED, LINES, MASK, PASS, GIVEN, LOSS, MEAN = range(2, 9)  # training's moments; then it writes
ROW_AT, STEP = 298, 35  # where the first pass of writing is, and how far below is the next
MEMORY = 62  # how far to the left the encoder's states go for them


def training_and_inference_decoder():
    """A film: the encoder reads Une grande gare, for the decoder above, which is in training, and
    for those below, which write. At first both are shown when they are done: training took one
    pass, writing five. Then training has the stage for itself. The target, A, large, station and
    eos, goes in one place to the right, after bos. Lines lead to the place of each prediction from
    the inputs up to there; that from station to the third is crossed out. One pass predicts A,
    large, train and eos. The third loss is by far the largest. Arrows lead from the losses' mean
    back into decoder and encoder, whose weights change. The passes of writing stand below each
    other as a staircase. Each decoder is one token wider than the one above, whose output falls
    into it as the last input. The third output is train, so train goes in, and the fourth is
    station, not eos as in training. In the end, training's inputs light up all at once, those of
    writing one after the other, down the stairs.
    """
    translator = load_translator()
    source = translator.encode([SOURCE])
    target = translator.tokenizer.encode("A large station", eos=True)
    with torch.inference_mode():
        logits = translator.model(source, torch.tensor([[BOS, *target[:-1]]]))[0]  # (T, V)
        written = greedy(translator.model.decoder_step(source), 1, BOS, EOS, max_len=10)[0]
    losses = F.cross_entropy(logits, torch.tensor(target), reduction="none").tolist()
    wanted, guessed, own = (
        [word.replace("▁", "") for word in translator.tokenizer.tokens(ids)]
        for ids in (target, logits.argmax(-1).tolist(), written)
    )
    told = [
        f"Training makes {len(wanted)} predictions in 1 pass. Writing {len(own)} tokens takes "
        f"{len(own)}. Why?",
        "In training, the target is known.",
        "It also goes in as input, shifted one place to the right.",
        "Lines show what each position can see: the inputs up to its own.",
        "Position 3 has to predict “station”, so the mask hides that answer from it.",
        "One pass makes all predictions at once.",
        f"Position 4 is given “station”, the target's word, not “{guessed[2]}”.",
        f"“{guessed[2]}” isn't the target, so its loss is high.",
        "The mean loss is sent back to adjust all the weights.",
        "Nobody knows the target when the model writes. Its decoder, a bar, gets <bos> alone and "
        "gives “A”.",
        "“A” goes in, and the second pass gives “large”.",
        "The third pass gives “train” …",
        "At position 4, training was given “station”, so <eos> was next. Here “train” goes in, and "
        "“station” follows.",
        "“A large train station” isn't the target, but it's a fine translation.",
        f"Training has its {len(wanted)} inputs at once, so 1 pass is enough. In writing, each "
        f"input after <bos> is the output of the pass before: {len(own)} passes.",
    ]
    return film([_both(wanted, guessed, losses, own, *moment) for moment in enumerate(told)], 454)


def _both(wanted, guessed, losses, own, moment, caption):
    now = moment or MEAN + len(own)  # at first both are done, and then they begin again
    passes, done = min(max(now - MEAN, 0), len(own)), moment == MEAN + 6
    key = moment in (0, MASK, GIVEN, LOSS, MEAN, 12, 14)
    scene = Scene(caption, 1.8 if moment else 3.6, key)
    title = f"training{': 1 pass' * (now >= PASS)}"
    scene.text("title", 3, 18, title, "query", TEXT, "start", True)
    alone = 0 < moment <= MEAN  # training has the whole stage

    def at(y):
        return 20 + 1.8 * (y - 20) if alone else y

    rows = ("target", 45, "query", 1), ("loss", 81, "result", LOSS), ("output", 116, "key", PASS)
    for name, y, colour, since in rows:
        if now >= since and (name != "loss" or moment in (LOSS, MEAN)):
            scene.text(name, 3, at(y) + 6, name, colour, anchor="start", room=68)
    _encoder(scene, at)
    # The positions whose inputs are meant.
    lit = {LINES: range(4), MASK: (2,), GIVEN: (3,)}.get(moment, ())
    _decoder(scene, lit, now >= LINES and now != MEAN, at)
    numbers_at = 412 if alone else 242
    for i in range(4):
        met = i == 3 and moment == MEAN + 4
        scene.text(f"position {i}", COLUMNS[i], numbers_at, i + 1, "ink" if met else "muted")
    scene.text("position", 3, numbers_at, "position", "muted", anchor="start", room=68)
    if moment == MEAN + 4:  # from training's input there to what goes in now
        scene.line("other input", [(COLUMNS[3], 246), (COLUMNS[3], ROW_AT + 2 * STEP - 14)], "ink")
    for i, word in enumerate(["<bos>", *wanted[:-1]]):
        if i and now < SHIFTED:  # where the word will be
            scene.rect(f"training {i}", COLUMNS[i] - 32, at(212) - 15, 64, 30, "paper", "edge")
            continue
        full, faint = i == 3 and moment in (GIVEN, MEAN + 4), (i, moment) == (3, MASK)
        come = (COLUMNS[i - 1], at(45)) if i and moment == SHIFTED else None
        scene.card(f"training {i}", COLUMNS[i], at(212), word, "query", full=full or done,
                   when=(0, 0.6), opacity=0.4 if faint else 1, start=come, **TOKEN)  # fmt: skip
    if moment == MASK:
        scene.line("blocked", [(COLUMNS[3], at(187)), (COLUMNS[2], at(141))], "ink")
        scene.text("cross", COLUMNS[2] + PITCH / 2, at(164) + 10, "×", size=30, bold=True)
    for i, (word, loss) in enumerate(zip(wanted, losses, strict=True)):
        x, wrong, part = COLUMNS[i], moment == LOSS and i == 2, 35 * loss / max(losses)
        scene.card(f"target {i}", x, at(45), word, "query", full=wrong, **TOKEN)
        if now >= PASS:
            full = wrong or (moment == MEAN + 4 and i == 3)
            scene.card(f"guess {i}", x, at(116), guessed[i], "key", full=full, start=(x, at(162)),
                       when=(0.25, 1) if moment == PASS else (0, 0.15), **TOKEN)  # fmt: skip
        if moment in (LOSS, MEAN):
            foot = at(81) + 41
            scene.text(f"loss of {i}", x, foot - part - 6, f"{loss:.1f}", "result", bold=True)
            scene.rect(f"loss {i}", x - 22, foot - part, 44, part, "result", round=0,
                       start={"y": foot, "height": 0})  # fmt: skip
    if moment == MEAN:
        x = (RIGHT + 400) / 2
        low = at(152)
        for i, words in enumerate(("mean", f"{sum(losses) / len(losses):.1f}")):
            scene.text(f"mean {i}", x, at(81) + 12 + 23 * i, words, "result", bold=True)
        scene.line("mean down", [(x, foot + 2), (x, low)], "result", 3, when=(0.3, 0.5))
        for name, end in ("training decoder", RIGHT + 1), ("encoder", 399):  # both have weights
            scene.arrow(f"mean to {name}", x, low, end, low, "result", head=11, when=(0.4, 0.6))
            scene.shapes[name] |= {"fill": "result", "stroke": "result", "tint": 0.35}
        scene.text("change", (COLUMNS[1] + COLUMNS[2]) / 2, at(164) + 6, "the weights change",
                   "result", bold=True, when=(0.6, 1))  # fmt: skip
    if alone:
        return scene
    if moment == MEAN + 1:  # training makes room, all parts together
        for shape in scene.shapes.values():
            shape["when"] = [0, 0.4]
    many = f"{passes} pass{'es' * (passes > 1)}"
    scene.text("writing", 3, 266, f"writing: {many}", "key", anchor="start", bold=True)
    low = ROW_AT + STEP * (passes - 1)
    way = [(440, 189), (440, 274), (MEMORY, 274), (MEMORY, low)]
    scene.line("memory on", way, "muted", 3, when=(0.5, 0.8) if passes == 1 else (0, 0.3))
    for i in range(len(own)):
        _pass(scene, i, own, passes, moment, done)
    return scene


def _encoder(scene, at):
    """Draw the source, and the encoder that gives its states to training and to every pass."""
    top, foot = at(140), at(188)
    for i, word in enumerate(["source", *SOURCE.split()]):
        scene.text(f"source {i}", 439, at(48) + 6 + 24 * i, word, "ink" if i else "muted", room=74)
    scene.rect("encoder", 400, top, 79, foot - top, "muted", "muted", 0.15)
    scene.text("encoder name", 439.5, at(164) + 6, "encoder", "muted", room=70)
    scene.arrow("memory", 399, at(176), RIGHT + 2, at(176), "muted", head=9)


def _decoder(scene, lit, lines, at):
    """Draw training's decoder: which inputs, below it, each place sees, those of one `lit`."""
    top, foot = at(140), at(188)
    scene.rect("training decoder", LEFT, top, RIGHT - LEFT, foot - top, "muted", "muted", 0.15)
    for name, y, colour in ("decoder", 164, "muted"), ("input", 212, "query"):
        scene.text(f"training {name} name", 3, at(y) + 6, name, colour, anchor="start", room=68)
    for i in range(4 if lines else 0):
        strong = {"stroke": "query", "line": 4} if i in lit else {"opacity": 0.45}
        for j in range(i + 1):  # one position after the other
            ends = [(COLUMNS[j], foot - 2), (COLUMNS[i], top + 2)]
            scene.line(f"training sees {i} {j}", ends, **strong, when=(0.15 * i, 0.15 * i + 0.2))


def _pass(scene, i, own, passes, moment, done):
    """Draw a pass of writing: a decoder with its inputs, its output, and the way from the last."""
    y, begun = ROW_AT + STEP * i, i < passes
    since, part = (0.2 * i, 0.2) if not moment or done else (0, 1)  # one pass after the other
    if passes == 1:
        since, part = 0.4, 0.6  # when training has made room

    def turn(start, end):
        return {"when": (since + part * start, since + part * end)}

    scene.text(f"pass {i}", 30, y + 6, i + 1, "ink" if begun else "muted")
    wide, ink = PITCH * (i + 1) - 3, "muted" if begun else "edge"
    scene.rect(f"decoder {i}", LEFT, y - 13, wide, 26, "muted", ink, 0.15 * begun, **turn(0, 0.4))
    if not begun:
        return
    scene.arrow(f"memory {i}", MEMORY, y, LEFT - 1, y, "muted", head=9, **turn(0.2, 0.4))
    meant = (moment, i) in ((MEAN + 3, 2), (MEAN + 4, 3))
    for j, word in enumerate(["<bos>", *own[:i]]):  # all inputs once more, and the new one
        if j < i:
            scene.text(f"given {i} {j}", COLUMNS[j], y + 6, word, room=58, **turn(0.2, 0.4))
    come = (COLUMNS[i], y - STEP) if i else None
    token = TOKEN | {"height": 22, "width": PITCH - 7}
    scene.card(f"given {i}", COLUMNS[i], y, word, "key" if i else "muted", start=come, **token,
               full=i > 0 and (done or (meant and i == 3)), **turn(0, 0.4))  # fmt: skip
    if i:
        scene.arrow(f"into {i}", COLUMNS[i], y - STEP + 14, COLUMNS[i], y - 12, "key", 4, 9,
                    **turn(0, 0.2))  # fmt: skip
    scene.card(f"own {i}", COLUMNS[i + 1], y, own[i], "key", full=meant,
               start=(COLUMNS[i] + 52, y), **TOKEN | {"height": 26}, **turn(0.5, 0.9))  # fmt: skip


PICTURES = [self_attention_filling, training_and_inference_decoder]
