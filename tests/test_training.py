"""Batches, losses, schedule, and the loop: what it learns, keeps and refuses."""

import functools
import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from drawn import drawn
from hypothesis import strategies as st
from samples import python, refuses
from stages import ROOT

from helpers.pretrained.translator import load_translator
from helpers.training import training
from helpers.training.batches import pad_batch, token_batches
from helpers.training.training import TrainingSettings, train
from helpers.transformer.transformer import Transformer, TransformerConfig
from recipes import translator as train_translator

quiet = functools.partial(train, progress=False)


def copy_task(n, seed=0):
    generator = torch.Generator().manual_seed(seed)
    pairs = []
    for _ in range(n):
        length = int(torch.randint(2, 7, (1,), generator=generator))
        ids = torch.randint(4, 12, (length,), generator=generator).tolist()
        pairs.append(([*ids, 2], [1, *ids, 2]))
    return pairs


def small_model(dropout=0.0, d_ff=32):
    torch.manual_seed(0)
    return Transformer(
        TransformerConfig(
            src_vocab_size=12, tgt_vocab_size=12, norm_first=True, d_model=16, n_heads=2,
            n_layers=1, d_ff=d_ff, dropout=dropout, max_len=16,
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
    src, _ = pad_batch([([5, 6, 7, 2], [1, 2])], multiple=4)
    assert src.tolist() == [[5, 6, 7, 2]]  # a length that is a multiple already stays


@drawn(st.integers(1, 60), st.integers(16, 90), st.sampled_from([1, 4]), st.integers(0, 99))
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


def test_the_budget_counts_the_longer_side():
    pairs = [([5, 2], [1, *[6] * 9, 2])] * 6  # 2 source tokens, 10 to predict
    assert [len(batch) for batch in token_batches(pairs, 20)] == [2, 2, 2]
    turned = [(target[1:], [1, 5, 2]) for _, target in pairs]
    assert [len(batch) for batch in token_batches(turned, 20)] == [2, 2, 2]
    assert [len(batch) for batch in token_batches(pairs, 24, multiple=4)] == [2, 2, 2]


def test_both_shuffles():
    # Pairs of one length, told apart by their first id, and pairs of many lengths.
    same = [([4 + i, 2], [1, 2]) for i in range(40)]
    assert [pair for batch in token_batches(same, 8) for pair in batch] == same
    shuffled = token_batches(same, 8, seed=1)
    # Neighbours differ, so that other sentences come together in each epoch ...
    assert {frozenset(pair[0][0] for pair in batch) for batch in shuffled} != {
        frozenset(pair[0][0] for pair in batch) for batch in token_batches(same, 8)
    }
    # ... and short sentences do not always come first.
    lengths = [len(batch[0][0]) for batch in token_batches(copy_task(100), 32, seed=1)]
    assert lengths != sorted(lengths)
    plain = [len(batch[0][0]) for batch in token_batches(copy_task(100), 32)]
    assert plain == sorted(plain)


def test_empty_batch_and_empty_sentence_are_refused():
    refuses("empty batch", pad_batch, [])
    refuses("Leave empty sentences out", pad_batch, [([], [1, 2])])
    refuses("got 1 and 1. Leave empty sentences out", pad_batch, [([5], [1])])
    refuses("got no training pairs", train, small_model(), [], [], quick())


# Losses and schedule


def test_warmup_rate_by_hand():
    assert training.warmup_rate(1, 512, 4000) == pytest.approx(512**-0.5 * 4000**-1.5)
    peak = training.warmup_rate(4000, 512, 4000)
    assert peak == pytest.approx((512 * 4000) ** -0.5)
    assert training.warmup_rate(16_000, 512, 4000) == pytest.approx(peak / 2)
    assert max(range(1, 9000), key=lambda s: training.warmup_rate(s, 512, 4000)) == 4000
    refuses("counted from 1; got 0", training.warmup_rate, 0, 512, 4000)


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
    refuses("decay must be one of", quick, decay="exponential")
    refuses("precision must be one of", quick, precision="int8")


# The loop


def test_loss_falls_and_history_tells(monkeypatch):
    monkeypatch.setattr("time.perf_counter", itertools.count().__next__)
    model, pairs = small_model(), copy_task(80)
    history = quiet(model, pairs, copy_task(20, 1), quick(epochs=6))
    assert len(history.losses) == 6 * len(token_batches(pairs, 64, 4, seed=0))
    assert len(history.validation_losses) == len(history.scores) == 6
    assert history.losses[-1] < 0.8 * history.losses[0]
    assert history.seconds >= 6  # each epoch's, by a clock that goes on at each look
    assert not model.training


@pytest.mark.parametrize(
    ("scores", "best", "average"),
    [([1.0, 3.0, 2.0], 1, 0.0), ([1.0, 1.0, 1.0], 2, 0.9), ([math.nan, 1.0, math.nan], 1, 0.9)],
    ids=["not the last", "the latest of equal ones", "any number before NaN"],
)
def test_the_weights_with_the_best_score_are_kept(scores, best, average):
    kept, model = [], small_model()

    def score(model):
        kept.append(weights_of(model))
        return scores[len(kept) - 1]

    settings = quick(average_decay=average)  # averaged ones are scored and kept alike
    history = quiet(model, copy_task(20), [], settings, score=score)
    torch.testing.assert_close(weights_of(model), kept[best])
    assert history.scores == pytest.approx(scores, nan_ok=True)


def plain_loop(model, pairs, s):
    """Train as the settings say, written down once more: the averaged weights of every epoch."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=0.0, betas=training.BETAS, eps=1e-9, weight_decay=s.weight_decay
    )
    total = s.epochs * len(token_batches(pairs, s.batch_tokens, training.PAD_MULTIPLE, seed=0))
    average, step = weights_of(model), 0
    for epoch in range(s.epochs):
        seed = s.seed * 1000 + epoch
        for batch in token_batches(pairs, s.batch_tokens, training.PAD_MULTIPLE, seed):
            step += 1
            optimizer.param_groups[0]["lr"] = training.learning_rate(step, s, total)
            src, tgt = pad_batch(batch, 0, training.PAD_MULTIPLE)
            logits, targets, real = model(src, tgt[:, :-1]), tgt[:, 1:], tgt[:, 1:] != 0
            smoothing = {"label_smoothing": s.label_smoothing}
            F.cross_entropy(logits[real], targets[real], **smoothing).backward()
            norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
            for p in model.parameters():
                p.grad *= min(1.0, s.clip_norm / norm.item())
            optimizer.step()
            optimizer.zero_grad()
            decay = min(s.average_decay, (1 + step) / (10 + step)) if step > 1 else 0.0
            average = decay * average + (1 - decay) * weights_of(model)
    return average if s.average_decay else weights_of(model)


EVERYTHING = {
    "clip_norm": 0.3, "label_smoothing": 0.2, "weight_decay": 0.5,
    "average_decay": 0.9, "seed": 3, "peak_rate": 2e-2, "epochs": 2,
}  # fmt: skip


def test_every_setting_reaches_the_loop():
    model = small_model().double()  # so that no rounding error looks like a gradient to Adam
    quiet(model, copy_task(60), [], quick(**EVERYTHING))
    expected = plain_loop(small_model().double(), copy_task(60), quick(**EVERYTHING))
    torch.testing.assert_close(weights_of(model), expected)


def test_every_epoch_is_encoded_once():
    epochs = []

    def encode(epoch):
        epochs.append(epoch)
        return copy_task(60, seed=epoch)

    quiet(small_model(), copy_task(60), [], quick(epochs=3), encode=encode)
    assert epochs == [0, 1, 2]


def test_the_validation_loss_chooses_where_there_is_no_score(monkeypatch):
    losses_, kept = iter([2.0, 1.0, 3.0]), []

    def evaluate(model, pairs, pad_id):
        kept.append(weights_of(model))
        return next(losses_)

    monkeypatch.setattr(training, "evaluate", evaluate)
    model = small_model()
    history = quiet(model, copy_task(20), copy_task(5), quick())
    torch.testing.assert_close(weights_of(model), kept[1])
    assert history.scores == [-2.0, -1.0, -3.0]


def test_evaluate_is_the_mean_over_tokens_without_dropout():
    model, pairs = small_model(dropout=0.5).train(), copy_task(30)
    refuses("Leave empty sentences out", training.evaluate, model, [([], [1, 2])])
    assert model.training
    loss = training.evaluate(model, pairs, batch_tokens=16)
    assert model.training
    src, tgt = pad_batch(pairs)
    with torch.no_grad():
        logits = model.eval()(src, tgt[:, :-1])
    expected = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=0)
    assert loss == pytest.approx(expected.item(), rel=1e-4)
    refuses("no pairs to measure", training.evaluate, model, [])
    refuses("every target is padding", training.evaluate, model, [([3, 4], [0, 0])])


def test_a_gradient_that_is_no_number_stops_too():
    model = small_model()
    before = weights_of(model)
    next(model.parameters()).register_hook(lambda gradient: gradient * math.inf)
    with pytest.raises(FloatingPointError, match="gradient norm (nan|inf) at step 1"):
        quiet(model, copy_task(20), [], quick())
    torch.testing.assert_close(weights_of(model), before)


@pytest.mark.parametrize("pays", [True, False])
def test_auto_takes_what_pays(monkeypatch, pays):
    monkeypatch.setattr(training, "bf16_pays", lambda device: pays)
    losses_ = {
        each: quiet(small_model(), copy_task(20), [], quick(epochs=1, precision=each)).losses
        for each in ("auto", "bf16", "fp32")
    }
    assert losses_["bf16"] != losses_["fp32"]
    assert losses_["auto"] == losses_["bf16" if pays else "fp32"]


def test_nan_leaves_the_last_good_weights_not_the_best():
    model, before = small_model(), []

    def break_in_the_second_epoch(module, inputs):
        before.append(weights_of(module))
        if len(before) == 10:
            with torch.no_grad():
                module.get_parameter("decoder_layers.0.feed_forward.linear_1.bias").fill_(math.nan)

    model.register_forward_pre_hook(break_in_the_second_epoch)
    with pytest.raises(FloatingPointError, match="at step 10 "):
        quiet(model, copy_task(60), [], quick(average_decay=0.9), score=lambda _: 1)
    found = weights_of(model)
    torch.testing.assert_close(found[found.isfinite()], before[9][found.isfinite()])


def in_small(tmp_path, monkeypatch):
    monkeypatch.setattr(
        train_translator.corpus, "multi30k", lambda split: [("un chat", "a cat"), ("oui", "yes")]
    )
    return [
        "--out", str(tmp_path), "--vocab-size", "300", "--d-model", "8", "--n-heads", "2",
        "--d-ff", "8", "--n-layers", "1", "--quiet",
    ]  # fmt: skip


@pytest.mark.parametrize("stopped", train_translator.STAGES)
def test_nothing_follows_a_stage_that_was_stopped_and_a_translator_is_written(
    tmp_path, monkeypatch, capsys, stopped
):
    trained = []

    def stop(model, *_, checkpoint, **__):
        trained.append(checkpoint.stem)
        return training.History(stopped_early=checkpoint.stem == stopped)

    monkeypatch.setattr(train_translator, "train", stop)
    train_translator.main(in_small(tmp_path, monkeypatch))
    assert trained == [*train_translator.STAGES[: len(trained)]]
    assert trained[-1] == stopped
    assert '"validation_bleu": null' in capsys.readouterr().out
    translator = load_translator(tmp_path / "translator.safetensors")
    assert translator.card["stopped_early"] == [stopped]
    assert translator.translate("un chat") is not None  # usable


def test_later_stages_of_a_training_that_is_gone_are_refused(tmp_path, monkeypatch):
    (tmp_path / "second.pt").write_bytes(b"")
    with pytest.raises(ValueError, match="holds second.pt, but not the stage they began from"):
        train_translator.main(in_small(tmp_path, monkeypatch))


@pytest.mark.data
@pytest.mark.weekly
def test_the_command_line_trains_saves_and_loads(tmp_path):
    command = [
        "-m", "recipes.translator", "--out", str(tmp_path),
        "--limit", "60",
        "--epochs", "1", "--backward-epochs", "1", "--second-epochs", "1", "--vocab-size",
        "400", "--d-model", "16", "--n-heads", "2", "--d-ff", "32", "--n-layers", "1",
        "--warmup-steps", "5", "--quiet",
    ]  # fmt: skip
    run = python(*command, check=True)
    assert '"test_bleu_greedy"' in run.stdout
    lines = [line for line in run.stdout.splitlines() if "validation BLEU" in line]
    assert [line.split(",")[0] for line in lines] == list(train_translator.STAGES)
    translator = load_translator(tmp_path / "translator.safetensors")
    assert translator.card["settings"]["d_model"] == 16


def test_one_step_serves_every_training():
    files = [*(ROOT / "helpers").rglob("*.py"), *(ROOT / "recipes").glob("*.py")]
    found = {path.name for path in files if ".backward()" in path.read_text(encoding="utf-8")}
    # Three fit a linear model by L-BFGS, which asks for a gradient several times a step. The clinic
    # stands alone, and lesson 18 shows the step of its clipped ratios.
    linear = {"genre_training.py", "proteins.py", "ways_to_fine_tune.py"}
    assert found == {"optimizers.py", "reward.py", "training.py"} | linear
    assert ".backward()" not in (ROOT / "helpers/training/training.py").read_text("utf-8")
