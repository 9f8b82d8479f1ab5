"""The check: from "not attempted" through the known mistakes to the smallest differing input."""

import contextlib
import dis
import functools
import inspect
import linecache
import re
import sys
import traceback
import types
import warnings
from dataclasses import replace

import numpy
import torch

from helpers.exercises import advice, compare, diagnosis, own_file, panels
from helpers.exercises.model import find
from helpers.exercises.progress import record
from helpers.exercises.verdicts import Failed, Verdict, at_its_stage
from helpers.exercises.verdicts import fail as _fail

FLOATS = (
    "The numbers are right, but they are floats. Ids and places are whole numbers, and nn.Embedding "
    "refuses anything else; torch.full_like, for one, keeps the type."
)
NO_STEPS = ("RESUME", "NOP", "CACHE")


def check(name, answer):
    """Say whether an answer is right, and if not, what went wrong.

    Parameters
    ----------
    name : str
        The exercise.
    answer : function
        With the signature of the exercise.

    Returns
    -------
    verdict : Verdict
        Shows itself in a notebook. `check` itself never raises, whatever the answer does.
    """
    verdict = at_its_stage(name, judge(name, answer), lambda: _what_mends(name, answer))
    if verdict.passed:
        kept = own_file.keep(name, answer), find(name).then
        verdict = replace(verdict, kept=" ".join(filter(None, kept)))
    attempted = verdict.mistake not in ("not attempted", "unknown exercise")
    if attempted and (note := record("exercises", name, verdict.passed, verdict.mistake)):
        print(note)
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if not hasattr(shell, "kernel"):  # a terminal, where no panel can be shown
        print(verdict)
    return verdict


def _what_mends(name, answer):
    found = diagnosis.search(find(name)).repair(answer, [])
    return f" {found.stages[0]} {found.mend}" if found and found.mend else ""


def judge(name, answer, here=True):
    """Do what `check` does with a `name` and an `answer`, but record nothing and print nothing.

    Without `here` the answer runs in another process, from which numbers come back and no graph.
    """
    try:
        exercise = find(name, "exercise")
    except ValueError as error:
        return Verdict(False, "unknown exercise", str(error))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the verdict says it, in a beginner's words
            verdict = _check(exercise, answer)
            if verdict.passed and here:
                _demand_gradient(exercise, exercise.as_function(answer))
            return verdict
    except Failed as failed:
        return failed.verdict
    except Exception as error:
        # Nothing should come here. Whatever an answer returns, a lesson must go on.
        if compare.STRICT:
            raise
        return Verdict(
            False, "wrong type", f"This result cannot be compared: {type(error).__name__}."
        )


def _check(exercise, answer):
    if is_stub(answer):
        raise Failed(not_attempted(exercise, advice.n_open_gaps(answer)))
    if not callable(answer):
        _fail("wrong type", f"Expected a function; got {compare.describe(answer)}.")
    answer = exercise.as_function(answer)
    search = diagnosis.search(exercise)
    cases, wanted = search.cases, search.wanted
    got = [
        _run(exercise, answer, case, search.form, parts)
        for case, parts in zip(cases, wanted, strict=True)
    ]
    if all(map(compare.same, got, wanted)):
        if not all(map(compare.whole, got, wanted)):
            _fail("wrong type", FLOATS)
        for case, w in search.fresh:
            if not compare.same(g := _run(exercise, answer, case, search.form, w), w):
                return _smallest_difference(exercise, answer, case, g, w, "")
        n = len(cases) + len(search.fresh)
        return Verdict(True, "", f"Right on all {n} inputs. {exercise.look_at}")
    _demand_precision(got, wanted)
    # An explanation first: the result may well have the wrong shape too, and a cause says more.
    first = next(i for i in range(len(cases)) if not compare.same(got[i], wanted[i]))
    picture = panels.side_by_side(_as_result(wanted[first]), _as_result(got[first]))

    def again(case):
        try:
            return _run(exercise, answer, case, search.form, None)
        except Failed:
            return None

    if found := search.explain(got, again, answer):
        picture = panels.side_by_side(*found.numbers) if found.numbers else picture
        return Verdict(False, found.name, found.message, picture, stages=found.stages)
    for case, g, w in zip(cases, got, wanted, strict=True):
        _demand_shape(exercise, answer, case, g, w)
    right = [compare.same(*pair) for pair in zip(got, wanted, strict=True)]
    tally = _tally(exercise, cases, right)
    return _smallest_difference(exercise, answer, cases[first], got[first], wanted[first], tally)


