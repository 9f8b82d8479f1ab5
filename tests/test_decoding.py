"""Searches against brute force, samplers against their distribution."""

import math

import pytest
import torch
from drawn import drawn
from hypothesis import strategies as st
from samples import once_a_week, refuses

from helpers.transformer import decoding

BOS, EOS, V = 1, 2, 6


def table_model(seed, sharpness=2.0):
    """A model whose logits depend on the last token and on the length, batched."""
    table = torch.randn(12, V, V, generator=torch.Generator().manual_seed(seed)) * sharpness
    table[:, :, :2] = -math.inf  # never pad, never bos

    def step(prefix, rows=None):
        return table[prefix.shape[1] % 12][prefix[:, -1] % V]

    return step


def plain_beam(seed, max_len, beam_size, penalty):
    """Beam search on one `table_model`, on lists, sorting everything and never stopping early.

    Returns the best (ids, score), and per step what was kept, as a trace has it.
    """
    step, finished, steps = table_model(seed), [], []
    live = [([], 0.0)]
    for _ in range(max_len):
        candidates = []
        for parent, (ids, total) in enumerate(live):
            log_probs = step(torch.tensor([[BOS, *ids]]))[0].log_softmax(-1).tolist()
            candidates += [
                (total + p, parent, token) for token, p in enumerate(log_probs) if p > -math.inf
            ]
        candidates.sort(reverse=True)
        going_on = [c for c in candidates if c[2] != EOS][:beam_size]
        ending = [c for c in candidates[:beam_size] if c[2] == EOS]
        steps.append(sorted(going_on + ending, reverse=True))
        for total, parent, _ in ending:
            ids = [*live[parent][0], EOS]
            finished.append((ids, total / ((5 + len(ids)) / 6) ** penalty))
        live = [([*live[parent][0], token], total) for total, parent, token in going_on]
        if beam_size == 1 and finished:
            break
    for ids, total in live:
        if len(finished) < beam_size:
            finished.append((ids, total / ((5 + len(ids)) / 6) ** penalty))
    return sorted(finished, key=lambda one: -one[1])[:beam_size], steps


@pytest.mark.slow
@pytest.mark.parametrize("penalty", once_a_week([-1.0, 0.0, 1.0, 2.5], [1.0]))
@pytest.mark.parametrize("beam_size", once_a_week([1, 2, 3, 5], [1, 3]))
def test_beam_against_a_plain_search(beam_size, penalty):
    for seed in range(40):
        for max_len in (2, 4, 7):
            trace = []
            request = BOS, EOS, max_len, beam_size, penalty
            found = decoding.beam(table_model(seed), 1, *request, trace=trace)[0]
            best, steps = plain_beam(seed, max_len, beam_size, penalty)
            assert [h.ids for h in found] == [ids for ids, _ in best]
            assert [h.score for h in found] == pytest.approx([score for _, score in best], abs=1e-4)
            for kept, expected in zip(trace, steps, strict=False):  # it may stop early
                assert [(parent, token) for parent, token, _ in kept] == [c[1:] for c in expected]
                assert [p for *_, p in kept] == pytest.approx([c[0] for c in expected], abs=1e-4)


def test_a_beam_waits_for_a_longer_sentence_that_scores_better():
    for seed, size in ((37, 2), (86, 3)):
        found = decoding.beam(table_model(seed), 1, BOS, EOS, 20, size, 1.0)[0]
        assert [h.ids for h in found] == [ids for ids, _ in plain_beam(seed, 20, size, 1.0)[0]]


def test_beam_stops_when_nothing_better_can_come():
    calls = []

    def surely_ends(prefix, rows=None):
        calls.append(len(prefix))
        logits = torch.full((len(prefix), V), -8.0)
        logits[:, EOS] = 0.0
        return logits

    found = decoding.beam(surely_ends, 2, BOS, EOS, 50, beam_size=2, length_penalty=0.0)
    assert [some[0].ids for some in found] == [[EOS], [EOS]]
    assert len(calls) <= 3


