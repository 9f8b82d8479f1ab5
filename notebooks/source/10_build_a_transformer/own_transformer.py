"""A Transformer of plain functions, part by part, and its comparison with the course's model.

Lesson 10 builds these ten parts. Weights come as a dictionary with the names that the translator's
``state_dict()`` has. B batch, T target length, S source length, D model width, H heads, K head
width, V vocabulary.
"""

import math
from dataclasses import dataclass
from unittest.mock import patch

import torch
import torch.nn.functional as F

from helpers.exercises import lessons
from helpers.text.tokenization import BOS, EOS, PAD
from helpers.transformer import attention, decoding
from helpers.transformer.masks import causal_mask, padding_mask

layer_norm = lessons.module(7, "exercises").layer_norm
TOLERANCE = 1e-4


def under(weights, prefix):
    """Take the weights whose names begin with a prefix, and leave the prefix away.

    Parameters
    ----------
    weights : dict of str to Tensor
    prefix : str
        Ends with a dot.
    """
    return {n.removeprefix(prefix): w for n, w in weights.items() if n.startswith(prefix)}


def layers_of(weights, prefix):
    """List the weights of layer 0, 1, …: one dictionary for each.

    Parameters
    ----------
    weights : dict of str to Tensor
    prefix : str
        "encoder_layers." or "decoder_layers."
    """
    numbers = {int(name.split(".")[0]) for name in under(weights, prefix)}
    return [under(weights, f"{prefix}{number}.") for number in sorted(numbers)]


def build_embedding(ids, table, positions):
    """Look up, scale by √D, add the positions: (B, T) to (B, T, D).

    Parameters
    ----------
    ids : integer Tensor of shape (B, T)
    table : Tensor of shape (V, D)
    positions : Tensor of shape (max_len, D)
    """
    return table[ids] * math.sqrt(table.shape[1]) + positions[: ids.shape[1]]


