"""Reinforcement learning with a reward that a rule computes: group-relative policy optimisation.

Any model that maps ids (N, T) to logits (N, T, V) and has `decoder_step` can be trained. N answers,
P prompts, G answers to each, T tokens, V vocabulary.
"""

import torch


def group_advantages(rewards, eps=1e-6):
    """Compare each answer with the other answers to its own prompt.

    Parameters
    ----------
    rewards : Tensor of shape (P, G)
    eps : float, default=1e-6
        Added to the spread, so that a group whose rewards are all equal gets zeros.

    Returns
    -------
    advantages : Tensor of shape (P, G)
        Each reward minus its group's mean, in standard deviations of the group.

    Source
    ------
    Shao et al. (2024), "DeepSeekMath", arXiv:2402.03300, section 4.1.2.
    """
    mean = rewards.mean(1, keepdim=True)
    spread = rewards.std(1, keepdim=True, unbiased=False)
    return (rewards - mean) / (spread + eps)


def clipped_gain(log_probs, old_log_probs, advantages, clip=0.2):
    """Weigh every token's advantage by how much likelier the token has become, within limits.

    Parameters
    ----------
    log_probs, old_log_probs : Tensors of shape (N, T)
        Of the tokens that were written: under the model now, and when it wrote them.
    advantages : Tensor of shape (N,)
        One per answer; all of its tokens share it.
    clip : float, default=0.2
        Beyond a ratio of 1 ± clip, moving further in the advantage's direction gains nothing.

    Returns
    -------
    gain : Tensor of shape (N, T)
        To be made large.

    Source
    ------
    Schulman et al. (2017), "Proximal Policy Optimization Algorithms", arXiv:1707.06347, eq. (7);
    Shao et al. (2024), eq. (3).
    """
    ratio = (log_probs - old_log_probs).exp()
    advantages = advantages[:, None]
    return torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)


def kl_from_start(log_probs, start_log_probs):
    """Estimate per token (N, T), in nats, how far the model has moved from its start.

    `log_probs` and `start_log_probs` are those of tokens that the model itself wrote. The mean
    estimates KL(model || start), and no term is negative. Shao et al. (2024), eq. (4).
    """
    difference = start_log_probs - log_probs
    return difference.exp() - difference - 1


def log_probs_of(model, prompts, written):
    """Log-probabilities, by `model`, of every token `written` (N, T) after `prompts` (N, L)."""
    logits = model(torch.cat([prompts, written[:, :-1]], 1))[:, prompts.shape[1] - 1 :]
    return logits.log_softmax(-1).gather(-1, written[..., None]).squeeze(-1)


def write(model, prompts, end, longest, generator=None, temperature=1.0):
    """Sample one answer per prompt, or take the likeliest tokens if there is no generator.

    Parameters
    ----------
    model : GPT
    prompts : integer Tensor of shape (N, L)
    end : int
        The token that ends an answer; also what follows it.
    longest : int
    generator : torch.Generator, default=None
    temperature : float, default=1.0

    Returns
    -------
    written, counted : integer and bool Tensors of shape (N, T)
        The second is True up to the first end token, that one included.
    """
    step, written = model.decoder_step(prompts), torch.full((len(prompts), 1), end)
    for _ in range(longest):
        logits = step(written)
        new = logits.argmax(-1, keepdim=True)
        if generator is not None:
            new = torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)
        written = torch.cat([written, new], 1)
        if (written[:, 1:] == end).any(1).all():
            break
    written = written[:, 1:]
    before = (written == end).cumsum(1) - (written == end).long()
    return written.where(before == 0, end), before == 0


def policy_step(
    model, start, optimiser, prompts, written, counted, advantages, beta=0.02, clip=0.2, passes=2
):
    """Take one step of GRPO on answers that the model has just written.

    Parameters
    ----------
    model, start : GPT
        In training, and frozen as it was before.
    optimiser : torch.optim.Optimizer
    prompts, written, counted : Tensors
        As `write` takes and returns them, the G answers to a prompt next to each other.
    advantages : Tensor of shape (P, G)
        See `group_advantages`.
    beta : float, default=0.02
        Price of a nat of drift.
    clip : float, default=0.2
        See `clipped_gain`.
    passes : int, default=2
        Updates on the same answers.

    Returns
    -------
    kl : float
        Mean drift from the start per token, in nats, before the last update.

    Notes
    -----
    The mean is over all tokens. Shao et al. (2024), eq. (3), take each answer's mean first, which
    gives a token of a long wrong answer less blame than one of a short wrong answer (Yu et al.
    2025, "DAPO", arXiv:2503.14476, section 3.3).
    """
    with torch.no_grad():
        old, first = (log_probs_of(m, prompts, written) for m in (model, start))
    for _ in range(passes):
        now = log_probs_of(model, prompts, written)
        kl = kl_from_start(now, first)
        gain = clipped_gain(now, old, advantages.flatten(), clip) - beta * kl
        _update(model, optimiser, -gain[counted].mean())
    return kl[counted].mean().item()


def rejection_step(model, optimiser, prompts, written, counted, rewards, passes=2):
    """Imitate the answers with a reward above 0 and drop the others.

    `model`, `optimiser`, `prompts`, `written`, `counted`, `rewards`, `passes`: as in `policy_step`.
    """
    kept = rewards.flatten() > 0
    if kept.any():
        for _ in range(passes):
            log_probs = log_probs_of(model, prompts[kept], written[kept])
            _update(model, optimiser, -log_probs[counted[kept]].mean())


def _update(model, optimiser, loss):
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
