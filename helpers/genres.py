"""Hear the genre: strokes as tokens, an encoder with a class token, and a linear model beside it.

N windows of two bars, T strokes in the longest of them, D model width, H heads. A window's genre is
that of its performance; which windows are trained on and which are tested is what matters most.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy
import torch
import torch.nn.functional as F
from torch import nn
from tqdm.auto import tqdm

from helpers.attention import recorded_weights
from helpers.averages import MovingAverage
from helpers.data import drums
from helpers.interruption import StopBetweenSteps
from helpers.layers import Dropout, EncoderLayer, inference
from helpers.optimizers import optimizers

GENRES = ("rock", "latin", "funk", "jazz")  # the four with the most windows
N_STEPS, N_VOICES = 2 * drums.STEPS_PER_BAR, len(drums.VOICES)
N_LEVELS = 4  # of loudness
N_TOKENS = N_VOICES * N_LEVELS
LONGEST = 64  # strokes; nineteen windows in twenty have no more
# All ten drummers in three groups of about equal size, each with all four genres.
DRUMMER_GROUPS = ((1, 9), (2, 5, 10), (3, 4, 6, 7, 8))


@dataclass(frozen=True)
class Windows:
    """Windows of drumming with their genres, in the order of the performances.

    Parameters
    ----------
    strokes : list of integer Tensors of shape (n, 4)
        Step, voice, velocity, lateness, as in `drums.Performance`.
    genres, performances, drummers, bpm : integer Tensors of shape (N,)
        Index into `GENRES`; number of the performance; who plays; beats a minute.
    """

    strokes: list
    genres: torch.Tensor
    performances: torch.Tensor
    drummers: torch.Tensor
    bpm: torch.Tensor

    def __len__(self):
        """Count the windows."""
        return len(self.strokes)

    def at(self, rows):
        """Take the windows in some rows, a list or tensor, as `Windows`."""
        rows = torch.as_tensor(rows)
        others = (self.genres, self.performances, self.drummers, self.bpm)
        return Windows([self.strokes[i] for i in rows.tolist()], *(part[rows] for part in others))


@cache
def genre_windows(from_bar=0):
    """Cut all performances of the four genres into windows of two bars.

    Parameters
    ----------
    from_bar : int, default=0
        1 cuts one bar later, so that other windows come out, which overlap with the first ones.

    Returns
    -------
    windows : Windows
    """
    strokes, about = [], []
    for one in drums.performances():
        if one.genre in GENRES:
            found = drums.windows(_without_bars(one, from_bar)) if from_bar else drums.windows(one)
            strokes += [torch.from_numpy(window).long() for window in found]
            about += [(GENRES.index(one.genre), one.number, one.drummer, one.bpm)] * len(found)
    return Windows(strokes, *torch.tensor(about).T)


def _without_bars(performance, n_bars):
    """Leave out a performance's first bars."""
    start = n_bars * drums.STEPS_PER_BAR
    strokes = performance.strokes[performance.strokes[:, 0] >= start]
    if not len(strokes):
        strokes = performance.strokes[:1]  # one stroke makes no window
    shifted = strokes - numpy.array([start, 0, 0, 0])
    return drums.Performance(**{**vars(performance), "strokes": shifted})


def stroke_tokens(strokes, n_levels):
    """Name every stroke by its voice and loudness: (n, 4) -> (n,)."""
    voice, velocity = strokes[:, 1], strokes[:, 2]
    level = velocity * n_levels // 128  # 0 is the softest
    return voice * n_levels + level


def pad_windows(windows, longest):
    """Put windows of (token, step) pairs into one table: list of (n, 2) -> three (N, longest)."""
    ids = torch.zeros(len(windows), longest, dtype=torch.long)
    steps = torch.zeros(len(windows), longest, dtype=torch.long)
    real = torch.zeros(len(windows), longest, dtype=torch.bool)
    for i, window in enumerate(windows):
        kept = window[:longest]
        ids[i, : len(kept)] = kept[:, 0]
        steps[i, : len(kept)] = kept[:, 1]
        real[i, : len(kept)] = True
    return ids, steps, real


def tokenized(windows, tokens_of=None):
    """Make the tables that the classifier reads.

    Parameters
    ----------
    windows : Windows
    tokens_of : function (n, 4) -> (n,), default=None
        Names the strokes of a window; by default `stroke_tokens` with `N_LEVELS`.

    Returns
    -------
    ids, steps, real : Tensors of shape (N, LONGEST)
    """
    tokens_of = tokens_of or (lambda strokes: stroke_tokens(strokes, N_LEVELS))
    pairs = [torch.stack([tokens_of(one), one[:, 0]], dim=1) for one in windows.strokes]
    return pad_windows(pairs, LONGEST)


def timed_tokens(ids, steps, table, step_table, class_token):
    """Add each stroke's vector and its step's, with the class token in front: -> (N, 1 + T, D)."""
    tokens = table[ids] + step_table[steps]
    first = class_token.expand(len(ids), 1, -1)
    return torch.cat([first, tokens], dim=1)


