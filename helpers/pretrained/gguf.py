"""Read a GGUF file: the format in which llama.cpp's models are passed on.

A header with facts (sizes, the vocabulary, …), a list of tensors, then the tensors. Only the kinds
that our file holds are read. The format's own package does it too, but takes three seconds for the
header alone and brings three packages along.

Source: the format's description, github.com/ggml-org/ggml, docs/gguf.md; the blocks in
ggml/src/ggml-common.h of the same project.
"""

import os
import struct

import numpy as np

_SCALARS = dict(zip((*range(8), 10, 11, 12), "BbHhIif?Qqd", strict=True))
_STRING, _LIST = 8, 9
BLOCK = 32  # weights that share a scale


def q4_1_blocks(raw):
    """Turn blocks of 20 bytes into 32 weights each: a scale, a minimum and 32 numbers of 4 bits.

    Parameters
    ----------
    raw : uint8 array of shape (blocks, 20)
        Scale and minimum as 16-bit floats, then 16 bytes: the low half of byte i is number i, the
        high half number i + 16.

    Returns
    -------
    weights : float32 array of shape (blocks, 32)
        ``scale * number + minimum``.
    """
    scale, minimum = raw[:, :4].copy().view(np.float16).astype(np.float32).T[..., None]
    numbers = np.concatenate([raw[:, 4:] & 15, raw[:, 4:] >> 4], axis=1)
    return scale * numbers + minimum


def q8_0_blocks(raw):
    """Turn `raw` blocks of 34 bytes, (blocks, 34), into 32 weights: a scale, 32 signed bytes."""
    scale = raw[:, :2].copy().view(np.float16).astype(np.float32)
    return scale * raw[:, 2:].view(np.int8)


_KINDS = {
    0: (4, 1, lambda raw: raw.copy().view(np.float32)),
    3: (20, BLOCK, q4_1_blocks),
    8: (34, BLOCK, q8_0_blocks),
}


class GGUF:
    """A file's facts and, one at a time, its tensors.

    Parameters
    ----------
    path : path

    Raises
    ------
    ValueError
        If it isn't a GGUF file, ends too early, or holds a kind of numbers that isn't read here.
    """

    def __init__(self, path):
        self._path, self._at = path, 0
        self._data = np.memmap(path, np.uint8, "r") if os.path.getsize(path) else b""
        if bytes(self._data[:4]) != b"GGUF":
            raise ValueError(f"{path} is no GGUF file: it doesn't begin with the letters GGUF.")
        try:
            _, _, n_tensors, n_facts = self._read("<4sIQQ")
            self.facts = {self._string(): self._value(*self._read("<I")) for _ in range(n_facts)}
            self._where = dict(self._entry() for _ in range(n_tensors))
        except struct.error:
            raise ValueError(f"{path} is cut off: it ends inside its header.") from None
        step = self.facts.get("general.alignment", 32)
        self._start = -(-self._at // step) * step
        for name in self._where:
            self.raw(name)

    def names(self):
        """List the tensors' names."""
        return list(self._where)

    def raw(self, name):
        """Return a tensor as it's stored, one row per block, (blocks, bytes per block)."""
        kind, shape, offset = self._where[name]
        if kind not in _KINDS:
            raise ValueError(
                f"{self._path} stores {name} as kind {kind}; only {sorted(_KINDS)} (floats of 32 "
                f"bits, Q4_1, Q8_0) are read here."
            )
        size, per_block, _ = _KINDS[kind]
        first = self._start + offset
        last = first + int(np.prod(shape)) // per_block * size
        if last > len(self._data):
            raise ValueError(
                f"{self._path} is cut off: {name} should end at byte {last:,}, the file ends at "
                f"{len(self._data):,}."
            )
        return self._data[first:last].reshape(-1, size)

    def tensor(self, name):
        """Return a tensor as float32, in the order of PyTorch's shapes."""
        kind, shape, _ = self._where[name]
        return _KINDS[kind][2](self.raw(name)).reshape(shape)

    def _entry(self):
        name, (n_dims,) = self._string(), self._read("<I")
        shape = self._read(f"<{n_dims}Q")[::-1]  # the fastest dimension comes first there
        return name, (*self._read("<I"), shape, *self._read("<Q"))

    def _read(self, form):
        values = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return values

    def _string(self):
        (length,) = self._read("<Q")
        return self._read(f"<{length}s")[0].decode("utf-8")

    def _value(self, kind):
        if kind == _STRING:
            return self._string()
        if kind != _LIST:
            return self._read("<" + _SCALARS[kind])[0]
        kind, length = self._read("<IQ")
        if kind in _SCALARS:
            return list(self._read(f"<{length}{_SCALARS[kind]}"))
        return [self._value(kind) for _ in range(length)]
