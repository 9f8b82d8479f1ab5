"""Explorers compute with the core's functions, redraw on every change, and refuse nonsense."""

import html
import itertools
import json
import math
import re
from pathlib import Path

import anywidget
import pytest
import torch
import torch.nn.functional as F
from explorer_promises import check_that_every_change_shows, check_the_still_picture, clicks, send
from samples import refuses

from helpers.clinic import examine
from helpers.models.patients import ALL, admit
from helpers.text.subwords import BytePairs
from helpers.transformer.losses import smooth_targets
from helpers.transformer.masks import causal_mask
from helpers.widgets import modules
from helpers.widgets.attention_patterns import PATTERNS, AttentionPatterns, make_mask
from helpers.widgets.dot_products import DotProducts
from helpers.widgets.kernel_regression import KernelRegression
from helpers.widgets.loss_explorer import WORDS, LossExplorer
from helpers.widgets.mask_builder import MaskBuilder
from helpers.widgets.merge_stepper import MergeStepper
from helpers.widgets.patches import PatchCutter
from helpers.widgets.patching import PatchingGrid
from helpers.widgets.positions_explorer import PositionExplorer
from helpers.widgets.six_steps import W_K, W_Q, W_V, SixSteps
from helpers.widgets.softmax_scale import (
    EVEN,
    ScaleExplorer,
    SoftmaxTemperature,
    random_vectors,
    scale_measurements,
)
from helpers.widgets.tokenizers_side_by_side import TokenizersSideBySide
from helpers.widgets.ward_round import LETTERS, WARD, WardRound, chart, later
from notebooks import build

CHANGES = {
    WardRound: {"patient": "B", "module": 2, "guess": "D"},
    DotProducts: {"q_x": -1.0, "q_y": 2.0, "a_x": 0.0, "a_y": -2.0, "b_x": 3.0, "b_y": 1.0},
    KernelRegression: {"query": 4.0, "width": 1.0},
    SoftmaxTemperature: {"temperature": 0.1, "first": -1.0, "second": 3.0, "third": 3.0,
                         "fourth": 3.0, "fifth": 3.0},
    ScaleExplorer: {"power": 2, "divide": True, "draw_number": 7, "key": 5, "push": 9.0},
    MaskBuilder: {"causal": False, "padding": 3, "cross": True, "query": 5,
                  "allowed": (2,), "masked": (7, 8)},
    SixSteps: {"step": 2, "word": "cat", "pressed": "v cat 1", "the": "2 2 2", "cat": "1 1 1",
               "sleeps": "0 0 1"},
    PositionExplorer: {"width": 32, "pair": 1, "shift": 9, "position": 3},
    LossExplorer: {"target": "am", "epsilon": 0.2, "i": 2.0, "am": 2.0, "a": -2.0,
                   "student": 4.0, "eos": 1.0},
    MergeStepper: {"sentence": "low low lower", "step": 3, "own": (1,), "unseen": "cats"},
    TokenizersSideBySide: {"text": "été  12", "opened": "bytes"},
    AttentionPatterns: {"pattern": "strided", "length": 20, "width": 3, "layers": 4,
                        "causal": False, "query": 5, "key": 3},
    PatchCutter: {"picture": 3, "side": 2, "chosen": 5},
    PatchingGrid: {"source": "The capital of Italy is", "target": "The capital of Japan is",
                   "layer": 25, "position": 4},
}  # fmt: skip
every = pytest.mark.parametrize("kind", CHANGES, ids=lambda kind: kind.__name__)


def test_every_explorer_is_held_to_the_promises_and_is_on_page_92():
    files = modules.STATIC.parent.glob("*.py"), Path(__file__).parent.glob("test_*.py")
    code, tests = ([path.read_text(encoding="utf-8") for path in paths] for paths in files)
    bases = dict(re.findall(r"^class (\w+)\((\w+)\):", "".join(code), re.MULTILINE))
    # A file tests all that its list of changes names, or what it's about, if it has no list.
    held = [text for text in tests if "check_that_every_change_shows(" in text]
    held = "".join(text.split("\nCHANGES = {")[-1].split("\n}")[0] for text in held)
    page = build.source_of("92_widget_gallery").read_text(encoding="utf-8")
    made = {"Explorer"}
    for _ in bases:  # until even those are found whose bases are found last
        made |= {name for name, base in bases.items() if base in made}
    assert len(made) > 24
    for name in made - set(bases.values()):
        assert re.search(rf"\b{name}\b", held), f"{name}: add it to CHANGES"
        assert f"\n{name}(" in page, f"{name} isn't on page 92"


