"""The films' player: played, stopped, stepped, by mouse and keys, on a phone, in the dark."""

import pytest
from samples import once_a_week
from waits import press

from helpers import notebook
from helpers.widgets.film import frame_svg

NAME = "queries_in_one_plane"
FILMS = [NAME, *sorted({path.stem for path in notebook.IMAGES.glob("*.json")} - {NAME})]
STEP = "document.querySelector('.film-count').textContent"
TIME = "Number(document.querySelector('.film-bar input').value)"
PLACE = "document.querySelector('.film-player path').getAttribute('transform')"
# At a moment of film n: the smallest letter's height, words that run into others, a caption's top.
WORDS = """([n, moment]) => {
  const player = document.querySelectorAll('.film-player')[n];
  Object.assign(player.querySelector('input'), { step: 'any', value: moment }).oninput();
  const seen = [...player.querySelectorAll('text')].filter((text) => text.style.opacity > 0.5);
  const words = seen.map((text) => {
    const { x, y, width, height } = text.getBBox();
    const high = parseFloat(getComputedStyle(text).fontSize);
    const ends = [[x + 1, x + width], [y + high / 4, y + height - high / 4]]; // room for accents
    return { text, ends, high: high * text.ownerSVGElement.getScreenCTM().a };
  });
  const meet = (a, b) => { // as seen from a, which may stand aslant
    const turn = a.text.getScreenCTM().inverse().multiply(b.text.getScreenCTM());
    const corners = b.ends[0].flatMap((x) =>
      b.ends[1].map((y) => new DOMPoint(x, y).matrixTransform(turn)));
    return a.ends.every(([low, high], axis) => {
      const seen = corners.map(({ x, y }) => [x, y][axis]);
      return low < Math.max(...seen) && Math.min(...seen) < high;
    });
  };
  const faults = words.filter((a) => words.some((b) => a !== b && meet(a, b) && meet(b, a)));
  return [Math.min(...words.map(({ high }) => high)), faults.map(({ text }) => text.textContent),
    player.querySelector('[aria-live]').offsetTop];
}"""


