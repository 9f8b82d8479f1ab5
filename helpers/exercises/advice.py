"""What to do about an error that an answer raised, where PyTorch's own words don't say it."""

import ast
import inspect
import math
import re
import textwrap

import torch

# What makes a plain number or a list of a tensor, and how a learner writes it.
UNTENSORED = {"float(": "float()", ".item()": ".item()", ".tolist()": ".tolist()", "int(": "int()"}
PRODUCTS = {"matmul", "mm", "bmm"}
REDUCTIONS = {"sum", "mean", "amax", "amin", "norm", "std", "var", "logsumexp"}
# What may be computed once more to learn its shape: it changes nothing and takes no time.
HARMLESS_CALLS = REDUCTIONS | {
    "exp", "log", "sqrt", "square", "abs", "pow", "tanh", "sigmoid", "relu", "softmax",
    "transpose", "permute", "t", "unsqueeze", "squeeze", "flatten", "reshape", "view",
}  # fmt: skip
HARMLESS = (
    ast.Expression, ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator,
    ast.unaryop, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.keyword, ast.Call,
)  # fmt: skip
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
NOT_A_TENSOR = re.compile(r"(\w+)\(\): argument 'input' .*must be Tensor, not (int|float)")
PRODUCT_FAILS = re.compile(
    r"shapes cannot be multiplied|size mismatch, got|inconsistent tensor size|"
    r"Expected size for first two dimensions|both arguments to matmul|1D tensors expected"
)

IMPORTS = {
    "Counter": "from collections import Counter",
    "F": "import torch.nn.functional as F",
    "math": "import math",
    "nn": "from torch import nn",
    "numpy": "import numpy",
    "np": "import numpy as np",
}
SAID = {
    "'Tensor' object is not callable": (
        "A tensor was called like a function. Where a function is expected, pass the function "
        "itself, such as lambda h: …, and not what it returns."
    ),
    "shape of the mask": (
        "An index isn't broadcast, so a mask in [ ] needs the tensor's own shape. "
        "scores.masked_fill(~mask, -math.inf) broadcasts it."
    ),
    "Index tensor must have the same number of dimensions": (
        "gather and scatter need an index with as many dimensions as the tensor: index[..., None]."
    ),
    "not implemented for 'Long'": "This function needs floats, and it was given whole numbers.",
    r"bitwise_(and|or)\w*. not implemented": (
        "& and | bind more tightly than < and >=, so put brackets around each comparison: "
        "(x >= 0.2) & (x < 0.5)."
    ),
    "could not infer output dtype": "mean() takes no truth values: .float() makes them 0 and 1.",
    "Sizes of tensors must match except": (
        "torch.cat joins along one dimension (dim), and all other sizes have to be equal."
    ),
    "Tensors must have same number of dimensions": (
        "torch.cat joins tensors with equally many dimensions; x[:, None] adds one of size 1."
    ),
    "expanded size of the tensor": "What you put in has to fit its place, the target sizes.",
    r"can only concatenate list": "+ joins a list to a list only: [x] for a number x. torch.cat joins tensors.",
    r"(softmax|normalize)\(\) missing .*dim": "Say along which dimension: .softmax(dim=...).",
    r"numpy\.|numpy array": (
        "A NumPy function returns NumPy's numbers. Use PyTorch's own (query @ key, torch.dot, "
        "x.exp()), and the result stays a tensor."
    ),
}


