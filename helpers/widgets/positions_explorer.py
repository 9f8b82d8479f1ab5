"""Sinusoids: two waves of one frequency, the turn that moves them on, and who is near whom."""

import math

import torch
import traitlets

from helpers import plots
from helpers.plots import BLUE, GREY, ORANGE, PURPLE
from helpers.positions import sinusoidal_positions
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import RULE, Plot, Sheet, number

N_POSITIONS = 64


class PositionExplorer(Explorer):
    """Choose a pair of dimensions, a shift and a position.

    Parameters
    ----------
    **state : traits
        `width` (32, 64 or 128), `pair` (0 to 15), `shift` (0 to 32) and `position` (0 to 63).
    """

    width = traitlets.Enum((32, 64, 128), 64).tag(state=True)
    pair = traitlets.Int(4, min=0, max=15).tag(state=True)
    shift = traitlets.Int(5, min=0, max=32).tag(state=True)
    position = traitlets.Int(20, min=0, max=N_POSITIONS - 1).tag(state=True)

    def build(self):
        """Make the controls."""
        self.choice("width", "Width D", (32, 64, 128))
        self.slider("pair", "Pair of dimensions")
        self.slider("position", "Position p")
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
        return {"table": table[:N_POSITIONS], "two": two, "turn": turn, "error": error,
                "near": near, "wavelength": wavelength}  # fmt: skip

    def describe(self):
        """Say in words what the picture shows."""
        found = self.numbers
        return (
            f"Sinusoids of width {self.width}. Pair {self.pair} has a wavelength of "
            f"{number(found['wavelength'], 1)} positions; moving on by {self.shift} is one "
            f"rotation at every position, exact to {found['error']:.0e}. Position "
            f"{self.position} is nearest to itself; further away, the dot product falls in waves."
        )

    def draw(self):
        """Draw the table, the pair's two waves, the turn and the dot products."""
        sheet, found = Sheet(920, 470), self.numbers
        sheet.text(40, 26, f"positions × {self.width} dimensions", GREY, bold=True)
        sheet.pixels(40, 38, 400, 180, found["table"].numpy(), plots.SIGNED, -1, 1)
        cell = 400 / self.width
        sheet.rect(40 + 2 * self.pair * cell, 36, 2 * cell, 184, stroke="black", line=2.5)
        sheet.text(490, 26, "dot product of p with every position", PURPLE, bold=True)
        near = found["near"][self.position]
        across, limits = (0, N_POSITIONS - 1), (min(0.0, near.min().item()), self.width / 2 * 1.05)
        dots = Plot(sheet, 490, 38, 400, 180, across, limits)
        sheet.rect(490, 38, 400, 180, stroke=RULE)
        dots.curve(range(N_POSITIONS), near.tolist(), PURPLE, 2.5)
        dots.dot(self.position, near[self.position].item(), 7, PURPLE)
        sheet.text(40, 256, f"pair {self.pair}: sine", BLUE, bold=True)
        sheet.text(170, 256, "and cosine", ORANGE, bold=True)
        words = f"wavelength {number(found['wavelength'], 1)}"
        sheet.text(440, 256, words, GREY, anchor="end")
        waves = Plot(sheet, 40, 268, 400, 150, across, (-1.1, 1.1))
        sheet.rect(40, 268, 400, 150, stroke=RULE)
        for column, colour in ((0, BLUE), (1, ORANGE)):
            heights = found["two"][:N_POSITIONS, column]
            waves.curve(range(N_POSITIONS), heights.tolist(), colour, 2.5)
            waves.dot(self.position, heights[self.position].item(), 6, colour)
        sheet.text(40, 446, "position 0", GREY)
        sheet.text(440, 446, N_POSITIONS - 1, GREY, anchor="end")
        self._draw_turn(sheet)
        return sheet

    def _draw_turn(self, sheet):
        found = self.numbers
        sheet.text(490, 256, f"moving on by k = {self.shift}: one turn", GREY, bold=True)
        sheet.dot(580, 360, 58, "white", RULE, 2)
        sheet.text(490, 456, "→ cosine, ↑ sine", GREY)
        here, there = found["two"][self.position], found["two"][self.position + self.shift]
        for point, colour, name in ((here, BLUE, "p"), (there, PURPLE, "p + k")):
            x, y = 580 + 58 * point[1].item(), 360 - 58 * point[0].item()
            sheet.arrow(580, 360, x, y, colour, 3)
            sheet.text(580 + 86 * point[1].item(), 366 - 74 * point[0].item(), name, colour,
                       anchor="middle", bold=True)  # fmt: skip
        for i, row in enumerate(found["turn"].T.tolist()):
            for j, value in enumerate(row):
                sheet.text(780 + 80 * j, 330 + 32 * i, number(value), PURPLE, 18, "end", bold=True)
        sheet.text(700, 300, "row · this, at every p", GREY)
        sheet.text(700, 400, f"largest error {found['error']:.0e}", GREY)
