"""The recipe of lesson 12's comparison: what a judge of reviews learns, from how much, and how.

``python -m recipes.ways_to_fine_tune`` measures and stores it. What is stored already isn't
measured again. LoRA's learning curve takes about 20 minutes of one core, the rest about ten.
"""

import argparse
import random
import time
from collections import Counter

import torch
from torch import nn

from helpers.data.reviews import film_reviews
from helpers.models.bert import TextClassifier, mean_pool
from helpers.models.lora import add_lora
from helpers.pretrained.measured import so_far, store
from helpers.pretrained.minilm import load_minilm
from helpers.training.optimizers import take_step
from helpers.training.training import TrainingSettings, learning_rate
from helpers.transformer.layers import inference
from recipes.fine_tune import batches
from recipes.sentiment import LONGEST, examples_of, loss_of

NAME = "ways_to_fine_tune"  # of the results
SIZES, DRAWS = (50, 500, 5000), 8
WAYS, EXAMPLES, PASSES = ("head", "last", "all", "lora4", "lora16"), 1000, 2
COMMAND = "python -m recipes.ways_to_fine_tune --only curve"
CURVE = {50: 20, 500: 4, 5000: 2}  # passes of LoRA over so many reviews
PENALTIES = (0.001, 0.01, 0.1, 1.0)


def pooled_features(minilm, texts):
    """Read `texts` with a frozen `minilm`; a dict of Tensors (N, D) for cls, pooler and mean."""
    found = {"cls": [], "pooler": [], "mean": []}
    with inference(minilm.model), torch.autocast("cpu", torch.bfloat16):
        for at in range(0, len(texts), 50):
            ids = minilm.encode(texts[at : at + 50])[:, :LONGEST]
            hidden = minilm.model(ids)
            found["cls"].append(hidden[:, 0].float())
            found["pooler"].append(minilm.pooler(hidden).float())
            found["mean"].append(mean_pool(hidden, ids).float())
    return {name: torch.cat(parts) for name, parts in found.items()}


def word_counts(texts, vocabulary):
    """Tell which word of a `vocabulary` occurs in each of the `texts`; a Tensor (N, V)."""
    place = {word: i for i, word in enumerate(vocabulary)}
    counts = torch.zeros(len(texts), len(vocabulary))
    for row, text in enumerate(texts):
        counts[row, [place[word] for word in text.split() if word in place]] = 1
    return counts


