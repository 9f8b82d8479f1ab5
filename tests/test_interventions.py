"""Changes inside a running model do what they say, and undo themselves; a score's parts add up."""

import json

import pytest
import torch
from samples import raising, refuses

from helpers.models.interventions import (
    heads_kept,
    heads_patched,
    heads_replaced,
    heads_silenced,
    keys_hidden,
    patched_logits,
    read_out,
    residual_stream,
    run_on,
    share_carried,
)
from helpers.models.llama import Llama
from helpers.models.score_parts import score_sides, split_scores, stream_parts, weights_without
from helpers.pretrained import measured
from helpers.transformer.transformer import Transformer, TransformerConfig


@pytest.fixture
def model():
    sizes = {"vocab_size": 30, "d_model": 16, "n_heads": 4, "n_kv_heads": 2, "n_layers": 3}
    return Llama(**sizes, d_ff=24, max_len=20).double().eval().requires_grad_(False)


@pytest.fixture
def texts():
    return torch.tensor([[3, 4, 5, 6, 7], [3, 4, 8, 6, 7]])


def test_a_stream_run_on_from_any_layer_ends_as_the_model_does(model, texts):
    stream = residual_stream(model, texts)
    assert stream.shape == (4, 2, 5, 16)
    for layer, x in enumerate(stream):
        torch.testing.assert_close(read_out(model, run_on(model, x, layer)), model(texts))


def test_silencing_a_head_is_zeroing_its_columns_of_w_o(model, texts):
    whole = model(texts)
    with heads_replaced(model, {(1, 2): 0}):
        silenced = model(texts)
    weight = model.layers[1].self_attention.out_proj.weight
    before = weight.clone()
    weight[:, 8:12] = 0
    torch.testing.assert_close(silenced, model(texts))
    weight.copy_(before)
    torch.testing.assert_close(model(texts), whole)  # nothing is left of it
    assert not torch.allclose(silenced, whole)
    with heads_kept(model) as outputs:
        model(texts)
    with heads_replaced(model, {(1, 2): outputs[1][:, 2]}):  # by what it puts out anyway
        torch.testing.assert_close(model(texts), whole)
    with heads_replaced(model, {(1, 2): lambda x, head: x * (torch.arange(4) != head)[:, None]}):
        torch.testing.assert_close(model(texts), silenced)
    with pytest.raises(ValueError, match="heads 0 … 3"), heads_replaced(model, {(0, 4): 0}):
        pass


def test_a_head_is_patched_and_silenced_as_by_hand(model, texts):
    source, target = texts[:1], texts[1:]
    heads = [(0, 1), (1, 3), (2, 0)]

    def lead(logits):
        return logits[:, 4] - logits[:, 9]

    there, here = lead(model(source)[:, -1]), lead(model(target)[:, -1])
    with heads_kept(model) as outputs:
        model(texts)
    shares = heads_patched(model, source, target, lead, heads)
    losses = heads_silenced(model, target, lead, heads)
    assert shares.shape == losses.shape == (3, 1)
    for share, loss, (layer, head) in zip(shares, losses, heads, strict=True):
        new = outputs[layer][1:, head].clone()
        new[:, -1] = outputs[layer][:1, head, -1]
        with heads_replaced(model, {(layer, head): new}):
            moved = lead(model(target)[:, -1]) - here
        torch.testing.assert_close(share, moved / (there - here))
        with heads_replaced(model, {(layer, head): 0.0}):
            torch.testing.assert_close(loss, here - lead(model(target)[:, -1]))
    assert shares.abs().min() > 0


def test_a_hidden_key_gets_no_weight_where_it_is_hidden(model, texts):
    whole = model.attention_maps(texts)
    with keys_hidden(model, slice(2, None), 0):
        maps = model.attention_maps(texts)
    assert maps[..., 2:, 0].max() == 0
    torch.testing.assert_close(maps[:, 0, :, :2], whole[:, 0, :, :2])
    torch.testing.assert_close(maps.sum(-1), torch.ones_like(maps[..., 0]))
    with keys_hidden(model, slice(0, None), slice(0, None)):  # everybody sees themselves
        assert torch.equal(model.attention_maps(texts)[0, 0, 0], torch.eye(5).double())


