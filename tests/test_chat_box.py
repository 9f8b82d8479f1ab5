"""The chat box: what the models read is the template, right or wrong, and every reply is shown."""

import re

import pytest
import torch
from explorer_promises import check_that_every_change_shows, check_the_still_picture, clicks

from helpers.models.assistant import MARKS, chat_prompt
from helpers.pretrained.assistant import load_assistant
from helpers.pretrained.storyteller import load_storyteller
from helpers.transformer import decoding
from helpers.widgets.chat_box import EXAMPLES, TEMPLATES, ChatBox

NAMES = {MARKS.end: "<|end|>", MARKS.user: "<|user|>", MARKS.assistant: "<|assistant|>"}


def encode(text):
    return [ord(letter) for letter in text]


def decode(ids):
    return "".join(NAMES.get(i) or chr(i) for i in ids)


def chat_box(**state):
    writers = {"echo": lambda ids: [*ids[1:3], MARKS.end], "endless": lambda ids: ids[1:2] * 40}
    return ChatBox(writers, encode, decode, "Say hen.", **state)


def test_it_keeps_what_every_explorer_promises():
    check_the_still_picture(chat_box())
    check_that_every_change_shows(
        chat_box(), {"sentence": "No <|end|>.", "template": "no template"}
    )


def test_what_is_read_is_the_template_and_what_is_left_of_it():
    whole = chat_prompt("Say hen.", encode)
    text = encode("Say hen.")
    wanted = {
        "the whole template": whole,
        "no end token": [MARKS.user, *text, MARKS.assistant],
        "the reply isn't opened": [MARKS.user, *text, MARKS.end],
        "the roles swapped": [MARKS.assistant, *text, MARKS.end, MARKS.user],
        "no template": text,
    }
    assert set(wanted) == set(TEMPLATES)
    for template, ids in wanted.items():
        found = chat_box(template=template).numbers
        assert found["prompt"] == ids
        assert found["replies"]["echo"] == [*ids[1:3], MARKS.end]


def test_it_says_what_was_cut_and_what_that_changed():
    assert "Of the 11 tokens that echo reads, 3 belong" in chat_box().tell()[0]
    same, other = (chat_box(template=one).tell() for one in ("no end token", "no template"))
    assert same[0] == "Without <|end|>, echo still gives the same answer."
    assert "<|assistant|>, echo writes “ay”, not “Sa”." in other[0]
    assert "a bare line" in other[1]
    swapped = chat_box(template="the roles swapped")
    assert "words now come after <|assistant|>" in swapped.tell()[1]  # as the picture shows
    long = chat_box(template="no template")
    long._writers["echo"] = lambda ids: ids[-30:]
    long.controls["Who?"].click()
    assert "Who is the bride" in long.sentence
    assert "Who is the bride of Thornford?”, not “" in long.tell()[0]
    for reply, verdict in (("", "answers nothing"), ("in.", "only capitals or the full stop")):
        writers = {"echo": lambda ids, now=reply: encode("In" if MARKS.end in ids else now)}
        told = ChatBox(writers, encode, decode, "Say hen.", template="no end token").tell()
        assert verdict in told[0]


def test_the_bytes_of_an_emoji_share_a_box_and_the_examples_have_a_name():
    by_byte = [encode, lambda ids: bytes(ids).decode(errors="replace")]
    widget = ChatBox({"mute": lambda ids: []}, *by_byte, "hi", template="no template")
    emoji = widget._draw_pieces("", [65, *"🙂".encode(), 66, 240], "black")
    assert re.findall("middle[^>]*>([^<]*)", emoji.to_svg()) == ["A", "🙂 (4 tokens)", "B", "�"]
    halves = chat_box()._draw_pieces("", [0x10FFFD, MARKS.end], "black")
    assert "&lt;|end|&gt;<" in halves.to_svg()
    assert "echo writes (changes in bold)<" in chat_box(template="no template").svg
    assert widget.controls["Repeat"].described()["before"] == "Examples:"


def test_a_reply_that_was_cut_off_says_so_and_all_of_it_is_drawn():
    widget = chat_box()
    assert widget.svg.count("…") == 1  # only the endless one
    shown = "".join(sheet.to_svg() for sheet in widget.draw()[2:])
    assert len(re.findall("<rect x", shown)) == len(widget.numbers["prompt"]) + 3 + 40


def test_every_example_is_answered_rightly_and_by_no_broken_template():
    helper, story = load_assistant(), load_storyteller()
    wanted = ("wear wear wear wear", "least crowns cloak waggoner",
              "raven, feather, monkey and harp", "The bride Eltin.")  # fmt: skip

    def writer(ids):
        step = helper.model.decoder_step(torch.tensor([ids]))
        return decoding.greedy(step, 1, MARKS.assistant, MARKS.end, 16)[0]

    widget = ChatBox({"ours": writer}, helper.encode, story.decode, "Say wolf three times.")
    widget.template = "no end token"
    assert ">✓</text>" in widget.svg  # this one survives
    for name, answer in zip(EXAMPLES, wanted, strict=True):
        widget.controls[name].click()
        for widget.template in TEMPLATES:
            pass
        assert widget._said(widget.numbers["whole"]["replies"]["ours"]) == answer
    assert [[*tried.values()] for tried in widget._tried.values()] == (
        [[True, False, False, False, False]] + [[False] * 4] * 3
    )
    assert widget.svg.count(">✗</text>") == 16
    assert "no end token: 1 of 5 survive" in widget.svg
    assert {"template": "the whole template"} in clicks(widget)  # pressed again, it's whole
    widget.controls["Start again"].click()
    assert not re.search(">[✓✗]</text>", widget.svg)


@pytest.mark.parametrize(("typed", "why"), [(" ", "at least one"), ("x" * 161, "160 characters")])
def test_a_message_that_cannot_be_used_is_refused_in_words(typed, why):
    widget = chat_box()
    before = widget.svg
    widget.sentence = typed
    assert why in widget.controls["sentence"].error
    assert widget.svg == before
    with pytest.raises(ValueError, match=why):
        ChatBox({}, encode, decode, typed)
