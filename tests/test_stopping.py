"""A training can be stopped, resumed, and survives a full disk."""

import errno
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from samples import raising
from test_training import copy_task, quick, quiet, small_model, weights_of

from helpers.training import training
from helpers.training.batches import pad_batch, token_batches
from helpers.training.interruption import StopBetweenSteps

STEPS = len(token_batches(copy_task(60), 64, 4, seed=0))  # of an epoch


@pytest.fixture(autouse=True)
def python_listens_to_ctrl_c():
    """Listen as Python does by default: a job in a shell's background is started deaf."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press():
    os.kill(os.getpid(), signal.SIGINT)


class StopsAt:
    """Presses the stop button during a given training step."""

    def __init__(self, step):
        self.left = step

    def __call__(self, module, inputs):
        self.left -= module.training
        if module.training and self.left == 0:
            press()


@pytest.mark.slow
@pytest.mark.parametrize("step", [3, STEPS, STEPS + 3])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_stop_and_resume_equals_an_uninterrupted_run(tmp_path, dropout, step):
    def train_(model, checkpoint=None):
        settings = quick(average_decay=0.9)
        return quiet(model, copy_task(60), copy_task(10, 1), settings, checkpoint=checkpoint)

    checkpoint = tmp_path / "run" / "checkpoint.pt"
    torch.manual_seed(5)
    expected = train_(whole := small_model(dropout))

    torch.manual_seed(5)
    model = small_model(dropout)
    handle = model.register_forward_pre_hook(StopsAt(step))
    first = train_(model, checkpoint)
    handle.remove()
    assert first.stopped_early
    assert len(first.losses) == step
    model(*(x[:, :4] for x in pad_batch(copy_task(60))))  # usable

    torch.manual_seed(99)  # the checkpoint brings its own random state
    second = train_(again := small_model(dropout), checkpoint)
    assert second.losses == pytest.approx(expected.losses)
    torch.testing.assert_close(weights_of(again), weights_of(whole))
    assert not second.stopped_early
    # One score an epoch, wherever it was stopped.
    assert len(first.scores) == len(first.validation_losses) == step // STEPS
    assert len(second.scores) == len(second.validation_losses) == 3
    assert second.scores == pytest.approx(expected.scores)


@pytest.mark.slow
@pytest.mark.parametrize("step", [2, STEPS + 3])
def test_pairs_that_were_cut_at_random_go_on_too(tmp_path, step):
    path, cuts = tmp_path / "checkpoint.pt", iter(range(100))

    def encode(epoch):
        return copy_task(60 + 5 * next(cuts), seed=next(cuts))

    model, fed = small_model(), []
    model.register_forward_pre_hook(lambda _, inputs: fed.append(inputs[0].tolist()))
    handle = model.register_forward_pre_hook(StopsAt(step))
    quiet(model, copy_task(60), [], quick(decay="linear"), checkpoint=path, encode=encode)
    handle.remove()
    state = torch.load(path, weights_only=True)
    assert state["total"] == 3 * STEPS  # the rates go on as planned, however many pairs follow
    batches = token_batches(state["epoch_pairs"], 64, 4, seed=state["epoch"])
    rest = [pad_batch(batch, 0, 4)[0].tolist() for batch in batches[state["batch"] :]]
    assert rest
    assert fed[-1] == pad_batch(batches[state["batch"] - 1], 0, 4)[0].tolist()
    quiet(model, copy_task(60), [], quick(decay="linear"), checkpoint=path, encode=encode)
    assert fed[step : step + len(rest)] == rest


def test_stopped_before_the_first_validation_it_keeps_the_latest_weights():
    model, seen = small_model(), []
    model.register_forward_pre_hook(lambda *_: seen.append(weights_of(model)))
    model.register_forward_pre_hook(StopsAt(3))
    history = quiet(model, copy_task(60), copy_task(5), quick())
    assert history.scores == history.validation_losses == []
    assert not any(torch.equal(weights_of(model), before) for before in seen)  # after step 3
    averaged = small_model()
    averaged.register_forward_pre_hook(StopsAt(3))
    quiet(averaged, copy_task(60), [], quick(average_decay=0.9))
    assert not torch.allclose(weights_of(averaged), weights_of(model))


def test_a_second_press_ends_a_validation(tmp_path):
    model, calls = small_model(), []

    def score(_):
        calls.append(len(calls))
        if len(calls) == 2:
            press()
            press()
            raise AssertionError("the validation went on")
        return 1.0

    settings, path = quick(average_decay=0.9), tmp_path / "checkpoint.pt"
    history = quiet(model, copy_task(60), [], settings, score=score, checkpoint=path)
    assert history.stopped_early
    assert len(history.scores) == 1
    assert len(history.losses) == 2 * STEPS
    # The next one begins with the validation that was left out.
    again = quiet(model, copy_task(60), [], settings, score=score, checkpoint=path)
    assert len(again.scores) == 3
    assert len(again.losses) == 3 * STEPS
    assert len(calls) == 4


def test_one_press_lets_a_validation_end():
    def score(_):
        press()
        return 1.0

    history = quiet(small_model(), copy_task(60), [], quick(), score=score)
    assert history.stopped_early
    assert history.scores == [1.0]


def test_two_presses_in_one_step_do_not_break_it(tmp_path):
    model = small_model()

    def twice(*_):
        press()
        press()

    model.register_forward_pre_hook(twice)
    path = tmp_path / "checkpoint.pt"
    history = quiet(model, copy_task(60), [], quick(), checkpoint=path)
    assert len(history.losses) == 1
    assert torch.load(path, weights_only=True)["step"] == 1


def test_a_second_press_ends_the_cutting_of_pairs():
    def encode(epoch):
        if epoch == 1:
            press()
            press()
            raise AssertionError("it went on")
        return copy_task(60)

    history = quiet(small_model(), copy_task(60), [], quick(), encode=encode)
    assert history.stopped_early
    assert len(history.scores) == 1


def test_one_press_ends_all_trainings_of_a_cell():
    histories, untouched = [], small_model()
    with StopBetweenSteps() as stop:
        for model in (small_model(), small_model(), untouched):
            model.register_forward_pre_hook(StopsAt(STEPS + 2 if not histories else 10**6))
            histories.append(quiet(model, copy_task(60), [], quick()))
        assert stop.asked
    assert [len(history.losses) for history in histories] == [STEPS + 2, 0, 0]
    assert all(history.stopped_early for history in histories)
    torch.testing.assert_close(weights_of(untouched), weights_of(small_model()))
    # The next cell is a new beginning, and Ctrl-C is what it was.
    assert not quiet(small_model(), copy_task(20), [], quick()).stopped_early
    with pytest.raises(KeyboardInterrupt):
        press()


def test_in_a_notebook_one_press_ends_the_trainings_that_its_cell_begins_later():
    shell = InteractiveShell.instance()
    shell.user_ns.update(press=press, StopBetweenSteps=StopBetweenSteps, asked=(asked := []))
    again = "with StopBetweenSteps() as stop:\n    asked.append(stop.asked)\n"
    try:
        shell.run_cell(f"{again}    press()\n{again}{again}", store_history=True)
        shell.run_cell(again, store_history=True)  # the next cell is a new beginning
        assert asked == [False, True, True, False]
        assert StopBetweenSteps.met()
    finally:
        StopBetweenSteps._cell = None
        InteractiveShell.clear_instance()


def test_a_second_press_between_trainings_is_an_interrupt():
    def between():
        with StopBetweenSteps() as stop:
            press()
            assert stop.asked
            press()

    with pytest.raises(KeyboardInterrupt):
        between()


def test_it_trains_in_another_thread_where_there_are_no_signals():
    with ThreadPoolExecutor(1) as pool:
        history = pool.submit(quiet, small_model(), copy_task(20), [], quick())
    assert len(history.result().scores) == 3


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"seed": 3}, "seed was 0, is 3"),
        ({"n_pairs": 29}, "on other pairs"),
        ({"d_ff": 16}, "has shape"),
        ({"lacking": "average"}, "it lacks average"),
        ({"damaged": True}, ""),
    ],
)
def test_a_refused_checkpoint_leaves_the_model_and_the_file_alone(tmp_path, changed, why):
    path = tmp_path / "checkpoint.pt"
    quiet(small_model(), copy_task(30), [], quick(), checkpoint=path)
    if "lacking" in changed:
        state = torch.load(path, weights_only=True)
        del state[changed["lacking"]]
        torch.save(state, path)
    if "damaged" in changed:
        path.write_bytes(b"not a checkpoint")
    model, kept = small_model(d_ff=changed.get("d_ff", 32)), path.read_bytes()
    pairs, settings = copy_task(changed.get("n_pairs", 30)), quick(seed=changed.get("seed", 0))
    before = weights_of(model)
    with pytest.raises(ValueError, match=f"{why}.*Move it away to start afresh"):
        quiet(model, pairs, [], settings, checkpoint=path)
    torch.testing.assert_close(weights_of(model), before)
    assert path.read_bytes() == kept


def test_bf16_is_measured_once_a_training(tmp_path, monkeypatch):
    answers = iter([True])
    monkeypatch.setattr(training, "bf16_pays", lambda device: next(answers))
    path, model = tmp_path / "checkpoint.pt", small_model()
    model.register_forward_pre_hook(StopsAt(2))
    for _ in range(2):
        quiet(model, copy_task(60), [], quick(precision="auto"), checkpoint=path)
    assert torch.load(path, weights_only=True)["bf16"] is True


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files as POSIX does")
def test_a_disk_that_fills_leaves_the_best_weights_and_the_old_checkpoint(tmp_path):
    import resource

    path, kept = tmp_path / "checkpoint.pt", []

    def score(model):
        kept.append(weights_of(model))
        if len(kept) == 2:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
        return -len(kept)

    model, limits = small_model(), resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(OSError, match="could not write the checkpoint .* MB left"):
            quiet(model, copy_task(60), [], quick(), score=score, checkpoint=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    torch.testing.assert_close(weights_of(model), kept[0])
    assert torch.load(path, weights_only=True)["epoch"] == 1
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_a_disk_error_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "save", raising(OSError(errno.ENOSPC, "No space left on device")))
    path = tmp_path / "checkpoint.pt"
    with pytest.raises(OSError, match=r"\(No space left on device\); its disk has"):
        quiet(small_model(), copy_task(20), [], quick(), checkpoint=path)
