"""The countdown in the teacher's window, with a clock that the test moves."""

import pytest
from playwright.sync_api import expect

from teaching import teach


@pytest.fixture
def notes(chromium, tmp_path):
    """Show the notes of lesson 04, with a clock that stands still."""
    path = tmp_path / "notes.html"
    path.write_text(teach.page_of(teach.find("04")), encoding="utf-8")
    page = chromium.new_context(offline=True).new_page()
    page.clock.install(time=0)
    page.goto(path.as_uri())
    page.clock.pause_at(60_000)
    yield page
    page.context.close()


def test_the_countdown_runs_pauses_and_says_how_late_it_is(notes):
    left, pace = notes.get_by_role("timer"), notes.locator("#pace")
    (_, first), (second, minutes), *_ = teach.minutes_of(teach.notes_of(teach.find("04")))
    expect(left).to_have_text(f"{first}:00")
    notes.clock.run_for("01:00")
    expect(left).to_have_text(f"{first}:00")  # nobody has started it
    notes.get_by_role("button", name="Start").click()
    notes.clock.run_for("01:30")
    expect(left).to_have_text(f"{first - 2}:30")
    expect(pace).to_have_text("on time")
    notes.get_by_role("button", name="Pause").click()
    notes.clock.run_for("10:00")
    expect(left).to_have_text(f"{first - 2}:30")
    notes.get_by_role("button", name="Go on").click()
    notes.clock.run_for(f"{first + 1:02}:30")
    expect(left).to_have_text("+3:00")
    expect(pace).to_have_text("3 min late")
    notes.get_by_role("button", name="Next part").click()
    expect(left).to_have_text(f"{minutes}:00")
    expect(pace).to_have_text("3 min late")
    expect(notes.locator("[aria-current=step]")).to_have_text(f"{second}, {minutes} min")
    notes.get_by_role("button", name="Back").click()
    expect(left).to_have_text("+3:00")
    notes.get_by_role("button", name="Next part").click()
    notes.get_by_role("button", name="Next part").click()
    expect(pace).to_have_text(f"{minutes - 3} min early")
