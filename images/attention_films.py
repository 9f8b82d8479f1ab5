"""The films of lessons 04 and 08: a map of attention fills; training beside writing."""

import math

import torch
import torch.nn.functional as F

from helpers.pretrained.translator import load_translator
from helpers.text.tokenization import BOS, EOS
from helpers.transformer.decoding import greedy
from helpers.widgets.svg import number
from images.stage import REST, TEXT, Scene, film

# ---- lesson 04: every query meets every key ------------------------------------------------------

WORDS = ("the", "cat", "sleeps")
X = torch.tensor([[1.0, 0, 1], [0, 2, 1], [1, 1, 0]])  # lesson 04's words and matrices
W_Q = torch.tensor([[1.0, 0, 1], [0, 1, 0], [1, 0, 0]])
W_K = torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 1, 0]])
W_V = torch.tensor([[1.0, 0, 2], [0, 3, 0], [1, 0, 0]])
ACROSS, DOWN = (120, 194, 268), (174, 236, 298)  # the middles of columns and rows
CELL, TALL, BAR = 72, 56, 50  # how high a column of weight 1 would be, in its cell
ASK_AT, CONTEXT, WORK, LINE = 42, (338, 394, 450), 352, 26  # where the others are
ROWS = (51, 77, 103)  # of V, and of a key's entries
SCALE, RAISE, DIVIDE = 4, 5, 6  # the moments of the softmax
OWN = ("value", "result", "second")  # each value has a colour


def self_attention_filling():
    """A film: a map of attention over “the cat sleeps”. Each word has a query (a row, at the left),
    a key (a column, above) and a value (at the right). The query of “the” meets one key after
    another. Their entries are multiplied in pairs, and the sum enters the map as a score: 1, 4, 3.
    Divided by √3 they are 0.58, 2.31, 1.73; e to their power, divided by the sum, gives the weights
    0.102, 0.575, 0.323 (without √3: 0.035, 0.705, 0.259). Each weight multiplies its value, and the
    sum is the context of “the”: 1.10, 4.42, 0.85. Then all queries set out at once, and each row
    mixes the same values in its own shares. Frames mark Q, K transposed, V and the softmax.
    """
    query, key, value = X @ W_Q, X @ W_K, X @ W_V
    scores = query @ key.T
    weights = (scores / 3**0.5).softmax(-1)
    best = WORDS[weights[0].argmax()]
    told = [
        "Which word will “the” look at most? Each word has a query, a key and a value.",
        "The query of “the”, a row, meets the first key, a column. Multiply their entries in "
        "pairs and add up the products: that's the score.",
        f"With the key of “{WORDS[1]}”, the pairs sum to {scores[0][1]:.0f}: a better match.",
        f"With the last key, the sum is {scores[0][2]:.0f}, and the row of “the” is full.",
        "A sum of three products spreads √3 times as wide as a single product, so divide by √3.",
        "Then raise e to the power of each result.",
        "Divided by their sum, they become weights that sum to 1. That's a softmax.",
        f"Without √3, “{best}” would get even more.",
        "A weight says how much of a value is taken, so each value is multiplied by its weight.",
        f"Their sum is the context of “the”. Most of it is the value of “{best}”.",
        "Now all rows at once: Q Kᵀ gives all scores. Which weights will “sleeps” get for 3, 3, 3?",
        "Each row has its own softmax, so its equal scores get equal weights. Apart from rounding, "
        "every row sums to 1.",
        "Every row mixes the same values, in its own proportions.",
        "With this one formula, every word looks at every word in one step.",
    ]
    made = query.tolist(), key.tolist(), scores.tolist(), weights.tolist(), value.tolist()
    return film([_filling(*made, *moment) for moment in enumerate(told)], 450)


