"""From wrong numbers to what went wrong: what is said is true of inputs that it wasn't found on, too.

In this order: a known mistake, or two of them, which give the learner's numbers on every input;
then, in the learner's own code, the edit that makes every result right, or the step that does.
"""

import ast
import functools
import itertools
import re
import warnings
from dataclasses import dataclass

import torch

from helpers.exercises import compare
from helpers.exercises.edits import compiled, edited, guarded, namespace_of, source_of
from helpers.exercises.expressions import namespace_around, tree_of
from helpers.exercises.repairs import LEADS, Finding, Repair

FRESH = (1, 2, 3)  # seeds of the inputs that no explanation is found on
FURTHER = (4, 5)  # and of more, for repairs: among hundreds of edits one may fit by chance
TELLS_TO = re.compile(
    r"(?:Add|Append|Apply|Ask|Average|Begin|Combine|Compare|Copy|Count|Cut|Divide|Draw|"
    r"Drop|Fill|Flatten|Give|Go|Invert|Join|Keep|Leave|Look|Make|Mask|Move|Multiply|"
    r"Normalise|Pair|Pass|Pick|Project|Put|Read|Return|Round|Say|Scale|Set|Shift|Sort|"
    r"Split|Start|Stop|Subtract|Swap|Take|Transpose|Turn|Use|Work|Write)\b"
)
# A sentence with code in it shows how it's written.
SHOWS_CODE = re.compile(r"\w\(|\w\[|\[:| @ |\w=[\w-]|\.T\b")
SENTENCE = re.compile(r"(?<=[.?!])\s+")


@dataclass
class Explanation:
    """What a wrong answer may have done: `whys` explain each mistake in it.

    `function` does the same, and `first` is what that gives on the first input.
    """

    name: str
    whys: tuple
    function: object
    first: list


