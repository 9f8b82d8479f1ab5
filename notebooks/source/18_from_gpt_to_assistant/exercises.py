"""Lesson 18, from GPT to assistant."""

from collections import Counter

import torch
import torch.nn.functional as F

from helpers.exercises.model import Exercise, Mistake
from helpers.training import reward

IGNORED = -100  # `F.cross_entropy` leaves out targets with this id


def chat_prompt(turns, user_id, assistant_id, end_id):
    """Turn a conversation into one list of ids that ends where the assistant's reply begins."""
    roles = {"user": user_id, "assistant": assistant_id}
    closed = [[roles[speaker], *ids, end_id] for speaker, ids in turns]
    return sum(closed, []) + [assistant_id]


def masked_targets(prompt_ids, answer_ids, end_id):
    """Make one training example: inputs and targets (P + A,); the prompt is no target."""
    inputs = torch.cat([prompt_ids, answer_ids])
    ignored = torch.full_like(prompt_ids[1:], IGNORED)
    return inputs, torch.cat([ignored, answer_ids, torch.tensor([end_id])])


def dpo_loss(policy_better, policy_worse, reference_better, reference_worse, beta):
    """Compare how much likelier the policy made the better and the worse answers, each (B,)."""
    margin = (policy_better - policy_worse) - (reference_better - reference_worse)
    return F.softplus(-beta * margin).mean()


def drift(policy_logits, reference_logits, counted):
    """Measure KL(policy || reference) in nats per token: twice (B, T, V), and (B, T) bool."""
    log_ratio = policy_logits.log_softmax(-1) - reference_logits.log_softmax(-1)
    per_token = (policy_logits.softmax(-1) * log_ratio).sum(-1)  # (B, T)
    return per_token[counted].mean()


def majority(answers):
    """Find the answer that was given most often; −1 abstains; the earlier one wins a tie."""
    votes = Counter(answer for answer in answers if answer != -1)
    return votes.most_common(1)[0][0] if votes else -1


def group_advantages(rewards):
    """Compare each answer with the others to its prompt, (P, G) -> (P, G)."""
    return reward.group_advantages(rewards)


def clipped_gain(log_probs, old_log_probs, advantages, clip):
    """Weigh advantages (N,) by ratios of probability, within limits; twice (N, T) -> (N, T)."""
    return reward.clipped_gain(log_probs, old_log_probs, advantages, clip)


def policy_loss(gain, kl, counted, beta):
    """Turn gains and drift (N, T) of the counted tokens into one number to be made small."""
    return -(gain - beta * kl)[counted].mean()


# The solutions as a learner would write them; known mistakes are edits of these texts.


def _chat_prompt(turns, user_id, assistant_id, end_id):
    prompt = []
    for speaker, ids in turns:
        role_id = user_id if speaker == "user" else assistant_id
        prompt += [role_id] + ids + [end_id]
    return prompt + [assistant_id]


def _masked_targets(prompt_ids, answer_ids, end_id):
    ids = torch.cat([prompt_ids, answer_ids, torch.tensor([end_id])])
    inputs, targets = ids[:-1], ids[1:].clone()
    targets[: len(prompt_ids) - 1] = -100
    return inputs, targets


def _dpo_loss(policy_better, policy_worse, reference_better, reference_worse, beta):
    gain_better = policy_better - reference_better
    gain_worse = policy_worse - reference_worse
    margin = gain_better - gain_worse
    return -F.logsigmoid(beta * margin).mean()


def _drift(policy_logits, reference_logits, counted):
    policy = policy_logits.log_softmax(-1)
    reference = reference_logits.log_softmax(-1)
    per_token = (policy.exp() * (policy - reference)).sum(-1)
    return per_token[counted].mean()


def _majority(answers):
    votes = {}
    for answer in answers:
        if answer != -1:
            votes[answer] = votes.get(answer, 0) + 1
    return max(votes, key=votes.get, default=-1)


def _group_advantages(rewards):
    mean = rewards.mean(dim=1, keepdim=True)
    spread = rewards.std(dim=1, keepdim=True, unbiased=False)
    return (rewards - mean) / (spread + 1e-6)


def _clipped_gain(log_probs, old_log_probs, advantages, clip):
    ratio = (log_probs - old_log_probs).exp()
    limited = ratio.clamp(1 - clip, 1 + clip)
    shared = advantages[:, None]
    return torch.minimum(ratio * shared, limited * shared)


def _policy_loss(gain, kl, counted, beta):
    worth = gain - beta * kl
    return -worth[counted].mean()


def _draw_rewards(generator):
    cases = [torch.rand(p, g, generator=generator) for p, g in ((1, 3), (2, 4), (3, 5))]
    cases.append(torch.tensor([[1.0, 0, 0, 1], [1, 1, 1, 1], [0, 0, 0, 1]]))  # one group agrees
    return [(rewards,) for rewards in cases]


