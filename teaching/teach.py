"""Teach a lesson: its slides in JupyterLab, its notes and a countdown in a second window.

``make teach LESSON=04``. The notes' window stays on your own screen; the class view, with the
votes and the commonest mistakes, is one link away from it.
"""

import argparse
import asyncio
import html
import json
import os
import re
import shutil
import sys
import tempfile
import webbrowser
from pathlib import Path

import latex2mathml.converter
import nbformat
import tornado.web
from jupyterlab.commands import get_user_settings_dir
from nbconvert.filters import markdown2html

from helpers.exercises.predictions import TEACHING
from notebooks import build, copies
from teaching import view, votes

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

COPIES = HERE / "copies" / "teachers"
PAGE = HERE / "teach.html"
TOTAL = re.compile(r"\*\*(?:About )?(\d+)(?: to \d+)? minutes?\.?\*\*|\((\d+) minutes;")
PIECE = re.compile(r"^(.+?)\s(\d+)(?=\.|$)", re.DOTALL)
ROW = re.compile(r"^\| (\d+) \| ([^|]+) \|", re.MULTILINE)
SAID = re.compile(r"^\| (\d+) \| ([^|]+) \| ([^\n]*) \|$", re.MULTILINE)
SECTION = re.compile(r"## (\d+)\.")
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def find(start: str) -> Path:
    """Find the lesson, with its outputs, whose file name starts like this: "04"."""
    found = sorted(build.NOTEBOOKS.glob(f"{start}*.ipynb")) if start else []
    if len(found) != 1:
        names = ", ".join(path.stem for path in sorted(build.NOTEBOOKS.glob("*.ipynb")))
        sys.exit(f"Say which lesson, for instance `make teach LESSON=04`. There are: {names}.")
    return found[0]


def copy_of(notebook: Path, folder: Path = COPIES) -> Path:
    """Make the teacher's copy, unless there is one that is as new as the lesson.

    An older copy is kept beside it, because you may have written into it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / notebook.name
    there = path.exists()
    if not there or path.stat().st_mtime < notebook.stat().st_mtime:
        made = copies.teachers_copy(build.read(notebook.stem))
        _add_minutes(made, notes_of(notebook))
        copies.write(made, path, keep=there)
    return path


def _add_minutes(copy, notes):
    """Say above each section at which minute it begins, and what the notes say about it."""
    minute, plan = 0, {}
    said = {name.strip(): text for _, whole in notes for _, name, text in SAID.findall(whole)}
    for name, length in minutes_of(notes):
        if number := re.match(r"\d+", name):
            title = f"**Minute {minute}, for {length} minutes.** {said.get(name, '').strip()}"
            summary = f"<summary>{build.FOLDED['notes']}</summary>"
            plan[number[0]] = nbformat.v4.new_markdown_cell(
                f"<details open>\n{summary}\n\n{title}\n\n</details>", metadata={"tags": ["notes"]}
            )
        minute += length
    for i, cell in reversed(list(enumerate(copy.cells))):
        section = SECTION.match(cell.source) if cell.cell_type == "markdown" else None
        if section and section[1] in plan:
            copy.cells.insert(i, plan.pop(section[1]))


def notes_of(notebook: Path) -> list[tuple[str, str]]:
    """Collect a lesson's notes for teachers: the heading that each stands under, its Markdown."""
    notes, heading = [], ""
    for cell in nbformat.read(notebook, 4).cells:
        if "notes" in cell.metadata.get("tags", []):
            text = cell.source.removeprefix("<details>").removesuffix("</details>")
            notes.append((heading, text.partition("</summary>")[2].strip()))
        elif cell.cell_type == "markdown":
            heading = (HEADING.findall(cell.source) or [heading])[-1]
    return notes


def minutes_of(notes: list[tuple[str, str]]) -> list[tuple[str, int]]:
    """Read from `notes_of` a lesson how long each part of it takes: a name and its minutes."""
    return [part for heading, text in notes for part in _minutes(heading, text)]


