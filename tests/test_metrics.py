"""Scores by hand."""

import math

import pytest
import torch

from helpers import metrics


def test_bleu_of_the_same_and_of_nothing_in_common():
    text = ["the little dog sleeps in the garden ."]
    assert metrics.bleu(text, text) == pytest.approx(100)
    assert metrics.bleu(["x y z w v"], text) < 5
    assert metrics.bleu(["The little dog sleeps in the garden ."], text) < 100  # cased


def test_bleu_error():
    with pytest.raises(ValueError, match="2 hypotheses and 1 references"):
        metrics.bleu(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="0 hypotheses"):
        metrics.bleu([], [])


def test_perplexity_is_the_fair_choice():
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


def test_antecedent_accuracy_by_hand():
    weights = torch.tensor([[0.1, 0.7, 0.2], [0.3, 0.3, 0.4]])
    assert metrics.antecedent_accuracy([weights], [[(0, 1)]]) == 1
    assert metrics.antecedent_accuracy([weights], [[(0, 1), (1, 0)]]) == 0.5
    # Among the candidates 0 and 2 alone, row 0 prefers 2.
    assert metrics.antecedent_accuracy([weights], [[(0, 2)]], candidates=[[0, 2]]) == 1
