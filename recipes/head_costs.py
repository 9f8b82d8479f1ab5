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
    """Measure on the captions that the lesson shows, and on the others, four at a time."""
    fours = [CAPTIONS[i : i + 4] for i in range(0, len(CAPTIONS), 4)]
    shown, *others = [HeadSwitches(load_translator(), four) for four in fours]
    costs = {name: round(cost, 5) for name, cost in shown.measure_costs().items()}
    elsewhere = [widget.measure_costs() for widget in others]
    means = {name: round(sum(one[name] for one in elsewhere) / len(elsewhere), 5) for name in costs}
    found = {"pairs": fours[0], "loss": round(shown.numbers["loss"], 5), "costs": costs}
    n_others = len(CAPTIONS) - len(fours[0])
    store("head_costs", {**found, "others": means, "n others": n_others}, indent=None)


if __name__ == "__main__":
    main()
