"""Pictures as sentences: cut one into patches, and see where a Vision Transformer attends."""

import traitlets
from matplotlib.colors import LinearSegmentedColormap

from helpers.data.clothes import CLASSES, SIDE, clothes
from helpers.models.vit import attention_rollout
from helpers.plots import BLUE, GREY, INK, ORANGE, WEIGHTS
from helpers.widgets.explorer import Explorer
from helpers.widgets.svg import Sheet, number

BOX = 340  # pixels of a picture's side on the page
GREYS = LinearSegmentedColormap.from_list("greys", ["black", "white"])
SIDES = 2, 4, 7, 14  # of a patch, in pixels of the picture
AVERAGE, ROLLOUT = -1, -2  # what can stand in for a head


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

    picture = traitlets.Int(9, min=0, max=11).tag(state=True)
    side = traitlets.Enum(SIDES, default_value=7).tag(state=True)
    chosen = traitlets.Int(7, min=1, max=196).tag(state=True)

    def build(self):
        """Choose the picture and the size of the patches."""
        self.pictures = clothes("test", 12)
        self.choice("picture", "Picture", _named(self.pictures))
        self.choice("side", "Side of a patch", [(f"{side} pixels", side) for side in SIDES])
        self.button("Start again", self.reset)

    def compute(self):
        """Count tokens, the numbers in each, and the weights of one attention map."""
        n = (SIDE // self.side) ** 2
        self.chosen = min(self.chosen, n)
        return {"tokens": n, "width": self.side**2, "weights": (n + 1) ** 2}

    def describe(self):
        """Say in words what the picture shows."""
        n, label = self.numbers, CLASSES[self.pictures.labels[self.picture]]
        return (
            f"A picture of class {label}, cut into {n['tokens']} patches of {n['width']} pixels. "
            f"Patch {self.chosen} is marked. With a class token, one attention map has "
            f"{n['weights']} weights."
        )

    def tell(self):
        """Say what the cut costs, and what to try."""
        n = self.numbers
        return (
            f"{n['tokens']} patches of {n['width']} numbers and the class token; one attention map "
            f"has {n['tokens'] + 1}² = {n['weights']:,} weights.",
            "Press a patch to find it in the sentence. Then halve the side: what costs more now?",
        )

    def draw(self):
        """Draw the patches in their grid, and in a row as tokens."""
        image, side = self.pictures.images[self.picture].numpy(), self.side
        along, gap = SIDE // side, 4 if side > 2 else 2
        size = (BOX - gap * (along - 1)) / along
        per_line = {2: 18, 4: 10, 7: 6, 14: 4}[side]
        left, right = Sheet(BOX + 4, BOX + 30), Sheet(456, BOX + 30)
        left.text(2, 16, f"{along} × {along} = {along**2} patches", INK, bold=True)
        right.text(0, 16, "… are read as a sentence, row by row", INK, bold=True)
        small = right.width / per_line
        # On dark paper, a cut between black patches would not be seen.
        left.rect(2, 28, BOX, BOX, GREY, opacity=0.4)
        for i in range(along**2):
            row, column = divmod(i, along)
            patch = image[row * side : (row + 1) * side, column * side : (column + 1) * side]
            x, y = 2 + column * (size + gap), 28 + row * (size + gap)
            left.pixels(x, y, size, size, patch, GREYS, 0, 255)
            self._mark(left, i + 1, x, y, size)
            line, place = divmod(i, per_line)
            x, y = 2 + place * small, 30 + line * small
            right.pixels(x, y, small - 3, small - 3, patch, GREYS, 0, 255)
            right.rect(x, y, small - 3, small - 3, stroke=GREY, line=1)
            self._mark(right, i + 1, x, y, small - 3)
        return [left, right]

    def _mark(self, sheet, patch, x, y, size):
        sheet.rect(x, y, size, size, stroke=ORANGE if patch == self.chosen else None, line=4)
        sheet.target(x, y, size, size, f"Patch {patch}", chosen=patch)


class PatchAttention(Explorer):
    """Click a patch and see where it attends, over the picture; beside it, random weights.

    Parameters
    ----------
    wardrobe : Wardrobe
    untrained : VisionTransformer
        Of the same sizes, for comparison.
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

    def __init__(self, wardrobe, untrained, pictures, **state):
        self._models = {"trained": wardrobe.model, "random weights": untrained}
        self.wardrobe, self.pictures, self._known = wardrobe, pictures, {}
        config = wardrobe.model.config
        self._grid = config.grid
        self._n_layers, self._n_heads = config.n_layers, config.n_heads
        super().__init__(**state)

    @traitlets.validate("layer")
    def _within_layers(self, proposal):
        return min(proposal["value"], self._n_layers)

    @traitlets.validate("head")
    def _within_heads(self, proposal):
        return min(proposal["value"], self._n_heads - 1)

    @traitlets.validate("picture")
    def _within_pictures(self, proposal):
        return min(proposal["value"], len(self.pictures.images) - 1)

    @traitlets.validate("token")
    def _within_tokens(self, proposal):
        return min(proposal["value"], self._grid**2)

    def build(self):
        """Choose picture, layer and head; the patch is clicked in the picture."""
        self.choice("picture", "Picture", _named(self.pictures))
        layers = [(f"layer {i}", i) for i in range(1, self._n_layers + 1)]
        self.choice("layer", "Layer", layers)
        heads = [(f"head {i + 1}", i) for i in range(self._n_heads)]
        self.choice(
            "head", "Map", [("average of heads", AVERAGE), ("rollout up to here", ROLLOUT), *heads]
        )
        self.button("Class token", lambda _: self.take({"token": 0}), "Ask from the class token")

    def compute(self):
        """Take the chosen token's row out of the chosen map of both models."""
        return {name: self._row(name) for name in self._models} | {"label": self._label()}

    def _maps(self, name):
        key = name, self.picture
        if key not in self._known:
            images = self.pictures.images[self.picture][None]
            self._known[key] = type(self.wardrobe)(self._models[name]).attend(images)[0]
        return self._known[key]

    def _row(self, name):
        maps = self._maps(name)[: self.layer]
        if self.head == ROLLOUT:
            return attention_rollout(maps)[self.token]
        layer = maps[-1]
        return (layer.mean(0) if self.head == AVERAGE else layer[self.head])[self.token]

    def _label(self):
        return self.wardrobe.names(self.pictures.images[self.picture][None])[0]

    def _where(self):
        if not self.token:
            return "the class token"
        row, column = divmod(self.token - 1, self._grid)
        return f"the patch in row {row + 1}, column {column + 1}"

    def _what(self):
        if self.head == ROLLOUT:
            return f"rollout up to layer {self.layer}"
        head = "average of heads" if self.head == AVERAGE else f"head {self.head + 1}"
        return f"layer {self.layer}, {head}"

    def describe(self):
        """Say in words what the picture shows."""
        rows = [self.numbers[name] for name in self._models]
        shares = [f"{number(100 * row[0], 0)}%" for row in rows]
        return (
            f"Where {self._where()} attends, {self._what()}, drawn over a picture that the model "
            f"calls {self.numbers['label']}. The class token itself gets {shares[0]} in the "
            f"trained model and {shares[1]} with random weights."
        )

    def tell(self):
        """Say what is drawn."""
        return (
            f"From {self._where()}: {self._what()}",
            f"The model's answer: {self.numbers['label']}. Click another patch.",
        )

    def draw(self):
        """Draw both models' weights beside the picture, which can be clicked."""
        return [self._picture(), *(self._weights(name) for name in self._models)]

    def _picture(self):
        sheet, size = Sheet(261, 300), 252 / self._grid
        sheet.text(6, 16, "the picture", INK, bold=True)
        image = self.pictures.images[self.picture].numpy()
        sheet.pixels(6, 28, 252, 252, image, GREYS, 0, 255)
        for i in range(self._grid**2):
            row, column = divmod(i, self._grid)
            x, y = 6 + column * size, 28 + row * size
            if i + 1 == self.token:
                sheet.rect(x + 1, y + 1, size - 2, size - 2, stroke=ORANGE, line=4)
            sheet.target(x, y, size, size, f"Row {row + 1}, column {column + 1}", token=i + 1)
        return sheet

    def _weights(self, name):
        row = self.numbers[name]
        sheet, size = Sheet(261, 300), 252 / self._grid
        patches = row[1:].reshape(self._grid, self._grid)
        sheet.text(6, 16, name, BLUE if name == "trained" else GREY, bold=True)
        # One scale for both, so that the pale one is the one that attends less.
        top = max(*(self.numbers[each][1:].max().item() for each in self._models), 1e-9)
        sheet.pixels(6, 28, 252, 252, patches.numpy(), WEIGHTS, 0, top)
        sheet.text(6, 298, f"palest: 0, darkest: {number(top, 3)}", GREY)
        for i, weight in enumerate(row[1:].tolist()):
            y, x = divmod(i, self._grid)
            sheet.hover(6 + size * x, 28 + size * y, size, size, number(weight, 3))
        if self.token:
            r, c = divmod(self.token - 1, self._grid)
            x, y = 7 + c * size, 29 + r * size
            sheet.rect(x, y, size - 2, size - 2, stroke=ORANGE, line=3)
        return sheet