def on_error(
    error_text: str, line: str, source: str, variables: dict, mends=lambda call: True
) -> str:
    """Say what to do about an error, in a sentence or two; "" if PyTorch's own words have to do.

    `error_text` is what PyTorch said, `line` the line of the answer in which it said so, `source`
    the whole answer, and `variables` what the names in that line held. `mends` says whether the
    results have the right shape once a call in it keeps its dimension.
    """
    if (found := NOT_A_TENSOR.search(error_text)) and not _untensored(source):
        name, number = found.groups()
        other = f"math.{name} does the same" if hasattr(math, name) else "make a tensor of it first"
        return f"torch.{name} works on tensors only, and this is a plain {number}: {other}."
    if re.search("NoneType|invalid combination of arguments", error_text) and (
        missing := _missing(line, variables)
    ):
        return f"{missing} is None on this input. Use it only under: if {missing} is not None."
    if "expected Tensor as element" in error_text and "numpy" in error_text:
        return SAID[r"numpy\.|numpy array"]
    if "expected Tensor as element" in error_text or "must be Tensor, not float" in error_text:
        return _keep_tensors(source) or (
            f"{error_text.partition('(')[0]} takes tensors, and this is a plain number. Plain numbers "
            f"have Python's own min, max and abs, and the functions of math."
        )
    if "cross_entropy" in line and "Expected " in error_text:
        return (
            "F.cross_entropy takes one row of logits per target, (N, V) and (N,). Flatten both in the "
            "same way: logits.flatten(0, 1) and targets.flatten()."
        )
    if "Boolean value of Tensor" in error_text:
        return _truth_of_a_tensor(line)
    if "must match the size" in error_text and (
        told := _entries_that_met(line, source, variables, mends)
    ):
        return told
    if "@" not in line and "must match the size" in error_text:
        return _to_broadcast(line, source, variables, mends)
    unknown = re.search(r"name '(\w+)' is not defined", error_text)
    if unknown and unknown[1] in IMPORTS:
        return f"Import it first: {IMPORTS[unknown[1]]}."
    for said, advice in SAID.items():
        if re.search(said, error_text):
            return advice
    if PRODUCT_FAILS.search(error_text) or ("@" in line and "must match the size" in error_text):
        return _shapes_that_met(line, variables)
    return ""


def _keep_tensors(source):
    found = _untensored(source)
    if not found and not re.search(r"\b(stack|cat)\(", source):
        return ""
    if not found:
        return (
            "torch.stack and torch.cat join tensors only, and one of these is a plain number. Make a "
            "tensor of it first, for example with torch.full_like, in the shape that belongs there."
        )
    return (
        f"Leave out the {' and '.join(found)}, so that the numbers stay tensors: torch.stack and "
        f"torch.cat join tensors only."
    )


def _untensored(source):
    return [name for text, name in UNTENSORED.items() if text in source]


def _missing(line, variables):
    """Name what is None in a line; "" if a None that is handed on may be what was meant."""
    nodes = _nodes(line)
    given = [arg for node in nodes if isinstance(node, ast.Call) for arg in node.args]
    names = [node.id for node in nodes if isinstance(node, ast.Name) and node.id in variables]
    found = [name for name in names if variables[name] is None]
    handed_on = any(isinstance(arg, ast.Constant) and arg.value is None for arg in given)
    return found[0] if found and not handed_on else ""


def _truth_of_a_tensor(line):
    """Say what to write in place of a word of Python's that needs one truth value."""
    if given := re.match(r"if (?:not )?([A-Za-z_]\w*):", line):
        return (
            f"This asks whether the whole tensor is true. To see whether one was given at all, write "
            f"if {given[1]} is not None."
        )
    asks = re.match(r"(if|elif|while|assert)\b", line)
    if not asks and (found := re.search(r"(?<![.\w])(max|min)\(", line)):
        side = {"max": "min", "min": "max"}[found[1]]
        return (
            f"Python's {found[1]} compares two things as wholes. To compare every entry of a tensor "
            f"x with 0, write x.clamp({side}=0)."
        )
    operators = {"and": "&", "or": "|", "not": "~"}
    used = [word for word in operators if re.search(rf"\b{word}\b", line)]
    if used:
        return " ".join(
            f"Python's {word} needs one truth value. For every entry of a boolean tensor, write "
            f"{operators[word]}."
            for word in used
        )
    if re.search(r"<=?[^<>=&]+<=?|>=?[^<>=&]+>=?", line):
        return (
            "For every entry of a tensor, write (0.2 <= x) & (x < 0.5) instead of 0.2 <= x < 0.5."
        )
    return (
        "This asks whether a whole tensor is true. To decide per entry, use torch.where or a mask."
    )


