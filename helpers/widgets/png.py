"""Small pictures of few colours, written as PNG."""

import struct
import zlib

import numpy


def png(levels, palette):
    """Write steps of a palette as a PNG.

    Parameters
    ----------
    levels : uint8 array of shape (rows, columns)
        For each pixel which colour of the palette it has.
    palette : bytes
        Red, green and blue of the first colour, of the second …; at most 256 colours.

    Returns
    -------
    data : bytes
    """
    rows, columns = levels.shape
    lines = numpy.concatenate([numpy.zeros((rows, 1), numpy.uint8), levels], 1)

    def chunk(kind, body):
        check = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + check

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(lines.tobytes(), 9))
    colours = chunk(b"PLTE", palette)
    return b"\x89PNG\r\n\x1a\n" + head + colours + body + chunk(b"IEND", b"")
