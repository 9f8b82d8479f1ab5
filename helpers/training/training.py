"""Training of models that map pairs of texts: settings, learning rate, loop."""

import math
import time
from dataclasses import asdict, dataclass, field

import torch
from tqdm.auto import tqdm

from helpers.training.batches import pad_batch, token_batches
from helpers.training.checkpoints import Checkpoint, random_states, set_random_states
from helpers.training.interruption import StopBetweenSteps
from helpers.training.optimizers import AdamW, copy_of, holding, moving_average, take_step
from helpers.transformer.fast import bf16_pays, cross_entropy_sum
from helpers.transformer.layers import inference

BETAS = (0.9, 0.98)  # Adam's (Vaswani et al. 2017, section 5.3)
PAD_MULTIPLE = 4  # lengths are padded to a multiple of this, so that few shapes occur


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Say how to train.

    Parameters
    ----------
    epochs : int
        Passes over the training pairs.
    peak_rate : float, default=1e-3
        Highest learning rate, reached after the warm-up.
    warmup_steps : int, default=100
        Steps over which the rate rises from zero in a straight line.
    decay : {"inverse_sqrt", "linear"}, default="inverse_sqrt"
        What follows: the paper's step^-0.5, or a straight line to zero at the last step.
    batch_tokens : int, default=2048
        Most tokens in a batch, padding included, on the longer side.
    label_smoothing : float, default=0.0
        Share of each target spread over all classes.
    clip_norm : float, default=1.0
        Longest gradient; longer ones are shortened to it.
    weight_decay : float, default=0.0
        AdamW's.
    average_decay : float, default=0.0
        0 keeps the weights as they are; 0.999 validates and returns an exponential moving average.
    precision : {"auto", "fp32", "bf16"}, default="fp32"
        "auto" takes bf16 where the processor multiplies it by itself; see `fast.bf16_pays`.
    seed : int, default=0
        Of the order of the batches.
    pad_id : int, default=0
    """

    epochs: int
    peak_rate: float = 1e-3
    warmup_steps: int = 100
    decay: str = "inverse_sqrt"
    batch_tokens: int = 2048
    label_smoothing: float = 0.0
    clip_norm: float = 1.0
    weight_decay: float = 0.0
    average_decay: float = 0.0
    precision: str = "fp32"
    seed: int = 0
    pad_id: int = 0

    def __post_init__(self):
        for name, choices in (
            ("decay", ("inverse_sqrt", "linear")),
            ("precision", ("auto", "fp32", "bf16")),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {choices}; got {getattr(self, name)!r}.")


@dataclass
class History:
    """What happened: one entry a step in `losses`, one an epoch in the other lists.

    `losses` and `validation_losses` are mean nats per target token; `scores` are what the best
    weights were chosen by. An epoch counts once it is whole and validated. `seconds` counts
    earlier parts of a resumed run; `stopped_early` says that somebody stopped it.
    """

    losses: list = field(default_factory=list)
    validation_losses: list = field(default_factory=list)
    scores: list = field(default_factory=list)
    seconds: float = 0.0
    stopped_early: bool = False


def warmup_rate(step, d_model, warmup_steps) -> float:
    """Compute the learning rate of the paper: up in a straight line, then down as step^-0.5.

    Parameters
    ----------
    step : int
        Counted from 1.
    d_model : int
    warmup_steps : int

    Raises
    ------
    ValueError
        If `step` is below 1.

    Source
    ------
    Vaswani et al. (2017), "Attention Is All You Need", section 5.3, eq. (3).
    """
    if step < 1:
        raise ValueError(f"steps are counted from 1; got {step}.")
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def learning_rate(step, settings, total_steps):
    """Compute the rate that the `settings` ask for at `step`, from 1 to `total_steps`."""
    warmup = max(settings.warmup_steps, 1)
    if step <= warmup:
        return settings.peak_rate * step / warmup
    if settings.decay == "inverse_sqrt":
        return settings.peak_rate * math.sqrt(warmup / step)
    left = (total_steps - step) / max(total_steps - warmup, 1)
    return settings.peak_rate * max(left, 0.0)


def batch_loss(model, src_ids, tgt_ids, pad_id=0, label_smoothing=0.0):
    """Sum the loss over a batch's real target tokens, asking the model only for their logits.

    Parameters
    ----------
    model : nn.Module
    src_ids : integer Tensor of shape (B, S)
    tgt_ids : integer Tensor of shape (B, T + 1)
        With begin and end of sentence.
    pad_id : int, default=0
    label_smoothing : float, default=0.0

    Returns
    -------
    loss : scalar Tensor, nats summed over tokens
    n_tokens : int
    """
    inputs, targets = tgt_ids[:, :-1], tgt_ids[:, 1:]
    keep = targets != pad_id
    logits, targets = model(src_ids, inputs, keep), targets[keep]
    loss = cross_entropy_sum(logits, targets, label_smoothing)
    return loss, targets.numel()


def evaluate(model, pairs, batch_tokens=4096, pad_id=0) -> float:
    """Measure the mean loss in nats per target token, dropout off, no label smoothing.

    Parameters
    ----------
    model : nn.Module
        Called as ``model(src_ids, tgt_ids, keep)``.
    pairs : list of (list of int, list of int)
    batch_tokens : int, default=4096
    pad_id : int, default=0

    Raises
    ------
    ValueError
        If there is no pair, or no target but padding.
    """
    if not pairs:
        raise ValueError("got no pairs to measure the loss on.")
    device = next(model.parameters()).device
    total = count = 0
    with inference(model):
        for batch in token_batches(pairs, batch_tokens):
            ids = [x.to(device) for x in pad_batch(batch, pad_id)]
            loss, n_tokens = batch_loss(model, *ids, pad_id)
            total, count = total + loss.item(), count + n_tokens
    if not count:
        raise ValueError(f"every target is padding (pad_id={pad_id}): there is no loss to measure.")
    return total / count


def train(
    model,
    train_pairs,
    validation_pairs,
    settings,
    score=None,
    checkpoint=None,
    encode=None,
    progress=True,
) -> History:
    """Train a model; keep its best weights; survive an interruption.

    Stop it with Ctrl-C or the notebook's stop button whenever you like: after the current step,
    the model holds the best weights so far, or its latest ones if no epoch has been validated yet.
    Press twice to leave out a validation that is running. To stop several trainings with one
    press, see `interruption.StopBetweenSteps`.

    With a `checkpoint`, calling again goes on where it stopped, with the same batches and the same
    dropout. Random numbers that `encode` and `score` draw elsewhere than from PyTorch aren't saved.

    Parameters
    ----------
    model : nn.Module
        Called as ``model(src_ids, tgt_ids, keep)``; trained where its parameters are.
    train_pairs, validation_pairs : list of (list of int, list of int)
        Ids of source and target; the target with begin and end of sentence.
    settings : TrainingSettings
    score : function (model) -> float, default=None
        Run after every epoch; the weights with the highest score are kept, and any number is
        better than NaN. None: the validation loss, negated.
    checkpoint : path, default=None
        A file to go on from, if it is there, and to write after every epoch and when stopped.
    encode : function (epoch) -> list of pairs, default=None
        Makes the epoch's training pairs anew, for instance with other subword cuts.
    progress : bool, default=True
        Whether to show a bar with the loss and the time left.

    Raises
    ------
    FloatingPointError
        If loss or gradient stops being a number. The model then holds its last good weights.
    ValueError
        If there are no training pairs, or the checkpoint is damaged or of another training. The
        model is then as it was.
    OSError
        If the checkpoint can't be written. The model then holds its best weights so far.
    """
    if not train_pairs:
        raise ValueError("got no training pairs.")
    run = _Run(model, train_pairs, validation_pairs, settings, score, encode)
    return run.run(Checkpoint(checkpoint, settings, train_pairs) if checkpoint else None, progress)


class _Run:
    """The state of one training run; everything in it that changes is in the checkpoint."""

    def __init__(self, model, train_pairs, validation_pairs, settings, score, encode):
        self.model, self.settings, self.score, self.encode = model, settings, score, encode
        self.train_pairs, self.validation_pairs = train_pairs, validation_pairs
        self.device = next(model.parameters()).device
        how = {"betas": BETAS, "eps": 1e-9, "weight_decay": settings.weight_decay}
        self.optimizer = AdamW(model.parameters(), lr=0.0, **how, fused=True)
        self.step, self.epoch, self.batch, self.history = 0, 0, 0, History()
        self.average = moving_average(model, settings.average_decay)
        self.best = None  # (score, weights)
        self.encoded = None  # the pairs of the current epoch, where `encode` makes them
        self.total = self.bf16 = None  # known from the start on, or from the checkpoint

    def run(self, checkpoint, progress):
        state = checkpoint.read(self.model, self.device) if checkpoint else None
        with StopBetweenSteps() as self.stop, self.stop.protect():
            try:
                self.load(state) if state else self.begin()
                with tqdm(
                    total=self.total, initial=self.step, disable=not progress, unit="step"
                ) as bar:
                    while self.epoch < self.settings.epochs and not self.stop.asked:
                        self.run_epoch(bar)
                        self.save(checkpoint)
                    if self.stop.asked:
                        bar.set_postfix_str("stopped; the model keeps its best weights so far")
            except KeyboardInterrupt:  # a second press, while `encode` made the next pairs
                self.stop.presses = 2
            except FloatingPointError:
                self.best = self.average = None  # the model keeps its last good weights
                raise
            finally:
                self.keep_best()
            self.history.stopped_early = self.stop.asked
        return self.history

    def keep_best(self):
        if self.best:
            self.model.load_state_dict(self.best[1])
        elif self.average:
            self.model.load_state_dict(self.average.module.state_dict())
        self.model.eval()

    def begin(self):
        self.bf16 = self.settings.precision == "bf16"
        if self.settings.precision == "auto":
            self.bf16 = bf16_pays(self.device)
        self.total = self.settings.epochs * len(self.epoch_batches())

    def epoch_batches(self):
        """Return the current epoch's batches, the same whenever it is asked in that epoch."""
        if self.encode and self.encoded is None:
            with self.stop.protect(False):
                self.encoded = self.encode(self.epoch)
        pairs, s = self.encoded if self.encode else self.train_pairs, self.settings
        seed = s.seed * 1000 + self.epoch
        return token_batches(pairs, s.batch_tokens, PAD_MULTIPLE, seed)

    def run_epoch(self, bar):
        """Train on the rest of an epoch's batches and validate, unless somebody stops it."""
        start = time.perf_counter()
        self.model.train()
        for batch in self.epoch_batches()[self.batch :]:
            if self.stop.asked:
                break
            loss = self.train_step(batch)
            self.batch += 1
            self.history.losses.append(loss)
            if self.step % 10 == 1:
                bar.set_postfix(epoch=self.epoch + 1, loss=f"{loss:.3f}", refresh=False)
            bar.update()
        else:
            if self.validate():
                self.epoch, self.batch, self.encoded = self.epoch + 1, 0, None
        self.history.seconds += time.perf_counter() - start

    def train_step(self, batch):
        s = self.settings
        rate = learning_rate(self.step + 1, s, self.total)
        ids = pad_batch(batch, s.pad_id, PAD_MULTIPLE)
        src_ids, tgt_ids = (x.to(self.device) for x in ids)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
            loss, n_tokens = batch_loss(self.model, src_ids, tgt_ids, s.pad_id, s.label_smoothing)
            loss = loss / n_tokens
        value = take_step(loss, [self.optimizer], rate, self.step + 1, s.clip_norm)
        self.step += 1
        if self.average:
            self.average.update_parameters(self.model)
        return value

    def validate(self):
        """Score the weights and keep the best; returns False if a second press ended it."""
        with holding(self.model, self.average):
            try:
                with self.stop.protect(False):
                    loss, score = self.measure()
            except KeyboardInterrupt:
                self.stop.presses = 2
            if self.stop.presses > 1:
                return False
            if loss is not None:
                self.history.validation_losses.append(loss)
            self.history.scores.append(score)
            # Without scores, the newest weights win, and any number beats NaN.
            kept = self.best and self.best[0]
            if kept is None or math.isnan(kept) or score >= kept:
                self.best = score, copy_of(self.model)
        return True

    def measure(self):
        loss = score = None
        if self.validation_pairs:
            loss = evaluate(self.model, self.validation_pairs, pad_id=self.settings.pad_id)
            score = -loss
        if self.score:
            self.model.eval()
            score = float(self.score(self.model))
        return loss, score

    def save(self, checkpoint):
        if not checkpoint:
            return
        numbers = ("best", "step", "epoch", "batch", "total", "bf16")
        state = {name: getattr(self, name) for name in numbers} | {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "average": self.average.state_dict() if self.average else None,
            "epoch_pairs": self.encoded,
            "history": asdict(self.history),
            "random": random_states(self.device),
        }
        checkpoint.write(state)

    def load(self, state):
        self.optimizer.load_state_dict(state["optimizer"])
        self.model.load_state_dict(state["model"])
        if self.average:
            self.average.load_state_dict(state["average"])
        self.best = state["best"]
        self.step, self.epoch, self.batch = state["step"], state["epoch"], state["batch"]
        self.total, self.bf16, self.encoded = state["total"], state["bf16"], state["epoch_pairs"]
        self.history = History(**state["history"])
        set_random_states(state["random"], self.device)
