# %% [markdown]
# # Elsewhere
#
# A sequence needn't be a sentence. It can just as well be a sound or a protein, because nothing in an encoder layer
# depends on its input being words. On this page we take lesson 07's layers and change what goes in and what comes out.
# The layers themselves stay as they are, except in one experiment with the positions. Training takes a few seconds
# per model.
#
# The page has two parts, on sounds and on proteins. In each, our Transformer competes with a simpler method from before
# there were Transformers. Read how the two work, and guess which one wins before you look at the results.
#
# You can come here from any lesson after 07. Allow **11 minutes** for both parts.

# %% tags=["hide-input"]

import numpy
import torch
import torch.nn.functional as F
from IPython.display import Audio, display
from matplotlib import pyplot
from torch import nn
from tqdm.auto import tqdm

from helpers import plots
from helpers.data import digits, proteins
from helpers.models.gpt import CausalSelfAttention
from helpers.pretrained.measured import measured
from helpers.transformer.layers import EncoderLayer
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
    _, axes = pyplot.subplots(figsize=(6.4, 0.5 + 0.5 * len(results)))
    colours = [plots.PURPLE if "ransformer" in name else plots.GREY for name in results]
    bars = axes.barh(list(results), list(results.values()), color=colours)
    axes.bar_label(bars, fmt="%.3g", padding=4)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.margins(x=0.15)
    return axes


# %% [markdown] tags=["notes"]
# **11 minutes**, or five for a quick tour. Let the room vote before each part, and then show the results. **Say** that
# a baseline isn't a formality. **Ask** when the proteins' bars are on view: "What does the window know that the encoder
# has to learn?" (Which residues are neighbours.) **Ask** about the table below them: "What would you have concluded
# without the last column?" (That an encoder with added positions can't learn it.)

# %% [markdown]
# Both parts share one model. Its input can be vectors of any kind, and its output is either one answer per position or
# a single answer for the whole sequence. Positions can be supplied in two ways. Either they're added to the input, as
# in the 2017 paper, or they rotate the queries and keys, as in most of today's language models (lesson 05, section 5).


# %%
class Reader(nn.Module):
    def __init__(self, d_in, d_model, n_out, whole, positions="added"):
        super().__init__()
        self.input, self.output = nn.Linear(d_in, d_model), nn.Linear(d_model, n_out)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, 4, 2 * d_model, 0.1, True) for _ in range(2)
        )
        self.norm, self.whole, self.positions = nn.LayerNorm(d_model), whole, positions
        if positions == "rotated":  # lesson 14's attention; causal only if a mask says so
            for layer in self.layers:
                layer.self_attention = CausalSelfAttention(d_model, 4, rotary=True)

    def forward(self, x, real):  # (B, T, d_in), (B, T) bool: what isn't padding
        x = self.input(x)
        if self.positions == "added":
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
# Six people say the digits from *zero* to *nine*. We cut each clip into frames, one every 16 milliseconds, and in each
# frame we measure how strong the sound is in 24 frequency bands. A spoken digit becomes a sequence of about 25 tokens.
# Each token is already a vector of 24 numbers, so we don't need an embedding table.

# %% tags=["nbval-ignore-output"]
clips = digits.clips()
sound = digits.sounds()[7]
display(Audio(sound, rate=digits.RATE))

# %% tags=["hide-input"]
axes = plots.signed_heatmap(
    digits.spectrogram(sound).T[::-1], x_label="frames", y_label="bands, low at the bottom"
)
axes.set(title="seven", yticks=[])
notebook.figure(axes, alt="A spectrogram of the word seven: bands against time.", width=520)

# %% [markdown]
# We train on five speakers and test on the sixth, whose voice the model has never heard. Each of the six takes a turn
# at being left out. The rival cuts each clip into five pieces, averages the frames of each piece, and feeds the five
# averages to a linear layer.


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
right = {"Transformer, 2 layers": {}, "five averages, linear": {}}
for speaker in sorted({clip.speaker for clip in clips}):
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
        found = model(frames, real), linear((x - mean) / spread)
    for hits, logits in zip(right.values(), found):
        hits[speaker] = 100 * (logits.argmax(-1) == target).float().mean().item()

_, axes = pyplot.subplots(figsize=(6.4, 3.2))
for (name, hits), colour in zip(right.items(), (plots.PURPLE, plots.GREY)):
    axes.plot(list(hits.values()), list(hits), "o", color=colour, markersize=9, label=name)
    print(f"{name}: {numpy.mean(list(hits.values())):.0f}% over the six speakers")
axes.set(xlabel="digits of an unheard speaker recognised, %", xlim=(0, 100))
axes.legend(frameon=False, loc="upper left")
deep, flat = (numpy.array(list(hits.values())) for hits in right.values())
notebook.claim(min(deep.mean(), flat.mean()) > 40)  # guessing is right in 10%
notebook.claim((flat - deep).max() > (flat - deep).min() + 15)
notebook.figure(
    axes,
    alt="Per speaker, the share of digits recognised by the Transformer and by the linear layer: far apart for some "
    "speakers, close for others.",
    width=620,
)

