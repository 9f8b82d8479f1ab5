"""The attention view in a real JupyterLab: every control moved, and what is painted looked at."""

import re

import pytest
from playwright.sync_api import expect
from samples import once_a_week
from waits import PATIENCE, change_theme, expect_told, press, report, run_in_kernel

# Weights that can be foretold: in layer l, head h, query q attends to key (q + l + h) mod 5 with
# 0.8, at every other key with 0.05.
FORETOLD = """
import numpy
from helpers.widgets.attention_view import attention_view
q, k = numpy.mgrid[:5, :5]
one = lambda turn: numpy.where(k == (q + turn) % 5, 0.8, 0.05)
weights = numpy.stack([[one(layer + head) for head in range(3)] for layer in range(2)])
words = ["The", "<script>alert(1)</script>", "قطة", "は", "<eos>"]
cross = (weights[:, :, :2], words[:2], words)
view = attention_view({"encoder": (weights, words, words), "cross": cross})
view
"""
CELL = ".av-field canvas"


@pytest.fixture
def page(open_notebook):
    page = open_notebook([FORETOLD, report("tab layer head view selected side")], size=(1280, 1000))
    page.wait_for_selector(".av-stage[data-painted]")
    return page


# Reads from the painted pixels which column is the darkest in each row of the heatmap.
DARKEST_COLUMNS = """([selector, expected]) => {
  const canvas = document.querySelector(selector);
  const label = canvas.getAttribute('aria-label');
  const [rows, columns] = label.match(/\\d+(?= quer| key)/g).map(Number);
  const [w, h] = [canvas.width / columns, canvas.height / rows];
  const context = canvas.getContext('2d');
  const found = Array.from({ length: rows }, (_, q) => {
    const light = Array.from({ length: columns }, (_, k) => {
      // Near a cell's corner, where no number is written.
      const { data } = context.getImageData(k * w + w * 0.12, q * h + h * 0.12, 1, 1);
      return data[0] + data[1] + data[2];
    });
    return light.indexOf(Math.min(...light));
  });
  return String(found) === String(expected);
}"""


def turned(turn, rows=5):  # which column is the darkest in each row of the foretold weights
    return [(q + turn) % 5 for q in range(rows)]


def expect_columns(page, columns):
    """Wait until the painted heatmap has its darkest cells there."""
    page.wait_for_function(DARKEST_COLUMNS, arg=[CELL, columns])


def readout(page):
    return re.split(r"\n+", page.locator(".av-readout").inner_text().strip())


def test_sliders_head_grid_and_keys_choose_what_is_painted(page):
    expect_columns(page, turned(0))
    page.get_by_label("Head", exact=True).fill("3")
    expect_columns(page, turned(2))
    assert "What does head 1 look at?" in page.locator(".av-told").inner_text()  # it was the last
    page.get_by_label("Layer", exact=True).fill("2")
    expect_columns(page, turned(3))
    expect_told(page, "encoder 1 2 heatmap None query")
    assert page.locator(".av-count").all_inner_texts() == ["2 of 2", "3 of 3"]
    page.get_by_label("Head", exact=True).press("ArrowLeft")
    expect_columns(page, turned(2))
    page.get_by_label("Layer", exact=True).press("Home")
    expect_told(page, "encoder 0 1 heatmap None query")

    page.get_by_role("button", name="Layer 2, head 1", exact=True).click()
    expect_columns(page, turned(1))
    assert page.locator(".av-head[aria-pressed=true]").get_attribute("data-head") == "0"
    page.keyboard.press("ArrowRight")
    expect_told(page, "encoder 1 1")
    expect_columns(page, turned(2))
    page.keyboard.press("h")
    expect_columns(page, turned(3))
    press(page, "Shift+H", "l")
    expect_told(page, "encoder 0 1")
    expect_columns(page, turned(1))


