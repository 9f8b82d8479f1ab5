"""Films: what happens one step after the other."""

import torch
import torch.nn.functional as F

from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, tint
from helpers.pretrained import toy_models
from helpers.pretrained.translator import load_translator
from helpers.text.tokenization import BOS, EOS
from helpers.transformer.decoding import greedy
from helpers.widgets.bahdanau_stepper import BahdanauStepper
from helpers.widgets.svg import number
from images.kit import PALE, WIDE, Sheet, box, cells, elbow, paced, token

FRENCH = "le chat noir voit le chien ."
SEARCH = "un médecin cherche la lettre ."  # no adjective: lesson 02 asks later where a noun looks


def _trained(french=FRENCH):
    """Translate an example with the model of lesson 02; return words and weights."""
    toy = toy_models.load_toy("additive")
    read = [*french.split(), "<eos>"]
    (written,) = toy.translate([french])
    source = torch.tensor([toy.source.encode(french, eos=True)])
    target = torch.tensor([toy.target.encode(written, bos=True)])
    weights = toy.model.attention_maps(source, target)[0]  # (T, S)
    return read, [*written.split(), "<eos>"], weights


def hidden_state_travelling():
    """A film: words enter a recurrent encoder one after the other; the hidden state travels along
    the chain and ends as the context vector. The decoder writes word by word, and at every step it
    gets the context vector and the word just written.
    """
    read, written, _ = _trained()
    toy = toy_models.load_toy("gru")
    source = torch.tensor([toy.source.encode(FRENCH, eos=True)])
    with torch.inference_mode():
        states = toy.model.encode(source)[0][0, :, :4]  # four of a state's numbers
    last = len(read) + len(written)
    return [_chain(read, written, states, step) for step in range(1, last + 1)]


def _chain(read, written, states, step):
    sheet = Sheet(WIDE, 330)
    gap = (WIDE - 60) / max(len(read), len(written))
    sheet.text(20, 30, "encoder reads", BLUE, bold=True)
    sheet.text(20, 312, "decoder writes", ORANGE, bold=True)
    for i, word in enumerate(read):
        x, done = 50 + (i + 0.4) * gap, i < step
        token(sheet, x, 66, word, BLUE if done else PALE, gap - 20)
        box(sheet, x - 28, 100, 56, 34, "h", BLUE if done else PALE)
        if i:
            sheet.arrow(x - gap + 28, 117, x - 30, 117, BLUE if done else PALE, 3 if done else 2)
    steps = max(0, step - len(read))
    for i, word in enumerate(written):
        x, done = 50 + (i + 0.4) * gap, i < steps
        box(sheet, x - 28, 200, 56, 34, "s", ORANGE if done else PALE)
        if i:
            sheet.arrow(x - gap + 28, 217, x - 30, 217, ORANGE if done else PALE, 3 if done else 2)
        if i and done:  # the word just written goes in
            sheet.arrow(x - gap + 28, 252, x - 30, 229, ORANGE)
        if done:
            token(sheet, x, 270, word, ORANGE, gap - 20)
    at = min(step, len(read)) - 1
    x = 50 + (at + 0.4) * gap
    shades = [[min(1.0, abs(v)) for v in states[at].tolist()]]
    cells(sheet, x - 36, 144, [[0] * 4], PURPLE, 18, numbers=False, shades=shades)
    words = "the context vector: it goes into every step" if step >= len(read) else "state"
    anchor = "end" if at > 3 else "start"
    sheet.text(x - 46 if at > 3 else x + 46, 159, words, PURPLE, anchor=anchor)
    if step >= len(read):
        places = [50 + (i + 0.4) * gap for i in range(max(1, steps))]
        ends = [*places, 50 + (len(read) - 0.6) * gap]
        sheet.path([(ends[-1], 163), (ends[-1], 182)], PURPLE, 2.5)
        sheet.path([(min(ends), 182), (max(ends), 182)], PURPLE, 2.5)
        for x in places:
            sheet.arrow(x, 182, x, 198, PURPLE, 2.5)
    return sheet


def decoder_looking_back():
    """A film: a doctor looks for the letter is written word by word, and lines go from each word to
    the French words, un médecin cherche la lettre, as thick as their weights. Doctor, looks and
    letter give 0.99 to médecin, cherche and lettre. For shares its weight, 0.57 to cherche and 0.42
    to la. At the end all lines are shown.
    """
    read, written, weights = _trained(SEARCH)
    steps = [[step] for step in range(len(written))]
    return [_looking(read, written, weights, shown) for shown in [*steps, range(len(written))]]


def _looking(read, written, weights, shown):
    sheet = Sheet(WIDE, 300)
    gap = (WIDE - 40) / max(len(read), len(written))
    places = [20 + (i + 0.5) * gap for i in range(max(len(read), len(written)))]
    sheet.text(20, 26, "French, read by the encoder", BLUE, bold=True)
    sheet.text(20, 282, "English, written by the decoder", ORANGE, bold=True)
    for step in shown:
        for x, weight in zip(places, weights[step].tolist(), strict=False):
            if weight > 0.02:
                sheet.line(places[step], 211, x, 105, PURPLE, round(1 + 9 * weight, 2))
                if len(shown) == 1:
                    sheet.text(x, 58, f"{weight:.2f}", PURPLE, anchor="middle", bold=True)
    for x, word in zip(places, read, strict=False):
        token(sheet, x, 86, word, BLUE, gap - 16)
    for i, (x, word) in enumerate(zip(places, written[: shown[-1] + 1], strict=False)):
        token(sheet, x, 230, word, ORANGE if i in shown else PALE, gap - 16)
    return sheet


