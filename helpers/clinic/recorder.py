"""A recording of a model at work: which modules ran, on what, and which functions they called."""

import contextlib
import linecache
import math
import random
import sys

import torch
from torch import nn
from torch.nn.modules import module as every_module
from torch.overrides import TorchFunctionMode

from .report import MOVED

BATCH = 3
DIFFERS = 1e-3  # two computations of the same numbers in another order stay well below this
DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_dropout",
            "feature_alpha_dropout")  # fmt: skip
ATTENDS = ("softmax", "scaled_dot_product_attention", "multi_head_attention_forward")
MASKS = ("masked_fill", "masked_fill_", "where")
RESHAPES = ("view", "reshape", "flatten", "unflatten")
LEAVES = (nn.Linear, nn.Embedding, nn.Dropout, nn.Identity, nn.ReLU, nn.GELU, nn.SiLU, nn.Softmax)


class Call:
    """One call of one module during a run."""

    def __init__(self, path, module, parent):
        self.path, self.module, self.parent = path, module, parent
        self.args, self.kwargs, self.output, self.ops, self.line = (), {}, None, [], ""
        self.key = None  # (path, number of the call), as in `Recorder.calls`

    @property
    def inputs(self):
        """All tensors among the arguments."""
        return list(tensors((self.args, self.kwargs)))

    def inside(self, other):
        """Tell whether this call happened within another one (or is that one)."""
        call = self
        while call is not None and call is not other:
            call = call.parent
        return call is other


class Op:
    """One call of a function of PyTorch: its name, arguments, result and line."""

    def __init__(self, name, args, kwargs, result):
        self.name, self.args, self.kwargs, self.result = name, args, kwargs, result
        self.line = calling_line()


def given(args, kwargs, *names):
    """Return a call's first arguments, passed by place or by name."""
    return [args[i] if i < len(args) else kwargs[name] for i, name in enumerate(names)]


def tensors(tree):
    """Yield all tensors in nested tuples, lists, dicts."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, dict):
        for value in tree.values():
            yield from tensors(value)
    elif isinstance(tree, tuple | list):
        for value in tree:
            yield from tensors(value)


def rebuild(tree, change):
    """Copy nested tuples, lists and dicts with every tensor changed."""
    if isinstance(tree, torch.Tensor):
        return change(tree)
    if type(tree) is dict:
        return {key: rebuild(value, change) for key, value in tree.items()}
    if type(tree) in (tuple, list):
        return type(tree)(rebuild(value, change) for value in tree)
    return tree


def seed_all(seed):
    """Seed the default generators, quietly and quickly."""
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)


def first_float(tree):
    """Return a model's or module's main output: logits, last hidden state, or the first tensor."""
    for name in ("logits", "last_hidden_state"):
        if isinstance(getattr(tree, name, None), torch.Tensor):
            return getattr(tree, name)
    return next((x for x in tensors(tree) if x.is_floating_point()), None)


def calling_line():
    """Find the line outside PyTorch and this file that called a function."""
    frame = sys._getframe(1)
    own = (__file__.removesuffix("recorder.py"), torch.__path__[0])
    while frame is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    if frame is None:
        return ""
    file, number = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, number).strip()
    if "ipykernel_" in file:  # the name of a notebook's cell says nothing
        return f"line {number}  {text}"
    return f"{file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{number}  {text}"


class Watch(TorchFunctionMode):
    """See, and change if wanted, every function of PyTorch that is called."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return self.change(getattr(function, "__name__", ""), function, args, kwargs or {})


def plain(name, function, args, kwargs):
    """Change nothing; being watched keeps PyTorch from its fused layers, which hide much."""
    return function(*args, **kwargs)


def without_dropout(name, function, args, kwargs):
    """Compute without any dropout, whatever the mode."""
    if name in DROPOUTS:
        return args[0] if args else kwargs["input"]
    if name == "scaled_dot_product_attention":
        args, kwargs = args[:4] + ((0.0,) + args[5:] if len(args) > 4 else ()), dict(kwargs)
        if len(args) <= 4:
            kwargs["dropout_p"] = 0.0
    if name == "multi_head_attention_forward":
        kwargs = {**kwargs, "training": False}
    return function(*args, **kwargs)


class Recorder:
    """Record every module's call in a run, and with `trace` the functions that it called."""

    def __init__(self, names, trace=False):
        self.names, self.trace = names, trace
        self.calls, self.stack, self.seen, self.own = {}, [], {}, False

    def __enter__(self):
        self.handles = [
            every_module.register_module_forward_pre_hook(self.enter),
            every_module.register_module_forward_hook(self.leave, with_kwargs=True),
        ]
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()

    def enter(self, module, args):
        path = self.names.get(id(module), f"unknown {type(module).__name__}")
        call = Call(path, module, self.stack[-1] if self.stack else None)
        # A copy, because a module may change its input in place.
        self.own = True
        call.line = calling_line() if self.trace and call.parent is not None else ""
        call.args = rebuild(args, lambda x: x.detach().clone())
        self.own = False
        self.stack.append(call)

    def leave(self, module, args, kwargs, output):
        while self.stack:
            call = self.stack.pop()
            if call.module is module:
                break
        call.kwargs = kwargs
        result = first_float(output)
        self.own = True
        call.output = None if result is None else result.detach().clone()
        self.own = False
        self.seen[call.path] = self.seen.get(call.path, 0) + 1
        call.key = call.path, self.seen[call.path]
        self.calls[call.key] = call

    def watch(self, name, function, args, kwargs):
        result = function(*args, **kwargs)
        if self.trace and not self.own and self.stack and name and not name.startswith("__"):
            self.stack[-1].ops.append(Op(name, args, kwargs, result))
        return result


