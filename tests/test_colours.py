"""The table of colours: both themes, as the colour-blind and a grey print see them."""

import inspect
import re
import subprocess

import numpy
import pytest
from stages import ROOT

from helpers.plots import SIGNED, WEIGHTS
from helpers.widgets.colours import DARK, LIGHT, PLAIN, STATIC, TABLE, coloured
from helpers.widgets.decoding_explorer import DecodingExplorer
from helpers.widgets.head_switches import HeadSwitches
from helpers.widgets.svg import Sheet, ink_on, shade

# How red- and green-blind eyes mix linear red, green and blue.
# Machado et al. (2009), "A Physiologically-based Model for Simulation of Color Vision Deficiency".
BLIND = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
}  # fmt: skip


def linear(colour):
    """Read a colour as light: red, green and blue from 0 to 1."""
    parts = numpy.array(list(bytes.fromhex(colour[1:]))) / 255
    return numpy.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def luminance(colour):
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def seen(colour, eyes):
    """Place a colour where equal steps look equal (OKLab), as these eyes see it."""
    light = numpy.clip(numpy.array(BLIND[eyes]) @ linear(colour), 0, 1)
    cones = [[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]]
    lab = [[0.21045, 0.79362, -0.00407], [1.97800, -2.42859, 0.45059], [0.02590, 0.78277, -0.80868]]
    return numpy.array(lab) @ numpy.cbrt(numpy.array(cones) @ light)


@pytest.mark.parametrize("theme", TABLE)
def test_words_in_every_colour_of_a_meaning_read_on_their_paper(theme):
    colours = TABLE[theme]
    for name in ("ink", "muted", "query", "key", "value", "result", "bad", "second"):
        assert contrast(colours[name], colours["paper"]) >= 4.5, name
    assert contrast(colours["muted"], colours["soft"]) >= 4.5


@pytest.mark.parametrize("theme", TABLE)
@pytest.mark.parametrize("eyes", BLIND)
def test_the_colour_blind_tell_queries_from_keys_and_below_zero_from_above(theme, eyes):
    colours = TABLE[theme]
    pairs = [("query", "key"), ("key", "value"), ("query", "value"), ("key", "result")]
    for one, other in pairs:
        apart = numpy.linalg.norm(seen(colours[one], eyes) - seen(colours[other], eyes))
        assert apart > 0.06, (one, other, apart)
    signed = colours["signed"]
    for below, above in ((signed[0], signed[-1]), (signed[1], signed[-2])):
        assert numpy.linalg.norm(seen(below, eyes) - seen(above, eyes)) > 0.15


@pytest.mark.parametrize("theme", TABLE)
def test_in_a_grey_print_more_is_darker_or_lighter_all_the_way(theme):
    colours = TABLE[theme]
    greys = [luminance(stop) for stop in colours["weights"]]
    assert greys in (sorted(greys), sorted(greys, reverse=True))
    middle = len(colours["signed"]) // 2
    for half in (colours["signed"][middle:], colours["signed"][middle::-1]):
        greys = [luminance(stop) for stop in half]
        assert greys in (sorted(greys), sorted(greys, reverse=True))


def test_below_zero_is_orange_and_above_it_blue_in_every_theme_and_language():
    for theme in TABLE.values():
        for stops, warm in ((theme["signed"][:2], True), (theme["signed"][-2:], False)):
            for stop in stops:
                red, _, blue = bytes.fromhex(stop[1:])
                assert (red > blue) == warm
    red, _, blue, _ = SIGNED(0.2)
    assert red > blue
    assert WEIGHTS(1.0)[:3] == tuple(part / 255 for part in bytes.fromhex("08306b"))


def test_both_themes_name_the_same_colours():
    assert list(TABLE["light"]) == list(TABLE["dark"])


def test_a_style_sheet_gets_its_colours_and_nothing_of_the_notation_is_left():
    assert coloured("a { color: @query; border: @dark-query }") == (
        f"a {{ color: {TABLE['light']['query']}; border: {TABLE['dark']['query']} }}"
    )
    for sheet in STATIC.glob("*.css"):
        left = coloured(sheet.read_text(encoding="utf-8"))
        assert not re.search(rf"@(light|dark|repaint|{'|'.join(PLAIN)})\b", left)


def test_no_colour_of_the_table_is_written_a_second_time():
    """Neither in code nor in style; the clinic imports nothing, a drawing on its own can't."""
    listed = ["git", "ls-files", "*.py", "*.js", "*.css"]
    names = subprocess.run(listed, cwd=ROOT, text=True, capture_output=True, check=True).stdout
    table = "helpers/widgets/static/colours.js"
    plain = {str(value) for theme in TABLE.values() for value in theme.values()}
    for name in names.split():
        if name.startswith(("tests/", table)) or not (ROOT / name).is_file():
            continue
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not [value for value in plain if f'{value}"' in text or f"{value};" in text], name


def test_what_stands_on_a_coloured_cell_reads_in_both_themes():
    style = coloured("@repaint;")
    assert f'[fill="{LIGHT["query"]}"]' in style
    for share in numpy.linspace(0, 1, 101):
        for ink, cell in zip(ink_on(share), shade(WEIGHTS, share), strict=True):
            assert f'[fill="{ink}"]' not in style  # as the map's colours, it isn't repainted
            assert contrast(cell, {"#fff": "#ffffff", "black": "#000000"}[ink]) >= 4.5
    for draws in (HeadSwitches._draw_head, DecodingExplorer._draw_source):
        assert "ink_on(" in inspect.getsource(draws)


def test_a_heatmap_has_a_twin_on_dark_pages():
    sheet = Sheet(10, 10)
    sheet.pixels(0, 0, 10, 10, [[0.0, 1.0]], WEIGHTS, 0, 1)
    sheet.rect(0, 0, 1, 1, shade(WEIGHTS, 1.0))
    light, dark = re.findall(r'class="in-(?:light|dark)".*?base64,([^"]+)', "".join(sheet.shapes))
    assert light != dark
    assert f"--dark: {DARK['weights'][-1]}" in sheet.shapes[-1]
    style = (STATIC / "explorer.css").read_text(encoding="utf-8")
    assert all(word in style for word in (".in-light {", ".in-dark {", "var(--dark)"))
