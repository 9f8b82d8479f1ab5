"""Fashion-MNIST: what is bundled, what is fetched, and what is refused."""

import gzip

import numpy as np
import pytest
import torch
from samples import refuses

from helpers.data import clothes as module
from helpers.data.clothes import CLASSES, as_input, clothes
from helpers.machine.fingerprints import fingerprint


def test_the_bundled_pictures_are_small_in_number_and_of_every_class():
    for split, n in (("train", 3_000), ("test", 1_000)):
        images, labels = clothes(split)
        assert images.shape == (n, 28, 28)
        assert images.dtype == torch.uint8
        assert labels.bincount(minlength=10).min() > n / 12
        assert labels.max() == len(CLASSES) - 1
    assert module.BUNDLED.stat().st_size <= 2e6


def test_the_first_few_are_the_same_first_few():
    few, many = clothes("test", 7), clothes("test")
    assert torch.equal(few.images, many.images[:7])
    assert torch.equal(few.labels, many.labels[:7])


def test_inputs_have_a_channel_mean_zero_and_spread_one():
    inputs = as_input(clothes("train").images)
    assert inputs.shape == (3_000, 1, 28, 28)
    assert abs(inputs.mean()) < 0.02
    assert abs(inputs.std() - 1) < 0.02


@pytest.mark.parametrize(("split", "n"), [("validation", 3), ("train", 0), ("test", 5_001)])
def test_what_there_is_not_is_refused(split, n):
    refuses("split", clothes, split, n)


@pytest.fixture
def published(monkeypatch, tmp_path):
    """Twelve pictures in the idx format where the real ones would be, and an empty cache."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (12, 28, 28), dtype=np.uint8)
    labels = rng.integers(0, 10, 12, dtype=np.uint8)
    files = {
        "t10k-images-idx3-ubyte.gz": bytes(16) + pixels.tobytes(),
        "t10k-labels-idx1-ubyte.gz": bytes(8) + labels.tobytes(),
    }
    asked = []

    def fetch(address, path):
        asked.append(address)
        return gzip.compress(files[address.removeprefix(module.ADDRESS)])

    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    monkeypatch.setattr(module, "fetch", fetch)
    monkeypatch.setattr(module, "N_BUNDLED", {"test": 2})
    monkeypatch.setattr(module, "N_KNOWN", {"test": 10})
    known = fingerprint(pixels[:10].tobytes() + labels[:10].tobytes())
    monkeypatch.setattr(module, "SHA256", {"test": known})
    return pixels, labels, asked


def test_more_are_fetched_once_and_kept(published, tmp_path):
    pixels, labels, asked = published
    for _ in range(2):
        images, found = clothes("test", 5)
        assert np.array_equal(images, pixels[:5])
        assert np.array_equal(found, labels[:5])
    assert len(asked) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["fashion_mnist_test_10.npz"]


def test_other_pixels_than_the_published_ones_are_refused_and_not_kept(published, tmp_path):
    module.SHA256["test"] = "0" * 64
    refuses("SHA-256", clothes, "test", 5, error=OSError)
    assert not list(tmp_path.iterdir())


def test_a_damaged_file_in_the_cache_is_named(published, tmp_path):
    (tmp_path / "fashion_mnist_test_10.npz").write_bytes(b"nothing")
    refuses("fashion_mnist_test_10.npz is damaged", clothes, "test", 5, error=OSError)


@pytest.mark.data("*fashion*.npz")
def test_the_bundled_pictures_are_the_first_of_the_published_ones():
    for split, n in (("train", 20_000), ("test", 5_000)):
        images, labels = clothes(split, n)
        few = clothes(split)
        assert torch.equal(images[: len(few.images)], few.images)
        assert torch.equal(labels[: len(few.labels)], few.labels)
