"""What lies inside the map's parts: norms, neurons, projections, and what a score is made of.

Everything here is read off the traced model itself. T tokens, D the model's width, F the
feed-forward width, K the width of a head.
"""

import torch
from torch import nn

from helpers.transformer.layers import inference
from helpers.widgets.map_data import WIDE_STRIP, Packer, entries
from helpers.widgets.map_tours import STRIP

TEMPERATURES = [i / 10 for i in range(1, 21)]
LETTERS = ("q", "k", "v")


def pack_insides(trace):
    """Describe norms, neurons and the softmax's sums, as far as the traced model is at hand.

    Parameters
    ----------
    trace : Trace

    Returns
    -------
    described : dict
        For every array its place in the bytes; empty without the model.
    data : bytes
    """
    if trace.network is None:
        return {}, b""
    packer, described = Packer(), {"chooses": trace.onward is not None}
    with inference(trace.network):
        for name in ("encoder", "decoder"):
            if getattr(trace, name) is not None:
                described[name] = [
                    [_insides(trace, part, *modules, packer) for part, modules in layer]
                    for layer in _with_modules(trace, name)
                ]
        if trace.decoder is not None:
            described |= {"temperatures": TEMPERATURES, "sums": _sums(trace)}
    return described, packer.bytes()


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
            "mean": mean.tolist(),
            "deviation": (variance + norm.eps).sqrt().tolist(),
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
    return [[round(one, 4) for one in row] for row in sums.tolist()]
