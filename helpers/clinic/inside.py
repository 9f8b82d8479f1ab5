"""Probes of what happens inside one module: norms, heads, softmax, scale."""

import math

import torch
from torch import nn

from .recorder import LEAVES, MASKS, RESHAPES, along, axes_of, editing, given, is_attention, tensors
from .report import MOVED, picture

PRODUCTS = ("matmul", "bmm", "einsum", "baddbmm")


def probe_norms(e):
    """A norm works on each vector alone: change one position, and no other may move."""
    parents = {id(call.parent) for call in e.calls.values()}
    weak = [c for c in e.calls.values() if isinstance(getattr(c.module, "eps", 0), float)
            and c.module.eps > 0.1]  # fmt: skip
    if weak:
        e.unsure(
            f"{weak[0].path}: eps={weak[0].module.eps:g} lets it hardly normalise; usual: 1e-5"
        )
    for call in e.calls.values():
        seen = averaged(e, call)
        if seen is not None:
            e.explained.add(call.path)
            blame_norm(e, call, torch.ones(e.rows, e.rows), seen)
            return
        if id(call) in parents or isinstance(call.module, LEAVES):
            continue
        if call.output is None or call.output.dim() < 3:
            continue
        n = next((n for n in e.lengths if along(call.output, n) is not None), None)
        if n is None or any(is_attention(op, {e.t, e.s}) for op in call.ops):
            continue
        seen = e.local(call, n)
        if seen is None or seen.shape[0] != seen.shape[1]:
            continue
        strangers = (seen > MOVED) & ~torch.eye(n, dtype=torch.bool)
        if strangers.any() and norm_like(e, call):
            e.explained.add(call.path)
            blame_norm(e, call, seen)
            return


def averaged(e, call):
    """Return the line of a call's own that takes a mean over positions, keeping them, or None."""
    names = {op.name for op in call.ops}
    if not names & {"var", "std", "rsqrt", "sqrt", "layer_norm", "norm"}:
        return None  # an average that nothing is divided by is no norm
    for op in call.ops:
        x = op.args[0] if op.args else None
        if op.name not in ("mean", "var", "std", "layer_norm", "norm") or not isinstance(
            x, torch.Tensor
        ):
            continue
        n = len(op.args[1]) if op.name == "layer_norm" else 0
        laid = [a for a in range(1, x.dim()) if x.shape[a] in e.lengths] if x.dim() == 3 else []
        place = 2 if op.name == "norm" else 1  # x.norm(p, dim), x.mean(dim)
        axes = op.kwargs.get("dim", op.args[place] if len(op.args) > place else None)
        axes = [axes] if isinstance(axes, int) else axes if isinstance(axes, list | tuple) else []
        kept = isinstance(op.result, torch.Tensor) and op.result.dim() == x.dim()
        if n > 1 or laid and kept and n == 0 and any(a % x.dim() in laid for a in axes):
            return op.line
    return None


def blame_norm(e, call, seen, line=None):
    """Report a norm that mixes positions."""
    e.find(
        "norm over the wrong axis", call.path,
        "Its mean and variance are taken over positions too, so every position moves all others.",
        "change one position (column), these outputs (rows) move:\n"
        + picture(seen, torch.eye(len(seen)).bool()),
        ("normalise over the last axis only: x.mean(-1, keepdim=True), nn.LayerNorm(d_model)",),
        line or e.line(call, "mean", "layer_norm", "var", "std", "batch_norm", "instance_norm"),
    )  # fmt: skip


def norm_like(e, call):
    """Tell whether a module forgets the scale of its input, as norms do."""
    base = e.replay(call)
    scaled = e.replay(call, lambda _, x: 5 * x if x.is_floating_point() and x.dim() > 2 else x)
    both = base is not None and scaled is not None
    return both and bool((base - scaled).abs().max() < 0.05 * base.abs().max())


def next_neighbour(sizes):
    """Return an edit after which each query attends to exactly one key, the one after its own."""

    def edit(weights):
        axes = axes_of(weights.shape, sizes)
        if axes is None:
            return weights
        n_queries, n_keys = (weights.shape[a] for a in axes)
        one = nn.functional.one_hot((torch.arange(n_queries) + 1) % n_keys, n_keys)
        shape = [1] * weights.dim()
        shape[axes[0]], shape[axes[1]] = n_queries, n_keys
        return one.view(shape).expand(weights.shape).to(weights)

    return edit


