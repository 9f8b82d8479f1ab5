"""Layers and the whole model: equal to PyTorch's, causal, cached, and clear about bad input."""

import pytest
import torch
from samples import refuses
from torch import nn
from twins import assert_gradients_equal, copy_weights, layer_pairs, stack_pairs

from helpers.transformer import decoding, masks
from helpers.transformer.layers import ACTIVATIONS, DecoderLayer, Dropout, EncoderLayer
from helpers.transformer.transformer import Transformer, TransformerConfig

SRC = torch.tensor([[5, 6, 7, 2], [8, 9, 2, 0], [4, 2, 0, 0]])
TGT = torch.tensor([[1, 5, 9], [1, 7, 0], [1, 0, 0]])


def small(norm_first=True, dropout=0.0, **changes):
    torch.manual_seed(0)
    sizes = {"src_vocab_size": 12, "tgt_vocab_size": 11, "d_model": 8, "n_heads": 2, "n_layers": 2}
    sizes |= {"norm_first": norm_first, "dropout": dropout, "max_len": 16, "d_ff": 16}
    return Transformer(TransformerConfig(**(sizes | changes))).double().eval()


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 4, 1, 8), (2, 5, 8, 2, 16), (3, 4, 12, 4, 8)])
def test_encoder_layer_equals_pytorch(shape, norm_first, activation):
    batch, length, d_model, n_heads, d_ff = shape
    ours = EncoderLayer(d_model, n_heads, d_ff, 0.0, norm_first, activation).double()
    theirs = nn.TransformerEncoderLayer(
        d_model, n_heads, d_ff, 0.0, activation, batch_first=True, norm_first=norm_first
    ).double()
    pairs = copy_weights(layer_pairs(theirs, ours, 2))
    x = torch.randn(batch, length, d_model, dtype=torch.float64)
    padding = torch.arange(length) < torch.arange(1, batch + 1)[:, None]
    output = ours(x, padding[:, None, None])
    expected = theirs(x, src_key_padding_mask=~padding)
    torch.testing.assert_close(output, expected, atol=1e-10, rtol=0)
    assert_gradients_equal(pairs, expected, output)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # pre-norm has no faster path there
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("norm_eps", [1e-5, 0.3])
def test_whole_transformer_equals_pytorch(norm_first, norm_eps):
    ours = small(norm_first, norm_eps=norm_eps)
    theirs = nn.Transformer(
        8, 2, 2, 2, 16, 0.0, layer_norm_eps=norm_eps, batch_first=True, norm_first=norm_first
    ).double()
    if not norm_first:  # PyTorch adds a last norm to a post-norm stack as well; the paper has none
        theirs.encoder.norm = theirs.decoder.norm = None
    pairs = copy_weights(stack_pairs(theirs, ours))
    hidden = theirs(
        ours.embed(SRC, ours.src_embedding),
        ours.embed(TGT, ours.tgt_embedding),
        tgt_mask=~masks.causal_mask(3),
        src_key_padding_mask=SRC == 0,
        tgt_key_padding_mask=TGT == 0,
        memory_key_padding_mask=SRC == 0,
    )
    expected = hidden @ ours.tgt_embedding.weight.T
    logits = ours(SRC, TGT)
    torch.testing.assert_close(logits, expected, atol=1e-10, rtol=0)
    assert_gradients_equal(pairs, expected, logits)


def test_dropout_refuses_what_is_no_share():
    for p in (-0.1, 1.0, 1.5):
        refuses(f"not including 1; got {p}", Dropout, p)
    assert repr(Dropout(0.25)) == "Dropout(p=0.25)"


@pytest.mark.parametrize("side", ["src", "tgt"])
def test_embeddings_are_dropped_while_training(side):
    model = small(dropout=0.5, src_vocab_size=12)
    embedding = getattr(model, f"{side}_embedding")
    ids = torch.randint(3, 11, (40, 16))
    assert (model.embed(ids, embedding) != 0).all()
    dropped = model.train().embed(ids, embedding) == 0
    assert dropped.double().mean().item() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("norm_first", [False, True])