def _minutes(heading, text):
    found = TOTAL.search(text)
    if not found:
        return []
    total = int(found[1] or found[2])
    starts = [(int(minute), name.strip()) for minute, name in ROW.findall(text)]
    if starts:
        ends = [minute for minute, _ in starts[1:]] + [total]
        return [(name, end - start) for (start, name), end in zip(starts, ends, strict=True)]
    first = text[found.end() :].partition("\n\n")[0]
    pieces = [PIECE.match(piece.strip()) for piece in first.split("·")]
    if len(pieces) > 1 and all(pieces):
        return [(" ".join(piece[1].split()), int(piece[2])) for piece in pieces]
    return [(heading, total)]


def page_of(notebook: Path) -> str:
    """Make the page with the notes and the countdown, in HTML."""
    notes = notes_of(notebook)
    sections = [f"<h2>{html.escape(head)}</h2>{_typeset(text)}" for head, text in notes]
    parts = [{"name": name, "minutes": minutes} for name, minutes in minutes_of(notes)]
    title = nbformat.read(notebook, 4).cells[0].source.partition("\n")[0].strip("# ")
    filled = {"TITLE": html.escape(title), "NOTES": "\n".join(sections)}
    filled["PARTS"] = json.dumps(parts).replace("<", "\\u003c")
    return re.sub(r"\{\{(\w+)\}\}", lambda m: filled[m[1]], PAGE.read_text(encoding="utf-8"))


def _typeset(text):
    """Turn Markdown with formulas into HTML with MathML, which needs nothing from elsewhere."""

    def draw(found):
        kind = "block" if found[1] else "inline"
        return latex2mathml.converter.convert(html.unescape(found[1] or found[2]), display=kind)

    return FORMULA.sub(draw, markdown2html(text))


class Notes(tornado.web.RequestHandler):
    """The page with the notes."""

    def initialize(self, page):
        self.page = page

    def get(self):
        self.write(self.page)


def make_app(page: str, teachers: tornado.web.Application) -> tornado.web.Application:
    """Put the notes beside the class view, whose application `view.make_doors` made."""
    teachers.add_handlers(".*", [("/notes", Notes, {"page": page})])
    return teachers


async def teach(notebook, port, phones, lab_arguments):
    """Show the notes until JupyterLab is closed."""
    path = copy_of(notebook)
    teachers, rooms = view.make_doors(f"http://{votes.own_address()}:{phones}")
    make_app(page_of(notebook), teachers).listen(port, "127.0.0.1")
    rooms.listen(phones, max_buffer_size=votes.MOST_BYTES)
    address = f"http://127.0.0.1:{port}/notes"
    print(f"Your notes are at {address}; in JupyterLab, “Show as slides” starts the show.")
    webbrowser.open_new(address)
    with tempfile.TemporaryDirectory() as folder:
        lab = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "jupyter", "lab", f"--ServerApp.root_dir={ROOT}"),
            *(*lab_arguments, str(path.relative_to(ROOT))),
            env={**os.environ, **surroundings(Path(folder))},
        )
        await lab.wait()


def surroundings(folder: Path) -> dict[str, str]:
    """Give JupyterLab settings of its own for the show, so that yours stay as they are.

    The empty `folder` gets a copy of them. What comes back belongs into the environment of
    JupyterLab and its kernels.
    """
    settings = folder / "settings"
    if (mine := Path(get_user_settings_dir())).is_dir():
        shutil.copytree(mine, settings)
    tracker = settings / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
    tracker.parent.mkdir(parents=True, exist_ok=True)
    tracker.write_text('{"windowingMode": "none"}', encoding="utf-8")  # a slide's cells all exist
    return {
        "JUPYTERLAB_SETTINGS_DIR": str(settings),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        TEACHING: "1",
    }


def main(arguments: list[str] | None = None):
    """Read the command line and serve; what this program doesn't know goes to JupyterLab."""
    parser = argparse.ArgumentParser(prog="make teach", description=__doc__)
    parser.add_argument("lesson", nargs="?", default="", help="how its name starts: 04")
    parser.add_argument("--notes-port", type=int, default=8071)
    parser.add_argument("--phones", type=int, default=8080, help="the port at which phones vote")
    options, lab_arguments = parser.parse_known_args(arguments)
    try:
        asyncio.run(teach(find(options.lesson), options.notes_port, options.phones, lab_arguments))
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
