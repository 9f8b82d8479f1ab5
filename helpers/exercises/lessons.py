"""Where the lessons' own files are: ``notebooks/source/NN_name/``, one folder per lesson."""

import functools
import importlib
from dataclasses import replace
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "notebooks" / "source"


@functools.cache
def folders() -> dict[int, Path]:
    """Find every lesson's folder, by its number."""
    return {int(path.name[:2]): path for path in sorted(SOURCES.glob("[0-9][0-9]_*"))}


def module(lesson: int, kind: str):
    """Import a file of a lesson: "exercises", "questions" …, or return None if it has no such file.

    Its folder begins with a digit, so no import line can name it.
    """
    folder = folders()[lesson]
    if not (folder / f"{kind}.py").exists():
        return None
    return importlib.import_module(f"notebooks.source.{folder.name}.{kind}")


@functools.cache
def collected(kind: str, listed: str) -> dict:
    """Collect what all lessons' files of one `kind` list, by name, each with its lesson's number.

    `listed` is the list's name in these files: "EXERCISES", "QUESTIONS", "PREDICTIONS". Two of the
    same name are a ValueError.
    """
    items = {}
    for number in folders():
        for item in getattr(module(number, kind), listed, []):
            if item.name in items:
                raise ValueError(f"lesson {number} has a second {item.name!r}; names are unique.")
            items[item.name] = replace(item, lesson=number)
    return items
