"""Who may look where. In this whole course, ``True`` in a mask means *may look*.

The same convention as ``F.scaled_dot_product_attention``; ``nn.MultiheadAttention`` uses the
opposite, so translate with ``~mask`` when you compare the two.
"""

import torch


def padding_mask(token_ids, pad_id):
    """Let every query look at the real tokens and at no padding.

    Parameters
    ----------
    token_ids : integer Tensor of shape (B, S)
        Token ids, padded to one length.
    pad_id : int
        The id that fills up the short sentences.

    Returns
    -------
    mask : bool Tensor of shape (B, 1, 1, S)
        True where there is a token. The two axes of size 1 stand for heads and queries: every
        head and every query of a sentence may look at the same keys.

    Raises
    ------
    ValueError
        If `token_ids` is not a batch of id sequences.
    """
    if token_ids.dim() != 2 or token_ids.is_floating_point():
        raise ValueError(
            f"padding_mask expects integer ids of shape (batch, length); got "
            f"{token_ids.dtype} of shape {tuple(token_ids.shape)}. "
            f"For one sentence, add the batch axis: ids[None]."
        )
    return (token_ids != pad_id)[:, None, None, :]


def causal_mask(length, device=None):
    """Let every position look at itself and at what came before it.

    Parameters
    ----------
    length : int
        Number of positions T.
    device : torch.device, default=None
        Where the mask is to live.

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


def or_none(mask):
    """Return `mask`, or None if it hides nothing: attention is quicker without one.

    Parameters
    ----------
    mask : bool Tensor

    Returns
    -------
    mask : bool Tensor, or None
    """
    return None if mask.all() else mask