def probe_heads(e):
    """Let each query attend to one key alone: each output may then depend on that one alone."""
    odd = []
    for call, ops in e.attentions:
        op = ops[-1]
        if op.name == "multi_head_attention_forward" or call.path in e.explained:
            continue
        if scores_scrambled(e, call, ops):
            e.explained.add(call.path)
            return
        axes = axes_of(op.result.shape, {e.t, e.s, *e.lengths_()})
        if op.name == "scaled_dot_product_attention":
            n_queries, n_keys = (x.shape[-2] for x in given(op.args, op.kwargs, "query", "key"))
        elif axes is None:
            continue
        else:
            n_queries, n_keys = (op.result.shape[a] for a in axes)
        seen = e.local(call, n_keys, change=editing(next_neighbour({n_queries, n_keys})))
        if seen is None or seen.shape != (n_queries, n_keys):
            odd.append(call.path or "the model")
            continue
        aim = nn.functional.one_hot((torch.arange(n_queries) + 1) % n_keys, n_keys).bool()
        own = torch.eye(n_queries, n_keys, dtype=torch.bool)
        seen = seen > MOVED
        turned = n_queries == n_keys and not (seen & ~(aim.T | own)).any()
        if turned and (seen & aim.T & ~own).any():
            op.turned = True  # keys in rows, queries in columns: as right as the other way
        elif (seen & ~(aim | own)).any() and not shifts(e.ops_of(call)):
            e.explained.add(call.path)
            blame_heads(e, call, seen, aim, own)
    if odd:
        e.unsure(
            f"the heads of {odd[0]}" + (f" and {len(odd) - 1} more" if odd[1:] else "") + ": they "
            "can't be run alone, or are laid out in a way that the clinic doesn't know"
        )


def scores_scrambled(e, call, ops):
    """Change one position: scores may change in its row and its column only. Report it if not."""
    at = next(i for i, op in enumerate(e.ops_of(call)) if op is ops[-1])
    if ops[-1].name != "softmax" or ops[-1].result.shape[-1] != ops[-1].result.shape[-2]:
        return False
    if shifts(e.ops_of(call)[:at]):
        return False
    kept, last, n = [], [], ops[-1].result.shape[-1]

    def keep(name, function, args, kwargs):  # the product before each softmax
        result = function(*args, **kwargs)
        if name in PRODUCTS and result.shape == ops[-1].result.shape:
            last[:] = [result.detach()]
        elif name == "softmax" and last:
            kept.append(last.pop())
        return result

    if n not in e.lengths or e.local(call, n, change=keep) is None or len(kept) != n + 1:
        return False
    moved = torch.zeros(n, n, dtype=torch.bool)  # scores elsewhere, changed by position j
    for j, scores in enumerate(kept[1:]):
        cells = ((scores - kept[0]).abs() > MOVED * kept[0].abs().max()).flatten(0, -3).any(0)
        cells[j], cells[:, j] = False, False
        moved[:, j] = cells.any(1).cpu()
    if not moved.any():
        return False
    e.find(
        "heads scrambled", call.path,
        "The scores of two positions depend on a third: queries or keys are laid out wrongly.",
        f"change one position (column), scores of other queries (rows) move:\n"
        f"{picture(moved.float(), torch.eye(n).bool())}",
        ("turn the keys with k.transpose(-2, -1), not with view or reshape",
         "split heads with x.view(B, T, H, K).transpose(1, 2)"),
        next((op.line for op in reversed(e.ops_of(call)[:at]) if is_product(op, ops[-1].result)),
             ops[-1].line),
    )  # fmt: skip
    return True


def shifts(ops):
    """Tell whether something mixes neighbours on purpose."""
    return any("conv" in op.name or "roll" in op.name for op in ops)


