"""Votes from phones: a question opened by the teacher, two rounds, then both spreads and why.

Anonymous and in memory only: a phone is a random word that it made up itself, and nothing is kept
when the program ends.
"""

import io
import json
import math
import socket

import tornado.web

from helpers.exercises import content
from notebooks import giveaways
from teaching import tally

ROUNDS = ("first", "second")
STAGES = ("closed", *ROUNDS, "discuss", "revealed")
MOST_PHONES = 2000
MOST_BYTES = 300_000  # a whole course's progress has a tenth of that


class Poll:
    """One question, and what the phones say to it in each round."""

    def __init__(self):
        self.question, self.stage, self.right = None, "closed", -1
        self.number = 0  # of questions opened so far
        self.rounds = {name: {} for name in ROUNDS}

    def open(self, name):
        """Ask the prediction called `name`, from the first round."""
        self.question, self.stage = content.find(name, "prediction"), "first"
        self.right = right_option(self.question)  # once: it reads a whole notebook
        self.number += 1
        self.rounds = {each: {} for each in ROUNDS}

    def move(self, stage):
        """Go to another stage: "first", "discuss", "second", "revealed" or "closed"."""
        if stage not in STAGES:
            raise ValueError(f"a poll is {', '.join(STAGES)}; got {stage!r}")
        self.stage = stage if self.question else "closed"

    def vote(self, phone, stage, choice, number=None) -> bool:
        """Count a phone's choice; a second one in the same round takes the first one's place.

        `number` is the question's: what a phone without a network sends may come at the next one.
        If that round or question is over, or the choice is none, it isn't counted.
        """
        if number not in (None, self.number):
            return False
        if stage != self.stage or stage not in ROUNDS or not isinstance(phone, str):
            return False
        if self.question.options:
            known = isinstance(choice, str) and choice in self.question.options
            choice = choice if known else None
        else:
            choice = tally.number(choice)
            choice = choice if math.isfinite(choice) else None
        votes = self.rounds[stage]
        if choice is None or (phone not in votes and len(votes) >= MOST_PHONES):
            return False
        votes[phone[:64]] = choice
        return True

    def shown(self, to_teacher=False) -> dict:
        """Tell what a phone shows, or the teacher's page, which counts before the reveal."""
        question = self.question
        if question is None or self.stage == "closed":
            return {"stage": "closed", "count": 0}
        now = self.rounds.get(self.stage, self.rounds["second"] or self.rounds["first"])
        told = {"name": question.name, "number": self.number, "stage": self.stage}
        told["prompt"] = question.prompt
        told |= {"count": len(now), "unit": question.unit}
        told["options"] = [(key, text) for key, (text, _) in question.options.items()]
        if self.stage == "revealed" or (to_teacher and self.stage == "discuss"):
            told["spreads"] = [
                tally.bars(question, list(votes.values())) if votes else []
                for votes in self.rounds.values()
            ]
        if self.stage == "revealed":
            told["why"] = [why for _, why in question.options.values()]
            told["explain"], told["right"] = question.explain, self.right
        return told


def right_option(question):
    """Find which option turned out right in the lesson as it was built, or -1."""
    for _, name, _, right in giveaways.answered((f"{question.lesson:02d}",)):
        if name == question.name:
            return right
    return -1


def questions():
    """List what can be asked: every prediction's lesson, name and prompt."""
    found = content.catalogue("prediction").values()
    return [(one.lesson, one.name, one.prompt) for one in found]


def own_address():
    """Find this machine's address on the room's network; no packet is sent for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("10.255.255.255", 1))
            return asked.getsockname()[0]
        except OSError:
            return "127.0.0.1"


def qr(address):
    """Draw an address as a QR code: SVG, or "" where segno isn't installed."""
    try:
        import segno
    except ImportError:
        return ""
    drawn = io.BytesIO()
    segno.make(address, error="m").save(drawn, kind="svg", scale=5, border=3, xmldecl=False)
    return drawn.getvalue().decode()


class _Json(tornado.web.RequestHandler):
    def initialize(self, **given):
        vars(self).update(given)

    def body(self):
        """Read the request's JSON object; 415 and 400 say what else came."""
        kind = self.request.headers.get("Content-Type", "").partition(";")[0]
        if kind != "application/json":
            raise tornado.web.HTTPError(415)  # what a form on another site can't send
        if len(self.request.body) > MOST_BYTES:
            raise tornado.web.HTTPError(413)
        try:
            said = json.loads(self.request.body)
        except ValueError:
            raise tornado.web.HTTPError(400) from None
        if not isinstance(said, dict):
            raise tornado.web.HTTPError(400)
        return said


class Control(_Json):
    """The teacher's side: what is asked, and how it goes on; and the phones' address."""

    def get(self):
        """Send the poll with its counts, and what else can be asked."""
        told = {"poll": self.poll.shown(to_teacher=True), "address": self.address}
        if "all" in self.request.query:
            told |= {"questions": questions(), "qr": qr(self.address)}
        self.write(told)

    def post(self):
        """Open a question (``name``) or move on (``stage``)."""
        said = self.body()
        try:
            if "name" in said:
                self.poll.open(said["name"])
            else:
                self.poll.move(said.get("stage"))
        except ValueError as error:
            raise tornado.web.HTTPError(400, str(error)) from None
        self.write(self.poll.shown(to_teacher=True))


class Phone(_Json):
    """A phone's side: the page, the question of the moment, and a vote."""

    def get(self, what):
        """Send the page, or with ``now`` the question as it stands."""
        if what == "now":
            self.write(self.poll.shown())
        else:
            self.set_header("Content-Type", "text/html; charset=utf-8")
            self.write(self.page)

    def post(self, what):
        if what != "vote":
            raise tornado.web.HTTPError(404)
        said = self.body()
        wanted = map(said.get, ("phone", "stage", "choice"))
        self.write({"counted": self.poll.vote(*wanted, said.get("number", 0))})


class Progress(_Json):
    """Where notebooks send their learner's progress."""

    def post(self):
        self.take()

    def take(self, name=None):
        """Keep the state under a `name`, or under the one that came with it."""
        said = self.body()
        try:
            self.source.take(name or str(said["name"])[:80], said["state"])
        except (ValueError, TypeError, KeyError, AttributeError):
            raise tornado.web.HTTPError(400, "expected a name and a progress") from None
        self.write({"counted": True})