@every
def test_it_keeps_what_every_explorer_promises(kind):
    assert check_the_still_picture(kind()) <= 480
    check_that_every_change_shows(kind(), CHANGES[kind])
    refuses("has no colour. What can be set", kind, colour="red", error=TypeError)


def messages(widget):
    """List what the browser can send: every target's and handle's traits, and their values."""
    drags = re.findall(r'data-drag="([^"]*)"', widget.svg)
    tracks = [one for data in drags for one in json.loads(html.unescape(data))]
    return clicks(widget) + [{one["trait"]: one[end]} for one in tracks for end in ("low", "high")]


@every
def test_whatever_a_hand_can_reach_in_the_picture_is_taken(kind):
    widget = kind()
    for number, changes in enumerate(messages(widget), 1):
        send(widget, set=changes, number=number)
        assert widget._shown["answered"] == number
        for name, value in changes.items():
            value = tuple(value) if isinstance(value, list) else value
            assert getattr(widget, name) == pytest.approx(value), name


def test_a_hand_never_leaves_the_limits_and_nonsense_is_answered():
    widget = KernelRegression()
    send(widget, set={"query": 99}, number=1)
    assert widget.query == 6
    send(widget, set={"query": "far"}, number=2)
    assert (widget.query, widget._shown["answered"]) == (6, 2)
    widget = PositionExplorer()
    send(widget, set={"position": 3.6}, number=1)
    assert widget.position == 4


def test_the_kernels_weights_fill_their_axis_and_every_width_tried_is_marked():
    widget = KernelRegression()
    for widget.width, top in (5.0, "0.1"), (0.3, "0.5"), (0.05, "1"):
        assert widget.numbers["weights"].max() <= float(top)
        assert f"axis 0 to {top};" in widget.svg
    assert widget.svg.count("<polyline") == 3  # the whole curve, once its valley is found
    assert [*widget._tried] == [0.02, 5.0, 0.3, 0.05]  # the ends are there from the start
    assert f"best h = {widget._best}" in widget.svg
    assert "least: 0.337" in widget.svg
    assert KernelRegression(width=1.0).svg.count("<polyline") == 2
    assert "least so far: 0.475" in KernelRegression(width=1.0).svg
    assert "best h" not in KernelRegression(width=1.0).svg  # until it's found


def test_one_message_draws_once():
    widget, drawn = SoftmaxTemperature(), []
    widget.observe(lambda change: drawn.append(change.new["answered"]), names="_shown")
    send(widget, set={"first": 0.0, "second": 3.0}, number=1)
    assert drawn[-1] == 1
    assert len(drawn) <= 2
    assert widget.numbers["weights"].argmax() == 1


def test_a_pressed_cell_of_the_mask_stays_what_it_was_set_to():
    def press(query, key):
        cells = [one for one in clicks(widget) if len(one) > 1]
        send(widget, set=cells[6 * query + key], number=1)

    widget = MaskBuilder()
    before = widget.numbers["mask"].clone()
    press(0, 5)
    assert widget.query == 1
    assert (widget.numbers["mask"] != before).nonzero().tolist() == [[0, 5]]
    press(0, 5)
    assert widget.numbers["mask"].equal(before)
    press(0, 1)
    press(2, 0)
    for state in {"padding": 0}, {"padding": 1}, {"causal": False}, {"cross": True}:
        widget.take(state)
        ruled = {**widget.state, "allowed": (), "masked": ()}
        wanted = MaskBuilder(**ruled).numbers["mask"].clone()
        wanted[0, 1], wanted[2, 0] = True, False
        assert widget.numbers["mask"].equal(wanted)
    assert not MaskBuilder(cross=True).causal
    assert "□ later" not in widget.svg


def test_masks_are_the_cores_and_a_row_with_nothing_to_see_weighs_nothing():
    assert MaskBuilder(padding=6).numbers["weights"].eq(0).all()
    assert MaskBuilder(padding=0).numbers["mask"].equal(causal_mask(6))
    assert MaskBuilder(padding=0, cross=True).numbers["mask"].all()


