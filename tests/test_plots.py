"""The house style is readable, and the drawings show the numbers they were given."""

import matplotlib
import numpy
import pytest
import torch
from matplotlib import pyplot
from samples import refuses

from helpers import plots


@pytest.fixture(autouse=True)
def house_style():
    """Draw in the house style, and leave neither figures nor settings behind."""
    with matplotlib.rc_context():
        plots.style()
        yield
        pyplot.close("all")


def texts(ax):
    """Collect every text that is drawn on Axes and is not empty."""
    ax.figure.canvas.draw()
    found = ax.findobj(matplotlib.text.Text)
    return [text for text in found if text.get_text().strip() and text.get_visible()]


def one_hot_rows():
    return numpy.eye(3)[[2, 0, 1]]


def drawings():
    """Draw one of each kind."""
    x = numpy.arange(5.0)
    yield plots.attention_heatmap(one_hot_rows(), "abc", "xyz", title="Map")
    yield plots.attention_heatmap(numpy.full((20, 20), 0.05), ["word"] * 20, ["word"] * 20)
    yield plots.signed_heatmap(numpy.array([[-1.0, 0.5]]), x_label="a", y_label="b")
    yield plots.labelled_lines(x, {"up": x, "down": -x}, x_label="x", y_label="y", title="T")
    yield plots.probability_bars(["a", "b"], [0.25, 0.75], title="T", highlight=1)


@pytest.mark.slow
@pytest.mark.parametrize("width", [None, 300])
def test_letters_have_one_scale_whatever_the_figure_s_size(width):
    for ax in drawings():
        ax.figure.suptitle("What a lesson sets apart.", fontsize=16)
        plots.fit(ax.figure, width)
        assert ax.figure.get_figwidth() <= (width or plots.WIDEST) / plots.PAGE + 1e-6
        assert texts(ax)
        for text in (*texts(ax), ax.figure._suptitle):
            assert 11 <= round(text.get_fontsize() / 0.72, 2) <= 13  # pixels on the page


@pytest.mark.slow
def test_no_cell_of_a_map_is_larger_than_44_pixels():
    fig, (left, right) = pyplot.subplots(1, 2, figsize=(11, 6))
    plots.attention_heatmap(one_hot_rows(), "abc", "xyz", ax=left)
    right.plot([1, 2])
    plots.fit(fig)
    fig.canvas.draw()
    assert left.get_window_extent().width / 3 / fig.dpi * plots.PAGE <= 44.5
    alone = plots.attention_heatmap(one_hot_rows(), "abc", "xyz")
    plots.fit(alone.figure)
    assert alone.get_window_extent().width / 3 / alone.figure.dpi * plots.PAGE <= 44.5


def test_names_of_curves_stay_apart_when_the_figure_shrinks():
    ax = plots.labelled_lines([0, 1], {"one": [0, 1.0], "two": [0, 1.01], "three": [0, 1.02]})
    plots.fit(ax.figure, 260)
    boxes = sorted(name.get_window_extent().y0 for name in ax.texts)
    assert min(high - low for low, high in zip(boxes, boxes[1:], strict=False)) > 12


