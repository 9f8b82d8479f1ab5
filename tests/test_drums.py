import numpy
import pytest

from helpers.data import drum_kit, drums


def test_the_performances_are_whole_and_what_the_notice_says():
    found = drums.performances()
    assert len(found) == 491
    assert sum(len(one.strokes) for one in found) == 421_179
    assert [one.number for one in found] == list(range(491))
    for one in found:
        steps, voices, velocities, late = one.strokes.T
        assert (numpy.diff(steps) >= 0).all()
        assert voices.max() < len(drums.VOICES)
        assert (velocities < 128).all()
        assert (numpy.abs(late) <= 5).all()
        assert one.split in ("train", "validation", "test")


def test_windows_hold_every_stroke_once_and_count_from_their_beginning():
    one = drums.performances()[0]
    cut = drums.windows(one)
    assert all(w[:, 0].min() >= 0 and w[:, 0].max() < 2 * drums.STEPS_PER_BAR for w in cut)
    thin = sum(len(w) for w in cut)
    assert len(one.strokes) - 3 * len(cut) - 3 <= thin <= len(one.strokes)
    assert len(drums.windows(one, bars=1)) > len(cut)


def test_rock_is_the_largest_genre():
    counts = {}
    for one in drums.performances():
        counts[one.genre] = counts.get(one.genre, 0) + len(drums.windows(one))
    assert sorted(counts, key=counts.get)[-4:] == ["jazz", "funk", "latin", "rock"]
    assert 3_000 < counts["rock"] < 3_500


def test_a_stroke_is_heard_when_and_as_loud_as_it_says():
    quiet, loud = (8, 1, 32, 0), (0, 1, 127, 0)
    samples = drum_kit.listen([loud, quiet], bpm=120)
    half = int(drum_kit.RATE * 60 / 120 / 4 * 8)  # where the second one begins
    assert numpy.abs(samples).max() == pytest.approx(0.9)
    assert numpy.abs(samples[:half]).max() > 3 * numpy.abs(samples[half:]).max() > 0
    assert numpy.abs(samples[half - 200 : half]).max() < 1e-2


@pytest.mark.parametrize("voice", drums.VOICES)
def test_every_voice_sounds_and_fades(voice):
    samples = drum_kit.sound(voice)
    assert 0.05 < numpy.abs(samples).max() <= 1.01
    assert numpy.abs(samples[-100:]).max() < 0.02


def test_silence_is_refused():
    with pytest.raises(ValueError, match="at least one stroke"):
        drum_kit.listen(numpy.zeros((0, 4)), 120)
