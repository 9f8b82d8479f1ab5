"""The map in a real browser: in JupyterLab, and offline in a page without a kernel."""

import re
import time

import numpy
import pytest
from playwright.sync_api import expect
from samples import once_a_week
from waits import change_theme, enter, expect_told, press, report, run_in_kernel

from helpers.data.clothes import Pictures, clothes
from helpers.pretrained.storyteller import load_storyteller
from helpers.pretrained.toy_models import load_toy
from helpers.pretrained.translator import load_translator
from helpers.pretrained.wardrobe import load_wardrobe
from helpers.widgets.colours import LIGHT
from helpers.widgets.model_map import model_map

SENTENCE = "Un chien noir court dans la neige avec un bâton."
LONG = (
    "Un jeune homme portant une veste noire et un chapeau de paille est assis sur un banc dans un "
    "parc à côté d'une femme qui lit un journal pendant que des enfants jouent au ballon."
)
IN_JUPYTERLAB = 606  # pixels left for the map at 1024 × 768 beside the file browser
NOTHING = {"x": 2, "y": 2}  # a corner of the picture, where there's nothing to press
IN_LAB = f"""
from helpers.pretrained.translator import load_translator
from helpers.widgets.model_map import model_map
view = model_map(load_translator().trace({SENTENCE!r}), tour="00")
view
"""


@pytest.fixture(scope="module")
def trace(translator):
    return translator.trace(SENTENCE)


def gpt():
    return load_storyteller().trace("The king said to his daughter")


def vit():
    images, labels = clothes("test", 24)  # the second one is named wrongly
    return load_wardrobe().trace(images[9], Pictures(images[[9, 23]], labels[[9, 23]]))


@pytest.fixture(scope="module")
def sheet(chromium):
    """Keep one page for all maps that need nothing special: a new one takes time."""
    context = chromium.new_context(offline=True)
    yield context.new_page()
    context.close()


@pytest.fixture
def offline(chromium, sheet, tmp_path):
    """Give a function that shows a map in a bare page with the network off."""
    contexts, errors = [], []

    def note(error):
        errors.append(str(error))

    def open_(view, size=(1024, 768), **options):
        path = tmp_path / "map.html"
        path.write_text(f"<meta charset=utf-8>{view.static_html()}", encoding="utf-8")
        page = sheet
        if options:
            contexts.append(chromium.new_context(offline=True, **options))
            page = contexts[-1].new_page()
            page.on("pageerror", note)
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.mouse.move(0, 0)
        page.goto(path.as_uri())
        page.wait_for_selector(".mm-stage[data-painted]")
        return page

    sheet.on("pageerror", note)
    yield open_
    sheet.remove_listener("pageerror", note)
    for context in contexts:
        context.close()
    assert not errors


def expect_at(page, words, depth=None):
    """Wait until the breadcrumb ends with these words, and this depth is on."""
    expect(page.locator(".mm-trail button").last).to_have_text(words)
    if depth:
        expect(page.locator(".mm-depths [aria-pressed=true]")).to_have_text(depth)


def open_(page, name):
    page.get_by_role("button", name=re.compile(name)).first.click()


def pixels(page, x, y, width, height):
    """Read a box of the page from the picture: an array of (pixels, 4), red to opacity."""
    data = page.evaluate(
        """([x, y, width, height]) => {
          const canvas = document.querySelector('.mm-stage canvas');
          const at = canvas.getBoundingClientRect();
          const scale = canvas.width / at.width;
          const box = [x - at.x, y - at.y, width, height].map((one) => one * scale);
          return [...canvas.getContext('2d').getImageData(...box).data];
        }""",
        [x, y, width, height],
    )
    return numpy.array(data).reshape(-1, 4)


def colours(page, name, where=(0.5, 0.5)):
    """Tell how far from the paper it gets, 0 to 765, around one point inside a target."""
    box = page.get_by_role("button", name=re.compile(name)).first.bounding_box()
    x, y = box["x"] + box["width"] * where[0], box["y"] + box["height"] * where[1]
    return 765 - pixels(page, x - 4, y - 4, 9, 9)[:, :3].sum(1).min()


def ink(page, x, y, width, height):
    """Sum over a rectangle of the picture, y in its middle, how far each pixel is from white."""
    return (765 - pixels(page, x, y - height / 2, width, height)[:, :3].sum(1)).sum()


def record_words(page):
    """From now on, keep all words that the map paints in the page's `painted`."""
    page.evaluate(
        """() => {
          window.painted = [];
          const { fillText } = CanvasRenderingContext2D.prototype;
          CanvasRenderingContext2D.prototype.fillText = function (words, ...more) {
            window.painted.push(words);
            return fillText.call(this, words, ...more);
          };
        }"""
    )


def in_colour(page, box, colour):
    """Count the pixels of exactly this colour inside a box of the page."""
    found = pixels(page, box["x"], box["y"], box["width"], box["height"])[:, :3]
    return (found == [int(colour[i : i + 2], 16) for i in (1, 3, 5)]).all(1).sum()


# ---- offline, without a kernel ---------------------------------------------------------------


def test_four_depths_by_mouse_and_back(offline, trace):
    page = offline(model_map(trace))
    assert page.locator("img").count() == 0  # the live map took the picture's place
    high = page.locator(".mm").bounding_box()["height"]
    page.get_by_role("button", name="Decoder layer 3: open it").press("Enter")
    expect_at(page, "Decoder layer 3", "Layer")
    page.locator(".mm-stage").click(position=NOTHING)
    page.keyboard.press("Escape")
    expect_at(page, "The model", "Model")
    open_(page, "^Decoder layer 3: open")  # its middle is a square, which opens itself
    expect_at(page, "Cross-attention, head 2", "Head")
    box = page.get_by_role("button", name=re.compile("^Scores")).bounding_box()
    head = trace.decoder.layers[2][1].heads
    # Row 2 is “black”, column 1 “chien”.
    at = box["x"] + box["width"] * 1.5 / 12, box["y"] + box["height"] * 2.5 / 12
    page.mouse.move(*at)
    told = page.locator(".mm-tip").inner_text().replace("−", "-")
    assert "“black” to “chien”" in told
    assert float(re.search(r"√64 = (-?[\d.]+)", told)[1]) == pytest.approx(
        head.scores[1, 2, 1].item(), abs=0.02
    )
    assert float(re.search(r"weight ([\d.]+)", told)[1]) == pytest.approx(
        head.weights[1, 2, 1].item(), abs=0.005
    )
    page.mouse.click(*at)
    expect_at(page, "“black” to “chien”", "One number")
    assert page.locator(".mm").bounding_box()["height"] == high  # no jump on the way
    for depth in ("Head", "Layer", "Model"):
        page.keyboard.press("Escape")
        expect(page.locator(".mm-depths [aria-pressed=true]")).to_have_text(depth)
    expect_at(page, "The model")


def test_inside_a_norm_and_a_neuron_by_keys_and_back(offline, trace):
    page = offline(model_map(trace, place="encoder/1"))
    words = page.locator(".mm-words")
    page.get_by_role("button", name=re.compile("^After layer norm")).first.press("Enter")
    press(page, "ArrowDown", "Enter")  # the second token's
    expect_at(page, "Layer norm before self-attention")
    expect(page.locator(".mm-depths [aria-pressed=true]")).to_have_count(0)
    x = trace.encoder.layers[1][0].before[4]
    other = page.get_by_role("button", name="Token 5: dans, show it")
    assert other.bounding_box()["height"] >= 24
    other.press("Enter")
    expect(page.get_by_role("button", name="Token 5: dans, shown")).to_be_focused()
    page.get_by_label("Step of the computation").fill("0")
    told = f"mean {x.mean():.2f} and standard deviation {x.std(correction=0):.2f}"
    expect(words).to_contain_text(told.replace("-", "−"))
    page.keyboard.press("Escape")
    expect_at(page, "Encoder layer 2", "Layer")
    page.get_by_role("button", name=re.compile("^Inside the feed-forward")).press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator(".mm-trail")).to_contain_text("Feed-forward, neuron")
    number = int(page.locator(".mm-trail").inner_text().split()[-1])
    column = trace.encoder.layers[1][1].hidden[:, number - 1]
    lit = (column > 0).sum().item()
    assert lit  # a dark one isn't what opens first
    expect(words).to_contain_text(f"{lit} of 12 light neuron {number} up")
    page.locator(".mm-depths").get_by_role("button", name="Head").click()
    expect(page.locator(".mm-depths [aria-pressed=true]")).to_have_text("Head")


def test_a_frame_too_low_for_both_stacks_says_where_the_decoder_is(offline, trace):
    page = offline(model_map(trace), (850, 700))
    expect(page.locator(".mm-below")).to_be_hidden()  # rows for a mouse: both are in view
    frame = page.locator(".mm-frame")
    assert frame.evaluate("frame => frame.scrollHeight <= frame.clientHeight")
    page = offline(model_map(trace), (850, 700), has_touch=True)
    frame = page.locator(".mm-frame")
    assert frame.evaluate("frame => frame.scrollTop") == 0  # the encoder first
    pill = page.get_by_role("button", name="↓ decoder").bounding_box()
    box = frame.bounding_box()
    assert pill["y"] >= box["y"] + box["height"]  # it covers nothing
    page.get_by_role("button", name="↓ decoder").press("Enter")
    page.get_by_role("button", name="↑ encoder").click()
    expect(page.get_by_role("button", name="↓ decoder")).to_be_visible()
    page.locator(".mm-depths").get_by_role("button", name="Layer").click()
    expect(page.locator(".mm-below")).to_be_hidden()


