"""What a recipe measured over several seeds or sizes and stored, so that a lesson can show it."""

import json
import os
from pathlib import Path

from helpers.machine.atomic_writes import atomic_write

RESULTS = Path(__file__).parent / "results"


def measured(name: str) -> dict:
    """Read what ``python -m recipes.NAME`` measured."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def so_far(name: str) -> dict:
    """Read what a recipe has measured so far; {} if nothing is stored."""
    return measured(name) if (RESULTS / f"{name}.json").exists() else {}


def store(name: str, results: dict, indent: int | None = 1):
    """Write a recipe's `results`, plain data, under a `name`, for `measured`."""
    with atomic_write(RESULTS / f"{name}.json") as partial:
        partial.write_text(json.dumps(results, indent=indent, ensure_ascii=False), encoding="utf-8")


class LiveOrStored:
    """Measure a model where it's installed, and elsewhere show what was stored under `name` before.

    The function `load` raises ImportError, with a sentence on what to install, where the model is
    missing; `model` is None then. With the variable ``COURSE_STORE`` set, everything that is
    measured is stored as well.
    """

    def __init__(self, name, load):
        self.name, self.model, self.stored = name, None, so_far(name)
        try:
            self.model = load()
        except ImportError as error:
            print(f"{error}\nUntil then, this page shows what was measured when it was written.")

    def __call__(self, key: str, measure):
        """Return what `measure` returns, or what it returned before.

        That is tensors, numbers, texts, or lists and dicts of them; stored, plain data, with lists
        for tensors. The `key` is unique within the results.
        """
        if self.model is None:
            return self.stored[key]
        value = _plain(measure())
        if os.environ.get("COURSE_STORE"):
            self.stored[key] = value
            store(self.name, self.stored)
        return value


def _plain(value):
    """Turn tensors into lists, floats rounded to what a figure can show."""
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
