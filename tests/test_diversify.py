"""More pairs out of those there are."""

from collections import Counter

import pytest

from helpers.data.captions import CAPTIONS
from helpers.pretrained.translator import load_translator
from helpers.training import metrics
from recipes import diversify


def test_a_mixture_keeps_the_order_and_replaces_one_side_at_most():
    n = 4000
    pairs = [(f"s{i}", f"t{i}") for i in range(n)]
    sources, targets = [f"S{i}" for i in range(n)], [f"T{i}" for i in range(n)]
    mixed = diversify.mixture(pairs, sources, targets, seed=1)
    kinds = Counter()
    for i, (source, target) in enumerate(mixed):
        assert source[1:] == target[1:] == str(i)
        kinds[source[0] + target[0]] += 1
    assert set(kinds) == {"st", "St", "sT"}
    assert kinds["St"] / n == pytest.approx(0.3, abs=0.03)
    assert kinds["sT"] / n == pytest.approx(0.25, abs=0.03)


def test_a_mixture_differs_from_epoch_to_epoch_and_can_be_repeated():
    pairs = [("a", "b")] * 50
    draws = [diversify.mixture(pairs, ["A"] * 50, ["B"] * 50, seed) for seed in (1, 2, 1)]
    assert draws[0] == draws[2] != draws[1]


@pytest.mark.slow
def test_other_targets_are_the_closest_of_the_beam():
    translator = load_translator()
    pairs = list(CAPTIONS)
    closest = diversify.other_targets(translator, pairs)
    sources, wanted = zip(*pairs, strict=True)
    first = translator.translate(list(sources), beam_size=4)
    assert metrics.bleu(closest, list(wanted)) > metrics.bleu(first, list(wanted)) + 2
    assert diversify.other_targets(translator, pairs[::-1]) == closest[::-1]


def test_other_sources_are_translations_of_the_targets():
    translator = load_translator()  # the wrong way round, but it reads what it is given
    pairs = [(target, source) for source, target in CAPTIONS[:3]]
    expected = translator.translate([source for source, _ in CAPTIONS[:3]])
    assert diversify.other_sources(translator, pairs) == expected
