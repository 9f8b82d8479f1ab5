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
from helpers.models.vit import SmallCNN, VisionTransformer
from helpers.pretrained.measured import store
from helpers.pretrained.wardrobe import CNN_WIDTHS, PATH, Wardrobe, untrained_pair, wardrobe_config
from helpers.training.picture_training import accuracy, train_pictures

N_VALIDATION = 2_000  # the last ones of the 20,000
N_PICTURES = 300, 3_000, 20_000
SEEDS = 0, 1, 2  # of the comparison
SIZES = "d_model", "n_heads", "n_layers", "d_ff", "patch_size"
SEED, EPOCHS, CNN_EPOCHS = 1, 45, 6
SECONDS = 12  # of processor time, per run of the comparison
# How the ViT is trained; how the CNN is, and both models in the comparison; what is the same.
VIT = {"optimizer": "muon", "peak_rate": 3e-3, "batch_size": 64}
PLAIN = {"optimizer": "adamw", "peak_rate": 1.5e-3, "batch_size": 50}
SAME = {"weight_decay": 0.05, "label_smoothing": 0.1, "average_decay": 0.998, "bf16": True}


def main(argv=None):
    """Train as `argv` says, and write the weights and their card, or the comparison."""
    parser = argparse.ArgumentParser(prog="python -m recipes.wardrobe", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["model", "comparison"], default="model")
    if parser.parse_args(argv).what == "comparison":
        compare()
        return
    images, labels = clothes("train", 20_000)
    last = len(images) - N_VALIDATION
    train = Pictures(images[:last], labels[:last])
    validation = Pictures(images[last:], labels[last:])
    torch.manual_seed(SEED)
    config = wardrobe_config()
    model = VisionTransformer(config)
    sizes = {name: getattr(config, name) for name in SIZES}
    card = {"sizes": sizes, **fit(model, train, validation, EPOCHS, VIT)}
    torch.manual_seed(SEED)
    cnn = SmallCNN(CNN_WIDTHS)
    card["cnn"] = fit(cnn, train, validation, CNN_EPOCHS, PLAIN)
    test = clothes("test", 5_000)
    card["test_accuracy"] = round(accuracy(model, *test), 4)
    card["cnn"]["test_accuracy"] = round(accuracy(cnn, *test), 4)
    card["settings"] = {"dropout": config.dropout, "seed": SEED, **VIT, **SAME}
    Wardrobe(model, card).save(PATH)
    print(json.dumps(card, indent=1))


def fit(model, train: Pictures, validation: Pictures, epochs: int, how: dict) -> dict:
    """Train a model, say after every epoch how it does, and return what belongs on its card.

    `how` has "optimizer", "peak_rate" and "batch_size".
    """
    start, scores = time.perf_counter(), []

    def score(epoch, loss):
        scores.append(round(accuracy(model, *validation), 4))
        minutes = (time.perf_counter() - start) / 60
        told = f"epoch {epoch}: {loss:.3f}, validation {scores[-1]:.4f}, {minutes:.1f} min"
        print(told, flush=True)

    losses = train_pictures(
        model, train, epochs=epochs, **how, **SAME, seed=SEED, after_epoch=score
    )
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "epochs": len(losses),
        "seconds": round(time.perf_counter() - start),
        "losses": [round(loss, 4) for loss in losses],
        "validation_accuracies": scores,
    }


def compare():
    """Train both models on all sizes and seeds for equal times and write the runs."""
    torch.set_num_threads(1)
    images, labels = clothes("train", 20_000)
    test, runs = clothes("test", 5_000), []
    for seed in SEEDS:
        for n in N_PICTURES:
            torch.manual_seed(seed)
            chosen = torch.randperm(len(images))[:n]
            pictures = Pictures(images[chosen], labels[chosen])
            for name, model in zip(("vit", "cnn"), untrained_pair(), strict=True):
                losses = train_pictures(
                    model, pictures, seconds=SECONDS, **PLAIN, seed=seed, bf16=True, progress=False,
                )  # fmt: skip
                parameters = sum(p.numel() for p in model.parameters())
                runs.append({
                    "model": name, "pictures": n, "seed": seed,
                    "accuracy": round(accuracy(model, *test), 4), "epochs": len(losses),
                    "parameters": parameters, "seconds": SECONDS,
                })  # fmt: skip
                print(runs[-1], flush=True)
    store("wardrobe", {"runs": runs})


if __name__ == "__main__":
    main()
