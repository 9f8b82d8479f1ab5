"""The still drawings: networks and stacks, what stands around attention, and a tree."""

import math

import torch

from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, tint
from helpers.widgets.svg import Sheet
from images.kit import HEADS, PALE, WIDE, box, cells, elbow, plus, token


def unrolled_rnn():
    """Left: one recurrent cell whose state returns to itself. Right: the same cell drawn once for
    each of four words, its state handed on from left to right.
    """
    sheet = Sheet(WIDE, 230)
    box(sheet, 60, 80, 100, 60, "cell", BLUE, bold=True)
    token(sheet, 110, 200, "word", GREY)
    sheet.arrow(110, 182, 110, 142)
    elbow(sheet, [(160, 110), (200, 110), (200, 40), (110, 40), (110, 78)], BLUE)
    sheet.text(206, 62, "state", BLUE)
    sheet.text(280, 118, "=", INK, 28, "middle", bold=True)
    for i, word in enumerate(["le", "petit", "chat", "dort"]):
        x = 330 + 145 * i
        box(sheet, x, 80, 90, 60, "cell", BLUE, bold=True)
        token(sheet, x + 45, 200, word, GREY)
        sheet.arrow(x + 45, 182, x + 45, 142)
        sheet.arrow(x + 90, 110, x + 143, 110, BLUE)
        sheet.text(x + 116, 98, f"h{i + 1}", BLUE, 16, "middle")
    return sheet


def bidirectional_encoder():
    """An encoder reads le petit chat dort in both directions. A blue row of states runs from
    left to right, a green row from right to left. Above every word the two are joined to one
    state, h1 to h4, which depends on all four words.
    """
    sheet = Sheet(WIDE, 292)
    for y, name, colour, shift in ((150, "forwards", BLUE, 36), (94, "backwards", GREEN, 0)):
        sheet.text(20, y + 27, name, colour, bold=True)
        for i in range(4):
            x = 160 + 190 * i + shift
            box(sheet, x, y, 92, 42, "GRU", colour)
            ends = (x + 93, x + 188) if colour == BLUE else (x + 189, x + 94)
            if i < 3:
                sheet.arrow(ends[0], y + 21, ends[1], y + 21, colour)
    for i, word in enumerate(["le", "petit", "chat", "dort"]):
        x = 160 + 190 * i
        token(sheet, x + 64, 258, word, GREY)
        sheet.arrow(x + 26, 240, x + 26, 138)
        sheet.arrow(x + 82, 240, x + 82, 194)
        for left, colour in ((x + 28, GREEN), (x + 64, BLUE)):
            cells(sheet, left, 28, [[0] * 2], colour, 18, numbers=False, shades=[[0.7, 0.7]])
        sheet.text(x + 108, 43, f"h{i + 1}", INK, bold=True)
        sheet.arrow(x + 46, 93, x + 46, 50, GREEN)
        sheet.path([(x + 110, 149), (x + 110, 72), (x + 82, 72)], BLUE, 2)
        sheet.arrow(x + 82, 72, x + 82, 50, BLUE)
    sheet.text(20, 43, "states", INK, bold=True)
    return sheet


