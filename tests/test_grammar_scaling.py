"""The scaling law of the toy grammar: the fit, and what is written down before it is known."""

import pytest

from helpers.data.toy_probability import toy_text
from helpers.pretrained.measured import measured
from recipes import grammar_scaling as recipe


def test_a_power_law_is_found_exactly():
    sizes = (100, 700, 9000)
    runs = [{"parameters": n, "loss": 1.5 + 40 * n**-0.8} for n in sizes]
    assert recipe.fit_power_law(runs, 1.5) == pytest.approx((40, 0.8))


def test_the_prediction_is_stored_before_the_tenth_model_is_trained(monkeypatch):
    happened = []

    def train_one(width, texts, n_words, args):
        happened.append(width)
        n = recipe.n_parameters(width, n_words)
        loss = 9.0 if width == args.tenth else 1.4 + 500 / n  # the tenth breaks the law
        return {"width": width, "parameters": n, "loss": loss}

    kept = {}

    def store(name, results):
        happened.append(sorted(results.keys() & {"predicted", "tenth"}))
        kept.update(results)

    monkeypatch.setattr(recipe, "train_one", train_one)
    monkeypatch.setattr(recipe, "store", store)
    monkeypatch.setattr(recipe, "measured", lambda name: dict(kept))
    monkeypatch.setattr(recipe, "toy_text", lambda n, seed: (["."] + ["a", "."] * 10, 1.4 * 20))
    recipe.main(["--widths", "8", "12", "16", "--tenth", "32"])
    assert happened == [8, 12, 16, ["predicted"], 32, ["predicted", "tenth"]]
    n = recipe.n_parameters(32, 2)
    assert kept["predicted"] == {
        "width": 32,
        "parameters": n,
        "loss": pytest.approx(1.4 + 500 / n, abs=1e-4),
    }
    assert kept["tenth"]["loss"] == 9.0


def test_a_small_model_really_is_trained_and_measured():
    args = recipe.arguments(["--steps", "3"])
    tokens, _ = toy_text(600, seed=1)
    words = sorted(set(tokens))
    ids = recipe.numbered(tokens, words)
    run = recipe.train_one(8, (ids, ids), len(words), args)
    assert run["parameters"] == recipe.n_parameters(8, len(words))
    assert 2 < run["loss"] < 6


def test_what_is_stored_follows_from_its_own_runs():
    law = measured("grammar_scaling")
    assert len(law["runs"]) == 9
    scale, exponent = recipe.fit_power_law(law["runs"], law["entropy"])
    assert (scale, exponent) == pytest.approx((law["scale"], law["exponent"]), rel=0.01)
    n = law["predicted"]["parameters"]
    assert n == law["tenth"]["parameters"] > max(run["parameters"] for run in law["runs"])
    assert law["predicted"]["loss"] == pytest.approx(
        law["entropy"] + scale * n**-exponent, abs=1e-4
    )
    assert law["tenth"]["loss"] > law["entropy"]
