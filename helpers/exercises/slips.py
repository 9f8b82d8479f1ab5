"""Every small slip of one expression: another operator, dimension, name, number, function."""

import ast

import torch

LONGEST_FRAGMENT = 70
LEAD = "Your numbers are exactly what the right code gives if"

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
    ("tanh", "sigmoid", "relu", "sin"), ("sin", "cos", "tan"), ("relu", "tanh", "sigmoid", "abs", "gelu", "exp"),
    ("exp", "exp2", "log"), ("log", "log2", "log10", "exp"), ("sqrt", "square", "exp", "log"),
    ("log_softmax", "softmax", "logsigmoid"), ("softmax", "log_softmax", "sigmoid", "exp", "relu"),
    ("ceil", "floor"), ("max", "min", "sum"), ("min", "max", "sum"), ("amax", "amin", "sum"),
    ("argmax", "argmin", "amax"), ("sum", "mean", "prod", "amax"), ("mean", "sum", "median", "amax"),
    ("var", "std"), ("any", "all"), ("all", "any"), ("tril", "triu"), ("zeros", "ones"),
    ("ones", "zeros"), ("cat", "stack"), ("stack", "cat"), ("cumsum", "cumprod"),
    ("scatter", "gather"), ("gather", "scatter"), ("block_diag", "cat"),
]  # fmt: skip
ALIKE = {family[0]: family[1:] for family in FAMILIES}
IN_OTHER_NAMES = {"exp2", "square", "gelu", "logsigmoid"}


def code(node):
    """Show a piece of code, unless it is too long to help."""
    text = ast.unparse(node).replace("-1000000000.0", "-1e9")
    return f"`{text.strip('()') if isinstance(node, ast.Tuple) else text}`"


def short(node):
    return len(ast.unparse(node)) <= LONGEST_FRAGMENT


def instead(good, bad):
    """Explain: this stands where that should."""

    def said(where):
        if short(good) and short(bad):
            return f"{LEAD}, {where}, {code(bad)} stands in place of {code(good)}."
        return f"There is one slip {where}."

    return said


def forgotten(what):
    def said(where):
        return f"{LEAD} {what} is left out {where}."

    return said