def test_six_steps_equal_the_fused_operator():
    widget = SixSteps(word="sleeps", cat="3 -1 0.5")
    x = torch.tensor([[1.0, 0, 1], [3, -1, 0.5], [1, 1, 0]])
    fused = F.scaled_dot_product_attention((x @ W_Q)[None], (x @ W_K)[None], (x @ W_V)[None])
    torch.testing.assert_close(widget.numbers["context"], fused[0, 2])
    drawn = SixSteps(pressed="score cat").svg
    assert re.findall(r">([=+] [^<]+)</text>", drawn) == ["= 2·2", "+ 0·1", "+ 1·0", "= 4"]
    # What is worked out is the step's own, until something else is pressed.
    assert "= 4; 4 / √3 = 2.31" in SixSteps(word="cat").svg
    widget.take({"pressed": "v cat 1", "step": 6})
    assert "weights ·" in widget.svg
    widget.take({"pressed": "context 0", "the": "2 2 2", "cat": "9 9 9"})
    assert "= &lt;0.01·" in widget.svg  # as in the table


@pytest.mark.parametrize("typed", ["1 2", "one two three", "", "1 2 3 4", "nan 1 1", "1e9 0 0"])
def test_what_cannot_be_read_keeps_the_last_good_vector(typed):
    widget = SixSteps(the="2 2 2")
    before = widget.numbers["context"]
    widget.the = typed
    assert widget.numbers["context"].equal(before)
    assert "three numbers" in widget.controls["the"].error
    refuses("three numbers", SixSteps, the=typed)
    widget.the = "1 0 1"
    assert not widget.controls["the"].error


def test_a_refusal_goes_with_the_next_thing_done_but_not_with_the_click_that_left_the_field():
    widget = SixSteps()
    send(widget, set={"the": "none"}, number=1, gesture=7)
    send(widget, set={"pressed": "k cat 0"}, number=2, gesture=7)
    assert "three numbers" in widget._shown["controls"][2]["error"]
    send(widget, set={"pressed": "k cat 1"}, number=3, gesture=8)
    assert not widget._shown["controls"][2]["error"]
    assert widget._shown["state"]["the"] == "1 0 1"  # what the field shows again


def test_temperature_ends_in_a_look_up_and_in_a_mixture():
    assert SoftmaxTemperature(temperature=0.02).numbers["weights"].max() > 0.999
    alike = SoftmaxTemperature(temperature=0.1, second=2.0)
    assert "The best 2 scores are equal" in alike.tell()[0]
    assert "each gets 0.50" in alike.tell()[1]
    assert alike.svg.count("stroke-dasharray") == 3  # two curves take turns; the line to pull
    alike.take(dict.fromkeys(("third", "fourth", "fifth"), 2.0))
    assert "at every temperature" in alike.tell()[0]
    circles = re.findall(r'<circle cx="(\S+)" cy="\S+" r="(\S+)"', alike.svg)
    assert len({x for x, _ in circles}) == 1  # all at the temperature, and none hides another
    assert len({radius for _, radius in circles}) == 5
    near = SoftmaxTemperature(first=4, second=4, third=4, fourth=4, fifth=3.9).tell()[1]
    assert near.endswith("mean: gaps of at most 0.1 count little at temperature 1.00.")
    assert "<0.01" in html.unescape(SoftmaxTemperature(fifth=-4.0).svg)
    assert SoftmaxTemperature(temperature=10).numbers["entropy"] > 0.98 * math.log(5)


def test_variance_is_the_width_and_scaling_keeps_it_at_one():
    query, keys = random_vectors()
    assert ScaleExplorer().power == 0  # Play runs through all widths
    for power in (2, 6, 8):
        width = 2**power
        widget = ScaleExplorer(power=power, draw_number=3)
        wanted = keys[2, :, :width] @ query[2, 0, :width]
        torch.testing.assert_close(widget.numbers["scores"], wanted, rtol=1e-4, atol=1e-4)
        raw = widget.numbers["mean of 200"]
        widget.divide = True
        scaled = widget.numbers["mean of 200"]
        assert raw["variance"] == pytest.approx(width, rel=0.15)
        assert scaled["variance"] == pytest.approx(1, rel=0.15)
    assert raw["gradient"] < 0.3 * scaled["gradient"]
    largest = torch.stack([widget._scores(p, divide=False) for p in range(10)]).softmax(-1).amax(-1)
    off = (largest - largest.mean(1, keepdim=True)).norm(dim=0)  # of each draw, from the means
    assert ScaleExplorer().draw_number == off.argmin() + 1


