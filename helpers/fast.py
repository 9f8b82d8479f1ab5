"""Shortcuts for speed, each with the plain line it replaces.

Nothing here is needed to understand a model. Each shortcut computes what the plain line computes,
except that dropout draws other random numbers and rounds its share. Gains were measured on two CPU
cores.
"""

from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from helpers.masks import check_mask


def dropout(x, p):
    """The same as ``F.dropout(x, p)``, but with other random numbers and, on a CPU, `p` rounded.

    On a CPU one random float per activation takes longer than the matrix product before it. Here
    one 64-bit random word decides eight activations, 8 bits each, or four where `p` is so close to
    0 or 1 that 8 bits are too coarse. Measured: 0.8 ms for half a million activations, 2.9 plainly.

    Parameters
    ----------
    x : Tensor of any shape
    p : float
        Share to set to zero, from 0 up to but not including 1; on a CPU rounded to a multiple of
        1/256 from 0.05 to 0.95, else of 1/65536.

    Returns
    -------
    x : Tensor of the same shape
    """
    if p == 0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, p)
    dtype, n_values = (torch.int8, 2**8) if 0.05 <= p <= 0.95 else (torch.int16, 2**16)
    n_dropped = min(max(round(p * n_values), 1), n_values - 1)
    words = torch.empty(x.numel() * dtype.itemsize // 8 + 1, dtype=torch.int64)
    bits = words.random_(-(2**63), None).view(dtype)[: x.numel()].view(x.shape)
    # Signed integers start at -n_values/2, so exactly n_dropped of the n_values values fall below
    # this.
    keep = bits >= n_dropped - n_values // 2
    return x * keep.to(x.dtype).mul_(n_values / (n_values - n_dropped))


def none_if_full(mask):
    """The same as ``mask`` wherever attention takes one: None means that nothing is masked out.

    Attention is quicker without a mask, and the newest token of a translation is allowed to attend
    to all earlier ones. Measured: greedy decoding takes about a tenth less time.

    Parameters
    ----------
    mask : bool Tensor of any shape

    Returns
    -------
    mask : bool Tensor of the same shape, or None if it holds nothing but True
    """
    return None if mask.all() else mask


def fused_attention(query, key, value, mask=None, dropout=0.0):
    """The same as ``scaled_dot_product_attention(query, key, value, mask)[0]``.

    PyTorch's operator does not store the weights for later. On a CPU its one-pass kernel is made
    for long sequences, and its backward pass is several times slower at sentence length than that
    of plain products, which PyTorch calls the "math" kernel.

    Parameters
    ----------
    query : Tensor of shape (..., T, K)
    key : Tensor of shape (..., S, K)
    value : Tensor of shape (..., S, d_value)
    mask : bool Tensor broadcastable to (..., T, S), default=None
        True where the query is allowed to attend.
    dropout : float, default=0.0
        Share of weights set to zero.

    Returns
    -------
    context : Tensor of shape (..., T, d_value)

    Raises
    ------
    ValueError
        If the mask is not boolean or does not broadcast.
    """
    if mask is not None:
        check_mask(mask, (*query.shape[:-1], key.shape[-2]))
        mask = torch.atleast_2d(mask)  # PyTorch's kernels ask for queries and keys
    on_cpu = query.device.type == "cpu"
    needs_cpu_gradient = on_cpu and query.requires_grad and torch.is_grad_enabled()
    with sdpa_kernel(SDPBackend.MATH) if needs_cpu_gradient else nullcontext():
        return F.scaled_dot_product_attention(query, key, value, mask, dropout)


def cross_entropy_sum(logits, targets, label_smoothing=0.0):
    """The same as ``F.cross_entropy(logits, targets, label_smoothing=…, reduction="sum")``.

    The logits are by far the largest tensor in training, and on a CPU getting fresh memory takes
    longer than computing the numbers to fill it. So the log-softmax is never stored. What is saved
    for the gradient is one number per row, the log of the softmax's denominator.

    Parameters
    ----------
    logits : Tensor of shape (N, V)
    targets : integer Tensor of shape (N,)
    label_smoothing : float, default=0.0
        Share of each target spread over all classes.

    Returns
    -------
    loss : scalar Tensor, float32 or better, in nats summed over the rows
    """
    return _CrossEntropySum.apply(logits, targets, label_smoothing)


class _CrossEntropySum(torch.autograd.Function):
    ROWS = 128  # at a time, so that what is computed in between stays in the processor's cache

    @staticmethod
    def forward(ctx, logits, targets, epsilon):
        precise = torch.promote_types(logits.dtype, torch.float32)
        loss = torch.zeros((), dtype=precise, device=logits.device)
        log_sums = []
        # Per row: logsumexp(x) - (1 - ε) x[target] - ε mean(x).
        for x, target in _by_rows(logits, targets):
            x = x.to(precise)
            log_sums.append(x.logsumexp(-1, keepdim=True))
            loss += log_sums[-1].sum() - (1 - epsilon) * x.gather(-1, target).sum()
            if epsilon:
                loss -= epsilon * x.mean(-1).sum()
        ctx.save_for_backward(logits, targets, *log_sums)
        ctx.epsilon = epsilon
        return loss

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, scale):
        logits, targets, *log_sums = ctx.saved_tensors
        gradient = torch.empty_like(logits)
        outs = gradient.split(_CrossEntropySum.ROWS)
        parts = zip(_by_rows(logits, targets), log_sums, outs, strict=True)
        # Its gradient: softmax(x) - ε/V, less 1 - ε at the target.
        for (x, target), log_sum, out in parts:
            softmax = (x - log_sum).exp_()
            if ctx.epsilon:
                softmax -= ctx.epsilon / logits.shape[-1]
            softmax.scatter_add_(-1, target, (ctx.epsilon - 1) * torch.ones_like(log_sum))
            out.copy_(softmax.mul_(scale))
        return gradient, None, None


def _by_rows(logits, targets):
    rows = _CrossEntropySum.ROWS
    return zip(logits.split(rows), targets[:, None].split(rows), strict=True)
