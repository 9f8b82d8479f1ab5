"""Scores by hand."""

import math

import pytest
import torch
from samples import refuses

from helpers.training import metrics


def test_bleu_of_the_same_and_of_nothing_in_common():
    text = ["the little dog sleeps in the garden ."]
    assert metrics.bleu(text, text) == pytest.approx(100)
    assert metrics.bleu(["x y z w v"], text) < 5
    assert metrics.bleu(["The little dog sleeps in the garden ."], text) < 100  # cased


def test_what_bleu_cannot_score_is_refused():
    refuses("2 hypotheses and 1 references", metrics.bleu, ["a", "b"], ["a"])
    refuses("0 hypotheses", metrics.bleu, [], [])
    for score in (metrics.bleu, metrics.exact_match):  # one string is no list of letters
        refuses("takes a list of sentences", score, "a b", "a b")


def test_exact_match_by_hand():
    assert metrics.exact_match(["a b", "A b", "a"], ["a b", "a b", "a b"]) == pytest.approx(1 / 3)
    assert metrics.exact_match([["a", "b"]], [("a", "b")]) == 1  # tokens, list or tuple
    refuses("1 hypotheses and 2 references", metrics.exact_match, ["a"], ["a", "b"])


def test_perplexity_is_the_fair_choice_and_infinite_for_a_diverged_model():
    assert metrics.perplexity(5000.0) == math.inf
    assert metrics.perplexity(math.log(6)) == pytest.approx(6)


def test_entropy():
    weights = torch.tensor([[0.25] * 4, [1, 0, 0, 0], [0, 0, 0, 0]])
    torch.testing.assert_close(
        metrics.attention_entropy(weights), torch.tensor([math.log(4), 0.0, 0.0])
    )


def test_alignment_error_rate_by_hand():
    weights = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])  # 3 target words, 2 source words
    truth = {(0, 0), (1, 1), (1, 2)}  # (source, target)
    # Strongest links: (0,0), (1,1), (0,2). Two of three are right, of three true ones.
    assert metrics.alignment_error_rate([weights], [truth]) == pytest.approx(1 - 2 * 2 / (3 + 3))
    assert metrics.alignment_error_rate([weights], [{(0, 0), (1, 1), (0, 2)}]) == 0


def test_alignment_error_rate_lets_either_of_two_words_do():
    # ne(0) dort(1) pas(2) / does(0) not(1) sleep(2)
    truth = {(0, 0), (2, 0), (0, 1), (2, 1), (1, 2)}
    for first, second in ((0, 0), (0, 2), (2, 2)):
        weights = torch.eye(3)[[first, second, 1]]
        assert metrics.alignment_error_rate([weights], [truth]) == 0
    # "does" looks at "dort": of A = 3 and S = 1, two are possible and one is sure.
    weights = torch.eye(3)[[1, 2, 1]]
    assert metrics.alignment_error_rate([weights], [truth]) == pytest.approx(1 - (1 + 2) / (3 + 1))


def test_alignment_error_rate_edges():
    truth = {(0, 0), (1, 1)}
    weights = torch.tensor([[1.0, 0.0], [0.0, 0.0]])  # the second row links nothing
    assert metrics.alignment_error_rate([weights], [truth]) == pytest.approx(1 - (1 + 1) / (1 + 2))
    assert metrics.alignment_error_rate([torch.eye(2).flip(0)], [truth]) == 1
    refuses("nothing to compare", metrics.alignment_error_rate, [], [])
    two = [truth, truth]
    refuses("1 maps of weights and 2 alignments", metrics.alignment_error_rate, [weights], two)
