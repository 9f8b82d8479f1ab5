"""Which query may see which key: causal, padding, cross; and what becomes of a row."""

import math

import torch
import traitlets

from helpers.plots import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from helpers.transformer.attention import masked_softmax
from helpers.transformer.masks import causal_mask, padding_mask
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet, number, share

WORDS = ("the", "cat", "sees", "a", "dog", ".")
CROSS_WORDS = ("le", "chat", "voit", "un", "chien", ".")


class MaskBuilder(Explorer):
    """Build a mask, pick a query, and see its row before and after the softmax.

    State: `causal` and `cross` (bool), `padding` (0 to 6 padded keys), `query` (1 to 6), and the
    cells set by hand, `allowed` and `masked`: numbers from 0 to 35, row after row.
    """

    causal = traitlets.Bool(True).tag(state=True)
    padding = traitlets.Int(1, min=0, max=6).tag(state=True)
    cross = traitlets.Bool(False).tag(state=True)
    query = traitlets.Int(3, min=1, max=6).tag(state=True)
    allowed = traitlets.Tuple().tag(state=True)
    masked = traitlets.Tuple().tag(state=True)

    def build(self):
        self.slider("padding", "Padded keys")
        self.switch("causal", "Causal: no looking ahead")
        self.switch("cross", "Cross-attention: keys from another sentence")

    def compute(self):
        """Put the masks together; weigh every row."""
        self.causal = self.causal and not self.cross  # another sentence has no future to hide
        mask = padding_mask(torch.arange(6)[None] < 6 - self.padding, False)[0, 0].expand(6, 6)
        if self.causal:
            mask = mask & causal_mask(6)
        ruled, mask = mask.flatten().tolist(), mask.clone()
        mask.view(-1)[list(self.allowed)] = True
        mask.view(-1)[list(self.masked)] = False
        self.controls["causal"].disabled = self.cross
        scores = torch.randn(6, 6, generator=torch.Generator().manual_seed(2 + self.cross))
        weights = masked_softmax(scores, mask)
        return {"mask": mask, "ruled": ruled, "weights": weights, "scores": scores}

    def tell(self):
        """Say what the chosen query sees, and what to try."""
        row = self.numbers["mask"][self.query - 1]
        seen = [f"“{key}”" for key, may in zip(self._keys(), row.tolist(), strict=True) if may]
        names = ", ".join(seen) if seen else "nothing, so its weights are zeros"
        asked = "Press a cell to change that. What do the weights do once a whole row is masked?"
        if self.cross:
            asked = "Another sentence has no later words to hide, so the causal mask is off."
        if not seen:
            asked = "PyTorch’s own softmax gives nan for such a row; ours puts zeros in its place."
        return f"“{self._queries()[self.query - 1]}” is allowed to attend to: {names}.", asked

    def _keys(self):
        words = CROSS_WORDS if self.cross else WORDS
        return words[: 6 - self.padding] + ("pad",) * self.padding

    def _queries(self):
        return WORDS if self.cross else self._keys()

    def draw(self):
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
        sheet.text(0, 342, "✓ allowed", GREEN)
        sheet.text(104, 342, "■ padding", GREY)
        sheet.text(214, 342, "□ later" * self.causal, INK)
        sheet.text(400, 342, "▢ by hand" * bool(self.allowed + self.masked), anchor="end")
        return sheet

    def _draw_cell(self, sheet, i, j, may):
        x, y = 88 + 52 * j, 78 + 40 * i
        hidden = (GREY, 0.35) if self._keys()[j] == "pad" else (PALE, 1)
        fill, opacity = (GREEN, 1) if may else hidden
        sheet.rect(x + 1, y + 1, 50, 38, fill, round=3, opacity=opacity)
        sheet.text(x + 26, y + 27, "✓" if may else "", "white", 20, "middle", bold=True)
        cell = 6 * i + j
        frame = INK if cell in self.allowed + self.masked else None
        sheet.rect(x + 5, y + 5, 42, 30, stroke=frame, round=2)
        by_hand = {"allowed": {*self.allowed} - {cell}, "masked": {*self.masked} - {cell}}
        if self.numbers["ruled"][cell] == may:  # or else the switches' own value comes back
            by_hand["masked" if may else "allowed"].add(cell)
        by_hand = {name: sorted(cells) for name, cells in by_hand.items()}
        state = "allowed" if may else "masked out"
        label = f"Query {self._queries()[i]}, key {self._keys()[j]}: {state}"
        sheet.target(x, y, 52, 40, label, query=i + 1, **by_hand)

    def _draw_row(self):
        sheet, found, chosen = Sheet(400, 350), self.numbers, self.query - 1
        scores, weights = found["scores"][chosen], found["weights"][chosen]
        title = f"The row of “{self._queries()[chosen]}” (made-up scores)"
        sheet.text(0, 18, title, BLUE, bold=True)
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
            sheet.text(326, y, share(weight), PURPLE, anchor="end", bold=True)
            sheet.bar(336, y - 15, 60, 20, weight, PURPLE)
        sheet.text(0, 342, f"The weights sum to {number(weights.sum())}.", PURPLE)
        return sheet
