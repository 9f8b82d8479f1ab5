"""Batches, losses, schedule, and a loop that can be stopped, resumed, shared and broken."""

import math
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from helpers import losses, training
from helpers.batches import pad_batch, token_batches
from helpers.pretrained.recipes import translator as train_translator
from helpers.training import TrainingSettings, train
from helpers.transformer import Transformer, TransformerConfig

few = settings(max_examples=25, deadline=None, derandomize=True)


def copy_task(n, seed=0):
    generator = torch.Generator().manual_seed(seed)
    pairs = []
    for _ in range(n):
        length = int(torch.randint(2, 7, (1,), generator=generator))
        ids = torch.randint(4, 12, (length,), generator=generator).tolist()
        pairs.append(([*ids, 2], [1, *ids, 2]))
    return pairs


def small_model(dropout=0.0):
    torch.manual_seed(0)
    return Transformer(
        TransformerConfig(
            src_vocab_size=12, tgt_vocab_size=12, norm_first=True, d_model=16, n_heads=2,
            n_layers=1, d_ff=32, dropout=dropout, max_len=16,
        )
    )  # fmt: skip


def quick(**changes):
    return TrainingSettings(
        **({"epochs": 3, "peak_rate": 3e-3, "warmup_steps": 5, "batch_tokens": 64} | changes)
    )


def weights_of(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


# Batches


def test_pad_batch_by_hand():
    src, tgt = pad_batch([([5, 2], [1, 6, 7, 2]), ([5, 8, 2], [1, 2])], multiple=4)
    assert src.tolist() == [[5, 2, 0, 0], [5, 8, 2, 0]]
    assert tgt.tolist() == [[1, 6, 7, 2, 0], [1, 2, 0, 0, 0]]


@few
@given(st.integers(1, 60), st.integers(16, 90), st.sampled_from([1, 4]), st.integers(0, 99))
def test_batches_hold_every_pair_once_and_keep_the_budget(n, budget, multiple, seed):
    pairs = copy_task(n, seed)
    batches = token_batches(pairs, budget, multiple, seed)
    assert sorted(map(str, (p for batch in batches for p in batch))) == sorted(map(str, pairs))
    for batch in batches:
        src, tgt = pad_batch(batch, multiple=multiple)
        assert len(batch) == 1 or max(src.numel(), tgt[:, 1:].numel()) <= budget


def test_batches_are_shuffled_by_seed_and_pad_little():
    pairs = copy_task(300)
    assert token_batches(pairs, 64, seed=1) == token_batches(pairs, 64, seed=1)
    assert token_batches(pairs, 64, seed=1) != token_batches(pairs, 64, seed=2)
    real = sum(len(source) for source, _ in pairs)
    padded = sum(pad_batch(batch)[0].numel() for batch in token_batches(pairs, 64, seed=1))
    assert padded < 1.1 * real


def test_empty_batch_and_empty_sentence_are_refused():
    with pytest.raises(ValueError, match="empty batch"):
        pad_batch([])
    with pytest.raises(ValueError, match="Leave empty sentences out"):
        pad_batch([([], [1, 2])])
    with pytest.raises(ValueError, match="got no training pairs"):
        train(small_model(), [], [], quick())


# Losses and schedule


def test_cross_entropy_equals_pytorch_and_padding_does_not_count():
    torch.manual_seed(0)
    logits, targets = torch.randn(2, 4, 7), torch.tensor([[3, 1, 0, 0], [2, 6, 5, 0]])
    ours = losses.cross_entropy(logits, targets, pad_id=0)
    expected = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)
    torch.testing.assert_close(ours, expected)
    changed = logits.clone()
    changed[targets == 0] += 5 * torch.randn(7)
    torch.testing.assert_close(losses.cross_entropy(changed, targets, 0), ours)
    assert losses.cross_entropy(logits, torch.zeros_like(targets), 0) == 0


def test_smoothed_targets_equal_pytorch():
    torch.manual_seed(0)
    logits, targets = torch.randn(5, 7), torch.randint(0, 7, (5,))
    smoothed = losses.smooth_targets(targets, 7, 0.1)
    torch.testing.assert_close(smoothed.sum(-1), torch.ones(5))
    assert smoothed[0, targets[0]].item() == pytest.approx(0.9 + 0.1 / 7)
    ours = -(smoothed * logits.log_softmax(-1)).sum(-1).mean()
    torch.testing.assert_close(ours, F.cross_entropy(logits, targets, label_smoothing=0.1))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_batch_loss_equals_pytorch(smoothing):
    model = small_model()
    src, tgt = pad_batch(copy_task(70))  # more rows than one chunk of the loss
    loss, n_tokens = training.batch_loss(model, src, tgt, 0, smoothing)
    logits, targets = model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten()
    expected = F.cross_entropy(
        logits, targets, ignore_index=0, label_smoothing=smoothing, reduction="sum"
    )
    if smoothing:  # PyTorch leaves ignored targets out of both terms, as we do
        logits, targets = logits[targets != 0], targets[targets != 0]
        expected = F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-3)
    assert n_tokens == (tgt[:, 1:] != 0).sum()


