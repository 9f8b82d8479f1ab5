"""One sentence through the whole Transformer: every tensor, and the line of code that makes it.

Each tensor is what its line on show returns, so the two never disagree. `try_line` runs a line
that the learner has changed, and finds the dimensions that clash.
"""

import ast
import math
from typing import NamedTuple

import torch
from torch import nn

from helpers.transformer.attention import masked_softmax
from helpers.transformer.masks import padding_mask

SPLIT = ".unflatten(-1, (H, K)).transpose(1, 2)"
SCORES = "q @ k.transpose(-2, -1) / sqrt(K)"

# Name; letters of the shape; the line; what a slip makes of a part of it; the tensor in words;
# and, where the line needs more than was made so far, what comes before it.
ENCODER = (
    ("source ids", "B S", "ids = tensor({ids})", ("s})", "s}[0])"),
     ("The sentence as numbers: the ids of its", "tokens in the vocabulary.")),
    ("embeddings × √D", "B S D", "x = embedding(ids) * sqrt(D)", ("(ids)", "(ids[0])"),
     ("A learned vector per token, scaled up", "to about the size of the positions.")),
    ("plus positions", "B S D", "x = x + positions[:S]", ("[:S]", ""),
     ("The sinusoids are added.", "From here on, the vectors contain the order.")),
    ("queries, layer 1", "B H S K", f"q = W_Q(norm_1(x)){SPLIT}", (".transpose(1, 2)", ""),
     ("What each word is looking for, per head.", "D is split into H heads of K.")),
    ("keys, layer 1", "B H S K", f"k = W_K(norm_1(x)){SPLIT}", ("(H, K)", "(K, H)"),
     ("What each word can be matched on.", "The same size as the queries.")),
    ("values, layer 1", "B H S K", f"v = W_V(norm_1(x)){SPLIT}", ("(1, 2)", "(2, 3)"),
     ("What each word passes on", "to those that attend to it.")),
    ("weights, layer 1", "B H S S", f"weights = ({SCORES}).softmax(-1)",
     (".transpose(-2, -1)", ""),
     ("Softmax of Q Kᵀ / √dₖ, one row per query.", "Every row sums to 1.")),
    ("contexts of the heads", "B H S K", "context = weights @ v", ("weights @ v", "v @ weights"),
     ("One mixture of the values per head.", "The heads haven't been mixed yet.")),
    ("joined, through W_O", "B S D", "joined = W_O(context.transpose(1, 2).flatten(2))",
     (".transpose(1, 2)", ""),
     ("The heads side by side, H × K = D again,", "and one matrix that mixes them.")),
    ("plus residual", "B S D", "x = x + joined", ("joined", "context"),
     ("Added to the sublayer's input.", "That's why both need the same width.")),
    ("feed-forward, inside", "B S F", "wide = relu(linear_1(norm_2(x)))", ("r_1", "r_2"),
     ("Linear, then ReLU:", "no entry is below zero.")),
    ("layer 1, output", "B S D", "x = x + linear_2(wide)", ("linear_2(wide)", "wide"),
     ("Back to width D, and added again.", "It can go into the next layer as it is.")),
    ("memory", "B S D", "memory = last_norm(later_layers(x))", ("(x)", "(q)"),
     ("After all layers and a last LayerNorm.", "Every decoder layer reads this.")),
)  # fmt: skip
DECODER = (
    ("target ids, shifted", "B T", "ids = tensor({ids})", ("s})", "s}[0])"),
     ("The translation, shifted right by one:", "it begins with <bos>.")),
    ("plus positions", "B T D", "x = embedding(ids) * sqrt(D) + positions[:T]", (":T", ":S"),
     ("Embeddings × √D, and the same sinusoids", "as in the encoder.")),
    ("own weights, layer 1", "B H T T", f"weights = masked_softmax({SCORES}, mask)",
     (", mask", ""),
     ("Above the diagonal all weights are 0.", "Nothing attends to a later position."),
     f"q, k, v = [W(norm_1(x)){SPLIT} for W in own]"),
    ("plus residual", "B T D", "x = x + joined", ("joined", "memory"),
     ("What came from the earlier words,", "added to the sublayer's input."),
     "joined = own_W_O((weights @ v).transpose(1, 2).flatten(2))"),
    ("cross queries, layer 1", "B H T K", f"q = W_Q(norm_2(x)){SPLIT}", ("(H, K)", "(K, H)"),
     ("From the decoder: T of them,", "one for each target position.")),
    ("cross keys, layer 1", "B H S K", f"k = W_K(memory){SPLIT}", ("memory", "norm_2(x)"),
     ("From the memory: S of them.", "Each layer projects its own.")),
    ("cross values, layer 1", "B H S K", f"v = W_V(memory){SPLIT}", (".transpose(1, 2)", ""),
     ("From the memory too.", "Computed once for the whole translation.")),
    ("cross weights, layer 1", "B H T S", f"weights = ({SCORES}).softmax(-1)", ("x(-1", "x(-2"),
     ("From each target to each source word.", "It doesn't have to be square.")),
    ("plus residual", "B T D", "x = x + W_O((weights @ v).transpose(1, 2).flatten(2))",
     (".transpose(1, 2)", ""),
     ("Now the vectors depend on the source.", "The shape is still the target's.")),
    ("feed-forward, inside", "B T F", "wide = relu(linear_1(norm_3(x)))", ("norm_3(x)", "q"),
     ("As in the encoder:", "linear, ReLU, linear, at each position alone.")),
    ("layer 1, output", "B T D", "x = x + linear_2(wide)", ("x + ", "memory + "),
     ("Three sublayers done.", "On to the next layer.")),
    ("after the last layer", "B T D", "x = last_norm(later_layers(x))", ("(x)", "(q)"),
     ("After all layers and a last LayerNorm:", "ready for the output matrix.")),
)  # fmt: skip
OUTPUT = (
    ("logits", "B T V", "logits = x @ E.T", (".T", ""),
     ("A score for every token of the vocabulary,", "at every position.")),
    ("probabilities", "B T V", "probabilities = logits.softmax(-1)", ("-1", "1"),
     ("The softmax over the vocabulary:", "each row sums to 1.")),
    ("likeliest tokens", "B T", "likeliest = probabilities.argmax(-1)", ("-1", "1"),
     ("What the model would write after each prefix.",
      "In training, the loss compares it with the target.")),
)  # fmt: skip
N_STAGES = len(ENCODER) + len(DECODER) + len(OUTPUT)


