"""Training of picture classifiers: augmentation, and one loop for a ViT and a CNN alike."""

import math
import time

import torch
import torch.nn.functional as F
from tqdm.auto import tqdm

from helpers.data.clothes import as_input
from helpers.training.interruption import StopBetweenSteps
from helpers.training.optimizers import holding, moving_average, optimizers, take_step
from helpers.transformer.layers import inference

WARMUP = 0.05  # share of the training in which the learning rate rises


def augment(images, shift=2, largest=8, erased=0.25):
    """Make other pictures of the same things: shifted, mirrored, with a part erased.

    Parameters
    ----------
    images : uint8 Tensor of shape (N, 28, 28)
    shift : int, default=2
        Most pixels by which a picture moves along each axis; black moves in.
    largest : int, default=8
        Longest side of the black rectangle that some pictures get.
    erased : float, default=0.25
        Share of pictures that get one.

    Returns
    -------
    images : uint8 Tensor of shape (N, 28, 28)

    Source
    ------
    Zhong et al. (2020), "Random Erasing Data Augmentation", arXiv:1708.04896, for the rectangle.
    """
    n, height, width = images.shape
    windows = F.pad(images, [shift] * 4).unfold(1, height, 1).unfold(2, width, 1)
    down, right = torch.randint(2 * shift + 1, (2, n))
    images = windows[torch.arange(n), down, right]  # (N, 2·shift + 1, 2·shift + 1, …) -> (N, …)
    mirrored = torch.rand(n) < 0.5
    images = torch.where(mirrored[:, None, None], images.flip(-1), images)
    rows, columns = (_stretch(n, length, largest) for length in (height, width))
    chosen = torch.rand(n) < erased
    return images.masked_fill(rows[:, :, None] & columns[:, None, :] & chosen[:, None, None], 0)


def _stretch(n, length, largest):
    """Mark a random stretch of up to `largest` places in each of n rows, (n, length)."""
    size = torch.randint(2, largest + 1, (n, 1))
    start = (torch.rand(n, 1) * (length - size + 1)).long()
    places = torch.arange(length)
    return (places >= start) & (places < start + size)


def accuracy(model, images, labels, batch_size=50) -> float:
    """Measure the share of pictures that a model classifies correctly.

    Parameters
    ----------
    model : nn.Module
    images : uint8 Tensor of shape (N, 28, 28)
    labels : integer Tensor of shape (N,)
    batch_size : int, default=50
    """
    with inference(model):
        device = next(model.parameters()).device
        parts = [model(as_input(x).to(device)).argmax(-1) for x in images.split(batch_size)]
    return (torch.cat(parts).cpu() == labels).float().mean().item()


