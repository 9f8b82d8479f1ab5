"""The recipe of the bundled translator: Multi30k, French to English.

Run as ``python -m recipes.translator``.
"""

import argparse
import contextlib
import copy
import functools
import json
from dataclasses import fields
from pathlib import Path

import torch

from helpers.data import corpus
from helpers.pretrained.translator import Translator
from helpers.text.tokenization import BytePairTokenizer, clean
from helpers.training import metrics
from helpers.training.training import TrainingSettings, train
from helpers.transformer.transformer import Transformer, TransformerConfig
from recipes import diversify

STAGES = "first", "backward", "second"  # the checkpoints, in this order


def arguments(argv=None):
    """Read the command line `argv`; the defaults are the bundled translator's."""
    parser = argparse.ArgumentParser(prog="python -m recipes.translator", description=__doc__)
    option = parser.add_argument
    option("--out", type=Path, default=Path("runs/translator"), help="folder to write to")
    option("--vocab-size", type=int, default=4000, help="byte-pair pieces, shared by both sides")
    option("--d-model", type=int, default=256)
    option("--n-heads", type=int, default=4)
    option("--n-layers", type=int, default=3, help="in the encoder and again in the decoder")
    option("--d-ff", type=int, default=512)
    option("--dropout", type=float, default=0.3)
    option("--norm", choices=["pre", "post"], default="pre", help="where LayerNorm stands")
    option("--bpe-dropout", type=float, default=0.1, help="share of merges skipped in training")
    option("--epochs", type=int, default=43)
    option("--plain-epochs", type=int, default=3, help="each stage's last, no merges skipped")
    option("--backward-epochs", type=int, default=5, help="of the way back, English to French")
    option("--second-epochs", type=int, default=19, help="on rewritten pairs too; 0: no such stage")
    option("--peak-rate", type=float, default=1.5e-3)
    option("--warmup-steps", type=int, default=800)
    option("--decay", choices=["inverse_sqrt", "linear"], default="linear")
    option("--batch-tokens", type=int, default=2048)
    option("--label-smoothing", type=float, default=0.1)
    option("--weight-decay", type=float, default=0.0)
    option("--average-decay", type=float, default=0.998, help="of the moving average of weights")
    option("--precision", choices=["auto", "fp32", "bf16"], default="auto")
    option("--seed", type=int, default=1)
    option("--limit", type=int, help="use only the first pairs, to try things out")
    option("--quiet", action="store_true", help="no progress bar")
    return parser.parse_args(argv)


def main(argv=None):
    """Train as `argv` says, choose by validation BLEU, score on the test set, write the weights."""
    args = arguments(argv)
    translator, histories = train_translator(args)
    own = [history for name, history in histories.items() if name != "backward"]
    translator.card |= scores(translator, args.limit) | {
        "seconds": round(sum(history.seconds for history in histories.values())),
        "validation_bleu": round(max(own[-1].scores), 2) if own[-1].scores else None,
        "stopped_early": [name for name, run in histories.items() if run.stopped_early],
    }
    # Scored without it, since test captions may hold characters that training never saw.
    translator.alphabet = set(clean("".join(map("".join, corpus.multi30k("train")))))
    translator.save(args.out / "translator.safetensors")
    print(json.dumps(translator.card, indent=1))


def train_translator(args):
    """Train as `arguments` says: the Translator with its best weights, and a History per stage.

    Two stages. The first trains on the pairs as they are. The second goes on with pairs of which
    translators wrote a side anew: this one the targets, one trained the other way round the
    sources. If anything is stopped, nothing follows.
    """
    torch.manual_seed(args.seed)
    refuse_leftovers(args.out)
    texts, val_texts = (corpus.multi30k(split)[: args.limit] for split in ("train", "val"))
    sides = [clean(side) for pair in texts for side in pair]
    tokenizer = BytePairTokenizer.train(sides, args.vocab_size)
    size = len(tokenizer)
    config = TransformerConfig(
        src_vocab_size=size, tgt_vocab_size=size, share_vocabulary=True, max_len=256,
        norm_first=args.norm == "pre", dropout=args.dropout,
        d_model=args.d_model, n_heads=args.n_heads, n_layers=args.n_layers, d_ff=args.d_ff,
    )  # fmt: skip
    model = Transformer(config)
    model = model.cuda() if torch.cuda.is_available() else model
    card = {  # what a reader wants to know
        "data": f"Multi30k train, French to English, {len(texts):,} captions; chosen on val",
        "parameters": sum(p.numel() for p in model.parameters()),
        "settings": {k: v for k, v in vars(args).items() if k not in ("out", "quiet")},
        "torch": torch.__version__,
    }
    translator = Translator(model, tokenizer, card=card)
    print(translator)
    histories = {}
    with contextlib.suppress(Stopped):
        train_stage(args, histories, "first", translator, texts, val_texts)
        second_stage(args, histories, translator, texts, val_texts)
    return translator, histories


