"""Lesson 10, build a Transformer: ten parts. The tested ones stand in `own_transformer`."""

import math

import torch
import torch.nn.functional as F

from helpers.attention import MultiHeadAttention, scaled_dot_product_attention
from helpers.exercises import own_transformer as own
from helpers.exercises.checking import check
from helpers.exercises.lesson_07 import layer_norm
from helpers.exercises.model import Exercise, Mistake, find
from helpers.exercises.own_transformer import layers_of, under
from helpers.masks import causal_mask, padding_mask
from helpers.positions import sinusoidal_positions


def own_or_tested(name, mine):
    """Return the learner's part if it passes its check, else the tested one, and say which.

    Parameters
    ----------
    name : str
        The exercise.
    mine : function
    """
    verdict = check(name, mine)
    print(f"{name}: {'yours' if verdict.passed else 'the tested one steps in'}")
    return mine if verdict.passed else find(name, "exercise").reference


# What the checks draw.

PROJECTIONS = ("query_proj", "key_proj", "value_proj", "out_proj")


def _projections(weights, part):
    """List the weights, or the biases, of W_Q, W_K and W_V."""
    return [weights[f"{name}.{part}"] for name in PROJECTIONS[:3]]


def _normal(generator, *shape, scale=0.6):
    return torch.randn(shape, generator=generator) * scale


def _linear(generator, name, n_out, n_in):
    weight, bias = _normal(generator, n_out, n_in), _normal(generator, n_out)
    return {f"{name}.weight": weight, f"{name}.bias": bias}


def _norm(generator, name, width):
    gain = torch.rand(width, generator=generator) + 0.5
    return {f"{name}weight": gain, f"{name}bias": _normal(generator, width)}


def _attention_weights(generator, width):
    weights = {}
    for name in PROJECTIONS:
        weights |= _linear(generator, name, width, width)
    return weights


def _feed_weights(generator, width, inner):
    return _linear(generator, "linear_1", inner, width) | _linear(
        generator, "linear_2", width, inner
    )


def _named(prefix, weights):
    return {f"{prefix}{name}": weight for name, weight in weights.items()}


def _layer_weights(generator, width, attentions):
    weights = _named("feed_forward.", _feed_weights(generator, width, width + 3))
    for name in attentions:
        weights |= _named(f"{name}.", _attention_weights(generator, width))
    for i in range(len(attentions) + 1):
        weights |= _norm(generator, f"residual_{i + 1}.norm.", width)
    return weights


def _stack_weights(generator, width, side, attentions, depth=2):
    weights = {
        f"{name}_embedding.weight": _normal(generator, 8, width, scale=0.4)
        for name in ("src", "tgt")
    }
    for i in range(depth):
        layer = _layer_weights(generator, width, attentions)
        weights |= _named(f"{side}_layers.{i}.", layer)
    weights["output_proj.weight"] = weights["tgt_embedding.weight"]
    return weights | _norm(generator, f"{side}_norm.", width)


def _ids(*rows):
    return torch.tensor(rows)


def _draw_embedding(generator):
    return [
        (_ids([3, 1]), _normal(generator, 5, 4), sinusoidal_positions(9, 4)),
        (_ids([5, 2, 2], [1, 6, 0]), _normal(generator, 7, 6), sinusoidal_positions(9, 6)),
    ]


def _draw_attention(generator):
    cases = []
    for shape, length, mask in [
        ((1, 3, 4), 3, causal_mask(3)),
        ((2, 2, 3, 6), 4, padding_mask(_ids([4, 7, 2, 0], [3, 2, 0, 0]), 0)),
    ]:
        key = (*shape[:-2], length, shape[-1])
        parts = (_normal(generator, *size, scale=1.5) for size in (shape, key, key))
        cases.append((*parts, mask))
    return cases


def _draw_multi_head(generator):
    """Padding, a causal mask, and two sources: as long as x, and longer."""
    cases = []
    for batch, length, source, width, n_heads, mask in [
        (1, 3, 3, 4, 2, causal_mask(3)),
        (2, 3, 3, 6, 3, padding_mask(_ids([4, 7, 2], [3, 2, 0]), 0)),
        (2, 3, 5, 6, 2, torch.ones(1, 1, 1, 1, dtype=torch.bool)),
    ]:
        x, memory = (_normal(generator, batch, n, width, scale=1.0) for n in (length, source))
        cases.append((x, memory, mask, _attention_weights(generator, width), n_heads))
    return cases


def _draw_feed_forward(generator):
    return [
        (_normal(generator, *shape, scale=1.0), _feed_weights(generator, shape[-1], inner))
        for shape, inner in [((2, 3), 5), ((2, 4, 3), 7)]
    ]


def _draw_sublayer(generator):
    def sublayer(x):
        return torch.tanh(x.flip(-1)) * 2 + 0.5

    return [
        (_normal(generator, *shape, scale=2.0), sublayer, _norm(generator, "", shape[-1]))
        for shape in [(2, 4), (2, 3, 6)]
    ]


def _draw_encoder_layer(generator):
    return [
        (
            _normal(generator, len(ids), 3, width, scale=1.0),
            padding_mask(ids, 0),
            _layer_weights(generator, width, ["self_attention"]),
            n_heads,
        )
        for ids, width, n_heads in [(_ids([2, 5, 0]), 4, 2), (_ids([4, 7, 2], [3, 0, 0]), 6, 3)]
    ]


def _draw_encoder(generator):
    """Two layers, then three: whoever counts them by hand is found out."""
    cases = []
    for ids, width, n_heads, pad in [
        (_ids([2, 5, 0]), 4, 2, 0),
        (_ids([4, 7, 2], [3, 1, 7]), 6, 3, 7),
    ]:
        depth = 2 + len(cases)
        weights = _stack_weights(generator, width, "encoder", ["self_attention"], depth)
        cases.append((ids, weights, sinusoidal_positions(9, width), n_heads, pad))
    return cases