def test_rows_are_queries_and_columns_are_keys():
    weights = [[0.25, 0.75, 0.0], [0.5, 0.125, 0.375]]
    ax = plots.attention_heatmap(weights, ["le", "chat"], ["the", "black", "cat"])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["le", "chat"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["the", "black", "cat"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("queries", "keys")
    assert ax.xaxis.get_label_position() == "top"
    numpy.testing.assert_array_equal(ax.images[0].get_array(), weights)


def test_the_first_query_is_on_top():
    ax = plots.attention_heatmap(one_hot_rows(), "abc", "xyz")
    heights = [ax.transData.transform((0, row))[1] for row in range(3)]
    assert heights == sorted(heights, reverse=True)


def test_small_maps_show_their_numbers_and_large_ones_a_scale():
    small = plots.attention_heatmap([[0.25, 0.75]], "a", "xy")
    assert [text.get_text() for text in small.texts] == [".25", ".75"]
    assert not small.child_axes
    large = plots.attention_heatmap(numpy.full((20, 20), 0.05), "a" * 20, "b" * 20)
    assert not large.texts
    assert len(large.child_axes) == 1


def test_scores_can_be_drawn_too_and_are_written_as_they_are():
    for number, written in [
        (-10.05, "−10.05"), (1.7, "1.70"), (10.02, "10.02"), (-0.25, "−.25"),
        (0.25, ".25"), (0.0, ".00"), (-0.001, ".00"), (1.0, "1"), (-3.0, "−3"),
        (0.999, "1.00"), (20.0, "20"), (float("-inf"), "−∞"), (float("nan"), "nan"),
    ]:  # fmt: skip
        assert plots._short(number) == written


def test_a_tensor_with_a_gradient_is_welcome():
    weights = torch.softmax(torch.zeros(2, 2, requires_grad=True), dim=-1)
    ax = plots.attention_heatmap(weights, "ab", "xy")
    numpy.testing.assert_allclose(ax.images[0].get_array(), 0.5)


def test_a_dollar_sign_in_a_token_is_drawn_as_one():
    ax = plots.attention_heatmap([[0.5, 0.5]], ["$"], ["$x$", "y"])
    assert texts(ax)
    assert ax.get_xticklabels()[0].get_text() == r"\$x\$"


def test_what_does_not_fit_is_refused():
    for shape in ((3, 2), (2,), (1, 2, 3)):
        weights = numpy.zeros(shape)
        refuses(r"need weights of shape \(2, 3\)", plots.attention_heatmap, weights, "ab", "xyz")
    refuses("2 tokens", plots.probability_bars, ["cat", "dog"], [1.0])


def test_zero_is_white_in_a_signed_map():
    assert plots.signed_heatmap([[-3.0, 1.0]]).images[0].get_clim() == (-3.0, 3.0)
    assert min(plots.SIGNED(0.5)[:3]) > 0.95


def test_curves_carry_their_names_in_their_colours():
    ax = plots.labelled_lines([0, 1, 2], {"GRU": [1, 2, 3], "LSTM": [3, 2, 1]})
    colours = {text.get_text(): text.get_color() for text in ax.texts}
    assert colours == {"GRU": plots.BLUE, "LSTM": plots.ORANGE}
    assert ax.get_legend() is None


def test_a_curve_that_stops_early_is_named_where_it_stops():
    ax = plots.labelled_lines([0, 1, 2], {"short": [5, 6, numpy.nan]})
    assert ax.texts[0].xy == (1, 6)


def test_bars_say_their_numbers():
    ax = plots.probability_bars(["cat", "dog"], torch.tensor([0.2, 0.8]), highlight=1)
    assert [text.get_text() for text in ax.texts] == ["0.20", "0.80"]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([0.2, 0.8])
    pale, strong = (matplotlib.colors.to_hex(bar.get_facecolor()) for bar in ax.patches)
    assert (pale, strong) == (plots.tint(plots.PURPLE, 0.45), plots.PURPLE)


def test_a_guess_is_marked_where_it_is_or_at_the_end_of_the_axis():
    ax = plots.labelled_lines([0, 1], {"a": [0, 10]})
    plots.mark_guess(ax, 0.5, None)
    assert len(ax.lines) == 1
    ax.set_ylim(0, 10)
    guesses = (4, 4, ""), (25, 10, ", 25"), (-3, 0, ", -3")
    for guess, y, more in guesses:
        plots.mark_guess(ax, 0.5, guess, side="left")
        assert ax.lines[-1].get_xydata().tolist() == [[0.5, y]]
        assert ax.texts[-1].get_text() == f"your guess{more}"
        assert ax.get_ylim() == (0, 10)
