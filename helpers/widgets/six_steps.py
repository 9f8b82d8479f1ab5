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
CELL, TOP, PITCH = 64, 96, 64  # pixels: a vector's entry, the first key, and from key to key
COLUMNS = 236, 306, 372  # pixels: where scores, scaled scores and weights stand
# What can be pressed: an entry of a vector, such as "v cat 0", or a word's score.
PARTS = ("q", *(f"{part} {word}" for part in "kv" for word in WORDS), "context")
PRESSED = (*(f"{part} {i}" for part in PARTS for i in range(3)), *(f"score {w}" for w in WORDS))
# What is shown at each step until something else is pressed.
MADE = ("q 0", *["score the"] * 3, *["context 0"] * 2)
STEPS = (
    "1 Project: a query for the word, keys and values for all words.",
    "2 Score: the dot product of the query with every key.",
    "3 Scale: divide by √3, the root of a key's width.",
    "4 Softmax: the weights are positive and sum to 1.",
    "5 Weight: multiply each value by its weight.",
    "6 Sum: the context. A Transformer multiplies it by W_O before it’s added to x.",
)


def read_vector(text: str) -> list[float]:
    """Read three numbers, as a learner types them, with spaces or commas between them.

    If it is not three numbers from −99 to 99, it is an empty list.
    """
    try:
        vector = [float(part) for part in text.replace(",", " ").replace("−", "-").split()]
    except ValueError:
        return []
    return vector if len(vector) == 3 and all(abs(v) <= 99 for v in vector) else []


