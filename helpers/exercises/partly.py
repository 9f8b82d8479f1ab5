"""Where a wrong result is right: without a mask, for square shapes, in the first sentence only."""

import torch

from helpers.exercises import compare


def explain(evidence):
    """Say on which inputs, or in which places of each, a wrong result is right.

    Parameters
    ----------
    evidence : properties.Evidence

    Returns
    -------
    found : tuple of (str, str), or None
        A name of two or three words, and the explanation.
    """
    return (
        _first_only(evidence)
        or _some_inputs(evidence)
        or _some_places(evidence)
        or _rows(evidence)
        or _sizes(evidence)
    )


def _first_only(evidence):
    """Say that, wherever a result is wrong, its first entry is right and all others are not."""
    wrong = [
        (g, w)
        for got, wanted in zip(evidence.got, evidence.wanted, strict=True)
        if not _right(got, wanted)
        for g, w in zip(got, wanted, strict=True)
    ]
    if all(
        g.shape == w.shape
        and w.dim() > 1
        and len(w) > 1
        and compare.close(g[0], w[0])
        and not any(map(compare.close, g[1:], w[1:]))
        for g, w in wrong
    ):
        return "right for the first only", (
            "Only the first entry along dimension 0, such as the first sentence of a batch, is "
            "right. The same has to happen for every one."
        )
    return None


def _some_inputs(evidence):
    """Find a condition that holds on just those inputs where the result is right."""
    right = [_right(g, w) for g, w in zip(evidence.got, evidence.wanted, strict=True)]
    if all(right) or not any(right):
        return None
    name = "right on some inputs only"
    for position, argument in enumerate(evidence.names):
        given = [len(case) > position and case[position] is not None for case in evidence.cases]
        if right in (given, [not g for g in given]):
            word = "with" if right == given else "without"
            return name, f"Your result is right {word} `{argument}`, and only then."
    fitting = [words for words, holds in _conditions(evidence) if holds == right]
    enough = len(right) > 3 and 1 < sum(right) < len(right) - 1
    if len(fitting) == 1 and enough:
        return name, f"Your result is right {fitting[0]}, and only then."
    shown = [_sizes_of(evidence.names, case) for case in evidence.cases]
    wrong = next(text for text, fine in zip(shown, right, strict=True) if not fine)
    fine = next(text for text, fine in zip(shown, right, strict=True) if fine)
    return name, f"Your result is right for ({fine}), but wrong for ({wrong}). What differs?"


def _sizes_of(names, case):
    """Name the numbers and shapes of a case."""
    return ", ".join(
        f"{name} {tuple(value.shape) if isinstance(value, torch.Tensor) else value}"
        for name, value in zip(names, case, strict=False)
        if isinstance(value, torch.Tensor | int | float | list)
    )


def _right(got, wanted):
    return len(got) == len(wanted) and all(
        compare.close(g.double(), w.double()) for g, w in zip(got, wanted, strict=True)
    )


def _conditions(evidence):
    """Yield (words, truth for each input)."""
    quantities = list(evidence.quantities())
    for words, values in quantities:
        yield f"if {words} is 1", [v == 1 for v in values]
        yield f"if {words} is 0", [v == 0 for v in values]
    for i, (a, x) in enumerate(quantities):
        for b, y in quantities[i + 1 :]:
            yield f"if {a} equals {b}", [m == n for m, n in zip(x, y, strict=True)]
            if all(isinstance(v, int) and v > 0 for v in (*x, *y)):
                multiples = [m % n == 0 for m, n in zip(x, y, strict=True)]
                yield f"if {a} is a multiple of {b}", multiples


def _some_places(evidence):
    """Find which places are right, the same on every input: the first row, the diagonal …"""
    for label, pairs in evidence.parts():
        if all(compare.close(g, w) for g, w in pairs):
            continue
        if not all(g.shape == w.shape for g, w in pairs):
            return None
        hits = [_equal(g, w) for g, w in pairs]
        for words, wrong_places in _places(pairs):
            expected = [wrong_places(h) for h in hits]
            if all(e is not None for e in expected) and _says_something(hits, expected):
                return (
                    "right in some places only",
                    f"The {label}: only {words}; everything else is right.",
                )
    return None


