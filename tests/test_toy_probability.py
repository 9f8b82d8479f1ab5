"""The toy grammar's probabilities, against what can be counted."""

import math

import pytest

from helpers.data import toy_lexicon as words
from helpers.data.toy_grammar import Grammar
from helpers.data.toy_probability import WeighedGrammar, toy_text

N = 30_000
ALONE = {verb.en for verb in words.ALONE}
TOWARDS = {"sees", "watches", "finds", "touches", "follows"}


@pytest.fixture(scope="module")
def drawn():
    grammar = WeighedGrammar(seed=5)
    return [grammar.english() for _ in range(N)]


def test_it_writes_the_sentences_of_the_toy_grammar():
    weighed, plain = WeighedGrammar(seed=2), Grammar(seed=2)
    for _ in range(200):
        tokens, _ = weighed.english()
        _, english, _ = plain.sentence(plain.pick((1, 2)))
        assert tokens == [word.text for word in english]


@pytest.mark.slow
def test_a_sentence_always_has_the_same_probability(drawn):
    seen = {}
    for tokens, nats in drawn:
        assert seen.setdefault(tuple(tokens), nats) == pytest.approx(nats, abs=1e-9)
    assert len(seen) < N - 1000  # so that many came twice


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        # The mean of 1/p over the drawn sentences of a kind is how many sentences there are of it.
        (["the", None, ALONE, "."], 17 * 6),
        # A being and another being or a thing; nobody follows a thing, nothing comes twice.
        (["the", None, TOWARDS, "the", None, "."], 4 * 17 * 2 * (16 + 12) + 17 * 2 * 16),
    ],
)
def test_the_probabilities_count_the_sentences_of_a_kind(drawn, pattern, count):
    def fits(tokens):
        return len(tokens) == len(pattern) and all(
            part is None or token == part or (isinstance(part, set) and token in part)
            for token, part in zip(tokens, pattern, strict=True)
        )

    weights = [math.exp(nats) if fits(tokens) else 0.0 for tokens, nats in drawn]
    mean = sum(weights) / N
    error = math.sqrt(sum((w - mean) ** 2 for w in weights) / N / N)
    assert error < 0.15 * count
    assert mean == pytest.approx(count, abs=4 * error)


@pytest.mark.slow
def test_which_way_is_crossed_has_its_own_probability(drawn):
    # A dog, in French masculine, crosses one of two feminine ways, or any of the five.
    crossed = {}
    for tokens, nats in drawn:
        if tokens[:2] == ["the", "dog"] and tokens[2:5] == ["does", "not", "cross"]:
            crossed.setdefault((tokens[6], " ".join(tokens[7:])), nats)
    pairs = [
        crossed["bridge", rest] - nats
        for (way, rest), nats in crossed.items()
        if way == "street" and ("bridge", rest) in crossed
    ]
    feminine = sum(way.feminine for way in words.WAYS)
    assert pairs
    assert pairs == pytest.approx([math.log((0.6 / feminine + 0.08) / 0.08)] * len(pairs))


def test_a_text_begins_with_a_stop_and_adds_up_its_sentences():
    tokens, nats = toy_text(500, seed=4)
    grammar, sentences, total = WeighedGrammar(seed=4), ["."], 0.0
    while len(sentences) <= 500:
        sentence, surprise = grammar.english()
        sentences += sentence
        total += surprise
    assert tokens == sentences
    assert tokens[0] == tokens[-1] == "."
    assert nats == pytest.approx(total)
