"""Everything a model computes on one sentence, kept: what the map of the model draws."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from helpers.transformer.attention import scaled_dot_product_attention
from helpers.transformer.layers import inference
from helpers.transformer.masks import causal_mask

MOST_CANDIDATES = 10


@dataclass(frozen=True)
class Heads:
    """One attention, all its heads. H heads, T queries, S keys, K the width of a head.

    Parameters
    ----------
    query : Tensor of shape (H, T, K)
    key, value : Tensor of shape (H, S, K)
    scores : Tensor of shape (H, T, S)
        Dot products divided by √K, before the mask.
    mask : bool Tensor of shape (T, S)
        True where a query is allowed to attend.
    weights : Tensor of shape (H, T, S)
        Fractions; every row sums to 1.
    context : Tensor of shape (H, T, K)
        The values mixed by the weights.
    """

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    scores: torch.Tensor
    mask: torch.Tensor
    weights: torch.Tensor
    context: torch.Tensor


@dataclass(frozen=True)
class Sublayer:
    """One sublayer with its add & norm. T tokens, D the model's width, F the feed-forward width.

    Parameters
    ----------
    kind : {"self-attention", "masked-self-attention", "cross-attention", "feed-forward"}
    before : Tensor of shape (T, D)
        The residual stream as it arrives.
    read : Tensor of shape (T, D)
        What the sublayer reads: the normalised stream in pre-norm, the stream itself in post-norm.
    found : Tensor of shape (T, D)
        What the sublayer adds to the stream.
    after : Tensor of shape (T, D)
        The stream as it leaves; in post-norm it is normalised here.
    heads : Heads or None
        For attention.
    hidden : Tensor of shape (T, F) or None
        For a feed-forward network: after the activation.
    """

    kind: str
    before: torch.Tensor
    read: torch.Tensor
    found: torch.Tensor
    after: torch.Tensor
    heads: Heads | None = None
    hidden: torch.Tensor | None = None


@dataclass(frozen=True)
class Stack:
    """An encoder or a decoder on its tokens.

    Parameters
    ----------
    tokens : list of str, length T
        What it reads.
    embeddings, positions : Tensor of shape (T, D)
        Their sum enters the first layer; BERT normalises it first.
    entered : Tensor of shape (T, D)
        What enters the first layer.
    layers : list of list of Sublayer
    output : Tensor of shape (T, D)
        After the last layer, and after the last norm where there is one.
    """

    tokens: list
    embeddings: torch.Tensor
    positions: torch.Tensor
    entered: torch.Tensor
    layers: list
    output: torch.Tensor


@dataclass(frozen=True)
class Candidate:
    """A token that might come next, with its logit, its probability and its id."""

    token: str
    logit: float
    probability: float
    id: int = -1


@dataclass(frozen=True)
class Trace:
    """One sentence or picture on its way through a model, with every number that the map shows.

    Parameters
    ----------
    model : str
        Its name for people.
    norm_first : bool
        Whether layer norm comes before each sublayer (pre-norm) or after the addition.
    encoder, decoder : Stack or None
        Every model has one of them or both: BERT and a ViT an encoder, a GPT a decoder.
    candidates : list of list of Candidate
        For every target position the likeliest next tokens, best first. A classifier has one list,
        the likeliest classes.
    written : list of str
        The token that follows each target position.
    kind : {"", "GPT", "ViT"}, default=""
        What a model with a single stack is called; "" for those that are just an encoder.
    given : int, default=1
        How many target tokens there were before the model wrote the first one.
    image : uint8 Tensor of shape (side, side), default=None
        The picture that a ViT reads: a class token, then its square patches row by row.
    again : function (str) -> Trace, default=None
        Traces another sentence, so that the map can offer to; raises ValueError if it can't.
    onward : function (int, int) -> Trace, default=None
        Writes another token, given by its id, at a target position, and lets the model go on.
    network : nn.Module, default=None
        The model itself, for what the map shows of its weights.
    source_ids, target_ids : integer Tensors of shape (S,) and (T,), default=None
        What an encoder–decoder's two stacks read.
    """

    model: str
    norm_first: bool
    encoder: Stack | None
    decoder: Stack | None = None
    candidates: tuple = ()
    written: tuple = ()
    kind: str = ""
    given: int = 1
    image: torch.Tensor | None = None
    again: Callable | None = None
    onward: Callable | None = None
    network: torch.nn.Module | None = None
    source_ids: torch.Tensor | None = None
    target_ids: torch.Tensor | None = None

    @property
    def stacks(self):
        """Encoder and decoder, as far as the model has them."""
        return [stack for stack in (self.encoder, self.decoder) if stack is not None]

    @property
    def adds_positions(self):
        """Whether vectors of positions are added to the embeddings; rotary ones are not."""
        return bool(self.stacks[0].positions.any())

    def __repr__(self):
        """Name the model and the lengths: nothing that differs from run to run."""
        lengths = [len(stack.tokens) for stack in self.stacks]
        if len(lengths) == 1:
            return f"Trace({self.model}, {lengths[0]} tokens)"
        return f"Trace({self.model}, {lengths[0]} source tokens, {lengths[1]} target tokens)"


def trace_translation(model, src_ids, tgt_ids, tokens_of, name) -> Trace:
    """Run a Transformer on one pair of sentences and keep what it computes on the way.

    Parameters
    ----------
    model : Transformer
    src_ids : integer Tensor of shape (S,)
    tgt_ids : integer Tensor of shape (T + 1,)
        With the begin-of-sentence token in front and the last token that was written.
    tokens_of : function (list of int) -> list of str
    name : str
        Of the model, for people.
    """
    source, given = src_ids[None], tgt_ids[None, :-1]
    with inference(model):
        encoder, decoder, logits = _run(model, source, given)
    return Trace(
        name,
        model.config.norm_first,
        Stack(tokens_of(src_ids.tolist()), *map(_one, encoder)),
        Stack(tokens_of(tgt_ids[:-1].tolist()), *map(_one, decoder)),
        candidates_of(logits.cpu(), tokens_of),
        tokens_of(tgt_ids[1:].tolist()),
        network=model,
        source_ids=src_ids,
        target_ids=tgt_ids[:-1],
    )


def _run(model, source, given):
    encoder = _stack(model, source, model.src_embedding, model.encoder_layers, model.encoder_norm)
    decoder = _stack(
        model, given, model.tgt_embedding, model.decoder_layers, model.decoder_norm, encoder[-1]
    )
    return encoder, decoder, model.output_proj(decoder[-1])[0]


def _stack(model, ids, embedding, layers, norm, memory=None):
    positions = model.positions[None, : ids.shape[1]]
    entered = model.embed(ids, embedding)
    mask = None if memory is None else causal_mask(ids.shape[1], ids.device)
    found = run_layers(layers, entered, mask, memory)
    return entered - positions, positions, entered, found, norm(found[-1][-1].after)


def run_layers(layers, x, mask=None, memory=None):
    """Run layers one after the other and keep every sublayer.

    Parameters
    ----------
    layers : iterable of EncoderLayer or DecoderLayer
    x : Tensor of shape (1, T, D)
        What enters the first one.
    mask : bool Tensor of shape (T, T), default=None
        For the attention of the tokens to each other.
    memory : Tensor of shape (1, S, D), default=None
        The encoder's output, for decoder layers.

    Returns
    -------
    kept : list of list of Sublayer
        Their tensors keep the batch's axis of length one.
    """
    kept = []
    for layer in layers:
        own = "self-attention" if mask is None else "masked-self-attention"
        parts = [_attention(own, x, layer.residual_1, layer.self_attention, None, mask)]
        if memory is not None:
            residual, attention = layer.residual_2, layer.cross_attention
            parts.append(
                _attention("cross-attention", parts[-1].after, residual, attention, memory)
            )
        residual = layer.residual_2 if memory is None else layer.residual_3
        parts.append(_feed_forward(parts[-1].after, residual, layer.feed_forward))
        kept.append(parts)
        x = parts[-1].after
    return kept


def _attention(kind, x, residual, attention, memory=None, mask=None):
    kept = {}

    def attend(read):
        source = read if memory is None else memory
        query = attention.project_query(read)
        key, value = attention.project_key_value(source, source)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        allowed = torch.ones_like(scores[0, 0], dtype=torch.bool) if mask is None else mask
        context, weights = scaled_dot_product_attention(query, key, value, allowed)
        found = attention.out_proj(attention.merge_heads(context))
        heads = Heads(query, key, value, scores, allowed, weights, context)
        kept.update(read=read, found=found, heads=heads)
        return found

    return Sublayer(kind, before=x, after=residual(x, attend), **kept)


def _feed_forward(x, residual, network):
    kept = {}

    def widen_and_narrow(read):
        hidden = network.activation(network.linear_1(read))
        kept.update(read=read, found=network.linear_2(hidden), hidden=hidden)
        return kept["found"]

    return Sublayer("feed-forward", before=x, after=residual(x, widen_and_narrow), **kept)


def _one(kept):
    """Take the batch's only sentence out of what was kept."""
    if isinstance(kept, torch.Tensor):
        return (kept[0] if kept.dim() > 2 else kept).detach().cpu()
    if isinstance(kept, list):
        return [_one(part) for part in kept]
    if isinstance(kept, Sublayer | Heads):
        return type(kept)(**{name: _one(part) for name, part in vars(kept).items()})
    return kept