class Search:
    """All explanations of one exercise, made when first needed and kept."""

    def __init__(self, exercise):
        self.exercise = exercise
        self.cases = cases_of(exercise)
        self.form = exercise.reference(*compare.copy(self.cases[0]))
        self.wanted = [self._right(case) for case in self.cases]

    def _right(self, case):
        return compare.parts(self.exercise.reference(*compare.copy(case)))

    @functools.cached_property
    def fresh(self):
        """Inputs that were drawn anew, with the right results."""
        return self._drawn(FRESH)

    def _drawn(self, seeds):
        drawn = [case for seed in seeds for case in cases_of(self.exercise, seed)]
        return [(case, self._right(case)) for case in drawn]

    @property
    def inputs(self):
        """All inputs, those of the check first, each with the right results."""
        return [*zip(self.cases, self.wanted, strict=True), *self.fresh]

    def explain(self, got, again, answer) -> Finding | None:
        """Find what explains wrong results.

        `got` are those of each case; `again` runs the answer on another one: a list of Tensor or
        None.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self._match(self.known, got, again)
            if not found and not all(part.isnan().all() for parts in got for part in parts):
                found = self._match(self.pairs, got, again)  # NaN alone: many pairs give that
            # A class comes here as a function of ours, whose text tells a learner nothing.
            repair = None if self.exercise.takes else self.repair(answer, got)
        if repair and repair.name in {name for name, _ in LEADS.values()}:
            return repair  # it says what went wrong, and where
        if not found or not repair:
            return _staged(found.whys, found.name) if found else repair
        return _staged(found.whys, found.name, repair)

    def repair(self, answer, got):
        """Look for what is wrong in an answer's own code; None if it can't be told."""
        inputs = [*self.inputs, *self._drawn(FURTHER)]
        try:
            return Repair(answer, self.exercise.solution, inputs, self.form, got).find()
        except (Exception, SystemExit, KeyboardInterrupt):
            if compare.STRICT:
                raise
            return None

    def fits_if_kept(self, answer, call):
        """Say whether every result has the right shape once `call` in the answer has keepdim=True.

        The numbers may still be wrong, for another reason.
        """
        if (tree := tree_of(answer)) is None:
            return True  # a model's method, say: its own words have to do
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node) == call:
                node.keywords.append(ast.keyword("keepdim", ast.Constant(True)))
        function = compiled(ast.fix_missing_locations(tree), namespace_around(answer))
        with compare.time_limit():
            results = [(self._simulate(function, case) or [], right) for case, right in self.inputs]
        return all([g.shape for g in got] == [w.shape for w in right] for got, right in results)

    def _match(self, stage, got, again):
        for explanation in stage:
            if not compare.alike(got[0], explanation.first):
                continue
            if all(
                compare.alike(g, self._simulate(explanation.function, case) or [])
                for case, g in zip(self.cases[1:], got[1:], strict=True)
            ) and self._holds_elsewhere(explanation, again):
                return explanation
        return None

    def _holds_elsewhere(self, explanation, again):
        """Say whether an explanation also fits inputs that were drawn anew."""
        for case, _ in self.fresh:
            simulated, got = self._simulate(explanation.function, case), again(case)
            if (simulated is None) != (got is None) or (got and not compare.alike(got, simulated)):
                return False
        return True

    def _simulate(self, function, case):
        try:
            return compare.parts(compare.like(function(*compare.copy(case)), self.form))
        except (Exception, SystemExit, KeyboardInterrupt):
            return None

    def _explanations(self, candidates):
        """Run candidates (name, whys, function) on the first input; keep what gives a result."""
        run = [(*c, self._simulate(c[2], self.cases[0])) for c in candidates]
        return [Explanation(*found) for found in run if found[3] is not None]

    @functools.cached_property
    def known(self):
        """The known mistakes."""
        exercise = self.exercise
        return self._explanations(
            (m.name, (exercise.why(m.name),), exercise.wrong(m.name)) for m in exercise.mistakes
        )

    @functools.cached_property
    def pairs(self):
        """Two known mistakes made together."""
        return self._explanations(self._pairs())

    def _pairs(self):
        source = source_of(self.exercise.solution)
        namespace = namespace_of(self.exercise.solution)
        edits = [m for m in self.exercise.mistakes if m.changes and m.why]
        for a, b in itertools.combinations(edits, 2):
            try:
                tree = guarded(edited(source, [*a.changes, *b.changes]))
            except (ValueError, SyntaxError):
                continue
            if a.old == b.old == "return" and "result" not in f"{a.new} {b.new}":
                continue
            yield f"{a.name} + {b.name}", (a.why, b.why), compiled(tree, namespace)


def _staged(whys, name, repair=None):
    """Say first what happens and where to look, then the cause, then the repair."""
    whole = " ".join(whys)
    if any(why.endswith("?") for why in whys):  # it asks the learner to look
        return Finding(name, (whole,), whole)
    where = f"Look at the line `{repair.line}`." if repair and repair.line else ""
    mend = repair.mend if where else ""
    told = zip(*map(_without_repair, whys), strict=True)
    happens, cause = (" ".join(filter(None, parts)) for parts in told)
    cause = cause if cause != happens else whole
    stages = [happens, where], [cause, where], [whole, where, mend]
    said = [" ".join(filter(None, parts)) or whole for parts in stages]
    return Finding(name, tuple(said), whole)


def _without_repair(why):
    """Return what happens, the first sentence of an explanation, and all but what tells what to do."""
    told = []
    for sentence in SENTENCE.split(why.strip()):
        said, _, tail = sentence.partition(": ")
        if TELLS_TO.match(sentence) or (told and SHOWS_CODE.search(sentence)):
            continue
        shows = TELLS_TO.match(tail[:1].upper() + tail[1:]) or SHOWS_CODE.search(tail)
        told.append(f"{said}." if tail and shows else sentence)
    return (told[0] if told else ""), " ".join(told)


_SEARCHES = {}


def search(exercise):
    """Return the search for an exercise; made once."""
    if exercise.name not in _SEARCHES or _SEARCHES[exercise.name].exercise is not exercise:
        _SEARCHES[exercise.name] = Search(exercise)
    return _SEARCHES[exercise.name]


def cases_of(exercise, seed=0):
    """Draw the inputs of an exercise."""
    return list(exercise.draw(torch.Generator().manual_seed(seed)))
