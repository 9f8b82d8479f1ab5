"""Every small slip in a solution, made from its syntax tree: another operator, axis, name, number."""

import ast
import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch

from helpers.exercises.edits import GUARD, compiled, guarded
from helpers.exercises.slips import (
    LEAD,
    LONGEST_FRAGMENT,
    code,
    expression_slips,
    number,
)


@dataclass(frozen=True)
class Variation:
    """A solution with one small slip.

    Parameters
    ----------
    kind : str
        What sort of slip, in two or three words.
    said : function () -> str
        Explains it in the exercise's own words; called only when it matches.
    function : function
        The solution with the slip.
    """

    kind: str
    said: Callable
    function: Callable


def variations(source, namespace, known):
    """Make every small slip of a solution, one at a time.

    Parameters
    ----------
    source : str
        Of one function.
    namespace : dict
    known : dict of str to object
        What each name of the solution held on the smallest input: arguments and local variables.

    Yields
    ------
    variation : Variation
    """
    tree = guarded(source)
    for kind, place, replacement, statement, said in _slips(tree.body[0], known):
        owner, field, index = place
        before = getattr(owner, field)
        after = replacement
        if index is not None:
            after = [*before[:index], *replacement, *before[index + 1 :]]
        setattr(owner, field, after)
        for node in replacement if isinstance(replacement, list) else [replacement]:
            ast.fix_missing_locations(node)  # all other nodes have theirs
        try:
            function = compiled(tree, namespace)
        except (SyntaxError, ValueError, TypeError):
            function = None
        finally:
            setattr(owner, field, before)
        if function:
            explains = functools.partial(_explanation, said, statement)
            yield Variation(kind, explains, function)


def _explanation(said, statement):
    return said(_where(statement))


def _where(statement):
    """Say in which step of the solution a slip is."""
    if isinstance(statement, ast.Assign | ast.AugAssign):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        return f"where the solution computes {code(target)}"
    if isinstance(statement, ast.Return):
        return "in what the function returns"
    if isinstance(statement, ast.If | ast.While):
        return "in the condition"
    return "in the loop" if isinstance(statement, ast.For) else "in one step"


def _slips(function, known):
    """Yield (kind, place, replacement, statement, said) for every slip."""
    yield from _returned_too_early(function, known)
    for statement, owner, index in _statements(function):
        yield from _statement_slips(statement, owner, index)
        yield from _scaled(statement, function, known)
        for node, place in _expressions(statement):
            if isinstance(statement, ast.While) and _is_guard(node):
                continue
            for kind, replacement, said in expression_slips(node, known):
                owner_, field, i = place
                yield kind, place, replacement if i is None else [replacement], statement, said


def _is_guard(node):
    """Say whether an expression is the count of rounds of a while loop, or holds it."""
    names = (part.id for part in ast.walk(node) if isinstance(part, ast.Name))
    return GUARD in names


def _statements(node):
    """Yield every statement of a function, with the list that holds it and its place in there."""
    for field in ("body", "orelse"):
        for index, statement in enumerate(getattr(node, field, [])):
            if isinstance(statement, ast.stmt):
                yield statement, (node, field), index
                yield from _statements(statement)


def _expressions(statement):
    """Yield the expressions of a statement, not of those inside it, with the place of each."""
    waiting = [statement]
    while waiting:
        node = waiting.pop(0)
        for field, value in ast.iter_fields(node):
            for index, child in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(child, ast.AST) and not isinstance(child, ast.stmt):
                    place = (node, field, index if isinstance(value, list) else None)
                    if isinstance(child, ast.expr):
                        yield child, place
                    if not (isinstance(child, ast.UnaryOp) and number(child) is not None):
                        waiting.append(child)


def _returned_too_early(function, known):
    """Return an intermediate result in place of the last one, or of one of them."""
    last = function.body[-1]
    if not isinstance(last, ast.Return):
        return
    names = [name for name in known if name not in {a.arg for a in function.args.args}]
    for name in [*names, *(a.arg for a in function.args.args)]:
        if isinstance(last.value, ast.Name) and last.value.id == name:
            continue

        def said(_, name=name):
            if name in names:
                return f"This is `{name}`, an intermediate result: the steps after it are missing."
            return f"This is `{name}` itself, just as it was given to the function."

        value = ast.Name(name, ast.Load())
        yield "an intermediate result", (last, "value", None), value, last, said
    if isinstance(last.value, ast.Tuple):
        yield from _returned_parts(last, names, known)


