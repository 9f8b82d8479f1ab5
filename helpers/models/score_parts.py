"""Split one attention score exactly: by what wrote the query and by what wrote the key.

A query is linear in the normalised residual stream, and the stream is a sum of everything that was
added to it. With each norm's divisor kept as it was in the run, a score is therefore a sum over
pairs of parts. T positions, P parts, D model width, K head width.
"""

import math

import torch


@torch.no_grad()
def stream_parts(model, ids, layer):
    """Split what goes into an encoder layer into everything that was added up to there.

    Parameters
    ----------
    model : Transformer
        Pre-norm.
    ids : integer Tensor of shape (1, T)
    layer : int
        From 0.

    Returns
    -------
    names : list of str
        "token", "position", then for every layer "1.1" … (layer and head from 1), and "1.ff".
    parts : Tensor of shape (P, T, D)
        They sum to the residual stream.

    Raises
    ------
    ValueError
        If the model is post-norm: there the stream is normalised itself.
    """
    if not model.config.norm_first:
        raise ValueError("a post-norm stream is no plain sum; take a pre-norm model.")
    token = model.src_embedding(ids)[0] * math.sqrt(model.config.d_model)  # (T, D)
    names, parts = ["token", "position"], [token, model.positions[: ids.shape[1]].to(token)]
    for number, block in enumerate(model.encoder_layers[:layer], 1):
        x, attention = torch.stack(parts).sum(0)[None], block.self_attention
        h = block.residual_1.norm(x)
        weights = attention(h, h, h, need_weights=True)[1]
        heads = (weights @ attention.project_key_value(h, h)[1])[0]  # (H, T, K)
        rows = attention.out_proj.weight.T.unflatten(0, (attention.n_heads, -1))  # (H, K, D)
        written = heads @ rows
        # W_O's bias belongs to no head. It is the same at every position.
        parts += [*written, attention.out_proj.bias.expand_as(token)]
        names += [f"{number}.{head}" for head in range(1, attention.n_heads + 1)] + [f"{number}.b"]
        x = torch.stack(parts).sum(0)[None]
        parts.append(block.feed_forward(block.residual_2.norm(x))[0])
        names.append(f"{number}.ff")
    return names, torch.stack(parts)


@torch.no_grad()
def split_scores(model, ids, layer, head):
    """Split the scores of one encoder head by the parts of its queries and of its keys.

    Parameters
    ----------
    model : Transformer
        Pre-norm, best in double precision.
    ids : integer Tensor of shape (1, T)
    layer, head : int
        From 0.

    Returns
    -------
    names : list of str
        As `stream_parts` says, and last "biases": what norm and projection add whatever comes in.
    scores : Tensor of shape (P, P, T, T)
        Entry [i, j, t, s] is what part i of query t and part j of key s add to score (t, s). Their
        softmax over the last dimension, summed over i and j, gives the head's weights.
    """
    names, parts = stream_parts(model, ids, layer)
    block, total = model.encoder_layers[layer], parts.sum(0)
    norm, attention = block.residual_1.norm, block.self_attention
    divisor = (total.var(-1, correction=0, keepdim=True) + norm.eps).sqrt()  # (T, 1), frozen
    normed = (parts - parts.mean(-1, keepdim=True)) / divisor * norm.weight  # (P, T, D)
    rows = slice(head * attention.d_head, (head + 1) * attention.d_head)

    def project(linear):
        constant = linear.weight[rows] @ norm.bias + linear.bias[rows]
        return torch.cat(
            [normed @ linear.weight[rows].T, constant.expand(1, len(total), -1)]
        )  # (P, T, K)

    query, key = project(attention.query_proj), project(attention.key_proj)
    scores = torch.einsum("itk,jsk->ijts", query, key) / math.sqrt(attention.d_head)
    return [*names, "biases"], scores


@torch.no_grad()
def weights_without(model, ids, layer, head, removed):
    """Take parts out of the queries' or keys' stream for real, and return the head's weights.

    Here the norm is computed anew, so this tests what `split_scores` says with a frozen one.

    Parameters
    ----------
    model, ids, layer, head
        As in `split_scores`.
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
    return block.self_attention(query, key, key, need_weights=True)[1][0, head]