def build_attention(query, key, value, mask):
    """Mix the values: (..., T, K), (..., S, K), (..., S, K) to (..., T, K).

    Parameters
    ----------
    query : Tensor of shape (..., T, K)
    key, value : Tensor of shape (..., S, K)
    mask : bool Tensor broadcastable to (..., T, S)
        True = allowed to attend.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -math.inf).softmax(-1) @ value


def build_multi_head(x, source, mask, weights, n_heads):
    """Let x (B, T, D) look at source (B, S, D) with several heads; return (B, T, D).

    Parameters
    ----------
    x : Tensor of shape (B, T, D)
        Asks.
    source : Tensor of shape (B, S, D)
        Answers.
    mask : bool Tensor broadcastable to (B, H, T, S)
    weights : dict of str to Tensor
        "query_proj.", "key_proj.", "value_proj." and "out_proj.", each with "weight" and "bias".
    n_heads : int
    """
    query = F.linear(x, weights["query_proj.weight"], weights["query_proj.bias"])
    key = F.linear(source, weights["key_proj.weight"], weights["key_proj.bias"])
    value = F.linear(source, weights["value_proj.weight"], weights["value_proj.bias"])
    heads = (p.unflatten(-1, (n_heads, -1)).transpose(1, 2) for p in (query, key, value))
    merged = build_attention(*heads, mask).transpose(1, 2).flatten(-2)  # (B, T, D)
    return F.linear(merged, weights["out_proj.weight"], weights["out_proj.bias"])


def build_feed_forward(x, weights):
    """Linear, ReLU, linear: at every position separately.

    Parameters
    ----------
    x : Tensor of shape (..., D)
    weights : dict of str to Tensor
        "linear_1." and "linear_2.", each with "weight" and "bias".
    """
    inner = F.linear(x, weights["linear_1.weight"], weights["linear_1.bias"]).relu()
    return F.linear(inner, weights["linear_2.weight"], weights["linear_2.bias"])


def build_sublayer(x, sublayer, weights):
    """Put a sublayer into a residual path, pre-norm.

    Parameters
    ----------
    x : Tensor of shape (..., D)
    sublayer : function
    weights : dict of str to Tensor
        The norm's "weight" and "bias".
    """
    return x + sublayer(layer_norm(x, weights["weight"], weights["bias"]))


def build_encoder_layer(x, mask, weights, n_heads):
    """Self-attention, then feed-forward: (B, S, D) to (B, S, D).

    Parameters
    ----------
    x : Tensor of shape (B, S, D)
    mask : bool Tensor broadcastable to (B, H, S, S)
    weights : dict of str to Tensor
        Of this layer.
    n_heads : int
    """
    own, feed = under(weights, "self_attention."), under(weights, "feed_forward.")
    norm_1, norm_2 = (under(weights, f"residual_{i}.norm.") for i in (1, 2))
    x = build_sublayer(x, lambda h: build_multi_head(h, h, mask, own, n_heads), norm_1)
    return build_sublayer(x, lambda h: build_feed_forward(h, feed), norm_2)


def build_encoder(src_ids, weights, positions, n_heads, pad_id):
    """Turn source ids (B, S) into the memory (B, S, D).

    Parameters
    ----------
    src_ids : integer Tensor of shape (B, S)
    weights : dict of str to Tensor
        Of the whole model.
    positions : Tensor of shape (max_len, D)
    n_heads, pad_id : int
    """
    mask = padding_mask(src_ids, pad_id)
    x = build_embedding(src_ids, weights["src_embedding.weight"], positions)
    for layer in layers_of(weights, "encoder_layers."):
        x = build_encoder_layer(x, mask, layer, n_heads)
    return layer_norm(x, weights["encoder_norm.weight"], weights["encoder_norm.bias"])


def build_decoder_layer(x, memory, mask, memory_mask, weights, n_heads):
    """Masked self-attention, cross-attention, feed-forward: (B, T, D) to (B, T, D).

    Parameters
    ----------
    x : Tensor of shape (B, T, D)
    memory : Tensor of shape (B, S, D)
    mask : bool Tensor broadcastable to (B, H, T, T)
    memory_mask : bool Tensor broadcastable to (B, H, T, S)
    weights : dict of str to Tensor
        Of this layer.
    n_heads : int
    """
    own, across = under(weights, "self_attention."), under(weights, "cross_attention.")
    feed = under(weights, "feed_forward.")
    norm_1, norm_2, norm_3 = (under(weights, f"residual_{i}.norm.") for i in (1, 2, 3))
    x = build_sublayer(x, lambda h: build_multi_head(h, h, mask, own, n_heads), norm_1)
    x = build_sublayer(
        x, lambda h: build_multi_head(h, memory, memory_mask, across, n_heads), norm_2
    )
    return build_sublayer(x, lambda h: build_feed_forward(h, feed), norm_3)


def build_decoder(tgt_ids, memory, memory_mask, weights, positions, n_heads, pad_id):
    """Turn target ids (B, T) and the memory (B, S, D) into logits (B, T, V).

    Parameters
    ----------
    tgt_ids : integer Tensor of shape (B, T)
    memory : Tensor of shape (B, S, D)
    memory_mask : bool Tensor of shape (B, 1, 1, S)
    weights : dict of str to Tensor
        Of the whole model.
    positions : Tensor of shape (max_len, D)
    n_heads, pad_id : int
    """
    mask = padding_mask(tgt_ids, pad_id) & causal_mask(tgt_ids.shape[1])
    x = build_embedding(tgt_ids, weights["tgt_embedding.weight"], positions)
    for layer in layers_of(weights, "decoder_layers."):
        x = build_decoder_layer(x, memory, mask, memory_mask, layer, n_heads)
    x = layer_norm(x, weights["decoder_norm.weight"], weights["decoder_norm.bias"])
    return x @ weights["tgt_embedding.weight"].T


def build_greedy(logits_of, n, bos_id, eos_id, pad_id, max_len):
    """Write n sentences at once, the likeliest token each time; (n, T), padded after eos.

    Parameters
    ----------
    logits_of : function
        From ids (n, t) to logits (n, t, V).
    n : int
        Number of sentences.
    bos_id, eos_id, pad_id, max_len : int
    """
    ids = torch.full((n, 1), bos_id)
    done = torch.zeros(n, dtype=torch.bool)
    for _ in range(max_len):
        token = logits_of(ids)[:, -1].argmax(-1).masked_fill(done, pad_id)
        ids = torch.cat([ids, token[:, None]], dim=1)
        done = done | (token == eos_id)
        if done.all():
            break
    return ids[:, 1:]


PARTS = {
    part.__name__: part
    for part in (
        build_embedding, build_attention, build_multi_head, build_feed_forward, build_sublayer,
        build_encoder_layer, build_encoder, build_decoder_layer, build_decoder, build_greedy,
    )
}  # fmt: skip


def translate(parts, translator, texts, max_len=None):
    """Translate with the learner's parts and the translator's weights.

    Parameters
    ----------
    parts : dict of str to function
        "build_encoder", "build_decoder" and "build_greedy" are called; they call the others.
    translator : Translator
    texts : list of str
    max_len : int, default=None
        Of a translation, in tokens; None for the translator's own limit.

    Returns
    -------
    ids : integer Tensor of shape (B, T)
    """
    model, weights = translator.model, translator.model.state_dict()
    end = model.positions, model.config.n_heads, PAD
    src_ids = translator.encode(texts)
    memory, mask = parts["build_encoder"](src_ids, weights, *end), padding_mask(src_ids, PAD)

    def logits_of(ids):
        return parts["build_decoder"](ids, memory, mask, weights, *end)

    max_len = max_len or translator.longest_output(src_ids)
    return parts["build_greedy"](logits_of, len(texts), BOS, EOS, PAD, max_len)


def translate_with(wrong, translator, texts, max_len=None):
    """Translate with the tested parts, some of them replaced by wrong ones.

    Parameters
    ----------
    wrong : dict of str to function
        The parts call each other by name, so a wrong one is met wherever it is called.
    translator : Translator
    texts : list of str
    max_len : int, default=None
        As in `translate`.

    Returns
    -------
    ids : integer Tensor of shape (B, T)
    """
    with patch.dict(globals(), wrong):
        return translate({**PARTS, **wrong}, translator, texts, max_len)


@dataclass(frozen=True)
class Comparison:
    """What came of comparing a learner's model with the course's.

    Parameters
    ----------
    same : bool
    part : str
        The first part, in the order of building, that differs; "" if none.
    message : str
    """

    same: bool
    part: str
    message: str

    def __repr__(self):
        return f"{'✓' if self.same else '✗'} {self.message}"


@torch.inference_mode()
def compare_with_course(parts, translator, texts):
    """Compare every part with the course's model, on the real weights, in the order of building.

    Each part is given what the course's model computed up to there. So a mistake in one layer
    cannot show up as a mistake of the next.

    Parameters
    ----------
    parts : dict of str to function
    translator : Translator
    texts : list of str

    Returns
    -------
    comparison : Comparison
        Names the first part that differs, and the first layer in which it does.
    """
    records = _records(translator, texts)
    # Smallest part first, then layer by layer: sorting keeps the order of equal ones.
    records.sort(key=lambda record: list(PARTS).index(record[0]))
    for name, place, given, wanted in records:
        try:
            trouble = _difference(parts[name](*given), wanted)
        except Exception as error:
            trouble = f"it raised {type(error).__name__}: {error}"
        if trouble:
            return Comparison(
                False,
                name,
                f"{name} is the first part that differs, {place}: {trouble}. "
                f"What was built before it agrees; what comes after may well be right.",
            )
    return Comparison(True, "", f"all {len(PARTS)} parts agree with the course's model.")


def _difference(got, wanted):
    """Say how a result differs; "" if it does not."""
    if not isinstance(got, torch.Tensor):
        return f"expected a tensor; got {type(got).__name__}"
    if got.shape != wanted.shape:
        return f"expected shape {tuple(wanted.shape)}; got {tuple(got.shape)}"
    largest = (got.double() - wanted.double()).abs().max().item()
    close = torch.allclose(got.double(), wanted.double(), atol=TOLERANCE, rtol=TOLERANCE)
    return "" if close else f"the largest difference is {largest:.2g}"


def _records(translator, texts):
    """List part, place, inputs, and what the course's model makes of them."""
    model, weights = translator.model.eval(), translator.model.state_dict()
    n_heads, positions = model.config.n_heads, model.positions
    src_ids, tgt_ids = translator.encode(texts), _written(translator, texts)
    end = weights, positions, n_heads, PAD
    memory, memory_mask = model.encode(src_ids), padding_mask(src_ids, PAD)
    mask = padding_mask(tgt_ids, PAD) & causal_mask(tgt_ids.shape[1])
    x, y = model.embed(src_ids, model.src_embedding), model.embed(tgt_ids, model.tgt_embedding)
    source, target = weights["src_embedding.weight"], weights["tgt_embedding.weight"]
    records = [
        ("build_embedding", "at the source", (src_ids, source, positions), x),
        ("build_embedding", "at the target", (tgt_ids, target, positions), y),
    ]
    for i, layer in enumerate(model.encoder_layers):
        given = x, memory_mask, under(weights, f"encoder_layers.{i}."), n_heads
        records += _encoder_layer_records(layer, f"in encoder layer {i + 1}", *given)
        x = records[-1][-1]
    for i, layer in enumerate(model.decoder_layers):
        given = y, memory, mask, memory_mask, under(weights, f"decoder_layers.{i}."), n_heads
        records += _decoder_layer_records(layer, f"in decoder layer {i + 1}", *given)
        y = records[-1][-1]
    logits, whole = model(src_ids, tgt_ids), "over the whole stack"
    records.append(("build_encoder", whole, (src_ids, *end), memory))
    records.append(("build_decoder", whole, (tgt_ids, memory, memory_mask, *end), logits))
    logits_of = lambda ids: model.output_proj(model.decode(ids, memory, memory_mask))
    given = logits_of, len(texts), BOS, EOS, PAD, tgt_ids.shape[1]
    records.append(
        ("build_greedy", "on these sentences", given, _greedy(model, src_ids, given[-1]))
    )
    return records


