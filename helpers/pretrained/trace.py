"""Everything a model computes on one sentence, kept: what the map of the model draws."""

import math
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import torch

from helpers.transformer.attention import running, scaled_dot_product_attention
from helpers.transformer.layers import inference

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
    mask : bool Tensor of shape (H, T, S)
        True where a query is allowed to attend; the heads' masks can differ.
    weights : Tensor of shape (H, T, S)
        Fractions; every row sums to 1, and where the mask is False they are 0.
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
    """A token that might come next: its logit, probability, id, and its rank among all, from 1.

    `kept` tells whether the written sentence, with this token there, is cut into it again.
    """

    token: str
    logit: float
    probability: float
    id: int = -1
    rank: int = 0
    kept: bool = True


@dataclass(frozen=True)
class Trace:
    """One sentence or picture on its way through a model: what it computes, recorded as it runs.

    The map shows these numbers, and more that are worked out from them: scores and mixtures in the
    browser (``static/map_trace.js``), and from the weights in `network` what lies inside norms,
    neurons and projections, other temperatures and the parts of a score (`widgets.map_inside`).

    Parameters
    ----------
    model : str
        Its name for people.
    norm_first : bool
        Whether layer norm comes before each sublayer (pre-norm) or after the addition.
    encoder, decoder : Stack or None
        Every model has one of them or both: BERT and a ViT an encoder, a GPT a decoder.
    candidates : list of list of Candidate
        For every target position the likeliest next tokens, best first; in a translation, last the
        one that is written, if it isn't among them. A classifier has one list of likeliest classes.
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
    text : str, default=""
        What was read, where tokens don't give it back.
    guesses : list of list of Candidate, default=()
        A ViT's classes after every layer, were that layer the last, likeliest first.
    aim : str, default=""
        How sure label smoothing made a ViT, in a sentence.
    choices : list of (Tensor, str, str, float), default=()
        Pictures that `again` reads by place: with their class, the model's and its probability.
    onward : function (int, int) -> Trace, default=None
        Writes another token, given by its id, at a target position, and lets the model go on.
    drawn_at : list of float, default=()
        The temperature at which each of `written` was drawn, where a model draws.
    goes_on : str, default=""
        There, what was read together with what was drawn.
    network : nn.Module, default=None
        The model itself, for what the map shows of its weights.
    through : function (nn.Module) -> Trace, default=None
        Sends the same tokens through a model with other weights.
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
    text: str = ""
    guesses: list = ()
    aim: str = ""
    choices: list = ()
    onward: Callable | None = None
    drawn_at: list = ()
    goes_on: str = ""
    network: torch.nn.Module | None = None
    through: Callable | None = None
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

    @property
    def right(self):
        """What a picture is labelled, where labels are known; else the model's own answer."""
        if self.choices and int(self.text) >= 0:
            return self.choices[int(self.text)][1]
        return self.candidates[0][0].token if self.kind == "ViT" else ""

    @property
    def splits(self):
        """Whether a score can be split into parts: in a pre-norm encoder–decoder."""
        return self.source_ids is not None and self.norm_first

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
    with (
        inference(model),
        _recorded(model.encoder_layers, "self-attention") as encoder,
        _recorded(model.decoder_layers, "masked-self-attention") as decoder,
    ):
        logits = model(src_ids[None], tgt_ids[None, :-1])[0].cpu()
        source, target = (
            _stack(tokens_of(ids.tolist()), model.positions[None, : len(ids)], kept, norm)
            for ids, kept, norm in (
                (src_ids, encoder, model.encoder_norm),
                (tgt_ids[:-1], decoder, model.decoder_norm),
            )
        )
    written = tgt_ids[1:].tolist()
    found = candidates_of(logits, tokens_of, written), tokens_of(written)
    ids = {"source_ids": src_ids, "target_ids": tgt_ids[:-1]}
    return Trace(name, model.config.norm_first, source, target, *found, network=model, **ids)


