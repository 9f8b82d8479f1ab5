"""What is true of a wrong result on all inputs: a factor, a transpose, a shift, one part only."""

import inspect
import itertools
import math
from dataclasses import dataclass, field

import torch

from helpers.exercises import compare

_NUMBERS = ["result", "second result", "third result", "fourth result"]
MOST_AXES = 4  # permutations of more are not tried


@dataclass
class Evidence:
    """A wrong answer's results beside the right ones, input by input.

    Parameters
    ----------
    names : list of str
        Of the arguments.
    cases : list of tuples
        What went in.
    wanted, got : list of lists of Tensor
        What should have come out, and what did.
    labels : list of str
        What the parts of the result are called, such as "context" and "weights".
    """

    names: list
    cases: list
    wanted: list
    got: list
    labels: list = field(default_factory=list)

    def parts(self):
        """Yield each part of the result: its label, and (got, wanted) for every input."""
        for i in range(len(self.wanted[0])):
            label = self.labels[i] if i < len(self.labels) else _NUMBERS[i]
            yield (
                label,
                [
                    (g[i].double(), w[i].double())
                    for g, w in zip(self.got, self.wanted, strict=True)
                ],
            )

    def quantities(self):
        """Yield (words, values): every number that the inputs have, one value for each input."""
        for position, name in enumerate(self.names):
            held = [case[position] if position < len(case) else None for case in self.cases]
            if all(isinstance(h, int | float) and not isinstance(h, bool) for h in held):
                yield f"`{name}`", held
            elif all(isinstance(h, torch.Tensor) for h in held):
                for axis in range(-min(h.dim() for h in held), 0):
                    yield f"`{name}.shape[{axis}]`", [h.shape[axis] for h in held]


def explain(evidence):
    """Find what is true of a wrong result on all inputs.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    found : tuple of (str, str), or None
        A name of two or three words, and the explanation.
    """
    wrong = [(label, pairs) for label, pairs in evidence.parts() if not _all(_close, pairs)]
    right = [label for label, pairs in evidence.parts() if _all(_close, pairs)]
    if not wrong:
        return None
    found = None
    for test in (_as_a_function, _factor, _constant, _moved):
        answers = [test(pairs, evidence) for _, pairs in wrong]
        if all(answers) and len({name for name, _ in answers}) == 1:
            found = answers[0]
            break
    if not found:
        return None
    name, message = found
    alike = len({said for _, said in answers}) == 1
    if right or not alike:
        labels, messages = [label for label, _ in wrong], [said for _, said in answers]
        if alike:
            labels, messages = [" and ".join(labels)], [message]
        about = zip(labels, messages, strict=True)
        message = " ".join(f"As for the {label}: {_lower(said)}" for label, said in about)
    if right:
        message = f"{' and '.join(right).capitalize()}: right. {message}"
    return name, message


def _lower(text):
    return text[0].lower() + text[1:]


def _all(test, pairs):
    return all(test(g, w) for g, w in pairs)


def _close(a, b):
    return compare.close(a, b)


# The right result, and then something more, or something less.

AFTER = {
    "softmax": lambda t: t.softmax(-1),
    "softmax over the first axis": lambda t: t.softmax(0),
    "log_softmax": lambda t: t.log_softmax(-1),
    "exp": torch.exp,
    "log": torch.log,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "ReLU": torch.relu,
    "square": torch.square,
    "square root": torch.sqrt,
    "absolute value": torch.abs,
    "sum over the last axis": lambda t: t.sum(-1),
    "sum of everything": torch.sum,
    "mean over the last axis": lambda t: t.mean(-1),
    "mean of everything": torch.mean,
    "argmax": lambda t: t.argmax(-1).double(),
    "running sum": lambda t: t.cumsum(-1),
    "rounding": torch.round,
    "rounding down": torch.floor,
    "rounding up": torch.ceil,
    "sorting": lambda t: t.sort(-1).values,
    "sorting, largest first": lambda t: t.sort(-1, descending=True).values,
    "a division by the sum of each row": lambda t: t / t.sum(-1, keepdim=True),
    "a division by the length of each row": lambda t: t / t.norm(dim=-1, keepdim=True),
    "the mean taken away from each row": lambda t: t - t.mean(-1, keepdim=True),
    "one over it": lambda t: 1 / t,
    "one minus it": lambda t: 1 - t,
}


