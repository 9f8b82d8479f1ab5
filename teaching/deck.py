"""The slide show of a teacher's copy: the notebook's own cells, one thing at a time, alive.

A button starts it in full screen. The cells aren't copied, they're shown where they are, so a
slider moves and a cell runs on a slide as it does in the notebook. What fits on one slide is
measured in the browser, at the size at which the last row can read it.
"""

from pathlib import Path

import anywidget
import traitlets

from notebooks.build import FOLDED

HERE = Path(__file__).resolve().parent


class Deck(anywidget.AnyWidget):
    """A button that shows the notebook around it as slides."""

    _esm = HERE / "deck.js"
    _css = HERE / "deck.css"

    notes = traitlets.Unicode(FOLDED["notes"]).tag(sync=True)  # how a cell begins that isn't shown
