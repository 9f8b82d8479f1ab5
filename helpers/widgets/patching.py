"""Put one vector of one sentence into another, and read what SmolLM says then."""

import math

import traitlets

from helpers.models.interventions import patched_logits, share_carried
from helpers.plots import BLUE, GREY, INK, ORANGE, PURPLE
from helpers.pretrained.measured import measured
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet, track

LEFT, TOP, CELL = 108, 42, 12  # pixels: where the grid begins, and how wide its cells are
TALL, ROW = 240, 56  # pixels of the whole grid, and of a row at most
N_SAID = 3  # tokens shown per cell


def measure_grid(smol, source, target):
    """Patch every vector of `source` into the run of `smol` on `target`.

    If they don't have equally many tokens, a ValueError says how many they have. Gives `tokens` of
    both, `says`: the next tokens of both, and from the `first` position at which they differ,
    `share` and `said`: what each patched vector carries and what is said then.
    """
    ids = [smol.encode(text) for text in (source, target)]
    logits = patched_logits(smol.model, *ids)  # (L + 1, T, V)
    after, before = smol.logits(ids[0])[-1], smol.logits(ids[1])[-1]
    share = share_carried(logits, after.argmax(), before.argmax(), before)
    first = (ids[0] != ids[1]).nonzero()[0].item()

    def likeliest(scores):
        best = scores.softmax(-1).topk(N_SAID)
        return [
            [token, round(100 * p)]
            for token, p in zip(smol.tokens(best.indices), best.values.tolist(), strict=True)
        ]

    return {
        "tokens": [smol.tokens(one) for one in ids],
        "says": [likeliest(after), likeliest(before)],
        "first": first,
        "share": [[round(x, 2) for x in row[first:].tolist()] for row in share],
        "said": [[likeliest(scores) for scores in row[first:]] for row in logits],
    }


