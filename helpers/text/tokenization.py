"""From text to ids and back: a vocabulary of words, and byte-pair pieces."""

import itertools
import json
import re
import unicodedata
from collections import Counter

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from helpers.machine.atomic_writes import atomic_write
from helpers.text.byte_alphabet import BYTE_OF, shown

PAD, BOS, EOS, UNK = range(4)
SPECIALS = ["<pad>", "<bos>", "<eos>", "<unk>"]


def _wrap(ids, bos, eos):
    return [BOS] * bos + ids + [EOS] * eos


class WordVocabulary:
    """Give every word one id; words never seen share `UNK`.

    Parameters
    ----------
    words : sequence of str
        Without the special tokens, which take ids 0 to 3.
    """

    def __init__(self, words):
        self.words = SPECIALS + list(words)
        self.ids = {word: i for i, word in enumerate(self.words)}

    @classmethod
    def build(cls, sentences):
        """Collect the words of `sentences` (str, split at spaces, or lists of str)."""
        counts = Counter(itertools.chain.from_iterable(map(cls.split, sentences)))
        return cls(sorted(counts, key=lambda word: (-counts[word], word)))

    @staticmethod
    def split(sentence):
        """Split at spaces; a list of words passes through."""
        return sentence.split() if isinstance(sentence, str) else list(sentence)

    def __len__(self):
        return len(self.words)

    def encode(self, text, bos=False, eos=False):
        """Turn a sentence into ids, with begin and end of sentence if asked for."""
        return _wrap([self.ids.get(word, UNK) for word in self.split(text)], bos, eos)

    def tokens(self, ids):
        """Name each id, special tokens included."""
        return [self.words[i] for i in ids]

    def decode(self, ids):
        """Turn ids back into text; special tokens but `<unk>` are left out."""
        return " ".join(self.words[i] for i in ids if i not in (PAD, BOS, EOS))


class BytePairTokenizer:
    """Cut text into pieces: frequent words whole, rare words in parts.

    It works on bytes, so that no character is unknown. Spaces and punctuation come back as they
    were. The merging itself is done by the `tokenizers` library.

    Parameters
    ----------
    tokenizer : tokenizers.Tokenizer

    Source
    ------
    Sennrich et al. (2016), "Neural Machine Translation of Rare Words with Subword Units";
    Radford et al. (2019), section 2.2, for bytes as the alphabet.
    """

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        # Whoever types <eos> means five letters, not the end of the sentence.
        tokenizer.encode_special_tokens = True

    @classmethod
    def train(cls, texts, vocab_size):
        """Learn the merges from `texts` until there are `vocab_size` pieces."""
        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=SPECIALS,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer)

    def first(self, vocab_size):
        """Return a tokenizer of the first `vocab_size` pieces: what shorter training would give."""
        state = json.loads(self.tokenizer.to_str())
        model = state["model"]
        ids = {piece: i for piece, i in model["vocab"].items() if i < vocab_size}
        merges = itertools.takewhile(lambda pair: "".join(pair) in ids, model["merges"])
        state["model"] = {**model, "vocab": ids, "merges": list(merges)}
        return type(self)(Tokenizer.from_str(json.dumps(state)))

    def __len__(self):
        return self.tokenizer.get_vocab_size()

    def encode(self, text, bos=False, eos=False, dropout=0.0) -> list[int]:
        """Turn text into ids, with begin and end of sentence if asked for.

        Parameters
        ----------
        text : str
        bos, eos : bool, default=False
        dropout : float, default=0.0
            Share of merges skipped at random, so that a model in training meets the same word in
            several cuts (Provilkov et al. 2020, "BPE-Dropout").
        """
        self.tokenizer.model.dropout = dropout or None
        ids = self.tokenizer.encode(clean(text), add_special_tokens=False).ids
        self.tokenizer.model.dropout = None
        return _wrap(ids, bos, eos)

    def tokens(self, ids):
        """Show each piece of `ids`: `▁` marks a space before it, special tokens are named.

        A piece that ends in the middle of a character is shown as its bytes, such as ``<C3>``.
        """
        names = [self.tokenizer.id_to_token(int(i)) for i in ids]
        return [one if one in SPECIALS else shown(bytes(BYTE_OF[c] for c in one)) for one in names]

    def decode(self, ids):
        """Turn ids back into text; special tokens are left out."""
        return self.tokenizer.decode([int(i) for i in ids]).strip()

    def save(self, path):
        """Write the merges as JSON."""
        with atomic_write(path) as partial:
            self.tokenizer.save(str(partial), pretty=False)

    @classmethod
    def load(cls, path):
        """Read what `save` wrote."""
        return cls(Tokenizer.from_file(str(path)))


def clean(text):
    """Normalise text: composed accents, single spaces, straight apostrophes."""
    text = unicodedata.normalize("NFC", text).replace("\u2019", "'")
    return re.sub(r"\s+", " ", text).strip()
