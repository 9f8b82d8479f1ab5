"""Tables that stand beside a module, in a TOML file of its name."""

import tomllib
from pathlib import Path


def table_beside(file: str) -> dict:
    """Read the table beside a module; `file` is its ``__file__``.

    `helpers.models.patients`, which imports nothing but models, reads its own.
    """
    return tomllib.loads(Path(file).with_suffix(".toml").read_text(encoding="utf-8"))
