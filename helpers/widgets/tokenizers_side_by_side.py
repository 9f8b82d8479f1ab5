"""One text under several tokenizers: each piece a coloured box, and how many there are."""

import math
import unicodedata

import traitlets

from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from helpers.text.subwords import split_words
from helpers.widgets.explorer import Explorer
from helpers.widgets.readable import VISIBLE, width_of
from helpers.widgets.svg import Sheet

WIDTH, ROW = 400, 34  # pixels; from one line of pieces to the next
LINES, MORE = 4, 96  # lines of pieces at most, and the pixels of "… 40 more" in the last
LONGEST = 100  # characters that can be typed
UNKNOWN = ("[UNK]", "<unk>")
EXAMPLES = {
    "Long word": "Donaudampfschifffahrtsgesellschaft",
    "Numbers": "31415926535 + 2718281828 = 34134208363",
    "Emoji": "👩\u200d🚀 👍🏽 🇫🇷",
    "Greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι",
    "Capitals": "POLISH sausage, polish shoes, Zoë's résumé",
}
TEXT = "The strawberries cost 12345 €, naïve Zoë! 🙂"


def _letters(text):
    return [c for c in unicodedata.normalize("NFD", text.casefold()) if c.isalpha()]


MARKS = {
    "capitals": str.isupper,
    "accents": lambda letter: len(unicodedata.normalize("NFD", letter)) > 1,
}
# What needs no vocabulary; a lesson adds trained ones.
PLAIN = {
    "words": split_words,
    "characters": list,
    "bytes": lambda text: text.encode().hex(" ").upper().split(),
}


class TokenizersSideBySide(Explorer):
    """Type a text and see how each tokenizer cuts it.

    `cutters` are functions from a text to a list of str, by the name that is shown. State: `text`,
    what is cut, at most 100 characters; `opened`, the name of the one whose pieces are all shown.
    """

    text = traitlets.Unicode(TEXT).tag(state=True)
    opened = traitlets.Unicode().tag(state=True)

    def __init__(self, cutters=None, **state):
        self._cutters = cutters or PLAIN
        super().__init__(**state)

    @traitlets.validate("text")
    def _at_most(self, proposal):
        return proposal.value[:LONGEST]

    def build(self):
        self.words("text", "Text", wide=True)
        self.examples("text", EXAMPLES)

    def compute(self):
        return {"pieces": {name: cut(self.text) for name, cut in self._cutters.items()}}

    def describe(self):
        cuts = "; ".join(
            f"{name}, {len(pieces)} pieces: {' | '.join(map(visible, pieces))}"
            for name, pieces in self.numbers["pieces"].items()
        )
        return f"“{self.text}” cut by {len(self._cutters)} tokenizers. {cuts}."

    def tell(self):
        """Say who makes most of the text and who least, and what was lost."""
        pieces = self.numbers["pieces"]
        if not self.text.strip():
            return "There's nothing to cut yet.", "Type a text, or press a button."
        counts = {name: len(each) for name, each in pieces.items()}
        least, most = min(counts, key=counts.get), max(counts, key=counts.get)
        headline = f"One text: {counts[least]} pieces for “{least}”, {counts[most]} for “{most}”."
        if counts[least] == counts[most]:
            headline = f"One text: {counts[most]} pieces, whoever cuts it."
        if len(self.text) == LONGEST:
            return headline, f"No more than the first {LONGEST} characters are cut."
        for name, each in pieces.items():
            known = [piece for piece in each if piece not in UNKNOWN]
            kept = "".join(known)
            lost = [marks for marks, has in MARKS.items()
                    if any(map(has, self.text)) and not any(map(has, kept))]  # fmt: skip
            if _letters(kept) != _letters(self.text):  # they're written in bytes, or are unknown
                lost = []
            told = [f"Orange: “{name}” couldn’t represent this."] * (len(known) < len(each))
            if lost:
                told.append(f"{'It also' if told else f'“{name}”'} dropped {' and '.join(lost)}.")
            if told:
                return headline, " ".join(told)
        return headline, "Press a button, or type your name. Whose count grows most?"

    def draw(self):
        return [self._draw_pieces(*one) for one in self.numbers["pieces"].items()]

    def _draw_pieces(self, name, pieces):
        colours = [ORANGE if p in UNKNOWN else (BLUE, GREEN, PURPLE)[i % 3]
                   for i, p in enumerate(pieces)]  # fmt: skip
        labels = [(visible(p), colour, False) for p, colour in zip(pieces, colours, strict=True)]
        byte = [f"{p}: a byte" for p in pieces if p[:1] == "<" and p[3:] == ">"]
        more, lines, press = "".join(byte[:1]), LINES, name
        if name == self.opened:
            more, lines, press = "− fewer", math.inf, ""
        sheet = draw_labels(f"{name}: {len(pieces)}", labels, more, lines, opened=press)
        most = max(map(len, self.numbers["pieces"].values())) or 1
        sheet.bar(190, 6, 210, 14, len(pieces) / most, GREY, round=3, opacity=0.6)
        return sheet


def draw_labels(title, labels, more="", lines=math.inf, **press):
    """Draw pieces of text as coloured boxes below a `title`, in as many lines as they need.

    Each of the `labels` is (words, colour, whether it's a mark of its own kind) and may have a
    fourth part, whether it's struck out; `more` stands behind the last one. What is beyond so many
    `lines` is counted, and can be had by a `press`.
    """
    sheet, x, y = Sheet(WIDTH, 0), 0, 30
    sheet.text(0, 18, title, INK, bold=True)
    # On a phone letters are larger beside what they stand on, by 14%.
    for i, (label, colour, marked, *struck) in enumerate(labels):
        width, last = (1.22 if marked else 1.14) * width_of(label) + 6, y == 30 + ROW * (lines - 1)
        rest = sum(1.14 * width_of(each[0]) + 9 for each in labels[i:])
        if last and x + width > WIDTH - MORE and x + rest > WIDTH:
            more = f"… {len(labels) - i} more"
            break
        if x + width > WIDTH and x:
            x, y = 0, y + ROW
        sheet.rect(x, y, width, 28, colour, round=6, opacity=0.5 if marked else 0.36)
        sheet.text(x + width / 2, y + 20, label, anchor="middle", bold=marked)
        if any(struck):
            sheet.line(x + 3, y + 14, x + width - 3, y + 14, INK, 2)
        x += width + 3
    if more and x + 4 + width_of(more) > WIDTH:
        x, y = 0, y + ROW
    sheet.text(x + 4, y + 20, more, GREY, bold=True)
    if press and more[1:2] == " ":  # one of "… 51 more" and "− fewer"
        sheet.target(x, y - 3, width_of(more) + 8, ROW, f"{more} of {title}", **press)
    sheet.height = y + ROW + 8
    return sheet


def visible(piece: str) -> str:
    """Write a piece so that its spaces can be seen."""
    return "".join(VISIBLE.get(character, character) for character in piece) or VISIBLE[""]
