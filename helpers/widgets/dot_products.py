"""Dot products you can pull at: a viewer, two films, and how the softmax splits the weight."""

import math

import torch
import traitlets

from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE
from helpers.widgets.explorer import Explorer
from helpers.widgets.readable import percent
from helpers.widgets.svg import BAD, PALE, Sheet, number, share, track

FILMS = "Ghost Train", "Bear Hug"
ARROWS = ("q", "viewer", BLUE), ("a", FILMS[0], ORANGE), ("b", FILMS[1], ORANGE)
DASH = {"a": None, "b": "9 4"}  # of the films' shadows
MIDDLE = 200, 178  # pixels: where the arrows begin
HIGHEST = 2.85  # where a shadow, as thick as it is, ends inside the picture


class DotProducts(Explorer):
    """A viewer and two films, a query and two keys: pull an arrow, watch scores and weights.

    State: `q_x`, `q_y`, `a_x`, `a_y`, `b_x` and `b_y`, the arrows' ends, from −3 to 3.
    """

    q_x, q_y, a_x, a_y, b_x, b_y = (
        traitlets.Float(start, min=-3.0, max=3.0).tag(state=True)
        for start in (2.0, 1.0, 1.0, 2.0, 1.5, -1.0)
    )

    def compute(self):
        """Score both keys, and share the weight between them."""
        query, *keys = (torch.tensor([self.state[f"{n}_x"], self.state[f"{n}_y"]]) for n in "qab")
        scores = torch.stack(keys) @ query
        return {"scores": scores, "weights": scores.softmax(0)}

    def describe(self):
        (a, b), (w_a, w_b) = self.numbers["scores"], self.numbers["weights"]
        return (
            f"A viewer, the query, and two films, the keys, as arrows: funny to the right, "
            f"frightening upwards. Dot products {number(a)} and {number(b)}; the softmax gives "
            f"{FILMS[0]} the weight {share(w_a)} and {FILMS[1]} {share(w_b)}."
        )

    def tell(self):
        """Say who wins, and what the arrows as they are now show."""
        (a, b), most = self.numbers["scores"].tolist(), self.numbers["weights"].max().item()
        asked = "Swing the viewer. In the tinted half a film scores below 0, on its edge exactly 0."
        if abs(min(a, b, key=abs)) < 0.05:
            asked = "A film at a right angle to the viewer casts no shadow on it, so it scores 0."
        elif a < 0 and b < 0:
            asked = "Both scores are below 0, and still the two weights add up to 1."
        split = f"put {percent(most)} of the weight on {FILMS[a < b]}"
        if percent(most) == "50%":
            split = "split the weight evenly"
        if self.q_x == self.q_y == 0:
            asked = "A viewer of length 0 scores 0 with everything: pull it away from the middle."
        return f"Scores {number(a)} and {number(b)} {split}.", asked

    def draw(self):
        return [self._draw_plane(), self._draw_scores()]

    def _draw_plane(self):
        plane = Sheet(400, 330)
        plane.text(0, 18, "Pull an arrow by its end", INK, bold=True)
        plane.rect(0, 28, 400, 300, PALE, round=4)
        plane.path(self._below_zero(), BAD, 0, BAD, 0.13)
        plane.line(0, MIDDLE[1], 400, MIDDLE[1], GREY, 0.7)
        plane.line(MIDDLE[0], 28, MIDDLE[0], 328, GREY, 0.7)
        plane.text(394, MIDDLE[1] - 8, "funny →", GREY, anchor="end")
        plane.text(MIDDLE[0] - 8, 46, "frightening ↑", GREY, anchor="end")
        for name, side in (("a", -5), ("b", 5)):
            self._draw_shadow(plane, name, side)
        for name, words, colour in ARROWS:
            values = self.state[f"{name}_x"], self.state[f"{name}_y"]
            x, y = _place(*values)
            plane.arrow(*MIDDLE, x, y, colour, 3)
            plane.dot(x, y, 8, colour)
            across = track("x", f"{name}_x", (50, 350), (-3, 3), values[0], step=0.1)
            up = track("y", f"{name}_y", (328, 28), (-3, 3), values[1], step=0.1)
            where = f"{number(values[0], 1)}, {number(values[1], 1)}"
            plane.handle(x - 19, y - 19, 38, 38, words, where, across, up)
        self._draw_names(plane)
        return plane

    def _draw_names(self, plane):
        """Name each arrow beyond its tip, or where it stays in the plane and off the others."""
        ends = [_place(self.state[f"{name}_x"], self.state[f"{name}_y"]) for name, *_ in ARROWS]
        taken = [(x - 9, y - 11, 18) for x, y in ends] + [(320, MIDDLE[1] - 24, 80), (70, 30, 122)]
        for (_, words, colour), (x, y) in zip(ARROWS, ends, strict=True):
            wide = 11 * len(words) + 4
            away = 1 if x < MIDDLE[0] else -1
            across = sorted((x + 12, x - 12 - wide, x - wide / 2), key=lambda u, s=away: s * u)
            up = (2, -22, 14, -38, 40, -62) if y > MIDDLE[1] else (-22, 2, -38, 14, -62, 40)
            for left, top in ((u, y + v) for v in up for u in across):
                inside = 2 <= left <= 398 - wide and 30 <= top <= 306
                met = (abs(top - v) < 22 and u - wide <= left <= u + w for u, v, w in taken)
                if inside and not any(met):
                    break
            left, top = min(max(left, 2), 398 - wide), min(max(top, 30), 306)
            taken.append((left, top, wide))
            plane.rect(left, top, wide, 22, "white", round=4, opacity=0.8)
            plane.text(left + wide / 2, top + 16, words, colour, anchor="middle", bold=True)

    def _below_zero(self):
        """Outline the half of the plane whose arrows have a negative dot product."""
        corners = [(-4, -3), (4, -3), (4, 3), (-4, 3)]
        sides = [x * self.q_x + y * self.q_y for x, y in corners]
        for i, (x, y) in enumerate(corners):
            (u, v), here, there = corners[i - 3], sides[i], sides[i - 3]
            if here <= 0 and any(sides):
                yield _place(x, y)
            if here * there < 0:
                yield _place(*(p + (q - p) * here / (here - there) for p, q in ((x, u), (y, v))))

    def _draw_shadow(self, plane, name, side):
        """Draw a key's shadow, beside the line on which the query lies."""
        query, key = ((self.state[f"{n}_x"], self.state[f"{n}_y"]) for n in ("q", name))
        length = math.hypot(*query) or 1.0
        along = (query[0] * key[0] + query[1] * key[1]) / length**2
        foot = along * query[0], along * query[1]
        if abs(foot[1]) > HIGHEST:
            foot = foot[0] * HIGHEST / abs(foot[1]), math.copysign(HIGHEST, foot[1])
        aside = side * query[1] / length, side * query[0] / length
        start, end = ((x + aside[0], y + aside[1]) for x, y in (MIDDLE, _place(*foot)))
        plane.line(*_place(*key), *end, ORANGE, 1.2, "3 4")
        plane.path([start, end], ORANGE, 5, dash=DASH[name])

    def _draw_scores(self):
        side = Sheet(400, 330)
        query, length = (self.q_x, self.q_y), math.hypot(self.q_x, self.q_y)
        rows = zip("ab", self.numbers["scores"], self.numbers["weights"].tolist(), strict=True)
        for i, (name, score, weight) in enumerate(rows):
            y, key = 40 + 158 * i, (self.state[f"{name}_x"], self.state[f"{name}_y"])
            side.text(0, y, f"viewer · {FILMS[i]} = {number(score)}", ORANGE, bold=True)
            sums = " + ".join(
                f"{number(q, 1)} × {number(k, 1)}" for q, k in zip(query, key, strict=True)
            )
            side.text(0, y + 26, f"query · key = {sums}", INK)
            words = f"= viewer’s length {number(length)} × shadow {number(score / (length or 1))}"
            side.text(0, y + 52, words, GREY)
            side.path([(352, y - 6), (396, y - 6)], ORANGE, 5, dash=DASH[name])
            side.bar(0, y + 66, 300, 26, weight, PURPLE, round=4)
            side.text(312, y + 85, share(weight), PURPLE, bold=True)
            side.text(0, y + 112, "weight, after the softmax", PURPLE)
        return side


def _place(x, y):
    """Find where a point of the plane stands in the picture."""
    return MIDDLE[0] + 50 * x, MIDDLE[1] - 50 * y
