"""How good, how sure, how well aligned."""

import math

import sacrebleu
import torch


def bleu(hypotheses, references):
    """Compute corpus BLEU as papers report it: sacreBLEU, 13a tokens, cased; 0 to 100.

    Parameters
    ----------
    hypotheses, references : list of str
        One reference for each hypothesis.

    Returns
    -------
    score : float

    Raises
    ------
    ValueError
        If the lists are empty or differ in length.

    Source
    ------
    Post (2018), "A Call for Clarity in Reporting BLEU Scores"; Papineni et al. (2002).
    """
    if not hypotheses or len(hypotheses) != len(references):
        raise ValueError(
            f"BLEU compares each hypothesis with one reference; got {len(hypotheses)} hypotheses "
            f"and {len(references)} references."
        )
    return sacrebleu.corpus_bleu(list(hypotheses), [list(references)]).score


def perplexity(mean_nats):
    """Turn a mean loss in nats per token into a perplexity: the equivalent fair choice.

    Parameters
    ----------
    mean_nats : float

    Returns
    -------
    perplexity : float
    """
    return math.exp(mean_nats)


def attention_entropy(weights):
    """Measure how spread out each row of weights is, in nats; a row of zeros gives 0.

    Parameters
    ----------
    weights : Tensor of shape (..., key_len)

    Returns
    -------
    entropy : Tensor of shape (...)
    """
    return torch.special.entr(weights).sum(-1)
