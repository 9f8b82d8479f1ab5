"""The detective: an adapter for Sherlock Holmes on the story model, and its recipe."""

import pytest

from helpers.data.stories import stories
from helpers.models.lora import LoRALinear
from helpers.pretrained.detective import DETECTIVE, holmes_pages, load_detective
from helpers.pretrained.storyteller import load_storyteller


@pytest.mark.weekly
def test_the_bundled_detective_knows_holmes_better_and_fairy_tales_worse():
    story, detective = load_storyteller(), load_detective()
    assert DETECTIVE.stat().st_size <= 500_000
    assert not any(isinstance(layer, LoRALinear) for layer in detective.model.modules())
    holmes, tales = holmes_pages()[1][:2500], stories("validation")[:2500]
    assert detective.bits_per_byte(holmes) < story.bits_per_byte(holmes) - 0.05
    assert detective.bits_per_byte(tales) > story.bits_per_byte(tales)
    card = detective.card
    assert card["after"]["holmes"] < card["before"]["holmes"]
