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


def alignment_error_rate(weights, alignments):
    """Score attention as an alignment: each target word is linked to its strongest source word.

    With A the links found and S the true ones, the rate is 1 - 2 |A and S| / (|A| + |S|). (All our
    true links are sure ones; the general form tells sure from possible.)

    Parameters
    ----------
    weights : list of Tensor of shape (target_len, source_len)
        One for each sentence, without special tokens.
    alignments : list of sets of (source index, target index)

    Returns
    -------
    rate : float
        0 is perfect, 1 is nothing right.

    Source
    ------
    Och and Ney (2003), "A Systematic Comparison of Various Statistical Alignment Models", eq. (32).
    """
    found = right = true = 0
    for rows, alignment in zip(weights, alignments, strict=True):
        links = {(source, target) for target, source in enumerate(rows.argmax(-1).tolist())}
        found, true = found + len(links), true + len(alignment)
        right += len(links & alignment)
    return 1 - 2 * right / (found + true)


def antecedent_accuracy(weights, antecedents, candidates=None):
    """Measure how often a pronoun's strongest link goes to what it stands for.

    Parameters
    ----------
    weights : list of Tensor of shape (query_len, key_len)
        One for each sentence.
    antecedents : list of lists of (pronoun index, antecedent index)
    candidates : list of lists of int, default=None
        For each sentence, the only words that count, such as its nouns.

    Returns
    -------
    accuracy : float
        From 0 to 1.
    """
    right = total = 0
    for i, (rows, links) in enumerate(zip(weights, antecedents, strict=True)):
        for pronoun, antecedent in links:
            row = rows[pronoun]
            if candidates is not None:
                allowed = candidates[i]
                strongest = allowed[row[allowed].argmax().item()]
            else:
                strongest = row.argmax().item()
            right, total = right + (strongest == antecedent), total + 1
    return right / total
