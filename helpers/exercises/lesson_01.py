"""Lesson 01, sequence to sequence."""

import math

import torch

from helpers.exercises.model import Exercise, Mistake


def rnn_step(x, hidden, w_x, w_h, bias):
    """Take one word into the hidden state.

    Parameters
    ----------
    x : Tensor of shape (B, D_in)
        The words that come in now, one for each sentence.
    hidden : Tensor of shape (B, D_h)
        What is remembered of the words before.
    w_x, w_h : Tensor of shape (D_in, D_h) and (D_h, D_h)
    bias : Tensor of shape (D_h,)

    Returns
    -------
    hidden : Tensor of shape (B, D_h)
    """
    return torch.tanh(x @ w_x + hidden @ w_h + bias)


def teacher_forcing(target_ids, bos_id):
    """Give the decoder, at every place, the true word before the one it is to write.

    Parameters
    ----------
    target_ids : integer Tensor of shape (B, T)
        What the decoder is to write.
    bos_id : int
        Begin of sentence.

    Returns
    -------
    decoder_input_ids : integer Tensor of shape (B, T)
    """
    bos = torch.full_like(target_ids[:, :1], bos_id)
    return torch.cat([bos, target_ids[:, :-1]], dim=1)


def receptive_field(kernel_size, dilations):
    """Count how far one output of a stack of convolutions sees, from the first position to the last.

    With dilations that leave no gap, such as 1, 2, 4, it depends on every position in between.

    Parameters
    ----------
    kernel_size : int
        The same in every layer.
    dilations : list of ints
        One for each layer: the step from one tap (a place that the kernel looks at) to the next.

    Returns
    -------
    positions : int
    """
    return 1 + sum((kernel_size - 1) * dilation for dilation in dilations)


def layers_needed(distance, kernel_size):
    """Count the layers of a plain convolution that link two positions.

    Parameters
    ----------
    distance : int
        Steps from one position to the other.
    kernel_size : int
        At least 2. Every layer looks at a position and at the kernel_size − 1 before it.

    Returns
    -------
    layers : int
    """
    return math.ceil(distance / (kernel_size - 1))


def _draw_rnn(generator):
    def normal(*shape):
        return torch.randn(shape, generator=generator) * 0.7

    return [
        tuple(normal(*shape) for shape in [(b, i), (b, h), (i, h), (h, h), (h,)])
        for b, i, h in [(1, 2, 2), (3, 4, 2), (2, 3, 5)]
    ]


def _rnn(activation=torch.tanh, bias=True, transposed=False, inside=True):
    """Make a recurrent step that goes wrong in the ways asked for."""

    def step(x, hidden, w_x, w_h, b):
        b = b if bias else torch.zeros_like(b)
        both = x @ w_x + hidden @ (w_h.T if transposed else w_h)
        return activation(both + b) if inside else activation(both) + b

    return step


def _rnn_by_concatenation(x, hidden, w_x, w_h, bias):
    both = torch.cat([x, hidden], dim=1) @ torch.cat([w_x, w_h])
    return 2 * torch.sigmoid(2 * (both + bias)) - 1


def _rnn_by_loops(x, hidden, w_x, w_h, bias):
    rows = []
    for word, state in zip(x, hidden, strict=True):
        columns = range(len(bias))
        rows.append([(word @ w_x[:, j] + state @ w_h[:, j] + bias[j]).tanh() for j in columns])
    return torch.stack([torch.stack(row) for row in rows])


def _draw_targets(generator):
    def ids(*shape):
        return torch.randint(4, 90, shape, generator=generator)

    return [(ids(2, 3), 1), (ids(3, 5), 1), (ids(4, 6), 99)]


def _shift_by_roll(target_ids, bos_id):
    shifted = target_ids.roll(1, dims=1)
    shifted[:, 0] = bos_id
    return shifted


def _overwritten(target_ids, bos_id):
    ids = target_ids.clone()
    ids[:, 0] = bos_id
    return ids


def _with(column, ids, front=True):
    both = [torch.full_like(ids[:, :1], column), ids]
    return torch.cat(both if front else both[::-1], dim=1)


