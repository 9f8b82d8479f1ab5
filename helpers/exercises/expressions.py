"""A function of the learner's as a syntax tree, and every value that its expressions have."""

import ast
import contextlib
import copy
import functools
import inspect
import linecache
import types

import torch

from helpers.exercises import compare
from helpers.exercises.edits import compiled, guarded_tree, namespace_of

DEFAULT = "__default__"  # with a number or a name, where the default of an argument is found
AT = "__at__"  # the name of what looks at values, and replaces them


_parsed = functools.lru_cache(maxsize=8)(ast.parse)


def tree_of(answer):
    """Return the syntax tree of a function, with ``def`` or ``lambda``, from a file or a cell.

    It is a module of one definition; None if it isn't known.
    """
    if not isinstance(answer, types.FunctionType):
        return None
    code = answer.__code__
    try:
        module = _parsed("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError):
        return None
    found = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.Lambda)
        and [a.arg for a in node.args.args] == list(code.co_varnames[: code.co_argcount])
        and min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        == code.co_firstlineno
    ]
    if len(found) != 1:
        return None
    node = copy.deepcopy(found[0])
    if isinstance(node, ast.Lambda):
        body = [ast.copy_location(ast.Return(node.body), node.body)]
        node = ast.copy_location(ast.FunctionDef("answer", node.args, body, []), node)
    node.decorator_list = []
    # Defaults are taken as they are, instead of being computed once more.
    node.args.defaults = [
        ast.Name(f"{DEFAULT}{i}", ast.Load()) for i in range(len(node.args.defaults))
    ]
    names = [a.arg for a in node.args.kwonlyargs]
    node.args.kw_defaults = [
        default and ast.Name(f"{DEFAULT}{name}", ast.Load())
        for name, default in zip(names, node.args.kw_defaults, strict=True)
    ]
    return ast.fix_missing_locations(ast.Module([node], []))


def namespace_around(answer):
    """Copy what a function's code sees: globals, and what it closes over."""
    inner = inspect.getclosurevars(answer).nonlocals
    named = {**dict(enumerate(answer.__defaults__ or ())), **(answer.__kwdefaults__ or {})}
    defaults = {f"{DEFAULT}{name}": value for name, value in named.items()}
    return {**namespace_of(answer), **inner, **defaults}


class _Watched(ast.NodeTransformer):
    """Hands every value that an expression has to a function, with the expression's number."""

    def __init__(self):
        self.nodes = []

    def visit_FunctionDef(self, node):
        node.body = [self.visit(part) for part in node.body]
        return node

    def visit_Lambda(self, node):
        node.body = self.visit(node.body)
        return node

    def visit_JoinedStr(self, node):
        return node

    def visit_Call(self, node):
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
        node.args = [self.visit(part) for part in node.args]
        node.keywords = [self.visit(part) for part in node.keywords]
        return self._watch(node)

    def visit_Starred(self, node):
        return node

    def generic_visit(self, node):
        node = super().generic_visit(node)
        loads = isinstance(getattr(node, "ctx", None), ast.Load) or not hasattr(node, "ctx")
        if isinstance(node, ast.expr) and loads and not isinstance(node, ast.Constant | ast.Slice):
            return self._watch(node)
        return node

    def _watch(self, node):
        self.nodes.append(node)
        call = ast.Call(ast.Name(AT, ast.Load()), [ast.Constant(len(self.nodes) - 1), node], [])
        return ast.copy_location(call, node)


class Watched:
    """A function whose values can be looked at, and replaced, while it runs."""

    def __init__(self, tree: ast.Module, namespace: dict):
        watched = _Watched()
        changed = ast.fix_missing_locations(watched.visit(guarded_tree(copy.deepcopy(tree))))
        self.nodes = watched.nodes
        self.assigned = {}  # by name: what is assigned to it, one or more times
        for part in ast.walk(changed):
            for target in getattr(part, "targets", [getattr(part, "target", None)]):
                for name in ast.walk(target) if target else ():
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                        self.assigned.setdefault(name.id, []).append(getattr(part, "value", None))
        self.given = {a.arg for a in tree.body[0].args.args}
        self.values, self.replaced, self.place = {}, None, None
        self.tree, self.namespace = changed, {**namespace, AT: self._at}
        self.function = compiled(changed, self.namespace)

    def _at(self, number, value):
        if self.place is None:
            self.values.setdefault(number, []).append(_kept(value))
        elif number == self.place and self.replaced:
            return _kept(self.replaced.pop(0))
        return value

    def numbers_into(self, number):
        """List the numbers of all that an expression is computed from, as far as names have one value."""
        waiting, found, followed = [self.nodes[number]], [], set()
        while waiting:
            node = waiting.pop()
            found += numbers_in(node)
            for name in {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - followed:
                followed.add(name)
                values = self.assigned.get(name, [])
                if len(values) == 1 and values[0] and name not in self.given:
                    waiting.append(values[0])
        return found

    def look(self, case):
        """Run on one input; return what each expression was, a list of values by its number."""
        self.values, self.place = {}, None
        with contextlib.suppress(Exception, SystemExit, KeyboardInterrupt):
            self.function(*compare.copy(case))
        return self.values

    def with_other(self, number, values, given):
        """Run with other values of one expression."""
        self.place, self.replaced = number, list(values)
        return self.function(*given)

    def with_code(self, number, text):
        """Make the function that has other code in place of one expression."""
        others = {number: ast.parse(text, mode="eval").body}
        tree = _Bare(others).visit(copy.deepcopy(self.tree))
        return compiled(ast.fix_missing_locations(tree), self.namespace)


def numbers_in(node):
    """List the numbers of the watched expressions in a piece of code, the outermost first."""
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)] if node else []
    return [n.args[0].value for n in calls if getattr(n.func, "id", "") == AT]


def _kept(value):
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def equal(a, b):
    """Say whether two values are the same tensor, number or text."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return (a.dtype == torch.bool) == (b.dtype == torch.bool) and compare.close(a, b)
    numbers = isinstance(a, int | float) and isinstance(b, int | float)
    if numbers and isinstance(a, bool) == isinstance(b, bool):
        return abs(a - b) <= compare.TOLERANCE * max(1e-3, abs(b))
    return type(a) is type(b) and isinstance(a, str | list | tuple) and repr(a) == repr(b)


def all_equal(first, second):
    """Say whether two lists of values are the same."""
    return len(first) == len(second) and all(map(equal, first, second))


class _Bare(ast.NodeTransformer):
    """Takes the watching out again; puts other code in place of some numbers' expressions."""

    def __init__(self, others=()):
        self.others = dict(others)

    def visit_Call(self, node):
        if getattr(node.func, "id", "") != AT:
            return self.generic_visit(node)
        return self.others.get(node.args[0].value) or self.visit(node.args[1])


def bare(node):
    """Return a piece of code as it was before it was watched, to quote it."""
    return _Bare().visit(copy.deepcopy(node))
