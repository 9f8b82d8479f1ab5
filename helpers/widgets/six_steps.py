"""Self-attention for one word, six steps, every number visible; the vectors can be edited."""

import torch
import traitlets

from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from helpers.transformer.attention import scaled_dot_product_attention
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet, number

WORDS = ("the", "cat", "sleeps")
W_Q = torch.tensor([[1.0, 0, 1], [0, 1, 0], [1, 0, 0]])
W_K = torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 1, 0]])
W_V = torch.tensor([[1.0, 0, 2], [0, 3, 0], [1, 0, 0]])
CELL = 70  # pixels of a vector's entry
STEPS = (
    "1 Project: a query for the word, keys and values for all words.",
    "2 Score: the dot product of the query with every key.",
    "3 Scale: divide by √3, the root of a key's width.",
    "4 Softmax: the weights are positive and sum to 1.",
    "5 Weight: multiply each value by its weight.",
    "6 Sum: the context, which a Transformer then adds to x.",
)


def read_vector(text: str) -> list[float]:
    """Read three numbers, as a learner types them, with spaces or commas between them.

    If it is not three numbers from −99 to 99, it is a ValueError.
    """
    try:
        vector = [float(part) for part in text.replace(",", " ").replace("−", "-").split()]
    except ValueError:
        vector = []
    if len(vector) != 3 or not all(abs(v) <= 99 for v in vector):
        raise ValueError(f"Type three numbers from −99 to 99, such as 1 0 1; got {text!r}")
    return vector


class SixSteps(Explorer):
    """Walk through the six steps for one of three words.

    State: `step` (1 to 6), `word` (whose context is computed) and `the`, `cat`, `sleeps`: the
    words' vectors, as text.
    """

    step = traitlets.Int(3, min=1, max=6).tag(state=True)
    word = traitlets.Enum(WORDS, "the").tag(state=True)
    the = traitlets.Unicode("1 0 1").tag(state=True)
    cat = traitlets.Unicode("0 2 1").tag(state=True)
    sleeps = traitlets.Unicode("1 1 0").tag(state=True)
    still = {"step": 6}

    def build(self):
        self._good = {w: read_vector(self.traits()[w].default(self)) for w in WORDS}
        self.play("step", "Step", interval=1500)
        self.choice("word", "Word", WORDS)
        for word in WORDS:
            self.words(word, f"x of {word}")
        self.button("Start again", self.reset)

    def compute(self):
        """Run the attention; keep the last good vector where a new one cannot be read."""
        for word in WORDS:
            self.controls[word].error = ""
            try:
                self._good[word] = read_vector(getattr(self, word))
            except ValueError as error:
                self.controls[word].error = f"{error}. The last vector stays."
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
        }

    def describe(self):
        found = self.numbers
        weights = ", ".join(number(w) for w in found["weights"])
        context = ", ".join(number(c) for c in found["context"])
        return (
            f"Step {self.step} of six for {self.word}. Weights on the, cat, sleeps: {weights}. "
            f"Context: {context}."
        )

    def tell(self):
        """Say what happens at this step."""
        if self.step < 6:
            return STEPS[self.step - 1], f"Next: {STEPS[self.step][2:]}"
        typed = self._good["cat"] == [0, 4, 1]
        return STEPS[self.step - 1], (
            "Now choose another word. Does cat’s value fill its context too?"
            if typed
            else "Type 0 4 1 as the x of cat. Whose value fills the context now?"
        )

    def draw(self):
        """Draw the steps up to the one chosen: vectors at the left, what comes of them beside."""
        return [self._draw_scores(), self._draw_mixture()]

    def _draw_scores(self):
        sheet, found = Sheet(480, 300), self.numbers
        self._draw_vector(sheet, 0, 30, f"q of {self.word}", found["query"], BLUE)
        for i, word in enumerate(WORDS):
            y = 106 + 72 * i
            self._draw_vector(sheet, 0, y, f"k of {word}", found["keys"][i], ORANGE)
            if word != self.word:
                sheet.target(0, y - 26, 3 * CELL + 2, 62, f"Take {word} as the word", word=word)
            for x, value, step in (
                (256, number(found["scores"][i], 1), 2),
                (342, number(found["scores"][i] / 3**0.5), 3),
                (432, number(found["weights"][i]), 4),
            ):
                colour = PURPLE if step == 4 else INK
                words = value if self.step >= step else ""
                sheet.text(x, y + 24, words, colour, anchor="middle", bold=step == 4)
            weight = float(found["weights"][i]) if self.step >= 4 else 0
            sheet.rect(390, y + 34, 84, 8, PALE)
            sheet.rect(390, y + 34, 84 * weight, 8, PURPLE)
        for x, head, step in ((256, "q · k", 2), (342, "/ √3", 3), (432, "weight", 4)):
            sheet.text(x, 70, head, INK if self.step >= step else GREY, 16, "middle", bold=True)
            sheet.target(x - 43, 38, 86, 46, f"Go to step {step}", step=step)
        return sheet

    def _draw_mixture(self):
        sheet, found = Sheet(320, 300), self.numbers
        weighed = self.step >= 5
        for i, word in enumerate(WORDS):
            y, weight = 106 + 72 * i, found["weights"][i]
            words = f"{number(weight)} × v of {word}" if weighed else f"v of {word}"
            values = weight * found["values"][i] if weighed else found["values"][i]
            self._draw_vector(sheet, 30, y, words, values, GREEN)
            sheet.text(10, y + 24, "+" if i and self.step >= 6 else "", INK, anchor="middle")
        sheet.text(10, 54, "=" if self.step >= 6 else "", INK, anchor="middle")
        if self.step >= 6:
            words = f"context of {self.word}: the sum"
            self._draw_vector(sheet, 30, 30, words, found["context"], PURPLE)
        return sheet

    def _draw_vector(self, sheet, x, y, name, values, colour):
        sheet.text(x, y - 8, name, colour)
        for j, value in enumerate(values.tolist()):
            sheet.rect(x + CELL * j, y, CELL, 34, "white", colour)
            digits = 0 if float(value).is_integer() else 2
            sheet.text(x + CELL * (j + 0.5), y + 23, number(value, digits), INK, anchor="middle")
