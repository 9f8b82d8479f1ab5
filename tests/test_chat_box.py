"""The chat box: what the models read is the template, right or wrong, and every reply is shown."""

import html
import re

import pytest
import torch
from explorer_promises import check_that_every_change_shows, check_the_still_picture, clicks

from helpers.models.assistant import MARKS, chat_prompt
from helpers.pretrained.assistant import load_assistant
from helpers.pretrained.storyteller import load_storyteller
from helpers.transformer import decoding
from helpers.widgets.chat_box import EXAMPLES, TEMPLATES, ChatBox
from helpers.widgets.svg import BAD

NAMES = {MARKS.end: "<|end|>", MARKS.user: "<|user|>", MARKS.assistant: "<|assistant|>"}


def encode(text):
    return [ord(letter) for letter in text]


def decode(ids):
    return "".join(NAMES.get(i) or chr(i) for i in ids)


def chat_box(writer=lambda ids: [*ids[1:3], MARKS.end], **state):
    return ChatBox(writer, encode, decode, "Say hen.", **state)


def test_it_keeps_what_every_explorer_promises():
    check_the_still_picture(chat_box())
    check_that_every_change_shows(chat_box(), {"sentence": "No <|end|>", "template": "no template"})


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
        assert found["reply"] == [*ids[1:3], MARKS.end]


def test_it_says_what_was_cut_and_what_that_changed():
    told = chat_box().tell()[0]
    assert "Of the 11 tokens that our assistant reads, 3 belong" in told
    assert "It answers in 2 more, followed by an end token." in told
    same, other = (chat_box(template=one).tell() for one in ("no end token", "no template"))
    assert same[0] == "Without <|end|>, our assistant still writes “Sa”."
    assert other[0] == "Without the template, our assistant writes “ay”, not “Sa”."
    assert "reads it like a line" in other[1]
    swapped = chat_box(template="the roles swapped")
    assert "words now come after <|assistant|>" in swapped.tell()[1]  # as the picture shows
    long = chat_box(lambda ids: ids[-30:], template="no template")
    long.sentence = EXAMPLES["Who"][0]
    assert "Who is the bride of Thornford?”, not “" in long.tell()[0]
    for reply, did in (
        (encode("place" * 16), f"writes “{('place' * 12)}…”, not “In.”"),
        ([MARKS.end], "ends its answer at once instead of writing “In.”"),
        ([MARKS.user, MARKS.user], "writes “<|user|> <|user|>”"),
    ):
        told = chat_box(lambda ids, now=reply: encode("In.") if MARKS.end in ids else now)
        told.template = "no end token"
        assert did in told.tell()[0]
        assert ".”." not in told.tell()[0]
    mute = chat_box(lambda ids: [MARKS.end], template="no end token")
    assert "our assistant still writes nothing." in mute.tell()[0]


def test_the_bytes_of_an_emoji_share_a_box_and_an_end_token_has_its_own():
    by_byte = [encode, lambda ids: bytes(ids).decode(errors="replace")]
    widget = ChatBox(lambda ids: [], *by_byte, "hi", template="no template")
    pieces = [(i, " ") for i in [65, *"🙂".encode(), 66, 240]]
    emoji = widget._draw_pieces("", pieces, "black").to_svg()
    assert re.findall("middle[^>]*>([^<]*)", emoji) == ["A", "🙂 (4 tokens)", "B", "�"]
    halves = chat_box()._draw_pieces("", [(0x10FFFD, " "), (MARKS.end, " ")], "black")
    assert "&lt;|end|&gt;<" in halves.to_svg()


def test_what_only_one_answer_has_is_red_and_bold_and_what_is_not_read_is_struck_out():
    widget = chat_box(lambda ids: encode("abc" if MARKS.end in ids else "axcd"))
    assert widget.svg.count("…") == 1  # it hasn't stopped
    assert "<line" not in widget.svg
    assert BAD not in widget.draw()[1].to_svg()
    widget.template = "no end token"
    assert BAD not in widget.draw()[0].to_svg()  # its message has no right answer
    sheet = widget.draw()[1].to_svg()
    assert re.findall(r"middle[^>]*>([^<]*)</text><line", sheet) == ["&lt;|end|&gt;"]
    bold = re.findall(r'middle" font-weight="bold"[^>]*>([^<]*)', sheet)
    assert [one for one in bold if len(one) == 1] == ["x", "d"]
    assert sheet.count(f'"{BAD}"') == 2  # the right answer isn't red
    assert "red: differs from the answer above" in sheet
    more = chat_box(lambda ids: encode("aa" if MARKS.end in ids else "aaaa"))
    more.template = "no end token"
    told = re.findall(r'middle"( font-weight="bold")?[^>]*>(a)<', more.draw()[1].to_svg())
    assert [bool(bold) for bold, _ in told[-4:]] == [False, False, True, True]


def test_every_example_is_followed_and_survives_what_the_table_says():
    helper, story = load_assistant(), load_storyteller()

    def writer(ids):
        step = helper.model.decoder_step(torch.tensor([ids]))
        return decoding.greedy(step, 1, MARKS.assistant, MARKS.end, 16)[0]

    widget = ChatBox(writer, helper.encode, story.decode, "Say wolf three times.")
    for place in clicks(widget):
        widget.take(place)
    marks = "".join(widget._tried[one, how] for one, _ in EXAMPLES.values() for how in TEMPLATES)
    assert marks == "✓✗✗✗✗✓✓✗✓✗✓✓✓✗✗✓✗✗✗✗"
    told = []
    for widget.template in list(TEMPLATES)[1:]:
        told.append(int(re.search(r"our 4 examples, (\d)", widget.tell()[1])[1]))
        survived = re.findall(f'"([^"]*), {html.escape(widget.template)}: right"', widget.svg)
        assert len(survived) == told[-1]
    assert told == [2, 1, 1, 0]
    widget.template = "the whole template"
    assert widget.tell()[1] == "Most answers survive “no end token”: 2 of 4."
    widget.take({"sentence": "Say: raven.", "template": "no end token"})
    assert "Own, no end token: the same" in widget.svg  # no rule tells what is right
    assert "Own: = answer unchanged" in widget.svg
    widget.template = "the reply isn't opened"
    assert "Own, the reply isn&#x27;t opened: different" in widget.svg
    widget.controls["Start again"].click()
    assert re.findall(">([✓✗=≠])</text>", widget.svg) == ["="]  # where it stands


@pytest.mark.parametrize(("typed", "why"), [(" ", "at least one"), ("x" * 161, "160 characters")])
def test_a_message_that_cannot_be_used_is_refused_in_words(typed, why):
    widget = chat_box()
    before = widget.svg
    widget.sentence = typed
    assert why in widget.controls["sentence"].error
    assert widget.svg == before
    with pytest.raises(ValueError, match=why):
        ChatBox(None, encode, decode, typed)
