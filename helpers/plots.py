"""Draws the course's diagrams with matplotlib in one house style: array in, Axes out.

Every function takes NumPy arrays, nested lists or PyTorch tensors, draws into the Axes it is
given (or into new ones) and returns them. Curves carry their names at their ends rather than in
a legend, and no letter is smaller than a projector can show.
"""

import matplotlib
import numpy
from matplotlib import pyplot
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.patheffects import withStroke

from helpers.widgets.apart import spread
from helpers.widgets.colours import LIGHT

# One meaning for each colour through the whole course; told apart by the colour-blind, and in
# print by lightness.
BLUE = LIGHT["query"]  # queries, the encoder
ORANGE = LIGHT["key"]  # keys, the decoder
GREEN = LIGHT["value"]  # values
PURPLE = LIGHT["result"]  # context, what comes out
GREY = LIGHT["muted"]  # neutral lines and text
INK = LIGHT["ink"]  # text
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, GREY)

# Lightness falls evenly from white to deep blue, so that twice the weight looks twice as dark.
WEIGHTS = LinearSegmentedColormap.from_list(
    "weights", list(zip((0.0, 0.68, 1.0), LIGHT["weights"], strict=True))
)
# For numbers with a sign: orange below zero, white at zero, blue above.
SIGNED = LinearSegmentedColormap.from_list("signed", LIGHT["signed"])

PAGE = 100  # pixels of a page for an inch of a figure
WIDEST = 806  # pixels: with its margin, what a laptop's page has beside the file browser
TEXT, SMALLEST_TEXT = 0.72 * 13, 0.72 * 12  # points: 13 and 12 pixels on the page
CELL = 0.44  # inches: the largest cell of a map
MAP, END = "attention map", "a curve's name"  # by which `fit` knows them
MOST_NUMBERS = 100  # cells; in a larger map the numbers would be too small to read
WIDEST_NUMBERS = 12  # columns, likewise


def style():
    """Set matplotlib to the house style for every figure that follows."""
    matplotlib.rcParams.update(
        {
            "figure.figsize": (7.0, 4.0),
            "figure.dpi": PAGE,
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "savefig.dpi": 2 * PAGE,  # sharp on a screen with two pixels for each
            "font.family": "DejaVu Sans",
            "font.size": TEXT,
            "figure.titlesize": TEXT,
            "text.color": INK,
            "axes.titlesize": TEXT,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.titlepad": 9,
            "axes.labelsize": TEXT,
            "axes.labelcolor": INK,
            "axes.edgecolor": GREY,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": matplotlib.cycler(color=COLOURS),
            "xtick.labelsize": SMALLEST_TEXT,
            "ytick.labelsize": SMALLEST_TEXT,
            "xtick.color": GREY,
            "ytick.color": GREY,
            "xtick.labelcolor": INK,
            "ytick.labelcolor": INK,
            "lines.linewidth": 1.8,
            "lines.markersize": 4.5,
            "legend.frameon": False,
            "legend.fontsize": SMALLEST_TEXT,
            "grid.color": LIGHT["rule"],
            "grid.linewidth": 0.8,
            "axes.axisbelow": True,
            "image.cmap": "cividis",
            "image.interpolation": "nearest",
        }
    )


