"""Still drawings: what stands around the attention."""

from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, tint
from images.kit import HEADS, WIDE, Sheet, box, elbow, plus


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
        skip_from = left + 30
        for part in parts:
            if part == "+":
                sheet.arrow(x, 130, x + 32, 130)
                plus(sheet, x + 46, 130)
                end = x + 46
                elbow(sheet, [(skip_from, 130), (skip_from, 210), (end, 210), (end, 145)], BLUE)
                sheet.text((skip_from + end) / 2, 236, "x itself", BLUE, 16, "middle")
                x += 60
            else:
                colour = GREY if part == "LayerNorm" else ORANGE
                sheet.arrow(x, 130, x + 38, 130)
                box(sheet, x + 40, 105, 108, 50, part, colour)
                x += 148
        sheet.arrow(x, 130, x + 38, 130)
    return sheet


PICTURES = [heads_concatenated, residual_and_norm]
