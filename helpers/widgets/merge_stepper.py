"""Byte-pair encoding step by step: count the pairs, merge the most frequent one, count again."""

from collections import Counter

import traitlets

from helpers.plots import BLUE, GREY, INK, ORANGE
from helpers.text.byte_alphabet import shown
from helpers.text.subwords import BYTES, count_pairs, merge_pair
from helpers.widgets.readable import width_of
from helpers.widgets.sentence_explorer import SentenceExplorer
from helpers.widgets.svg import Sheet

WORDS = "hat hat hat hat hat that that that that chat chat chat cat cat"
MOST_WORDS, LONGEST_WORD, MOST_MERGES, MOST_PAIRS = 7, 10, 20, 8
PITCH = 36  # pixels from row to row


def _learn(counts, unseen, plan):
    """Merge pairs in words that occur so often (`counts`), and in an `unseen` one.

    The `plan` says which pair each merge joins, 0 the most frequent. Returns a dict per step:
    `words` in pieces, how many `pieces`, the `pairs` left, and what was `made`.
    """
    words = {word: [bytes([byte]) for byte in word.encode()] for word in [*counts, unseen] if word}
    ids, steps, made = {piece: i for i, piece in enumerate(BYTES)}, [], None
    while True:
        found = count_pairs((words[word], counts[word]) for word in counts)
        pairs = sorted(found.items(), key=lambda one: (-one[1], *(ids[piece] for piece in one[0])))
        pieces = sum(counts[word] * len(words[word]) for word in counts)
        steps.append({"words": words, "pieces": pieces, "pairs": pairs, "made": made})
        if not pairs or len(steps) > MOST_MERGES:
            return steps
        made = pairs[min(plan[len(steps) - 1], len(pairs) - 1)][0]
        words = {word: merge_pair(cut, made) for word, cut in words.items()}
        ids.setdefault(made[0] + made[1], len(ids))


