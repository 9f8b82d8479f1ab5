"""Training, decoding and writing, beside what people would use instead.

All in one run on the same shapes. The contenders take turns, one round each, and the table at the
end compares round with round: a machine's speed drifts by more than what is to be seen.
"""

import functools

import models
import pytest
import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

from helpers.models.gpt import GPT, GPTConfig
from helpers.pretrained.storyteller import load_storyteller
from helpers.training.training import batch_loss
from helpers.transformer.decoding import greedy
from helpers.transformer.fast import cross_entropy_sum

# Of the GPT, beside Hugging Face's GPT-2; the translators' sizes are in `models`.
VOCABULARY, WIDTH, HEADS, LAYERS, PLACES = 4096, 192, 6, 6, 512
BATCH, LENGTH, NEW_TOKENS = 16, 128, 256


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


def _gpt():
    torch.manual_seed(0)
    sizes = {"vocab_size": VOCABULARY, "d_model": WIDTH, "n_heads": HEADS, "n_layers": LAYERS}
    return GPT(GPTConfig(**sizes, max_len=PLACES))


def _gpt2():
    torch.manual_seed(0)
    sizes = {"vocab_size": VOCABULARY, "n_embd": WIDTH, "n_head": HEADS, "n_layer": LAYERS}
    nothing = {"bos_token_id": None, "eos_token_id": None}
    return GPT2LMHeadModel(GPT2Config(**sizes, n_positions=PLACES, **nothing))


def _gpt_loss(model, ids):
    targets = ids[:, 1:].flatten()
    return cross_entropy_sum(model(ids[:, :-1]).flatten(0, 1), targets) / len(targets)


def _windows():
    drawn = torch.Generator().manual_seed(0)
    return [torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=drawn)]


TRANSLATORS = {
    "ours": (models.ours, _ours),
    "ours, bf16": (models.ours, _ours_bf16),
    "nn.Transformer": (models.TorchModel, _torch),
    "BART": (models.bart, _bart),
}
GPTS = {
    "ours": (_gpt, _gpt_loss),
    "GPT2LMHeadModel": (_gpt2, lambda model, ids: model(ids, labels=ids).loss),
}
# On what a step is taken, and by whom.
TRAINED = {
    "sentences full length": (models.sentences, TRANSLATORS),
    "sentences padded": (functools.partial(models.sentences, padded=True), TRANSLATORS),
    f"of a GPT, {BATCH} windows of {LENGTH} tokens": (_windows, GPTS),
}


def in_turns(jobs):
    """Let those who do each job take five turns."""
    pairs = [(job, name) for job, (*_, names) in jobs.items() for name in names]
    by_job = pytest.mark.parametrize(("job", "name"), pairs)
    return lambda test: by_job(pytest.mark.parametrize("turn", range(5))(test))


@functools.cache
def _training_step(job, name):
    batch, contenders = TRAINED[job]
    return models.plain_step(*contenders[name], *batch())


@in_turns(TRAINED)
def test_training_step(benchmark, turn, job, name):
    benchmark.group = f"training step, {job}"
    step = _training_step(job, name)
    loss = benchmark.pedantic(step, rounds=1, warmup_rounds=0 if turn else 2)
    assert torch.isfinite(loss)


@functools.cache
def _decoder(name):
    src_ids, n = models.sentences()[0][: models.DECODED], models.NEW_TOKENS
    if name == "BART generate":
        model, limits = models.bart().eval(), {"min_new_tokens": n, "max_new_tokens": n}
        return lambda: model.generate(src_ids, do_sample=False, num_beams=1, **limits)
    if name == "nn.Transformer, no cache":
        model = models.TorchModel().eval()
        return torch.inference_mode()(lambda: model.greedy(src_ids, n))
    model, cached = models.ours().eval(), name == "ours"

    @torch.inference_mode()
    def decode():  # no end of sentence: everyone writes exactly as many tokens
        step = model.decoder_step(src_ids, cached=cached)
        return greedy(step, len(src_ids), models.BOS, -1, n)

    return decode


@functools.cache
def _writer(name):
    prompt = torch.arange(4)[None]
    if name == "GPT2LMHeadModel":
        model, limits = _gpt2().eval(), {"min_new_tokens": NEW_TOKENS, "max_new_tokens": NEW_TOKENS}
        mask = torch.ones_like(prompt)
        return lambda: model.generate(prompt, attention_mask=mask, do_sample=False, **limits)[:, 4:]
    model, cached = load_storyteller().model, name == "ours"
    return lambda: greedy(model.decoder_step(prompt, cached), 1, 0, -1, NEW_TOKENS)


# What is written: how many texts of how many tokens, with which function, and by whom.
WRITTEN = {
    "greedy decoding of sentences": (
        models.DECODED, models.NEW_TOKENS, _decoder,
        ["ours", "ours, no cache", "nn.Transformer, no cache", "BART generate"],
    ),
    "the story model, and GPT-2 of its size": (
        1, NEW_TOKENS, _writer, ["ours", "ours, no cache", "GPT2LMHeadModel"]
    ),
}  # fmt: skip


@in_turns(WRITTEN)
def test_writing(benchmark, turn, job, name):
    n_texts, n_tokens, writer, _ = WRITTEN[job]
    benchmark.group = f"{job}: {n_texts} × {n_tokens} tokens"
    ids = benchmark.pedantic(writer(name), rounds=1, warmup_rounds=0 if turn else 2)
    per_second = n_texts * n_tokens / benchmark.stats.stats.median
    benchmark.extra_info["tokens per second"] = round(per_second)
    assert len(ids) == n_texts
    assert min(map(len, ids)) >= n_tokens
