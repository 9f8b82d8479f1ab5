"""What to do about an error that an answer raised, where PyTorch's own words don't say it."""

import ast
import inspect
import re
import textwrap

import torch

# What makes a plain number or a list of a tensor, and how a learner writes it.
UNTENSORED = {"float(": "float()", ".item()": ".item()", ".tolist()": ".tolist()", "int(": "int()"}
PRODUCT_FAILS = re.compile(
    r"shapes cannot be multiplied|size mismatch, got|inconsistent tensor size|"
    r"Expected size for first two dimensions|both arguments to matmul|1D tensors expected"
)


def on_error(error_text, line, source, variables):
    """Say what to do about an error, in a sentence or two.

    Parameters
    ----------
    error_text : str
        What PyTorch said.
    line : str
        The line of the answer in which it said so.
    source : str
        The whole answer.
    variables : dict of str to object
        What the names in that line held.

    Returns
    -------
    advice : str
        "" if PyTorch's own words have to do.
    """
    if "expected Tensor as element" in error_text or "must be Tensor, not float" in error_text:
        return _keep_tensors(source) or _plain_number(error_text)
    if "object is not callable" in error_text and "'Tensor'" in error_text:
        return (
            "A tensor was called like a function. Where a function is expected, pass the function "
            "itself, such as lambda h: …, and not what it returns."
        )
    prefix = re.search(r"""\b(?:under|layers_of)\([^()]*,\s*["']([^"']*[^"'.])["']\)""", line)
    if prefix:
        return f'The prefix has to end with a dot: "{prefix[1]}."'
    if "shape of the mask" in error_text:
        return (
            "An index isn't broadcast, so a mask in [ ] needs the tensor's own shape. "
            "scores.masked_fill(~mask, -math.inf) broadcasts it."
        )
    if "Index tensor must have the same number of dimensions" in error_text:
        return "gather and scatter need an index with as many dimensions as the tensor: index[..., None]."
    if "cross_entropy" in line and "Expected " in error_text:
        return (
            "F.cross_entropy takes one row of logits per target, (N, V) and (N,). Flatten both in the "
            "same way: logits.flatten(0, 1) and targets.flatten()."
        )
    if "not implemented for 'Long'" in error_text:
        return "This function needs floats, and it was given whole numbers."
    if "Boolean value of Tensor" in error_text:
        return _truth_of_a_tensor(line)
    if "@" not in line and "must match the size" in error_text:
        return _to_broadcast(line, source, variables)
    if PRODUCT_FAILS.search(error_text) or ("@" in line and "must match the size" in error_text):
        return _shapes_that_met(line, variables)
    return ""


def _keep_tensors(source):
    found = [name for text, name in UNTENSORED.items() if text in source]
    if not found and not re.search(r"\b(stack|cat)\(", source):
        return ""
    what = " and ".join(found)
    leave = f"Leave out the {what}" if found else "Don't turn them into plain numbers"
    return (
        f"{leave}, so that the numbers stay tensors: torch.stack and torch.cat join tensors only."
    )


def _plain_number(error_text):
    function = error_text.partition("(")[0]
    return (
        f"{function} takes tensors, and this is a plain number. Plain numbers have Python's own min, "
        f"max and abs, and the functions of math."
    )


def _truth_of_a_tensor(line):
    """Say what to write in place of a word of Python's that needs one truth value."""
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
    return (
        "This asks whether a whole tensor is true. To decide per entry, use torch.where or a mask."
    )


def _to_broadcast(line, source, variables):
    """Say what keeps two shapes from being broadcast."""
    if call := _drops_a_dim(source):
        return (
            f"`{call}` drops the dimension it runs over. Add keepdim=True, and that dimension stays, "
            f"with size 1, so that the result broadcasts."
        )
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", line))
    shapes = {n: tuple(x.shape) for n in names if isinstance(x := variables.get(n), torch.Tensor)}
    met = ", ".join(f"{name} is {shape}" for name, shape in shapes.items() if shape)
    rule = "Shapes are lined up from the right, and two sizes fit if they are equal or one of them is 1"
    return f"{f'The shapes that met: {met}. ' if met else ''}{rule}."


def _drops_a_dim(source):
    """Find the one reduction along a dimension that doesn't keep it, as code; None if none or many."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:
        return None
    found = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("mean", "var", "std", "sum", "amax")
        and (node.args or any(k.arg == "dim" for k in node.keywords))
        and not any(k.arg == "keepdim" for k in node.keywords)
    ]
    return found[0] if len(found) == 1 else None


def _shapes_that_met(line, variables):
    for name in re.findall(r"([A-Za-z_]\w*)\.T\b", line):
        if isinstance(x := variables.get(name), torch.Tensor) and x.dim() > 2:
            return (
                f"{name} is {tuple(x.shape)}, and .T turns round all of its dimensions. To swap the "
                f"last two, write {name}.transpose(-2, -1)."
            )
    products = _products(line)
    names = [name for pair in products for name in pair if name]
    names = names or re.findall(r"[A-Za-z_]\w*", line)
    shapes = {n: tuple(x.shape) for n in names if isinstance(x := variables.get(n), torch.Tensor)}
    misfits = [pair for pair in products if _fit(shapes, *pair) is False]
    if misfits:
        shapes = {name: shapes[name] for pair in misfits for name in pair}
    rule = "a @ b needs the last size of a to equal the last but one of b"
    for left, right in misfits:
        if _fit(shapes, right, left):
            a_matrix = len(shapes[left]) == 2
            rule = f"The course multiplies rows times matrices: {right} @ {left}"
            rule = rule if a_matrix else f"{right} @ {left} would fit"
    met = ", ".join(f"{name} is {shape}" for name, shape in shapes.items())
    return f"{f'The shapes that met: {met}. ' if met else ''}{rule}."


def _fit(shapes, left, right):
    """Say whether two factors fit; None if a shape isn't known."""
    if not shapes.get(left) or not shapes.get(right):
        return None
    return shapes[left][-1] == shapes[right][-2:][0]


def _products(line):
    """Find the factors of every @ in a line: names, or None where a factor is more than a name."""
    try:
        tree = ast.parse(line.rstrip(":") + (": pass" if line.endswith(":") else ""))
    except SyntaxError:
        return []
    return [
        tuple(side.id if isinstance(side, ast.Name) else None for side in (node.left, node.right))
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
    ]


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
    """Find what right answers call their results; None if none of them names all.

    Parameters
    ----------
    functions : list of function
    n_results : int
    """
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
