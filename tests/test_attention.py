"""Our attention against loops, against PyTorch's, and against its own promises."""

import math

import pytest
import torch
from samples import refuses
from torch import nn
from twins import assert_gradients_equal, attention_pairs, copy_weights

from helpers.transformer import attention
from helpers.transformer.cache import KeyValueCache


def mask_of(kind, b, t, s):
    lengths = torch.arange(b) % s + 1
    padding = (torch.arange(s) < lengths[:, None])[:, None, None, :]
    causal = torch.ones(t, s).tril(s - t).bool()
    return {
        "none": None, "padding": padding, "causal": causal, "both": padding & causal,
    }[kind]  # fmt: skip


def test_against_loops():
    query, key, value = (torch.randn(n, 4, dtype=torch.float64) for n in (3, 5, 5))
    mask = torch.rand(3, 5) < 0.6
    mask[1] = False  # one query may look at nothing
    context, weights = attention.scaled_dot_product_attention(query, key, value, mask)
    expected_context, expected_weights = torch.zeros_like(context), torch.zeros_like(weights)
    for t, q in enumerate(query):
        allowed = [s for s in range(len(key)) if mask[t, s]]
        powers = {s: math.exp(float(q @ key[s]) / math.sqrt(len(q))) for s in allowed}
        for s in allowed:
            expected_weights[t, s] = powers[s] / sum(powers.values())
            expected_context[t] += expected_weights[t, s] * value[s]
    torch.testing.assert_close(context, expected_context)
    torch.testing.assert_close(weights, expected_weights)


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_row_with_nothing_to_see_gives_zeros_and_finite_gradients(need_weights):
    layer = attention.MultiHeadAttention(8, 2).double()
    nn.init.normal_(layer.out_proj.bias)
    x = torch.randn(2, 3, 8, dtype=torch.float64, requires_grad=True)
    mask = torch.ones(2, 1, 3, 3, dtype=torch.bool)
    mask[0, :, 1] = False
    mask[1] = False
    output, weights = layer(x, x, x, mask, need_weights)
    torch.testing.assert_close(output[1], layer.out_proj.bias.expand(3, 8))
    torch.testing.assert_close(output[0, 1], layer.out_proj.bias)
    if need_weights:
        assert (weights[1] == 0).all()
        assert (weights[0, :, 1] == 0).all()
    output.sum().backward()
    assert x.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in layer.parameters())


@pytest.mark.parametrize("kind", ["none", "padding", "causal", "both"])
@pytest.mark.parametrize(("d_model", "n_heads"), [(4, 1), (8, 2), (12, 4)])
def test_multi_head_equals_pytorch(d_model, n_heads, kind):
    ours = attention.MultiHeadAttention(d_model, n_heads).double()
    theirs = nn.MultiheadAttention(d_model, n_heads, batch_first=True).double()
    for linear in (ours.query_proj, ours.key_proj, ours.value_proj, ours.out_proj):
        nn.init.normal_(linear.bias)
    pairs = copy_weights(attention_pairs(theirs, ours))
    query = torch.randn(3, 4, d_model, dtype=torch.float64)
    key, value = torch.randn(2, 3, 4, d_model, dtype=torch.float64)
    mask = mask_of(kind, 3, 4, 4)
    their_mask = None
    if mask is not None:
        their_mask = ~mask.expand(3, n_heads, 4, 4).reshape(3 * n_heads, 4, 4)
    expected, expected_weights = theirs(
        query, key, value, attn_mask=their_mask, average_attn_weights=False
    )
    output, weights = ours(query, key, value, mask, need_weights=True)
    torch.testing.assert_close(output, expected, atol=1e-10, rtol=0)
    torch.testing.assert_close(weights, expected_weights, atol=1e-10, rtol=0)
    assert_gradients_equal(pairs, expected, output)


def test_additive_scores_by_loops():
    layer = attention.AdditiveAttention(3, 4, 5).double()
    query, keys = (torch.randn(*size, dtype=torch.float64) for size in ((2, 3), (2, 6, 4)))
    mask = torch.rand(2, 6) < 0.7
    w, u, v = layer.parameters()  # and no biases
    context, weights = layer(query, keys, mask)
    for b in range(2):
        scores = torch.stack([v[0] @ torch.tanh(w @ query[b] + u @ key) for key in keys[b]])
        expected = scores.masked_fill(~mask[b], -math.inf).softmax(0)
        torch.testing.assert_close(weights[b], expected)
        torch.testing.assert_close(context[b], expected @ keys[b])
    torch.testing.assert_close(layer(query, keys, mask, layer.key_proj(keys))[1], weights)


@pytest.mark.parametrize("score", ["dot", "general", "concat"])
def test_multiplicative_scores_by_loops(score):
    layer = attention.MultiplicativeAttention(4, 4, score).double()
    query = torch.randn(2, 3, 4, dtype=torch.float64)
    keys = torch.randn(2, 5, 4, dtype=torch.float64)
    scores = layer.scores(query, keys)
    for b in range(2):
        for t in range(3):
            for s in range(5):
                q, k = query[b, t], keys[b, s]
                expected = {
                    "dot": lambda q=q, k=k: q @ k,
                    "general": lambda q=q, k=k: q @ (layer.weight.weight @ k),
                    "concat": lambda q=q, k=k: (
                        layer.energy.weight[0] @ torch.tanh(layer.weight.weight @ torch.cat([q, k]))
                    ),
                }[score]()
                torch.testing.assert_close(scores[b, t, s], expected)
    mask = torch.arange(5) < torch.tensor([[2], [4]])
    context, weights = layer(query, keys, mask)
    assert not weights.masked_select(~mask[:, None]).any()
    one_context, one_weights = layer(query[:, 0], keys, mask)
    torch.testing.assert_close(one_weights, weights[:, 0])
    torch.testing.assert_close(one_context, context[:, 0])


