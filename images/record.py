"""Record the README's moving picture: the map of the model, used by hand. Run as ``make picture``.

A real Chromium shows the map that lesson 00 shows. Its clock is moved by this script, so a slow
machine records the same film.
"""

import argparse
import io
import re
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from helpers.pretrained.translator import load_translator
from helpers.widgets.model_map import model_map
from images import browser

FILM = Path(__file__).with_name("the_map.webp")
SENTENCE = "Un chien noir court dans la neige avec un bâton."
SIZE = {"width": 960, "height": 682}  # room for the whole map; the film is 900 wide
STEP = 80  # milliseconds between two frames of a movement
LOOK = 1600  # milliseconds for something to read


class Film:
    """Frames of a playwright `page` whose clock stands still, each with how long it is shown."""

    def __init__(self, page):
        self.page, self.frames, self.lengths, self.still = page, [], [], None

    def hold(self, milliseconds):
        """Show the page as it is; the same picture again only makes the last frame longer."""
        frame = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        if self.frames and frame.tobytes() == self.frames[-1].tobytes():
            self.lengths[-1] += milliseconds
        else:
            self.frames.append(frame)
            self.lengths.append(milliseconds)

    def move(self, milliseconds):
        """Let the page's clock run, and record what moves."""
        for _ in range(milliseconds // STEP):
            self.page.clock.run_for(STEP)
            self.hold(STEP)

    def write(self, path):
        """Write the film, which plays twice, and the one frame for who wants no motion."""
        first, *others = self.frames
        self.still.save(path.with_name(f"{path.stem}_still.webp"), quality=70, method=6)
        first.save(path, save_all=True, append_images=others, duration=self.lengths, loop=2,
                   quality=70, method=6)  # fmt: skip


def play(page, film):
    """Use the map as a learner does: let it translate, open a layer, a head, point at a weight."""
    slider = page.get_by_label("Step of the computation")
    for step in range(int(slider.get_attribute("max")) + 1):
        slider.fill(str(step))
        page.clock.run_for(400)
        film.hold(250)
    film.hold(LOOK)
    film.still = film.frames[-1]  # everything is written
    _click(page, film, "^Decoder layer 3: open")
    _click(page, film, "^Head 2 of cross-attention")
    weights = page.get_by_role("button", name=re.compile("^Weights")).first.bounding_box()
    for row, column in ((1, 2), (2, 1), (2, 2)):  # black, dog
        at = weights["width"] * (column + 0.5) / 12, weights["height"] * (row + 0.5) / 12
        page.mouse.move(weights["x"] + at[0], weights["y"] + at[1], steps=4)
        page.clock.run_for(400)
        film.hold(LOOK)
    for _ in range(2):
        page.keyboard.press("Escape")
        film.move(800)


def _click(page, film, name):
    page.get_by_role("button", name=re.compile(name)).first.click()
    film.move(960)
    film.hold(LOOK)


def record(path: Path = FILM):
    """Record the film."""
    view = model_map(load_translator().trace(SENTENCE))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        html = Path(folder, "map.html")
        html.write_text(f"<meta charset=utf-8>{view.static_html()}", encoding="utf-8")
        chromium = browser.launch(playwright)
        page = chromium.new_page(viewport=SIZE, device_scale_factor=900 / SIZE["width"])
        page.clock.install(time=0)
        page.goto(html.as_uri())
        page.wait_for_selector(".mm-stage[data-painted]")
        page.clock.pause_at(60_000)
        film = Film(page)
        play(page, film)
        film.write(path)
        chromium.close()


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    record()
    print(f"{FILM.name}: {FILM.stat().st_size / 1000:.0f} kB")
