"""Is a fault noticed? A dozen that no tool makes; `make mutants` makes hundreds of small ones.

Each is a function that does nearly what the course's does: put in its place, the named test has to
fail. `mutmut` changes one operator, number or word at a time, and needs minutes for each file.
"""

import importlib
import math
import sys

import pytest
import torch


def inverted_mask(right, scores, mask=None):
    return right(scores, None if mask is None else ~mask)


def keys_for_values(right, query, key, value, mask=None):
    return right(query, key, key if key.shape == value.shape else value, mask)


def scaled_twice(right, query, key, value, mask=None):
    return right(query / math.sqrt(query.shape[-1]), key, value, mask)


def next_position_seen(right, length, *others, **named):
    return right(length, *others, **named) | torch.ones(length, length).tril(1).bool()


def pad_id_taken_to_be_0(right, ids, pad_id):
    return right(ids, 0)


def positions_from_1(right, max_len, d_model):
    return right(max_len + 1, d_model)[1:]


def start_forgotten(right, x, start=0, **named):
    return right(x, 0, **named)


def padding_counted(right, logits, targets, pad_id, *others, **named):
    return right(logits, targets, -1, *others, **named)


def beams_forgotten(right, log_probs, beam_scores, beam_size):
    return right(log_probs, torch.zeros_like(beam_scores), beam_size)


def one_token_too_many(right, logits, p):
    return right(logits, min(1.0, p + 1e-6))


def length_ignored(right, length, *others):
    return right(1, *others)


def left_in_evaluation(right, model, *others, **named):
    found = right(model, *others, **named)
    model.eval()
    return found


def not_scaled(right, model, ids, embedding, *others):
    return right(model, ids, embedding, *others) / math.sqrt(model.config.d_model)


SDPA, BY_LOOPS = "transformer.attention.scaled_dot_product_attention", "test_against_loops"
MUTANTS = [
    (inverted_mask, "transformer.attention.masked_softmax", BY_LOOPS),
    (keys_for_values, SDPA, BY_LOOPS),
    (scaled_twice, SDPA, BY_LOOPS),
    (next_position_seen, "transformer.masks.causal_mask", "test_causal_mask_by_hand"),
    (
        pad_id_taken_to_be_0,
        "transformer.masks.padding_mask",
        "test_padding_mask_asks_for_the_pad_id_it_was_given",
    ),
    (positions_from_1, "transformer.positions.sinusoidal_positions", "test_sinusoids_by_loops"),
    (
        start_forgotten,
        "transformer.positions.rotate_positions",
        "test_rotary_continues_from_a_start",
    ),
    (
        padding_counted,
        "transformer.losses.cross_entropy",
        "test_cross_entropy_equals_pytorch_and_padding_does_not_count",
    ),
    (beams_forgotten, "transformer.decoding.beam_step", "test_beam_step_by_hand"),
    (one_token_too_many, "transformer.decoding.top_p_filter", "test_top_p_stops_at_exactly_p"),
    (length_ignored, "transformer.decoding.length_norm", "test_length_norm_by_hand"),
    (
        left_in_evaluation,
        "training.training.evaluate",
        "test_evaluate_is_the_mean_over_tokens_without_dropout",
    ),
    (
        not_scaled,
        "transformer.transformer.Transformer.embed",
        "test_positions_start_at_zero_and_embeddings_are_scaled",
    ),
]


@pytest.mark.parametrize(("wrong", "place", "test"), MUTANTS, ids=[m[0].__name__ for m in MUTANTS])
def test_a_mutant_is_caught(monkeypatch, wrong, place, test):
    room, file, *outer, name = place.split(".")
    owner = importlib.import_module(f"helpers.{room}.{file}")
    for part in outer:
        owner = getattr(owner, part)
    right, run = getattr(owner, name), getattr(importlib.import_module(f"test_{file}"), test)
    run()  # on the right one it passes

    def mutant(*given, **named):
        return wrong(right, *given, **named)

    # Wherever it was imported to.
    holders = [m for n, m in sys.modules.items() if n.startswith(("helpers", f"test_{file}"))]
    for holder in [owner, *holders]:
        if vars(holder).get(name) is right:
            monkeypatch.setattr(holder, name, mutant)
    with pytest.raises((AssertionError, RuntimeError, ValueError)):
        run()
