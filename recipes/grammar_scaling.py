"""The recipe of the scaling law: ten GPTs of growing width on the text of the toy grammar.

``python -m recipes.grammar_scaling`` trains nine models and fits a power law to
their losses. It then writes down which loss the law predicts for a larger model, and only after
that trains the larger model. Under ``torchrun`` each process trains some of the nine.
"""

import argparse
import math
import os
import time

import torch
import torch.distributed as dist

from helpers.data.toy_probability import toy_text
from helpers.machine.processes import Processes
from helpers.models.gpt import GPT, GPTConfig
from helpers.pretrained.measured import measured, store
from helpers.training.language_modelling import TextTraining, nats_of_text, train_on_text

NAME = "grammar_scaling"
WIDTHS = (8, 12, 16, 20, 24, 28, 32, 36, 40)
TENTH = 64
CONTEXT = 64
N_HEADS = 4


def arguments(argv=None):
    """Read the command line `argv`; the defaults are what the lesson shows."""
    parser = argparse.ArgumentParser(prog="python -m recipes.grammar_scaling", description=__doc__)
    add = parser.add_argument
    add("--steps", type=int, default=1200)
    add("--tokens", type=int, default=2_000_000, help="of the text to train on")
    add("--test-tokens", type=int, default=40_000)
    add("--peak-rate", type=float, default=1e-2)
    add("--seed", type=int, default=1)
    add("--widths", type=int, nargs="+", default=WIDTHS)
    add("--tenth", type=int, default=TENTH, help="the width of the model that is predicted")
    add("--dry", action="store_true", help="store nothing")
    return parser.parse_args(argv)


def numbered(tokens, words):
    """Turn tokens into ids: their places in the list `words`."""
    place = {word: i for i, word in enumerate(words)}
    return torch.tensor([place[token] for token in tokens])


def train_one(width, texts, n_words, args):
    """Train a model of two layers and measure it.

    Parameters
    ----------
    width : int
    texts : (integer Tensor, integer Tensor)
        To train on and to measure on.
    n_words : int
    args : argparse.Namespace

    Returns
    -------
    run : dict
        Width, parameters, loss in nats per token, seconds of processor time.
    """
    torch.manual_seed(args.seed)
    model = GPT(
        GPTConfig(
            vocab_size=n_words, d_model=width, n_heads=N_HEADS, n_layers=2,
            max_len=CONTEXT, dropout=0.0,
        )
    )  # fmt: skip
    settings = TextTraining(
        steps=args.steps, batch_size=32, length=CONTEXT, peak_rate=args.peak_rate, warmup_steps=20,
        weight_decay=0.0, optimizer="muon", seed=args.seed,
    )  # fmt: skip
    start = time.process_time()
    train_on_text(model, texts[0], settings, progress=False)
    seconds = time.process_time() - start
    loss = nats_of_text(model, texts[1], CONTEXT) / (len(texts[1]) - 1)
    run = {"width": width, "parameters": sum(p.numel() for p in model.parameters())}
    run |= {"loss": round(loss, 5), "seconds": round(seconds, 1)}
    print(run, flush=True)
    return run


def fit_power_law(runs, entropy) -> float:
    """Fit a straight line to the logarithms: loss = entropy + scale · parameters^-exponent.

    Parameters
    ----------
    runs : list of dict
        As `train_one` returns them.
    entropy : float
        The loss of a perfect model.
    """
    x = torch.tensor([[1.0, math.log(run["parameters"])] for run in runs], dtype=torch.float64)
    y = torch.tensor([math.log(run["loss"] - entropy) for run in runs], dtype=torch.float64)
    intercept, slope = torch.linalg.lstsq(x, y[:, None]).solution.flatten().tolist()
    return math.exp(intercept), -slope


def n_parameters(width, n_words):
    """Count the parameters of a model of this `width` for `n_words` words, without training it."""
    with torch.device("meta"):
        config = GPTConfig(
            vocab_size=n_words, d_model=width, n_heads=N_HEADS, n_layers=2, max_len=CONTEXT
        )
        return sum(p.numel() for p in GPT(config).parameters())


def main(argv: list[str] | None = None):
    """Train nine, fit, predict, store; then train the tenth and store it beside its prediction."""
    args = arguments(argv)
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("gloo")
    processes = Processes(torch.device("cpu"))
    (train, _), (test, nats) = toy_text(args.tokens, 1), toy_text(args.test_tokens, 2)
    words = sorted({*train, *test})
    entropy = nats / (len(test) - 1)
    texts = numbered(train, words), numbered(test, words)
    print(f"{len(words)} words, {len(train):,} tokens, entropy {entropy:.4f} nats a token")
    own = args.widths[processes.rank :: processes.world]
    found = [train_one(width, texts, len(words), args) for width in own]
    if processes.world > 1:
        everyone = [None] * processes.world
        dist.all_gather_object(everyone, found)
        found = [run for runs in everyone for run in runs]
        dist.destroy_process_group()
    if processes.rank > 0:
        return
    runs = sorted(found, key=lambda run: run["width"])
    scale, exponent = fit_power_law(runs, entropy)
    n = n_parameters(args.tenth, len(words))
    predicted = round(entropy + scale * n**-exponent, 5)
    print(f"gap = {scale:.3g} · parameters^-{exponent:.3f}; for {n:,} it predicts {predicted:.4f}")
    results = {
        "entropy": round(entropy, 5), "words": len(words), "tokens": len(train), "seed": args.seed,
        "steps": args.steps, "runs": runs, "scale": scale, "exponent": exponent,
        "predicted": {"width": args.tenth, "parameters": n, "loss": predicted},
    }  # fmt: skip
    if not args.dry:
        store(NAME, results)  # before the tenth is trained
    tenth = train_one(args.tenth, texts, len(words), args)
    if not args.dry:
        store(NAME, measured(NAME) | {"tenth": tenth})


if __name__ == "__main__":
    main()