def _filling(query, key, scores, weights, value, moment, caption):
    formula = moment == 13
    move = {0: 2, 1: 4, 2: 3.4, 3: 3.4, 8: 2.6, 9: 3, 10: 2.6, 12: 2.6}.get(moment, 1.6)
    still, rest = moment in (0, 2, 4, 6, 9, 10, 13), 6 if moment == 10 else REST
    scene = Scene(caption, move, still, rest)
    q, k, v = ("Q", "Kᵀ", "V") if formula else ("queries", "keys", "values")
    scene.text("keys", ASK_AT, ROWS[1] + 6, k, "key", bold=True)
    scene.text("queries", ASK_AT, 138, q, "query", bold=True, room=84)
    scene.text("values", CONTEXT[1], 22, v, bold=True)
    scene.text("contexts", CONTEXT[1], 138, "context", bold=True)
    met = min(moment, 3) - 1 if 1 <= moment <= SCALE else None
    for j, (x, word) in enumerate(zip(ACROSS, WORDS, strict=True)):
        falls, slides = {"when": (0.1 * j, 0.1 * j + 0.4)}, {"when": (0.5 + 0.1 * j, 0.8 + 0.1 * j)}
        scene.text(f"offers {j}", x, 26, word, "key", bold=True, room=74, start={"y": -94}, **falls)
        frame = x - 34, 36, 68, 82, "key", "key", (j == met) / 4
        scene.rect(f"key {j}", *frame, start={"y": -84}, **falls)
        scene.card(f"value {j}", 348, ROWS[j], word, OWN[j], 78, moment > DIVIDE + 1, 22,
                   start=(518, ROWS[j]), **slides)  # fmt: skip
        for n, y in enumerate(ROWS):
            at, come = x + 17 * (j == met), {"when": (0, 0.2)} if moment else falls  # aside
            entry = number(key[j][n], 0)
            scene.text(f"key {j} {n}", at, y + 6, entry, "key", start={"y": y - 114}, **come)
        scene.text(f"vector {j}", 430, ROWS[j] + 6, _spaced(value[j]), OWN[j], start={"x": 600},
                   **slides)  # fmt: skip
    if moment:  # what stands within Q and Kᵀ
        words = {SCALE: "scores / √3", RAISE: "e to that power"}.get(moment, "weights")
        words = "scores" if moment in (1, 2, 3, 10) else words
        scene.text("weights", ACROSS[1], 138, words, bold=True, room=200)
    for i in range(3):
        _row(scene, i, query[i], scores[i], weights[i], value, moment)
    if met is not None:
        _pairs(scene, query[0], key[met], met, moment)
    if SCALE <= moment <= DIVIDE + 1:
        _softmax(scene, scores[0], moment)
    if moment in (8, 9):
        _sum(scene, value, weights[0], moment == 9)
    if moment in (10, 11):
        scene.rect("asked", 2, DOWN[2] - 30, 304, 60, "none", "query", line=4, when=(0, 0.1))
    if moment > 9:
        words = {10: "Q Kᵀ", 11: "softmax(Q Kᵀ / √3)"}.get(moment, "context = softmax(Q Kᵀ / √3) V")
        scene.text("formula", 240, WORK + 44, words, size=26, bold=True, when=(0.5, 0.8))
    if formula:  # which part of the picture is which of the formula
        scene.rect("Q", 2, 143, 80, 186, "none", "query")
        scene.rect("K", 83, 4, 222, 116, "none", "key")
        scene.rect("V", 308, 34, 171, 81, "none", "ink")
        scene.rect("softmax", 83, 143, 222, 186, "none", "ink")
    return scene


def _spaced(entries):
    """Write whole numbers beside each other, as in a matrix."""
    return "\u2002".join(number(one, 0) for one in entries)  # spaces as wide as half a letter


def _worked(scores):
    """Write scores divided by √3, e to their power, the weights, and those without √3."""
    raw, scaled = torch.tensor(scores), torch.tensor(scores) / 3**0.5
    steps = (scaled, 2), (scaled.exp(), 2), (scaled.softmax(-1), 3), (raw.softmax(-1), 3)
    return [[number(one, n) for one in step] for step, n in steps]