# %% [markdown]
# Which one won? It depends on who is speaking. With *theo* and *jackson*, the linear layer was well ahead every time we
# trained. With *george* and *nicolas*, the Transformer usually was. Even the average over all six doesn't settle it,
# because one seed favours the Transformer and another its rival.
#
# We nearly told you otherwise. At first we tried only three speakers, *theo* and *jackson* among them, and the simpler
# model looked like the better one. Voices differ so much that a test on just a few of them can come out either way.
#
# ## Proteins: which part is a helix?
#
# A protein is a chain of amino acids. There are twenty kinds of them, and each is written as a letter. Parts of the
# chain wind into *helices* (H), others line up side by side as *strands* (E), and the rest is called *coil* (C). For
# each letter of the chain, the model has to predict H, E or C. We train on 2,400 chains and test on 200, which the
# people who compiled the data chose to be unlike all the others.

# %%
chains, tested = proteins.proteins("train"), proteins.proteins("test")
print(tested[0][0][:60])
print(tested[0][1][:60])

# %% [markdown]
# An amino acid in a chain is called a *residue*. The rival, which we'll call the *window*, is a linear layer that
# sees a residue and its eight neighbours on each side, much like a well-known method from 1978 (Garnier, Osguthorpe
# and Robson). It meets two encoders that differ only in how positions are supplied. One has them added to its input,
# and the other rotates its queries and keys. Which of the three is best, and how much do the positions matter?


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
rivals = {}
for positions in ("added", "rotated"):
    reader = Reader(21, 64, 3, whole=False, positions=positions)
    name = f"Transformer, positions {positions}"
    rivals[name] = train(reader, protein_loss, 200, 3e-3, name)
rivals["window of 17, linear"] = train(Window(), protein_loss, 200, 1e-2, "window")
x, real, target = residues_of(tested)
known = target >= 0
with torch.no_grad():
    protein_results = {
        name: 100 * (model(x, real).argmax(-1) == target)[known].float().mean().item()
        for name, model in rivals.items()
    }
protein_results["always coil"] = 100 * (target[known] == 0).float().mean().item()
added, rotated, window, _ = protein_results.values()
notebook.claim(window > rotated > added + (window - added) / 2)
notebook.figure(
    compare(protein_results, "residues right, %"),
    alt="Bars: the linear window is right most often, the Transformer with rotated positions comes next, the "
    "Transformer with added positions is far behind, and the answer “coil” throughout is right least often.",
    width=620,
)

# %% [markdown]
# The window is told which residues are neighbours, wherever in the chain they are. The encoder with added positions has
# to work it out for itself, because all it's given is the sum of a residue's vector and a position's. After 200 steps
# it has hardly begun. Rotation tells the other encoder part of what the window is told, because an attention score then
# depends on how far apart two residues are. Nothing else about the training has changed, and yet most of the gap to the
# window is gone.
#
# Can an encoder with added positions learn this task at all? To find out, we trained both encoders for ten times as
# long, with three seeds each. We also tested them in two ways. A test chain has up to 256 residues, but in training an
# encoder never sees more than 64 in a row. The first test therefore uses whole chains, and the second cuts them into
# pieces of 64.

# %% tags=["hide-input"]
stored = measured("proteins")  # python -m recipes.proteins
rows, shares = [], stored["labelled"]
for kind, of_steps in shares.items():
    for steps, tests in of_steps.items():
        spans = [f"{min(tests[how]):.0f} to {max(tests[how]):.0f}" for how in ("whole", "pieces")]
        rows.append([f"positions {kind}", f"{int(steps):,}", *spans])
rows.append(["window, fitted to the end", "", f"{stored['window']:.0f}", ""])
assert min(shares["rotated"]["2000"]["whole"]) > stored["window"] > 62
assert max(shares["added"]["2000"]["whole"]) < 55 < 60 < min(shares["added"]["2000"]["pieces"])
notebook.table(rows, ["three seeds", "steps", "whole chains, % right", "in pieces of 64, % right"])

# %% [markdown]
# With that much time, the rotated encoder overtakes the window, although we fitted the window until it no longer
# improved. The encoder with added positions still looks hopeless on whole chains, but on pieces of 64 it's as good as
# the window. It did learn which residues are neighbours, only more slowly, and only at the 64 positions that occurred
# in training. From the 65th residue on, it's given position vectors that it was never trained on. Long chains don't
# hurt the rotated encoder, because a residue's neighbours are a few steps away wherever the residue is in the chain.
#
# ### Structure without labels
#
# Labels like these are hard to come by, because somebody had to work out the structure of each of the 2,400 chains in a
# laboratory. Could an encoder learn about structure without labels, just by filling gaps, as lesson 12's BERT learned
# about words? We trained three small encoders, again with rotated positions, to fill gaps in these chains. Then we
# froze them and trained a linear layer, the **probe**, to read H, E or C off their vectors. For comparison, a second
# probe does this with encoders whose weights are random.