def blame_heads(e, call, seen, aim, own):
    """Report scrambled heads, and whether it is splitting or merging that lacks its transpose."""
    ops = e.ops_of(call)
    at = next(
        i for i, op in enumerate(ops) if op.name in ("softmax", "scaled_dot_product_attention")
    )
    names = [op.name for op in ops]
    turns = {"transpose", "permute", "swapaxes", "movedim", "einsum", "mT", "moveaxis"}
    merges = [i for i in range(at, len(ops)) if names[i] in RESHAPES]
    merged_well = any(turns & set(names[at:i]) for i in merges)
    splits = [i for i in range(at) if names[i] in RESHAPES]
    merge = "merge heads (B, H, T, K) with x.transpose(1, 2).reshape(B, T, D), transpose first"
    split = "split heads with x.view(B, T, H, K).transpose(1, 2), not with x.view(B, H, T, K)"
    line = ops[(splits if merged_well and splits else merges or splits or [at])[0]].line
    e.find(
        "heads scrambled", call.path,
        "The numbers of different positions are mixed when the heads are split or put together.",
        "each query attends to its right-hand neighbour only, yet outputs (rows) depend on:\n"
        + picture(seen.float(), aim | own),
        (split, merge) if merged_well else (merge, split), line,
    )  # fmt: skip


def probe_softmax(e):
    """The weights of each query have to sum to 1 over the keys."""
    for call, ops in e.attentions:
        op = ops[-1]
        axes = axes_of(op.result.shape, e.lengths_()) if op.name == "softmax" else None
        if axes is None:
            continue
        query, key = axes[::-1] if getattr(op, "turned", False) else axes
        weights = op.result.double()
        if one_each(weights.sum(key)):
            continue
        if not one_each(weights.sum(query)):
            query = next((a for a in range(1, weights.dim()) if one_each(weights.sum(a))), None)
        if query is not None:
            e.explained.add(call.path)
            e.find(
                "softmax over queries", call.path,
                "The softmax doesn't run over the keys: the weights of one query don't sum to 1.",
                f"sums over the keys from {weights.sum(key).min():.2f} to "
                f"{weights.sum(key).max():.2f}; over axis {query} of {tuple(weights.shape)} all 1",
                (f"softmax(dim={key - weights.dim()}) instead of dim={query - weights.dim()}",),
                op.line,
            )  # fmt: skip
            return


def one_each(sums):
    """Tell whether sums are 1, or 0 where nothing may be looked at."""
    return bool(((sums - 1).abs() < 1e-3).logical_or(sums.abs() < 1e-3).all())


def causes_of_scale(e, width, whole):
    """List what may have been done in place of 1/√K: the factor it gives, and what mends it."""
    return {
        "no factor": (1, "divide the scores by math.sqrt(K), K the width of one head"),
        "the width of the model": (whole**-0.5, "K is the width of one head, D // H, not D"),
        "K instead of √K": (1 / width, "divide by math.sqrt(K), not by K"),
        "the number of tokens": (e.t**-0.5, "K is the width of one head, not the number of tokens"),
        "the number of keys": (e.s**-0.5, "K is the width of one head, not the number of keys"),
        "multiplied": (width**0.5, "divide by √K instead of multiplying"),
    }


def probe_scale(e):
    """Scores have to be divided by √K before the softmax, unless the weights were made for it."""
    if not e.scaled:
        return
    for call, ops in e.attentions:
        found = scale_of(e, call, ops[-1])
        if found is None:
            continue
        factor, width, compensated, line = found
        right = width**-0.5
        causes = causes_of_scale(e, width, call.output.shape[-1])
        cause = next((name for name, (f, _) in causes.items() if abs(factor / f - 1) < 0.01), None)
        if abs(factor / right - 1) < 0.01 or cause is None or width == 1:
            continue
        if cause == "no factor" and compensated:
            continue
        if cause == "no factor" and e.is_fresh() is False:
            e.unsure(f"{call.path}: no 1/√K before the softmax; trained weights may make up for it")
            continue
        e.find(
            "not scaled", call.path, f"The scores aren't divided by √K ({cause}).",
            f"K = {width}, so a factor of {right:.3g} is expected; it is {factor:.3g}",
            (causes[cause][1], "if it's meant to be so: scaled=False"), line,
        )  # fmt: skip
        return


