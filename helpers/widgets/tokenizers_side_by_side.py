"""One text under several tokenizers: each piece a coloured box, and how many there are."""

import traitlets

from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from helpers.text.subwords import split_words
from helpers.widgets.explorer import Explorer
from helpers.widgets.readable import VISIBLE, width_of
from helpers.widgets.svg import Sheet

WIDTH, ROW = 400, 34  # pixels; from one line of pieces to the next
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

    def tell(self):
        """Say who makes most of the text and who least, and what to try."""
        counts = {name: len(pieces) for name, pieces in self.numbers["pieces"].items()}
        least, most = min(counts, key=counts.get), max(counts, key=counts.get)
        return (
            f"One text: {counts[least]} pieces for “{least}”, {counts[most]} for “{most}”.",
            "Type your name, or an emoji. Which count grows most"
            + ("?" if self._cutters is PLAIN else ", and what turns orange?"),
        )

    def draw(self):
        """Draw the coloured pieces of every tokenizer, on a sheet of its own."""
        return [self._draw_pieces(*one) for one in self.numbers["pieces"].items()]

    def _draw_pieces(self, name, pieces):
        return draw_labels(
            f"{name}: {len(pieces)}",
            [
                (
                    visible(piece),
                    ORANGE if piece in UNKNOWN else (BLUE, GREEN, PURPLE)[i % 3],
                    False,
                )
                for i, piece in enumerate(pieces)
            ],
        )


def draw_labels(title, labels, more=""):
    """Draw pieces of text as coloured boxes, in as many lines as they need.

    Parameters
    ----------
    title : str
        What stands above them.
    labels : list of (str, str, bool)
        What stands in each box, its colour, and whether it's a mark of its own kind.
    more : str, default=""
        What stands behind the last one.

    Returns
    -------
    sheet : Sheet
    """
    sheet, x, y = Sheet(WIDTH, 0), 0, 30
    sheet.text(0, 18, title, INK, bold=True)
    for label, colour, marked in labels:
        width = width_of(label) + 12
        if x + width > WIDTH and x:
            x, y = 0, y + ROW
        sheet.rect(x, y, width, 28, colour, round=6, opacity=0.5 if marked else 0.22)
        sheet.text(x + width / 2, y + 20, label, anchor="middle", bold=marked)
        x += width + 3
    sheet.text(x + 4, y + 20, more, GREY, bold=True)
    sheet.height = y + ROW + 8
    return sheet


def visible(piece: str) -> str:
    """Write a piece so that its spaces can be seen."""
    return "".join(VISIBLE.get(character, character) for character in piece) or VISIBLE[""]
