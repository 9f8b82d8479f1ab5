"""The letters that byte-level pieces write for bytes (Radford et al. 2019, section 2.2)."""


def _byte_of():
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}


# Letter to byte: a printable byte stands for itself, a space is Ġ.
BYTE_OF = _byte_of()
