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


def arguments(argv=None):
    """Read the command line `argv`; the defaults made the bundled adapter."""
    parser = argparse.ArgumentParser(prog="python -m recipes.detective", description=__doc__)
    add = parser.add_argument
    add("--steps", type=int, default=150)
    add("--batch-size", type=int, default=16)
    add("--length", type=int, default=256, help="tokens per window")
    add("--peak-rate", type=float, default=3e-3)
    add("--precision", choices=("fp32", "bf16"), default="bf16")
    add("--seed", type=int, default=1)
    add("--letters", type=int, default=None, help="measure on that many letters of each text only")
    add("--out", type=Path, default=DETECTIVE)
    return parser.parse_args(argv)


def scores(teller, letters=None) -> dict[str, float]:
    """Measure a `teller` in bits per byte on the unseen pages of both books; a dict.

    Parameters
    ----------
    teller : Storyteller
    letters : int, default=None
        So many letters of each text; all of them by default.
    """
    texts = {"holmes": holmes_pages()[1], "fairy tales": stories("validation")}
    return {name: round(teller.bits_per_byte(text[:letters]), 4) for name, text in texts.items()}


def main(argv: list[str] | None = None):
    """Measure, train, measure again, save."""
    args = arguments(argv)
    torch.manual_seed(args.seed)
    teller = build_detective()
    before = scores(teller, args.letters)
    print(f"before: {before}", flush=True)
    ids = teller.encode(holmes_pages()[0])
    settings = TextTraining(
        steps=args.steps,
        batch_size=args.batch_size,
        length=args.length,
        peak_rate=args.peak_rate,
        warmup_steps=args.steps // 10,
        weight_decay=0.01,
        precision=args.precision,
        seed=args.seed,
    )
    history = train_on_text(teller.model, ids, settings)
    if history.stopped_early:
        print("stopped, nothing written")
        return
    after = scores(teller, args.letters)
    card = {"rank": RANK, "alpha": ALPHA, "steps": args.steps, "seconds": round(history.seconds)}
    card |= {"seed": args.seed, "before": before, "after": after}
    save_adapter(teller.model, args.out, card)
    print(f"after:  {after}; {card['seconds']} seconds, saved as {args.out}")


if __name__ == "__main__":
    main()