class PatchingGrid(Explorer):
    """Exchange one vector between two sentences, and read what SmolLM says then.

    Parameters
    ----------
    smol : SmolLM, default=None
        For sentences of your own; the others are stored.
    own : sequence of str, default=()
        Sentences of equally many tokens.
    **state : traits
        `source` and `target`: sentences; `layer` and `position`: the cell that is pressed.
    """

    source = traitlets.Unicode("The capital of France is").tag(state=True)
    target = traitlets.Unicode("The capital of Germany is").tag(state=True)
    layer = traitlets.Int(12, min=0, max=30).tag(state=True)
    position = traitlets.Int(3, min=0, max=40).tag(state=True)

    def __init__(self, smol=None, own=(), **state):
        stored = measured("patching_grids")
        self._smol, self._grids, self._families = smol, stored["grids"], [own, *stored["families"]]
        self._sentences = [one for family in self._families for one in family]
        if own:
            state = {"source": own[0], "target": own[-1], **state}
        super().__init__(**state)

    def build(self):
        self.choice("source", "Take a vector from", self._sentences)
        self.choice("target", "and put it into", self._sentences)
        self.observe(self._pair, names=["source", "target"])

    def _pair(self, change):
        """Keep both sentences of one family, and press what carries most in this layer."""
        other = "target" if change["name"] == "source" else "source"
        family = next((each for each in self._families if change["new"] in each), ())
        left = [one for one in family if one != change["new"]]
        if left and getattr(self, other) not in left:
            setattr(self, other, change["old"] if change["old"] in left else left[0])
            return  # called again for the other one
        if grid := self.compute()["grid"]:
            shares = grid["share"][self.layer]
            self.position = grid["first"] + shares.index(max(shares))

    def compute(self):
        """Look the grid up, or measure it."""
        key = f"{self.source} → {self.target}"
        if key not in self._grids:
            if self.source == self.target:
                return {"grid": None, "why": "These are the same sentence: choose two."}
            if self._smol is None:
                why = "This pair isn't stored, and SmolLM isn't here to measure it."
                return {"grid": None, "why": why}
            try:
                self._grids[key] = measure_grid(self._smol, self.source, self.target)
            except ValueError as error:
                return {"grid": None, "why": f"{error}"}
        return {"grid": self._grids[key], "why": ""}

    def _pressed(self):
        """Return position, share and what is said for the cell that is pressed."""
        grid = self.numbers["grid"]
        position = min(max(self.position, grid["first"]), len(grid["tokens"][0]) - 1)
        place = position - grid["first"]
        return position, grid["share"][self.layer][place], grid["said"][self.layer][place]

    def tell(self):
        """Say what happens with the pressed cell's vector."""
        if self.numbers["grid"] is None:
            return self.numbers["why"], ""
        position, share, said = self._pressed()
        theirs, ours = (tokens[position] for tokens in self.numbers["grid"]["tokens"])
        where = "After layer 29" if self.layer == 30 else f"Before layer {self.layer}"
        after, before = (_clean(each[0][0]) for each in self.numbers["grid"]["says"])
        whose = "the source’s" if theirs == ours else f"that of “{_clean(theirs)}”"
        asked = "Where does another row take over?"
        if share >= 0.995 and position == len(self.numbers["grid"]["tokens"][0]) - 1:
            asked = "From which layer on?"
        if math.isnan(share):
            return f"Both sentences go on with “{after}”.", "Nothing to carry: choose another one."
        return (
            f"{where}, the vector at “{_clean(ours)}” becomes {whose}: SmolLM says "
            f"“{_clean(said[0][0])}”.",
            f"It {_carries(share)}, logit of “{after}” − “{before}”. {asked}",
        )

    def describe(self):
        if self.numbers["grid"] is None:
            return self.numbers["why"]
        position, share, said = self._pressed()
        return (
            f"A grid of tokens by layers for patching from “{self.source}” into “{self.target}”. "
            f"Pressed: layer {self.layer}, token {position + 1}, which {_carries(share)}; the "
            f"model says “{_clean(said[0][0])}” with {said[0][1]}%."
        )

    def draw(self):
        grid = self.numbers["grid"]
        if grid is None:
            return [Sheet(800, 40)]
        return [self._draw_grid(), self._draw_said()]

    def _draw_grid(self):
        """Draw the tokens from the first that differs; up to there, the vectors are the same."""
        grid, first = self.numbers["grid"], self.numbers["grid"]["first"]
        rows = list(zip(*grid["tokens"], strict=True))
        row = min(ROW, TALL / (len(rows) - first))
        bottom, right = TOP + row * (len(rows) - first), LEFT + CELL * len(grid["share"])
        sheet = Sheet(right + 4, bottom + 58)
        both = "".join(grid["tokens"][1][:first]).strip()
        sheet.text(0, 18, f"Both begin: {both if len(both) < 20 else '…' + both[-19:]}", GREY)
        sheet.text(right, 18, "press or drag", ORANGE, anchor="end", bold=True)
        for i, (theirs, ours) in enumerate(rows[first:]):
            y, other = TOP + row * i, theirs != ours
            ink = ORANGE if other else INK
            words = _clean(ours)[:9]
            sheet.text(LEFT - 8, y + row / 2 + 6, words, ink, anchor="end", bold=other)
            for layer, shares in enumerate(grid["share"]):
                x, share = LEFT + CELL * layer, min(max(0.0, shares[i]), 1.0)
                sheet.rect(x, y, CELL - 1, row - 2, PALE, round=2)
                sheet.rect(x, y, CELL - 1, row - 2, BLUE, round=2, opacity=share)
        for layer in range(0, 31, 5):
            x = LEFT + CELL * layer + CELL / 2
            sheet.text(x, bottom + 20, layer, GREY, anchor="middle")
        sheet.text(right, bottom + 46, "before layer …", GREY, anchor="end")
        sheet.text(0, bottom + 46, "0%", GREY)
        sheet.text(118, bottom + 46, "100%", BLUE)
        for i in range(6):
            sheet.rect(32 + 14 * i, bottom + 33, 13, 15, PALE, round=2)
            sheet.rect(32 + 14 * i, bottom + 33, 13, 15, BLUE, round=2, opacity=i / 5)
        at, share, _ = self._pressed()
        x, y = LEFT + CELL * self.layer, TOP + row * (at - first)
        sheet.rect(x - 2, y - 2, CELL + 3, row + 2, stroke=ORANGE, line=4)
        centres = LEFT + CELL / 2, right - CELL / 2
        across = track("x", "layer", centres, (0, 30), self.layer, step=1)
        ends = TOP + row / 2, max(bottom - row / 2, TOP + row / 2 + 1)
        down = track("y", "position", ends, (first, len(rows) - 1), at, step=1)
        words = f"layer {self.layer}, {_clean(rows[at][1])}: {_carries(share)}"
        sheet.handle(LEFT, TOP, right - LEFT, bottom - TOP, "Layer and token", words, across, down)
        return sheet

    def _draw_said(self):
        """Draw what is said next after both sentences, and after the exchange."""
        grid, first = self.numbers["grid"], self.numbers["grid"]["first"]
        theirs, ours = (_clean(tokens[first]) for tokens in grid["tokens"])
        titles = f"source: {theirs}", f"target: {ours}", "with the vector replaced"
        said, inks = (*grid["says"], self._pressed()[2]), (BLUE, ORANGE, PURPLE)
        sheet = Sheet(300, 114 * len(said))
        for i, (title, each, colour) in enumerate(zip(titles, said, inks, strict=True)):
            sheet.text(0, 114 * i + 18, title, colour, bold=True)
            for j, (token, percent) in enumerate(each):
                at = 114 * i + 28 + 25 * j
                sheet.bar(0, at, 240, 22, percent / 100, colour, round=3, opacity=0.35)
                sheet.text(6, at + 17, _clean(token), INK)
                sheet.text(290, at + 17, f"{percent}%", INK, anchor="end")
        return sheet


def _carries(share):
    if math.isnan(share):
        return "carries nothing, as both sentences go on with the same token"
    part = "all" if 0.995 <= share < 1.05 else "none" if abs(share) < 0.005 else f"{share:.0%}"
    return f"carries {part} of the difference"


def _clean(token):
    """Show a token without the blank it begins with."""
    return token.strip() or "␣"