def candidates_of(logits, tokens_of, most=MOST_CANDIDATES) -> list[list[Candidate]]:
    """Name the likeliest next tokens at every position.

    Parameters
    ----------
    logits : Tensor of shape (T, V)
    tokens_of : function (list of int) -> list of str
    most : int, default=10
    """
    best = logits.topk(min(most, logits.shape[-1]))
    shares = logits.softmax(-1).gather(-1, best.indices)
    return [
        [Candidate(*one) for one in zip(tokens_of(ids), values, parts, ids, strict=True)]
        for ids, values, parts in zip(
            best.indices.tolist(), best.values.tolist(), shares.tolist(), strict=True
        )
    ]


def trace_encoder(model, ids, tokens, name):
    """Run a BERT on one text and keep what it computes on the way.

    Parameters
    ----------
    model : BertEncoder
    ids : integer Tensor of shape (S,)
    tokens : list of str, length S
    name : str
        Of the model, for people.

    Returns
    -------
    trace : Trace
        Without a decoder.
    """
    with inference(model):
        positions = model.positions(len(ids)).reshape(1, len(ids), -1)
        embeddings = model.embedding(ids[None]) + model.segments(torch.zeros_like(ids[None]))
        entered = model.norm(embeddings + positions)
        kept = run_layers(model.layers, entered)
    parts = embeddings, positions, entered, kept, kept[-1][-1].after
    return Trace(name, False, Stack(tokens, *map(_one, parts)), network=model)


