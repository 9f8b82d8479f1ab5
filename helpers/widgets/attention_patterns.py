"""Sparse attention: which pairs a pattern keeps, how news travels through it, what it costs."""

import math
from itertools import pairwise

import torch
import traitlets
from matplotlib.colors import ListedColormap

from helpers.models.patterns import global_mask, layers_to_meet, reach, strided_mask, window_mask
from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE, tint
from helpers.widgets.colours import DARK, LIGHT
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import ON_DARK, Sheet, shade, track

# What a pattern is good for, and what a query reads or how news travels; then if causal.
RULES = {
    "all": ("It links any two positions at once.", "Each position reads every other one."),
    "window": ("It sees phrases and word order.", "Each position reads {} to each side."),
    "strided": (
        "In a picture {} wide, it sees a column.",
        "News jumps by less than {0}, or by multiples of {0}.",
    ),
    "global": ("Position 1 sums up the text.", "All read position 1, which reads all of them."),
}
CAUSAL = RULES | {
    "all": (RULES["all"][0], "Each position reads itself and all before it."),
    "window": (RULES["window"][0], "Each position reads itself and {} before it."),
    "global": ("Position 1 can’t read others.", "Position 1 sees only itself: untick Causal mask."),
}
PATTERNS = tuple(RULES)
# Near which query and key, as shares of the length, the pair lies that shows a pattern's way.
ENDS = {"all": (0.95, 0.1), "window": (1, 0), "strided": (0.8, 0.3), "global": (0.9, 0.2)}
NEWS, MOST = LIGHT["second"], 8  # what travels, and through how many layers
SIDE = 288  # pixels of the mask
# Not met, met on the way, attended to.
CELLS = ListedColormap([LIGHT["soft"], tint(PURPLE, 0.4), BLUE], "cells")
ON_DARK["cells"] = ListedColormap([DARK["soft"], PURPLE, DARK["query"]], "cells")


def make_mask(pattern, length, width, causal):
    """Build the mask of a `pattern`, (`length`, `length`), with a `width`, `causal` or not."""
    if pattern == "strided":
        return strided_mask(length, width, causal)
    if pattern == "global":
        return global_mask(length, width, 1, causal)
    return window_mask(length, length if pattern == "all" else width, causal)


