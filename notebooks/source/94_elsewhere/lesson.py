# %% [markdown]
# # Elsewhere
#
# Nothing in an encoder layer depends on its input being words. A sequence can just as well be a protein, a sound, a
# list of purchases or a temperature curve. On this page we take the layers that you built in lesson 07, change only
# their input and output, and train four small models for a few seconds each. Each model is compared with a simpler
# rival that people used before. Read how each of them works, then guess which one wins before you look at the bars.
# It isn't always the Transformer.
#
# Allow **20 minutes**, five for each part.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %% tags=["hide-input"]
import math

import numpy
import torch
import torch.nn.functional as F
from IPython.display import Audio, display
from torch import nn
from tqdm.auto import tqdm

from helpers import plots
from helpers.data import digits, proteins
from helpers.models.gpt import GPT, GPTConfig
from helpers.transformer.layers import EncoderLayer
from helpers.transformer.masks import causal_mask
from helpers.transformer.positions import sinusoidal_positions

torch.set_num_threads(1)
generator = torch.Generator().manual_seed(0)


def choose(items, n):
    """Draw n of the items."""
    return [items[i] for i in torch.randint(len(items), (n,), generator=generator).tolist()]


def train(model, loss_of, steps, peak_rate, name):
    """Take `steps` steps with Adam; the rate rises for 20 steps, then falls to zero."""
    optimiser = torch.optim.Adam(model.parameters(), fused=True)
    model.train()
    for step in tqdm(range(steps), desc=name):
        rate = peak_rate * min(1, (step + 1) / 20) * (1 - step / steps)
        optimiser.param_groups[0]["lr"] = rate
        optimiser.zero_grad()
        loss_of(model).backward()
        optimiser.step()
    return model.eval()


def compare(results, unit):
    """Draw the results as bars, the Transformer's in purple."""
    from matplotlib import pyplot

    _, axes = pyplot.subplots(figsize=(6.4, 0.5 + 0.5 * len(results)))
    colours = [plots.PURPLE if "ransformer" in name else plots.GREY for name in results]
    bars = axes.barh(list(results), list(results.values()), color=colours)
    axes.bar_label(bars, fmt="%.3g", padding=4)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.margins(x=0.15)
    return axes


# %% [markdown] tags=["notes"]
# **20 minutes**, or five for a quick tour: let the room vote before each part, then show the bars.
# **Say**: a baseline isn't a formality. **Ask** after proteins: "What does the window know that the
# encoder has to learn?" (which residues are neighbours).

# %% [markdown]
# The first two parts share one model. Its input can be vectors of any kind, our encoder layers mix them, and the
# output is one answer per position or a single answer for the whole sequence.


# %%
class Reader(nn.Module):
    def __init__(self, d_in, d_model, n_out, whole):
        super().__init__()
        self.input, self.output = nn.Linear(d_in, d_model), nn.Linear(d_model, n_out)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, 4, 2 * d_model, 0.1, True) for _ in range(2)
        )
        self.norm, self.whole = nn.LayerNorm(d_model), whole

    def forward(self, x, real):  # (B, T, d_in), (B, T) bool: what isn't padding
        x = self.input(x)
        x = x + sinusoidal_positions(x.shape[1], x.shape[2])
        for layer in self.layers:
            x = layer(x, real[:, None, None])
        x = self.norm(x)
        if self.whole:  # the mean over what isn't padding
            x = (x * real[..., None]).sum(1) / real.sum(1, keepdim=True)
        return self.output(x)


# %% [markdown]
# ## Spoken digits: a sound as a sequence of frames
#
# Six people say the digits from *zero* to *nine*. We cut each clip into frames, one every 16 milliseconds, and
# measure how strong 24 bands of frequencies are in each. So a digit becomes a sequence of about 25 tokens, and
# each token is already a vector of 24 numbers, which means that we don't need an embedding table.

# %% tags=["nbval-ignore-output"]
clips = digits.clips()
sound = digits.sounds()[7]
display(Audio(sound, rate=digits.RATE))

# %% tags=["hide-input"]
axes = plots.signed_heatmap(
    digits.spectrogram(sound).T[::-1], x_label="frames", y_label="bands, low at the bottom"
)
axes.set_title("seven")
axes.set_yticks([])
notebook.figure(axes, alt="A spectrogram of the word seven: bands against time.", width=520)

