"""Pictures are drawn by the code beside them, to the byte, and each says what it shows."""

from images import draw


def test_every_picture_is_what_its_function_draws(tmp_path):
    draw.draw_all(tmp_path)
    for picture in draw.PICTURES:
        name = f"{picture.__name__}.png"
        assert (tmp_path / name).read_bytes() == (draw.HERE / name).read_bytes(), name


def test_every_file_has_its_function_and_alt_text():
    names = {picture.__name__ for picture in draw.PICTURES}
    assert {path.stem for path in draw.HERE.glob("*.png")} == names
    for name in names:
        assert len((draw.HERE / f"{name}.txt").read_text(encoding="utf-8")) > 40
