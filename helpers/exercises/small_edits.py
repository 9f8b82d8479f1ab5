"""Every small edit of a function, one at a time: another operator, dimension, name, number, step."""

import ast
import contextlib
import copy
import itertools
import re
from dataclasses import dataclass

import torch

from helpers.exercises.edits import GUARD, source_of

OPERATORS = {
    ast.Add: (ast.Sub, ast.Mult), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult, ast.FloorDiv), ast.FloorDiv: (ast.Div, ast.Mod), ast.Mod: (ast.FloorDiv,),
    ast.MatMult: (ast.Mult,), ast.Pow: (ast.Mult,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
    ast.Eq: (ast.NotEq, ast.Lt, ast.Gt, ast.GtE), ast.NotEq: (ast.Eq, ast.Gt),
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE), ast.And: (ast.Or,), ast.Or: (ast.And,),
}  # fmt: skip
FAMILIES = [
    ("tanh", "sigmoid", "relu"), ("sin", "cos"), ("exp", "log"), ("log", "log2", "log10"),
    ("softmax", "log_softmax"), ("sum", "mean", "amax"), ("var", "std"), ("any", "all"),
    ("max", "min"), ("argmax", "argmin"), ("ceil", "floor"), ("tril", "triu"), ("zeros", "ones"),
    ("cat", "stack"), ("append", "extend"), ("argmax", "max"), ("median", "mean"),
]  # fmt: skip
MISSING, ANOTHER_STEP = "a missing step", "another step"
FACTOR, TRANSPOSE, DIMENSION = "a factor", "a transpose", "the dimension"
# Two wrongs make a right: these may undo elsewhere what went wrong, so they have to lead to a step
# of the solution.
UNDO = (MISSING, ANOTHER_STEP, FACTOR, TRANSPOSE, DIMENSION)
# Edits whose kind says what went wrong, not only where; `repairs` has a sentence for each.
THROWN_AWAY, KEEPDIM = "a result that is thrown away", "`keepdim`"
BY_ENTRY, NOT_HIDDEN = "a product entry by entry", "what a hidden score is"
REDUCTIONS = {"sum", "mean", "amax", "var", "std", "norm", "logsumexp"}
WITH_DIM = {"softmax", "log_softmax", "sum", "mean", "argmax", "amax", "cumsum", "sort", "topk", "var",
            "std", "cat", "stack", "unsqueeze", "squeeze", "chunk", "flip", "max", "norm"}  # fmt: skip


@dataclass(frozen=True)
class Edit:
    """One change of a syntax tree: `field` of `owner` gets the new node for the old one.

    `index` says where in the field the old node is. `kind` is what sort of thing it changes, for
    who must look for it.
    """

    owner: ast.AST
    field: str
    index: int | None
    old_node: ast.AST
    new_node: object
    kind: str
    statement: ast.stmt

    @contextlib.contextmanager
    def made(self):
        """Make the change while the block runs."""
        new = self.new_node
        if isinstance(new, list):  # the body of an if, which has places of its own
            new = [node if hasattr(node, "lineno") else self._placed(node) for node in new]
        else:
            new = [self._placed(new)]
        before, after = getattr(self.owner, self.field), new[0]
        if self.index is not None:
            after = [*before[: self.index], *new, *before[self.index + 1 :]]
        setattr(self.owner, self.field, after)
        try:
            yield
        finally:
            setattr(self.owner, self.field, before)

    def _placed(self, node):
        """Copy a node, which may be a part of the old one, to where the old one is."""
        return ast.fix_missing_locations(ast.copy_location(copy.copy(node), self.old_node))

    @property
    def line(self):
        """The line that it changes."""
        return getattr(self.old_node, "lineno", self.statement.lineno)

    @property
    def old(self):
        """The code that goes."""
        return _code(self.old_node)

    @property
    def new(self):
        """The code that comes; "" where nothing does."""
        nodes = self.new_node if isinstance(self.new_node, list) else [self.new_node]
        if all(isinstance(node, ast.Pass) for node in nodes):
            return ""
        return _code(nodes[0]) if len(nodes) == 1 else "…"