def _demand_gradient(exercise, answer):
    """Fail if something that is trained later stops the gradient, or a part of it."""
    for case, wanted in _gradients(exercise.name) if exercise.trained else ():
        try:
            got = _gradient(answer, case)
        except Exception as error:
            got = [] if "requires grad" in str(error) else wanted
        finite = [g.isfinite() & w.isfinite() for g, w in zip(got, wanted, strict=False)]
        pairs = [(g[f], w[f]) for g, w, f in zip(got, wanted, finite, strict=False)]
        if not got or not all(compare.close(*pair) for pair in pairs):
            flows, well = ("only a part of the", " properly") if got else ("no", "")
            _fail(
                "gradient cut" if got else "no gradient",
                f"The numbers are right, but {flows} gradient can flow back through them, so a model "
                f"with this part in it couldn't learn{well}. NumPy, .detach(), .item(), .tolist() and "
                f"torch.no_grad() all cut the way back. Stay with PyTorch from the inputs to the "
                f"result.",
            )


@functools.cache
def _gradients(name):
    """List the inputs from which a gradient flows through the tested version, with that gradient."""
    exercise = find(name)
    tested = exercise.as_function(exercise.tested)
    with contextlib.suppress(ValueError):  # a model's optimiser takes no results for parameters
        cases = diagnosis.search(exercise).cases
        return [(case, found) for case in cases if (found := _gradient(tested, case))]
    return []


def _gradient(function, case):
    """List the gradients by the inputs, each number of the result weighed differently; [] if cut."""
    # Times 1, because what is no leaf may be changed in place.
    one = torch.ones((), requires_grad=True)
    given = [x * one.to(x.dtype) if _is_float(x) else x for x in compare.copy(case)]
    with torch.enable_grad(), compare.time_limit():
        result = function(*given)
        parts = result if isinstance(result, tuple | list) else (result,)
        parts = [part.flatten() for part in parts if _is_float(part) and part.requires_grad]
        total = sum((part * torch.arange(len(part)).cos()).sum() for part in parts)
    by = [x for x in given if _is_float(x)]
    found = torch.autograd.grad(total, by, allow_unused=True) if parts else ()
    zeros = [torch.zeros_like(x) if g is None else g for g, x in zip(found, by, strict=False)]
    return zeros if any(g is not None for g in found) else []


def _is_float(x):
    return isinstance(x, torch.Tensor) and x.is_floating_point()


def _as_result(parts):
    return parts[0] if len(parts) == 1 else tuple(parts)


def is_stub(answer):
    """Say whether an answer is None, an ellipsis, or a function with no body or a gap in it."""
    if answer is None or answer is ...:
        return True
    if isinstance(answer, type):
        return any(isinstance(m, types.FunctionType) and is_stub(m) for m in vars(answer).values())
    if _code(answer) is None:
        return False
    if advice.n_open_gaps(answer):
        return True
    steps = [step for step in dis.get_instructions(answer) if step.opname not in NO_STEPS]
    # Load one constant and return it, or both in one instruction, as later Pythons do.
    empty = [step.opname for step in steps] in (["LOAD_CONST", "RETURN_VALUE"], ["RETURN_CONST"])
    return empty and steps[0].argval in (None, ...)


def not_attempted(exercise, n_gaps=0):
    """Make the verdict for the stub of an `exercise`, or for an answer with `n_gaps` left open."""
    state = "not attempted yet. Write your answer above and run the cell again"
    if n_gaps:
        still = "one gap is" if n_gaps == 1 else f"{n_gaps} gaps are"
        state = f"{still} still open. Put your code where the ... is and run the cell again"
    goes_on = "your earlier answer" if own_file.earlier(exercise.name) else "the tested version"
    return Verdict(
        False,
        "not attempted",
        f'{exercise.name}: {state}; exercises.hint("{exercise.name}") helps. The lesson goes on '
        f"with {goes_on}.",
    )


def _code(answer):
    """Return the code of a function, method or class; None for what may lie about it."""
    if isinstance(answer, type):
        answer = next((m for m in vars(answer).values() if _code(m)), None)
    if isinstance(answer, types.FunctionType | types.MethodType):
        return answer.__code__
    return None


