"""Attention you can touch: every layer and head of a model, as a heatmap or as lines.

The drawing is done in the browser (`static/attention_*.js`); Python holds the weights and the
state. Nothing is fetched from anywhere.
"""

from pathlib import Path

import anywidget
import traitlets

from helpers.widgets import modules
from helpers.widgets.alive import alive_html
from helpers.widgets.attention_maps import pack, read_maps
from helpers.widgets.attention_picture import as_html, picture
from helpers.widgets.fallback import StaticFallback

MOST_ALIVE = 96_000  # bytes of weights; a larger view would make the notebook too large


class AttentionView(StaticFallback, anywidget.AnyWidget):
    """The widget behind `attention_view`. Its traits can be set and observed.

    The `maps` are those of `attention_maps.read_maps`; the state's first values are as in
    `attention_view`. Layers, heads and tokens are counted from 0 here, as everywhere in Python; the
    view itself counts from one, as people do. To set what is not there is a ValueError.
    """

    _esm = modules.module("attention_view.js")
    _css = modules.styles("view.css", "attention_view.css")

    tab = traitlets.Unicode().tag(sync=True)
    layer = traitlets.Int(0).tag(sync=True)
    head = traitlets.Int(0).tag(sync=True)
    view = traitlets.Enum(("heatmap", "lines"), "heatmap").tag(sync=True)
    selected = traitlets.Int(None, allow_none=True).tag(sync=True)
    side = traitlets.Enum(("query", "key"), "query").tag(sync=True)
    _maps = traitlets.List().tag(sync=True)
    _data = traitlets.Bytes().tag(sync=True)

    def __init__(self, maps, **state):
        unknown = sorted(set(state) - set(self.trait_names()))
        if unknown:
            raise TypeError(
                f"attention_view has no {', '.join(unknown)}. What can be set: tab, layer, head, "
                f"view, selected, side."
            )
        self.maps = {one.name: one for one in maps}
        data, scales = pack(maps)
        described = [_described(one, scale) for one, scale in zip(maps, scales, strict=True)]
        tab = state.pop("tab", None) or maps[0].name
        super().__init__(_maps=described, _data=data, tab=tab, **state)

    @property
    def map(self):
        """The open map, with `.weights`, `.queries` and `.keys`."""
        return self.maps[self.tab]

    @property
    def weights(self):
        """The weights on show, an array of shape (queries, keys)."""
        return self.map.weights[self.layer, self.head]

    def static_html(self):
        """Return the view for a page without a kernel: alive where scripts run, else a picture."""
        still = as_html(self.map, self.layer, self.head, self.selected, self.side)
        return alive_html(self, still) if len(self._data) <= MOST_ALIVE else still

    def save(self, path):
        """Write what is on show as a drawing, for a report or a slide.

        Parameters
        ----------
        path : str or Path
            A file whose name ends in .svg.
        """
        drawing = picture(self.map, self.layer, self.head, self.selected, self.side)
        Path(path).write_text(drawing, encoding="utf-8")

    @traitlets.validate("tab")
    def _valid_tab(self, proposal):
        if proposal.value not in self.maps:
            raise ValueError(f"there is no tab {proposal.value!r}; there are {list(self.maps)}")
        return proposal.value

    @traitlets.validate("layer", "head")
    def _valid_head(self, proposal):
        name = proposal.trait.name
        n = self.map.weights.shape[0 if name == "layer" else 1]
        if not -n <= proposal.value < n:
            raise ValueError(f"{name} must be between 0 and {n - 1}; got {proposal.value}")
        return proposal.value % n  # -1 is the last one, as everywhere in Python

    @traitlets.validate("selected")
    def _valid_token(self, proposal):
        if proposal.value is None:
            return None
        n = self._n_tokens()
        if not 0 <= proposal.value < n:
            raise ValueError(
                f"selected must be None or between 0 and {n - 1}, a {self.side}; "
                f"got {proposal.value}"
            )
        return proposal.value

    def _n_tokens(self):
        return self.map.weights.shape[2 if self.side == "query" else 3]

    @traitlets.observe("tab", "side")
    def _stay_inside(self, _):
        """Maps differ in size: after a change, point at nothing that is not there."""
        n_layers, n_heads = self.map.weights.shape[:2]
        with self.hold_sync():
            self.layer = min(self.layer, n_layers - 1)
            self.head = min(self.head, n_heads - 1)
            if self.selected is not None and self.selected >= self._n_tokens():
                self.selected = None


def _described(one, scale):
    layers, heads = one.weights.shape[:2]
    names = ("name", "label", "queries", "keys", "rows", "causal", "raw_queries", "raw_keys")
    named = {name: getattr(one, name) for name in names}
    return {**named, "layers": layers, "heads": heads, "scale": scale}


def attention_view(weights, query_tokens=None, key_tokens=None, **state):
    """Show attention so that it can be explored: layers, heads, tokens, numbers.

    Three ways in: ``attention_view(translator.attend("…"))``,
    ``attention_view(minilm.attend("…"))``, ``attention_view(weights, query_tokens, key_tokens)``.

    Parameters
    ----------
    weights : Attention, dict, tensor, array, or one tensor for each layer
        What `attend` returned; or a dict of name to (weights, query_tokens, key_tokens), a tab
        for each; or weights of shape (layers, heads, queries, keys), (heads, queries, keys) or
        (queries, keys). Fractions, zero or more; each row belongs to one query.
    query_tokens : sequence of str, length queries, default=None
        Who looks. By default they are numbered.
    key_tokens : sequence of str, length keys, default=None
        Who is looked at. By default the queries, if there are as many.
    **state
        What to open: `tab`, `layer`, `head`, `view` (``"heatmap"`` or ``"lines"``), `selected`
        (index of a token), `side` (``"query"`` or ``"key"``).

    Returns
    -------
    view : AttentionView
        Last in a cell, it shows itself. Its traits `tab`, `layer`, `head`, `view`, `selected` and
        `side` can be set and observed; `.weights` is the map on show.

    Raises
    ------
    TypeError, ValueError
        If the weights are no attention weights or the tokens do not fit them.
    """
    return AttentionView(read_maps(weights, query_tokens, key_tokens), **state)