class Stage(NamedTuple):
    """One tensor on its way: `part` of the model, `name`, `letters` of its shape, and what it is.

    `tensor` is what `line` returns where its `names` are known, `slip` the same line with a
    mistake, `meaning` one or two lines of words.
    """

    part: str
    name: str
    letters: str
    tensor: torch.Tensor
    meaning: tuple
    line: str
    slip: str
    names: dict


class Trial(NamedTuple):
    """What became of a line: its `tensor`, or where it stops and why.

    `operands` holds (words, shape, dimensions that clash) of what the failing operation was given,
    `why` the reason in plain words and `said` the error's own first line; each is empty where
    there's nothing to say.
    """

    tensor: torch.Tensor | None = None
    operands: tuple = ()
    why: str = ""
    said: str = ""


@torch.no_grad()
def stages(model, src_ids, tgt_ids):
    """Follow one sentence and its shifted translation through a pre-norm Transformer.

    Parameters
    ----------
    model : Transformer
        With ``norm_first=True``.
    src_ids : integer Tensor of shape (1, S)
    tgt_ids : integer Tensor of shape (1, T)
        Shifted right: it begins with the begin-of-sentence token.

    Returns
    -------
    stages : list of Stage
        The first layer of each stack in full, the others in one step. The last two hold the
        probabilities and the likeliest tokens.

    Source
    ------
    Vaswani et al. (2017), "Attention Is All You Need", figure 1.
    """
    encoder, decoder = model.encoder_layers[0], model.decoder_layers[0]
    memory_mask = padding_mask(src_ids, model.config.pad_id)
    mask = model.target_mask(tgt_ids)
    names = {
        "tensor": torch.tensor, "sqrt": math.sqrt, "masked_softmax": masked_softmax,
        "S": src_ids.shape[1], "T": tgt_ids.shape[1], "D": model.config.d_model,
        "H": model.config.n_heads, "K": model.config.d_model // model.config.n_heads,
        "positions": model.positions, "E": model.output_proj.weight, "mask": mask,
    }  # fmt: skip
    found = []
    names |= _parts(encoder, encoder.self_attention) | {
        "embedding": model.src_embedding,
        "later_layers": lambda x: _through(model.encoder_layers[1:], x, memory_mask),
        "last_norm": model.encoder_norm,
    }
    _follow("encoder", ENCODER, names, src_ids, found)
    own, memory = decoder.self_attention, names["memory"]
    names |= _parts(decoder, decoder.cross_attention) | {
        "embedding": model.tgt_embedding,
        "own": (own.query_proj, own.key_proj, own.value_proj), "own_W_O": own.out_proj,
        "later_layers": lambda x: _through(model.decoder_layers[1:], x, memory, mask, memory_mask),
        "last_norm": model.decoder_norm,
    }  # fmt: skip
    _follow("decoder", DECODER, names, tgt_ids, found)
    _follow("output", OUTPUT, names, tgt_ids, found)
    return found


def _parts(layer, attention):
    """Give the parts of a layer the names that the lines use."""
    feed_forward = layer.feed_forward
    norms = {name: part.norm for name, part in layer.named_children() if "residual" in name}
    return {name.replace("residual", "norm"): norm for name, norm in norms.items()} | {
        "W_Q": attention.query_proj, "W_K": attention.key_proj, "W_V": attention.value_proj,
        "W_O": attention.out_proj, "linear_1": feed_forward.linear_1,
        "linear_2": feed_forward.linear_2, "relu": feed_forward.activation,
    }  # fmt: skip


