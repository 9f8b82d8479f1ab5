"""The recipe that fills gaps in chains and probes for structure."""

import pytest
import torch
from torch.nn import functional as F

from helpers.data.proteins import RESIDUES
from recipes import proteins as recipe


def test_every_residue_is_in_one_piece_with_its_structure():
    chain, structure = "ACDEFGHIKL" * 30, "CEH-CEHCCC" * 30
    ids, labels = recipe.pieces([(chain, structure)])
    real = ids != recipe.PAD
    assert "".join(RESIDUES[i] for i in ids[real]) == chain
    assert labels[real].tolist() == [{"C": 0, "E": 1, "H": 2, "-": -100}[s] for s in structure]
    assert (labels[~real] == -100).all()


def test_a_window_holds_its_neighbours_in_order():
    ids = torch.tensor([[3, 5, 7, recipe.PAD]])
    wide = recipe.windows(ids, 1).unflatten(-1, (len(RESIDUES), 3))  # (N, T, residue, place)
    assert wide[0, 1].nonzero().tolist() == [[3, 0], [5, 1], [7, 2]]
    assert wide[0, 2].nonzero().tolist() == [[5, 0], [7, 1]]


def test_the_probe_finds_what_is_linear_and_nothing_in_noise():
    torch.manual_seed(0)
    labels = torch.randint(3, (600,))
    vectors = torch.randn(600, 8)
    shifted = vectors + 4 * F.one_hot(labels, 8)
    right = [recipe.probe(x[:400], labels[:400], x[400:], labels[400:]) for x in (shifted, vectors)]
    assert right[0] > 90 > 50 > right[1]


@pytest.mark.slow
def test_gaps_can_be_filled_where_the_next_residue_is_certain(monkeypatch):
    monkeypatch.setattr(recipe, "STEPS", 60)
    chains = [torch.arange(40).remainder(4) for _ in range(8)]
    model = recipe.fill_gaps(0, chains)
    ids = torch.stack(chains)
    with torch.no_grad():
        loss = recipe.gaps_loss(model, ids, torch.Generator().manual_seed(1))
    assert loss < 0.9  # log 4 = 1.39 for a guess
