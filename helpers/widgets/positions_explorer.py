"""Sinusoids: two waves of one frequency, the turn that moves them on, and who is near whom."""

import math

import torch
import traitlets

from helpers import plots
from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE
from helpers.transformer.positions import sinusoidal_positions
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import RULE, Plot, Sheet, number, track

N_POSITIONS = 64
TOP, DIAL = 142, 250  # pixels: height of the upper row, and of the waves and the dial below


class PositionExplorer(Explorer):
    """Choose a pair of dimensions, a shift and a position.

    State: `width` (32, 64 or 128), `pair` (0 to 15), `shift` (0 to 32) and `position` (0 to 63).
    """

    width = traitlets.Enum((32, 64, 128), 64).tag(state=True)
    pair = traitlets.Int(4, min=0, max=15).tag(state=True)
    shift = traitlets.Int(5, min=0, max=32).tag(state=True)
    position = traitlets.Int(20, min=0, max=N_POSITIONS - 1).tag(state=True)

    def build(self):
        self.choice("width", "Width D", (32, 64, 128))
        self.slider("pair", "Pair")
        self.slider("shift", "Shift k")
        self.button("Start again", self.reset)

    def compute(self):
        """Find the turn of this pair, test it at every position, and compare positions."""
        table = sinusoidal_positions(N_POSITIONS + 32, self.width).double()
        two = table[:, 2 * self.pair : 2 * self.pair + 2]  # sine and cosine
        angle = self.shift / 10_000 ** (2 * self.pair / self.width)
        turn = torch.tensor(
            [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]
        ).double()
        moved = two[:N_POSITIONS] @ turn.T
        error = (moved - two[self.shift : self.shift + N_POSITIONS]).abs().max().item()
        near = table[:N_POSITIONS] @ table[:N_POSITIONS].T
        wavelength = 2 * math.pi * 10_000 ** (2 * self.pair / self.width)
        return {"table": table[:N_POSITIONS], "two": two, "angle": angle, "error": error,
                "near": near, "wavelength": wavelength}  # fmt: skip

    def describe(self):
        found = self.numbers
        return (
            f"Sinusoids of width {self.width}. Pair {self.pair} has a wavelength of "
            f"{number(found['wavelength'], 1)} positions; moving on by {self.shift} is one "
            f"rotation by {math.degrees(found['angle']):.0f}° at every position. Position "
            f"{self.position} is nearest to itself; further away, the dot product falls in waves."
        )

    def tell(self):
        """Say what the turn has to do with the position, and what to try."""
        angle = math.degrees(self.numbers["angle"])
        return (
            f"Pair {self.pair} turns by {angle:.0f}° whenever you move on by {self.shift}.",
            "Pull the dots along the waves. Both arrows turn; does the angle between them change?",
        )

    def draw(self):
        """Draw the table, the pair's two waves, the dot products and the turn."""
        return [self._draw_table(), self._draw_near(), self._draw_waves(), self._draw_turn()]

    def _draw_table(self):
        sheet, found = Sheet(400, TOP), self.numbers
        sheet.text(0, 18, f"{N_POSITIONS} positions ↓ × {self.width} dimensions →", GREY, bold=True)
        sheet.pixels(0, 28, 400, TOP - 36, found["table"].numpy(), plots.SIGNED, -1, 1)
        cell, row = 400 / self.width, (TOP - 36) / N_POSITIONS
        sheet.rect(2 * self.pair * cell, 26, 2 * cell, TOP - 32, stroke=INK, line=2.5)
        sheet.rect(-1, 28 + row * self.position - 1, 402, row + 2, stroke=PURPLE, line=2)
        down = track("y", "position", (28, TOP - 8), (0, N_POSITIONS - 1), self.position, step=1)
        last = min(15, self.width // 2 - 1)
        across = track("x", "pair", (cell, (2 * last + 1) * cell), (0, last), self.pair, step=1)
        words = f"position {self.position}, pair {self.pair}"
        sheet.handle(0, 28, 400, TOP - 36, "Position and pair", words, down, across)
        return sheet

    def _draw_near(self):
        sheet, near = Sheet(400, TOP), self.numbers["near"][self.position]
        sheet.text(0, 18, "Dot product of p with all", PURPLE, bold=True)
        across, limits = (0, N_POSITIONS - 1), (min(0.0, near.min().item()), self.width / 2 * 1.05)
        dots = Plot(sheet, 0, 28, 400, TOP - 36, across, limits)
        sheet.text(400, 18, f"p · p = {number(near[self.position])}", GREY, anchor="end")
        dots.curve(range(N_POSITIONS), near.tolist(), PURPLE, 2.5)
        dots.dot(self.position, near[self.position].item(), 8, PURPLE)
        self._handle(sheet, 28, TOP - 36, "Position p")
        return sheet

    def _draw_waves(self):
        sheet, found = Sheet(400, DIAL), self.numbers
        sheet.text(0, 18, "sine", BLUE, bold=True)
        sheet.text(60, 18, "cosine", ORANGE, bold=True)
        words = f"wavelength {number(found['wavelength'], 1)}"
        sheet.text(400, 18, words, GREY, anchor="end")
        waves = Plot(sheet, 0, 28, 400, DIAL - 60, (0, N_POSITIONS - 1), (-1.1, 1.1))
        for column, colour in ((0, BLUE), (1, ORANGE)):
            heights = found["two"][:N_POSITIONS, column]
            waves.curve(range(N_POSITIONS), heights.tolist(), colour, 2.5)
            waves.dot(self.position, heights[self.position].item(), 8, colour)
        sheet.text(0, DIAL - 10, "position 0", GREY)
        sheet.text(200, DIAL - 10, f"↔ p = {self.position}", PURPLE, anchor="middle", bold=True)
        sheet.text(400, DIAL - 10, N_POSITIONS - 1, GREY, anchor="end")
        self._handle(sheet, 28, DIAL - 60, "Position p, on the waves")
        return sheet

    def _handle(self, sheet, y, height, label):
        drag = track("x", "position", (0, 400), (0, N_POSITIONS - 1), self.position, step=1)
        sheet.handle(0, y, 400, height, label, str(self.position), drag)

    def _draw_turn(self):
        sheet, found = Sheet(400, DIAL), self.numbers
        degrees = f"{math.degrees(found['angle']):.0f}°"
        sheet.text(0, 18, f"k = {self.shift} turns every position by {degrees}", GREY, bold=True)
        x, y, radius = 200, 135, 88
        sheet.dot(x, y, radius, "white", RULE, 2)
        here, there = found["two"][self.position], found["two"][self.position + self.shift]
        start, left = math.atan2(*here.tolist()), found["angle"] % (2 * math.pi)
        close = abs(math.remainder(left, 2 * math.pi)) < 0.4  # no room for two names
        arc = [start + left * i / 40 for i in range(41)]
        curve = [(x + 44 * math.cos(a), y - 44 * math.sin(a)) for a in arc]
        sheet.path(curve, ORANGE, 3)
        for point, colour, name in ((here, BLUE, "" if close else "p"),
                                    (there, PURPLE, "p, p + k" if close else "p + k")):  # fmt: skip
            up, along = point.tolist()
            sheet.arrow(x, y, x + radius * along, y - radius * up, colour, 3)
            beside = (radius + 30 + 16 * close) * along
            sheet.text(x + beside, y + 5 - (radius + 13) * up, name, colour, anchor="middle",
                       bold=True)  # fmt: skip
        middle, far = arc[20] + math.pi * close, 40 if close else 68
        words = f"{math.degrees(left):.0f}°"
        sheet.text(x + far * math.cos(middle), y + 6 - far * math.sin(middle), words, ORANGE,
                   anchor="middle", bold=True)  # fmt: skip
        turns = int(found["angle"] // (2 * math.pi))
        if turns:
            sheet.text(0, DIAL - 10, f"{turns} × 360° + {words}", GREY)
        sheet.text(0, 48, "→ cosine", GREY)
        sheet.text(0, 70, "↑ sine", GREY)
        return sheet
