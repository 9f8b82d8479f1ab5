"""Training, once for every model of the course: settings, learning rate, loop."""

import contextlib
import math
import time
import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from tqdm.auto import tqdm

from helpers.atomic_writes import whole_file
from helpers.batches import pad_batch, token_batches
from helpers.fast import cross_entropy_sum
from helpers.interruption import StopBetweenSteps


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
    pad_multiple : int, default=4
        Lengths are padded to a multiple of this, so that few shapes occur.
    label_smoothing : float, default=0.0
        Share of each target spread over all classes.
    clip_norm : float, default=1.0
        Longest gradient; longer ones are shortened to it.
    weight_decay : float, default=0.0
        AdamW's.
    betas : pair of float, default=(0.9, 0.98)
        Adam's (Vaswani et al. 2017, section 5.3).
    average_decay : float, default=0.0
        0 keeps the weights as they are; 0.999 validates and returns an exponential moving average.
    precision : {"auto", "fp32", "bf16"}, default="fp32"
        "auto" measures whether bf16 products are faster on this device.
    seed : int, default=0
        Of the order of the batches.
    pad_id : int, default=0
    """

    epochs: int
    peak_rate: float = 1e-3
    warmup_steps: int = 100
    decay: str = "inverse_sqrt"
    batch_tokens: int = 2048
    pad_multiple: int = 4
    label_smoothing: float = 0.0
    clip_norm: float = 1.0
    weight_decay: float = 0.0
    betas: tuple = (0.9, 0.98)
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
    weights were chosen by. `seconds` counts earlier parts of a resumed run; `stopped_early` says
    that somebody stopped it.
    """

    losses: list = field(default_factory=list)
    validation_losses: list = field(default_factory=list)
    scores: list = field(default_factory=list)
    seconds: float = 0.0
    stopped_early: bool = False


def warmup_rate(step, d_model, warmup_steps):
    """Compute the learning rate of the paper: up in a straight line, then down as step^-0.5.

    Parameters
    ----------
    step : int
        Counted from 1.
    d_model : int
    warmup_steps : int

    Returns
    -------
    rate : float

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


@torch.no_grad()
def evaluate(model, pairs, batch_tokens=4096, pad_id=0):
    """Measure the mean loss in nats per target token, dropout off, no label smoothing.

    Parameters
    ----------
    model : nn.Module
        Called as ``model(src_ids, tgt_ids, keep)``.
    pairs : list of (list of int, list of int)
    batch_tokens : int, default=4096
    pad_id : int, default=0

    Returns
    -------
    loss : float

    Raises
    ------
    ValueError
        If there is no pair.
    """
    if not pairs:
        raise ValueError("got no pairs to measure the loss on.")
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    total = count = 0
    for batch in token_batches(pairs, batch_tokens):
        ids = [x.to(device) for x in pad_batch(batch, pad_id)]
        loss, n_tokens = batch_loss(model, *ids, pad_id)
        total, count = total + loss.item(), count + n_tokens
    model.train(was_training)
    return total / count


def bf16_pays(device):
    """Tell whether bf16 pays on `device`: a GPU that has it, a CPU 1.5 times as fast with it."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported()
    times = []
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.ones(512, 512, dtype=dtype)
        runs = []
        for _ in range(5):
            start = time.perf_counter()
            x @ x
            runs.append(time.perf_counter() - start)
        times.append(min(runs))
    return times[0] > 1.5 * times[1]


def train(
    model,
    train_pairs,
    validation_pairs,
    settings,
    score=None,
    checkpoint=None,
    encode=None,
    progress=True,
):
    """Train a model; keep its best weights; survive an interruption.

    Stop it with Ctrl-C or the notebook's stop button whenever you like: the model then holds the
    best weights so far. With a `checkpoint`, calling again goes on where it stopped.

    Parameters
    ----------
    model : nn.Module
        Called as ``model(src_ids, tgt_ids, keep)``; trained where its parameters are.
    train_pairs, validation_pairs : list of (list of int, list of int)
        Ids of source and target; the target with begin and end of sentence.
    settings : TrainingSettings
    score : function (model) -> float, default=None
        Run after every epoch; the weights with the highest score are kept. None: the validation
        loss, negated.
    checkpoint : path, default=None
        A file to go on from, if it is there, and to write after every epoch.
    encode : function (epoch) -> list of pairs, default=None
        Makes the epoch's training pairs anew, for instance with other subword cuts.
    progress : bool, default=True
        Whether to show a bar with the loss and the time left.

    Returns
    -------
    history : History

    Raises
    ------
    FloatingPointError
        If loss or gradient stops being a number. The model then holds its last good weights.
    ValueError
        If there are no training pairs, or the checkpoint is damaged or of another training.
    """
    if not train_pairs:
        raise ValueError("got no training pairs.")
    return _Run(model, train_pairs, validation_pairs, settings, score, checkpoint, encode).run(
        progress
    )