def test_a_followed_row_names_what_it_takes_from_and_with_which_share(offline, trace):
    page = offline(model_map(trace), (1280, 800))
    memory = page.get_by_role("button", name=re.compile("^The encoder's output")).bounding_box()

    def named(row):  # how far from the paper it is, where names stand beside the memory
        y = memory["y"] + memory["height"] * (row + 0.5) / 12
        return ink(page, memory["x"] + memory["width"] + 8, y, 76, 13)

    shares = trace.decoder.layers[2][1].heads.weights.mean(0)[2]
    most = int(shares.argmax())
    open_(page, "^Target token 3: black")
    page.mouse.move(2, 2)
    page.wait_for_function("document.querySelector('.mm-words').innerText.startsWith('Bands')")
    assert "reads “black” and writes “dog”" in page.locator(".mm-words").inner_text()
    found = [named(row) for row in range(12)]
    assert trace.encoder.tokens[most] == "▁chien"
    assert all(found)  # no token is left without its name
    assert max(found) == found[most]  # its share stands there too


@pytest.mark.parametrize("text", [SENTENCE, "Le prêtre mange une pomme rouge dans l'église."])
def test_bands_run_beside_the_names_and_the_future_is_not_there_yet(offline, translator, text):
    page = offline(model_map(translator.trace(text), tour="00"), (1024, 800))

    def orange(x, y, width, height):
        red, _, blue, _ = pixels(page, x, y, width, height).T.astype(int)
        return (red - blue > 60).sum()

    layers = page.get_by_role("button", name=re.compile("layer 3: open it$")).all()
    encoder, decoder = sorted((one.bounding_box() for one in layers), key=lambda box: box["y"])
    below = encoder["y"] + encoder["height"]
    assert not orange(encoder["x"], below + 4, encoder["width"], 20)
    assert not orange(decoder["x"], decoder["y"], 44, 16)
    names = page.get_by_role("button", name=re.compile("^Source token")).all()
    tops = [name.bounding_box()["y"] for name in names]
    assert min(b - a for a, b in zip(tops, tops[1:], strict=False)) >= 10  # a line for each
    between = encoder["x"], below + 25, encoder["width"], 18
    bands = orange(*between)
    stage = page.locator(".mm-stage").bounding_box()
    page.keyboard.press("Escape")
    page.locator(".mm").dispatch_event("pointerdown")  # they stay at rest
    page.wait_for_timeout(100)
    assert orange(*between) == bands
    page.get_by_role("button", name="Take the tour").click()
    page.wait_for_timeout(100)
    assert orange(*between) < 0.8 * bands
    assert ink(page, stage["x"], stage["y"] + stage["height"] - 10, 200, 18)  # so does the key
    page.get_by_label("Step of the computation").fill("0", force=True)
    page.wait_for_timeout(100)
    box = page.get_by_role("button", name=re.compile("^Next token")).bounding_box()
    assert not ink(page, box["x"], box["y"] + 60, box["width"], 60)


def test_a_click_during_the_tour_leaves_a_way_back(offline, trace, translator):
    page = offline(model_map(trace, tour="00"))
    page.get_by_role("button", name="Take the tour: 12 steps").click()
    page.get_by_role("button", name="Next", exact=True).click()
    open_(page, "^Encoder layer 2: open")
    expect_at(page, "Encoder layer 2", "Layer")
    page.get_by_role("button", name="Back to the tour: step 2").click()
    press(page, "ArrowRight", "ArrowLeft")
    expect(page.locator(".mm-count")).to_have_text("2 of 12")
    open_(page, "^Encoder layer 2: open")
    page.keyboard.press("Escape")  # to where one came from
    expect(page.locator(".mm-count")).to_have_text("2 of 12")
    open_(page, "^Encoder layer 2: open")
    page.get_by_role("button", name="Leave the tour").click()  # the offer can be declined
    expect_at(page, "Encoder layer 2", "Layer")
    expect(page.get_by_role("button", name="Take the tour: 12 steps")).to_be_visible()
    view = model_map(trace, tour=["heads"])
    page = offline(view)
    open_(page, "^Take the tour")
    for head, answer in enumerate(view._tour[0]["answer"], 1):  # a second guess is answered, too
        open_(page, f"^Head {head} of self-attention")
        expect(page.locator(".mm-words")).to_contain_text(answer)
        open_(page, "^Layer$")
    short = translator.trace("Un chien noir court.")
    page = offline(model_map(short, here="head", tour=["mask"]), (390, 844))
    record_words(page)
    open_(page, "^Take the tour")
    expect(page.locator(".mm-trail")).to_contain_text("Masked self-attention, head")
    page.wait_for_timeout(300)  # until it's in view
    box = page.get_by_role("button", name=re.compile("^Scores")).bounding_box()
    assert "−∞" in page.evaluate("painted")  # on a phone, too
    each = box["width"] / len(short.decoder.tokens)
    for across, verdict in (
        (2.5, "^No: .* comes after “<bos>”"),
        (0.5, "^Yes: “<bos>” is allowed"),
    ):
        page.mouse.click(box["x"] + across * each, box["y"] + 8)
        expect(page.locator(".mm-words")).to_have_text(re.compile(verdict))
        cell = {**box, "x": box["x"] + int(across) * each, "width": each, "height": each}
        assert in_colour(page, cell, "#b25a06") > 20  # what was guessed stays framed
    page.keyboard.press("n")
    expect(page.get_by_role("button", name="You are here: one head")).to_be_visible()
    page = offline(model_map(trace, tour="00", stop=7))
    # The step asks for a weight of a masked head.
    box = page.get_by_role("button", name="Decoder layer 2: open it").bounding_box()
    for across, says in ((0.42, "That’s cross-attention, which has no mask"), (0.15, "is 1.00")):
        page.mouse.click(box["x"] + across * box["width"], box["y"] + 0.45 * box["height"])
        expect(page.locator(".mm-words")).to_contain_text(says)
    expect_at(page, "Masked self-attention, head 2", "Head")
    box = page.get_by_role("button", name=re.compile("^Weights")).bounding_box()
    assert in_colour(page, box, "#b25a06") > 20
    first = {"x": box["x"] + 5, "y": box["y"] + 5}
    box = page.get_by_role("button", name=re.compile("^Mixture")).bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    told = page.locator(".mm-tip").inner_text()
    assert "“<bos>” collects 1.00 × “<bos>”\n" in told  # and nothing of what is masked out
    page.mouse.click(**first)
    expect_at(page, "“<bos>” to “<bos>”", "One number")
    expect(page.get_by_role("button", name="Why this weight?")).to_have_count(0)  # no other key


def test_each_row_of_a_norm_has_its_scale_and_a_step_shows_no_later_number(offline, trace):
    page = offline(model_map(trace, place="decoder/1/masked-self-attention/norm/5"))
    for name in ("^Before: mean", "^Minus", "^After: ×"):
        box = page.get_by_role("button", name=re.compile(name)).bounding_box()
        ends = (3, box["height"] - 3)
        assert max(ink(page, box["x"], box["y"] + y, box["width"], 4) for y in ends) > 0
    page = offline(model_map(trace, place="decoder/2/cross-attention/0/7,7", beat=2))
    above, below = (
        page.get_by_role("button", name=re.compile(name)).bounding_box()
        for name in ("^Running sum", "^Weights of all keys")
    )
    top = above["y"] + above["height"] + 3
    line = {**above, "y": top, "height": below["y"] - top}
    assert not in_colour(page, line, "#1f6fb2")  # only the sum is told
    page.get_by_label("Step of the computation").fill("3")
    page.wait_for_timeout(100)
    assert in_colour(page, line, "#1f6fb2")


def test_the_keyboard_alone(offline, trace):
    page = offline(model_map(trace))
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.mm-hit')"):
            break
    names = set()
    for key in ("ArrowRight", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
        names.add(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert len(names) >= 5  # each arrow went somewhere
    page.get_by_role("button", name=re.compile("^Encoder layer 2: open")).press("Enter")
    expect_at(page, "Encoder layer 2")
    assert page.evaluate("document.activeElement.matches('.mm-hit')")
    page.get_by_role("button", name=re.compile("^Head 4")).press("Enter")
    page.get_by_role("button", name=re.compile("^Weights")).press("Enter")  # into the matrix
    press(page, "ArrowDown", "ArrowRight")
    expect(page.locator(".mm [role=status]")).to_have_text(re.compile("^“chien” to “chien”"))
    page.keyboard.press("Enter")
    expect_at(page, "“chien” to “chien”")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name=re.compile("^Weights"))).to_be_focused()
    page.keyboard.press("Enter")  # back in the cell that was left
    expect(page.locator(".mm [role=status]")).to_have_text(re.compile("^“chien” to “chien”"))
    press(page, "Escape", "Escape")
    expect_at(page, "Encoder layer 2")
    came_from = page.get_by_role("button", name=re.compile("^Head 4 of self-attention"))
    expect(came_from).to_be_focused()


def test_play_pause_and_steps(offline, trace):
    page = offline(model_map(trace), reduced_motion="reduce")
    slider = page.get_by_label("Step of the computation")
    target = page.get_by_role("button", name=re.compile("^Target token"))
    last = int(slider.get_attribute("max"))
    assert last == 2 + (2 + 1 + 1) + 2 + len(trace.decoder.tokens)
    on = page.get_by_role("button", name=re.compile("^One step on"))
    # All but the end of the sentence is there at first; a step goes on from there, and then ends.
    for value in (last - 2, last - 1):
        expect(slider).to_have_value(str(value))
        on.click()
    page.keyboard.press("n")
    expect(slider).to_have_value(str(last))
    expect(on).to_have_attribute("aria-disabled", "true")
    expect(page.locator(".mm-words")).to_contain_text("“<eos>”")
    slider.fill("0")
    expect(page.locator(".mm-words")).to_have_text("The sentence is cut into tokens.")
    page.keyboard.press("n")
    expect(slider).to_have_value("1")
    page.keyboard.press("b")
    expect(slider).to_have_value("0")
    slider.fill(str(last))
    expect(page.locator(".mm-words")).to_contain_text("“<eos>”")
    expect(target).to_have_count(12)
    for _ in range(2):  # a followed token keeps the step, and letting go of it too
        open_(page, "^Source token 3: noir")
        expect(slider).to_have_value(str(last))
        expect(target).to_have_count(12)
    expect(page.locator(".mm-words")).to_contain_text("“<eos>”")
    slider.fill("4")  # both parts of a layer
    expect(page.locator(".mm-words")).to_contain_text("Encoder layer 2, self-attention: weights")
    expect(page.locator(".mm-words")).to_contain_text("; feed-forward: of the numbers shown")
    slider.fill("8")  # the last of the decoder's layers, for its first token
    expect(page.locator(".mm-words")).to_contain_text(
        "Later layers have weights of their own: layer"
    )
    expect(target).to_have_count(1)
    page.get_by_role("button", name=re.compile("^Play")).click()
    page.wait_for_function("Number(document.querySelector('.mm-player input').value) > 8")
    page.get_by_role("button", name=re.compile("^Pause")).click()
    expect(page.get_by_role("button", name=re.compile("^Play"))).to_be_visible()
    took = []
    for speed in ("½×", "2×"):
        slider.fill(str(last - 2))
        page.get_by_label("Speed").select_option(speed)
        began = time.monotonic()
        page.get_by_role("button", name="Play (P)").click()
        page.wait_for_function(
            "last => document.querySelector('.mm-player input').value > last - 2", arg=last
        )
        took.append(time.monotonic() - began)
        page.get_by_role("button", name="Pause (P)").click()
    assert took[0] > 2 * took[1]


