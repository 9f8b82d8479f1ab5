"""Template, masked loss, preferences, drift, search and tools: by hand, and by loops."""

import math

import pytest
import torch
from samples import refuses

from helpers.models.assistant import (
    IGNORE,
    Marks,
    answer_log_probs,
    answer_loss,
    answer_with_tools,
    chat_prompt,
    dpo_loss,
    drift,
    majority,
    pad_pairs,
    supervised_pair,
)

MARKS = Marks(end=0, user=1, assistant=2, pad=3)


def letters(text):
    return [ord(letter) for letter in text]


class Table(torch.nn.Module):
    """A model whose logits depend on the newest token alone: one row of a table per token."""

    def __init__(self, logits):
        super().__init__()
        self.logits = torch.as_tensor(logits, dtype=torch.float64)

    def forward(self, ids):
        return self.logits[ids]


def random_table(seed, size=9):
    return Table(torch.randn(size, size, generator=torch.Generator().manual_seed(seed)) * 2)


def test_a_prompt_is_role_text_end_for_every_message_and_then_the_assistant():
    assert chat_prompt("hi", letters) == [1, 104, 105, 0, 2]
    roles = ("user", "assistant", "user")
    talk = [{"role": role, "content": text} for role, text in zip(roles, "abc", strict=True)]
    assert chat_prompt(talk, letters) == [1, 97, 0, 2, 98, 0, 1, 99, 0, 2]
    other = Marks(end=7, user=8, assistant=9, pad=6)
    assert chat_prompt("a", letters, other) == [8, 97, 7, 9]
    assert chat_prompt("a", lambda text: torch.tensor(letters(text)))[1] == 97


def test_what_is_no_conversation_is_refused():
    mine, yours, his = ({"role": one, "content": "a"} for one in ("user", "assistant", "king"))
    refuses("ends with a user's message", chat_prompt, [], letters)
    refuses("ends with a user's message", chat_prompt, [yours], letters)
    refuses("got 'king'", chat_prompt, [his, mine], letters)
    refuses("the user's message is empty", chat_prompt, "", letters)


def test_the_mask_is_exact():
    ids, targets = supervised_pair([1, 50, 0, 2], [60, 61])
    assert ids.tolist() == [1, 50, 0, 2, 60, 61]
    assert targets.tolist() == [IGNORE, IGNORE, IGNORE, 60, 61, 0]  # the end is learned
    assert supervised_pair([5], [], marks=Marks(end=8))[1].tolist() == [8]
    refuses("predicted from a prompt", supervised_pair, [], [60])


def test_a_batch_is_filled_on_the_right_and_filling_is_not_scored():
    pairs = [supervised_pair([1, 2], [6, 7]), supervised_pair([1], [8])]
    ids, targets = pad_pairs(pairs)
    assert ids.tolist() == [[1, 2, 6, 7], [1, 8, 3, 3]]
    assert targets.tolist() == [[IGNORE, 6, 7, 0], [8, 0, IGNORE, IGNORE]]


def test_log_probs_and_loss_by_loops():
    model = random_table(1)
    pairs = [([1, 4, 2], [5, 6, 7]), ([1, 8, 4, 2], []), ([2], [4])]
    ids, targets = pad_pairs([supervised_pair(*pair) for pair in pairs])
    expected = []
    for prompt, answer in pairs:
        total, newest = 0.0, prompt[-1]
        for token in [*answer, MARKS.end]:
            row = model.logits[newest]
            total += (row[token] - row.exp().sum().log()).item()
            newest = token
        expected.append(total)
    assert answer_log_probs(model, ids, targets).tolist() == pytest.approx(expected)
    n_scored = sum(len(answer) + 1 for _, answer in pairs)
    loss = answer_loss(model(ids), targets).item()
    assert loss == pytest.approx(-sum(expected) / n_scored)