# %% [markdown]
# We test on a speaker that the model has never heard, then repeat this with two other speakers. The rival cuts each
# clip into five pieces, averages the frames of each piece, and feeds the five averages to a linear layer.


# %% tags=["hide-input"]
def frames_of(some):
    """Clips -> frames (B, T, 24), real (B, T), digits (B,)."""
    parts = [torch.tensor((clip.frames + 5) / 4) for clip in some]
    x = nn.utils.rnn.pad_sequence(parts, batch_first=True)
    lengths = torch.tensor([len(part) for part in parts])
    return x, torch.arange(x.shape[1]) < lengths[:, None], torch.tensor([c.digit for c in some])


def five_pieces(some):
    rows = [numpy.concatenate([p.mean(0) for p in numpy.array_split(c.frames, 5)]) for c in some]
    return torch.tensor(numpy.stack(rows)), torch.tensor([clip.digit for clip in some])


def digits_loss(model):
    x, real, target = frames_of(choose(heard, 16))
    return F.cross_entropy(model(x, real), target)


# %% tags=["hide-input", "nbval-ignore-output"]
notebook.set_seed(0)
right = {"Transformer, 2 layers": [], "five averages, linear": []}
for speaker in ("theo", "lucas", "jackson"):
    heard = [clip for clip in clips if clip.speaker != speaker]
    unheard = [clip for clip in clips if clip.speaker == speaker]
    model = train(Reader(24, 48, 10, whole=True), digits_loss, 150, 6e-3, f"without {speaker}")
    x, target = five_pieces(heard)
    mean, spread = x.mean(0), x.std(0)
    linear = train(
        nn.Linear(120, 10),
        lambda m, x=x, t=target, a=mean, b=spread: F.cross_entropy(m((x - a) / b), t),
        150, 1e-2, "linear",
    )  # fmt: skip
    with torch.no_grad():
        frames, real, target = frames_of(unheard)
        x, _ = five_pieces(unheard)
        right["Transformer, 2 layers"] += (model(frames, real).argmax(-1) == target).tolist()
        right["five averages, linear"] += (
            linear((x - mean) / spread).argmax(-1) == target
        ).tolist()
digit_results = {name: 100 * numpy.mean(hits) for name, hits in right.items()}
assert all(value > 25 for value in digit_results.values())  # guessing is right in 10%
assert digit_results["five averages, linear"] > digit_results["Transformer, 2 layers"]
notebook.figure(
    compare(digit_results, "digits of unheard speakers recognised, %"),
    alt="Bars: the share of digits recognised by the Transformer and by the linear layer.",
    width=620,
)

# %% [markdown]
# The five averages do better, although a linear layer is the simpler model. Five voices aren't many, and the
# Transformer learns the voices along with the digits. If clips of one speaker were on both sides of the split,
# both numbers would be higher, but they'd answer a different question.
#
# ## Proteins: which part is a helix?
#
# A protein is a chain of amino acids, written with twenty letters. Parts of the chain wind up into *helices* (H),
# others line up side by side as *strands* (E), and the rest is called *coil* (C). For each letter of the chain, the
# model has to predict H, E or C. We train on 2,400 chains and test on 200 others, chosen by the makers of the data to be unlike them.

# %%
chains, tested = proteins.proteins("train"), proteins.proteins("test")
print(tested[0][0][:60])
print(tested[0][1][:60])

# %% [markdown]
# An amino acid in a chain is called a *residue*. The rival is a linear layer whose input is one residue and its eight
# neighbours on each side, as in a well-known method from 1978 (Garnier, Osguthorpe and Robson).


# %% tags=["hide-input"]
def residues_of(some, crop=None):
    """Chains -> one-hot (B, T, 21), real (B, T), structures (B, T) with -100 where unknown."""
    xs, ys = [], []
    for chain, structure in some:
        start = 0
        if crop and len(chain) > crop:
            start = torch.randint(len(chain) - crop, (1,), generator=generator).item()
        stop = start + crop if crop else None
        xs.append(torch.tensor([proteins.RESIDUES.index(r) for r in chain[start:stop]]))
        ys.append(torch.tensor([proteins.STRUCTURES.find(s) for s in structure[start:stop]]))
    x = nn.utils.rnn.pad_sequence(xs, batch_first=True, padding_value=-1)
    y = nn.utils.rnn.pad_sequence(ys, batch_first=True, padding_value=-1)
    real = x >= 0
    one_hot = F.one_hot(x.clamp(0), 21).float() * real[..., None]
    return one_hot, real, y.masked_fill(y < 0, -100)


