"""Lesson 18, from GPT to assistant."""

import torch
import torch.nn.functional as F

from helpers.exercises.model import Exercise, Mistake, normal

IGNORED = -100  # `F.cross_entropy` leaves out targets with this id


def chat_prompt(turns, user_id, assistant_id, end_id):
    """Turn a conversation into one list of ids that ends where the assistant's reply begins."""
    prompt = []
    for speaker, ids in turns:
        role_id = user_id if speaker == "user" else assistant_id
        prompt += [role_id] + ids + [end_id]
    return prompt + [assistant_id]


def masked_targets(prompt_ids, answer_ids, end_id):
    """Make one training example: inputs and targets (P + A,); the prompt is no target."""
    ids = torch.cat([prompt_ids, answer_ids, torch.tensor([end_id])])
    inputs, targets = ids[:-1], ids[1:].clone()
    targets[: len(prompt_ids) - 1] = -100
    return inputs, targets


def dpo_loss(policy_better, policy_worse, reference_better, reference_worse, beta):
    """Compare how much likelier the policy made the better and the worse answers, each (B,)."""
    gain_better = policy_better - reference_better
    gain_worse = policy_worse - reference_worse
    margin = gain_better - gain_worse
    return -F.logsigmoid(beta * margin).mean()


def drift(policy_logits, reference_logits, counted):
    """Measure KL(policy || reference) in nats per token: twice (B, T, V), and (B, T) bool."""
    policy = policy_logits.log_softmax(-1)
    reference = reference_logits.log_softmax(-1)
    per_token = (policy.exp() * (policy - reference)).sum(-1)
    return per_token[counted].mean()


def majority(answers):
    """Find the answer that was given most often; −1 abstains; the earlier one wins a tie."""
    votes = {}
    for answer in answers:
        if answer != -1:
            votes[answer] = votes.get(answer, 0) + 1
    return max(votes, key=votes.get, default=-1)


def group_advantages(rewards):
    """Compare each answer with the others to its prompt, (P, G) -> (P, G)."""
    mean = rewards.mean(dim=1, keepdim=True)
    spread = rewards.std(dim=1, keepdim=True, unbiased=False)
    return (rewards - mean) / (spread + 1e-6)


def clipped_gain(log_probs, old_log_probs, advantages, clip):
    """Weigh advantages (N,) by ratios of probability, within limits; twice (N, T) -> (N, T)."""
    ratio = (log_probs - old_log_probs).exp()
    limited = ratio.clamp(1 - clip, 1 + clip)
    shared = advantages[:, None]
    return torch.minimum(ratio * shared, limited * shared)


def policy_loss(gain, kl, counted, beta):
    """Turn gains and drift (N, T) of the counted tokens into one number to be made small."""
    worth = gain - beta * kl
    return -worth[counted].mean()


def _draw_gains(generator):
    for n, t, beta in ((1, 3, 0.5), (2, 4, 0.2), (3, 5, 0.8)):
        counted = torch.arange(t) < torch.randint(1, t, (n, 1), generator=generator)
        gain, kl = torch.randn(n, t, generator=generator), torch.rand(n, t, generator=generator)
        yield gain, kl, counted, beta


def _advantages_by_rows(rewards):
    rows = []
    for row in rewards:
        spread = ((row - row.mean()) ** 2).mean().sqrt()
        rows.append((row - row.mean()) / (spread + 1e-6))
    return torch.stack(rows)


def _gain_by_cases(log_probs, old_log_probs, advantages, clip):
    ratio, a = log_probs.exp() / old_log_probs.exp(), advantages.unsqueeze(-1)
    return torch.where(a > 0, ratio.clamp(max=1 + clip), ratio.clamp(min=1 - clip)) * a