def _equal(got, wanted):
    # Infinities are equal to themselves, NaN to nothing.
    close = (got - wanted).abs() <= compare.TOLERANCE * (1 + wanted.abs())
    return close | (got == wanted)


def _says_something(hits, expected):
    """Every wrong place is one of those named, every input has one, and some places are right."""
    wrong = [~hit for hit in hits]
    return (
        all(torch.equal(w, w & e) for w, e in zip(wrong, expected, strict=True))
        and all(w.any() for w in wrong)
        and all((~e).any() for e in expected)
        and all((w.sum() * 2 >= e.sum()) for w, e in zip(wrong, expected, strict=True))
    )


def _places(pairs):
    """Yield (words, function from a tensor of hits to the places meant; None if they don't fit)."""
    axes = min(w.dim() for _, w in pairs)
    for axis in range(-axes, 0):
        name = f"along axis {axis}"
        yield f"the first one {name} is wrong", _at(axis, lambda i, n: i == 0)
        yield f"the last one {name} is wrong", _at(axis, lambda i, n: i == n - 1)
        yield f"what comes after the first one {name} is wrong", _at(axis, lambda i, n: i > 0)
        yield f"what comes before the last one {name} is wrong", _at(axis, lambda i, n: i < n - 1)
        yield f"every second one {name} (1, 3, …) is wrong", _at(axis, lambda i, n: i % 2 == 1)
        yield f"every second one {name} (0, 2, …) is wrong", _at(axis, lambda i, n: i % 2 == 0)
    if axes >= 2:
        yield "the diagonal is wrong", lambda hit: _square(hit, lambda r, c: r == c)
        yield "what lies above the diagonal is wrong", lambda hit: _square(hit, lambda r, c: c > r)
        yield "what lies below the diagonal is wrong", lambda hit: _square(hit, lambda r, c: c < r)


def _at(axis, chosen):
    def places(hit):
        n = hit.shape[axis]
        shape = [1] * hit.dim()
        shape[axis] = n
        line = torch.tensor([bool(chosen(i, n)) for i in range(n)])
        return line.reshape(shape).expand_as(hit)

    return places


def _square(hit, chosen):
    rows, columns = (torch.arange(n) for n in hit.shape[-2:])
    return chosen(rows[:, None], columns[None]).expand_as(hit)


def _rows(evidence):
    """Say that rows which should sum to one do not."""
    for label, pairs in evidence.parts():
        if not all(w.dim() and w.shape == g.shape for g, w in pairs):
            continue
        if not all(_sums_to_one(w, -1) for _, w in pairs) or not any(
            w.numel() > 1 for _, w in pairs
        ):
            continue
        if any(_sums_to_one(g, -1) for g, _ in pairs):
            continue
        for axis in range(-min(w.dim() for _, w in pairs), -1):
            if all(_sums_to_one(g, axis) for g, _ in pairs):
                return (
                    "sums to one along another axis",
                    f"Every row of the {label} should sum to 1. Yours sum to 1 along axis {axis}.",
                )
        total = pairs[0][0].sum(-1).flatten()[0].item()
        return (
            "rows do not sum to one",
            f"Every row of the {label} should sum to 1; your first one sums to {total:.3g}.",
        )
    return None


def _sums_to_one(tensor, axis):
    total = tensor.sum(axis)
    return compare.close(total, torch.ones_like(total))


def _sizes(evidence):
    """Whole numbers that are always right, or off by one to the same side."""
    pairs = [(g[0], w[0]) for g, w in zip(evidence.got, evidence.wanted, strict=True)]
    if len(pairs) < 3 or any(g.numel() != 1 or w.numel() != 1 for g, w in pairs):
        return None
    differences = [(g - w).double().item() for g, w in pairs]
    for sign, how in ((1, "too large"), (-1, "too small")):
        if all(d in (0.0, float(sign)) for d in differences):
            where = ", ".join(
                str(tuple(case)) for case, d in zip(evidence.cases, differences, strict=True) if d
            )
            return f"one {how}", f"Your result is one {how} for {where}, and right otherwise."
    return None
