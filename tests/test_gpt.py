"""GPT: equal to Hugging Face's GPT-2, cached and not; rotary positions and grouped heads."""

import pytest
import torch
from samples import refuses

from helpers import exercises
from helpers.models.gpt import GPT, CausalSelfAttention, GPTCache, GPTConfig, gpt2_state
from helpers.transformer.attention import MultiHeadAttention
from helpers.transformer.decoding import greedy

SMALL = {"vocab_size": 50, "d_model": 24, "n_heads": 4, "n_layers": 3, "max_len": 32}
SIZES = {"vocab_size": 50, "n_embd": 24, "n_head": 4, "n_layer": 3}  # as Hugging Face names them


def make(**changed):
    torch.manual_seed(1)
    return GPT(GPTConfig(**(SMALL | {"dropout": 0.0} | changed))).double().eval()


def scrambled(model):
    """Give norms and biases values of their own, so that a swapped one shows."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


@pytest.mark.slow
def test_it_equals_gpt_2():
    from transformers import GPT2Config, GPT2LMHeadModel  # here: it takes seconds

    model = scrambled(make())
    config = GPT2Config(**SIZES, n_positions=32, attn_pdrop=0, embd_pdrop=0)
    theirs = GPT2LMHeadModel(config).double().eval()
    theirs.load_state_dict(gpt2_state(model))
    ids = torch.randint(50, (3, 17))
    with torch.no_grad():
        torch.testing.assert_close(model(ids), theirs(ids).logits, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("changed", [{"positions": "rotary"}, {"n_kv_heads": 2}, {"n_kv_heads": 1}])
def test_the_cache_changes_nothing(changed):
    model = scrambled(make(**changed))
    ids = torch.randint(50, (2, 12))
    with torch.no_grad():
        whole, cache = model(ids), GPTCache(3)
        for start, end in ((0, 5), (5, 6), (6, 8), (8, 12)):  # two at once need a mask
            new = model.output_proj(model.decode(ids[:, :end], cache))
            torch.testing.assert_close(new, whole[:, start:end], rtol=1e-10, atol=1e-10)
    assert cache.layers[0].key.all().shape == (2, changed.get("n_kv_heads", 4), 12, 6)


def test_query_heads_of_a_group_share_their_keys_and_values():
    grouped, plain = CausalSelfAttention(24, 4, 2), MultiHeadAttention(24, 4)
    state = grouped.state_dict()
    for name in ("key_proj", "value_proj"):
        for kind in ("weight", "bias"):
            two = state[f"{name}.{kind}"].unflatten(0, (2, 6))  # two heads of width 6
            state[f"{name}.{kind}"] = two.repeat_interleave(2, 0).flatten(0, 1)
    plain.load_state_dict(state)
    x = torch.randn(2, 9, 24)
    torch.testing.assert_close(grouped(x, x, x)[0], plain(x, x, x)[0])


@pytest.mark.parametrize("cached", [True, False])
def test_greedy_decoding_goes_on_from_the_prompt(cached):
    model, prompt = make(positions="rotary"), torch.randint(50, (2, 5))
    found = greedy(model.decoder_step(prompt, cached), 2, 0, -1, 8)
    ids = prompt
    with torch.no_grad():
        for _ in range(8):
            ids = torch.cat([ids, model(ids)[:, -1:].argmax(-1)], 1)
    assert found == ids[:, 5:].tolist()


@pytest.mark.parametrize("max_len", [1, 2, 3, 8])
@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_a_text_longer_than_the_model_goes_on_from_its_last_half(positions, max_len):
    model = make(positions=positions, max_len=max_len)
    prompt = torch.randint(50, (1, 6 if max_len == 8 else 1))
    with_cache = greedy(model.decoder_step(prompt), 1, 0, -1, 20)
    assert with_cache == greedy(model.decoder_step(prompt, cached=False), 1, 0, -1, 20)
    assert len(with_cache[0]) == 20
    if max_len == 8:  # the ninth token is predicted from the last four
        ids = torch.cat([prompt, torch.tensor(with_cache)[:, :3]], 1)
        with torch.no_grad():
            assert model(ids[:, 5:])[0, -1].argmax() == with_cache[0][3]


def test_the_exercise_counts_what_the_model_has():
    counted = exercises.reference("count_gpt_parameters")(50, 24, 3, 32)
    assert counted == sum(p.numel() for p in make().parameters())


def test_a_wrong_choice_and_ids_that_do_not_fit_are_refused():
    refuses("positions must be", make, positions="sinusoidal")
    refuses("must divide", make, n_kv_heads=3)
    refuses("norm must be one of", make, norm="batch")
    refuses("activation must be one of", make, activation="tanh")
    refuses("no tokens", make(), torch.zeros(1, 0, dtype=torch.long))
    refuses("max_len=32", make(), torch.zeros(1, 33, dtype=torch.long))
    refuses("0 … 49", make(), torch.full((1, 3), 50))


@pytest.mark.parametrize(
    "changed", [{}, {"n_kv_heads": 2}, {"n_kv_heads": 1}, {"activation": "swiglu", "norm": "rms"}]
)
def test_every_choice_starts_alike_with_biases_of_zero(changed):
    model = make(**changed)
    biases = [p for name, p in model.named_parameters() if name.endswith("bias")]
    assert biases
    assert all(not bias.any() for bias in biases)
