"""The attention view's Python side: what it accepts, holds, refuses and leaves in a notebook."""

import base64
import json
import re
from xml.etree import ElementTree

import numpy
import pytest
import torch
from ipywidgets import embed
from samples import refuses
from traitlets import TraitError

from helpers.widgets import fallback
from helpers.widgets.attention_maps import pack, read_maps
from helpers.widgets.attention_view import attention_view
from helpers.widgets.svg import Sheet, side_by_side

WORDS = ["The", "tired", "cat", "slept"]


def some_weights(*shape):
    """Draw attention weights: rows that sum to one."""
    return torch.randn(shape).mul(2).softmax(-1)


@pytest.fixture
def view():
    return attention_view(some_weights(2, 3, 4, 4), WORDS)


@pytest.fixture(scope="module")
def attended(translator):
    return translator.attend("Un chien court dans la neige.")


# ---- three ways in ---------------------------------------------------------------------------


def test_the_translator_brings_three_tabs(attended):
    view = attention_view(attended)
    assert list(view.maps) == ["encoder", "decoder", "cross"]
    assert [one["label"] for one in view._maps] == ["Encoder", "Decoder", "Cross-attention"]
    for name, (weights, queries, keys) in attended.maps.items():
        assert view.maps[name].weights.shape == tuple(weights.shape)
        assert view.maps[name].raw_queries == list(queries)
        assert view.maps[name].raw_keys == list(keys)
        assert numpy.allclose(view.maps[name].weights, numpy.asarray(weights))
    rows = [view.maps[name].rows for name in ("decoder", "cross")]
    assert rows[0] == rows[1]  # what is read, and what is written then
    assert rows[0][:2] == ["<bos> → A", "A → dog"]
    assert rows[0][-1].endswith("→ <eos>")
    assert [one["causal"] for one in view._maps] == [False, True, False]
    view.tab = "cross"
    alt, drawn = picture_of(view)
    assert "rows are queries (reads → predicts)" in alt
    assert "&lt;bos&gt; → A to " in alt
    assert ">reads → predicts</text>" in drawn


@pytest.mark.parametrize("shape", [(4, 4), (3, 4, 4), (2, 3, 4, 4), (1, 2, 3, 4, 4)])
def test_arrays_and_tensors_of_two_to_five_axes(shape):
    weights = some_weights(*shape)
    for given in (weights, weights.numpy(), weights.double(), weights.bfloat16()):
        shown = attention_view(given, WORDS).map.weights
        assert shown.shape == (1, 1, 1, 1, *shape)[-4:]
        assert numpy.allclose(shown, weights.numpy().reshape(shown.shape), atol=5e-3)


def test_weights_that_still_know_their_gradient_and_nested_lists():
    weights = torch.randn(4, 4, requires_grad=True).softmax(-1)
    assert numpy.allclose(attention_view(weights, WORDS).weights, weights.detach())
    assert attention_view([[0.5, 0.5], [0.0, 1.0]]).weights.tolist() == [[0.5, 0.5], [0.0, 1.0]]


def test_one_tensor_for_each_layer_as_other_libraries_give_them():
    layers = tuple(some_weights(1, 3, 4, 4) for _ in range(2))
    shown = attention_view(layers, WORDS).map.weights
    assert numpy.array_equal(shown, torch.cat(layers).numpy())


def test_keys_differ_from_queries_and_missing_tokens_are_numbered():
    view = attention_view(some_weights(2, 3), ["a", "b"], ["x", "y", "z"])
    assert (view.map.queries, view.map.keys) == (["a", "b"], ["x", "y", "z"])
    assert attention_view(some_weights(2, 3)).map.keys == ["0", "1", "2"]


# ---- traits ----------------------------------------------------------------------------------


def test_traits_open_where_they_are_told(attended):
    view = attention_view(attended, tab="cross", layer=2, head=-1, view="lines", selected=1)
    assert (view.tab, view.layer, view.head, view.view) == ("cross", 2, 3, "lines")
    assert numpy.array_equal(view.weights, attended.maps["cross"][0][2, 3])


def test_traits_refuse_what_is_not_there(view):
    before = view.get_state()
    refuses("layer must be between 0 and 1; got 2", view.set_trait, "layer", 2)
    refuses("head must be between 0 and 2; got -4", view.set_trait, "head", -4)
    refuses("between 0 and 3, a query; got 4", view.set_trait, "selected", 4)
    refuses("got -1", view.set_trait, "selected", -1)
    refuses("there is no tab 'cross'", view.set_trait, "tab", "cross")
    refuses("heatmap", view.set_trait, "view", "table", error=TraitError)
    refuses("query", view.set_trait, "side", "value", error=TraitError)
    assert view.get_state() == before