def _code(node):
    text = ast.unparse(node).split("\n")[0].removeprefix(f"{GUARD}() and ")
    slices = isinstance(node, ast.Tuple) and any(isinstance(e, ast.Slice) for e in node.elts)
    return text[1:-1] if slices else text  # x[:, None] has no brackets of its own


def edits_of(function, scope, solution):
    """Yield every small edit of a function, those of expressions before those of statements.

    `scope` is what each name held when it ran; the steps that the `solution` takes may be missing.
    """
    # The methods without a tensor among their arguments that the solution calls.
    found = re.findall(r"\.(\w+\((?:-?\d*|dim=-?\d+)\))", source_of(solution))
    steps = [step for step in dict.fromkeys(found) if not step.startswith(("item", "size"))]
    sizes = list(_sizes(function, scope))
    for statement, owner, field, index in _statements(function):
        # A branch that never belongs there goes as a whole, before its condition is bent.
        if isinstance(statement, ast.If):
            for kind, new in _statement_changed(statement):
                yield Edit(owner, field, index, statement, new, kind, statement)
        for node, parent, name, i in _expressions(statement):
            for kind, new in _changed(node, scope, steps):
                yield Edit(parent, name, i, node, new, kind, statement)
        for kind, new in () if isinstance(statement, ast.If) else _statement_changed(statement):
            yield Edit(owner, field, index, statement, new, kind, statement)
    for statement, *_ in _statements(function):
        for node, parent, name, i in _expressions(statement):
            if isinstance(node, ast.BinOp | ast.Call | ast.Name) and node is not statement:
                for new in _scaled(node, scope, sizes):
                    yield Edit(parent, name, i, node, new, FACTOR, statement)


def _sizes(function, scope):
    for argument in function.args.args:
        held = scope.get(argument.arg)
        if isinstance(held, torch.Tensor):
            yield from (
                f"{argument.arg}.shape[{axis}]" for axis in range(-1, -1 - min(held.dim(), 2), -1)
            )
        elif isinstance(held, int) and not isinstance(held, bool):
            yield argument.arg


def _statements(node):
    for field in ("body", "orelse"):
        block = getattr(node, field, [])
        for index, statement in enumerate(block if isinstance(block, list) else []):
            if isinstance(statement, ast.stmt):
                yield statement, node, field, index
                yield from _statements(statement)


def _expressions(statement):
    """Yield the expressions of a statement, not of those inside it, and where each is."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        for field, value in ast.iter_fields(node):
            of_function = field == "args" and isinstance(node, ast.FunctionDef)
            if of_function or field in ("decorator_list", "annotation", "returns", "ctx"):
                continue
            for index, child in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(child, ast.AST) or isinstance(child, ast.stmt):
                    continue
                if isinstance(child, ast.expr) and GUARD not in ast.dump(child):
                    yield child, node, field, index if isinstance(value, list) else None
                if number(child) is None:
                    waiting.append(child)


def number(node):
    """Return the number that an expression writes out, with its sign; None if it is none."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _statement_changed(statement):
    call = getattr(statement, "value", None) if isinstance(statement, ast.Expr) else None
    kept = getattr(getattr(call, "func", None), "value", None)  # x in x.masked_fill(...)
    if isinstance(kept, ast.Name):
        yield THROWN_AWAY, ast.Assign([ast.Name(kept.id, ast.Store())], call, lineno=1)
    needed = "whether this step is needed"
    if isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr):
        yield needed, ast.Pass()
    if isinstance(statement, ast.If):
        yield needed, statement.body
        yield needed, statement.orelse or [ast.Pass()]


def _parse(text):
    return ast.parse(text, mode="eval").body


