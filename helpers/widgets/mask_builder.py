"""Which query may see which key: causal, padding, cross; and what becomes of a row."""

import math

import torch
import traitlets

from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from helpers.transformer.attention import masked_softmax
from helpers.transformer.masks import causal_mask, padding_mask
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet, number

WORDS = ("the", "cat", "sees", "a", "dog", ".")
CROSS_WORDS = ("le", "chat", "voit", "un", "chien", ".")


class MaskBuilder(Explorer):
    """Build a mask, pick a query, and see its row before and after the softmax.

    State: `causal` and `cross` (bool), `padding` (0 to 6 padded keys), `query` (1 to 6) and
    `flipped`, the cells that a click has turned, as numbers from 0 to 35, row after row.
    """

    causal = traitlets.Bool(True).tag(state=True)
    padding = traitlets.Int(1, min=0, max=6).tag(state=True)
    cross = traitlets.Bool(False).tag(state=True)
    query = traitlets.Int(3, min=1, max=6).tag(state=True)
    flipped = traitlets.Tuple().tag(state=True)

    def build(self):
        generator = torch.Generator().manual_seed(2)
        self._scores = torch.randn(6, 6, generator=generator)
        self.slider("padding", "Padded keys")
        self.switch("causal", "Causal: no looking ahead")
        self.switch("cross", "Cross-attention: keys from another sentence")
        self.button("Start again", self.reset)

    def compute(self):
        """Put the masks together; weigh every row."""
        ids = torch.ones(1, 6, dtype=torch.long)
        ids[0, 6 - self.padding :] = 0
        mask = padding_mask(ids, 0)[0, 0].expand(6, 6)
        if self.causal and not self.cross:
            mask = mask & causal_mask(6)
        mask = mask.clone()
        for cell in self.flipped:
            mask[cell // 6, cell % 6] ^= True
        self.controls["causal"].disabled = self.cross  # another sentence has no future to hide
        weights = masked_softmax(self._scores, mask)
        return {"mask": mask, "weights": weights, "scores": self._scores}

    def describe(self):
        return f"A mask of six queries by six keys. {self.tell()[0]}"

    def tell(self):
        """Say what the chosen query sees, and what to try."""
        row = self.numbers["mask"][self.query - 1]
        seen = [word for word, may in zip(self._keys(), row.tolist(), strict=True) if may]
        names = ", ".join(seen) if seen else "nothing, so its weights are zeros"
        who = self._queries()[self.query - 1]
        return (
            f"“{who}” is allowed to attend to: {names}.",
            "Press a cell to change that. What do the weights do once the last cell is masked out?"
            if seen
            else "PyTorch’s own softmax gives nan for such a row; ours puts zeros in its place.",
        )

    def _keys(self):
        words = CROSS_WORDS if self.cross else WORDS
        return words[: 6 - self.padding] + ("pad",) * self.padding

    def _queries(self):
        return WORDS if self.cross else self._keys()

    def draw(self):
        """Draw the grid, and beside it the chosen row."""
        return [self._draw_grid(), self._draw_row()]

    def _draw_grid(self):
        sheet, mask = Sheet(400, 350), self.numbers["mask"].tolist()
        sheet.text(0, 18, "The mask", INK, bold=True)
        sheet.text(88, 46, "keys →", ORANGE)
        sheet.text(80, 70, "queries ↓", BLUE, anchor="end")
        for j, word in enumerate(self._keys()):
            colour = GREY if word == "pad" else ORANGE
            sheet.text(114 + 52 * j, 70, word, colour, anchor="middle")
        for i, row in enumerate(mask):
            y, word, on = 78 + 40 * i, self._queries()[i], i == self.query - 1
            sheet.text(80, y + 26, word, BLUE, anchor="end", bold=on)
            sheet.target(0, y, 86, 40, f"Show the row of query {i + 1}, {word}", query=i + 1)
            for j, may in enumerate(row):
                self._draw_cell(sheet, i, j, may)
        y = 78 + 40 * (self.query - 1)
        sheet.rect(88, y, 312, 40, stroke=BLUE, line=3, round=3)
        sheet.text(88, 342, "✓ True: allowed to attend", GREEN)
        return sheet

    def _draw_cell(self, sheet, i, j, may):
        x, y = 88 + 52 * j, 78 + 40 * i
        sheet.rect(x + 1, y + 1, 50, 38, GREEN if may else PALE, round=3)
        if self._keys()[j] == "pad" and not may:
            sheet.rect(x + 1, y + 1, 50, 38, GREY, round=3, opacity=0.35)
        sheet.text(x + 26, y + 27, "✓" if may else "", "white", 20, "middle", bold=True)
        cell = 6 * i + j
        flipped = [one for one in self.flipped if one != cell]
        flipped += [] if cell in self.flipped else [cell]
        state = "allowed" if may else "masked out"
        label = f"Query {self._queries()[i]}, key {self._keys()[j]}: {state}"
        sheet.target(x, y, 52, 40, label, flipped=sorted(flipped), query=i + 1)

    def _draw_row(self):
        sheet, found, chosen = Sheet(400, 350), self.numbers, self.query - 1
        scores, weights = found["scores"][chosen], found["weights"][chosen]
        sheet.text(0, 18, f"The row of “{self._queries()[chosen]}”", BLUE, bold=True)
        heads = (("key", ORANGE), ("score", GREY), ("masked", INK), ("weight", PURPLE))
        for (head, colour), x in zip(heads, (60, 146, 236, 326), strict=True):
            sheet.text(x, 70, head, colour, anchor="end", bold=True)
        rows = zip(self._keys(), scores, found["mask"][chosen], weights, strict=True)
        for j, (word, score, may, weight) in enumerate(rows):
            y = 104 + 40 * j
            sheet.text(60, y, word, GREY if word == "pad" else ORANGE, anchor="end")
            sheet.text(146, y, number(score), GREY, anchor="end")
            shown = number(score) if may else number(-math.inf)
            sheet.text(236, y, shown, INK, anchor="end", bold=not may)
            sheet.text(326, y, number(weight) if may else "", PURPLE, anchor="end", bold=True)
            sheet.rect(336, y - 15, 60, 20, PALE)
            sheet.rect(336, y - 15, 60 * float(weight), 20, PURPLE)
        nothing = "" if weights.sum() > 0 else ": nothing to attend to"
        words = f"The weights sum to {number(weights.sum())}{nothing}."
        sheet.text(0, 342, words, PURPLE)
        return sheet
