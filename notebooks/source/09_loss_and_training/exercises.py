"""Lesson 09, loss and training."""

import math

import torch
import torch.nn.functional as F

from helpers.exercises.model import Exercise, Mistake, normal
from helpers.training import training
from helpers.transformer import losses


def perplexity(mean_losses, counts):
    """Turn the mean losses of batches (N,) with that many tokens (N,) into one perplexity."""
    total = (mean_losses * counts).sum()
    mean = total / counts.sum()
    return mean.exp()


def token_losses(logits, targets):
    """Say what each target costs in nats: logits (T, V) and ids (T,) -> (T,)."""
    log_probs = logits.log_softmax(-1)
    picked = log_probs.gather(-1, targets[:, None]).squeeze(-1)
    return -picked


def unigram_entropy(counts):
    """Compute the loss of a model that knows only how often each word occurs: (V,) -> nats."""
    shares = counts / counts.sum()
    return -(shares * shares.log()).sum()


def flattering_loss(log_probs, targets, pad_id):
    """Average −log p of the targets over real tokens: (B, T, V), (B, T), an id -> nats."""
    picked = log_probs.gather(-1, targets[..., None]).squeeze(-1)
    real = targets != pad_id
    return -(picked * real).sum() / real.sum()


# The solutions as a learner would write them; known mistakes are edits of these texts.


def _loss(logits, targets, pad_id):
    log_probs = logits.log_softmax(-1)
    picked = log_probs.gather(-1, targets[..., None]).squeeze(-1)
    real = targets != pad_id
    kept = picked * real
    loss = -kept.sum() / real.sum()
    return loss


def _smooth(targets, vocab_size, epsilon):
    one_hot = F.one_hot(targets, vocab_size)
    kept = one_hot * (1 - epsilon)
    share = epsilon / vocab_size
    return kept + share


def _rate(step, d_model, warmup_steps):
    rising = step * warmup_steps**-1.5
    falling = step**-0.5
    rate = min(rising, falling)
    return d_model**-0.5 * rate


# Logits, targets and the padding's id; the batches' rows differ in length.
_draw_loss = normal(
    "b t v",
    (2, 3, 4, torch.tensor([[2, 1, 3], [3, 0, 0]]), 0),
    (3, 4, 6, torch.tensor([[1, 0, 2, 3], [2, 5, 5, 5], [0, 4, 1, 5]]), 5),
)


def _after(falls):
    """Make a schedule with the right warm-up and peak that falls in its own way afterwards."""

    def rate(step, d_model, warmup_steps):
        peak = 1 / math.sqrt(d_model * warmup_steps)
        rises = step / warmup_steps
        return peak * (rises if rises <= 1 else falls(rises))

    return rate


PLACE = "return kept + share"