def _greedy(model, src_ids, max_len):
    """Write with the course's own decoding; one tensor, padded."""
    rows = decoding.greedy(model.decoder_step(src_ids), len(src_ids), BOS, EOS, max_len)
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def _written(translator, texts):
    """Translate with the course's model; what the decoder was given, (B, T)."""
    src_ids = translator.encode(texts)
    ids = _greedy(translator.model, src_ids, translator.longest_output(src_ids))
    return torch.cat([torch.full((len(ids), 1), BOS), ids[:, :-1]], dim=1)


def _attention_records(layer, place, x, source, mask, weights, n_heads):
    """Record one attention: the formula alone, then all heads with their matrices."""
    q, (k, v) = layer.project_query(x), layer.project_key_value(source, source)
    context, _ = attention.scaled_dot_product_attention(q, k, v, mask)
    given = x, source, mask, weights, n_heads
    return [
        ("build_attention", place, (q, k, v, mask), context),
        ("build_multi_head", place, given, layer(x, source, source, mask)[0]),
    ]


def _feed_records(layer, residual, place, x, weights, norm):
    """Record a feed-forward network, then the same in its residual path."""
    h, feed = residual.norm(x), layer.feed_forward
    return [
        ("build_feed_forward", place, (h, under(weights, "feed_forward.")), feed(h)),
        ("build_sublayer", place, (x, feed, under(weights, norm)), residual(x, feed)),
    ]


