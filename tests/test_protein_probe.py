"""The recipe that labels structure in chains, fills their gaps and probes for structure."""

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
    labels = torch.randint(3, (600,))
    vectors = torch.randn(600, 8)
    shifted = vectors + 4 * F.one_hot(labels, 8)
    right = [recipe.probe(x[:400], labels[:400], x[400:], labels[400:]) for x in (shifted, vectors)]
    assert right[0] > 90 > 50 > right[1]


def test_a_shift_changes_what_a_labeller_reads_only_where_positions_are_added():
    ids = torch.randint(len(RESIDUES), (1, 30))
    shifted = F.pad(ids, (70, 0), value=recipe.PAD)
    for rotary in (False, True):
        model = recipe.Labeller(rotary).eval()
        with torch.no_grad():
            same = torch.allclose(model(ids), model(shifted)[:, 70:], atol=1e-4)
        assert same == rotary


def test_the_share_of_right_labels_leaves_out_the_unknown_and_joins_the_pieces():
    ids = torch.arange(10).expand(30, 10)
    labels = (ids % 3).masked_fill(ids > 7, -100)
    labels = labels.masked_fill(ids == 0, 1)  # one of eight known is wrong
    for crop in (10, 4):
        found = recipe.labels_right(lambda x: F.one_hot(x % 3), ids, labels, crop)
        assert found == 87.5


@pytest.mark.weekly
def test_gaps_can_be_filled_where_the_next_residue_is_certain(monkeypatch):
    monkeypatch.setattr(recipe, "STEPS", 60)
    chains = [torch.arange(40).remainder(4) for _ in range(8)]
    model = recipe.fill_gaps(0, chains)
    ids = torch.stack(chains)
    with torch.no_grad():
        loss = recipe.gaps_loss(model, ids, torch.Generator().manual_seed(1))
    assert loss < 0.9  # log 4 = 1.39 for a guess
