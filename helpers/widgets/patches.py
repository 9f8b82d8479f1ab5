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
DRAWN = LinearSegmentedColormap.from_list("drawn", [LIGHT["paper"], LIGHT["ink"]])
GREYS = LinearSegmentedColormap.from_list("greys", ["black", "white"])
SIDES = 2, 4, 7, 14  # of a patch, in pixels of the picture
IN_ROW = 12  # tokens of the row that are shown at once
BAR, FRAME = 374, LIGHT["field"]  # of the sides to press: pixels that two take, and their edge
AVERAGE, ROLLOUT = -1, -2  # what can stand in for a head
SECOND = 264  # pixels: where the random model's map begins
RANDOM, CLEAR, LITTLE = 20, 0.1, 0.3  # models to compare with; of their range, outside it


def _named(pictures):
    """List pictures with the names of their classes, for a control."""
    return [(f"{i + 1}: {CLASSES[label]}", i) for i, label in enumerate(pictures.labels.tolist())]


def _against(times, what):
    """Say how many times as many there are: in words if it's near a part that has a plain name."""
    for part, name in (4, "a quarter"), (12, "a twelfth"):
        if abs(times * part - 1) < 0.05:
            return f"{'' if times * part == 1 else 'about '}{name} of the {what}"
    return f"{number(times, 0 if times > 10 else 2)} times the {what}"


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
        self.pictures, self._known = pictures, (None, None)
        config, self._models = wardrobe.model.config, [wardrobe]
        with torch.random.fork_rng():
            torch.manual_seed(0)
            for _ in range(RANDOM):
                self._models.append(type(wardrobe)(VisionTransformer(config)))
        self._grid = config.grid
        self._n_layers, self._n_heads = config.n_layers, config.n_heads
        super().__init__(**state)

    @traitlets.validate("layer", "head", "picture", "token")
    def _within(self, proposal):
        last = {"layer": self._n_layers, "head": self._n_heads - 1, "token": self._grid**2}
        return min(proposal.value, last.get(proposal.trait.name, len(self.pictures.images) - 1))

    def build(self):
        self.choice("picture", "Picture", _named(self.pictures))
        ask = "Ask from the class token"
        self.button("Class token", lambda _: self.take({"token": 0}), ask, lambda: not self.token)

    def compute(self):
        """Take the chosen token's rows out of all maps of all models, and the chosen map's."""
        image = self.pictures.images[self.picture]
        size = SIDE // self._grid
        bright = image.float().unfold(0, size, size).unfold(1, size, size).mean((2, 3)).flatten()
        shown = bright > 0.1 * bright.max()  # patches in which there is something
        rows = self._maps()[..., self.token, :]  # (models, layers, maps, tokens)
        parts = rows[..., 1:][..., shown].sum(-1)
        trained, *random = rows[:, self.layer - 1, self.head]
        median = parts[1:, self.layer - 1, self.head].argsort()[RANDOM // 2]
        parts = (100 * parts).round().int()  # the digits that are printed
        parts[1:] = parts[1:].sort(0).values
        return {"trained": trained, "random weights": random[median], "shown": shown,
                "parts": parts, "even": shown.sum().item() / len(trained)}  # fmt: skip

    def _maps(self):
        """Return all models' maps of the picture, (models, layers, maps, T, T): `head` chooses."""
        picture, maps = self._known
        if picture != self.picture:  # five megabytes each: only the last is kept
            images = self.pictures.images[self.picture, None]
            heads = torch.cat([model.attend(images) for model in self._models])
            upto = [attention_rollout(heads[:, : i + 1]) for i in range(self._n_layers)]
            others = torch.stack([torch.stack(upto, 1), heads.mean(2)], 2)
            self._known = self.picture, (maps := torch.cat([heads, others], 2))
        return maps

    def _label(self):
        return CLASSES[self.pictures.labels[self.picture]]

    def _named_map(self, layer, head):
        words = {AVERAGE: "average of heads", ROLLOUT: "rollout up to here"}
        return f"layer {layer}, {words.get(head, f'head {head + 1}')}"

    def _moved(self, layer, head):
        """Measure how far a part is above all untrained ones, or below (< 0), in their ranges."""
        part, low, *_, high = self.numbers["parts"][:, layer - 1, head].tolist()
        return (max(part - high, 0) - max(low - part, 0)) / max(high - low, 1)

    def describe(self):
        return f"{' '.join(self.tell())} The map: {self._named_map(self.layer, self.head)}."

    def tell(self):
        """Say how much of the weight lies on what is shown, and how much that means."""
        part, low, *_, high = self.numbers["parts"][:, self.layer - 1, self.head].tolist()
        moved = self._moved(self.layer, self.head)
        row, column = divmod(self.token - 1, self._grid)
        where = f"patch in row {row + 1}, column {column + 1}" if self.token else "class token"
        side, moves = ("above", "there") if moved > 0 else ("below", "away")
        then = f"Press {'another map' if self.token else 'a patch'}."
        way = f"{'Far' if abs(moved) > 1 else 'Clearly'} {side}: training moved it {moves}. {then}"
        if not moved:
            way = "No clear difference from theirs. Press a cell marked ↑ or ↓."
        elif abs(moved) <= CLEAR:  # one of 21 is always the last, by chance
            way = f"It's barely {side} them, perhaps by chance."
        elif abs(moved) <= LITTLE:
            way = f"A little {side}, perhaps by training. {then}"
        return (
            f"The {where} puts {part}% of its weight on the {self._label()}.",
            f"{RANDOM} untrained models: {low} to {high}%. {way}",
        )

    def draw(self):
        return [self._draw_weights(), self._draw_maps()]

    def _draw_weights(self):
        """Draw both models' maps to one scale: the trained one to press, the random one smaller."""
        sheet, found, below = Sheet(400, LARGE + 96), self.numbers, LARGE + 50
        both, even = (found["trained"], found["random weights"]), 1 / len(found["trained"])
        top = max(torch.stack(both)[:, 1:].max().item(), 1e-9)
        self._draw_squares(sheet, both[0] / top, 0, LARGE)
        self._draw_squares(sheet, both[1] / top, SECOND, 400 - SECOND)
        for i, weight in enumerate(both[0][1:].tolist()):
            (row, column), size = divmod(i, self._grid), LARGE / self._grid
            label = f"Row {row + 1}, column {column + 1}, weight {number(weight, 3)}"
            sheet.target(column * size, 28 + row * size, size, size, label, token=i + 1)
        sheet.text(0, 18, "trained", BLUE, bold=True)
        side = 0.94 * size * (even / top) ** 0.5
        sheet.rect(SECOND, 252 - side, side, side, stroke=INK)
        sheet.text(SECOND, 18, f"median of {RANDOM}", GREY)
        sheet.text(SECOND, 192, f"{number(top)} fills", GREY)
        sheet.text(SECOND, 212, "a cell", GREY)
        sheet.text(SECOND + 24, 252, f"{number(even)}: even", GREY)
        own = " trained, ".join(f"{100 * row[0]:.0f}%" for row in both)
        sheet.text(0, below, f"class token: {own} median", GREY)
        sheet.text(0, below + 21, f"□ counts as {self._label()}: more than a", BLUE)
        sheet.text(0, below + 42, "tenth as bright as the brightest patch", BLUE)
        return sheet

    def _draw_squares(self, sheet, parts, left, wide):
        """Lay a square over each patch, the larger the more weight; blue where there is cloth."""
        n, size, shown = self._grid, wide / self._grid, self.numbers["shown"]
        image = self.pictures.images[self.picture].numpy()
        sheet.pixels(left, 28, wide, wide, image, DRAWN, 0, image.max())
        sheet.rect(left, 28, wide, wide, stroke=PALE)
        for i, part in enumerate(parts[1:].tolist()):  # the picture shows through
            side, ink = 0.94 * size * part**0.5, BLUE if shown[i] else GREY
            x, y = (size * (place + 0.5) - side / 2 for place in (i % n, i // n))
            sheet.rect(left + x, 28 + y, side, side, ink, "white", 0 if left else 5, opacity=0.4)
            sheet.rect(left + x, 28 + y, side, side, stroke=ink, line=1.5 if left else 2.5)
        cells = F.pad(shown.view(n, n), (1, 1, 1, 1))
        # An edge wherever a patch that counts meets one that doesn't.
        for i, j in (cells[1:] != cells[:-1]).nonzero().tolist():
            sheet.rect(left + (j - 1) * size, 27 + i * size, size, 2.5, BLUE)
        for i, j in (cells[:, 1:] != cells[:, :-1]).nonzero().tolist():
            sheet.rect(left + j * size - 1, 28 + (i - 1) * size, 2.5, size, BLUE)
        if self.token:
            y, x = (size * place + 1 for place in divmod(self.token - 1, n))
            sheet.rect(left + x, 28 + y, size - 2, size - 2, stroke=ORANGE, line=4)

    def _draw_maps(self):
        """Draw a cell to press per map, the picture, and the bars of the chosen map below them."""
        sheet, y = Sheet(400, LARGE + 96), 0
        sheet.text(0, 18, f"Press a map: % on the {self._label()}", bold=True)
        sheet.text(0, 42, "head", GREY)
        sheet.text(16, 44 + 19 * self._n_layers, "layer", GREY, anchor="middle", turn=90)
        image = self.pictures.images[self.picture].numpy()
        sheet.pixels(400 - 54, 48, 54, 54, image, GREYS, 0, 255)
        sheet.text(400, 120, "picture", GREY, anchor="end")
        columns = [(i, i + 1, 42, 46 + 44 * i) for i in range(self._n_heads)]
        x = 46 + 44 * self._n_heads
        columns += (ROLLOUT, "rollout", 68, x), (AVERAGE, "mean", 48, x + 70)
        for _, name, wide, x in columns:
            sheet.text(x + wide / 2, 42, name, GREY, anchor="middle")
        for layer in range(1, self._n_layers + 1):
            y = 48 + 38 * (layer - 1)
            sheet.text(26, y + 24, layer, GREY)
            for head, _, wide, x in columns:
                part = self.numbers["parts"][0, layer - 1, head].item()
                moved, on = self._moved(layer, head), (layer, head) == (self.layer, self.head)
                way, fill, ink = ("↑", BLUE, "white") if moved > 0 else ("↓", GREY, "white")
                if abs(moved) <= CLEAR:
                    way, fill, ink = "", PALE, INK
                sheet.rect(x, y, wide, 36, fill, ORANGE if on else None, 4)
                sheet.text(x + wide / 2, y + 24, f"{part}{way}", ink, anchor="middle", bold=on)
                words = f"{self._named_map(layer, head)}: {part}% {way}"
                sheet.target(x, y, wide, 36, words, layer=layer, head=head)
        sheet.text(0, y + 56, "↑ more, ↓ less than in all untrained models", GREY)
        self._draw_bars(sheet, y + 66)
        return sheet

    def _draw_bars(self, sheet, y):
        """Set the shares on the cloth below each other, with the random models' and an even one."""
        trained, *random = self.numbers["parts"][:, self.layer - 1, self.head].tolist()
        bars = ("trained", trained, BLUE), ("median", random[RANDOM // 2], GREY)
        for i, (name, part, colour) in enumerate(bars):
            sheet.rect(0, y + 23 * i, LARGE, 18, PALE)
            sheet.rect(0, y + 23 * i, LARGE * part / 100, 18, colour)
            sheet.text(LARGE + 14, y + 15 + 23 * i, f"{part}% {name}", colour, bold=True)
        for share in random:
            sheet.dot(LARGE * share / 100, y + 32, 4, ORANGE, "white", 1)
        at = LARGE * self.numbers["even"]
        sheet.line(at, y - 4, at, y + 44, INK, 2)
        sheet.text(0, y + 62, f"● {RANDOM} untrained models", ORANGE)
        sheet.text(400, y + 62, "│ even weights", INK, anchor="end")
