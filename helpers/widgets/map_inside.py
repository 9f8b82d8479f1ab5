"""What lies inside the map's parts: norms, neurons, projections, and what a score is made of.

Everything here is read off the traced model itself. T tokens, D the model's width, F the
feed-forward width, K the width of a head.
"""

import torch
from torch import nn

from helpers.models.score_parts import score_sides
from helpers.transformer.attention import heads_off
from helpers.transformer.layers import inference
from helpers.widgets.map_data import WIDE_STRIP, Packer, entries
from helpers.widgets.map_tours import STRIP

TEMPERATURES = [i / 10 for i in range(1, 21)]
LETTERS = ("q", "k", "v")


def pack_insides(trace) -> tuple[dict, bytes]:
    """Describe norms, neurons and the softmax's sums of a `trace`, as far as its model is at hand.

    For every array its place in the bytes; empty without the model.
    """
    if trace.network is None:
        return {}, b""
    packer = Packer()
    described = {"chooses": trace.onward is not None, "splits": trace.splits}
    described["trains"] = trace.through is not None
    with inference(trace.network):
        for name in ("encoder", "decoder"):
            if getattr(trace, name) is not None:
                described[name] = [
                    [_insides(trace, part, *modules, packer) for part, modules in layer]
                    for layer in _with_modules(trace, name)
                ]
        if trace.decoder is not None:
            described |= {"temperatures": TEMPERATURES, "sums": _sums(trace)}
            described |= {"vocabulary": len(trace.network.output_proj.weight)}
            ((_, (_, attention)), *_), *_ = _with_modules(trace, "decoder")
            if getattr(attention, "rotary", False):  # radians per position for each pair of entries
                size = trace.decoder.layers[0][0].heads.query.shape[-1]
                described["turns"] = [attention.base ** (-i / size) for i in range(0, size, 2)]
    return described, packer.bytes()


def asked(trace, place: str, double) -> tuple[dict, bytes]:
    """Compute what of a `trace` is too large to be sent before somebody asks for it.

    A `place` "encoder/0/self-attention/2/q/3" asks for a projection, and
    "encoder/0/self-attention/join/3" for the part of W_O that strips show;
    "encoder/0/self-attention/2/3,4/why" for the parts of a score, above those of an average key, or
    with "why,1" above those of key 1; for other places nothing is computed. The function `double`
    gives the traced model in double precision. Described are the place and its arrays.
    """
    if place == "heads":
        return {"place": place, "heads": _worth(trace)}, b""
    name, layer, kind, head, *what = [*place.split("/"), *[""] * 5][:6]
    packer, described = Packer(), {}
    why = what[1].startswith("why")
    if why or what[0] in LETTERS or head == "join":
        layers = list(_with_modules(trace, name))
        part, (_, attention) = next(one for one in layers[int(layer)] if one[0].kind == kind)
    if head == "join":
        described = _joining(attention.out_proj, packer)
    elif why:
        cell = map(int, (what[0] + what[1].removeprefix("why")).split(","))
        described = _why(trace, part, double(), name, int(layer), int(head), *cell)
    elif what[0] in LETTERS:
        described = _projection(trace, part, attention, int(head), what[0], int(what[1]), packer)
    return (described and described | {"place": place}), packer.bytes() if packer.codes else b""


def _worth(trace):
    """Measure what the translation loses without each head, beside those that are off already.

    Returned for each is the target position where the written token loses most probability (or,
    where none loses half a percentage point, gains most) and the share that it is left with; then
    the first position where another token is likeliest, and the rank of that candidate (10 if it
    isn't one; -1 and -1 if no word changes).
    """
    ids = [[one.id for one in row] for row in trace.candidates]
    names = [[one.token for one in row] for row in trace.candidates]
    pairs = zip(ids, names, trace.written, strict=True)
    written = [own[row.index(token)] for own, row, token in pairs]
    rows = torch.arange(len(written))

    def shares():
        with inference(trace.network):
            return trace.network(trace.source_ids[None], trace.target_ids[None])[0].softmax(-1)

    def without(attention, head):
        with heads_off(attention, [head]):
            after = shares()
        best, lost = after.argmax(-1), (before - after)[rows, written]
        row = int(lost.argmax() if lost.max() >= 0.005 else lost.abs().argmax())
        changed, *_ = [*(best != before.argmax(-1)).nonzero().flatten().tolist(), -1]
        rank = [*ids[changed], int(best[changed])].index(best[changed]) if changed >= 0 else -1
        return [row, float(after[row, written[row]]), changed, rank]

    before = shares()
    return {
        f"{name}/{i}/{part.kind}/{head}": without(attention, head)
        for name in ("encoder", "decoder")
        for i, layer in enumerate(_with_modules(trace, name))
        for part, (_, attention) in layer
        if part.heads
        for head in range(len(part.heads.query))
    }


