"""Dot products you can pull at: one query, two keys, and how the softmax splits the weight."""

import torch
import traitlets

from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet, number, track

ARROWS = (("q", "query", BLUE), ("a", "key a", ORANGE), ("b", "key b", ORANGE))


def _entry(start):
    return traitlets.Float(start, min=-3.0, max=3.0).tag(state=True)


class DotProducts(Explorer):
    """A query and two keys in a plane: pull an arrow and watch scores and weights.

    Parameters
    ----------
    **state : traits
        `q_x`, `q_y`, `a_x`, `a_y`, `b_x` and `b_y`: the arrows' ends, from −3 to 3.
    """

    q_x, q_y, a_x, a_y, b_x, b_y = map(_entry, (2.0, 1.0, 1.0, 2.0, 1.5, -1.0))

    def build(self):
        """Make the one control; the arrows are pulled in the picture."""
        self.button("Start again", self.reset)

    def compute(self):
        """Score both keys, and share the weight between them."""
        query, *keys = (torch.tensor([self.state[f"{n}_x"], self.state[f"{n}_y"]]) for n in "qab")
        scores = torch.stack(keys) @ query
        return {"scores": scores, "weights": scores.softmax(0)}

    def describe(self):
        """Say in words what the picture shows."""
        (a, b), (w_a, w_b) = self.numbers["scores"], self.numbers["weights"]
        return (
            f"A query and two keys as arrows. Dot products {number(a)} and {number(b)}; the "
            f"softmax gives key a the weight {number(w_a)} and key b {number(w_b)}."
        )

    def draw(self):
        """Draw the arrows, and the two scores and weights beside them."""
        plane, side = Sheet(400, 320), Sheet(400, 320)
        plane.text(20, 16, "Pull an arrow by its end", INK, bold=True)
        plane.rect(20, 28, 280, 280, PALE, round=4)
        plane.line(20, 168, 300, 168, GREY)
        plane.line(160, 28, 160, 308, GREY)
        for name, words, colour in ARROWS:
            values = self.state[f"{name}_x"], self.state[f"{name}_y"]
            x, y = 160 + 140 / 3 * values[0], 168 - 140 / 3 * values[1]
            plane.arrow(160, 168, x, y, colour, 3)
            plane.dot(x, y, 8, colour)
            plane.text(x + 12, y - 8, words, colour, bold=True)
            across = track("x", f"{name}_x", (20, 300), (-3, 3), values[0], step=0.1)
            up = track("y", f"{name}_y", (308, 28), (-3, 3), values[1], step=0.1)
            where = f"{number(values[0], 1)}, {number(values[1], 1)}"
            plane.handle(x - 16, y - 16, 32, 32, words, where, across, up)
        rows = zip("ab", self.numbers["scores"], self.numbers["weights"].tolist(), strict=True)
        for i, (name, score, weight) in enumerate(rows):
            y, pairs = (
                48 + 134 * i,
                [(self.state[f"q_{z}"], self.state[f"{name}_{z}"]) for z in "xy"],
            )
            side.text(0, y, f"query · key {name} = {number(score)}", INK, bold=True)
            sums = " + ".join(" × ".join(number(each, 1) for each in pair) for pair in pairs)
            side.text(0, y + 24, f"= {sums}", GREY)
            side.rect(0, y + 36, 300, 26, PALE, round=4)
            side.rect(0, y + 36, 300 * weight, 26, PURPLE, round=4)
            side.text(312, y + 55, number(weight), PURPLE, bold=True)
            side.text(0, y + 82, "weight (softmax)", PURPLE)
        return [plane, side]
