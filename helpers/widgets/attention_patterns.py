"""Sparse attention: which pairs a pattern keeps, how far it reaches, and what it costs."""

import math

import torch
import traitlets
from matplotlib.colors import ListedColormap

from helpers.models.patterns import global_mask, layers_to_meet, reach, strided_mask, window_mask
from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE, tint
from helpers.transformer.masks import causal_mask
from helpers.widgets.colours import DARK, LIGHT
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import ON_DARK, PALE, Sheet, shade

PATTERNS = ("all", "window", "strided", "global")
# Not met, met on the way, attended to.
CELLS = ListedColormap([LIGHT["soft"], tint(PURPLE, 0.4), BLUE], "cells")
ON_DARK["cells"] = ListedColormap([DARK["soft"], PURPLE, DARK["query"]], "cells")


def make_mask(pattern, length, width, causal):
    """Build the mask of a `pattern`, (`length`, `length`), with a `width`, `causal` or not."""
    if pattern == "window":
        return window_mask(length, width, causal)
    if pattern == "strided":
        return strided_mask(length, width, causal)
    if pattern == "global":
        return global_mask(length, width, 1, causal)
    return causal_mask(length) if causal else torch.ones(length, length, dtype=torch.bool)


class AttentionPatterns(Explorer):
    """Choose a pattern, a length and a window; see the mask, its reach and its cost.

    State: `pattern` (one of PATTERNS), `length` (8 to 48), `width` (1 to 12, the window or the
    stride), `layers` (1 to 8) and `causal` (bool).
    """

    pattern = traitlets.Enum(PATTERNS, "window").tag(state=True)
    length = traitlets.Int(32, min=8, max=48).tag(state=True)
    width = traitlets.Int(6, min=1, max=12).tag(state=True)
    layers = traitlets.Int(3, min=1, max=8).tag(state=True)
    causal = traitlets.Bool(True).tag(state=True)

    def build(self):
        self.slider("length", "Positions")
        self.slider("width", "Window or stride")
        self.slider("layers", "Layers")
        self.switch("causal", "Causal: no looking ahead")
        self.button("Start again", self.reset)

    def compute(self):
        """Count the pairs of every pattern, and the layers until any two positions meet."""
        masks = {p: make_mask(p, self.length, self.width, self.causal) for p in PATTERNS}
        return {
            "mask": masks[self.pattern],
            "reached": reach(masks[self.pattern], self.layers),
            "pairs": {p: int(mask.sum()) for p, mask in masks.items()},
            "meet": {p: layers_to_meet(mask) for p, mask in masks.items()},
        }

    def describe(self):
        pairs, reached = self.numbers["pairs"], int(self.numbers["reached"].sum())
        return (
            f"A mask of {self.length} queries by {self.length} keys, pattern {self.pattern}: "
            f"{pairs[self.pattern]} of {pairs['all']} pairs are computed, {reached} have met after "
            f"{self._layers()}. {self._meeting(self.pattern)}."
        )

    def _layers(self):
        return f"{self.layers} layer{'s' if self.layers > 1 else ''}"

    def _meeting(self, pattern):
        layers = self.numbers["meet"][pattern]
        if layers == math.inf:
            return "Some pairs never meet"
        return f"Any two have met after {layers} layer{'s' if layers != 1 else ''}"

    def tell(self):
        """Say what the pattern costs, and what to try."""
        pairs, reached = self.numbers["pairs"], self.numbers["reached"]
        share = pairs[self.pattern] / pairs["all"]
        met = reached.equal(
            causal_mask(self.length) if self.causal else reached.new_ones(()).expand_as(reached)
        )
        sides = f", {self.width - 1} to each side" * (self.pattern == "window" and not self.causal)
        asked = "Now press another pattern. Does it need fewer layers, or fewer pairs?"
        if self.numbers["meet"][self.pattern] == math.inf:
            asked = "No number of layers will do. Press another pattern, or widen the window."
        elif not met:
            full = "the lower triangle is full" if self.causal else "no cell is empty"
            asked = f"Add layers until {full}: then any two positions have met."
        computed = f"Pattern “{self.pattern}”{sides}: {share:.0%} of the pairs are computed."
        return f"{computed} {self._meeting(self.pattern)}.", asked

    def draw(self):
        return [self._draw_mask(), self._draw_patterns()]

    def _draw_mask(self):
        sheet, found = Sheet(400, 400), self.numbers
        sheet.text(70, 18, "keys →", ORANGE)
        sheet.text(62, 44, "queries", BLUE, anchor="end")
        sheet.text(62, 62, "↓", BLUE, anchor="end")
        cells = found["mask"].int() + found["reached"].int()
        sheet.pixels(70, 28, 328, 328, cells.numpy(), CELLS, 0, 2)
        sheet.rect(70, 28, 328, 328, stroke=GREY)
        sheet.rect(0, 371, 14, 14, shade(CELLS, 1.0))
        sheet.text(20, 384, "attends", BLUE, bold=True)
        words = f"has met it after {self._layers()}" if self.layers > 1 else ""
        sheet.rect(112, 371, 14 * bool(words), 14, shade(CELLS, 0.5))
        sheet.text(132, 384, words, PURPLE, bold=True)
        return sheet

    def _draw_patterns(self):
        sheet, found = Sheet(400, 400), self.numbers
        sheet.text(0, 18, "Pairs to compute: press a pattern", INK, bold=True)
        for i, pattern in enumerate(PATTERNS):
            y, pairs, on = 34 + 92 * i, found["pairs"][pattern], pattern == self.pattern
            colour = BLUE if on else GREY
            sheet.rect(0, y - 2, 396, 70, stroke=colour, line=2.5 if on else 1, round=7)
            sheet.text(8, y + 24, pattern, colour, bold=on)
            sheet.rect(90, y + 8, 220, 22, PALE)
            sheet.rect(90, y + 8, 220 * pairs / found["pairs"]["all"], 22, colour)
            sheet.text(320, y + 24, f"{pairs:,}", colour, bold=on)
            sheet.text(90, y + 54, self._meeting(pattern), colour)
            sheet.target(0, y, 390, 66, f"Show the pattern {pattern}", pattern=pattern)
        return sheet
