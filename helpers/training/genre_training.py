"""Training of genre classifiers: the encoder, and a linear model to compare it with."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from tqdm.auto import tqdm

from helpers.training.genres import GENRES
from helpers.training.interruption import StopBetweenSteps
from helpers.training.optimizers import moving_average, optimizers, take_step
from helpers.transformer.layers import inference


def performance_weights(windows, rows):
    """Weigh the `windows` in `rows` so that a performance counts by the root of how many it has."""
    numbers = windows.performances[rows]
    return numbers.bincount()[numbers] ** -0.5


def linear_logits(grids, windows, train, test, decay=100.0):
    """Train a linear classifier on grids and compute its logits for others.

    Performances weigh as much as in `train_genres`, so that the comparison is fair.

    Parameters
    ----------
    grids : Tensor of shape (N, width)
    windows : Windows
    train, test : integer Tensors
        Rows.
    decay : float, default=100.0
        How strongly large weights are held back; chosen on validation as well.

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
        value = (weight * each).sum() / weight.sum() + decay / len(y) * model.weight.square().sum()
        value.backward()
        return value

    fit.step(loss)
    with torch.no_grad():
        return model(inputs[test])


@torch.no_grad()
def logits_of(model, tables, rows):
    """Compute logits with dropout off.

    Parameters
    ----------
    model : GenreClassifier
    tables : tuple of three Tensors of shape (N, T)
        From `tokenized`.
    rows : integer Tensor of shape (n,)

    Returns
    -------
    logits : Tensor of shape (n, n_genres)
    """
    with inference(model):
        return torch.cat([model(*(t[part] for t in tables)) for part in rows.split(500)])


def train_genres(
    model,
    tables,
    windows,
    rows,
    epochs=3,
    seed=0,
    peak_rate=3e-3,
    batch_size=32,
    missing=0.1,
    progress=True,
):
    """Train a classifier; the rate rises over a tenth of the steps and falls along a cosine.

    A performance with many windows counts by the root of their number, so that a few long ones
    don't outweigh the rest. In every batch some strokes are left out at random.

    Parameters
    ----------
    model : GenreClassifier
    tables : tuple of three Tensors of shape (N, T)
        From `tokenized`, for all windows.
    windows : Windows
    rows : integer Tensor of shape (n,)
        Which windows to train on.
    epochs : int, default=3
        Passes over as many windows as there are; chosen on validation by `recipes.genres`.
    seed : int, default=0
        Of the batches and the missing strokes.
    peak_rate : float, default=3e-3
    batch_size : int, default=32
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
    average = moving_average(model, 0.99)
    weights = performance_weights(windows, rows)
    n_steps, step, losses = epochs * (len(rows) // batch_size), 0, []
    with StopBetweenSteps() as stop, tqdm(total=n_steps, disable=not progress) as bar:
        for _ in range(epochs):
            drawn, found = rows[torch.multinomial(weights, len(rows), True)], []
            for batch in _batches(drawn, tables[2].sum(1), batch_size):
                loss = _loss(model, [one[batch] for one in tables], windows.genres[batch], missing)
                rising = min(1, 10 * (step + 1) / n_steps)
                falling = (1 + math.cos(math.pi * step / n_steps)) / 2
                step += 1
                found.append(take_step(loss, made, peak_rate * rising * falling, step))
                average.update_parameters(model)
                bar.update()
                if stop.asked:
                    break
            losses.append(sum(found) / len(found))
            bar.set_postfix(loss=f"{losses[-1]:.3f}")
            if stop.asked:
                break
    model.load_state_dict(average.module.state_dict())
    model.eval()
    return losses


def _batches(rows, lengths, batch_size):
    """Make batches of windows of similar length, in random order; what is left over is dropped."""
    found = []
    for several in rows.split(8 * batch_size):
        alike = several[lengths[several].argsort()]
        found += [part for part in alike.split(batch_size) if len(part) == batch_size]
    return [found[i] for i in torch.randperm(len(found))]


def _loss(model, tables, labels, missing):
    """Compute the loss of a batch from which a share of the strokes is missing."""
    ids, steps, real = tables
    longest = int(real.sum(1).max())
    real = real & (torch.rand(real.shape) >= missing)
    model.train()
    logits = model(*(part[:, :longest] for part in (ids, steps, real)))
    return F.cross_entropy(logits, labels, label_smoothing=0.1)