@paced(2.5)
def bahdanau_step():
    """A film of one decoding step: a trained model has written the, and is about to write black.
    Its state s is compared with the encoder states of le, chat, noir, dort, the full stop and eos,
    one pair at a time, by v times tanh of W s plus U h, which gives one score each. For noir this
    is shown in numbers, four of 128 entries: W s plus U h, then tanh of the sum, which lies between
    -1 and 1, then the dot product with v, which gives 12.1. A softmax turns the scores into
    weights: 0.15 for chat, 0.85 for noir. The context is the sum of the weighted states. The
    context, the state s and the previous word make the next state, which writes black.
    """
    toy = toy_models.load_toy("additive")
    numbers = BahdanauStepper(
        toy.model, toy.source, toy.target, "le chat noir dort .", output_step=2
    ).numbers
    layer, noir = toy.model.decoder.attention, numbers["encoder"][2]
    with torch.inference_mode():
        pair = layer.query_proj(numbers["state"]), layer.key_proj(noir), layer.energy.weight[0]
    return [_looking_once(numbers, pair, *moment) for moment in _STAGES]


# What has happened: 1 scores (of so many source words), 2 weights, 3 the context, 4 the next word;
# and how far one pair is opened: 1 the sum, 2 its tanh, 3 the score.
_STAGES = [(1, 1, 0), (1, 2, 0), (1, 3, 1), (1, 3, 2), (1, 3, 3)]
_STAGES += [(1, 6, 0), (2, 6, 0), (3, 6, 0), (4, 6, 0)]


def _looking_once(numbers, pair, stage, seen, opened):
    sheet = Sheet(WIDE, 534)
    words, small = numbers["source"], "₁₂₃₄₅₆"
    energies, shares = numbers["energies"].tolist(), numbers["alpha"].tolist()
    places = [236 + 104 * i for i in range(len(words))]
    middle, newest, unfinished = sum(places[:4]) / 4, seen - 1, 0 < opened < 3
    caption = (
        "1  Score the source words, one pair at a time.",
        "2  A softmax turns the scores into weights that sum to 1.",
        "3  Multiply every encoder state by its weight, and add them up.",
        "4  The context, the state and the previous word give the next word.",
    )[stage - 1]
    sheet.text(20, 28, caption, INK, 18, bold=True)
    if stage == 1:
        n = small[newest]
        rule = f"e{n} = v · tanh(W s + U h{n})"
        if not unfinished:
            rule += f" = {number(energies[newest], 1)}"
        sheet.text(min(places[newest], 640), 100, rule, INK, 18, "middle", bold=True)
    box(sheet, 20, 258, 120, 48, "state s", ORANGE, bold=True)
    sheet.text(80, 246, "decoder", ORANGE, 16, "middle")
    reached = places[newest] - 18
    sheet.path([(141, 282), (reached, 282)], ORANGE, 2)
    sheet.text(158, 274, "W", ORANGE, 16, "middle", bold=True)
    there = PURPLE if stage > 1 else PALE
    box(sheet, places[0] - 46, 132, places[-1] - places[0] + 92, 32, "softmax", there)
    for y, name, colour in (
        (124, "weights", there),
        (199, "scores", GREY),
        (344, "encoder", BLUE),
    ):
        sheet.text(places[-1] + 58, y, name, colour)
    for i, (x, word, energy, share) in enumerate(zip(places, words, energies, shares, strict=True)):
        if stage > 2 and share > 0.005:
            end = middle + 0.5 * (x - middle)
            sheet.arrow(x, 368, end, 428, PURPLE, 18 * share, head=9 + 12 * share)
            side = -1 if x < middle else 1
            sheet.text(
                x + 0.25 * (end - x) + 50 * side, 396, f"× {share:.2f}", PURPLE, 16, "middle", True
            )
        box(sheet, x - 46, 308, 92, 58, f"{word}\nh{small[i]}", BLUE)
        now = i == newest if stage == 1 and seen < 6 else i < seen
        box(sheet, x - 34, 234, 68, 28, "tanh", GREY if now else PALE)
        if now:
            sheet.arrow(x, 307, x, 262, BLUE)
            sheet.text(x + 8, 298, "U", BLUE, 16, bold=True)
            sheet.arrow(x - 18, 282, x - 18, 262, ORANGE)
            sheet.arrow(x, 233, x, 206, GREY)
            sheet.text(x + 8, 225, "v", GREY, 16, bold=True)
        if i < seen and not (unfinished and i == newest):
            sheet.text(x, 199, number(energy, 1), INK, 16, "middle", bold=True)
            sheet.arrow(x, 183, x, 166, there)
        if stage > 1:
            sheet.rect(x - 46, 126 - 60 * share, 92, 60 * share, PURPLE)
            sheet.text(x, 120 - 60 * share, f"{share:.2f}", PURPLE, 16, "middle", bold=True)
    if opened:
        _opened(sheet, small[newest], *pair, opened)
    if stage > 2:
        box(sheet, middle - 120, 430, 240, 42, "context c", PURPLE, bold=True)
        parts = [f"{w:.2f} h{n}" for w, n in zip(shares, small, strict=True) if w > 0.005]
        sheet.text(middle, 494, f"c = {' + '.join(parts)}", PURPLE, 16, "middle")
    if stage > 3:
        sheet.arrow(middle + 121, 451, 648, 451, PURPLE)
        box(sheet, 650, 425, 112, 52, "next state", ORANGE, bold=True)
        token(sheet, 855, 406, numbers["input"][1], ORANGE, 90)
        sheet.text(855, 383, "previous word", ORANGE, 16, "middle")
        elbow(sheet, [(809, 406), (706, 406), (706, 423)], ORANGE)
        sheet.arrow(763, 451, 808, 451, ORANGE)
        token(sheet, 855, 451, numbers["target"][1], ORANGE, 90)
        sheet.text(855, 488, "next word", ORANGE, 16, "middle")
        elbow(sheet, [(80, 307), (80, 516), (706, 516), (706, 479)], ORANGE)
    return sheet