def _returned_parts(last, names, known):
    for index, part in enumerate(last.value.elts):
        right = " and ".join(code(p) for i, p in enumerate(last.value.elts) if i != index)
        for name in known:

            def said(_, name=name, part=part, right=right):
                what = "an intermediate result" if name in names else "just as it was given"
                return (
                    f"{right} {'is' if ' and ' not in right else 'are'} right. In place of "
                    f"{code(part)} you return `{name}`, {what}."
                )

            place = (last.value, "elts", index)
            yield "an intermediate result", place, [ast.Name(name, ast.Load())], last, said
    if len(last.value.elts) == 2:
        elts = last.value.elts[::-1]

        def said(_):
            return "Both results are right, but they come in the wrong order."

        yield "results exchanged", (last.value, "elts", None), elts, last, said


def _statement_slips(statement, owner, index):
    place = (*owner, index)
    if isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr):
        what = f"the step `{ast.unparse(statement)}`"
        if len(what) > LONGEST_FRAGMENT:
            what = f"one step, {_where(statement)},"

        def forgotten(_, what=what):
            return f"{LEAD} {what} is left out."

        def twice(_, what=what):
            return f"{LEAD} {what} is done twice."

        yield "a step left out", place, [ast.Pass()], statement, forgotten
        yield "done twice", place, [statement, statement], statement, twice
    if isinstance(statement, ast.If):
        kept = "always happens, whatever the condition says"

        def always(_, test=statement.test):
            return f"{LEAD} what depends on {code(test)} {kept}."

        def never(_, test=statement.test):
            return f"{LEAD} what has to happen under the condition {code(test)} never happens."

        yield "another condition", place, statement.body, statement, always
        yield "another condition", place, statement.orelse or [ast.Pass()], statement, never
    if isinstance(statement, ast.For):
        yield from _loop_slips(statement)


def _scaled(statement, function, known):
    """Multiply or divide what a step computes by a size, or by the root of one."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return
    name = statement.targets[0].id
    if not isinstance(known.get(name), torch.Tensor) or not known[name].is_floating_point():
        return
    for size in _sizes(function, known):
        for form, words in (
            ("* ({}) ** 0.5", "multiplied by the square root of {}"),
            ("/ ({}) ** 0.5", "divided by the square root of {}"),
            ("* {}", "multiplied by {}"),
            ("/ {}", "divided by {}"),
        ):
            factor = ast.parse(f"x {form.format(size)}", mode="eval").body
            bad = ast.BinOp(statement.value, factor.op, factor.right)

            def said(_, words=words, size=size):
                return f"{LEAD} `{name}` is also {words.format(f'`{size}`')}."

            yield "a factor too many", (statement, "value", None), bad, statement, said


def _sizes(function, known):
    """List the sizes of the arguments as code: the last two axes of each tensor, and its integers."""
    for name in [a.arg for a in function.args.args]:
        held = known.get(name)
        if isinstance(held, torch.Tensor):
            yield from (f"{name}.shape[{axis}]" for axis in range(-1, -min(held.dim(), 2) - 1, -1))
        elif isinstance(held, int) and not isinstance(held, bool):
            yield name


def _loop_slips(statement):
    items = ast.Call(ast.Name("list", ast.Load()), [statement.iter], [])
    for text, kind in [
        ("[1:]", "the first round is left out"),
        ("[:-1]", "the last round is left out"),
        ("[:1]", "only the first round is done"),
        ("[::-1]", "the rounds run backwards"),
        ("[:1] * 2", "only the first round is done, twice"),
    ]:
        tail = ast.parse(f"x{text}", mode="eval").body

        class Put(ast.NodeTransformer):
            def visit_Name(self, node):
                return items if node.id == "x" else node

        def said(_, kind=kind, over=statement.iter):
            return f"{LEAD}, in the loop over {code(over)}, {kind}."

        yield "rounds of the loop", (statement, "iter", None), Put().visit(tail), statement, said