def test_the_gradient_is_autograds_and_a_dragged_score_moves_its_weight_alone():
    scores = torch.randn(16, generator=torch.Generator().manual_seed(1)).mul(3)
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
    found = scale_measurements(scores)["gradient"]
    assert found == pytest.approx(jacobian.diagonal().mean().item() / EVEN, rel=1e-5)
    assert scale_measurements(torch.zeros(16))["gradient"] == pytest.approx(1)
    widget = ScaleExplorer(divide=True)
    drawn = widget.numbers["drawn"]
    send(widget, set={"key": 4, "push": 3.0}, number=1)
    pushed = drawn + 3 * torch.eye(16)[3]
    torch.testing.assert_close(widget.numbers["weights"], pushed.softmax(-1))
    assert "You moved key 4" in widget.tell()[1]
    assert widget.numbers["gradient"] == scale_measurements(pushed)["gradient"]
    assert "untouched" in widget.tell()[0]  # the means aren't of the scores that were moved
    axes = set()
    for draw, power in itertools.product((33, 60, 185), range(10)):
        widget.take({"power": power, "divide": draw == 60, "draw_number": draw})
        drawn = widget.draw()[0].to_svg()
        dots = re.findall(r'<circle cx="[^"]*" cy="([^"]*)"', drawn)
        assert all(92 <= float(y) <= 204 for y in dots)  # none beyond the axis
        axes.add((draw, re.search(r'y="98.0"[^>]*>(\d+)<', drawn)[1]))
    assert len(axes) == 3  # one through all widths: scores are seen to grow


@pytest.mark.parametrize("shift", [0, 1, 13, 32])
def test_moving_on_is_one_rotation(shift):
    widget = PositionExplorer(shift=shift, pair=3)
    sine, cosine = widget.numbers["two"].T
    turned = torch.atan2(sine, cosine)[:64] + widget.angle(3, shift)
    torch.testing.assert_close(sine[shift : shift + 64], turned.sin())
    torch.testing.assert_close(cosine[shift : shift + 64], turned.cos())


def test_the_fastest_wave_is_smooth_and_its_clock_repeats_the_headline():
    widget = PositionExplorer(pair=0, shift=32)
    assert "°" not in widget.tell()[0]  # the question is whether it stays the same
    widget.position = 3
    assert "moves by 5 turns + 33°" in widget.tell()[0]
    assert widget.tell()[1].endswith("p. Does it depend on k, or on the pair?")
    assert "pair 0: 5 turns + 33°" in widget.svg
    assert max(line.count(",") for line in re.findall(r'points="([^"]*)"', widget.svg)) > 400
    widget.take({"shift": 5, "pair": 9})
    assert "○ p + k = 8" in widget.svg
    assert "only on k and on the pair. This hand is slow: a turn takes 84" in widget.tell()[1]
    assert {"p", "p + k"} <= {*re.findall(r">([^<]*)</text>", widget._draw_table().to_svg())}
    widget.pair = 31
    assert "wavelength 47,117<" in widget.svg
    assert "The waves look flat: a turn takes 47,117 positions." in widget.tell()[1]


def test_every_pair_can_be_chosen_and_the_slowest_still_turns():
    widget = PositionExplorer(shift=32)
    widget.position = 3
    for width, last, turn in (32, 15, "0.33"), (64, 31, "0.24"), (128, 63, "0.21"):
        widget.take({"width": width, "pair": 63})
        assert {"pair": last} in messages(widget)  # the right edge of the map
        assert f"pair {last} moves by {turn}°" in widget.tell()[0]