def train_pictures(
    model,
    pictures,
    *,
    epochs=None,
    seconds=None,
    peak_rate=1e-3,
    batch_size=100,
    weight_decay=0.05,
    label_smoothing=0.1,
    average_decay=0.0,
    optimizer="adamw",
    augmented=True,
    bf16=False,
    seed=0,
    after_epoch=None,
    progress=True,
):
    """Train a classifier; the rate rises, then falls along a cosine to zero.

    Stop it with Ctrl-C or the notebook's stop button whenever you like; the model stays usable.

    Parameters
    ----------
    model : nn.Module
        Maps pictures (B, 1, 28, 28) to logits.
    pictures : Pictures
    epochs : int, default=None
        Passes over the pictures; or
    seconds : float, default=None
        of processor time, all threads together, after which training ends wherever it is.
    peak_rate : float, default=1e-3
        Highest learning rate.
    batch_size : int, default=100
    weight_decay, label_smoothing : float, default=0.05, 0.1
    average_decay : float, default=0.0
        0.998 leaves the model with a moving average of its weights; 0 with its last ones.
    optimizer : {"adamw", "muon"}, default="adamw"
        See `optimizers.optimizers`.
    augmented : bool, default=True
        See `augment`.
    bf16 : bool, default=False
        Whether matrix products run with 16-bit floats.
    seed : int, default=0
        Of the batches, the augmentation and dropout.
    after_epoch : function (epoch, mean loss) -> None, default=None
        Called after every pass, counted from 1.
    progress : bool, default=True
        Whether to show a bar with the loss and the time left.

    Returns
    -------
    losses : list of float
        Mean loss of every pass, the last one perhaps cut short, in nats per picture.

    Raises
    ------
    ValueError
        If not exactly one of `epochs` and `seconds` is given.
    FloatingPointError
        If the loss stops being a number.

    Source
    ------
    Loshchilov and Hutter (2017), "SGDR", arXiv:1608.03983, for the cosine.
    """
    if (epochs is None) == (seconds is None):
        raise ValueError(f"give epochs or seconds; got epochs={epochs}, seconds={seconds}.")
    made = optimizers(model, optimizer, peak_rate, weight_decay)
    run = _Run(model, peak_rate, made, label_smoothing, average_decay, bf16)
    torch.manual_seed(seed * 1000)
    batches = _batches(pictures, batch_size, augmented, seed)
    return run.run(batches, epochs, seconds, after_epoch, progress)


def _batches(pictures, batch_size, augmented, seed):
    """Yield, for one epoch after the other, a list of functions that make its batches."""
    generator = torch.Generator().manual_seed(seed)
    n = len(pictures.images)

    def make(rows):
        images = pictures.images[rows]
        return as_input(augment(images) if augmented else images), pictures.labels[rows]

    while True:
        parts = torch.randperm(n, generator=generator).split(min(batch_size, n))
        # What is left over makes no batch, because batch norm can't do with a picture or two.
        yield [lambda rows=rows: make(rows) for rows in parts if len(rows) == len(parts[0])]


class _Run:
    def __init__(self, model, peak_rate, made, label_smoothing, average_decay, bf16):
        self.model, self.peak_rate, self.bf16 = model, peak_rate, bf16
        self.label_smoothing = label_smoothing
        self.device = next(model.parameters()).device
        self.optimizers = made
        self.average = moving_average(model, average_decay)
        self.step = 0

    def run(self, batches, epochs, seconds, after_epoch, progress):
        start, losses, done = time.process_time(), [], 0.0
        form = "{l_bar}{bar}| {elapsed}<{remaining}{postfix}"
        with (
            StopBetweenSteps() as stop,
            tqdm(total=1.0, disable=not progress, bar_format=form) as bar,
        ):
            while not (done >= 1 or stop.asked):
                epoch, found = next(batches), []
                for make in epoch:
                    found.append(self.train_step(*make(), done))
                    spent = (time.process_time() - start) / seconds if seconds else 0.0
                    before, done = done, min(1.0, spent or self.step / (epochs * len(epoch)))
                    bar.update(done - before)
                    if done >= 1 or stop.asked:
                        break
                losses.append(sum(found) / len(found))
                bar.set_postfix(loss=f"{losses[-1]:.3f}")
                if after_epoch:
                    with holding(self.model, self.average):
                        after_epoch(len(losses), losses[-1])
        if self.average:
            self.model.load_state_dict(self.average.module.state_dict())
        self.model.eval()
        return losses

    def train_step(self, images, labels, done):
        """Take one step, `done` the share of the training before it; returns the loss."""
        self.model.train()
        rising = min(1.0, (done + 1e-3) / WARMUP)
        rate = self.peak_rate * rising * (1 + math.cos(math.pi * done)) / 2
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
            logits = self.model(images.to(self.device))
        loss = F.cross_entropy(
            logits.float(), labels.to(self.device), label_smoothing=self.label_smoothing
        )
        value = take_step(loss, self.optimizers, rate, self.step + 1)
        self.step += 1
        if self.average:
            self.average.update_parameters(self.model)
        return value
