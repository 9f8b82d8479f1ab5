"""Silence each head of the translator alone, for lesson 06.

    python -m recipes.head_costs     # seconds

Writes ``head_costs.json``, with which the head switches open at once, to
``helpers/pretrained/results``.
"""

from helpers.data.captions import CAPTIONS
from helpers.pretrained.measured import store
from helpers.pretrained.translator import load_translator
from helpers.widgets.head_switches import HeadSwitches


def main():
    """Measure on the captions that the lesson shows."""
    widget = HeadSwitches(load_translator(), CAPTIONS[:4])
    costs = {name: round(cost, 5) for name, cost in widget.measure_costs().items()}
    loss = round(widget.numbers["loss"], 5)
    store("head_costs", {"pairs": CAPTIONS[:4], "loss": loss, "costs": costs}, indent=None)


if __name__ == "__main__":
    main()
