"""What an explorer is moved by: a slider, a list, a tick box, a field, a button.

The browser draws them (`static/controls.js`); here they are what a lesson and a test can hold.
"""

import traitlets


class Control:
    """One control of an explorer: of a `kind`, the trait it moves or a button's label as its name.

    A button does `act`, and stays down while `down` says so; `options` are what the browser needs
    to draw it beside its label.
    """

    def __init__(self, explorer, kind, name, label, act=None, down=None, **options):
        self._explorer, self.kind, self.name, self.label = explorer, kind, name, label
        self._act, self._down, self._options = act, down, options
        self.max = options.get("max")  # of a slider, which can end elsewhere later
        self.last = None  # where Play ends, if it's earlier
        self.hidden = self.disabled = False
        self.second = False  # in a row of its own below the others, whose height stays
        self.error = ""

    @property
    def value(self):
        """The trait's value; setting it is what a hand on the control does."""
        return getattr(self._explorer, self.name)

    @value.setter
    def value(self, value):
        """Move the control."""
        self._explorer.take({self.name: value})

    def click(self):
        """Press a button."""
        self._act(self)

    def described(self):
        """Return everything that the browser needs, as plain data."""
        plain = ("kind", "name", "label", "hidden", "second", "disabled", "error")
        return {
            **{name: getattr(self, name) for name in plain},
            "trait": None if self.kind == "button" else self.name,
            "pressed": self._down() if self._down else None,
            **self._options,
            "max": self.max,
            "last": self.last or self.max,
        }


def slider_options(trait, step=None, log=False, digits=2) -> dict:
    """Say how a slider for a `trait` with min and max runs: from where to where, and by how much.

    The `step` is 1 for whole numbers and 0.05 for others; `log` spaces the numbers by their
    logarithms, and so many `digits` after the point are shown.
    """
    whole = isinstance(trait, traitlets.Int)
    return {
        "min": trait.min,
        "max": trait.max,
        "step": step or (1 if whole else 0.05),
        "log": log,
        "digits": 0 if whole else digits,
    }


def as_trait(trait, value):
    """Turn a `value` from the browser into what a `trait` holds: whole, and within its limits."""
    if isinstance(trait, traitlets.Int) and isinstance(value, float):
        value = round(value)
    if isinstance(trait, (traitlets.Int, traitlets.Float)) and not isinstance(value, bool):
        low, high = trait.min, trait.max
        value = value if low is None else max(value, low)
        value = value if high is None else min(value, high)
    return tuple(value) if isinstance(value, list) else value
