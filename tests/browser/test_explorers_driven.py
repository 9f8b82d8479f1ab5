"""Explorers and the attention view driven by hand in a real JupyterLab, today and tomorrow."""

from waits import change_theme, enter, press

from helpers.widgets import modules
from helpers.widgets.ward_round import WardRound

SOFTMAX = """
from helpers.widgets.softmax_scale import SoftmaxTemperature
explorer = SoftmaxTemperature()
explorer
"""
DOTS = "from helpers.widgets.dot_products import DotProducts\nDotProducts(q_x=0.5)"
SIX = "from helpers.widgets.six_steps import SixSteps\nSixSteps(step=1)"
VIEW = """
import numpy
from helpers.widgets.attention_view import attention_view
weights = numpy.full((2, 3, 5, {n}), 1 / {n})
attention_view({{"one": (weights, None, None), "two": (weights[:, :, :2], None, None)}})
"""
STEPPER = """
from helpers.pretrained.toy_models import load_toy
from helpers.widgets.rnn_stepper import RNNStepper
gru = load_toy("gru")
RNNStepper(gru.model, gru.source, gru.target, "la grande fille chante.", kept=128)
"""
SCORES = '.ex .handle[aria-label$=" score"]'


def wait_for(page, wanted):
    page.wait_for_function(
        """([place, wanted]) => String(wanted) === String([...document.querySelectorAll(place)].map(
            bar => Number(bar.getAttribute('aria-valuenow'))))""",
        arg=[SCORES, wanted],
    )


def test_bars_are_dragged_tapped_and_moved_by_keys(open_notebook):
    page = open_notebook([SOFTMAX, DOTS], size=(1280, 800))
    bars = page.locator(SCORES)
    bars.first.wait_for()
    wait_for(page, [2, 1, 0.5, 0, -1])
    box = bars.nth(1).bounding_box()
    x, top, tall = box["x"] + box["width"] / 2, box["y"], box["height"]
    page.mouse.move(x, top + tall / 2)
    page.mouse.down()
    page.mouse.move(x, top + tall / 4, steps=5)
    wait_for(page, [2, 2, 0.5, 0, -1])
    page.mouse.move(x, top - 200)  # beyond the end
    page.mouse.up()
    wait_for(page, [2, 4, 0.5, 0, -1])
    page.mouse.move(x, top + tall)  # the hand is open again
    bars.nth(0).press("ArrowDown")
    wait_for(page, [1.9, 4, 0.5, 0, -1])
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "The first score"
    page.keyboard.press("End")
    wait_for(page, [4, 4, 0.5, 0, -1])
    page.keyboard.press("Home")
    wait_for(page, [-4, 4, 0.5, 0, -1])
    press(page, "x", "b")  # JupyterLab would cut the cell, or insert one
    assert page.evaluate("jupyterapp.shell.currentWidget.content.widgets.length") == 2
    page.get_by_role("button", name="Start again").first.click()
    wait_for(page, [2, 1, 0.5, 0, -1])
    page.get_by_label("Temperature", exact=True).press("ArrowLeft")  # a step that can be seen
    page.locator(".ex-value", has_text="0.95").wait_for()
    viewer = page.get_by_role("slider", name="viewer")
    viewer.drag_to(page.get_by_role("slider", name="Bear Hug"))  # from below an arrow
    page.locator(".handle[aria-valuetext='1.5, −1.0']").and_(viewer).wait_for()


def test_on_a_phone_a_dragged_control_stays_and_the_list_of_words_closes(open_notebook):
    page = open_notebook([STEPPER], size=(390, 844))
    handle, known = page.get_by_role("slider", name="Let through"), page.locator(".ex-known")
    top = """handle => Math.round(handle.getBoundingClientRect().y
        - handle.closest(".ex").getBoundingClientRect().y)"""
    tops = set()
    for keys, kept in (["End"], 128), (["Home"], 0), (["ArrowRight"] * 5, 5):  # held: none is lost
        handle.focus()
        press(page, *keys)
        page.locator(".ex text", has_text=f"Let through: {kept} of 128").wait_for()
        tops.add(handle.evaluate(top))
    assert len(tops) == 1
    for leave in (
        lambda: page.keyboard.press("Escape"),
        lambda: page.get_by_role("button", name="Start again").click(),
    ):
        known.locator("summary").click()
        words, step = known.locator("div").bounding_box(), page.get_by_label("Step", exact=True)
        assert words["y"] + words["height"] <= step.bounding_box()["y"]  # it covers nothing
        page.get_by_role("textbox", name="Sentence").click()  # where they're needed
        assert known.evaluate("list => list.open")
        known.locator("summary").focus()
        leave()
        assert not known.evaluate("list => list.open")


