"""Grey pictures of clothes in ten classes: Fashion-MNIST, a small part of it bundled.

Xiao, Rasul and Vollgraf (2017), "Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine
Learning Algorithms", arXiv:1708.07747; MIT licence, Zalando SE.
"""

import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from helpers.data.corpus import cache_directory, fetch
from helpers.machine.atomic_writes import atomic_write
from helpers.machine.fingerprints import fingerprint

CLASSES = (
    "T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
    "ankle boot",
)  # fmt: skip
SIDE = 28  # pixels
BUNDLED = Path(__file__).parent / "real" / "clothes.npz"
N_BUNDLED = {"train": 3_000, "test": 1_000}
N_KNOWN = {"train": 20_000, "test": 5_000}  # the first rows, whose checksums are noted here
SHA256 = {  # of these rows' pixels and then labels, one byte each
    "train": "71bb7a4420f9a4dc329740bf41730a82bee233a37c812d5491970eefac21f596",
    "test": "a70fe9edfec2800c3f685e1169c5f95e404fcecfe614a9dd17be819ca05a4e5f",
}
ADDRESS = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
FILES = {  # of pictures and of labels
    "train": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "test": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
}
HEADERS = 16, 8  # bytes before the first pixel and before the first label
MEAN, SPREAD = 72.9, 90.1  # of a pixel of the first 20,000 training pictures


class Pictures(NamedTuple):
    """Pictures with their classes.

    `images`, uint8 (N, 28, 28), go from 0, the black background, to 255, white; `labels`, integers
    (N,), are places in `CLASSES`.
    """

    images: torch.Tensor
    labels: torch.Tensor


def clothes(split="train", n=None) -> Pictures:
    """Read the first pictures of a split; more than are bundled are fetched on first use.

    Parameters
    ----------
    split : {"train", "test"}
    n : int, default=None
        How many. Up to 3,000 and 1,000 are bundled, which is what None gives; up to 20,000 and
        5,000 are fetched.

    Raises
    ------
    ValueError
        If there is no such split, or not so many pictures.
    ConnectionError
        If they are to be fetched and can't be.
    OSError
        If what was fetched or kept is not the published data.
    """
    if split not in N_BUNDLED:
        raise ValueError(f'the splits are "train" and "test"; got {split!r}.')
    n = N_BUNDLED[split] if n is None else n
    if not 1 <= n <= N_KNOWN[split]:
        raise ValueError(f"the {split} split offers 1 to {N_KNOWN[split]:,} pictures; got n={n}.")
    if n <= N_BUNDLED[split]:
        with np.load(BUNDLED) as file:
            images, labels = file[f"{split}_images"], file[f"{split}_labels"]
    else:
        images, labels = _all_rows(split)
    return Pictures(torch.from_numpy(images[:n]), torch.from_numpy(labels[:n]).long())


def _all_rows(split):
    path = cache_directory() / f"fashion_mnist_{split}_{N_KNOWN[split]}.npz"
    if not path.exists():
        images, labels = (
            _decode(fetch(ADDRESS + name, path), header, N_KNOWN[split])
            for name, header in zip(FILES[split], HEADERS, strict=True)
        )
        _demand_published(split, images, labels, ADDRESS + FILES[split][0])
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as partial, open(partial, "wb") as file:
            np.savez_compressed(file, x=images.reshape(-1, SIDE, SIDE), y=labels)
    try:
        with np.load(path) as file:
            images, labels = file["x"], file["y"]
    except Exception as error:
        raise OSError(
            f"{path} is damaged ({error}). Delete it; the next call fetches it."
        ) from error
    _demand_published(split, images, labels, path)
    return images, labels


def _decode(content, header, n):
    """Take the first n rows out of a file in the idx format."""
    values = np.frombuffer(gzip.decompress(content), np.uint8, offset=header)
    n_rows = len(values) // SIDE**2 if header == HEADERS[0] else len(values)
    return values.reshape(n_rows, -1)[:n].squeeze()


def _demand_published(split, images, labels, source):
    if fingerprint(images.tobytes() + labels.tobytes()) != SHA256[split]:
        raise OSError(
            f"{source} is damaged or another file (the SHA-256 of its pixels and labels is not "
            f"{SHA256[split][:12]}…). If it is a file of yours, delete it and call again."
        )


def as_input(images):
    """Turn `images`, uint8 (N, 28, 28), into what a model reads, floats (N, 1, 28, 28).

    That's one channel with a mean of about 0 and a spread of about 1.
    """
    return (images[:, None].float() - MEAN) / SPREAD
