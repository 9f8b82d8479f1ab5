"""The data of the page Elsewhere: sounds and their spectrograms, chains and their structures."""

import numpy
import pytest

from helpers.data import digits, proteins


def test_the_stored_frames_are_the_spectrograms_of_the_sounds():
    with numpy.load(digits.FILE) as file:
        which = file["sound_clip"]
    clips, sounds = digits.clips(), digits.sounds()
    half_a_step = 0.5 * (digits.LOUDEST - digits.QUIETEST) / digits.STEPS
    for digit, (index, sound) in enumerate(zip(which, sounds, strict=True)):
        assert clips[index].digit == digit
        found = digits.spectrogram(sound)
        numpy.testing.assert_allclose(found, clips[index].frames, atol=half_a_step + 1e-3)


@pytest.mark.parametrize("pitch", [200, 440, 1000, 3000])
def test_a_tone_is_loudest_in_the_band_that_holds_its_frequency(pitch):
    tone = numpy.sin(2 * numpy.pi * pitch * numpy.arange(4000) / digits.RATE)
    top = 1127 * numpy.log1p(digits.RATE / 2 / 700)
    wanted = 1127 * numpy.log1p(pitch / 700) / top * (digits.BANDS + 1) - 1
    assert abs(digits.spectrogram(tone).mean(0).argmax() - wanted) <= 1


def test_no_chain_is_on_both_sides():
    train, test = ({chain for chain, _ in proteins.proteins(p)} for p in ("train", "test"))
    assert not train & test
    with pytest.raises(ValueError, match="train and test; got 'val'"):
        proteins.proteins("val")


def test_telephone_sound_is_decoded_by_the_standards_table():
    # The loudest and the softest positive and negative level, and one in between.
    codes = numpy.array([0x80, 0x00, 0xFF, 0x7F, 0xB0], dtype=numpy.uint8)
    levels = numpy.array([32124, -32124, 0, 0, 3900]) / 32768
    numpy.testing.assert_allclose(digits.from_mulaw(codes), levels)
