"""What a softmax makes of scores: by temperature, and by the width of the vectors that meet."""

import math

import torch
import traitlets

from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SIGNED
from helpers.training.metrics import attention_entropy
from helpers.widgets.colours import LIGHT
from helpers.widgets.explorer import Explorer
from helpers.widgets.readable import percent
from helpers.widgets.svg import BAD, PALE, Plot, Sheet, number, share, track

N_KEYS, N_DRAWS, MOST_POWER = 16, 200, 9  # vectors of up to 2⁹ = 512 entries
ROOM, PITCH = 40, 26  # pixels: left of the scores, and from key to key, 24 of them at 900 wide
SCORE = LIGHT["second"]  # orange and blue are the signs of a vector's entries
EVEN = (1 - 1 / N_KEYS) / N_KEYS  # gradient of a weight by its own score where all are equal
SCORES = ("first", "second", "third", "fourth", "fifth")
COLOURS = BLUE, ORANGE, GREEN, PURPLE, INK  # of each score, its weight and its curve


def _times(lead):
    """Say how many times the weight of the next score one has that leads by so much."""
    return f"= {number(math.exp(lead), 1)}" if lead < 7 else "> 1,000"


class SoftmaxTemperature(Explorer):
    """Five scores and a temperature: from an even mixture to a look-up of the best key.

    State: `temperature` (0.02 to 10) and `first` to `fifth`, the scores (−4 to 4).
    """

    temperature = traitlets.Float(1.0, min=0.02, max=10.0).tag(state=True)
    first, second, third, fourth, fifth = (
        traitlets.Float(start, min=-4.0, max=4.0).tag(state=True)
        for start in (2.0, 1.0, 0.5, 0.0, -1.0)
    )

    def build(self):
        self.slider("temperature", "Temperature", log=True)

    def compute(self):
        scores = torch.tensor([getattr(self, name) for name in SCORES]).double()
        weights = (scores / self.temperature).softmax(-1)
        entropy = attention_entropy(weights[None]).item()
        return {"scores": scores, "weights": weights, "entropy": entropy}

    def describe(self):
        return f"{' '.join(self.tell())} Weights: {', '.join(map(share, self.numbers['weights']))}."

    def tell(self):
        """Say why the best score gets what it gets, and what temperature does to it."""
        best, second = self.numbers["scores"].sort(descending=True).values[:2].tolist()
        lead, entropy = (best - second) / self.temperature, self.numbers["entropy"]
        ahead, top = number(best - second, 1), int((self.numbers["scores"] > best - 0.05).sum())
        if top == len(SCORES):
            split = "All scores are equal, and so are the weights, at every temperature."
            return split, "Pull one score up: how much of a lead takes nearly all the weight?"
        headline = (
            f"The best score leads by {ahead}, so its weight is exp({ahead} / "
            f"{number(self.temperature)}) {_times(lead)} times the next."
        )
        asked = (
            "Pull the dashed line. Where does the softmax pick one, and where do all five count?"
        )
        if top > 1:
            headline = f"The best {top} scores are equal, and so are their weights."
            asked = "Pull the dashed line to the left: does one of them ever win?"
        if entropy < 0.05:
            asked = f"It has become a look-up: a lead of {ahead} takes nearly all the weight."
        elif abs(entropy - math.log(top)) < 0.05:
            asked = f"However low the temperature, none of them wins: each gets {number(1 / top)}."
        if entropy > 0.995 * math.log(len(SCORES)):
            gap = number(best - self.numbers["scores"].min(), 1)
            little = f"gaps of at most {gap} count little at temperature {number(self.temperature)}"
            asked = f"It’s nearly a plain mean: {little}."
        return headline, asked

    def draw(self):
        return [self._draw_bars(), self._draw_temperatures()]

    def _draw_bars(self):
        """Draw the scores, which can be dragged, and each one's weight below it."""
        sheet, found = Sheet(400, 392), self.numbers
        sheet.text(0, 18, "Scores: drag them up and down", bold=True)
        sheet.line(0, 97, 400, 97, GREY)
        sheet.text(0, 220, "Weights: softmax(score / temp.)", bold=True)
        for i, (name, colour) in enumerate(zip(SCORES, COLOURS, strict=True)):
            score, weight = found["scores"][i].item(), found["weights"][i].item()
            x, y, height = 81 * i, 97 - 17 * score, 138 * weight
            for top, value in (28, number(score, 1)), (230, share(weight)):
                sheet.rect(x, top, 74, 138, PALE, round=4)
                sheet.text(x + 37, top + 158, value, colour, anchor="middle", bold=True)
            sheet.rect(x, min(y, 97), 74, abs(y - 97), colour)
            sheet.rect(x + 17, y - 4, 40, 8, "white", colour, 2.5, round=4)
            sheet.rect(x, 368 - height, 74, height, colour)
            drag = track("y", name, (165, 29), (-4, 4), score, step=0.1)
            sheet.handle(x, 28, 74, 138, f"The {name} score", number(score, 1), drag)
        return sheet

    def _draw_temperatures(self):
        """Draw a curve per weight over the temperature, and a line that can be pulled."""
        sheet, found = Sheet(400, 392), self.numbers
        sheet.text(0, 18, "Weight by temperature →", bold=True)
        entropy, most = number(found["entropy"]), number(math.log(len(SCORES)))
        sheet.text(398, 388, f"entropy {entropy} of at most {most} nats", GREY, anchor="end")
        plot = Plot(sheet, 40, 32, 348, 310, (math.log(0.02), math.log(10)), (0, 1.03))
        plot.ticks([(math.log(t), f"{t:g}") for t in (0.1, 0.5, 1, 2, 10)], (0, 0.5, 1))
        across = torch.linspace(math.log(0.02), math.log(10), 50).double()
        curves = (found["scores"] / across.exp()[:, None]).softmax(-1)
        scores = [round(score, 2) for score in found["scores"].tolist()]
        for i, colour in enumerate(COLOURS):  # equal ones take turns along their curve
            turn, n = scores[:i].count(scores[i]), scores.count(scores[i])
            dash = f"0 {9 * turn} 9 {9 * (n - 1 - turn)}" if n > 1 else None
            plot.curve(across.tolist(), curves[:, i].tolist(), colour, 2.5, dash)
        now = math.log(self.temperature)
        sheet.line(plot.x(now), 32, plot.x(now), 342, INK, 2, "4 4")
        dots, above, radius = [], -math.inf, 5  # one that would be hidden is a ring around others
        for weight, colour in sorted(zip(found["weights"].tolist(), COLOURS, strict=True))[::-1]:
            y = plot.y(weight)
            above, radius = y, max(5, radius + 3.5 - (y - above))
            dots.append((plot.x(now), y, radius, colour))
        for dot in reversed(dots):
            sheet.dot(*dot, line=1)
        pull = track("x", "temperature", (40, 388), (0.02, 10), self.temperature, log=True)
        sheet.handle(40, 32, 348, 310, "Temperature, pulled", number(self.temperature), pull)
        return sheet


