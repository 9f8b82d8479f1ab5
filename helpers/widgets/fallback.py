"""What a widget shows where no kernel runs: GitHub, exported HTML, a notebook of yesterday.

In JupyterLab and Notebook 7 a widget is shown as two outputs. The first is a picture with alt text
and the words "Run this cell to play", which a saved notebook keeps. The second is the live view.
While that is alive, the picture hides; where there is no model for it any more and JupyterLab
would write "model not found", the view hides and the picture stays. (The two are told apart by
what stands in the view's output: a live one has elements, the error is bare text.) VS Code and
Colab choose between picture and view themselves, so they get one output with both.

A widget whose JavaScript needs no Python (the attention view, the map) also packs itself into the
picture's output: in exported HTML it comes alive there, with no network and no kernel.
"""

import base64
import gzip
import json
import sys
import weakref

from IPython import get_ipython
from IPython.display import display

LIVE_VIEW = "application/vnd.jupyter.widget-view+json"
STYLE = """<style>
.course-still > p { margin: 2px 0 6px; font-style: italic; }
.jp-NotebookPanel .course-still { animation: course-still 1.2s step-end; }
@keyframes course-still { from { visibility: hidden; } }
.jp-OutputArea-child:has(.course-still):has(+ .jp-OutputArea-child > .jp-OutputArea-output.lm-Panel > *),
.jp-OutputArea-child:has(.course-still) + .jp-OutputArea-child:has(> .jp-OutputArea-output.lm-Panel):not(:has(> .jp-OutputArea-output > *)) { display: none; }
</style>"""  # noqa: E501
# Runs only where the picture is really seen: in a notebook with a kernel the live view hides it.
ALIVE = """<script>(() => {
const still = document.currentScript.closest('.course-still');
const start = async () => {
  const packed = Uint8Array.from(atob(still.querySelector('[data-packed]').dataset.packed), (c) => c.charCodeAt(0));
  const text = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
  const { esm, css, state, bytes } = JSON.parse(await text);
  for (const [name, data] of Object.entries(bytes)) {
    state[name] = new DataView(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)).buffer);
  }
  const heard = [];
  const model = {
    get: (name) => state[name],
    set(name, value) {
      if (state[name] === value) return;
      state[name] = value;
      for (const [names, call] of heard) if (names.split(' ').includes('change:' + name)) call();
    },
    on: (names, call) => heard.push([names, call]),
    off() {}, send() {}, save_changes() {},
  };
  const view = await import(URL.createObjectURL(new Blob([esm], { type: 'text/javascript' })));
  const style = document.createElement('style');
  style.textContent = css;
  const place = document.createElement('div');
  still.replaceChildren(style, place);
  view.default.render({ model, el: place });
};
const seen = new IntersectionObserver((entries) => {
  if (!entries.some((entry) => entry.isIntersecting)) return;
  seen.disconnect();
  setTimeout(() => still.offsetParent && start(), still.closest('.jp-NotebookPanel') ? 2000 : 0);
});
seen.observe(still);
})()</script>"""  # noqa: E501


class StaticFallback:
    """Put a static picture of the same content beside a widget's live view.

    Mix it in before the widget class and define `static_html`; a widget whose JavaScript needs no
    Python sets `alive`. ipywidgets 8 asks a widget for a bundle, ipywidgets 7 (Colab's) asks it to
    display itself; both ways are answered here.
    """

    alive = False

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
        if _chooses_itself(get_ipython()):
            display(bundle, raw=True)
            return
        view = bundle.pop(LIVE_VIEW, None)
        packed = f'<div data-packed="{_packed(self)}"></div>{ALIVE}' if self.alive else ""
        words = "<p>Run this cell to play.</p>"
        still = f'<div class="course-still">{STYLE}{bundle["text/html"]}{words}{packed}</div>'
        display({**bundle, "text/html": still}, raw=True)
        if view is not None:
            # Where there is no model, a page made from the notebook shows this nothing instead.
            display({LIVE_VIEW: view, "text/html": "", "text/plain": ""}, raw=True)
        _close_what_was_here(self)


def _chooses_itself(shell):
    """Tell whether the front end is VS Code or Colab."""
    return "google.colab" in sys.modules or "__vsc_ipynb_file__" in getattr(shell, "user_ns", {})


def _packed(widget):
    """Pack a widget's JavaScript, style and state; the same widget gives the same text."""
    state, raw = {}, {}
    for name in widget.traits(sync=True):
        if name in ("layout", "tabbable", "tooltip") or name.startswith(
            ("_model", "_view", "_dom")
        ):
            continue
        value = getattr(widget, name)
        if name in ("_esm", "_css") or name.startswith("_anywidget"):
            continue
        if isinstance(value, bytes):
            raw[name] = base64.b64encode(value).decode("ascii")
        else:
            state[name] = value
    code = {"esm": str(widget._esm), "css": str(widget._css)}
    whole = {**code, "state": state, "bytes": raw}
    return base64.b64encode(gzip.compress(json.dumps(whole).encode(), 9, mtime=0)).decode("ascii")


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
