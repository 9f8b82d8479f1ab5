"""Self-attention for one word, six steps, every number visible; the vectors can be edited."""

import torch
import traitlets

from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from helpers.transformer.attention import scaled_dot_product_attention
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet, number, share

WORDS = ("the", "cat", "sleeps")
W_Q = torch.tensor([[1.0, 0, 1], [0, 1, 0], [1, 0, 0]])
W_K = torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 1, 0]])
W_V = torch.tensor([[1.0, 0, 2], [0, 3, 0], [1, 0, 0]])
MATRICES = ("W_Q", W_Q, BLUE), ("W_K", W_K, ORANGE), ("W_V", W_V, GREEN)
CELL, TOP, PITCH = 70, 96, 64  # pixels: a vector's entry, the first key, and from key to key
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
            self.words(word, f"x of {word}").second = True
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
        weights = ", ".join(share(w) for w in found["weights"])
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
        sheet, found = Sheet(480, 326), self.numbers
        self._draw_vector(sheet, 0, 30, f"q of {self.word} = x · W_Q", found["query"], BLUE)
        for i, word in enumerate(WORDS):
            y = TOP + PITCH * i
            name = f"k of {word} = x · W_K"
            self._draw_vector(sheet, 0, y, name, found["keys"][i], ORANGE)
            if word != self.word:
                sheet.target(0, y - 22, 3 * CELL + 2, 58, f"Take {word} as the word", word=word)
            if self.step > 1:
                self._draw_weight(sheet, y, i)
        if self.step == 1:
            self._draw_matrices(sheet)
            return sheet
        for x, head, step in ((256, "q · k", 2), (342, "/ √3", 3), (432, "weight", 4)):
            sheet.text(x, 64, head, INK if self.step >= step else GREY, 16, "middle", bold=True)
            sheet.target(x - 43, 34, 86, 45, f"Go to step {step}", step=step)
        return sheet

    def _draw_weight(self, sheet, y, i):
        """Write the score of key `i`, and what it becomes."""
        score, weight = self.numbers["scores"][i], self.numbers["weights"][i]
        written = number(score, 1), number(score / 3**0.5), share(weight)
        for step, (x, words) in enumerate(zip((256, 342, 432), written, strict=True), 2):
            words = words if self.step >= step else ""
            colour = PURPLE if step == 4 else INK
            sheet.text(x, y + 24, words, colour, anchor="middle", bold=step == 4)
        sheet.rect(390, y + 34, 84, 8, PALE)
        sheet.rect(390, y + 34, 84 * float(weight) * (self.step >= 4), 8, PURPLE)

    def _draw_matrices(self, sheet):
        """Draw what step 1 multiplies: the words' vectors x, and the three matrices."""
        for y, (name, matrix, colour) in zip((16, 122, 228), MATRICES, strict=True):
            self._draw_vector(sheet, 374, y + 8, name, matrix, colour, 34, 26)
        for i, word in enumerate(WORDS):
            x = torch.tensor(self._good[word])
            bold = word == self.word
            self._draw_vector(sheet, 240, TOP + PITCH * i, f"x of {word}", x, INK, 34, 34, bold)

    def _draw_mixture(self):
        sheet, found = Sheet(320, 326), self.numbers
        weighed = self.step >= 5
        for i, word in enumerate(WORDS):
            y, weight = TOP + PITCH * i, found["weights"][i]
            words = f"{share(weight)} × v of {word}" if weighed else f"v of {word} = x · W_V"
            values = weight * found["values"][i] if weighed else found["values"][i]
            self._draw_vector(sheet, 30, y, words, values, GREEN)
            sheet.text(10, y + 24, "+" if i and self.step >= 6 else "", INK, anchor="middle")
        if self.step >= 6:
            sheet.text(10, TOP + 3 * PITCH + 24, "=", INK, anchor="middle")
            words = f"context of {self.word}: the sum"
            self._draw_vector(sheet, 30, TOP + 3 * PITCH, words, found["context"], PURPLE)
        return sheet

    def _draw_vector(self, sheet, x, y, name, values, colour, cell=CELL, high=34, bold=False):
        """Draw a vector or a matrix, a box per number."""
        sheet.text(x, y - 6, name, colour, bold=bold)
        for i, row in enumerate(values.reshape(-1, 3).tolist()):
            for j, value in enumerate(row):
                left, digits = x + cell * j, 0 if float(value).is_integer() else 2
                sheet.rect(left, y + high * i, cell, high, "white", colour)
                place = left + cell / 2, y + high * i + high / 2 + 6
                sheet.text(*place, number(value, digits), INK, anchor="middle")