def test_top_p_in_half_precision_keeps_what_full_precision_keeps():
    logits = torch.randn(3, 8000, generator=torch.Generator().manual_seed(0)).bfloat16()
    kept = ~decoding.top_p_filter(logits, 0.9).isinf()
    assert torch.equal(kept, ~decoding.top_p_filter(logits.float(), 0.9).isinf())
    assert decoding.top_p_filter(logits, 0.9).dtype == torch.bfloat16


@pytest.mark.parametrize("search", [decoding.greedy, decoding.sample])
def test_rows_are_named_only_when_they_change(search):
    asked = []

    def step(prefix, rows=None):
        asked.append(rows if rows is None else rows.tolist())
        logits = torch.full((len(prefix), V), -100.0)
        for i, ids in enumerate(prefix.tolist()):
            logits[i, EOS if len(ids) == 3 and i == 0 else 4] = 100.0
        return logits

    search(step, 2, BOS, EOS, 5)
    assert asked == [None, None, None, [1], None]


def test_sentences_end_at_eos_and_leave_the_batch():
    sizes = []

    def step(prefix, rows=None):
        sizes.append(len(prefix))
        logits = torch.zeros(len(prefix), V)
        # The sentence is known by its first token, which counts up along the batch.
        for i, ids in enumerate(prefix.tolist()):
            first = ids[1] if len(ids) > 1 else 3 + i
            logits[i, EOS if len(ids) == first else first] = 1.0
        return logits

    assert decoding.greedy(step, 3, BOS, EOS, 9) == [[3, 3, EOS], [4, 4, 4, EOS], [5] * 4 + [EOS]]
    assert sizes == [3, 3, 3, 2, 1]


@drawn(st.integers(0, 10_000), st.integers(1, 4))
def test_a_beam_over_a_batch_is_each_sentence_alone(seed, beam_size):
    """Each row's own table follows it through every reordering and every drop."""
    torch.manual_seed(seed)
    tables = torch.randn(3, V, V) * 2
    tables[:, :, :2] = -math.inf

    def owned(tables):
        owners = torch.arange(len(tables))

        def step(prefix, rows=None):
            nonlocal owners
            owners = owners if rows is None else owners[rows]
            return tables[owners, prefix[:, -1]]

        return step

    together = decoding.beam(owned(tables), 3, BOS, EOS, 6, beam_size=beam_size)
    for i in range(3):
        alone = decoding.beam(owned(tables[i : i + 1]), 1, BOS, EOS, 6, beam_size=beam_size)[0]
        assert [h.ids for h in alone] == [h.ids for h in together[i]]
    greedy = decoding.greedy(owned(tables), 3, BOS, EOS, 6)
    for i in range(3):
        assert decoding.greedy(owned(tables[i : i + 1]), 1, BOS, EOS, 6)[0] == greedy[i]


def test_top_k_by_hand():
    logits = torch.tensor([[1.0, 3.0, 2.0], [0.0, -1.0, 5.0]])
    inf = math.inf
    expected = torch.tensor([[-inf, 3.0, 2.0], [0.0, -inf, 5.0]])
    assert torch.equal(decoding.top_k_filter(logits, 2), expected)
    assert torch.equal(decoding.top_k_filter(logits, 9), logits)
    assert decoding.top_k_filter(logits, 1).isfinite().sum() == 2


def test_top_p_stops_at_exactly_p():
    quarters = torch.zeros(4)  # each token has a quarter, exactly
    for p, n_kept in [(0.25, 1), (0.5, 2), (0.75, 3), (0.8, 4)]:
        assert (~decoding.top_p_filter(quarters, p).isinf()).sum() == n_kept