MOVED = [
    ("", "no-preference"), ("encoder/1", "no-preference"), ("encoder/1", "reduce"),
    ("encoder/1/self-attention/norm/1", "no-preference"),
    ("recurrent", "no-preference"),
]  # fmt: skip


@pytest.mark.parametrize("moved", once_a_week(MOVED, [MOVED[0], MOVED[2], MOVED[4]]))
def test_a_step_moves_unless_stillness_is_preferred(offline, trace, moved):
    place, motion = moved
    pair = {"recurrent": load_toy("additive").trace("le chat noir voit le chien .")}.get(place)
    shown = model_map(pair) if pair else model_map(trace, place=place)
    page = offline(shown, reduced_motion=motion)
    page.get_by_label("Step of the computation").fill("1")
    page.wait_for_timeout(100)
    before = page.locator(".mm-stage").get_attribute("data-painted")
    page.keyboard.press("n")
    painted = "before => Number(document.querySelector('.mm-stage').dataset.painted) > +before + 1"
    page.wait_for_function(painted, arg=before)
    picture = "c => c.toDataURL()"
    moving = page.locator(".mm-stage canvas").first.evaluate(picture)
    expect(page.get_by_role("button", name=re.compile("^Play"))).to_be_visible()  # one step only
    page.wait_for_timeout(2000)
    expect(page.get_by_label("Step of the computation")).to_have_value("2")
    assert (moving != page.locator(".mm-stage canvas").first.evaluate(picture)) is (
        motion == "no-preference"
    )


@pytest.mark.parametrize("width", once_a_week([IN_JUPYTERLAB, 864, 1280], [IN_JUPYTERLAB]))
def test_the_tour_of_lesson_00_on_a_page_that_stays_where_it_is(offline, trace, width):
    view = model_map(trace, tour="00")
    page = offline(view, (width, 800))
    heights, pictures = {page.locator(".mm").bounding_box()["height"]}, set()
    page.evaluate("document.body.style.padding = '900px 0'; scrollTo(0, 1200)")
    page.get_by_role("button", name="Take the tour: 12 steps").click()
    for i, step in enumerate(view._tour):
        expect(page.locator(".mm-words")).to_contain_text(step["text"])
        expect(page.locator(".mm-count")).to_have_text(f"{i + 1} of 12")
        page.wait_for_timeout(60)
        assert page.locator(".mm").bounding_box()["y"] >= 0  # the encoder isn't out of sight
        pictures.add(page.locator(".mm-stage canvas").first.evaluate("c => c.toDataURL()"))
        heights.add(page.locator(".mm").bounding_box()["height"])
        page.get_by_role("button", name="Finish" if i == 11 else "Next", exact=True).click()
    assert len(pictures) == 12  # every step shows something of its own
    assert len(heights) == 1
    expect(page.get_by_role("button", name="Take the tour: 12 steps")).to_be_visible()


def test_you_are_here_dims_what_is_not_built_yet(offline, trace):
    page = offline(model_map(trace, here="cross-attention", tour=["cross"]))
    expect(page.get_by_role("button", name="Take the tour: 1 step", exact=True)).to_be_visible()
    assert "cross-attention" in page.locator(".mm-badge").inner_text()
    dim, name = colours(page, "^Encoder, embedding:"), colours(page, "^Source token 2", (0.8, 0.5))
    assert name > 765 - 3 * 0x94  # 3 to 1 against the paper: it can be pressed all the same
    page.locator(".mm-badge").click()
    page.mouse.move(2, 2)
    page.wait_for_timeout(60)
    assert colours(page, "^Encoder, embedding:") > 2 * dim
    assert colours(page, "^Source token 2", (0.8, 0.5)) > 1.5 * name
    depths = page.locator(".mm-depths button")
    for part in ("cross-attention", "masked-self-attention"):  # what is named is what opens
        page = offline(model_map(trace, here=part))
        for depth in (1, 2):
            depths.nth(depth).click()
        expect_at(page, re.compile(rf"^{part.replace('-', '.')}, head", re.I), "Head")
        expect(page.locator(".mm-trail")).to_contain_text("Decoder layer 3")
    page = offline(model_map(trace, here="head"))  # one of them is lit, framed and told of
    expect(page.locator(".mm-words")).to_contain_text("The lit square is what you've just built")
    depths.nth(2).click()
    name = page.locator(".mm-trail button").nth(1).inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    open_(page, "^Light this lesson’s part")
    box = page.get_by_role("button", name=f"{name}: open it").bounding_box()
    page.wait_for_timeout(60)
    assert in_colour(page, box, "#b25a06") > 20


def check_it_fits(page, size):
    """Check every depth: nothing is cut, and nothing scrolls inside."""
    for depth in page.locator(".mm-depths button").all():
        depth.click()
        expect(depth).to_have_attribute("aria-pressed", "true")
        too_wide = page.evaluate(
            """() => [...document.querySelectorAll('.mm, .mm *')].filter(one =>
                 !one.matches('.mm-hidden') && one.scrollWidth > one.clientWidth + 1
                 && one.clientWidth > 0 && getComputedStyle(one).display !== 'inline'
                 && !one.closest('.mm-trail')).map(one => one.className)"""
        )
        assert not too_wide
        inside = page.evaluate(
            """() => [...document.querySelectorAll('.mm-head > *, .mm-foot > *')].every(one => {
                 const [box, all] = [one, document.querySelector('.mm')].map(
                   each => each.getBoundingClientRect());
                 return !box.width || (box.left >= all.left - 1 && box.right <= all.right + 1);
               })"""
        )
        assert inside
        if size[0] >= IN_JUPYTERLAB:
            assert page.locator(".mm").bounding_box()["height"] <= 600


SIZES = [(1280, 800), (1024, 768), (IN_JUPYTERLAB, 768), (390, 844)]


@pytest.mark.parametrize("size", once_a_week(SIZES, [SIZES[-1]]))
def test_nothing_is_cut_and_nothing_scrolls_inside(offline, trace, size):
    for shown in (trace, gpt(), vit()):
        check_it_fits(offline(model_map(shown), size), size)


