"""Byte-pair encoding step by step: count the pairs, merge the most frequent one, count again."""

from collections import Counter

import traitlets

from helpers.plots import BLUE, GREY, INK, ORANGE
from helpers.text.subwords import BYTES, BytePairs, count_pairs, merge_pair
from helpers.widgets.readable import width_of
from helpers.widgets.sentence_explorer import SentenceExplorer
from helpers.widgets.svg import PALE, Sheet

WORDS = "hat hat hat hat hat that that that that chat chat chat cat cat"
MOST_WORDS, LONGEST_WORD, MOST_MERGES, MOST_PAIRS = 7, 10, 20, 8
PITCH = 36  # pixels from row to row


def shown(piece: bytes) -> str:
    """Write a piece of bytes as text; half a character as its bytes in hexadecimal."""
    try:
        return piece.decode("utf-8").replace(" ", "▁")
    except UnicodeDecodeError:
        return "".join(f"<{byte:02X}>" for byte in piece)


class MergeStepper(SentenceExplorer):
    """Learn byte pairs from a few words, one merge at a time.

    Parameters
    ----------
    sentence : str
        Words with spaces between them; a word that occurs more often counts more.
    **state : traits
        `step`: how many merges have been made.

    Source
    ------
    Sennrich et al. (2016), "Neural Machine Translation of Rare Words with Subword Units".
    """

    step = traitlets.Int(0, min=0, max=MOST_MERGES).tag(state=True)
    still = {"step": 2}

    def __init__(self, sentence=WORDS, **state):
        super().__init__(sentence, **state)

    def problem(self, sentence):
        words = set(sentence.split())
        if not words:
            return "Type a few words with spaces between them."
        if len(words) > MOST_WORDS:
            return f"At most {MOST_WORDS} different words fit; got {len(words)}."
        if any(len(word.encode()) > LONGEST_WORD for word in words):
            return f"At most {LONGEST_WORD} letters fit into a word."
        return ""

    def build(self):
        self.words("sentence", "Words", wide=True)
        self.play("step", "Merges", interval=1600)
        self.button("Start again", self.reset)

    def compute(self):
        """Learn all merges, and make the first of them."""
        counts = Counter(self.sentence.split())
        trained = BytePairs.train(self.sentence.split(), len(BYTES) + MOST_MERGES)
        merges = list(trained.ranks)
        self.limit("step", len(merges))
        words = {word: [bytes([byte]) for byte in word.encode()] for word in counts}
        rows = max(len(words), min(MOST_PAIRS, len(count_pairs((w, 1) for w in words.values()))))
        for pair in merges[: self.step]:
            words = {word: merge_pair(pieces, pair) for word, pieces in words.items()}
        pairs = count_pairs((words[word], counts[word]) for word in words)
        coming = merges[self.step] if self.step < len(merges) else None
        ranked = sorted(pairs, key=lambda pair: (pair != coming, -pairs[pair]))
        return {"words": words, "counts": counts, "merges": merges, "next": coming, "rows": rows,
                "pairs": [(pair, pairs[pair]) for pair in ranked]}  # fmt: skip

    def tell(self):
        """Say which merge was made, and which comes next."""
        found = self.numbers
        made = "Every word is cut into its letters."
        if self.step:
            left, right = map(shown, found["merges"][self.step - 1])
            made = f"Merge {self.step}: “{left}” + “{right}” became “{left}{right}”."
            pieces = found["words"].items()
            letters = sum(found["counts"][word] * len(word.encode()) for word, _ in pieces)
            now = sum(found["counts"][word] * len(cut) for word, cut in pieces)
            made += f" {letters} → {now} pieces so far."
        if found["next"] is None:
            return made, "No merge is left."
        left, right = map(shown, found["next"])
        return (
            made,
            f"The most frequent pair now is “{left}” + “{right}”, {_times(found['pairs'][0][1])}.",
        )

    def describe(self):
        words = "; ".join(
            f"{' · '.join(map(shown, pieces))}, {_times(self.numbers['counts'][word])}"
            for word, pieces in self.numbers["words"].items()
        )
        return f"Byte-pair encoding after {self.step} merges. {words}. {' '.join(self.tell())}"

    def draw(self):
        """Draw the words in pieces; beside them the pairs, the next one marked."""
        return [self._draw_words(), self._draw_pairs()]

    def _draw_words(self):
        sheet, found = Sheet(400, 44 + PITCH * self.numbers["rows"]), self.numbers
        sheet.text(0, 18, "Words, and how often", INK, bold=True)
        made = found["merges"][self.step - 1] if self.step else None
        for row, (word, pieces) in enumerate(found["words"].items()):
            y, x = 40 + PITCH * row, 56
            sheet.text(40, y + 20, f"{found['counts'][word]} ×", GREY, anchor="end")
            for piece in pieces:
                new = made is not None and piece == made[0] + made[1]
                width = width_of(shown(piece)) + 14
                sheet.rect(x, y, width, 28, ORANGE if new else BLUE, round=6, opacity=0.2)
                sheet.text(x + width / 2, y + 20, shown(piece), anchor="middle", bold=new)
                x += width + 4
        return sheet

    def _draw_pairs(self):
        sheet, found = Sheet(400, 44 + PITCH * self.numbers["rows"]), self.numbers
        sheet.text(0, 18, "Pairs of neighbours", INK, bold=True)
        most = max([count for _, count in found["pairs"]], default=1)
        for row, (pair, count) in enumerate(found["pairs"][:MOST_PAIRS]):
            y, first = 40 + PITCH * row, pair == found["next"]
            sheet.text(110, y + 20, " + ".join(map(shown, pair)), anchor="end", bold=first)
            sheet.rect(122, y, 220, 28, PALE, round=4)
            sheet.rect(
                122, y, 220 * count / most, 28, ORANGE if first else BLUE, round=4, opacity=0.5
            )
            sheet.text(352, y + 20, str(count), GREY)
            if first:
                sheet.target(0, y - 5, 400, 38, "Make this merge", step=self.step + 1)
        return sheet


def _times(count):
    return "once" if count == 1 else f"{count} times"
