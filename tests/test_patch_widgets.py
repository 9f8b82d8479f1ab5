"""The widget that draws a ViT's attention over a picture: its numbers are the model's."""

import re

import pytest
import torch
from explorer_promises import check_that_every_change_shows, check_the_still_picture, clicks, send

from helpers.data.clothes import clothes
from helpers.models.vit import VisionTransformer, attention_rollout
from helpers.plots import BLUE, GREY, INK, WEIGHTS
from helpers.pretrained.wardrobe import Wardrobe, wardrobe_config
from helpers.widgets.patches import ROLLOUT, PatchAttention, PatchCutter
from helpers.widgets.svg import shade

TINY = wardrobe_config(d_model=8, n_heads=2, n_layers=2, d_ff=8, patch_size=7)


@pytest.fixture(scope="module")
def wardrobe():
    torch.manual_seed(0)
    return Wardrobe(VisionTransformer(TINY))


@pytest.fixture
def make(wardrobe):
    """Give a function that makes the widget."""
    return lambda **state: PatchAttention(wardrobe, clothes("test", 3), **state)


def test_it_keeps_what_every_explorer_promises(make):
    assert check_the_still_picture(make()) <= 480
    changes = {"picture": 2, "layer": 2, "head": 1, "token": 5}
    check_that_every_change_shows(make(), changes)


def test_the_rows_are_those_of_the_two_models(make, wardrobe):
    image = clothes("test", 3).images[1][None]
    maps = wardrobe.attend(image)[0]
    widget = make(picture=1, layer=2, head=1, token=3)
    torch.testing.assert_close(widget.numbers["trained"], maps[1, 1, 3])
    drawn, shown = widget.numbers["untrained"], widget.numbers["shown"]
    rows = [model.attend(image)[0, 1, 1, 3] for model in widget._models[1:]]
    shares = sorted(row[1:][shown].sum().item() for row in rows)
    assert drawn[1:][shown].sum().item() == pytest.approx(shares[10])  # the median
    assert widget.numbers["even"] == pytest.approx(shown.sum().item() / 17)
    known = widget._maps()
    for widget.picture in (0, 1):  # only the last one's maps are kept
        pass
    assert widget._maps() is not known
    widget.head = -1
    torch.testing.assert_close(widget.numbers["trained"], maps[1].mean(0)[3])
    widget.head = ROLLOUT
    torch.testing.assert_close(widget.numbers["trained"], attention_rollout(maps)[3])
    widget.layer = 1
    torch.testing.assert_close(widget.numbers["trained"], attention_rollout(maps[:1])[3])
    for widget.layer, widget.token in ((1, 3), (2, 3), (2, 6), (2, 0)):
        even = attention_rollout(torch.full_like(maps[: widget.layer], 1 / 17))[widget.token, 1:]
        assert widget.numbers["even"] == pytest.approx(even[shown].sum().item())


def test_only_what_is_outside_the_band_of_random_models_counts_as_a_difference(make):
    widget = make()
    parts = widget.numbers["parts"]
    assert parts.equal(make().numbers["parts"])  # seeded
    here = parts[:, 0, -1]  # layer 1, the mean of heads
    low, high = here[1].item(), here[-1].item()
    cases = (low - 1, "put more", "↓"), (high + 1, "put less", "↑"), (low, "no sign of", "")
    for part, said, arrow in cases:  # one rule, for words and arrows
        here[0] = part
        assert f"In 20 untrained models it’s {low}% to {high}%" in widget.tell()[1]
        assert said in widget.tell()[1]
        assert f">{part}{arrow}<" in widget.draw()[1].to_svg()
    # 8 cells, each the first or last of 21 models.
    assert ">chance alone gives about 1 of 8<" in widget.svg
    assert len(clicks(widget)) == 4 * 4 + 1 + 2 * 4  # a target per token and per head
    send(widget, set={"layer": 2, "head": ROLLOUT}, number=1)
    assert (widget.layer, widget.head) == (2, ROLLOUT)
    assert "follows weights through layers 1 to 2" in widget.tell()[1]


