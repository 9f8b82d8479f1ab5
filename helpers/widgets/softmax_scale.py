"""What a softmax makes of scores: by temperature, and by the width of the vectors that meet."""

import math

import torch
import traitlets

from helpers.metrics import attention_entropy
from helpers.plots import BLUE, GREEN, GREY, ORANGE, PURPLE
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import RULE, Plot, Sheet, number

WIDTHS = tuple(2**i for i in range(10))  # 1 to 512
N_KEYS = 16


class SoftmaxTemperature(Explorer):
    """Five scores and a temperature: from an even mixture to a look-up of the best key.

    Parameters
    ----------
    **state : traits
        `temperature` (0.02 to 10) and `first` to `fifth`, the scores (−4 to 4).
    """

    temperature = traitlets.Float(1.0, min=0.02, max=10.0).tag(state=True)
    first = traitlets.Float(2.0, min=-4.0, max=4.0).tag(state=True)
    second = traitlets.Float(1.0, min=-4.0, max=4.0).tag(state=True)
    third = traitlets.Float(0.5, min=-4.0, max=4.0).tag(state=True)
    fourth = traitlets.Float(0.0, min=-4.0, max=4.0).tag(state=True)
    fifth = traitlets.Float(-1.0, min=-4.0, max=4.0).tag(state=True)

    def build(self):
        """Make the controls."""
        self.slider("temperature", "Temperature", log=True)
        for name in ("first", "second", "third", "fourth", "fifth"):
            self.slider(name, f"{name.capitalize()} score", step=0.1, digits=1)
        self.button("Start again", self.reset)

    def compute(self):
        """Turn the scores into weights."""
        scores = torch.tensor([self.first, self.second, self.third, self.fourth, self.fifth])
        weights = (scores.double() / self.temperature).softmax(-1)
        entropy = attention_entropy(weights[None]).item()
        return {"scores": scores, "weights": weights, "entropy": entropy}

    def describe(self):
        """Say in words what the picture shows."""
        weights = ", ".join(number(w) for w in self.numbers["weights"])
        return (
            f"Bars of five weights at temperature {number(self.temperature)}: {weights}. "
            f"Entropy {number(self.numbers['entropy'])} nats of at most {number(math.log(5))}."
        )

    def draw(self):
        """Draw a bar for each weight."""
        sheet = Sheet(920, 300)
        found = self.numbers
        for i, (score, weight) in enumerate(zip(found["scores"], found["weights"], strict=True)):
            x, height = 60 + 110 * i, 190 * float(weight)
            sheet.rect(x, 230 - 190, 80, 190, "white", RULE)
            sheet.rect(x, 230 - height, 80, height, PURPLE)
            sheet.text(x + 40, 30, number(weight), PURPLE, anchor="middle", bold=True)
            sheet.text(x + 40, 256, f"score {number(score, 1)}", GREY, anchor="middle")
        sheet.text(640, 80, "softmax of score / temperature", GREY)
        sheet.text(640, 116, f"entropy {number(found['entropy'])} nats", BLUE, bold=True)
        sheet.text(640, 146, f"an even mixture has {number(math.log(5))}", BLUE)
        sheet.text(640, 176, "a look-up has 0.00", BLUE)
        return sheet


def scale_measurements(width, divide, n_draws=400, seed=0):
    """Measure scores of random queries and keys of a width, and what a softmax makes of them.

    Parameters
    ----------
    width : int
        Of queries and keys, whose components are independent with variance 1.
    divide : bool
        Divide the scores by the root of the width.
    n_draws : int, default=400
    seed : int, default=0

    Returns
    -------
    variance, entropy, gradient : float
        Of the scores; of a row of 16 weights, in nats; the mean size of the derivative of a
        weight with respect to its own score.

    Source
    ------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.1, footnote 4.
    """
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(n_draws, width, generator=generator)
    keys = torch.randn(n_draws, N_KEYS, width, generator=generator)
    scores = (keys @ query[..., None]).squeeze(-1)
    if divide:
        scores = scores / math.sqrt(width)
    weights = scores.softmax(-1)
    gradient = (weights * (1 - weights)).mean()
    return scores.var().item(), attention_entropy(weights).mean().item(), gradient.item()


class ScaleExplorer(Explorer):
    """The width of the keys moves three measurements at once: variance, entropy, gradient.

    Parameters
    ----------
    **state : traits
        `power` (0 to 9: the width is 2 to this power) and `divide` (bool: by the root of it).
    """

    power = traitlets.Int(6, min=0, max=9).tag(state=True)
    divide = traitlets.Bool(False).tag(state=True)

    def build(self):
        """Make the controls."""
        self._curves = {
            divide: [scale_measurements(width, divide) for width in WIDTHS]
            for divide in (False, True)
        }
        self.slider("power", "Width of a key, d_k = 2 to the")
        self.switch("divide", "Divide the scores by √d_k")
        self.button("Start again", self.reset)

    def compute(self):
        """Look up the measurements of this width."""
        variance, entropy, gradient = self._curves[self.divide][self.power]
        width = WIDTHS[self.power]
        return {"width": width, "variance": variance, "entropy": entropy, "gradient": gradient}

    def describe(self):
        """Say in words what the picture shows."""
        found = self.numbers
        how = "divided by the root of the width" if self.divide else "not divided"
        return (
            f"Three curves over the width of a key, scores {how}. At width {found['width']}: "
            f"variance {number(found['variance'])}, entropy {number(found['entropy'])} nats, "
            f"gradient {number(found['gradient'], 4)}."
        )

    def draw(self):
        """Draw the three curves side by side, the chosen width marked."""
        sheet = Sheet(920, 300)
        panels = (
            ("variance of scores (log)", "variance", (0.4, 700), True, ORANGE),
            (f"entropy of {N_KEYS} weights (nats)", "entropy", (0, 2.9), False, BLUE),
            ("slope: weight by own score", "gradient", (0, 0.06), False, GREEN),
        )
        for n, (title, name, limits, log, colour) in enumerate(panels):
            left = 30 + 300 * n
            plot = Plot(sheet, left, 70, 250, 170, (0.9, 600), limits, log_x=True, log_y=log)
            sheet.rect(left, 70, 250, 170, stroke=RULE)
            for divide in (True, False):
                heights = [row[n] for row in self._curves[divide]]
                dash = None if divide == self.divide else "5 5"
                plot.curve(WIDTHS, heights, colour if divide == self.divide else GREY, 2.5, dash)
            plot.dot(self.numbers["width"], self.numbers[name], 8, colour)
            sheet.text(left, 28, title, colour, bold=True)
            digits = 4 if name == "gradient" else 2
            sheet.text(left, 54, number(self.numbers[name], digits), colour, 18, bold=True)
            sheet.text(left, 264, "1", GREY)
            sheet.text(left + 250, 264, "512", GREY, anchor="end")
        here = f"d_k = {self.numbers['width']}"
        sheet.text(30, 290, f"{here}; dashed: {'not ' if self.divide else ''}divided", GREY)
        return sheet