class AttentionPatterns(Explorer):
    """Choose which positions attend to which, and see how many layers news needs to get anywhere.

    State: `pattern` (one of PATTERNS), `length` (8 to 48), `width` (1 to 12, the window or the
    stride), `layers` (1 to 8), `causal` (bool), and the cell that was pressed, `query` and `key`
    (from 1; 0 if none was).
    """

    pattern = traitlets.Enum(PATTERNS, "window").tag(state=True)
    length = traitlets.Int(32, min=8, max=48).tag(state=True)
    width = traitlets.Int(6, min=1, max=12).tag(state=True)
    layers = traitlets.Int(3, min=1, max=MOST).tag(state=True)
    causal = traitlets.Bool(True).tag(state=True)
    query, key = (traitlets.Int(0, min=0, max=48).tag(state=True) for _ in range(2))

    def build(self):
        self.play("layers", "Layers")
        self.switch("causal", "Causal mask")
        self.slider("width", "Window").second = True
        self.slider("length", "Positions").second = True

    def compute(self):
        """Count the pairs of every pattern; follow news to the pressed or the furthest query."""
        self.query, self.key = (min(one, self.length) for one in (self.query, self.key))
        masks = {p: make_mask(p, self.length, self.width, self.causal) for p in PATTERNS}
        mask = masks[self.pattern]
        met, once = [reach(mask, 0)], reach(mask, 1).double()
        for _ in range(max(self.length - 1, MOST)):
            met.append(once @ met[-1].double() > 0)  # as `reach` does, one layer more
        hops = sum((~one).int() for one in met)  # (T, T): layers until a query has a key's news
        meet = {p: layers_to_meet(mask) for p, mask in masks.items()}
        asked = hops * masks["all"]
        # Of those that are furthest off, one whose way doesn't follow the frame.
        furthest = (asked == asked.max()).nonzero()
        ends = torch.tensor(ENDS[self.pattern]) * self.length
        query, key = furthest[(furthest - ends).abs().sum(1).argmin()].tolist()
        if pressed := self.query and self.key:
            query, key = self.query - 1, self.key - 1
        needed, way = int(hops[query, key]), [key]
        if needed == len(met):
            needed = math.inf
        for left in reversed(range(needed if met[-1][query, key] else 0)):
            way.append(int((mask[:, way[-1]] & (hops[query] == left)).nonzero()[-1]))
        self.controls["layers"].last = min(len(way) - 1, MOST)  # then the news is there
        pairs = {p: int(mask.sum()) for p, mask in masks.items()}
        return {"mask": mask, "reached": met[self.layers], "pairs": pairs, "meet": meet,
                "way": way, "query": query, "needed": needed, "pressed": pressed}  # fmt: skip

    def _layers(self, n):
        return f"{n} layer{'s' if n != 1 else ''}"

    def _rule(self, pattern):
        """Return a pattern's two sentences."""
        rules = CAUSAL if self.causal else RULES
        if pattern == "strided" and self.width == 1:
            return "Steps of 1 leave nothing out.", rules["all"][1]
        if pattern == "window" and self.width == 1:
            return "It sees only itself.", "Each position reads only itself."
        return [words.format(self.width - (pattern == "window")) for words in rules[pattern]]

    def tell(self):
        """Say what the pattern costs, how far the news is, why, and what to try."""
        found, now = self.numbers, self.pattern
        share, needed = found["pairs"][now] / found["pairs"]["all"], found["needed"]
        way, last = [place + 1 for place in found["way"]], found["query"] + 1
        via = f"The news goes by way of {', '.join(map(str, way[1:-1]))}."
        reaches = f"reaches {last} after {self._layers(needed)}"
        asked = "Does another pattern need fewer layers or pairs?"
        if needed == math.inf:
            reaches, asked = f"never reaches {last}", "Press another pattern, or widen the window."
        elif needed > MOST:
            asked = f"That’s more than {MOST} layers: widen the window."
        elif self.layers < needed:
            asked = f"Play on: by layer {self.layers} the news is at {way[self.layers]}."
        elif needed > 1:
            asked = via
        told = self._rule(now)[1]
        if found["pressed"]:
            row = found["mask"][last - 1]
            weight = f"1/{int(row.sum())} if all scores are equal" if row[way[0] - 1] else "0"
            told = f"Query {last}, key {way[0]}: weight {weight}."
            if self.causal and last < way[0]:
                asked = "Under a causal mask, no news travels backwards."
            elif needed <= MOST:
                asked = via * (needed > 1)
        headline = f"“{now}” keeps {share:.0%} of the pairs. News of position {way[0]} {reaches}."
        return headline, f"{told} {asked}".rstrip()

    def draw(self):
        return [self._draw_mask(), self._draw_patterns()]

    def _draw_mask(self):
        sheet, found = Sheet(376, 362), self.numbers
        sheet.text(70, 18, "keys →", ORANGE)
        way, cell = found["way"], SIDE / self.length
        sheet.text(374, 18, f"━ position {way[0] + 1}’s news", NEWS, anchor="end", bold=True)
        sheet.text(62, 44, "queries", BLUE, anchor="end")
        sheet.text(62, 62, "↓", BLUE, anchor="end")
        cells = found["mask"].int() + found["reached"].int()
        sheet.pixels(70, 28, SIDE, SIDE, cells.numpy(), CELLS, 0, 2)
        stairs = [(way[0], way[0])]  # across to who reads it, down to who reads that one
        for key, query in pairwise(way):
            stairs += [(key, query), (query, query)]
        points = [(70 + cell * (key + 0.5), 28 + cell * (query + 0.5)) for key, query in stairs]
        now = min(2 * self.layers, len(points) - 1)
        sheet.path(points, "white", 7)
        sheet.path(points[now:], NEWS, 2.5, dash="4 4")
        sheet.path(points[: now + 1], NEWS, 4)
        sheet.dot(*points[now], 7, NEWS)
        sheet.rect(70, 28, SIDE, SIDE, stroke=GREY)
        x, y = 70 + cell * (self.key - 1), 28 + cell * (self.query - 1)
        sheet.rect(70, y, SIDE * bool(self.query), cell, stroke=INK, line=2.5)
        sheet.rect(x, 28, cell * bool(self.key), SIDE, stroke=ORANGE, line=2.5)
        places = [(axis, name, (at + cell / 2, at + SIDE - cell / 2), (1, self.length))
                  for axis, name, at in (("x", "key", 70), ("y", "query", 28))]  # fmt: skip
        tracks = [track(*place, max(getattr(self, place[1]), 1), 1) for place in places]
        pair = f"query {self.query}, key {self.key}"
        leave = found["pressed"] and {"query": 0, "key": 0}
        sheet.handle(70, 28, SIDE, SIDE, "A pair", pair, *tracks, leave=leave)
        hand = ": press a pattern to let go" if found["pressed"] else " to key: press a cell"
        sheet.rect(0, 323, 14, 14, shade(CELLS, 1.0))
        sheet.text(20, 336, f"query attends{hand}", BLUE)
        words = f"query has news of key by layer {self.layers}" if self.layers > 1 else ""
        sheet.rect(0, 345, 14 * bool(words), 14, shade(CELLS, 0.5))
        sheet.text(20, 358, words, PURPLE)
        return sheet

    def _draw_patterns(self):
        sheet, found = Sheet(400, 362), self.numbers
        sheet.text(0, 18, "Press a pattern; bars count pairs", INK, bold=True)
        for i, pattern in enumerate(PATTERNS):
            y, pairs, on = 32 + 83 * i, found["pairs"][pattern], pattern == self.pattern
            colour = BLUE if on else GREY
            sheet.rect(0, y - 2, 396, 78, stroke=colour, line=2.5 if on else 1, round=7)
            sheet.text(8, y + 24, pattern, colour, bold=on)
            sheet.bar(98, y + 8, 214, 22, pairs / found["pairs"]["all"], colour)
            sheet.text(320, y + 24, f"{pairs:,}", colour, bold=on)
            met = f"All news has arrived after {self._layers(found['meet'][pattern])}"
            never = found["meet"][pattern] == math.inf
            sheet.text(8, y + 48, "Some news never arrives" if never else met, colour)
            sheet.text(8, y + 69, self._rule(pattern)[0], colour)
            label = f"Show the pattern {pattern}"
            sheet.target(0, y, 390, 76, label, pattern=pattern, query=0, key=0)
        return sheet