def test_tabs_and_the_two_views(page):
    heatmap = page.locator(CELL).evaluate("canvas => canvas.toDataURL()")
    page.get_by_role("tab", name="Cross-attention").click()
    expect_columns(page, turned(0, rows=2))
    assert page.locator(".av-query [role=option]").count() == 2
    page.keyboard.press("ArrowLeft")
    expect_told(page, "encoder")
    page.get_by_role("button", name="Lines").click()
    lines = page.locator(".av-lines canvas")
    lines.wait_for()
    faint = lines.evaluate("canvas => canvas.toDataURL()")
    assert faint != heatmap
    page.locator(".av-lines .av-query [role=option]").nth(0).hover()
    assert page.locator(".av-lines .av-key .av-weight").all_inner_texts() == ["0.80"] + 4 * ["0.05"]
    assert lines.evaluate("canvas => canvas.toDataURL()") != faint
    page.locator(".av-lines .av-query [role=option]").nth(1).focus()
    page.keyboard.press("v")
    expect_told(page, "encoder 0 0 heatmap")
    expect_columns(page, turned(0))


def test_pointing_reads_weights_out_and_a_click_pins(page):
    rows = page.locator(".av-query [role=option]")
    rows.nth(0).hover()
    assert readout(page)[0] == "The attends to"
    assert readout(page)[1:3] == ["The", "0.80"]
    assert page.locator(".av-band").is_visible()
    page.locator(".av-key [role=option]").nth(4).hover()
    assert readout(page)[0] == "<eos> is attended to by"
    name = page.locator(".av-key .av-token").nth(1).bounding_box()  # slanted over the next columns
    page.mouse.move(name["x"] + name["width"] * 0.75, name["y"] + name["height"] * 0.25)
    assert readout(page)[0] == "<script>alert(1)<… is attended to by"
    box = page.locator(CELL).bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.9)
    assert page.locator(".av-tip").inner_text() == "<eos> to قطة 0.05"

    rows.nth(2).click()
    expect_told(page, "encoder 0 0 heatmap 2 query")
    page.mouse.move(5, 5)
    assert readout(page)[:3] == ["قطة attends to", "قطة", "0.80"]
    assert rows.nth(2).get_attribute("aria-selected") == "true"
    rows.nth(2).click()
    expect_told(page, "encoder 0 0 heatmap None query")
    page.locator(".av-key [role=option]").nth(3).click()
    expect_told(page, "encoder 0 0 heatmap 3 key")


# A translator's map: what is read at every row, and what is predicted there.
TRANSLATED = """
import numpy
from types import SimpleNamespace
from helpers.widgets.attention_view import attention_view
tokens = lambda name: [f"{name}{i}" for i in range(14)]
maps = {"cross": (numpy.eye(14)[None, None], tokens("read"), tokens("key"))}
attention_view(SimpleNamespace(maps=maps, target_tokens=tokens("next")))
"""


def test_on_a_phone_controls_headline_and_map_are_seen_at_once(open_notebook):
    page = open_notebook([TRANSLATED], size=(390, 844))
    row = page.locator(".av-query [role=option]").nth(0)
    assert row.inner_text() == "→ next0"  # not "read0": both don't fit
    assert page.locator(".av-means").inner_text() == "→ predicts"
    said = page.locator(".av-told b")
    assert said.inner_text().endswith("reading “read0”, predicting “next0”, 1.00 on “key0”.")
    row.click()
    page.mouse.move(5, 5)
    assert said.inner_text().startswith("read0 → next0 attends to key0 1.00, key1 0.00;")
    boxes = [page.locator(f".av-{name}").bounding_box() for name in ("bar", "told", "stage")]
    assert [box["y"] for box in boxes] == sorted(box["y"] for box in boxes)
    # What JupyterLab's bars leave.
    assert boxes[2]["y"] + boxes[2]["height"] - boxes[0]["y"] < 844 - 130
    assert page.locator(".av-scroll").evaluate("map => map.scrollWidth <= map.clientWidth")
    page.get_by_role("button", name="Lines").click()
    assert page.locator(".av-lines canvas").bounding_box()["width"] > 80
    page.get_by_role("button", name="Heatmap").click()
    page.set_viewport_size({"width": 900, "height": 700})
    page.locator(".av:not([data-small])").wait_for()
    assert row.inner_text() == "read0 → next0"
    assert page.locator(".av-bar-track").first.bounding_box()["width"] > 100


