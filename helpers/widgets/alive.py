"""A widget that works in a page without a kernel: exported HTML, the published site, offline."""

import base64
import html
import json
import zlib

import anywidget

from helpers.widgets import modules

# Of base 85's letters those that a page or its mathematics might take for their own.
LETTERS = str.maketrans("$&<>`", ",./:[")


def alive_html(widget, still: str, model="") -> str:
    """Put a widget's JavaScript and state, `_esm` and `_css`, beside the HTML of its still picture.

    All that the script needs travels compressed, so no token is ever a part of the page's HTML. The
    script draws the live view in the picture's place. Where scripts don't run (GitHub, a notebook
    that isn't trusted), the picture stays.

    `model` is what the widget is about, to be found in the page: the site looks for the
    translator's maps.
    """
    kinds = [kind for kind in type(widget).__mro__ if issubclass(kind, anywidget.AnyWidget)]
    names = {name for kind in kinds[:-1] for name in kind.class_own_traits(sync=True)}
    names -= {"_esm", "_css", "_anywidget_id"}  # anywidget's own, declared on every class
    values = {name: getattr(widget, name) for name in sorted(names)}
    raw = {name: value for name, value in values.items() if isinstance(value, bytes)}
    needed = {
        "module": _zipped(widget._esm),
        "style": _zipped(widget._css),
        "state": _zipped(_json({k: value for k, value in values.items() if k not in raw})),
        "bytes": {name: _zipped(value) for name, value in raw.items()},
    }
    script = modules.module("stand_in.js")
    about = model and f' data-model="{html.escape(model)}"'
    return (
        f"<div{about}>{still}</div><script>"
        f"{{const place = document.currentScript.previousElementSibling;\n{script}\n"
        f"comeAlive(place, {_json(needed)}).catch(() => {{}});}}</script>"
    )


def _json(values):
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def _zipped(content):
    # No time in the header: the same source gives the same bytes. Numbers repeat little.
    text = isinstance(content, str)
    strategy = zlib.Z_DEFAULT_STRATEGY if text else zlib.Z_FILTERED
    packer = zlib.compressobj(9, wbits=31, strategy=strategy)
    data = packer.compress(content.encode("utf-8") if text else content) + packer.flush()
    return base64.b85encode(data).decode("ascii").translate(LETTERS)