def test_loss_numbers_are_pytorchs():
    widget = LossExplorer(target="am", epsilon=0.1, am=2.0)
    logits = torch.tensor([[0.0, 2.0, 1.0, 1.5, 0.0]]).double()
    wanted = F.cross_entropy(logits, torch.tensor([WORDS.index("am")]), label_smoothing=0.1)
    assert widget.numbers["cross_entropy"] == pytest.approx(wanted.item())
    assert widget.numbers["kl"] >= 0
    send(widget, press="Training step", number=1)
    assert f"Loss {wanted:.2f} → {widget.numbers['cross_entropy']:.2f}; " in widget.tell()[1]
    assert widget.svg.count('r="5.0"') == 1  # a dot where the step began
    pulled = logits - (logits.softmax(-1) - smooth_targets(torch.tensor([1]), 5, 0.1))
    torch.testing.assert_close(widget.numbers["logits"], pulled[0])
    for state in ({}, {"am": -6.0, "a": 6.0}, {"am": -6.0, "a": 6.0, "epsilon": 0.0}):
        widget.take(state)
        for chance, loss in re.findall(r"−log ([\d.]+) = ([\d.]+)[.]", widget.tell()[0]):
            assert -math.log(float(chance)) == pytest.approx(float(loss), abs=0.06)
        assert widget.numbers["perplexity"] == pytest.approx(1 / widget.numbers["predicted"][1])
        assert 28 <= float(re.search(r'<circle cx="\S+" cy="(\S+)"', widget.svg)[1]) <= 146


def test_dot_products_and_weights_of_a_pulled_query():
    widget = DotProducts()
    send(widget, set={"q_x": 0.0, "q_y": 3.0}, number=1)
    assert widget.numbers["scores"].tolist() == [3 * widget.a_y, 3 * widget.b_y]
    torch.testing.assert_close(widget.numbers["weights"].sum(), torch.tensor(1.0))
    shadows = DotProducts(q_x=3.0, q_y=3.0, a_x=3.0, a_y=3.0).svg
    assert float(re.search(r' \S+,(\S+)" [^>]*stroke-width="5"', shadows)[1]) >= 30.5  # all inside
    assert DotProducts(q_x=0.5).tell()[0].startswith("Scores 2.50 and −0.25 put")
    for x, y in itertools.product((-3.0, 0.8, 3.0), repeat=2):  # names in the plane, and apart
        plane = DotProducts(q_x=x, q_y=y, a_x=1.0, b_x=x, b_y=-y).draw()[0].to_svg()
        names = re.findall(r'<rect x="(\S+)" y="(\S+)" width="(\S+)" height="22.0"', plane)
        boxes = [tuple(map(float, name)) for name in names]
        assert all(left >= 2 and left + wide <= 398 and top >= 30 for left, top, wide in boxes)
        for (a, b, c), (u, v, w) in itertools.combinations(boxes, 2):
            assert abs(b - v) >= 22 or a + c < u or u + w < a


def test_merges_are_counted_and_made_as_in_training():
    widget = MergeStepper(step=1)
    assert widget.numbers["words"]["that"] == [b"t", b"h", b"at"]
    assert widget.numbers["pairs"][:2] == [((b"h", b"at"), 12), ((b"t", b"h"), 4)]
    made = next(one for one in messages(widget) if "step" in one)
    send(widget, set=made, number=1)
    assert widget.numbers["words"]["chat"] == [b"c", b"hat"]
    widget.step = 20  # further than there are merges
    made = [step["made"] for step in widget.numbers["steps"][1:]]
    assert made == list(BytePairs.train(widget.sentence.split(), 300).ranks)
    for word, pieces in widget.numbers["words"].items():  # and one that wasn't counted
        assert pieces == BytePairs(made).cut(word)
    assert "No merge is left." in widget.tell()[1]


def test_a_rarer_pair_can_be_merged_and_its_cost_is_told():
    widget = MergeStepper()
    send(widget, set=clicks(widget)[2], number=1)
    assert widget.numbers["made"] == (b"t", b"h")
    assert widget.numbers["pieces"] == 49 - 4
    assert "would have left 35" in widget.tell()[1]
    widget.sentence, widget.unseen = "ab ab abc", "unbelievably"
    assert widget.own == ()
    assert "10 letters" in widget.controls["unseen"].error


def test_the_bytes_of_half_a_character_stay_in_their_boxes():
    widget = MergeStepper("été Füße Füße naïve", unseen="日本語a", step=1)
    words, pairs = (sheet.to_svg() for sheet in widget.draw())
    tiles = re.findall(r'te\(([\d.]+)px.*?th="([\d.]+)" he.*?>([^<]*)</text>', words)
    assert "E6" in {letter for *_, letter in tiles}
    for x, width, letter in tiles:
        assert 10 * len(letter) <= float(width) <= 400 - float(x)
    ends = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="end"[^>]*>([^<]*)', pairs)
    assert all(9.2 * len(html.unescape(label)) < float(x) for x, label in ends)


