"""Hear the genre: strokes as tokens, an encoder with a class token, and a linear model beside it.

N windows of two bars, T strokes in the longest of them, D model width, H heads. A window's genre is
that of its performance; which windows are trained on and which are tested is what matters most.
"""

import math
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from torch import nn

from helpers.data import drums
from helpers.models.attending import Attending
from helpers.transformer.layers import EncoderLayer

GENRES = ("rock", "latin", "funk", "jazz")  # the four with the most windows
N_STEPS, N_VOICES = 2 * drums.STEPS_PER_BAR, len(drums.VOICES)
N_LEVELS = 4  # of loudness
N_TOKENS = N_VOICES * N_LEVELS
SHARE = 0.25  # of what is drawn in a `split`, for testing
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
def genre_windows() -> Windows:
    """Cut all performances of the four genres into windows of two bars."""
    strokes, about = [], []
    for one in drums.performances():
        if one.genre in GENRES:
            found = [torch.from_numpy(window).long() for window in drums.windows(one)]
            strokes += found
            about += [(GENRES.index(one.genre), one.number, one.drummer, one.bpm)] * len(found)
    return Windows(strokes, *torch.tensor(about).T)


def stroke_tokens(strokes, n_levels):
    """Name every stroke by its voice and loudness, as one of 9 · `n_levels` tokens.

    Parameters
    ----------
    strokes : integer Tensor of shape (n, 4)
    n_levels : int

    Returns
    -------
    ids : integer Tensor of shape (n,)
    """
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
    """Add each stroke's vector and its step's, and put the class token in front.

    Parameters
    ----------
    ids, steps : integer Tensors of shape (N, T)
    table : Tensor of shape (n_tokens, D)
    step_table : Tensor of shape (32, D)
    class_token : Tensor of shape (D,)

    Returns
    -------
    tokens : Tensor of shape (N, 1 + T, D)
    """
    tokens = table[ids] + step_table[steps]
    first = class_token.expand(len(ids), 1, -1)
    return torch.cat([first, tokens], dim=1)


def read_genre(x, real, layers, w):
    """Run tokens through layers and turn the class token into logits.

    Parameters
    ----------
    x : Tensor of shape (N, 1 + T, D)
        The class token first.
    real : bool Tensor of shape (N, T)
        False at the padding.
    layers : sequence of functions (x, mask) -> x
    w : Tensor of shape (D, n_genres)

    Returns
    -------
    logits : Tensor of shape (N, n_genres)

    Raises
    ------
    ValueError
        If the sizes don't fit each other.
    """
    if x.dim() != 3 or real.shape != (len(x), x.shape[1] - 1) or len(w) != x.shape[-1]:
        raise ValueError(
            f"expected x (N, 1 + T, D), real (N, T) and w (D, n_genres); got {tuple(x.shape)}, "
            f"{tuple(real.shape)} and {tuple(w.shape)}. The class token is in x, but not in real."
        )
    mask = F.pad(real, (1, 0), value=True)  # the class token is real, too
    for layer in layers:
        x = layer(x, mask[:, None, None])
    return x[:, 0] @ w


class LastLayer(EncoderLayer):
    """The same as ``EncoderLayer``, but while training only the class token comes out.

    Nothing reads the other tokens after the last layer, so they only need keys and values there.
    In evaluation mode all of them come out, because attention maps have a row for each. Measured:
    a step of training takes three fifths of the time.
    """

    def forward(self, x, mask=None):
        """Map (N, 1 + T, D) to (N, 1, D) while training, else to (N, 1 + T, D)."""
        if not self.training:
            return super().forward(x, mask)
        x = self.residual_1(x, lambda h: self.self_attention(h[:, :1], h, h, mask)[0])[:, :1]
        return self.residual_2(x, self.feed_forward)


