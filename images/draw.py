"""Draw the course's pictures: one picture, one function, one name. Run as ``make images``.

A picture's function stands in one of the modules beside this one, in their list ``PICTURES``. It
returns a `Sheet` (a drawing) or a film (`stage.film`). The picture is named after it, and its alt
text is the docstring's first paragraph.
"""

import argparse
import inspect
import json
from pathlib import Path

from images import attention_films, kit, one_plane, recurrent_films, stills

HERE = Path(__file__).parent
MODULES = (stills, recurrent_films, one_plane, attention_films)
PICTURES = [picture for module in MODULES for picture in module.PICTURES]


def alt_text(picture):
    """Return what a `picture` shows: the first paragraph of its function's docstring."""
    return " ".join(inspect.getdoc(picture).split("\n\n")[0].split())


def draw(picture, folder: Path = HERE):
    """Draw one picture into a folder; return the name of the file written."""
    drawn, alt = picture(), alt_text(picture)
    if isinstance(drawn, kit.Sheet):
        name, content = f"{picture.__name__}.svg", kit.still(drawn, alt)
    else:
        name = f"{picture.__name__}.json"
        scenes = ",\n".join(map(_json, drawn.pop("scenes")))  # a line each
        content = f'{_json({"alt": alt, **drawn})[:-1]},"scenes":[\n{scenes}]}}\n'
    Path(folder, name).write_text(content, encoding="utf-8")
    return name


def _json(values):
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def draw_all(folder: Path = HERE) -> list[str]:
    """Draw every picture into a folder; return the names of the files written."""
    return [draw(picture, folder) for picture in PICTURES]


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    draw_all()
