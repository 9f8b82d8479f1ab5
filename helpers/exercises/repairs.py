"""Where a learner's own code goes wrong: the one edit that mends it, or the step that does.

Nothing is guessed from numbers. An edit of the learner's code counts if it then passes all that the
check demands, on inputs that it wasn't found on, too. A step counts if, with the solution's value
put in its place while the code runs, the result is right on every input; to name the solution's code
as the repair, that text has to mend the learner's as any edit does.
"""

import ast
import builtins
import contextlib
import copy
import functools
import io
import linecache
import re
import warnings
from dataclasses import dataclass

import torch

from helpers.exercises import compare, expressions, small_edits
from helpers.exercises.edits import compiled, guarded_tree, namespace_of, source_of
from helpers.exercises.expressions import AT, Watched, all_equal, bare, numbers_in

MOST_EDITS = 900  # of one answer
MOST_CALLS = 250_000  # of functions, in running all of these
PATIENCE = 3.0  # seconds for the whole search, in case an edited answer doesn't end
LONGEST = 70  # characters of a piece of code that is quoted
NTH = ("first", "second", "third", "fourth", "fifth", "sixth")
LEADS = {  # a kind of edit that says what went wrong: its name, and the sentence
    small_edits.THROWN_AWAY: (
        "result thrown away",
        "{} makes a new tensor and leaves the old one as it was, but nothing keeps the new one.",
    ),
    small_edits.KEEPDIM: (
        "keepdim missing",
        "{} drops the dimension it runs over, and what is left lines up with another one.",
    ),
    small_edits.BY_ENTRY: (
        "entry by entry",
        "{} multiplies entry by entry. A dot product also adds up what it has multiplied.",
    ),
    small_edits.NOT_HIDDEN: (
        "hidden with a number",
        "What is hidden has to be −∞. With 0 or any other number a softmax still gives it a weight, "
        "because e⁰ is 1.",
    ),
}


@dataclass(frozen=True)
class Finding:
    """What went wrong, named in two or three words.

    `stages` are what to say at the first failure, at the second, at the third, and `message` is all
    of it; `mend` is the part that tells the repair. `line` is the learner's, if with this repair it
    takes a step of the solution's; `numbers` are what a step should be, and what it is.
    """

    name: str
    stages: tuple
    message: str
    mend: str = ""
    line: str = ""
    numbers: tuple = ()


