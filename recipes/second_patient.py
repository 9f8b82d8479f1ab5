"""The recipe of lesson 18's second student: how many pairs SmolLM needs to follow instructions.

``python -m recipes.second_patient`` needs the package that holds SmolLM's weights (lesson 19), and
about three minutes of one core. Numbers of pairs, such as ``0 96``, may follow.
"""

import argparse

import torch

from helpers.data.instructions import instructions
from helpers.pretrained.measured import store
from helpers.training import second_patient

KINDS = ("copy", "who")
N_ASKED = 24  # twelve of each kind


def followed(n_pairs, seed, n_asked=N_ASKED):
    """Train on so many pairs and return the share of unseen instructions that are followed."""
    torch.manual_seed(seed)
    patient, asked = second_patient.load(), instructions("unseen", n_asked, KINDS, seed=5)
    if n_pairs:
        taught = instructions("train", n_pairs, KINDS, seed=seed)
        second_patient.train(patient, taught, seed=seed)
    texts = second_patient.replies(patient, asked)
    right = [one.followed_by(text) for one, text in zip(asked, texts, strict=True)]
    return round(sum(right) / len(right), 4)


def main(argv: list[str] | None = None):
    """Train, measure, store."""
    parser = argparse.ArgumentParser(prog="python -m recipes.second_patient", description=__doc__)
    parser.add_argument("pairs", type=int, nargs="*", default=[0, 48, 96])
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    runs = []
    for n_pairs in args.pairs:
        seeds = args.seeds if n_pairs else args.seeds[:1]  # untrained, it's the same with each
        runs.append({"pairs": n_pairs, "followed": [followed(n_pairs, seed) for seed in seeds]})
        print(runs[-1], flush=True)
    store("second_patient", {"n": N_ASKED, "kinds": list(KINDS), "runs": runs})


if __name__ == "__main__":
    main()
