"""The recipe of page 94's proteins: encoders that label structure, and others that fill gaps.

``python -m recipes.proteins`` takes about twelve minutes on one core. It trains the page's encoder
with positions that are added or rotated, short and long, and tests it on whole chains and on pieces
as short as those it was trained on. Then it trains three small encoders to fill gaps in the
training chains, without any label, and fits a linear layer that reads helix, strand or coil off
frozen vectors. The same layer reads the vectors of untrained encoders, a residue alone, and a
residue with eight neighbours on each side.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from helpers.data.proteins import RESIDUES, STRUCTURES, proteins
from helpers.models.gpt import CausalSelfAttention, GPTConfig, GPTLayer
from helpers.pretrained.measured import store
from helpers.training.optimizers import optimizers, take_step
from helpers.transformer.layers import EncoderLayer
from helpers.transformer.positions import sinusoidal_positions

MASK, PAD = len(RESIDUES), len(RESIDUES) + 1
LENGTH, BATCH, STEPS, RATE, WARMUP = 128, 16, 1500, 1e-2, 100
D_MODEL, SEEDS, NEIGHBOURS = 64, (1, 2, 3), 8
LABEL_STEPS, CROP = (200, 2000), 64  # of the encoders that label, as on the page


class ChainModel(nn.Module):
    """Encoder layers with rotary positions, which fill gaps in chains of residues."""

    def __init__(self):
        super().__init__()
        config = GPTConfig(d_model=D_MODEL, n_heads=4, n_layers=3, positions="rotary", dropout=0.0)
        self.embedding = nn.Embedding(PAD + 1, D_MODEL)
        self.layers = nn.ModuleList(GPTLayer(config) for _ in range(config.n_layers))
        self.norm, self.output = nn.LayerNorm(D_MODEL), nn.Linear(D_MODEL, len(RESIDUES))

    def encode(self, ids):
        """Map ids (B, T) to vectors (B, T, D)."""
        x, real = self.embedding(ids), (ids != PAD)[:, None, None]
        for layer in self.layers:
            x = layer(x, real)
        return self.norm(x)


class Labeller(nn.Module):
    """The page's encoder: one-hot residues in, three structures out, positions of either kind."""

    def __init__(self, rotary):
        super().__init__()
        self.rotary = rotary
        self.input, self.output = nn.Linear(len(RESIDUES), D_MODEL), nn.Linear(D_MODEL, 3)
        self.layers = nn.ModuleList(
            EncoderLayer(D_MODEL, 4, 2 * D_MODEL, 0.1, True) for _ in range(2)
        )
        if rotary:
            for layer in self.layers:  # causal only with a causal mask
                layer.self_attention = CausalSelfAttention(D_MODEL, 4, rotary=True)
        self.norm = nn.LayerNorm(D_MODEL)

    def forward(self, ids):
        """Map ids (B, T) to logits (B, T, 3)."""
        real = ids != PAD
        x = self.input(windows(ids, 0))
        if not self.rotary:
            x = x + sinusoidal_positions(*x.shape[1:])
        for layer in self.layers:
            x = layer(x, real[:, None, None])
        return self.output(self.norm(x))


def label(seed, rotary, steps, ids, labels):
    """Train a Labeller on crops of chains (N, T), padded; the page's rate and schedule."""
    torch.manual_seed(seed)
    model, generator = Labeller(rotary), torch.Generator().manual_seed(seed)
    adam, lengths = torch.optim.Adam(model.parameters(), fused=True), (ids != PAD).sum(1)
    for step in range(steps):
        rows = torch.randint(len(ids), (12,), generator=generator)
        room = (lengths[rows] - CROP).clamp(min=0)
        starts = (torch.rand(len(rows), generator=generator) * (room + 1)).long()
        places = starts[:, None] + torch.arange(CROP)
        x, y = ids[rows[:, None], places], labels[rows[:, None], places]
        rate = 3e-3 * min(1, (step + 1) / 20) * (1 - step / steps)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        take_step(loss, [adam], rate, step + 1, clip_norm=math.inf)
    return model.eval()


def labels_right(model, ids, labels, crop):
    """Share of right structures, in percent, when the chains are read in pieces of `crop`."""
    with torch.no_grad():
        found = torch.cat(
            [
                torch.cat([model(part).argmax(-1) for part in rows.split(crop, dim=1)], dim=1)
                for rows in ids.split(20)
            ]
        )
    known = labels >= 0
    return round(100 * (found == labels)[known].float().mean().item(), 2)


def labelled(seeds=SEEDS):
    """Train with labels; per kind of position and number of steps, the shares per seed."""
    (ids, labels), (test_ids, test_labels) = (pieces(proteins(p), None) for p in ("train", "test"))
    results = {}
    for name, rotary in (("added", False), ("rotated", True)):
        results[name] = {str(steps): {"whole": [], "pieces": []} for steps in LABEL_STEPS}
        for steps in LABEL_STEPS:
            for seed in seeds:
                model, into = label(seed, rotary, steps, ids, labels), results[name][str(steps)]
                for how, crop in (("whole", ids.shape[1]), ("pieces", CROP)):
                    into[how].append(labels_right(model, test_ids, test_labels, crop))
                print(name, steps, seed, into, flush=True)
    return results