def _entries_that_met(line, source, variables, mends):
    """Name the two parts that don't broadcast, with their shapes; "" if the line doesn't show them."""
    for node in _nodes(line):
        if told := _mask_that_met(node, variables):
            return told
        sign = SIGNS.get(type(getattr(node, "op", None)))
        left, right = (_shape(side, variables) if sign else None for side in _sides(node))
        if left is None or right is None or _broadcast(left, right):
            continue
        names = [ast.unparse(side) for side in _sides(node)]
        told = f"These don't fit entry by entry: {names[0]} is {left}, {names[1]} is {right}."
        inner = [part for side in _sides(node) for part in ast.walk(side)]
        drops = [ast.unparse(part) for part in inner if _drops(part)]
        elsewhere = _drops_a_dim(source)
        # Only in another line: what this line does afterwards is no cause.
        if not drops and elsewhere and elsewhere not in map(ast.unparse, _nodes(line)):
            drops = [elsewhere]
        if drops and mends(drops[0]):
            return f"{told} {_keep_the_dim(drops[0])}"
        if sign == "*" and len(right) == 2 and left[-1:] == right[:1]:
            return (
                f"{told} * multiplies entry by entry. Rows times a matrix is {' @ '.join(names)}."
            )
        for name, shape, other in zip(names, (left, right), (right, left), strict=True):
            if shape == other[:-1]:
                return f"{told} {name}[..., None] has the dimension that is missing at the end."
        return (
            f"{told} Compare the sizes from the last to the first: in each pair both must be equal, "
            f"or one of them 1."
        )
    return ""


def _mask_that_met(node, variables):
    """Name a mask and the scores that it doesn't fit, in a call of masked_fill."""
    called = getattr(getattr(node, "func", None), "attr", "")
    if not called.startswith("masked_fill"):
        return ""
    parts = [node.func.value, *node.args[:1]]
    shapes = [_shape(part, variables) for part in parts]
    if len(parts) < 2 or None in shapes or _broadcast(*shapes):
        return ""
    names, (scores, mask) = [ast.unparse(part) for part in parts], shapes
    told = f"The mask {names[1]} is {mask}, and {names[0]}, which it meets, is {scores}."
    if len(mask) == 2 < len(scores) and mask == (scores[0], scores[-1]):
        new = ", ".join([":"] + ["None"] * (len(scores) - 2) + [":"])
        return f"{told} Give it the dimensions in between: mask[{new}]."
    return f"{told} Compare the sizes from the last to the first: both equal, or one of them 1."


def _sides(node):
    """Give the two parts that an operator joins, also in ``left /= right``."""
    if isinstance(node, ast.AugAssign):
        return [ast.parse(ast.unparse(node.target), mode="eval").body, node.value]
    return [getattr(node, "left", None), getattr(node, "right", None)]


def _shape(node, variables):
    """Tell the shape of a part of the line; None where that would take more than plain arithmetic."""
    for inner in ast.walk(node):
        a_call = isinstance(inner, ast.Call)
        if a_call and getattr(inner.func, "attr", "") not in HARMLESS_CALLS:
            return None
        if not isinstance(inner, HARMLESS):
            return None
    try:
        code = compile(ast.Expression(node), "<answer>", "eval")
        value = eval(code, {"__builtins__": {}, "torch": torch, "math": math}, dict(variables))
    except Exception:
        return None
    return tuple(value.shape) if isinstance(value, torch.Tensor) else None


def _broadcast(left, right):
    pairs = zip(reversed(left), reversed(right), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def _keep_the_dim(call):
    return (
        f"`{call}` drops the dimension it runs over. Add keepdim=True, and that dimension stays, "
        f"with size 1, so that the result broadcasts."
    )


def _to_broadcast(line, source, variables, mends):
    """Say what keeps two shapes from being broadcast."""
    if (call := _drops_a_dim(source)) and mends(call):
        return _keep_the_dim(call)
    shapes = {n: tuple(variables[n].shape) for n in _words(line, variables)}
    met = ", ".join(f"{name} is {shape}" for name, shape in shapes.items() if shape)
    rule = "Shapes are lined up from the right, and two sizes fit if they are equal or one of them is 1"
    return f"{f'The shapes that met: {met}. ' if met else ''}{rule}."


def _drops_a_dim(source):
    """Find the one reduction along a dimension that doesn't keep it, as code; None if none or many."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:
        return None
    found = [ast.unparse(node) for node in ast.walk(tree) if _drops(node)]
    return found[0] if len(found) == 1 else None


def _drops(node):
    """Say whether a node of the syntax tree is a reduction along a dimension that doesn't keep it."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in REDUCTIONS
        and (node.args or any(k.arg == "dim" for k in node.keywords))
        and not any(k.arg == "keepdim" for k in node.keywords)
    )


