"""Draw the course's pictures: one picture, one function, one name. Run as ``make images``.

Each function returns a matplotlib figure; the picture is named after it, and its alt text is the
docstring's first line, written beside it.
"""

import inspect
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from helpers import plots
from helpers.pretrained import load_translator

HERE = Path(__file__).parent


def attention_of_a_translation():
    """A heatmap: rows are English words as they are written, columns the French words read; red and coat cross over."""
    plots.style()
    sentence = "Une petite fille en manteau rouge joue avec un chien noir."
    weights, written, read = load_translator().attend(sentence).maps["cross"]
    return plots.attention_heatmap(weights[-1].mean(0), written, read).figure


PICTURES = [attention_of_a_translation]


def draw_all(folder=HERE):
    """Draw every picture into a folder, with its alt text beside it.

    Parameters
    ----------
    folder : Path, default=this one
    """
    for picture in PICTURES:
        figure = picture()
        path = Path(folder) / f"{picture.__name__}.png"
        figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": None})
        alt = inspect.getdoc(picture).splitlines()[0]
        path.with_suffix(".txt").write_text(alt + "\n", encoding="utf-8")


if __name__ == "__main__":
    draw_all()