def _changed(node, scope, steps):
    """Yield (what to look at, new expression)."""
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return
    value = number(node)
    if value is not None:
        yield from _number(value, scope)
    elif isinstance(node, ast.BinOp):
        yield from _by_entry(node, scope)
        if isinstance(node.op, ast.MatMult):
            yield from _exchanged(node, scope)
        yield from _binary(node)
    elif isinstance(node, ast.UnaryOp):
        yield "a sign", node.operand
    elif isinstance(node, ast.BoolOp):
        yield "a condition", ast.BoolOp(OPERATORS[type(node.op)][0](), node.values)
        yield from (("a condition", part) for part in node.values)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in OPERATORS.get(type(node.ops[0]), ()):
            yield "a comparison", ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.Call):
        yield from _call(node)
        yield from _exchanged(node, scope)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "True or False", ast.Constant(not node.value)
    elif isinstance(node, ast.Name):
        yield from _name(node, scope)
    elif isinstance(node, ast.Subscript):
        yield from _subscript(node)
    elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield TRANSPOSE, node.value
    elif isinstance(node, ast.Tuple | ast.List):
        for parts in _in_another_order(node.elts):
            yield "the order of the parts", type(node)(parts, ast.Load())
    if isinstance(node, ast.Call) and (subject := _subject(node)) and number(subject) is None:
        yield from ((ANOTHER_STEP, _parse(f"({ast.unparse(subject)}).{s}")) for s in steps)
    if isinstance(node, ast.BinOp | ast.Call | ast.Name | ast.Subscript) and value is None:
        text = ast.unparse(node)
        yield from ((MISSING, _parse(f"({text}).{step}")) for step in steps)


def _in_another_order(nodes):
    for i, j in itertools.combinations(range(min(len(nodes), 6)), 2):
        other = [*nodes]
        other[i], other[j] = other[j], other[i]
        yield other


def _number(value, scope):
    near = [value - 1, value + 1, 0, 1, 2, -1, -2, -value, value * 2, 1 / (value or 1)]
    near += [value / 2] if value % 2 != 1 else []  # half of 1 mends a step only by accident
    yield from (("a number", ast.Constant(v)) for v in dict.fromkeys(near) if v != value)
    for name in scope if isinstance(value, int) else ():
        if type(scope[name]) is int:
            yield "a number", ast.Name(name, ast.Load())


def _by_entry(node, scope):
    """Yield what a product entry by entry may stand for: a hidden score, or dot products."""
    if not isinstance(node.op, ast.Mult):
        return
    left, right = ast.unparse(node.left), ast.unparse(node.right)
    for scores, mask in ((left, right), (right, left)):
        if _kind(scope.get(mask)) == "truth":
            yield NOT_HIDDEN, _parse(f"({scores}).masked_fill(~{mask}, float('-inf'))")
    if number(node.left) is None and number(node.right) is None:
        for new in ("({0}) @ ({1})", "({0}) @ ({1}).transpose(-2, -1)", "(({0}) * ({1})).sum(-1)"):
            yield BY_ENTRY, _parse(new.format(left, right))


def _exchanged(node, scope):
    """Exchange two names wherever they stand in a product, or among a call's arguments."""
    parts = [p for part in getattr(node, "args", [node]) for p in ast.walk(part)]
    found = dict.fromkeys(part.id for part in parts if isinstance(part, ast.Name))
    names = [name for name in found if name in scope and not callable(scope[name])]
    for one, other in itertools.combinations(names[:5], 2):
        new, turn = copy.deepcopy(node), {one: other, other: one}
        for part in ast.walk(new):
            if isinstance(part, ast.Name):
                part.id = turn.get(part.id, part.id)
        yield "which is which", new


def _binary(node):
    for part in (node.left, node.right):
        yield "a part of a sum or a product", part
        for inner in (part.left, part.right) if isinstance(part, ast.BinOp) else ():
            yield "a part of a sum or a product", inner
    by_one = number(node.right) == 1 or number(node.left) == 1  # x * 1 would only leave it out
    for other in OPERATORS.get(type(node.op), ()):
        if not (by_one and other in (ast.Mult, ast.Div, ast.FloorDiv, ast.Pow)):
            yield "an operator", ast.BinOp(node.left, other(), node.right)
    yield "the order of two parts", ast.BinOp(node.right, node.op, node.left)
    moved = ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Pow
    if isinstance(node.left, ast.BinOp) and isinstance(node.left.op, moved):
        inner = ast.BinOp(node.left.right, node.op, node.right)
        yield "the brackets", ast.BinOp(node.left.left, node.left.op, inner)
    if isinstance(node.right, ast.BinOp) and isinstance(node.right.op, moved):
        inner = ast.BinOp(node.left, node.op, node.right.left)
        yield "the brackets", ast.BinOp(inner, node.right.op, node.right.right)


