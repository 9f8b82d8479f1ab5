"""Lesson 12's comparison: its recipe, and what it stored."""

import math

import pytest

from helpers.data.reviews import film_reviews
from helpers.pretrained.measured import measured
from recipes import ways_to_fine_tune as recipe
from recipes.ways_to_fine_tune import CURVE, DRAWS, SIZES, drawn, seed_of


@pytest.fixture
def stored():
    return measured("ways_to_fine_tune")


def test_every_method_is_stored_at_every_size_with_every_draw(stored):
    assert tuple(CURVE) == SIZES
    for scores in stored["frozen"].values():
        assert {size: len(one) for size, one in scores.items()} == {str(n): DRAWS for n in SIZES}
    runs = stored["curve"]["runs"]
    assert stored["curve"]["command"] == recipe.COMMAND
    assert {size: len(found) for size, found in runs.items()} == {str(n): DRAWS for n in SIZES}
    for n, passes in CURVE.items():
        found = runs[str(n)]
        assert [run["seed"] for run in found] == [seed_of(n, draw) for draw in range(DRAWS)]
        assert {run["passes"] for run in found} == {passes}
        assert all(0.4 < run["accuracy"] < 1 for run in found)
        assert len({run["accuracy"] for run in found}) > 1, "eight draws, not one"


def test_a_draw_takes_its_own_reviews_once():
    reviews = film_reviews("train")
    assert drawn(reviews, 50, 3) == drawn(reviews, 50, 3)
    rows = [row for draw in range(2) for row in drawn(reviews, 50, draw)]
    assert len(set(rows[:50])) == len(set(rows[50:])) == 50
    assert len(set(rows)) > 80


@pytest.mark.weekly
def test_an_adapter_really_is_trained_and_scored(stored):
    few = film_reviews("train")[:3]
    score, seconds, size = recipe.trained("lora16", few, 40, few, seed=1)
    assert size == stored["trained"]["lora16"]["trainable"]
    assert math.isclose(score, 1)  # three reviews can be learned by heart
    assert seconds > 0
