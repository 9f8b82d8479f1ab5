"""Pictures as sentences: cut one into patches, and see where a Vision Transformer attends."""

import torch
import torch.nn.functional as F
import traitlets
from matplotlib.colors import LinearSegmentedColormap

from helpers.data.clothes import CLASSES, SIDE, clothes
from helpers.models.vit import VisionTransformer, attention_rollout
from helpers.plots import BLUE, GREY, INK, ORANGE, WEIGHTS
from helpers.widgets.colours import LIGHT
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import PALE, Sheet, ink_on, number, shade, track

BOX, LARGE, SMALL = 280, 252, 126  # pixels: a cut picture, the map to press, what is beside it
DRAWN = LinearSegmentedColormap.from_list("drawn", [LIGHT["paper"], LIGHT["ink"]])
GREYS = LinearSegmentedColormap.from_list("greys", ["black", "white"])
SIDES = 2, 4, 7, 14  # of a patch, in pixels of the picture
IN_ROW = 12  # tokens of the row that are shown at once
FRAME = LIGHT["field"]  # the edge of what is pressed
AVERAGE, ROLLOUT = -1, -2  # what can stand in for a head
RANDOM = 20  # models to compare with


def _named(pictures):
    """List pictures with the names of their classes, for a control."""
    return [(f"{i + 1}: {CLASSES[label]}", i) for i, label in enumerate(pictures.labels.tolist())]


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
        self.choice("side", "Side of a patch", SIDES)
        self.observe(self._mark, names=["picture", "side"])

    def _mark(self, _):
        """Mark the patch in which there's most to see, of a new picture or in another cut."""
        if (self.picture, self.side) != (self._start["picture"], self._start["side"]):
            patches = range(1, (SIDE // self.side) ** 2 + 1)
            self.chosen = max(patches, key=lambda patch: self._pixels(patch).std())

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
        times = n["tokens"] / first, n["weights"] / (first + 1) ** 2
        how = "fewer" if times[0] < 1 else "as many"
        times = [max(one, 1 / one) for one in times]
        patches, weights = (f"{number(one, 0 if one > 10 else 1)} times {how}" for one in times)
        asked = f"Compared with side 7: {patches} patches, {weights} weights."
        if self.side == 7:
            asked = "Choose a smaller side. There are more patches then, but what grows faster?"
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
        return [left, self._draw_row()]

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
        # A pixel's width is the same for every side, so that maps can be compared.
        square, first = 0.4 * (n + 1), 0.4 * ((SIDE // 7) ** 2 + 1)
        sheet.rect(456 - square, 208 - square, square, square, BLUE)
        sheet.rect(456 - first, 208 - first, first, first, stroke=ORANGE)
        sheet.text(112, 118, "" if self.side == 7 else "□ side 7: 289", ORANGE)
        sheet.text(456, 118, f"{self.numbers['weights']:,} weights ↓", BLUE, anchor="end")
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

    def _draw_patch(self, sheet, patch, x, y, size):
        sheet.pixels(x, y, size, size, self._pixels(patch), GREYS, 0, 255)
        sheet.rect(x, y, size, size, stroke=ORANGE if patch == self.chosen else None, line=4)


class PatchAttention(Explorer):
    """See where a patch attends in a picture, in a trained model and in 20 untrained ones.

    What lies outside all their percentages counts as a difference, and nothing else does.

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
        self.pictures, config, self._models = pictures, wardrobe.model.config, [wardrobe]
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
        self.choice("layer", "Layer", range(1, self._n_layers + 1))
        heads = [(str(i + 1), i) for i in range(self._n_heads)]
        self.choice("head", "Head", [*heads, ("mean", AVERAGE), ("rollout", ROLLOUT)])

    def compute(self):
        """Take the chosen token's rows out of all maps of all models, and the chosen map's."""
        image = self.pictures.images[self.picture]
        size = SIDE // self._grid
        most = image.float().unfold(0, size, size).unfold(1, size, size).amax((2, 3)).flatten()
        shown = most > 0.2 * most.max()  # patches in which the eye finds something
        maps = self.once(self.picture, self._maps)  # five megabytes each: only the last is kept
        rows = maps[..., self.token, :]  # (models, layers, maps, tokens)
        parts = rows[..., 1:][..., shown].sum(-1)
        trained, *random = rows[:, self.layer - 1, self.head]
        median = parts[1:, self.layer - 1, self.head].argsort()[RANDOM // 2]
        parts = (100 * parts).round().int()  # the digits that are printed
        parts[1:] = parts[1:].sort(0).values
        others = torch.stack([trained, random[median]])
        others[:, [0, self.token]] = 0  # rollout leaves a patch half of itself in every layer
        even, own = shown.sum().item() / len(trained), 0.0
        if self.head == ROLLOUT:  # of which each layer leaves a token half of itself
            own = 0.5**self.layer
        even = own * (self.token > 0 and shown[self.token - 1].item()) + (1 - own) * even
        return {"trained": trained, "untrained": random[median], "shown": shown, "parts": parts,
                "top": others.max().item(), "even": even}  # fmt: skip

    def _maps(self):
        """Return all models' maps of the picture, (models, layers, maps, T, T): `head` chooses."""
        images = self.pictures.images[self.picture, None]
        heads = torch.cat([model.attend(images) for model in self._models])
        upto = [attention_rollout(heads[:, : i + 1]) for i in range(self._n_layers)]
        others = torch.stack([torch.stack(upto, 1), heads.mean(2)], 2)
        return torch.cat([heads, others], 2)

    def _label(self):
        return CLASSES[self.pictures.labels[self.picture]]

    def _named_head(self, layer, head):
        words = {AVERAGE: f"Layer {layer}, mean of heads", ROLLOUT: f"Rollout to layer {layer}"}
        return words.get(head, f"Layer {layer}, head {head + 1}")

    def _against(self, layer, head):
        """Return what percentage is shown, and the untrained models' least and most."""
        part, low, *_, high = self.numbers["parts"][:, layer - 1, head].tolist()
        return part, low, high, "↑" if part > high else "↓" if part < low else ""

    def tell(self):
        """Say how much of the weight lies on what is shown, and how much that means."""
        part, low, high, way = self._against(self.layer, self.head)
        row, column = divmod(self.token - 1, self._grid)
        asks = f"patch {row + 1}, {column + 1}" if self.token else "the class token"
        then = ", so it’s no sign of training. Try another head."
        if way:
            there = {"↑": "less", "↓": "more"}[way]
            then = f". All put {there} there, so training probably moved the weight."
        if self.head == ROLLOUT:
            then += f" Rollout follows weights through layers 1 to {self.layer}."
        named = self._named_head(self.layer, self.head)
        said = f"{named}: {asks} puts {part}% of its weight on the {self._label()}."
        return said, f"In {RANDOM} untrained models it’s {low}% to {high}%{then}"

    def draw(self):
        """Draw the trained map large, to press, and beside it the picture and the other map."""
        sheet, right, low = Sheet(400, 384), 400 - SMALL, 58 + LARGE
        image, top = self.pictures.images[self.picture].numpy(), self.numbers["top"]
        sheet.text(right, 18, self._label(), bold=True)
        # Pale: the frames are seen on dark clothes too.
        sheet.pixels(right, 26, SMALL, SMALL, image, DRAWN, 0, 1.6 * image.max())
        self._draw_frames(sheet, right, 26, SMALL)
        sheet.text(0, 18, "trained: press a patch", BLUE, bold=True)
        shares = self._draw_weights(sheet, 0, 58, LARGE, "trained")
        token = 0, 26, 124, 26
        sheet.rect(*token, shade(WEIGHTS, shares[0]), FRAME)
        sheet.text(8, 44, "class token", ink_on(shares[0]))
        weight = number(self.numbers["trained"][0], 3)
        sheet.target(*token, f"Class token, trained: weight {weight}", token=0)
        if not self.token:
            sheet.rect(*token, stroke=ORANGE, line=4)
        sheet.text(right, low - SMALL - 8, "untrained", GREY)
        sheet.text(400, low + 24, "median", GREY, anchor="end")
        self._draw_weights(sheet, right, low - SMALL, SMALL, "untrained")
        sheet.text(0, low + 24, "0", GREY)
        sheet.pixels(16, low + 10, 100, 16, [range(10)], WEIGHTS, 0, 9)
        over = any(self.numbers[name][self.token] > top for name in ("trained", "untrained"))
        sheet.text(124, low + 24, f"{'≥' * over}{number(top)} weight in both", GREY)
        sheet.text(0, low + 48, f"□ counts as {self._label()}: a pixel is more")
        sheet.text(0, low + 70, "than a fifth as strong as the strongest")
        return [sheet, self._draw_comparison()]

    def _draw_weights(self, sheet, left, top, side, name):
        """Draw the weights that a token gives to all patches, the trained ones to press."""
        n, size = self._grid, side / self._grid
        weights = self.numbers[name]
        shares = (weights / self.numbers["top"]).clamp(max=1).tolist()
        for i, weight in enumerate(weights[1:].tolist()):
            place = left + i % n * size, top + i // n * size, size, size
            sheet.rect(*place, shade(WEIGHTS, shares[i + 1]))
            if name == "trained":
                label = f"Row {i // n + 1}, column {i % n + 1}: weight {number(weight, 3)}"
                sheet.target(*place, label, token=i + 1)
        self._draw_frames(sheet, left, top, side)
        return shares

    def _draw_frames(self, sheet, left, top, side):
        """Frame a picture or a map, in it what counts, and the patch that asks."""
        n, size = self._grid, side / self._grid
        sheet.rect(left, top, side, side, stroke=FRAME)
        cells = F.pad(self.numbers["shown"].view(n, n), (1, 1, 1, 1))
        # An edge wherever a patch that counts meets one that doesn't.
        for i, j in (cells[1:] != cells[:-1]).nonzero().tolist():
            sheet.rect(left + (j - 1) * size, top - 1 + i * size, size, 2.5, INK)
        for i, j in (cells[:, 1:] != cells[:, :-1]).nonzero().tolist():
            sheet.rect(left + j * size - 1, top + (i - 1) * size, 2.5, size, INK)
        row, column = divmod(self.token - 1, n)
        if self.token:
            sheet.rect(left + column * size, top + row * size, size, size, stroke=ORANGE, line=4)

    def _draw_comparison(self):
        """Set the weight on what is shown beside the untrained models'; list every head's."""
        sheet = Sheet(400, 232 + 38 * self._n_layers)
        trained, *random = self.numbers["parts"][:, self.layer - 1, self.head].tolist()
        left, percent = 106, 2.4  # pixels
        sheet.text(0, 18, f"Weight on the {self._label()}", bold=True)
        bars = (32, "trained", trained, BLUE, 1), (60, "untrained", random[RANDOM // 2], GREY, 0.4)
        for y, words, part, ink, opacity in bars:
            sheet.text(0, y + 17, words, ink)
            sheet.bar(left, y, 100 * percent, 24, part / 100, ink, opacity=opacity)
            sheet.text(400, y + 17, f"{part}%", ink, anchor="end", bold=ink == BLUE)
        even = left + 100 * percent * self.numbers["even"]
        sheet.line(even, 26, even, 88, INK, 2)
        sheet.text(0, 130, "│ if all weights were equal")
        for i in sorted(range(RANDOM), key=lambda i: i == RANDOM // 2):  # none covers the ring
            ring = (6, ORANGE, INK) if i == RANDOM // 2 else (5, ORANGE)
            sheet.dot(left + random[i] * percent, 72, *ring)
        sheet.text(0, 108, f"● {RANDOM} untrained models, median ringed", ORANGE)
        self._draw_heads(sheet, 160)
        return sheet

    def _draw_heads(self, sheet, y):
        """Draw the percentage of every head in every layer, to press."""
        sheet.text(0, y, "Head", GREY)
        columns = [(i, i + 1, 52, 66 + 54 * i) for i in range(self._n_heads)]
        x = 66 + 54 * self._n_heads
        columns += (AVERAGE, "mean", 50, x), (ROLLOUT, "rollout", 66, x + 52)
        for _, name, wide, x in columns:
            sheet.text(x + wide / 2, y, name, GREY, anchor="middle")
        for layer in range(1, self._n_layers + 1):
            top = y + 8 + 38 * (layer - 1)
            sheet.text(0, top + 24, f"Layer {layer}", GREY)
            for head, _, wide, x in columns:
                part, *_, way = self._against(layer, head)
                on = (layer, head) == (self.layer, self.head)
                fill, ink = {"↑": (BLUE, "white"), "↓": (GREY, "white")}.get(way, (PALE, INK))
                sheet.rect(x, top, wide, 36, fill, ORANGE if on else None, 4)
                sheet.text(x + wide / 2, top + 24, f"{part}{way}", ink, anchor="middle")
                words = f"{self._named_head(layer, head)}: {part}% {way}"
                sheet.target(x, top, wide, 36, words, layer=layer, head=head)
        low, cells = y + 30 + 38 * self._n_layers, self._n_layers * len(columns)
        # Each of 21 alike models is as likely as another to have the least, or the most.
        chance = round(cells * 2 / (RANDOM + 1))
        sheet.text(0, low, f"In %. ↑ ↓ outside all {RANDOM} untrained:", GREY)
        sheet.text(0, low + 22, f"chance alone gives about {chance} of {cells}", GREY)
