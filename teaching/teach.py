"""Teach a lesson: its slides in JupyterLab, its notes and a countdown in a second window.

``make teach LESSON=04``. The notes' window stays on your own screen; the class view, with the
votes and the commonest mistakes, is one link away from it.
"""

import argparse
import asyncio
import html
import json
import re
import sys
import webbrowser
from pathlib import Path

import nbformat
import tornado.web
from nbconvert.filters import markdown2html

from notebooks import build, copies, slides
from teaching import view, votes

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

COPIES = HERE / "copies" / "teachers"
PAGE = HERE / "teach.html"
TOTAL = re.compile(r"\*\*(?:About )?(\d+)(?: to \d+)? minutes?\.?\*\*|\((\d+) minutes;")
PIECE = re.compile(r"^(.+?)\s(\d+)(?=\.|$)", re.DOTALL)
ROW = re.compile(r"^\| (\d+) \| ([^|]+) \|", re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def find(start):
    """Find the lesson whose file name starts like this.

    Parameters
    ----------
    start : str
        For instance "04".

    Returns
    -------
    notebook : Path
        In ``notebooks``, with its outputs.
    """
    found = sorted(build.NOTEBOOKS.glob(f"{start}*.ipynb")) if start else []
    if len(found) != 1:
        names = ", ".join(path.stem for path in sorted(build.NOTEBOOKS.glob("*.ipynb")))
        sys.exit(f"Say which lesson, for instance `make teach LESSON=04`. There are: {names}.")
    return found[0]


def copy_of(notebook: Path, folder: Path = COPIES):
    """Make the teacher's copy, unless there is one that is as new as the lesson.

    Returns
    -------
    path : Path
        An older copy is kept beside it, because you may have written into it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / notebook.name
    there = path.exists()
    if not there or path.stat().st_mtime < notebook.stat().st_mtime:
        made = copies.teachers_copy(nbformat.read(notebook, 4))
        made.cells = slides.core_of(made.cells)
        copies.write(made, path, keep=there)
    return path


def notes_of(notebook: Path):
    """Collect a lesson's notes for teachers.

    Returns
    -------
    notes : list of (str, str)
        The heading that each stands under, and its Markdown.
    """
    notes, heading = [], ""
    for cell in nbformat.read(notebook, 4).cells:
        if "notes" in cell.metadata.get("tags", []):
            text = cell.source.removeprefix("<details>").removesuffix("</details>")
            notes.append((heading, text.partition("</summary>")[2].strip()))
        elif cell.cell_type == "markdown":
            heading = (HEADING.findall(cell.source) or [heading])[-1]
    return notes


def minutes_of(notes):
    """Read from the notes how long each part of the lesson takes.

    Parameters
    ----------
    notes : list of (str, str)
        As `notes_of` gives them.

    Returns
    -------
    parts : list of (str, int)
        A name and its minutes; without any in the notes, none.
    """
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


def page_of(notebook: Path):
    """Make the page with the notes and the countdown.

    Returns
    -------
    page : str
        HTML.
    """
    notes = notes_of(notebook)
    sections = [f"<h2>{html.escape(head)}</h2>{markdown2html(text)}" for head, text in notes]
    parts = [{"name": name, "minutes": minutes} for name, minutes in minutes_of(notes)]
    title = nbformat.read(notebook, 4).cells[0].source.partition("\n")[0].strip("# ")
    filled = {"TITLE": html.escape(title), "NOTES": "\n".join(sections)}
    filled["PARTS"] = json.dumps(parts).replace("<", "\\u003c")
    return re.sub(r"\{\{(\w+)\}\}", lambda m: filled[m[1]], PAGE.read_text(encoding="utf-8"))


class Notes(tornado.web.RequestHandler):
    """The page with the notes.

    Parameters
    ----------
    page : str
    """

    def initialize(self, page):
        """Take the page, as tornado wants it."""
        self.page = page

    def get(self):
        """Send it."""
        self.write(self.page)


def make_app(page, teachers) -> tornado.web.Application:
    """Put the notes beside the class view.

    Parameters
    ----------
    page : str
    teachers : tornado.web.Application
        The class view's, from `view.make_doors`.
    """
    teachers.add_handlers(".*", [("/notes", Notes, {"page": page})])
    return teachers


async def teach(notebook, port, phones, lab_arguments):
    """Show the notes until JupyterLab is closed."""
    path = copy_of(notebook)
    teachers, rooms = view.make_doors(f"http://{votes.own_address()}:{phones}")
    make_app(page_of(notebook), teachers).listen(port, "127.0.0.1")
    rooms.listen(phones, max_buffer_size=votes.MOST_BYTES)
    address = f"http://127.0.0.1:{port}/notes"
    print(f"Your notes are at {address}; in JupyterLab, “Toggle Deck” shows the slides.")
    webbrowser.open_new(address)
    lab = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "jupyter", "lab", f"--ServerApp.root_dir={ROOT}"),
        *(*lab_arguments, str(path.relative_to(ROOT))),
    )
    await lab.wait()


def main(arguments=None):
    """Read the command line and serve.

    Parameters
    ----------
    arguments : list of str, default=None
        What this program doesn't know goes to JupyterLab.
    """
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
