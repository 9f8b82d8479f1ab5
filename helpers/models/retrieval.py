"""Find texts by the words they share with a question, and say in which place the right one is."""

import math
import re
from collections import Counter

import torch


def words(text: str) -> list[str]:
    """List the words of a text in small letters, without punctuation."""
    return re.findall(r"\w+", text.lower())


def word_overlap(questions: list[str], texts: list[str]):
    """Count how many different words each question shares with each text.

    Returns
    -------
    scores : Tensor of shape (n_questions, n_texts)
    """
    held = [set(words(text)) for text in texts]
    rows = [[len(set(words(question)) & words_) for words_ in held] for question in questions]
    return torch.tensor(rows, dtype=torch.float)


def bm25(questions, texts, saturation=1.2, length_share=0.75):
    """Score each text by the question's words in it; rare words count more.

    A word that occurs again adds less each time, and long texts are held back, because they have
    many words of any kind.

    Parameters
    ----------
    questions, texts : list of str
    saturation : float, default=1.2
        How soon further occurrences of a word stop counting; k₁ in the source.
    length_share : float, default=0.75
        How much the length counts: 0 not at all, 1 in full; b in the source.

    Returns
    -------
    scores : Tensor of shape (n_questions, n_texts)

    Source
    ------
    Robertson and Zaragoza (2009), "The Probabilistic Relevance Framework: BM25 and Beyond",
    section 3; the weight of a rare word is kept positive by adding 1 inside the logarithm.
    """
    counts = [Counter(words(text)) for text in texts]
    in_texts = Counter(word for count in counts for word in count)
    lengths = torch.tensor([float(count.total()) for count in counts])
    share = 1 - length_share + length_share * lengths / lengths.mean()
    columns = {}
    for word, n in in_texts.items():
        rarity = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
        often = torch.tensor([float(count[word]) for count in counts])
        # A text without words has no length to divide by; the numerator is 0 there.
        divisor = (often + saturation * share).clamp(min=1e-9)
        columns[word] = rarity * often * (saturation + 1) / divisor
    nothing = torch.zeros(len(texts))
    return torch.stack(
        [sum((columns.get(w, nothing) for w in words(question)), nothing) for question in questions]
    )


def ranks(scores, right):
    """Say in which place each question's right text is, counted from 0.

    Of texts with equal scores, the one that comes first in the list is placed first.

    Parameters
    ----------
    scores : Tensor of shape (n_questions, n_texts)
        Higher is better.
    right : sequence of int, length n_questions
        Which text answers the question.

    Returns
    -------
    ranks : integer Tensor of shape (n_questions,)
    """
    order = scores.argsort(dim=-1, descending=True, stable=True)
    return (order == torch.as_tensor(right)[:, None]).int().argmax(-1)


def standardised(scores):
    """Give the scores of every question mean 0 and spread 1, so that two kinds can be added.

    Parameters
    ----------
    scores : Tensor of shape (n_questions, n_texts)

    Returns
    -------
    scores : Tensor of the same shape
        Zeros where a question scores all texts alike.
    """
    centred = scores - scores.mean(-1, keepdim=True)
    spread = centred.square().mean(-1, keepdim=True).sqrt()
    return centred / spread.clamp(min=1e-9)