def attention_heatmap(
    weights, query_tokens, key_tokens, ax=None, title=None, darkest=None, numbers=None
):
    """Draw attention weights: a row for each query, a column for each key.

    Parameters
    ----------
    weights : array of shape (n_queries, n_keys)
        Each row is one query's weights; they are not changed or normalised here.
    query_tokens : sequence of str, length n_queries
        Who is looking; written on the left.
    key_tokens : sequence of str, length n_keys
        Who is looked at; written on top.
    ax : matplotlib Axes, default=None
        Where to draw; by default a new figure of fitting size.
    title : str, default=None
        What the map is of.
    darkest : float, default=None
        The weight that gets the darkest blue; by default the largest one. Give the same number
        (1.0, for instance) to maps that are to be compared.
    numbers : bool, default=None
        Write each weight into its cell. By default where they have room.

    Returns
    -------
    ax : matplotlib Axes

    Raises
    ------
    ValueError
        If the weights are no matrix, or the tokens do not fit their number.
    """
    weights = _array(weights)
    expected = (len(query_tokens), len(key_tokens))
    if weights.shape != expected:
        raise ValueError(
            f"{expected[0]} query tokens and {expected[1]} key tokens need weights of shape "
            f"{expected}, and these have shape {weights.shape}. Choose one sentence, layer and "
            f"head first, and mind the order: rows are queries."
        )
    ax = ax or pyplot.subplots(figsize=_map_size(query_tokens, key_tokens))[1]
    darkest = darkest or float(weights.max()) or 1.0
    image = ax.imshow(weights, cmap=WEIGHTS, vmin=0.0, vmax=darkest, aspect="equal")
    ax.set_gid(MAP)
    _name_rows_and_columns(ax, query_tokens, key_tokens)
    ax.set_ylabel("queries", color=BLUE)
    ax.set_xlabel("keys", color=ORANGE)
    ax.xaxis.set_label_position("top")
    ax.spines[:].set_visible(False)  # no frame, but thin white lines that part the cells
    if max(weights.shape) <= 40:
        ax.set_yticks(numpy.arange(0.5, weights.shape[0] - 1), minor=True)
        ax.set_xticks(numpy.arange(0.5, weights.shape[1] - 1), minor=True)
        ax.grid(which="minor", color="white", linewidth=1.5)
        ax.tick_params(which="minor", length=0)
    if numbers is None:
        numbers = weights.size <= MOST_NUMBERS and weights.shape[1] <= WIDEST_NUMBERS
    if numbers:
        for row, column in numpy.ndindex(weights.shape):
            weight = weights[row, column]
            dark = image.norm(weight) > 0.5
            ax.text(
                column, row, _short(weight),
                ha="center", va="center", fontsize=SMALLEST_TEXT, color="white" if dark else INK,
            )  # fmt: skip
    else:
        _add_scale(ax, image, "weight")
    if title:
        ax.set_title(title)
    return ax


def signed_heatmap(values, ax=None, x_label="", y_label="", title=None):
    """Draw a matrix of positive and negative numbers, white where it is zero.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        Position encodings, embeddings, dot products and the like.
    ax : matplotlib Axes, default=None
        Where to draw; by default a new figure.
    x_label, y_label : str, default=""
        What the columns and the rows are.
    title : str, default=None
        What the matrix is.

    Returns
    -------
    ax : matplotlib Axes
    """
    values = _array(values)
    ax = ax or pyplot.subplots()[1]
    largest = float(numpy.abs(values).max()) or 1.0
    image = ax.imshow(values, cmap=SIGNED, vmin=-largest, vmax=largest, aspect="auto")
    ax.set(xlabel=x_label, ylabel=y_label)
    _add_scale(ax, image, "")
    if title:
        ax.set_title(title)
    return ax


def labelled_lines(x, curves, ax=None, x_label="", y_label="", title=None, marker=None):
    """Draw curves, each with its name at its right end instead of in a legend.

    Parameters
    ----------
    x : array of shape (n_points,)
        Shared by all curves.
    curves : dict of str to array of shape (n_points,)
        Name to heights, drawn in the order of the palette. NaN leaves a gap.
    ax : matplotlib Axes, default=None
        Where to draw; by default a new figure. Set a logarithmic scale before the call: the
        names are spaced for the scale they find.
    x_label, y_label : str, default=""
        What the axes show, with the unit.
    title : str, default=None
        What is to be seen.
    marker : str, default=None
        Marks the points themselves, for instance ``"o"`` where there are few.

    Returns
    -------
    ax : matplotlib Axes
    """
    x = _array(x)
    ax = ax or pyplot.subplots()[1]
    ends = []
    for index, (name, heights) in enumerate(curves.items()):
        heights = _array(heights)
        colour = COLOURS[index % len(COLOURS)]
        # Past the palette's end the colours come again, dashed.
        dashes = "-" if index < len(COLOURS) else "--"
        ax.plot(x, heights, color=colour, linestyle=dashes, marker=marker)
        drawn = numpy.flatnonzero(numpy.isfinite(heights))
        if drawn.size:
            ends.append((x[drawn[-1]], heights[drawn[-1]], name, colour))
    ax.set(xlabel=x_label, ylabel=y_label)
    if title:
        ax.set_title(title)
    _label_ends(ax, ends)
    return ax