def _opened(sheet, n, from_query, from_key, v, stage):
    """Draw the score of one pair in numbers: four entries of every vector on the way."""
    total = from_query + from_key
    strips = [
        (60, "W s", ORANGE, from_query, 1),
        (176, f"U h{n}", BLUE, from_key, 1),
        (292, "sum", GREY, total, 1),
        (450, "tanh", GREY, total.tanh(), 2),
        (566, "v", GREY, v, 3),
    ]
    signs = [(150, "+", 1), (266, "=", 1), (403, "tanh →", 2), (540, "·", 3), (656, "=", 3)]
    for x, name, colour, values, first in strips:
        if stage >= first:
            sheet.text(x + 32, 402, name, colour, 16, "middle", bold=True)
            for i, value in enumerate(values[2:6].tolist()):
                sheet.rect(x, 410 + 28 * i, 64, 28, tint(colour), colour)
                sheet.text(x + 32, 430 + 28 * i, number(value), INK, 16, "middle")
    for x, sign, first in signs:
        if stage >= first:
            sheet.text(x, 472, sign, INK, 16, "middle", bold=True)
    if stage == 3:
        sheet.text(672, 472, number((total.tanh() @ v).item(), 1), INK, 20, bold=True)
        sheet.text(672, 500, f"summed over all {len(v)} entries", GREY)
    sheet.text(672, 522, f"(shown: 4 of {len(v)} entries)", GREY)


@paced(2)
def noun_and_adjectives():
    """A film: car collects its adjectives. Its query (0, 3, 0, 0, 0) meets the keys of the, small,
    red, car and stops one after another. The dot products are 0, 3, 3, 0, 0, and a softmax makes
    the weights 0.47 for small and for red and 0.02 for each other word. In a plane of size and
    redness, 0.47 times the value of small moves car from (0, 0) to the left, then 0.47 times the
    value of red moves it up, so that it ends at (-0.47, 0.47).
    """
    return [_collecting(step) for step in range(10)]


_VECTORS = {  # noun, adjective, verb, size, redness: the vectors that lesson 03 makes up
    "the": [0.0, 0, 0, 0, 0],
    "small": [0, 1, 0, -1, 0],
    "red": [0, 1, 0, 0, 1],
    "car": [1, 0, 0, 0, 0],
    "stops": [0, 0, 1, 0, 0],
}
_ENTRIES = ("noun", "adj.", "verb", "size", "red")
_QUERY = [0.0, 3, 0, 0, 0]  # of car
_MATCHED, _ON_SIZE, _ON_COLOUR, _MOVED = 6, 7, 8, 9  # the steps after five comparisons


def _collecting(step):
    sheet = Sheet(WIDE, 404)
    words, keys = list(_VECTORS), torch.tensor(list(_VECTORS.values()))
    query = torch.tensor(_QUERY)
    scores = keys @ query
    weights = scores.softmax(-1).tolist()
    newest = step - 1 if 0 < step < _MATCHED else None
    share = weights[words.index("small")]
    caption = {
        0: "The query of car looks for adjectives. It meets the keys one after another.",
        _MATCHED: "A softmax turns the five scores into weights.",
        _ON_SIZE: f"So car takes {share:.2f} times the value of small,",
        _ON_COLOUR: f"and {share:.2f} times the value of red.",
        _MOVED: "Now car is smallish and reddish.",
    }.get(step)
    if newest is not None:
        entries = [number(k, 0) if k >= 0 else f"({number(k, 0)})" for k in keys[newest].tolist()]
        products = " + ".join(f"{q:.0f}·{k}" for q, k in zip(_QUERY, entries, strict=True))
        caption = f"query of car · key of {words[newest]} = {products} = {scores[newest]:.0f}"
    sheet.text(20, 28, caption, INK, 18, bold=True)
    for left, names in ((132, _ENTRIES), (484, _ENTRIES[3:])):
        for i, name in enumerate(names):
            sheet.text(left + 21 + 42 * i, 92, name, GREY, 16, "middle")
    sheet.text(132, 68, "query", BLUE, bold=True)
    sheet.text(193, 68, "·", INK, bold=True)
    sheet.text(206, 68, "key", ORANGE, bold=True)
    sheet.text(484, 68, "values", GREEN, bold=True)
    # The query stands above the key that it meets, and goes down the list.
    query_row = newest if newest is not None else 0 if step == 0 else len(words)
    at = 102 + 50 * query_row
    sheet.text(14, at + 27, "query of car", BLUE, 16, bold=True)
    _table(sheet, 132, at, query[None], BLUE, (42, 42), zeros=True, strong=True)
    for i, word in enumerate(words):
        y = 102 + 50 * (i if i < query_row else i + 1)
        passed = step in (_ON_SIZE, _ON_COLOUR) and words[step - _ON_SIZE + 1] == word
        matched = step >= _MATCHED and scores[i] > 0
        key_colour = ORANGE if i == newest or matched else PALE
        token(sheet, 70, y + 21, word, BLUE if word == "car" else key_colour, 96)
        met = (query != 0) & (i == newest)
        _table(sheet, 132, y, keys[i][None], key_colour, (42, 42), zeros=True, strong=met)
        value, value_colour = keys[i, 3:][None], GREEN if passed else PALE
        _table(sheet, 484, y, value, value_colour, (42, 42), zeros=True, strong=passed)
        if i < step:
            sheet.text(366, y + 28, f"{scores[i]:.0f}", INK, 20, "middle", bold=True)
        if step >= _MATCHED:
            sheet.rect(392, y + 9, 64 * weights[i], 24, PURPLE)
            sheet.text(397 + 64 * weights[i], y + 27, f"{weights[i]:.2f}", PURPLE, 16, bold=True)
    if step:
        sheet.text(366, 92, "score", INK, 16, "middle")
    if step >= _MATCHED:
        sheet.text(396, 92, "weight", PURPLE)
    _plane_of_car(sheet, step, share)
    return sheet


