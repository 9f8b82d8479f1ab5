"""Files of adapters: what fine-tuning changed, without the model that it changed."""

import json
from pathlib import Path

import torch

from helpers.machine.fingerprints import fingerprint
from helpers.models.lora import merge_lora, trainable_state
from helpers.pretrained.checksums import check_file
from helpers.pretrained.minilm import load_minilm
from helpers.pretrained.weight_files import read_weights, save_weights


def base_fingerprint(model):
    """Compute the fingerprint of a model's frozen weights, those that an adapter corrects."""
    frozen = {
        n.replace(".base.", "."): p for n, p in model.named_parameters() if not p.requires_grad
    }
    parts = [f"{n} {fingerprint(p.detach().numpy().tobytes())}" for n, p in sorted(frozen.items())]
    return fingerprint("\n".join(parts))


def save_adapter(model, path, card=None):
    """Write a model's trainable weights as 16-bit floats, and the fingerprint of its frozen ones.

    Parameters
    ----------
    model : nn.Module
        After `add_lora`, with or without a new head.
    path : path
        Ends in ``.safetensors``. The checksum goes into the ``SHA256SUMS`` beside it.
    card : dict, default=None
        What is known of the training.
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


def load_adapted(build, path):
    """Load MiniLM, adapt it as a recipe did, and merge the corrections into its weights.

    Parameters
    ----------
    build : function (MiniLM) -> nn.Module
        Puts new parts around the encoder.
    path : path
        The adapter's file.

    Returns
    -------
    minilm : MiniLM
    model : nn.Module
    card : dict

    Raises
    ------
    ValueError
        If the file is damaged, or trained on another base than MiniLM.
    """
    minilm = load_minilm()
    model = build(minilm)
    check_file(path)
    card = load_adapter(model, path)
    merge_lora(model)
    return minilm, model, card


def load_adapted_teller(build, path, recipe, merged=True):
    """Build what wraps an adapted story model, and fill its adapter from a checked file.

    Parameters
    ----------
    build : function () -> object with `model` and `card`
        Puts fresh LoRA layers into the story model.
    path : path
        The adapter's file.
    recipe : str
        What to run for an adapter of one's own, for the error.
    merged : bool, default=True
        Merge the corrections into the weights. False leaves them trainable.

    Returns
    -------
    built : what `build` returned

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, or trained on another base.
    """
    if not path.exists():
        raise FileNotFoundError(f"no adapter at {path}. {recipe}")
    check_file(path)
    built = build()
    built.card = load_adapter(built.model, path)
    if merged:
        merge_lora(built.model)
    return built
