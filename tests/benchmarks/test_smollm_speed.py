"""SmolLM writes and reads, in our decoder, in Hugging Face's and in llama.cpp; turn by turn.

llama.cpp computes with the file's 4 bits directly, in both precisions of the others. It's compared
where the package ``llama-cpp-python`` is installed, which builds it from C++ (ten minutes). With
two threads on a busy machine, set ``OMP_WAIT_POLICY=passive``: threads that spin block each other.
"""

import atexit
import functools
import itertools

import pytest
import torch
from twins import llama_twin

from helpers.pretrained.smollm import gguf_path, load_smollm

PRECISIONS = {"32 bits": torch.float32, "16 bits": torch.bfloat16}
JOBS = {"writes 48 tokens": (11, 48), "reads 250 tokens": (250, 1)}  # tokens read and written


@functools.cache
def _ours(dtype):
    return load_smollm(dtype)


@functools.cache
def _theirs(dtype):
    return llama_twin(_ours(dtype).model)


@functools.cache
def _llama_cpp():
    why = "llama.cpp is left out: pip install llama-cpp-python builds it from C++."
    n = {"n_threads": torch.get_num_threads(), "n_threads_batch": torch.get_num_threads()}
    model = pytest.importorskip("llama_cpp", reason=why).Llama(str(gguf_path()), verbose=False, **n)
    atexit.register(model.close)
    return model


def _do(name, dtype, n_read, n_written):
    smol = _ours(dtype)
    ids = smol.encode("Once upon a time, in a village by the sea,").repeat(50)[:n_read]
    if name == "ours":
        return lambda: [*itertools.islice(smol.choose(ids, temperature=0), n_written)]
    if name == "reading the weights":  # nothing can be quicker than this, per token
        weights = [*smol.model.parameters()]
        return lambda: [sum(w.view(torch.int64).sum() for w in weights) for _ in range(n_written)]
    if name == "llama.cpp, 4 bits":
        model = _llama_cpp()

        def write():
            model.reset()  # else it keeps what it has read in the turn before
            return [*itertools.islice(model.generate(ids.tolist(), temp=0.0), n_written)]

        return write
    n = {"min_new_tokens": n_written, "max_new_tokens": n_written, "do_sample": False}
    theirs, mask = _theirs(dtype), torch.ones_like(ids[None])
    return lambda: theirs.generate(ids[None], attention_mask=mask, **n)[0, len(ids) :].tolist()


@pytest.mark.parametrize(
    "name", ["ours", "LlamaForCausalLM", "llama.cpp, 4 bits", "reading the weights"]
)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("turn", range(5))
def test_smollm(benchmark, turn, job, precision, name):
    benchmark.group = f"SmolLM {job} in {precision}"
    do = _do(name, PRECISIONS[precision], *JOBS[job])
    found = benchmark.pedantic(do, rounds=1, warmup_rounds=0 if turn else 1)
    benchmark.extra_info["tokens per second"] = round(
        max(JOBS[job]) / benchmark.stats.stats.median, 1
    )
    assert len(found) == JOBS[job][1]