def scale_of(e, call, op):
    """Find the factor between query · key and the softmax, in what the call did.

    The factor, the width, whether it's compensated and the line, or None if it can't be told.
    Compensated: the queries were made √K times smaller than the keys, as T5's weights are at the
    start.
    """
    if op.name == "multi_head_attention_forward":
        return None
    if op.name == "scaled_dot_product_attention":
        query, key = given(op.args, op.kwargs, "query", "key")
        scale, line, width = op.kwargs.get("scale"), op.line, query.shape[-1]
        if scale is None:
            return None
        factor = float(scale)
    else:
        ops = e.ops_of(call)
        end = next(i for i, o in enumerate(ops) if o is op)
        layer = max((i for i in range(end) if ops[i].name == op.name), default=0)
        products = [i for i in range(layer, end) if is_product(ops[i], op.result)]
        if not products:
            return None
        at = products[-1]
        query, key = (x for x in tensors(ops[at].args) if x.dim() > 1)
        width = contracted(ops[at])
        sizes = {query.numel(), key.numel(), op.result.numel()}
        factors = [scalar_factor(o, sizes) for o in ops[layer:end]]
        if any(f is None for f in factors):
            return None
        scaling = [o.line for o, f in zip(ops[layer:end], factors, strict=True) if f != 1]
        factor, line = math.prod(factors), (scaling or [ops[at].line])[-1]
    if not width:
        return None
    ratio = (query.float().std() / key.float().std()).item()
    return factor, width, ratio < min(0.7, 1.5 * width**-0.5), line


def is_product(op, scores):
    """Tell whether a function multiplied queries with keys into these scores."""
    known = op.name in PRODUCTS and isinstance(op.result, torch.Tensor)
    operands = [x for x in tensors(op.args) if x.dim() > 1]
    return known and op.result.numel() == scores.numel() and len(operands) == 2


def contracted(op):
    """Return over how many numbers a product sums."""
    first, second = (x for x in tensors(op.args) if x.dim() > 1)
    if op.name != "einsum":
        return first.shape[-1]
    equation = next((a for a in op.args if isinstance(a, str)), "").replace(" ", "")
    if "->" not in equation or "..." in equation:
        return 0
    left, right = equation.split("->")
    letters = dict(zip(left.split(",")[0], first.shape, strict=True))
    return math.prod(size for letter, size in letters.items() if letter not in right)


def scalar_factor(op, sizes):
    """Return the number by which a function scaled queries, keys or scores; 1 if it didn't.

    None if the number is learned, so that it can't be told.
    """
    if op.name not in ("mul", "div", "mul_", "div_", "multiply", "divide", "true_divide"):
        return 1.0
    if len(op.args) < 2 or getattr(op.result, "numel", int)() not in sizes:
        return 1.0
    single = [x for x in op.args[:2] if not isinstance(x, torch.Tensor) or x.numel() == 1]
    if len(single) != 1:
        return 1.0
    if isinstance(single[0], nn.Parameter):
        return None
    number = float(single[0])
    if not 0 < abs(number) < 1e3:
        return 1.0  # the fill of a mask
    return 1 / number if op.name.startswith(("div", "true")) else number


def after_softmax(e, call, blocked):
    """Tell whether weights on blocked cells are made by the softmax and thrown away after it."""
    for outer, ops in e.attentions:
        if not (outer.inside(call) or call.inside(outer)) or ops[-1].name != "softmax":
            continue
        weights = ops[-1].result
        if weights.shape[-2:] != blocked.shape or not (weights * blocked.to(weights)).max() > 1e-6:
            continue

        def add(w):
            return w + blocked.to(w) if w.shape[-2:] == blocked.shape else w

        base, edited = (e.replay(outer, change=editing(f)) for f in (lambda w: w, add))
        if base is not None and edited is not None:
            return torch.equal(base, edited)
    return False


def blame_after(e, call, evidence):
    """Report a mask that comes too late, with the line that masks, or that of the softmax."""
    ops, names = e.ops_of(call), ("softmax", *MASKS, "mul", "mul_", "tril")
    at = next((i for i, op in enumerate(ops) if op.name == "softmax"), len(ops))
    lines = [op.line for op in (*ops[at + 1 :], *ops[at : at + 1]) if op.name in names]
    e.find(
        "mask after softmax", call.path,
        "Hidden weights are set to 0 after the softmax; its denominator has already counted them.",
        evidence, ("fill the scores with float('-inf') before the softmax",
                "or divide the masked weights by their sum again"), lines[0] if lines else "",
    )  # fmt: skip