def context_vector():
    """An encoder reads three French words; its last state is the context vector. The decoder writes
    four English words and an end; at every step it gets the context vector and the previous
    word, at the first step <bos>.
    """
    sheet = Sheet(WIDE, 330)
    for i, word in enumerate(["je", "suis", "étudiant", "<eos>"]):
        x = 10 + 88 * i
        box(sheet, x, 130, 72, 52, "encoder", BLUE)
        token(sheet, x + 36, 250, word, BLUE, 82)
        sheet.arrow(x + 36, 232, x + 36, 184, BLUE)
        sheet.arrow(x + 72, 156, x + (86 if i < 3 else 94), 156, PURPLE if i == 3 else BLUE)
    box(sheet, 370, 124, 88, 64, "context\nvector", PURPLE, bold=True)
    given, written = ["<bos>", "i", "am", "a", "student"], ["i", "am", "a", "student", "<eos>"]
    sheet.path([(414, 189), (414, 208), (480 + 4 * 88 + 54, 208)], PURPLE, 2.5)
    for i, (before, word) in enumerate(zip(given, written, strict=True)):
        x = 480 + 88 * i
        box(sheet, x, 130, 72, 52, "decoder", ORANGE)
        sheet.arrow(x + 54, 208, x + 54, 184, PURPLE, 2.5)
        token(sheet, x + 30, 250, before, GREY if i else ORANGE, 82)
        sheet.arrow(x + 18, 232, x + 18, 184, ORANGE)
        token(sheet, x + 36, 78, word, ORANGE, 82)
        sheet.arrow(x + 36, 129, x + 36, 97, ORANGE)
        sheet.arrow(x - (16 if i else 22), 156, x - 2, 156, ORANGE if i else PURPLE)
    sheet.text(10, 36, "encoder: reads", BLUE, bold=True)
    sheet.text(480, 36, "decoder: writes", ORANGE, bold=True)
    sheet.text(374, 306, "enters every step: the context vector", PURPLE)
    sheet.text(690, 306, "and the previous word", ORANGE)
    return sheet


def lstm_cell():
    """One step of an LSTM. On top the cell state runs from left to right: it is multiplied by the
    forget gate f, then i times the candidate g is added. The word and the old hidden state make f,
    i, g and o. The new hidden state is o times the tanh of the cell.
    """
    sheet = Sheet(WIDE, 350)
    sheet.text(20, 66, "old cell", PURPLE, bold=True)
    sheet.arrow(100, 60, 206, 60, PURPLE, 4)
    plus(sheet, 220, 60, "×", PURPLE)
    sheet.arrow(234, 60, 426, 60, PURPLE, 4)
    plus(sheet, 440, 60, "+", PURPLE)
    sheet.arrow(454, 60, 806, 60, PURPLE, 4)
    sheet.text(814, 66, "new cell", PURPLE, bold=True)
    gates = [
        (220, "f", "forget gate", "how much to keep"),
        (384, "i", "input gate", "how much to add"),
        (520, "g", "candidate", "what to add"),
        (690, "o", "output gate", "how much to show"),
    ]
    for x, letter, name, what in gates:
        box(sheet, x - 26, 190, 52, 44, letter, ORANGE if letter == "g" else GREEN, True, 20)
        sheet.arrow(x, 276, x, 236)
        sheet.text(x, 318, name, INK, 16, "middle", True)
        sheet.text(x, 341, what, GREY, 16, "middle")
    sheet.line(100, 276, 690, 276, GREY, 2)
    sheet.text(16, 262, "word and", BLUE)
    sheet.text(16, 284, "old state", BLUE)
    sheet.arrow(220, 189, 220, 75, GREEN)
    plus(sheet, 440, 132, "×")
    elbow(sheet, [(384, 189), (384, 132), (426, 132)], GREEN)
    elbow(sheet, [(520, 189), (520, 132), (454, 132)], ORANGE)
    sheet.arrow(440, 118, 440, 75)
    plus(sheet, 690, 132, "×")
    sheet.arrow(690, 189, 690, 147, GREEN)
    sheet.arrow(690, 60, 690, 118, PURPLE)
    sheet.text(700, 98, "tanh", GREY)
    sheet.arrow(704, 132, 800, 132, BLUE, 2.5)
    sheet.text(808, 138, "new state", BLUE, bold=True)
    return sheet


def dilated_convolutions():
    """Four layers of convolutions with kernel 2 and dilations 1, 2, 4 and 8 over sixteen words: the
    last output depends, through the strong lines, on all sixteen.
    """
    sheet = Sheet(WIDE, 330)
    places = [150 + 48 * i for i in range(16)]
    heights = [286 - 62 * level for level in range(5)]
    for level, dilation in enumerate([1, 2, 4, 8]):
        for i in range(16):
            colour, width = (PALE, 1) if (15 - i) % 2 ** (level + 1) else (ORANGE, 2.5)
            for tap in (i, i - dilation):
                if tap >= 0:
                    ends = places[tap], heights[level] - 9, places[i], heights[level + 1] + 9
                    sheet.line(*ends, colour, width)
        sheet.text(16, heights[level + 1] + 6, f"dilation {dilation}", ORANGE)
    for level, height in enumerate(heights):
        for i, x in enumerate(places):
            sheet.dot(x, height, 9, PALE if (15 - i) % 2**level else ORANGE if level else BLUE)
    sheet.text(16, 292, "words", BLUE)
    sheet.text(870, 318, "kernel 2: 2⁴ = 16 words seen", GREY, anchor="end")
    return sheet