def _run(exercise, answer, case, form, wanted):
    """Run an answer on one input, and read its result within the same time limit."""
    given = compare.copy(case)
    shapes = _named(exercise, case, answer)
    try:
        with compare.time_limit():
            result = answer(*given)
            if result is ... or (isinstance(result, tuple) and any(part is ... for part in result)):
                raise Failed(not_attempted(exercise))
            if result is not None:
                result = _read(exercise, result, form, wanted)
    except Failed:
        raise
    except NotImplementedError as error:
        # PyTorch raises it too; a stub names it.
        if "NotImplementedError" in getattr(_code(answer), "co_names", ()):
            raise Failed(not_attempted(exercise)) from None
        _fail("raised", _what_raised(exercise, error, answer, shapes))
    except compare.TooLong:
        _fail(
            "too long",
            f"Stopped after {compare.SECONDS:.0f} seconds on ({shapes}). Is there a loop that never "
            f"ends?",
        )
    except BaseException as error:
        _fail("raised", _what_raised(exercise, error, answer, shapes))
    _demand_unchanged(case, given, answer)
    if result is None:
        _fail(
            "wrong type",
            "Your function returned None. Is the return missing, or is what it returns still None?",
        )
    return result


def _demand_unchanged(case, given, answer):
    for before, after in zip(case, given, strict=True):
        if not compare.unchanged(before, after):
            kind = {list: "list", dict: "dictionary"}.get(type(before), "tensor")
            remedy = {
                "list": "Work on a copy: list(x)",
                "dictionary": "Work on a copy: dict(weights), and x.clone() for a tensor in it",
                "tensor": "Work on a copy: x.clone()",
            }[kind]
            if kind == "tensor" and re.search(r"\w\s*[-+*/]=[^=]", _source(answer)):
                remedy = "x += 1 changes x itself; x = x + 1 makes a new tensor"
            _fail(
                "changed its input",
                f"Your function changed a {kind} that it was given, and the caller may still need "
                f"it. {remedy}.",
            )


def _read(exercise, result, form, wanted):
    """See a result as plain tensors; demand the right sort: so many parts, truth values if asked."""
    try:
        parts = compare.parts(compare.like(result, form))
    except compare.TooLarge:
        _fail("too large", f"The result is far too large: {compare.describe(result)}.")
    except Exception:
        _fail("wrong type", f"Expected {compare.describe(form)}; got {compare.describe(result)}.")
    if wanted is None:
        return parts
    if type(result).__module__ == "torch.return_types":
        _fail(
            "wrong type",
            "A call such as x.max(dim=-1) gives two tensors: the numbers in .values, and their places "
            "in .indices. amax gives the numbers alone, argmax the places.",
        )
    _demand_kinds(exercise, result, form)
    if len(parts) != len(wanted):
        n = "one result" if len(wanted) == 1 else f"{len(wanted)} results"
        _fail(
            "wrong type",
            f"{_all_of_them(exercise, parts, wanted) or 'Expected'} {n}, "
            f"{compare.describe(form)}; got {len(parts)}: {compare.describe(result)}.",
        )
    for w, g in zip(wanted, parts, strict=True):
        if w.dtype == torch.bool and g.dtype != torch.bool:
            _fail(
                "wrong type",
                f"Expected truth values, a boolean tensor; got {str(g.dtype).removeprefix('torch.')}"
                f". A comparison gives booleans; .bool() turns 0 and 1 into them.",
            )
    return parts


def _demand_kinds(exercise, result, form):
    """Demand tensors where tensors are asked for, and plain numbers where they are."""
    kinds = {list: "list"} if exercise.trained else {list: "list", numpy.ndarray: "NumPy array"}
    for right, given in zip(_each(form), _each(compare.like(result, form)), strict=False):
        kind = kinds.get(type(given))  # an array that stops a gradient has a verdict of its own
        if kind and isinstance(right, torch.Tensor) and right.dim():
            _fail(
                "wrong type",
                f"A {kind} came, and a tensor is expected. torch.tensor makes one of numbers, "
                f"torch.stack of tensors.",
            )
    plain = isinstance(form, list) and not any(isinstance(x, torch.Tensor) for x in form)
    if plain and isinstance(result, list) and any(isinstance(x, torch.Tensor) for x in result):
        _fail(
            "wrong type",
            "The list holds tensors, and plain numbers are expected: x.item() makes one of x.",
        )


