"""Probes of what depends on what: sentences, future, past, source, padding, order."""

import torch
from torch import nn

from .inside import after_softmax, blame_after, blame_norm
from .recorder import (
    ATTENDS,
    BATCH,
    DIFFERS,
    MASKS,
    along,
    change_between,
    differs,
    editing,
    forbidden_by,
    other_sentences,
    three,
)  # fmt: skip
from .report import MOVED, drawn

POOLS = ("mean", "sum", "max", "amax", "__getitem__")  # how many vectors become one


def probe_sentences(e):
    """Change one sentence, and no other sentence of the batch may move."""
    for side in e.ids:
        whole = e.whole[side][1]
        if not other_sentences(whole):
            continue
        told = [c for c in whole if not isinstance(c, int) and c is not None]
        own = any(bool((c[0] > MOVED).any()) for c in told)
        call = e.first_guilty(e.effects[side], other_sentences)
        if e.excused(call):
            return
        alone = not e.whole[side][0].clone().fill_diagonal_(0).any()
        across = alone or isinstance(call.module, nn.MultiheadAttention)
        e.explained.add(call.path)
        moved = max(c[1:].max().item() for c in told if len(c) == BATCH)
        causes = ("a view or reshape took the batch for something else: look at its axes",
                  "a mean, norm or softmax runs over axis 0")  # fmt: skip
        if across:
            causes = ("batch_first=True is missing: attention runs over the batch", *causes)
        e.find(
            "sentences mixed" if own or side == "target" else "source misaligned", call.path,
            "Change a word of one sentence, and other sentences of the batch come out changed.",
            f"others move by up to {moved:.2g} of the largest output", causes,
            e.guilty_line(call, side, other_sentences)
            or e.line(call, "multi_head_attention_forward", "softmax"),
        )  # fmt: skip
        return


def probe_future(e):
    """Change a token, and no earlier output may move."""
    if "target" not in e.ids or not e.causal:
        return
    seen, _ = e.whole["target"]
    may = e.may("target")
    if not ((seen > MOVED) & ~may).any():
        return
    call = e.first_guilty(e.effects["target"], forbidden_by(may))
    if e.excused(call):
        return
    local = e.local(call, e.t)
    local = seen if local is None or local.shape != seen.shape else local
    moved = local > MOVED
    below, above = torch.ones_like(moved).tril(-1), torch.ones_like(moved).triu(1)
    evidence = drawn(local, may)
    future = (moved & above).float().sum() / above.sum()
    if future > 0.5 and (moved & below).float().sum() < 0.1 * below.sum():
        e.find("mask inverted", call.path, "It sees the future and not the past.", evidence,
               ("the mask's True means the opposite here: ~mask", "tril where triu was meant"),
               e.line(call, *MASKS, *ATTENDS))  # fmt: skip
    elif after_softmax(e, call, above):
        blame_after(e, call, evidence)
    elif mixing_norm(e, call):
        blame_norm(e, call, local)
    else:
        blame_future(e, call, moved, evidence)


def blame_future(e, call, moved, evidence):
    """Report a leak: no mask, one that is too wide, or one that doesn't hide."""
    steps = [int(step) for step in range(1, e.t) if moved.diagonal(step).any()]
    if steps and max(steps) < e.t - 1:
        cause = f"the mask is {max(steps)} too wide: look at diagonal="
    elif e.line(call, *MASKS):
        cause = "a mask is applied, but it doesn't hide the future: look at its values and its fill"
    else:
        cause = "no causal mask is applied here: pass torch.tril(torch.ones(T, T)).bool()"
    around = [c for c in e.calls.values() if c is not call and call.inside(c)]
    shaped = ("tril", "triu", "tril_", "triu_")
    made = dict.fromkeys(op.line for c in around for op in c.ops if op.name in shaped)
    bad = forbidden_by(e.may("target"))
    e.find("sees the future", call.path, "An output changes when a later token changes.", evidence,
           (cause, *(f"the mask may be made here: {line}" for line in made),
            "something else mixes positions: a mean, a norm, a reshape"),
           e.masking_line(call) or e.guilty_line(call, "target", bad))  # fmt: skip


def mixing_norm(e, call):
    """Tell whether a call without attention averages over positions."""
    ops = e.ops_of(call)
    averages = {"mean", "var", "std", "layer_norm", "instance_norm", "var_mean", "std_mean", "norm"}
    return any(op.name in averages for op in ops) and not any(op.name in ATTENDS for op in ops)


