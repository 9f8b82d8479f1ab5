"""Examine a Transformer without an answer key, and see where it is ill.

    from clinic import examine

    report = examine(model, kind="decoder", vocab_size=97, pad_id=0, max_len=64)
    report                       # findings, and what depends on what
    report.assert_healthy()      # in a test

The clinic asks by behaviour. It changes one token and looks which outputs move; follows the change
through the modules to the first one whose output depends on what it mustn't; then runs that module
alone, on inputs made for it. It needs nothing but PyTorch: copy this folder into your project.

B batch, T target length, S source length, D width, H heads, K width of a head, V vocabulary.
"""

import copy
import inspect
import time

import torch
from torch import nn

from . import dependence, inside, masks, training
from .examination import Examination
from .recorder import as_it_was
from .report import FINDINGS, Finding, Report

__all__ = ["FINDINGS", "PROBES", "Finding", "Report", "examine"]

KINDS = ("encoder-decoder", "decoder", "encoder", "vision", "attention")
PROBES = {
    probe.__name__.removeprefix("probe_"): probe  # in the order in which they run
    for probe in (
        masks.probe_nan, training.probe_dropout, training.probe_gradient, inside.probe_norms,
        inside.probe_heads, inside.probe_softmax, masks.probe_mask, dependence.probe_sentences,
        dependence.probe_source, dependence.probe_future, dependence.probe_past,
        dependence.probe_padding, dependence.probe_order, inside.probe_scale,
        training.probe_training, training.probe_sharing, training.probe_output,
        training.probe_loss, training.probe_cache,
    )
}  # fmt: skip


def examine(
    model, kind, *, vocab_size=None, pad_id=None, max_len=None, call=None, loss=None, cached=None,
    causal=True, window=None, prefix=0, positions=True, scaled=True, shared_layers=False,
    batch_first=True, image_size=None, patch_size=None, n_channels=3,
    d_model=None, n_heads=None, mask_means="may look",
):  # fmt: skip
    """Examine a model; it is given back as it was: weights, mode, random state.

    Parameters
    ----------
    model : nn.Module
    kind : {"encoder-decoder", "decoder", "encoder", "vision", "attention"}
        (src_ids, tgt_ids) -> logits (B, T, V); (ids) -> logits; (ids) or (ids, mask) -> (B, T, D)
        or (B, classes); (pictures) -> the same; (query, key, value, mask) -> (B, T, D).
    vocab_size, pad_id, max_len : int, default=None
        Token ids lie below `vocab_size`; without `pad_id` padding isn't examined; at most `max_len`
        tokens a sentence.
    call : function (model, *inputs) -> output, default=None
        How to call the model, if not as above; Hugging Face's are known.
    loss : function (model, *ids) -> scalar Tensor, default=None
        The training function, to examine its targets.
    cached : function (model, *ids) -> logits (B, T, V), default=None
        Decoding one token at a time with a cache.
    causal : bool, default=True
        Whether a decoder's outputs may depend on earlier tokens only.
    window : int, default=None
        How many tokens back a layer may look, itself included, if it isn't all of them.
    prefix : int, default=0
        How many tokens at the start may all see each other.
    positions, scaled : bool, default=True
        Whether order should matter, and scores be divided by √K.
    shared_layers : bool, default=False
        Whether layers share their weights on purpose.
    batch_first : bool, default=True
    image_size, patch_size, n_channels : int
        For "vision": square pictures, in pixels.
    d_model, n_heads : int
        For "attention".
    mask_means : {"may look", "may not look", "added"}, default="may look"
        For "attention": what True stands for, or that 0 and −∞ are added to the scores.

    Returns
    -------
    report : Report

    Raises
    ------
    ValueError
        If the model can't be called so; the message says what to pass.
    """
    options = {name: value for name, value in locals().items() if name not in ("model", "kind")}
    start = time.perf_counter()
    check_options(model, kind, options)
    if any(p.dtype in (torch.float16, torch.bfloat16) for p in model.parameters()):
        model = copy.deepcopy(model).float()  # in low precision, small dependences are rounded away
    with torch.inference_mode(False), torch.enable_grad(), as_it_was(model):
        options["calls_to_try"] = [call] if call else callers(model, kind, options)
        e = Examination(model, kind, options | {"known": call is None})
        e.mode(False)
        e.prepare()
        for name, probe in PROBES.items():
            if name == "dropout" and not e.nan:
                e.look()
            if not e.nan:
                probe(e)
    e.report.seconds = time.perf_counter() - start
    return e.report


def check_options(model, kind, options):
    """Say which of the arguments of `examine` (model, kind, options) is missing or wrong."""
    if kind not in KINDS:
        raise ValueError(f"kind has to be one of {', '.join(KINDS)}; got {kind!r}.")
    if not isinstance(model, nn.Module):
        raise ValueError(f"expected an nn.Module, got {type(model).__name__}.")
    needed = {"vision": ("image_size", "patch_size"), "attention": ("d_model",)}.get(
        kind, ("vocab_size",)
    )
    missing = [name for name in needed if options[name] is None]
    if missing:
        raise ValueError(f"kind={kind!r} needs {' and '.join(missing)}.")
    if kind == "vision":
        options["vocab_size"] = 64  # as many different patches are drawn


def callers(model, kind, options):
    """Return the ways in which a model of this kind may want to be called, by its `options`."""
    names = list(inspect.signature(model.forward).parameters)
    pad_id = options["pad_id"]

    def real(ids):
        return torch.ones_like(ids) if pad_id is None else (ids != pad_id).long()

    def both(ids):
        return real(ids).bool()[:, None, :] & torch.ones(ids.shape[1], ids.shape[1]).tril().bool()

    if kind == "attention":
        return [lambda m, q, k, v, mask: m(q, k, v) if mask is None else m(q, k, v, mask),
                lambda m, q, k, v, mask: m(q, k, v, None if mask is None else mask)]  # fmt: skip
    if "pixel_values" in names:
        return [lambda m, x: m(pixel_values=x)]
    if "input_ids" in names and "attention_mask" in names:
        extra = {"use_cache": False} if "use_cache" in names or hasattr(model, "generate") else {}
        if kind == "encoder-decoder":
            return [
                lambda m, s, t: m(input_ids=s, attention_mask=real(s), decoder_input_ids=t, **extra)
            ]
        return [lambda m, ids: m(input_ids=ids, attention_mask=real(ids), **extra)]
    plain = [lambda m, *inputs: m(*inputs)]
    if kind == "encoder" and len(names) > 1 and "mask" in names[1]:
        return [lambda m, ids: m(ids, real(ids).bool()),
                lambda m, ids: m(ids, real(ids).bool()[:, None, None]),
                lambda m, ids: m(ids, real(ids)), *plain]  # fmt: skip
    if kind == "encoder-decoder" and len(names) == 4 and all("mask" in name for name in names[2:]):
        return [*plain, lambda m, s, t: m(s, t, real(s).bool()[:, None], both(t)),
                lambda m, s, t: m(s, t, real(s).bool()[:, None, None], both(t)[:, None]),
                ]  # fmt: skip
    if kind == "decoder" and "targets" in names:
        return [lambda m, ids: m(ids, targets=ids), *plain]
    return plain
