"""Lesson 10, build a Transformer: ten parts. The tested ones stand in `own_transformer`."""

import math

import torch
import torch.nn.functional as F

from helpers.exercises import lessons
from helpers.exercises.model import Exercise, Mistake
from helpers.transformer.attention import MultiHeadAttention, scaled_dot_product_attention
from helpers.transformer.masks import causal_mask, padding_mask
from helpers.transformer.positions import sinusoidal_positions

merge_heads, split_heads = (
    getattr(lessons.module(6, "exercises"), name) for name in ("merge_heads", "split_heads")
)
layer_norm = lessons.module(7, "exercises").layer_norm
own = lessons.module(10, "own_transformer")
build_decoder_layer, build_embedding = own.build_decoder_layer, own.build_embedding
build_encoder_layer, build_feed_forward = own.build_encoder_layer, own.build_feed_forward
build_multi_head, build_sublayer = own.build_multi_head, own.build_sublayer
layers_of, under = own.layers_of, own.under

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
        for ids, width, n_heads in [(_ids([2, 5, 0]), 4, 2), (_ids([4, 7, 2], [3, 5, 0]), 6, 3)]
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
        (_ids([1, 6, 2, 5], [1, 7, 7, 7]), _ids([4, 7, 7, 7], [3, 4, 7, 7]), 6, 3, 7),
    ]:
        memory, mask = (
            _normal(generator, *source.shape, width, scale=1.0),
            padding_mask(source, pad),
        )
        weights = _stack_weights(generator, width, "decoder", kinds, depth=2 + len(cases))
        cases.append((ids, memory, mask, weights, sinusoidal_positions(9, width), n_heads, pad))
    return cases


def _writer(sentences, bos_id):
    """A made-up model: sentence i writes sentences[i], and after its end goes on with token 4."""

    def logits_of(ids):
        if (ids[:, 0] != bos_id).any():
            raise ValueError("every row of ids begins with bos_id")
        logits = torch.zeros(*ids.shape, 8)
        for row, sentence in enumerate(sentences):
            for t in range(ids.shape[1]):
                logits[row, t, sentence[t] if t < len(sentence) else 4] = 2.0
        return logits

    return logits_of


def _draw_greedy(generator):
    return [
        (_writer([[5, 2]], 1), 1, 1, 2, 0, 6),
        (_writer([[5, 6, 3], [3], [7, 5, 6, 4, 3]], 2), 3, 2, 3, 1, 9),
        (_writer([[5, 6, 7, 5, 6, 7], [6, 2]], 1), 2, 1, 2, 0, 4),
    ]


# The solutions as a learner would write them; known mistakes are edits of these texts.


def _embed(ids, table, positions):
    vectors = table[ids] * math.sqrt(table.shape[1])
    places = positions[: ids.shape[1]]
    return vectors + places


def _attend(query, key, value, mask):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ value


def _multi_head(x, source, mask, weights, n_heads):
    query = F.linear(x, weights["query_proj.weight"], weights["query_proj.bias"])
    key = F.linear(source, weights["key_proj.weight"], weights["key_proj.bias"])
    value = F.linear(source, weights["value_proj.weight"], weights["value_proj.bias"])
    query = split_heads(query, n_heads)
    key = split_heads(key, n_heads)
    value = split_heads(value, n_heads)
    context = own.build_attention(query, key, value, mask)
    merged = merge_heads(context)
    return F.linear(merged, weights["out_proj.weight"], weights["out_proj.bias"])


def _feed(x, weights):
    inner = F.linear(x, weights["linear_1.weight"], weights["linear_1.bias"]).relu()
    return F.linear(inner, weights["linear_2.weight"], weights["linear_2.bias"])


def _sublayer(x, sublayer, weights):
    normalised = layer_norm(x, weights["weight"], weights["bias"])
    return x + sublayer(normalised)


def _encoder_layer(x, mask, weights, n_heads):
    attention = under(weights, "self_attention.")
    feed = under(weights, "feed_forward.")
    norm_1 = under(weights, "residual_1.norm.")
    norm_2 = under(weights, "residual_2.norm.")
    x = build_sublayer(x, lambda h: build_multi_head(h, h, mask, attention, n_heads), norm_1)
    x = build_sublayer(x, lambda h: build_feed_forward(h, feed), norm_2)
    return x


def _encode(src_ids, weights, positions, n_heads, pad_id):
    mask = padding_mask(src_ids, pad_id)
    x = build_embedding(src_ids, weights["src_embedding.weight"], positions)
    for layer in layers_of(weights, "encoder_layers."):
        x = build_encoder_layer(x, mask, layer, n_heads)
    return layer_norm(x, weights["encoder_norm.weight"], weights["encoder_norm.bias"])


def _decoder_layer(x, memory, mask, memory_mask, weights, n_heads):
    attention = under(weights, "self_attention.")
    across = under(weights, "cross_attention.")
    feed = under(weights, "feed_forward.")
    norm_1 = under(weights, "residual_1.norm.")
    norm_2 = under(weights, "residual_2.norm.")
    norm_3 = under(weights, "residual_3.norm.")
    x = build_sublayer(x, lambda h: build_multi_head(h, h, mask, attention, n_heads), norm_1)
    x = build_sublayer(x, lambda h: build_multi_head(h, memory, memory_mask, across, n_heads), norm_2)  # fmt: skip
    x = build_sublayer(x, lambda h: build_feed_forward(h, feed), norm_3)
    return x


