"""The recipe of the ladder from an average to a GPT: every rung, three seeds.

``python -m recipes.story_ladder`` takes a few minutes and stores what the
lesson on GPT shows beside the one seed that it trains, and what heads alone reach with more steps.
"""

from helpers.pretrained.measured import store
from helpers.training.letter_models import RUNGS, STEPS, nats_per_letter, story_letters, train_rung

SEEDS = (1, 2, 3)
LONG = 2000  # steps


def measure(rungs, steps, text):
    """Train every rung with every seed; a dict of rung to losses, in nats per letter.

    `text` is what `story_letters` returns.
    """
    letters, train, validation = text
    losses = {rung: [] for rung in rungs}
    for rung in losses:
        for seed in SEEDS:
            model = train_rung(rung, train, len(letters), seed, progress=False, steps=steps)
            losses[rung].append(round(nats_per_letter(model, validation), 4))
            print(f"seed {seed}, {rung}: {losses[rung][-1]:.3f} nats a letter", flush=True)
    return losses


def main():
    """Train, measure, store."""
    text = story_letters()
    results = {"seeds": list(SEEDS), "losses": measure(RUNGS, STEPS, text)}
    long = {"steps": LONG, "losses": measure(("one head", "four heads"), LONG, text)}
    store("story_ladder", results | {"long": long})


if __name__ == "__main__":
    main()
