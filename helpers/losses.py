"""The training loss: cross-entropy over the tokens that are not padding, and label smoothing."""

import torch
import torch.nn.functional as F


def smooth_targets(targets, vocab_size, epsilon):
    """Give the right class 1 - ε and spread ε evenly over all classes, the right one included.

    Parameters
    ----------
    targets : integer Tensor of shape (...)
    vocab_size : int
    epsilon : float
        From 0 to 1.

    Returns
    -------
    distribution : Tensor of shape (..., V)
        Every row sums to 1.

    Source
    ------
    Szegedy et al. (2016), "Rethinking the Inception Architecture", section 7; Vaswani et al.
    (2017), section 5.4.
    """
    one_hot = F.one_hot(targets, vocab_size).to(torch.get_default_dtype())
    return one_hot * (1 - epsilon) + epsilon / vocab_size


def cross_entropy(logits, targets, pad_id):
    """Average −log p(target) over the positions that are not padding.

    Parameters
    ----------
    logits : Tensor of shape (B, T, V)
    targets : integer Tensor of shape (B, T)
    pad_id : int

    Returns
    -------
    loss : scalar Tensor, in nats per token
        Zero if everything is padding.
    """
    real = targets != pad_id
    log_probs = logits[real].log_softmax(-1)  # (B, T, V) -> (N, V): N tokens are not padding
    picked = log_probs.gather(-1, targets[real][:, None])  # (N, 1)
    return -picked.sum() / real.sum().clamp(min=1)
