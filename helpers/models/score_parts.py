"""Split one attention score exactly: by what wrote the query and by what wrote the key.

A query is linear in the normalised residual stream, and the stream is a sum of everything that was
added to it. With each norm's divisor kept as it was in the run, a score is therefore a sum over
pairs of parts. T positions, P parts, D model width, K head width.
"""

import math
from functools import partial

import torch

from helpers.transformer.attention import recorded_weights
from helpers.transformer.layers import inference


@torch.no_grad()
def stream_parts(model, ids, layer, target_ids=None, cross=False):
    """Split what goes into a layer into everything that was added up to there.

    Parameters
    ----------
    model : Transformer
        Pre-norm.
    ids : integer Tensor of shape (1, S)
        The source.
    layer : int
        From 0; the number of layers for what leaves the last one.
    target_ids : integer Tensor of shape (1, T), default=None
        The target, if the decoder's stream is wanted.
    cross : bool, default=False
        Split what goes into the decoder layer's cross-attention: its self-attention has written.

    Returns
    -------
    names : list of str
        "token", "position", then for every layer "1.1" … (layer and head from 1), "1.b" and
        "1.ff"; in the decoder "1.self.1" … and "1.cross.1" …
    parts : Tensor of shape (P, T, D)
        They sum to the residual stream.

    Raises
    ------
    ValueError
        If the model is post-norm: there the stream is normalised itself.
    """
    if not model.config.norm_first:
        raise ValueError("a post-norm stream is no plain sum; take a pre-norm model.")
    encodes = target_ids is None
    embedding = model.src_embedding if encodes else model.tgt_embedding
    blocks = model.encoder_layers if encodes else model.decoder_layers
    # The heads' weights are recorded from the model's own run, so any mask is already in them.
    with inference(model), recorded_weights(model) as maps:
        memory = model.encode(ids)
        if not encodes:
            model(ids, target_ids)
    weights = iter(maps if encodes else maps[-2 * len(blocks) :])  # self, cross, self, …
    ids = ids if encodes else target_ids
    token = embedding(ids)[0] * math.sqrt(model.config.d_model)  # (T, D)
    names, parts = ["token", "position"], [token, model.positions[: ids.shape[1]].to(token)]

    def add(name, residual, write):
        h = residual.norm(torch.stack(parts).sum(0)[None])
        written = write(h)
        parts.extend(written)
        # W_O's bias belongs to no head. It is the same at every position.
        heads = [f"{name}.{head}" for head in range(1, len(written))]
        names.extend([*heads, f"{name}.b"] if heads else [name])

    for number, block in enumerate(blocks[: layer + cross], 1):
        name = f"{number}" if encodes else f"{number}.self"
        add(name, block.residual_1, partial(_by_heads, block.self_attention, next(weights), None))
        if number > layer:
            break
        if not encodes:
            write = partial(_by_heads, block.cross_attention, next(weights), memory)
            add(f"{number}.cross", block.residual_2, write)
        residual = block.residual_2 if encodes else block.residual_3
        add(f"{number}.ff", residual, block.feed_forward)
    return names, torch.stack(parts)


def _by_heads(attention, weights, memory, h):
    """Return what each head writes, and W_O's bias: H + 1 tensors of shape (T, D)."""
    source = h if memory is None else memory
    heads = (weights @ attention.project_key_value(source, source)[1])[0]  # (H, T, K)
    rows = attention.out_proj.weight.T.unflatten(0, (attention.n_heads, -1))  # (H, K, D)
    return [*(heads @ rows), attention.out_proj.bias.expand_as(h[0])]


@torch.no_grad()
def score_sides(model, ids, layer, head, target_ids=None, cross=False):
    """Split the queries and the keys of one head by what wrote them.

    Parameters
    ----------
    model : Transformer
        Pre-norm, best in double precision.
    ids : integer Tensor of shape (1, S)
        The source.
    layer, head : int
        From 0.
    target_ids : integer Tensor of shape (1, T), default=None
        The target, for a head of the decoder.
    cross : bool, default=False
        Cross-attention: queries from the decoder, keys from the encoder's output.

    Returns
    -------
    queries, keys : (list of str, Tensor of shape (P, positions, K))
        Names as `stream_parts` says, and last "biases": what norm and projection add whatever
        comes in. The queries are divided by √K: part i times part j is what they add to a score.
    """
    block = (model.encoder_layers if target_ids is None else model.decoder_layers)[layer]
    attention = block.cross_attention if cross else block.self_attention
    residual = block.residual_2 if cross else block.residual_1
    own = stream_parts(model, ids, layer, target_ids, cross)
    read, norm = own, residual.norm
    if cross:
        read, norm = stream_parts(model, ids, len(model.encoder_layers)), model.encoder_norm
    rows = slice(head * attention.d_head, (head + 1) * attention.d_head)
    queries = _projected(*own, residual.norm, attention.query_proj, rows)
    keys = _projected(*read, norm, attention.key_proj, rows)
    return (queries[0], queries[1] / math.sqrt(attention.d_head)), keys


def _projected(names, parts, norm, linear, rows):
    """Send every part through a norm, its divisor frozen, and some rows of a projection."""
    total = parts.sum(0)
    divisor = (total.var(-1, correction=0, keepdim=True) + norm.eps).sqrt()  # (T, 1), frozen
    normed = (parts - parts.mean(-1, keepdim=True)) / divisor * norm.weight  # (P, T, D)
    constant = linear.weight[rows] @ norm.bias + linear.bias[rows]
    projected = [normed @ linear.weight[rows].T, constant.expand(1, len(total), -1)]
    return [*names, "biases"], torch.cat(projected)  # (P, T, K)


def split_scores(model, ids, layer, head):
    """Split the scores of one encoder head by the parts of its queries and of its keys.

    Parameters
    ----------
    model, ids, layer, head
        As in `score_sides`.

    Returns
    -------
    names : list of str
    scores : Tensor of shape (P, P, T, T)
        Entry [i, j, t, s] is what part i of query t and part j of key s add to score (t, s). Their
        softmax over the last dimension, summed over i and j, gives the head's weights: over the
        keys that the mask allows.
    """
    (names, queries), (_, keys) = score_sides(model, ids, layer, head)
    return names, torch.einsum("itk,jsk->ijts", queries, keys)


@torch.no_grad()
def weights_without(model, ids, layer, head, removed):
    """Take parts out of the queries' or keys' stream for real, and return the head's weights.

    Here the norm is computed anew, so this tests what `split_scores` says with a frozen one.

    Parameters
    ----------
    model, ids, layer, head
        As in `score_sides`, for a head of the encoder.
    removed : dict of {"query", "key"} to list of str
        Names of parts.

    Returns
    -------
    weights : Tensor of shape (T, T)
    """
    names, parts = stream_parts(model, ids, layer)
    block = model.encoder_layers[layer]
    sides = [
        sum(part for name, part in zip(names, parts, strict=True) if name not in without)
        for without in (removed.get("query", ()), removed.get("key", ()))
    ]
    query, key = (block.residual_1.norm(side)[None] for side in sides)
    mask = model.source_mask(ids)
    return block.self_attention(query, key, key, mask, need_weights=True)[1][0, head]