class GenreClassifier(Attending):
    """Classify windows of strokes with pre-norm encoder layers and a class token.

    Parameters
    ----------
    n_tokens : int, default=N_TOKENS
    d_model, d_ff : int, default=48, 96
        Two layers of four heads have these widths.
    embed, read : functions, default=timed_tokens, read_genre
        The way in and the way out; others with the same arguments can take their place.
    """

    def __init__(self, n_tokens=N_TOKENS, d_model=48, d_ff=96, embed=timed_tokens, read=read_genre):
        super().__init__()
        self.embed, self.read = embed, read
        self.tokens = nn.Parameter(0.1 * torch.randn(n_tokens, d_model))
        self.steps = nn.Parameter(0.1 * torch.randn(N_STEPS, d_model))
        self.class_token = nn.Parameter(0.1 * torch.randn(d_model))
        kinds = (EncoderLayer, LastLayer)
        self.layers = nn.ModuleList(kind(d_model, 4, d_ff, 0.0, norm_first=True) for kind in kinds)
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Parameter(torch.randn(d_model, len(GENRES)) / math.sqrt(d_model))

    def forward(self, ids, steps, real):
        """Compute logits (N, n_genres) from tables (N, T)."""
        x = self.embed(ids, steps, self.tokens, self.steps, self.class_token)
        layers = [*self.layers, lambda x, mask: self.norm(x)]  # pre-norm: one more at the end
        return self.read(x, real, layers, self.head)


def weight_per_beat(weights, steps, n_beats):
    """Add up one row of an attention map over the strokes of each beat.

    Parameters
    ----------
    weights : Tensor of shape (1 + T,)
        The class token's own weight first.
    steps : integer Tensor of shape (T,)
    n_beats : int

    Returns
    -------
    sums : Tensor of shape (n_beats,)
    """
    beat = steps // 4
    return torch.zeros(n_beats).index_add(0, beat, weights[1:])


# Which windows are trained on.


def split_by_performance(numbers, order, share):
    """Keep a share of the performances for testing, with all of their windows.

    Parameters
    ----------
    numbers : integer Tensor of shape (N,)
        Of every window's performance.
    order : integer Tensor of shape (P,)
        All performances in random order; the first ones are kept.
    share : float

    Returns
    -------
    train, test : integer Tensors of shape (n,)
        Rows.
    """
    n_test = round(share * len(order))
    held_out = torch.isin(numbers, order[:n_test])
    return (~held_out).nonzero()[:, 0], held_out.nonzero()[:, 0]


def seen_share(train, test):
    """Compute the share of test windows whose performance is trained on.

    Parameters
    ----------
    train, test : integer Tensors of shape (N,) and (M,)
        Numbers of the windows' performances.

    Returns
    -------
    share : Tensor of shape ()
    """
    return torch.isin(test, train).float().mean()


def split(windows, way, seed):
    """Divide windows into those to train on and those to test.

    Parameters
    ----------
    windows : Windows
    way : {"windows", "performances", "drummers"}
        What is drawn at random: single windows; whole performances, the same share of every
        genre's; or, with the seeds 0, 1 and 2, one of the `DRUMMER_GROUPS`.
    seed : int

    Returns
    -------
    train, test : integer Tensors
        Rows; SHARE of what is drawn is for testing.
    """
    generator = torch.Generator().manual_seed(seed)
    if way == "windows":
        order = torch.randperm(len(windows), generator=generator)
        return split_by_performance(torch.arange(len(windows)), order, SHARE)
    if way == "drummers":
        return split_by_performance(windows.drummers, torch.tensor(DRUMMER_GROUPS[seed]), 1.0)
    train, test = [], []
    for genre in range(len(GENRES)):
        rows = (windows.genres == genre).nonzero()[:, 0]
        numbers = windows.performances[rows]
        order = numbers.unique()
        order = order[torch.randperm(len(order), generator=generator)]
        for found, part in zip(
            (train, test), split_by_performance(numbers, order, SHARE), strict=True
        ):
            found.append(rows[part])
    return torch.cat(train).sort().values, torch.cat(test).sort().values


# How good an answer is, and what a rival reads.


def accuracy(logits, labels):
    """Compute the share of right answers, a float, from `logits` (N, n_genres), `labels` (N,)."""
    return (logits.argmax(-1) == labels).float().mean().item()


def balanced_accuracy(logits, labels):
    """Average the share of right answers over the genres that occur.

    Parameters
    ----------
    logits : Tensor of shape (N, n_genres)
    labels : integer Tensor of shape (N,)

    Returns
    -------
    accuracy : Tensor of shape ()
    """
    right = (logits.argmax(-1) == labels).float()
    recalls = [right[labels == genre].mean() for genre in labels.unique()]
    return torch.stack(recalls).mean()


def stroke_grid(strokes, n_voices):
    """Lay `strokes` (n, 4) out as loudness per step and voice, (32 · `n_voices`,)."""
    places = strokes[:, 0] * n_voices + strokes[:, 1]
    grid = torch.zeros(N_STEPS * n_voices)
    return grid.scatter_reduce(0, places, strokes[:, 2] / 127, "amax")
