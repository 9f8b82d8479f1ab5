"""Three ways to cut words into pieces, by hand: byte pairs, WordPiece and Unigram.

Written to be read. `tokenization` has the first of them from the `tokenizers` library, which is far
faster. With the same vocabulary, each of these cuts a text as the library does.
"""

import math
import random
import re
import unicodedata
from collections import Counter
from itertools import pairwise

from helpers.text.byte_alphabet import BYTE_OF

# What byte pairs start from: all 256 bytes, in the library's order, which decides between ties.
BYTES = [bytes([byte]) for byte in BYTE_OF.values()]

_KEPT = " 'sdmtlver"  # what the pattern names: the space, and the letters of 's, 't, 'll, 've, …
_WORD = re.compile(r"'(?:[sdmt]|ll|ve|re)| ?[a-zL]+| ?0+| ?[.']+|\s+(?!\S)|\s+")
_IDEOGRAPHS = (  # from, to; BERT takes each for a word
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2B81F), (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)  # fmt: skip
_MARK = "▁"  # what Unigram writes for a space


# Byte pairs ---------------------------------------------------------------------------------


def split_words(text: str):
    """Split a text into words, each with the space before it; no piece reaches across.

    Returns
    -------
    words : list of str
        Joined, they are the text again.

    Source
    ------
    Radford et al. (2019), section 2.2: letters, digits and other signs are kept apart.
    """
    kinds = "".join(map(_kind, text))  # one sign per character, so places stay what they are
    return [text[found.start() : found.end()] for found in _WORD.finditer(kinds)]


def _kind(character):
    """Return L for a letter, 0 for a digit, a line break for a space, a full stop for the rest."""
    if character in _KEPT:
        return character
    if character.isspace() and not "\x1c" <= character <= "\x1f":
        return "\n"
    return {"L": "L", "N": "0"}.get(unicodedata.category(character)[0], ".")


def count_pairs(words):
    """Count how often two pieces are neighbours.

    Parameters
    ----------
    words : iterable of (pieces, count)
        Each word once: the list of its pieces, and how often the word occurs.

    Returns
    -------
    counts : Counter
        Of pairs (left, right).
    """
    counts = Counter()
    for pieces, count in words:
        for pair in pairwise(pieces):
            counts[pair] += count
    return counts


def merge_pair(pieces, pair) -> list:
    """Join two pieces wherever they are neighbours, from left to right.

    Parameters
    ----------
    pieces : list of bytes or of str
    pair : tuple (left, right)
    """
    merged, i = [], 0
    while i < len(pieces):
        if tuple(pieces[i : i + 2]) == pair:
            merged.append(pieces[i] + pieces[i + 1])
            i += 2
        else:
            merged.append(pieces[i])
            i += 1
    return merged


class BytePairs:
    """Byte-pair encoding: from bytes to pieces, by merging what is often side by side.

    Parameters
    ----------
    merges : sequence of (bytes, bytes)
        In the order in which they were learned.

    Attributes
    ----------
    ranks : dict of (bytes, bytes) to int
        The place of each merge; the earliest is made first.
    vocabulary : list of bytes
        All 256 bytes, then what each merge made. A piece's id is its place.

    Source
    ------
    Gage (1994), "A New Algorithm for Data Compression"; Sennrich et al. (2016), "Neural Machine
    Translation of Rare Words with Subword Units", algorithm 1.
    """

    def __init__(self, merges=()):
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.vocabulary = list(dict.fromkeys([*BYTES, *(left + right for left, right in merges)]))
        self.ids = {piece: i for i, piece in enumerate(self.vocabulary)}

    @classmethod
    def train(cls, texts, vocab_size):
        """Learn merges from `texts` until there are `vocab_size` pieces or no pair is left."""
        counts = Counter(word for text in texts for word in split_words(text))
        words = {word: [bytes([byte]) for byte in word.encode()] for word in counts}
        ids, merges = {piece: i for i, piece in enumerate(BYTES)}, []
        while len(ids) < vocab_size:
            pairs = count_pairs((words[word], counts[word]) for word in words)
            if not pairs:
                break
            best = max(pairs, key=lambda p: (pairs[p], -ids[p[0]], -ids[p[1]]))
            words = {word: merge_pair(pieces, best) for word, pieces in words.items()}
            merges.append(best)
            ids.setdefault(best[0] + best[1], len(ids))
        return cls(merges)

    def cut(self, text):
        """Cut a text into its pieces, a list of bytes."""
        return [piece for word in split_words(text) for piece in self.steps(word)[-1]]

    def steps(self, word):
        """Return the pieces of one word before the first merge and after each."""
        pieces = [bytes([byte]) for byte in word.encode()]
        steps = [pieces]
        while len(pieces) > 1:
            ranks = [self.ranks.get(pair, math.inf) for pair in pairwise(pieces)]
            i = ranks.index(min(ranks))
            if ranks[i] == math.inf:
                break
            pieces = [*pieces[:i], pieces[i] + pieces[i + 1], *pieces[i + 2 :]]
            steps.append(pieces)
        return steps

    def encode(self, text):
        """Turn a text into ids."""
        return [self.ids[piece] for piece in self.cut(text)]

    def decode(self, ids):
        """Turn ids back into text; half a character is shown as �."""
        return b"".join(self.vocabulary[i] for i in ids).decode("utf-8", errors="replace")


# WordPiece ----------------------------------------------------------------------------------


