"""What a widget shows where no kernel runs: GitHub, exported HTML, a notebook of yesterday.

In JupyterLab and Notebook 7 a widget is shown as two outputs. The first is a picture with alt text
and words that say what to run, which a saved notebook keeps. The second is the live view.
While that is alive, the picture hides; where there is no model for it any more and JupyterLab
would write "model not found", the view hides and the picture stays. (The two are told apart by
what stands in the view's output: a live one has elements, the error is bare text.) VS Code and
Colab choose between picture and view themselves, so they get one output with both.

A widget whose JavaScript needs no Python (the attention view, the map) comes alive in the picture's
place (`alive.py`), with no network and no kernel.
"""

import sys
import weakref

from IPython import get_ipython
from IPython.display import display

from helpers.notebook import ON_DARK

LIVE_VIEW = "application/vnd.jupyter.widget-view+json"
# After a restart the cell alone would miss what those above import and load.
TO_PLAY = "<p>To play, run the cells above first (in the Run menu, “Run All Above Selected Cell”), then this one.</p>"  # noqa: E501
STYLE = """<style>
.course-still > p { margin: 2px 0 6px; font-style: italic; }
.jp-NotebookPanel .course-still { animation: course-still 1.2s step-end; }
@keyframes course-still { from { visibility: hidden; } }
.jp-OutputArea-child:has(.course-still):has(+ .jp-OutputArea-child > .jp-OutputArea-output.lm-Panel > *),
.jp-OutputArea-child:has(.course-still) + .jp-OutputArea-child:has(> .jp-OutputArea-output.lm-Panel):not(:has(> .jp-OutputArea-output > *)) { display: none; }
@on-dark
</style>""".replace("@on-dark", ON_DARK)  # noqa: E501


class StaticFallback:
    """Put a static picture of the same content beside a widget's live view.

    Mix it in before the widget class and define `static_html`; a widget whose JavaScript needs no
    Python wraps its picture in `alive.alive_html` there. ipywidgets 8 asks a widget for a bundle,
    ipywidgets 7 (Colab's) asks it to display itself; both ways are answered here.
    """

    def static_html(self):
        """Return HTML for the widget as it stands, pictures with alt text."""
        raise NotImplementedError

    def __repr__(self):
        """A name and nothing else: an address would differ from run to run."""
        return f"{type(self).__name__}()"

    def _repr_mimebundle_(self, **kwargs):
        bundle = {"text/plain": repr(self), "text/html": self.static_html()}
        if self._view_name is not None:
            view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
            bundle[LIVE_VIEW] = view
        return bundle

    def _ipython_display_(self, **kwargs):
        bundle = self._repr_mimebundle_()
        # VS Code and Colab choose between the two themselves.
        names = getattr(get_ipython(), "user_ns", {})
        if "google.colab" in sys.modules or "__vsc_ipynb_file__" in names:
            display(bundle, raw=True)
            return
        view = bundle.pop(LIVE_VIEW, None)
        still = f'<div class="course-still">{STYLE}{bundle["text/html"]}{TO_PLAY}</div>'
        display({**bundle, "text/html": still}, raw=True)
        if view is not None:
            # Where there is no model, a page made from the notebook shows this nothing instead.
            display({LIVE_VIEW: view, "text/html": "", "text/plain": ""}, raw=True)
        _close_what_was_here(self)


# ---- a cell that is run again closes what it showed before ---------------------------------------

_shown = {}  # cell id -> (the request that showed them, the widgets)


def _close_what_was_here(widget):
    """Remember which cell shows a widget; when the cell runs again, close what it showed before.

    Its model would stay in the kernel and in the page, some megabytes each time.
    """
    shell = get_ipython()
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    cell = parent.get("metadata", {}).get("cellId")
    if cell is None:
        return
    request = parent["header"]["msg_id"]
    before, widgets = _shown.get(cell, (request, []))
    if before != request:
        _shown[cell] = request, [weakref.ref(widget)]
        shell.events.register("post_run_cell", _closing(shell, widgets, cell))
    else:
        _shown[cell] = request, [*widgets, weakref.ref(widget)]


def _closing(shell, old, cell):
    """Make the function that closes them when the cell has run, and then itself leaves."""

    def close(result):
        shell.events.unregister("post_run_cell", close)
        still_shown = {id(one()) for _, widgets in _shown.values() for one in widgets}
        for one in old:
            widget = one()
            if widget is not None and id(widget) not in still_shown:
                _forget(shell, widget)
                widget.close()

    return close


def _forget(shell, widget):
    """Take a widget out of IPython's memory of results: `Out`, `_`, `__` and `___`."""
    names = shell.user_ns
    results = names.get("_oh", {})
    for number in [n for n, result in results.items() if result is widget]:
        del results[number]
        names.pop(f"_{number}", None)
    for name in ("_", "__", "___"):
        if names.get(name) is widget:
            names[name] = ""
            setattr(shell.displayhook, name, "")
