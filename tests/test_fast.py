"""Each shortcut against the plain line it equals."""

import inspect
import re

import pytest
import torch
import torch.nn.functional as F
from samples import refuses
from torch import nn

from helpers.models.lora import LoRALinear
from helpers.transformer import attention, decoding, fast, one_row, positions

SHARES = [0.001, 0.01, 0.1, 0.25, 0.5, 0.9, 0.999]


@pytest.mark.parametrize("p", SHARES)
def test_dropout_drops_the_share_and_keeps_the_mean(p):
    n = 400_001  # not a multiple of four
    x = torch.ones(n, requires_grad=True)
    dropped = fast.dropout(x, p)
    coarse = 1 / 512 if 0.05 <= p <= 0.95 else 1e-5  # half a step of the share
    error = 5 * (p * (1 - p) / n) ** 0.5  # five standard deviations
    share = (dropped == 0).float().mean().item()
    assert share == pytest.approx(p, abs=error + coarse)
    assert dropped.max().item() == pytest.approx(1 / (1 - p), rel=2 * coarse / (1 - p))
    assert dropped.mean().item() == pytest.approx(1, abs=error / (1 - p))
    dropped.sum().backward()
    assert torch.equal(x.grad, dropped.detach())


def test_dropout_decides_about_each_activation_alone():
    dropped = fast.dropout(torch.ones(100_000, 4), 0.5) == 0  # four share a random word
    shares = dropped.double().T.corrcoef() - torch.eye(4)
    assert shares.abs().max() < 0.02
    assert not torch.equal(dropped[:1000], dropped[1000:2000])


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_dropout_keeps_type_and_shape(dtype):
    x = torch.ones(3, 5, 7, dtype=dtype)
    assert fast.dropout(x, 0.5).dtype == dtype
    assert fast.dropout(x, 0.5).shape == x.shape
    assert fast.dropout(x, 0.0) is x


@pytest.mark.parametrize("wants_gradient", [False, True])
@pytest.mark.parametrize("mask_shape", [None, (), (6,), (5, 6), (2, 1, 1, 6), (2, 3, 5, 6)])
def test_fused_attention_equals_the_readable_one(mask_shape, wants_gradient):
    query, key, value = (
        torch.randn(2, 3, n, 4, dtype=torch.float64, requires_grad=wants_gradient)
        for n in (5, 6, 6)
    )
    mask = None if mask_shape is None else torch.rand(mask_shape) < 0.7
    expected, _ = attention.scaled_dot_product_attention(query, key, value, mask)
    found = fast.fused_attention(query, key, value, mask)
    torch.testing.assert_close(found, expected)
    if wants_gradient:
        both = (torch.autograd.grad(x.sum() ** 2, (query, key, value)) for x in (found, expected))
        torch.testing.assert_close(*both)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("n", [1, 128, 300])
