"""The recipe of lesson 17's comparison: three ways to split, two models, and poorer tokens.

``python -m recipes.genres`` takes a few minutes of one core. The lesson
trains one model per way itself, and shows these results beside it.
"""

import torch

from helpers.pretrained.measured import store
from helpers.training.genre_training import linear_logits, logits_of, train_genres
from helpers.training.genres import (
    GENRES,
    N_LEVELS,
    N_VOICES,
    GenreClassifier,
    accuracy,
    balanced_accuracy,
    genre_windows,
    seen_share,
    split,
    stroke_grid,
    tokenized,
)

WAYS = ("windows", "performances", "drummers")
SEEDS = (0, 1, 2)


def _without(part, tables):
    """Make one part of every token the same: "loudness", "voice" or "time"."""
    ids, steps, real = tables
    if part == "time":
        return ids, torch.zeros_like(steps), real
    voice, level = ids // N_LEVELS, ids % N_LEVELS
    return (level if part == "voice" else voice * N_LEVELS), steps, real


def _scores(logits, labels):
    """Return accuracy and balanced accuracy, rounded."""
    return [round(float(f(logits, labels)), 4) for f in (accuracy, balanced_accuracy)]


def _train_and_test(tables, windows, train, test, seed):
    """Train a classifier and return its scores."""
    torch.manual_seed(seed)
    model = GenreClassifier()
    train_genres(model, tables, windows, train, seed=seed, progress=False)
    return _scores(logits_of(model, tables, test), windows.genres[test])


def main():
    """Train, measure, store."""
    windows = genre_windows()
    tables = tokenized(windows)
    grids = torch.stack([stroke_grid(one, N_VOICES) for one in windows.strokes])
    found = {way: {"encoder": [], "linear": [], "seen": [], "most frequent": []} for way in WAYS}
    for way in WAYS:
        for seed in SEEDS:
            train, test = split(windows, way, seed)
            labels, here = windows.genres[test], found[way]
            here["linear"].append(_scores(linear_logits(grids, windows, train, test), labels))
            here["encoder"].append(_train_and_test(tables, windows, train, test, seed))
            seen = seen_share(windows.performances[train], windows.performances[test])
            here["seen"].append(round(seen.item(), 4))
            here["most frequent"].append(round((labels == 0).float().mean().item(), 4))
            print(way, seed, {name: values[-1] for name, values in here.items()}, flush=True)
    less = {part: [] for part in ("loudness", "voice", "time")}
    for part, values in less.items():
        poorer = _without(part, tables)
        for seed in SEEDS:
            train, test = split(windows, "performances", seed)
            values.append(_train_and_test(poorer, windows, train, test, seed))
            print("without", part, seed, values[-1], flush=True)
    counts = windows.genres.bincount().tolist()
    results = {"seeds": list(SEEDS), "ways": found, "without": less}
    store("genres", {"windows": dict(zip(GENRES, counts, strict=True)), **results})


if __name__ == "__main__":
    main()