def _softmax(scene, scores, moment):
    """Work out below what then stands in the cells, and in the end what would without √3."""
    powers, when = _worked(scores)[1], (0.4, 0.7)
    whole = number(sum(map(float, powers)))
    does = ("÷ √3", "powers", "÷ sum", "no √3:")[moment - SCALE]
    scene.text("does", 4, WORK + (56 if moment > DIVIDE else 14), does, "muted", anchor="start",
               room=76, when=when)  # fmt: skip
    for j, x in enumerate(ACROSS):  # each below its cell
        given = _worked(scores)[moment - SCALE][j]
        if moment < DIVIDE:  # the quotient becomes an exponent: its digits would be rounded
            place = (x, WORK + 14) if moment == SCALE else (x + 11, WORK + 2)
            size = 20 if moment == SCALE else TEXT
            scene.text(f"power {j}", *place, f"{scores[j]:.0f}/√3", size=size, room=52, when=when)
        if moment == RAISE:
            scene.text(f"base {j}", x - 24, WORK + 16, "e", size=30, when=(0.6, 0.8))
        if moment == DIVIDE:
            for name, y, words in ("work", WORK, powers[j]), ("by", WORK + 27, whole):
                scene.text(f"{name} {j}", x, y, words, room=66, when=when)
            scene.line(f"bar {j}", [(x - 28, WORK + 6), (x + 28, WORK + 6)], "ink", when=when)
        scene.text(f"gives {j}", x, WORK + 56, given, size=20, bold=True, room=70, when=(0.5, 0.8))
    if moment == DIVIDE:
        scene.text("whole", 194, WORK + 88, f"{' + '.join(powers)} = {whole}", "muted", when=when)


def _sum(scene, values, weights, added):
    """Work out the first context: weights from their cells, times the rows of V, and their sum."""
    terms = torch.tensor(weights)[:, None] * torch.tensor(values)
    for j, x in enumerate(ACROSS):
        y, turn = WORK + LINE * j, {"when": (0.3 - 0.15 * j, 0.7 - 0.15 * j)}  # the last first
        scene.text(f"taken {j}", 110, y, f"{weights[j]:.3f} ·", room=100, **turn,
                   start={"x": x, "y": DOWN[0] - 8})  # fmt: skip
        scene.card(f"times {j}", 206, y - 6, _spaced(values[j]), OWN[j], 84, height=22, bold=False,
                   start=(430, ROWS[j]), **turn)  # fmt: skip
        for n, at in enumerate(CONTEXT):
            scene.text(f"term {j} {n}", at, y, number(terms[j][n], 2), OWN[j], when=(0.7, 1))
        scene.text(f"is {j}", 286, y, "=", when=(0.7, 1))
    if added:
        y = WORK + 3 * LINE + 6
        scene.line("rule", [(CONTEXT[0] - 26, y - 22), (CONTEXT[2] + 26, y - 22)], "ink")
        scene.text("adds", 266, y, "sum", "muted")
        for n, at in enumerate(CONTEXT):
            entry = number(sum(terms[:, n]), 2)
            scene.text(f"sum {n}", at, y, entry, bold=True, when=(0, 0.3))


def _row(scene, i, query, scores, weights, values, moment):
    """Draw a row: its cells, their scores or weights, the shares of the values and their sum."""
    alone = not i and moment < 10  # the first row; then all go at once, and it once more
    begun, weighed, mixed = (1, DIVIDE, 9) if alone else (10, 11, 12)
    y, ink = DOWN[i], "query" if moment >= 10 or moment == 0 or alone else "muted"
    step = moment - SCALE + 1 if alone else 3 * (moment >= weighed)
    said = [[number(score, 0) for score in scores], *_worked(scores)][min(max(step, 0), 3)]
    asks = alone and 1 <= moment <= SCALE
    scene.card(f"query {i}", ASK_AT, y - 13, WORDS[i], ink, 80, asks, 28, when=(0, 0.2))
    scene.text(f"asks {i}", ASK_AT, y + 22, _spaced(query), ink)
    for j, (x, weight) in enumerate(zip(ACROSS, weights, strict=True)):
        low, thick, known = y + TALL / 2 - 2, BAR * weight, moment - begun >= (j if alone else 0)
        bar = x - CELL / 2 + 2, low - thick, CELL - 4, thick
        scene.rect(f"cell {i} {j}", x - CELL / 2, y - TALL / 2, CELL, TALL, "none", "edge")
        if moment >= weighed:
            scene.rect(f"share {i} {j}", *bar, OWN[j], tint=0.4, start={"y": low, "height": 0})
        if not (moment or i):  # the film asks about this row
            scene.text(f"? {j}", x, y + 7, "?", "result", 18, bold=True, when=(0.8, 1))
        if known:
            come = {"x": 416, "y": WORK + 30} if moment < SCALE else {}  # from the sum below
            when = (0.85, 1) if alone else (0.5 + 0.16 * j, 0.6 + 0.16 * j)
            at = y - 8 if moment >= weighed else y + 7  # above the bar
            name = "score" if moment == 10 else "in"
            scene.text(f"{name} {i} {j}", x, at, said[j], size=18, bold=True, room=CELL - 2,
                       when=when if moment < SCALE or moment == begun else (0.4, 1),
                       start=come)  # fmt: skip
        if moment >= mixed:  # and as large a share of the context
            before = CONTEXT[1] - 82 + 164 * sum(weights[:j])
            come = dict(zip(("x", "y", "width", "height"), bar, strict=True))
            scene.rect(f"mix {i} {j}", before, y + 6, 164 * weight, 16, OWN[j], round=0,
                       start=come, when=(0.1 * j, 0.1 * j + 0.5))  # fmt: skip
    scene.rect(f"mixture {i}", CONTEXT[1] - 85, y - TALL / 2, 170, TALL, "none", "edge")
    if moment >= mixed:
        mixed = (torch.tensor(weights) @ torch.tensor(values)).tolist()
        for n, (x, entry) in enumerate(zip(CONTEXT, mixed, strict=True)):
            scene.text(f"context {i} {n}", x, y - 8, number(entry, 2), when=(0.6, 0.9))
    if moment == 10:  # the query walks over the keys, and leaves the scores behind
        scene.card(f"walker {i}", ACROSS[2], y, WORDS[i], "query", CELL - 4, True, 28, opacity=0,
                   start=(ASK_AT, y - 13), when=(0.2, 0.85))  # fmt: skip


