"""The loss of lesson 09 against PyTorch's."""

import math

import pytest
import torch
import torch.nn.functional as F

from helpers.transformer import losses


def test_cross_entropy_equals_pytorch_and_padding_does_not_count():
    logits, targets = torch.randn(2, 4, 7), torch.tensor([[3, 1, 0, 0], [2, 6, 5, 0]])
    ours = losses.cross_entropy(logits, targets, pad_id=0)
    expected = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)
    torch.testing.assert_close(ours, expected)
    changed = logits.clone()
    changed[targets == 0] += 5 * torch.randn(7)
    torch.testing.assert_close(losses.cross_entropy(changed, targets, 0), ours)
    assert losses.cross_entropy(logits, torch.zeros_like(targets), 0) == 0


def test_smoothed_targets_equal_pytorch():
    logits, targets = torch.randn(5, 7), torch.randint(0, 7, (5,))
    smoothed = losses.smooth_targets(targets, 7, 0.1)
    torch.testing.assert_close(smoothed.sum(-1), torch.ones(5))
    assert smoothed[0, targets[0]].item() == pytest.approx(0.9 + 0.1 / 7)
    ours = -(smoothed * logits.log_softmax(-1)).sum(-1).mean()
    torch.testing.assert_close(ours, F.cross_entropy(logits, targets, label_smoothing=0.1))


def test_smoothed_cross_entropy_is_that_of_the_smoothed_targets():
    logits = torch.randn(2, 4, 7, dtype=torch.float64)
    targets = torch.tensor([[3, 1, 0, 0], [2, 6, 5, 0]])
    ours = losses.cross_entropy(logits, targets, pad_id=0, epsilon=0.1)
    real = targets != 0
    wanted = losses.smooth_targets(targets[real], 7, 0.1)
    expected = -(wanted * logits[real].log_softmax(-1)).sum(-1).mean()
    torch.testing.assert_close(ours, expected, rtol=1e-6, atol=0)  # the targets are float32


def test_cross_entropy_where_padding_was_made_impossible():
    logits, targets = torch.randn(2, 3, 5), torch.tensor([[1, 2, 3], [4, 0, 0]])
    logits[..., 0] = -math.inf
    logits.requires_grad_()
    ours = losses.cross_entropy(logits, targets, 0)
    expected = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)
    torch.testing.assert_close(ours, expected)
    assert torch.autograd.grad(ours, logits)[0].isfinite().all()
    moved = torch.where(targets == 0, -100, targets)  # the id that PyTorch leaves out by default
    torch.testing.assert_close(losses.cross_entropy(logits, moved, -100), expected)
