"""More training pairs out of those there are: translators write one side of a pair anew.

Nguyen et al. (2020), "Data Diversification: A Simple Strategy For Neural Machine Translation",
arXiv:1911.01986.
"""

import random

import sacrebleu

from helpers.text.tokenization import clean


def other_targets(forward, pairs) -> list[str]:
    """Translate every source; of a beam of four keep what is closest to the real target.

    `forward` is a Translator from the source's language into the target's.

    Kim and Rush (2016), "Sequence-Level Knowledge Distillation", section 3.3.
    """
    bleu = sacrebleu.BLEU(effective_order=True)
    found = forward.candidates([clean(source) for source, _ in pairs], beam_size=4)
    return [
        max(texts, key=lambda text, wanted=target: bleu.sentence_score(text, [wanted]).score)
        for (_, target), texts in zip(pairs, found, strict=True)
    ]


def mixture(pairs, sources, targets, seed, share_of_sources=0.3, share_of_targets=0.25):
    """Draw an epoch's pairs, in their order: most as they are, some with a side of another.

    `sources` and `targets` are what may stand in for each pair's source and target.
    """
    draw = random.Random(seed)
    mixed = []
    for (source, target), other_source, other_target in zip(pairs, sources, targets, strict=True):
        chance = draw.random()
        if chance < share_of_sources:
            source = other_source
        elif chance < share_of_sources + share_of_targets:
            target = other_target
        mixed.append((source, target))
    return mixed