def _pairs(scene, query, key, met, moment):
    """Put the query beside the key that it meets; then write the products below, and their sum."""
    x = ACROSS[met]
    for n, (q, k) in enumerate(zip(query, key, strict=True)):
        y, at = ROWS[n], 188 + 80 * n
        scene.card(f"ask {n}", x - 17, y, number(q, 0), "query", 26, True, 22, bold=False,
                   start=(ASK_AT + 26 * (n - 1), DOWN[0] + 16), when=(0.05, 0.35))  # fmt: skip
        scene.text(f"dot {n}", x + 3, y + 6, "·", bold=True, when=(0.2, 0.4))
        if moment == SCALE:
            scene.rect(f"one of 3 {n}", x - 31, y - 13, 62, 26, "none", "ink", when=(0, 0.3))
            continue
        scene.card(f"product {met} {n}", at, WORK - 6, f"{q:.0f}·{k:.0f}", "muted", 50, height=26,
                   bold=False, start=(x, y), when=(0.45, 0.7))  # fmt: skip
        scene.text(f"makes {met} {n}", at, WORK + 30, f"{q * k:.0f}", size=20, when=(0.7, 0.8))
        for y in (WORK, WORK + 30) if n else ():
            scene.text(f"plus {n} {y}", at - 40, y, "+", size=20)
    if moment < SCALE:
        score = number(sum(q * k for q, k in zip(query, key, strict=True)), 0)
        scene.text(f"sum {met}", 408, WORK + 30, f"= {score}", size=20, bold=True, when=(0.7, 0.8))


# ---- lesson 08: training beside writing ----------------------------------------------------------

WIDTHS = (84, 54, 82, 104, 104)  # of the columns: room for their longest words on a phone
COLUMNS = [3 + sum(WIDTHS[:i]) + 6 * i + WIDTHS[i] / 2 for i in range(5)]
LEFT, RIGHT, WIRE = 3, 455, 469  # where the decoder begins and ends, and the encoder's way to it
SOURCE, TARGET = "Un chien monte", "A dog climbs up"
TOP, FOOT = 250, 302  # of the decoder's lines, in training; in writing all of it is higher
SHIFTED, LINES, MASK, PASS, GIVEN, LOSS, MEAN = range(1, 8)  # training's moments; then it writes
ASKS, LAST = MEAN + 4, MEAN + 7  # what will pass 4 give? And in the end both are compared


