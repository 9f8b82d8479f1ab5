"""The ladder from an average to a GPT: causal on every rung, and measured as the lesson says."""

import math

import pytest
import torch
from samples import refuses

from helpers.exercises import reference
from helpers.pretrained.measured import measured
from helpers.training.letter_models import (
    RUNGS,
    WINDOW,
    CausalHeads,
    LetterModel,
    Letters,
    average,
    nats_per_letter,
    train_rung,
    write,
)
from recipes import scaling

TEXT = "The cat sat on the mat, and the cat sat. " * 20


@pytest.fixture
def letters():
    return Letters(TEXT)


def test_letters_come_back_small_and_an_unknown_one_is_refused(letters):
    assert letters.decode(letters.encode("The Mat")) == "the mat"
    assert len(letters) == len(set(TEXT.lower()))
    refuses("never seen: 'z'", letters.encode, "zoo")


def test_the_average_by_a_loop():
    x = torch.randn(2, 5, 3)
    wanted = torch.stack([x[:, : t + 1].mean(1) for t in range(5)], dim=1)
    torch.testing.assert_close(average(x), wanted)


@pytest.mark.parametrize("rung", RUNGS)
def test_no_rung_sees_a_later_letter(rung, letters):
    model = LetterModel(len(letters), RUNGS[rung]()).eval()
    ids = letters.encode(TEXT[:20])[None]
    changed = ids.clone()
    changed[0, 12] = (ids[0, 12] + 1) % len(letters)
    with torch.no_grad():
        moved = (model(ids) - model(changed)).abs().amax(-1)[0] > 0
    assert not moved[:12].any()
    assert moved[12:].all()


def test_more_heads_cost_no_parameters(letters):
    one, four = (LetterModel(len(letters), RUNGS[f"{n}"]()) for n in ("one head", "four heads"))
    assert [p.shape for p in one.parameters()] == [p.shape for p in four.parameters()]


def test_a_learner_s_head_computes_what_ours_does():
    ours, theirs = CausalHeads(1), CausalHeads(1, reference("causal_head"))
    for bias in (name for name in ours.state_dict() if name.endswith("bias")):
        torch.nn.init.normal_(ours.get_parameter(bias))
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 5, 64)
    torch.testing.assert_close(theirs(x), ours(x))


@pytest.mark.slow
@pytest.mark.parametrize("rung", ["average", "residuals and feed-forward"])
def test_a_rung_learns_and_writes(rung, letters):
    ids = letters.encode(TEXT)
    untrained = train_rung(rung, ids, len(letters), progress=False, steps=1)
    model = train_rung(rung, ids, len(letters), progress=False, steps=30)
    assert nats_per_letter(model, ids) < nats_per_letter(untrained, ids) - 0.2
    text = write(model, letters, "the cat", n_letters=WINDOW + 10, seed=1)
    assert text.startswith("the cat")
    assert len(text) == 7 + WINDOW + 10  # longer than the window
    assert text == write(model, letters, "the cat", n_letters=WINDOW + 10, seed=1)


def test_every_seed_of_the_stored_ladder_falls_at_every_rung():
    ladder = measured("story_ladder")
    losses = ladder["losses"]
    assert list(losses) == list(RUNGS)
    for rung, longer in ladder["long"]["losses"].items():
        assert max(longer) < min(losses[rung])  # more steps help every seed
    for seed in zip(*losses.values(), strict=True):
        assert list(seed) == sorted(seed, reverse=True)


@pytest.mark.parametrize("best", [0.3, 0.05, 0.004])
def test_a_rate_is_tuned_downhill_and_between_octaves(best):
    found, tried = scaling.tuned(lambda rate: math.log(rate / best) ** 2, 0.04)
    assert found == pytest.approx(best)  # a parabola's lowest point, wherever the search began
    assert min(tried, key=tried.get) not in (min(tried), max(tried))


def test_the_stored_sizes_are_what_the_recipe_would_store():
    stored = measured("scaling")
    assert (stored["steps"], stored["seeds"]) == (scaling.STEPS, list(scaling.SEEDS))
    assert [size["width"] for size in stored["sizes"]] == list(scaling.WIDTHS)
    for size in stored["sizes"]:
        rates = {float(rate): loss for rate, loss in size["rates"].items()}
        found, tried = scaling.tuned(rates.get, min(rates, key=rates.get))
        assert round(found, 5) == size["rate"]
        assert set(tried) <= set(rates)
        assert len(size["losses"]) == len(stored["seeds"])
