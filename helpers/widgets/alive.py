"""A widget that works in a page without a kernel: exported HTML, the published site, offline."""

import base64
import gzip
import json

import anywidget

from helpers.widgets import modules


def alive_html(widget, still):
    """Put a widget's JavaScript and state beside its still picture.

    The script draws the live view in the picture's place. Where scripts don't run (GitHub, a
    notebook that isn't trusted), the picture stays.

    Parameters
    ----------
    widget : anywidget.AnyWidget
        With `_esm` and `_css` as text.
    still : str
        HTML of the picture.

    Returns
    -------
    html : str
    """
    kinds = [kind for kind in type(widget).__mro__ if issubclass(kind, anywidget.AnyWidget)]
    names = {name for kind in kinds[:-1] for name in kind.class_own_traits(sync=True)}
    names -= {"_esm", "_css", "_anywidget_id"}  # anywidget's own, declared on every class
    values = {name: getattr(widget, name) for name in sorted(names)}
    raw = {name: value for name, value in values.items() if isinstance(value, bytes)}
    needed = {
        "module": _zipped(widget._esm),
        "style": _zipped(widget._css),
        "state": {name: value for name, value in values.items() if name not in raw},
        "bytes": {name: base64.b64encode(value).decode() for name, value in raw.items()},
    }
    # "</script>" inside a token must not end the script.
    data = json.dumps(needed, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    script = modules.module("stand_in.js")
    return (
        f"<div>{still}</div><script>{{const place = document.currentScript.previousElementSibling;"
        f"\n{script}\ncomeAlive(place, {data}).catch(() => {{}});}}</script>"
    )


def _zipped(text):
    # No time in the header: the same source gives the same bytes.
    return base64.b64encode(gzip.compress(text.encode("utf-8"), 9, mtime=0)).decode("ascii")
