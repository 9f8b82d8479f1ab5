"""The endless story: its numbers are the model's, a hand can interfere, it never runs out."""

import re

import pytest
import torch
from explorer_promises import check_that_every_change_shows, check_the_still_picture, clicks, send

from helpers.widgets.endless_story import EndlessStory, _repeated


@pytest.mark.slow
def test_it_keeps_what_every_explorer_promises(teller):
    check_the_still_picture(EndlessStory(teller))
    changes = {"prompt": "The fox", "length": 30, "temperature": 0.0, "top_k": 3, "top_p": 0.5}
    check_that_every_change_shows(EndlessStory(teller), changes | {"seed": 7, "chosen": (3, 99)})


def test_candidates_are_the_models_with_and_without_a_cache(teller):
    widget = EndlessStory(teller, length=0)
    for length in range(1, 40):  # the window of 24 pieces moves twice
        widget.length = length
        ids = (widget._prompt_ids + widget._written)[-widget.numbers["read"] :]
        with torch.no_grad():
            chances = teller.model(torch.tensor([ids]))[0, -1].softmax(-1)
        found = [(i, plain) for i, _, plain, _ in widget.numbers["candidates"]]
        best = chances.topk(len(found))
        assert [plain for _, plain in found] == pytest.approx(best.values.tolist(), rel=1e-3)
        assert found[0][0] == best.indices[0]
    assert widget.numbers["forgotten"]
    assert widget.numbers["story"].startswith(widget.numbers["forgotten"])


def test_the_window_is_that_of_the_models_own_writing(teller):
    widget = EndlessStory(teller, length=60, temperature=0.0)
    greedy = teller.generate(widget.prompt, 60, temperature=0)
    assert widget.numbers["story"] == greedy
    assert ("round in circles" in widget.tell()[0]) == (widget.numbers["repeated"] > 0.5)


def test_it_says_what_is_forgotten_and_what_is_repeated(teller):
    widget = EndlessStory(teller, length=0)
    assert "still reads all" in widget.tell()[0]
    widget.length = 60
    gone = len(widget._prompt_ids) + 60 - widget.numbers["read"]
    assert f"The first {gone} pieces are forgotten" in widget.tell()[0]
    assert _repeated([1, 2, 3, 4, 5]) == 0.0
    assert _repeated([7] * 13) == 0.9
    loop = [*range(20)] * 5
    assert _repeated(loop) == 1.0
    assert _repeated([*loop, *range(100, 130)]) == 0.5  # it ends, and that can be seen
    assert _repeated([*loop, *range(100, 160)]) == 0.0
    assert f"still reads {widget.numbers['read']} of" in widget.svg
    assert f"{widget.numbers['repeated']:.0%} of its last 60 pieces" in widget.tell()[1]


def test_going_back_and_on_tells_the_same_story(teller):
    widget = EndlessStory(teller, length=30)
    story = widget.numbers["story"]
    widget.length = 5
    assert story.startswith(widget.numbers["story"])
    widget.length = 30
    assert widget.numbers["story"] == story


def test_dials_hold_from_the_next_piece_on(teller):
    widget = EndlessStory(teller, length=10)
    story = widget.numbers["story"]
    widget.temperature = 0.0
    assert widget.numbers["story"] == story
    assert widget.numbers["drawable"] == 1
    widget.length = 11
    assert widget.numbers["story"].startswith(story)


def test_a_click_on_a_candidate_writes_it(teller):
    widget = EndlessStory(teller, length=10)
    last = clicks(widget)[-1]
    send(widget, set=last, number=1)
    assert widget.length == 11
    assert widget._written[-1] == last["chosen"][1]
    widget.length = 20
    assert widget._written[10] == last["chosen"][1]


@pytest.mark.slow
def test_playing_stops_at_the_end_of_the_slider(teller):
    widget = EndlessStory(teller, length=1999, temperature=0.0)
    send(widget, tick="length", number=1)
    send(widget, tick="length", number=2)
    assert widget.length == 2000
    assert not re.search("data-set", widget.svg)


def test_positions_are_counted_as_the_model_computes_them(teller):
    widget = EndlessStory(teller, length=0)
    first = widget.numbers["with cache"]
    widget.length = 3
    assert widget.numbers["with cache"] == first + 3
    assert widget.numbers["without cache"] == sum(range(first, first + 4))


def test_an_empty_beginning_is_refused_in_words(teller):
    widget = EndlessStory(teller)
    widget.prompt = ""
    assert widget.prompt
    assert "needs a beginning" in widget.controls["prompt"].error
    widget.prompt = "The fox"
    assert not widget.controls["prompt"].error
