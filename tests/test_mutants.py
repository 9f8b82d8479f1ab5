"""Is a fault noticed? A dozen that no tool makes; `make mutants` makes hundreds of small ones.

Each does nearly what the course's function does: put in its place, the named test has to fail.
`mutmut` changes one operator, number or word at a time, and needs minutes for each file.
"""

import importlib
import math
import sys

import pytest
import torch

# What goes wrong: a function, the test that has to notice, and what is put in the function's place.
MUTANTS = {
    "mask inverted": (
        "transformer.attention.masked_softmax", "test_against_loops",
        lambda right, scores, mask=None: right(scores, None if mask is None else ~mask),
    ),
    "keys for values": (
        "transformer.attention.scaled_dot_product_attention", "test_against_loops",
        lambda right, q, k, v, mask=None: right(q, k, k if k.shape == v.shape else v, mask),
    ),
    "scaled twice": (
        "transformer.attention.scaled_dot_product_attention", "test_against_loops",
        lambda right, q, k, v, mask=None: right(q / math.sqrt(q.shape[-1]), k, v, mask),
    ),
    "next position seen": (
        "transformer.masks.causal_mask", "test_causal_mask_by_hand",
        lambda right, n, **more: right(n, **more) | torch.ones(n, n).tril(1).bool(),
    ),
    "positions from 1": (
        "transformer.positions.sinusoidal_positions", "test_sinusoids_by_loops_near_and_far",
        lambda right, max_len, d_model: right(max_len + 1, d_model)[1:],
    ),
    "start forgotten": (
        "transformer.positions.rotate_positions", "test_rotary_continues_from_a_start",
        lambda right, x, start=0, **more: right(x, 0, **more),
    ),
    "padding counted": (
        "transformer.losses.cross_entropy",
        "test_cross_entropy_equals_pytorch_and_padding_does_not_count",
        lambda right, logits, targets, pad_id, *more: right(logits, targets, -1, *more),
    ),
    "beams forgotten": (
        "transformer.decoding.beam_step", "test_beam_step_by_hand",
        lambda right, log_probs, scores, size: right(log_probs, torch.zeros_like(scores), size),
    ),
    "one token too many": (
        "transformer.decoding.top_p_filter", "test_top_p_stops_at_exactly_p",
        lambda right, logits, p: right(logits, min(1.0, p + 1e-6)),
    ),
    "length ignored": (
        "transformer.decoding.length_norm", "test_length_norm_by_hand",
        lambda right, length, *more: right(1, *more),
    ),
    "left in evaluation": (
        "training.training.evaluate", "test_evaluate_is_the_mean_over_tokens_without_dropout",
        lambda right, model, *more, **named: (right(model, *more, **named), model.eval())[0],
    ),
    "not scaled": (
        "transformer.transformer.Transformer.embed",
        "test_positions_start_at_zero_and_embeddings_are_scaled",
        lambda right, model, *more: right(model, *more) / math.sqrt(model.config.d_model),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("place", "test", "wrong"), MUTANTS.values(), ids=MUTANTS)
def test_a_mutant_is_caught(monkeypatch, place, test, wrong):
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