def encoder_decoder_stacks():
    """Left a stack of encoder layers, right a stack of decoder layers. The output of the last
    encoder layer, the memory, goes to every decoder layer.
    """
    sheet = Sheet(WIDE, 400)
    for i in range(3):
        y = 250 - 80 * i
        box(sheet, 90, y, 220, 54, f"encoder layer {i + 1}", BLUE)
        box(sheet, 600, y, 220, 54, f"decoder layer {i + 1}", ORANGE)
        sheet.arrow(200, y + 80 if i else 338, 200, y + 56, BLUE)
        sheet.arrow(710, y + 80 if i else 338, 710, y + 56, ORANGE)
        elbow(sheet, [(450, 60), (450, y + 27), (598, y + 27)], PURPLE)
    sheet.path([(200, 89), (200, 60), (450, 60)], PURPLE, 2)
    sheet.text(225, 48, "memory: the final output", PURPLE, bold=True)
    sheet.text(462, 168, "to every layer", PURPLE)
    token(sheet, 200, 360, "je suis étudiant", BLUE, 200)
    token(sheet, 710, 360, "<bos> i am a", ORANGE, 200)
    sheet.arrow(710, 89, 710, 62, ORANGE)
    token(sheet, 710, 42, "i am a student", ORANGE, 200)
    return sheet


def whole_architecture():
    """The whole Transformer. Left, N encoder layers: self-attention, then feed-forward, each
    followed by add and norm. Right, N decoder layers: masked self-attention, cross-attention,
    feed-forward, each followed by add and norm; then linear and softmax. Below each stack are
    tokens, embeddings and positions. The encoder's output, the memory, gives the cross-attention
    its keys and values. A path that carries x itself runs around every sublayer.
    """
    sheet = Sheet(WIDE, 650)
    encoder = [("self-attention", BLUE), ("feed-forward", GREEN)]
    decoder = [("masked self-attention", ORANGE), ("cross-attention", PURPLE), encoder[1]]
    stacks = [
        (150, "encoder layer", BLUE, encoder, 126, "je suis étudiant"),
        (540, "decoder layer", ORANGE, decoder, 794, "<bos> i am a"),
    ]
    for left, name, colour, sublayers, around, words in stacks:
        middle, top = left + 115, 378 - 112 * (len(sublayers) - 1)
        sheet.rect(left - 40, top, 310, 504 - top, "none", colour, 2, 12)
        sheet.text(left - 40, top - 10, name, colour, bold=True)
        for i, (sublayer, shade) in enumerate(sublayers):
            y = 430 - 112 * i
            sheet.arrow(middle, 516 if i == 0 else y + 71, middle, y + 42)
            box(sheet, left, y, 230, 40, sublayer, shade, bold=True)
            sheet.arrow(middle, y, middle, y - 10)
            box(sheet, left, y - 40, 230, 28, "add & norm", GREY)
            edge = left - 2 if around < left else left + 232
            path = [(middle, y + 58), (around, y + 58), (around, y - 26), (edge, y - 26)]
            elbow(sheet, path, BLUE)
        plus(sheet, middle, 530)
        sheet.text(middle + 34, 536, "positions", GREY)
        sheet.arrow(middle + 30, 530, middle + 15, 530)
        sheet.arrow(middle, 556, middle, 545)
        box(sheet, left, 556, 230, 32, "embedding", GREY)
        sheet.arrow(middle, 606, middle, 590)
        token(sheet, middle, 624, words, colour, 200)
    sheet.text(52, 398, "N ×", BLUE, 22, bold=True)
    sheet.text(832, 342, "N ×", ORANGE, 22, bold=True)
    elbow(sheet, [(265, 278), (265, 226), (460, 226), (460, 338), (538, 338)], PURPLE)
    sheet.text(276, 216, "memory: K and V", PURPLE, bold=True)
    sheet.text(20, 258, "x itself", BLUE)
    sheet.path([(58, 266), (58, 326), (124, 326)], BLUE, 1.5, dash="4 4")
    sheet.arrow(655, 166, 655, 120)
    box(sheet, 540, 82, 230, 36, "linear, softmax", GREY)
    sheet.arrow(655, 82, 655, 65)
    token(sheet, 655, 46, "i am a student", ORANGE, 200)
    return sheet


