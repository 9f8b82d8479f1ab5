"""What lesson 13 lets learners write computes what the package computes."""

import pytest
import torch

from helpers import exercises
from helpers.exercises.diagnosis import cases_of
from helpers.exercises.model import find
from helpers.models import bert, retrieval
from helpers.training import metrics


def cases(name):
    return [case for seed in range(5) for case in cases_of(find(name), seed)]


def test_the_best_span_is_the_packages():
    for start, end, in_text, longest in cases("best_span"):
        first = int(in_text.nonzero()[0])
        *span, _ = bert.best_span(start[in_text], end[in_text], longest)
        found = exercises.reference("best_span")(start, end, in_text, longest)
        assert found == [place + first for place in span]


def test_the_f1_is_the_metrics_once_answers_are_normalised():
    for predicted, true in cases("token_f1"):
        words = [metrics.normalise_answer(" ".join(answer)) for answer in (predicted, true)]
        wanted = metrics.answer_f1(words[0], [words[1]])
        found = exercises.reference("token_f1")(*(answer.split() for answer in words))
        assert found == pytest.approx(wanted)


def test_recall_counts_the_ranks_below_k():
    for similarity, right, k in cases("recall_at_k"):
        wanted = (retrieval.ranks(similarity, right) < k).float().mean()
        torch.testing.assert_close(exercises.reference("recall_at_k")(similarity, right, k), wanted)


def test_retrieving_is_ranking_by_cosine():
    for query, vectors, k in cases("retrieve"):
        places = exercises.reference("retrieve")(query, vectors, k)
        cosine = torch.nn.functional.cosine_similarity(vectors, query[None])[None]
        assert [retrieval.ranks(cosine, [place]).item() for place in places] == list(range(k))


def test_windows_cover_the_text_and_overlap_by_size_minus_stride():
    for n_tokens, size, stride in cases("windows"):
        found = exercises.reference("windows")(n_tokens, size, stride)
        assert found[0][0] == 0
        assert found[-1][1] == n_tokens
        assert all(stop < n_tokens for _, stop in found[:-1])
        for (_, stop), (start, _) in zip(found, found[1:], strict=False):
            assert stop - start == size - stride
