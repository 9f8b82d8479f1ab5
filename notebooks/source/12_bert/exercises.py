"""Lesson 12, BERT."""

import torch
import torch.nn.functional as F

from helpers.exercises.model import Exercise, Mistake, normal
from helpers.models import bert


def pair_input(first, second, cls_id, sep_id):
    """Join two lists of ids into BERT's input and number its segments: (S,) and (S,)."""
    ids = [cls_id, *first, sep_id, *second, sep_id]
    segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return torch.tensor(ids), torch.tensor(segments)


def pooled_output(hidden, weight, bias):
    """Apply BERT's pooler: (B, S, D), (D, D), (D,) -> (B, D)."""
    first = hidden[:, 0]
    return torch.tanh(first @ weight.T + bias)


def lora_forward(x, w, a, b, alpha):
    """Apply a linear layer and its low-rank correction: (..., D_in) -> (..., D_out)."""
    rank = a.shape[0]
    correction = x @ a.T @ b.T
    return x @ w.T + alpha / rank * correction


def lora_merge(w, a, b, alpha):
    """Add the correction to the matrix once and for all: (D_out, D_in)."""
    rank = a.shape[0]
    return w + alpha / rank * (b @ a)


# The solutions as a learner would write them; known mistakes are edits of these texts.


def _mask(token_ids, chosen, uniform, random_ids, mask_id):
    input_ids = token_ids.clone()
    hidden = chosen & (uniform < 0.8)
    swapped = chosen & (uniform >= 0.8) & (uniform < 0.9)
    input_ids[hidden] = mask_id
    input_ids[swapped] = random_ids[swapped]
    return input_ids


def _mlm_loss(logits, token_ids, chosen):
    log_probs = logits.log_softmax(-1)
    right = log_probs.gather(-1, token_ids[..., None]).squeeze(-1)
    return -right[chosen].mean()


def _mean_pool(hidden, token_ids, pad_id):
    real = (token_ids != pad_id)[..., None]
    return (hidden * real).sum(1) / real.sum(1)


def draw_masking(generator):
    """Ids, chosen positions, lots of all three kinds among chosen and others, random ids."""
    for shape, mask_id in (((1, 6), 4), ((2, 7), 3), ((3, 10), 103)):
        ids = torch.randint(5, 90, shape, generator=generator)
        chosen = torch.rand(shape, generator=generator) < 0.6
        chosen[:, :4] = torch.tensor([True, True, True, False])
        uniform = torch.rand(shape, generator=generator) * 0.7 + 0.05
        uniform[:, :4] = torch.tensor([0.4, 0.85, 0.95, 0.85])
        uniform[:, 4:6] = torch.tensor([0.3, 0.93])
        uniform[0, 1], uniform[-1, 2] = 0.8, 0.9  # the limits themselves
        yield ids, chosen, uniform, torch.randint(110, 190, shape, generator=generator), mask_id


def draw_logits(generator):
    """Logits, ids and chosen positions: a different number of them in every sentence."""
    for batch, length, vocabulary in ((2, 3, 4), (2, 5, 7), (3, 6, 5)):
        logits = torch.randn(batch, length, vocabulary, generator=generator)
        ids = torch.randint(vocabulary, (batch, length), generator=generator)
        chosen = torch.zeros(batch, length, dtype=torch.bool)
        for row in range(batch):
            chosen[row, 1 : 2 + row % (length - 1)] = True
        chosen[-1, -1] = True
        ids[0, 1] = 0  # chosen, and a token like any other
        yield logits, ids, chosen


# Inputs, a matrix, two thin ones and alpha; all sizes differ.
draw_lora = normal("b i, o i, r i, o r", (2, 3, 5, 2, 6.0), (4, 6, 4, 3, 2.0), (3, 5, 7, 2, 8.0))