def training_and_inference_decoder():
    """A film: a decoder is trained on Un chien monte and its target, A dog climbs up, and then
    writes. The target, shifted one place to the right, goes in after bos. Lines lead to each of
    five positions from the inputs up to its own; that from climbs to the third is crossed out. Dots
    run up all lines at once: one pass, which predicts A, dog, is, up and eos. Its target, climbs,
    got a probability of 0.25, so the third loss is by far the largest. The mean loss goes back into
    decoder and encoder. Then the model writes: bos goes in alone, dots run up to the first
    position, and A comes out. It falls down and becomes the second input of the next pass. The
    third pass gives is. So the fourth position reads is, where training had climbs, and predicts
    climbing, not up. The fifth predicts eos. In the end the dots of training run up once more, all
    at once, above five lines, one per pass of writing.
    """
    translator = load_translator()
    source, target = translator.encode([SOURCE]), translator.tokenizer.encode(TARGET, eos=True)
    with torch.inference_mode():
        logits = translator.model(source, torch.tensor([[BOS, *target[:-1]]]))[0]  # (T, V)
        written = greedy(translator.model.decoder_step(source), 1, BOS, EOS, max_len=10)[0]
    losses = F.cross_entropy(logits, torch.tensor(target), reduction="none").tolist()
    wanted, guessed, own = (
        [word.replace("▁", "") for word in translator.tokenizer.tokens(ids)]
        for ids in (target, logits.argmax(-1).tolist(), written)
    )
    n, (low, high) = len(wanted), sorted(losses)[-2:]
    told = [
        f"A translator should learn to write “{TARGET}” for “{SOURCE}”. That is its target.",
        "The target goes in too, one place later, so position 2 gets “A” and has to predict “dog”.",
        "Each position sees the inputs up to its own: position 4, for example, inputs 1 to 4.",
        f"Position 3 has to predict “{wanted[2]}”, which is input 4, so the mask cuts that line.",
        f"In one pass, all {n} inputs go up through the decoder, and out come {n} predictions.",
        f"Output 3 is “{guessed[2]}”, but input 4 is still “{wanted[2]}”, so output 4 is "
        f"“{guessed[3]}”.",
        f"“{wanted[2]}” got a probability of only {math.exp(-high):.2f}, so its loss is "
        f"{high:.1f}. Right outputs cost a little too: their targets got at least "
        f"{math.exp(-low):.2f}, but not 1.",
        f"The gradient of the mean loss, {sum(losses) / n:.1f}, changes both decoder and encoder.",
        f"The model writes without a target. In pass 1, <bos> goes in alone. Out comes “{own[0]}”.",
        f"“{own[0]}” falls down and becomes input 2. In pass 2, both go up. Out comes “{own[1]}”.",
        f"“{own[1]}” becomes input 3. Pass 3 gives “{own[2]}”, as in training.",
        f"Position 4 now gets “{own[2]}”. In training, it was given “{wanted[2]}” and said "
        f"“{guessed[3]}”. Will it still say “{guessed[3]}”?",
        f"No: after “{own[2]}”, pass 4 gives “{own[3]}”.",
        f"Pass 5 gives <eos>. “{' '.join(own[:-1])}” isn't the target, but it fits too.",
        f"In training, all {n} inputs are known from the target, “{TARGET}”, so {n} predictions "
        "take 1 pass. When it writes, the model has to wait for each input: "
        f"{len(own)} tokens take {len(own)} passes.",
    ]
    return film([_both(wanted, guessed, losses, own, *moment) for moment in enumerate(told)], 454)


