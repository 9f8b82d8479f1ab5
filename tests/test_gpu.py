"""Whoever moves a model onto a GPU gets the same from it; skipped where there is none."""

import copy

import pytest
import torch

from helpers.data.clothes import Pictures
from helpers.models.vit import VisionTransformer, VitConfig
from helpers.pretrained.storyteller import load_storyteller
from helpers.pretrained.translator import load_translator
from helpers.training.language_modelling import TextTraining, train_on_text
from helpers.training.picture_training import accuracy, train_pictures

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


def on_gpu(owner):
    moved = copy.copy(owner)
    moved.model = copy.deepcopy(owner.model).cuda()
    return moved


def test_a_translator_writes_and_shows_the_same():
    here = load_translator()
    there, text = on_gpu(here), "Une petite fille en manteau rouge joue avec un chien noir."
    for beams in (1, 4):
        assert here.translate(text, beam_size=beams) == there.translate(text, beam_size=beams)
    best = [translator.trace(text).candidates[3][0].probability for translator in (here, there)]
    assert best[0] == pytest.approx(best[1], abs=1e-4)
    assert there.attend(text).maps["cross"][0].device.type == "cpu"


@pytest.mark.parametrize("temperature", [0, 0.8])
def test_a_storyteller_writes_the_same_with_the_same_seed(temperature):
    here, text = load_storyteller(), "Once upon a time there was"
    there = on_gpu(here)
    kinds = [teller.generate(text, 30, temperature=temperature, seed=1) for teller in (here, there)]
    assert kinds[0] == kinds[1]
    assert here.next_tokens(text)[0][1] == pytest.approx(there.next_tokens(text)[0][1], abs=1e-4)
    assert here.bits_per_byte(text) == pytest.approx(there.bits_per_byte(text), abs=1e-4)
    assert there.log_probability(text, " a dog") < 0
    assert there.attend(text).maps["decoder"][0].device.type == "cpu"
    assert there.trace(text).onward(3, 7).written


def test_a_model_of_text_or_pictures_trains_there():
    teller = on_gpu(load_storyteller())
    ids = load_storyteller().encode("The dog ran to the cat. " * 40)
    losses = train_on_text(
        teller.model, ids, TextTraining(steps=20, batch_size=4, length=16), progress=False
    ).losses
    assert losses[-1] < losses[0] / 2
    torch.manual_seed(0)
    config = VitConfig(
        image_size=28, patch_size=7, n_channels=1, n_classes=2,
        d_model=16, n_heads=2, n_layers=1, d_ff=32,
    )  # fmt: skip
    vit = VisionTransformer(config).cuda()
    images = torch.randint(0, 60, (200, 28, 28), dtype=torch.uint8)
    images[::2] += 150
    pictures = Pictures(images, torch.arange(200) % 2)
    train_pictures(vit, pictures, epochs=5, progress=False)
    assert accuracy(vit, *pictures) == 1
