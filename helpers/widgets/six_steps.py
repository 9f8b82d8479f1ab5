"""Self-attention for one word, six steps, every number visible; the vectors can be edited."""

import torch
import traitlets

from helpers.attention import scaled_dot_product_attention
from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import RULE, Sheet, number

WORDS = ("the", "cat", "sleeps")
W_Q = torch.tensor([[1.0, 0, 1], [0, 1, 0], [1, 0, 0]])
W_K = torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 1, 0]])
W_V = torch.tensor([[1.0, 0, 2], [0, 3, 0], [1, 0, 0]])
STEPS = (
    "1 Project: the word's query, everybody's keys and values.",
    "2 Score: the query meets every key in a dot product.",
    "3 Scale: divide by √3, the root of a key's width.",
    "4 Softmax: the weights are positive and sum to 1.",
    "5 Weigh: each value times its weight.",
    "6 Sum: the context, the word's new vector.",
)


def read_vector(text):
    """Read three numbers, as a learner types them.

    Parameters
    ----------
    text : str
        With spaces or commas between the numbers.

    Returns
    -------
    vector : list of 3 float

    Raises
    ------
    ValueError
        If it is not three numbers from −99 to 99.
    """
    try:
        vector = [float(part) for part in text.replace(",", " ").replace("−", "-").split()]
    except ValueError:
        vector = []
    if len(vector) != 3 or not all(abs(v) <= 99 for v in vector):
        raise ValueError(f"three numbers from −99 to 99 were expected, such as 1 0 1; got {text!r}")
    return vector


class SixSteps(Explorer):
    """Walk through the six steps for one of three words.

    Parameters
    ----------
    **state : traits
        `step` (1 to 6), `word` (the one that looks) and `the`, `cat`, `sleeps`: the words'
        vectors, as text.
    """

    step = traitlets.Int(6, min=1, max=6).tag(state=True)
    word = traitlets.Enum(WORDS, "the").tag(state=True)
    the = traitlets.Unicode("1 0 1").tag(state=True)
    cat = traitlets.Unicode("0 2 1").tag(state=True)
    sleeps = traitlets.Unicode("1 1 0").tag(state=True)

    def build(self):
        """Make the controls."""
        self._good = {w: read_vector(self.traits()[w].default(self)) for w in WORDS}
        self.play("step", "Step", interval=1500)
        self.choice("word", "The word that looks", WORDS)
        for word in WORDS:
            self.words(word, f"x of {word}")
        self.button("Start again", self.reset)

    def compute(self):
        """Run the attention; keep the last good vector where a new one cannot be read."""
        problem = ""
        for word in WORDS:
            try:
                self._good[word] = read_vector(getattr(self, word))
            except ValueError as error:
                problem = f"x of {word}: {error}"
        x = torch.tensor([self._good[word] for word in WORDS])
        at = WORDS.index(self.word)
        query, keys, values = x[at : at + 1] @ W_Q, x @ W_K, x @ W_V
        context, weights = scaled_dot_product_attention(query, keys, values)
        return {
            "query": query[0],
            "keys": keys,
            "values": values,
            "scores": (query @ keys.T)[0],
            "weights": weights[0],
            "context": context[0],
            "problem": problem,
        }

    def describe(self):
        """Say in words what the picture shows."""
        found = self.numbers
        weights = ", ".join(number(w) for w in found["weights"])
        context = ", ".join(number(c) for c in found["context"])
        return (
            f"Step {self.step} of six for {self.word}. Weights on the, cat, sleeps: {weights}. "
            f"Context: {context}."
        )

    def draw(self):
        """Draw the steps up to the one chosen, a row for each word that is looked at."""
        sheet, found = Sheet(920, 380), self.numbers
        sheet.text(20, 30, STEPS[self.step - 1], INK, 18, bold=True)
        self._draw_vector(sheet, 10, 190, f"q of {self.word}", found["query"], BLUE)
        for i, word in enumerate(WORDS):
            y = 110 + 80 * i
            self._draw_vector(sheet, 190, y, f"k of {word}", found["keys"][i], ORANGE)
            self._draw_vector(sheet, 690, y, f"v of {word}", found["values"][i], GREEN)
            if self.step >= 2:
                sheet.text(390, y + 24, number(found["scores"][i], 1), INK, 18, "middle")
            if self.step >= 3:
                sheet.text(480, y + 24, number(found["scores"][i] / 3**0.5), INK, 18, "middle")
            if self.step >= 4:
                self._draw_weight(sheet, y, float(found["weights"][i]))
        for x, head, step in ((390, "q · k", 2), (480, "/ √3", 3), (580, "weight", 4)):
            sheet.text(x, 72, head, INK if self.step >= step else RULE, 16, "middle", bold=True)
        if self.step >= 6:
            self._draw_vector(sheet, 690, 342, "", found["context"], PURPLE)
            sheet.text(676, 366, "the context", PURPLE, anchor="end", bold=True)
        if found["problem"]:
            sheet.text(20, 372, found["problem"][:90], "#b3261e", bold=True)
        return sheet

    def _draw_weight(self, sheet, y, weight):
        sheet.text(580, y + 24, number(weight), PURPLE, 18, "middle", bold=True)
        sheet.rect(550, y + 32, 60 * weight, 6, PURPLE)
        if self.step >= 5:
            sheet.text(650, y + 24, "×", PURPLE, 20, "middle", bold=True)

    def _draw_vector(self, sheet, x, y, name, values, colour):
        sheet.text(x, y - 8, name, colour)
        for j, value in enumerate(values.tolist()):
            sheet.rect(x + 54 * j, y, 54, 34, "white", colour)
            digits = 0 if float(value).is_integer() else 2
            sheet.text(x + 54 * j + 27, y + 23, number(value, digits), GREY, anchor="middle")