def test_play_runs_to_the_end_and_refusals_stand_at_their_field(open_notebook):
    page = open_notebook([SIX], size=(1024, 768))
    assert not page.locator("audio").count()  # nothing to be heard
    page.get_by_role("button", name="Play: Step").click()
    page.get_by_role("button", name="Pause: Step").wait_for()
    page.get_by_label("Step", exact=True).press("ArrowRight")  # the hand has taken over
    page.get_by_role("button", name="Play: Step").click()
    page.get_by_role("button", name="Start again").click()
    page.get_by_role("button", name="Play: Step").click()
    page.locator(".ex-value", has_text="6 of 6").wait_for()
    for key in ("Home", "End", "ArrowLeft"):  # faster than Python answers
        page.get_by_label("Step", exact=True).press(key)
    page.locator(".ex-value", has_text="5 of 6").wait_for()
    page.keyboard.press("End")
    field = page.get_by_label("x of cat")
    enter(field, "one two")
    note = page.locator(".ex-field", has=field).get_by_role("alert")
    note.wait_for()
    assert "three numbers" in note.inner_text()
    assert note.bounding_box()["y"] - field.bounding_box()["y"] < 60
    assert field.get_attribute("aria-invalid") == "true"
    box, told = note.bounding_box(), page.locator(".ex-told").bounding_box()
    assert box["y"] + box["height"] <= told["y"]  # the headline stays in view
    field.fill("one two three")
    page.get_by_role("button", name="Play: Step").click()  # from the beginning: it asks first
    page.locator(".ex-value", has_text="1 of 6").wait_for()
    page.get_by_role("button", name="Play: Step").wait_for()
    assert page.locator(".ex-value", has_text="1 of 6").count()
    assert "three numbers" in note.inner_text()
    menu = page.get_by_label("Word", exact=True)
    menu.press("ArrowDown")
    assert menu.evaluate("menu => menu.selectedOptions[0].textContent") == "cat"
    note.wait_for(state="hidden")  # something else was done: the field shows what holds
    assert field.input_value() == "0 2 1"
    page.locator(".ex text", has_text="q of “cat”").wait_for()
    assert not page.locator(".ex-scrolled").count()
    page.set_viewport_size({"width": 340, "height": 768})
    page.locator(".ex-picture > .ex-scrolled").first.wait_for()  # letters never run into another
    page.wait_for_function(
        """() => { const svg = document.querySelector(".ex-picture svg");
            const box = svg?.getBoundingClientRect();
            return box && 16 * box.width / svg.viewBox.baseVal.width > 11.9; }"""
    )


def test_the_next_day_there_is_a_picture_and_no_error(open_notebook):
    page = open_notebook([SOFTMAX, VIEW.format(n=5)], size=(1280, 1200))
    page.locator(".av-stage[data-painted]").wait_for()
    # Live, there's no picture beside it.
    shown = "[...document.querySelectorAll('.course-still')].some(still => still.offsetParent)"
    page.wait_for_function(f"!{shown}")
    page.evaluate("jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("() => !jupyterapp.shell.currentWidget.context.model.dirty")
    page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_function("() => window.jupyterapp && document.querySelector('.course-still')")
    page.locator(".course-still .av-stage[data-painted]").wait_for()  # this one needs no kernel
    assert page.locator(".course-still > p").all_inner_texts() == [
        "To play, run the cells above first (in the Run menu, “Run All Above Selected Cell”), "
        "then this one."
    ]
    change_theme(page, "Dark")
    dark = "getComputedStyle(document.querySelector('.course-still img')).filter !== 'none'"
    page.wait_for_function(dark)
    assert page.get_by_text("model not found").filter(visible=True).count() == 0


def test_where_no_answer_comes_the_widget_says_what_to_do(chromium):
    page, module = chromium.new_page(), modules.module("explorer.js")
    page.clock.install()
    page.add_script_tag(content=module.replace("export default", "window.view ="), type="module")
    page.evaluate(
        """shown => { const get = (name) => (name === "_shown" ? shown : "A picture");
            window.sent = [];
            const on = (_, update) => (window.answer = () => (shown.answered++, update()));
            const model = { get, send: (message) => sent.push(message.set), on, off() {} };
            view.render({ model, el: document.body }); }""",
        WardRound()._shown,
    )
    places = page.locator(".ex .hit")
    for i in range(3):
        places.nth(i).dispatch_event("click")
    assert not page.get_by_text("run this cell again").count()
    page.clock.fast_forward(9000)
    page.get_by_text("run this cell again").wait_for()
    page.evaluate("answer(), answer()")  # late: no press is lost meanwhile
    assert page.evaluate("sent") == [{"module": i} for i in range(3)]
    page.close()
