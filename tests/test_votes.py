"""Votes from phones, and progress that notebooks send: forty at once, late, twice, offline."""

import json
import time

import pytest
from tornado.testing import AsyncHTTPTestCase

from helpers import exercises
from helpers.exercises import content, sending
from teaching import view, votes

QUESTION = next(p for p in content.catalogue("prediction").values() if len(p.options) == 3)
NUMBER = next(p for p in content.catalogue("prediction").values() if not p.options)
FIRST, SECOND = list(QUESTION.options)[:2]


def opened(name=QUESTION.name):
    poll = votes.Poll()
    poll.open(name)
    return poll


def test_forty_vote_a_late_one_counts_and_a_second_vote_takes_the_place_of_the_first():
    poll = opened()
    assert all(poll.vote(f"phone {i}", "first", FIRST) for i in range(40))
    assert poll.vote("late", "first", SECOND)
    assert poll.vote("phone 0", "first", SECOND)
    assert poll.shown()["count"] == 41
    poll.move("revealed")
    assert [n for _, n in poll.shown()["spreads"][0]] == [39, 2, 0]


def test_nothing_is_shown_before_the_reveal_and_both_rounds_and_every_reason_after_it(monkeypatch):
    poll = opened()
    monkeypatch.setattr(votes, "right_option", None)  # 40 phones that ask wait for no notebook
    poll.vote("a", "first", FIRST)
    assert not {"spreads", "why", "right"} & set(poll.shown())
    poll.move("discuss")
    assert not poll.vote("b", "first", FIRST)  # over
    assert "spreads" not in poll.shown()
    assert poll.shown(to_teacher=True)["spreads"][0][0][1] == 1
    poll.move("second")
    assert poll.vote("a", "second", SECOND)
    poll.move("revealed")
    shown = poll.shown()
    assert [n for _, n in shown["spreads"][1]] == [0, 1, 0]
    assert shown["why"] == [why for _, why in QUESTION.options.values()]
    assert 0 <= shown["right"] < 3


def test_only_an_option_is_a_vote_or_a_number_where_one_is_asked():
    for choice in ("no option", None, 3, ["a"], ""):
        assert not opened().vote("a", "first", choice)
    for choice, counted in (("4.5", True), (7, True), ("abc", False), ("nan", False)):
        assert opened(NUMBER.name).vote("a", "first", choice) is counted


def test_progress_is_sent_by_itself_once_the_learner_has_said_so(tmp_path, monkeypatch):
    sent = []
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path))
    monkeypatch.setattr(sending, "post", lambda *given: sent.append(given) or "")
    exercises.check("causal_mask", exercises.reference("causal_mask"))
    assert sent == []
    assert "Ada" in exercises.join_class("192.168.1.5:8080", "Ada")
    exercises.check("causal_mask", exercises.reference("causal_mask"))
    end = time.monotonic() + 10
    while len(sent) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    worker = sending._worker
    sending.send(tmp_path, sent[-1][-1])
    assert sending._worker is worker, "one thread sends all"
    address, name, state = sent[-1]
    assert (address, name) == ("http://192.168.1.5:8080", "Ada")
    assert state["exercises"]["causal_mask"]["state"] == "done"
    assert "Nothing is sent" in exercises.join_class("")
    assert sending.chosen(tmp_path) is None


def test_an_address_that_does_not_answer_is_said_and_costs_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "nothing was answered yet"))
    assert "doesn't answer" in exercises.join_class("http://127.0.0.1:9")
    with pytest.raises(ValueError, match="expected an address"):
        exercises.join_class("not an address")


class Doors(AsyncHTTPTestCase):
    """The teacher's and the room's applications, tried through the room's."""

    def get_app(self):
        self.teachers, rooms = view.make_doors("http://192.168.1.5:8080")
        self.poll = rooms.default_router.rules[0].target.rules[0].target_kwargs["poll"]
        return rooms

    def post(self, path, what, kind="application/json"):
        body = json.dumps(what)
        return self.fetch(path, method="POST", body=body, headers={"Content-Type": kind})

    def test_a_phone_votes_and_can_do_nothing_else(self):
        self.poll.open(QUESTION.name)
        assert "Waiting for a question" in self.fetch("/").body.decode()
        now = json.loads(self.fetch("/now").body)
        assert [key for key, _ in now["options"]] == list(QUESTION.options)
        vote = {"phone": "a", "number": now["number"], "stage": "first", "choice": FIRST}
        assert json.loads(self.post("/vote", vote).body) == {"counted": True}
        self.poll.open(QUESTION.name)  # once more, and the phone's old vote comes late
        assert json.loads(self.post("/vote", vote).body) == {"counted": False}
        assert self.post("/vote", vote, "text/plain").code == 415
        for path in ("/poll", "/data", "/notes"):
            assert self.fetch(path).code == 404
        assert self.post("/now", {}).code == 404
        assert self.post("/vote", [1]).code == 400

    def test_a_notebook_leaves_its_progress_and_rubbish_is_refused(self):
        state = {"exercises": {}, "questions": {}}
        assert self.post("/progress", {"name": "Ada", "state": state}).code == 200
        for wrong in ({}, {"name": "Bo", "state": 3}, {"name": "Bo", "state": {"exercises": 1}}):
            assert self.post("/progress", wrong).code == 400
