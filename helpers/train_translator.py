"""The recipe of the bundled translator: Multi30k, French to English.

Run as ``python -m helpers.training``; under ``torchrun`` it trains on several processes.
"""

import argparse
import json
import os
import random
import time
from dataclasses import asdict
from pathlib import Path

import torch
import torch.distributed as dist

from helpers import corpus, decoding, metrics
from helpers.tokenization import BOS, EOS, BytePairTokenizer
from helpers.training import TrainingSettings, pad_batch, train
from helpers.transformer import Transformer, TransformerConfig


def arguments(argv=None):
    """Read the command line; the defaults are the bundled translator's."""
    parser = argparse.ArgumentParser(prog="python -m helpers.training", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/translator"))
    parser.add_argument("--vocab-size", type=int, default=4000)
    parser.add_argument("--d-model", type=int, default=256)
    parser.add_argument("--n-heads", type=int, default=4)
    parser.add_argument("--n-layers", type=int, default=3)
    parser.add_argument("--d-ff", type=int, default=512)
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--norm", choices=["pre", "post"], default="pre")
    parser.add_argument("--bpe-dropout", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--peak-rate", type=float, default=2e-3)
    parser.add_argument("--warmup-steps", type=int, default=800)
    parser.add_argument("--decay", choices=["inverse_sqrt", "linear"], default="linear")
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--label-smoothing", type=float, default=0.1)
    parser.add_argument("--weight-decay", type=float, default=0.0)
    parser.add_argument("--average-decay", type=float, default=0.998)
    parser.add_argument("--precision", choices=["auto", "fp32", "bf16"], default="auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--limit", type=int, help="use only the first pairs, to try things out")
    return parser.parse_args(argv)


def translate(model, tokenizer, sentences, beam_size=1, length_penalty=1.0, batch_size=64):
    """Translate sentences in batches of about one length.

    Parameters
    ----------
    model : Transformer
    tokenizer : BytePairTokenizer
    sentences : list of str
    beam_size : int, default=1
        1 is greedy.
    length_penalty : float, default=1.0
    batch_size : int, default=64

    Returns
    -------
    translations : list of str
    """
    device = next(model.parameters()).device
    sources = [tokenizer.encode(sentence, eos=True) for sentence in sentences]
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    outputs = [""] * len(sources)
    for start in range(0, len(order), batch_size):
        chunk = order[start : start + batch_size]
        pairs = [(sources[i], [BOS, EOS]) for i in chunk]
        src_ids = pad_batch(pairs)[0].to(device)
        with torch.no_grad():
            step = model.decoder_step(src_ids)
            max_len = min(src_ids.shape[1] * 2 + 10, model.config.max_len)
            if beam_size == 1:
                ids = decoding.greedy(step, len(chunk), BOS, EOS, max_len)
            else:
                beams = decoding.beam(
                    step, len(chunk), BOS, EOS, max_len, beam_size, length_penalty
                )
                ids = [hypotheses[0].ids for hypotheses in beams]
        for i, sentence in zip(chunk, ids, strict=True):
            outputs[i] = tokenizer.decode(sentence)
    return outputs


def main(argv=None):
    """Train, choose the best epoch by validation BLEU, write weights and tokenizer."""
    args = arguments(argv)
    if args.threads:
        torch.set_num_threads(args.threads)
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(args.seed)
    train_texts = corpus.multi30k("train")[: args.limit]
    val_texts = corpus.multi30k("val")[: args.limit]
    tokenizer = BytePairTokenizer.train(
        (side for pair in train_texts for side in pair), args.vocab_size
    )
    model = Transformer(config_of(args, len(tokenizer))).to(device)
    settings = TrainingSettings(
        **{name: getattr(args, name) for name in TrainingSettings.__dataclass_fields__ if hasattr(args, name)}
    )
    n_parameters = sum(p.numel() for p in model.parameters())
    print(f"{n_parameters:,} parameters; {args}", flush=True)

    def encode(texts, dropout=0.0):
        return [
            (
                tokenizer.encode(source, eos=True, dropout=dropout),
                tokenizer.encode(target, bos=True, eos=True, dropout=dropout),
            )
            for source, target in texts
        ]

    def encode_epoch(epoch):
        return encode(train_texts, args.bpe_dropout)

    references = [pair.target for pair in val_texts]
    started = time.time()

    def validation_bleu(model):
        outputs = translate(model, tokenizer, [pair.source for pair in val_texts])
        bleu = metrics.bleu(outputs, references)
        print(f"{time.time() - started:.0f} s: validation BLEU {bleu:.2f}", flush=True)
        return bleu

    args.out.mkdir(parents=True, exist_ok=True)
    history = train(
        model,
        encode(train_texts),
        encode(val_texts),
        settings,
        score=validation_bleu,
        checkpoint=args.out / "checkpoint.pt",
        encode=encode_epoch if args.bpe_dropout else None,
    )
    report = {"settings": vars(args) | {"out": None}, "parameters": n_parameters}
    print(json.dumps(report, default=str))
    return model, tokenizer, history


def config_of(args, vocab_size):
    """Build the model's configuration from the command line."""
    return TransformerConfig(
        src_vocab_size=vocab_size,
        tgt_vocab_size=vocab_size,
        share_vocabulary=True,
        norm_first=args.norm == "pre",
        d_model=args.d_model,
        n_heads=args.n_heads,
        n_layers=args.n_layers,
        d_ff=args.d_ff,
        dropout=args.dropout,
        max_len=256,
    )
