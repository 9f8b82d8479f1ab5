"""Patch every vector of one sentence into another, and every head; for lesson 20.

    python -m recipes.patching_grids [grids heads]     # about two minutes each on two cores

Writes ``patching_grids.json``, with which the widget opens without the model, and
``capital_heads.json`` to ``helpers/pretrained/results``.
"""

import argparse

import torch

from helpers.models.interventions import heads_patched, heads_silenced
from helpers.pretrained.measured import store
from helpers.pretrained.smollm import load_smollm
from helpers.widgets.patching import measure_grid
from recipes.smollm import TASKS

# Sentences of equally many tokens, with what they're about exchanged.
FAMILIES = (
    [f"The capital of {country} is" for country in ("France", "Germany", "Italy", "Japan")],
    [f"When Mary and John went to the store, {name} gave a drink to" for name in ("John", "Mary")],
    [f"My {who} is tired, so I told" for who in ("uncle", "aunt")],
    [f"The {what} to the old wooden cabinet" for what in ("key", "keys")],
)

# Heads are found on the first eight, two and two, and silenced in all ten.
COUNTRIES = (
    *("France", "Germany", "Italy", "Japan", "Spain", "Greece", "Russia", "China"),
    *("Austria", "Portugal"),
)


def store_grids(smol):
    """Measure and store all pairs of each family."""
    grids = {
        f"{source} → {target}": measure_grid(smol, source, target)
        for family in FAMILIES
        for source in family
        for target in family
        if source != target
    }
    store("patching_grids", {"families": FAMILIES, "grids": grids}, indent=None)


def store_heads(smol):
    """Patch and silence all 270 heads where a capital is asked for."""
    model, capitals = smol.model, TASKS["capitals"]
    ids = torch.stack([smol.encode(f"The capital of {country} is") for country in COUNTRIES])
    answers = torch.tensor([smol.encode(" " + capitals[country])[0] for country in COUNTRIES])
    heads = [(layer, head) for layer in range(30) for head in range(9)]

    def over_the_other(logits):
        pairs = logits.gather(1, torch.stack([answers[:8:2], answers[1:8:2]], dim=1))
        return pairs[:, 0] - pairs[:, 1]

    def over_all_others(logits):
        among = logits[:, answers]
        own = among.diagonal()
        return own - (among.sum(1) - own) / (len(answers) - 1)

    patched = heads_patched(model, ids[:8:2], ids[1:8:2], over_the_other, heads)  # (270, 4)
    silenced = heads_silenced(model, ids, over_all_others, heads)  # (270, 10)
    tables = {"patched": patched, "silenced": silenced}
    found = {
        name: [[round(x, 3) for x in row] for row in table.mean(1).view(30, 9).tolist()]
        for name, table in tables.items()
    }
    store("capital_heads", {"countries": COUNTRIES, **found}, indent=None)


def main():
    """Measure what was asked for."""
    kinds = {"grids": store_grids, "heads": store_heads}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=list(kinds), choices=list(kinds))
    smol = load_smollm()
    for kind in parser.parse_args().kinds:
        kinds[kind](smol)


if __name__ == "__main__":
    main()