def three_uses_of_attention():
    """Three boxes: encoder self-attention, all from the source; masked decoder self-attention, all
    from the target; cross-attention, queries from the target, keys and values from the memory.
    """
    sheet = Sheet(WIDE, 270)
    cross = ["target", "memory", "memory"]
    uses = [
        ("encoder", "self-attention", BLUE, ["source"] * 3, "padding", "(B, H, S, S)"),
        ("decoder", "self-attention", ORANGE, ["target"] * 3, "causal + padding", "(B, H, T, T)"),
        ("decoder", "cross-attention", PURPLE, cross, "padding of the source", "(B, H, T, S)"),
    ]
    for n, (place, name, colour, sources, mask, shape) in enumerate(uses):
        left = 20 + 305 * n
        box(sheet, left, 20, 270, 66, f"{place}\n{name}", colour, bold=True)
        for i, (role, source) in enumerate(zip("QKV", sources, strict=True)):
            x = left + 45 + 90 * i
            sheet.arrow(x, 132, x, 88, (BLUE, ORANGE, GREEN)[i])
            sheet.text(x + 8, 116, role, (BLUE, ORANGE, GREEN)[i], 16, bold=True)
            token(sheet, x, 152, source, GREY, 84)
        sheet.text(left, 214, f"mask: {mask}")
        sheet.text(left, 244, f"weights {shape}")
    return sheet


def path_lengths():
    """Two words with six others between them, linked in three ways: a recurrent network takes seven
    steps, dilated convolutions with a kernel of 2 three layers, attention one.
    """
    sheet = Sheet(WIDE, 330)
    places = [230 + 88 * i for i in range(8)]
    ways = [
        ("recurrent: 7 steps", BLUE, list(range(8))),
        ("dilated: 3 layers", ORANGE, [0, 4, 6, 7]),
        ("attention: 1 step", PURPLE, [0, 7]),
    ]
    for n, (name, colour, stops) in enumerate(ways):
        y = 84 + 105 * n
        sheet.text(14, y + 6, name, colour, 16, bold=True)
        for start, end in zip(stops, stops[1:], strict=False):
            middle = (places[start] + places[end]) / 2
            top = middle, y - 18 - 7 * (end - start)
            sheet.path([(places[start], y - 12), top], colour, 2.5)
            sheet.arrow(*top, places[end] - 4, y - 13, colour, 2.5)
        for i, x in enumerate(places):
            sheet.dot(x, y, 10, colour if i in stops else PALE)
    sheet.text(14, 217, "kernel 2", ORANGE)
    return sheet


