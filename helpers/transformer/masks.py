"""Masks say which positions a query is allowed to attend to.

In the whole course, ``True`` means *allowed*, as in ``F.scaled_dot_product_attention``.
``nn.MultiheadAttention`` uses the opposite, so translate with ``~mask`` when you compare the two.
"""

import torch


def padding_mask(token_ids, pad_id):
    """Allow every query to attend to the real tokens, and to no padding.

    Parameters
    ----------
    token_ids : integer Tensor of shape (B, S)
    pad_id : int
        The id that fills up short sentences.

    Returns
    -------
    mask : bool Tensor of shape (B, 1, 1, S)
        True where there is a token. The two dimensions of size 1 stand for heads and queries, so
        that the mask broadcasts to attention scores of shape (B, H, T, S).

    Raises
    ------
    ValueError
        If `token_ids` is not a batch of integer ids.
    """
    if token_ids.dim() != 2 or token_ids.is_floating_point():
        raise ValueError(
            f"padding_mask expects integer ids of shape (batch, length); got "
            f"{token_ids.dtype} of shape {tuple(token_ids.shape)}. "
            f"For one sentence, add the batch dimension: ids[None]."
        )
    return (token_ids != pad_id)[:, None, None, :]


def causal_mask(length, device=None):
    """Allow every position to attend to itself and to earlier positions.

    Parameters
    ----------
    length : int
        Number of positions T.
    device : torch.device, default=None

    Returns
    -------
    mask : bool Tensor of shape (T, T)
        Row = query, column = key; True on the diagonal and to the left of it.

    Raises
    ------
    ValueError
        If `length` is negative.

    Source
    ------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.3.
    """
    if length < 0:
        raise ValueError(f"causal_mask expects a length of 0 or more; got {length}.")
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def check_mask(mask, shape):
    """Check that a mask is boolean and broadcasts to the attention scores.

    Parameters
    ----------
    mask : Tensor of any shape
    shape : tuple of int
        Of the scores, (..., T, S).

    Raises
    ------
    ValueError
        If the mask is not boolean or does not broadcast.
    """
    if mask.dtype != torch.bool:
        raise ValueError(
            f"a mask must be boolean, True = allowed to attend; got {mask.dtype}. If yours holds "
            f"0 and 1, write mask.bool(); if it holds 0 and -inf, write mask == 0."
        )
    sizes = zip(reversed(mask.shape), reversed(shape), strict=False)
    if mask.dim() > len(shape) or any(own not in (1, wanted) for own, wanted in sizes):
        raise ValueError(
            f"the mask must broadcast to the scores, {tuple(shape)}; got {tuple(mask.shape)}. "
            f"Its last dimension is the keys, the one before it the queries."
        )
