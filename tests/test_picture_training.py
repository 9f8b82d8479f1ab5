"""Training of picture classifiers: augmentation, the loop, its time and its end."""

import pytest
import torch
from samples import refuses
from torch import nn

from helpers.data.clothes import Pictures
from helpers.models.vit import SmallCNN, VisionTransformer, VitConfig
from helpers.training.picture_training import accuracy, augment, train_pictures


def plain(n=64):
    """Pictures with a bright block at the top (class 0) or at the bottom (class 1)."""
    images, labels = torch.zeros(n, 28, 28, dtype=torch.uint8), torch.arange(n) % 2
    images[labels == 0, 4:10, 8:20] = 200
    images[labels == 1, 18:24, 8:20] = 200
    return Pictures(images, labels)


def linear():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 2))


def test_shifting_moves_a_pixel_by_at_most_two_places_each_way():
    images = torch.zeros(500, 28, 28, dtype=torch.uint8)
    images[:, 14, 6] = 9
    rows, columns = augment(images, largest=2).nonzero()[:, 1:].T
    assert set(rows.tolist()) == set(range(12, 17))
    assert set(columns.tolist()) == set(range(4, 9)) | set(range(19, 24))  # and mirrored


def test_erasing_blackens_one_rectangle_in_about_half_of_the_pictures():
    images = torch.full((400, 28, 28), 5, dtype=torch.uint8)
    black = augment(images, shift=0, largest=10, erased=0.5) == 0
    share = black.any(-1).any(-1).float().mean()
    assert 0.4 < share < 0.6
    for one in black[black.any(-1).any(-1)]:
        rows, columns = one.any(1), one.any(0)
        assert torch.equal(one, rows[:, None] & columns)
        assert 2 <= rows.sum() <= 10
        assert 2 <= columns.sum() <= 10


def vit():
    sizes = {"image_size": 28, "patch_size": 7, "d_model": 8, "n_heads": 2, "n_layers": 2}
    return VisionTransformer(VitConfig(**sizes, n_channels=1, n_classes=2, d_ff=16))


@pytest.mark.parametrize("make", [linear, vit, lambda: SmallCNN((8, 8, 8))])
def test_training_learns_and_says_so(make):
    pictures, model, seen = plain(), make(), []
    losses = train_pictures(
        model, pictures, epochs=8, batch_size=16, augmented=False, progress=False, peak_rate=1e-2,
        after_epoch=lambda epoch, loss: seen.append((epoch, loss)),
    )  # fmt: skip
    assert losses[-1] < losses[0]
    assert seen == list(enumerate(losses, 1))
    assert accuracy(model, *pictures) == 1.0
    assert not model.training


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    models = []
    for seed in (3, 3, 4):
        torch.manual_seed(0)
        models.append(linear())
        train_pictures(models[-1], plain(), epochs=1, batch_size=16, seed=seed, progress=False)
    first, same, other = (model[1].weight for model in models)
    assert torch.equal(first, same)
    assert not torch.allclose(first, other)


def test_a_time_budget_ends_training_at_once_and_batch_norm_survives_a_rest_of_one():
    model = nn.Sequential(nn.Conv2d(1, 2, 28), nn.Flatten(), nn.BatchNorm1d(2))
    losses = train_pictures(model, plain(33), seconds=1e-9, batch_size=32, progress=False)
    assert len(losses) == 1  # one step


def test_bad_wishes_and_bad_losses_are_named():
    model, pictures, once = linear(), plain(), {"epochs": 1, "batch_size": 16, "progress": False}
    refuses("give epochs or seconds", train_pictures, model, pictures)
    model[1].weight.data.fill_(float("nan"))
    refuses("at step 1 ", train_pictures, model, pictures, **once, error=FloatingPointError)
