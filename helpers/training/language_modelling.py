"""Language modelling on running text: windows, training, bits per byte."""

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import torch
from tqdm.auto import tqdm

from helpers.machine.atomic_writes import atomic_write
from helpers.machine.fingerprints import fingerprint
from helpers.training.interruption import StopBetweenSteps
from helpers.training.optimizers import optimizers, take_step
from helpers.training.training import History
from helpers.transformer.fast import cross_entropy_sum
from helpers.transformer.layers import inference


@dataclass(frozen=True, kw_only=True)
class TextTraining:
    """Say how to train on running text.

    Parameters
    ----------
    steps : int
        Updates of the weights.
    batch_size : int, default=16
        Windows per step.
    length : int, default=128
        Tokens per window that are predicted.
    peak_rate : float, default=3e-3
        Highest learning rate, reached after the warm-up; from there a straight line to zero.
    warmup_steps : int, default=50
    weight_decay : float, default=0.1
        On matrices only.
    optimizer : {"adamw", "muon"}, default="adamw"
        See `optimizers.optimizers`.
    precision : {"fp32", "bf16"}, default="fp32"
    long_from : float, default=1.0
        Share of the steps after which windows are twice as long and half as many.
    seed : int, default=0
        Of the choice of windows.

    Raises
    ------
    ValueError
        If a choice is unknown.
    """

    steps: int
    batch_size: int = 16
    length: int = 128
    peak_rate: float = 3e-3
    warmup_steps: int = 50
    weight_decay: float = 0.1
    optimizer: str = "adamw"
    precision: str = "fp32"
    long_from: float = 1.0
    seed: int = 0

    def __post_init__(self):
        for name, choices in (("optimizer", ("adamw", "muon")), ("precision", ("fp32", "bf16"))):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {choices}; got {getattr(self, name)!r}.")


def random_windows(ids, batch_size, length, generator=None):
    """Cut windows out of a text at random places.

    Parameters
    ----------
    ids : integer Tensor of shape (N,)
        The whole text, one token after the other.
    batch_size, length : int
    generator : torch.Generator, default=None

    Returns
    -------
    inputs, targets : integer Tensor of shape (batch_size, length)
        The targets are the inputs one token later.

    Raises
    ------
    ValueError
        If the text is shorter than a window.
    """
    if len(ids) < length + 1:
        raise ValueError(
            f"a window of {length} tokens and the one after it need {length + 1}; the text has "
            f"{len(ids)}. Use a longer text or a smaller length."
        )
    starts = torch.randint(len(ids) - length, (batch_size, 1), generator=generator)
    windows = ids[starts + torch.arange(length + 1)]  # (B, 1) + (T + 1,) -> (B, T + 1)
    return windows[:, :-1], windows[:, 1:]


def train_on_text(model, ids, settings, progress=True, checkpoint=None):
    """Train a model to predict every next token of a text.

    Ctrl-C, or the notebook's stop button, ends the training after the current step and leaves a
    model that can be used.

    Parameters
    ----------
    model : nn.Module
        Maps ids (B, T) to logits (B, T, V).
    ids : integer Tensor of shape (N,)
    settings : TextTraining
    progress : bool, default=True
        Show a bar with the time left.
    checkpoint : path, default=None
        Written about a hundred times; a training with the same settings, text and path goes on
        from it.

    Returns
    -------
    history : History
        `losses` in nats per token, one per step.

    Raises
    ------
    ValueError
        If the text is too short, or the checkpoint belongs to another training.
    """
    run = _TextRun(model, ids, settings)
    if checkpoint is not None and Path(checkpoint).exists():
        run.load(checkpoint)
    every = max(settings.steps // 100, 1)
    model.train()
    bar = tqdm(
        total=settings.steps, initial=run.step, desc="training", unit="step", disable=not progress
    )
    with StopBetweenSteps() as stop, bar:
        while run.step < settings.steps:
            run.train_step()
            bar.update()
            bar.set_postfix(loss=f"{run.history.losses[-1]:.2f}", refresh=False)
            due = run.step % every == 0 or run.step == settings.steps or stop.asked
            if due and checkpoint is not None:
                run.save(checkpoint)
            if stop.asked:
                run.history.stopped_early = True
                break
    model.eval()
    run.history.seconds += bar.format_dict["elapsed"]
    return run.history


class _TextRun:
    """One training on text: everything that changes from step to step."""

    def __init__(self, model, ids, settings):
        self.model, self.ids, self.settings = model, ids, settings
        self.optimizers = optimizers(
            model, settings.optimizer, settings.peak_rate, settings.weight_decay
        )
        self.generator = torch.Generator().manual_seed(settings.seed)
        self.step, self.history = 0, History()

    def train_step(self):
        s = self.settings
        self.step += 1
        twice = 2 if self.step > s.long_from * s.steps else 1
        inputs, targets = random_windows(
            self.ids, s.batch_size // twice, s.length * twice, self.generator
        )
        device = next(self.model.parameters()).device
        with torch.autocast(device.type, torch.bfloat16, enabled=s.precision == "bf16"):
            logits = self.model(inputs.to(device))
        loss = cross_entropy_sum(logits.flatten(0, 1), targets.flatten().to(device))
        loss = loss / targets.numel()
        rising = self.step / max(s.warmup_steps, 1)
        falling = (s.steps - self.step + 1) / max(s.steps - s.warmup_steps, 1)
        rate = s.peak_rate * min(rising, falling, 1.0)
        value = take_step(loss, self.optimizers, rate, self.step)
        self.history.losses.append(value)

    @cached_property
    def marks(self):  # only for checkpoints, because a long text takes a moment
        return {"settings": asdict(self.settings), "text": fingerprint(repr(self.ids.tolist()))}

    def save(self, path):
        state = {
            "marks": self.marks,
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "step": self.step,
            "losses": self.history.losses,
            "windows": self.generator.get_state(),
            "random": torch.get_rng_state(),
        }
        with atomic_write(Path(path)) as partial:
            torch.save(state, partial)

    def load(self, path):
        state = torch.load(path, weights_only=True)
        if state["marks"] != self.marks:
            raise ValueError(
                f"{path} belongs to a training with other settings or another text. Move it away "
                f"to start afresh, or use the settings it was made with."
            )
        self.model.load_state_dict(state["model"])
        for optimizer, one in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(one)
        self.step, self.history.losses = state["step"], state["losses"]
        self.generator.set_state(state["windows"])
        torch.set_rng_state(state["random"])


def nats_of_text(model, ids, context):
    """Sum a model's surprise over a text, giving every token at least half a window to read.

    Parameters
    ----------
    model : nn.Module
        Maps ids (B, T) to logits (B, T, V).
    ids : integer Tensor of shape (N,)
        The first one is only read.
    context : int
        Tokens per window; each window starts half a window after the one before.

    Returns
    -------
    nats : float
        Summed over the N - 1 tokens after the first.
    """
    nats, half = 0.0, context // 2
    with inference(model):
        for first in range(1, len(ids), half):  # the tokens first … first + half - 1 are scored
            last = min(first + half, len(ids))
            start = max(last - 1 - context, 0)
            logits = model(ids[None, start : last - 1])[0]  # (1, T) -> (T, V)
            scored = logits[first - 1 - start :]
            nats += cross_entropy_sum(scored, ids[first:last]).item()
    return nats


def bits_per_byte(nats, text):
    """Divide the surprise over a `text`, in nats, by its length in bytes; the result is in bits.

    Unlike nats per token it compares models with different vocabularies.
    """
    return nats / math.log(2) / len(text.encode("utf-8"))