class Repair:
    """The search in one answer, beside the exercise's `solution`.

    `inputs` pair what goes in with what should come out: those that a check uses, then others drawn
    anew. `form` is the right result for the first, as the solution returns it; `got` what the
    answer returned for each of the check's inputs, or nothing if it raised.
    """

    def __init__(self, answer, solution, inputs, form, got):
        self.tree, self.solution = expressions.tree_of(answer), solution
        self.inputs, self.form = inputs, form
        self.namespace = expressions.namespace_around(answer) if self.tree else {}
        self.lines = linecache.getlines(answer.__code__.co_filename) if self.tree else []
        self.raised = not got
        wrong = [i for i, g in enumerate(got) if not compare.same(g, inputs[i][1])]
        self.order = [*wrong, *(i for i in range(len(inputs)) if i not in wrong)]

    def find(self) -> Finding | None:
        """Find the edit or the step; None if there is none."""
        if self.tree is None:
            return None
        try:
            with (
                warnings.catch_warnings(),
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
                torch.random.fork_rng(devices=[]),
                compare.time_limit(PATIENCE),
            ):
                warnings.simplefilter("ignore")
                self.own = Watched(self.tree, self.namespace)
                self.seen = [self.own.look(case) for case, _ in self.inputs]
                return self._edit() or self._step()
        except compare.TooLong:
            return None

    @functools.cached_property
    def theirs(self):
        """The solution, and the values of its expressions on each input."""
        watched = Watched(ast.parse(source_of(self.solution)), namespace_of(self.solution))
        return watched, [watched.look(case) for case, _ in self.inputs]

    def _right(self, run):
        """Say whether a run does all that the check demands, on all inputs, wrong ones first."""
        for i in self.order:
            case, wanted = self.inputs[i]
            given = compare.copy(case)
            try:
                parts = compare.parts(compare.like(run(i, given), self.form))
            except (Exception, SystemExit, KeyboardInterrupt):
                return False
            right = compare.same(parts, wanted) and compare.whole(parts, wanted)
            if not right or not all(map(compare.unchanged, case, given)):
                return False
        return True

    def _edit(self):
        calls = sum(len(values) for values in self.seen[0].values()) + 1
        most = min(MOST_EDITS, MOST_CALLS // calls)
        tree = guarded_tree(copy.deepcopy(self.tree))
        scope, found, late = self._scope(), [], []
        edits = small_edits.edits_of(tree.body[0], scope, self.solution)
        for _, edit in zip(range(most), edits, strict=False):
            with edit.made():
                try:
                    function = compiled(tree, self.namespace)
                except (SyntaxError, ValueError, TypeError):
                    continue
                if not self._right(lambda _, given, f=function: f(*given)):
                    continue
                sure, right = self._leads_to_the_solution(edit, tree)
            if edit.kind in (small_edits.ANOTHER_STEP, small_edits.MISSING) and (sure or right):
                late.append((edit, True))
            elif sure or edit.kind in LEADS:
                return self._told_edit(edit, True)
            elif right or self.raised or edit.kind not in small_edits.UNDO:
                found.append((edit, right))
        return self._told_edit(*(found + late)[0]) if found or late else None

    def _leads_to_the_solution(self, edit, tree):
        """Say whether what was edited, or what it is part of, is now a step of the solution.

        And whether it is the whole result, which any edit that mends leads to in the end.
        """
        old, new = edit.old_node, edit.new_node
        if isinstance(new, ast.Pass) or any(part is new for part in ast.walk(old)):
            return True, False  # something was done that nobody needs
        own = Watched(tree, self.namespace)
        seen = [own.look(case) for case, _ in self.inputs]
        trivial = isinstance(new, ast.Name | ast.Constant) and isinstance(edit.owner, ast.expr)
        right = False
        for number, node in enumerate(own.nodes):
            itself = ast.unparse(bare(node)) == edit.new
            if not _covers(node, old) or (trivial if itself else edit.kind in small_edits.UNDO):
                continue
            if self._in_the_solution(number, seen):
                if not self._is_result(seen[self.order[0]][number][-1], self.order[0]):
                    return True, False
                right = right or itself
        return False, right

    def _scope(self):
        """What each name of the answer held on the first input that it gets wrong."""
        first = self.order[0]
        names = [a.arg for a in self.tree.body[0].args.args]
        scope = dict(zip(names, self.inputs[first][0], strict=False))
        for number, values in self.seen[first].items():
            node = self.own.nodes[number]
            if isinstance(node, ast.Name):
                scope[node.id] = values[-1]
        return scope

    def _told_edit(self, edit, sure=False):
        line, old, new = self._line(edit.line), edit.old, edit.new
        this = self._which(edit.old_node, old)
        mended = f"With `{new}` in place of {this}" if new else f"Without {this}"
        mended = f"{mended}, {ALL_RIGHT}"
        if edit.kind == small_edits.MISSING:  # where it's missing, more than one place may do
            return _told("one step missing", "One step is missing.", "", mended)
        where, sure = self._where(line), line if sure else ""
        if edit.kind in LEADS:
            name, why = LEADS[edit.kind]
            what = f"{this[0].upper()}{this[1:]}" if len(old) <= LONGEST else "This step"
            return _told(name, f"{why.format(what)} {where}".rstrip(), "", mended, sure)
        if max(len(old), len(new)) > LONGEST:
            where = where or "One step is wrong."
            return _told("one slip", where, f"It's about {edit.kind} there.", "", sure)
        about = f"All is right but {this}." if old != line else "All is right but this line."
        return _told("one slip", where, about, mended, sure)

    def _which(self, node, quoted):
        """Quote code, and tell it apart from what looks the same in its line: the second `0`."""
        line = "".join(self.lines[node.lineno - 1 : node.lineno])
        found = re.finditer(rf"(?<![\w.]){re.escape(quoted)}(?!\w|\.\d)", line)
        starts = [len(line[: match.start()].encode()) for match in found]
        several = len(starts) > 1 and node.col_offset in starts[: len(NTH)]
        return f"the {NTH[starts.index(node.col_offset)]} `{quoted}`" if several else f"`{quoted}`"

    def _where(self, line):
        """Point to a line, unless the answer has no other."""
        if not line:
            return "One step is wrong."
        body = self.tree.body[0].body
        said = len(body) == 1 and not hasattr(body[0], "body")
        return "" if said else f"Look at the line `{line}`."

    def _line(self, number):
        text = self.lines[number - 1].strip() if 0 < number <= len(self.lines) else ""
        return text if len(text) <= 100 else ""

    def _step(self):
        right, first = self.theirs[1], self.order[0]
        for number in self.seen[first]:  # in the order in which they were computed
            node, mine = self.own.nodes[number], self.seen[first][number]
            if isinstance(node, ast.Name | ast.Attribute):
                continue  # nothing is computed there
            if self._in_the_solution(number, self.seen):
                continue  # it's right
            tried = []
            for other, values in right[first].items():
                if not _could_be(mine, values) or any(all_equal(values, t) for t in tried):
                    continue
                tried.append(values)
                if self._is_result(values[-1], first):
                    continue  # that the right result is right says nothing
                if self._right(
                    lambda i, given, n=number, o=other: self.own.with_other(
                        n, right[i].get(o, []), given
                    )
                ):
                    return self._told_step(number, other, mine, values)
        return None

    def _is_result(self, value, index):
        return compare.alike(_as_parts(value), self.inputs[index][1])

    def _sound_inside(self, node, into):
        """Say whether all that goes into an expression goes into the solution's step, too.

        `into` are the numbers of what does.
        """
        arguments = self._arguments().items()  # unless the solution gives the name another value
        given = {mine for theirs, mine in arguments if theirs not in self.theirs[0].assigned}
        good = given | self.namespace.keys() | vars(builtins).keys()
        good -= self.own.assigned.keys()  # a notebook may have a name of its own like a local one
        for number in numbers_in(node):
            if self._in_the_solution(number, self.seen, into):
                good |= {n.id for n in ast.walk(self.own.nodes[number]) if isinstance(n, ast.Name)}
        return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} <= good | {AT}

    def _in_the_solution(self, number, seen, steps=None):
        """Say whether an expression is, wherever it has a value, what one of the solution's `steps` is."""
        pairs = zip(seen, self.theirs[1], strict=True)
        met = [(mine[number], right) for mine, right in pairs if number in mine]
        return bool(met) and any(
            all(all_equal(mine, right.get(theirs, [])) for mine, right in met)
            for theirs in (met[0][1] if steps is None else steps)
        )

    def _told_step(self, number, other, mine, values):
        node, theirs = self.own.nodes[number], self.theirs[0]
        sound = self._sound_inside(node, theirs.numbers_into(other))
        quoted = ast.unparse(bare(node))
        line = self._line(node.lineno)
        what = f"`{quoted}`" if len(quoted) <= LONGEST else "what it computes"
        if sound:
            where = self._where(line) if quoted not in line else ""
            differs = _first_difference(mine[-1], values[-1])
            step = f"`{quoted}`" if len(quoted) <= LONGEST else "this step"
            first = f"{where} In {step}, every name holds the right value, but {differs}.".strip()
        else:
            at = f"Look at the line `{line}` and above it" if line else "Look at one step"
            first = f"{at}: what you do with {what} is right, but its values are wrong."
            first += _other_shape(mine[-1], values[-1])
        numbers = (values[-1], mine[-1]) if isinstance(mine[-1], torch.Tensor) else ()
        mend = len(quoted) <= LONGEST and self._in_own_words(theirs.nodes[other])
        function = self.own.with_code(number, mend) if mend else None
        if function and self._right(lambda _, given: function(*given)):
            mend = f"With `{mend}` in place of {self._which(node, quoted)}, {ALL_RIGHT}"
        else:
            mend = ""
        relation = _relation(mine[-1], values[-1]) if numbers or not sound else ""
        return _told("one step", first, relation, mend, line if sound and mend else "", numbers)

    def _arguments(self):
        """What the answer calls each of the solution's arguments."""
        trees = ast.parse(source_of(self.solution)), self.tree
        theirs, mine = ([a.arg for a in tree.body[0].args.args] for tree in trees)
        return dict(zip(theirs, mine, strict=False))

    def _in_own_words(self, node):
        """Write a piece of the solution with the names of the answer; "" if one has no counterpart."""
        names = self._arguments()
        node = copy.deepcopy(bare(node))
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                known = part.id in ("torch", "math", "F") or hasattr(builtins, part.id)
                if part.id not in names and not known:
                    return ""
                part.id = names.get(part.id, part.id)
        text = ast.unparse(node)
        return text if len(text) <= LONGEST else ""