class Stopped(Exception):
    """Somebody stopped a stage; what would have followed must not start from it."""


def refuse_leftovers(out):
    """Raise a ValueError if the folder `out` holds later stages of a training that is gone."""
    left = [path for path in (out / f"{name}.pt" for name in STAGES[1:]) if path.exists()]
    if left and not (out / f"{STAGES[0]}.pt").exists():
        raise ValueError(
            f"{out} holds {', '.join(path.name for path in left)}, but not the stage they began "
            f"from. Move them away, or choose another --out."
        )


def second_stage(args, histories, translator, texts, val_texts):
    """Train on with pairs of which a side is written anew; arguments as in `train_stage`."""
    if not args.second_epochs:
        return
    backward = Translator(copy.deepcopy(translator.model), translator.tokenizer)
    turned = [[(target, source) for source, target in pairs] for pairs in (texts, val_texts)]
    stage = functools.partial(train_stage, args, histories)
    turned_round = {"peak_rate": 1.2e-3, "warmup_steps": 150, "average_decay": 0.995}
    stage("backward", backward, *turned, epochs=args.backward_epochs, **turned_round)
    sources = backward.translate([clean(target) for _, target in texts])
    targets = diversify.other_targets(translator, texts)

    def mixed(epoch):
        return diversify.mixture(texts, sources, targets, seed=epoch)

    again = {"epochs": args.second_epochs, "peak_rate": 1.0e-3, "warmup_steps": 300}
    stage("second", translator, texts, val_texts, alter=mixed, **again)


def train_stage(args, histories, name, translator, texts, val_texts, alter=None, **changed):
    """Train once, from the weights that `translator` has, on pairs of texts.

    `histories` gets this stage's, under its `name`, which is also the checkpoint's, from which it
    goes on if it was stopped. A function `alter` gives an epoch's pairs instead of `texts`, and
    `changed` are training settings that differ from the arguments'. If Ctrl-C ended it, Stopped is
    raised, and the same command goes on from its checkpoint.
    """
    tokenizer, sources = translator.tokenizer, [clean(source) for source, _ in val_texts]
    names = {field.name for field in fields(TrainingSettings)}
    given = {name: value for name, value in vars(args).items() if name in names}
    settings = TrainingSettings(**given | changed)

    def validation_bleu(_):
        bleu = metrics.bleu(translator.translate(sources), [target for _, target in val_texts])
        print(f"{name}, validation BLEU {bleu:.2f}", flush=True)
        return bleu

    def encode_epoch(epoch):
        plain = epoch >= settings.epochs - args.plain_epochs
        pairs = alter(epoch) if alter else texts
        return encode_pairs(tokenizer, pairs, 0.0 if plain else args.bpe_dropout)

    pairs = encode_pairs(tokenizer, texts), encode_pairs(tokenizer, val_texts)
    how = {"checkpoint": args.out / f"{name}.pt", "encode": encode_epoch}
    how |= {"score": validation_bleu, "progress": not args.quiet}
    histories[name] = train(translator.model, *pairs, settings, **how)
    if histories[name].stopped_early:
        raise Stopped(name)


def encode_pairs(tokenizer, pairs, dropout=0.0):
    """Turn `pairs` of texts into ids by a `tokenizer`; a share `dropout` of merges is skipped."""
    encode = functools.partial(tokenizer.encode, eos=True, dropout=dropout)
    return [(encode(source), encode(target, bos=True)) for source, target in pairs]


def scores(translator, limit=None):
    """Score a `translator` on test_2016_flickr, greedy and beam 4; `limit` takes the first few."""
    texts = corpus.multi30k("test_2016_flickr")[:limit]
    sources, references = zip(*texts, strict=True)
    outputs = {
        "test_bleu_greedy": translator.translate(list(sources)),
        "test_bleu_beam_4": translator.translate(list(sources), beam_size=4),
    }
    return {name: round(metrics.bleu(out, list(references)), 2) for name, out in outputs.items()}


if __name__ == "__main__":
    main()
