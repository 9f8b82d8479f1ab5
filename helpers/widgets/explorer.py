"""The base of every stepper and explorer: state in traits, labelled controls, one picture.

A subclass says three things: its state (traits tagged ``state=True``), its controls (`build`) and
how the numbers and the picture come from the state (`compute`, `draw`, `describe`). Whoever
changes the state, a hand on a slider or a line of Python, the picture follows.
"""

import base64
import html
import math
from contextlib import contextmanager

import ipywidgets
import traitlets

from helpers.widgets.fallback import StaticFallback

# Controls as large as the letters in the picture, so that both can be projected.
STYLE = """<style>
.course-explorer { --jp-widgets-font-size: 16px; --jp-widgets-inline-height: 32px;
  --jp-widgets-inline-label-width: auto; max-width: 940px; }
.course-explorer .widget-label, .course-explorer .jupyter-button { font-size: 16px; }
.course-explorer .widget-readout { min-width: 62px; }
.course-explorer .jupyter-button { width: auto; min-width: 44px; height: 32px; line-height: 30px; }
.course-explorer :focus-visible { outline: 3px solid #d9730d; outline-offset: 2px; }
</style>"""

CONTROL_WIDTH = 440  # pixels; two stand side by side above a picture
LETTER = 9.3  # pixels that a letter of a label takes on average


