"""A film among the pictures: it can be stopped, and where no motion is wanted it stands still."""

import pytest

from helpers import notebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SHOWN = """() => { const film = document.querySelector('svg');
  return [...film.querySelectorAll('g')].findIndex(g => g.querySelector(':scope > animate')
    && getComputedStyle(g).visibility === 'visible'); }"""
NOW = "document.querySelector('svg').getCurrentTime()"


@pytest.fixture
def film(chromium, tmp_path):
    """Give a function that shows a film in a bare page."""
    path, contexts = tmp_path / "film.html", []
    html = notebook.picture("hidden_state_travelling")._repr_html_()
    path.write_text(f"<meta charset=utf-8>{html}", encoding="utf-8")

    def open_(**options):
        contexts.append(chromium.new_context(offline=True, **options))
        page = contexts[-1].new_page()
        page.goto(path.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()


def test_a_film_is_stopped_and_goes_on_where_it_was(film):
    page = film()
    first = page.evaluate(SHOWN)
    page.wait_for_function(f"first => ({SHOWN})() !== first", arg=first)
    page.get_by_role("button", name="Pause").focus()
    page.keyboard.press("Enter")
    play, stopped = page.get_by_role("button", name="Play"), page.evaluate(NOW)
    play.wait_for()
    page.wait_for_timeout(300)
    assert page.evaluate(NOW) == stopped > 0
    play.click()
    page.wait_for_function(f"stopped => {NOW} > stopped", arg=stopped)
    assert page.get_by_role("img").get_attribute("aria-label").startswith("A film: words enter")


def test_who_wants_no_motion_sees_the_last_frame_until_play_is_pressed(film):
    page = film(reduced_motion="reduce")
    frames, last = page.locator("svg > g").count(), page.evaluate(SHOWN)
    assert last == frames - 1 > 10
    stopped = page.evaluate(NOW)
    page.wait_for_timeout(300)
    assert page.evaluate(NOW) == stopped
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(f"last => ({SHOWN})() !== last", arg=last)


def test_without_scripts_the_still_picture_stands_for_the_film(film):
    page = film(java_script_enabled=False, reduced_motion="reduce")
    before = page.screenshot()
    page.wait_for_timeout(1500)  # longer than a frame of the film
    assert page.screenshot() == before
    assert page.get_by_role("button").count() == 0
