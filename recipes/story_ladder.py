"""The recipe of the ladder from an average to a GPT: every rung, three seeds.

``python -m recipes.story_ladder`` takes a few minutes and stores what the lesson on GPT shows
beside the one seed that it trains, and what heads alone reach with more steps or a residual path.
"""

import torch

from helpers.pretrained.measured import store
from helpers.training import letter_models as ladder
from helpers.training.letter_models import RUNGS, STEPS, nats_per_letter, story_letters

SEEDS = (1, 2, 3)
LONG = 2000  # steps


def added(n_heads):
    """Heads with a residual path around them, and nothing else."""
    heads = ladder.CausalHeads(n_heads)
    heads.register_forward_hook(lambda _, args, mixed: args[0] + mixed)
    return heads


ADDED = {"one head": lambda: added(1), "four heads": lambda: added(4)}


def measure(rungs, steps, text):
    """Train every rung with every seed; a dict of rung to losses, in nats per letter.

    `rungs` are like `RUNGS`, and `text` is what `story_letters` returns.
    """
    letters, train, validation = text
    losses = {rung: [] for rung in rungs}
    for rung in losses:
        for seed in SEEDS:
            torch.manual_seed(seed)
            model = ladder.LetterModel(len(letters), rungs[rung]())
            ladder.train_letters(model, train, seed, progress=False, steps=steps)
            losses[rung].append(round(nats_per_letter(model, validation), 4))
            print(f"seed {seed}, {rung}: {losses[rung][-1]:.3f} nats a letter", flush=True)
    return losses


def main():
    """Train, measure, store."""
    text = story_letters()
    results = {"seeds": list(SEEDS), "losses": measure(RUNGS, STEPS, text)}
    long = {"steps": LONG, "losses": measure({rung: RUNGS[rung] for rung in ADDED}, LONG, text)}
    store("story_ladder", results | {"long": long, "added": measure(ADDED, STEPS, text)})


if __name__ == "__main__":
    main()