def test_dpo_by_hand():
    four = [torch.tensor(x) for x in ([-4.0, -9.0], [-6.0, -8.0], [-5.0, -9.5], [-5.5, -9.0])]
    # Rewards: 0.5 · (1, 0.5) for the better answers, 0.5 · (-0.5, 1) for the worse ones.
    margins = (0.5 + 0.25, 0.25 - 0.5)
    expected = sum(math.log(1 + math.exp(-margin)) for margin in margins) / 2
    assert dpo_loss(*four, beta=0.5).item() == pytest.approx(expected)
    same = four[0]
    assert dpo_loss(same, same, same, same, beta=3.0).item() == pytest.approx(math.log(2))


def test_dpo_refuses_what_does_not_belong_together():
    x = torch.zeros(2)
    with pytest.raises(ValueError, match=r"same pairs; got \(2,\), \(2,\), \(2,\), \(3,\)"):
        dpo_loss(x, x, x, torch.zeros(3), beta=0.1)
    refuses("beta is a price above 0; got 0", dpo_loss, x, x, x, x, beta=0)


def test_drift_by_loops_is_a_mean_over_answer_tokens():
    policy, reference = random_table(2), random_table(3)
    pairs = [([1, 4, 2], [5, 6, 7]), ([2], [4])]
    ids, targets = pad_pairs([supervised_pair(*pair) for pair in pairs])
    rows = [row for prompt, answer in pairs for row in [prompt[-1], *answer]]
    total = 0.0
    for row in rows:
        p, q = policy.logits[row].softmax(-1), reference.logits[row].softmax(-1)
        total += sum((a * math.log(a / b)) for a, b in zip(p.tolist(), q.tolist(), strict=True))
    nats = drift(policy, reference, ids, targets).item()
    assert nats == pytest.approx(total / len(rows))


def test_majority_counts_answers_and_the_first_of_equals_wins():
    assert majority([4, 5, 5, 4, 5]) == 5
    assert majority([7, 4, 4, 7]) == 7
    assert majority([None, None, 3]) == 3
    assert majority([None]) is None
    assert majority([]) is None


def scripted(*texts):
    """An assistant that says these texts one after the other and notes what it was sent."""
    seen, left = [], list(texts)

    def reply(messages):
        seen.append([message["content"] for message in messages])
        return left.pop(0)

    return reply, seen


def test_a_tool_is_called_and_its_result_comes_back():
    reply, seen = scripted("CALL add(734, 218)", "952")
    messages = answer_with_tools(reply, {"add": lambda a, b: a + b}, "734 + 218?")
    assert [m["role"] for m in messages] == ["user", "assistant", "user", "assistant"]
    assert messages[-1]["content"] == "952"
    assert seen[1] == ["734 + 218?", "CALL add(734, 218)", "RESULT 952"]


def test_without_a_call_the_first_text_is_the_answer():
    reply, seen = scripted("a fox")
    assert answer_with_tools(reply, {}, "who?")[-1] == {"role": "assistant", "content": "a fox"}
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("CALL find(the old king)", "RESULT <the old king>"),
        ("CALL find( -3 )", "RESULT <-3>"),
        ("CALL now()", "RESULT noon"),
        ("CALL fly(1)", "ERROR no tool fly"),
        ("CALL root(-4)", "ERROR no root of -4"),
        ("CALL root()", "ERROR "),
        ("CALL root(four)", "ERROR "),
    ],
)
def test_words_and_errors_come_back_as_text(call, result):
    def root(number):
        if number < 0:
            raise ValueError(f"no root of {number}")
        return number**0.5

    tools = {"find": lambda word: f"<{word}>", "now": lambda: "noon", "root": root}
    reply, seen = scripted(call, "well")
    assert answer_with_tools(reply, tools, "q")[-1]["content"] == "well"
    assert seen[1][-1].startswith(result)


def test_a_model_that_calls_for_ever_is_stopped():
    calls = []
    messages = answer_with_tools(
        lambda _: "CALL tick()", {"tick": lambda: calls.append(1)}, "q", most_calls=2
    )
    assert len(calls) == 2
    assert messages[-1]["content"] == "CALL tick()"