def _draw_ratios(generator):
    return [
        (
            -2 * torch.rand(n, t, generator=generator),
            -2 * torch.rand(n, t, generator=generator),
            torch.tensor([1.0, -1.0, 0.5, -2.0])[:n],
            clip,
        )
        for n, t, clip in ((2, 3, 0.2), (3, 4, 0.3), (4, 4, 0.1))
    ]


def _draw_gains(generator):
    cases = []
    for n, t, beta in ((1, 3, 0.5), (2, 4, 0.2), (3, 5, 0.8)):
        counted = torch.arange(t) < torch.randint(1, t, (n, 1), generator=generator)
        gain, kl = torch.randn(n, t, generator=generator), torch.rand(n, t, generator=generator)
        cases.append((gain, kl, counted, beta))
    return cases


def _advantages_by_rows(rewards):
    rows = []
    for row in rewards:
        spread = ((row - row.mean()) ** 2).mean().sqrt()
        rows.append((row - row.mean()) / (spread + 1e-6))
    return torch.stack(rows)


def _gain_by_cases(log_probs, old_log_probs, advantages, clip):
    ratio, a = log_probs.exp() / old_log_probs.exp(), advantages.unsqueeze(-1)
    return torch.where(a > 0, ratio.clamp(max=1 + clip), ratio.clamp(min=1 - clip)) * a


def _loss_by_sums(gain, kl, counted, beta):
    return ((beta * kl - gain) * counted).sum() / counted.sum()


def _draw_turns(generator):
    conversations = [
        ([("user", [11, 12])], 3, 5, 9),
        ([("user", [14, 10, 13]), ("assistant", [17]), ("user", [12, 19])], 7, 2, 4),
        ([("user", [15]), ("assistant", [18, 11]), ("user", [13, 16, 10])], 1, 6, 8),
        (
            [
                ("assistant", [21, 13]),
                ("user", [12, 15]),
                ("assistant", [16, 20, 14]),
                ("user", [11]),
            ],
            5, 8, 2,
        ),
        # Two turns of one speaker, and one without a word, are turns like any other.
        ([("user", [16, 11]), ("user", [18]), ("assistant", []), ("user", [12])], 4, 6, 3),
    ]  # fmt: skip
    return conversations


def _draw_pair(generator):
    sizes = [(3, 2, 1), (2, 4, 5), (5, 3, 9), (4, 6, 3)]
    return [
        (
            torch.randint(10, 40, (p,), generator=generator),
            torch.randint(10, 40, (a,), generator=generator),
            end_id,
        )
        for p, a, end_id in sizes
    ]


def _draw_log_probs(generator):
    return [
        (*(-3 * torch.rand(b, generator=generator) - 0.3 for _ in range(4)), beta)
        for b, beta in [(2, 0.5), (3, 0.8), (4, 1.5), (6, 0.3)]
    ]


def _draw_logits(generator):
    cases = []
    for b, t, v in [(1, 3, 4), (2, 4, 5), (3, 5, 3), (2, 6, 7)]:
        counted = torch.rand(b, t, generator=generator) < 0.6
        counted[:, 1], counted[:, -1] = True, False
        policy, reference = (1.5 * torch.randn(b, t, v, generator=generator) for _ in range(2))
        cases.append((policy, reference, counted))
    return cases


def _draw_answers(generator):
    return [
        ([12, 31, 8, 12],),
        ([40, -1, 7, -1, 19, 7, -1],),
        ([23, 9, 5, 9, 23, 14],),
        ([-1, 52, 3, -1],),
        ([6, 11, 6, 30, 11, 30, 30, 2, 4],),
        ([-1, -1, -1],),
        ([17, 8, 8, -1, 17, 90, 17, 8, 8, 3],),
        ([20, 5, 11, 11, 5, 20],),
        ([8, 30, 15, 15, 30, 8],),
        ([-1, 0, 7, 0, 7, 0],),
        ([-5, 3, -5, -1, -1, -1],),
    ]


def _turns_one_by_one(turns, user_id, assistant_id, end_id):
    if not turns:
        return [assistant_id]
    (speaker, ids), *others = turns
    role_id = {"user": user_id, "assistant": assistant_id}[speaker]
    return [role_id, *ids, end_id, *_turns_one_by_one(others, user_id, assistant_id, end_id)]


def _targets_where(prompt_ids, answer_ids, end_id):
    ids = torch.cat([prompt_ids, answer_ids, torch.full((1,), end_id)])
    in_prompt = torch.arange(1, len(ids)) < len(prompt_ids)
    return ids[:-1], torch.where(in_prompt, IGNORED, ids[1:])


def _targets_by_list(prompt_ids, answer_ids, end_id):
    prompt, answer = prompt_ids.tolist(), answer_ids.tolist()
    targets = [IGNORED] * (len(prompt) - 1) + answer + [end_id]
    return torch.tensor(prompt + answer), torch.tensor(targets)


def _dpo_by_odds(policy_better, policy_worse, reference_better, reference_worse, beta):
    odds = (policy_better - policy_worse - reference_better + reference_worse).exp() ** beta
    return -(odds / (1 + odds)).log().mean()