SCALE = (
    "The correction should be multiplied by alpha divided by the rank, and the rank is a.shape[0]."
)
# fmt: off
EXERCISES = [
    Exercise(
        name="mask_tokens", title="80, 10, 10",
        task="chosen is True where a token has to be predicted. uniform holds a random number from 0 to 1 per position and decides what becomes of a chosen token. If its number is below 0.8, the token becomes mask_id. If the number is at least 0.8 but below 0.9, it becomes the token in random_ids. From 0.9 on, it stays as it is. Leave token_ids itself unchanged.",
        minutes=5, difficulty=2, importance=4,
        reference=bert.mask_tokens, plain=_mask, draw=draw_masking,
        mistakes=[
            Mistake("always the mask", "chosen & (uniform < 0.8)", "chosen",
                    "Every chosen token becomes mask_id. A tenth of them should become a random token and a tenth should stay.", also=(("chosen & (uniform >= 0.8) & (uniform < 0.9)", "chosen & (uniform > 2)"),)),
            Mistake("others masked too", "chosen & (uniform < 0.8)", "uniform < 0.8",
                    "Only the chosen positions may change, but a comparison with uniform alone "
                    "changes others, too."),
            Mistake("others swapped too", "chosen & (uniform >= 0.8)", "(uniform >= 0.8)",
                    "Some tokens that weren't chosen become random too. What has to be true of a token before its number matters?"),
            Mistake("nothing is kept", "& (uniform < 0.9)", "",
                    "Every chosen token that isn't masked becomes a random token. From 0.9 on, a chosen token should stay as it is."),
            Mistake("no random tokens", "    input_ids[swapped] = random_ids[swapped]\n", "",
                    "Where uniform is between 0.8 and 0.9, the tokens stay as they are. They should become the token in random_ids."),
            Mistake("shares exchanged", "[hidden] = mask_id", "[swapped] = mask_id",
                    "80% of the chosen tokens become random and 10% become mask_id. It should be the other way round.", also=(("input_ids[swapped] = random_ids[swapped]", "input_ids[hidden] = random_ids[hidden]"),)),
            Mistake("unchosen ones blanked", "return", "torch.where(chosen, result, 0)",
                    "Tokens that weren't chosen are set to 0. The model needs them, because they tell it what could fill the gaps."),
        ],
        also_right=[
            lambda ids, chosen, uniform, other, mask: torch.where(
                ~chosen | (uniform >= 0.9), ids, torch.where(uniform < 0.8, torch.full_like(ids, mask), other)
            ),
        ],
        hints=["The first gap is a single id, the same for every hidden token.",
               "swapped starts with chosen, like the condition above it, but here the entry in uniform is between two limits. Join the three conditions with & and put each comparison in brackets.",
               "mask_id, and chosen & (uniform >= 0.8) & (uniform < 0.9)"],
        look_at="Nothing in the result shows which tokens were chosen. That's why the loss needs `chosen`.",
    ),
    Exercise(
        name="masked_lm_loss", title="the loss at the gaps",
        task="Return the mean cross-entropy, in nats, over the chosen positions of the whole batch, and over nothing else.",
        minutes=3, difficulty=2, importance=5,
        reference=bert.masked_lm_loss, plain=_mlm_loss, draw=draw_logits,
        mistakes=[
            Mistake("all positions", "right[chosen]", "right",
                    "All positions count. The model sees the tokens that weren't hidden, so it could reach a low loss just by copying them. Use the chosen positions only."),
            Mistake("all but the chosen", "right[chosen]", "right[~chosen]",
                    "Only the tokens that nobody hid count here. The loss is about the chosen ones."),
            Mistake("id 0 ignored", "right[chosen]", "right[chosen & (token_ids != 0)]",
                    "Chosen tokens whose id is 0 don't count. With ignore_index=0 the id 0 marks what to leave out, but here it's a token like any other."),
            Mistake("all but id 0", "right[chosen]", "right[token_ids != 0]",
                    "All positions count except those with id 0. ignore_index=0 leaves out one particular token, but the loss should leave out every position that isn't chosen."),
            Mistake("sum", ".mean()", ".sum()",
                    "This is the sum. Divide by the number of chosen positions, so that the loss doesn't depend on how many there are."),
            Mistake("sign", "-right", "right",
                    "The sign is missing. Log-probabilities are negative, and the loss is minus their mean."),
            Mistake("divided by all positions", "right[chosen].mean()", "(right * chosen).mean()",
                    "The sum over the chosen positions is divided by the number of all positions. Divide by the number of chosen ones."),
            Mistake("mean of means", "-right[chosen].mean()", "-((right * chosen).sum(-1) / chosen.sum(-1)).mean()",
                    "You average each sentence first, and then these averages. A gap in a sentence with few gaps counts more that way than one among many. Average once, over all chosen positions of the batch."),
            Mistake("no softmax", ".log_softmax(-1)", "",
                    "The logits are used as they are. log_softmax turns them into log-probabilities."),
            Mistake("softmax twice", ".log_softmax(-1)", ".softmax(-1).log_softmax(-1)",
                    "A softmax is applied before log_softmax, which already contains one."),
        ],
        also_right=[
            lambda logits, ids, chosen: F.cross_entropy(
                logits.flatten(0, 1), ids.masked_fill(~chosen, -100).flatten(), ignore_index=-100
            ),
        ],
        hints=["logits[chosen] keeps the chosen positions: (N, V).",
               "F.cross_entropy takes logits (N, V) and ids (N,), and averages over the N rows.",
               "F.cross_entropy(logits[chosen], token_ids[chosen])"],
        look_at="A boolean index flattens (B, S) into one dimension, so the batch needs no loop.",
    ),
    Exercise(
        name="pair_input", title="find the bug: two texts in one input",
        task="BERT reads two texts as [CLS] first [SEP] second [SEP]. Segment 0 goes up to and including the first [SEP], and segment 1 is the rest. Fix the two mistakes.",
        minutes=4, difficulty=2, importance=3,
        reference=pair_input,
        draw=lambda generator: [  # two lists of ids of different lengths, and the two special ids
            ([7, 8], [9], 1, 2), ([5, 6], [7, 8, 9], 101, 102), ([11, 12, 13, 14], [15, 16], 3, 4)],
        mistakes=[
            Mistake("still as it was", "*second, sep_id]", "*second]",
                    "Compare the printed ids with the form in the task, position by position. Which ids should there be? And which of the two texts does each of them belong to?", also=(("(len(first) + 2)", "(len(first) + 1)"),)),
            Mistake("segments without their [SEP]", "*second, sep_id]", "*second]",
                    "The segments are right, but the ids have no [SEP] at the end."),
            Mistake("no second [SEP]", "*second, sep_id]", "*second]",
                    "The second text doesn't end with [SEP]. Both texts should.", also=(("(len(second) + 1)", "len(second)"),)),
            Mistake("no first [SEP]", "*first, sep_id, *second", "*first, *second",
                    "Nothing separates the two texts. A [SEP] follows the first one.", also=(("(len(first) + 2)", "(len(first) + 1)"),)),
            Mistake("no [CLS]", "[cls_id, *first", "[*first",
                    "The input doesn't begin with [CLS].", also=(("(len(first) + 2)", "(len(first) + 1)"),)),
            Mistake("texts exchanged", "*first, sep_id, *second", "*second, sep_id, *first",
                    "The second text comes first.", also=(("[0] * (len(first) + 2) + [1] * (len(second) + 1)", "[0] * (len(second) + 2) + [1] * (len(first) + 1)"),)),
        ],
        also_right=[
            lambda first, second, cls_id, sep_id: (
                torch.tensor([cls_id] + first + [sep_id] + second + [sep_id]),
                (torch.arange(len(first) + len(second) + 3) >= len(first) + 2).long(),
            ),
        ],
        hints=["Write the input for two words and one word on paper, and the segments below it.",
               "Both texts end with a [SEP], so there are three special tokens.",
               "Segment 0 has len(first) + 2 tokens, segment 1 has len(second) + 1."],
        look_at="Segments work like positions. There's a learned table of two rows, and each token gets one of them added to its embedding.",
    ),
    Exercise(
        name="mean_pool", title="mean pooling",
        task="Average each text's vectors over its real tokens: (B, S, D) -> (B, D). Padding, where token_ids equals pad_id, must not count.",
        minutes=4, difficulty=2, importance=5,
        reference=bert.mean_pool, plain=_mean_pool,
        draw=normal(  # padding of another id each time, somewhere behind the words
            "b s d", (2, 3, 4, torch.tensor([[5, 7, 0], [4, 0, 0]]), 0),
            (2, 5, 4, torch.tensor([[1, 2, 9, 9, 9], [3, 7, 4, 5, 9]]), 9),
            (3, 4, 4, torch.tensor([[3, 8, 6, 2], [5, 2, 2, 2], [4, 5, 2, 2]]), 2),
            then=lambda hidden, ids, pad_id: (hidden + 0.5, ids, pad_id)),
        mistakes=[
            Mistake("padding counted", "return", "hidden.mean(1)",
                    "The padding is averaged too, so a text's vector depends on how long its neighbours in the batch are."),
            Mistake("divided by the padded length", "/ real.sum(1)", "/ hidden.shape[1]",
                    "The sum leaves the padding out, but the divisor counts it. Divide by the number of real tokens."),
            Mistake("padding in the sum", "(hidden * real)", "hidden",
                    "The divisor is right, but the sum still contains the padding."),
            Mistake("sum", " / real.sum(1)", "",
                    "This is the sum, which grows with the length of the text. Divide by the number of real tokens."),
            Mistake("first token", "return", "hidden[:, 0]",
                    "This is the vector of the first token, [CLS] in BERT. The task asks for the mean."),
            Mistake("last token", "return", "hidden[:, -1]",
                    "This is the vector at the last position. In most texts that's padding."),
            Mistake("largest entries", "return", "hidden.masked_fill(~real, -1e9).amax(1)",
                    "This is the largest entry per column, max pooling. The task asks for the mean."),
        ],
        also_right=[
            lambda hidden, ids, pad: torch.stack([
                vectors[row != pad].mean(0) for vectors, row in zip(hidden, ids, strict=True)
            ]),
        ],
        hints=["real = token_ids != pad_id is (B, S). Give it a last dimension of size 1, so that it multiplies whole vectors.",
               "(hidden * real).sum(1) leaves the padding out of the sum. How do you count each text's real tokens?",
               "(hidden * real).sum(1) / real.sum(1), with real of shape (B, S, 1)."],
        look_at="The mask appears twice, in the sum and in the divisor.",
    ),
    Exercise(
        name="pooled_output", title="BERT's pooler",
        task="BERT's pooler takes the vector of the first position, applies a linear layer and then tanh. weight is stored as in nn.Linear, so multiply by its transpose.",
        minutes=3, difficulty=1, importance=3,
        reference=pooled_output, draw=normal("b s d, d d, d", (1, 3, 2), (2, 5, 3), (3, 2, 4)),
        mistakes=[
            Mistake("the raw vector", "return", "hidden[:, 0]",
                    "This is the vector of [CLS] as it is. The pooler applies a linear layer and tanh to it."),
            Mistake("no tanh", "torch.tanh(first @ weight.T + bias)", "first @ weight.T + bias",
                    "The tanh is missing. It squashes every entry into the range −1 to 1."),
            Mistake("no bias", " + bias", "",
                    "The bias is missing. It is added before the tanh."),
            Mistake("tanh first", "torch.tanh(first @ weight.T + bias)", "torch.tanh(first) @ weight.T + bias",
                    "tanh comes before the linear layer here. It belongs after it."),
            Mistake("bias after tanh", "torch.tanh(first @ weight.T + bias)", "torch.tanh(first @ weight.T) + bias",
                    "The bias is added after tanh. It's part of the linear layer, inside the tanh."),
        ],
        also_right=[lambda hidden, weight, bias: F.linear(hidden, weight, bias).tanh()[:, 0]],
        hints=["hidden[:, 0] takes the first position of every text: (B, D).",
               "A linear layer is x @ weight.T + bias.",
               "torch.tanh(hidden[:, 0] @ weight.T + bias)"],
        look_at="The pooler's output is not the [CLS] vector. All entries lie between −1 and 1.",
    ),
    Exercise(
        name="lora_forward", title="a low-rank correction",
        task="Return x W^T plus LoRA's correction: x goes through A, then through B, and the result is multiplied by alpha divided by the rank. All matrices are stored as in nn.Linear: w (D_out, D_in), a (rank, D_in), b (D_out, rank).",
        minutes=5, difficulty=3, importance=5,
        reference=lora_forward, draw=draw_lora,
        mistakes=[
            Mistake("no scale", "alpha / rank * correction", "correction", SCALE),
            Mistake("alpha alone", "alpha / rank", "alpha", SCALE),
            Mistake("divided by the input's width", "a.shape[0]", "a.shape[1]",
                    "alpha is divided by D_in, the width of the input. A is stored as (rank, D_in), so the rank is a.shape[0]."),
            Mistake("correction alone", "x @ w.T + alpha", "alpha",
                    "The frozen matrix is missing. The correction should be added to x @ w.T."),
            Mistake("no correction", "return", "x @ w.T",
                    "This is the frozen layer without its correction."),
            Mistake("scaled as a whole", "x @ w.T + alpha / rank * correction", "alpha / rank * (x @ w.T + correction)",
                    "The frozen layer is scaled as well. alpha / rank belongs to the correction alone."),
        ],
        also_right=[lambda x, w, a, b, alpha: F.linear(x, w + alpha / len(a) * (b @ a))],
        hints=["x @ a.T is (..., rank). Which product brings it to D_out?",
               "correction = x @ a.T @ b.T",
               "x @ w.T + alpha / a.shape[0] * correction"],
        look_at="If x @ a.T comes first, the product B A, a matrix as large as W, never has to be computed.",
    ),
    Exercise(
        name="lora_merge", title="merge the correction",
        task="Return one matrix (D_out, D_in) that computes what the frozen matrix and its correction compute together.",
        minutes=3, difficulty=2, importance=4,
        reference=lora_merge, draw=lambda generator: [case[1:] for case in draw_lora(generator)],
        mistakes=[
            Mistake("no scale", "alpha / rank * (b @ a)", "b @ a", SCALE),
            Mistake("alpha alone", "alpha / rank", "alpha", SCALE),
            Mistake("correction alone", "w + alpha", "alpha",
                    "This is the correction without the frozen matrix."),
            Mistake("no correction", "return", "w",
                    "This is the frozen matrix without its correction."),
            Mistake("scaled as a whole", "w + alpha / rank * (b @ a)", "alpha / rank * (w + b @ a)",
                    "The frozen matrix is scaled as well. alpha / rank belongs to the correction alone."),
        ],
        also_right=[lambda w, a, b, alpha: torch.addmm(w, b, a, alpha=alpha / a.shape[0])],
        hints=["x A^T B^T = x (B A)^T. Which matrix can you therefore add to W?",
               "b @ a is (D_out, D_in), like w.",
               "w + alpha / a.shape[0] * (b @ a)"],
        look_at="The merged layer is as fast as the original one, because nothing is left of the two thin matrices.",
    ),
]