def test_patching_goes_from_one_text_to_the_other(model, texts):
    source, target = texts
    logits = patched_logits(model, source, target)
    theirs, ours = model(texts)[:, -1]
    assert logits.shape == (4, 5, 30)
    torch.testing.assert_close(logits[0, 2], theirs)  # the one token that differs
    torch.testing.assert_close(logits[-1, -1], theirs)  # the last vector is all that's read
    for layer, position in [(0, 1), (0, 4), (3, 2)]:
        torch.testing.assert_close(logits[layer, position], ours)
    by_hand = residual_stream(model, texts)[1]
    by_hand[1, 2] = by_hand[0, 2]
    torch.testing.assert_close(logits[1, 2], read_out(model, run_on(model, by_hand[1:], 1)[0, -1]))
    answer, rival = theirs.argmax(), ours.argmin()
    share = share_carried(logits, answer, rival, ours)
    torch.testing.assert_close(share[[0, -1, 0], [2, -1, 0]], torch.tensor([1.0, 1, 0]).double())
    for wrong in (target[:4], target):
        refuses("as many tokens", patched_logits, model, wrong, target)


def translator(norm_first=True):
    torch.manual_seed(1)
    sizes = {"d_model": 12, "n_heads": 3, "n_layers": 3, "d_ff": 20, "max_len": 9}
    model = Transformer(
        TransformerConfig(src_vocab_size=20, tgt_vocab_size=20, norm_first=norm_first, **sizes)
    )
    for parameter in model.parameters():  # gains, biases and norms that aren't 1 and 0
        parameter.data += 0.3 * torch.randn_like(parameter)
    return model.double().eval()


def test_parts_of_a_score_sum_to_the_models_own_weights():
    model, ids = translator(), torch.tensor([[4, 9, 4, 2, 7]])
    maps = model.attention_maps(ids, ids[:, :1]).encoder[0]
    for layer, head in [(0, 1), (1, 0), (2, 2)]:
        names, scores = split_scores(model, ids, layer, head)
        assert scores.shape == (len(names), len(names), 5, 5)
        assert len(names) == 3 + 5 * layer  # 3 heads, W_O's bias and a network per layer
        weights = scores.sum((0, 1)).softmax(-1)
        torch.testing.assert_close(weights, maps[layer, head], rtol=0, atol=1e-10)
        torch.testing.assert_close(weights_without(model, ids, layer, head, {}), maps[layer, head])
    _, parts = stream_parts(model, ids, 2)
    names, scores = split_scores(model, ids, 2, 0)
    without = weights_without(model, ids, 2, 0, {"query": ["1.ff"], "key": ["token"]})
    assert not torch.allclose(without, maps[2, 0])
    refuses("pre-norm", stream_parts, translator(norm_first=False), ids, 1)


@pytest.mark.parametrize("cross", [False, True])
def test_parts_of_a_decoders_score_sum_to_the_models_own_weights(cross):
    model = translator()
    source, target = torch.tensor([[4, 9, 4, 2, 7]]), torch.tensor([[1, 8, 3, 8]])
    maps = model.attention_maps(source, target)
    hidden = torch.zeros(4, 5) if cross else torch.full((4, 4), -torch.inf).triu(1)
    for layer, head in [(0, 1), (1, 0), (2, 2)]:
        (names, queries), (others, keys) = score_sides(model, source, layer, head, target, cross)
        assert len(names) == len(queries) == 3 + 9 * layer + 4 * cross  # self, cross, network
        assert len(others) == len(keys) == (3 + 5 * 3 if cross else len(names))
        scores = torch.einsum("itk,jsk->ts", queries, keys) + hidden
        own = (maps.cross if cross else maps.decoder)[0, layer, head]
        torch.testing.assert_close(scores.softmax(-1), own, rtol=0, atol=1e-10)
    assert ("3.self.2" in names) == cross
    assert ("3.ff" in others) == cross


def test_a_measurement_is_live_or_stored(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(measured, "RESULTS", tmp_path)
    live = measured.LiveOrStored("some", lambda: "the model")
    assert live("loss", lambda: torch.tensor([1.0, 1 / 3])) == [1.0, 0.33333]
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv("COURSE_STORE", "1")
    assert live("loss", lambda: {"a": (torch.tensor(2.0), 3)}) == {"a": [2.0, 3]}
    assert json.loads((tmp_path / "some.json").read_text()) == {"loss": {"a": [2.0, 3]}}
    stored = measured.LiveOrStored("some", raising(ImportError("Install this.")))
    assert "Install this." in capsys.readouterr().out
    assert stored.model is None
    assert stored("loss", lambda: 1 / 0) == {"a": [2.0, 3]}
