"""From wrong numbers to what went wrong: the first explanation that reproduces all of them.

In this order: a known mistake; two of them; a small slip in the solution, made automatically; a
property such as a constant factor; a known mistake and a slip; an input that has no effect; and
last, where the result is right. An explanation counts only if it gives the learner's numbers on
every input, and on further ones.
"""

import ast
import functools
import itertools
import sys
import warnings
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from helpers.exercises import compare, partly, properties
from helpers.exercises.edits import compiled as function_of
from helpers.exercises.edits import edited, guarded, namespace_of, source_of
from helpers.exercises.slips import LEAD
from helpers.exercises.variations import variations

MOST_SLIPS = 400  # of one solution
MOST_MIXED = 700  # known mistakes together with slips, of a quick solution
MOST_CALLS = 60_000  # of functions, in running all of these


@dataclass
class Explanation:
    """What a wrong answer may have done.

    Parameters
    ----------
    name : str
    said : function () -> str
    function : function
        Does the same.
    first : list of Tensor
        What that gives on the first input.
    """

    name: str
    said: object
    function: object
    first: list


@dataclass(frozen=True)
class Finding:
    """What went wrong: a short name, and the sentences that explain it."""

    name: str
    message: str


class Search:
    """All explanations of one exercise, made when first needed and kept.

    Parameters
    ----------
    exercise : Exercise
    """

    def __init__(self, exercise):
        self.exercise = exercise
        self.cases = cases_of(exercise)
        self.source = source_of(exercise.solution)
        self.namespace = namespace_of(exercise.solution) | {
            "exp2": torch.exp2, "square": torch.square, "gelu": F.gelu, "logsigmoid": F.logsigmoid,
        }  # fmt: skip
        self.form = exercise.reference(*compare.copy(self.cases[0]))
        self.wanted = [
            compare.parts(exercise.reference(*compare.copy(case))) for case in self.cases
        ]

    def explain(self, got, again):
        """Find what explains wrong results.

        Parameters
        ----------
        got : list of lists of Tensor
            One for each case.
        again : function (case) -> list of Tensor or None
            Runs the answer on another input.

        Returns
        -------
        finding : Finding or None
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if found := self._match(self.known, got, again):
                return found
            if all(part.isnan().all() for parts in got for part in parts):
                return None  # nothing but NaN: many slips give that
            for stage in (self.pairs, self.slips):
                if found := self._match(stage, got, again):
                    return found
            evidence = properties.Evidence(
                properties.names_of(self.exercise.reference),
                self.cases,
                self.wanted,
                got,
                self.labels,
            )
            numbers = not any(part.isnan().any() for parts in got for part in parts)
            if numbers and (found := properties.explain(evidence)):
                return Finding(*found)
            if found := self._match(self.mixed, got, again):
                return found
            if numbers and (found := self._without_effect(got, again)):
                return found
            if numbers and (found := partly.explain(evidence)):
                return Finding(*found)
        return None

    def _match(self, stage, got, again):
        for explanation in stage:
            if not compare.alike(got[0], explanation.first):
                continue
            if all(
                compare.alike(g, self._simulate(explanation.function, case) or [])
                for case, g in zip(self.cases[1:], got[1:], strict=True)
            ) and (stage is self.known or self._holds_elsewhere(explanation, again)):
                return Finding(explanation.name, explanation.said())
        return None

    def _holds_elsewhere(self, explanation, again):
        """Say whether an explanation also fits inputs that were drawn anew."""
        for case in cases_of(self.exercise, seed=1):
            simulated, got = self._simulate(explanation.function, case), again(case)
            if (simulated is None) != (got is None) or (got and not compare.alike(got, simulated)):
                return False
        return True

    def _simulate(self, function, case):
        try:
            return compare.parts(compare.like(function(*compare.copy(case)), self.form))
        except Exception:
            return None

    def _explanations(self, candidates, most=None):
        """Run candidates (name, said, function) on the first input; keep what gives a result."""
        found = []
        for name, said, function in itertools.islice(candidates, most):
            first = self._simulate(function, self.cases[0])
            if first is not None:
                found.append(Explanation(name, said, function, first))
        return found

    @functools.cached_property
    def labels(self):
        """Names of the parts of the result, where the solution's return has them."""
        last = ast.parse(self.source).body[0].body[-1]
        value = getattr(last, "value", None)
        if isinstance(value, ast.Tuple) and all(isinstance(e, ast.Name) for e in value.elts):
            return [e.id.replace("_", " ") for e in value.elts]
        return []

    @functools.cached_property
    def held(self):
        """What each name of the solution holds at the end, on the first input."""
        tree = ast.parse(self.source)
        for node in ast.walk(tree):
            for body in (getattr(node, "body", None), getattr(node, "orelse", None)):
                if isinstance(body, list):
                    _watch_returns(body)
        held = {}
        function = function_of(
            ast.fix_missing_locations(tree),
            {**self.namespace, "__held__": lambda names: held.update(names)},
        )
        function(*compare.copy(self.cases[0]))
        strings = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
        return held | {"__strings__": sorted(s for s in strings if isinstance(s, str))}

    @functools.cached_property
    def known(self):
        """The known mistakes."""
        exercise = self.exercise
        return self._explanations(
            (m.name, functools.partial(exercise.why, m.name), exercise.wrong(m.name))
            for m in exercise.mistakes
        )

    @functools.cached_property
    def edits(self):
        """The known mistakes that are edits of the solution."""
        return [m for m in self.exercise.mistakes if m.changes and m.why]

    @functools.cached_property
    def pairs(self):
        """Two known mistakes made together."""
        return self._explanations(self._pairs())

    def _pairs(self):
        for a, b in itertools.combinations(self.edits, 2):
            name = f"{a.name} + {b.name}"
            try:
                source = edited(self.source, [*a.changes, *b.changes])
                tree = guarded(source)
            except (ValueError, SyntaxError):
                continue
            if a.old == b.old == "return" and "result" not in f"{a.new} {b.new}":
                continue
            yield name, lambda a=a, b=b: f"{a.why} {b.why}", function_of(tree, self.namespace)

    @functools.cached_property
    def slips(self):
        """Small slips, made automatically."""
        found = variations(self.source, self.namespace, self.held)
        candidates = ((slip.kind, slip.said, slip.function) for slip in found)
        return self._explanations(candidates, min(MOST_SLIPS, 3 * MOST_CALLS // self._calls()))

    @functools.cached_property
    def mixed(self):
        """A known mistake and a slip."""
        return self._explanations(self._mixed(), min(MOST_MIXED, MOST_CALLS // self._calls()))

    def _calls(self):
        """Count the calls of functions in one run: what it costs, the same on every machine."""
        calls = 0

        def count(frame, event, argument):
            nonlocal calls
            calls += event in ("call", "c_call")

        given, before = compare.copy(self.cases[0]), sys.getprofile()
        sys.setprofile(count)
        try:
            self.exercise.solution(*given)
        finally:
            sys.setprofile(before)
        return max(calls, 1)

    def _mixed(self):
        streams = []
        for mistake in self.edits:
            try:
                source = edited(self.source, mistake.changes)
                ast.parse(source)
            except (ValueError, SyntaxError):
                continue
            streams.append((mistake, variations(source, self.namespace, self.held)))
        # Taking turns, so that the cap does not leave out the last mistakes.
        for turn in itertools.zip_longest(*(slips for _, slips in streams)):
            for (mistake, _), slip in zip(streams, turn, strict=True):
                if slip is not None:
                    name = f"{mistake.name} + {slip.kind}"
                    yield name, functools.partial(_two_slips, mistake, slip), slip.function

    def _without_effect(self, got, again):
        """Find an argument that changes the right result, but not the learner's."""
        names = properties.names_of(self.exercise.reference)
        for position, name in enumerate(names):
            held = self.cases[0][position] if position < len(self.cases[0]) else None
            for key in held if isinstance(held, dict) else [None]:
                if self._ignores(position, key, got, again):
                    what = f"`{key or name}`"
                    return Finding(
                        f"{key or name} has no effect",
                        f"Your result does not depend on {what}: with another {what} it stays the "
                        f"same, and it should change.",
                    )
        return None

    def _ignores(self, position, key, got, again):
        tried = 0
        for case, right, before in zip(self.cases, self.wanted, got, strict=True):
            for changed in with_others(case, position, key):
                should = self._simulate(self.exercise.reference, changed)
                if should is None or compare.alike(should, right):
                    continue
                after = again(changed)
                if after is None or not compare.alike(after, before):
                    return False
                tried += 1
        return tried > 0


def _two_slips(mistake, slip):
    return f"{mistake.why} {slip.said().replace(LEAD, 'There is a second slip too, as if')}"


def with_others(case, position, key=None):
    """Change one argument of a case, or one entry of a dictionary, in each way that makes sense."""
    if position >= len(case):
        return
    held = case[position]
    for other in others(held if key is None else held.get(key)):
        changed = other if key is None else {**held, key: other}
        yield (*case[:position], changed, *case[position + 1 :])


def others(value):
    """Make other values of the same sort and shape; none where that makes no sense."""
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bool:
            return [] if value.all() else [torch.ones_like(value)]
        if value.is_floating_point():
            return [value.flip(-1) * 0.9 + 0.2 if value.dim() else value + 0.3]
        # Whole numbers such as ids: in another order, and others of the same range.
        return [value.flip(-1), value.min() + value.max() - value] if value.numel() else []
    if isinstance(value, float):
        return [value * 0.9]
    if isinstance(value, int) and not isinstance(value, bool):
        return [value - 1, value + 1]
    return []


def _watch_returns(body):
    """Put a look at all local names before every return."""
    for index in reversed(range(len(body))):
        if isinstance(body[index], ast.Return):
            body.insert(index, ast.parse("__held__(locals())").body[0])


_SEARCHES = {}


def search(exercise):
    """Return the search for an exercise; made once."""
    if exercise.name not in _SEARCHES or _SEARCHES[exercise.name].exercise is not exercise:
        _SEARCHES[exercise.name] = Search(exercise)
    return _SEARCHES[exercise.name]


def cases_of(exercise, seed=0):
    """Draw the inputs of an exercise."""
    return exercise.draw(torch.Generator().manual_seed(seed))
