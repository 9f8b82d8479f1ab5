"""Shortcuts for speed, each with the plain line it replaces.

Nothing here is needed to understand a model. Each shortcut computes what the plain line computes,
except that dropout draws other random numbers and rounds its share. Gains were measured on two CPU
cores.
"""

import copy
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import nn

from helpers.transformer.masks import check_mask
from helpers.transformer.positions import rotate_positions


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
    if x.device.type != "cpu" or torch.compiler.is_compiling():  # which fuses it by itself
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
    if torch.compiler.is_compiling():  # a graph can't depend on what a mask holds
        return mask
    return None if mask.all() else mask


def matrix_first(linear, x):
    """The same as ``linear(x)``, quicker where a CPU multiplies few rows by a very large matrix.

    A decoding step has one row per sentence, and the output layer one per token of the vocabulary.
    Measured for 8 sentences and 8,000 tokens of width 256: 1.0 ms instead of 1.7. Smaller matrices
    and more rows gain nothing.

    Parameters
    ----------
    linear : nn.Linear
        Without bias.
    x : Tensor of shape (N, D)

    Returns
    -------
    x : Tensor of shape (N, V)
    """
    if x.device.type == "cpu" and len(x) <= 32 and linear.weight.numel() >= 2**20:
        return (linear.weight @ x.t()).t()  # (V, N) -> (N, V)
    return linear(x)


def grouped_attention(query, key, value, mask=None):
    """The same as `fused_attention` with each head of keys repeated for its query heads.

    Queries that share their keys become rows of one head, so nothing is copied. Measured for one
    query and 1,000 keys, 9 query heads and 3 key heads: half the time in 32 bits, a fifth in 16.

    Parameters
    ----------
    query : Tensor of shape (B, H, T, K)
    key, value : Tensor of shape (B, n_kv_heads, S, K)
    mask : bool Tensor broadcastable to (T, S), default=None

    Returns
    -------
    context : Tensor of shape (B, H, T, K)
    """
    n_shared = query.shape[1] // key.shape[1]
    if n_shared == 1:
        return fused_attention(query, key, value, mask)
    rows = query.unflatten(1, (-1, n_shared)).flatten(2, 3)  # (B, n_kv_heads, n_shared · T, K)
    mask = None if mask is None else mask.repeat(n_shared, 1)
    context = fused_attention(rows, key, value, mask)
    return context.unflatten(2, (n_shared, -1)).flatten(1, 2)


class GrowingTensor:
    """The same as ``past = torch.cat([past, new], dim=2)`` at every decoding step.

    `torch.cat` copies the whole past at every step. Here the tensor has room for twice as many
    positions as it holds. A new position is written into the free part, so the past is copied only
    when the room runs out. Measured: 2 ms instead of 14 for 48 steps of 8 sentences and three
    layers. For decoding only: writing in place keeps no gradient.
    """

    def __init__(self):
        self.room = None  # (B, H, room, K), of which `length` positions are in use
        self.length = 0

    def append(self, new):
        """Add new positions, (B, H, new, K), and return all of them, (B, H, length, K)."""
        start, self.length = self.length, self.length + new.shape[2]
        if self.room is None:
            self.room = new
        else:
            if self.length > self.room.shape[2]:
                room = new.new_empty(*new.shape[:2], 2 * self.length, new.shape[3])
                room[:, :, :start] = self.room[:, :, :start]
                self.room = room
            self.room.narrow(2, start, new.shape[2]).copy_(new)
        return self.all()

    def shorten(self, length):
        """Forget all positions after the first `length`; the room they took is used again."""
        self.length = min(self.length, length)

    def all(self):
        """Return all positions so far, (B, H, length, K)."""
        return self.room.narrow(2, 0, self.length)

    def reorder(self, rows):
        """Let row i hold what row ``rows[i]`` held before."""
        if self.room is not None:
            self.room = self.room[rows]


