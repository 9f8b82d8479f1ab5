"""The bundled Vision Transformer, which sorts pictures of clothes into ten classes."""

import json
from dataclasses import replace
from functools import partial

import torch

from helpers.data.clothes import CLASSES, SIDE, as_input
from helpers.models.vit import SmallCNN, VisionTransformer, VitConfig
from helpers.pretrained.checksums import WEIGHTS
from helpers.pretrained.loaded import Loaded
from helpers.pretrained.measured import measured
from helpers.pretrained.trace import trace_vision
from helpers.pretrained.weight_files import checked, read_weights, save_weights
from helpers.transformer.layers import inference

PATH = WEIGHTS / "wardrobe.safetensors"
RECIPE = "python -m recipes.wardrobe"
CNN_WIDTHS = 24, 48, 84  # as many parameters as the Vision Transformer, within one in a hundred


class Wardrobe(Loaded):
    """A Vision Transformer for grey pictures of clothes, 28 × 28 pixels.

    The `card`, a dict, says how the `model` was trained and how well it does.
    """

    def __init__(self, model, card=None):
        super().__init__(model, card, f", {len(CLASSES)} classes")

    def probabilities(self, images, batch_size=50):
        """Compute the probability of every class.

        Parameters
        ----------
        images : uint8 Tensor or array of shape (N, 28, 28)
        batch_size : int, default=50

        Returns
        -------
        probabilities : Tensor of shape (N, 10)
            Every row sums to 1; the columns are in the order of `clothes.CLASSES`.

        Raises
        ------
        ValueError
            If the pictures have another shape or other numbers than bytes.
        """
        parts = _checked(images).split(batch_size)
        with inference(self.model):
            return torch.cat([self.model(as_input(part)).softmax(-1) for part in parts])

    def classify(self, images):
        """Name the likeliest class of every picture by its place in `clothes.CLASSES`; (N,).

        The `images` are bytes (uint8), a Tensor or an array of shape (N, 28, 28).
        """
        return self.probabilities(images).argmax(-1)

    def attend(self, images):
        """Return all weights on `images` (N, 28, 28): (N, layers, heads, 1 + patches, 1 + patches).

        Token 0 is the class token; the patches follow row by row.
        """
        return self.model.attention_maps(as_input(_checked(images)))

    def trace(self, image, among=None, left_out=()):
        """Read one picture, uint8 (28, 28), and keep every number on its way for ``model_map``.

        Between the pictures of `among`, images with their labels, the map lets one choose. The
        patches `left_out`, counted row by row from 1, aren't read.
        """
        image = torch.as_tensor(image)
        images = _checked(image[None])
        grid = range(1, self.model.config.grid + 1)
        tokens = ["[CLS]", *(f"{row},{column}" for row in grid for column in grid)]
        name = "a ViT for clothes"
        about = (tokens, name, image, CLASSES, left_out)
        trace = trace_vision(self.model, as_input(images), *about)
        if smoothing := self.card.get("settings", {}).get("label_smoothing", 0):
            goal = 1 - smoothing * (1 - 1 / len(CLASSES))
            trace = replace(trace, aim=f"Training aimed at {goal:.0%}, not 100% (label smoothing).")
        if among is None:
            return trace
        shares, said = self.probabilities(among.images).max(-1)
        names = ([CLASSES[i] for i in labels] for labels in (among.labels, said))
        choices = list(zip(among.images, *names, shares.tolist(), strict=True))
        read = next((i for i, one in enumerate(among.images) if torch.equal(one, image)), -1)
        again = partial(self._trace_another, among)
        return replace(trace, choices=choices, text=str(read), again=again)

    def _trace_another(self, among, place, left_out=()):
        if place not in map(str, range(len(among.images))):
            raise ValueError(f"choose a picture from 0 to {len(among.images) - 1}; got {place!r}.")
        return self.trace(among.images[int(place)], among, left_out)

    def save(self, path=PATH):
        """Write weights (16-bit) and card into the file `path`, and its checksum beside it."""
        save_weights(path, self.model.state_dict(), card=self.card)


def _checked(images):
    images = torch.as_tensor(images)
    if images.dtype != torch.uint8 or images.dim() != 3 or images.shape[1:] != (SIDE, SIDE):
        raise ValueError(
            f"expected pictures as bytes (uint8) of shape (N, {SIDE}, {SIDE}); got "
            f"{str(images.dtype).removeprefix('torch.')} of shape {tuple(images.shape)}."
        )
    if not len(images):
        raise ValueError("got no pictures.")
    return images


def wardrobe_config(**changes):
    """Return the sizes of the bundled model as a `VitConfig`, with some `changes`."""
    sizes = {"patch_size": 4, "d_model": 64, "n_heads": 4, "n_layers": 4, "d_ff": 128}
    about = {"image_size": SIDE, "n_channels": 1, "n_classes": len(CLASSES), "dropout": 0.0}
    return VitConfig(**(about | sizes | changes))


def untrained_pair() -> tuple[VisionTransformer, SmallCNN]:
    """Make the bundled model untrained, and a CNN with as many parameters beside it."""
    return VisionTransformer(wardrobe_config()), SmallCNN(CNN_WIDTHS)


def load_wardrobe() -> Wardrobe:
    """Load the bundled Vision Transformer.

    Without its file it is a FileNotFoundError, with a damaged one a ValueError.
    """
    state, about = read_weights(checked(PATH, RECIPE))
    card = json.loads(about["card"])
    model = VisionTransformer(wardrobe_config(**card["sizes"]))
    model.load_state_dict(state)
    return Wardrobe(model, card)


def comparison():
    """Read the runs of the bundled comparison of a ViT and a CNN.

    Returns
    -------
    runs : list of dict
        Each with "model" ("vit" or "cnn"), "pictures", "seed", "accuracy" on the 5,000 test
        pictures, "epochs", "parameters" and "seconds" of processor time.
    """
    return measured("wardrobe")["runs"]
