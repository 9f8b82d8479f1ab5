"""Probes of masks: one attention layer by itself, and what ends in NaN."""

import torch

from .examination import matrix
from .inside import after_softmax, blame_after
from .recorder import ATTENDS, MASKS, change_between, other_sentences
from .report import MOVED, drawn


def probe_mask(e):
    """Give one attention layer a mask of known cells; only those may count."""
    if e.kind != "attention":
        return
    free = e.local(e.root(), e.s, [1, 2])
    if free is not None and (free == 0).any():
        e.find("past ignored", "", "Without a mask, outputs depend on some of the values only.",
               drawn(free, by="key and value"),
               ("look at how queries, keys and values are laid out",))  # fmt: skip
    if other_sentences([change_between(e.out, e.jolt(j), e.lengths) for j in range(e.s)]):
        e.explained.add("")
        e.find("sentences mixed", "", "Change one sentence, and others of the batch move.",
               "the first sentence's keys and values were changed",
               ("batch_first=True is missing", "a view mistook the batch"))  # fmt: skip
    if e.explained:
        return
    generator = torch.Generator().manual_seed(0)
    allowed = torch.rand(e.t, e.s, generator=generator) < 0.5
    allowed[torch.arange(e.t), torch.arange(e.t)] = True
    run = masked_run(e, allowed)
    if run is None:
        e.unsure("the mask: none of (T, S), (1, 1, T, S), (B, T, S), (B, 1, T, S) was taken")
        return
    changes = [change_between(run.output, e.jolt(j), e.lengths) for j in range(e.s)]
    seen, e.ids = matrix(changes, run.output, e.lengths), {}
    if not torch.equal(seen > MOVED, allowed):
        e.calls = run.calls
        e.attentions = e.find_attentions()
        blame_mask(e, seen, allowed)


def masked_run(e, allowed):
    """Run a layer with a mask, in the first layout that it takes; the mask stays in ``e.ids``."""
    mask = allowed  # (T, S), True where a query may look
    if e.mask_means == "may not look":
        mask = ~allowed
    elif e.mask_means == "added":
        mask = torch.zeros(allowed.shape).masked_fill(~allowed, float("-inf"))
    four = mask[None, None]
    for laid_out in (mask, four, four[0].repeat(3, 1, 1), four.repeat(3, 1, 1, 1)):
        try:
            e.ids = {"mask": laid_out.to(e.device)}
            return e.run(trace=True)
        except Exception:  # another layout, then
            e.ids = {}
    return None


def blame_mask(e, seen, allowed):
    """Report what is wrong with how a layer uses its mask."""
    evidence = drawn(seen, allowed, "key and value")
    line = e.line(e.root(), *MASKS, *ATTENDS)
    if torch.equal(seen > MOVED, ~allowed):
        e.find("mask inverted", "", "It looks exactly where it may not.", evidence,
               ("swap the mask: ~mask", 'or say what True means: mask_means="may not look"'),
               line)  # fmt: skip
    elif after_softmax(e, e.root(), ~allowed):
        blame_after(e, e.root(), evidence)
    else:
        e.find("sees the future", "", "It looks where the mask doesn't let it.", evidence,
               ("the mask isn't used, or is filled with something else than -inf",),
               line)  # fmt: skip


def probe_nan(e):
    """A query that is allowed to look at nothing ends in NaN, and takes the rest along."""
    if not e.out.isnan().any():
        return
    call = next(c for c in e.calls.values() if c.output is not None and c.output.isnan().any()
                and not any(x.isnan().any() for x in c.inputs if x.is_floating_point())
                )  # fmt: skip
    e.nan = True
    line = e.line(call, *MASKS, "add", *ATTENDS)
    padded = {side: x.clone() for side, x in e.ids.items()}
    if e.pad_id is not None and "source" in padded:
        padded["source"][:, -4:] = e.pad_id
        if not e.output(padded)[:, 0].isnan().any():
            e.find("mask inverted", call.path,
                   "Only padding may be looked at: without any, there are NaNs.",
                   "NaN without padding, numbers with it",
                   ("the mask's True means the opposite here: ~mask",), line)  # fmt: skip
            return
    wrong = next((op for op in e.ops_of(call) if op.name == "softmax" and op.result.isnan().any()
                  and not op.args[0].softmax(-1).isnan().any()), None)  # fmt: skip
    if wrong is not None:
        e.find("softmax over queries", call.path,
               "The softmax doesn't run over the keys, and ends in NaN.",
               f"over the last axis of {tuple(wrong.result.shape)} there would be no NaN",
               ("softmax(dim=-1)",), wrong.line)  # fmt: skip
        return
    rows = e.out[0].isnan().any(-1).nonzero().flatten().tolist()
    e.find("past ignored", call.path,
           "Some positions may look at nothing, not even at themselves: NaN.",
           f"outputs {rows} of {e.out.shape[1]} are NaN",
           ("the causal mask has to keep its diagonal: tril(), not tril(-1)",
            "fill rows without any key with 0"), line)  # fmt: skip