def along(x, length):
    """Lay a tensor out as (batch or 1, length, rest); None if that can't be told."""
    batch = next((axis for axis in (0, 1) if x.dim() > axis and x.shape[axis] == BATCH), None)
    places = [a for a in range(x.dim()) if a != batch and x.shape[a] == length]
    if len(places) != 1 or x.dim() < 2:
        return None
    if batch is None:
        return x.movedim(places[0], 0).reshape(1, length, -1)
    return x.movedim((batch, places[0]), (0, 1)).reshape(BATCH, length, -1)


def change_between(a, b, lengths):
    """Compare one tensor of two runs, relative to the largest number.

    The change has shape (batch or 1, length); None if its places can't be told, 0 if equal.
    """
    if a.shape != b.shape:
        return None
    if torch.equal(a, b):
        return 0
    difference, scale = (a.float() - b).abs(), a.abs().max().item()
    if not math.isfinite(scale) or not bool(difference.isfinite().all()):
        both = a.isnan() & b.isnan() | (a == b)
        difference = difference.masked_fill(both, 0).nan_to_num(1e9, 1e9)
        scale = a.nan_to_num(0, 0, 0).abs().max().item()
    for length in lengths:
        laid = along(difference, length)
        if laid is not None:
            return laid.amax(-1).float().cpu() / (scale + 1e-12)
    return None


@contextlib.contextmanager
def as_it_was(model):
    """Give back weights, buffers, mode, attributes and random state as they were."""
    modules = {id(m): m for m in [*model.modules(), *dict(unregistered(model))]}.values()
    attributes = [(m, dict(m.__dict__), m.training) for m in modules]
    state = {id(t): (t, t.detach().clone()) for m in modules
             for t in [*m.parameters(False), *m.buffers(False)]}  # fmt: skip
    numpy = sys.modules.get("numpy")
    drawn = random.getstate(), numpy.random.get_state() if numpy else None
    fast = torch.backends.mha.get_fastpath_enabled()
    grad, threads = torch.is_grad_enabled(), torch.get_num_threads()
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    try:
        with torch.random.fork_rng(devices):
            torch.backends.mha.set_fastpath_enabled(False)
            torch.set_num_threads(1)  # few tokens: on a busy machine, threads wait for each other
            yield
    finally:
        torch.set_num_threads(threads)
        torch.set_grad_enabled(grad)
        torch.backends.mha.set_fastpath_enabled(fast)
        random.setstate(drawn[0])
        if numpy:
            numpy.random.set_state(drawn[1])
        for module, kept, mode in attributes:
            module.__dict__.clear()
            module.__dict__.update(kept)
            module.training = mode
        with torch.no_grad():
            for tensor, value in state.values():
                if not torch.equal(tensor.nan_to_num(), value.nan_to_num()):
                    tensor.copy_(value)


def unregistered(model):
    """Yield (module, path) for modules kept in plain lists, tuples or dicts, and their parts."""
    known = {id(m) for m in model.modules()}
    for path, module in list(model.named_modules()):
        for name, value in vars(module).items():
            if name.startswith("_") or not isinstance(value, list | tuple | dict):
                continue
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            for key, part in pairs:
                if isinstance(part, nn.Module) and id(part) not in known:
                    for below, m in part.named_modules():
                        place = [path, name, str(key), below]
                        yield m, ".".join(piece for piece in place if piece)


def is_attention(op, sizes):
    """Tell whether a function is attention, or the softmax over its scores."""
    if op.name in ATTENDS[1:]:
        return True
    if op.name != "softmax" or not isinstance(op.result, torch.Tensor) or op.result.dim() < 3:
        return False
    return sum(size in sizes for size in op.result.shape[1:]) >= 2


def differs(changes):
    """Tell whether anything differs at all."""
    return any(change is None or not isinstance(change, int) for change in changes)


def other_sentences(changes):
    """Tell whether a change in the first sentence moved another one."""
    return any(
        not isinstance(c, int) and c is not None and len(c) == BATCH and bool((c[1:] > MOVED).any())
        for c in changes
    )


def forbidden_by(may):
    """Return a function that tells whether an output moved that may not by `may`, (rows, runs)."""

    def bad(changes):
        for j, change in enumerate(changes):
            if change is None or isinstance(change, int):
                continue
            rows = change[0] > MOVED
            forbidden = ~may[:, j] if len(rows) == len(may) else torch.ones_like(rows)
            if (rows & forbidden).any():
                return True
        return False

    return bad


def editing(edit):
    """Return a function for `Watch` that changes the weights of every attention."""

    def change(name, function, args, kwargs):
        if name == "scaled_dot_product_attention":
            return edit_fused(edit, args, kwargs)
        result = function(*args, **kwargs)
        return edit(result) if name == "softmax" and result.dim() >= 3 else result

    return change


def edit_fused(edit, args, kwargs):
    """Compute PyTorch's fused attention with weights of our choice."""
    query, key, value = given(args, kwargs, "query", "key", "value")
    weights = edit(query.new_ones(*query.shape[:-1], key.shape[-2]))
    if query.dim() > 3 and value.shape[-3] != query.shape[-3]:
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    return weights.to(value) @ value


def axes_of(shape, sizes):
    """Find the axes of queries and keys in a tensor of weights; None if there are none."""
    found = [a for a in range(1, len(shape)) if shape[a] in sizes]
    if len(shape) - 2 in found and len(shape) - 1 in found:
        return len(shape) - 2, len(shape) - 1
    return tuple(found[:2]) if len(found) >= 2 else None


def three(x):
    """Return an output as (B, length, size), one vector per sentence included."""
    return x[:, None] if x.dim() == 2 else x