def read_genre(x, real, layers, w):
    """Run tokens (N, 1 + T, D) through layers and read the class token: -> logits (N, n_genres)."""
    mask = F.pad(real, (1, 0), value=True)  # the class token is real, too
    for layer in layers:
        x = layer(x, mask[:, None, None])
    return x[:, 0] @ w


class GenreClassifier(nn.Module):
    """Classify windows of strokes with pre-norm encoder layers and a class token.

    Parameters
    ----------
    n_tokens : int, default=N_TOKENS
    d_model, n_heads, n_layers, d_ff : int, default=48, 4, 2, 96
    dropout : float, default=0.2
    embed, read : functions, default=timed_tokens, read_genre
        The way in and the way out; others with the same arguments can take their place.
    """

    def __init__(
        self,
        n_tokens=N_TOKENS,
        d_model=48,
        n_heads=4,
        n_layers=2,
        d_ff=96,
        dropout=0.2,
        embed=timed_tokens,
        read=read_genre,
    ):
        super().__init__()
        self.embed, self.read = embed, read
        self.tokens = nn.Parameter(0.1 * torch.randn(n_tokens, d_model))
        self.steps = nn.Parameter(0.1 * torch.randn(N_STEPS, d_model))
        self.class_token = nn.Parameter(0.1 * torch.randn(d_model))
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, n_heads, d_ff, dropout, norm_first=True) for _ in range(n_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Parameter(torch.randn(d_model, len(GENRES)) / math.sqrt(d_model))

    def forward(self, ids, steps, real):
        """Compute logits (N, n_genres) from tables (N, T)."""
        x = self.embed(ids, steps, self.tokens, self.steps, self.class_token)
        layers = [*self.layers, lambda x, mask: self.norm(x)]  # pre-norm: one more at the end
        return self.read(self.dropout(x), real, layers, self.head)

    def attention_maps(self, ids, steps, real):
        """Return the attention weights of all layers, (N, layers, H, 1 + T, 1 + T)."""
        with inference(self), recorded_weights(self) as maps:
            self(ids, steps, real)
        return torch.stack(maps, dim=1)


def weight_per_beat(weights, steps, n_beats):
    """Add up the class token's weights (1 + T,) over the strokes of each beat: -> (n_beats,)."""
    beat = steps // 4
    return torch.zeros(n_beats).index_add(0, beat, weights[1:])


# Which windows are trained on.


def split_by_performance(numbers, order, share):
    """Keep a share of the performances for testing: (N,), (P,) -> rows to train on, to test."""
    n_test = round(share * len(order))
    held_out = torch.isin(numbers, order[:n_test])
    return (~held_out).nonzero()[:, 0], held_out.nonzero()[:, 0]


def seen_share(train, test):
    """Compute the share of test windows whose performance is trained on: (N,), (M,) -> ()."""
    return torch.isin(test, train).float().mean()


def split(windows, way, seed, share=0.25):
    """Divide windows into those to train on and those to test.

    Parameters
    ----------
    windows : Windows
    way : {"windows", "performances", "drummers"}
        What is drawn at random: single windows; whole performances, the same share of every
        genre's; or, with the seeds 0, 1 and 2, one of the `DRUMMER_GROUPS`.
    seed : int
    share : float, default=0.25
        Of what is drawn, for testing.

    Returns
    -------
    train, test : integer Tensors
        Rows.
    """
    generator = torch.Generator().manual_seed(seed)
    if way == "windows":
        order = torch.randperm(len(windows), generator=generator)
        n_test = round(share * len(order))
        return order[n_test:].sort().values, order[:n_test].sort().values
    if way == "drummers":
        held_out = torch.isin(windows.drummers, torch.tensor(DRUMMER_GROUPS[seed]))
        return (~held_out).nonzero()[:, 0], held_out.nonzero()[:, 0]
    train, test = [], []
    for genre in range(len(GENRES)):
        rows = (windows.genres == genre).nonzero()[:, 0]
        numbers = windows.performances[rows]
        order = numbers.unique()
        order = order[torch.randperm(len(order), generator=generator)]
        for found, part in zip(
            (train, test), split_by_performance(numbers, order, share), strict=True
        ):
            found.append(rows[part])
    return torch.cat(train).sort().values, torch.cat(test).sort().values


# Two models, one measure.


def accuracy(logits, labels):
    """Compute the share of right answers: (N, n_genres), (N,) -> float."""
    return (logits.argmax(-1) == labels).float().mean().item()


def balanced_accuracy(logits, labels):
    """Average the share of right answers over the genres: (N, n_genres), (N,) -> ()."""
    right = (logits.argmax(-1) == labels).float()
    recalls = [right[labels == genre].mean() for genre in labels.unique()]
    return torch.stack(recalls).mean()


def stroke_grid(strokes, n_voices):
    """Lay a window out as loudness per step and voice: (n, 4) -> (32 · n_voices,)."""
    places = strokes[:, 0] * n_voices + strokes[:, 1]
    grid = torch.zeros(N_STEPS * n_voices)
    return grid.scatter_reduce(0, places, strokes[:, 2] / 127, "amax")


def performance_weights(windows, rows):
    """Weigh windows so that a performance counts by the root of how many it has; mean 1."""
    numbers = windows.performances[rows]
    weights = numbers.bincount()[numbers] ** -0.5
    return weights / weights.mean()


def linear_logits(grids, windows, train, test, decay=300.0):
    """Train a linear classifier on grids and compute its logits for others.

    Performances weigh as much as in `train_genres`, so that the comparison is fair.

    Parameters
    ----------
    grids : Tensor of shape (N, width)
    windows : Windows
    train, test : integer Tensors
        Rows.
    decay : float, default=300.0
        How strongly large weights are held back.

    Returns
    -------
    logits : Tensor of shape (len(test), n_genres)
    """
    mean, spread = grids[train].mean(0), grids[train].std(0) + 0.05
    inputs = (grids - mean) / spread
    model = nn.Linear(grids.shape[1], len(GENRES))
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    fit = torch.optim.LBFGS(model.parameters(), max_iter=60, line_search_fn="strong_wolfe")
    x, y, weight = inputs[train], windows.genres[train], performance_weights(windows, train)

    def loss():
        fit.zero_grad()
        each = F.cross_entropy(model(x), y, reduction="none")
        value = (weight * each).mean() + decay / len(y) * model.weight.square().sum()
        value.backward()
        return value

    fit.step(loss)
    with torch.no_grad():
        return model(inputs[test])


@torch.no_grad()
def logits_of(model, tables, rows, batch_size=500):
    """Compute a classifier's logits (len(rows), n_genres), with dropout off."""
    with inference(model):
        return torch.cat([model(*(t[part] for t in tables)) for part in rows.split(batch_size)])


def train_genres(
    model,
    tables,
    windows,
    rows,
    epochs=5,
    seed=0,
    peak_rate=2e-3,
    batch_size=64,
    missing=0.1,
    progress=True,
):
    """Train a classifier; the rate rises over a tenth of the steps and falls along a cosine.

    A performance with many windows counts by the root of their number, so that a few long ones
    don't outweigh the rest. In every batch some strokes are left out at random.

    Parameters
    ----------
    model : GenreClassifier
    tables : tuple of Tensors
        From `tokenized`, for all windows.
    windows : Windows
    rows : integer Tensor
        Which windows to train on.
    epochs : int, default=5
        Passes over as many windows as there are.
    seed : int, default=0
        Of the batches and dropout.
    peak_rate : float, default=2e-3
    batch_size : int, default=64
    missing : float, default=0.1
        Share of the strokes left out.
    progress : bool, default=True

    Returns
    -------
    losses : list of float
        Mean loss of every pass, in nats per window.
    """
    torch.manual_seed(seed)
    made = optimizers(model, "adamw", peak_rate, weight_decay=0.05)
    average = MovingAverage(model, 0.99)
    weights = performance_weights(windows, rows)
    n_steps, step, losses = epochs * (len(rows) // batch_size), 0, []
    with StopBetweenSteps() as stop, tqdm(total=n_steps, disable=not progress) as bar:
        for _ in range(epochs):
            drawn, found = rows[torch.multinomial(weights, len(rows), True)], []
            for batch in _batches(drawn, tables[2].sum(1), batch_size):
                ids, steps, real = (table[batch] for table in tables)
                longest = int(real.sum(1).max())
                real = real & (torch.rand(real.shape) >= missing)
                parts = (part[:, :longest] for part in (ids, steps, real))
                rate = peak_rate * min(1, 10 * (step + 1) / n_steps)
                rate *= (1 + math.cos(math.pi * step / n_steps)) / 2
                model.train()
                loss = F.cross_entropy(model(*parts), windows.genres[batch], label_smoothing=0.1)
                _update(model, made, loss, rate)
                step += 1
                average.update(step)
                bar.update()
                found.append(loss.item())
                if stop.asked:
                    break
            losses.append(sum(found) / len(found))
            bar.set_postfix(loss=f"{losses[-1]:.3f}")
            if stop.asked:
                break
    model.load_state_dict(average.weights)
    model.eval()
    return losses


def _batches(rows, lengths, batch_size):
    """Make batches of windows of similar length, in random order; what is left over is dropped."""
    found = []
    for several in rows.split(8 * batch_size):
        alike = several[lengths[several].argsort()]
        found += [part for part in alike.split(batch_size) if len(part) == batch_size]
    return [found[i] for i in torch.randperm(len(found))]


def _update(model, made, loss, rate):
    """Take one training step."""
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimizer in made:
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        optimizer.zero_grad()