def _encoder_layer_records(layer, place, x, mask, weights, n_heads):
    h = layer.residual_1.norm(x)
    own = under(weights, "self_attention.")
    records = _attention_records(layer.self_attention, place, h, h, mask, own, n_heads)
    middle = x + records[-1][-1]
    records += _feed_records(layer, layer.residual_2, place, middle, weights, "residual_2.norm.")
    return [*records, ("build_encoder_layer", place, (x, mask, weights, n_heads), layer(x, mask))]


def _decoder_layer_records(layer, place, x, memory, mask, memory_mask, weights, n_heads):
    h = layer.residual_1.norm(x)
    own, across = under(weights, "self_attention."), under(weights, "cross_attention.")
    records = _attention_records(layer.self_attention, place, h, h, mask, own, n_heads)
    middle = x + records[-1][-1]
    cross = layer.residual_2.norm(middle), memory, memory_mask, across, n_heads
    records += _attention_records(layer.cross_attention, place, *cross)
    middle = middle + records[-1][-1]
    records += _feed_records(layer, layer.residual_3, place, middle, weights, "residual_3.norm.")
    given, wanted = (x, memory, mask, memory_mask), layer(x, memory, mask, memory_mask)
    return [*records, ("build_decoder_layer", place, (*given, weights, n_heads), wanted)]