def _shapes_that_met(line, variables):
    for name in re.findall(r"([A-Za-z_]\w*)\.T\b", line):
        if isinstance(x := variables.get(name), torch.Tensor) and x.dim() > 2:
            return (
                f"{name} is {tuple(x.shape)}, and .T turns round all of its dimensions. To swap the "
                f"last two, write {name}.transpose(-2, -1)."
            )
    products = _products(line)
    names = [name for pair in products for name in pair if name]
    names = names or _words(line, variables)
    shapes = {name: _shape(ast.parse(name, mode="eval").body, variables) for name in names}
    shapes = {name: shape for name, shape in shapes.items() if shape is not None}
    misfits = [pair for pair in products if _fit(shapes, *pair) is False]
    if misfits:
        shapes = {name: shapes[name] for pair in misfits for name in pair}
    rule = (
        "In a product, the last size of the left one has to equal the last but one of the right one"
    )
    for left, right in misfits:
        if _fit(shapes, right, left):
            rule = f"{right} @ {left} would fit"
            if re.fullmatch(r"w|w_\w+", left):
                rule = f"The course multiplies rows times matrices: {right} @ {left}"
            elif len(shapes[left]) > 1:
                rule += ", but first see whether both have the shapes that you expect"
    met = ", ".join(f"{name} is {shape}" for name, shape in shapes.items())
    return f"{f'The shapes that met: {met}. ' if met else ''}{rule}."


def _words(line, variables):
    """List the tensors that a line names, each once."""
    words = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", line))
    return [word for word in words if isinstance(variables.get(word), torch.Tensor)]


def _fit(shapes, left, right):
    """Say whether two factors fit; None if a shape isn't known."""
    if not shapes.get(left) or not shapes.get(right):
        return None
    return shapes[left][-1] == shapes[right][-2:][0]


def _products(line):
    """Find the factors of every @ and every matmul in a line, as they are written."""
    pairs = []
    for node in _nodes(line):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            pairs.append((node.left, node.right))
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in PRODUCTS:
            of_torch = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"
            factors = node.args if of_torch else [node.func.value, *node.args]
            pairs += [tuple(factors)] if len(factors) == 2 else []
    return [(ast.unparse(left), ast.unparse(right)) for left, right in pairs]


def _nodes(line):
    """List everything in a line, outermost first; nothing if it isn't a whole statement."""
    try:
        tree = ast.parse(line.rstrip(":") + (": pass" if line.endswith(":") else ""))
    except SyntaxError:
        return []
    return list(ast.walk(tree))


def n_open_gaps(answer):
    """Count the ``...`` that an answer still has to fill in; the one in ``x[..., 0]`` isn't one."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(answer)))
    except (OSError, TypeError, SyntaxError):
        return 0
    indices = [node.slice for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    statements = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    in_an_index = {id(inner) for node in indices for inner in ast.walk(node)}
    gaps = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value is ... and id(node) not in in_an_index
    ]
    # A ... on a line of its own can stay behind under a finished answer, so alone it is no gap.
    return len(gaps) if {id(gap) for gap in gaps} - set(map(id, statements)) else 0


def result_names(functions, n_results):
    """Find what right answers call their results; None if none of them names all."""
    for function in functions:
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        except (OSError, TypeError, SyntaxError):
            continue
        for node in ast.walk(tree):
            parts = getattr(node.value, "elts", []) if isinstance(node, ast.Return) else []
            if len(parts) == n_results and all(isinstance(part, ast.Name) for part in parts):
                return [part.id for part in parts]
    return None