def _plane_of_car(sheet, step, share):
    """Draw where car is in the plane of size and redness, and what moved it there."""

    def place(size, redness):
        return 848 + 216 * size, 348 - 220 * redness

    sheet.line(*place(-1.18, 0), *place(0.3, 0), GREY)
    sheet.line(*place(0, -0.12), *place(0, 1.12), GREY)
    sheet.text(place(-1.18, 0)[0], 374, "small", GREY)
    sheet.text(place(0.3, 0)[0], 374, "big", GREY, anchor="end")
    sheet.text(place(0, 0)[0] + 12, 112, "red", GREY)
    if step == _ON_SIZE:
        sheet.arrow(*place(0, 0), *place(-1, 0), GREEN, 2)
        sheet.text(place(-1, 0)[0] - 14, place(-1, 0)[1] - 12, "value of small", GREEN)
    if step == _ON_COLOUR:
        sheet.arrow(*place(0, 0), *place(0, 1), GREEN, 2)
        sheet.text(place(0, 1)[0] - 14, place(0, 1)[1] + 24, "value of red", GREEN, anchor="end")
    corner, there = place(-share, 0), place(-share, share)
    if step >= _ON_SIZE:
        sheet.arrow(*place(0, 0), *corner, PURPLE, 5, head=12)
        sheet.text(
            corner[0] + 46, corner[1] + 28, f"{share:.2f} · small", PURPLE, 16, "middle", True
        )
    if step >= _ON_COLOUR:
        sheet.arrow(*corner, *there, PURPLE, 5, head=12)
        sheet.text(corner[0] - 12, 304, f"{share:.2f} · red", PURPLE, 16, "end", bold=True)
    if step == _MOVED:
        sheet.dot(*place(0, 0), 9, "white", BLUE, 2)
        sheet.line(*place(0, 0), *there, BLUE, 2, dash="6 5")
    now = place(0, 0) if step < _ON_SIZE else corner if step == _ON_SIZE else there
    sheet.dot(*now, 10, BLUE)
    sheet.text(now[0] + 14, now[1] - 14, "car", BLUE, 18, bold=True)


@paced(2.5)
def training_and_inference_decoder():
    """A film: the translator reads Une grande gare, on the left in training, on the right as it
    writes. In training the inputs are bos, A, large and station. One pass predicts A, large, train
    and eos; above them are the targets and the losses 0.1, 0.2, 1.8 and 0.3. The third prediction
    is wrong, but the next input is the true token, station. In writing each pass gives one token,
    which is the next input. The third is train, so train goes in, and the fourth is station, not
    eos. Five passes write A, large, train, station and eos. Below are the rows of the causal mask,
    one per input: training uses all four in one pass, each pass of writing one more.
    """
    translator = load_translator()
    source = translator.encode(["Une grande gare"])
    target = translator.tokenizer.encode("A large station", eos=True)
    with torch.inference_mode():
        logits = translator.model(source, torch.tensor([[BOS, *target[:-1]]]))[0]  # (T, V)
        written = greedy(translator.model.decoder_step(source), 1, BOS, EOS, max_len=10)[0]
    losses = F.cross_entropy(logits, torch.tensor(target), reduction="none").tolist()
    wanted, guessed, own = (
        [word.replace("▁", "") for word in translator.tokenizer.tokens(ids)]
        for ids in (target, logits.argmax(-1).tolist(), written)
    )
    return [_trained_and_written(wanted, guessed, losses, own, *moment) for moment in _SIDE_BY_SIDE]


