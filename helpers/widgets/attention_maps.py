"""What the attention view accepts, checked; and how its weights travel to the browser."""

from dataclasses import dataclass, replace

import numpy

from helpers.widgets.readable import readable

MOST_WEIGHTS = 16_000_000  # 32 MB to the browser
LONG = 64  # keys; in longer rows weights are smaller and get finer steps
NAMES = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross-attention"}


@dataclass(frozen=True)
class Map:
    """One kind of attention of one model, with the tokens on both sides as they came.

    Its `name` is its key, for instance ``"encoder"``; empty if there is only one. The weights have
    shape (layers, heads, queries, keys). A translator's decoder writes a token at every query.
    """

    name: str
    weights: numpy.ndarray
    raw_queries: list
    raw_keys: list
    raw_writes: list = ()

    @property
    def label(self):
        """The name for people."""
        return NAMES.get(self.name, self.name.replace("_", " ").capitalize()) or "Attention"

    @property
    def queries(self):
        """The query tokens, readable."""
        return readable(self.raw_queries)

    @property
    def keys(self):
        """The key tokens, readable."""
        return readable(self.raw_keys)

    @property
    def rows(self):
        """The names of the rows: the queries and, where that is known, what is written at each."""
        pairs = zip(self.queries, readable(self.raw_writes), strict=False)
        return [f"{read} → {written}" for read, written in pairs] or self.queries

    @property
    def causal(self):
        """Whether a decoder's mask keeps every query from the keys after it."""
        return self.name == "decoder" and not numpy.triu(self.weights, 1).any()


def read_maps(weights, query_tokens=None, key_tokens=None) -> list[Map]:
    """Turn what was given, arguments as in `attention_view`, into checked maps.

    If it is no attention, a TypeError or ValueError says what came and what to do.
    """
    maps = getattr(weights, "maps", weights)
    if isinstance(maps, dict):
        if query_tokens is not None or key_tokens is not None:
            raise ValueError("these weights bring their own tokens: leave the other arguments out")
        if not maps:
            raise ValueError("there is no attention in here: the dict of maps is empty")
        read = [_one_of_several(name, entry) for name, entry in maps.items()]
        written = getattr(weights, "target_tokens", ()) if "cross" in maps else ()
        return [replace(one, raw_writes=written) if one.name != "encoder" else one for one in read]
    return [_checked("", weights, query_tokens, key_tokens)]


def _one_of_several(name, entry):
    try:
        weights, query_tokens, key_tokens = entry
    except (TypeError, ValueError):
        raise ValueError(
            f"map {name!r}: expected three things, (weights, query_tokens, key_tokens)"
        ) from None
    return _checked(str(name), weights, query_tokens, key_tokens)


def _checked(name, weights, query_tokens, key_tokens):
    here = f"map {name!r}: " if name else ""
    weights = _four_axes(_to_array(weights, here), here)
    n_queries, n_keys = weights.shape[2:]
    if key_tokens is None and n_queries == n_keys:
        key_tokens = query_tokens
    queries = _tokens(query_tokens, n_queries, "query", here, weights.shape)
    keys = _tokens(key_tokens, n_keys, "key", here, weights.shape)
    _check_numbers(weights, queries, here)
    return Map(name, weights, queries, keys)


def _to_array(weights, here):
    if isinstance(weights, (list, tuple)) and any(hasattr(w, "shape") for w in weights):
        return _stack_layers([_to_array(layer, here) for layer in weights], here)
    if hasattr(weights, "detach"):  # a tensor, on whatever device and in whatever precision
        weights = weights.detach().float().cpu().numpy()
    try:
        array = numpy.asarray(weights)
        if array.dtype.kind not in "fiub":
            raise TypeError
        return array.astype(numpy.float32)
    except (TypeError, ValueError):
        raise TypeError(
            f"{here}weights must be a tensor or an array of numbers, or what `attend` returned; "
            f"got {type(weights).__name__}"
        ) from None


def _stack_layers(layers, here):
    """Stack one array a layer, as Hugging Face's models give them: (1, heads, queries, keys)."""
    shapes = {layer.shape for layer in layers}
    if len(shapes) > 1:
        raise ValueError(f"{here}the layers differ in shape: {sorted(shapes)}")
    stacked = numpy.stack(layers)
    return stacked[:, 0] if stacked.ndim == 5 and stacked.shape[1] == 1 else stacked


def _four_axes(weights, here):
    if weights.ndim == 5 and weights.shape[0] == 1:
        weights = weights[0]  # a batch of one sentence
    if weights.ndim not in (2, 3, 4):
        batch = " For a batch, choose one sentence: weights[0]." if weights.ndim == 5 else ""
        raise ValueError(
            f"{here}weights must have the shape (layers, heads, queries, keys), (heads, queries, "
            f"keys) or (queries, keys); got {weights.shape}.{batch}"
        )
    weights = weights.reshape((1,) * (4 - weights.ndim) + weights.shape)
    if 0 in weights.shape:
        raise ValueError(f"{here}there is nothing to show in weights of shape {weights.shape}")
    if weights.size > MOST_WEIGHTS:
        raise ValueError(
            f"{here}{weights.size:,} weights are too many for a browser (at most "
            f"{MOST_WEIGHTS:,}): show some layers only, for instance weights[-1:]"
        )
    return weights


def _tokens(tokens, n, side, here, shape):
    if tokens is None:
        return [str(i) for i in range(n)]
    if isinstance(tokens, str):
        raise TypeError(f"{here}{side}_tokens must be a list of tokens, not a string: try .split()")
    # What cannot be written to a file, half of a surrogate pair, is spelt out.
    tokens = [str(t).encode("utf-8", "backslashreplace").decode("utf-8") for t in tokens]
    if len(tokens) != n:
        axis = "rows (queries)" if side == "query" else "columns (keys)"
        raise ValueError(
            f"{here}{len(tokens)} {side} tokens, but the weights have {n} {axis}: their shape is "
            f"{shape}"
        )
    return tokens


def _check_numbers(weights, queries, here):
    def where(bad):
        layer, head, query, _ = numpy.argwhere(bad)[0]
        return f"in layer {layer}, head {head}, row {query} ({queries[query]!r})"

    broken = ~numpy.isfinite(weights)
    if broken.any():
        raise ValueError(
            f"{here}weights are NaN or infinite {where(broken)}. A row that may look nowhere "
            f"gives 0/0 in a softmax; the course's own attention gives zeros."
        )
    negative = weights < 0
    if negative.any():
        value = weights[negative][0]
        raise ValueError(
            f"{here}weights are negative ({value:.3g}) {where(negative)}. Are these scores? "
            f"Then show scores.softmax(-1)."
        )


def pack(maps: list[Map]) -> tuple[bytes, list[float]]:
    """Write the weights of all maps as whole numbers of 16 bits.

    The scales say, for each map, what a weight of 1 became: few steps, because few compress well.
    """
    scales = [_scale(m.weights) for m in maps]
    codes = [_code(m.weights.ravel(), s) for m, s in zip(maps, scales, strict=True)]
    return numpy.concatenate(codes).astype("<u2").tobytes(), scales


def _code(weights, scale):
    """Round to whole steps, but nothing that isn't quite 1 up to it."""
    codes = numpy.rint(weights * scale)
    return codes - ((weights < 0.99999) & (codes == numpy.rint(scale)))


def _scale(weights):
    # Weights above 1 are no fractions, but some models rescale theirs (dropout in training).
    fine = 4000 if weights.shape[3] > LONG else 1000
    return min(fine, 65_535 / max(float(weights.max()), 1e-9))
