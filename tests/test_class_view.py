"""The class view: counts from pasted lines, votes, and the page that shows them."""

import json
import sys

import pytest
from tornado.testing import AsyncHTTPTestCase

from helpers import exercises
from helpers.exercises import model
from teaching import tally, view

progress = sys.modules["helpers.exercises.progress"]
NUMBER = next(p for p in tally.content.catalogue("prediction").values() if not p.options)
MISTAKE = model.find("causal_mask").mistakes[0].name


def line(exercises_=(), predictions=None):
    entries = {
        name: {"state": state, "tries": 2, **({"mistake": mistake} if mistake else {})}
        for name, state, mistake in exercises_
    }
    state = {"exercises": entries, "questions": {}, "predictions": predictions or {}}
    return json.dumps(state)


DONE = line([("causal_mask", "done", "")])
STUCK = line([("causal_mask", "attempted", MISTAKE)])
CLASS = f"Ada: {DONE}\nBo: {STUCK}\n{STUCK}\nthis is a letter\n"


def states():
    return tally.read_lines(CLASS)[0]


def test_lines_are_read_with_and_without_a_name_and_anything_else_is_reported():
    found, unread = tally.read_lines(CLASS)
    assert list(found) == ["Ada", "Bo", "learner 3"]
    assert unread == ["this is a letter"]


def test_what_export_progress_returns_is_a_line(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path))
    exercises.check("causal_mask", exercises.reference("causal_mask"))
    for said in (exercises.export_progress(), repr(exercises.export_progress())):
        found, unread = tally.read_lines(said)
        assert not unread
        assert found["learner 1"]["exercises"]["causal_mask"]["state"] == "done"


@pytest.mark.parametrize(
    "why", ["it's", 'a "key"', "naïve", "a {brace}", "back\\slash", "both ' and \""]
)
@pytest.mark.parametrize(
    "name", ["", "Ada: ", "Bo {the third}: ", "<b>Eve</b>: ", f"{'a' * 200}: "]
)
@pytest.mark.parametrize("shown", [str, repr, lambda text: repr(str(text))])
def test_an_honest_line_is_read_however_it_was_quoted(why, name, shown):
    text = progress._Line(line(predictions={"p": {"guess": 1, "why": why}}))
    ((told, state),) = tally.read_lines(name + shown(text))[0].items()
    assert state["predictions"]["p"]["why"] == why
    assert told == (name.strip(": ") or "learner 1")


def test_what_nobody_would_guess_and_a_verdict_without_a_name_are_no_trouble():
    lines = [
        line([("causal_mask", "attempted", "raised")], {NUMBER.name: {"guess": guess}})
        for guess in ("abc", None, float("nan"), 3)
    ]
    found = tally.read_lines("\n".join(lines))[0]
    (vote,) = tally.votes(found)
    assert sum(n for _, n in vote.bars) == 1
    assert next(p for p in tally.parts(found) if p.name == "causal_mask").message == ""


def test_passed_trying_not_yet_and_the_commonest_mistake_are_counted():
    counted = {part.name: part for part in tally.parts(states())}
    part = counted["causal_mask"]
    assert (part.passed, part.trying, part.not_yet) == (1, 2, 0)
    assert (part.mistake, part.with_it) == (MISTAKE, 2)
    assert part.message == model.find("causal_mask").why(MISTAKE)
    assert counted["padding_mask"].not_yet == 3
    assert {part.lesson for part in counted.values()} == {4}
    assert tally.parts(states(), {5})[0].lesson == 5


def test_names_are_given_on_request_only():
    assert not any(part.who for part in tally.parts(states()))
    part = next(p for p in tally.parts(states(), names=True) if p.name == "causal_mask")
    trying = ["Bo (try 2)", "learner 3 (try 2)"]
    assert part.who == {"passed": ["Ada"], "trying": trying, "not yet": []}


def test_votes_count_options_and_put_numbers_into_bars():
    guesses = ["two", "two", "four"]
    lines = [
        line(predictions={"twice_the_length": {"guess": guess, "confidence": "sure"}})
        for guess in guesses
    ]
    (vote,) = tally.votes(tally.read_lines("\n".join(lines))[0])
    assert sorted(n for _, n in vote.bars) == [0, 1, 2]
    assert vote.sure == 3
    assert sum(n for _, n in tally.bars(NUMBER, [1, 2, 3, 3, 10])) == 5
    assert len(tally.bars(NUMBER, [1, 2, 3, 3, 10])) == tally.BINS
    assert tally.bars(NUMBER, [4, 4])[0][1] == 2


class Served(AsyncHTTPTestCase):
    def get_app(self):
        return view.make_app(view.Pasted())

    def data(self, address="/data"):
        return json.loads(self.fetch(address).body)

    def paste(self, lines, kind="application/json"):
        body = json.dumps({"lines": lines})
        return self.fetch("/data", method="POST", body=body, headers={"Content-Type": kind})

    def test_what_is_pasted_is_counted_and_named_on_request(self):
        assert self.data()["learners"] == 0
        assert json.loads(self.paste(CLASS).body) == {"added": 3, "unread": ["this is a letter"]}
        data = self.data()
        assert data["learners"] == 3
        assert not any(part["who"] for part in data["parts"])
        assert any(part["who"] for part in self.data("/data?names=1")["parts"])
        assert self.data("/data?lesson=5")["parts"][0]["lesson"] == 5

    def test_a_newer_line_replaces_the_older_one_and_nameless_ones_add_up(self):
        self.paste(f"Ada: {STUCK}")
        self.paste(f"Ada: {DONE}\n{STUCK}")
        self.paste(STUCK)
        assert self.data()["learners"] == 3
        part = next(p for p in self.data()["parts"] if p["name"] == "causal_mask")
        assert (part["passed"], part["trying"]) == (1, 2)

    def test_the_page_asks_no_other_host_and_takes_no_form(self):
        assert "http" not in self.fetch("/").body.decode().replace("http-equiv", "")
        assert self.paste(CLASS, "text/plain").code == 415


def test_the_damage_in_a_line_is_no_error():
    for bad in ('{"exercises": 3}', "{}", '{"exercises": {"a": {"state": "x", "tries": 1}}}', "{{"):
        found, unread = tally.read_lines(bad)
        assert (found, len(unread)) == ({}, 1)