def _draw_logits(generator):
    for b, t, v in [(1, 3, 4), (2, 4, 5), (3, 5, 3), (2, 6, 7)]:
        counted = torch.rand(b, t, generator=generator) < 0.6
        counted[:, 1], counted[:, -1] = True, False
        policy, reference = (1.5 * torch.randn(b, t, v, generator=generator) for _ in range(2))
        yield policy, reference, counted


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
        name="chat_prompt", title="a conversation as one list of tokens",
        task='turns is a list of (speaker, ids), where the speaker is "user" or "assistant". Each turn becomes its role\'s token, its ids and the end token. Finish with the token that opens the assistant\'s reply.',
        minutes=3, difficulty=2, importance=5,
        reference=chat_prompt, draw=lambda generator: [
            ([("user", [11, 12])], 3, 5, 9),
            ([("user", [14, 10, 13]), ("assistant", [17]), ("user", [12, 19])], 7, 2, 4),
            ([("user", [15]), ("assistant", [18, 11]), ("user", [13, 16, 10])], 1, 6, 8),
            ([("assistant", [21, 13]), ("user", [12, 15]), ("assistant", [16, 20, 14]),
              ("user", [11])], 5, 8, 2),
            # A turn that is said again, and one that ends in an id of its own, are turns, too.
            ([("user", [12]), ("assistant", [14, 9]), ("user", [12]), ("assistant", [15])],
             3, 5, 9),
            # Two turns of one speaker, and one without a word, are turns like any other.
            ([("user", [16, 11]), ("user", [18]), ("assistant", []), ("user", [12])], 4, 6, 3)],
        mistakes=[
            Mistake("no end tokens", "ids + [end_id]", "ids",
                    "The turns aren't closed. Without the end token the model can't tell where a turn stops, and never learns to write that token itself."),
            Mistake("one end for the whole conversation", "ids + [end_id]", "ids",
                    "The end token comes only once, after the whole conversation. Every turn needs one.",
                    also=(("prompt + [assistant_id]", "prompt + [end_id, assistant_id]"),)),
            Mistake("reply not opened", "prompt + [assistant_id]", "prompt",
                    "The prompt stops after the last turn. Nothing says who speaks next, so the model might go on as the user. Append the assistant's token."),
            Mistake("another end token instead", "prompt + [assistant_id]", "prompt + [end_id]",
                    "The prompt ends with one more end token. Which token says that the assistant is next?"),
            Mistake("roles swapped", 'speaker == "user"', 'speaker != "user"',
                    "The roles are swapped: the user's turns begin with the assistant's token, and the assistant's with the user's."),
            Mistake("turns without their role", "[role_id] + ids", "ids",
                    "No turn says who speaks. Put the role's token in front of its ids."),
            Mistake("end before the text", "[role_id] + ids + [end_id]", "[role_id] + [end_id] + ids",
                    "The end token comes before the text of the turn. It closes the turn, so it comes after."),
        ],
        also_right=[_turns_one_by_one,
                    lambda turns, user_id, assistant_id, end_id: [
                        token for who, ids in turns
                        for token in ((assistant_id, user_id)[who == "user"], *ids, end_id)
                    ] + [assistant_id]],
        hints=["One turn is a role's token, then the ids, then the end token.",
               "role_id = user_id if speaker == 'user' else assistant_id",
               "prompt += [role_id] + ids + [end_id] for every turn, and return prompt + [assistant_id]"],
        look_at="Only the last token tells the model that it's time to answer.",
    ),
    Exercise(
        name="masked_targets", title="learn the answer, not the question",
        task="prompt_ids (P,) and answer_ids (A,) are tensors. The model reads prompt and answer, and should learn the answer and the end token after it. Return the inputs and the targets, each (P + A,). A target of −100 is left out of the loss.",
        minutes=4, difficulty=3, importance=5,
        reference=masked_targets, draw=lambda generator: [
            (*(torch.randint(10, 40, (n,), generator=generator) for n in sizes), end_id)
            for *sizes, end_id in [(3, 2, 1), (2, 4, 5), (5, 3, 9), (4, 6, 3)]],
        mistakes=[
            Mistake("nothing masked", "targets[: len(prompt_ids) - 1] = -100", "pass",
                    "Every token is a target, so the model also learns to write the user's questions. Set the prompt's targets to −100."),
            Mistake("first answer token masked", "len(prompt_ids) - 1", "len(prompt_ids)",
                    "One target too many is masked: the first token of the answer. The targets are shifted by one, so the last token of the prompt already predicts the answer's first."),
            Mistake("last prompt token learned", "len(prompt_ids) - 1", "len(prompt_ids) - 2",
                    "One target too few is masked: the last token of the prompt is still learned. P − 1 targets belong to the prompt."),
            Mistake("the prompt masked, not shifted", "ids[1:].clone()", "ids[:-1].clone()",
                    "Masking the prompt is right, but the targets aren't shifted, so each position is asked for the token that it has just read. Target t is the token after input t.", also=(("len(prompt_ids) - 1", "len(prompt_ids)"),)),
            Mistake("not shifted", "ids[1:].clone()", "ids[:-1].clone()",
                    "The targets aren't shifted, so each position is asked for the token that it has just read. Target t is the token after input t."),
            Mistake("end token read as well", "ids[:-1], ids[1:].clone()", "ids, ids.clone()",
                    "The end token is among the inputs, and the targets aren't shifted. The model reads prompt and answer, P + A tokens, and target t is the token after input t.",
                    also=(("len(prompt_ids) - 1", "len(prompt_ids)"),)),
            Mistake("masked with zero", "= -100", "= 0",
                    "The prompt's targets are 0, which is a token like any other, and the model would learn to write it. F.cross_entropy leaves out −100."),
            Mistake("inputs masked", "targets[: len(prompt_ids) - 1] = -100", "inputs = inputs.clone()\n    inputs[: len(prompt_ids) - 1] = -100",
                    "You masked the inputs, so the model can't read the prompt. Where does the loss look for −100?"),
            Mistake("all of the prompt masked in the inputs", "targets[: len(prompt_ids) - 1] = -100", "inputs = inputs.clone()\n    inputs[: len(prompt_ids)] = -100",
                    "You masked the inputs, so the model can't read the prompt. Where does the loss look for −100?"),
            Mistake("inputs masked as well", "inputs, targets = ids[:-1], ids[1:].clone()", "inputs, targets = ids[:-1], ids[1:]",
                    "The targets are right, but the prompt's tokens have become −100 in the inputs as well. Do your inputs and targets share their memory?"),
            Mistake("masked before the split", "inputs, targets = ids", "ids[: len(prompt_ids)] = -100\n    inputs, targets = ids",
                    "The targets are right, but the prompt is −100 in the inputs as well, so the model can't read it. Which of the two should be masked?"),
        ],
        also_right=[_targets_where, _targets_by_list],
        hints=["Put prompt, answer and end token in a row. The inputs are all but the last, the targets all but the first.",
               "The first target belongs to the prompt's second token, so P − 1 targets are the prompt's.",
               "targets = ids[1:].clone(); targets[: len(prompt_ids) - 1] = -100"],
        look_at="If inputs and targets are both slices of one tensor, they share its memory. Masking the targets would then mask the inputs as well, which is why the solution clones.",
    ),
    Exercise(
        name="dpo_loss", title="one loss from two answers",
        task="Four tensors (B,) hold the log-probabilities of the better and the worse answers under the policy and under the reference. Return the mean of −log σ(β · margin), where the margin is the better answer's gain minus the worse answer's gain.",
        minutes=4, difficulty=3, importance=5,
        reference=dpo_loss, draw=normal(
            "b, b, b, b", (2, 0.5), (3, 0.8), (4, 1.5), (6, 0.3),
            then=lambda *found: (*(-1.5 * one.abs() - 0.3 for one in found[:4]), found[4])),
        mistakes=[
            Mistake("preference reversed", "gain_better - gain_worse", "gain_worse - gain_better",
                    "The margin has the wrong sign, so the loss falls when the *worse* answer becomes likelier. Subtract the worse answer's gain from the better one's."),
            Mistake("minus forgotten", "-F.logsigmoid", "F.logsigmoid",
                    "The loss is negative, so minimising it would push the margin down. Put a minus in front of the log-sigmoid."),
            Mistake("no reference", "policy_better - reference_better", "policy_better",
                    "The reference isn't used. Then nothing measures how far the policy has moved from where it started.",
                    also=(("policy_worse - reference_worse", "policy_worse"),)),
            Mistake("no beta", "beta * margin", "margin",
                    "β is missing. It says how much a change in the margin counts."),
            Mistake("beta outside", "-F.logsigmoid(beta * margin)", "-beta * F.logsigmoid(margin)",
                    "β multiplies the loss. It belongs inside the sigmoid, with the margin."),
            Mistake("no logarithm", "-F.logsigmoid(beta * margin)", "-torch.sigmoid(beta * margin)",
                    "The logarithm is missing: this is −σ, and the loss is −log σ. F.logsigmoid does both at once."),
            Mistake("logarithm twice", "policy_better - reference_better", "policy_better.log() - reference_better.log()",
                    "The result isn't a number, as after the logarithm of a negative one. The four inputs are logarithms already, and all are negative.",
                    also=(("policy_worse - reference_worse", "policy_worse.log() - reference_worse.log()"),)),
            Mistake("divided", "policy_better - reference_better", "policy_better / reference_better",
                    "You divided one log-probability by another. The inputs are logarithms already: what does a quotient of probabilities become in logarithms?",
                    also=(("policy_worse - reference_worse", "policy_worse / reference_worse"),)),
            Mistake("divided, then logarithm", "policy_better - reference_better", "(policy_better / reference_better).log()",
                    "You took the logarithm of a quotient of log-probabilities. The inputs are logarithms already, so the quotient of the probabilities is a difference here.",
                    also=(("policy_worse - reference_worse", "(policy_worse / reference_worse).log()"),)),
            Mistake("no mean", ".mean()", "",
                    "Expected one number, and this has the shape (B,), one loss per pair. Take their mean."),
        ],
        also_right=[_dpo_by_odds,
                    lambda policy_better, policy_worse, reference_better, reference_worse, beta: F.binary_cross_entropy_with_logits(
                        beta * (policy_better - reference_better - policy_worse + reference_worse),
                        torch.ones_like(policy_better))],
        hints=["A gain is a difference of log-probabilities, the policy's minus the reference's.",
               "margin = (policy_better - reference_better) - (policy_worse - reference_worse)",
               "return -F.logsigmoid(beta * margin).mean()"],
        look_at="This is a binary classifier's loss, with β times the margin as its logit.",
    ),
    Exercise(
        name="drift", title="how far has the model moved?",
        task="You have the logits (B, T, V) of two models on the same texts. counted (B, T) is True where a token is part of an answer. Return the mean of KL(policy ‖ reference) over the counted positions, in nats per token.",
        minutes=4, difficulty=3, importance=4,
        reference=drift, draw=_draw_logits,
        mistakes=[
            Mistake("the other way round", "policy.exp() * (policy - reference)", "reference.exp() * (reference - policy)",
                    "This is KL(reference ‖ policy). What counts is what the policy would write, so the weights are the policy's probabilities."),
            Mistake("weighted by the reference", "policy.exp()", "reference.exp()",
                    "The log-ratios are weighted by the reference's probabilities. Use the policy's."),
            Mistake("not weighted", "policy.exp() * (policy - reference)", "(policy - reference)",
                    "The log-ratios aren't weighted. A KL is an average under the policy, so multiply by its probabilities."),
            Mistake("mean over the vocabulary", ".sum(-1)", ".mean(-1)",
                    "The terms are averaged over the vocabulary. They are already weighted by probabilities, so add them up."),
            Mistake("prompt counted too", "per_token[counted].mean()", "per_token.mean()",
                    "All positions are counted, the prompt's and the padding's too. Take only those where counted is True."),
            Mistake("divided by all positions", "per_token[counted].mean()", "(per_token * counted).mean()",
                    "You sum over the counted positions but divide by the number of all positions. Divide by the number of counted ones."),
            Mistake("mean of means", "per_token[counted].mean()", "((per_token * counted).sum(-1) / counted.sum(-1)).mean()",
                    "You average each answer first, and then these averages, so a token of a short answer counts more. Average over all counted tokens together."),
            Mistake("per answer", "per_token[counted].mean()", "(per_token * counted).sum(-1).mean()",
                    "This is the drift per answer, so long answers seem to drift more. Divide by the number of tokens."),
        ],
        also_right=[_drift_by_torch, _drift_by_product],
        hints=["Turn both logits into log-probabilities with log_softmax(-1).",
               "Per position: add up policy probability times (policy log-probability − reference log-probability).",
               "per_token = (policy.exp() * (policy - reference)).sum(-1); return per_token[counted].mean()"],
        look_at="The policy's probabilities are the weights, so a token that it never writes can't add to the drift.",
    ),
    Exercise(
        name="majority", title="let the samples vote",
        task="answers is a list of whole numbers, one per sample, and −1 where a sample contained no number. Return the answer given most often. Samples with −1 don't vote. In a tie the answer that came up first wins. If nobody votes, return −1.",
        minutes=3, difficulty=2, importance=3,
        reference=majority, draw=lambda generator: [
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
            ([-5, 3, -5, -1, -1, -1, -1],),
            ([],)],
        mistakes=[
            Mistake("abstentions vote", "answer != -1", "True",
                    "Samples without a number vote as well. Leave out −1."),
            Mistake("zero left out", "answer != -1", "answer > 0",
                    "A 0 is an answer like any other. Leave out only −1."),
            Mistake("last in a tie", "max(votes, key", "max(list(votes)[::-1], key",
                    "In a tie the later answer wins. It should be the one that came up first."),
            Mistake("smallest in a tie", "max(votes, key", "max(sorted(votes), key",
                    "In a tie the smaller number wins. It should be the one that came up first."),
            Mistake("number of votes", "max(votes, key=votes.get, default=-1)", "max(votes.values(), default=-1)",
                    "This is how many votes the winner has. Return the winner."),
        ],
        also_right=[_majority_by_count, _majority_by_sorting],
        hints=["Count the votes in a dictionary: votes[answer] = votes.get(answer, 0) + 1.",
               "A dictionary keeps its keys in the order in which they came, and among equals max returns the first.",
               "return max(votes, key=votes.get, default=-1)"],
        look_at="The vote knows nothing about the question. It works only if wrong samples disagree with each other.",
    ),
    Exercise(
        name="group_advantages", title="better than its siblings",
        task="Each row holds the rewards of the answers to one prompt. Return how far each reward lies above its row's mean, in standard deviations of the row (divided by G, not G − 1). Add 1e-6 to the deviation.",
        minutes=3, difficulty=1, importance=5,
        pytorch="`x.std(dim=1, keepdim=True, unbiased=False)` divides by the number of entries and keeps the dimension.",
        reference=group_advantages, draw=lambda generator: [
            *((torch.rand(shape, generator=generator),) for shape in ((1, 3), (2, 4), (3, 5))),
            # One group agrees, and one nearly.
            (torch.tensor([[1.0, 0, 0, 1], [1, 1, 1, 1], [0, 0, 0, 1], [0, 0.001, 0, 0.002]]),)],
        then="The training below uses it to decide which answers to make likelier.",
        mistakes=[
            Mistake("over all prompts", "rewards.mean(dim=1, keepdim=True)", "rewards.mean()",
                    "The mean and the deviation run over all prompts, so an easy prompt makes all of its answers look good. Which answers should each one be compared with?", also=(("rewards.std(dim=1, keepdim=True, ", "rewards.std("),)),
            Mistake("over the prompts", "rewards.mean(dim=1", "rewards.mean(dim=0",
                    "Answers to different prompts are compared with each other. One row is one prompt.", also=(("rewards.std(dim=1", "rewards.std(dim=0"),)),
            Mistake("not centred", "(rewards - mean)", "rewards",
                    "No answer has a negative advantage, so even bad ones become likelier, only more slowly."),
            Mistake("not divided", " / (spread + 1e-6)", "",
                    "These are only differences from the mean. Divide them by the group's standard deviation, so that all prompts count alike, whether their rewards lie far apart or close together."),
            Mistake("nothing added", " + 1e-6", "",
                    "In a row of equal rewards this is 0/0. What should such a row teach the model?"),
            Mistake("G minus one", "unbiased=False", "unbiased=True",
                    "This standard deviation divides by G − 1. Divide by G."),
            Mistake("variance", "rewards.std(", "rewards.var(",
                    "You divided by the variance. Divide by its square root, the standard deviation."),
            Mistake("another small number", "+ 1e-6", "+ 1e-4",
                    "The deviation is right, but another number is added to it. Add 1e-6."),
        ],
        also_right=[_advantages_by_rows, lambda r: (r - r.mean(-1, True)) / (r.var(-1, unbiased=False, keepdim=True).sqrt() + 1e-6)],
        hints=["Which dimension are the answers to one prompt in?",
               "keepdim=True lets the (P, 1) means broadcast against (P, G).",
               "(rewards - mean) / (rewards.std(dim=1, keepdim=True, unbiased=False) + 1e-6)"],
        look_at="If all answers to a prompt are equally good, the prompt teaches nothing. That's why a reward that is nearly always 0 teaches next to nothing.",
    ),
    Exercise(
        name="clipped_gain", title="no further than that",
        task="Each token has a ratio: its probability now divided by its probability when it was written. Limit the ratio to 1 ± clip, multiply both the ratio and the limited ratio by the advantage, and return the smaller product. All tokens of an answer share its advantage.",
        minutes=4, difficulty=2, importance=4,
        pytorch="`x.clamp(0.8, 1.2)` limits every entry to this range, `torch.minimum(a, b)` takes the smaller of two tensors entry by entry, and `a[:, None]` turns (N,) into (N, 1).",
        reference=clipped_gain, draw=normal(
            "n t, n t", (2, 3, torch.tensor([1.0, -1.0]), 0.2),
            (3, 4, torch.tensor([1.0, -1.0, 0.5]), 0.3),
            (4, 4, torch.tensor([1.0, -1.0, 0.5, -2.0]), 0.1),
            then=lambda new, old, *rest: (-new.abs(), -old.abs(), *rest)),
        then="The training step of section 4 uses it for every token.",
        mistakes=[
            Mistake("ratio upside down", "(log_probs - old_log_probs)", "(old_log_probs - log_probs)",
                    "The ratio is upside down: a token that has become likelier gets a ratio below 1."),
            Mistake("no exponential", "(log_probs - old_log_probs).exp()", "(log_probs - old_log_probs)",
                    "This is the logarithm of the ratio. It's 0, not 1, where nothing has changed."),
            Mistake("logarithms divided", "(log_probs - old_log_probs).exp()", "log_probs / old_log_probs",
                    "These are log-probabilities, and you divided one by the other. The ratio of two probabilities is exp of the difference of their logarithms."),
            Mistake("larger of the two", "torch.minimum", "torch.maximum",
                    "The larger product is taken, so the limit never takes hold where it should."),
            Mistake("only the limited one", "torch.minimum(ratio * shared, limited * shared)", "limited * shared",
                    "Only the limited ratio is used. A bad answer that has already become likelier then has no gradient that brings it back."),
            Mistake("no limit", "torch.minimum(ratio * shared, limited * shared)", "ratio * shared",
                    "Nothing is limited, so one answer can be pushed as far as the learning rate allows."),
            Mistake("smaller ratio first", "torch.minimum(ratio * shared, limited * shared)", "torch.minimum(ratio, limited) * shared",
                    "The smaller ratio was taken before multiplying. With a negative advantage, the smaller product belongs to the larger ratio."),
        ],
        also_right=[_gain_by_cases, lambda n, o, a, c: torch.minimum((n - o).exp() * a[:, None], (n - o).exp().clamp(1 - c, 1 + c) * a[:, None])],
        hints=["A difference of logarithms is the logarithm of a ratio.",
               "Multiply both ratios by advantages[:, None], then compare.",
               "torch.minimum(ratio * shared, ratio.clamp(1 - clip, 1 + clip) * shared)"],
        look_at="At the first update on an answer every ratio is 1, so the limit does nothing. It matters when the same answers are used twice.",
    ),
    Exercise(
        name="policy_loss", title="which way is down?",
        task="The optimiser minimises the loss. Combine each token's gain and its drift (KL), which costs β per nat, and return the mean over the counted tokens as a loss.",
        minutes=3, difficulty=1, importance=4,
        reference=policy_loss, draw=_draw_gains,
        mistakes=[
            Mistake("sign", "return -", "return ",
                    "With this sign, the optimiser would make right answers rarer. Does an optimiser make the loss larger or smaller?"),
            Mistake("drift rewarded", "gain - beta * kl", "gain + beta * kl",
                    "Drift is rewarded here. It should cost something."),
            Mistake("beta missing", "beta * kl", "kl",
                    "β is missing. A nat of drift should cost β, and here it costs 1."),
            Mistake("all tokens", "worth[counted].mean()", "worth.mean()",
                    "The positions after an answer's end are counted, too, although nothing was written there."),
            Mistake("divided by all", "worth[counted].mean()", "(worth * counted).mean()",
                    "You sum over the counted tokens but divide by the number of all tokens."),
            Mistake("summed", ".mean()", ".sum()",
                    "This is a sum, so long answers move the model more. Take the mean."),
            Mistake("mean of means", "worth[counted].mean()", "((worth * counted).sum(-1) / counted.sum(-1)).mean()",
                    "You average each answer first, as the first version of GRPO did, so a token of a short answer counts more. Average over all counted tokens together."),
        ],
        also_right=[lambda g, k, c, b: ((b * k - g) * c).sum() / c.sum(),
                    lambda g, k, c, b: (b * k[c] - g[c]).mean()],
        hints=["Which quantity should grow? A loss is made to shrink.",
               "worth = gain - beta * kl, for the tokens where counted is True.",
               "-(gain - beta * kl)[counted].mean()"],
        look_at="The commonest mistake here is a wrong sign. It raises no error, and you notice it only because the reward falls.",
    ),
]