class _Run:
    """The state of one training run; everything in it that changes is in the checkpoint."""

    def __init__(self, model, train_pairs, validation_pairs, settings, score, checkpoint, encode):
        self.model, self.settings, self.score = model, settings, score
        self.train_pairs, self.validation_pairs = train_pairs, validation_pairs
        self.checkpoint = Path(checkpoint) if checkpoint else None
        if checkpoint:  # by what it is known again
            self.marks = {
                "settings": asdict(settings) | {"betas": list(settings.betas)},
                "pairs": zlib.crc32(repr(train_pairs).encode()),
            }
        self.encode = encode
        self.device = next(model.parameters()).device
        self.rank, self.world = 0, 1
        self.forward = model
        if dist.is_available() and dist.is_initialized():
            self.rank, self.world = dist.get_rank(), dist.get_world_size()
            self.forward = nn.parallel.DistributedDataParallel(model)
        self.optimizer = torch.optim.AdamW(
            model.parameters(),
            lr=0.0,
            betas=settings.betas,
            eps=1e-9,
            weight_decay=settings.weight_decay,
            fused=True,
        )
        self.step, self.epoch, self.batch, self.history = 0, 0, 0, History()
        self.average = _copy(model) if settings.average_decay else None
        self.best = None
        use_bf16 = settings.precision == "bf16" or (
            settings.precision == "auto" and bf16_pays(self.device)
        )
        self.autocast = torch.autocast(self.device.type, torch.bfloat16, enabled=use_bf16)
        self.steps_per_epoch = len(self.batches(0, self.epoch_pairs(0)))

    def epoch_pairs(self, epoch):
        if not self.encode:
            return self.train_pairs
        pairs = [self.encode(epoch) if self.rank == 0 else None]
        if self.world > 1:  # random subword cuts must be the same in every process
            dist.broadcast_object_list(pairs)
        return pairs[0]

    def batches(self, epoch, pairs):
        s = self.settings
        return token_batches(pairs, s.batch_tokens, s.pad_multiple, seed=s.seed * 1000 + epoch)

    def run(self, progress):
        self.load()
        total = self.settings.epochs * self.steps_per_epoch
        show = progress and self.rank == 0
        start = time.perf_counter() - self.history.seconds
        with tqdm(total=total, initial=self.step, disable=not show, unit="step") as bar:
            with StopBetweenSteps() as self.stop:
                while self.epoch < self.settings.epochs and not self.stop.asked:
                    self.train_epoch(bar, total)
                    self.history.seconds = time.perf_counter() - start
                    if self.batch == 0 or not self.best:
                        self.validate()
                    self.save()
            if self.stop.asked:
                self.history.stopped_early = True
                bar.set_postfix_str("stopped; the model keeps its best weights so far")
        if self.best:
            self.model.load_state_dict(self.best[1])
        self.model.eval()
        return self.history

    def train_epoch(self, bar, total):
        self.model.train()
        batches = self.batches(self.epoch, self.epoch_pairs(self.epoch))
        for batch in batches[self.batch :]:
            if self.stop.asked:
                return
            loss = self.train_step(batch, total)
            self.batch += 1
            self.history.losses.append(loss)
            if self.step % 10 == 1:
                bar.set_postfix(epoch=self.epoch + 1, loss=f"{loss:.3f}", refresh=False)
            bar.update()
        self.epoch, self.batch = self.epoch + 1, 0

    def train_step(self, batch, total):
        s = self.settings
        rate = learning_rate(self.step + 1, s, total)
        # Each process takes every world-th sentence and divides by all processes' tokens, so that
        # the averaged gradient is the one a single process would have found.
        n_tokens = sum(len(target) - 1 for _, target in batch)
        src_ids, tgt_ids = pad_batch(batch, s.pad_id, s.pad_multiple)
        if self.world > 1:
            share = torch.arange(len(batch)) % self.world == self.rank
            if not share.any():  # fewer sentences than processes: take one, count no token of it
                share[0], tgt_ids = True, tgt_ids.clone()
                tgt_ids[0, 1:] = s.pad_id
            src_ids, tgt_ids = src_ids[share], tgt_ids[share]
        src_ids, tgt_ids = src_ids.to(self.device), tgt_ids.to(self.device)
        with self.autocast:
            loss, _ = batch_loss(self.forward, src_ids, tgt_ids, s.pad_id, s.label_smoothing)
            loss = loss * (self.world / n_tokens)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), s.clip_norm)
        value = self.mean(loss.detach())
        if not math.isfinite(value) or not math.isfinite(norm.item()):
            self.optimizer.zero_grad()
            raise FloatingPointError(
                f"loss {value}, gradient norm {norm.item()} at step {self.step + 1} (learning rate "
                f"{rate:.2g}). Training stopped; the model holds the weights of step {self.step}. "
                f"Usual causes: too high a rate, no warm-up, a NaN in the data."
            )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        self.update_average()
        return value

    def mean(self, value):
        if self.world > 1:
            dist.all_reduce(value)
            value /= self.world
        return value.item()

    def update_average(self):
        if self.average is None:
            return
        # Early on the average would be mostly the random start; let it forget faster then.
        decay = min(self.settings.average_decay, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            state = self.model.state_dict()
            averages = [self.average[name] for name in state]
            torch._foreach_lerp_(averages, list(state.values()), 1 - decay)

    def validate(self):
        with self.averaged_weights():
            score = None
            if self.validation_pairs:
                loss = evaluate(self.model, self.validation_pairs, pad_id=self.settings.pad_id)
                self.history.validation_losses.append(loss)
                score = -loss
            if self.score:
                self.model.eval()
                score = self.score(self.model)
            self.history.scores.append(score)
            if score is None or self.best is None or score >= self.best[0]:
                self.best = score, _copy(self.model)

    @contextlib.contextmanager
    def averaged_weights(self):
        if self.average is None:
            yield
            return
        live = _copy(self.model)
        self.model.load_state_dict(self.average)
        try:
            yield
        finally:
            self.model.load_state_dict(live)

    def save(self):
        if not self.checkpoint or self.rank:
            return
        state = {
            **self.marks,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "average": self.average,
            "best": self.best,
            "step": self.step,
            "epoch": self.epoch,
            "batch": self.batch,
            "history": asdict(self.history),
            "random": torch.get_rng_state(),
        }
        self.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(self.checkpoint) as partial:
            torch.save(state, partial)

    def load(self):
        if not self.checkpoint or not self.checkpoint.exists():
            return
        try:
            state = torch.load(self.checkpoint, weights_only=True, map_location=self.device)
            marks = {name: state[name] for name in self.marks}
            self.model.load_state_dict(state["model"])
        except Exception as error:
            raise ValueError(
                f"{self.checkpoint} is no checkpoint of this model ({error}). Move it away to "
                f"start afresh, or build the model it belongs to."
            ) from error
        if marks != self.marks:
            old, new = marks["settings"], self.marks["settings"]
            changed = [f"{k} was {old.get(k)}, is {v}" for k, v in new.items() if old.get(k) != v]
            raise ValueError(
                f"{self.checkpoint} comes from another training: "
                f"{', '.join(changed) or 'on other pairs'}. Move it away to start afresh, or train "
                f"as it was begun."
            )
        self.optimizer.load_state_dict(state["optimizer"])
        self.average, self.best = state["average"], state["best"]
        self.step, self.epoch, self.batch = state["step"], state["epoch"], state["batch"]
        self.history = History(**state["history"])
        torch.set_rng_state(state["random"].cpu())


def _copy(model):
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
