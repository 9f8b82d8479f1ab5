"""One short paragraph in ten languages, written for this course."""

import tomllib
from pathlib import Path

# The English words are counted for every language: the content is the same.
PARAGRAPH = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