def probe_past(e):
    """Change a token, and every later output has to move (in an encoder: every output)."""
    for side in e.ids:
        if side == "source" and e.kind == "encoder-decoder":
            continue  # `probe_source` asks
        must = e.must(side)
        missing = must & ~(e.whole[side][0] > 0)
        if missing.any():
            missing = must & ~(e.again(side) > 0)
        if not missing.any() or e.excused(e.root()):
            continue
        first = e.report.findings[0].name if e.report.findings else ""
        if first in ("mask inverted", "sentences mixed", "heads scrambled"):
            continue
        call, local = next(
            ((c, m) for c, _ in e.attentions
             if (m := e.local(c, must.shape[1])) is not None
             and m.shape == must.shape and (must & (m == 0)).any()),
            (e.root(), e.whole[side][0]),
        )  # fmt: skip
        if e.excused(call):
            continue
        reach = max((i - j for i, j in (local > 0).nonzero().tolist()), default=0)
        cause = (
            "it looks at its own position only: is attention's output used at all?" if reach == 0
            else f"it looks back {reach} positions: if that is a window, pass window={reach + 1}"
        )  # fmt: skip
        e.find("past ignored", call.path,
               "Some outputs don't depend on tokens that they should depend on.",
               drawn(local, e.may(side)), (cause, "look at the mask that arrives, row by row"),
               e.line(call, *ATTENDS))  # fmt: skip


def probe_source(e):
    """Every output has to depend on every word of the source, through every cross-attention."""
    if e.kind != "encoder-decoder":
        return
    effect, back = e.effects["source"], e.effects["target"]
    if not (e.whole["source"][0] > 0).any():
        if not e.explained:
            blame_deaf(e, ignoring(e, effect), f"change any of {e.s} source tokens: nothing moves")
        return
    memory = {
        key: [i for i, changes in enumerate(inputs) if differs(changes)
              and e.calls[key].inputs[i].dim() > 2 and not differs(back[key][0][i])]
        for key, (inputs, _) in effect.items()
        if key in back and any(differs(changes) for changes in back[key][0])
    }  # fmt: skip
    readers = [call for call, _ in e.attentions if memory.get(call.key)]
    for key, given in memory.items():
        within = [call for call, _ in e.attentions if call.inside(e.calls[key])]
        if given and within and not any(call in readers for call in within):
            blame_deaf(e, within[-1], f"{key[0]} is given the memory; no attention in it reads it")
            return
    for call in readers:
        local = e.local(call, e.s, memory[call.key])
        if local is None or not (local == 0).any() or e.excused(call):
            continue
        e.find("source misaligned", call.path, "Outputs depend on a part of the source only.",
               drawn(local, by="position of the memory"),
               ("pass the source's padding mask to cross-attention, not the target's causal mask",
                "queries come from the decoder, keys and values from the encoder"),
               e.line(call, *ATTENDS))  # fmt: skip
        return


def blame_deaf(e, call, evidence):
    """Report that a cross-attention doesn't read the source."""
    e.explained.add(call.path or "?")
    e.find("source ignored", call.path, "Cross-attention doesn't depend on the source.", evidence,
           ("keys and values of cross-attention have to come from the encoder: "
            "attend(x, memory, memory)", "the memory is computed and not passed on"),
           e.line(call, *ATTENDS))  # fmt: skip


def ignoring(e, effect):
    """Find the attention that should have read the memory: its parent got it, it didn't."""
    got = {key for key, (inputs, _) in effect.items() if any(differs(c) for c in inputs)}
    first = {}
    for call, _ in e.attentions:
        if call.parent is None or call.key in got or call.parent.key not in got:
            continue
        if call.parent.key in first:
            return call  # the second attention of a layer
        first[call.parent.key] = call
    return next(iter(first.values()), e.root())


def probe_padding(e):
    """Change what stands in padding, and no real position may move; nor by how much there is."""
    if e.pad_id is None or "source" not in e.ids or e.kind == "vision":
        return
    ids = {side: x.clone() for side, x in e.ids.items()}
    n_real = max(2, e.s - 4)
    ids["source"][:2, n_real:] = e.pad_id  # two sentences are padded, the third is full
    real = torch.arange(e.s) < n_real

    def noisy(name, function, args, kwargs):
        result = function(*args, **kwargs)
        if name == "embedding" and same_ids(args[0], ids["source"]):
            at = (args[0] == e.pad_id).unsqueeze(-1)
            result = result + at * torch.randn(result.shape[-1]).to(result) * (result.std() + 1e-3)
        return result

    base, noise = e.run(ids, trace=True), e.run(ids, change=noisy)
    may = torch.zeros(e.s, 1, dtype=torch.bool)
    may[~real] = True
    bad = forbidden_by(may)
    effect = e.effect_of([noise], base)
    e.calls, before = base.calls, e.calls
    root = change_between(three(base.output), three(noise.output), e.lengths)
    leak = bad([root]) if e.out.shape[1] > 1 else not isinstance(root, int)
    try:
        if leak:
            blame_padding(e, e.first_guilty(effect, bad), real, root)
        elif not e.explained:
            short = {side: x[:2, :n_real] if side == "source" else x[:2] for side, x in ids.items()}
            compare_lengths(e, three(base.output), short, n_real)
    finally:
        e.calls = before


