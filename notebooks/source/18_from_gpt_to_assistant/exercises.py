"""Lesson 18, from GPT to assistant."""

import math
from collections import Counter

import torch
import torch.nn.functional as F

from helpers.exercises.model import Exercise, Mistake

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


def prefer(start, better, worse, beta, rate, steps):
    """Train the logits (K,) of K answers by DPO on one pair, by gradient descent."""
    policy = start.clone()
    for _ in range(steps):
        margin = (policy - start)[better] - (policy - start)[worse]
        step = rate * beta / (1 + torch.exp(beta * margin))
        policy[better] += step
        policy[worse] -= step
    return policy


def drift(policy_logits, reference_logits, counted):
    """Measure KL(policy || reference) in nats per token: twice (B, T, V), and (B, T) bool."""
    log_ratio = policy_logits.log_softmax(-1) - reference_logits.log_softmax(-1)
    per_token = (policy_logits.softmax(-1) * log_ratio).sum(-1)  # (B, T)
    return per_token[counted].mean()


def majority(answers):
    """Find the answer that was given most often; −1 abstains; the earlier one wins a tie."""
    votes = Counter(answer for answer in answers if answer != -1)
    return votes.most_common(1)[0][0] if votes else -1


def best_of_n(write, score, n):
    """Write n samples and return the one with the highest score."""
    return max((write(seed) for seed in range(n)), key=score)


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


def _prefer(start, better, worse, beta, rate, steps):
    policy, reference = start.clone(), start.clone()
    for _ in range(steps):
        gain = policy - reference
        margin = gain[better] - gain[worse]
        step = rate * beta * torch.sigmoid(-beta * margin)
        policy[better] += step
        policy[worse] -= step
    return policy


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


def _best_of_n(write, score, n):
    best, highest = [], -math.inf
    for seed in range(n):
        sample = write(seed)
        value = score(sample)
        if value > highest:
            best, highest = sample, value
    return best


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


def _draw_prefer(generator):
    settings = [(3, 0, 2, 0.5, 1.5, 4), (4, 3, 1, 1.5, 0.8, 3), (5, 2, 0, 0.7, 2.0, 6)]
    settings.append((6, 1, 5, 2.0, 0.6, 2))
    return [(torch.randn(k, generator=generator), *others) for k, *others in settings]


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


def _writer(seed):
    """A model that writes a few tokens; the same seed gives the same ones."""

    def write(sample_seed):
        generator = torch.Generator().manual_seed(100 * seed + 7 * int(sample_seed) + 1)
        length = int(torch.randint(2, 6, (1,), generator=generator))
        return torch.randint(1, 60, (length,), generator=generator).tolist()

    return write


def _scorer(seed, coarse=False):
    """A score that is often below zero and isn't just the length; a coarse one has ties."""

    def score(sample):
        if not isinstance(sample, list):
            raise ValueError(f"score expects a sample, a list of ids; got {sample!r}")
        found = math.sin(sum((i + 1 + seed) * token for i, token in enumerate(sample))) - 1.5
        return round(found) if coarse else found

    return score


def _draw_writers(generator):
    cases = []
    for seed, n in ((0, 3), (1, 6), (2, 4), (3, 9), (4, 5), (5, 12), (6, 2), (7, 7)):
        write, score = _writer(seed), _scorer(seed, coarse=seed % 4 == 2)
        scores = [score(write(s)) for s in range(40)]
        # One sample more would win in every other case, so that the count matters.
        if seed % 2:
            n = next(i for i in range(2, 40) if scores[i] > max(scores[:i]))
        if seed % 4 == 2:  # two samples share the highest score
            n = next(i for i in range(4, 40) if scores[:i].count(max(scores[:i])) > 1)
        cases.append((write, score, n))
    return cases


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


def _prefer_by_difference(start, better, worse, beta, rate, steps):
    margin = torch.zeros(())
    for _ in range(steps):
        margin = margin + 2 * rate * beta * (1 - (beta * margin).sigmoid())
    policy = start.clone()
    policy[better] += margin / 2
    policy[worse] -= margin / 2
    return policy


def _prefer_with_probabilities(start, better, worse, beta, rate, steps):
    sign = torch.zeros_like(start)
    sign[better], sign[worse] = 1.0, -1.0
    policy, reference = start, start.log_softmax(-1)
    for _ in range(steps):
        gain = policy.log_softmax(-1) - reference
        policy = policy + rate * beta * torch.sigmoid(-beta * (sign * gain).sum()) * sign
    return policy


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


def _best_by_scores(write, score, n):
    samples = [write(seed) for seed in range(n)]
    scores = [score(sample) for sample in samples]
    return samples[scores.index(max(scores))]


