"""The recipe of the ladder from an average to a GPT: every rung, three seeds.

``python -m recipes.story_ladder`` takes a few minutes and stores what the
lesson on GPT shows beside the one seed that it trains.
"""

from helpers.pretrained.measured import store
from helpers.training.letter_models import RUNGS, nats_per_letter, story_letters, train_rung

SEEDS = (1, 2, 3)


def main():
    """Train, measure, store."""
    letters, train, validation = story_letters()
    losses = {rung: [] for rung in RUNGS}
    for seed in SEEDS:
        for rung in RUNGS:
            model = train_rung(rung, train, len(letters), seed, progress=False)
            losses[rung].append(round(nats_per_letter(model, validation), 4))
            print(f"seed {seed}, {rung}: {losses[rung][-1]:.3f} nats a letter", flush=True)
    store("story_ladder", {"seeds": list(SEEDS), "losses": losses})


if __name__ == "__main__":
    main()
