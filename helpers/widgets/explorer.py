"""The base of every stepper and explorer: state in traits, labelled controls, a live picture.

A small one takes about a hundred lines; README.md beside this file has the recipe. A subclass says
four things: its state (traits tagged ``state=True``), its controls (`build`), how numbers come from
the state (`compute`), and how a picture and words come from these (`draw`, `describe`). Whoever
changes the state, a hand or a line of Python, the picture follows.
"""

import base64
import re
from contextlib import contextmanager

import anywidget
import traitlets

from helpers.widgets import modules
from helpers.widgets.controls import Control, as_trait, slider_options
from helpers.widgets.fallback import StaticFallback
from helpers.widgets.stills import DRAWING, as_image
from helpers.widgets.svg import lines_of_text, side_by_side


class Explorer(StaticFallback, anywidget.AnyWidget):
    """Controls above a picture that is redrawn whenever the state changes.

    Attributes
    ----------
    numbers : dict
        What `compute` returned for the picture as it stands.
    controls : dict of str to Control
        By the name of the trait they move, or by a button's label.
    still : dict
        The state that the picture shows where no kernel runs, if it stands at its beginning.

    Parameters
    ----------
    **state : initial values of the subclass's traits

    Raises
    ------
    TypeError
        If there is no such trait.
    """

    _esm = modules.module("explorer.js")
    _css = modules.styles("view.css", "explorer.css")

    still = {}
    _look = DRAWING  # the still picture's
    _folded = ""  # what the controls of the second row are called, if they're folded at first
    _known = None, None  # what was asked `once` before, and what was found
    _title = traitlets.Unicode().tag(sync=True)
    _shown = traitlets.Dict().tag(sync=True)

    def __init__(self, **state):
        known = self.class_trait_names(state=True)
        unknown = set(state) - set(known)
        if unknown:
            raise TypeError(
                f"{type(self).__name__} has no {', '.join(sorted(unknown))}. What can be set: "
                f"{', '.join(sorted(known))}."
            )
        super().__init__(_title=(type(self).__doc__ or "").partition("\n")[0])
        self._held, self._stale, self._answered, self._gesture = 0, False, 0, None
        self.numbers, self.controls, self._drawings, self._good = {}, {}, [], {}
        with self.together():
            for name, value in state.items():
                setattr(self, name, value)
        self.forget()
        self.build()
        self.button("Start again", self.reset)
        self._start, self._good = self.state, self.state
        self.observe(self._redraw, names=known)
        self.on_msg(self._receive)
        self._redraw()
        self.open()

    def open(self):
        """Tell the page of itself when there is a picture: what is sent later can be lost.

        If a page takes over two seconds to load the module, anywidget handles no message.
        """
        if self._shown:
            super().open()

    # What a subclass writes -----------------------------------------------------------------

    def build(self):
        """Make the controls, with `slider`, `choice`, `switch`, `words`, `button` and `play`."""

    def forget(self):
        """Let go of what was tried and isn't part of the state: at first, and with a reset."""

    def compute(self):
        """Return a dict of all numbers that the picture shows."""
        raise NotImplementedError

    def draw(self):
        """Return the picture of `self.numbers`: a list of `Sheet`s to stand side by side."""
        raise NotImplementedError

    def describe(self):
        """Return a sentence or two that say what the picture shows, its alt text: as `tell`."""
        return " ".join(self.tell())

    def tell(self):
        """Return a headline and a sentence to stand above the picture; nothing by default."""
        return ()

    def sound(self):
        """Return what can be listened to below the picture, as a WAV file; nothing by default."""
        return b""

    def advance(self, trait):
        """Go on by one, as the play button beside a `trait` does; change nothing at the end."""
        if getattr(self, trait) < self.controls[trait].described()["last"]:
            setattr(self, trait, getattr(self, trait) + 1)

    # What a lesson or a test uses -------------------------------------------------------------

    @contextmanager
    def together(self):
        """Change several traits inside a with block, and draw once, at its end."""
        with self._drawn_once(), self.hold_trait_notifications():
            yield

    @contextmanager
    def _drawn_once(self):
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            if not self._held and self._stale:
                self._redraw()

    @contextmanager
    def _elsewhere(self):
        """Hold the state `still` inside a with block, unless another was chosen; draw nothing."""
        traits, numbers, stale = self.traits(state=True), self.numbers, self._stale
        own = {name: getattr(self, name) for name in self.still}
        fresh = all(value == traits[name].default(self) for name, value in own.items())
        self._held += 1
        with self.hold_sync():
            try:
                for name, value in self.still.items() if fresh else ():
                    setattr(self, name, value)
                yield
            finally:
                for name, value in own.items():
                    setattr(self, name, value)
                self._held, self._stale, self.numbers = self._held - 1, stale, numbers

    def take(self, changes):
        """Make `changes`, {trait: value}, as a hand does: numbers are kept within their limits."""
        known = self.traits(state=True)
        with self._drawn_once():  # one after the other, so that each is checked
            for name, value in changes.items():
                setattr(self, name, as_trait(known[name], value))

    def reset(self, *_):
        """Go back to the state that the widget was made with."""
        with self.together():
            self._forget_refusals()
            self.forget()
            self._redraw()  # at the end, even if nothing changes
            for name, value in self._start.items():
                setattr(self, name, value)

    def once(self, asked, find):
        """Return what `find` finds; if the last thing `asked` was the same, what it found then."""
        if self._known[0] != asked:
            self._known = asked, find()
        return self._known[1]

    @property
    def state(self):
        """The traits tagged as state, as a dict."""
        return {name: getattr(self, name) for name in self.class_trait_names(state=True)}

    @property
    def svg(self):
        """The picture as it stands, as SVG text."""
        return side_by_side([*lines_of_text(self.tell()), *self._drawings], self.describe())

    def static_html(self):
        """Return the picture for pages without a kernel, in a state worth looking at."""
        with self._elsewhere():
            self.numbers = self.compute()
            alt = self.describe()
            drawing = side_by_side([*lines_of_text(self.tell()), *self.draw()], alt)
        drawing = re.sub(r'<rect [^>]*tabindex="[^>]*/>', "", drawing)  # no hand reaches an image
        return as_image(drawing, alt, self._look)

    def checked(self, proposal, problem):
        """Return what a field's trait becomes: what is proposed, or the last if it's a `problem`.

        The problem is told at the field until something else is done; from Python, a first value
        like that is a ValueError.
        """
        name, field = proposal.trait.name, self.controls.get(proposal.trait.name)
        if not problem:
            self._good[name] = proposal.value
        elif not field:
            raise ValueError(problem)
        if field and field.error != problem:
            field.error = problem
            self._redraw()
        return self._good[name]

    def _forget_refusals(self):
        """Let what was refused go as soon as something else is done: fields show what holds."""
        for control in self.controls.values():
            control.error = ""

    # Controls ---------------------------------------------------------------------------------

    def slider(self, trait, label, step=None, log=False, digits=2) -> Control:
        """Add a slider for a number between its `trait`'s limits; see `slider_options`."""
        options = slider_options(self.traits()[trait], step, log, digits)
        return self._add("slider", trait, label, **options)

    def play(self, trait, label, interval=900) -> Control:
        """Add a slider for a whole number with a play button that lets time run (`advance`).

        From one value to the next it takes `interval` milliseconds.
        """
        options = slider_options(self.traits()[trait])
        return self._add("slider", trait, label, interval=interval, of=True, **options)

    def choice(self, trait, label, options) -> Control:
        """Add a list to choose from: `options` are values, or pairs of (words, value)."""
        pairs = [o if isinstance(o, (tuple, list)) else (str(o), o) for o in options]
        return self._add("choice", trait, label, options=[list(pair) for pair in pairs])

    def switch(self, trait: str, label: str) -> Control:
        """Add a tick box for a `Bool` trait."""
        return self._add("switch", trait, label)

    def words(self, trait, label, wide=False, known=None):
        """Add a field to type into; the state follows when Enter is pressed or the field left.

        If `wide`, it has a line of its own, with room for a sentence; `known` lists the words that
        can be used, to be looked up beside it. The control's `error`, if set, shows at the field.
        """
        return self._add("words", trait, label, wide=wide, known=known)

    def examples(self, trait, texts):
        """Add a button for each of the `texts` that a field can hold, by what stands on it."""
        for label, text in texts.items():
            first = "Examples:" * (label == next(iter(texts)))
            self.button(label, lambda _, text=text: self.take({trait: text}), text, before=first)

    def button(self, label, act, tooltip=None, down=None, before="") -> Control:
        """Add a button that calls `act` with itself; its `tooltip` says at greater length what.

        `down` returns whether it stays down, if it's of that kind. Words can stand `before` it.
        """
        quiet = act == self.reset  # it's the last thing to press, and looks like it
        words = {"tooltip": tooltip or label, "quiet": quiet, "before": before}
        return self._add("button", label, label, act=act, down=down, **words)

    def _add(self, kind, name, label, **options):
        self.controls[name] = Control(self, kind, name, label, **options)
        return self.controls[name]

    # The picture ------------------------------------------------------------------------------

    def _receive(self, _, content, buffers):
        """Do what a hand did in the browser, and answer even if it cannot be done."""
        # The click that leaves a field sends what was typed as well: it doesn't hide the answer.
        if content.get("gesture") != self._gesture:
            self._forget_refusals()
        self._gesture = content.get("gesture")
        try:
            with self._drawn_once():
                if "set" in content:
                    self.take(content["set"])
                elif "press" in content:
                    self.controls[content["press"]].click()
                elif "tick" in content:
                    self.advance(content["tick"])
        except traitlets.TraitError:
            pass  # the picture goes back to what it was
        finally:
            self._answered = content.get("number", self._answered)
            self._show()

    def _redraw(self, change=None):
        if self._held:
            self._stale = True
            return
        self._stale = False
        self.numbers = self.compute()
        self._drawings = self.draw()
        self._show()

    def _show(self):
        """Hand state, controls and drawings to the browser, in one message."""
        self._shown = {
            "answered": self._answered,
            "state": self.state,
            "controls": [control.described() for control in self.controls.values()],
            "drawings": [sheet.to_svg() for sheet in self._drawings],
            "alt": self.describe(),
            "told": list(self.tell()),
            "sound": base64.b64encode(self.sound()).decode("ascii"),
            "folded": self._folded,
        }