def _best_by_tournament(write, score, n):
    champion = write(0)
    for seed in range(1, n):
        champion = max(champion, write(seed), key=score)
    return champion


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
        name="prefer",
        title="many steps of DPO",
        task="start (K,) holds the logits of K answers. better and worse are two of their indices. In each step, raise the better answer's logit and lower the worse one's by rate · β · σ(−β · margin), where the margin compares the gains since the start. Return the logits after all steps.",
        minutes=4, difficulty=3, importance=4,
        reference=prefer,
        plain=_prefer,
        draw=_draw_prefer,
        mistakes=[
            Mistake("equal steps", "policy, reference = start.clone(), start.clone()",
                    "policy = reference = start.clone()",
                    "Compare the printed margins: every step adds the same amount, although the steps should become smaller. What is margin in the first step, and what is it in the second? One of the two mistakes hides the other, so a correct repair may not show yet."),
            Mistake("steps grow", "-beta * margin", "beta * margin",
                    "The steps grow as the margin grows. The derivative of −log σ(x) is −σ(−x), so the sigmoid needs the minus."),
            Mistake("preference reversed", "policy[better] += step", "policy[better] -= step",
                    "The better answer is lowered and the worse one raised.",
                    also=(("policy[worse] -= step", "policy[worse] += step"),)),
            Mistake("both raised", "policy[worse] -= step", "policy[worse] += step",
                    "Both answers are raised, so the margin between them never changes. Lower the worse one."),
            Mistake("both lowered", "policy[better] += step", "policy[better] -= step",
                    "Both answers are lowered, so the margin between them never changes. Raise the better one."),
            Mistake("only the better raised", "policy[worse] -= step", "pass",
                    "The worse answer isn't lowered. The margin depends on both."),
            Mistake("only the worse lowered", "policy[better] += step", "pass",
                    "The better answer isn't raised. The margin depends on both."),
            Mistake("no reference", "gain = policy - reference", "gain = policy",
                    "The margin is taken from the logits themselves. The gain is what has changed since the start, so subtract the reference."),
            Mistake("beta missing in the step", "rate * beta *", "rate *",
                    "A factor β is missing in front of the sigmoid. It comes from the chain rule."),
            Mistake("beta missing in the sigmoid", "-beta * margin", "-margin",
                    "β is missing inside the sigmoid."),
            Mistake("no sigmoid", " * torch.sigmoid(-beta * margin)", "",
                    "Every step has the same size. The sigmoid makes the steps smaller as the margin grows."),
            Mistake("log-sigmoid", "torch.sigmoid", "F.logsigmoid",
                    "This is the log-sigmoid. The derivative of −log σ contains a plain sigmoid."),
            Mistake("one step only", "range(steps)", "range(1)",
                    "Only one step is made."),
            Mistake("one step too many", "range(steps)", "range(steps + 1)",
                    "One step too many is made."),
            Mistake("returns the gain", "return", "policy - start",
                    "This is the change since the start. Return the logits."),
        ],
        also_right=[_prefer_by_difference, _prefer_with_probabilities],
        hints=[
            "Print the margin in every step. Should it stay the same?",
            "reference = policy gives the same tensor a second name. Changing one changes the other.",
            "reference = start.clone(), and torch.sigmoid(-beta * margin) with the minus.",
        ],
        look_at="The steps shrink as the margin grows. That works only if the reference stays where it was at the start.",
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
            Mistake("in bits", "per_token[counted].mean()", "per_token[counted].mean() / math.log(2)",
                    "This is in bits. With natural logarithms it's already in nats."),
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
        name="best_of_n",
        title="write many, keep one",
        task="write(seed) returns a sample, and score(sample) returns a number. Write n samples with the seeds 0 to n − 1 and return the one with the highest score, the earlier one in a tie.",
        minutes=3, difficulty=2, importance=3,
        reference=best_of_n,
        plain=_best_of_n,
        draw=_draw_writers,
        mistakes=[
            Mistake("worst of n", "best, highest = [], -math.inf", "best, highest = [], math.inf",
                    "This is the sample with the lowest score.", also=(("value > highest", "value < highest"),)),
            Mistake("always the same seed", "write(seed)", "write(0)",
                    "All samples are written with the same seed, so they're all the same."),
            Mistake("one sample too few", "range(n)", "range(n - 1)",
                    "Only n − 1 samples are written."),
            Mistake("one sample too many", "range(n)", "range(n + 1)",
                    "One sample too many is written. The seeds run from 0 to n − 1."),
            Mistake("seeds from 1", "range(n)", "range(1, n + 1)",
                    "The seeds run from 1 to n. They should run from 0 to n − 1."),
            Mistake("later in a tie", "value > highest", "value >= highest",
                    "In a tie the later sample wins. It should be the earlier one, so a new sample has to score *higher* than the best so far."),
            Mistake("last sample", "value > highest", "True",
                    "This is the last sample, whatever its score."),
            Mistake("last improvement", "best, highest = sample, value", "best = sample",
                    "The highest score isn't updated, so every sample replaces the one before it.",
                    also=(("best, highest = [], -math.inf", "best, highest = [], score(write(0))"),)),
            Mistake("compared with the one before", "best, highest = sample, value", "best = sample",
                    "Each score is compared with the score just before it. Compare it with the highest so far.",
                    also=(("        if value > highest:", "        previous, highest = highest, value\n        if value > previous:"),)),
            Mistake("scores below zero lose", "-math.inf", "0.0",
                    "The highest score starts at 0, so samples with a negative score never win. Start at −∞."),
            Mistake("returns the score", "return", "[highest]",
                    "This is the highest score. Return the sample that has it."),
            Mistake("longest sample", "score(sample)", "len(sample)",
                    "This is the longest sample. Ask score which one is best."),
            Mistake("shortest sample", "score(sample)", "-len(sample)",
                    "This is the shortest sample. Ask score which one is best."),
        ],
        also_right=[_best_by_scores, _best_by_tournament],
        hints=[
            "Keep two things while you go through the seeds: the best sample so far and its score.",
            "max can do it in one line: it takes a key, the function to compare by.",
            "return max((write(seed) for seed in range(n)), key=score)",
        ],
        look_at="Nothing is trained here. All the improvement comes from the score, so the score's errors come with it.",
    ),
]
# fmt: on
