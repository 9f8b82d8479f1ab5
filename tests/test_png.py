"""Pixels come back as they went in."""

import io

import numpy
from PIL import Image

from helpers.widgets.png import png


def test_colours_come_back():
    pixels = numpy.arange(4 * 5 * 3, dtype=numpy.uint8).reshape(4, 5, 3)
    numpy.testing.assert_array_equal(numpy.asarray(Image.open(io.BytesIO(png(pixels)))), pixels)


def test_a_palette_gives_the_colours_and_keeps_the_file_small():
    steps = numpy.tile(numpy.arange(3, dtype=numpy.uint8), (50, 20))
    colours = numpy.array([[250, 0, 0], [0, 250, 0], [0, 0, 250]], dtype=numpy.uint8)
    content = png(steps, colours.tobytes())
    read = numpy.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    numpy.testing.assert_array_equal(read, colours[steps])
    assert len(content) < len(png(colours[steps]))
