"""Lesson 09, loss and training."""

import math

import torch
import torch.nn.functional as F

from helpers import losses, training
from helpers.exercises.model import Exercise, Mistake


def perplexity(mean_losses, counts):
    """Turn the mean losses of several batches into one perplexity.

    Parameters
    ----------
    mean_losses : Tensor of shape (N,)
        Nats per token, one number for each batch.
    counts : integer Tensor of shape (N,)
        How many real tokens each batch has.

    Returns
    -------
    perplexity : scalar Tensor
    """
    mean = (mean_losses * counts).sum() / counts.sum()
    return mean.exp()


def _draw_loss(generator):
    """Logits, targets and the padding's id; the batches' rows differ in length."""

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    return [
        (normal(2, 3, 4), torch.tensor([[2, 1, 3], [3, 0, 0]]), 0),
        (normal(3, 4, 6), torch.tensor([[1, 0, 2, 3], [2, 5, 5, 5], [0, 4, 1, 5]]), 5),
    ]


def _draw_targets(generator):
    return [
        (torch.tensor([1, 3, 0]), 4, 0.1),
        (torch.randint(0, 5, (2, 3), generator=generator), 5, 0.3),
        (torch.randint(0, 7, (3, 4), generator=generator), 7, 0.2),
    ]


def _draw_steps(generator):
    """Before, at and after the end of the warm-up."""
    return [(1, 16, 4), (3, 9, 10), (5, 64, 5), (9, 16, 4), (40, 25, 10), (5, 25, 4)]


def _draw_perplexity(generator):
    return [
        (torch.tensor([1.0, 2.0]), torch.tensor([3, 1])),
        (torch.rand(4, generator=generator) * 2 + 0.5, torch.tensor([2, 7, 1, 4])),
        (torch.rand(6, generator=generator) * 3, torch.tensor([5, 1, 3, 3, 8, 2])),
    ]


def _loss(axis=-1, twice=False, mean="real", padding=True, of_log=True):
    """Make a cross-entropy that goes wrong in the ways asked for."""

    def loss(logits, targets, pad_id):
        if twice:
            logits = logits.softmax(-1)
        said = logits.log_softmax(axis) if of_log else logits.softmax(axis)
        each = -said.gather(-1, targets[..., None])[..., 0]
        real = targets != pad_id
        if padding:
            each = each * real
        if mean == "sum":
            return each.sum()
        if mean == "sentences":
            return (each.sum(1) / real.sum(1)).mean()
        return each.sum() / real.sum() if mean == "real" else each.mean()

    return loss


def _loss_by_loops(logits, targets, pad_id):
    found = []
    for sentence, words in zip(logits, targets.tolist(), strict=True):
        for row, word in zip(sentence, words, strict=True):
            if word != pad_id:
                found.append(row.exp().sum().log() - row[word])
    return torch.stack(found).mean()


def _smooth_by_mixing(targets, vocab_size, epsilon):
    even = torch.full((vocab_size,), 1 / vocab_size)
    return torch.lerp(torch.eye(vocab_size)[targets], even, epsilon)


def _smooth_by_filling(targets, vocab_size, epsilon):
    rows = torch.full((*targets.shape, vocab_size), epsilon / vocab_size)
    return rows.scatter(-1, targets[..., None], 1 - epsilon + epsilon / vocab_size)


def _smooth(right_class, others):
    """Make a target of these two numbers, functions of ε and V."""

    def smooth(targets, vocab_size, epsilon):
        is_right = F.one_hot(targets, vocab_size).bool()
        numbers = torch.tensor([others(epsilon, vocab_size), right_class(epsilon, vocab_size)])
        return numbers.float()[is_right.long()]

    return smooth


def _rate_by_cases(step, d_model, warmup_steps):
    peak = 1 / math.sqrt(d_model * warmup_steps)
    if step < warmup_steps:
        return peak * step / warmup_steps
    return peak * math.sqrt(warmup_steps / step)


