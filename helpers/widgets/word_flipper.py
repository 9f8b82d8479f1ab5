"""A review, and what a classifier would say if one of its words were left out."""

import traitlets

from helpers.plots import BLUE, GREY, INK, ORANGE
from helpers.widgets.sentence_explorer import SentenceExplorer
from helpers.widgets.svg import PALE, Sheet, number

MOST_WORDS = 12
ROW, LEFT, WIDE = 26, 190, 560  # pixels: from row to row, where the bars begin, how long they are


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
        """Say why a `sentence` cannot be used; an empty str if it can."""
        n = len(sentence.split())
        if not n:
            return "Type at least one word."
        return f"At most {MOST_WORDS} words fit; got {n}." if n > MOST_WORDS else ""

    def build(self):
        """Make the field; a word is left out by a click on its row."""
        self.words("sentence", "Review", wide=True)
        self.button("Start again", self.reset)

    def compute(self):
        """Judge the whole review, and the review without each of its words."""
        words = self._good.split()
        known, found = self._known
        if known != words:
            shorter = [" ".join(words[:i] + words[i + 1 :]) or "[PAD]" for i in range(len(words))]
            found = self._sentiment.probabilities([" ".join(words), *shorter]).tolist()
            self._known = words, found
        return {"words": words, "positive": found}

    def describe(self):
        """Say in words what the picture shows."""
        words, (whole, *without) = self.numbers["words"], self.numbers["positive"]
        parts = [f"without {w} {number(p)}" for w, p in zip(words, without, strict=True)]
        return f"Probability of a positive review: {number(whole)}; " + ", ".join(parts) + "."

    def draw(self):
        """Draw one bar for the whole review and one per word that is left out."""
        words, positive = self.numbers["words"], self.numbers["positive"]
        sheet = Sheet(LEFT + WIDE + 60, 60 + ROW * len(positive))
        chosen = self.left_out if self.left_out <= len(words) else 0
        kept = [word for i, word in enumerate(words, 1) if i != chosen]
        sheet.text(0, 18, " ".join(kept), INK, bold=True)
        sheet.text(LEFT, 42, "negative", ORANGE)
        sheet.text(LEFT + WIDE, 42, "positive", BLUE, anchor="end")
        middle = LEFT + WIDE / 2
        for i, chance in enumerate(positive):
            y = 52 + ROW * i
            label = f"without “{words[i - 1]}”" if i else "the whole review"
            sheet.rect(LEFT, y, WIDE, 18, PALE, round=3)
            end = LEFT + WIDE * chance
            colour = BLUE if chance >= 0.5 else ORANGE
            sheet.rect(min(middle, end), y, abs(end - middle), 18, colour, round=2)
            sheet.text(LEFT - 10, y + 14, label, INK, anchor="end", bold=i == chosen)
            sheet.text(LEFT + WIDE + 10, y + 14, f"{chance:.2f}", colour, bold=i == chosen)
            sheet.target(0, y - 3, sheet.width, ROW - 2, f"Show {label}", left_out=i)
        sheet.line(middle, 48, middle, 52 + ROW * len(positive), GREY)
        return sheet