def test_every_sublayer_is_dropped_while_training(norm_first):
    layer = DecoderLayer(8, 2, 16, 0.999, norm_first).train()
    x, memory = torch.randn(1, 3, 8), torch.randn(1, 4, 8)
    expected = x
    if not norm_first:  # with all sublayers at zero three norms are left
        for residual in (layer.residual_1, layer.residual_2, layer.residual_3):
            expected = residual.norm(expected)
    same = torch.isclose(layer(x, memory), expected, atol=1e-5).float().mean().item()
    assert same > 0.8
    encoder = EncoderLayer(8, 2, 16, 0.999, True).train()
    assert torch.isclose(encoder(x), x).float().mean().item() > 0.8


def test_weights_start_as_the_docstrings_say():
    model = small(
        src_vocab_size=500, tgt_vocab_size=400, d_model=64, d_ff=100, tie_embeddings=False
    )
    for matrix in (model.src_embedding, model.tgt_embedding, model.output_proj):
        assert matrix.weight.std().item() == pytest.approx(1 / 8, rel=0.05)
    network = model.encoder_layers[0].feed_forward
    for linear in (network.linear_1, network.linear_2):
        limit = (6 / (64 + 100)) ** 0.5
        assert limit * 0.98 < linear.weight.abs().max() <= limit
        assert (linear.bias == 0).all()


def test_defaults_are_the_paper_s():
    config = TransformerConfig(src_vocab_size=5, tgt_vocab_size=5, norm_first=False)
    assert (config.d_model, config.n_heads, config.n_layers, config.d_ff) == (512, 8, 6, 2048)
    assert (config.dropout, config.norm_eps, config.activation) == (0.1, 1e-5, "relu")
    assert small(tie_embeddings=True).output_proj.bias is None


def test_positions_start_at_zero_and_embeddings_are_scaled():
    model = small()
    vectors = model.embed(SRC[:1], model.src_embedding)
    expected = model.src_embedding.weight[5] * 8**0.5 + model.positions[0]
    torch.testing.assert_close(vectors[0, 0], expected)


def test_tied_and_shared_embeddings_are_one_tensor():
    model = small(tgt_vocab_size=12, share_vocabulary=True)
    assert model.src_embedding.weight is model.tgt_embedding.weight is model.output_proj.weight
    apart = small(tie_embeddings=False)
    assert apart.output_proj.weight is not apart.tgt_embedding.weight


def test_cached_decoding_equals_uncached_even_when_rows_move():
    model = small()
    cached, plain = model.decoder_step(SRC), model.decoder_step(SRC, cached=False)
    prefix = torch.full((3, 1), 1)
    torch.testing.assert_close(cached(prefix), plain(prefix))
    prefix = torch.tensor([[1, 5], [1, 6], [1, 7]])
    torch.testing.assert_close(cached(prefix), plain(prefix))
    rows = torch.tensor([2, 0, 0])
    prefix = torch.cat([prefix[rows], torch.tensor([[4], [8], [9]])], 1)
    torch.testing.assert_close(cached(prefix, rows), plain(prefix, rows))
    expected = model(SRC[rows], prefix)[:, -1]
    torch.testing.assert_close(plain(prefix), expected)


def test_decoding_has_no_dropout_and_no_gradients_and_leaves_the_mode_alone():
    model = small(dropout=0.5).train()
    model.decoder_layers[1].eval()
    modes = [layer.training for layer in model.modules()]
    runs = []
    for _ in range(3):
        step = model.decoder_step(SRC)
        logits = step(torch.full((3, 1), 1))
        assert not logits.requires_grad
        runs.append(logits)
    assert [layer.training for layer in model.modules()] == modes
    assert torch.equal(runs[0], runs[1])
    assert torch.equal(runs[0], runs[2])
    torch.testing.assert_close(runs[0], model.eval()(SRC, torch.full((3, 1), 1))[:, 0])
    assert not model.training
    step(torch.full((3, 2), 1))
    assert not model.training


