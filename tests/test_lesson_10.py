"""Lesson 10's assignment as a whole: the tested parts translate, and a wrong part is named."""

import importlib.util
import inspect

import pytest
import torch
import torch.nn.functional as F

from helpers import exercises
from helpers.data.captions import CAPTIONS
from helpers.exercises import lessons
from helpers.exercises.checking import own_or_tested
from helpers.exercises.model import find
from helpers.pretrained.translator import load_translator

own_transformer = lessons.module(10, "own_transformer")
PARTS, compare_with_course = own_transformer.PARTS, own_transformer.compare_with_course
layers_of, translate = own_transformer.layers_of, own_transformer.translate
EXERCISES = lessons.module(10, "exercises").EXERCISES
FRENCH = [source for source, _ in CAPTIONS]


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Keep the progress that these tests make out of anybody's notebooks."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def translator():
    return load_translator()


@pytest.fixture(scope="module")
def right(translator):
    return translator.translate(FRENCH)


def parts_with(name, wrong):
    """Give ten parts that call each other, one of them replaced, as in a learner's notebook."""
    spec = importlib.util.spec_from_file_location("learner", own_transformer.__file__)
    learner = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up; this one is nobody else's.
    source = inspect.getsource(own_transformer).replace("@dataclass(frozen=True)\n", "")
    exec(compile(source, spec.origin, "exec"), learner.__dict__)
    setattr(learner, name, wrong)
    return {part: getattr(learner, part) for part in PARTS}


def post_norm(x, sublayer, weights):
    return F.layer_norm(x + sublayer(x), x.shape[-1:], weights["weight"], weights["bias"])


def no_mask(query, key, value, mask):
    return F.scaled_dot_product_attention(query, key, value)


def unscaled(ids, table, positions):
    return table[ids] + positions[: ids.shape[1]]


def two_heads(x, source, mask, weights, n_heads):
    """Right on a check with two heads, wrong for the translator's four."""
    return PARTS["build_multi_head"](x, source, mask, weights, 2)


WRONG = {
    "build_embedding": unscaled,
    "build_attention": no_mask,
    "build_multi_head": two_heads,
    "build_sublayer": post_norm,
}


@torch.inference_mode()
def written(parts, translator, max_len=None):
    rows = translate(parts, translator, FRENCH, max_len).tolist()
    return [translator.tokenizer.decode(row) for row in rows]


@pytest.mark.slow
def test_the_parts_translate_as_the_course_does(translator, right):
    assert written(PARTS, translator) == right
    comparison = compare_with_course(PARTS, translator, FRENCH)
    assert comparison.same, comparison
    assert comparison.part == ""


def test_there_are_ten_parts_each_with_a_check():
    assert [exercise.name for exercise in EXERCISES] == list(PARTS)
    assert len(PARTS) == 10
    for exercise in EXERCISES:
        assert exercise.reference is PARTS[exercise.name]


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_one_wrong_part_spoils_the_translation_and_is_named(name, translator, right):
    parts = parts_with(name, WRONG[name])
    assert written(parts, translator, max_len=15) != right
    comparison = compare_with_course(parts, translator, FRENCH)
    assert not comparison.same
    assert comparison.part == name
    assert comparison.message.startswith(f"{name} is the first part that differs")


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_every_part_is_named_when_it_differs(name, translator):
    def off(*given):
        return PARTS[name](*given) + 1

    comparison = compare_with_course({**PARTS, name: off}, translator, FRENCH[:3])
    assert (comparison.same, comparison.part) == (False, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_raises_or_has_the_wrong_shape_is_named(name, translator):
    def raises(*given):
        raise KeyError("qkv")

    def flat(*given):
        return PARTS[name](*given).flatten()

    def nothing(*given):
        return None

    for wrong, said in [(raises, "KeyError"), (flat, "expected shape"), (nothing, "NoneType")]:
        comparison = compare_with_course({**PARTS, name: wrong}, translator, FRENCH[:3])
        assert comparison.part == name
        assert said in comparison.message


def test_the_layer_is_named(translator):
    tables = layers_of(translator.model.state_dict(), "decoder_layers.")
    second = tables[1]["feed_forward.linear_1.bias"]

    def off_in_one_layer(x, weights):
        found = PARTS["build_feed_forward"](x, weights)
        return found + torch.equal(weights["linear_1.bias"], second)

    parts = {**PARTS, "build_feed_forward": off_in_one_layer}
    assert "in decoder layer 2" in compare_with_course(parts, translator, FRENCH[:3]).message


def test_logits_that_differ_a_little_are_noticed_though_the_tokens_agree(translator):
    def log_probabilities(*given):
        return PARTS["build_decoder"](*given).log_softmax(-1)

    parts = {**PARTS, "build_decoder": log_probabilities}
    assert written(parts, translator) == translator.translate(FRENCH)
    assert compare_with_course(parts, translator, FRENCH[:3]).part == "build_decoder"


@pytest.mark.parametrize("name", PARTS)
def test_the_tested_part_steps_in_for_one_left_out_or_wrong(name, capsys):
    def stub(*given): ...

    exercise = find(name, "exercise")
    for mine in (stub, exercise.wrong(exercise.mistakes[0].name)):
        assert own_or_tested(name, mine) is PARTS[name]
        assert "the tested one steps in" in capsys.readouterr().out
    another = find(name, "exercise").also_right[0]
    assert own_or_tested(name, another) is another
    assert f"{name}: yours" in capsys.readouterr().out


def test_the_solution_shows_the_part():
    assert "def build_attention(query, key, value, mask):" in str(
        exercises.solution("build_attention", show=True)
    )
