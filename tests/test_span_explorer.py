"""The widget of lesson 13, with a reader whose logits are known."""

import itertools
import json
import re

import pytest
import torch
from explorer_promises import check_that_every_change_shows, check_the_still_picture, clicks, send

from helpers.plots import WEIGHTS
from helpers.pretrained.reader import Window
from helpers.widgets.span_explorer import LONGEST, MOST_TOKENS, SpanExplorer
from helpers.widgets.svg import shade

QUESTION, TEXT = "Who?", "Ada met Bob & Eve in Rome ."


class Words:
    """Reads words as tokens; capitals may start an answer and, two words later, one may end."""

    none, sign = 4.0, 1

    def read(self, questions, texts):
        if not questions[0].strip() or not texts[0].strip():
            raise ValueError("expected a text that is not empty")
        found = [(m.group(), m.span()) for m in re.finditer(r"\S+", texts[0])]
        tokens, offsets = zip(*found, strict=True)
        place = torch.arange(len(tokens)).float()
        capital = torch.tensor([token[0].isupper() for token in tokens]).float()
        end = 2 * capital + 0.1 * len(questions[0]) * place
        start, end = self.sign * (3 * capital - place), self.sign * end
        return [[Window(tokens, offsets, start, end, self.none)]]


def make(**state):
    return SpanExplorer(Words(), QUESTION, TEXT, **state)


def test_the_marked_span_is_the_best_of_all_valid_ones():
    widget = make()
    window = widget.numbers["window"]
    best, chosen = -torch.inf, None
    for i in range(len(window.tokens)):
        for j in range(i, min(i + LONGEST, len(window.tokens))):
            score = (window.start[i] + window.end[j]).item()
            if score > best:
                best, chosen = score, (i, j)
    assert widget.numbers["chosen"] == widget.numbers["spans"][0] == chosen
    scores = widget.numbers["scores"]
    assert scores.isfinite().sum() == len(scores) * (len(scores) + 1) // 2
    assert widget.words_of((2, 4)) == "Bob & Eve"
    every = torch.tensor([*scores[scores.isfinite()], window.no_answer]).softmax(0)
    assert widget.tell()[0] == f"The model answers “Ada met Bob & Eve in Rome”: {every.max():.2f}."
    assert f"“Ada met Bob & Eve” gets {every.topk(2).values[1]:.2f}" in widget.tell()[1]
    numbers = r">start ([\d.]+)<.*>\+ end ([\d.]+)<.*>= score ([\d.]+)<.* scores: ([\d.]+)<"
    start, end, both, part = map(float, re.search(numbers, widget.svg).groups())
    assert (start + end, part) == pytest.approx((both, every.max().item()), abs=0.01)
    listed = re.findall(r">([\d.]+)</text><rect [^>]*><rect [^>]*>", widget._draw_text().to_svg())
    assert listed[0] == f"{both:.2f}"
    assert f"{window.no_answer:.2f}" in listed


def test_where_the_text_has_no_answer_the_model_says_so_and_has_a_bar_for_it():
    words = Words()
    words.none = 30.0
    widget = SpanExplorer(words, QUESTION, TEXT)
    assert widget.tell()[0] == "The model answers “not in the text”: 1.00."
    assert widget.tell()[1].startswith("Its best span, “Ada met Bob & Eve in Rome”, gets <0.01")
    assert f'height="18.0" fill="{shade(WEIGHTS, 1.0)[0]}"' in widget.svg  # its cell
    assert 'stroke-dasharray="3 3"' in make().svg
    assert 'stroke-dasharray="3 3"' not in widget.svg  # no span is framed
    bars = re.findall(r'<rect x="6.0" y="[\d.]+" width="([\d.]+)" height="6.0"', widget.svg)
    assert [round(float(wide)) for wide in bars[1::2]] == [322, 0, 0, 0, 0]  # of tracks 322 long
    for words.none, apart in itertools.product((4.0, 30.0), (False, True)):
        widget = SpanExplorer(words, QUESTION, TEXT, apart=apart)
        found = widget.numbers
        assert ("answer" in " ".join(widget.tell())) == (words.none == 30 or not apart)
        # The bars are each end's own, whatever is ticked; a span gets more as their product does.
        product, ends = found["start"][:, None] * found["end"], found["spans"]
        shares = [(found["shares"] / product)[span].item() for span in ends]
        assert shares == pytest.approx([shares[0]] * len(ends), rel=1e-3)
        assert [found[one].sum().item() for one in ("start", "end")] == pytest.approx([1, 1])
    assert ">constant…<" in (one := SpanExplorer(words, QUESTION, "constantinople", start=4)).svg
    assert one.numbers["spans"] == [(0, 0)] == [one.numbers["chosen"]]


