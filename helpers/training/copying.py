"""A model with nothing to learn but copying: random passages that come again."""

import math

import torch
import torch.nn.functional as F
from tqdm.auto import tqdm

from helpers.models.gpt import GPT, GPTConfig
from helpers.training.interruption import StopBetweenSteps
from helpers.training.optimizers import AdamW, Muon, take_step

VOCABULARY, LENGTH = 40, 40
SHORTEST, LONGEST = 8, 18  # tokens of a passage; it differs, or positions would be enough to copy
STEPS, RATE, WARMUP = 300, 1e-2, 20


def repeated(n, period, generator, length=LENGTH):
    """Draw random passages and repeat each of them until the sequence is full.

    Parameters
    ----------
    n : int
        Sequences.
    period : int or integer Tensor of shape (n, 1)
        Tokens per passage.
    generator : torch.Generator
    length : int, default=40

    Returns
    -------
    ids : integer Tensor of shape (n, length)
    """
    once = torch.randint(VOCABULARY, (n, length), generator=generator)
    return once.gather(1, (torch.arange(length) % period).expand(n, -1))


def train_copier(seed: int = 0, steps: int = STEPS):
    """Train a GPT of two layers on repeated passages; some ten seconds.

    Returns
    -------
    model : GPT
        Interrupted, it can be used as it is.
    """
    torch.manual_seed(seed)
    # Copying takes attention alone. With a narrow feed-forward network it's learned in fewer steps.
    sizes = {"d_model": 64, "n_heads": 4, "n_layers": 2, "d_ff": 16}
    vocabulary = {"vocab_size": VOCABULARY, "max_len": 64, "tie_embeddings": False}
    model = GPT(GPTConfig(**vocabulary, **sizes, positions="rotary", dropout=0.0))
    named = dict(model.named_parameters())
    inner = sorted(name for name, p in named.items() if p.dim() == 2 and "layers" in name)
    muon = [named.pop(name) for name in inner]
    optimizers = [
        Muon(muon, RATE, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
        AdamW(named.values(), RATE, betas=(0.9, 0.98), weight_decay=0.0),
    ]
    generator = torch.Generator().manual_seed(seed)
    with StopBetweenSteps() as stop:
        for step in tqdm(range(1, steps + 1), desc="training", unit="step"):
            periods = torch.randint(SHORTEST, LONGEST + 1, (32, 1), generator=generator)
            ids = repeated(32, periods, generator)
            loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
            take_step(loss, optimizers, RATE * min(1.0, step / WARMUP), step, clip_norm=math.inf)
            if stop.asked:
                break
    return model.eval()
