"""How good, how sure, how well aligned."""

import math
import re
import string
from collections import Counter

import torch


def bleu(hypotheses, references) -> float:
    """Compute corpus BLEU as papers report it: sacreBLEU, 13a tokens, cased; 0 to 100.

    Parameters
    ----------
    hypotheses, references : list of str
        One reference for each hypothesis.

    Raises
    ------
    ValueError
        If the lists are empty or differ in length, or one string came instead of a list.

    Source
    ------
    Post (2018), "A Call for Clarity in Reporting BLEU Scores"; Papineni et al. (2002).
    """
    _check_paired("BLEU", hypotheses, references)
    import sacrebleu  # here, because it imports for long and most lessons don't score

    return sacrebleu.corpus_bleu(list(hypotheses), [list(references)]).score


def exact_match(hypotheses, references):
    """Measure the share of hypotheses that equal their reference.

    Parameters
    ----------
    hypotheses, references : list of str, or of token sequences
        One reference for each hypothesis. Token lists and tuples compare by their tokens.

    Returns
    -------
    share : float
        From 0 to 1.

    Raises
    ------
    ValueError
        If the lists are empty or differ in length.
    """
    _check_paired("Exact match", hypotheses, references)
    pairs = zip(hypotheses, references, strict=True)
    return sum(list(one) == list(other) for one, other in pairs) / len(hypotheses)


def _check_paired(what, hypotheses, references):
    for one in (hypotheses, references):
        if isinstance(one, str):  # a string is a list of letters: it would score them
            raise ValueError(f"{what} takes a list of sentences; got the single string {one!r}.")
    if not len(hypotheses) or len(hypotheses) != len(references):
        raise ValueError(
            f"{what} compares each hypothesis with one reference; got {len(hypotheses)} hypotheses "
            f"and {len(references)} references."
        )


def perplexity(mean_nats: float):
    """Turn a mean loss in nats per token into a perplexity: the equivalent fair choice.

    Returns
    -------
    perplexity : float
        Infinite where the number would be too large for a float.
    """
    try:
        return math.exp(mean_nats)
    except OverflowError:  # a diverged training has a loss in the thousands
        return math.inf


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

    With A the links found, S the sure and P the possible ones (every sure one is possible), the
    rate is 1 - (|A and S| + |A and P|) / (|A| + |S|). A true link is sure where its target word
    has no other. Where a target word comes from several source words (*does* from *ne* and *pas*)
    one strongest word cannot name them all: those links are possible, either one will do.

    Parameters
    ----------
    weights : list of Tensor of shape (target_len, source_len)
        One for each sentence, without special tokens. A row of zeros makes no link.
    alignments : list of sets of (source index, target index)
        The true links.

    Returns
    -------
    rate : float
        0 is perfect, 1 is nothing right.

    Raises
    ------
    ValueError
        If there is nothing to compare, or weights and alignments differ in number.

    Source
    ------
    Och and Ney (2003), "A Systematic Comparison of Various Statistical Alignment Models", eq. (32).
    """
    if len(weights) != len(alignments):
        raise ValueError(f"got {len(weights)} maps of weights and {len(alignments)} alignments.")
    n_found = n_sure = right = 0
    for rows, possible in zip(weights, alignments, strict=True):
        links_of = Counter(target for _, target in possible)
        sure = {link for link in possible if links_of[link[1]] == 1}
        strength, sources = rows.max(-1)
        strongest = zip(sources.tolist(), range(len(rows)), strict=True)
        found = {link for link in strongest if strength[link[1]] > 0}
        n_found, n_sure = n_found + len(found), n_sure + len(sure)
        right += len(found & sure) + len(found & set(possible))
    if not n_found + n_sure:
        raise ValueError("no link was found and none is true: there is nothing to compare.")
    return 1 - right / (n_found + n_sure)


def normalise_answer(text: str):
    """Make two answers comparable as SQuAD does: small letters, no punctuation, no article.

    Returns
    -------
    text : str
        Words with one space between them.

    Source
    ------
    Rajpurkar et al. (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text",
    arXiv:1606.05250, section 6.1.
    """
    text = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def answer_exact_match(answer, references):
    """Tell whether an answer equals one of the references after normalising both; 0.0 or 1.0.

    Parameters
    ----------
    answer : str
    references : list of str
        Right answers as different people marked them; none where the text has no answer, and
        then the empty string is right.
    """
    references = references or [""]
    return float(normalise_answer(answer) in map(normalise_answer, references))


def answer_f1(answer, references) -> float:
    """Measure how many words an answer shares with the closest reference; 0.0 to 1.0.

    F1 is the harmonic mean of the share of the answer's words that are in the reference and the
    share of the reference's words that are in the answer. A word counts as often as it occurs.

    Parameters
    ----------
    answer, references
        As in `answer_exact_match`.

    Source
    ------
    As in `normalise_answer`.
    """
    return max(_word_f1(answer, reference) for reference in references or [""])


def _word_f1(answer, reference):
    ours, theirs = (normalise_answer(text).split() for text in (answer, reference))
    if not ours or not theirs:  # an answer where there is none, or none where there is one
        return float(ours == theirs)
    shared = (Counter(ours) & Counter(theirs)).total()
    return 2 * shared / (len(ours) + len(theirs))
