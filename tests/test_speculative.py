"""Speculative decoding writes what plain decoding writes; 8-bit weights are as near as they say."""

import pytest
import torch
from torch import nn

from helpers.models.bert import BertConfig, BertEncoder, MaskedLanguageModel
from helpers.models.eight_bits import Int8Embedding, Int8Linear, in_int8, n_bytes, to_int8
from helpers.models.gpt import GPT, GPTCache, GPTConfig
from helpers.models.speculative import CountedDraft, speculate


def make(**changed):
    torch.manual_seed(1)
    sizes = {"vocab_size": 20, "d_model": 24, "n_heads": 4, "n_layers": 2, "max_len": 64}
    model = GPT(GPTConfig(**(sizes | changed), dropout=0.0)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)  # so that no two logits are nearly equal
    return model


def greedy(model, prompt, n):
    ids = prompt.tolist()
    with torch.no_grad():
        for _ in range(n):
            ids.append(int(model(torch.tensor([ids]))[0, -1].argmax()))
    return ids[len(prompt) :]


def liar(ids, n):
    return [(7 * ids[-1] + 1) % 20] * n


@pytest.mark.parametrize("positions", ["learned", "rotary"])
@pytest.mark.parametrize("share", ["none", "some", "all"])
def test_the_text_is_that_of_plain_decoding_whatever_the_draft_guesses(positions, share):
    model, prompt = make(positions=positions), torch.randint(20, (5,))
    wanted = greedy(model, prompt, 40)

    def oracle(ids, n):
        done = len(ids) - 5
        guesses = wanted[done : done + n]
        if share == "some" and len(guesses) > 2:
            guesses[2] = (guesses[2] + 1) % 20
        return guesses

    found = speculate(model, prompt, liar if share == "none" else oracle, 40)
    assert found.ids == wanted
    if share == "all":
        assert found.passes == 8
        assert found.accepted == found.guessed == 32
    if share == "some":
        assert found.passes == 14  # two guesses and the model's own choice: three tokens a pass
    if share == "none":
        assert found.accepted < 20
        assert found.passes == 40 - found.accepted


def test_drawn_tokens_are_those_of_plain_decoding_with_the_same_seed():
    model, prompt = make(), torch.randint(20, (5,))
    draft = CountedDraft(torch.randint(20, (500,)), 20)
    texts = []
    for n_guesses in (0, 3):
        generator = torch.Generator().manual_seed(5)

        def draw(logits, generator=generator):
            return torch.multinomial((logits / 2).softmax(-1), 1, generator=generator)

        texts.append(speculate(model, prompt, draft, 40, n_guesses, draw))
    assert texts[0].ids == texts[1].ids
    assert texts[0].passes == 40
    assert texts[0].guessed == 0
    assert texts[1].passes == 40 - texts[1].accepted


def test_a_text_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="max_len=64"):
        speculate(make(), torch.zeros(5, dtype=torch.long), liar, 60)


def test_a_shortened_cache_goes_on_as_if_the_rest_had_never_been():
    model, ids = make(), torch.randint(20, (2, 12))
    other = torch.cat([ids[:, :7], (ids[:, 7:] + 1) % 20], 1)
    cache = GPTCache(2)
    with torch.no_grad():
        model.decode(other, cache)
        cache.shorten(7)
        assert cache.length == 7
        torch.testing.assert_close(model.decode(ids, cache), model.decode(ids)[:, 7:])


def test_the_draft_looks_in_the_text_first_and_then_in_its_counts():
    draft = CountedDraft(torch.tensor([1, 2, 3, 1, 2, 3, 1, 2, 4, 5, 2, 6]), 10)
    assert draft.next_token([1, 2]) == 3  # after 1, 2: twice 3, once 4
    assert draft.next_token([9, 2]) == 3  # the pair is unknown; after 2: 3 twice, 4 and 6 once
    assert draft.next_token([1, 2, 8, 0, 1, 2]) == 8  # the text itself goes before the table
    assert draft.next_token([7, 1, 2, 8, 9, 1, 2, 0, 7, 1, 2]) == 8  # three tokens before two
    assert draft([1, 2, 3, 9], 2) == [0, 0]  # nothing is known of 9 or 0
    assert draft([9, 1], 3) == [2, 3, 1]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_rounding_is_off_by_at_most_half_a_step_and_changes_no_sign(dtype):
    weight = torch.randn(4000, 64).to(dtype)
    weight[3] = 0
    whole, scale = to_int8(weight)
    assert (whole.dtype, scale.dtype) == (torch.int8, dtype)
    assert whole.int().abs().amax(-1).unique().tolist() == [0, 127]
    assert (whole.sign() * weight.sign() >= 0).all()
    error = (whole.float() * scale.float() - weight.float()).abs()
    # In 16 bits the scale itself is rounded, so the largest number may be cut to 127 scales.
    slack = 0.501 if dtype == torch.float32 else 1.0
    assert (error <= slack * scale.float()).all()


def tiny_gpt():
    return GPT(GPTConfig(vocab_size=30, d_model=64, n_heads=4, n_layers=2, max_len=32)).eval()


def test_an_output_that_is_the_table_and_numbers_in_bf16_survive_8_bits():
    config = BertConfig(vocab_size=30, d_model=16, n_heads=2, n_layers=1, d_ff=32, max_len=20)
    bert = MaskedLanguageModel(BertEncoder(config)).eval()  # its output has no matrix of its own
    ids = torch.randint(1, 30, (2, 20))
    for model in (bert, tiny_gpt().bfloat16()):
        with torch.no_grad():
            ours, theirs = model(ids).float(), in_int8(model)(ids).float()
        assert (ours - theirs).abs().max() < 0.1 * ours.std()


def test_layers_in_8_bits_compute_with_the_rounded_numbers():
    linear, table = nn.Linear(7, 5).double(), nn.Embedding(9, 7).double()
    x, ids = torch.randn(3, 7).double(), torch.tensor([[0, 8, 3]])
    whole, scale = to_int8(linear.weight.detach())
    torch.testing.assert_close(Int8Linear(linear)(x), x @ (whole * scale).T + linear.bias)
    whole, scale = to_int8(table.weight.detach())
    torch.testing.assert_close(Int8Embedding(table)(ids), (whole * scale)[ids])


def test_a_model_in_8_bits_is_nearly_the_same_and_a_quarter_as_large():
    model = tiny_gpt()
    smaller, ids = in_int8(model), torch.randint(30, (2, 20))
    before = model.embedding.weight.clone()
    with torch.no_grad():
        ours, theirs = model(ids).log_softmax(-1), smaller(ids).log_softmax(-1)
    assert 0 < (ours - theirs).abs().max() < 0.05
    assert smaller.embedding.whole.data_ptr() == smaller.output_proj.whole.data_ptr()
    assert n_bytes(model) == 4 * sum(p.numel() for p in model.parameters())
    assert 0.25 < n_bytes(smaller) / n_bytes(model) < 0.32
    torch.testing.assert_close(model.embedding.weight, before)  # the model itself is left alone