def test_a_smaller_tab_takes_layer_head_and_token_back_inside():
    maps = {
        "large": (some_weights(4, 4, 4, 4), WORDS, WORDS),
        "small": (some_weights(1, 2, 2, 2), WORDS[:2], WORDS[:2]),
    }
    view = attention_view(maps, layer=3, head=3, selected=3)
    view.tab = "small"
    assert (view.layer, view.head, view.selected) == (0, 1, None)


def test_a_key_beyond_the_queries_can_be_selected_only_as_a_key():
    view = attention_view(some_weights(2, 5), selected=4, side="key")
    assert view.selected == 4
    view.side = "query"
    assert view.selected is None


# ---- errors ----------------------------------------------------------------------------------


def test_errors_say_what_came_and_what_to_do():
    two, large = some_weights(2, 2), numpy.zeros((1, 4001, 4001), numpy.float16)
    refuses("got str", attention_view, "hello", error=TypeError)
    refuses(r"got \(3,\)", attention_view, some_weights(3))
    refuses(r"choose one sentence: weights\[0\]", attention_view, some_weights(2, 1, 1, 2, 2))
    refuses("nothing to show", attention_view, torch.zeros(2, 0, 3, 3))
    refuses("1 query tokens, but the weights have 2 rows", attention_view, two, ["a"])
    refuses(r"try .split\(\)", attention_view, two, "ab", error=TypeError)
    refuses("NaN or infinite in layer 0, head 0", attention_view, two / 0 - two / 0)
    refuses(r"Then show scores.softmax\(-1\)", attention_view, -torch.ones(2, 2))
    refuses("the dict of maps is empty", attention_view, {})
    refuses("map 'one': expected three things", attention_view, {"one": two})
    refuses("too many for a browser", attention_view, large)


def test_an_option_that_is_not_there_and_tokens_beside_an_attention_record_are_refused(attended):
    said = "no heads. What can be set: tab, layer, head"
    refuses(said, attention_view, attended, heads=3, error=TypeError)
    refuses("leave the other arguments out", attention_view, attended, WORDS)


# ---- how weights travel ----------------------------------------------------------------------


@pytest.mark.parametrize(("n", "worst"), [(7, 0.0005), (80, 0.000125)])
def test_packed_weights_come_back_within_half_a_step(n, worst):
    maps = read_maps(
        {"a": (some_weights(2, 3, n, n), None, None), "b": (some_weights(3, n), None, None)}
    )
    data, scales = pack(maps)
    every = numpy.frombuffer(data, "<u2")
    for one, scale in zip(maps, scales, strict=True):
        mine, every = every[: one.weights.size], every[one.weights.size :]
        back = mine.reshape(one.weights.shape) / scale
        assert numpy.abs(back - one.weights).max() <= worst + 1e-6
    assert not every.size


def test_weights_above_one_are_kept_and_only_one_is_one():
    (one,) = read_maps([[0.0, 2.5], [90.0, 0.0]])
    data, (scale,) = pack([one])
    assert numpy.allclose(numpy.frombuffer(data, "<u2") / scale, [0, 2.5, 90, 0], atol=0.002)
    (nearly,) = read_maps([[0.9996, 0.0004], [1.0, 0.0]])
    assert numpy.frombuffer(pack([nearly])[0], "<u2").tolist() == [999, 0, 1000, 0]


def test_what_is_on_show_is_saved_as_a_drawing(tmp_path):
    attention_view(some_weights(4, 4), WORDS[:4]).save(tmp_path / "map.svg")
    assert ElementTree.parse(tmp_path / "map.svg").getroot().tag.endswith("svg")


def test_six_layers_of_twelve_heads_at_forty_tokens_stay_under_400_kb():
    view = attention_view(some_weights(6, 12, 40, 40), [f"token{i}" for i in range(40)])
    state = embed.dependency_state([view], drop_defaults=False)  # with its bytes as text
    size = len(json.dumps(state)) + len(json.dumps(view._repr_mimebundle_()))
    assert 6 * 12 * 40 * 40 < size <= 400_000  # more than a byte a weight: they are in it


# ---- tokens ----------------------------------------------------------------------------------


def test_tokens_are_readable():
    for tokens, shown in (
        (["[CLS]", "play", "##ing", "."], ["[CLS]", "play", "‿ing", "."]),
        (["▁The", "▁ti", "red", "<eos>"], ["The", "ti", "‿red", "<eos>"]),
        (["ĠThe", "Ġti", "red", "Ċ"], ["The", "ti", "‿red", "↵"]),
        (["the", " ", "", "\t"], ["the", "␣", "∅", "⇥"]),
        (["القط", "疲れた", "\u202e", "\ud83d"], ["القط", "疲れた", "U+202E", "\\ud83d"]),
    ):
        assert attention_view(some_weights(4, 4), tokens).map.queries == shown


