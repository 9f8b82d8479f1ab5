"""What a recipe measured over several seeds or sizes and stored, so that a lesson can show it."""

import json
from pathlib import Path

from helpers.machine.atomic_writes import atomic_write

RESULTS = Path(__file__).parent / "results"


def measured(name) -> dict:
    """Read what ``python -m recipes.NAME`` measured.

    Parameters
    ----------
    name : str
        The recipe's.
    """
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def store(name, results):
    """Write a recipe's `results`, a dict of plain data, under a `name`, for `measured`."""
    with atomic_write(RESULTS / f"{name}.json") as partial:
        partial.write_text(json.dumps(results, indent=1, ensure_ascii=False), encoding="utf-8")
