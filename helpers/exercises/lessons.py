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


def module(lesson, kind):
    """Import a file of a lesson; its folder begins with a digit, so no import line can name it.

    Parameters
    ----------
    lesson : int
    kind : str
        The file's name without its ending: "exercises", "questions" …

    Returns
    -------
    module : module or None
        None if the lesson has no such file.
    """
    folder = folders()[lesson]
    if not (folder / f"{kind}.py").exists():
        return None
    return importlib.import_module(f"notebooks.source.{folder.name}.{kind}")


@functools.cache
def collected(kind, listed):
    """Collect what all lessons' files of one kind list, by name, each with its lesson's number.

    Parameters
    ----------
    kind : str
        As for `module`.
    listed : str
        The list's name in these files: "EXERCISES", "QUESTIONS", "PREDICTIONS".

    Raises
    ------
    ValueError
        If two have the same name.
    """
    items = {}
    for number in folders():
        for item in getattr(module(number, kind), listed, []):
            if item.name in items:
                raise ValueError(f"lesson {number} has a second {item.name!r}; names are unique.")
            items[item.name] = replace(item, lesson=number)
    return items
