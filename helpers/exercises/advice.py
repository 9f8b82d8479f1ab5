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
        return _keep_tensors(source)
    if PRODUCT_FAILS.search(error_text) or ("@" in line and "must match the size" in error_text):
        return _shapes_that_met(line, variables)
    return ""


def _keep_tensors(source):
    found = [name for text, name in UNTENSORED.items() if text in source]
    what = " and ".join(found)
    leave = f"Leave out the {what}" if found else "Don't turn them into plain numbers"
    return (
        f"{leave}, so that the numbers stay tensors: torch.stack and torch.cat join tensors only."
    )


def _shapes_that_met(line, variables):
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
    elsewhere = {id(inner) for node in indices for inner in ast.walk(node)} | set(
        map(id, statements)
    )
    return sum(
        isinstance(node, ast.Constant) and node.value is ... and id(node) not in elsewhere
        for node in ast.walk(tree)
    )


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
