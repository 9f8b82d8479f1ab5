"""Pictures as sentences: cut one into patches, and see where a Vision Transformer attends."""

import torch
import torch.nn.functional as F
import traitlets
from matplotlib.colors import LinearSegmentedColormap

from helpers.data.clothes import CLASSES, SIDE, clothes
from helpers.models.vit import VisionTransformer, attention_rollout
from helpers.plots import BLUE, GREY, INK, ORANGE
from helpers.widgets.colours import LIGHT
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet, number, track

BOX, LARGE = 280, 252  # pixels of a picture's side on the page, cut and looked at
FAINT = LinearSegmentedColormap.from_list("faint", [LIGHT["paper"], LIGHT["field"]])
GREYS = LinearSegmentedColormap.from_list("greys", ["black", "white"])
SIDES = 2, 4, 7, 14  # of a patch, in pixels of the picture
IN_ROW = 12  # tokens of the row that are shown at once
BAR, FRAME = 374, LIGHT["field"]  # of the sides to press: pixels that two take, and their edge
AVERAGE, ROLLOUT = -1, -2  # what can stand in for a head
RANDOM = 20  # models with random weights, to compare with


def _named(pictures):
    """List pictures with the names of their classes, for a control."""
    return [(f"{i + 1}: {CLASSES[label]}", i) for i, label in enumerate(pictures.labels.tolist())]


def _against(times, what):
    """Say how many times as many there are: in words if it's near a part that has a plain name."""
    for part, name in (4, "a quarter"), (12, "a twelfth"):
        if abs(times * part - 1) < 0.05:
            return f"{'' if times * part == 1 else 'about '}{name} of the {what}"
    return f"{number(times, 0 if times > 10 else 2)} times the {what}"


def _percent(row, shown):
    """Add up a row's weight on the patches that count, to the digits that are printed."""
    return round(100 * row[1:][shown].sum().item())


