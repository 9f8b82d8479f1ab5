"""Words and pieces, there and back."""

import pytest
from drawn import drawn
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from helpers.text.byte_alphabet import BYTE_OF
from helpers.text.tokenization import BOS, EOS, PAD, UNK, BytePairTokenizer, WordVocabulary, clean

TEXTS = ["le chat dort .", "le chien dort .", "l'été, le garçon mange une crème brûlée."] * 3


@pytest.fixture(scope="module")
def pieces():
    return BytePairTokenizer.train(TEXTS, 320)


def test_special_ids_are_the_first_four(pieces):
    words = WordVocabulary.build(TEXTS)
    for vocabulary in (words, pieces):
        assert vocabulary.tokens([PAD, BOS, EOS, UNK]) == ["<pad>", "<bos>", "<eos>", "<unk>"]


def test_words_by_hand():
    words = WordVocabulary.build(["b a b", ("c", "b")])
    assert words.words[4:] == ["b", "a", "c"]  # most frequent first, then by name
    assert words.encode("b zebra a", bos=True, eos=True) == [BOS, 4, UNK, 5, EOS]
    assert words.encode("b zebra a") == [4, UNK, 5]
    assert words.decode([BOS, 4, UNK, 5, EOS, PAD]) == "b <unk> a"
    assert len(words) == 7


def test_frequent_words_become_whole_pieces(pieces):
    assert pieces.tokens(pieces.encode("le chat dort .")) == ["▁le", "▁chat", "▁dort", "▁."]
    assert 256 + 4 < len(pieces) <= 320


@pytest.mark.parametrize("size", [260, 263, 280, 300, 320])
def test_the_first_pieces_are_those_of_shorter_training(pieces, size):
    shorter, trained = pieces.first(size), BytePairTokenizer.train(TEXTS, size)
    assert shorter.tokenizer.get_vocab() == trained.tokenizer.get_vocab()
    assert shorter.encode(TEXTS[2]) == trained.encode(TEXTS[2])


@drawn(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=30))
def test_pieces_come_back_as_the_text(pieces, text):
    assert pieces.decode(pieces.encode(text)) == clean(text)


@pytest.mark.parametrize("text", ["<eos>", "un <pad> chat", "<bos><unk>"])
def test_a_special_token_that_is_typed_is_text(pieces, text):
    ids = pieces.encode(text, bos=True, eos=True)
    assert min(ids[1:-1]) > EOS
    assert pieces.decode(ids) == text


def test_the_byte_alphabet_is_that_of_the_library():
    assert set(BYTE_OF) == set(pre_tokenizers.ByteLevel.alphabet())
    assert sorted(BYTE_OF.values()) == list(range(256))
    text = "é\u00adÿ 語"
    pieces = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
    assert bytes(BYTE_OF[c] for piece, _ in pieces for c in piece) == text.encode()


def test_special_tokens_are_not_written_out(pieces):
    assert pieces.decode([BOS, *pieces.encode("le chat"), EOS, PAD, UNK]) == "le chat"


def test_half_a_character_is_shown_as_bytes(pieces):
    tokens = pieces.tokens(pieces.encode("語"))
    assert all(token == "▁" or token.startswith("<") for token in tokens)


def test_dropout_cuts_differently_but_reads_the_same(pieces):
    text = "le garçon mange une crème brûlée."
    cuts = {tuple(pieces.encode(text, dropout=0.5)) for _ in range(20)}
    assert len(cuts) > 1
    assert {pieces.decode(cut) for cut in cuts} == {text}
    assert pieces.tokenizer.model.dropout is None  # what is saved afterwards skips no merge
    assert pieces.encode(text) == pieces.encode(text)


def test_save_and_load(pieces, tmp_path):
    pieces.save(tmp_path / "pieces.json")
    again = BytePairTokenizer.load(tmp_path / "pieces.json")
    assert again.encode(TEXTS[2], bos=True) == pieces.encode(TEXTS[2], bos=True)
    assert len(again) == len(pieces)


def test_clean():
    assert clean("  l\u2019e\u0301te\u0301 \n ici ") == "l'été ici"
