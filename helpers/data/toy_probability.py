"""How likely the toy grammar is to write a sentence: no model can predict its text any better."""

import math

from helpers.data import toy_lexicon as words
from helpers.data.toy_grammar import Grammar

MOST_CLAUSES = 2


class WeighedGrammar(Grammar):
    """Writes the sentences of `Grammar` in English and knows the probability of each.

    A sentence is made by a series of random choices, and its words reveal nearly all of them. Their
    probabilities are multiplied. Two choices stay hidden, both in the choice of a noun, and there
    the probabilities of all ways to the same noun are added up.
    """

    def __init__(self, seed: int):
        super().__init__(seed)
        self.nats = 0.0  # -log of the probability of what was chosen so far
        self.chance = lambda: _Draw(self.random.random(), self.count)

    def english(self):
        """Write one sentence of one or two clauses.

        Returns
        -------
        tokens : list of str
        nats : float
            The negative logarithm of its probability, zero only for a certainty.
        """
        self.nats = 0.0
        _, en, _ = self.sentence(self.pick(range(1, MOST_CLAUSES + 1)))
        return [word.text for word in en], self.nats

    def count(self, probability):
        """Take note of a choice and its `probability`."""
        self.nats -= math.log(probability)

    def unused(self, nouns):
        """Draw a noun that the sentence does not have yet, as long as there is one."""
        nats, used = self.nats, set(self.used)
        noun = super().unused(nouns)
        self.nats = nats  # it doesn't matter whether another noun was drawn first
        self.count(_share(noun, nouns, used))
        return noun

    def way(self, animal):
        """Write what an `animal`, a noun, does not cross."""
        nats, used = self.nats, set(self.used)
        phrase = super().way(animal)
        self.nats = nats  # it doesn't matter which of the two lists the way was drawn from
        other = [way for way in words.WAYS if way.feminine != animal.feminine]
        way = phrase.noun
        self.count(0.6 * _share(way, other, used) + 0.4 * _share(way, words.WAYS, used))
        return phrase


def _share(noun, nouns, used):
    """Compute the probability of `noun`: all that aren't used yet are equally likely."""
    left = [other for other in nouns if other not in used] or nouns
    return (noun in left) / len(left)


class _Draw(float):
    """A number between 0 and 1 that reports the probability of what is read off it."""

    def __new__(cls, value, count):
        draw = super().__new__(cls, value)
        draw.count, draw.low, draw.high = count, 0.0, 1.0  # where it is known to lie
        return draw

    def __lt__(self, limit):
        below = float(self) < limit
        low, high = (
            (self.low, min(limit, self.high)) if below else (max(limit, self.low), self.high)
        )
        self.count((high - low) / (self.high - self.low))
        self.low, self.high = low, high
        return below

    def __mul__(self, n):  # int(chance() * n) chooses one of n
        self.count(1 / n)
        return float(self) * n


def toy_text(n_tokens, seed):
    """Write sentences one after the other, each ending in a full stop.

    Parameters
    ----------
    n_tokens : int
        At least so many; the last sentence is written to its end.
    seed : int

    Returns
    -------
    tokens : list of str
        Begins with a full stop, so that the first sentence has something before it.
    nats : float
        The negative logarithm of the text's probability: the entropy of its tokens, summed.
    """
    grammar, tokens, nats = WeighedGrammar(seed), ["."], 0.0
    while len(tokens) <= n_tokens:
        sentence, surprise = grammar.english()
        tokens += sentence
        nats += surprise
    return tokens, nats