def _after(falls):
    """Make a schedule with the right warm-up and peak that falls in its own way afterwards."""

    def rate(step, d_model, warmup_steps):
        peak = 1 / math.sqrt(d_model * warmup_steps)
        rises = step / warmup_steps
        return peak * (rises if rises <= 1 else falls(rises))

    return rate


EXERCISES = [
    Exercise(
        name="cross_entropy",
        title="cross-entropy over real tokens",
        task="Average −log p(target) over the positions that are not padding. What comes in are logits.",
        minutes=8,
        difficulty=3,
        importance=5,
        reference=losses.cross_entropy,
        draw=_draw_loss,
        mistakes=[
            Mistake(
                "padding counted",
                _loss(padding=False, mean="all"),
                "Padding counts as if it were a word. The model would be praised for writing nothing. Take the mean over targets != pad_id only.",
            ),
            Mistake(
                "all words of the vocabulary averaged",
                lambda logits, targets, pad_id: -logits.log_softmax(-1)[targets != pad_id].mean(),
                "The log-probabilities of all words are averaged. Only the target's counts: pick it, with gather.",
            ),
            Mistake(
                "divided by all positions",
                _loss(mean="all"),
                "Padding adds nothing to the sum, and yet the sum is divided by all positions. Divide by how many are real: (targets != pad_id).sum().",
            ),
            Mistake(
                "summed instead of averaged",
                _loss(mean="sum"),
                "This is the sum. A batch with more words would count for more, and the rate would have to know. Divide by the number of real tokens.",
            ),
            Mistake(
                "averaged by sentence first",
                _loss(mean="sentences"),
                "Each sentence is averaged, then the sentences: a word in a short sentence counts for more. Take one mean over all real tokens.",
            ),
            Mistake(
                "sign forgotten",
                lambda *given: -losses.cross_entropy(*given),
                "The sign is missing: logarithms of probabilities are negative, and making this small would make the model worse. Put a minus in front.",
            ),
            Mistake(
                "softmax twice",
                _loss(twice=True),
                "The logits go through a softmax and then through log_softmax, which has one inside. The second one makes everything nearly equal. Give it the logits.",
            ),
            Mistake(
                "no softmax",
                lambda logits, targets, pad: F.nll_loss(
                    logits.flatten(0, 1), targets.flatten(), ignore_index=pad
                ),
                "The logits are taken for log-probabilities. They become that by log_softmax(-1).",
            ),
            Mistake(
                "no logarithm",
                _loss(of_log=False),
                "This is minus the probability. The loss is minus its logarithm, which grows without end as the probability of the right word goes to 0.",
            ),
            Mistake(
                "in bits",
                lambda *given: losses.cross_entropy(*given) / math.log(2),
                "The logarithm has base 2, so this is in bits. The course, like F.cross_entropy, counts in nats: the natural logarithm.",
            ),
            Mistake(
                "softmax over the positions",
                _loss(axis=1),
                "The softmax runs over the positions of a sentence. At each position the words of the vocabulary share the probability: the last axis.",
            ),
            Mistake(
                "padding taken to be 0",
                lambda logits, targets, pad: losses.cross_entropy(logits, targets, 0),
                "The targets are compared with 0 and not with pad_id, which may be another number.",
            ),
            Mistake(
                "not averaged",
                lambda logits, targets, pad: F.cross_entropy(
                    logits.transpose(1, 2), targets, ignore_index=pad, reduction="none"
                ),
                "This is a loss for every position. Training needs one number: their mean over the real tokens.",
            ),
            Mistake(
                "divided by the real positions only",
                lambda logits, targets, pad: (
                    F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
                    / (targets != pad).sum()
                ),
                "The number of real tokens is right, but padding is still in the sum. Set its losses to zero before you add up.",
            ),
            Mistake(
                "only padding counted",
                lambda logits, targets, pad: F.cross_entropy(
                    logits[targets == pad], targets[targets == pad]
                ),
                "The mask is the wrong way round: this is the loss of the padding alone. What is real is targets != pad_id.",
            ),
            Mistake(
                "perplexity",
                lambda *given: losses.cross_entropy(*given).exp(),
                "This is the perplexity, the exponential of the loss. Leave out the exp.",
            ),
            Mistake(
                "sign forgotten + padding counted",
                lambda logits, targets, pad: (
                    -F.cross_entropy(logits.flatten(0, 1), targets.flatten())
                ),
            ),
            Mistake(
                "padding counted + softmax twice", _loss(padding=False, mean="all", twice=True)
            ),
            Mistake(
                "padding counted + summed instead of averaged", _loss(padding=False, mean="sum")
            ),
        ],
        also_right=[
            lambda logits, targets, pad: F.cross_entropy(
                logits.flatten(0, 1), targets.flatten(), ignore_index=pad
            ),
            _loss_by_loops,
        ],
        hints=[
            "log_softmax(-1) turns logits into log-probabilities. From each position you need one of them: the target's.",
            "log_probs.gather(-1, targets[..., None]).squeeze(-1) picks them, in the shape (B, T).",
            "real = targets != pad_id says what counts. Multiply by it, sum, and divide by real.sum().",
            "-(picked * real).sum() / real.sum()",
        ],
        look_at="clamp(min=1) looks after a batch of nothing but padding: the loss is 0 there, where 0/0 would make every weight of the model NaN.",
    ),
    Exercise(
        name="smooth_targets",
        title="label smoothing",
        task="Give the right class 1 − ε and spread ε evenly over all classes, the right one included. Every row sums to 1.",
        minutes=5,
        difficulty=2,
        importance=3,
        reference=losses.smooth_targets,
        draw=_draw_targets,
        mistakes=[
            Mistake(
                "not smoothed",
                _smooth(lambda e, n: 1, lambda e, n: 0),
                "These are the plain targets, all on the right class. Take ε away from it and spread it.",
            ),
            Mistake(
                "rows sum to more than 1",
                _smooth(lambda e, n: 1 - e + e / (n - 1), lambda e, n: e / (n - 1)),
                "ε is divided by V − 1 but given to all V classes, so the rows sum to more than 1. Divide by vocab_size.",
            ),
            Mistake(
                "spread over the wrong classes only",
                _smooth(lambda e, n: 1 - e, lambda e, n: e / (n - 1)),
                "ε is spread over the wrong classes only. That is done too, but F.cross_entropy, and the paper that brought it, spread it over all: ε/V each, and the right class has 1 − ε + ε/V.",
            ),
            Mistake(
                "right class left out of the share",
                _smooth(lambda e, n: 1 - e, lambda e, n: e / n),
                "The rows do not sum to 1. The right class gets its share of ε too: 1 − ε + ε/V.",
            ),
            Mistake(
                "nothing taken away",
                _smooth(lambda e, n: 1 + e / n, lambda e, n: e / n),
                "The rows sum to 1 + ε. What is spread has to be taken from the right class first: one_hot * (1 − ε).",
            ),
            Mistake(
                "all of ε to every class",
                _smooth(lambda e, n: 1, lambda e, n: e),
                "Every class gets the whole ε. It is shared: ε / vocab_size each.",
            ),
            Mistake(
                "ε and 1 − ε swapped",
                _smooth(lambda e, n: e + (1 - e) / n, lambda e, n: (1 - e) / n),
                "ε and 1 − ε have changed places: the right class keeps only ε. With ε = 0 it should have everything.",
            ),
            Mistake(
                "nothing spread",
                _smooth(lambda e, n: 1 - e, lambda e, n: 0),
                "ε is taken from the right class and given to nobody: the rows sum to 1 − ε. Add ε / vocab_size to every class.",
            ),
            Mistake(
                "all of ε to every wrong class",
                _smooth(lambda e, n: 1 - e, lambda e, n: e),
                "Every wrong class gets the whole ε, so the rows sum to more than 1. It is shared among all classes: ε / vocab_size each.",
            ),
            Mistake(
                "everything even",
                _smooth(lambda e, n: 1 / n, lambda e, n: 1 / n),
                "All classes are equal. The right one has 1 − ε more than the others.",
            ),
            Mistake(
                "spread over the wrong classes only + ε and 1 − ε swapped",
                _smooth(lambda e, n: e, lambda e, n: (1 - e) / (n - 1)),
            ),
            Mistake(
                "spread over the wrong classes only + nothing taken away",
                _smooth(lambda e, n: 1, lambda e, n: e / (n - 1)),
            ),
        ],
        also_right=[_smooth_by_mixing, _smooth_by_filling],
        hints=[
            "F.one_hot(targets, vocab_size) gives a row of zeros with a single 1 for each target.",
            "Two things to add: (1 − ε) of the one-hot row, and ε of the even distribution, 1/V for each class.",
            "F.one_hot(targets, vocab_size) * (1 - epsilon) + epsilon / vocab_size",
        ],
        look_at="The rows sum to 1, whatever the axes before. F.cross_entropy never builds them: the even part is the mean of all log-probabilities, which costs no memory.",
    ),
    Exercise(
        name="warmup_rate",
        title="the learning rate of the paper",
        task="Compute d_model^−0.5 · min(step^−0.5, step · warmup_steps^−1.5). Steps are counted from 1.",
        minutes=4,
        difficulty=1,
        importance=3,
        reference=training.warmup_rate,
        draw=_draw_steps,
        mistakes=[
            Mistake(
                "no warm-up",
                lambda step, d, warmup: d**-0.5 * step**-0.5,
                "There is no warm-up: the rate is highest at the first step, when Adam knows least. Take the smaller of the two curves.",
            ),
            Mistake(
                "larger instead of smaller",
                lambda step, d, warmup: d**-0.5 * max(step**-0.5, step * warmup**-1.5),
                "This takes the larger of the two curves: high at first, and then rising for ever. Take min.",
            ),
            Mistake(
                "exponential decay",
                _after(lambda rises: math.exp(1 - rises)),
                "After the warm-up the rate falls exponentially. The paper's falls as one over the square root of the step, which is far slower.",
            ),
            Mistake(
                "linear decay",
                _after(lambda rises: max(2 - rises, 0)),
                "After the warm-up the rate falls in a straight line. The paper's falls as step^−0.5 and never reaches 0.",
            ),
            Mistake(
                "cosine decay",
                _after(lambda rises: (1 + math.cos(math.pi * min(rises - 1, 1))) / 2),
                "After the warm-up the rate falls like a cosine, as many later models have it. The paper's falls as step^−0.5 and never reaches 0.",
            ),
            Mistake(
                "width always 512",
                lambda step, d, warmup: training.warmup_rate(step, 512, warmup),
                "512 belongs to the paper. Take d_model.",
            ),
            Mistake(
                "no decay",
                _after(lambda rises: 1),
                "After the warm-up the rate stays where it is. It should fall as step^−0.5.",
            ),
            Mistake(
                "falls as one over the step",
                _after(lambda rises: 1 / rises),
                "After the warm-up the rate falls as 1/step. It should be one over the square root.",
            ),
            Mistake(
                "width forgotten",
                lambda step, d, warmup: min(step**-0.5, step * warmup**-1.5),
                "The width of the model does not enter. Wider models get a lower rate: d_model ** -0.5.",
            ),
            Mistake(
                "root of the width forgotten",
                lambda step, d, warmup: min(step**-0.5, step * warmup**-1.5) / d,
                "The rate is divided by d_model. It should be its square root: d_model ** -0.5.",
            ),
            Mistake(
                "multiplied by the root of the width",
                lambda step, d, warmup: d**0.5 * min(step**-0.5, step * warmup**-1.5),
                "Wider models get a higher rate here. The exponent is negative: d_model ** -0.5.",
            ),
            Mistake(
                "counted from 0",
                lambda step, d, warmup: training.warmup_rate(step + 1, d, warmup),
                "Every rate comes one step early, as if the steps were counted from 0. Use step as it is.",
            ),
            Mistake(
                "warm-up too steep",
                lambda step, d, warmup: d**-0.5 * min(step**-0.5, step / warmup),
                "The two curves do not meet at the end of the warm-up. The straight line has the slope warmup_steps ** -1.5.",
            ),
            Mistake(
                "width forgotten + larger instead of smaller",
                lambda step, d, warmup: max(step**-0.5, step * warmup**-1.5),
            ),
            Mistake("no warm-up + width forgotten", lambda step, d, warmup: step**-0.5),
        ],
        also_right=[
            _rate_by_cases,
            lambda step, d, warmup: min(1 / math.sqrt(step), step / warmup**1.5) / math.sqrt(d),
        ],
        hints=[
            "Two curves: one rises in a straight line, one falls as one over a square root. Which of them is lower before they meet?",
            "In Python x^−0.5 is x ** -0.5.",
            "d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)",
        ],
        look_at="At step = warmup_steps both curves give warmup_steps^−0.5: that is what the exponent −1.5 is for. The peak is then 1/√(d_model · warmup_steps).",
    ),
    Exercise(
        name="perplexity",
        title="perplexity of several batches",
        task="Each batch has a mean loss in nats per token and a number of real tokens. Return the perplexity of all tokens together.",
        minutes=4,
        difficulty=2,
        importance=3,
        reference=perplexity,
        draw=_draw_perplexity,
        mistakes=[
            Mistake(
                "all batches alike",
                lambda losses, counts: losses.mean().exp(),
                "Every batch counts alike, however few tokens it has. A token is what should count: weight each mean by its count.",
            ),
            Mistake(
                "perplexities averaged",
                lambda losses, counts: (losses.exp() * counts).sum() / counts.sum(),
                "The perplexities are averaged. Average the losses first, and take exp of that: a bad batch would count far too much otherwise.",
            ),
            Mistake(
                "no exponential",
                lambda losses, counts: perplexity(losses, counts).log(),
                "This is the mean loss. Perplexity is its exponential: among how many equally likely words the model hesitates.",
            ),
            Mistake(
                "base 2",
                lambda losses, counts: 2 ** perplexity(losses, counts).log(),
                "This is 2 to the loss, which would be right for a loss in bits. Nats go with e: exp.",
            ),
            Mistake(
                "losses taken for sums",
                lambda losses, counts: (losses.sum() / counts.sum()).exp(),
                "The losses are treated as sums over their tokens. They are means: multiply each by its count first.",
            ),
            Mistake(
                "divided by the number of batches",
                lambda losses, counts: (losses * counts).mean().exp(),
                "The sum over all tokens is divided by the number of batches. Divide by the number of tokens: counts.sum().",
            ),
            Mistake(
                "not divided",
                lambda losses, counts: (losses * counts).sum().exp(),
                "This is e to the loss of all tokens together, one over the probability of the whole text. Divide by the number of tokens first: counts.sum().",
            ),
            Mistake(
                "one over it",
                lambda losses, counts: 1 / perplexity(losses, counts),
                "This is below 1: it is the (geometric) mean of the probabilities of the right tokens. Perplexity is one over that: the exponent is plus the loss.",
            ),
            Mistake(
                "one for each batch",
                lambda losses, counts: losses.exp(),
                "This is a perplexity for each batch. The exercise asks for one number over all tokens.",
            ),
            Mistake("all batches alike + no exponential", lambda losses, counts: losses.mean()),
            Mistake(
                "all batches alike + perplexities averaged",
                lambda losses, counts: losses.exp().mean(),
            ),
            Mistake("all batches alike + base 2", lambda losses, counts: 2 ** losses.mean()),
        ],
        also_right=[
            lambda losses, counts: losses.repeat_interleave(counts).mean().exp(),
            lambda losses, counts: math.exp(
                sum(loss * n for loss, n in zip(losses.tolist(), counts.tolist(), strict=True))
                / sum(counts.tolist())
            ),
        ],
        hints=[
            "How large is the loss of all the tokens of one batch together?",
            "Sum of all losses over number of all tokens, and then the exponential.",
            "((mean_losses * counts).sum() / counts.sum()).exp()",
        ],
        look_at="The exponential comes last. It is never below 1; a model that knows nothing but the size of the vocabulary has perplexity V.",
    ),
]
