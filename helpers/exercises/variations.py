"""Every small slip in a solution, made from its syntax tree: another operator, axis, name, number."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

import torch

from helpers.exercises.edits import compiled, guarded

LONGEST_FRAGMENT = 70
LEAD = "You would get exactly these numbers if"

OPERATORS = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Div, ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.MatMult: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr, ast.BitXor),
    ast.BitOr: (ast.BitAnd, ast.BitXor),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq, ast.Lt, ast.Gt),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
}
FAMILIES = [
    ("tanh", "sigmoid", "relu", "sin"),
    ("sin", "cos", "tan"),
    ("relu", "abs", "gelu"),
    ("exp", "exp2", "log"),
    ("log", "log2", "log10", "exp"),
    ("log_softmax", "softmax", "logsigmoid"),
    ("softmax", "log_softmax", "sigmoid", "exp", "relu"),
    ("sqrt", "square", "exp", "log"),
    ("ceil", "floor"),
    ("max", "min", "sum"),
    ("min", "max", "sum"),
    ("amax", "amin", "sum"),
    ("argmax", "argmin", "amax"),
    ("sum", "mean", "prod", "amax"),
    ("mean", "sum", "median", "amax"),
    ("var", "std"),
    ("any", "all"),
    ("all", "any"),
    ("tril", "triu"),
    ("zeros", "ones"),
    ("ones", "zeros"),
    ("cat", "stack"),
    ("stack", "cat"),
    ("cumsum", "cumprod"),
    ("scatter", "gather"),
    ("gather", "scatter"),
    ("block_diag", "cat"),
]
ALIKE = {family[0]: family[1:] for family in FAMILIES}
IN_OTHER_NAMES = {"exp2", "square", "gelu", "logsigmoid"}


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
    tree = guarded(ast.parse(source))
    for kind, place, replacement, statement, said in _slips(tree.body[0], known):
        owner, field, index = place
        before = getattr(owner, field)
        after = replacement
        if index is not None:
            after = [*before[:index], *replacement, *before[index + 1 :]]
        setattr(owner, field, after)
        try:
            function = compiled(ast.fix_missing_locations(tree), namespace)
        except (SyntaxError, ValueError, TypeError):
            function = None
        finally:
            setattr(owner, field, before)
        if function:
            where = _where(statement)
            yield Variation(kind, lambda said=said, where=where: said(where), function)


def _where(statement):
    """Say in which step of the solution a slip is."""
    if isinstance(statement, ast.Assign | ast.AugAssign):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        return f"where the solution computes {_code(target)}"
    if isinstance(statement, ast.Return):
        return "in what the function returns"
    if isinstance(statement, ast.If | ast.While):
        return "in the condition"
    return "in the loop" if isinstance(statement, ast.For) else "in one step"


def _code(node):
    """Show a piece of code, unless it is too long to help."""
    text = ast.unparse(node)
    return f"`{text.strip('()') if isinstance(node, ast.Tuple) else text}`"


def _short(node):
    return len(ast.unparse(node)) <= LONGEST_FRAGMENT


def _instead(good, bad):
    """Explain: this stands where that should."""

    def said(where):
        if _short(good) and _short(bad):
            return f"{LEAD}, {where}, {_code(bad)} stands in place of {_code(good)}."
        return f"There is one slip {where}."

    return said


def _forgotten(what):
    def said(where):
        return f"{LEAD} {what} is left out {where}."

    return said


def _slips(function, known):
    """Yield (kind, place, replacement, statement, said) for every slip."""
    yield from _returned_too_early(function, known)
    for statement, owner, index in _statements(function):
        yield from _statement_slips(statement, owner, index)
        yield from _scaled(statement, function, known)
        for node, place in _expressions(statement):
            for kind, replacement, said in _expression_slips(node, known):
                owner_, field, i = place
                yield kind, place, replacement if i is None else [replacement], statement, said


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
                    if not (isinstance(child, ast.UnaryOp) and _number(child) is not None):
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
        right = " and ".join(_code(p) for i, p in enumerate(last.value.elts) if i != index)
        for name in known:

            def said(_, name=name, part=part, right=right):
                what = "an intermediate result" if name in names else "just as it was given"
                return (
                    f"{right} {'is' if ' and ' not in right else 'are'} right. In place of "
                    f"{_code(part)} you return `{name}`, {what}."
                )

            place = (last.value, "elts", index)
            yield "an intermediate result", place, [ast.Name(name, ast.Load())], last, said
    if len(last.value.elts) == 2:
        elts = last.value.elts[::-1]

        def said(_):
            return "Both results are right, but they come in the wrong order."

        yield "order of the results", (last.value, "elts", None), elts, last, said


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
            return f"{LEAD} what depends on {_code(test)} {kept}."

        def never(_, test=statement.test):
            return f"{LEAD} what has to happen under the condition {_code(test)} never happens."

        yield "condition", place, statement.body, statement, always
        yield "condition", place, statement.orelse or [ast.Pass()], statement, never
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
            return f"{LEAD}, in the loop over {_code(over)}, {kind}."

        yield "rounds of the loop", (statement, "iter", None), Put().visit(tail), statement, said


def _expression_slips(node, known):
    """Yield (kind, replacement, said) for one expression."""
    if isinstance(node, ast.BinOp):
        yield from _binary_slips(node)
    elif isinstance(node, ast.BoolOp):
        for other in OPERATORS[type(node.op)]:
            bad = ast.BoolOp(other(), node.values)
            yield "operator", bad, _instead(node, bad)
        for value in node.values:
            yield "condition", value, _instead(node, value)
    elif _number(node) is not None:
        yield from _number_slips(node, _number(node))
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        sign = {ast.USub: "the minus sign", ast.Invert: "the `~`"}.get(type(node.op), "a sign")
        yield "sign", node.operand, _forgotten(f"{sign} before {_code(node.operand)}")
        if ast.unparse(node) == "-math.inf":
            for other in (0.0, -1.0, -1e9):
                yield "number", ast.Constant(other), _instead(node, ast.Constant(other))
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in OPERATORS.get(type(node.ops[0]), ()):
            bad = ast.Compare(node.left, [other()], node.comparators)
            yield "comparison", bad, _instead(node, bad)
    elif isinstance(node, ast.Call):
        yield from _call_slips(node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        bad = ast.Constant(not node.value)
        yield "number", bad, _instead(node, bad)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        for other in known.get("__strings__", ()):
            if other != node.value:
                bad = ast.Constant(other)
                yield "one for another", bad, _instead(node, bad)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from _name_slips(node, known)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield from _subscript_slips(node, known)
    elif isinstance(node, ast.GeneratorExp | ast.ListComp):
        yield from _comprehension_slips(node)


def _binary_slips(node):
    for other in OPERATORS.get(type(node.op), ()):
        bad = ast.BinOp(node.left, other(), node.right)
        yield "operator", bad, _instead(node, bad)
    sign = _sign(node.op)
    yield "left out", node.left, _forgotten(f"`{sign} {ast.unparse(node.right)}`")
    if not isinstance(node.left, ast.Constant):
        yield "left out", node.right, _forgotten(f"`{ast.unparse(node.left)} {sign}`")
    if isinstance(node.op, ast.Sub | ast.Div | ast.MatMult | ast.FloorDiv | ast.Pow):
        bad = ast.BinOp(node.right, node.op, node.left)
        yield "sides exchanged", bad, _instead(node, bad)
    if isinstance(node.op, ast.Div | ast.Mult | ast.Sub | ast.Add):
        yield from _bracket_slips(node)
    if isinstance(node.op, ast.MatMult | ast.Add | ast.Mult):
        for side, other in (("left", "right"), ("right", "left")):
            bad = ast.BinOp(node.left, node.op, node.right)
            setattr(bad, side, getattr(node, other))
            yield "one for another", bad, _instead(node, bad)


def _bracket_slips(node):
    """Read (a ∘ b) • c as a ∘ (b • c), and the other way round: brackets in another place."""
    left, right = node.left, node.right
    if isinstance(left, ast.BinOp):
        bad = ast.BinOp(left.left, left.op, ast.BinOp(left.right, node.op, right))
        yield "brackets", bad, _instead(node, bad)
    if isinstance(right, ast.BinOp):
        bad = ast.BinOp(ast.BinOp(left, node.op, right.left), right.op, right.right)
        yield "brackets", bad, _instead(node, bad)


def _sign(operator):
    shown = ast.unparse(ast.BinOp(ast.Name("a"), operator, ast.Name("b")))
    return shown[1:-1].strip()


def _call_slips(node):
    method = isinstance(node.func, ast.Attribute)
    name = node.func.attr if method else getattr(node.func, "id", "")
    module = method and isinstance(node.func.value, ast.Name) and node.func.value.id in MODULES
    subject = node.args[0] if (module or not method) and node.args else None
    subject = node.func.value if method and not module else subject
    if subject is not None and name not in ("range", "len", "int", "list"):
        yield "left out", subject, _forgotten(f"`{name}`")
        repeated = ast.Call(node.func, [node, *node.args[1:]], node.keywords)
        if method and not module:
            func = ast.Attribute(node, name, ast.Load())
            repeated = ast.Call(func, node.args, node.keywords)

        def twice(where):
            return f"{LEAD} {where} `{name}` is applied twice."

        yield "done twice", repeated, twice
    for other in ALIKE.get(name, ()):
        func = ast.Name(other, ast.Load())
        if method:
            func = ast.Attribute(node.func.value, other, ast.Load())
            if other in IN_OTHER_NAMES:
                func = ast.Name(other, ast.Load())
        args = [subject, *node.args] if method and other in IN_OTHER_NAMES else node.args
        bad = ast.Call(func, args, node.keywords)
        yield "function", bad, _other_function(name, other)
    positional = [a for a in node.args if not isinstance(a, ast.Starred)]
    for i in range(len(positional) - 1):
        args = [*node.args]
        args[i], args[i + 1] = args[i + 1], args[i]
        bad = ast.Call(node.func, args, node.keywords)
        yield "arguments exchanged", bad, _instead(node, bad)
    yield from _axis_slips(node, name)
    for i, keyword in enumerate(node.keywords):
        bad = ast.Call(node.func, node.args, [*node.keywords[:i], *node.keywords[i + 1 :]])
        yield "left out", bad, _forgotten(f"`{ast.unparse(keyword)}` in `{name}`")


ALONG = {
    "softmax", "log_softmax", "sum", "mean", "argmax", "amax", "cumsum", "sort", "topk", "var", "cat",
    "stack", "gather", "scatter",
}  # fmt: skip


def _axis_slips(node, name):
    """Let a function run along another dimension."""
    if name not in ALONG:
        return
    places = [("args", i, arg) for i, arg in enumerate(node.args[:1])]
    places += [("keywords", i, k.value) for i, k in enumerate(node.keywords) if k.arg == "dim"]
    for field, i, right in places:
        value = _number(right)
        if not isinstance(value, int):
            continue
        for axis in (-1, -2, 0, 1):
            if axis == value:
                continue
            args, keywords = [*node.args], [*node.keywords]
            if field == "args":
                args[i] = ast.Constant(axis)
            else:
                keywords[i] = ast.keyword("dim", ast.Constant(axis))

            def said(where, axis=axis, value=value):
                return f"{LEAD}, {where}, `{name}` runs along dimension {axis} instead of {value}."

            yield "another dimension", ast.Call(node.func, args, keywords), said


MODULES = {"torch", "math", "F", "own", "masks", "positions"}


def _other_function(good, bad):
    def said(where):
        return f"{LEAD}, {where}, `{bad}` stands in place of `{good}`."

    return said


def _number(node):
    """Return the number that an expression writes out, with its sign; None if it is none."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number_slips(node, value):
    if isinstance(value, int):
        others = (value - 1, value + 1, 0, 1, 2, -1, -2, -value)
    else:
        others = (value * 10, value / 10, value * 2, value / 2, -value, 0.0, 1.0)
    for other in dict.fromkeys(others):
        if other != value:

            def said(where, other=other):
                return f"{LEAD}, {where}, there is {other} in place of {value}."

            yield "number", ast.Constant(other), said


