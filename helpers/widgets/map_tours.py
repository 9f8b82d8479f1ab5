"""The map's tours: sentences that drive the picture, filled in with the learner's own words."""

from helpers.machine.tables import table_beside
from helpers.pretrained.recurrent_trace import RecurrentTrace
from helpers.widgets.loss_words import loss_words, one_step
from helpers.widgets.map_words import words_of
from helpers.widgets.recurrent_tour import recurrent_tour

STRIP = 32  # entries of a vector in a colour strip: `map_data.entries` chooses them

_DATA = table_beside(__file__)
STEPS, TOURS, INSTEAD, BUILT = (_DATA[key] for key in ("steps", "tours", "instead", "built"))
# Which steps a model with a single stack doesn't have.
_OF_TWO_STACKS = {
    "memory", "cross", "cross-queries", "follow-target", "forced", "loss", "gradient", "training",
    "mask", "masked-weights",
}  # fmt: skip
_WITHOUT_DECODER = {"masked", "loop", "logits", *_OF_TWO_STACKS}
WITHOUT = {
    "": {"output", "leave", *_WITHOUT_DECODER},
    "GPT": {"self-attention", "leave", *_OF_TWO_STACKS},
    "ViT": _WITHOUT_DECODER - {"memory"},
}


def tour_of(trace, tour, off=()) -> list[dict]:
    """Write a tour for one trace: a name from `TOURS`, names from `STEPS`, or "" for none.

    Each step has its `text` and what it sets: `place`, `follow`, `written`, `beat`, `parts`. Heads
    that are `off` aren't spoken of. If there is no such tour or step, it is a ValueError.
    """
    if isinstance(tour, str) and tour and tour not in TOURS:
        raise ValueError(f"there is no tour {tour!r}; there are: {', '.join(TOURS)}.")
    names = TOURS[tour] if isinstance(tour, str) and tour else list(tour)
    unknown = [name for name in names if name not in STEPS]
    if unknown:
        raise ValueError(f"the tour has no step {unknown[0]!r}; there are: {', '.join(STEPS)}.")
    if isinstance(trace, RecurrentTrace):
        return recurrent_tour(trace) if names else []
    if len(trace.stacks) == 1:
        untrue = {"positions-rotary": trace.adds_positions, "choose": not trace.choices}
        instead = INSTEAD[trace.kind].items()
        instead = {name: other for name, other in instead if not untrue.get(other)}
        names = [instead.get(name, name) for name in names if name not in WITHOUT[trace.kind]]
    names = [name for name in names if name != "why" or trace.splits]
    words = words_of(trace, off)
    words["shown"] = min(STRIP, words["width"])
    if len(trace.stacks) == 2:
        words |= loss_words(trace) | (one_step(trace) if "training" in names else {})
    return [_filled(words, STEPS[name]) for name in names]


def _filled(words, step):
    def fill(value):
        return words.get(value[1:-1], value.format(**words)) if isinstance(value, str) else value

    return {key: fill(value) for key, value in step.items()}
