"""The recipe of the toy translators.

``python -m recipes.toy_models gru additive`` trains two of them anew, one after
the other, and writes their weights over the bundled ones.
"""

import argparse

from helpers.pretrained.toy_models import EPOCHS, NAMES, toy_data, toy_path, train_toy
from helpers.pretrained.weight_files import save_weights
from helpers.training.interruption import StopBetweenSteps


def save_toy(toy, path):
    """Write weights (16-bit), vocabularies and card into one file, and its checksum beside it."""
    card = {k: _rounded(v) for k, v in toy.card.items()}
    about = {"card": card, "source": toy.source.words[4:], "target": toy.target.words[4:]}
    save_weights(path, toy.model.state_dict(), toy=about)


def _rounded(value):
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    return round(value, 4) if isinstance(value, float) else value


def main(arguments: list[str] | None = None):
    """Train toy translators and write their files."""
    parser = argparse.ArgumentParser(prog="python -m recipes.toy_models", description=__doc__)
    parser.add_argument("names", nargs="+", choices=NAMES)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    chosen = parser.parse_args(arguments)
    splits = toy_data()
    with StopBetweenSteps() as stop:
        for name in chosen.names:
            toy = train_toy(name, splits, chosen.epochs)
            if stop.asked:
                print(f"{name}: stopped, and its file is as it was")
                break
            save_toy(toy, toy_path(name))
            minutes = toy.card["seconds"] / 60
            print(f"{name}: {toy.n_parameters:,} parameters, {minutes:.1f} minutes")


if __name__ == "__main__":
    main()