def logistic_regression(x, y, penalty: float, iterations=60):
    """Fit one logit per row by `iterations` of L-BFGS; returns a function (N, D) -> logits (N,).

    `x` has shape (N, D), the labels `y` (N,) are 0.0 or 1.0, and the `penalty` is the strength of
    the squared weights in the loss.
    """
    mean, spread = x.mean(0), x.std(0).clamp_min(1e-6)
    w = torch.zeros(x.shape[1] + 1, requires_grad=True)
    inputs = (x - mean) / spread
    optimizer = torch.optim.LBFGS([w], max_iter=iterations, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(inputs @ w[:-1] + w[-1], y)
        loss = loss + penalty * w[:-1].square().sum() / 2
        loss.backward()
        return loss

    optimizer.step(closure)
    w = w.detach()
    return lambda other: (other - mean) / spread @ w[:-1] + w[-1]


def best_regression(train, validation, test):
    """Fit on `train`, choose the penalty on `validation`, measure on `test`: (features, labels)."""
    fits = [logistic_regression(*train, penalty) for penalty in PENALTIES]
    chosen = max(fits, key=lambda fit: accuracy(fit, *validation))
    return accuracy(chosen, *test)


def accuracy(fit, x, y):
    """Measure the share of rows of `x` on whose label in `y` the function `fit` is right."""
    return ((fit(x) > 0) == (y > 0.5)).float().mean().item()


def drawn(reviews, n, draw):
    """Draw `n` places in a list of `reviews`; the same `draw` gives every method the same ones."""
    return random.Random(seed_of(n, draw)).sample(range(len(reviews)), n)


def seed_of(n, draw):
    """Give each `draw` of `n` reviews a seed of its own."""
    return 1000 * n + draw


def frozen(data, minilm):
    """Measure bag of words and a frozen `minilm` on `data`, at every size and draw; a dict."""
    texts = {split: [r.text for r in reviews] for split, reviews in data.items()}
    labels = {s: torch.tensor([float(r.label) for r in reviews]) for s, reviews in data.items()}
    features = {split: pooled_features(minilm, texts[split]) for split in texts}
    found = {}
    for n in SIZES:
        for draw in range(DRAWS):
            rows = drawn(texts["train"], n, draw)
            seen = [texts["train"][i] for i in rows]
            counts = Counter(word for text in seen for word in set(text.split()))
            least = 1 if n < 1000 else 2  # reviews that a word has to be in
            vocabulary = sorted(word for word, count in counts.items() if count >= least)
            wanted = labels | {"train": labels["train"][rows]}
            kinds = {name: {s: features[s][name] for s in texts} for name in features["train"]}
            for x in kinds.values():
                x["train"] = x["train"][rows]
            read = texts | {"train": seen}
            kinds["words"] = {s: word_counts(read[s], vocabulary) for s in texts}
            for name, x in kinds.items():
                score = best_regression(*((x[split], wanted[split]) for split in texts))
                found.setdefault(name, {}).setdefault(str(n), []).append(round(score, 4))
            print(n, draw, {k: v[str(n)][-1] for k, v in found.items()}, flush=True)
    return found


def prepared(way):
    """Build a fresh classifier of which only the `way` named is trainable, and its peak rate."""
    minilm = load_minilm()
    encoder = minilm.model
    if way.startswith("lora"):
        add_lora(encoder, rank=int(way[4:]), alpha=2.0 * int(way[4:]))
    else:
        encoder.requires_grad_(way == "all")
        encoder.layers[-1].requires_grad_(way in ("all", "last"))
    rate = {"all": 1e-4, "last": 2e-4, "head": 5e-3}.get(way, 1e-3)
    return TextClassifier(encoder, 2, pooling="mean"), minilm, rate


def trained(way, reviews, passes, test, seed):
    """Train one `way` on `reviews`, with `passes` and `seed`; accuracy on `test`, seconds, size."""
    torch.manual_seed(seed)
    model, minilm, rate = prepared(way)
    examples = examples_of(reviews, minilm)
    steps = [b for e in range(passes) for b in batches(examples, 768, 100 * seed + e)]
    settings = TrainingSettings(
        epochs=passes, peak_rate=rate, warmup_steps=len(steps) // 10, decay="linear"
    )
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=0.0, weight_decay=0.01)
    start = time.process_time()
    model.train()
    for step, batch in enumerate(steps, start=1):
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(model, *batch)
        take_step(loss, [optimizer], learning_rate(step, settings, len(steps)), step)
    seconds = time.process_time() - start
    right = 0
    with inference(model), torch.autocast("cpu", torch.bfloat16):
        for ids, segments, targets in batches(examples_of(test, minilm), 3072, 0):
            right += (model(ids, segments).argmax(-1) == targets[:, 0]).sum().item()
    return right / len(test), seconds, sum(p.numel() for p in trainable)


def curve(data, found):
    """Train LoRA of rank 16 on every draw of every size that isn't in `found` yet.

    The "train" of `data` is drawn from, and its "test" is scored. `found`, per size a list with one
    dict per draw, grows in place. Each run is yielded: its seed, accuracy and seconds of training.
    """
    for n, passes in CURVE.items():
        runs = found.setdefault(str(n), [])
        for draw in range(len(runs), DRAWS):
            reviews = [data["train"][row] for row in drawn(data["train"], n, draw)]
            seed = seed_of(n, draw)
            score, seconds, _ = trained("lora16", reviews, passes, data["test"], seed)
            runs.append(
                {"seed": seed, "passes": passes}
                | {"accuracy": round(score, 4), "seconds": round(seconds, 1)}
            )
            yield runs[-1]


def main(arguments: list[str] | None = None):
    """Measure what isn't in the file yet, and write it after every measurement."""
    parser = argparse.ArgumentParser(
        prog="python -m recipes.ways_to_fine_tune", description=__doc__
    )
    parser.add_argument("--only", choices=("frozen", "ways", "curve"), default=None)
    chosen = parser.parse_args(arguments)
    data = {split: film_reviews(split) for split in ("train", "validation", "test")}
    found = so_far(NAME)
    if chosen.only in (None, "frozen") and "frozen" not in found:
        found["frozen"] = frozen(data, load_minilm())
        store(NAME, found)
    for way in WAYS:
        if chosen.only not in (None, "ways") or way in found.setdefault("trained", {}):
            continue
        rows = random.Random(EXAMPLES).sample(data["train"], EXAMPLES)
        score, seconds, size = trained(way, rows, PASSES, data["test"], seed=1)
        found["trained"][way] = {
            "accuracy": round(score, 4), "seconds": round(seconds, 1), "trainable": size,
        }  # fmt: skip
        print(way, found["trained"][way], flush=True)
        store(NAME, found)
    if chosen.only in (None, "curve"):
        known = found.setdefault("curve", {"command": COMMAND, "runs": {}})
        for run in curve(data, known["runs"]):
            print("lora16", run, flush=True)
            store(NAME, found)


if __name__ == "__main__":
    main()
