"""The letters that byte-level pieces write for bytes (Radford et al. 2019, section 2.2)."""

_PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
# Letter to byte: a printable byte stands for itself, a space is Ġ.
BYTE_OF = {chr(b): b for b in _PRINTABLE} | {chr(256 + i): b for i, b in enumerate(_OTHERS)}


def shown(piece: bytes) -> str:
    """Write a piece of bytes as text; half a character as its bytes in hexadecimal."""
    try:
        return piece.decode("utf-8").replace(" ", "▁")
    except UnicodeDecodeError:
        return "".join(f"<{byte:02X}>" for byte in piece)