def _draw_decoder_layer(generator):
    cases = []
    everyone = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    for batch, source, width, n_heads, mask, memory_mask in [
        (1, 3, 4, 2, causal_mask(3), padding_mask(_ids([2, 5, 0]), 0)),
        (2, 3, 6, 3, causal_mask(3), padding_mask(_ids([4, 7, 2], [3, 0, 0]), 0)),
        (2, 5, 4, 2, everyone, everyone),
    ]:
        x, memory = (_normal(generator, batch, n, width, scale=1.0) for n in (3, source))
        weights = _layer_weights(generator, width, ["self_attention", "cross_attention"])
        cases.append((x, memory, mask, memory_mask, weights, n_heads))
    return cases


def _draw_decoder(generator):
    cases = []
    kinds = ["self_attention", "cross_attention"]
    for ids, source, width, n_heads, pad in [
        (_ids([1, 5, 0]), _ids([3, 0, 0]), 4, 2, 0),
        (_ids([1, 6, 2], [1, 7, 7]), _ids([4, 7, 7], [3, 4, 7]), 6, 3, 7),
    ]:
        memory, mask = _normal(generator, len(ids), 3, width, scale=1.0), padding_mask(source, pad)
        weights = _stack_weights(generator, width, "decoder", kinds, depth=2 + len(cases))
        cases.append((ids, memory, mask, weights, sinusoidal_positions(9, width), n_heads, pad))
    return cases


def _writer(sentences):
    """A made-up model: sentence i writes sentences[i], and after its end goes on with token 4."""

    def logits_of(ids):
        logits = torch.zeros(*ids.shape, 8)
        for row, sentence in enumerate(sentences):
            for t in range(ids.shape[1]):
                logits[row, t, sentence[t] if t < len(sentence) else 4] = 2.0
        return logits

    return logits_of


def _draw_greedy(generator):
    return [
        (_writer([[5, 2]]), 1, 1, 2, 0, 6),
        (_writer([[5, 6, 3], [3], [7, 5, 6, 4, 3]]), 3, 2, 3, 1, 9),
        (_writer([[5, 6, 7, 5, 6, 7], [6, 2]]), 2, 1, 2, 0, 4),
    ]


# Ways to go wrong.


def _embed(scale=math.sqrt, places=lambda ids, table: table[: ids.shape[1]], both=False):
    def embed(ids, table, positions):
        factor, where = scale(table.shape[1]), places(ids, positions)
        return (table[ids] + where) * factor if both else table[ids] * factor + where

    return embed


def _attend(scale=math.sqrt, axis=-1, change=lambda mask: mask, hide="before"):
    def attend(query, key, value, mask):
        scores = query @ key.transpose(-2, -1) / scale(query.shape[-1])
        allowed = change(mask)
        if hide == "before":
            return scores.masked_fill(~allowed, -math.inf).softmax(axis) @ value
        if hide == "zero":
            return (scores * allowed).softmax(axis) @ value
        return (scores.softmax(axis) * allowed) @ value

    return attend


def _heads(swap=(0, 1, 2), roles="xss", one=False, view=False, merge=True, w_o="right", bias=True, mask=True, transposed=""):  # fmt: skip
    """Make a multi-head attention that goes wrong in the ways asked for."""

    def multi_head(x, source, allowed, weights, n_heads):
        matrices, biases = _projections(weights, "weight"), _projections(weights, "bias")
        n_heads = 1 if one else n_heads
        heads = []
        for role, i in zip(roles, swap, strict=True):
            matrix = matrices[i].T if transposed else matrices[i]
            h = F.linear(
                x if role == "x" else source, matrix, biases[i] if bias in (True, "qkv") else None
            )
            cut = h.unflatten(-1, (n_heads, -1)).transpose(1, 2)
            heads.append(h.reshape(cut.shape) if view else cut)
        context = own.build_attention(*heads, allowed if mask else torch.tensor(True))
        flat = context.transpose(1, 2).flatten(-2) if merge else context.reshape(x.shape)
        if w_o == "none":
            return flat
        weight = weights["out_proj.weight"]
        used = weight if w_o == "right" else weight.T
        return F.linear(flat, used, weights["out_proj.bias"] if bias in (True, "out") else None)

    return multi_head


def _values_from_x(x, source, mask, weights, n_heads):
    """Keys from source, values from x; where x is shorter, only as many keys as it has."""
    n = min(x.shape[1], source.shape[1])
    w_q, w_k, w_v = _projections(weights, "weight")
    b_q, b_k, b_v = _projections(weights, "bias")
    parts = F.linear(x, w_q, b_q), F.linear(source[:, :n], w_k, b_k), F.linear(x[:, :n], w_v, b_v)
    heads = (p.unflatten(-1, (n_heads, -1)).transpose(1, 2) for p in parts)
    merged = own.build_attention(*heads, mask).transpose(1, 2).flatten(-2)
    return F.linear(merged, weights["out_proj.weight"], weights["out_proj.bias"])


def _feed(middle=F.relu, end=lambda x: x, bias="12"):
    def feed_forward(x, weights):
        b_1, b_2 = (weights[f"linear_{i}.bias"] if i in bias else None for i in "12")
        inner = middle(F.linear(x, weights["linear_1.weight"], b_1))
        return end(F.linear(inner, weights["linear_2.weight"], b_2))

    return feed_forward


def _sub(formula):
    """Make a sublayer by a formula of x, the sublayer and the norm."""

    def sub(x, sublayer, weights):
        return formula(x, sublayer, lambda h: layer_norm(h, weights["weight"], weights["bias"]))

    return sub


_POST_NORM = _sub(lambda x, f, norm: norm(x + f(x)))


def _layer(
    order, sub=own.build_sublayer, norms=None, mask="given", read="memory", reuse=False, raw=False,
    bare="",
):  # fmt: skip
    """Make a layer out of "s" (self), "c" (cross) and "f" (feed-forward), in this order."""

    def layer(x, memory, allowed, memory_allowed, weights, n_heads):
        allowed = torch.tensor(True) if mask == "none" else allowed
        kept = torch.tensor(True) if mask == "no memory" else memory_allowed
        for place, kind in enumerate(order):
            number = (norms or range(1, 4))[place]
            norm = under(weights, f"residual_{number}.norm.")
            name = "cross_attention." if kind == "c" and not reuse else "self_attention."
            matrices = under(weights, name)

            def run(h, kind=kind, matrices=matrices, x=x, norm=norm):
                asks = x if kind in bare else h
                if kind == "f":
                    return own.build_feed_forward(asks, under(weights, "feed_forward."))
                if kind == "s":
                    source = x if raw else asks
                    return own.build_multi_head(asks, source, allowed, matrices, n_heads)
                source = h if read == "own" else memory
                if read == "normed":
                    source = layer_norm(memory, norm["weight"], norm["bias"])
                return own.build_multi_head(h, source, kept, matrices, n_heads)

            x = sub(x, run, norm)
        return x

    return layer


