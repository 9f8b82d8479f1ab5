"""The story model: it writes, streams, weighs and shows what its GPT computes."""

from itertools import islice

import pytest
import torch
from samples import refuses

from helpers.pretrained.storyteller import load_storyteller
from helpers.transformer.decoding import greedy

PROMPT = "The naïve king said: “"


@pytest.mark.parametrize("text", ["a", PROMPT, "two\nlines\n", "日本 🙂", "<|end|>", "  spaced "])
def test_a_text_comes_back_as_it_was(teller, text):
    assert teller.decode(teller.encode(text)) == text


def test_nothing_is_no_beginning_and_a_dial_out_of_range_is_refused(teller):
    for nothing in ("", None, 3):
        refuses("there has to be a beginning", teller.generate, nothing)
    refuses("temperature", teller.generate, PROMPT, 2, temperature=-1)
    refuses("k", teller.generate, PROMPT, 2, top_k=0)
    refuses("p", teller.generate, PROMPT, 2, top_p=2)


def test_the_coldest_sample_is_greedy(teller):
    ids = teller.encode(PROMPT)[None]
    (wanted,) = greedy(teller.model.decoder_step(ids), 1, 0, -1, 12)
    assert teller.generate(PROMPT, 12, temperature=0) == teller.decode([*ids[0], *wanted])


def test_a_seed_decides_and_the_cache_does_not(teller):
    first = teller.generate(PROMPT, 40, seed=3)  # outgrows the context of 24
    assert first == teller.generate(PROMPT, 40, seed=3)
    assert first == teller.generate(PROMPT, 40, seed=3, cached=False)
    assert first != teller.generate(PROMPT, 40, seed=4)
    assert first.startswith(PROMPT)


def test_a_stream_is_the_same_story_in_parts(teller):
    parts = list(islice(teller.stream(PROMPT, seed=3), 30))
    assert all(parts)
    assert teller.generate(PROMPT, 200, seed=3).startswith(PROMPT + "".join(parts))


def test_next_tokens_are_the_models_own(teller):
    with torch.no_grad():
        chances = teller.model(teller.encode(PROMPT)[None])[0, -1].softmax(-1)
    found = teller.next_tokens(PROMPT, 4)
    assert [text for text, _ in found] == teller.tokens(chances.topk(4).indices)
    assert [p for _, p in found] == pytest.approx(chances.topk(4).values.tolist())


def test_log_probability_is_the_sum_of_steps(teller):
    before, after = teller.encode(PROMPT), teller.encode(" the end")
    total = 0.0
    with torch.no_grad():
        for i, token in enumerate(after):
            ids = torch.cat([before, after[:i]])
            total += teller.model(ids[None])[0, -1].log_softmax(-1)[token].item()
    assert len(after) > 1
    assert teller.log_probability(PROMPT, " the end") == pytest.approx(total, rel=1e-4)


def test_bits_per_byte_by_hand(teller):
    text = "the queen's"  # short enough for one window
    ids = torch.cat([teller.encode("\n"), teller.encode(text)])
    with torch.no_grad():
        log_probs = teller.model(ids[None, :-1])[0].log_softmax(-1)
    bits = -log_probs.gather(1, ids[1:, None]).sum().item() / 0.6931471805599453
    assert teller.bits_per_byte(text) == pytest.approx(bits / 11, rel=1e-4)


def test_attention_is_shown_with_its_tokens(teller):
    weights, queries, keys = teller.attend(PROMPT).maps["decoder"]
    n = len(teller.encode(PROMPT))
    assert weights.shape == (2, 4, n, n)
    assert queries == keys == teller.tokens(teller.encode(PROMPT))
    assert teller.tokens(teller.encode("Я")) == ["⟨D0⟩", "⟨AF⟩"]  # two bytes of one letter


def test_a_trace_holds_what_the_model_computes(teller):
    text = PROMPT[:12]
    given = teller.encode(text)
    trace = teller.trace(text, n_tokens=4, seed=1)
    drawn = islice(teller.choose(given, temperature=1, top_k=10, top_p=None, seed=1), 4)
    ids = torch.cat([given, torch.tensor(list(drawn))])
    assert trace.encoder is None
    assert trace.given == len(given)
    assert trace.decoder.tokens == teller.tokens(ids[:-1])
    assert trace.written == teller.tokens(ids[1:])
    with torch.no_grad():
        torch.testing.assert_close(trace.decoder.output, teller.model.decode(ids[None, :-1])[0])
        chances = teller.model(ids[None, :-1])[0].softmax(-1)
    maps = teller.model.attention_maps(ids[None, :-1])[0]
    for layer, weights in zip(trace.decoder.layers, maps, strict=True):
        assert layer[0].kind == "masked-self-attention"
        torch.testing.assert_close(layer[0].heads.weights, weights)
        assert not layer[0].heads.mask.triu(1).any()
    for row, candidates in zip(chances, trace.candidates, strict=True):
        best = row.topk(10)
        assert [one.token for one in candidates] == teller.tokens(best.indices)
        assert [one.probability for one in candidates] == pytest.approx(best.values.tolist())
    for row in range(trace.given - 1, len(trace.written)):
        assert trace.written[row] in [one.token for one in trace.candidates[row]]


def test_saved_and_loaded_it_is_the_same(teller, tmp_path):
    path = tmp_path / "small.safetensors"
    teller.card = {"steps": 0}
    teller.save(path)
    loaded = load_storyteller(path)
    ids = teller.encode(PROMPT)[None]
    with torch.no_grad():
        # Stored as 16-bit floats.
        torch.testing.assert_close(loaded.model(ids), teller.model(ids), rtol=0.01, atol=0.02)
    assert loaded.card == {"steps": 0}
    assert loaded.model.output_proj.weight is loaded.model.embedding.weight
