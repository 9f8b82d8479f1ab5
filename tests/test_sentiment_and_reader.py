"""The fine-tuned models: labels, answers with their places, windows, refusals, and how good."""

import math
import re

import pytest
import torch
from explorer_promises import check_that_every_change_shows, check_the_still_picture
from samples import refuses

from helpers.data.questions import xquad
from helpers.data.reviews import film_reviews, product_reviews
from helpers.models.lora import LoRALinear
from helpers.pretrained.reader import WINDOW, load_reader
from helpers.pretrained.sentiment import load_sentiment
from helpers.training.metrics import answer_exact_match, answer_f1
from helpers.widgets.word_flipper import WordFlipper
from recipes.sentiment import accuracy

TEXT = (
    "The lighthouse on Stone Island was built in 1871 by the engineer Ada Brown. It has 214 steps "
    "and was painted red after a storm. Today the keeper is a cat called Admiral."
)


@pytest.fixture(scope="module")
def reader():
    return load_reader()


@pytest.fixture(scope="module")
def sentiment():
    return load_sentiment()


def test_no_copy_of_the_mapped_weights_is_made(sentiment):
    matrices = [layer for layer in sentiment.model.modules() if isinstance(layer, LoRALinear)]
    assert matrices
    assert not any(layer.base.weight.requires_grad for layer in matrices)
    assert torch.equal(matrices[0].weight, matrices[0].merged().weight)  # as the map shows it


@pytest.mark.weekly
def test_reviews_are_classified_film_and_product(sentiment):
    assert accuracy(sentiment, film_reviews("test")[:200]) > 0.72
    assert accuracy(sentiment, product_reviews()[:200]) > 0.74


@pytest.mark.slow
def test_labels_come_with_their_probability_whatever_the_batch(sentiment):
    texts = ["a wonderful film", "dull , and far too long for what it has to say", "superb"]
    found = sentiment.classify(texts)
    assert [label for label, _ in found] == [1, 0, 1]
    assert all(0.5 <= probability <= 1 for _, probability in found)
    for text, (label, probability) in zip(texts, found, strict=True):
        ((alone, chance),) = sentiment.classify([text], batch_size=1)
        assert alone == label
        assert chance == pytest.approx(probability, abs=1e-4)
    assert sentiment.classify(["good " * 700])[0][0] == 1  # longer than the model reads


def test_questions_are_answered_with_the_place_of_the_answer(reader):
    questions = ["When was the lighthouse built?", "Who built it?", "How many steps does it have?"]
    answers = reader.answer(questions, TEXT)
    for answer, expected in zip(answers, ["1871", "Ada Brown", "214"], strict=True):
        assert answer_f1(answer.text, [expected]) > 0
        assert TEXT[answer.start : answer.end] == answer.text
        assert 0 <= answer.score <= 1
    alone = reader.answer(questions[0], TEXT)
    assert (alone.text, alone.start) == (answers[0].text, answers[0].start)
    assert reader.answer(questions[:1], [TEXT]) == [alone]


def test_no_answer_only_with_a_threshold(reader):
    assert reader.answer("Who wrote the opera?", TEXT) is not None
    assert reader.answer("Who wrote the opera?", TEXT, threshold=1.01) is None


@pytest.mark.slow
def test_windows_cover_a_long_text_and_offsets_stay_those_of_the_text(reader):
    filler = "The sea was calm and nothing of interest was seen that day. " * 60
    text = filler + TEXT + " " + filler
    (windows,) = reader.read(["When was the lighthouse built?"], [text])
    assert len(windows) > 5
    covered = set()
    for window in windows:
        assert len(window.tokens) == len(window.start) == len(window.end) == len(window.offsets)
        assert len(window.tokens) < WINDOW
        assert math.isfinite(window.no_answer)
        covered.update(range(window.offsets[0][0], window.offsets[-1][1]))
    assert len(covered) == len(text.rstrip())
    answer = reader.answer("When was the lighthouse built?", text)
    assert text[answer.start : answer.end] == answer.text


@pytest.mark.slow
def test_logits_of_a_window_do_not_depend_on_its_batch():
    reader = load_reader(quick=False)
    pair = reader.read(["Who built it?", "What is the name of the keeper's cat?"], [TEXT, TEXT * 2])
    (alone,) = reader.read(["Who built it?"], [TEXT])
    torch.testing.assert_close(pair[0][0].start, alone[0].start, atol=1e-3, rtol=1e-4)


@pytest.mark.weekly
def test_in_sixteen_bits_it_reads_the_same():
    some = [question for question in xquad() if len(question.text) < 600][:12]
    asked, texts = [q.question for q in some], [q.text for q in some]
    quick, exact = (load_reader(quick=quick).answer(asked, texts) for quick in (True, False))
    assert [a.text for a in quick] == [a.text for a in exact]
    scores = torch.tensor([[a.score for a in found] for found in (quick, exact)])
    assert (scores[0] - scores[1]).abs().max() < 0.05
    assert not torch.equal(*scores)


def test_attention_covers_question_and_text(reader):
    weights, queries, keys = reader.attend("Who built it?", TEXT).maps["encoder"]
    assert queries == keys
    assert keys[0] == "[CLS]"
    assert keys.count("[SEP]") == 2
    assert weights.shape == (6, 12, len(keys), len(keys))


def test_what_cannot_be_read_is_refused(reader, sentiment):
    refuses("expected a question that is not empty; got ' '", reader.answer, " ", TEXT)
    refuses("expected a text that is not empty", reader.answer, "Who?", "")
    refuses("got 2 questions and 1 texts", reader.answer, ["Who?", "When?"], [TEXT])
    refuses("too little room for the text", reader.answer, "why " * 300, TEXT)
    refuses("expected a list of texts; got one text", sentiment.classify, "good")


@pytest.mark.weekly
def test_the_reader_answers_questions_on_articles_it_has_never_seen(reader):
    questions = xquad()[::10]
    found = reader.answer([q.question for q in questions], [q.text for q in questions])
    scores = {
        score: sum(score(a.text, q.answers) for a, q in zip(found, questions, strict=True))
        / len(found)
        for score in (answer_f1, answer_exact_match)
    }
    assert scores[answer_f1] > 0.5
    assert scores[answer_exact_match] > 0.35


def test_the_word_flipper_leaves_out_one_word_at_a_time(sentiment):
    widget = WordFlipper(sentiment, "a truly awful film")
    texts = ["a truly awful film", "truly awful film", "a awful film", "a truly film"]
    expected = sentiment.probabilities([*texts, "a truly awful"])
    found = torch.tensor(widget.numbers["positive"])
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
    check_the_still_picture(widget)
    check_that_every_change_shows(widget, {"left_out": 3, "sentence": "bad"})
    widget.sentence = "not bad and not dull"
    assert re.search(r"Click “\w+”( \(word [14]\))?: no other", widget.tell()[1])
    widget.left_out = 4
    assert widget.tell()[0].startswith("Without “not” (word 4), ")
    widget.sentence = "good"
    assert widget.numbers["words"] == ["good"]
    assert "Type a few more words." in widget.tell()[1]
    widget.sentence = "one " * 13
    assert widget.sentence == "good"
    assert "At most 12 words fit; got 13" in widget.controls["sentence"].error
