"""BERT: equal to PyTorch's layers and to Hugging Face's models, segments, and its limits."""

import pytest
import torch
from safetensors import safe_open
from samples import refuses
from torch import nn

from helpers.models import bert
from helpers.pretrained.minilm import bert_state, load_minilm, minilm_file

IDS = torch.tensor([[5, 6, 7, 2], [8, 9, 0, 0]])
SIZES = {"vocab_size": 12, "d_model": 8, "n_heads": 2, "n_layers": 2, "d_ff": 16, "max_len": 6}


def small(**changes):
    return bert.BertEncoder(bert.BertConfig(**(SIZES | changes))).double().eval()


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
    config = bert.BertConfig()
    assert (config.d_model, config.n_heads, config.n_layers, config.d_ff) == (384, 12, 6, 1536)
    assert (config.vocab_size, config.max_len, config.norm_eps) == (30522, 512, 1e-12)
    refuses("holds 6 positions", small(), torch.ones(1, 7, dtype=torch.long))


def heads_beside_theirs(c):
    """Yield our model with a head and Hugging Face's with the same weights, for all four heads."""
    import transformers  # here: it takes seconds

    sizes = {
        "vocab_size": c.vocab_size, "hidden_size": c.d_model, "num_hidden_layers": c.n_layers,
        "num_attention_heads": c.n_heads, "intermediate_size": c.d_ff, "hidden_act": "gelu",
        "max_position_embeddings": c.max_len, "layer_norm_eps": c.norm_eps,
        "initializer_range": 0.3,
    }  # fmt: skip

    def build(name, ours_of, copies, **more):
        torch.manual_seed(0)
        hf = transformers.BertConfig(**sizes, **more)
        theirs = getattr(transformers, name)(hf).double().eval()
        encoder, state = bert.BertEncoder(c), getattr(theirs, "bert", theirs).state_dict()
        encoder.double().load_state_dict(bert_state(state, c.n_layers))
        ours = ours_of(encoder).double()
        for mine, other in copies(ours, theirs):
            mine.load_state_dict(other.state_dict())
        return ours, theirs

    def call(theirs, *outputs):
        def answer(ids, segments):
            mask = (ids != 0).long()
            found = theirs(input_ids=ids, token_type_ids=segments, attention_mask=mask)
            return [getattr(found, name) for name in outputs]

        return answer

    ours, theirs = build("BertModel", Pooled, lambda a, b: [(a.pooler.dense, b.pooler.dense)])
    yield ours, call(theirs, "last_hidden_state", "pooler_output")

    ours, theirs = build("BertForMaskedLM", bert.MaskedLanguageModel, lambda a, b: [
        (a.dense, b.cls.predictions.transform.dense),
        (a.norm, b.cls.predictions.transform.LayerNorm),
    ])  # fmt: skip
    with torch.no_grad():
        ours.bias.copy_(torch.randn(c.vocab_size))
        theirs.cls.predictions.decoder.bias.copy_(ours.bias)
    yield ours, call(theirs, "logits")

    ours, theirs = build(
        "BertForSequenceClassification",
        lambda encoder: bert.TextClassifier(encoder, 3),
        lambda a, b: [(a.pooler.dense, b.bert.pooler.dense), (a.classifier, b.classifier)],
        num_labels=3,
    )
    yield ours, call(theirs, "logits")

    ours, theirs = build(
        "BertForQuestionAnswering", bert.SpanReader, lambda a, b: [(a.span, b.qa_outputs)]
    )
    yield ours, call(theirs, "start_logits", "end_logits")


class Pooled(nn.Module):
    """BERT as Hugging Face's BertModel gives it: all vectors, and the pooled one."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.pooler = encoder, bert.Pooler(encoder.config.d_model)

    def forward(self, ids, segments):
        hidden = self.encoder(ids, segments)
        return hidden, self.pooler(hidden)


@pytest.mark.slow
def test_encoder_and_heads_equal_hugging_face_s_on_padded_pairs():
    config = bert.BertConfig(**(SIZES | {"norm_eps": 1e-12}))
    segments = torch.tensor([[0, 0, 1, 1], [0, 1, 0, 0]])
    for ours, theirs in heads_beside_theirs(config):
        with torch.no_grad():
            found, expected = ours.eval()(IDS, segments), theirs(IDS, segments)
        found = [found] if isinstance(found, torch.Tensor) else found
        for one, other in zip(found, expected, strict=True):
            if one.shape[:2] == IDS.shape:  # at the real tokens
                one, other = one[IDS != 0], other[IDS != 0]
            torch.testing.assert_close(one, other, atol=1e-10, rtol=0)


def test_minilm_brings_its_pooler():
    minilm = load_minilm()
    with safe_open(minilm_file("model.safetensors", 90.9), "pt") as file:
        assert torch.equal(minilm.pooler.dense.weight, file.get_tensor("pooler.dense.weight"))
    hidden = torch.randn(2, 3, 384)
    expected = torch.tanh(hidden[:, 0] @ minilm.pooler.dense.weight.T + minilm.pooler.dense.bias)
    torch.testing.assert_close(minilm.pooler(hidden), expected)


def test_mean_pooling_leaves_padding_out_and_cls_pooling_takes_the_first():
    hidden = torch.randn(2, 4, 8)
    pooled = bert.mean_pool(hidden, IDS)
    torch.testing.assert_close(pooled[0], hidden[0].mean(0))
    torch.testing.assert_close(pooled[1], hidden[1, :2].mean(0))
    encoder = small()
    classifier = bert.TextClassifier(encoder, 2, pooling="cls").double()
    assert torch.equal(classifier.pool(encoder(IDS), IDS), encoder(IDS)[:, 0])
    refuses("'pooler', 'cls' or 'mean'; got 'max'", bert.TextClassifier, encoder, 2, pooling="max")


def test_best_span_is_the_best_valid_one():
    generator = torch.Generator().manual_seed(0)
    for _ in range(50):
        start, end = torch.randn(2, 9, generator=generator)
        valid = [(i, j) for i in range(9) for j in range(i, min(i + 4, 9))]
        expected = max(valid, key=lambda span: start[span[0]] + end[span[1]])
        first, last, logit = bert.best_span(start, end, longest=4)
        assert (first, last) == expected
        assert logit == pytest.approx((start[first] + end[last]).item())