def _of_module(call):
    return getattr(getattr(call.func, "value", None), "id", "") in ("torch", "math", "F", "np")


def _subject(call):
    """What a function or a method is called with, or of; None if there is nothing."""
    method = isinstance(call.func, ast.Attribute) and not _of_module(call)
    return call.func.value if method else (call.args or [None])[0]


def _call(node):
    method = isinstance(node.func, ast.Attribute)
    name = node.func.attr if method else getattr(node.func, "id", "")
    of_module, subject = _of_module(node), _subject(node)
    if subject is not None and name not in ("range", "len", "list", "append"):
        yield "a step", subject
    for family in FAMILIES:
        for other in family if name in family else ():
            if other != name:
                func = copy.copy(node.func)
                setattr(func, "attr" if method else "id", other)
                yield "a function", ast.Call(func, node.args, node.keywords)
    if name in ("masked_fill", "masked_fill_", "where"):
        for i, filled in enumerate(node.args):
            if number(filled) is not None or (name == "where" and i):
                args = [*node.args[:i], _parse("float('-inf')"), *node.args[i + 1 :]]
                yield NOT_HIDDEN, ast.Call(node.func, args, node.keywords)
    given = {keyword.arg for keyword in node.keywords}
    drops = name in REDUCTIONS and (len(node.args) > of_module or "dim" in given)
    if drops and "keepdim" not in given:
        keepdim = ast.keyword("keepdim", ast.Constant(True))
        yield KEEPDIM, ast.Call(node.func, node.args, [*node.keywords, keepdim])
    for args in _in_another_order(node.args):
        yield "the order of the arguments", ast.Call(node.func, args, node.keywords)
    for i, keyword in enumerate(node.keywords):
        others = [*node.keywords[:i], *node.keywords[i + 1 :]]
        yield f"`{keyword.arg}`", ast.Call(node.func, node.args, others)
    if name in ("var", "std"):
        zero = ast.keyword("correction", ast.Constant(0))
        yield "`correction`", ast.Call(node.func, node.args, [*node.keywords, zero])
    others = [keyword for keyword in node.keywords if keyword.arg != "dim"]
    for axis in (-1, -2, 0, 1) if name in WITH_DIM else ():
        dim = ast.keyword("dim", ast.Constant(axis))  # a number that is there is changed elsewhere
        yield DIMENSION, ast.Call(node.func, node.args, [dim, *others])


def _kind(value):
    if isinstance(value, torch.Tensor):
        return "truth" if value.dtype == torch.bool else "tensor"
    return type(value)


def _name(node, scope):
    value = scope.get(node.id)
    if node.id not in scope or callable(value):
        return
    for other, held in scope.items():
        if other != node.id and _kind(held) == _kind(value):
            yield "a name", ast.Name(other, ast.Load())
    if isinstance(value, int) and not isinstance(value, bool):
        yield "a number that is off by one", _parse(f"{node.id} + 1")
        yield "a number that is off by one", _parse(f"{node.id} - 1")
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bool:
            yield "what is True", _parse(f"~{node.id}")
        if value.dim() >= 2:
            yield TRANSPOSE, _parse(f"{node.id}.transpose(-2, -1)")
    elif isinstance(value, bool):
        yield "what is True", _parse(f"not {node.id}")


def _subscript(node):
    yield "an index", node.value
    if isinstance(node.slice, ast.Slice):
        for text in ("1:", ":-1", ":", "::-1"):
            other = _parse(f"x[{text}]").slice
            yield "a slice", ast.Subscript(node.value, other, ast.Load())
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        for axis in (-1, -2, 0, 1, 2):
            yield "a size", ast.Subscript(node.value, ast.Constant(axis), ast.Load())


def _scaled(node, scope, sizes):
    """Multiply or divide by a size, or by the root of one."""
    if isinstance(node, ast.Name) and _kind(scope.get(node.id)) != "tensor":
        return
    text = ast.unparse(node)
    for size in sizes:
        for sign in ("/", "*"):
            yield _parse(f"({text}) {sign} {size} ** 0.5")
            yield _parse(f"({text}) {sign} {size}")