# %% tags=["hide-input"]
seeds = {
    "Transformer, gaps filled": stored["trained"],
    "Transformer, random weights": stored["untrained"],
    "one residue alone": [stored["residue"]],
    "window of 17": [stored["window"]],
}
axes = compare({name: numpy.mean(runs) for name, runs in seeds.items()}, "residues right, %")
for y, runs in enumerate(list(seeds.values())[:2]):
    axes.plot(
        runs, [y + 0.25] * len(runs), "o", color=plots.ORANGE, markersize=4
    )  # below its label
assert max(stored["untrained"]) < min(stored["trained"]) < stored["window"] - 5
assert max(stored["trained"]) - min(stored["untrained"]) < 5
notebook.figure(
    axes,
    alt="Bars: a linear layer reads structure off the vectors of gap-filling encoders a little better than off those of "
    "random ones. Both are better than one residue alone and far below the window.",
    width=620,
)

# %% [markdown]
# Filling gaps helped a little, by two or three points, and it did so with every seed (the dots). You may be surprised
# that random weights do so well. But even an untrained encoder mixes each residue with the rest of its chain, and this
# mixture tells the probe more than a single residue does. Both kinds of encoder are still far behind the window, and
# behind the rotated encoder that was trained with labels. Filling gaps in 2,400 chains is no substitute for labels.
#
# With far more chains, filling gaps does work. Models such as ESM (Rives et al. 2021) filled gaps in 250 million
# chains, and a linear layer then reads helices and strands off their vectors far better than off the letters. AlphaFold
# 2 (Jumper et al. 2021), which predicts a protein's three-dimensional shape, is built around attention as well. It
# reads a chain together with related chains from other species, because two positions that change together in the
# course of evolution often touch in the folded protein.
#
# ## And time series?
#
# A series of numbers, such as temperatures or prices, seems made for a Transformer. Yet when Zeng et al. (2023)
# compared the Transformers that had been proposed for forecasting with a single linear layer, the linear layer beat
# them. As with the proteins, what helped was a change to what the model is given. **PatchTST** (Nie et al. 2023) reads
# patches of a series, as a ViT reads patches of a picture. According to its authors it forecasts better than the linear
# layer, although it, too, is trained on one data set at a time.
#
# Pretraining came next. **TimesFM** (Das et al. 2024) reads patches as well, and the first version of **Chronos**
# (Ansari et al. 2024) sorts values into bins and treats the bins as tokens. Both are trained on a great many series.
# On a series that's new to them, they come close to models that were trained on that very series.
#
# ## What the two parts have in common
#
# In both parts, a simple method was level with our first Transformer or ahead of it. You might conclude that a
# Transformer is the wrong model, or that it needs more data. The proteins show that neither has to be true. Rotating
# the positions instead of adding them was worth about ten points after 200 steps, and with 2,000 steps it put the
# encoder in front. How we cut the test chains mattered just as much.
#
# When a simple method wins, ask what it has been told that your model has to learn, and whether you could tell your
# model the same thing. But first you have to try a simple method. Without one to compare them with, any of our
# Transformers would have looked like a success.
#
# **References**
#
# - Free Spoken Digit Dataset, Jackson et al.; Dallago et al. (2021), "FLIP: Benchmark Tasks in Fitness Landscape
#   Inference for Proteins", for the protein data and the way they're split.
# - Garnier, Osguthorpe, Robson (1978), "Analysis of the Accuracy and Implications of Simple Methods for Predicting the
#   Secondary Structure of Globular Proteins", Journal of Molecular Biology.
# - Rives et al. (2021), "Biological Structure and Function Emerge from Scaling Unsupervised Learning to 250
#   Million Protein Sequences", PNAS.
# - Jumper et al. (2021), "Highly Accurate Protein Structure Prediction with AlphaFold", Nature.
# - Su et al. (2021), "RoFormer: Enhanced Transformer with Rotary Position Embedding", arXiv:2104.09864.
# - Zeng et al. (2023), "Are Transformers Effective for Time Series Forecasting?", arXiv:2205.13504; Nie et al. (2023),
#   "A Time Series is Worth 64 Words: Long-Term Forecasting with Transformers", arXiv:2211.14730; Ansari et al. (2024),
#   "Chronos: Learning the Language of Time Series", arXiv:2403.07815; Das et al. (2024), "A Decoder-Only Foundation Model
#   for Time-Series Forecasting", arXiv:2310.10688.
# - A similar finding about recommender systems: Ferrari Dacrema, Cremonesi, Jannach (2019), "Are We Really Making Much
#   Progress?", arXiv:1907.06902.
