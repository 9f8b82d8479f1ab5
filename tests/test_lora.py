"""LoRA: starts as the model it wraps, trains alone, merges to the same numbers."""

import pytest
import torch
from samples import refuses
from test_bert import IDS, SIZES
from torch import nn

from helpers.models.bert import BertConfig, BertEncoder, TextClassifier
from helpers.models.lora import LoRALinear, add_lora, merge_lora, trainable_state
from helpers.pretrained.adapters import load_adapter, save_adapter


def adapted(seed=0, rank=2, **changes):
    torch.manual_seed(seed)
    encoder = add_lora(BertEncoder(BertConfig(**(SIZES | changes))), rank=rank)
    return TextClassifier(encoder, 2, pooling="mean").eval()


def with_random_adapters(model):
    for name, tensor in trainable_state(model).items():
        if name.endswith(".up"):
            nn.init.normal_(tensor)
    return model


def test_equals_the_formula_of_the_paper():
    base = nn.Linear(5, 3).double()
    layer = LoRALinear(base, rank=2, alpha=6.0)
    nn.init.normal_(layer.up)
    x = torch.randn(4, 5, dtype=torch.float64)
    b, a = layer.up, layer.down
    expected = base.weight @ x.T + 6.0 / 2 * (b @ (a @ x.T)) + base.bias[:, None]
    torch.testing.assert_close(layer(x), expected.T)


def test_a_fresh_adapter_changes_nothing():
    encoder = BertEncoder(BertConfig(**SIZES)).eval()
    before = encoder(IDS)
    assert torch.equal(add_lora(encoder, rank=2)(IDS), before)


def test_only_the_chosen_layers_get_adapters_and_only_these_train():
    encoder = add_lora(BertEncoder(BertConfig(**SIZES)), rank=2, names=("query_proj", "linear_2"))
    assert sorted(trainable_state(encoder)) == sorted(
        f"layers.{i}.{layer}.{part}"
        for i in range(2)
        for layer in ("self_attention.query_proj", "feed_forward.linear_2")
        for part in ("down", "up")
    )
    frozen = {n: p.clone() for n, p in encoder.named_parameters() if not p.requires_grad}
    trained = {n: p.clone() for n, p in trainable_state(encoder).items()}
    optimizer = torch.optim.Adam(p for p in encoder.parameters() if p.requires_grad)
    for _ in range(2):  # the first step moves B alone, since B = 0 lets no gradient through to A
        encoder(IDS).square().sum().backward()
        optimizer.step()
    now = dict(encoder.named_parameters())
    assert all(torch.equal(now[name], before) for name, before in frozen.items())
    assert all(not torch.equal(now[name], before) for name, before in trained.items())


def test_merged_weights_give_the_same_numbers():
    model = with_random_adapters(adapted()).double()
    before = model(IDS)
    merge_lora(model)
    assert not [layer for layer in model.modules() if isinstance(layer, LoRALinear)]
    torch.testing.assert_close(model(IDS), before, atol=1e-6, rtol=0)


def test_a_layer_without_bias_merges_too():
    layer = LoRALinear(nn.Linear(4, 3, bias=False), rank=1, alpha=1.0)
    nn.init.normal_(layer.up)
    x = torch.randn(2, 4)
    assert layer.merged().bias is None
    torch.testing.assert_close(layer.merged()(x), layer(x))


def test_an_adapter_file_holds_adapter_and_head_and_fits_its_base_alone(tmp_path):
    model = with_random_adapters(adapted())
    path = tmp_path / "adapter.safetensors"
    save_adapter(model, path, {"seed": 3})
    same_base = adapted()
    assert load_adapter(same_base, path) == {"seed": 3}
    torch.testing.assert_close(same_base(IDS), model(IDS), atol=1e-2, rtol=0)  # 16-bit floats
    for name, tensor in trainable_state(same_base).items():
        assert torch.equal(tensor, trainable_state(model)[name].half().float())

    refuses("trained on other base weights", load_adapter, adapted(seed=1), path)
    refuses(r"down of shape \(2, 8\), this model \(4, 8\)", load_adapter, adapted(rank=4), path)


def test_errors_say_what_was_expected():
    refuses("between 1 and the smaller side .*, here 3", LoRALinear, nn.Linear(5, 3), 4, alpha=1.0)
    bert = BertEncoder(BertConfig(**SIZES))
    refuses("no linear layer named query", add_lora, bert, names=("query",))


@pytest.mark.parametrize("damage", ["cut", "not an adapter"])
def test_a_damaged_adapter_says_what_to_do(tmp_path, damage):
    path = tmp_path / "mine.safetensors"
    save_adapter(adapted(), path, {"seed": 3})
    content = path.read_bytes()
    path.write_bytes(content[:-40] if damage == "cut" else b"nothing of the kind")
    refuses(r"mine.safetensors is damaged .*train the adapter again", load_adapter, adapted(), path)
