"""The recipe of the story model.

``python -m recipes.storyteller`` trains it anew on the bundled fairy tales and
writes it over the bundled one. Stopped and started again, it goes on where it was.
"""

import argparse
import time
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from helpers.data.stories import stories
from helpers.models.gpt import GPT, GPTConfig
from helpers.pretrained.storyteller import SPECIALS, STORYTELLER, Storyteller
from helpers.training.language_modelling import TextTraining, train_on_text


def arguments(argv=None):
    """Read the command line `argv`; the defaults made the bundled model."""
    parser = argparse.ArgumentParser(prog="python -m recipes.storyteller", description=__doc__)
    add = parser.add_argument
    add("--d-model", type=int, default=192)
    add("--n-heads", type=int, default=6)
    add("--n-layers", type=int, default=6)
    add("--vocab-size", type=int, default=4096)
    add("--max-len", type=int, default=512, help="tokens that the model can read at once")
    add("--dropout", type=float, default=0.1)
    add("--steps", type=int, default=2600)
    add("--batch-size", type=int, default=16)
    add("--length", type=int, default=256, help="tokens per window; twice that near the end")
    add("--peak-rate", type=float, default=3e-3)
    add("--precision", choices=("fp32", "bf16"), default="bf16")
    add("--seed", type=int, default=1)
    add("--letters", type=int, default=None, help="train on that much of the text only")
    add("--out", type=Path, default=STORYTELLER)
    add("--checkpoint", type=Path, default=Path("storyteller.checkpoint"))
    return parser.parse_args(argv)


def train_tokenizer(text: str, vocab_size: int):
    """Learn byte-level pieces from a text, without changing a single byte of it.

    Returns
    -------
    tokenizer : tokenizers.Tokenizer
    """
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


def config_of(args, vocab_size):
    """Make the model's configuration from the command line `args` and `vocab_size`."""
    return GPTConfig(
        vocab_size=vocab_size,
        d_model=args.d_model,
        n_heads=args.n_heads,
        n_layers=args.n_layers,
        max_len=args.max_len,
        positions="rotary",
        dropout=args.dropout,
    )


def settings_of(args):
    """Make the training's settings from the command line `args`."""
    return TextTraining(
        steps=args.steps,
        batch_size=args.batch_size,
        length=args.length,
        peak_rate=args.peak_rate,
        warmup_steps=args.steps // 40,
        optimizer="muon",
        precision=args.precision,
        long_from=0.85,
        seed=args.seed,
    )


def reporter(teller, steps, validation):
    """Make the function that prints how a training of so many `steps` goes.

    Parameters
    ----------
    teller : Storyteller
    steps : int
    validation : str
        Its beginning is scored ten times on the way; nothing is chosen by that.

    Returns
    -------
    report : function (step, history)
    """
    started = time.perf_counter()

    def report(step, history):
        recent = history.losses[-50:]
        seconds = time.perf_counter() - started
        line = f"step {step}: {sum(recent) / len(recent):.3f} nats a token, {seconds:.0f} s"
        if step % (10 * max(steps // 100, 1)) == 0:
            bits = teller.bits_per_byte(validation[:30_000])
            teller.model.train()
            line += f", validation {bits:.3f} bits a byte"
        print(line, flush=True)

    return report


def main(argv: list[str] | None = None):
    """Train, score on the validation text, save."""
    args = arguments(argv)
    torch.manual_seed(args.seed)
    text, validation = stories("train")[: args.letters], stories("validation")
    tokenizer = train_tokenizer(text, args.vocab_size)
    teller = Storyteller(GPT(config_of(args, tokenizer.get_vocab_size())), tokenizer)
    ids = torch.tensor(tokenizer.encode(text).ids)
    report = reporter(teller, args.steps, validation)
    history = train_on_text(teller.model, ids, settings_of(args), True, args.checkpoint, report)
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
