"""Files of adapters: what fine-tuning changed, without the model that it changed."""

import json
from pathlib import Path

import torch

from helpers.machine.fingerprints import fingerprint
from helpers.models.lora import merge_lora, trainable_state
from helpers.pretrained.checksums import check_file
from helpers.pretrained.minilm import load_minilm
from helpers.pretrained.weight_files import checked, read_weights, save_weights


def base_fingerprint(model):
    """Compute the fingerprint of a model's frozen weights, those that an adapter corrects."""
    frozen = {
        n.replace(".base.", "."): p for n, p in model.named_parameters() if not p.requires_grad
    }
    parts = [f"{n} {fingerprint(p.detach().numpy().tobytes())}" for n, p in sorted(frozen.items())]
    return fingerprint("\n".join(parts))


def save_adapter(model, path: Path, card: dict | None = None):
    """Write a `model`'s trainable weights as 16-bit floats, and the fingerprint of its frozen ones.

    The model has LoRA layers, with or without a new head. The `path` ends in ``.safetensors``; the
    checksum goes into the ``SHA256SUMS`` beside it. The `card` is what is known of the training.
    """
    path = Path(path)
    save_weights(path, trainable_state(model), base=base_fingerprint(model), card=card or {})


@torch.no_grad()
def load_adapter(model, path) -> dict:
    """Fill a model's trainable weights from a file, if they belong to its frozen ones.

    Parameters
    ----------
    model : nn.Module
        With LoRA layers and head of the same sizes as when the file was written.
    path : path

    Raises
    ------
    ValueError
        If the file is damaged, was trained on another base, or for a model of other names or
        sizes.
    """
    try:
        tensors, metadata = read_weights(path)
        card = json.loads(metadata["card"])
    except Exception as error:  # safetensors raises a class of its own
        raise ValueError(
            f"{path} is damaged or no adapter of this course ({error}). Restore the file, or train "
            f"the adapter again and save it with save_adapter."
        ) from error
    own = trainable_state(model)
    sizes, wanted = ({n: tuple(t.shape) for n, t in state.items()} for state in (tensors, own))
    if sizes != wanted:
        differ = sorted(n for n in sizes.keys() | wanted.keys() if sizes.get(n) != wanted.get(n))
        raise ValueError(
            f"{path} is an adapter for a model of another shape: it has {differ[0]} of shape "
            f"{sizes.get(differ[0])}, this model {wanted.get(differ[0])}. Build the model with the "
            f"rank and the layers that the adapter was trained with."
        )
    if metadata.get("base") != base_fingerprint(model):
        raise ValueError(
            f"{path} was trained on other base weights than this model has. An adapter only "
            f"corrects the weights it was trained with; load those, or train a new adapter."
        )
    for name, tensor in tensors.items():
        own[name].copy_(tensor)
    return card


def load_adapted(build, path) -> tuple:
    """Load MiniLM and adapt it as a recipe did.

    `build` takes the MiniLM and puts new parts around its encoder; `path` is the adapter's file.
    What comes is the MiniLM, the built model and the card. If the file is damaged, or trained on
    another base than MiniLM, it is a ValueError. The corrections stay beside MiniLM's weights,
    which every encoder of a kernel reads from one mapped file: merging them would copy 42 MB.
    """
    minilm = load_minilm()
    model = build(minilm)
    check_file(path)
    card = load_adapter(model, path)
    return minilm, model, card


def load_adapted_teller(build, path, recipe, merged=True):
    """Build what wraps an adapted story model; fill its adapter from the checked file at `path`.

    `build` makes an object with `model` and `card` and puts fresh LoRA layers into the story model.
    `recipe` is what to run for an adapter of one's own, for the error. With `merged`, the
    corrections go into the weights; else they stay trainable. No such file is a FileNotFoundError,
    one that is damaged, or was trained on another base, a ValueError.
    """
    checked(path, recipe)
    built = build()
    built.card = load_adapter(built.model, path)
    if merged:
        merge_lora(built.model)
    return built