@pytest.mark.parametrize("size", once_a_week([SIZES[0], SIZES[2]], [SIZES[2]]))
def test_forty_tokens_keep_all_their_names_and_the_controls_in_sight(offline, size):
    trace = load_translator().trace(LONG)
    n = len(trace.encoder.tokens)
    assert n >= 40
    page = offline(model_map(trace, tour="00"), size)
    check_it_fits(page, size)
    page.locator(".mm-depths button").first.click()
    names = page.get_by_role("button", name=re.compile(r"^Source token \d+: "))
    boxes = [names.nth(i).bounding_box() for i in range(n)]
    for box in boxes:  # each name has a place of its own, where a name of twelve pixels fits
        assert box["height"] >= 11
        assert box["width"] >= 4
        assert ink(page, box["x"], box["y"] + box["height"] / 2, box["width"], 11) > 0
    for i, one in enumerate(boxes):
        for other in boxes[i + 1 :]:
            assert (
                one["x"] + one["width"] <= other["x"] + 2
                or other["x"] + other["width"] <= one["x"] + 2
                or abs(one["y"] - other["y"]) >= 11
            )
    names.nth(n // 2).click()
    expect(page.locator(".mm-words")).to_contain_text("Bands show")
    for control in (".mm-player button", ".mm-tour button"):
        box = page.locator(control).first.bounding_box()
        assert box["y"] + box["height"] <= size[1]
    page = offline(model_map(trace, here="loss", follow="decoder:9"), size)
    expect(page.locator(".mm-words")).to_contain_text("costs −ln")
    losses = page.get_by_role("button", name=re.compile("^The loss of row")).all()
    assert all(loss.bounding_box()["height"] >= 13 for loss in losses)
    assert len(losses) == len(trace.written)


def test_what_can_only_be_read_answers_a_click_in_words(offline, trace):
    page = offline(model_map(trace), (1280, 800))
    words = page.locator(".mm-words")
    # Before anything is touched, one thing is framed and one button is coloured.
    expect(words).to_contain_text("Start at the blue frame: the model is about to write “stick”")
    answer = page.get_by_role("button", name=re.compile("^Next token")).bounding_box()
    framed = in_colour(page, answer, "#1f6fb2")
    buttons = page.locator(".mm-player button:nth-child(2), .mm-main")
    shade = "all => all.map(one => getComputedStyle(one).backgroundColor)"
    assert len(set(buttons.evaluate_all(shade))) == 2
    box = page.get_by_role("button", name=re.compile("^The encoder's output")).bounding_box()
    page.mouse.click(box["x"] + 5, box["y"] + 5)
    expect(words).to_contain_text("“Un” in the encoder's output")
    assert len(set(buttons.evaluate_all(shade))) == 1
    assert in_colour(page, answer, "#1f6fb2") < framed / 2
    open_(page, "^Target token 3: black")
    expect(words).to_contain_text("Bands show")
    page.locator(".mm-stage").click(position=NOTHING)
    expect(words).to_contain_text("Translation:")  # which lets go


def test_hostile_tokens_are_text(offline):
    trace = load_translator().trace(SENTENCE)
    bad = "</script><script>document.title = 'hit'</script>"
    trace.encoder.tokens[1] = f"▁{bad}"
    page = offline(model_map(trace))
    assert page.get_by_role("button", name=f"Source token 2: {bad}").count() == 1
    assert page.title() == ""
    page.get_by_role("button", name=f"Source token 2: {bad}").hover()
    assert page.locator(".mm script").count() == 0


@pytest.mark.parametrize("how", ["click", "press"])
def test_a_decoder_step_of_the_recurrent_map_is_gone_to(offline, how):
    trace = load_toy("additive").trace("le chat noir voit le chien .")
    page = offline(model_map(trace))
    button = page.get_by_role("button", name=re.compile("^Step 3: reads"))
    button.click() if how == "click" else button.press("Enter")
    weights = page.get_by_role("button", name=re.compile("^Weights of step 3"))
    expect(weights).to_have_count(1)
    assert page.get_by_label("Step of the computation").input_value() == "12"  # four a step
    page.get_by_label("Step of the computation").fill("5")
    past = page.get_by_role("button", name=re.compile("^Step 1: reads")).bounding_box()
    assert ink(page, past["x"] + 4, past["y"] - 3, 14, 6) > 0  # the upper half of its name, s₁
    page = offline(model_map(trace, chosen=[[2, 5]]))
    steps = page.get_by_label("Step of the computation")
    steps.fill(steps.get_attribute("max"))
    both = "“the black dog sees the dog.” (instead of “the black cat sees the dog.”)"
    expect(page.locator(".mm-words")).to_contain_text(both)
    page.wait_for_timeout(200)
    box = page.get_by_role("button", name=re.compile("^Step 3: reads")).bounding_box()
    assert in_colour(page, box, LIGHT["key"]) > 20  # the mark of the step that was told
    page = offline(model_map(trace, chosen=[[2, 5]], place="score/2,1"))
    expect(page.locator(".mm-words")).to_contain_text("you set 100% on “chien”")
    page = offline(model_map(trace, written=0), (390, 844))
    expect(page.locator(".mm-words")).to_contain_text("so where it looks doesn’t decide this word")
    box = page.get_by_role("button", name=re.compile("^Weights of step 1")).bounding_box()
    states = page.get_by_role("button", name=re.compile("^Encoder states")).bounding_box()
    under = box["y"] + box["height"]  # there the context stands, and what is written below all
    assert ink(page, box["x"] + 8, under + 32, 30, 6) > 0
    assert min(ink(page, states["x"] - x, under + y, 30, 14) for x, y in [(0, 222), (60, 204)]) > 0
    frame = page.locator(".mm-frame")  # the picture is there without scrolling
    assert frame.evaluate("one => one.scrollHeight - one.clientHeight") == 0
    page = offline(model_map(load_toy("additive").trace("noir ne large .")))
    cut = "No <eos> came, so it was stopped after 10 tokens."
    expect(page.locator(".mm-words")).to_contain_text(cut)
    trace = load_toy("additive").trace("le chat noir voit le chien et " * 3 + "dort .")
    page = offline(model_map(trace))
    box = page.get_by_role("button", name=re.compile("^Encoder states")).bounding_box()
    pitch = box["height"] / len(trace.source)
    for row in range(len(trace.source)):  # no name is left out
        assert ink(page, box["x"] - 30, box["y"] + (row + 0.5) * pitch, 30, 10) > 0


# ---- a GPT and a Vision Transformer ----------------------------------------------------------


def test_a_gpt_draws_one_token_after_the_other(offline):
    trace = gpt()
    page = offline(model_map(trace, tour="14"), (390, 844))  # a phone tells the next token first
    page.wait_for_function("document.querySelector('.mm-frame').scrollTop > 1500")
    page = offline(model_map(trace, tour="14"), reduced_motion="reduce")
    expect_at(page, "The model: GPT, a decoder only")
    expect(page.locator(".mm-words")).to_contain_text("the model drew “")
    slider = page.get_by_label("Step of the computation")
    token = page.get_by_role("button", name=re.compile(r"^Token \d+:"))
    expect(token).to_have_count(len(trace.decoder.tokens))
    first = 3 + len(trace.decoder.layers)
    last = first + 2 * (len(trace.written) - trace.given) + 1
    assert int(slider.get_attribute("max")) == last
    for row in range(trace.given - 1, len(trace.written)):
        slider.fill(str(first + 2 * (row - trace.given + 1)))
        best = trace.candidates[row][0]
        words = page.locator(".mm-words")
        expect(words).to_contain_text(re.compile(f"{best.token.strip()}”.* {best.probability:.0%}"))
        slider.fill(str(first + 2 * (row - trace.given + 1) + 1))
        expect(token).to_have_count(row + 1)  # what isn't drawn yet isn't there
        word = trace.written[row].strip()
        told = page.get_by_role("button", name=re.compile("^Next token"))
        expect(told).to_have_attribute("aria-label", re.compile(re.escape(f"{word}, ")))
        share = re.search(r", (?:under )?([\d.]+)%", told.get_attribute("aria-label"))[1]
        drawn = next(c for c in trace.candidates[row] if c.token == trace.written[row])
        assert float(share) == pytest.approx(100 * drawn.probability, abs=0.51)
        text = "".join([*trace.decoder.tokens[: row + 1], trace.written[row]])[-40:].strip()
        told = f"^Drawn.* from the 10 likeliest: “‿?{re.escape(word)}” .*: “…?{re.escape(text)}”$"
        expect(words).to_have_text(re.compile(told))
    slider.fill("2")
    expect(token).to_have_count(trace.given)
    page.get_by_role("button", name=re.compile("^GPT layer 2: open")).click()
    expect_at(page, "GPT layer 2", "Layer")
    page.get_by_role("button", name=re.compile("^Head 3 of masked")).click()
    box = page.get_by_role("button", name=re.compile("^Weights")).bounding_box()
    n = len(trace.decoder.tokens)
    page.mouse.move(box["x"] + box["width"] * 0.5 / n, box["y"] + box["height"] * 4.5 / n)
    weight = trace.decoder.layers[1][0].heads.weights[2, 4, 0].item()
    told = page.locator(".mm-tip").inner_text()
    assert float(re.search(r"weight ([\d.]+)", told)[1]) == pytest.approx(weight, abs=0.005)
    page = offline(model_map(trace, tour=["output", "masked"]))
    box = page.get_by_role("button", name=re.compile("^GPT layer 1: open")).bounding_box()
    token = page.get_by_role("button", name=re.compile(r"^Token \d+:"))
    page.locator(".mm-tour .mm-main").click()
    expect(token).not_to_have_count(n)  # a step speaks of one row; else all are there
    for button in ("Next", "Back", "Leave"):
        page.get_by_role("button", name=button, exact=True).click()
        expect(token).to_have_count(9 if button == "Back" else n)
    page.get_by_label("Step of the computation").fill("0")
    page.keyboard.press("n")  # no vector flies in where no token is written yet
    page.wait_for_timeout(600)
    y, high = box["y"] + box["height"], (box["height"] - 22) / n
    rows = [ink(page, box["x"] - 90, y - high * (i - 0.5), 80, high / 2) for i in (n, 1)]
    assert rows[0] > 10 * rows[1]
    page = offline(model_map(trace, tour=["loop"]))
    page.locator(".mm-tour .mm-main").click()
    expect(token).to_have_count(10, timeout=10_000)  # its step draws a token, and reads it
    expect(page.locator(".mm-words")).to_contain_text("Watch one round")


def test_the_whole_model_shows_the_shares_of_the_temperature_that_is_set(offline):
    trace = gpt()
    page = offline(model_map(trace, tour=["masked"]))
    told = page.get_by_role("button", name=re.compile("^Next token"))
    before = told.get_attribute("aria-label")
    page.get_by_label("Temperature").fill("2")
    expect(told).not_to_have_attribute("aria-label", before)
    page.get_by_role("button", name="Take the tour").click()
    expect(told).to_have_attribute("aria-label", before)  # its words speak of temperature 1
    expect(page.get_by_label("Temperature")).to_be_hidden()  # and of something else
    page.get_by_role("button", name="Finish").click()
    page.get_by_label("Temperature").fill("2")
    expect(told).not_to_have_attribute("aria-label", before)
    share = re.search(r", ([\d.]+%)\. Open", told.get_attribute("aria-label"))[1]
    told.click()
    box = page.get_by_role("button", name=re.compile("^Likeliest next")).bounding_box()
    row = [one.token for one in trace.candidates[-1]].index(trace.written[-1])
    page.mouse.move(box["x"] + 50, box["y"] + box["height"] * (row + 0.5) / 10)
    expect(page.locator(".mm-tip")).to_contain_text(f"probability {share}")
    assert float(share[:-1]) < 50 * trace.candidates[-1][row].probability  # a flatter one
    # Drawn is one of ten, and the share of the others goes to them.
    heated = numpy.exp([one.logit / 2 for one in trace.candidates[-1]])
    told = f"“{trace.written[-1].strip()}” has a chance of {100 * heated[row] / heated.sum():.1f}%"
    expect(page.locator(".mm-words")).to_contain_text(f"can be drawn, so {told}")
    page = offline(model_map(trace, tour=["logits"]))
    page.get_by_role("button", name="Take the tour").click()
    words = page.locator(".mm-words", has_text="times as likely").inner_text()  # once it's there
    times = re.search(r"([\d.]+) times as likely", words)[1]
    page.get_by_label("Temperature").fill("2")
    told = f"now {float(times) ** 0.5:.1f} times as likely as “[^”]+” instead of {times} times"
    expect(page.locator(".mm-words")).to_have_text(re.compile(told))


def test_a_vits_picture_is_its_tokens_and_its_answer_a_class(offline):
    trace = vit()
    page = offline(model_map(trace, tour="15"))
    expect(page.locator(".mm-words")).to_contain_text("blue in each head’s square")
    slider = page.get_by_label("Step of the computation")
    for layer, found in enumerate(trace.guesses):  # what the label has, whatever the answer is
        slider.fill(str(3 + 2 * layer))
        share = next(one.probability for one in found if one.token == "sneaker")
        told = "; “sneaker” has" if found[0].token != "sneaker" else ", with"
        told = f"[a-z]; the answer would now be “{found[0].token}”{told} {share:.0%}"
        expect(page.locator(".mm-words")).to_contain_text(re.compile(told))
    slider.fill("2")
    page.keyboard.press("n")  # the answer is told only when it comes
    expect(page.locator(".mm-words")).to_contain_text("network, by itself.")
    expect(page.locator(".mm-words")).to_contain_text("would now be")
    slider.fill("0")
    page.get_by_role("button", name="Play (P)").click()  # it runs, though nothing is written
    expect(page.locator(".mm-moment")).to_have_text(re.compile("^3/"), timeout=15_000)
    page.get_by_role("button", name="Pause (P)").click()
    page.keyboard.press("Escape")
    best = trace.candidates[0][0]
    answer = page.get_by_role("button", name=re.compile(f"^Class: {best.token}"))
    expect(answer).to_have_count(1)
    patch = page.get_by_role("button", name=re.compile("^Patch .* in the picture"))
    expect(patch).to_have_count(49)
    dark = int(trace.image.view(7, 4, 7, 4).sum((1, 3)).argmin())
    bright = int(trace.image.view(7, 4, 7, 4).sum((1, 3)).argmax())
    names = [f"^Patch {i // 7 + 1},{i % 7 + 1} in" for i in (dark, bright)]
    far = [colours(page, name) for name in names]
    assert far[0] > far[1]  # how far from white
    before = page.locator(".mm-stage canvas").first.evaluate("c => c.toDataURL()")
    page.get_by_role("button", name=re.compile("^Token 1: ")).click()
    expect(page.locator(".mm-words")).to_contain_text("Blue on the large picture")
    assert page.locator(".mm-stage canvas").first.evaluate("c => c.toDataURL()") != before
    page.keyboard.press("Escape")
    patch.nth(24).click()
    expect(page.locator(".mm-words")).to_contain_text("“4,4”")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Picture 2 of 2: read it").click()
    page.get_by_role("button", name="Picture 2 of 2, misread: read it").wait_for()  # it's marked
    says = "labelled “ankle boot”, but the model says “sandal”, with 85%. To see how, run the cell"
    expect(page.locator(".mm-words")).to_contain_text(says)
    for _ in range(4):
        page.locator(".mm-tour .mm-main").click()
    # A sentence speaks of one token, and of the head that is framed for it.
    shares = [parts[0].heads.weights[:, 0, 1:].max().item() for parts in trace.encoder.layers]
    told = (
        rf"layer {shares.index(max(shares)) + 1}, .* takes {max(shares):.0%} of the class token’s"
    )
    expect(page.locator(".mm-words")).to_contain_text(re.compile(told))
    for _ in range(3):
        page.locator(".mm-tour .mm-main").click()
    expect(page.locator(".mm-words")).to_contain_text("Training aimed at 91%, not 100%")
    # Of the last vectors only the class token's is lit.
    box = answer.bounding_box()
    rows = [ink(page, box["x"] + 2, box["y"] + 26 + y, 12, 4) for y in (3, 60, 120)]
    assert rows[0] > 2 * max(rows[1:])
    page.get_by_role("button", name="Leave").click()
    page.get_by_role("button", name="ViT layer 3: self-attention, head 2: open it").click()
    expect_at(page, "Self-attention, head 2")
    page.get_by_role("button", name="Model", exact=True).click()
    answer.click()
    expect_at(page, "Logits and softmax")


@pytest.mark.parametrize("width", [1024, 390])
def test_a_vits_head_shows_its_weights_on_the_picture(offline, width):
    trace = vit()
    page = offline(model_map(trace, place="encoder/0/self-attention/2"), size=(width, 844))
    words = page.locator(".mm-words")
    weights = trace.encoder.layers[0][0].heads.weights[2]
    page.get_by_role("button", name="Patch 3,5 as the query").click()
    shares = weights[19].clone()
    shares[[0, 19]] = 0
    best = trace.encoder.tokens[int(shares.argmax())]
    share = f"{shares.max():.0%} of patch “3,5”’s mixture from patch “{best}”"
    expect(page.locator(".mm-stage")).to_have_attribute("aria-label", re.compile(share))
    least = trace.encoder.tokens[1 + int(shares[1:].argmin())]
    blue = [colours(page, f"^Patch {name} as") for name in (best, least)]
    assert blue[0] > blue[1] + 60
    # Pressing a depth goes on from what was chosen; there the picture chooses the key.
    page.get_by_role("button", name="One number").click()
    expect_at(page, f"“3,5” to “{best}”", "One number")
    told = f"gives “{best}” \\d+% of its weight: [\\d.]+ is its highest score\\. Press"
    expect(page.locator(".mm-words")).to_have_text(re.compile(told))  # each number once
    page.get_by_role("button", name="Patch 7,4 as the key").click()
    expect_at(page, "“3,5” to “7,4”", "One number")
    expect(page.locator(".mm-words")).to_contain_text("Press another patch of the picture")
    if width < 500:
        page = offline(model_map(trace, tour="15", stop=0), size=(width, 844))
        heights = set()
        for _ in range(4):  # Next stays where it is, where a step opens a place, too
            heights.add(page.get_by_role("button", name="Next").bounding_box()["y"])
            page.get_by_role("button", name="Next").click()
            page.wait_for_timeout(300)
        assert len(heights) == 1
        page.wait_for_function("document.querySelector('.mm-frame').scrollTop > 300")  # its bands
        page.get_by_role("button", name="Next").click()  # the answers after each layer, together
        page.wait_for_function("document.querySelector('.mm-frame').scrollTop < 200")
        page.get_by_role("button", name="Next").click()  # the classes, at the end
        page.wait_for_function("document.querySelector('.mm-frame').scrollTop > 1000")
        page.get_by_role("button", name="Leave").click()
        patch = page.get_by_role("button", name="Patch 1,1 in the picture")
        assert min(patch.bounding_box()[side] for side in ("width", "height")) >= 24
        patch.click()  # what the words speak of comes into view
        page.wait_for_function("document.querySelector('.mm-frame').scrollTop < 50")
        shares = trace.encoder.layers[-1][0].heads.weights.mean(0)[1]
        most = trace.encoder.tokens[int(shares.argmax())]
        expect(words).to_contain_text("Blue on the picture shows where “1,1”")
        expect(words).to_contain_text(
            f"in the last layer, most from “{most}” ({100 * shares.max():.2g}%)"
        )
        expect(
            page.get_by_role("button", name=re.compile("50 by 32 of 64 numbers"))
        ).not_to_have_count(0)
        return
    # Every layer's parts are named below it, where the file browser is open too.
    page = offline(model_map(trace), size=(870, 768))
    layer = page.get_by_role("button", name=re.compile("^ViT layer 1: open")).bounding_box()
    assert ink(page, layer["x"], layer["y"] + layer["height"] + 18, layer["width"], 28) > 9000
    # Above the layers, in large letters, the answer after each of them.
    page.get_by_role("button", name="Token 1: [CLS]").click()
    room = layer["y"] - page.locator(".mm-stage").bounding_box()["y"]
    assert room > 60
    assert ink(page, layer["x"], layer["y"] - room / 2, 4 * layer["width"], room) > 1_000_000


# ---- in JupyterLab ---------------------------------------------------------------------------


def test_in_jupyterlab_a_patch_is_left_out_and_put_back(open_notebook):
    read = """
from helpers.data.clothes import Pictures, clothes
from helpers.pretrained.wardrobe import load_wardrobe
from helpers.widgets.model_map import model_map
image, label = (each[:1] for each in clothes("test", 1))
model_map(load_wardrobe().trace(image[0], Pictures(image, label)), tour="15", stop=6)
"""
    page = open_notebook([read], size=(390, 844))
    steps = [
        ("Patch 4,2", "had 20% of the class token’s weight in the last layer (the most"),
        ("Patch 4,3", "These 2 patches"),
        ("Leave$", "or on a patch to follow it"),  # the tour puts back what it took
        ("Leave out", "Does the answer need"),
        ("Patch 4,3", "Patch “4,3” had"),
        ("Put back", "All patches are read again."),
        ("Follow", "or on a patch to follow it"),
        ("Patch 4,2", "Blue on the picture shows where “4,2”"),
    ]
    page.get_by_role("button", name="Next").click()  # to the step that asks for it
    for name, words in steps:
        page.get_by_role("button", name=re.compile(f"^{name}")).click()
        expect(page.locator(".mm-words")).to_contain_text(words)


def test_in_jupyterlab_the_map_takes_another_sentence(open_notebook):
    page = open_notebook([IN_LAB], size=(1280, 900))
    field = page.get_by_label("Your own French sentence")
    expect(field).to_have_value(SENTENCE)
    source = page.get_by_role("button", name=re.compile("^Source token"))
    expect(source).to_have_count(12)
    field.click()
    field.press("End")
    page.keyboard.type(" npb")  # letters that are keys of the map, were they not typed
    expect(page.locator(".mm-words")).to_contain_text("Translation: “A black dog")
    expect(field).to_have_value(f"{SENTENCE} npb")
    enter(field, "")
    expect(field).to_have_value(SENTENCE)  # what the picture shows
    enter(field, SENTENCE.replace(" ", "  "))  # another sentence, and the same numbers
    expect(page.locator(".mm-words")).to_contain_text("The encoder reads")
    expect(page.locator(".mm-words")).to_contain_text("Translation: “A black dog")
    enter(field, SENTENCE)
    expect(page.locator(".mm-words")).to_contain_text("The encoder reads")
    enter(field, "Он спит.")
    expect(page.locator(".mm-words")).to_have_text(re.compile(f"still shows “{SENTENCE}”$"))
    enter(field, "Two cats sleep on the sofa.")
    expect(page.locator(".mm-words")).to_contain_text("That looks like English")
    expect(page.locator(".mm-words")).to_contain_text(re.compile("It writes: “.*[.!?]”$"))
    # It's told, and done all the same.
    expect(page.get_by_role("button", name=re.compile("^Source token 1: Un"))).to_have_count(0)
    open_(page, "^Source token 1: ")
    expect(page.locator(".mm-words")).to_contain_text("Bands show")
    field.click()
    field.press("Escape")
    expect(page.locator(".mm-words")).to_contain_text("Translation: “")
    page.evaluate(
        """const words = document.querySelector('.mm-words');
        window.all = '';
        new MutationObserver(() => { all += words.textContent; })
          .observe(words, { subtree: true, childList: true });"""
    )
    page.emulate_media(reduced_motion="reduce")
    enter(field, "Un chat court.")
    expect(page.locator(".mm-words")).to_contain_text("Translation: “A cat")
    assert "The encoder reads" not in page.evaluate("all")  # nothing moves
    page.emulate_media(reduced_motion="no-preference")
    field.fill("Un chat dort.")
    page.get_by_role("button", name="Translate").click()
    expect(source).to_have_count(5)
    # It passes through once, then all of it is there; a key ends that sooner.
    expect(page.locator(".mm-words")).to_contain_text("Translation: “A cat sleeps")
    for words in ("The encoder reads the sentence", "one token after another: “A cat"):
        assert words in page.evaluate("all")
    expect(page.get_by_role("button", name="Target token 3: cat")).to_have_count(1)
    open_(page, "^Another sentence")  # no French is needed
    expect(page.locator(".mm-words")).to_contain_text("The encoder reads the sentence")
    page.keyboard.press("x")
    expect(page.locator(".mm-words")).to_contain_text("Translation: “Children", timeout=1500)
    expect(field).to_have_value("Des enfants jouent au ballon sur la plage.")
    expect(page.get_by_role("button", name="Target token 2: Children")).to_have_count(1)
    open_(page, "^Encoder layer 1: open")
    expect(field).to_be_hidden()
    page.locator(".mm-stage").click(position=NOTHING)
    page.keyboard.press("Escape")  # JupyterLab doesn't take the focus from a click on nothing
    expect(field).to_be_visible()


def test_in_jupyterlab_a_heads_matrix_and_a_scores_parts_are_sent_when_asked_for(open_notebook):
    page, errors = open_notebook([IN_LAB], size=(1280, 900)), []
    page.on("pageerror", lambda error: errors.append(error))
    page.get_by_role("button", name=re.compile("^Encoder layer 3: open")).click()
    open_(page, "^Head 1 of self-attention")
    page.get_by_role("button", name=re.compile("^Q: queries")).focus()
    press(page, "Enter", "ArrowDown", "Enter")
    expect_at(page, "WQ on “chien”")  # with a lowered Q
    expect(page.locator(".mm-trail sub")).to_have_text("Q")
    matrix = page.get_by_role("button", name=re.compile("^The matrix W_Q, 256 by 64"))
    expect(matrix).to_have_count(1)
    page.get_by_role("button", name="Token 4: court, show it").click()
    expect_at(page, "WQ on “court”")
    expect(matrix).to_have_count(1)
    page.keyboard.press("Escape")
    expect_at(page, "Self-attention, head 1", "Head")
    assert not errors  # Q has the focus again, and no cell
    page.get_by_role("button", name=re.compile("^Weights")).focus()
    press(page, "Enter", "ArrowDown", "ArrowRight", "ArrowRight", "Enter")
    expect_at(page, "“chien” to “noir”", "One number")
    why = page.get_by_role("button", name="Why this weight?")
    assert why.bounding_box()["height"] >= 24
    why.click()
    expect_at(page, "Why this weight?")
    compared = page.get_by_role("button", name="Compare with “court”")
    box = compared.locator("xpath=../..").bounding_box()
    left = []
    for _ in range(3):  # played back: the colours' words, then the bars
        left.append(ink(page, box["x"], box["y"] + 330, box["width"], 180))
        compared.press("b")
        page.wait_for_timeout(60)
    assert left[0] == left[1] > left[2] == 0
    assert compared.bounding_box()["height"] >= 24
    compared.click()
    expect_at(page, "Why not “court”?")
    expect(page.locator(".mm-words")).to_contain_text("Press another key")
    open_(page, "^layer 1, self-attention: ")  # what wrote that part, and back
    expect_at(page, "Encoder layer 1", "Layer")
    expect(page.locator(".mm-words")).to_contain_text(
        re.compile("(adds|takes) .* by which .* leads .*√64, is .* and .* Framed: ")
    )
    page.get_by_role("button", name="‹ Why this weight?").click()
    expect_at(page, "Why not “court”?")
    page.keyboard.press("Escape")
    expect_at(page, "“chien” to “noir”", "One number")


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_the_tour_lets_the_gradient_run_back(offline, trace, motion):
    page = offline(model_map(trace, here="loss", tour="09", stop=2), reduced_motion=motion)
    stage = page.locator(".mm-stage")
    losses = page.get_by_role("button", name=re.compile("^The loss of row")).all()
    assert {loss.bounding_box()["height"] >= 16 for loss in losses} == {True}
    open_(page, "^Next$")
    expect(page.locator(".mm-words")).to_contain_text("(green)")
    page.wait_for_timeout(600)
    before = int(stage.get_attribute("data-painted"))
    page.wait_for_timeout(300)
    assert (int(stage.get_attribute("data-painted")) > before) == (motion != "reduce")


def test_in_jupyterlab_a_wrong_word_in_the_reference_costs(open_notebook):
    here = 'here="loss", reference="A dog runs."'
    page = open_notebook([IN_LAB.replace('tour="00"', here)], size=(390, 844))
    field = page.get_by_label("Reference translation")
    words = page.locator(".mm-words")
    open_(page, "^Try “cat” for “dog”")
    expect(words).to_contain_text("“cat” costs −ln")
    step, places = page.get_by_role("button", name="Take a training step"), set()
    for steps in ("one step", "2 steps"):
        places.add(tuple(step.bounding_box().values()))  # it stays where it can be pressed again
        step.evaluate("step => { step.click(); step.click(); }")  # the second one while it is taken
        expect(words).to_contain_text(f"After {steps}, the copy’s loss here is")
    assert len(places) == 1
    open_(page, "^The loss of row 2")
    step.click()  # told of the row on show
    expect(words).to_contain_text(re.compile("After 3 steps, the copy gives “cat” .* instead of"))
    page.keyboard.press("Escape")
    open_(page, "^Start again")
    expect(words).to_contain_text("“cat” costs −ln")
    open_(page, "^Back to the first one")
    expect(field).to_have_value("A dog runs.")
    enter(field, "")
    expect(words).to_contain_text("Without a reference, the model’s own is scored.")
    expect(field).to_have_value("A black dog runs through the snow with a stick.")
    expect(step).to_be_hidden()  # what the model wrote itself teaches it nothing
    enter(field, "A purple dog runs.")
    costs = re.compile("^“purple” costs −ln.* the most of all rows.*Fed “purple”")
    expect(words).to_contain_text(costs)
    steps = page.get_by_label("Step of the computation")
    steps.fill("7")  # in training all rows go through the decoder at once
    expect(words).to_contain_text("Decoder layer 1: the decoder reads the reference, all 6 rows")
    losses = page.get_by_role("button", name=re.compile("^The loss of row"))
    expect(losses).to_have_count(6)
    steps.fill(steps.get_attribute("max"))
    expect(words).to_contain_text("Their mean, the loss, is 3.75 nats")
    open_(page, "^Take the tour")
    expect(page.get_by_role("button", name="Show only loss")).to_have_count(0)
    open_(page, "^Leave")
    expect(words).to_contain_text(costs)  # and no translation
    page.wait_for_timeout(600)  # the frame glides
    frame = page.locator(".mm-frame").bounding_box()
    for row in losses.all():  # the whole chart is in view, and so is what changes the reference
        box = row.bounding_box()
        assert frame["y"] <= box["y"] < box["y"] + box["height"] <= frame["y"] + frame["height"]
    field_box, foot = field.bounding_box(), words.bounding_box()
    assert frame["y"] + frame["height"] <= field_box["y"]
    assert field_box["y"] + field_box["height"] <= foot["y"]
    page.get_by_role("button", name=re.compile("^The loss of row 2, “purple”")).press("Enter")
    expect(words).to_contain_text("This row is scored on the reference: “purple” costs")
    expect(page.get_by_label("Temperature")).to_be_hidden()  # a loss takes p at temperature 1
    open_(page, "^“black”, .*: score it instead")
    expect(field).to_have_value("A black dog runs.")
    told = r"^“black” costs −ln[^.]*[.][0-9]+ = [0-9.]+ nats.*down from"  # the row that is framed
    expect(words).to_contain_text(re.compile(told))
    enter(field, "A black cat runs through the snow with a stick.")
    expect(words).to_contain_text("“cat” costs −ln")
    # A score's parts open at their beginning, though the focus lies below it.
    for name in ("One number", "Why this weight?"):
        page.get_by_role("button", name=name, exact=True).press("Enter")
    page.get_by_role("button", name="Compare with the average key").wait_for(state="attached")
    assert page.locator(".mm-frame").evaluate("frame => frame.scrollTop") == 0
    open_(page, "^Model$")
    enter(page.get_by_label("Your own French sentence"), "Un chat dort.")
    expect(words).to_contain_text("Without a reference, the model’s own is scored.")
    open_(page, "^Take the tour")
    expect(field).to_have_value(re.compile("^A dog "))  # a tour of losses needs one
    enter(field, "The cat sleeps.")
    expect(page.get_by_role("button", name="Back to the model’s own")).to_have_count(1)


def test_without_a_kernel_the_map_says_what_stays_there(offline, trace):
    page = offline(model_map(trace, place="encoder/2/self-attention/0"))
    page.get_by_role("button", name=re.compile("^V: values")).press("Enter")
    page.keyboard.press("Enter")
    expect_at(page, "WV on “Un”")
    made = page.get_by_role("button", name=re.compile("^The value of “Un”, 1 by 64"))
    expect(made).to_have_count(1)  # what the matrix makes is there all the same
    expect(page.get_by_role("button", name=re.compile("^The matrix"))).to_have_count(0)
    open_(page, "^Layer$")
    page.get_by_role("button", name=re.compile("^What self-attention found")).press("Enter")
    page.keyboard.press("Enter")  # what the heads found is joined there, and W_O stays away
    expect(page.get_by_role("button", name=re.compile("^The joined vector: 256"))).to_have_count(1)
    page = offline(model_map(trace, tour=["queries"]))
    open_(page, "^Take the tour")
    expect_at(page, "Self-attention, head 4", "Head")  # and the tour shows what W_Q makes
    page = offline(model_map(trace, tour=["mask"]), reduced_motion="reduce")
    record_words(page)
    open_(page, "^Take the tour")
    page.wait_for_function("painted.includes('−∞')")  # and what comes after has no names yet
    assert not {"mixture", "×"} & set(page.evaluate("painted"))
    # A place that was open when the page was written is there with all of it.
    for size in ((1280, 900), (390, 844)):  # where it's narrow, no number is dropped
        page = offline(model_map(trace, place="encoder/0/self-attention/join/4"), size)
        record_words(page)
        open_(page, "^Token 5: dans")
        told = page.wait_for_function(r"painted.join(' ').match(/[\d.−+\s]+=\s−?[\d.]+/)?.[0]")
        heads, total = re.sub(r"−\s", "-", told.json_value()).replace("−", "-").split("=")
        assert sum(map(float, heads.replace("+", "").split())) == pytest.approx(float(total))
        assert len(heads.split(".")) == 5
        assert page.evaluate("painted.some(words => /^“.+” .*%$/.test(words))")
    page = offline(model_map(trace, place="encoder/2/self-attention/0/v/0"))
    expect(page.get_by_role("button", name=re.compile("^The matrix W_V"))).to_have_count(1)


def test_in_jupyterlab_another_token_is_chosen_and_taken_back(open_notebook):
    page = open_notebook([IN_LAB], size=(1280, 900))
    words = page.locator(".mm-words")
    for _ in range(7):
        page.get_by_role("button", name="One step back (B)").click()
    open_(page, "^Next token: ")
    expect_at(page, "Logits and softmax")
    first = page.locator(".mm-hit:visible").first
    before = first.get_attribute("aria-label")
    share = re.compile(r", (?:under )?([\d.]+)%")
    page.get_by_label("Temperature").fill("2")
    expect(first).not_to_have_attribute("aria-label", before)
    shares = [float(share.search(name)[1]) for name in (before, first.get_attribute("aria-label"))]
    assert shares[0] > shares[1]
    page.keyboard.press("Escape")
    expect_at(page, "The model")  # of the row that was shown
    open_(page, "^Next token: ")
    write_instead = page.get_by_role("button", name=re.compile("write it instead$"))
    other = write_instead.nth(2)
    token = re.match("“(.*)”", other.get_attribute("aria-label"))[1]
    other.press("Enter")
    told = re.compile(f"You wrote “{token}” yourself, and the model went on from it: “(?!A black)")
    expect(words).to_contain_text(told)  # what came before isn't repeated
    chosen = page.get_by_role("button", name=re.compile(f"^“{token}”.*it is what’s written"))
    expect(chosen).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name=f"Next token: {token}")).to_have_count(1)
    told = re.compile(f"^Translation: “.*([.!?]”|”[.]) Chosen: “{token}”[.] Press play")
    expect(words).to_contain_text(told)
    page.get_by_role("button", name=f"Undo “{token}”").click()
    expect(words).to_contain_text("As the model wrote it: “A black dog runs")
    expect(page.get_by_role("button", name=f"Next token: {token}")).to_have_count(0)
    open_(page, "^Next token: ")
    other.press("Enter")
    expect(chosen).to_have_count(1)
    write_instead.first.press("Enter")  # the model's own: nothing is left to undo
    expect(words).to_contain_text("As the model wrote it: “A black dog runs")
    expect(page.get_by_role("button", name=re.compile("^Undo"))).to_have_count(0)
    page.get_by_label("Temperature").fill("2")
    for draw in (1, 2):
        open_(page, "^Draw one")
        end = "(and the model went on from it: “.*|It’s what is written here[.].*)"
        told = re.compile(
            f"^Draw {draw}: “.*”, with a chance of .*% .* at temperature 2.0(, |[.] ){end}"
        )
        expect(words).to_have_text(told)