# ---- what stays in a notebook ----------------------------------------------------------------


def picture_of(view):
    """Return the static picture's alt text and SVG."""
    alt, data = re.search(r'<img alt="(.*?)" [^>]*base64,(.*?)">', view.static_html()).groups()
    return alt, base64.b64decode(data).decode("utf-8")


def test_the_static_picture_says_in_words_where_each_query_looks():
    view = attention_view([[0.9, 0.1], [0.002, 0.998]], ["il", "dort"], ["he", "sleeps"])
    alt, svg = picture_of(view)
    assert "il to he (0.90), dort to sleeps (&gt;0.99)." in alt
    assert all(f">{word}</text>" in svg for word in ("il", "dort", "he", "sleeps"))


def test_the_static_picture_follows_the_state(view):
    first = picture_of(view)
    view.layer, view.head = 1, 2
    second = picture_of(view)
    assert "layer 2 of 2, head 3 of 3" in second[0]
    assert second[1] != first[1]
    view.selected = 1
    assert picture_of(view)[1] != second[1]


def test_a_small_view_brings_its_javascript_and_a_large_one_its_picture_alone():
    small = attention_view(some_weights(3, 4, 12, 12)).static_html()
    assert "comeAlive(place" in small
    assert len(small) < 60_000
    assert "<script" not in attention_view(some_weights(6, 12, 40, 40)).static_html()


@pytest.mark.parametrize(
    "token", ["a\x00b", "\x1b[31m", "\x0b", "\ufffe", "\x85", '"><b>&', "\ud83d", "<script>a"]
)
def test_no_token_breaks_the_pictures_xml_and_html_is_only_ever_text(token):
    alt, svg = picture_of(attention_view(some_weights(2, 2), [token, "b"]))
    assert "rect" in svg
    assert "<" not in alt
    assert not re.search("<b>|<script", svg)
    ElementTree.fromstring(svg)
    sheet = Sheet(10, 10)
    sheet.text(0, 0, token)
    sheet.target(0, 0, 5, 5, token, word=token)
    ElementTree.fromstring(side_by_side([sheet], token))


# ---- in a cell -------------------------------------------------------------------------------


class Shell:
    """As much of IPython as showing a widget asks for: one cell that runs again and again."""

    def __init__(self):
        self.user_ns, self.ran, self.number, self.events = {"_oh": {}}, [], 0, self
        self.displayhook = self

    def register(self, event, call):
        self.ran.append(call)

    def unregister(self, event, call):
        self.ran.remove(call)

    def get_parent(self):
        return {"metadata": {"cellId": self.cell}, "header": {"msg_id": str(self.number)}}

    def run(self, cell, *widgets):
        self.cell, self.number = cell, self.number + 1
        for widget in widgets:
            widget._ipython_display_()
            self.user_ns["_oh"][self.number] = self.user_ns["_"] = widget
        for call in list(self.ran):
            call(None)


@pytest.fixture
def shell(monkeypatch):
    made = Shell()
    monkeypatch.setattr(fallback, "get_ipython", lambda: made)
    monkeypatch.setattr(fallback, "display", lambda *args, **kwargs: None)
    monkeypatch.setattr(fallback, "_shown", {})
    return made


def test_a_cell_run_again_closes_what_it_showed_before(shell):
    first, second, third = (attention_view(some_weights(2, 2)) for _ in range(3))
    shell.run("a", first, second)
    assert first.comm
    shell.run("a", third)
    assert [bool(one.comm) for one in (first, second, third)] == [False, False, True]
    assert first not in shell.user_ns["_oh"].values()


def test_a_view_that_is_shown_elsewhere_or_again_stays_open(shell):
    here, both = (attention_view(some_weights(2, 2)) for _ in range(2))
    shell.run("a", here, both)
    shell.run("b", both)
    shell.run("a", here)
    assert here.comm
    assert both.comm


def test_the_picture_and_the_live_view_are_two_outputs(shell, monkeypatch, view):
    shown = []
    monkeypatch.setattr(fallback, "display", lambda bundle, raw: shown.append(bundle))
    shell.run("a", view)
    assert fallback.TO_PLAY in shown[0]["text/html"]
    assert fallback.LIVE_VIEW not in shown[0]
    assert shown[1][fallback.LIVE_VIEW]["model_id"] == view.model_id
    shell.user_ns["__vsc_ipynb_file__"] = "lesson.ipynb"
    shell.run("a", view)
    assert len(shown) == 3
    assert {"text/html", fallback.LIVE_VIEW} <= set(shown[2])