def _encoder_layer(order, **wrong):
    """The same without a memory."""
    layer = _layer(order, **wrong)
    return lambda x, mask, weights, n_heads: layer(x, None, mask, None, weights, n_heads)


def _encode(order=lambda layers: layers, norm="end", mask=True, scale=True, from_start=False):
    def encode(ids, weights, positions, n_heads, pad_id):
        table = weights["src_embedding.weight"]
        allowed = padding_mask(ids, pad_id) if mask else torch.tensor(True)
        start = x = own.build_embedding(ids, table, positions) if scale else table[ids]
        last = weights["encoder_norm.weight"], weights["encoder_norm.bias"]
        for layer in order(layers_of(weights, "encoder_layers.")):
            x = own.build_encoder_layer(start if from_start else x, allowed, layer, n_heads)
            x = layer_norm(x, *last) if norm == "each" else x
        return layer_norm(x, *last) if norm == "end" else x

    return encode


def _decode(causal=True, pads="target", norm=True, end=lambda x: x, table="tgt", order=lambda layers: layers, join=torch.logical_and, read="tgt", from_start=False):  # fmt: skip
    """Make a decoder that goes wrong in the ways asked for; `pads` is whose padding its mask hides."""

    def decode(ids, source, source_mask, weights, positions, n_heads, pad_id):
        everyone = torch.ones(1, 1, 1, 1, dtype=torch.bool)
        hidden = {"target": padding_mask(ids, pad_id), "source": source_mask, "none": everyone}
        mask = join(hidden[pads], causal_mask(ids.shape[1]) if causal else everyone)
        start = x = own.build_embedding(ids, weights[f"{read}_embedding.weight"], positions)
        for layer in order(layers_of(weights, "decoder_layers.")):
            x = start if from_start else x
            x = own.build_decoder_layer(x, source, mask, source_mask, layer, n_heads)
        if norm:
            x = layer_norm(x, weights["decoder_norm.weight"], weights["decoder_norm.bias"])
        return end(x @ weights[f"{table}_embedding.weight"].T)

    return decode


def _write(place=-1, stop="all", fill=True, keep_bos=False, drop_eos=False, choose=torch.argmax, short=0, forget=False):  # fmt: skip
    """Make a greedy loop that goes wrong in the ways asked for."""

    def write(logits_of, n, bos_id, eos_id, pad_id, max_len):
        ids, done = torch.full((n, 1), bos_id), torch.zeros(n, dtype=torch.bool)
        for _ in range(max_len - short):
            token = choose(logits_of(ids)[:, place], dim=-1)
            token = token.masked_fill(done, pad_id) if fill else token
            ids = torch.cat([ids, token[:, None]], dim=1)
            done = (token == eos_id) if forget else done | (token == eos_id)
            if {"all": done.all(), "any": done.any(), "never": False}[stop]:
                break
        ids = ids.masked_fill(ids == eos_id, pad_id) if drop_eos else ids
        return ids if keep_bos else ids[:, 1:]

    return write


# The same, written differently.


def _multi_head_by_loop(x, source, mask, weights, n_heads):
    """One head after the other; the mask may differ between sentences."""
    found, width = [], x.shape[-1] // n_heads
    for h in range(n_heads):
        rows = slice(h * width, (h + 1) * width)
        q, k, v = (
            y @ w[rows].T + b[rows]
            for y, w, b in zip(
                (x, source, source),
                _projections(weights, "weight"),
                _projections(weights, "bias"),
                strict=True,
            )
        )
        allowed = mask[:, 0] if mask.dim() == 4 else mask
        found.append(own.build_attention(q, k, v, allowed))
    return torch.cat(found, -1) @ weights["out_proj.weight"].T + weights["out_proj.bias"]


def _multi_head_by_module(x, source, mask, weights, n_heads):
    module = MultiHeadAttention(x.shape[-1], n_heads)
    module.load_state_dict(weights)
    return module(x, source, source, mask, need_weights=True)[0].detach()


def _decoder_layer_by_halves(x, memory, mask, memory_mask, weights, n_heads):
    """The two attentions written out, with the source's padding spelt as a mask of all queries."""
    for i, name, allowed in [(1, "self_attention.", mask), (2, "cross_attention.", memory_mask)]:
        norm = (weights[f"residual_{i}.norm.{part}"] for part in ("weight", "bias"))
        h = F.layer_norm(x, x.shape[-1:], *norm)
        source = h if i == 1 else memory
        x = x + _multi_head_by_loop(h, source, allowed, under(weights, name), n_heads)
    feed = under(weights, "feed_forward.")
    return own.build_sublayer(
        x, lambda h: own.build_feed_forward(h, feed), under(weights, "residual_3.norm.")
    )


def _written_out(x, mask, weights, n_heads):
    """An encoder layer without `build_sublayer`."""
    h = F.layer_norm(
        x, x.shape[-1:], weights["residual_1.norm.weight"], weights["residual_1.norm.bias"]
    )
    x = x + _multi_head_by_loop(h, h, mask, under(weights, "self_attention."), n_heads)
    h = F.layer_norm(
        x, x.shape[-1:], weights["residual_2.norm.weight"], weights["residual_2.norm.bias"]
    )
    return x + own.build_feed_forward(h, under(weights, "feed_forward."))


def _encode_written_out(ids, weights, positions, n_heads, pad_id):
    x = own.build_embedding(ids, weights["src_embedding.weight"], positions)
    for layer in layers_of(weights, "encoder_layers."):
        x = _written_out(x, ids.ne(pad_id)[:, None, None], layer, n_heads)
    return F.layer_norm(
        x, x.shape[-1:], weights["encoder_norm.weight"], weights["encoder_norm.bias"]
    )


