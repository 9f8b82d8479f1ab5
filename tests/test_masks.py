"""The one place that says what True means."""

import pytest
import torch
from samples import refuses

from helpers.transformer import masks


def test_causal_mask_by_hand():
    expected = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=torch.bool)
    assert torch.equal(masks.causal_mask(3), expected)
    assert masks.causal_mask(0).shape == (0, 0)
    assert masks.causal_mask(1).tolist() == [[True]]


def test_errors_say_what_to_do():
    refuses("add the batch dimension", masks.padding_mask, torch.tensor([1, 2]), 0)
    refuses("integer ids", masks.padding_mask, torch.ones(1, 2), 0)
    refuses("length of 0 or more", masks.causal_mask, -1)


def test_check_mask_accepts_what_broadcasts_and_nothing_else():
    for shape in [(), (5,), (4, 5), (1, 5), (4, 1), (2, 1, 1, 5), (2, 3, 4, 5)]:
        masks.check_mask(torch.ones(shape, dtype=torch.bool), (2, 3, 4, 5))
    for shape in [(4,), (5, 4), (7, 2, 3, 4, 5), (2, 2, 4, 5)]:
        with pytest.raises(ValueError, match=r"broadcast to the scores, \(2, 3, 4, 5\); got"):
            masks.check_mask(torch.ones(shape, dtype=torch.bool), (2, 3, 4, 5))
    for dtype in (torch.float32, torch.int64):
        with pytest.raises(ValueError, match="must be boolean, True = allowed"):
            masks.check_mask(torch.ones(5, dtype=dtype), (4, 5))
