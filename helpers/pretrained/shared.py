"""One copy of the larger models for everybody on a server.

The files in ``weights`` have 16 bits per number, and a model computes with 32, so each kernel
makes a copy of its own: 20 MB for the translator. On a server for a class, this writes the
parameters as they are in memory,

    python -m helpers.pretrained FOLDER

and where the variable ``COURSE_SHARED`` names that folder, kernels map the file. What nobody
changes is then there once. Who trains a model changes a copy of their own, never the file.
"""

import os
from pathlib import Path

import torch

from helpers.machine.atomic_writes import atomic_write
from helpers.machine.fingerprints import fingerprint

VARIABLE = "COURSE_SHARED"


def share(model, path: Path):
    """Let the parameters of a model that was just loaded lie in the shared file, if there is one.

    It was loaded from the weights at `path`.
    """
    folder = os.environ.get(VARIABLE)
    if folder and (file := _file(folder, path)).exists():
        mapped = torch.load(file, mmap=True)
        for name, parameter in model.named_parameters():
            parameter.data = mapped[name]


def write(model, path: Path, folder):
    """Write the file that `share` maps; the `folder` is made if it isn't there.

    The `model` was loaded from the weights at `path`.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    with atomic_write(_file(folder, path)) as partial:
        torch.save({name: p.detach() for name, p in model.named_parameters()}, partial)


def _file(folder, path):
    return Path(folder) / f"{fingerprint(path.read_bytes())}.pt"  # other weights, another file
