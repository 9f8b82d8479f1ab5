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
    training_and_inference_decoder,
    decoding_token_by_token,
    self_attention_filling,
]
