"""The recipe that measures what changed since 2017: the block of then, each change alone, all.

``python -m recipes.what_changed`` trains small models on the fairy tales for
about ten minutes on one core, and stores what the page on these changes shows. All models have
equally many parameters, because the feed-forward width takes up the difference.
"""

import itertools
import math
import statistics
import time
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F

from helpers.data.stories import stories
from helpers.models.gpt import GPT, GPTConfig
from helpers.pretrained.measured import store
from helpers.training import language_modelling
from helpers.training.letter_models import story_letters
from helpers.training.optimizers import take_step
from recipes.storyteller import train_tokenizer

THEN = {"norm_first": False, "norm": "layer", "positions": "learned"}
THEN |= {"activation": "relu", "tie_embeddings": True}
CHANGES = {
    "pre-norm": {"norm_first": True},
    "RMSNorm": {"norm": "rms"},
    "rotary positions": {"positions": "rotary"},
    "GELU": {"activation": "gelu"},
    "SwiGLU": {"activation": "swiglu"},
    "grouped heads": {"n_kv_heads": 2},
    "untied output": {"tie_embeddings": False},
}
TOGETHER = {key: value for change in CHANGES.values() for key, value in change.items()}
BLOCKS = {"2017": {}, **CHANGES, "all together": TOGETHER}
LONGER, LONGER_RUNS = 6, ("2017", "rotary positions")  # times the steps, with one seed
TIMED_ROUNDS = 9
UNSEEN = 40_000  # letters of the validation text
AS_GOOD_AS_EQUAL = 0.015  # a share of the steps; seeds differ by more than so few steps bring


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The sizes that all runs share; the defaults made the stored results.

    So many `steps` are 2017's block's; the others get as many, and then as many as take equally
    long. `length` is in tokens per window, `batch_size` in windows per step. All blocks are trained
    with the one of `peak_rates` that is best for 2017's, so that no change wins by it. The training
    reads that many `letters` of the text; None is all of it.
    """

    d_model: int = 64
    n_heads: int = 4
    n_layers: int = 2
    vocab_size: int = 512
    steps: int = 250
    length: int = 128
    batch_size: int = 8
    peak_rates: tuple = (3e-3, 6e-3, 1.2e-2, 2.4e-2, 4.8e-2)
    seeds: tuple = (1, 2, 3)
    letters: int | None = 3_000_000

    def config(self, changes):
        """Make a block's configuration, with as many parameters as 2017's."""
        sizes = {"d_model": self.d_model, "n_heads": self.n_heads, "n_layers": self.n_layers}
        sizes |= {"vocab_size": self.vocab_size, "max_len": self.length, "dropout": 0.0}
        target = count(GPTConfig(**sizes, **THEN, d_ff=4 * self.d_model))
        config = GPTConfig(**(sizes | THEN | changes), d_ff=1)
        one, two = count(config), count(replace(config, d_ff=2))
        return replace(config, d_ff=1 + round((target - one) / (two - one)))


def count(config):
    """Count the parameters of the model of a `config` without making them."""
    with torch.device("meta"):
        return sum(p.numel() for p in GPT(config).parameters())


def train_block(
    experiment: Experiment, changes: dict, ids, steps: int, peak_rate: float, seed: int
):
    """Train one block on a text's ids (N,): the model, and its processor time per step in seconds.

    `changes` are what differs from 2017's block; the `seed` is that of the weights and of the
    choice of windows.
    """
    torch.manual_seed(seed)
    model = GPT(experiment.config(changes))
    settings = language_modelling.TextTraining(
        steps=steps, batch_size=experiment.batch_size, length=experiment.length,
        peak_rate=peak_rate, warmup_steps=steps // 8, optimizer="muon", seed=seed,
    )  # fmt: skip
    started = time.process_time()
    language_modelling.train_on_text(model, ids, settings, progress=False)
    return model, (time.process_time() - started) / steps


def seconds_per_step(experiment: Experiment, ids) -> dict[str, float]:
    """Measure each block's processor time per training step, all blocks in turns.

    Other work on the machine slows the blocks of a round alike, so each is compared with 2017's
    block of the same round, and the median of these ratios counts.
    """
    taken = {name: [] for name in BLOCKS}
    for _ in range(TIMED_ROUNDS):
        for name, changes in BLOCKS.items():
            taken[name].append(train_block(experiment, changes, ids[:20_000], 5, 1e-3, 0)[1])
    base = statistics.median(taken["2017"])
    return {
        name: base * statistics.median(a / b for a, b in zip(times, taken["2017"], strict=True))
        for name, times in taken.items()
    }


class Scores:
    """Trains blocks and scores them on unseen text, in bits per byte."""

    def __init__(self, experiment: Experiment):
        text, self.unseen = stories("train")[: experiment.letters], stories("validation")[:UNSEEN]
        tokenizer = train_tokenizer(text, experiment.vocab_size)
        self.experiment = experiment
        self.ids, self.unseen_ids = (
            torch.tensor(tokenizer.encode(part).ids) for part in (text, self.unseen)
        )

    def score(self, name, steps, peak_rate, seed):
        """Train the block of that name, and return its bits per byte."""
        model, _ = train_block(self.experiment, BLOCKS[name], self.ids, steps, peak_rate, seed)
        nats = language_modelling.nats_of_text(model, self.unseen_ids, self.experiment.length)
        bits = round(language_modelling.bits_per_byte(nats, self.unseen), 4)
        print(f"{name}, seed {seed}, {steps} steps, rate {peak_rate}: {bits}", flush=True)
        return bits


def measure(experiment: Experiment) -> dict:
    """Train every block at equal steps and at equal seconds; what the page shows."""
    e, scores = experiment, Scores(experiment)
    rates = {rate: scores.score("2017", e.steps // 2, rate, 0) for rate in e.peak_rates}
    rate = min(rates, key=rates.get)
    seconds = seconds_per_step(e, scores.ids)
    results = {}
    for name, changes in BLOCKS.items():
        fitting = round(e.steps * seconds["2017"] / seconds[name])
        results[name] = {
            "parameters": count(e.config(changes)),
            "d_ff": e.config(changes).d_ff,
            "milliseconds_per_step": round(1000 * seconds[name], 2),
            "steps_in_equal_seconds": fitting,
            "equal_steps": [scores.score(name, e.steps, rate, seed) for seed in e.seeds],
        }
    for name, row in results.items():
        steps = row["steps_in_equal_seconds"]
        row["equal_seconds"] = row["equal_steps"]
        if abs(steps / e.steps - 1) > AS_GOOD_AS_EQUAL:
            row["equal_seconds"] = [scores.score(name, steps, rate, seed) for seed in e.seeds]
    longer = [scores.score(name, LONGER * e.steps, rate, e.seeds[0]) for name in LONGER_RUNS]
    return {
        "seeds": list(e.seeds),
        "steps": e.steps,
        "tokens": e.steps * e.batch_size * e.length,
        "rates_of_2017": {str(rate): bits for rate, bits in rates.items()},
        "rate": rate,
        "blocks": results,
        "longer": dict(zip(LONGER_RUNS, longer, strict=True)),
    }


def norms_and_depth(depths=(2, 24), seeds=(1, 2, 3), steps=300, width=32, length=32, size=8):
    """Train post-norm and pre-norm at several depths on letters, without warm-up.

    `width` is the model's, `length` a window's in letters, and `size` a step's in windows. Found
    is, per depth and kind of norm, the mean loss of the last 15 steps, in nats per letter, by seed.
    """
    letters, text, _ = story_letters()
    losses = {str(depth): {"post-norm": [], "pre-norm": []} for depth in depths}
    for depth, first, seed in itertools.product(depths, (False, True), seeds):
        torch.manual_seed(seed)
        sizes = {"d_model": width, "n_heads": 2, "n_layers": depth, "max_len": length}
        model = GPT(GPTConfig(vocab_size=len(letters), **sizes, norm_first=first, dropout=0.0))
        optimiser, last = torch.optim.Adam(model.parameters(), 3e-3), []
        for step in range(1, steps + 1):
            starts = torch.randint(len(text) - length - 1, (size, 1))
            windows = text[starts + torch.arange(length + 1)]
            logits = model(windows[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
            last.append(take_step(loss, [optimiser], 3e-3, step, clip_norm=math.inf))
        name = "pre-norm" if first else "post-norm"
        losses[str(depth)][name].append(round(statistics.mean(last[-15:]), 3))
        print(depth, name, seed, losses[str(depth)][name][-1], flush=True)
    return {"steps": steps, "seeds": list(seeds), "losses": losses}


def main():
    """Measure, store."""
    torch.set_num_threads(1)  # so that processor time is the time that passes
    store("what_changed", {**measure(Experiment()), "depth": norms_and_depth()})


if __name__ == "__main__":
    main()
