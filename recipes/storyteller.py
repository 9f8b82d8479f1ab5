"""The recipe of the story model.

``python -m recipes.storyteller`` trains it anew on the bundled fairy tales and
writes it over the bundled one. Stopped and started again, it goes on where it was.
"""

import argparse
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from helpers.data.stories import stories
from helpers.models.gpt import GPT, GPTConfig
from helpers.pretrained.storyteller import SPECIALS, STORYTELLER, Storyteller
from helpers.training.language_modelling import TextTraining, train_on_text

VOCABULARY = 4096
SIZES = {"d_model": 192, "n_heads": 6, "n_layers": 6, "max_len": 512, "dropout": 0.1}
# Windows of 256 tokens, and twice that near the end.
TRAINING = {"batch_size": 16, "length": 256, "peak_rate": 3e-3, "optimizer": "muon",
            "precision": "bf16", "long_from": 0.85}  # fmt: skip


def arguments(argv=None):
    """Read the command line `argv`; the defaults made the bundled model."""
    parser = argparse.ArgumentParser(prog="python -m recipes.storyteller", description=__doc__)
    add = parser.add_argument
    add("--steps", type=int, default=2600)
    add("--seed", type=int, default=1)
    add("--letters", type=int, default=None, help="train on that much of the text only")
    add("--out", type=Path, default=STORYTELLER)
    add("--checkpoint", type=Path, default=Path("storyteller.checkpoint"))
    return parser.parse_args(argv)


def train_tokenizer(text: str, vocab_size: int) -> Tokenizer:
    """Learn byte-level pieces from a text, without changing a single byte of it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=SPECIALS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(text.split("\n"), trainer)
    return tokenizer


def main(argv: list[str] | None = None):
    """Train, score on the validation text, save."""
    args = arguments(argv)
    torch.manual_seed(args.seed)
    text, validation = stories("train")[: args.letters], stories("validation")
    tokenizer = train_tokenizer(text, VOCABULARY)
    config = GPTConfig(vocab_size=tokenizer.get_vocab_size(), positions="rotary", **SIZES)
    teller = Storyteller(GPT(config), tokenizer)
    ids = torch.tensor(tokenizer.encode(text).ids)
    settings = TextTraining(
        steps=args.steps, warmup_steps=args.steps // 40, seed=args.seed, **TRAINING
    )
    history = train_on_text(teller.model, ids, settings, checkpoint=args.checkpoint)
    if history.stopped_early:
        print(f"stopped; the same command goes on from {args.checkpoint}")
        return
    teller.card = {
        "steps": args.steps,
        "seconds": round(history.seconds),
        "seed": args.seed,
        "bits_per_byte": round(teller.bits_per_byte(validation), 4),
        "losses": [round(loss, 3) for loss in history.losses[:: max(args.steps // 200, 1)]],
    }
    teller.save(args.out)
    args.checkpoint.unlink(missing_ok=True)
    print(f"{teller}: {teller.card['bits_per_byte']} bits a byte, saved as {args.out}")


if __name__ == "__main__":
    main()
