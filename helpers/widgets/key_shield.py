"""Keeps the keys of a box made of ipywidgets from JupyterLab.

JupyterLab reads single keys as commands while a widget has the focus: an arrow leaves a group of
radio buttons, ``x`` cuts the cell, ``b`` inserts one. Our own views in the browser shield
themselves (`shieldKeys` in `static/page.js`); a box of ipywidgets gets the shield as one of its
children::

    self.add_class("course-quiz")
    self.children = (*parts, KeyShield(box=".course-quiz", label="How many heads are there?"))
"""

import anywidget
import traitlets

from helpers.widgets import modules


class KeyShield(anywidget.AnyWidget):
    """An invisible child that shields the keys of the box around it.

    Its groups of radio buttons get a role too, which ipywidgets doesn't give them, and all of its
    controls a name that says what is asked. The `box` is a CSS selector, for instance
    ``".course-quiz"``; the nearest one around is meant. `label` is the question.
    """

    _esm = modules.module("key_shield.js")
    _css = modules.styles()

    box = traitlets.Unicode().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
