"""Files of trained weights: 16-bit floats, what is known of them as JSON, and a checksum beside."""

import json
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import save_file

from helpers.machine.atomic_writes import atomic_write
from helpers.pretrained.checksums import check_file, write_checksums


def save_weights(path: Path, tensors: dict, **about):
    """Write `tensors`, by name, and what is known `about` them; a text stays as it is."""
    halves = {name: tensor.half().contiguous() for name, tensor in tensors.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    known = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in about.items()
    }
    with atomic_write(path) as partial:
        save_file(halves, partial, known)
    write_checksums(path)


def read_weights(path: Path) -> tuple[dict, dict]:
    """Read what `save_weights` wrote: tensors by name, in 32 bits, and what is known about them.

    The latter are texts, or the JSON of what was no text.
    """
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
        return tensors, file.metadata() or {}


def tokenizer_path(path: Path) -> Path:
    """Say where the tokenizer of the weights at `path` is: beside them."""
    return path.with_suffix(".tokenizer.json")


def checked(path: Path, recipe: str) -> Path:
    """Return the `path` of a bundled file if it is there and whole; `recipe` would make another.

    Without the file it is a FileNotFoundError, with a damaged one a ValueError.
    """
    if not path.exists():
        raise FileNotFoundError(
            f"no file {path}. Get a complete copy of the course, or train your own: {recipe}"
        )
    try:
        check_file(path)
    except ValueError as error:
        raise ValueError(
            f"{path} is damaged ({error}). Restore it from the repository, or train it anew: "
            f"{recipe}"
        ) from error
    return path