def mark_guess(ax, x, guess, side="right"):
    """Mark in a finished figure what a learner predicted, if they did.

    A number beyond the axis is marked at its end, and written out.

    Parameters
    ----------
    ax : matplotlib Axes
    x : float
    guess : float or None
        What `exercises.guess` returned.
    side : {"right", "left"}, default="right"
        On which side of the mark its name stands.
    """
    if guess is None:
        return
    low, high = ax.get_ylim()
    y = min(max(guess, low), high)
    name = "your guess" if y == guess else f"your guess, {guess:g}"
    ax.plot(x, y, marker="D", color=INK, markersize=7, clip_on=False, zorder=5)
    ax.set_ylim(low, high)
    shift, anchor = (10, "left") if side == "right" else (-10, "right")
    ax.annotate(name, (x, y), (shift, 6), textcoords="offset points", ha=anchor)


def probability_bars(tokens, probabilities, ax=None, title=None, highlight=None):
    """Draw a distribution over tokens as horizontal bars, each with its number.

    Parameters
    ----------
    tokens : sequence of str
        What can be chosen, from top to bottom.
    probabilities : array of shape (n_tokens,)
        How likely each is.
    ax : matplotlib Axes, default=None
        Where to draw; by default a new figure of fitting size.
    title : str, default=None
        What the distribution is of.
    highlight : int or None, default=None
        Index of one bar that stands out; the others turn pale.

    Returns
    -------
    ax : matplotlib Axes

    Raises
    ------
    ValueError
        If there are not as many tokens as probabilities.
    """
    probabilities = _array(probabilities)
    if probabilities.shape != (len(tokens),):
        raise ValueError(
            f"Each of the {len(tokens)} tokens needs one probability, and the probabilities have "
            f"shape {probabilities.shape}."
        )
    ax = ax or pyplot.subplots(figsize=(5.0, 0.6 + 0.3 * len(tokens)))[1]
    rows = numpy.arange(len(tokens))
    pale = tint(PURPLE, 0.45)
    fills = [PURPLE if highlight in (None, row) else pale for row in rows]
    ax.barh(rows, probabilities, color=fills, height=0.7)
    for row, probability in zip(rows, probabilities, strict=True):
        ax.annotate(
            f"{probability:.2f}", (probability, row), xytext=(5, 0),
            textcoords="offset points", va="center", fontsize=SMALLEST_TEXT,
        )  # fmt: skip
    ax.set_yticks(rows, tokens)
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.set_xlim(0, max(1e-9, float(probabilities.max())) * 1.15)
    # The numbers stand at the bars; a scale would say the same once more.
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)
    if title:
        ax.set_title(title)
    return ax


def shows_photos(fig) -> bool:
    """Tell whether `fig` holds pictures of things, which nobody wants to see turned over."""
    images = [image for ax in fig.axes for image in ax.images]
    return any(image.get_array().ndim == 3 or image.cmap.name == "gray" for image in images)


def fit(fig, width: int | None = None):
    """Bring a figure to its size on the page, with letters of 11 to 13 pixels whatever that is.

    Parameters
    ----------
    fig : matplotlib Figure
    width : int or None, default=None
        In pixels; a figure is never made larger than it was drawn, nor than a page, and no cell of
        an attention map larger than 44 pixels.
    """
    drawn = PAGE * fig.get_figwidth()
    scale = min(1, WIDEST / drawn, (width or drawn) / drawn)
    fig.set_size_inches(fig.get_size_inches() * scale)
    maps = [ax for ax in fig.axes if ax.get_gid() == MAP]
    for _ in range(12 if maps else 0):  # what stands around a map doesn't shrink with it
        fig.canvas.draw()
        wide = [ax.get_window_extent().width / fig.dpi for ax in maps]
        most = [CELL * ax.images[0].get_array().shape[1] for ax in maps]
        over = sum(max(0, w - m) for w, m in zip(wide, most, strict=True))
        if over < 0.01:
            break
        fig.set_size_inches(fig.get_size_inches() * (1 - over / fig.get_figwidth()))
    for text in fig.findobj(matplotlib.text.Text):
        text.set_fontsize(min(TEXT, max(0.72 * 11, text.get_fontsize())))
    for ax in fig.axes:
        _part_ends(ax)


