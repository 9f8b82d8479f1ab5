"""The training loss: cross-entropy over the tokens that are not padding, and label smoothing.

`helpers.training.training` calls `fast.cross_entropy_sum`, which computes both in one.
"""

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


def cross_entropy(logits, targets, pad_id, epsilon=0.0):
    """Average −log p(target) over the positions that are not padding.

    Parameters
    ----------
    logits : Tensor of shape (B, T, V)
    targets : integer Tensor of shape (B, T)
    pad_id : int
    epsilon : float, default=0.0
        Label smoothing: the share of each target that `smooth_targets` spreads over all classes.

    Returns
    -------
    loss : scalar Tensor, in nats per token
        Zero if everything is padding.
    """
    real = targets != pad_id
    log_probs = logits[real].log_softmax(-1)  # (B, T, V) -> (N, V): N tokens are not padding
    loss = -log_probs.gather(-1, targets[real][:, None]).sum()
    if epsilon:  # 1 - ε for the target, and ε / V for each of the V classes
        loss = (1 - epsilon) * loss - epsilon * log_probs.mean(-1).sum()
    return loss / real.sum().clamp(min=1)