ALL_RIGHT = "your result is right on every input that we tried."


def _covers(node, part):
    """Say whether a piece of code lies around another, or where it is."""
    begins = (node.lineno, node.col_offset) <= (part.lineno, part.col_offset)
    ends = (node.end_lineno, node.end_col_offset) >= (part.end_lineno, part.end_col_offset)
    return begins and ends


def _could_be(mine, values):
    """Say whether the solution's values can take the place of the answer's, and differ from them."""
    if len(mine) != len(values) or all_equal(mine, values):
        return False
    for a, b in zip(mine, values, strict=True):
        if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
            return False
        if isinstance(a, torch.Tensor):
            if a.shape != b.shape or (a.dtype == torch.bool) != (b.dtype == torch.bool):
                return False
        elif not isinstance(a, bool | int | float | list | str) or type(a) is not type(b):
            return False
    return True


def _as_parts(value):
    try:
        return compare.parts(value)
    except (Exception, SystemExit, KeyboardInterrupt):
        return []


def _told(name, first, second, mend, line="", numbers=()):
    """Make a finding whose stages grow, and leave out those with nothing to say."""
    said = [part for part in (first, second, mend) if part]
    stages = tuple(" ".join(said[: n + 1]) for n in range(len(said)))
    return Finding(name, stages, stages[-1], mend, line, numbers)