def test_it_keeps_what_every_explorer_promises():
    assert check_the_still_picture(make()) <= 480
    asked = {"Tom?": "Who is Tom?"}
    widget = SpanExplorer(Words(), QUESTION, TEXT, asked)
    widget.controls["Tom?"].click()
    assert widget.question == "Who is Tom?"
    changes = {"question": "And who was that?", "text": "Eve saw Tom", "apart": True}
    check_that_every_change_shows(make(), changes | {"start": 3, "end": 5})


def test_independent_ends_can_be_no_span():
    crossed = Words()
    crossed.none, crossed.sign = 0.0, -1
    widget = SpanExplorer(crossed, QUESTION, TEXT, apart=True)
    start, end = widget.numbers["chosen"]
    assert start > end
    assert "no span" in widget.describe()
    assert widget.tell()[0].endswith(": no span.")
    assert "no span" not in SpanExplorer(crossed, QUESTION, TEXT).describe()


@pytest.mark.parametrize(
    ("typed", "said"), [(" ", "at least one"), ("word " * (MOST_TOKENS + 1), "At most 60 tokens")]
)
def test_a_text_that_cannot_be_used_is_refused_in_words(typed, said):
    widget = make()
    widget.text = typed
    assert widget.text == TEXT
    assert said in widget.controls["text"].error
    assert said in json.dumps(widget._shown["controls"])
    with pytest.raises(ValueError, match=said):
        SpanExplorer(Words(), QUESTION, typed)
    widget.text = "Bob ran"
    assert not widget.controls["text"].error
    widget.question = ""
    assert widget.question == QUESTION
    widget.reset()
    assert not widget.controls["question"].error


def test_a_click_on_a_candidate_or_any_cell_marks_it():
    widget = make(apart=True)
    assert not clicks(widget)  # the box is unticked by hand, or stays
    assert "data-drag" not in widget.svg
    widget.apart = False
    tokens, sent = clicks(widget)[:-4], clicks(widget)[-4:]
    assert [(one["start"], one["end"]) for one in sent] == widget.numbers["spans"]
    send(widget, set=sent[2], number=1)
    assert widget.numbers["chosen"] == widget.numbers["spans"][2]
    send(widget, set=tokens[2], number=1)
    send(widget, set=clicks(widget)[4], number=1)
    assert (widget.start, widget.end) == (2, 4)
    assert clicks(widget)[5] == {"start": 5, "end": 5}  # a third one begins anew
    send(widget, set={"start": 2, "end": 4}, number=2)
    assert "You marked “Bob & Eve”" in widget.tell()[0]
    send(widget, set={"start": 4, "end": 2}, number=3)
    assert widget.tell()[0] == "You marked no span: the end comes first."
    assert ">no span: the end comes first<" in widget.svg
    widget.text = "Bob ran"
    assert widget.numbers["chosen"] == widget.numbers["spans"][0]
    assert "over 20" not in widget.svg
    widget.text = "Bob ran " * 12  # 24 tokens: of the first four, some spans are too long
    assert "over 20 tokens<" in widget.svg
    likely, names = widget.numbers["start"], widget._with_room(widget.numbers["start"], 5, 9.6)
    assert 5 in names  # the marked one, and then the likeliest that have room beside it
    assert likely[[i for i in range(24) if abs(i - 5) > 1]].argmax() in names
    assert min(abs(i - j) for i, j in itertools.combinations(names, 2)) * 9.6 >= 18
    assert len(re.findall(r'stroke-width="[\d.]+"/>', widget._draw_map().to_svg())) >= 4 + 3
