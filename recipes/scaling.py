"""The recipe of lesson 14's scaling law: GPTs of six widths, each at a learning rate of its own.

``python -m recipes.scaling`` took half an hour on one core of a busy machine. Per width, one seed
tries rates an octave apart until the best isn't at an end, judged on one part of the unseen text.
The lowest point of a parabola through the best and its neighbours is the rate for three seeds,
whose losses are measured on another part.
"""

import torch

from helpers.data.stories import stories
from helpers.models.gpt import GPT, GPTConfig
from helpers.pretrained.measured import store
from helpers.training.letter_models import WINDOW, Letters, nats_per_letter, train_letters

WIDTHS = (16, 24, 32, 48, 64, 96)
SEEDS = (1, 2, 3)
STEPS, LAYERS = 500, 2
N_TRAIN, N_UNSEEN = 2_400_000, 40_000  # letters


def loss_of(width: int, rate: float, seed: int, train, unseen, n_letters: int) -> float:
    """Train one model and return its loss in nats per letter.

    The `width` is a multiple of 8, because every head is 8 wide; the `seed` is that of the first
    weights and of the windows; `train` and `unseen` are ids (N,) of letters.
    """
    torch.manual_seed(seed)
    sizes = {"d_model": width, "n_heads": width // 8, "n_layers": LAYERS, "max_len": WINDOW}
    model = GPT(GPTConfig(vocab_size=n_letters, positions="rotary", dropout=0.0, **sizes))
    train_letters(model, train, seed, progress=False, steps=STEPS, rate=rate)
    loss = round(nats_per_letter(model, unseen), 4)
    print(f"width {width:>3}, rate {rate:.4f}, seed {seed}: {loss:.4f}", flush=True)
    return loss


def tuned(loss_at, rate: float) -> tuple[float, dict[float, float]]:
    """Find the best learning rate of a function `loss_at`, beginning at `rate`.

    The lowest point of a parabola through the best rate tried and its neighbours; and the loss per
    rate that was tried, highest rate first.
    """
    tried = {}
    while not tried or rate != min(tried, key=tried.get):
        rate = min(tried, key=tried.get, default=rate)
        for near in {2 * rate, rate, rate / 2} - set(tried):
            tried[near] = loss_at(near)
    above, lowest, below = (tried[near] for near in (2 * rate, rate, rate / 2))
    octaves = (below - above) / (2 * (above - 2 * lowest + below))
    return rate * 2**octaves, dict(sorted(tried.items(), reverse=True))


def main():
    """Train, measure, store."""
    train, unseen = stories("train", N_TRAIN), stories("validation", 2 * N_UNSEEN)
    letters = Letters(train + unseen)
    train, n_letters = letters.encode(train), len(letters)
    to_choose, to_measure = letters.encode(unseen).split(N_UNSEEN)
    sizes, start = [], 0.04
    for width in WIDTHS:

        def tried(rate, width=width):
            return loss_of(width, rate, SEEDS[0], train, to_choose, n_letters)

        rate, rates = tuned(tried, start)
        start = min(rates, key=rates.get)
        losses = [loss_of(width, rate, seed, train, to_measure, n_letters) for seed in SEEDS]
        parameters = 12 * LAYERS * width**2  # those of the layers' matrices, as in Kaplan et al.
        row = {"width": width, "parameters": parameters, "rates": rates, "rate": round(rate, 5)}
        sizes.append(row | {"losses": losses})
    store("scaling", {"steps": STEPS, "seeds": list(SEEDS), "sizes": sizes})


if __name__ == "__main__":
    main()
