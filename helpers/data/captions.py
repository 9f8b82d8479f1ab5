"""Twenty captions of our own, in the manner of Multi30k, with our translations.

They are small enough to be here, and new to the bundled translator.
"""

import tomllib
from pathlib import Path

# Pairs of a French and an English text.
CAPTIONS = tuple(
    tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
)