def _kind(value):
    """Sort values by what could be mistaken for what."""
    if isinstance(value, torch.Tensor):
        return "bool" if value.dtype == torch.bool else "tensor"
    return type(value).__name__


def _name_slips(node, known):
    if node.id not in known:
        return
    value = known[node.id]
    for other in known:
        if other != node.id and _kind(known[other]) == _kind(value):
            yield "one for another", ast.Name(other, ast.Load()), _mixed_up(node.id, other)
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield "written-in number", ast.Constant(value), _written_in(node.id, value)
    if isinstance(value, int) and not isinstance(value, bool):
        for change, sign in ((ast.Add(), "+"), (ast.Sub(), "−")):
            bad = ast.BinOp(node, change, ast.Constant(1))

            def said(where, sign=sign):
                return (
                    f"{LEAD}, {where}, `{node.id} {sign} 1` "
                    f"stands in place of `{node.id}`: off by one."
                )

            yield "off by one", bad, said
    if _kind(value) == "tensor" and value.is_floating_point():
        for function in ("softmax(-1)", "exp()", "tanh()", "relu()", "sigmoid()"):
            bad = ast.parse(f"{node.id}.{function}", mode="eval").body

            def applied(where, function=function):
                return (
                    f"{LEAD}, {where}, `{node.id}` goes through one step too many: `.{function}`."
                )

            yield "one step too many", bad, applied
    if _kind(value) == "tensor" and value.dim() >= 2:
        bad = ast.Attribute(node, "mT", ast.Load())

        def transposed(where):
            return f"{LEAD}, {where}, `{node.id}` is transposed."

        yield "transposed", bad, transposed
    if _kind(value) == "bool":
        bad = ast.UnaryOp(ast.Invert(), node)

        def inverted(where):
            return f"{LEAD}, {where}, `{node.id}` is inverted."

        yield "inverted", bad, inverted


