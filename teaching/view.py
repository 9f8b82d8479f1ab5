"""The class view: where everybody is, and what goes wrong. ``make class-view``.

Paste the lines that ``exercises.export_progress()`` gives, one learner each, and the page counts
them. Started by a JupyterHub (see ``teaching/README.md``), it pulls its users' progress instead.
Numbers by default, names on request; nothing is stored, and what was pasted is gone with the
process.
"""

import argparse
import asyncio
import json
import webbrowser
from dataclasses import asdict
from pathlib import Path

import tornado.web

from teaching import tally

ROOT = Path(__file__).resolve().parent.parent

PAGE = Path(__file__).with_name("view.html")


class Pasted:
    """Progress that somebody pastes into the page.

    It is kept in this process alone, and a learner's newer line replaces the older one.
    """

    def __init__(self):
        self.states = {}

    async def pull(self):
        """Return what has been pasted: progress by learner, and a note on what is missing."""
        return self.states, ""

    def add(self, text):
        """Read pasted lines.

        Returns
        -------
        added : int
        unread : list of str
            The beginnings of lines that are something else.
        """
        states, unread = tally.read_lines(text)
        unnamed = [name for name in states if name.startswith("learner ")]
        for name in unnamed:  # a second paste of unnamed lines must not replace the first
            states[f"learner {len(self.states) + len(states)}, {name}"] = states.pop(name)
        self.states |= states
        return len(states), unread


class Page(tornado.web.RequestHandler):
    """The page itself; everything on it comes from `Data`."""

    def get(self):
        """Send the page."""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        # Nothing from elsewhere runs here, whatever a learner calls themselves.
        self.set_header("Content-Security-Policy", "default-src 'self' 'unsafe-inline'")
        self.write(PAGE.read_text(encoding="utf-8"))


class Data(tornado.web.RequestHandler):
    """Counts as JSON, and the place where lines are pasted.

    Parameters
    ----------
    source : Pasted, or a hub with the same two methods
    """

    def initialize(self, source):
        """Take the `source`, as tornado wants it."""
        self.source = source

    async def get(self):
        """Send the counts; ``?names=1`` sends names too, ``?lesson=4`` one lesson only."""
        states, note = await self.source.pull()
        lesson = self.get_argument("lesson", "")
        lessons = {int(lesson)} if lesson.isdecimal() else None
        names = self.get_argument("names", "") == "1"
        parts = tally.parts(states, lessons, names)
        self.write(
            {
                "learners": len(states),
                "note": note,
                "can_paste": hasattr(self.source, "add"),
                "parts": [asdict(part) for part in parts],
                "votes": [asdict(vote) for vote in tally.votes(states, lessons)],
            }
        )

    def post(self):
        """Take pasted lines."""
        if self.request.headers.get("Content-Type", "").partition(";")[0] != "application/json":
            raise tornado.web.HTTPError(415)  # what a form on another site can't send
        if not hasattr(self.source, "add"):
            raise tornado.web.HTTPError(405)
        added, unread = self.source.add(json.loads(self.request.body)["lines"])
        self.write({"added": added, "unread": unread})


def make_app(source, prefix="/", page=Page, data=Data):
    """Make the web application.

    Parameters
    ----------
    source : Pasted, or a hub with the same methods
    prefix : str, default="/"
        Where its addresses begin.
    page, data : classes, default: `Page` and `Data`
        With a hub, those that ask who is there.

    Returns
    -------
    app : tornado.web.Application
    """
    return tornado.web.Application([(prefix, page), (f"{prefix}data", data, {"source": source})])


async def serve(port):
    """Show the view on this machine only."""
    app = make_app(Pasted())
    app.listen(port, "127.0.0.1")
    address = f"http://127.0.0.1:{port}/"
    print(f"The class view is at {address} (Ctrl-C ends it)")
    webbrowser.open(address)
    await asyncio.Event().wait()


def main(arguments=None):
    """Read the command line and serve.

    Parameters
    ----------
    arguments : list of str, default=None
    """
    parser = argparse.ArgumentParser(prog="make class-view", description=__doc__)
    parser.add_argument("--port", type=int, default=8070)
    options = parser.parse_args(arguments)
    try:
        asyncio.run(serve(options.port))
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