@pytest.mark.parametrize("typed", ["", "a b c d e f g h", "unbelievably"])
def test_words_that_do_not_fit_are_refused(typed):
    widget = MergeStepper()
    widget.sentence = typed
    assert widget.sentence.startswith("hat")
    assert widget.controls["sentence"].error


def test_every_piece_is_drawn_and_counted():
    widget = TokenizersSideBySide(text="two words 🙂")
    assert {name: len(p) for name, p in widget.numbers["pieces"].items()} == {
        "words": 3, "characters": 11, "bytes": 14,
    }  # fmt: skip
    assert widget.svg.count("␣") >= 4
    assert "more" in TokenizersSideBySide().svg
    assert ">… " not in TokenizersSideBySide(opened="bytes").svg
    widget.text = "x" * 101
    assert "the first 100 characters" in widget.tell()[1]
    tied = TokenizersSideBySide({"one": lambda text: ["<E2>"], "two": lambda text: ["a"]})
    assert "1 pieces, whoever" in tied.tell()[0]
    assert "&lt;E2&gt;: a byte" in tied.svg
    widget.text = ""
    assert "0 pieces" in widget.describe()


@pytest.mark.parametrize("causal", [True, False])
def test_the_patterns_widget_counts_what_its_mask_holds(causal):
    widget = AttentionPatterns(length=30, width=5, layers=2, causal=causal)
    for pattern in ("all", "window", "strided", "global"):
        widget.pattern = pattern
        found, mask = widget.numbers, make_mask(pattern, 30, 5, causal)
        assert found["pairs"][pattern] == mask.sum()
        assert torch.equal(found["reached"], mask.double() @ mask.double() > 0)
        ways = torch.linalg.matrix_power(mask.double(), found["meet"][pattern]) > 0
        assert torch.equal(ways, causal_mask(30) if causal else torch.ones_like(mask))
        way = [*reversed(found["way"])]  # from the query that is furthest off
        assert len(way) == found["meet"][pattern] + 1
        widget.layers = len(way) - 2 or 1
        for number in (1, 2):
            send(widget, tick="layers", number=number)
        assert widget.layers == len(way) - 1  # Play ends where the news has arrived
        widget.layers = 2
        assert all(mask[query, key] for query, key in itertools.pairwise(way))
    assert "has key" not in AttentionPatterns(layers=1).svg
    widget = AttentionPatterns(width=4)
    for key, headline, told in (
        (12, "News of position 12 reaches 14 after 1 layer", "weight 1/4"),
        (3, "reaches 14 after 4 layers", "weight 0. The news goes by way of 6, 9, 12."),
        (99, "News of position 32 never reaches 14", "no news travels backwards"),
    ):
        send(widget, set={"query": 14, "key": key}, number=key)
        assert headline in widget.tell()[0]
        assert f"Query 14, key {widget.key}: " in widget.tell()[1]
        assert told in widget.tell()[1]
    widget.take({"query": 32, "key": 2})
    assert "reaches 32 after 10 layers" in widget.tell()[0]
    assert "more than 8 layers: widen" in widget.tell()[1]
    for letting_go in "leave", "set":  # the Escape key, and another pattern
        widget.take({"query": 32, "key": 2})
        found = re.findall(rf'data-{letting_go}="([^"]*)"', widget.svg)
        send(widget, set=json.loads(html.unescape(found[-1])), number=100)
        assert (widget.query, widget.key) == (0, 0)