def test_in_jupyterlab_a_head_is_switched_off_and_both_translations_stand_there(open_notebook):
    place = 'tour="00", place="decoder/0/cross-attention/2"'
    page = open_notebook([IN_LAB.replace('tour="00"', place)], size=(1280, 900))
    strip = page.get_by_role("group", name="Without a head")
    high = [page.locator(part).bounding_box()["height"] for part in (".mm", ".mm-stage")]
    page.get_by_role("button", name=re.compile("^Switch head . off")).click()
    expect(strip).to_contain_text("Without decoder layer 1, cross-attention, head 3")
    # All of it keeps its place.
    assert high == [page.locator(one).bounding_box()["height"] for one in (".mm", ".mm-stage")]
    expect(strip).to_contain_text("The words stay the same. The largest change: “")
    expect(strip.locator(".mm-next")).to_have_text("Press a score, Q, K or V to see how it’s made.")
    open_(page, "^Layer$")
    open_(page, "^Head 2 of cross-attention")
    page.get_by_role("button", name=re.compile("^Switch head . off")).click()
    expect(strip).to_contain_text("Without 2 heads")
    press(page, "Escape", "Escape")
    record_words(page)
    open_(page, "^Which heads matter")  # a head more or less by one press
    open_(page, "^Decoder layer 1, cross-attention, head 3: switch it on")
    expect(strip).to_contain_text("Without decoder layer 1, cross-attention, head 2")
    expect(strip).to_contain_text("of the other 35 heads would change a word")
    page.set_viewport_size({"width": 900, "height": 900})
    page.wait_for_timeout(500)
    page.set_viewport_size({"width": 696, "height": 768})  # as wide as beside the file browser
    page.wait_for_timeout(500)
    painted = page.evaluate("painted.join('|')")
    assert "Each square is a head, with" in painted  # with a head off, too
    assert re.search("[|]−[0-9]{2}[|]", painted)  # all of a loss, and of its token
    assert "…" not in painted
    page.set_viewport_size({"width": 390, "height": 844})
    open_(page, "^Layer$")  # whose words are long
    expect(strip).to_contain_text("(“pre-norm”).")
    page.wait_for_timeout(500)
    box = page.locator(".mm-words")
    assert box.evaluate("box => box.scrollHeight <= box.clientHeight")
    open_(page, "^One number$")
    expect(page.get_by_role("button", name="↓ more")).to_be_visible()
    open_(page, "^Layer$")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.keyboard.press("Escape")
    open_(page, "^Which heads matter")
    open_(page, "^Decoder layer 1, cross-attention, head 3: switch it off")
    expect(strip).to_contain_text("Without 2 heads")
    press(page, "Escape")
    strip.get_by_role("button", name="Switch them on").click()
    expect(page.locator(".mm-words")).to_contain_text("As the model wrote it: “A black dog runs")
    expect(strip).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".mm-words").get_by_role("button", name="Which heads matter?").click()
    frame = page.locator(".mm-frame")
    every = page.get_by_role("button", name="Cross-attention: switch all off")
    # All three tables are in view together, below the answer.
    assert frame.evaluate("frame => frame.scrollHeight <= frame.clientHeight")
    assert "one at a time" in page.evaluate("painted.join(' ')")
    every.click()
    expect(strip).to_contain_text("Without 12 heads")
    expect(strip).to_contain_text("nothing of the French sentence reaches the decoder")
    expect(page.get_by_role("button", name="Cross-attention: switch all on")).to_be_focused()
    page.locator(".mm").evaluate("map => map.scrollIntoView({ block: 'end' })")
    again = strip.get_by_role("button", name="Switch them on").bounding_box()
    panel = frame.bounding_box()
    assert again["height"] >= 24
    assert panel["y"] + panel["height"] <= again["y"]  # the words cover none of it
    page.set_viewport_size({"width": 1280, "height": 900})
    for n, kind in ((24, "Encoder: self"), (36, "Decoder: masked self")):
        open_(page, f"^{kind}-attention: switch all off")
        expect(strip).to_contain_text(f"Without {n} heads")
    expect(strip).to_contain_text("(stopped after 34 tokens): “black” had 95%")
    press(page, "Escape")
    expect(strip.locator(".mm-next")).to_have_text("Which heads matter?")  # none is left
    assert high == [page.locator(one).bounding_box()["height"] for one in (".mm", ".mm-stage")]
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Take the tour").click()  # it speaks of a model with all
    expect(page.locator(".mm-words")).to_contain_text("This is a whole Transformer")
    expect(strip).to_be_hidden()
    page.get_by_role("button", name="Leave", exact=True).click()
    expect(strip).to_contain_text("Without 36 heads")  # as the learner had it


