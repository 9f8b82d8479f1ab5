"""The toy translators load, translate as well as the lessons say, and can be made again."""

import pytest
import torch
from samples import refuses

from helpers.data.corpus import Splits
from helpers.pretrained import toy_models
from recipes import toy_models as recipe


@pytest.fixture(scope="module")
def splits():
    return toy_models.toy_data()


@pytest.mark.parametrize("name", toy_models.NAMES)
def test_the_bundled_ones_load_and_are_small(name):
    toy = toy_models.load_toy(name)
    assert (toy_models.WEIGHTS / f"toy_{name}.safetensors").stat().st_size < 2_000_000
    assert not toy.model.training
    assert toy.card["seconds"] > 0
    assert len(toy.card["validation_losses"]) == toy.card["epochs"] == toy_models.EPOCHS
    assert toy.card["validation_losses"][-1] < toy.card["validation_losses"][0]
    assert f"{toy.n_parameters:,}" in repr(toy)


@pytest.mark.slow
def test_trained_saved_and_loaded_again(splits, tmp_path, monkeypatch):
    few = Splits(splits.train[:200], splits.validation[:20], splits.test[:5])
    toy = toy_models.train_toy("dot", few, epochs=1, progress=False)
    again = toy_models.train_toy("dot", few, epochs=1, progress=False)
    assert toy.card["losses"] == again.card["losses"]
    monkeypatch.setattr(toy_models, "WEIGHTS", tmp_path)
    recipe.save_toy(toy, tmp_path / "toy_dot.safetensors")
    loaded = toy_models.load_toy("dot")
    ids = torch.tensor([toy.encode(few.test)[0][0]])
    close = torch.allclose(loaded.model(ids, ids), toy.model(ids, ids), atol=0.02)
    assert close, "weights of 16 bits should give nearly the same logits"


def test_says_what_there_is_and_how_to_make_a_missing_one(tmp_path, monkeypatch):
    refuses("no toy translator 'gpt'; there are: rnn, lstm", toy_models.load_toy, "gpt")
    monkeypatch.setattr(toy_models, "WEIGHTS", tmp_path)
    how = r"python -m recipes\.toy_models gru"
    refuses(how, toy_models.load_toy, "gru", error=FileNotFoundError)