def test_the_ward_round_shows_a_symptom_counts_looks_and_judges_each_guess():
    assert {name for name in ALL if chart(name)[1] is not None} == {
        WARD[letter]["name"] for letter in LETTERS
    }
    widget, orders = WardRound(), set()
    for letter in LETTERS:
        name, why = WARD[letter]["name"], WARD[letter]["why"]
        widget.patient = letter
        first, modules = widget.numbers["first"], widget.numbers["modules"]
        # Every patient opens with what the whole model does wrong, which is no look.
        assert widget.module == len(modules) - 1
        assert widget.numbers["odd"].any()
        assert ALL[name].complaint in widget.describe()
        assert sum(sheet.width + 16 for sheet in widget.draw()) <= 822  # in a row of 570 pixels
        others, paths = list(WARD[letter]["here"]), [path for path, *_ in modules]
        for number, guess in enumerate(others, 1):
            assert {"guess": guess} not in clicks(widget)  # each look pays for one
            widget.module = len(modules) - 1 - number  # the free look is above these
            assert max(map(len, widget.tell()[1:])) < 57  # one line each: the list stays there
            faults = [one["guess"] for one in clicks(widget) if "guess" in one]
            widget.guess = guess
            shown, at = widget.describe(), WARD[guess].get("at")
            seen = at not in paths or paths.index(at) >= widget.module
            said = "Here, " if seen else "Look there."  # what rules it out is looked up
            assert "With “{fault}”, {would} ".format(**WARD[guess]) + said in shown
            assert (f", {number} guess" in widget.svg, "✓" in widget.svg, why in shown) == (1, 0, 0)
            assert "Each guess costs a look." in shown
        orders.add(tuple(faults))
        for widget.module in (0, first - 1, first, 0):
            pass
        assert "The fault begins at" in widget.tell()[2]  # wherever one looks then: it was found
        widget.guess = letter
        looks = len({0, first - 1, first} | {len(modules) - 1 - n for n in range(1, number + 1)})
        said = f"Found with {looks} looks, {number + 1} guesses."
        assert widget.tell()[2] == said
        assert f"Yes. {why}" in widget.describe()
        assert all(words in widget.svg for words in (">mended<", ">before<", "✓"))
        *beside, code = (sheet.height for sheet in widget.draw())
        assert max(beside) + code <= 600  # times 0.71: in all, where they all shrink
        widget.module = 0  # what is looked at afterwards doesn't count
        assert widget.tell()[2] == said
        assert ALL[name].where.endswith(modules[first][0])
        for path, moved, may in modules:  # words as `tell` has them
            assert may.all() or not may.triu(1).any(), path
            assert may.all() or not ((moved != may) & moved).tril().any(), path
    assert len(orders) == len(LETTERS)
    assert all(name.endswith("” ✓") for name, _ in widget._shown["controls"][0]["options"])
    widget.patient = "C"  # who was found stays found, until all starts again
    assert "Found with" in widget.tell()[2]
    widget.controls["Start again"].click()
    assert ">0 looks, 0 guesses<" in widget.svg
    widget.take({"module": 1, "guess": "A"})
    assert {"patient": "B"} in clicks(widget)  # the next that isn't found
    assert "see later words and 10 ignore a word." in WardRound(patient="D", module=3).tell()[1]
    assert re.findall(r"bold[^>]*>([−+])<", WardRound(patient="F", guess="F").svg) == [*"++−−"]
    assert WardRound(patient="B").tell()[1] == "No output changes with any source word."
    for sheet in WardRound(patient="D", guess="D").draw()[:-1]:  # the code, which scrolls, is last
        assert 34 * min(286 / sheet.width, 1) >= 24, "on a phone, rows would be too low to press"


def test_what_a_wrong_guess_would_show_and_what_rules_it_out_is_measured():
    layer = "layers.0.self_attention"
    for letter in LETTERS:
        one = WARD[letter]
        modules, _, side = chart(one["name"])
        grids = {path: cells for path, *cells in modules}
        moved, may = grids.get(layer, grids[""])
        early, missed = ((cells.any(1)).sum().item() for cells in (moved & ~may, may & ~moved))
        full, weight = moved.all().item(), later(one["name"])[layer]
        model, options = admit(one["name"])
        report = examine(model, **options)
        assert report.findings[0].name == ALL[one["name"]].finding
        source = report.dependence.get("source", {"": moved})[""] > 1e-5
        first = "all " * moved[0].all() + str(moved[0].sum().item())
        fit = f"get {weight:.0%} of it." if full else f"{(~moved).sum()} of its 121 cells are empty"
        here = {"A": fit, "F": fit, "C": f"{early} of its outputs see later words",
                "D": f"{missed} outputs ignore a word" if missed else "no output ignores a word",
                "E": "every word changes every output" if full else "there is only one, and",
                "B": f"source words change all {source.all(1).sum()} outputs",
                "G": f"its first output changes with {first}"}  # fmt: skip
        if side == "source":
            same = "target words change what they should, and source words"
            here = dict.fromkeys("ACDEF", same) | {"H": "every source word changes it"}
            assert grids["encoder"][0].all()
        elif not early:
            here |= dict.fromkeys("ADEFG", "self-attention 1 is right")
        assert options["kind"] != "decoder" or not {"B", "H"} & set(one["here"])  # has no source
        assert all(here[guess] in told for guess, told in one["here"].items())
        assert (full, weight > 0) == (letter in "AF", letter in "AD")
        assert letter != "D" or moved.equal(may.T)
    assert (chart("heads")[0][1][1].sum(1).diff() < 0).sum() > 1  # several staircases
    widget = WardRound(patient="A", module=1)
    assert ">weight on later words: 43%<" in widget.svg
    widget.module = 2  # below what was looked at
    assert widget.tell()[2] == "Self-attention 1 is already wrong: look further up."