def _mixed_up(good, bad):
    def said(where):
        return f"{LEAD}, {where}, `{bad}` is used in place of `{good}`."

    return said


def _written_in(name, value):
    def said(_):
        return (
            f"{LEAD} `{name}` is always {value}. That was right "
            f"for the first input only: the number has to come from the arguments."
        )

    return said


def _subscript_slips(node, known):
    index = node.slice
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        yield from _size_slips(node, known)
        return
    for i, part in enumerate(index.elts if isinstance(index, ast.Tuple) else [index]):
        if not isinstance(part, ast.Slice):
            continue
        for bad_part in _other_slices(part):
            parts = [*index.elts] if isinstance(index, ast.Tuple) else [index]
            parts[i] = bad_part
            whole = ast.Tuple(parts, ast.Load()) if len(parts) > 1 else parts[0]
            bad = ast.Subscript(node.value, whole, ast.Load())
            yield "slice", bad, _instead(node, bad)
    yield "left out", node.value, _forgotten(f"`[{ast.unparse(index)}]`")


def _size_slips(node, known):
    """Take another tensor's size, or write the size in as a number."""
    name = ast.unparse(node.value.value)
    if name in known and isinstance(node.slice, ast.Constant | ast.UnaryOp):
        try:
            value = known[name].shape[ast.literal_eval(node.slice)]
        except (IndexError, AttributeError):
            return
        yield "written-in number", ast.Constant(value), _written_in(ast.unparse(node), value)
        for axis in range(-known[name].dim(), 0):
            if known[name].dim() > 1:
                bad = ast.parse(f"{name}.shape[{axis}]", mode="eval").body
                yield "size", bad, _instead(node, bad)
        for other, held in known.items():
            if other != name and isinstance(held, torch.Tensor):
                for axis in range(-min(held.dim(), 3), 0):
                    bad = ast.parse(f"{other}.shape[{axis}]", mode="eval").body
                    yield "size", bad, _instead(node, bad)


