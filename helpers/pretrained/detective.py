"""The story model in another style: fairy tales below, Sherlock Holmes in a LoRA adapter on top."""

from helpers.data.stories import stories
from helpers.models.lora import ENCODER_LINEARS, add_lora
from helpers.pretrained.adapters import load_adapted_teller
from helpers.pretrained.checksums import WEIGHTS
from helpers.pretrained.storyteller import load_storyteller

DETECTIVE = WEIGHTS / "detective.safetensors"
RECIPE = "python -m recipes.detective"
RANK, ALPHA = 8, 16.0
N_UNSEEN = 60_000  # letters at the end of the book


def holmes_pages() -> tuple[str, str]:
    """Divide Sherlock Holmes into pages to train on and the last pages, which stay unseen."""
    text = stories("holmes")
    return text[:-N_UNSEEN], text[-N_UNSEEN:]


def build_detective():
    """Put fresh LoRA layers into the story model; a `Storyteller` that still tells fairy tales."""
    teller = load_storyteller()
    add_lora(teller.model, RANK, ALPHA, ENCODER_LINEARS)
    return teller


def load_detective(path=DETECTIVE):
    """Load the story model with its adapter for Sherlock Holmes merged into its weights.

    Parameters
    ----------
    path : path, default=the bundled one
        A file that the recipe wrote.

    Returns
    -------
    detective : Storyteller

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, or trained on another base than the bundled story model.
    """
    return load_adapted_teller(build_detective, path, RECIPE)
