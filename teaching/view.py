"""The class view: where everybody is, what goes wrong, and votes. ``make class-view``.

Progress comes from notebooks whose learners have typed ``exercises.join_class("ADDRESS")``, from a
hub's notebooks by themselves, or from pasted lines that ``exercises.export_progress()`` gave.
Phones vote at the address that the page shows. Numbers by default, names on request; nothing is
stored, and everything is gone with the process.

Two doors: the teacher's pages are for this machine alone. Through the other one, open to the room,
a phone gets the question of the moment and a notebook leaves its progress, and neither sees more.
"""

import argparse
import asyncio
import json
import webbrowser
from dataclasses import asdict
from pathlib import Path

import tornado.web

from helpers.exercises.progress import understood
from teaching import tally, votes

ROOT = Path(__file__).resolve().parent.parent

PAGE = Path(__file__).with_name("view.html")
VOTE = Path(__file__).with_name("vote.html")
MOST_LEARNERS = 2000


class Pasted:
    """Progress that somebody pastes into the page, or that notebooks send.

    It is kept in this process alone, and a learner's newer line replaces the older one.
    """

    def __init__(self):
        self.states = {}

    def take(self, name, state):
        """Keep one learner's state, as a notebook sends it.

        What is something else raises a ValueError, TypeError, KeyError or AttributeError.
        """
        if name not in self.states and len(self.states) >= MOST_LEARNERS:
            raise ValueError("nobody has that many learners")
        self.states[name] = understood(state)

    def add(self, text: str) -> tuple[int, list[str]]:
        """Read pasted lines; how many, and the beginnings of those that are something else."""
        states, unread = tally.read_lines(text)
        unnamed = [name for name in states if name.startswith("learner ")]
        for name in unnamed:  # a second paste of unnamed lines must not replace the first
            states[f"learner {len(self.states) + len(states)}, {name}"] = states.pop(name)
        self.states |= states
        return len(states), unread


class Page(tornado.web.RequestHandler):
    """The page itself; everything on it comes from `Data`."""

    def get(self):
        self.set_header("Content-Type", "text/html; charset=utf-8")
        # Nothing from elsewhere runs here, whatever a learner calls themselves.
        self.set_header("Content-Security-Policy", "default-src 'self' 'unsafe-inline'")
        self.write(PAGE.read_text(encoding="utf-8"))


class Data(tornado.web.RequestHandler):
    """Counts as JSON, and the place where lines are pasted into the `source`."""

    can_paste = True  # not on a hub, whose notebooks report by themselves

    def initialize(self, source):
        self.source = source

    def get(self):
        """Send the counts; ``?names=1`` sends names too, ``?lesson=4`` one lesson only."""
        states = self.source.states
        lesson = self.get_argument("lesson", "")
        lessons = {int(lesson)} if lesson.isdecimal() else None
        names = self.get_argument("names", "") == "1"
        parts = tally.parts(states, lessons, names)
        said = {"learners": len(states), "can_paste": self.can_paste}
        said["parts"] = [asdict(part) for part in parts]
        self.write(said | {"votes": [asdict(vote) for vote in tally.votes(states, lessons)]})

    def post(self):
        """Take pasted lines."""
        if self.request.headers.get("Content-Type", "").partition(";")[0] != "application/json":
            raise tornado.web.HTTPError(415)  # what a form on another site can't send
        if not self.can_paste:
            raise tornado.web.HTTPError(405)
        added, unread = self.source.add(json.loads(self.request.body)["lines"])
        self.write({"added": added, "unread": unread})


def make_app(source: Pasted, prefix="/", page=Page, data=Data) -> tornado.web.Application:
    """Make the web application, whose addresses begin with `prefix`.

    With a hub, `page` and `data` are classes that ask who is there.
    """
    return tornado.web.Application([(prefix, page), (f"{prefix}data", data, {"source": source})])


def make_doors(address: str) -> tuple[tornado.web.Application, tornado.web.Application]:
    """Make the teacher's application and the room's, around one poll and one set of states.

    Phones find the second one at `address`.
    """
    source, poll = Pasted(), votes.Poll()
    teachers = make_app(source)
    teachers.add_handlers(".*", [("/poll", votes.Control, {"poll": poll, "address": address})])
    page = VOTE.read_text(encoding="utf-8")
    rooms = tornado.web.Application(
        [
            ("/(|now|vote)", votes.Phone, {"poll": poll, "page": page}),
            ("/progress", votes.Progress, {"source": source}),
        ]
    )
    return teachers, rooms


async def serve(port, phones):
    """Show the view on this machine, and the votes to the room unless `phones` is 0."""
    teachers, rooms = make_doors(f"http://{votes.own_address()}:{phones}" if phones else "")
    teachers.listen(port, "127.0.0.1")
    if phones:
        rooms.listen(phones, max_buffer_size=votes.MOST_BYTES)
    address = f"http://127.0.0.1:{port}/"
    print(f"The class view is at {address} (Ctrl-C ends it)")
    if phones:
        print(f"Phones vote, and notebooks send progress, at http://{votes.own_address()}:{phones}")
    webbrowser.open(address)
    await asyncio.Event().wait()


def main(arguments: list[str] | None = None):
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="make class-view", description=__doc__)
    parser.add_argument("--port", type=int, default=8070)
    parser.add_argument("--phones", type=int, default=8080, help="their port; 0 leaves them out")
    options = parser.parse_args(arguments)
    try:
        asyncio.run(serve(options.port, options.phones))
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