def test_a_followed_token_is_followed_deeper_and_two_words_can_be_swapped(offline, trace):
    page = offline(model_map(trace))
    open_(page, "^Source token 3: noir")
    depths = page.locator(".mm-depths")
    depths.get_by_role("button", name="One number").click()
    expect(page.locator(".mm-trail button").last).to_contain_text("“noir” to ")
    depths.get_by_role("button", name="Model").click()
    open_(page, "^Next token")
    depths.get_by_role("button", name="Layer").click()
    expect_at(page, "Decoder layer 3", "Layer")  # the one below the logits
    depths.get_by_role("button", name="Model").click()
    page.get_by_role("button", name=re.compile("^Encoder: embedding")).press("Enter")
    open_(page, "^Swap “noir” with “court”")
    expect(page.locator(".mm-words")).to_contain_text("“court” and “noir” have changed places")


def test_in_jupyterlab_the_last_token_of_a_gpt_is_chosen(open_notebook):
    page = open_notebook([IN_LAB.replace("translator", "storyteller")], size=(1280, 900))
    open_(page, "^Next token: ")
    page.get_by_role("button", name=re.compile("write it instead$")).first.click()
    expect(page.locator(".mm-words")).to_contain_text("went on from it at temperature 1.0: “")
    page.get_by_label("Temperature").fill("1.8")
    page.keyboard.press("Escape")
    field = page.get_by_label("Your own beginning")
    beginning = field.input_value()
    enter(field, "")
    expect(field).to_have_value(beginning)  # and nothing is drawn
    page.get_by_role("button", name="Go on at 1.8").click()
    expect(field).to_have_value(re.compile(f"^{re.escape(beginning)}."))
    expect(page.locator(".mm-words")).to_contain_text("The model went on at temperature 1.8: “")
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Go on at 1.8").click()
    frame = "document.querySelector('.mm-frame')"
    page.wait_for_function(f"{frame}.scrollTop > 2000")
    page.wait_for_function(f"{frame}.scrollHeight - {frame}.scrollTop - {frame}.clientHeight < 2")
    wide = page.locator(".mm").bounding_box()["width"]
    page.get_by_role("button", name="Head", exact=True).click()
    expect_at(page, re.compile("self-attention, head"), "Head")  # a long name stretches nothing
    assert page.locator(".mm").bounding_box()["width"] == wide
    page.set_viewport_size({"width": 370, "height": 844})  # nor are the player's parts cut off
    page.wait_for_function(
        "(map => map.scrollWidth === map.clientWidth)(document.querySelector('.mm'))"
    )


