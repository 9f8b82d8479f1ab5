"""Questions about short texts whose answers stand in the text: SQuAD, XQuAD and QAMR."""

import bz2
import json
from dataclasses import dataclass
from pathlib import Path

REAL = Path(__file__).parent / "real"
# Whole articles are held out: questions on a paragraph already read are easier.
VALIDATION_ARTICLES = ("Normans", "Harvard University")


@dataclass(frozen=True)
class Question:
    """A question about a text, and where people found its answer.

    Parameters
    ----------
    question, text : str
    answers : tuple of str
        What different people marked as the answer; empty where the text has none.
    starts : tuple of int
        Where each answer begins: ``text[start : start + len(answer)] == answer``.
    article : str
        Title of the article that the text comes from.
    """

    question: str
    text: str
    answers: tuple
    starts: tuple
    article: str


def squad(split) -> list[Question]:
    """Read questions on 16 Wikipedia articles from SQuAD 2.0, about half of them without answer.

    Parameters
    ----------
    split : {"train", "validation"}
        14 articles (2,702 questions with an answer, 2,906 without) and 2 (208 and 262). The split
        is ours.

    Raises
    ------
    ValueError
        If there is no such split.

    Source
    ------
    Rajpurkar et al. (2018), "Know What You Don't Know", arXiv:1806.03822, CC BY-SA 4.0; see
    ``real/NOTICES.md``.
    """
    if split not in ("train", "validation"):
        raise ValueError(f"split must be 'train' or 'validation'; got {split!r}.")
    held_out = split == "validation"
    questions = _articles("questions_squad.json.bz2")
    return [q for q in questions if (q.article in VALIDATION_ARTICLES) == held_out]


def xquad():
    """Read 523 questions on 22 other Wikipedia articles, 110 paragraphs, to test a reader with.

    Returns
    -------
    questions : list of Question
        Each has one answer.

    Source
    ------
    Artetxe et al. (2020), "On the Cross-lingual Transferability of Monolingual Representations",
    arXiv:1910.11856, CC BY-SA 4.0; see ``real/NOTICES.md``.
    """
    return _articles("questions_xquad.json.bz2")


def qamr():
    """Read 36,974 questions on 979 single sentences: cheap to train on, since the texts are short.

    Returns
    -------
    questions : list of Question
        Each has one answer. The sentences are split into words by spaces; `article` is empty.

    Source
    ------
    Michael et al. (2018), "Crowdsourcing Question-Answer Meaning Representations",
    arXiv:1711.05885, MIT; see ``real/NOTICES.md``.
    """
    questions = []
    for line in _read("questions_qamr.tsv.bz2").splitlines():
        if not line.startswith("\t"):
            text, words = line, line.split(" ")
            continue
        question, first, last = line[1:].split("\t")
        start = sum(len(word) + 1 for word in words[: int(first)])
        answer = " ".join(words[int(first) : int(last) + 1])
        questions.append(Question(question, text, (answer,), (start,), ""))
    return questions


def _articles(name):
    return [
        Question(
            question,
            paragraph["text"],
            tuple(answer for _, answer in answers),
            tuple(start for start, _ in answers),
            article["title"],
        )
        for article in json.loads(_read(name))
        for paragraph in article["paragraphs"]
        for question, answers in paragraph["questions"]
    ]


def _read(name):
    with bz2.open(REAL / name, "rt", encoding="utf-8", newline="\n") as file:
        return file.read()