def _each(result):
    return result if isinstance(result, tuple) else (result,)


def _all_of_them(exercise, parts, wanted):
    """Ask for all results by name, where fewer came."""
    right = [exercise.reference, exercise.solution, *exercise.also_right]
    names = advice.result_names(right, len(wanted)) if len(parts) < len(wanted) else None
    if not names:
        return ""
    return f"Return {'both' if len(names) == 2 else 'all'}: {', '.join(names)}. Expected"


def _what_raised(exercise, error, answer, shapes):
    where = what_to_do = ""
    try:
        text = str(error).split("\nException raised from")[0].rstrip(".")  # no C++ frames
    except Exception:
        text = "(it cannot be printed)"
    answer = getattr(answer, "learners", answer)
    file = getattr(_code(answer), "co_filename", None)
    frames = [f for f in traceback.walk_tb(error.__traceback__) if f[0].f_code.co_filename == file]
    if frames:
        frame, number = frames[-1]
        line = linecache.getline(file, number).strip()
        where = f" In the line: {line}" if line else ""

        def mends(call):  # few errors ask, and the search draws inputs
            return diagnosis.search(exercise).fits_if_kept(answer, call)

        try:
            what_to_do = advice.on_error(text, line, _source(answer), frame.f_locals, mends)
        except Exception:  # PyTorch's own words have to do
            if compare.STRICT:
                raise
    told = f"{type(error).__name__}: {text}. It was given ({shapes}).{where}"
    return f"{what_to_do} ({told})" if what_to_do else told


def _source(answer):
    try:
        return inspect.getsource(answer)
    except (OSError, TypeError):
        return ""


def _demand_shape(exercise, answer, case, got, wanted):
    for a, b in zip(wanted, got, strict=True):
        if a.shape != b.shape:
            hint = ""
            if a.dim() == b.dim() and sorted(a.shape) == sorted(b.shape):
                hint = " The same axes in another order: is a transpose missing or too many?"
            if a.numel() == b.numel() and compare.close(a.flatten(), b.flatten()):
                hint = " The numbers are right, and in the right order."
            shapes = _named(exercise, case, answer)
            _fail(
                "wrong shape",
                f"Expected shape {tuple(a.shape)}; got {tuple(b.shape)}, from ({shapes}).{hint}",
            )


def _named(exercise, case, answer=None):
    """Describe what an answer was given, each part with the name that the answer gives it."""
    names = inspect.signature(exercise.reference).parameters
    code = _code(answer)
    if code and code.co_argcount >= len(case) and not inspect.ismethod(answer):
        names = code.co_varnames
    return ", ".join(
        f"{name}: {compare.describe(value)}" for name, value in zip(names, case, strict=False)
    )


def _tally(exercise, cases, right):
    """Count the inputs that came out right; say so if it's those without an argument."""
    if not any(right):
        return ""
    names = [*inspect.signature(exercise.reference).parameters]
    for position, name in enumerate(names):
        given = [len(case) > position and case[position] is not None for case in cases]
        if any(given) and right == [not g for g in given]:
            return f" Every input without `{name}` came out right, and none with one."
    return f" {sum(right)} of {len(cases)} inputs came out right."


def _smallest_difference(exercise, answer, case, got, wanted, tally):
    note = ""
    if any(torch.isnan(part.double()).any() for part in got):
        note = (
            " Your result holds NaN: is there a division by zero, a logarithm of a negative number, "
            "0 times ∞, or a row of −∞ only?"
        )
    return Verdict(
        False,
        "differs",
        f"the numbers differ.{tally} The smallest input that goes wrong is "
        f"({_named(exercise, case, answer)}).{note}",
        panels.side_by_side(_as_result(wanted), _as_result(got)),
    )


def _demand_precision(got, wanted):
    """Tell half precision apart from a mistake."""
    halves = (torch.float16, torch.bfloat16)
    for a, b in zip(wanted, got, strict=True):
        for w, g in zip(a, b, strict=True):
            fits = g.dtype in halves and g.shape == w.shape
            if fits and torch.allclose(g.double(), w.double(), rtol=2e-2, atol=2e-2):
                dtype = str(g.dtype).removeprefix("torch.")
                _fail(
                    "half precision",
                    f"The numbers are right as far as {dtype} goes, which keeps two or three digits. "
                    f"The inputs are float32: leave out what makes {dtype} of them.",
                )