class MergeStepper(SentenceExplorer):
    """Learn byte pairs from a few words, one merge at a time.

    Parameters
    ----------
    sentence : str
        Words with spaces between them; a word that occurs more often counts more.
    **state : traits
        `step`: how many merges have been made. `own`: at which place among the most frequent pairs
        each merge's pair stood, from 0. `unseen`: a word to cut that isn't learned from.

    Source
    ------
    Sennrich et al. (2016), "Neural Machine Translation of Rare Words with Subword Units".
    """

    step = traitlets.Int(0, min=0, max=MOST_MERGES).tag(state=True)
    own = traitlets.Tuple().tag(state=True)
    unseen = traitlets.Unicode("thatch").tag(state=True)
    still = {"step": 2}

    def __init__(self, sentence=WORDS, **state):
        super().__init__(sentence, **state)

    def problem(self, sentence):
        words = set(sentence.split())
        if not 1 <= len(words) <= MOST_WORDS:
            return f"1 to {MOST_WORDS} different words fit; got {len(words)}."
        if any(len(word.encode()) > LONGEST_WORD for word in words):
            return f"At most {LONGEST_WORD} letters fit into a word."
        return ""

    @traitlets.validate("unseen")
    def _check_unseen(self, proposal):
        word = "_".join(proposal.value.split())
        return self.checked(proposal, self.problem(word) if word else "")

    def build(self):
        self.words("sentence", "Words", wide=True)
        self.play("step", "Merges", interval=1600)
        self.words("unseen", "A new word")
        self.observe(lambda _: self.set_trait("own", ()), names="sentence")

    def compute(self):
        """Make merges until no pair is left, and once more without a choice by hand."""
        counts, plain = Counter(self.sentence.split()), [0] * (MOST_MERGES + 1)
        plan, unseen = [*self.own, *plain], "_".join(self.unseen.split())
        steps, best = _learn(counts, unseen, plan), _learn(counts, "", plain)
        self.limit("step", len(steps) - 1)
        rows = max(len(steps[0]["words"]), min(MOST_PAIRS, len(steps[0]["pairs"])))
        best = best[min(self.step, len(best) - 1)]["pieces"]
        return {"counts": counts, "steps": steps, "rows": rows, "plan": plan, "best": best,
                **steps[self.step]}  # fmt: skip

    def tell(self):
        """Say which merge was made and what is left, and ask about the next."""
        found = self.numbers
        said = "Every word is cut into its letters."
        if self.step:
            left, right = map(shown, found["made"])
            said = f"Merge {self.step}: “{left}” + “{right}” became “{left}{right}”."
            said += f" {found['steps'][0]['pieces']} → {found['pieces']} pieces so far."
        asked = "Press a pair: how many pieces are left then? Try a rare one, too. Guess first."
        if found["pieces"] > found["best"]:
            asked = f"The most frequent pairs would have left {found['best']}. Step back and try."
        elif not found["pairs"]:
            asked = "No merge is left. Type another new word: how many pieces will it take?"
        return said, asked

    def describe(self):
        words = "; ".join(
            f"{self.numbers['counts'][word]} × {' · '.join(map(shown, pieces))}"
            for word, pieces in self.numbers["words"].items()
        )
        return f"Byte-pair encoding after {self.step} merges. {words}. {' '.join(self.tell())}"

    def draw(self):
        return [self._draw_words(), self._draw_pairs()]

    def _draw_words(self):
        sheet, found = Sheet(400, 44 + PITCH * self.numbers["rows"]), self.numbers
        sheet.text(0, 18, "Words, and how often", INK, bold=True)
        hexadecimal = not "".join(found["words"]).isascii()
        sheet.text(400, 18, "grey: a byte in hex" * hexadecimal, GREY, anchor="end")
        for row, (word, pieces) in enumerate(found["words"].items()):
            y, x = 40 + PITCH * row, 56
            often = f"{found['counts'][word]} ×" if found["counts"][word] else "new"
            sheet.text(40, y + 20, often, GREY, anchor="end")
            gap = 14 if word.isascii() else 6  # a letter can have four bytes
            for piece in pieces:
                new = found["made"] and piece == b"".join(found["made"])
                half = shown(piece).isascii() and not piece.isascii()
                letters = [f"{byte:02X}" for byte in piece] if half else [*shown(piece)]
                letters += [""] * (len(piece) - len(letters))  # a tile per byte: it moves
                for letter in letters:
                    width = (width_of(letter) + 9 - 4 * half) * bool(letter)
                    tile = Sheet(width, 28)
                    colour = ORANGE if new else GREY if half else BLUE
                    tile.rect(0, 0, width, 28, colour, round=3, opacity=0.25)
                    tile.text(width / 2, 20, letter, anchor="middle", bold=new)
                    sheet.put(tile, x, y)
                    x += width
                x += gap
        return sheet

    def _draw_pairs(self):
        sheet, found = Sheet(400, 44 + PITCH * self.numbers["rows"]), self.numbers
        sheet.text(0, 18, "Pairs of neighbours", INK, bold=True)
        sheet.text(0, 60, "" if found["pairs"] else "No pair is left.", GREY)
        most = max([count for _, count in found["pairs"]], default=1)
        rows = [(" + ".join(map(shown, pair)), pair, n) for pair, n in found["pairs"][:MOST_PAIRS]]
        left = max([110, *(width_of(label) + 6 * label.count("<") for label, *_ in rows)]) + 12
        for row, (label, pair, count) in enumerate(rows):
            y, first = 40 + PITCH * row, row == found["plan"][self.step]
            sheet.text(left - 12, y + 20, label, anchor="end", bold=first)
            strong = 0.8 if first else 0.35
            sheet.bar(left, y, 342 - left, 28, count / most, BLUE, round=4, opacity=strong)
            sheet.text(352, y + 20, str(count), GREY)
            merge = {"own": [*found["plan"][: self.step], row], "step": self.step + 1}
            sheet.target(0, y - 4, 400, 36, f"Merge {shown(pair[0])} and {shown(pair[1])}", **merge)
        return sheet