# What is said, whether training's pass is done, the position that is meant, and passes of writing.
_SIDE_BY_SIDE = [
    ("Translate Une grande gare. In training, all true tokens go in at once.", False, None, 0),
    ("One pass gives a prediction at every position, and so a loss, −log p.", True, None, 0),
    ("Position 3 is wrong, so its loss is high. The true station goes in next.", True, 2, 0),
    ("Writing begins with <bos> alone. The first pass gives A, which goes in next.", True, None, 1),
    ("The second pass gives large.", True, None, 2),
    ("The third pass gives train. This time, train itself goes in next.", True, 2, 3),
    ("So the fourth token changes: station, where training had <eos>.", True, 3, 4),
    ("Five tokens took five passes.", True, 2, 5),
]
_COLUMN = 76  # pixels from one position to the next


def _trained_and_written(wanted, guessed, losses, own, caption, trained, meant, passes):
    sheet = Sheet(WIDE, 486)
    sheet.text(20, 28, caption, INK, 18, bold=True)
    predicted = dict(enumerate(guessed)) if trained else {}
    done = ": 1 pass" if trained else ""
    _decoder(sheet, 20, f"training{done}", ["<bos>", *wanted[:-1]], predicted, meant, BLUE)
    goes_in = meant is not None and not passes
    if goes_in:
        _card(sheet, 146 + _COLUMN * (meant + 1), 288, wanted[meant], BLUE, meant=True)
    for i, (word, loss) in enumerate(zip(wanted, losses, strict=True)):
        x = 146 + _COLUMN * i
        _card(sheet, x, 90, word, BLUE, goes_in and i == meant)
        if trained:
            sheet.rect(x - 28, 162 - 15 * loss, 56, 15 * loss, PURPLE)
            sheet.text(x, 156 - 15 * loss, f"{loss:.1f}", PURPLE, 16, "middle", bold=True)
    sheet.text(20, 96, "target", BLUE)
    sheet.text(20, 160, "−log p", PURPLE)
    sheet.text(20, 474, "causal mask: all rows at once", GREY)

    done = ["", ": 1 pass"][passes] if passes < 2 else f": {passes} passes"
    given = ["<bos>", *own[: max(passes - 1, 0)]]
    predicted = {passes - 1: own[passes - 1]} if passes else {}
    _decoder(sheet, 434, f"writing{done}", given, predicted, meant if passes else None, ORANGE)
    if 0 < passes < len(own):  # the newest token is the next input
        x = 560 + _COLUMN * passes
        elbow(sheet, [(x - _COLUMN + 37, 184), (x, 184), (x, 270)], ORANGE)
        _card(sheet, x, 288, own[passes - 1], ORANGE, passes - 1 == meant)
    sheet.text(434, 474, "causal mask: one more row per pass", GREY)
    return sheet


def _decoder(sheet, left, title, given, predicted, meant, colour):
    """Draw a decoder: its inputs, some of its predictions, and the mask's rows, one per input."""
    sheet.text(left, 62, title, colour, 18, bold=True)
    sheet.text(left, 190, "predicted", ORANGE)
    sheet.text(left, 294, "inputs", colour)
    box(sheet, left, 212, 80, 40, "memory", PURPLE)
    sheet.arrow(left + 81, 232, left + 90, 232, PURPLE)
    box(sheet, left + 91, 212, _COLUMN * len(given) - 6, 40, "decoder", GREY)
    newest = max(predicted, default=None)
    for i, word in enumerate(given):
        x, y = left + 126 + _COLUMN * i, 318 + 26 * i
        _card(sheet, x, 288, word, colour)
        sheet.arrow(x, 270, x, 253)
        sheet.text(left + 80, y + 19, word, colour, 16, "end")
        if i in predicted:
            sheet.arrow(x, 211, x, 202)
            _card(sheet, x, 184, predicted[i], ORANGE, i == meant)
        for j in range(len(given)):
            allowed = j <= i and newest is not None
            fill = (colour if i in predicted else PALE) if allowed else "white"
            sheet.rect(left + 88 + _COLUMN * j, y, _COLUMN, 26, fill, GREY, 1)


def _card(sheet, x, y, word, colour, meant=False):
    """Draw a token, filled if it is the one that is meant."""
    token(sheet, x, y, word, colour, _COLUMN - 4)
    if meant:
        sheet.rect(x - _COLUMN / 2 + 2, y - 17, _COLUMN - 4, 34, colour, colour, 2, 6)
        sheet.text(x, y + 6, word, "white", anchor="middle", bold=True)


@paced(2.5, once=True)
def query_key_value():
    """A film: three matrices, 5 by 5 with one or two numbers each, turn the vectors of the, small,
    red, car and stops into three tables, blue queries, orange keys and green values. Car's row of x
    has a 1 under noun, which picks the row noun of W_Q, so the query of car gets its 3 under
    adjective. All the other queries are zero. W_K and W_V do the same for the keys and values of
    small and red. Then a grid of weights fills: car scores 0, 3, 3, 0, 0 and gives 0.47 to small
    and to red and 0.02 to each other word, and the four other rows are 0.20 throughout. At the end
    0.47 times the values of small and red flow into car, which becomes (1, 0, 0, -0.47, 0.47).
    """
    return [_projecting(step) for step in range(12)]


