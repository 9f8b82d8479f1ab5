"""Change a trained model while it runs: the evidence that looking alone can't give.

Works on a pre-norm `GPT`, which SmolLM is. B batch, T length, D model width, H heads, K head width,
L layers, V vocabulary.
"""

from contextlib import ExitStack, contextmanager

import torch

from helpers.transformer.masks import causal_mask


@torch.no_grad()
def residual_stream(model, ids):
    """Read a text and keep the residual stream between all layers.

    Parameters
    ----------
    model : GPT
    ids : integer Tensor of shape (B, T)

    Returns
    -------
    stream : Tensor of shape (L + 1, B, T, D)
        Entry l is what goes into layer l; the last one is what the last layer put out, before the
        final norm.
    """
    kept = []
    with ExitStack() as hooks:
        for layer in model.layers:
            keep = layer.register_forward_pre_hook(lambda _, args: kept.append(args[0].clone()))
            hooks.enter_context(keep)
        last = layer.register_forward_hook(lambda _, args, out: kept.append(out.clone()))
        hooks.enter_context(last)
        model.decode(ids)
    return torch.stack(kept)


@torch.no_grad()
def run_on(model, x, layer):
    """Run the layers from one on, on a residual stream that may have been changed.

    Parameters
    ----------
    model : GPT
    x : Tensor of shape (B, T, D)
        What goes into `layer`.
    layer : int
        From 0; the number of layers leaves nothing to run.

    Returns
    -------
    x : Tensor of shape (B, T, D)
        What the last layer puts out, for `read_out`.
    """
    mask = causal_mask(x.shape[1], x.device)
    for block in model.layers[layer:]:
        x = block(x, mask)
    return x


@torch.no_grad()
def read_out(model, x):
    """Turn a residual stream (..., D) into logits (..., V): the final norm, then the output.

    After the last layer this is what the model says. After an earlier one it is the logit lens.

    Parameters
    ----------
    model : GPT
    x : Tensor of shape (..., D)

    Source
    ------
    nostalgebraist (2020), "interpreting GPT: the logit lens".
    """
    return model.output_proj(model.norm(x))


@contextmanager
def heads_kept(model):
    """Keep what every head put out inside a ``with`` block, before W_O mixes the heads.

    Yields
    ------
    outputs : list of Tensor of shape (B, H, T, K)
        One per layer, once the model has run.
    """
    outputs = []

    def keep(attention, args):
        outputs.append(args[0].unflatten(-1, (-1, attention.d_head)).transpose(1, 2).clone())

    with ExitStack() as hooks:
        for layer in model.layers:
            hooks.enter_context(_before_out(layer, keep))
        yield outputs


def _before_out(layer, act):
    """Call ``act(attention, args)`` with what the heads of a layer put out."""
    attention = layer.self_attention
    return attention.out_proj.register_forward_pre_hook(lambda _, args: act(attention, args))


@contextmanager
def heads_replaced(model, replacements):
    """Replace what some heads put out inside a ``with`` block.

    Parameters
    ----------
    model : GPT
    replacements : dict of (layer, head) to number, Tensor or function
        Zero silences a head; a tensor broadcastable to (B, T, K) takes its place. A function is
        called with what all heads of the layer put out, (B, T, H, K), and the head's number, and
        returns the outputs changed.

    Raises
    ------
    ValueError
        If there is no such head.
    """
    n_layers, n_heads = model.config.n_layers, model.config.n_heads
    for layer, head in replacements:
        if not (0 <= layer < n_layers and 0 <= head < n_heads):
            raise ValueError(
                f"layers are 0 … {n_layers - 1} and heads 0 … {n_heads - 1}; got {(layer, head)}."
            )

    def replacing(number):
        def act(attention, args):
            heads = args[0].unflatten(-1, (-1, attention.d_head)).clone()  # (B, T, H, K)
            for (layer, head), new in replacements.items():
                if layer == number and callable(new):
                    heads = new(heads, head)
                elif layer == number:
                    heads[:, :, head] = torch.as_tensor(new, dtype=heads.dtype)
            return (heads.flatten(-2),)

        return act

    with ExitStack() as hooks:
        for i in {layer for layer, _ in replacements}:
            hooks.enter_context(_before_out(model.layers[i], replacing(i)))
        yield


@contextmanager
def keys_hidden(model, query, keys):
    """Hide some positions from others inside a ``with`` block, in all heads of all layers.

    Parameters
    ----------
    model : GPT
    query : slice or int
        Positions that can't attend to `keys` any more.
    keys : slice or int

    Notes
    -----
    A position always sees itself, so that no row is left without a key.
    """

    def act(_, args, kwargs):
        mask = causal_mask(args[0].shape[1]).clone()  # (T, T)
        mask[query, keys] = False
        mask |= torch.eye(len(mask), dtype=torch.bool)
        return (*args[:3], mask), kwargs

    with ExitStack() as hooks:
        for layer in model.layers:
            hook = layer.self_attention.register_forward_pre_hook(act, with_kwargs=True)
            hooks.enter_context(hook)
        yield