def test_each_step_computes_only_the_new_position():
    model = small()
    lengths = []
    model.decoder_layers[0].register_forward_pre_hook(
        lambda layer, given: lengths.append(given[0].shape[1])
    )
    projected = []
    model.decoder_layers[0].cross_attention.key_proj.register_forward_hook(
        lambda linear, given, out: projected.append(out.shape[1])
    )
    decoding.greedy(model.decoder_step(SRC), 3, 1, -1, 4)
    assert lengths == [1, 1, 1, 1]
    assert projected == [SRC.shape[1]]  # the memory once, not at every step
    lengths.clear()
    decoding.greedy(model.decoder_step(SRC, cached=False), 3, 1, -1, 4)
    assert lengths == [1, 2, 3, 4]


def test_base_model_has_the_parameters_of_the_paper():
    config = TransformerConfig(
        src_vocab_size=37_000, tgt_vocab_size=37_000, share_vocabulary=True, norm_first=False
    )
    with torch.device("meta"):
        count = sum(p.numel() for p in Transformer(config).parameters())
    assert count == 63_082_496


def test_errors():
    model = small()
    refuses(r"0 … 11; got 5 … 12", model, torch.tensor([[5, 12]]), TGT[:1])
    refuses("max_len=16", model, torch.ones(1, 17, dtype=torch.long), TGT[:1])
    refuses("no tokens", model, torch.ones(0, 4, dtype=torch.long), TGT[:0])
    refuses("one shared vocabulary", small, share_vocabulary=True)
    refuses("activation", small, activation="tanh")
    gelu = small(activation="gelu")
    for layer in (*gelu.encoder_layers, *gelu.decoder_layers):
        assert layer.feed_forward.activation is ACTIVATIONS["gelu"]
    refuses("dropout is a share", small, dropout=1.0)
    refuses("norm_first", TransformerConfig, src_vocab_size=4, tgt_vocab_size=4, error=TypeError)
    refuses("n_heads must divide", small, n_heads=3)


def renamed(ids, pad):
    """Exchange the ids 0 and `pad`."""
    return torch.where(ids == 0, pad, torch.where(ids == pad, 0, ids))


def test_padding_is_known_by_its_id_alone():
    zero, other = small(), small(pad_id=7)
    order = renamed(torch.arange(12), 7)
    state = zero.state_dict()
    for name, rows in (("src_embedding", 12), ("tgt_embedding", 11), ("output_proj", 11)):
        state[f"{name}.weight"] = state[f"{name}.weight"][order[:rows]]
    other.load_state_dict(state)
    src, tgt = renamed(SRC, 7), renamed(TGT, 7)
    torch.testing.assert_close(other(src, tgt), zero(SRC, TGT)[..., order[:11]])
    torch.testing.assert_close(other.encode(src), zero.encode(SRC))
    steps = zero.decoder_step(SRC)(TGT[:, :1]), other.decoder_step(src)(tgt[:, :1])
    torch.testing.assert_close(steps[1], steps[0][:, order[:11]])


@pytest.mark.slow
def test_the_model_is_exported_and_compiled_in_one_graph():
    model = small(dropout=0.5)
    torch._dynamo.reset()
    with torch.no_grad():
        expected = model(SRC, TGT)
        whole = torch.compile(model, fullgraph=True, backend="eager")
        torch.testing.assert_close(whole(SRC, TGT), expected)
        assert not whole.train()(SRC, TGT).equal(expected)
        exported = torch.export.export(model.eval(), (SRC, TGT)).module()
        torch.testing.assert_close(exported(SRC, TGT), expected)


def test_what_looks_into_a_model_finds_plain_layers():
    linears = {type(layer) for layer in small().modules() if isinstance(layer, nn.Linear)}
    assert linears == {nn.Linear}  # which torch.func, jit.trace and fx know
