import numpy
import pytest
from samples import refuses

from helpers.data import drum_kit, drums


def test_windows_hold_every_stroke_once_and_count_from_their_beginning():
    one = drums.performances()[0]
    cut = drums.windows(one)
    assert all(w[:, 0].min() >= 0 and w[:, 0].max() < 2 * drums.STEPS_PER_BAR for w in cut)
    thin = sum(len(w) for w in cut)
    assert len(one.strokes) - 3 * len(cut) - 3 <= thin <= len(one.strokes)
    assert len(drums.windows(one, bars=1)) > len(cut)


def test_a_stroke_is_heard_when_and_as_loud_as_it_says_and_silence_is_refused():
    quiet, loud = (8, 1, 32, 0), (0, 1, 127, 0)
    samples = drum_kit.listen([loud, quiet], bpm=120)
    half = int(drum_kit.RATE * 60 / 120 / 4 * 8)  # where the second one begins
    assert numpy.abs(samples).max() == pytest.approx(0.9)
    assert numpy.abs(samples[:half]).max() > 3 * numpy.abs(samples[half:]).max() > 0
    assert numpy.abs(samples[half - 200 : half]).max() < 1e-2
    refuses("at least one stroke", drum_kit.listen, numpy.zeros((0, 4)), 120)


@pytest.mark.parametrize("voice", drums.VOICES)
def test_every_voice_sounds_and_fades(voice):
    samples = drum_kit.sound(voice)
    assert 0.05 < numpy.abs(samples).max() <= 1.01
    assert numpy.abs(samples[-100:]).max() < 0.02