_PICKS, _QUERY_OF_CAR, _QUERIES, _KEYS, _VALUES, _SCORES, _WEIGHTS = range(1, 8)
_EVEN, _TAKES_SIZE, _TAKES_COLOUR, _HAS_BOTH = range(8, 12)
_BAND, _TOP, _LOW = 180, 120, 20  # pixels: from matrix to matrix, the first's top, a row's height
_X_AT, _MATRIX_AT, _TABLE_AT, _WIDE = 64, 254, 378, 24  # the left edges, and a column's width
_GRID = (650, 108, 52, 34)  # of weights: its left and top, a cell's width and height

_KINDS = (
    (BLUE, "W_Q", "query: what it looks for"),
    (ORANGE, "W_K", "key: what it matches"),
    (GREEN, "W_V", "value: what it passes on"),
)


def _projecting(step):
    sheet = Sheet(WIDE, 582)
    words, x = list(_VECTORS), torch.tensor(list(_VECTORS.values()))
    matrices = torch.zeros(3, 5, 5)  # W_Q, W_K, W_V, as in lesson 03
    matrices[0, 0, 1] = 3
    matrices[1, 1, 1] = matrices[2, 3, 3] = matrices[2, 4, 4] = 1
    queries, keys, values = tables = x @ matrices
    scores = queries @ keys.T
    weights = scores.softmax(-1)
    car, givers = words.index("car"), [words.index("small"), words.index("red")]
    share = f"{weights[car].max():.2f}"
    for n, (colour, name, means) in enumerate(_KINDS):  # what all sheets share comes first
        _project(sheet, n, colour, name, means, matrices[n], words)
    _entries(sheet, _X_AT, _TOP + _BAND, _WIDE)
    sheet.text(_X_AT - 8, _TOP + _BAND - 8, "x", INK, 18, "end", bold=True)
    _table(sheet, _X_AT, _TOP + _BAND, x, GREY, (_WIDE, _LOW))
    _names(sheet, _X_AT - 6, _TOP + _BAND, words, "end")

    caption = (
        "Five words, five vectors x, and three matrices. An empty cell is a zero.",
        "The vector of car has a 1 under noun. It picks the row noun of W_Q,",
        "and 1 times that row is the query of car: a 3 under adj.",
        "The other words go through W_Q too. They aren't nouns, so they get zeros.",
        "W_K makes the keys: adjectives get a 1 under adj.",
        "W_V makes the values: only size and redness get through.",
        f"The query of car · the five keys: {', '.join(f'{s:.0f}' for s in scores[car])}.",
        f"The softmax turns them into weights: {share} for small and red.",
        "The other queries are zeros, so their scores are 0 and their weights 0.20.",
        f"Now car takes {share} times the value of small,",
        f"and {share} times the value of red.",
        "The word car is still a noun. Now it's smallish and reddish too.",
    )[step]
    sheet.text(20, 28, caption, INK, 18, bold=True)
    for n, first in enumerate((_QUERY_OF_CAR, _KEYS, _VALUES)):
        made = step >= first
        colour, y = _KINDS[n][0] if made else PALE, _TOP + _BAND * n
        _table(sheet, _TABLE_AT, y, tables[n] * made, colour, (_WIDE, _LOW), strong=made)
    now = {_PICKS: 0, _QUERY_OF_CAR: 0, _QUERIES: 0, _KEYS: 1, _VALUES: 2}.get(step)
    if now is not None:
        pairs = (((car, 0),), tuple((i, 1) for i in givers), ((givers[0], 3), (givers[1], 4)))[now]
        _carry(sheet, now, x, matrices[now], pairs, done=step != _PICKS)
        if step >= _QUERIES:  # all rows at once
            y = _TOP + _BAND * now
            sheet.rect(_X_AT, _TOP + _BAND, 5 * _WIDE, 5 * _LOW, "none", _KINDS[now][0], 4, 4)
            sheet.rect(_TABLE_AT, y, 5 * _WIDE, 5 * _LOW, "none", _KINDS[now][0], 4, 4)
    if step in (_PICKS, _QUERY_OF_CAR):  # the product, term by term
        for j, (entry, name) in enumerate(zip(x[car].tolist(), _ENTRIES, strict=True)):
            ink, y = BLUE if entry else GREY, _TOP + _LOW * (j + 0.5) + 6
            sheet.text(640, y, "+" if j else "", GREY)
            sheet.text(660, y, f"{entry:.0f} × row {name}", ink, 16, bold=entry != 0)
        if step == _QUERY_OF_CAR:
            sheet.text(640, _TOP + _LOW * 5.5 + 12, "= query of car", BLUE, 16, bold=True)
    if step >= _SCORES:
        _filling_from_tables(sheet, words, scores, weights, car, step)
    if step >= _TAKES_SIZE:
        _adding(sheet, x[car], givers[: step - _EVEN], weights[car], values, step == _HAS_BOTH)
    return sheet


def _entries(sheet, x, y, wide):
    """Write the five entries' names above the columns of a table whose corner is (x, y)."""
    for j, name in enumerate(_ENTRIES):
        sheet.text(x + wide * (j + 0.5) + 6, y - 5, name, GREY, turn=90)


def _project(sheet, n, colour, name, means, matrix, words):
    """Draw one of three matrices, with the names of its rows and columns, and its table's."""
    y = _TOP + _BAND * n
    _entries(sheet, _MATRIX_AT, y, _LOW)
    sheet.text(_MATRIX_AT - 6, y - 8, name, colour, 16, "end", bold=True)
    _table(sheet, _MATRIX_AT, y, matrix, colour, (_LOW, _LOW))
    _names(sheet, _MATRIX_AT - 6, y, _ENTRIES, "end", colour=GREY)
    _entries(sheet, _TABLE_AT, y, _WIDE)
    sheet.text(_TABLE_AT, y - 54, means, colour, 16, bold=True)
    _names(sheet, _TABLE_AT + 5 * _WIDE + 6, y, words, "start")