@contextmanager
def _recorded(layers, own):
    """Record every sublayer while the model runs in a ``with`` block: the masks are its own.

    `own` is the kind of the layers' attention to their own tokens. What is yielded, a list of
    Sublayers per layer, keeps the batch's axis of length one.
    """
    kept, inside = [], {}

    def attend(attention, read, key, value, mask=None, **_):
        query = attention.project_query(read)
        key, value = attention.project_key_value(key, value)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        allowed = torch.tensor(True, device=read.device) if mask is None else mask
        context, weights = scaled_dot_product_attention(query, key, value, allowed)
        found = attention.out_proj(attention.merge_heads(context))
        heads = Heads(query, key, value, scores, allowed.expand_as(scores), weights, context)
        inside.update(read=read, found=found, heads=heads)
        return found, weights

    def feed(network, args, found):
        hidden = network.activation(network.linear_1(*args))
        inside.update(read=args[0], found=found, hidden=hidden)

    def keep(kind, _, args, after):
        kept[-1].append(Sublayer(kind, before=args[0], after=after, **inside))
        inside.clear()

    with running(layers, attend), ExitStack() as hooks:
        for layer in layers:
            across = ["cross-attention"] if hasattr(layer, "cross_attention") else []
            hooks.enter_context(layer.register_forward_pre_hook(lambda *_: kept.append([])))
            hooks.enter_context(layer.feed_forward.register_forward_hook(feed))
            for k, kind in enumerate((own, *across, "feed-forward"), 1):
                residual = getattr(layer, f"residual_{k}")
                hooks.enter_context(residual.register_forward_hook(partial(keep, kind)))
        yield kept


def _stack(tokens, positions, kept, norm, embeddings=None):
    """Put a stack together; its embeddings are what enters without the positions, or as given."""
    entered = kept[0][0].before
    embeddings = entered - positions if embeddings is None else embeddings
    parts = (embeddings, positions, entered, kept, norm(kept[-1][-1].after))
    return Stack(tokens, *map(_one, parts))


def _one(kept):
    """Take the batch's only sentence out of what was kept."""
    if isinstance(kept, torch.Tensor):
        return (kept[0] if kept.dim() > 2 else kept).detach().cpu()
    if isinstance(kept, list):
        return [_one(part) for part in kept]
    if isinstance(kept, Sublayer | Heads):
        return type(kept)(**{name: _one(part) for name, part in vars(kept).items()})
    return kept


def candidates_of(logits, tokens_of, written=(), most=MOST_CANDIDATES) -> list[list[Candidate]]:
    """Name the `most` likeliest next tokens at every position by their `logits` (T, V).

    `tokens_of` turns a list of ids into texts. Of the ids `written` at the positions, those that
    aren't among the likeliest come last.
    """
    found = []
    for row, (scores, shares) in enumerate(zip(logits, logits.softmax(-1), strict=True)):
        ids = scores.topk(min(most, len(scores))).indices.tolist()
        ids += [one for one in written[row : row + 1] if one not in ids]
        ranks = [*range(1, len(ids)), 1 + int((scores > scores[ids[-1]]).sum())]
        columns = (tokens_of(ids), scores[ids].tolist(), shares[ids].tolist(), ids, ranks)
        found.append([Candidate(*one) for one in zip(*columns, strict=True)])
    return found


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
    with inference(model), _recorded(model.layers, "self-attention") as kept:
        model(ids[None])
        embeddings = model.embedding(ids[None]) + model.segments(torch.zeros_like(ids[None]))
        positions = model.positions(len(ids))[None]
        stack = _stack(tokens, positions, kept, torch.nn.Identity(), embeddings)
    return Trace(name, False, stack, network=model)


def trace_vision(model, images, tokens, name, picture, classes, left_out=()):
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
    left_out : sequence of int, default=()
        Tokens that no other token is allowed to attend to, as if the model hadn't read them.

    Returns
    -------
    trace : Trace
        With an encoder; its candidates are the classes.
    """
    allowed = torch.ones(len(tokens), dtype=torch.bool)
    allowed[list(left_out)] = False
    with inference(model), _recorded(model.layers, "self-attention") as kept, ExitStack() as hooks:
        for layer in model.layers if left_out else ():
            hooks.enter_context(layer.register_forward_pre_hook(lambda _, args: (*args, allowed)))
        logits = model(images).cpu()
        stack = _stack(tokens, model.positions(len(tokens))[None], kept, model.norm)
        early = [model.head(model.norm(layer[-1].after[0, :1])).cpu() for layer in kept]
    found, *guesses = (
        candidates_of(each, lambda ids: [classes[i] for i in ids]) for each in (logits, *early)
    )
    about = {"guesses": [classes for (classes,) in guesses], "network": model}
    return Trace(name, True, stack, None, found, kind="ViT", image=picture, **about)


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
    with inference(model), _recorded(model.layers, "masked-self-attention") as kept:
        logits = model(read[None])[0].cpu()
        positions = torch.zeros_like(kept[0][0].before)  # rotary ones are not added
        if model.positions is not None:
            positions = model.positions(len(read))[None]
        stack = _stack(tokens_of(read.tolist()), positions, kept, model.norm)
    found = candidates_of(logits, tokens_of), tokens_of(ids[1:].tolist())
    return Trace(name, True, None, stack, *found, "GPT", n_given, network=model)
