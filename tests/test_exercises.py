"""Every exercise against its own right answers and mistakes; the engine against bad answers."""

import functools
import inspect
import itertools
import linecache
import math
import os
import re
import textwrap
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
import unforeseen
from samples import once_a_week, raising, refuses

from helpers import exercises
from helpers.exercises import advice, compare, diagnosis
from helpers.exercises.advice import on_error as advice_on
from helpers.exercises.checking import judge
from helpers.exercises.edits import GUARD, OutOfRounds, made_wrong
from helpers.exercises.model import catalogue
from notebooks import build

EXERCISES, QUESTIONS = catalogue()
BY_LEARNERS = tomllib.loads(Path(__file__).with_name("told.toml").read_text(encoding="utf-8"))
SLOWEST_CHECK = 0.3  # seconds; the first of a session may take one

# Most tests `judge`: that is `check` without a note in the learner's progress, which takes longer.
# All tests of an exercise in a row: what the check finds out about it is made once and kept.
every_exercise = pytest.mark.parametrize("name", sorted(EXERCISES), scope="module")


def some_exercises(test):
    """Try what belongs to the check, slowly: on every sixth exercise, and once a week on all."""
    names = once_a_week(sorted(EXERCISES), sorted(EXERCISES)[::6])
    return pytest.mark.slow(pytest.mark.parametrize("name", names, scope="module")(test))


@pytest.fixture(autouse=True)
def quickly_written(own_folder, monkeypatch):
    # Thousands of times, on files that nobody reads again: no power cut needs to be survived.
    monkeypatch.setattr(os, "fsync", lambda file: None)


def right_answers(exercise):
    return [exercise.reference, *exercise.also_right]


def draw(exercise):
    return list(exercise.draw(torch.Generator().manual_seed(0)))


@functools.cache
def texts_of_lessons():
    """List what stands in the cells of each lesson, with the cells that the build adds."""
    return ["\n".join(cell.source for cell in build.read_cells(path)) for path in build.lessons()]


# Every exercise, whatever its content.


@every_exercise
def test_reference_and_other_right_answers_pass(name):
    assert EXERCISES[name].also_right
    for answer in right_answers(EXERCISES[name]):
        verdict = judge(name, answer)
        assert verdict.passed, verdict
        assert verdict.mistake == ""


@pytest.mark.slow
@every_exercise
def test_there_are_five_mistakes_and_each_is_named_and_explained(name, monkeypatch):
    # A known mistake is named by its numbers; the search in the code, which takes longest, has
    # tests of its own.
    monkeypatch.setattr(diagnosis.Search, "repair", lambda *_: None)
    exercise = EXERCISES[name]
    verdicts = {m.name: judge(name, exercise.wrong(m.name)) for m in exercise.mistakes}
    named = [mistake for mistake, verdict in verdicts.items() if mistake == verdict.mistake]
    assert named == list(verdicts)
    assert len(verdicts) == len(exercise.mistakes), "two mistakes have one name"
    assert len([mistake for mistake in verdicts if " + " not in mistake]) >= 5
    for mistake, verdict in verdicts.items():
        assert len(exercise.why(mistake)) > 20, mistake
        assert verdict.message == exercise.why(mistake)


@every_exercise
def test_what_an_exercise_tells_is_complete(name):
    exercise = EXERCISES[name]
    assert 1 <= exercise.difficulty <= 5
    assert 1 <= exercise.importance <= 5
    assert 1 <= exercise.minutes <= 30
    assert 2 <= len(exercise.hints) <= 4
    assert len(exercise.look_at) > 20
    shown = exercises.heading(name)._repr_html_()
    for part in (f"{exercise.minutes} min", f"{exercise.difficulty}/5", f"{exercise.importance}/5"):
        assert part in shown


LENT = ("F", "math", "Counter", "pairwise", "itertools", "random", "numpy", "np")


@every_exercise
def test_what_the_hints_use_is_imported_in_the_lesson(name):
    exercise = EXERCISES[name]
    told = " ".join([exercise.task, *exercise.hints, *(m.why for m in exercise.mistakes)])
    used = {word for word in LENT if re.search(rf"(?<![\w.]){word}[.(]", told)}
    for lesson in (text for text in texts_of_lessons() if f'heading("{name}")' in text):
        imports = re.findall(r"^(?:import|from) .*$", lesson, re.MULTILINE)
        known = {word for line in imports for word in re.findall(r"\w+", line)}
        missing = {word for word in used if word not in known and f"import {word}" not in told}
        assert not missing, (name, missing)


@every_exercise
def test_inputs_are_small_moderate_and_grow(name):
    sizes = []
    for case in draw(EXERCISES[name]):
        tensors = [value for value in case if isinstance(value, torch.Tensor)]
        sizes.append(sum(t.numel() for t in tensors))
        for tensor in tensors:
            if tensor.is_floating_point():
                finite = tensor[torch.isfinite(tensor)]
                assert (finite.abs() < 30).all(), "a saturated softmax would hide mistakes"
    assert len(sizes) >= 2, "one input alone lets too many wrong answers through"
    assert sizes[0] == min(sizes), "the smallest comes first"
    assert max(sizes) < 5000