def test_cross_entropy_sum_and_its_gradient_equal_pytorch(n, smoothing):
    first = torch.randn(n, 7, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(0, 7, (n,))
    ours = fast.cross_entropy_sum(2 * first, targets, smoothing)
    (gradient,) = torch.autograd.grad(ours * 3, first)
    expected = F.cross_entropy(2 * first, targets, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(ours, expected)
    torch.testing.assert_close(gradient, *torch.autograd.grad(expected * 3, first))


@pytest.mark.parametrize("last", [torch.tanh, torch.relu, lambda x: x.log_softmax(-1)])
def test_cross_entropy_sum_refuses_a_layer_that_needs_the_logits_again(last):
    first = torch.randn(5, 7, requires_grad=True)
    loss = fast.cross_entropy_sum(last(first), torch.arange(5))
    refuses("modified by an inplace operation", loss.backward, error=RuntimeError)


def test_cross_entropy_sum_in_half_precision_and_of_nothing():
    first = torch.randn(5, 7, dtype=torch.bfloat16, requires_grad=True)
    loss = fast.cross_entropy_sum(2 * first, torch.arange(5))
    plain = F.cross_entropy((2 * first).float(), torch.arange(5), reduction="sum")
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, plain)
    gradients = (torch.autograd.grad(x, first)[0] for x in (loss, plain))
    torch.testing.assert_close(*gradients)
    assert fast.cross_entropy_sum(first[:0], torch.arange(0)) == 0


def test_cross_entropy_sum_where_a_class_was_made_impossible():
    first = torch.randn(5, 7)
    first[:, 6] = -torch.inf
    first.requires_grad_()
    loss = fast.cross_entropy_sum(2 * first, torch.arange(5))
    torch.testing.assert_close(loss, F.cross_entropy(2 * first, torch.arange(5), reduction="sum"))
    assert torch.autograd.grad(loss, first)[0].isfinite().all()


@pytest.mark.parametrize("rows", [1, 32, 33])
@pytest.mark.parametrize("width", [128, 64])
def test_a_large_matrix_comes_first_for_few_rows(rows, width):
    linear, x = nn.Linear(width, 2**13, bias=False), torch.randn(rows, width)
    found = fast.matrix_first(linear, x)
    torch.testing.assert_close(found, linear(x))
    assert (found.stride() == (1, rows)) == (rows <= 32 and width == 128)


@pytest.mark.parametrize("bias", [True, False])
def test_joined_layers_equal_each_alone(bias):
    linears = [nn.Linear(6, n, bias, dtype=torch.float64) for n in (6, 3, 3)]
    project, x = one_row.joined(linears), torch.randn(2, 5, 6, dtype=torch.float64)
    torch.testing.assert_close(project(x), torch.cat([linear(x) for linear in linears], -1))
    assert project(x).requires_grad == (not bias)  # one by one, they are the layers themselves


def test_joined_layers_keep_what_other_kinds_of_layers_add():
    linears = [nn.Linear(6, 4), LoRALinear(nn.Linear(6, 4), rank=2, alpha=1.0)]
    nn.init.ones_(linears[1].up)
    x = torch.randn(3, 6)
    expected = torch.cat([linear(x) for linear in linears], -1)
    torch.testing.assert_close(one_row.joined(linears)(x), expected)


def test_a_growing_tensor_equals_cat():
    growing = fast.GrowingTensor()
    growing.reorder(torch.tensor([1, 0]))  # nothing to reorder yet
    plain = torch.randn(3, 2, 4, 5)
    given = plain.clone()
    assert growing.append(given).equal(plain)
    for step, n_new in enumerate([1, 1, 1, 3, 1, 20, 1]):
        if step in (0, 3):
            rows = torch.tensor([2, 0, 0, 1])[: len(plain)]
            growing.reorder(rows)
            plain = plain[rows]
        new = torch.randn(*plain.shape[:2], n_new, 5)
        plain = torch.cat([plain, new], dim=2)
        assert growing.append(new).equal(plain)
        assert growing.all().equal(plain)
        assert growing.length == plain.shape[2]


def test_a_growing_tensor_copies_what_is_there_only_when_it_doubles():
    growing, rooms = fast.GrowingTensor(), []
    for _ in range(64):
        growing.append(torch.randn(1, 1, 1, 2))
        if not rooms or rooms[-1] is not growing.room:
            rooms.append(growing.room)
    assert [room.shape[2] for room in rooms] == [1, 4, 10, 22, 46, 94]


def test_a_full_mask_is_none():
    assert fast.none_if_full(torch.ones(2, 3, dtype=torch.bool)) is None
    mask = torch.tensor([True, False])
    assert fast.none_if_full(mask) is mask


@pytest.mark.parametrize(
    ("length", "start"),
    [(1, 0), (5, 62), (3, 64), (70, 1), (64, 0), (65, 0), (129, 0), (1, 64), (1, 128), (4, -3)],
)
def test_rotated_equals_the_readable_rotation(length, start):
    x = torch.randn(2, length, 3, 8, dtype=torch.float64).transpose(1, 2).requires_grad_()
    expected = positions.rotate_positions(x, start)
    for _ in range(2):  # computed, then kept
        found = fast.rotated(x, start)
        torch.testing.assert_close(found, expected)
        both = [
            torch.autograd.grad((y**3).sum(), x, retain_graph=True)[0] for y in (found, expected)
        ]
        torch.testing.assert_close(*both)
    torch.testing.assert_close(
        fast.rotated(x, start, base=50.0), positions.rotate_positions(x, start, base=50.0)
    )
    single = fast.rotated(x.float(), start)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single, expected.float())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rotated_takes_features_wherever_they_lie(dtype):
    whole = torch.randn(2, 7, 17).to(dtype)
    for x in (whole[..., 1:9], whole[..., :16:2], whole[:, ::2, 3:7], whole[..., :8].mT.mT):
        # In 16 bits the shortcut is the better one: it rounds once, at the end.
        plain = positions.rotate_positions(x.float(), 3).to(dtype)
        torch.testing.assert_close(fast.rotated(x, 3), plain)