def _decode(tgt_ids, memory, memory_mask, weights, positions, n_heads, pad_id):
    mask = padding_mask(tgt_ids, pad_id) & causal_mask(tgt_ids.shape[1])
    x = build_embedding(tgt_ids, weights["tgt_embedding.weight"], positions)
    for layer in layers_of(weights, "decoder_layers."):
        x = build_decoder_layer(x, memory, mask, memory_mask, layer, n_heads)
    x = layer_norm(x, weights["decoder_norm.weight"], weights["decoder_norm.bias"])
    logits = x @ weights["tgt_embedding.weight"].T
    return logits


def _write(logits_of, n, bos_id, eos_id, pad_id, max_len):
    ids = torch.full((n, 1), bos_id)
    done = torch.zeros(n, dtype=torch.bool)
    for _ in range(max_len):
        logits = logits_of(ids)[:, -1]
        token = logits.argmax(-1)
        token = token.masked_fill(done, pad_id)
        ids = torch.cat([ids, token[:, None]], dim=1)
        done = done | (token == eos_id)
        if done.all():
            break
    return ids[:, 1:]


# Ways to go wrong that are more than an edit.


def _values_from_x(x, source, mask, weights, n_heads):
    """Keys from source, values from x; where x is shorter, only as many keys as it has."""
    n = min(x.shape[1], source.shape[1])
    w_q, w_k, w_v = _projections(weights, "weight")
    b_q, b_k, b_v = _projections(weights, "bias")
    parts = F.linear(x, w_q, b_q), F.linear(source[:, :n], w_k, b_k), F.linear(x[:, :n], w_v, b_v)
    heads = (split_heads(part, n_heads) for part in parts)
    merged = merge_heads(own.build_attention(*heads, mask))
    return F.linear(merged, weights["out_proj.weight"], weights["out_proj.bias"])