def _other_shape(got, wanted):
    """Say that a step has a wrong shape; "" if it hasn't."""
    tensors = isinstance(got, torch.Tensor) and isinstance(wanted, torch.Tensor)
    if not tensors or got.shape == wanted.shape:
        return ""
    return f" Its shape is {tuple(got.shape)}, and should be {tuple(wanted.shape)}."


def _first_difference(got, wanted):
    """Say of a wrong step what it is and what it should be: the first entry that differs."""
    where = "the result"
    if isinstance(got, torch.Tensor):
        if got.shape != wanted.shape:
            return f"the result's shape is {tuple(got.shape)}, and should be {tuple(wanted.shape)}"
        equal = torch.isclose(got.double(), wanted.double(), equal_nan=True)
        first = (~equal).nonzero()[:1].flatten().tolist()
        where = f"the result's entry {first}" if first else where
        got, wanted = got[tuple(first)].tolist(), wanted[tuple(first)].tolist()
    mine, theirs = (f"{v:.4g}" if isinstance(v, float) else repr(v) for v in (got, wanted))
    if mine == theirs or len(mine + theirs) > LONGEST:
        return "the result isn't what it should be"
    return f"on the first input that goes wrong {where} is {mine}, and should be {theirs}"


def _relation(got, wanted):
    """Say in numbers how a step is wrong, where a few words do."""
    if isinstance(got, bool | int | float):
        mine, theirs = (f"{v:.6g}" if isinstance(v, float) else v for v in (got, wanted))
        if mine == theirs:
            return "On the first input that goes wrong it is off by very little."
        return f"On the first input that goes wrong it is {mine}, and should be {theirs}."
    if not isinstance(got, torch.Tensor):
        return ""
    if wanted.dim() and got.is_floating_point():
        total, mine = wanted.double().sum(-1), got.double().sum(-1)
        ones = torch.ones_like(total)
        if compare.close(total, ones) and not compare.close(mine, ones):
            wrong = mine[~torch.isclose(mine, ones, atol=compare.TOLERANCE)].flatten()
            return f"Each of its rows should sum to 1; one of them sums to {wrong[0]:.3g}."
    return "Expected and got are side by side below, for this step."
