"""From a language model to an assistant: template, masked loss, preferences, search, tools.

All of it is a few lines around a model that maps ids (B, T) to logits (B, T, V). B batch, T length,
V vocabulary.
"""

import re
from collections import Counter
from typing import NamedTuple

import torch
import torch.nn.functional as F

IGNORE = -100  # the target of a position whose prediction isn't scored; PyTorch's own default
CALL = re.compile(r"CALL (\w+)\(([^()]*)\)")


class Marks(NamedTuple):
    """The ids of the four pieces that structure a conversation; no text contains them.

    Parameters
    ----------
    end, user, assistant, pad : int
        End of a message, start of a user's message, start of an assistant's, and filling.
    """

    end: int = 0
    user: int = 1
    assistant: int = 2
    pad: int = 3


MARKS = Marks()  # the story model's


def chat_prompt(messages, encode, marks=MARKS) -> list[int]:
    """Turn a conversation into the ids that an assistant continues with its answer.

    Every message is its role's piece, its text and the end piece. The last piece of the prompt is
    the assistant's, so what comes next is an answer.

    Parameters
    ----------
    messages : str or list of dict
        A user's message, or a conversation: dicts with ``role``, "user" or "assistant", and
        ``content``.
    encode : function (str) -> sequence of int
        The tokenizer. It must treat the name of a mark inside a text as plain letters.
    marks : Marks, default=MARKS
        The story model's.

    Raises
    ------
    ValueError
        If a role is unknown, a message is empty, or the last message isn't the user's.
    """
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not messages or messages[-1]["role"] != "user":
        raise ValueError("a prompt ends with a user's message, because an answer comes next.")
    ids = []
    for message in messages:
        role, content = message["role"], message["content"]
        if role not in ("user", "assistant"):
            raise ValueError(f'a role is "user" or "assistant"; got {role!r}.')
        if not content:
            raise ValueError(f"the {role}'s message is empty; write at least one letter.")
        ids += [getattr(marks, role), *map(int, encode(content)), marks.end]
    return [*ids, marks.assistant]


def supervised_pair(prompt_ids, answer_ids, *, marks=MARKS):
    """Make one training example: the model reads prompt and answer and learns the answer.

    The end piece is appended to the answer, because an assistant has to learn when to stop.

    Parameters
    ----------
    prompt_ids, answer_ids : sequence of int
        P ids of `chat_prompt`, and A ids of the answer without its end piece.
    marks : Marks, default=MARKS
        The story model's.

    Returns
    -------
    ids, targets : integer Tensors of shape (P + A,)
        ``targets[t]`` is the token after ``ids[t]``, or IGNORE where nothing is scored. The last
        token of the prompt predicts the first one of the answer, so P - 1 targets are ignored.

    Raises
    ------
    ValueError
        If there is no prompt.

    Source
    ------
    Ouyang et al. (2022), "Training language models to follow instructions with human feedback",
    arXiv:2203.02155, section 3.1, step 1.
    """
    if len(prompt_ids) == 0:
        raise ValueError("the first token of an answer is predicted from a prompt; got none.")
    whole = torch.tensor([*prompt_ids, *answer_ids, marks.end])
    ids, targets = whole[:-1], whole[1:].clone()
    targets[: len(prompt_ids) - 1] = IGNORE
    return ids, targets


def pad_pairs(pairs, marks=MARKS):
    """Put examples of different lengths into one batch, filled up on the right.

    A causal mask keeps every real token from attending to the filling after it, so no other mask
    is needed.

    Parameters
    ----------
    pairs : list of (ids, targets)
        Results of `supervised_pair`.
    marks : Marks, default=MARKS
        The story model's.

    Returns
    -------
    ids, targets : integer Tensors of shape (B, T)
        T is the longest example's length. Filling is never scored.
    """
    ids, targets = zip(*pairs, strict=True)
    padded = torch.nn.utils.rnn.pad_sequence
    return padded(ids, True, marks.pad), padded(targets, True, IGNORE)


def answer_loss(logits, targets):
    """Compute the mean surprise over the tokens that are scored.

    Parameters
    ----------
    logits : Tensor of shape (B, T, V)
    targets : integer Tensor of shape (B, T)
        IGNORE where nothing is scored.

    Returns
    -------
    loss : scalar Tensor, nats per scored token
    """
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORE)


def answer_log_probs(model, ids, targets):
    """Compute how likely a model finds each answer as a whole, given its prompt.

    Parameters
    ----------
    model : nn.Module
        Maps ids (B, T) to logits (B, T, V).
    ids, targets : integer Tensors of shape (B, T)
        As `pad_pairs` makes them, with the prompts masked.

    Returns
    -------
    log_probs : Tensor of shape (B,), in nats
        Log-probabilities of the scored tokens, summed, the end piece included.
    """
    scored = targets != IGNORE
    log_probs = model(ids).log_softmax(-1)  # (B, T, V)
    chosen = log_probs.gather(-1, targets.where(scored, 0)[..., None]).squeeze(-1)  # (B, T)
    return (chosen * scored).sum(-1)