def _other_slices(part):
    one, minus = ast.Constant(1), ast.UnaryOp(ast.USub(), ast.Constant(1))
    if part.lower or part.upper:
        yield ast.Slice(None, None, part.step)
    if part.lower and part.upper:
        yield ast.Slice(part.lower, None, part.step)
        yield ast.Slice(None, part.upper, part.step)
    for lower, upper in ((one, None), (None, minus), (None, one), (minus, None)):
        yield ast.Slice(lower, upper, part.step)
    if part.lower and not part.upper:
        yield ast.Slice(None, part.lower, part.step)
    if part.upper and not part.lower:
        yield ast.Slice(part.upper, None, part.step)


def _comprehension_slips(node):
    loop = node.generators[0]
    for text, kind in [
        ("[1:]", "the first is left out"),
        ("[:-1]", "the last is left out"),
        ("[:1]", "only the first counts"),
        ("[-1:]", "only the last counts"),
    ]:
        tail = ast.parse(f"list(x){text}", mode="eval").body
        tail.value.args = [loop.iter]
        generator = ast.comprehension(loop.target, tail, loop.ifs, loop.is_async)
        bad = type(node)(node.elt, [generator, *node.generators[1:]])

        def said(_, kind=kind):
            return f"{LEAD}, of {_code(loop.iter)}, {kind}."

        yield "rounds of the loop", bad, said
