"""The course's sentences: the toy corpus with its true alignments, and Multi30k."""

import contextlib
import gc
import gzip
import http.client
import os
import urllib.request
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import platformdirs

from helpers.data.toy_grammar import Grammar
from helpers.machine.atomic_writes import atomic_write
from helpers.machine.fingerprints import fingerprint

CACHE_VARIABLE = "COURSE_DATA"
MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
MULTI30K_SHA256 = {
    "train.en": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.fr": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.en": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.fr": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "test_2016_flickr.en": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.fr": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
}


class TextPair(NamedTuple):
    """A sentence, `source`, and its translation, `target`, as written."""

    source: str
    target: str


def multi30k(split) -> list[TextPair]:
    """Read French image captions and their English translations; fetch them on first use.

    Parameters
    ----------
    split : {"train", "val", "test_2016_flickr"}
        29,000, 1,014 and 1,000 pairs.

    Raises
    ------
    ValueError
        If there is no such split.
    ConnectionError
        If the files are not in the cache and cannot be fetched.
    OSError
        If a file is not the one that was published.

    Source
    ------
    Elliott et al. (2016), "Multi30K: Multilingual English-German Image Descriptions"; French:
    Elliott et al. (2017), "Findings of the Second Shared Task on Multimodal Machine Translation".
    """
    if f"{split}.fr" not in MULTI30K_SHA256:
        known = '"train", "val", "test_2016_flickr"'
        raise ValueError(f"Multi30k has the splits {known}; got split={split!r}.")
    sides = []
    for language in ("fr", "en"):
        name = f"{split}.{language}"
        path = cached_file(name + ".gz", MULTI30K, MULTI30K_SHA256[name])
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            sides.append([line.strip() for line in lines])
    return [TextPair(*pair) for pair in zip(*sides, strict=True)]


def cache_directory():
    """Say where data is kept: the COURSE_DATA variable, or the system's cache directory."""
    return Path(os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_dir("attention-course"))


def cached_file(name: str, address: str, sha256: str) -> Path:
    """Return the path of a file that is known by its checksum; download it if it is not there.

    It is downloaded from the `address` with the `name` behind it. If it can't be fetched, it is a
    ConnectionError, if its checksum is wrong, an OSError.
    """
    path = cache_directory() / name
    if not path.exists():
        content = fetch(address + name, path)
        if fingerprint(content) != sha256:
            raise OSError(
                f"{address}{name} sent a file whose SHA-256 is not {sha256[:12]}…; nothing was "
                f"kept. Try again, or copy the right file to {path.parent}."
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as partial:
            partial.write_bytes(content)
    elif fingerprint(path.read_bytes()) != sha256:
        raise OSError(
            f"{path} is damaged or another file (its SHA-256 is not {sha256[:12]}…). Delete it; "
            f"the next call fetches it again."
        )
    return path


def fetch(address: str, path: Path) -> bytes:
    """Download a file's bytes after saying what is fetched, how large it is and where it goes.

    That is to `path`, where the caller will keep it. If it can't be fetched, it is a
    ConnectionError.
    """
    try:
        with urllib.request.urlopen(address, timeout=30) as response:
            size = int(response.headers.get("Content-Length", 0)) / 1e6
            print(f"Downloading {address} ({size:.2f} MB) to {path}", flush=True)
            return response.read()
    except (OSError, http.client.HTTPException) as error:  # no network, or a garbled answer
        raise ConnectionError(
            f"could not fetch {address} ({error!r}). Try again. Without a network, copy "
            f"{path.name} to {path.parent}, or set {CACHE_VARIABLE} to a folder that holds it."
        ) from error


class ToyPair(NamedTuple):
    """A toy sentence and its translation.

    Parameters
    ----------
    source, target : tuple of str
        Tokens, the full stop included.
    alignment : frozenset of (source index, target index)
        Which words are translations of each other.
    antecedents : tuple of (side, pronoun index, antecedent index)
        For every pronoun, on the "source" and on the "target" side, the noun it stands for.
    """

    source: tuple
    target: tuple
    alignment: frozenset
    antecedents: tuple

    @property
    def source_text(self):
        """The source as one writes it: nothing between l' and its noun, nor before the stop."""
        return " ".join(self.source).replace("' ", "'").replace(" .", ".")


class Splits(NamedTuple):
    """Three lists of pairs, `train`, `validation`, `test`, without a common source sentence."""

    train: list
    validation: list
    test: list


@contextlib.contextmanager
def _without_collection():
    """Keep Python from searching all that was made for cycles, which took a quarter of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@_without_collection()
def toy_corpus(n, seed=0, lengths=(4, 40)) -> list[ToyPair]:
    """Write `n` different toy pairs, French to English, short and long ones mixed.

    Parameters
    ----------
    n : int
    seed : int, default=0
    lengths : (int, int), default=(4, 40)
        Fewest and most source tokens, the full stop included.

    Raises
    ------
    ValueError
        If the lengths make no sense, or there are not so many sentences.
    """
    shortest, longest = lengths
    if not 4 <= shortest <= longest:
        raise ValueError(f"lengths must be (fewest, most) with at least 4 tokens; got {lengths}.")
    grammar, pairs, failures = Grammar(seed), {}, 0
    # Clauses have about nine tokens; drawing their number first spreads the lengths.
    most_clauses = max(1, round(longest / 9))
    while len(pairs) < n:
        fr, en, pronouns = grammar.sentence(1 + int(grammar.chance() * most_clauses))
        tokens = tuple([word.text for word in fr])
        if shortest <= len(tokens) <= longest and tokens not in pairs:
            pairs[tokens] = _pair(fr, en, pronouns)
            failures = 0
        elif (failures := failures + 1) > 10_000:
            raise ValueError(
                f"found only {len(pairs)} different sentences of {shortest} to {longest} tokens; "
                f"{n} were asked for. Ask for fewer, or allow more lengths."
            )
    return list(pairs.values())


def _pair(source, target, pronouns):
    texts, keys, numbers = zip(zip(*source, strict=True), zip(*target, strict=True), strict=True)
    places = defaultdict(list)
    for j, key in enumerate(keys[1]):
        places[key].append(j)
    alignment = frozenset([(i, j) for i, key in enumerate(keys[0]) for j in places[key]])
    sides = list(zip(("source", "target"), keys, numbers, strict=True))
    antecedents = [
        (side, its_keys.index(key), its_numbers.index(number))
        for key, number in pronouns
        for side, its_keys, its_numbers in sides
    ]
    return ToyPair(*texts, alignment, tuple(antecedents))


def toy_splits(n_train, n_validation, n_test, seed=0, lengths=(4, 40)) -> Splits:
    """Write toy pairs for training, validation and test; no sentence is in two of them.

    There are `n_train`, `n_validation` and `n_test`; the other arguments are as in `toy_corpus`.
    """
    pairs = toy_corpus(n_train + n_validation + n_test, seed, lengths)
    middle = n_train + n_validation
    return Splits(pairs[:n_train], pairs[n_train:middle], pairs[middle:])
