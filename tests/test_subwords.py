"""Pieces cut by hand against the `tokenizers` library, on ordinary text and on hostile text."""

import itertools
import json
import math
import random
import unicodedata
from collections import Counter

import pytest
from drawn import drawn
from hypothesis import example
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from helpers.data.corpus import toy_corpus
from helpers.pretrained.minilm import load_minilm
from helpers.pretrained.translator import load_translator
from helpers.text.byte_alphabet import BYTE_OF
from helpers.text.subwords import BytePairs, Unigram, WordPieces, bert_words, marked_words

LETTER = {byte: letter for letter, byte in BYTE_OF.items()}
TOY = [" ".join(side) for pair in toy_corpus(200, 0) for side in (pair.source, pair.target)]
HOSTILE = [
    "", " ", "   ", "\n\n \t", " a", "a ", "a  b", "\u2003wide\u00a0space\u3000", "\r\nline\u2028",
    "don't WE'LL they've", "été crème İstanbul ΣΊΣΥΦΟΣ", "a\u0301\u0323 e\u0301", "ﬁ ǆ ß", "!?…—",
    "🙂👍🏽👩\u200d👩\u200d👧", "日本語と한국어 и русский", "نص עברית हिन्दी ไทย",
    "½²Ⅷ 3.14 12345678", "\x00\x1c\x7f\u200b\ufeff", "<eos> [CLS] ##ing ▁x", "aaaaaaa", "x" * 130,
]  # fmt: skip


# Characters that are older than the libraries' own tables of characters.
OLD = st.characters(codec="utf-8").filter(
    lambda one: unicodedata.ucd_3_2_0.category(one) == unicodedata.category(one)
)
TEXT = st.text(st.one_of(OLD, st.sampled_from("".join(HOSTILE))), max_size=30)


def on_hostile_text(test):
    """Try a test on texts that nobody would write, and on each of those above."""
    for text in HOSTILE:
        test = example(text=text)(test)
    return drawn(text=TEXT, most=150)(test)


def letters(piece):
    """Write a piece as the library does, one letter per byte."""
    return "".join(LETTER[byte] for byte in piece)


def library_byte_pairs(texts, vocab_size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def merges_of(tokenizer):
    return [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


def as_bytes(letters):
    return bytes(BYTE_OF[letter] for letter in letters)


# Byte pairs.


@pytest.mark.parametrize("seed", range(60))
def test_training_breaks_ties_and_counts_repeats_as_the_library_does(seed):
    rng = random.Random(seed)
    texts = ["".join(rng.choices("aab bé", k=rng.randint(1, 60))) for _ in range(rng.randint(1, 5))]
    vocab_size = rng.randint(256, 330)
    theirs, ours = library_byte_pairs(texts, vocab_size), BytePairs.train(texts, vocab_size)
    merges = sorted(ours.ranks, key=ours.ranks.get)
    assert [(letters(a), letters(b)) for a, b in merges] == merges_of(theirs)
    text = "".join(rng.choices("aabb é🙂", k=40))
    assert ours.encode(text) == theirs.encode(text).ids


@pytest.fixture(scope="module")
def byte_pairs():
    """Learn 700 pieces twice, by hand and with the library."""
    return BytePairs.train(TOY, 700), library_byte_pairs(TOY, 700)


@on_hostile_text
def test_byte_pairs_are_the_librarys_and_come_back(byte_pairs, text):
    ours, theirs = byte_pairs
    ids = ours.encode(text)
    assert ids == theirs.encode(text).ids
    assert ours.decode(ids) == text


def test_half_a_character_is_shown_as_one(byte_pairs):
    ours, _ = byte_pairs
    assert ours.decode(ours.encode("語")[:2]) == "�"


@pytest.mark.slow
@on_hostile_text
def test_the_translators_merges_give_the_translators_pieces(translator, text):
    tokenizer, ours = translator
    text = unicodedata.normalize("NFC", text)
    text = text if text.startswith(" ") else f" {text}"
    wanted = tokenizer.encode(text, add_special_tokens=False)
    assert [letters(piece) for piece in ours.cut(text)] == wanted.tokens


@pytest.fixture(scope="module")
def translator():
    tokenizer = load_translator().tokenizer.tokenizer
    return tokenizer, BytePairs([(as_bytes(a), as_bytes(b)) for a, b in merges_of(tokenizer)])


def test_steps_begin_with_bytes_and_end_with_the_pieces(byte_pairs):
    ours, _ = byte_pairs
    steps = ours.steps(" lapins")
    assert steps[0] == [bytes([byte]) for byte in b" lapins"]
    assert steps[-1] == ours.cut(" lapins")
    assert [len(step) for step in steps] == list(range(7, len(steps[-1]) - 1, -1))


# WordPiece.


@pytest.fixture(scope="module")
def minilm():
    tokenizer = load_minilm().tokenizer
    return tokenizer, WordPieces(tokenizer.get_vocab())


@on_hostile_text
def test_words_are_prepared_as_by_bert(text):
    prepared = normalizers.BertNormalizer(lowercase=True).normalize_str(text)
    theirs = pre_tokenizers.BertPreTokenizer().pre_tokenize_str(prepared)
    assert bert_words(text) == [word for word, _ in theirs]


@pytest.mark.slow
@on_hostile_text
def test_word_pieces_are_minilms(minilm, text):
    tokenizer, ours = minilm
    bare = Tokenizer(tokenizer.model)  # so that a typed [CLS] is five letters
    bare.normalizer, bare.pre_tokenizer = tokenizer.normalizer, tokenizer.pre_tokenizer
    wanted = bare.encode(text)
    assert ours.cut(text) == wanted.tokens
    assert ours.encode(text) == wanted.ids


# Unigram.


@pytest.fixture(scope="module")
def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(TOY, trainer)
    pieces = json.loads(tokenizer.to_str())["model"]["vocab"]
    return tokenizer, Unigram({piece: score for piece, score in pieces if piece != "<unk>"})


@on_hostile_text
def test_unigram_pieces_are_the_librarys(unigram, text):
    tokenizer, ours = unigram
    assert marked_words(text) == [w for w, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]
    assert ours.cut(text) == tokenizer.encode(text).tokens


def all_cuts(word, log_probs):
    """List every way to cut a word into known pieces, with its log probability."""
    found = {}
    for places in itertools.product([False, True], repeat=len(word) - 1):
        ends = [i for i, cut in enumerate(places, 1) if cut] + [len(word)]
        pieces = tuple(word[a:b] for a, b in zip([0, *ends], ends, strict=False))
        if all(piece in log_probs for piece in pieces):
            found[pieces] = sum(log_probs[piece] for piece in pieces)
    return found


TINY = {"a": -2.0, "b": -1.5, "ab": -2.9, "ba": -2.2, "aba": -3.9, "bab": -5.0}


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_sampled_cuts_come_as_often_as_they_should(alpha):
    weights = {cut: math.exp(alpha * score) for cut, score in all_cuts("abab", TINY).items()}
    rng, draws = random.Random(0), 6000
    counts = Counter(tuple(Unigram(TINY).sample("abab", alpha, rng)) for _ in range(draws))
    assert set(counts) == set(weights)
    for cut, weight in weights.items():
        share = weight / sum(weights.values())
        spread = math.sqrt(share * (1 - share) / draws)
        assert abs(counts[cut] / draws - share) < 4 * spread
