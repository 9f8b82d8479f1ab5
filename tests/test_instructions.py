"""Instructions, scenes, sums: the rules know right from wrong, and nothing leaks between parts."""

import re

import pytest

from helpers.data.instructions import (
    KINDS,
    Instruction,
    facts,
    instructions,
    kind_words,
    scene,
    story_points,
    with_article,
)
from helpers.data.story_words import (
    CATEGORIES,
    category,
    mentions,
    runs_about,
    seeded,
    sentences,
    sentences_ending,
    words_of,
)
from helpers.data.sums import LargeSum, Sum, final_number, large_sums, sums

SOME = {part: instructions(part, 240) for part in ("train", "unseen")}


@pytest.mark.parametrize("part", SOME)
def test_every_kind_comes_equally_often_and_every_answer_follows_its_rule(part):
    made = SOME[part]
    assert {kind: sum(one.kind == kind for one in made) for kind in KINDS} == dict.fromkeys(
        KINDS, 30
    )
    assert [one for one in made if not one.followed_by(one.answer)] == []


def test_an_answer_to_another_prompt_seldom_follows():
    for kind in KINDS:
        made = [one for one in SOME["train"] if one.kind == kind]
        others = [
            one.followed_by(other.answer)
            for one, other in zip(made, [*made[1:], made[0]], strict=True)
            if one.prompt != other.prompt
        ]
        if kind == "unknown":
            assert all(others)  # the right answer is always the same
        else:
            assert sum(others) < len(others) / 4, kind


def test_the_same_seed_makes_the_same_and_another_seed_others():
    assert instructions("train", 40) == instructions("train", 40)
    assert instructions("train", 40) != instructions("train", 40, seed=2)
    assert {one.kind for one in instructions("unseen", 9, kinds=["list"])} == {"list"}


def test_training_prompts_have_no_unseen_noun_and_unseen_ones_do():
    unseen = {word for name in CATEGORIES for word in category(name, "unseen")}
    for one in SOME["train"]:
        assert unseen.isdisjoint(words_of(one.prompt)), one.prompt
    for one in SOME["unseen"]:
        if one.kind in ("repeat", "begin", "sentence", "finish", "story"):
            assert not unseen.isdisjoint(words_of(one.prompt)), one.prompt
    prompts = {part: {one.prompt for one in made} for part, made in SOME.items()}
    assert prompts["train"].isdisjoint(prompts["unseen"])


def test_what_is_no_part_or_kind_is_refused():
    with pytest.raises(ValueError, match="got 'test'"):
        instructions("test")
    with pytest.raises(ValueError, match="got 'poem'"):
        instructions("train", kinds=["poem"])
    for make in (sums, large_sums):
        with pytest.raises(ValueError, match="got 'test'"):
            make("test")


@pytest.mark.parametrize(
    ("kind", "facts", "right", "wrong"),
    [
        (
            "repeat",
            {"word": "fox", "times": 2},
            ["fox fox", "Fox, fox.", " fox\nfox"],
            ["fox", "fox fox fox", "fox cat", ""],
        ),
        (
            "list",
            {"name": "animals", "length": 2},
            ["fox and cat", "cat, hens", "Fox, cat."],
            ["fox", "fox and fox", "fox and foxs", "fox, cat and hen", "fox and ring"],
        ),
        (
            "question",
            {"right": "queen", "others": ["king", "fox"]},
            ["The queen has the ring.", "the queen"],
            ["The king has the ring.", "The queen and the king.", "I do not know.", ""],
        ),
        (
            "unknown",
            {},
            ["I do not know.", "i do not know"],
            ["I know.", "The queen.", "I do not know the queen."],
        ),
        (
            "begin",
            {"start": "The old fox"},
            ["The old fox ran into the wood."],
            ["The old fox", "An old fox ran away.", "The old fox ran. He came back."],
        ),
        (
            "sentence",
            {"word": "fox"},
            ["The fox ran away.", "There were two foxs here!"],
            ["The cat ran away.", "The fox ran. He came back.", "The fox ran away", "A fox."],
        ),
        (
            "finish",
            {"word": "castle"},
            ["He lived in a castle.", "Who lives in this castle?"],
            ["The castle was very old.", "He came. He saw the castle.", "he lived in a castle"],
        ),
        (
            "story",
            {"word": "fox"},
            ["The fox ran away. He came back.", "Once there was a fox!"],
            ["Once there was a cat.", "Once there was a fox and", "A fox.", ""],
        ),
    ],
)
def test_the_rules_know_right_from_wrong(kind, facts, right, wrong):
    one = Instruction("?", "", kind, facts)
    assert [text for text in right if not one.followed_by(text)] == []
    assert [text for text in wrong if one.followed_by(text)] == []