def ids_of(chain):
    """Number the residues of a chain, (T,)."""
    return torch.tensor([RESIDUES.index(one) for one in chain])


def pieces(pairs, length=LENGTH):
    """Cut chains into pieces, or not if None: ids (N, T), structures (N, T), -100 where unknown."""
    ids, labels = [], []
    for chain, structure in pairs:
        a = ids_of(chain)
        b = torch.tensor([STRUCTURES.find(one) for one in structure])
        ids += a.split(length or len(a))
        labels += b.masked_fill(b < 0, -100).split(length or len(b))
    pad = nn.utils.rnn.pad_sequence
    return pad(ids, True, PAD), pad(labels, True, -100)


def gaps_loss(model, ids, generator):
    """Hide 15% of the residues as BERT does; the loss at the hidden ones, in nats."""
    draw = torch.rand(ids.shape, generator=generator)
    chosen = (draw < 0.15) & (ids != PAD)
    shown = ids.masked_fill(chosen & (draw < 0.12), MASK)
    swapped = chosen & (draw >= 0.135)
    shown[swapped] = torch.randint(len(RESIDUES), ids.shape, generator=generator)[swapped]
    return F.cross_entropy(model.output(model.encode(shown)[chosen]), ids[chosen])


def fill_gaps(seed, chains):
    """Train a model on crops of the chains, a list of id tensors."""
    torch.manual_seed(seed)
    model, generator = ChainModel(), torch.Generator().manual_seed(seed)
    both = optimizers(model, "muon", RATE, 0.01)
    for step in range(1, STEPS + 1):
        crops = []
        for i in torch.randint(len(chains), (BATCH,), generator=generator).tolist():
            last = max(len(chains[i]) - LENGTH, 0)
            start = torch.randint(last + 1, (), generator=generator)
            crops.append(chains[i][start : start + LENGTH])
        ids = nn.utils.rnn.pad_sequence(crops, True, PAD)
        rate = RATE * min(step / WARMUP, 1.05 - step / STEPS, 1.0)
        take_step(gaps_loss(model, ids, generator), both, rate, step)
    return model.eval()


def probe(vectors, labels, tested, right):
    """Fit a linear layer to vectors (N, D); the share of right answers on others, in percent."""
    mean, spread = vectors.mean(0), vectors.std(0).clamp(min=1e-6)
    layer = nn.Linear(vectors.shape[1], len(STRUCTURES))
    x, fit = (vectors - mean) / spread, torch.optim.LBFGS(layer.parameters(), max_iter=60)

    def closure():
        fit.zero_grad()
        loss = F.cross_entropy(layer(x), labels) + 1e-4 * layer.weight.square().sum()
        loss.backward()
        return loss

    fit.step(closure)
    with torch.no_grad():
        found = layer((tested - mean) / spread).argmax(-1)
    return round(100 * (found == right).float().mean().item(), 2)


def windows(ids, neighbours):
    """One-hot vectors of a residue and its neighbours, (N, T) -> (N, T, D)."""
    one_hot = F.one_hot(ids, PAD + 1)[..., : len(RESIDUES)].float()  # a padding is all zeros
    padded = F.pad(one_hot, (0, 0, neighbours, neighbours))
    return padded.unfold(1, 2 * neighbours + 1, 1).flatten(2)


def main():
    """Train, probe, store."""
    train, test = proteins("train"), proteins("test")
    (ids, labels), (test_ids, test_labels) = pieces(train), pieces(test)
    known, test_known = labels >= 0, test_labels >= 0
    some = torch.randperm(int(known.sum()), generator=torch.Generator().manual_seed(0))[:150_000]

    def probed(encode):
        with torch.no_grad():
            here = torch.cat([encode(part) for part in ids.split(256)])[known][some]
            there = torch.cat([encode(part) for part in test_ids.split(256)])[test_known]
        return probe(here, labels[known][some], there, test_labels[test_known])

    results = {"steps": STEPS, "seeds": list(SEEDS), "trained": [], "untrained": []}
    results["residue"] = probed(lambda part: windows(part, 0))
    results["window"] = probed(lambda part: windows(part, NEIGHBOURS))
    chains = [ids_of(chain) for chain, _ in train]
    for seed in SEEDS:
        torch.manual_seed(seed)
        results["untrained"].append(probed(ChainModel().eval().encode))
        model = fill_gaps(seed, chains)
        results["trained"].append(probed(model.encode))
        print(seed, results, flush=True)
    results["labelled"] = labelled()
    store("proteins", results)


if __name__ == "__main__":
    main()
