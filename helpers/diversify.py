"""More training pairs out of those there are: translators write one side of a pair anew.

Nguyen et al. (2020), "Data Diversification: A Simple Strategy For Neural Machine Translation",
arXiv:1911.01986.
"""

import random

import sacrebleu
import torch

from helpers import decoding
from helpers.tokenization import BOS, EOS, clean


def other_sources(backward, pairs):
    """Translate every target back into the source's language, greedily.

    Parameters
    ----------
    backward : Translator
        From the target's language into the source's.
    pairs : list of pairs of str

    Returns
    -------
    sources : list of str
        One for each pair.
    """
    return backward.translate([clean(target) for _, target in pairs])


@torch.inference_mode()
def other_targets(forward, pairs, batch_size=96):
    """Translate every source; of a beam of four keep what is closest to the real target.

    Parameters
    ----------
    forward : Translator
        From the source's language into the target's.
    pairs : list of pairs of str
    batch_size : int, default=96

    Returns
    -------
    targets : list of str
        One for each pair.

    Source
    ------
    Kim and Rush (2016), "Sequence-Level Knowledge Distillation", section 3.3.
    """
    bleu = sacrebleu.BLEU(effective_order=True)
    targets = [None] * len(pairs)
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]))
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        src_ids = forward.encode([clean(pairs[i][0]) for i in rows])
        step = forward.model.decoder_step(src_ids.to(next(forward.model.parameters()).device))
        longest = min(2 * src_ids.shape[1] + 10, forward.model.config.max_len)
        beams = decoding.beam(step, len(rows), BOS, EOS, longest, beam_size=4, length_penalty=1.4)
        for i, hypotheses in zip(rows, beams, strict=True):
            texts = [forward.tokenizer.decode(hypothesis.ids) for hypothesis in hypotheses]
            wanted = [pairs[i][1]]
            targets[i] = max(texts, key=lambda t, w=wanted: bleu.sentence_score(t, w).score)
    return targets


def mixture(pairs, sources, targets, seed, share_of_sources=0.3, share_of_targets=0.25):
    """Draw an epoch's pairs: most as they are, some with another source or another target.

    Parameters
    ----------
    pairs : list of pairs of str
    sources, targets : list of str
        What may stand in for each pair's source and target.
    seed : int
    share_of_sources, share_of_targets : float

    Returns
    -------
    pairs : list of pairs of str
        As many as before, in the same order.
    """
    draw = random.Random(seed)
    mixed = []
    for (source, target), other_source, other_target in zip(pairs, sources, targets, strict=True):
        lot = draw.random()
        if lot < share_of_sources:
            source = other_source
        elif lot < share_of_sources + share_of_targets:
            target = other_target
        mixed.append((source, target))
    return mixed