def dpo_loss(policy_better, policy_worse, reference_better, reference_worse, *, beta):
    """Compute DPO's loss: raise the better answer's likelihood above the worse one's.

    What counts is how much likelier each answer has become than it is to the reference, a frozen
    copy of the model from before the training.

    Parameters
    ----------
    policy_better, policy_worse : Tensors of shape (B,)
        `answer_log_probs` of the model in training, for the two answers to each prompt.
    reference_better, reference_worse : Tensors of shape (B,)
        The same of the reference, without gradients.
    beta : float
        Price of moving away from the reference: the larger, the closer the model stays.

    Returns
    -------
    loss : scalar Tensor
        Log 2, about 0.69, while model and reference are equal.

    Raises
    ------
    ValueError
        If the four shapes differ or `beta` is not positive.

    Source
    ------
    Rafailov et al. (2023), "Direct Preference Optimization", arXiv:2305.18290, eq. (7).
    """
    four = (policy_better, policy_worse, reference_better, reference_worse)
    if len({log_probs.shape for log_probs in four}) > 1:
        shapes = ", ".join(str(tuple(log_probs.shape)) for log_probs in four)
        raise ValueError(f"the four log-probabilities belong to the same pairs; got {shapes}.")
    if beta <= 0:
        raise ValueError(f"beta is a price above 0; got {beta}.")
    reward_better = beta * (policy_better - reference_better)
    reward_worse = beta * (policy_worse - reference_worse)
    return -F.logsigmoid(reward_better - reward_worse).mean()


def drift(policy, reference, ids, targets):
    """Measure how far a model has moved from its reference, on answers that it wrote itself.

    At every position of an answer the two next-token distributions are compared over the whole
    vocabulary by KL(policy || reference).

    Parameters
    ----------
    policy, reference : nn.Module
        Map ids (B, T) to logits (B, T, V).
    ids, targets : integer Tensors of shape (B, T)
        Prompts with answers sampled from the policy, as `pad_pairs` makes them.

    Returns
    -------
    nats : scalar Tensor, nats per answer token
        Zero where the models agree.

    Source
    ------
    Ouyang et al. (2022), section 3.5, eq. (2), whose penalty has this mean.
    """
    scored = targets != IGNORE
    ours, theirs = (model(ids).log_softmax(-1) for model in (policy, reference))
    divergence = (ours.exp() * (ours - theirs)).sum(-1)  # (B, T, V) -> (B, T)
    return divergence[scored].mean()


def majority(answers):
    """Choose the answer that occurs most often; the first to occur of several equals.

    Parameters
    ----------
    answers : sequence of hashable
        Final answers, without the working. None marks a sample without one and has no vote.

    Returns
    -------
    answer
        None if no sample has one.

    Source
    ------
    Wang et al. (2023), "Self-Consistency Improves Chain of Thought Reasoning in Language Models",
    arXiv:2203.11171, section 2.
    """
    votes = Counter(answer for answer in answers if answer is not None)
    return max(votes, key=votes.get) if votes else None


def answer_with_tools(reply, tools, question, *, most_calls=3):
    """Let a model call functions while it answers.

    The model only ever writes text. Where its text reads ``CALL name(3, 4)``, this loop runs the
    function and gives back the result as the next message.

    Parameters
    ----------
    reply : function (messages) -> str
        The assistant; messages as `chat_prompt` takes them.
    tools : dict of str to function
        What it is allowed to call. Whole numbers arrive as int, all else as str.
    question : str
    most_calls : int, default=3
        After so many calls the loop stops, whatever the model writes.

    Returns
    -------
    messages : list of dict
        The conversation; the last message's content is the answer.

    Source
    ------
    Schick et al. (2023), "Toolformer", arXiv:2302.04761, section 2.
    """
    messages = [{"role": "user", "content": question}]
    for calls in range(most_calls + 1):
        text = reply(messages)
        messages.append({"role": "assistant", "content": text})
        wanted = CALL.search(text)
        if wanted is None or calls == most_calls:
            break
        messages.append({"role": "user", "content": _result(tools, *wanted.groups())})
    return messages


def _result(tools, name, arguments):
    """Run one call; what goes wrong becomes text, so that the model can react to it."""
    if name not in tools:
        return f"ERROR no tool {name}"
    words = [word.strip() for word in arguments.split(",") if word.strip()]
    values = [int(word) if re.fullmatch(r"-?\d+", word) else word for word in words]
    try:
        return f"RESULT {tools[name](*values)}"
    except (TypeError, ValueError, ArithmeticError) as error:
        return f"ERROR {error}"