def test_in_jupyterlab_the_map_and_python_talk(open_notebook):
    page = open_notebook([IN_LAB, report("place follow beat stop")], size=(1280, 900))
    page.wait_for_selector(".mm-stage[data-painted]")

    open_(page, "^Encoder layer 2: open")
    expect_told(page, "encoder/1 none")
    page.keyboard.press("Escape")
    expect_told(page, "none none")
    open_(page, "^Target token 3: black")
    expect_told(page, "none decoder:2")
    page.keyboard.press("n")  # JupyterLab would take a plain letter, were it not shielded
    expect_told(page, "none none 19 -1")  # this step reads “stick”, which the picture hadn't yet
    page.get_by_role("button", name="Take the tour: 12 steps").click()
    expect_told(page, "none none -1 0")
    run_in_kernel(page, "view.place = 'decoder/2/cross-attention/1/2,1'")
    page.wait_for_function(
        "[...document.querySelectorAll('.mm-trail button')].pop().textContent.includes('“black”')"
    )
    change_theme(page, "Dark")
    page.wait_for_selector(".mm[data-theme=dark]")


@pytest.mark.parametrize("size", once_a_week([(390, 844), (700, 800), (880, 800)], [(390, 844)]))
def test_where_it_is_narrow_picture_words_and_buttons_are_in_view_together(offline, trace, size):
    page = offline(model_map(trace, tour="00"), size, has_touch=True)
    assert page.locator(".mm").bounding_box()["height"] <= size[1]
    names = page.get_by_role("button", name=re.compile("^(Source|Target) token"))
    assert min(name.bounding_box()["height"] for name in names.all()) >= 24
    # The picture scrolls itself to what is told.
    frame = page.locator(".mm-frame").bounding_box()
    page.get_by_label("Step of the computation").fill("8")
    seen = """([top, height]) => {
        const row = document.querySelector('.mm-hit[aria-label^="Decoder layer 2"]');
        const box = row.getBoundingClientRect();
        return box.top < top + height && box.bottom > top;
    }"""
    last = seen.replace("layer 2", "layer 3")
    page.wait_for_function(last, arg=[frame["y"], frame["height"]])
    page.get_by_label("Step of the computation").fill("0")
    page.wait_for_function("document.querySelector('.mm-frame').scrollTop < 60")
    # On a phone a small picture of the whole frames what is in view, and a press goes elsewhere.
    small, seen_there = page.locator(".mm-small"), page.locator(".mm-seen:visible")
    expect(small).to_have_count(1) if size[0] < 540 else expect(small).to_be_hidden()
    if size[0] < 540:
        box, first = small.bounding_box(), seen_there.bounding_box()
        assert first["y"] < box["y"] + box["height"] / 2  # the encoder
        small.click(position={"x": box["width"] - 30, "y": box["height"] - 20})
        page.wait_for_function("document.querySelectorAll('.mm-seen')[1].offsetLeft > 250")
        assert seen_there.bounding_box()["y"] > first["y"] + 50
        page.get_by_label("Step of the computation").fill("1")
        page.wait_for_function("document.querySelector('.mm-frame').scrollTop < 60")
    # And to what the keys go to.
    page.locator(".mm-hit[tabindex='0']").focus()
    for key in [*["ArrowDown"] * 5, "End", "ArrowUp", "Home"]:
        page.keyboard.press(key)
        box = page.locator(".mm-hit:focus").bounding_box()
        assert frame["y"] <= box["y"] < frame["y"] + frame["height"] - 24
    assert page.locator(".mm-hit:focus").get_attribute("aria-label") == "Source token 1: Un"
    # Back from where it scrolls, also while it does.
    page.locator(".mm-depths button").nth(2).click()
    expect(page.locator(".mm-trail button").nth(1)).to_have_text("Layer 1")
    page.locator(".mm-frame").evaluate(
        "frame => { frame.scrollTop += 9; document.querySelector('.mm-depths button').click(); }"
    )
    page.wait_for_selector(".mm-hit[aria-label^='Source token']")
    page = offline(model_map(trace, here="cross-attention"), size, has_touch=True)
    page.wait_for_function(seen.replace("layer 2", "layer 1"), arg=[frame["y"], frame["height"]])
    steps = ["cross", "follow-target", "follow-source"]
    page = offline(model_map(trace, tour=steps), size, has_touch=True, reduced_motion="reduce")
    if size[0] < 540:  # it begins where the next token is
        page.wait_for_function("document.querySelectorAll('.mm-seen')[1].offsetLeft > 250")
    page.get_by_role("button", name="Take the tour").click()
    page.wait_for_function(seen.replace("layer 2", "layer 1"), arg=[frame["y"], frame["height"]])
    page.get_by_role("button", name="Next", exact=True).click()  # it tells of the last layer
    page.wait_for_function(last, arg=[frame["y"], frame["height"]])
    panel = page.locator(".mm-frame").bounding_box()
    if size[0] < 540:  # all of that layer, with what the memory gives above it
        layer = page.get_by_role("button", name="Decoder layer 3: open it").bounding_box()
        assert layer["y"] >= panel["y"]
        assert layer["y"] + layer["height"] <= panel["y"] + panel["height"]
    assert in_colour(page, panel, "#b25a06") > 50  # what the memory gives, and its token's name
    page.get_by_role("button", name="Next", exact=True).click()
    page.wait_for_function(
        seen.replace("Decoder layer 2", "Encoder layer 3"), arg=[frame["y"], frame["height"]]
    )
    page = offline(model_map(gpt(), tour=["masked"]), size, has_touch=True)
    expect(page.locator(".mm-seen:visible")).to_have_count(1 if size[0] < 540 else 0)
    page.get_by_role("button", name="Take the tour").click()  # it tells of a head
    seen = seen.replace("Decoder layer 2", "GPT layer 5")
    page.wait_for_function(seen, arg=[frame["y"], frame["height"]])