def test_cross_entropy_where_padding_was_made_impossible():
    logits, targets = torch.randn(2, 3, 5), torch.tensor([[1, 2, 3], [4, 0, 0]])
    logits[..., 0] = -math.inf
    logits.requires_grad_()
    ours = losses.cross_entropy(logits, targets, 0)
    expected = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)
    torch.testing.assert_close(ours, expected)
    assert torch.autograd.grad(ours, logits)[0].isfinite().all()
    moved = torch.where(targets == 0, -100, targets)  # the id that PyTorch leaves out by default
    torch.testing.assert_close(losses.cross_entropy(logits, moved, -100), expected)


def test_warmup_rate_by_hand():
    assert training.warmup_rate(1, 512, 4000) == pytest.approx(512**-0.5 * 4000**-1.5)
    peak = training.warmup_rate(4000, 512, 4000)
    assert peak == pytest.approx((512 * 4000) ** -0.5)
    assert training.warmup_rate(16_000, 512, 4000) == pytest.approx(peak / 2)
    assert max(range(1, 9000), key=lambda s: training.warmup_rate(s, 512, 4000)) == 4000
    with pytest.raises(ValueError, match="counted from 1; got 0"):
        training.warmup_rate(0, 512, 4000)


def test_learning_rate_of_the_settings():
    s = quick(peak_rate=0.1, warmup_steps=10)
    assert training.learning_rate(5, s, 100) == pytest.approx(0.05)
    assert training.learning_rate(10, s, 100) == pytest.approx(0.1)
    assert training.learning_rate(40, s, 100) == pytest.approx(0.05)
    paper = [training.warmup_rate(step, 64, 10) for step in (3, 10, 40)]
    as_paper = quick(peak_rate=(64 * 10) ** -0.5, warmup_steps=10)
    assert [training.learning_rate(t, as_paper, 100) for t in (3, 10, 40)] == pytest.approx(paper)
    linear = quick(peak_rate=0.1, warmup_steps=10, decay="linear")
    assert training.learning_rate(55, linear, 100) == pytest.approx(0.05)
    assert training.learning_rate(100, linear, 100) == 0
    assert training.learning_rate(110, linear, 100) == 0  # never below zero


def test_settings_refuse_what_they_do_not_know():
    with pytest.raises(ValueError, match="decay must be one of"):
        quick(decay="exponential")
    with pytest.raises(ValueError, match="precision must be one of"):
        quick(precision="int8")


# The loop


def test_loss_falls_and_history_tells():
    model, pairs = small_model(), copy_task(80)
    history = train(model, pairs, copy_task(20, 1), quick(epochs=6), progress=False)
    steps = len(token_batches(pairs, 64, 4, seed=0))
    assert len(history.losses) == 6 * steps
    assert len(history.validation_losses) == len(history.scores) == 6
    assert history.losses[-1] < 0.8 * history.losses[0]
    assert history.seconds > 0
    assert not model.training


def test_the_best_weights_are_kept_not_the_last():
    scores = iter([1.0, 3.0, 2.0])
    kept = []

    def score(model):
        kept.append(weights_of(model))
        return next(scores)

    model = small_model()
    train(model, copy_task(20), [], quick(), score=score, progress=False)
    torch.testing.assert_close(weights_of(model), kept[1])


def test_averaged_weights_are_validated_and_returned():
    model = small_model()
    seen = []
    train(
        model, copy_task(30), [], quick(average_decay=0.9), progress=False,
        score=lambda m: seen.append(weights_of(m)) or float(len(seen)),
    )  # fmt: skip
    torch.testing.assert_close(weights_of(model), seen[-1])
    plain = small_model()
    train(plain, copy_task(30), [], quick(), progress=False)
    assert not torch.allclose(weights_of(model), weights_of(plain))


