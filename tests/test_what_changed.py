"""The recipe that compares the block of 2017 with its changes, and what it stored."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from helpers.models.gpt import GPT
from helpers.pretrained.measured import measured
from recipes import what_changed
from recipes.what_changed import BLOCKS, CHANGES, THEN, Experiment, count

# Large enough for an output of its own, which takes its parameters from the feed-forward network.
TINY = {
    "d_model": 32, "n_layers": 2, "vocab_size": 260, "steps": 2, "length": 8, "batch_size": 2,
    "peak_rates": (1e-3, 1e-2), "seeds": (1, 2), "letters": 5000,
}  # fmt: skip


@pytest.mark.slow
def test_all_blocks_have_as_many_parameters_as_that_of_2017():
    experiment = Experiment()
    target = count(experiment.config({}))
    for changes in BLOCKS.values():
        config = experiment.config(changes)
        off = abs(count(config) - target)
        assert off < 0.002 * target
        for d_ff in (config.d_ff - 1, config.d_ff + 1):  # no other width is nearer
            assert abs(count(replace(config, d_ff=d_ff)) - target) >= off
    config = experiment.config(BLOCKS["all together"])
    assert count(config) == sum(p.numel() for p in GPT(config).parameters())


def test_a_change_changes_one_thing_and_all_together_everything_at_once():
    start, together = Experiment().config({}), Experiment().config(BLOCKS["all together"])
    for name, changes in CHANGES.items():
        config = Experiment().config(changes)
        differing = {key for key in vars(start) if getattr(config, key) != getattr(start, key)}
        assert differing - {"d_ff"} == set(changes), name
    last = {key: value for changes in CHANGES.values() for key, value in changes.items()}
    assert last == BLOCKS["all together"]
    assert {key: getattr(together, key) for key in last} == last
    assert {key: getattr(start, key) for key in THEN} == THEN


@pytest.mark.weekly
def test_a_block_is_trained_and_scored(monkeypatch):
    experiment, before = Experiment(**TINY), torch.get_rng_state()
    scores = what_changed.Scores(experiment)
    monkeypatch.setattr(scores, "unseen", scores.unseen[:300])
    monkeypatch.setattr(scores, "unseen_ids", scores.unseen_ids[:150])
    few, many = (scores.score("all together", steps, 1e-2, 1) for steps in (1, 30))
    assert many < few - 0.3
    assert scores.score("all together", 1, 1e-2, 1) == few  # the seed decides everything
    torch.set_rng_state(before)


def test_what_is_stored_is_what_the_recipe_would_store():
    stored, experiment = measured("what_changed"), Experiment()
    assert set(stored["blocks"]) == set(BLOCKS)
    assert stored["seeds"] == list(experiment.seeds)
    rates = {float(rate): bits for rate, bits in stored["rates_of_2017"].items()}
    assert tuple(rates) == experiment.peak_rates
    assert stored["rate"] == min(rates, key=rates.get)
    assert set(stored["longer"]) == set(what_changed.LONGER_RUNS)
    base = stored["blocks"]["2017"]
    for name, row in stored["blocks"].items():
        config = experiment.config(BLOCKS[name])
        assert (row["parameters"], row["d_ff"]) == (count(config), config.d_ff)
        steps = stored["steps"] * base["milliseconds_per_step"] / row["milliseconds_per_step"]
        assert row["steps_in_equal_seconds"] == pytest.approx(steps, rel=0.01)
        assert len(row["equal_steps"]) == len(row["equal_seconds"]) == 3
    assert all(a < b for a, b in pairwise(sorted(base["equal_steps"])))  # three seeds, not one


def test_post_norm_and_pre_norm_were_trained_at_both_depths():
    found = what_changed.norms_and_depth(depths=(1,), seeds=(1,), steps=3)
    assert found["losses"]["1"]["post-norm"] != found["losses"]["1"]["pre-norm"]
    stored = measured("what_changed")["depth"]
    assert set(stored) == set(found)
    assert {len(runs) for row in stored["losses"].values() for runs in row.values()} == {3}