@torch.no_grad()
def patched_logits(model, source, target):
    """Put each vector of one run into another, one at a time, and run the rest of the model.

    Parameters
    ----------
    model : GPT
    source, target : integer Tensor of shape (T,)
        Two texts of one length; vectors of `source` go into the run on `target`.

    Returns
    -------
    logits : Tensor of shape (L + 1, T, V)
        Entry [l, t] is what comes next after `target` if the vector that goes into layer l at
        position t is that of `source`. The last entry [L, T - 1] is what comes after `source`.

    Raises
    ------
    ValueError
        If the texts differ in length, or don't differ at all.

    Source
    ------
    Meng et al. (2022), "Locating and Editing Factual Associations in GPT", arXiv:2202.05262,
    section 2; there, the run that is mended is one with noise.
    """
    if source.shape != target.shape or torch.equal(source, target):
        raise ValueError(
            f"patching exchanges vectors position by position, so two different texts need as many "
            f"tokens; got {len(source)} and {len(target)} tokens."
        )
    stream = residual_stream(model, torch.stack([source, target]))  # (L + 1, 2, T, D)
    # Up to the first token that differs both runs are the same, so nothing changes there.
    first = (source != target).nonzero()[0].item()
    rows = []
    for layer, (theirs, ours) in enumerate(stream):
        positions = torch.arange(first, len(source))
        runs = ours.expand(len(positions), -1, -1).clone()  # one run per position
        runs[positions - first, positions] = theirs[positions]
        rows.append(read_out(model, run_on(model, runs, layer)[:, -1]))
    changed = torch.stack(rows)  # (L + 1, T - first, V)
    untouched = read_out(model, stream[-1, 1, -1]).expand(len(stream), first, -1)
    return torch.cat([untouched, changed], dim=1)


def share_carried(logits, answer, rival, before):
    """Say how far each patched vector moves the answer's lead over its rival.

    Parameters
    ----------
    logits : Tensor of shape (L + 1, T, V)
        As `patched_logits` returns them.
    answer, rival : int
        The tokens that come next after `source` and after `target`.
    before : Tensor of shape (V,)
        Logits after `target`, with nothing changed.

    Returns
    -------
    share : Tensor of shape (L + 1, T)
        0 where the lead stands as for `target`, 1 where it stands as for `source`.
    """
    lead = logits[..., answer] - logits[..., rival]
    here = before[answer] - before[rival]
    return (lead - here) / (lead[-1, -1] - here)


@torch.no_grad()
def heads_patched(model, source, target, lead, heads):
    """Give one head after the other what it puts out for another text, at the last position only.

    Parameters
    ----------
    model : GPT
    source, target : integer Tensor of shape (N, T)
        N pairs of texts of one length; what goes in is taken from `source`.
    lead : function (logits (N, V)) -> (N,)
        How far the answer to `source` is ahead of the answer to `target`.
    heads : list of (layer, head)

    Returns
    -------
    share : Tensor of shape (heads, N)
        0 where the lead stands as for `target`, 1 where it stands as for `source`.

    Source
    ------
    Wang et al. (2022), "Interpretability in the Wild", arXiv:2211.00593, section 3.
    """
    stream, n = residual_stream(model, torch.cat([source, target])), len(source)
    with heads_kept(model) as outputs:
        model.decode(torch.cat([source, target]))
    there, here = (lead(read_out(model, x)) for x in stream[-1, :, -1].split(n))
    shares = []
    for layer, head in heads:
        new = outputs[layer][n:, head].clone()  # (N, T, K)
        new[:, -1] = outputs[layer][:n, head, -1]
        with heads_replaced(model, {(layer, head): new}):
            last = run_on(model, stream[layer, n:], layer)[:, -1]
        shares.append((lead(read_out(model, last)) - here) / (there - here))
    return torch.stack(shares)


@torch.no_grad()
def heads_silenced(model, ids, lead, heads):
    """Silence one head after the other, and see how much of a lead is lost.

    Parameters
    ----------
    model : GPT
    ids : integer Tensor of shape (N, T)
    lead : function (logits (N, V)) -> (N,)
    heads : list of (layer, head)

    Returns
    -------
    loss : Tensor of shape (heads, N)
        Below zero where the lead grows.
    """
    stream, losses = residual_stream(model, ids), []
    before = lead(read_out(model, stream[-1, :, -1]))
    for layer, head in heads:
        with heads_replaced(model, {(layer, head): 0.0}):
            last = run_on(model, stream[layer], layer)[:, -1]
        losses.append(before - lead(read_out(model, last)))
    return torch.stack(losses)
