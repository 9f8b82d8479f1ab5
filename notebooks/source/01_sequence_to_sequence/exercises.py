"""Lesson 01, sequence to sequence."""

import math

import torch

from helpers.exercises.model import Exercise, Mistake, normal


def rnn_step(x, hidden, w_x, w_h, bias):
    """Update the hidden state with one word per sentence: (B, D_in), (B, D_h) -> (B, D_h)."""
    return torch.tanh(x @ w_x + hidden @ w_h + bias)


def teacher_forcing(target_ids, bos_id):
    """Give the decoder the previous target word at every position: (B, T) -> (B, T)."""
    bos = torch.full_like(target_ids[:, :1], bos_id)
    return torch.cat([bos, target_ids[:, :-1]], dim=1)


def lstm_step(x, hidden, cell, w_x, w_h, bias):
    """Update both states of an LSTM with one word per sentence.

    Parameters
    ----------
    x : Tensor of shape (B, D_in)
    hidden, cell : Tensor of shape (B, D_h)
    w_x, w_h : Tensor of shape (D_in, 4 · D_h) and (D_h, 4 · D_h)
        Four matrices side by side: input gate, forget gate, candidate, output gate.
    bias : Tensor of shape (4 · D_h,)

    Source
    ------
    Hochreiter and Schmidhuber (1997), "Long Short-Term Memory"; the forget gate: Gers et al. (2000).
    """
    i, f, g, o = (x @ w_x + hidden @ w_h + bias).chunk(4, dim=-1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cell = f * cell + i * g
    hidden = o * cell.tanh()
    return hidden, cell


def receptive_field(kernel_size, dilations):
    """Count the positions that one output of a stack of dilated convolutions spans.

    Parameters
    ----------
    kernel_size : int
        The same in every layer.
    dilations : list of ints
        One per layer: the step from one tap (a position that the kernel reads) to the next.
    """
    return 1 + sum((kernel_size - 1) * dilation for dilation in dilations)


def layers_needed(distance, kernel_size):
    """Count the layers of a plain convolution that link two positions `distance` steps apart."""
    return math.ceil(distance / (kernel_size - 1))


def _lstm_by_pytorch(x, hidden, cell, w_x, w_h, bias):
    """Let PyTorch's own cell do it, with our matrices put in."""
    layer = torch.nn.LSTMCell(w_x.shape[0], w_h.shape[0])
    parameters = {"weight_ih": w_x.T, "weight_hh": w_h.T, "bias_ih": bias, "bias_hh": 0 * bias}
    return torch.func.functional_call(layer, parameters, (x, (hidden, cell)))


TAKEN_APART = "tanh is applied to each product. Add first, then apply tanh once, to the sum."
SHIFT_WAY = "Shifted the wrong way: each position now holds the word after the one to predict. "

# fmt: off
EXERCISES = [
    Exercise(
        name="rnn_step", title="one step of a recurrent network",
        task="Add what the new word and the old state contribute, and apply tanh to the sum. Vectors are rows here, hence x @ w_x.",
        minutes=4, difficulty=1, importance=4,
        reference=rnn_step,
        draw=normal("b i, b h, i h, h h, h", (1, 2, 2), (3, 4, 2), (2, 3, 5), scale=0.7),
        mistakes=[
            Mistake("recurrent weights transposed", "@ w_h", "@ w_h.T",
                    "w_h is used the wrong way round. Rows times matrices: hidden @ w_h, without .T."),
            Mistake("no tanh", "torch.tanh", "",
                    "The sum is returned as it is. Without tanh the whole loop is one linear map, and its numbers can grow without bound. Apply torch.tanh to the sum."),
            Mistake("bias forgotten", " + bias", "",
                    "The bias isn't added. It belongs in the sum, before tanh."),
            Mistake("bias outside the tanh", " + bias)", ") + bias",
                    "The bias is added after tanh. It belongs in the sum that tanh squashes."),
            Mistake("tanh of each product", "return", "torch.tanh(x @ w_x) + torch.tanh(hidden @ w_h) + bias", TAKEN_APART),
            Mistake("old state outside the tanh", "return", "torch.tanh(x @ w_x + bias) + hidden @ w_h",
                    "The old state's contribution is added after tanh. It belongs in the sum that tanh squashes."),
            Mistake("tanh of the new word only", "return", "torch.tanh(x @ w_x) + hidden @ w_h + bias",
                    "Only x @ w_x goes through tanh. Add all three first, then apply tanh to the sum."),
        ],
        also_right=[
            lambda x, h, w_x, w_h, bias:
            2 * torch.sigmoid(2 * (torch.cat([x, h], 1) @ torch.cat([w_x, w_h]) + bias)) - 1],
        hints=["There are three things to add: two products of a row and a matrix, each of shape (B, D_h), and a bias.",
               "The word is multiplied by w_x and the state by w_h. The rows are the batch, so nothing has to be transposed.",
               "torch.tanh(x @ w_x + hidden @ w_h + bias)"],
        pytorch="`x @ w` multiplies (B, D_in) with (D_in, D_h) into (B, D_h); adding a bias of shape (D_h,) adds it to every row.",
        then="The next cells run it as a loop over four words.",
        look_at="Every step uses the same w_x, w_h and bias, whatever its position. And no step can start before the previous one has ended.",
    ),
    Exercise(
        name="teacher_forcing", title="the decoder's input in training",
        task="Turn the target ids into the decoder's input. Shift them one position to the right, put bos_id in front, and keep the shape.",
        minutes=4, difficulty=2, importance=5,
        reference=teacher_forcing, draw=lambda generator: [
            (torch.randint(4, 90, shape, generator=generator), bos_id)
            for shape, bos_id in [((2, 3), 1), ((3, 5), 1), ((4, 6), 99), ((1, 7), 3)]],
        mistakes=[
            Mistake("not shifted", "return", "target_ids",
                    "This is the target itself, so the decoder would read the very word that it has to predict. Shift one position to the right."),
            Mistake("shifted to the left", "return", "torch.cat([target_ids[:, 1:], bos], dim=1)",
                    SHIFT_WAY + "The decoder needs the word before."),
            Mistake("no begin of sentence", "return", "target_ids[:, :-1]",
                    "bos_id is missing in front, so the first word would have no input."),
            Mistake("last word put in front", "return", "target_ids.roll(1, dims=1)",
                    "torch.roll moves the last word round to the front, so the decoder's first input is the end of the sentence. Put bos_id there."),
            Mistake("along the batch", "[:, :1]", "[:1]",
                    "The shift goes from sentence to sentence. Positions run along dimension 1, so use dim=1 and [:, :-1].",
                    also=(("target_ids[:, :-1]], dim=1", "target_ids[:-1]], dim=0"),)),
            Mistake("rolled to the left", "return", "target_ids.roll(-1, dims=1)",
                    SHIFT_WAY + "Shift to the right, and put bos_id in front."),
            Mistake("last word kept", "return", "torch.cat([bos, target_ids], dim=1)",
                    "One column too many: the last token is never an input, because no prediction comes after it. Leave it out."),
            Mistake("first word dropped", "return", "target_ids[:, 1:]",
                    "You dropped the first word. Drop the last one instead, [:, :-1], and put bos_id in front."),
        ],
        also_right=[lambda ids, bos: torch.tensor([[bos, *row[:-1]] for row in ids.tolist()])],
        hints=["Take one sentence. If bos_id is 1, the targets 5 8 2 need the inputs 1 5 8.",
               "target_ids[:, :-1] is everything but the last word. What has to come before it, and in what shape?",
               "torch.cat([torch.full_like(target_ids[:, :1], bos_id), target_ids[:, :-1]], dim=1)"],
        pytorch="`target_ids[:, :1]` is the first column, `target_ids[:, :-1]` all but the last. `torch.full_like(a, x)` is a tensor like a, filled with x, and `torch.cat([a, b], dim=1)` puts b to the right of a.",
        then="The next cell trains a translator with it.",
        look_at="full_like copies dtype and device. In teacher forcing, the inputs and the targets are the same words, one position apart.",
    ),
    Exercise(
        name="lstm_step", title="one step of an LSTM",
        task="The first line computes four sums. Turn i, f and o into gates with a sigmoid, and the candidate g into new content with tanh. Update the cell by adding, and let the output gate decide how much of it the hidden state shows. Return the hidden state and the cell, in this order.",
        minutes=6, difficulty=2, importance=3,
        reference=lstm_step,
        draw=normal("b i, b h, b h, i g, h g, g", (1, 2, 2, 8), (2, 3, 3, 12), (3, 2, 4, 16), scale=0.8),
        mistakes=[
            Mistake("input and forget gate swapped", "i, f, g, o = (x", "f, i, g, o = (x",
                    "The input gate and the forget gate have changed places. The first quarter of the sums is the input gate i, the second the forget gate f."),
            Mistake("candidate and output gate swapped", "i, f, g, o = (x", "i, f, o, g = (x",
                    "The candidate and the output gate have changed places. The third quarter of the sums is the candidate g, the last one the output gate o."),
            Mistake("tanh on the gates", "i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()", "i.tanh(), f.tanh(), g.tanh(), o.tanh()",
                    "The gates went through tanh. A gate says what share to let through, from 0 to 1, so i, f and o need a sigmoid."),
            Mistake("gates not squashed", "i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()", "i, f, g.tanh(), o",
                    "The gates are used as raw sums. A gate says what share to let through, so squash i, f and o into the range 0 to 1 with a sigmoid."),
            Mistake("returned in the other order", "return hidden, cell", "return cell, hidden",
                    "Both states are right, but in the other order. Return the hidden state first, then the cell."),
            Mistake("bias forgotten", " + bias)", ")",
                    "The bias is missing from the four sums."),
        ],
        also_right=[_lstm_by_pytorch],
        hints=[
            "Three of the four sums become gates, which say what share to let through. Which function returns numbers from 0 to 1?",
            "The new cell is a share of the old cell plus a share of the new content: f · cell + i · g, entry by entry.",
            "After sigmoid and tanh: cell = f * cell + i * g, then hidden = o * cell.tanh().",
        ],
        pytorch="`t.chunk(4, dim=-1)` cuts the last dimension into four. `torch.sigmoid(t)` and `torch.tanh(t)` work entry by entry, and so does `*`.",
        look_at="Follow the old cell through the step. It's multiplied by f and something is added, with no matrix and no tanh in between. If f is near 1, the cell arrives at the next step almost unchanged, and so does the gradient on its way back.",
    ),
    Exercise(
        name="receptive_field", title="how far a stack of convolutions reaches",
        task="Return how many positions one output of the stack spans. Count from the earliest position that it depends on to the last, both included, with everything in between.",
        minutes=5, difficulty=2, importance=2,
        reference=receptive_field,
        draw=lambda generator: [(3, [1]), (2, [1, 2, 4]), (3, [1, 2, 4, 8]), (5, [1, 1]), (4, [2, 3, 1])],
        mistakes=[
            Mistake("dilation ignored", "(kernel_size - 1) * dilation", "kernel_size - 1",
                    "Every layer counts alike here. A layer with dilation d reaches (kernel_size − 1) · d further."),
            Mistake("widths multiplied", "return", "kernel_size ** len(dilations)",
                    "The widths are multiplied, but each layer only adds to the reach. It's the doubling of the dilations that makes the sum grow fast."),
            Mistake("the position itself forgotten", "1 + sum", "sum",
                    "One too few. With no layers at all, how many positions would an output depend on?"),
            Mistake("kernel times dilations", "return", "kernel_size * sum(dilations)",
                    "Each layer counts all its k taps. Only the k − 1 gaps reach further, and the position itself counts once, at the end."),
            Mistake("widths added", "return", "sum((kernel_size - 1) * dilation + 1 for dilation in dilations)",
                    "The position itself is counted once per layer. It counts once in all, because only what reaches further is added."),
            Mistake("begins with the kernel", "1 + sum", "kernel_size + sum",
                    "The count starts with a whole kernel, so the first layer counts twice. Start with one position."),
        ],
        also_right=[lambda k, ds: (k - 1) * sum(ds) + 1],
        hints=["One layer with kernel 3 and dilation 1 spans three positions. With dilation 2 the taps (the positions that the kernel reads) are two apart, so the span is five.",
               "Each layer adds (kernel_size − 1) · dilation to the span so far. Where do you start?",
               "1 + sum((kernel_size - 1) * dilation for dilation in dilations)"],
        look_at="With dilations 1, 2, 4, … the sum doubles with each layer, so distance n takes about log n layers. Without dilation it takes n/(k − 1), and with attention one.",
    ),
    Exercise(
        name="layers_needed", title="how many layers link two words",
        task="A convolution without dilation looks at each position and at the kernel_size − 1 before it. Return how many layers it takes until a position depends on the one that is distance steps before it.",
        minutes=4, difficulty=2, importance=2,
        reference=layers_needed,
        draw=lambda generator: [(1, 2), (4, 3), (5, 3), (12, 5), (13, 5), (40, 3), (11, 4), (3, 7), (10, 8)],
        mistakes=[
            Mistake("divided by the kernel", "(kernel_size - 1)", "kernel_size",
                    "A kernel of size k reaches only k − 1 steps back, because one of its taps is the position itself."),
            Mistake("rounded down", "math.ceil", "math.floor",
                    "You rounded down (and round() does so, too, when the remainder is small). The last layer then stops short of the word. A fraction of a layer has to become a whole one."),
            Mistake("not rounded", "math.ceil", "",
                    "There is no such thing as a fraction of a layer: round up."),
            Mistake("remainder added", "return", "distance // (kernel_size - 1) + distance % (kernel_size - 1)",
                    "The remainder is added as it is. Whatever steps are left over, one more layer covers them: round up."),
            Mistake("one step a layer", "return", "distance",
                    "That is a recurrent network, one step at a time. A kernel of size k covers k − 1 steps per layer."),
            Mistake("kernel, rounded down", "return", "distance // kernel_size",
                    "You divided by the kernel and rounded down. A layer reaches k − 1 steps back, and a fraction of a layer has to become a whole one."),
        ],
        also_right=[lambda n, k: -(-n // (k - 1))],
        hints=["One layer with a kernel of 3 reaches 2 steps back. Two layers?",
               "Each layer adds kernel_size − 1 steps. How many layers cover the distance, rounded up?",
               "math.ceil(distance / (kernel_size - 1)), with import math above it"],
        look_at="The count grows in proportion to the distance, like n/(k − 1). With dilation it grows like a logarithm, and attention needs one layer at any distance.",
    ),
]
