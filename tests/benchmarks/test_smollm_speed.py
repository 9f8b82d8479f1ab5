"""SmolLM writes, in our decoder and in Hugging Face's; the contenders take turns.

llama.cpp computes with the file's 4 bits directly, so it reads less than a fifth of the bytes per
token that we read in 32 bits, and should win by several times. Where ``llama-cpp-python`` can be
installed (it builds itself from C++), one compares like this, with two threads as here::

    from llama_cpp import Llama
    from helpers.pretrained.smollm import gguf_path
    model = Llama(str(gguf_path()), n_threads=2, verbose=False)
    model.create_completion("Once upon a time", max_tokens=48, temperature=0)["usage"]
"""

import functools
import itertools

import pytest
import torch
from twins import llama_twin

from helpers.pretrained.smollm import load_smollm

PRECISIONS = {"32 bits": torch.float32, "16 bits": torch.bfloat16}
N_TOKENS = 48


@functools.cache
def _ours(dtype):
    return load_smollm(dtype)


@functools.cache
def _theirs(dtype):
    return llama_twin(_ours(dtype).model)


def _write(name, dtype):
    smol = _ours(dtype)
    ids = smol.encode("Once upon a time, in a village by the sea,")
    if name == "ours":
        return lambda: [*itertools.islice(smol.choose(ids, temperature=0), N_TOKENS)]
    if name == "reading the weights":  # nothing can be quicker than this, per token
        weights = [*smol.model.parameters()]
        return lambda: [sum(w.view(torch.int64).sum() for w in weights) for _ in range(N_TOKENS)]
    n = {"min_new_tokens": N_TOKENS, "max_new_tokens": N_TOKENS, "do_sample": False}
    theirs, mask = _theirs(dtype), torch.ones_like(ids[None])
    return lambda: theirs.generate(ids[None], attention_mask=mask, **n)[0, len(ids) :].tolist()


@pytest.mark.parametrize("name", ["ours", "LlamaForCausalLM", "reading the weights"])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("turn", range(5))
def test_smollm_writes(benchmark, turn, precision, name):
    benchmark.group = f"SmolLM writes {N_TOKENS} tokens in {precision}"
    write = _write(name, PRECISIONS[precision])
    found = benchmark.pedantic(write, rounds=1, warmup_rounds=0 if turn else 1)
    benchmark.extra_info["tokens per second"] = round(N_TOKENS / benchmark.stats.stats.median, 1)
    assert len(found) == N_TOKENS
