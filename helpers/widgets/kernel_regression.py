"""Attention as kernel regression (Nadaraya–Watson): the temperature is the kernel's width."""

import math

import torch
import traitlets

from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
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

    State: `query` (0 to 6) and `width` (0.02 to 5).
    """

    query = traitlets.Float(2.0, min=LOW, max=HIGH).tag(state=True)
    width = traitlets.Float(0.3, min=0.02, max=5.0).tag(state=True)

    def build(self):
        self._keys, self._values = sample_points()
        self._grid = torch.linspace(LOW, HIGH, 181, dtype=torch.float64)
        widths = [h / 100 for h in range(10, 100)]
        errors = dict(zip(widths, self._errors(widths), strict=True))
        self._best = min(errors, key=errors.get)
        self._near = errors[self._best] + 0.01
        self._flat = [h for h, error in errors.items() if error < self._near]
        self.slider("width", "Kernel width h", log=True, digits=2)

    def forget(self):
        self._tried = {}  # the error by the width

    def _fit(self, width):
        """Estimate the whole curve, for a number or a Tensor of widths, (W, 1, 1): (W, T)."""
        return kernel_regression(self._grid, self._keys, self._values, width)[0]

    def _errors(self, widths):
        """Return how far the curve of each of the `widths` typically is from the true one."""
        estimates = self._fit(torch.tensor(widths, dtype=torch.float64)[:, None, None])
        return (estimates - true_curve(self._grid)).square().mean(-1).sqrt().tolist()

    def compute(self):
        """Weigh the points for the query, and estimate the whole curve."""
        query = torch.tensor([self.query], dtype=torch.float64)
        estimate, weights = kernel_regression(query, self._keys, self._values, self.width)
        low, error, high = self._errors([0.02, self.width, 5.0])
        self._tried = {0.02: low, 5.0: high, **self._tried, self.width: error}  # with the ends
        effective, estimates = attention_entropy(weights).exp().item(), self._fit(self.width)
        return {"weights": weights[0], "estimate": estimate.item(), "estimates": estimates,
                "effective": effective, "error": error}  # fmt: skip

    def describe(self):
        x, estimate = number(self.query), number(self.numbers["estimate"])
        return f"{N_POINTS} noisy points; the query at {x} gets {estimate}. {self.tell()[0]}"

    def tell(self):
        """Say how many points count and how far off the curve is, and what to try."""
        found, h = self.numbers, number(self.width)
        off = f"Typical distance from the true curve: {number(found['error'], 3)}."
        n = number(found["effective"], 1)
        counts = "1 point counts" if n == "1.0" else f"{n} points count"
        spans = [(one.max() - one.min()).item() for one in (found["estimates"], self._values)]
        asked = "Pull h: which value brings the estimate closest to the true curve?"
        if found["effective"] < 1.5 or self.width < 0.05:
            asked = "Hardly more than one point has weight. Pull h up: when is the curve flat?"
        elif spans[0] < spans[1] / 4:
            asked = f"Nearly flat: the curve spans {spans[0]:.2f}, the points {spans[1]:.2f}."
        elif found["error"] < self._near:
            flat = f"from {number(self._flat[0])} to {number(self._flat[-1])}"
            asked = (
                f"Found: h = {number(self._best)} is best; any h {flat} is less than 0.01 worse."
            )
        return f"At h = {h}, about {counts} here. {off}", asked

    def draw(self):
        sheet, weights = Sheet(400, 400), self.numbers["weights"].tolist()
        plot = Plot(sheet, 34, 24, 354, 204, (LOW, HIGH), (-0.8, 5.2))
        plot.ticks(up=(0, 2, 4))
        self._draw_points(sheet, plot)
        top = next(top for top in (0.1, 0.2, 0.5, 1) if max(weights) <= top)
        bars = Plot(sheet, 34, 260, 354, 110, (LOW, HIGH), (0, top))
        bars.ticks(across=range(7), up=(0, top))
        for key, weight in zip(self._keys.tolist(), weights, strict=True):
            sheet.rect(bars.x(key) - 3, bars.y(weight), 6, 370 - bars.y(weight), ORANGE)
        even = 1 / N_POINTS
        sheet.line(34, bars.y(even), 388, bars.y(even), ORANGE, 1.5, "3 3")
        sheet.text(38, 253, f"weights, axis 0 to {top}; ┄ even: {number(even)}", ORANGE)
        drag = track("x", "query", (34, 388), (LOW, HIGH), self.query, step=0.05)
        sheet.handle(34, 0, 354, 370, "Query", number(self.query), drag)
        return [sheet, self._draw_errors()]

    def _draw_points(self, sheet, plot):
        """Draw points as strong as their weight, the estimated curve and the query."""
        weights = self.numbers["weights"]
        top = weights.max()
        plot.curve(self._grid.tolist(), true_curve(self._grid).tolist(), INK, 1.5, "3 4")
        x = plot.x(self.query)
        for start, end in (22, 228), (260, 370):  # not through the words between the two plots
            sheet.line(x, start, x, end, BLUE, 2, "6 4")
        points = zip(self._keys, self._values, (weights / top).tolist(), strict=True)
        for key, value, share in points:
            at = plot.x(key), plot.y(value)
            if share > 0.02:
                sheet.line(*at, x, plot.y(self.numbers["estimate"]), ORANGE, round(2.5 * share, 2))
            sheet.dot(*at, 4 + 5 * share, GREEN, ORANGE if share > 0.02 else "white", 2)
        plot.curve(self._grid.tolist(), self.numbers["estimates"].tolist(), PURPLE, 3)
        plot.dot(self.query, self.numbers["estimate"], 9, PURPLE)
        sheet.text(min(max(x, 114), 310), 16, "↔ drag the query", BLUE, anchor="middle", bold=True)

    def _draw_errors(self):
        """Write what the picture comes to, and mark the error of every h that was tried."""
        sheet, found = Sheet(400, 400), self.numbers
        sheet.text(0, 16, "● points: key →, value ↑", GREEN, bold=True)
        sheet.text(0, 44, f"● estimate (context): {number(found['estimate'])}", PURPLE, bold=True)
        sheet.text(0, 72, "weight ∝ exp(−(query − key)² / 2h²)", ORANGE)
        sheet.text(0, 100, f"Temperature 2h²: {2 * self.width**2:.3g}", BLUE, bold=True)
        sheet.text(398, 16, "┄ true curve", anchor="end")
        least = min(self._tried.values())
        so_far = "" if least < self._near else " so far"
        told = f"Error by h (pull it); least{so_far}: {number(least, 3)}"
        sheet.text(0, 146, told, INK, bold=True)
        limits = math.log(0.02), math.log(5)
        plot = Plot(sheet, 40, 160, 348, 210, limits, (0.25, 1))
        plot.ticks([(math.log(h), f"{h:g}") for h in (0.05, 0.2, 1, 5)], (0.3, 0.6, 0.9))
        sheet.text(336, 391, "h →", GREY, anchor="middle")
        if not so_far:
            logs = torch.linspace(*limits, 60).tolist()
            plot.curve(logs, self._errors([math.exp(one) for one in logs]), GREY, 1.5)
            best = plot.x(math.log(self._best))
            sheet.line(best, 160, best, 370, GREEN, 2, "6 4")
            sheet.text(best + 6, 176, f"best h = {number(self._best)}", GREEN, bold=True)
        for h, error in self._tried.items():
            size, ink = (8, PURPLE) if h == self.width else (4, INK)
            plot.dot(math.log(h), error, size, ink)
        drag = track("x", "width", (40, 388), (0.02, 5.0), self.width, log=True)
        sheet.handle(40, 150, 348, 220, "Kernel width, pulled", number(self.width), drag)
        return sheet
