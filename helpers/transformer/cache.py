"""What a decoder keeps from one decoding step to the next: per attention, per layer, in all.

B batch, T target length, S source length, D model width, H heads, K head width.
"""

from helpers.transformer.fast import GrowingTensor
from helpers.transformer.one_row import joined


class KeyValueCache:
    """Keep keys and values from one decoding step to the next, so that none is projected twice.

    Parameters
    ----------
    grows : bool
        True for self-attention, where every step brings new positions. False for cross-attention:
        the source stays the same, so what the first step projected serves all later ones.
    """

    def __init__(self, grows):
        self.grows = grows
        self.key, self.value = GrowingTensor(), GrowingTensor()
        self._together = None

    def project(self, attention, key, value):
        """Project the keys and values that are not cached yet, and return all of them.

        Parameters
        ----------
        attention : MultiHeadAttention
        key, value : Tensor of shape (B, new, D)
            In self-attention the new positions; in cross-attention the source, used in the first
            step only.

        Returns
        -------
        key, value : Tensor of shape (B, H, S, K)
            Of all positions so far.
        """
        if self.grows or not self.length:
            return self.append(*attention.project_key_value(key, value))
        return self.key.all(), self.value.all()

    def project_together(self, attention, x):
        """Project new positions to queries, keys and values in one product; for self-attention.

        Parameters
        ----------
        attention : MultiHeadAttention
            Always the same one.
        x : Tensor of shape (B, new, D)

        Returns
        -------
        heads : Tensor of shape (B, heads of queries, keys and values, new, K)
        """
        if self._together is None:
            three = attention.query_proj, attention.key_proj, attention.value_proj
            self._together = joined(three)
        return attention.split_heads(self._together(x))

    def append(self, key, value):
        """Add new keys and values, (B, H, new, K) each, and return all of them, (B, H, S, K)."""
        return self.key.append(key), self.value.append(value)

    @property
    def length(self):
        """Positions already cached."""
        return self.key.length

    def shorten(self, length):
        """Forget all positions after the first `length`."""
        self.key.shorten(length)
        self.value.shorten(length)

    def reorder(self, rows):
        """Let row i hold what row ``rows[i]`` held before."""
        self.key.reorder(rows)
        self.value.reorder(rows)


class LayerCache:
    """The keys and values that one decoder layer has projected in earlier decoding steps."""

    def __init__(self):
        self.self_attention = KeyValueCache(grows=True)
        self.cross_attention = KeyValueCache(grows=False)

    def reorder(self, rows):
        """Let row i hold what row ``rows[i]`` held before."""
        self.self_attention.reorder(rows)
        self.cross_attention.reorder(rows)


class DecoderCache:
    """What a decoder has computed so far, per layer."""

    def __init__(self, n_layers: int):
        self.length = 0  # positions already computed
        self.layers = [LayerCache() for _ in range(n_layers)]

    def reorder(self, rows):
        """Let row i hold what row ``rows[i]`` held before."""
        for layer in self.layers:
            layer.reorder(rows)