EXERCISES = [
    Exercise(
        name="rnn_step",
        title="one step of a recurrent network",
        task="Add what the new word says and what the old state says, and squash the sum with tanh. Rows times matrices: x @ w_x.",
        minutes=6,
        difficulty=1,
        importance=4,
        reference=rnn_step,
        draw=_draw_rnn,
        mistakes=[
            Mistake(
                "no tanh",
                _rnn(lambda z: z),
                "The sum comes out as it is. Without tanh the whole loop is one linear map, and its numbers can grow without end. Put torch.tanh around the sum.",
            ),
            Mistake(
                "sigmoid instead of tanh",
                _rnn(torch.sigmoid),
                "This squashes into 0 to 1. The state of this cell lives between −1 and 1: torch.tanh.",
            ),
            Mistake(
                "ReLU instead of tanh",
                _rnn(torch.relu),
                "ReLU cuts off what is negative and lets the rest grow. This cell uses torch.tanh.",
            ),
            Mistake(
                "bias forgotten",
                _rnn(bias=False),
                "The bias is not added. It goes into the sum, before tanh.",
            ),
            Mistake(
                "bias outside the tanh",
                _rnn(inside=False),
                "The bias is added after tanh. It belongs into the sum that tanh squashes.",
            ),
            Mistake(
                "old state ignored",
                lambda x, h, w_x, w_h, b: torch.tanh(x @ w_x + b),
                "The result does not depend on the old state, so nothing is remembered. Add hidden @ w_h.",
            ),
            Mistake(
                "new word ignored",
                lambda x, h, w_x, w_h, b: torch.tanh(h @ w_h + b),
                "The result does not depend on x: the network does not read. Add x @ w_x.",
            ),
            Mistake(
                "recurrent weights transposed",
                _rnn(transposed=True),
                "w_h is used the wrong way round. Rows times matrices: hidden @ w_h, without .T.",
            ),
            Mistake(
                "old state added again",
                lambda x, h, w_x, w_h, b: h + rnn_step(x, h, w_x, w_h, b),
                "The old state is added once more outside tanh. That is a residual connection, and it comes in lesson 07; this cell has none.",
            ),
            Mistake(
                "tanh of each product",
                lambda x, h, w, u, b: torch.tanh(x @ w) + torch.tanh(h @ u) + b,
                "tanh is taken of each product. Add first, then squash the sum once.",
            ),
            Mistake("no tanh + bias forgotten", _rnn(lambda z: z, bias=False)),
            Mistake("recurrent weights transposed + no tanh", _rnn(lambda z: z, transposed=True)),
            Mistake(
                "tanh of each product, bias inside",
                lambda x, h, w, u, b: torch.tanh(x @ w + b) + torch.tanh(h @ u),
                "tanh is taken twice, of each part. Add all three first, then squash the sum once.",
            ),
            Mistake(
                "old state outside the tanh",
                lambda x, h, w, u, b: torch.tanh(x @ w + b) + h @ u,
                "What the old state says is added after tanh. It belongs into the sum that tanh squashes.",
            ),
            Mistake(
                "tanh of the new word only",
                lambda x, h, w, u, b: torch.tanh(x @ w) + h @ u + b,
                "Only x @ w_x goes through tanh. Add all three first, then squash the sum.",
            ),
            Mistake(
                "old state without its matrix",
                lambda x, h, w, u, b: torch.tanh(x @ w + h + b),
                "The old state is added as it is. It goes through its own matrix first: hidden @ w_h.",
            ),
        ],
        also_right=[_rnn_by_concatenation, _rnn_by_loops],
        hints=[
            "Two products of a row and a matrix, and a bias: three things to add, all of shape (B, D_h).",
            "The word goes through w_x, the state through w_h. The batch is the rows, so nothing needs a transpose.",
            "torch.tanh(x @ w_x + hidden @ w_h + bias)",
        ],
        look_at="The same w_x, w_h and bias serve every step: the network has no idea at which position it is, and the next step cannot start before this one has ended.",
    ),
    Exercise(
        name="teacher_forcing",
        title="the decoder's input in training",
        task="From the target ids make what the decoder is given: shifted one place to the right, begin of sentence in front, the same shape.",
        minutes=6,
        difficulty=2,
        importance=5,
        reference=teacher_forcing,
        draw=_draw_targets,
        mistakes=[
            Mistake(
                "not shifted",
                lambda ids, bos: ids.clone(),
                "This is the target itself: the decoder would be given the very word it is to predict. Shift one place to the right.",
            ),
            Mistake(
                "shifted to the left",
                lambda ids, bos: _with(bos, ids[:, 1:], front=False),
                "Shifted the wrong way: each place now holds the word after the one to predict. The decoder is given the word before.",
            ),
            Mistake(
                "first word overwritten",
                _overwritten,
                "The first word is replaced, the others have not moved. Everything moves one place to the right, and the last word drops out.",
            ),
            Mistake(
                "last word not dropped",
                lambda ids, bos: _with(bos, ids),
                "There is one word too many. The last target is never an input, since nothing comes after it: target_ids[:, :-1].",
            ),
            Mistake(
                "no begin of sentence",
                lambda ids, bos: ids[:, :-1].clone(),
                "The begin of sentence is missing in front, so the first word would have no input.",
            ),
            Mistake(
                "last word put in front",
                lambda ids, bos: ids.roll(1, dims=1),
                "torch.roll brings the last word round to the front: the decoder starts with the end. Put bos_id there.",
            ),
            Mistake(
                "rolled through the batch",
                lambda ids, bos: ids.roll(1),
                "roll without dims runs over all sentences as one row. Say dims=1, and put bos_id in front.",
            ),
            Mistake(
                "first word kept",
                lambda ids, bos: torch.cat([ids[:, :1], ids[:, :-1]], 1),
                "Shifted rightly, but the first place still holds the first word. Put bos_id there.",
            ),
            Mistake(
                "along the batch",
                lambda ids, bos: torch.cat([torch.full_like(ids[:1], bos), ids[:-1]]),
                "The shift goes from sentence to sentence. Positions are axis 1: dim=1, and [:, :-1].",
            ),
            Mistake(
                "zero in front",
                lambda ids, bos: _with(0, ids[:, :-1]),
                "The first id is 0, which means padding in this course. Use bos_id.",
            ),
            Mistake(
                "begin of sentence taken to be 1",
                lambda ids, bos: _with(1, ids[:, :-1]),
                "The first id is always 1. It is 1 in this course, but the function is told which it is: bos_id.",
            ),
            Mistake("last word not dropped + zero in front", lambda ids, bos: _with(0, ids)),
            Mistake(
                "copied while it is read",
                lambda ids, bos: torch.cat(
                    [torch.full_like(ids[:, :1], bos), ids[:, :1].expand(-1, ids.shape[1] - 1)], 1
                ),
                "The first word has run through the whole row: a tensor was shifted into itself, and what was to be read had been overwritten. Read from target_ids, write into a new tensor, or use torch.cat.",
            ),
            Mistake(
                "rolled to the left",
                lambda ids, bos: ids.roll(-1, dims=1),
                "Shifted the wrong way: each place now holds the word after the one to predict. Shift to the right, and put bos_id in front.",
            ),
            Mistake(
                "first word dropped",
                lambda ids, bos: ids[:, 1:].clone(),
                "The first word is gone. It is the last that drops out, [:, :-1]; and bos_id comes in front.",
            ),
            Mistake(
                "begin of sentence at the end",
                lambda ids, bos: _with(bos, ids[:, :-1], front=False),
                "bos_id stands at the end, and nothing has moved. It belongs in front: torch.cat([bos, target_ids[:, :-1]], dim=1).",
            ),
        ],
        also_right=[
            _shift_by_roll,
            lambda ids, bos: torch.tensor([[bos, *row[:-1]] for row in ids.tolist()]),
        ],
        hints=[
            "Write it for one sentence: targets 5 8 2 need inputs 1 5 8, if 1 begins a sentence.",
            "target_ids[:, :-1] is everything but the last word. What has to stand before it, and in which shape?",
            "torch.cat([torch.full_like(target_ids[:, :1], bos_id), target_ids[:, :-1]], dim=1)",
        ],
        look_at="full_like takes over type and device. Inputs and targets are the same words, one place apart; that is all there is to teacher forcing.",
    ),
    Exercise(
        name="receptive_field",
        title="how far a stack of convolutions sees",
        task="Return how far one output of the stack sees: from the earliest position it depends on to the last, both counted, and all between. (Dilations 1, 2, 4, … leave none of them out.)",
        minutes=5,
        difficulty=2,
        importance=2,
        reference=receptive_field,
        draw=lambda generator: [(3, [1]), (2, [1, 2, 4]), (3, [1, 2, 4, 8]), (5, [1, 1])],
        mistakes=[
            Mistake(
                "dilation ignored",
                lambda k, ds: 1 + (k - 1) * len(ds),
                "Every layer counts the same here. A layer with dilation d reaches (kernel_size − 1) · d further.",
            ),
            Mistake(
                "widths multiplied",
                lambda k, ds: k ** len(ds),
                "The widths are multiplied. Each layer adds to the reach; only because dilations double does the sum grow like a power.",
            ),
            Mistake(
                "the position itself forgotten",
                lambda k, ds: sum((k - 1) * d for d in ds),
                "One too few: the position itself is seen too.",
            ),
            Mistake(
                "kernel times dilations",
                lambda k, ds: k * sum(ds),
                "Each layer counts its k taps in full. Only the k − 1 gaps reach further; the position itself counts once, at the end.",
            ),
            Mistake(
                "kernel one too wide",
                lambda k, ds: 1 + sum(k * d for d in ds),
                "A kernel of size k has k − 1 gaps between its taps, and only gaps reach further.",
            ),
            Mistake(
                "last layer only",
                lambda k, ds: 1 + (k - 1) * ds[-1],
                "This is the reach of the last layer alone. The layers below add theirs.",
            ),
            Mistake(
                "both sides counted",
                lambda k, ds: 1 + 2 * sum((k - 1) * d for d in ds),
                "The reach is counted twice. A kernel covers (k − 1) · d further positions in all, however they lie around the middle.",
            ),
            Mistake(
                "widths added",
                lambda k, ds: sum((k - 1) * d + 1 for d in ds),
                "The position itself is counted once in every layer. It counts once in all: only what reaches further is added.",
            ),
            Mistake(
                "kernel times layers",
                lambda k, ds: k * len(ds),
                "The kernels' taps are counted, layer by layer. They overlap, and dilation moves them apart: each layer reaches (kernel_size − 1) · d further.",
            ),
            Mistake(
                "begins with the kernel",
                lambda k, ds: k + (k - 1) * sum(ds),
                "The count begins with a whole kernel, so the first layer counts twice. Begin with one position.",
            ),
            Mistake(
                "kernel forgotten",
                lambda k, ds: 1 + sum(ds),
                "Every kernel is taken to have two taps. One of size k has k − 1 steps of d between its taps.",
            ),
        ],
        also_right=[
            lambda k, ds: (k - 1) * sum(ds) + 1,
            lambda k, ds: len(
                {
                    sum(t)
                    for t in torch.cartesian_prod(*[torch.arange(k) * d for d in ds])
                    .reshape(-1, len(ds))
                    .tolist()
                }
            ),
        ],
        hints=[
            "One layer, kernel 3, dilation 1: three positions. With dilation 2 the taps (the places that the kernel looks at) are two apart, so from the first to the last it is five.",
            "Each layer adds (kernel_size − 1) · dilation to what is seen already. Where do you start?",
            "1 + sum((kernel_size - 1) * dilation for dilation in dilations)",
        ],
        look_at="With dilations 1, 2, 4, … the sum doubles with each layer, so distance n takes about log n layers. Without dilation it takes n/(k − 1), and with attention one.",
    ),
    Exercise(
        name="layers_needed",
        title="how many layers link two words",
        task="A convolution looks at each position and at the kernel_size − 1 before it, without dilation. Return how many layers it takes until a position depends on the one that stands distance steps before it.",
        minutes=4,
        difficulty=2,
        importance=2,
        reference=layers_needed,
        draw=lambda generator: [(1, 2), (4, 3), (5, 3), (12, 5), (13, 5), (40, 3)],
        mistakes=[
            Mistake(
                "divided by the kernel",
                lambda n, k: math.ceil(n / k),
                "A kernel of size k reaches only k − 1 steps back, since one of its taps is the position itself.",
            ),
            Mistake(
                "rounded down",
                lambda n, k: n // (k - 1),
                "Rounded down (round() does it too, where the rest is half or less), the last layer stops short of the word. A part of a layer has to be a whole one.",
            ),
            Mistake(
                "not rounded",
                lambda n, k: n / (k - 1),
                "There is no part of a layer: round up.",
            ),
            Mistake(
                "one step too short",
                lambda n, k: math.ceil((n - 1) / (k - 1)),
                "The word stands distance steps before, so distance steps have to be covered, not distance − 1.",
            ),
            Mistake(
                "one layer too many",
                lambda n, k: n // (k - 1) + 1,
                "One too many where the distance divides evenly: round up, and only then. (Or distance + 1 was divided: there are distance steps to go.)",
            ),
            Mistake(
                "as if dilated",
                lambda n, k: max(1, math.ceil(math.log(n + 1, k))),
                "That is the count for dilations 1, k, k², …. Without dilation every layer adds the same k − 1 steps.",
            ),
            Mistake(
                "one step a layer",
                lambda n, k: n,
                "That is a recurrent network, one step at a time. A kernel of size k goes k − 1 steps in a layer.",
            ),
            Mistake(
                "kernel, rounded down",
                lambda n, k: n // k,
                "Divided by the kernel and rounded down: a layer reaches k − 1 steps back, and a part of a layer has to be a whole one.",
            ),
            Mistake(
                "one more than needed",
                lambda n, k: math.ceil(n / (k - 1)) + 1,
                "Always one too many. The input is no layer; the first layer already reaches k − 1 steps back.",
            ),
            Mistake(
                "multiplied",
                lambda n, k: n * (k - 1),
                "The longer the kernel, the fewer layers it takes: divide.",
            ),
            Mistake(
                "half a kernel",
                lambda n, k: math.ceil(n / (k // 2)),
                "That is for a kernel that looks to both sides. This one looks back only, k − 1 steps.",
            ),
        ],
        also_right=[
            lambda n, k: -(-n // (k - 1)),
            lambda n, k: (n + k - 2) // (k - 1),
        ],
        hints=[
            "One layer with a kernel of 3 reaches 2 steps back. Two layers?",
            "Each layer adds kernel_size − 1 steps. How many of them make up the distance, rounded up?",
            "math.ceil(distance / (kernel_size - 1))",
        ],
        look_at="The count grows in proportion to the distance, like n/(k − 1). Dilation makes it grow like a logarithm, and attention needs one layer at any distance.",
    ),
]