def test_nan_stops_and_keeps_the_last_good_weights():
    model = small_model()
    before = []

    class Breaks(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.calls = model, 0

        def forward(self, *inputs):
            self.calls += 1
            before.append(weights_of(self))
            return self.inner(*inputs) * (math.nan if self.calls == 4 else 1.0)

    broken = Breaks()
    with pytest.raises(FloatingPointError, match=r"step 4 .*holds the weights of step 3"):
        train(broken, copy_task(60), [], quick(), progress=False)
    assert weights_of(model).isfinite().all()
    torch.testing.assert_close(weights_of(model), before[3])


class StopsAt:
    """Presses the stop button during a given step."""

    def __init__(self, step):
        self.left = step

    def __call__(self, module, inputs):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_stop_and_resume_equals_an_uninterrupted_run(tmp_path, dropout):
    pairs, validation = copy_task(60), copy_task(10, 1)
    whole = small_model(dropout)
    torch.manual_seed(5)
    expected = train(whole, pairs, validation, quick(average_decay=0.9), progress=False)

    model = small_model(dropout)
    handle = model.register_forward_pre_hook(StopsAt(6))  # in the middle of an epoch
    torch.manual_seed(5)
    checkpoint = tmp_path / "run" / "checkpoint.pt"
    settings_ = quick(average_decay=0.9)
    first = train(model, pairs, validation, settings_, checkpoint=checkpoint, progress=False)
    handle.remove()
    assert first.stopped_early
    assert len(first.losses) == 6
    model(*(x[:, :4] for x in pad_batch(pairs)))  # usable

    torch.manual_seed(99)  # the checkpoint brings its own random state
    again = small_model(dropout)
    second = train(again, pairs, validation, settings_, checkpoint=checkpoint, progress=False)
    assert second.losses == pytest.approx(expected.losses)
    torch.testing.assert_close(weights_of(again), weights_of(whole))
    assert not second.stopped_early


def test_damaged_checkpoint_is_refused(tmp_path):
    path = tmp_path / "checkpoint.pt"
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(ValueError, match="Move it away"):
        train(small_model(), copy_task(5), [], quick(), checkpoint=path, progress=False)
    assert path.read_bytes() == b"not a checkpoint"


def test_checkpoint_of_another_training_is_refused(tmp_path):
    path, pairs = tmp_path / "checkpoint.pt", copy_task(30)
    train(small_model(), pairs, [], quick(), checkpoint=path, progress=False)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="seed was 0, is 3. Move it away"):
        train(small_model(), pairs, [], quick(seed=3), checkpoint=path, progress=False)
    with pytest.raises(ValueError, match="on other pairs"):
        train(small_model(), pairs[1:], [], quick(), checkpoint=path, progress=False)
    assert path.read_bytes() == before


def test_bf16_runs_and_learns():
    model = small_model()
    history = train(model, copy_task(60), [], quick(epochs=5, precision="bf16"), progress=False)
    assert history.losses[-1] < history.losses[0]
    assert all(p.dtype == torch.float32 for p in model.parameters())


TWO = """
import sys, torch, torch.distributed as dist
sys.path[:0] = {paths!r}
from test_training import copy_task, quick, small_model
from helpers.training import train
torch.set_num_threads(1)
dist.init_process_group("gloo")
pairs = copy_task(61)
encode = lambda epoch: copy_task(61, seed=dist.get_rank())  # all must take the first's
history = train(small_model(), pairs, [], quick(batch_tokens=48), progress=False, encode=encode)
if dist.get_rank() == 0:
    torch.save(history.losses, {out!r})
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_reach_the_losses_of_one(tmp_path):
    here = Path(__file__).parent
    script, out = tmp_path / "two.py", tmp_path / "losses.pt"
    code = TWO.format(paths=[str(here), str(here.parent)], out=str(out))
    script.write_text(textwrap.dedent(code), encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2",
         str(script)],
        check=True, capture_output=True, timeout=120, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    expected = train(small_model(), copy_task(61), [], quick(batch_tokens=48), progress=False)
    assert torch.load(out) == pytest.approx(expected.losses, abs=1e-4)


def in_small(tmp_path, monkeypatch):
    monkeypatch.setattr(
        train_translator.corpus, "multi30k", lambda split: [("un chat", "a cat"), ("oui", "yes")]
    )
    return train_translator.arguments([
        "--out", str(tmp_path), "--vocab-size", "300", "--d-model", "8", "--n-heads", "2",
        "--d-ff", "8", "--n-layers", "1", "--quiet",
    ])  # fmt: skip


@pytest.mark.parametrize(("stopped", "trained"), [("first", 1), ("backward", 2), ("second", 3)])
def test_nothing_follows_a_stage_that_was_stopped(tmp_path, monkeypatch, stopped, trained):
    def stop(model, *_, checkpoint, **__):
        return training.History(stopped_early=checkpoint.stem == stopped)

    monkeypatch.setattr(train_translator, "train", stop)
    args = in_small(tmp_path, monkeypatch)
    translator, histories = train_translator.train_translator(args, say=lambda *_, **__: None)
    assert list(histories) == list(train_translator.STAGES[:trained])
    assert translator.translate("un chat") is not None  # usable


def test_later_stages_of_a_training_that_is_gone_are_refused(tmp_path, monkeypatch):
    (tmp_path / "second.pt").write_bytes(b"")
    with pytest.raises(ValueError, match="holds second.pt, but not the stage they began from"):
        train_translator.train_translator(in_small(tmp_path, monkeypatch))


@pytest.mark.slow
@pytest.mark.data
def test_the_command_line_trains_saves_and_loads(tmp_path):
    command = [
        sys.executable, "-m", "helpers.pretrained.recipes.translator", "--out", str(tmp_path),
        "--limit", "60",
        "--epochs", "1", "--backward-epochs", "1", "--second-epochs", "1", "--vocab-size",
        "400", "--d-model", "16", "--n-heads", "2", "--d-ff", "32", "--n-layers", "1",
        "--warmup-steps", "5", "--quiet",
    ]  # fmt: skip
    run = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent
    )
    assert '"test_bleu_greedy"' in run.stdout
    lines = [line for line in run.stdout.splitlines() if "validation BLEU" in line]
    assert [line.split(",")[0] for line in lines] == list(train_translator.STAGES)
    from helpers.pretrained.translator import load_translator

    translator = load_translator(tmp_path / "translator.safetensors")
    assert translator.card["settings"]["d_model"] == 16
