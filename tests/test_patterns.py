"""Sparse masks: each against a loop over its definition, and the reach that is counted."""

import itertools
import math

import torch
from drawn import drawn
from hypothesis import strategies as some
from samples import refuses

from helpers.models import patterns
from helpers.transformer.attention import scaled_dot_product_attention

length = some.integers(1, 20)
width = some.integers(1, 8)
direction = some.booleans()


def by_rule(length, causal, rule):
    """Build a mask by asking a rule about every query and key."""
    return torch.tensor(
        [[rule(t, s) and (s <= t or not causal) for s in range(length)] for t in range(length)]
    )


@drawn(length, width, some.integers(0, 3), direction)
def test_a_window_every_nth_position_and_those_that_see_all_and_are_seen(length, n, few, causal):
    window = by_rule(length, causal, lambda t, s: abs(t - s) < n)
    assert torch.equal(patterns.window_mask(length, n, causal), window)
    every_nth = by_rule(length, causal, lambda t, s: abs(t - s) % n == 0)
    assert torch.equal(patterns.strided_mask(length, n, causal), window | every_nth)
    by_all = by_rule(length, causal, lambda t, s: min(t, s) < few)
    assert torch.equal(patterns.global_mask(length, n, few, causal), window | by_all)


def test_a_query_sees_at_least_itself_and_blocks_fill_the_text():
    for mask in (patterns.window_mask, patterns.strided_mask):
        refuses("must be 1 or more; got 0", mask, 4, 0)
    qkv = torch.randn(3, 10, 4)
    refuses("10 positions can't be cut into blocks of 4", patterns.window_attention, *qkv, 4)


def paths(mask, n_layers, query, key):
    """Search for a way from `key` to `query` through the layers: the oracle of `reach`."""
    if n_layers == 0:
        return query == key
    onward = {query, *mask[query].nonzero().flatten().tolist()}
    return any(paths(mask, n_layers - 1, step, key) for step in onward)


@drawn(some.integers(1, 6), some.integers(0, 3), some.integers(0, 2**32))
def test_reach_is_what_a_search_for_paths_finds(length, n_layers, seed):
    mask = torch.rand(length, length, generator=torch.Generator().manual_seed(seed)) < 0.3
    found = patterns.reach(mask, n_layers)
    for query, key in itertools.product(range(length), repeat=2):
        assert found[query, key] == paths(mask, n_layers, query, key)


@drawn(some.integers(2, 40), some.integers(2, 9), direction)
def test_a_window_needs_the_length_divided_by_its_step(length, window, causal):
    layers = patterns.layers_to_meet(patterns.window_mask(length, window, causal))
    assert layers == math.ceil((length - 1) / (window - 1))


@drawn(some.integers(2, 40), some.integers(1, 9))
def test_a_stride_or_a_global_position_needs_two_layers_at_most(length, number):
    assert patterns.layers_to_meet(patterns.strided_mask(length, number)) <= 2
    assert patterns.layers_to_meet(patterns.global_mask(length, number, 1)) <= 2


def test_what_never_meets_is_infinitely_far():
    assert patterns.layers_to_meet(patterns.window_mask(5, 1)) == math.inf
    assert patterns.layers_to_meet(torch.eye(1, dtype=torch.bool)) == 0
    # A causal global position can be read by all, but it has read nothing itself.
    slow = patterns.global_mask(29, 4, 1, causal=True)
    assert patterns.layers_to_meet(slow) == math.ceil((29 - 2) / 3)  # between position 1 and 28


@drawn(some.integers(1, 5), some.integers(1, 6), some.integers(0, 2**32))
def test_window_attention_is_attention_under_the_mask(blocks, window, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(3, 2, 2, blocks * window, 4, dtype=torch.float64, generator=generator)
    expected, _ = scaled_dot_product_attention(*x, patterns.window_mask(blocks * window, window))
    torch.testing.assert_close(patterns.window_attention(*x, window), expected)
