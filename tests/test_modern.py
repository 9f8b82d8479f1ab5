"""What changed since 2017: equal to PyTorch's RMSNorm, and to Hugging Face's Llama and GPT-1."""

import pytest
import torch
from test_gpt import SIZES, SMALL, make, scrambled
from torch import nn
from twins import llama_twin

from helpers.models.gpt import GPT, GPTConfig, gpt2_state
from helpers.models.modern import RMSNorm

TODAY = {"positions": "rotary", "n_kv_heads": 2, "activation": "swiglu", "norm": "rms"}
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


class ExactAngles(nn.Module):
    """Llama's angles, which it computes in float32 whatever it is given, in float64."""

    def forward(self, x, position_ids):
        frequency = 10000.0 ** (-torch.arange(0, 6, 2, dtype=torch.float64) / 6)
        angle = position_ids[..., None] * frequency  # (B, T, K/2)
        twice = torch.cat([angle, angle], -1)
        return twice.cos(), twice.sin()


def exact(llama):
    """Let the two parts of a Llama that always compute in float32 keep float64."""
    llama.model.rotary_emb = ExactAngles()
    for place in (llama.model, *llama.model.layers):
        for name in ("norm", "input_layernorm", "post_attention_layernorm"):
            if hasattr(place, name):
                norm = nn.RMSNorm(24, llama.config.rms_norm_eps).double()
                norm.load_state_dict(getattr(place, name).state_dict())
                setattr(place, name, norm)
    return llama


def test_rms_norm_by_hand_and_by_pytorch():
    x = torch.tensor([[3.0, 4.0, 0.0, 0.0]]).double()
    norm = RMSNorm(4, eps=0.0).double()
    torch.testing.assert_close(norm(x), x / 2.5)  # the mean of 9, 16, 0 and 0 is 6.25
    ours, theirs = RMSNorm(24, 1e-3).double(), nn.RMSNorm(24, 1e-3).double()
    with torch.no_grad():
        ours.weight.uniform_(0.5, 2.0)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(3, 7, 24).double() * 0.1
    torch.testing.assert_close(ours(x), theirs(x), **CLOSE)


def test_swiglu_has_by_default_as_many_parameters_as_the_plain_network():
    counts = {}
    for activation in ("gelu", "swiglu"):
        layer = GPT(GPTConfig(**(SMALL | {"d_model": 96}), activation=activation)).layers[0]
        counts[activation] = sum(p.numel() for p in layer.feed_forward.parameters() if p.dim() > 1)
    assert counts["swiglu"] == counts["gelu"] == 8 * 96**2


@pytest.mark.slow
@pytest.mark.parametrize("changed", [{}, {"n_kv_heads": 1}, {"tie_embeddings": False}])
def test_all_changes_together_equal_llama(changed):
    model = scrambled(make(**(TODAY | changed)))
    ids = torch.randint(50, (3, 17))
    theirs = llama_twin(model)
    with torch.no_grad():
        torch.testing.assert_close(model(ids), theirs(ids).logits, rtol=1e-3, atol=1e-5)
        torch.testing.assert_close(model(ids), exact(theirs)(ids).logits, **CLOSE)


@pytest.mark.slow
def test_none_of_them_equals_the_first_gpt():
    from transformers import OpenAIGPTConfig, OpenAIGPTLMHeadModel

    model = scrambled(make(norm_first=False))
    theirs = OpenAIGPTLMHeadModel(
        OpenAIGPTConfig(**SIZES, n_positions=32, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    ).double()
    last, model.norm = model.norm, nn.LayerNorm(24)  # so that its names can be read as GPT-2's
    renamed = {}
    for name, weight in gpt2_state(model).items():
        if "ln_f" not in name:
            name = name.replace("wte", "tokens_embed").replace("wpe", "positions_embed")
            renamed[name] = weight
    model.norm = last
    theirs.load_state_dict(renamed)
    ids = torch.randint(50, (3, 17))
    with torch.no_grad():
        torch.testing.assert_close(model(ids), theirs.eval()(ids).logits, **CLOSE)
