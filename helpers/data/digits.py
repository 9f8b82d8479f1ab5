"""Spoken digits: 900 clips of six speakers as spectrograms, and ten of them as sound.

Where they come from and what was changed: ``real/NOTICES.md``.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy

RATE = 8000  # samples per second
WINDOW, HOP, BANDS = 256, 128, 24  # a frame every 16 milliseconds
QUIETEST, LOUDEST, STEPS = -14.0, 8.0, 127  # how logarithms of power are rounded for the file
FILE = Path(__file__).parent / "real" / "digits.npz"


@dataclass(frozen=True)
class Clip:
    """One spoken digit: its `frames` (time, BANDS), which `digit` it is, and the `speaker`'s name.

    The frames hold logarithms of power, rounded to STEPS steps.
    """

    frames: numpy.ndarray
    digit: int
    speaker: str


def spectrogram(samples):
    """Cut a sound into overlapping frames and measure the power in each band of frequencies.

    Parameters
    ----------
    samples : float array of shape (n,)
        Between -1 and 1, RATE of them per second; at least WINDOW.

    Returns
    -------
    frames : array of shape (time, BANDS)
        Natural logarithms of power. The bands are equally wide on the mel scale, which follows
        the ear: narrow at the bottom, wide at the top.

    Source
    ------
    Davis and Mermelstein (1980), "Comparison of Parametric Representations for Monosyllabic Word
    Recognition", for triangular filters on the mel scale.
    """
    starts = range(0, len(samples) - WINDOW + 1, HOP)
    windows = numpy.stack([samples[start : start + WINDOW] for start in starts])
    power = numpy.abs(numpy.fft.rfft(windows * numpy.hanning(WINDOW))) ** 2  # (time, bins)
    return numpy.log(power @ _filters().T + 1e-6)


def _filters():
    """Make triangular filters, (BANDS, bins): each rises from the middle of the one before."""
    top = 1127 * numpy.log1p(RATE / 2 / 700)
    corners = 700 * numpy.expm1(numpy.linspace(0, top, BANDS + 2) / 1127)  # in Hertz
    bins = numpy.fft.rfftfreq(WINDOW, 1 / RATE)
    up = (bins - corners[:-2, None]) / (corners[1:-1] - corners[:-2])[:, None]
    down = (corners[2:, None] - bins) / (corners[2:] - corners[1:-1])[:, None]
    return numpy.clip(numpy.minimum(up, down), 0, None)


def clips():
    """Read the 900 clips, a list of Clip."""
    with numpy.load(FILE) as file:
        # From one of STEPS steps, in a byte each, back to logarithms of power.
        power = file["frames"].astype(numpy.float32) / STEPS * (LOUDEST - QUIETEST) + QUIETEST
        ends = numpy.cumsum(file["lengths"])
        speakers, speaker, digit = file["speakers"], file["speaker"], file["digit"]
    parts = numpy.split(power, ends[:-1])
    return [
        Clip(part, int(d), str(speakers[s]))
        for part, d, s in zip(parts, digit, speaker, strict=True)
    ]


def sounds():
    """Read one clip of each digit as sound: a list of ten float arrays between -1 and 1."""
    with numpy.load(FILE) as file:
        codes, ends = file["mulaw"], numpy.cumsum(file["sound_lengths"])
    return numpy.split(from_mulaw(codes), ends[:-1])


def from_mulaw(codes):
    """Decode 8-bit telephone sound, in which small levels have fine steps and large ones coarse.

    Parameters
    ----------
    codes : uint8 array of shape (n,)

    Returns
    -------
    samples : float array of shape (n,)
        Between -1 and 1.

    Source
    ------
    ITU-T (1988), Recommendation G.711, table 2: a sign, three bits of exponent, four of mantissa,
    all of them inverted.
    """
    bits = ~codes.astype(numpy.uint8)
    exponent, mantissa = (bits >> 4) & 7, (bits & 15).astype(numpy.int32)
    level = ((mantissa << 3) + 132 << exponent) - 132
    return numpy.where(bits & 128, -level, level) / 32768
