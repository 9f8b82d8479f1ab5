"""BERT's encoder: equal to PyTorch's layers, both directions, segments, and its limits."""

import pytest
import torch
from torch import nn
from twins import copy_weights, layer_pairs

from helpers.bert import BertConfig, BertEncoder

IDS = torch.tensor([[5, 6, 7, 2], [8, 9, 0, 0]])
SIZES = {"vocab_size": 12, "d_model": 8, "n_heads": 2, "n_layers": 2, "d_ff": 16, "max_len": 6}


def small(**changes):
    return BertEncoder(BertConfig(**(SIZES | changes))).double().eval()


def test_equals_pytorch_s_post_norm_layers_with_gelu():
    ours = small(norm_eps=0.1)
    x = ours.embedding(IDS) + ours.positions.table[:4] + ours.segments.weight[0]
    x = nn.functional.layer_norm(x, [8], ours.norm.weight, ours.norm.bias, eps=0.1)
    for layer in ours.layers:
        theirs = nn.TransformerEncoderLayer(
            8, 2, 16, 0.0, "gelu", layer_norm_eps=0.1, batch_first=True
        ).double()
        copy_weights(layer_pairs(theirs, layer, 2))
        x = theirs(x, src_key_padding_mask=IDS == 0)
    real = IDS != 0
    torch.testing.assert_close(ours(IDS)[real], x[real], atol=1e-10, rtol=0)


def test_segments_tell_two_texts_apart():
    model = small()
    torch.testing.assert_close(model(IDS, torch.zeros_like(IDS)), model(IDS))
    assert not torch.allclose(model(IDS, torch.ones_like(IDS)), model(IDS))


def test_attention_maps_look_both_ways_and_leave_padding_out():
    model = small(dropout=0.5).train()
    weights = model.attention_maps(IDS)
    assert model.training
    assert weights.shape == (2, 2, 2, 4, 4)
    assert not weights.requires_grad
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 2, 4).double())
    assert (weights[0] > 0).all()
    assert (weights[1, ..., 2:] == 0).all()
    assert torch.equal(weights, model.attention_maps(IDS))


def test_dropout_is_on_in_training_only():
    model = small(dropout=0.5)
    assert torch.equal(model(IDS), model(IDS))
    model.train()
    for layer in model.layers:
        layer.eval()
    assert not torch.allclose(model(IDS), model(IDS))  # that of the embeddings alone


def test_defaults_are_minilm_s_and_errors_are_clear():
    config = BertConfig()
    assert (config.d_model, config.n_heads, config.n_layers, config.d_ff) == (384, 12, 6, 1536)
    assert (config.vocab_size, config.max_len, config.norm_eps) == (30522, 512, 1e-12)
    with pytest.raises(ValueError, match="holds 6 positions"):
        small()(torch.ones(1, 7, dtype=torch.long))