class PatchCutter(Explorer):
    """Cut a picture into patches and lay them in a row: the sentence that a ViT reads.

    Parameters
    ----------
    **state : traits
        `picture` (int, which of the twelve), `side` (int, pixels of a patch: 2, 4, 7 or 14) and
        `chosen` (int, from 1: which patch is marked in both pictures).
    """

    _look = 'style="max-width: 100%"'  # a photograph is no negative on a dark page
    picture = traitlets.Int(9, min=0, max=11).tag(state=True)
    side = traitlets.Enum(SIDES, default_value=7).tag(state=True)
    chosen = traitlets.Int(7, min=1, max=196).tag(state=True)

    def build(self):
        self.pictures = clothes("test", 12)
        self.choice("picture", "Picture", _named(self.pictures))
        self.button("Start again", self.reset)
        self.observe(self._mark, names="picture")

    def _mark(self, _):
        """Mark the patch of a new picture in which there's most to see."""
        if self.picture != self._start["picture"]:
            patches = range(1, (SIDE // self.side) ** 2 + 1)
            self.chosen = max(patches, key=lambda patch: self._pixels(patch).std())

    def _there(self, side):
        """Return which patch of another side covers the middle of the marked one."""
        places = divmod(self.chosen - 1, SIDE // self.side)
        row, column = ((2 * i + 1) * self.side // (2 * side) for i in places)
        return row * (SIDE // side) + column + 1

    def compute(self):
        """Count tokens, the numbers in each, and the weights of one attention map."""
        n = (SIDE // self.side) ** 2
        self.chosen = min(self.chosen, n)
        return {"tokens": n, "width": self.side**2, "weights": (n + 1) ** 2}

    def describe(self):
        label = CLASSES[self.pictures.labels[self.picture]]
        return f"Class {label}, patch {self.chosen} marked. {' '.join(self.tell())}"

    def tell(self):
        """Say what the cut costs, and compare it with the one it opens on."""
        n, first = self.numbers, (SIDE // 7) ** 2
        patches = _against(n["tokens"] / first, "patches")
        weights = _against(n["weights"] / (first + 1) ** 2, "weights")
        asked = f"Against side 7: {patches}, {weights}."
        if self.side == 7:
            asked = "Press a smaller side below. The patches grow in number, and what grows faster?"
        return (
            f"{n['tokens']} patches of {n['width']} numbers. With the class token, one attention "
            f"map has {n['tokens'] + 1}² weights.",
            asked,
        )

    def draw(self):
        along, gap = SIDE // self.side, 4 if self.side > 2 else 2
        size = (BOX - gap * (along - 1)) / along
        left = Sheet(BOX + 4, BOX + 30)
        left.text(2, 16, f"{along} × {along} = {along**2} patches", INK, bold=True)
        # On dark paper, a cut between black patches would not be seen.
        left.rect(2 - gap / 2, 28 - gap / 2, BOX + gap, BOX + gap, GREY, opacity=0.4)
        for i in range(along**2):
            row, column = divmod(i, along)
            place = 2 + column * (size + gap), 28 + row * (size + gap)
            self._draw_patch(left, i + 1, *place, size)
            left.target(*place, size, size, f"Patch {i + 1}", chosen=i + 1)
        return [left, self._draw_row(), self._draw_costs((14, 7)), self._draw_costs((4, 2))]

    def _draw_row(self):
        """Draw the row of tokens around the marked one, and what that one is made of."""
        sheet, n, width = Sheet(456, BOX + 30), self.numbers["tokens"], self.numbers["width"]
        sheet.text(0, 16, "… are one row of tokens ↔", INK, bold=True)
        shown = min(n, IN_ROW)
        first = self.chosen - round((self.chosen - 1) * (shown - 1) / (n - 1))  # below the hand
        sheet.text(456, 16, f"{first} to {first + shown - 1} of {n}", GREY, anchor="end")
        for place in range(shown):
            patch, x = first + place, 38 * place
            sheet.rect(x, 28, 38, 38, GREY, opacity=0.4)
            self._draw_patch(sheet, patch, x + 2, 30, 34)
            on = patch == self.chosen
            sheet.text(x + 19, 86, patch, ORANGE if on else GREY, anchor="middle", bold=on)
        drag = track("x", "chosen", (19, 38 * shown - 19), (1, n), self.chosen, step=1)
        sheet.handle(0, 28, 38 * shown, 62, "The marked patch", str(self.chosen), drag)
        pixels = self._pixels(self.chosen)
        sheet.pixels(0, 112, 96, 96, pixels, GREYS, 0, 255)
        sheet.rect(0, 112, 96, 96, stroke=ORANGE, line=4)
        sheet.text(112, 154, f"Patch {self.chosen}: {self.side} × {self.side} pixels,")
        sheet.text(112, 178, f"{width} numbers, row by row:")
        sheet.pixels(0, 222, 456, 24, pixels.reshape(1, -1), GREYS, 0, 255)
        sheet.rect(0, 222, 456, 24, stroke=ORANGE, line=2)
        sheet.text(0, 274, f"A linear layer: {width} numbers → one vector,")
        sheet.text(0, 298, f"token {self.chosen + 1}, as the class token is the first.")
        return sheet

    def _pixels(self, patch):
        """Cut a patch, counted from 1, out of the picture."""
        row, column = (self.side * place for place in divmod(patch - 1, SIDE // self.side))
        image = self.pictures.images[self.picture].numpy()
        return image[row : row + self.side, column : column + self.side]

    def _draw_costs(self, sides):
        """Draw two sides to press, each with its map as a square, to one scale; none is a speck."""
        sheet = Sheet(BAR, 82)
        sheet.text(0, 13, "Press a side; below it, the weights" * (sides == (14, 7)), bold=True)
        for x, side in zip((1, BAR / 2 + 8), sides, strict=True):
            tokens, on = (SIDE // side) ** 2 + 1, side == self.side
            square, wide, ink = max(0.28 * tokens, 3), BAR / 2 - 9, "white" if on else INK
            sheet.rect(x, 20, wide, 61, BLUE if on else PALE, BLUE if on else FRAME, round=7)
            for i, line in enumerate((f"side {side}", f"{tokens**2:,}")):
                sheet.text(x + 12, 44 + 24 * i, line, ink, bold=on)
            left, top = x + wide - 10 - square, 78 - square
            sheet.rect(left, top, square, square, "white" if on else GREY)
            label = f"Side of {side} pixels: {tokens**2:,} weights{', pressed' if on else ''}"
            sheet.target(x, 20, wide, 61, label, side=side, chosen=self._there(side))
        return sheet

    def _draw_patch(self, sheet, patch, x, y, size):
        sheet.pixels(x, y, size, size, self._pixels(patch), GREYS, 0, 255)
        sheet.rect(x, y, size, size, stroke=ORANGE if patch == self.chosen else None, line=4)


class PatchAttention(Explorer):
    """Click a patch and see where it attends; beside it, the median of 20 models never trained.

    Parameters
    ----------
    wardrobe : Wardrobe
    pictures : Pictures
        The ones to choose from.
    **state : traits
        `picture` (int), `layer` (int, from 1), `head` (int; −1 is the average of the heads, −2 the
        rollout of all layers up to this one) and `token` (int; 0 is the class token).
    """

    picture = traitlets.Int(0, min=0).tag(state=True)
    layer = traitlets.Int(1, min=1, max=12).tag(state=True)
    head = traitlets.Int(AVERAGE, min=ROLLOUT).tag(state=True)
    token = traitlets.Int(0, min=0).tag(state=True)

    def __init__(self, wardrobe, pictures, **state):
        self.pictures, self._known = pictures, {}
        config, self._models = wardrobe.model.config, {"trained": wardrobe}
        with torch.random.fork_rng():
            torch.manual_seed(0)
            for i in range(RANDOM):
                self._models[f"random {i}"] = type(wardrobe)(VisionTransformer(config))
        self._grid = config.grid
        self._n_layers, self._n_heads = config.n_layers, config.n_heads
        super().__init__(**state)

    @traitlets.validate("layer", "head", "picture", "token")
    def _within(self, proposal):
        last = {"layer": self._n_layers, "head": self._n_heads - 1, "token": self._grid**2}
        return min(proposal.value, last.get(proposal.trait.name, len(self.pictures.images) - 1))

    def build(self):
        self.choice("picture", "Picture", _named(self.pictures))
        self.choice("layer", "Layer", [(f"layer {i}", i) for i in range(1, self._n_layers + 1)])
        self._heads = {AVERAGE: "average of heads", ROLLOUT: "rollout up to here"}
        self._heads |= {i: f"head {i + 1}" for i in range(self._n_heads)}
        self.choice("head", "Map", [(words, i) for i, words in self._heads.items()])
        ask = "Ask from the class token"
        self.button("Class token", lambda _: self.take({"token": 0}), ask, lambda: not self.token)

    def compute(self):
        """Take the chosen token's row out of the chosen map of both models."""
        image = self.pictures.images[self.picture]
        size = SIDE // self._grid
        bright = image.float().unfold(0, size, size).unfold(1, size, size).mean((2, 3)).flatten()
        shown = bright > 0.1 * bright.max()  # patches in which there is something
        trained, *random = (self._row(name) for name in self._models)
        random.sort(key=lambda row: row[1:][shown].sum().item())
        return {"trained": trained, "random weights": random[RANDOM // 2], "shown": shown,
                "band": [_percent(row, shown) for row in random],
                "even": shown.sum().item() / len(trained)}  # fmt: skip

    def _maps(self, name):
        key = name, self.picture
        if key not in self._known:
            self._known[key] = self._models[name].attend(self.pictures.images[key[1], None])[0]
        return self._known[key]

    def _row(self, name):
        maps = self._maps(name)[: self.layer]
        if self.head == ROLLOUT:
            return attention_rollout(maps)[self.token]
        layer = maps[-1]
        return (layer.mean(0) if self.head == AVERAGE else layer[self.head])[self.token]

    def _where(self):
        if not self.token:
            return "the class token"
        row, column = divmod(self.token - 1, self._grid)
        return f"the patch in row {row + 1}, column {column + 1}"

    def describe(self):
        return f"{' '.join(self.tell())} Layer {self.layer}, {self._heads[self.head]}."

    def tell(self):
        """Say how much of the weight lies on what is shown, and how much that means."""
        part = _percent(self.numbers["trained"], self.numbers["shown"])
        low, *_, high = self.numbers["band"]
        where, way, outside = self._where(), "No clear difference", max(low - part, part - high)
        if outside > (high - low) / 10:
            way = f"Training moved it {'there' if part > high else 'away'}"
        elif outside > 0:  # one of 21 is always the last, by chance
            way = f"It's barely {'above' if part > high else 'below'} them, perhaps by chance"
        return (
            f"{where[0].upper()}{where[1:]} puts {part}% of its weight on the "
            f"{CLASSES[self.pictures.labels[self.picture]]}.",
            f"{RANDOM} models with random weights: {low} to {high}%. {way}. Press a patch.",
        )

    def draw(self):
        return [self._weights(name) for name in ("trained", "random weights")]

    def _weights(self, name):
        """Lay a square over each patch, the larger the more weight; blue where there is cloth."""
        row, size, trained = self.numbers[name], LARGE / self._grid, name == "trained"
        sheet = Sheet(400, LARGE + (146 if trained else 32))
        sheet.text(
            0, 18, name if trained else "random: median", BLUE if trained else GREY, bold=True
        )
        where = "the class token" if self.token else "itself"
        sheet.text(400, 18, f"{100 * row[0]:.0f}% on {where}", GREY, anchor="end")
        image, beside = self.pictures.images[self.picture].numpy(), LARGE + 14
        sheet.pixels(0, 28, LARGE, LARGE, image, FAINT, 0, 380)
        sheet.rect(0, 28, LARGE, LARGE, stroke=PALE)
        # One scale for both, so that the small squares are those of the one that attends less.
        both = torch.stack([self.numbers["trained"], self.numbers["random weights"]])
        top = max(both[:, 1:].max().item(), 1e-9)

        def square(x, y, weight, *look):  # the picture shows through
            side = 0.94 * size * (weight / top) ** 0.5
            place = x + (size - side) / 2, y + (size - side) / 2, side, side
            sheet.rect(*place, look[0], look[-1], opacity=0.4)

        for i, weight in enumerate(row[1:].tolist()):
            x, y = i % self._grid * size, 28 + i // self._grid * size
            square(x, y, weight, BLUE if self.numbers["shown"][i] else GREY)
            label = f"{name}: row {i // self._grid + 1}, column {i % self._grid + 1}"
            sheet.target(x, y, size, size, f"{label}, weight {number(weight, 3)}", token=i + 1)
        self._draw_outlines(sheet, size)
        if trained:
            sheet.pixels(beside, 28, 130, 130, image, GREYS, 0, 255)
            self._compare(sheet)
        legend = (176, top, "largest", BLUE), (230, 1 / len(row), "even", "none", INK)
        for y, weight, words, *look in legend:
            square(beside, y, weight, *look)
            sheet.text(beside + size + 8, y + 16, words, GREY)
            sheet.text(beside + size + 8, y + 36, number(weight), GREY)
        return sheet

    def _compare(self, sheet):
        """Set the shares on the cloth below each other, with the random models' and an even one."""
        found, y = self.numbers, LARGE + 38
        for name, colour in ("trained", BLUE), ("random weights", GREY):
            part = _percent(found[name], found["shown"])
            sheet.rect(0, y, LARGE, 18, PALE)
            sheet.rect(0, y, LARGE * part / 100, 18, colour)
            sheet.text(LARGE + 14, y + 15, f"{part}% {name.split()[0]}", colour, bold=True)
            y += 23
        for share in found["band"]:
            sheet.dot(LARGE * share / 100, y - 14, 4, ORANGE, "white", 1)
        at, label = LARGE * found["even"], CLASSES[self.pictures.labels[self.picture]]
        sheet.line(at, LARGE + 34, at, y - 2, INK, 2)
        outside = (~found["shown"][found["trained"][1:].topk(5).indices]).sum()
        sheet.text(0, y + 18, f"□ outlined: shows enough of the {label}", BLUE)
        sheet.text(0, y + 38, f"■ outside it: {outside} of the 5 largest squares", GREY)
        sheet.text(0, y + 58, f"● {RANDOM} random models", ORANGE)
        sheet.text(400, y + 58, "│ even weights", INK, anchor="end")

    def _draw_outlines(self, sheet, size):
        """Draw an edge wherever a patch that counts meets one that doesn't, and mark the token."""
        cells = F.pad(self.numbers["shown"].view(self._grid, self._grid), (1, 1, 1, 1))
        for i, j in (cells[1:] != cells[:-1]).nonzero().tolist():
            sheet.rect((j - 1) * size, 27 + i * size, size, 2.5, BLUE)
        for i, j in (cells[:, 1:] != cells[:, :-1]).nonzero().tolist():
            sheet.rect(j * size - 1, 28 + (i - 1) * size, 2.5, size, BLUE)
        if self.token:
            r, c = divmod(self.token - 1, self._grid)
            sheet.rect(c * size + 1, 29 + r * size, size - 2, size - 2, stroke=ORANGE, line=4)