def test_hints_follow_what_the_hand_did():
    assert "From which layer on?" in PatchingGrid(layer=30, position=4).tell()[1]  # the last row
    assert "another row" in PatchingGrid(layer=1).tell()[1]
    row, six = MaskBuilder(query=1), SixSteps(step=6)
    asked = row.tell()[1], six.tell()[1]
    row.masked = (0,)
    six.cat = "0, 4, 1"
    assert "nan" not in asked[0]
    assert "nan" in row.tell()[1]
    assert six.tell()[1] != asked[1]
    assert "orange" not in TokenizersSideBySide().tell()[1]  # nothing of its own is unknown
    lossy = TokenizersSideBySide({"one": lambda text: ["zoe", "[UNK]"]}, text="Zoë 🙂").tell()[1]
    assert lossy == "Orange: “one” couldn’t represent this. It also dropped capitals and accents."
    assert "the causal mask is off" in MaskBuilder(cross=True).tell()[1]
    told = DotProducts(q_x=0.0, q_y=0.0).tell()
    assert "evenly" in told[0]
    assert "length 0" in told[1]
    assert "plain mean" not in SoftmaxTemperature(temperature=6.0).tell()[1]
    patterns = AttentionPatterns(width=6, layers=1, causal=False)
    assert "reads 5 to each side" in patterns.tell()[1]
    patterns.take({"pattern": "global", "layers": 2})
    assert patterns.tell()[1].endswith("The news goes by way of 1.")
    patterns.pattern = "all"
    assert "position 4 reaches 31 after 1 layer." in patterns.tell()[0]  # not along the frame
    assert "every other" in patterns.tell()[1]
    patterns.causal = True
    assert "itself and all before it" in patterns.tell()[1]
    patterns.pattern = "global"
    assert "untick Causal mask." in patterns.tell()[1]
    for patterns.pattern, patterns.layers in itertools.product(PATTERNS, (1, 7, 8)):
        assert max(map(len, patterns.tell())) <= 96  # one line each: the picture stays in its place
    patterns.take({"pattern": "window", "width": 4})  # more layers than there are: not asked for
    assert "more than 8 layers: widen" in patterns.tell()[1]
    patterns.width, patterns.pattern = 1, "window"
    assert "it sees a column" not in patterns.svg  # for then, strided is all
    assert "sees phrases" not in patterns.svg
    assert "never reaches 32. Each position reads only itself" in patterns.describe()
    sharp = ScaleExplorer(power=9, draw_number=60).svg
    assert (sharp.count("&gt;99.9%"), sharp.count(">100%<")) == (1, 1)  # an axis ends at 100%
    at = (0.08, "which value"), (0.42, "Found"), (3, "Nearly"), (0.02, "Hardly")
    assert all(said in KernelRegression(width=h).tell()[1] for h, said in at)
    assert "about 1 point counts" in KernelRegression(width=0.02, query=6.0).tell()[0]
    wide, narrow = (KernelRegression(width=h).svg.count("<line") for h in (3, 0.05))
    assert wide > narrow + 15  # a line to each point that counts


def test_the_page_hears_of_an_explorer_when_it_has_a_picture(monkeypatch):
    told = []
    monkeypatch.setattr(anywidget.AnyWidget, "open", lambda self: told.append(self.get_state()))
    SoftmaxTemperature()
    assert [bool(state["_shown"]["drawings"]) for state in told] == [True]
