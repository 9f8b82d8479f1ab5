"""The real data of the BERT lessons: splits that don't overlap, answers where they should be."""

import pytest
from samples import refuses

from helpers.data import questions, reviews
from helpers.training.metrics import answer_exact_match, answer_f1, normalise_answer


@pytest.mark.slow
def test_film_reviews_split_without_overlap_and_nearly_balanced():
    splits = {name: reviews.film_reviews(name) for name in ("train", "validation", "test")}
    assert {name: len(split) for name, split in splits.items()} == {
        "train": 7720, "validation": 1000, "test": 1000,
    }  # fmt: skip
    texts = [{review.text for review in split} for split in splits.values()]
    assert not texts[0] & texts[2]
    assert not texts[1] & texts[2]
    assert not texts[0] & texts[1]
    for split in splits.values():
        positive = sum(review.label for review in split)
        assert abs(positive - len(split) / 2) < 3 * len(split) ** 0.5 / 2  # three deviations
    assert reviews.film_reviews("test") == splits["test"]


def test_an_unknown_split_is_refused():
    refuses("train, validation, test; got 'val'", reviews.film_reviews, "val")
    refuses("'train' or 'validation'; got 'test'", questions.squad, "test")


@pytest.mark.slow
@pytest.mark.parametrize(
    "read",
    [
        lambda: questions.squad("train"),
        lambda: questions.squad("validation"),
        questions.xquad,
        questions.qamr,
    ],
    ids=["train", "validation", "xquad", "qamr"],
)
def test_every_answer_stands_where_it_says(read):
    found = read()
    assert found
    for q in found:
        assert q.question.strip()
        assert len(q.answers) == len(q.starts)
        for answer, start in zip(q.answers, q.starts, strict=True):
            assert answer
            assert q.text[start : start + len(answer)] == answer


def test_articles_of_training_validation_and_test_differ():
    sets = questions.squad("train"), questions.squad("validation"), questions.xquad()
    titles = [{q.article for q in questions} for questions in sets]
    assert [len(t) for t in titles] == [14, 2, 22]
    assert len(set.union(*titles)) == 38
    assert len({q.text for q in sets[2]}) == 110
    assert any(not q.answers for q in sets[0])
    assert all(q.answers for q in sets[2])


def test_answers_are_normalised_as_squad_does():
    assert normalise_answer("The  U.S. Army, an army!") == "us army army"
    assert normalise_answer("Theatre") == "theatre"
    assert normalise_answer("A") == ""


def test_exact_match_and_f1_by_hand():
    assert answer_exact_match("the Rhine", ["Rhine", "river"]) == 1
    assert answer_exact_match("Rhine valley", ["Rhine"]) == 0
    assert answer_f1("Rhine valley", ["the Rhine"]) == pytest.approx(2 * 1 / (2 + 1))
    assert answer_f1("Rhine valley", ["Danube", "the upper Rhine valley"]) == pytest.approx(4 / 5)
    assert answer_f1("to be or not", ["to be to be"]) == pytest.approx(2 * 2 / (4 + 4))
    assert answer_f1("Danube", ["Rhine"]) == 0


def test_no_answer_is_right_only_where_there_is_none():
    assert answer_exact_match("", []) == answer_f1("", []) == 1
    assert answer_exact_match("Rhine", []) == answer_f1("Rhine", []) == 0
    assert answer_f1("", ["Rhine"]) == 0
