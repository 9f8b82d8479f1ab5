"""One text under several tokenizers: each piece a coloured box, and how many there are."""

import traitlets

from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from helpers.text.subwords import split_words
from helpers.widgets.explorer import Explorer
from helpers.widgets.readable import VISIBLE, width_of
from helpers.widgets.svg import Sheet

WIDTH, LEFT = 780, 150  # pixels; where the pieces begin
ROW, GAP = 34, 14  # pixels of a line of pieces, and between two tokenizers
LONGEST = 100  # characters that can be typed
UNKNOWN = ("[UNK]", "<unk>")
TEXT = "The strawberries cost 12345 €, naïve Zoë! 🙂"


def _bytes(text):
    return [f"{byte:02X}" for byte in text.encode()]


# What needs no vocabulary; a lesson adds trained ones.
PLAIN = {"words": split_words, "characters": list, "bytes": _bytes}


class TokenizersSideBySide(Explorer):
    """Type a text and see how each tokenizer cuts it.

    Parameters
    ----------
    cutters : dict of str to function (text) -> list of str
        By the name that is shown.
    **state : traits
        `text`: what is cut, at most 100 characters.
    """

    text = traitlets.Unicode(TEXT).tag(state=True)

    def __init__(self, cutters=None, **state):
        self._cutters = cutters or PLAIN
        super().__init__(**state)

    @traitlets.validate("text")
    def _at_most(self, proposal):
        return proposal.value[:LONGEST]

    def build(self):
        """Make the controls."""
        self.words("text", "Text", wide=True)
        self.button("Start again", self.reset)

    def compute(self):
        """Cut the text in every way."""
        return {"pieces": {name: cut(self.text) for name, cut in self._cutters.items()}}

    def describe(self):
        """Say in words what the picture shows."""
        cuts = "; ".join(
            f"{name}, {len(pieces)} pieces: {' | '.join(map(visible, pieces))}"
            for name, pieces in self.numbers["pieces"].items()
        )
        return f"“{self.text}” cut by {len(self._cutters)} tokenizers. {cuts}."

    def draw(self):
        """Draw one block of coloured pieces per tokenizer."""
        blocks = [(name, _lines(pieces)) for name, pieces in self.numbers["pieces"].items()]
        height = sum(ROW * len(lines) + GAP for _, lines in blocks) + 4
        sheet, y = Sheet(WIDTH, height), 2
        for name, lines in blocks:
            count = sum(map(len, lines))
            sheet.text(0, y + 20, name, INK, bold=True)
            sheet.text(LEFT - 12, y + 20, str(count), GREY, anchor="end")
            for line in lines:
                for x, width, label, colour in line:
                    sheet.rect(x, y, width, 28, colour, round=6, opacity=0.22)
                    sheet.text(x + width / 2, y + 20, label, anchor="middle")
                y += ROW
            y += GAP
        return sheet


def visible(piece: str) -> str:
    """Write a piece so that its spaces can be seen."""
    return "".join(VISIBLE.get(character, character) for character in piece) or VISIBLE[""]


def _lines(pieces):
    """Place the pieces of one tokenizer: lines of (x, width, label, colour)."""
    lines, x = [[]], LEFT
    for i, piece in enumerate(pieces):
        label = visible(piece)
        width = width_of(label) + 12
        if x + width > WIDTH and lines[-1]:
            lines.append([])
            x = LEFT
        colour = ORANGE if piece in UNKNOWN else (BLUE, GREEN, PURPLE)[i % 3]
        lines[-1].append((x, width, label, colour))
        x += width + 3
    return lines
