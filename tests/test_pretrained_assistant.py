"""The bundled assistants: they load on their base alone, answer, and do what their cards say."""

import pytest
import torch
from samples import refuses

from helpers.data.instructions import instructions
from helpers.data.sums import final_number, large_sums, sums
from helpers.models.assistant import MARKS, answer_with_tools
from helpers.models.lora import LoRALinear, trainable_state
from helpers.pretrained.assistant import (
    ADAPTERS,
    adapt,
    adapter_path,
    load_assistant,
    separate_marks,
)
from helpers.pretrained.storyteller import load_storyteller


@pytest.fixture(scope="module")
def instructed():
    return load_assistant("instructed")


@pytest.fixture(scope="module")
def adder():
    return load_assistant("sums")


@pytest.mark.weekly
def test_it_follows_instructions_that_it_never_saw_and_the_story_model_does_not(instructed):
    asked = instructions("unseen", 40, kinds=["copy", "repeat", "choose", "sentence"])
    prompts = [one.prompt for one in asked]
    texts = instructed.replies(prompts, max_tokens=40)
    assert sum(one.followed_by(text) for one, text in zip(asked, texts, strict=True)) > 26
    alone = adapt(load_storyteller())  # its fresh adapter changes nothing
    texts = alone.replies(prompts, max_tokens=20)
    assert sum(one.followed_by(text) for one, text in zip(asked, texts, strict=True)) < 5


@pytest.mark.slow
def test_it_adds_unseen_numbers_and_hands_large_ones_to_a_tool(adder):
    asked = sums("unseen", 20, terms=(2, 3), largest=(9,))
    texts = adder.replies([one.prompt for one in asked], max_tokens=30)
    right = [final_number(t) == one.total for t, one in zip(texts, asked, strict=True)]
    assert sum(right) > 14
    tools = {"add": lambda a, b: a + b}
    talks = [(s, answer_with_tools(adder.reply, tools, s.prompt)) for s in large_sums("unseen", 5)]
    assert sum(talk[-1]["content"] == str(one.total) for one, talk in talks) >= 3


def test_answers_do_not_depend_on_what_is_asked_beside_them(instructed):
    prompts = ["Say cake two times.", "Name three animals.", "Say hill two times."]
    assert instructed.replies(prompts) == [instructed.reply(prompt) for prompt in prompts]
    assert instructed.replies([]) == []


def test_a_seed_decides_what_is_sampled(instructed):
    prompt = "Tell me a story about the fox."
    one = instructed.reply(prompt, temperature=1.0, seed=1)
    assert one == instructed.reply(prompt, temperature=1.0, seed=1)
    assert one != instructed.reply(prompt, temperature=1.0, seed=2)


def test_a_conversation_goes_on_and_marks_in_a_text_are_letters(instructed):
    said = "Say cake two times.", "cake cake", "Name two animals."
    roles = ("user", "assistant", "user")
    talk = [{"role": role, "content": text} for role, text in zip(roles, said, strict=True)]
    assert isinstance(instructed.reply(talk), str)
    ids = instructed.prompt_ids("<|end|>")
    assert ids.count(MARKS.end) == 1
    ids, targets = instructed.pair("Say cake.", "")
    assert targets.tolist()[-1] == MARKS.end


def test_what_cannot_be_answered_is_refused(instructed):
    refuses("the user's message is empty", instructed.reply, "")
    refuses("don't fit into the model's 512", instructed.reply, "fox " * 500)
    refuses("temperature must be positive; got -1", instructed.reply, "Say fox.", temperature=-1)


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_adapter_is_small_and_knows_how_it_was_made(name):
    assert adapter_path(name).stat().st_size < 1_000_000
    assert adapter_path(name).with_suffix(".md").exists()
    assistant = load_assistant(name)
    assert {"seed", "seconds", "losses"} <= set(assistant.card)
    assert not any(isinstance(layer, LoRALinear) for layer in assistant.model.modules())
    assert not assistant.model.training
    assert "3,456,000" in repr(assistant)


def test_unmerged_it_gives_the_same_numbers_and_can_be_trained_on(instructed):
    loose = load_assistant("instructed", merged=False)
    ids = torch.tensor([loose.prompt_ids("Say fox two times.")])
    with torch.no_grad():
        torch.testing.assert_close(loose.model(ids), instructed.model(ids), atol=1e-3, rtol=1e-3)
    assert len(trainable_state(loose.model)) == 72


def test_another_base_and_another_name_are_refused(monkeypatch):
    other = load_storyteller()
    with torch.no_grad():
        other.model.norm.weight[0] += 1
    monkeypatch.setattr("helpers.pretrained.assistant.load_storyteller", lambda: other)
    refuses("trained on other base weights", load_assistant, "instructed")
    refuses("the adapters are instructed, .*; got 'chatty'", load_assistant, "chatty")


def test_the_marks_are_nearly_equal_in_the_story_model_and_not_afterwards():
    model = load_storyteller().model

    def likeness():
        rows = model.embedding.weight[list(MARKS)].detach()
        rows = rows / rows.norm(dim=1, keepdim=True)
        return (rows @ rows.T)[~torch.eye(4, dtype=torch.bool)]

    assert likeness().min() > 0.99
    separate_marks(model)
    assert likeness().abs().max() < 0.3
