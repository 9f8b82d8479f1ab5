"""A grammar that writes French and English at the same time, and knows what belongs together.

Every word it writes carries a key. A French and an English word with the same key are translations
of each other: that is the true alignment.
"""

import random
from itertools import count
from typing import NamedTuple

from helpers.data import toy_lexicon as words

VOWELS = "aeiouyâàéèêîôœ"
MUTE_H = ("homme", "hommes")
ELIDED = {"le": "l'", "la": "l'", "ne": "n'", "que": "qu'"}


class Word(NamedTuple):
    """A word: `text` and `key`; nouns have a `number`, so that a pronoun can point at one."""

    text: str
    key: int
    number: int = -1


class NounPhrase(NamedTuple):
    """A `noun` with what belongs to it, as words of `fr` and `en`; `plural`, and its `number`.

    `extended` tells that a place or a relative clause follows the noun.
    """

    fr: list
    en: list
    noun: words.Noun
    plural: bool
    number: int
    extended: bool


class Grammar:
    """Writes sentences; the same seed gives the same ones."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.chance = self.random.random

    def pick(self, choices):
        """Draw one of several."""
        return choices[int(self.chance() * len(choices))]

    def sentence(self, n_clauses: int):
        """Write one sentence of so many clauses.

        Returns
        -------
        fr, en : list of Word
        pronouns : list of (fr pronoun's key, antecedent's number)
        """
        self.keys, self.numbers, self.pronouns, self.used = count(), count(), [], set()
        fr, en, joint, joints = [], [], None, words.JOINTS
        for i in range(n_clauses):
            if i:
                # The same joint never comes twice in a row, and "while" only once.
                joint = self.pick([other for other in joints if other != joint])
                if joint is words.WHILE:
                    joints = words.JOINTS[:-1]
                key = next(self.keys)
                fr += [Word(text, key) for text in joint[0].split()]
                en.append(Word(joint[1], key))
            # What does not happen takes no time: after "while" nothing is denied.
            if joint is words.WHILE:
                clause_fr, clause_en = self.clause(may_deny=False)
            else:
                clause_fr, clause_en = self.because() if self.chance() < 0.3 else self.clause()
            fr += clause_fr
            en += clause_en
        stop = next(self.keys)
        return _elide([*fr, Word(".", stop)]), _an([*en, Word(".", stop)]), self.pronouns

    def unused(self, nouns):
        """Draw a noun that the sentence does not have yet, as long as there is one."""
        noun = self.pick(nouns)
        if noun in self.used:
            noun = self.pick([other for other in nouns if other not in self.used] or nouns)
        self.used.add(noun)
        return noun

    def noun_phrase(self, nouns, sizes, colours, extras=True, plural=None, definite=None):
        """Write article, adjectives and noun; sometimes with a place or a relative clause."""
        noun = self.unused(nouns)
        plural = self.chance() < 0.35 if plural is None else plural
        definite = plural or (self.chance() < 0.7 if definite is None else definite)
        number, article, key = next(self.numbers), next(self.keys), next(self.keys)
        fr_noun = Word(noun.fr_plural if plural else noun.fr, key, number)
        en_noun = Word(noun.en_plural if plural else noun.en, key, number)
        gender = noun.feminine
        if definite:
            fr = [Word("les" if plural else "la" if gender else "le", article)]
        else:
            fr = [Word("une" if gender else "un", article)]
        en = [Word("the" if definite else "a", article)]
        if sizes and self.chance() < 0.35:
            size, size_key = self.pick(sizes), next(self.keys)
            form = size.form(gender, plural)
            if size.masculine_vowel and not gender and not plural and _starts_with_vowel(noun.fr):
                form = size.masculine_vowel
            fr.append(Word(form, size_key))
            en.append(Word(size.en, size_key))
        fr.append(fr_noun)
        if colours and self.chance() < 0.35:
            colour, colour_key = self.pick(colours), next(self.keys)
            fr.append(Word(colour.form(gender, plural), colour_key))
            en.insert(1 if colour.opinion else len(en), Word(colour.en, colour_key))
        en.append(en_noun)
        extended = extras and self._add_extra(fr, en, plural, noun in words.PEOPLE)
        return NounPhrase(fr, en, noun, plural, number, extended)

    def _add_extra(self, fr, en, plural, human):
        """Append a place or a relative clause, which puts the verb far from its subject.

        Say whether one was appended: most nouns get none.
        """
        draw = self.chance()
        if draw < 0.15:
            place_fr, place_en = self.place()
            fr += place_fr
            en += place_en
        elif draw < 0.25:  # who sees something
            key = next(self.keys)
            verb_fr, verb_en = self.verb(self.pick(words.TOWARDS), plural)
            thing = self.thing()
            fr += [Word("qui", key), *verb_fr, *thing.fr]
            en += [Word("who" if human else "that", key), *verb_en, *thing.en]
        elif draw < 0.35:  # whom somebody sees
            key = next(self.keys)
            other = self.being(extras=False)
            verb_fr, verb_en = self.verb(self.towards_being(), other.plural)
            fr += [Word("que", key), *other.fr, *verb_fr]
            en += [Word("that", key), *other.en, *verb_en]
        return draw < 0.35

    def towards_being(self):
        """Draw a verb whose object is a person or an animal."""
        return words.FOLLOWS if self.chance() < 1 / 6 else self.pick(words.TOWARDS)

    def place(self):
        """Write where somebody is."""
        building = self.chance() < 0.5
        where_fr, where_en = self.pick(words.OUTSIDE) if building else words.INSIDE
        key, rooms = next(self.keys), words.BUILDINGS if building else words.ROOMS
        room = self.noun_phrase(rooms, (), (), extras=False, plural=False, definite=True)
        en = [Word(text, key) for text in where_en.split()]
        return [Word(where_fr, key), *room.fr], [*en, *room.en]

    def being(self, extras=True, definite=None):
        """Write a person or an animal."""
        if self.chance() < 0.5:
            return self.person(extras, definite)
        colours = words.COLOURS_OF_ANIMALS
        return self.noun_phrase(words.ANIMALS, words.SIZES, colours, extras, definite=definite)

    def person(self, extras=True, definite=None):
        """Write a person."""
        return self.noun_phrase(words.PEOPLE, words.AGES, words.MOODS, extras, definite=definite)

    def thing(self, extras=False, definite=None):
        """Write a thing."""
        return self.noun_phrase(words.THINGS, words.SIZES, words.COLOURS, extras, definite=definite)

    def verb(self, verb, plural, negated=False):
        """Write a verb that agrees, negated or not."""
        key = next(self.keys)
        fr = [Word(verb.fr_plural if plural else verb.fr, key)]
        bare = plural or negated
        en = [Word(text, key) for text in (verb.en_bare if bare else verb.en).split()]
        if not negated:
            return fr, en
        no = next(self.keys)
        does = Word("do" if plural else "does", no)
        return [Word("ne", no), *fr, Word("pas", no)], [does, Word("not", no), *en]

    def clause(self, may_deny=True):
        """Write subject, verb and perhaps an object; nothing is negated unless `may_deny`."""
        negated = may_deny and self.chance() < 0.25
        if self.chance() < 0.35:
            subject = self.being()
            fr, en = self.verb(self.pick(words.ALONE), subject.plural, negated)
            if not subject.extended and self.chance() < 0.3:  # nobody is in two places
                place_fr, place_en = self.place()
                fr, en = fr + place_fr, en + place_en
            return subject.fr + fr, subject.en + en
        # French negation turns "un" into "de"; a definite object keeps clear of that.
        definite = True if negated else None
        if self.chance() < 0.5:
            subject, verb = self.person(), self.pick(words.TOWARDS_THINGS)
            object_ = self.thing(definite=definite)
        else:
            subject = self.being()
            if self.chance() < 0.5:
                verb, object_ = self.towards_being(), self.being(extras=False, definite=definite)
            else:
                verb, object_ = self.pick(words.TOWARDS), self.thing(definite=definite)
        fr, en = self.verb(verb, subject.plural, negated)
        return subject.fr + fr + object_.fr, subject.en + en + object_.en

    def way(self, animal):
        """Write what an `animal`, a noun, does not cross.

        It is mostly of the other gender, so that il and elle tell which of the two is meant.
        """
        other = [way for way in words.WAYS if way.feminine != animal.feminine]
        ways = other if self.chance() < 0.6 else words.WAYS
        return self.noun_phrase(ways, (), (), extras=False, plural=False, definite=True)

    def because(self):
        """Write that an animal does not cross something because *it* is too …

        Whether the animal or the way is meant shows only in the last word. In French the pronoun
        has the gender of what is meant, in English it is always *it*.
        """
        animal = self.noun_phrase(
            words.ANIMALS, words.SIZES, words.COLOURS_OF_ANIMALS, False, plural=False, definite=True
        )
        way = self.way(animal.noun)
        fr, en = self.verb(words.CROSSES, plural=False, negated=True)
        of_animal = self.chance() < 0.5
        meant = animal if of_animal else way
        state = self.pick(words.STATES_OF_ANIMALS if of_animal else words.STATES_OF_WAYS)
        because, it, is_, too, how = (next(self.keys) for _ in range(5))
        self.pronouns.append((it, meant.number))
        feminine = meant.noun.feminine
        fr = [
            *animal.fr, *fr, *way.fr, Word("parce", because), Word("que", because),
            Word("elle" if feminine else "il", it), Word("est", is_), Word("trop", too),
            Word(state.form(feminine, False), how),
        ]  # fmt: skip
        en = [
            *animal.en, *en, *way.en, Word("because", because), Word("it", it), Word("is", is_),
            Word("too", too), Word(state.en, how),
        ]  # fmt: skip
        return fr, en


def _starts_with_vowel(text):
    return text[0] in VOWELS or text in MUTE_H


def _elide(fr):
    """Write l', n', qu' before a vowel."""
    for i, (word, after) in enumerate(zip(fr, fr[1:], strict=False)):
        if word.text in ELIDED and _starts_with_vowel(after.text):
            fr[i] = word._replace(text=ELIDED[word.text])
    return fr


def _an(en):
    """Write an before a vowel."""
    for i, (word, after) in enumerate(zip(en, en[1:], strict=False)):
        if word.text == "a" and after.text[0] in "aeiou":
            en[i] = word._replace(text="an")
    return en
