"""Training on running text: windows, interruption, checkpoints, bits per byte."""

import itertools
import math
import signal

import pytest
import torch
from samples import refuses
from torch import nn

from helpers.models.gpt import GPT, GPTConfig
from helpers.training.language_modelling import (
    TextTraining,
    bits_per_byte,
    nats_of_text,
    random_windows,
    train_on_text,
)
from helpers.training.optimizers import optimizers

TEXT = torch.arange(400) % 7  # what comes next is certain


def make(seed=0):
    torch.manual_seed(seed)
    return GPT(GPTConfig(vocab_size=7, d_model=16, n_heads=2, n_layers=1, max_len=16, dropout=0.1))


def settings(**changed):
    chosen = {"steps": 12, "batch_size": 4, "length": 8, "warmup_steps": 3} | changed
    return TextTraining(**chosen)


def test_windows_are_cut_from_the_text_and_targets_are_one_later():
    ids = torch.arange(100, 130)
    inputs, targets = random_windows(ids, 200, 6, torch.Generator().manual_seed(0))
    assert inputs.shape == targets.shape == (200, 6)
    assert targets.equal(inputs + 1)
    assert (inputs.diff(dim=1) == 1).all()
    assert (inputs.min(), targets.max()) == (100, 129)  # both ends of the text are used


def test_a_text_shorter_than_a_window_and_an_unknown_choice_are_refused():
    refuses("need 7; the text has 6", random_windows, torch.arange(6), 1, 6)
    refuses("optimizer", settings, optimizer="sgd")
    refuses("precision", settings, precision="fp8")


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_it_learns(optimizer):
    model = make()
    history = train_on_text(model, TEXT, settings(steps=80, optimizer=optimizer), progress=False)
    assert len(history.losses) == 80
    assert history.losses[0] == pytest.approx(math.log(7), abs=0.2)
    assert history.losses[-1] < 0.6 * history.losses[0]
    assert not model.training


@pytest.mark.slow
def test_each_optimizer_gets_its_matrices():
    model = make()
    names = {id(p): name for name, p in model.named_parameters()}
    muon, adamw = optimizers(model, "muon", 3e-3, 0.1)
    of_muon = {names[id(p)] for group in muon.param_groups for p in group["params"]}
    wanted = {n for n, p in model.named_parameters() if n.startswith("layers") and p.dim() == 2}
    assert of_muon == wanted
    decayed, free = ({names[id(p)] for p in group["params"]} for group in adamw.param_groups)
    assert decayed == {"embedding.weight", "positions.table"}
    assert free == set(names.values()) - of_muon - decayed
    assert [group["weight_decay"] for group in adamw.param_groups] == [0.1, 0]


def test_only_what_learns_is_optimised():
    model = make()
    model.embedding.weight.requires_grad_(False)
    before = model.embedding.weight.clone()
    train_on_text(model, TEXT, settings(), progress=False)
    assert model.embedding.weight.equal(before)


def interrupt(model, step):
    """Press Ctrl-C in one step of a model's training."""
    passes = itertools.count(1)

    def press(*_):
        if next(passes) == step:
            signal.raise_signal(signal.SIGINT)

    model.register_forward_hook(press)


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_checkpoint_resumes_to_the_same_model(optimizer, tmp_path):
    chosen, path = settings(optimizer=optimizer, long_from=0.5), tmp_path / "checkpoint"
    whole, interrupted = make(), make()
    interrupt(interrupted, 7)
    torch.manual_seed(5)
    wanted = train_on_text(whole, TEXT, chosen, progress=False)
    torch.manual_seed(5)
    assert train_on_text(interrupted, TEXT, chosen, False, path).stopped_early
    resumed = make(seed=1)  # its own weights give way to those of the checkpoint
    assert train_on_text(resumed, TEXT, chosen, False, path).losses == wanted.losses
    for ours, theirs in zip(resumed.parameters(), whole.parameters(), strict=True):
        assert ours.equal(theirs)


@pytest.mark.parametrize(("text", "seed"), [(TEXT, 1), (TEXT + 1, 0)])
def test_a_checkpoint_of_another_training_is_refused(text, seed, tmp_path):
    path = tmp_path / "checkpoint"
    train_on_text(make(), TEXT, settings(), False, path)
    with pytest.raises(ValueError, match="other settings or another text"):
        train_on_text(make(), text, settings(seed=seed), False, path)


def test_interrupted_it_leaves_a_model_that_can_be_used():
    model = make()
    interrupt(model, 6)
    history = train_on_text(model, TEXT, settings(steps=200), progress=False)
    assert history.stopped_early
    assert len(history.losses) == 6
    assert not model.training
    assert model(TEXT[None, :8]).isfinite().all()


class Counting(nn.Module):
    """Logits that depend on how much was read, so that a window's place shows."""

    def forward(self, ids):
        places = torch.arange(ids.shape[1])[:, None]
        return (ids[..., None] + places * torch.arange(7)).double().cos()


def test_nats_are_summed_over_every_token_once():
    ids = torch.randint(7, (29,), generator=torch.Generator().manual_seed(0))
    model, context, total = Counting(), 8, 0.0
    for token in range(1, 29):
        # Windows of eight whose second half is scored; the first one is scored whole.
        first = (token - 1) // 4 * 4 + 1
        last = min(first + 4, 29)
        start = max(last - 1 - context, 0)
        logits = model(ids[None, start : last - 1])[0, token - 1 - start]
        total -= logits.log_softmax(-1)[ids[token]].item()
    assert nats_of_text(model, ids, context) == pytest.approx(total)


def test_a_model_that_knows_nothing_pays_the_logarithm():
    class Flat(nn.Module):
        def forward(self, ids):
            return torch.zeros(*ids.shape, 256)

    text = "Æsop’s fables"
    ids = torch.tensor([0, *text.encode("utf-8")])  # a token per byte
    nats = nats_of_text(Flat(), ids, 6)
    assert nats == pytest.approx(len(text.encode()) * math.log(256), rel=1e-5)
    assert bits_per_byte(nats, text) == pytest.approx(8, rel=1e-5)
