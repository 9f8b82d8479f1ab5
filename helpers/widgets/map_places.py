"""Where one can be in the map, and which parts it can light."""

from helpers.pretrained.recurrent_trace import RecurrentTrace
from helpers.widgets.map_data import WIDE_STRIP, entries
from helpers.widgets.map_inside import LETTERS

# What a lesson builds, in the course's order: what `here` can be.
HERE = (
    "embeddings", "positions", "encoder", "self-attention", "head", "multi-head", "feed-forward",
    "add-and-norm", "decoder", "masked-self-attention", "cross-attention", "output", "decoding",
    "loss", "training",
)  # fmt: skip
WITHOUT = {  # what a model with a single stack doesn't have
    "": HERE[HERE.index("decoder") :],
    "ViT": ("decoder", "masked-self-attention", "cross-attention", "decoding"),
    "GPT": ("encoder", "self-attention", "cross-attention"),
}
RECURRENT = ("encoder", "cross-attention", "decoder", "output")


def parts_of(trace) -> tuple[str, ...]:
    """List what `here` can be for a `trace`."""
    if isinstance(trace, RecurrentTrace):
        return RECURRENT
    if len(trace.stacks) == 2:
        return HERE
    return tuple(part for part in HERE if part not in WITHOUT[trace.kind])


def is_place(trace, place: str) -> bool:
    """Tell whether there is such a place in a `trace`.

    "" is the whole model, "encoder/0" a layer, "encoder/0/self-attention/2" a head,
    "encoder/0/self-attention/2/3,4" one score, "decoder/output", "encoder/embedding" and, with the
    third token and the next swapped, "encoder/embedding/2";
    "encoder/0/self-attention/norm/3" the norm at token 3, "encoder/0/feed-forward/neuron/14,3" a
    neuron there, one of those that the map shows; "encoder/0/self-attention/join/3" the heads'
    mixtures of token 3, joined; "encoder/0/self-attention/2/q/3" the query's projection (or "k",
    "v"), and "encoder/0/self-attention/2/3,4/why" the parts of a score,
    compared with those of key 1 by ".../why,1"; "heads" compares a translator's heads; in a
    recurrent pair "score/3,1".
    """
    if not place:
        return True
    if place == "heads":
        return not isinstance(trace, RecurrentTrace) and trace.splits and trace.again is not None
    name, _, rest = place.partition("/")
    if isinstance(trace, RecurrentTrace):
        return name == "score" and _are_below(rest.split(","), trace.scores.shape)
    stack = _stack(trace, name)
    if stack is None or rest in ("embedding", "output"):
        answers = trace.candidates and stack is trace.stacks[-1]
        return stack is not None and (rest == "embedding" or bool(answers))
    layer, *more = rest.split("/")
    if layer == "embedding":
        return _are_below(more, [len(stack.tokens) - 1])
    if not _are_below([layer], [len(stack.layers)]):
        return False
    heads = {part.kind: part.heads for part in stack.layers[int(layer)] if part.heads}
    if len(more) == 3 and more[1] in ("norm", "neuron", "join"):
        return trace.network is not None and _is_inside(stack, int(layer), *more)
    if len(more) == 4:
        return trace.network is not None and more[0] in heads and _is_asked(trace, heads, *more)
    return not more or (len(more) in (2, 3) and more[0] in heads and _is_head(heads, *more))


def is_head(trace, place: str) -> bool:
    """Tell whether `place` is a head of a `trace` that a translator can make again without it."""
    head = place.count("/") == 3 and is_place(trace, place)
    return head and trace.splits and trace.again is not None


def is_patch(trace, patch: int) -> bool:
    """Tell whether a ViT can read the picture of a `trace` again without this `patch`."""
    chosen = getattr(trace, "choices", ()) and int(trace.text) >= 0
    return bool(chosen) and 0 < patch < len(trace.encoder.tokens)


def is_token(trace, follow) -> bool:
    """Tell whether a `trace` has a token to `follow`: "encoder:3", "decoder:0", or "" for none."""
    name, _, row = follow.partition(":")
    stack = None if isinstance(trace, RecurrentTrace) else _stack(trace, name)
    return not follow or (stack is not None and _are_below([row], [len(stack.tokens)]))


def _stack(trace, name):
    return getattr(trace, name) if name in ("encoder", "decoder") else None


def _is_head(heads, kind, head, cell="0,0"):
    return _are_below([head, *cell.split(",")], heads[kind].scores.shape)


def _is_asked(trace, heads, kind, head, what, which):
    if which.startswith("why"):
        query, _, key = what.partition(",")
        asked = [key, *([which[4:]] if which != "why" else [])]
        cells = [f"{query},{one}" for one in asked]
        if not trace.splits or which[3:4] not in ("", ",") or len(set(asked)) < len(asked):
            return False
        if not all(_is_head(heads, kind, head, cell) for cell in cells):
            return False
        return all(heads[kind].mask[int(head), int(query), int(one)] for one in asked)
    rows = heads[kind].query if what == "q" else heads[kind].key
    return what in LETTERS and _are_below([head, which], rows.shape[:2])


def _is_inside(stack, layer, kind, what, which):
    part = next((part for part in stack.layers[layer] if part.kind == kind), None)
    numbers = which.split(",")
    if part is None or not _are_below(numbers[-1:], [len(stack.tokens)]):
        return False
    if what != "neuron" or part.hidden is None:
        return (what == "norm" or (what == "join" and bool(part.heads))) and len(numbers) == 1
    shown = entries(part.hidden.shape[-1], WIDE_STRIP)
    return len(numbers) == 2 and numbers[0] in [str(one) for one in shown]


def _are_below(numbers, limits):
    if len(numbers) != len(limits) or not all(number.isdecimal() for number in numbers):
        return False
    return all(int(number) < limit for number, limit in zip(numbers, limits, strict=True))