def _both(wanted, guessed, losses, own, moment, caption):
    """Draw a moment of training, or a pass of writing; in the end, training above the passes."""
    passes, last = min(max(moment - MEAN - (moment >= ASKS), 0), len(own)), moment == LAST
    trains, up = not passes or last, 134 * (passes > 0)  # writing has no targets and no losses
    key = moment in (SHIFTED, MASK, PASS, LOSS, MEAN, MEAN + 1, ASKS + 1, LAST)
    moves = {LINES: 3.6, PASS: 3.4, MEAN: 3.4, MEAN + 1: 4.6, ASKS: 1.8, LAST: 5}
    move, rest = moves.get(moment, 3.4 if passes else 1.8), 3 if moment == ASKS else REST
    scene = Scene(caption, move, key, rest)
    _machine(scene, moment, 6 if last else passes, up)
    # When inputs come, when the dots run, when outputs come out: parts of the movement.
    come, run, out = (0, 0.3), (0.35, 0.7), (0.7, 1)
    if moment == ASKS:
        come = 0, 0.7
    elif passes == 1 or last:  # all else moves first
        come, run, out = (0.2, 0.3), (0.3, 0.5), (0.5, 0.6)
    below, above, targets = 374 - up, 198 - up, 68  # the rows
    kinds, gives = (("input", "output"), guessed) if trains else (("given", "own"), own)
    takes = ["<bos>", *(wanted if trains else own)]
    entered, left = passes or (5 if moment else 1), passes or 5 * (moment >= PASS)
    entered += moment == ASKS
    meant = {GIVEN: 3, LOSS: 2, ASKS: 3, ASKS + 1: 3}.get(moment)
    lit = {LINES: (3,), MASK: (2,), PASS: range(5), GIVEN: (3,), ASKS: (), LAST: range(5)}
    lit = lit.get(moment, (passes - 1,))
    for i, x in enumerate(COLUMNS):
        here, card = i == meant, {"height": 30, "width": WIDTHS[i], "bold": False}
        if moment >= LINES and i < entered:
            _sees(scene, i, i in lit, moment, up, run)
        if i < entered:  # what comes from the target, or falls down from the pass before
            start = (COLUMNS[i - 1], targets if trains else above) if i and not last else None
            colour, full = "query" if trains else "key" if i else "muted", here and moment != LOSS
            scene.card(f"{kinds[0] if i else 'input'} {i}", x, below, takes[i], colour, start=start,
                       full=full or moment == PASS or last, when=come, **card)  # fmt: skip
        if i < left:
            scene.card(f"{kinds[1]} {i}", x, above, gives[i], "key", full=here, when=out,
                       start=(x, above + 40), **card)  # fmt: skip
        if not passes:
            scene.card(f"target {i}", x, targets, wanted[i], "query", full=here and moment == LOSS,
                       start=(60 + 20 * i, 416), when=(0.1 * i, 0.6 + 0.1 * i), **card)  # fmt: skip
        if i < passes:  # each pass leaves a line
            said = f"{i + 1}:  {' '.join(['<bos>', *own[:i]])} → {own[i]}"
            when = (0.6 + 0.08 * i, 0.68 + 0.08 * i) if last else (0.9, 1)
            scene.text(f"line {i}", LEFT, 350 + 24 * i, said, "key" if last else "ink",
                       anchor="start", when=when)  # fmt: skip
    if moment == MASK:
        scene.line("blocked", [(COLUMNS[3], FOOT), (COLUMNS[2], TOP)], "ink")
        middle = (COLUMNS[2] + COLUMNS[3]) / 2, (TOP + FOOT) / 2 + 10
        scene.text("cross", *middle, "×", size=30, bold=True)
    if moment in (LOSS, MEAN):
        _losses(scene, losses, moment == MEAN)
    if moment == ASKS:
        scene.card("asked", COLUMNS[3], above, "?", "key", WIDTHS[3], height=30, when=(0.7, 1))
    if moment in (ASKS, ASKS + 1):
        said = f"in training: {wanted[2]} → {guessed[3]}"
        scene.text("training's", RIGHT, 16, said, "query", anchor="end", room=300)
    return scene


