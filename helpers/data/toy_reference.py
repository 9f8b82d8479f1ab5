"""The right English for a toy sentence: word by word, then in the order that English has."""

import re

from helpers.data import toy_lexicon as words


def _all(kind):
    """List all nouns, adjectives or verbs of the lexicon."""
    lists = (*vars(words).values(), (words.FOLLOWS, words.CROSSES))
    return [row for rows in lists if isinstance(rows, tuple) for row in rows if type(row) is kind]


NOUNS, ADJECTIVES, VERBS = map(_all, (words.Noun, words.Adjective, words.Verb))
OTHERS = {
    "le": "the", "la": "the", "l'": "the", "les": "the", "un": "a", "une": "a", "il": "it",
    "elle": "it", "trop": "too", "pendant": "while", "parce": "because", "pas": "",
    **dict(words.OUTSIDE), **dict(words.JOINTS[:2]),
}  # fmt: skip
NAMES = {n.fr: n.en for n in NOUNS} | {n.fr_plural: n.en_plural for n in NOUNS}
PEOPLE = {name for noun in words.PEOPLE for name in noun[:2]}
DESCRIBING = {a.form(f, p): a for a in ADJECTIVES for f in (0, 1) for p in (0, 1)}
DESCRIBING |= {a.masculine_vowel: a for a in ADJECTIVES}
DOING = {"est": ("is", "is not")}  # said, and denied
DOING |= {verb.fr: (verb.en, f"does not {verb.en_bare}") for verb in VERBS}
DOING |= {verb.fr_plural: (verb.en_bare, f"do not {verb.en_bare}") for verb in VERBS}

KINDS = {word: kind for kind, known in {
    "d": ("le", "la", "l'", "les", "un", "une"), "n": NAMES, "a": DESCRIBING, "v": DOING,
    "p": dict(words.OUTSIDE),
}.items() for word in known}  # fmt: skip
PHRASE = "d (a )?n (a )?"
CLAUSE = f"{PHRASE}(p {PHRASE}|qui v {PHRASE}|qu[e'] {PHRASE}v )?(n[e'] v pas |v )((p )?{PHRASE})?"
FORM = re.compile(f"{CLAUSE}((et |mais |pendant qu[e'] ){CLAUSE}|parce .*)*[.]")


def follows_grammar(source) -> bool:
    """Say whether the tokens of `source` are in an order that the grammar writes, endings aside."""
    return bool(FORM.fullmatch(" ".join(KINDS.get(word, word) for word in source)))


def reference(source) -> list[str]:
    """Translate French tokens of the toy corpus as its grammar does.

    Parameters
    ----------
    source : list of str
        Words of the toy corpus; other orders than the grammar's are translated word by word.

    Returns
    -------
    tokens : list of str
    """
    target, denied, noun, before = [], False, "", ""
    for word in source:
        if word in ("ne", "n'"):
            denied = True
        elif word in DOING:
            target += DOING[word][denied].split()
            denied = False
        elif word in DESCRIBING and noun and before == noun:  # English puts it before the noun
            here = len(target) - 1
            if DESCRIBING[word].opinion:  # and before the other adjectives
                articles = [i + 1 for i, each in enumerate(target) if each in ("the", "a")]
                here = max(articles, default=here)
            target.insert(here, DESCRIBING[word].en)
            word = noun  # another adjective belongs to it, too
        elif word in DESCRIBING:
            target.append(DESCRIBING[word].en)
        elif word in ("que", "qu'"):
            target += [] if before in ("pendant", "parce") else ["that"]
        elif word == "qui":
            target.append("who" if noun in PEOPLE else "that")
        else:
            noun = word if word in NAMES else noun
            target += (NAMES.get(word) or OTHERS.get(word, word)).split()
        before = word
    vowel = [after[0] in "aeiou" for after in target[1:]] + [False]
    return ["an" if word == "a" and v else word for word, v in zip(target, vowel, strict=True)]