def test_rotated_keeps_numbers_that_a_training_can_use():
    x = torch.randn(1, 1, 2, 6)
    fast._turns.cache_clear()
    with torch.inference_mode():
        fast.rotated(x)
    x.requires_grad_()
    fast.rotated(x).sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("spread", [0.01, 4.0])  # far more than 256 tokens are needed, and far less
def test_top_p_of_the_likeliest_equals_sorting_all(spread):
    generator = torch.Generator().manual_seed(3)
    logits = spread * torch.randn(4, 1000, generator=generator)
    asked = []

    def plain(logits, p):
        asked.append(p)
        return decoding.top_p_filter(logits, p)

    for p in (0.1, 0.5, 0.9):
        found = fast.top_p_filter(logits, p, plain)
        assert torch.equal(found, decoding.top_p_filter(logits, p))
    assert asked == ([0.5, 0.9] if spread < 1 else [])
    assert torch.equal(fast.top_p_filter(logits, 1.0, decoding.top_p_filter), logits)
    refuses("p is a probability", fast.top_p_filter, logits, 2.0, decoding.top_p_filter)
    few = logits[:, :100]
    assert torch.equal(fast.top_p_filter(few, 0.6, plain), decoding.top_p_filter(few, 0.6))


@pytest.mark.parametrize("able", ["amx_bf16", "avx512_bf16", "avx512_f"])
def test_bf16_pays_on_a_processor_or_gpu_that_multiplies_it(monkeypatch, able):
    pays = able != "avx512_f"
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {able: True}, raising=False)
    assert fast.bf16_pays(torch.device("cpu")) is pays
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: pays)
    assert fast.bf16_pays(torch.device("cuda")) is pays


def test_no_number_depends_on_a_clock_or_a_private_operator():
    source = inspect.getsource(fast)
    assert not re.search(r"perf_counter|process_time|monotonic|torch\.ops|torch\.(\w+\.)*_", source)


def test_in_sixteen_bits_a_model_computes_nearly_the_same_and_shares_the_rest():
    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.norm = nn.Embedding(20, 64), nn.LayerNorm(64)
            self.first, self.second = nn.Linear(64, 128), nn.Linear(128, 2)

        def forward(self, ids):
            return self.second(self.first(self.norm(self.embedding(ids))).relu()).unbind(-1)

    model, ids = Small(), torch.arange(20)[None]
    quick = fast.InSixteenBits(model)
    with torch.inference_mode():
        for plain, rounded in zip(model(ids), quick(ids), strict=True):
            assert rounded.dtype == torch.float32
            torch.testing.assert_close(rounded, plain, atol=0.02, rtol=0)
            assert not torch.equal(rounded, plain)
    assert quick.model.embedding.weight is model.embedding.weight
    assert model.first.weight.dtype == torch.float32
    assert quick.model.first.weight.dtype == torch.bfloat16


@pytest.mark.parametrize("wants_gradient", [False, True])
@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan, 1e38])
def test_what_padding_holds_reaches_nobody(value, wants_gradient):
    query, key, values = (torch.randn(2, 3, n, 4) for n in (5, 6, 6))
    key[0, :, 4:] = value
    key.requires_grad_(wants_gradient)
    mask = torch.ones(2, 1, 5, 6, dtype=torch.bool).tril()
    mask[0, :, :, 4:] = False
    for allowed in (mask, mask[:, :, -1:]):
        expected, _ = attention.scaled_dot_product_attention(query, key, values, allowed)
        found = fast.fused_attention(query, key, values, allowed)
        torch.testing.assert_close(found, expected)
        if wants_gradient:
            (gradient,) = torch.autograd.grad(found.sum(), key)
            assert gradient[0, :, :4].isfinite().all()


@pytest.mark.parametrize("mask_shape", [None, (2, 1, 5, 6), (2, 1, 1, 6)])
def test_fused_attention_broadcasts_a_query_over_the_batch(mask_shape):
    query, key, value = torch.randn(5, 4), torch.randn(2, 3, 6, 4), torch.randn(2, 3, 6, 4)
    mask = None if mask_shape is None else torch.rand(mask_shape) < 0.7
    for one in (query, query[None, None], query.expand(1, 3, 5, 4)):
        expected, _ = attention.scaled_dot_product_attention(one, key, value, mask)
        torch.testing.assert_close(fast.fused_attention(one, key, value, mask), expected)
