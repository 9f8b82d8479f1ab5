"""The recipe of the detective: the story model, fine-tuned on Sherlock Holmes with LoRA.

``python -m recipes.detective`` trains the adapter anew and writes it over the
bundled one. Before and after, it measures bits per byte on pages that were never trained on.
"""

import argparse
from pathlib import Path

import torch

from helpers.data.stories import stories
from helpers.pretrained.adapters import save_adapter
from helpers.pretrained.detective import ALPHA, DETECTIVE, RANK, build_detective, holmes_pages
from helpers.training.language_modelling import TextTraining, train_on_text

SETTINGS = TextTraining(
    steps=150, length=256, warmup_steps=15, weight_decay=0.01, precision="bf16", seed=1
)


def scores(teller) -> dict[str, float]:
    """Measure a `Storyteller` in bits per byte on the unseen pages of both books; a dict."""
    texts = {"holmes": holmes_pages()[1], "fairy tales": stories("validation")}
    return {name: round(teller.bits_per_byte(text), 4) for name, text in texts.items()}


def main(argv: list[str] | None = None):
    """Measure, train, measure again, save."""
    parser = argparse.ArgumentParser(prog="python -m recipes.detective", description=__doc__)
    parser.add_argument("--out", type=Path, default=DETECTIVE)
    out = parser.parse_args(argv).out
    torch.manual_seed(SETTINGS.seed)
    teller = build_detective()
    before = scores(teller)
    print(f"before: {before}", flush=True)
    history = train_on_text(teller.model, teller.encode(holmes_pages()[0]), SETTINGS)
    if history.stopped_early:
        print("stopped, nothing written")
        return
    after = scores(teller)
    card = {"rank": RANK, "alpha": ALPHA, "steps": SETTINGS.steps, "seed": SETTINGS.seed}
    card |= {"seconds": round(history.seconds), "before": before, "after": after}
    save_adapter(teller.model, out, card)
    print(f"after:  {after}; {card['seconds']} seconds, saved as {out}")


if __name__ == "__main__":
    main()
