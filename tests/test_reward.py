"""Learning from rewards: the parts, the rules, and an adder that learns."""

import copy
import random

import pytest
import torch

from helpers.data import two_digits as sums
from helpers.pretrained.adder import STEPS_DONE, load_adder, load_under_way
from helpers.pretrained.measured import measured
from helpers.training import reward
from recipes import reward as recipe


def test_advantages_compare_within_a_group_and_agreement_teaches_nothing():
    found = reward.group_advantages(torch.tensor([[1.0, 0, 0, 1], [1, 1, 1, 1]]))
    torch.testing.assert_close(found[0], torch.tensor([1.0, -1, -1, 1]), atol=1e-4, rtol=0)
    assert (found[1] == 0).all()


def test_beyond_the_limit_there_is_no_gradient_in_the_direction_of_the_advantage():
    for ratio, advantage, moves in ((1.5, 1.0, False), (1.5, -1.0, True), (0.5, -1.0, False)):
        now = torch.tensor([[ratio]]).log().requires_grad_()
        reward.clipped_gain(now, torch.zeros(1, 1), torch.tensor([advantage])).sum().backward()
        assert bool(now.grad.any()) == moves


def test_the_estimate_of_the_drift_is_its_mean_under_the_model():
    p, q = torch.randn(2, 7).log_softmax(-1)
    per_token = reward.kl_from_start(p, q)
    assert (per_token >= 0).all()
    torch.testing.assert_close((p.exp() * per_token).sum(), (p.exp() * (p - q)).sum())


def test_prompts_answers_and_rules():
    pairs = torch.tensor([[37, 48], [10, 12]])
    prompts = ["".join(sums.SYMBOLS[i] for i in row) for row in sums.prompts_of(pairs).tolist()]
    assert prompts == ["37+48=", "10+12="]
    written, counted = sums.answers_of(pairs.repeat(50, 1), random.Random(0))
    assert sums.rewards_of(written, pairs.repeat(50, 1), sums.is_right).all()
    texts = sums.texts_of(written)
    assert {"85", "22"} < set(texts)
    assert any("," in text for text in texts)
    assert counted.sum(1).tolist() == [len(text) + 1 for text in texts]
    assert sums.is_mentioned("85,3", 85)
    assert not sums.is_right("85,3", 85)
    assert not sums.is_right("85…", 85)
    assert not sums.is_mentioned("185", 85)
    train, unseen = (
        {tuple(p) for p in sums.two_digit_sums(part).tolist()} for part in ("train", "unseen")
    )
    assert train.isdisjoint(unseen)
    assert len(train | unseen) == 8100


def test_what_is_written_ends_once_and_has_the_model_s_probability():
    model, pairs = load_adder(), sums.two_digit_sums("unseen")[:20]
    prompts = sums.prompts_of(pairs)
    written, counted = reward.write(model, prompts, sums.END, 12, torch.Generator().manual_seed(0))
    assert ((written == sums.END) | counted).all()
    found = reward.log_probs_of(model, prompts, written)
    whole = model(torch.cat([prompts, written], 1)).log_softmax(-1)
    assert torch.isclose(found[3, 1], whole[3, 6, written[3, 1]], atol=1e-5)


@pytest.mark.weekly
def test_the_bundled_adder_is_often_wrong_and_a_few_steps_help():
    model = load_adder()
    assert 0.5 < recipe.score(model, n=100, samples=4)["one"] < 0.7
    assert recipe.score(load_under_way()[0], n=100, samples=4)["one"] > 0.7
    before = copy.deepcopy(model.state_dict())
    seen = [*recipe.rounds(model, "rejection", 10, seed=5)]
    assert seen[-1]["reward"] > seen[0]["reward"] + 0.04
    assert any((before[name] != weight).any() for name, weight in model.state_dict().items())


def test_what_is_stored_is_what_the_lesson_tells():
    stored = measured("reward")
    for way in recipe.RULES:
        assert len(stored[way]) == len(stored["seeds"]) == 3
        assert all(run[-1]["step"] == stored["steps"] for run in stored[way])
    model, rewards = load_under_way()
    assert STEPS_DONE < stored["steps"] == len(rewards)
    run = stored["grpo"][0]  # the one that is under way
    assert all(abs(rewards[p["step"] - 1] - p["reward"]) < 1e-4 for p in run[1:])
    some = sums.two_digit_sums("train")[:200]
    first, now = (
        reward.log_probs_of(m, sums.prompts_of(some), sums.answers_of(some, random.Random(0))[0])
        for m in (load_adder(), model)
    )
    assert not torch.equal(first, now)
    assert set(stored["voting"]) == {str(t) for t in recipe.TEMPERATURES}