def heads_concatenated():
    """X, of shape (T, D), goes into eight heads. Each head has its own W_Q, W_K and W_V, of shape
    (D, K), and computes its own Q, K and V, of shape (T, K). Attention turns them into the head's
    result Z, (T, K). The eight results side by side, (T, H · K), times W_O, (H · K, D), give the
    output, (T, D). The first two heads have colours of their own, from Z to their rows of W_O.
    """
    sheet, n, top, step = Sheet(WIDE, 470), 8, 62, 46
    middle, part, width = top + n * step / 2, 9, 72  # D is eight times K
    colours, heads = (BLUE, ORANGE, GREEN), [*HEADS, *[GREY] * (n - len(HEADS))]
    titles = [
        (56, "X", "(T, D)"),
        (214, "eight sets of W", "(D, K) each"),
        (410, "Q, K, V", "(T, K) each"),
        (563, "Z", "(T, K)"),
        (672, "side by side", "(T, H · K)"),
        (770, "W_O", "(H · K, D)"),
        (868, "output", "(T, D)"),
    ]
    for x, name, shape in titles:
        sheet.text(x, 26, name, INK, 16, "middle", bold=True)
        sheet.text(x, 462, shape, INK, 16, "middle")
    box(sheet, 20, middle - 45, width, 90, "X", GREY, bold=True, size=20)
    for h, head in enumerate(heads):
        y = top + step * (h + 0.5)
        elbow(sheet, [(92, middle), (108, middle), (108, y), (134, y)], GREY, 1.5)
        for i, (colour, letter) in enumerate(zip(colours, "QKV", strict=True)):
            box(sheet, 138 + 52 * i, y - 17, 48, 34, f"W{'₁₂₃₄₅₆₇₈'[h]}", colour)
            box(sheet, 340 + 48 * i, y - 14, 44, 28, f"{letter}{'₁₂₃₄₅₆₇₈'[h]}", colour)
        sheet.arrow(296, y, 335, y, GREY)
        sheet.arrow(484, y, 532, y, head)
        box(sheet, 536, y - 14, 54, 28, f"Z{'₁₂₃₄₅₆₇₈'[h]}", head, bold=True)
        sheet.line(590, y, 610, y, head, 1.5)
        sheet.rect(636 + part * h, middle - 45, part, 90, tint(head, 0.35), head)
        sheet.rect(734, middle - width / 2 + part * h, width, part, tint(head, 0.35), head)
    sheet.text(508, 48, "attention", GREY, 16, "middle")
    sheet.line(610, top + step / 2, 610, top + step * (n - 0.5), GREY, 1.5)
    sheet.arrow(610, middle, 633, middle, GREY)
    sheet.text(721, middle + 7, "·", INK, 24, "middle", bold=True)
    sheet.text(819, middle + 7, "=", INK, 20, "middle", bold=True)
    sheet.rect(832, middle - 45, width, 90, tint(GREY), GREY, 2, 6)
    return sheet


def residual_and_norm():
    """Two blocks. Post-norm, the paper's: x and the sublayer's result are added, then normalised.
    Pre-norm: the sublayer reads a normalised x, and the sum is left as it is.
    """
    sheet = Sheet(WIDE, 250)
    blocks = [
        (30, "post-norm: LayerNorm(x + Sublayer(x))", ["Sublayer", "+", "LayerNorm"]),
        (490, "pre-norm: x + Sublayer(LayerNorm(x))", ["LayerNorm", "Sublayer", "+"]),
    ]
    for left, title, parts in blocks:
        sheet.text(left, 32, title, INK, 16, bold=True)
        sheet.text(left, 136, "x", INK, 18, bold=True)
        x = left + 16
        for part in parts:
            if part == "+":
                sheet.arrow(x, 130, x + 32, 130)
                plus(sheet, x + 46, 130)
                end = x + 46
                elbow(sheet, [(left + 30, 130), (left + 30, 210), (end, 210), (end, 145)], BLUE)
                sheet.text((left + 30 + end) / 2, 236, "x itself", BLUE, 16, "middle")
                x += 60
            else:
                colour = GREY if part == "LayerNorm" else ORANGE
                sheet.arrow(x, 130, x + 38, 130)
                box(sheet, x + 40, 105, 108, 50, part, colour)
                x += 148
        sheet.arrow(x, 130, x + 38, 130)
    return sheet


