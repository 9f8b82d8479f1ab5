"""Attention as kernel regression (Nadaraya–Watson): the temperature is the kernel's width."""

import torch
import traitlets

from helpers.plots import BLUE, GREEN, GREY, ORANGE, PURPLE
from helpers.training.metrics import attention_entropy
from helpers.transformer.attention import masked_softmax
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import Plot, Sheet, number, track

N_POINTS = 24
LOW, HIGH = 0.0, 6.0


def sample_points():
    """Draw noisy points around a curve, 0.6 x + sin 2x: x and y, (N_POINTS,), x from 0 to 6."""
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(N_POINTS, generator=generator, dtype=torch.float64).sort().values * HIGH
    noise = 0.3 * torch.randn(N_POINTS, generator=generator, dtype=torch.float64)
    return x, true_curve(x) + noise


def true_curve(x):
    """Return the curve under the points, 0.6 x + sin 2x, for a Tensor x of any shape."""
    return 0.6 * x + torch.sin(2 * x)


def kernel_regression(queries, keys, values, width):
    """Average the `values`, (S,), for each of the `queries`, (T,): those of near `keys` count most.

    It is attention with the score −(query − key)² / (2 `width`²); returns the estimates, (T,), and
    the weights, (T, S). Source: Nadaraya (1964), "On Estimating Regression"; Watson (1964), "Smooth
    Regression Analysis".
    """
    weights = masked_softmax(-((queries[:, None] - keys) ** 2) / (2 * width**2))
    return weights @ values, weights


class KernelRegression(Explorer):
    """Move a query along a line and see which points it attends to; make the kernel wider.

    State: `query` (0 to 6), `width` (0.02 to 5) and `curve` (bool: draw the true curve).
    """

    query = traitlets.Float(2.0, min=LOW, max=HIGH).tag(state=True)
    width = traitlets.Float(0.3, min=0.02, max=5.0).tag(state=True)
    curve = traitlets.Bool(True).tag(state=True)

    def build(self):
        self._keys, self._values = sample_points()
        self._grid = torch.linspace(LOW, HIGH, 181, dtype=torch.float64)
        self._best = min((h / 100 for h in range(10, 100)), key=lambda h: self._fit(h)[1])
        self.slider("width", "Kernel width h", log=True, digits=2)
        self.switch("curve", "Show the true curve")
        self.button("Start again", self.reset)

    def _fit(self, width):
        estimates, _ = kernel_regression(self._grid, self._keys, self._values, width)
        return estimates, (estimates - true_curve(self._grid)).square().mean().sqrt().item()

    def compute(self):
        """Weigh the points for the query, and estimate the whole curve."""
        query = torch.tensor([self.query], dtype=torch.float64)
        estimate, weights = kernel_regression(query, self._keys, self._values, self.width)
        estimates, error = self._fit(self.width)
        effective = attention_entropy(weights).exp().item()
        return {"weights": weights[0], "estimate": estimate.item(), "estimates": estimates,
                "effective": effective, "error": error,
                "temperature": 2 * self.width**2}  # fmt: skip

    def describe(self):
        x, estimate = number(self.query), number(self.numbers["estimate"])
        return f"{N_POINTS} noisy points; the query at {x} gets {estimate}. {self.tell()[0]}"

    def tell(self):
        """Say how many points count and how far off the curve is, and what to try."""
        found, h = self.numbers, number(self.width)
        off = f" Typical distance from the true curve: {number(found['error'])}."
        n = number(found["effective"], 1)
        counts = "1 point counts" if n == "1.0" else f"{n} points count"
        spans = [(one.max() - one.min()).item() for one in (found["estimates"], self._values)]
        asked = "Pull h: which one brings the estimate closest to the true curve?"
        if not self.curve:
            off, asked = "", "Which h would you trust? Choose one, then show the true curve."
        elif found["effective"] < 1.5 or self.width < 0.05:
            asked = "Hardly more than one point has weight. Pull h up: when is the curve flat?"
        elif spans[0] < spans[1] / 4:
            asked = f"Nearly flat: the curve spans {spans[0]:.2f}, the points {spans[1]:.2f}."
        elif abs(self.width - self._best) <= 0.05:
            near = "Yes" if abs(self.width - self._best) < 0.015 else "Close"  # a step of h
            best = number(self._best)
            asked = f"{near}: h = {best} is best. At which does the curve jump between points?"
        return f"At h = {h}, about {counts} here.{off}", asked

    def draw(self):
        sheet = Sheet(530, 400)
        plot = Plot(sheet, 42, 24, 472, 180, (LOW, HIGH), (-0.8, 5.2))
        plot.ticks(up=(0, 2, 4))
        self._draw_points(sheet, plot)
        bars = Plot(sheet, 42, 234, 472, 130, (LOW, HIGH), (0, 1))  # for every width, to compare
        bars.ticks(across=range(7), up=(0, 0.5, 1))
        for key, weight in zip(self._keys.tolist(), self.numbers["weights"].tolist(), strict=True):
            sheet.line(bars.x(key), bars.y(0), bars.x(key), bars.y(weight), ORANGE, 6)
        sheet.line(42, bars.y(1 / N_POINTS), 514, bars.y(1 / N_POINTS), ORANGE, 1.5, "3 3")
        sheet.text(52, 228, f"weight of each point; ┄ even weight {number(1 / N_POINTS)}", ORANGE)
        drag = track("x", "query", (42, 514), (LOW, HIGH), self.query, step=0.05)
        sheet.handle(42, 0, 472, 364, "Query", number(self.query), drag)
        return [sheet, self._draw_numbers()]

    def _draw_points(self, sheet, plot):
        """Draw points as strong as their weight, the estimated curve and the query."""
        weights = self.numbers["weights"]
        top = weights.max()
        if self.curve:
            plot.curve(self._grid.tolist(), true_curve(self._grid).tolist(), GREY, 1.5, "3 5")
        x = plot.x(self.query)
        for start, end in (22, 204), (234, 364):  # not through the words between the two plots
            sheet.line(x, start, x, end, BLUE, 2, "6 4")
        points = zip(self._keys, self._values, (weights / top).tolist(), strict=True)
        for key, value, share in points:
            at = plot.x(key), plot.y(value)
            if share > 0.02:
                sheet.line(*at, x, plot.y(self.numbers["estimate"]), ORANGE, round(2.5 * share, 2))
            sheet.dot(*at, 4 + 5 * share, GREEN, ORANGE if share > 0.02 else "white", 2)
        plot.curve(self._grid.tolist(), self.numbers["estimates"].tolist(), PURPLE, 3)
        plot.dot(self.query, self.numbers["estimate"], 9, PURPLE)
        place = min(max(x, 115), 410)
        sheet.text(place, 16, "↔ drag the query", BLUE, anchor="middle", bold=True)

    def _draw_numbers(self):
        """Write what the picture comes to."""
        sheet, found = Sheet(272, 200), self.numbers
        lines = [
            (GREEN, "● points: key →, value ↑", True),
            (PURPLE, f"● estimate (context): {number(found['estimate'])}", True),
            (ORANGE, "│ weight of a point ∝", False),
            (ORANGE, "exp(−(query − key)² / 2h²)", False),
            (BLUE, f"Temperature 2h²: {found['temperature']:.3g}", True),
        ]
        for i, (colour, words, bold) in enumerate(lines):
            sheet.text(0, 40 + 33 * i, words, colour, bold=bold)
        return sheet
