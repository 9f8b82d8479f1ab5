"""The recipe of lesson 17's comparison: three ways to split, two models, and poorer tokens.

``python -m recipes.genres`` takes about ten minutes of one core. It begins with what was chosen on
validation performances, taken out of the training ones; `train_genres` and `linear_logits` have the
chosen numbers as defaults. The lesson trains one model per way itself, and shows these results.
"""

import torch

from helpers.pretrained.measured import store
from helpers.training import genres
from helpers.training.genre_training import linear_logits, logits_of, train_genres

WAYS = ("windows", "performances", "drummers")
SEEDS = (0, 1, 2)
PASSES = (1, 2, 3, 4)
DECAYS = (30.0, 100.0, 300.0, 1000.0)


def _scores(logits, labels):
    """Return accuracy and balanced accuracy, rounded."""
    return [round(float(f(logits, labels)), 4) for f in (genres.accuracy, genres.balanced_accuracy)]


def _train_and_test(tables, windows, train, test, seed, **how):
    """Train a classifier and return its scores."""
    torch.manual_seed(seed)
    model = genres.GenreClassifier()
    train_genres(model, tables, windows, train, seed=seed, progress=False, **how)
    return _scores(logits_of(model, tables, test), windows.genres[test])


def _on_validation(windows, tables, grids):
    """Try passes and decays on a quarter of every split's training performances."""
    found = {"passes": {n: [] for n in PASSES}, "decay": {n: [] for n in DECAYS}}
    for seed in SEEDS:
        rows, _ = genres.split(windows, "performances", seed)
        inner = genres.split(windows.at(rows), "performances", 100 + seed)
        train, held_out = (rows[part] for part in inner)
        for n, scores in found["passes"].items():
            scores.append(_train_and_test(tables, windows, train, held_out, seed, epochs=n))
        for n, scores in found["decay"].items():
            logits = linear_logits(grids, windows, train, held_out, n)
            scores.append(_scores(logits, windows.genres[held_out]))
        print("validation", seed, {k: {n: s[-1] for n, s in v.items()} for k, v in found.items()})
    return found


def main():
    """Train, measure, store."""
    windows = genres.genre_windows()
    tables = genres.tokenized(windows)
    grids = torch.stack([genres.stroke_grid(one, genres.N_VOICES) for one in windows.strokes])
    validation = _on_validation(windows, tables, grids)
    found = {way: {"encoder": [], "linear": [], "seen": [], "most frequent": []} for way in WAYS}
    for way in WAYS:
        for seed in SEEDS:
            train, test = genres.split(windows, way, seed)
            labels, here = windows.genres[test], found[way]
            here["linear"].append(_scores(linear_logits(grids, windows, train, test), labels))
            here["encoder"].append(_train_and_test(tables, windows, train, test, seed))
            seen = genres.seen_share(windows.performances[train], windows.performances[test])
            here["seen"].append(round(seen.item(), 4))
            here["most frequent"].append(round((labels == 0).float().mean().item(), 4))
            print(way, seed, {name: values[-1] for name, values in here.items()}, flush=True)
    ids, steps, real = tables
    poorer = {  # one part of every token is the same
        "loudness": (ids // genres.N_LEVELS * genres.N_LEVELS, steps, real),
        "voice": (ids % genres.N_LEVELS, steps, real),
        "time": (ids, torch.zeros_like(steps), real),
    }
    less = {part: [] for part in poorer}
    for part, values in less.items():
        for seed in SEEDS:
            train, test = genres.split(windows, "performances", seed)
            values.append(_train_and_test(poorer[part], windows, train, test, seed))
            print("without", part, seed, values[-1], flush=True)
    counts = windows.genres.bincount().tolist()
    results = {"seeds": list(SEEDS), "validation": validation, "ways": found, "without": less}
    store("genres", {"windows": dict(zip(genres.GENRES, counts, strict=True)), **results})


if __name__ == "__main__":
    main()