class SixSteps(Explorer):
    """Walk through the six steps for one of three words.

    State: `step` (1 to 6), `word` (whose context is computed), `pressed` (one of `PRESSED`, whose
    product is shown; none: the step's own) and `the`, `cat`, `sleeps`: the words' vectors, as text.
    """

    step = traitlets.Int(3, min=1, max=6).tag(state=True)
    word = traitlets.Enum(WORDS, "the").tag(state=True)
    pressed = traitlets.Enum(("", *PRESSED), "").tag(state=True)
    the = traitlets.Unicode("1 0 1").tag(state=True)
    cat = traitlets.Unicode("0 2 1").tag(state=True)
    sleeps = traitlets.Unicode("1 1 0").tag(state=True)
    still = {"step": 6}

    @traitlets.validate(*WORDS)
    def _three_numbers(self, proposal):
        asked = "Type three numbers from −99 to 99, such as 1 0 1."
        return self.checked(proposal, "" if read_vector(proposal.value) else asked)

    def build(self):
        self.play("step", "Step", interval=1500)
        self.choice("word", "Word", WORDS)
        self.observe(lambda _: self.set_trait("pressed", ""), names="step")
        for word in WORDS:
            self.words(word, f"x of {word}").second = True

    def compute(self):
        x = torch.tensor([read_vector(getattr(self, word)) for word in WORDS])
        at = WORDS.index(self.word)
        query, keys, values = x[at : at + 1] @ W_Q, x @ W_K, x @ W_V
        context, weights = scaled_dot_product_attention(query, keys, values)
        return {
            "x": x,
            "made": self.pressed or MADE[self.step - 1],
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
        if self.step < 6:
            return STEPS[self.step - 1], f"Next: {STEPS[self.step][2:]}"
        asked = "Type 0 4 1 as the x of cat. Whose value fills the context now?"
        if self.numbers["x"][1].tolist() == [0, 4, 1]:
            asked = "Now choose another word. Does cat’s value fill its context too?"
        return STEPS[self.step - 1], asked

    def draw(self):
        return [self._draw_scores(), self._draw_mixture(), self._draw_product()]

    def _draw_scores(self):
        sheet, found = Sheet(404, 268), self.numbers
        self._draw_vector(sheet, 0, 30, f"q of “{self.word}” = x · W_Q", found["query"], BLUE, "q")
        for i, word in enumerate(WORDS):
            y = TOP + PITCH * i
            name = f"k of “{word}” = x · W_K"
            self._draw_vector(sheet, 0, y, name, found["keys"][i], ORANGE, f"k {word}")
            if self.step > 1:
                self._draw_weight(sheet, y, i)
        for x, head, step in zip(COLUMNS, ("q · k", "/ √3", "weight"), (2, 3, 4), strict=True):
            sheet.text(x, 64, head, INK if self.step >= step else GREY, 16, "middle", bold=True)
            sheet.target(x - 34, 34, 68, 45, f"Go to step {step}", step=step)
        return sheet

    def _draw_weight(self, sheet, y, i):
        """Write the score of key `i`, and what it becomes."""
        score, weight = self.numbers["scores"][i], self.numbers["weights"][i]
        written = number(score, 1), number(score / 3**0.5), share(weight)
        for step, (x, words) in enumerate(zip(COLUMNS, written, strict=True), 2):
            words = words if self.step >= step else ""
            colour = PURPLE if step == 4 else INK
            sheet.text(x, y + 24, words, colour, anchor="middle", bold=step == 4)
        named = f"score {WORDS[i]}"
        sheet.target(COLUMNS[0] - 34, y, 68, 34, f"How is {named} made?", pressed=named)
        sheet.bar(342, y + 34, 60, 8, weight * (self.step >= 4), PURPLE)

    def _product(self):
        """Return how the pressed number is made: a row, columns, which of them, and their names."""
        found, (part, *rest) = self.numbers, self.numbers["made"].split()
        if part == "score":
            key = found["keys"][WORDS.index(rest[0])][:, None]
            return found["query"], key, 0, f"q of “{self.word}”", f"k of “{rest[0]}”", ORANGE
        if part == "context":
            return found["weights"], found["values"], int(rest[0]), "weights", "all v", GREEN
        word, (name, matrix, colour) = (rest[:-1] or [self.word])[0], MATRICES["qkv".index(part)]
        return found["x"][WORDS.index(word)], matrix, int(rest[-1]), f"x of “{word}”", name, colour

    def _draw_product(self):
        """Draw the product that the pressed number comes from, its entries lit, and write it."""
        row, matrix, j, left, right, colour = self._product()
        n, column, (sheet, y) = matrix.shape[1], matrix[:, j], (Sheet(404, 112), 27)
        sheet.text(0, 18, "press a number", GREY)
        self._draw_vector(sheet, 0, y + 26, f"{left} ·", row, INK, wide=46, lit=range(3))
        self._draw_vector(sheet, 162, y, right, matrix, colour, "", 46, range(j, 3 * n, n), 26)
        terms = [f"{_short(a)}·{_short(b)}" for a, b in zip(row, column, strict=True)]
        made = _short(row @ column)
        if self.step == 3 and not self.pressed:
            made += f"; {made} / √3 = {number(row @ column / 3**0.5)}"
        written = zip("=++=", [*terms, made], strict=True)
        for i, (sign, words) in enumerate(written):
            sheet.text(172 + 46 * n, y + 18 + 22 * i, f"{sign} {words}", bold=i == 3)
        return sheet

    def _draw_mixture(self):
        """Draw the values, weighed or not yet, each beside its key, and the context above them."""
        sheet, found = Sheet(300, 278), self.numbers
        weighed, done = self.step >= 5, self.step >= 6
        name = f"context of “{self.word}”{': the sum' * done}"
        if done:
            self._draw_vector(sheet, 30, 30, name, found["context"], PURPLE, "context")
        else:
            sheet.text(30, 21, name, GREY)
            sheet.rect(30, 30, 3 * CELL, 34, PALE)
        for i, word in enumerate(WORDS):
            y, weight = TOP + PITCH * i, found["weights"][i]
            words = f"{share(weight)} × v of “{word}”" if weighed else f"v of “{word}” = x · W_V"
            values = weight * found["values"][i] if weighed else found["values"][i]
            self._draw_vector(sheet, 30, y, words, values, GREEN, "" if weighed else f"v {word}")
            sheet.text(10, y + 24, "=++"[i] * done, INK, anchor="middle")
        sheet.text(30, 275, "weights shown are rounded" * weighed, GREY)
        return sheet

    def _draw_vector(self, sheet, x, y, name, values, colour, press="", wide=CELL, lit=(), high=34):
        """Draw a vector or a matrix, a box per number; they're called what is to `press`."""
        sheet.text(x, y - 9, name, colour)  # room for a Q below the line
        values = values.reshape(-1, values.shape[-1])
        for n, value in enumerate(values.flatten()):
            i, j = divmod(n, values.shape[1])
            place, named = (x + wide * j, y + high * i, wide, high), f"{press} {j}"
            sheet.rect(*place, "white", colour)
            sheet.rect(*place, colour, opacity=0.25 * (n in lit or named == self.numbers["made"]))
            sheet.text(place[0] + wide / 2, place[1] + high / 2 + 6, _short(value), anchor="middle")
            if press:
                sheet.target(*place, f"How is {named} made?", pressed=named)


def _short(value):
    return number(value, 0) if float(value).is_integer() else share(value)