def test_scenes_say_what_their_questions_ask():
    draw = seeded("test")
    for part in ("train", "unseen"):
        for _ in range(60):
            made = scene(part, draw)
            assert made.text.startswith(f"This is {made.village}.")
            assert len(set(made.nouns())) == len(made.nouns())
            assert len(made.questions()) == len(made.nouns())
            for question, right, answer in made.questions():
                assert right in made.nouns()
                assert mentions(made.text, right)
                assert right not in words_of(question)
                (asked,) = set(words_of(question)) & set(made.nouns())
                (fact,) = [s for s in made.text.split(".") if asked in words_of(s)]
                assert {asked, right} <= set(words_of(fact)) & set(words_of(answer))


def test_nobody_knows_what_the_text_does_not_say():
    for one in SOME["unseen"]:
        if one.kind == "unknown":
            text, question = re.match(r"(.*\.) (.*\?)", one.prompt).groups()
            nouns = {word for name in CATEGORIES for word in category(name)}
            assert (nouns & set(words_of(question))).isdisjoint(words_of(text))


def test_facts_are_each_about_another_village_and_name_it():
    made = facts("unseen", 100)
    assert len({text.split(".")[0] for text, _ in made}) == 100
    for text, asked in made:
        where = text.split(".")[0].removeprefix("This is ")
        assert asked.prompt.endswith(f" in {where}?")
        assert mentions(text, asked.facts["right"])
        assert asked.followed_by(asked.answer)
    assert made == facts("unseen", 100)


def test_sentences_are_plain_and_sorted_by_their_nouns():
    runs = sentences()
    assert len(runs) > 10_000
    for run in runs[::500]:
        for sentence in run:
            assert sentence[0].isupper()
            assert sentence.count(".") == 1
            assert sentence.endswith(".")
    assert all("fox" in words_of(run[0]) for run in runs_about()["fox"])
    assert all(s.lower().endswith("castle.") for s in sentences_ending()["castle"])


def test_a_fifth_of_the_words_is_unseen():
    for name in CATEGORIES:
        every, unseen = category(name), category(name, "unseen")
        assert len(set(every)) == len(every)
        assert len(unseen) == len(every) // 5
        assert set(category(name, "train")) | set(unseen) == set(every)
        assert len(category(name, "train")) + len(unseen) == len(every)
    assert with_article("owl") == "an owl"
    assert with_article("fox") == "a fox"


def test_points_of_a_story():
    assert story_points("The fox ran away.", "fox") == -4
    assert story_points("The fox and the fox and the fox.", "fox") == -8 - 5 * 4
    assert story_points("The cat ran away.", "fox") == -200
    assert story_points("The fox ran away and", "fox") == -200
    assert kind_words("The good, good king was happy.") == 3
    assert kind_words("The king.") == 0


def test_sums_and_their_working():
    one = Sum((9, 8, 4))
    assert one.prompt == "Add 9+8+4."
    assert one.at_once == "Add 9+8+4 at once."
    assert one.working == "9+8=17;17+4=21"
    assert one.total == final_number(one.working) == 21
    assert one.steps_right(one.working) == 1
    assert one.steps_right("9+8=17;17+4=22") == 0.5
    assert one.steps_right("9+8=16;16+4=20") == 0
    assert one.steps_right("9+8=17") == 0.5
    assert one.steps_right("9+8=17;17+4=21;21+1=22") == pytest.approx(2 / 3)
    assert final_number("none") is None


def test_no_sum_is_in_both_parts():
    train, unseen = set(sums("train")), set(sums("unseen"))
    assert train.isdisjoint(unseen)
    assert {len(one.numbers) for one in unseen} == {2, 3, 4, 5, 6}
    assert all(len(one.numbers) == 4 for one in sums("unseen", 20, terms=(4,)))
    assert sums("unseen", 20) == sums("unseen", 20)
    assert set(large_sums("train")).isdisjoint(large_sums("unseen"))


def test_a_large_sum_is_a_conversation_with_a_tool():
    one = LargeSum(734, 218)
    assert [message["content"] for message in one.messages] == [
        "What is 734+218?",
        "CALL add(734, 218)",
        "RESULT 952",
    ]
    assert one.total == 952