def _view(x, n_heads):
    batch, length, width = x.shape
    return x.reshape(batch, n_heads, length, width // n_heads)


def _post_norm(x, sublayer, weights):
    return layer_norm(x + sublayer(x), weights["weight"], weights["bias"])


def _bare(x, sublayer, weights):
    return sublayer(layer_norm(x, weights["weight"], weights["bias"]))


def _with(function, kinds):
    """Spell the edits that put another function in the place of build_sublayer."""
    return tuple(
        (f"x = build_sublayer(x, lambda h: {kind}", f"x = {function}(x, lambda h: {kind}")
        for kind in kinds
    )


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
        x = own.build_decoder_layer(x, memory, mask, memory_mask, layer, n_heads)
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


ATTEND = "build_multi_head(h, h, mask"
FEED_LINE = "    x = build_sublayer(x, lambda h: build_feed_forward(h, feed), norm_{})\n"
SELF_LINE = "    x = build_sublayer(x, lambda h: build_multi_head(h, h, mask, attention, n_heads), norm_1)\n"
ACROSS_LINE = "    x = build_sublayer(x, lambda h: build_multi_head(h, memory, memory_mask, across, n_heads), norm_2)  # fmt: skip\n"
SELF_BARE = "The {}attention reads x instead of the lambda's h, so it works on vectors that were never normalised: lambda h: build_multi_head(h, h, …)."
NO_LOOP = "Only the first layer was applied. Is the return inside the loop?"
BACKWARDS = "The layers run from last to first."
SRC, TGT = '"src_embedding.weight"', '"tgt_embedding.weight"'
BIASES = {name: f', weights["{name}.bias"]' for name in PROJECTIONS}
MATRICES = {name: f'weights["{name}.weight"]' for name in PROJECTIONS}
NO_QKV_BIAS = tuple((BIASES[name], "") for name in PROJECTIONS[:3])
QKV_BACK = tuple((MATRICES[name], f"{MATRICES[name]}.T") for name in PROJECTIONS[:3])
OUT_BACK = (MATRICES["out_proj"], MATRICES["out_proj"] + ".T")
VIEWS = tuple((f"split_heads({name}", f"_view({name}") for name in ("query", "key", "value"))
MERGED_VIEW = ("merge_heads(context)", "context.reshape(x.shape)")
EACH_READS = ("    for layer", "    start = x\n    for layer")

# fmt: off
EXERCISES = [
    Exercise(
        name="build_embedding",
        title="part 1, the embedding",
        task="Look up each id's row in the table, scale by √D, and add the position's row. Positions are counted from 0.",
        minutes=4, difficulty=1, importance=4,
        reference=own.build_embedding,
        plain=_embed,
        draw=_draw_embedding,
        mistakes=[
            Mistake("not scaled", " * math.sqrt(table.shape[1])", "",
                    "The vectors aren't scaled. Their numbers are far smaller than the positions', so without the factor √D the positions would drown out the words."),
            Mistake("divided by the root", "* math", "/ math",
                    "The vectors are divided by √D. That is for attention scores; here they are multiplied."),
            Mistake("scaled by the width", "math.sqrt(table.shape[1])", "table.shape[1]",
                    "The vectors are multiplied by D instead of its square root: math.sqrt(table.shape[1])."),
            Mistake("positions scaled too", "return", "(table[ids] + places) * math.sqrt(table.shape[1])",
                    "The positions are scaled too. Scale the looked-up vectors first, then add."),
            Mistake("positions forgotten", " + places", "",
                    "The positions are missing. Without them the encoder can't tell one word order from another."),
            Mistake("positions looked up by id", "positions[: ids.shape[1]]", "positions[ids]",
                    "The positions are looked up by token id. A position's row depends on where the token is: rows 0 … T−1."),
            Mistake("counted from one", "positions[: ids.shape[1]]", "positions[1 : ids.shape[1] + 1]",
                    "Every token has its neighbour's position. The first row belongs to the first token: positions[:T]."),
        ],
        also_right=[
            lambda ids, table, positions: F.embedding(ids, table) * table.shape[-1] ** 0.5 + positions[None, : ids.shape[-1]],
            lambda ids, table, positions: torch.stack(
                [
                    torch.stack([table[i] * len(table[i]) ** 0.5 + positions[t] for t, i in row])
                    for row in (enumerate(sentence.tolist()) for sentence in ids)
                ]
            ),
        ],
        hints=[
            "table[ids] already has the shape (B, T, D).",
            "positions[:T], shape (T, D), is added to every sentence by broadcasting.",
            "table[ids] * math.sqrt(table.shape[1]) + positions[: ids.shape[1]]",
        ],
        look_at="The table's width is the model's width, so it needn't be passed as an argument.",
    ),
    Exercise(
        name="build_attention",
        title="part 2, scaled dot-product attention",
        task="Scores, scale, mask (True = allowed to attend), softmax over the keys, mix the values. Return the context only.",
        minutes=6, difficulty=2, importance=5,
        reference=own.build_attention,
        plain=_attend,
        draw=_draw_attention,
        mistakes=[
            Mistake("not scaled", " / math.sqrt(query.shape[-1])", "",
                    "The scores aren't divided by √K. With wide heads the softmax would saturate."),
            Mistake("divided by the width", "math.sqrt(query.shape[-1])", "query.shape[-1]",
                    "The scores are divided by K instead of its square root."),
            Mistake("mask ignored", "    scores = scores.masked_fill(~mask, -math.inf)\n", "",
                    "The mask isn't used, so padding and future are visible. Set the scores where it is False to −∞ before the softmax."),
            Mistake("mask inverted", "~mask", "mask",
                    "True is hidden and False is shown. True means allowed to attend: masked_fill(~mask, −∞)."),
            Mistake("masked after the softmax", "    scores = scores.masked_fill(~mask, -math.inf)\n", "",
                    "The weights are set to zero after the softmax, so the rows no longer sum to 1. Mask the scores before it.",
                    also=(("softmax(-1)", "softmax(-1) * mask"),)),
            Mistake("scores set to zero", "-math.inf", "0.0",
                    "Hidden scores are set to 0, which still gets weight, because exp(0) is 1. Set them to −∞."),
            Mistake("softmax over the queries", "softmax(-1)", "softmax(-2)",
                    "The softmax runs over the queries. Each query distributes its weight over the keys, the last dimension."),
        ],
        also_right=[
            lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, mask),
            lambda q, k, v, mask: scaled_dot_product_attention(q, k, v, mask)[0],
        ],
        hints=[
            "key.transpose(-2, -1) turns (..., S, K) into (..., K, S), whatever the leading dimensions.",
            "scores.masked_fill(~mask, -math.inf)",
            "softmax(-1) of the masked scores, then @ value.",
        ],
        look_at="Only the last two dimensions are named, so it works for one head and for many.",
    ),
    Exercise(
        name="build_multi_head",
        title="part 3, several heads",
        task="The queries come from x, keys and values from source. Project with query_proj, key_proj and value_proj (W_Q, W_K, W_V), split into heads, attend, merge, apply out_proj. Weights are stored as (out, in), so F.linear(x, weight, bias) is x @ weight.T + bias.",
        minutes=12, difficulty=4, importance=5,
        reference=own.build_multi_head,
        plain=_multi_head,
        draw=_draw_multi_head,
        mistakes=[
            Mistake("keys and values swapped", 'key_proj.weight"], weights["key_proj.bias"', 'value_proj.weight"], weights["value_proj.bias"',
                    "Keys are projected with the values' matrix and values with the keys'.",
                    also=(('value = F.linear(source, weights["value_proj.weight"], weights["value_proj.bias"])', 'value = F.linear(source, weights["key_proj.weight"], weights["key_proj.bias"])'),)),
            Mistake("biases of W_Q, W_K, W_V forgotten", *NO_QKV_BIAS[0],
                    "The biases of query_proj, key_proj and value_proj aren't used. F.linear takes one as its third argument.", also=NO_QKV_BIAS[1:]),
            Mistake("residual added", "return", "x + result",
                    "x is added at the end. The residual path is part 5, around this one."),
            Mistake("everything from x", "    query = F.linear", "    source = x\n    query = F.linear",
                    "Keys and values come from x. They should come from source, which in cross-attention is the other language."),
            Mistake("roles of x and source swapped", "    query = F.linear", "    x, source = source, x\n    query = F.linear",
                    "The queries come from source, and keys and values from x. It's the other way round: the output has one row per position of x."),
            Mistake("values from x", _values_from_x,
                    "The values come from x and the keys from source. A key and its value belong to the same word, so both come from source."),
            Mistake("W_Q, W_K, W_V not transposed", *QKV_BACK[0],
                    "The three matrices are used as (in, out). They are stored as (out, in): x @ w.T, or F.linear.", also=QKV_BACK[1:]),
            Mistake("nothing transposed", *QKV_BACK[0],
                    "All four matrices are used as (in, out). They are stored as (out, in): x @ w.T, or F.linear.", also=(*QKV_BACK[1:], OUT_BACK)),
            Mistake("cut without transposing", *VIEWS[0],
                    "The numbers are only reshaped to (B, H, T, K), so a head gets parts of different words. Split the last dimension into (H, K), then transpose.", also=VIEWS[1:]),
            Mistake("merged without transposing", *MERGED_VIEW,
                    "The heads are merged without transposing back, so parts of different words end up side by side. (B, H, T, K) to (B, T, H, K) first, then flatten."),
            Mistake("out_proj's bias forgotten", BIASES["out_proj"], "",
                    "out_proj's bias isn't used. F.linear takes it as its third argument."),
            Mistake("one head", "    query = F.linear", "    n_heads = 1\n    query = F.linear",
                    "The heads aren't split: this is one wide head, scaled by the root of its full width."),
            Mistake("no W_O", "return", "merged",
                    "out_proj isn't applied. Without it the heads never exchange anything."),
            Mistake("W_O not transposed", *OUT_BACK,
                    "out_proj is used as (in, out). It's stored as (out, in), and F.linear transposes it for you."),
            Mistake("biases forgotten", *NO_QKV_BIAS[0],
                    "The biases aren't used. There is one for each of the four projections.", also=(*NO_QKV_BIAS[1:], (BIASES["out_proj"], ""))),
            Mistake("queries and keys swapped", 'F.linear(x, weights["query_proj.weight"], weights["query_proj.bias"])', 'F.linear(x, weights["key_proj.weight"], weights["key_proj.bias"])',
                    "Queries are projected with the keys' matrix and keys with the queries'.",
                    also=(('F.linear(source, weights["key_proj.weight"], weights["key_proj.bias"])', 'F.linear(source, weights["query_proj.weight"], weights["query_proj.bias"])'),)),
            Mistake("mask ignored", "value, mask)", "value, torch.tensor(True))",
                    "The mask doesn't reach the attention: pass it on."),
        ],
        also_right=[_multi_head_by_loop, _multi_head_by_module],
        hints=[
            'F.linear(x, weights["query_proj.weight"], weights["query_proj.bias"]) is the query; key and value are made from source in the same way.',
            "Split: x.unflatten(-1, (n_heads, -1)).transpose(1, 2) turns (B, T, D) into (B, H, T, K).",
            "Merge: .transpose(1, 2).flatten(-2) turns (B, H, T, K) into (B, T, D).",
            'F.linear(merged, weights["out_proj.weight"], weights["out_proj.bias"]) at the end.',
        ],
        look_at="The length of source can differ from that of x, because only the scores involve both.",
    ),
    Exercise(
        name="build_feed_forward",
        title="part 4, the feed-forward network",
        task="linear_1, ReLU, linear_2, with their biases. The weights are stored as (out, in).",
        minutes=3, difficulty=1, importance=4,
        reference=own.build_feed_forward,
        plain=_feed,
        draw=_draw_feed_forward,
        mistakes=[
            Mistake("no ReLU", ".relu()", "", "There is no ReLU. Two linear layers in a row are one linear layer."),
            Mistake("ReLU at the end too", "return", "result.relu()",
                    "There is a second ReLU at the end. What is added to x is allowed to be negative."),
            Mistake("ReLU at the end only", ".relu()", "",
                    "The ReLU is at the end. It belongs between the two layers.", also=(("return", "result.relu()"),)),
            Mistake("GELU", "inner = F.linear(x, weights[\"linear_1.weight\"], weights[\"linear_1.bias\"]).relu()", "inner = F.gelu(F.linear(x, weights[\"linear_1.weight\"], weights[\"linear_1.bias\"]))",
                    "This is GELU, which BERT uses. Our translator uses ReLU."),
            Mistake("leaky ReLU", "    return", "    inner = F.leaky_relu(F.linear(x, weights[\"linear_1.weight\"], weights[\"linear_1.bias\"]))\n    return",
                    "This is a leaky ReLU, which lets a little of the negative part through. Our translator uses ReLU."),
            Mistake("biases forgotten", ', weights["linear_1.bias"]', "",
                    "The biases aren't used; each layer has one.", also=((', weights["linear_2.bias"]', ""),)),
            Mistake("first bias forgotten", ', weights["linear_1.bias"]', "", "linear_1's bias isn't used; each layer has one."),
            Mistake("second bias forgotten", ', weights["linear_2.bias"]', "", "linear_2's bias isn't used; each layer has one."),
            Mistake("residual added", "return", "x + result",
                    "x is added at the end. The residual path is the next part, around this one."),
        ],
        also_right=[
            lambda x, w: (
                (x @ w["linear_1.weight"].T + w["linear_1.bias"]).clamp(min=0) @ w["linear_2.weight"].T + w["linear_2.bias"]
            ),
            lambda x, w: torch.einsum(
                "...f,df->...d", (torch.einsum("...d,fd->...f", x, w["linear_1.weight"]) + w["linear_1.bias"]).relu(), w["linear_2.weight"]
            ) + w["linear_2.bias"],
        ],
        hints=[
            "It's lesson 07's network, with the matrices stored the other way round.",
            'F.linear(x, weights["linear_1.weight"], weights["linear_1.bias"]).relu()',
        ],
        look_at="No dimension is named, so it works on any (..., D).",
    ),
    Exercise(
        name="build_sublayer",
        title="part 5, the residual path",
        task='Pre-norm, as in our translator: x + sublayer(norm(x)). sublayer is a function; gain and bias of the norm are weights["weight"] and weights["bias"].',
        minutes=3, difficulty=2, importance=4,
        reference=own.build_sublayer,
        plain=_sublayer,
        draw=_draw_sublayer,
        mistakes=[
            Mistake("gain and bias exchanged", 'weights["weight"], weights["bias"]', 'weights["bias"], weights["weight"]',
                    "Gain and bias have changed places: layer_norm(x, gain, bias), and the gain is called weight."),
            Mistake("post-norm", "return", "_post_norm(x, sublayer, weights)",
                    "This is post-norm, the paper's order. The translator was trained with pre-norm, and its weights work with nothing else."),
            Mistake("no residual", "x + ", "", "x itself is lost: add it to what the sublayer returns."),
            Mistake("no norm", "sublayer(normalised)", "sublayer(x)", "The norm isn't used. The sublayer reads the normalised x."),
            Mistake("skip path normalised", "x + sublayer", "normalised + sublayer",
                    "The skip path carries the normalised x. It should carry x itself."),
            Mistake("only the output normalised", "layer_norm(x,", "layer_norm(sublayer(x),",
                    "The norm is applied to the sublayer's output. It should be applied to its input.", also=(("sublayer(normalised)", "normalised"),)),
            Mistake("gain and bias unused", 'weights["weight"], weights["bias"]', "1, 0",
                    'The norm has no gain and no bias. Pass weights["weight"] and weights["bias"].'),
            Mistake("unbiased variance", 'layer_norm(x, weights["weight"], weights["bias"])', '(x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt() * weights["weight"] + weights["bias"]',
                    "The variance is divided by n − 1, as torch.var does by default. Layer normalisation divides by n: correction=0."),
        ],
        also_right=[
            lambda x, f, w: f(F.layer_norm(x, x.shape[-1:], w["weight"], w["bias"])) + x,
            lambda x, f, w: torch.stack([x, f(layer_norm(x, w["weight"], w["bias"]))]).sum(0),
        ],
        hints=[
            "layer_norm(x, gain, bias) is lesson 07's; F.layer_norm does the same.",
            'x + sublayer(layer_norm(x, weights["weight"], weights["bias"]))',
        ],
        look_at="The sublayer is passed as an argument, so attention and feed-forward get the same path.",
    ),
    Exercise(
        name="build_encoder_layer",
        title="part 6, an encoder layer",
        task='Self-attention in a residual path (norm "residual_1.norm."), then feed-forward in another ("residual_2.norm."). under(weights, "self_attention.") selects the weights of a part.',
        minutes=7, difficulty=3, importance=5,
        reference=own.build_encoder_layer,
        plain=_encoder_layer,
        draw=_draw_encoder_layer,
        mistakes=[
            Mistake("attention ignores h", ATTEND, "build_multi_head(x, x, mask", SELF_BARE.format("")),
            Mistake("feed-forward ignores h", "build_feed_forward(h", "build_feed_forward(x",
                    "The feed-forward network reads x instead of the lambda's h, so it works on vectors that were never normalised: lambda h: build_feed_forward(h, …)."),
            Mistake("nothing normalised", ATTEND, "build_multi_head(x, x, mask",
                    "Neither sublayer works on normalised vectors. Either build_sublayer isn't used, or the lambdas read x instead of their own h. lambda h: build_multi_head(h, h, …).",
                    also=(("build_feed_forward(h", "build_feed_forward(x"),)),
            Mistake("no residual", *_with("_bare", ["build_multi"])[0],
                    "x itself is lost. Use build_sublayer, which adds it.", also=_with("_bare", ["build_feed"])),
            Mistake("mask ignored", "h, h, mask", "h, h, torch.tensor(True)",
                    "The mask doesn't reach the attention, so words attend to padding."),
            Mistake("feed-forward forgotten", FEED_LINE.format(2), "",
                    "The second half is missing: after the attention comes the feed-forward network."),
            Mistake("attention forgotten", SELF_LINE, "",
                    "There is no attention, or its result is discarded. The second sublayer should read what the first returned."),
            Mistake("feed-forward first", SELF_LINE, "",
                    "The feed-forward network comes first. Attention comes before it.",
                    also=((FEED_LINE.format(2), FEED_LINE.format(2) + SELF_LINE),)),
            Mistake("feed-forward first, with the norms in order", SELF_LINE, "",
                    "The feed-forward network comes first. Attention comes before it.",
                    also=((FEED_LINE.format(2), FEED_LINE.format(1) + SELF_LINE.replace("norm_1", "norm_2")),)),
            Mistake("one norm for both", "feed), norm_2", "feed), norm_1",
                    "Both sublayers use residual_1's norm. Each has its own: residual_1 and residual_2."),
            Mistake("norms swapped", "feed), norm_2", "feed), norm_1",
                    "The norms are swapped: residual_1 belongs to the attention, residual_2 to the feed-forward network.",
                    also=(("n_heads), norm_1", "n_heads), norm_2"),)),
            Mistake("keys not normalised", "(h, h, mask", "(h, x, mask",
                    "Queries come from the normalised x, keys and values from x itself. In self-attention all three come from the same vectors: build_multi_head(h, h, …)."),
            Mistake("one head", "attention, n_heads)", "attention, 1)",
                    "The attention runs with one wide head. Pass n_heads on."),
            Mistake("post-norm", *_with("_post_norm", ["build_multi"])[0],
                    "This is post-norm. Use build_sublayer, which is pre-norm.", also=_with("_post_norm", ["build_feed"])),
        ],
        also_right=[_written_out, _encoder_layer],
        hints=[
            "Call build_sublayer(x, sublayer, norm) twice; the second reads what the first returned.",
            'A sublayer with one argument: lambda h: build_multi_head(h, h, mask, under(weights, "self_attention."), n_heads)',
            'The norms: under(weights, "residual_1.norm.") and under(weights, "residual_2.norm.").',
        ],
        look_at="Output and input have the same shape, which is why layers can be stacked.",
    ),
    Exercise(
        name="build_encoder",
        title="part 7, the encoder",
        task='Padding mask, embedding ("src_embedding.weight"), every layer in turn, and the final norm ("encoder_norm."). layers_of(weights, "encoder_layers.") lists the layers\' weights.',
        minutes=7, difficulty=3, importance=4,
        reference=own.build_encoder,
        plain=_encode,
        draw=_draw_encoder,
        mistakes=[
            Mistake("the target's table", SRC, TGT, "The source's ids are looked up in the target's table. Take src_embedding."),
            Mistake("padding taken to be 0", "padding_mask(src_ids, pad_id)", "padding_mask(src_ids, 0)",
                    "The padding is taken to be token 0. Use pad_id."),
            Mistake("no final norm", "return", "x",
                    "The final norm is missing. In pre-norm nothing has normalised the last layer's output; encoder_norm does."),
            Mistake("normalised after each layer", "layer, n_heads)\n", 'layer, n_heads)\n        x = layer_norm(x, weights["encoder_norm.weight"], weights["encoder_norm.bias"])\n',
                    "encoder_norm is applied after each layer. It comes once, at the very end.", also=(("return", "x"),)),
            Mistake("padding visible", "padding_mask(src_ids, pad_id)", "torch.tensor(True)",
                    "Padding is visible to the words. Make the mask from the ids: padding_mask(src_ids, pad_id)."),
            Mistake("one layer only", '"encoder_layers.")', '"encoder_layers.")[:1]', NO_LOOP),
            Mistake("the first layer again and again", "x, mask, layer, n", 'x, mask, layers_of(weights, "encoder_layers.")[0], n',
                    "Every layer uses the weights of the first. Each has its own."),
            Mistake("last layer first", '"encoder_layers.")', '"encoder_layers.")[::-1]', BACKWARDS),
            Mistake("each layer reads the embedding", "build_encoder_layer(x,", "build_encoder_layer(start,",
                    "Every layer reads the embedding instead of the previous layer's output: x = build_encoder_layer(x, …).", also=(EACH_READS,)),
            Mistake("bare table", 'build_embedding(src_ids, weights["src_embedding.weight"], positions)', 'weights["src_embedding.weight"][src_ids]',
                    "The vectors come from the table alone, without scale and positions: use build_embedding."),
        ],
        also_right=[_encode, _encode_written_out],
        hints=[
            "mask = padding_mask(src_ids, pad_id), shape (B, 1, 1, S).",
            'x = build_embedding(src_ids, weights["src_embedding.weight"], positions), then a loop over layers_of(weights, "encoder_layers.").',
            'layer_norm(x, weights["encoder_norm.weight"], weights["encoder_norm.bias"]) after the loop.',
        ],
        look_at="The mask is made once and passed to every layer.",
    ),
    Exercise(
        name="build_decoder_layer",
        title="part 8, a decoder layer",
        task="Three residual paths: self-attention with mask, cross-attention (\"cross_attention.\") to memory with memory_mask, feed-forward. Norms residual_1, residual_2, residual_3. The memory is already normalised.",
        minutes=8, difficulty=4, importance=5,
        reference=own.build_decoder_layer,
        plain=_decoder_layer,
        draw=_draw_decoder_layer,
        mistakes=[
            Mistake("memory normalised", "h, memory, memory_mask", 'h, layer_norm(memory, norm_2["weight"], norm_2["bias"]), memory_mask',
                    "The memory is normalised once more. It's already normalised; only the queries' side, h, is normalised here."),
            Mistake("attention ignores h", ATTEND, "build_multi_head(x, x, mask", SELF_BARE.format("self-")),
            Mistake("no cross-attention, and residual_2 for the network", ACROSS_LINE, "",
                    "The cross-attention is missing, so the decoder never reads the source.", also=(("feed), norm_3", "feed), norm_2"),)),
            Mistake("no self-attention", SELF_LINE, "",
                    "The self-attention is missing, so no word sees what has been generated so far."),
            Mistake("one norm for all", "feed), norm_3", "feed), norm_1",
                    "All three sublayers use residual_1's norm. Each has its own: residual_1, residual_2, residual_3.",
                    also=(("across, n_heads), norm_2", "across, n_heads), norm_1"),)),
            Mistake("future visible", "h, h, mask", "h, h, torch.tensor(True)",
                    "The mask doesn't reach the self-attention, so the decoder sees the words it is to predict."),
            Mistake("source padding visible", "h, memory, memory_mask", "h, memory, torch.tensor(True)",
                    "memory_mask doesn't reach the cross-attention, so it attends to the source's padding."),
            Mistake("masks swapped", "h, h, mask", "h, h, memory_mask",
                    "The masks are swapped: mask is for the decoder's own positions, memory_mask for the source.",
                    also=(("memory, memory_mask, across", "memory, mask, across"),)),
            Mistake("no cross-attention", ACROSS_LINE, "",
                    "The cross-attention is missing, so the decoder never reads the source."),
            Mistake("cross-attention reads x", "h, memory, memory_mask", "h, h, memory_mask",
                    "The cross-attention attends to the decoder's own vectors. Its second argument is memory."),
            Mistake("across before back", SELF_LINE, "",
                    "The cross-attention comes first. The order is masked self-attention, cross-attention, feed-forward.", also=((ACROSS_LINE, ACROSS_LINE + SELF_LINE),)),
            Mistake("across before back, with the norms in order", SELF_LINE, "",
                    "The cross-attention comes first. The order is masked self-attention, cross-attention, feed-forward.",
                    also=((ACROSS_LINE, ACROSS_LINE.replace("norm_2", "norm_1") + SELF_LINE.replace("norm_1", "norm_2")),)),
            Mistake("one attention for both", "memory_mask, across,", "memory_mask, attention,",
                    'The cross-attention uses self_attention\'s matrices. It has its own, under "cross_attention."'),
            Mistake("feed-forward forgotten", FEED_LINE.format(3), "", "The feed-forward network is missing at the end."),
            Mistake("norms swapped", "feed), norm_3", "feed), norm_2",
                    "The norms of cross-attention and feed-forward are swapped: residual_2 and residual_3, in this order.",
                    also=(("across, n_heads), norm_2", "across, n_heads), norm_3"),)),
            Mistake("post-norm", *_with("_post_norm", ["build_multi_head(h, h"])[0],
                    "This is post-norm. Use build_sublayer, which is pre-norm.",
                    also=_with("_post_norm", ["build_multi_head(h, memory", "build_feed"])),
            Mistake("cross-attention without its residual", *_with("_bare", ["build_multi_head(h, memory"])[0],
                    "The cross-attention replaces x instead of being added to it. Use build_sublayer for it too."),
        ],
        also_right=[_decoder_layer, _decoder_layer_by_halves],
        hints=[
            "It's the encoder layer with one more sublayer in the middle.",
            'lambda h: build_multi_head(h, memory, memory_mask, under(weights, "cross_attention."), n_heads)',
            "Three times x = build_sublayer(x, …), with residual_1, residual_2 and residual_3.",
        ],
        look_at="The queries of the middle sublayer come from the normalised x; keys and values come from the memory as it is.",
    ),
    Exercise(
        name="build_decoder",
        title="part 9, the decoder and its logits",
        task="Mask (causal and padding), embedding (\"tgt_embedding.weight\"), every layer (\"decoder_layers.\"), the final norm (\"decoder_norm.\"); then one score per token of the vocabulary, with the target table transposed. Logits, no softmax.",
        minutes=8, difficulty=4, importance=5,
        reference=own.build_decoder,
        plain=_decode,
        draw=_draw_decoder,
        mistakes=[
            Mistake("own mask from the source", "padding_mask(tgt_ids, pad_id)", "memory_mask",
                    "The decoder's own mask is made from memory_mask, the padding of the source. Make it from the target: padding_mask(tgt_ids, pad_id)."),
            Mistake("source masked by the target", "mask, memory_mask, layer", "mask, padding_mask(tgt_ids, pad_id), layer",
                    "The cross-attention is given the target's padding, but it attends to the source: pass memory_mask on."),
            Mistake("reads with the source's table", f"weights[{TGT}], positions", f"weights[{SRC}], positions",
                    "The target's ids are looked up in the source's table. Take the target's: tgt_embedding."),
            Mistake("each layer reads the embedding", "build_decoder_layer(x,", "build_decoder_layer(start,",
                    "Every layer reads the embedding instead of the previous layer's output: x = build_decoder_layer(x, …).", also=(EACH_READS,)),
            Mistake("future visible", " & causal_mask(tgt_ids.shape[1])", "",
                    "Every position sees what comes after it. Combine with causal_mask(T)."),
            Mistake("masks joined with or", "pad_id) & causal", "pad_id) | causal",
                    "The masks are joined with or. A position is allowed to attend where both allow it: &."),
            Mistake("target padding visible", "padding_mask(tgt_ids, pad_id)", "torch.ones(1, 1, 1, 1).bool()",
                    "The target's padding is visible: combine with padding_mask(tgt_ids, pad_id)."),
            Mistake("source padding visible", "mask, memory_mask, layer", "mask, torch.ones_like(memory_mask), layer",
                    "memory_mask isn't passed on to the layers."),
            Mistake("no final norm", '    x = layer_norm(x, weights["decoder_norm.weight"], weights["decoder_norm.bias"])\n', "",
                    "decoder_norm is missing between the last layer and the logits."),
            Mistake("memory normalised", "    for layer", '    memory = layer_norm(memory, weights["decoder_norm.weight"], weights["decoder_norm.bias"])\n    for layer',
                    "The memory goes through decoder_norm. The encoder has normalised it already, so use it as it is."),
            Mistake("probabilities", "return", "logits.softmax(-1)",
                    "These are probabilities. Return the logits; the softmax comes later, where it's needed."),
            Mistake("log-probabilities", "return", "logits.log_softmax(-1)",
                    "These are log-probabilities. Return the logits, before any softmax."),
            Mistake("the source's table", f"x @ weights[{TGT}]", f"x @ weights[{SRC}]",
                    "The logits come from the source's table. The output is in the target language: tgt_embedding."),
            Mistake("one layer only", '"decoder_layers.")', '"decoder_layers.")[:1]', NO_LOOP),
            Mistake("last layer first", '"decoder_layers.")', '"decoder_layers.")[::-1]', BACKWARDS),
        ],
        also_right=[_decode, _decode_with_output_proj],
        hints=[
            "mask = padding_mask(tgt_ids, pad_id) & causal_mask(tgt_ids.shape[1]): (B, 1, T, T).",
            'Then as in the encoder, with "tgt_embedding.weight", "decoder_layers." and "decoder_norm."; the memory goes to every layer.',
            'x @ weights["tgt_embedding.weight"].T',
        ],
        look_at="The same table is used for input and output: a logit is a dot product with a word's vector.",
    ),
    Exercise(
        name="build_greedy",
        title="part 10, writing",
        task="Begin each of n rows with bos_id. Append the likeliest next token to every row, until all have generated eos_id, at most max_len times. logits_of(ids) gives (n, t, V). Return (n, T): without bos, with eos, pad_id after it.",
        minutes=8, difficulty=3, importance=4,
        reference=own.build_greedy,
        plain=_write,
        draw=_draw_greedy,
        mistakes=[
            Mistake("filled with eos", "(done, pad_id)", "(done, eos_id)",
                    "Complete sentences go on with eos_id. After their single eos_id comes pad_id."),
            Mistake("first position", "[:, -1]", "[:, 0]",
                    "Every step uses the logits of the first position. Either they are taken from there ([:, 0]; the next token is predicted at the last, [:, -1]), or only the newest token is passed on: give logits_of all ids."),
            Mistake("the least likely", "argmax", "argmin", "This takes the smallest logit. Take the largest: argmax."),
            Mistake("stops with the first sentence", "done.all()", "done.any()",
                    "It stops as soon as one sentence is complete. Wait until all are: done.all()."),
            Mistake("never stops", "if done.all()", "if False", "It goes on to max_len although every sentence is complete."),
            Mistake("words after the end", "        token = token.masked_fill(done, pad_id)\n", "",
                    "Complete sentences go on generating. After eos_id their tokens are pad_id: masked_fill(done, pad_id)."),
            Mistake("forgets who is done", "done | (token == eos_id)", "token == eos_id",
                    "A complete sentence counts as running again one step later. Keep what was: done = done | (token == eos_id)."),
            Mistake("begin kept", "ids[:, 1:]", "ids", "The begin-of-sentence token is returned too. Leave the first column out."),
            Mistake("end dropped", "return", "result.masked_fill(result == eos_id, pad_id)",
                    "The end-of-sentence token is missing. It stays, because it shows which sentences are complete."),
            Mistake("one token too few", "range(max_len)", "range(max_len - 1)",
                    "It generates one token too few: max_len counts generated tokens, and bos_id wasn't generated."),
        ],
        also_right=[_write, _write_into_a_table],
        hints=[
            "ids = torch.full((n, 1), bos_id), and done = torch.zeros(n, dtype=torch.bool).",
            "token = logits_of(ids)[:, -1].argmax(-1); rows that are done get pad_id: token.masked_fill(done, pad_id).",
            "Append with torch.cat([ids, token[:, None]], dim=1), then done = done | (token == eos_id).",
            "if done.all(): break; after the loop return ids[:, 1:].",
        ],
        look_at="It doesn't depend on the Transformer: any function from ids to logits will do.",
    ),
]
# fmt: on
