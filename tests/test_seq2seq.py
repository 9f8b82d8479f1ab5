"""Recurrent translators: against loops, padding, cache, and learning."""

import pytest
import torch
from samples import refuses
from torch import nn

from helpers.models.seq2seq import Seq2Seq, Seq2SeqConfig

ATTENTIONS = ["none", "additive", "dot", "general", "concat"]
SRC = torch.tensor([[5, 6, 7, 2], [8, 9, 2, 0], [4, 2, 0, 0]])
TGT = torch.tensor([[1, 5, 9], [1, 7, 3], [1, 4, 0]])


def small(attention="additive", cell="gru", **more):
    torch.manual_seed(0)
    sizes = {"src_vocab_size": 12, "tgt_vocab_size": 11, "d_embedding": 6, "d_hidden": 8}
    return Seq2Seq(Seq2SeqConfig(**sizes, attention=attention, cell=cell, **more)).double().eval()


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_padding_and_batch_order_change_nothing(attention, cell):
    model = small(attention, cell)
    logits = model(SRC, TGT)
    assert logits.shape == (3, 3, 11)
    order = torch.tensor([1, 2, 0])
    torch.testing.assert_close(model(SRC[order], TGT[order]), logits[order])
    for i, length in enumerate([4, 3, 2]):
        torch.testing.assert_close(model(SRC[[i], :length], TGT[[i]]), logits[[i]])


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_cached_equals_uncached_equals_teacher_forced(attention, cell):
    model = small(attention, cell)
    cached, plain = model.decoder_step(SRC), model.decoder_step(SRC, cached=False)
    logits = model(SRC, TGT)
    for t in range(1, 4):
        torch.testing.assert_close(cached(TGT[:, :t]), logits[:, t - 1])
        torch.testing.assert_close(plain(TGT[:, :t]), logits[:, t - 1])
    rows = torch.tensor([2, 0])
    longer = torch.cat([TGT[rows], torch.tensor([[6], [7]])], 1)
    expected = model(SRC[rows], longer)[:, -1]
    torch.testing.assert_close(cached(longer, rows), expected)
    torch.testing.assert_close(plain(longer, rows), expected)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_bahdanau_by_a_loop(cell):
    model = small("additive", cell)
    states, last, mask = model.encode(SRC)
    decoder, hidden = model.decoder, model.decoder.begin(last)
    query, keys = decoder.attention.query_proj, decoder.attention.key_proj
    for t in range(3):
        state = (hidden[0] if cell == "lstm" else hidden)[-1]
        contexts = []
        for b, length in enumerate([4, 3, 2]):
            scores = [
                decoder.attention.energy(torch.tanh(query(state[b]) + keys(states[b, i])))
                for i in range(length)
            ]
            weights = torch.cat(scores).softmax(0)
            contexts.append(sum(weights[i] * states[b, i] for i in range(length)))
        word = decoder.embedding(TGT[:, t])
        output, hidden = decoder.rnn(torch.cat([word, torch.stack(contexts)], -1)[:, None], hidden)
        torch.testing.assert_close(model.output_proj(output[:, 0]), model(SRC, TGT)[:, t])


def test_luong_mixes_the_context_with_the_state_after_the_step():
    model = small("dot")
    states, last, _ = model.encode(SRC)
    output, _ = model.decoder.rnn(model.decoder.embedding(TGT), model.decoder.begin(last))
    for b, length in enumerate([4, 3, 2]):
        weights = (states[b, :length] @ output[b, 1]).softmax(0)
        mixed = torch.cat([weights @ states[b, :length], output[b, 1]])
        expected = model.output_proj(torch.tanh(model.decoder.combine(mixed)))
        torch.testing.assert_close(expected, model(SRC, TGT)[b, 1])


def test_kept_positions_are_rows_of_the_whole():
    model, keep = small(), TGT != 0
    torch.testing.assert_close(model(SRC, TGT, keep), model(SRC, TGT)[keep])


def test_plain_decoder_by_a_loop_of_cells():
    model = small("none")
    _, last, _ = model.encode(SRC)
    cell = nn.GRUCell(14, 8).double()
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(cell, name).data = getattr(model.decoder.rnn, f"{name}_l0").data
    hidden = model.decoder.begin(last)[0]
    for t in range(3):
        word = model.decoder.embedding(TGT[:, t])
        hidden = cell(torch.cat([word, last], -1), hidden)
        torch.testing.assert_close(model.output_proj(hidden), model(SRC, TGT)[:, t])


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_the_context_is_the_last_hidden_state_of_each_direction(cell):
    states, context, _ = small("none", cell).encode(SRC)
    for b, length in enumerate([4, 3, 2]):
        expected = torch.cat([states[b, length - 1, :4], states[b, 0, 4:]])
        torch.testing.assert_close(context[b], expected)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_the_decoder_starts_from_a_tanh_of_the_context(cell):
    model = small("none", cell)
    context = torch.randn(3, 8).double()
    hidden = model.decoder.begin(context)
    expected = torch.tanh(context @ model.decoder.start.weight.T + model.decoder.start.bias)
    torch.testing.assert_close((hidden[0] if cell == "lstm" else hidden)[0], expected)
    if cell == "lstm":
        assert (hidden[1] == 0).all()


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_embeddings_are_dropped_while_training_and_not_while_decoding(attention):
    model = small(attention, dropout=0.5).train()
    assert not torch.allclose(model(SRC, TGT), model(SRC, TGT))
    found = [model.decoder_step(SRC)(TGT[:, :1]) for _ in range(2)]
    assert torch.equal(*found)
    assert not found[0].requires_grad
    assert model.training
    model.encoder.dropout.p = 0.0
    assert not torch.allclose(model(SRC, TGT), model(SRC, TGT))  # the decoder's own
    model.encoder.dropout.p, model.decoder.dropout.p = 0.5, 0.0
    assert not torch.allclose(model(SRC, TGT), model(SRC, TGT))  # the encoder's own


def test_padding_before_or_between_words_is_refused():
    model = small()
    for row in ([0, 5, 6, 2], [5, 0, 6, 2]):
        ids = torch.tensor([row, [5, 6, 2, 0]])
        refuses("must come after a sentence; .* Pad on the right", model, ids, TGT[:2])
    refuses("no tokens: every id is pad_id=0", model, torch.tensor([[0, 0], [5, 2]]), TGT[:2])


def test_the_pad_id_is_the_configured_one():
    model = small(pad_id=9)
    src = torch.tensor([[5, 6, 9], [0, 6, 7]])
    torch.testing.assert_close(model(src, TGT[:2])[:1], model(src[:1, :2], TGT[:1]))
    assert model.encode(src)[2].tolist() == [[True, True, False], [True] * 3]


def test_errors():
    refuses("cell must be one of", small, cell="transformer")
    refuses("attention must be one of", small, "self")
    refuses("must be even; got 7", Seq2SeqConfig, src_vocab_size=3, tgt_vocab_size=3, d_hidden=7)
    refuses("attends to nothing", small("none").attention_maps, SRC, TGT)
