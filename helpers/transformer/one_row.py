"""Shortcuts for decoding, where every step multiplies matrices by a single vector.

As in `helpers.transformer.fast`, each says which plain line it replaces, and what that gains on two
CPU cores.
"""

import functools
import platform
import weakref

import torch
import torch.nn.functional as F
from torch import nn

PRIVATE = ("_is_mkldnn_bf16_supported", "_linear_pointwise", "_reorder_linear_weight")
_packed = weakref.WeakKeyDictionary()  # by first layer: what `packed` has made of the weights


def joined(linears):
    """The same as ``lambda x: torch.cat([linear(x) for linear in linears], -1)``; for decoding.

    One product costs less than three where each step brings one row. The matrices are copied, next
    to each other and transposed, so that a row times them reads memory in one straight line.
    Measured for the story model: a token takes a quarter less time.

    Parameters
    ----------
    linears : list of nn.Linear
        Those without bias are joined by `products`. Other layers with the same input, such as
        LoRA's, are computed one by one.

    Returns
    -------
    project : function (..., K) -> (..., all outputs)
        It keeps the weights that the layers have now, and no gradient.
    """
    if any(type(linear) is not nn.Linear or linear.bias is None for linear in linears):
        return lambda x: torch.cat(products(linears, x), -1)
    weight = torch.cat([linear.weight.detach() for linear in linears]).t().contiguous()  # (K, N)
    bias = torch.cat([linear.bias.detach() for linear in linears])
    return lambda x: F.linear(x, weight.t(), bias)


def one_row(weight, x):
    """The same as ``F.linear(x, weight)`` for a single vector, quicker on some processors.

    To multiply a matrix by one vector, a CPU does little but read the matrix. PyTorch's routine for
    it reads 11 GB a second on an AMD processor. Cut into eight matrices that are multiplied
    together, with the vector stored as a column, it reads 20 GB a second, as much as the memory
    gives.

    Parameters
    ----------
    weight : Tensor of shape (N, K)
    x : Tensor of shape (..., K)
        All dimensions but the last are 1.

    Returns
    -------
    x : Tensor of shape (..., N)
    """
    n_rows, width = weight.shape
    if n_rows % 8:
        return F.linear(x, weight)
    column = x.reshape(1, width).t().expand(8, -1, -1)  # (8, K, 1), one vector in memory
    return torch.bmm(weight.unflatten(0, (8, -1)), column).view(*x.shape[:-1], n_rows)


class OneRowLinear(nn.Linear):
    """The same as ``nn.Linear`` without bias, with `one_row` for a single vector in inference."""

    @classmethod
    def like(cls, linear):
        """Make one with the weights of `linear`, an nn.Linear without bias."""
        made = cls(linear.in_features, linear.out_features, bias=False, device="meta")
        made.weight = linear.weight
        return made

    def forward(self, x):
        """Map (..., in_features) to (..., out_features)."""
        if _alone(x) and x.dtype == torch.float32:
            return one_row(self.weight, x)
        if _alone(x) and x.dtype == torch.bfloat16:
            return products([self], x)[0]
        return super().forward(x)


def _alone(x):
    """Tell whether `x` is a single vector on a CPU, in inference."""
    return x.numel() == x.shape[-1] and x.device.type == "cpu" and not torch.is_grad_enabled()


def products(linears, x):
    """The same as ``[linear(x) for linear in linears]``, in one product for a vector of 16 bits.

    A hook on one of the layers isn't called then.

    Parameters
    ----------
    linears : list of nn.Linear
    x : Tensor of shape (..., K)

    Returns
    -------
    results : list of Tensor of shape (..., N), one per layer
    """
    ours = all(type(linear) is OneRowLinear for linear in linears)
    if not (ours and x.dtype == torch.bfloat16 and _alone(x)):
        return [linear(x) for linear in linears]
    if not can_pack():
        return [F.linear(x, linear.weight) for linear in linears]
    whole = torch.ops.mkldnn._linear_pointwise(x, packed(linears), None, "none", [], "")
    return whole.split([linear.out_features for linear in linears], -1)


@functools.cache
def can_pack():
    """Tell whether PyTorch can keep 16-bit matrices as this processor multiplies them.

    The operators for it are private, so another PyTorch may lack them; F.linear then takes their
    place. The public ``torch.utils.mkldnn.to_mkldnn`` is slower than F.linear is.
    """
    ops = torch.ops.mkldnn
    return (
        platform.machine() in ("x86_64", "AMD64")
        and torch.backends.mkldnn.is_available()
        and all(hasattr(ops, name) for name in PRIVATE)
        and ops._is_mkldnn_bf16_supported()
    )


def packed(linears):
    """Rearrange 16-bit matrices as the processor multiplies them, once for many products.

    ``F.linear`` rearranges them each time. Measured for SmolLM's on one core of a busy AMD
    processor: F.linear gets through 6 to 9 GB of weights a second, this through 9 to 13, and just
    reading them through 18 to 24. What is kept takes as much memory as the weights. It goes when
    the first layer goes, and is made anew when a weight has changed.

    Parameters
    ----------
    linears : list of nn.Linear

    Returns
    -------
    packed : Tensor of shape (all outputs, K)
        Opaque: for ``torch.ops.mkldnn._linear_pointwise`` alone.
    """
    weights = [linear.weight.detach() for linear in linears]
    state = [(w.data_ptr(), 0 if w.is_inference() else w._version) for w in weights]
    if _packed.get(linears[0], [None])[0] != state:
        whole = torch.ops.mkldnn._reorder_linear_weight(torch.cat(weights), 1)
        _packed[linears[0]] = state, whole
    return _packed[linears[0]][1]
