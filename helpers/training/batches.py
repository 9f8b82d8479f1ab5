"""Sentences side by side: padding, and batches of about one number of tokens."""

import random

import torch


def pad_batch(pairs, pad_id=0, multiple=1):
    """Lay pairs of id lists side by side, filled up with padding.

    Parameters
    ----------
    pairs : list of (list of int, list of int)
        Source and target; the target with begin and end of sentence.
    pad_id : int, default=0
    multiple : int, default=1
        The source length and the target length minus one become multiples of this.

    Returns
    -------
    src_ids : Tensor of shape (B, S)
    tgt_ids : Tensor of shape (B, T + 1)

    Raises
    ------
    ValueError
        If there is no pair, or a sentence has no token.
    """
    if not pairs:
        raise ValueError("got an empty batch; a batch needs at least one pair of sentences.")
    for source, target in pairs:
        if not source or len(target) < 2:
            raise ValueError(
                f"every source needs a token and every target two (begin and end of sentence); "
                f"got {len(source)} and {len(target)}. Leave empty sentences out."
            )
    src_len = _round_up(max(len(source) for source, _ in pairs), multiple)
    tgt_len = _round_up(max(len(target) for _, target in pairs) - 1, multiple) + 1
    src_ids = [source + [pad_id] * (src_len - len(source)) for source, _ in pairs]
    tgt_ids = [target + [pad_id] * (tgt_len - len(target)) for _, target in pairs]
    return torch.tensor(src_ids), torch.tensor(tgt_ids)


def _round_up(length, multiple):
    return -(-length // multiple) * multiple


def token_batches(pairs, batch_tokens, multiple=1, seed=None):
    """Group pairs of about one length into batches of about one number of tokens.

    Parameters
    ----------
    pairs : list of (list of int, list of int)
    batch_tokens : int
        Most tokens on the longer side of a batch, padding included.
    multiple : int, default=1
        Lengths count as rounded up to a multiple of this.
    seed : int, default=None
        Shuffles pairs within a length, and the batches. None keeps the order by length.

    Returns
    -------
    batches : list of lists of pairs
    """
    shuffle = random.Random(seed)
    order = list(range(len(pairs)))
    if seed is not None:
        shuffle.shuffle(order)
    sizes = [
        (_round_up(max(len(source), len(target) - 1), multiple), _round_up(len(source), multiple))
        for source, target in pairs
    ]
    batches, batch = [], []
    for i in sorted(order, key=sizes.__getitem__):
        # Sorted by length: the newest sentence is the longest of its batch.
        if batch and sizes[i][0] * (len(batch) + 1) > batch_tokens:
            batches.append(batch)
            batch = []
        batch.append(pairs[i])
    if batch:
        batches.append(batch)
    if seed is not None:
        shuffle.shuffle(batches)
    return batches
