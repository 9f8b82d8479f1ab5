"""Pixels as a PNG file, to put into an SVG."""

import io

from PIL import Image


def png(pixels, palette=None) -> bytes:
    """Encode pixels as a PNG file.

    Parameters
    ----------
    pixels : uint8 array of shape (rows, columns, 3), or (rows, columns) with a palette
    palette : bytes, default=None
        Red, green and blue of each colour that the pixels count.
    """
    image = Image.fromarray(pixels)
    if palette is not None:
        image.putpalette(palette)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()