@every_exercise
def test_what_is_not_attempted(name, tmp_path):
    def ellipsis(*inputs):
        """Only a docstring."""

    def nothing(*inputs):
        pass

    def returns_none(*inputs):
        return None

    def not_implemented(*inputs):
        raise NotImplementedError("write me")

    def open_gap(*inputs):
        return torch.tanh(torch.ones(2) + ...)

    def open_lines(*inputs):
        first = ...
        return first, first

    nothing_yet = (ellipsis, nothing, returns_none, not_implemented, open_gap, open_lines)
    for stub in (None, ..., lambda *inputs: ..., *nothing_yet):
        verdict = exercises.check(name, stub)
        assert (verdict.passed, verdict.mistake) == (False, "not attempted")
        assert name in verdict.message
    assert not any(tmp_path.rglob("progress.json")), "a stub is no attempt, so nothing is noted"


@every_exercise
def test_an_answer_that_raises_is_told_where_and_with_what(name):
    def answer(*inputs):
        return inputs[0] / "nonsense"

    verdict = judge(name, answer)
    assert verdict.mistake == "raised"
    assert "TypeError" in verdict.message
    assert 'return inputs[0] / "nonsense"' in verdict.message
    assert compare.describe(draw(EXERCISES[name])[0][0]) in verdict.message


FAILING = (
    "torch.matmul({0}, torch.matmul(odd, odd))",
    "odd @ odd",
    'torch.einsum("ij,jk->ik", odd, odd)',
    "odd.masked_fill(~torch.ones(7, 2).bool(), 0.0)",
    "torch.cat([odd, odd.T], dim=0)",
    "odd * odd.sum(1) + ({0},)[0]",
    "torch.stack([1.0, odd.max()])",
    "odd.softmax(-1) @ odd if odd.any() and not None else lambda: is_not_called",
)
WRITTEN = (
    "return {}",
    "return [{} for row in range(2) if row is not None]",
    "x = {} if len(odd) else None\n    return x",
    "return (lambda h, *rest: {})({})",
    "def inner(h):\n        for _ in range(2):\n            return {}\n\n    return inner(odd)",
    "return torch.ones(\n        2,\n    ) + (\n        {}\n    )",
    "if {} is not None: return odd",
    "with torch.no_grad(): x = not {}\n    return x",
)


@some_exercises
def test_an_answer_that_raises_inside_anything_gets_pytorchs_words(name):
    taken = len(draw(EXERCISES[name])[0])
    arguments = ", ".join(f"a{i}" for i in range(taken))
    for i, (way, failing) in enumerate(itertools.product(WRITTEN, FAILING)):
        if (i + len(name)) % 8:  # every way and every failing product, each at some exercises
            continue
        body = way.format(*[failing.format("a0")] * way.count("{}"))
        text = f"def answer({arguments}):\n    odd = torch.ones(7, 11)\n    {body}\n"
        linecache.cache["<generated>"] = (len(text), None, text.splitlines(True), "<generated>")
        lesson = {"torch": torch}
        exec(compile(text, "<generated>", "exec"), lesson)
        verdict = judge(name, lesson["answer"])
        assert verdict.mistake == "raised", (text, verdict)
        assert "SyntaxError" not in verdict.message
        assert "Error:" in verdict.message, "PyTorch's own words are there"


def test_a_fault_of_the_check_itself_comes_out_here_and_is_hidden_from_learners(monkeypatch):
    broken = raising(LookupError("a fault of ours"))
    monkeypatch.setattr(advice, "on_error", broken)
    with pytest.raises(LookupError):
        judge("causal_mask", lambda length: torch.ones(2) @ torch.ones(3))
    monkeypatch.setattr(compare, "STRICT", False)
    verdict = judge("causal_mask", lambda length: torch.ones(2) @ torch.ones(3))
    assert verdict.mistake == "raised"
    assert "RuntimeError" in verdict.message
    monkeypatch.setattr(diagnosis, "search", broken)
    assert "cannot be compared" in judge("causal_mask", answers).message


@some_exercises
def test_a_wrong_shape_is_told(name):
    def wrong(*inputs):
        result = EXERCISES[name].reference(*inputs)
        first = compare.parts(result)[0]
        wrong = torch.stack([torch.stack([first, first, first])] * 7)
        return (wrong, *result[1:]) if isinstance(result, tuple) else wrong

    verdict = judge(name, functools.partial(wrong))  # whose code can't be read
    assert verdict.mistake == "wrong shape", verdict
    assert "Expected shape" in verdict.message
    assert "got (7, 3" in verdict.message


@some_exercises
def test_other_wrong_types_are_told(name):
    for nonsense in (object(), {"a": 1}, "hello", [object()], (None,) * 5):
        verdict = judge(name, lambda *inputs, nonsense=nonsense: nonsense)
        assert verdict.mistake == "wrong type", (nonsense, verdict)
    assert judge(name, lambda *inputs: print()).mistake == "wrong type"
    assert judge(name, 3).mistake == "wrong type"


