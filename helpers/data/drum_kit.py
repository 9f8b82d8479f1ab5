"""A small synthetic drum kit, so that strokes can be listened to."""

import numpy

from helpers.data.drums import VOICES

RATE = 22_050  # samples a second
# How each voice sounds: a falling tone (Hz at the beginning and at the end, its share of the
# loudness), noise through a crude high-pass or low-pass filter, and seconds until it has faded.
SOUNDS = {
    "kick": (120, 45, 1.0, "low", 0.18),
    "snare": (190, 160, 0.4, "all", 0.16),
    "closed hi-hat": (0, 0, 0.0, "high", 0.04),
    "open hi-hat": (0, 0, 0.0, "high", 0.25),
    "low tom": (100, 70, 0.9, "low", 0.25),
    "middle tom": (140, 100, 0.9, "low", 0.22),
    "high tom": (190, 140, 0.9, "low", 0.20),
    "crash": (0, 0, 0.0, "high", 0.80),
    "ride": (540, 530, 0.2, "high", 0.30),
}


def sound(voice, rate=RATE):
    """Make one stroke of a `voice`, one of `drums.VOICES`: an array (n,) from -1 to 1.

    `rate` is in samples a second.
    """
    high, low, tone, band, fade = SOUNDS[voice]
    time = numpy.arange(int(2 * fade * rate)) / rate
    pitch = low + (high - low) * numpy.exp(-time / (fade / 4))
    noise = numpy.random.default_rng(VOICES.index(voice)).uniform(-1, 1, len(time))
    if band == "high":
        noise = numpy.diff(noise, prepend=0.0) / 2
    elif band == "low":
        noise = numpy.convolve(noise, numpy.ones(24) / 24, mode="same")
    wave = tone * numpy.sin(2 * numpy.pi * numpy.cumsum(pitch) / rate) + (1 - tone) * noise
    return wave * numpy.exp(-time / (fade / 3))


def listen(strokes, bpm, rate=RATE):
    """Play strokes.

    Parameters
    ----------
    strokes : integer array of shape (n, 4)
        Step, voice, velocity, lateness, as in `drums.Performance`.
    bpm : float
        Beats a minute; a beat is four steps.
    rate : int, default=22050

    Returns
    -------
    samples : array of shape (n,)
        For ``IPython.display.Audio(samples, rate=drum_kit.RATE)``; the loudest one is 0.9.

    Raises
    ------
    ValueError
        If there is no stroke.
    """
    strokes = numpy.asarray(strokes)
    if len(strokes) == 0:
        raise ValueError("there is nothing to hear: expected at least one stroke, got none.")
    per_step = 60 / bpm / 4 * rate
    kit = {voice: sound(VOICES[voice], rate) for voice in set(strokes[:, 1].tolist())}
    starts = numpy.maximum((strokes[:, 0] + strokes[:, 3] / 10) * per_step, 0).astype(int)
    samples = numpy.zeros(int(starts.max()) + max(map(len, kit.values())))
    for start, (_, voice, velocity, _) in zip(starts.tolist(), strokes.tolist(), strict=True):
        samples[start : start + len(kit[voice])] += (velocity / 127) ** 1.5 * kit[voice]
    return 0.9 * samples / max(numpy.abs(samples).max(), 1e-9)