class Window(nn.Module):
    """A linear layer over a residue and eight neighbours on each side."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Conv1d(21, 3, 17, padding=8)

    def forward(self, x, real):
        return self.linear(x.mT).mT


def protein_loss(model):
    x, real, target = residues_of(choose(chains, 12), crop=64)
    return F.cross_entropy(model(x, real).flatten(0, 1), target.flatten())


# %% tags=["hide-input", "nbval-ignore-output"]
notebook.set_seed(0)
encoder = train(Reader(21, 64, 3, whole=False), protein_loss, 200, 3e-3, "Transformer")
window = train(Window(), protein_loss, 200, 1e-2, "window")
x, real, target = residues_of(tested)
known = target >= 0
with torch.no_grad():
    protein_results = {
        name: 100 * (model(x, real).argmax(-1) == target)[known].float().mean().item()
        for name, model in (("Transformer, 2 layers", encoder), ("window of 17, linear", window))
    }
protein_results["always coil"] = 100 * (target[known] == 0).float().mean().item()
assert protein_results["window of 17, linear"] > protein_results["Transformer, 2 layers"] + 5
notebook.figure(
    compare(protein_results, "residues right, %"),
    alt="Bars: the linear window is right most often, the Transformer less, always saying coil least.",
    width=620,
)

# %% [markdown]
# The window wins easily. It's told which residues are neighbours, while the encoder would have to find that out
# from the positions that are added to its input. More steps don't change the order: when we trained it
# once for ten times as many, the window stayed well ahead. Because attention can reach every position, it has to learn which ones matter,
# and these few chains don't teach it. Protein language models such as ESM (Rives et al. 2021) learn that first, without
# a single label, by filling gaps in millions of chains.
#
# ## The next item: what will they buy?
#
# These data are **made up**. Each customer has a favourite shelf with four products and buys them in turn. Three
# purchases in ten are different. We call them *errands*, and they're drawn at random from all 24 products. To
# predict the next purchase, a model has to work out which shelf is the favourite, ignore the errands, and find
# which product came last *from that shelf*.


# %%
def purchases(n, length=21):
    shelf, turn = (
        torch.randint(6, (n,), generator=generator),
        torch.randint(4, (n,), generator=generator),
    )
    items = torch.empty(n, length, dtype=torch.long)
    for t in range(length):
        own = torch.rand(n, generator=generator) < 0.7
        turn = torch.where(own, (turn + 1) % 4, turn)
        items[:, t] = torch.where(
            own, 4 * shelf + turn, torch.randint(24, (n,), generator=generator)
        )
    return items


# %% [markdown]
# The rival counts pairs of purchases, then predicts the product that most often followed the last one.


# %% tags=["hide-input", "nbval-ignore-output"]
def purchases_loss(model):
    rows = seen[torch.randint(len(seen), (32,), generator=generator)]
    return F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


notebook.set_seed(0)
seen, new = purchases(3000), purchases(500)
pairs = torch.zeros(24, 24)
pairs.index_put_((seen[:, :-1].flatten(), seen[:, 1:].flatten()), torch.ones(1), accumulate=True)
config = GPTConfig(vocab_size=24, d_model=32, n_heads=2, n_layers=2, max_len=20, dropout=0.0)
shop = train(GPT(config), purchases_loss, 250, 4e-3, "Transformer")


def hits(predicted):
    return 100 * (predicted == new[:, 1:]).float().mean().item()


with torch.no_grad():
    shop_results = {
        "Transformer, 2 layers": hits(shop(new[:, :-1]).argmax(-1)),
        "pairs counted": hits(pairs.argmax(-1)[new[:, :-1]]),
        "always the most popular": hits(seen.flatten().bincount().argmax()),
    }
assert shop_results["Transformer, 2 layers"] > shop_results["pairs counted"] + 2
notebook.figure(
    compare(shop_results, "next purchase predicted, %"),
    alt="Bars: the Transformer predicts most purchases, counted pairs fewer, the most popular product few.",
    width=620,
)

# %% [markdown]
# This time attention wins. After an errand, the table of pairs has nothing to go on, because its only input is that
# one product, while the Transformer can attend to the purchases before it. No method can be right in more than about
# 71% of the cases, since the errands are random. On real data, simple rivals often do surprisingly well, and several
# reported victories disappeared when the rivals were tuned with the same care (Ferrari Dacrema et al. 2019).
#
# ## Time series: what comes next in a curve?
#
# These data are made up, too. We add a wave that repeats every 24 steps, one that repeats every 7, and random
# disturbances that die out slowly. Each model gets 48 values and predicts the next one.

# %% tags=["hide-input"]
notebook.set_seed(0)
hours, disturbance = torch.arange(3000).float(), torch.zeros(3000)
for t in range(1, 3000):
    disturbance[t] = 0.7 * disturbance[t - 1] + 0.5 * torch.randn(1, generator=generator)
curve = 2 * torch.sin(2 * math.pi * hours / 24) + torch.cos(2 * math.pi * hours / 7) + disturbance
axes = plots.labelled_lines(
    hours[:120].tolist(), {"value": curve[:120].tolist()}, x_label="steps", y_label="value"
)
notebook.figure(axes, alt="A noisy curve with a slow wave and a quick one.", width=560)

# %% [markdown]
# There are two rivals this time. One is a weighted sum of the 48 values, fitted by least squares, and the other just
# repeats the last value.


# %% tags=["hide-input", "nbval-ignore-output"]
class Forecaster(nn.Module):
    """Predict the next value at every position."""

    def __init__(self, d_model=32, length=48):
        super().__init__()
        self.input, self.output = nn.Linear(1, d_model), nn.Linear(d_model, 1)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, 2, 2 * d_model, 0.0, True) for _ in range(2)
        )
        self.positions, self.mask = sinusoidal_positions(length, d_model), causal_mask(length)

    def forward(self, values):
        x = self.input(values[..., None]) + self.positions
        for layer in self.layers:
            x = layer(x, self.mask)
        return self.output(x)[..., 0]


def forecast_loss(model):
    rows = past[torch.randint(len(past), (16,), generator=generator)]
    return (model(rows[:, :-1]) - rows[:, 1:])[:, 12:].square().mean()


stretches = curve.unfold(0, 49, 1)
past, future = stretches[:2200], stretches[2300:]  # the gap keeps the two apart
forecaster = train(Forecaster(), forecast_loss, 200, 4e-3, "Transformer")
weights = torch.linalg.lstsq(past[:, :-1], past[:, -1:]).solution
with torch.no_grad():
    forecasts = {
        "Transformer, 2 layers": forecaster(future[:, :-1])[:, -1],
        "weighted sum of 48 values": (future[:, :-1] @ weights)[:, 0],
        "the last value again": future[:, -2],
    }
series_results = {
    name: (forecast - future[:, -1]).square().mean().item() for name, forecast in forecasts.items()
}
assert series_results["weighted sum of 48 values"] < series_results["Transformer, 2 layers"]
notebook.figure(
    compare(series_results, "mean squared error (lower is better; 0.25 is the best possible)"),
    alt="Bars: the weighted sum has the smallest error, then the Transformer, then the last value.",
    width=620,
)

# %% [markdown]
# Least squares wins clearly. A sum of waves with a little noise *is* a linear problem, so the linear method has
# the right form from the start. Zeng et al. (2023) found the same on
# the public data sets that several forecasting Transformers had been published with, where a single linear layer
# beat them.
#
# ## What the four have in common
#
# - The layers stay the same. We changed only how the input becomes vectors and what the output predicts.
# - A Transformer assumes very little about its input. With a lot of data that's a strength. With little data, it's
#   why a simple method with the right assumption wins.
# - Split the data by whatever will be new when the model is used: speakers, families of proteins, customers, time.
# - Without a rival to compare with, each of the four would have looked like a success.
#
# **References**
#
# - Free Spoken Digit Dataset, Jackson et al.; Dallago et al. (2021), "FLIP: Benchmark Tasks in Fitness Landscape
#   Inference for Proteins", for the protein data and their split.
# - Garnier, Osguthorpe, Robson (1978), "Analysis of the Accuracy and Implications of Simple Methods for Predicting the
#   Secondary Structure of Globular Proteins", Journal of Molecular Biology.
# - Rives et al. (2021), "Biological Structure and Function Emerge from Scaling Unsupervised Learning to 250
#   Million Protein Sequences", PNAS.
# - Ferrari Dacrema, Cremonesi, Jannach (2019), "Are We Really Making Much Progress?", arXiv:1907.06902.
# - Zeng et al. (2023), "Are Transformers Effective for Time Series Forecasting?", arXiv:2205.13504.
