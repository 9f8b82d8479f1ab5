"""The site in a real Chromium: built from two lessons, nothing asked of any other machine."""

import contextlib
import shutil
import subprocess

import pytest
from samples import once_a_week, served
from stages import ROOT
from waits import ALIVE, PATIENCE, press

LESSON = "03_self_attention_vectors.html"
CHOSEN = "00_start_here.html"  # its first prediction is a choice
PYTHONS = [ROOT / ".venv-site" / part for part in ("bin/python", "Scripts/python.exe")]
# Formulas are drawn, too. (When the network rests isn't what counts, and headless Chromium doesn't
# always tell.)
SETTLED = f"async () => {{ await window.MathJax?.startup.promise; return ({ALIVE})(); }}"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Build the site from two lessons and serve it; give its address."""
    python = next((path for path in PYTHONS if path.exists()), None)
    if python is None:
        pytest.skip("no .venv-site: `make site` makes it")
    out = tmp_path_factory.mktemp("site")
    command = [python, "-m", "web.build", "00", "03", "--out", out]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    with served(out / "html") as address:
        yield address
    shutil.rmtree(out)


@pytest.fixture
def visit(chromium, address):
    """Give a function that opens a page and lists its requests; an error in it fails the test."""
    errors, pages = [], []
    with contextlib.ExitStack() as contexts:

        def open_(path, context=None, dark=False, size=(1280, 900)):
            if context is None:
                context = chromium.new_context(
                    viewport={"width": size[0], "height": size[1]},
                    color_scheme="dark" if dark else "light",
                )
                contexts.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(PATIENCE)
            page.requests = []
            page.on("request", lambda request: page.requests.append(request.url))
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(address + path)
            page.wait_for_function(SETTLED)
            pages.append(page)
            return page

        yield open_
    assert not errors
    asked = [url for page in pages for url in page.requests]
    assert asked
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


def translated(page, sentence):
    said = page.locator(".try-said strong")
    before = said.inner_text() if said.count() else ""
    page.get_by_label("Type a French sentence").fill(sentence)
    page.keyboard.press("Enter")
    page.wait_for_function(
        """before => (document.querySelector('.try-said strong')?.textContent || before)
              !== before""",
        arg=before,
    )
    return said.inner_text()


def test_a_sentence_is_translated_in_the_page_also_without_a_network(visit, address):
    page = visit("index.html")
    assert not any(url.endswith(".safetensors") for url in page.requests), "nobody has asked yet"
    assert page.locator(".mm:visible").count() == 1, "an example is there before"
    assert "eat" in translated(page, "Deux hommes mangent une pizza dans la rue.")
    page.wait_for_selector(".mm-hit:visible[aria-label*='mangent']", state="attached")
    page.context.set_offline(True)
    assert "dog" in translated(page, "Un chien noir court dans la neige.")
    page.wait_for_selector(".mm-hit:visible[aria-label*='neige']", state="attached")
    assert page.locator(".mm:visible").count() == 1, "a new map takes the old one's place"
    page.context.set_offline(False)
    page.get_by_label("Type a French sentence").fill("Он спит.")
    page.get_by_role("button", name="Translate").click()
    page.locator("text=The model has never seen").wait_for()  # it says what it can't translate

    again = visit("index.html", page.context)
    assert translated(again, "Un homme dort.")
    assert not any(url.endswith(".safetensors") for url in again.requests), "kept by the browser"


def test_a_prediction_opens_its_result_and_nothing_else(visit):
    page = visit(CHOSEN)
    assert page.locator(".tag_course-result details.hide").count() > 3
    assert page.locator(".tag_course-result details.hide[open]").count() == 0
    card = page.get_by_role("group", name="Prediction").first
    card.get_by_role("radio").first.focus()
    press(page, "ArrowDown", "Tab", "Space", "Tab", "Enter")  # everything with the keyboard
    page.wait_for_selector(".course-reveal >> text=You predicted")
    panel = page.locator(".course-reveal [role=status]").first
    assert panel.get_by_text("You didn't predict").count() == 0
    explained = panel.locator("details[open] > div")
    assert explained.filter(visible=True).count() == 1 < explained.count()
    opened = page.locator(".tag_course-result details.hide[open]")
    assert opened.count() == 1
    assert opened.locator(".course-reveal").count() == 1

    again = visit(CHOSEN, page.context)
    again.wait_for_selector(".pr-locked")
    assert again.locator(".pr-locked").count() == 1, "the answer is kept"
    again.get_by_role("button", name="Predict again").click()
    again.wait_for_selector(".pr-locked", state="detached")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_map_and_the_attention_view_are_alive_and_follow_the_theme(visit, dark):
    page = visit("00_start_here.html", dark=dark)
    theme = "dark" if dark else "light"
    page.wait_for_selector(f".mm[data-theme={theme}] canvas:visible")
    page.wait_for_selector(f".av[data-theme={theme}] canvas")
    assert page.locator(".mm img, .course-still > svg").count() == 0, "the still pictures are gone"
    page.locator(".theme-toggle:visible").first.click()  # to the next of light, dark, as the system
    page.locator(".theme-toggle:visible").first.click()
    chosen = page.evaluate("document.body.dataset.theme")
    assert page.get_attribute("html", "theme") == (theme if chosen == "auto" else chosen)
    page.wait_for_selector(f".mm[data-theme={page.get_attribute('html', 'theme')}]")


def test_formulas_are_drawn_and_the_search_finds(visit):
    assert visit(LESSON).locator("mjx-container svg").count() > 5
    found = visit("search.html?q=softmax")
    found.wait_for_selector("ul.search li a")
    assert found.locator("ul.search li a", has_text="Self-attention").count()


@pytest.mark.parametrize(
    "path", once_a_week(["index.html", "00_start_here.html", LESSON], [LESSON])
)
def test_no_page_is_wider_than_a_phone(visit, path):
    page = visit(path, size=(390, 844))
    page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


PAGES = [("index.html", False), ("index.html", True), ("00_start_here.html", True), (LESSON, False)]


@pytest.mark.parametrize("page", once_a_week(PAGES, PAGES[1::2]))
def test_nothing_serious_stands_in_anybodys_way(visit, page):
    path, dark = page
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = visit(path, dark=dark)
    page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")
    # Halfway, a colour is neither the old nor the new one; what follows scrolling never ends.
    moving = "document.getAnimations().some(one => one.timeline === document.timeline)"
    page.wait_for_function(f"!{moving}")
    serious = [
        (broken["id"], node["html"])
        for broken in axe.run(page).response["violations"]
        if broken["impact"] in ("serious", "critical")
        for node in broken["nodes"]
    ]
    assert not serious