def _decode_with_output_proj(ids, memory, memory_mask, weights, positions, n_heads, pad_id):
    hidden = {**weights, "tgt_embedding.weight": weights["output_proj.weight"]}
    mask = (ids != pad_id)[:, None, None] & torch.ones(ids.shape[1], ids.shape[1]).tril().bool()
    x = hidden["tgt_embedding.weight"][ids] * positions.shape[1] ** 0.5
    x = x + positions[: ids.shape[1]]
    for layer in layers_of(weights, "decoder_layers."):
        x = _layer("scf")(x, memory, mask, memory_mask, layer, n_heads)
    norm = weights["decoder_norm.weight"], weights["decoder_norm.bias"]
    return F.linear(F.layer_norm(x, x.shape[-1:], *norm), weights["output_proj.weight"])


def _write_into_a_table(logits_of, n, bos_id, eos_id, pad_id, max_len):
    ids = torch.full((n, max_len + 1), pad_id)
    ids[:, 0] = bos_id
    for t in range(max_len):
        running = ~(ids[:, 1 : t + 1] == eos_id).any(1)
        if not running.any():
            return ids[:, 1 : t + 1]
        ids[running, t + 1] = logits_of(ids[:, : t + 1])[running, t].argmax(-1)
    return ids[:, 1:]