def test_the_keyboard_alone_and_the_summary_for_screen_readers(page):
    page.get_by_role("tab", name="Encoder").focus()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.av-query [role=option]')"):
            break
    page.keyboard.press("ArrowDown")
    summary = page.locator(".av [role=status]")
    expect(summary).to_contain_text("attends to", timeout=PATIENCE)
    assert summary.text_content() == (
        "Encoder, layer 1, head 1. <script>alert(1)</script> attends to "
        "<script>alert(1)</script> 0.80, The 0.05, قطة 0.05, は 0.05, <eos> 0.05."
    )
    page.keyboard.press("Enter")
    expect_told(page, "encoder 0 0 heatmap 1 query")
    press(page, "End", "Home")
    assert page.evaluate("document.activeElement.dataset.index") == "0"
    page.keyboard.press("ArrowRight")  # over to the keys
    assert page.evaluate("document.activeElement.dataset.side") == "key"
    ring = "part => getComputedStyle(part).outlineStyle"  # round the slanted name alone
    focused = page.locator(".av-key [role=option]:focus")
    assert focused.evaluate(ring) == "none"
    assert focused.locator(".av-token").evaluate(ring) == "solid"
    page.keyboard.press("Escape")
    expect_told(page, "encoder 0 0 heatmap None")


def test_html_stays_text_python_changes_the_page_and_the_dark_theme_paints_dark(page):
    assert page.locator(".av script").count() == 0
    names = page.locator(".av-query .av-token").all_inner_texts()
    assert names == ["The", "<script>alert(1)<…", "قطة", "は", "<eos>"]
    box = page.locator(CELL).bounding_box()
    for name in page.locator(".av-query .av-token").all():
        mine = name.bounding_box()
        assert mine["x"] + mine["width"] <= box["x"]  # left of the map, whatever its direction

    run_in_kernel(page, "view.head = 1; view.selected = 3")
    expect_columns(page, turned(1))
    expect(page.locator(".av-readout")).to_contain_text("は attends to", timeout=PATIENCE)
    assert readout(page)[1:3] == ["<eos>", "0.80"]
    light = page.locator(CELL).evaluate("canvas => canvas.toDataURL()")
    change_theme(page, "Dark")
    page.wait_for_selector(".av[data-theme=dark]")
    page.wait_for_function(
        "light => document.querySelector('.av-field canvas').toDataURL() !== light", arg=light
    )
    paper = page.locator(".av").evaluate("el => getComputedStyle(el).backgroundColor")
    assert paper == "rgb(18, 24, 31)"
    run_in_kernel(page, "view.tab = 'cross'; view.view = 'lines'")
    rows = page.locator(".av-lines .av-query [role=option]")
    expect(rows).to_have_count(2, timeout=PATIENCE)


@pytest.mark.parametrize("n", once_a_week([2, 40, 200], [200]))
def test_few_and_many_tokens_stay_readable(open_notebook, n):
    code = f"""
import numpy
from helpers.widgets.attention_view import attention_view
attention_view(numpy.full((2, 4, {n}, {n}), 1 / {n}), ["word"] * {n})
"""
    page = open_notebook([code])
    page.wait_for_selector(".av-stage[data-painted]")
    page.locator(".av-query [role=option]").nth(0).hover()
    assert readout(page)[2] == f"{1 / n:.2f}"
    seen = page.evaluate(
        """() => [...document.querySelectorAll('.av-query .av-option:not(.av-thin)')]
               .map(option => option.firstChild.getBoundingClientRect().top)"""
    )
    apart = [below - above for above, below in zip(seen, seen[1:], strict=False)]
    assert min(apart) >= 16  # lines of text do not run into each other
    too_wide = page.locator(".av").evaluate("view => view.scrollWidth > view.clientWidth")
    assert not too_wide  # long maps scroll inside the view