def same_ids(x, ids):
    """Tell whether an embedding is looked up for these ids, in either order of axes."""
    return isinstance(x, torch.Tensor) and any(
        x.shape == y.shape and bool((x == y).all()) for y in (ids, ids.transpose(0, 1))
    )


def blame_padding(e, call, real, root):
    """Report that padding counts, or why."""
    if e.excused(call):
        return
    local = e.local(call, e.s)
    most = 0 if isinstance(root, int) else root[0].max().item()
    evidence = f"real positions move by up to {most:.2g} of the largest output"
    if local is not None and local.shape == (e.s, e.s):
        may = real.expand(e.s, e.s) | torch.eye(e.s, dtype=torch.bool)
        evidence = drawn(local, may, "position, padding last")
        others = ~torch.eye(e.s, dtype=torch.bool) & real & real[:, None]
        if not (local > MOVED)[others].any():
            e.find("mask inverted", call.path, "Real words look at padding and not at each other.",
                   evidence, ("the mask's True means the opposite here: ~mask",),
                   e.line(call, *MASKS, *ATTENDS))  # fmt: skip
            e.report.findings.sort(key=lambda f: f.name == "source ignored")  # a consequence
            return
    if e.line(call, "softmax") and padded_after(e, call, real):
        blame_after(e, call, evidence)
        return
    e.find("padding counts", call.path, "A real word's output depends on what stands in padding.",
           evidence,
           ("no padding mask is applied here, or it doesn't arrive: "
            "(ids != pad_id)[:, None, None, :]",
            "the mask is laid out for other rows: with heads folded into the batch, "
            "repeat_interleave it",
            "something sums or averages over all positions"),
           e.masking_line(call)
           or next((op.line for op in call.ops if op.name in POOLS), ""))  # fmt: skip


def padded_after(e, call, real):
    """Tell whether the weights on padding are thrown away after the softmax."""
    cells = (~real).float().expand(len(real), len(real))

    def edit(weights):
        return weights + cells.to(weights) if weights.shape[-1] == len(real) else weights

    runs = [e.replay(call, change=editing(f)) for f in (lambda w: w, edit)]
    laid = [None if x is None else along(x, e.s) for x in runs]
    return all(x is not None for x in laid) and torch.equal(*(x[:2, real] for x in laid))


def compare_lengths(e, padded, short, n_real):
    """Real positions must come out as they do without any padding."""
    try:
        alone = e.output(short)
    except Exception:  # models of one batch size or length
        return
    rows = min(n_real, alone.shape[1]) if e.kind == "encoder" else alone.shape[1]
    apart = ((padded[:2, :rows] - alone[:, :rows]).abs().max() / padded.abs().max()).item()
    if apart > DIFFERS:
        e.find("padding counts", "",
               "The same sentence comes out differently with and without padding.",
               f"up to {apart:.2g} of the largest output",
               ("something sums or averages over all positions, padding too",
                "positions are counted from the padded end"))  # fmt: skip


def probe_order(e):
    """Swap two tokens: something else than the order of the outputs has to change."""
    if not e.positions:
        return
    for side in e.ids:
        if side == "source" and any(f.name.startswith("source") for f in e.report.findings):
            continue
        swapped = {name: x.clone() for name, x in e.ids.items()}
        swapped[side][:, [0, 2]] = swapped[side][:, [2, 0]]
        blind = (
            blind_backwards(e, swapped)
            if side == "target" and e.causal
            else blind_both_ways(e, side, swapped)
        )
        if not blind or zero_tables(e, side, swapped):
            continue
        call = next((c for c in e.calls.values() if embeds(e, c, side)), e.root())
        twice = {name: x[:1].expand(BATCH, -1).clone() for name, x in e.ids.items()}
        out = e.output(twice)
        by_row = bool((out[0] - out[1]).abs().max() > MOVED * out.abs().max())
        causes = ("positions are read along the batch axis: x.shape[1], not "
                  "x.shape[0]",) if by_row else (
            "no positions are added, or all tokens get the same one",
            "if there are none on purpose, pass positions=False")  # fmt: skip
        evidence = "the same sentence in two rows of a batch comes out differently" if by_row else (
            "swap two tokens: the outputs are the same numbers")  # fmt: skip
        e.find("order unseen", call.path,
               f"The order of the {side}'s tokens makes no difference.", evidence,
               causes, e.line(call, "add", "embedding", last=True))  # fmt: skip
        return


