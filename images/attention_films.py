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

WIDTHS = (82, 56, 82, 104, 104)  # of the columns: room for their longest words on a phone
COLUMNS = [3 + sum(WIDTHS[:i]) + 6 * i + WIDTHS[i] / 2 for i in range(5)]
LEFT, RIGHT, WIRE = 3, 455, 469  # where the decoder begins and ends, and the encoder's way to it
SOURCE, TARGET = "Un chien monte", "A dog climbs up"
TOP, FOOT = 250, 302  # of the decoder's lines, in training; in writing all of it is higher
SHIFTED, LINES, MASK, PASS, GIVEN, LOSS, MEAN = range(1, 8)  # training's moments; then it writes


def training_and_inference_decoder():
    """A film: a decoder is trained on Un chien monte and its target, A dog climbs up, and then
    writes. The target, shifted one place to the right, goes in after bos. Lines lead up to each of
    five positions from the inputs up to its own; that from climbs to the third is crossed out. Dots
    run up all lines at once: one pass, which predicts A, dog, is, up and eos. The third loss is by
    far the largest. The losses' mean goes back into decoder and encoder, whose weights change. In
    writing, bos goes in alone. Dots run up to the first position, and out comes A. It falls down
    and becomes the second input, and the next pass begins. The third pass gives is. So is goes in
    at the fourth position, where training had climbs, and what follows is climbing, not up. The
    fifth gives eos. Each pass leaves a line, one word longer than the line before. In the end,
    training's dots run once more, all at once, above the five lines of writing.
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
        f"A translator is to learn that “{SOURCE}” means “{TARGET}”. This is its target.",
        "The decoder is also given the target, shifted one place to the right, after <bos>. So "
        "position 2, given “A”, has to predict “dog”.",
        "Lines show what each position can see: the inputs up to its own.",
        f"Position 3 has to predict “{wanted[2]}”. That's the input of position 4, so the mask "
        "cuts its line to position 3.",
        f"In one pass, all {n} inputs go up through the decoder, and out come {n} predictions.",
        f"Position 3 predicted “{guessed[2]}”. Position 4 was given the target's “{wanted[2]}” all "
        f"the same, so it predicted “{guessed[3]}”.",
        f"“{guessed[2]}” isn't the target of position 3, so its loss is {high:.1f}. No other is "
        f"above {low:.1f}.",
        f"The mean of the {n} losses, {sum(losses) / n:.1f}, goes back and changes the weights of "
        "decoder and encoder.",
        "When the model writes, nobody knows a target. In pass 1, <bos> goes in alone, and "
        f"“{own[0]}” comes out.",
        f"“{own[0]}” falls down and becomes input 2. In pass 2, both inputs go up, and "
        f"“{own[1]}” comes out.",
        f"“{own[1]}” becomes input 3. Pass 3 gives “{own[2]}”, as in training.",
        f"But now position 4 is given “{own[2]}”, where training gave it “{wanted[2]}”. So pass 4 "
        f"gives “{own[3]}”, and not “{guessed[3]}”.",
        f"Pass 5 gives <eos>, the end. “{' '.join(own[:-1])}” isn't the target, but it's a good "
        "translation, too.",
        f"Training knows all {n} inputs: {n} predictions in 1 pass. In writing, each input after "
        f"<bos> comes out of the pass before: {len(own)} tokens in {len(own)} passes.",
    ]
    return film([_both(wanted, guessed, losses, own, *moment) for moment in enumerate(told)], 454)


def _both(wanted, guessed, losses, own, moment, caption):
    """Draw a moment of training, or a pass of writing; in the end, training above the passes."""
    passes, last = min(max(moment - MEAN, 0), len(own)), moment == MEAN + 6
    trains, up = not passes or last, 134 * (passes > 0)  # writing has no targets and no losses
    key = moment in (SHIFTED, MASK, PASS, LOSS, MEAN, MEAN + 1, MEAN + 4, MEAN + 6)
    scene = Scene(caption, 3.4 if moment in (PASS, MEAN) or passes else 1.8, key)
    _machine(scene, moment, up)
    # When inputs come, when the dots run, when outputs come out: parts of the movement.
    come, run, out = (0, 0.3), (0.35, 0.7), (0.7, 1)
    if passes == 1 or last:  # all else moves first
        come, run, out = (0.2, 0.4), (0.45, 0.75), (0.75, 1)
    below, above, targets = 374 - up, 198 - up, 68  # the rows
    kinds, gives = (("input", "output"), guessed) if trains else (("given", "own"), own)
    takes = ["<bos>", *(wanted if trains else own)]
    entered, left = passes or (5 if moment else 1), passes or 5 * (moment >= PASS)
    meant = {GIVEN: 3, LOSS: 2, MEAN + 4: 3}.get(moment)
    lit = {LINES: range(5), MASK: (2,), PASS: range(5), GIVEN: (3,), MEAN + 6: range(5)}
    lit = lit.get(moment, (passes - 1,))
    for i, x in enumerate(COLUMNS):
        here, card = i == meant, {"height": 30, "width": WIDTHS[i], "bold": False}
        if moment >= LINES and i < entered:
            _sees(scene, i, i in lit, moment, up, run)
        if i < entered:  # what comes from the target, or falls down from the pass before
            start = (COLUMNS[i - 1], targets if trains else above) if i and not last else None
            colour, full = "query" if trains else "key" if i else "muted", here and moment != LOSS
            scene.card(f"{kinds[0] if i else 'input'} {i}", x, below, takes[i], colour, start=start,
                       full=full or moment == PASS or last, when=come,
                       opacity=0.5 if (i, moment) == (3, MASK) else 1, **card)  # fmt: skip
        if i < left:
            scene.card(f"{kinds[1]} {i}", x, above, gives[i], "key", full=here, when=out,
                       start=(x, above + 40), **card)  # fmt: skip
        if not passes:
            scene.card(f"target {i}", x, targets, wanted[i], "query", full=here and moment == LOSS,
                       start=(60 + 20 * i, 416), when=(0.1 * i, 0.6 + 0.1 * i), **card)  # fmt: skip
        if i < passes:  # each pass leaves a line
            said = f"{i + 1}:  {' '.join(['<bos>', *own[:i]])} → {own[i]}"
            when = (0.4 + 0.1 * i, 0.5 + 0.1 * i) if last else (0.9, 1)
            scene.text(f"line {i}", LEFT, 350 + 24 * i, said, "key" if last else "ink",
                       anchor="start", when=when)  # fmt: skip
    if moment == MASK:
        scene.line("blocked", [(COLUMNS[3], FOOT), (COLUMNS[2], TOP)], "ink")
        middle = (COLUMNS[2] + COLUMNS[3]) / 2, (TOP + FOOT) / 2 + 10
        scene.text("cross", *middle, "×", size=30, bold=True)
    if moment in (LOSS, MEAN):
        _losses(scene, losses, moment == MEAN)
    if moment == MEAN + 4:
        said = f"in training: {wanted[2]} → {guessed[3]}"
        scene.text("training's", RIGHT, 16, said, "query", anchor="end", room=300)
    return scene


def _machine(scene, moment, up):
    """Draw what stays: the encoder, which reads the source, and the decoder; and name the rows."""
    passes, y, middle = moment - MEAN, 416 - up, (TOP + FOOT) / 2 - up
    how = {"when": (0, 0.3)} if passes == 1 else {}
    title, colour = f"pass {passes}", "key"
    if passes < 1 or passes == 6:
        title, colour = f"training{': 1 pass' * (moment >= PASS)}", "query"
    scene.text("title", LEFT, 16, title, colour, anchor="start", bold=True, when=(0, 0.2))
    rows = ("target", 42, "query", 0, MEAN), ("loss", 112, "result", LOSS, MEAN)
    rows += ("output", 174 - up, "key", PASS, 99), ("input", 351 - up, "query", SHIFTED, 99)
    for name, at, ink, since, until in rows:
        if since <= moment <= until:
            scene.text(name, LEFT, at, name, ink, anchor="start", **how)
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
    for j in range(i + 1):  # one position after the other
        ends = [(COLUMNS[j], FOOT - up), (COLUMNS[i], TOP - up)]
        strong = {"stroke": "query", "line": 3.5} if lit else {"opacity": 0.45}
        when = (0.12 * i, 0.12 * i + 0.18) if moment == LINES else (0, 0.3)
        scene.line(f"sees {i} {j}", ends, **strong, when=when)
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
        scene.rect(f"loss {i}", x - 22, low - high, 44, high, "result", round=0,
                   start={"y": foot, "height": 0}, when=(0, 0.35))  # fmt: skip
    if not mean:
        return
    words = f"mean loss {sum(losses) / n:.1f}"
    scene.text("mean", middle + 30, foot - 4, words, "result", anchor="start", bold=True,
               when=(0.35, 0.45))  # fmt: skip
    scene.arrow("mean down", middle, foot + 3, middle, TOP - 31, "result", when=(0.45, 0.6))
    scene.arrow("mean on", WIRE, 416, 339, 416, "result", when=(0.75, 0.9))
    for name, when in ("decoder", (0.6, 0.7)), ("encoder", (0.9, 1)):  # both have weights
        scene.shapes[name] |= {"fill": "result", "stroke": "result", "tint": 0.35, "when": when}
    scene.shapes["decoder name"] |= {"text": "decoder: the weights change", "fill": "result",
                                     "when": (0.6, 0.7)}  # fmt: skip


PICTURES = [self_attention_filling, training_and_inference_decoder]
