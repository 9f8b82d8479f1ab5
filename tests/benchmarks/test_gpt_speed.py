"""A GPT's training step and its writing, beside Hugging Face's GPT-2 of the same size.

The contenders take turns, as in ``test_speed.py``.
"""

import functools

import models
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from helpers.models.gpt import GPT, GPTConfig
from helpers.pretrained.storyteller import load_storyteller
from helpers.transformer.decoding import greedy
from helpers.transformer.fast import cross_entropy_sum

VOCABULARY, WIDTH, HEADS, LAYERS, PLACES = 4096, 192, 6, 6, 512
BATCH, LENGTH, NEW_TOKENS = 16, 128, 256
TURNS = range(5)


def _ours():
    torch.manual_seed(0)
    sizes = {"vocab_size": VOCABULARY, "d_model": WIDTH, "n_heads": HEADS, "n_layers": LAYERS}
    return GPT(GPTConfig(**sizes, max_len=PLACES))


def _theirs():
    torch.manual_seed(0)
    sizes = {"vocab_size": VOCABULARY, "n_embd": WIDTH, "n_head": HEADS, "n_layer": LAYERS}
    nothing = {"bos_token_id": None, "eos_token_id": None}
    return GPT2LMHeadModel(GPT2Config(**sizes, n_positions=PLACES, **nothing))


def _our_loss(model, ids):
    targets = ids[:, 1:].flatten()
    return cross_entropy_sum(model(ids[:, :-1]).flatten(0, 1), targets) / len(targets)


CONTENDERS = {
    "ours": (_ours, _our_loss),
    "GPT2LMHeadModel": (_theirs, lambda model, ids: model(ids, labels=ids).loss),
}


@functools.cache
def _training_step(name):
    drawn = torch.Generator().manual_seed(0)
    ids = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=drawn)
    return models.plain_step(*CONTENDERS[name], ids)


@pytest.mark.parametrize("name", CONTENDERS)
@pytest.mark.parametrize("turn", TURNS)
def test_training_step_of_a_gpt(benchmark, turn, name):
    benchmark.group = f"training step of a GPT, {BATCH} windows of {LENGTH} tokens"
    step = _training_step(name)
    loss = benchmark.pedantic(step, rounds=1, warmup_rounds=0 if turn else 2)
    assert torch.isfinite(loss)


@functools.cache
def _writer(name):
    prompt = torch.arange(4)[None]
    if name == "GPT2LMHeadModel":
        model = _theirs().eval()
        n = {"min_new_tokens": NEW_TOKENS, "max_new_tokens": NEW_TOKENS}
        return lambda: model.generate(
            prompt, attention_mask=torch.ones_like(prompt), do_sample=False, **n
        )[:, 4:]
    model, cached = load_storyteller().model, name == "ours"
    return lambda: torch.tensor(greedy(model.decoder_step(prompt, cached), 1, 0, -1, NEW_TOKENS))


@pytest.mark.parametrize("name", ["ours", "ours, no cache", "GPT2LMHeadModel"])
@pytest.mark.parametrize("turn", TURNS)
def test_writing(benchmark, turn, name):
    benchmark.group = f"a GPT writes {NEW_TOKENS} tokens, the story model and GPT-2 of its size"
    ids = benchmark.pedantic(_writer(name), rounds=1, warmup_rounds=0 if turn else 1)
    benchmark.extra_info["tokens per second"] = round(NEW_TOKENS / benchmark.stats.stats.median)
    assert ids.shape == (1, NEW_TOKENS)
