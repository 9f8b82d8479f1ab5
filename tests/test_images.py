"""Pictures are drawn by the code beside them, to the byte; each says what it shows, readably."""

import re

import pytest

from images import draw


@pytest.mark.slow
def test_every_picture_is_what_its_function_draws(tmp_path):
    for name in draw.draw_all(tmp_path):
        assert (tmp_path / name).read_bytes() == (draw.HERE / name).read_bytes(), (
            f"{name} is not what its function draws; run `make images`."
        )


def test_every_file_has_its_function():
    files = {p.name for p in draw.HERE.iterdir() if p.suffix in {".svg", ".png", ".gif", ".txt"}}
    names = {picture.__name__ for picture in draw.PICTURES}
    assert {name.rsplit(".", 1)[0] for name in files} == names
    assert len(names) == len(draw.PICTURES)


@pytest.mark.parametrize("picture", draw.PICTURES, ids=lambda picture: picture.__name__)
def test_alt_text_says_what_there_is_to_see(picture):
    assert len(draw.alt_text(picture)) > 40


@pytest.mark.parametrize("path", sorted(draw.HERE.glob("*.svg")), ids=lambda path: path.name)
def test_no_letter_is_too_small_and_nothing_is_fetched(path):
    svg = path.read_text(encoding="utf-8")
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)]
    assert min(sizes) >= 16
    assert svg.count("http") == svg.count("http://www.w3.org/2000/svg")
    assert "<script" not in svg
    assert len(svg) < 200_000
