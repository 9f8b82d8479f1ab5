"""The recipe of the bundled Vision Transformer and of its comparison with a CNN.

``python -m recipes.wardrobe`` trains it on 18,000 of the first 20,000 pictures
of Fashion-MNIST, beside a CNN of equal size, and writes its weights over the bundled ones.
``… comparison`` trains both on 300, 3,000 and 20,000
pictures for equal times and writes what came of it.
"""

import argparse
import json
import time

import torch

from helpers.data.clothes import Pictures, clothes
from helpers.machine.atomic_writes import atomic_write
from helpers.models.vit import SmallCNN, VisionTransformer
from helpers.pretrained.wardrobe import (
    CNN_WIDTHS,
    COMPARISON,
    PATH,
    Wardrobe,
    untrained_pair,
    wardrobe_config,
)
from helpers.training.picture_training import accuracy, train_pictures

N_VALIDATION = 2_000  # the last ones of the 20,000
N_PICTURES = 300, 3_000, 20_000
SEEDS = 0, 1, 2
# How the CNN is trained, and both models in the comparison.
PLAIN = {"optimizer": "adamw", "peak_rate": 1.5e-3, "batch_size": 50}
SIZES = "d_model", "n_heads", "n_layers", "d_ff", "patch_size"


def arguments(argv=None):
    """Read the command line `argv`; the defaults are the bundled model's."""
    parser = argparse.ArgumentParser(prog="python -m recipes.wardrobe", description=__doc__)
    option, bundled = parser.add_argument, wardrobe_config()
    parser.add_argument("what", nargs="?", choices=["model", "comparison"], default="model")
    for name in SIZES:
        option(f"--{name.replace('_', '-')}", type=int, default=getattr(bundled, name))
    option("--dropout", type=float, default=bundled.dropout)
    option("--epochs", type=int, default=45)
    option("--optimizer", choices=["adamw", "muon"], default="muon", help="of the ViT")
    option("--cnn-epochs", type=int, default=6, help="of the CNN beside it; 0: none")
    option("--peak-rate", type=float, default=3e-3, help="of the ViT")
    option("--batch-size", type=int, default=64)
    option("--weight-decay", type=float, default=0.05)
    option("--label-smoothing", type=float, default=0.1)
    option("--average-decay", type=float, default=0.998, help="of the moving average of weights")
    option("--precision", choices=["fp32", "bf16"], default="bf16")
    option("--seconds", type=float, default=12, help="of processor time, per run of `comparison`")
    option("--seed", type=int, default=1)
    option("--limit", type=int, help="use only the first pictures, to try things out")
    option("--dry", action="store_true", help="neither score on the test set nor write")
    option("--quiet", action="store_true", help="no progress bar")
    return parser.parse_args(argv)


def main(argv=None):
    """Train as `argv` says, and write the weights and their card, or the comparison."""
    args = arguments(argv)
    if args.what == "comparison":
        compare(args)
        return
    train, validation = split_pictures(args.limit)
    torch.manual_seed(args.seed)
    sizes = {name: getattr(args, name) for name in SIZES}
    model = VisionTransformer(wardrobe_config(**sizes, dropout=args.dropout))
    card = {"sizes": sizes}
    own = {name: getattr(args, name) for name in PLAIN}
    card |= fit(model, train, validation, args, args.epochs, own)
    if args.cnn_epochs:
        torch.manual_seed(args.seed)
        cnn = SmallCNN(CNN_WIDTHS)
        card["cnn"] = fit(cnn, train, validation, args, args.cnn_epochs, PLAIN)
    if not args.dry:
        test = clothes("test", 5_000)
        card["test_accuracy"] = round(accuracy(model, *test), 4)
        if args.cnn_epochs:
            card["cnn"]["test_accuracy"] = round(accuracy(cnn, *test), 4)
        names = (
            "dropout",
            "optimizer",
            "batch_size",
            "weight_decay",
            "label_smoothing",
            "average_decay",
            "precision",
        )
        card["settings"] = {name: getattr(args, name) for name in (*names, "peak_rate", "seed")}
        Wardrobe(model, card).save(PATH)
    print(json.dumps(card, indent=1))


def split_pictures(limit=None):
    """Read 18,000 pictures to train on and 2,000 to choose by; `limit` takes fewer to train on."""
    images, labels = clothes("train", 20_000)
    last = len(images) - N_VALIDATION
    train = Pictures(images[:last][:limit], labels[:last][:limit])
    return train, Pictures(images[last:], labels[last:])


def fit(model, train, validation, args, epochs, how) -> dict:
    """Train a model, say after every epoch how it does, and return what belongs on its card.

    Parameters
    ----------
    model : nn.Module
    train, validation : Pictures
    args : argparse.Namespace
        As `arguments` returns it.
    epochs : int
    how : dict
        "optimizer", "peak_rate" and "batch_size".
    """
    start, scores = time.perf_counter(), []

    def score(epoch, loss):
        scores.append(round(accuracy(model, *validation), 4))
        minutes = (time.perf_counter() - start) / 60
        told = f"epoch {epoch}: {loss:.3f}, validation {scores[-1]:.4f}, {minutes:.1f} min"
        print(told, flush=True)

    losses = train_pictures(
        model,
        train,
        epochs=epochs,
        **how,
        weight_decay=args.weight_decay,
        label_smoothing=args.label_smoothing,
        average_decay=args.average_decay,
        bf16=args.precision == "bf16",
        seed=args.seed,
        after_epoch=score,
        progress=not args.quiet,
    )
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "epochs": len(losses),
        "seconds": round(time.perf_counter() - start),
        "losses": [round(loss, 4) for loss in losses],
        "validation_accuracies": scores,
    }


def compare(args):
    """Train both models on all sizes and seeds for equal times and write the runs.

    Parameters
    ----------
    args : argparse.Namespace
        As `arguments` returns it.
    """
    torch.set_num_threads(1)
    images, labels = clothes("train", 20_000)
    test, runs = clothes("test", 5_000), []
    for seed in SEEDS:
        for n in N_PICTURES[: 1 if args.limit else None]:
            torch.manual_seed(seed)
            chosen = torch.randperm(len(images))[:n]
            pictures = Pictures(images[chosen], labels[chosen])
            for name, model in zip(("vit", "cnn"), untrained_pair(), strict=True):
                losses = train_pictures(
                    model, pictures, seconds=args.seconds, **PLAIN, seed=seed,
                    bf16=args.precision == "bf16", progress=False,
                )  # fmt: skip
                parameters = sum(p.numel() for p in model.parameters())
                runs.append({
                    "model": name, "pictures": n, "seed": seed,
                    "accuracy": round(accuracy(model, *test), 4), "epochs": len(losses),
                    "parameters": parameters, "seconds": args.seconds,
                })  # fmt: skip
                print(runs[-1], flush=True)
    if not args.dry:
        with atomic_write(COMPARISON) as partial:
            partial.write_text(json.dumps({"runs": runs}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