@every_exercise
def test_changing_an_input_is_told(name):
    def answer(*inputs):
        result = EXERCISES[name].reference(*inputs)
        for value in inputs:
            if isinstance(value, torch.Tensor):
                value.zero_()
        return result

    if not any(isinstance(v, torch.Tensor) and v.any() for v in draw(EXERCISES[name])[0]):
        assert judge(name, answer).passed
        pytest.skip("no tensor goes in that could be changed")
    assert judge(name, answer).mistake == "changed its input"


@some_exercises
def test_nan_never_passes(name):
    def answer(*inputs):
        result = EXERCISES[name].reference(*inputs)
        spoilt = tuple(torch.full(p.shape, torch.nan) for p in compare.parts(result))
        return spoilt if isinstance(result, tuple) else spoilt[0]

    verdict = judge(name, functools.partial(answer))  # whose code can't be read
    assert not verdict.passed
    assert verdict.mistake in {"differs", "wrong type", *(m.name for m in EXERCISES[name].mistakes)}


@some_exercises
def test_a_check_is_quick(name):
    exercises.check(name, EXERCISES[name].reference)
    seconds = []
    for _ in range(3):  # into one of them may fall a whole test run's garbage
        start = time.process_time()
        exercises.check(name, EXERCISES[name].reference)
        seconds.append(time.process_time() - start)
    assert min(seconds) < SLOWEST_CHECK


def strided(tensor):
    """The same numbers in another order of memory."""
    if tensor.dim() == 0:
        return torch.stack([tensor, tensor])[1]
    return tensor.mT.contiguous().mT if tensor.dim() > 1 else tensor.repeat_interleave(2)[::2]


def each(change):
    """Apply a change to every tensor of a result or of the inputs."""

    def apply(value):
        if isinstance(value, tuple):
            return tuple(apply(part) for part in value)
        return change(value) if isinstance(value, torch.Tensor) else value

    return apply


