"""What lesson 10 does with the learner's file: its data, its weights, its map, its switches."""

import contextlib
import json
import math
import re

import torch

from helpers.data.corpus import toy_corpus
from helpers.machine.atomic_writes import atomic_write
from helpers.pretrained.trace import Heads, Stack, Sublayer, Trace, candidates_of
from helpers.text.byte_alphabet import BYTE_OF
from helpers.text.tokenization import BOS, EOS, PAD

RENAMED = {
    "encoder_layers.": "encoder.",
    "decoder_layers.": "decoder.",
    "self_attention": "attention",
    "cross_attention": "across",
    "query_proj": "w_q",
    "key_proj": "w_k",
    "value_proj": "w_v",
    "out_proj": "w_o",
    "feed_forward.linear_1": "network.inner",
    "feed_forward.linear_2": "network.outer",
    "tgt_embedding.weight": "embedding.table",
    "embedding.weight": "embedding.table",
    "positions.table": "positions",
}

# What section 9 swaps in unseen: masks that let every position see one token too far.
PLANTED = {
    "causal_mask": lambda length: torch.ones(length, length).tril(1).bool(),
    "decoder_mask": lambda ids, pad_id: (
        (ids != pad_id)[:, None, None] & PLANTED["causal_mask"](ids.shape[1])
    ),
}


def toy_sentences(n, n_test, seed=0):
    """Write toy pairs of 4 to 14 words as text, French and English, to train on and to test with.

    Parameters
    ----------
    n, n_test, seed : int

    Returns
    -------
    training, test : list of (str, str)
    """
    pairs = toy_corpus(n + n_test, seed=seed, lengths=(4, 14))
    lines = [(" ".join(pair.source), " ".join(pair.target)) for pair in pairs]
    return lines[:n], lines[n:]


def pieces_of(tokenizer):
    """List a byte-pair tokenizer's pieces by id, one character per byte, as the file wants them."""
    vocab = json.loads(tokenizer.tokenizer.to_str())["model"]["vocab"]
    by_id = sorted(vocab, key=vocab.get)
    return by_id[:4] + ["".join(chr(BYTE_OF[c]) for c in piece) for piece in by_id[4:]]


def weights_of(translator):
    """Give the translator's weights the names that the learner's modules have.

    Parameters
    ----------
    translator : Translator

    Returns
    -------
    sizes : (vocab_size, d_model, n_heads, n_layers, d_ff)
    weights : dict of str to Tensor
    """
    c = translator.model.config
    sizes = c.src_vocab_size, c.d_model, c.n_heads, c.n_layers, c.d_ff
    return sizes, renamed(translator.model.state_dict())


def gpt_weights_of(model):
    """Give a GPT's weights the names that a GPT of the learner's parts has; as `weights_of`.

    The learner's `Embedding` multiplies by √D and the course's GPT doesn't, so the table gets
    smaller by as much, and the last norm, after which the table makes the logits, larger.
    """
    c = model.config
    weights, factor = renamed(model.state_dict()), math.sqrt(c.d_model)
    weights["embedding.table"] = weights["embedding.table"] / factor
    for name in ("norm.gain", "norm.bias"):
        weights[name] = weights[name] * factor
    return (c.vocab_size, c.d_model, c.n_heads, c.n_layers, c.d_ff or 4 * c.d_model), weights


def renamed(weights):
    """Give the course's tensors, a dict by name, the names that the learner's modules have.

    The embeddings' table stands there under up to three names; the learner's model has it once.
    """
    tied = ("src_embedding.weight", "output_proj.weight")
    return {_renamed(name): tensor for name, tensor in weights.items() if name not in tied}


def _renamed(name):
    for old, new in RENAMED.items():
        name = name.replace(old, new)
    name = re.sub(r"residual_(\d)\.norm", r"norm_\1", name)
    return re.sub(r"(norm\w*)\.weight", r"\1.gain", name)


def export(folder, translator, lines):
    """Write what the file needs on its own: ``translator.pt``, and ``pairs.tsv`` to train on.

    Parameters
    ----------
    folder : Path
    translator : Translator
    lines : list of (str, str)
    """
    sizes, weights = weights_of(translator)
    halves = {name: tensor.half() for name, tensor in weights.items()}
    with atomic_write(folder / "translator.pt") as partial:
        torch.save(
            {"sizes": sizes, "pieces": pieces_of(translator.tokenizer), "weights": halves}, partial
        )
    with atomic_write(folder / "pairs.tsv") as partial:
        partial.write_text("".join(f"{a}\t{b}\n" for a, b in lines), encoding="utf-8")


