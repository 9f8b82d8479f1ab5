"""What a softmax makes of scores: by temperature, and by the width of the vectors that meet."""

import math

import torch
import traitlets

from helpers.metrics import attention_entropy
from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Plot, Sheet, number, track

WIDTHS = tuple(2**i for i in range(10))  # 1 to 512
N_KEYS = 16
SCORES = ("first", "second", "third", "fourth", "fifth")


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
        """Make the controls; the scores are dragged in the picture."""
        self.slider("temperature", "Temperature", log=True)
        self.button("Start again", self.reset)

    def compute(self):
        """Turn the scores into weights."""
        scores = torch.tensor([getattr(self, name) for name in SCORES]).double()
        weights = (scores / self.temperature).softmax(-1)
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
        """Draw the scores, to be dragged, and the weights that they become."""
        return [self._draw_scores(), self._draw_weights()]

    def _draw_scores(self):
        sheet = Sheet(400, 256)
        sheet.text(0, 18, "Scores: drag them up and down", ORANGE, bold=True)
        sheet.line(0, 120, 400, 120, GREY)
        for i, (name, score) in enumerate(zip(SCORES, self.numbers["scores"], strict=True)):
            x, y = 81 * i, 120 - 20 * float(score)
            sheet.rect(x, 40, 74, 160, PALE, round=4)
            sheet.rect(x, min(y, 120), 74, abs(y - 120), ORANGE)
            sheet.rect(x + 17, y - 4, 40, 8, "white", ORANGE, 2.5, round=4)
            sheet.text(x + 37, 222, number(score, 1), ORANGE, anchor="middle", bold=True)
            drag = track("y", name, (200, 40), (-4, 4), float(score), step=0.1)
            sheet.handle(x, 40, 74, 160, f"The {name} score", number(score, 1), drag)
        return sheet

    def _draw_weights(self):
        sheet, found = Sheet(400, 256), self.numbers
        sheet.text(0, 18, "Weights: softmax(score / temperature)", PURPLE, bold=True)
        for i, weight in enumerate(found["weights"].tolist()):
            x, height = 81 * i, 160 * weight
            sheet.rect(x, 40, 74, 160, PALE, round=4)
            sheet.rect(x, 200 - height, 74, height, PURPLE)
            sheet.text(x + 37, 222, number(weight), PURPLE, anchor="middle", bold=True)
        bounds = f"(between 0 and {number(math.log(5))})"
        sheet.text(0, 250, f"Entropy {number(found['entropy'])} nats {bounds}", INK)
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
        self.slider("power", "Width of a key, d_k = 2 to the power of")
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
        """Draw three curves side by side, the chosen width marked; it can be dragged in each."""
        panels = (
            ("Variance of the scores", "variance", (0.4, 700), True, ORANGE, (1, 10, 100)),
            (f"Entropy of {N_KEYS} weights, nats", "entropy", (0, 2.9), False, BLUE, (0, 1, 2)),
            ("Gradient: weight by its score", "gradient", (0, 0.06), False, GREEN, (0, 0.03)),
        )
        return [self._draw_curve(n, *panel) for n, panel in enumerate(panels)]

    def _draw_curve(self, n, title, name, limits, log, colour, ticks):
        sheet, width = Sheet(262, 290), self.numbers["width"]
        value = number(self.numbers[name], 4 if name == "gradient" else 2)
        sheet.text(0, 18, title, colour, bold=True)
        sheet.text(0, 44, f"{value} at d_k = {width}", colour)
        plot = Plot(sheet, 46, 58, 200, 170, (0.9, 600), limits, log_x=True, log_y=log)
        plot.ticks(across=(1, 8, 64, 512), up=ticks)
        for divide in (True, False):
            heights = [row[n] for row in self._curves[divide]]
            on = divide == self.divide
            plot.curve(WIDTHS, heights, colour if on else GREY, 2.5, None if on else "5 5")
        x = plot.x(width)
        sheet.line(x, 58, x, 228, colour, 1.5, "2 4")
        plot.dot(width, self.numbers[name], 8, colour)
        ends = plot.x(WIDTHS[0]), plot.x(WIDTHS[-1])
        drag = track("x", "power", ends, (0, len(WIDTHS) - 1), self.power, step=1)
        sheet.handle(46, 58, 200, 170, f"{title}: width of a key", str(width), drag)
        other = "not divided" if self.divide else "divided by √d_k"
        sheet.text(0, 282, f"- - {other}", GREY)
        return sheet
