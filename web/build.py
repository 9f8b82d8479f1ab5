"""Build the course as static pages: ``make site``, or ``python -m web.build`` where
``web/requirements.txt`` is installed. The pages are in ``web/build/html``.

Nothing is computed: the notebooks hold their outputs. The attention view and the map work in the
page by their own JavaScript, predictions by that of the notebooks, and the translator by typed
arrays (`static/translator.js`).
"""

import argparse
import hashlib
import importlib.metadata
import shutil
import sys
from pathlib import Path

import nbformat

from helpers.widgets import modules
from helpers.widgets.colours import coloured
from notebooks.build import NOTEBOOKS, ROOT, read
from web import pages

HERE = Path(__file__).resolve().parent

OUT = HERE / "build"
WEIGHTS = ROOT / "helpers" / "pretrained" / "weights"
LIVE_MAP = "ModelMap()"


def prepare(folder, only=()):
    """Write what Sphinx reads: a page per notebook, the home page, and the static files.

    The `folder` is emptied first. `only` says how the wanted lessons' names start; empty, all are.
    """
    shutil.rmtree(folder, ignore_errors=True)
    static = folder / "static"
    shutil.copytree(HERE / "static", static, ignore=shutil.ignore_patterns("package.json"))
    shutil.copy(HERE / "conf.py", folder)
    weights = _write_static(static)
    first = None
    for path in sorted(NOTEBOOKS.glob("[0-9]*.ipynb")):
        notebook = read(path.stem)
        first = first or _first_map(notebook)
        if not only or path.name.startswith(tuple(only)):
            nbformat.write(pages.page_of(notebook, path.stem), folder / path.name)
    (folder / "index.md").write_text(pages.front_page(first, weights), encoding="utf-8")


def _write_static(static):
    """Put the widgets' scripts, the formulas' script and the translator's files beside ours."""
    for name in ("map_view.js", "prediction.js"):
        (static / name).write_text(modules.module(name), encoding="utf-8")
    for name in ("stand_in.js", "map_language.js", "page.js", "model_map.css", "prediction.css"):
        shutil.copy(modules.STATIC / name, static)
    for sheet in static.glob("*.css"):
        sheet.write_text(coloured(sheet.read_text(encoding="utf-8")), encoding="utf-8")
    files = importlib.metadata.files("sphinx-mathjax-offline")
    (mathjax,) = (file for file in files if file.name == "tex-svg.js")
    shutil.copy(mathjax.locate(), static / "mathjax.js")
    named = {}
    translator = {"model": "translator.safetensors", "pieces": "translator.tokenizer.json"}
    for kind, name in translator.items():
        data = (WEIGHTS / name).read_bytes()
        # A name of its own for every content, so that what is cached is never an older model.
        stem, _, ending = name.partition(".")
        named[kind] = f"{stem}-{hashlib.sha256(data).hexdigest()[:12]}.{ending}"
        (static / named[kind]).write_bytes(data)
    return named | {"bytes": (WEIGHTS / translator["model"]).stat().st_size}


def _first_map(notebook):
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.get("data", {}).get("text/plain") == LIVE_MAP:
                return output["data"]["text/html"].replace(pages.TO_PLAY, "")
    return None


def main(arguments: list[str] | None = None):
    """Build the site."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("only", nargs="*", help="how a lesson's name starts, for instance 03")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    source, target = options.out / "source", options.out / "html"
    prepare(source, options.only)
    shutil.rmtree(target, ignore_errors=True)
    from sphinx.cmd.build import main as sphinx  # after the pages: an error there comes at once

    arguments = ["-b", "html", "-q", "-j", "auto", "-d", str(options.out / "doctrees")]
    if not options.only:  # a part of the course has links to lessons that aren't there
        arguments += ["-W", "--keep-going"]
    failed = sphinx([*arguments, str(source), str(target)])
    if failed:
        sys.exit(failed)
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file()) / 1e6
    print(f"The site is in {target} ({size:.0f} MB). To look at it:")
    print(f"  {sys.executable} -m http.server --bind 127.0.0.1 --directory {target}")


if __name__ == "__main__":
    main()
