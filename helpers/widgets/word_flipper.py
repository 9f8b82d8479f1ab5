"""A review, and what a classifier would say if one of its words were left out."""

import traitlets

from helpers.plots import BLUE, GREY, INK, ORANGE
from helpers.widgets.sentence_explorer import SentenceExplorer
from helpers.widgets.svg import PALE, Sheet, flow, share

MOST_WORDS = 12
ROW, WIDE = 32, 400  # pixels: from row to row, and of the review
LEFT, LONG, END = 118, 158, 330  # pixels: where the bars begin, how long they are, their sheet


class WordFlipper(SentenceExplorer):
    """Type a review: each bar is how positive it would be without one of its words.

    Parameters
    ----------
    sentiment : Sentiment
    sentence : str, default="a film that is never dull"
        At most 12 words.
    **state : traits
        `left_out`: number of the word that is left out, from 1; 0 for none.

    Raises
    ------
    ValueError
        If the sentence is empty or too long to draw.
    """

    left_out = traitlets.Int(0, min=0, max=MOST_WORDS).tag(state=True)

    def __init__(self, sentiment, sentence="a film that is never dull", **state):
        self._sentiment = sentiment
        super().__init__(sentence, **state)

    def problem(self, sentence):
        n = len(sentence.split())
        if not n:
            return "Type at least one word."
        return f"At most {MOST_WORDS} words fit; got {n}." if n > MOST_WORDS else ""

    def build(self):
        self.words("sentence", "Review", wide=True)
        self.observe(lambda _: self.set_trait("left_out", 0), names="sentence")

    def compute(self):
        """Judge the whole review, and the review without each of its words."""
        words = self.sentence.split()
        shorter = [" ".join(words[:i] + words[i + 1 :]) or "[PAD]" for i in range(len(words))]
        found = self.once(words, lambda: self._sentiment.probabilities([self.sentence, *shorter]))
        return {"words": words, "positive": found.tolist()}

    def describe(self):
        words, (whole, *without) = self.numbers["words"], self.numbers["positive"]
        parts = [f"without {w} {share(p)}" for w, p in zip(words, without, strict=True)]
        return f"Probability of a positive review: {share(whole)}; " + ", ".join(parts) + "."

    def _chosen(self):
        """Return the number of the word that is left out, the reading, and that of all words."""
        positive = self.numbers["positive"]
        chosen = self.left_out if self.left_out < len(positive) else 0
        return chosen, positive[chosen], positive[0]

    def tell(self):
        """Say what the model reads, and which word the reading hangs on."""
        (chosen, now, whole), words = self._chosen(), self.numbers["words"]
        most = max(range(len(words)), key=lambda i: abs(self.numbers["positive"][i + 1] - whole))
        if not chosen:
            asked = (
                f"Click {_named(words, most)}: no other word counts for more. Then type another "
                "review."
            )
            if len(words) == 1:
                asked = "Type a few more words. Which of them does the model go by?"
            elif abs(self.numbers["positive"][most + 1] - whole) < 0.05:
                asked = "No word alone changes much. Type a review that hangs on a single word."
            verdict = f"{_side(whole)}: probability of positive {share(whole)}."
            return f"The model calls this {verdict}", asked
        changed = "turns" if _side(now) != _side(whole) else "stays"
        return (
            f"Without {_named(words, chosen - 1)}, the review {changed} {_side(now)}: "
            f"{share(whole)} → {share(now)}.",
            "Click the word again to put it back, or leave out another one.",
        )

    def draw(self):
        return [self._draw_review(), self._draw_words()]

    def _draw_review(self):
        (chosen, now, whole), words = self._chosen(), self.numbers["words"]
        sheet = Sheet(WIDE, 0)
        sheet.text(0, 18, "Click a word to leave it out", INK, bold=True)
        for i, (x, y, wide) in enumerate(flow(words, 30, WIDE), 1):
            out = i == chosen
            push = whole - self.numbers["positive"][i]  # what this word adds
            colour = BLUE if push >= 0 else ORANGE
            sheet.rect(x, y, wide, 30, PALE, GREY if out else colour, round=5)
            sheet.rect(x, y, wide, 30, "none" if out else colour, round=5, opacity=0.6 * abs(push))
            sheet.text(x + wide / 2, y + 21, words[i - 1], GREY if out else INK, anchor="middle")
            sheet.line(x + 5, y + 15, x + wide - 5, y + 15, INK, 2 if out else 0)
            label = f"{'Put back' if out else 'Leave out'} {words[i - 1]}"
            sheet.target(x, y - 3, wide, 36, label, left_out=0 if out else i)
        y += 62
        sheet.text(0, y, "0 ■ to negative", ORANGE, bold=True)
        sheet.text(WIDE / 2, y, "0.5", GREY, anchor="middle")
        sheet.text(WIDE, y, "to positive ■ 1", BLUE, anchor="end", bold=True)
        _bar(sheet, y + 10, 0, WIDE, now, 34)
        x, said = min(max(WIDE * now, 92), WIDE - 92), f"P(positive) = {share(now)}"
        sheet.text(x, y + 68, said, INK, anchor="middle", bold=True)
        sheet.height = y + 80
        return sheet

    def _draw_words(self):
        """Draw what the model would say without each word; a line marks the whole review."""
        (chosen, _, whole), words = self._chosen(), self.numbers["words"]
        sheet = Sheet(END, 70 + ROW * len(words), least=0.76)
        sheet.text(0, 18, "P(positive) without …", INK, bold=True)
        for i, word in enumerate(words, 1):
            y, chance = 28 + ROW * (i - 1), self.numbers["positive"][i]
            shown = word if len(word) <= 11 else f"{word[:10]}…"
            sheet.text(LEFT - 10, y + 16, shown, INK, anchor="end", bold=i == chosen)
            _bar(sheet, y, LEFT, LONG, chance, 22, whole)
            sheet.text(END, y + 16, share(chance), INK, anchor="end", bold=i == chosen)
            sheet.target(0, y - 5, END, ROW, f"Leave out {word}, word {i}", left_out=i)
        at, end = LEFT + LONG * whole, 26 + ROW * len(words)
        sheet.line(at, 24, at, end, INK, 2)
        for place, name in enumerate(("0", "0.5", "1")):
            sheet.text(LEFT + LONG * place / 2, end + 16, name, GREY, anchor="middle")
        anchor, arrows = ("end", ("", " ↑")) if whole > 0.3 else ("start", ("↑ ", ""))
        sheet.text(at, end + 38, "the whole review".join(arrows), GREY, anchor=anchor)
        return sheet


def _named(words, i):
    """Quote a word, and say which one if it occurs again."""
    return f"“{words[i]}”" + f" (word {i + 1})" * (words.count(words[i]) > 1)


def _side(chance):
    return "positive" if chance > 0.5 else "negative"


def _bar(sheet, y, left, wide, chance, tall, start=0.5):
    """Draw a bar to a chance from where it starts: the middle, where the model can't tell."""
    begin, end, middle = left + wide * start, left + wide * chance, left + wide / 2
    colour = BLUE if chance > start else ORANGE
    sheet.rect(left, y, wide, tall, PALE, round=3)
    sheet.rect(min(begin, end), y, abs(end - begin), tall, colour, round=2)
    sheet.line(middle, y, middle, y + tall, GREY)