def random_vectors():
    """Draw queries and keys whose entries are independent, with mean 0 and variance 1.

    The tensors have the shapes (N_DRAWS, 1, 512) and (N_DRAWS, 16, 512).
    """
    generator = torch.Generator().manual_seed(0)
    shape = N_DRAWS, N_KEYS + 1, 2**MOST_POWER
    return torch.randn(shape, generator=generator).split((1, N_KEYS), dim=1)


def scale_measurements(scores):
    """Measure rows of `scores`, of shape (..., 16), and what a softmax makes of them: means.

    The gradient is that of a weight with respect to its own score, as a share of what it is where
    all weights are equal. Source: Vaswani et al. (2017), section 3.2.1, footnote 4.
    """
    weights = scores.softmax(-1)
    return {
        "variance": scores.var().item(),
        "strongest": weights.amax(-1).mean().item(),
        "gradient": (weights * (1 - weights)).mean().item() / EVEN,
    }


class ScaleExplorer(Explorer):
    """Pull random vectors longer, divide by √dₖ or don't, and feel where the softmax saturates.

    State: `power` (0 to 9: the width is 2 to this power), `divide` (bool: by the root of the
    width), `draw_number` (1 to 200: which random vectors), `key` (1 to 16: whose score is moved)
    and `push` (by how much).
    """

    power = traitlets.Int(0, min=0, max=MOST_POWER).tag(state=True)
    divide = traitlets.Bool(False).tag(state=True)
    draw_number = traitlets.Int(2, min=1, max=N_DRAWS).tag(state=True)  # the one nearest the means
    key = traitlets.Int(1, min=1, max=N_KEYS).tag(state=True)
    push = traitlets.Float(0.0, min=-240.0, max=240.0).tag(state=True)

    still = {"power": 6}
    _folded = "Other random vectors"

    def build(self):
        self._query, self._keys = random_vectors()
        self._products = (self._query * self._keys).cumsum(-1)  # at each width, the dot products
        self._curves = [
            [scale_measurements(self._scores(p, divide)) for p in range(MOST_POWER + 1)]
            for divide in (False, True)
        ]
        # It was dragged among other scores.
        self.observe(lambda _: self.take({"push": 0.0}), names=["power", "divide", "draw_number"])
        self.play("power", "Doublings of dₖ", interval=1100)
        self.switch("divide", "Divide by √dₖ")
        self.slider("draw_number", "Draw no.").second = True

    def _scores(self, power, divide):
        return self._products[..., 2**power - 1] / (math.sqrt(2**power) if divide else 1)

    def compute(self):
        """Score this draw's keys and move one score; all draws were measured at the start."""
        drawn = self._scores(self.power, self.divide)[self.draw_number - 1]
        scores = drawn + self.push * torch.eye(N_KEYS)[self.key - 1]
        return {"width": 2**self.power, "drawn": drawn, "scores": scores,
                "weights": scores.softmax(-1), "gradient": scale_measurements(scores)["gradient"],
                f"mean of {N_DRAWS}": self._curves[self.divide][self.power]}  # fmt: skip

    def tell(self):
        """Say what this width does on average, and what the moved score did."""
        found, width = self.numbers, self.numbers["width"]
        strongest = percent(found[f"mean of {N_DRAWS}"]["strongest"])
        draws = f"{N_DRAWS} {'untouched ' if self.push else ''}draws"
        spread = f"At dₖ = {width}, scores ≈ ±{number(math.sqrt(width), 1)}"
        if self.divide:
            spread = f"Scores / √{width} stay near ±1"
        headline = f"{spread}; largest weight: {strongest}, mean of {draws}."
        if self.push:
            i = self.key - 1
            before = found["drawn"].softmax(-1)[i]
            return headline, (
                f"You moved key {self.key} from {number(found['drawn'][i], 1)} to "
                f"{number(found['scores'][i], 1)}. Its weight went from {share(before, 3)} to "
                f"{share(found['weights'][i], 3)}."
            )
        if not self.power:
            what = "does the width still matter?" if self.divide else "what becomes of the weights?"
            return headline, f"Press Play, and the vectors get longer: {what}"
        if self.power == MOST_POWER and not self.divide:
            return headline, "Saturated: a weight hardly follows its score now. Divide by √dₖ."
        best, second = found["scores"].topk(2).values.tolist()
        lead = number(best - second, 1)
        return headline, (
            f"Here the best score leads by {lead}: exp({lead}) {_times(best - second)} times the "
            f"next weight.{' Drag a dot.' * self.divide}"
        )

    def draw(self):
        return [self._draw_keys(), self._draw_means()]

    def _draw_keys(self):
        sheet, found = Sheet(456, 302), self.numbers
        width, i = found["width"], self.key - 1
        end = 24 + 350 * self.power / MOST_POWER
        sheet.text(0, 18, f"Query and key {i + 1}, entries: {width}", BLUE, bold=True)
        sheet.text(388, 18, "−3", GREY, anchor="end")
        sheet.pixels(392, 6, 48, 12, torch.linspace(-3, 3, 32)[None], SIGNED, -3, 3)
        sheet.text(444, 18, "3", GREY)
        for row, (drawn, which) in enumerate(((self._query, 0), (self._keys, i))):
            values = drawn[self.draw_number - 1, which, None, :width]
            sheet.pixels(0, 27 + 16 * row, end, 13, values, SIGNED, -3, 3)
        sheet.rect(end, 24, 12, 35, "white", BLUE, 3, round=5)
        sheet.text(end + 22, 47, "↔ pull" if end < 320 else "", BLUE, bold=True)
        across = track("x", "power", (24, 374), (0, MOST_POWER), self.power, step=1)
        sheet.handle(0, 22, 400, 39, "Entries per vector", str(width), across)
        self._draw_scores(sheet)
        sheet.text(ROOM, 224, "Weights of this draw", PURPLE, bold=True)
        sheet.text(454, 224, f"largest {percent(found['weights'].max())}", PURPLE, anchor="end")
        for i, weight in enumerate(found["weights"].tolist()):
            x = ROOM + PITCH * i
            sheet.rect(x, 231, PITCH - 2, 70, PALE)
            sheet.rect(x, 301 - 70 * weight, PITCH - 2, 70 * weight, PURPLE)
        return sheet

    def _draw_scores(self, sheet):
        """Draw a dot per key; each can be dragged. All widths have one axis: the dots fly apart."""
        found, top, bottom = self.numbers, 92, 204
        widths = [self._scores(p, self.divide)[self.draw_number - 1] for p in range(MOST_POWER + 1)]
        largest = torch.stack([*widths, found["scores"]]).abs().max()
        most = next(most for most in (6, 20, 60, 120, 250) if largest < most + 0.1)
        middle, unit = (top + bottom) / 2, (bottom - top) / (2 * most)
        typical = 1 if self.divide else math.sqrt(found["width"])
        root, by = ("", " / √dₖ") if self.divide else (f"±√{found['width']} = ", "")
        sheet.text(ROOM, 86, f"Scores q · k{by}", SCORE, bold=True)
        sheet.text(454, 86, f"about {root}±{number(typical, 1)}", SCORE, anchor="end")
        for value in (most, 0, -most):
            sheet.text(34, middle - unit * value + 6, number(value, 0), GREY, anchor="end")
        for i in range(N_KEYS):
            sheet.rect(ROOM + PITCH * i, top, PITCH - 2, bottom - top, PALE)
        sheet.rect(ROOM, middle - unit * typical, 414, 2 * unit * typical, SCORE, opacity=0.2)
        pairs = zip(found["drawn"].tolist(), found["scores"].tolist(), strict=True)
        for i, (drawn, score) in enumerate(pairs, 1):
            x, on = ROOM + PITCH * (i - 0.5) - 1, i == self.key
            sheet.rect(x - 12, middle - unit * drawn - 1, 24, 2 if on else 0, INK)
            sheet.dot(x, middle - unit * score, 8, SCORE, INK if on else "white", 3 if on else 1.5)
            limits = round(-most - drawn, 1), round(most - drawn, 1)
            pull = track("y", "push", (bottom, top), limits, on * self.push, step=most / 50)
            words = f"{number(score, 1)}, weight {share(found['weights'][i - 1])}"
            sheet.handle(x - 13, top, PITCH, bottom - top, f"Score of key {i}", words, pull, key=i)

    def _draw_means(self):
        """Draw over the width what gradient is left: means of all draws, and this draw's dot."""
        sheet = Sheet(330, 302)
        sheet.text(0, 18, "Gradient: change of a weight", GREEN, bold=True)
        sheet.text(0, 38, "with its score; even weights: 100%", GREY)
        sheet.text(0, 300, "dₖ →", INK)
        sheet.text(64, 300, f"● mean of {N_DRAWS} draws", GREEN)
        sheet.text(328, 300, "● this one", PURPLE, anchor="end")
        plot = Plot(sheet, 56, 50, 258, 206, (0, MOST_POWER), (0, 1.05))
        widths = [(power, f"{2**power}") for power in range(0, MOST_POWER + 1, 2)]
        plot.ticks(across=widths, up=((0, "0%"), (0.5, "50%"), (1, "100%")))
        sheet.rect(56, plot.y(0.1), 258, plot.y(0) - plot.y(0.1), BAD, opacity=0.15)
        sheet.text(64, plot.y(0) - 3, "saturated: < 10%", BAD)
        for divide, (x, y, words) in enumerate(((3, 0.4, "q · k"), (9, 0.8, "divided by √dₖ"))):
            on, up = divide == self.divide, [one["gradient"] for one in self._curves[divide]]
            ink = GREEN if on else GREY
            plot.curve(range(MOST_POWER + 1), up, ink, 2.5, None if on else "5 5")
            sheet.text(plot.x(x), plot.y(y), words, ink, anchor="end", bold=on)
        plot.dot(self.power, self._curves[self.divide][self.power]["gradient"], 8, GREEN)
        plot.dot(self.power, self.numbers["gradient"], 6, PURPLE)
        across = track("x", "power", (56, 314), (0, MOST_POWER), self.power, step=1)
        sheet.handle(56, 50, 258, 206, "Entries, along the curves", str(2**self.power), across)
        return sheet