# fmt: off
EXERCISES = [
    Exercise(
        name="token_losses", title="one loss per token",
        task="Return −log p of the right word at each position.",
        pytorch="`x.log_softmax(-1)` is the logarithm of the softmax along the last dimension. `x.gather(-1, targets[:, None])` picks one number per row, at the target's column: (T, V) and (T, 1) give (T, 1), and `.squeeze(-1)` makes it (T,).",
        minutes=4, difficulty=2, importance=5,
        then="The next cell uses it to find where our translator hesitates.",
        reference=token_losses, draw=normal(  # T and V differ
            "t v", (2, 4, torch.tensor([3, 1])), (5, 3, torch.tensor([0, 2, 1, 1, 0])),
            (4, 7, torch.tensor([6, 2, 0, 5])), scale=2),
        mistakes=[
            Mistake("sign forgotten", "-picked", "picked",
                    "These are the log-probabilities, which are negative. A loss is minus the log-probability, so that lower is better."),
            Mistake("no softmax", ".log_softmax(-1)", "",
                    "The logits are used as if they were log-probabilities. log_softmax(-1) turns them into log-probabilities."),
            Mistake("softmax twice", "logits.log_softmax", "logits.softmax(-1).log_softmax",
                    "The logits go through a softmax and then through log_softmax, which contains one already. Pass it the logits."),
            Mistake("probability of the right word", "-picked", "picked.exp()",
                    "These are the probabilities of the right words. The loss is minus their logarithm."),
            Mistake("one minus the probability", "-picked", "1 - picked.exp()",
                    "This is 1 − p, which is never more than 1. The loss is −log p, which grows without limit as p goes to 0."),
        ],
        also_right=[lambda logits, targets: F.cross_entropy(logits, targets, reduction="none")],
        hints=["The first gap turns logits into log-probabilities, along the words of the vocabulary. Lesson 08 has a function for it.",
               "The second gap needs only a sign: a factor of 1 or −1.",
               "log_probs = logits.log_softmax(-1), and at the end multiply what gather picked by -1."],
        look_at="log_softmax is safer than a softmax followed by a logarithm, which would round a very small probability to 0 and return −∞.",
    ),
    Exercise(
        name="unigram_entropy", title="unigram entropy",
        task="Turn counts into shares that sum to 1, and return −Σ f log f in nats. Every count is at least 1.",
        minutes=3, difficulty=2, importance=3,
        then="The next cell compares French with English.",
        reference=unigram_entropy, draw=lambda generator: [
            (torch.tensor([1, 3]),),
            (torch.tensor([5, 2, 9]),),
            (torch.randint(1, 20, (6,), generator=generator),)],
        mistakes=[
            Mistake("sign forgotten", "-(", "(",
                    "The sign is missing. Logarithms of shares are negative, and the entropy is minus their weighted mean."),
            Mistake("counts not normalised", "counts / counts.sum()", "counts.float()",
                    "The counts are used as they are. Divide them by their sum first, so that they become shares."),
            Mistake("not weighted", "(shares * shares.log()).sum()", "shares.log().mean()",
                    "Every word has the same weight here. A frequent word adds its loss more often: multiply each logarithm by its share, then sum."),
            Mistake("in bits", "return", "result / math.log(2)",
                    "The logarithm has base 2, so this is in bits. Use the natural logarithm."),
            Mistake("log V", "return", "torch.tensor(float(len(counts))).log()",
                    "This is log V, the landmark of a model that doesn't even know how frequent the words are."),
        ],
        also_right=[lambda counts: torch.distributions.Categorical(counts / counts.sum()).entropy()],
        pytorch="`t / t.sum()` turns counts into shares; `t.log()` is the natural logarithm.",
        hints=[
            "shares = counts / counts.sum() sums to 1.",
            "A word with the share f has a loss of −log f, and f is also the share of positions where it occurs.",
            "-(shares * shares.log()).sum()",
        ],
        look_at="With equal counts this is log V. Any other counts have a lower entropy.",
    ),
    Exercise(
        name="flattering_loss", title="find the bug: a loss that flatters",
        task="The function should return the mean of −log p(target) over the real tokens. Read the two printed numbers, then fix the two mistakes.",
        minutes=4, difficulty=3, importance=5,
        reference=flattering_loss, draw=lambda generator: [  # as below, with log-probabilities
            (logits.log_softmax(-1), *rest) for logits, *rest in _draw_loss(generator)],
        mistakes=[
            Mistake("still as it was", "log_probs.gather(-1, targets[..., None]).squeeze(-1)", "log_probs.amax(-1)",
                    "Compare the two printed losses. Should a model that's sure of a wrong word have such a low loss? And should columns of padding change it?", also=((".sum() / real.sum()", ".mean()"),)),
            Mistake("the favourite instead of the target", "log_probs.gather(-1, targets[..., None]).squeeze(-1)", "log_probs.amax(-1)",
                    "amax picks the model's favourite word, right or wrong, so a model that is sure of nonsense has hardly any loss. Pick the target's log-probability, with gather."),
            Mistake("divided by all positions", ".sum() / real.sum()", ".mean()",
                    "Padding is set to zero, but mean() still divides by all positions, so more padding gives a lower loss. Divide the sum by real.sum()."),
            Mistake("sign forgotten", "-(", "(",
                    "The loss is negative and falls as the model gets worse. Put a minus in front of the mean."),
            Mistake("padding counted", "targets != pad_id", "torch.ones_like(targets)",
                    "Padding counts as if it were a word. Only positions with targets != pad_id are real."),
            Mistake("averaged by sentence first", "return", "-((picked * real).sum(1) / real.sum(1)).mean()",
                    "Each sentence is averaged first, then the sentences, so a word in a short sentence counts for more. Take one mean over all real tokens."),
        ],
        also_right=[
            lambda log_probs, targets, pad: F.nll_loss(log_probs.flatten(0, 1), targets.flatten(), ignore_index=pad),
        ],
        hints=[
            "The model gives nearly all of the probability to a wrong word, but the loss is nearly 0. Which word's log-probability does the first line pick?",
            "With three times as many columns, the loss is only a third as large. What does mean() divide by?",
            "log_probs.gather(-1, targets[..., None]).squeeze(-1) picks the targets' log-probabilities. Sum them over the real tokens, and divide by real.sum().",
        ],
        look_at="The sum and the number you divide by now count the same tokens, the real ones.",
    ),
    Exercise(
        name="cross_entropy", title="cross-entropy over real tokens",
        task="Average −log p(target) over the positions that aren't padding. You start from logits.",
        pytorch="`targets[..., None]` adds a dimension at the end, (B, T) to (B, T, 1), which `gather(-1, …)` needs. A bool tensor counts as 0 and 1: `x * real` zeroes the rest, and `real.sum()` counts.",
        trained=True, minutes=6, difficulty=3, importance=5,
        then="The next cells compare it with PyTorch's, and train with it.",
        reference=losses.cross_entropy, plain=_loss, draw=_draw_loss,
        mistakes=[
            Mistake("sign forgotten", "-kept", "kept",
                    "The sign is missing. Logarithms of probabilities are negative, so minimising this would make the model worse. Put a minus in front."),
            Mistake("padding counted", "targets != pad_id", "torch.ones_like(targets)",
                    "Padding counts as if it were a word, so the model is rewarded for writing nothing. Take the mean over targets != pad_id only."),
            Mistake("divided by all positions", "real.sum()", "real.numel()",
                    "Padding adds nothing to the sum, and yet the sum is divided by all positions. Divide by how many are real: (targets != pad_id).sum()."),
            Mistake("averaged by sentence first", "return", "-(kept.sum(1) / real.sum(1)).mean()",
                    "Each sentence is averaged first, then the sentences, so a word in a short sentence counts for more. Take one mean over all real tokens."),
            Mistake("softmax twice", "logits.log_softmax", "logits.softmax(-1).log_softmax",
                    "The logits go through a softmax and then through log_softmax, which contains one already. The second one makes everything nearly equal. Pass it the logits."),
            Mistake("summed instead of averaged", " / real.sum()", "",
                    "This is the sum. A batch with more words would count for more, and you'd have to adapt the learning rate. Divide by the number of real tokens."),
            Mistake("not averaged", "return", "-kept",
                    "This is one loss per position. Training needs a single number: their mean over the real tokens."),
        ],
        also_right=[
            lambda logits, targets, pad: F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad),
        ],
        hints=["log_softmax(-1) turns logits into log-probabilities. From each position you need one of them: the target's.",
               "log_probs.gather(-1, targets[..., None]).squeeze(-1) picks them, in the shape (B, T).",
               "real = targets != pad_id says what counts. Multiply by it, sum, and divide by real.sum().",
               "-(picked * real).sum() / real.sum()"],
        look_at="One danger is left. In a batch of nothing but padding, 0/0 would turn every weight of the model into NaN, so the course's loss divides by at least 1.",
    ),
    Exercise(
        name="smooth_targets", title="label smoothing",
        task="Give the right class 1 − ε and spread ε evenly over all classes, the right one included. Every row sums to 1.",
        minutes=5, difficulty=2, importance=3,
        then="The next reveal uses it to find out how low a loss with smoothed targets can get.",
        reference=losses.smooth_targets, plain=_smooth, draw=lambda generator: [
            (torch.tensor([1, 3, 0]), 4, 0.1),
            (torch.randint(0, 5, (2, 3), generator=generator), 5, 0.3),
            (torch.randint(0, 7, (3, 4), generator=generator), 7, 0.2)],
        mistakes=[
            Mistake("no share for the right class", PLACE, "return kept + (1 - one_hot) * share",
                    "The right class has 1 − ε, so the rows sum to less than 1. It gets its share of ε, too: ε / vocab_size."),
            Mistake("not smoothed", PLACE, "return one_hot.float()",
                    "These are the plain targets, all on the right class. Take ε away from it and spread it."),
            Mistake("rows sum to more than 1", "epsilon / vocab_size", "epsilon / (vocab_size - 1)",
                    "ε is divided by V − 1 but given to all V classes, so the rows sum to more than 1. Divide by vocab_size."),
            Mistake("spread over the wrong classes only", PLACE,
                    "return kept + (1 - one_hot) * epsilon / (vocab_size - 1)",
                    "ε is spread over the wrong classes only. Some people do that, but "
                    "F.cross_entropy, like the paper that introduced it, spreads ε over all "
                    "classes: ε/V each, so the right class has 1 − ε + ε/V."),
            Mistake("nothing taken away", " * (1 - epsilon)", "",
                    "The rows sum to 1 + ε. Before you spread ε, subtract it from the right class: one_hot * (1 − ε)."),
            Mistake("all of ε to every class", PLACE, "return one_hot + (1 - one_hot) * epsilon",
                    "Every class gets the whole ε. It should be shared: ε / vocab_size each."),
            Mistake("nothing spread", "kept + share", "kept",
                    "ε is taken from the right class and given to none, so the rows sum to 1 − ε. Add ε / vocab_size to every class."),
            Mistake("all of ε to every wrong class", PLACE, "return kept + (1 - one_hot) * epsilon",
                    "Every wrong class gets the whole ε, so the rows sum to more than 1. It's shared among all classes: ε / vocab_size each."),
        ],
        also_right=[lambda ids, v, e: torch.lerp(torch.eye(v)[ids], torch.full((v,), 1 / v), e)],
        pytorch="`F.one_hot(ids, n)` adds a last dimension of size n with a single 1 per id, in whole numbers; `.float()` makes them fractions.",
        hints=["F.one_hot(targets, vocab_size) gives a row of zeros with a single 1 per target.",
               "There are two things to add: (1 − ε) times the one-hot row, and ε times the even distribution, 1/V per class.",
               "F.one_hot(targets, vocab_size) * (1 - epsilon) + epsilon / vocab_size"],
        look_at="F.cross_entropy smooths without ever building these rows, because the even part is just a mean of all log-probabilities.",
    ),
    Exercise(
        name="warmup_rate", title="the learning rate of the paper",
        task="Compute d_model^−0.5 · min(step^−0.5, step · warmup_steps^−1.5). Steps are counted from 1.",
        pytorch="In Python `2**-0.5` is 2 to the power of −0.5, and `min(a, b)` the smaller of two numbers.",
        minutes=4, difficulty=1, importance=3,
        then="The next cell trains a small model at your rate.",
        reference=training.warmup_rate, plain=_rate,
        draw=lambda generator: [  # before, at and after the end of the warm-up
            (1, 16, 4), (3, 9, 10), (5, 64, 5), (9, 16, 4), (40, 25, 10), (5, 25, 4)],
        mistakes=[
            Mistake("no warm-up", "min(rising, falling)", "falling",
                    "There is no warm-up, so the rate is highest at the first step, when Adam's estimates are poorest. Take the smaller of the two curves."),
            Mistake("width forgotten", "d_model**-0.5 * ", "",
                    "The rate doesn't depend on the model's width. Wider models get a lower rate: d_model ** -0.5."),
            Mistake("larger instead of smaller", "min(", "max(",
                    "This takes the larger of the two curves: high at first, and then rising for ever. Take min."),
            Mistake("linear decay", _after(lambda rises: max(2 - rises, 0)),
                    "After the warm-up the rate falls in a straight line. The paper's falls as step^−0.5 and never reaches 0."),
            Mistake("no decay", "falling = step**-0.5", "falling = warmup_steps**-0.5",
                    "After the warm-up the rate stays constant. It should fall as step^−0.5."),
        ],
        also_right=[lambda step, d, warmup: min(1 / math.sqrt(step), step / warmup**1.5) / math.sqrt(d)],
        hints=["There are two curves. One rises in a straight line, the other falls as one over a square root. Which one is lower before they meet?",
               "In Python x^−0.5 is x ** -0.5.",
               "d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)"],
        look_at="At step = warmup_steps both curves give warmup_steps^−0.5, which is what the exponent −1.5 is for. There the rate peaks, at 1/√(d_model · warmup_steps).",
    ),
    Exercise(
        name="perplexity", title="perplexity of several batches",
        task="Each batch has a mean loss in nats per token and a number of real tokens. Return the perplexity of all tokens together.",
        minutes=4, difficulty=2, importance=3,
        reference=perplexity, draw=lambda generator: [
            (torch.tensor([1.0, 2.0]), torch.tensor([3, 1])),
            (torch.rand(4, generator=generator) * 2 + 0.5, torch.tensor([2, 7, 1, 4])),
            (torch.rand(6, generator=generator) * 3, torch.tensor([5, 1, 3, 3, 8, 2]))],
        mistakes=[
            Mistake("all batches alike", "total / counts.sum()", "mean_losses.mean()",
                    "Every batch counts the same, however few tokens it has. Every token should count the same, so weight each mean by its count."),
            Mistake("perplexities averaged", "    total", "    mean_losses = mean_losses.exp()\n    total",
                    "The perplexities are averaged. Average the losses first, and take exp of that; otherwise a bad batch would count far too much.",
                    also=(("mean.exp()", "mean"),)),
            Mistake("no exponential", "mean.exp()", "mean",
                    "This is the mean loss. Perplexity is its exponential: the number of equally likely words that would give the same loss."),
            Mistake("base 2", "mean.exp()", "2**mean",
                    "This is 2 to the loss, which would be right for a loss in bits. For nats the base is e: exp."),
            Mistake("not divided", " / counts.sum()", "",
                    "This is e to the loss of all tokens together, which is one over the probability of the whole text. Divide by the number of tokens first: counts.sum()."),
            Mistake("one for each batch", "return", "mean_losses.exp()",
                    "This is one perplexity per batch. The exercise asks for one number over all tokens."),
        ],
        also_right=[
            lambda losses, counts: losses.repeat_interleave(counts).mean().exp(),
            lambda losses, counts: math.exp(
                sum(loss * n for loss, n in zip(losses.tolist(), counts.tolist(), strict=True))
                / sum(counts.tolist())
            ),
        ],
        pytorch="`(a * b).sum()` adds up products; `t.exp()` is e to that power.",
        hints=["How large is the loss of all the tokens of one batch together?",
               "Divide the sum of all losses by the number of all tokens, then take the exponential.",
               "((mean_losses * counts).sum() / counts.sum()).exp()"],
        look_at="The exponential comes last. A perplexity is never below 1, and a model that finds all words equally likely has perplexity V.",
    ),
]