def _projection(trace, part, attention, head, letter, row, packer):
    """Take one row of what a head reads, and the head's columns of W_Q, W_K or W_V."""
    linear = getattr(attention, {"q": "query_proj", "k": "key_proj", "v": "value_proj"}[letter])
    cross = part.kind == "cross-attention" and letter != "q"
    size = part.heads.query.shape[-1]
    columns = slice(head * size, (head + 1) * size)
    bias = torch.zeros(size) if linear.bias is None else linear.bias[columns]
    return {
        "input": packer.add((trace.encoder.output if cross else part.read)[row]),
        "weight": packer.add(linear.weight[columns].T),
        "bias": packer.add(bias),
    }


def _joining(linear, packer):
    """Take the columns of W_O, and its bias, that make the entries of a strip."""
    some = entries(len(linear.weight), STRIP)
    bias = torch.zeros(len(some)) if linear.bias is None else linear.bias[some]
    return {"weight": packer.add(linear.weight[some].T), "bias": packer.add(bias)}


def _why(trace, part, double, name, layer, head, query, key, other=None):
    """Split a score by the parts of its query and of its key; compare with another or the mean."""
    target = trace.target_ids[None] if name == "decoder" else None
    queries, keys = score_sides(
        double, trace.source_ids[None], layer, head, target, part.kind == "cross-attention"
    )
    allowed = part.heads.mask[head, query]  # what the mask hides is no key to compare with
    pairs = torch.einsum("ik,jsk->ijs", queries[1][:, query], keys[1])
    return {
        "names": queries[0],
        "keys": keys[0],
        "pairs": pairs[:, :, key].tolist(),
        "mean": (pairs[..., allowed].mean(-1) if other is None else pairs[:, :, other]).tolist(),
    }


def _with_modules(trace, name):
    """Pair every sublayer with its residual connection and with its attention or network."""
    layers = getattr(trace.network, f"{name}_layers", None) or trace.network.layers
    kinds = {"cross-attention": "cross_attention", "feed-forward": "feed_forward"}
    for layer, parts in zip(layers, getattr(trace, name).layers, strict=True):
        yield [
            (part, (getattr(layer, f"residual_{k}"),
                    getattr(layer, kinds.get(part.kind, "self_attention"))))
            for k, part in enumerate(parts, 1)
        ]  # fmt: skip


def _insides(trace, part, residual, module, packer):
    norm, x = residual.norm, part.before if trace.norm_first else part.before + part.found
    described = {}
    if isinstance(norm, nn.LayerNorm):
        some = entries(x.shape[-1], STRIP)
        variance, mean = torch.var_mean(x, -1, correction=0)
        described["norm"] = {
            "mean": [round(one, 6) for one in mean.tolist()],
            "deviation": [round(one, 6) for one in (variance + norm.eps).sqrt().tolist()],
            "before": packer.add(x[:, some]),
            "gain": packer.add(norm.weight[some]),
            "bias": packer.add(norm.bias[some]),
        }
    if part.heads is None and hasattr(module, "linear_1"):
        shown = entries(part.hidden.shape[-1], WIDE_STRIP)
        before = module.linear_1(part.read.to(module.linear_1.weight))
        columns = module.linear_2.weight.T[shown][:, entries(x.shape[-1], STRIP)]
        described["neurons"] = {"before": packer.add(before[:, shown])}
        described["neurons"] |= {"writes": packer.add(columns)}
    return described


def _sums(trace):
    """Return, per target position and temperature, the log of the sum of all exp(logit / t)."""
    project = trace.network.output_proj
    logits = project(trace.decoder.output.to(next(trace.network.parameters())))
    sums = torch.stack([(logits / t).logsumexp(-1) for t in TEMPERATURES], -1)
    return [[round(one, 6) for one in row] for row in sums.tolist()]