def tint(colour, strength=0.15):
    """Mix a colour with white, for areas behind text.

    Parameters
    ----------
    colour : str
        Any colour that matplotlib knows.
    strength : float, default=0.15
        Share of the colour: 0 is white, 1 the colour itself.

    Returns
    -------
    tint : str
        As ``#rrggbb``.
    """
    mixed = [1 - strength * (1 - part) for part in to_rgb(colour)]
    return matplotlib.colors.to_hex(mixed)


def _array(values):
    """Give anything array-like as a NumPy array of floats; tensors leave their graph."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().float()
    return numpy.asarray(values, dtype=float)


def _map_size(query_tokens, key_tokens):
    """Choose a figure that gives each cell the room its number needs, within a page."""
    cell = min(CELL, 6.4 / max(len(query_tokens), len(key_tokens)))
    left = 0.6 + 0.08 * max(map(len, query_tokens))
    top = 0.7 + 0.08 * max(map(len, key_tokens))
    return left + cell * max(3, len(key_tokens)) + 0.4, top + cell * len(query_tokens)


def _name_rows_and_columns(ax, query_tokens, key_tokens):
    # A dollar sign in a token is a dollar sign, not the start of a formula.
    rows, columns = ([t.replace("$", r"\$") for t in ts] for ts in (query_tokens, key_tokens))
    ax.set_yticks(range(len(rows)), rows)
    ax.set_xticks(range(len(columns)), columns)
    upright = len(columns) <= 12 and max(map(len, columns)) <= 3
    ax.tick_params(axis="both", length=0, pad=4)
    ax.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False)
    if not upright:
        for label in ax.get_xticklabels():
            label.set(rotation=45, ha="left", va="bottom", rotation_mode="anchor")


def _short(number):
    """Write a number with two decimals; whole ones have none, and zero before the point goes."""
    whole = abs(number) >= 1 and float(number).is_integer()
    text = f"{number:.0f}" if whole else f"{number:.2f}"
    sign, digits = ("−" if text.startswith("-") else ""), text.lstrip("-")
    digits = digits.removeprefix("0").replace("inf", "∞")
    return digits if digits == ".00" else sign + digits


def _add_scale(ax, image, label):
    """Put a slim colour scale at the right of the Axes, without taking room from them."""
    inset = ax.inset_axes([1.03, 0.0, 0.025, 1.0])
    bar = ax.figure.colorbar(image, cax=inset)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=SMALLEST_TEXT)
    if label:
        bar.set_label(label)


def _label_ends(ax, ends):
    """Write the curves' names at their right ends, pushed apart where they would overlap."""
    for x, y, name, colour in ends:
        ax.annotate(
            name, (x, y), xytext=(8, 0), textcoords="offset points", va="center", color=colour,
            fontsize=SMALLEST_TEXT, fontweight="bold", annotation_clip=False, gid=END,
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )  # fmt: skip
    _part_ends(ax)


def _part_ends(ax):
    """Push the names of curves apart, for the size that the Axes now have."""
    names = sorted((text for text in ax.texts if text.get_gid() == END), key=lambda t: t.xy[1])
    if not names:
        return
    ax.figure.canvas.draw()  # only now are the Axes' size and limits settled
    pixel = 72 / ax.figure.dpi  # in points
    wanted = [ax.transData.transform(name.xy)[1] for name in names]
    gap = 1.25 * SMALLEST_TEXT / pixel
    low = ax.get_window_extent().y0 + gap / 2  # no name lies on the axis
    parted = [max(p, low + i * gap) for i, p in enumerate(spread(wanted, gap))]
    for name, height, place in zip(names, wanted, parted, strict=True):
        name.set_position((8, (place - height) * pixel))
