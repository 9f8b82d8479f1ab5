"""Which query may see which key: causal, padding, cross; and what becomes of a row."""

import math

import torch
import traitlets

from helpers.attention import masked_softmax
from helpers.masks import causal_mask, padding_mask
from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import RULE, Sheet, number

WORDS = ("the", "cat", "sees", "a", "dog", ".")
CROSS_WORDS = ("le", "chat", "voit", "un", "chien", ".")


class MaskBuilder(Explorer):
    """Build a mask, pick a query, and see its row before and after the softmax.

    Parameters
    ----------
    **state : traits
        `causal` and `cross` (bool), `padding` (0 to 6 padded keys) and `query` (1 to 6).
    """

    causal = traitlets.Bool(True).tag(state=True)
    padding = traitlets.Int(1, min=0, max=6).tag(state=True)
    cross = traitlets.Bool(False).tag(state=True)
    query = traitlets.Int(3, min=1, max=6).tag(state=True)

    def build(self):
        """Make the controls."""
        generator = torch.Generator().manual_seed(2)
        self._scores = torch.randn(6, 6, generator=generator)
        self.slider("query", "Query")
        self.slider("padding", "Padded keys")
        self.switch("causal", "Causal: no look ahead")
        self.switch("cross", "Cross-attention: keys from another sentence")
        self.button("Start again", self.reset)
        self.observe(self._no_future, names="cross")
        self._no_future()

    def _no_future(self, change=None):
        # Another sentence has no future to hide.
        self.controls["causal"].disabled = self.cross

    def compute(self):
        """Put the masks together; weigh every row."""
        ids = torch.ones(1, 6, dtype=torch.long)
        ids[0, 6 - self.padding :] = 0
        mask = padding_mask(ids, 0)[0, 0].expand(6, 6)
        if self.causal and not self.cross:
            mask = mask & causal_mask(6)
        weights = masked_softmax(self._scores, mask)
        return {"mask": mask, "weights": weights, "scores": self._scores}

    def describe(self):
        """Say in words what the picture shows."""
        row = self.numbers["mask"][self.query - 1]
        seen = [word for word, may in zip(self._keys(), row.tolist(), strict=True) if may]
        names = ", ".join(seen) if seen else "nothing, so its weights are zeros"
        who = self._queries()[self.query - 1]
        return f"A mask of six queries by six keys. {who} may look at: {names}."

    def _keys(self):
        words = CROSS_WORDS if self.cross else WORDS
        return words[: 6 - self.padding] + ("pad",) * self.padding

    def _queries(self):
        return WORDS if self.cross else self._keys()

    def draw(self):
        """Draw the grid at the left, the chosen row at the right."""
        sheet = Sheet(920, 390)
        self._draw_grid(sheet)
        self._draw_row(sheet)
        return sheet

    def _draw_grid(self, sheet):
        mask = self.numbers["mask"].tolist()
        sheet.text(90, 26, "keys", ORANGE, bold=True)
        sheet.text(14, 62, "queries", BLUE, bold=True)
        for j, word in enumerate(self._keys()):
            sheet.text(116 + 52 * j, 62, word, ORANGE, anchor="middle")
        for i, row in enumerate(mask):
            on = i == self.query - 1
            sheet.text(82, 100 + 46 * i, self._queries()[i], BLUE, anchor="end", bold=on)
            for j, may in enumerate(row):
                at = 90 + 52 * j, 72 + 46 * i
                sheet.rect(*at, 52, 46, GREEN if may else "white", RULE)
                if may:
                    middle = at[0] + 26, at[1] + 29
                    sheet.text(*middle, "✓", "white", 18, "middle", bold=True)
            if on:
                sheet.rect(90, 72 + 46 * i, 312, 46, stroke=BLUE, line=3)
        sheet.text(90, 374, "✓ True: may look", GREEN)

    def _draw_row(self, sheet):
        found, chosen = self.numbers, self.query - 1
        scores, weights = found["scores"][chosen], found["weights"][chosen]
        heads = (("key", ORANGE), ("score", GREY), ("masked", INK), ("weight", PURPLE))
        for (head, colour), x in zip(heads, (520, 620, 710, 800), strict=True):
            sheet.text(x, 62, head, colour, anchor="end", bold=True)
        rows = zip(self._keys(), scores, found["mask"][chosen], weights, strict=True)
        for j, (word, score, may, weight) in enumerate(rows):
            y = 100 + 46 * j
            sheet.text(520, y, word, ORANGE, anchor="end")
            sheet.text(620, y, number(score), GREY, anchor="end")
            shown = number(score) if may else number(-math.inf)
            sheet.text(710, y, shown, INK, anchor="end", bold=not may)
            sheet.text(800, y, number(weight), PURPLE, anchor="end", bold=True)
            sheet.rect(812, y - 15, 92 * float(weight), 20, PURPLE)
        total = number(weights.sum())
        words = f"the weights sum to {total}"
        sheet.text(800, 374, words + ("" if weights.sum() > 0 else ": nothing to see"), PURPLE,
                   anchor="end")  # fmt: skip
