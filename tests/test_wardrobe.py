"""The bundled Vision Transformer: loaded, right on pictures it never saw, and refusing others."""

import pytest
import torch
from samples import refuses

from helpers.data.clothes import CLASSES, clothes
from helpers.pretrained import wardrobe as module
from helpers.pretrained.wardrobe import comparison, load_wardrobe, untrained_pair


@pytest.fixture(scope="module")
def wardrobe():
    return load_wardrobe()


def test_it_sorts_the_bundled_test_pictures_as_its_card_says(wardrobe):
    images, labels = clothes("test")
    share = (wardrobe.classify(images) == labels).float().mean().item()
    assert abs(share - wardrobe.card["test_accuracy"]) < 0.03
    assert module.PATH.stat().st_size <= 3e6


def test_attention_and_trace_tell_the_same(wardrobe):
    image = clothes("test", 1).images
    maps, trace = wardrobe.attend(image)[0], wardrobe.trace(image[0])
    assert trace.encoder.tokens[:2] == ["[CLS]", "1,1"]
    assert len(trace.encoder.tokens) == 50
    torch.testing.assert_close([part.heads.weights for part, *_ in trace.encoder.layers], [*maps])
    logits = wardrobe.model.head(trace.encoder.output[0])
    torch.testing.assert_close(logits.softmax(-1), wardrobe.probabilities(image)[0])
    best = wardrobe.probabilities(image)[0].topk(10)
    assert [one.token for one in trace.candidates[0]] == [CLASSES[i] for i in best.indices]
    assert [one.probability for one in trace.candidates[0]] == pytest.approx(
        best.values.tolist(), rel=1e-4
    )
    assert torch.equal(trace.image, image[0])


def test_other_pictures_are_refused(wardrobe):
    refuses("pictures", wardrobe.classify, torch.zeros(2, 28, 28))
    for shape in ((28, 28), (2, 32, 32), (0, 28, 28)):
        refuses("pictures", wardrobe.classify, torch.zeros(shape, dtype=torch.uint8))


def test_a_missing_file_is_named_and_a_saved_one_loads(monkeypatch, tmp_path, wardrobe):
    path = tmp_path / "wardrobe.safetensors"
    monkeypatch.setattr(module, "PATH", path)
    refuses("recipes.wardrobe", load_wardrobe, error=FileNotFoundError)
    wardrobe.save(path)
    assert repr(load_wardrobe()) == repr(wardrobe)


def test_the_two_models_of_the_comparison_are_equally_large():
    vit, cnn = (sum(p.numel() for p in model.parameters()) for model in untrained_pair())
    assert abs(vit - cnn) < 0.02 * vit


def test_the_comparison_is_whole():
    runs = comparison()
    wanted = {(m, n, s) for m in ("vit", "cnn") for n in (300, 3_000, 20_000) for s in range(3)}
    assert {(run["model"], run["pictures"], run["seed"]) for run in runs} == wanted
    assert len(runs) == len(wanted)
    assert len({run["seconds"] for run in runs}) == 1
    assert all(0.1 < run["accuracy"] < 1 for run in runs)