def expression_slips(node, known):
    """Yield (kind, replacement, said) for one expression."""
    if isinstance(node, ast.BinOp):
        yield from _binary_slips(node)
    elif isinstance(node, ast.BoolOp):
        for other in OPERATORS[type(node.op)]:
            bad = ast.BoolOp(other(), node.values)
            yield "another operator", bad, instead(node, bad)
        for value in node.values:
            yield "another condition", value, instead(node, value)
    elif number(node) is not None:
        yield from _number_slips(node, number(node))
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        sign = {ast.USub: "the minus sign", ast.Invert: "the `~`"}.get(type(node.op), "a sign")
        yield "a sign left out", node.operand, forgotten(f"{sign} before {code(node.operand)}")
        if ast.unparse(node) == "-math.inf":
            for other in (0.0, -1.0, -1e9):
                yield "another number", ast.Constant(other), instead(node, ast.Constant(other))
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in OPERATORS.get(type(node.ops[0]), ()):
            bad = ast.Compare(node.left, [other()], node.comparators)
            yield "another comparison", bad, instead(node, bad)
    elif isinstance(node, ast.Call):
        yield from _call_slips(node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        bad = ast.Constant(not node.value)
        yield "another number", bad, instead(node, bad)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        for other in known.get("__strings__", ()):
            if other != node.value:
                bad = ast.Constant(other)
                yield "one for another", bad, instead(node, bad)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from _name_slips(node, known)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield from _subscript_slips(node, known)
    elif isinstance(node, ast.GeneratorExp | ast.ListComp):
        yield from _comprehension_slips(node)


def _binary_slips(node):
    for other in OPERATORS.get(type(node.op), ()):
        bad = ast.BinOp(node.left, other(), node.right)
        yield "another operator", bad, instead(node, bad)
    sign = _sign(node.op)
    yield "left out", node.left, forgotten(f"`{sign} {ast.unparse(node.right)}`")
    if not isinstance(node.left, ast.Constant):
        yield "left out", node.right, forgotten(f"`{ast.unparse(node.left)} {sign}`")
    if isinstance(node.op, ast.Sub | ast.Div | ast.MatMult | ast.FloorDiv | ast.Pow):
        bad = ast.BinOp(node.right, node.op, node.left)
        yield "sides exchanged", bad, instead(node, bad)
    if isinstance(node.op, ast.Div | ast.Mult | ast.Sub | ast.Add):
        yield from _bracket_slips(node)
    if isinstance(node.op, ast.MatMult | ast.Add | ast.Mult):
        for side, other in (("left", "right"), ("right", "left")):
            bad = ast.BinOp(node.left, node.op, node.right)
            setattr(bad, side, getattr(node, other))
            yield "one for another", bad, instead(node, bad)


def _bracket_slips(node):
    """Read (a ∘ b) • c as a ∘ (b • c), and the other way round: brackets in another place."""
    left, right = node.left, node.right
    if isinstance(left, ast.BinOp):
        bad = ast.BinOp(left.left, left.op, ast.BinOp(left.right, node.op, right))
        yield "brackets elsewhere", bad, instead(node, bad)
    if isinstance(right, ast.BinOp):
        bad = ast.BinOp(ast.BinOp(left, node.op, right.left), right.op, right.right)
        yield "brackets elsewhere", bad, instead(node, bad)


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
        yield "left out", subject, forgotten(f"`{name}`")
        repeated = ast.Call(node.func, [node, *node.args[1:]], node.keywords)
        if method and not module:
            func = ast.Attribute(node, name, ast.Load())
            repeated = ast.Call(func, node.args, node.keywords)

        def twice(where):
            return f"{LEAD}, {where}, `{name}` is applied twice."

        yield "done twice", repeated, twice
    for other in ALIKE.get(name, ()):
        func = ast.Name(other, ast.Load())
        if method:
            func = ast.Attribute(node.func.value, other, ast.Load())
            if other in IN_OTHER_NAMES:
                func = ast.Name(other, ast.Load())
        args = [subject, *node.args] if method and other in IN_OTHER_NAMES else node.args
        bad = ast.Call(func, args, node.keywords)
        yield "another function", bad, _other_function(name, other)
    positional = [a for a in node.args if not isinstance(a, ast.Starred)]
    for i in range(len(positional) - 1):
        args = [*node.args]
        args[i], args[i + 1] = args[i + 1], args[i]
        bad = ast.Call(node.func, args, node.keywords)
        yield "arguments exchanged", bad, instead(node, bad)
    yield from _axis_slips(node, name)
    for i, keyword in enumerate(node.keywords):
        bad = ast.Call(node.func, node.args, [*node.keywords[:i], *node.keywords[i + 1 :]])
        yield "left out", bad, forgotten(f"`{ast.unparse(keyword)}` in `{name}`")


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
        value = number(right)
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


def number(node):
    """Return the number that an expression writes out, with its sign; None if it is none."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number_slips(node, value):
    if isinstance(value, int):
        others = (value - 1, value + 1, 0, 1, 2, -1, -2, -value, 0.5)
    else:
        nearby = (value + 1, value - 1, value + 0.5, value - 0.5)
        others = (value * 10, value / 10, value * 2, value / 2, -value, 0.0, 1.0, *nearby)
    for other in dict.fromkeys(others):
        if other != value:

            def said(where, other=other):
                return f"{LEAD}, {where}, there is {other} in place of {value}."

            yield "another number", ast.Constant(other), said


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
    if isinstance(value, torch.Tensor):
        yield from _tensor_slips(node, value)


def _tensor_slips(node, value):
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
            yield "another slice", bad, instead(node, bad)
    yield "left out", node.value, forgotten(f"`[{code(index)[1:-1]}]`")


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
                yield "another size", bad, instead(node, bad)
        for other, held in known.items():
            if other != name and isinstance(held, torch.Tensor):
                for axis in range(-min(held.dim(), 3), 0):
                    bad = ast.parse(f"{other}.shape[{axis}]", mode="eval").body
                    yield "another size", bad, instead(node, bad)


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
            return f"{LEAD}, of {code(loop.iter)}, {kind}."

        yield "rounds of the loop", bad, said