@contextlib.contextmanager
def switched(own, **parts):
    """Let other functions take the place of the file's inside a ``with`` block.

    Parameters
    ----------
    own : module
        The learner's file.
    **parts : functions
        By the names that they have there.
    """
    before = {name: getattr(own, name) for name in parts}
    vars(own).update(parts)
    try:
        yield
    finally:
        vars(own).update(before)


def trace(own, model, src_ids, tgt_ids, tokens_of):
    """Run the learner's model on a pair and keep every number that its own functions compute.

    Parameters
    ----------
    own : module
        The learner's file.
    model : Transformer
        Of that file.
    src_ids : integer Tensor of shape (1, S)
    tgt_ids : list of int
        What was written; the begin-of-sentence token isn't in it.
    tokens_of : function (list of int) -> list of str

    Returns
    -------
    trace : Trace or None
        For the map. None if the layers don't call `residual_pre_norm`,
        `scaled_dot_product_attention` and `feed_forward`, through which the numbers come.
    """
    kept, given = [], torch.tensor([[BOS, *tgt_ids[:-1]]])
    residual, attend, feed = (
        own.residual_pre_norm, own.scaled_dot_product_attention, own.feed_forward,
    )  # fmt: skip

    def kept_residual(x, sublayer, norm):
        kept.append({"before": x[0]})

        def noted(read):
            found = sublayer(read)
            kept[-1].update(read=read[0], found=found[0])
            return found

        after = residual(x, noted, norm)
        kept[-1]["after"] = after[0]
        return after

    def kept_attention(query, key, value, mask=None):
        context, weights = attend(query, key, value, mask)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        allowed = torch.tensor(True) if mask is None else mask
        mask = allowed.expand(weights.shape)
        parts = (query, key, value, scores, mask, weights, context)
        kept[-1]["heads"] = Heads(*(part[0] for part in parts))
        return context, weights

    def kept_network(x, w_1, b_1, w_2, b_2):
        kept[-1]["hidden"] = (x @ w_1 + b_1).relu()[0]
        return feed(x, w_1, b_1, w_2, b_2)

    switches = {
        "residual_pre_norm": kept_residual,
        "scaled_dot_product_attention": kept_attention,
        "feed_forward": kept_network,
    }
    try:
        with torch.inference_mode(), switched(own, **switches):
            memory = model.encode(src_ids)
            n_encoder = len(kept)
            logits = model.decode(given, memory, own.padding_mask(src_ids, PAD))[0]
            last = model.decoder_norm(kept[-1]["after"])
            stacks = (
                _stack(model, src_ids, kept[:n_encoder], 2, memory[0], tokens_of),
                _stack(model, given, kept[n_encoder:], 3, last, tokens_of),
            )
    except (IndexError, KeyError, TypeError):
        return None
    best = candidates_of(logits, tokens_of)
    return Trace("your Transformer", True, *stacks, best, tokens_of(tgt_ids))


def _stack(model, ids, kept, n_sublayers, output, tokens_of):
    kinds = ["self-attention", "feed-forward"]
    if n_sublayers == 3:
        kinds = ["masked-self-attention", "cross-attention", "feed-forward"]
    sublayers = [Sublayer(kinds[i % n_sublayers], **part) for i, part in enumerate(kept)]
    layers = [sublayers[i : i + n_sublayers] for i in range(0, len(sublayers), n_sublayers)]
    entered, positions = model.embedding(ids)[0], model.embedding.positions[: ids.shape[1]]
    return Stack(
        tokens_of(ids[0].tolist()), entered - positions, positions, entered, layers, output
    )


def translator_of(own, model, pieces):
    """Make a function that translates a text with the learner's file alone.

    Parameters
    ----------
    own : module
    model : Transformer
        Of that file.
    pieces : list of str

    Returns
    -------
    translate : function (str) -> str
    """

    def translate(text):
        ids = torch.tensor([own.to_ids(text, pieces)])
        with torch.inference_mode():
            return own.to_text(own.translate(model, ids, BOS, EOS, 40, {}), pieces)

    return translate