class Explorer(StaticFallback, ipywidgets.VBox):
    """Controls above one picture that is redrawn whenever the state changes.

    Attributes
    ----------
    numbers : dict
        What `compute` returned for the picture as it stands.
    controls : dict
        The controls, by the name of the trait they move, or by their label.

    Parameters
    ----------
    **state : initial values of the subclass's traits

    Raises
    ------
    TypeError
        If there is no such trait.
    """

    def __init__(self, **state):
        known = self.class_trait_names(state=True)
        unknown = set(state) - set(known)
        if unknown:
            raise TypeError(
                f"{type(self).__name__} has no {', '.join(sorted(unknown))}. What can be set: "
                f"{', '.join(sorted(known))}."
            )
        super().__init__()
        self._held, self._stale = 0, False
        self.numbers, self.controls = {}, {}
        self._picture = ipywidgets.HTML()
        with self.together():
            for name, value in state.items():
                setattr(self, name, value)
        self.build()
        self._arrange()
        self.observe(self._redraw, names=known)
        self._redraw()

    # What a subclass writes -----------------------------------------------------------------

    def build(self):
        """Make the controls, with `slider`, `choice`, `switch`, `button` and `play`."""
        raise NotImplementedError

    def compute(self):
        """Return a dict of all numbers that the picture shows."""
        raise NotImplementedError

    def draw(self):
        """Return the picture of `self.numbers`: a `Sheet`."""
        raise NotImplementedError

    def describe(self):
        """Return a sentence or two that say what the picture shows; its alt text."""
        raise NotImplementedError

    # What a lesson or a test uses -------------------------------------------------------------

    @contextmanager
    def together(self):
        """Change several traits inside a with block, and draw once, at its end."""
        self._held += 1
        try:
            with self.hold_trait_notifications():
                yield
        finally:
            self._held -= 1
            if not self._held and self._stale:
                self._redraw()

    def reset(self, *_):
        """Go back to the state that the class starts with."""
        with self.together():
            for name, trait in self.traits(state=True).items():
                setattr(self, name, trait.default(self))

    @property
    def svg(self):
        """The picture as it stands, as SVG text."""
        return self._picture.value

    def static_html(self):
        """Return the picture as it stands for pages without a kernel."""
        encoded = base64.b64encode(self.svg.encode()).decode("ascii")
        return (
            f'<img alt="{html.escape(self.describe())}" style="max-width: 100%" '
            f'src="data:image/svg+xml;base64,{encoded}">'
        )

    # Controls ---------------------------------------------------------------------------------

    def slider(self, trait, label, step=None, log=False, digits=2):
        """Add a slider for a number; its ends are the trait's own limits.

        Parameters
        ----------
        trait : str
            Name of an `Int` or `Float` trait with min and max.
        label : str
        step : float, default=None
            By default 1 for whole numbers and 0.05 for others.
        log : bool, default=False
            Space the numbers by their logarithms.
        digits : int, default=2
            Digits after the point that are shown beside the slider.

        Returns
        -------
        control : ipywidgets slider
        """
        kind = self.traits()[trait]
        whole = isinstance(kind, traitlets.Int)
        low, high = kind.min, kind.max
        options = {"readout_format": "d" if whole else f".{digits}f"}
        if whole:
            make, options["step"] = ipywidgets.IntSlider, step or 1
        elif log:
            make, options["step"] = ipywidgets.FloatLogSlider, step or 0.02
            low, high = math.log10(low), math.log10(high)
        else:
            make, options["step"] = ipywidgets.FloatSlider, step or 0.05
        return self._tie(trait, label, make, min=low, max=high, **options)

    def choice(self, trait, label, options):
        """Add a list to choose from.

        Parameters
        ----------
        trait : str
        label : str
        options : sequence of values, or of (words, value)

        Returns
        -------
        control : ipywidgets.Dropdown
        """
        return self._tie(trait, label, ipywidgets.Dropdown, options=list(options))

    def switch(self, trait, label):
        """Add a tick box for a `Bool` trait.

        Parameters
        ----------
        trait : str
        label : str

        Returns
        -------
        control : ipywidgets.Checkbox
        """
        whole = {"width": "max-content"}  # a tick box's own width would cut the label
        return self._tie(trait, label, ipywidgets.Checkbox, indent=False, layout=whole)

    def words(self, trait, label, wide=False):
        """Add a field to type into; the state follows when Enter is pressed or the field left.

        Parameters
        ----------
        trait : str
        label : str
        wide : bool, default=False
            Give it a line of its own, with room for a sentence.

        Returns
        -------
        control : ipywidgets.Text
        """
        control = self._tie(trait, label, ipywidgets.Text, continuous_update=False)
        if wide:
            control.layout.width = f"{2 * CONTROL_WIDTH}px"
        return control

    def button(self, label, act, tooltip=None):
        """Add a button.

        Parameters
        ----------
        label : str
        act : function of one argument, the button
        tooltip : str, default=None
            What it does, at greater length.

        Returns
        -------
        control : ipywidgets.Button
        """
        control = ipywidgets.Button(description=label, tooltip=tooltip or label)
        control.on_click(act)
        self.controls[label] = control
        return control

    def play(self, trait, label, interval=900):
        """Add a slider for a whole number with a play button that moves it on as time passes.

        Parameters
        ----------
        trait : str
            Name of an `Int` trait with min and max.
        label : str
        interval : int, default=900
            Milliseconds from one value to the next.

        Returns
        -------
        control : ipywidgets.IntSlider
        """
        control = self.slider(trait, label)
        play = ipywidgets.Play(
            value=control.value, min=control.min, max=control.max, interval=interval
        )
        # In the browser, so that the picture moves at an even pace.
        link = ipywidgets.jslink((play, "value"), (control, "value"))
        control.observe(lambda change: setattr(play, "max", change.new), names="max")
        self.controls[f"play {trait}"], self._link = play, link
        return control

    def _tie(self, trait, label, make, **options):
        control = make(value=getattr(self, trait), description=label, **options)
        traitlets.link((self, trait), (control, "value"))
        self.controls[trait] = control
        return control

    # The picture ------------------------------------------------------------------------------

    def _arrange(self):
        """Put the controls into one box that wraps, and give every label the room it needs."""
        described = [c for c in self.controls.values() if _has_label(c)]
        longest = max((len(control.description) for control in described), default=0)
        for control in described:
            control.style.description_width = f"{round(LETTER * longest) + 10}px"
            control.layout.width = control.layout.width or f"{CONTROL_WIDTH}px"
        wrapping = {"display": "flex", "flex_flow": "row wrap", "align_items": "center"}
        box = ipywidgets.Box(self.rows(), layout=wrapping)
        self.add_class("course-explorer")
        self.children = (ipywidgets.HTML(STYLE, layout={"display": "none"}), box, self._picture)

    def rows(self):
        """Return the controls in the order in which they stand; a subclass may group them."""
        return list(self.controls.values())

    def _redraw(self, change=None):
        if self._held:
            self._stale = True
            return
        self._stale = False
        self.numbers = self.compute()
        self._picture.value = self.draw().to_svg(self.describe())


def _has_label(control):
    return isinstance(
        control, (ipywidgets.IntSlider, ipywidgets.FloatSlider, ipywidgets.FloatLogSlider,
                  ipywidgets.Dropdown, ipywidgets.Text)
    )  # fmt: skip
