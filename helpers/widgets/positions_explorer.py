"""Sinusoids: two waves of one frequency, the turn that moves them on, and who is near whom."""

import math

import torch
import traitlets

from helpers.plots import GREEN, GREY, INK, PURPLE, SIGNED
from helpers.transformer.positions import sinusoidal_positions
from helpers.widgets.colours import LIGHT
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import RULE, Plot, Sheet, number, track

N_POSITIONS = 64
TOP, LOW = 240, 152  # pixels: height of the map and the clock, and of the curves below
LEFT, TIP = 36, 70  # pixels beside a plot, for its numbers and its curves' names
BESIDE = 50  # pixels beside the map, for the names of its two rows
WAVES = ("sine", GREEN), ("cosine", LIGHT["second"])  # no signs' colours: the map's are those


def degrees(angle) -> str:
    """Write an angle, in radians, for people: a small one isn't 0°, a large one is in turns."""
    whole, turned = divmod(math.degrees(angle), 360)
    if whole:
        return f"{whole:.0f} turn{'s' * (whole > 1)} + {turned:.0f}°"
    return f"{turned:.0f}°" if turned >= 10 or not turned else f"{turned:.2g}°"


class PositionExplorer(Explorer):
    """Choose a pair of dimensions, a shift and a position.

    State: `width` (32, 64 or 128), `pair` (0 to half of that, less 1), `shift` (0 to 32) and
    `position` (0 to 63).
    """

    width = traitlets.Enum((32, 64, 128), 64).tag(state=True)
    pair = traitlets.Int(4, min=0, max=63).tag(state=True)
    shift = traitlets.Int(5, min=0, max=32).tag(state=True)
    position = traitlets.Int(20, min=0, max=N_POSITIONS - 1).tag(state=True)

    def build(self):
        self.choice("width", "Width D", (32, 64, 128))
        self.slider("pair", "Pair")
        self.slider("shift", "Shift k")

    def compute(self):
        """Find this pair's two waves, and compare positions."""
        last = self.width // 2 - 1
        self.controls["pair"].max, self.pair = last, min(self.pair, last)
        table = sinusoidal_positions(N_POSITIONS + 32, self.width).double()
        two = table[:, 2 * self.pair : 2 * self.pair + 2]  # sine and cosine
        near = table[:N_POSITIONS] @ table[self.position]
        other = last if self.pair <= last // 2 else 0  # the slowest clock, or the fastest
        return {"table": table[:N_POSITIONS], "two": two, "near": near, "other": other}

    def angle(self, pair, shift):
        """Return by how much a pair turns from p to p + `shift`, in radians."""
        return shift / 10_000 ** (2 * pair / self.width)

    def tell(self):
        """Say what the turn has to do with the position, and what to try."""
        pairs = self.pair, self.numbers["other"]
        first, other = (degrees(self.angle(pair, self.shift)) for pair in pairs)
        length, slow = 2 * math.pi / self.angle(self.pair, 1), ""
        if length > N_POSITIONS:
            seen = "The waves look flat" if length > 20 * N_POSITIONS else "This hand is slow"
            slow = f"{seen}: a turn takes {length:,.0f} positions."
        if self.position == self._start["position"]:  # what the hand finds isn't told before
            first = 2 * self.pair
            asked = "Pull a dot or a hand. Both hands turn; does the angle between them change?"
            return (
                f"Dimensions {first} and {first + 1} (pair {self.pair}) make a clock hand: here at "
                f"p = {self.position}, and again at p + {self.shift}.",
                slow or asked,
            )
        asked = "It doesn’t depend on p. Does it depend on k, or on the pair?"
        if self.shift != self._start["shift"] and self.pair != self._start["pair"]:
            asked = f"It doesn’t depend on p, only on k and on the pair. {slow}".rstrip()
        turns = f"pair {pairs[0]} moves by {first}, pair {pairs[1]} by {other}"
        return f"From any p to p + {self.shift}, {turns}.", asked

    def draw(self):
        return [self._draw_table(), self._draw_turn(), self._draw_waves(), self._draw_near()]

    def _draw_table(self):
        sheet, last = Sheet(400, TOP), self.width // 2 - 1
        sheet.text(0, 18, f"{N_POSITIONS} positions ↓ × {self.width} dimensions →", GREY)
        left, wide, tall = BESIDE, 400 - BESIDE, TOP - 36
        sheet.pixels(left, 28, wide, tall, self.numbers["table"].numpy(), SIGNED, -1, 1)
        sheet.text(354, 18, "−1", GREY, anchor="end")
        sheet.pixels(358, 6, 28, 12, torch.linspace(-1, 1, 32)[None], SIGNED, -1, 1)
        sheet.text(400, 18, "1", GREY, anchor="end")
        cell, row = wide / self.width, tall / N_POSITIONS
        sheet.rect(left + 2 * self.pair * cell, 26, 2 * cell, tall + 4, stroke=INK, line=2.5)
        now, later = (28 + row * (self.position + moved) for moved in (0, self.shift))
        sheet.rect(left - 1, now - 1, wide + 2, row + 2, stroke=PURPLE, line=2)
        sheet.text(left - 6, now + 6 - max(18 - later + now, 0) / 2, "p", PURPLE, anchor="end")
        if later < TOP - 9:
            sheet.rect(left - 1, later, wide + 2, row, INK)
            sheet.text(left - 6, max(later + 6, (now + later) / 2 + 15), "p + k", anchor="end")
        down = track("y", "position", (28, TOP - 8), (0, N_POSITIONS - 1), self.position, step=1)
        ends = left + cell, left + (2 * last + 1) * cell
        across = track("x", "pair", ends, (0, last), self.pair, step=1)
        words = f"position {self.position}, pair {self.pair}"
        sheet.handle(left, 28, wide, tall, "Position and pair", words, down, across)
        return sheet

    def _draw_near(self):
        sheet, near = Sheet(400, LOW), self.numbers["near"]
        sheet.text(0, 18, "Dot product of p with all", PURPLE, bold=True)
        across, limits = (0, N_POSITIONS - 1), (min(0.0, near.min().item()), self.width / 2 * 1.05)
        dots = Plot(sheet, LEFT, 28, 400 - LEFT, LOW - 60, across, limits)
        dots.ticks(up=(0, self.width // 4, self.width // 2))
        sheet.text(400, 18, f"p · p = {number(near[self.position])}", GREY, anchor="end")
        dots.curve(range(N_POSITIONS), near.tolist(), PURPLE, 2.5)
        self._handle(dots, "Position p", (near, PURPLE))
        return sheet

    def _draw_waves(self):
        sheet, found = Sheet(400, LOW), self.numbers
        length = 2 * math.pi / self.angle(self.pair, 1)
        words = f"{length:,.{0 if length > 100 else 1}f}"
        sheet.text(0, 18, f"Pair {self.pair}: wavelength {words}", GREY, bold=True)
        wide, ends = 400 - LEFT - TIP, found["two"][N_POSITIONS - 1].tolist()
        waves = Plot(sheet, LEFT, 28, wide, LOW - 60, (0, N_POSITIONS - 1), (-1.1, 1.1))
        middle = sum(map(waves.y, ends)) / 2
        apart = max(abs(waves.y(ends[0]) - middle), 10)  # so that no name covers the other
        waves.ticks(up=(-1, 0, 1))
        # Joined from position to position, a short wave would look like the teeth of a saw.
        fine = 8 if length < 18 else 1
        across = torch.arange(fine * (N_POSITIONS - 1) + 1) / fine
        turned = 2 * math.pi / length * across
        for column, (name, colour) in enumerate(WAVES):
            tip = middle + apart * (1 if ends[column] < ends[1 - column] else -1)
            sheet.text(LEFT + wide + 4, tip + 6, name, colour, bold=True)
            wave = turned.cos() if column else turned.sin()
            waves.curve(across.tolist(), wave.tolist(), colour, 2.5 if fine == 1 else 1.5)
            if fine > 1:
                for p, height in enumerate(found["two"][:N_POSITIONS, column].tolist()):
                    waves.dot(p, height, 3, colour)
        curves = zip(found["two"].T, (colour for _, colour in WAVES), strict=True)
        self._handle(waves, "Position p, on the waves", *curves)
        return sheet

    def _handle(self, plot, label, *curves):
        """Make a plot's whole width a handle of p, and mark p and p + k on (heights, colour)s."""
        sheet, later, right = plot.sheet, self.position + self.shift, LEFT + plot.box[2]
        bottom, beyond = sheet.height - 10, later >= N_POSITIONS
        for heights, colour in curves:
            plot.dot(self.position, heights[self.position].item(), 8, colour)
            ring = plot.x(later), plot.y(heights[min(later, N_POSITIONS - 1)].item())
            sheet.dot(*ring, 0 if beyond else 6, "white", colour, 3)
        words = f"↔ p = {self.position}, {'' if beyond else '○ '}p + k = {later}"
        sheet.text(LEFT, bottom, 0, GREY)
        sheet.text(right - 30, bottom, words, PURPLE, anchor="end", bold=True)
        sheet.text(right, bottom, N_POSITIONS - 1, GREY, anchor="end")
        drag = track("x", "position", (LEFT, right), (0, N_POSITIONS - 1), self.position, step=1)
        sheet.handle(LEFT, 28, right - LEFT, bottom - 50, label, str(self.position), drag)

    def _draw_turn(self):
        """Draw the pair's hand at p and at p + k, and the slowest or fastest pair's beside it."""
        sheet, other = Sheet(400, TOP), self.numbers["other"]
        sheet.text(0, 18, f"Pairs as clock hands, moved on by {self.shift}", GREY, bold=True)
        sheet.text(400, 48, "→ cosine  ↑ sine", GREY, anchor="end")
        right = 280 if other else 304  # a slow hand and its names lie to the right
        self._draw_dial(sheet, right, 150, 36, other)
        self._draw_dial(sheet, 102, 121, 75, self.pair)
        turn = track("turn", "position", (102, 121), (0, N_POSITIONS - 1), self.position, step=1)
        turn["period"] = 2 * math.pi / self.angle(self.pair, 1)
        sheet.handle(22, 41, 160, 160, "Position p, on the clock", str(self.position), turn)
        sheet.target(right - 60, 90, 120, TOP - 92, f"Choose pair {other}", pair=other)
        return sheet

    def _draw_dial(self, sheet, x, y, radius, pair):
        """Draw a pair's clock, hands at p and p + k, and the arc between them."""
        around, angle, own = 0.4 * radius, self.angle(pair, self.shift), pair == self.pair
        start = math.atan2(*self.numbers["table"][self.position, 2 * pair : 2 * pair + 2].tolist())
        left = angle % (2 * math.pi)
        apart = math.remainder(left, 2 * math.pi)
        close = abs(apart) < 0.4  # no room for two names

        def at(angle, far, wider=0.0):
            return x + (far + wider) * math.cos(angle), y - far * math.sin(angle)

        sheet.dot(x, y, radius, "white", RULE, 2)
        sheet.path([at(start + left * i / 40, around) for i in range(41)], GREY, 3)
        names = ("", "p, p + k") if close else ("p", "p + k")
        for name, place, colour in zip(names, (start, start + left), (PURPLE, INK), strict=True):
            sheet.arrow(x, y, *at(place, radius), colour, 3)
            along, up = at(place, radius + 13, 17 + 16 * close)
            sheet.text(min(along, 366), up + 5, name, colour, anchor="middle", bold=own)
        # Beside the arc: in its middle, or on p's other side if it's too narrow for a number.
        aside = start - math.copysign(0.55, apart), 48
        along, up = at(*aside if abs(apart) < 1 else (start + left / 2, around + 20))
        sheet.text(along, up + 6, degrees(left) * own, INK, anchor="middle", bold=True)
        words = f"pair {pair}: {degrees(angle)}"
        sheet.text(min(x, 400 - 4.6 * len(words)), TOP - 4, words, INK, anchor="middle", bold=own)
