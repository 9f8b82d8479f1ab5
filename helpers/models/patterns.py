"""Sparse attention: masks that leave most pairs out, and how far information gets through them.

As everywhere in the course, row = query, column = key, and ``True`` means *allowed*.
"""

import math

import torch
import torch.nn.functional as F

from helpers.transformer.attention import scaled_dot_product_attention
from helpers.transformer.masks import causal_mask


def window_mask(length, window, causal=True):
    """Allow every position to attend to the nearest positions only.

    Parameters
    ----------
    length : int
        Number of positions T.
    window : int
        Number of positions that a query sees, itself included: the last `window` ones. Without
        `causal` it sees as many again on its right, which makes 2 · window - 1.
    causal : bool, default=True
        False for an encoder, which also looks to the right.

    Returns
    -------
    mask : bool Tensor of shape (T, T)

    Raises
    ------
    ValueError
        If `window` is below 1.

    Source
    ------
    Beltagy et al. (2020), "Longformer: The Long-Document Transformer", arXiv:2004.05150, section
    3.1; causal in Jiang et al. (2023), "Mistral 7B", arXiv:2310.06825, section 2.
    """
    if window < 1:
        raise ValueError(f"a query sees itself, so window must be 1 or more; got {window}.")
    back = _distance(length)
    return (back.abs() < window) & _past(length, causal)


def strided_mask(length, stride, causal=True):
    """Allow the last `stride` positions, and of those further away every `stride`-th.

    One mask holds both of the paper's patterns, as in its merged head, eq. (7).

    Parameters
    ----------
    length : int
    stride : int
        About √T gives every query about 2√T keys.
    causal : bool, default=True

    Returns
    -------
    mask : bool Tensor of shape (T, T)

    Raises
    ------
    ValueError
        If `stride` is below 1.

    Source
    ------
    Child et al. (2019), "Generating Long Sequences with Sparse Transformers", arXiv:1904.10509,
    section 4.3.
    """
    near = window_mask(length, stride, causal)
    every = (_distance(length) % stride == 0) & _past(length, causal)
    return near | every


def global_mask(length, window, n_global, causal=False):
    """Allow a window, and let the first `n_global` positions attend to all, and all to them.

    With `causal` those positions can be read by all but see nothing that comes later, so they
    cannot pass anything on.

    Parameters
    ----------
    length, window : int
        As in `window_mask`.
    n_global : int
        Number of global positions at the beginning.
    causal : bool, default=False

    Returns
    -------
    mask : bool Tensor of shape (T, T)

    Source
    ------
    Beltagy et al. (2020), "Longformer", arXiv:2004.05150, section 3.1; Zaheer et al. (2020), "Big
    Bird: Transformers for Longer Sequences", arXiv:2007.14062, section 2, which adds random pairs.
    """
    mask = window_mask(length, window, causal)
    mask[:n_global] = True
    mask[:, :n_global] = True
    return mask & _past(length, causal)


def _distance(length):
    """How far back each key is from each query, (T, T); negative to the right of it."""
    place = torch.arange(length)
    return place[:, None] - place


def _past(length, causal):
    return causal_mask(length) if causal else torch.ones(length, length, dtype=torch.bool)


def reach(mask, n_layers):
    """Tell which inputs can have an influence on which outputs after some layers.

    The residual connection passes every position on to itself, so nothing is lost on the way.

    Parameters
    ----------
    mask : bool Tensor of shape (T, T)
        The same in every layer.
    n_layers : int

    Returns
    -------
    reached : bool Tensor of shape (T, T)
        True where the input at the column can influence the output at the row.
    """
    reached = torch.eye(len(mask), dtype=torch.bool)
    step = (mask | reached).double()
    for _ in range(n_layers):
        reached = step @ reached.double() > 0  # (T, T) @ (T, T): one step further
    return reached


def layers_to_meet(mask):
    """Count the layers until any two positions have met, or any two in causal order.

    Parameters
    ----------
    mask : bool Tensor of shape (T, T)
        Counted as causal if it allows no query to look to its right.

    Returns
    -------
    n_layers : int or math.inf
        Infinite if some pair never meets.
    """
    length = len(mask)
    wanted = _past(length, causal=not mask.triu(1).any())
    reached = torch.eye(length, dtype=torch.bool)
    for n_layers in range(length):
        if (reached | ~wanted).all():
            return n_layers
        # One more layer: what is reached by any position that the query may attend to.
        reached = reached | (mask.double() @ reached.double() > 0)
    return math.inf


def window_attention(query, key, value, window):
    """Attend causally to the last `window` positions, without computing any other score.

    The sequence is cut into blocks of `window`. A query's window lies in its own block and the one
    before, so every block of queries meets two blocks of keys: T · 2 · window scores, not T².

    Parameters
    ----------
    query, key, value : Tensor of shape (..., T, K)
        T is a multiple of `window`.
    window : int

    Returns
    -------
    context : Tensor of shape (..., T, K)
        The same as under `window_mask`.

    Raises
    ------
    ValueError
        If the blocks do not fit.

    Source
    ------
    Beltagy et al. (2020), "Longformer", arXiv:2004.05150, appendix A (sliding chunks).
    """
    length = query.shape[-2]
    if length % window:
        raise ValueError(f"{length} positions can't be cut into blocks of {window}: pad them.")
    blocks = [x.unflatten(-2, (-1, window)) for x in (query, key, value)]  # (..., blocks, W, K)
    query, key, value = blocks
    # Before every block the one before it; before the first, zeros.
    key, value = (torch.cat([F.pad(x, (0, 0, 0, 0, 1, -1)), x], -2) for x in (key, value))
    place = torch.arange(window)
    back = place[:, None] + window - torch.arange(2 * window)  # (W, 2W): how far back each key is
    mask = ((back >= 0) & (back < window)).repeat(length // window, 1, 1)
    mask[0, :, :window] = False  # nothing comes before the first block
    return scaled_dot_product_attention(query, key, value, mask)[0].flatten(-3, -2)
