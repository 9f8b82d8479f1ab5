"""The toy corpus keeps its promises; Multi30k is fetched, checked and cached with care."""

import gzip
import hashlib
import re

import pytest
from samples import refuses, served

from helpers.data import corpus


@pytest.fixture(scope="module")
def pairs():
    return corpus.toy_corpus(4000, seed=0)


def test_same_seed_same_sentences(pairs):
    assert corpus.toy_corpus(50, seed=0) == pairs[:50]
    assert corpus.toy_corpus(50, seed=1) != pairs[:50]


def test_every_source_has_one_translation_in_both_directions():
    # Short sentences of several seeds, so that the same sentence is written more than once.
    french, english, written = {}, {}, 0
    for seed in range(4):
        for pair in corpus.toy_corpus(1500, seed, lengths=(4, 6)):
            assert english.setdefault(pair.source, pair.target) == pair.target
            assert french.setdefault(pair.target, pair.source) == pair.source
            written += 1
    assert written > 1.2 * len(english)


def test_every_word_is_aligned(pairs):
    for pair in pairs[:500]:
        assert {i for i, _ in pair.alignment} == set(range(len(pair.source)))
        assert {j for _, j in pair.alignment} == set(range(len(pair.target)))


def test_alignment_by_hand():
    wanted = re.compile(r"^les? petite? (\w+) (noir|noire|blanc|blanche|grise?) dort \.$")
    pair = next(
        p for p in corpus.toy_corpus(3000, lengths=(4, 7)) if wanted.match(" ".join(p.source))
        or re.match(r"^la petite \w+ (noire|blanche|grise) \w+ \.$", " ".join(p.source))
    )  # fmt: skip
    # la petite vache noire dort . / the little black cow sleeps .
    assert pair.alignment == {(0, 0), (1, 1), (2, 3), (3, 2), (4, 4), (5, 5)}


def test_negation_is_one_to_two(pairs):
    pair = next(p for p in pairs if "does" in p.target and p.source.count("pas") == 1)
    ne = next(i for i, word in enumerate(pair.source) if word in ("ne", "n'"))
    pas, does = pair.source.index("pas"), pair.target.index("does")
    links = {(i, j) for i in (ne, pas) for j in (does, does + 1)}
    assert pair.target[does + 1] == "not"
    assert links <= pair.alignment


def test_pronouns_agree_with_their_antecedent(pairs):
    feminine = {"la"}
    seen = {"il": 0, "elle": 0}
    for pair in pairs:
        for side, pronoun, antecedent in pair.antecedents:
            if side == "target":
                assert pair.target[pronoun] == "it"
                continue
            # The article stands before the noun, perhaps with one adjective between.
            before = pair.source[max(0, antecedent - 2) : antecedent]
            if "l'" in before:
                continue
            is_feminine = bool(feminine & set(before))
            assert pair.source[pronoun] == ("elle" if is_feminine else "il")
            seen[pair.source[pronoun]] += 1
    assert min(seen.values()) > 100


def test_splits_are_disjoint():
    splits = corpus.toy_splits(300, 50, 60, seed=3)
    assert [len(part) for part in splits] == [300, 50, 60]
    sources = [{pair.source for pair in part} for part in splits]
    assert not sources[0] & sources[1]
    assert not sources[0] & sources[2]
    assert not sources[1] & sources[2]


@pytest.mark.slow
def test_toy_errors():
    refuses("at least 4 tokens", corpus.toy_corpus, 3, lengths=(2, 5))
    refuses("different sentences of 4 to 4 tokens", corpus.toy_corpus, 50_000, lengths=(4, 4))


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Two small files behind a web server of our own, and an empty cache."""
    folder = tmp_path / "served"
    folder.mkdir()
    for language, lines in (("fr", "un chat\nun chien\n"), ("en", "a cat\na dog\n")):
        content = gzip.compress(lines.encode())
        (folder / f"val.{language}.gz").write_bytes(content)
        checksum = hashlib.sha256(content).hexdigest()
        monkeypatch.setitem(corpus.MULTI30K_SHA256, f"val.{language}", checksum)

    monkeypatch.setenv(corpus.CACHE_VARIABLE, str(tmp_path / "cache"))
    with served(folder) as address:
        monkeypatch.setattr(corpus, "MULTI30K", address)
        yield folder


def test_download_announces_checks_and_caches(server, tmp_path, capsys):
    assert corpus.multi30k("val") == [("un chat", "a cat"), ("un chien", "a dog")]
    said = capsys.readouterr().out
    assert "MB" in said
    assert str(tmp_path / "cache") in said
    for file in server.iterdir():
        file.unlink()
    assert corpus.multi30k("val")[1] == ("un chien", "a dog")
    assert capsys.readouterr().out == ""  # from the cache, without a word
    assert {p.name for p in (tmp_path / "cache").iterdir()} == {"val.fr.gz", "val.en.gz"}


def test_a_wrong_file_from_the_network_is_not_kept(server, tmp_path):
    (server / "val.fr.gz").write_bytes(b"something else")
    refuses("nothing was kept", corpus.multi30k, "val", error=OSError)
    assert not (tmp_path / "cache").exists() or not list((tmp_path / "cache").iterdir())


def test_a_damaged_file_in_the_cache_is_refused(server, tmp_path):
    corpus.multi30k("val")
    (tmp_path / "cache" / "val.fr.gz").write_bytes(b"damaged")
    refuses("Delete it", corpus.multi30k, "val", error=OSError)


def test_without_a_network_the_way_out_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "MULTI30K", "http://127.0.0.1:9/")
    monkeypatch.setenv(corpus.CACHE_VARIABLE, str(tmp_path))
    refuses("set COURSE_DATA to a folder", corpus.multi30k, "val", error=ConnectionError)


def test_unknown_split():
    refuses("split='dev'", corpus.multi30k, "dev")


@pytest.mark.data
def test_the_real_thing():
    sizes = {"train": 29_000, "val": 1_014, "test_2016_flickr": 1_000}
    for split, size in sizes.items():
        found = corpus.multi30k(split)
        assert len(found) == size
        assert all(pair.source and pair.target for pair in found)