def _as_a_function(pairs, evidence):
    informative = any(w.numel() > 1 or len(pairs) > 2 for _, w in pairs)
    if not informative:
        return None
    if _is_truth(evidence):
        if _all(lambda g, w: _close(g, 1 - w), pairs):
            return "inverted", "True and False are exchanged everywhere. Invert it with ~."
        return None
    for name, function in AFTER.items():
        if _all(lambda g, w, f=function: _close(g, _tried(f, w)), pairs):
            message = f"This is the right result after one step too many: {name}. Leave that out."
            return "one step too many", message
    left_over = all(g.dim() and g.shape[-1] == 1 for g, _ in pairs)  # to squeeze, not to sum
    for name, function in AFTER.items():
        if left_over and name.endswith("over the last axis"):
            continue
        if _all(lambda g, w, f=function: _close(_tried(f, g), w), pairs) and _varied(pairs):
            message = f"One step is missing: after {name}, your result would be right."
            return "one step missing", message
    return None


def _is_truth(evidence):
    return all(part.dtype == torch.bool for parts in evidence.wanted for part in parts)


def _varied(pairs):
    """Say whether the results hold more than a few equal numbers; argmax of anything may fit."""
    return sum(len(w.unique()) for _, w in pairs) > 2 * len(pairs)


def _tried(function, tensor):
    try:
        return function(tensor)
    except (RuntimeError, IndexError):
        return None


# A factor, a constant.


def _factor(pairs, evidence):
    if _is_truth(evidence) or not all(g.shape == w.shape for g, w in pairs):
        return None
    factors = [_ratio(g, w) for g, w in pairs]
    if not all(factors) or all(abs(f - 1) < 1e-3 for f in factors):
        return None
    name = _named_factor(factors, evidence)
    if not name:
        return None
    if name == "−1":
        return "wrong sign", "Only the sign is wrong: every number should be its negative."
    return "wrong by a factor", f"Every number is {name} times what it should be."


def _ratio(got, wanted):
    """Return the one factor between two results; None if there is none."""
    finite = torch.isfinite(wanted)
    if not torch.equal(got[~finite], wanted[~finite]):
        return None
    got, wanted = got[finite], wanted[finite]
    if not wanted.numel() or wanted.abs().max() < 1e-6:
        return None
    largest = wanted.abs().argmax()
    factor = (got.flatten()[largest] / wanted.flatten()[largest]).item()
    return factor if abs(factor) > 1e-6 and _close(got, factor * wanted) else None


FORMS = [
    ("{}", lambda n: n),
    ("the square root of {}", lambda n: math.sqrt(n)),
    ("1 / {}", lambda n: 1 / n),
    ("1 / the square root of {}", lambda n: 1 / math.sqrt(n)),
    ("({} − 1)", lambda n: n - 1),
    ("the square of {}", lambda n: n * n),
]


def _same_numbers(a, b):
    return all(abs(x - y) <= 1e-3 * max(1e-3, abs(y)) for x, y in zip(a, b, strict=True))


def _named_factor(factors, evidence):
    if len(factors) > 1 and _same_numbers(factors, factors[:1] * len(factors)):
        return f"{factors[0]:.3g}".replace("-", "−")
    for words, values in evidence.quantities():
        if len(set(values)) < 2 or min(values) <= 0:
            continue
        for form, function in FORMS:
            if _same_numbers(factors, [function(v) for v in values]):
                return form.format(words)
    return None


def _constant(pairs, evidence):
    if _is_truth(evidence) or not all(g.shape == w.shape for g, w in pairs):
        return None
    differences = [_difference(g, w) for g, w in pairs]
    if None in differences or len(differences) < 2:
        return None
    first = differences[0]
    if abs(first) > 1e-3 and _same_numbers(differences, [first] * len(differences)):
        how = "too large" if first > 0 else "too small"
        return "wrong by a constant", f"Every number is {abs(first):.3g} {how}."
    for words, values in evidence.quantities():
        if len(set(values)) < 2:
            continue
        for sign, how in ((1, "too large"), (-1, "too small")):
            if _same_numbers(differences, [sign * v for v in values]):
                return "wrong by a constant", f"Every number is too {how[4:]} by {words}."
    return None


