"""What is left until a copy is published: each step is seen when it's done, and when it isn't."""

import pytest

from notebooks import build, publish_check

OURS = "https://github.com/ada/course"


@pytest.fixture
def ours(monkeypatch):
    monkeypatch.setattr(build, "address", lambda: OURS)
    monkeypatch.setattr(publish_check, "_all_know", lambda: True)


def git(answers):
    return lambda *arguments: answers.get(arguments[-1], answers.get(arguments[0]))


EVERYTHING = {"--porcelain": "", "HEAD": "abc\n", "rev-parse": "abc\n"}
EVERYTHING |= {"refs/heads/main": "abc\tmain", "refs/heads/learners": "def\tlearners"}


def states(*arguments):
    return [step.state for step in publish_check.steps(*arguments)]


@pytest.mark.slow
def test_before_there_is_an_address_it_is_the_first_step():
    found = publish_check.steps(git=git(EVERYTHING))
    assert found[0].state == ("done" if build.is_published() else "left")
    assert "ADDRESS" in found[0].advice


def test_a_published_copy_has_nothing_left(ours):
    assert set(states(lambda _: True, git(EVERYTHING))) == {"done"}


@pytest.mark.parametrize(
    ("missing", "step"), [("--porcelain", 2), ("refs/heads/main", 3), ("refs/heads/learners", 5)]
)
def test_what_is_missing_is_the_step_that_is_left(ours, missing, step):
    lacking = {**EVERYTHING, missing: " M README.md" if missing == "--porcelain" else ""}
    assert [i for i, s in enumerate(states(lambda _: True, git(lacking))) if s == "left"] == [step]


def test_a_private_repository_and_an_absent_site_are_told(ours):
    found = publish_check.steps(lambda where: "github.io" in where, git(EVERYTHING))
    assert "make it public in its settings" in [s.advice for s in found if s.state == "left"]


def test_without_a_network_nothing_is_claimed(ours, capsys, monkeypatch):
    unknown = {**EVERYTHING, "refs/heads/main": None, "refs/heads/learners": None}
    assert states(lambda _: None, git(unknown))[3:] == ["?"] * 5
    found = publish_check.steps(lambda _: None, git(unknown))
    monkeypatch.setattr(publish_check, "steps", lambda: found)
    assert publish_check.main([]) == 1
    assert "no network" in capsys.readouterr().out


def test_on_gitlab_nothing_is_promised_to_colab(ours, monkeypatch):
    monkeypatch.setattr(build, "address", lambda: "https://gitlab.com/ada/course")
    found = publish_check.steps(lambda _: True, git(EVERYTHING))
    assert not any("Colab" in step.what for step in found)
    assert build.site_address() == "https://ada.gitlab.io/course/"