def test_the_median_of_the_untrained_models_is_shown_beside_the_trained(make):
    widget = make(picture=1, layer=2, head=1)
    parts = widget.numbers["parts"][:, 1, 1].tolist()
    assert f"puts {parts[0]}% of its weight" in widget.tell()[0]
    drawn, compared = (sheet.to_svg() for sheet in widget.draw())
    assert len(re.findall(r": weight [0-9.]+", drawn)) == 17
    trained, untrained = (widget.numbers[name][1:] for name in ("trained", "untrained"))
    scale = widget.numbers["top"]
    for weights, side in (trained, "63.0"), (untrained, "31.5"):
        fills = re.findall(rf'height="{side}" fill="(#\w+)" style', drawn)
        assert fills == [shade(WEIGHTS, min(one / scale, 1))[0] for one in weights.tolist()]
    most = max(trained.max(), untrained.max())
    assert f"{most:.2f} weight in both<" in drawn  # one scale for both
    bars = re.findall(rf'width="([\d.]+)" height="24.0" fill="(?:{BLUE}|{GREY})"', compared)
    assert list(map(float, bars)) == pytest.approx([2.4 * parts[0], 2.4 * parts[11]], abs=0.1)
    (ringed,) = re.findall(rf'cx="([\d.]+)"[^>]*stroke="{INK}"', compared)
    assert float(ringed) == pytest.approx(106 + 2.4 * parts[11], abs=0.1)


def test_the_patches_that_count_are_outlined_and_the_rule_is_in_view(make):
    widget = make(picture=1)
    most = widget.pictures.images[1].float().view(4, 7, 4, 7).amax((1, 3))
    shown = widget.numbers["shown"].view(4, 4)
    assert shown.equal(most > most.max() / 5)  # no part that is seen stays outside
    edges = len(re.findall(r'width="2.5" height="63.0"|width="63.0" height="2.5"', widget.svg))
    alone = torch.nn.functional.pad(shown, (1, 1, 1, 1)).int()
    assert edges == sum(alone.diff(dim=dim).abs().sum().item() for dim in (0, 1))
    assert ">□ counts as pullover: a pixel" in widget.svg


def test_a_weight_has_one_colour_whatever_is_drawn_below_it(make):
    widget = make(picture=1, layer=2, head=ROLLOUT, token=6)  # which keeps most of its own weight
    (_, *others), scale = widget.numbers["trained"].tolist(), widget.numbers["top"]
    row, column = divmod(others.index(most := max(others[:5] + others[6:])), 4)
    assert scale / 2 < most <= scale < others[5]  # so that others are seen beside it
    colour, label = shade(WEIGHTS, most / scale)[0], f"Row {row + 1}, column {column + 1}: "
    assert re.search(f'fill="{colour}"[^>]*/><rect [^>]*"{label}', widget.svg)
    assert ">≥" in widget.svg


def test_a_patch_can_be_clicked_and_the_class_token_asked_again(make):
    widget = make()
    assert clicks(widget)[:17] == [{"token": i} for i in [*range(1, 17), 0]]
    send(widget, set=clicks(widget)[6], number=1)
    assert widget.token == 7
    assert "patch 2, 3 puts" in widget.tell()[0]
    send(widget, set=clicks(widget)[16], number=2)
    assert widget.token == 0
    widget = make(picture=9, layer=9, head=9, token=99)  # what is out of reach comes within it
    assert (widget.picture, widget.layer, widget.head, widget.token) == (2, 2, 1, 16)


GROWTH = (14, "4.0", "12"), (4, "3.1", "8.7"), (2, "12", "134")


@pytest.mark.parametrize(("side", "patches", "weights"), GROWTH)
def test_a_side_is_compared_with_the_first_and_its_map_drawn_to_one_scale(side, patches, weights):
    widget = PatchCutter()
    widget.picture = 3
    assert widget._pixels(widget.chosen).any()  # not one of the black ones
    widget.reset()
    send(widget, set={"side": side}, number=1)
    how = "times fewer" if side == 14 else "times as many"
    said = f"Compared with side 7: {patches} {how} patches, {weights} {how} weights."
    assert widget.tell()[1] == said
    assert f"token {widget.chosen + 1}, as the class token is the first" in widget.svg
    square = re.search(rf'width="([\d.]+)" height="\1" fill="{BLUE}"', widget.svg)
    assert float(square[1]) == pytest.approx(0.4 * (1 + (28 // side) ** 2), abs=0.05)
