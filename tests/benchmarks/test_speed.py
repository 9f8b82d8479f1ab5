"""Training and decoding, beside what people would use instead.

All in one run on the same shapes. The contenders take turns, one round each, and the table at the
end compares round with round: a machine's speed drifts by more than what is to be seen.
"""

import functools

import models
import pytest
import torch
import torch.nn.functional as F

from helpers.training.training import batch_loss
from helpers.transformer import decoding


def _ours(model, src_ids, tgt_ids):
    loss, n_tokens = batch_loss(model, src_ids, tgt_ids)
    return loss / n_tokens


def _ours_bf16(model, src_ids, tgt_ids):
    with torch.autocast("cpu", torch.bfloat16):
        return _ours(model, src_ids, tgt_ids)


def _torch(model, src_ids, tgt_ids):
    logits = model(src_ids, tgt_ids[:, :-1]).flatten(0, 1)
    return F.cross_entropy(logits, tgt_ids[:, 1:].flatten(), ignore_index=models.PAD)


def _bart(model, src_ids, tgt_ids):
    labels = tgt_ids[:, 1:].masked_fill(tgt_ids[:, 1:] == models.PAD, -100)
    return model(
        input_ids=src_ids,
        attention_mask=(src_ids != models.PAD).long(),
        decoder_input_ids=tgt_ids[:, :-1].contiguous(),
        labels=labels.contiguous(),
    ).loss


CONTENDERS = {
    "ours": (models.ours, _ours),
    "ours, bf16": (models.ours, _ours_bf16),
    "nn.Transformer": (models.TorchModel, _torch),
    "BART": (models.bart, _bart),
}


TURNS = range(5)


@functools.cache
def _training_step(name, sentences):
    return models.plain_step(*CONTENDERS[name], *models.sentences(padded=sentences == "padded"))


@pytest.mark.parametrize("name", CONTENDERS)
@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("sentences", ["full length", "padded"])
def test_training_step(benchmark, sentences, turn, name):
    benchmark.group = f"training step, sentences {sentences}"
    step = _training_step(name, sentences)
    loss = benchmark.pedantic(step, rounds=1, warmup_rounds=0 if turn else 2)
    assert torch.isfinite(loss)


@functools.cache
def _decode_ours(cached):
    model = models.ours().eval()

    def decode(src_ids):
        with torch.inference_mode():
            step = model.decoder_step(src_ids, cached=cached)
            # No end of sentence: everyone writes exactly as many tokens.
            return decoding.greedy(step, len(src_ids), models.BOS, -1, models.NEW_TOKENS)

    return decode


@functools.cache
def _decode_torch():
    model = models.TorchModel().eval()
    return torch.inference_mode()(lambda src_ids: model.greedy(src_ids, models.NEW_TOKENS))


@functools.cache
def _decode_bart():
    model = models.bart().eval()
    n = models.NEW_TOKENS
    return lambda src_ids: model.generate(
        src_ids, do_sample=False, num_beams=1, min_new_tokens=n, max_new_tokens=n
    )


DECODERS = {
    "ours": lambda: _decode_ours(cached=True),
    "ours, no cache": lambda: _decode_ours(cached=False),
    "nn.Transformer, no cache": _decode_torch,
    "BART generate": _decode_bart,
}


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("turn", TURNS)
def test_greedy_decoding(benchmark, turn, name):
    decode = DECODERS[name]()
    src_ids = models.sentences()[0][: models.DECODED]
    benchmark.group = f"greedy decoding, {models.DECODED} sentences of {models.NEW_TOKENS} tokens"
    ids = benchmark.pedantic(decode, args=[src_ids], rounds=1, warmup_rounds=0 if turn else 2)
    assert len(ids) == models.DECODED