def beam_tree():
    """A beam of two over two steps. Each kept beginning proposes words, with their sums of
    log-probabilities; the two best of all stay, drawn strong, the others are dropped, drawn pale.
    """
    tree = {
        "": {"a": 0.5, "the": 0.4, "one": 0.1},
        "a": {"dog": 0.4, "cat": 0.35, "red": 0.25},
        "the": {"dog": 0.7, "cat": 0.2, "red": 0.1},
    }
    sheet = Sheet(WIDE, 400)
    token(sheet, 90, 200, "<bos>", GREY)
    heights = {word: 90 + 140 * i for i, word in enumerate(tree[""])}
    scores = {(w,): math.log(p) for w, p in tree[""].items()}
    kept = set(sorted(scores, key=scores.get, reverse=True)[:2])
    second = {(a, b): scores[(a,)] + math.log(p) for (a,) in kept for b, p in tree[a].items()}
    best = set(sorted(second, key=second.get, reverse=True)[:2])
    for word, y in heights.items():
        _branch(sheet, (138, 200), (312, y), word, scores[(word,)], (word,) in kept)
    for place, path in enumerate(sorted(second, key=lambda p: (heights[p[0]], -second[p]))):
        y, on = 50 + 62 * place, path in best
        _branch(sheet, (504, heights[path[0]]), (640, y), path[1], second[path], on)
    sheet.text(20, 28, "numbers: sums of log-probabilities; the two best of all stay", GREY)
    return sheet


def _branch(sheet, start, end, word, score, on):
    colour = ORANGE if on else PALE
    sheet.line(*start, end[0], end[1], colour, 3 if on else 1.5)
    token(sheet, end[0] + 49, end[1], word, colour)
    sheet.text(end[0] + 106, end[1] + 6, f"{score:.2f}".replace("-", "−"), colour if on else GREY)


def heads_added():
    """Two heads in two colours, one word. Their results Z₁ and Z₂, four numbers each, stand side by
    side. W_O is cut into two bands of four rows. Z₁ times the upper band gives eight numbers, Z₂
    times the lower band gives eight more, and added up they are the eight numbers of the output.
    """
    generator, cell = torch.Generator().manual_seed(268), 28
    z = torch.randint(-1, 3, (2, 1, 4), generator=generator).float()  # (H, T, K)
    bands = torch.randint(-1, 3, (2, 4, 8), generator=generator).float()  # (H, K, D)
    output = torch.cat([*z], dim=1) @ torch.cat([*bands])  # with all of W_O at once
    assert torch.equal(output, sum(z @ bands)), "the parts don't add up to the whole"
    sheet = Sheet(WIDE, 392)
    sheet.text(16, 28, "one word, D = 8, K = 4", GREY)
    sheet.text(16, 240, "side by side", INK, 16, bold=True)
    sheet.text(534, 28, "W_O, a band of rows per head", INK, 16, "middle", bold=True)
    for h, colour in enumerate(HEADS):
        middle, left, name = 96 + 164 * h, 16 + 112 * h, f"Z{'₁₂'[h]}"
        edge, under = (192, 156) if h else (164, 214)  # the arrow leaves on the other side
        cells(sheet, left, 164, z[h].tolist(), colour, cell, digits=0)
        sheet.text(left + 56, under, name, colour, 16, "middle", bold=True)
        elbow(sheet, [(left + 56, edge), (left + 56, middle), (278, middle)], colour)
        cells(sheet, 284, middle - 14, z[h].tolist(), colour, cell, digits=0)
        sheet.text(340, middle - 24, name, colour, 16, "middle", bold=True)
        sheet.text(409, middle + 7, "·", INK, 24, "middle", bold=True)
        cells(sheet, 422, middle - 56, bands[h].tolist(), colour, cell, digits=0)
        sheet.text(662, middle + 6, "=", INK, 20, "middle", bold=True)
        cells(sheet, 678, middle - 14, (z[h] @ bands[h]).tolist(), colour, cell, digits=0)
        sheet.text(790, middle - 24, f"what head {h + 1} adds", colour, 16, "middle", bold=True)
    plus(sheet, 790, 168)
    sheet.text(790, 308, "=", INK, 20, "middle", bold=True)
    cells(sheet, 678, 322, output.tolist(), GREY, cell, digits=0)
    sheet.text(790, 376, "output", INK, 16, "middle", bold=True)
    return sheet


PICTURES = [unrolled_rnn, bidirectional_encoder, context_vector, lstm_cell, dilated_convolutions]
PICTURES += [encoder_decoder_stacks, whole_architecture, three_uses_of_attention, path_lengths]
PICTURES += [heads_concatenated, residual_and_norm, beam_tree, heads_added]