def fused_attention(query, key, value, mask=None, dropout=0.0):
    """The same as ``scaled_dot_product_attention(query, key, value, mask)[0]``.

    PyTorch's operator goes through the keys in one pass and stores no weights. Measured, forward
    and backward, for 16 sequences of 128 positions and six heads: two thirds of the time. It gives
    NaN to all queries where some, but not all of them, attend to an infinite key.

    Parameters
    ----------
    query : Tensor of shape (..., T, K)
    key : Tensor of shape (..., S, K)
    value : Tensor of shape (..., S, d_value)
        Leading dimensions broadcast.
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
        # Not torch.broadcast_shapes: it imports sympy, 20 MB and a second of every kernel.
        batch = (query[..., :1, :1] + key[..., :1, :1]).shape[:-2]
        check_mask(mask, (*batch, query.shape[-2], key.shape[-2]))
        mask = torch.atleast_2d(mask)  # PyTorch's kernels ask for queries and keys
        # The operator adds -∞ to a masked score, and infinite ones would become NaN. A key that no
        # query is allowed to attend to is padding, and may hold anything.
        key = key.masked_fill(~mask.any(-2)[..., None], 0.0)
    return F.scaled_dot_product_attention(query, key, value, mask, dropout)


def rotated(x, start=0, base=10000.0):
    """The same as ``rotate_positions(x, start, base)``.

    A pair of features is one complex number, and to rotate it is to multiply it by a number of
    length 1. These numbers are the same in every layer and at every step, so they're kept. Measured
    for a decoding step of twelve heads: 9 µs, 42 plainly.

    Parameters
    ----------
    x : Tensor of shape (..., T, K)
        K is even.
    start : int, default=0
    base : float, default=10000.0

    Returns
    -------
    rotated : Tensor of shape (..., T, K)
    """
    if x.dtype in (torch.bfloat16, torch.float16):
        return rotated(x.float(), start, base).to(x.dtype)
    if start < 0 or x.dtype not in (torch.float32, torch.float64):
        return rotate_positions(x, start, base)
    end = start + x.shape[-2]
    room = 1 << max(end - 1, 63).bit_length()  # the next power of two: few tables serve all lengths
    turns = _turns(room, x.shape[-1], base, x.dtype, x.device)[start:end]
    if x.stride(-1) == 1 and not any(n % 2 for n in (x.storage_offset(), *x.stride()[:-1])):
        pairs = torch.view_as_complex(x.view(*x.shape[:-1], -1, 2))  # they lie side by side
    else:
        pairs = torch.complex(x[..., 0::2], x[..., 1::2])
    return torch.view_as_real(pairs * turns).flatten(-2)


@lru_cache(maxsize=16)
def _turns(length, width, base, dtype, device):
    """Compute e^(i · position / base^(2j / width)) for all positions, (length, width / 2)."""
    with torch.inference_mode(False):  # kept, so it must serve a later training as well
        frequency = base ** (-torch.arange(0, width, 2, dtype=torch.float64, device=device) / width)
        angle = torch.arange(length, device=device)[:, None] * frequency
        return torch.polar(torch.ones_like(angle), angle).to(dtype.to_complex())


def bf16_pays(device: torch.device) -> bool:
    """Tell whether bf16 pays: on a GPU that has it, and on a CPU that multiplies it by itself.

    Decided by what the processor is and never by a clock, so that a model computes the same
    numbers however busy the machine is. Measured on an AMD processor with AVX-512: half the time
    for products of 512 × 512 matrices.
    """
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported()
    # Versions of PyTorch that don't list what the processor can do compute in 32 bits.
    able = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(able.get("amx_bf16") or able.get("avx512_bf16"))


class InSixteenBits(nn.Module):
    """The same as ``model`` on a CPU, but linear layers multiply in bf16; for inference.

    Everything else, the layer norms and the residual stream among it, stays as it is, and only the
    linear layers' weights are copied: a later change of those doesn't reach the copy. Measured
    with the reader: a question takes 0.5 of the time, many together 0.4; F1 stays within 0.1%.

    Parameters
    ----------
    model : nn.Module
        Takes Tensors, returns a tuple of them.
    """

    def __init__(self, model):
        super().__init__()
        copied = {
            id(p) for m in model.modules() if isinstance(m, nn.Linear) for p in m.parameters()
        }
        shared = {id(p): p for p in model.parameters() if id(p) not in copied}
        self.model = copy.deepcopy(model, shared)
        for module in self.model.modules():
            if isinstance(module, nn.Linear):
                module.bfloat16()

    def forward(self, *inputs):
        """Call the model; arguments as it takes them, results in 32 bits."""
        with torch.autocast("cpu", torch.bfloat16):
            results = self.model(*inputs)
        return tuple(result.float() for result in results)


def top_p_filter(logits, p, plain):
    """The same as ``plain(logits, p)``, which is `decoding.top_p_filter`.

    The few tokens that reach p together are nearly always among the 256 likeliest, so the others
    needn't be sorted. Measured: about a third of the time for a vocabulary of 4,096.

    Parameters
    ----------
    logits : Tensor of shape (..., V)
    p : float
    plain : function (logits, p) -> logits
        Does it where these tokens don't reach p.

    Returns
    -------
    logits : Tensor of shape (..., V)
    """
    if not 0 < p < 1 or logits.shape[-1] <= 256:
        return plain(logits, p)
    probabilities = logits.softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
    likely, order = probabilities.topk(256)
    if likely.sum(-1).min() < p:
        return plain(logits, p)
    kept = likely.cumsum(-1) - likely < p  # the sum over the more likely tokens
    dropped = torch.ones_like(logits, dtype=torch.bool).scatter(-1, order, ~kept)
    return logits.masked_fill(dropped, float("-inf"))


def cross_entropy_sum(logits, targets, label_smoothing=0.0):
    """The same as ``F.cross_entropy(logits, targets, label_smoothing=…, reduction="sum")``.

    The logits are by far the largest tensor in training, and on a CPU getting fresh memory takes
    longer than computing the numbers to fill it. So the gradient takes the place of the logits.
    Measured for 2,048 tokens and 8,000 classes: half the time for loss and gradient together, and
    8% less memory at the peak of a training step.

    Parameters
    ----------
    logits : Tensor of shape (N, V)
        If a gradient is recorded, they are used up: afterwards the tensor holds the gradient. If
        the layer that made them needs them for its own gradient, as a softmax does but a linear
        layer doesn't, PyTorch refuses the backward pass.
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
        rows = _CrossEntropySum.ROWS
        for x, target in zip(logits.split(rows), targets[:, None].split(rows), strict=True):
            log_probs = x.log_softmax(-1, dtype=precise)
            loss -= (1 - epsilon) * log_probs.gather(-1, target).sum()
            if epsilon:
                loss -= epsilon * log_probs.mean(-1).sum()
            if ctx.needs_input_grad[0]:
                # The gradient: softmax(x) - ε/V, less 1 - ε at the target.
                gradient = log_probs.exp_()
                if epsilon:
                    gradient -= epsilon / logits.shape[-1]
                less = torch.full_like(target, epsilon - 1, dtype=precise)
                x.copy_(gradient.scatter_add_(-1, target, less))
        ctx.save_for_backward(logits)
        return loss

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, scale):
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(scale), None, None
