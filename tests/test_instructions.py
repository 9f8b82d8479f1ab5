"""Instructions, scenes, sums: the rules know right from wrong, and nothing leaks between parts."""

import functools

import pytest
from samples import refuses

from helpers.data.instructions import KINDS, Instruction, instructions, story_points
from helpers.data.story_words import CATEGORIES, category, vocabulary, words_of
from helpers.data.sums import LargeSum, Sum, final_number, large_sums, sums

pytestmark = pytest.mark.slow  # all of them draw from the whole of the fairy tales


@functools.cache
def some(part):
    """Make instructions of a part."""
    return instructions(part, 210)


@pytest.mark.parametrize("part", ["train", "unseen"])
def test_every_kind_comes_equally_often_and_every_answer_follows_its_rule(part):
    made = some(part)
    assert {k: sum(one.kind == k for one in made) for k in KINDS} == dict.fromkeys(KINDS, 30)
    assert [one for one in made if not one.followed_by(one.answer)] == []


def test_the_same_seed_makes_the_same_and_another_seed_others():
    assert instructions("train", 40) == instructions("train", 40)
    assert instructions("train", 40) != instructions("train", 40, seed=2)
    assert {one.kind for one in instructions("unseen", 9, kinds=["who"])} == {"who"}


def test_training_prompts_have_no_unseen_word_and_unseen_ones_do():
    unseen = {word for name in CATEGORIES for word in category(name, "unseen")}
    unseen |= set(vocabulary("unseen"))  # words of three letters and more
    for one in some("train"):
        asked = one.prompt.partition("begins with: ")[2] or one.prompt
        # The words that every prompt of its kind has, such as "Choose", don't count.
        frame = {"say", "write", "word", "times", "choose", "these", "sentence", "with", "tell"}
        assert unseen.isdisjoint(set(words_of(asked)) - frame), one.prompt
    for one in some("unseen"):
        if one.kind != "who":
            assert not unseen.isdisjoint(words_of(one.prompt)), one.prompt
    train, asked = ({one.prompt for one in some(part)} for part in ("train", "unseen"))
    assert train.isdisjoint(asked)


def test_what_is_no_part_or_kind_is_refused():
    refuses("got 'test'", instructions, "test")
    refuses("got 'poem'", instructions, "train", kinds=["poem"])
    for make in (sums, large_sums):
        refuses("got 'test'", make, "test")


@pytest.mark.parametrize(
    ("kind", "facts", "right", "wrong"),
    [
        ("repeat", {"word": "fox", "times": 2},
         ["fox fox", "Fox, fox.", " fox\nfox"],
         ["fox", "fox fox fox", "fox cat", ""]),
        ("copy", {"words": ["old", "fox"]},
         ["old fox", "Old fox."],
         ["fox old", "old", "old fox fox", ""]),
        ("choose", {"options": ["fox", "ring", "hill"], "length": 2},
         ["fox and hill", "ring, fox", "Hill, ring."],
         ["fox", "fox and fox", "fox, ring and hill", "fox and cat"]),
        ("who", {"right": "gorina", "asked": ["is", "the", "queen", "of", "ashham"]},
         ["The queen Gorina.", "gorina", "The queen of Ashham is called Gorina."],
         ["The queen Elric.", "The queen Gorina and the king Barsa.", "The queen.", "",
          "The queen isn't Gorina.", "The king Gorina.", "The queen Gorinas.", "Who is Gorina?",
          "The queen Gorina Fenbert.", "Gorina Gorina."]),
        ("begin", {"start": "The old fox"},
         ["The old fox ran into the wood."],
         ["The old fox", "An old fox ran away.", "The old fox ran. He came back."]),
        ("sentence", {"word": "fox"},
         ["The fox ran away.", "There were two foxs here!"],
         ["The cat ran away.", "The fox ran. He came back.", "The fox ran away", "A fox."]),
        ("story", {"word": "fox"},
         ["The fox ran away. He came back.", "Once there was a fox!"],
         ["Once there was a cat.", "Once there was a fox and", "A fox.", ""]),
    ],
)  # fmt: skip
def test_the_rules_know_right_from_wrong(kind, facts, right, wrong):
    one = Instruction("?", "", kind, facts)
    assert [text for text in right if not one.followed_by(text)] == []
    assert [text for text in wrong if one.followed_by(text)] == []


def test_points_of_a_story():
    assert story_points("The fox ran away.", "fox") == -4
    assert story_points("The fox and the fox and the fox.", "fox") == -8 - 5 * 4
    assert story_points("The cat ran away.", "fox") == -200
    assert story_points("The fox ran away and", "fox") == -200


def test_sums_and_their_working():
    one = Sum((9, 8, 4))
    assert one.prompt == "Add 9+8+4."
    assert one.at_once == "Add 9+8+4 at once."
    assert one.working == "9+8 is 17;17+4 is 21"
    assert one.total == final_number(one.working) == 21
    assert final_number("none") is None


def test_no_sum_is_in_both_parts():
    train, unseen = set(sums("train")), set(sums("unseen"))
    assert train.isdisjoint(unseen)
    assert {len(one.numbers) for one in unseen} == {2, 3, 4, 5}
    assert all(len(one.numbers) == 4 for one in sums("unseen", 20, terms=(4,)))
    assert all(max(one.numbers) < 10 for one in sums("unseen", 20, largest=(9,)))
    assert sums("unseen", 20) == sums("unseen", 20)
    assert set(large_sums("train")).isdisjoint(large_sums("unseen"))


def test_a_large_sum_is_a_conversation_with_a_tool():
    one = LargeSum(734, 218)
    said = [message["content"] for message in one.messages]
    assert said == ["What is 734+218?", "CALL add(734, 218)", "RESULT 952"]
    assert one.total == 952
