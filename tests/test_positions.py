"""Sinusoids, learned tables, rotations."""

import cmath
import math

import pytest
import torch
from samples import refuses

from helpers.transformer.positions import LearnedPositions, rotate_positions, sinusoidal_positions


def test_sinusoids_by_loops_near_and_far():
    table = sinusoidal_positions(5001, 6)
    for p in (*range(7), 5000):
        for i in range(3):
            angle = p / 10000 ** (2 * i / 6)
            assert table[p, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[p, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_rotary_continues_from_a_start():
    x = torch.randn(1, 6, 4)
    torch.testing.assert_close(rotate_positions(x)[:, 4:], rotate_positions(x[:, 4:], start=4))


@pytest.mark.parametrize("options", [{}, {"base": 50.0}, {"start": 100_000}])
def test_rotary_by_complex_numbers(options):
    x = torch.randn(2, 3, 6)
    base, start = options.get("base", 10000.0), options.get("start", 0)
    rotated = rotate_positions(x, **options)
    for t in range(3):
        for i in range(3):
            turn = cmath.exp(1j * (start + t) / base ** (2 * i / 6))
            for row, found in zip(x[:, t], rotated[:, t], strict=True):
                expected = complex(row[2 * i], row[2 * i + 1]) * turn
                assert found[2 * i].item() == pytest.approx(expected.real, abs=1e-5)
                assert found[2 * i + 1].item() == pytest.approx(expected.imag, abs=1e-5)


def test_learned_positions_continue_and_end():
    learned = LearnedPositions(5, 4)
    assert learned.table.abs().max() < 0.1
    torch.testing.assert_close(learned(2, start=3), learned.table[3:5])
    refuses("holds 5 positions; position 5", learned, 6)
    refuses("position 6 was asked for", learned, 3, start=4)
    assert len(learned(5)) == 5


def test_errors():
    refuses("d_model=5", sinusoidal_positions, 3, 5)
    refuses("even width; got 3", rotate_positions, torch.zeros(1, 3))
