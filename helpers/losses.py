"""What is to become small: cross-entropy over real tokens, and smoothed targets."""

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
    log_probs = logits.log_softmax(-1)
    real = targets != pad_id
    picked = log_probs.gather(-1, targets.where(real, 0)[..., None]).squeeze(-1)
    # Not picked * real: where padding was made impossible, that would be -inf * 0.
    return -picked.where(real, 0.0).sum() / real.sum().clamp(min=1)


def used_up_cross_entropy(logits, targets, label_smoothing=0.0, rows=256):
    """Sum −log p(target) over all rows, writing the gradient over the logits.

    The same number and gradient as PyTorch's ``cross_entropy(..., reduction="sum")``. In training
    the logits are the largest tensor by far, and on a CPU every further tensor of that size is
    fresh memory, which takes longer to get than the arithmetic takes. So there is none: the
    gradient takes the logits' place, some rows at a time.

    Parameters
    ----------
    logits : Tensor of shape (N, V)
        Worthless afterwards, if a gradient is asked for; copied first if what made them needs
        them again, as a softmax does.
    targets : integer Tensor of shape (N,)
    label_smoothing : float, default=0.0
    rows : int, default=256
        How many at a time.

    Returns
    -------
    loss : scalar Tensor, float32 or better, nats summed over the rows
    """
    if _is_kept_by_its_maker(logits):
        logits = logits.clone()
    return _UsedUpCrossEntropy.apply(logits, targets, label_smoothing, rows)


def _is_kept_by_its_maker(tensor):
    made_by = tensor.grad_fn
    kept = (getattr(made_by, name) for name in dir(made_by) if name.startswith("_saved_"))
    return any(
        isinstance(one, torch.Tensor) and one.data_ptr() == tensor.data_ptr() for one in kept
    )


class _UsedUpCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, targets, label_smoothing, rows):
        total = 0.0
        for some, wanted in zip(logits.split(rows), targets.split(rows), strict=True):
            with torch.set_grad_enabled(ctx.needs_input_grad[0]):
                part = some.detach().to(torch.promote_types(some.dtype, torch.float32))
                part.requires_grad_(ctx.needs_input_grad[0])
                loss = F.cross_entropy(
                    part, wanted, label_smoothing=label_smoothing, reduction="sum"
                )
            if loss.requires_grad:
                some.copy_(torch.autograd.grad(loss, part)[0])
            total = total + loss.detach()
        ctx.save_for_backward(logits)
        return total

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        (logits_gradient,) = ctx.saved_tensors
        return logits_gradient.mul_(gradient), None, None, None