def bert_words(text: str) -> list[str]:
    """Prepare a text as BERT does: lower case, no accents, split at spaces and punctuation.

    Source
    ------
    Devlin et al. (2019), the published code of the uncased model.
    """
    kept = []
    for character in text:
        kind = unicodedata.category(character)
        if character in "\t\n\r" or kind.startswith("Z"):
            kept.append(" ")
        elif kind not in ("Cc", "Cf", "Co") and character != "\ufffd":
            ideograph = any(low <= ord(character) <= high for low, high in _IDEOGRAPHS)
            kept.append(f" {character} " if ideograph else character)
    letters = unicodedata.normalize("NFD", "".join(kept))  # é becomes e and an accent
    letters = (letter for letter in letters if unicodedata.category(letter) != "Mn")
    # Letter by letter: str.lower would write another sigma at the end of a Greek word.
    lower = (f" {c} " if _is_punctuation(c) else c for letter in letters for c in letter.lower())
    return "".join(lower).split()


def _is_punctuation(character):
    return unicodedata.category(character).startswith("P") or character in "$+<=>^`|~"


class WordPieces:
    """WordPiece: from the left, always the longest piece that the vocabulary has.

    Parameters
    ----------
    vocabulary : dict of str to int
        Piece to id. A piece that goes on inside a word begins with ``##``.

    Source
    ------
    Schuster and Nakajima (2012), "Japanese and Korean Voice Search"; Devlin et al. (2019), "BERT".
    """

    UNKNOWN = "[UNK]"  # stands for a whole word of which some part isn't in the vocabulary
    LONGEST = 100  # a word of more characters is unknown

    def __init__(self, vocabulary):
        self.ids = vocabulary

    def cut(self, text):
        """Cut a text into its pieces."""
        return [piece for word in bert_words(text) for piece in self.cut_word(word)]

    def cut_word(self, word):
        """Cut one word into its pieces."""
        pieces, start = [], 0
        while start < len(word) <= self.LONGEST:
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.ids:
                    break
            else:
                return [self.UNKNOWN]
            pieces.append(piece)
            start = end
        return pieces if len(word) <= self.LONGEST else [self.UNKNOWN]

    def encode(self, text):
        """Turn a text into ids, without [CLS] and [SEP]."""
        return [self.ids[piece] for piece in self.cut(text)]


# Unigram ------------------------------------------------------------------------------------


def marked_words(text: str) -> list[str]:
    """Write ▁ for each space and one in front, and split before every ▁."""
    marked = text.replace(" ", _MARK)
    if marked and not marked.startswith(_MARK):
        marked = _MARK + marked
    return re.findall(f"{_MARK}[^{_MARK}]*", marked)


class Unigram:
    """The Unigram model: of all ways to cut a word, the likeliest, or one drawn at random.

    Each piece has a probability, and a cut has the product of its pieces' probabilities.

    Parameters
    ----------
    log_probs : dict of str to float
        In nats.

    Source
    ------
    Kudo (2018), "Subword Regularization", arXiv:1804.10959.
    """

    def __init__(self, log_probs):
        self.log_probs = log_probs
        self.longest = max(map(len, log_probs))
        self.unknown = min(log_probs.values()) - 10  # of a character that no piece holds

    def cut(self, text):
        """Cut a text where its pieces are likeliest, word by word."""
        return [piece for word in marked_words(text) for piece in self.cut_word(word)]

    def cut_word(self, word: str):
        """Cut one word into the likeliest pieces, by the algorithm of Viterbi.

        Returns
        -------
        pieces : list of str
            Unknown characters side by side are one piece.
        """
        # Of the first 0, 1, 2, … characters: the best score, and where their last piece starts.
        best, start = [0.0], [0]
        for edges in self._edges(word):
            scores = [best[begin] + log_prob for begin, log_prob in edges]
            best.append(max(scores))
            start.append(edges[scores.index(best[-1])][0])
        return self._pieces(word, start)

    def sample(self, word, alpha=1.0, rng=random) -> list[str]:
        """Cut one word at random: a cut has probability proportional to (its likelihood)^alpha.

        Parameters
        ----------
        word : str
        alpha : float, default=1.0
            0 makes all cuts equally likely; the larger, the more often the best one.
        rng : random.Random, default=random
        """
        total, edges = [0.0], list(self._edges(word))  # log of the sum over all cuts so far
        weights = []
        for into in edges:
            terms = [total[begin] + alpha * log_prob for begin, log_prob in into]
            top = max(terms)
            weights.append([math.exp(term - top) for term in terms])
            total.append(top + math.log(sum(weights[-1])))
        start = [0]
        for into, weight in zip(edges, weights, strict=True):
            start.append(rng.choices([begin for begin, _ in into], weight)[0])
        return self._pieces(word, start)

    def _edges(self, word):
        """For every place in a word, list the pieces that end there: (where it begins, log p)."""
        for end in range(1, len(word) + 1):
            places = range(max(0, end - self.longest), end)
            found = [
                (i, self.log_probs[word[i:end]]) for i in places if word[i:end] in self.log_probs
            ]
            if word[end - 1] not in self.log_probs:
                found.append((end - 1, self.unknown))
            yield found

    def _pieces(self, word, start):
        """Follow the starts back from the end; join unknown characters."""
        pieces, end = [], len(word)
        while end:
            piece = word[start[end] : end]
            end = start[end]
            if pieces and piece not in self.log_probs and pieces[0] not in self.log_probs:
                pieces[0] = piece + pieces[0]
            else:
                pieces.insert(0, piece)
        return pieces