def _drift_by_torch(policy_logits, reference_logits, counted):
    policy, reference = policy_logits[counted], reference_logits[counted]  # (N, V)
    return F.kl_div(
        reference.log_softmax(-1), policy.log_softmax(-1), reduction="batchmean", log_target=True
    )


def _drift_by_product(policy_logits, reference_logits, counted):
    policy, reference = policy_logits.softmax(-1), reference_logits.softmax(-1)
    per_token = torch.einsum("btv,btv->bt", policy, (policy / reference).log())
    return (per_token * counted).sum() / counted.sum()


def _majority_by_count(answers):
    given = [answer for answer in answers if answer != -1]
    return max(given, key=given.count) if given else -1


def _majority_by_sorting(answers):
    given = sorted(set(answers) - {-1}, key=lambda a: (-answers.count(a), answers.index(a)))
    return given[0] if given else -1


# fmt: off
EXERCISES = [
    Exercise(
        name="chat_prompt",
        title="a conversation as one list of tokens",
        task='turns is a list of (speaker, ids), where the speaker is "user" or "assistant". Each turn becomes its role\'s token, its ids and the end token. Finish with the token that opens the assistant\'s reply.',
        minutes=3, difficulty=2, importance=5,
        reference=chat_prompt,
        plain=_chat_prompt,
        draw=_draw_turns,
        mistakes=[
            Mistake("no end tokens", "ids + [end_id]", "ids",
                    "The turns aren't closed. Without the end token the model can't tell where a turn stops, and never learns to write that token itself."),
            Mistake("one end for the whole conversation", "ids + [end_id]", "ids",
                    "The end token comes only once, after the whole conversation. Every turn needs one.",
                    also=(("prompt + [assistant_id]", "prompt + [end_id, assistant_id]"),)),
            Mistake("reply not opened", "prompt + [assistant_id]", "prompt",
                    "The prompt stops after the last turn. Nothing says who speaks next, so the model might go on as the user. Append the assistant's token."),
            Mistake("reply opened and closed", "prompt + [assistant_id]", "prompt + [assistant_id, end_id]",
                    "The reply is closed before it has begun. The end token is the model's to write."),
            Mistake("reply opened for the user", "prompt + [assistant_id]", "prompt + [user_id]",
                    "The last token opens a turn of the user, so the model would write the next question. Open the assistant's turn."),
            Mistake("roles swapped", 'speaker == "user"', 'speaker != "user"',
                    "The roles are swapped: the user's turns carry the assistant's token and the other way round."),
            Mistake("everything is the user's", 'user_id if speaker == "user" else assistant_id', "user_id",
                    "All turns carry the user's token, so the model can't see which of them it wrote itself."),
            Mistake("everything is the assistant's", 'user_id if speaker == "user" else assistant_id', "assistant_id",
                    "All turns carry the assistant's token, so the question looks like something the model has said."),
            Mistake("turns without their role", "[role_id] + ids", "ids",
                    "No turn says who speaks. Put the role's token in front of its ids."),
            Mistake("role after the text", "[role_id] + ids + [end_id]", "ids + [role_id] + [end_id]",
                    "The role's token comes after the text it belongs to. It has to come first, so that the model knows who speaks while it reads."),
            Mistake("end before the text", "[role_id] + ids + [end_id]", "[role_id] + [end_id] + ids",
                    "The end token comes before the text of the turn. It closes the turn, so it comes after."),
            Mistake("only the last turn", "for speaker, ids in turns:", "for speaker, ids in turns[-1:]:",
                    "Only the last turn is in the prompt. The model has no other memory: whatever isn't in the prompt is forgotten."),
            Mistake("newest turn first", "for speaker, ids in turns:", "for speaker, ids in turns[::-1]:",
                    "The turns are in reverse order. The oldest comes first."),
            Mistake("the assistant's turns stay open", "ids + [end_id]", 'ids + ([end_id] if speaker == "user" else [])',
                    "Only the user's turns are closed. The assistant's earlier answers need their end token too."),
            Mistake("the assistant's turns left out", "for speaker, ids in turns:",
                    'for speaker, ids in [turn for turn in turns if turn[0] == "user"]:',
                    "The assistant's earlier answers are missing, so the model can't refer to what it has said."),
        ],
        also_right=[_turns_one_by_one,
                    lambda turns, user_id, assistant_id, end_id: [
                        token for who, ids in turns
                        for token in ((assistant_id, user_id)[who == "user"], *ids, end_id)
                    ] + [assistant_id]],
        hints=[
            "One turn is a role's token, then the ids, then the end token.",
            "role_id = user_id if speaker == 'user' else assistant_id",
            "prompt += [role_id] + ids + [end_id] for every turn, and return prompt + [assistant_id]",
        ],
        look_at="Only the last token tells the model that it's time to answer.",
    ),
    Exercise(
        name="masked_targets",
        title="learn the answer, not the question",
        task="prompt_ids (P,) and answer_ids (A,) are tensors. The model reads prompt and answer, and should learn the answer and the end token after it. Return the inputs and the targets, each (P + A,). A target of −100 is left out of the loss.",
        minutes=4, difficulty=3, importance=5,
        reference=masked_targets,
        plain=_masked_targets,
        draw=_draw_pair,
        mistakes=[
            Mistake("nothing masked", "targets[: len(prompt_ids) - 1] = -100", "pass",
                    "Every token is a target, so the model also learns to write the user's questions. Set the prompt's targets to −100."),
            Mistake("first answer token masked", "len(prompt_ids) - 1", "len(prompt_ids)",
                    "One target too many is masked: the first token of the answer. The targets are shifted by one, so the last token of the prompt already predicts the answer's first."),
            Mistake("last prompt token learned", "len(prompt_ids) - 1", "len(prompt_ids) - 2",
                    "One target too few is masked: the last token of the prompt is still learned. P − 1 targets belong to the prompt."),
            Mistake("answer masked", "targets[: len(prompt_ids) - 1]", "targets[len(prompt_ids) - 1 :]",
                    "The answer is masked and the prompt is learned. It should be the other way round."),
            Mistake("masked by the answer's length", "len(prompt_ids) - 1", "len(answer_ids) - 1",
                    "The number of masked targets follows the answer's length. It's the prompt that is masked."),
            Mistake("end token not learned", "return", "(inputs, torch.cat([targets[:-1], torch.tensor([-100])]))",
                    "The end token is masked, so the model never learns to stop. It belongs to the answer."),
            Mistake("end token left out", "answer_ids, torch.tensor([end_id])]", "answer_ids]",
                    "There's no end token, so the model never learns to stop, and both results are one too short."),
            Mistake("not shifted", "ids[1:].clone()", "ids[:-1].clone()",
                    "The targets aren't shifted: each position is asked for the token that it has just read. Target t is the token after input t."),
            Mistake("answer under itself", "ids[1:].clone()", "ids[:-1].clone()",
                    "Each token of the answer is the target at the position where it's read, and the end token isn't a target at all. Target t is the token after input t, so the answer begins one place further left.",
                    also=(("len(prompt_ids) - 1", "len(prompt_ids)"),)),
            Mistake("end token read as well", "ids[:-1], ids[1:].clone()", "ids, ids.clone()",
                    "The end token is among the inputs, and the targets aren't shifted. The model reads prompt and answer, P + A tokens, and target t is the token after input t.",
                    also=(("len(prompt_ids) - 1", "len(prompt_ids)"),)),
            Mistake("shifted the wrong way", "ids[:-1], ids[1:].clone()", "ids[1:], ids[:-1].clone()",
                    "Inputs and targets are swapped, so each position is asked for the token before it."),
            Mistake("inputs masked too", "ids[1:].clone()", "ids[1:]",
                    "The targets are a view of the same memory as the inputs, so masking them wrote −100 into the inputs. Make a copy with .clone()."),
            Mistake("masked with zero", "= -100", "= 0",
                    "The prompt's targets are 0, which is a token like any other, and the model would learn to write it. F.cross_entropy leaves out −100."),
            Mistake("masked with the end token", "= -100", "= end_id",
                    "The prompt's targets are the end token, so the model learns to stop in the middle of a question. Use −100."),
            Mistake("end before the answer", "[prompt_ids, answer_ids, torch.tensor([end_id])]",
                    "[prompt_ids, torch.tensor([end_id]), answer_ids]",
                    "The end token comes between prompt and answer. It closes the answer."),
            Mistake("answer first", "[prompt_ids, answer_ids,", "[answer_ids, prompt_ids,",
                    "The answer comes before the prompt. The model reads from left to right, so the prompt has to come first."),
            Mistake("only the end token learned", "targets[: len(prompt_ids) - 1]", "targets[:-1]",
                    "Everything but the end token is masked. The answer's tokens are targets too."),
        ],
        also_right=[_targets_where, _targets_by_list],
        hints=[
            "Put prompt, answer and end token in a row. The inputs are all but the last, the targets all but the first.",
            "The first target belongs to the prompt's second token, so P − 1 targets are the prompt's.",
            "targets = ids[1:].clone(); targets[: len(prompt_ids) - 1] = -100",
        ],
        look_at="The clone matters: ids[:-1] and ids[1:] share their memory.",
    ),
    Exercise(
        name="dpo_loss",
        title="one loss from two answers",
        task="Four tensors (B,) hold the log-probabilities of the better and the worse answers under the policy and under the reference. Return the mean of −log σ(β · margin), where the margin is the better answer's gain minus the worse answer's gain.",
        minutes=4, difficulty=3, importance=5,
        reference=dpo_loss,
        plain=_dpo_loss,
        draw=_draw_log_probs,
        mistakes=[
            Mistake("preference reversed", "gain_better - gain_worse", "gain_worse - gain_better",
                    "The margin has the wrong sign, so the loss falls when the *worse* answer gets likelier. Subtract the worse answer's gain from the better one's."),
            Mistake("minus forgotten", "-F.logsigmoid", "F.logsigmoid",
                    "The loss is negative. Minimising it would push the margin down; put a minus in front of the log-sigmoid."),
            Mistake("no reference", "policy_better - reference_better", "policy_better",
                    "The reference isn't used. Then nothing measures how far the policy has moved from where it started.",
                    also=(("policy_worse - reference_worse", "policy_worse"),)),
            Mistake("reference only for the better", "policy_worse - reference_worse", "policy_worse",
                    "The worse answer's reference isn't subtracted. Both gains are measured from the reference."),
            Mistake("reference only for the worse", "policy_better - reference_better", "policy_better",
                    "The better answer's reference isn't subtracted. Both gains are measured from the reference."),
            Mistake("reference added", "policy_better - reference_better", "policy_better + reference_better",
                    "The reference's log-probabilities enter with the wrong sign. A gain is the policy's log-probability minus the reference's, for the same answer.",
                    also=(("policy_worse - reference_worse", "policy_worse + reference_worse"),)),
            Mistake("logarithm taken again", "policy_better - reference_better", "(policy_better / reference_better).log()",
                    "The four tensors hold log-probabilities already, and the logarithm of a quotient is the difference of the logarithms. So subtract.",
                    also=(("policy_worse - reference_worse", "(policy_worse / reference_worse).log()"),)),
            Mistake("divided instead of subtracted", "policy_better - reference_better", "policy_better / reference_better",
                    "The log-probabilities are divided by one another. The logarithm of a quotient is the difference of the logarithms, so subtract.",
                    also=(("policy_worse - reference_worse", "policy_worse / reference_worse"),)),
            Mistake("no beta", "beta * margin", "margin",
                    "β is missing. It says how much a change of the margin counts."),
            Mistake("divided by beta", "beta * margin", "margin / beta",
                    "The margin is divided by β. Multiply."),
            Mistake("beta outside", "-F.logsigmoid(beta * margin)", "-beta * F.logsigmoid(margin)",
                    "β multiplies the loss. It belongs inside the sigmoid, with the margin."),
            Mistake("no logarithm", "-F.logsigmoid(beta * margin)", "-torch.sigmoid(beta * margin)",
                    "The logarithm is missing: this is −σ, and the loss is −log σ. F.logsigmoid does both at once."),
            Mistake("logarithm of the mean", "-F.logsigmoid(beta * margin).mean()", "-torch.sigmoid(beta * margin).mean().log()",
                    "The sigmoids are averaged before the logarithm is taken. Each pair has its own loss; take the mean of those."),
            Mistake("one minus", "-F.logsigmoid(beta * margin)", "(1 - torch.sigmoid(beta * margin))",
                    "This is 1 − σ. The loss is −log σ."),
            Mistake("summed", ".mean()", ".sum()",
                    "The losses are added up. Take the mean over the batch."),
            Mistake("mean before the sigmoid", "beta * margin).mean()", "beta * margin.mean())",
                    "The margins are averaged before the sigmoid, so one large margin can hide pairs that are still the wrong way round. Average the losses."),
            Mistake("probabilities instead of logarithms", "policy_better - reference_better",
                    "policy_better.exp() - reference_better.exp()",
                    "The probabilities are subtracted. The gain is the difference of the log-probabilities.",
                    also=(("policy_worse - reference_worse", "policy_worse.exp() - reference_worse.exp()"),)),
            Mistake("worse answer ignored", "gain_better - gain_worse", "gain_better",
                    "The worse answer plays no part. The margin compares the two gains."),
            Mistake("gains added", "gain_better - gain_worse", "gain_better + gain_worse",
                    "The two gains are added, so the loss also falls when the worse answer gets likelier. Subtract."),
        ],
        also_right=[_dpo_by_odds,
                    lambda policy_better, policy_worse, reference_better, reference_worse, beta: F.binary_cross_entropy_with_logits(
                        beta * (policy_better - reference_better - policy_worse + reference_worse),
                        torch.ones_like(policy_better))],
        hints=[
            "A gain is a difference of log-probabilities, the policy's minus the reference's.",
            "margin = (policy_better - reference_better) - (policy_worse - reference_worse)",
            "return -F.logsigmoid(beta * margin).mean()",
        ],
        look_at="It is the loss of a classifier with two classes whose logit is β times the margin.",
    ),
    Exercise(
        name="drift",
        title="how far has the model moved?",
        task="You get the logits (B, T, V) of two models on the same texts, and counted (B, T), which is True where a token is part of an answer. Return the mean of KL(policy ‖ reference) over the counted positions, in nats per token.",
        minutes=4, difficulty=3, importance=4,
        reference=drift,
        plain=_drift,
        draw=_draw_logits,
        mistakes=[
            Mistake("the other way round", "policy.exp() * (policy - reference)", "reference.exp() * (reference - policy)",
                    "This is KL(reference ‖ policy). What counts is what the policy would write, so the weights are the policy's probabilities."),
            Mistake("weighted by the reference", "policy.exp()", "reference.exp()",
                    "The log-ratios are weighted by the reference's probabilities. Use the policy's."),
            Mistake("wrong sign", "(policy - reference)", "(reference - policy)",
                    "The sign is wrong: a KL is never negative. The log-ratio is the policy's log-probability minus the reference's."),
            Mistake("not weighted", "policy.exp() * (policy - reference)", "(policy - reference)",
                    "The log-ratios aren't weighted. A KL is an average under the policy, so multiply by its probabilities."),
            Mistake("cross-entropy", "(policy - reference)", "-reference",
                    "This is the cross-entropy, which isn't zero for two equal models. Subtract the policy's entropy: use policy − reference."),
            Mistake("entropy", "(policy - reference)", "-policy",
                    "This is the policy's entropy. The reference plays no part in it."),
            Mistake("logits subtracted", "policy.exp() * (policy - reference)", "policy.exp() * (policy_logits - reference_logits)",
                    "The logits are subtracted, but the KL compares log-probabilities. Apply log_softmax to both first."),
            Mistake("policy not normalised", "policy_logits.log_softmax(-1)", "policy_logits",
                    "The policy's logits aren't log-probabilities yet. Apply log_softmax."),
            Mistake("reference not normalised", "reference_logits.log_softmax(-1)", "reference_logits",
                    "The reference's logits aren't log-probabilities yet. Apply log_softmax."),
            Mistake("mean over the vocabulary", ".sum(-1)", ".mean(-1)",
                    "The terms are averaged over the vocabulary. They are already weighted by probabilities, so add them up."),
            Mistake("prompt counted too", "per_token[counted].mean()", "per_token.mean()",
                    "All positions are counted, the prompt's and the padding's too. Take only those where counted is True."),
            Mistake("only the prompt counted", "per_token[counted]", "per_token[~counted]",
                    "These are the positions that should be left out."),
            Mistake("divided by all positions", "per_token[counted].mean()", "(per_token * counted).mean()",
                    "The sum is over the counted positions but the division is by all of them. Divide by the number of counted positions."),
            Mistake("summed", "per_token[counted].mean()", "per_token[counted].sum()",
                    "This is the sum over all tokens, so a long answer seems to drift more. Take the mean."),
            Mistake("per answer", "per_token[counted].mean()", "(per_token * counted).sum(-1).mean()",
                    "This is the drift per answer, so long answers seem to drift more. Divide by the number of tokens."),
            Mistake("mean of the answers' means", "per_token[counted].mean()",
                    "((per_token * counted).sum(-1) / counted.sum(-1)).mean()",
                    "Each answer is averaged first, so a token in a short answer counts for more. Every token should count the same."),
            Mistake("normalised over positions", "policy = policy_logits.log_softmax(-1)", "policy = policy_logits.log_softmax(1)",
                    "The policy's softmax runs over the positions. Probabilities sum to 1 over the vocabulary, the last dimension."),
        ],
        also_right=[_drift_by_torch, _drift_by_product],
        hints=[
            "Turn both logits into log-probabilities with log_softmax(-1).",
            "Per position: add up policy probability times (policy log-probability − reference log-probability).",
            "per_token = (policy.exp() * (policy - reference)).sum(-1); return per_token[counted].mean()",
        ],
        look_at="The policy's probabilities are the weights, so a token that it never writes can't add to the drift.",
    ),
    Exercise(
        name="majority",
        title="let the samples vote",
        task="answers is a list of whole numbers, one per sample, and −1 where a sample contained no number. Return the answer given most often. Samples with −1 don't vote; in a tie the answer that came up first wins; without any vote return −1.",
        minutes=3, difficulty=2, importance=3,
        reference=majority,
        plain=_majority,
        draw=_draw_answers,
        mistakes=[
            Mistake("abstentions vote", "answer != -1", "True",
                    "Samples without a number vote as well. Leave out −1."),
            Mistake("zero left out", "answer != -1", "answer > 0",
                    "A 0 is an answer like any other. Leave out only −1."),
            Mistake("last in a tie", "max(votes, key", "max(list(votes)[::-1], key",
                    "In a tie the later answer wins. It should be the one that came up first."),
            Mistake("smallest in a tie", "max(votes, key", "max(sorted(votes), key",
                    "In a tie the smaller number wins. It should be the one that came up first."),
            Mistake("largest in a tie", "max(votes, key", "max(sorted(votes)[::-1], key",
                    "In a tie the larger number wins. It should be the one that came up first."),
            Mistake("rarest answer", "max(votes, key", "min(votes, key",
                    "This is the answer given least often."),
            Mistake("number of votes", "max(votes, key=votes.get, default=-1)", "max(votes.values(), default=-1)",
                    "This is how many votes the winner has. Return the winner."),
            Mistake("largest answer", "max(votes, key=votes.get, default=-1)", "max(votes, default=-1)",
                    "This is the largest answer. Count how often each was given: key=votes.get."),
            Mistake("mean of the answers", "max(votes, key=votes.get, default=-1)",
                    "sum(k * v for k, v in votes.items()) // max(sum(votes.values()), 1) if votes else -1",
                    "This is the mean. The average of a right number and a wrong one is usually a third number, which is wrong as well."),
            Mistake("median of the answers", "max(votes, key=votes.get, default=-1)",
                    "sorted(a for a in answers if a != -1)[sum(votes.values()) // 2] if votes else -1",
                    "This is the median. Numbers that are nearly right don't support each other in a vote."),
            Mistake("first answer", "max(votes, key=votes.get, default=-1)", "next(iter(votes), -1)",
                    "This is the first answer, whatever the others say. Count how often each was given."),
            Mistake("last answer", "max(votes, key=votes.get, default=-1)", "([-1] + [a for a in answers if a != -1])[-1]",
                    "This is the last answer. The others are ignored."),
            Mistake("needs more than half", "max(votes, key=votes.get, default=-1)",
                    "next((a for a, v in votes.items() if 2 * v > len(answers)), -1)",
                    "An answer wins only if more than half of the samples gave it. The most frequent one is enough."),
            Mistake("zero without a vote", "default=-1", "default=0",
                    "Without any vote the result is −1; 0 would be an answer."),
        ],
        also_right=[_majority_by_count, _majority_by_sorting],
        hints=[
            "Count the votes in a dictionary: votes[answer] = votes.get(answer, 0) + 1.",
            "A dictionary keeps its keys in the order in which they came, and among equals max returns the first.",
            "return max(votes, key=votes.get, default=-1)",
        ],
        look_at="The vote knows nothing about the question. It works only if wrong samples disagree with each other.",
    ),
    Exercise(
        name="group_advantages",
        title="better than its siblings",
        task="Each row holds the rewards of the answers to one prompt. Return how far each reward lies above its row's mean, in standard deviations of the row (divided by G, not G − 1). Add 1e-6 to the deviation.",
        minutes=3, difficulty=1, importance=5,
        pytorch="`x.std(dim=1, keepdim=True, unbiased=False)` divides by the number of entries and keeps the dimension.",
        reference=group_advantages,
        plain=_group_advantages,
        draw=_draw_rewards,
        then="The training below asks it which answers to make likelier.",
        mistakes=[
            Mistake("over all prompts", "rewards.mean(dim=1, keepdim=True)", "rewards.mean()",
                    "The mean runs over all prompts, so an easy prompt makes all of its answers look good. Which answers is one compared with?"),
            Mistake("spread over all prompts", "rewards.std(dim=1, keepdim=True, unbiased=False)", "rewards.std(unbiased=False)",
                    "The deviation runs over all prompts. Each row has its own."),
            Mistake("over the prompts", "rewards.mean(dim=1", "rewards.mean(dim=0",
                    "Answers to different prompts are compared with each other. One row is one prompt.", also=(("rewards.std(dim=1", "rewards.std(dim=0"),)),
            Mistake("not centred", "(rewards - mean)", "rewards",
                    "No answer has a negative advantage, so bad ones become likelier too, only less so."),
            Mistake("not divided", " / (spread + 1e-6)", "",
                    "The advantages still have the rewards' unit. Divide by the row's deviation."),
            Mistake("nothing added", " + 1e-6", "",
                    "In a row of equal rewards this is 0/0. What should such a row teach the model?"),
            Mistake("sign", "(rewards - mean)", "(mean - rewards)",
                    "The best answer has the lowest advantage."),
            Mistake("variance", "rewards.std(", "rewards.var(",
                    "This divides by the variance. Take its root."),
            Mistake("G minus one", "unbiased=False", "unbiased=True",
                    "The deviation is divided by G − 1. Divide by G."),
            Mistake("compared with the best", "rewards.mean(dim=1, keepdim=True)", "rewards.amax(dim=1, keepdim=True)",
                    "Every answer is compared with the best one, so none has a positive advantage."),
        ],
        also_right=[_advantages_by_rows, lambda r: (r - r.mean(-1, True)) / (r.var(-1, unbiased=False, keepdim=True).sqrt() + 1e-6)],
        hints=[
            "Which dimension are the answers to one prompt in?",
            "keepdim=True lets the (P, 1) means broadcast against (P, G).",
            "(rewards - mean) / (rewards.std(dim=1, keepdim=True, unbiased=False) + 1e-6)",
        ],
        look_at="If all answers to a prompt are equally good, the prompt teaches nothing. A reward that is nearly always 0 teaches nothing either.",
    ),
    Exercise(
        name="clipped_gain",
        title="no further than that",
        task="Per token, the ratio is its probability now over its probability when it was written. Return the smaller of ratio · advantage and (ratio, limited to 1 ± clip) · advantage. Each answer has one advantage for all of its tokens.",
        minutes=4, difficulty=2, importance=4,
        pytorch="`x.clamp(0.8, 1.2)` limits, `torch.minimum(a, b)` takes the smaller of two tensors entry by entry, and `a[:, None]` turns (N,) into (N, 1).",
        reference=clipped_gain,
        plain=_clipped_gain,
        draw=_draw_ratios,
        then="One line more, and the training below is complete.",
        mistakes=[
            Mistake("ratio upside down", "(log_probs - old_log_probs)", "(old_log_probs - log_probs)",
                    "The ratio is upside down: a token that has become likelier gets a ratio below 1."),
            Mistake("no exponential", "(log_probs - old_log_probs).exp()", "(log_probs - old_log_probs)",
                    "This is the logarithm of the ratio. It's 0, not 1, where nothing has changed."),
            Mistake("larger of the two", "torch.minimum", "torch.maximum",
                    "The larger one is taken, so the limit never holds where it should."),
            Mistake("only the limited one", "torch.minimum(ratio * shared, limited * shared)", "limited * shared",
                    "Only the limited ratio is used. A bad answer that has already become likelier then has no gradient that brings it back."),
            Mistake("no limit", "torch.minimum(ratio * shared, limited * shared)", "ratio * shared",
                    "Nothing is limited, so one answer can be pushed as far as the learning rate allows."),
            Mistake("limited above only", "ratio.clamp(1 - clip, 1 + clip)", "ratio.clamp(max=1 + clip)",
                    "The ratio is limited only from above. With a negative advantage it's the lower limit that counts."),
            Mistake("limited below only", "ratio.clamp(1 - clip, 1 + clip)", "ratio.clamp(min=1 - clip)",
                    "The ratio is limited only from below. With a positive advantage it's the upper limit that counts."),
            Mistake("product limited", "limited * shared", "(ratio * shared).clamp(1 - clip, 1 + clip)",
                    "The product was limited. Limit the ratio, then multiply."),
            Mistake("smaller ratio first", "torch.minimum(ratio * shared, limited * shared)", "torch.minimum(ratio, limited) * shared",
                    "The smaller ratio was taken before multiplying. With a negative advantage, the smaller product belongs to the larger ratio."),
            Mistake("sign", "shared = advantages[:, None]", "shared = -advantages[:, None]",
                    "The sign is reversed: this is a gain, to be made large."),
            Mistake("probabilities subtracted", "(log_probs - old_log_probs).exp()", "log_probs.exp() - old_log_probs.exp()",
                    "The probabilities were subtracted. A ratio divides."),
        ],
        also_right=[_gain_by_cases, lambda n, o, a, c: torch.minimum((n - o).exp() * a[:, None], (n - o).exp().clamp(1 - c, 1 + c) * a[:, None])],
        hints=[
            "A difference of logarithms is the logarithm of a ratio.",
            "Multiply both ratios with advantages[:, None], then compare.",
            "torch.minimum(ratio * shared, ratio.clamp(1 - clip, 1 + clip) * shared)",
        ],
        look_at="At the first update on an answer every ratio is 1, so the limit does nothing. It matters when the same answers are used twice.",
    ),
    Exercise(
        name="policy_loss",
        title="which way is down?",
        task="The optimiser makes the loss small. Combine each token's gain and its drift (KL), which costs β per nat, and return the mean over the counted tokens as a loss.",
        minutes=3, difficulty=1, importance=4,
        reference=policy_loss,
        plain=_policy_loss,
        draw=_draw_gains,
        mistakes=[
            Mistake("sign", "return -", "return ",
                    "The optimiser would make right answers rarer. Which way does it go?"),
            Mistake("drift rewarded", "gain - beta * kl", "gain + beta * kl",
                    "Drift is paid for here. It should cost something."),
            Mistake("drift for nothing", "gain - beta * kl", "gain",
                    "The drift costs nothing."),
            Mistake("beta missing", "beta * kl", "kl",
                    "β is missing: a nat of drift costs 1, whatever was agreed."),
            Mistake("beta on the gain", "gain - beta * kl", "beta * gain - kl",
                    "β multiplies the gain. It's the price of the drift."),
            Mistake("all tokens", "worth[counted].mean()", "worth.mean()",
                    "The tokens after the end count, too. Nobody wrote them."),
            Mistake("divided by all", "worth[counted].mean()", "(worth * counted).mean()",
                    "The sum is over the counted tokens and the division is by all."),
            Mistake("summed", ".mean()", ".sum()",
                    "This is a sum, so long answers move the model more. Take the mean."),
            Mistake("the others", "[counted]", "[~counted]",
                    "These are the tokens that shouldn't count."),
        ],
        also_right=[_loss_by_sums, lambda g, k, c, b: (b * k[c] - g[c]).mean()],
        hints=[
            "What should become large? A loss is what becomes small.",
            "worth = gain - beta * kl, for the tokens where counted is True.",
            "-(gain - beta * kl)[counted].mean()",
        ],
        look_at="A sign is the commonest mistake here, and it raises no error: the reward just falls.",
    ),
]
# fmt: on