@drawn(st.integers(0, 10_000), st.floats(0.05, 1.0))
def test_top_p_keeps_the_fewest_that_reach_p(seed, p):
    logits = torch.randn(8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    kept = ~decoding.top_p_filter(logits, p).isinf()
    probabilities = logits.softmax(-1)
    assert probabilities[kept].sum() >= p - 1e-9
    assert probabilities[kept].sum() - probabilities[kept].min() < p


@pytest.mark.parametrize(
    ("options", "change"),
    [
        ({}, lambda logits: logits),
        ({"temperature": 0.5}, lambda logits: logits / 0.5),
        ({"top_k": 2}, lambda logits: decoding.top_k_filter(logits, 2)),
        ({"top_p": 0.7}, lambda logits: decoding.top_p_filter(logits, 0.7)),
    ],
    ids=["plain", "temperature", "top-k", "top-p"],
)
def test_samplers_draw_from_their_distribution(options, change):
    logits = torch.tensor([0.5, 2.0, 0.0, 1.0, -1.0, 1.5])
    n = 20_000
    ids, again = (
        decoding.sample(
            lambda prefix, rows: logits.expand(len(prefix), V), n, BOS, -1, 1,
            generator=torch.Generator().manual_seed(0), **options,
        )
        for _ in range(2)
    )  # fmt: skip
    assert ids == again
    frequency = torch.bincount(torch.tensor(ids).flatten(), minlength=V) / n
    torch.testing.assert_close(frequency, change(logits).softmax(-1), atol=0.012, rtol=0)


def test_a_beam_of_one_stops_where_greedy_does():
    """A longer sentence may score better once divided by its length; greedy never looks for it."""
    for seed in range(300):
        step = table_model(seed)
        beams = decoding.beam(step, 2, BOS, EOS, 7, beam_size=1)
        assert [beam[0].ids for beam in beams] == decoding.greedy(step, 2, BOS, EOS, 7)


def test_what_cannot_be_is_no_hypothesis():
    calls = []

    def one_way(prefix, rows=None):
        calls.append(len(prefix))
        token = 3 if prefix.shape[1] < 4 else EOS
        return torch.full((len(prefix), V), -math.inf).index_fill(1, torch.tensor([token]), 0.0)

    found = decoding.beam(one_way, 1, BOS, EOS, 6, beam_size=3)[0]
    assert [h.ids for h in found] == [[3, 3, 3, EOS]]
    assert len(calls) == 4  # nothing is left to go on from


def test_errors():
    step = table_model(0)
    for call in (decoding.greedy, decoding.beam, decoding.sample):
        refuses("n must be at least 1; got 0", call, step, 0, BOS, EOS, 5)
        refuses("at least one token", call, step, 1, BOS, EOS, 0)
    refuses("beam_size=0", decoding.beam, step, 1, BOS, EOS, 5, beam_size=0)
    refuses("the beam of one sentence; got n=2", decoding.beam, step, 2, BOS, EOS, 5, trace=[])
    refuses("temperature must be positive", decoding.sample, step, 1, BOS, EOS, 5, temperature=0)
    refuses("k=0", decoding.top_k_filter, torch.zeros(3), 0)
    for p in (0, 1.5):
        refuses("p is a probability", decoding.top_p_filter, torch.zeros(3), p)


def test_beam_step_by_hand():
    log_probs = torch.tensor([[0.6, 0.4], [0.9, 0.1]]).log()
    scores, beams, tokens = decoding.beam_step(log_probs, torch.tensor([0.5, 0.5]).log(), 3)
    torch.testing.assert_close(scores.exp(), torch.tensor([0.45, 0.30, 0.20]))
    assert beams.tolist() == [1, 0, 0]
    assert tokens.tolist() == [0, 0, 1]


def test_length_norm_by_hand():
    assert decoding.length_norm(7, 1.0) == 2.0
    assert decoding.length_norm(19, 2.0) == 16.0
    assert decoding.length_norm(19, 0.0) == 1.0