def trace_vision(model, images, tokens, name, picture, classes):
    """Run a Vision Transformer on one picture and keep what it computes on the way.

    Parameters
    ----------
    model : VisionTransformer
    images : Tensor of shape (1, C, height, width)
    tokens : list of str, length 1 + patches
        What the class token and the patches are called.
    name : str
        Of the model, for people.
    picture : uint8 Tensor of shape (height, width)
        The same picture as it is shown.
    classes : sequence of str
        What the model tells apart.

    Returns
    -------
    trace : Trace
        With an encoder; its candidates are the classes.
    """
    with inference(model):
        entered = model.embed(images)
        positions = model.positions(len(tokens))[None]
        kept = run_layers(model.layers, entered)
        output = model.norm(kept[-1][-1].after)
        logits = model.head(output[:, 0]).cpu()
    stack = Stack(tokens, *map(_one, (entered - positions, positions, entered, kept, output)))
    candidates = candidates_of(logits, lambda ids: [classes[i] for i in ids])
    return Trace(name, True, stack, None, candidates, kind="ViT", image=picture, network=model)


def trace_gpt(model, ids, n_given, tokens_of, name):
    """Run a GPT on one text and keep what it computes on the way.

    Parameters
    ----------
    model : GPT
        With as many key heads as query heads.
    ids : integer Tensor of shape (T + 1,)
        The given text and what the model wrote; the last token is only written, not read.
    n_given : int
        How many of them are the given text.
    tokens_of : function (list of int) -> list of str
    name : str
        Of the model, for people.

    Returns
    -------
    trace : Trace
        With a decoder that has no cross-attention.
    """
    read = ids[:-1]
    with inference(model):
        embeddings = model.embedding(read[None])
        positions = torch.zeros_like(embeddings)  # rotary ones are not added
        if model.positions is not None:
            positions = model.positions(len(read))[None]
        entered = embeddings + positions
        kept = run_layers(model.layers, entered, causal_mask(len(read), read.device))
        output = model.norm(kept[-1][-1].after)
        logits = model.output_proj(output)[0].cpu()
    parts = map(_one, (embeddings, positions, entered, kept, output))
    return Trace(
        name,
        True,
        None,
        Stack(tokens_of(read.tolist()), *parts),
        candidates_of(logits, tokens_of),
        tokens_of(ids[1:].tolist()),
        "GPT",
        n_given,
        network=model,
    )
