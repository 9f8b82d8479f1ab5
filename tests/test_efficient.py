"""Cheaper forms of attention, each held to the form that it replaces."""

import math

import pytest
import torch
from drawn import drawn
from hypothesis import strategies as some

from helpers.models import efficient
from helpers.transformer.attention import scaled_dot_product_attention

small = some.integers(1, 7)
seeds = some.integers(0, 2**32)


def normal(seed, *shape):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def quadratic(query, key, value, causal):
    """Linear attention as it is defined: all the weights first."""
    weights = efficient.feature_map(query) @ efficient.feature_map(key).transpose(-2, -1)
    weights = weights.tril() if causal else weights
    return weights @ value / weights.sum(-1, keepdim=True)


@drawn(*[some.integers(1, 50)] * 3)
def test_the_cache_counts_what_a_cache_holds(n_tokens, n_heads, d_head):
    keys = torch.zeros(1, n_heads, n_tokens, d_head, dtype=torch.float16)
    held = 2 * keys.numel() * keys.element_size()
    assert efficient.cache_size(n_tokens, 3, n_heads, d_head) == 3 * held


@drawn(small, some.integers(1, 12), some.integers(1, 5), seeds, some.sampled_from([1, 30, 300]))
def test_tiled_attention_is_attention(n_queries, n_keys, block, seed, scale):
    query = scale * normal(seed, 2, n_queries, 4)
    key, value = normal(seed + 1, 2, n_keys, 4), normal(seed + 2, 2, n_keys, 3)
    expected, _ = scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(efficient.tiled_attention(query, key, value, block), expected)


@drawn(small, small, seeds)
def test_linear_attention_is_its_quadratic_form(n_queries, n_keys, seed):
    query, key = normal(seed, 2, n_queries, 4), normal(seed + 1, 2, n_keys, 4)
    value = normal(seed + 2, 2, n_keys, 3)
    torch.testing.assert_close(
        efficient.linear_attention(query, key, value), quadratic(query, key, value, causal=False)
    )


@drawn(some.integers(1, 12), some.integers(1, 14), seeds)
def test_causal_linear_attention_is_its_quadratic_form_in_chunks_of_any_size(length, chunk, seed):
    query, key, value = (normal(seed + i, 2, length, 4) for i in range(3))
    found = efficient.causal_linear_attention(query, key, value, chunk)
    torch.testing.assert_close(found, quadratic(query, key, value, causal=True))


@drawn(some.integers(1, 12), seeds)
def test_causal_linear_attention_is_a_recurrence(length, seed):
    query, key = normal(seed, 2, length, 4), normal(seed + 1, 2, length, 4)
    value = normal(seed + 2, 2, length, 3)
    state, total = normal(seed, 2, 4, 3) * 0, normal(seed, 2, 4) * 0
    rows = []
    for t in range(length):
        row, state, total = efficient.linear_attention_step(
            query[:, t], key[:, t], value[:, t], state, total
        )
        rows.append(row)
    torch.testing.assert_close(
        torch.stack(rows, 1), efficient.causal_linear_attention(query, key, value)
    )


@drawn(some.integers(1, 6), seeds)
def test_a_mixture_is_the_weighted_sum_of_the_chosen_experts(k, seed):
    torch.manual_seed(seed)
    layer = efficient.MixtureOfExperts(8, 16, n_experts=6, k=k).double()
    x = normal(seed, 2, 5, 8)
    output, gates = layer(x)
    # All experts for all tokens, weighted by a softmax over the best k scores.
    scores = layer.router(x)
    least = scores.topk(k, dim=-1).values[..., -1:]
    shares = scores.masked_fill(scores < least, -math.inf).softmax(-1)
    dense = sum(shares[..., i, None] * expert(x) for i, expert in enumerate(layer.experts))
    torch.testing.assert_close(output, dense)
    assert ((gates > 0).sum(-1) == k).all()
    torch.testing.assert_close(gates.sum(-1), torch.ones(2, 5, dtype=torch.float64))


def test_a_token_passes_through_k_experts_only():
    layer, seen = efficient.MixtureOfExperts(8, 16, n_experts=6, k=2), []
    for expert in layer.experts:
        expert.register_forward_hook(lambda _, inputs, __: seen.append(len(inputs[0])))
    layer(torch.randn(3, 7, 8))
    assert sum(seen) == 2 * 3 * 7


def test_a_mixture_needs_a_possible_k():
    with pytest.raises(ValueError, match="between 1 and the 4 experts; got 5"):
        efficient.MixtureOfExperts(8, 16, n_experts=4, k=5)


def test_gradients_of_a_mixture_reach_the_router_and_the_chosen_experts():
    layer = efficient.MixtureOfExperts(8, 16, n_experts=4, k=2)
    output, gates = layer(torch.randn(1, 8))
    output.sum().backward()
    for expert, gate in zip(layer.experts, gates[0], strict=True):
        assert expert.linear_2.bias.grad.any() == (gate > 0)
    assert layer.router.weight.grad.any()


def test_importance_loss_is_zero_for_even_use_and_highest_for_one_expert():
    even = torch.full((6, 4), 0.25)
    one = torch.eye(4)[torch.zeros(6, dtype=torch.long)]
    assert efficient.importance_loss(even) == 0
    assert efficient.importance_loss(one).item() == pytest.approx(3)  # n_experts - 1
