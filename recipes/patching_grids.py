"""Patch every vector of one sentence into another, for the widget that opens without the model.

    python -m recipes.patching_grids      # about two minutes on two cores

Writes ``helpers/pretrained/results/patching_grids.json``.
"""

from helpers.pretrained.measured import store
from helpers.pretrained.smollm import load_smollm
from helpers.widgets.patching import measure_grid

# Sentences of equally many tokens, with what they're about exchanged.
FAMILIES = (
    [f"The capital of {country} is" for country in ("France", "Germany", "Italy", "Japan")],
    [f"When Mary and John went to the store, {name} gave a drink to" for name in ("John", "Mary")],
    [f"My {who} is tired, so I told" for who in ("uncle", "aunt")],
    [f"The {what} to the old wooden cabinet" for what in ("key", "keys")],
    ["Monday, Tuesday, Wednesday,", "Friday, Saturday, Sunday,"],
)


def main():
    """Measure and store all pairs of each family."""
    smol = load_smollm()
    grids = {
        f"{source} → {target}": measure_grid(smol, source, target)
        for family in FAMILIES
        for source in family
        for target in family
        if source != target
    }
    store("patching_grids", {"families": FAMILIES, "grids": grids}, indent=None)


if __name__ == "__main__":
    main()