def _machine(scene, moment, passes, up):
    """Draw what stays: the encoder, which reads the source, and the decoder; and name the rows."""
    y, middle = 416 - up, (TOP + FOOT) / 2 - up
    how = {"when": (0, 0.3)} if passes == 1 else {}
    ink = "key" if 1 <= passes <= 5 else "query"
    title = f"pass {passes}" if ink == "key" else f"training{': 1 pass' * (moment >= PASS)}"
    scene.text("title", LEFT, 16, title, ink, anchor="start", bold=True, when=(0, 0.2))
    rows = ("target", 42, "query", 0, MEAN), ("loss", 112, "result", LOSS, MEAN)
    rows += ("output", 174 - up, "key", PASS, 99), ("input", 351 - up, "query", SHIFTED, 99)
    for name, at, ink, since, until in rows:
        if since <= moment <= until:
            said = "input, from the target" if (name, moment) == ("input", LAST) else name
            scene.text(name, LEFT, at, said, ink, anchor="start", **how)
    if passes > 0:
        many = f"writing: {min(passes, 5)} pass{'es' * (passes > 1)}"
        scene.text("writing", LEFT, 324, many, "key", anchor="start", bold=True, when=(0.9, 1))
    size = RIGHT - LEFT, FOOT - TOP + 58
    scene.rect("decoder", LEFT, TOP - 30 - up, *size, "muted", "muted", 0.15, **how)
    scene.text("decoder name", RIGHT - 8, TOP - 9 - up, "decoder", "muted", anchor="end", **how)
    for i, x in enumerate(COLUMNS):
        scene.text(f"position {i}", x, FOOT + 20 - up, i + 1, "muted", **how)
    scene.text("source", LEFT, y + 6, SOURCE, anchor="start", room=190, **how)
    scene.arrow("reads", 200, y, 224, y, head=9, **how)
    scene.rect("encoder", 227, y - 16, 110, 32, "muted", "muted", 0.15, **how)
    scene.text("encoder name", 282, y + 6, "encoder", "muted", room=104, **how)
    scene.line("wire", [(338, y), (WIRE, y), (WIRE, middle)], "muted", 3, **how)
    scene.arrow("memory", WIRE + 1, middle, RIGHT + 1, middle, head=9, **how)


def _sees(scene, i, lit, moment, up, run):
    """Draw lines to a position from the inputs that it sees; in a pass, a dot runs up each."""
    strong = {"stroke": "query", "line": 3.5}
    for j in range(i + 1):
        ends = [(COLUMNS[j], FOOT - up), (COLUMNS[i], TOP - up)]
        when = (0.66, 0.76) if moment == LINES and lit else (0, 0.3)
        scene.line(f"sees {i} {j}", ends, **(strong if lit else {"opacity": 0.45}), when=when)
        if moment == LINES and i < 3:  # before, one position's lines after the other's
            scene.line(f"saw {i} {j}", ends, **strong, opacity=0, start={"opacity": 1},
                       when=(0.22 * i, 0.22 * i + 0.22))  # fmt: skip
        if lit and (moment == PASS or moment > MEAN):
            start = {"x": ends[0][0] - 7, "y": ends[0][1] - 7, "opacity": 1}
            scene.rect(f"dot {moment} {i} {j}", ends[1][0] - 7, ends[1][1] - 7, 14, 14, "key",
                       round=7, opacity=0, start=start, when=run)  # fmt: skip


def _losses(scene, losses, mean):
    """Draw a bar for each loss; a fifth of each makes their mean, which goes back."""
    foot, middle, n = 152, COLUMNS[2] + WIDTHS[2] / 2 + 3, len(losses)
    for i, loss in enumerate(losses):
        high, x = 40 * loss / max(losses), COLUMNS[i]
        low = foot - 40 * sum(losses[:i]) / max(losses) / n if mean else foot
        if mean:
            high, x = high / n, middle
        else:
            scene.text(f"loss of {i}", x, foot - high - 6, f"{loss:.1f}", "result", bold=True)
            if loss == max(losses):
                said = f"probability {math.exp(-loss):.2f}"
                scene.text("why", x + 24, foot - high - 6, said, "ink", anchor="start")
        scene.rect(f"loss {i}", x - 22, low - high, 44, high, "result", round=0,
                   start={"y": foot, "height": 0}, when=(0, 0.35))  # fmt: skip
    if not mean:
        return
    scene.text("mean", middle + 30, foot - 4, f"mean loss {sum(losses) / n:.1f}", "result",
               anchor="start", bold=True, when=(0.35, 0.45))  # fmt: skip
    scene.arrow("mean down", middle, foot + 3, middle, TOP - 31, "result", when=(0.45, 0.6))
    scene.arrow("mean on", WIRE, 416, 339, 416, "result", when=(0.75, 0.9))
    for name, when in ("decoder", (0.6, 0.7)), ("encoder", (0.9, 1)):  # both have weights
        scene.shapes[name] |= {"fill": "result", "stroke": "result", "tint": 0.35, "when": when}
    scene.shapes["decoder name"] |= {"text": "decoder: the weights change", "fill": "result",
                                     "when": (0.6, 0.7)}  # fmt: skip


PICTURES = [self_attention_filling, training_and_inference_decoder]
