"""From a word's vector to attention over a sentence, and what came before it."""

from helpers.plots import BLUE, GREY, ORANGE
from images.kit import Sheet, box, token


def black_box():
    """A French sentence goes into a box called Transformer, and an English one comes out."""
    sheet = Sheet(920, 130)
    token(sheet, 150, 65, "je suis étudiant", BLUE, 210)
    sheet.arrow(262, 65, 348, 65, GREY)
    box(sheet, 350, 25, 220, 80, "Transformer", GREY, bold=True, size=22)
    sheet.arrow(572, 65, 652, 65, GREY)
    token(sheet, 762, 65, "i am a student", ORANGE, 210)
    return sheet


PICTURES = [black_box]