def _carry(sheet, n, x, matrix, pairs, done):
    """Light rows of x, the row of a matrix that each one picks, and the rows that come of it."""
    colour, y = _KINDS[n][0], _TOP + _BAND * n
    for k, (i, entry) in enumerate(pairs):
        from_y, to_y, out_y = (
            top + _LOW * (row + 0.5) for top, row in ((_TOP + _BAND, i), (y, entry), (y, i))
        )
        _light(sheet, _X_AT, _TOP + _BAND, x, i, entry, colour, _WIDE)
        _light(sheet, _MATRIX_AT, y, matrix, entry, None, colour, _LOW)
        bend = 192 + 7 * k
        left = _X_AT + 5 * _WIDE
        elbow(sheet, [(left + 2, from_y), (bend, from_y), (bend, to_y), (208, to_y)], colour, 2.5)
        if done:
            right = _MATRIX_AT + 5 * _LOW
            sheet.arrow(right + 3, to_y, _TABLE_AT - 2, out_y, colour, 2.5)
            sheet.rect(_TABLE_AT, y + _LOW * i, 5 * _WIDE, _LOW, "none", colour, 4, 3)


def _light(sheet, x, y, rows, i, entry, colour, wide):
    """Frame a row of a table, and fill one of its entries, or all that aren't zero."""
    for j in range(5) if entry is None else [entry]:
        if rows[i, j]:
            sheet.rect(x + wide * j, y + _LOW * i, wide, _LOW, colour, opacity=0.9)
            middle = x + wide * (j + 0.5), y + _LOW * (i + 0.5) + 6
            sheet.text(*middle, number(rows[i, j].item(), 0), "white", 16, "middle", bold=True)
    sheet.rect(x, y + _LOW * i, 5 * wide, _LOW, "none", colour, 4, 3)


def _filling_from_tables(sheet, words, scores, weights, car, step):
    """Draw the grid of scores, then weights, and what makes the rows that are new."""
    left, top, wide, high = _GRID
    title = "scores" if step == _SCORES else "weights"
    sheet.text(left + 5 * wide, top - 36, title, PURPLE, 16, "end", bold=True)
    for j, word in enumerate(words):
        sheet.text(left + wide * (j + 0.5), top - 8, word, ORANGE, 16, "middle", bold=True)
    _names(sheet, left - 6, top, words, "end", high=high, colour=BLUE)
    known = (torch.arange(len(words)) == car)[:, None] | torch.tensor(step >= _EVEN)
    if step == _SCORES:
        _table(sheet, left, top, scores * known, PURPLE, (wide, high))
        for j in (scores[car] == 0).nonzero().flatten().tolist():
            sheet.text(
                left + wide * (j + 0.5), top + high * (car + 0.5) + 6, "0", INK, 16, "middle"
            )
    else:
        _table(sheet, left, top, weights * known, PURPLE, (wide, high), digits=2, shaded=True)
    if step > _EVEN:
        sheet.rect(left, top + high * car, 5 * wide, high, "none", PURPLE, 4, 4)
        return
    new = [car] if step < _EVEN else [i for i in range(len(words)) if i != car]
    for i in new:
        sheet.rect(_TABLE_AT, _TOP + _LOW * i, 5 * _WIDE, _LOW, "none", BLUE, 4, 3)
        sheet.rect(left, top + high * i, 5 * wide, high, "none", BLUE, 4, 4)
        to = top + high * (i + 0.5)
        sheet.arrow(556, _TOP + _LOW * (i + 0.5), 588, to, BLUE, 2.5)
    sheet.rect(_TABLE_AT, _TOP + _BAND, 5 * _WIDE, 5 * _LOW, "none", ORANGE, 4, 4)


def _adding(sheet, vector, givers, weights, values, done):
    """Draw the weighted values that flow into a word, and in the end what it becomes."""
    left, wide, high = _GRID[0], _GRID[2], 30
    for j, name in enumerate(_ENTRIES):
        sheet.text(left + wide * (j + 0.5), 430, name, GREY, 16, "middle")
    sheet.text(left - 6, 459, "x of car", INK, 16, "end")
    _table(sheet, left, 438, vector[None], GREY, (wide, high), digits=2)
    for n, i in enumerate(givers):
        y, row = 474 + 34 * n, _TOP + 2 * _BAND + _LOW * i
        sheet.rect(_TABLE_AT, row, 5 * _WIDE, _LOW, "none", GREEN, 4, 3)
        sheet.arrow(556, row + _LOW / 2, 584, y + 15, GREEN, 6, head=14)
        sheet.text(left - 6, y + 21, f"{weights[i]:.2f} ×", PURPLE, 16, "end", bold=True)
        _table(sheet, left, y, weights[i] * values[i][None], GREEN, (wide, high), digits=2)
    if done:
        sheet.text(left - 6, 567, "car now", BLUE, 16, "end", bold=True)
        _table(sheet, left, 546, (vector + weights @ values)[None], BLUE, (wide, high), digits=2)