EXERCISES = [
    Exercise(
        name="build_embedding",
        title="part 1, the embedding",
        task="Look up each id's row in the table, scale by √D, add the position's row. Positions count from 0.",
        minutes=4,
        difficulty=1,
        importance=4,
        reference=own.build_embedding,
        draw=_draw_embedding,
        mistakes=[
            Mistake(
                "not scaled",
                _embed(scale=lambda width: 1),
                "The vectors are not scaled. Their numbers are far smaller than the positions': without the factor √D the words would drown.",
            ),
            Mistake(
                "divided by the root",
                _embed(scale=lambda width: width**-0.5),
                "The vectors are divided by √D. That is for the scores of attention; here they are multiplied.",
            ),
            Mistake(
                "scaled by the width",
                _embed(scale=lambda width: width),
                "The vectors are multiplied by D. Its square root is wanted: math.sqrt(table.shape[1]).",
            ),
            Mistake(
                "positions scaled too",
                _embed(both=True),
                "The positions are scaled too. Scale the looked-up vectors first, then add.",
            ),
            Mistake(
                "positions forgotten",
                _embed(places=lambda ids, table: 0),
                "The positions are missing. Without them the encoder cannot tell one order of words from another.",
            ),
            Mistake(
                "positions looked up by id",
                _embed(places=lambda ids, table: table[ids]),
                "The positions are looked up by token id. A position's row is chosen by where the token stands: rows 0 … T−1.",
            ),
            Mistake(
                "counted from one",
                _embed(places=lambda ids, table: table[1 : ids.shape[1] + 1]),
                "Every token has its neighbour's position: the first row belongs to the first token, positions[:T].",
            ),
            Mistake(
                "not scaled + counted from one",
                _embed(lambda width: 1, lambda ids, table: table[1 : ids.shape[1] + 1]),
            ),
        ],
        also_right=[
            lambda ids, table, positions: (
                F.embedding(ids, table) * table.shape[-1] ** 0.5 + positions[None, : ids.shape[-1]]
            ),
            lambda ids, table, positions: torch.stack(
                [
                    torch.stack([table[i] * len(table[i]) ** 0.5 + positions[t] for t, i in row])
                    for row in (enumerate(sentence.tolist()) for sentence in ids)
                ]
            ),
        ],
        hints=[
            "table[ids] has the shape (B, T, D) at once.",
            "positions[:T], shape (T, D), is added to every sentence by broadcasting.",
            "table[ids] * math.sqrt(table.shape[1]) + positions[: ids.shape[1]]",
        ],
        look_at="The table's width is the model's: no argument has to tell it.",
    ),
    Exercise(
        name="build_attention",
        title="part 2, scaled dot-product attention",
        task="Scores, scale, mask (True = may look), softmax over the keys, mix the values. Return the context only.",
        minutes=6,
        difficulty=2,
        importance=5,
        reference=own.build_attention,
        draw=_draw_attention,
        mistakes=[
            Mistake(
                "not scaled",
                _attend(scale=lambda width: 1),
                "The scores are not divided by √K. With wide heads the softmax would become hard.",
            ),
            Mistake(
                "divided by the width",
                _attend(scale=lambda width: width),
                "The scores are divided by K instead of its square root.",
            ),
            Mistake(
                "mask ignored",
                _attend(change=torch.ones_like),
                "The mask is not used: padding and future are visible. Set the scores where it is False to −∞ before the softmax.",
            ),
            Mistake(
                "mask inverted",
                _attend(change=torch.logical_not),
                "True is hidden and False is shown. True means may look: masked_fill(~mask, −∞).",
            ),
            Mistake(
                "masked after the softmax",
                _attend(hide="after"),
                "The weights are set to zero after the softmax, so the rows no longer sum to 1. Mask the scores before it.",
            ),
            Mistake(
                "scores set to zero",
                _attend(hide="zero"),
                "Hidden scores are set to 0, and exp(0) is 1: they still get weight. Set them to −∞.",
            ),
            Mistake(
                "softmax over the queries",
                _attend(axis=-2),
                "The softmax runs over the queries. Each query shares its attention among the keys, the last axis.",
            ),
            Mistake(
                "not scaled + mask ignored",
                _attend(scale=lambda width: 1, change=torch.ones_like),
            ),
        ],
        also_right=[
            lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, mask),
            lambda q, k, v, mask: scaled_dot_product_attention(q, k, v, mask)[0],
        ],
        hints=[
            "key.transpose(-2, -1) turns (..., S, K) into (..., K, S), whatever stands before.",
            "scores.masked_fill(~mask, -math.inf)",
            "softmax(-1) of the masked scores, then @ value.",
        ],
        look_at="Only the last two axes are named. So it works for one head and for many.",
    ),
    Exercise(
        name="build_multi_head",
        title="part 3, several heads",
        task="x asks, source answers. Project with query_proj, key_proj and value_proj (W_Q, W_K, W_V), split into heads, attend, merge, apply out_proj. Weights are stored as (out, in), so F.linear(x, weight, bias) is x @ weight.T + bias.",
        minutes=12,
        difficulty=4,
        importance=5,
        reference=own.build_multi_head,
        draw=_draw_multi_head,
        mistakes=[
            Mistake(
                "keys and values swapped",
                _heads(swap=(0, 2, 1)),
                "Keys are projected with the values' matrix and values with the keys'..",
            ),
            Mistake(
                "biases of W_Q, W_K, W_V forgotten",
                _heads(bias="out"),
                "The biases of query_proj, key_proj and value_proj are not used. F.linear takes one as third argument.",
            ),
            Mistake(
                "residual added",
                lambda x, source, mask, weights, n_heads: (
                    x + own.build_multi_head(x, source, mask, weights, n_heads)
                ),
                "x is added at the end. The residual path is part 5, around this one.",
            ),
            Mistake(
                "everything from x",
                _heads(roles="xxx"),
                "Keys and values come from x. They come from source: in cross-attention that is the other language.",
            ),
            Mistake(
                "values from x",
                _values_from_x,
                "The values come from x and the keys from source. A key and its value belong to the same word: both come from source.",
            ),
            Mistake(
                "W_Q, W_K, W_V not transposed",
                _heads(transposed="qkv"),
                "The three matrices are used as (in, out). They are stored as (out, in): x @ w.T, or F.linear.",
            ),
            Mistake(
                "nothing transposed",
                _heads(transposed="qkv", w_o="transposed"),
                "All four matrices are used as (in, out). They are stored as (out, in): x @ w.T, or F.linear.",
            ),
            Mistake(
                "cut without transposing + merged without transposing",
                _heads(view=True, merge=False),
            ),
            Mistake(
                "out_proj's bias forgotten",
                _heads(bias="qkv"),
                "out_proj's bias is not used. F.linear takes it as third argument.",
            ),
            Mistake(
                "one head",
                _heads(one=True),
                "The heads are not split: this is one wide head, with the root of its width.",
            ),
            Mistake(
                "cut without transposing",
                _heads(view=True),
                "The numbers are only re-read as (B, H, T, K), so a head gets parts of different words. Split the last axis into (H, K), then transpose.",
            ),
            Mistake(
                "merged without transposing",
                _heads(merge=False),
                "The heads are merged without transposing back: parts of different words stand side by side. (B, H, T, K) to (B, T, H, K) first, then flatten.",
            ),
            Mistake(
                "no W_O",
                _heads(w_o="none"),
                "out_proj is not applied. Without it the heads never exchange anything.",
            ),
            Mistake(
                "W_O not transposed",
                _heads(w_o="transposed"),
                "out_proj is used as (in, out). It is stored as (out, in): F.linear transposes it for you.",
            ),
            Mistake(
                "biases forgotten",
                _heads(bias=False),
                "The biases are not used. There is one for each of the four projections.",
            ),
            Mistake(
                "queries and keys swapped",
                _heads(swap=(1, 0, 2)),
                "Queries are projected with the keys' matrix and keys with the queries'..",
            ),
            Mistake(
                "mask ignored",
                _heads(mask=False),
                "The mask does not reach the attention: hand it on.",
            ),
        ],
        also_right=[_multi_head_by_loop, _multi_head_by_module],
        hints=[
            'F.linear(x, weights["query_proj.weight"], weights["query_proj.bias"]) is the query; key and value are made from source in the same way.',
            "Split: x.unflatten(-1, (n_heads, -1)).transpose(1, 2) makes (B, H, T, K) of (B, T, D).",
            "Merge: .transpose(1, 2).flatten(-2) makes (B, T, D) of (B, H, T, K).",
            'F.linear(merged, weights["out_proj.weight"], weights["out_proj.bias"]) at the end.',
        ],
        look_at="The length of source never has to be that of x: only scores know both.",
    ),
    Exercise(
        name="build_feed_forward",
        title="part 4, the feed-forward network",
        task="linear_1, ReLU, linear_2, with their biases. The weights are stored as (out, in).",
        minutes=3,
        difficulty=1,
        importance=4,
        reference=own.build_feed_forward,
        draw=_draw_feed_forward,
        mistakes=[
            Mistake(
                "no ReLU",
                _feed(middle=lambda x: x),
                "There is no ReLU: two linear layers in a row are one linear layer.",
            ),
            Mistake(
                "ReLU at the end too",
                _feed(end=F.relu),
                "There is a second ReLU at the end. What is added to x may be negative.",
            ),
            Mistake(
                "ReLU at the end only",
                _feed(middle=lambda x: x, end=F.relu),
                "The ReLU stands at the end. It belongs between the two layers.",
            ),
            Mistake(
                "GELU",
                _feed(middle=F.gelu),
                "This is GELU, as BERT has it. Our translator uses ReLU.",
            ),
            Mistake(
                "biases forgotten",
                _feed(bias=""),
                "The biases are not used; each layer has one.",
            ),
            Mistake(
                "first bias forgotten",
                _feed(bias="2"),
                "linear_1's bias is not used; each layer has one.",
            ),
            Mistake(
                "second bias forgotten",
                _feed(bias="1"),
                "linear_2's bias is not used; each layer has one.",
            ),
            Mistake(
                "residual added",
                lambda x, weights: x + own.build_feed_forward(x, weights),
                "x is added at the end. The residual path is the next part, around this one.",
            ),
        ],
        also_right=[
            lambda x, w: (
                (x @ w["linear_1.weight"].T + w["linear_1.bias"]).clamp(min=0)
                @ w["linear_2.weight"].T
                + w["linear_2.bias"]
            ),
            lambda x, w: (
                torch.einsum(
                    "...f,df->...d",
                    (
                        torch.einsum("...d,fd->...f", x, w["linear_1.weight"]) + w["linear_1.bias"]
                    ).relu(),
                    w["linear_2.weight"],
                )
                + w["linear_2.bias"]
            ),
        ],
        hints=[
            "Lesson 07's network, with the matrices the other way round.",
            'F.linear(x, weights["linear_1.weight"], weights["linear_1.bias"]).relu()',
        ],
        look_at="No axis is named: it works on any (..., D).",
    ),
    Exercise(
        name="build_sublayer",
        title="part 5, the residual path",
        task='Pre-norm, as our translator: x + sublayer(norm(x)). sublayer is a function; gain and bias of the norm are weights["weight"] and weights["bias"].',
        minutes=3,
        difficulty=2,
        importance=4,
        reference=own.build_sublayer,
        draw=_draw_sublayer,
        mistakes=[
            Mistake(
                "gain and bias exchanged",
                lambda x, f, weights: x + f(layer_norm(x, weights["bias"], weights["weight"])),
                "Gain and bias have changed places: layer_norm(x, gain, bias), and the gain is called weight.",
            ),
            Mistake(
                "post-norm",
                _POST_NORM,
                "This is post-norm, the paper's order. The translator was trained with pre-norm, and its weights fit nothing else.",
            ),
            Mistake(
                "no residual",
                _sub(lambda x, f, norm: f(norm(x))),
                "x itself is lost: add it to what the sublayer returns.",
            ),
            Mistake(
                "no norm",
                _sub(lambda x, f, norm: x + f(x)),
                "The norm is not used: the sublayer reads the normalised x.",
            ),
            Mistake(
                "skip path normalised",
                _sub(lambda x, f, norm: norm(x) + f(norm(x))),
                "The skip path carries the normalised x. It carries x itself.",
            ),
            Mistake(
                "only the output normalised",
                _sub(lambda x, f, norm: x + norm(f(x))),
                "The norm acts on what leaves the sublayer. It acts on what enters.",
            ),
            Mistake(
                "gain and bias unused",
                lambda x, f, weights: x + f(F.layer_norm(x, x.shape[-1:])),
                'The norm has no gain and no bias. Hand over weights["weight"] and weights["bias"].',
            ),
        ],
        also_right=[
            lambda x, f, w: f(F.layer_norm(x, x.shape[-1:], w["weight"], w["bias"])) + x,
            _sub(lambda x, f, norm: torch.stack([x, f(norm(x))]).sum(0)),
        ],
        hints=[
            "layer_norm(x, gain, bias) is lesson 07's; F.layer_norm does the same.",
            'x + sublayer(layer_norm(x, weights["weight"], weights["bias"]))',
        ],
        look_at="The sublayer is handed in: attention and feed-forward get the same path.",
    ),
    Exercise(
        name="build_encoder_layer",
        title="part 6, an encoder layer",
        task='Self-attention in a residual path (norm "residual_1.norm."), then feed-forward in another ("residual_2.norm."). under(weights, "self_attention.") picks what belongs to a part.',
        minutes=7,
        difficulty=3,
        importance=5,
        reference=own.build_encoder_layer,
        draw=_draw_encoder_layer,
        mistakes=[
            Mistake(
                "attention ignores h",
                _encoder_layer("sf", bare="s"),
                "The attention reads x instead of the lambda's h, so it works on vectors that were never normalised: lambda h: build_multi_head(h, h, …).",
            ),
            Mistake(
                "feed-forward ignores h",
                _encoder_layer("sf", bare="f"),
                "The feed-forward network reads x instead of the lambda's h, so it works on vectors that were never normalised: lambda h: build_feed_forward(h, …).",
            ),
            Mistake(
                "nothing normalised",
                _encoder_layer("sf", bare="sf"),
                "Neither sublayer works on normalised vectors: either build_sublayer is not used, or the lambdas read x instead of their own h. lambda h: build_multi_head(h, h, …).",
            ),
            Mistake(
                "no residual",
                _encoder_layer("sf", sub=_sub(lambda x, f, norm: f(norm(x)))),
                "x itself is lost. Use build_sublayer, which adds it.",
            ),
            Mistake(
                "mask ignored",
                _encoder_layer("sf", mask="none"),
                "The mask does not reach the attention: words look at padding.",
            ),
            Mistake(
                "feed-forward forgotten",
                _encoder_layer("s"),
                "The second half is missing: after the attention comes the feed-forward network.",
            ),
            Mistake(
                "attention forgotten",
                _encoder_layer("f", norms=[2]),
                "There is no attention, or what it returned is thrown away: the second sublayer reads what the first returned.",
            ),
            Mistake(
                "feed-forward first",
                _encoder_layer("fs", norms=[2, 1]),
                "The feed-forward network comes first. Look around first, then think.",
            ),
            Mistake(
                "one norm for both",
                _encoder_layer("sf", norms=[1, 1]),
                "Both sublayers use residual_1's norm. Each has its own: residual_1 and residual_2.",
            ),
            Mistake(
                "norms swapped",
                _encoder_layer("sf", norms=[2, 1]),
                "The norms are swapped: residual_1 belongs to the attention, residual_2 to the feed-forward network.",
            ),
            Mistake(
                "keys not normalised",
                _encoder_layer("sf", raw=True),
                "Queries come from the normalised x, keys and values from x itself. In self-attention all three come from the same vectors: build_multi_head(h, h, …).",
            ),
            Mistake(
                "post-norm",
                _encoder_layer("sf", sub=_POST_NORM),
                "This is post-norm. Use build_sublayer, which is pre-norm.",
            ),
        ],
        also_right=[
            _written_out,
            _encoder_layer("sf"),
        ],
        hints=[
            "Twice build_sublayer(x, sublayer, norm); the second reads what the first returned.",
            'A sublayer with one argument: lambda h: build_multi_head(h, h, mask, under(weights, "self_attention."), n_heads)',
            'The norms: under(weights, "residual_1.norm.") and under(weights, "residual_2.norm.").',
        ],
        look_at="The shape that goes in comes out. That is why layers can be stacked.",
    ),
    Exercise(
        name="build_encoder",
        title="part 7, the encoder",
        task='Padding mask, embedding, every layer in turn, and the final norm. layers_of(weights, "encoder_layers.") lists the layers\' weights.',
        minutes=7,
        difficulty=3,
        importance=4,
        reference=own.build_encoder,
        draw=_draw_encoder,
        mistakes=[
            Mistake(
                "the target's table",
                lambda ids, weights, *rest: _encode()(
                    ids, {**weights, "src_embedding.weight": weights["tgt_embedding.weight"]}, *rest
                ),
                "The source's ids are looked up in the target's table. Take src_embedding.",
            ),
            Mistake(
                "padding taken to be 0",
                lambda ids, weights, positions, n_heads, pad_id: _encode()(
                    ids, weights, positions, n_heads, 0
                ),
                "The padding is taken to be token 0. It is pad_id.",
            ),
            Mistake(
                "no final norm",
                _encode(norm="none"),
                "The final norm is missing. In pre-norm nothing has normalised the sum that leaves the last layer: encoder_norm does.",
            ),
            Mistake(
                "normalised after each layer",
                _encode(norm="each"),
                "encoder_norm is applied after each layer. It stands once, at the very end.",
            ),
            Mistake(
                "padding visible",
                _encode(mask=False),
                "Padding is visible to the words. Make the mask from the ids: padding_mask(src_ids, pad_id).",
            ),
            Mistake(
                "one layer only",
                _encode(order=lambda layers: layers[:1]),
                "Only the first layer was applied. Is the return inside the loop?",
            ),
            Mistake(
                "the first layer again and again",
                _encode(order=lambda layers: layers[:1] * len(layers)),
                "Every layer uses the weights of the first. Each has its own.",
            ),
            Mistake(
                "last layer first",
                _encode(order=lambda layers: layers[::-1]),
                "The layers run from last to first.",
            ),
            Mistake(
                "each layer reads the embedding",
                _encode(from_start=True),
                "Every layer reads the embedding instead of what the layer before wrote: x = build_encoder_layer(x, …).",
            ),
            Mistake(
                "bare table",
                _encode(scale=False),
                "The vectors come from the table alone, without scale and positions: use build_embedding.",
            ),
            Mistake("no final norm + padding visible", _encode(norm="none", mask=False)),
        ],
        also_right=[
            _encode(),
            _encode_written_out,
        ],
        hints=[
            "mask = padding_mask(src_ids, pad_id), shape (B, 1, 1, S).",
            'x = build_embedding(src_ids, weights["src_embedding.weight"], positions), then a loop over layers_of(weights, "encoder_layers.").',
            'layer_norm(x, weights["encoder_norm.weight"], weights["encoder_norm.bias"]) after the loop.',
        ],
        look_at="The mask is made once and given to every layer.",
    ),
    Exercise(
        name="build_decoder_layer",
        title="part 8, a decoder layer",
        task="Three residual paths: self-attention under mask, cross-attention to memory under memory_mask, feed-forward. Norms residual_1, residual_2, residual_3. The memory has its norm already.",
        minutes=8,
        difficulty=4,
        importance=5,
        reference=own.build_decoder_layer,
        draw=_draw_decoder_layer,
        mistakes=[
            Mistake(
                "memory normalised",
                _layer("scf", read="normed"),
                "The memory is normalised once more. It has its norm already: only what asks, h, is normalised here.",
            ),
            Mistake(
                "attention ignores h",
                _layer("scf", bare="s"),
                "The self-attention reads x instead of the lambda's h, so it works on vectors that were never normalised: lambda h: build_multi_head(h, h, …).",
            ),
            Mistake(
                "no cross-attention, and residual_2 for the network",
                _layer("sf", norms=[1, 2]),
                "The cross-attention is missing: the decoder never reads the source.",
            ),
            Mistake(
                "no self-attention",
                _layer("cf", norms=[2, 3]),
                "The self-attention is missing: no word sees what is already written.",
            ),
            Mistake(
                "one norm for all",
                _layer("scf", norms=[1, 1, 1]),
                "All three sublayers use residual_1's norm. Each has its own: residual_1, residual_2, residual_3.",
            ),
            Mistake(
                "future visible",
                _layer("scf", mask="none"),
                "The mask does not reach the self-attention: the decoder sees the words it is to write.",
            ),
            Mistake(
                "source padding visible",
                _layer("scf", mask="no memory"),
                "memory_mask does not reach the cross-attention: the padding of the source is read.",
            ),
            Mistake(
                "masks swapped",
                lambda x, memory, mask, memory_mask, weights, n_heads: _layer("scf")(
                    x, memory, memory_mask, mask, weights, n_heads
                ),
                "The masks are swapped: mask is for the decoder's own positions, memory_mask for the source.",
            ),
            Mistake(
                "no cross-attention",
                _layer("sf", norms=[1, 3]),
                "The cross-attention is missing: the decoder never reads the source.",
            ),
            Mistake(
                "cross-attention reads x",
                _layer("scf", read="own"),
                "The cross-attention looks at the decoder's own vectors. Its second argument is memory.",
            ),
            Mistake(
                "across before back",
                _layer("csf", norms=[2, 1, 3]),
                "The cross-attention comes first. The order is: look back, look across, think.",
            ),
            Mistake(
                "one attention for both",
                _layer("scf", reuse=True),
                'The cross-attention uses self_attention\'s matrices. It has its own, under "cross_attention."',
            ),
            Mistake(
                "feed-forward forgotten",
                _layer("sc"),
                "The feed-forward network is missing at the end.",
            ),
            Mistake(
                "norms swapped",
                _layer("scf", norms=[1, 3, 2]),
                "The norms of cross-attention and feed-forward are swapped: residual_2 and residual_3, in this order.",
            ),
            Mistake(
                "post-norm",
                _layer("scf", sub=_POST_NORM),
                "This is post-norm. Use build_sublayer, which is pre-norm.",
            ),
        ],
        also_right=[_layer("scf"), _decoder_layer_by_halves],
        hints=[
            "It is the encoder layer with one more sublayer in the middle.",
            'lambda h: build_multi_head(h, memory, memory_mask, under(weights, "cross_attention."), n_heads)',
            "Three times x = build_sublayer(x, …), with residual_1, residual_2 and residual_3.",
        ],
        look_at="Queries of the middle sublayer come from the normalised x; keys and values from the memory as it is.",
    ),
    Exercise(
        name="build_decoder",
        title="part 9, the decoder and its logits",
        task="Mask (causal and padding), embedding, every layer, the final norm; then one score for each token of the vocabulary, with the target table transposed. Logits, no softmax.",
        minutes=8,
        difficulty=4,
        importance=5,
        reference=own.build_decoder,
        draw=_draw_decoder,
        mistakes=[
            Mistake(
                "own mask from the source",
                _decode(pads="source"),
                "The decoder's own mask is made of memory_mask, the padding of the source. Make it from the target: padding_mask(tgt_ids, pad_id).",
            ),
            Mistake(
                "source masked by the target",
                lambda ids, memory, _, weights, positions, n_heads, pad_id: own.build_decoder(
                    ids, memory, padding_mask(ids, pad_id), weights, positions, n_heads, pad_id
                ),
                "The cross-attention is given the padding of the target. What it reads is the source: hand on memory_mask.",
            ),
            Mistake(
                "reads with the source's table",
                _decode(read="src"),
                "The target's ids are looked up in the source's table. They are the target's: tgt_embedding.",
            ),
            Mistake(
                "each layer reads the embedding",
                _decode(from_start=True),
                "Every layer reads the embedding instead of what the layer before wrote: x = build_decoder_layer(x, …).",
            ),
            Mistake(
                "future visible",
                _decode(causal=False),
                "Every position sees what comes after it. Combine with causal_mask(T).",
            ),
            Mistake(
                "masks joined with or",
                _decode(join=torch.logical_or),
                "The masks are joined with or. A position may look where both allow it: &.",
            ),
            Mistake(
                "future visible + target padding visible",
                _decode(causal=False, pads="none"),
            ),
            Mistake(
                "target padding visible",
                _decode(pads="none"),
                "The padding of the target is visible: combine with padding_mask(tgt_ids, pad_id).",
            ),
            Mistake(
                "source padding visible",
                lambda ids, memory, mask, *rest: own.build_decoder(
                    ids, memory, torch.ones_like(mask), *rest
                ),
                "memory_mask is not handed on to the layers.",
            ),
            Mistake(
                "no final norm",
                _decode(norm=False),
                "decoder_norm is missing between the last layer and the logits.",
            ),
            Mistake(
                "probabilities",
                _decode(end=lambda x: x.softmax(-1)),
                "These are probabilities. Return the logits: whoever wants probabilities takes the softmax.",
            ),
            Mistake(
                "log-probabilities",
                _decode(end=lambda x: x.log_softmax(-1)),
                "These are log-probabilities. Return the logits, before any softmax.",
            ),
            Mistake(
                "the source's table",
                _decode(table="src"),
                "The logits come from the source's table. What is written is the target language: tgt_embedding.",
            ),
            Mistake(
                "one layer only",
                _decode(order=lambda layers: layers[:1]),
                "Only the first layer was applied. Is the return inside the loop?",
            ),
            Mistake(
                "last layer first",
                _decode(order=lambda layers: layers[::-1]),
                "The layers run from last to first.",
            ),
        ],
        also_right=[_decode(), _decode_with_output_proj],
        hints=[
            "mask = padding_mask(tgt_ids, pad_id) & causal_mask(tgt_ids.shape[1]): (B, 1, T, T).",
            'Then as in the encoder, with "tgt_embedding.weight", "decoder_layers." and "decoder_norm."; the memory goes to every layer.',
            'x @ weights["tgt_embedding.weight"].T',
        ],
        look_at="The same table reads the words and writes them: a logit is a dot product with a word's vector.",
    ),
    Exercise(
        name="build_greedy",
        title="part 10, writing",
        task="Begin each of n rows with bos_id. Append the likeliest next token to every row, until all have written eos_id, at most max_len times. logits_of(ids) gives (n, t, V). Return (n, T): without bos, with eos, pad_id after it.",
        minutes=8,
        difficulty=3,
        importance=4,
        reference=own.build_greedy,
        draw=_draw_greedy,
        mistakes=[
            Mistake(
                "filled with eos",
                lambda logits_of, n, bos_id, eos_id, pad_id, max_len: _write()(
                    logits_of, n, bos_id, eos_id, eos_id, max_len
                ),
                "Sentences that are complete go on with eos_id. After their one eos_id comes pad_id.",
            ),
            Mistake(
                "first position",
                _write(place=0),
                "Every step sees the logits of the first position. Either they are read there ([:, 0]; the next token is predicted at the last, [:, -1]), or only the newest token is handed over: give logits_of all ids.",
            ),
            Mistake(
                "the least likely",
                _write(choose=torch.argmin),
                "This takes the smallest logit. Take the largest: argmax.",
            ),
            Mistake(
                "stops with the first sentence",
                _write(stop="any"),
                "It stops as soon as one sentence is complete. Wait until all are: done.all().",
            ),
            Mistake(
                "never stops",
                _write(stop="never"),
                "It goes on to max_len though every sentence is complete.",
            ),
            Mistake(
                "words after the end",
                _write(fill=False),
                "Sentences that are complete go on talking. After eos_id their tokens are pad_id: masked_fill(done, pad_id).",
            ),
            Mistake(
                "forgets who is done",
                _write(forget=True),
                "A sentence that has ended counts as running again one step later. Keep what was: done = done | (token == eos_id).",
            ),
            Mistake(
                "begin kept",
                _write(keep_bos=True),
                "The begin-of-sentence token is returned too. Leave the first column out.",
            ),
            Mistake(
                "end dropped",
                _write(drop_eos=True),
                "The end-of-sentence token is missing. It stays, so that one sees which sentences were completed.",
            ),
            Mistake(
                "one token too few",
                _write(short=1),
                "It writes one token too few: max_len counts written tokens, and bos_id was not written.",
            ),
        ],
        also_right=[_write(), _write_into_a_table],
        hints=[
            "ids = torch.full((n, 1), bos_id), and done = torch.zeros(n, dtype=torch.bool).",
            "token = logits_of(ids)[:, -1].argmax(-1); rows that are done get pad_id: token.masked_fill(done, pad_id).",
            "Append with torch.cat([ids, token[:, None]], dim=1), then done = done | (token == eos_id).",
            "if done.all(): break; after the loop return ids[:, 1:].",
        ],
        look_at="It knows nothing of a Transformer: any function from ids to logits will do.",
    ),
]