def _difference(got, wanted):
    finite = torch.isfinite(wanted)
    if not finite.any() or not torch.equal(got[~finite], wanted[~finite]):
        return None
    difference = (got - wanted)[finite]
    return (
        difference[0].item() if _close(difference, difference[:1].expand_as(difference)) else None
    )


# The right numbers in other places.


def _moved(pairs, evidence):
    for test in (_reshaped, _permuted, _reversed, _shifted, _longer):
        found = test(pairs)
        if found:
            return found
    return None


def _nontrivial(pairs):
    """Say whether somewhere two neighbours differ, so that moving them shows."""
    return any(len(w.unique()) > 1 for _, w in pairs)


def _reshaped(pairs):
    if all(g.shape == w.shape for g, w in pairs):
        return None
    if not all(g.numel() == w.numel() and _close(g.reshape(w.shape), w) for g, w in pairs):
        return None
    g, w = next((g, w) for g, w in pairs if g.shape != w.shape)
    return (
        "wrong shape",
        f"The numbers are right and in the right order, but the shape is not: expected shape "
        f"{tuple(w.shape)}; got {tuple(g.shape)}.{_size_one(pairs)}",
    )


def _size_one(pairs):
    """Say which dimension of size 1 is too many, if that's all that is wrong."""
    for i in range(pairs[0][0].dim()):
        if all(g.shape[i : i + 1] == (1,) and g.squeeze(i).shape == w.shape for g, w in pairs):
            return f" One dimension of size 1 is too many: .squeeze({i}) drops it."
    return ""


def _permuted(pairs):
    axes = {w.dim() for _, w in pairs} | {g.dim() for g, _ in pairs}
    if len(axes) != 1 or not 2 <= max(axes) <= MOST_AXES:
        return None
    n = axes.pop()
    for order in itertools.permutations(range(n)):
        if order != tuple(range(n)) and _all(lambda g, w, o=order: _close(g.permute(o), w), pairs):
            if order == (*range(n - 2), n - 1, n - 2):
                message = "The result is transposed: swap the last two axes."
            else:
                message = f"The axes are in another order: .permute{order} would make it right."
            return "transposed", message
    return None


def _reversed(pairs):
    if not _nontrivial(pairs) or not all(g.shape == w.shape for g, w in pairs):
        return None
    for axis in range(-min(w.dim() for _, w in pairs), 0):
        if _all(lambda g, w, a=axis: _close(g.flip(a), w), pairs):
            return "reversed", f"The right numbers, in reverse order along axis {axis}."
    return None


def _shifted(pairs):
    if not _nontrivial(pairs) or not all(g.shape == w.shape for g, w in pairs):
        return None
    for axis in range(-min(w.dim() for _, w in pairs), 0):
        lengths = [w.shape[axis] for _, w in pairs]
        if max(lengths) < 3:
            continue
        for way, words in ((1, "too far along"), (-1, "too early")):
            if _all(lambda g, w, a=axis, s=way: _fits_shifted(g, w, a, s), pairs):
                return "shifted by one", f"Everything stands one place {words} on axis {axis}."
    return None


def _fits_shifted(got, wanted, axis, way):
    n = wanted.shape[axis]
    if n < 2:
        return True
    early, late = (got, wanted) if way < 0 else (wanted, got)
    return _close(early.narrow(axis, 0, n - 1), late.narrow(axis, 1, n - 1)) and not _close(
        got, wanted
    )


def _longer(pairs):
    """One too many or one too few along an axis, at the front or at the end."""
    for axis in range(-min(w.dim() for _, w in pairs), 0):
        for more in (1, -1):
            for front in (True, False):
                if _all(lambda g, w, a=axis, m=more, f=front: _has_one(g, w, a, m, f), pairs):
                    many = "too many" if more > 0 else "too few"
                    where = "at the front" if front else "at the end"
                    place = "" if pairs[0][1].dim() == 1 else f" along axis {axis}"
                    return f"one {many}", f"There is one {many} {where}{place}; the rest is right."
    return None


def _has_one(got, wanted, axis, more, front):
    long, short = (got, wanted) if more > 0 else (wanted, got)
    if long.dim() != short.dim() or long.shape[axis] != short.shape[axis] + 1:
        return False
    n = short.shape[axis]
    return n > 0 and _close(long.narrow(axis, 1 if front else 0, n), short)


# Right on some inputs, or in some places, only.


def names_of(function):
    """List the names of a function's arguments."""
    return list(inspect.signature(function).parameters)
