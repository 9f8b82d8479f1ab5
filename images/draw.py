"""Draw the course's pictures: one picture, one function, one name. Run as ``make images``.

A picture's function stands in one of the modules beside this one, in their list ``PICTURES``. It
returns a `Sheet` (a drawing), a list of sheets (a film) or a matplotlib figure. The picture is
named after it, and its alt text is the docstring's first paragraph.
"""

import argparse
import inspect
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from images import charts, diagrams, kit, moving, networks, numbers, one_plane, words

HERE = Path(__file__).parent
MODULES = (charts, diagrams, networks, numbers, words, moving, one_plane)
PICTURES = [picture for module in MODULES for picture in module.PICTURES]


def alt_text(picture):
    """Return what a picture shows: the first paragraph of its docstring.

    Parameters
    ----------
    picture : function
    """
    return " ".join(inspect.getdoc(picture).split("\n\n")[0].split())


def draw(picture, folder=HERE):
    """Draw one picture into a folder; return the names of the files written.

    Parameters
    ----------
    picture : function
    folder : Path, default=this one
    """
    drawn, alt, path = picture(), alt_text(picture), Path(folder) / picture.__name__
    if isinstance(drawn, kit.Sheet | list):
        if isinstance(drawn, list):
            pace, once = getattr(picture, "seconds", kit.PACE), getattr(picture, "once", False)
            svg = kit.film(drawn, alt, pace, once=once)
        else:
            svg = kit.still(drawn, alt)
        path.with_suffix(".svg").write_text(svg, encoding="utf-8")
        return [f"{path.name}.svg"]
    drawn.savefig(
        path.with_suffix(".png"), dpi=110, bbox_inches="tight", metadata={"Software": None}
    )
    path.with_suffix(".txt").write_text(alt + "\n", encoding="utf-8")
    return [f"{path.name}.png", f"{path.name}.txt"]


def draw_all(folder: Path = HERE):
    """Draw every picture into a folder; return the names of the files written."""
    return [name for picture in PICTURES for name in draw(picture, folder)]


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    draw_all()