def embeds(e, call, side):
    """Tell whether a call turns token ids into vectors, positions included."""
    made = call.output is not None and call.output.dim() == 3 and not e.attends(call)
    outermost = call.parent is None or e.attends(call.parent)
    return made and outermost and any(same_ids(x, e.ids[side]) for x in call.inputs)


def zero_tables(e, side, swapped):
    """Tell whether order would count with larger weights: DeiT's table of positions starts at 0."""
    weights = [p for p in e.model.parameters() if p.dim() > 1]
    if side == "target" and e.causal:
        if all(p.any() for p in weights):
            return False
        e.unsure("the order of tokens: some tables are all zero before training")
        return True
    before, small = e.out, [p for p in weights if p.std() < p.shape[-1] ** -0.5]
    kept = [p.detach().clone() for p in small]
    with torch.no_grad():
        for p in small:
            p.normal_(std=p.shape[-1] ** -0.5)
        e.out = e.output()
        blind = blind_both_ways(e, side, swapped)
        for p, value in zip(small, kept, strict=True):
            p.copy_(value)
    e.out = before
    return not blind


def blind_both_ways(e, side, swapped):
    """Tell whether swapping two tokens only swaps two outputs, or nothing at all."""
    a, b = e.out, e.output(swapped)
    if a.shape[1] >= e.ids[side].shape[1] and side != "target" and e.kind != "encoder-decoder":
        extra = a.shape[1] - e.ids[side].shape[1]
        order = torch.arange(a.shape[1])
        order[extra], order[extra + 2] = extra + 2, extra
        b = b[:, order]
    return bool((a - b).abs().max() < MOVED * a.abs().max())


def blind_backwards(e, swapped):
    """Tell whether a decoder's attentions can't tell the order of what is behind them."""
    if not e.attentions:
        return False
    run = e.run(swapped, trace=True)
    effect = e.effects["target"]  # what doesn't move with the target is the encoder's
    readers = [c for c, _ in e.attentions if differs(effect.get(c.key, ([], []))[1])]
    if not any(x.is_floating_point() and x.dim() > 2 for c in readers for x in c.inputs):
        return blind_weights(e, run)
    first = readers[0]
    other = run.calls[first.key]
    for x, y in zip(first.inputs, other.inputs, strict=True):
        floats = x.is_floating_point() and x.dim() > 2
        laid, back = (along(z, e.t) if floats else None for z in (x, y))
        if laid is not None and not close(laid[:, [2, 1, 0]], back[:, :3], 1e-6):
            return False  # the vectors carry their position

    def swap(_, x):
        if not x.is_floating_point() or x.dim() < 3 or along(x, e.t) is None or len(x) != BATCH:
            return x
        order = torch.arange(e.t)
        order[0], order[2] = 2, 0
        place = next(a for a in range(1, x.dim()) if x.shape[a] == e.t)
        return x.index_select(place, order.to(x.device))

    for call in readers:
        a, b = (e.replay(call, change) for change in (None, swap))
        if a is None or b is None:
            return False
        a, b = (along(x, e.t)[:, -1] for x in (a, b))
        if not close(a, b, 1e-5 * a.abs().max().item()):
            return False
    return True


def close(a, b, atol):
    """Tell whether two tensors agree but for rounding."""
    return torch.allclose(a, b, rtol=1e-4, atol=atol)


def blind_weights(e, run):
    """Tell whether swapped tokens only swap their weights, where no module holds an attention."""
    call, (op, *_) = e.attentions[0]
    other = run.calls[call.key]
    a, b = op.result, other.ops[next(i for i, o in enumerate(call.ops) if o is op)].result
    if not isinstance(a, torch.Tensor):
        return False
    if op.name == "softmax":
        order = torch.arange(a.shape[-1], device=a.device)
        order[[0, 2]] = order[[2, 0]]
        b = b[..., order]
    return close(a[..., -1, :], b[..., -1, :], 1e-6)