def _through(layers, x, *others):
    for layer in layers:
        x = layer(x, *others)
    return x


def _follow(part, steps, names, ids, found):
    """Run the steps' lines one after the other; each one's result is known to the next."""
    for name, letters, line, slip, meaning, *before in steps:
        slipped = line.replace(*slip).replace("{ids}", str(ids.tolist()))
        line = line.replace("{ids}", str(ids.tolist()))
        if before:
            _run(before[0], names)
        known = dict(names)
        tensor = _run(line, names)
        found.append(Stage(part, name, letters, tensor, meaning, line, slipped, known))


def _run(line, names):
    exec(line, {"__builtins__": {}} | names, made := {})
    names |= made
    return next(iter(made.values()))


@torch.no_grad()
def try_line(line: str, names: dict, wanted: tuple) -> Trial:
    """Run a changed line, and if it fails, find the operation that failed.

    The line, an assignment or an expression, can use `names`. The next steps need the shape
    `wanted`.
    """
    try:
        (statement,) = ast.parse(line.strip()).body
        whole = statement.value
    except (SyntaxError, ValueError, AttributeError):
        return Trial(why="Python can't read this line. It should be name = expression.")
    try:
        tensor = _value(whole, names)
    except Exception as error:  # whatever a typed line may raise
        return _explained(whole, names, error)
    if not isinstance(tensor, torch.Tensor):
        return Trial(why=f"The result is of type {type(tensor).__name__}, not a tensor.")
    if tensor.shape != wanted:
        return _misshapen(tensor.shape, wanted)
    return Trial(tensor)


def _misshapen(shape, wanted):
    """Say that a line runs but gives another shape than the next steps need."""
    pairs = ("your line gives", shape, wanted), ("the next steps need", wanted, shape)
    operands = tuple(
        (words, tuple(one), {i for i in range(len(one)) if _unlike(one, other, len(one) - i)})
        for words, one, other in pairs
    )
    why = "PyTorch runs this line, but the next steps can't use a tensor of this shape."
    return Trial(operands=operands, why=why)


def _unlike(one, other, i):
    """Tell whether two shapes differ at the dimension that is i-th from the last."""
    return i > len(other) or one[-i] != other[-i]


def _value(node, names):
    return eval(compile(ast.Expression(node), "line", "eval"), {"__builtins__": {}} | names)


def _explained(whole, names, error):
    """Find the innermost operation that fails, and what it was given."""
    said = str(error).partition("\n")[0]
    if isinstance(error, NameError):
        known = ", ".join(sorted(n for n, v in names.items() if isinstance(v, torch.Tensor)))
        return Trial(why=f"There's no {error.name} at this step. The tensors here: {known}.")
    if isinstance(error, AttributeError) and error.name:
        kind = "tensor" if isinstance(error.obj, torch.Tensor) else type(error.obj).__name__
        return Trial(why=f"A {kind} has no {error.name}. Is that how PyTorch spells it?")
    for node in reversed(list(ast.walk(whole))):
        if not isinstance(node, (ast.BinOp, ast.Call, ast.Attribute, ast.Subscript)):
            continue
        try:
            _value(node, names)
        except Exception:
            return Trial(None, *_clash(node, names), said)
    return Trial(said=said)


def _clash(node, names):
    """Say which dimensions of an operation's operands don't fit: (operands, why)."""
    if isinstance(node, ast.Call):
        layer = _value(node.func, names)
        if not isinstance(layer, nn.Linear) or not node.args:
            return (), ""
        shape, wanted = tuple(_value(node.args[0], names).shape), layer.in_features
        why = f"{ast.unparse(node.func)} takes vectors of {wanted} numbers along the last dimension"
        return ((ast.unparse(node.args[0]), shape, {len(shape) - 1}),), f"{why}, not {shape[-1]}."
    if not isinstance(node, ast.BinOp):
        return (), ""
    sides = [(ast.unparse(side), _value(side, names)) for side in (node.left, node.right)]
    if not all(isinstance(value, torch.Tensor) for _, value in sides):
        return (), ""
    shapes = [tuple(value.shape) for _, value in sides]
    if isinstance(node.op, ast.MatMult) and shapes[0][-1:] != shapes[1][-2:-1]:
        places = [(-1, -2)]
        why = "For @, the last dimension of the first must equal the last but one of the second"
    else:
        first = 3 if isinstance(node.op, ast.MatMult) else 1
        least = min(len(shape) for shape in shapes)
        facing = {i: {shapes[0][-i], shapes[1][-i]} for i in range(first, least + 1)}
        places = [(-i, -i) for i, sizes in facing.items() if len(sizes - {1}) == 2]
        why = "Counted from the last, dimensions must be equal, or one of them 1"
    pairs = [f"{shapes[0][a]} isn't {shapes[1][b]}" for a, b in places]
    operands = tuple(
        (words, shape, {len(shape) + place[side] for place in places})
        for side, ((words, _), shape) in enumerate(zip(sides, shapes, strict=True))
    )
    return operands, f"{why}: {' and '.join(pairs)}."