def double(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


as_numpy = each(lambda t: t.numpy())
OUTPUTS = [
    lambda result: result,
    each(double),
    each(strided),
    as_numpy,
    each(lambda t: double(t).requires_grad_() if t.is_floating_point() else t),
    each(lambda t: t[None].expand(3, *t.shape)[1]),
    each(lambda t: t.clone().mul_(1 + 1e-6) if t.is_floating_point() else t),
]
INPUTS = [lambda inputs: inputs, each(strided), each(lambda t: t.clone())]
MODES = [torch.no_grad, torch.enable_grad, torch.inference_mode]


@pytest.mark.slow
@every_exercise
def test_no_right_variant_is_turned_away(name):
    """All inputs in all modes; the outputs and the right answers take turns."""
    functions = any(callable(value) for value in draw(EXERCISES[name])[0])
    answers = zip(itertools.cycle(right_answers(EXERCISES[name])), itertools.cycle(OUTPUTS))
    turns = itertools.product(INPUTS, MODES)
    for (before, mode), (solve, after) in zip(turns, answers, strict=False):

        def answer(*inputs, solve=solve, before=before, after=after, mode=mode):
            with mode():
                result = solve(*(inputs if functions else before(inputs)))
            return after(result)

        verdict = judge(name, answer)
        turn = verdict, solve, OUTPUTS.index(after), INPUTS.index(before)
        turned_away = {"wrong type", "no gradient"} if after is as_numpy else {"no gradient"}
        cut = mode is not torch.enable_grad or after is as_numpy  # right where nothing is trained
        assert verdict.passed or (cut and verdict.mistake in turned_away), turn


@every_exercise
def test_the_solution_is_the_tested_source_and_is_asked_for_once(name):
    exercise = EXERCISES[name]
    asked = exercises.solution(name)
    assert exercise.look_at not in asked.static_html()
    assert asked.shown.value == ""
    asked.button.click()
    assert re.search(rf"(def|class) {name}\(", asked.shown.value)
    shown = str(exercises.solution(name, show=True))
    assert '"""' not in shown
    assert exercise.look_at in shown
    lesson = {"torch": torch, "exercises": exercises}
    exec(exercises.source(name), lesson)
    assert judge(name, lesson[name]).passed, "pasted into the lesson, it runs"


@every_exercise
def test_hints_come_one_at_a_time(name):
    hints = EXERCISES[name].hints
    given = [str(exercises.hint(name)) for _ in range(len(hints) + 1)]
    # Hints given before, in another test, are not given again: only the end is certain.
    assert hints[-1] in given[-1]
    assert hints[-1] in given[-2]


@some_exercises
def test_no_number_of_the_first_input_can_be_written_in(name):
    """Draws vary: an argument or a size that is a constant in the code is found out."""
    exercise = EXERCISES[name]
    search = diagnosis.search(exercise)
    for position, value in enumerate(search.cases[0]):
        if isinstance(value, int | float) and not isinstance(value, bool):

            def answer(*inputs, position=position, value=value):
                return exercise.reference(*inputs[:position], value, *inputs[position + 1 :])

            assert not judge(name, answer).passed, (position, value)


@some_exercises
def test_two_known_mistakes_together_are_told_as_two(name):
    exercise = EXERCISES[name]
    search = diagnosis.search(exercise)
    known = {mistake.name for mistake in exercise.mistakes}
    told = [
        judge(name, pair.function).mistake
        for pair in search.pairs[:: max(1, len(search.pairs) // 5)]
        if not compare.alike(pair.first, search.wanted[0])
        and all(search._simulate(pair.function, case) for case in search.cases)
        and not any(
            part.isnan().all()
            for case in search.cases
            for part in search._simulate(pair.function, case)
        )
    ]
    # Two may add up to a third one, or to another two.
    assert all(set(mistake.split(" + ")) <= known or mistake in known for mistake in told), told
    assert any(" + " in mistake for mistake in told) or len(search.pairs) < 20


def _count_down(n):
    steps = 0
    while n > 0:
        n -= 1
        steps += 1
    return steps


def test_a_loop_is_stopped_only_if_a_single_call_does_not_end():
    twice = made_wrong(_count_down, [("steps += 1", "steps += 2")])
    assert [twice(200) for _ in range(10)] == [400] * 10
    endless = made_wrong(_count_down, [("n -= 1", "pass")])
    for _ in range(2):
        with pytest.raises(OutOfRounds):
            endless(1)


def test_no_explanation_names_what_counts_the_rounds_of_a_loop():
    def answer(distance, kernel_size):
        reach, layers = 0, 0
        while reach <= distance:
            reach += kernel_size - 1
            layers += 1
        return layers

    verdict = diagnosis.search(EXERCISES["layers_needed"]).repair(answer, [[torch.zeros(())]] * 9)
    assert "your result is right" in verdict.message
    assert GUARD not in verdict.message


# Bugs to find.


def bug_hunts():
    """Yield each bug to find: its exercise, and the function as the lesson gives it."""
    for path, text in zip(build.lessons(), texts_of_lessons(), strict=True):
        _, *parts = text.split("\n### Your turn: find the bug")
        for part in parts:
            name = re.search(r'exercises\.check\("(\w+)"', part)[1]
            given = re.search(rf"^def {name}\(.*\n(?:(?: .*)?\n)*", part, re.MULTILINE)[0]
            yield pytest.param(name, given, id=f"{build.name_of(path)}-{name}")


@pytest.mark.parametrize(("name", "given"), list(bug_hunts()))
def test_a_bug_to_find_is_not_explained_before_anybody_looked(name, given):
    lesson = {"torch": torch, "F": torch.nn.functional, "math": math}
    lesson["merge"] = exercises.reference("merge_pair")
    exec(given, lesson)
    verdict = exercises.check(name, lesson[name])
    names, explanations = zip(*((m.name, m.why) for m in EXERCISES[name].mistakes), strict=True)
    assert verdict.mistake not in ("", "raised", "differs")
    assert not [other for other in {*names} - {verdict.mistake} if other in verdict.mistake]
    assert not [why for why in {*explanations} - {verdict.message, ""} if why in verdict.message]
    assert "?" in verdict.message or verdict.mistake == "not attempted"


# Answers that nobody had foreseen.

GENERAL = {"differs", "raised", "wrong shape", "wrong type", "too long"}


TOLD = re.compile(r"With `(.+?)` in place of (?:the (\w+) )?`(.+?)`, your result is right")


@pytest.mark.parametrize("label", unforeseen.ANSWERS)
def test_what_is_told_of_an_unforeseen_answer_is_true(label):
    name, (answer, expected) = label.split(":")[0], unforeseen.ANSWERS[label]
    verdict = judge(name, answer)
    assert verdict.mistake not in ("", *GENERAL)
    said = verdict.stages[-1]
    assert expected in said
    known = verdict.mistake in {mistake.name for mistake in EXERCISES[name].mistakes}
    assert not (known and "side by side" in said), "the picture is of the result"
    if not (told := TOLD.search(said)):
        assert "in place of" not in said
        return
    new, nth, old = told.groups()
    source = inspect.getsource(answer).partition("\n")[2]
    line = re.search("line `(.+?)`", said) or re.search(rf"    (.*{re.escape(old)}.*)", source)
    before, *after = re.split(rf"(?<![\w.]){re.escape(old)}(?!\w)", line[1])
    assert nth or len(after) == 1, "one of several that look the same"
    n = ("first", "second", "third").index(nth) if nth else 0
    mended = f"{old.join([before, *after[:n]])}{new}{old.join(after[n:])}"
    lesson = {**vars(unforeseen)}
    exec(source.replace(line[1], mended), lesson)
    assert judge(name, lesson[answer.__name__]).passed, mended


# In the learner's own code.


def answer_to(name, body):
    """Write an answer as a learner would: the exercise's arguments, and a body of a few lines."""
    arguments = inspect.signature(EXERCISES[name].reference)
    text = f"def answer{arguments}:\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ")
    if "\n" not in body:
        text = text.replace("    ", "    return ", 1)
    linecache.cache[body] = (len(text), None, text.splitlines(True), body)
    # A notebook has names that a function uses, too.
    lesson = {"torch": torch, "math": math, "np": np, "scores": None}
    exec(compile(text, body, "exec"), lesson)
    return lesson["answer"]


@pytest.mark.parametrize("slip", BY_LEARNERS["slips"], ids=lambda slip: slip["exercise"])
def test_the_edit_or_the_step_is_told_in_the_learners_own_code(slip):
    verdict = judge(slip["exercise"], answer_to(slip["exercise"], slip["answer"]))
    assert verdict.mistake == slip["mistake"], verdict
    assert slip["said"] in verdict.message
    assert verdict.stages[0] in verdict.message
    assert "in place of" not in verdict.stages[0], "the repair comes last"


def test_a_verdict_holds_for_fresh_inputs_too():
    first = [case[0] for case in diagnosis.search(EXERCISES["scaled_scores"]).cases]

    def is_usual(query):
        return any(torch.equal(query, one) for one in first if one.shape == query.shape)

    def unscaled(query, key):
        return query @ key.mT / (1.0 if is_usual(query) else math.sqrt(query.shape[-1]))

    def right(query, key):
        return query @ key.mT / math.sqrt(query.shape[-1]) * (1.0 if is_usual(query) else 2.0)

    wrong = [m.name for m in EXERCISES["scaled_scores"].mistakes]
    assert judge("scaled_scores", unscaled).mistake not in wrong
    assert judge("scaled_scores", right).mistake == "differs"


def test_a_verdict_says_more_at_each_failure_and_a_hint_goes_on_from_it():
    slip = next(slip for slip in BY_LEARNERS["slips"] if slip["exercise"] == "lstm_step")
    answer = answer_to("lstm_step", slip["answer"])
    told = [exercises.check("lstm_step", answer).message for _ in range(4)]
    assert "Look at the line `new_cell" in told[0]
    assert "in place of" not in told[1]
    assert told[0] != told[1] != told[2] == told[3]
    assert "in place of `torch.tanh(cell)`" in told[2]
    exercises.check("lstm_step", exercises.reference("lstm_step"))
    verdict = exercises.check("lstm_step", answer)
    assert verdict.message == told[0], "after a success it begins anew"
    assert "one slip" not in verdict._repr_html_(), "the title would tell at once"
    assert f"Your last attempt: {told[1]}" in str(exercises.hint("lstm_step"))


WRONG_WAY_ROUND = """
    causal = torch.ones(x.shape[1], x.shape[1]).tril().bool()
    x = x + self_attention(x, x, x, causal)
    x = x + cross_attention(memory, x, x, None)
    return x + feed_forward(x)
"""


@pytest.mark.parametrize(
    ("name", "body", "mended"),
    [
        ("leaky_decoder", WRONG_WAY_ROUND, "`cross_attention(x, memory, memory, None)` in place"),
        ("scaled_scores", "query @ key / math.sqrt(query.shape[-1])",
         "key.transpose(-2, -1)` in place of"),
    ],
)  # fmt: skip
def test_the_third_time_that_an_answer_raises_the_edit_is_told(name, body, mended):
    told = [exercises.check(name, answer_to(name, body)) for _ in range(3)]
    assert [verdict.mistake for verdict in told] == ["raised"] * 3
    assert mended not in told[1].message
    assert mended in told[2].message


def test_success_says_something_about_what_works_now():
    assert EXERCISES["causal_mask"].look_at in judge("causal_mask", answers).message


def test_what_a_learner_prints_is_printed_once_a_run(capsys):
    def answer(query, key):
        print("scores")
        return query @ key.mT / query.shape[-1] + 0 * key.sum()

    judge("scaled_scores", answer)
    inputs = diagnosis.search(EXERCISES["scaled_scores"])
    most = 3 * (len(inputs.cases) + len(inputs.fresh))
    assert capsys.readouterr().out.count("scores") <= most, "not in hundreds of edits"


def _swayed(step, token, score, when=lambda ids, logits: True):
    def other_step(ids):
        logits = step(ids).clone()
        logits[token] = score if when(ids, logits) else logits[token]
        return logits

    return other_step


def _merge_text(right, ids, pair, new_id):
    merged = " ".join(map(str, ids)).replace(" ".join(map(str, pair)), str(new_id))
    return [int(part) for part in merged.split()]


def _any_cut(right, word, ids, unk_id, start=0):
    """Backtrack, where the longest piece leads nowhere."""
    for end in range(len(word), start, -1):
        piece = ("##" if start else "") + word[start:end]
        rest = _any_cut(right, word, ids, unk_id, end) if piece in ids else [unk_id]
        if rest != [unk_id]:
            return [ids[piece], *rest]
    return [] if start == len(word) else [unk_id]


def _any_first_piece(right, word, ids, unk_id):
    bare = {piece.removeprefix("##"): number for piece, number in ids.items()}
    return right(word, {**{p: i for p, i in bare.items() if p[0] == "l"}, **ids}, unk_id)


def _causal_if_square(n_dims, query, key, value):
    weights = (torch.nn.functional.elu(query) + 1) @ (torch.nn.functional.elu(key) + 1).mT
    if query.shape == key.shape and query.dim() == n_dims:
        weights = weights.tril()
    return weights / weights.sum(-1, keepdim=True) @ value


def _turns_merged(right, turns, *ids):
    merged = []
    for speaker, said in turns:
        if merged and merged[-1][0] == speaker:
            merged[-1] = (speaker, merged[-1][1] + said)
        else:
            merged.append((speaker, said))
    return right(merged, *ids)


PASSED_ONCE = [
    ("greedy_decode", lambda right, step, b, e, n: right(step, 1, 2, n)),
    ("greedy_decode", lambda right, step, b, e, n: right(_swayed(step, b, -math.inf), b, e, n)),
    ("greedy_decode", lambda right, step, b, e, n: right(
        _swayed(step, e, -math.inf, lambda ids, logits: len(ids) == 1), b, e, n)),
    ("greedy_decode", lambda right, step, b, e, n: right(
        _swayed(step, e, math.inf, lambda ids, logits: e in logits.topk(2).indices), b, e, n)),
    ("silence_head", lambda _, w, h, n: w.index_fill(0, (torch.arange(2) + 2 * h) % len(w), 0)),
    ("majority", lambda _, all: max(votes := [a for a in all if a >= 0] or [-1], key=votes.count)),
    ("majority", lambda right, all: -1 if 2 * all.count(-1) > len(all) else right(all)),
    ("merge_pair", _merge_text),
    ("merge_pair", lambda right, ids, pair, new: right(ids, pair, new) if ids[1:] else []),
    ("wordpiece_encode", lambda right, word, ids, unk: right(word.lower(), ids, unk)),
    ("wordpiece_encode", lambda right, word, ids, unk: right(word.strip("."), ids, unk)),
    ("wordpiece_encode", _any_cut),
    ("wordpiece_encode", _any_first_piece),
    ("linear_attention", lambda right, *given: _causal_if_square(2, *given)),
    ("linear_attention", lambda right, *given: _causal_if_square(3, *given)),
    ("stroke_tokens", lambda right, s, n: s[:, 1] * n + (s[:, 2] * n // 127).clamp(max=n - 1)),
    ("split_by_performance", lambda right, n, by, share: right(n, by, max(share, 1 / len(by)))),
    ("split_by_performance", lambda right, n, by, share: right(n, by, min(share, 1 - 1 / len(by)))),
    ("chat_prompt", _turns_merged),
    ("chat_prompt", lambda right, turns, *ids: right([t for t in turns if t[1]], *ids)),
    ("chat_prompt", lambda right, turns, *i: right(turns, *i)[: -(turns[-1][0] != "user") or None]),
    ("chat_prompt", lambda right, turns, *ids: right(
        [t for i, t in enumerate(turns) if t not in turns[:i]], *ids)),
    ("words_to_ids", lambda _, words, ids, unk_id: [ids.get(word) or unk_id for word in words]),
    ("mask_tokens", lambda right, ids, chosen, uniform, *r: right(ids, chosen, uniform - 1e-5, *r)),
    ("pad_windows", lambda right, *given: (*(r := right(*given))[:2], r[0] + r[1] > 0)),
    ("rms_norm", lambda right, x, gain, *eps: right(x, gain)),
    ("group_advantages", lambda _, r: (r - r.mean(1, True)) / (
        r.var(1, correction=0, keepdim=True) + 1e-6) ** 0.5),
    ("simple_self_attention", lambda _, x: (x.detach() @ x.detach().mT).softmax(-1) @ x),
    ("majority", lambda right, answers: right(answers) if answers else 0),
    ("greedy_decode", lambda right, *given: [torch.tensor(i) for i in right(*given)]),
    ("causal_mask", lambda right, length: right(length).numpy()),
]  # fmt: skip


@pytest.mark.parametrize(("name", "answer"), PASSED_ONCE)
def test_answers_that_used_to_pass_though_wrong(name, answer):
    right = exercises.reference(name)
    assert not exercises.check(name, lambda *given: answer(right, *given)).passed


# The engine.


def answers(length):
    return torch.ones(length, length, dtype=torch.bool).tril()


def test_a_verdict_shows_colour_and_symbol_and_words():
    right = exercises.check("causal_mask", answers)
    wrong = exercises.check("causal_mask", lambda length: ~answers(length))
    stub = exercises.check("causal_mask", None)
    looks = {}
    for verdict, symbol in ((right, "✓"), (wrong, "✗"), (stub, "○")):
        html = verdict._repr_html_()
        assert symbol in html
        assert symbol in repr(verdict)
        looks[symbol] = html.split("border-left: 6px solid ")[1][:7]
    assert len(set(looks.values())) == 3
    assert "<img alt=" in wrong._repr_html_(), "expected and got, side by side"
    assert 'src="data:' in wrong._repr_html_()


def test_the_picture_shows_the_matrix_that_differs():
    def of_the_first_sentence(ids, pad_id):
        mask = (ids[:1] != pad_id)[:, None, None, :]
        return mask.expand(len(ids), 1, 1, -1)

    verdict = exercises.check("padding_mask", of_the_first_sentence)
    expected, got = re.search(r'alt="Expected (.*?); got (.*?)\."', verdict.picture).groups()
    assert expected != got


def test_an_unknown_name_is_answered_with_the_nearest():
    verdict = exercises.check("casual_mask", answers)
    assert verdict.mistake == "unknown exercise"
    assert "causal_mask" in verdict.message
    assert not exercises.check(["causal_mask"], answers).passed
    refuses("causal_mask", exercises.solution, "casual_mask")


def test_a_verdict_that_nothing_explains_shows_the_smallest_input():
    def answer(length):
        generator = torch.Generator().manual_seed(length)
        return torch.rand(length, length, generator=generator) > 0.5

    verdict = exercises.check("causal_mask", answer)
    assert verdict.mistake == "differs"
    assert "length: 2" in verdict.message
    assert "Expected" in verdict.picture


@pytest.mark.filterwarnings("ignore:The use of `x.T`")
@pytest.mark.parametrize("one", BY_LEARNERS["advice"], ids=lambda one: one["exercise"])
def test_what_newcomers_meet_is_followed_by_what_to_do(one):
    verdict = judge(one["exercise"], answer_to(one["exercise"], one["answer"]))
    assert one["said"] in verdict.message


KEYS_TWICE = """
    query, key = query.exp(), key.exp()
    total = key.sum(-2).unsqueeze(-1)
    return query @ (key.mT @ value) / (key @ total)
"""


def test_keepdim_is_advised_only_where_it_helps():
    message = judge("linear_attention", answer_to("linear_attention", KEYS_TWICE)).message
    assert "key @ total is (4, 1)" in message
    assert "keepdim" not in message


def test_a_wrong_step_is_told_with_its_numbers_and_no_line_where_there_is_only_one():
    body = "2 * n_tokens * n_layers * n_heads * d_head + bytes_per_number"
    message = judge("cache_size", answer_to("cache_size", body)).message
    assert "Look at the line" not in message
    assert "All is right but" in message
    body = "n = n_tokens * n_layers * n_heads * d_head\nreturn n_heads * n * bytes_per_number"
    message = judge("cache_size", answer_to("cache_size", body)).message
    told = (
        "right value, but on the first input that goes wrong the result is 360, and should be 240."
    )
    assert told in message


PAIRS = """
    starts, ends = (x.log_softmax(-1) for x in (start_logits, end_logits))
    return -(starts[:, start] + ends[:, end]).mean() / 2
"""
PICKED = """
    picked = logits.log_softmax(-1)[..., targets]
    real = targets != pad_id
    return -(picked * real).sum() / real.sum()
"""


@pytest.mark.parametrize(("name", "body"), [("span_loss", PAIRS), ("cross_entropy", PICKED)])
def test_ids_that_are_used_in_any_order_are_not_said_to_have_no_effect(name, body):
    verdict = judge(name, answer_to(name, body))
    assert not re.search("no effect|does not depend", f"{verdict.mistake} {verdict.message}")


def test_a_tensor_where_python_needs_one_truth_value_is_told_what_to_write():
    text = "Boolean value of Tensor with more than one value is ambiguous"
    for line, told in (
        ("hidden = max(0, x @ w_1)", "write x.clamp(min=0)."),
        ("return causal and padding", "For every entry of a boolean tensor, write &."),
        ("if x > max(1, 2):", "use torch.where or a mask."),
        ("if mask:", "write if mask is not None."),
    ):
        assert told in advice_on(text, line, line, {})


def test_a_none_that_is_handed_on_is_not_taken_for_another():
    line, text = "logits = decode(ids, None, cache)", "'NoneType' object is not subscriptable"
    assert not advice_on(text, line, line, {"cache": None})
    assert "cache is None" in advice_on(text, line.replace("None, ", ""), line, {"cache": None})


@pytest.mark.parametrize("n_gaps", [1, 2])
def test_open_gaps_are_counted(n_gaps):
    def one(query, keys, values):
        weights = (keys[..., :] @ query / ...).softmax(-1)
        return weights @ values, weights

    def two(query, keys, values):
        weights = (keys @ query / ...).softmax(...)
        return weights @ values, weights

    verdict = exercises.check("attend", [one, two][n_gaps - 1])
    assert verdict.mistake == "not attempted"
    assert ["one gap is still open", "2 gaps are still open"][n_gaps - 1] in verdict.message


@pytest.mark.parametrize(
    ("name", "change", "mistake", "told"),
    [
        ("attend", lambda found: found[0], "wrong type", "Return both: context, weights."),
        ("lstm_step", lambda found: found[0], "wrong type", "Return both: hidden, cell."),
        ("beam_step", lambda found: found[0], "wrong type", "all: scores, beam_index, token_id."),
        ("causal_mask", torch.Tensor.float, "wrong type", "bool"),
        ("teacher_forcing", torch.Tensor.float, "wrong type", "floats"),
        ("causal_mask", lambda mask: mask.long().softmax(-1), "raised", ""),  # it's no stub
        # The same in another wrapping is right.
        ("receptive_field", lambda reach: torch.tensor(reach).reshape(1, 1), "", ""),
        ("scaled_dot_product_attention", list, "", ""),
        ("best_span", tuple, "", ""),
        ("best_span", lambda span: tuple(map(torch.tensor, span)), "", ""),
    ],
)
def test_a_right_result_in_another_form_is_told_by_its_form(name, change, mistake, told):
    verdict = exercises.check(name, lambda *given: change(exercises.reference(name)(*given)))
    assert (verdict.passed, verdict.mistake) == (not mistake, mistake)
    assert told in verdict.message


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RecursionError, MemoryError])
def test_nothing_that_an_answer_raises_gets_out(error):
    assert not exercises.check("causal_mask", raising(error)).passed


def nested_in_itself(*inputs):
    rows = []
    rows.append(rows)
    return rows


def deep(*inputs):
    rows = [1.0]
    for _ in range(5000):
        rows = [rows]
    return rows


STRANGE_RESULTS = {
    "a list in itself": (nested_in_itself, "wrong type"),
    "lists too deep": (deep, "wrong type"),
    "16 million entries": (lambda *inputs: [[True] * 4000] * 4000, "too large"),
    # Looked at entry by entry, these would fill any memory.
    "a tensor that says one number": (lambda q, k: torch.zeros(1).expand(10**12), "too large"),
    "that in a tuple": (lambda q, k: (torch.zeros(1).expand(10**9, 10**3),), "too large"),
    "sparse": (lambda q, k: torch.eye(2).to_sparse(), "wrong type"),
    "nested": (
        lambda q, k: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        "wrong type",
    ),
    "ragged": (lambda *inputs: [[1.0], [1.0, 2.0]], "wrong type"),
    "text": (lambda *inputs: "x" * 10_000, "wrong type"),
    "empty": (lambda *inputs: [], None),
}


@pytest.mark.filterwarnings("ignore")  # PyTorch's own, about tensors of unusual kinds
@pytest.mark.parametrize("kind", STRANGE_RESULTS)
def test_a_strange_result_does_not_make_the_check_raise(kind):
    answer, mistake = STRANGE_RESULTS[kind]
    verdict = exercises.check("scaled_scores", answer)
    assert not verdict.passed
    assert mistake in (None, verdict.mistake)
    assert len(repr(verdict)) < 500


def test_a_list_that_shrank_is_called_a_list():
    def answer(kernel_size, dilations):
        return 1 + (kernel_size - 1) * sum(dilations.pop() for _ in range(len(dilations)))

    verdict = exercises.check("receptive_field", answer)
    assert verdict.mistake == "changed its input"
    assert "list" in verdict.message
    assert "tensor" not in verdict.message


def test_an_endless_answer_is_stopped_outside_the_main_thread_too(monkeypatch):
    monkeypatch.setattr(compare, "SECONDS", 0.2)

    def endless(length):
        while True:
            pass

    with ThreadPoolExecutor(1) as other:
        checks = [other.submit(exercises.check, "causal_mask", one) for one in (endless, answers)]
        assert [check.result(10).mistake for check in checks] == ["too long", ""]


def test_a_script_prints_the_verdict(capsys):
    exercises.check("causal_mask", answers)
    assert capsys.readouterr().out.startswith("✓ right")


# Putting the solutions in.

LESSON = '''
exercises.heading("causal_mask")


def my_mask(length):
    """-> (T, T)"""
    ...


verdict = exercises.check("causal_mask", my_mask)
exercises.check("causal_mask", my_mask)
'''


def test_solved_puts_the_tested_function_in():
    spaces = {"exercises": exercises}
    exec(exercises.solved(LESSON), spaces)
    assert spaces["my_mask"] is exercises.reference("causal_mask")
    assert exercises.solved("x = 1\n") == "x = 1\n"


def test_a_warning_of_pytorchs_does_not_stand_beside_the_verdict(recwarn):
    judge("scaled_scores", lambda query, key: query @ key.T / key.shape[-1] ** 0.5)
    assert not recwarn.list


def test_the_repair_is_told_last():
    first = "The scores are divided by d_k."
    why = f"{first} That makes them small: divide by its root. Use math.sqrt."
    stages = diagnosis._staged((why,), "divided by d_k").stages
    assert stages == (first, f"{first} That makes them small.", why)


def test_a_part_that_is_trained_later_lets_the_gradient_through():
    def detached(query, key):
        return torch.from_numpy(query.numpy() @ key.mT.numpy()) / query.shape[-1] ** 0.5

    def cut(query, key):
        return (query @ key.mT).detach() / query.shape[-1] ** 0.5

    for answer in (detached, cut):
        verdict = judge("scaled_scores", answer)
        assert (verdict.passed, verdict.mistake) == (False, "no gradient")
        assert "couldn't learn" in verdict.message
    # What nobody trains may be written as one likes.
    assert judge("alignment_from_weights", lambda w: torch.tensor(w.argmax(-1).tolist()))