def _names(sheet, x, y, words, anchor, high=_LOW, colour=INK):
    """Write the words beside the rows of a table."""
    for i, word in enumerate(words):
        sheet.text(
            x, y + high * (i + 0.5) + 6, word, colour, 16, anchor, bold=colour in (BLUE, ORANGE)
        )


def _table(sheet, x, y, rows, colour, size, digits=0, strong=False, shaded=False, zeros=False):
    """Draw a matrix as a grid that fills only what isn't zero, strongly where told."""
    wide, high = size
    width, height = wide * rows.shape[1], high * rows.shape[0]
    strong = torch.as_tensor(strong).expand(rows.shape)
    sheet.rect(x, y, width, height, "white")
    for i, j in torch.cartesian_prod(*map(torch.arange, rows.shape)).tolist():
        entry, at = rows[i, j].item(), (x + wide * j, y + high * i)
        # Squared, a weight of 0.47 stands out among weights of 0.20.
        share = 4 * entry**2 if shaded else 0.9 if strong[i, j] else 0.25
        if entry:
            sheet.rect(*at, wide, high, colour, opacity=share)
        if entry or zeros:
            words = number(entry, 0 if entry == int(entry) else digits)
            ink, middle = (
                "white" if entry and share > 0.55 else INK,
                (at[0] + wide / 2, at[1] + high / 2 + 6),
            )
            sheet.text(*middle, words, ink, 16, "middle", bold=not digits and entry != 0)
    # One line that goes to and fro draws all the cells' borders of one direction.
    across = [
        (x + width * ((i + k) % 2), y + high * i) for i in range(1, len(rows)) for k in (0, 1)
    ]
    down = [
        (x + wide * j, y + height * ((j + k) % 2)) for j in range(1, rows.shape[1]) for k in (0, 1)
    ]
    for line in (across, down):
        if line:
            sheet.path(line, PALE, 1)
    sheet.rect(x, y, width, height, "none", colour, 2)


def decoding_token_by_token():
    """A film: the decoder is given the words written so far, writes one more, and that word is
    appended to what it is given at the next step.
    """
    _, written, _ = _trained()
    return [_feeding(written, step) for step in range(1, len(written) + 1)]


def _feeding(written, step):
    sheet = Sheet(WIDE, 290)
    given = ["<bos>", *written[: step - 1]]
    gap = (WIDE - 40) / len(written)
    sheet.text(20, 30, f"step {step}", INK, 20, bold=True)
    sheet.text(110, 30, "the word just written goes in at the next step", GREY)
    for i, word in enumerate(given):
        x = 20 + (i + 0.5) * gap
        token(sheet, x, 250, word, ORANGE if i == step - 1 else PALE, gap - 14)
        sheet.arrow(x, 231, x, 182, ORANGE if i == step - 1 else PALE)
    box(sheet, 20, 130, WIDE - 40, 50, "decoder (it also sees the French sentence)", ORANGE, True)
    x = 20 + (step - 0.5) * gap
    sheet.arrow(x, 129, x, 90, PURPLE)
    token(sheet, x, 70, written[step - 1], PURPLE, gap - 14)
    return sheet


def self_attention_filling():
    """A film: a map of attention fills row by row; in each row one word of the cat sleeps is the
    query, meets every key, and its weights appear.
    """
    x = torch.tensor([[1.0, 0, 1], [0, 2, 1], [1, 1, 0]])
    w_q = torch.tensor([[1.0, 0, 1], [0, 1, 0], [1, 0, 0]])
    w_k = torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 1, 0]])
    weights = ((x @ w_q) @ (x @ w_k).T / 3**0.5).softmax(-1).tolist()
    steps = [(i, j) for i in range(3) for j in range(1, 4)]
    return [_filling(weights, row, seen) for row, seen in steps]


def _filling(weights, row, seen):
    words = ["the", "cat", "sleeps"]
    sheet = Sheet(WIDE, 330)
    sheet.text(300, 34, "columns: keys", ORANGE, bold=True)
    sheet.text(20, 70, "rows: queries", BLUE, bold=True)
    for j, word in enumerate(words):
        token(sheet, 360 + 130 * j, 66, word, ORANGE if j == seen - 1 else PALE, 110)
    for i, word in enumerate(words):
        y = 130 + 70 * i
        token(sheet, 220, y, word, BLUE if i == row else PALE, 110)
        shown = 3 if i < row or (i == row and seen == 3) else 0
        for j in range(3):
            at = 360 + 130 * j - 55, y - 30
            sheet.rect(*at, 110, 60, "white", PALE)
            if j < shown:
                share = weights[i][j]
                sheet.rect(*at, 110, 60, GREEN, GREEN, opacity=share)
                ink = "white" if share > 0.6 else INK
                sheet.text(at[0] + 55, y + 6, f"{share:.2f}", ink, anchor="middle", bold=True)
            elif i == row and j < seen:
                sheet.text(at[0] + 55, y + 6, "q · k", GREY, anchor="middle")
    if seen == 3:
        sheet.text(720, 136 + 70 * row, "softmax: sums to 1", GREEN, bold=True)
    return sheet


PICTURES = [
    hidden_state_travelling,
    decoder_looking_back,
    bahdanau_step,
    noun_and_adjectives,
    training_and_inference_decoder,
    query_key_value,
    decoding_token_by_token,
    self_attention_filling,
]
