"""The recipe of lesson 18's second student: how many pairs SmolLM needs to follow instructions.

``python -m recipes.second_patient`` needs the package that holds SmolLM's weights (lesson 19), and
about three minutes of one core.
"""

import torch

from helpers.data.instructions import instructions
from helpers.pretrained.measured import store
from helpers.training import second_patient

KINDS = ("copy", "who")
N_ASKED = 24  # twelve of each kind
PAIRS, SEEDS = (0, 48, 96), (1, 2, 3)


def followed(n_pairs, seed):
    """Train on so many pairs and return the share of unseen instructions that are followed."""
    torch.manual_seed(seed)
    patient, asked = second_patient.load(), instructions("unseen", N_ASKED, KINDS, seed=5)
    if n_pairs:
        taught = instructions("train", n_pairs, KINDS, seed=seed)
        second_patient.train(patient, taught, seed=seed)
    texts = second_patient.replies(patient, asked)
    right = [one.followed_by(text) for one, text in zip(asked, texts, strict=True)]
    return round(sum(right) / len(right), 4)


def main():
    """Train, measure, store."""
    torch.set_num_threads(1)
    runs = []
    for n_pairs in PAIRS:
        seeds = SEEDS if n_pairs else SEEDS[:1]  # untrained, it's the same with each
        runs.append({"pairs": n_pairs, "followed": [followed(n_pairs, seed) for seed in seeds]})
        print(runs[-1], flush=True)
    store("second_patient", {"n": N_ASKED, "kinds": list(KINDS), "runs": runs})


if __name__ == "__main__":
    main()