@pytest.fixture
def film(chromium, tmp_path):
    """Give a function that shows all films in a bare page."""
    path, contexts = tmp_path / "film.html", []
    shown = [notebook.picture(name)._repr_html_() for name in FILMS]
    path.write_text(f"<meta charset=utf-8><body>{''.join(shown)}", encoding="utf-8")

    def open_(**options):
        contexts.append(chromium.new_context(offline=True, **options))
        page = contexts[-1].new_page()
        page.goto(path.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()


def button(page, name, nth=0):
    return page.get_by_role("button", name=name, exact=True).nth(nth)


def test_a_film_plays_is_stopped_and_goes_on_where_it_was_and_only_one_plays(film):
    page = film()
    assert page.evaluate(TIME) == 0  # nothing moves that nobody asked for
    button(page, "Play").click()
    page.wait_for_function(f"{TIME} > 0.3")
    button(page, "Play").click()  # the other film's: the first one's says Pause
    assert page.get_by_role("button", name="Pause").count() == 1
    stopped = page.evaluate(TIME)
    page.wait_for_timeout(300)
    assert page.evaluate(TIME) == stopped
    button(page, "Play").click()
    page.wait_for_function(f"{TIME} > {stopped}")


def test_a_film_that_left_the_page_hears_nothing_and_one_that_is_back_does(film):
    page = film()
    tools = page.context.new_cdp_session(page)
    window = tools.send("Runtime.evaluate", {"expression": "window"})["result"]["objectId"]
    page.evaluate("window.films = [...document.querySelectorAll('.film')]")
    counts = []
    for act in ("", "films.forEach((film) => film.remove())", "document.body.append(...films)"):
        page.evaluate(act)
        page.wait_for_timeout(100)
        heard = tools.send("DOMDebugger.getEventListeners", {"objectId": window})
        counts.append(len(heard["listeners"]))
    assert counts[0] == counts[2] > counts[1] == 0


def test_steps_keys_speed_and_the_end(film):
    page = film()
    button(page, "Forward one step").click()
    page.wait_for_function(f"{STEP}.startsWith('2 /')")
    button(page, "Back one step").click()
    assert page.evaluate(STEP).startswith("1 /")
    button(page, "Back one step").focus()
    for key, step in (("ArrowRight", "2"), ("ArrowRight", "3"), ("ArrowLeft", "2"), ("Home", "1")):
        page.keyboard.press(key)
        assert page.evaluate(STEP).startswith(f"{step} /")
    page.locator(".film-stage > svg").first.click()
    page.wait_for_function(f"{TIME} > 0.3")
    page.keyboard.press("ArrowRight")  # the click has brought the keys here
    assert page.evaluate(STEP).startswith("2 /")
    page.get_by_label("Speed").first.select_option("2")
    track = page.get_by_label("Moment of the film").first
    press(page, "Home", "Space")
    track.click()  # it plays on from there
    page.wait_for_function(f"{TIME} > {float(track.get_attribute('max')) / 2 + 1}")
    press(page, "Space", "End")
    assert page.get_by_role("button", name="Play again").count() == 1
    press(page, "ArrowLeft", "ArrowRight")  # who steps to the last scene is at the end, too
    page.get_by_role("button", name="Play again").wait_for()
    assert page.evaluate(TIME) == float(page.get_by_label("Moment").first.get_attribute("max"))
    ends = page.get_by_label("Moment").evaluate_all("sliders => sliders.map(({ max }) => max)")
    assert all(len(end.partition(".")[2]) <= 2 for end in ends)  # and no 51.99999999999999
    page.get_by_label("Moment of the film").first.fill("12")
    assert page.evaluate(TIME) == 12
    assert page.get_by_role("button", name="Pause").count() == 0


IN_LAB = [
    f"from helpers import notebook\nnotebook.picture({NAME!r})",
    "from helpers.widgets.dot_products import DotProducts\nDotProducts()",
    "from helpers import exercises\nexercises.quiz('shape_of_states')",
]
CELLS = """() => (({ widgets, activeCellIndex }) => activeCellIndex + widgets.map(
    (cell) => cell.model.type).join(' '))(jupyterapp.shell.currentWidget.content)"""


def test_in_jupyterlab_keys_stay_where_somebody_pressed_until_escape(open_notebook):
    page = open_notebook(IN_LAB, size=(1280, 2400))
    page.wait_for_selector(".course-quiz button")
    held = ".film-bar button >> nth=2", ".film-stage > svg", ".film-bar input"
    for place in (*held, ".film-caption", ".ex-told", ".course-quiz"):  # and where nothing is held
        page.locator(place).click(position={"x": 3, "y": 3})
        before = page.evaluate(CELLS)
        press(page, "m", "x", "b", "ArrowUp", "j")  # JupyterLab would change or leave the cell
        assert page.evaluate(CELLS) == before
        press(page, "Escape", "Enter", "Escape")  # the cell has them back: Enter edits it
        assert page.evaluate("document.activeElement.matches('.jp-Cell.jp-mod-active')")
    page.get_by_label("Speed").press("ArrowDown")
    assert page.get_by_label("Speed").input_value() == "2"
    press(page, "Home", "k")
    page.get_by_role("button", name="Pause").wait_for()


def test_who_wants_no_motion_gets_the_same_scenes_in_steps(film):
    page = film(reduced_motion="reduce")
    scenes = notebook.picture(NAME).data["scenes"]
    places = set()
    for share in (0, 0.5, 1):
        moment = scenes[0]["seconds"] + scenes[1]["seconds"] + scenes[2]["lead"] + share
        page.get_by_label("Moment of the film").first.fill(f"{moment:.2f}")
        places.add(page.evaluate(PLACE.replace("path'", "path:nth-of-type(2)'")))
    assert len(places) == 1


@pytest.mark.parametrize("dark", once_a_week([False, True], [True]))
def test_on_a_phone_everything_can_be_read_and_hit(film, dark):
    page = film(viewport={"width": 390, "height": 800})
    if dark:
        page.evaluate("document.body.setAttribute('data-jp-theme-light', 'false')")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for control in page.locator(".film-player :is(button, input, select, svg[role])").all():
        box = control.bounding_box()
        assert min(box["width"], box["height"]) >= 24
        assert control.get_attribute("aria-label")
    page.evaluate("document.body.style.margin = '0 62px'")  # what JupyterLab leaves a film
    page.wait_for_timeout(300)
    for n, name in enumerate(FILMS):
        start, tops = 0, set()
        for scene in notebook.picture(name).data["scenes"]:
            smallest, faults, top = page.evaluate(WORDS, [n, start + scene["lead"] + scene["move"]])
            assert smallest >= 11.99
            assert not faults, (name, scene["caption"])
            tops.add(top)
            start += scene["seconds"]
        assert len(tops) == 1  # long or short, a caption begins at the same height
    ground = page.locator(".film-player").first.evaluate("e => getComputedStyle(e).backgroundColor")
    assert ground == ("rgb(18, 24, 31)" if dark else "rgb(255, 255, 255)")


@pytest.mark.parametrize(("wide", "high", "least"), [(900, 700, 400), (1280, 800, 800)])
def test_a_film_with_its_caption_and_controls_fits_into_the_window(film, wide, high, least):
    for player in film(viewport={"width": wide, "height": high}).locator(".film-player").all():
        box = player.bounding_box()
        assert box["height"] <= 0.8 * (high - 120)  # of what JupyterLab's bars leave: code is above
        assert box["width"] >= least


def test_without_scripts_and_in_print_the_key_frames_stand(film):
    page = film(java_script_enabled=False)
    keys = [scene for scene in notebook.picture(NAME).data["scenes"] if scene["key"]]
    frames = page.locator(".film").first.get_by_role("img")
    assert frames.count() == len(keys)
    assert frames.first.get_attribute("alt") == keys[0]["caption"]
    assert page.get_by_role("button").count() == 0
    for frame in frames.all():  # no caption is cut off, and two stand side by side
        assert frame.bounding_box()["width"] <= 410
    wide = """() => Math.max(...[...document.querySelectorAll('text')].map(
        (text) => text.getBBox().x + text.getBBox().width))"""
    edge = """() => Math.min(...[...document.querySelectorAll('g rect')].map((rect) =>
        rect.getBoundingClientRect().left - rect.ownerSVGElement.getBoundingClientRect().left))"""
    for data in (notebook.picture(name).data for name in FILMS):  # no box touches a frame's edge
        for scene in data["scenes"]:
            page.set_content(frame_svg(data, scene))
            assert page.evaluate(wide) <= 480
            assert page.evaluate(edge) >= 5
    printed = film()
    printed.emulate_media(media="print")
    assert printed.locator(".film-strip").first.is_visible()
    assert not printed.locator(".film-player").first.is_visible()