@pytest.mark.parametrize("need_weights", [False, True])
def test_dropout_drops_a_share_of_the_weights_and_scales_the_rest(need_weights):
    n = 200
    layer = attention.MultiHeadAttention(n, 1, dropout=0.25)
    with torch.no_grad():  # equal weights 1/n, and values that show them
        layer.query_proj.weight.zero_()
        layer.value_proj.weight.copy_(torch.eye(n))
        layer.out_proj.weight.copy_(torch.eye(n))
    x = torch.eye(n)[None]
    output, weights = layer(x, x, x, need_weights=need_weights)
    assert (output == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)
    assert output.max().item() == pytest.approx(4 / 3 / n, rel=1e-4)
    if need_weights:  # as they were before dropout
        torch.testing.assert_close(weights, torch.full((1, 1, n, n), 1 / n))
    assert (layer.eval()(x, x, x, need_weights=need_weights)[0] > 0).all()


def test_projections_start_as_glorot_and_bengio_say():
    layer = attention.MultiHeadAttention(64, 4)
    limit = math.sqrt(6 / (64 + 64))
    for linear in (layer.query_proj, layer.key_proj, layer.value_proj, layer.out_proj):
        assert limit * 0.98 < linear.weight.abs().max() <= limit
        assert (linear.bias == 0).all()


@pytest.mark.parametrize("grows", [True, False])
def test_a_cache_gives_all_keys_and_values_so_far(grows):
    layer, x = attention.MultiHeadAttention(8, 2), torch.randn(3, 4, 8)
    cache = KeyValueCache(grows)
    cache.reorder(torch.tensor([2, 0]))  # nothing to reorder yet
    first = cache.project(layer, x[:, :3], x[:, :3])
    torch.testing.assert_close(first, layer.project_key_value(x[:, :3], x[:, :3]))
    rows = torch.tensor([2, 0])
    cache.reorder(rows)
    new = x[rows, 3:]
    after = cache.project(layer, new, new)
    whole = x[rows] if grows else x[rows, :3]
    torch.testing.assert_close(after, layer.project_key_value(whole, whole))


def test_recorded_weights_come_in_the_order_of_the_layers_and_only_inside_the_block():
    layers = nn.ModuleList([attention.MultiHeadAttention(8, n) for n in (1, 2, 4)])
    x = torch.randn(2, 3, 8)
    with attention.recorded_weights(layers) as maps:
        outputs = [layer(x, x, x)[0] for layer in layers]
    for layer, output in zip(layers, outputs, strict=True):
        torch.testing.assert_close(layer(x, x, x)[0], output)
        assert layer(x, x, x)[1] is None
    assert [weights.shape[1] for weights in maps] == [1, 2, 4]
    torch.testing.assert_close(maps[1], layers[1](x, x, x, need_weights=True)[1])


def test_another_forward_runs_inside_the_block_and_the_old_one_after_it():
    layer, x = attention.MultiHeadAttention(8, 2), torch.randn(2, 5, 8)
    model = nn.Sequential(layer)
    before = layer(x, x, x)[0]
    with attention.running(model, lambda layer, query, *_: (-query, None)):
        torch.testing.assert_close(layer(x, x, x)[0], -x)
    torch.testing.assert_close(layer(x, x, x)[0], before)


def test_heads_off_silences_and_restores():
    layer = attention.MultiHeadAttention(8, 2)
    x = torch.randn(1, 4, 8)
    before = layer(x, x, x)[0]
    with attention.heads_off(layer, [0, 1]):
        torch.testing.assert_close(layer(x, x, x)[0], layer.out_proj.bias.expand(1, 4, 8))
    with attention.heads_off(layer, [1]):
        assert not torch.allclose(layer(x, x, x)[0], before)
    torch.testing.assert_close(layer(x, x, x)[0], before)
    with pytest.raises(ValueError, match="heads are 0 … 1"), attention.heads_off(layer, [2]):
        pass


def test_errors_say_what_was_expected_and_what_came():
    x = torch.randn(1, 3, 8)
    layer = attention.MultiHeadAttention(8, 2)
    for need_weights in (False, True):
        refuses("must be boolean", layer, x, x, x, torch.ones(3, 3), need_weights)
        refuses("must broadcast to the scores", layer, x, x, x, torch.ones(2, 2) > 0, need_weights)
    refuses("must divide d_model; got d_model=8, n_heads=3", attention.MultiHeadAttention, 8, 3)
    attend, four = attention.scaled_dot_product_attention, torch.ones(2, 4)
    refuses("same width to be compared; got 4 and 5", attend, four, *torch.ones(2, 2, 5))
    refuses("every key needs one value", attend, four, four, torch.ones(3, 4))
    refuses("score must be", attention.MultiplicativeAttention, 4, 4, "cosine")
    refuses("equal widths", attention.MultiplicativeAttention, 4, 5, "dot")