def test_after_its_cell_has_run_the_whole_map_is_in_view(open_notebook):
    first = "import time\n" + "# a line of code\n" * 12
    page = open_notebook([first, "x = 1", "y = 2", "z = 3"], size=(1280, 800))
    page.evaluate(
        """code => {
          const { content } = jupyterapp.shell.currentWidget;
          content.widgets[1].model.sharedModel.setSource(code);
          content.activeCellIndex = 1;
          jupyterapp.shell.expandLeft();
          for (const _ of [1, 2])  // once more, because nothing is there yet
            jupyterapp.commands.execute('notebook:run-cell-and-select-next');
        }""",
        IN_LAB,
    )
    page.wait_for_selector(".mm-stage[data-painted]")
    in_view = page.wait_for_function(
        """() => {
          const map = document.querySelector('.mm').getBoundingClientRect();
          const panel = document.querySelector('.jp-WindowedPanel-outer, .jp-Notebook');
          const { top, bottom } = panel.getBoundingClientRect();
          const { scrollHeight, clientHeight } = document.querySelector('.mm-frame');
          return map.top >= top - 1 && map.bottom <= bottom + 1 && scrollHeight <= clientHeight + 1;
        }"""
    )
    assert in_view.json_value() is True
    assert page.locator(".mm").bounding_box()["x"] > 250  # the file browser is beside it
    # Where its lower end is out of sight, the words and the buttons stay in view.
    page.locator(".jp-WindowedPanel-outer").evaluate("panel => panel.scrollTo(0, 0)")
    page.wait_for_function("document.querySelector('.mm').getBoundingClientRect().bottom > 810")
    for part in (".mm-words", ".mm-tour", ".mm-player"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 800
    page.evaluate("jupyterapp.shell.collapseLeft()")
